"""What is found out about one candidate: whether it is legal, its memory, how long it takes.

Takes and returns data alone, so that it can be asked of another process (`worker`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pypto._src.analysis.purity import trips
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import CostTable, load_table, table_of
from pypto._src.diagnostics import DiagnosticSeverity
from pypto._src.driver import entry_function, pass_manager
from pypto._src.errors import PyptoError
from pypto._src.ir.enums import CoreType, PipeType
from pypto._src.ir.exprs import Call
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, core_type, role
from pypto._src.ir.stmts import ForStmt, Function, Program, Stmt, statements
from pypto._src.ir.traversal.queries import calls_of
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.ir.traversal.walk import BODIES
from pypto._src.logs import unlogged
from pypto._src.ops.serialized import deserialize
from pypto._src.passes.memory.memory_plan import MemoryPlan
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto._src.passes.sync.checker import check_sync
from pypto._src.run.arguments import Signature
from pypto._src.timeline.core import Rates
from pypto._src.timeline.instructions import instruction_of
from pypto._src.timeline.profile import KernelProfile, Profile, ProgramSimulator
from pypto._src.timeline.simulate import TooSlowError

_KEPT: Final = 256
"""So many programs after the passes are kept for their simulation."""

_lowered: OrderedDict[tuple[bytes, bool], Program] = OrderedDict()


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a request asks for: ``examine`` or ``simulate`` a program.

    A program that is refused is no failure: ``refused`` has the reason.
    """
    try:
        with unlogged():  # of a thousand candidates nobody wants to know
            return _examine(request) if request["ask"] == "examine" else _simulate(request)
    except PyptoError as error:
        return {"refused": error.message.splitlines()[0], "slug": error.slug}
    except RecursionError:
        return {"refused": "the program nests too deeply", "slug": "too-deep"}


def _examine(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the on-chip memory that each kind of memory needs, and a first estimate of the time.

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
    return {"memory": memory, "estimate": _estimate(program, request["entry"], model)}


def _simulate(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return how long a run takes, and why; ``above`` if that is longer than the limit.

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
    """Return of a profile what says why it takes so long."""
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
    """Return a table of costs of a text; PyPTO's if there is none."""
    return table_of(text, "costs") if text else load_table("a2a3")


# --------------------------------------------------------------------------------------------
# A first estimate
# --------------------------------------------------------------------------------------------


def _estimate(program: Program, entry: str | None, model: CostModel) -> float:
    """Return how many cycles the busiest pipe is at work in a run, if nothing ever waits.

    Tiles are taken as whole, and loops whose number of iterations only a run knows as one.
    """
    rates = Rates.of(model)
    kernels: dict[str, dict[PipeType, float]] = {}
    total: dict[tuple[bool, PipeType], float] = {}
    cores = {kind: model.machine(f"cores.{'cube' if kind else 'vector'}") for kind in (True, False)}
    pickup = model.machine("pickup.us") * model.machine("clock.mhz")
    hosts: list[tuple[Function, float]] = [(entry_function(program, entry), 1.0)]
    by_name = {function.name: function for function in program.functions_}
    while hosts:
        function, times = hosts.pop()
        if role(function) is Role.KERNEL:
            found = kernels.get(function.name)
            if found is None:
                found = kernels[function.name] = _kernel_work(function, rates, model)
                found[PipeType.S] = found.get(PipeType.S, 0.0) + pickup
            is_cube = core_type(function) is CoreType.CUBE
            for pipe, cycles in found.items():
                total[is_cube, pipe] = total.get((is_cube, pipe), 0.0) + cycles * times
            continue
        for stmt, count in _weighted(function.body):
            for call in calls_of(stmt):
                callee = by_name.get(call.op.name)
                if callee is not None and op_of(call) is None:
                    hosts.append((callee, times * count))
    return max((cycles / cores[kind] for (kind, _), cycles in total.items()), default=0.0)


def _kernel_work(function: Function, rates: Rates, model: CostModel) -> dict[PipeType, float]:
    """Return for how long each pipe is at work in a call."""
    found: dict[PipeType, float] = {}
    for stmt, count in _weighted(function.body):
        for call in calls_of(stmt):
            cycles = _work(call, rates, model)
            if cycles is not None:
                found[cycles[0]] = found.get(cycles[0], 0.0) + cycles[1] * count
    return found


def _work(call: Call, rates: Rates, model: CostModel) -> tuple[PipeType, float] | None:
    op = op_of(call)
    pipe = None if op is None else op.pipe_of(call)
    if op is None or pipe is None or pipe is PipeType.S:
        return None
    case = instruction_of(call, op, pipe).case
    if pipe is PipeType.MTE2:
        is_cube = case.extra.get("dst") == "Mat"
        rate = rates.warm_cube if is_cube else rates.warm_vector
        return pipe, max(case.bytes / rate, rates.transfer)
    return pipe, model.timing(case).busy


def _weighted(body: Stmt | None) -> list[tuple[Stmt, float]]:
    """Return all statements of a body, with how often each runs."""
    found: list[tuple[Stmt, float]] = []
    stack = [(stmt, 1.0) for stmt in statements(body)]
    while stack:
        stmt, count = stack.pop()
        found.append((stmt, count))
        times = trips(stmt) if isinstance(stmt, ForStmt) else None
        inner = count * (1.0 if times is None else times)
        for name in BODIES[stmt.__class__]:
            stack += [(each, inner) for each in statements(getattr(stmt, name))]
    return found
