"""Loops of regions: pipelines, unrolled loops, and the two vector cores of a cluster."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from pypto._src.diagnostics import Label
from pypto._src.errors import InvalidOperationError, ParserSyntaxError, ParserTypeError
from pypto._src.frontend import region_markers
from pypto._src.frontend.regions.product_operands import outside_acc
from pypto._src.frontend.regions.scopes import for_blocks
from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.source.syntax_tree import assigned_names
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.live_names import read_names
from pypto._src.frontend.syntax.loop_carried import bounds_by_position
from pypto._src.frontend.syntax.loops import bounds, counted, for_
from pypto._src.ir.enums import ForKind
from pypto._src.suggestions import nearest_keyword

_MOST_COPIES = 1 << 12


def parse(ctx: Context, node: ast.For, helper: Any) -> None:
    """Parse a loop of one of these kinds."""
    assert isinstance(node.iter, ast.Call)
    if helper is region_markers.pipeline:
        _pipeline(ctx, node, node.iter)
    elif helper is region_markers.unroll:
        _unroll(ctx, node, node.iter)
    elif helper is region_markers.split_aiv:
        _split(ctx, node, node.iter)
    elif helper is region_markers.spmd:
        for_blocks(ctx, node)
    else:
        for_(ctx, node)


def _without(node: ast.For, *keywords: str) -> ast.For:
    """Return a loop without some keywords of its iterator."""
    call = node.iter
    assert isinstance(call, ast.Call)
    kept = [word for word in call.keywords if word.arg not in keywords]
    iterator = ast.copy_location(ast.Call(call.func, call.args, kept), call)
    made = ast.For(node.target, iterator, node.body, node.orelse)
    return ast.copy_location(made, node)


def _pipeline(ctx: Context, node: ast.For, call: ast.Call) -> None:
    """Parse ``pl.pipeline``: a sequential loop of which ``stage`` iterations overlap."""
    stages = [word.value for word in call.keywords if word.arg == "stage"]
    stage = ctx.value(stages[0]) if stages else None
    positions = bounds_by_position(ctx, call)
    for word in call.keywords:
        if word.arg in ("stage", "init_values"):
            continue
        is_stage = not stages and nearest_keyword(word.arg or "", ["stage"]) is not None
        if positions is not None or is_stage:
            raise ParserSyntaxError(
                f"{ctx.source.text(call.func)} has no argument {word.arg!r}",
                ctx.span(word if positions is None else call),
                hint=positions or f"write stage={ctx.source.text(word.value)}",
                slug="range-arguments",
            )
    if not isinstance(stage, int) or isinstance(stage, bool) or stage < 1:
        raise ParserSyntaxError(
            "a pipeline has a number of stages"
            + (f", got {ctx.source.text(stages[0])}" if stages else ""),
            ctx.span(stages[0] if stages else call),
            hint=f"write {_with_stage(ctx, call)}",
            slug="range-arguments",
        )
    counted(ctx, _without(node, "stage"), ForKind.Sequential, stage)


def _with_stage(ctx: Context, call: ast.Call) -> str:
    kept = [word for word in call.keywords if word.arg != "stage"]
    texts = [ctx.source.text(item) for item in (*call.args, *kept)]
    return f"{ctx.source.text(call.func)}({', '.join([*texts, 'stage=2'])})"


def _unroll(ctx: Context, node: ast.For, call: ast.Call) -> None:
    """Parse the body once for each number in the range of ``pl.unroll``."""
    target = node.target
    if not isinstance(target, ast.Name) or call.keywords:
        raise ParserSyntaxError(
            "pl.unroll takes one variable, and only bounds",
            ctx.span(target if not call.keywords else call),
            hint=bounds_by_position(ctx, call) or "write for i in pl.unroll(4):",
            slug="loop-target",
        )
    numbers: list[int] = []
    for bound, argument in zip(bounds(ctx, call), [*call.args, *[call] * 3], strict=False):
        known = ctx.known_number(bound)
        if known is None:
            raise ParserTypeError(
                "the bounds of pl.unroll are numbers known when the kernel is compiled",
                ctx.span(argument),
                hint=f"write pl.range({', '.join(map(ctx.source.text, call.args))})",
                slug="range-arguments",
            )
        numbers.append(known)
    iterations = range(*numbers)
    if len(iterations) > _MOST_COPIES:
        raise ParserTypeError(
            f"pl.unroll makes {len(iterations)} copies of its body; {_MOST_COPIES} are the most",
            ctx.span(call),
            hint=f"write for {target.id} in pl.range(...):",
            slug="range-arguments",
        )
    if len(iterations) > 1:
        ctx.assigned_again(node.body)
    around, ctx.anew = ctx.anew, _made_anew(ctx, node)
    try:
        for number in iterations:
            for name in ctx.anew:
                if ctx.names.values.get(name) in ctx.constants:
                    ctx.names.bind(name, MISSING)
            ctx.names.bind(target.id, number)
            ctx.run(node.body)
    finally:
        ctx.anew = around


def _made_anew(ctx: Context, node: ast.For) -> list[str]:
    """Return the names that each copy assigns once, before it reads them.

    Such a name can be a size if it is a number in each copy, though a different one.
    """
    names = [
        stmt.targets[0].id
        for stmt in node.body
        if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name)
    ]
    counts = assigned_names(ctx.node.body)
    read_before = read_names(node.body)
    return [
        name for name in dict.fromkeys(names) if counts.get(name) == 1 and name not in read_before
    ]


def _jumps(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield each break and continue of a loop with this body."""
    pending = list(body)
    while pending:
        stmt = pending.pop(0)
        if isinstance(stmt, ast.Break | ast.Continue):
            yield stmt
        elif not isinstance(stmt, ast.For | ast.While):
            pending += [
                child for child in ast.iter_child_nodes(stmt) if isinstance(child, ast.stmt)
            ]


def _split(ctx: Context, node: ast.For, call: ast.Call) -> None:
    """Parse the body of ``pl.split_aiv``, once for each vector core."""
    words = {word.arg: word.value for word in call.keywords}
    if set(words) != {"mode"} or len(call.args) != 1 or ctx.region is None:
        raise ParserSyntaxError(
            "pl.split_aiv takes the number of vector cores and a mode, in a region",
            ctx.span(call),
            hint="write for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):",
            slug="split-aiv",
        )
    if ctx.known_number(ctx.scalar(call.args[0], "the number of vector cores")) != 2:
        raise ParserSyntaxError(
            f"a cluster has 2 vector cores, got {ctx.source.text(call.args[0])}",
            ctx.span(call.args[0]),
            hint="write 2",
            slug="split-aiv",
        )
    if ctx.value(words["mode"]) not in region_markers.SplitMode:
        raise ParserSyntaxError(
            f"the mode of pl.split_aiv is a pl.SplitMode, got {ctx.source.text(words['mode'])}",
            ctx.span(words["mode"]),
            hint="write mode=pl.SplitMode.NONE",
            slug="split-aiv",
        )
    if ctx.region.divided is not None:
        raise ParserSyntaxError(
            "pl.split divides the vector work of this region, a loop over the vector cores does so "
            "by hand",
            ctx.span(call),
            hint="leave out one of them",
            slug="split-aiv",
            related=(Label(ctx.region.divided, "divided here"),),
        )
    region, outer = ctx.region, ctx.region.lanes
    if outer is not None:
        raise ParserSyntaxError(
            "a loop over the vector cores is inside another one",
            ctx.span(call),
            hint="write pl.range(2) here",
            slug="split-aiv",
        )
    name = (
        ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        if isinstance(node.target, ast.Name)
        else node.target
    )
    jump = next(_jumps(node.body), None)
    if jump is not None:
        raise InvalidOperationError(
            "a jump leaves a loop over the vector cores, which each run their part of it",
            ctx.span(jump),
            hint="put the statements under a condition",
            slug="jump",
        )
    outside_acc(ctx, node.body)
    region.lanes = ctx.value(words["mode"]), name
    try:
        counted(ctx, _without(node, "mode"), ForKind.Sequential)
    finally:
        region.lanes = None
