"""The smallest program: one region that adds two tensors."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

ROWS, COLS = 64, 128


@pl.jit
def hello_add(
    a: pl.Tensor[[ROWS, COLS], pl.FP32],
    b: pl.Tensor[[ROWS, COLS], pl.FP32],
    total: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    """Add two tensors that fit on chip."""
    with pl.at(level=pl.Level.CORE_GROUP):
        total[:] = pl.add(a, b)
    return total


def inputs(rng):
    """Return the arguments in the order of the parameters."""
    return {
        "a": rng.standard_normal((ROWS, COLS), np.float32),
        "b": rng.standard_normal((ROWS, COLS), np.float32),
        "total": np.zeros((ROWS, COLS), np.float32),
    }


def reference(a, b, total):
    """Return the sum in float64."""
    return {"total": a.astype(np.float64) + b}


# One rounding of a number below 16.
CASES = [Case("hello_add", hello_add, inputs, reference, 1e-6)]
