"""A fused elementwise chain: out = z / (1 + exp(-z)) with z = a * b + c, on 4096 x 4096 FP32.

One kernel processes a block of whole rows, tile by tile: six operations on data that is read once
and written once. The orchestration launches the kernel for each block. A block of whole rows is
contiguous, so the blocks are disjoint regions and run in parallel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypto.language as pl
from pypto.runtime import Case

if TYPE_CHECKING:
    import numpy as np

ROWS, COLS = 4096, 4096
BLOCK = 128  # rows per launch
TILE = 2  # rows per tile: 32 KiB, so that the five tiles live at once fit the vector memory


@pl.program
class Elementwise:
    """SiLU of a * b + c."""

    @pl.function(type=pl.FunctionType.InCore)
    def silu_block(
        self,
        a: pl.Tensor[[BLOCK, COLS], pl.FP32],
        b: pl.Tensor[[BLOCK, COLS], pl.FP32],
        c: pl.Tensor[[BLOCK, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[BLOCK, COLS], pl.FP32]],
    ) -> pl.Tensor[[BLOCK, COLS], pl.FP32]:
        """Apply the chain to a block of rows."""
        for r in pl.range(0, BLOCK, TILE):
            tile_a = pl.load(a, [r, 0], [TILE, COLS])
            tile_b = pl.load(b, [r, 0], [TILE, COLS])
            tile_c = pl.load(c, [r, 0], [TILE, COLS])
            z = pl.add(pl.mul(tile_a, tile_b), tile_c)
            below = pl.add(pl.exp(pl.neg(z)), 1.0)
            out = pl.store(pl.div(z, below), [r, 0], [TILE, COLS], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def silu(
        self,
        a: pl.Tensor[[ROWS, COLS], pl.FP32],
        b: pl.Tensor[[ROWS, COLS], pl.FP32],
        c: pl.Tensor[[ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        """Launch the kernel for each block of rows."""
        for r in pl.range(0, ROWS, BLOCK):
            rows_a = pl.view(a, [BLOCK, COLS], [r, 0])
            rows_b = pl.view(b, [BLOCK, COLS], [r, 0])
            rows_c = pl.view(c, [BLOCK, COLS], [r, 0])
            rows_out = pl.view(out, [BLOCK, COLS], [r, 0])
            self.silu_block(rows_a, rows_b, rows_c, rows_out)
        return out


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments, uniform in [-2, 2)."""
    import numpy as np

    a, b, c = ((rng.random((ROWS, COLS), np.float32) * 4 - 2) for _ in range(3))
    return {"a": a, "b": b, "c": c, "out": np.zeros((ROWS, COLS), np.float32)}


def reference(
    a: np.ndarray[Any, Any],
    b: np.ndarray[Any, Any],
    c: np.ndarray[Any, Any],
    precision: Any = "float64",
    **_: Any,
) -> dict[str, Any]:
    """Return the results, computed in ``precision``."""
    import numpy as np

    z = a.astype(precision) * b + c
    return {"out": z / (1 + np.exp(-z))}


# With u = 2**-24 and |a|, |b|, |c| <= 2: the error is at most 4u for the product, 6u for the sum,
# and the function's slope is at most 1.1, so 11u. The rest (exp within 2 ulp = 4u, a sum, a
# quotient) adds a relative error of at most 6u, and the result is at most 6: 36u. 47u < 2.9e-6.
CASES = [Case("elementwise", Elementwise, inputs, reference, 2.9e-6)]
