"""Sizes that occur in no tensor as a plain dimension, only inside expressions: ``B * 32``."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.errors import CallError, PyptoError
from pypto._src.ir.stmts import Function
from pypto._src.ir.traversal.symbolic_dims import solved_dims

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
    """With 96 rows, B is 3."""
    out = np.full((blocks * 32, 64), -1, np.float32)
    runtime.compile(Blocks, target, entry=entry)(out)
    assert (out == np.arange(blocks * 32)[:, None] // 32).all()


@TARGETS
@pytest.mark.parametrize("entry", ["fill", "main"])
def test_what_does_not_divide_is_refused(target: Any, entry: str) -> None:
    """No B gives 65 rows."""
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
    """A size must be a nonnegative integer."""
    arrays = [np.zeros((3, 64), np.float32), np.zeros((16, 64), np.float32)]
    with pytest.raises(CallError) as caught:
        runtime.compile(_kernel(rows), target)(n, *arrays)
    assert caught.value.message == f"argument 'x' of k is an array {message}"
    assert caught.value.slug == "argument-shape"


@pytest.mark.parametrize("rows", ["B // 2", "B * B", "B + C", "pl.min(B, 64)"])
def test_what_has_no_single_answer_is_not_solved(rows: str) -> None:
    """An ambiguous dimension determines nothing, so the call is rejected as before."""
    assert solved_dims(_kernel(rows)) == []
    with pytest.raises(CallError) as caught:
        runtime.compile(_kernel(rows), "interpreter")
    assert caught.value.message == (
        "k cannot be called: the size 'B' is not a dimension of any of its tensors"
    )


_ADDED = """
import pypto.language as pl
B = pl.dynamic("B")
C = pl.dynamic("C")
@pl.function(type=pl.FunctionType.InCore)
def k(x: pl.Tensor[[{rows}, 64], pl.FP32]):
    out = pl.create_tensor([C, 64], dtype=pl.FP32)
    for i in pl.range(2):
        out = pl.store(pl.full([1, 64], pl.FP32, 1.0), [i, 0], [1, 64], out)
    return out
"""


@TARGETS
@pytest.mark.parametrize("rows", ["B * C", "B + C"])
def test_a_result_tells_no_size(target: Any, rows: str) -> None:
    """Passes add the result as a parameter, which has no argument to take sizes from."""
    with pytest.raises(CallError) as caught:
        runtime.compile(pl.parse(_ADDED.format(rows=rows)), target)
    assert caught.value.message == (
        "k cannot be called: the size 'B' is not a dimension of any of its tensors"
    )


_NESTED = """
import pypto.language as pl
B = pl.dynamic("B")
N = pl.dynamic("N")
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[B + 10, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        for i in pl.range(B):
            out = pl.store(pl.full([1, 64], pl.FP32, 1.0), [i, 0], [1, 64], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[N, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        out = self.k(x, out)
        return out
"""


@TARGETS
def test_calls_inside_a_program_are_held_to_it_too(target: Any) -> None:
    """A kernel launched with too few rows is rejected, as if it were called from outside."""
    compiled = runtime.compile(pl.parse_program(_NESTED), target)
    out = np.zeros((16, 64), np.float32)
    compiled(np.zeros((13, 64), np.float32), out)
    assert out.sum() == 3 * 64
    with pytest.raises(PyptoError, match=r"Tensor\[\[B \+ 10, 64\], FP32\] was wanted"):
        compiled(np.zeros((3, 64), np.float32), out)


def test_hundreds_of_sizes_follow_from_one_another() -> None:
    """Each is computed from the previous one, without recomputing all before it."""
    count = 700
    names = [f"D{i}" for i in range(count + 1)]
    shapes = ["D0 * 2", *(f"{b} + {a}" for a, b in pairwise(names))][::-1]  # the last tells most
    text = "\n".join(
        [
            "import pypto.language as pl",
            *(f"{name} = pl.dynamic('{name}')" for name in names),
            "@pl.function(type=pl.FunctionType.InCore)",
            "def k(",
            *(f"    x{i}: pl.Tensor[[{shape}, 8], pl.FP32]," for i, shape in enumerate(shapes)),
            "    out: pl.Out[pl.Tensor[[1, 8], pl.FP32]],",
            "):",
            f"    out[0:1] = pl.full([1, 8], pl.FP32, pl.cast({names[-1]}, pl.FP32))",
        ]
    )
    out = np.zeros((1, 8), np.float32)
    arrays = [np.zeros((7, 8), np.float32)] * count
    runtime.compile(pl.parse(text), "interpreter")(*arrays, np.zeros((6, 8), np.float32), out)
    assert (out == 3).all()


@TARGETS
def test_the_size_that_has_no_answer_is_named(target: Any) -> None:
    """C is 0, so nothing determines B."""
    arrays = [np.zeros((0, 0), np.float32), np.zeros((16, 64), np.float32)]
    with pytest.raises(CallError) as caught:
        runtime.compile(_kernel("C * 2", "C * B"), target)(1, *arrays)
    assert caught.value.message.endswith("which gives no B: '//' by zero")
