"""Concatenation of tiles, and a tile inserted into another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypto._src.ir.array_types import same_dim, same_dims, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import ConstInt, const_value
from pypto._src.ir.opdef import Operands, not_whole
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Tile, block_op
from pypto._src.ops.layout import tile_type, with_valid
from pypto._src.ops.promotion.casts import on_signed
from pypto._src.ops.reduce import SPREAD
from pypto._src.ops.rules.type_rules import (
    called,
    check_operands,
    check_same_dtype,
    dims,
    operand_name,
    refuse,
)
from pypto._src.ops.rules.valid_parts import check_decomposition, parts_differ, valid_or_all

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


def _joined(o: Operands) -> Type:
    check_operands(o)
    check_same_dtype(o, 0, 1)
    first, second = static_shape(o.tile(0)), static_shape(o.tile(1))
    if first is None or second is None or not len(first) == len(second) == 2:
        refuse(o, f"{called(o.op)} takes tiles of two constant dimensions", "tile-rank")
    if not same_dims(o.tile(0).shape[:1], o.tile(1).shape[:1]):
        refuse(
            o,
            f"{called(o.op)} puts tiles with equal numbers of rows side by side, got "
            f"{dims(o.tile(0).shape)} and {dims(o.tile(1).shape)}",
            "shape-mismatch",
            f"pl.reshape({operand_name(o, 1)}, ...) to {first[0]} rows",
        )
    shape = ConstInt(first[0]), ConstInt(first[1] + second[1])
    return tile_type(shape, o.tile(0), MemorySpace.Vec, "the result")


def _joined_part(o: Operands, kind: Type) -> Type:
    """Reject valid parts that leave a gap between columns; the valid rows of both are the same."""
    check_decomposition(o)
    (rows, columns), (other_rows, others) = valid_or_all(o.tile(0)), valid_or_all(o.tile(1))
    if not same_dim(rows, other_rows):
        parts_differ(o, 0, 1, (rows, others))
    left, right = const_value(columns), const_value(others)
    if left is None or left != const_value(o.tile(0).shape[1]):
        raise not_whole(f"{called(o.op)} takes all columns of", operand_name(o, 0))
    if right is None:
        raise not_whole(f"{called(o.op)} takes all columns of", operand_name(o, 1))
    return with_valid(kind, (rows, ConstInt(left + right)))


@block_op(
    types=_joined,
    valid=_joined_part,
    dtypes=SPREAD,
    in_place=(),
    decomposition=on_signed,
    numpy=lambda src0, src1: np.concatenate([src0, src1], axis=1),
    pto="pto.tconcat",
    isa="TCONCAT",
)
def concat(src0: Tile, src1: Tile) -> Tile:
    """Return the columns of ``src0`` [R, C], then those of ``src1`` [R, D]: [R, C + D]."""
    ...
