"""Ops of the matrix unit: operands in Left and Right memory, result in the accumulator Acc."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.nodes import TileType, Type, const_value, same_dim, same_dims
from pypto._src.ir.opdef import Operands
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Tile, block_op
from pypto._src.ops.layout import tile_type
from pypto._src.ops.rules import (
    called,
    check_element,
    check_same_dtype,
    check_space,
    dims,
    known_space,
    operand_name,
    refuse,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
OPERANDS: Final = frozenset({D.INT8, D.FP16, D.BF16, D.FP32})
LARGEST: Final = 4095
"""The largest M, K and N of one product."""


def _check_tile(o: Operands, index: int) -> None:
    name = operand_name(o, index)
    space = known_space(o.args[index])
    if space is not None:
        check_space(o.op, o.kwargs, index, name, space)
    if len(o.tile(index).shape) != 2:
        refuse(
            o,
            f"{called(o.op)} takes two-dimensional tiles, {name} has the shape "
            f"{dims(o.tile(index).shape)}",
            "tile-rank",
        )


def _product(o: Operands, left: int) -> TileType:
    """Check the operands at ``left`` and after it; return the type of their product."""
    right = left + 1
    for index in (left, right):
        _check_tile(o, index)
        check_element(o.op, operand_name(o, index), o.tile(index).dtype)
    check_same_dtype(o, left, right)
    (rows, inner), (inner2, columns) = o.tile(left).shape, o.tile(right).shape
    if not same_dim(inner, inner2):
        refuse(
            o,
            f"{called(o.op)} of [M, K] and [K, N] tiles has different K: "
            f"{operand_name(o, left)} is {dims(o.tile(left).shape)}, "
            f"{operand_name(o, right)} is {dims(o.tile(right).shape)}",
            "shape-mismatch",
        )
    for dim in (rows, inner, columns):
        if (const_value(dim) or 1) > LARGEST:
            refuse(
                o,
                f"{called(o.op)} takes sizes up to {LARGEST}, got {const_value(dim)}",
                "matmul-size",
                "split the product into blocks and add them up with pl.matmul_acc",
            )
    dtype = D.FP32 if o.tile(left).dtype.is_float() else D.INT32
    return tile_type((rows, columns), dtype, MemorySpace.Acc, "the result")


def _matmul_type(o: Operands) -> Type:
    return _product(o, 0)


def _matmul_acc_type(o: Operands) -> Type:
    result = _product(o, 1)
    _check_tile(o, 0)
    acc = o.tile(0)
    if acc.dtype is not result.dtype or not same_dims(acc.shape, result.shape):
        refuse(
            o,
            f"{called(o.op)} adds to a tile {dims(result.shape)} of {result.dtype.member}, "
            f"{operand_name(o, 0)} is {dims(acc.shape)} of {acc.dtype.member}",
            "shape-mismatch" if acc.dtype is result.dtype else "dtype-mismatch",
        )
    return result


def _times(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.kind == "i":
        # Products of 8-bit integers add up exactly in 53 bits, and floats have the fast product.
        return (lhs.astype(np.float64) @ rhs.astype(np.float64)).astype(np.int32)
    return lhs.astype(np.float32) @ rhs.astype(np.float32)


@block_op(
    pipe=PipeType.M,
    types=_matmul_type,
    dtypes=OPERANDS,
    space=MemorySpace.Acc,
    spaces={0: MemorySpace.Left, 1: MemorySpace.Right},
    in_place=(),
    numpy=_times,
    pto="pto.tmatmul",
    isa="TMATMUL",
)
def matmul(lhs: Tile, rhs: Tile) -> Tile:
    """Return the product of ``lhs`` [M, K] in Left and ``rhs`` [K, N] in Right: [M, N] in Acc.

    Floats give FP32, INT8 gives INT32; both are added up in that type.
    """
    ...


@block_op(
    pipe=PipeType.M,
    types=_matmul_acc_type,
    dtypes=OPERANDS,
    space=MemorySpace.Acc,
    spaces={0: MemorySpace.Acc, 1: MemorySpace.Left, 2: MemorySpace.Right},
    in_place=(0,),
    numpy=lambda acc, lhs, rhs: acc + _times(lhs, rhs),
    pto="pto.tmatmul.acc",
    isa="TMATMUL_ACC",
)
def matmul_acc(acc: Tile, lhs: Tile, rhs: Tile) -> Tile:
    """Return ``acc`` [M, N] plus the product of ``lhs`` [M, K] and ``rhs`` [K, N], in Acc.

    The result takes the place of ``acc``, which must not be used afterwards.
    """
    ...
