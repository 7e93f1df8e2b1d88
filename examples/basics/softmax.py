"""Softmax of rows, a block of rows per core."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

ROWS, COLS = 256, 512
BLOCK = 16


@pl.jit
def softmax(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    probs: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    """Turn each row into probabilities that sum to one."""
    for block in pl.spmd(ROWS // BLOCK, name_hint="softmax"):
        row = block * BLOCK
        scores = x[row : row + BLOCK, :]
        shifted = pl.row_expand_sub(scores, pl.row_max(scores))
        powers = pl.exp(shifted)
        probs[row : row + BLOCK, :] = pl.row_expand_div(powers, pl.row_sum(powers))
    return probs


def inputs(rng):
    """Return scores with a standard deviation of 3."""
    return {
        "x": rng.standard_normal((ROWS, COLS), np.float32) * 3,
        "probs": np.zeros((ROWS, COLS), np.float32),
    }


def reference(x, probs):
    """Return the probabilities in float64."""
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return {"probs": powers / powers.sum(axis=1, keepdims=True)}


# exp is accurate to a few ulp, for results up to 1; a difference of up to 30 has an error of
# 2**-20, which is the relative error of its exponential.
CASES = [Case("softmax", softmax, inputs, reference, 4e-6)]
