"""Arithmetic on single numbers, as the target's C++ does it.

Integers wrap to their element type; quotients and remainders of ``//`` and ``%`` go toward minus
infinity; floats are rounded to their element type after each operation and follow IEEE, also for
a division by zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError
from pypto._src.ir.nodes import (
    Abs,
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Cast,
    Eq,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    Sub,
    UnaryExpr,
    Xor,
)
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

Wrap = Callable[[Any], Any]


def wrapper(dtype: DataType) -> Wrap:
    """Return the function that brings a Python number into the range of ``dtype``."""
    if dtype is DataType.BOOL:
        return bool
    if dtype.is_float():
        return _float_wrapper(dtype)
    bits = dtype.get_bit()
    low = -(1 << (bits - 1)) if dtype.is_signed_int() else 0
    high, mask = low + (1 << bits) - 1, (1 << bits) - 1

    def wrap(value: Any) -> int:
        value = int(value)
        return value if low <= value <= high else ((value - low) & mask) + low

    return wrap


def _float_wrapper(dtype: DataType) -> Wrap:
    if dtype is DataType.FP64:
        return float
    kind: Any = None
    is_short = dtype.get_bit() < 32

    def wrap(value: Any) -> float:
        nonlocal kind
        if kind is None:
            kind = dtype.numpy.type
        try:
            # An integer becomes a short float by way of FP32, as in tiles and in C++.
            is_whole = is_short and isinstance(value, int)
            return float(kind(np.float32(value) if is_whole else value))
        except OverflowError:  # an integer beyond every float
            return math.inf if value > 0 else -math.inf

    return wrap


def _no_zero(value: Any, symbol: str) -> None:
    if value == 0:
        raise EvaluationError(f"'{symbol}' by zero", slug="division-by-zero")


def _int_divide(a: int, b: int) -> int:
    _no_zero(b, "/")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _int_floor_divide(a: int, b: int) -> int:
    _no_zero(b, "//")
    return a // b


def _int_modulo(a: int, b: int) -> int:
    _no_zero(b, "%")
    return a % b


def _divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _floor_divide(a: float, b: float) -> float:
    quotient = _divide(a, b)
    return float(math.floor(quotient)) if math.isfinite(quotient) else quotient


def _modulo(a: float, b: float) -> float:
    if b == 0 or math.isinf(a) or math.isnan(a) or math.isnan(b):
        return math.nan
    return a % b


def _int_power(a: int, b: int) -> int:
    if b < 0:
        raise EvaluationError(f"'**' of integers with exponent {b}", slug="negative-exponent")
    return pow(a, b, 1 << 64) if a >= 0 else pow(-a, b, 1 << 64) * (-1 if b % 2 else 1)


def _power(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) ** np.float64(b))


def _shift(move: Callable[[int, int], int], dtype: DataType) -> Callable[[int, int], int]:
    bits = dtype.get_bit()

    def shift(a: int, b: int) -> int:
        if not 0 <= b < bits:
            raise EvaluationError(f"a shift of {dtype} by {b} bits", slug="shift")
        return move(a, b)

    return shift


def _float_min(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


def _float_max(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def _both(a: Any, b: Any) -> bool:
    return bool(a) and bool(b)


def _either(a: Any, b: Any) -> bool:
    return bool(a) or bool(b)


def _one(a: Any, b: Any) -> bool:
    return bool(a) != bool(b)


_COMMON: Final[dict[type, Any]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    Eq: operator.eq,
    Ne: operator.ne,
    Lt: operator.lt,
    Le: operator.le,
    Gt: operator.gt,
    Ge: operator.ge,
    BitAnd: int.__and__,
    BitOr: int.__or__,
    BitXor: int.__xor__,
    And: _both,
    Or: _either,
    Xor: _one,
}
_INTEGER: Final[dict[type, Callable[[Any, Any], Any]]] = {
    FloatDiv: _int_divide,
    FloorDiv: _int_floor_divide,
    FloorMod: _int_modulo,
    Pow: _int_power,
    Min: min,
    Max: max,
}
_FLOAT: Final[dict[type, Callable[[Any, Any], Any]]] = {
    FloatDiv: _divide,
    FloorDiv: _floor_divide,
    FloorMod: _modulo,
    Pow: _power,
    Min: _float_min,
    Max: _float_max,
}
_SHIFTS: Final[dict[type, Any]] = {
    BitShiftLeft: int.__lshift__,
    BitShiftRight: int.__rshift__,
}


def binary_function(kind: type[BinaryExpr], dtype: DataType) -> Callable[[Any, Any], Any]:
    """Return what ``kind`` computes on operands of ``dtype``, before wrapping.

    Raises:
        EvaluationError: the operator is not one on scalars.
    """
    found = _COMMON.get(kind) or (_FLOAT if dtype.is_float() else _INTEGER).get(kind)
    if found is not None:
        return found
    if kind in _SHIFTS:
        return _shift(_SHIFTS[kind], dtype)
    raise EvaluationError(f"the operator {kind.__name__} has no meaning on numbers")


def unary_function(kind: type[UnaryExpr], source: DataType, target: DataType) -> Wrap:
    """Return what ``kind`` computes on an operand of ``source``, before wrapping to ``target``.

    Raises:
        EvaluationError: the operator is not one on scalars.
    """
    if kind is Cast:
        return _cast(source, target)
    functions: dict[type, Wrap] = {
        Neg: operator.neg,
        Abs: abs,
        Not: operator.not_,
        BitNot: operator.invert,
    }
    if kind in functions:
        return functions[kind]
    raise EvaluationError(f"the operator {kind.__name__} has no meaning on numbers")


def _cast(source: DataType, target: DataType) -> Wrap:
    if not source.is_float() or not target.is_int():
        return lambda value: value
    limits = wrapper(target)
    bits = target.get_bit()
    low = -(1 << (bits - 1)) if target.is_signed_int() else 0
    high = low + (1 << bits) - 1

    def cut(value: float) -> int:
        # Toward zero; what the type does not hold is undefined in C++, and saturates here.
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        return limits(min(max(int(value), low), high))

    return cut
