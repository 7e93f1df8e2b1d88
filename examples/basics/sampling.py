"""Sampling the next token from logits: the largest one, and one drawn from the top K."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

BATCH, VOCAB = 8, 4096
CHUNK = 1024  # columns sorted at once: 32 * 32, that is two merges of four and one of two lists
CHUNKS = VOCAB // CHUNK
K = 32
LOWEST = -3.4028234663852886e38


@pl.jit.inline
def greedy(logits: pl.Tensor, tokens: pl.Tensor):
    """Write the column of the largest logit of each row, the first one in case of a tie."""
    for b in pl.spmd(BATCH, name_hint="greedy"):
        best = pl.full([1, 8], dtype=pl.FP32, value=LOWEST)
        best_value = pl.read(best, [0, 0])
        best_token = pl.const(0, pl.INT32)
        for c in pl.range(0, VOCAB, CHUNK):
            part = logits[b : b + 1, c : c + CHUNK]
            value = pl.read(pl.row_max(part), [0, 0])
            at = pl.read(pl.row_argmax(part), [0, 0])
            if value > best_value:
                best_value = value
                best_token = pl.cast(at + c, pl.INT32)
        pl.write(tokens, [b], best_token)
    return tokens


@pl.jit.inline
def sorted_chunks(logits: pl.Tensor, pairs: pl.Tensor):
    """Write the K largest of each chunk as (value, column) pairs."""
    for block in pl.spmd(BATCH * CHUNKS, name_hint="sort_chunk"):
        b = block // CHUNKS
        c = block % CHUNKS * CHUNK
        first = pl.cast(c, pl.UINT32)
        columns = pl.arange(first, [1, CHUNK], dtype=pl.UINT32)
        runs = pl.sort32(logits[b : b + 1, c : c + CHUNK], columns)
        runs = pl.mrgsort(runs, block_len=64)
        runs = pl.mrgsort(runs, block_len=256)
        half = CHUNK
        runs = pl.mrgsort(runs[:, 0:half], runs[:, half : 2 * half])
        pairs[block : block + 1, :] = runs[:, 0 : 2 * K]
    return pairs


@pl.jit
def sampling(
    logits: pl.Tensor[[BATCH, VOCAB], pl.FP32],
    draws: pl.Tensor[[BATCH, 1], pl.FP32],
    temperature: pl.Scalar[pl.FP32],
    largest: pl.Out[pl.Tensor[[BATCH], pl.INT32]],
    drawn: pl.Out[pl.Tensor[[BATCH], pl.INT32]],
    probs: pl.Out[pl.Tensor[[BATCH, K], pl.FP32]],
):
    """Return the largest token of each row, and the one selected by a draw from [0, 1)."""
    largest = greedy(logits, largest)
    pairs = pl.create_tensor([BATCH * CHUNKS, 2 * K], dtype=pl.FP32)
    pairs = sorted_chunks(logits, pairs)
    for b in pl.spmd(BATCH, name_hint="draw"):
        r = b * CHUNKS
        merged = pl.mrgsort(
            pairs[r : r + 1, :],
            pairs[r + 1 : r + 2, :],
            pairs[r + 2 : r + 3, :],
            pairs[r + 3 : r + 4, :],
        )
        best = merged[:, 0 : 2 * K]
        values = pl.gather(best, mask_pattern=pl.tile.MaskPattern.P0101)
        tokens = pl.gather(best, mask_pattern=pl.tile.MaskPattern.P1010, output_dtype=pl.INT32)
        scaled = pl.mul(values, 1.0 / temperature)
        powers = pl.exp(pl.row_expand_sub(scaled, pl.row_max(scaled)))
        weights = pl.row_expand_div(powers, pl.row_sum(powers))
        probs[b : b + 1, :] = weights
        draw = pl.read(draws, [b, 0])
        below = pl.cast(0.0, pl.FP32)
        place = pl.cast(0, pl.INDEX)
        for i in pl.range(K - 1):
            below = below + pl.read(weights, [0, i])
            if below <= draw:
                place = i + 1
        pl.write(drawn, [b], pl.read(tokens, [0, place]))
    return largest, drawn, probs


def inputs(rng):
    """Return distinct logits, and draws away from the boundaries between tokens."""
    logits = rng.permutation(BATCH * VOCAB).reshape(BATCH, VOCAB).astype(np.float32)
    return {
        "logits": logits * np.float32(40 / logits.size),
        "draws": ((rng.integers(0, 64, (BATCH, 1)) + 0.37) / 64).astype(np.float32),
        "temperature": 0.8,
        "largest": np.zeros(BATCH, np.int32),
        "drawn": np.zeros(BATCH, np.int32),
        "probs": np.zeros((BATCH, K), np.float32),
    }


def reference(logits, draws, temperature, largest, drawn, probs):
    """Return tokens and probabilities in float64."""
    order = np.argsort(-logits, axis=1, kind="stable")[:, :K]
    best = np.take_along_axis(logits, order, axis=1).astype(np.float64) / temperature
    powers = np.exp(best - best[:, :1])
    weights = powers / powers.sum(axis=1, keepdims=True)
    places = (np.cumsum(weights, axis=1)[:, :-1] <= draws).sum(axis=1)
    token = np.take_along_axis(order, places[:, None], axis=1)[:, 0]
    return {"largest": logits.argmax(axis=1), "drawn": token, "probs": weights}


# Logits up to 40 are divided by the temperature: the error of a difference is at most 2**-18, and
# so is the relative error of a weight.
CASES = [Case("sampling", sampling, inputs, reference, 1e-5)]
