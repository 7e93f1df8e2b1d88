"""A profile as one HTML page that needs no network: timeline, limits, source with costs.

The timeline is drawn by Bokeh, which `pip install 'pypto[profile]'` brings and whose script the
page holds. This module says what is drawn, and writes the text around it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pypto._src.errors import CallError
from pypto._src.ir.enums import PipeType
from pypto._src.lazy import lazy_module
from pypto._src.timeline import report
from pypto._src.timeline.hints import Hint
from pypto._src.timeline.profile import Profile, location
from pypto._src.timeline.schedule import CUBE, HOST, TaskRun

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

MOST_EVENTS: Final = 100_000
"""More instructions are not drawn: the page stays below 3 MB."""

_COLOURS: Final = {
    PipeType.S: "#7f7f7f",
    PipeType.MTE2: "#4477aa",
    PipeType.MTE1: "#66ccee",
    PipeType.M: "#ee6677",
    PipeType.V: "#228833",
    PipeType.FIX: "#aa3377",
    PipeType.MTE3: "#ccbb44",
}
"""The pipes from top to bottom: in, work, out; colours that the colour-blind tell apart."""
_LANE: Final = 16  # pixels
_TASK_COLOUR: Final = "#bbbbbb"


def page(profile: Profile, title: str, hints: Sequence[Hint] = ()) -> str:
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
    shown = _shown(profile)
    script, drawing = embed.components(_timeline(profile, shown))
    library: str = resources.Resources(mode="inline", components=["bokeh"]).render_js()
    data = {"sites": [_site(profile, n) for n in range(len(profile.sites))], "mhz": profile.mhz}
    left_out = len([run for run in profile.runs if run.core_kind != HOST]) - len(shown)
    note = f"<p>{left_out} more tasks are not drawn.</p>" if left_out else ""
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
            _limits(profile),
            "<h2>Timeline</h2>",
            "<p>Zoom with the wheel, move by dragging, click an instruction. "
            "The red line is the critical path.</p>",
            drawing,
            note,
            '<p id="chosen" role="status">Nothing is chosen.</p>',
            _hints(hints),
            _sources(profile),
            "<h2>In words</h2>",
            f"<pre>{escape(report.text(profile, hints))}</pre>",
            f"<script>const PROFILE = {_as_script(data)};{_SCRIPT}</script>",
            script,
            "</body></html>",
            "",
        ]
    )


def _as_script(value: object) -> str:
    """Return JSON that no HTML ends."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _shown(profile: Profile) -> list[TaskRun]:
    """Return the tasks that are drawn: those on the critical path, then as they begin."""
    critical = set(profile.critical)
    runs = [run for run in profile.runs if run.core_kind != HOST]
    runs.sort(key=lambda run: (run.node.number not in critical, run.start, run.node.number))
    found: list[TaskRun] = []
    left = MOST_EVENTS
    for run in runs:
        left -= len(run.timeline.events) if run.timeline is not None else 0
        if left < 0 and found:
            break
        found.append(run)
    return found


def _timeline(profile: Profile, runs: Sequence[TaskRun]) -> Any:
    """Return the drawing: a lane for each pipe of each core, and one for its tasks."""
    plotting: Any = import_module("bokeh.plotting")
    models: Any = import_module("bokeh.models")
    lanes = _lanes(profile, runs)
    scale = 1 / profile.mhz
    figure = plotting.figure(
        height=max(220, 90 + _LANE * len(lanes)),
        sizing_mode="stretch_width",
        tools="xpan,xwheel_zoom,xbox_zoom,reset",
        active_scroll="xwheel_zoom",
        active_drag="xpan",
        x_axis_label="microseconds since the launch",
        x_axis_location="above",
        x_range=models.Range1d(0, max(profile.us, 1e-3), bounds=(0, max(profile.us, 1e-3))),
        y_range=models.Range1d(len(lanes) - 0.4, -0.6),
        output_backend="canvas",
    )
    figure.toolbar.logo = None
    figure.yaxis.ticker = list(range(len(lanes)))
    figure.yaxis.major_label_overrides = dict(enumerate(lanes.values()))
    figure.yaxis.major_label_text_font_size = "10px"
    figure.ygrid.grid_line_color = None
    numbers = {lane: n for n, lane in enumerate(lanes)}
    begin = profile.launch
    for pipe, colour in _COLOURS.items():
        rows = [
            (
                (run.start + begin + e.start) * scale,
                (run.start + begin + e.end) * scale,
                lane,
                e.site,
            )
            for run in runs
            if run.timeline is not None
            for lane in [numbers.get((*_core(run), pipe.name))]
            if lane is not None
            for e in run.timeline.events
            if profile.sites[e.site].pipe is pipe
        ]
        if rows:
            _bars(models, figure, rows, colour, 0.8, "site")
    tasks = [
        (
            (run.start + begin) * scale,
            (run.end + begin) * scale,
            numbers[*_core(run), ""],
            run.node.number,
        )
        for run in runs
    ]
    _bars(models, figure, tasks, _TASK_COLOUR, 0.8, "task")
    _critical(models, figure, profile, runs, numbers)
    return figure


def _bars(
    models: Any,
    figure: Any,
    rows: Sequence[tuple[float, float, int, int]],
    colour: str,
    height: float,
    kind: str,
) -> None:
    """Draw bars, each with the number of what it stands for; a click shows that."""
    left, right, lane, number = zip(*rows, strict=True)
    source = models.ColumnDataSource(
        {
            "left": np.array(left, np.float32),
            "right": np.array(right, np.float32),
            "lane": np.array(lane, np.uint16),
            "number": np.array(number, np.uint16 if max(number) < 1 << 16 else np.int32),
        }
    )
    bars = figure.hbar(
        y="lane",
        left="left",
        right="right",
        height=height,
        source=source,
        color=colour,
        line_width=0,
        nonselection_alpha=0.55,
    )
    code = "const at = source.selected.indices[0];"
    code += f"if (at !== undefined) pyptoChoose('{kind}', source.data.number[at],"
    code += "source.data.left[at], source.data.right[at]);"
    source.selected.js_on_change("indices", models.CustomJS(args={"source": source}, code=code))
    figure.add_tools(models.TapTool(renderers=[bars], visible=False))


def _critical(
    models: Any,
    figure: Any,
    profile: Profile,
    runs: Sequence[TaskRun],
    numbers: Mapping[tuple[str, int, str], int],
) -> None:
    """Draw the critical path: from instruction to instruction through the tasks on it."""
    times: list[float] = []
    lanes: list[float] = []
    shown = {run.node.number for run in runs}
    for number in profile.critical:
        run = profile.runs[number]
        if number not in shown or run.timeline is None:
            continue
        events = run.timeline.events
        at = max(range(len(events)), key=lambda n: events[n].done, default=-1)
        path: list[int] = []
        while at >= 0:
            path.append(at)
            at = events[at].cause
        for index in reversed(path):
            event = events[index]
            lane = numbers.get((*_core(run), profile.sites[event.site].pipe.name))
            if lane is not None:
                start = (profile.launch + run.start) / profile.mhz
                times += [start + event.start / profile.mhz, start + event.end / profile.mhz]
                lanes += [lane, lane]
    most = MOST_EVENTS // 10  # further points would only add to the size
    path_source = models.ColumnDataSource(
        {"x": np.array(times[:most], np.float32), "y": np.array(lanes[:most], np.float32)}
    )
    figure.line("x", "y", source=path_source, color="#cc0000", line_width=1.2)


def _core(run: TaskRun) -> tuple[str, int]:
    return run.core_kind, run.core


def _lanes(profile: Profile, runs: Sequence[TaskRun]) -> dict[tuple[str, int, str], str]:
    """Return the lanes from top to bottom with their names; cube cores come first."""
    used: dict[tuple[str, int], set[PipeType]] = {}
    for run in runs:
        pipes = used.setdefault(_core(run), set())
        if run.timeline is not None:
            pipes |= {profile.sites[event.site].pipe for event in run.timeline.events}
    found: dict[tuple[str, int, str], str] = {}
    for kind, core in sorted(used, key=lambda each: (each[0] != CUBE, each)):
        found[kind, core, ""] = f"{kind} core {core}"
        for pipe in _COLOURS:
            if pipe in used[kind, core]:
                found[kind, core, pipe.name] = pipe.name
    return found


def _site(profile: Profile, number: int) -> list[Any]:
    site = profile.sites[number]
    shape = " x ".join(map(str, site.shape))
    return [site.kernel, site.instruction, shape, site.pipe.name, location(site), site.name]


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
    """Return what to change, each with what it brings; a click marks its first line."""
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
body { font: 14px/1.4 system-ui, sans-serif; margin: 1em; color: #222; background: #fff; }
h1 { font-size: 1.3em; } h2 { font-size: 1.1em; margin: 1.2em 0 .2em; } p { margin: .3em 0; }
table { border-collapse: collapse; } th, td { padding: 0 .6em; text-align: left; }
td:nth-child(2), td:nth-child(3), .source th { text-align: right; font-weight: normal; }
.bar { width: min(20em, 30vw); } .bar i { display: block; height: .7em; background: #4477aa; }
.source { display: block; overflow-x: auto; } .source code { white-space: pre; }
.source td:nth-child(4) { text-align: left; } .source th { color: #666; }
.source tr.chosen { outline: 2px solid #4477aa; }
pre { overflow-x: auto; } #chosen { min-height: 1.4em; font-weight: 600; }
"""

_SCRIPT: Final = """
function pyptoChoose(kind, number, left, right) {
  const chosen = document.getElementById('chosen');
  const time = `${left.toFixed(3)} to ${right.toFixed(3)} us`;
  document.querySelectorAll('.chosen').forEach((row) => row.classList.remove('chosen'));
  if (kind === 'task') {
    chosen.textContent = `task ${number}: ${time}`;
    return;
  }
  const [kernel, instruction, shape, pipe, location, source] = PROFILE.sites[number];
  const cycles = ((right - left) * PROFILE.mhz).toFixed(0);
  const what = `${instruction} ${shape} on ${pipe}: ${cycles} cycles, ${time}`;
  chosen.textContent = `${what}; ${source} in ${location}, ${kernel}`;
  const row = document.getElementById(location);
  if (row) {
    row.classList.add('chosen');
    row.scrollIntoView({block: 'nearest'});
  }
}
"""
