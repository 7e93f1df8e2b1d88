"""Dispatch on the statements of a host function, shared by both of its texts.

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
    """What writes each kind of statement. Yields are written by the statement they belong to."""

    def begin(self, stmt: Stmt) -> None:
        """Note which statement comes next."""
        ...

    def assign(self, stmt: AssignStmt) -> None:
        """Write an assignment."""
        ...

    def evaluate(self, stmt: EvalStmt) -> None:
        """Write a call whose results are unused."""
        ...

    def counted(self, stmt: ForStmt) -> None:
        """Write a counted loop."""
        ...

    def conditional(self, stmt: WhileStmt) -> None:
        """Write a loop that runs while a condition holds."""
        ...

    def branch(self, stmt: IfStmt) -> None:
        """Write a branch."""
        ...

    def finish(self, stmt: ReturnStmt) -> None:
        """Write the return of the function."""
        ...

    def refuse(self, what: str) -> NoReturn:
        """Raise the error for a statement that a host function cannot have after the passes."""
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
