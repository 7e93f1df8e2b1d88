"""Hints for a kernel whose tiles do not fit: each change is planned before it is suggested.

Tries the cheapest change first: a load that moves down to its first use, then tiles of half as many
rows, a quarter, and so on, then of fewer columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pypto._src.analysis.liveness import Range, is_data, peak
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, call_of, points_in, read_by
from pypto._src.diagnostics import Span
from pypto._src.ir.array_types import TensorType, TileType, same_dims, static_shape
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, MakeTuple, Var
from pypto._src.ir.inspect.source_names import resized, user_line, user_name, user_value
from pypto._src.ir.op_params import INTS
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, Function, Stmt
from pypto._src.ir.traversal.queries import uses
from pypto._src.ops.layout import round_up
from pypto._src.ops.memory import load
from pypto._src.ops.new_tiles import create_tile, full
from pypto._src.passes.memory.dynamic_storage_allocation import Item, plan
from pypto._src.passes.memory.memory_reuse import Buffer
from pypto._src.records import NamedTuple
from pypto._src.targets import Memory

_COPY: Final = re.compile(r"_copy\d+$")  # ends the names that InitMemRef gives to copies


class Live(NamedTuple):
    """A buffer that is live at the peak, and the statement that made its tile."""

    buffer: Buffer
    tile: Var
    maker: Stmt | None

    @property
    def span(self) -> Span:
        return self.tile.span if self.maker is None else self.maker.span

    @property
    def name(self) -> str:
        """The user's name for the tile."""
        name = user_name(self.tile)
        if self.is_scratch:
            return f"the scratch tile of {name}"
        is_copy = _COPY.search(self.tile.name) and not _COPY.search(name)
        return f"a copy of {name}" if is_copy else name

    @property
    def is_scratch(self) -> bool:
        """True if a call in the user's source uses the tile as scratch, and does not make it."""
        name = user_name(self.tile)
        op = None if self.maker is None else op_of(call_of(self.maker))
        if self.maker is None or op is None or (op is not create_tile and op is not full):
            return False
        text = name if "(" in name else user_value(self.maker)
        return text is not None and op.overload not in text

    @property
    def text(self) -> str:
        kind = self.tile.type
        assert isinstance(kind, TileType)
        from pypto._src.ir.text.printer import python_print

        shape = ", ".join(python_print(dim) for dim in kind.shape)
        return f"{self.name}: [{shape}] {kind.dtype.member}, {self.buffer.memref.size_} bytes"


def advice(
    function: Function, root: Block, found: Sequence[Buffer], live: Sequence[Live], memory: Memory
) -> str | None:
    """Return the smallest change after which the tiles of a memory fit, None if none is known."""
    for hint in (_later(function, root, found, live, memory), _smaller(found, live, memory)):
        if hint is not None:
            return hint
    return None


def _needed(items: Sequence[Item], memory: Memory) -> int | None:
    """Return the bytes that items take, None if they do not fit."""
    if peak([(item.range, item.size) for item in items])[0] > memory.usable_bytes:
        return None
    for exact in (False, True):
        height = plan(items, exact=exact).height
        if height <= memory.usable_bytes:
            return height
    return None


def _items(found: Sequence[Buffer], memory: Memory) -> list[Item]:
    return [Item(round_up(b.memref.size_, memory.align_bytes), b.range) for b in found]


# ----- a load moves down ----------------------------------------------------------------------

_MOST_MOVED: Final = 64
"""How many moves of loads are tried."""


def _later(
    function: Function, root: Block, found: Sequence[Buffer], live: Sequence[Live], memory: Memory
) -> str | None:
    constant = {
        param
        for param, direction in zip(function.params, function.param_directions, strict=True)
        if direction is ParamDirection.In
    }
    points = {point.stmt: point for point in points_in(root)}
    items = _items(found, memory)
    index_of = {buffer.memref: index for index, buffer in enumerate(found)}
    # Without the moved buffer, the others must still fit at the peak.
    least = peak([(item.range, item.size) for item in items])[0] - memory.usable_bytes
    large = [each for each in live if items[index_of[each.buffer.memref]].size >= least]
    from pypto._src.ir.text.printer import python_print

    for each in large[:_MOST_MOVED]:
        maker = each.maker
        call = None if maker is None else call_of(maker)
        if (
            maker is None
            or call is None
            or len(each.buffer.tiles) != 1
            or len(each.buffer.range) != 1
        ):
            continue
        if any(is_data(var) and var not in constant for var in uses(read_by(maker))):
            continue
        user = _first_user(points[maker], each.tile)
        if user is None:
            continue
        index = index_of[each.buffer.memref]
        [(_, end)] = each.buffer.range
        moved = list(items)
        moved[index] = Item(items[index].size, Range([(2 * user.begin - 1, end)]))
        needed = _needed(moved, memory)
        if needed is not None:
            where = f"line {user.stmt.span.begin_line}" if user.stmt.span.is_valid() else "its use"
            line = user_line(maker) if isinstance(maker, AssignStmt) else None
            line = line or f"{each.name} = {python_print(call)}"
            return f"move {line} down to just before {where}: then {needed} bytes are needed"
    return None


def _first_user(maker: ProgramPoint, tile: Var) -> ProgramPoint | None:
    """Return the statement of the maker's block that first reads its tile.

    None if that is the next statement.
    """
    for point in maker.block.points[maker.index + 1 :]:
        inside = (uses(read_by(inner.stmt)) for inner in (point, *_below(point)))
        if any(var is tile for found in inside for var in found):
            return None if point.index == maker.index + 1 else point
    return None


def _below(point: ProgramPoint) -> Iterator[ProgramPoint]:
    for block in point.blocks:
        yield from points_in(block)


# ----- smaller tiles --------------------------------------------------------------------------

_MOST_PARTS: Final = 64


def _smaller(found: Sequence[Buffer], live: Sequence[Live], memory: Memory) -> str | None:
    """Return the hint for the largest tile that fits in place of a live one, others cut alike."""
    tried = set[tuple[int, int]]()
    for each in sorted(live, key=_preference):
        kind = each.tile.type
        shape = static_shape(kind) if isinstance(kind, TileType) else None
        if shape is None:
            continue
        for dim in (0, len(shape) - 1):
            if (dim, shape[dim]) in tried:
                continue  # all tiles of this size have been cut already
            tried.add((dim, shape[dim]))
            parts = 2
            while parts <= min(shape[dim], _MOST_PARTS):
                needed = _needed(list(_cut(found, dim, shape[dim], parts, memory)), memory)
                if needed is not None:
                    cut = [*shape]
                    cut[dim] = -(-shape[dim] // parts)
                    what = ("rows", "columns")[dim > 0]
                    part = _part_of_tensor(each.maker, cut, dim)
                    now = f"{each.name} as {_call_with_shape(each.maker, cut, dim)}"
                    return (
                        f"work on {cut[dim]} {what} at a time, {part or now}: then {needed} bytes "
                        "are needed"
                    )
                parts *= 2
    return None


def _cut(
    found: Sequence[Buffer], dim: int, size: int, parts: int, memory: Memory
) -> Iterator[Item]:
    """Yield the buffers with tiles of ``size`` along ``dim`` cut into ``parts``."""
    for buffer in found:
        kind = buffer.tiles[0].type
        shape = static_shape(kind) if isinstance(kind, TileType) else None
        old = buffer.memref.size_
        # A vector of that many rows may be stored as one row of that many columns.
        at = dim if shape is None or shape[dim] == size else len(shape) - 1 - dim
        is_cut = shape is not None and shape[at] == size and (at == dim or shape[dim] == 1)
        new = -(-old * -(-size // parts) // size) if is_cut else old
        yield Item(round_up(new, memory.align_bytes), buffer.range)


def _preference(live: Live) -> tuple[int, bool, bool]:
    """Return the sort key of tiles: large ones first, then those whose call gives the size."""
    return -live.buffer.memref.size_, live.is_scratch, not _is_sized(live.maker)


def _is_sized(maker: Stmt | None) -> bool:
    call = None if maker is None else call_of(maker)
    return call is not None and _sizes(call) is not None


def _sizes(call: Call) -> int | None:
    """Return the operand that gives the shape of a call's result, None if there is none."""
    op = op_of(call)
    for index, param in enumerate(() if op is None else op.operands):
        if param.kind == INTS and param.name in ("shape", "shapes"):
            return index
    return None


def _part_of_tensor(maker: Stmt | None, shape: Sequence[int], dim: int) -> str | None:
    """Return the replacement for a tensor that a region loads implicitly, else None."""
    call = None if maker is None else call_of(maker)
    if maker is None or call is None or op_of(call) is not load:
        return None
    text, whole = user_value(maker), call.args[0]
    is_said = text is None or any(f"{name}(" in text for name in ("load", "slice"))
    tile, tensor = call.type, whole.type
    if is_said or not isinstance(whole, Var):
        return None
    if not isinstance(tile, TileType) or not isinstance(tensor, TensorType):
        return None
    if not same_dims(tile.shape, tensor.shape):
        return None
    cut = f"i:i + {shape[dim]}"
    parts = ", ".join(cut if axis == dim else ":" for axis in range(len(shape)))
    name = user_name(whole)
    return f"{name}[{parts}] for {name}"


def _call_with_shape(maker: Stmt | None, shape: Sequence[int], dim: int) -> str:
    """Return the call of a statement with ``shape``, which is new in ``dim``."""
    call = None if maker is None else call_of(maker)
    index = None if call is None else _sizes(call)
    if call is None or index is None:
        return str(list(shape))
    op, text = op_of(call), None if maker is None else user_value(maker)
    if op is not None and text is not None:
        argument = (op.params.index(op.operands[index]), op.operands[index].name)
        again = resized(text, argument, {dim: shape[dim]})
        if again is not None:
            return again
    args = list(call.args)
    args[index] = MakeTuple(shape)
    from pypto._src.ir.text.printer import python_print

    return python_print(Call(call.op, args, call.kwargs, call.type))
