"""``x.bind_dynamic(0, ROWS)``: a statement that names a parameter's size that calls may change."""

from __future__ import annotations

import ast

from pypto._src.errors import ParserTypeError, UndefinedVariableError
from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe
from pypto._src.frontend.syntax.annotations import plain_dim
from pypto._src.ir.array_types import ShapedType
from pypto._src.ir.exprs import Expr


def bind_dynamic(ctx: Context, node: ast.Call, func: ast.Attribute) -> None:
    """Bind the name of a size to that of a parameter, from here on.

    Raises:
        ParserTypeError: it is not a parameter's dimension, or not a name.
    """
    base = ctx.value(func.value)
    axis, name_node = dimension(ctx, node)
    kind = base.type if isinstance(base, Expr) else None
    if not isinstance(kind, ShapedType):
        raise ParserTypeError(
            f"bind_dynamic is for a tensor, {ctx.source.text(func.value)} is {describe(base)}",
            ctx.span(node),
            slug="bind-dynamic",
        )
    if not -len(kind.shape) <= axis < len(kind.shape):
        raise ParserTypeError(
            f"{ctx.source.text(func.value)} has {len(kind.shape)} dimensions, got axis {axis}",
            ctx.span(node),
            hint=f"write {ctx.source.text(func)}(0, {name_node.id})",
            slug="bind-dynamic",
        )
    is_known = name_node.id in ctx.names.values
    ctx.names.bind(name_node.id, plain_dim(kind.shape[axis]))
    if not is_known:
        _check_named(ctx, name_node)


def _check_named(ctx: Context, node: ast.Name) -> None:
    """Raise an error if no outside name means a size: then the size would be constant."""
    value = ctx.environment.get(node.id)
    hint = f'write {node.id} = pl.dynamic("{node.id}") outside'
    if value is MISSING:
        raise UndefinedVariableError(f"{node.id!r} is not defined", ctx.span(node), hint=hint)
    if isinstance(value, str):
        raise ParserTypeError(
            f"bind_dynamic takes the name of a size, {node.id} is {describe(value)}",
            ctx.span(node),
            hint=hint,
            slug="bind-dynamic",
        )


def dimension(ctx: Context, node: ast.Call) -> tuple[int, ast.Name]:
    """Return the axis and the name in ``bind_dynamic(axis, NAME)``."""
    axis = ctx.value(node.args[0]) if len(node.args) == 2 else None
    name_node = node.args[1] if len(node.args) == 2 else None
    if not isinstance(axis, int) or not isinstance(name_node, ast.Name) or node.keywords:
        raise ParserTypeError(
            "bind_dynamic takes the number of a dimension and the name of a size",
            ctx.span(node),
            hint='write ROWS = pl.dynamic("ROWS") outside, and x.bind_dynamic(0, ROWS)',
            slug="bind-dynamic",
        )
    return axis, name_node
