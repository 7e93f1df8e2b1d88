"""Lifts calls out of other expressions into variables: the work of FlattenCallExpr.

Most functions have no such calls, and do not load this module.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cached_property
from operator import is_
from typing import Any, Final, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import PassError
from pypto._src.ir.exprs import (
    CONSTANTS,
    And,
    BinaryExpr,
    Call,
    ConstBool,
    Expr,
    IterArg,
    MakeTuple,
    Or,
    Var,
)
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.stmts import (
    SIMPLE,
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    Function,
    IfStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    checked_assign,
    checked_eval,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator, map_bodies, substitute
from pypto._src.ir.traversal.queries import stmts_in, variable_names
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import scalar_type
from pypto._src.ir.unchecked import checked_var, with_args

_ATOMS: Final = CONSTANTS | {Var}


def with_calls_lifted(function: Function, nested: Container[Stmt]) -> Function:
    """Return ``function`` with the calls in the statements ``nested`` each on its own.

    Raises:
        PassError: a ``while`` whose condition has calls, and whose body has jumps.
    """
    body = _Lift(function, nested).body(function.body)
    return function if body is function.body else function.with_body(body)


class _Lift(Mutator):
    def __init__(self, function: Function, nested: Container[Stmt]) -> None:
        super().__init__()
        self._function = function
        self._nested = nested
        self._out: list[Stmt] = []  # where lifted calls go
        self._holds_call: dict[Expr, bool] = {}

    @cached_property
    def _names(self) -> FreshNames:
        return FreshNames(variable_names(self._function))

    def _name(self) -> str:
        return self._names.numbered("_t", 0)

    # Statements ---------------------------------------------------------------------------

    def body(self, stmt: Stmt) -> Stmt:
        old = statements(stmt)
        new = self._block(old)
        same = len(new) == len(old) and all(map(is_, new, old))
        return stmt if same else seq(new, stmt.span)

    def _block(self, stmts: tuple[Stmt, ...]) -> list[Stmt]:
        outer, self._out = self._out, []
        nested, redefined = self._nested, self._redefined
        for stmt in stmts:
            if stmt in nested or redefined:
                new = self._stmt(stmt)
            else:
                new = stmt if stmt.__class__ in SIMPLE else map_bodies(stmt, self.body)
            self._out.append(new)
        out, self._out = self._out, outer
        return out

    def _stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case AssignStmt() if isinstance(stmt.value, Call):
                call = self._with_operands(stmt.value)
                return stmt if call is stmt.value else checked_assign(stmt.var, call, stmt.span)
            case EvalStmt() if isinstance(stmt.expr, Call):
                call = self._with_operands(stmt.expr)
                return stmt if call is stmt.expr else checked_eval(call, stmt.span)
            case WhileStmt() if self._has_call(stmt.condition):
                return self._while(stmt)
            case _:
                # Calls in conditions, bounds and init values go before the statement; each body
                # collects its own.
                return self.rebuild(stmt)

    def _while(self, stmt: WhileStmt) -> Stmt:
        """while f(a): body  ->  _t0 = f(a); while _t1 carrying _t0: body; _t2 = f(a); yield _t2."""
        for inner in stmts_in(stmt.body):
            if isinstance(inner, BreakStmt | ContinueStmt):
                raise PassError(
                    "a jump would skip the calls in the condition of its loop",
                    inner.span,
                    "run convert_to_ssa() before",
                    slug="jump-in-while",
                )
        span = stmt.span
        args: tuple[IterArg, ...] = tuple(self.define(arg) for arg in stmt.iter_args)
        at_first: dict[Var, Expr] = {
            old: new.initValue for old, new in zip(stmt.iter_args, args, strict=True)
        }
        first = self.visit(substitute(stmt.condition, at_first))
        go = IterArg(self._name(), scalar_type(DataType.BOOL), first, span)

        outer, self._out = self._out, self._block(statements(stmt.body))
        values: tuple[Expr, ...] = ()
        if self._out and isinstance(last := self._out[-1], YieldStmt):
            values = last.value
            self._out.pop()
        at_end: dict[Var, Expr] = dict(zip(stmt.iter_args, values, strict=True))
        test = self.visit(substitute(stmt.condition, at_end))
        body, self._out = seq([*self._out, YieldStmt((*values, test), span)]), outer
        result = Var(self._name(), go.type, span)
        return WhileStmt(go, (*args, go), body, (*stmt.return_vars, result), span)

    # Expressions --------------------------------------------------------------------------

    def visit(self, node: Any) -> Any:
        """Return ``node``, an expression without calls or a statement, with its calls lifted."""
        if isinstance(node, Expr) and not self._redefined:
            if not self._has_call(node):
                return node
            if isinstance(node, Call) and not self._ready:
                return self.visit_Call(node)
        return super().visit(node)

    def visit_Call(self, call: Call) -> Expr:
        """Lift the call, after the calls in its operands."""
        return self._assign(self._with_operands(call))

    def _with_operands(self, call: Call) -> Call:
        """Return the call with its operands lifted; iterative, as calls may nest thousands deep."""
        stack: list[tuple[Call, Iterator[Expr], list[Expr]]] = [(call, iter(call.args), [])]
        while True:
            outer, rest, args = stack[-1]
            for arg in rest:
                if arg.__class__ is Call:
                    inner = cast("Call", arg)
                    stack.append((inner, iter(inner.args), []))
                    break
                # Variables other than iter_args stay, and so do constants.
                args.append(arg if arg.__class__ in _ATOMS else self.visit(arg))
            else:
                stack.pop()
                same = all(map(is_, args, outer.args))
                value = outer if same else with_args(outer, tuple(args))
                if not stack:
                    return value
                stack[-1][2].append(self._assign(value))

    def visit_And(self, expr: And) -> Expr:
        """a and f(b)  ->  if a: _t0 = f(b); else: False."""
        return self._short_circuit(expr, ends_at=False)

    def visit_Or(self, expr: Or) -> Expr:
        """a or f(b)  ->  if a: True; else: _t0 = f(b)."""
        return self._short_circuit(expr, ends_at=True)

    def _short_circuit(self, expr: BinaryExpr, *, ends_at: bool) -> Expr:
        if not self._has_call(expr.right):
            return self.rebuild(expr)
        left = self.visit(expr.left)
        outer, self._out = self._out, []
        right = self.visit(expr.right)
        evaluated = seq([*self._out, YieldStmt((right,), expr.span)])
        self._out = outer
        known = YieldStmt((ConstBool(ends_at, expr.span),), expr.span)
        result = Var(self._name(), expr.type, expr.span)
        self._out.append(
            IfStmt(
                condition=left,
                then_body=known if ends_at else evaluated,
                else_body=evaluated if ends_at else known,
                return_vars=(result,),
                span=expr.span,
            )
        )
        return result

    def _assign(self, value: Expr) -> Var:
        var = checked_var(self._name(), value.type, value.span)
        self._out.append(checked_assign(var, value, value.span))
        return var

    def _has_call(self, expr: Expr) -> bool:
        if isinstance(expr, Call):
            return True
        if isinstance(expr, Var) or expr.__class__ in CONSTANTS:
            return False
        if isinstance(expr, MakeTuple) and _ATOMS.issuperset(map(type, expr.elements)):
            return False
        known = self._holds_call.get(expr)
        if known is None:
            known = Call in map(type, walk(expr))
            self._holds_call[expr] = known
        return known
