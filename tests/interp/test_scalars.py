"""Scalar arithmetic: wrapping, floor division, IEEE floats, and undefined results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir import exprs
from pypto._src.ir.exprs import BinaryExpr, Cast, Expr, Var
from pypto._src.ir.stmts import Function, ReturnStmt
from pypto._src.ir.types import ScalarType

D = DataType
NAN, INF = math.nan, math.inf


def compute(kind: type[BinaryExpr], a: Any, b: Any, dtype: DataType) -> Any:
    """Return ``kind`` of two arguments of ``dtype``."""
    x, y = Var("x", ScalarType(dtype)), Var("y", ScalarType(dtype))
    result = D.BOOL if kind in exprs.COMPARISONS + exprs.LOGICAL else dtype
    node = kind(x, y, result, Span("k.py", 3, 8))
    return evaluate(Function("f", [x, y], [node.type], ReturnStmt([node])), [a, b])


@pytest.mark.parametrize(
    ("kind", "a", "b", "dtype", "wanted"),
    [
        (exprs.Add, 2**31 - 1, 1, D.INT32, -(2**31)),
        (exprs.Add, 2**63 - 1, 1, D.INT64, -(2**63)),
        (exprs.Sub, 0, 1, D.UINT8, 255),
        (exprs.Mul, 300, 300, D.INT16, 24464),
        (exprs.FloorDiv, -7, 2, D.INT32, -4),
        (exprs.FloorDiv, -(2**31), -1, D.INT32, -(2**31)),
        (exprs.FloorMod, -7, 3, D.INT32, 2),
        (exprs.FloorMod, 7, -3, D.INT32, -2),
        (exprs.FloatDiv, -7, 2, D.INT32, -3),
        (exprs.Pow, -3, 3, D.INT32, -27),
        (exprs.Pow, 7, 100_000, D.INT32, pow(7, 100_000, 2**32)),
        (exprs.Min, 3, -2, D.INT32, -2),
        (exprs.Max, 3, -2, D.INT32, 3),
        (exprs.BitAnd, 12, 10, D.INT32, 8),
        (exprs.BitOr, 12, 10, D.INT32, 14),
        (exprs.BitXor, 12, -1, D.INT32, -13),
        (exprs.BitShiftLeft, 1, 31, D.INT32, -(2**31)),
        (exprs.BitShiftRight, -8, 1, D.INT32, -4),
        (exprs.BitShiftRight, 255, 4, D.UINT8, 15),
        (exprs.Eq, 3, 3, D.INT32, True),
        (exprs.Lt, 3, 3, D.INT32, False),
        (exprs.And, 2, 0, D.INT32, False),
        (exprs.Or, 2, 0, D.INT32, True),
        (exprs.Xor, 2, 3, D.INT32, False),
        (exprs.Add, 0.1, 0.2, D.FP32, float(np.float32(0.1) + np.float32(0.2))),
        (exprs.Mul, 300.0, 300.0, D.FP16, INF),
        (exprs.FloatDiv, -1.0, 0.0, D.FP32, -INF),
        (exprs.FloatDiv, 1.0, -0.0, D.FP32, -INF),
        (exprs.FloatDiv, 0.0, 0.0, D.FP32, NAN),
        (exprs.FloorDiv, -7.0, 2.0, D.FP32, -4.0),
        (exprs.FloorMod, -7.0, 3.0, D.FP32, 2.0),
        (exprs.FloorMod, 1.0, 0.0, D.FP32, NAN),
        (exprs.Pow, -8.0, 0.5, D.FP32, NAN),
        (exprs.Pow, 2.0, 200.0, D.FP32, INF),
        (exprs.Max, NAN, 1.0, D.FP32, NAN),
        (exprs.Min, 1.0, NAN, D.FP32, NAN),
        (exprs.Ne, NAN, NAN, D.FP32, True),
    ],
)
def test_binary(kind: type[BinaryExpr], a: Any, b: Any, dtype: DataType, wanted: Any) -> None:
    """Each operator gives the result of C++ for the element type."""
    np.testing.assert_equal(compute(kind, a, b, dtype), wanted)


@pytest.mark.parametrize(
    ("kind", "b", "message"),
    [
        (exprs.FloorDiv, 0, "'//' by zero"),
        (exprs.FloorMod, 0, "'%' by zero"),
        (exprs.FloatDiv, 0, "'/' by zero"),
        (exprs.BitShiftLeft, 32, "a shift of int32 by 32 bits"),
        (exprs.BitShiftRight, -1, "a shift of int32 by -1 bits"),
        (exprs.Pow, -1, "'**' of integers with exponent -1"),
    ],
)
def test_without_meaning(kind: type[BinaryExpr], b: int, message: str) -> None:
    """Integer operations without a result stop the program at their span."""
    with pytest.raises(EvaluationError) as caught:
        compute(kind, 5, b, D.INT32)
    assert caught.value.message == message
    assert str(caught.value.location) == "k.py:3:8"


@pytest.mark.parametrize(
    ("source", "value", "target", "wanted"),
    [
        (D.INT64, 300, D.INT8, 44),
        (D.INT64, -1, D.UINT16, 65535),
        (D.FP32, -2.9, D.INT32, -2),
        (D.FP32, 1e20, D.INT32, 2**31 - 1),
        (D.FP32, -INF, D.INT64, -(2**63)),
        (D.FP32, NAN, D.INT32, 0),
        (D.FP32, -1.5, D.UINT8, 0),
        (D.FP32, 0.1, D.FP16, float(np.float16(0.1))),
        (D.INT64, 2**24 + 1, D.FP32, 2.0**24),
        (D.FP32, 0.5, D.BOOL, True),
        (D.BOOL, True, D.FP32, 1.0),
    ],
)
def test_cast(source: DataType, value: Any, target: DataType, wanted: Any) -> None:
    """A cast of a scalar truncates fractions, wraps integers and saturates floats."""
    x = Var("x", ScalarType(source))
    node = Cast(x, target)
    found = evaluate(Function("f", [x], [node.type], ReturnStmt([node])), [value])
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        (exprs.Neg(exprs.ConstInt(-128, D.INT8), D.INT8), -128),
        (exprs.Abs(exprs.ConstInt(-5, D.INT32), D.INT32), 5),
        (exprs.Not(exprs.ConstBool(True), D.BOOL), False),
        (exprs.BitNot(exprs.ConstInt(5, D.UINT8), D.UINT8), 250),
        (exprs.ConstFloat(0.1, D.FP16), float(np.float16(0.1))),
        (exprs.TupleGetItemExpr(exprs.MakeTuple([4, 5]), 1), 5),
    ],
)
def test_other_expressions(node: Expr, wanted: Any) -> None:
    """Unary operators, constants, and items of tuples."""
    assert evaluate(Function("f", [], [node.type], ReturnStmt([node])), []) == wanted


def test_logic_stops_early() -> None:
    """``and`` and ``or`` short-circuit: the right side is evaluated only if it decides."""
    x = Var("x", ScalarType(D.INT32))
    fails = exprs.FloorDiv(1, x, D.INT32) > 0
    no = exprs.And(exprs.ConstBool(False), fails, D.BOOL)
    yes = exprs.Or(exprs.ConstBool(True), fails, D.BOOL)
    function = Function("f", [x], [no.type, yes.type], ReturnStmt([no, yes]))
    assert evaluate(function, [0]) == (False, True)
