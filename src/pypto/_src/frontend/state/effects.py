"""Side effects of evaluating an expression: calls of functions, ops that write.

An expression is evaluated where it is in a statement. One that is dropped (``f(x)`` in ``(f(x),
n)[1]``) or read several times is evaluated once, before the statement; what is to its left, before
it; what ``and`` and ``or`` only reach sometimes, in a branch.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from operator import is_
from typing import Any, cast

from pypto._src.diagnostics import Span
from pypto._src.frontend.state.context import Context
from pypto._src.ir.exprs import Call, Expr, TupleGetItemExpr, Var
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import EvalStmt, Stmt
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import TupleType, UnknownType


def has_effect(value: Any) -> bool:
    """True for calls with side effects, and calls of unknown functions."""
    op: OpDef[..., Any] | None = op_of(value)
    if op is None:
        return isinstance(value, Call)
    return bool(op.writes) or isinstance(value.type, UnknownType)


def held(ctx: Context, value: Any, node: ast.AST) -> Any:
    """Evaluate a value now and return the result; of a list, all items, in order.

    A value without effects stays as it is.
    """
    if isinstance(value, list | tuple):
        given = cast("Sequence[Any]", value)
        items = [held(ctx, item, node) for item in given]
        if all(map(is_, items, given)):
            return given
        return items if isinstance(value, list) else tuple(items)
    if not isinstance(value, Expr) or not any(map(has_effect, walk(value))):
        return value
    span = ctx.span(node)
    if isinstance(value.type, UnknownType):
        if id(value) not in ctx.evaluated:  # it may be in a list twice, or be held again
            ctx.evaluated[id(value)] = value
            ctx.block.append(EvalStmt(value, span))
        return value
    var = Var("_tmp", value.type, span)
    ctx.follow(var, value)
    ctx.append(var, value, span)
    return var


def held_before(ctx: Context, count: int, value: Any, node: ast.AST) -> Any:
    """Evaluate a value as `held` does, before the block's statements from ``count`` on."""
    later = ctx.block[count:]
    del ctx.block[count:]
    value = held(ctx, value, node)
    ctx.block += later
    return value


def alone(ctx: Context, node: ast.expr) -> tuple[list[Stmt], Any]:
    """Return the statements needed to compute an expression, and its value."""
    outside, ctx.block = ctx.block, []
    try:
        value = ctx.value(node)
        return ctx.block, value
    finally:
        ctx.block = outside


def parts_of(ctx: Context, value: Expr, span: Span) -> list[Expr]:
    """Return the parts of a tuple, which is kept in a variable of its own."""
    if not isinstance(value, Var):
        var = Var("_tuple_tmp", value.type, span)
        ctx.append(var, value, span)
        ctx.follow(var, value)
        value = var
    origins = ctx.parts.get(value)
    parts: list[Expr] = []
    for index in range(len(value.type.types) if isinstance(value.type, TupleType) else 1):
        part = TupleGetItemExpr(value, index, span)
        origin = origins[index] if origins else None
        if origin is not None:
            ctx.origins[part] = origin
        parts.append(part)
    return parts
