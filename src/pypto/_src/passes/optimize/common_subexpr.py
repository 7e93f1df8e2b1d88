"""CommonSubexpr: a value that was computed before is not computed again.

Compares whole right sides, in textual order; a value computed in a branch or loop is available
only inside it. A load equals an earlier one only if nothing was written in between.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from pypto._src.analysis.purity import has_effect, is_repeatable, key_of, reads_tensor, with_effects
from pypto._src.ir.exprs import ConstBool, ConstFloat, ConstInt, Expr, Var
from pypto._src.ir.stmts import AssignStmt, EvalStmt, ForStmt, Function, Program, Stmt, WhileStmt
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.types import same_type
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet

_P: Final = IRProperty


class CommonSubexpr(Pass):
    """``b = x * 3; c = x * 3``  ->  ``b = x * 3``, with ``b`` in place of ``c``."""

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program without values that are computed twice."""
        return map_functions(program, lambda f: _Common(f).function(f))


@pass_factory
def common_subexpr() -> Pass:
    """Return the pass that computes equal values once."""
    return CommonSubexpr()


class _Common(Mutator):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self._writing = with_effects(function.body)
        self._first: dict[Hashable, tuple[Var, int]] = {}  # with the number of writes before it
        self._same: dict[Var, Var] = {}
        self._writes = 0
        self._scopes: list[list[tuple[Hashable, tuple[Var, int] | None]]] = [[]]

    def visit_Var(self, var: Var) -> Expr:
        return self._same.get(var, var)

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt | list[Stmt]:
        new: AssignStmt = self.rebuild(stmt)
        value = new.value
        if has_effect(value):
            self._writes += 1
            return new
        if isinstance(value, Var | ConstInt | ConstFloat | ConstBool) or not is_repeatable(value):
            return new
        key = key_of(value)
        first = self._first.get(key)
        if first is not None and same_type(first[0].type, new.var.type):
            var, when = first
            if when == self._writes or not reads_tensor(value):
                self._same[new.var] = var
                return []
        self._scopes[-1].append((key, first))
        self._first[key] = (new.var, self._writes)
        return new

    def visit_EvalStmt(self, stmt: EvalStmt) -> Stmt:
        new: EvalStmt = self.rebuild(stmt)
        self._writes += has_effect(new.expr)
        return new

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt:
        return self._loop(stmt)

    def visit_WhileStmt(self, stmt: WhileStmt) -> Stmt:
        return self._loop(stmt)

    def _loop(self, stmt: ForStmt | WhileStmt) -> Stmt:
        self._writes += stmt in self._writing  # writes of an earlier iteration
        return self.rebuild(stmt)

    def body(self, stmt: Stmt) -> Stmt:
        """Visit a body; its values are unavailable after it."""
        self._scopes.append([])
        new = super().body(stmt)
        for key, before in reversed(self._scopes.pop()):
            if before is None:
                del self._first[key]
            else:
                self._first[key] = before
        return new
