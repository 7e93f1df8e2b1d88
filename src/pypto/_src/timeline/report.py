"""A profile as text for terminals and as data for other tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pypto._src.ir.enums import PipeType
from pypto._src.timeline.hints import Hint
from pypto._src.timeline.profile import KernelProfile, Profile, Stall, location
from pypto._src.timeline.schedule import HOST

MOST: Final = 5
"""How many lines of each kind the text shows."""
_LEAST: Final = 0.01
"""A smaller share of a kernel's time is left out of the text."""


def text(profile: Profile, hints: Sequence[Hint] = (), before: Profile | None = None) -> str:
    """Return a profile as text, beside that of another program if ``before`` is given."""
    return "\n".join([*_lines(profile, hints, before), ""])


def _lines(profile: Profile, hints: Sequence[Hint], before: Profile | None) -> Iterator[str]:
    yield headline(profile)
    if before is not None:
        for name, old, new in compared(profile, before):
            times = " to ".join("-" if time is None else f"{time:.1f} us" for time in (old, new))
            yield f"  before and after, {name}: {times} {change(old, new)}".rstrip()
    for bound in profile.bounds[:MOST]:
        share = bound.cycles / profile.cycles if profile.cycles else 0.0
        if share >= _LEAST:
            yield f"  {share:>6.1%} of that if only {bound.name} took time"
    yield f"  {len(profile.critical)} tasks on the critical path; {_path(profile)}"
    for kernel in profile.kernels:
        yield ""
        yield from _kernel_lines(profile, kernel)
    if hints:
        yield ""
        yield from _hint_lines(hints)
    if profile.assumptions:
        yield ""
        yield "assumed:"
        for name, what in profile.assumptions.items():
            yield f"  {name}: {what}"


def _hint_lines(hints: Sequence[Hint]) -> Iterator[str]:
    """Return what to change, with the gain on a copy that was changed so."""
    yield "hints, each simulated by itself in a changed copy:"
    for hint in hints[:MOST]:
        change = hint.change
        yield f"  {gain(hint)}  {change.kind}: {change.kernel}, {', '.join(hint.locations)}"
        yield f"    {change.found}"
        yield f"    change: {change.advice}"
    if len(hints) > MOST:
        yield f"  and {len(hints) - MOST} more: --json has all"


def compared(profile: Profile, before: Profile) -> list[tuple[str, float | None, float | None]]:
    """Return the times of the run and of all calls of its kernels, before and after.

    None where there is no such kernel.
    """
    found: list[tuple[str, float | None, float | None]] = [("run", before.us, profile.us)]
    sums = [
        {kernel.name: kernel.cycles / each.mhz for kernel in each.kernels}
        for each in (before, profile)
    ]
    for name in dict.fromkeys([*sums[0], *sums[1]]):
        found.append((name, sums[0].get(name), sums[1].get(name)))
    return found


def change(old: float | None, new: float | None) -> str:
    """Return by how much a time has changed."""
    if old is None or new is None or not old:
        return ""
    return f"{(new - old) / old:+.1%}"


def gain(hint: Hint) -> str:
    """Return how much shorter a hint's change makes the run."""
    return f"{-hint.gain:.0f} cycles ({-hint.gain / hint.before:.1%})"


def headline(profile: Profile) -> str:
    """Return one line on what ran where, and for how long."""
    used = ", ".join(f"{count} {kind} cores" for kind, count in _cores(profile).items())
    tasks = sum(kernel.calls for kernel in profile.kernels)
    return (
        f"{profile.entry} on {profile.target}: {profile.us:.1f} us, {profile.cycles:.0f} cycles, "
        f"{tasks} tasks on {used or 'no core'}"
    )


def _path(profile: Profile) -> str:
    """Return how often each kernel occurs on the critical path."""
    counts: dict[str, int] = {}
    for number in profile.critical:
        name = profile.runs[number].node.name
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _cores(profile: Profile) -> dict[str, int]:
    """Return how many cores of each kind ran a task."""
    found: dict[str, set[int]] = {}
    for run in profile.runs:
        if run.core_kind != HOST:
            found.setdefault(run.core_kind, set()).add(run.core)
    return {kind: len(cores) for kind, cores in found.items()}


def _kernel_lines(profile: Profile, kernel: KernelProfile) -> Iterator[str]:
    mean = kernel.cycles / kernel.calls
    yield (
        f"{kernel.name}: {kernel.calls} calls on {kernel.core_kind} cores, {mean:.0f} cycles each, "
        f"the longest {kernel.longest:.0f}"
    )
    shares = (f"{pipe.name} {share:.1%}" for pipe, share in _busy(kernel).items())
    yield f"  busy: {', '.join(shares)}"
    critical = sorted(kernel.critical.items(), key=lambda each: (-each[1], each[0]))
    yield from _table(
        "critical path",
        [(time / kernel.cycles, _where(profile, site)) for site, time in critical],
    )
    yield from _table(
        "stalls",
        [(stall.cycles / kernel.cycles, _reason(profile, stall)) for stall in kernel.stalls],
    )


def _table(title: str, rows: Sequence[tuple[float, str]]) -> Iterator[str]:
    shown = [row for row in rows if row[0] >= _LEAST][:MOST]
    for index, (share, what) in enumerate(shown):
        yield f"  {title + ':' if index == 0 else '':<15}{share:>6.1%}  {what}"


def _busy(kernel: KernelProfile) -> dict[PipeType, float]:
    """Return the share of the kernel's time for which each pipe is busy."""
    if not kernel.cycles:
        return {}
    return {pipe: cycles / kernel.cycles for pipe, cycles in kernel.busy.items()}


def _where(profile: Profile, number: int) -> str:
    if number < 0:
        return "the scalar unit issues instructions"
    site = profile.sites[number]
    shape = " x ".join(map(str, site.shape))
    return f"{location(site)} {site.name}{' ' + shape if shape else ''} on {site.pipe.name}"


def _reason(profile: Profile, stall: Stall) -> str:
    """Return what stalled and for what: the statement, the flag, and what took so long."""
    waiting = profile.sites[stall.site]
    what = f"{stall.pipe.name} before {location(waiting)} {waiting.name}"
    if stall.cause < 0:
        return f"{what}: not issued yet"
    found = f"{what}: waits for {_where(profile, stall.cause)}"
    if stall.wait < 0 and stall.signal < 0:
        return f"{found}, behind which it is issued"
    by_hand = [
        f"line {profile.sites[number].span.begin_line}"
        for number in (stall.signal, stall.wait)
        if number >= 0 and profile.sites[number].span.begin_line > 0
    ]
    if stall.signal < 0:
        return f"{found}, at a barrier" + (f" in {by_hand[0]}" if by_hand else "")
    return f"{found}, by a flag" + (f" of {' and '.join(by_hand)}" if by_hand else "")


def as_data(
    profile: Profile, hints: Sequence[Hint] = (), before: Profile | None = None
) -> dict[str, Any]:
    """Return a profile as JSON data; times are cycles."""
    data = {} if before is None else {"against": as_data(before)}
    return data | {
        "entry": profile.entry,
        "target": profile.target,
        "mhz": profile.mhz,
        "us": profile.us,
        "cycles": profile.cycles,
        "launch": profile.launch,
        "cores": _cores(profile),
        "bounds": {bound.name: bound.cycles for bound in profile.bounds},
        "critical_tasks": list(profile.critical),
        "kernels": [_kernel_data(profile, kernel) for kernel in profile.kernels],
        "tasks": [
            {
                "number": run.node.number,
                "name": run.node.name,
                "location": run.node.location,
                "core": f"{run.core_kind} {run.core}",
                "start": run.start,
                "end": run.end,
                "waits_for": run.cause,
            }
            for run in profile.runs
        ],
        "hints": [
            {
                "kind": hint.change.kind,
                "kernel": hint.change.kernel,
                "locations": list(hint.locations),
                "found": hint.change.found,
                "change": hint.change.advice,
                "before": hint.before,
                "after": hint.after,
                "gain": hint.gain,
            }
            for hint in hints
        ],
        "assumptions": profile.assumptions,
    }


def _kernel_data(profile: Profile, kernel: KernelProfile) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "core_kind": kernel.core_kind,
        "calls": kernel.calls,
        "cycles": kernel.cycles,
        "longest": kernel.longest,
        "busy": {pipe.name: cycles for pipe, cycles in kernel.busy.items()},
        "statements": [
            {
                **_site_data(profile, number),
                "count": count,
                "busy": cycles,
                "critical": kernel.critical.get(number, 0.0),
            }
            for number, (count, cycles) in sorted(kernel.sites.items())
        ],
        "issue_critical": kernel.critical.get(-1, 0.0),
        "stalls": [
            {
                "pipe": stall.pipe.name,
                "cycles": stall.cycles,
                "statement": _site_data(profile, stall.site),
                "waits_for": _site_data(profile, stall.cause) if stall.cause >= 0 else None,
                "by": _by(stall),
            }
            for stall in kernel.stalls
        ],
    }


def _by(stall: Stall) -> str:
    if stall.cause < 0:
        return "issue"
    if stall.signal >= 0:
        return "flag"
    return "barrier" if stall.wait >= 0 else "order"


def _site_data(profile: Profile, number: int) -> Mapping[str, Any]:
    site = profile.sites[number]
    return {
        "location": location(site),
        "line": site.span.begin_line,
        "name": site.name,
        "instruction": site.instruction,
        "pipe": site.pipe.name,
        "shape": list(site.shape),
    }
