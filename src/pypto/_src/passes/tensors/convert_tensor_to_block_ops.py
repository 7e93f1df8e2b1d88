"""ConvertTensorToBlockOps: in kernels, ops on whole tensors become loops over tiles.

    y = pl.tensor.exp(x)      x_tile = pl.block.load(x, [0, 0], [64, 128])
    return y             ->   y_tile = pl.block.exp(x_tile)
                              out_0_1 = pl.block.store(y_tile, [0, 0], [64, 128], out_0)
                              return out_0_1

A tensor that a kernel returns but does not get becomes an Out parameter ``out_<N>``; a temporary,
a parameter ``tmp_<N>``. Callers create both.

The rewriting is in `tensor_kernels`, which is loaded only for programs that need it.
"""

from __future__ import annotations

from typing import Final

from pypto._src.ir.exprs import Call
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.queries import ops_called
from pypto._src.ops import tensor
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.verification import NOTHING_KNOWN, PassFacts

_P: Final = IRProperty


class ConvertTensorToBlockOps(Pass):
    """Replace ops on whole tensors in kernels by loads, ops on tiles, and stores."""

    requires = IRPropertySet(_P.SplitIncoreOrch)
    produces = IRPropertySet(_P.IncoreBlockOps)

    def run(self, program: Program) -> Program:
        """Return the program with kernels of block ops; itself if no kernel has tensor ops.

        Raises:
            PassError: a kernel does something that tiles cannot do, or both matrix and vector work.
            MemoryPlanError: no tile of the tensors fits the on-chip memory.
        """
        return self.transform(program, NOTHING_KNOWN)

    def transform(self, program: Program, facts: PassFacts) -> Program:
        """Do what `run` does; one call of each form shows whether a kernel has tensor ops."""
        kernels = [f for f in program.functions_ if role(f) is Role.KERNEL]
        found = [kernel for kernel in kernels if _has_tensor_ops(kernel, facts)]
        if not found:
            return program
        from pypto._src.passes.tensors.tensor_kernels import with_block_ops

        return with_block_ops(program, found)


@pass_factory
def convert_tensor_to_block_ops() -> Pass:
    """Return the pass that turns ops on tensors into ops on tiles, in kernels."""
    return ConvertTensorToBlockOps()


def _has_tensor_ops(function: Function, facts: PassFacts) -> bool:
    flat = facts.claims(_P.NoNestedCalls)
    called = ops_called(facts.representative_statements(function), flat=flat)
    return any(_is_work(call) for call in called.values())


def _is_work(call: Call) -> bool:
    """True for a tensor op that kernels cannot execute directly."""
    op = op_of(call)
    if op is None or op.level != "tensor":
        return False
    from pypto._src.ops import tensor_math
    from pypto._src.ops.conversion import core_of

    return core_of(call) is not None or op is tensor_math.assemble or op is tensor.create
