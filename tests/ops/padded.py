"""Rows of the op table on tiles that do not fill whole blocks.

`python -m tests.ops.padded` compares all of them, in every execution, and prints differences.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pypto import ir
from pypto._src.dialect.evaluate import evaluate
from pypto._src.dialect.verify import check, options_of
from pypto._src.dtypes import DataType
from pypto._src.errors import OpError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ops import elementwise, matmul, new_tiles, reduce, tensor
from tests.cases import CASES, Case, Shape, kernel_for
from tests.emit.pto_texts import emitted
from tests.natively import compile_together, compiler, lowered
from tests.ops.test_native import Subject, compare, sums

SIZES = {8: 3, 16: 5, 32: 13, 64: 27, 96: 37, 128: 45, 256: 77, 512: 101}
"""Sizes in the table, and the odd ones that replace them."""
LEVELS = (ir.OptimizationStrategy.Default, ir.OptimizationStrategy.PTOAS)
NOT_ODD = (new_tiles.view, tensor.view, tensor.read, matmul.gemv, matmul.gemv_acc, matmul.gemv_bias)
"""Ops whose other operands select elements, and the one that takes no odd rows."""


class Row(NamedTuple):
    """A row of the table with shapes and element type."""

    case: Case
    dtype: DataType
    shapes: tuple[Shape, ...]

    def __str__(self) -> str:
        return f"{self.case.name} {self.dtype.member} {self.shapes}"


def odd(shape: Shape) -> Shape:
    """Return a shape with odd sizes instead of those that fill blocks."""
    return tuple(SIZES.get(size, size) for size in shape)


def _rows() -> Iterator[Row]:
    for case in CASES:
        is_cast = case.op is elementwise.cast and case.attrs["mode"] != "rint"
        if case.no_kernel or is_cast or case.op in NOT_ODD or case.op.level != "block":
            continue
        shapes = {tuple(map(odd, each)): None for each in case.shapes}
        tiles = {len(each) for each in case.shapes if ((1, 256),) * len(each) == each}
        for count in tiles:
            shapes |= dict.fromkeys([((1, 1),) * count, ((3, 1),) * count, ((1, 5),) * count])
        ints = tuple(odd(each) if len(each) == 2 else each for each in case.ints)
        for each in shapes:
            for dtype in case.dtypes:
                yield Row(replace(case, ints=ints), dtype, each)


ROWS = list(_rows())


def sample(rows: list[Row], part: int, parts: int) -> list[Row]:
    """Return every n-th row, starting at ``part``."""
    return rows[part::parts]


def subject(row: Row) -> Subject | None:
    """Return the kernel of a row, or None if the op rejects the shape."""
    try:
        built = kernel_for(row.case, row.dtype, row.shapes)
        return Subject(row.case, row.dtype, row.shapes, built, lowered(built.function))
    except OpError as error:
        if error.slug not in ("tile-layout", "shape-mismatch", "tile-shape"):
            raise
        return None


def compare_text(subject: Subject) -> None:
    """Compare the results of the PTO texts of both levels with the interpreter's."""
    program = ir.Program([subject.built.function], "padded")
    arguments = subject.built.arguments(subject.case.values)
    wanted = [array.copy() for array in arguments]
    Evaluator(program).call("kernel", wanted)
    for strategy in LEVELS:
        text = emitted(program, strategy)
        found = [array.copy() for array in arguments]
        evaluate(check(text, str(subject), options_of(text, "a3")), "kernel", found)
        for one, other in zip(found, wanted, strict=True):
            if sums(subject.case) or subject.case.op is reduce.row_sum:
                np.testing.assert_allclose(
                    one.astype(np.float64), other.astype(np.float64), 1e-3, 1e-3, err_msg=text
                )
            else:
                np.testing.assert_array_equal(
                    one.view(f"u{one.itemsize}"), other.view(f"u{one.itemsize}"), err_msg=text
                )


def main() -> int:
    """Compare all rows; return the number of differences."""
    wrong, taken = 0, 0
    for part in range(0, len(ROWS), 200):
        chosen = [s for s in map(subject, ROWS[part : part + 200]) if s is not None]
        taken += len(chosen)
        natives = compile_together([each.after for each in chosen], compiler())
        for each, native in zip(chosen, natives, strict=True):
            try:
                compare(each, native)
                compare_text(each)
            except Exception as error:
                wrong += 1
                print(each, type(error).__name__, str(error)[:200], sep=": ")
    print(f"{taken} of {len(ROWS)} rows are taken, {wrong} differ")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main()))
