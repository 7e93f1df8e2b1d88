"""Scalars of kernels have the same values compiled and interpreted, for every element type."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.scalar_folding import folded
from pypto._src.errors import EvaluationError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import FunctionType, ParamDirection
from pypto._src.ir.exprs import (
    Abs,
    Add,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    ConstFloat,
    ConstInt,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Neg,
    Pow,
    Sub,
    Var,
    binary,
    unary,
)
from pypto._src.ir.stmts import AssignStmt, Function, Program, ReturnStmt, SeqStmts, Stmt
from pypto._src.ir.types import scalar_type
from pypto._src.ops import memory, new_tiles
from pypto.runtime import compile as compile_program
from tests import effort
from tests.natively import compiler

D = DataType
INTEGERS = (D.INT8, D.INT16, D.INT32, D.INT64, D.UINT8, D.UINT16, D.UINT32, D.UINT64)
FLOATS = (D.FP16, D.BF16, D.FP32, D.FP64)
LARGE = (3e9, 1e10, 2.0**31, 2.0**63, 2.0**64, 1e19, 65504.0, 300.0, 127.0, 128.0, 2.5, 0.3, 0.0)
SPECIAL = (math.nan, math.inf, -math.inf, *LARGE, *(-value for value in LARGE))


def _as(value: Expr, dtype: DataType) -> Expr:
    return cast("Expr", pl.cast(value, dtype))


class Both:
    """A kernel that writes scalars, each to its own row of the result, on both targets."""

    def __init__(self, values: Sequence[Expr], params: Sequence[Var], dtype: DataType) -> None:
        compiler()
        self.dtype, self.count = dtype, len(values)
        out = Var("out", TensorType([8 * len(values), 8], dtype))
        body: list[Stmt] = []
        last = out
        for number, value in enumerate(values):
            fill: Any = new_tiles.full([8, 8], dtype, _as(value, dtype))
            tile = Var(f"tile_{number}", fill.type)
            store: Any = memory.store(cast(Any, tile), [8 * number, 0], [8, 8], cast(Any, last))
            last = Var(f"out_{number}", out.type)
            body += [AssignStmt(tile, fill), AssignStmt(last, store)]
        body.append(ReturnStmt([last]))
        given = [(out, ParamDirection.Out), *params]
        function = Function("k", given, [out.type], SeqStmts(body), type=FunctionType.InCore)
        program = Program([function], "K")
        self.cpu = compile_program(program, target="cpu")
        self.interpreter = compile_program(program, target="interpreter")

    def outcomes(self, args: Sequence[Any]) -> list[list[Any] | str]:
        """Return the outcome on each target: the values as bits, or the start of an error."""
        found: list[list[Any] | str] = []
        for run in (self.cpu, self.interpreter):
            out = np.zeros((8 * self.count, 8), self.dtype.numpy)
            try:
                run(out, *args)
            except EvaluationError:
                found.append("error")
                continue
            values = out[::8, 0]
            if self.dtype.is_float():
                found.append([repr(float(value)) for value in values])  # all NaNs are equal
            else:
                found.append(values.tolist())
        return found


def _words(value: Expr) -> list[Expr]:
    """Return the lower and the upper half of an integer."""
    wide = _as(value, D.INT64)
    return [wide, binary(BitShiftRight, wide, ConstInt(32, D.INT64))]


def _edges(dtype: DataType) -> list[int]:
    bits = dtype.get_bit()
    low = -(1 << (bits - 1)) if dtype.is_signed_int() else 0
    high = low + (1 << bits) - 1
    return sorted({low, low + 1, high, high - 1, 0, 1, 2, 7, bits - 1, bits, max(low, -2)})


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap_alike(dtype: DataType) -> None:
    """Also inside of a larger expression, where C++ computes narrow integers as wider ones."""
    a, b = (Var(name, scalar_type(dtype)) for name in "ab")
    kinds = (Add, Sub, Mul, Min, Max, BitAnd, BitOr, BitXor)
    values = [binary(kind, a, b) for kind in kinds]
    values += [unary(kind, a) for kind in (Neg, BitNot, Abs)]
    values += [binary(FloorDiv, unary(Abs, a), ConstInt(4, dtype)), unary(Abs, unary(Neg, a))]
    below = [binary(Lt, value, ConstInt(5, dtype)) for value in values]
    casts = [_as(_as(a, other), D.INT64) for other in INTEGERS]
    kernel = Both([word for v in (*values, *below, *casts) for word in _words(v)], [a, b], D.INT32)
    for args in itertools.product(_edges(dtype), repeat=2):
        cpu, interpreter = kernel.outcomes(args)
        assert cpu == interpreter, args


@pytest.mark.parametrize(
    "dtype", effort.part([D.INT8, D.INT32, D.INT64, D.UINT16, D.UINT64], 2), ids=str
)
@pytest.mark.parametrize("kind", [FloorDiv, FloorMod, FloatDiv, BitShiftLeft, BitShiftRight, Pow])
def test_integers_without_a_result_alike(dtype: DataType, kind: Any) -> None:
    """Division by 0, excessive shifts, negative exponents are errors on both; the rest agrees."""
    a, b = (Var(name, scalar_type(dtype)) for name in "ab")
    kernel = Both(_words(binary(kind, a, b)), [a, b], D.INT32)
    errors = 0
    for x, y in itertools.product(_edges(dtype), repeat=2):
        if kind is Pow and y >= 1 << 63:
            continue  # an exponent out of range of INT64
        cpu, interpreter = kernel.outcomes([x, y])
        assert cpu == interpreter, (x, y)
        errors += cpu == "error"
        if cpu != "error":
            whole = (
                binary(kind, ConstInt(x, dtype), ConstInt(y, dtype)) if x < 1 << 63 > y else None
            )
            found = None if whole is None else folded(whole, {})
            if isinstance(found, ConstInt):
                low, high = cast("list[int]", cpu)
                assert found.value & 0xFFFFFFFFFFFFFFFF == high << 32 & (1 << 64) - 1 | low % 2**32
    assert (errors > 0) is (kind is not Pow or dtype.is_signed_int())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_become_integers_alike(dtype: DataType) -> None:
    """Out-of-range values saturate and NaN becomes 0, constant-folded as well."""
    a = Var("a", scalar_type(dtype))
    casts = [_as(a, target) for target in INTEGERS]
    kernel = Both([word for value in casts for word in _words(value)], [a], D.INT32)
    for value in SPECIAL:
        with np.errstate(over="ignore"):
            cpu, interpreter = kernel.outcomes([value])
        assert cpu == interpreter, value
        if dtype is not D.FP64:
            continue
        for number, target in enumerate(INTEGERS[:7]):
            bits = target.get_bit()
            low = -(1 << (bits - 1)) if target.is_signed_int() else 0
            whole = 0 if math.isnan(value) else min(max(value, low), low + (1 << bits) - 1)
            assert cpu[2 * number] == np.int64(int(whole)).astype(np.int32), (value, target)
            if math.isfinite(value):
                constant = folded(_as(ConstFloat(value, dtype), target), {})
                assert isinstance(constant, ConstInt)
                assert constant.value == int(whole)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_are_rounded_alike(dtype: DataType) -> None:
    """Each operation rounds to its type, zeros keep their sign, and NaN propagates."""
    a, b = (Var(name, scalar_type(dtype)) for name in "ab")
    kinds = (Add, Sub, Mul, FloatDiv, FloorDiv, FloorMod, Pow, Min, Max)
    values = [binary(kind, a, b) for kind in kinds] + [unary(kind, a) for kind in (Neg, Abs)]
    sums = [binary(Add, value, a) for value in values]
    kernel = Both([*values, *sums, binary(Le, a, b)], [a, b], D.FP32)
    with np.errstate(over="ignore"):
        for args in itertools.product(SPECIAL[:20], repeat=2):
            cpu, interpreter = kernel.outcomes(args)
            assert cpu == interpreter, args


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_become_floats_alike(dtype: DataType) -> None:
    """Large integers round to the nearest float, short ones by way of FP32."""
    a = Var("a", scalar_type(dtype))
    kernel = Both([_as(a, target) for target in FLOATS], [a], D.FP32)
    with np.errstate(over="ignore"):
        for value in (*_edges(dtype), 16777217 % (1 << (dtype.get_bit() - 1))):
            cpu, interpreter = kernel.outcomes([value])
            assert cpu == interpreter, value
