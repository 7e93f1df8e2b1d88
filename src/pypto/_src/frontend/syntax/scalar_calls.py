"""Calls that compute scalars: ``min``, ``max``, ``abs``, ``cast`` of scalars; ``pl.const``."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pypto._src.dtypes import DataType, fits, holds
from pypto._src.errors import ParserError, ParserSyntaxError, ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe, dtype_like
from pypto._src.frontend.state.scalar_promotion import combine, typed
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.exprs import Cast, Expr, unary
from pypto._src.ir.scalar_ops import BINARY_FUNCTIONS, UNARY_FUNCTIONS
from pypto._src.ir.types import ScalarType


def scalar_form(
    ctx: Context, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return ``min``, ``max``, ``abs`` or ``cast`` of scalars, None if an op is meant."""
    if not args or not is_scalar(args[0]):
        return None
    span = ctx.span(node)
    if name == "cast" and len(args) + len(kwargs) == 2 and kwargs.keys() <= {"target_type"}:
        dtype = [*args[1:], *kwargs.values()][0]
        if not isinstance(dtype, DataType):
            raise no_dtype(ctx, node, "pl.cast", dtype)
        return Cast(ctx.as_expr(args[0], node.args[0]), dtype, span)
    if name == "cast" and "mode" in kwargs and len(args) == 2 and isinstance(args[1], DataType):
        text = ctx.source.text(node.args[0])
        raise ParserTypeError(
            "a cast of a number has no mode; a float that becomes an integer is cut off",
            span,
            hint=f"write pl.cast({text}, pl.{args[1].member})",
            slug="unknown-keyword",
        )
    if kwargs or not all(map(is_scalar, args)):
        return None
    try:
        if name in UNARY_FUNCTIONS and len(args) == 1:
            return unary(UNARY_FUNCTIONS[name], ctx.as_expr(args[0], node.args[0]), span)
        if name not in BINARY_FUNCTIONS or len(args) < 2:
            return None
        value, *others = args
        if not isinstance(value, Expr) and not isinstance(others[0], Expr):
            value = ctx.as_expr(value, node.args[0])
        for other in others:
            value = combine(BINARY_FUNCTIONS[name], value, other, span)
        return value
    except TypeError as error:
        hint = _of_floats(ctx, args, node)
        raise ParserTypeError(str(error), span, hint=hint, slug="scalar-operands") from None


def _of_floats(ctx: Context, args: Sequence[Any], node: ast.Call) -> str | None:
    """Return a call with casts of what stands beside its floats, None if nothing is to be cast."""
    dtypes = [dtype_of(value) if isinstance(value, Expr) else None for value in args]
    floats = [dtype for dtype in dtypes if dtype is not None and dtype.is_float()]
    if not floats and not any(isinstance(value, float) for value in args):
        return None
    wanted = floats[0].member if floats else "FP32"
    texts = [
        f"pl.cast({ctx.source.text(arg)}, pl.{wanted})"
        if dtype is not None and not dtype.is_float()
        else ctx.source.text(arg)
        for arg, dtype in zip(node.args, dtypes, strict=True)
    ]
    if all(dtype is None or dtype.is_float() for dtype in dtypes):
        return None  # it would be the call that was refused
    return f"write {ctx.source.text(node.func)}({', '.join(texts)})"


def no_dtype(ctx: Context, node: ast.Call, called: str, found: Any) -> ParserError:
    """Return the error for a call whose second argument is not an element type."""
    meant = dtype_like(found)
    arg_node = node.args[1] if len(node.args) > 1 else node.keywords[-1].value
    return ParserTypeError(
        f"the second argument of {called} is an element type, got {describe(found)}",
        ctx.span(arg_node),
        hint=None if meant is None else f"write pl.{meant.member}",
        slug="argument-kind",
    )


def is_scalar(value: Any) -> bool:
    """True for a scalar of the kernel or a number."""
    if isinstance(value, Expr):
        return value.type.__class__ is ScalarType
    return isinstance(value, (int, float))


def const(ctx: Context, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> Expr:
    """Return the value of ``pl.const(value, dtype)``."""
    values = dict(zip(("value", "dtype"), args, strict=False)) | kwargs
    if len(args) > 2 or values.keys() != {"value", "dtype"}:
        number = values.get("value")
        raise ParserSyntaxError(
            "pl.const takes a number and an element type",
            ctx.span(node),
            hint=f"write {_const_text(number if isinstance(number, int | float) else 1)}",
            slug="const",
        )
    value, dtype = values["value"], values["dtype"]
    if isinstance(value, DataType) and isinstance(dtype, int | float):
        raise ParserTypeError(
            f"pl.const takes the number first, got pl.{value.member}",
            ctx.span(node),
            hint=f"write pl.const({dtype}, pl.{value.member})",
            slug="const",
        )
    if not isinstance(dtype, DataType):
        raise no_dtype(ctx, node, "pl.const", dtype)
    if not isinstance(value, int | float):
        raise ParserSyntaxError(
            f"pl.const takes a number, got {describe(value)}",
            ctx.span(node),
            hint=f"write pl.cast({ctx.source.text(node.args[0])}, pl.{dtype.member})"
            if isinstance(value, Expr) and node.args
            else None,
            slug="const",
        )
    try:
        return typed(value, dtype, ctx.span(node))
    except TypeError as error:
        wide = holds(value, DataType.FP32) and (isinstance(value, int) or math.isfinite(value))
        wider = _const_text(float(value) if dtype.is_float() else value) if wide else None
        raise ParserTypeError(
            str(error),
            ctx.span(node),
            hint=None if wider is None else f"write {wider}",
            slug="constant-range",
        ) from None


def _const_text(value: float) -> str:
    """Return the text of a constant with this value."""
    if isinstance(value, float):
        return f"pl.const({value}, pl.FP32)"
    wide = (d for d in (DataType.INT32, DataType.INT64) if fits(value, d))
    return f"pl.const({value}, pl.{next(wide, DataType.FP32).member})"
