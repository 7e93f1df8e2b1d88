"""FlattenSingleStmt: a sequence of one statement is that statement."""

from __future__ import annotations

from typing import Final

from pypto._src.ir.stmts import SIMPLE, OpStmts, Program, SeqStmts, Stmt
from pypto._src.ir.traversal.mutator import Mutator, map_bodies
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet

_P: Final = IRProperty


class FlattenSingleStmt(Pass):
    """SeqStmts or OpStmts of one element -> the element."""

    requires = IRPropertySet(_P.TypeChecked)
    produces = IRPropertySet(_P.TypeChecked, _P.FlattenedSingleStmt)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure)

    def run(self, program: Program) -> Program:
        """Return the program without sequences of one."""
        return flattened(program)


@pass_factory
def flatten_single_stmt() -> Pass:
    """Return the pass that replaces sequences of one statement by the statement."""
    return FlattenSingleStmt()


def flattened(program: Program) -> Program:
    """Return ``program`` without sequences of one statement."""
    return _Flatten().program(program)


class _Flatten(Mutator):
    def visit(self, node: Stmt) -> Stmt:
        return map_bodies(node, self.body)

    def body(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, SeqStmts | OpStmts):
            return stmt if stmt.__class__ in SIMPLE else self.visit(stmt)
        if len(stmt.stmts) > 1 and SIMPLE.issuperset(map(type, stmt.stmts)):
            return stmt
        new = [self.body(inner) for inner in stmt.stmts]
        if len(new) == 1:
            return new[0]
        same = all(a is b for a, b in zip(stmt.stmts, new, strict=True))
        return stmt if same else type(stmt)(stmts=tuple(new), span=stmt.span)
