"""Tensor forms of ops along rows or columns: gathering, sorting, concatenating, filling.

An element of the result depends on whole rows, or whole columns, of the operands. So the op on
tiles defines the result type and the meaning; kernels run it on as many rows, or columns, at a time
as fit on chip (`LINEWISE`), or use other ops on tensors (`REWRITES`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from pypto._src.dtypes import LARGEST, DataType
from pypto._src.errors import OpError
from pypto._src.ir.array_types import TensorType, TileType, same_dim, same_dims
from pypto._src.ir.enums import TilePad
from pypto._src.ir.exprs import (
    Add,
    Call,
    Cast,
    ConstFloat,
    ConstInt,
    Expr,
    MakeTuple,
    Sub,
    Var,
    binary,
    const_value,
)
from pypto._src.ir.op_params import literal
from pypto._src.ir.opdef import OpDef, Operands, TypeRule
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops import elementwise, new_tiles, reduce, tensor, tensor_math
from pypto._src.ops.conversion import (
    CONVERSIONS,
    GENERATORS,
    LINEWISE,
    REWRITES,
    Conversion,
    ConversionContext,
    Linewise,
    Rewrite,
    broadcasting_second,
    by_name,
    in_parts,
    linewise,
    of_tile_and_number,
    of_two_same_shape,
    of_two_tiles,
)
from pypto._src.ops.define import Ints, Numpy, Scalar, Tensor
from pypto._src.ops.lazy import (
    columns,
    indexing,
    periodic,
    reinterpreting,
    remainders,
    scattering,
    sorting,
)
from pypto._src.ops.lazy.tensor_forms import beside_column, beside_row
from pypto._src.ops.new_tiles import filling, pad_number
from pypto._src.ops.reshaping import reread
from pypto._src.ops.rules.type_rules import (
    attribute,
    called,
    check_element,
    dims,
    operand_name,
    refuse,
)
from pypto._src.ops.tensor_math import (
    element_of,
    float_result,
    largest,
    of_block,
    on_tensors,
    smallest,
    tensor_and_scalar,
    two_tensors,
    with_number,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

P = ParamSpec("P")
R = TypeVar("R")
AnyOp = OpDef[..., Any]
Let = Callable[[str, Expr], Var]
D = DataType


def _elementwise(
    types: TypeRule,
    numpy: Numpy,
    becomes: Conversion,
    *,
    overload: str | None = None,
    reads: Sequence[int] | None = None,
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Register an op on tensors with the op on tiles that it becomes, for tiles of any shape."""

    def define(function: Callable[P, R]) -> OpDef[P, R]:
        op = on_tensors(types, numpy, typed=True, overload=overload, reads=reads)(function)
        CONVERSIONS[op.name] = becomes
        return op

    return define


# --------------------------------------------------------------------------------------------
# Element by element
# --------------------------------------------------------------------------------------------


def _alike(o: Operands) -> Type:
    """Return the type of an op on two tensors of equal shape."""
    first, second = o.tensor(0).shape, o.tensor(1).shape
    if not same_dims(first, second):
        refuse(
            o,
            f"{called(o.op)} takes tensors of one shape, got {dims(first)} and {dims(second)}",
            "shape-mismatch",
        )
    return two_tensors(o)


def _function(op: AnyOp) -> Numpy:
    compute = op.numpy
    assert compute is not None
    return lambda tensor, result: compute(tensor.astype(result, copy=False))


@_elementwise(_alike, of_block(elementwise.add), of_two_tiles(elementwise.add))
def part_add(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs + rhs``: a tensor is entirely valid."""
    ...


@_elementwise(_alike, of_block(elementwise.mul), of_two_tiles(elementwise.mul))
def part_mul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs * rhs``: a tensor is entirely valid."""
    ...


@_elementwise(_alike, of_block(elementwise.maximum), of_two_tiles(elementwise.maximum))
def part_max(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the larger of ``lhs`` and ``rhs``: a tensor is entirely valid."""
    ...


@_elementwise(_alike, of_block(elementwise.minimum), of_two_tiles(elementwise.minimum))
def part_min(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the smaller of ``lhs`` and ``rhs``: a tensor is entirely valid."""
    ...


@_elementwise(_alike, of_block(remainders.fmod), of_two_same_shape(remainders.fmod))
def fmod(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs - trunc(lhs / rhs) * rhs``, which has the sign of ``lhs``; NaN over 0."""
    ...


@_elementwise(
    tensor_and_scalar,
    with_number(remainders.fmods),
    of_tile_and_number(remainders.fmods),
    overload="fmod",
)
def fmods(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs - trunc(lhs / rhs) * rhs``, which has the sign of ``lhs``; NaN over 0."""
    ...


@_elementwise(float_result, _function(periodic.sin), in_parts(periodic.sin))
def sin(input: Tensor) -> Tensor:
    """Return the sine of each element of ``input``; integers become FP32."""
    ...


@_elementwise(float_result, _function(periodic.cos), in_parts(periodic.cos))
def cos(input: Tensor) -> Tensor:
    """Return the cosine of each element of ``input``; integers become FP32."""
    ...


def _spread(target: Array, vector: Array, result: Any) -> Array:
    return np.broadcast_to(vector, target.shape).astype(result)


@_elementwise(
    beside_column,
    _spread,
    broadcasting_second(columns.row_expand_to),
    overload="row_expand",
    reads=[1],
)
def row_expand(target: Tensor, row_vec: Tensor) -> Tensor:
    """Return the column ``row_vec`` [.., M, 1] broadcast to the shape of ``target``.

    The elements of ``target`` [.., M, N] are not read.
    """
    ...


@_elementwise(beside_row, _spread, broadcasting_second(reduce.col_expand), reads=[1])
def col_expand(target: Tensor, col_vec: Tensor) -> Tensor:
    """Return the row ``col_vec`` [.., 1, N] broadcast to the shape of ``target``.

    The elements of ``target`` [.., M, N] are not read.
    """
    ...


@_elementwise(
    tensor_and_scalar,
    with_number(elementwise.expands),
    of_tile_and_number(elementwise.expands),
    reads=[],
)
def expands(target: Tensor, scalar: Scalar) -> Tensor:
    """Return a tensor like ``target``, which is not read, filled with ``scalar``."""
    ...


# --------------------------------------------------------------------------------------------
# From no operands
# --------------------------------------------------------------------------------------------

_FILLED_AS: Final[dict[DataType, DataType]] = {
    D.INT8: D.FP16,
    D.UINT8: D.FP16,
    D.BF16: D.FP32,
    D.INT64: D.INT32,
    D.UINT16: D.INT16,
    D.UINT32: D.INT32,
}
"""Element types that no instruction can fill, and those filled in their place."""


def _full_type(o: Operands) -> Type:
    shape, dtype = o.ints(0), attribute(o, "dtype")
    assert isinstance(dtype, DataType)
    check_element(o.op, "the tensor", dtype)
    return TensorType(shape, dtype)


def _full_tile(
    ctx: ConversionContext, call: Call, sizes: Sequence[int], _begin: Sequence[Expr]
) -> Expr:
    dtype: DataType = call.kwargs["dtype"]
    value = call.args[1]
    other = _FILLED_AS.get(dtype, dtype)
    is_infinite = isinstance(value, ConstFloat) and math.isinf(value.value)
    if isinstance(value, ConstInt | ConstFloat):
        bits, number = dtype.get_bit(), value.value
        if is_infinite:  # no emitted text can write infinity: it is twice the largest number
            number = math.copysign(LARGEST[other], number)
        elif dtype.is_unsigned_int() and other.bytes == dtype.bytes and number >= 1 << (bits - 1):
            number -= 1 << bits
        value = literal(number, other, call.span)
    elif other is not dtype:
        value = Cast(value, other, call.span)
    made = new_tiles.full.build((MakeTuple(sizes), other, value), {}, call.span)
    if is_infinite:
        made = elementwise.muls.build((ctx.let("filled", made), 2.0), {}, call.span)
    if other is dtype:
        return made
    tile = ctx.let("filled", made)
    if other.bytes == dtype.bytes:
        return reread(tile, dtype)
    return elementwise.cast.build((tile, dtype), {}, call.span)


@on_tensors(_full_type, new_tiles.filled)
def full(shape: Ints, dtype: DataType, value: Scalar) -> Tensor:
    """Return a tensor of ``shape`` filled with ``value``."""
    ...


GENERATORS[full.name] = _full_tile


def _arange_type(o: Operands) -> Type:
    shape, dtype = o.ints(1), attribute(o, "dtype")
    assert isinstance(dtype, DataType)
    check_element(indexing.arange, "the tensor", dtype)
    if any(const_value(dim) != 1 for dim in shape[:-1]):
        row = dims([ConstInt(1), shape[-1]])
        refuse(
            o,
            f"{called(o.op)} makes one row, got the shape {dims(shape)}",
            "tile-shape",
            f"pl.col_expand(x, pl.arange(0, {row})) has it in all rows",
            shown=(),
        )
    indexing.check_first_number(o, dtype)
    return TensorType(shape, dtype)


def _arange(
    start: Any, shape: Sequence[int], dtype: DataType = D.INT32, descending: bool = False
) -> Array:
    steps = np.arange(shape[-1]).astype(dtype.numpy)
    first = np.asarray(start).astype(dtype.numpy)
    row: Array = first - steps if descending else first + steps
    return row.reshape(tuple(shape))


def _arange_tile(
    ctx: ConversionContext, call: Call, sizes: Sequence[int], begin: Sequence[Expr]
) -> Expr:
    dtype: DataType = call.kwargs.get("dtype", D.INT32)
    start, column = call.args[0], begin[-1]
    if const_value(column) != 0:
        step = Sub if call.kwargs.get("descending") else Add
        start = ctx.let("start", binary(step, start, Cast(column, dtype, call.span), call.span))
    return indexing.arange.build([start, [1, sizes[-1]]], call.kwargs, call.span)


@on_tensors(_arange_type, _arange)
def arange(
    start: Scalar, shape: Ints, dtype: DataType = DataType.INT32, descending: bool = False
) -> Tensor:
    """Return the row ``start``, ``start`` + 1, ... of ``shape`` [1, N].

    ``start`` has the element type ``dtype``, an integer of 16 or 32 bits. The elements decrease if
    ``descending``.
    """
    ...


GENERATORS[arange.name] = _arange_tile

# --------------------------------------------------------------------------------------------
# Side by side, and in a larger tensor
# --------------------------------------------------------------------------------------------


def _rewritten(
    types: TypeRule, numpy: Numpy, parts: Callable[[Call, Let], Expr], **facts: Any
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Register an op on tensors with its rewrite to other ops in kernels."""

    def define(function: Callable[P, R]) -> OpDef[P, R]:
        op = on_tensors(types, numpy, **facts)(function)
        REWRITES[op.name] = Rewrite(parts)
        return op

    return define


def _matrix(o: Operands, index: int) -> tuple[Expr, Expr]:
    """Return the shape of an operand, after a check that it has two dimensions."""
    shape, name = o.tensor(index).shape, operand_name(o, index)
    if len(shape) == 2:
        return shape[0], shape[1]
    flat = (ConstInt(1), *shape) if len(shape) == 1 else None
    return refuse(
        o,
        f"{called(o.op)} takes tensors of two dimensions, {name} has the shape {dims(shape)}",
        "tile-rank",
        f"pl.reshape({name}, {dims(flat)})" if flat else f"pl.reshape {name} to two dimensions",
        shown=(index,),
    )


def _joined(o: Operands) -> Type:
    (rows, left), (others, right) = _matrix(o, 0), _matrix(o, 1)
    dtype, names = element_of(o, 0), [operand_name(o, index) for index in (0, 1)]
    if dtype is not element_of(o, 1):
        refuse(
            o,
            f"{called(o.op)} takes tensors of one element type, got {dtype.member} and "
            f"{o.tensor(1).dtype.member}",
            "dtype-mismatch",
            f"pl.cast({names[1]}, pl.{dtype.member})",
        )
    if not same_dim(rows, others):
        refuse(
            o,
            f"{called(o.op)} puts tensors with equal numbers of rows side by side, got "
            f"{dims(o.tensor(0).shape)} and {dims(o.tensor(1).shape)}",
            "shape-mismatch",
        )
    return TensorType((rows, _sum(left, right)), dtype)


def _sum(left: Expr, right: Expr) -> Expr:
    known = const_value(left), const_value(right)
    if known[0] is not None and known[1] is not None:
        return ConstInt(known[0] + known[1])
    return binary(Add, left, right, left.span)


def _side_by_side(call: Call, let: Let) -> Expr:
    left, right = call.args
    assert isinstance(call.type, TensorType)
    assert isinstance(left.type, TensorType)
    shape, width = call.type.shape, left.type.shape[1]
    room = let("joined", tensor.create.build((shape, call.type.dtype), {}, call.span))
    half = let("joined", tensor_math.assemble.build([room, left, [0, 0]], {}, call.span))
    return tensor_math.assemble.build([half, right, [0, width]], {}, call.span)


@_rewritten(_joined, lambda src0, src1: np.concatenate([src0, src1], axis=1), _side_by_side)
def concat(src0: Tensor, src1: Tensor) -> Tensor:
    """Return the columns of ``src0`` [M, N], then those of ``src1`` [M, K]: [M, N + K]."""
    ...


def _expanded(o: Operands) -> Type:
    old, new = _matrix(o, 0), o.ints(1)
    pairs = [(const_value(a), const_value(b)) for a, b in zip(old, new, strict=False)]
    if len(new) != 2 or any(a is not None and b is not None and b < a for a, b in pairs):
        refuse(
            o,
            f"{called(o.op)} makes a tensor as large as {dims(old)} or larger, got {dims(new)}",
            "tile-shape",
            "pl.slice(x, shape, [0, 0]) is a part of it",
            shown=(0,),
        )
    return TensorType(new, element_of(o, 0))


def _grown(array: Array, shape: Sequence[int], pad_value: TilePad = TilePad.zero) -> Array:
    out = np.full(tuple(shape), filling({"pad_value": pad_value}, array.dtype), array.dtype)
    out[: array.shape[0], : array.shape[1]] = array
    return out


def _in_a_larger_one(call: Call, let: Let) -> Expr:
    source, shape = call.args
    assert isinstance(source.type, TensorType)
    dtype = source.type.dtype
    pad = TilePad(call.kwargs.get("pad_value", TilePad.zero))
    number = {TilePad.zero: 0, TilePad.max: largest(dtype), TilePad.min: smallest(dtype)}[pad]
    value = literal(number, dtype, call.span)
    room = let("padded", full.build((shape, dtype, value), {}, call.span))
    return tensor_math.assemble.build([room, source, [0, 0]], {}, call.span)


@_rewritten(_expanded, _grown, _in_a_larger_one, complete=pad_number(2))
def fillpad_expand(input: Tensor, shape: Ints, pad_value: TilePad | None = None) -> Tensor:
    """Return ``input`` [M, N] padded at the end to a larger tensor of ``shape``.

    The padding is 0, or with ``pad_value`` the largest or the smallest element.
    """
    ...


# --------------------------------------------------------------------------------------------
# Along rows or columns
# --------------------------------------------------------------------------------------------


def _linewise(
    op: AnyOp,
    axis: int = -2,
    *,
    each: bool = False,
    spreads: bool = False,
    shared: Iterable[int] = (),
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Register an op on tensors whose rows, or columns for ``axis`` -1, ``op`` computes on tiles.

    ``each``: the op on tiles computes one row at a time. ``spreads``: a single row broadcasts to
    all. ``shared`` operands are passed as a whole to each.
    """
    how = Linewise(axis, frozenset(shared))

    def define(function: Callable[P, R]) -> OpDef[P, R]:
        made = on_tensors(
            _types_of(op, how, spreads),
            _meaning_of(op, each),
            overload=op.overload,
        )(function)
        CONVERSIONS[made.name] = linewise(op)
        LINEWISE[made.name] = how
        return made

    return define


def _types_of(op: AnyOp, how: Linewise, spreads: bool) -> TypeRule:
    """Return the type rule that gives tensors the shape and type that ``op`` gives to tiles."""

    def rule(o: Operands) -> Type:
        axis = how.axis
        indices = [i for i, arg in enumerate(o.args) if isinstance(arg.type, TensorType)]
        for index in how.shared:
            _matrix(o, index)
        indices = [index for index in indices if index not in how.shared]
        found = [_matrix(o, index)[axis] for index in indices]
        lines = next((dim for dim in found if const_value(dim) != 1), found[0])
        for index, dim in zip(indices, found, strict=True):
            if not same_dim(dim, lines) and not (spreads and const_value(dim) == 1):
                word = "rows" if axis == -2 else "columns"
                refuse(
                    o,
                    f"{called(o.op)} takes tensors with equal numbers of {word}, "
                    f"{operand_name(o, indices[0])} has {dims([found[0]])} and "
                    f"{operand_name(o, index)} {dims([dim])}",
                    "shape-mismatch",
                )
        count = const_value(lines)
        try:
            kind = _on_tiles(op, o, how, 16 if count is None else count)
        except OpError as error:
            if axis != -2:
                raise
            try:
                kind = _on_tiles(op, o, how, 1)
            except OpError:
                raise error from None  # this one names the program's own shapes
        shape = (lines, kind.shape[1]) if axis == -2 else (kind.shape[0], lines)
        return TensorType(shape, kind.dtype)

    return rule


def _on_tiles(op: AnyOp, o: Operands, how: Linewise, count: int) -> TileType:
    """Return the type that ``op`` gives for tiles of ``count`` rows or columns of the operands."""
    args: list[Expr] = []
    for index, arg in enumerate(o.args):
        if isinstance(arg.type, TensorType):
            shape = list(arg.type.shape)
            if index not in how.shared and const_value(shape[how.axis]) != 1:
                shape[how.axis] = ConstInt(count)
            tile = TileType(tuple(shape), arg.type.dtype)
            arg = Var(operand_name(o, index), tile, arg.span)
        args.append(arg)
    kind = op.build((), {**by_name(op, args), **o.kwargs}, args[0].span).type
    assert isinstance(kind, TileType)
    return kind


def _meaning_of(op: AnyOp, each: bool) -> Numpy:
    """Return the meaning of ``op`` on arrays, without its scratch."""
    compute = op.numpy
    assert compute is not None

    def meaning(*args: Any, **kwargs: Any) -> Array:
        scratch = [None] * (len(op.operands) - len(args))
        if not each:
            return compute(*args, *scratch, **kwargs)
        rows = [compute(*(a[i : i + 1] for a in args), **kwargs) for i in range(len(args[0]))]
        return np.concatenate(rows) if rows else np.zeros((0, 0), args[0].dtype)

    return meaning


@_linewise(columns.row_argmax)
def row_argmax(input: Tensor) -> Tensor:
    """Return the index of the largest element of each row of ``input`` [M, N]: [M, 1] of INT32.

    The first of equal elements wins; a NaN wins only if it is the first element.
    """
    ...


@_linewise(columns.row_argmin)
def row_argmin(input: Tensor) -> Tensor:
    """Return the index of the smallest element of each row of ``input`` [M, N]: [M, 1] of INT32.

    The first of equal elements wins; a NaN wins only if it is the first element.
    """
    ...


@_linewise(columns.col_argmax, -1)
def col_argmax(input: Tensor) -> Tensor:
    """Return the index of the largest element of each column of ``input`` [M, N]: [1, N] of INT32.

    The first of equal elements wins; a NaN wins only if it is the first element.
    """
    ...


@_linewise(columns.col_argmin, -1)
def col_argmin(input: Tensor) -> Tensor:
    """Return the index of the smallest element of each column of ``input`` [M, N]: [1, N] of INT32.

    The first of equal elements wins; a NaN wins only if it is the first element.
    """
    ...


@_linewise(reinterpreting.reinterpret_view)
def reinterpret_view(input: Tensor, dtype: DataType) -> Tensor:
    """Return the bits of each element of ``input`` [M, N] as a ``dtype`` of the same width."""
    ...


@_linewise(indexing.gather_along)
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the elements of each row of ``input`` [M, N] at positions ``index`` [M, K]: [M, K].

    The result for a position outside the row is undefined; the interpreter gives 0. ``dim`` is the
    last dimension.
    """
    ...


@_linewise(indexing.gather_mask)
def gather_mask(input: Tensor, mask_pattern: int, output_dtype: DataType | None = None) -> Tensor:
    """Return the columns of ``input`` [M, N] that a pattern selects, side by side.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one. With ``output_dtype`` their bits are reinterpreted as elements of that type.
    """
    ...


@_linewise(scattering.scatter_along)
def scatter(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return ``input`` [M, N] with ``src`` [M, K] at the positions ``index`` [M, K] of each row.

    Of equal positions the last one wins. ``dim`` is the last dimension.
    """
    ...


@_linewise(scattering.scatter_mask)
def scatter_mask(input: Tensor, dst: Tensor, mask_pattern: int) -> Tensor:
    """Return ``dst`` [M, N] with the columns that a pattern selects replaced by those of ``input``.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one.
    """
    ...


@_linewise(scattering.scatter_update, -1, shared=[1])
def scatter_update(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return ``input`` [M, N] with the rows of ``src`` [K, N] at the row numbers ``index``.

    ``index`` has K elements; of equal ones the last wins. ``dim`` is -2.
    """
    ...


@_linewise(sorting.sort32, spreads=True)
def sort32(src: Tensor, idx: Tensor) -> Tensor:
    """Return ``src`` [M, N], each 32 columns sorted in descending order, with numbers: [M, 2 N].

    Even columns are the values, odd ones the bits of their numbers in ``idx`` [M, N] or [1, N], of
    UINT32. The sort is stable; a NaN is the largest.
    """
    ...


@_linewise(sorting.mrgsort, each=True)
def mrgsort(src: Tensor, block_len: int) -> Tensor:
    """Return ``src`` with every four sorted runs of ``block_len`` columns of a row merged into one.

    The runs hold records of `sort32`, two columns each.
    """
    ...


@_linewise(sorting.mrgsort2, each=True)
def mrgsort2(src0: Tensor, src1: Tensor) -> Tensor:
    """Return the sorted rows of records ``src0`` and ``src1`` merged."""
    ...


@_linewise(sorting.mrgsort3, each=True)
def mrgsort3(src0: Tensor, src1: Tensor, src2: Tensor) -> Tensor:
    """Return the sorted rows of records ``src0``, ``src1`` and ``src2`` merged."""
    ...


@_linewise(sorting.mrgsort4, each=True)
def mrgsort4(src0: Tensor, src1: Tensor, src2: Tensor, src3: Tensor) -> Tensor:
    """Return the sorted rows of records ``src0``, ``src1``, ``src2`` and ``src3`` merged."""
    ...
