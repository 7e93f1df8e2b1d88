"""Column reductions, products, argmax and argmin, and further ops on a tile and a column or row.

A column vector is a tile [R, 1], a row vector a tile [1, C]. The ops that most kernels use are in
`reduce`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr
from pypto._src.ir.opdef import Decomposition, OpDef, Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import ARITHMETIC, FLOATS, Tile, block_op
from pypto._src.ops.elementwise import add, exp, maximum, minimum
from pypto._src.ops.layout import is_column, tile_type, with_valid
from pypto._src.ops.new_tiles import full
from pypto._src.ops.promotion.casts import SIGNED_OF, is_unsigned, on_signed
from pypto._src.ops.reduce import (
    OWN_SCRATCH,
    as_one_row,
    beside_a_row,
    by_signed_order,
    col_expand_sub,
    of_columns,
    reduction_of_rows,
    row_expand_mul,
    row_expand_sub,
    row_max,
    row_min,
    row_reduction,
    row_sum,
    total,
    with_column,
    with_column_type,
    with_element,
    with_row,
)
from pypto._src.ops.reshaping import reread
from pypto._src.ops.rules.type_rules import (
    called,
    check_operands,
    dims,
    ignoring,
    operand_name,
    refuse,
)
from pypto._src.ops.rules.valid_parts import beside_column, beside_row, valid_or_all

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import Let

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
SIGNED: Final = FLOATS | {D.INT16, D.INT32}
"""Element types of ops without an instruction for unsigned elements."""


def product(values: Array, axis: int) -> Array:
    """Return the product along ``axis``, in the same type; 16-bit floats multiply in 32 bits."""
    dtype = values.dtype
    wide = np.float32 if dtype.kind not in "iu" and dtype.itemsize < 4 else dtype
    return np.asarray(values.prod(axis=axis, keepdims=True, dtype=wide)).astype(dtype)


def first_best(values: Array, axis: int, *, largest: bool) -> Array:
    """Return the index of the best element along ``axis``, the first among equal ones.

    A NaN is the best only if it is the first element.
    """
    moved = np.moveaxis(values, axis, 0)
    best: Array = moved[0].copy()
    at: Array = np.zeros(moved.shape[1:], np.int32)
    for index in range(1, len(moved)):
        wins: Array = moved[index] > best if largest else moved[index] < best
        best[wins], at[wins] = moved[index][wins], index
    return np.expand_dims(at, axis)


# --------------------------------------------------------------------------------------------
# Along columns
# --------------------------------------------------------------------------------------------


def _column_type(o: Operands) -> Type:
    """Return the type of a reduction of columns: [R, C] -> [1, C]."""
    check_operands(o)
    kind, name = o.tile(0), operand_name(o, 0)
    if len(kind.shape) != 2:
        refuse(
            o,
            f"{called(o.op)} reduces the columns of a two-dimensional tile, {name} has the shape "
            f"{dims(kind.shape)}",
            "tile-rank",
            f"pl.reshape({name}, ...) to rows and columns first",
        )
    return tile_type((ConstInt(1), kind.shape[1]), kind, MemorySpace.Vec, "the result")


def _reduced_columns(o: Operands, kind: Type) -> Type:
    """[R, C] with valid [r, c] -> a row [1, C] with valid [1, c]."""
    if o.op.decomposition is not None and is_unsigned(o.args[0]):
        refuse(
            o,
            f"{called(o.op)} of unsigned elements takes tiles that are valid throughout",
            "valid-shape",
        )
    return with_valid(kind, (ConstInt(1), valid_or_all(o.tile(0))[1]))


column_reduction: Final = partial(
    block_op, types=_column_type, valid=_reduced_columns, dtypes=ARITHMETIC, in_place=()
)
"""Registers an op [R, C] -> [1, C]."""


@column_reduction(
    numpy=lambda tile: np.max(tile, axis=0, keepdims=True),
    decomposition=by_signed_order,
    of_padded=as_one_row(lambda: row_max),
    pto="pto.tcolmax",
    isa="TCOLMAX",
)
def col_max(tile: Tile) -> Tile:
    """Return the largest element of each column of ``tile`` [R, C]: [1, C]; NaN if any."""
    ...


@column_reduction(
    numpy=lambda tile: np.min(tile, axis=0, keepdims=True),
    decomposition=by_signed_order,
    of_padded=as_one_row(lambda: row_min),
    pto="pto.tcolmin",
    isa="TCOLMIN",
)
def col_min(tile: Tile) -> Tile:
    """Return the smallest element of each column of ``tile`` [R, C]: [1, C]; NaN if any."""
    ...


@column_reduction(
    complete=ignoring("tmp_tile", scratch=1),
    numpy=lambda tile: total(tile, 0),
    decomposition=on_signed,
    of_padded=as_one_row(lambda: row_sum),
    pto="pto.tcolsum",
    isa="TCOLSUM",
)
def col_sum(tile: Tile) -> Tile:
    """Return the sum of each column of ``tile`` [R, C]: [1, C]; FP16 is accumulated in 32 bits."""
    ...


@column_reduction(
    numpy=lambda tile: product(tile, 0),
    decomposition=on_signed,
    of_padded=as_one_row(lambda: row_prod),
    pto="pto.tcolprod",
    isa="TCOLPROD",
)
def col_prod(tile: Tile) -> Tile:
    """Return the product of each column of ``tile`` [R, C]: [1, C]; integers wrap."""
    ...


@row_reduction(
    numpy=lambda tile, _scratch: product(tile, -1),
    decomposition=on_signed,
    pto="pto.trowprod",
    isa="TROWPROD",
)
def row_prod(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the product of each row of ``tile`` [R, C]: [R, 1]; integers wrap.

    ``tmp_tile`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...


# --------------------------------------------------------------------------------------------
# Positions
# --------------------------------------------------------------------------------------------


def _row_position(o: Operands) -> Type:
    kind = reduction_of_rows(o)
    assert isinstance(kind, TileType)
    return TileType(kind.shape, D.INT32)


def _column_position(o: Operands) -> Type:
    kind = _column_type(o)
    assert isinstance(kind, TileType)
    return TileType(kind.shape, D.INT32)


def _first_of_one(call: Call, _let: Let) -> Expr | None:
    """Decompose argmax or argmin of rows of one element: to zeros."""
    kind, result = call.args[0].type, call.type
    assert isinstance(kind, TileType)
    assert isinstance(result, TileType)
    if not is_column(kind):
        return None
    words = {"dtype": result.dtype, "value": 0}
    return full.build([list(static_shape(result) or ())], words, call.span)


@row_reduction(
    types=_row_position,
    dtypes=SIGNED,
    numpy=lambda tile, _scratch: first_best(tile, -1, largest=True),
    pto="pto.trowargmax",
    of_padded=_first_of_one,
    isa="TROWARGMAX",
)
def row_argmax(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the index of the largest element of each row of ``tile`` [R, C]: [R, 1] of INT32.

    The first of equal elements wins; a NaN wins only if it comes first. ``tmp_tile`` [R, C]
    is a scratch tile of the same element type, created if omitted.
    """
    ...


@row_reduction(
    types=_row_position,
    dtypes=SIGNED,
    numpy=lambda tile, _scratch: first_best(tile, -1, largest=False),
    pto="pto.trowargmin",
    of_padded=_first_of_one,
    isa="TROWARGMIN",
)
def row_argmin(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the index of the smallest element of each row of ``tile`` [R, C]: [R, 1] of INT32.

    The first of equal elements wins; a NaN wins only if it comes first. ``tmp_tile`` [R, C]
    is a scratch tile of the same element type, created if omitted.
    """
    ...


_position_in_column: Final = partial(
    column_reduction,
    types=_column_position,
    complete=OWN_SCRATCH,
    dtypes=FLOATS,
    reads=(0,),
    writes=(1,),
)
"""Registers an op [R, C] -> [1, C] that finds row indices, with a scratch tile."""


@_position_in_column(
    numpy=lambda tile, _scratch: first_best(tile, 0, largest=True),
    pto="pto.tcolargmax",
    of_padded=as_one_row(lambda: row_argmax),
    isa="TCOLARGMAX",
)
def col_argmax(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the index of the largest element of each column of ``tile`` [R, C]: [1, C] of INT32.

    The first of equal elements wins; a NaN wins only if it comes first. ``tmp_tile`` [R, C]
    is a scratch tile of the same element type, created if omitted.
    """
    ...


@_position_in_column(
    numpy=lambda tile, _scratch: first_best(tile, 0, largest=False),
    pto="pto.tcolargmin",
    of_padded=as_one_row(lambda: row_argmin),
    isa="TCOLARGMIN",
)
def col_argmin(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the index of the smallest element of each column of ``tile`` [R, C]: [1, C] of INT32.

    The first of equal elements wins; a NaN wins only if it comes first. ``tmp_tile`` [R, C]
    is a scratch tile of the same element type, created if omitted.
    """
    ...


# --------------------------------------------------------------------------------------------
# With a column or a row
# --------------------------------------------------------------------------------------------


def _exponential(difference: OpDef[..., Any]) -> Decomposition:
    """Return the decomposition of exp(a - v): d = a - v, in the element type; y = exp(d)."""

    def expand(call: Call, let: Let) -> Expr:
        made = let("difference", difference.call(call.args, {}, call.span))
        return exp.call([made], {}, call.span)

    return expand


def _computed(op: OpDef[..., Any], tile: Array, vector: Array) -> Array:
    compute = op.numpy
    assert compute is not None
    return compute(tile, vector)


def _exp_of_difference(tile: Array, vector: Array) -> Array:
    compute = exp.numpy
    assert compute is not None
    return compute(tile - vector)


@block_op(
    overload="row_expand",
    types=with_column_type,
    dtypes=ARITHMETIC,
    reads=(1,),
    in_place=(),
    numpy=lambda target, row_vec: np.broadcast_to(row_vec, target.shape).copy(),
    decomposition=lambda call, let: _in_all_columns(call, let),
)
def row_expand_to(target: Tile, row_vec: Tile) -> Tile:
    """Return the column ``row_vec`` [R, 1] broadcast to the shape of ``target``.

    The elements of ``target`` are not read.
    """
    ...


def _in_all_columns(call: Call, let: Let) -> Expr:
    """Decompose the broadcast of a column: a tile of ones times the column, which is exact."""
    target, column = call.args
    kind = target.type
    assert isinstance(kind, TileType)
    dtype = SIGNED_OF.get(kind.dtype, kind.dtype)
    ones = let("ones", full.build([list(kind.shape), dtype, 1], {}, call.span))
    other = column if dtype is kind.dtype else let("signed", reread(column, dtype))
    made = row_expand_mul.build([ones, other], {}, call.span)
    return made if dtype is kind.dtype else reread(let("spread", made), kind.dtype)


@with_column(
    dtypes=SIGNED,
    numpy=lambda tile, row_vec: _computed(maximum, tile, row_vec),
    decomposition=of_columns(maximum),
    pto="pto.trowexpandmax",
    isa="TROWEXPANDMAX",
)
def row_expand_max(tile: Tile, row_vec: Tile) -> Tile:
    """Return the larger of ``tile`` [R, C] and column ``row_vec`` [R, 1], one value per row."""
    ...


@with_column(
    dtypes=SIGNED,
    numpy=lambda tile, row_vec: _computed(minimum, tile, row_vec),
    decomposition=of_columns(minimum),
    pto="pto.trowexpandmin",
    isa="TROWEXPANDMIN",
)
def row_expand_min(tile: Tile, row_vec: Tile) -> Tile:
    """Return the smaller of ``tile`` [R, C] and column ``row_vec`` [R, 1], one value per row."""
    ...


@block_op(
    types=with_column_type,
    valid=beside_column,
    dtypes=FLOATS,
    in_place=(0,),
    columns=(1,),
    numpy=lambda tile, row_vec: _exp_of_difference(tile, row_vec),
    decomposition=_exponential(row_expand_sub),
)
def row_expand_expdif(tile: Tile, row_vec: Tile) -> Tile:
    """Return exp(x - v) of ``tile`` [R, C] and the column ``row_vec`` [R, 1], one value per row."""
    ...


@with_row(
    numpy=lambda tile, col_vec: tile + col_vec,
    decomposition=on_signed,
    pto="pto.tcolexpandadd",
    of_padded=with_element(add),
    isa="TCOLEXPANDADD",
)
def col_expand_add(tile: Tile, col_vec: Tile) -> Tile:
    """Return the sum of ``tile`` [R, C] and the row ``col_vec`` [1, C], one value per column."""
    ...


@with_row(
    dtypes=SIGNED,
    numpy=lambda tile, col_vec: _computed(maximum, tile, col_vec),
    pto="pto.tcolexpandmax",
    of_padded=with_element(maximum),
    isa="TCOLEXPANDMAX",
)
def col_expand_max(tile: Tile, col_vec: Tile) -> Tile:
    """Return the larger of ``tile`` [R, C] and row ``col_vec`` [1, C], one value per column."""
    ...


@with_row(
    dtypes=SIGNED,
    numpy=lambda tile, col_vec: _computed(minimum, tile, col_vec),
    pto="pto.tcolexpandmin",
    of_padded=with_element(minimum),
    isa="TCOLEXPANDMIN",
)
def col_expand_min(tile: Tile, col_vec: Tile) -> Tile:
    """Return the smaller of ``tile`` [R, C] and row ``col_vec`` [1, C], one value per column."""
    ...


@block_op(
    types=beside_a_row,
    valid=beside_row,
    dtypes=FLOATS,
    in_place=(0,),
    numpy=lambda tile, col_vec: _exp_of_difference(tile, col_vec),
    decomposition=_exponential(col_expand_sub),
)
def col_expand_expdif(tile: Tile, col_vec: Tile) -> Tile:
    """Return exp(x - v) of ``tile`` [R, C] and the row ``col_vec`` [1, C], one value per column."""
    ...
