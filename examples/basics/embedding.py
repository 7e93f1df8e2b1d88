"""Embedding lookup: offsets are read from memory; a token outside the table has no row."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

VOCAB, HIDDEN = 2048, 1024
MAX_TOKENS = 64
GROUP = 8
TOKENS = pl.dynamic("TOKENS")


@pl.jit
def embedding(
    ids: pl.Tensor[[MAX_TOKENS], pl.INT32],
    table: pl.Tensor[[VOCAB, HIDDEN], pl.BF16],
    hidden: pl.Out[pl.Tensor[[MAX_TOKENS, HIDDEN], pl.FP32]],
):
    """Copy one row per token, zeros for a negative token."""
    ids.bind_dynamic(0, TOKENS)
    hidden.bind_dynamic(0, TOKENS)
    tokens = pl.tensor.dim(ids, 0)
    for group in pl.spmd((tokens + GROUP - 1) // GROUP, name_hint="embed"):
        first = group * GROUP
        last = pl.min(first + GROUP, tokens)
        for t in pl.range(first, last):
            token = pl.cast(pl.read(ids, [t]), pl.INDEX)
            if token < 0:
                hidden[t : t + 1, :] = pl.full([1, HIDDEN], dtype=pl.FP32, value=0.0)
            else:
                hidden[t : t + 1, :] = pl.cast(table[token : token + 1, :], target_type=pl.FP32)
    return hidden


def inputs(rng, tokens=MAX_TOKENS - 3):
    """Return tokens, some of them padding."""
    ids = rng.integers(0, VOCAB, tokens, np.int32)
    ids[::7] = -1
    return {
        "ids": ids,
        "table": rng.standard_normal((VOCAB, HIDDEN), np.float32).astype(pl.BF16.numpy),
        "hidden": np.zeros((tokens, HIDDEN), np.float32),
    }


def reference(ids, table, hidden):
    """Return the expected rows, exactly."""
    rows = table.astype(np.float64)[np.maximum(ids, 0)]
    return {"hidden": np.where(ids[:, None] < 0, 0.0, rows)}


# Nothing is rounded.
CASES = [Case("embedding", embedding, inputs, reference, 0.0)]
