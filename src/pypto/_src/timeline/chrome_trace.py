"""A profile in the Chrome trace format, which Perfetto and chrome://tracing show.

One process for each core, one thread for each pipe, one slice for each instruction, and a thread
for tasks. An arrow leads to what stalled from what it waited for; tasks are linked the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pypto._src.ir.enums import PipeType
from pypto._src.timeline.profile import Profile, location
from pypto._src.timeline.schedule import CUBE, HOST, TaskRun

_TASKS: Final = 0
_LANES: Final = (
    PipeType.S,
    PipeType.MTE2,
    PipeType.MTE1,
    PipeType.M,
    PipeType.V,
    PipeType.FIX,
    PipeType.MTE3,
)
"""The pipes from top to bottom: in, work, out."""


def trace(profile: Profile) -> dict[str, Any]:
    """Return the object that a trace file holds; times are microseconds."""
    return {"traceEvents": list(_events(profile)), "displayTimeUnit": "ns"}


def _process(run: TaskRun) -> int:
    """Return the process number of a core: cube cores before vector cores."""
    return 1 + run.core + (0 if run.core_kind == CUBE else 1000)


def _events(profile: Profile) -> Iterator[dict[str, Any]]:
    scale = 1 / profile.mhz
    runs = [run for run in profile.runs if run.core_kind != HOST]
    used: dict[int, TaskRun] = {}
    lanes: dict[tuple[int, int], str] = {}
    for run in runs:
        used.setdefault(_process(run), run)
        lanes.setdefault((_process(run), _TASKS), "tasks")
        assert run.timeline is not None
        for pipe in {profile.sites[event.site].pipe for event in run.timeline.events}:
            lanes.setdefault((_process(run), 1 + _LANES.index(pipe)), pipe.name)
    for process, run in sorted(used.items()):
        yield _meta("process_name", process, 0, "name", f"{run.core_kind} core {run.core}")
        yield _meta("process_sort_index", process, 0, "sort_index", process)
    for (process, lane), name in sorted(lanes.items()):
        yield _meta("thread_name", process, lane, "name", name)
        yield _meta("thread_sort_index", process, lane, "sort_index", lane)
    critical = set(profile.critical)
    for run in runs:
        yield from _task(profile, run, scale, run.node.number in critical)
    arrow = 0
    for run in runs:
        for wait in {wait.before for wait in run.node.waits}:
            before = profile.runs[wait]
            if before.core_kind == HOST:
                continue
            arrow += 1
            ends = (before, (before.end - 1) * scale), (run, run.start * scale)
            for phase, (end, time) in zip("sf", ends, strict=True):
                yield _arrow(phase, f"t{arrow}", _process(end), _TASKS, time)


def _task(
    profile: Profile, run: TaskRun, scale: float, is_critical: bool
) -> Iterator[dict[str, Any]]:
    process, timeline = _process(run), run.timeline
    assert timeline is not None
    details = {
        "scalars": dict(run.node.scalars),
        "location": run.node.location,
        "critical": is_critical,
    }
    yield _slice(run.node.name, process, _TASKS, run.start, run.end - run.start, scale, details)
    for number, event in enumerate(timeline.events):
        site = profile.sites[event.site]
        lane = 1 + _LANES.index(site.pipe)
        shape = "x".join(map(str, site.shape))
        start = run.start + event.start
        yield _slice(
            f"{site.instruction} {shape}".rstrip(),
            process,
            lane,
            start,
            event.end - event.start,
            scale,
            {
                "location": location(site),
                "source": site.name,
                "results_after": event.done - event.end,
            },
        )
        if event.cause < 0 or event.signal < 0:
            continue
        cause = timeline.events[event.cause]
        before = 1 + _LANES.index(profile.sites[cause.site].pipe)
        name = f"{run.node.number}.{number}"
        middle = (cause.start + cause.end) / 2
        yield _arrow("s", name, process, before, (run.start + middle) * scale)
        yield _arrow("f", name, process, lane, start * scale)


def _meta(what: str, process: int, lane: int, key: str, value: object) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": lane, "args": {key: value}}


def _slice(
    name: str,
    process: int,
    lane: int,
    start: float,
    cycles: float,
    scale: float,
    details: dict[str, Any],
) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": "task" if lane == _TASKS else "instruction",
        "pid": process,
        "tid": lane,
        "ts": round(start * scale, 5),
        "dur": round(cycles * scale, 5),
        "args": {**details, "cycles": round(cycles, 1)},
    }


def _arrow(phase: str, name: str, process: int, lane: int, time: float) -> dict[str, Any]:
    found: dict[str, Any] = {"ph": phase, "name": "wait", "cat": "flow", "id": name}
    found |= {"pid": process, "tid": lane, "ts": round(time, 5)}
    return found | ({"bp": "e"} if phase == "f" else {})
