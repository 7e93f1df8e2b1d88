"""Writes new keys and values to their slots of a paged cache; a negative slot is padding."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

MAX_TOKENS, KV_HEADS, HEAD_DIM = 64, 8, 128
PAGE, POOL = 16, 32
TOKENS = pl.dynamic("TOKENS")


@pl.jit
def kv_scatter(
    k: pl.Tensor[[MAX_TOKENS, KV_HEADS * HEAD_DIM], pl.BF16],
    v: pl.Tensor[[MAX_TOKENS, KV_HEADS * HEAD_DIM], pl.BF16],
    slots: pl.Tensor[[MAX_TOKENS], pl.INT64],
    k_cache: pl.InOut[pl.Tensor[[POOL, KV_HEADS, PAGE, HEAD_DIM], pl.BF16]],
    v_cache: pl.InOut[pl.Tensor[[POOL, KV_HEADS, PAGE, HEAD_DIM], pl.BF16]],
):
    """Write each token's rows, one per head, to page ``slot // PAGE``."""
    k.bind_dynamic(0, TOKENS)
    v.bind_dynamic(0, TOKENS)
    slots.bind_dynamic(0, TOKENS)
    k_rows = pl.reshape(k_cache, [POOL * KV_HEADS * PAGE, HEAD_DIM])
    v_rows = pl.reshape(v_cache, [POOL * KV_HEADS * PAGE, HEAD_DIM])
    for t in pl.spmd(pl.tensor.dim(k, 0), name_hint="kv_scatter"):
        slot = pl.cast(pl.read(slots, [t]), pl.INDEX)
        if slot >= 0:
            page = slot // PAGE
            place = slot % PAGE
            for h in pl.range(KV_HEADS):
                row = (page * KV_HEADS + h) * PAGE + place
                column = h * HEAD_DIM
                k_rows[row : row + 1, :] = k[t : t + 1, column : column + HEAD_DIM]
                v_rows[row : row + 1, :] = v[t : t + 1, column : column + HEAD_DIM]
    return k_cache, v_cache


def inputs(rng, tokens=MAX_TOKENS - 5):
    """Return tokens, some of them padding."""
    bf16 = pl.BF16.numpy
    slots = rng.permutation(POOL * PAGE)[:tokens].astype(np.int64)
    slots[3::8] = -1
    rows, cache = (tokens, KV_HEADS * HEAD_DIM), (POOL, KV_HEADS, PAGE, HEAD_DIM)
    return {
        "k": rng.standard_normal(rows, np.float32).astype(bf16),
        "v": rng.standard_normal(rows, np.float32).astype(bf16),
        "slots": slots,
        "k_cache": rng.standard_normal(cache, np.float32).astype(bf16),
        "v_cache": rng.standard_normal(cache, np.float32).astype(bf16),
    }


def reference(k, v, slots, k_cache, v_cache):
    """Return the expected caches, exactly."""
    result = {"k_cache": k_cache.copy(), "v_cache": v_cache.copy()}
    for t in np.flatnonzero(slots >= 0):
        page, place = divmod(slots[t], PAGE)
        result["k_cache"][page, :, place] = k[t].reshape(KV_HEADS, HEAD_DIM)
        result["v_cache"][page, :, place] = v[t].reshape(KV_HEADS, HEAD_DIM)
    return result


# The rows are only copied, so the result is exact.
CASES = [Case("kv_scatter", kv_scatter, inputs, reference, 0.0)]
