"""All tasks of a run on the cores of the chip: which core runs which task, and when.

A core takes the first task that is ready. A task is ready once all tasks whose results it needs are
complete. Cores share the bandwidth of memory and cache: each gets what would be left if those that
run at the same time used it for as much of their time as it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate

from pypto._src.cost.model import CostModel
from pypto._src.records import NamedTuple
from pypto._src.run.task_graph.tasks import TaskNode
from pypto._src.timeline.core import CoreTimeline, Share

CUBE, VECTOR, HOST = "cube", "vector", "host"


class TaskRun(NamedTuple):
    """One task on its core, in cycles since the launch."""

    node: TaskNode
    core_kind: str
    """``cube``, ``vector``, or ``host`` for work of the host itself."""
    core: int
    start: float
    end: float
    cause: int
    """The number of the task that it waited for, for its results or its core; -1 for none."""
    timeline: CoreTimeline | None


def scheduled(
    nodes: Sequence[TaskNode],
    timelines: Sequence[CoreTimeline],
    model: CostModel,
) -> list[TaskRun]:
    """Return when and where each task runs, in the order of the program."""
    clock = model.machine("clock.mhz")
    pickup = model.machine("pickup.us") * clock
    free: dict[str, list[tuple[float, int, int]]] = {
        kind: [(0.0, core, -1) for core in range(int(model.machine(f"cores.{kind}")))]
        for kind in (CUBE, VECTOR)
    }
    kernels = iter(timelines)
    of_node = [None if node.is_host else next(kernels) for node in nodes]
    left = [len({wait.before for wait in node.waits}) for node in nodes]
    followers: list[list[int]] = [[] for _ in nodes]
    for node in nodes:
        for before in {wait.before for wait in node.waits}:
            followers[before].append(node.number)
    ready = [(0.0, node.number, -1) for node in nodes if left[node.number] == 0]
    heapify(ready)
    latest: dict[int, tuple[float, int]] = {}
    runs: list[TaskRun | None] = [None] * len(nodes)
    while ready:
        time, number, cause = heappop(ready)
        node, timeline = nodes[number], of_node[number]
        if timeline is None:
            run = TaskRun(node, HOST, 0, time, time, cause, None)
        else:
            kind = CUBE if timeline.is_cube else VECTOR
            idle, core, last = heappop(free[kind])
            if idle > time:
                cause = last
            start = max(time, idle) + pickup
            run = TaskRun(node, kind, core, start, start + timeline.cycles, cause, timeline)
            heappush(free[kind], (run.end, core, number))
        runs[number] = run
        for follower in followers[number]:
            latest[follower] = max(latest.get(follower, (0.0, -1)), (run.end, number))
            left[follower] -= 1
            if left[follower] == 0:
                heappush(ready, (latest[follower][0], follower, latest[follower][1]))
    return [run for run in runs if run is not None]


def shares(runs: Sequence[TaskRun], model: CostModel) -> list[Share]:
    """Return each call's share of memory and cache, by how many use them at the same time."""
    hbm, l2 = model.machine("memory.hbm"), model.machine("memory.l2")
    calls = [(run, run.timeline) for run in runs if run.timeline is not None]
    found: list[Share] = []
    spans = [(run.start, run.end) for run, _ in calls]
    cycles = [timeline.cycles or 1.0 for _, timeline in calls]
    missing = _beside(
        spans, [t.memory_time / all_ for (_, t), all_ in zip(calls, cycles, strict=True)]
    )
    hitting = _beside(
        spans, [t.cache_time / all_ for (_, t), all_ in zip(calls, cycles, strict=True)]
    )
    for (_, call), all_, misses, hits in zip(calls, cycles, missing, hitting, strict=True):
        sent = call.missed_bytes + call.written_bytes
        from_memory = _share(hbm, misses, sent, call.memory_time, all_)
        from_cache = _share(l2, hits, call.hit_bytes, call.cache_time, all_)
        found.append(Share(from_memory, from_cache))
    return found


def _share(whole: float, uses: float, size: int, time: float, cycles: float) -> float:
    """Return the rate at which a call can have ``size`` bytes if ``uses`` calls want theirs, too.

    If the rates so far add up to too much, the calls share what is left of their time: a call that
    waits longer for memory takes longer, and so asks for less at a time.
    """
    rate, part = size / time if time else 0.0, min(time / cycles, 1.0)
    wanted = uses * rate / whole
    if wanted <= 1:
        return whole / max(uses, 1.0)
    return part * rate / (wanted - 1 + part)


def _beside(spans: Sequence[tuple[float, float]], uses: Sequence[float]) -> list[float]:
    """Return the average use during each span, counting its own as whole."""
    edges = sorted(
        [(begin, use) for (begin, _), use in zip(spans, uses, strict=True)]
        + [(end, -use) for (_, end), use in zip(spans, uses, strict=True)]
    )
    times = [time for time, _ in edges]
    levels = list(accumulate(change for _, change in edges))
    steps = (
        level * (after - time) for level, time, after in zip(levels, times, times[1:], strict=False)
    )
    sums = dict(zip(times[1:], accumulate(steps), strict=False)) if times else {}
    if times:
        sums[times[0]] = 0.0
    # For edges at the same time any of the sums will do: the steps between them are 0.
    return [
        (sums[end] - sums[begin]) / (end - begin) + (1.0 - use if use else 0.0)
        if end > begin
        else 1.0
        for (begin, end), use in zip(spans, uses, strict=True)
    ]
