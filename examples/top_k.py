"""The 8 largest elements of each row of a 1024 x 512 FP32 array, in order, and their positions.

The maximum is found eight times, each time without those found before. Ties go to the lowest
position: select each element's position where it equals the maximum of its row and a position past
the end elsewhere; the minimum of these is the result. That one element is then set below all
others. The vector unit cannot generate indices, so the positions 0, 1, ... come from memory.

The result of a step is a column [rows, 1], one element per row of the tile. Its bytes are those of
a row [1, rows], which is stored: the results have one row for each rank (first, second, ...).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypto.language as pl
from pypto.runtime import Case

if TYPE_CHECKING:
    import numpy as np

ROWS, COLS = 1024, 512
TOP = 8
BLOCK = 128  # rows per launch
TILE = 8  # rows per tile: 16 KiB, and several tiles are live at once
LOWEST = -3.0e38  # below every element of x
BEHIND = float(COLS)  # past every position


@pl.program
class TopK:
    """The largest elements of each row and their positions."""

    @pl.function(type=pl.FunctionType.InCore)
    def top_k_block(
        self,
        x: pl.Tensor[[BLOCK, COLS], pl.FP32],
        positions: pl.Tensor[[1, COLS], pl.FP32],
        values: pl.Out[pl.Tensor[[TOP, BLOCK], pl.FP32]],
        indices: pl.Out[pl.Tensor[[TOP, BLOCK], pl.INT32]],
    ):
        """Find the largest elements of each row of a block."""
        scratch = pl.create_tile([TILE, COLS], pl.FP32)
        position = pl.col_expand(scratch, pl.load(positions, [0, 0], [1, COLS]))  # in each row
        behind = pl.full([TILE, COLS], pl.FP32, BEHIND)
        for r in pl.range(0, BLOCK, TILE):
            left = pl.load(x, [r, 0], [TILE, COLS])
            for k in pl.range(TOP):
                largest = pl.row_max(left, scratch)
                is_largest = pl.row_expand_sub(left, largest) == 0.0
                first = pl.row_min(pl.sel(is_largest, position, behind), scratch)
                is_first = pl.row_expand_sub(position, first) == 0.0
                left = pl.sel(is_first, pl.expands(left, LOWEST), left)
                row = pl.reshape(largest, [1, TILE])
                index = pl.cast(pl.reshape(first, [1, TILE]), pl.INT32)
                values = pl.store(row, [k, r], [1, TILE], values)
                indices = pl.store(index, [k, r], [1, TILE], indices)

    @pl.function(type=pl.FunctionType.Orchestration)
    def top_k(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.FP32],
        positions: pl.Tensor[[1, COLS], pl.FP32],
        values: pl.Out[pl.Tensor[[ROWS // BLOCK * TOP, BLOCK], pl.FP32]],
        indices: pl.Out[pl.Tensor[[ROWS // BLOCK * TOP, BLOCK], pl.INT32]],
    ):
        """Launch the kernel for each block of rows."""
        for block in pl.range(ROWS // BLOCK):
            rows_x = pl.view(x, [BLOCK, COLS], [block * BLOCK, 0])
            rows_values = pl.view(values, [TOP, BLOCK], [block * TOP, 0])
            rows_indices = pl.view(indices, [TOP, BLOCK], [block * TOP, 0])
            self.top_k_block(rows_x, positions, rows_values, rows_indices)


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments: x has multiples of 1/4 in [-250, 250), so that there are many ties."""
    import numpy as np

    shape = (ROWS // BLOCK * TOP, BLOCK)
    return {
        "x": (rng.integers(-1000, 1000, (ROWS, COLS)) / 4).astype(np.float32),
        "positions": np.arange(COLS, dtype=np.float32).reshape(1, COLS),
        "values": np.zeros(shape, np.float32),
        "indices": np.zeros(shape, np.int32),
    }


def reference(x: np.ndarray[Any, Any], **_: Any) -> dict[str, Any]:
    """Return values and positions, which are the same in any precision."""
    import numpy as np

    indices = np.argsort(-x, axis=-1, kind="stable")[:, :TOP]
    values = np.take_along_axis(x, indices, axis=-1)

    def by_rank(found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        blocks = found.reshape(-1, BLOCK, TOP).transpose(0, 2, 1)  # [block, rank, row]
        return blocks.reshape(-1, BLOCK)

    return {"values": by_rank(values), "indices": by_rank(indices)}


# Numbers are only compared and copied, and differences of equal ones are 0: nothing is rounded.
CASES = [Case("top_k", TopK, inputs, reference, 0.0)]
