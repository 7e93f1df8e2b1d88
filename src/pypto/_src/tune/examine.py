"""What is found out about one candidate: whether it is legal, its memory use, how long it takes.

Takes and returns plain data, so that another process can run it (`worker`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import CostTable, load_table, table_of
from pypto._src.diagnostics import DiagnosticSeverity
from pypto._src.driver import entry_function, pass_manager
from pypto._src.errors import PyptoError
from pypto._src.ir.stmts import Program
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.logs import unlogged
from pypto._src.ops.serialized import deserialize
from pypto._src.passes.memory.memory_plan import MemoryPlan
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto._src.passes.sync.checker import check_sync
from pypto._src.run.arguments.signature import Signature
from pypto._src.timeline.least import lower_bound_cycles
from pypto._src.timeline.profile import KernelProfile, Profile, ProgramSimulator
from pypto._src.timeline.simulate import TooSlowError

_KEPT: Final = 256
"""How many programs after the passes are kept to be simulated."""

_lowered: OrderedDict[tuple[bytes, bool], Program] = OrderedDict()


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a request asks for: ``examine`` or ``simulate`` a program.

    A program that is refused is not a failure: ``refused`` has the reason.
    """
    try:
        with unlogged():  # nobody wants the log of a thousand candidates
            return _examine(request) if request["ask"] == "examine" else _simulate(request)
    except PyptoError as error:
        return {"refused": error.message.splitlines()[0], "slug": error.slug}
    except RecursionError:
        return {"refused": "the program nests too deeply", "slug": "too-deep"}


def _examine(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bytes used of each on-chip memory, and how long a run takes at least.

    Raises:
        PyptoError: the program is not legal.
    """
    program = _after_passes(request["program"], overlap=request["overlap"])
    for finding in with_room(lambda: check_sync(program), program):
        if finding.severity is DiagnosticSeverity.Error:
            return {"refused": finding.message.splitlines()[0], "slug": "sync"}
    memory: dict[str, int] = {}
    for kernel in MemoryPlan.of(program).kernels:
        for plan in kernel.spaces:
            if not plan.fits:
                what = f"{plan.space.name} overflows: {plan.height} of {plan.usable} bytes"
                return {"refused": what, "slug": "memory"}
            memory[plan.space.name] = max(memory.get(plan.space.name, 0), plan.height)
    model = CostModel(_table(request["costs"]))
    entry = entry_function(program, request["entry"])
    least = with_room(lambda: lower_bound_cycles(program, entry, model, request["sizes"]), program)
    return {"memory": memory, "estimate": least}


def _simulate(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how long a run takes, and why; ``above`` if it takes longer than the limit.

    Raises:
        PyptoError: the program cannot be run on random arguments.
    """
    program = _after_passes(request["program"], overlap=request["overlap"])
    model = CostModel(_table(request["costs"]))
    simulator = ProgramSimulator(program, model, request["limit"])
    function = entry_function(program, request["entry"])
    signature = Signature(function, [False] * len(function.params))
    args = list(signature.random(0, request["sizes"]).values())
    try:
        with_room(lambda: simulator.call(function.name, args), program)
    except TooSlowError as error:
        return {"above": error.cycles}
    assert simulator.profile is not None
    return _as_data(simulator.profile)


def _as_data(profile: Profile) -> dict[str, Any]:
    """Return the parts of a profile that tell why it takes so long."""
    slowest = max(profile.kernels, key=_cycles, default=None)
    busy: dict[str, float] = {}
    if slowest is not None and slowest.cycles:
        busy = {pipe.name: cycles / slowest.cycles for pipe, cycles in slowest.busy.items()}
    bound = profile.bounds[0] if profile.bounds else None
    return {
        "cycles": profile.cycles,
        "launch": profile.launch,
        "us": profile.us,
        "tasks": sum(kernel.calls for kernel in profile.kernels),
        "bound": bound.name if bound is not None else "",
        "bound_share": bound.cycles / profile.cycles if bound is not None else 0.0,
        "busy": busy,
    }


def _cycles(kernel: KernelProfile) -> float:
    return kernel.cycles


def _after_passes(data: bytes, *, overlap: bool) -> Program:
    key = data, overlap
    known = _lowered.get(key)
    if known is None:
        program = deserialize(data)
        assert isinstance(program, Program)
        manager = pass_manager(program, OptimizationStrategy.Default, overlap=overlap)
        known = _lowered[key] = manager.run_passes(program)
        if len(_lowered) > _KEPT:
            _lowered.popitem(last=False)
    return known


@cache
def _table(text: str) -> CostTable:
    """Return the cost table in a text; PyPTO's own for an empty text."""
    return table_of(text, "costs") if text else load_table("a2a3")
