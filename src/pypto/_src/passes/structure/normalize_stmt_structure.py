"""NormalizeStmtStructure: every body is a SeqStmts, every run of operations in it an OpStmts."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Final

from pypto._src.ir.stmts import (
    OPERATIONS,
    SIMPLE,
    Function,
    OpStmts,
    Program,
    SeqStmts,
    Stmt,
    checked_run,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator, map_bodies
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet

_P: Final = IRProperty


class NormalizeStmtStructure(Pass):
    """Any nesting of sequences -> one SeqStmts per body, with maximal OpStmts in it."""

    requires = IRPropertySet(_P.TypeChecked)
    produces = IRPropertySet(_P.TypeChecked, _P.NormalizedStmtStructure)
    invalidates = IRPropertySet(_P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program with normal bodies."""
        return normalized(program)


@pass_factory
def normalize_stmt_structure() -> Pass:
    """Return the pass that makes every body a SeqStmts with OpStmts for runs of operations."""
    return NormalizeStmtStructure()


def normalized(program: Program) -> Program:
    """Return ``program`` with every body normal; bodies that already are keep their identity."""
    return _Normalize().program(program)


def normal_function(function: Function) -> Function:
    """Return ``function`` with every body normal, itself if they are."""
    return _Normalize().function(function)


class _Normalize(Mutator):
    def visit(self, node: Stmt) -> Stmt:
        return map_bodies(node, self.body)

    def body(self, stmt: Stmt) -> Stmt:
        old = statements(stmt)
        return normal_body(stmt, [s if s.__class__ in SIMPLE else self.visit(s) for s in old])


def normal_body(old: Stmt, stmts: Sequence[Stmt]) -> Stmt:
    """Return the normal body of ``stmts``, none of them a sequence; ``old`` if it equals that."""
    out: list[Stmt] = []
    # A run ends at a statement that is no operation, or at the end of the body.
    goes_on = [*map(OPERATIONS.__contains__, map(type, stmts)), False]
    begin = 0
    while begin <= len(stmts):
        end = goes_on.index(False, begin)
        if begin < end:
            run = tuple(stmts[begin:end])
            out.append(checked_run(run, run[0].span))
        out += stmts[end : end + 1]
        begin = end + 1
    return old if _same_shape(old, out) else SeqStmts(stmts=tuple(out), span=old.span)


def _same_shape(old: Stmt, new: list[Stmt]) -> bool:
    """True if ``old`` already is the sequence of ``new``."""
    if not isinstance(old, SeqStmts) or len(old.stmts) != len(new):
        return False
    for a, b in zip(old.stmts, new, strict=True):
        if a is b:
            continue
        if not (isinstance(a, OpStmts) and isinstance(b, OpStmts) and len(a.stmts) == len(b.stmts)):
            return False
        if not all(map(is_, a.stmts, b.stmts)):
            return False
    return True
