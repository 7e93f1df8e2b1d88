"""LayerNorm with scale and shift, in two helpers that are inlined into the entry."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

ROWS, HIDDEN = 128, 1024
TILE = 8  # rows: centred rows, their squares and the scratch of a sum are on chip together
EPS = 1e-5


@pl.jit.inline
def moments(block: pl.Tensor[[TILE, HIDDEN], pl.FP32]):
    """Return the centred rows and the reciprocals of their standard deviations."""
    mean = pl.mul(pl.row_sum(block), 1.0 / HIDDEN)
    centred = pl.row_expand_sub(block, mean)
    variance = pl.mul(pl.row_sum(pl.mul(centred, centred)), 1.0 / HIDDEN)
    return centred, pl.recip(pl.sqrt(pl.add(variance, EPS)))


@pl.jit.inline
def affine(
    block: pl.Tensor[[TILE, HIDDEN], pl.FP32],
    gamma: pl.Tensor[[1, HIDDEN], pl.FP32],
    beta: pl.Tensor[[1, HIDDEN], pl.FP32],
):
    """Scale and shift the columns."""
    scaled = pl.col_expand_mul(block, gamma)
    return pl.col_expand_add(scaled, beta)


@pl.jit
def layer_norm(
    x: pl.Tensor[[ROWS, HIDDEN], pl.FP32],
    gamma: pl.Tensor[[1, HIDDEN], pl.FP32],
    beta: pl.Tensor[[1, HIDDEN], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, HIDDEN], pl.FP32]],
):
    """Normalise each row, then scale and shift its columns."""
    with pl.spmd(ROWS // TILE, name_hint="layer_norm"):
        row = pl.tile.get_block_idx() * TILE
        centred, inv = moments(x[row : row + TILE, :])
        normed = pl.row_expand_mul(centred, inv)
        result = affine(normed, gamma, beta)
        y[row : row + TILE, :] = result
    return y


def inputs(rng):
    """Return rows with a nonzero mean."""
    return {
        "x": rng.standard_normal((ROWS, HIDDEN), np.float32) + 2,
        "gamma": 1 + 0.1 * rng.standard_normal((1, HIDDEN), np.float32),
        "beta": rng.standard_normal((1, HIDDEN), np.float32),
        "y": np.zeros((ROWS, HIDDEN), np.float32),
    }


def reference(x, gamma, beta, y):
    """Return the normalised rows in float64."""
    exact = x.astype(np.float64)
    centred = exact - exact.mean(axis=1, keepdims=True)
    return {"y": centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPS) * gamma + beta}


# Sums of 1024 numbers of magnitude 3: a mean has an error of 2**-20, all later steps as much again.
CASES = [Case("layer_norm", layer_norm, inputs, reference, 1e-5)]
