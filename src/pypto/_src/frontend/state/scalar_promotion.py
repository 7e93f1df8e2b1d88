"""Operators on scalars, with bare numbers that take the type of the other operand.

A number beside a scalar gets that scalar's element type if it can hold the value: ``x + 1`` stays
INT32 for an INT32 ``x``, and ``h * 2`` is FP16 for an FP16 ``h``. Otherwise the number is INT64 or
FP32 and widens the result.
"""

from __future__ import annotations

import math
from typing import Any, Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import MEMBERS, DataType, fits, holds, out_of_range_text
from pypto._src.ir.exprs import (
    LOGICAL,
    BinaryExpr,
    BitXor,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    Xor,
    as_expr,
    binary,
)
from pypto._src.ir.types import ScalarType, Type, scalar_type
from pypto._src.ir.unchecked import checked_binary, checked_int

_SMALL: Final = 128
"""Integers from 0 up to this limit, exclusive, fit every integer type of 8 bits or more."""

_INTS: Final = {
    id(scalar_type(dtype)): dtype
    for dtype in MEMBERS.values()
    if dtype.is_int() and dtype.get_bit() >= 8
}
"""The scalar types, by the identity of their one object."""

_INDEX: Final = scalar_type(DataType.INDEX)


def number(value: float, dtype: DataType | None, span: Span) -> Expr:
    """Return a bare number as a constant, of ``dtype`` if that can hold the value.

    Raises:
        TypeError: no constant type can hold it.
    """
    if isinstance(value, bool):
        return ConstBool(value, span)
    if dtype is None or dtype is DataType.BOOL:
        return as_expr(value, span)
    if dtype.is_float():
        return _floating(value, dtype, span)
    if isinstance(value, int) and fits(value, dtype):
        return ConstInt(value, dtype, span)
    return as_expr(value, span)


def _floating(value: float, dtype: DataType, span: Span) -> Expr:
    """Return a number as a constant of ``dtype``, or of FP32 if only that can hold it."""
    if not holds(value, dtype):
        dtype = DataType.FP32
        if not holds(value, dtype):
            raise TypeError(out_of_range_text(value, dtype))
    return ConstFloat(float(value), dtype, span)


def typed(value: Any, dtype: DataType, span: Span) -> Expr:
    """Return ``pl.const(value, dtype)``.

    Raises:
        TypeError: ``dtype`` cannot hold the value.
    """
    if dtype is DataType.BOOL and isinstance(value, bool | int):
        return ConstBool(bool(value), span)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"a number was wanted, got {value!r}")
    if dtype.is_float():
        if not holds(value, dtype):
            raise TypeError(out_of_range_text(value, dtype))
        return ConstFloat(float(value), dtype, span)
    if isinstance(value, float):
        if not math.isfinite(value) or not value.is_integer():
            raise TypeError(f"{dtype.member} has no value {value!r}")
        value = int(value)
    if not fits(value, dtype):
        raise TypeError(out_of_range_text(value, dtype))
    return ConstInt(value, dtype, span)


def _element(value: Any) -> DataType | None:
    return value.type.dtype if isinstance(value.type, ScalarType) else None


def combine(kind: type[BinaryExpr], left: Any, right: Any, span: Span) -> Expr:
    """Return ``kind`` of two scalars, at least one of which is an expression.

    ``^`` between two BOOLs is the logical xor.

    Raises:
        TypeError: the operands have no common type.
    """
    if right.__class__ is int and 0 <= right < _SMALL and id(left.type) in _INTS:
        # Most numbers take this path.
        right = checked_int(right, _INDEX if kind in LOGICAL else left.type, span)
    elif not isinstance(left, Expr):
        left = number(left, None if kind in LOGICAL else _element(right), span)
    elif not isinstance(right, Expr):
        right = number(right, None if kind in LOGICAL else _element(left), span)
    known = _RESULTS.get((kind, id(left.type), id(right.type)))
    if known is not None:
        return checked_binary(kind, left, right, known, span)
    if kind is BitXor and _element(left) is _element(right) is DataType.BOOL:
        kind = Xor
    made = binary(kind, left, right, span)
    if made.left is left and made.right is right and _is_shared(left) and _is_shared(right):
        _RESULTS[kind, id(left.type), id(right.type)] = made.type
    return made


_RESULTS: Final[dict[tuple[type[BinaryExpr], int, int], Type]] = {}
"""Types of scalar operations that need no cast, by node class and operand types."""


def _is_shared(value: Expr) -> bool:
    """True if a scalar's type is the interned object of its element type, which is never freed."""
    kind = value.type
    return isinstance(kind, ScalarType) and kind is scalar_type(kind.dtype)
