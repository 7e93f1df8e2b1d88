"""Calls: of ops in every spelling, of other functions, of inline functions, of Python's own.

What a call is follows from the object that the callee's name stands for, never from its text.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from ast import Name
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, Final, cast

from pypto._src.diagnostics import Label, Span
from pypto._src.dtypes import DataType, bounds, fits, holds, not_held
from pypto._src.errors import (
    InvalidOperationError,
    ParserError,
    ParserOpError,
    ParserOpTypeError,
    ParserSyntaxError,
    ParserTypeError,
    PyptoError,
    UnsupportedFeatureError,
)
from pypto._src.frontend import control
from pypto._src.frontend.call_forms import CallForm, Key
from pypto._src.frontend.context import (
    Callee,
    Context,
    Signature,
    as_parser_error,
    refuse_keyword_twice,
)
from pypto._src.frontend.environment import items_of
from pypto._src.frontend.explain import explained
from pypto._src.frontend.inline import InlineFunction, expand
from pypto._src.frontend.messages import (
    PRINT_HINT,
    cast_hint,
    counted,
    describe,
    dtype_like,
    nearest,
    recipe,
    spell,
    spell_apart,
)
from pypto._src.frontend.scalars import combine, typed
from pypto._src.frontend.scope import BROKEN, same_value_type
from pypto._src.frontend.sizes import number_of
from pypto._src.frontend.types import annotation_text, type_of
from pypto._src.frontend.valid_sizes import named_size, with_known_names, with_new_names
from pypto._src.ir.base import NO_KEYWORDS
from pypto._src.ir.dims import map_dims
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.makers import checked_call
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
    same_type,
    same_valid_part,
    unary,
    valid_part,
)
from pypto._src.ir.opdef import INTS, OpDef
from pypto._src.ir.stmts import Function
from pypto._src.ir.unique import is_plain
from pypto._src.ops.define import OVERLOADS
from pypto._src.ops.unified import SCALAR_BINARY, SCALAR_UNARY, Unified, unified
from pypto._src.ops.valid import COMPUTED_SIZE
from pypto._src.spelling import meant_keyword

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

_CONVERSIONS: Final[dict[Any, str]] = {
    int: "pl.cast({0}, pl.INT64)",
    float: "pl.cast({0}, pl.FP32)",
    bool: "{0} != 0",
}
"""Types of Python that convert numbers, and what does that with values of a kernel."""

_ROUNDING: Final = frozenset({"ceil", "floor", "trunc", "round"})
"""Functions of Python that leave integers as they are."""

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
    forms, local = ctx.forms, ctx.names.values
    try:
        callee = forms[node.func.__class__](ctx, node.func)
    except ParserError as error:
        if isinstance(node.func, ast.Attribute):
            error.hint = _meant_call(ctx, error, node, node.func) or error.hint
        raise
    if callee is control.typed:
        return _typed(ctx, node)
    args: list[Any] = []
    for arg in node.args:
        value = local.get(arg.id, BROKEN) if isinstance(arg, Name) else BROKEN
        args.append(forms[arg.__class__](ctx, arg) if value is BROKEN else value)
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
        refuse_keyword_twice(ctx, node)
    if callee.__class__ is Unified or isinstance(callee, OpDef):
        return op_call(ctx, callee, args, kwargs, node)
    return _other_call(ctx, callee, args, kwargs, node)


def _meant_call(
    ctx: Context, error: ParserError, node: ast.Call, func: ast.Attribute
) -> str | None:
    """Return the call that one of an op of another library, or of a method, is meant to be."""
    texts = [ctx.source.text(item) for item in (*node.args, *node.keywords)]
    if error.slug == InvalidOperationError.slug and node.args:
        return recipe(func.attr, texts[0])
    found = re.match(r"write (pl\.\w+)\(", error.hint or "")
    if error.slug != "attribute" or found is None or not texts:
        return None
    op = unified(found[1].removeprefix("pl."))
    ops = op.candidates if isinstance(op, Unified) else [] if op is None else [op]
    lists = {sum(param.kind == INTS for param in each.params) for each in ops}
    if lists == {1} and not isinstance(node.args[0], ast.List | ast.Tuple | ast.Name):
        texts = [f"[{', '.join(texts)}]"]  # x.reshape(64, 128)
    return f"write {found[1]}({', '.join([ctx.source.text(func.value), *texts])})"


def _typed(ctx: Context, node: ast.Call) -> Expr:
    """Return the value of ``pl.typed(value, type)``; the type says more than the value's."""
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
    """Return the call of an op or unified name; what it refuses is an error at ``node``."""
    span = ctx.span(node)
    form, key = ctx.call_forms.find(op, args, kwargs)
    made = None if form is None else form.call(args, kwargs, span)
    if form is None or made is None:
        if op.__class__ is Unified and isinstance(node, ast.Call):
            scalar = _scalar_form(ctx, op.name, args, kwargs, node)
            if scalar is not None:
                return scalar
        form, made = _first_of_form(ctx, key, op, args, kwargs, node, span)
    return _noted(ctx, form, made, op, args, kwargs)


def text_call(
    ctx: Context, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> Expr | None:
    """Return what `op_call` does for a call that has no nodes, None if it takes these."""
    form, key = ctx.call_forms.find(op, args, kwargs)
    made = None if form is None else form.call(args, kwargs, span)
    if form is None or made is None:
        try:
            if (
                op.__class__ is Unified
                and args
                and _is_scalar(args[0])
                and isinstance(args[0], Expr)
            ):
                scalar = _of_scalars(op.name, args, kwargs, span)
                if scalar is not None:
                    return scalar
            made = op.build(args, kwargs, span)
        except (PyptoError, TypeError, ValueError):
            return None
        form = _kept_form(ctx, key, made, op, args, kwargs)
    return _noted(ctx, form, made, op, args, kwargs)


def _noted(
    ctx: Context,
    form: CallForm,
    made: Call,
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Call:
    """Note what a call does; return it, with numbers for the sizes that are known."""
    if ctx.constants and _has_variable_size(made.type):
        made = _of_known_sizes(ctx, op, args, kwargs, made.span) or made
    if form.has_effect and ctx.origins:
        ctx.note_effects(made)
    if form.unplaced:
        ctx.unplaced.append(made)
    if form.on_tiles:
        ctx.home.has_tile_ops = True
    return made


def _first_of_form(
    ctx: Context,
    key: Key | None,
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.AST,
    span: Span,
) -> tuple[CallForm, Call]:
    """Return a form and the call that the op itself makes; keep the form where there is a key."""
    made: Call | None
    try:
        made = op.build(args, kwargs, span)
    except (PyptoError, TypeError, ValueError) as error:
        made = _of_known_sizes(ctx, op, args, kwargs, span)
        slug = getattr(error, "slug", None)
        if made is None and slug == COMPUTED_SIZE:
            made = with_new_names(ctx, op, args, kwargs, span)
        elif made is None and slug == "shape-mismatch":
            made = with_known_names(ctx, op, args, kwargs, span)
        if made is None:
            raise _refusal(ctx, error, op, args, kwargs, node).at(span) from None
        key = None  # of other arguments than these
    assert made is not None
    return _kept_form(ctx, key, made, op, args, kwargs), made


def _kept_form(
    ctx: Context,
    key: Key | None,
    made: Call,
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> CallForm:
    """Return the form of a call, which is kept where there is a key."""
    form = CallForm(made, args, kwargs)
    if key is not None:
        ctx.call_forms.keep(key, form, op, args, kwargs)
    return form


def _refusal(
    ctx: Context,
    error: Exception,
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.AST,
) -> ParserError:
    """Return the error of a call that an op refuses, as one of the front end."""
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


def _of_known_sizes(
    ctx: Context, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> Call | None:
    """Return the call with numbers for the variables in its lists that are numbers.

    ``rows, cols = x.shape`` makes variables; a tile [rows, cols] needs the numbers. None if there
    are no such variables, or the op refuses the numbers as well.
    """
    known = ctx.constants
    if not known:
        return None

    def numbers(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        found = [(number_of(item, known), item) for item in cast("Sequence[Any]", value)]
        return [item if number is None else number for number, item in found]

    try:
        return op.build(
            [numbers(arg) for arg in args],
            {key: numbers(value) for key, value in kwargs.items()},
            span,
        )
    except (PyptoError, TypeError, ValueError):
        return None


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
        if not isinstance(dtype, DataType):
            raise _no_dtype(ctx, node, "pl.cast", dtype)
    elif kwargs or (name not in SCALAR_BINARY and name not in SCALAR_UNARY):
        return None
    try:
        if not any(isinstance(value, Expr) for value in args[:2]):
            place = node.args[1 if name in SCALAR_BINARY and len(args) > 1 else 0]
            args = [ctx.as_expr(args[0], place), *args[1:]]
        return _of_scalars(name, args, kwargs, span)
    except TypeError as error:
        raise ParserTypeError(str(error), span, slug="scalar-operands") from None


def _of_scalars(
    name: str, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> Expr | None:
    """Return ``min``, ``max``, ``abs`` or ``cast`` of scalars, None if an op is meant.

    One of the first two is an expression.

    Raises:
        TypeError: they have no common type.
    """
    value = args[0]
    if name == "cast":
        given = [*args[1:], *kwargs.values()]
        is_dtype = len(given) == 1 and isinstance(given[0], DataType)
        return Cast(value, given[0], span) if is_dtype else None
    if kwargs or not all(map(_is_scalar, args)):
        return None
    if name in SCALAR_UNARY and len(args) == 1:
        return unary(SCALAR_UNARY[name], value, span)
    if name not in SCALAR_BINARY or len(args) < 2:
        return None
    for other in args[1:]:
        value = combine(SCALAR_BINARY[name], value, other, span)
    return value


def _no_dtype(ctx: Context, node: ast.Call, called: str, found: Any) -> ParserError:
    """Return the error for a call whose second argument is no element type."""
    meant = dtype_like(found)
    place = node.args[1] if len(node.args) > 1 else node.keywords[-1].value
    return ParserTypeError(
        f"the second argument of {called} is an element type, got {describe(found)}",
        ctx.span(place),
        hint=None if meant is None else f"write pl.{meant.member}",
        slug="argument-kind",
    )


def _is_scalar(value: Any) -> bool:
    if isinstance(value, Expr):
        return isinstance(value.type, ScalarType)
    return isinstance(value, (int, float))


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
                hint=_by_position(ctx, callee, node),
                slug="argument-count",
            )
        return expand(ctx, callee, args, node)
    if callee is control.const:
        return _const(ctx, args, kwargs, node)
    if _is_statement(callee):
        message, _, hint = _STATEMENTS[callee].partition(": ")
        if callee is control.yield_:
            hint = ", ".join(ctx.source.text(arg) for arg in node.args)
        raise ParserSyntaxError(
            message, ctx.span(node), hint=f"write {hint}" if hint else None, slug="misplaced"
        )
    if isinstance(callee, type) and issubclass(callee, MemRef):
        return _memref(ctx, args, kwargs, node)
    if isinstance(callee, type) and issubclass(callee, _NODES):
        return _compute(ctx, callee, args, kwargs, node)
    if isinstance(callee, Callee):
        return _method_call(ctx, callee, args, kwargs, node)
    return _python_call(ctx, callee, args, kwargs, node)


def _by_position(ctx: Context, callee: InlineFunction, node: ast.Call) -> str | None:
    """Return the call of an inline function with its keywords in their places."""
    names = callee.param_names[len(node.args) :]
    values = {word.arg: ctx.source.text(word.value) for word in node.keywords}
    if set(names) != set(values):
        return None
    texts = [*(ctx.source.text(arg) for arg in node.args), *(values[name] for name in names)]
    return f"write {callee.name}({', '.join(texts)})"


def _is_statement(callee: Any) -> bool:
    return callable(callee) and callee.__hash__ is not None and callee in _STATEMENTS


def _const(ctx: Context, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> Expr:
    values = dict(zip(("value", "dtype"), args, strict=False)) | kwargs
    if len(args) > 2 or values.keys() != {"value", "dtype"}:
        number = values.get("value")
        raise ParserSyntaxError(
            "pl.const takes a number and an element type",
            ctx.span(node),
            hint=f"write {_const_text(number if isinstance(number, int | float) else 1)}",
            slug="const",
        )
    value, dtype = values["value"], values["dtype"]
    if isinstance(value, DataType) and isinstance(dtype, int | float):
        raise ParserTypeError(
            f"pl.const takes the number first, got pl.{value.member}",
            ctx.span(node),
            hint=f"write pl.const({dtype}, pl.{value.member})",
            slug="const",
        )
    if not isinstance(dtype, DataType):
        raise _no_dtype(ctx, node, "pl.const", dtype)
    if not isinstance(value, int | float):
        raise ParserSyntaxError(
            f"pl.const takes a number, got {describe(value)}",
            ctx.span(node),
            hint=f"write pl.cast({ctx.source.text(node.args[0])}, pl.{dtype.member})"
            if isinstance(value, Expr) and node.args
            else None,
            slug="const",
        )
    try:
        return typed(value, dtype, ctx.span(node))
    except TypeError as error:
        wide = holds(value, DataType.FP32) and (isinstance(value, int) or math.isfinite(value))
        wider = _const_text(float(value) if dtype.is_float() else value) if wide else None
        raise ParserTypeError(
            str(error),
            ctx.span(node),
            hint=None if wider is None else f"write {wider}",
            slug="constant-range",
        ) from None


def _const_text(value: float) -> str:
    """Return a constant that holds ``value``."""
    if isinstance(value, float):
        return f"pl.const({value}, pl.FP32)"
    wide = (d for d in (DataType.INT32, DataType.INT64) if fits(value, d))
    return f"pl.const({value}, pl.{next(wide, DataType.FP32).member})"


def _memref(ctx: Context, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> MemRef:
    """Return a memory reference; within one function, space and id name one object."""
    made: MemRef = _compute(ctx, MemRef, args, kwargs, node)
    if len(args) + len(kwargs) < 4:  # the form of older texts, without id
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
    finally:
        ctx.home.environment.known.clear()  # it may have given outside names another meaning


def _python_call(
    ctx: Context, callee: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Any:
    text = ctx.source.text(node.func)
    if not callable(callee):
        raise ParserTypeError(
            f"{text} is {describe(callee)}, which cannot be called",
            ctx.span(node),
            hint=_product_hint(ctx, callee, text, node),
            slug="not-callable",
        )
    if not any(_holds_values(value) for value in (*args, *kwargs.values())):
        return _pure_call(ctx, callee, args, kwargs, node)
    if isinstance(callee, type | BuiltinFunctionType) and not kwargs:
        found = _on_kernel_values(ctx, callee, args, node)
        if found is not None:
            return found
    if ctx.functions.method(text) is not None:
        raise UnsupportedFeatureError(
            f"{text} is a function of the program; it is called through self",
            ctx.span(node),
            hint=f"write self.{_call_text(ctx, node, text)}",
            slug="python-call",
        )
    raise UnsupportedFeatureError(
        f"{text} is Python's; it cannot take a value of the kernel",
        ctx.span(node),
        hint=_call_hint(ctx, callee, text, node),
        slug="python-call",
    )


def _product_hint(ctx: Context, callee: Any, text: str, node: ast.Call) -> str | None:
    """Return the product that a number before a bracket is meant to be; the tensor's slice."""
    if len(node.args) == 1 and not node.keywords and isinstance(callee, int | float):
        return f"write {text} * {ctx.source.text(node.args[0])}"
    if not node.args and not node.keywords:  # x.shape()
        return f"write {text}"
    op = f"{text}imum" if text in ("min", "max") else text
    if isinstance(callee, Expr) and unified(op) is not None:  # a variable hides the function
        return f"write pl.{op}({', '.join(ctx.source.text(arg) for arg in node.args)})"
    if isinstance(callee, Expr) and isinstance(callee.type, ShapedType) and node.args:
        return f"write {text}[{', '.join(ctx.source.text(arg) for arg in node.args)}]"
    return None


def _call_hint(ctx: Context, callee: Any, text: str, node: ast.Call) -> str | None:
    name = text.rpartition(".")[2]
    if callee is print:
        return PRINT_HINT
    if callee is len and len(node.args) == 1:
        return f"write {ctx.source.text(node.args[0])}.shape[0]"
    if callee is sum and len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
        return f"write {' + '.join(ctx.source.text(item) for item in node.args[0].elts)}"
    if hasattr(callee, "__code__"):
        if ctx.self_name and text == f"{ctx.self_name}.{name}":
            return f"write @pl.function above def {name}"
        return f"write @pl.inline above def {name}"
    if callee in _CONVERSIONS and len(node.args) == 1:
        inner = ctx.source.text(node.args[0])
        return f"write {_CONVERSIONS[callee].format(inner)}"
    known = name if unified(name) is not None else nearest(name, OVERLOADS)
    if known is None and name in _ROUNDING and len(node.args) == 1:
        inner = ctx.source.text(node.args[0])
        value = ctx.value(node.args[0])
        kind = value.type if isinstance(value, Expr) else None
        is_int = isinstance(kind, ScalarType) and kind.dtype.is_int()
        return f"write {inner}" if is_int else None
    return None if known is None else f"write pl.{_call_text(ctx, node, known)}"


def _call_text(ctx: Context, node: ast.Call, name: str) -> str:
    """Return a call with another callee, as the user could write it."""
    return f"{name}({', '.join(ctx.source.text(item) for item in (*node.args, *node.keywords))})"


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
        operands.append(_argument(ctx, called, param, value, place, sizes, values))
    parts = [
        pair
        for kind in called.results
        if isinstance(kind, TileType)
        for pair in zip(valid_part(kind) or (), kind.shape, strict=False)
    ]
    if parts:
        _state_parts(ctx, called, parts, operands, sizes, node)
    results = [_with_sizes(kind, sizes) for kind in called.results]
    kind = _value_type(results)
    made = checked_call(GlobalVar(called.name), tuple(operands), NO_KEYWORDS, kind, ctx.span(node))
    _note_outputs(ctx, called, operands, made)
    return made


def _value_type(results: list[Type]) -> Type:
    if not results:
        return UnknownType.get()
    return results[0] if len(results) == 1 else TupleType(tuple(results))


def _bind(
    ctx: Context, called: Signature, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> list[Any]:
    if not kwargs and len(args) == len(called.params):
        return args
    names = [param.name for param in called.params]
    values: dict[str, Any] = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key not in names or key in values:
            problem = "got twice" if key in values else "does not have"
            left = [name for name in names if name not in values and name not in kwargs]
            only = f"did you mean {left[0]}=?" if len(left) == 1 else None
            place = next((word for word in node.keywords if word.arg == key), node)
            raise ParserTypeError(
                f"{called.name} {problem} the parameter {key!r}",
                ctx.span(place),
                hint=meant_keyword(key, left) or only,
                slug="unknown-keyword",
            )
        values[key] = value
    if len(args) > len(names) or len(values) < len(names):
        missing = [name for name in names if name not in values]
        what = f"; {', '.join(map(repr, missing))} is missing" if len(missing) == 1 else ""
        raise ParserTypeError(
            f"{called.name} takes {counted(len(names), 'argument')} ({', '.join(names)}), "
            f"got {len(args) + len(kwargs)}{what}",
            ctx.span(node),
            hint=_with_missing(ctx, missing, node),
            slug="argument-count",
        )
    return [values[name] for name in names]


def _with_missing(ctx: Context, missing: Sequence[str], node: ast.Call) -> str | None:
    """Return the call with what is missing, by the names of the parameters."""
    if not missing:
        return None
    words = [f"{name}={name}" for name in missing] if node.keywords else missing
    texts = [ctx.source.text(item) for item in (*node.args, *node.keywords)]
    return f"write {ctx.source.text(node.func)}({', '.join([*texts, *words])})"


def _argument(
    ctx: Context,
    called: Signature,
    param: Var,
    value: Any,
    place: ast.expr,
    sizes: dict[Var, Expr],
    values: Sequence[Any],
) -> Expr:
    dtype = param.type.dtype if isinstance(param.type, ScalarType) else None
    expr = value if isinstance(value, Expr) else ctx.as_expr(value, place, dtype)
    if not _accepts(param.type, expr.type, sizes):
        if dtype is not None and isinstance(value, int | float) and _is_beyond(value, dtype):
            raise ParserTypeError(
                f"parameter {param.name!r} of {called.name}: {not_held(value, dtype)}",
                ctx.span(place),
                hint=f"write {bounds(dtype)[value > 0]}",
                slug="constant-range",
            )
        wanted, found = spell(param.type), spell(expr.type)
        part = wanted == found and not same_valid_part(param.type, expr.type)
        if part:
            wanted, found = spell_apart(param.type, expr.type)
        raise ParserTypeError(
            f"parameter {param.name!r} of {called.name} is {wanted}, got {found}",
            ctx.span(place),
            hint=_argument_hint(ctx, param, expr, place, values),
            slug="valid-shape" if part else "argument-type",
            related=[Label(param.span, "the parameter")] if param.span.begin_line > 0 else (),
        )
    return expr


def _is_beyond(value: float, dtype: DataType) -> bool:
    """True for a number that its kind of parameter takes, but none so large."""
    return (isinstance(value, int) or not dtype.is_int()) and not holds(value, dtype)


def _argument_hint(
    ctx: Context, param: Var, found: Expr, place: ast.expr, values: Sequence[Any]
) -> str | None:
    """Return the only other variable of the parameter's type, a cast to it, or the type found."""
    text = ctx.source.text(place)
    passed = {value for value in values if isinstance(value, Var)}
    known = [v for v in ctx.names.values.values() if isinstance(v, Var) and v not in passed]
    fitting = [v.name for v in known if _accepts(param.type, v.type, {})]
    if param.name in fitting or len(fitting) == 1:
        return f"write {param.name if param.name in fitting else fitting[0]}"
    whole = valid_part(param.type) is None
    if same_value_type(param.type, found.type) and not same_valid_part(param.type, found.type):
        return f"write pl.fillpad({text})" if whole else None
    cast_text = cast_hint(param.type, found.type, text)
    if cast_text is not None or type(found.type) is not type(param.type):
        return cast_text
    return f"declare {param.name}: pl.{annotation_text(found.type)}"


def _accepts(wanted: Type, found: Type, sizes: dict[Var, Expr]) -> bool:
    """True if an argument has a parameter's type; its symbolic dimensions are found on the way."""
    if wanted is found and is_plain(wanted):
        return True
    if isinstance(wanted, (TensorType, TileType)):
        return (
            isinstance(found, ShapedType)
            and type(found) is type(wanted)
            and wanted.dtype is found.dtype
            and len(wanted.shape) == len(found.shape)
            and all(_same_size(w, f, sizes) for w, f in zip(wanted.shape, found.shape, strict=True))
            and _accepts_part(valid_part(wanted), valid_part(found), sizes)
        )
    return same_value_type(wanted, found)


def _accepts_part(
    wanted: Sequence[Expr] | None, found: Sequence[Expr] | None, sizes: dict[Var, Expr]
) -> bool:
    if wanted is None or found is None:
        return wanted is found
    return all(_same_size(w, f, sizes) for w, f in zip(wanted, found, strict=True))


def _same_size(wanted: Expr, found: Expr, sizes: dict[Var, Expr]) -> bool:
    size = const_value(found)
    if isinstance(wanted, ConstInt):
        return wanted.value == size or DYNAMIC_DIM in (wanted.value, size)
    if not isinstance(wanted, Var):
        return True  # an expression of dimensions is checked when the kernel is called
    known = sizes.setdefault(wanted, found)
    return known is found or same_dim(known, found)


def _state_parts(
    ctx: Context,
    called: Signature,
    parts: Sequence[tuple[Expr, Expr]],
    operands: list[Expr],
    sizes: dict[Var, Expr],
    node: ast.Call,
) -> None:
    """Add to ``sizes`` what the valid sizes of results are at this call.

    ``parts`` are these sizes, each with that of the tile. A type names them, so an argument that
    computes one gets a name.

    Raises:
        ParserTypeError: the caller does not know one of them, or a number is none of the tile.
    """
    span = ctx.span(node)
    places = {param: at for at, param in enumerate(called.params) if param in called.kept}
    for size, whole in parts:
        if not isinstance(size, Var):
            continue
        at = places.get(size)
        value = sizes.get(size) if at is None else operands[at]
        number, limit = None if value is None else const_value(value), const_value(whole)
        if value is None or (at is None and number == DYNAMIC_DIM):
            raise ParserTypeError(
                f"{called.name} returns a tile of which {size} is valid, a size that only "
                f"{called.name} knows",
                span,
                hint=f"in {called.name}, return pl.fillpad(...) of the tile; or make {size} a "
                f"parameter that {called.name} does not assign",
                slug="valid-shape",
                related=(Label(size.span, f"{size} is defined here"),),
            )
        beyond = number is not None and limit is not None and not 0 <= number <= limit
        if beyond and at is not None:
            raise ParserTypeError(
                f"{called.name} returns a tile with {number} valid of {limit} elements",
                span,
                hint=f"give a number from 0 to {limit} for {size}",
                slug="valid-shape",
                related=(Label(size.span, f"{size} is defined here"),),
            )
        sizes[size] = named_size(ctx, value, span) if number is None else ConstInt(number)
        if at is not None and number is None:
            operands[at] = sizes[size]


def _with_sizes(kind: Type, sizes: Mapping[Var, Expr]) -> Type:
    """Return a result type with the caller's dimensions in place of the callee's."""
    if not sizes or not isinstance(kind, TensorType | TileType):
        return kind
    return map_dims(kind, lambda dim: sizes.get(dim, dim) if isinstance(dim, Var) else dim)


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
