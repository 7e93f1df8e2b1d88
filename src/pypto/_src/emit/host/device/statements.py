"""The statements of an orchestration, in order; others are rejected at the user's line.

Owns assignments and tasks. Does not know the text of calls (`tasks`), of ops
(`tensors`), and how loops and branches pass values on (`control_flow`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from pypto._src.emit.host.device.control_flow import Flow
from pypto._src.emit.host.device.host_state import Host
from pypto._src.emit.host.device.tasks import Tasks
from pypto._src.emit.host.device.tensors import no_copy, write_op
from pypto._src.emit.host.statement_kinds import write_statements
from pypto._src.emit.writer import RUN_PASSES
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Call, Expr, GlobalVar, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    Stmt,
    WhileStmt,
)
from pypto._src.ir.types import ScalarType
from pypto._src.ops import tensor_math


class Statements:
    """Writes the body of a host function.

    Args:
        host: The state of the generator.
        function: Writes another host function if need be; returns its C++ name.
    """

    def __init__(self, host: Host, function: Callable[[Function], str]) -> None:
        self._host = host
        self._tasks = Tasks(host, function)
        self._assigned: set[Var] = set()

    def write(self, body: Stmt | None) -> None:
        """Write the statements of a body.

        Raises:
            EmitError: one has no form for the device's runtime; the error points at it.
        """
        write_statements(self, body)

    def begin(self, stmt: Stmt) -> None:
        """Do nothing: each line names its own statement."""

    def evaluate(self, stmt: EvalStmt) -> None:
        """Write a task whose results have no name."""
        self._host.comment(stmt)
        self._tasks.write(_kernel_call(stmt.expr))

    def counted(self, stmt: ForStmt) -> None:
        """Write a counted loop."""
        Flow(self._host, self.write).counted(stmt)

    def conditional(self, stmt: WhileStmt) -> None:
        """Write a loop with a condition."""
        Flow(self._host, self.write).conditional(stmt)

    def branch(self, stmt: IfStmt) -> None:
        """Write a branch."""
        Flow(self._host, self.write).branch(stmt)

    def finish(self, stmt: ReturnStmt) -> None:
        """Write nothing: what a function returns is an argument of the entry already."""

    def refuse(self, what: str) -> NoReturn:
        """Reject a jump."""
        raise EmitError(
            f"an orchestration has no {what}: it would leave a scope of the runtime",
            hint="write the loop's condition without it",
            slug="emit-orchestration",
        )

    def assign(self, stmt: AssignStmt) -> None:
        """Write a task, an op, or the definition of a scalar."""
        host, var, value = self._host, stmt.var, stmt.value
        if var in self._assigned:
            raise EmitError(
                f"{var.name!r} is assigned twice",
                hint=RUN_PASSES,
                slug="emit-ssa",
            )
        self._assigned.add(var)
        if var in host.handles:
            return  # a tensor created here and returned is an argument of the entry
        host.comment(stmt)
        if isinstance(value, Call) and isinstance(value.op, GlobalVar):
            self._tasks.write(value, var)
        elif isinstance(value, Call):
            write_op(host, var, value)
        elif isinstance(var.type, TensorType):
            host.handles[var] = host.handle(value)
        elif isinstance(var.type, ScalarType):
            host.declare_scalar(var, host.scalars.text(value))
        else:
            raise EmitError(f"an orchestration has no variable of {type(var.type).__name__}")


def _kernel_call(value: Expr) -> Call:
    if isinstance(value, Call) and isinstance(value.op, GlobalVar):
        return value
    if isinstance(value, Call) and op_of(value) is tensor_math.assemble:
        raise no_copy(value)
    raise EmitError(
        "a statement of an orchestration is a kernel call or an assignment",
        slug="emit-orchestration",
    )
