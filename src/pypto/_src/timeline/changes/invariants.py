"""Redundant loads: tiles that each iteration loads again, or that were loaded before."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pypto._src.analysis.purity import has_effect, is_repeatable
from pypto._src.analysis.stmt_tree import call_of
from pypto._src.diagnostics import Span
from pypto._src.emit.writer import source_comment
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import PipeType
from pypto._src.ir.exprs import Call, Expr, GlobalVar, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import ForStmt, Function, Program, Stmt, WhileStmt
from pypto._src.ir.traversal.mutator import map_functions
from pypto._src.ir.traversal.queries import calls_in, stmts_in, uses
from pypto._src.passes.optimize.common_subexpr import CommonSubexpr
from pypto._src.passes.optimize.loop_invariant_motion import InvariantMover
from pypto._src.timeline.changes.change import (
    Change,
    ChangePass,
    InKernel,
    tensor_origins,
)

_TRANSFERS = frozenset({PipeType.MTE1, PipeType.MTE2})


def changes(program: Program, kernel: Function) -> Iterator[Change]:
    """Yield the change that hoists loads out of loops, and the one that removes repeated loads."""
    before = _loads(kernel)
    moved_out = Hoisted(kernel.name)
    after = _loads(_kernel(moved_out.run(program), kernel.name))
    moved = tuple(span for span, depth in before.items() if after.get(span, depth) < depth)
    if moved:
        yield Change(
            "redundant load",
            kernel.name,
            moved,
            "each iteration of the loop loads the same",
            f"move {_listed(moved)} in front of the loop, with what only depends on that",
            (moved_out,),
            keeps_values=False,
        )
    once = InKernel(CommonSubexpr(), kernel.name)
    after = _loads(_kernel(once.run(program), kernel.name))
    gone = tuple(span for span in before if span not in after)
    if gone:
        yield Change(
            "redundant load",
            kernel.name,
            gone,
            "the same was loaded before and is still there",
            f"in place of {_listed(gone)}, use the tile that was loaded first",
            (once,),
            keeps_values=False,
        )


def _kernel(program: Program, name: str) -> Function:
    found = program.get_function(name)
    assert found is not None
    return found


def _listed(spans: tuple[Span, ...]) -> str:
    lines = dict.fromkeys(source_comment(span) or "?" for span in spans)
    return f"the load{'s' if len(lines) > 1 else ''} in {', '.join(lines)}"


def _loads(kernel: Function) -> Mapping[Span, int]:
    """Return the number of loops around each load from memory, by the span of the load."""
    found: dict[Span, int] = {}
    depth: dict[Stmt, int] = {}
    for stmt in stmts_in(kernel.body):
        inside = depth.get(stmt, 0)
        if isinstance(stmt, ForStmt | WhileStmt):
            for inner in stmts_in(stmt.body):
                depth[inner] = depth.get(inner, 0) + 1
        call = call_of(stmt)
        op = None if call is None else op_of(call)
        if call is not None and op is not None and op.pipe_of(call) is PipeType.MTE2:
            found[call.span] = inside
    return found


class Hoisted(ChangePass):
    """Moves what a loop loads and computes again on every iteration before it; see `Change`.

    It also moves operands of the matrix unit, which LoopInvariantMotion leaves.
    """

    def run(self, program: Program) -> Program:
        """Return the program with loops that load less."""
        kernel = _kernel(program, self.kernel)
        moved = _Mover(kernel, _shared(program, kernel)).function(kernel)
        return map_functions(program, lambda f: moved if f is kernel else f)


def _shared(program: Program, kernel: Function) -> Collection[int]:
    """Return which parameters may share memory with another one in some launch of a kernel."""
    found: set[int] = set()
    for function in program.functions_:
        origins = tensor_origins(function, through_views=True)
        for call in calls_in(function.body):
            if isinstance(call.op, GlobalVar) and call.op.name == kernel.name:
                of_args = [origins.get(arg) if isinstance(arg, Var) else None for arg in call.args]
                for index, origin in enumerate(of_args):
                    if origin is None or of_args.count(origin) > 1:
                        found.add(index)
    return found


class _Mover(InvariantMover):
    def __init__(self, function: Function, shared: Collection[int]) -> None:
        super().__init__(function)
        self._origins = tensor_origins(function)
        self._shared = shared

    def is_worth_moving(self, value: Expr) -> bool:
        """Take operands of the matrix unit, too: nothing changes them."""
        if is_repeatable(value):
            return True
        op = op_of(value)
        if op is None or not isinstance(value, Call) or has_effect(value):
            return False
        return isinstance(value.type, TileType) and op.pipe_of(value) in _TRANSFERS

    def may_change(self, value: Expr, loop: Stmt) -> bool:
        """Look at which tensors are read and written; others do not share memory with them."""
        written = {self._origins.get(var) for call in calls_in(loop) for var in _written(call)}
        read = {self._origins.get(v) for v in uses((value,)) if isinstance(v.type, TensorType)}
        return None in written | read or bool(read & (written | {*self._shared}))


def _written(call: Call) -> Iterator[Var]:
    op = op_of(call)
    for index in () if op is None else sorted(op.writes):
        arg = call.args[index] if index < len(call.args) else None
        if isinstance(arg, Var) and isinstance(arg.type, TensorType):
            yield arg
