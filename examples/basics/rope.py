"""Rotary position embedding of queries, each token at its own position."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

BATCH, HEADS, HEAD_DIM = 16, 40, 128
HALF = HEAD_DIM // 2
MAX_SEQ = 4096
HEAD_BLOCK = 8
THETA = 1e6


@pl.jit
def rope(
    q: pl.Tensor[[BATCH, HEADS * HEAD_DIM], pl.BF16],
    positions: pl.Tensor[[BATCH], pl.INT32],
    cos: pl.Tensor[[MAX_SEQ, HEAD_DIM], pl.FP32],
    sin: pl.Tensor[[MAX_SEQ, HEAD_DIM], pl.FP32],
    rotated: pl.Out[pl.Tensor[[BATCH, HEADS * HEAD_DIM], pl.BF16]],
):
    """Rotate the two halves of each head by the angles of the token's position."""
    heads = pl.reshape(q, [BATCH * HEADS, HEAD_DIM])
    out = pl.reshape(rotated, [BATCH * HEADS, HEAD_DIM])
    for b in pl.parallel(BATCH):
        pos = pl.cast(pl.read(positions, [b]), pl.INDEX)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="rope"):
            cos_lo = cos[pos : pos + 1, 0:HALF]
            cos_hi = cos[pos : pos + 1, HALF:HEAD_DIM]
            sin_lo = sin[pos : pos + 1, 0:HALF]
            sin_hi = sin[pos : pos + 1, HALF:HEAD_DIM]
            for h in pl.range(0, HEADS, HEAD_BLOCK):
                r = b * HEADS + h
                lo = pl.cast(heads[r : r + HEAD_BLOCK, 0:HALF], target_type=pl.FP32)
                hi = pl.cast(heads[r : r + HEAD_BLOCK, HALF:HEAD_DIM], target_type=pl.FP32)
                first = pl.sub(pl.col_expand_mul(lo, cos_lo), pl.col_expand_mul(hi, sin_lo))
                second = pl.add(pl.col_expand_mul(hi, cos_hi), pl.col_expand_mul(lo, sin_hi))
                out[r : r + HEAD_BLOCK, 0:HALF] = pl.cast(first, target_type=pl.BF16)
                out[r : r + HEAD_BLOCK, HALF:HEAD_DIM] = pl.cast(second, target_type=pl.BF16)
    return rotated


def inputs(rng):
    """Return queries at random positions, and the table of angles."""
    bf16 = pl.BF16.numpy
    angles = np.arange(MAX_SEQ)[:, None] * THETA ** (-np.arange(HALF) / HALF)
    both = np.concatenate([angles, angles], axis=1)
    return {
        "q": rng.standard_normal((BATCH, HEADS * HEAD_DIM), np.float32).astype(bf16),
        "positions": rng.integers(0, MAX_SEQ, BATCH, np.int32),
        "cos": np.cos(both).astype(np.float32),
        "sin": np.sin(both).astype(np.float32),
        "rotated": np.zeros((BATCH, HEADS * HEAD_DIM), bf16),
    }


def reference(q, positions, cos, sin, rotated):
    """Return the rotated heads in float64."""
    heads = q.astype(np.float64).reshape(BATCH, HEADS, HEAD_DIM)
    c, s = cos[positions][:, None].astype(np.float64), sin[positions][:, None].astype(np.float64)
    halves = np.concatenate([-heads[..., HALF:], heads[..., :HALF]], axis=-1)
    return {"rotated": (heads * c + halves * s).reshape(BATCH, -1)}


# Rounded to BF16 once, half a unit of 2**-8.
CASES = [Case("rope", rope, inputs, reference, 2**-8)]
