"""What a loop carries between iterations: ``init_values``, iter_args, yields, results.

Owns how their names, types and numbers must agree. The kinds of loops are in `loops`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto._src.diagnostics import Label, counted
from pypto._src.errors import ParserSyntaxError, ParserTypeError
from pypto._src.frontend.source.python_names import MISSING, items_of
from pypto._src.frontend.source.source import refuse_keyword_twice
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import cast_hint, describe, nearest, part_hint, spell_apart
from pypto._src.frontend.state.scope import Cascade, same_joined_type, same_value_type
from pypto._src.frontend.syntax.annotations import declared_join, type_of
from pypto._src.frontend.syntax.blocks import Block, Yielded, define_results
from pypto._src.ir.exprs import Expr, IterArg, Var
from pypto._src.ir.stmts import YieldStmt
from pypto._src.ir.types import ScalarType, Type


def init_values(ctx: Context, call: ast.Call) -> list[Expr] | None:
    """Return the initial values in a loop header, None if it has no ``init_values``."""
    refuse_keyword_twice(ctx.span, call)
    found: list[Expr] | None = None
    for word in call.keywords:
        if word.arg != "init_values":
            positions = bounds_by_position(ctx, call)
            raise ParserSyntaxError(
                f"{ctx.source.text(call.func)} has no argument {word.arg!r}",
                ctx.span(word if positions is None else call),
                hint=f"write init_values={ctx.source.text(word.value)}"
                if nearest(word.arg or "", ["init_values"])
                else positions or "its keyword is init_values",
                slug="range-arguments",
            )
        values = ctx.value(word.value)
        items = items_of(values)
        if items is not None:
            found = [ctx.as_expr(value, word.value) for value in items]
        elif values is not None:
            raise ParserSyntaxError(
                f"init_values is a tuple, got {describe(values)}",
                ctx.span(word),
                hint=f"write init_values=({ctx.source.text(word.value)},)",
                slug="range-arguments",
            )
    return found


def bounds_by_position(ctx: Context, call: ast.Call) -> str | None:
    """Return a loop's bounds without their names, None if they have none."""
    texts = [ctx.source.text(arg) for arg in call.args]
    words = {word.arg: ctx.source.text(word.value) for word in call.keywords}
    named = {name: words.pop(name) for name in _BOUNDS if name in words}
    order = _BOUNDS[1:] if len(texts) == 1 and "stop" not in named else _BOUNDS
    given = {**dict(zip(order, texts, strict=False)), **named}
    if not named or len(texts) + len(named) != len(given):
        return None
    func = ctx.source.text(call.func)
    if "stop" not in given:
        first, step = given.get("start", "0"), f", {given['step']}" if "step" in given else ""
        return f"say where it ends: {func}({first}, ...{step})"
    bounds = [given.get("start", "0"), given["stop"], *([given["step"]] if "step" in given else [])]
    bounds = bounds if len(bounds) == 3 or "start" in given else bounds[1:]
    others = [ctx.source.text(word) for word in call.keywords if word.arg not in named]
    return f"write {func}({', '.join([*bounds, *others])})"


_BOUNDS = ("start", "stop", "step")
"""What Python calls the arguments of its range."""


def carrying_target(ctx: Context, node: ast.For) -> tuple[ast.expr, list[ast.Name]]:
    """Return the loop variable and the carried names of ``for i, (a, b) in ...``."""
    target = node.target
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        names = name_tuple(target.elts[1])
        if names is not None:
            return target.elts[0], names
    raise ParserSyntaxError(
        "a loop with init_values has a variable and a tuple of names, "
        f"got {ctx.source.text(target)}",
        ctx.span(target),
        hint=f"write for {_carrying_text(ctx, node)} in {ctx.source.text(node.iter)}:",
        slug="loop-target",
    )


def _carrying_text(ctx: Context, node: ast.For) -> str:
    """Suggest a target for a loop with init_values: ``i, (a, b)``, from the names at hand."""
    target = node.target
    names = [item.id for item in ast.walk(target) if isinstance(item, ast.Name)]
    assert isinstance(node.iter, ast.Call)
    words = [word.value for word in node.iter.keywords if word.arg == "init_values"]
    values = [item for word in words for item in getattr(word, "elts", [])]
    variable, carried = names[:1] or ["i"], names[1:]
    if len(names) == len(values) > 1:  # the loop variable is missing
        variable, carried = ["i" if "i" not in names else "step"], names
    elif not carried:
        carried = [v.id if isinstance(v, ast.Name) else f"c{i}" for i, v in enumerate(values)]
    comma = "," if len(carried) == 1 else ""
    return f"{variable[0]}, ({', '.join(carried)}{comma})"


def name_tuple(node: ast.expr) -> list[ast.Name] | None:
    """Return the names of a tuple of names, None for anything else."""
    if not isinstance(node, ast.Tuple | ast.List):
        return None
    names = [item for item in node.elts if isinstance(item, ast.Name)]
    return names if len(names) == len(node.elts) else None


def iter_args_of(
    ctx: Context, node: ast.For, names: list[ast.Name], inits: list[Expr]
) -> tuple[list[IterArg], Sequence[ast.stmt]]:
    """Return the carried values, and the body without their type declarations."""
    if len(names) != len(inits):
        raise ParserSyntaxError(
            f"init_values has {counted(len(inits), 'value')} for {counted(len(names), 'name')}",
            ctx.span(node.target),
            hint=f"give init_values {len(names)}: one for each of "
            f"{', '.join(name.id for name in names)}"
            if len(inits) < len(names)
            else None,
            slug="loop-target",
        )
    wanted = {name.id for name in names}
    declared: dict[str, tuple[ast.expr, Type]] = {}
    body = node.body
    while body and isinstance(body[0], ast.AnnAssign) and body[0].value is None:
        first = body[0]
        if not isinstance(first.target, ast.Name) or first.target.id not in wanted:
            break
        if first.target.id in declared:
            break
        declared[first.target.id] = first.annotation, type_of(ctx, first.annotation)
        body = body[1:]
    args: list[IterArg] = []
    for name, init in zip(names, inits, strict=True):
        target, kind = declared.get(name.id, (name, None))
        kind = declared_join(ctx, target, kind, init.type)
        arg = IterArg(name.id, kind, init, ctx.span(name))
        ctx.follow(arg, init)
        args.append(arg)
    return args, body


def carried_results(
    ctx: Context,
    node: ast.For | ast.While,
    block: Block,
    iter_args: Sequence[IterArg],
    iter_names: Sequence[ast.Name],
) -> list[Var]:
    """Append the yield to a loop body; return the variables that receive the last values."""
    yielded = block.yielded
    if yielded is None:
        if not iter_args:
            return []
        if any(error.slug == "misplaced" for error in ctx.errors.found[-1:]):
            raise Cascade  # it does yield, but not at the end
        names = ", ".join(arg.name for arg in iter_args)
        raise ParserSyntaxError(
            f"this loop carries {names} and its body does not end with a yield",
            ctx.span(node.body[-1]),
            hint=f"end the body with {names} = pl.yield_({names})",
            slug="yield-count",
        )
    if len(yielded.values) != len(iter_args):
        raise ParserSyntaxError(
            f"this loop carries {counted(len(iter_args), 'value')} and yields "
            f"{len(yielded.values)}",
            yielded.span,
            hint=_carry_hint(ctx, node, yielded, iter_args),
            slug="yield-count",
            related=_loop_header(ctx, node),
        )
    values = [
        _yield_value(ctx, arg, value, value_node)
        for arg, value, value_node in zip(iter_args, yielded.values, yielded.nodes, strict=True)
    ]
    block.stmts.append(YieldStmt(tuple(values), yielded.span))
    if not values:
        return []
    declared = yielded.kinds or [None] * len(values)
    kinds = [
        declared_join(ctx, value_node, kind, value.type)
        for value_node, kind, value in zip(yielded.nodes, declared, values, strict=True)
    ]
    named = yielded.names or iter_names
    return define_results(ctx, named, kinds, values)


def _carry_hint(
    ctx: Context,
    node: ast.For | ast.While,
    yielded: Yielded,
    iter_args: Sequence[IterArg],
) -> str | None:
    """Suggest how to make a loop and its yield agree: a new header, or a new yield."""
    if iter_args:
        names = [arg.name for arg in iter_args]
        values = [ctx.source.text(value_node) for value_node in yielded.nodes[: len(names)]]
        return (
            f"write {', '.join(names)} = pl.yield_({', '.join([*values, *names[len(values) :]])})"
        )
    names = ", ".join(name.id for name in yielded.names)
    if not names or isinstance(node, ast.While):
        return "leave pl.yield_ out and assign the values"
    comma = "," if len(yielded.names) == 1 else ""
    bounds = ctx.source.text(node.iter)[:-1]
    target = f"{ctx.source.text(node.target)}, ({names}{comma})"
    return f"write for {target} in {bounds}, init_values=({names}{comma})):"


def _loop_header(ctx: Context, node: ast.For | ast.While) -> tuple[Label, ...]:
    head = node.iter if isinstance(node, ast.For) else node.test
    return (Label(ctx.span(head), "the loop"),)


def _yield_value(ctx: Context, arg: IterArg, value: Any, value_node: ast.expr) -> Expr:
    dtype = arg.type.dtype if isinstance(arg.type, ScalarType) else None
    expr = ctx.as_expr(value, value_node, dtype)
    if not same_joined_type(arg.type, expr.type):
        carried, yielded = spell_apart(arg.type, expr.type)
        parts, text = same_value_type(arg.type, expr.type), ctx.source.text(value_node)
        init = arg.initValue.name if isinstance(arg.initValue, Var) else arg.name
        raise ParserTypeError(
            f"the loop carries {arg.name!r} as {carried} and yields {yielded}",
            ctx.span(value_node),
            hint=part_hint(arg.type, init, expr.type, text)
            if parts
            else cast_hint(arg.type, expr.type, text),
            slug="valid-shape" if parts else "yield-type",
            related=(Label(arg.span, f"{arg.name} is {carried}"),),
        )
    return expr


def keep_names(ctx: Context, iter_names: Sequence[ast.Name], results: Sequence[Var]) -> None:
    """After a loop, bind the names of its iter_args to the last values, too."""
    names = ctx.names
    named = {result.name for result in results}
    for name, result in zip(iter_names, results, strict=True):
        if name.id in named:
            continue
        known = names.values.get(name.id, MISSING) is not MISSING
        if known and names.levels[name.id] != names.level:
            ctx.assign(name.id, result, name)  # a name from outside the block, whose value changes
        else:
            names.bind_alias(name.id, result)
