"""FlattenCallExpr: every call is the right side of an assignment, or a statement of its own.

Calls inside other expressions are lifted into variables ``_t<N>`` directly before the statement
that contains them, in order of evaluation. What Python evaluates conditionally (the right side of
``and`` and ``or``) or again in every iteration (the condition of ``while``) keeps that meaning.
"""

from __future__ import annotations

from typing import Final

from pypto._src.analysis.stmt_tree import call_of
from pypto._src.ir.exprs import (
    Call,
)
from pypto._src.ir.stmts import (
    Function,
    Program,
    Stmt,
)
from pypto._src.ir.traversal.mutator import map_functions
from pypto._src.ir.traversal.queries import calls_of, is_flat
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.structure.flatten_single_stmt import flattened
from pypto._src.passes.structure.normalize_stmt_structure import normalized
from pypto._src.passes.verification import NOTHING_KNOWN, PassFacts

_P: Final = IRProperty


class FlattenCallExpr(Pass):
    """``y = f(g(x)) + 1``  ->  ``_t0 = g(x); _t1 = f(_t0); y = _t1 + 1``."""

    requires = IRPropertySet(_P.TypeChecked)
    produces = IRPropertySet(_P.TypeChecked, _P.NoNestedCalls)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program with every call on its own.

        Raises:
            PassError: a ``while`` whose condition has calls, and whose body has jumps.
        """
        return self.transform(program, NOTHING_KNOWN)

    def transform(self, program: Program, facts: PassFacts) -> Program:
        """Do what `run` does; statements that the verifier has proved have no nested calls."""
        lifted = map_functions(normalized(program), lambda f: lift_calls(f, facts))
        return flattened(lifted)


@pass_factory
def flatten_call_expr() -> Pass:
    """Return the pass that lifts nested calls into variables of their own."""
    return FlattenCallExpr()


def lift_calls(function: Function, facts: PassFacts = NOTHING_KNOWN) -> Function:
    """Return ``function`` with no call inside another expression."""
    nested = with_nested_calls(function, facts)
    if not nested:
        return function
    from pypto._src.passes.structure.lifted_calls import with_calls_lifted

    return with_calls_lifted(function, nested)


def with_nested_calls(function: Function, facts: PassFacts = NOTHING_KNOWN) -> set[Stmt]:
    """Return the statements that contain a nested call."""
    return {stmt for stmt in facts.unproved(function) if _holds_nested_call(stmt)}


def _holds_nested_call(stmt: Stmt) -> bool:
    """True if a call is inside another expression, or an operand of the statement."""
    value = call_of(stmt)
    if value is None:
        return bool(calls_of(stmt))
    if is_flat(value):
        return False
    return Call in map(type, value.args) or len(calls_of(stmt)) > 1
