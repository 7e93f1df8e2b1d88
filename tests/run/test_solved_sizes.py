"""Sizes that no tensor has as a dimension of its own, but one in an expression: ``B * 32``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.errors import CallError
from pypto._src.ir.dims import solved_dims
from pypto._src.ir.stmts import Function

TARGETS = pytest.mark.parametrize("target", ["cpu", "interpreter"])
B = pl.dynamic("B")


@pl.program
class Blocks:
    """A kernel whose tensor is B blocks of 32 rows, and a host function with the same tensor."""

    @pl.function(type=pl.FunctionType.InCore)
    def fill(self, out: pl.Out[pl.Tensor[[B * 32, 64], pl.FP32]]):
        for i in pl.range(B):
            out[i * 32 : i * 32 + 32] = pl.full([32, 64], pl.FP32, pl.cast(i, pl.FP32))

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, out: pl.Out[pl.Tensor[[B * 32, 64], pl.FP32]]):
        self.fill(out)


@TARGETS
@pytest.mark.parametrize("entry", ["fill", "main"])
@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_a_size_follows_from_an_expression(target: Any, entry: str, blocks: int) -> None:
    """Of 96 rows B is 3."""
    out = np.full((blocks * 32, 64), -1, np.float32)
    runtime.compile(Blocks, target, entry=entry)(out)
    assert (out == np.arange(blocks * 32)[:, None] // 32).all()


@TARGETS
@pytest.mark.parametrize("entry", ["fill", "main"])
def test_what_does_not_divide_is_refused(target: Any, entry: str) -> None:
    """No B has 65 rows."""
    out = np.zeros((65, 64), np.float32)
    with pytest.raises(CallError) as caught:
        runtime.compile(Blocks, target, entry=entry)(out)
    assert caught.value.message == (
        f"argument 'out' of {entry} is an array [65, 64]; Out[Tensor[[B * 32, 64], FP32]] was "
        "wanted, and B * 32 is 64"
    )
    assert caught.value.hint == "pass an array [64, 64]"


_TEXT = """
import pypto.language as pl
B = pl.dynamic("B")
C = pl.dynamic("C")
@pl.function(type=pl.FunctionType.InCore)
def k(
    n: pl.INT64,
    x: pl.Tensor[[{rows}, {columns}], pl.FP32],
    out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
):
    for i in pl.range(B):
        out[i : i + 1] = pl.full([1, 64], pl.FP32, 1.0)
"""


def _kernel(rows: str, columns: str = "64") -> Function:
    function = pl.parse(_TEXT.format(rows=rows, columns=columns))
    assert isinstance(function, Function)
    return function


@TARGETS
@pytest.mark.parametrize(
    ("rows", "columns", "shape"),
    [
        ("B * 32 + 8", "64", (168, 64)),
        ("n * 8 - B * n", "64", (21, 64)),
        ("7 * (B + n)", "64", (84, 64)),
        ("n + B + n", "C", (19, 11)),
        ("C * B + n", "C", (22, 3)),
        ("B * 2 + C", "C * 7", (17, 49)),
    ],
)
def test_sums_and_products_are_solved(
    target: Any, rows: str, columns: str, shape: tuple[int, int]
) -> None:
    """Step by step, also with the help of other sizes; n is 7 and B is 5."""
    out = np.zeros((16, 64), np.float32)
    x = np.zeros(shape, np.float32)
    runtime.compile(_kernel(rows, columns), target)(7, x, out)
    assert (out.sum(axis=1) == [64] * 5 + [0] * 11).all()


@TARGETS
@pytest.mark.parametrize(
    ("rows", "n", "message"),
    [
        ("B + 10", 0, "[3, 64]; Tensor[[B + 10, 64], FP32] was wanted, and B would be -7"),
        (
            "B * n",
            0,
            "[3, 64]; Tensor[[B * n, 64], FP32] was wanted, which gives no B: '//' by zero",
        ),
        ("B * n", 2, "[3, 64]; Tensor[[B * n, 64], FP32] was wanted, and B * n is 2"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(target: Any, rows: str, n: int, message: str) -> None:
    """A size is a whole number that is not negative."""
    arrays = [np.zeros((3, 64), np.float32), np.zeros((16, 64), np.float32)]
    with pytest.raises(CallError) as caught:
        runtime.compile(_kernel(rows), target)(n, *arrays)
    assert caught.value.message == f"argument 'x' of k is an array {message}"
    assert caught.value.slug == "argument-shape"


@pytest.mark.parametrize("rows", ["B // 2", "B * B", "B + C", "pl.min(B, 64)"])
def test_what_has_no_single_answer_is_not_solved(rows: str) -> None:
    """Of such a dimension nothing is sure, so the call is refused as before."""
    assert solved_dims(_kernel(rows)) == []
    with pytest.raises(CallError) as caught:
        runtime.compile(_kernel(rows), "interpreter")
    assert caught.value.message == (
        "k cannot be called: the size 'B' is not a dimension of any of its tensors"
    )
