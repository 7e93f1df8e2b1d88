"""Simplify: constants are folded, identities removed, decided branches and empty loops resolved.

Every rule keeps the value bit for bit, including floats and integers that wrap; an error stays an
error. Works on SSA form before tiles have memory references.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pypto._src.analysis.purity import trips, used_by_type
from pypto._src.errors import EvaluationError
from pypto._src.interp.scalars import binary_function, unary_function, wrapper
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.exprs import (
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitOr,
    BitXor,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Neg,
    Not,
    Or,
    Sub,
    UnaryExpr,
    Var,
    const_value,
)
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, IfStmt, Stmt, YieldStmt, statements
from pypto._src.ir.traversal.mutator import as_list
from pypto._src.ir.traversal.queries import defined_by, stmts_in
from pypto._src.ir.types import same_type
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.rewrite import RewritePass, Rewriter, Rule

_P: Final = IRProperty
_Const = ConstInt | ConstFloat | ConstBool


def _constant(value: Any, like: Expr) -> Expr | None:
    """Return ``value`` as a constant of the type of ``like``, None if it does not fit."""
    dtype = dtype_of(like)
    value = wrapper(dtype)(value)
    if isinstance(value, bool):
        return ConstBool(value, like.span)
    if dtype.is_float():
        return ConstFloat(value, dtype, like.span)
    return ConstInt(value, dtype, like.span) if -(1 << 63) <= value < 1 << 63 else None


def fold_binary(e: BinaryExpr) -> Expr | None:
    """2 + 3 -> 5."""
    if not (isinstance(e.left, _Const) and isinstance(e.right, _Const)):
        return None
    try:
        value = binary_function(type(e), dtype_of(e.left))(e.left.value, e.right.value)
    except EvaluationError:
        return None  # an error: it stays where it is
    return _constant(value, e)


def fold_unary(e: UnaryExpr) -> Expr | None:
    """-(3) -> -3."""
    if not isinstance(e.operand, _Const):
        return None
    value = unary_function(type(e), dtype_of(e.operand), dtype_of(e))(e.operand.value)
    return _constant(value, e)


def _is_int(e: Expr) -> bool:
    return not dtype_of(e).is_float()


def _same(a: Expr, b: Expr) -> bool:
    return isinstance(a, Var) and a is b


def _kept(e: BinaryExpr, operand: Expr) -> Expr | None:
    """Return an operand in place of an expression, if it has the expression's type."""
    return operand if dtype_of(operand) is dtype_of(e) else None


def add_nothing(e: Add) -> Expr | None:
    """x + 0 -> x, for integers."""
    if _is_int(e):
        if const_value(e.right) == 0:
            return _kept(e, e.left)
        if const_value(e.left) == 0:
            return _kept(e, e.right)
    return None


def subtract_nothing(e: Sub) -> Expr | None:
    """x - 0 -> x, and x - x -> 0 for integers."""
    if _is_int(e) and _same(e.left, e.right):
        return _constant(0, e)
    if const_value(e.right) == 0 or _is_float(e.right, 0.0):
        return _kept(e, e.left)
    return None


def _is_float(e: Expr, value: float) -> bool:
    return isinstance(e, ConstFloat) and e.value.hex() == value.hex()


def _is_one(e: Expr) -> bool:
    return const_value(e) == 1 or _is_float(e, 1.0)


def multiply_by_one(e: Mul) -> Expr | None:
    """x * 1 -> x."""
    if _is_one(e.right):
        return _kept(e, e.left)
    return _kept(e, e.right) if _is_one(e.left) else None


def multiply_by_zero(e: Mul) -> Expr | None:
    """x * 0 -> 0, for an integer variable."""
    for one, other in ((e.left, e.right), (e.right, e.left)):
        if _is_int(e) and const_value(one) == 0 and isinstance(other, Var):
            return _constant(0, e)
    return None


def divide_by_one(e: FloatDiv | FloorDiv) -> Expr | None:
    """x / 1 -> x, and x // 1 -> x for integers."""
    if _is_one(e.right) and (isinstance(e, FloatDiv) or _is_int(e)):
        return _kept(e, e.left)
    return None


def remainder_of_one(e: FloorMod) -> Expr | None:
    """x % 1 -> 0, for an integer variable."""
    if _is_int(e) and const_value(e.right) == 1 and isinstance(e.left, Var):
        return _constant(0, e)
    return None


def gather_constants(e: Add) -> Expr | None:
    """(x + 2) + 3 -> x + 5, for integers of one type."""
    inner = e.left
    if not (_is_int(e) and isinstance(e.right, ConstInt) and isinstance(inner, Add | Sub)):
        return None
    same = dtype_of(inner) is dtype_of(e) is dtype_of(e.right)
    if not (same and isinstance(inner.right, ConstInt) and dtype_of(inner.right) is dtype_of(e)):
        return None
    sign = 1 if isinstance(inner, Add) else -1
    total = _constant(e.right.value + sign * inner.right.value, e)
    return None if total is None else Add(inner.left, total, dtype_of(e), e.span)


def same_twice(e: Min | Max | BitAnd | BitOr | And | Or) -> Expr | None:
    """min(x, x) -> x."""
    return _kept(e, e.left) if _same(e.left, e.right) else None


def same_cancels(e: BitXor) -> Expr | None:
    """x ^ x -> 0."""
    return _constant(0, e) if _same(e.left, e.right) else None


def and_known(e: And) -> Expr | None:
    """True and x -> x, False and x -> False."""
    if isinstance(e.left, ConstBool):
        return e.right if e.left.value else e.left
    if isinstance(e.right, ConstBool) and e.right.value:
        return e.left
    return None


def or_known(e: Or) -> Expr | None:
    """False or x -> x, True or x -> True."""
    if isinstance(e.left, ConstBool):
        return e.left if e.left.value else e.right
    if isinstance(e.right, ConstBool) and not e.right.value:
        return e.left
    return None


def twice_negated(e: Neg | Not) -> Expr | None:
    """-(-x) -> x, not not x -> x."""
    inner = e.operand
    if not isinstance(inner, Neg | Not) or type(inner) is not type(e):
        return None
    return inner.operand if dtype_of(inner.operand) is dtype_of(e) else None


def cast_to_itself(e: Cast) -> Expr | None:
    """cast(x: T, T) -> x."""
    return e.operand if dtype_of(e.operand) is dtype_of(e) else None


RULES: Final[tuple[Rule, ...]] = (
    fold_binary,
    fold_unary,
    add_nothing,
    subtract_nothing,
    multiply_by_one,
    multiply_by_zero,
    divide_by_one,
    remainder_of_one,
    gather_constants,
    same_twice,
    same_cancels,
    and_known,
    or_known,
    twice_negated,
    cast_to_itself,
)


class Simplify(RewritePass):
    """Fold constants, remove identities and copies, resolve decided branches and empty loops.

    ``rules`` are added to those of this module.
    """

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        super().__init__((*RULES, *rules), "Simplify")

    def rewriter(self) -> Rewriter:
        """Return a rewriter for one program."""
        return _Simplifier(self.rules)


def simplify() -> RewritePass:
    """Return the pass that folds constants and removes identities."""
    return Simplify()


class _Simplifier(Rewriter):
    """Applies the rules, and replaces variables that are copies, in textual order."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__(rules)
        self._values: dict[Var, Expr] = {}
        self._in_types: set[Var] = set()  # variables that types use, which stay

    def function(self, function: Function) -> Function:
        """Return the function simplified."""
        every = (var for stmt in stmts_in(function.body) for var in defined_by(stmt))
        self._in_types = {used for var in every for used in used_by_type(var)}
        return super().function(function)

    def visit_Var(self, var: Var) -> Expr:
        """Return the value of which a variable is a copy, else the variable."""
        return self._values.get(var, var)

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt | list[Stmt]:
        """Drop a copy of a variable or constant."""
        new: AssignStmt = self.rebuild(stmt)
        value = new.value
        if self._can_stand([new.var], [value]):
            self._values[new.var] = value
            return []
        return new

    def visit_IfStmt(self, stmt: IfStmt) -> Stmt | list[Stmt]:
        """Keep only the branch that is taken, where that is known."""
        condition = self.visit(stmt.condition)
        if not isinstance(condition, ConstBool):
            return self.rebuild(stmt)
        taken = stmt.then_body if condition.value else stmt.else_body
        body = [] if taken is None else list(statements(taken))
        last = body.pop() if body and isinstance(body[-1], YieldStmt) else None
        yielded = last.value if isinstance(last, YieldStmt) else ()
        if not self._can_stand(stmt.return_vars, yielded):
            return self.rebuild(stmt)
        out = self._visited(body)
        self._bind(stmt.return_vars, yielded)
        return out

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt | list[Stmt]:
        """Drop a loop that never runs."""
        starts = [arg.initValue for arg in stmt.iter_args]
        if trips(stmt) == 0 and self._can_stand(stmt.return_vars, starts):
            self._bind(stmt.return_vars, starts)
            return []
        return self.rebuild(stmt)

    def _visited(self, body: Sequence[Stmt]) -> list[Stmt]:
        out: list[Stmt] = []
        for stmt in body:
            new: Stmt | list[Stmt] = self.visit(stmt)
            out += as_list(new)
        return out

    def _bind(self, results: Sequence[Var], values: Sequence[Expr]) -> None:
        for var, value in zip(results, values, strict=True):
            self._values[var] = self.visit(value)

    def _can_stand(self, results: Sequence[Var], values: Sequence[Expr]) -> bool:
        """True if values may replace results wherever these are used."""
        return len(results) == len(values) and all(
            isinstance(value, Var | _Const)
            and same_type(value.type, var.type)
            and var not in self._in_types
            for var, value in zip(results, values, strict=True)
        )
