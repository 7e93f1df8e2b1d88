"""Nested blocks: their statements, the names they bind, and the yield that may end them.

Owns how a block is parsed and how its yield is read. What becomes of the yielded values and the
bound names is decided by the statement around the block: `branches`, `loops`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

from pypto._src.diagnostics import Span, counted
from pypto._src.errors import ParserSyntaxError, ParserTypeError
from pypto._src.frontend import markers
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.syntax.annotations import type_of
from pypto._src.frontend.syntax.assignments import bad_target
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.stmts import Stmt
from pypto._src.ir.types import Type
from pypto._src.records import NamedTuple


class _Yield(NamedTuple):
    """The yield that ends a loop body or branch: names on its left, values, node."""

    names: list[ast.Name]
    annotation: ast.expr | None
    values: list[ast.expr]
    node: ast.stmt


class Yielded(NamedTuple):
    """An evaluated yield."""

    names: list[ast.Name]
    kinds: list[Type | None]  # declared types of the names
    values: list[Any]
    nodes: list[ast.expr]
    span: Span


class Block(NamedTuple):
    """A parsed branch or loop body: statements, the names that it binds, its yield."""

    stmts: list[Stmt]
    bound: dict[str, Any]
    retyped: dict[str, Var]  # names of outer blocks that have another type at its end
    yielded: Yielded | None
    ends: bool  # with return, break or continue


def parse_block(ctx: Context, body: Sequence[ast.stmt], inside: dict[str, Var]) -> Block:
    """Parse a nested block, in which the names of ``inside`` are bound as well."""
    if not body:
        return Block([], {}, {}, None, ends=False)
    names = ctx.names
    mark = names.open()
    outside, ctx.block = ctx.block, []
    retyped: dict[str, Var] = {}
    try:
        for name, var in inside.items():
            names.bind(name, var)
        rest, found = _split(ctx, body)
        ctx.run(rest)
        yielded = _evaluate(ctx, found)
        stmts = ctx.block
        retyped = names.retyped_since(mark)
    finally:
        if ctx.region is not None:
            ctx.region.end_block(ctx.block)
        ctx.block = outside
        bound = names.close(mark)
    return Block(stmts, bound, retyped, yielded, ends=isinstance(body[-1], _JUMPS))


_JUMPS: Final = (ast.Return, ast.Break, ast.Continue)


def _split(ctx: Context, body: Sequence[ast.stmt]) -> tuple[Sequence[ast.stmt], _Yield | None]:
    """Split off the last statement of a body if it is a yield."""
    last = body[-1]
    if not isinstance(last, (ast.Assign, ast.AnnAssign, ast.Expr)):
        return body, None
    call = last.value
    if isinstance(call, ast.Yield):
        inner = call.value
        values = inner.elts if isinstance(inner, ast.Tuple) else [inner] if inner else []
    elif isinstance(call, ast.Call) and ctx.peek(call.func) is markers.yield_:
        values = call.args
    else:
        return body, None
    targets: list[ast.expr] = []
    if isinstance(last, ast.Assign):
        targets = last.targets[-1:]
        if isinstance(targets[0], ast.Tuple | ast.List):
            targets = targets[0].elts
    elif isinstance(last, ast.AnnAssign):
        targets = [last.target]
    names = [t for t in targets if isinstance(t, ast.Name)]
    if len(names) != len(targets):
        raise bad_target(ctx, last.target if isinstance(last, ast.AnnAssign) else targets[0])
    annotation = last.annotation if isinstance(last, ast.AnnAssign) else None
    return body[:-1], _Yield(names, annotation, values, last)


def _evaluate(ctx: Context, found: _Yield | None) -> Yielded | None:
    if found is None:
        return None
    kinds: list[Type | None] = [ctx.declared.pop(name.id, None) for name in found.names]
    if found.annotation is not None:
        kinds = [type_of(ctx, found.annotation)]
    names = [name.id for name in found.names]
    if names and len(names) != len(found.values):
        raise ParserSyntaxError(
            f"pl.yield_ has {counted(len(found.values), 'value')} for "
            f"{counted(len(names), 'name')}",
            ctx.span(found.node),
            hint=_as_many(ctx, found, names),
            slug="yield-count",
        )
    values = [ctx.value(value) for value in found.values]
    return Yielded(found.names, kinds, values, found.values, ctx.span(found.node))


def _as_many(ctx: Context, found: _Yield, names: Sequence[str]) -> str:
    """Suggest the yield with as many values as names: missing values are the names themselves."""
    texts = [ctx.source.text(value) for value in found.values]
    lacking = names[len(texts) :]
    if any(name not in ctx.names.values for name in lacking):  # they first exist with the yield
        return f"give it {counted(len(names), 'value')}: one for each of {', '.join(names)}"
    return f"write {yield_text(names, [*texts, *lacking][: len(names)])}"


def yield_text(names: Sequence[str], values: Sequence[str]) -> str:
    """Return a yield of values to names."""
    return f"{', '.join(names)} = pl.yield_({', '.join(values)})"


def define_results(
    ctx: Context, names: Sequence[ast.Name], kinds: Sequence[Type], values: Sequence[Expr]
) -> list[Var]:
    """Define the variables that take the values of a loop or branch."""
    results: list[Var] = []
    for name, kind, value in zip(names, kinds, values, strict=True):
        span = ctx.span(name)
        ctx.check_assignable(name.id, value, name)
        try:
            var = ctx.names.define(name.id, kind, span, fresh=True)
        except ParserTypeError as error:
            raise error.at(span) from None
        ctx.follow(var, value)
        results.append(var)
    return results
