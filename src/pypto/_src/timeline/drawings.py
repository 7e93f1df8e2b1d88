"""The drawings of a profile's page: timeline, memory map and roofline, by Bokeh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.lazy import lazy_module
from pypto._src.records import NamedTuple
from pypto._src.targets import A2A3
from pypto._src.timeline.memory_map import Occupied, occupied
from pypto._src.timeline.profile import Profile
from pypto._src.timeline.roofline import Position
from pypto._src.timeline.schedule import CUBE, HOST, TaskRun

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

MOST_EVENTS: Final = 100_000
"""The most instructions that are drawn: the page stays below 3 MB."""

MOST_CORES: Final = 8
"""The most cores that get a lane for each pipe; the others get one lane for their tasks."""

MOST_TILES: Final = 4_000
"""The most address ranges that are drawn for a core."""

_COLOURS: Final = {
    PipeType.S: "#7f7f7f",
    PipeType.MTE2: "#4477aa",
    PipeType.MTE1: "#66ccee",
    PipeType.M: "#ee6677",
    PipeType.V: "#228833",
    PipeType.FIX: "#aa3377",
    PipeType.MTE3: "#ccbb44",
}
"""The pipes from top to bottom: in, work, out; the colour-blind can tell the colours apart."""
_LANE: Final = 14  # pixels
_HEIGHT: Final = 0.8  # of a bar, in lanes
_CLOSE: Final = 0.4  # lanes between neighbouring cores of which only tasks are drawn
_TASK_COLOUR: Final = "#bbbbbb"
_TEXT_COLOUR: Final = "#7d838c"
"""Of text and lines: of middle brightness, as pages are white or dark."""


class Shown(NamedTuple):
    """What is drawn of a run."""

    tasks: tuple[TaskRun, ...]
    """All of them."""
    detailed: tuple[TaskRun, ...]
    """Those whose instructions are drawn."""
    cores: int
    """The number of cores that these run on."""


def shown(profile: Profile) -> Shown:
    """Return what is drawn: cores on the critical path first, then by when they begin."""
    critical = set(profile.critical)
    runs = [run for run in profile.runs if run.core_kind != HOST]
    runs.sort(key=lambda run: (run.node.number not in critical, run.start, run.node.number))
    cores = dict.fromkeys(_core(run) for run in runs)
    chosen = set(list(cores)[:MOST_CORES])
    detailed: list[TaskRun] = []
    left = MOST_EVENTS
    for run in runs:
        if _core(run) in chosen and run.timeline is not None:
            left -= len(run.timeline.events)
            if left < 0 and detailed:
                break
            detailed.append(run)
    return Shown(tuple(runs), tuple(detailed), len(chosen))


def timeline(profile: Profile, drawn: Shown, x_range: Any, of: str = "") -> Any:
    """Return the drawing: a lane for each pipe of some cores, and one for the tasks of each.

    ``of`` is the prefix of the kind of thing that a click reports.
    """
    plotting: Any = import_module("bokeh.plotting")
    models: Any = import_module("bokeh.models")
    lanes = _lanes(profile, drawn)
    scale = 1 / profile.mhz
    figure = plotting.figure(
        height=max(160, round(70 + _LANE * lanes.end)),
        x_axis_label="microseconds since the launch",
        x_axis_location="above",
        x_range=x_range,
        y_range=models.Range1d(lanes.end, -0.6),
        **_TOOLS,
    )
    _quiet(figure)
    figure.yaxis.ticker = list(lanes.names)
    figure.yaxis.major_label_overrides = lanes.names
    numbers = lanes.at
    begin = profile.launch
    rows: dict[PipeType, list[_Bar]] = {}
    for run in drawn.detailed:
        assert run.timeline is not None
        for event in run.timeline.events:
            pipe = profile.sites[event.site].pipe
            lane = numbers.get((*_core(run), pipe.name))
            if lane is not None:
                start = run.start + begin
                bar = ((start + event.start) * scale, (start + event.end) * scale, lane, event.site)
                rows.setdefault(pipe, []).append(bar)
    for pipe, colour in _COLOURS.items():
        if pipe in rows:
            _bars(figure, rows[pipe], colour, f"{of}site")
    detailed = {_core(run) for run in drawn.detailed}
    for height, is_detailed in ((_HEIGHT, True), (_CLOSE * _HEIGHT, False)):
        tasks = [
            (
                (run.start + begin) * scale,
                (run.end + begin) * scale,
                numbers[*_core(run), ""],
                run.node.number,
            )
            for run in drawn.tasks
            if (_core(run) in detailed) is is_detailed
        ]
        if tasks:
            _bars(figure, tasks, _TASK_COLOUR, f"{of}task", height)
    _critical(figure, profile, drawn.detailed, numbers)
    return figure


def shared_range(*profiles: Profile) -> Any:
    """Return the time axis of all drawings."""
    models: Any = import_module("bokeh.models")
    end = max(1e-3, *(profile.us for profile in profiles))
    return models.Range1d(0, end, bounds=(0, end))


_Bar = tuple[float, float, float, int]
_TOOLS: Final[dict[str, Any]] = {
    "sizing_mode": "stretch_width",
    "tools": "xpan,xwheel_zoom,xbox_zoom,reset",
    "active_scroll": "xwheel_zoom",
    "active_drag": "xpan",
    "output_backend": "canvas",
    "min_border_left": 96,  # so that the time axes of all drawings line up
    "min_border_right": 8,
}


def _quiet(figure: Any) -> None:
    figure.toolbar.logo = None
    figure.toolbar.autohide = True
    figure.yaxis.major_label_text_font_size = "10px"
    figure.xaxis.major_label_text_font_size = "10px"
    figure.xaxis.axis_label_text_font_size = "11px"
    _on_any_page(figure)
    figure.ygrid.grid_line_color = None


def _on_any_page(figure: Any) -> None:
    """Make the background transparent, with text that is readable on white and on dark."""
    figure.background_fill_color = figure.border_fill_color = figure.outline_line_color = None
    for grid in (*figure.xgrid, *figure.ygrid):
        grid.grid_line_color, grid.grid_line_alpha = _TEXT_COLOUR, 0.25
    for axis in (*figure.xaxis, *figure.yaxis):
        axis.major_label_text_color = axis.axis_label_text_color = _TEXT_COLOUR
        axis.axis_line_color = axis.major_tick_line_color = _TEXT_COLOUR
        axis.minor_tick_line_color = _TEXT_COLOUR


def _bars(
    figure: Any, rows: Sequence[_Bar], colour: str, kind: str, height: float = _HEIGHT
) -> None:
    """Draw bars, each with the number of what it stands for, which a click shows."""
    models: Any = import_module("bokeh.models")
    left, right, lane, number = zip(*rows, strict=True)
    source = models.ColumnDataSource(
        {
            "left": np.array(left, np.float32),
            "right": np.array(right, np.float32),
            "lane": np.array(lane, np.float32),
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
    _on_choice(figure, source, bars, kind)


def _critical(
    figure: Any,
    profile: Profile,
    runs: Sequence[TaskRun],
    numbers: Mapping[tuple[str, int, str], float],
) -> None:
    """Draw the critical path: from instruction to instruction through the tasks on it."""
    models: Any = import_module("bokeh.models")
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


class _Lanes(NamedTuple):
    """The positions of the lanes, from top to bottom."""

    at: dict[tuple[str, int, str], float]
    """By kind and number of a core and the name of its pipe, "" for its tasks."""
    names: dict[float, str]
    end: float


def _lanes(profile: Profile, drawn: Shown) -> _Lanes:
    """Return the lanes: first cores with lanes for their pipes, then the others, closer together.

    Cube cores come before the others of their group.
    """
    used: dict[tuple[str, int], set[PipeType]] = {}
    for run in drawn.detailed:
        assert run.timeline is not None
        pipes = used.setdefault(_core(run), set())
        pipes |= {profile.sites[event.site].pipe for event in run.timeline.events}
    cores = dict.fromkeys(_core(run) for run in drawn.tasks)
    others = [core for core in cores if core not in used]
    at: dict[tuple[str, int, str], float] = {}
    names: dict[float, str] = {}
    end = 0.0
    for core in sorted(cores, key=lambda each: (each not in used, each[0] != CUBE, each)):
        kind, number = core
        if core not in used:
            count = sum(each[0] == kind for each in others)
            if f"{count} more {kind}" not in names.values():
                end = max(end, max(names, default=-1.0) + 1)
                names[end] = f"{count} more {kind}"
            at[kind, number, ""] = end
            end += _CLOSE
            continue
        at[kind, number, ""] = end
        names[end] = f"{kind} core {number}"
        for pipe in _COLOURS:
            if pipe in used[core]:
                end += 1
                at[kind, number, pipe.name] = end
                names[end] = pipe.name
        end += 1
    return _Lanes(at, names, end)


class Memory(NamedTuple):
    """The drawing of the memories, with the tiles that a click can choose."""

    core_kind: str
    figure: Any
    tiles: tuple[tuple[str, int, int, int], ...]
    """Name, first byte, size, and the instruction that writes it."""
    is_cut: bool


def memories(profile: Profile, x_range: Any) -> list[Memory]:
    """Return, for each kind of core, what its memories hold in the tasks of the critical path."""
    found: dict[str, list[tuple[float, Occupied]]] = {}
    for number in profile.critical:
        run = profile.runs[number]
        if run.timeline is not None:
            held = found.setdefault(run.core_kind, [])
            start = profile.launch + run.start
            if len(held) <= MOST_TILES:  # one more only shows that there are too many
                held += [(start, each) for each in occupied(run.timeline, profile.sites)]
    made: list[Memory] = []
    first = 0
    for core_kind, held in sorted(found.items()):
        if held:
            made.append(_memory(profile, core_kind, held, x_range, first))
            first += len(made[-1].tiles)
    return made


_TILE_COLOURS: Final = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33")


def _memory(
    profile: Profile,
    core_kind: str,
    held: Sequence[tuple[float, Occupied]],
    x_range: Any,
    first: int,
) -> Memory:
    plotting: Any = import_module("bokeh.plotting")
    models: Any = import_module("bokeh.models")
    spaces = sorted({each.tile.space for _, each in held}, key=lambda space: space.value)
    base = {space: number * 1.15 for number, space in enumerate(spaces)}
    figure = plotting.figure(
        height=70 + 90 * len(spaces),
        x_range=x_range,
        y_range=models.Range1d(-0.1, base[spaces[-1]] + 1.05),
        **_TOOLS,
    )
    _quiet(figure)
    ticks = {at: f"{space.name} 0" for space, at in base.items()}
    ticks |= {at + 1: f"{_kib(space)} KiB" for space, at in base.items()}
    figure.yaxis.ticker = list(ticks)
    figure.yaxis.major_label_overrides = ticks
    for at in base.values():
        band = models.BoxAnnotation(bottom=at, top=at + 1, line_color=None)
        band.fill_color, band.fill_alpha = _TEXT_COLOUR, 0.12
        band.level = "image"
        figure.add_layout(band)
    colours: dict[str, str] = {}
    shown_tiles = held[:MOST_TILES]
    scale = 1 / profile.mhz
    columns: dict[str, list[Any]] = {
        key: [] for key in ("left", "right", "bottom", "top", "colour", "number")
    }
    for number, (start, each) in enumerate(shown_tiles):
        tile = each.tile
        size = _kib(tile.space) * 1024
        colour = colours.setdefault(tile.name, _TILE_COLOURS[len(colours) % len(_TILE_COLOURS)])
        columns["left"].append((start + each.start) * scale)
        columns["right"].append((start + each.end) * scale)
        columns["bottom"].append(base[tile.space] + tile.address / size)
        columns["top"].append(base[tile.space] + (tile.address + tile.size) / size)
        columns["colour"].append(colour)
        columns["number"].append(first + number)
    arrays = {
        key: values if key == "colour" else np.array(values, np.float32)
        for key, values in columns.items()
    }
    source = models.ColumnDataSource(arrays)
    boxes = figure.quad(
        left="left",
        right="right",
        bottom="bottom",
        top="top",
        color="colour",
        source=source,
        line_color="#ffffff",
        line_width=0.5,
        nonselection_alpha=0.55,
    )
    _on_choice(figure, source, boxes, "tile")
    tiles = tuple(
        (f"{e.tile.name} in {e.tile.space.name}", e.tile.address, e.tile.size, e.site)
        for _, e in shown_tiles
    )
    return Memory(core_kind, figure, tiles, len(held) > len(shown_tiles))


def _kib(space: MemorySpace) -> int:
    return A2A3.memories[space].physical_bytes >> 10


def _on_choice(figure: Any, source: Any, glyphs: Any, kind: str) -> None:
    """Make a click on one of the glyphs show what it stands for."""
    models: Any = import_module("bokeh.models")
    code = "const at = source.selected.indices[0];"
    code += f"if (at !== undefined) pyptoChoose('{kind}', source.data.number[at],"
    code += "source.data.left[at], source.data.right[at]);"
    source.selected.js_on_change("indices", models.CustomJS(args={"source": source}, code=code))
    figure.add_tools(models.TapTool(renderers=[glyphs], visible=False))


def roofline(profile: Profile, points: Sequence[Position]) -> Any:
    """Return the drawing: the roof of memory, one for each kernel's pipe, and where kernels are."""
    plotting: Any = import_module("bokeh.plotting")
    figure = plotting.figure(
        height=320,
        sizing_mode="stretch_width",
        max_width=760,
        tools="",
        toolbar_location=None,
        x_axis_type="log",
        y_axis_type="log",
        x_axis_label="operations for each byte of memory",
        y_axis_label="10⁹ operations a second",
        output_backend="canvas",
    )
    _on_any_page(figure)
    intensity = [point.operations / point.bytes for point in points]
    low, high = min(intensity) / 4, max(intensity) * 4
    rate = profile.mhz / 1000  # operations per cycle to 10^9 per second
    memory = profile.memory_rate * rate
    figure.line([low, high], [low * memory, high * memory], color="#4477aa", line_width=2)
    for number, (point, at) in enumerate(zip(points, intensity, strict=True)):
        colour = _TILE_COLOURS[number % len(_TILE_COLOURS)]
        roof = point.operations / point.busy * rate
        reached = point.operations / point.cycles * rate
        figure.line([max(roof / memory, low), high], [roof, roof], color=colour, line_dash="dashed")
        figure.line([at, at], [reached, min(roof, at * memory)], color=_TEXT_COLOUR)
        figure.scatter([at], [reached], size=9, color=colour, line_color=_TEXT_COLOUR)
        figure.text(
            [at],
            [reached],
            [str(number + 1)],
            x_offset=7,
            y_offset=-4 if number % 2 else 14,
            text_font_size="12px",
            text_color=_TEXT_COLOUR,
        )
    return figure
