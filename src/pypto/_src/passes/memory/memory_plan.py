"""The memory plan of a program: which bytes each tile has and when, as text and as a drawing.

Reads the addresses of a compiled program, or plans those that it does not have yet. Makes none of
the decisions of the passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from pypto._src.analysis.liveness import Range
from pypto._src.analysis.stmt_tree import Block, number, points_in
from pypto._src.errors import MemoryPlanError
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import const_value
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.types import Type
from pypto._src.ops.layout import round_up
from pypto._src.passes.memory.memory_reuse import Buffer, allocated, buffers
from pypto._src.records import NamedTuple
from pypto._src.targets import A2A3, Memory, Target


class Lines(NamedTuple):
    """The lines of one file on which a buffer is live."""

    file: str  # "" for the file of the kernel
    first: int
    last: int

    def __str__(self) -> str:
        """Return the file, unless it is the kernel's, and the lines."""
        return f"{PurePath(self.file).name} {self.first}-{self.last}".lstrip()


class PlannedBuffer(NamedTuple):
    """One buffer: its tiles, its bytes, and the source lines on which it is live."""

    names: tuple[str, ...]  # of its tiles, in order of definition
    text: str  # shape and element type of the first
    address: int  # of the first byte
    size: int  # bytes
    times: Range  # statement p reads at 2p and writes at 2p + 1
    lines: tuple[int, int]  # first and last of the kernel's file; (0, 0) where there are none
    elsewhere: tuple[Lines, ...] = ()  # in the files of inlined functions
    padding: int = 0  # bytes that hold no elements of its tiles

    @property
    def note(self) -> str:
        """The cost of padding, "" if there is none."""
        if not self.padding:
            return ""
        share = 100 * self.padding / self.size
        return f"{self.padding:,} bytes of padding ({share:.0f} %)"

    @property
    def line_ranges(self) -> str:
        """The lines of all files, "" where the program has no source."""
        own = [Lines("", *self.lines)] if self.lines[0] else []
        return ", ".join(map(str, (*own, *self.elsewhere)))


class SpacePlan(NamedTuple):
    """The buffers of one memory in one kernel."""

    space: MemorySpace
    usable: int  # bytes
    buffers: tuple[PlannedBuffer, ...]  # in order of definition
    height: int  # bytes from the bottom to the top of the highest buffer
    bound: int  # bytes; no plan is lower

    @property
    def optimal(self) -> bool:
        """True if no plan is lower."""
        return self.height == self.bound

    @property
    def fits(self) -> bool:
        """True if the memory is large enough."""
        return self.height <= self.usable


class KernelPlan(NamedTuple):
    """The memories of one kernel that hold tiles."""

    kernel: str
    spaces: tuple[SpacePlan, ...]
    length: int  # times from 0 up to this one


class MemoryPlan:
    """Which bytes of on-chip memory each tile of a program has, and when."""

    def __init__(self, kernels: Sequence[KernelPlan]) -> None:
        self.kernels = tuple(kernels)

    @classmethod
    def of(cls, program: Program, target: Target = A2A3, *, planner: str = "") -> MemoryPlan:
        """Return the plan of a program in which tiles have memory references.

        By default that is the program's own plan: after AllocateMemoryAddr the one that the
        generated code uses. ``planner`` computes another one from the lifetimes: ``"fast"`` (first
        fit) or ``"exact"`` (the lowest that is found, with a proven bound).

        Raises:
            MemoryPlanError: tiles have no memory references yet.
            ValueError: there is no such planner.
        """
        if planner not in ("", "fast", "exact"):
            raise ValueError(f"planner is {planner!r}, wanted 'fast' or 'exact'")
        kernels = [f for f in program.functions_ if role(f) is Role.KERNEL]
        return cls([_kernel_plan(f, target, planner) for f in kernels])

    @property
    def fits(self) -> bool:
        """True if every memory of every kernel is large enough."""
        return all(space.fits for kernel in self.kernels for space in kernel.spaces)

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return the plan as text: a table of the buffers, and a map of address by time."""
        return "\n".join(line for kernel in self.kernels for line in _kernel_text(kernel))

    def as_data(self) -> list[dict[str, Any]]:
        """Return the plan as lists, dictionaries, strings and numbers."""
        return [
            {
                "kernel": kernel.kernel,
                "memory": plan.space.name,
                "usable": plan.usable,
                "height": plan.height,
                "bound": plan.bound,
                "buffers": [
                    {
                        "tiles": list(each.names),
                        "type": each.text,
                        "address": each.address,
                        "bytes": each.size,
                        "padding": each.padding,
                        "lines": list(each.lines),
                        "elsewhere": [part._asdict() for part in each.elsewhere],
                        "times": [list(segment) for segment in each.times],
                    }
                    for each in plan.buffers
                ],
            }
            for kernel in self.kernels
            for plan in kernel.spaces
        ]

    def html(self) -> str:
        """Return the plan as one HTML page: a map of address by time for each memory."""
        parts = [part for kernel in self.kernels for part in _kernel_html(kernel)]
        return "\n".join((_PAGE_HEAD, *parts, "</body></html>", ""))

    def _repr_html_(self) -> str:
        return self.html()


# --------------------------------------------------------------------------------------------
# From a function
# --------------------------------------------------------------------------------------------


def _kernel_plan(function: Function, target: Target, planner: str) -> KernelPlan:
    root = number(function)
    lines = _lines(function, root)
    spaces = [
        _space_plan(space, found, target.memories[space], planner, lines)
        for space, found in sorted(buffers(function, root).items(), key=lambda each: each[0].value)
    ]
    if not spaces:
        _check_references(function, root)
    return KernelPlan(function.name, tuple(spaces), 2 * root.end + 1)


def _check_references(function: Function, root: Block) -> None:
    for point in points_in(root):
        kind = getattr(getattr(point.stmt, "var", None), "type", None)
        if isinstance(kind, TileType) and kind.memref is None:
            raise MemoryPlanError(
                f"the tiles of kernel {function.name!r} have no memory references yet",
                point.stmt.span,
                hint="plan the compiled program: runtime.compile(program).memory_plan",
                slug="no-plan",
            )


def _lines(function: Function, root: Block) -> list[_Line]:
    """Return file and source line of each statement number; line 0 if there is none."""
    lines: list[_Line] = [("", 0)] * (root.end + 2)
    own = function.span.filename
    for point in points_in(root):
        span = point.stmt.span
        own = own or span.filename
        if span.begin_line > 0:
            lines[point.begin] = ("" if span.filename == own else span.filename, span.begin_line)
    return lines


_Line: TypeAlias = tuple[str, int]


def _space_plan(
    space: MemorySpace,
    found: Sequence[Buffer],
    memory: Memory,
    planner: str,
    lines: Sequence[_Line],
) -> SpacePlan:
    held = [const_value(b.memref.addr_) for b in found]
    best = allocated(found, memory, exact=planner != "fast")
    addresses = best.addresses
    if not planner and all(a is not None and a >= 0 for a in held):
        addresses = tuple(int(a or 0) for a in held)
    planned = [_planned(b, a, lines) for b, a in zip(found, addresses, strict=True)]
    tops = (
        a + round_up(b.memref.size_, memory.align_bytes)
        for a, b in zip(addresses, found, strict=True)
    )
    return SpacePlan(space, memory.usable_bytes, tuple(planned), max(tops, default=0), best.bound)


def _planned(buffer: Buffer, address: int, lines: Sequence[_Line]) -> PlannedBuffer:
    kind = buffer.tiles[0].type
    assert isinstance(kind, TileType)
    shape = ", ".join(python_print(dim) for dim in kind.shape)
    names = tuple(dict.fromkeys(tile.name for tile in buffer.tiles))
    needed: dict[str, list[int]] = {}
    for begin, end in buffer.range:
        for file, line in lines[begin // 2 : end // 2 + 1]:
            if line > 0:
                needed.setdefault(file, []).append(line)
    ranges = {file: (min(found), max(found)) for file, found in needed.items()}
    return PlannedBuffer(
        names,
        f"[{shape}] {kind.dtype.member}",
        address,
        buffer.memref.size_,
        buffer.range,
        ranges.pop("", (0, 0)),
        tuple(Lines(file, *ranges[file]) for file in sorted(ranges)),
        buffer.memref.size_ - max(_bytes_of_elements(tile.type) for tile in buffer.tiles),
    )


def _bytes_of_elements(kind: Type) -> int:
    assert isinstance(kind, TileType)
    return math.prod(static_shape(kind) or ()) * kind.dtype.get_bit() // 8


# --------------------------------------------------------------------------------------------
# Text
# --------------------------------------------------------------------------------------------

_COLUMNS: Final = 64
_ROWS: Final = 16
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _kernel_text(kernel: KernelPlan) -> Iterator[str]:
    for plan in kernel.spaces:
        yield f"{kernel.kernel}, {plan.space.name}: {_summary(plan)}"
        for letter, each in zip(_letters(), plan.buffers, strict=False):
            when = f", lines {each.line_ranges}" if each.line_ranges else ""
            note = f", {each.note}" if each.note else ""
            what = f"{', '.join(each.names)}: {each.text}{note}{when}"
            yield f"  {letter} {each.address:#08x} +{each.size:<7} {what}"
        yield from (f"  {row}" for row in _map(plan, kernel.length))


def _letters() -> Iterator[str]:
    yield from _LETTERS
    while True:
        yield "#"


def _summary(plan: SpacePlan) -> str:
    share = 100 * plan.height / plan.usable
    proof = "no plan is lower" if plan.optimal else f"no plan is lower than {plan.bound:,}"
    return f"{plan.height:,} of {plan.usable:,} bytes ({share:.0f} %), {proof}"


def _map(plan: SpacePlan, length: int) -> list[str]:
    """Return rows of letters: the highest addresses at the top, time from left to right."""
    columns, rows = min(_COLUMNS, length + 1), min(_ROWS, max(len(plan.buffers), 1) * 2)
    grid = [["."] * columns for _ in range(rows)]
    for letter, each in zip(_letters(), plan.buffers, strict=False):
        low = each.address * rows // max(plan.height, 1)
        high = max(-(-(each.address + each.size) * rows // max(plan.height, 1)), low + 1)
        for begin, end in each.times:
            left, right = (t * columns // (length + 1) for t in (begin, end))
            for row in grid[low:high]:
                row[left : right + 1] = letter * (right + 1 - left)
    return ["".join(row) for row in reversed(grid)]


# --------------------------------------------------------------------------------------------
# HTML
# --------------------------------------------------------------------------------------------

_PAGE_HEAD: Final = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Memory plan</title>
<style>
:root { color-scheme: light dark; --back: light-dark(#fff, #16181d) }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; background: var(--back) }
body { color: light-dark(#222, #dfe2e6) }
svg { display: block; width: 100%; height: 320px; border: 1px solid light-dark(#ccc, #3a3f4b) }
svg { background: light-dark(#f4f4f4, #1f2229) }
rect { stroke: var(--back); stroke-width: 1; vector-effect: non-scaling-stroke }
rect:hover { opacity: 0.6 }
table { border-collapse: collapse; margin: 0.5em 0 2em }
td, th { padding: 0.1em 0.8em; text-align: right }
td:first-child, th:first-child { text-align: left }
</style></head><body>"""


def _kernel_html(kernel: KernelPlan) -> Iterator[str]:
    for plan in kernel.spaces:
        yield f"<h2>{escape(kernel.kernel)}, {plan.space.name}</h2>"
        yield f"<p>{_summary(plan)}. Time runs from left to right, addresses grow upwards.</p>"
        height = max(plan.height, plan.usable if not plan.fits else 0, 1)
        yield f'<svg viewBox="0 0 {kernel.length + 1} {height}" preserveAspectRatio="none">'
        for index, each in enumerate(plan.buffers):
            yield from _rectangles(each, height, index * 137 % 360)
        yield "</svg>"
        yield "<table><tr><th>tiles</th><th>type</th><th>address</th><th>bytes</th>"
        yield "<th>padding</th><th>lines</th></tr>"
        for each in plan.buffers:
            size = f"{each.size:,}"
            padding = f"{each.padding:,}" if each.padding else ""
            names, address = ", ".join(each.names), f"{each.address:#x}"
            cells = (names, each.text, address, size, padding, each.line_ranges)
            row = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            yield f"<tr>{row}</tr>"
        yield "</table>"


def _rectangles(each: PlannedBuffer, height: int, hue: int) -> Iterator[str]:
    title = escape(f"{', '.join(each.names)}: {each.text}, {each.address:#x} +{each.size:,}")
    for begin, end in each.times:
        yield (
            f'<rect x="{begin}" y="{height - each.address - each.size}" width="{end + 1 - begin}" '
            f'height="{each.size}" fill="hsl({hue} 60% 60%)"><title>{title}</title></rect>'
        )
