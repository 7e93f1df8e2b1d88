"""ConvertToSSA: every definition gets its own variable.

The pass is thin: calls between kernels are expanded in `inline_calls`, jumps become conditions in
`ir.ssa_jumps`, and the form itself, which the IRBuilder completes too, is made in `ir.ssa`.
"""

from __future__ import annotations

from typing import Final

from pypto._src.ir.ssa import to_ssa
from pypto._src.ir.ssa_jumps import lower_jumps
from pypto._src.ir.stmts import Program
from pypto._src.passes.base import IRProperty, IRPropertySet, Pass
from pypto._src.passes.inline_calls import inline_kernel_calls

_P: Final = IRProperty


class ConvertToSSA(Pass):
    """Variables assigned many times -> every variable assigned once.

    Before that, calls between kernels are expanded and ``break``, ``continue`` and early
    ``return`` become conditions; neither exists after the pass.
    """

    requires = IRPropertySet(_P.TypeChecked)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program in SSA form.

        Raises:
            PassError: a variable is read without being assigned on every way there, changes its
                type from one way to another, or a kernel calls itself.
        """
        program = inline_kernel_calls(lower_jumps(program))
        new = [to_ssa(function) for function in program.functions_]
        if all(a is b for a, b in zip(program.functions_, new, strict=True)):
            return program
        return program.with_functions(new)


def convert_to_ssa() -> Pass:
    """Return the pass that gives every definition its own variable."""
    return ConvertToSSA()
