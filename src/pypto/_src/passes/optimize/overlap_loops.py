"""OverlapLoops: loops of kernels that load and compute get several stages.

It does what a user does by writing ``pl.pipeline(..., stage=2)`` for ``pl.range``; PipelineLoops
later makes the copies that overlap, as far as they fit into memory. Loops that already have stages
stay, and so do kernels with explicit flags, whose authors have pipelined by hand.

When it runs, loops of regions with work for both kinds of cores are no longer in kernels. A
`PassManager` that has this pass makes OutlineIncoreScopes give them as many stages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from pypto._src.analysis.accesses import SYNC_OPS
from pypto._src.analysis.purity import trips
from pypto._src.analysis.stmt_tree import call_of
from pypto._src.ir.enums import PipeType
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import (
    ForStmt,
    Function,
    IfStmt,
    Program,
    ScopeStmt,
    Stmt,
    WhileStmt,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.usage_errors import check_kind, users_frame

_P: Final = IRProperty

_FEEDING: Final = frozenset({PipeType.MTE1, PipeType.MTE2})
"""The pipes that load operands; work that overlaps with them is worth a second buffer."""


class OverlapLoops(Pass):
    """``for i in pl.range(n)``  ->  ``for i in pl.pipeline(n, stage=2)``, where pipes can overlap.

    Loops of the kernels named in ``without`` stay.
    """

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)

    def __init__(self, stages: int = 2, without: Collection[str] = ()) -> None:
        check_kind("stages", stages, int, "stages=2", users_frame())
        if stages < 1:
            raise ValueError(f"stages is {stages}, wanted 1 or more")
        self.stages = stages
        self.without = frozenset(without)

    def run(self, program: Program) -> Program:
        """Return the program with stages on its loops."""
        return map_functions(program, self._function)

    def _function(self, function: Function) -> Function:
        if role(function) is not Role.KERNEL or function.name in self.without:
            return function
        calls = map(call_of, stmts_in(function.body))
        if any(call is not None and call.op in SYNC_OPS for call in calls):
            return function
        return _Marker(self.stages).function(function)


@pass_factory
def overlap_loops(stages: int = 2) -> Pass:
    """Return the pass that lets iterations of loops overlap; see `OverlapLoops`."""
    return OverlapLoops(stages)


class _Marker(Mutator):
    def __init__(self, stages: int) -> None:
        super().__init__()
        self._stages = stages

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt:
        loop: ForStmt = self.rebuild(stmt)
        if loop.stages > 1 or not can_overlap(loop):
            return loop
        return copy_with(loop, {"stages": self._stages})


def can_overlap(loop: ForStmt) -> bool:
    """True if a loop may run again, and its body uses several pipes, one of them for loads."""
    if trips(loop) in (0, 1):
        return False
    pipes = set(_pipes(loop.body))
    return len(pipes) > 1 and not pipes.isdisjoint(_FEEDING)


def _pipes(body: Stmt | None) -> Iterator[PipeType]:
    """Yield the pipes of a body's instructions, except those in loops inside it."""
    for stmt in statements(body):
        match stmt:
            case IfStmt():
                yield from _pipes(stmt.then_body)
                yield from _pipes(stmt.else_body)
            case ScopeStmt():
                yield from _pipes(stmt.body)
            case ForStmt() | WhileStmt():
                pass
            case _:
                call = call_of(stmt)
                op = None if call is None else op_of(call)
                pipe = None if call is None or op is None else op.pipe_of(call)
                if pipe is not None and pipe is not PipeType.S:
                    yield pipe
