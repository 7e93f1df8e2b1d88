"""Broadcasting of columns and rows over tiles.

A column [R, 1] repeats in each column, a row [1, C] in each row. Some ops take a column or row with
a whole tile as it is (`BroadcastOps`); otherwise an instruction fills a tile with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import OpError
from pypto._src.ir.array_types import same_dim, same_dims, valid_part
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, Var, const_value
from pypto._src.ops.new_tiles import create_tile
from pypto._src.ops.promotion.casts import Naming, block_op_of, tile_of
from pypto._src.ops.promotion.facts import BroadcastOps
from pypto._src.ops.reshaping import reshape
from pypto._src.ops.rules.type_rules import broadcast, dims

_TIMES: Final = BroadcastOps("row_expand_mul", "col_expand_mul")


def common(a: Sequence[Expr], b: Sequence[Expr]) -> Sequence[Expr]:
    """Return the shape that two shapes broadcast to.

    Raises:
        OpError: they do not.
    """
    found = broadcast(a, b)
    if found is None:
        raise OpError("the shapes of tiles do not broadcast", slug="shape-mismatch")
    return found


def broadcast_alone(broadcast_ops: BroadcastOps, lhs: Expr, rhs: Expr, span: Span) -> Call | None:
    """Return the call of an op that broadcasts ``rhs`` over ``lhs`` or the reverse, or None."""
    for whole, part in ((lhs, rhs), (rhs, lhs)):
        a, b = tile_of(whole).shape, tile_of(part).shape
        if (
            len(a) != 2
            or len(b) != 2
            or same_dims(a, b)
            or not (whole is lhs or broadcast_ops.commutes)
        ):
            continue
        name = None
        if same_dim(a[0], b[0]) and const_value(b[1]) == 1:
            name = broadcast_ops.column
        elif same_dim(a[1], b[1]) and const_value(b[0]) == 1:
            name = broadcast_ops.row
        if name is not None:
            return block_op_of(name).call((whole, part), {}, span)
    return None


def opposite(
    broadcast_ops: BroadcastOps, lhs: Expr, rhs: Expr, let: Naming, span: Span
) -> Call | None:
    """Return y - (-x) for the sum of a partly valid tile y and a row x, else None.

    For a whole tile the row is broadcast instead, which other calls may share.
    """
    with_row = BroadcastOps(row=broadcast_ops.opposite)
    for whole, part in ((lhs, rhs), (rhs, lhs)):
        if valid_part(tile_of(whole)) is None:
            continue
        if broadcast_alone(with_row, whole, part, span) is None:
            continue
        minus = let("minus", block_op_of("neg").call((part,), {}, span))
        return broadcast_alone(with_row, whole, minus, span)
    return None


def grown(tile: Expr, shape: Sequence[Expr], let: Naming, span: Span, name: str) -> Expr:
    """Return a column or a row broadcast to ``shape``.

    Raises:
        OpError: no op can; the text says why.
    """
    if same_dims(tile_of(tile).shape, shape):
        return tile
    if len(shape) > 2:
        return _grown_flat(tile, shape, let, span, name)
    value = _in_rows(tile, let, span)
    sizes, dtype = tile_of(value).shape, tile_of(value).dtype
    if dtype.get_bit() > 32:
        raise _never(f"the A2/A3 chip cannot broadcast elements of {dtype.member}")
    if const_value(shape[1]) == 1 and not same_dim(sizes[0], shape[0]):  # [1, 1] to a column
        across = grown(value, (shape[1], shape[0]), let, span, name)
        return let(name, reshape.call((across, MakeTuple(shape)), {}, span))
    if not same_dim(sizes[1], shape[1]):
        value = let(name, _widened(value, (sizes[0], shape[1]), span))
    if not same_dim(sizes[0], shape[0]):
        target = room(shape, dtype, let, span)
        value = let(name, block_op_of("col_expand").build((target, value), {}, span))
    return value


def grown_in_part(tile: Expr, whole: Expr, let: Naming, span: Span, name: str) -> Expr:
    """Return a column or a row broadcast over the valid part of ``whole``, as an exact 1 * x.

    Raises:
        OpError: no op can; the text says why.
    """
    dtype = tile_of(whole).dtype
    fill = block_op_of("expands")
    if dtype not in fill.dtypes:
        message = f"the A2/A3 chip fills no tile of {dtype.member} with a number"
        raise OpError(message, slug="valid-shape")
    ones = let("ones", fill.build((whole, 1), {}, span))
    found = broadcast_alone(_TIMES, ones, _in_rows(tile, let, span), span)
    assert found is not None  # the shapes broadcast and have two dimensions
    return let(name, found)


def _grown_flat(tile: Expr, shape: Sequence[Expr], let: Naming, span: Span, name: str) -> Expr:
    """Broadcast over a tile of more than two dimensions, along leading and trailing dimensions.

    [B, 1, 1] is a column whose elements each fill a plane; [1, R, C] is a row of planes.
    """
    sizes, one = tile_of(tile).shape, ConstInt(1)
    part = (*[one] * (len(shape) - len(sizes)), *sizes)
    kept = [i for i, dim in enumerate(part) if const_value(dim) != 1]
    if not kept:
        return _grown_as(tile, (one, one), (shape[:-1], shape[-1:]), shape, let, span, name)
    first, last = kept[0], kept[-1] + 1
    if not same_dims(part[first:last], shape[first:last]):
        raise _never(
            f"the A2/A3 chip broadcasts along the first dimensions of {dims(shape)} and along the "
            f"last, not between them as {dims(sizes)}"
        )
    middle = _product(shape[first:last])
    value = tile
    if not same_dims(part[last:], shape[last:]):
        inner = (shape[first:last], shape[last:])
        value = _grown_as(value, (middle, one), inner, shape[first:], let, span, name)
    if not same_dims(part[:first], shape[:first]):
        outer = (shape[:first], shape[first:])
        value = _grown_as(value, (one, _product(shape[first:])), outer, shape, let, span, name)
    if len(tile_of(value).shape) < len(shape):  # leading dimensions of 1 are missing
        value = let(name, reshape.call((value, MakeTuple(shape)), {}, span))
    return value


def _grown_as(
    tile: Expr,
    flat: Sequence[Expr],
    wide: tuple[Sequence[Expr], Sequence[Expr]],
    shape: Sequence[Expr],
    let: Naming,
    span: Span,
    name: str,
) -> Expr:
    """Return a tile of ``shape``: ``tile`` reshaped to ``flat`` and broadcast over ``wide``."""
    across = (_product(wide[0]), _product(wide[1]))
    value = let("flat", reshape.call((tile, MakeTuple(flat)), {}, span))
    value = grown(value, across, let, span, name)
    return let(name, reshape.call((value, MakeTuple(shape)), {}, span))


def _product(sizes: Sequence[Expr]) -> ConstInt:
    counts = [const_value(dim) for dim in sizes]
    known = [count for count in counts if count is not None]
    if len(known) != len(counts):
        raise _never(f"the sizes {dims(sizes)} are not constant")
    return ConstInt(math.prod(known))


def _in_rows(tile: Expr, let: Naming, span: Span) -> Expr:
    """Return a tile with two dimensions: itself, or reshaped to a row [1, N]."""
    sizes = tile_of(tile).shape
    if len(sizes) != 1:
        return tile
    return let("row", reshape.call((tile, MakeTuple((ConstInt(1), *sizes))), {}, span))


def _widened(column: Expr, shape: Sequence[Expr], span: Span) -> Call:
    """Return the call of row_expand's target variant that broadcasts a column to ``shape``."""
    op = block_op_of("row_expand")
    operands = (column, MakeTuple(shape))
    assert op.with_scratch is not None
    return Call(op, operands, {}, op.with_scratch.result_type(operands, {}), span)


def _never(message: str) -> OpError:
    return OpError(message, slug="shape-mismatch")


def room(shape: Sequence[Expr], dtype: DataType, let: Naming, span: Span) -> Var:
    """Return an uninitialized tile."""
    return let("room", create_tile.build((shape, dtype), {}, span))
