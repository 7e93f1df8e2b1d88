"""Calls on operands of different types or shapes: their result types and decompositions.

An op describes its operands by a `Promotion`; most calls have operands that already agree, and do
not load this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType, promote
from pypto._src.errors import OpError
from pypto._src.ir.array_types import TileType, dtype_of, same_dims, static_shape, valid_part
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr, Var, const_value
from pypto._src.ir.opdef import OpDef, Operands, not_whole
from pypto._src.ir.types import ScalarType, Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.layout import BLOCK_BYTES, is_column
from pypto._src.ops.promotion.broadcasting import (
    broadcast_alone,
    common,
    grown,
    grown_in_part,
    opposite,
    room,
)
from pypto._src.ops.promotion.casts import (
    as_number,
    as_type,
    check_whole,
    converted,
    steps,
    tile_of,
)
from pypto._src.ops.promotion.facts import PromotionFacts
from pypto._src.ops.rules.type_rules import (
    broadcast,
    called,
    cast_operand,
    check_operands,
    check_same_dtype,
    check_same_shape,
    check_spaces,
    describe,
    dims,
    members,
    operand_label,
    operand_name,
    refuse,
    unsupported_reason,
    without,
)
from pypto._src.ops.rules.valid_parts import parts_differ, valid_or_all

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import Let

    AnyOp = OpDef[..., Any]
else:
    np = lazy_module("numpy")


# ----- types --------------------------------------------------------------------------------


def type_of(rule: PromotionFacts, o: Operands) -> Type | None:
    """Return the type of a call whose operands differ, None if they do not.

    Raises:
        OpError: there is no conversion, or no op that broadcasts an operand.
    """
    check_spaces(o)
    dtype, shape = _element(rule, o), _shape(rule, o)
    if any(valid_part(o.tile(at)) is not None for at in rule.operands):
        if o.op.valid is None:
            return TileType(shape, dtype)  # the op rejects it
        if all(same_dims(o.tile(at).shape, shape) for at in rule.operands):
            o.op.valid(o, TileType(shape, dtype))
    _check_conversions(rule, o, dtype)
    _check_scratch(o, TileType(shape, dtype))
    try:
        return _equal(rule, o.op, o.args, o.kwargs, _TypeOnlyLet(), UNKNOWN_SPAN).type
    except OpError as error:
        _check_as_equal(rule, o, dtype, shape)
        if rule.broadcasts and error.slug == "valid-shape":
            _refuse_part(rule, o, dtype, shape)
        if rule.broadcasts and error.slug == "shape-mismatch":
            for other in rule.others:
                check_same_shape(o, rule.first, other, error.message)
        raise


def _check_as_equal(
    rule: PromotionFacts, o: Operands, dtype: DataType, shape: Sequence[Expr]
) -> None:
    """Raise the op's own error for equal tiles, with the names of the actual operands."""
    args = list(o.args)
    whole = _whole(rule, o.args, shape)
    for at in rule.operands:
        kind, name, old = o.tile(at), operand_name(o, at), o.args[at]
        span = old.span if isinstance(old, Var) else UNKNOWN_SPAN
        if rule.broadcasts and not same_dims(kind.shape, shape):
            kind = TileType(shape, dtype) if whole is None else tile_of(whole)
            name, span = "the result", UNKNOWN_SPAN
        args[at] = Var(name, TileType(kind.shape, dtype, tile_view=kind.tile_view), span)
    if rule.number is not None:
        args[rule.number] = Var(operand_name(o, rule.number), ScalarType(dtype))
    try:
        o.op.type_of(Operands(o.op, tuple(args), o.kwargs))
    except OpError as error:
        error.label = error.label and operand_label(o)  # not their types after conversion
        raise


def _refuse_part(rule: PromotionFacts, o: Operands, dtype: DataType, shape: Sequence[Expr]) -> None:
    """Reject partly valid tiles of different shapes that cannot be broadcast."""
    parts = [at for at in rule.operands if valid_part(o.tile(at)) is not None]
    whole = [at for at in parts if same_dims(o.tile(at).shape, shape)]
    for at in parts if whole else ():
        _check_part(o, whole[0], at)
    name, row = operand_name(o, parts[0]), dims((ConstInt(1), shape[-1]))
    small = "a column or row"
    if not whole:
        beside = any(same_dims(o.tile(at).shape, shape) for at in rule.operands)
        small = "a tile and a column or row" if beside else "a column and a row"
    error = not_whole(f"{called(o.op)} of {small} of {dtype.member} takes", name, fill=False)
    if whole:
        error.hint = f"take blocks of constant size, then the rest in tiles {row}"
    raise error


def _whole(rule: PromotionFacts, args: Sequence[Expr], shape: Sequence[Expr]) -> Expr | None:
    """Return the partly valid tile of the result's shape, None if there is none."""
    for at in rule.operands:
        kind = tile_of(args[at])
        if valid_part(kind) is not None and same_dims(kind.shape, shape):
            return args[at]
    return None


def _target(rule: PromotionFacts, args: Sequence[Expr]) -> DataType:
    """Return the element type that the operands are converted to."""
    if rule.keeps_first:
        return dtype_of(args[rule.first])
    return reduce(promote, [dtype_of(args[at]) for at in rule.promoted])


def _element(rule: PromotionFacts, o: Operands) -> DataType:
    """Return the element type of the result, after a check that the op takes it."""
    dtype, taken = _target(rule, o.args), o.op.dtypes
    integers = not any(each.is_float() for each in taken)
    found = [o.tile(at).dtype for at in rule.operands]
    other = any(unsupported_reason(each) or (integers and each.is_float()) for each in found)
    if (other or dtype not in taken) and rule.number is not None:
        _check_as_equal(rule, o, found[0], _shape(rule, o))
    if other or dtype not in taken:
        check_operands(o)
    if rule.number is not None:
        is_fraction = dtype_of(o.args[rule.number]).is_float() and not dtype.is_float()
        if dtype not in taken or is_fraction:
            check_same_dtype(o, rule.first, rule.number)
    return dtype


def _shape(rule: PromotionFacts, o: Operands) -> Sequence[Expr]:
    """Return the shape of the result."""
    shape: Sequence[Expr] = o.tile(rule.first).shape
    if not rule.broadcasts:
        return shape
    for at in rule.others:
        found = broadcast(shape, o.tile(at).shape)
        if found is None:
            check_same_shape(o, rule.first, at)
        shape = found or shape
    return shape


def _check_conversions(rule: PromotionFacts, o: Operands, dtype: DataType) -> None:
    for at in rule.operands:
        source = o.tile(at).dtype
        narrows = rule.keeps_first and source.get_bit() > dtype.get_bit()
        chain = None if narrows else steps(source, dtype)
        if chain is not None:
            check_whole(o.tile(at), dtype, operand_name(o, at))
            continue
        name = operand_name(o, at)
        like = [i for i in rule.operands if o.tile(i).dtype is dtype]
        if rule.number is not None and not rule.others:
            _check_as_equal(rule, o, source, o.tile(at).shape)
            check_same_dtype(o, at, rule.number)
        shown = sorted({at, *like[:1]})
        refuse(
            o,
            f"operands of {called(o.op)} have different element types",
            "dtype-mismatch",
            cast_operand(o, at, dtype)
            or f"give {name} elements of {dtype.member} in the tensor that it is loaded from",
            f"the result has elements of {dtype.member}, and {source.member} cannot be "
            "converted to it exactly"
            if cast_operand(o, at, dtype)
            else f"the A2/A3 chip does not convert {source.member} to {members((dtype,))}",
            shown=shown,
        )


# ----- decomposition ------------------------------------------------------------------------


def parts(rule: PromotionFacts, call: Call, let: Let) -> Call | None:
    """Decompose a call on operands that differ to the op on equal ones; None if they do not.

        y = add(a, b)  ->  w = cast(b); y = add(a, w)
        y = add(a, c)  ->  y = row_expand_add(a, c)

    Raises:
        OpError: there is no decomposition; `type_of` rejects such operands.
    """
    op: Any = call.op
    return _equal(rule, op, call.args, call.kwargs, let, call.span)


def _equal(
    rule: PromotionFacts,
    op: AnyOp,
    args: Sequence[Expr],
    kwargs: Mapping[str, Any],
    let: Let,
    span: Span,
) -> Call:
    dtype, new = _target(rule, args), list(args)
    shape = reduce(common, [tile_of(args[at]).shape for at in rule.operands])
    for at in rule.operands:
        tile = new[at]
        if rule.broadcasts and _is_short(tile, dtype):
            tile = grown(tile, shape, let, span, "spread")
        if at in op.reads or valid_part(tile_of(tile)) is not None:
            new[at] = as_type(tile, dtype, let, {"mode": "rint"}, span, "wide")
        elif tile_of(tile).dtype is not dtype:
            new[at] = room(tile_of(tile).shape, dtype, let, span)
    if rule.number is not None:
        new[rule.number] = as_number(new[rule.number], dtype, span)
    return _spread(rule, op, new, shape, let, span) or op.call(new, kwargs, span)


def _spread(
    rule: PromotionFacts, op: AnyOp, new: list[Expr], shape: Sequence[Expr], let: Let, span: Span
) -> Call | None:
    """Broadcast operands in ``new``, or return a call of an op that takes them as they are."""
    if not rule.broadcasts or len(rule.operands) == 1:
        return None
    first, second = (new[at] for at in rule.operands[:2])
    found = broadcast_alone(rule.broadcast_ops, first, second, span)
    if found is None:
        found = opposite(rule.broadcast_ops, first, second, let, span)
    if found is None:
        # Partly valid tiles come first: the others are broadcast over their valid part.
        for at in sorted(rule.operands, key=lambda at: valid_part(tile_of(new[at])) is None):
            whole = _whole(rule, new, shape)
            if whole is None:
                new[at] = grown(new[at], shape, let, span, "spread")
            elif not same_dims(tile_of(new[at]).shape, shape):
                new[at] = grown_in_part(new[at], whole, let, span, "spread")
    return found


# ----- the meaning on arrays ----------------------------------------------------------------


def meaning(rule: PromotionFacts, call: Call, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a call computes on arrays; ``compute`` does so on equal shapes and types."""
    dtype = _target(rule, call.args)
    chains = [(at, steps(dtype_of(call.args[at]), dtype) or ()) for at in rule.operands]
    broadcasts = rule.broadcasts

    def run(*values: Any, **kwargs: Any) -> Any:
        new = list(values)
        for at, chain in chains:
            new[at] = converted(new[at], chain)
        if broadcasts:
            equal = np.broadcast_arrays(*[new[at] for at, _ in chains])
            for (at, _), array in zip(chains, equal, strict=True):
                new[at] = array
        return compute(*new, **kwargs)

    return run


def _check_scratch(o: Operands, wanted: TileType) -> None:
    """Check that the scratch tiles of an op have the shape and type of its result."""
    for at in o.op.writes:
        found = o.tile(at)
        if found.dtype is wanted.dtype and same_dims(found.shape, wanted.shape):
            continue
        refuse(
            o,
            f"scratch tile {operand_name(o, at)} of {called(o.op)} is {describe(found)}, "
            f"{describe(wanted)} was wanted",
            "scratch-size",
            without(o, at),
        )


def _check_part(o: Operands, whole: int, other: int) -> None:
    """Check that a column or row is valid wherever the whole tile is."""
    kind, wanted = o.tile(other), valid_or_all(o.tile(whole))
    pairs = zip(kind.shape, wanted, strict=True)
    part = [size if const_value(size) == 1 else count for size, count in pairs]
    if valid_part(kind) is None or same_dims(part, valid_or_all(kind)):
        return
    parts_differ(o, whole, other, part)


def _is_short(tile: Expr, dtype: DataType) -> bool:
    """True for a column to broadcast before conversion: in ``dtype`` it fills no whole blocks."""
    kind = tile_of(tile)
    sizes = static_shape(kind)
    if sizes is None or not is_column(kind) or valid_part(kind) is not None:
        return False
    return math.prod(sizes) * dtype.bytes % BLOCK_BYTES != 0


class _TypeOnlyLet:
    """A `Let` outside any program, to build calls only for their types."""

    def __call__(self, name: str, value: Expr) -> Var:
        return Var(name, value.type)

    def made(self, value: Expr) -> Call | None:
        return None

    def space(self, tile: Expr) -> MemorySpace | None:
        return None
