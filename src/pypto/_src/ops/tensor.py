"""Ops on whole tensors in global memory; most run on the host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import EmitError, EvaluationError, OpError
from pypto._src.ir.array_types import ShapedType, TensorType, static_shape
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import (
    Call,
    ConstInt,
    Expr,
    FloorDiv,
    FloorMod,
    as_expr,
    binary,
    const_value,
)
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import ScalarType, Type, scalar_type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import (
    ANY,
    BY_PYTHON_NAME,
    Axis,
    Ints,
    Offsets,
    Scalar,
    Tensor,
    tensor_op,
)
from pypto._src.ops.rules.boxes import elements, region
from pypto._src.ops.rules.type_rules import (
    attribute,
    called,
    describe,
    dims,
    known_size,
    operand_name,
    poison,
    refuse,
    unsupported_reason,
)

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

WHOLE = frozenset(d for d in ANY if d.numpy_name is not None and d.get_bit() >= 8) | {DataType.BOOL}
"""Element types of whole tensors: those that NumPy arrays can have."""


def _create_type(o: Operands) -> Type:
    shape, dtype = o.ints(0), attribute(o, "dtype")
    assert isinstance(dtype, DataType)
    if dtype not in WHOLE:
        raise OpError(
            f"{called(o.op)} cannot create tensors of {dtype.member}",
            note=unsupported_reason(dtype),
            slug="element-type",
        )
    for axis, dim in enumerate(shape):
        if (const_value(dim) or 0) < 0:
            raise OpError(
                f"{called(o.op)} has the size {const_value(dim)} in dimension {axis}",
                slug="tile-shape",
            )
    return TensorType(shape, dtype)


@tensor_op(
    types=_create_type,
    dtypes=WHOLE,
    space=MemorySpace.DDR,
    numpy=lambda shape, dtype: poison(shape, dtype),
    overload="create_tensor",
    unsupported="tensors are made on the host: let the kernel have it as a parameter",
)
def create(shape: Ints, dtype: DataType) -> Tensor:
    """Return a new, uninitialized tensor of ``shape`` with elements of ``dtype``."""
    ...


BY_PYTHON_NAME["tensor", "create_tensor"] = create  # its name next to pl.view and pl.dim


def _view_type(o: Operands) -> Type:
    kind, shape, offset = o.tensor(0), o.ints(1), o.ints(2)
    rank, name = len(kind.shape), operand_name(o, 0)
    if not len(shape) == len(offset) == rank:
        refuse(
            o,
            f"{called(o.op)} needs {rank} sizes and {rank} offsets for {name} {dims(kind.shape)}, "
            f"got {len(shape)} and {len(offset)}",
            "region-rank",
        )
    for axis, (dim, size, begin) in enumerate(zip(kind.shape, shape, offset, strict=True)):
        first, length, limit = const_value(begin), const_value(size), known_size(dim)
        if first is None or length is None or limit is None:
            continue
        if first < 0 or length < 0 or first + length > limit:
            refuse(
                o,
                f"{called(o.op)} of {first}:{first + length} in dimension {axis} is outside "
                f"{name} {dims(kind.shape)}",
                "out-of-bounds",
            )
    return TensorType(shape, kind.dtype)


def _nothing(_site: CppSite | PtoSite) -> None:
    """Emit nothing: a view is the tensor's pointer with other offsets."""


def _view(tensor: Array, shape: Sequence[int], offset: Sequence[int]) -> Array:
    return region(tensor, offset, shape, "pl.view takes")


@tensor_op(
    types=_view_type,
    space=MemorySpace.DDR,
    reads=(),
    view_of=0,
    numpy=_view,
    pto=_nothing,
    isa=_nothing,
)
def view(tensor: Tensor, shape: Ints, offset: Offsets) -> Tensor:
    """Return the region of ``tensor`` of size ``shape`` at ``offset``; it shares the bytes."""
    ...


def _reshape_view_type(o: Operands) -> Type:
    kind, shape = o.tensor(0), o.ints(1)
    result = TensorType(shape, kind.dtype)
    old, new = static_shape(kind), static_shape(result)
    if old is not None and new is not None and -1 not in old and math.prod(old) != math.prod(new):
        *front, _ = new
        last, odd = divmod(math.prod(old), math.prod(front) or 1)
        refuse(
            o,
            f"pl.reshape of {math.prod(old)} elements to {dims(shape)}, which has {math.prod(new)}",
            "shape-mismatch",
            f"give sizes whose product is {math.prod(old)}"
            if odd or not last
            else f"pl.reshape({operand_name(o, 0)}, {[*front, last]})",
            shown=(0,),
        )
    return result


def _reshape_view(tensor: Array, shape: Sequence[int]) -> Array:
    if tensor.size != math.prod(shape):
        raise EvaluationError(
            f"pl.reshape of a tensor {list(tensor.shape)} to {list(shape)}: it has "
            f"{tensor.size} elements",
            slug="shape-mismatch",
        )
    return tensor.reshape(shape)  # a copy for part of a tensor: the evaluator keeps both in sync


@tensor_op(
    types=_reshape_view_type,
    space=MemorySpace.DDR,
    reads=(),
    view_of=0,
    numpy=_reshape_view,
    pto=_nothing,
    isa=_nothing,
)
def reshape_view(tensor: Tensor, shape: Ints) -> Tensor:
    """Return a view of ``tensor``, which is contiguous, in another shape."""
    ...


def check_indices(o: Operands, shape: Sequence[Expr], indices: Sequence[Expr]) -> None:
    """Check the indices of an element of the first operand.

    Raises:
        OpError: there are too many or too few, or one is out of bounds.
    """
    name = operand_name(o, 0)
    if len(indices) != len(shape):
        refuse(
            o,
            f"{called(o.op)} needs {len(shape)} indices for {name} {dims(shape)}, "
            f"got {len(indices)}",
            "region-rank",
        )
    for axis, (dim, index) in enumerate(zip(shape, indices, strict=True)):
        at, limit = const_value(index), known_size(dim)
        if at is not None and (at < 0 or (limit is not None and at >= limit)):
            refuse(
                o,
                f"{called(o.op)} of index {at} in dimension {axis} is outside {name} {dims(shape)}",
                "out-of-bounds",
                None if limit is None else f"take an index from 0 to {limit - 1}",
            )


def _read_type(o: Operands) -> Type:
    kind = o.tensor(0)
    check_indices(o, kind.shape, o.ints(1))
    return scalar_type(kind.dtype)


def with_flat_index(
    args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Accept a bare number in place of a list: the row-major index of an element."""
    at = args[1] if len(args) > 1 else kwargs.get("indices")
    kind: Any = args[0].type if args and isinstance(args[0], Expr) else None
    bare = isinstance(at, int) or (isinstance(at, Expr) and isinstance(at.type, ScalarType))
    if not bare or not isinstance(kind, ShapedType):
        return args, kwargs
    indices: list[Any] = []
    for dim in kind.shape[:0:-1]:
        known = at.value if isinstance(at, ConstInt) else at
        size = const_value(dim)
        if isinstance(known, int) and size:
            indices.insert(0, known % size)
            at = known // size
        else:
            value = as_expr(known, span)
            indices.insert(0, binary(FloorMod, value, dim, span))
            at = binary(FloorDiv, value, dim, span)
    indices.insert(0, at)
    if len(args) > 1:
        return (args[0], indices, *args[2:]), kwargs
    return args, {**kwargs, "indices": indices}


def _read(tensor: Array, indices: Sequence[int]) -> Any:
    for index, limit in zip(indices, tensor.shape, strict=True):
        if not 0 <= index < limit:
            raise EvaluationError(
                f"pl.read of element {list(indices)} of a tensor {list(tensor.shape)}",
                slug="out-of-bounds",
            )
    return tensor[tuple(indices)]


def _read_pto(site: PtoSite) -> None:
    pointer, at, element = site.element(site.call.args[0], elements(site.call.args[1]))
    site.emit(f"{site.dst} = pto.load_scalar {pointer}[{at}] : !pto.ptr<{element}> -> {element}")


def _read_cpp(site: CppSite) -> None:
    at = site.element(site.call.args[0], elements(site.call.args[1]))
    site.emit(f"{site.dst} = {at};")


@tensor_op(
    types=_read_type,
    pipe=PipeType.S,
    complete=with_flat_index,
    numpy=_read,
    pto=_read_pto,
    isa=_read_cpp,
)
def read(tensor: Tensor, indices: Offsets) -> Scalar:
    """Return the element of ``tensor`` at ``indices``, one index per dimension.

    A bare number is an index in row-major order.
    """
    ...


def check_axis(o: Operands, axis: int) -> int:
    """Return ``axis`` as a non-negative dimension of the tensor.

    Raises:
        OpError: the tensor has no such dimension.
    """
    rank = len(o.tensor(0).shape)
    if not -rank <= axis < rank:
        refuse(
            o,
            f"{called(o.op)} of dimension {axis}, {operand_name(o, 0)} has {rank} dimensions",
            "axis",
            shown=(0,),
        )
    return axis % rank


def _dim_type(o: Operands) -> Type:
    check_axis(o, o.axis(1))
    return scalar_type(DataType.INDEX)


def size_of(call: Call) -> Expr:
    """Return the size that a call of `dim` evaluates to."""
    tensor, axis = call.args
    assert isinstance(tensor.type, TensorType)
    assert isinstance(axis, ConstInt)
    return tensor.type.shape[axis.value]


def _size(site: CppSite | PtoSite) -> Expr:
    size = size_of(site.call)
    if known_size(size) is None and const_value(size) is not None:
        tensor, axis = site.call.args
        raise EmitError(
            f"the size of {describe(tensor.type)} in dimension {const_value(axis)} has no name",
            hint='declare it: n = pl.dynamic("n"), and write n for -1',
            slug="emit-tile-shape",
        )
    return size


def _dim_pto(site: PtoSite) -> None:
    site.alias(site.index(_size(site)))


def _dim_cpp(site: CppSite) -> None:
    site.emit(f"{site.dst} = {site.expr(_size(site))};")


@tensor_op(
    types=_dim_type,
    pipe=PipeType.S,
    reads=(),
    numpy=lambda tensor, axis: tensor.shape[axis],
    pto=_dim_pto,
    isa=_dim_cpp,
)
def dim(tensor: Tensor, axis: Axis) -> Scalar:
    """Return the size of ``tensor`` in dimension ``axis``; negative axes count from the end."""
    ...
