"""Tensor forms of ops on tiles: on whole tensors they have the same meaning as on tiles.

Shapes broadcast as in NumPy and element types promote, as for `tensor_math`. Each definition names
its lowering in kernels: an op on tiles (`CONVERSIONS`, `REDUCTIONS`), or other ops on tensors
(`REWRITES`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType, promote
from pypto._src.ir.array_types import TensorType, dtype_of, same_dims
from pypto._src.ir.exprs import Call, ConstInt, Expr, Var, const_value
from pypto._src.ir.opdef import OpDef, Operands, TypeRule
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops import bitwise, compare_select, elementwise, reduce, tensor_math
from pypto._src.ops.conversion import (
    CONVERSIONS,
    REDUCTIONS,
    REWRITES,
    Conversion,
    ConversionContext,
    Reduction,
    Rewrite,
    along,
    of_one_tile,
    of_tile_and_number,
    of_two_tiles,
    one,
    reduction_form,
)
from pypto._src.ops.define import Numpy, Scalar, Tensor
from pypto._src.ops.lazy import axis_reductions, columns
from pypto._src.ops.rules.type_rules import called, dims, operand_name, refuse
from pypto._src.ops.tensor_math import (
    check_some,
    element_of,
    float_result,
    largest,
    largest_of,
    last_axis,
    of_block,
    on_each,
    on_elements,
    on_tensors,
    reduced,
    reduced_extreme,
    smallest_of,
    tensor_and_scalar,
    two_tensors,
    with_number,
    working,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

P = ParamSpec("P")
R = TypeVar("R")
D = DataType
Let = Callable[[str, Expr], Var]


def _form(
    types: TypeRule,
    numpy: Numpy,
    becomes: Conversion | Rewrite | Reduction,
    *,
    typed: bool = True,
    commutes: bool = False,
    overload: str | None = None,
    reads: Sequence[int] | None = None,
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Register an op on tensors with its lowering in kernels."""

    def define(function: Callable[P, R]) -> OpDef[P, R]:
        op = on_tensors(
            types, numpy, typed=typed, commutes=commutes, overload=overload, reads=reads
        )(function)
        if isinstance(becomes, Rewrite):
            REWRITES[op.name] = becomes
        elif isinstance(becomes, Reduction):
            REDUCTIONS[op.name] = becomes
        else:
            CONVERSIONS[op.name] = becomes
        return op

    return define


# --------------------------------------------------------------------------------------------
# One operand
# --------------------------------------------------------------------------------------------


def _same(o: Operands) -> Type:
    return TensorType(o.tensor(0).shape, element_of(o, 0))


@_form(float_result, on_each(elementwise.sqrt), of_one_tile(elementwise.sqrt))
def sqrt(input: Tensor) -> Tensor:
    """Return the square root of each element of ``input``; integers become FP32."""
    ...


@_form(float_result, on_each(elementwise.recip), of_one_tile(elementwise.recip))
def recip(input: Tensor, high_precision: bool = False) -> Tensor:
    """Return 1 / x for each element x of ``input``; integers become FP32.

    ``high_precision`` has no effect: the quotient is already exact to the last place.
    """
    ...


@_form(float_result, on_each(elementwise.rsqrt), of_one_tile(elementwise.rsqrt))
def rsqrt(input: Tensor, high_precision: bool = False) -> Tensor:
    """Return 1 / sqrt(x) for each element x of ``input``; integers become FP32.

    ``high_precision`` has no effect: the result is already exact to the last place.
    """
    ...


@_form(float_result, on_each(elementwise.log), of_one_tile(elementwise.log))
def log(input: Tensor, high_precision: bool = False) -> Tensor:
    """Return the natural logarithm of each element of ``input``; NaN below zero.

    Integers become FP32. ``high_precision`` has no effect.
    """
    ...


@_form(_same, on_each(elementwise.neg), of_one_tile(elementwise.neg))
def neg(input: Tensor) -> Tensor:
    """Return ``-input``; the smallest signed integer stays unchanged, unsigned ones wrap."""
    ...


@_form(_same, on_each(elementwise.relu), of_one_tile(elementwise.relu))
def relu(input: Tensor) -> Tensor:
    """Return each element of ``input``, or 0 where it is negative; NaN stays NaN."""
    ...


@_form(_same, on_each(bitwise.not_), of_one_tile(bitwise.not_))
def not_(input: Tensor) -> Tensor:
    """Return the bitwise NOT of each element of ``input``."""
    ...


def _abs_on_tiles(
    ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
) -> Expr:
    """Convert to the block op, or for integers to the larger of x and -x."""
    (tile,) = args
    if not dtype_of(tile).is_int():
        return of_one_tile(elementwise.abs)(ctx, args, kwargs, span)
    minus = ctx.let("minus", elementwise.neg.build((tile,), {}, span))
    return elementwise.maximum.build((tile, minus), {}, span)


@_form(_same, on_each(elementwise.abs), _abs_on_tiles)
def abs(input: Tensor) -> Tensor:
    """Return the absolute values of ``input``; the smallest signed integer stays unchanged."""
    ...


# --------------------------------------------------------------------------------------------
# Two operands
# --------------------------------------------------------------------------------------------


def _compared(o: Operands) -> Type:
    compare_select.check_mode(o)
    return two_tensors(o)


def _compared_with_number(o: Operands) -> Type:
    compare_select.check_mode(o)
    return tensor_and_scalar(o)


def _comparison(lhs: Array, rhs: Array, result: Any, cmp_type: int = 0) -> Array:
    def compare(a: Array, b: Array) -> Array:
        return compare_select.mask(a, b, cmp_type)

    return on_elements(compare, compare_select.cmp)(lhs, rhs, result)


def _comparison_with_number(lhs: Array, rhs: Any, result: Any, cmp_type: int = 0) -> Array:
    wide = lhs.astype(working(compare_select.cmps, result), copy=False)
    number = elementwise.beside(wide, np.asarray(rhs).astype(result))
    return compare_select.mask(wide, number, cmp_type).astype(result, copy=False)


def _integers(o: Operands, types: TypeRule) -> Type:
    """Return the type that ``types`` gives, after a check that the operands are integers."""
    kind = types(o)
    for index, operand in enumerate(o.args):
        if dtype_of(operand).is_float():
            refuse(
                o,
                f"{called(o.op)} takes integers, {operand_name(o, index)} has "
                f"{dtype_of(operand).member}",
                "element-type",
                f"pl.cast({operand_name(o, index)}, pl.INT32)",
            )
    return kind


def _two_of_bits(o: Operands) -> Type:
    return _integers(o, two_tensors)


def _bits_and_number(o: Operands) -> Type:
    return _integers(o, _same)


def _xor_number(lhs: Array, rhs: Any, result: Any) -> Array:
    wide: Array = lhs.astype(result, copy=False)
    return wide ^ elementwise.beside(wide, rhs)


def _shifted(o: Operands) -> Type:
    kind = _integers(o, two_tensors)
    assert isinstance(kind, TensorType)
    return TensorType(kind.shape, element_of(o, 0))


def _shifted_by_number(o: Operands) -> Type:
    count = const_value(o.args[1])
    if count is not None and count < 0:
        refuse(o, f"{called(o.op)} by {count} bits", "argument-kind", "give a number from 0 on")
    return _integers(o, _same)


@_form(two_tensors, of_block(elementwise.minimum), of_two_tiles(elementwise.minimum))
def minimum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the smaller of ``lhs`` and ``rhs``, broadcast and promoted; NaN if either is NaN."""
    ...


@_form(
    tensor_and_scalar,
    with_number(elementwise.maxs),
    of_tile_and_number(elementwise.maxs),
    overload="maximum",
    commutes=True,
)
def maximums(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the larger of each element of ``lhs`` and ``rhs``; NaN if either is NaN."""
    ...


@_form(
    tensor_and_scalar,
    with_number(elementwise.mins),
    of_tile_and_number(elementwise.mins),
    overload="minimum",
    commutes=True,
)
def minimums(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the smaller of each element of ``lhs`` and ``rhs``; NaN if either is NaN."""
    ...


@_form(_compared, _comparison, of_two_tiles(compare_select.cmp))
def cmp(lhs: Tensor, rhs: Tensor, cmp_type: int = 0) -> Tensor:
    """Return 1 where comparison ``cmp_type`` holds for ``lhs`` and ``rhs``, else 0.

    The operands are broadcast and promoted. ``cmp_type`` is 0 for equal, 1 not equal, 2 less, 3
    less or equal, 4 greater, 5 greater or equal. A NaN is unequal to everything, and neither less
    nor greater.
    """
    ...


@_form(
    _compared_with_number,
    _comparison_with_number,
    of_tile_and_number(compare_select.cmps),
    overload="cmp",
)
def cmps(lhs: Tensor, rhs: Scalar, cmp_type: int = 0) -> Tensor:
    """Return 1 where comparison ``cmp_type`` holds for ``lhs`` and the number ``rhs``, else 0.

    The operands are promoted. ``cmp_type`` is 0 for equal, 1 not equal, 2 less, 3 less or equal,
    4 greater, 5 greater or equal. A NaN is unequal to everything, and neither less nor greater.
    """
    ...


@_form(_two_of_bits, of_block(bitwise.and_), of_two_tiles(bitwise.and_))
def and_(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the bitwise AND of ``lhs`` and ``rhs``, broadcast and promoted."""
    ...


@_form(
    _bits_and_number, with_number(bitwise.ands), of_tile_and_number(bitwise.ands), overload="and_"
)
def ands(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the bitwise AND of each element of ``lhs`` and the number ``rhs``."""
    ...


@_form(_two_of_bits, of_block(bitwise.or_), of_two_tiles(bitwise.or_))
def or_(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the bitwise OR of ``lhs`` and ``rhs``, broadcast and promoted."""
    ...


@_form(_bits_and_number, with_number(bitwise.ors), of_tile_and_number(bitwise.ors), overload="or_")
def ors(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the bitwise OR of each element of ``lhs`` and the number ``rhs``."""
    ...


@_form(_two_of_bits, on_elements(lambda a, b: a ^ b, bitwise.xor), of_two_tiles(bitwise.xor))
def xor(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the bitwise XOR of ``lhs`` and ``rhs``, broadcast and promoted."""
    ...


@_form(_bits_and_number, _xor_number, of_tile_and_number(bitwise.xors), overload="xor")
def xors(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the bitwise XOR of each element of ``lhs`` and the number ``rhs``."""
    ...


@_form(_shifted, of_block(bitwise.shl), of_two_tiles(bitwise.shl))
def shl(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs`` shifted left by ``rhs`` bits, as the op on tiles does."""
    ...


@_form(
    _shifted_by_number, with_number(bitwise.shls), of_tile_and_number(bitwise.shls), overload="shl"
)
def shls(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs`` shifted left by ``rhs`` bits, as the op on tiles does."""
    ...


@_form(_shifted, of_block(bitwise.shr), of_two_tiles(bitwise.shr))
def shr(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs`` shifted right by ``rhs`` bits, as the op on tiles does."""
    ...


@_form(
    _shifted_by_number, with_number(bitwise.shrs), of_tile_and_number(bitwise.shrs), overload="shr"
)
def shrs(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs`` shifted right by ``rhs`` bits, as the op on tiles does."""
    ...


# --------------------------------------------------------------------------------------------
# With a column or a row
# --------------------------------------------------------------------------------------------


def _beside(o: Operands, axis: int) -> Type:
    """Return the type of a tensor [.., M, N] with one whose size in dimension ``axis`` is 1."""
    dtype = promote(element_of(o, 0), element_of(o, 1))
    whole, part = o.tensor(0).shape, o.tensor(1).shape
    wanted = [*whole]
    if len(whole) >= 2:
        wanted[axis] = ConstInt(1)
    fits = len(whole) == len(part) >= 2 and const_value(part[axis]) == 1 and same_dims(wanted, part)
    if not fits:
        word = "column" if axis == -1 else "row"
        name = operand_name(o, 1)
        flat = [dim for dim in part if const_value(dim) != 1]
        long = [dim for dim in wanted if const_value(dim) != 1]
        refuse(
            o,
            f"{called(o.op)} takes a {word} {dims(wanted)} beside {dims(whole)}, {name} has the "
            f"shape {dims(part)}",
            "shape-mismatch",
            f"pl.reshape({name}, {dims(wanted)})" if same_dims(flat, long) else None,
        )
    return TensorType(whole, dtype)


def beside_column(o: Operands) -> Type:
    """Return the type of a tensor [.., M, N] with a column [.., M, 1]."""
    return _beside(o, -1)


def beside_row(o: Operands) -> Type:
    """Return the type of a tensor [.., M, N] with a row [.., 1, N]."""
    return _beside(o, -2)


def _same_as(op: OpDef[..., Any]) -> Rewrite:
    """Return the rewrite of an op with a column or row: to ``op``, whose operands broadcast."""

    def parts(call: Call, _let: Let) -> Expr:
        return op.build(call.args, {}, call.span)

    return Rewrite(parts)


def _of_difference(call: Call, let: Let) -> Expr:
    difference = let("difference", tensor_math.sub.build(call.args, {}, call.span))
    return tensor_math.exp.build([difference], {}, call.span)


def _exp_of_difference(lhs: Array, rhs: Array, result: Any) -> Array:
    compute = elementwise.exp.numpy
    assert compute is not None
    return compute(lhs.astype(result, copy=False) - rhs.astype(result, copy=False))


@_form(beside_column, of_block(elementwise.add), _same_as(tensor_math.add))
def row_expand_add(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] plus the column ``row_vec`` [.., M, 1]."""
    ...


@_form(beside_column, of_block(elementwise.sub), _same_as(tensor_math.sub))
def row_expand_sub(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] minus the column ``row_vec`` [.., M, 1]."""
    ...


@_form(beside_column, of_block(elementwise.mul), _same_as(tensor_math.mul))
def row_expand_mul(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] times the column ``row_vec`` [.., M, 1]."""
    ...


@_form(beside_column, on_elements(elementwise.quotient, elementwise.div), _same_as(tensor_math.div))
def row_expand_div(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] divided by the column ``row_vec`` [.., M, 1]."""
    ...


@_form(beside_column, of_block(elementwise.maximum), _same_as(tensor_math.maximum))
def row_expand_max(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return the larger of ``tensor`` [.., M, N] and the column ``row_vec`` [.., M, 1]."""
    ...


@_form(beside_column, of_block(elementwise.minimum), _same_as(minimum))
def row_expand_min(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return the smaller of ``tensor`` [.., M, N] and the column ``row_vec`` [.., M, 1]."""
    ...


@_form(beside_column, _exp_of_difference, Rewrite(_of_difference))
def row_expand_expdif(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return exp(x - v) of ``tensor`` [.., M, N] and the column ``row_vec`` [.., M, 1]."""
    ...


@_form(beside_row, of_block(elementwise.add), _same_as(tensor_math.add))
def col_expand_add(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] plus the row ``col_vec`` [.., 1, N]."""
    ...


@_form(beside_row, of_block(elementwise.sub), _same_as(tensor_math.sub))
def col_expand_sub(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] minus the row ``col_vec`` [.., 1, N]."""
    ...


@_form(beside_row, of_block(elementwise.mul), _same_as(tensor_math.mul))
def col_expand_mul(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] times the row ``col_vec`` [.., 1, N]."""
    ...


@_form(beside_row, on_elements(elementwise.quotient, elementwise.div), _same_as(tensor_math.div))
def col_expand_div(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] divided by the row ``col_vec`` [.., 1, N]."""
    ...


@_form(beside_row, of_block(elementwise.maximum), _same_as(tensor_math.maximum))
def col_expand_max(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return the larger of ``tensor`` [.., M, N] and the row ``col_vec`` [.., 1, N]."""
    ...


@_form(beside_row, of_block(elementwise.minimum), _same_as(minimum))
def col_expand_min(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return the smaller of ``tensor`` [.., M, N] and the row ``col_vec`` [.., 1, N]."""
    ...


@_form(beside_row, _exp_of_difference, Rewrite(_of_difference))
def col_expand_expdif(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return exp(x - v) of ``tensor`` [.., M, N] and the row ``col_vec`` [.., 1, N]."""
    ...


# --------------------------------------------------------------------------------------------
# Reductions
# --------------------------------------------------------------------------------------------


def _row_min(tensor: Array, axis: int | None = None, keep_dim: bool | None = None) -> Array:
    return smallest_of(tensor, last_axis(axis), keep_dim is not False)


def _row_prod(tensor: Array, axis: int | None = None, keep_dim: bool | None = None) -> Array:
    found = columns.product(tensor, last_axis(axis))
    return found if keep_dim is not False else np.squeeze(found, last_axis(axis))


def _col_max(tensor: Array) -> Array:
    return largest_of(tensor, -2)


def _col_min(tensor: Array) -> Array:
    return smallest_of(tensor, -2)


def _col_sum(tensor: Array) -> Array:
    return reduce.total(tensor, -2)


def _col_prod(tensor: Array) -> Array:
    return columns.product(tensor, -2)


def _columns_of(op: OpDef[..., Any]) -> Callable[[Expr, Any], Expr]:
    return lambda tile, span: op.build((tile,), {}, span)


@_form(
    reduced_extreme,
    _row_min,
    Reduction(reduction_form(reduce.row_min, along(axis_reductions.min)), minimum, largest),
    typed=False,
)
def row_min(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the smallest element of each row of ``input``; NaN if there is any.

    A row runs along ``axis``, by default the last. Its dimension becomes 1, or is dropped with
    ``keep_dim=False``.
    """
    ...


@_form(
    reduced,
    _row_prod,
    Reduction(
        reduction_form(columns.row_prod, _columns_of(columns.col_prod)),
        tensor_math.mul,
        one,
        adds_up=True,
    ),
    typed=False,
)
def row_prod(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the product of each row of ``input``; integers wrap.

    A row runs along ``axis``, by default the last. Its dimension becomes 1, or is dropped with
    ``keep_dim=False``.
    """
    ...


def _reduced_columns(o: Operands) -> Type:
    kind, dtype = o.tensor(0), element_of(o, 0)
    if len(kind.shape) < 2:
        name = operand_name(o, 0)
        refuse(
            o,
            f"{called(o.op)} reduces columns, {name} has the shape {dims(kind.shape)}",
            "tile-rank",
            f"pl.reshape({name}, {dims((*kind.shape, ConstInt(1)))})",
        )
    return TensorType((*kind.shape[:-2], ConstInt(1), kind.shape[-1]), dtype)


def _extreme_columns(o: Operands) -> Type:
    result = _reduced_columns(o)
    check_some(o, len(o.tensor(0).shape) - 2)
    return result


def _by_rows(op: OpDef[..., Any]) -> Rewrite:
    """Return the rewrite of a reduction of columns: to one of rows, along the next-to-last axis."""

    def parts(call: Call, _let: Let) -> Expr:
        return op.build(call.args, {"axis": -2}, call.span)

    return Rewrite(parts)


@_form(
    _extreme_columns,
    _col_max,
    _by_rows(tensor_math.row_max),
    typed=False,
)
def col_max(input: Tensor) -> Tensor:
    """Return the largest elements of columns of ``input`` [.., M, N]: [.., 1, N]; NaN if any."""
    ...


@_form(
    _extreme_columns,
    _col_min,
    _by_rows(row_min),
    typed=False,
)
def col_min(input: Tensor) -> Tensor:
    """Return the smallest elements of columns of ``input`` [.., M, N]: [.., 1, N]; NaN if any."""
    ...


@_form(
    _reduced_columns,
    _col_sum,
    _by_rows(tensor_math.row_sum),
    typed=False,
)
def col_sum(input: Tensor) -> Tensor:
    """Return the sum of each column of ``input`` [.., M, N]: [.., 1, N]; integers wrap."""
    ...


@_form(_reduced_columns, _col_prod, _by_rows(row_prod), typed=False)
def col_prod(input: Tensor) -> Tensor:
    """Return the product of each column of ``input`` [.., M, N]: [.., 1, N]; integers wrap."""
    ...
