"""Softmax of each row of a 4096 x 1024 FP32 array.

The largest element of a row is subtracted first, so that no exponential overflows. A kernel
processes a block of rows; the orchestration launches it for each block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypto.language as pl
from pypto.runtime import Case

if TYPE_CHECKING:
    import numpy as np

ROWS, COLS = 4096, 1024
BLOCK = 128  # rows per launch
TILE = 8  # rows per tile: 32 KiB


@pl.program
class Softmax:
    """exp(x - max) / sum(exp(x - max)) of each row."""

    @pl.function(type=pl.FunctionType.InCore)
    def softmax_block(
        self,
        x: pl.Tensor[[BLOCK, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[BLOCK, COLS], pl.FP32]],
    ) -> pl.Tensor[[BLOCK, COLS], pl.FP32]:
        """Compute the softmax of each row of a block."""
        scratch = pl.create_tile([TILE, COLS], pl.FP32)
        for r in pl.range(0, BLOCK, TILE):
            tile = pl.load(x, [r, 0], [TILE, COLS])
            largest = pl.row_max(tile, scratch)
            powers = pl.exp(pl.row_expand_sub(tile, largest))
            total = pl.row_sum(powers, scratch)
            out = pl.store(pl.row_expand_div(powers, total), [r, 0], [TILE, COLS], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def softmax(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        """Launch the kernel for each block of rows."""
        for r in pl.range(0, ROWS, BLOCK):
            rows_x = pl.view(x, [BLOCK, COLS], [r, 0])
            rows_out = pl.view(out, [BLOCK, COLS], [r, 0])
            self.softmax_block(rows_x, rows_out)
        return out


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments, uniform in [-4, 4)."""
    import numpy as np

    x = rng.random((ROWS, COLS), np.float32) * 8 - 4
    return {"x": x, "out": np.zeros((ROWS, COLS), np.float32)}


def reference(x: np.ndarray[Any, Any], precision: Any = "float64", **_: Any) -> dict[str, Any]:
    """Return the results, computed in ``precision``."""
    import numpy as np

    powers = np.exp(x.astype(precision) - x.max(axis=-1, keepdims=True))
    return {"out": powers / powers.sum(axis=-1, keepdims=True)}


# With u = 2**-24: the error of the difference, at most 8, is 8u, so the relative error of each
# exponential is 8u + 4u, in the dividend and in each term of the divisor: 24u. A sum of 1024
# positive terms adds 1023u at most, the quotient u. Results are below 1 / (1024 * mean of exp(x -
# 4)) < 0.01: that mean is 0.125, and well above 0.1 in every row. 0.01 * 1048u < 6.3e-7.
CASES = [Case("softmax", Softmax, inputs, reference, 6.3e-7)]
