"""Single indices of a tensor or tile, ``x[b, :, :]``: the result has one dimension less.

An index selects one position in its dimension. A tensor is reshaped so that this dimension and
the next are one: ``x[b, 4:8, :]`` of [B, S, D] is ``x[b * S + 4 : b * S + 8, :]`` of [B * S, D].
A part of a tile is read in another shape.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto._src.errors import ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.syntax.annotations import plain_dims
from pypto._src.frontend.syntax.calls import op_call
from pypto._src.ir.array_types import DYNAMIC_DIM, TensorType, TileType
from pypto._src.ir.exprs import Add, Expr, Mul, Var, as_expr, binary, const_value
from pypto._src.ops import reshaping, tensor


def box_without_indices(
    ctx: Context,
    node: ast.Subscript,
    base: Expr,
    box: tuple[Sequence[Any], Sequence[Any]],
    indexed: Sequence[int],
) -> tuple[Expr, list[Any], list[Any]]:
    """Return a tensor with begins and sizes of its box, without the ``indexed`` dimensions.

    A value of a region keeps two dimensions. An index in the last dimension stays as a size of 1.
    """
    assert isinstance(base.type, TensorType)
    shape = plain_dims(base.type.shape)
    begins, sizes = [*box[0]], [*box[1]]
    least = 1 if ctx.region is None else 2
    for axis in reversed(indexed):
        if axis == len(shape) - 1 or len(shape) <= least:
            continue
        if any(const_value(as_expr(dim)) == DYNAMIC_DIM for dim in shape[axis : axis + 2]):
            raise ParserTypeError(
                f"{ctx.source.text(node)} is one place in dimension {axis}, and a size there or "
                "behind it has no name",
                ctx.span(node),
                hint='declare it: n = pl.dynamic("n"), and write n for -1',
                slug="slice-size",
            )
        size = shape[axis + 1]
        begins[axis : axis + 2] = [_sum(_product(begins[axis], size), begins[axis + 1])]
        sizes[axis : axis + 2] = [sizes[axis + 1]]
        shape[axis : axis + 2] = [_product(shape[axis], size)]
    if len(shape) == len(base.type.shape):
        return base, begins, sizes
    view = op_call(ctx, tensor.reshape_view, (base, shape), {}, node)
    var = Var("_view", view.type, view.span)
    ctx.append(var, view, view.span)
    ctx.follow(var, view)
    return var, begins, sizes


def part_without_indices(
    ctx: Context, tile: Expr, indexed: Sequence[int], node: ast.Subscript
) -> Expr:
    """Return a part of a tile without the ``indexed`` dimensions.

    It keeps the dimensions that `box_without_indices` keeps.
    """
    assert isinstance(tile.type, TileType)
    kept = plain_dims(tile.type.shape)
    last = len(kept) - 1
    for axis in reversed(indexed):
        if axis != last and len(kept) > 2:
            del kept[axis]
    if len(kept) > last:
        return tile
    return op_call(ctx, reshaping.reshape, (tile, kept), {}, node)


def _product(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    for one, other in ((a, b), (b, a)):
        if isinstance(one, int) and one == 1:
            return other
    return binary(Mul, as_expr(a), as_expr(b))


def _sum(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    for one, other in ((a, b), (b, a)):
        if isinstance(one, int) and one == 0:
            return other
    return binary(Add, as_expr(a), as_expr(b))
