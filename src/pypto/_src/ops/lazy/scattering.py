"""Scattering elements by a tile of indices.

The vector unit indexes the elements of a whole tile in row-major order, and clears all others. So
ops that keep the others scatter ones to the same indices of a second tile, and use it as a mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TileType, same_dims, static_shape
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr, const_value
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.compare_select import sel
from pypto._src.ops.define import Axis, Tile, block_op, target_form
from pypto._src.ops.elementwise import adds, cast, muls
from pypto._src.ops.layout import is_padded, tile_type
from pypto._src.ops.lazy.indexing import INDICES, MOVABLE, arange, flat_indices, pattern
from pypto._src.ops.new_tiles import create_tile, full
from pypto._src.ops.promotion.casts import signed
from pypto._src.ops.reduce import col_expand, row_expand_add
from pypto._src.ops.reshaping import emit_reshape, reread, reshape
from pypto._src.ops.rules.type_rules import (
    attribute,
    called,
    check_element,
    check_same_dtype,
    dims,
    operand_name,
    refuse,
)

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
_MAX_16_BIT_INDEX: Final = 2**15
"""How many elements the indices of 16-bit elements, which have 16 bits, can address."""


def _check(o: Operands, target: int, source: int, indices: int | None) -> None:
    """Check for tiles of two constant dimensions and equal element types, and for valid indices."""
    check_element(o.op, operand_name(o, target), o.tile(target).dtype)
    check_same_dtype(o, target, source)
    for index in (target, source, *([] if indices is None else [indices])):
        if static_shape(o.tile(index)) is None or len(o.tile(index).shape) != 2:
            refuse(
                o,
                f"{called(o.op)} takes tiles of two constant dimensions, {operand_name(o, index)} "
                f"has the shape {dims(o.tile(index).shape)}",
                "tile-rank",
                shown=(index,),
            )
    kind, name = o.tile(target), operand_name(o, target)
    if is_padded(kind):
        refuse(
            o,
            f"{called(o.op)} counts elements by their index in {name}, and rows of "
            f"{dims(kind.shape)} are padded to 32 bytes",
            "tile-layout",
            shown=(target,),
        )
    rows, columns = static_shape(kind) or (0, 0)
    if kind.dtype.bytes == 2 and kind.dtype is not D.BF16 and rows * columns > _MAX_16_BIT_INDEX:
        refuse(
            o,
            f"{called(o.op)} counts {_MAX_16_BIT_INDEX} elements of 16 bits, "
            f"{name} has {rows * columns}",
            "tile-shape",
            f"pl.cast({name}, pl.FP32)" if kind.dtype.is_float() else None,
            shown=(target,),
        )
    if indices is not None and o.tile(indices).dtype not in INDICES:
        refuse(
            o,
            f"{called(o.op)} takes indices of INT32, {operand_name(o, indices)} has "
            f"{o.tile(indices).dtype.member}",
            "element-type",
            f"pl.cast({operand_name(o, indices)}, pl.INT32)",
            shown=(indices,),
        )


# --------------------------------------------------------------------------------------------
# By indices into the whole tile
# --------------------------------------------------------------------------------------------


def _flat_type(o: Operands) -> Type:
    _check(o, 0, 1, 2)
    if not same_dims(o.tile(1).shape, o.tile(2).shape):
        refuse(
            o,
            f"{called(o.op)} takes one index per element, got {dims(o.tile(2).shape)} for "
            f"{dims(o.tile(1).shape)}",
            "shape-mismatch",
            shown=(1, 2),
        )
    return tile_type(o.tile(0).shape, o.tile(0).dtype, MemorySpace.Vec)


def _put(target: Array, src: Array, indices: Array) -> Array:
    at = indices.astype(np.int64).reshape(-1)
    inside = (at >= 0) & (at < target.size)
    rows, columns = np.divmod(at[inside], target.shape[1])
    target[rows, columns] = src.reshape(-1)[inside]
    return target


def _onto_pto(site: PtoSite) -> None:
    target, src, indices = site.args[:3]
    kinds = f"{site.arg_types[1]}, {site.arg_types[2]}"
    site.emit(f"pto.tscatter ins({src}, {indices} : {kinds}) outs({target} : {site.arg_types[0]})")
    emit_reshape(site)  # names the same bytes


def _onto_cpp(site: CppSite) -> None:
    site.emit(f"TSCATTER({site.dst}, {site.args[1]}, {site.args[2]});")


@target_form(
    name="scatter",
    pipe=PipeType.V,
    types=lambda o: tile_type(o.tile(0).shape, o.tile(0).dtype, MemorySpace.Vec),
    dtypes=MOVABLE | INDICES,
    reads=(0, 1, 2),
    writes=(0,),
    in_place=(0,),
    view_of=0,
    numpy=lambda target, src, indices, _zero: _put(target, src, indices),
    pto=_onto_pto,
    isa=_onto_cpp,
)
def scatter_on_target(dst: Tile, src: Tile, indexes: Tile, zero: Axis) -> Tile:
    """Return ``dst``, which is all zeros, with ``src`` at ``indexes``; ``zero`` is 0."""
    ...


_AS_BITS: Final = {D.UINT16: D.INT16, D.UINT32: D.INT32}


def _onto_zeros(call: Call, let: Let) -> Expr:
    """Decompose a scatter into zeros: to one of supported element types and indices."""
    target, src, indices = call.args
    kind = target.type
    assert isinstance(kind, TileType)
    other = _AS_BITS.get(kind.dtype)
    if kind.dtype is D.BF16:
        words = {"target_type": D.FP32, "mode": "none"}
        wide = [let("wide", cast.build([each], words, call.span)) for each in (target, src)]
        found = let("found", scatter.build([*wide, indices], {}, call.span))
        return cast.build([found], {"target_type": D.BF16, "mode": "rint"}, call.span)
    indices = signed(indices, let)
    wanted = D.INT16 if kind.dtype.bytes == 2 else D.INT32
    indices = _converted(indices, wanted, let, call)
    if other is not None:
        src = let("bits", reread(src, other))
    dtype = other or kind.dtype
    zeros = let("zeros", full.build([list(kind.shape), dtype, 0], {}, call.span))
    operands = (zeros, src, indices, ConstInt(0, D.INDEX))
    made = Call(scatter, operands, {}, scatter_on_target.result_type(operands, {}), call.span)
    return made if other is None else reread(let("found", made), kind.dtype)


def _converted(tile: Expr, dtype: DataType, let: Let, call: Call) -> Expr:
    """Return indices as integers of another width."""
    kind = tile.type
    assert isinstance(kind, TileType)
    if kind.dtype is dtype:
        return tile
    if dtype is D.INT16:
        return let("narrow", cast.build([tile, dtype], {"mode": "none"}, call.span))
    single = let("single", cast.build([tile, D.FP32], {"mode": "none"}, call.span))
    return let("wide", cast.build([single, dtype], {"mode": "rint"}, call.span))


@block_op(
    types=_flat_type,
    dtypes=MOVABLE,
    reads=(1, 2),
    in_place=(),
    numpy=lambda dst, src, indexes: _put(np.zeros_like(dst), src, indexes),
    decomposition=_onto_zeros,
    with_scratch=scatter_on_target,
)
def scatter(dst: Tile, src: Tile, indexes: Tile) -> Tile:
    """Return a tile like ``dst``: ``src`` [R, C] at the indices ``indexes`` [R, C], else 0.

    Indices are into ``dst`` in row-major order; of equal indices the last wins.
    """
    ...


# --------------------------------------------------------------------------------------------
# Keeping the other elements
# --------------------------------------------------------------------------------------------


def _keeping_others(target: Expr, src: Expr, indices: Expr, let: Let, call: Call) -> Expr:
    """Return ``target`` with ``src`` at ``indices`` into the whole tile."""
    kind, part = target.type, src.type
    assert isinstance(kind, TileType)
    assert isinstance(part, TileType)
    dtype = D.INT32 if kind.dtype.bytes == 4 else D.INT16
    shape, size = [list(each.shape) for each in (kind, part)]
    ones = let("ones", full.build([size, dtype, 1], {}, call.span))
    room = let("room", create_tile.build([shape, dtype], {}, call.span))
    put = let("put", scatter.build([target, src, indices], {}, call.span))
    mask = let("mask", scatter.build([room, ones, indices], {}, call.span))
    if kind.dtype is D.BF16:
        words = {"target_type": D.FP32, "mode": "none"}
        wide = [let("wide", cast.build([each], words, call.span)) for each in (put, target)]
        held = let("mask", cast.build([mask, D.FP32], {"mode": "none"}, call.span))
        found = let("found", sel.build([held, *wide], {}, call.span))
        return cast.build([found], {"target_type": D.BF16, "mode": "rint"}, call.span)
    return sel.build([mask, put, target], {}, call.span)


def _along_type(o: Operands) -> Type:
    _check(o, 0, 2, 1)
    if attribute(o, "dim") not in (-1, 1):
        refuse(
            o,
            f"{called(o.op)} of a tile goes along its last dimension, got dim="
            f"{attribute(o, 'dim')}",
            "axis",
            "write dim=-1",
            shown=(0,),
        )
    rows = [const_value(o.tile(index).shape[0]) for index in range(3)]
    if not same_dims(o.tile(1).shape, o.tile(2).shape) or rows[0] != rows[1]:
        refuse(
            o,
            f"{called(o.op)} takes one index per element, with equal row counts; got "
            f"{dims(o.tile(1).shape)} for {dims(o.tile(2).shape)} in {dims(o.tile(0).shape)}",
            "shape-mismatch",
            shown=(0,),
        )
    return tile_type(o.tile(0).shape, o.tile(0).dtype, MemorySpace.Vec)


def _put_in_rows(target: Array, index: Array, src: Array, dim: int = -1) -> Array:
    out, at = target.copy(), index.astype(np.int64)
    rows = np.arange(len(at))[:, None] * target.shape[1]
    inside = (at >= 0) & (at < target.shape[1])
    return _put(out, src, np.where(inside, at + rows, -1))


def _along(call: Call, let: Let) -> Expr:
    target, index, src = call.args
    return _keeping_others(target, src, flat_indices(target, index, let, call), let, call)


@block_op(
    overload="scatter",
    types=_along_type,
    dtypes=MOVABLE,
    in_place=(),
    numpy=_put_in_rows,
    decomposition=_along,
)
def scatter_along(input: Tile, dim: int, index: Tile, src: Tile) -> Tile:
    """Return ``input`` [R, C] with ``src`` [R, K] at the indices ``index`` [R, K] of each row.

    Of equal indices the last one wins. ``dim`` is the last dimension.
    """
    ...


def _pattern_type(o: Operands) -> Type:
    _check(o, 1, 0, None)
    (rows, columns), (others, whole) = (static_shape(o.tile(index)) or (0, 0) for index in (0, 1))
    _, step = pattern(attribute(o, "mask_pattern"))
    if rows != others or columns * step != whole:
        refuse(
            o,
            f"{called(o.op)} by this pattern spreads columns over {step} times as many, got "
            f"{dims(o.tile(0).shape)} and {dims(o.tile(1).shape)}",
            "shape-mismatch",
            f"dst=pl.full([{rows}, {columns * step}], pl.{o.tile(1).dtype.member}, 0)",
            shown=(0, 1),
        )
    return tile_type(o.tile(1).shape, o.tile(1).dtype, MemorySpace.Vec)


def _put_by_pattern(src: Array, dst: Array, mask_pattern: int) -> Array:
    first, step = pattern(mask_pattern)
    out = dst.copy()
    out[:, first::step] = src
    return out


def _as_indices(call: Call, let: Let) -> Expr:
    """Decompose a scatter of columns by a pattern: to indices first, first + step, ... in rows."""
    src, target = call.args
    kind = src.type
    assert isinstance(kind, TileType)
    rows, columns = static_shape(kind) or (1, 1)
    first, step = pattern(call.kwargs["mask_pattern"])
    words = {"dtype": D.INT32}
    counts = let("counts", arange.build([0, [1, columns]], words, call.span))
    spread = let("spread", muls.build([counts, step], {}, call.span))
    row = let("row", adds.build([spread, first], {}, call.span))
    room = let("room", create_tile.build([[rows, columns], D.INT32], {}, call.span))
    index = let("index", col_expand.build([room, row], {}, call.span))
    return scatter_along.build([target, -1, index, src], {}, call.span)


@block_op(
    overload="scatter",
    types=_pattern_type,
    dtypes=MOVABLE,
    in_place=(),
    numpy=_put_by_pattern,
    decomposition=_as_indices,
)
def scatter_mask(input: Tile, dst: Tile, mask_pattern: int) -> Tile:
    """Return ``dst`` [R, C] with the columns that a pattern selects replaced by those of ``input``.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one.
    """
    ...


def _rows_type(o: Operands) -> Type:
    _check(o, 0, 2, 1)
    if attribute(o, "dim") != -2:
        refuse(
            o,
            f"{called(o.op)} replaces rows, got dim={attribute(o, 'dim')}",
            "axis",
            "write dim=-2",
            shown=(0,),
        )
    rows, columns = static_shape(o.tile(1)) or (0, 0)
    (count, width), (_, whole) = (static_shape(o.tile(index)) or (0, 0) for index in (2, 0))
    if rows * columns != count or width != whole:
        refuse(
            o,
            f"{called(o.op)} takes the number of a row for each row, got {dims(o.tile(1).shape)} "
            f"for {dims(o.tile(2).shape)} in {dims(o.tile(0).shape)}",
            "shape-mismatch",
            shown=(0,),
        )
    return tile_type(o.tile(0).shape, o.tile(0).dtype, MemorySpace.Vec)


def _put_rows(target: Array, index: Array, src: Array, dim: int = -2) -> Array:
    out = target.copy()
    for number, at in enumerate(index.reshape(-1).astype(np.int64)):
        if 0 <= at < len(out):
            out[at] = src[number]
    return out


def _as_elements(call: Call, let: Let) -> Expr:
    """Decompose a scatter of rows: element k goes to index r C + k, for the row number r."""
    target, index, src = call.args
    kind, numbers = src.type, index.type
    assert isinstance(kind, TileType)
    assert isinstance(numbers, TileType)
    count, width = static_shape(kind) or (1, 1)
    index = _converted(signed(index, let), D.INT32, let, call)
    begins = let("begins", muls.build([index, width], {}, call.span))
    column = begins
    if not same_dims(numbers.shape, (ConstInt(count), ConstInt(1))):
        column = let("column", reshape.build([begins, [count, 1]], {}, call.span))
    counts = let("counts", arange.build([0, [1, width]], {"dtype": D.INT32}, call.span))
    room = let("room", create_tile.build([[count, width], D.INT32], {}, call.span))
    indices = let("places", col_expand.build([room, counts], {}, call.span))
    indices = let("places", row_expand_add.build([indices, column], {}, call.span))
    return _keeping_others(target, src, indices, let, call)


@block_op(
    types=_rows_type,
    dtypes=MOVABLE,
    in_place=(),
    numpy=_put_rows,
    decomposition=_as_elements,
)
def scatter_update(input: Tile, dim: int, index: Tile, src: Tile) -> Tile:
    """Return ``input`` [R, C] with the rows of ``src`` [K, C] at the row numbers ``index``.

    ``index`` has K elements; of equal ones the last wins. ``dim`` is -2.
    """
    ...
