"""The statements of a kernel in the PTO dialect, in order, each below its source span.

Owns which statement writes what. Does not know the text of calls (`calls`), and how loops and
branches pass values on (`control_flow`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pypto._src.emit.pto.calls import Calls
from pypto._src.emit.pto.control_flow import Flow
from pypto._src.emit.pto.kernel_state import Kernel
from pypto._src.emit.writer import source_comment
from pypto._src.errors import EmitError, PyptoError, of_type
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import Call
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.types import MemRefType, TupleType


class Statements:
    """Writes the body of a kernel."""

    def __init__(self, kernel: Kernel, calls: Calls) -> None:
        self._kernel = kernel
        self._calls = calls

    def write(self, body: Stmt | None) -> None:
        """Write the statements of a body.

        Raises:
            EmitError: one has no form in the dialect; the error points at it.
        """
        text, scalars = self._kernel.body, self._kernel.scalars
        for stmt in statements(body):
            scalars.begin_statement()
            outer, text.span = text.span, stmt.span
            text.note(source_comment(stmt.span))
            try:
                WRITERS.get(stmt.__class__, _unknown)(self, stmt)
            except PyptoError as error:
                error.at(stmt.span)
                raise
            text.note(None)
            text.span = outer

    def flow(self) -> Flow:
        """Return what writes loops and branches."""
        return Flow(self._kernel, self.write)

    def assign(self, stmt: AssignStmt) -> None:
        """Write an assignment, by the type of its variable."""
        var, value = stmt.var, stmt.value
        match var.type:
            case TileType():
                self._calls.tile(var, value)
            case TensorType():
                self._kernel.tensors.names[var] = self._calls.tensor(value)
            case TupleType():
                self._kernel.tuples[var] = self._kernel.elements(value)
            case MemRefType():
                pass  # block.alloc describes a buffer; the allocations are written from the types
            case _:
                self._kernel.scalars.define(var, self._kernel.item(value))

    def evaluate(self, stmt: EvalStmt) -> None:
        """Write a call for its effect."""
        if isinstance(stmt.expr, Call):
            self._calls.evaluate(stmt.expr)


def _jump(_writer: Statements, _stmt: Stmt) -> None:
    raise EmitError(
        "the PTO dialect has no jumps out of a loop",
        hint="run passes.convert_to_ssa() first, which turns them into conditions",
        slug="emit-jump",
    )


def _unknown(_writer: Statements, stmt: Stmt) -> None:
    raise EmitError(f"{of_type(stmt)} cannot be written", slug="emit-statement")


WRITERS: Final[dict[type[Stmt], Callable[[Statements, Any], None]]] = {
    AssignStmt: Statements.assign,
    EvalStmt: Statements.evaluate,
    ForStmt: lambda writer, stmt: writer.flow().counted(stmt),
    WhileStmt: lambda writer, stmt: writer.flow().conditional(stmt),
    IfStmt: lambda writer, stmt: writer.flow().branch(stmt),
    ScopeStmt: lambda writer, stmt: writer.write(stmt.body),
    # Loops and branches write their yields; a kernel's results are its tensors.
    YieldStmt: lambda _writer, _stmt: None,
    ReturnStmt: lambda _writer, _stmt: None,
    BreakStmt: _jump,
    ContinueStmt: _jump,
}
"""The writer of each class of statement."""
