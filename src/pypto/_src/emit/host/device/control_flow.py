"""Loops and branches of an orchestration, each a scope of the runtime, and what they return.

Owns the variables that hold a scalar or denote one of several tensors where paths merge. Does not
know what the statements inside do: a callback writes each body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pypto._src.emit.cpp.scalar_exprs import loop_test
from pypto._src.emit.host.device.host_state import Handle, Host
from pypto._src.emit.host.device.types import scalar_type
from pypto._src.emit.host.runtime_api import assign_together
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Expr, IterArg, Var, const_value
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.stmts import ForStmt, IfStmt, Stmt, WhileStmt, yielded


class Flow:
    """Writes loops and branches.

    Args:
        host: The state of the generator.
        write: Writes the statements of a body.
    """

    def __init__(self, host: Host, write: Callable[[Stmt], None]) -> None:
        self._host = host
        self._write = write

    def counted(self, stmt: ForStmt) -> None:
        """Write a counted loop."""
        host = self._host
        host.comment(stmt)
        self._enter(stmt.iter_args)
        name = host.names.register(stmt.loop_var)
        start, stop, step = (host.scalars.text(e, 10) for e in (stmt.start, stmt.stop, stmt.step))
        test = loop_test(name, stop, step, const_value(stmt.step))
        kind = scalar_type(stmt.loop_var)
        header = f"for ({kind} {name} = {start}; {test}; {name} += {step})"
        self._scope(header, stmt.body, stmt.iter_args)
        host.body.emit_line("}")
        self._leave(stmt.iter_args, stmt.return_vars)

    def conditional(self, stmt: WhileStmt) -> None:
        """Write a loop that runs while a condition holds."""
        host = self._host
        host.comment(stmt)
        self._enter(stmt.iter_args)
        self._scope(f"while ({host.scalars.text(stmt.condition)})", stmt.body, stmt.iter_args)
        host.body.emit_line("}")
        self._leave(stmt.iter_args, stmt.return_vars)

    def branch(self, stmt: IfStmt) -> None:
        """Write a branch."""
        host = self._host
        host.comment(stmt)
        for var in stmt.return_vars:
            if not isinstance(var.type, TensorType):
                host.declare_scalar(var)
            elif var in host.choices.chosen:
                self._choice(var, "nullptr")  # each arm sets it
        self._scope(f"if ({host.scalars.text(stmt.condition)})", stmt.then_body, stmt.return_vars)
        if stmt.else_body is not None:
            self._scope("} else", stmt.else_body, stmt.return_vars)
        host.body.emit_line("}")

    def _scope(self, header: str, body: Stmt, targets: Sequence[Var]) -> None:
        """Write ``header { PTO2_SCOPE(rt) { body }``; the body's yields go to ``targets``."""
        host = self._host
        host.body.emit_line(f"{header} {{")
        host.body.increase_indent()
        host.body.emit_line("PTO2_SCOPE(rt) {")
        host.body.increase_indent()
        host.level += 1
        self._write(body)
        host.level -= 1
        self._yield(body, targets)
        host.body.decrease_indent()
        host.body.emit_line("}")
        host.body.decrease_indent()

    def _yield(self, body: Stmt, targets: Sequence[Var]) -> None:
        host = self._host
        values = yielded(body)
        if len(values) != len(targets):
            raise EmitError(f"{len(targets)} values are expected, the body yields {len(values)}")
        pairs: list[tuple[str, str]] = []
        for target, value in zip(targets, values, strict=True):
            if isinstance(target.type, TensorType):
                pairs += self._merged(target, value)
            else:
                pairs.append((host.name(target), host.scalars.text(value)))
        assign_together(
            [(host.types[name], name, text) for name, text in pairs],
            host.names,
            host.body.emit_line,
        )

    def _merged(self, target: Var, value: Expr) -> list[tuple[str, str]]:
        """Return the assignment that makes ``target`` the tensor ``value``, if one is needed."""
        handle = self._host.handle(value)
        known = self._host.handles.setdefault(target, handle)
        if known == handle:
            return []
        if not known.is_choice or handle.level > self._host.level:
            raise EmitError(
                f"{user_name(target)!r} may be one of several tensors, and one of them is created "
                "inside that loop or branch",
                hint="create it before the loop or branch, with pl.create_tensor or pl.view",
                slug="emit-tensor-merge",
            )
        return [(known.address, handle.address)]

    def _choice(self, var: Var, address: str) -> None:
        """Declare a pointer to the tensor that a variable currently denotes.

        It is not a copy, since the runtime allocates a tensor's memory when it is first written.
        """
        host = self._host
        name = host.names.fresh(var.name)
        host.body.emit_line(f"Tensor* {name} = {address};")
        host.types[name] = "Tensor*"
        handles: dict[Any, Handle] = host.handles
        known = [handles[tensor] for tensor in host.choices.all_of(var) if tensor in handles]
        level = max([0, *(handle.level for handle in known)])
        host.handles[var] = Handle(f"(*{name})", level=level, is_choice=True)

    def _enter(self, iter_args: Sequence[IterArg]) -> None:
        host = self._host
        for arg in iter_args:
            if arg in host.choices.chosen:
                self._choice(arg, host.handle(arg.initValue).address)
            elif isinstance(arg.type, TensorType):
                host.handles[arg] = host.handle(arg.initValue)
            else:
                host.declare_scalar(arg, host.scalars.text(arg.initValue))

    def _leave(self, iter_args: Sequence[IterArg], return_vars: Sequence[Var]) -> None:
        host = self._host
        for arg, var in zip(iter_args, return_vars, strict=True):
            if isinstance(arg.type, TensorType):
                host.handles[var] = host.handles[arg]
            else:
                host.names.register(var, host.name(arg))
