"""Which functions run on the host and which on a core."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Any, Final

from pypto._src.errors import EmitError
from pypto._src.ir.enums import CoreType, FunctionType, PipeType
from pypto._src.ir.exprs import Call, GlobalVar, Op
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, Program, ScopeStmt, Stmt
from pypto._src.ir.traversal.queries import calls_in, calls_of, functions_called, is_flat, stmts_in
from pypto._src.ir.traversal.walk import children


class Role(Enum):
    """Where a function runs."""

    HOST = "host"
    KERNEL = "kernel"


def role(function: Function) -> Role:
    """Return where ``function`` runs.

    Orchestration functions are host, InCore ones kernels. An Opaque function is a kernel if it
    uses block ops itself, else host: scalars, tensor reads and calls of other functions. The
    contents of its InCore scopes do not count: OutlineIncoreScopes makes kernels of them.
    """
    marked = _MARKED.get(function.func_type)
    if marked is not None:
        return marked
    stack: list[Stmt] = [function.body]
    while stack:
        stmt = stack.pop()
        for call in calls_of(stmt):
            op = op_of(call)
            if op is not None and op.level == "block":
                return Role.KERNEL
        if not isinstance(stmt, ScopeStmt):
            stack += [child for child in children(stmt) if isinstance(child, Stmt)]
    return Role.HOST


_MARKED: Final = {FunctionType.Orchestration: Role.HOST, FunctionType.InCore: Role.KERNEL}


def kernels(program: Program) -> tuple[Function, ...]:
    """Return the kernel functions in name order."""
    return tuple(f for f in program.functions_ if role(f) is Role.KERNEL)


def sends_signals(body: Stmt, functions: Collection[str] = ()) -> bool:
    """True if statements send signals to other ranks or wait for them, or call ``functions``."""
    for call in calls_in(body):
        op = op_of(call)
        if op is not None and op.level == "system" and op.writes:
            return True
        if isinstance(call.op, GlobalVar) and call.op.name in functions:
            return True
    return False


def uncalled(program: Program) -> tuple[Function, ...]:
    """Return the functions that no other function of the program calls."""
    called = {name for function in program.functions_ for name in functions_called(function)}
    return tuple([f for f in program.functions_ if f.name not in called])


def outermost(program: Program) -> tuple[Function, ...]:
    """Return the orchestrations that no other function of the program calls.

    Those are Orchestration functions or, without one, other host functions that launch kernels.
    """
    found = uncalled(program)
    marked = [f for f in found if f.func_type is FunctionType.Orchestration]
    return tuple(marked or [f for f in found if _launches(f, program)])


def _launches(function: Function, program: Program) -> bool:
    """Whether a host function calls a kernel, or a host function that does."""
    known = {function.name}
    stack = [function] if role(function) is Role.HOST else []
    while stack:
        for name in functions_called(stack.pop()):
            callee = program.get_function(name)
            if callee is None or name in known:
                continue
            if role(callee) is Role.KERNEL:
                return True
            known.add(name)
            stack.append(callee)
    return False


def core_type(function: Function) -> CoreType:
    """Return the core that a kernel needs: CUBE if it uses the M or MTE1 pipe, else VECTOR.

    Raises:
        EmitError: the kernel has both matrix and vector work, which no single core can do.
    """
    found = _core_types(function)
    if len(found) > 1:
        raise EmitError(
            f"kernel {function.name!r} mixes matrix and vector work, which no single core does",
            function.span,
            hint="end the region between the two, and begin another one: with pl.at(...)",
            slug="mixed-kernel",
        )
    return min(found, default=CoreType.VECTOR)


def native_core_type(function: Function) -> CoreType:
    """Return the core type that a kernel runs as natively: CUBE if it has both kinds of work."""
    return min(_core_types(function), default=CoreType.VECTOR)


def _core_types(function: Function) -> set[CoreType]:
    """Return the kinds of cores that a kernel has work for."""
    pipes: set[PipeType | None] = set()
    known: set[Op] = set()  # the ops that have one pipe or none, whatever the call
    stmts: Any = stmts_in(function.body)
    for stmt in stmts:
        cls = stmt.__class__
        value: Any = stmt.value if cls is AssignStmt else stmt.expr if cls is EvalStmt else None
        is_alone = value.__class__ is Call and (not value.args or is_flat(value))
        for call in (value,) if is_alone else calls_of(stmt):
            op = call.op
            if op in known:
                continue
            form = op_of(call)
            if form is None:
                continue
            pipes.add(form.pipe_of(call))
            if form is op and (form.pipe is not None or form.pipe_rule is None):
                known.add(op)
    found: set[CoreType] = set()
    if pipes & {PipeType.M, PipeType.MTE1, PipeType.FIX}:
        found.add(CoreType.CUBE)
    if PipeType.V in pipes:
        found.add(CoreType.VECTOR)
    return found
