"""Layer normalisation of the rows of a 4096 x 1024 FP32 array, with weight and bias per column.

out = (x - mean) / sqrt(variance + eps) * weight + bias. Mean and variance have one element per row:
columns [rows, 1], on which elementwise ops work as on any tile. The variance is computed from the
centred row, which is already on chip: there is no cancellation, and x is read once.
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
EPS = 1e-5
ONE_COLUMN = 1.0 / COLS


@pl.program
class LayerNorm:
    """(x - mean) / sqrt(variance + eps) * weight + bias of each row."""

    @pl.function(type=pl.FunctionType.InCore)
    def layer_norm_block(
        self,
        x: pl.Tensor[[BLOCK, COLS], pl.FP32],
        weight: pl.Tensor[[1, COLS], pl.FP32],
        bias: pl.Tensor[[1, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[BLOCK, COLS], pl.FP32]],
    ) -> pl.Tensor[[BLOCK, COLS], pl.FP32]:
        """Normalise each row of a block."""
        scratch = pl.create_tile([TILE, COLS], pl.FP32)
        weights = pl.load(weight, [0, 0], [1, COLS])
        biases = pl.col_expand(scratch, pl.load(bias, [0, 0], [1, COLS]))  # in each row
        for r in pl.range(0, BLOCK, TILE):
            tile = pl.load(x, [r, 0], [TILE, COLS])
            mean = pl.mul(pl.row_sum(tile, scratch), ONE_COLUMN)
            centred = pl.row_expand_sub(tile, mean)
            variance = pl.mul(pl.row_sum(pl.mul(centred, centred), scratch), ONE_COLUMN)
            scale = pl.recip(pl.sqrt(pl.add(variance, EPS)))
            scaled = pl.col_expand_mul(pl.row_expand_mul(centred, scale), weights)
            out = pl.store(pl.add(scaled, biases), [r, 0], [TILE, COLS], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def layer_norm(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.FP32],
        weight: pl.Tensor[[1, COLS], pl.FP32],
        bias: pl.Tensor[[1, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        """Launch the kernel for each block of rows."""
        for r in pl.range(0, ROWS, BLOCK):
            rows_x = pl.view(x, [BLOCK, COLS], [r, 0])
            rows_out = pl.view(out, [BLOCK, COLS], [r, 0])
            self.layer_norm_block(rows_x, weight, bias, rows_out)
        return out


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments: x uniform in [-2, 2), weights in [0.5, 1.5), biases in [-0.5, 0.5)."""
    import numpy as np

    x = rng.random((ROWS, COLS), np.float32) * 4 - 2
    weight = rng.random((1, COLS), np.float32) + np.float32(0.5)
    bias = rng.random((1, COLS), np.float32) - np.float32(0.5)
    return {"x": x, "weight": weight, "bias": bias, "out": np.zeros((ROWS, COLS), np.float32)}


def reference(
    x: np.ndarray[Any, Any],
    weight: np.ndarray[Any, Any],
    bias: np.ndarray[Any, Any],
    precision: Any = "float64",
    **_: Any,
) -> dict[str, Any]:
    """Return the results, computed in ``precision``."""
    import numpy as np

    wide = x.astype(precision)
    centred = wide - wide.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return {"out": centred / np.sqrt(variance + EPS) * weight + bias}


# With u = 2**-24: the error of a sum of 1024 terms is at most 1024u of the sum of their magnitudes.
# Their mean magnitude is 1, so the error of a row's mean is 1024u, as is that of each difference
# from it; they are below 2.2. This shift changes the variance only by its square. The error of the
# sum of squares is 1024u of its size, which the root halves; the other roundings add at most 10u:
# 522u of the result. The deviation of a row is above 1.05 and a weight at most 1.5. So the error of
# the results is at most 1.5 / 1.05 * (1024u + 2.2 * 522u) + 4u < 3110u < 1.9e-4.
CASES = [Case("layer_norm", LayerNorm, inputs, reference, 1.9e-4)]
