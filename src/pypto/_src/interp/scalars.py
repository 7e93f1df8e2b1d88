"""Scalar arithmetic as the target's C++ does it.

Integers wrap to their element type; quotients and remainders of ``//`` and ``%`` go toward minus
infinity; floats are rounded to their element type after each operation and follow IEEE, also for
a division by zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError
from pypto._src.ir.exprs import SHIFT, BinaryExpr, Cast, UnaryExpr
from pypto._src.ir.scalar_ops import BINARY, UNARY
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
            # An integer is converted to a short float via FP32, as in tiles and in C++.
            is_whole = is_short and isinstance(value, int)
            return float(kind(np.float32(value) if is_whole else value))
        except OverflowError:  # an integer beyond every float
            return math.inf if value > 0 else -math.inf

    return wrap


def _shift(move: Callable[[int, int], int], dtype: DataType) -> Callable[[int, int], int]:
    bits = dtype.get_bit()

    def shift(a: int, b: int) -> int:
        if not 0 <= b < bits:
            raise EvaluationError(f"a shift of {dtype} by {b} bits", slug="shift")
        return move(a, b)

    return shift


def binary_function(kind: type[BinaryExpr], dtype: DataType) -> Callable[[Any, Any], Any]:
    """Return what ``kind`` computes on operands of ``dtype``, before wrapping.

    Raises:
        EvaluationError: the operator does not work on scalars.
    """
    row = BINARY.get(kind)
    if row is not None:
        own = row.on_floats if dtype.is_float() else row.on_integers
        meaning = own or row.python or kind.fold
        return _shift(meaning, dtype) if kind.precedence == SHIFT else meaning
    raise EvaluationError(f"the operator {kind.__name__} has no meaning on numbers")


def unary_function(kind: type[UnaryExpr], source: DataType, target: DataType) -> Wrap:
    """Return what ``kind`` computes on an operand of ``source``, before wrapping to ``target``.

    Raises:
        EvaluationError: the operator does not work on scalars.
    """
    if kind is Cast:
        return _cast(source, target)
    row = UNARY.get(kind)
    if row is not None:
        return (row.on_floats if source.is_float() else row.on_integers) or row.python or kind.fold
    raise EvaluationError(f"the operator {kind.__name__} has no meaning on numbers")


def _cast(source: DataType, target: DataType) -> Wrap:
    if not source.is_float() or not target.is_int():
        return lambda value: value
    limits = wrapper(target)
    bits = target.get_bit()
    low = -(1 << (bits - 1)) if target.is_signed_int() else 0
    high = low + (1 << bits) - 1

    def cut(value: float) -> int:
        # Toward zero; a value out of range is undefined in C++, and saturates here.
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        return limits(min(max(int(value), low), high))

    return cut
