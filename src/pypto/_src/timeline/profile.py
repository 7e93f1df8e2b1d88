"""What a program's timeline tells: how long it takes, what bounds it, and what waits for what."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pypto._src.cost.model import CostModel
from pypto._src.emit.writer import source_comment
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.enums import PipeType
from pypto._src.ir.stmts import Program
from pypto._src.records import NamedTuple
from pypto._src.run.task_graph.tasks import TaskTrace
from pypto._src.timeline.core import CoreTimeline, Event, Share, Site
from pypto._src.timeline.schedule import CUBE, VECTOR, TaskRun, scheduled, shares
from pypto._src.timeline.simulate import KernelSimulator, TooSlowError

_ROUNDS: Final = 6
"""How often tasks are timed again, at most, with their new shares of the bandwidth."""


_CLOSE: Final = 0.02
"""Smaller changes are not worth another round."""


_MARGIN: Final = 1.1
"""By what factor later rounds may shorten a run that is not timed to the end."""


class Stall(NamedTuple):
    """How long a pipe stood still for one reason, in all calls of a kernel."""

    pipe: PipeType
    site: int  # what came next on the pipe
    cause: int  # the site of the instruction that took so long, -1 for the scalar unit
    wait: int  # the site of the wait or barrier, -1 for none
    signal: int  # the site that raises the flag, -1 for none
    cycles: float


class KernelProfile(NamedTuple):
    """All calls of one kernel."""

    name: str
    core_kind: str
    calls: int
    cycles: float  # of all calls
    longest: float
    busy: dict[PipeType, float]
    sites: dict[int, tuple[int, float]]  # how often each ran, and how long its pipe was busy
    critical: dict[int, float]  # cycles of each site on the critical path of its call; -1 is issue
    stalls: tuple[Stall, ...]  # the longest first


class Bound(NamedTuple):
    """A limit of the chip: how long the run would take if nothing else ever held it up."""

    name: str
    cycles: float


class Profile(NamedTuple):
    """All that is known about one run of a program."""

    target: str
    entry: str
    mhz: float
    memory_rate: float  # bytes per cycle, of the whole chip
    cores: dict[str, int]  # of each kind, on the chip
    runs: tuple[TaskRun, ...]
    sites: tuple[Site, ...]
    kernels: tuple[KernelProfile, ...]
    bounds: tuple[Bound, ...]  # the highest first
    launch: float
    cycles: float  # from launch to the end of the last task
    critical: tuple[int, ...]  # the tasks on the critical path
    assumptions: dict[str, str]

    @property
    def us(self) -> float:
        """How long the run takes, with its launch."""
        return self.cycles / self.mhz


class ProgramSimulator(Evaluator):
    """Evaluates a program after the passes, to a profile."""

    def __init__(self, program: Program, model: CostModel, limit: float | None = None) -> None:
        super().__init__(program)
        self.whole = program
        self.model = model
        self.limit = limit
        """The number of cycles from which on it does not matter how long a run takes."""
        self.profile: Profile | None = None

    def call(self, name: str, args: Sequence[Any]) -> None:
        """Run the function ``name`` without its data, and keep its profile."""
        with _no_collections():
            self.profile = self._simulated(name, args)

    def _simulated(self, name: str, args: Sequence[Any]) -> Profile:
        kernels = KernelSimulator(self.whole, self.model)
        kernels.limit = self.limit
        trace = TaskTrace(self.whole, kernels, zeros=True)
        nodes = trace.tasks(name, args).nodes
        if trace.has_zeros and kernels.reads_data:
            what = "are 0 where a kernel reads them, as no kernel computes anything here"
            self.model.assumptions.setdefault("elements of tensors that the program makes", what)
        runs = scheduled(nodes, kernels.calls, self.model)
        for number in range(_ROUNDS if len(kernels.calls) > 1 else 0):
            if number == 3:  # earlier rounds divide the bandwidth far too unevenly
                self._check_limit(runs)
            now = shares(runs, self.model)
            # The first round finds the levels of tasks, the second what other tasks read at the
            # same time.
            if number >= 2 and _are_close(now, kernels.shares):
                break
            levels = [node.level for node in nodes if not node.is_host]
            if kernels.reads_data:
                kernels.restart(now, levels)
                nodes = TaskTrace(self.whole, kernels, zeros=True).tasks(name, args).nodes
            else:
                kernels.repeat(now, levels)
            runs = scheduled(nodes, kernels.calls, self.model)
        return _profile(name, runs, kernels.sites, self.model)

    def _check_limit(self, runs: Sequence[TaskRun]) -> None:
        """Raise TooSlowError if a run takes longer than later rounds could make up for."""
        end = max((run.end for run in runs), default=0.0)
        if self.limit is not None and end > self.limit * _MARGIN:
            raise TooSlowError(end)


def _are_close(now: Sequence[Share], before: Sequence[Share]) -> bool:
    """True if no call gets noticeably more or less than it had."""
    if len(now) != len(before):
        return False
    pairs = (pair for a, b in zip(now, before, strict=True) for pair in zip(a, b, strict=True))
    return all(abs(a - b) <= _CLOSE * b for a, b in pairs)


@contextmanager
def _no_collections() -> Generator[None]:
    """Turn off garbage collection: millions of events would be searched for cycles in vain."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _profile(
    entry: str, runs: Sequence[TaskRun], sites: Sequence[Site], model: CostModel
) -> Profile:
    by_kernel: dict[str, list[TaskRun]] = {}
    for run in runs:
        if run.timeline is not None:
            by_kernel.setdefault(run.node.name, []).append(run)
    kernels = tuple(_kernel(name, calls, sites) for name, calls in by_kernel.items())
    mhz = model.machine("clock.mhz")
    launch = model.machine("launch.us") * mhz
    end = max((run.end for run in runs), default=0.0)
    return Profile(
        model.table.target,
        entry,
        mhz,
        model.machine("memory.hbm"),
        {kind: int(model.machine(f"cores.{kind}")) for kind in (CUBE, VECTOR)},
        tuple(runs),
        tuple(sites),
        kernels,
        _bounds(runs, kernels, model),
        launch,
        launch + end,
        _critical_tasks(runs),
        dict(model.assumptions),
    )


def _kernel(name: str, runs: Sequence[TaskRun], sites: Sequence[Site]) -> KernelProfile:
    busy: dict[PipeType, float] = {}
    ran: dict[int, tuple[int, float]] = {}
    critical: dict[int, float] = {}
    waits: dict[tuple[PipeType, int, int, int, int], float] = {}
    timelines = [run.timeline for run in runs if run.timeline is not None]
    times = Counter(id(timeline) for timeline in timelines)  # many calls may share one
    for timeline in {id(timeline): timeline for timeline in timelines}.values():
        last: dict[PipeType, float] = {}
        events, calls = timeline.events, times[id(timeline)]
        for event in events:
            pipe, time = sites[event.site].pipe, (event.end - event.start) * calls
            busy[pipe] = busy.get(pipe, 0.0) + time
            count, before = ran.get(event.site, (0, 0.0))
            ran[event.site] = count + calls, before + time
            gap = event.start - last.get(pipe, 0.0)
            last[pipe] = event.end
            if gap > 0:
                cause = events[event.cause].site if event.cause >= 0 else -1
                key = pipe, event.site, cause, event.wait, event.signal
                waits[key] = waits.get(key, 0.0) + gap * calls
        for site, time in critical_path(timeline):
            critical[site] = critical.get(site, 0.0) + time * calls
    stalls = sorted((Stall(*key, cycles) for key, cycles in waits.items()), key=_longest_first)
    total = [timeline.cycles for timeline in timelines]
    return KernelProfile(
        name,
        runs[0].core_kind,
        len(runs),
        sum(total),
        max(total),
        dict(sorted(busy.items())),
        ran,
        critical,
        tuple(stalls),
    )


def _longest_first(stall: Stall) -> tuple[float, int, int]:
    return -stall.cycles, stall.site, stall.cause


def critical_path(timeline: CoreTimeline) -> Iterable[tuple[int, float]]:
    """Yield the sites on the critical path of a call, from last to first, with the cycles of each.

    The path leads from the end of the call to what the last instruction waited for, and so on. -1
    stands for the scalar unit, where it had not issued the instruction yet.
    """
    events = timeline.events
    at = timeline.cycles
    number = max(range(len(events)), key=lambda n: events[n].done, default=-1)
    while number >= 0:
        event: Event = events[number]
        yield event.site, at - event.start
        at = event.start
        number = event.cause
    if at > 0:
        yield -1, at


def _critical_tasks(runs: Sequence[TaskRun]) -> tuple[int, ...]:
    """Return the tasks that the end of the run waited for, in order."""
    at = max(range(len(runs)), key=lambda n: runs[n].end, default=-1)
    found: list[int] = []
    while at >= 0:
        found.append(at)
        at = runs[at].cause
    return tuple(reversed(found))


def _bounds(
    runs: Sequence[TaskRun], kernels: Sequence[KernelProfile], model: CostModel
) -> tuple[Bound, ...]:
    """Return the limits of the chip, the highest first."""
    cores = {kind: model.machine(f"cores.{kind}") for kind in (CUBE, VECTOR)}
    timelines = [run.timeline for run in runs if run.timeline is not None]
    missed = sum(t.missed_bytes + t.written_bytes for t in timelines)
    hit = sum(t.hit_bytes for t in timelines)
    found = {
        "memory bandwidth": missed / model.machine("memory.hbm"),
        "cache bandwidth": hit / model.machine("memory.l2"),
    }
    names = {PipeType.M: "cube", PipeType.V: "vector"}
    names |= {PipeType.MTE1: "L0 loads", PipeType.MTE2: "loads", PipeType.MTE3: "stores"}
    names |= {PipeType.FIX: "accumulator stores"}
    for kernel in kernels:
        for pipe, cycles in kernel.busy.items():
            if pipe in names:
                key = names[pipe]
                found[key] = found.get(key, 0.0) + cycles / cores[kernel.core_kind]
    for run in runs:
        if run.timeline is not None:
            share = run.timeline.scalar / cores[run.core_kind]
            found["issue"] = found.get("issue", 0.0) + share
    ordered = sorted(found.items(), key=lambda each: -each[1])
    return tuple(Bound(name, cycles) for name, cycles in ordered)


def location(site: Site) -> str:
    """Return the file name and line of a site."""
    return source_comment(site.span) or "?"
