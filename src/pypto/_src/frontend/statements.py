"""Statements: assignments, branches, loops, returns."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pypto._src.diagnostics import Label, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import (
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto._src.frontend import control, slices
from pypto._src.frontend.calls import is_python_object
from pypto._src.frontend.context import Context, Form, body_of, store_line
from pypto._src.frontend.environment import MISSING, items_of
from pypto._src.frontend.expressions import BINARY, apply_binary
from pypto._src.frontend.messages import counted, describe, nearest, spell
from pypto._src.frontend.scope import BROKEN, Cascade, Lost, same_value_type
from pypto._src.frontend.sizes import number_of
from pypto._src.frontend.types import annotation_text, declared_type, type_of
from pypto._src.ir.enums import ForKind, ScopeKind
from pypto._src.ir.nodes import (
    Call,
    ConstInt,
    Expr,
    IterArg,
    ScalarType,
    TensorType,
    TileType,
    TupleGetItemExpr,
    TupleType,
    Type,
    UnknownType,
    Var,
    as_expr,
    same_type,
    scalar_type,
)
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
)
from pypto._src.ops.rules import called

_KINDS: Final[dict[Any, ForKind]] = {
    control.range_: ForKind.Sequential,
    control.parallel: ForKind.Parallel,
}
_INDEX: Final = scalar_type(DataType.INDEX)

# --------------------------------------------------------------------------------------------
# Assignments
# --------------------------------------------------------------------------------------------


def _assign(ctx: Context, node: ast.Assign) -> None:
    value = ctx.value(node.value)
    first, *others = node.targets
    _assign_to(ctx, first, value, node.value)
    for target in others:
        again = ctx.names.values[first.id] if isinstance(first, ast.Name) else value
        _assign_to(ctx, target, again, node.value)


def _assign_to(ctx: Context, target: ast.expr, value: Any, source: ast.expr) -> None:
    if isinstance(target, ast.Name):
        _assign_name(ctx, target, value, source)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(ctx, target, value, source)
    elif isinstance(target, ast.Subscript):
        slices.write(ctx, target, value, source)
    else:
        raise _bad_target(ctx, target)


def _bad_target(ctx: Context, target: ast.expr) -> ParserError:
    return UnsupportedFeatureError(
        f"{ctx.source.text(target)} cannot be assigned in this way", ctx.span(target), slug="target"
    )


def _assign_name(ctx: Context, target: ast.Name, value: Any, source: ast.expr) -> None:
    if isinstance(value, Expr):
        _refuse_no_value(ctx, value, source)
        number = _constant(ctx, target.id, value)
        var = ctx.assign(target.id, value, target, source=source)
        if number is not None:
            ctx.constants[var] = number
    elif not isinstance(value, int | float) and is_python_object(value):
        ctx.check_assignable(target.id, None, ctx.span(target))
        ctx.names.bind_constant(target.id, value, ctx.span(target))
    else:
        number = _constant(ctx, target.id, value)
        expr = ctx.as_expr(value, source, _scalar_of(ctx, target.id))
        var = ctx.assign(target.id, expr, target)
        if number is not None:
            ctx.constants[var] = number


def _constant(ctx: Context, name: str, value: Any) -> int | None:
    """Return the number that ``name`` will be wherever it is read, None if it is none."""
    if isinstance(value, Expr):
        kind = value.type
        if not (ctx.constants or value.__class__ is ConstInt) or not isinstance(kind, ScalarType):
            return None
        value = number_of(value, ctx.constants) if kind.dtype.is_int() else None
    return value if value.__class__ is int and ctx.is_only(name) else None


def _scalar_of(ctx: Context, name: str) -> DataType | None:
    """Return the element type of a scalar variable, which a bare number assigned to it takes."""
    old = ctx.names.values.get(name)
    return old.type.dtype if isinstance(old, Var) and isinstance(old.type, ScalarType) else None


def _refuse_no_value(ctx: Context, value: Expr, source: ast.expr) -> None:
    if isinstance(value.type, UnknownType) and isinstance(value, Call):
        raise ParserTypeError(
            f"{ctx.source.text(source).partition('(')[0]} has no value to assign",
            ctx.span(source),
            hint=f"write {ctx.source.text(source)}",
            slug="no-value",
        )


def _unpack(ctx: Context, target: ast.Tuple | ast.List, value: Any, source: ast.expr) -> None:
    targets = target.elts
    values = items_of(value)
    if values is not None:
        count = len(values)
    elif isinstance(value, Expr) and isinstance(value.type, TupleType):
        count = _part_count(value)
    else:
        raise ParserTypeError(
            f"{describe(value)} is one value and cannot be unpacked",
            ctx.span(target),
            slug="unpack",
        )
    if count != len(targets):
        raise ParserTypeError(
            f"{counted(count, 'value')} cannot be unpacked into {counted(len(targets), 'name')}",
            ctx.span(target),
            slug="unpack",
        )
    if values is None:
        parts = _parts(ctx, value, source)
    else:
        parts = _independent(ctx, targets, values, source)
    for item, part in zip(targets, parts, strict=True):
        _assign_to(ctx, item, part, source)


def _part_count(value: Expr) -> int:
    return len(value.type.types) if isinstance(value.type, TupleType) else 1


def _parts(ctx: Context, value: Expr, source: ast.expr) -> list[Expr]:
    """Return the parts of a tuple, which is kept in a variable of its own."""
    if not isinstance(value, Var):
        var = Var("_tuple_tmp", value.type, ctx.span(source))
        ctx.append(var, value, ctx.span(source))
        ctx.follow(var, value)
        value = var
    origins = ctx.parts.get(value)
    parts: list[Expr] = []
    for index in range(_part_count(value)):
        part = TupleGetItemExpr(value, index, ctx.span(source))
        origin = origins[index] if origins else None
        if origin is not None:
            ctx.origins[part] = origin
        parts.append(part)
    return parts


def _independent(
    ctx: Context, targets: Sequence[ast.expr], values: list[Any], source: ast.expr
) -> list[Any]:
    """Return values that assigning the targets one by one does not change: ``a, b = b, a``."""
    names = {t.id for t in targets if isinstance(t, ast.Name)}
    read = {n.id for n in ast.walk(source) if isinstance(n, ast.Name)}
    if not names & read:
        return values
    safe: list[Any] = []
    for value in values:
        if isinstance(value, Expr):
            var = Var("_tmp", value.type, ctx.span(source))
            ctx.follow(var, value)
            ctx.append(var, value, ctx.span(source))
            value = var
        safe.append(value)
    return safe


def _ann_assign(ctx: Context, node: ast.AnnAssign) -> None:
    if not isinstance(node.target, ast.Name):
        raise _bad_target(ctx, node.target)
    declared = type_of(ctx, node.annotation)
    name = node.target.id
    if node.value is None:
        ctx.declared[name] = declared
        return
    dtype = declared.dtype if isinstance(declared, ScalarType) else None
    value = ctx.expr(node.value, dtype)
    kind = declared_type(ctx, node.annotation, declared, value.type, node.value)
    number = _constant(ctx, name, value)
    var = ctx.assign(name, value, node.target, kind=kind, source=node.value)
    if number is not None:
        ctx.constants[var] = number


def _aug_assign(ctx: Context, node: ast.AugAssign) -> None:
    if not isinstance(node.target, ast.Name):
        text, symbol = ctx.source.text(node.target), BINARY[type(node.op)][0]
        error = _bad_target(ctx, node.target)
        error.hint = f"write {text} = {text} {symbol} {ctx.source.text(node.value)}"
        raise error
    read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    old = ctx.value(read)
    new = apply_binary(ctx, node, type(node.op), old, ctx.value(node.value))
    if not isinstance(new, Expr | int | float):
        symbol = BINARY[type(node.op)][0]
        raise ParserTypeError(
            f"'{symbol}=' takes values of the kernel, got {describe(old)}",
            ctx.span(node),
            slug="scalar-operands",
        )
    _assign_name(ctx, node.target, new, node.value)


def _expression(ctx: Context, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return  # a docstring, or `...`
    count = len(ctx.block)
    value = ctx.value(node.value)
    if len(ctx.block) > count and not _has_effect(value):
        return  # the statements of an inline function are the effect
    if not isinstance(value, Call):
        raise ParserSyntaxError(
            "this statement has no effect",
            ctx.span(node),
            hint="assign the value to a name, or delete the line",
            slug="no-effect",
        )
    if not _has_effect(value):
        op: OpDef[..., Any] | None = op_of(value)
        assert op is not None
        raise ParserSyntaxError(
            f"the value of {called(op)} is not used, and computing it changes nothing",
            ctx.span(node),
            hint=f"write x = {ctx.source.text(node)}, or delete the line",
            slug="no-effect",
        )
    ctx.block.append(EvalStmt(value, ctx.span(node)))


def _has_effect(value: Any) -> bool:
    """True for calls that do more than give a value; of functions nobody knows."""
    op: OpDef[..., Any] | None = op_of(value)
    if op is None:
        return isinstance(value, Call)
    return bool(op.writes) or isinstance(value.type, UnknownType)


# --------------------------------------------------------------------------------------------
# Yields
# --------------------------------------------------------------------------------------------


class _Yield(NamedTuple):
    """The yield that ends a loop body or branch: names on its left, values, place."""

    names: list[ast.Name]
    annotation: ast.expr | None
    values: list[ast.expr]
    node: ast.stmt


class _Yielded(NamedTuple):
    """The same, evaluated."""

    names: list[ast.Name]
    kinds: list[Type | None]  # declared types of the names
    values: list[Any]
    nodes: list[ast.expr]
    span: Span


def _split(ctx: Context, body: Sequence[ast.stmt]) -> tuple[Sequence[ast.stmt], _Yield | None]:
    """Return a body without its last statement, and that one, if it is a yield."""
    last = body[-1]
    if not isinstance(last, ast.Assign | ast.AnnAssign | ast.Expr):
        return body, None
    call = last.value
    if isinstance(call, ast.Yield):
        inner = call.value
        values = inner.elts if isinstance(inner, ast.Tuple) else [inner] if inner else []
    elif isinstance(call, ast.Call) and ctx.peek(call.func) is control.yield_:
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
        raise _bad_target(ctx, last.target if isinstance(last, ast.AnnAssign) else targets[0])
    annotation = last.annotation if isinstance(last, ast.AnnAssign) else None
    return body[:-1], _Yield(names, annotation, values, last)


def _evaluate(ctx: Context, found: _Yield | None) -> _Yielded | None:
    if found is None:
        return None
    kinds: list[Type | None] = [ctx.declared.pop(name.id, None) for name in found.names]
    if found.annotation is not None:
        kinds = [type_of(ctx, found.annotation)]
    if found.names and len(found.names) != len(found.values):
        raise ParserSyntaxError(
            f"pl.yield_ has {counted(len(found.values), 'value')} for "
            f"{counted(len(found.names), 'name')}",
            ctx.span(found.node),
            hint=f"write {_yield_text([name.id for name in found.names])}",
            slug="yield-count",
        )
    values = [ctx.value(value) for value in found.values]
    return _Yielded(found.names, kinds, values, found.values, ctx.span(found.node))


def _yield_text(names: Sequence[str]) -> str:
    """Return a yield of as many values as there are names."""
    return f"{', '.join(names)} = pl.yield_({', '.join(names)})"


def _results(
    ctx: Context, names: Sequence[ast.Name], kinds: Sequence[Type], values: Sequence[Expr]
) -> list[Var]:
    """Define the variables that take the values of a loop or branch."""
    results: list[Var] = []
    for name, kind, value in zip(names, kinds, values, strict=True):
        span = ctx.span(name)
        ctx.check_assignable(name.id, value, span)
        try:
            var = ctx.names.define(name.id, kind, span, fresh=True)
        except ParserTypeError as error:
            raise error.at(span) from None
        ctx.follow(var, value)
        results.append(var)
    return results


# --------------------------------------------------------------------------------------------
# Branches
# --------------------------------------------------------------------------------------------


class _Block(NamedTuple):
    """A branch or loop body after parsing: statements, the names it bound, its yield."""

    stmts: list[Stmt]
    bound: dict[str, Any]
    yielded: _Yielded | None
    ends: bool  # by return, break or continue


def _block(ctx: Context, body: Sequence[ast.stmt], inside: dict[str, Var]) -> _Block:
    """Parse a nested block, in which the names of ``inside`` are known too."""
    if not body:
        return _Block([], {}, None, ends=False)
    names = ctx.names
    mark = names.open()
    outside, ctx.block = ctx.block, []
    try:
        for name, var in inside.items():
            names.bind(name, var)
        rest, found = _split(ctx, body)
        ctx.run(rest)
        yielded = _evaluate(ctx, found)
        stmts = ctx.block
    finally:
        ctx.block = outside
        bound = names.close(mark)
    return _Block(stmts, bound, yielded, ends=isinstance(body[-1], _JUMPS))


_JUMPS: Final = (ast.Return, ast.Break, ast.Continue)


def _if(ctx: Context, node: ast.If) -> None:
    condition = ctx.scalar(node.test, "the condition of an if")
    span = ctx.span(node)
    then = _block(ctx, node.body, {})
    ctx.names.candidates.append(then.bound)
    try:
        orelse = _block(ctx, node.orelse, {})
    finally:
        ctx.names.candidates.pop()
    _merge(ctx, then, orelse)
    results = _join(ctx, node, then, orelse)
    else_body = body_of(orelse.stmts, span) if node.orelse else None
    ctx.block.append(IfStmt(condition, body_of(then.stmts, span), else_body, tuple(results), span))


def _merge(ctx: Context, then: _Block, orelse: _Block) -> None:
    """Bind the names that both branches define; a branch that jumps away does not count."""
    names = ctx.names
    if then.ends or orelse.ends:
        if not (then.ends and orelse.ends):
            for name, value in (orelse if then.ends else then).bound.items():
                names.bind(name, value)
        return
    one_only: dict[str, Any] = {}
    for name, value in then.bound.items():
        other = orelse.bound.get(name, MISSING)
        if other is MISSING:
            one_only[name] = value
        else:
            _merge_name(ctx, name, value, other, orelse.stmts)
    one_only |= {name: v for name, v in orelse.bound.items() if name not in then.bound}
    names.lose(one_only, "defined only in one branch of an if")


def _merge_name(ctx: Context, name: str, value: Any, other: Any, else_stmts: list[Stmt]) -> None:
    names = ctx.names
    if value is BROKEN or other is BROKEN:
        names.bind(name, BROKEN)
    elif isinstance(value, Var) and isinstance(other, Var):
        if same_type(value.type, other.type):
            if value is not other:
                else_stmts.append(AssignStmt(value, other, other.span))
            names.bind(name, value)
        else:
            place = f"{spell(value.type)} in one branch and {spell(other.type)} in the other"
            names.lost[name] = Lost(value.span, place, _meeting_hint(ctx, name, value, other))
    elif not isinstance(value, Expr) and not isinstance(other, Expr) and value == other:
        names.bind(name, value)


def _meeting_hint(ctx: Context, name: str, value: Var, other: Var) -> str:
    """Return how the variable of two branches gets one type."""
    line = ctx.source.lines[other.span.begin_line - 1].strip()
    text = line.removeprefix(f"{name} = ")
    if isinstance(value.type, ScalarType) and isinstance(other.type, ScalarType) and text != line:
        return f"write {name} = pl.cast({text}, pl.{value.type.dtype.member})"
    return "give it one shape and element type in both branches"


def _join(ctx: Context, node: ast.If, then: _Block, orelse: _Block) -> list[Var]:
    """Append the yields of both branches; return the variables that take the values."""
    first, second = then.yielded, orelse.yielded
    if first is None and second is None:
        return []
    if first is None or second is None:
        given = first or second
        assert given is not None
        if not given.values:
            (then if first else orelse).stmts.append(YieldStmt((), given.span))
            return []
        raise ParserSyntaxError(
            "only one branch of this if yields",
            given.span,
            hint=f"end the other branch with {', '.join(n.id for n in given.names)} = "
            "pl.yield_(...)",
            slug="yield-count",
        )
    names = _same_names(ctx, first, second)
    kinds: list[Type] = []
    then_values: list[Expr] = []
    else_values: list[Expr] = []
    declared = first.kinds if any(first.kinds) else second.kinds
    for index in range(len(names)):
        kind = declared[index] if index < len(declared) else None
        a, b = _same_values(ctx, first, second, index, kind)
        then_values.append(a)
        else_values.append(b)
        kinds.append(a.type if kind is None else kind)
    then.stmts.append(YieldStmt(tuple(then_values), first.span))
    orelse.stmts.append(YieldStmt(tuple(else_values), second.span))
    named = [
        a if ctx.origin(a) is ctx.origin(b) else as_expr(0)
        for a, b in zip(then_values, else_values, strict=True)
    ]
    return _results(ctx, names, kinds, named)


def _same_names(ctx: Context, first: _Yielded, second: _Yielded) -> list[ast.Name]:
    counts = len(first.values), len(second.values)
    longer = [n.id for n in (first if counts[0] > counts[1] else second).names]
    if counts[0] != counts[1]:
        raise ParserSyntaxError(
            f"the branches of this if yield {counts[0]} and {counted(counts[1], 'value')}",
            (first if counts[0] < counts[1] else second).span,
            hint=f"write {_yield_text(longer)}" if longer else None,
            slug="yield-count",
            related=(Label((second if counts[0] < counts[1] else first).span, "the other yield"),),
        )
    names = [n.id for n in first.names], [n.id for n in second.names]
    if all(names) and names[0] != names[1]:
        raise ParserSyntaxError(
            f"the branches of this if yield to {', '.join(names[0])} and {', '.join(names[1])}",
            second.span,
            hint=f"write {', '.join(names[0])} = pl.yield_(...) in both",
            slug="yield-names",
            related=(Label(first.span, "the other yield"),),
        )
    if counts[0] and not any(names):
        raise ParserSyntaxError(
            "the values that an if yields need names",
            first.span,
            hint="write x = pl.yield_(...) in both branches",
            slug="yield-names",
        )
    return first.names or second.names


def _same_values(
    ctx: Context, first: _Yielded, second: _Yielded, index: int, kind: Type | None
) -> tuple[Expr, Expr]:
    """Return what both branches yield at a position; a bare number takes the other's type."""
    a, b = first.values[index], second.values[index]
    beside = kind or next((v.type for v in (a, b) if isinstance(v, Expr)), None)
    dtype = beside.dtype if isinstance(beside, ScalarType) else None
    a = ctx.as_expr(a, first.nodes[index], dtype)
    b = ctx.as_expr(b, second.nodes[index], dtype)
    if not same_value_type(a.type, b.type):
        raise ParserTypeError(
            f"the branches yield {spell(a.type)} and {spell(b.type)}",
            ctx.span(second.nodes[index]),
            slug="yield-type",
            related=(Label(ctx.span(first.nodes[index]), spell(a.type)),),
        )
    return a, b


# --------------------------------------------------------------------------------------------
# Loops
# --------------------------------------------------------------------------------------------


def _for(ctx: Context, node: ast.For) -> None:
    if node.orelse:
        raise _loop_else(ctx, node.orelse[0])
    helper = ctx.peek(node.iter.func) if isinstance(node.iter, ast.Call) else MISSING
    if helper is control.while_:
        _while_values(ctx, node)
    elif helper is control.range_ or helper is control.parallel:
        _counted(ctx, node, _KINDS[helper])
    else:
        raise _bad_iteration(ctx, node, helper)


def _loop_else(ctx: Context, node: ast.stmt) -> ParserError:
    return UnsupportedFeatureError(
        "kernels do not have 'else' after a loop",
        ctx.span(node),
        hint="put the statements after the loop",
    )


def _bad_iteration(ctx: Context, node: ast.For, helper: Any) -> ParserError:
    text = ctx.source.text(node.iter)
    name = _first_name(node.target)
    hint = f"write for {name} in pl.range(n):"
    if helper is range:
        hint = f"write pl.{text}"
    elif isinstance(node.iter, ast.List | ast.Tuple):
        hint = f"write for {name} in pl.range({len(node.iter.elts)}):"
    elif isinstance(node.iter, ast.Name):
        hint = f"write for {name} in pl.range({text}):"
    elif isinstance(node.iter, ast.Call) and len(node.iter.args) == 1:
        inner = node.iter.args[0]
        if isinstance(inner, ast.Call) and ctx.peek(inner.func) in tuple(_KINDS):
            hint = f"write for {name} in {ctx.source.text(inner)}:"
    return ParserSyntaxError(
        f"a for statement iterates over pl.range, pl.parallel or pl.while_, got {text}",
        ctx.span(node.iter),
        hint=hint,
        slug="for-iterable",
    )


def _counted(ctx: Context, node: ast.For, kind: ForKind) -> None:
    call = node.iter
    assert isinstance(call, ast.Call)
    start, stop, step = _bounds(ctx, call)
    inits = _init_values(ctx, call)
    target, iter_names = node.target, []
    if inits is not None:
        target, iter_names = _carrying_target(ctx, node)
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
    ctx.names.fixed.add(loop_var)
    iter_args, body = _iter_args(ctx, node, iter_names, inits or [])
    inside = {target.id: loop_var, **{arg.name: arg for arg in iter_args}}
    block, results = _loop(ctx, node, body, inside, iter_args, iter_names)
    ctx.block.append(
        ForStmt(
            loop_var,
            start,
            stop,
            step,
            iter_args,
            body_of(block.stmts, span),
            tuple(results),
            span,
            kind,
        )
    )
    _keep_names(ctx, iter_names, results)


def _refuse_shadow(ctx: Context, target: ast.Name) -> None:
    """Raise an error for a loop variable with the name of that of a loop around it."""
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


def _bounds(ctx: Context, call: ast.Call) -> tuple[Expr, Expr, Expr]:
    if not 1 <= len(call.args) <= 3:
        raise ParserSyntaxError(
            f"{ctx.source.text(call.func)} takes 1 to 3 arguments, got {len(call.args)}",
            ctx.span(call),
            hint=f"write {ctx.source.text(call.func)}("
            f"{'start, stop, step' if call.args else 'stop'})",
            slug="range-arguments",
        )
    bounds = [_bound(ctx, arg) for arg in call.args]
    if len(bounds) == 1:
        bounds.insert(0, ConstInt(0))
    step = bounds[2] if len(bounds) == 3 else ConstInt(1)
    if isinstance(step, ConstInt) and step.value == 0:
        raise ParserTypeError(
            "the step of a loop is 0: it would never end",
            ctx.span(call.args[2]),
            hint="write 1, or a negative step to count down",
            slug="range-arguments",
        )
    return bounds[0], bounds[1], step


def _bound(ctx: Context, node: ast.expr) -> Expr:
    """Return a loop bound; ``n / 2`` is none, since Python's ``range`` does not take it either."""
    bound = ctx.scalar(node, "a loop bound", integer=True)
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


def _init_values(ctx: Context, call: ast.Call) -> list[Expr] | None:
    found: list[Expr] | None = None
    for word in call.keywords:
        if word.arg != "init_values":
            raise ParserSyntaxError(
                f"{ctx.source.text(call.func)} has no argument {word.arg!r}",
                ctx.span(word),
                hint=f"write init_values={ctx.source.text(word.value)}"
                if nearest(word.arg or "", ["init_values"])
                else "its keyword is init_values",
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


def _carrying_target(ctx: Context, node: ast.For) -> tuple[ast.expr, list[ast.Name]]:
    """Return loop variable and carried names of ``for i, (a, b) in ...``."""
    target = node.target
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        names = _name_tuple(target.elts[1])
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
    """Return a target for a loop with init_values: ``i, (a, b)``, of the names at hand."""
    target = node.target
    names = [item.id for item in ast.walk(target) if isinstance(item, ast.Name)]
    carried = names[1:]
    if not carried:
        assert isinstance(node.iter, ast.Call)
        words = [word.value for word in node.iter.keywords if word.arg == "init_values"]
        values = [item for word in words for item in getattr(word, "elts", [])]
        carried = [v.id if isinstance(v, ast.Name) else f"c{i}" for i, v in enumerate(values)]
    comma = "," if len(carried) == 1 else ""
    return f"{names[0] if names else 'i'}, ({', '.join(carried)}{comma})"


def _name_tuple(node: ast.expr) -> list[ast.Name] | None:
    if not isinstance(node, ast.Tuple | ast.List):
        return None
    names = [item for item in node.elts if isinstance(item, ast.Name)]
    return names if len(names) == len(node.elts) else None


def _iter_args(
    ctx: Context, node: ast.For, names: list[ast.Name], inits: list[Expr]
) -> tuple[list[IterArg], Sequence[ast.stmt]]:
    """Return the carried values, and the body without the declarations of their types."""
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
    declared: dict[str, Type] = {}
    body = node.body
    while body and isinstance(body[0], ast.AnnAssign) and body[0].value is None:
        first = body[0]
        if not isinstance(first.target, ast.Name) or first.target.id not in wanted:
            break
        if first.target.id in declared:
            break
        declared[first.target.id] = type_of(ctx, first.annotation)
        body = body[1:]
    args: list[IterArg] = []
    for name, init in zip(names, inits, strict=True):
        arg = IterArg(name.id, declared.get(name.id, init.type), init, ctx.span(name))
        ctx.follow(arg, init)
        args.append(arg)
    return args, body


def _loop(
    ctx: Context,
    node: ast.For | ast.While,
    body: Sequence[ast.stmt],
    inside: dict[str, Var],
    iter_args: Sequence[IterArg],
    iter_names: Sequence[ast.Name],
) -> tuple[_Block, list[Var]]:
    """Parse the body of a loop; return it with the variables that take the carried values."""
    names = ctx.names
    hidden = [name for name in inside if names.values.get(name, MISSING) is not MISSING]
    outside, names.candidates = names.candidates, []
    ctx.loops.append(bool(iter_args))
    try:
        block = _block(ctx, body, inside)
    finally:
        names.candidates = outside
        ctx.loops.pop()
    names.lose(block.bound, "defined only in the loop")
    results = _carried(ctx, node, block, iter_args, iter_names)
    for name in hidden:
        if inside[name] in names.fixed:  # a loop variable is not known after its loop
            names.lose({name: inside[name]}, "defined only in the loop")
            names.bind(name, MISSING)
    return block, results


def _carried(
    ctx: Context,
    node: ast.For | ast.While,
    block: _Block,
    iter_args: Sequence[IterArg],
    iter_names: Sequence[ast.Name],
) -> list[Var]:
    yielded = block.yielded
    if yielded is None:
        if not iter_args:
            return []
        if any(error.slug == "misplaced" for error in ctx.errors.found[-1:]):
            raise Cascade  # it yields, but not at the end
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
        _yield_value(ctx, arg, value, place)
        for arg, value, place in zip(iter_args, yielded.values, yielded.nodes, strict=True)
    ]
    block.stmts.append(YieldStmt(tuple(values), yielded.span))
    if not values:
        return []
    declared = yielded.kinds or [None] * len(values)
    kinds = [v.type if k is None else k for k, v in zip(declared, values, strict=True)]
    named = yielded.names or iter_names
    return _results(ctx, named, kinds, values)


def _carry_hint(
    ctx: Context,
    node: ast.For | ast.While,
    yielded: _Yielded,
    iter_args: Sequence[IterArg],
) -> str | None:
    """Return what makes a loop and its yield agree: the header, or the yield."""
    if iter_args:
        return f"write {_yield_text([arg.name for arg in iter_args])}"
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


def _yield_value(ctx: Context, arg: IterArg, value: Any, place: ast.expr) -> Expr:
    dtype = arg.type.dtype if isinstance(arg.type, ScalarType) else None
    expr = ctx.as_expr(value, place, dtype)
    if not same_value_type(arg.type, expr.type):
        raise ParserTypeError(
            f"the loop carries {arg.name!r} as {spell(arg.type)} and yields {spell(expr.type)}",
            ctx.span(place),
            slug="yield-type",
            related=(Label(arg.span, f"{arg.name} is {spell(arg.type)}"),),
        )
    return expr


def _keep_names(ctx: Context, iter_names: Sequence[ast.Name], results: Sequence[Var]) -> None:
    """After a loop the names of its iter_args stand for the last values too."""
    names = ctx.names
    named = {result.name for result in results}
    for name, result in zip(iter_names, results, strict=True):
        if name.id in named:
            continue
        known = names.values.get(name.id, MISSING) is not MISSING
        if known and names.levels[name.id] != names.level:
            ctx.assign(name.id, result, name)  # a name from outside the block changes its value
        else:
            names.bind_alias(name.id, result)


def _while_values(ctx: Context, node: ast.For) -> None:
    call = node.iter
    assert isinstance(call, ast.Call)
    inits = _init_values(ctx, call)
    iter_names = _name_tuple(node.target)
    if call.args or inits is None or iter_names is None:
        raise ParserSyntaxError(
            "a while loop that carries values has their names and init_values",
            ctx.span(node.target if inits is not None else call),
            hint="write for (x,) in pl.while_(init_values=(x,)):",
            slug="loop-target",
        )
    iter_args, body = _iter_args(ctx, node, iter_names, inits)
    test = _condition(ctx, body)
    if test is None:
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
    rest = body[1:] or [ast.copy_location(ast.Pass(), body[0])]
    block, results = _loop(ctx, node, rest, inside, iter_args, iter_names)
    span = ctx.span(node)
    ctx.block.append(
        WhileStmt(condition, iter_args, body_of(block.stmts, span), tuple(results), span)
    )
    _keep_names(ctx, iter_names, results)


def _repeated(ctx: Context, test: ast.expr, what: str) -> Expr:
    """Return the condition of a loop, which each turn computes anew.

    Raises:
        UnsupportedFeatureError: it takes statements, which would run once, before the loop.
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


def _condition(ctx: Context, body: Sequence[ast.stmt]) -> ast.expr | None:
    """Return the argument of the ``pl.cond(...)`` that starts a body."""
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    if not isinstance(first, ast.Call) or ctx.peek(first.func) is not control.cond:
        return None
    return first.args[0] if len(first.args) == 1 and not first.keywords else None


def _while(ctx: Context, node: ast.While) -> None:
    if node.orelse:
        raise _loop_else(ctx, node.orelse[0])
    condition = _repeated(ctx, node.test, "the condition of a while")
    block, _ = _loop(ctx, node, node.body, {}, (), ())
    span = ctx.span(node)
    ctx.block.append(WhileStmt(condition, (), body_of(block.stmts, span), (), span))


def _break(ctx: Context, node: ast.Break) -> None:
    _refuse_jump(ctx, node, "break")
    ctx.block.append(BreakStmt(ctx.span(node)))


def _continue(ctx: Context, node: ast.Continue) -> None:
    _refuse_jump(ctx, node, "continue")
    ctx.block.append(ContinueStmt(ctx.span(node)))


def _refuse_jump(ctx: Context, node: ast.stmt, word: str) -> None:
    if ctx.loops and ctx.loops[-1]:
        raise UnsupportedFeatureError(
            f"a loop with init_values has no {word}: the turn would yield nothing",
            ctx.span(node),
            hint="leave init_values out and assign the variables in the loop",
            slug="jump",
        )


# --------------------------------------------------------------------------------------------
# Others
# --------------------------------------------------------------------------------------------


def _return(ctx: Context, node: ast.Return) -> None:
    span = ctx.span(node)
    if ctx.expanding:
        raise UnsupportedFeatureError(
            "an inline function returns only in its last statement",
            span,
            hint="assign the value to a name here, and return that at the end",
            slug="inline-return",
        )
    places = [] if node.value is None else [node.value]
    if isinstance(node.value, ast.Tuple):
        places = node.value.elts
    elif isinstance(node.value, ast.Constant) and node.value.value is None:
        places = []
    values = _returned(ctx, places)
    if ctx.wanted is not None:
        _check_results(ctx, node, ctx.wanted, values, places)
    ctx.returns.append((tuple(values), span))
    ctx.block.append(ReturnStmt(tuple(values), span))


def _returned(ctx: Context, places: Sequence[ast.expr]) -> list[Expr]:
    wanted = ctx.wanted or ()
    if len(places) == 1:
        value = ctx.value(places[0])
        if isinstance(value, Expr):
            _refuse_no_value(ctx, value, places[0])
            several = isinstance(value.type, TupleType) and len(wanted) != 1
            return _parts(ctx, value, places[0]) if several else [value]
        dtype = wanted[0].dtype if wanted and isinstance(wanted[0], ScalarType) else None
        return [ctx.as_expr(value, places[0], dtype)]
    values: list[Expr] = []
    for index, place in enumerate(places):
        kind = wanted[index] if index < len(wanted) else None
        values.append(ctx.expr(place, kind.dtype if isinstance(kind, ScalarType) else None))
    return values


def _check_results(
    ctx: Context,
    node: ast.Return,
    wanted: Sequence[Type],
    values: Sequence[Expr],
    places: Sequence[ast.expr],
) -> None:
    if len(values) != len(wanted):
        raise ParserTypeError(
            f"the function returns {counted(len(wanted), 'value')}, this returns {len(values)}",
            ctx.span(node),
            slug="return-type",
            related=_declared_results(ctx),
        )
    for index, (kind, value) in enumerate(zip(wanted, values, strict=True)):
        if not same_value_type(kind, value.type):
            raise ParserTypeError(
                f"the function returns {spell(kind)}, this is {spell(value.type)}",
                ctx.span(places[index] if index < len(places) else node),
                hint=_result_hint(ctx, kind, value, places[index : index + 1]),
                slug="return-type",
                related=_declared_results(ctx),
            )


def _declared_results(ctx: Context) -> tuple[Label, ...]:
    returns = ctx.node.returns
    return () if returns is None else (Label(ctx.span(returns), "declared here"),)


def _result_hint(ctx: Context, wanted: Type, value: Expr, places: Sequence[ast.expr]) -> str | None:
    """Return what turns a value into the type that the function returns."""
    text = ctx.source.text(places[0]) if places else "..."
    if isinstance(wanted, ScalarType) and isinstance(value.type, ScalarType):
        return f"write pl.cast({text}, pl.{wanted.dtype.member})"
    if isinstance(wanted, TensorType) and isinstance(value.type, TileType):
        for name, output in ctx.outputs.items():
            if same_value_type(output.type, wanted):
                return f"write {store_line(name, output, text)}, and return {name}"
        return f"store it in a parameter out: pl.Out[pl.{annotation_text(wanted)}], and return that"
    return None


def _with(ctx: Context, node: ast.With) -> None:
    item = node.items[0]
    call = item.context_expr
    scope = isinstance(call, ast.Call) and ctx.peek(call.func) is control.incore
    if not scope or len(node.items) > 1 or item.optional_vars is not None:
        raise UnsupportedFeatureError(
            f"a with statement marks a scope, got {ctx.source.text(item.context_expr)}",
            ctx.span(item.context_expr),
            hint="write with pl.incore():",
            slug="with",
        )
    stmts = ctx.body(node.body)
    span = ctx.span(node)
    ctx.block.append(ScopeStmt(ScopeKind.InCore, body_of(stmts, span), span))


def _pass(ctx: Context, node: ast.Pass) -> None:
    pass


_WAYS_OUT: Final[dict[type[ast.stmt], tuple[str, str | None]]] = {
    ast.FunctionDef: (
        "functions inside functions",
        "define it outside the kernel, with @pl.inline above",
    ),
    ast.AsyncFunctionDef: ("async functions", None),
    ast.ClassDef: ("classes inside functions", None),
    ast.Try: ("try", None),
    ast.TryStar: ("try", None),
    ast.Raise: ("raise", None),
    ast.Assert: ("assert", "check it outside the kernel"),
    ast.Import: ("import", "import it outside the kernel"),
    ast.ImportFrom: ("import", "import it outside the kernel"),
    ast.Delete: ("del", "leave it out: memory is planned by the compiler"),
    ast.Global: ("global", "pass the value as a parameter, and return it"),
    ast.Nonlocal: ("nonlocal", "pass the value as a parameter, and return it"),
    ast.Match: ("match", "write if, elif, else"),
    ast.AsyncFor: ("async for", "write for"),
    ast.AsyncWith: ("async with", None),
}


def _unsupported(ctx: Context, node: ast.stmt) -> None:
    what, hint = _WAYS_OUT.get(type(node), (type(node).__name__.lower(), None))
    raise UnsupportedFeatureError(f"kernels do not have {what}", ctx.span(node), hint=hint)


class _Forms(dict[type, Form]):
    """The handlers by syntax class; a class without one is not part of the language."""

    def __missing__(self, key: type) -> Form:
        return _unsupported


STATEMENT_FORMS: Final = _Forms(
    {
        ast.Assign: _assign,
        ast.AnnAssign: _ann_assign,
        ast.AugAssign: _aug_assign,
        ast.Expr: _expression,
        ast.If: _if,
        ast.For: _for,
        ast.While: _while,
        ast.With: _with,
        ast.Return: _return,
        ast.Break: _break,
        ast.Continue: _continue,
        ast.Pass: _pass,
    }
)
