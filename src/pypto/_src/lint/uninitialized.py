"""Reads of uninitialized memory, and outputs that a program fails to write.

Brings programs into the form that `uninitialized_tiles` and `uninitialized_tensors` expect; the
findings point at the program as it was written.
"""

from __future__ import annotations

from typing import Final

from pypto._src.diagnostics import Diagnostic
from pypto._src.errors import PyptoError
from pypto._src.ir.exprs import Call
from pypto._src.ir.stmts import AssignStmt, Function, Program
from pypto._src.ir.traversal.queries import functions_called, stmts_in
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.lint.uninitialized_tensors import uninitialized_tensors
from pypto._src.lint.uninitialized_tiles import uninitialized_tiles
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.flatten_call_expr import FlattenCallExpr
from pypto._src.usage_errors import not_a_program


def check_uninitialized(program: Program | Function) -> list[Diagnostic]:
    """Return reads of uninitialized memory, and outputs left unwritten, that are certain.

    Expects a program without errors.

    Rules: ``uninitialized-tile`` and ``uninitialized-tensor``: uninitialized memory is read;
    ``out-never-written``, ``out-not-always-written`` and ``out-partly-written``: an output is not
    written; ``lost-write``: a computed tensor is written to, and nothing reads it. A program that
    cannot be brought into SSA form gives no findings: the passes report it.

    Raises:
        CallError: it is neither a program nor a function.
    """
    if isinstance(program, Function):
        program = Program([program], program.name)
    if not isinstance(program, Program):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise not_a_program(program, "passes.check_uninitialized")
    whole = program
    return with_room(lambda: _findings(whole), whole)


def _findings(program: Program) -> list[Diagnostic]:
    names: dict[Call, str] = {}
    for function in program.functions_:
        for stmt in stmts_in(function.body):
            if isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call):
                names.setdefault(stmt.value, stmt.var.name)
    inner = {name for function in program.functions_ for name in functions_called(function)}
    flat = in_flat_form(program)
    if flat is None:
        return []
    found = uninitialized_tensors(flat, inner, names)
    for function in flat.functions_:
        found += uninitialized_tiles(function, names)
    return found


def in_flat_form(program: Program) -> Program | None:
    """Return a program in SSA form with flattened calls, None if that is not possible."""
    try:
        return FlattenCallExpr().run(ConvertToSSA().run(program))
    except PyptoError:
        return None


check_unwritten: Final = check_uninitialized
"""The former name of `check_uninitialized`."""
