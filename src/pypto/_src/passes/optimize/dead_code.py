"""DeadCode: values that nothing needs are not computed.

Statements with side effects are needed, and so is everything that they read, through branches and
loops; a carried value that only feeds itself is removed, too. ``while`` loops stay, as they may not
terminate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pypto._src.analysis.purity import used_by_type, with_effects
from pypto._src.analysis.stmt_tree import bodies
from pypto._src.ir.exprs import Expr, IterArg, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import defined_by, exprs_in, stmts_in, uses
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet

_P: Final = IRProperty


class DeadCode(Pass):
    """``unused = x + 1``  ->  nothing."""

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program without what nothing needs."""
        return map_functions(program, without_dead_code)


@pass_factory
def dead_code() -> Pass:
    """Return the pass that removes what nothing needs."""
    return DeadCode()


def without_dead_code(function: Function) -> Function:
    """Return ``function`` without what nothing needs."""
    needs = _Needs(function)
    if not needs.has_dead:
        return function
    return function.with_body(_Sweep(needs).body(function.body))


class _Needs:
    """The statements and variables of a function that are needed."""

    def __init__(self, function: Function) -> None:
        self.variables: set[Var] = set()
        self.statements: set[Stmt] = set()
        self._home: dict[Var, Stmt] = {}  # the statement that defines a variable
        self._inside: dict[Stmt, Stmt] = {}  # a statement and the compound one that holds it
        self._yields: dict[Stmt, list[YieldStmt]] = {}
        self._todo: list[Var] = []
        every: list[Stmt] = []
        for stmt in stmts_in(function.body):
            every.append(stmt)
            for var in defined_by(stmt):
                self._home[var] = stmt
            for part in bodies(stmt):
                for inner in statements(part):
                    self._inside[inner] = stmt
                    if isinstance(inner, YieldStmt):
                        self._yields.setdefault(stmt, []).append(inner)
        effects = with_effects(function.body)
        for stmt in every:
            if stmt in effects or isinstance(stmt, WhileStmt):
                self._keep(stmt)
        for param in function.params:
            self._use(used_by_type(param))
        while self._todo:
            self._need(self._todo.pop())
        self.has_dead = len(self.statements) < sum(
            not isinstance(stmt, YieldStmt) for stmt in every
        ) or any(var not in self.variables for stmt in every for var in _handed_on(stmt))

    def _use(self, variables: Any) -> None:
        for var in variables:
            if var not in self.variables:
                self.variables.add(var)
                self._todo.append(var)

    def _keep(self, stmt: Stmt) -> None:
        """Mark a statement as needed, with the statements around it and what they read."""
        current: Stmt | None = stmt
        while current is not None and current not in self.statements:
            self.statements.add(current)
            self._use(uses(_read(current)))
            if isinstance(current, ForStmt):
                self._use(used_by_type(current.loop_var))
            current = self._inside.get(current)

    def _need(self, var: Var) -> None:
        self._use(used_by_type(var))
        stmt = self._home.get(var)
        if stmt is None:
            return
        self._keep(stmt)
        if isinstance(stmt, IfStmt):
            self._hand_on(stmt, _position(stmt.return_vars, var))
        elif isinstance(stmt, ForStmt) and var is stmt.loop_var:
            return
        elif isinstance(stmt, ForStmt | WhileStmt):
            results = stmt.iter_args if isinstance(var, IterArg) else stmt.return_vars
            index = _position(results, var)
            self._use((stmt.iter_args[index], stmt.return_vars[index]))
            self._use(uses((stmt.iter_args[index].initValue,)))
            self._hand_on(stmt, index)

    def _hand_on(self, stmt: Stmt, index: int) -> None:
        for each in self._yields.get(stmt, ()):
            self._use(uses((each.value[index],)))


def _position(variables: Sequence[Var], var: Var) -> int:
    return next(i for i, each in enumerate(variables) if each is var)


def _handed_on(stmt: Stmt) -> Sequence[Var]:
    return stmt.return_vars if isinstance(stmt, IfStmt | ForStmt | WhileStmt) else ()


def _read(stmt: Stmt) -> Sequence[Expr]:
    """Return what a statement reads regardless of which of its results are needed."""
    match stmt:
        case AssignStmt():
            return (stmt.value,)
        case EvalStmt():
            return (stmt.expr,)
        case IfStmt() | WhileStmt():
            return (stmt.condition,)
        case ForStmt():
            return (stmt.start, stmt.stop, stmt.step)
        case ReturnStmt():
            return stmt.value
        case _:
            return tuple(exprs_in(stmt)) if not isinstance(stmt, YieldStmt) else ()


class _Sweep(Mutator):
    """Removes what is not needed."""

    def __init__(self, needs: _Needs) -> None:
        super().__init__()
        self._needs = needs
        self._kept: list[tuple[bool, ...] | None] = []  # which values each open statement keeps

    def visit(self, node: Any) -> Any:
        """Drop a statement that is not needed."""
        if isinstance(node, AssignStmt | EvalStmt | IfStmt | ForStmt | ScopeStmt):
            if node not in self._needs.statements:
                return []
        elif isinstance(node, Expr):
            return node
        return super().visit(node)

    def visit_IfStmt(self, stmt: IfStmt) -> Stmt:
        return self._compound(stmt)

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt:
        return self._compound(stmt)

    def visit_WhileStmt(self, stmt: WhileStmt) -> Stmt:
        return self._compound(stmt)

    def _compound(self, stmt: IfStmt | ForStmt | WhileStmt) -> Stmt:
        kept = tuple(var in self._needs.variables for var in stmt.return_vars)
        self._kept.append(None if all(kept) else kept)
        new: Any = self.rebuild(stmt)
        self._kept.pop()
        if all(kept):
            return new
        changes: dict[str, Any] = {"return_vars": _of(stmt.return_vars, kept)}
        if not isinstance(stmt, IfStmt):
            changes["iter_args"] = _of(stmt.iter_args, kept)
        return copy_with(new, changes)

    def visit_YieldStmt(self, stmt: YieldStmt) -> Stmt | list[Stmt]:
        kept = self._kept[-1] if self._kept else None
        if kept is None:
            return stmt
        values = _of(stmt.value, kept)
        return YieldStmt(values, stmt.span) if values else []


def _of(items: Sequence[Any], kept: Sequence[bool]) -> tuple[Any, ...]:
    return tuple(item for item, keep in zip(items, kept, strict=True) if keep)
