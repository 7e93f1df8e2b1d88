"""Ops that compute new tensors from whole tensors, and `assemble`, which writes part of one.

Shapes broadcast as in NumPy and element types promote (`dtypes.promote`); each element is computed
as by the block op of the same name. No core executes these ops: inside InCore scopes they become
block ops (`conversion`); elsewhere they are evaluated on the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType, bounds, compute_dtype, promote
from pypto._src.errors import EvaluationError, OpError
from pypto._src.ir.array_types import TensorType, same_dim, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import ConstInt, Expr, const_value
from pypto._src.ir.opdef import Complete, OpDef, Operands, TypeRule
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops import elementwise, reduce
from pypto._src.ops.define import (
    BY_PYTHON_NAME,
    STORABLE,
    Axis,
    Ints,
    Numpy,
    Offsets,
    Scalar,
    Tensor,
    tensor_op,
)
from pypto._src.ops.rules.boxes import region
from pypto._src.ops.rules.type_rules import (
    RoundMode,
    attribute,
    broadcast,
    called,
    check_element,
    check_sizes,
    dims,
    ignoring,
    known_size,
    operand_name,
    refuse,
    unsupported_reason,
)
from pypto._src.ops.tensor import check_axis

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

P = ParamSpec("P")
R = TypeVar("R")
D = DataType

_ON_TILES: Final = "pl.load the operands, apply {} to the tiles, and pl.store the result"


def on_tensors(
    types: TypeRule,
    numpy: Numpy,
    *,
    typed: bool = False,
    commutes: bool = False,
    overload: str | None = None,
    reads: Iterable[int] | None = None,
    writes: Iterable[int] = (),
    instead: str | None = None,
    complete: Complete | None = None,
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Register an op with the facts common to all ops of this module.

    It takes the element types that move between memories: a block op does the computing.
    """

    def define(function: Callable[P, R]) -> OpDef[P, R]:
        name = overload or function.__name__
        return tensor_op(
            types=types,
            numpy=numpy,
            complete=complete,
            dtypes=STORABLE,
            space=MemorySpace.DDR,
            reads=reads,
            writes=writes,
            overload=overload,
            typed=typed,
            commutes=commutes,
            unsupported="ops on whole tensors become block ops inside InCore scopes, by "
            "OutlineIncoreScopes and ConvertTensorToBlockOps",
            instead=instead or _ON_TILES.format(f"pl.{name}"),
        )(function)

    return define


# --------------------------------------------------------------------------------------------
# Shapes and element types
# --------------------------------------------------------------------------------------------


def element_of(o: Operands, index: int) -> DataType:
    """Return the element type of tensor operand ``index``, after a check that the op takes it."""
    dtype = o.tensor(index).dtype
    check_element(o.op, operand_name(o, index), dtype)
    return dtype


def two_tensors(o: Operands) -> Type:
    """Return the type of an elementwise op on two tensors."""
    dtype = promote(element_of(o, 0), element_of(o, 1))
    a, b = o.tensor(0).shape, o.tensor(1).shape
    shape = broadcast(a, b)
    if shape is None:
        refuse(
            o,
            f"shapes {dims(a)} and {dims(b)} of {called(o.op)} do not broadcast",
            "shape-mismatch",
            _fitting(o, a, b),
        )
    return TensorType(shape, dtype)


def _fitting(o: Operands, a: Sequence[Expr], b: Sequence[Expr]) -> str | None:
    """Return the code that makes the two shapes broadcast, None if there is none."""
    second = operand_name(o, 1)
    if len(b) == 1 and len(a) == 2 and same_dim(a[0], b[0]):
        return f"pl.reshape({second}, {dims((*b, ConstInt(1)))})"
    sizes = [(known_size(x), known_size(y)) for x, y in zip(a, b, strict=False)]
    for index, shape in ((1, a), (0, b)):
        fits = [mine is not None and other is not None for mine, other in sizes]
        order = [(x, y) if index else (y, x) for x, y in sizes]
        smaller = all(x <= y for x, y in order if x is not None and y is not None)
        if len(a) == len(b) and all(fits) and smaller:
            zeros = [0] * len(shape)
            return f"pl.view({operand_name(o, index)}, {dims(shape)}, {zeros})"
    return None


def tensor_and_scalar(o: Operands) -> Type:
    """Return the type of an op on a tensor and a number: the tensor's shape, promoted."""
    scalar = o.scalar(1).dtype
    check_element(o.op, operand_name(o, 1), scalar)
    return TensorType(o.tensor(0).shape, promote(element_of(o, 0), scalar))


def _checked(shape: Sequence[Expr], what: str) -> None:
    for axis, dim in enumerate(shape):
        if (const_value(dim) or 0) < 0:
            raise OpError(
                f"{what} has the size {const_value(dim)} in dimension {axis}", slug="tile-shape"
            )


# --------------------------------------------------------------------------------------------
# Two operands
# --------------------------------------------------------------------------------------------


def working(op: OpDef[..., Any], result: Any) -> Any:
    """Return the type kernels compute in: FP32 for floats that ``op`` lacks, else ``result``."""
    lacks = any(d.is_float() and d.numpy == result for d in STORABLE - op.dtypes)
    return np.float32 if lacks else result


def on_elements(
    compute: Callable[[Any, Any], Any], op: OpDef[..., Any]
) -> Callable[[Any, Any, Any], Any]:
    """Return ``compute`` on arrays of any shape and type: broadcast, and converted to ``result``.

    It rounds once, as kernels do: floats that ``op`` does not take are computed in FP32.
    """

    def meaning(lhs: Array, rhs: Array, result: Any) -> Array:
        try:
            np.broadcast_shapes(lhs.shape, rhs.shape)
        except ValueError:
            raise EvaluationError(
                f"tensors {list(lhs.shape)} and {list(rhs.shape)} do not broadcast",
                slug="shape-mismatch",
            ) from None
        wide = working(op, result)
        found = compute(lhs.astype(wide, copy=False), rhs.astype(wide, copy=False))
        return found.astype(result, copy=False)

    return meaning


def on_each(op: OpDef[..., Any]) -> Callable[..., Any]:
    """Return the meaning of a block op on one tile, for elements of type ``result``."""
    compute = op.numpy
    assert compute is not None

    def meaning(tensor: Array, result: Any, high_precision: bool = False) -> Array:
        found: Array = compute(tensor.astype(working(op, result), copy=False))
        return found.astype(result, copy=False)

    return meaning


def with_number(op: OpDef[..., Any]) -> Callable[[Any, Any, Any], Any]:
    """Return the meaning of a block op on a tile and a number, for elements of type ``result``."""
    compute = op.numpy
    assert compute is not None

    def meaning(lhs: Array, rhs: Any, result: Any) -> Array:
        wide = working(op, result)
        number = rhs if wide is result else np.asarray(rhs).astype(result)  # of its own type
        found: Array = compute(lhs.astype(wide, copy=False), number)
        return found.astype(result, copy=False)

    return meaning


def of_block(op: OpDef[..., Any]) -> Callable[[Any, Any, Any], Any]:
    """Return the meaning of a block op on two tiles, for tensors."""
    compute = op.numpy
    assert compute is not None
    return on_elements(compute, op)


@on_tensors(two_tensors, of_block(elementwise.add), typed=True)
def add(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs + rhs``, element by element, broadcast and promoted; integers wrap."""
    ...


@on_tensors(two_tensors, of_block(elementwise.sub), typed=True)
def sub(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs - rhs``, element by element, broadcast and promoted; integers wrap."""
    ...


@on_tensors(two_tensors, of_block(elementwise.mul), typed=True)
def mul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs * rhs``, element by element, broadcast and promoted; integers wrap."""
    ...


@on_tensors(
    two_tensors,
    on_elements(elementwise.quotient, elementwise.div),
    typed=True,
    complete=ignoring("high_precision"),
)
def div(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs / rhs``, element by element, broadcast and promoted.

    Integers truncate toward zero, and x / 0 is 0. The vector unit divides only floats: cast
    integers where this becomes a block op.
    """
    ...


@on_tensors(two_tensors, of_block(elementwise.maximum), typed=True)
def maximum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the larger of ``lhs`` and ``rhs``, broadcast and promoted; NaN if either is NaN."""
    ...


@on_tensors(
    tensor_and_scalar, with_number(elementwise.adds), typed=True, commutes=True, overload="add"
)
def add_scalar(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs + rhs`` with a number, promoted; integers wrap."""
    ...


@on_tensors(tensor_and_scalar, with_number(elementwise.subs), typed=True, overload="sub")
def sub_scalar(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs - rhs`` with a number, promoted; integers wrap."""
    ...


@on_tensors(
    tensor_and_scalar, with_number(elementwise.muls), typed=True, commutes=True, overload="mul"
)
def mul_scalar(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs * rhs`` with a number, promoted; integers wrap."""
    ...


@on_tensors(tensor_and_scalar, with_number(elementwise.divs), typed=True, overload="div")
def div_scalar(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs / rhs`` with a number, promoted; integers truncate toward zero."""
    ...


for _op in (add_scalar, sub_scalar, mul_scalar, div_scalar):  # their aliases: adds, subs, ...
    BY_PYTHON_NAME["tensor", f"{_op.overload}s"] = _op


# --------------------------------------------------------------------------------------------
# One operand
# --------------------------------------------------------------------------------------------


def float_result(o: Operands) -> Type:
    """Return the type of a function of floats: integers become FP32."""
    dtype = element_of(o, 0)
    return TensorType(o.tensor(0).shape, dtype if dtype.is_float() else D.FP32)


def _exp(tensor: Array, result: Any) -> Array:
    compute = elementwise.exp.numpy
    assert compute is not None
    return compute(tensor.astype(result, copy=False))


@on_tensors(float_result, _exp, typed=True)
def exp(input: Tensor) -> Tensor:
    """Return e to the power of each element of ``input``; integers become FP32."""
    ...


def _cast_type(o: Operands) -> Type:
    element_of(o, 0)
    target = attribute(o, "target_type")
    assert isinstance(target, DataType)
    if target not in o.op.dtypes:
        raise OpError(
            f"{called(o.op)} cannot create tensors of {target.member}",
            note=unsupported_reason(target),
            slug="element-type",
        )
    return TensorType(o.tensor(0).shape, target)


def _cast(tensor: Array, target_type: DataType, mode: RoundMode = "round") -> Array:
    compute = elementwise.cast.numpy
    assert compute is not None
    if tensor.dtype == target_type.numpy:
        return tensor.copy()
    return compute(tensor, target_type=target_type, mode=mode)


@on_tensors(_cast_type, _cast)
def cast(input: Tensor, target_type: DataType, mode: RoundMode = "round") -> Tensor:
    """Return ``input`` with elements of ``target_type``, rounded as `elementwise.cast` does."""
    ...


def reduced(o: Operands) -> Type:
    kind, dtype = o.tensor(0), element_of(o, 0)
    axis = check_axis(o, last_axis(o.kwargs.get("axis")))
    size = () if o.kwargs.get("keep_dim") is False else (ConstInt(1),)
    return TensorType((*kind.shape[:axis], *size, *kind.shape[axis + 1 :]), dtype)


def reduced_extreme(o: Operands) -> Type:
    """Return the type of a maximum or minimum, which needs at least one element."""
    result = reduced(o)
    check_some(o, check_axis(o, last_axis(o.kwargs.get("axis"))))
    return result


def check_some(o: Operands, axis: int) -> None:
    """Check that the dimension along which a maximum or minimum is taken has elements."""
    shape = o.tensor(0).shape
    if const_value(shape[axis]) == 0:
        refuse(
            o,
            f"{called(o.op)} along dimension {axis} of {operand_name(o, 0)} {dims(shape)} has no "
            "elements to choose from",
            "no-elements",
            f"call pl.{o.op.overload} only if that size is above 0",
        )


def last_axis(axis: int | None) -> int:
    return -1 if axis is None else axis


def smallest(dtype: DataType) -> float:
    """Return the smallest element of a type, -inf for floats."""
    return -math.inf if dtype.is_float() else bounds(dtype)[0]


def largest(dtype: DataType) -> float:
    """Return the largest element of a type, inf for floats."""
    return math.inf if dtype.is_float() else (1 << (dtype.get_bit() - dtype.is_signed_int())) - 1


def largest_of(tensor: Array, axis: int, keepdims: bool = True) -> Array:
    """Return the maximum along ``axis``; of no elements, the smallest value of the type."""
    some = tensor.shape[axis] > 0
    initial = None if some else -math.inf if tensor.dtype.kind not in "iu" else _limits(tensor).min
    return _extreme(np.max, tensor, axis, keepdims, initial)


def smallest_of(tensor: Array, axis: int, keepdims: bool = True) -> Array:
    """Return the minimum along ``axis``; of no elements, the largest value of the type."""
    some = tensor.shape[axis] > 0
    initial = None if some else math.inf if tensor.dtype.kind not in "iu" else _limits(tensor).max
    return _extreme(np.min, tensor, axis, keepdims, initial)


def _limits(tensor: Array) -> Any:
    return np.iinfo(tensor.dtype)


def _extreme(
    compute: Callable[..., Any], tensor: Array, axis: int, keepdims: bool, initial: Any
) -> Array:
    more = {} if initial is None else {"initial": tensor.dtype.type(initial)}
    return np.asarray(compute(tensor, axis=axis, keepdims=keepdims, **more))


def _row_max(tensor: Array, axis: int | None = None, keep_dim: bool | None = None) -> Array:
    return largest_of(tensor, last_axis(axis), keep_dim is not False)


def _row_sum(tensor: Array, axis: int | None = None, keep_dim: bool | None = None) -> Array:
    return reduce.total(tensor, last_axis(axis), keep_dim is not False)


@on_tensors(reduced_extreme, _row_max)
def row_max(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the largest element of each row of ``input``; NaN if there is any.

    A row runs along ``axis``, by default the last. Its dimension becomes 1, or is dropped with
    ``keep_dim=False``.
    """
    ...


@on_tensors(reduced, _row_sum)
def row_sum(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the sum of each row of ``input``; 16-bit floats are accumulated in 32 bits.

    A row runs along ``axis``, by default the last. Its dimension becomes 1, or is dropped with
    ``keep_dim=False``.
    """
    ...


# --------------------------------------------------------------------------------------------
# Shape
# --------------------------------------------------------------------------------------------


def _reshape_type(o: Operands) -> Type:
    shape, dtype = o.ints(1), element_of(o, 0)
    check_sizes(o, o.tensor(0), shape)
    result = TensorType(shape, dtype)
    _checked(shape, f"the result of {called(o.op)}")
    old, new = static_shape(o.tensor(0)), static_shape(result)
    if old is not None and new is not None and -1 not in old and math.prod(old) != math.prod(new):
        refuse(
            o,
            f"{called(o.op)} of {math.prod(old)} elements to {dims(shape)}, which has "
            f"{math.prod(new)}",
            "shape-mismatch",
            shown=(0,),
        )
    return result


def _reshape(tensor: Array, shape: Sequence[int]) -> Array:
    if tensor.size != math.prod(shape):
        raise EvaluationError(
            f"pl.reshape of a tensor {list(tensor.shape)} to {list(shape)}", slug="shape-mismatch"
        )
    return tensor.reshape(shape).copy()


@on_tensors(_reshape_type, _reshape)
def reshape(tensor: Tensor, shape: Ints) -> Tensor:
    """Return the elements of ``tensor`` as a new tensor of ``shape``, which has as many.

    Elements keep their row-major order.
    """
    ...


def _transpose_type(o: Operands) -> Type:
    kind, dtype, name = o.tensor(0), element_of(o, 0), operand_name(o, 0)
    if len(kind.shape) < 2:
        refuse(
            o,
            f"{called(o.op)} swaps two dimensions, {name} has the shape {dims(kind.shape)}",
            "transpose-axes",
            f"pl.reshape({name}, {dims((ConstInt(1), *kind.shape))})",
            shown=(0,),
        )
    first, second = check_axis(o, o.axis(1)), check_axis(o, o.axis(2))
    if first == second:
        refuse(
            o,
            f"{called(o.op)} swaps two dimensions, got dimension {o.axis(1)} twice",
            "transpose-axes",
            f"pl.transpose({name}, {len(kind.shape) - 2}, {len(kind.shape) - 1})",
            shown=(0,),
        )
    shape = list(kind.shape)
    shape[first], shape[second] = shape[second], shape[first]
    return TensorType(shape, dtype)


@on_tensors(
    _transpose_type,
    lambda tensor, axis1, axis2: np.swapaxes(tensor, axis1, axis2).copy(),
)
def transpose(tensor: Tensor, axis1: Axis, axis2: Axis) -> Tensor:
    """Return ``tensor`` with two dimensions swapped; ``axis1`` and ``axis2`` may be negative."""
    ...


# --------------------------------------------------------------------------------------------
# Product of matrices
# --------------------------------------------------------------------------------------------


def _matmul_type(o: Operands) -> Type:
    promoted = promote(element_of(o, 0), element_of(o, 1))
    dtype = attribute(o, "out_dtype") or promoted
    if dtype not in o.op.dtypes:
        raise OpError(
            f"{called(o.op)} cannot create tensors of {dtype.member}",
            note=unsupported_reason(dtype),
            slug="element-type",
        )
    lhs = _transposed(o.tensor(0).shape, attribute(o, "a_trans"))
    rhs = _transposed(o.tensor(1).shape, attribute(o, "b_trans"))
    if not lhs or not rhs:
        refuse(o, f"{called(o.op)} takes vectors and matrices, got a single number", "tile-rank")
    inner, inner2 = lhs[-1], rhs[-2:][0]
    if not same_dim(inner, inner2) and None not in (known_size(inner), known_size(inner2)):
        refuse(
            o,
            f"{called(o.op)} of [M, K] and [K, N] has different K: {dims(lhs)} and {dims(rhs)}",
            "shape-mismatch",
            _transposing(o, lhs, rhs),
        )
    batch = broadcast(lhs[:-2], rhs[:-2])
    if batch is None:
        refuse(
            o,
            f"dimensions {dims(lhs[:-2])} and {dims(rhs[:-2])} before the matrices of "
            f"{called(o.op)} do not broadcast",
            "shape-mismatch",
        )
    return TensorType((*batch, *lhs[-2:-1], *(rhs[-1:] if len(rhs) > 1 else ())), dtype)


def _transposing(o: Operands, lhs: Sequence[Expr], rhs: Sequence[Expr]) -> str | None:
    """Return the call with one matrix transposed so that K matches, None if there is none."""
    if len(lhs) < 2 or len(rhs) < 2:
        return None
    names = f"{operand_name(o, 0)}, {operand_name(o, 1)}"
    if same_dim(lhs[-1], rhs[-1]):
        return f"pl.matmul({names}, b_trans={not attribute(o, 'b_trans')})"
    if same_dim(lhs[-2], rhs[-2]):
        return f"pl.matmul({names}, a_trans={not attribute(o, 'a_trans')})"
    return None


def _transposed(shape: tuple[Expr, ...], is_transposed: bool) -> tuple[Expr, ...]:
    """Return the shape of a matrix, or a batch of them, transposed if ``is_transposed``."""
    return (*shape[:-2], shape[-1], shape[-2]) if is_transposed and len(shape) > 1 else shape


def _matmul(
    lhs: Array,
    rhs: Array,
    result: Any,
    a_trans: bool = False,
    b_trans: bool = False,
    c_matrix_nz: bool = False,
    out_dtype: DataType | None = None,
) -> Array:
    # Floats accumulate in 32 bits; integers may wrap once at the end, with the same result.
    wide = (
        np.int64 if lhs.dtype.kind in "iu" and rhs.dtype.kind in "iu" else compute_dtype(lhs.dtype)
    )
    left, right = lhs.astype(wide), rhs.astype(wide)
    if a_trans and left.ndim > 1:
        left = np.swapaxes(left, -1, -2)
    if b_trans and right.ndim > 1:
        right = np.swapaxes(right, -1, -2)
    try:
        return np.asarray(left @ right).astype(result)
    except ValueError:
        raise EvaluationError(
            f"pl.matmul of tensors {list(left.shape)} and {list(right.shape)}",
            slug="shape-mismatch",
        ) from None


@on_tensors(
    _matmul_type,
    _matmul,
    typed=True,
    instead="pl.load both operands with target_memory=pl.MemorySpace.Mat, pl.move them to Left and "
    "Right, apply pl.matmul to the tiles, and pl.store the result",
)
def matmul(
    lhs: Tensor,
    rhs: Tensor,
    out_dtype: DataType | None = None,
    a_trans: bool = False,
    b_trans: bool = False,
    c_matrix_nz: bool = False,
) -> Tensor:
    """Return the product of ``lhs`` [M, K] and ``rhs`` [K, N]: [M, N].

    With ``a_trans``, ``lhs`` is [K, M]; with ``b_trans``, ``rhs`` is [N, K]. A vector [K] on either
    side drops its dimension from the result; dimensions before the last two are batch dimensions
    and broadcast. Floats accumulate in 32 bits; the result has the element type ``out_dtype``, else
    the promoted one. ``c_matrix_nz`` asks for a fractal result, which changes no value.
    """
    ...


# --------------------------------------------------------------------------------------------
# Writing a part
# --------------------------------------------------------------------------------------------


def _assemble_type(o: Operands) -> Type:
    target, source, offset = o.tensor(0), o.tensor(1), o.ints(2)
    into, part = operand_name(o, 0), operand_name(o, 1)
    rank = len(target.shape)
    if not len(source.shape) == len(offset) == rank:
        refuse(
            o,
            f"{called(o.op)} into {into} {dims(target.shape)} needs {rank} offsets and a source of "
            f"{rank} dimensions, got {len(offset)} and {dims(source.shape)}",
            "region-rank",
        )
    if element_of(o, 0) is not element_of(o, 1):
        refuse(
            o,
            f"{called(o.op)} of {source.dtype.member} elements into a tensor of "
            f"{target.dtype.member}",
            "dtype-mismatch",
            f"pl.cast({part}, pl.{target.dtype.member})",
            shown=(0, 1),
        )
    for axis, (dim, size, begin) in enumerate(zip(target.shape, source.shape, offset, strict=True)):
        first, length, limit = const_value(begin), known_size(size) or 0, known_size(dim)
        if first is not None and (first < 0 or (limit is not None and first + length > limit)):
            refuse(
                o,
                f"{called(o.op)} of {first}:{first + length} in dimension {axis} is outside "
                f"{into} {dims(target.shape)}",
                "out-of-bounds",
                shown=(0, 1),
            )
    return target


def _assemble(target: Array, source: Array, offset: Sequence[int]) -> Array:
    region(target, offset, source.shape, "pl.assemble writes")[...] = source
    return target


def _in_the_targets_type(
    args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Cast the source of `assemble` to the target's element type if that represents its values."""
    given = {**dict(zip(("target", "source"), args, strict=False)), **kwargs}
    kinds = [getattr(given.get(name), "type", None) for name in ("target", "source")]
    if not all(isinstance(kind, TensorType) for kind in kinds):
        return args, kwargs
    into, part = (kind.dtype for kind in kinds if isinstance(kind, TensorType))
    if into is not DataType.FP32 or part not in (DataType.FP16, DataType.BF16):
        return args, kwargs
    wide = cast.build([given["source"], into], {}, span)
    if "source" in kwargs:
        return args, {**kwargs, "source": wide}
    return [args[0], wide, *args[2:]], kwargs


@on_tensors(
    _assemble_type,
    _assemble,
    complete=_in_the_targets_type,
    reads=(1,),
    writes=(0,),
    instead="pl.store(tile, offsets, sizes, target) of the source as a tile",
)
def assemble(target: Tensor, source: Tensor, offset: Offsets) -> Tensor:
    """Write ``source`` to the region of ``target`` at ``offset``; return the target.

    The value is ``target`` itself, whose other elements are unchanged. A source of FP16 or BF16 is
    cast to FP32 for a target of that type.
    """
    ...
