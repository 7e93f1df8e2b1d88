"""UnrollLoops: short loops with constant bounds become straight code, long ones take larger steps.

Each copy of a body has its own variables, named after those of the loop. Parallel loops stay: their
iterations are tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from pypto._src.analysis.purity import trips
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.enums import ForKind
from pypto._src.ir.exprs import Add, ConstInt, Expr, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.stmts import (
    ForStmt,
    Function,
    Program,
    Stmt,
    YieldStmt,
    seq,
)
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import stmts_in, variable_names
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.structure.copied_iterations import can_copy_iterations, copied_iteration
from pypto._src.usage_errors import check_kind, users_frame

_P: Final = IRProperty


class UnrollLoops(Pass):
    """``for i in range(2): f(i)``  ->  ``f(0); f(1)``.

    Loops of up to ``whole`` iterations are unrolled whole; of the others, if ``factor`` is above 1
    and divides the number of iterations, every ``factor`` iterations become one. No loop grows
    beyond ``most`` statements.
    """

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def __init__(self, whole: int = 4, factor: int = 1, most: int = 1024) -> None:
        for word, value in (("whole", whole), ("factor", factor), ("most", most)):
            check_kind(word, value, int, f"{word}=4", users_frame())
        if whole < 0 or factor < 1 or most < 1:
            raise ValueError(
                f"whole={whole}, factor={factor}, most={most}: wanted whole >= 0 and the others > 0"
            )
        self.whole = whole
        self.factor = factor
        self.most = most

    def run(self, program: Program) -> Program:
        """Return the program with fewer iterations of its loops."""
        return map_functions(program, lambda f: _Unroller(self, f).function(f))


@pass_factory
def unroll_loops(whole: int = 4, factor: int = 1, most: int = 1024) -> Pass:
    """Return the pass that unrolls loops; see `UnrollLoops`."""
    return UnrollLoops(whole, factor, most)


class _Unroller(Mutator):
    """Unrolls inner loops first; ``values`` are the results of unrolled loops."""

    def __init__(self, options: UnrollLoops, function: Function) -> None:
        super().__init__()
        self._options = options
        self._function = function
        self._values: dict[Var, Expr] = {}

    @cached_property
    def _names(self) -> FreshNames:
        return FreshNames(variable_names(self._function))

    def visit_Var(self, var: Var) -> Expr:
        return self._values.get(var, var)

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt | list[Stmt]:
        loop: ForStmt = self.rebuild(stmt)
        iterations = trips(loop)
        if iterations is None or loop.kind is ForKind.Parallel or not can_copy_iterations(loop):
            return loop
        options = self._options
        size = sum(1 for _ in stmts_in(loop.body))
        if iterations <= options.whole and iterations * size <= options.most:
            return self._whole(loop)
        factor = options.factor
        if (
            factor > 1
            and iterations > factor
            and iterations % factor == 0
            and factor * size <= options.most
        ):
            return self._partly(loop, factor)
        return loop

    def _whole(self, loop: ForStmt) -> list[Stmt]:
        values: Sequence[Expr] = [arg.initValue for arg in loop.iter_args]
        out: list[Stmt] = []
        for index in _indices(loop):
            body, values = copied_iteration(loop, index, values, self._names)
            out += body
        for var, value in zip(loop.return_vars, values, strict=True):
            self._values[var] = value
        return out

    def _partly(self, loop: ForStmt, factor: int) -> Stmt:
        assert isinstance(loop.step, ConstInt)
        step, dtype = loop.step.value, dtype_of(loop.loop_var)
        values: Sequence[Expr] = loop.iter_args
        out: list[Stmt] = []
        for iteration in range(factor):
            index: Expr = loop.loop_var
            if iteration:
                index = Add(loop.loop_var, ConstInt(iteration * step, dtype), dtype, loop.span)
            body, values = copied_iteration(loop, index, values, self._names)
            out += body
        if values:
            out.append(YieldStmt(values, loop.span))
        wide = ConstInt(step * factor, dtype_of(loop.step), loop.step.span)
        return copy_with(loop, {"step": wide, "body": seq(out, loop.body.span)})


def _indices(loop: ForStmt) -> list[ConstInt]:
    assert isinstance(loop.start, ConstInt)
    assert isinstance(loop.stop, ConstInt)
    assert isinstance(loop.step, ConstInt)
    dtype = dtype_of(loop.loop_var)
    iterations = range(loop.start.value, loop.stop.value, loop.step.value)
    return [ConstInt(value, dtype, loop.span) for value in iterations]
