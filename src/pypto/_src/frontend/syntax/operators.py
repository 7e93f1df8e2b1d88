"""Operators: what Python's operators mean on scalars, tiles, tensors and Python objects.

Arithmetic between Python numbers is done at once; on tiles an operator is the op of its name.
"""

from __future__ import annotations

import ast
import math
import operator
from ast import Constant
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, cast

from pypto._src.dtypes import DataType, bounds, holds, not_held
from pypto._src.errors import InvalidOperationError, ParserError, ParserSyntaxError, ParserTypeError
from pypto._src.frontend.source.python_names import items_of
from pypto._src.frontend.state.context import Context, body_of, float_begin
from pypto._src.frontend.state.effects import alone, held, held_before
from pypto._src.frontend.state.messages import (
    as_full,
    describe,
    dtype_like,
    nearest,
    number_in,
    spell_dims,
)
from pypto._src.frontend.state.scalar_promotion import combine
from pypto._src.frontend.syntax.calls import op_call, too_large
from pypto._src.frontend.syntax.scalar_calls import is_scalar
from pypto._src.frontend.syntax.zero_divisions import DIVIDING, is_zero
from pypto._src.ir import scalar_ops
from pypto._src.ir.array_types import ShapedType, TensorType, TileType, dtype_of
from pypto._src.ir.exprs import (
    COMPARISONS,
    And,
    BinaryExpr,
    Call,
    ConstBool,
    Expr,
    Or,
    UnaryExpr,
    Var,
    unary,
)
from pypto._src.ir.opdef import TENSOR, OpDef
from pypto._src.ir.stmts import IfStmt, Stmt, YieldStmt
from pypto._src.ir.types import ScalarType
from pypto._src.ops import tensor
from pypto._src.ops.rules.boxes import elements
from pypto._src.ops.unified import Unified, commutes, is_data, unified

_Operator: TypeAlias = tuple[str, "type[BinaryExpr] | None", Callable[[Any, Any], Any], str]
_Python: Any = operator  # its functions are typed for some operands only


def _is_in(item: Any, container: Any) -> bool:
    return item in container


def _is_not_in(item: Any, container: Any) -> bool:
    return item not in container


# Python's spelling, the node on scalars, the operator on Python values, the unified op.
BINARY: Final[dict[type[ast.operator], _Operator]] = {
    **{
        getattr(ast, row.syntax): (node.symbol, node, row.python or node.fold, row.on_tiles)
        for node, row in scalar_ops.BINARY.items()
        if row.syntax and node not in COMPARISONS
    },
    ast.MatMult: ("@", None, _Python.matmul, "matmul"),
}
COMPARE: Final[dict[type[ast.cmpop], tuple[str, type[BinaryExpr] | None, Callable[..., Any]]]] = {
    **{
        getattr(ast, row.syntax): (node.symbol, node, row.python or node.fold)
        for node, row in scalar_ops.BINARY.items()
        if node in COMPARISONS
    },
    ast.Is: ("is", None, _Python.is_),
    ast.IsNot: ("is not", None, _Python.is_not),
    ast.In: ("in", None, _is_in),
    ast.NotIn: ("not in", None, _is_not_in),
}
UNARY: Final[dict[type[ast.unaryop], tuple[str, type[UnaryExpr] | None, Any, str]]] = {
    **{
        getattr(ast, row.syntax): (node.symbol.strip(), node, row.python or node.fold, row.on_tiles)
        for node, row in scalar_ops.UNARY.items()
        if row.syntax
    },
    ast.UAdd: ("+", None, _Python.pos, ""),
}
_OF_MASKS: Final = ("&", "|")  # in NumPy, what and and or are to comparisons
_MOST_LISTED: Final = 4  # items of a list that a hint writes out
_CMP_TYPES: Final = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def computed(ctx: Context, node: ast.expr, compute: Callable[..., Any], *args: Any) -> Any:
    """Compute with Python objects; what that raises is an error of the kernel."""
    try:
        return compute(*args)
    except Exception as error:
        raise ParserTypeError(
            f"computing {ctx.source.text(node)!r} raises {type(error).__name__}: {error}",
            ctx.span(node),
            hint=getattr(error, "hint", None) or _last_item(ctx, node, args),
            slug="constant-expression",
        ) from None


def _last_item(ctx: Context, node: ast.expr, args: Sequence[Any]) -> str | None:
    """Return the last item of a list that is read beyond its end, the key meant of a dict."""
    if not isinstance(node, ast.Subscript):
        return None
    text, (container, key) = ctx.source.text(node.value), args
    if isinstance(container, list | tuple) and container and isinstance(key, int):
        return f"write {text}[{len(cast('Sequence[Any]', container)) - 1}]"
    if isinstance(container, dict) and isinstance(key, str):
        meant = nearest(key, [k for k in cast("dict[Any, Any]", container) if isinstance(k, str)])
        return None if meant is None else f"write {text}[{meant!r}]"
    return None


def binary_op(ctx: Context, node: ast.BinOp) -> Any:
    """Return what ``left op right`` means."""
    chain = [node]  # a sum of many terms nests on the left; no recursion over them
    left = node.left
    while isinstance(left, ast.BinOp):
        chain.append(left)
        left = left.left
    forms, local = ctx.forms, ctx.names.values
    value = local.get(left.id) if isinstance(left, ast.Name) else None
    if value.__class__ is not Var:
        value = forms[left.__class__](ctx, left)
    while chain:
        link = chain.pop()
        item: Any = link.right
        count = len(ctx.block)
        right = item.value if item.__class__ is Constant else forms[item.__class__](ctx, item)
        if len(ctx.block) > count:
            value = held_before(ctx, count, value, link)
        value = apply_binary(ctx, link, link.op.__class__, value, right)
    return value


def apply_binary(
    ctx: Context, node: ast.expr | ast.AugAssign, op: type[ast.operator], left: Any, right: Any
) -> Any:
    """Return ``left op right`` for scalars, tiles, tensors or Python objects.

    Raises:
        ParserTypeError: scalars without a common type.
        InvalidOperationError: there is no such operator on tiles or tensors.
    """
    symbol, kind, python, name = BINARY[op]
    on_left, on_right = isinstance(left, Expr), isinstance(right, Expr)
    if (
        on_left
        and left.type.__class__ is ScalarType
        and kind is not None
        and (right.__class__ is int or (on_right and right.type.__class__ is ScalarType))
    ):  # most are
        return _on_scalars(ctx, node, kind, symbol, left, right)
    if not on_left and not on_right:
        from pypto._src.frontend.source.limits import is_huge_result

        if is_huge_result(op, left, right):
            raise too_large(ctx, node)
        left, right = held(ctx, left, node), held(ctx, right, node)
        return computed(ctx, node, python, left, right)  # pyright: ignore[reportArgumentType]
    if (on_left and isinstance(left.type, ShapedType)) or (
        on_right and isinstance(right.type, ShapedType)
    ):
        return _on_tiles(ctx, node, symbol, name, left, right)
    if kind is None:
        hint = _other_operator(ctx, node, symbol, left, right)
        raise _no_operator(ctx, node, symbol, left, right, hint)
    if not is_scalar(left) or not is_scalar(right):
        raise _no_operator(ctx, node, symbol, left, right)
    return _on_scalars(ctx, node, kind, symbol, left, right)


_POWERS: Final = {-1: "recip", -0.5: "rsqrt", 0.5: "sqrt"}
"""The ops that are a power of a tile."""
_ROOTED: Final = frozenset({DataType.FP16, DataType.FP32})
"""The elements that they take."""


def _other_operator(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return the operator that there is in place of one that there is not."""
    if isinstance(node, ast.AugAssign):
        operands, begin = (node.target, node.value), f"{ctx.source.text(node.target)} = "
    elif isinstance(node, ast.BinOp):
        operands, begin = (node.left, node.right), ""
    else:
        return None
    a, b = map(ctx.source.text, operands)
    meant = None
    if symbol == "@":
        meant = f"{a} * {b}"
    elif symbol == "//" and is_data(left) and left.type.dtype.is_float():
        return f"write {a} /= {b}" if begin else f"write {a} / {b}"
    elif symbol == "**" and isinstance(right, int | float):
        kind = getattr(left, "type", None)
        if right == 2 and isinstance(operands[0], ast.Name | ast.Subscript):
            meant = f"{a} * {a}"
        elif right in _POWERS and isinstance(kind, TileType) and kind.dtype in _ROOTED:
            meant = f"pl.{_POWERS[right]}({a})"
    elif symbol == "**" and isinstance(left, int | float) and left > 0 and _is_rooted(right):
        meant = f"pl.exp({ctx.source.operand(operands[1])} * {math.log(left)!r})"
    return None if meant is None else f"write {begin}{meant}"


def _is_rooted(value: Any) -> bool:
    """True for a tile or tensor of floats that ops on single elements take."""
    return is_data(value) and value.type.dtype in _ROOTED


def _on_scalars(
    ctx: Context, node: Any, kind: type[BinaryExpr], symbol: str, left: Any, right: Any
) -> Expr:
    try:
        made = combine(kind, left, right, ctx.span(node))
    except TypeError as error:
        _refuse_too_large(ctx, node, left, right)
        hint = common_cast(ctx, left, right) or _integers_hint(ctx, node, symbol, left, right)
        raise ParserTypeError(
            str(error), ctx.span(node), hint=hint, slug="scalar-operands"
        ) from None
    if kind in DIVIDING and is_zero(right):
        ctx.zero_divisions.append(made)
    return made


def _refuse_too_large(ctx: Context, node: Any, left: Any, right: Any) -> None:
    """Raise the error for a number that no constant beside the other operand can be."""
    from pypto._src.frontend.diagnose.fixits import sides

    for value, other, operand_node in zip((left, right), (right, left), sides(node), strict=False):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        beside_int = isinstance(value, int) and not (
            isinstance(other, Expr) and dtype_of(other).is_float()
        )
        dtype = DataType.INT64 if beside_int else DataType.FP32
        if not holds(value, dtype):
            raise ParserTypeError(
                not_held(value, dtype),
                ctx.span(operand_node),
                hint=f"write {bounds(dtype)[value > 0]}",
                slug="constant-range",
            )


def _integers_hint(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return an operator on integers with casts of the operands that are floats."""
    if not isinstance(node, ast.BinOp):
        return None
    texts: list[str] = []
    from pypto._src.frontend.diagnose.fixits import integer_text

    for value, operand_node in ((left, node.left), (right, node.right)):
        is_int = isinstance(value, int) or (isinstance(value, Expr) and dtype_of(value).is_int())
        text = ctx.source.operand(operand_node)
        texts.append(text if is_int else integer_text(ctx, operand_node, value))
    return f"write {f' {symbol} '.join(texts)}"


def common_cast(ctx: Context, left: Any, right: Any) -> str | None:
    """Return the cast that makes an integer and a float meet."""
    for side, other in ((left, right), (right, left)):
        if not isinstance(side, Expr) or not isinstance(side.type, ScalarType):
            continue
        wanted = getattr(other.type, "dtype", None) if isinstance(other, Expr) else None
        dtype = "FP32" if wanted is None else wanted.member
        floats = isinstance(other, float) or (wanted is not None and wanted.is_float())
        if side.type.dtype.is_int() and floats:
            name = getattr(side, "name", "...")
            return float_begin(ctx, side) or f"write pl.cast({name}, pl.{dtype})"
    return None


def _unquoted(ctx: Context, node: Any, left: Any, right: Any) -> str | None:
    """Return an operation with the number that a string beside the operator holds."""
    if not isinstance(node, ast.BinOp):
        return None
    whole = ctx.source.text(node)  # has brackets around an operand, which its own text has not
    for operand_node, value in ((node.left, left), (node.right, right)):
        number = number_in(value) if isinstance(value, str) else None
        text = ctx.source.text(operand_node)
        if number is not None and isinstance(operand_node, ast.Constant) and whole.count(text) == 1:
            return f"write {whole.replace(text, str(number))}"
    return None


def _no_operator(
    ctx: Context, node: Any, symbol: str, left: Any, right: Any, hint: str | None = None
) -> ParserError:
    return InvalidOperationError(
        f"there is no {symbol!r} between {describe(left)} and {describe(right)}",
        ctx.span(node),
        hint=hint
        or _unquoted(ctx, node, left, right)
        or _as_number(ctx, node, symbol, left, right)
        or _as_tile(ctx, node, symbol, left, right)
        or _as_parameter(ctx, node, left, right),
        slug="no-operator",
    )


def _as_number(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return an operation with a plain number for one of NumPy, or for True and False."""
    if not isinstance(node, ast.BinOp):
        return None
    texts = [ctx.source.operand(node.left), ctx.source.operand(node.right)]
    for at, value in enumerate((left, right)):
        if isinstance(value, bool):
            texts[at] = str(int(value))
        elif type(value).__module__ in ("numpy", "ml_dtypes") and getattr(value, "shape", 0) == ():
            texts[at] = repr(value.item())
        else:
            continue
        return f"write {texts[0]} {symbol} {texts[1]}"
    return None


def _as_tile(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return an operation with a tile for an array of equal elements that a kernel makes."""
    if not isinstance(node, ast.BinOp):
        return None
    pairs = (node.left, left, right), (node.right, right, left)
    for at, (operand_node, value, other) in enumerate(pairs):
        full = as_full(value, other.type.dtype) if is_data(other) else None
        if full is None or not _is_made_here(ctx, operand_node):
            continue
        if isinstance(operand_node, ast.Name):
            return f"begin with {operand_node.id} = {full}"
        texts = [ctx.source.operand(node.left), ctx.source.operand(node.right)]
        texts[at] = full
        return f"write {texts[0]} {symbol} {texts[1]}"
    return None


def _is_made_here(ctx: Context, node: ast.expr) -> bool:
    """True for an expression, and for a name that the kernel gives a value."""
    return not isinstance(node, ast.Name) or node.id in ctx.names.values


def _as_parameter(ctx: Context, node: Any, left: Any, right: Any) -> str | None:
    """Suggest a parameter for an array from outside of the kernel."""
    if not isinstance(node, ast.BinOp):
        return None
    for value, operand_node in ((left, node.left), (right, node.right)):
        dtype = dtype_like(getattr(value, "dtype", None))
        if isinstance(operand_node, ast.Name) and dtype is not None and hasattr(value, "__array__"):
            kind = f"pl.Tensor[{list(value.shape)}, pl.{dtype.member}]"
            return f"make it a parameter, {operand_node.id}: {kind}"
        count = _count_of_numbers(value)
        if count:
            name = operand_node.id if isinstance(operand_node, ast.Name) else "row"
            return f"make it a parameter, {name}: pl.Tensor[[1, {count}], pl.FP32]"
    return None


def _count_of_numbers(value: Any) -> int:
    """Return how many numbers a list of numbers has, 0 for anything else."""
    items = items_of(value) or ()
    return len(items) if all(isinstance(item, int | float) for item in items) else 0


@cache
def _op_named(name: str) -> OpDef[..., Any] | Unified | None:
    """Return the op that an operator stands for: one object, so that its calls have one form."""
    return unified(name)


def _on_tiles(ctx: Context, node: Any, symbol: str, name: str, left: Any, right: Any) -> Any:
    """Return the op that an operator on tiles or tensors means."""
    op = _op_named(name) if name else None
    if op is None or not _exists_for(ctx, op, left if is_data(left) else right):
        hint = _other_operator(ctx, node, symbol, left, right)
        raise _no_operator(ctx, node, symbol, left, right, hint)
    args = (left, right)
    if not is_data(left):
        if not commutes(name):
            raise _number_first(ctx, node, symbol, name, left, right)
        args = (right, left)
    try:
        return _op_call(ctx, op, args, {}, node)
    except ParserError as error:
        error.hint = error.hint or _load_hint(ctx, node, symbol, left, right)
        if symbol in _OF_MASKS and error.slug == "element-type" and isinstance(node, ast.BinOp):
            sides = [node.left, node.right]
            error.hint = error.hint or _of_masks(ctx, sides, symbol == "&", left, right)
        if error.slug == "argument-kind":  # which names an argument; an operator has none
            raise _no_operator(ctx, node, symbol, left, right, error.hint) from None
        raise


def _load_hint(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return the slice that makes a tile of the tensor beside a tile."""
    if not (is_data(left) and is_data(right) and isinstance(node, ast.BinOp)):
        return None
    if isinstance(left.type, TensorType) == isinstance(right.type, TensorType):
        return None
    is_left = isinstance(left.type, TensorType)
    operand_node, value = (node.left, left) if is_left else (node.right, right)
    from pypto._src.frontend.state.roles import computes_with_tiles

    if not computes_with_tiles(ctx.home):
        loaded = _as_load(ctx, operand_node, value)
        other = ctx.source.operand(node.right if is_left else node.left)
        texts = (loaded, other) if is_left else (other, loaded)
        return None if loaded is None else f"write {texts[0]} {symbol} {texts[1]}"
    return (
        f"write {ctx.source.text(operand_node)}[:]" if isinstance(operand_node, ast.Name) else None
    )


def _as_load(ctx: Context, node: ast.expr, value: Expr) -> str | None:
    """Return the load of a tensor or of a part of one, as ``pl.incore`` regions have it."""
    assert isinstance(value.type, ShapedType)
    whole, begins = node, f"[{', '.join(['0'] * len(value.type.shape))}]"
    if isinstance(value, Call) and value.op is tensor.view and isinstance(node, ast.Subscript):
        whole, begins = node.value, spell_dims(elements(value.args[2]))
    if not isinstance(whole, ast.Name):
        return None
    return f"pl.load({whole.id}, {begins}, {spell_dims(value.type.shape)})"


def _op_call(
    ctx: Context,
    op: OpDef[..., Any] | Unified,
    args: Sequence[Any],
    words: dict[str, Any],
    node: Any,
) -> Any:
    """Return the call of an op that an operator stands for: in a region, what its call is there."""
    if ctx.region is None:
        return op_call(ctx, op, args, words, node)
    return ctx.region.call(ctx, op, args, words, node)


def _exists_for(ctx: Context, op: OpDef[..., Any] | Unified, value: Expr) -> bool:
    """True if an op of that name takes ``value`` first; every operator's op takes tiles."""
    if ctx.region is not None or not isinstance(value.type, TensorType):
        return True
    ops = op.candidates if isinstance(op, Unified) else (op,)
    return any(each.params[0].kind == TENSOR for each in ops)


def _number_first(
    ctx: Context, node: Any, symbol: str, name: str, left: Any, right: Any
) -> ParserError:
    error = _no_operator(ctx, node, symbol, left, right)
    if isinstance(node, ast.BinOp):
        number_text, tile = ctx.source.text(node.left), ctx.source.text(node.right)
        is_tile = isinstance(right.type, TileType)
        if name == "sub":
            negated = f"pl.neg({tile})" if is_tile else f"{ctx.source.operand(node.right)} * -1"
            error.hint = f"write {negated} + {number_text}"
        if name == "div" and is_tile and right.type.dtype.is_float():
            times = "" if left == 1 else f" * {number_text}"
            error.hint = f"write pl.recip({tile}){times}"
    return error


def unary_op(ctx: Context, node: ast.UnaryOp) -> Any:
    """Return what ``-value`` and its kin mean."""
    value = ctx.value(node.operand)
    symbol, kind, python, name = UNARY[type(node.op)]
    if not isinstance(value, Expr):
        return computed(ctx, node, python, held(ctx, value, node))
    if is_data(value):
        op = _op_named(name) if name else None
        is_mask = isinstance(node.op, ast.Invert) and dtype_of(value).is_float()
        if op is None or is_mask or not _exists_for(ctx, op, value):
            hint = f"write {ctx.source.operand(node.operand)} * -1" if op is not None else None
            if is_mask or (isinstance(node.op, ast.Not) and not _is_test(ctx, node)):
                hint = f"write {ctx.source.operand(node.operand)} == 0"
            raise InvalidOperationError(
                f"there is no {symbol!r} of {describe(value)}",
                ctx.span(node),
                hint=hint,
                slug="no-operator",
            )
        return _op_call(ctx, op, (value,), {}, node)
    if kind is None:
        return value
    try:
        return unary(kind, value, ctx.span(node))
    except TypeError as error:
        raise ParserTypeError(str(error), ctx.span(node), slug="scalar-operands") from None


def _is_test(ctx: Context, node: ast.expr) -> bool:
    """True for the condition of a branch or loop, which no tile can be."""
    around = (each for each in ast.walk(ctx.home.node) if isinstance(each, ast.If | ast.While))
    return any(each.test is node for each in around)


def bool_op(ctx: Context, node: ast.BoolOp) -> Any:
    """Return what ``and`` and ``or`` mean; of Python values, what Python takes them for."""
    is_and = isinstance(node.op, ast.And)
    kind, symbol = (And, "and") if is_and else (Or, "or")
    value = ctx.value(node.values[0])
    for item in node.values[1:]:
        statements, other = alone(ctx, item)
        if is_data(value) or is_data(other):
            hint = _of_masks(ctx, node.values, is_and, value, other)
            raise _no_operator(ctx, node, symbol, value, other, hint)
        if not isinstance(value, Expr) and bool(value) is is_and:
            ctx.block += statements  # which run always
        elif statements:
            value = _skipped(ctx, node, kind, value, statements, other)
            continue
        if isinstance(value, Expr) or isinstance(other, Expr):
            value = _on_scalars(ctx, node, kind, symbol, value, other)
        else:
            value = held(ctx, value, node)
            value = (value and other) if is_and else (value or other)
    return value


def _skipped(
    ctx: Context,
    node: ast.BoolOp,
    kind: type[BinaryExpr],
    left: Any,
    statements: list[Stmt],
    right: Any,
) -> Expr:
    """Return ``left and right`` where the right side takes statements, run if the left says so."""
    span, is_and, symbol = ctx.span(node), kind is And, "and" if kind is And else "or"
    known = ConstBool(not is_and, span)
    condition = left if isinstance(left, Expr) else ConstBool(bool(left), span)
    _on_scalars(ctx, node, kind, symbol, condition, right)  # which refuses what is no scalar
    value = _on_scalars(ctx, node, kind, symbol, ConstBool(is_and, span), right)
    run = body_of([*statements, YieldStmt((value,), span)], span)
    skip = body_of([YieldStmt((known,), span)], span)
    var = Var("_if_tmp", value.type, span)
    then, orelse = (run, skip) if is_and else (skip, run)
    ctx.block.append(IfStmt(condition, then, orelse, (var,), span))
    return var


def _of_masks(
    ctx: Context, values: Sequence[ast.expr], is_and: bool, left: Any, right: Any
) -> str | None:
    """Return what ``and`` and ``or`` are on two comparisons of tiles, which are 1 or 0."""
    kinds = [getattr(each, "type", None) for each in (left, right)]
    dtypes = [kind.dtype for kind in kinds if isinstance(kind, TileType)]
    if len(values) != 2 or len(dtypes) != 2 or dtypes[0] is not dtypes[1]:
        return None
    masks = [
        ctx.source.text(value)
        if isinstance(value, ast.Compare)
        else f"{ctx.source.operand(value)} != 0"
        for value in values
    ]
    if is_and:
        return f"write {' * '.join(f'({mask})' for mask in masks)}"
    return f"write max({', '.join(masks)})"


def compare(ctx: Context, node: ast.Compare) -> Any:
    """Return what a comparison means."""
    if len(node.ops) > 1:
        raise _chain(ctx, node)
    left, count = ctx.value(node.left), len(ctx.block)
    right = ctx.value(node.comparators[0])
    if len(ctx.block) > count:
        left = held_before(ctx, count, left, node)
    symbol, kind, python = COMPARE[type(node.ops[0])]
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        left, right = held(ctx, left, node), held(ctx, right, node)
        return computed(ctx, node, python, left, right)
    if kind is None:
        raise _no_identity(ctx, node, symbol, left, right)
    if is_data(left) or is_data(right):
        return _compare_tiles(ctx, node, symbol, left, right)
    return _on_scalars(ctx, node, kind, symbol, left, right)


def _no_identity(
    ctx: Context, node: ast.Compare, symbol: str, left: Any, right: Any
) -> ParserError:
    """Return the error for ``is`` and ``in``, with the comparisons that they mean."""
    error = _no_operator(ctx, node, symbol, left, right)
    text, items = ctx.source.text(node.left), node.comparators[0]
    equal, word = ("!=", "and") if "not" in symbol else ("==", "or")
    if isinstance(items, ast.List | ast.Tuple) and 0 < len(items.elts) <= _MOST_LISTED:
        links = [f"{text} {equal} {ctx.source.text(item)}" for item in items.elts]
        error.hint = f"write {f' {word} '.join(links)}"
    elif isinstance(right, Expr):
        error.hint = f"write {text} {equal} {ctx.source.text(items)}"
    elif right is None:
        error.hint = f"leave the test out: {text} is never None"
    return error


def _compare_tiles(ctx: Context, node: ast.Compare, symbol: str, left: Any, right: Any) -> Expr:
    """Return the op that a comparison with a tile means; a number may stand on either side."""
    args, meant = (left, right), symbol
    if not is_data(left):
        args, meant = (right, left), _MIRRORED.get(symbol, symbol)
    op = _op_named("cmp" if is_data(args[1]) else "cmps")
    if op is None or not _exists_for(ctx, op, args[0]):
        raise _no_operator(ctx, node, symbol, left, right, _of_tiles(ctx, node))
    return _op_call(ctx, op, args, {"cmp_type": _CMP_TYPES[meant]}, node)


def _of_tiles(ctx: Context, node: ast.Compare) -> str:
    """Return a comparison of the tiles that tensors hold, or where such a one may stand."""
    from pypto._src.frontend.state.roles import computes_with_tiles

    if ctx.launches_regions:
        return "write it inside with pl.at(level=pl.Level.CORE_GROUP):"
    sides = [node.left, node.comparators[0]]
    if not computes_with_tiles(ctx.home):
        made = [
            _as_load(ctx, p, ctx.value(p)) if is_data(ctx.value(p)) else ctx.source.text(p)
            for p in sides
        ]
        symbol = COMPARE[type(node.ops[0])][0]
        if None in made:
            return "write it in an InCore function, or inside with pl.incore():"
        return f"inside with pl.incore():, write {made[0]} {symbol} {made[1]}"
    tensors = [isinstance(getattr(ctx.value(p), "type", None), TensorType) for p in sides]
    texts = [
        f"{ctx.source.text(p)}[:]" if t else ctx.source.text(p)
        for p, t in zip(sides, tensors, strict=True)
    ]
    return f"write {texts[0]} {COMPARE[type(node.ops[0])][0]} {texts[1]}"


def _chain(ctx: Context, node: ast.Compare) -> ParserError:
    operands = [ctx.source.text(item) for item in (node.left, *node.comparators)]
    symbols = [COMPARE[type(op)][0] for op in node.ops]
    links = [
        f"{a} {symbol} {b}" for a, symbol, b in zip(operands, symbols, operands[1:], strict=False)
    ]
    return ParserSyntaxError(
        "comparisons cannot be chained",
        ctx.span(node),
        hint=f"write {' and '.join(links)}",
        slug="comparison-chain",
    )
