"""Simplified scalar arithmetic of a kernel: constants folded, repeated parts computed once.

Folding replaces an expression by what the interpreter computes for it. Sharing counts expressions
in a first run of the generator and names them in a second; both see the same blocks in the same
order. Knows no text but the name of a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError
from pypto._src.interp.scalars import binary_function, unary_function, wrapper
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.exprs import (
    Add,
    BinaryExpr,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    FloorDiv,
    Mul,
    Sub,
    UnaryExpr,
    Var,
    const_value,
)
from pypto._src.ir.scalar_ops import BINARY
from pypto._src.ir.traversal.walk import copy_with

_Const = ConstInt | ConstFloat | ConstBool
_SHARED: Final = frozenset({node for node, row in BINARY.items() if row.is_shared})


def folded(root: Expr, known: Mapping[Var, Expr]) -> Expr:
    """Return ``root`` with its constant parts folded; ``root`` itself if there is nothing to fold.

    ``known`` has the variables whose value is constant.
    """
    done: list[Expr] = []
    pending: list[tuple[Expr, bool]] = [(root, False)]
    while pending:
        expr, ready = pending.pop()
        if isinstance(expr, BinaryExpr):
            if not ready:
                pending += [(expr, True), (expr.right, False), (expr.left, False)]
                continue
            right = done.pop()
            done.append(_binary(expr, done.pop(), right))
        elif isinstance(expr, UnaryExpr):
            if not ready:
                pending += [(expr, True), (expr.operand, False)]
                continue
            done.append(_unary(expr, done.pop()))
        else:
            done.append(known.get(expr, expr) if isinstance(expr, Var) else expr)
    return done.pop()


def is_constant(value: Expr) -> bool:
    """True for a number or a truth value."""
    return isinstance(value, _Const)


def _binary(expr: BinaryExpr, left: Expr, right: Expr) -> Expr:
    if isinstance(left, _Const) and isinstance(right, _Const):
        try:
            compute = binary_function(type(expr), dtype_of(left))
            return _constant(expr, compute(left.value, right.value))
        except EvaluationError:
            pass  # a division by zero stays, and is reported when it runs
    if dtype_of(expr).is_int() and dtype_of(left) is dtype_of(right):
        same = _neutral(expr, left, right)
        if same is not None:
            return same
    if left is expr.left and right is expr.right:
        return expr
    return copy_with(expr, {"left": left, "right": right})


def _neutral(expr: BinaryExpr, left: Expr, right: Expr) -> Expr | None:
    """Return what an integer operation with 0 or 1 simplifies to."""
    kind = type(expr)
    a, b = const_value(left), const_value(right)
    if b == 0 and kind in (Add, Sub):
        return left
    if a == 0 and kind is Add:
        return right
    if b == 1 and kind in (Mul, FloorDiv):
        return left
    if a == 1 and kind is Mul:
        return right
    return _constant(expr, 0) if kind is Mul and 0 in (a, b) else None


def _unary(expr: UnaryExpr, operand: Expr) -> Expr:
    if isinstance(operand, _Const):
        compute = unary_function(type(expr), dtype_of(operand), dtype_of(expr))
        return _constant(expr, compute(operand.value))
    return expr if operand is expr.operand else copy_with(expr, {"operand": operand})


def _constant(expr: Expr, value: Any) -> Expr:
    dtype = dtype_of(expr)
    number: Any = wrapper(dtype)(value)
    if dtype is DataType.BOOL:
        return ConstBool(bool(number), expr.span)
    if dtype.is_float():
        return ConstFloat(float(number), dtype, expr.span)
    if not -(1 << 63) <= number < 1 << 63:
        return expr
    return ConstInt(int(number), dtype, expr.span)


class Sharing:
    """Names integer expressions that a block computes more than once.

    Used in two runs over one function: the first counts, and after `start_naming` the second
    names. A name is in scope in the block that defines it and in the blocks inside.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._known: dict[Expr, int] = {}
        self._counts: dict[tuple[int, int], int] = {}
        self._naming = False
        self._blocks = 0
        self._open: list[tuple[int, dict[int, str]]] = [(0, {})]
        self.paused = False

    def start_naming(self) -> None:
        """Begin the second run."""
        self._naming = True
        self._blocks = 0
        self._open = [(0, {})]

    def enter(self) -> None:
        """Begin a block."""
        self._blocks += 1
        self._open.append((self._blocks, {}))

    def leave(self) -> None:
        """End the block; its names go out of scope."""
        self._open.pop()

    def see(self, expr: BinaryExpr, define: Callable[[], str]) -> str | None:
        """Return the variable that holds ``expr``, None if it is to be written in full.

        ``define`` writes the definition of a new one and returns its name.
        """
        if self.paused or type(expr) not in _SHARED or dtype_of(expr) is not DataType.INT64:
            return None
        number = self._number(expr)
        if not self._naming:
            for block, _ in self._open:
                key = block, number
                self._counts[key] = self._counts.get(key, 0) + 1
            return None
        for _, names in self._open:
            if number in names:
                return names[number]
        block, names = self._open[-1]
        if self._counts.get((block, number), 0) < 2:
            return None
        names[number] = define()
        return names[number]

    def _number(self, root: Expr) -> int:
        """Return the value number of an expression: equal structures have equal numbers."""
        done: list[int] = []
        pending: list[tuple[Expr, bool]] = [(root, False)]
        while pending:
            expr, ready = pending.pop()
            if expr in self._known:
                done.append(self._known[expr])
                continue
            if isinstance(expr, BinaryExpr):
                if not ready:
                    pending += [(expr, True), (expr.right, False), (expr.left, False)]
                    continue
                right = done.pop()
                key: tuple[object, ...] = type(expr), dtype_of(expr), done.pop(), right
            elif isinstance(expr, UnaryExpr):
                if not ready:
                    pending += [(expr, True), (expr.operand, False)]
                    continue
                key = type(expr), dtype_of(expr), done.pop()
            elif isinstance(expr, _Const):
                key = type(expr), dtype_of(expr), repr(expr.value)
            else:
                key = (id(expr),)
            number = self._known[expr] = self._numbers.setdefault(key, len(self._numbers))
            done.append(number)
        return done.pop()
