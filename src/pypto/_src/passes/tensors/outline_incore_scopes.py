"""OutlineIncoreScopes: the body of ``with pl.incore()`` becomes a kernel, the statement a call.

    with pl.incore():                      y = self.main_incore_0(n, out, x)
        t = pl.tensor.mul(x, n)      ->    # def main_incore_0(n, out: InOut, x): t = ...; y = ...
        y = pl.tensor.assemble(out, t, [0, 0])

The rewriting is in `outlined_scopes`, which is loaded only for programs with scopes.
"""

from __future__ import annotations

from operator import is_
from typing import Final

from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.stmts import Function, Program, ScopeStmt
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet

_P: Final = IRProperty


class OutlineIncoreScopes(Pass):
    """Make each ``with pl.incore()`` of a host function a kernel, and call it there.

    Loops with work for matrix and vector cores may have at least ``stages`` iterations in flight.
    """

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    produces = IRPropertySet(_P.SplitIncoreOrch)

    def __init__(self, stages: int = 1) -> None:
        self.stages = stages

    def run(self, program: Program) -> Program:
        """Return the program without scopes in host functions; itself if there are none.

        Raises:
            PassError: a scope's result is neither a tensor nor a value that the host can compute.
        """
        if not any(ScopeStmt in map(type, stmts_in(f.body)) for f in program.functions_):
            return program
        from pypto._src.passes.tensors.outlined_scopes import outlined

        names = FreshNames(function.name for function in program.functions_)
        out: list[Function] = []
        for function in program.functions_:
            out += outlined(function, names, self.stages)
        if len(out) == len(program.functions_) and all(map(is_, out, program.functions_)):
            return program
        from pypto._src.passes.structure.inline_calls import inline_kernel_calls

        return inline_kernel_calls(program.with_functions(out))


@pass_factory
def outline_incore_scopes() -> Pass:
    """Return the pass that outlines ``with pl.incore()`` into kernels."""
    return OutlineIncoreScopes()
