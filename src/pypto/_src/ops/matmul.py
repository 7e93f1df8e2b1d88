"""Ops of the matrix unit: operands in Left and Right memory, the result in the accumulator Acc.

Two families: ``matmul`` multiplies tiles in boxes; ``gemv`` multiplies a single row, which the unit
reads as a vector. Neither takes the operands of the other.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType, compute_dtype
from pypto._src.ir.array_types import TileType, same_dim, same_dims
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr, const_value
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import FACTORS, REGISTRY, Tile, block_op
from pypto._src.ops.layout import tile_type, with_valid
from pypto._src.ops.rules.type_rules import (
    broadcast,
    called,
    check_element,
    check_same_dtype,
    check_space,
    dims,
    known_space,
    operand_name,
    refuse,
)
from pypto._src.ops.rules.valid_parts import valid_or_all

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import Let

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
BIAS: Final = frozenset({MemorySpace.Bias, MemorySpace.Mat})
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
            "declare the tensor with two dimensions, and load "
            f"{dims((ConstInt(1), *o.tile(index).shape)[-2:])} of it",
        )


def _check_rows(o: Operands, left: int, *, one_row: bool) -> None:
    """Check that the left operand is a single row if and only if ``one_row``."""
    rows = const_value(o.tile(left).shape[0])
    if rows is None or (rows == 1) is one_row:
        return
    wanted = "a single row [1, K]" if one_row else "tiles of several rows"
    old, new = ("gemv", "matmul") if one_row else ("matmul", "gemv")
    operands = ", ".join(operand_name(o, i) for i in range(len(o.args)))
    refuse(
        o,
        f"{called(o.op)} multiplies {wanted}, {operand_name(o, left)} is "
        f"{dims(o.tile(left).shape)}",
        "matmul-rows",
        f"{called(o.op).replace(old, new)}({operands})",
    )


def _product(o: Operands, left: int, *, one_row: bool = False) -> TileType:
    """Check operands ``left`` and ``left + 1``; return the type of their product."""
    right = left + 1
    for index in (left, right):
        _check_tile(o, index)
        check_element(o.op, operand_name(o, index), o.tile(index).dtype)
    check_same_dtype(o, left, right)
    _check_rows(o, left, one_row=one_row)
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
                "split the product into blocks and add them up with "
                f"pl.{'gemv' if one_row else 'matmul'}_acc",
            )
    dtype = D.FP32 if o.tile(left).dtype.is_float() else D.INT32
    return tile_type((rows, columns), dtype, MemorySpace.Acc, "the result")


def _matmul_type(o: Operands) -> Type:
    return _product(o, 0)


def _gemv_type(o: Operands) -> Type:
    return _product(o, 0, one_row=True)


def _matmul_acc_type(o: Operands) -> Type:
    return _accumulated(o, _product(o, 1))


def _gemv_acc_type(o: Operands) -> Type:
    return _accumulated(o, _product(o, 1, one_row=True))


def _matmul_bias_type(o: Operands) -> Type:
    return _biased(o, _product(o, 0))


def _gemv_bias_type(o: Operands) -> Type:
    return _biased(o, _product(o, 0, one_row=True))


def _biased(o: Operands, result: TileType) -> Type:
    """Check that operand 2 is a row with the columns and element type of ``result``."""
    _check_tile(o, 2)
    bias = o.tile(2)
    wanted = (ConstInt(1), result.shape[1])
    if bias.dtype is not result.dtype or not same_dims(bias.shape, wanted):
        refuse(
            o,
            f"{called(o.op)} adds a row {dims(wanted)} of {result.dtype.member}, "
            f"{operand_name(o, 2)} is {dims(bias.shape)} of {bias.dtype.member}",
            "shape-mismatch" if bias.dtype is result.dtype else "dtype-mismatch",
        )
    return result


def _accumulated(o: Operands, result: TileType) -> Type:
    """Check that operand 0 is a tile like ``result``."""
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


def _product_part(o: Operands, kind: Type) -> Type:
    """[M, K] with valid [m, k] x [K, N] with valid [k, n] -> [M, N] with valid [m, n].

    The valid part of K is the same in both. An accumulator has the same valid part as the result.
    """
    left = 1 if o.op.in_place else 0
    lhs, rhs = o.tile(left), o.tile(left + 1)
    rows, columns = valid_or_all(lhs), valid_or_all(rhs)
    whole = same_dim(rows[1], lhs.shape[1]) and same_dim(columns[0], rhs.shape[0])
    if not whole and not same_dim(rows[1], columns[0]):
        first, second = operand_name(o, left), operand_name(o, left + 1)
        refuse(
            o,
            f"{called(o.op)} takes one part of K: {first} {dims(lhs.shape)} is valid in "
            f"{dims(rows)}, {second} {dims(rhs.shape)} in {dims(columns)}",
            "valid-shape",
            f"load as many rows of {second} as columns of {first}",
        )
    part = rows[0], columns[1]
    if left and not same_dims(valid_or_all(o.tile(0)), part):
        refuse(
            o,
            f"{called(o.op)} adds a product that is valid in {dims(part)} to "
            f"{operand_name(o, 0)}, which is valid in {dims(valid_or_all(o.tile(0)))}",
            "valid-shape",
            "load the operands of both with the same valid_shapes",
            shown=(0,),
        )
    return with_valid(kind, part)


def _with_moved_bias(call: Call, let: Let) -> Expr | None:
    """Decompose a product with a bias in Mat memory.

    y = matmul_bias(a, b, c)  ->  d = move(c, Bias); y = matmul_bias(a, b, d)
    """
    lhs, rhs, bias = call.args
    if let.space(bias) is not MemorySpace.Mat:
        return None
    words = {"target_memory": MemorySpace.Bias, "transpose": False}
    moved = REGISTRY["block.move"].call([bias], words, call.span)
    return Call(call.op, [lhs, rhs, let("bias", moved)], {}, call.type, call.span)


def _times(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.kind == "i":
        # Sums of 8-bit products are exact in 53 bits, and NumPy's float product is the fast one.
        return (lhs.astype(np.float64) @ rhs.astype(np.float64)).astype(np.int32)
    wide = compute_dtype(lhs.dtype)
    return lhs.astype(wide) @ rhs.astype(wide)


product: Final = partial(
    block_op,
    pipe=PipeType.M,
    valid=_product_part,
    dtypes=FACTORS,
    space=MemorySpace.Acc,
    spaces={0: MemorySpace.Left, 1: MemorySpace.Right},
    in_place=(),
    numpy=_times,
)
"""Registers a product of two tiles."""

product_onto: Final = partial(
    product,
    spaces={0: MemorySpace.Acc, 1: MemorySpace.Left, 2: MemorySpace.Right},
    in_place=(0,),
    numpy=lambda acc, lhs, rhs: acc + _times(lhs, rhs),
)
"""Registers a product that is added to the first tile."""

product_and_bias: Final = partial(
    product,
    spaces={0: MemorySpace.Left, 1: MemorySpace.Right, 2: BIAS},
    decomposition=_with_moved_bias,
    numpy=lambda lhs, rhs, bias: _times(lhs, rhs) + bias,
)
"""Registers a product with a bias row that is added to each of its rows."""


@product(
    types=_matmul_type,
    pto="pto.tmatmul",
    isa="TMATMUL",
)
def matmul(lhs: Tile, rhs: Tile) -> Tile:
    """Return the product of ``lhs`` [M, K] in Left and ``rhs`` [K, N] in Right: [M, N] in Acc.

    Floats give FP32, INT8 gives INT32; products are accumulated in that type.
    """
    ...


@product_onto(
    types=_matmul_acc_type,
    pto="pto.tmatmul.acc",
    isa="TMATMUL_ACC",
)
def matmul_acc(acc: Tile, lhs: Tile, rhs: Tile) -> Tile:
    """Return ``acc`` [M, N] plus the product of ``lhs`` [M, K] and ``rhs`` [K, N], in Acc.

    The result overwrites ``acc``, which must not be used afterwards.
    """
    ...


@product_and_bias(
    types=_matmul_bias_type,
    pto="pto.tmatmul.bias",
    isa="TMATMUL_BIAS",
)
def matmul_bias(lhs: Tile, rhs: Tile, bias: Tile) -> Tile:
    """Return the product of ``lhs`` [M, K] and ``rhs`` [K, N] plus ``bias`` [1, N] in each row.

    ``bias`` has the element type of the result, FP32 or INT32. Load it to Mat memory; the op moves
    it to Bias memory unless it is already there.
    """
    ...


# --------------------------------------------------------------------------------------------
# A single row
# --------------------------------------------------------------------------------------------


@product(
    types=_gemv_type,
    pto="pto.tgemv",
    isa="TGEMV",
)
def gemv(lhs: Tile, rhs: Tile) -> Tile:
    """Return the product of the row ``lhs`` [1, K] and ``rhs`` [K, N]: [1, N] in Acc.

    `matmul` is the op for several rows. The size of ``lhs`` is a multiple of 512 bytes.
    """
    ...


@product_onto(
    types=_gemv_acc_type,
    pto="pto.tgemv.acc",
    isa="TGEMV_ACC",
)
def gemv_acc(acc: Tile, lhs: Tile, rhs: Tile) -> Tile:
    """Return ``acc`` [1, N] plus the product of the row ``lhs`` [1, K] and ``rhs`` [K, N], in Acc.

    The result overwrites ``acc``, which must not be used afterwards.
    """
    ...


@product_and_bias(
    types=_gemv_bias_type,
    pto="pto.tgemv.bias",
    isa="TGEMV_BIAS",
)
def gemv_bias(lhs: Tile, rhs: Tile, bias: Tile) -> Tile:
    """Return the product of the row ``lhs`` [1, K] and ``rhs`` [K, N] plus ``bias`` [1, N].

    ``bias`` is as for `matmul_bias`.
    """
    ...


# --------------------------------------------------------------------------------------------
# Batches
# --------------------------------------------------------------------------------------------


def _batch_matmul_type(o: Operands) -> Type:
    """Return the type of [.., M, K] and [.., K, N] -> [.., M, N], leading dimensions broadcast."""
    for index in (0, 1):
        check_element(o.op, operand_name(o, index), o.tile(index).dtype)
        if len(o.tile(index).shape) < 2:
            refuse(
                o,
                f"{called(o.op)} takes tiles of rows and columns, {operand_name(o, index)} has "
                f"the shape {dims(o.tile(index).shape)}",
                "tile-rank",
            )
    check_same_dtype(o, 0, 1)
    lhs, rhs = o.tile(0).shape, o.tile(1).shape
    batch = broadcast(lhs[:-2], rhs[:-2])
    if batch is None or not same_dim(lhs[-1], rhs[-2]):
        refuse(
            o,
            f"{called(o.op)} of [.., M, K] and [.., K, N] tiles, {operand_name(o, 0)} is "
            f"{dims(lhs)}, {operand_name(o, 1)} is {dims(rhs)}",
            "shape-mismatch",
        )
    return TileType((*batch, lhs[-2], rhs[-1]), o.tile(0).dtype)


def _batched(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.kind == "i":
        return lhs @ rhs  # integers wrap
    wide = compute_dtype(lhs.dtype)
    return (lhs.astype(wide) @ rhs.astype(wide)).astype(lhs.dtype)


@block_op(
    pipe=PipeType.M,
    types=_batch_matmul_type,
    dtypes=FACTORS,
    space=MemorySpace.Acc,
    spaces={0: MemorySpace.Left, 1: MemorySpace.Right},
    in_place=(),
    numpy=_batched,
    unsupported="the matrix unit multiplies two-dimensional tiles",
    instead="pl.matmul of each pair of two-dimensional tiles, in a loop over the batch",
)
def batch_matmul(lhs: Tile, rhs: Tile) -> Tile:
    """Return the products of the matrices in ``lhs`` [.., M, K] and ``rhs`` [.., K, N].

    Leading dimensions broadcast; the element type is kept. No chip executes it: write `matmul` in a
    loop.
    """
    ...
