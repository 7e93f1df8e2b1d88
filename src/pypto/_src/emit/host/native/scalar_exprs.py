"""Scalar expressions of host functions as C++ that agrees with the interpreter on every value.

Integers wrap to their width, a division by zero and an excessive shift are reported, floats are
rounded after each operation. The functions are those of ``pto/runtime/api.hpp``; the text must be
compiled with ``-fwrapv``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from pypto._src.dtypes import DataType, promote
from pypto._src.errors import EmitError
from pypto._src.interp.scalars import wrapper
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.exprs import (
    COMPARISONS,
    LOGICAL,
    SHIFT,
    Abs,
    BinaryExpr,
    BitNot,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    FloatDiv,
    Neg,
    Not,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    Xor,
)
from pypto._src.ir.scalar_ops import BINARY, ScalarOp, decomposed

_SHORT_FLOATS: Final = {DataType.FP16: "fp16", DataType.BF16: "bf16"}
"""Types held as float; the function of that name rounds."""


def host_type(dtype: DataType) -> str:
    """Return the C++ type that holds a scalar.

    Raises:
        EmitError: there is none (slug ``emit-dtype``).
    """
    if dtype in _SHORT_FLOATS:
        return "float"
    if dtype.c_type == "unknown":
        raise EmitError(f"the host cannot compute with {dtype.member} scalars", slug="emit-dtype")
    return dtype.c_type


def from_word(dtype: DataType, word: str) -> str:
    """Return the value of type ``dtype`` in the 64-bit ``word`` of an argument."""
    if dtype in _SHORT_FLOATS:
        return f"pto2::from_{_SHORT_FLOATS[dtype]}(static_cast<uint16_t>({word}))"
    if dtype is DataType.BOOL:
        return f"{word} != 0"
    if dtype.is_float():
        return f"pto2::bits<{host_type(dtype)}>({word})"
    return f"static_cast<{host_type(dtype)}>({word})"


def to_word(dtype: DataType, text: str) -> str:
    """Return the 64-bit word of a value, as kernels take it."""
    if dtype in _SHORT_FLOATS:
        return f"pto2::to_{_SHORT_FLOATS[dtype]}({text})"
    if dtype.is_float():
        return f"pto2::bits<uint64_t>({text})"
    return f"static_cast<uint64_t>({text})"


def element_text(dtype: DataType, arguments: str) -> str:
    """Return the text that reads an element; ``arguments`` are the call's."""
    if dtype in _SHORT_FLOATS:
        return f"pto2::from_{_SHORT_FLOATS[dtype]}(pto2_rt_read<uint16_t>({arguments}))"
    return f"pto2_rt_read<{host_type(dtype)}>({arguments})"


class HostScalars:
    """Writes scalar expressions; compound operands are put in parentheses."""

    def __init__(
        self, leaf: Callable[[Var | TupleGetItemExpr], str], line: str | None = None
    ) -> None:
        """Prepare to write.

        Args:
            leaf: The text of a variable, or of a tuple's element.
            line: The C++ text of the line number for errors, if not that of the current line.
        """
        self._leaf = leaf
        self._line = line

    def text(self, expr: Expr) -> str:
        """Return ``expr`` as C++.

        Raises:
            EmitError: it is not a scalar, or has a type that the host cannot compute with.
        """
        expr = decomposed(expr)
        match expr:
            case Var() | TupleGetItemExpr():
                return self._leaf(expr)
            case ConstBool():
                return "true" if expr.value else "false"
            case ConstInt():
                return _integer(wrapper(expr.dtype)(expr.value), expr.dtype)
            case ConstFloat():
                return _floating(wrapper(expr.dtype)(expr.value), expr.dtype)
            case BinaryExpr():
                return self._rounded(expr.dtype, self._binary(expr))
            case UnaryExpr():
                return self._rounded(expr.dtype, self._unary(expr))
            case _:
                raise EmitError(
                    f"the host cannot compute {type(expr).__name__} as a scalar", expr.span
                )

    def _rounded(self, dtype: DataType, text: str) -> str:
        name = _SHORT_FLOATS.get(dtype)
        return text if name is None else f"pto2::{name}({text})"

    def _operand(self, expr: Expr, dtype: DataType | None = None) -> str:
        """Return an operand, converted to ``dtype`` first if it has another type."""
        expr = decomposed(expr)  # the emitted form decides whether it needs parentheses
        text = self.text(expr)
        if dtype is not None and dtype_of(expr) is not dtype:
            return f"static_cast<{host_type(dtype)}>({text})"
        return f"({text})" if _is_infix(expr) else text

    def _binary(self, expr: BinaryExpr) -> str:
        kind, dtype = type(expr), expr.dtype
        row = BINARY[kind]
        if kind in LOGICAL:
            # != on truth values, so operands of Xor are converted to them first.
            wanted = DataType.BOOL if kind is Xor else None
            left, right = self._operand(expr.left, wanted), self._operand(expr.right, wanted)
            return f"{left} {row.cpp} {right}"
        if kind in COMPARISONS:
            common = promote(dtype_of(expr.left), dtype_of(expr.right))
            left, right = self._operand(expr.left, common), self._operand(expr.right, common)
            return f"{left} {row.cpp} {right}"
        left, right = self._operand(expr.left, dtype), self._operand(expr.right, dtype)
        if _has_operator(row, dtype):
            return _narrowed(f"{left} {row.cpp} {right}", dtype)
        arguments = f"{left}, {right}"
        if kind.precedence == SHIFT:
            arguments = f'{arguments}, "a shift of {dtype} by "'
        if self._line is not None and row.can_fail:
            arguments = f"{arguments}, {self._line}"
        return f"pto2::{row.host}<{host_type(dtype)}>({arguments})"

    def _unary(self, expr: UnaryExpr) -> str:
        text, dtype = self._operand(expr.operand), expr.dtype
        match expr:
            case Cast():
                return f"pto2::cast<{host_type(dtype)}>({text})"
            case Neg():
                minus = f"-({text})"  # so that two minus signs never make a decrement
                return minus if dtype.is_float() else f"pto2::negate<{host_type(dtype)}>({text})"
            case Not():
                return f"!{text}"
            case BitNot():
                wide = f"static_cast<int>({text})" if dtype is DataType.BOOL else text
                return f"static_cast<{host_type(dtype)}>(~{wide})"
            case Abs():
                return f"pto2::absolute<{host_type(dtype)}>({text})"
            case _:
                raise EmitError(f"the host has no scalar {type(expr).__name__}", expr.span)


def _is_infix(expr: Expr) -> bool:
    """True for an expression written with an operator; others are calls, names or numbers."""
    if not isinstance(expr, BinaryExpr) or expr.dtype in _SHORT_FLOATS:
        return False
    kind = type(expr)
    if kind in LOGICAL or kind in COMPARISONS:
        return True
    return _has_operator(BINARY[kind], expr.dtype) and _is_wide(expr.dtype)


def _has_operator(row: ScalarOp, dtype: DataType) -> bool:
    """True if C++ has an operator with the same meaning; a quotient of floats counts."""
    return not row.host or (row.node is FloatDiv and dtype.is_float())


def _is_wide(dtype: DataType) -> bool:
    """True if C++ computes with the type itself, and not with int."""
    return dtype.is_float() or dtype.get_bit() >= 32


def _narrowed(text: str, dtype: DataType) -> str:
    """Wrap an integer narrower than int back to its width, since C++ computes it as int."""
    return text if _is_wide(dtype) else f"static_cast<{host_type(dtype)}>({text})"


def _integer(value: int, dtype: DataType) -> str:
    if value == -(1 << 63):
        return "INT64_MIN"
    if dtype.is_unsigned_int():
        return f"{value}{'ull' if value >= 1 << 31 else 'u'}"
    return f"{value}ll" if abs(value) >= 1 << 31 else str(value)


def _floating(value: float, dtype: DataType) -> str:
    kind = host_type(dtype)
    if math.isnan(value):
        return f"std::numeric_limits<{kind}>::quiet_NaN()"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}std::numeric_limits<{kind}>::infinity()"
    return repr(value) + ("" if kind == "double" else "f")
