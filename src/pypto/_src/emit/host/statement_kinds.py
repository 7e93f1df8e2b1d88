"""Which statement of a host function is written as what: both of its texts ask here.

Owns the order, and that an error points at its statement. Knows no text.
"""

from __future__ import annotations

from typing import NoReturn, Protocol

from pypto._src.errors import PyptoError
from pypto._src.ir.stmts import (
    AssignStmt,
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


class StatementWriter(Protocol):
    """What writes each kind of statement. Yields are written by what they belong to."""

    def begin(self, stmt: Stmt) -> None:
        """Take note of the statement that comes next."""
        ...

    def assign(self, stmt: AssignStmt) -> None:
        """Write an assignment."""
        ...

    def evaluate(self, stmt: EvalStmt) -> None:
        """Write a call whose results nobody uses."""
        ...

    def counted(self, stmt: ForStmt) -> None:
        """Write a loop that counts."""
        ...

    def conditional(self, stmt: WhileStmt) -> None:
        """Write a loop that goes on as long as a condition holds."""
        ...

    def branch(self, stmt: IfStmt) -> None:
        """Write a branch."""
        ...

    def finish(self, stmt: ReturnStmt) -> None:
        """Write the return of the function."""
        ...

    def refuse(self, what: str) -> NoReturn:
        """Raise the error for a statement that a host function has not after the passes."""
        ...


def write_statements(writer: StatementWriter, body: Stmt | None) -> None:
    """Write the statements of a body.

    Raises:
        EmitError: one has no form; the error points at it.
    """
    for stmt in statements(body):
        writer.begin(stmt)
        try:
            _write(writer, stmt)
        except PyptoError as error:
            raise error.at(stmt.span) from None


def _write(writer: StatementWriter, stmt: Stmt) -> None:
    match stmt:
        case AssignStmt():
            writer.assign(stmt)
        case EvalStmt():
            writer.evaluate(stmt)
        case ForStmt():
            writer.counted(stmt)
        case WhileStmt():
            writer.conditional(stmt)
        case IfStmt():
            writer.branch(stmt)
        case ScopeStmt():
            write_statements(writer, stmt.body)
        case ReturnStmt():
            writer.finish(stmt)
        case YieldStmt():
            pass
        case _:
            writer.refuse(type(stmt).__name__.removesuffix("Stmt").lower())
