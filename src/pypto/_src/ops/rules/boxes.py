"""Boxes of tensors and parts of tiles: bounds and contiguity.

A box has an offset and a size for each dimension. Knows no op.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pypto._src.errors import EvaluationError
from pypto._src.ir.array_types import TileType, TileView, same_tile_view, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, as_expr, const_value
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type
from pypto._src.ops.layout import (
    BLOCK_BYTES,
    TRANSPOSED,
    declared_shape,
    effective_view,
    is_column,
    tile_type,
)
from pypto._src.ops.rules.type_rules import (
    called,
    check_operands,
    dims,
    known_size,
    operand_name,
    refuse,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def elements(value: Expr) -> tuple[Expr, ...]:
    """Return the elements of a list operand."""
    assert isinstance(value, MakeTuple)
    return value.elements


# --------------------------------------------------------------------------------------------
# Boxes of tensors
# --------------------------------------------------------------------------------------------


def check_region(o: Operands, tensor: int, first: int, valid: Sequence[Expr] | None = None) -> None:
    """Check a box of a tensor: one offset and one size per dimension, constants within bounds.

    If ``valid`` is given, only that much of the box is read or written.
    """
    kind, offsets, shapes = o.tensor(tensor), o.ints(first), o.ints(first + 1)
    rank, name = len(kind.shape), operand_name(o, tensor)
    if not len(offsets) == len(shapes) == rank:
        refuse(
            o,
            f"{called(o.op)} needs {rank} offsets and {rank} sizes for {name} {dims(kind.shape)}, "
            f"got {len(offsets)} and {len(shapes)}",
            "region-rank",
            shown=(tensor,),
        )
    for axis, (dim, offset, size) in enumerate(zip(kind.shape, offsets, shapes, strict=True)):
        begin, length, limit = const_value(offset), const_value(size), known_size(dim)
        if length is not None and length <= 0:
            refuse(
                o,
                f"{called(o.op)} has the size {length} in dimension {axis}; sizes are positive",
                "tile-shape",
                shown=(tensor,),
            )
        if begin is None:
            if valid is None and length is not None and limit is not None and length > limit:
                refuse(
                    o,
                    f"{called(o.op)} of {length} elements in dimension {axis} is outside {name} "
                    f"{dims(kind.shape)}, wherever it begins",
                    "out-of-bounds",
                    shown=(tensor,),
                )
            continue
        if valid is not None and len(valid) == rank:
            length = const_value(valid[axis])
        end = begin + (length or 0)
        if begin < 0 or (limit is not None and end > limit):
            refuse(
                o,
                f"{called(o.op)} of {begin}:{end} in dimension {axis} is outside {name} "
                f"{dims(kind.shape)}",
                "out-of-bounds",
                shown=(tensor,),
            )


def region(
    array: Array, offsets: Sequence[int], sizes: Sequence[int], verb: str, what: str = "tensor"
) -> Array:
    """Return a box of ``array`` as a view.

    Raises:
        EvaluationError: the box does not lie inside the array.
    """
    shape = array.shape
    parts: list[slice] = []
    for begin, size, limit in zip(offsets, sizes, shape, strict=True):
        end = begin + size
        if begin < 0 or size < 0 or end > limit:
            box = ", ".join(f"{b}:{b + s}" for b, s in zip(offsets, sizes, strict=True))
            raise EvaluationError(f"{verb} [{box}] of a {what} {list(shape)}", slug="out-of-bounds")
        parts.append(slice(begin, end))
    return array[tuple(parts)]


# --------------------------------------------------------------------------------------------
# Parts of tiles
# --------------------------------------------------------------------------------------------


def part_type(o: Operands) -> Type:
    """Return the type of a part of a tile, which may be a part of several rows of a matrix."""
    check_operands(o)
    kind, shape, offset = o.tile(0), o.ints(1), o.ints(2)
    name = operand_name(o, 0)
    rank = len(kind.shape)
    if not len(shape) == len(offset) == rank:
        refuse(
            o,
            f"{called(o.op)} needs {rank} sizes and {rank} offsets for {name} {dims(kind.shape)}, "
            f"got {len(shape)} and {len(offset)}",
            "region-rank",
            shown=(0,),
        )
    whole, part = static_shape(kind), static_shape(TileType(shape, kind.dtype))
    if whole is None or part is None:
        refuse(
            o,
            f"{called(o.op)} takes constant sizes, got {dims(shape)} of {dims(kind.shape)}",
            "tile-shape",
            "pass what varies as offset",
            shown=(0,),
        )
    if is_column(kind):
        row = f"pl.reshape({name}, [1, {math.prod(whole)}])"
        sizes, begin = dims((ConstInt(1), *shape[:1])), dims((ConstInt(0), *offset[:1]))
        refuse(
            o,
            f"{called(o.op)} takes parts of rows, {name} is a column {dims(kind.shape)}",
            "tile-layout",
            f"pl.view({row}, {sizes}, {begin})" if rank == 2 else None,
            shown=(0,),
        )
    if not same_tile_view(effective_view(kind), TileView()):
        refuse(
            o,
            f"{called(o.op)} takes row-major, fully valid tiles",
            "tile-layout",
            shown=(0,),
        )
    _check_bounds(o, whole, part, offset)
    _check_start_alignment(o, whole, part, offset)
    return tile_type(shape, kind, MemorySpace.Vec, "the part")


def _check_bounds(
    o: Operands, whole: Sequence[int], part: Sequence[int], offset: Sequence[Expr]
) -> None:
    for axis, (limit, size, first) in enumerate(zip(whole, part, offset, strict=True)):
        begin = const_value(first)
        if size > limit or (begin is not None and not 0 <= begin <= limit - size):
            at = 0 if begin is None else begin
            refuse(
                o,
                f"{called(o.op)} of {at}:{at + size} in dimension {axis} is outside "
                f"{operand_name(o, 0)} {dims(o.tile(0).shape)}",
                "out-of-bounds",
                shown=(0,),
            )


def is_contiguous(kind: TileType, part: Sequence[int], offset: Sequence[Expr]) -> bool:
    """True if the bytes of a part of a tile are contiguous."""
    whole = static_shape(kind)
    assert whole is not None
    first = next((axis for axis, size in enumerate(part) if size != 1), len(part))
    return part[first + 1 :] == whole[first + 1 :] or _is_row_prefix(kind, part, offset)


def _check_start_alignment(
    o: Operands, whole: Sequence[int], part: Sequence[int], offset: Sequence[Expr]
) -> None:
    """Check that a part starts at a block, or is in a matrix, whose columns can be extracted."""
    kind = o.tile(0)
    if not is_contiguous(kind, part, offset):
        name = operand_name(o, 0)
        if len(part) == 2 and kind.dtype in TRANSPOSED:
            return
        what = f"of {len(part)} dimensions" if len(part) != 2 else f"of {kind.dtype.member}"
        flat = [math.prod(whole[:-1]), whole[-1]]
        refuse(
            o,
            f"{called(o.op)} of a tile {what} takes whole rows, or a part of one row; "
            f"{dims(o.ints(1))} of {name} {dims(kind.shape)} spans parts of several rows",
            "tile-layout",
            f"make it one of two dimensions: pl.reshape({name}, {flat})"
            if len(part) != 2
            else "load the part from its tensor, or store it from there on",
            shown=(0,),
        )
    begin = const_value(offset[-1])  # rows start at a block
    if begin is not None and begin * kind.dtype.bytes % BLOCK_BYTES:
        refuse(
            o,
            f"{called(o.op)} begins at byte {begin * kind.dtype.bytes} of {operand_name(o, 0)}, a "
            f"multiple of {BLOCK_BYTES} was wanted",
            "tile-layout",
            "load the part from its tensor, or store it from there on",
            shown=(0,),
        )


def _is_row_prefix(kind: TileType, part: Sequence[int], offset: Sequence[Expr]) -> bool:
    """True for the first elements of several rows, if they include every block of each row."""
    front = TileType(part, kind.dtype)
    same = not is_column(front) and declared_shape(front)[1] == declared_shape(kind)[1]
    return same and len(part) == 2 and const_value(offset[-1]) == 0


def _linear(shape: Sequence[int], index: Sequence[Any]) -> Any:
    """Return the linear index of an element, for ints or expressions."""
    found: Any = index[0] if index else 0
    for size, each in zip(shape[1:], index[1:], strict=True):
        found = found * size + each
    return found


def row_and_column(call: Call) -> tuple[Expr, Expr]:
    """Return the row and column where a part starts, with all dimensions but the last collapsed."""
    tile, _, offset = call.args
    assert isinstance(tile.type, TileType)
    shape, index = static_shape(tile.type), elements(offset)
    assert shape is not None
    known = [const_value(each) for each in index[:-1]]
    if None not in known:
        return as_expr(_linear(shape[:-1], known)), index[-1]
    return as_expr(_linear(shape[:-1], index[:-1])), index[-1]


def part_of(tile: Array, shape: Sequence[int], offset: Sequence[int]) -> Array:
    begin = offset[-1] * tile.itemsize  # rows start at a block
    if begin % BLOCK_BYTES and math.prod(shape[:-1]) == 1:
        raise EvaluationError(
            f"pl.view begins at byte {begin} of a tile, a multiple of {BLOCK_BYTES} was wanted",
            slug="tile-layout",
        )
    return region(tile, offset, shape, "pl.view takes", "tile")
