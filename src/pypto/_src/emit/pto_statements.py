"""The statements of a kernel in the PTO dialect, in order, each below the place that it is for.

Owns which statement writes what. Refuses to know the text of calls (`pto_calls`), and how loops and
branches hand values on (`pto_flow`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto._src.emit.pto_calls import Calls
from pypto._src.emit.pto_flow import Flow
from pypto._src.emit.pto_kernel import Kernel
from pypto._src.emit.writer import source_comment
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.nodes import (
    Call,
    Expr,
    MemRefType,
    TensorType,
    TileType,
    TupleType,
    Type,
    Var,
)
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


class Statements:
    """Writes the body of a kernel."""

    def __init__(self, kernel: Kernel, calls: Calls) -> None:
        self._kernel = kernel
        self._calls = calls
        flow = Flow(kernel, self.write)
        self._writers: dict[type[Stmt], Callable[[Any], None]] = {
            AssignStmt: self._assign,
            EvalStmt: self._evaluate,
            ForStmt: flow.counted,
            WhileStmt: flow.conditional,
            IfStmt: flow.branch,
            ScopeStmt: lambda stmt: self.write(stmt.body),
            # Loops and branches write their yields; a kernel's results are its tensors.
            YieldStmt: lambda _: None,
            ReturnStmt: lambda _: None,
            BreakStmt: _jump,
            ContinueStmt: _jump,
        }
        self._assigners: dict[type[Type], Callable[[Var, Expr], None]] = {
            TileType: calls.tile,
            TensorType: self._assign_tensor,
            TupleType: self._assign_tuple,
            # block.alloc describes a buffer; the allocations are written from the types.
            MemRefType: lambda _var, _value: None,
        }

    def write(self, body: Stmt | None) -> None:
        """Write the statements of a body.

        Raises:
            EmitError: one has no form in the dialect; the error points at it.
        """
        text, scalars, writers = self._kernel.body, self._kernel.scalars, self._writers
        for stmt in statements(body):
            scalars.begin_statement()
            outer, text.place = text.place, stmt.span
            text.note(source_comment(stmt.span))
            try:
                writers.get(stmt.__class__, _unknown)(stmt)
            except PyptoError as error:
                error.at(stmt.span)
                raise
            text.note(None)
            text.place = outer

    def _assign(self, stmt: AssignStmt) -> None:
        assign = self._assigners.get(stmt.var.type.__class__, self._assign_scalar)
        assign(stmt.var, stmt.value)

    def _assign_tensor(self, var: Var, value: Expr) -> None:
        self._kernel.tensors.names[var] = self._calls.tensor(value)

    def _assign_tuple(self, var: Var, value: Expr) -> None:
        self._kernel.tuples[var] = self._kernel.elements(value)

    def _assign_scalar(self, var: Var, value: Expr) -> None:
        self._kernel.scalars.define(var, self._kernel.item(value))

    def _evaluate(self, stmt: EvalStmt) -> None:
        if isinstance(stmt.expr, Call):
            self._calls.evaluate(stmt.expr)


def _jump(stmt: Stmt) -> None:
    raise EmitError(
        "the PTO dialect has no jumps out of a loop",
        hint="run passes.convert_to_ssa() first, which turns them into conditions",
        slug="emit-jump",
    )


def _unknown(stmt: Stmt) -> None:
    raise EmitError(f"a {type(stmt).__name__} cannot be written", slug="emit-statement")
