"""RMS normalisation of the rows of a 4096 x 1024 FP32 array, with a weight for each column.

out = x / sqrt(mean(x * x) + eps) * weight. The mean and its root have one element per row: columns
[rows, 1], on which elementwise ops work as on any tile.
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
EPS = 1e-6
ONE_COLUMN = 1.0 / COLS


@pl.program
class RmsNorm:
    """x / sqrt(mean(x * x) + eps) * weight of each row."""

    @pl.function(type=pl.FunctionType.InCore)
    def rmsnorm_block(
        self,
        x: pl.Tensor[[BLOCK, COLS], pl.FP32],
        weight: pl.Tensor[[1, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[BLOCK, COLS], pl.FP32]],
    ) -> pl.Tensor[[BLOCK, COLS], pl.FP32]:
        """Normalise each row of a block."""
        scratch = pl.create_tile([TILE, COLS], pl.FP32)
        row = pl.load(weight, [0, 0], [1, COLS])
        for r in pl.range(0, BLOCK, TILE):
            tile = pl.load(x, [r, 0], [TILE, COLS])
            squares = pl.row_sum(pl.mul(tile, tile), scratch)
            mean = pl.add(pl.mul(squares, ONE_COLUMN), EPS)
            scale = pl.recip(pl.sqrt(mean))
            scaled = pl.col_expand_mul(pl.row_expand_mul(tile, scale), row)
            out = pl.store(scaled, [r, 0], [TILE, COLS], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def rmsnorm(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.FP32],
        weight: pl.Tensor[[1, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        """Launch the kernel for each block of rows."""
        for r in pl.range(0, ROWS, BLOCK):
            rows_x = pl.view(x, [BLOCK, COLS], [r, 0])
            rows_out = pl.view(out, [BLOCK, COLS], [r, 0])
            self.rmsnorm_block(rows_x, weight, rows_out)
        return out


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments: x uniform in [-2, 2), weights in [0.5, 1.5)."""
    import numpy as np

    x = rng.random((ROWS, COLS), np.float32) * 4 - 2
    weight = rng.random((1, COLS), np.float32) + np.float32(0.5)
    return {"x": x, "weight": weight, "out": np.zeros((ROWS, COLS), np.float32)}


def reference(
    x: np.ndarray[Any, Any], weight: np.ndarray[Any, Any], precision: Any = "float64", **_: Any
) -> dict[str, Any]:
    """Return the results, computed in ``precision``."""
    import numpy as np

    wide = x.astype(precision)
    mean = (wide * wide).mean(axis=-1, keepdims=True)
    return {"out": wide / np.sqrt(mean + EPS) * weight}


# With u = 2**-24: a sum of 1024 positive products has a relative error of at most 1024u, which the
# root halves; the factor 1/1024 is exact; eps, root, reciprocal and two products add 8u at most:
# 520u. The root mean square of a row is above 1, so results are below 2 * 1.5 = 3: 1560u < 9.4e-5.
CASES = [Case("rmsnorm", RmsNorm, inputs, reference, 9.4e-5)]
