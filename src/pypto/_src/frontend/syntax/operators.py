"""Operators: what Python's operators mean on scalars, tiles, tensors and Python objects.

Arithmetic on Python numbers is done at once; on tiles an operator is the op of that name.
"""

from __future__ import annotations

import ast
import operator
from ast import Constant
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pypto._src.errors import InvalidOperationError, ParserError, ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.effects import alone, held, held_before
from pypto._src.frontend.state.messages import (
    describe,
)
from pypto._src.frontend.state.scalar_promotion import combine
from pypto._src.frontend.syntax.calls import op_call, too_large
from pypto._src.frontend.syntax.scalar_calls import is_scalar
from pypto._src.ir import scalar_ops
from pypto._src.ir.array_types import ShapedType, TensorType, dtype_of
from pypto._src.ir.exprs import (
    COMPARISONS,
    And,
    BinaryExpr,
    ConstBool,
    Expr,
    Or,
    UnaryExpr,
    Var,
    const_value,
    unary,
)
from pypto._src.ir.op_params import TENSOR
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import IfStmt, Stmt, YieldStmt, seq
from pypto._src.ir.types import ScalarType
from pypto._src.lazy import lazy_module
from pypto._src.ops.unified import Unified, commutes, is_data, unified

if TYPE_CHECKING:
    from pypto._src.frontend.diagnose import operator_hints
else:
    operator_hints = lazy_module("pypto._src.frontend.diagnose.operator_hints")

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
_OF_MASKS: Final = ("&", "|")  # what NumPy writes for and and or of comparisons
_CMP_TYPES: Final = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def computed(ctx: Context, node: ast.expr, compute: Callable[..., Any], *args: Any) -> Any:
    """Compute with Python objects; an exception that is raised is an error of the kernel."""
    try:
        return compute(*args)
    except Exception as error:
        raise ParserTypeError(
            f"computing {ctx.source.text(node)!r} raises {type(error).__name__}: {error}",
            ctx.span(node),
            hint=getattr(error, "hint", None) or operator_hints.last_item(ctx, node, args),
            slug="constant-expression",
        ) from None


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
        InvalidOperationError: tiles or tensors have no such operator.
    """
    symbol, kind, python, name = BINARY[op]
    on_left, on_right = isinstance(left, Expr), isinstance(right, Expr)
    if (
        on_left
        and left.type.__class__ is ScalarType
        and kind is not None
        and (right.__class__ is int or (on_right and right.type.__class__ is ScalarType))
    ):  # most operands are
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
        hint = operator_hints.other_operator(ctx, node, symbol, left, right)
        raise operator_hints.no_operator(ctx, node, symbol, left, right, hint)
    if not is_scalar(left) or not is_scalar(right):
        raise operator_hints.no_operator(ctx, node, symbol, left, right)
    return _on_scalars(ctx, node, kind, symbol, left, right)


def _on_scalars(
    ctx: Context, node: Any, kind: type[BinaryExpr], symbol: str, left: Any, right: Any
) -> Expr:
    try:
        made = combine(kind, left, right, ctx.span(node))
    except TypeError as error:
        operator_hints.refuse_too_large(ctx, node, left, right)
        hint = operator_hints.common_cast(ctx, left, right) or operator_hints.integers_hint(
            ctx, node, symbol, left, right
        )
        raise ParserTypeError(
            str(error), ctx.span(node), hint=hint, slug="scalar-operands"
        ) from None
    if scalar_ops.BINARY[kind].divides and _is_zero(right):
        ctx.zero_divisions.append(made)
    return made


def _is_zero(value: Any) -> bool:
    """True for a number or constant that is zero."""
    return (const_value(value) if isinstance(value, Expr) else value) == 0


@cache
def _op_named(name: str) -> OpDef[..., Any] | Unified | None:
    """Return an operator's op, always as the same object, so that its calls have one form."""
    return unified(name)


def _on_tiles(ctx: Context, node: Any, symbol: str, name: str, left: Any, right: Any) -> Any:
    """Return the call of the op that an operator on tiles or tensors means."""
    op = _op_named(name) if name else None
    if op is None or not _exists_for(ctx, op, left if is_data(left) else right):
        hint = operator_hints.other_operator(ctx, node, symbol, left, right)
        raise operator_hints.no_operator(ctx, node, symbol, left, right, hint)
    args = (left, right)
    if not is_data(left):
        if not commutes(name):
            raise operator_hints.number_first(ctx, node, symbol, name, left, right)
        args = (right, left)
    try:
        return _op_call(ctx, op, args, {}, node)
    except ParserError as error:
        error.hint = error.hint or operator_hints.load_hint(ctx, node, symbol, left, right)
        if symbol in _OF_MASKS and error.slug == "element-type" and isinstance(node, ast.BinOp):
            sides = [node.left, node.right]
            error.hint = error.hint or operator_hints.of_masks(
                ctx, node, sides, symbol == "&", left, right
            )
        if error.slug == "element-type":
            error.hint = error.hint or operator_hints.of_integers(ctx, node, symbol, left, right)
        if error.slug == "argument-kind":  # it names an argument, which an operator does not have
            raise operator_hints.no_operator(ctx, node, symbol, left, right, error.hint) from None
        raise


def _op_call(
    ctx: Context,
    op: OpDef[..., Any] | Unified,
    args: Sequence[Any],
    words: dict[str, Any],
    node: Any,
) -> Any:
    """Return the call of an operator's op; in a region, what that call means there."""
    if ctx.region is None:
        return op_call(ctx, op, args, words, node)
    return ctx.region.call(ctx, op, args, words, node)


def _exists_for(ctx: Context, op: OpDef[..., Any] | Unified, value: Expr) -> bool:
    """True if an op of that name takes ``value`` first; the ops of all operators take tiles."""
    if ctx.region is not None or not isinstance(value.type, TensorType):
        return True
    ops = op.candidates if isinstance(op, Unified) else (op,)
    return any(each.params[0].kind == TENSOR for each in ops)


def unary_op(ctx: Context, node: ast.UnaryOp) -> Any:
    """Return what ``-value`` and the like mean."""
    value = ctx.value(node.operand)
    symbol, kind, python, name = UNARY[type(node.op)]
    if not isinstance(value, Expr):
        return computed(ctx, node, python, held(ctx, value, node))
    if is_data(value):
        op = _op_named(name) if name else None
        is_mask = isinstance(node.op, ast.Invert) and dtype_of(value).is_float()
        if op is None or is_mask or not _exists_for(ctx, op, value):
            hint = f"write {ctx.source.operand(node.operand)} * -1" if op is not None else None
            if is_mask or (isinstance(node.op, ast.Not) and not operator_hints.is_test(ctx, node)):
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


def bool_op(ctx: Context, node: ast.BoolOp) -> Any:
    """Return what ``and`` and ``or`` mean; for Python values, as in Python."""
    is_and = isinstance(node.op, ast.And)
    kind, symbol = (And, "and") if is_and else (Or, "or")
    value = ctx.value(node.values[0])
    for item in node.values[1:]:
        statements, other = alone(ctx, item)
        if is_data(value) or is_data(other):
            hint = operator_hints.of_masks(ctx, node, node.values, is_and, value, other)
            raise operator_hints.no_operator(ctx, node, symbol, value, other, hint)
        if not isinstance(value, Expr) and bool(value) is is_and:
            ctx.block += statements  # they always run
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
    """Return ``left and right`` if the right side needs statements, which run only if needed."""
    span, is_and, symbol = ctx.span(node), kind is And, "and" if kind is And else "or"
    known = ConstBool(not is_and, span)
    condition = left if isinstance(left, Expr) else ConstBool(bool(left), span)
    _on_scalars(ctx, node, kind, symbol, condition, right)  # refuses what is not a scalar
    value = _on_scalars(ctx, node, kind, symbol, ConstBool(is_and, span), right)
    run = seq([*statements, YieldStmt((value,), span)], span)
    skip = seq([YieldStmt((known,), span)], span)
    var = Var("_if_tmp", value.type, span)
    then, orelse = (run, skip) if is_and else (skip, run)
    ctx.block.append(IfStmt(condition, then, orelse, (var,), span))
    return var


def compare(ctx: Context, node: ast.Compare) -> Any:
    """Return what a comparison means."""
    if len(node.ops) > 1:
        symbols = [COMPARE[type(op)][0] for op in node.ops]
        raise operator_hints.chain(ctx, node, symbols)
    left, count = ctx.value(node.left), len(ctx.block)
    right = ctx.value(node.comparators[0])
    if len(ctx.block) > count:
        left = held_before(ctx, count, left, node)
    symbol, kind, python = COMPARE[type(node.ops[0])]
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        left, right = held(ctx, left, node), held(ctx, right, node)
        return computed(ctx, node, python, left, right)
    if kind is None or left is None or right is None:
        raise operator_hints.no_identity(ctx, node, symbol, left, right)
    if is_data(left) or is_data(right):
        return _compare_tiles(ctx, node, symbol, left, right)
    return _on_scalars(ctx, node, kind, symbol, left, right)


def _compare_tiles(ctx: Context, node: ast.Compare, symbol: str, left: Any, right: Any) -> Expr:
    """Return the op that a comparison with a tile means; a number may be on either side."""
    args, meant = (left, right), symbol
    if not is_data(left):
        args, meant = (right, left), _MIRRORED.get(symbol, symbol)
    op = _op_named("cmp" if is_data(args[1]) else "cmps")
    if op is None or not _exists_for(ctx, op, args[0]):
        raise operator_hints.no_operator(
            ctx, node, symbol, left, right, operator_hints.of_tiles(ctx, node, symbol)
        )
    return _op_call(ctx, op, args, {"cmp_type": _CMP_TYPES[meant]}, node)
