"""Serialised load and compute: iterations of a loop that could overlap."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pypto._src.analysis.accesses import SYNC_OPS
from pypto._src.analysis.stmt_tree import call_of
from pypto._src.diagnostics import Span
from pypto._src.ir.stmts import ForStmt, Function, Program, Stmt
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.passes.optimize.overlap_loops import can_overlap
from pypto._src.timeline.changes.change import Change, ChangePass, source_line

_MOST: Final = 4
"""The largest number of stages that is tried."""


def changes(kernel: Function) -> Iterator[Change]:
    """Yield, for each loop whose iterations can overlap, numbers of stages that may be worth it."""
    if any(
        call is not None and call.op in SYNC_OPS for call in map(call_of, stmts_in(kernel.body))
    ):
        return  # its author orders the pipes
    for loop in stmts_in(kernel.body):
        if isinstance(loop, ForStmt) and can_overlap(loop):
            for stages in range(max(loop.stages + 1, 2), _MOST + 1):
                yield Change(
                    "serialised load and compute",
                    kernel.name,
                    (loop.span,),
                    "loads, work and stores of one iteration wait for those of another, "
                    "as they use the same tiles",
                    _advice(loop.span, stages),
                    (Stages(kernel.name, loop.span, stages),),
                    subject=("stages", loop.span),
                )


def _advice(span: Span, stages: int) -> str:
    line = source_line(span)
    found = re.search(r"\b(range|pipeline)\((.*)\)\s*:", line)
    if found is None:
        return "--overlap, or overlap=True of runtime.compile: the compiler made this loop"
    words = re.sub(r",\s*stage\s*=\s*\d+", "", found[2])
    return f"pl.pipeline({words}, stage={stages}) in place of pl.{found[0].rstrip(': ')}"


class Stages(ChangePass):
    """``for i in pl.range(n)``  ->  ``for i in pl.pipeline(n, stage=N)``, for one loop."""

    def __init__(self, kernel: str, span: Span, stages: int) -> None:
        super().__init__(kernel)
        self.span = span
        self.stages = stages

    def run(self, program: Program) -> Program:
        """Return the program with stages on that loop."""
        return map_functions(
            program, lambda f: _Marker(self).function(f) if f.name == self.kernel else f
        )


class _Marker(Mutator):
    def __init__(self, wanted: Stages) -> None:
        super().__init__()
        self._wanted = wanted

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt:
        loop: ForStmt = self.rebuild(stmt)
        if loop.span is not self._wanted.span or not can_overlap(loop):
            return loop
        return copy_with(loop, {"stages": self._wanted.stages})
