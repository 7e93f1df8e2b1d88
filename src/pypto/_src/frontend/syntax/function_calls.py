"""Calls of the program's functions: arguments against parameters, sizes, what a call writes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from pypto._src.diagnostics import Label, Span, counted
from pypto._src.dtypes import DataType, bounds, holds, out_of_range_text
from pypto._src.errors import ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import cast_hint, spell, spell_apart
from pypto._src.frontend.state.scope import same_value_type
from pypto._src.frontend.state.signatures import Signature, Swapped
from pypto._src.frontend.state.valid_sizes import bind_valid_sizes
from pypto._src.frontend.syntax.annotations import annotation_text
from pypto._src.ir.array_types import (
    DYNAMIC_DIM,
    ShapedType,
    TensorType,
    TileType,
    same_dim,
    same_valid_part,
    valid_part,
)
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, Cast, ConstBool, ConstInt, Expr, GlobalVar, Var, const_value
from pypto._src.ir.interning import is_plain
from pypto._src.ir.node_base import NO_KEYWORDS
from pypto._src.ir.traversal.symbolic_dims import map_dims
from pypto._src.ir.types import ScalarType, TupleType, Type, UnknownType
from pypto._src.ir.unchecked import checked_call
from pypto._src.suggestions import keyword_hint


def function_call(
    ctx: Context, called: Signature, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> Call:
    """Return the call of one of the program's functions, with its arguments checked.

    Raises:
        ParserTypeError: wrong number or types of arguments.
    """
    values = _bind(ctx, called, args, kwargs, node)
    arg_nodes = [*node.args, *(word.value for word in node.keywords)]
    sizes: dict[Var, Expr] = {}
    operands: list[Expr] = []
    for index, (param, value) in enumerate(zip(called.params, values, strict=True)):
        arg_node = arg_nodes[index] if index < len(node.args) else node
        try:
            operands.append(_argument(ctx, called, param, value, arg_node, sizes, values))
        except ParserTypeError as error:
            if error.slug == "argument-type":
                error.hint = _swapped(ctx, called, args, node) or error.hint
            raise
    return _called(ctx, called, operands, sizes, ctx.span(node))


def _called(
    ctx: Context, called: Signature, operands: list[Expr], sizes: dict[Var, Expr], span: Span
) -> Call:
    """Return the call with operands that fit; ``sizes`` has the caller's symbolic dimensions."""
    bind_valid_sizes(ctx, called, operands, sizes, span)
    results = [_result(called, kind, operands, sizes) for kind in called.results]
    kind = _value_type(results)
    made = checked_call(GlobalVar(called.name), tuple(operands), NO_KEYWORDS, kind, span)
    _note_outputs(ctx, called, operands, made)
    return made


def _result(
    called: Signature, kind: Type, operands: Sequence[Expr], sizes: Mapping[Var, Expr]
) -> Type:
    """Return the type of a result, where the caller may name a size that is a number in ``kind``.

    That is so if a result is an argument, whose type it then has.
    """
    found = _with_sizes(kind, sizes)
    if isinstance(found, TensorType):
        for param, value in zip(called.params, operands, strict=True):
            if same_value_type(kind, param.type) and not same_value_type(found, value.type):
                return value.type
    return found


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
            arg_node = next((word for word in node.keywords if word.arg == key), node)
            raise ParserTypeError(
                f"{called.name} {problem} the parameter {key!r}",
                ctx.span(arg_node),
                hint=keyword_hint(key, left) or only,
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
            hint=_with_missing(ctx, missing, node) or _without_last(ctx, called, args, node),
            slug="argument-count",
        )
    return [values[name] for name in names]


def _with_missing(ctx: Context, missing: Sequence[str], node: ast.Call) -> str | None:
    """Suggest the call with the missing arguments, named like the parameters."""
    if not missing:
        return None
    words = [f"{name}={name}" for name in missing] if node.keywords else missing
    texts = [ctx.source.text(item) for item in (*node.args, *node.keywords)]
    return f"write {ctx.source.text(node.func)}({', '.join([*texts, *words])})"


def _without_last(
    ctx: Context, called: Signature, args: Sequence[Any], node: ast.Call
) -> str | None:
    """Suggest the call without surplus arguments, None if the others do not fit."""
    texts = [ctx.source.text(item) for item in node.args[: len(called.params)]]
    if node.keywords or not _fit(called, args[: len(texts)]):
        return None
    return f"write {ctx.source.text(node.func)}({', '.join(texts)})"


def _swapped(ctx: Context, called: Signature, args: Sequence[Any], node: ast.Call) -> str | None:
    """Suggest the only call with two arguments swapped that fits, None if there is not just one."""
    found: list[str] = []
    texts = [ctx.source.text(item) for item in node.args]
    for one, other in combinations(range(len(args)), 2):
        order = [*range(len(args))]
        order[one], order[other] = other, one
        if not node.keywords and _fit(called, [args[at] for at in order]):
            found.append(", ".join(texts[at] for at in order))
    return f"write {ctx.source.text(node.func)}({found[0]})" if len(found) == 1 else None


def _fit(called: Signature, values: Sequence[Any]) -> bool:
    """True if the values are IR and have the types of all parameters."""
    sizes: dict[Var, Expr] = {}
    return len(values) == len(called.params) and all(
        isinstance(value, Expr) and _accepts(param.type, value.type, sizes)
        for param, value in zip(called.params, values, strict=True)
    )


def _argument(
    ctx: Context,
    called: Signature,
    param: Var,
    value: Any,
    arg_node: ast.expr,
    sizes: dict[Var, Expr],
    values: Sequence[Any],
) -> Expr:
    dtype = param.type.dtype if isinstance(param.type, ScalarType) else None
    expr = value if isinstance(value, Expr) else ctx.as_expr(value, arg_node, dtype)
    if dtype is DataType.BOOL and isinstance(expr.type, ScalarType) and expr.type.dtype.is_int():
        expr = _flag(expr)
    if not _accepts(param.type, expr.type, sizes):
        if dtype is not None and isinstance(value, int | float) and _is_beyond(value, dtype):
            raise ParserTypeError(
                f"parameter {param.name!r} of {called.name}: {out_of_range_text(value, dtype)}",
                ctx.span(arg_node),
                hint=f"write {bounds(dtype)[value > 0]}",
                slug="constant-range",
            )
        known = _sizes_before(called, param, values)
        wanted, found = spell(_with_sizes(param.type, known)), spell(expr.type)
        part = wanted == found and not same_valid_part(param.type, expr.type)
        if part:
            wanted, found = spell_apart(param.type, expr.type)
        raise ParserTypeError(
            f"parameter {param.name!r} of {called.name} is {wanted}, got {found}",
            ctx.span(arg_node),
            hint=_argument_hint(ctx, param, expr, arg_node, values, known),
            slug="valid-shape" if part else "argument-type",
            related=[Label(param.span, "the parameter")] if param.span.begin_line > 0 else (),
        )
    return expr


def _flag(number: Expr) -> Expr:
    """Return a number as a flag: nonzero is true."""
    if isinstance(number, ConstInt):
        return ConstBool(number.value != 0, number.span)
    return Cast(number, DataType.BOOL, number.span)


def _sizes_before(called: Signature, param: Var, values: Sequence[Any]) -> dict[Var, Expr]:
    """Return the symbolic dimensions determined by the arguments before a parameter's."""
    sizes: dict[Var, Expr] = {}
    for other, value in zip(called.params, values, strict=True):
        if other is param:
            break
        if isinstance(value, Expr):
            _accepts(other.type, value.type, sizes)
    return sizes


def _is_beyond(value: float, dtype: DataType) -> bool:
    """True for a number of the right kind that is out of the range of ``dtype``."""
    return (isinstance(value, int) or not dtype.is_int()) and not holds(value, dtype)


def _argument_hint(
    ctx: Context,
    param: Var,
    found: Expr,
    arg_node: ast.expr,
    values: Sequence[Any],
    sizes: Mapping[Var, Expr],
) -> str | None:
    """Suggest the only other variable of the parameter's type, a cast, or the type found."""
    text = ctx.source.text(arg_node)
    passed = {value for value in values if isinstance(value, Var)}
    known = [v for v in ctx.names.values.values() if isinstance(v, Var) and v not in passed]
    fitting = [v.name for v in known if _accepts(param.type, v.type, {**sizes})]
    if param.name in fitting or len(fitting) == 1:
        return f"write {param.name if param.name in fitting else fitting[0]}"
    whole = valid_part(param.type) is None
    if same_value_type(param.type, found.type) and not same_valid_part(param.type, found.type):
        return f"write pl.fillpad({text})" if whole else None
    cast_code = cast_hint(param.type, found.type, text)
    if cast_code is not None or type(found.type) is not type(param.type):
        return cast_code
    declared, wanted = (annotation_text(kind) for kind in (param.type, found.type))
    return None if declared == wanted else f"declare {param.name}: pl.{wanted}"


def _accepts(wanted: Type, found: Type, sizes: dict[Var, Expr]) -> bool:
    """True if an argument has a parameter's type; also finds its symbolic dimensions."""
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
        # The value of a name is known, and then checked, when the program runs.
        return size is None or wanted.value == size or DYNAMIC_DIM in (wanted.value, size)
    if not isinstance(wanted, Var):
        return True  # an expression of dimensions is checked when the kernel is called
    known = sizes.setdefault(wanted, found)
    return known is found or same_dim(known, found)


def _with_sizes(kind: Type, sizes: Mapping[Var, Expr]) -> Type:
    """Return a result type with the caller's dimensions substituted for the callee's."""
    if not sizes or not isinstance(kind, TensorType | TileType):
        return kind
    return map_dims(kind, lambda dim: sizes.get(dim, dim) if isinstance(dim, Var) else dim)


def _note_outputs(ctx: Context, called: Signature, operands: Sequence[Expr], made: Call) -> None:
    """Note which outputs of the caller a call writes.

    A result is taken to be the buffer of the first written output argument of its type; of any
    written argument, if there are as many results as these. A function that declares no directions
    at all, as is allowed, is taken to write each of its tensors.
    """
    undirected = all(direction is ParamDirection.In for direction in called.directions)
    written = [
        (value.type, ctx.origins.get(value))
        for value, direction in zip(operands, called.directions, strict=True)
        if undirected or direction is not ParamDirection.In
    ]
    if not undirected:
        _note_swapped(ctx, called, made)
    passed = [pair for pair in written if pair[1] is not None]
    if not passed:
        return
    ctx.written.update(origin for _, origin in written if origin is not None)
    kinds = made.type.types if isinstance(made.type, TupleType) else (made.type,)
    left = written if len(kinds) == len(written) else passed
    found = [_take(left, kind) for kind in kinds]
    if isinstance(made.type, TupleType):
        ctx.parts[made] = found
    elif found[0] is not None:
        ctx.origins[made] = found[0]


def _note_swapped(ctx: Context, called: Signature, call: Call) -> None:
    """Note outputs not written so far that a call reads while it writes a non-output."""
    for read, value in enumerate(call.args):
        origin = ctx.origins.get(value)
        is_read = called.directions[read] is ParamDirection.In
        if origin is None or not is_read or origin in ctx.written:
            continue
        others = [
            at
            for at, other in enumerate(call.args)
            if called.directions[at] is not ParamDirection.In
            and ctx.origins.get(other) is None
            and same_value_type(other.type, value.type)
        ]
        if len(others) == 1:
            ctx.swapped.setdefault(origin, Swapped(called, call, read, others[0]))


def _take(passed: list[tuple[Type, Var | None]], wanted: Type) -> Var | None:
    for index, (kind, origin) in enumerate(passed):
        if same_value_type(kind, wanted):
            del passed[index]
            return origin
    return None
