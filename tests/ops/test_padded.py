"""Tiles of any size: rows that do not fill blocks, columns of any height, single elements.

Each op of the table on such shapes gives the same on arrays, on the interpreter before and after
the passes, compiled, and as evaluated PTO text. After the passes the interpreter's memory has
tiles in their real layout, with uninitialized bytes poisoned: a result that depended on padding
would show it. `python -m tests.ops.padded` goes through all rows of the table.
"""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from tests import effort
from tests.natively import compile_together, compiler
from tests.ops.padded import ROWS, Row, compare_text, sample, subject
from tests.ops.test_native import compare

PARTS = effort.count(144, thorough_run=24)


@pytest.mark.parametrize("part", [0, 7])
def test_ops_on_padded_tiles(part: int) -> None:
    """A sample of all rows: NumPy, interpreter, passes, C++ and both PTO texts."""
    chosen = [s for s in map(subject, sample(ROWS, part, PARTS)) if s is not None]
    assert len(chosen) > 2000 // PARTS
    natives = compile_together([each.after for each in chosen], compiler())
    for each, native in zip(chosen, natives, strict=True):
        compare(each, native)
        compare_text(each)


def _is_refused(row: Row) -> bool:
    return subject(row) is None


def test_few_rows_are_refused() -> None:
    """On-chip moves of elements are: reductions of planes, reshapes, indices, sorting."""
    refused = {row.case.op.name for row in ROWS if "3" in str(row.shapes) and _is_refused(row)}
    assert refused <= {
        "block.max",
        "block.min",
        "block.sum",
        "block.reshape",
        "block.cast",
        "block.extract",
        "block.move",
        "block.gather",
        "block.gather_along",
        "block.gather_mask",
        "block.scatter",
        "block.scatter_along",
        "block.scatter_mask",
        "block.scatter_update",
        "block.sort32",
        "block.mrgsort",
        "block.mrgsort2",
        "block.mrgsort3",
        "block.mrgsort4",
    }


@pl.program
class Wide:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[33, 65], pl.FP32], out: pl.Out[pl.Tensor[[33, 65], pl.FP32]]
    ) -> pl.Tensor[[33, 65], pl.FP32]:
        whole = pl.load(x, [0, 0], [33, 65])
        first = pl.load(x, [1, 64], [32, 1])
        last = pl.load(x, [0, 3], [33, 1])
        total = pl.row_sum(pl.load(x, [2, 0], [1, 65]))
        out = pl.store(pl.mul(pl.add(whole, last), total), [0, 0], [33, 65], out)
        return pl.store(pl.exp(first), [1, 0], [32, 1], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[33, 65], pl.FP32], out: pl.Out[pl.Tensor[[33, 65], pl.FP32]]
    ) -> pl.Tensor[[33, 65], pl.FP32]:
        return self.kernel(x, out)


def test_memory_counts_padding() -> None:
    """A tile [32, 5] of FP32 takes rows of 32 bytes, and a column [3, 1] three of them."""

    @pl.program
    class Narrow:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            self, x: pl.Tensor[[32, 5], pl.FP32], out: pl.Out[pl.Tensor[[32, 5], pl.FP32]]
        ) -> pl.Tensor[[32, 5], pl.FP32]:
            out = pl.store(pl.load(x, [0, 0], [32, 5]), [0, 0], [32, 5], out)
            return pl.store(pl.load(x, [4, 0], [3, 1]), [0, 0], [3, 1], out)

    [plan] = runtime.compile(Narrow).memory_plan.kernels
    assert sorted(each.size for space in plan.spaces for each in space.buffers) == [96, 1024]


def test_columns_of_a_wide_tensor() -> None:
    """Columns that fill blocks and others, and a sum of one row, in one kernel."""
    x = (np.arange(33 * 65).reshape(33, 65) % 7 / 8).astype(np.float32)
    wanted = (x + x[:, 3:4]) * x[2].sum()
    wanted[1:33, 0:1] = np.exp(x[1:33, 64:65])
    out = np.zeros_like(x)
    runtime.compile(Wide)(x, out)
    np.testing.assert_allclose(out, wanted, 1e-6)
