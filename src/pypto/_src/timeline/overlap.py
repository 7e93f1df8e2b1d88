"""Which kernels become faster if iterations of their loops overlap, as simulated."""

from __future__ import annotations

from typing import Final

from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.errors import PyptoError
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Program
from pypto._src.passes.optimize.overlap_loops import OverlapLoops
from pypto._src.passes.pass_manager import PassManager
from pypto._src.run.arguments.signature import Signature
from pypto._src.timeline.simulate import KernelSimulator

STAGES: Final = 2
"""How many iterations overlap by default: one is loaded while the other is worked on."""


def worthwhile(
    program: Program, stages: int = STAGES, model: CostModel | None = None
) -> OverlapLoops:
    """Return the pass that overlaps loops in those kernels of a program that it makes faster.

    A kernel is judged by two calls on an idle chip: one that loads its operands from memory, and
    one that finds them in the cache, like results of other kernels. With loads from memory alone,
    which then take all the time, nothing would seem to be gained. A kernel whose time depends on
    arguments, numbers or sizes that only a call knows is not judged: its loops overlap.
    """
    judge = model or CostModel(load_table("a2a3"))
    before = PassManager().run_passes(program)
    after = PassManager(optional=[OverlapLoops(stages)]).run_passes(program)
    slower: list[str] = []
    for function in before.functions_:
        if role(function) is Role.KERNEL:
            plain, overlapped = (_cycles(each, function.name, judge) for each in (before, after))
            if plain is not None and overlapped is not None and overlapped >= plain:
                slower.append(function.name)
    return OverlapLoops(stages, slower)


def _cycles(program: Program, name: str, model: CostModel) -> float | None:
    """Return how long two calls of a kernel take, None if that depends on its arguments."""
    function = program.get_function(name)
    assert function is not None
    for param in function.params:
        if not isinstance(param.type, TensorType) or static_shape(param.type) is None:
            return None
    simulator = KernelSimulator(program, model)
    values = Signature(function, [False] * len(function.params)).random(0, {})
    try:
        for _ in range(2):
            simulator.call(name, list(values.values()))
    except PyptoError:
        return None
    return sum([call.cycles for call in simulator.calls])
