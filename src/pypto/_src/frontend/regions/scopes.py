"""Regions: statements that run on one core, as blocks of a launch, or in a scope of tasks.

A region computes with tiles: a slice of a tensor is a copy in on-chip memory, and an assignment to
one is a store. In the IR a region is the scope that ``with pl.incore():`` marks, with ops on tiles;
the blocks of a launch are a parallel loop around it. A value that is read after its region becomes
a tensor of its own.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Sequence
from keyword import iskeyword
from typing import Any, Final

from pypto._src.diagnostics import Label, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from pypto._src.frontend import region_markers
from pypto._src.frontend.regions import ops
from pypto._src.frontend.regions.barriers import phases
from pypto._src.frontend.regions.disjoint import check_disjoint
from pypto._src.frontend.regions.product_operands import settle, settled
from pypto._src.frontend.regions.tasks import TASK, check_deps
from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.source.source import refuse_keyword_twice
from pypto._src.frontend.source.syntax_tree import aliased_names
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.live_names import live_after
from pypto._src.frontend.state.messages import spell_dims
from pypto._src.frontend.state.region import Region
from pypto._src.frontend.syntax.annotations import plain_dims
from pypto._src.frontend.syntax.calls import op_call
from pypto._src.frontend.syntax.inline import InlineFunction
from pypto._src.ir.array_types import ShapedType, TensorType, TileType, same_dims, valid_part
from pypto._src.ir.enums import ForKind, ScopeKind
from pypto._src.ir.exprs import ConstInt, Expr, IterArg, Var
from pypto._src.ir.stmts import ForStmt, IfStmt, ScopeStmt, Stmt, seq
from pypto._src.ir.traversal.mutator import Without, as_list
from pypto._src.ir.traversal.queries import defined_by, stmts_in, uses
from pypto._src.ir.traversal.walk import children
from pypto._src.ir.types import ScalarType, Type, scalar_type
from pypto._src.ops import memory, system, tensor
from pypto._src.suggestions import nearest_keyword

_INDEX: Final = scalar_type(DataType.INDEX)
_OF_AT: Final = frozenset(
    {
        "level",
        "role",
        "optimizations",
        "deps",
        "no_dep_args",
        "dumps",
        "allow_early_resolve",
        "name_hint",
        "windowize",
    }
)
_OF_SPMD: Final = frozenset(
    {
        "core_num",
        "sync_start",
        "name_hint",
        "optimizations",
        "deps",
        "allow_early_resolve",
        "predicate",
    }
)
_OF_SCOPE: Final = frozenset({"mode"})
_LITERALS: Final = frozenset({"allow_early_resolve", "sync_start", "windowize"})


def with_(ctx: Context, node: ast.With) -> None:
    """Parse a with statement of a region or of a scope of tasks; several items nest."""
    item = node.items[0]
    if len(node.items) > 1:
        outer, inner = copy.copy(node), copy.copy(node)
        outer.items, inner.items, outer.body = node.items[:1], node.items[1:], [inner]
        node = outer
    call = item.context_expr
    marker = ctx.peek(call.func) if isinstance(call, ast.Call) else MISSING
    if marker not in _FORMS:
        raise UnsupportedFeatureError(
            f"a with statement marks a scope, got {ctx.source.text(call)}",
            ctx.span(call),
            hint="write with pl.at(level=pl.Level.CORE_GROUP):",
            slug="with",
        )
    assert isinstance(call, ast.Call)
    refuse_keyword_twice(ctx.span, call)
    _FORMS[marker](ctx, node, call, item.optional_vars)


def _scope(ctx: Context, node: ast.With, call: ast.Call, target: ast.expr | None) -> None:
    """Parse a scope of tasks, which changes no value: its statements stay where they are."""
    if target is not None:
        raise UnsupportedFeatureError(
            "a scope of tasks has no task of its own to name",
            ctx.span(target),
            hint=f"write with {ctx.source.text(call)}:",
            slug="with",
        )
    if ctx.region is not None:
        raise _nested(ctx, call)
    marker = ctx.peek(call.func)
    if marker is region_markers.cluster:
        ctx.run(node.body)
        return
    around = ctx.manual_scope
    if around is not None:
        raise ParserSyntaxError(
            f"{ctx.source.text(call)} is inside a manual scope, whose tasks wait for those in "
            "deps= only",
            ctx.span(call),
            hint="end the manual scope before, or leave this one out",
            slug="region-nested",
            related=(Label(around, "the manual scope around it"),),
        )
    ctx.manual_scope = ctx.span(call) if _is_manual(ctx, marker, call) else None
    try:
        ctx.run(node.body)
    finally:
        ctx.manual_scope = around


def _is_manual(ctx: Context, marker: Any, call: ast.Call) -> bool:
    """True for ``pl.manual_scope()`` and ``pl.scope(mode=pl.ScopeMode.MANUAL)``."""
    is_scope = marker is region_markers.scope
    words = _keywords(ctx, call, _OF_SCOPE if is_scope else frozenset(), ["mode"][:is_scope])
    if not is_scope or "mode" not in words:
        return not is_scope
    mode = ctx.value(words["mode"])
    if not isinstance(mode, region_markers.ScopeMode):
        raise ParserSyntaxError(
            f"the mode of pl.scope is a pl.ScopeMode, got {ctx.source.text(words['mode'])}",
            ctx.span(words["mode"]),
            hint="write mode=pl.ScopeMode.MANUAL",
            slug="region-option",
        )
    return mode is region_markers.ScopeMode.MANUAL


def _at(ctx: Context, node: ast.With, call: ast.Call, target: ast.expr | None) -> None:
    words = _keywords(ctx, call, _OF_AT, ["level", "role"])
    level = words.get("level")
    if level is None or ctx.value(level) is not region_markers.Level.CORE_GROUP:
        raise ParserSyntaxError(
            "a region runs at pl.Level.CORE_GROUP"
            + ("" if level is None else f", got {ctx.source.text(level)}"),
            ctx.span(call if level is None else level),
            hint="write with pl.at(level=pl.Level.CORE_GROUP):",
            slug="region-option",
        )
    role = words.get("role")
    if role is not None and not (isinstance(role, ast.Constant) and role.value is None):
        raise ParserSyntaxError(
            f"a region of cores has no role, got {ctx.source.text(role)}",
            ctx.span(role),
            hint="leave out role=",
            slug="region-option",
        )
    divided = _options(ctx, call, words)
    if ctx.region is not None and not ctx.region.may_carry:
        raise _nested(ctx, call)
    _region(ctx, node, _name(ctx, words), live_after(ctx, node), divided)
    _name_task(ctx, target)


def _spmd(ctx: Context, node: ast.With, call: ast.Call, target: ast.expr | None) -> None:
    words = _keywords(ctx, call, _OF_SPMD, ["core_num"])
    if "deps" in words and target is None:
        raise ParserSyntaxError(
            "deps= of pl.spmd needs a name for its task",
            ctx.span(words["deps"]),
            hint=f"write with {ctx.source.text(call)} as done:",
            slug="region-option",
        )
    if not _reads_block_index(ctx, node.body):
        raise ParserSyntaxError(
            "all blocks of this launch would do the same: none of them uses its block index",
            ctx.span(call),
            hint=f"write for b in {ctx.source.text(call)}:",
            slug="region-blocks",
        )
    block = Var("block_idx", _INDEX, ctx.span(call))
    _launch(ctx, node, call, words, block)
    _name_task(ctx, target)


def for_blocks(ctx: Context, node: ast.For) -> None:
    """Parse ``for b in pl.spmd(n):``, where each block runs the body."""
    call, target = node.iter, node.target
    assert isinstance(call, ast.Call)
    words = _keywords(ctx, call, _OF_SPMD, ["core_num"])
    if not isinstance(target, ast.Name):
        raise ParserSyntaxError(
            f"the variable of a loop is one name, got {ctx.source.text(target)}",
            ctx.span(target),
            hint=f"write for b in {ctx.source.text(call)}:",
            slug="loop-target",
        )
    if "deps" in words:
        raise ParserSyntaxError(
            "deps= of pl.spmd needs a name for its task",
            ctx.span(words["deps"]),
            hint=f"write with {ctx.source.text(call)} as done:",
            slug="region-option",
        )
    _launch(ctx, node, call, words, Var(target.id, _INDEX, ctx.span(target)), target.id)


def _launch(
    ctx: Context,
    node: ast.With | ast.For,
    call: ast.Call,
    words: dict[str, ast.expr],
    block: Var,
    name: str | None = None,
) -> None:
    """Append the loop over the blocks of a launch, around the region that each block runs."""
    divided = _options(ctx, call, words)
    if ctx.region is not None:
        raise _nested(ctx, call)
    count = _count(ctx, call, words)
    condition = _predicate(ctx, words)
    read_later = live_after(ctx, node)
    outside = ctx.block
    if condition is not None:
        ctx.block = []
    try:
        for phase in phases(ctx, node):
            own = Var(block.name, block.type, block.span)
            _launch_phase(ctx, phase, count, words, own, name, read_later, divided)
        launched = ctx.block
    finally:
        ctx.block = outside
    if condition is not None:
        span = ctx.span(node)
        ctx.block.append(IfStmt(condition, seq(launched, span), None, (), span))


def _predicate(ctx: Context, words: dict[str, ast.expr]) -> Expr | None:
    """Return the condition of a launch: if it is false, outputs keep their values."""
    node = words.get("predicate")
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    compared = node if isinstance(node, ast.Compare) and len(node.ops) == 1 else None
    bound = None if compared is None else ctx.value(compared.comparators[0])
    if isinstance(bound, ConstInt):
        bound = bound.value
    if not isinstance(bound, int) or isinstance(bound, bool):
        raise ParserSyntaxError(
            f"predicate compares one element with a number, got {ctx.source.text(node)}",
            ctx.span(node),
            hint="write predicate=(counts[0] > 0)"
            if compared is not None
            else f"write predicate=({ctx.source.text(node)} > 0)",
            slug="region-option",
        )
    return ctx.scalar(node, "the predicate of a launch")


def _launch_phase(
    ctx: Context,
    node: ast.With | ast.For,
    count: Expr,
    words: dict[str, ast.expr],
    block: Var,
    name: str | None,
    read_later: Collection[str],
    divided: Span | None,
) -> None:
    """Append the loop over the blocks, for their work up to the next barrier."""
    ctx.names.fixed[block] = 1
    names = ctx.names
    mark = names.open()
    outside, ctx.block = ctx.block, []
    try:
        if name is not None:
            names.bind(name, block)
        _region(ctx, node, _name(ctx, words), read_later, divided, (block, count))
        stmts = ctx.block
        if ctx.known_number(count) != 1 and not ctx.broken:
            check_disjoint(ctx, stmts, block)
        retyped = names.retyped_since(mark)
    finally:
        ctx.block = outside
        bound = names.close(mark)
    bound |= retyped
    _keep(ctx, {key: bound[key] for key in bound if bound[key] is not block}, read_later)
    span = ctx.span(node)
    body = seq(stmts, span)
    ctx.block.append(
        ForStmt(block, ConstInt(0), count, ConstInt(1), (), body, (), span, ForKind.Parallel)
    )


def _count(ctx: Context, call: ast.Call, words: dict[str, ast.expr]) -> Expr:
    location = words.get("core_num")
    if location is None:
        raise ParserSyntaxError(
            "pl.spmd needs the number of blocks",
            ctx.span(call),
            hint="write pl.spmd(8)",
            slug="region-blocks",
        )
    count = ctx.scalar(location, "the number of blocks", integer=True)
    if isinstance(count, ConstInt) and count.value <= 0:
        raise ParserSyntaxError(
            f"pl.spmd launches at least one block, got {count.value}",
            ctx.span(location),
            hint="write pl.spmd(1)",
            slug="region-blocks",
        )
    return count


def _reads_block_index(ctx: Context, body: Sequence[ast.stmt]) -> bool:
    """True if a launch reads its block index, or is one statement that may: a call, a region."""
    plain = [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    if len(plain) == 1 and isinstance(plain[0], ast.With | ast.Expr | ast.Assign):
        return True
    for stmt in body:
        for item in ast.walk(stmt):
            if isinstance(item, ast.Call):
                callee = ctx.peek(item.func)
                if callee is system.get_block_idx or isinstance(callee, InlineFunction):
                    return True
    return False


# --------------------------------------------------------------------------------------------
# Bodies
# --------------------------------------------------------------------------------------------


def _region(
    ctx: Context,
    node: ast.With | ast.For,
    name: str,
    read_later: Collection[str],
    divided: Span | None,
    block: tuple[Var, Expr] | None = None,
) -> None:
    """Append the scope of a region; for a launch, ``block`` is its block index and block count."""
    around = ctx.region
    if around is not None:  # the single statement of a launch: the body of its blocks
        around.name = around.name or name
        around.divided = around.divided or divided
        ctx.run(node.body)
        return
    names = ctx.names
    is_carrier = block is not None and len(node.body) == 1
    region = Region(
        ops.call,
        (ops.as_operand, ops.part, ops.with_part, ops.begin, ops.stored, settled, settle),
        names,
        name,
        None if block is None else block[0],
        ctx.span(node),
        may_carry=is_carrier,
    )
    region.divided = divided
    region.block_count = None if block is None else block[1]
    names.shadow = region.shadow
    mark = names.open()
    outside, ctx.block = ctx.block, []
    loops, ctx.loops = ctx.loops, []  # tiles are not carried by the loops around a region
    ctx.region = region
    made: list[Stmt] = []
    try:
        ctx.run(node.body)
        made = _store_results(ctx, node, region, read_later)
        stmts = without_unused_loads(ctx.block, region)
        if region.writes_elements and not ctx.broken:
            from pypto._src.frontend.regions.store_paths import check_store_paths

            check_store_paths(stmts)
        retyped = names.retyped_since(mark)
    finally:
        ctx.region = names.shadow = None
        ctx.block, ctx.loops = outside, loops
        bound = names.close(mark)
    bound |= retyped
    span, shadowed = ctx.span(node), region.shadowed
    if region.was_parsed_twice:
        used = set(uses([child for top in (*region.before, *stmts) for child in _operands(top)]))
        region.before = [s for s in region.before if not used.isdisjoint(defined_by(s))]
    ctx.block += [*region.before, *made]
    ctx.block.append(ScopeStmt(ScopeKind.InCore, seq(stmts, span), span, region.name))
    for key, var in region.results.items():
        if key in shadowed and shadowed[key] is not var:
            ctx.assign(key, var, node)
        bound[key] = var
    _keep(ctx, {key: bound[key] for key in bound if key not in shadowed}, read_later)


def without_unused_loads(stmts: list[Stmt], region: Region) -> list[Stmt]:
    """Return statements without loads that only products use: they load the operands elsewhere."""
    if not region.loads:
        return stmts
    used = set(uses([child for top in stmts for child in _operands(top)]))
    dead = {loaded.stmt for var, loaded in region.loads.items() if var not in used}
    if not dead:
        return stmts
    return [new for stmt in stmts for new in as_list(Without(dead).visit(stmt))]


def _operands(top: Stmt) -> list[Any]:
    """Return what a statement evaluates, including nested statements."""
    found: list[Any] = []
    for stmt in stmts_in(top):
        own = list(defined_by(stmt))
        for child in children(stmt):
            if isinstance(child, IterArg):
                found.append(child.initValue)
            elif not isinstance(child, Stmt) and not any(child is var for var in own):
                found.append(child)
    return found


def _keep(ctx: Context, bound: dict[str, Any], read_later: Collection[str]) -> None:
    """Keep the names of a region that are not tiles bound to their values.

    A scalar that is not read later ends here: the next region may have another of that name.
    """
    for name, value in bound.items():
        kind = value.type if isinstance(value, Expr) else None
        is_over = isinstance(kind, ScalarType) and name not in read_later
        if isinstance(kind, TileType) or is_over:
            ctx.names.lose({name: value}, "a value of a region")
        elif isinstance(value, Var):
            ctx.names.rebind(name, value)
        else:
            ctx.names.bind(name, value)


def _store_results(
    ctx: Context, node: ast.With | ast.For, region: Region, found: Collection[str]
) -> list[Stmt]:
    """Store tiles that are read after a region in tensors of their own; return what makes these."""
    if not found:
        return []
    made: list[Stmt] = []
    names = ctx.names
    for name in sorted(found):
        value = names.values.get(name)
        is_here = names.levels.get(name, 0) > region.level
        if not is_here or not isinstance(value, Var) or not isinstance(value.type, TileType):
            continue
        if region.block_index is not None:
            raise ParserTypeError(
                f"every block of the launch makes {name!r}, and it is read after them",
                value.span,
                hint=f"let each block write a part of a tensor that is created before: {name}_all",
                slug="region-result",
            )
        shape = plain_dims(value.type.shape)
        valid = valid_part(value.type)
        if valid is not None and _is_read_elsewhere(ctx, node, name):
            raise ParserTypeError(
                f"{name!r} is valid in {spell_dims(valid)} of {spell_dims(shape)}, and it is read "
                "after the region, where all of it would be taken",
                value.span,
                hint=f"fill the rest in the region: {name} = pl.fillpad({name})",
                slug="valid-shape",
            )
        var = _own_tensor(ctx, region, name, value)
        if var is None:
            inside, ctx.block = ctx.block, []
            call = op_call(ctx, tensor.create, (shape, value.type.dtype), {}, node)
            var = Var(name, call.type, value.span)
            ctx.append(var, call, value.span)
            ctx.made_here.add(var)
            made += ctx.block
            ctx.block = inside
        zeros = [0 for _ in shape]
        stored = op_call(ctx, memory.store, (value, zeros, shape, var), {}, node)
        ctx.append(var, stored, value.span)
        region.results[name] = var
    return made


def _is_read_elsewhere(ctx: Context, region: ast.AST, name: str) -> bool:
    """True if a name is read outside a region, not only in the region's next run."""
    pending: list[ast.AST] = [ctx.node]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            return True
        pending += [child for child in ast.iter_child_nodes(node) if child is not region]
    return False


def _own_tensor(ctx: Context, region: Region, name: str, value: Var) -> Var | None:
    """Return the outside tensor that a value replaces, if nothing else can see that tensor."""
    outside = region.shadowed.get(name)
    if outside is None or outside not in ctx.made_here:
        return None
    if name in aliased_names(ctx.node, ("at", "spmd")):
        return None
    return outside if same_shape(outside.type, value.type) else None


def same_shape(a: Type, b: Type) -> bool:
    """True for a tensor and a tile of the same element type and size."""
    assert isinstance(a, ShapedType)
    assert isinstance(b, ShapedType)
    return a.dtype is b.dtype and same_dims(a.shape, b.shape)


def _name_task(ctx: Context, target: ast.expr | None) -> None:
    if target is None:
        return
    if not isinstance(target, ast.Name):
        raise ParserSyntaxError(
            f"a task has one name, got {ctx.source.text(target)}",
            ctx.span(target),
            hint="write as done:",
            slug="region-option",
        )
    ctx.names.bind(target.id, TASK)


# --------------------------------------------------------------------------------------------
# Options
# --------------------------------------------------------------------------------------------


def _keywords(
    ctx: Context, call: ast.Call, known: frozenset[str], positional: Sequence[str]
) -> dict[str, ast.expr]:
    """Return the arguments of a region by name."""
    text = ctx.source.text(call.func)
    if len(call.args) > len(positional):
        raise ParserSyntaxError(
            f"{text} takes {len(positional)} arguments by position, got {len(call.args)}",
            ctx.span(call),
            hint="write the others with their names, as in name_hint=...",
            slug="region-option",
        )
    words = dict(zip(positional, call.args, strict=False))
    for word in call.keywords:
        if word.arg not in known:
            meant = nearest_keyword(word.arg or "", known)
            raise ParserSyntaxError(
                f"{text} has no argument {word.arg!r}",
                ctx.span(word),
                hint=f"write {meant}={ctx.source.text(word.value)}"
                if meant
                else f"its arguments are {', '.join(sorted(known))}",
                slug="region-option",
            )
        words[word.arg] = word.value
    return words


def _options(ctx: Context, call: ast.Call, words: dict[str, ast.expr]) -> Span | None:
    """Check the options that change no value; return the span of ``pl.split``, if any."""
    for key in _LITERALS & words.keys():
        location = words[key]
        if not isinstance(location, ast.Constant) or not isinstance(location.value, bool):
            raise ParserSyntaxError(
                f"{key} is True or False, written out, got {ctx.source.text(location)}",
                ctx.span(location),
                hint=f"write {key}=True",
                slug="region-option",
            )
    if "deps" in words:
        check_deps(ctx, words["deps"])
    found = words.get("optimizations")
    if found is not None and not isinstance(found, ast.List | ast.Tuple):
        raise ParserSyntaxError(
            f"optimizations is a list written at the call, got {ctx.source.text(found)}",
            ctx.span(found),
            hint="write optimizations=[pl.split(pl.SplitMode.UP_DOWN)]",
            slug="region-option",
        )
    if "no_dep_args" in words:
        _check_no_dep(ctx, words["no_dep_args"])
    if found is None:
        return None
    from pypto._src.frontend.regions.optimizations import check_optimizations

    return check_optimizations(ctx, found.elts)


def _check_no_dep(ctx: Context, node: ast.expr) -> None:
    """Check that ``no_dep_args=`` names tensors, each once."""
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    seen: list[str] = []
    for item in items:
        value = ctx.value(item) if isinstance(item, ast.Name) else None
        is_tensor = isinstance(value, Expr) and isinstance(value.type, TensorType)
        meant = item.value if isinstance(item, ast.Constant) else ctx.source.text(item)
        if meant not in seen:
            seen.append(str(meant))
            if is_tensor and item is not node:
                continue
        raise ParserSyntaxError(
            f"no_dep_args is a list of names of tensors, each once, got {ctx.source.text(node)}",
            ctx.span(item),
            hint=f"write no_dep_args=[{', '.join(seen)}]",
            slug="region-option",
        )


def _name(ctx: Context, words: dict[str, ast.expr]) -> str:
    node = words.get("name_hint")
    return "" if node is None else name_hint(ctx, node)


def name_hint(ctx: Context, node: ast.expr) -> str:
    """Return the name that a region gives to its kernel."""
    name = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(name, str) or (name and (not name.isidentifier() or iskeyword(name))):
        raise ParserSyntaxError(
            f"name_hint is an identifier in quotes, got {ctx.source.text(node)}",
            ctx.span(node),
            hint='write name_hint="rows"',
            slug="region-option",
        )
    return name


def _nested(ctx: Context, call: ast.Call) -> ParserSyntaxError:
    assert ctx.region is not None
    location: Span = ctx.region.span
    return ParserSyntaxError(
        f"{ctx.source.text(call.func)} is inside a region: regions do not nest",
        ctx.span(call),
        hint="end the region before, or leave this one out",
        slug="region-nested",
        related=(Label(location, "the region around it"),),
    )


_FORMS: Final = {
    region_markers.at: _at,
    region_markers.spmd: _spmd,
    region_markers.scope: _scope,
    region_markers.manual_scope: _scope,
    region_markers.cluster: _scope,
}
