"""LoopInvariantMotion: values that are the same in every iteration are computed before the loop.

A value is hoisted if everything it reads is defined outside the loop. A value that could fail, such
as a load outside a tensor, is hoisted only out of loops that certainly run; one that reads a
tensor, only out of loops that write to none.
"""

from __future__ import annotations

from typing import Any, Final

from pypto._src.analysis.purity import (
    is_repeatable,
    may_fail,
    reads_tensor,
    trips,
    used_by_type,
    with_effects,
)
from pypto._src.ir.exprs import ConstBool, ConstFloat, ConstInt, Expr, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    Program,
    Stmt,
    WhileStmt,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet

_P: Final = IRProperty


class LoopInvariantMotion(Pass):
    """``for i in range(n): t = m * 2; ...``  ->  ``t = m * 2; for i in range(n): ...``."""

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program with loops that compute less."""
        return map_functions(program, lambda f: InvariantMover(f).function(f))


@pass_factory
def loop_invariant_motion() -> Pass:
    """Return the pass that moves values out of loops."""
    return LoopInvariantMotion()


class InvariantMover(Mutator):
    """Hoists values out of loops, inner ones first.

    For each variable, the number of loops around its definition is known.
    """

    def __init__(self, function: Function) -> None:
        super().__init__()
        self._writing = with_effects(function.body)
        self._depth_of: dict[Var, int] = {}
        self._loops = 0

    def define(self, var: Any) -> Any:
        self._depth_of[var] = self._loops
        return var

    def visit(self, node: Any) -> Any:
        """Leave expressions as they are."""
        return node if isinstance(node, Expr) else super().visit(node)

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt | list[Stmt]:
        return self._loop(stmt, runs=bool(trips(stmt)))

    def visit_WhileStmt(self, stmt: WhileStmt) -> Stmt | list[Stmt]:
        return self._loop(stmt, runs=False)

    def _loop(self, stmt: ForStmt | WhileStmt, *, runs: bool) -> Stmt | list[Stmt]:
        self._loops += 1
        inside = [*stmt.iter_args, *([stmt.loop_var] if isinstance(stmt, ForStmt) else [])]
        for var in inside:
            self._depth_of[var] = self._loops
        body = self.body(stmt.body)
        moved: list[Stmt] = []
        kept: list[Stmt] = []
        for inner in statements(body):
            if isinstance(inner, AssignStmt) and self._can_move(inner, stmt, runs=runs):
                moved.append(inner)
                self._depth_of[inner.var] = self._loops - 1
            else:
                kept.append(inner)
        self._loops -= 1
        for var in stmt.return_vars:
            self._depth_of[var] = self._loops
        if moved:
            return [*moved, copy_with(stmt, {"body": seq(kept, stmt.body.span)})]
        return stmt if body is stmt.body else copy_with(stmt, {"body": body})

    def is_worth_moving(self, value: Expr) -> bool:
        """Return whether ``value`` is the same when it is computed only once."""
        return is_repeatable(value)

    def may_change(self, value: Expr, loop: Stmt) -> bool:
        """Return whether ``loop`` may write the tensors that ``value`` reads."""
        del value
        return loop in self._writing

    def _can_move(self, stmt: AssignStmt, loop: Stmt, *, runs: bool) -> bool:
        value = stmt.value
        if isinstance(value, Var | ConstInt | ConstFloat | ConstBool):
            return False
        if not self.is_worth_moving(value):
            return False
        read = [*uses((value,)), *used_by_type(stmt.var)]
        if any(self._depth_of.get(var, 0) >= self._loops for var in read):
            return False
        if reads_tensor(value) and self.may_change(value, loop):
            return False
        return runs or not may_fail(value)
