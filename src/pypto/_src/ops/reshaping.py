"""Ops that reinterpret tiles in on-chip memory: reshape, bitcast, and transpose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pypto._src.diagnostics import Span
from pypto._src.dtypes import BY_CODE, DataType
from pypto._src.errors import OpError
from pypto._src.ir.array_types import (
    TileType,
    same_dims,
    static_shape,
    valid_part,
)
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, const_value
from pypto._src.ir.interning import unique
from pypto._src.ir.opdef import RESULT, Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import BY_PYTHON_NAME, STORABLE, Axis, Ints, Tile, block_op, target_form
from pypto._src.ops.layout import (
    BLOCK_BYTES,
    TRANSPOSED,
    is_column,
    is_padded,
    is_row,
    round_up,
    rows_and_columns,
    tile_space,
    tile_type,
    with_valid,
)
from pypto._src.ops.rules.type_rules import (
    attribute,
    called,
    check_operands,
    check_same_dtype,
    check_sizes,
    dims,
    known_space,
    operand_name,
    refuse,
    without,
)

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

T = TypeVar("T")


def source_space(call: Call) -> MemorySpace:
    """Return the memory space of operand 0, which a view of it shares."""
    return tile_space(call.args[0])


def _reshape_type(o: Operands) -> Type:
    check_operands(o)
    kind, shape = o.tile(0), o.ints(1)
    check_sizes(o, kind, shape)
    result = TileType(shape, kind.dtype)
    old, new = static_shape(kind), static_shape(result)
    if old is not None and new is not None and math.prod(old) != math.prod(new):
        refuse(
            o,
            f"{called(o.op)} of {math.prod(old)} elements to {dims(shape)}, which has "
            f"{math.prod(new)}",
            "shape-mismatch",
            shown=(0,),
        )
    if not _is_in_mat(o.args[0], kind):
        if not (have_same_rows(kind, result) or _is_transposed_row(kind, result)):
            padded = kind if is_padded(kind) else result
            refuse(
                o,
                f"{called(o.op)} of {dims(kind.shape)} to {dims(shape)} moves elements: rows of "
                f"{dims(padded.shape)} are padded to {BLOCK_BYTES} bytes",
                "tile-layout",
                f"store {operand_name(o, 0)} to a tensor, and load the other shape from there",
                shown=(0,),
            )
        return tile_type(shape, kind, MemorySpace.Vec, "the result")
    if not _has_matrix(shape, kind.shape):
        refuse(
            o,
            f"{called(o.op)} of {dims(kind.shape)} in Mat memory to {dims(shape)}: what lies there "
            "keeps its rows and columns",
            "tile-layout",
            "load the rows and columns that the product takes",
            shown=(0,),
        )
    return tile_type(shape, kind, MemorySpace.Mat, "the result")


def have_same_rows(a: TileType, b: TileType) -> bool:
    """True if two tiles of the same elements in vector memory have the same bytes, with padding.

    Tiles whose size is not constant pass.
    """
    if static_shape(a) is None or static_shape(b) is None:
        return True
    if not (is_padded(a) or is_padded(b)):
        return True
    lines = [rows_and_columns(kind)[:: -1 if is_column(kind) else 1] for kind in (a, b)]
    return lines[0] == lines[1]


def _is_transposed_row(a: TileType, b: TileType) -> bool:
    """True for a column [N, 1] and a row [1, N] of elements that the chip can transpose."""
    if static_shape(a) is None or static_shape(b) is None or a.dtype not in TRANSPOSED:
        return False
    old, new = rows_and_columns(a), rows_and_columns(b)
    return 1 in old and old == new[::-1]


def _as_transpose(call: Call, let: Let) -> Expr | None:
    """Decompose a reshape of a column [N, 1] that does not fill whole blocks.

    y = reshape(x, [1, N])  ->  s = create_tile(...); y = transpose(x, s, 0, 1)
    """
    tile, kind = call.args[0], call.args[0].type
    assert isinstance(kind, TileType)
    assert isinstance(call.type, TileType)
    if kind.tile_view is not None or have_same_rows(kind, call.type):
        return None
    sizes = rows_and_columns(call.type)
    create_tile = BY_PYTHON_NAME["block", "create_tile"]  # avoids an import cycle
    room = [list(scratch_shape(sizes, kind.dtype)), kind.dtype]
    scratch = let("scratch", create_tile.build(room, {}, call.span))
    if len(kind.shape) != 2:
        tile = let("flat", reshape.build([tile, sizes[::-1]], {}, call.span))
    turned = transpose.build([tile, scratch, 0, 1], {}, call.span)
    if len(call.type.shape) == 2:
        return turned
    return reshape.call([let("turned", turned), MakeTuple(call.type.shape)], {}, call.span)


def _as_reshape(call: Call, _let: Let) -> Expr | None:
    """Decompose the transpose of a column [N, 1], or to one: to a reshape of the same bytes."""
    kind = call.args[0].type
    assert isinstance(kind, TileType)
    assert isinstance(call.type, TileType)
    if not (is_column(kind) or is_column(call.type)):
        return None
    return reshape.call([call.args[0], MakeTuple(call.type.shape)], {}, call.span)


def _is_in_mat(tile: Expr, kind: TileType) -> bool:
    """True for a tile in Mat memory; of rows without boxes, only those in Mat have a view."""
    space, view = known_space(tile), kind.tile_view
    row = view is not None and valid_part(kind) is None and is_row(kind.shape)
    return space is MemorySpace.Mat or (space is None and row)


def _has_matrix(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """True if two shapes are the same, except for leading dimensions of 1."""
    small, large = sorted((a, b), key=len)
    front = len(large) - len(small)
    ones = all(const_value(dim) == 1 for dim in large[:front])
    return ones and same_dims(small, large[front:])


def _reshaped_part(o: Operands, kind: Type) -> Type:
    """A partly valid column [N, 1] becomes a row [1, N] with as many valid elements, and back."""
    tile, part = o.tile(0), valid_part(o.tile(0))
    assert part is not None
    assert isinstance(kind, TileType)
    old, new = static_shape(tile), static_shape(kind)
    if old is None or new != old[::-1] or 1 not in old:
        refuse(
            o,
            f"{called(o.op)} of a partly valid tile to {dims(kind.shape)}, and only a column "
            "[N, 1] and a row [1, N] of one another's elements keep the valid ones together",
            "valid-shape",
            f"pl.fillpad({operand_name(o, 0)}) is a whole tile with zeros in the rest",
            shown=(0,),
        )
    return with_valid(kind, part[::-1])


def _reread_type(o: Operands) -> Type:
    kind, target = o.tile(0), BY_CODE[o.axis(2)]
    return tile_type(o.ints(1), TileType(kind.shape, target), MemorySpace.Vec, "the result")


def _reread(tile: Array, shape: Sequence[int], code: int) -> Array:
    return np.ascontiguousarray(tile).reshape(-1).view(BY_CODE[code].numpy).reshape(shape)


def reread(tile: Expr, dtype: DataType, shape: Sequence[Any] | None = None) -> Call:
    """Return a bitcast: a call that reads a tile's bytes as elements of another type, uncopied.

    Args:
        tile: A tile in vector memory.
        dtype: An integer type, like the tile's own.
        shape: The shape of the result, with as many bytes; the tile's if None.
    """
    kind = tile.type
    assert isinstance(kind, TileType)
    new = MakeTuple(kind.shape if shape is None else shape)
    operands = (tile, new, ConstInt(dtype.code(), DataType.INDEX))
    kind = unique(_reread_type(Operands(bitcast_on_target, operands, {})))
    return Call(reshape, operands, {}, kind)


def emit_reshape(site: PtoSite) -> None:
    site.emit(f"{site.dst} = pto.treshape {site.args[0]} : {site.arg_types[0]} -> {site.dst_type}")


@target_form(
    name="reshape",
    pipe=None,
    types=_reread_type,
    dtypes=STORABLE,
    view_of=0,
    space=source_space,
    columns=(0, RESULT),
    numpy=_reread,
    pto=emit_reshape,
    isa=lambda site: site.emit(f"TRESHAPE({site.dst}, {site.args[0]});"),
)
def bitcast_on_target(tile: Tile, shape: Ints, code: Axis) -> Tile:
    """Return the bytes of ``tile`` as elements of the type with the number ``code``."""
    ...


@block_op(
    pipe=None,  # moves nothing
    types=_reshape_type,
    valid=_reshaped_part,
    dtypes=STORABLE,
    view_of=0,
    spaces={0: frozenset({MemorySpace.Vec, MemorySpace.Mat})},
    space=source_space,
    columns=(0, RESULT),
    of_padded=_as_transpose,
    with_scratch=bitcast_on_target,
    numpy=lambda tile, shape: tile.reshape(shape),
    pto=emit_reshape,
    isa="TRESHAPE",
)
def reshape(tile: Tile, shape: Ints) -> Tile:
    """Return the bytes of ``tile`` [R, C] as a tile of ``shape``, which has as many elements.

    Elements keep their row-major order. Nothing is copied. A column [N, 1] reshapes to a row
    [1, N], and back. In Mat memory, where boxes keep their rows and columns, only leading
    dimensions of 1 change: [1, R, C] to [R, C], and back.
    """
    ...


def _transpose_type(o: Operands) -> Type:
    check_operands(o)
    check_same_dtype(o, 0, 1)
    kind, scratch = o.tile(0), o.tile(1)
    rank = len(kind.shape)
    first, second = (int(attribute(o, name)) for name in ("axis1", "axis2"))
    axes = {axis + rank if axis < 0 else axis for axis in (first, second)}
    if len(axes) != 2 or not axes <= set(range(rank)):
        what = "rows and columns of a two-dimensional tile"
        if rank != 2:
            what = f"two dimensions of a tile, got {first} and {second}"
        refuse(o, f"{called(o.op)} swaps {what}", "transpose-axes", None, shown=(0,))
    shape = swapped(kind.shape, first, second)
    result = tile_type(shape, kind, MemorySpace.Vec, "the result")
    if rank == 2:
        _check_scratch(o, result, scratch)
    return result


def swapped(values: Sequence[T], first: int, second: int) -> list[T]:
    """Return ``values`` with two of them swapped."""
    out = list(values)
    out[first], out[second] = out[second], out[first]
    return out


def _is_matrix(call: Call, _let: Let) -> None:
    """Reject a tile of more than two dimensions: the instruction swaps rows and columns."""
    kind = call.args[0].type
    assert isinstance(kind, TileType)
    if len(kind.shape) != 2:
        raise OpError(
            "the targets transpose tiles of two dimensions, this one has the shape "
            f"{dims(kind.shape)}",
            hint=f"transpose one matrix of it after the other, each as {dims(kind.shape[-2:])}",
            slug="transpose-axes",
        )


def _check_scratch(o: Operands, result: TileType, scratch: TileType) -> None:
    """Check the scratch size; the instruction works in columns of 16 elements, of 32 for bytes."""
    shape, room = static_shape(result), static_shape(scratch)
    if shape is None or room is None:
        return
    wanted = scratch_shape(shape, result.dtype)
    if math.prod(room) < math.prod(wanted):
        name = operand_name(o, 1)
        raise OpError(
            f"scratch tile {name} {dims(scratch.shape)} of pl.transpose has {math.prod(room)} "
            f"elements, {math.prod(wanted)} were wanted",
            hint=without(o, 1, ", 0, 1"),
            slug="scratch-size",
        )


def scratch_shape(result: Sequence[int], dtype: DataType) -> tuple[int, int]:
    """Return the shape of the scratch tile for a `transpose` to ``result`` [C, R]."""
    return result[0], round_up(result[1], 32 if dtype.bytes == 1 else 16)


def _own_scratch(
    args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Insert a new scratch tile after the tile in ``transpose(tile, axis1, axis2)``."""
    by_axes = len(args) > 1 or "axis1" in kwargs
    given = "tmp_tile" in kwargs or (
        len(args) > 1 and isinstance(args[1], Expr) and isinstance(args[1].type, TileType)
    )
    tile = args[0] if args else kwargs.get("tile")
    kind = tile.type if isinstance(tile, Expr) else None
    if given or not by_axes or not isinstance(kind, TileType):
        return args, kwargs
    shape = static_shape(kind)
    if shape is None or len(shape) < 2:
        return args, kwargs
    room = list(scratch_shape(shape[-2:][::-1], kind.dtype))
    create_tile = BY_PYTHON_NAME["block", "create_tile"]  # avoids an import cycle
    scratch = create_tile.build([room, kind.dtype], {}, span)
    if not args:
        return args, {**kwargs, "tmp_tile": scratch}
    return [args[0], scratch, *args[1:]], kwargs


@block_op(
    types=_transpose_type,
    complete=_own_scratch,
    decomposition=_is_matrix,
    of_padded=_as_reshape,
    dtypes=TRANSPOSED,
    reads=(0,),
    writes=(1,),
    in_place=(),
    numpy=lambda tile, _scratch, axis1=0, axis2=1: np.ascontiguousarray(
        np.swapaxes(tile, axis1, axis2)
    ),
    pto="pto.ttrans",
    isa="TTRANS",
)
def transpose(tile: Tile, tmp_tile: Tile, axis1: int = 0, axis2: int = 1) -> Tile:
    """Return ``tile`` [R, C] with rows and columns swapped: [C, R].

    In a tile of more than two dimensions, two of them are swapped, which no target executes.

    ``tmp_tile`` is a scratch tile of the same element type for [C, R] elements, with R rounded up
    to 16 (to 32 for elements of one byte); ``transpose(tile, 0, 1)`` creates one. Operands of a
    matrix product are transposed by `move` instead.
    """
    ...
