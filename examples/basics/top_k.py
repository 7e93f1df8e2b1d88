"""The largest elements of each row and their columns: sort groups of 32, then merge runs."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

ROWS, COLS = 32, 512
K = 64


@pl.jit
def top_k(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    values: pl.Out[pl.Tensor[[ROWS, K], pl.FP32]],
    indices: pl.Out[pl.Tensor[[ROWS, K], pl.INT32]],
):
    """Return the K largest of each row in descending order, with their columns."""
    for row in pl.spmd(ROWS, name_hint="top_k"):
        columns = pl.arange(0, [1, COLS], dtype=pl.UINT32)
        pairs = pl.sort32(x[row : row + 1, :], columns)
        pairs = pl.mrgsort(pairs, block_len=64)
        pairs = pl.mrgsort(pairs, block_len=256)
        best = pairs[:, 0 : 2 * K]
        values[row : row + 1, :] = pl.gather(best, mask_pattern=pl.tile.MaskPattern.P0101)
        indices[row : row + 1, :] = pl.gather(
            best, mask_pattern=pl.tile.MaskPattern.P1010, output_dtype=pl.INT32
        )
    return values, indices


def inputs(rng):
    """Return rows of distinct numbers."""
    x = rng.permutation(ROWS * COLS).reshape(ROWS, COLS).astype(np.float32) / 64
    return {
        "x": x,
        "values": np.zeros((ROWS, K), np.float32),
        "indices": np.zeros((ROWS, K), np.int32),
    }


def reference(x, values, indices):
    """Return the expected values and columns, exactly."""
    order = np.argsort(-x, axis=1, kind="stable")[:, :K]
    return {"values": np.take_along_axis(x, order, axis=1), "indices": order}


# Values are only copied, so the result is exact.
CASES = [Case("top_k", top_k, inputs, reference, 0.0)]
