"""Return statements: their values, and whether these agree with the function's declaration."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pypto._src.diagnostics import Label, counted
from pypto._src.errors import ParserTypeError, UnsupportedFeatureError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.effects import parts_of
from pypto._src.frontend.state.messages import cast_hint, spell_apart, store_line
from pypto._src.frontend.state.scope import same_value_type
from pypto._src.frontend.syntax.annotations import annotation_text
from pypto._src.frontend.syntax.assignments import refuse_no_value
from pypto._src.ir.array_types import TensorType, TileType, same_valid_part
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.stmts import ReturnStmt
from pypto._src.ir.types import ScalarType, TupleType, Type


def return_(ctx: Context, node: ast.Return) -> None:
    """Parse a return statement."""
    span = ctx.span(node)
    if ctx.expanding:
        raise UnsupportedFeatureError(
            "an inline function returns only in its last statement",
            span,
            hint="assign the value to a name here, and return that at the end",
            slug="inline-return",
        )
    value_nodes = [] if node.value is None else [node.value]
    if isinstance(node.value, ast.Tuple):
        value_nodes = node.value.elts
    elif isinstance(node.value, ast.Constant) and node.value.value is None:
        value_nodes = []
    values = _returned(ctx, value_nodes)
    if ctx.wanted is not None:
        _check_results(ctx, node, ctx.wanted, values, value_nodes)
    ctx.returns.append((tuple(values), span))
    ctx.block.append(ReturnStmt(tuple(values), span))


def _returned(ctx: Context, value_nodes: Sequence[ast.expr]) -> list[Expr]:
    wanted = ctx.wanted or ()
    if len(value_nodes) == 1:
        value = ctx.value(value_nodes[0])
        if isinstance(value, Expr):
            refuse_no_value(ctx, value, value_nodes[0])
            several = isinstance(value.type, TupleType) and len(wanted) != 1
            return parts_of(ctx, value, ctx.span(value_nodes[0])) if several else [value]
        dtype = wanted[0].dtype if wanted and isinstance(wanted[0], ScalarType) else None
        return [ctx.as_expr(value, value_nodes[0], dtype)]
    values: list[Expr] = []
    for index, value_node in enumerate(value_nodes):
        kind = wanted[index] if index < len(wanted) else None
        values.append(ctx.expr(value_node, kind.dtype if isinstance(kind, ScalarType) else None))
    return values


def _check_results(
    ctx: Context,
    node: ast.Return,
    wanted: Sequence[Type],
    values: Sequence[Expr],
    value_nodes: Sequence[ast.expr],
) -> None:
    if len(values) != len(wanted):
        raise ParserTypeError(
            f"the function returns {counted(len(wanted), 'value')}, this returns {len(values)}",
            ctx.span(node),
            hint=_count_hint(ctx, wanted, values),
            slug="return-type",
            related=_declared_results(ctx),
        )
    for index, (kind, value) in enumerate(zip(wanted, values, strict=True)):
        same = same_value_type(kind, value.type)
        if not same or _is_another_part(kind, value.type):
            wanted_text, found = spell_apart(kind, value.type)
            hint = _result_hint(ctx, kind, value, value_nodes[index : index + 1])
            raise ParserTypeError(
                f"the function returns {wanted_text}, this is {found}",
                ctx.span(value_nodes[index] if index < len(value_nodes) else node),
                hint="leave pl.TileView out of the declaration" if same else hint,
                slug="valid-shape" if same else "return-type",
                related=_declared_results(ctx),
            )


def _is_another_part(declared: Type, found: Type) -> bool:
    """True if a declaration gives the valid part of a tile, and another one is returned."""
    says = isinstance(declared, TileType) and declared.tile_view is not None
    return says and not same_valid_part(declared, found)


def _count_hint(ctx: Context, wanted: Sequence[Type], values: Sequence[Expr]) -> str | None:
    """Suggest the declaration that fits, or as many values as the function has at hand."""
    if values:
        kinds = [_annotation(value.type) for value in values]
        shown = f"tuple[{', '.join(kinds)}]" if len(kinds) > 1 else kinds[0]
        return f"declare -> {shown}"
    found: list[str] = []
    known = [v for v in ctx.names.values.values() if isinstance(v, Var)]
    for kind in wanted:
        fitting = [v.name for v in known if same_value_type(v.type, kind) and v.name not in found]
        found += fitting[-1:]
    return f"write return {', '.join(found)}" if len(found) == len(wanted) else "declare -> None"


def _annotation(kind: Type) -> str:
    """Return a type as it is written in the header of a function."""
    return f"pl.{kind.dtype.member if isinstance(kind, ScalarType) else annotation_text(kind)}"


def _declared_results(ctx: Context) -> tuple[Label, ...]:
    returns = ctx.node.returns
    return () if returns is None else (Label(ctx.span(returns), "declared here"),)


def _result_hint(
    ctx: Context, wanted: Type, value: Expr, value_nodes: Sequence[ast.expr]
) -> str | None:
    """Suggest how to turn a value into the type that the function returns."""
    text = ctx.source.text(value_nodes[0]) if value_nodes else "..."
    cast = cast_hint(wanted, value.type, text)
    if cast is not None:
        return cast
    if isinstance(wanted, TensorType) and isinstance(value.type, TileType):
        for name, output in ctx.outputs.items():
            if same_value_type(output.type, wanted):
                return f"write {store_line(name, output, text)}, and return {name}"
        return f"store it in a parameter out: pl.Out[pl.{annotation_text(wanted)}], and return that"
    is_only = len(ctx.wanted or ()) == 1 and type(value.type) is type(wanted)
    return f"declare -> {_annotation(value.type)}" if is_only else None
