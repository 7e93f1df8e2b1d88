"""Scalar expressions and loop conditions as C++."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.types import c_type
from pypto._src.emit.writer import RUN_PASSES
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.exprs import (
    SHIFT,
    Abs,
    Add,
    And,
    BinaryExpr,
    BitNot,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    FloatDiv,
    FloorDiv,
    Max,
    Min,
    Mul,
    Neg,
    Not,
    Or,
    Sub,
    UnaryExpr,
    Var,
)
from pypto._src.ir.scalar_ops import BINARY, DECOMPOSED, UNARY, decomposed

# Scalar expressions. Higher binds tighter, as in C++.
_ATOM, _UNARY, _MUL, _ADD, _SHIFT, _ORDER, _EQUAL, _BAND, _BXOR, _BOR, _LAND, _LOR, _COND = range(
    13, 0, -1
)
_LEVELS: Final = {
    **dict.fromkeys(("*", "/", "%"), _MUL),
    **dict.fromkeys(("+", "-"), _ADD),
    **dict.fromkeys(("<<", ">>"), _SHIFT),
    **dict.fromkeys(("<", "<=", ">", ">="), _ORDER),
    **dict.fromkeys(("==", "!="), _EQUAL),
    "&": _BAND,
    "^": _BXOR,
    "|": _BOR,
    "&&": _LAND,
    "||": _LOR,
}
_INNER: Final = {
    **dict.fromkeys((_SHIFT, _BAND, _BXOR, _BOR), _UNARY),
    **dict.fromkeys((_ORDER, _EQUAL), _ADD),
    **dict.fromkeys((_LAND, _LOR), _EQUAL),
}
"""The precedence from which an operand needs no parentheses where compilers warn without them."""


def _inner(level: int) -> int:
    return _INNER.get(level, level)


def _chains(kind: type[BinaryExpr], left: Expr) -> bool:
    """True if ``left`` may precede another ``kind`` without parentheses, as in ``a + b + c``."""
    return type(left) is kind or kind in (Add, Sub, Mul, FloatDiv)


_SHORT_CIRCUIT: Final = (And, Or)
"""Short-circuit operators: they evaluate their right side only if the left does not decide."""

_Parts = tuple[str, int]
"""The text of an expression and how tightly it binds."""


class ScalarText:
    """Writes scalar expressions as C++; remembers which helper functions they need.

    ``checked`` is set for a kernel: there an operation without a result is an error on the CPU.

    ``shared``, if given, gets the text of each part that computes an integer before it is used in
    a larger one, and returns what replaces it: the text itself, or a variable that holds it.
    """

    def __init__(
        self,
        name_of: Callable[[Var], str],
        shared: Callable[[BinaryExpr, str], str | None] | None = None,
        *,
        checked: bool = False,
    ) -> None:
        self._name_of = name_of
        self._shared = shared
        self._checked = checked
        self.helpers: dict[str, None] = {}

    def text(self, expr: Expr, parent: int = 0) -> str:
        """Return ``expr`` in parentheses if it binds less tightly than ``parent``."""
        if isinstance(expr, ConstInt) and 0 <= expr.value < 1 << 31:
            return str(expr.value)  # the most common case
        if isinstance(expr, Var):
            return self._name_of(expr)
        return _wrapped(self._parts(expr), parent)

    def _leaf(self, expr: Any) -> _Parts:
        """Return the text of a variable or number."""
        if isinstance(expr, Var):
            return self._name_of(expr), _ATOM
        write = _NUMBERS.get(expr.__class__)
        if write is not None:
            return write(expr), _ATOM if expr.value >= 0 else _UNARY
        raise EmitError(
            f"a kernel cannot compute {type(expr).__name__} as a scalar",
            expr.span,
            hint=RUN_PASSES if isinstance(expr, Call) else None,
        )

    def _parts(self, root: Expr) -> _Parts:
        # Post-order without recursion: expressions may be as deep as the source makes them.
        done: list[_Parts] = []
        pending: list[tuple[Expr, bool, bool]] = [(root, False, True)]
        while pending:
            expr, ready, always = pending.pop()
            if expr.__class__ in DECOMPOSED:
                expr = decomposed(expr)
            if isinstance(expr, BinaryExpr):
                if not ready:
                    right = always and not isinstance(expr, _SHORT_CIRCUIT)
                    pending.append((expr, True, always))
                    pending.append((expr.right, False, right))
                    pending.append((expr.left, False, always))
                    continue
                right_parts = done.pop()
                parts = self._binary(expr, done.pop(), right_parts)
                done.append(self._name_shared(expr, parts) if always else parts)
            elif isinstance(expr, UnaryExpr):
                if not ready:
                    pending.append((expr, True, always))
                    pending.append((expr.operand, False, always))
                    continue
                done.append(self._unary(expr, done.pop()))
            else:
                done.append(self._leaf(expr))
        return done.pop()

    def _name_shared(self, expr: BinaryExpr, parts: _Parts) -> _Parts:
        name = None if self._shared is None else self._shared(expr, parts[0])
        return parts if name is None else (name, _ATOM)

    def _binary(self, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        kind = type(expr)
        row = BINARY[kind]
        if dtype_of(expr).is_float() and row.cpp_floats:
            return self._float_helper(expr, left, right)
        if kind in (Min, Max):
            return self._one_of(expr, left, right)
        if row.cpp_integers:
            return self._helper(expr, left, right)
        if self._checked and kind is FloatDiv and dtype_of(expr).is_int():
            return self._divide("int_div", expr, left, right)
        if self._checked and kind.precedence == SHIFT:
            right = self._shift_count(expr, right)
        if row.on_itself and left == right and not dtype_of(expr.left).is_float():
            return row.on_itself, _ATOM  # compilers warn about a value compared with itself
        symbol, level = row.cpp, _LEVELS[row.cpp]
        chained = level if _chains(kind, expr.left) else _inner(level)
        text = (
            f"{_wrapped(left, chained)} {symbol} {_wrapped(right, max(level + 1, _inner(level)))}"
        )
        # C++ computes narrow integers as int and BF16 as float: narrow the result again.
        if (expr.dtype.is_int() and expr.dtype.get_bit() < 32) or expr.dtype is DataType.BF16:
            return f"static_cast<{c_type(expr.dtype)}>({text})", _ATOM
        return text, level

    def _one_of(self, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        """Return the smaller or larger of two integers; only short operands are written twice."""
        is_min = isinstance(expr, Min)
        if _is_short(expr.left, left) and _is_short(expr.right, right):
            a, b = left[0], right[0]
            return f"{a} {'<' if is_min else '>'} {b} ? {a} : {b}", _COND
        name = BINARY[type(expr)].cpp_integers
        self.helpers[name] = None
        return f"{name}<{c_type(dtype_of(expr))}>({left[0]}, {right[0]})", _ATOM

    def _helper(self, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        dtype, kind = dtype_of(expr), type(expr)
        row = BINARY[kind]
        if dtype.is_unsigned_int() and row.cpp:
            if self._checked and not _is_positive(expr.right):
                name = "unsigned_div" if kind is FloorDiv else "unsigned_mod"
                return self._divide(name, expr, left, right)
            return f"{_wrapped(left, _MUL)} {row.cpp} {_wrapped(right, _MUL + 1)}", _MUL
        name = row.cpp_integers
        self.helpers[name] = None
        call = f"{name}({left[0]}, {right[0]})"
        return (call if dtype is DataType.INT64 else f"static_cast<{c_type(dtype)}>({call})"), _ATOM

    def _divide(self, name: str, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        """Return a call of a helper for a division that C++ leaves undefined in some cases."""
        self.helpers[name] = None
        return f"{name}<{c_type(dtype_of(expr))}>({left[0]}, {right[0]})", _ATOM

    def _shift_count(self, expr: BinaryExpr, count: _Parts) -> _Parts:
        bits = dtype_of(expr.left).get_bit()
        if isinstance(expr.right, ConstInt) and 0 <= expr.right.value < bits:
            return count
        self.helpers["shift_count"] = None
        return f"shift_count({count[0]}, {bits})", _ATOM

    def _float_helper(self, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        """Return a call that computes in double, as scalar semantics require."""
        name, dtype = BINARY[type(expr)].cpp_floats, dtype_of(expr)
        self.helpers[name] = None
        call = f"{name}({left[0]}, {right[0]})"
        if dtype is DataType.FP64:
            return call, _ATOM
        single = f"static_cast<float>({call})"
        return (single if dtype is DataType.FP32 else f"static_cast<{c_type(dtype)}>({single})"), (
            _ATOM
        )

    def _unary(self, expr: UnaryExpr, operand: _Parts) -> _Parts:
        parts = self._operator(expr, operand)
        is_narrow = expr.dtype.is_int() and expr.dtype.get_bit() < 32
        if is_narrow and not isinstance(expr, Cast | Abs):  # as in `_binary`
            return f"static_cast<{c_type(expr.dtype)}>({parts[0]})", _ATOM
        return parts

    def _operator(self, expr: UnaryExpr, operand: _Parts) -> _Parts:
        match expr:
            case Cast() if (
                self._checked and dtype_of(expr.operand).is_float() and expr.dtype.is_int()
            ):
                self.helpers["float_to_int"] = None
                return f"float_to_int<{c_type(expr.dtype)}>({operand[0]})", _ATOM
            case Cast():
                return f"static_cast<{c_type(expr.dtype)}>({operand[0]})", _ATOM
            case Neg():  # a second minus must not make a decrement
                return f"-{_wrapped(operand, _UNARY + 1)}", _UNARY
            case Not() | BitNot():
                return f"{UNARY[type(expr)].cpp}{_wrapped(operand, _UNARY)}", _UNARY
            case Abs() if dtype_of(expr).is_unsigned_int():
                return operand
            case Abs():
                return self._magnitude(expr, operand), _ATOM
            case _:
                raise EmitError(f"a kernel has no scalar {type(expr).__name__}").at(expr.span)

    def _magnitude(self, expr: Abs, operand: _Parts) -> str:
        """Return a helper call: compilers assume that ``a < 0 ? -a : a`` is never negative."""
        dtype = dtype_of(expr)
        name = "float_abs" if dtype.is_float() else "int_abs"
        self.helpers[name] = None
        if dtype is DataType.BF16:  # its negation is a float
            return f"static_cast<bfloat16_t>({name}<float>(static_cast<float>({operand[0]})))"
        return f"{name}<{c_type(dtype)}>({operand[0]})"


def _is_short(value: Expr, parts: _Parts) -> bool:
    """True for a name or a number."""
    return isinstance(value, ConstInt) or parts[0].isidentifier()


def _is_positive(value: Expr) -> bool:
    return isinstance(value, ConstInt) and value.value > 0


def _wrapped(parts: _Parts, parent: int) -> str:
    return f"({parts[0]})" if parts[1] < parent else parts[0]


def _integer(value: int) -> str:
    if value == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    suffix = "" if -(1 << 31) <= value < 1 << 31 else "LL"
    return f"{value}{suffix}"


def _floating(expr: ConstFloat) -> str:
    value, dtype = expr.value, expr.dtype
    if math.isfinite(value):
        text = repr(value) if dtype is DataType.FP64 else f"{value!r}f"
    elif math.isnan(value):
        text = "(0.0f / 0.0f)"
    else:
        text = "(1.0f / 0.0f)" if value > 0 else "(-1.0f / 0.0f)"
    if dtype is DataType.FP32 or dtype is DataType.FP64:
        return text
    return f"static_cast<{c_type(dtype)}>({text})"


_NUMBERS: Final[dict[type[Expr], Callable[[Any], str]]] = {
    ConstBool: lambda expr: "true" if expr.value else "false",
    ConstInt: lambda expr: _integer(expr.value),
    ConstFloat: _floating,
}
"""How constants are written."""


def loop_test(name: str, stop: str, step: str, known: int | None) -> str:
    """Return the condition under which a counted loop continues; never if its step is zero.

    Args:
        name: The loop's variable.
        stop: Where the loop ends, as an operand of a comparison.
        step: What is added to the variable, as an operand of a comparison.
        known: The step's value where it is constant.
    """
    if not known:
        return f"{step} > 0 ? {name} < {stop} : ({step} < 0 && {name} > {stop})"
    return f"{name} {'<' if known > 0 else '>'} {stop}"


def printed(name: str, dtype: DataType) -> tuple[str, str]:
    """Return the format and the argument that print a scalar with printf."""
    if dtype.is_float():
        return "%g", f"static_cast<double>({name})"
    return "%lld", f"static_cast<long long>({name})"
