"""Evaluation of one call of an op: its ``numpy``, on the valid parts of partly valid tiles.

The plan of the function decides where operands come from, and what is done with the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError
from pypto._src.interp.memory import poison
from pypto._src.interp.scalars import wrapper
from pypto._src.ir.array_types import TensorType, TileType, dtype_of, static_shape, valid_part
from pypto._src.ir.exprs import Call, Expr
from pypto._src.ir.inspect.source_names import user_call
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.types import ScalarType
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

Env = list[Any]
Eval = Callable[[Env], Any]


def argument(index: int) -> Eval:
    """Return a function that takes a value out of a list of arguments."""
    return lambda args: args[index]


def operands_of(call: Call) -> tuple[Expr, ...]:
    """Return the inputs for evaluating a call: its operands, and the valid sizes of its tiles.

    The sizes are those of partly valid operands and of a partly valid result, in order. A view
    covers all bytes, valid or not.
    """
    op = op_of(call)
    if op is None or op.valid is None or op.view_of is not None:
        return call.args
    parts = [valid_part(kind) for kind in (*(arg.type for arg in call.args), call.type)]
    return (*call.args, *[size for part in parts if part is not None for size in part])


def _itself(dtype: DataType) -> DataType:
    return dtype


def op_eval(
    call: Call,
    op: OpDef[..., Any],
    evals: Sequence[Eval],
    element: Callable[[DataType], DataType] = _itself,
) -> Eval:
    """Return a function that evaluates a call of an op on the values of ``evals`` (`operands_of`).

    ``element`` maps an element type to that in which its values are held.
    """
    compute, span = op.numpy, call.span
    assert compute is not None
    if op.promotion is not None:
        compute = op.promotion.meaning(call, compute)
    declared = op.get_attr_keys()
    kwargs = {key: value for key, value in call.kwargs.items() if key in declared}
    if op.typed:
        kwargs["result"] = element(dtype_of(call)).numpy
    finish = _finisher(call, element)
    if len(evals) > len(call.args):
        compute = _on_valid_parts(call, compute, op.rest, element)

    def run(env: Env) -> Any:
        args = [each(env) for each in evals]
        try:
            found = compute(*args, **kwargs)
            return found if finish is None else finish(found)
        except EvaluationError as error:
            raise error.at(span) from None

    return run


def _trimmed(array: Any, shape: Sequence[int], sizes: Sequence[int]) -> Any:
    """Return the part of a whole operand that matches the valid part of a result of ``shape``."""
    at = len(shape) - array.ndim  # one dimension is a row
    parts = [
        slice(size if found == whole else found)
        for found, whole, size in zip(array.shape, shape[at:], sizes[at:], strict=True)
    ]
    return array[tuple(parts)]


def _from_begin(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return the index of the first ``sizes`` elements of each dimension."""
    return tuple([slice(size) for size in sizes])


def _on_valid_parts(
    call: Call,
    compute: Callable[..., Any],
    rest: Callable[[Mapping[str, Any], Any], Any] | None,
    element: Callable[[DataType], DataType],
) -> Callable[..., Any]:
    """Return a function that computes a call on the valid parts of its tiles.

    It takes the valid sizes after the operands. What an op computes for the valid part is at the
    beginning of the result; the rest is poison or, in a whole result (which only ops that fill
    tiles have), the value of ``rest`` for the keywords and the element type, else 0.
    """
    kinds = [arg.type for arg in call.args]
    partial = [i for i, kind in enumerate(kinds) if valid_part(kind) is not None]
    beside = [i for i, k in enumerate(kinds) if isinstance(k, TileType) and i not in partial]
    op = op_of(call)
    is_product = op is not None and op.names_spaces
    if is_product:
        beside = []  # the sizes of a product differ from its operands'
    count, kind = len(kinds), call.type
    is_partial = valid_part(kind) is not None
    shape = static_shape(kind) if isinstance(kind, TileType) else None
    tiles = [*(kinds[i] for i in partial), *([kind] if is_partial else [])]
    limits = [static_shape(tile) or () for tile in tiles if isinstance(tile, TileType)]
    ends = [*accumulate(map(len, limits))]

    def run(*values: Any, **kwargs: Any) -> Any:
        args, sizes = list(values[:count]), values[count:]
        numbers = [int(size) for size in sizes]
        parts = [numbers[end - len(limit) : end] for end, limit in zip(ends, limits, strict=True)]
        for found, limit in zip(parts, limits, strict=True):
            if not all(0 <= size <= most for size, most in zip(found, limit, strict=True)):
                raise EvaluationError(
                    f"{user_call(call)} has {found} valid elements in a tile {list(limit)}",
                    slug="valid-shape",
                )
        for index, found in zip(partial, parts, strict=False):
            args[index] = args[index][_from_begin(found)]
        if shape is None:
            return compute(*args, **kwargs)
        if is_partial:  # a column or row beside a tile may be whole
            for index in beside:
                args[index] = _trimmed(args[index], shape, parts[-1])
        whole = np.zeros(shape, element(dtype_of(call)).numpy)
        if is_partial:
            poison(whole)
        elif rest is not None:
            whole[...] = rest(kwargs, whole.dtype)
        if not is_product and any(0 in args[index].shape for index in partial):
            return whole
        part = compute(*args, **kwargs)
        whole[_from_begin(part.shape)] = part
        return whole

    return run


def _finisher(call: Call, element: Callable[[DataType], DataType]) -> Callable[[Any], Any] | None:
    """Return a conversion of an op's ``numpy`` result to the call's type, None if not needed."""
    kind = call.type
    if isinstance(kind, ScalarType):
        wrap = wrapper(element(kind.dtype))
        return lambda value: wrap(value.item() if hasattr(value, "item") else value)
    if isinstance(kind, TileType) or (
        isinstance(kind, TensorType) and element(kind.dtype) is not kind.dtype
    ):
        dtype = element(kind.dtype).numpy

        def as_tile(value: Any) -> Any:
            return value if value.dtype == dtype else value.astype(dtype)

        return as_tile
    return None
