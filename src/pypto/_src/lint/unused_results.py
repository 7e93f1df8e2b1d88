"""Results that nothing reads: a variable is assigned an op's result and never used.

Checks programs as they are written, before any pass. Knows no op: `purity.has_effect` says whether
a computation could be left out. A name that begins with ``_`` marks a result as unused on purpose.
"""

from __future__ import annotations

from typing import Final

from pypto._src.analysis.purity import has_effect, used_by_type
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity
from pypto._src.ir.exprs import Call, Var
from pypto._src.ir.inspect.source_names import user_call
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, Function, Program
from pypto._src.ir.traversal.queries import defined_by, held_by, stmts_in, uses

RULE: Final = "unused-variable"


def unused_results(program: Program) -> list[Diagnostic]:
    """Return a warning for each variable that is assigned an op's result and never read."""
    return [found for function in program.functions_ for found in _unused_in(function)]


def _unused_in(function: Function) -> list[Diagnostic]:
    read: set[Var] = set()
    assigned: dict[Var, AssignStmt] = {}
    for stmt in stmts_in(function.body):
        read.update(uses(held_by(stmt)))
        for var in defined_by(stmt):
            read.update(used_by_type(var))
        if isinstance(stmt, AssignStmt):
            assigned.setdefault(stmt.var, stmt)
    # A region creates an accumulator again where vector work needs it in another memory.
    begun = {(var.name, op_of(stmt.value)) for var, stmt in assigned.items() if var in read}
    return [
        _warning(var, stmt)
        for var, stmt in assigned.items()
        if var not in read and not var.name.startswith("_") and not has_effect(stmt.value)
        if (op := op_of(stmt.value)) is not None
        if any(True for _ in uses([stmt.value])) or (var.name, op) not in begun
    ]


def _warning(var: Var, stmt: AssignStmt) -> Diagnostic:
    assert isinstance(stmt.value, Call)
    return Diagnostic(
        DiagnosticSeverity.Warning,
        RULE,
        0,
        f"{var.name!r} is assigned the value of {user_call(stmt.value)}, and nothing reads it",
        stmt.span,
        hint=f"delete the line, or name it _{var.name}",
    )
