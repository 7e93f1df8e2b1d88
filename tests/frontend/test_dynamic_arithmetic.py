"""Sizes computed from dynamic dimensions, where Python itself evaluates the annotations."""

from typing import Any

import pytest

import pypto.language as pl
from pypto._src.frontend.markers import DynVar
from pypto._src.ir.stmts import Function
from pypto._src.ir.text.printer import python_print

M = pl.dynamic("M")
N = 2 * M - 3


@pl.function
def sizes(
    x: pl.Tensor[[M + 1, 1 + M], pl.FP32],
    y: pl.Tensor[[M // 2, 64 // M], pl.FP32],
    z: pl.Tensor[[M % 5, 100 - M], pl.FP32],
    w: pl.Tensor[[N, M * M], pl.FP32],
) -> pl.Tensor[[N, M * M], pl.FP32]:
    return w


def test_annotations_compute_with_dimensions() -> None:
    """A size may be computed in an annotation or before it, without ``from __future__``."""
    assert isinstance(sizes, Function)
    assert [python_print(param.type) for param in sizes.params] == [
        f"pl.Tensor[[{shape}], pl.FP32]"
        for shape in ("M + 1, 1 + M", "M // 2, 64 // M", "M % 5, 100 - M", "2 * M - 3, M * M")
    ]


def test_dimensions_stand_on_either_side() -> None:
    """A dimension may be on either side of a size computed from another one, or from itself."""
    rows: Any = pl.dynamic("R")
    computed = [N + rows, rows + N, N * rows, rows - N, (N - rows) // (2 * rows), N % rows]
    assert [str(size) for size in computed] == [
        "2 * M - 3 + R",
        "R + (2 * M - 3)",
        "(2 * M - 3) * R",
        "R - (2 * M - 3)",
        "(2 * M - 3 - R) // (2 * R)",
        "(2 * M - 3) % R",
    ]


def test_dimensions_are_integers() -> None:
    """An operation without an integer result is Python's own error."""
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for /: 'DynVar' and 'int'"):
        DynVar("M") / 2  # pyright: ignore[reportUnusedExpression]
    with pytest.raises(
        TypeError, match=r"unsupported operand type\(s\) for \+: 'DynVar' and 'str'"
    ):
        DynVar("M") + "a"  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
