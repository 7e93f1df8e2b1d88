"""The part of a value that each of the two vector cores of a cluster has: ``pl.aiv_shard``."""

from __future__ import annotations

import ast
from typing import Any

from pypto._src.errors import ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from pypto._src.frontend.region_markers import SplitMode
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe
from pypto._src.frontend.syntax.annotations import plain_dims
from pypto._src.ir.array_types import TileType
from pypto._src.ir.exprs import ConstInt, Expr, Mul, binary


def gather(ctx: Context, node: ast.Call) -> Any:
    """Return a value that both vector cores have, which in mode ``NONE`` is the same on each.

    Raises:
        ParserSyntaxError: the call is not in a loop over the vector cores, or has other arguments.
        UnsupportedFeatureError: each core has only half of the value.
    """
    lanes = None if ctx.region is None else ctx.region.lanes
    if ctx.region is None or lanes is None or len(node.args) != 1 or node.keywords:
        raise ParserSyntaxError(
            "pl.aic_gather takes one value, in a loop over the vector cores of a cluster",
            ctx.span(node),
            hint="put for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE): around it",
            slug="split-aiv",
        )
    if lanes[0] is not SplitMode.NONE:
        raise UnsupportedFeatureError(
            "pl.aic_gather joins no halves: each vector core has its own",
            ctx.span(node),
            hint="store each half to a part of a tensor, and read the tensor after the loop",
            slug="split-aiv",
        )
    return ctx.region.operand(ctx, ctx.value(node.args[0]), node)


def shard(ctx: Context, node: ast.Call) -> Any:
    """Return a vector core's part of a value, according to the mode of the loop.

    Raises:
        ParserSyntaxError: the call is not in a loop over the vector cores, or has other arguments.
        ParserTypeError: the value is not a matrix with two equal halves.
    """
    lanes = None if ctx.region is None else ctx.region.lanes
    if ctx.region is None or lanes is None or len(node.args) != 1 or node.keywords:
        raise ParserSyntaxError(
            "pl.aiv_shard takes one value, in a loop over the vector cores of a cluster",
            ctx.span(node),
            hint="put for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN): around it",
            slug="split-aiv",
        )
    mode, lane = lanes
    value = ctx.region.operand(ctx, ctx.value(node.args[0]), node)
    if mode is SplitMode.NONE:
        return value
    kind = value.type if isinstance(value, Expr) else None
    sizes = plain_dims(kind.shape) if isinstance(kind, TileType) else []
    axis = 0 if mode is SplitMode.UP_DOWN else 1
    if len(sizes) != 2 or not isinstance(sizes[axis], int) or sizes[axis] % 2:
        wanted = ("rows", "columns")[axis]
        raise ParserTypeError(
            f"pl.aiv_shard gives each vector core half of the {wanted} of a matrix, got "
            f"{describe(value)}",
            ctx.span(node),
            hint=f"make the number of {wanted} even, or use mode=pl.SplitMode.NONE",
            slug="split-aiv",
        )
    half = sizes[axis] // 2
    begins: list[Any] = [0, 0]
    begins[axis] = binary(Mul, ctx.value(lane), ConstInt(half))
    shape = [half if at == axis else size for at, size in enumerate(sizes)]
    return ctx.region.part(ctx, value, shape, begins, node)
