"""RMSNorm of a number of rows that is known only at the call: the last block is partly valid."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

HIDDEN = 5120
MAX_TOKENS = 128
TILE = 16  # rows per block
CHUNK = 512  # columns at a time
EPS = 1e-6
TOKENS = pl.dynamic("TOKENS")


@pl.jit
def rms_norm(
    x: pl.Tensor[[MAX_TOKENS, HIDDEN], pl.BF16],
    gamma: pl.Tensor[[1, HIDDEN], pl.FP32],
    y: pl.Out[pl.Tensor[[MAX_TOKENS, HIDDEN], pl.BF16]],
):
    """Divide each row by its root mean square, then scale the columns."""
    x.bind_dynamic(0, TOKENS)
    y.bind_dynamic(0, TOKENS)
    tokens = pl.tensor.dim(x, 0)
    for block in pl.spmd((tokens + TILE - 1) // TILE, name_hint="rms_norm"):
        row = block * TILE
        valid = pl.min(TILE, tokens - row)
        sum_sq = pl.full([1, TILE], dtype=pl.FP32, value=0.0)
        for c in pl.pipeline(0, HIDDEN, CHUNK, stage=2):
            part = pl.slice(x, [TILE, CHUNK], [row, c], valid_shape=[valid, CHUNK])
            wide = pl.cast(part, target_type=pl.FP32)
            squares = pl.row_sum(pl.mul(wide, wide))
            sum_sq = pl.add(sum_sq, pl.reshape(squares, [1, TILE]))
        mean = pl.add(pl.mul(sum_sq, 1.0 / HIDDEN), EPS)
        inv = pl.reshape(pl.rsqrt(mean, high_precision=True), [TILE, 1])
        for c in pl.pipeline(0, HIDDEN, CHUNK, stage=2):
            part = pl.slice(x, [TILE, CHUNK], [row, c], valid_shape=[valid, CHUNK])
            wide = pl.cast(part, target_type=pl.FP32)
            normed = pl.col_expand_mul(pl.row_expand_mul(wide, inv), gamma[:, c : c + CHUNK])
            y[row : row + TILE, c : c + CHUNK] = pl.cast(normed, target_type=pl.BF16, mode="rint")
    return y


def inputs(rng, tokens=MAX_TOKENS - 11):
    """Return BF16 rows; their number is not a multiple of the block size."""
    bf16 = pl.BF16.numpy
    return {
        "x": rng.standard_normal((tokens, HIDDEN), np.float32).astype(bf16),
        "gamma": 1 + 0.1 * rng.standard_normal((1, HIDDEN), np.float32),
        "y": np.zeros((tokens, HIDDEN), bf16),
    }


def reference(x, gamma, y):
    """Return the normalised rows in float64."""
    exact = x.astype(np.float64)
    return {"y": exact / np.sqrt((exact**2).mean(axis=1, keepdims=True) + EPS) * gamma}


# The result is rounded to BF16: half a unit of 2**-8, relative. The preceding FP32 arithmetic adds
# about 2**-20.
CASES = [Case("rms_norm", rms_norm, inputs, reference, 2**-8)]
