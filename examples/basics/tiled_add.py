"""A tensor larger than on-chip memory: tiles of rows and columns, one task per band of rows."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

ROWS, COLS = 1024, 1024
TILE_ROWS, TILE_COLS = 64, 128


@pl.jit
def tiled_add(
    a: pl.Tensor[[ROWS, COLS], pl.FP32],
    b: pl.Tensor[[ROWS, COLS], pl.FP32],
    scale: pl.Scalar[pl.FP32],
    total: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    """Return a + scale * b."""
    for band in pl.parallel(0, ROWS, TILE_ROWS):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="add_band"):
            for c in pl.pipeline(0, COLS, TILE_COLS, stage=2):
                left = a[band : band + TILE_ROWS, c : c + TILE_COLS]
                right = b[band : band + TILE_ROWS, c : c + TILE_COLS]
                both = pl.add(left, pl.mul(right, scale))
                total[band : band + TILE_ROWS, c : c + TILE_COLS] = both
    return total


def inputs(rng):
    """Return the arguments in the order of the parameters."""
    return {
        "a": rng.standard_normal((ROWS, COLS), np.float32),
        "b": rng.standard_normal((ROWS, COLS), np.float32),
        "scale": 0.75,
        "total": np.zeros((ROWS, COLS), np.float32),
    }


def reference(a, b, scale, total):
    """Return the sum in float64."""
    return {"total": a.astype(np.float64) + scale * b.astype(np.float64)}


# Two roundings of numbers below 16.
CASES = [Case("tiled_add", tiled_add, inputs, reference, 1e-6)]
