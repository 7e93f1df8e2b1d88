"""If statements: two blocks, and what remains after both.

Owns how names and yields of the branches are merged. Does not know loops.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto._src.diagnostics import Label, counted
from pypto._src.errors import ParserSyntaxError, ParserTypeError
from pypto._src.frontend.markers import yield_
from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.known_sizes import truth_of
from pypto._src.frontend.state.messages import cast_hint, part_hint, spell_apart
from pypto._src.frontend.state.scope import BROKEN, Lost, same_joined_type, same_value_type
from pypto._src.frontend.syntax.annotations import declared_join
from pypto._src.frontend.syntax.blocks import (
    Block,
    Yielded,
    define_results,
    parse_block,
    yield_text,
)
from pypto._src.ir.array_types import TensorType, TileType, same_dims, same_valid_part
from pypto._src.ir.exprs import Call, Expr, Var, as_expr
from pypto._src.ir.stmts import AssignStmt, IfStmt, Stmt, YieldStmt, seq
from pypto._src.ir.types import ScalarType, Type, same_type
from pypto._src.ops import tensor


def if_(ctx: Context, node: ast.If) -> None:
    """Parse an if statement."""
    if ctx.home.is_specialised and not _yields(ctx, node):
        is_true = _decided(ctx, node.test)
        if is_true is not None:
            ctx.run(node.body if is_true else node.orelse)
            return
    condition = ctx.scalar(node.test, "the condition of an if")
    known = truth_of(condition, ctx.constants)
    if known is not None and ctx.launches_regions:
        # A switch: the branch not taken is dropped, whatever the types of its values would be.
        ctx.run(node.body if known else node.orelse)
        return
    if ctx.region is not None:
        ctx.region.settle(ctx, [*node.body, *node.orelse])
    span = ctx.span(node)
    then = parse_block(ctx, node.body, {})
    ctx.names.candidates.append(then.bound)
    try:
        orelse = parse_block(ctx, node.orelse, {})
    finally:
        ctx.names.candidates.pop()
    then, orelse = (
        _with_inner_yield(then, node.body, orelse.yielded),
        _with_inner_yield(orelse, node.orelse, then.yielded),
    )
    _merge(ctx, node, then, orelse)
    results = _join(ctx, node, then, orelse)
    else_body = seq(orelse.stmts, span) if node.orelse else None
    ctx.block.append(IfStmt(condition, seq(then.stmts, span), else_body, tuple(results), span))


def _yields(ctx: Context, node: ast.If) -> bool:
    """True if the first branch ends with ``pl.yield_``."""
    last = node.body[-1]
    value = last.value if isinstance(last, ast.Assign | ast.AnnAssign | ast.Expr) else None
    return isinstance(value, ast.Call) and ctx.peek(value.func) is yield_


def _decided(ctx: Context, test: ast.expr) -> bool | None:
    """Return the value of a condition of constants, None if it is known only at run time."""
    count = len(ctx.block)
    value = ctx.value(test)
    del ctx.block[count:]  # what it computes is computed again where it is needed
    return value if isinstance(value, bool) else None


def _with_inner_yield(block: Block, body: Sequence[ast.stmt], other: Yielded | None) -> Block:
    """Make a branch that ends with an if of its own, such as ``elif``, yield what that yields."""
    last = block.stmts[-1] if block.stmts else None
    if other is None or block.yielded is not None or not isinstance(last, IfStmt):
        return block
    names = [name.id for name in other.names]
    values = [block.bound.get(name) for name in names]
    if not names or not all(any(v is var for var in last.return_vars) for v in values):
        return block
    nodes = _first_yielded(body[-1]) or list[ast.expr](other.names)
    yielded = Yielded(other.names, other.kinds, values, nodes, last.span)
    bound = {name: value for name, value in block.bound.items() if name not in names}
    return block._replace(bound=bound, yielded=yielded)


def _first_yielded(node: ast.stmt) -> list[ast.expr]:
    """Return the yielded values of the first branch of an if, as in the source."""
    while isinstance(node, ast.If):
        node = node.body[-1]
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    return value.args if isinstance(value, ast.Call) else []


def _merge(ctx: Context, node: ast.If, then: Block, orelse: Block) -> None:
    """Bind the names that both branches define; a branch that ends in a jump does not count.

    A name that only one of them defines is bound if it is read later, with a warning.
    """
    names = ctx.names
    if then.ends or orelse.ends:
        if ctx.loops:
            for block in (then, orelse):
                if block.ends:
                    names.left |= block.bound
        if not (then.ends and orelse.ends):
            going_on = orelse if then.ends else then
            for name, value in going_on.bound.items():
                names.bind(name, value)
            for name, var in going_on.retyped.items():
                names.rebind(name, var)
        return
    if then.retyped or orelse.retyped:
        _merge_retyped(ctx, node, then.retyped, orelse)
    one_only: dict[str, Any] = {}
    for name, value in then.bound.items():
        other = orelse.bound.get(name, MISSING)
        if other is MISSING:
            one_only[name] = value
        else:
            value = _loaded_like(ctx, node, value, other, then.stmts)
            other = _loaded_like(ctx, node, other, value, orelse.stmts)
            _merge_name(ctx, name, value, other, orelse.stmts)
    one_only |= {name: v for name, v in orelse.bound.items() if name not in then.bound}
    if one_only and not ctx.strict_ssa:
        from pypto._src.frontend.state.live_names import live_after

        for name in sorted(live_after(ctx, node) & one_only.keys()):
            if ctx.may_be_unassigned(
                name,
                one_only[name],
                "assigned in only one branch of an if, and read after it: where the other branch "
                "is taken, it has no value",
                "the if",
            ):
                _create_before(ctx, one_only[name], then if name in then.bound else orelse)
                names.bind(name, one_only.pop(name))
    names.lose(one_only, "defined only in one branch of an if")


def _create_before(ctx: Context, var: Var, block: Block) -> None:
    """Move the creation of a tensor from one branch to before the if, if regions write it.

    A tensor that regions write has to be the same one on all paths.
    """
    if not isinstance(var.type, TensorType) or not ctx.launches_regions:
        return
    for at, stmt in enumerate(block.stmts):
        if isinstance(stmt, AssignStmt) and stmt.var is var:
            if isinstance(stmt.value, Call) and stmt.value.op is tensor.create:
                ctx.block.append(block.stmts.pop(at))
            return


def _merge_retyped(ctx: Context, node: ast.If, then: dict[str, Var], orelse: Block) -> None:
    """Keep other types of names if both branches agree, or if the names are not read later."""
    from pypto._src.frontend.state.live_names import live_after

    names = ctx.names
    for name, var in (orelse.retyped | then).items():
        other = orelse.retyped.get(name)
        if name in then and other is not None and same_type(var.type, other.type):
            orelse.stmts.append(AssignStmt(var, other, other.span))
            names.rebind(name, var)
        elif name in live_after(ctx, node):
            ctx.report(names.type_change(name, var), node)
            names.bind(name, BROKEN)


def _loaded_like(ctx: Context, node: ast.If, value: Any, other: Any, stmts: list[Stmt]) -> Any:
    """Return a value of a branch; a tensor is loaded if the other branch has a tile like it."""
    if ctx.region is None or not isinstance(value, Var) or not isinstance(other, Var):
        return value
    if not isinstance(value.type, TensorType) or not isinstance(other.type, TileType):
        return value
    is_same = same_dims(value.type.shape, other.type.shape)
    if not is_same or value.type.dtype is not other.type.dtype:
        return value
    outside, ctx.block = ctx.block, stmts
    try:
        loaded = ctx.region.operand(ctx, value, node)
    finally:
        ctx.block = outside
    var = Var(value.name, loaded.type, value.span)
    stmts.append(AssignStmt(var, loaded, value.span))
    return var


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
            one, two = spell_apart(value.type, other.type)
            where = f"{one} in one branch and {two} in the other"
            names.lost[name] = Lost(value, where, _meeting_hint(ctx, name, value, other))
    elif not isinstance(value, Expr) and not isinstance(other, Expr) and value == other:
        names.bind(name, value)


def _meeting_hint(ctx: Context, name: str, value: Var, other: Var) -> str:
    """Suggest how to give a variable the same type in both branches."""
    line = ctx.source.lines[other.span.begin_line - 1].strip()
    text = line.removeprefix(f"{name} = ")
    if isinstance(value.type, ScalarType) and isinstance(other.type, ScalarType) and text != line:
        return f"write {name} = pl.cast({text}, pl.{value.type.dtype.member})"
    if not same_valid_part(value.type, other.type):
        return "give it one valid part in both branches"
    return "give it one shape and element type in both branches"


def _join(ctx: Context, node: ast.If, then: Block, orelse: Block) -> list[Var]:
    """Append the yields of both branches; return the variables that receive the values."""
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
        kinds.append(declared_join(ctx, first.nodes[index], kind, a.type))
    then.stmts.append(YieldStmt(tuple(then_values), first.span))
    orelse.stmts.append(YieldStmt(tuple(else_values), second.span))
    named = [
        a if ctx.origin(a) is ctx.origin(b) else as_expr(0)
        for a, b in zip(then_values, else_values, strict=True)
    ]
    return define_results(ctx, names, kinds, named)


def _same_names(ctx: Context, first: Yielded, second: Yielded) -> list[ast.Name]:
    counts = len(first.values), len(second.values)
    longer = [n.id for n in (first if counts[0] > counts[1] else second).names]
    if counts[0] != counts[1]:
        raise ParserSyntaxError(
            f"the branches of this if yield {counts[0]} and {counted(counts[1], 'value')}",
            (first if counts[0] < counts[1] else second).span,
            hint=f"write {yield_text(longer, longer)}" if longer else None,
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
    ctx: Context, first: Yielded, second: Yielded, index: int, kind: Type | None
) -> tuple[Expr, Expr]:
    """Return what both branches yield at an index; a bare number gets the other's type."""
    a, b = first.values[index], second.values[index]
    beside = kind or next((v.type for v in (a, b) if isinstance(v, Expr)), None)
    dtype = beside.dtype if isinstance(beside, ScalarType) else None
    a = ctx.as_expr(a, first.nodes[index], dtype)
    b = ctx.as_expr(b, second.nodes[index], dtype)
    if not same_joined_type(a.type, b.type):
        one, two = spell_apart(a.type, b.type)
        texts = [ctx.source.text(yielded.nodes[index]) for yielded in (first, second)]
        parts = same_value_type(a.type, b.type)
        raise ParserTypeError(
            f"the branches yield {one} and {two}",
            ctx.span(second.nodes[index]),
            hint=part_hint(a.type, texts[0], b.type, texts[1])
            if parts
            else cast_hint(a.type, b.type, texts[1]),
            slug="valid-shape" if parts else "yield-type",
            related=(Label(ctx.span(first.nodes[index]), one),),
        )
    return a, b
