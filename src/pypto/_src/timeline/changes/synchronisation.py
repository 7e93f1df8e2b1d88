"""Flags and barriers by the kernel's author that nothing needs.

Only what the checker calls superfluous is removed: the kernel without it has no new finding.
"""

from __future__ import annotations

from collections.abc import Iterator

from pypto._src.analysis.accesses import SYNC_OPS
from pypto._src.analysis.stmt_tree import call_of
from pypto._src.diagnostics import Span
from pypto._src.emit.writer import source_comment
from pypto._src.ir.exprs import ConstInt
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import EvalStmt, Function, Program, Stmt
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.timeline.changes.change import Change, ChangePass, source_line


def changes(kernel: Function) -> Iterator[Change]:
    """Yield, for each barrier and for each flag, the kernel without it."""
    flags: dict[tuple[int, ...], list[Span]] = {}
    for stmt in stmts_in(kernel.body):
        call = call_of(stmt)
        if call is None or call.op not in SYNC_OPS:
            continue
        numbers = [v.value if isinstance(v, ConstInt) else v for v in call.kwargs.values()]
        if numbers:
            flags.setdefault(tuple(map(int, numbers)), []).append(stmt.span)
        else:
            yield _without(kernel, (stmt.span,), "barrier")
    for spans in flags.values():
        yield _without(kernel, tuple(spans), "flag")


def _without(kernel: Function, spans: tuple[Span, ...], what: str) -> Change:
    lines = ", ".join(f"{source_line(span) or what} in {source_comment(span)}" for span in spans)
    return Change(
        "flag that costs the most",
        kernel.name,
        spans,
        f"the {what} orders nothing that is not ordered without it (pypto check)",
        f"remove {lines}",
        (WithoutSync(kernel.name, spans),),
        needs_check=True,
    )


class WithoutSync(ChangePass):
    """A kernel without these flags or barriers."""

    def __init__(self, kernel: str, spans: tuple[Span, ...]) -> None:
        super().__init__(kernel)
        self.spans = spans

    def run(self, program: Program) -> Program:
        """Return the program without them."""
        return map_functions(
            program, lambda f: _Remover(self.spans).function(f) if f.name == self.kernel else f
        )


class _Remover(Mutator):
    def __init__(self, spans: tuple[Span, ...]) -> None:
        super().__init__()
        self._spans = spans

    def visit_EvalStmt(self, stmt: EvalStmt) -> Stmt | list[Stmt]:
        op = op_of(stmt.expr)
        if op in SYNC_OPS and any(stmt.span is span for span in self._spans):
            return []
        return stmt
