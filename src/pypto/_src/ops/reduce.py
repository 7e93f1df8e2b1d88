"""Ops that reduce rows or columns, and ops that broadcast a column or a row over a tile.

A column vector is a tile [R, 1]: what `row_sum` makes and `row_expand_mul` takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TileType, same_dims, static_shape, valid_part
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, const_value
from pypto._src.ir.opdef import RESULT, Decomposition, OpDef, Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import (
    ARITHMETIC,
    BY_PYTHON_NAME,
    FLOATS,
    STORABLE,
    Ints,
    Tile,
    block_op,
    target_form,
)
from pypto._src.ops.elementwise import add, adds, div, mul, sub, subs
from pypto._src.ops.layout import is_column, tile_type, with_valid
from pypto._src.ops.new_tiles import create_tile, scratch_like, vec_move
from pypto._src.ops.promotion.casts import is_unsigned, on_signed, signed
from pypto._src.ops.promotion.operands import Promotion
from pypto._src.ops.reshaping import reread, reshape
from pypto._src.ops.rules.type_rules import (
    called,
    check_operands,
    check_same_dtype,
    check_same_shape,
    dims,
    operand_name,
    plain_tile,
    refuse,
)
from pypto._src.ops.rules.valid_parts import beside_column, beside_row, reduced_rows, valid_or_all

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType


def reduction_of_rows(o: Operands) -> Type:
    """Return the type of a reduction of rows: [R, C] and scratch [R, C] -> [R, 1]."""
    check_operands(o)
    check_same_dtype(o, 0, 1)
    kind = o.tile(0)
    if len(kind.shape) < 2:
        refuse(
            o,
            f"{called(o.op)} reduces the rows of a two-dimensional tile, {operand_name(o, 0)} "
            f"has the shape {dims(kind.shape)}",
            "tile-rank",
            f"pl.reshape({operand_name(o, 0)}, {dims((ConstInt(1), *kind.shape))})",
        )
    check_same_shape(o, 0, 1)
    return tile_type((*kind.shape[:-1], ConstInt(1)), kind, MemorySpace.Vec, "the result")


def total(values: Array, axis: int = -1, keepdims: bool = True) -> Array:
    """Return the sum along ``axis``, in the same type; 16-bit floats are accumulated in 32 bits."""
    dtype = values.dtype
    wide = np.float32 if dtype.kind not in "iu" and dtype.itemsize < 4 else dtype
    return np.asarray(values.sum(axis=axis, keepdims=keepdims, dtype=wide)).astype(dtype)


def by_signed_order(call: Call, let: Let) -> Expr | None:
    """Decompose the maximum or minimum of unsigned elements.

    With half their range subtracted, they have the same order as signed elements:
    y = row_max(x, s)  ->  d = subs(x, 32768); m = row_max(d as INT16, s); y = adds(m, 32768)
    """
    tile = call.args[0]
    kind, op = tile.type, call.op
    assert isinstance(kind, TileType)
    assert isinstance(op, OpDef)
    if not is_unsigned(tile):
        return None
    half = 1 << (kind.dtype.get_bit() - 1)
    moved = let("moved", subs.build([tile, half], {}, call.span))
    args = [signed(arg, let) for arg in (moved, *call.args[1:])]
    found = let("found", op.call(args, call.kwargs, call.span))
    back = let("back", reread(found, kind.dtype))
    return adds.build([back, half], {}, call.span)


def of_column(call: Call, _let: Let) -> Expr | None:
    """Decompose the reduction of rows of one element: to a copy."""
    tile = call.args[0]
    assert isinstance(tile.type, TileType)
    return vec_move.build([tile], {}, call.span) if is_column(tile.type) else None


def as_one_row(row_op: Callable[[], OpDef[..., Any]]) -> Decomposition:
    """Return the decomposition of the reduction of a column [N, 1] into that of one row.

    The column has the same bytes as a row [1, N].
    """

    def expand(call: Call, let: Let) -> Expr | None:
        tile, kind = call.args[0], call.args[0].type
        assert isinstance(kind, TileType)
        if not is_column(kind):
            return None
        sizes = [1, math.prod(static_shape(kind) or ())]
        row = let("row", reshape.build([tile, sizes], {}, call.span))
        scratch = let("scratch", create_tile.build([sizes, kind.dtype], {}, call.span))
        return row_op().build([row, scratch], {}, call.span)

    return expand


OWN_SCRATCH: Final = scratch_like("tmp_tile", "tile")
"""Creates the scratch tile of a reduction where the call omits it."""


row_reduction: Final = partial(
    block_op,
    types=reduction_of_rows,
    complete=OWN_SCRATCH,
    valid=reduced_rows,
    dtypes=ARITHMETIC,
    reads=(0,),
    writes=(1,),
    in_place=(),  # the source is read again after the first rows are written
    columns=(RESULT,),
    of_padded=of_column,
)
"""Registers an op [R, C] -> [R, 1] with a scratch tile."""


@row_reduction(
    numpy=lambda tile, _scratch: np.max(tile, axis=-1, keepdims=True),
    decomposition=by_signed_order,
    pto="pto.trowmax",
    isa="TROWMAX",
)
def row_max(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the largest element of each row of ``tile`` [R, C]: [R, 1]; NaN if there is any.

    ``tmp_tile`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...


@row_reduction(
    numpy=lambda tile, _scratch: np.min(tile, axis=-1, keepdims=True),
    decomposition=by_signed_order,
    pto="pto.trowmin",
    isa="TROWMIN",
)
def row_min(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the smallest element of each row of ``tile`` [R, C]: [R, 1]; NaN if there is any.

    ``tmp_tile`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...


@row_reduction(
    numpy=lambda tile, _scratch: total(tile),
    decomposition=on_signed,
    pto="pto.trowsum",
    isa="TROWSUM",
)
def row_sum(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the sum of each row of ``tile`` [R, C]: [R, 1]; FP16 is accumulated in 32 bits.

    Integers wrap. ``tmp_tile`` [R, C] is a scratch tile of the same element type, created if
    omitted.
    """
    ...


# --------------------------------------------------------------------------------------------
# Broadcasting
# --------------------------------------------------------------------------------------------

SPREAD: Final = frozenset(d for d in STORABLE if d.get_bit() <= 32)
"""Element types that are broadcast without arithmetic."""


def _row_expand_type(o: Operands) -> Type:
    check_operands(o)
    kind, name = o.tile(0), operand_name(o, 0)
    if len(kind.shape) < 2:
        refuse(
            o,
            f"{called(o.op)} takes a tile of rows and columns, {name} has the shape "
            f"{dims(kind.shape)}",
            "tile-rank",
            f"pl.reshape({name}, {dims((ConstInt(1), *kind.shape))})",
        )
    return plain_tile(kind)


# The instruction fills whole rows; a column [R, 1] already is its own broadcast and is moved.
def _row_expand_pto(site: PtoSite) -> None:
    kind = site.call.args[0].type
    assert isinstance(kind, TileType)
    name = "pto.tmov" if is_column(kind) else "pto.trowexpand"
    site.emit(
        f"{name} ins({site.args[0]} : {site.arg_types[0]}) outs({site.dst} : {site.dst_type})"
    )


def _row_expand_cpp(site: CppSite) -> None:
    kind = site.call.args[0].type
    assert isinstance(kind, TileType)
    site.emit(f"{'TMOV' if is_column(kind) else 'TROWEXPAND'}({site.dst}, {site.args[0]});")


def _widened_type(o: Operands) -> Type:
    """Return the type of a column [R, 1] broadcast to [R, C]."""
    return plain_tile(TileType(o.ints(1), o.tile(0).dtype))


def _widened_part(o: Operands, kind: Type) -> Type:
    """The valid rows of the column, each valid throughout."""
    return with_valid(kind, (valid_or_all(o.tile(0))[0], o.ints(1)[1]))


@target_form(
    name="row_expand",
    types=_widened_type,
    valid=_widened_part,
    dtypes=SPREAD,
    in_place=(),
    columns=(0,),
    numpy=lambda src, sizes: np.broadcast_to(src, (*src.shape[:-1], sizes[-1])).copy(),
    pto="pto.trowexpand",
    isa=lambda site: site.emit(f"TROWEXPAND({site.dst}, {site.args[0]});"),
)
def row_expand_on_target(src: Tile, sizes: Ints) -> Tile:
    """Return the column ``src`` [R, 1] broadcast to a tile of ``sizes`` [R, C]."""
    ...


@block_op(
    types=_row_expand_type,
    dtypes=SPREAD,
    in_place=(),
    columns=(0, RESULT),
    with_scratch=row_expand_on_target,
    numpy=lambda src: np.broadcast_to(src[..., :1], src.shape).copy(),
    pto=_row_expand_pto,
    isa=_row_expand_cpp,
)
def row_expand(src: Tile) -> Tile:
    """Return ``src`` [R, C] with each row filled with its first element."""
    ...


def with_column_type(o: Operands) -> Type:
    """Return the type of [R, C] with a column [R, 1] -> [R, C]."""
    check_operands(o)
    check_same_dtype(o, 0, 1)
    whole, part = o.tile(0).shape, o.tile(1).shape
    if len(part) < 2 or const_value(part[-1]) != 1 or not same_dims(whole[:-1], part[:-1]):
        wanted = dims((*whole[:-1], ConstInt(1)))
        refuse(
            o,
            f"{called(o.op)} takes a column {wanted} beside {dims(whole)}, {operand_name(o, 1)} "
            f"has the shape {dims(part)}",
            "shape-mismatch",
            _for_shape(o, whole, part) or _reshaped(o, part, (*whole[:-1], ConstInt(1))),
        )
    return plain_tile(o.tile(0))


def _for_shape(o: Operands, whole: Sequence[Expr], part: Sequence[Expr]) -> str | None:
    """Return a call of the op of this kind that takes operand 1 as it is, None if there is none.

    That is the op on two tiles for [R, C], and the row or column op for a row or column.
    """
    kind = o.op.python_name.removeprefix("row_expand_").removeprefix("col_expand_")
    if same_dims(whole, part):
        meant = kind
    elif (
        len(part) == len(whole) == 2
        and const_value(part[1]) == 1
        and same_dims(whole[:1], part[:1])
    ):
        meant = f"row_expand_{kind}"
    elif (
        len(part) == len(whole) == 2
        and const_value(part[0]) == 1
        and same_dims(whole[1:], part[1:])
    ):
        meant = f"col_expand_{kind}"
    else:
        return None
    if meant == o.op.python_name or BY_PYTHON_NAME.get(("block", meant)) is None:
        return None
    return f"pl.{meant}({operand_name(o, 0)}, {operand_name(o, 1)})"


def _reshaped(o: Operands, shape: Sequence[Expr], wanted: Sequence[Expr]) -> str | None:
    """Return the code that reshapes operand 1 to ``wanted``, None if that is no reshape."""
    sizes = [[dim for dim in dims_ if const_value(dim) != 1] for dims_ in (shape, wanted)]
    return f"pl.reshape({operand_name(o, 1)}, {dims(wanted)})" if same_dims(*sizes) else None


def of_columns(op: OpDef[..., Any]) -> Decomposition:
    """Return the decomposition of an op with a column: for two columns, the op on two tiles.

    y = row_expand_add(a, b)  ->  y = add(a, b)

    With a column that does not fill whole blocks, and so is row-major, it is the op on two tiles
    with the column broadcast first.
    """

    def expand(call: Call, let: Let) -> Expr | None:
        tile, column = call.args
        kind, part = tile.type, column.type
        assert isinstance(kind, TileType)
        assert isinstance(part, TileType)
        if is_column(kind) or same_dims(kind.shape, part.shape):
            return op.call(call.args, {}, call.span)
        if is_column(part) or static_shape(part) is None:
            return on_signed(call, let)
        operands = (column, MakeTuple(kind.shape))
        wide = row_expand_on_target.result_type(operands, {})
        spread = let("spread", Call(row_expand, operands, {}, wide, call.span))
        valid = valid_part(kind)
        if valid is not None:
            mark = BY_PYTHON_NAME["block", "set_validshape"]
            spread = let("spread", mark.call([spread, MakeTuple(valid)], {}, call.span))
        return op.call([tile, spread], {}, call.span)

    return expand


with_column: Final = partial(
    block_op,
    types=with_column_type,
    valid=beside_column,
    dtypes=ARITHMETIC,
    in_place=(0,),
    columns=(1,),
    promotion=Promotion(0, 1, broadcasts=False),
)
"""Registers an op on a tile [R, C] and a column [R, 1], one value per row."""


@with_column(
    numpy=lambda tile, row_vec: tile + row_vec,
    decomposition=of_columns(add),
    pto="pto.trowexpandadd",
    isa="TROWEXPANDADD",
)
def row_expand_add(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] plus the column ``row_vec`` [R, 1], one value per row."""
    ...


@with_column(
    numpy=lambda tile, row_vec: tile - row_vec,
    decomposition=of_columns(sub),
    pto="pto.trowexpandsub",
    isa="TROWEXPANDSUB",
)
def row_expand_sub(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] minus the column ``row_vec`` [R, 1], one value per row."""
    ...


@with_column(
    numpy=lambda tile, row_vec: tile * row_vec,
    decomposition=of_columns(mul),
    pto="pto.trowexpandmul",
    isa="TROWEXPANDMUL",
)
def row_expand_mul(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] times the column ``row_vec`` [R, 1], one value per row."""
    ...


@with_column(
    dtypes=FLOATS,
    numpy=lambda tile, row_vec: tile / row_vec,
    decomposition=of_columns(div),
    pto="pto.trowexpanddiv",
    isa="TROWEXPANDDIV",
)
def row_expand_div(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] divided by the column ``row_vec`` [R, 1], one value per row."""
    ...


def with_element(op: OpDef[..., Any] | None) -> Decomposition:
    """Return the decomposition of an op on a column and a row [1, 1]: ``op`` on two columns.

    y = col_expand_mul(a, b)  ->  y = mul(a, b broadcast to a column)
    """

    def expand(call: Call, let: Let) -> Expr | None:
        column, element = call.args
        kind = column.type
        assert isinstance(kind, TileType)
        if not is_column(kind):
            return None
        line = MakeTuple([1, math.prod(static_shape(kind) or ())])
        wide = row_expand_on_target.result_type((element, line), {})
        row = let("row", Call(row_expand, (element, line), {}, wide, call.span))
        spread = reshape.call([row, MakeTuple(kind.shape)], {}, call.span)
        return spread if op is None else op.call([column, let("spread", spread)], {}, call.span)

    return expand


def beside_a_row(o: Operands) -> Type:
    """Return the type of [R, C] with a row [1, C] -> [R, C]."""
    check_operands(o)
    check_same_dtype(o, 0, 1)
    whole, part = o.tile(0).shape, o.tile(1).shape
    if (
        len(whole) < 2
        or len(part) != 2
        or const_value(part[0]) != 1
        or not same_dims(whole[-1:], part[-1:])
    ):
        wanted = dims((ConstInt(1), *whole[-1:]))
        refuse(
            o,
            f"{called(o.op)} takes a row {wanted} beside {dims(whole)}, {operand_name(o, 1)} "
            f"has the shape {dims(part)}",
            "shape-mismatch",
            _for_shape(o, whole, part) or _reshaped(o, part, (ConstInt(1), *whole[-1:])),
        )
    return plain_tile(o.tile(0))


def _col_expand_pto(site: PtoSite) -> None:
    site.emit(
        f"pto.tcolexpand ins({site.args[1]} : {site.arg_types[1]}) "
        f"outs({site.dst} : {site.dst_type})"
    )


def _below_part(o: Operands, kind: Type) -> Type:
    """The valid columns of the row, in every row of a target that is valid throughout."""
    if valid_part(o.tile(0)) is not None:
        return beside_row(o, kind)
    return with_valid(kind, (o.tile(0).shape[0], valid_or_all(o.tile(1))[1]))


@block_op(
    types=beside_a_row,
    valid=_below_part,
    dtypes=SPREAD,
    reads=(1,),
    in_place=(0,),
    promotion=Promotion(0, 1, broadcasts=False),
    numpy=lambda target, col_vec: np.broadcast_to(col_vec, target.shape).copy(),
    of_padded=with_element(None),
    pto=_col_expand_pto,
    isa=lambda site: site.emit(f"TCOLEXPAND({site.dst}, {site.args[1]});"),
)
def col_expand(target: Tile, col_vec: Tile) -> Tile:
    """Return the row ``col_vec`` [1, C] broadcast to the shape of ``target`` [R, C].

    The elements of ``target`` are not read.
    """
    ...


with_row: Final = partial(
    block_op,
    types=beside_a_row,
    valid=beside_row,
    dtypes=ARITHMETIC,
    in_place=(0,),
    promotion=Promotion(0, 1, broadcasts=False),
)
"""Registers an op on a tile [R, C] and a row [1, C], one value per column."""


@with_row(
    numpy=lambda tile, col_vec: tile * col_vec,
    decomposition=on_signed,
    of_padded=with_element(mul),
    pto="pto.tcolexpandmul",
    isa="TCOLEXPANDMUL",
)
def col_expand_mul(tile: Tile, col_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] times the row ``col_vec`` [1, C], one value per column."""
    ...


@with_row(
    dtypes=FLOATS,
    numpy=lambda tile, col_vec: tile / col_vec,
    of_padded=with_element(div),
    pto="pto.tcolexpanddiv",
    isa="TCOLEXPANDDIV",
)
def col_expand_div(tile: Tile, col_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] divided by the row ``col_vec`` [1, C], one value per column."""
    ...


@with_row(
    numpy=lambda tile, col_vec: tile - col_vec,
    decomposition=on_signed,
    of_padded=with_element(sub),
    pto="pto.tcolexpandsub",
    isa="TCOLEXPANDSUB",
)
def col_expand_sub(tile: Tile, col_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] minus the row ``col_vec`` [1, C], one value per column."""
    ...
