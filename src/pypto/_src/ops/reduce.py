"""Ops that reduce each row to one element, and ops that spread a column or a row over a tile.

A column vector is a tile [R, 1]: what `row_sum` makes and `row_expand_mul` takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import ConstInt, Type, const_value, same_dims
from pypto._src.ir.opdef import RESULT, Operands
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import FLOATS, Tile, block_op
from pypto._src.ops.layout import tile_type
from pypto._src.ops.rules import (
    called,
    check_operands,
    check_same_dtype,
    check_same_shape,
    dims,
    operand_name,
    plain_tile,
    refuse,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
SIGNED: Final = FLOATS | {D.INT16, D.INT32}


def _reduction(o: Operands) -> Type:
    """Return the type of a reduction: [R, C] and scratch [R, C] -> [R, 1]."""
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


def _sum(tile: Array, _scratch: Array) -> Array:
    if tile.dtype == np.float16:
        return tile.sum(axis=-1, keepdims=True, dtype=np.float32).astype(np.float16)
    return tile.sum(axis=-1, keepdims=True, dtype=tile.dtype)


# The result must not lie on the source, which is read again after the first rows are written.
@block_op(
    types=_reduction,
    dtypes=SIGNED,
    reads=(0,),
    writes=(1,),
    in_place=(),
    columns=(RESULT,),
    numpy=lambda tile, _scratch: np.max(tile, axis=-1, keepdims=True),
    pto="pto.trowmax",
    isa="TROWMAX",
)
def row_max(tile: Tile, tmp_tile: Tile) -> Tile:
    """Return the largest element of each row of ``tile`` [R, C]: [R, 1]; NaN if there is one.

    ``tmp_tile`` [R, C] is scratch of the same element type.
    """
    ...


@block_op(
    types=_reduction,
    dtypes=SIGNED,
    reads=(0,),
    writes=(1,),
    in_place=(),
    columns=(RESULT,),
    numpy=lambda tile, _scratch: np.min(tile, axis=-1, keepdims=True),
    pto="pto.trowmin",
    isa="TROWMIN",
)
def row_min(tile: Tile, tmp_tile: Tile) -> Tile:
    """Return the smallest element of each row of ``tile`` [R, C]: [R, 1]; NaN if there is one.

    ``tmp_tile`` [R, C] is scratch of the same element type.
    """
    ...


@block_op(
    types=_reduction,
    dtypes=SIGNED,
    reads=(0,),
    writes=(1,),
    in_place=(),
    columns=(RESULT,),
    numpy=_sum,
    pto="pto.trowsum",
    isa="TROWSUM",
)
def row_sum(tile: Tile, tmp_tile: Tile) -> Tile:
    """Return the sum of each row of ``tile`` [R, C]: [R, 1]; FP16 is added up in 32 bits.

    ``tmp_tile`` [R, C] is scratch of the same element type. Integers wrap.
    """
    ...


def _spread_column(o: Operands) -> Type:
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
            f"pl.{o.op.python_name.removeprefix('row_expand_')}"
            f"({operand_name(o, 0)}, {operand_name(o, 1)})"
            if same_dims(whole, part)
            else None,
        )
    return plain_tile(o.tile(0))


@block_op(
    types=_spread_column,
    dtypes=SIGNED,
    in_place=(0,),
    columns=(1,),
    numpy=lambda tile, row_vec: tile + row_vec,
    pto="pto.trowexpandadd",
    isa="TROWEXPANDADD",
)
def row_expand_add(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] plus the column ``row_vec`` [R, 1], one number a row."""
    ...


@block_op(
    types=_spread_column,
    dtypes=SIGNED,
    in_place=(0,),
    columns=(1,),
    numpy=lambda tile, row_vec: tile - row_vec,
    pto="pto.trowexpandsub",
    isa="TROWEXPANDSUB",
)
def row_expand_sub(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] minus the column ``row_vec`` [R, 1], one number a row."""
    ...


@block_op(
    types=_spread_column,
    dtypes=SIGNED,
    in_place=(0,),
    columns=(1,),
    numpy=lambda tile, row_vec: tile * row_vec,
    pto="pto.trowexpandmul",
    isa="TROWEXPANDMUL",
)
def row_expand_mul(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] times the column ``row_vec`` [R, 1], one number a row."""
    ...


@block_op(
    types=_spread_column,
    dtypes=FLOATS,
    in_place=(0,),
    columns=(1,),
    numpy=lambda tile, row_vec: tile / row_vec,
    pto="pto.trowexpanddiv",
    isa="TROWEXPANDDIV",
)
def row_expand_div(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] divided by the column ``row_vec`` [R, 1], one number a row."""
    ...


def _spread_row(o: Operands) -> Type:
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
        )
    return plain_tile(o.tile(0))


@block_op(
    types=_spread_row,
    dtypes=SIGNED,
    in_place=(0,),
    numpy=lambda tile, col_vec: tile * col_vec,
    pto="pto.tcolexpandmul",
    isa="TCOLEXPANDMUL",
)
def col_expand_mul(tile: Tile, col_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] times the row ``col_vec`` [1, C], one number a column."""
    ...


@block_op(
    types=_spread_row,
    dtypes=FLOATS,
    in_place=(0,),
    numpy=lambda tile, col_vec: tile / col_vec,
    pto="pto.tcolexpanddiv",
    isa="TCOLEXPANDDIV",
)
def col_expand_div(tile: Tile, col_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] divided by the row ``col_vec`` [1, C], one number a column."""
    ...


@block_op(
    types=_spread_row,
    dtypes=SIGNED,
    in_place=(0,),
    numpy=lambda tile, col_vec: tile - col_vec,
    pto="pto.tcolexpandsub",
    isa="TCOLEXPANDSUB",
)
def col_expand_sub(tile: Tile, col_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] minus the row ``col_vec`` [1, C], one number a column."""
    ...
