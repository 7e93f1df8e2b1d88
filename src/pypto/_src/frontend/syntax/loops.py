"""Loops: ``pl.range``, ``pl.parallel``, ``pl.while_`` and ``while``, with break and continue.

Owns bounds, loop variables and conditions. Carried values are in `loop_carried`, parsing of blocks
in `blocks`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any, Final

from pypto._src.diagnostics import Label
from pypto._src.dtypes import DataType
from pypto._src.errors import (
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto._src.frontend import markers
from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.known_sizes import divisor_of
from pypto._src.frontend.state.messages import nearest
from pypto._src.frontend.state.scope import BROKEN
from pypto._src.frontend.syntax.blocks import Block, parse_block
from pypto._src.frontend.syntax.loop_carried import (
    bounds_by_position,
    carried_results,
    carrying_target,
    init_values,
    iter_args_of,
    keep_names,
    name_tuple,
)
from pypto._src.ir.array_types import ShapedType
from pypto._src.ir.enums import ForKind
from pypto._src.ir.exprs import ConstBool, ConstInt, Expr, IterArg, Var, const_value
from pypto._src.ir.stmts import BreakStmt, ContinueStmt, ForStmt, ScopeStmt, Stmt, WhileStmt, seq
from pypto._src.ir.types import ScalarType, scalar_type

_KINDS: Final[dict[Any, ForKind]] = {
    markers.range_: ForKind.Sequential,
    markers.parallel: ForKind.Parallel,
}


_INDEX: Final = scalar_type(DataType.INDEX)


def for_(ctx: Context, node: ast.For) -> None:
    """Parse a for statement, which may be a while loop with carried values."""
    if node.orelse:
        raise _loop_else(ctx, node.orelse[0])
    helper = ctx.peek(node.iter.func) if isinstance(node.iter, ast.Call) else MISSING
    if helper is markers.while_:
        _while_values(ctx, node)
    elif helper is markers.range_ or helper is markers.parallel:
        counted(ctx, node, _KINDS[helper])
    else:
        raise _bad_iteration(ctx, node, helper)


def _loop_else(ctx: Context, node: ast.stmt) -> ParserError:
    return UnsupportedFeatureError(
        "kernels do not have 'else' after a loop",
        ctx.span(node),
        hint="put the statements after the loop",
    )


def _nearest_loop(call: ast.Call) -> str | None:
    """Return the kind of loop meant by a misspelt name of the language."""
    func = call.func
    names = [kind.__name__ for kind in _KINDS]
    return nearest(func.attr, names) if isinstance(func, ast.Attribute) else None


def _bad_iteration(ctx: Context, node: ast.For, helper: Any) -> ParserError:
    text = ctx.source.text(node.iter)
    name = _first_name(node.target)
    hint = f"write for {name} in pl.range(n):"
    if helper is range:
        hint = f"write pl.{text}"
        if isinstance(node.iter, ast.Call) and len(node.iter.args) == 1:
            inner = node.iter.args[0]
            if isinstance(ctx.value(inner), list | tuple):
                hint = f"write pl.range({ctx.source.text(inner)}[0])"
    elif isinstance(node.iter, ast.List | ast.Tuple):
        count = len(node.iter.elts)
        index = "j" if name == "i" else "i"
        hint = f"write for {index} in pl.unroll({count}):, and in it {name} = {text}[{index}]"
        if [getattr(item, "value", None) for item in node.iter.elts] == [*range(count)]:
            hint = f"write for {name} in pl.range({count}):"
    elif isinstance(node.iter, ast.Name):
        kind = getattr(ctx.names.values.get(text), "type", None)
        count = f"{text}.shape[0]" if isinstance(kind, ShapedType) else text
        if isinstance(kind, ScalarType) and kind.dtype.is_float():
            count = f"pl.cast({text}, pl.INT64)"
        hint = f"write for {name} in pl.range({count}):"
    elif isinstance(node.iter, ast.Call) and helper is MISSING and _nearest_loop(node.iter):
        words = ", ".join(ctx.source.text(w) for w in (*node.iter.args, *node.iter.keywords))
        hint = f"write pl.{_nearest_loop(node.iter)}({words})"
    elif (meant := _counting(ctx, node.iter)) is not None:
        hint = f"write for {name} in {meant}:"
    elif isinstance(node.iter, ast.Call) and len(node.iter.args) == 1:
        inner = node.iter.args[0]
        kind = getattr(ctx.value(inner), "type", None) if helper is len else None
        if isinstance(kind, ShapedType):
            hint = f"write for {name} in pl.range({ctx.source.text(inner)}.shape[0]):"
        elif isinstance(inner, ast.Call) and ctx.peek(inner.func) in tuple(_KINDS):
            hint = f"write for {name} in {ctx.source.text(inner)}:"
        elif helper is len:
            hint = f"write for {name} in pl.range({text}):"
    elif not isinstance(node.iter, ast.Call) and _is_integer(ctx, node.iter):
        hint = f"write for {name} in pl.range({text}):"
    return ParserSyntaxError(
        "a for statement iterates over pl.range, pl.parallel, pl.pipeline, pl.unroll, pl.spmd or "
        f"pl.while_, got {text}",
        ctx.span(node.iter),
        hint=hint,
        slug="for-iterable",
    )


def _counting(ctx: Context, node: ast.expr) -> str | None:
    """Return the loop that another library's range with integers means, ``np.arange(4)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if not node.args or node.keywords:
        return None
    if not node.func.attr.endswith("range") or not all(_is_integer(ctx, arg) for arg in node.args):
        return None
    kind = "unroll" if node.func.attr == "static_range" else "range"
    return f"pl.{kind}({', '.join(map(ctx.source.text, node.args))})"


def _is_integer(ctx: Context, node: ast.expr) -> bool:
    """True for a value that a loop can count to."""
    value = ctx.value(node)
    kind = value.type if isinstance(value, Expr) else None
    return isinstance(value, int) or (isinstance(kind, ScalarType) and kind.dtype.is_int())


def counted(ctx: Context, node: ast.For, kind: ForKind, stages: int = 1) -> None:
    """Parse a counted loop."""
    call = node.iter
    assert isinstance(call, ast.Call)
    start, stop, step = bounds(ctx, call)
    inits = init_values(ctx, call)
    target, iter_names = node.target, []
    if inits is not None:
        target, iter_names = carrying_target(ctx, node)
    if not isinstance(target, ast.Name):
        raise ParserSyntaxError(
            f"the variable of a loop is one name, got {ctx.source.text(node.target)}",
            ctx.span(node.target),
            hint=f"write for {_first_name(node.target)} in {ctx.source.text(node.iter)}:",
            slug="loop-target",
        )
    span = ctx.span(node)
    _refuse_shadow(ctx, target)
    loop_var = Var(target.id, _INDEX, ctx.span(target))
    fixed = ctx.names.fixed
    fixed[loop_var] = math.gcd(divisor_of(start, fixed), divisor_of(step, fixed))
    iter_args, body = iter_args_of(ctx, node, iter_names, inits or [])
    inside = {target.id: loop_var, **{arg.name: arg for arg in iter_args}}
    block, results = _loop(ctx, node, body, inside, iter_args, iter_names)
    if kind is ForKind.Parallel and any(isinstance(stmt, ScopeStmt) for stmt in block.stmts):
        _check_iterations(ctx, block.stmts, loop_var, (start, stop, step))
    ctx.block.append(
        ForStmt(
            loop_var,
            start,
            stop,
            step,
            iter_args,
            seq(block.stmts, span),
            tuple(results),
            span,
            kind,
            stages,
        )
    )
    keep_names(ctx, iter_names, results)


def _check_iterations(
    ctx: Context, stmts: Sequence[Stmt], loop_var: Var, numbers: tuple[Expr, Expr, Expr]
) -> None:
    """Warn of stores in regions to the same elements by several iterations of a parallel loop."""
    start, stop, step = (const_value(number) for number in numbers)
    if not isinstance(step, int) or ctx.broken:
        return
    if isinstance(start, int) and isinstance(stop, int) and len(range(start, stop, step)) < 2:
        return
    from pypto._src.frontend.regions.disjoint import check_disjoint

    check_disjoint(ctx, stmts, loop_var, step, "iteration")


def _refuse_shadow(ctx: Context, target: ast.Name) -> None:
    """Raise an error for a loop variable with the name of an enclosing loop's variable."""
    old = ctx.names.values.get(target.id)
    if isinstance(old, Var) and old in ctx.names.fixed:
        raise ParserTypeError(
            f"{target.id!r} is the variable of a loop around this one, too",
            ctx.span(target),
            hint=f"use another name: for {target.id}2 in ...",
            slug="loop-variable",
            related=(Label(old.span, "the outer loop sets it here"),),
        )


def _first_name(target: ast.expr) -> str:
    names = (item.id for item in ast.walk(target) if isinstance(item, ast.Name))
    return next(names, "i")


def bounds(ctx: Context, call: ast.Call) -> tuple[Expr, Expr, Expr]:
    """Return start, stop and step of a loop."""
    if not 1 <= len(call.args) <= 3:
        named = [ctx.source.text(w.value) for w in call.keywords if w.arg != "init_values"]
        bounds_text = "start, stop, step" if call.args else ", ".join(named) or "stop"
        raise ParserSyntaxError(
            f"{ctx.source.text(call.func)} takes 1 to 3 arguments, got {len(call.args)}",
            ctx.span(call),
            hint=bounds_by_position(ctx, call)
            or f"write {ctx.source.text(call.func)}({bounds_text})",
            slug="range-arguments",
        )
    given = [_bound(ctx, arg) for arg in call.args]
    if len(given) == 1:
        given.insert(0, ConstInt(0))
    step = given[2] if len(given) == 3 else ConstInt(1)
    if isinstance(step, ConstInt) and step.value == 0:
        raise ParserTypeError(
            "the step of a loop is 0: it would never end",
            ctx.span(call.args[2]),
            hint="write 1, or a negative step to count down",
            slug="range-arguments",
        )
    return given[0], given[1], step


def _bound(ctx: Context, node: ast.expr) -> Expr:
    """Return a loop bound; ``n / 2`` is refused, as Python's ``range`` refuses it."""
    try:
        bound = ctx.scalar(node, "a loop bound", integer=True)
    except ParserTypeError as error:
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            error.hint = f"write {ctx.source.text(node)}[0]"
        raise
    if node.__class__ is ast.Name or node.__class__ is ast.Constant:
        return bound
    for division in ast.walk(node):
        if isinstance(division, ast.BinOp) and isinstance(division.op, ast.Div):
            whole = ast.BinOp(division.left, ast.FloorDiv(), division.right)
            raise ParserTypeError(
                f"a loop bound is an integer, {ctx.source.text(division)} divides with a fraction",
                ctx.span(division),
                hint=f"write {ast.unparse(whole)}",
                slug="scalar-wanted",
            )
    return bound


def _loop(
    ctx: Context,
    node: ast.For | ast.While,
    body: Sequence[ast.stmt],
    inside: dict[str, Var],
    iter_args: Sequence[IterArg],
    iter_names: Sequence[ast.Name],
) -> tuple[Block, list[Var]]:
    """Parse the body of a loop; return it and the variables that receive the carried values."""
    names = ctx.names
    hidden = [name for name in inside if names.values.get(name, MISSING) is not MISSING]
    if ctx.region is not None:
        ctx.region.settle(ctx, body)
    outside, names.candidates = names.candidates, []
    left, names.left = names.left, {}
    jumped, names.jumped = names.jumped, {}
    ctx.loops.append(bool(iter_args))
    try:
        block = parse_block(ctx, body, inside)
    finally:
        names.candidates = outside
        left, names.left = names.left, left
        jumped, names.jumped = names.jumped, jumped
        ctx.loops.pop()
    if block.retyped or jumped:
        _refuse_retyped(ctx, node, block.retyped, jumped)
    lost = block.bound
    if ctx.region is not None:
        lost = _handed_on(ctx, node, lost)
    elif left or (names.partial and lost):
        lost = _partial(ctx, node, lost, left)
    names.lose(lost, "defined only in the loop")
    results = carried_results(ctx, node, block, iter_args, iter_names)
    for name in hidden:
        if inside[name] in names.fixed:  # a loop variable is undefined after its loop
            names.lose({name: inside[name]}, "defined only in the loop")
            names.bind(name, MISSING)
    return block, results


def _refuse_retyped(
    ctx: Context, node: ast.For | ast.While, retyped: dict[str, Var], jumped: dict[str, Var]
) -> None:
    """Report names that change their type in a loop and are read again in it or after it.

    ``retyped`` have changed at the end of an iteration, ``jumped`` where a jump ends it.
    """
    from pypto._src.frontend.state.live_names import live_at_end

    names = ctx.names
    live = live_at_end(ctx, node)
    for name, var in (jumped | retyped).items():
        outside = names.values.get(name, BROKEN)
        if name in live and outside is not var and outside is not BROKEN:
            ctx.report(names.type_change(name, var), node)
            names.bind(name, BROKEN)


def _partial(
    ctx: Context, node: ast.For | ast.While, bound: dict[str, Any], left: dict[str, Any]
) -> dict[str, Any]:
    """Bind names that only some paths through a loop define and that are read after it.

    ``left`` are those of branches that leave the iteration. Return the other names of the loop.
    """
    from pypto._src.frontend.state.live_names import live_after

    names, lost = ctx.names, left | bound
    why = "assigned where the loop is left, and read after it: where it ends, it has no value"
    for name in sorted(live_after(ctx, node) & lost.keys()):
        is_left = name not in bound and names.values.get(name, MISSING) is MISSING
        if lost[name] in names.partial or (
            is_left and ctx.may_be_unassigned(name, lost[name], why, "the loop")
        ):
            names.bind(name, lost.pop(name))
    return lost


def _handed_on(ctx: Context, node: ast.For | ast.While, bound: dict[str, Any]) -> dict[str, Any]:
    """Define names before a loop of a region if the loop defines them and they are read after it.

    Their initial value has no meaning: a loop without iterations keeps it.
    """
    from pypto._src.frontend.state.live_names import live_after

    assert ctx.region is not None
    lost: dict[str, Any] = {}
    live = live_after(ctx, node)
    for name, var in bound.items():
        if name not in live or not isinstance(var, Var) or var in ctx.names.fixed:
            lost[name] = var
            continue
        begin = ctx.region.begin(ctx, var, node)
        if begin is None:
            lost[name] = var
            continue
        ctx.append(var, begin, ctx.span(node))
        ctx.names.bind(name, var)
    return lost


def _while_values(ctx: Context, node: ast.For) -> None:
    call = node.iter
    assert isinstance(call, ast.Call)
    inits = init_values(ctx, call)
    iter_names = name_tuple(node.target)
    if call.args or inits is None or iter_names is None:
        raise ParserSyntaxError(
            "a while loop that carries values has their names and init_values",
            ctx.span(node.target if inits is not None else call),
            hint="write for (x,) in pl.while_(init_values=(x,)):",
            slug="loop-target",
        )
    iter_args, body = iter_args_of(ctx, node, iter_names, inits)
    test = _condition(ctx, body)
    if test is None:
        _refuse_conditions(ctx, body, iter_names)
        raise ParserSyntaxError(
            "the body of a pl.while_ loop starts with its condition",
            ctx.span(body[0] if body else node),
            hint=f"write pl.cond({iter_names[0].id if iter_names else 'n'} > 0) before it",
            slug="while-condition",
        )
    inside: dict[str, Var] = {arg.name: arg for arg in iter_args}
    mark = ctx.names.open()
    try:
        for name, var in inside.items():
            ctx.names.bind(name, var)
        condition = _repeated(ctx, test, "the condition of a loop")
    finally:
        ctx.names.close(mark)
    _refuse_endless(ctx, test, condition, body)
    rest = body[1:] or [ast.copy_location(ast.Pass(), body[0])]
    block, results = _loop(ctx, node, rest, inside, iter_args, iter_names)
    span = ctx.span(node)
    ctx.block.append(WhileStmt(condition, iter_args, seq(block.stmts, span), tuple(results), span))
    keep_names(ctx, iter_names, results)


def _repeated(ctx: Context, test: ast.expr, what: str) -> Expr:
    """Return the condition of a loop, evaluated again before each iteration.

    Raises:
        UnsupportedFeatureError: it needs statements, which would run only once, before the loop.
    """
    count = len(ctx.block)
    condition = ctx.scalar(test, what)
    if len(ctx.block) > count:
        raise UnsupportedFeatureError(
            f"{what} is one expression; this takes statements, which would run only once",
            ctx.span(test),
            hint="assign it to a name before the loop and at the end of its body",
            slug="while-condition",
        )
    return condition


def _refuse_conditions(ctx: Context, body: Sequence[ast.stmt], names: Sequence[ast.Name]) -> None:
    """Raise the error for a ``pl.cond`` with several conditions, or with none."""
    call = body[0].value if body and isinstance(body[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or ctx.peek(call.func) is not markers.cond:
        return
    given = [*call.args, *(word.value for word in call.keywords)]
    texts = [ctx.source.text(part) for part in given]
    parts = [
        f"({text})" if isinstance(part, ast.BoolOp) and len(given) > 1 else text
        for part, text in zip(given, texts, strict=True)
    ]
    condition = " and ".join(parts) or f"{names[0].id if names else 'n'} > 0"
    raise ParserSyntaxError(
        f"pl.cond takes one condition, got {len(given)}"
        if len(given) != 1
        else "pl.cond takes its condition by position",
        ctx.span(call),
        hint=f"write pl.cond({condition})",
        slug="while-condition",
    )


def _condition(ctx: Context, body: Sequence[ast.stmt]) -> ast.expr | None:
    """Return the argument of the ``pl.cond(...)`` that starts a body."""
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    if not isinstance(first, ast.Call) or ctx.peek(first.func) is not markers.cond:
        return None
    return first.args[0] if len(first.args) == 1 and not first.keywords else None


def while_(ctx: Context, node: ast.While) -> None:
    """Parse a while statement, which carries no values."""
    if node.orelse:
        raise _loop_else(ctx, node.orelse[0])
    condition = _repeated(ctx, node.test, "the condition of a while")
    _refuse_endless(ctx, node.test, condition, node.body)
    block, _ = _loop(ctx, node, node.body, {}, (), ())
    span = ctx.span(node)
    ctx.block.append(WhileStmt(condition, (), seq(block.stmts, span), (), span))


def _refuse_endless(
    ctx: Context, test: ast.expr, condition: Expr, body: Sequence[ast.stmt]
) -> None:
    """Raise an error for a loop whose condition is always true and that is never left."""
    if not isinstance(condition, ConstBool | ConstInt) or not condition.value or _has_exit(body):
        return
    raise ParserSyntaxError(
        "this loop never ends: its condition is always true, and nothing leaves it",
        ctx.span(test),
        hint="end it with break in its body, as in if done: break; or write a condition",
        slug="endless-loop",
    )


def _has_exit(body: Sequence[ast.stmt]) -> bool:
    """True if a loop with this body contains a break of its own, or a return."""
    pending: list[tuple[ast.AST, bool]] = [(node, False) for node in body]
    while pending:
        node, is_within = pending.pop()
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not is_within):
            return True
        if isinstance(node, ast.For | ast.While | ast.If | ast.With):
            within = is_within or isinstance(node, ast.For | ast.While)
            blocks = (*node.body, *getattr(node, "orelse", ()))
            pending += [(inner, within) for inner in blocks]
    return False


def break_(ctx: Context, node: ast.Break) -> None:
    """Parse ``break``."""
    _refuse_jump(ctx, node, "break")
    _note_retyped(ctx)
    ctx.block.append(BreakStmt(ctx.span(node)))


def continue_(ctx: Context, node: ast.Continue) -> None:
    """Parse ``continue``."""
    _refuse_jump(ctx, node, "continue")
    _note_retyped(ctx)
    ctx.block.append(ContinueStmt(ctx.span(node)))


def _note_retyped(ctx: Context) -> None:
    """Note the names that have another type at a jump than outside the loop."""
    names = ctx.names
    if names.retyped:
        found = ((name, value) for name, value in names.values.items() if isinstance(value, Var))
        names.jumped |= {name: var for name, var in found if var in names.retyped}


def _refuse_jump(ctx: Context, node: ast.stmt, word: str) -> None:
    if ctx.loops and ctx.loops[-1]:
        raise UnsupportedFeatureError(
            f"a loop with init_values has no {word}: the iteration would yield nothing",
            ctx.span(node),
            hint="leave init_values out and assign the variables in the loop",
            slug="jump",
        )
