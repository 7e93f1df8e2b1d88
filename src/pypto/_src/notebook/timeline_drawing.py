"""A timeline as a small drawing: a lane for each core, and for the pipes of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from pypto._src.timeline.core import Event
from pypto._src.timeline.profile import Profile, location
from pypto._src.timeline.schedule import TaskRun

_WIDTH: Final = 960
_LEFT: Final = 140
_LANE: Final = 22
_MOST_LANES: Final = 16
_MOST_EVENTS: Final = 3000
_FILLS: Final = ("#2f7fd0", "#4c9141", "#b5852b", "#a14fc4", "#1e8f8f", "#b8642c", "#7f848e")


def timeline_svg(profile: Profile) -> str:
    """Return the drawing. The element under the pointer shows its name and its cycles."""
    used = sorted({(run.core_kind, run.core) for run in profile.runs})
    cores = used[:_MOST_LANES]
    critical = [profile.runs[n] for n in profile.critical if n < len(profile.runs)]
    chosen = next((run for run in critical if run.timeline is not None), None)
    lanes = [f"{kind} core {number}" for kind, number in cores]
    if len(used) > len(cores):
        lanes.append(f"{len(used) - len(cores)} more cores")
    pipes = [] if chosen is None else sorted({_pipe(profile, e.site) for e in _events(chosen)})
    names = [*lanes, *(f"{_core(chosen)} {pipe}" for pipe in pipes if chosen is not None)]
    height = (len(names) + 1) * _LANE
    whole = max((run.end for run in profile.runs), default=1.0)
    scale = (_WIDTH - _LEFT - 10) / max(whole, 1.0)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12" '
        'fill="currentColor">'
    ]
    lines += [
        f'<text x="4" y="{row * _LANE + 15}">{escape(name)}</text>'
        for row, name in enumerate(names)
    ]
    for run in profile.runs:
        if (run.core_kind, run.core) in cores:
            row = cores.index((run.core_kind, run.core))
            fill = "#d0402f" if run.node.number in profile.critical else _FILLS[0]
            span = (run.start, run.end)
            lines.append(_bar(row, span, fill, f"{run.node.name}", scale))
    if chosen is not None:
        for event in _events(chosen):
            pipe = pipes.index(_pipe(profile, event.site))
            site = profile.sites[event.site]
            span = (chosen.start + event.start, chosen.start + event.end)
            what = f"{site.name} {location(site)}"
            lines.append(_bar(len(lanes) + pipe, span, _FILLS[pipe % len(_FILLS)], what, scale))
    lines += _axis(whole, profile.mhz, height, scale)
    lines.append("</svg>")
    return "\n".join(lines)


def _bar(row: int, span: tuple[float, float], fill: str, what: str, scale: float) -> str:
    start, end = span
    return (
        f'<rect x="{_LEFT + start * scale:.1f}" y="{row * _LANE + 3}" '
        f'width="{max((end - start) * scale, 0.5):.1f}" height="{_LANE - 6}" fill="{fill}">'
        f"<title>{escape(what)}: {end - start:.0f} cycles from {start:.0f}</title></rect>"
    )


def _axis(whole: float, mhz: float, height: int, scale: float) -> Iterator[str]:
    for part in range(5):
        cycles = whole * part / 4
        anchor = "start" if part == 0 else "end" if part == 4 else "middle"
        yield (
            f'<text x="{_LEFT + cycles * scale:.1f}" y="{height - 6}" text-anchor="{anchor}">'
            f"{cycles / mhz:.1f} us</text>"
        )


def _core(run: TaskRun) -> str:
    return f"{run.core_kind} core {run.core}"


def _events(run: TaskRun) -> list[Event]:
    return [] if run.timeline is None else run.timeline.events[:_MOST_EVENTS]


def _pipe(profile: Profile, site: int) -> str:
    return profile.sites[site].pipe.name
