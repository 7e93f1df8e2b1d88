"""Expressions of hints, tried before the hint is given: a hint must not be refused in turn."""

from __future__ import annotations

import ast
from typing import Any

from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.source.source import Source
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.scope import LoadFirst
from pypto._src.ir.enums import FunctionType
from pypto._src.python_parser import parse_python


def is_on_host(ctx: Context) -> bool:
    """True where there are no tiles."""
    return ctx.region is None and ctx.func_type is FunctionType.Orchestration


def tried(ctx: Context, node: ast.expr, *, makes_region: bool = False) -> Any:
    """Return what an expression means here, without other effects; `MISSING` if it is refused.

    Ops of tiles are refused on the host, unless the hint makes a region for them.
    """
    home = ctx.home
    if home.in_trial:
        return MISSING  # the errors in a hint's own text need no hints
    block, unplaced, has_tile_ops = ctx.block, len(ctx.unplaced), ctx.has_tile_ops
    ctx.block, ctx.has_tile_ops, home.in_trial = [], False, True
    try:
        value = ctx.value(node)
        has_place = makes_region or not (ctx.has_tile_ops and is_on_host(ctx))
        return value if has_place else MISSING
    except LoadFirst:
        raise  # the loop around it is parsed again
    except Exception:  # also those of properties and functions of the user
        return MISSING
    finally:
        ctx.block, ctx.has_tile_ops, home.in_trial = block, has_tile_ops, False
        del ctx.unplaced[unplaced:]


def tried_text(ctx: Context, text: str, *, makes_region: bool = False) -> Any:
    """Return what the text of an expression means here, as `tried` does."""
    try:
        node = parse_python(text, mode="eval").body
    except SyntaxError:  # it is a statement
        return MISSING
    source = ctx.source
    ctx.source = Source(source.filename, [text], 0, text.isascii())
    ctx.span = ctx.source.span
    try:
        return tried(ctx, node, makes_region=makes_region)
    finally:
        ctx.source, ctx.span = source, source.span
