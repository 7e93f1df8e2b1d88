"""A profile as one HTML page that needs no network: timeline, limits, source with costs.

The timeline is drawn by Bokeh, which `pip install 'pypto[profile]'` brings and whose script is part
of the page. This module decides what is drawn, and writes the text around it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pypto._src.errors import CallError
from pypto._src.records import NamedTuple
from pypto._src.timeline import report
from pypto._src.timeline.drawings import (
    Memory,
    Shown,
    memories,
    roofline,
    shared_range,
    shown,
    timeline,
)
from pypto._src.timeline.hints import Hint
from pypto._src.timeline.profile import Profile, location
from pypto._src.timeline.roofline import Position, positions

BEFORE: Final = "before "
"""The prefix for what is drawn of the earlier profile."""


class Before(NamedTuple):
    """The profile that another one is compared with, and its name."""

    profile: Profile
    title: str


def page(
    profile: Profile,
    title: str,
    hints: Sequence[Hint] = (),
    before: Before | None = None,
) -> str:
    """Return the page.

    Raises:
        CallError: Bokeh is not installed.
    """
    try:
        embed: Any = import_module("bokeh.embed")
        resources: Any = import_module("bokeh.resources")
    except ImportError:
        raise CallError(
            "the page is drawn by Bokeh, which is not installed",
            hint="pip install 'pypto[profile]'",
            slug="profile-page",
        ) from None
    drawn = shown(profile)
    axis = shared_range(profile, *([before.profile] if before is not None else []))
    maps = memories(profile, axis)
    points = positions(profile)
    figures = {"timeline": timeline(profile, drawn, axis)}
    if before is not None:
        figures["before"] = timeline(before.profile, shown(before.profile), axis, BEFORE)
    figures |= {f"memory {memory.core_kind}": memory.figure for memory in maps}
    if points:
        figures["roofline"] = roofline(profile, points)
    script, drawings = embed.components(figures)
    library: str = resources.Resources(mode="inline", components=["bokeh"]).render_js()
    data = {
        **_clickable(profile, ""),
        **(_clickable(before.profile, BEFORE) if before is not None else {}),
        "tiles": [tile for memory in maps for tile in memory.tiles],
        "mhz": profile.mhz,
    }
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<style>{_STYLE}</style>",
            library,
            "</head><body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(report.headline(profile))}</p>",
            _comparison(profile, before),
            _limits(profile),
            "<h2>Timeline</h2>",
            "<p>Zoom with the wheel, move by dragging, click an instruction. "
            "The red line is the critical path.</p>",
            _note(drawn),
            drawings["timeline"],
            _before(before, drawings),
            '<p id="chosen" role="status">Nothing is chosen.</p>',
            _hints(hints),
            _memories(maps, drawings),
            _roofline(profile, points, drawings),
            _sources(profile),
            "<h2>In words</h2>",
            f"<pre>{escape(report.text(profile, hints))}</pre>",
            f"<script>const PROFILE = {_as_script(data)};{_SCRIPT}</script>",
            script,
            "</body></html>",
            "",
        ]
    )


def _clickable(profile: Profile, of: str) -> dict[str, Any]:
    """Return what a click on an instruction or a task of a profile reports."""
    return {
        f"{of}site": [_site(profile, n) for n in range(len(profile.sites))],
        f"{of}task": {run.node.number: run.node.name for run in profile.runs},
    }


def _note(drawn: Shown) -> str:
    """Return a note on what is not drawn."""
    cores = {(run.core_kind, run.core) for run in drawn.tasks}
    found: list[str] = []
    if len(cores) > drawn.cores:
        found.append(
            f"Instructions are drawn of {drawn.cores} of {len(cores)} cores, those on the critical "
            "path first; of the others their tasks."
        )
    chosen = {(run.core_kind, run.core) for run in drawn.detailed}
    left_out = [run for run in drawn.tasks if (run.core_kind, run.core) in chosen]
    missing = len(left_out) - len(drawn.detailed)
    if missing:
        found.append(f"The instructions of {missing} more tasks on these cores are not drawn.")
    return f"<p>{' '.join(found)}</p>" if found else ""


def _comparison(profile: Profile, before: Before | None) -> str:
    """Return the run and its kernels beside those of another program."""
    if before is None:
        return ""
    rows = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(f"<td>{'' if value is None else f'{value:.1f} us'}</td>" for value in (old, new))
        + f"<td>{escape(report.change(old, new))}</td></tr>"
        for name, old, new in report.compared(profile, before.profile)
    )
    head = "<tr><th></th><th>before</th><th>after</th><th></th></tr>"
    what = f"Before is {before.title}. Times of kernels are those of all their calls."
    table = f"<table class=compared>{head}{rows}</table>"
    return f"<h2>Before and after</h2><p>{escape(what)}</p>{table}"


def _before(before: Before | None, drawings: Mapping[str, str]) -> str:
    if before is None:
        return ""
    what = f"The same of {before.title}, on one time axis: {report.headline(before.profile)}"
    return f"<h3>Before</h3><p>{escape(what)}</p>{drawings['before']}"


def _memories(maps: Sequence[Memory], drawings: Mapping[str, str]) -> str:
    """Return what the memories hold, on the time axis of the timeline."""
    if not maps:
        return ""
    found = [
        "<h2>Memory</h2><p>Which tile lies at which addresses when, from the first instruction "
        "that writes it to the last that uses it. Click one.</p>"
    ]
    for memory in maps:
        note = f", the first {len(memory.tiles)} ranges" if memory.is_cut else ""
        drawing = drawings[f"memory {memory.core_kind}"]
        found.append(
            f"<h3>{escape(memory.core_kind)} cores on the critical path{note}</h3>{drawing}"
        )
    return "".join(found)


def _roofline(profile: Profile, points: Sequence[Position], drawings: Mapping[str, str]) -> str:
    """Return the roofline, with an explanation of its numbers."""
    if not points:
        return ""
    rows: list[str] = []
    for number, point in enumerate(points, 1):
        intensity = point.operations / point.bytes
        least = max(point.busy, point.bytes / profile.memory_rate)
        roof = "memory" if point.bytes / profile.memory_rate > point.busy else "pipe"
        rate = point.operations / point.cycles * profile.mhz / 1000
        rows.append(
            f"<tr><th>{number} {escape(point.name)}</th><td>{intensity:.1f}</td>"
            f"<td>{rate:.0f}</td><td>{least / point.cycles:.0%} of {roof}</td></tr>"
        )
    what = (
        "All calls of a kernel over the time in which any of them runs. The blue line is the roof "
        "of memory, a dashed one what the pipes that compute could do if all cores were at work."
    )
    head = "<tr><th></th><th>ops a byte</th><th>10⁹ ops/s</th><th>of the roof</th></tr>"
    table = f"<table class=compared>{head}{''.join(rows)}</table>"
    return f"<h2>Roofline</h2><p>{what}</p>{drawings['roofline']}{table}"


def _as_script(value: object) -> str:
    """Return JSON that cannot end the HTML element around it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _site(profile: Profile, number: int) -> list[Any]:
    site = profile.sites[number]
    shape = " x ".join(map(str, site.shape))
    tiles = ", ".join(
        f"{'writes' if use.is_written else 'reads'} {use.name} in {use.space.name}, bytes "
        f"{use.address} to {use.address + use.size}"
        for use in site.tiles
    )
    pipe = site.pipe.name
    return [site.kernel, site.instruction, shape, pipe, location(site), site.name, tiles]


def _limits(profile: Profile) -> str:
    """Return the limits of the chip as bars: what share of the time each alone would take."""
    rows: list[str] = []
    for bound in profile.bounds:
        share = bound.cycles / profile.cycles if profile.cycles else 0.0
        rows.append(
            f"<tr><th>{escape(bound.name)}</th><td>{bound.cycles / profile.mhz:.1f} us</td>"
            f'<td class="bar"><i style="width:{share:.2%}"></i></td><td>{share:.1%}</td></tr>'
        )
    head = "<h2>Limits of the chip</h2><p>How long it would take if only this took time.</p>"
    return f"{head}<table>{''.join(rows)}</table>"


def _hints(hints: Sequence[Hint]) -> str:
    """Return what to change, with the gain of each change; a click marks its first line."""
    if not hints:
        return ""
    rows: list[str] = []
    for hint in hints:
        change = hint.change
        where = ", ".join(hint.locations)
        links = ", ".join(
            f'<a href="#{escape(each, quote=True)}">{escape(each)}</a>' for each in hint.locations
        )
        rows.append(
            f"<li><b>{escape(report.gain(hint))}</b> {escape(change.kind)} in "
            f"{escape(change.kernel)}{': ' + links if where else ''}<br>{escape(change.found)}"
            f"<br>Change: <code>{escape(change.advice)}</code></li>"
        )
    what = "Each was simulated by itself in a copy of the program that was changed so."
    return f"<h2>Hints</h2><p>{what}</p><ol class=hints>{''.join(rows)}</ol>"


def _sources(profile: Profile) -> str:
    """Return the source of the kernels, with what each line costs."""
    costs: dict[str, dict[int, tuple[float, float]]] = {}
    total = sum(kernel.cycles for kernel in profile.kernels) or 1.0
    for kernel in profile.kernels:
        for number, (_, busy) in kernel.sites.items():
            span = profile.sites[number].span
            if span.begin_line > 0:
                lines = costs.setdefault(span.filename, {})
                before = lines.get(span.begin_line, (0.0, 0.0))
                path = kernel.critical.get(number, 0.0)
                lines[span.begin_line] = before[0] + busy / total, before[1] + path / total
    return "".join(_source(name, lines) for name, lines in costs.items())


def _source(name: str, costs: Mapping[int, tuple[float, float]]) -> str:
    try:
        text = Path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return ""
    rows = "".join(_source_rows(Path(name).name, text, costs))
    head = "<tr><th></th><th>busy</th><th>critical</th><th></th></tr>"
    what = "Share of the kernels' time in which a line's instructions keep a pipe busy, and on the "
    what += "critical path."
    return (
        f"<h2>{escape(Path(name).name)}</h2><p>{what}</p><table class=source>{head}{rows}</table>"
    )


def _source_rows(
    name: str, text: Sequence[str], costs: Mapping[int, tuple[float, float]]
) -> Iterator[str]:
    for number in range(max(min(costs) - 2, 1), min(max(costs) + 1, len(text)) + 1):
        busy, path = costs.get(number, (0.0, 0.0))
        shade = f' style="background:rgba(204,0,0,{min(path, 1.0) / 2:.3f})"' if path else ""
        cells = "".join(f"<td>{share:.1%}</td>" if share else "<td></td>" for share in (busy, path))
        yield (
            f'<tr id="{escape(f"{name}:{number}", quote=True)}"{shade}><th>{number}</th>{cells}'
            f"<td><code>{escape(text[number - 1])}</code></td></tr>"
        )


_STYLE: Final = """
:root { color-scheme: light dark; --back: light-dark(#fff, #16181d); }
body { font: 14px/1.4 system-ui, sans-serif; margin: 1em; background: var(--back); }
body { color: light-dark(#222, #dfe2e6); }
h1 { font-size: 1.3em; } h2 { font-size: 1.1em; margin: 1.2em 0 .2em; } p { margin: .3em 0; }
h3 { font-size: 1em; margin: .6em 0 .1em; } h1, p, li { overflow-wrap: anywhere; }
table { border-collapse: collapse; } th, td { padding: 0 .6em; text-align: left; }
th:first-child { padding-left: 0; }
td:nth-child(2), td:nth-child(3), .source th { text-align: right; font-weight: normal; }
.bar { width: min(20em, 30vw); } .bar i { display: block; height: .7em; background: #4477aa; }
.source { display: block; overflow-x: auto; } .source code { white-space: pre; }
.source td:nth-child(4) { text-align: left; } .source th { color: light-dark(#666, #9aa1ad); }
.source tr.chosen { outline: 2px solid #4477aa; }
.compared { display: block; overflow-x: auto; } .compared td { text-align: right; }
td { white-space: nowrap; } .compared th { text-align: right; }
.compared th:first-child { text-align: left; }
.hints { padding-left: 1.4em; } .hints li { margin: .4em 0; } code { font-size: 13px; }
pre { overflow-x: auto; } #chosen { min-height: 1.4em; font-weight: 600; }
#chosen { position: sticky; bottom: 0; background: var(--back); z-index: 1; }
#chosen { border-top: 1px solid light-dark(#ddd, #3a3f4b); }
@media (max-width: 600px) { body { margin: .5em; } th, td { padding: 0 .3em; } }
"""

_SCRIPT: Final = """
function pyptoChoose(kind, number, left, right) {
  const chosen = document.getElementById('chosen');
  const time = `${left.toFixed(3)} to ${right.toFixed(3)} us`;
  document.querySelectorAll('.chosen').forEach((row) => row.classList.remove('chosen'));
  if (kind.endsWith('task')) {
    chosen.textContent = `${kind} ${number}, ${PROFILE[kind][number]}: ${time}`;
    return;
  }
  let site = number, what = '', table = kind;
  if (kind === 'tile') {
    const [name, address, size, by] = PROFILE.tiles[number];
    what = `tile ${name}, bytes ${address} to ${address + size}: ${time}, first written by `;
    site = by;
    table = 'site';
  }
  const [kernel, instruction, shape, pipe, location, source, tiles] = PROFILE[table][site];
  if (kind.endsWith('site')) {
    const cycles = ((right - left) * PROFILE.mhz).toFixed(0);
    what = `${instruction} ${shape} on ${pipe}: ${cycles} cycles, ${time}; `;
  }
  chosen.textContent = `${what}${source} in ${location}, ${kernel}${tiles ? '; ' + tiles : ''}`;
  const row = document.getElementById(location);
  if (row) {
    row.classList.add('chosen');
    row.scrollIntoView({block: 'nearest'});
  }
}
"""
