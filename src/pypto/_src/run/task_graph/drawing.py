"""Draws the tasks of a run, or the calls of a program: as text, as SVG, or as a page with both.

Owns what a drawing looks like. Decides nothing about tasks. The same tasks give the same drawing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from pypto._src.diagnostics import counted
from pypto._src.run.calls import CallRow, Calls
from pypto._src.run.task_graph.tasks import RAW, WAR, WAW, Part, TaskNode, Tasks, Wait

# ----- text ---------------------------------------------------------------------------------


def summary(tasks: Tasks) -> str:
    """Return the numbers of tasks, of levels, and of tasks of each kernel."""
    waits = sum(len(node.waits) for node in tasks.nodes)
    counts = ", ".join(f"{count} {name}" for name, count in tasks.counts.items())
    return (
        f"{tasks.entry}: {counted(len(tasks.nodes), 'task')} in "
        f"{counted(len(tasks.levels), 'level')}, {counted(waits, 'dependence')}"
        + (f"\n  {counts}" if counts else "")
    )


def as_text(tasks: Tasks) -> str:
    """Return the tasks by level, each with its regions and with what it waits for."""
    lines = [summary(tasks)]
    for level, nodes in enumerate(tasks.levels):
        lines += ["", f"level {level}: {counted(len(nodes), 'task')}"]
        for node in nodes:
            lines += _task_lines(node, tasks)
    return "\n".join(lines) + "\n"


def _task_lines(node: TaskNode, tasks: Tasks) -> Iterator[str]:
    yield f"  {_label(node)}" + (f"  {node.location}" if node.location is not None else "")
    for verb, parts in (("reads", node.reads), ("writes", node.writes)):
        if parts:
            yield f"    {verb} {_list(parts)}"
    for before, waits in _by_task(node.waits):
        reasons = ", ".join(f"{wait.kind} {wait.part}" for wait in waits)
        yield f"    after t{before} {tasks.nodes[before].name}: {reasons}"


def _label(node: TaskNode) -> str:
    scalars = ", ".join(f"{name}={value}" for name, value in node.scalars)
    return f"t{node.number} {node.name}" + (f"({scalars})" if scalars else "")


def _list(parts: Sequence[Part]) -> str:
    return ", ".join(map(str, parts))


def _by_task(waits: Sequence[Wait]) -> list[tuple[int, list[Wait]]]:
    found: dict[int, list[Wait]] = {}
    for wait in waits:
        found.setdefault(wait.before, []).append(wait)
    return sorted(found.items())


# ----- SVG ----------------------------------------------------------------------------------

_COLUMN: Final = 220  # from one level to the next, in pixels
_ROW: Final = 44  # from one task of a level to the next
_WIDTH, _HEIGHT = 140, 30  # of a task
_LEFT, _TOP = 20, 84  # of the first task

_FILLS: Final = (
    "#cfe3ff",
    "#d5f0d3",
    "#ffe2bd",
    "#f6d3e4",
    "#e2d8f7",
    "#cdeeee",
    "#f3ecb4",
    "#e3e3e3",
)
_STROKES: Final = {RAW: "#1f4e9c", WAW: "#c2571a", WAR: "#8a8a8a"}
_MEANINGS: Final = {
    RAW: "RAW: reads what was written",
    WAW: "WAW: writes again what was written",
    WAR: "WAR: writes what was read",
}


def as_svg(tasks: Tasks) -> str:
    """Return a drawing: a column for each level, a line for each pair of ordered tasks.

    Tooltips list the regions.
    """
    rows = _rows(tasks)
    positions = {
        node.number: (_LEFT + node.level * _COLUMN, _TOP + rows[node.number] * _ROW)
        for node in tasks.nodes
    }
    width = max(_LEFT * 2 + (len(tasks.levels) - 1) * _COLUMN + _WIDTH, 780)
    height = _TOP + (max(rows, default=-1) + 1) * _ROW + 10
    lines = [*_page(tasks.entry, width, height), *_head(tasks)]
    for node in tasks.nodes:
        for before, waits in _by_task(node.waits):
            lines.append(_curve(positions[before], positions[node.number], node, tasks, waits))
    fills = {name: _FILLS[i % len(_FILLS)] for i, name in enumerate(tasks.counts)}
    lines += [_box(node, positions[node.number], fills[node.name]) for node in tasks.nodes]
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _rows(tasks: Tasks) -> list[int]:
    """Return the row of each task: the average of those it waits for, or the next free one."""
    rows = [0] * len(tasks.nodes)
    for nodes in tasks.levels:
        wanted: list[tuple[float, int]] = []
        for node in nodes:
            before = [rows[number] for number, _ in _by_task(node.waits)]
            wanted.append((sum(before) / len(before) if before else 0, node.number))
        free = 0
        for row, number in sorted(wanted):
            rows[number] = max(free, int(row))
            free = rows[number] + 1
    return rows


def _page(title: str, width: int, height: int) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    )
    yield f"<title>{escape(title)}</title>"
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'


def _head(tasks: Tasks) -> Iterator[str]:
    first, _, counts = summary(tasks).partition("\n  ")
    yield f'<text x="{_LEFT}" y="22" font-size="15" font-weight="bold">{escape(first)}</text>'
    yield f'<text x="{_LEFT}" y="40">{escape(counts)}</text>'
    for index, (kind, meaning) in enumerate(_MEANINGS.items()):
        x = _LEFT + index * 260
        yield f'<path d="M{x} 56h24" stroke="{_STROKES[kind]}"{_dashes(kind)} stroke-width="1.5"/>'
        yield f'<text x="{x + 30}" y="60">{meaning}</text>'


def _dashes(kind: str) -> str:
    return ' stroke-dasharray="4 3"' if kind == WAR else ""


def _box(node: TaskNode, position: tuple[int, int], fill: str) -> str:
    x, y = position
    stroke = ' stroke-dasharray="2 2"' if node.is_host else ""
    lines = [_label(node), *([node.location] if node.location is not None else [])]
    lines += [f"reads {_list(node.reads)}"] if node.reads else []
    lines += [f"writes {_list(node.writes)}"] if node.writes else []
    return (
        f"<g><title>{escape(chr(10).join(lines))}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="{fill}" '
        f'stroke="#444444"{stroke}/>'
        f'<text x="{x + 8}" y="{y + 19}">t{node.number} {escape(_short(node.name))}</text></g>'
    )


def _short(name: str) -> str:
    return name if len(name) <= 16 else f"{name[:15]}\N{HORIZONTAL ELLIPSIS}"


def _curve(
    start: tuple[int, int],
    end: tuple[int, int],
    node: TaskNode,
    tasks: Tasks,
    waits: Sequence[Wait],
) -> str:
    x0, y0 = start[0] + _WIDTH, start[1] + _HEIGHT // 2
    x1, y1 = end[0], end[1] + _HEIGHT // 2
    bend = max(30, (x1 - x0) // 2)
    lift = 0 if x1 - x0 < _COLUMN else 28  # over the boxes between them
    kind = next(k for k in _STROKES if any(wait.kind == k for wait in waits))
    before = tasks.nodes[waits[0].before]
    reasons = [f"{wait.kind} {wait.part}" for wait in waits]
    title = "\n".join([f"t{before.number} {before.name}, t{node.number} {node.name}", *reasons])
    style = f'fill="none" stroke="{_STROKES[kind]}"{_dashes(kind)}'
    return (
        f'<path d="M{x0} {y0}C{x0 + bend} {y0 - lift} {x1 - bend} {y1 - lift} {x1} {y1}" '
        f"{style}><title>{escape(title)}</title></path>"
    )


# ----- calls --------------------------------------------------------------------------------


def calls_as_text(calls: Calls) -> str:
    """Return the calls, nested in their loops and branches."""
    lines = [_calls_title(calls)]
    for row in calls.rows:
        indent = "  " * (row.depth + 1)
        lines.append(
            f"{indent}{row.text}" + (f"  {row.location}" if row.location is not None else "")
        )
        lines += [f"{indent}  {detail}" for detail in row.details]
    return "\n".join(lines) + "\n"


def _calls_title(calls: Calls) -> str:
    return f"{calls.entry}: {counted(sum(row.is_call for row in calls.rows), 'call')}"


def calls_as_svg(calls: Calls) -> str:
    """Return a drawing: a box for each call, and frames for the loops and branches."""
    width = _LEFT * 2 + 24 * max((row.depth for row in calls.rows), default=0) + 640
    tops = [44]
    for row in calls.rows:
        tops.append(tops[-1] + (max(40, 14 * len(row.details) + 12) if row.is_call else 32))
    lines = list(_page(calls.entry, width, tops[-1] + 20))
    title = escape(_calls_title(calls))
    lines.append(f'<text x="{_LEFT}" y="22" font-size="15" font-weight="bold">{title}</text>')
    names = sorted({row.text for row in calls.rows if row.is_call})
    fills = {name: _FILLS[i % len(_FILLS)] for i, name in enumerate(names)}
    for index, row in enumerate(calls.rows):
        x, y = _LEFT + 24 * row.depth, tops[index]
        if row.is_call:
            lines += _call_lines(row, x, y, fills[row.text])
            continue
        height = tops[_end(calls, index)] - y - 4
        lines.append(
            f'<rect x="{x}" y="{y}" width="{width - _LEFT - x - 8 * row.depth}" '
            f'height="{height}" rx="5" fill="none" stroke="#8a8a8a"/>'
        )
        lines.append(f'<text x="{x + 8}" y="{y + 19}">{escape(row.text)}</text>')
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _call_lines(row: CallRow, x: int, y: int, fill: str) -> Iterator[str]:
    yield (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="{fill}" '
        'stroke="#444444"/>'
    )
    yield f'<text x="{x + 8}" y="{y + 19}">{escape(_short(row.text))}</text>'
    for index, detail in enumerate(row.details):
        yield (
            f'<text x="{x + _WIDTH + 10}" y="{y + 12 + 14 * index}" font-size="11">'
            f"{escape(detail)}</text>"
        )


def _end(calls: Calls, index: int) -> int:
    """Return the number of the first row after a frame."""
    depth = calls.rows[index].depth
    behind = range(index + 1, len(calls.rows))
    return next((i for i in behind if calls.rows[i].depth <= depth), len(calls.rows))


# ----- pages --------------------------------------------------------------------------------


def draw(drawn: Tasks | Calls, suffix: str) -> str:
    """Return the text of a file with the suffix ``.svg`` or ``.html``; of any other, plain text."""
    is_run = isinstance(drawn, Tasks)
    if suffix == ".svg":
        return as_svg(drawn) if is_run else calls_as_svg(drawn)
    text = as_text(drawn) if is_run else calls_as_text(drawn)
    return _html(drawn.entry, draw(drawn, ".svg"), text) if suffix == ".html" else text


def _html(entry: str, svg: str, text: str) -> str:
    """Return a page with the drawing and, below it, the text."""
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>Tasks of {escape(entry)}</title>\n"
        "<style>svg path:hover { stroke-width: 3 } svg g:hover rect { stroke-width: 2 }</style>\n"
        f"</head>\n<body>\n{svg}<pre>\n{escape(text)}</pre>\n</body>\n</html>\n"
    )
