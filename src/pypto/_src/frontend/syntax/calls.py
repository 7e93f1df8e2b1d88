"""Calls: of ops in all spellings, of other functions, of inline functions, of Python's functions.

What a call is depends on the object that the callee's name stands for, never on its text.
"""

from __future__ import annotations

import ast
import builtins
from ast import Name
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, Final, cast

from pypto._src.diagnostics import Span
from pypto._src.errors import (
    ParserError,
    ParserOpError,
    ParserOpTypeError,
    ParserSyntaxError,
    ParserTypeError,
    PyptoError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto._src.frontend import markers
from pypto._src.frontend.source.python_names import items_of
from pypto._src.frontend.source.source import refuse_keyword_twice
from pypto._src.frontend.state.call_plan import CallPlan
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.effects import held, held_before
from pypto._src.frontend.state.errors import as_parser_error
from pypto._src.frontend.state.messages import (
    describe,
    spell,
)
from pypto._src.frontend.state.scope import same_value_type
from pypto._src.frontend.state.signatures import Callee, Signature
from pypto._src.frontend.syntax.annotations import type_of
from pypto._src.frontend.syntax.scalar_calls import const, scalar_form
from pypto._src.ir.array_types import (
    MemRef,
    ShapedType,
    TensorType,
    TensorView,
    TileType,
    TileView,
)
from pypto._src.ir.call_forms import FORMS, PLAIN_KEYWORDS, Key, keep, key_of
from pypto._src.ir.enums import ScopeKind
from pypto._src.ir.exprs import (
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    TupleGetItemExpr,
    Var,
    const_value,
)
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import AssignStmt, Function, ScopeStmt
from pypto._src.ir.traversal.queries import is_arithmetic
from pypto._src.ir.types import ScalarType, TupleType, Type, same_type
from pypto._src.ops.rules.valid_parts import COMPUTED_SIZE
from pypto._src.ops.unified import Unified, unified

_PURE_NAMES: Final = (
    "abs bool divmod enumerate float getattr hasattr int isinstance len list max min pow "
    "range reversed round sorted str sum tuple type zip"
)
_PURE: Final = frozenset(getattr(builtins, name) for name in _PURE_NAMES.split(" "))
_ON_KERNEL_VALUES: Final[dict[Any, tuple[str, str]]] = {
    min: ("min", "minimum"),
    max: ("max", "maximum"),
    abs: ("abs", "abs"),
}
"""Python functions that accept kernel values: their unified names on scalars and on tiles."""

_ON_HOST: Final = frozenset({"reshape", "create_tensor", "create", "slice", "full", "arange"})
"""Ops on tensors that have another meaning in functions with regions."""

_FILLED: Final = frozenset({"create_tensor", "create"})

_OF_PARTS: Final = frozenset({"slice", "assemble", "store"})
"""Ops that have another meaning where tiles are taken apart or put together."""

_REGION_MARKERS: Final = "pypto._src.frontend.region_markers"
_DISTRIBUTED: Final = "pypto._src.frontend.distributed_markers"
_NODES: Final = (TileView, TensorView, ConstInt, ConstFloat, ConstBool)
_STATEMENTS: Final[dict[Any, str]] = {
    markers.range_: "pl.range belongs in a for statement: for i in pl.range(n):",
    markers.parallel: "pl.parallel belongs in a for statement: for i in pl.parallel(n):",
    markers.while_: "pl.while_ belongs in a for statement: "
    "for (x,) in pl.while_(init_values=(a,)):",
    markers.yield_: "pl.yield_ is the last statement of a loop body or branch",
    markers.cond: "pl.cond is the first statement in the body of a pl.while_ loop",
    markers.incore: "pl.incore belongs in a with statement: with pl.incore():",
}


def call(ctx: Context, node: ast.Call) -> Any:
    """Return what a call means."""
    forms, local = ctx.forms, ctx.names.values
    try:
        callee = forms[node.func.__class__](ctx, node.func)
    except ParserError as error:
        from pypto._src.frontend.syntax.inline import InlineFunction, called_by_self

        named = called_by_self(ctx, node.func)
        if named is not node.func and isinstance(ctx.peek(named), InlineFunction):
            return call(ctx, ast.copy_location(ast.Call(named, node.args, node.keywords), node))
        if isinstance(node.func, ast.Attribute):
            from pypto._src.frontend.diagnose.call_hints import meant_call

            error.hint = meant_call(ctx, error, node, node.func)
        elif isinstance(error, UndefinedVariableError) and _is_method(ctx, node.func):
            from pypto._src.frontend.diagnose.call_hints import through_self

            raise through_self(ctx, node) from None
        raise
    if callee is markers.typed:
        return _typed(ctx, node)
    is_op = getattr(callee, "is_op", False) is True
    module = getattr(callee, "__module__", None)
    if module == _REGION_MARKERS and not is_op:
        if callee.__name__ == "spmd_submit":
            from pypto._src.frontend.regions.submitted import spmd_submit

            return spmd_submit(ctx, node)
        from pypto._src.frontend.regions import tasks

        return tasks.call(ctx, callee, node)
    args: list[Any] = []
    for arg in node.args:
        value = local.get(arg.id) if isinstance(arg, Name) else None
        if value.__class__ is not Var:
            count = len(ctx.block)
            value = forms[arg.__class__](ctx, arg)
            if len(ctx.block) > count:
                args = held_before(ctx, count, args, node)
        args.append(value)
    kwargs: dict[str, Any] = {}
    for word in node.keywords:
        if word.arg is None:
            raise UnsupportedFeatureError(
                "kernels do not have '**' before an argument",
                ctx.span(word.value),
                hint="write the arguments out",
            )
        kwargs[word.arg] = forms[word.value.__class__](ctx, word.value)
    if len(kwargs) != len(node.keywords):
        refuse_keyword_twice(ctx.span, node)
    if module == _DISTRIBUTED and callable(callee):
        from pypto._src.frontend.regions import distributed

        return distributed.call(ctx, op_call, callee, args, kwargs, node)
    if callee.__class__ is Unified or isinstance(callee, OpDef) or is_op:
        if ctx.region is not None:
            return ctx.region.call(ctx, callee, args, kwargs, node)
        name: str = getattr(cast("Any", callee), "__name__", "")
        if is_op and name not in _ON_HOST:
            from pypto._src.frontend.diagnose.call_hints import in_regions_only

            raise in_regions_only(ctx, node)
        if name in _OF_PARTS:
            made = _of_parts(ctx, name, args, kwargs, node)
            if made is not None:
                return made
        if name == "transpose" and ctx.launches_regions and _is_tensor(args):
            return _transposed(ctx, callee, args, kwargs, node)
        if name in _ON_HOST and (ctx.launches_regions or is_op):
            from pypto._src.frontend.syntax.host_ops import meant

            callee, args, kwargs = meant(ctx, callee, args, kwargs, node)
            if "init_value" in kwargs:
                from pypto._src.frontend.regions.filled_tensors import filled

                shape, dtype = args
                return filled(ctx, shape, dtype, kwargs["init_value"], ctx.span(node))
            if not (callee.__class__ is Unified or isinstance(callee, OpDef)):
                from pypto._src.frontend.diagnose.call_hints import no_slice

                raise no_slice(ctx, node, kwargs)
        elif name in _FILLED and "init_value" in kwargs:
            from pypto._src.frontend.diagnose.call_hints import no_regions

            raise no_regions(ctx, node)
        return op_call(ctx, callee, args, kwargs, node)
    return _other_call(ctx, callee, args, kwargs, node)


def _is_tensor(args: Sequence[Any]) -> bool:
    return bool(args) and isinstance(args[0], Expr) and isinstance(args[0].type, TensorType)


def _transposed(
    ctx: Context, callee: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Expr:
    """Return a tensor with two dimensions swapped: a copy, made by a region of its own."""
    made = op_call(ctx, callee, args, kwargs, node)
    var, span = Var("transposed", made.type, made.span), ctx.span(node)
    ctx.block.append(ScopeStmt(ScopeKind.InCore, AssignStmt(var, made, span), span, "transpose"))
    ctx.home.transposed.add(var)
    return var


def _of_parts(
    ctx: Context, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Expr | None:
    """Return the call of an op on parts of tiles, None if it is a call of another kind."""
    first = args[0] if args else None
    on_tile = isinstance(first, Expr) and isinstance(first.type, TileType)
    if name == "slice":
        from pypto._src.frontend.state.roles import computes_with_tiles
        from pypto._src.frontend.syntax.tile_parts import TileParts

        is_kernel = on_tile or computes_with_tiles(ctx.home)
        return TileParts(ctx, op_call, node).sliced(args, kwargs) if is_kernel else None
    if not on_tile:
        return None
    if name == "store":
        if "atomic" not in kwargs:
            return None
        from pypto._src.frontend.syntax.tile_parts import store_op

        op = store_op(ctx, kwargs.pop("atomic"), node)
        return op_call(ctx, op, args, kwargs, node)
    given = {**dict(zip(("target", "source", "offset"), args, strict=False)), **kwargs}
    source, offset = given.get("source"), given.get("offset")
    is_tile = isinstance(source, Expr) and isinstance(source.type, TileType)
    if len(given) != 3 or not is_tile or offset is None:
        return None
    from pypto._src.frontend.syntax.tile_parts import TileParts

    parts = TileParts(ctx, op_call, node)
    return parts.assembled(cast("Expr", first), cast("Expr", source), offset)


def _is_method(ctx: Context, func: ast.expr) -> bool:
    """True for a bare name that is one of the program's functions."""
    return (
        isinstance(func, Name)
        and func.id not in ctx.assigned
        and ctx.functions.method(func.id) is not None
    )


def _typed(ctx: Context, node: ast.Call) -> Expr:
    """Return the value of ``pl.typed(value, type)``; the type is more specific than the value's."""
    if len(node.args) != 2 or node.keywords:
        raise ParserSyntaxError(
            "pl.typed takes a value and a type",
            ctx.span(node),
            hint="write pl.typed(x, pl.Tile[[64, 64], pl.FP32])",
            slug="argument-count",
        )
    value, kind = ctx.expr(node.args[0]), type_of(ctx, node.args[1])
    if isinstance(value, Call) and same_value_type(value.type, kind):
        made = Call(value.op, value.args, value.kwargs, kind, value.span)
        ctx.follow_call(made, value)
        return made
    if same_type(value.type, kind):
        return value
    raise ParserTypeError(
        f"pl.typed says {spell(kind)}, the value is {spell(value.type)}",
        ctx.span(node),
        hint="leave pl.typed out, or correct its type",
        slug="annotation-mismatch",
    )


def op_call(
    ctx: Context, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.AST
) -> Expr:
    """Return the call of an op or unified name; a refusal is an error at ``node``."""
    span = ctx.span(node)
    key = key_of(op, args, kwargs)
    form = None if key is None else FORMS.get(key)
    plan: CallPlan | None = None if form is None else form.plan
    made = None if plan is None else plan.call(args, kwargs, span)
    if plan is None or made is None:
        if op.__class__ is Unified and isinstance(node, ast.Call):
            scalar = scalar_form(ctx, op.name, args, kwargs, node)
            if scalar is not None:
                return scalar
        plan, made = _first_of_form(ctx, key, op, args, kwargs, node, span)
    return _noted(ctx, plan, made, op, args, kwargs)


def _noted(
    ctx: Context,
    plan: CallPlan,
    made: Call,
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Call:
    """Note what a call does; return it, with numbers for known sizes."""
    if _has_variable_size(made.type):
        if ctx.constants:
            made = _of_known_sizes(ctx, op, args, kwargs, made.span) or made
        if isinstance(made.type, TensorType) and not all(map(_is_plain, made.type.shape)):
            from pypto._src.frontend.state.valid_sizes import with_called_sizes

            made = with_called_sizes(ctx, op, args, kwargs, made.span) or made
    if plan.has_effect and ctx.origins:
        ctx.note_effects(made)
    if plan.unplaced:
        ctx.unplaced.append(made)
    if plan.on_tiles:
        ctx.has_tile_ops = True
    return made


def _first_of_form(
    ctx: Context,
    key: Key | None,
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.AST,
    span: Span,
) -> tuple[CallPlan, Call]:
    """Return the call made by the op itself, and its plan, which is cached if there is a key."""
    made: Call | None
    try:
        made = op.build(args, kwargs, span)
    except (PyptoError, TypeError, ValueError) as error:
        if any(map(_is_named_list, (*args, *kwargs.values()))):
            args = [_items_of_named(arg, span) for arg in args]
            kwargs = {name: _items_of_named(value, span) for name, value in kwargs.items()}
            return _first_of_form(ctx, None, op, args, kwargs, node, span)
        slug = getattr(error, "slug", None)
        is_plain = op.__class__ is not Unified and op.python_name == op.overload
        if slug == "argument-kind" and is_plain:
            # ``pl.tile.add(tile, 2.0)`` is pl.tile.adds, as pl.add is both
            other = Unified(op.overload, op.level).taking(args, kwargs)
            if other is not None and other is not op:
                return _first_of_form(ctx, None, other, args, kwargs, node, span)
        made = _of_known_sizes(ctx, op, args, kwargs, span)
        from pypto._src.frontend.state.valid_sizes import with_known_names

        if made is None and slug == COMPUTED_SIZE:
            from pypto._src.frontend.state.valid_sizes import with_new_names

            made = with_new_names(ctx, op, args, kwargs, span)
        elif made is None and slug == "shape-mismatch":
            made = with_known_names(ctx, op, args, kwargs, span)
        elif made is None and slug == "memory-space":
            from pypto._src.frontend.state.matrix_operands import with_moves

            made = with_moves(op, args, kwargs, span)
        if made is None:
            raise _refusal(ctx, error, op, args, kwargs, node).at(span) from None
        key = None  # the arguments are not those of the key
    assert made is not None
    return _kept_plan(key, made, op, args, kwargs), made


def _is_named_list(value: Any) -> bool:
    """True for a variable that holds several scalars, as ``at`` does after ``at = [row, 0]``."""
    if not isinstance(value, Var) or not isinstance(value.type, TupleType):
        return False
    return all(isinstance(kind, ScalarType) for kind in value.type.types)


def _items_of_named(value: Any, span: Span) -> Any:
    """Return the items of such a variable; other values as they are."""
    if not _is_named_list(value):
        return value
    return [TupleGetItemExpr(value, at, span) for at in range(len(value.type.types))]


def _kept_plan(
    key: Key | None, made: Call, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> CallPlan:
    """Return the plan of a call, cached in its form if there is a key."""
    plan = CallPlan(made, args, kwargs)
    if key is not None and PLAIN_KEYWORDS.issuperset(map(type, made.kwargs.values())):
        form = FORMS.get(key) or keep(key, made.type, op, args, kwargs)
        form.plan = plan
    return plan


def _refusal(
    ctx: Context,
    error: Exception,
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.AST,
) -> ParserError:
    """Return the error for a call that an op refuses, as one of the front end."""
    from pypto._src.frontend.diagnose.explain import explained

    if isinstance(error, PyptoError):
        return explained(ctx, as_parser_error(error), op, args, kwargs, node)
    cls = ParserOpTypeError if isinstance(error, TypeError) else ParserOpError
    return explained(ctx, cls(str(error), slug="op-operands"), op, args, kwargs, node)


def _has_variable_size(kind: Type) -> bool:
    if isinstance(kind, ShapedType):
        for dim in kind.shape:
            if dim.__class__ is not ConstInt:
                return True
    return False


def _is_plain(dim: Expr) -> bool:
    """True for a size that is a number, a variable or a few operators on these."""
    return dim.__class__ is ConstInt or dim.__class__ is Var or is_arithmetic(dim)


def _of_known_sizes(
    ctx: Context, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> Call | None:
    """Return the call with the known values of variables in its lists.

    ``rows, cols = x.shape`` makes variables; a tile [rows, cols] needs the numbers. None if there
    are no such variables, or the op still refuses.
    """
    if not ctx.constants:
        return None

    def numbers(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        found = [(ctx.known_number(item), item) for item in cast("Sequence[Any]", value)]
        return [item if number is None else number for number, item in found]

    try:
        return op.build(
            [numbers(arg) for arg in args],
            {key: numbers(value) for key, value in kwargs.items()},
            span,
        )
    except (PyptoError, TypeError, ValueError):
        return None


# ------------------------------------------------------------------------- other callees


def _other_call(
    ctx: Context, callee: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Any:
    from pypto._src.frontend.syntax.function_calls import function_call
    from pypto._src.frontend.syntax.inline import Entry, InlineFunction, expand, in_order

    if isinstance(callee, Function):
        ctx.functions.use(callee, ctx.span(node))
        return function_call(ctx, Signature.of(callee), args, kwargs, node)
    if isinstance(callee, Entry):
        callee, kwargs = callee.called(ctx, node, kwargs)
    if isinstance(callee, InlineFunction):
        if callee.is_spliced:
            callee = callee.placed(in_region=ctx.region is not None)
            values, arg_nodes = in_order(ctx, callee, args, kwargs, node)
            return expand(ctx, callee, values, node, arg_nodes)
        if kwargs:
            from pypto._src.frontend.diagnose.call_hints import by_position

            raise ParserTypeError(
                f"inline function {callee.name!r} takes its arguments by position",
                ctx.span(node),
                hint=by_position(ctx, callee, node),
                slug="argument-count",
            )
        return expand(ctx, callee, args, node)
    if callee is markers.const:
        return const(ctx, args, kwargs, node)
    if _is_statement(callee):
        message, _, hint = _STATEMENTS[callee].partition(": ")
        if callee is markers.yield_:
            hint = ", ".join(ctx.source.text(arg) for arg in node.args)
        raise ParserSyntaxError(
            message, ctx.span(node), hint=f"write {hint}" if hint else None, slug="misplaced"
        )
    if isinstance(callee, type) and issubclass(callee, MemRef):
        return _memref(ctx, args, kwargs, node)
    if isinstance(callee, type) and issubclass(callee, _NODES):
        return _compute(ctx, callee, args, kwargs, node)
    if isinstance(callee, Callee):
        in_launch = ctx.region is not None and ctx.region.block_index is not None
        spliced = callee.of_blocks() if in_launch and not kwargs else None
        if spliced is not None:
            return expand(ctx, spliced, args, node)
        return function_call(ctx, callee.signature(ctx.span(node)), args, kwargs, node)
    return _python_call(ctx, callee, args, kwargs, node)


def _is_statement(callee: Any) -> bool:
    return callable(callee) and callee.__hash__ is not None and callee in _STATEMENTS


def _memref(ctx: Context, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> MemRef:
    """Return a memory reference; within one function, space and id identify one object."""
    made: MemRef = _compute(ctx, MemRef, args, kwargs, node)
    if len(args) + len(kwargs) < 4:  # the form in older texts, without id
        return made
    known = ctx.memrefs.setdefault((made.memory_space_, made.id_), made)
    same = known.size_ == made.size_ and const_value(known.addr_) == const_value(made.addr_)
    if not same:
        spelled = f"pl.MemorySpace.{known.memory_space_.name}"
        raise ParserTypeError(
            f"memory {made.id_} has {known.size_} bytes at {known.addr_} elsewhere, "
            f"here {made.size_} at {made.addr_}",
            ctx.span(node),
            hint=f"write pl.MemRef({spelled}, {known.addr_}, {known.size_}, {known.id_})",
            slug="memref",
        )
    return known


def _compute(
    ctx: Context,
    function: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
    node: ast.Call,
) -> Any:
    """Call a Python function; an exception that it raises is an error of the kernel."""
    try:
        return function(*args, **kwargs)
    except PyptoError:
        raise
    except Exception as error:
        raise ParserTypeError(
            f"{ctx.source.text(node.func)} raises {type(error).__name__}: {error}",
            ctx.span(node),
            slug="constant-expression",
        ) from None
    finally:
        ctx.home.environment.known.clear()  # it may have rebound outside names


def _python_call(
    ctx: Context, callee: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Any:
    text = ctx.source.text(node.func)
    if not callable(callee):
        from pypto._src.frontend.diagnose.call_hints import product_hint

        raise ParserTypeError(
            f"{text} is {describe(callee)}, which cannot be called",
            ctx.span(node),
            hint=product_hint(ctx, callee, text, node),
            slug="not-callable",
        )
    if not any(_holds_values(value) for value in (*args, *kwargs.values())):
        return _pure_call(ctx, callee, args, kwargs, node)
    if isinstance(callee, type | BuiltinFunctionType) and not kwargs:
        found = _on_kernel_values(ctx, callee, args, node)
        if found is not None:
            return found
    from pypto._src.frontend.diagnose.call_hints import call_hint, through_self

    if _is_method(ctx, node.func):
        raise through_self(ctx, node)
    raise UnsupportedFeatureError(
        f"{text} is Python's; it cannot take a value of the kernel",
        ctx.span(node),
        hint=call_hint(ctx, callee, text, node),
        slug="python-call",
    )


def _pure_call(
    ctx: Context, callee: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Any:
    builtin = getattr(callee, "__module__", None) == "builtins"
    if builtin and callee not in _PURE:
        hint = "print it where the kernel is called" if callee is print else None
        raise UnsupportedFeatureError(
            f"kernels do not have {ctx.source.text(node.func)}",
            ctx.span(node),
            hint=hint,
            slug="python-call",
        )
    reading = ctx.environment.reading
    if reading is not None:
        from pypto._src.frontend.source.limits import is_huge_call

        if not reading.may_call(callee):
            raise reading.refused(f"{ctx.source.text(node.func)} is Python's", ctx.span(node))
        for value, arg_node in zip((*args, *kwargs.values()), _arg_nodes(node), strict=True):
            if not reading.may_pass(value):
                raise reading.refused(
                    f"{ctx.source.text(arg_node)} is Python's", ctx.span(arg_node)
                )
        if is_huge_call(callee, args, kwargs):
            raise too_large(ctx, node)
    return _compute(ctx, callee, args, kwargs, node)


def _arg_nodes(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(word.value for word in node.keywords)]


def too_large(ctx: Context, node: ast.AST) -> ParserTypeError:
    """Return the error for a Python value that would take minutes or gigabytes."""
    return ParserTypeError(
        f"the value of {ctx.source.text(node)!r} is too large",
        ctx.span(node),
        slug="constant-expression",
    )


def _on_kernel_values(ctx: Context, callee: Any, args: list[Any], node: ast.Call) -> Any:
    if callee in _ON_KERNEL_VALUES:
        on_scalars, on_tiles = _ON_KERNEL_VALUES[callee]
        scalar = scalar_form(ctx, on_scalars, args, {}, node)
        if scalar is not None:
            return scalar
        op = unified(on_tiles)
        return None if op is None else op_call(ctx, op, args, {}, node)
    items = items_of(held(ctx, args[0], node)) if callee is len else None
    return None if items is None else len(items)


def _holds_values(value: Any) -> bool:
    items = items_of(value)
    return isinstance(value, Expr) if items is None else any(map(_holds_values, items))


def is_python_object(value: Any) -> bool:
    """True for lists of constants and other objects that only the parser sees."""
    return not isinstance(value, Expr | int | float) and not _holds_values(value)
