"""The named orders of passes, and running one of them with its dumps.

Knows which passes exist and in which order they run, not what they do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from importlib import import_module
from typing import Final

from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Program, ScopeStmt
from pypto._src.ir.traversal.queries import has_pipelined_loops, stmts_in
from pypto._src.passes.memory.allocate_memory_addr import AllocateMemoryAddr
from pypto._src.passes.memory.init_mem_ref import InitMemRef
from pypto._src.passes.memory.memory_reuse import MemoryReuse
from pypto._src.passes.memory.memref_assignment import MemoryPass, MemRefAssignment
from pypto._src.passes.pass_base import AnyProgram, Pass
from pypto._src.passes.pipeline import PassPipeline
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.run_verifier import RunVerifier
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.flatten_call_expr import FlattenCallExpr
from pypto._src.passes.sync.insert_sync import InsertSync
from pypto._src.passes.tensors.convert_tensor_to_block_ops import ConvertTensorToBlockOps
from pypto._src.passes.tensors.legalize_tiles import LegalizeTiles
from pypto._src.passes.tensors.outline_incore_scopes import OutlineIncoreScopes
from pypto._src.targets import A2A3, Target
from pypto._src.usage_errors import not_a_program


class PipelineLoops(MemoryPass):
    """Let loop iterations overlap; the implementation is loaded only for pipelined loops."""

    requires = IRPropertySet(IRProperty.SSAForm, IRProperty.TypeChecked, IRProperty.HasMemRefs)

    def __init__(self, target: Target = A2A3) -> None:
        self.target = target

    def go_on(self, given: AnyProgram) -> AnyProgram:
        """Return the program with copies of iterations in place of pipelined loops."""
        assigned = MemRefAssignment.of(given)
        kernels = [
            has_pipelined_loops(each.function.body) and role(each.function) is Role.KERNEL
            for each in assigned.functions
        ]
        if not any(kernels):
            return given
        from pypto._src.passes.memory.pipeline_loops import pipelined

        return assigned.with_functions(
            [
                pipelined(each, self.target) if is_kernel else each
                for each, is_kernel in zip(assigned.functions, kernels, strict=True)
            ]
        )


class OptimizationStrategy(Enum):
    """The pipelines by name."""

    Default = "Default"
    PTOAS = "PTOAS"


_FRONT: Final[tuple[tuple[str, Callable[[], Pass]], ...]] = (
    ("ConvertToSSA", ConvertToSSA),
    ("FlattenCallExpr", FlattenCallExpr),
    ("OutlineIncoreScopes", OutlineIncoreScopes),
    ("ConvertTensorToBlockOps", ConvertTensorToBlockOps),
    ("RunVerifier", RunVerifier),
    ("LegalizeTiles", LegalizeTiles),
    ("InitMemRef", InitMemRef),
    ("PipelineLoops", PipelineLoops),
    ("MemoryReuse", MemoryReuse),
)

PIPELINES: Final[dict[OptimizationStrategy, tuple[tuple[str, Callable[[], Pass]], ...]]] = {
    OptimizationStrategy.Default: (
        *_FRONT,
        ("InsertSync", InsertSync),
        ("AllocateMemoryAddr", AllocateMemoryAddr),
    ),
    # The PTO assembler inserts flags itself.
    OptimizationStrategy.PTOAS: (*_FRONT, ("AllocateMemoryAddr", AllocateMemoryAddr)),
}
"""By strategy, the passes in order with the names that dumps and `get_pass_names` show."""


OPTIONAL: Final[dict[str, str]] = {
    "UnrollLoops": "unroll_loops",
    "Simplify": "simplify",
    "CommonSubexpr": "common_subexpr",
    "LoopInvariantMotion": "loop_invariant_motion",
    "OverlapLoops": "overlap_loops",
    "DeadCode": "dead_code",
}
"""Passes that are in no strategy by default, in an order that suits most programs.

Each with its module in `passes.optimize`, which is imported when the pass is requested.
"""


def optional_pass(name: str) -> Pass:
    """Return the optional pass ``name``, one of `OPTIONAL`.

    Raises:
        ValueError: no optional pass has that name.
    """
    if name not in OPTIONAL:
        raise ValueError(f"there is no optional pass {name!r}; available: {', '.join(OPTIONAL)}")
    module = import_module(f"pypto._src.passes.optimize.{OPTIONAL[name]}")
    return getattr(module, name)()


def with_kernels(program: Program) -> Program:
    """Return ``program`` with a kernel in place of each region; itself where it has none.

    Raises:
        PyptoError: a pass refuses the program.
    """
    stmts = (stmt for function in program.functions_ for stmt in stmts_in(function.body))
    if not any(isinstance(stmt, ScopeStmt) for stmt in stmts):
        return program
    return _up_to("OutlineIncoreScopes", program)


def with_outputs(program: Program) -> Program:
    """Return ``program`` with all kernels; each has a parameter for every tensor that it writes.

    Raises:
        PyptoError: a pass refuses the program.
    """
    return _up_to("ConvertTensorToBlockOps", program)


def _up_to(last: str, program: Program) -> Program:
    for name, make in _FRONT:
        program = make()(program)
        if name == last:
            break
    return program


class PassManager:
    """The passes of one strategy, ready to run.

    ``optional`` come right before RunVerifier, in their order: names of `OPTIONAL`, or passes.
    """

    def __init__(
        self,
        strategy: OptimizationStrategy = OptimizationStrategy.Default,
        optional: Sequence[str | Pass] = (),
    ) -> None:
        if strategy not in PIPELINES:
            names = ", ".join(str(known) for known in PIPELINES)
            raise ValueError(f"strategy is {strategy!r}; it is one of {names}")
        self.strategy = strategy
        named = [(name, make()) for name, make in PIPELINES[strategy]]
        index = next(i for i, (name, _) in enumerate(named) if name == "RunVerifier")
        wanted = [_optional(each) for each in optional]
        named[index:index] = wanted
        stages = max((pass_.stages for _, pass_ in wanted), default=1)
        if stages > 1:  # OutlineIncoreScopes moves loops of regions to the host
            outline = next(i for i, (name, _) in enumerate(named) if name == "OutlineIncoreScopes")
            named[outline] = ("OutlineIncoreScopes", OutlineIncoreScopes(stages))
        self.pass_names: list[str] = [name for name, _ in named]
        self.passes: list[Pass] = [pass_ for _, pass_ in named]

    @classmethod
    def get_strategy(
        cls,
        strategy: OptimizationStrategy = OptimizationStrategy.Default,
        optional: Sequence[str | Pass] = (),
    ) -> PassManager:
        """Return the manager of ``strategy``; see the class for ``optional``.

        Raises:
            ValueError: there is no such strategy, or no optional pass of that name.
        """
        return cls(strategy, optional)

    def get_pass_names(self) -> list[str]:
        """Return the names of the passes in order."""
        return list(self.pass_names)

    def run_passes(
        self,
        input_ir: Program,
        dump_ir: bool = False,
        output_dir: str | os.PathLike[str] | None = None,
        prefix: str = "pl",
    ) -> Program:
        """Return ``input_ir`` after all passes, verified after each of them.

        With ``dump_ir`` the program is written to ``output_dir`` as ``00_frontend.py``, and after
        each pass, before it is verified, as ``NN_after_<PassName>.py``.

        Raises:
            ValueError: ``dump_ir`` without ``output_dir``.
            PyptoError: what a pass or the verifier reports about the program.
        """
        if not isinstance(input_ir, Program):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise not_a_program(input_ir, "run_passes", sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        pipeline = PassPipeline(self.passes)
        if not dump_ir:
            return pipeline.run(input_ir)
        if output_dir is None:
            raise ValueError("dump_ir=True needs output_dir, the folder for the dumps")
        dump = _Dump(output_dir, prefix)
        dump.write("frontend", input_ir)
        names = iter(self.pass_names)
        return pipeline.run(
            input_ir, lambda _, program: dump.write(f"after_{next(names)}", program)
        )


def _optional(given: str | Pass) -> tuple[str, Pass]:
    made = optional_pass(given) if isinstance(given, str) else given
    return made.get_name(), made


class _Dump:
    """Numbered files of one folder. A reader sees a whole file or none."""

    def __init__(self, folder: str | os.PathLike[str], prefix: str) -> None:
        from pypto._src.output_folder import OutputFolder

        self._folder = OutputFolder(folder)
        self._prefix = prefix
        self._number = 0

    def write(self, what: str, program: Program) -> None:
        name = f"{self._number:02}_{what}.py"
        self._number += 1
        from pypto._src.ir.text.printer import python_print

        self._folder.write({name: python_print(program, self._prefix) + "\n"})
