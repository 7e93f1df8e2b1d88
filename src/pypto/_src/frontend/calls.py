"""Calls: of ops in every spelling, of other functions, of inline functions, of Python's own.

What a call is follows from the object that the callee's name stands for, never from its text.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, Final

from pypto._src.diagnostics import Label
from pypto._src.dtypes import DataType
from pypto._src.errors import (
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    PyptoError,
    UnsupportedFeatureError,
)
from pypto._src.frontend import control
from pypto._src.frontend.context import Callee, Context, Signature, as_parser_error
from pypto._src.frontend.environment import items_of
from pypto._src.frontend.inline import InlineFunction, expand
from pypto._src.frontend.messages import describe, did_you_mean, spell
from pypto._src.frontend.scalars import combine, typed
from pypto._src.frontend.scope import same_value_type
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.nodes import (
    DYNAMIC_DIM,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    MemRef,
    ScalarType,
    ShapedType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
    Type,
    UnknownType,
    Var,
    const_value,
    same_dim,
    unary,
)
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import Function
from pypto._src.ops.unified import SCALAR_BINARY, SCALAR_UNARY, Unified, unified

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
"""Python functions that take kernel values: their unified names on scalars and on tiles."""

_NODES: Final = (TileView, TensorView, ConstInt, ConstFloat, ConstBool)
_STATEMENTS: Final[dict[Any, str]] = {
    control.range_: "pl.range stands in a for statement: for i in pl.range(n):",
    control.parallel: "pl.parallel stands in a for statement: for i in pl.parallel(n):",
    control.while_: "pl.while_ stands in a for statement: for (x,) in pl.while_(init_values=(a,)):",
    control.yield_: "pl.yield_ is the last statement of a loop body or branch",
    control.cond: "pl.cond is the first statement in the body of a pl.while_ loop",
    control.incore: "pl.incore stands in a with statement: with pl.incore():",
}


def call(ctx: Context, node: ast.Call) -> Any:
    """Return what a call means."""
    forms = ctx.forms
    callee = forms[node.func.__class__](ctx, node.func)
    args = [forms[arg.__class__](ctx, arg) for arg in node.args]
    kwargs: dict[str, Any] = {}
    for word in node.keywords:
        if word.arg is None:
            raise UnsupportedFeatureError(
                "kernels do not have '**' before an argument",
                ctx.span(word.value),
                hint="write the arguments out",
            )
        kwargs[word.arg] = forms[word.value.__class__](ctx, word.value)
    if isinstance(callee, OpDef):
        return op_call(ctx, callee, args, kwargs, node)
    if isinstance(callee, Unified):
        scalar = _scalar_form(ctx, callee.name, args, kwargs, node)
        return op_call(ctx, callee, args, kwargs, node) if scalar is None else scalar
    return _other_call(ctx, callee, args, kwargs, node)


def op_call(
    ctx: Context, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.AST
) -> Expr:
    """Return the call of an op or unified name; what it refuses is an error at ``node``."""
    span = ctx.span(node)
    try:
        built = op.build(args, kwargs, span)
    except PyptoError as error:
        raise _explained(ctx, as_parser_error(error), args, node).at(span) from None
    except (TypeError, ValueError) as error:
        raise ParserTypeError(str(error), span, slug="op-operands") from None
    if ctx.origins:
        ctx.note_effects(built)
    return built


def _explained(ctx: Context, error: ParserError, args: Sequence[Any], node: ast.AST) -> ParserError:
    """Add to an op's error what the source tells: the wrong keyword, where operands come from."""
    if not isinstance(node, ast.Call):
        return error
    if error.slug == "unknown-keyword":
        for word in node.keywords:
            if word.arg is not None and f"argument {word.arg!r}" in error.message:
                known = (error.hint or "").removeprefix("its arguments are ").split(", ")
                error.hint = did_you_mean(word.arg, known) or error.hint
                return error.at(ctx.span(word))
    shaped = [a for a in args if isinstance(a, Var) and isinstance(a.type, ShapedType)]
    if error.related or len(shaped) < 2:
        return error
    line = ctx.span(node).begin_line
    error.related = tuple(
        Label(var.span, f"{var.name} is {spell(var.type)}")
        for var in dict.fromkeys(shaped)
        if 0 < var.span.begin_line != line
    )
    return error


# ----------------------------------------------------------------------------- scalars


def _scalar_form(
    ctx: Context, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return ``min``, ``max``, ``abs`` or ``cast`` of scalars, None if an op is meant."""
    if not args or not _is_scalar(args[0]):
        return None
    span = ctx.span(node)
    if name == "cast" and len(args) + len(kwargs) == 2 and kwargs.keys() <= {"target_type"}:
        dtype = [*args[1:], *kwargs.values()][0]
        if isinstance(dtype, DataType):
            return Cast(ctx.as_expr(args[0], node.args[0]), dtype, span)
    if kwargs:
        return None
    try:
        if name in SCALAR_BINARY and len(args) >= 2 and all(map(_is_scalar, args)):
            return _fold(ctx, name, args, node)
        if name in SCALAR_UNARY and len(args) == 1:
            return unary(SCALAR_UNARY[name], ctx.as_expr(args[0], node.args[0]), span)
    except TypeError as error:
        raise ParserTypeError(str(error), span, slug="scalar-operands") from None
    return None


def _fold(ctx: Context, name: str, args: Sequence[Any], node: ast.Call) -> Expr:
    value = args[0]
    for place, other in zip(node.args[1:], args[1:], strict=True):
        if not isinstance(value, Expr) and not isinstance(other, Expr):
            value = ctx.as_expr(value, place)
        value = combine(SCALAR_BINARY[name], value, other, ctx.span(node))
    return value


def _is_scalar(value: Any) -> bool:
    if isinstance(value, Expr):
        return isinstance(value.type, ScalarType)
    return isinstance(value, int | float)


# ------------------------------------------------------------------------- other callees


def _other_call(
    ctx: Context, callee: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Any:
    if isinstance(callee, Function):
        ctx.functions.use(callee, ctx.span(node))
        return _function_call(ctx, Signature.of(callee), args, kwargs, node)
    if isinstance(callee, InlineFunction):
        if kwargs:
            raise ParserTypeError(
                f"inline function {callee.name!r} takes its arguments by position",
                ctx.span(node),
                slug="argument-count",
            )
        return expand(ctx, callee, args, node)
    if callee is control.const:
        return _const(ctx, args, kwargs, node)
    if _is_statement(callee):
        raise ParserSyntaxError(_STATEMENTS[callee], ctx.span(node), slug="misplaced")
    if isinstance(callee, type) and issubclass(callee, MemRef):
        return _memref(ctx, args, kwargs, node)
    if isinstance(callee, type) and issubclass(callee, _NODES):
        return _compute(ctx, callee, args, kwargs, node)
    if isinstance(callee, Callee):
        return _method_call(ctx, callee, args, kwargs, node)
    return _python_call(ctx, callee, args, kwargs, node)


def _is_statement(callee: Any) -> bool:
    return callable(callee) and callee.__hash__ is not None and callee in _STATEMENTS


def _const(ctx: Context, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> Expr:
    values = dict(zip(("value", "dtype"), args, strict=False)) | kwargs
    if len(args) > 2 or values.keys() != {"value", "dtype"}:
        raise ParserSyntaxError(
            "pl.const takes a number and an element type",
            ctx.span(node),
            hint="write pl.const(1, pl.INT32)",
            slug="const",
        )
    value, dtype = values["value"], values["dtype"]
    if not isinstance(dtype, DataType):
        raise ParserTypeError(
            f"the second argument of pl.const is an element type, got {describe(dtype)}",
            ctx.span(node),
            hint="write pl.const(1, pl.INT32)",
            slug="const",
        )
    if not isinstance(value, int | float):
        raise ParserSyntaxError(
            f"pl.const takes a number, got {describe(value)}",
            ctx.span(node),
            hint=f"write pl.cast(..., pl.{dtype.member})",
            slug="const",
        )
    try:
        return typed(value, dtype, ctx.span(node))
    except TypeError as error:
        raise ParserTypeError(str(error), ctx.span(node), slug="constant-range") from None


def _memref(ctx: Context, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> MemRef:
    """Return a memory reference; within one function, space and id name one object."""
    made: MemRef = _compute(ctx, MemRef, args, kwargs, node)
    if len(args) + len(kwargs) < 4:  # the form of older texts, without id
        return made
    known = ctx.memrefs.setdefault((made.memory_space_, made.id_), made)
    same = known.size_ == made.size_ and const_value(known.addr_) == const_value(made.addr_)
    if not same:
        raise ParserTypeError(
            f"memory {made.id_} has {known.size_} bytes at {known.addr_} elsewhere, "
            f"here {made.size_} at {made.addr_}",
            ctx.span(node),
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
    """Call something of Python; what it raises is an error of the kernel."""
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


def _python_call(
    ctx: Context, callee: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Any:
    text = ctx.source.text(node.func)
    if not callable(callee):
        raise ParserTypeError(
            f"{text} is {describe(callee)}, which cannot be called",
            ctx.span(node),
            slug="not-callable",
        )
    if not any(_holds_values(value) for value in (*args, *kwargs.values())):
        return _pure_call(ctx, callee, args, kwargs, node)
    if isinstance(callee, type | BuiltinFunctionType) and not kwargs:
        found = _on_kernel_values(ctx, callee, args, node)
        if found is not None:
            return found
    raise UnsupportedFeatureError(
        f"{text} is Python's; it cannot take a value of the kernel",
        ctx.span(node),
        hint=_call_hint(ctx, callee, text),
        slug="python-call",
    )


def _call_hint(ctx: Context, callee: Any, text: str) -> str | None:
    if hasattr(callee, "__code__"):
        return f"decorate {text} with @pl.inline, or with @pl.function"
    name = text.rpartition(".")[2]
    return f"write pl.{name}(...)" if unified(name) is not None else None


def _pure_call(
    ctx: Context, callee: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Any:
    builtin = getattr(callee, "__module__", None) == "builtins"
    if builtin and callee not in _PURE:
        raise UnsupportedFeatureError(
            f"kernels do not have {ctx.source.text(node.func)}", ctx.span(node), slug="python-call"
        )
    return _compute(ctx, callee, args, kwargs, node)


def _on_kernel_values(ctx: Context, callee: Any, args: list[Any], node: ast.Call) -> Any:
    if callee in _ON_KERNEL_VALUES:
        on_scalars, on_tiles = _ON_KERNEL_VALUES[callee]
        scalar = _scalar_form(ctx, on_scalars, args, {}, node)
        if scalar is not None:
            return scalar
        op = unified(on_tiles)
        return None if op is None else op_call(ctx, op, args, {}, node)
    items = items_of(args[0]) if callee is len else None
    return None if items is None else len(items)


def _holds_values(value: Any) -> bool:
    items = items_of(value)
    return isinstance(value, Expr) if items is None else any(map(_holds_values, items))


# --------------------------------------------------------------------------- functions


def _method_call(
    ctx: Context, callee: Callee, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Call:
    return _function_call(ctx, callee.signature(ctx.span(node)), args, kwargs, node)


def _function_call(
    ctx: Context, called: Signature, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Call:
    """Return the call of a function of the program, with arguments checked.

    Raises:
        ParserTypeError: wrong number or types of arguments.
    """
    values = _bind(ctx, called, args, kwargs, node)
    places = [*node.args, *(word.value for word in node.keywords)]
    sizes: dict[Var, Expr] = {}
    operands: list[Expr] = []
    for index, (param, value) in enumerate(zip(called.params, values, strict=True)):
        place = places[index] if index < len(node.args) else node
        operands.append(_argument(ctx, called, param, value, place, sizes))
    results = [_with_sizes(kind, sizes) for kind in called.results]
    made = Call(GlobalVar(called.name), operands, _value_type(results), ctx.span(node))
    _note_outputs(ctx, called, operands, made)
    return made


def _value_type(results: list[Type]) -> Type:
    if not results:
        return UnknownType.get()
    return results[0] if len(results) == 1 else TupleType(tuple(results))


def _bind(
    ctx: Context, called: Signature, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> list[Any]:
    names = [param.name for param in called.params]
    values: dict[str, Any] = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key not in names or key in values:
            problem = "got twice" if key in values else "does not have"
            raise ParserTypeError(
                f"{called.name} {problem} the parameter {key!r}",
                ctx.span(node),
                hint=did_you_mean(key, names),
                slug="unknown-keyword",
            )
        values[key] = value
    if len(args) > len(names) or len(values) < len(names):
        missing = [name for name in names if name not in values]
        what = f"; {', '.join(map(repr, missing))} is missing" if len(missing) == 1 else ""
        raise ParserTypeError(
            f"{called.name} takes {len(names)} arguments ({', '.join(names)}), "
            f"got {len(args) + len(kwargs)}{what}",
            ctx.span(node),
            slug="argument-count",
        )
    return [values[name] for name in names]


def _argument(
    ctx: Context,
    called: Signature,
    param: Var,
    value: Any,
    place: ast.expr,
    sizes: dict[Var, Expr],
) -> Expr:
    dtype = param.type.dtype if isinstance(param.type, ScalarType) else None
    expr = ctx.as_expr(value, place, dtype)
    if not _accepts(param.type, expr.type, sizes):
        raise ParserTypeError(
            f"parameter {param.name!r} of {called.name} is {spell(param.type)}, "
            f"got {spell(expr.type)}",
            ctx.span(place),
            slug="argument-type",
            related=[Label(param.span, "the parameter")] if param.span.begin_line > 0 else (),
        )
    return expr


def _accepts(wanted: Type, found: Type, sizes: dict[Var, Expr]) -> bool:
    """True if an argument has a parameter's type; its symbolic dimensions are found on the way."""
    if isinstance(wanted, TensorType | TileType):
        return (
            isinstance(found, ShapedType)
            and type(found) is type(wanted)
            and wanted.dtype is found.dtype
            and len(wanted.shape) == len(found.shape)
            and all(_same_size(w, f, sizes) for w, f in zip(wanted.shape, found.shape, strict=True))
        )
    return same_value_type(wanted, found)


def _same_size(wanted: Expr, found: Expr, sizes: dict[Var, Expr]) -> bool:
    size = const_value(found)
    if isinstance(wanted, ConstInt):
        return wanted.value == size or DYNAMIC_DIM in (wanted.value, size)
    if not isinstance(wanted, Var):
        return True  # an expression of dimensions is checked when the kernel is called
    known = sizes.setdefault(wanted, found)
    return known is found or same_dim(known, found)


def _with_sizes(kind: Type, sizes: Mapping[Var, Expr]) -> Type:
    """Return a result type with the caller's dimensions in place of the callee's."""
    if not sizes or not isinstance(kind, TensorType | TileType):
        return kind
    shape = [sizes.get(dim, dim) if isinstance(dim, Var) else dim for dim in kind.shape]
    if all(a is b for a, b in zip(shape, kind.shape, strict=True)):
        return kind
    if isinstance(kind, TensorType):
        return TensorType(shape, kind.dtype, kind.memref, kind.tensor_view)
    return TileType(shape, kind.dtype, kind.memref, kind.tile_view)


def _note_outputs(ctx: Context, called: Signature, operands: Sequence[Expr], made: Call) -> None:
    """Note which outputs of the caller a call writes.

    A result is taken to be the buffer of the first such argument of its type. A function that
    declares no direction at all, as functions may, is taken to write each of its tensors.
    """
    undirected = all(direction is ParamDirection.In for direction in called.directions)
    passed: list[tuple[Type, Var]] = []
    for value, direction in zip(operands, called.directions, strict=True):
        origin = ctx.origins.get(value)
        if origin is not None and (undirected or direction is not ParamDirection.In):
            ctx.written.add(origin)
            passed.append((value.type, origin))
    if not passed:
        return
    kinds = made.type.types if isinstance(made.type, TupleType) else (made.type,)
    found = [_take(passed, kind) for kind in kinds]
    if isinstance(made.type, TupleType):
        ctx.parts[made] = found
    elif found[0] is not None:
        ctx.origins[made] = found[0]


def _take(passed: list[tuple[Type, Var]], wanted: Type) -> Var | None:
    for index, (kind, origin) in enumerate(passed):
        if same_value_type(kind, wanted):
            del passed[index]
            return origin
    return None


def is_python_object(value: Any) -> bool:
    """True for lists of constants and other objects that only the parser sees."""
    return not isinstance(value, Expr | int | float) and not _holds_values(value)
