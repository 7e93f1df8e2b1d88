"""Calls that tell the parser something, ask about the chip, or annotate: nothing is computed.

``pl.static_assert`` and ``pl.static_print`` act while a program is parsed; ``pl.get_block_num()``
and the like are numbers that are known then; fences and debug marks change no value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserError, ParserSyntaxError
from pypto._src.frontend import region_markers
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe
from pypto._src.ir.exprs import ConstInt, Expr, const_value
from pypto._src.targets import A2A3


class Nothing:
    """The value of a call that changes nothing."""

    def __repr__(self) -> str:
        return "no value"


NOTHING: Final = Nothing()


def _static_assert(ctx: Context, node: ast.Call) -> Nothing:
    """Check ``pl.static_assert(condition, "message")``.

    Raises:
        ParserSyntaxError: the condition is not a constant, or the message not a literal.
        ParserError: the condition does not hold.
    """
    arguments = [*node.args, *(word.value for word in node.keywords)]
    messages = arguments[1:]
    literals = [each.value for each in messages if isinstance(each, ast.Constant)]
    if not arguments or len(messages) > 1 or not all(isinstance(each, str) for each in literals):
        raise _written(ctx, node, "takes a condition and a message")
    if messages and not literals:
        raise _written(ctx, messages[0], "has a message that is written out")
    text = ctx.source.text(arguments[0])
    condition = _known(ctx, ctx.value(arguments[0]))
    if isinstance(condition, Expr):
        raise ParserSyntaxError(
            f"pl.static_assert looks at constants, {text} is known when the program runs",
            ctx.span(arguments[0]),
            hint="assert it of the arguments, where the program is called",
            slug="static-assert",
        )
    if not condition:
        said = f": {literals[0]}" if literals and literals[0] else ""
        span = ctx.span_at_home(node)
        raise ParserError(f"{text} does not hold{said}", span, slug="static-assert")
    return NOTHING


def _written(ctx: Context, node: ast.AST, what: str) -> ParserSyntaxError:
    return ParserSyntaxError(
        f"pl.static_assert {what}",
        ctx.span(node),
        hint='write pl.static_assert(ROWS % 16 == 0, "rows come in blocks of 16")',
        slug="static-assert",
    )


def _known(ctx: Context, value: Any) -> Any:
    """Return the number of a value that is known now, else the value."""
    number = const_value(value) if isinstance(value, Expr) else None
    if number is None and isinstance(value, Expr):
        number = ctx.known_number(value)
    return value if number is None else number


def _static_print(ctx: Context, node: ast.Call) -> Nothing:
    """Print what the arguments are, with the source line of the call."""
    values = [_known(ctx, ctx.value(each)) for each in node.args]
    texts = [describe(each) if isinstance(each, Expr) else str(each) for each in values]
    span = ctx.span(node)
    print(f"{span.filename}:{span.begin_line}:", *texts)
    return NOTHING


def _unchanged(ctx: Context, node: ast.Call) -> Any:
    """Return the one argument of a mark."""
    if len(node.args) != 1 or node.keywords:
        raise ParserSyntaxError(
            f"{ctx.source.text(node.func)} takes a tensor",
            ctx.span(node),
            hint=f"write {ctx.source.text(node.func)}(x)",
            slug="argument-count",
        )
    return ctx.value(node.args[0])


def _ignored(ctx: Context, node: ast.Call) -> Nothing:
    """Evaluate the arguments of a call that changes no value, so that mistakes in them show."""
    for each in (*node.args, *(word.value for word in node.keywords)):
        if not isinstance(each, ast.Dict):
            ctx.value(each)
    return NOTHING


def _block_count(ctx: Context, node: ast.Call) -> Expr:
    """Return how many blocks the launch around a region has."""
    if ctx.region is None:
        raise ParserSyntaxError(
            f"{ctx.source.text(node)} is asked in a launch",
            ctx.span(node),
            hint="ask in its body: with pl.spmd(8):",
            slug="misplaced",
        )
    count = ctx.region.block_count
    return ConstInt(1, DataType.INDEX) if count is None else count


def _lane(ctx: Context, _node: ast.Call) -> Any:
    """Return the current vector core in a loop over the vector cores; elsewhere the first one."""
    lanes = None if ctx.region is None else ctx.region.lanes
    return ConstInt(0, DataType.INDEX) if lanes is None else ctx.value(lanes[1])


ASIDES: Final[Mapping[Any, Callable[[Context, ast.Call], Any]]] = {
    region_markers.static_assert: _static_assert,
    region_markers.static_print: _static_print,
    region_markers.func_attr: _ignored,
    region_markers.fence: _ignored,
    region_markers.cacheinvalid: _ignored,
    region_markers.dump_tag: _unchanged,
    region_markers.get_block_num: _block_count,
    region_markers.get_subblock_idx: _lane,
    region_markers.available_cluster_count: lambda _ctx, _node: ConstInt(
        A2A3.cube_cores, DataType.INT32
    ),
    region_markers.available_aiv_count: lambda _ctx, _node: ConstInt(
        A2A3.vector_cores, DataType.INT32
    ),
}
"""The handler of each call."""
