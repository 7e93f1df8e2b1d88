"""Names that mean nothing where they are read: why, and what would give them a value."""

from __future__ import annotations

import ast
from typing import Final

from pypto._src.diagnostics import Label, Span, line_at
from pypto._src.errors import LostVariableError, ParserError, UndefinedVariableError
from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import did_you_mean, first_value
from pypto._src.frontend.state.scope import Lost
from pypto._src.ir.array_types import valid_part
from pypto._src.ir.exprs import Var
from pypto._src.ops.unified import unified

_ARRAY_MODULES: Final = frozenset({"jnp", "np", "numpy", "tl", "torch"})
"""Names of modules whose functions people write in kernels by habit."""


def undefined(ctx: Context, node: ast.Name) -> ParserError:
    """Return the error for a name that means nothing here."""
    name, span = node.id, ctx.span(node)
    lost = ctx.names.lost.get(name)
    if lost is not None:
        return LostVariableError(
            f"{name!r} is {lost.why}",
            span,
            hint=lost.hint or _begun(ctx, name, lost),
            related=(Label(lost.value.span, f"{name} is defined here"),),
        )
    if name in ctx.assigned:
        return UndefinedVariableError(
            f"{name!r} is read before the function assigns it",
            span,
            hint=_earlier(ctx, name, span),
            slug="undefined-name",
            related=_later(ctx, name, span),
        )
    reading = ctx.environment.reading
    unread = None if reading is None else reading.refused_name(name, span)
    if unread is not None:
        return unread
    if name == "self":
        header = f"def {ctx.node.name}(self{', ' if ctx.node.args.args else ''}...)"
        hint: str | None = f"make it the first parameter: {header}"
    elif unified(name) is not None:
        hint = f"write pl.{name}"
    elif name == ctx.functions.name:
        hint = "write self"
    elif name in _ARRAY_MODULES:
        hint = "write pl"
    elif name == "math":
        hint = "import math at the top of the file"
    else:
        hint = did_you_mean(name, [*ctx.names.values, *ctx.environment.names()])
    return UndefinedVariableError(f"{name!r} is not defined", span, hint=hint)


def _earlier(ctx: Context, name: str, at: Span) -> str:
    """Return the assignment that is missing before ``at``, or before the loop that encloses it."""
    if ctx.environment.get(name) is not MISSING:
        return _renamed(ctx, name)
    where = "it"
    text = f"{name} = 0"
    for item in ast.walk(ctx.node):
        if isinstance(item, ast.For | ast.While):
            span = ctx.span(item)
            inside = span.begin_line < at.begin_line <= span.end_line
            where = "the loop" if inside else where
        if isinstance(item, ast.Assign) and ctx.span(item).begin_line > at.begin_line:
            names = [target.id for target in item.targets if isinstance(target, ast.Name)]
            reads = {n.id for n in ast.walk(item.value) if isinstance(n, ast.Name)}
            if names == [name] and name not in reads and where == "it":
                text = ctx.source.text(item)
    return f"write {text} before {where}"


def _renamed(ctx: Context, name: str) -> str:
    """Return the first assignment of a name that has a meaning outside, with another name."""
    for item in ast.walk(ctx.node):
        if isinstance(item, ast.Assign) and [*map(ast.unparse, item.targets)] == [name]:
            return f"write {name}2 = {ctx.source.text(item.value)}"
    return f"assign to another name: {name}2"


def _begun(ctx: Context, name: str, lost: Lost) -> str:
    """Return the assignment that makes a variable exist before a loop or branch."""
    from pypto._src.ops.new_tiles import unassigned_value

    for size in valid_part(lost.value.type) or ():
        if isinstance(size, Var) and ctx.names.values.get(size.name) is not size:
            return f"write {line_at(size.span).strip()} before it"
    kind = lost.value.type
    if unassigned_value(lost.value) is None or not ctx.may_begin(kind):
        return f"assign {name} before it as well"
    return f"write {name} = {first_value(kind)} before it"


def _later(ctx: Context, name: str, at: Span) -> tuple[Label, ...]:
    """Return where a name is assigned that is read earlier, for an error at ``at``."""
    for item in ast.walk(ctx.node):
        if isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Store):
            span = ctx.span(item)
            same = span.begin_line == at.begin_line
            return () if same else (Label(span, f"{name} is assigned here"),)
    return ()
