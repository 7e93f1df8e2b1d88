"""Expressions nested thousands of operators deep: no part of the compiler overflows on them."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import TextError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.exprs import Add, ConstInt, Expr, Sub
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.recursion import nesting
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests import effort
from tests.natively import compiler

_TEXT = """
import pypto.language as pl
@pl.function(type=pl.FunctionType.InCore)
def k(
    x: pl.Tensor[[16, 64], pl.FP32],
    n: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
):
    s = {scalar}
    if {condition}:
        tile = pl.load(x, [{offset}, 0], [16, 64])
        for i in pl.range({bound}):
            tile = {sum}
        out = pl.store(pl.add(tile, pl.cast(s, pl.FP32)), [0, 0], [16, 64], out)
"""
_SHORT = {"scalar": "n", "condition": "n > 0", "offset": "0", "bound": "1", "sum": "tile + tile"}
TERMS = 2000
_LONG = {
    "scalar": " + ".join(["n"] * TERMS),
    "condition": " and ".join(["n > 0"] * TERMS),
    "offset": " + ".join(["n"] * TERMS) + f" - {TERMS} * n",
    "bound": " + ".join(["n"] * TERMS) + f" - {TERMS - 1} * n",
    "sum": " + ".join(["tile"] * TERMS),
}


@pytest.mark.parametrize("place", [name for name in _LONG if name != "sum"])
@pytest.mark.parametrize("strict", [False, True])
def test_two_thousand_terms_on_a_line(place: str, strict: bool) -> None:
    """A sum as a value, a condition, an offset and a bound is computed as a short one is."""
    program = pl.parse(_TEXT.format(**_SHORT | {place: _LONG[place]}))
    x, out = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
    runtime.compile(program, "interpreter", strict=strict)(x, 1, out)
    assert (out == 2 + (TERMS if place == "scalar" else 1)).all()


@pytest.mark.parametrize("strict", [False, True])
def test_two_thousand_tiles_on_a_line(strict: bool) -> None:
    """A sum of tiles is a chain of nested calls."""
    program = pl.parse(_TEXT.format(**_SHORT | {"sum": _LONG["sum"]}))
    x, out = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
    runtime.compile(program, "interpreter", strict=strict)(x, 1, out)
    assert (out == TERMS + 1).all()


_HOST = """
import pypto.language as pl
@pl.program
class Filled:
    @pl.function(type=pl.FunctionType.InCore)
    def fill(self, n: pl.Scalar[pl.INT64], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        out[:] = pl.full([16, 64], pl.FP32, pl.cast(n, pl.FP32))

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, n: pl.Scalar[pl.INT64], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        self.fill({sum}, out)
"""


def test_a_thousand_terms_in_a_host_function() -> None:
    """The C++ of a host function compiles, and computes the same."""
    compiler()
    program = pl.parse(_HOST.format(sum=" + ".join(["n"] * 1000)))
    out = np.zeros((16, 64), np.float32)
    runtime.compile(program, "cpu")(3, out)
    assert (out == 3000).all()


class _Deepened(Mutator):
    """Replaces the constant 99 by an expression."""

    def __init__(self, value: Expr) -> None:
        super().__init__()
        self._value = value

    def visit_ConstInt(self, expr: ConstInt) -> Expr:
        return self._value if expr.value == 99 else expr


_DEEP = {
    "scalar": "n + 99 - n",
    "condition": "n + 99 > 0",
    "offset": "n + 99 - 2 * n",
    "bound": "n + 99 - n",
}
"""With n = 1 in place of 99, each equals the short expression in `_SHORT`."""


def _deep(place: str, side: str) -> Function:
    """Return the kernel with n in one place, nested in ten thousand operators that cancel out."""
    function = pl.parse(_TEXT.format(**_SHORT | {place: _DEEP[place]}))
    assert isinstance(function, Function)
    n: Expr = function.params[1]
    value = n
    for index in range(10_000):
        if side == "left":
            value = (Add, Sub)[index % 2](value, n, DataType.INT64)
        else:
            value = Sub(n, value, DataType.INT64)
    return copy_with(function, {"body": _Deepened(value).visit(function.body)})


PLACES = pytest.mark.parametrize("place", [*_DEEP])
SIDES = pytest.mark.parametrize("side", ["left", "right"])


@PLACES
@SIDES
def test_ten_thousand_operators_are_evaluated(place: str, side: str) -> None:
    """The interpreter's own recursion reaches as deep as the expression."""
    function = _deep(place, side)
    assert nesting(function) > 10_000
    out = np.zeros((16, 64), np.float32)
    evaluate(function, [np.ones((16, 64), np.float32), 1, out])
    assert (out == 3).all()


@pytest.mark.parametrize("place", effort.part(_DEEP, 2))
@pytest.mark.parametrize(
    ("side", "strategy"),
    [("left", OptimizationStrategy.Default), ("right", OptimizationStrategy.PTOAS)],
)
def test_ten_thousand_operators_are_compiled(
    place: str, side: str, strategy: OptimizationStrategy
) -> None:
    """Passes and their code generator accept them."""
    lowered = PassManager(strategy).run_passes(Program([_deep(place, side)], "p"))
    if strategy is OptimizationStrategy.Default:
        assert kernel_file(lowered.functions_[0]).count(" + n - n") >= 5000
    else:
        assert PTOCodegen().generate(lowered).count("arith.subi") >= 10_000


@SIDES
def test_ten_thousand_operators_are_serialised(side: str) -> None:
    """They can be serialised."""
    function = _deep("scalar", side)
    ir.assert_structural_equal(ir.deserialize(ir.serialize(function)), function)


@SIDES
def test_ten_thousand_operators_in_statement_form(side: str) -> None:
    """The statement form has a statement for each."""
    program = Program([_deep("scalar", side)], "p")
    text = ir.to_statement_text(program)
    assert ir.to_statement_text(ir.from_statement_text(text)) == text


def test_ten_thousand_operators_are_printed_or_refused() -> None:
    """Text without parentheses can be printed; nested parentheses are rejected as too deep."""
    assert str(_deep("scalar", "left")).count(" + n - n") == 5000
    with pytest.raises(TextError) as caught:
        str(_deep("scalar", "right"))
    assert caught.value.message == "this Function nests too deeply to be printed"
