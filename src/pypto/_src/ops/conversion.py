"""How ops on tensors become ops on tiles: a registry of conversions, by the name of the op.

A conversion gets the operands with tiles in place of tensors and returns the value, with the
statements to run before it. `converted` is the one look-up, for whoever rewrites calls; which
calls those are, and where their tiles come from, is not known here. The last conversion that is
registered for an op counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType, promote
from pypto._src.errors import ConversionError, OpError, PyptoError
from pypto._src.ir.nodes import (
    Call,
    Cast,
    ConstFloat,
    ConstInt,
    Expr,
    Operand,
    TileType,
    Var,
    as_expr,
    const_value,
    dtype_of,
    same_dim,
    same_dims,
    static_shape,
)
from pypto._src.ir.opdef import OpDef, literal
from pypto._src.ir.stmts import AssignStmt, Stmt
from pypto._src.ops import elementwise, layout, memory, reduce, tensor_math
from pypto._src.ops.lookup import create_op_call, get_op
from pypto._src.ops.rules import broadcast, cast_steps

AnyOp = OpDef[..., Any]


class ConversionContext:
    """Collects the statements of one conversion."""

    def __init__(self, span: Span = UNKNOWN_SPAN) -> None:
        self.span = span
        self.stmts: list[Stmt] = []

    def let(self, name: str, value: Operand) -> Var:
        """Append an assignment of ``value`` to a new variable; return the variable."""
        expr = as_expr(value, self.span)
        var = Var(name, expr.type, self.span)
        self.emit(AssignStmt(var, expr, self.span))
        return var

    def emit(self, stmt: Stmt) -> None:
        """Append a statement."""
        self.stmts.append(stmt)


class Converted(NamedTuple):
    """What a call becomes: statements to run first, and its value."""

    stmts: tuple[Stmt, ...]
    value: Expr


Conversion = Callable[[ConversionContext, Sequence[Expr], Mapping[str, Any], Span], Expr]
"""Operands, keywords and place of a call to its value; statements go to the context."""

Custom = Callable[[list[Expr], list[tuple[str, Any]], Span], "Expr | tuple[list[Stmt], Expr]"]
"""Operands, keywords as pairs and place of a call to its value, or to statements and value."""

C = TypeVar("C", bound=Conversion)

CONVERSIONS: Final[dict[str, Conversion]] = {}
"""The conversions by the full name of the op that they replace."""


def op_conversion(from_op: str) -> Callable[[C], C]:
    """Return a decorator that makes ``fn(ctx, args, kwargs, span)`` the conversion of an op.

    Raises:
        OpError: there is no op ``from_op``.
    """
    name = get_op(from_op).name

    def register(function: C) -> C:
        CONVERSIONS[name] = function
        return function

    return register


def register_op_conversion(from_op: str, to_op: str) -> None:
    """Let calls of ``from_op`` become calls of ``to_op`` with the same arguments.

    Raises:
        OpError: there is no op of one of the names.
    """
    name = get_op(to_op).name

    def same(
        _ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        return create_op_call(name, args, kwargs, span)

    op_conversion(from_op)(same)


def register_op_conversion_custom(from_op: str, func: Custom) -> None:
    """Let calls of ``from_op`` become what ``func(args, [(key, value), ...], span)`` returns.

    That is an expression, or a list of statements and an expression.

    Raises:
        OpError: there is no op ``from_op``.
    """

    def custom(
        ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        made = func(list(args), list(kwargs.items()), span)
        if isinstance(made, Expr):
            return made
        stmts, value = _pair(made)
        for stmt in stmts:
            ctx.emit(stmt)
        return value

    op_conversion(from_op)(custom)


def _pair(made: Any) -> tuple[list[Stmt], Expr]:
    """Return statements and value; what is no such pair is taken for the value."""
    pair = isinstance(made, tuple) and len(cast("tuple[Any, ...]", made)) == 2
    return cast("tuple[list[Stmt], Expr]", made if pair else ([], made))


def has_op_conversion(from_op: str) -> bool:
    """True if the op with the full name ``from_op`` has a conversion."""
    return from_op in CONVERSIONS


def converted(call: Call, args: Sequence[Expr] | None = None) -> Converted | None:
    """Return what ``call`` becomes with operands ``args``, its own unless given; None for no entry.

    Raises:
        OpError: the block op refuses the operands; has the place of the call.
        ConversionError: the conversion returned no expression, or something else than statements.
    """
    conversion = CONVERSIONS.get(call.op.name)
    if conversion is None:
        return None
    context = ConversionContext(call.span)
    try:
        value: Any = conversion(
            context, call.args if args is None else args, call.kwargs, call.span
        )
    except PyptoError as error:
        raise error.at(call.span) from None
    if not isinstance(value, Expr):
        raise _wrong(call, "an expression", value)
    stmts: list[Any] = list(context.stmts)
    for stmt in stmts:
        if not isinstance(stmt, Stmt):
            raise _wrong(call, "statements", stmt)
    return Converted(tuple(stmts), value)


def _wrong(call: Call, wanted: str, found: object) -> ConversionError:
    return ConversionError(
        f"the conversion of {call.op.name} is to give {wanted}, got {type(found).__name__}",
        call.span,
        hint="return an Expr, or a list of Stmts and an Expr",
    )


# --------------------------------------------------------------------------------------------
# The conversions that are there from the start
# --------------------------------------------------------------------------------------------


def _tile_type(value: Expr) -> TileType:
    if not isinstance(value.type, TileType):
        raise OpError(
            f"an op on tiles was to be made, got a value of {type(value.type).__name__}",
            slug="argument-kind",
        )
    return value.type


def _name(value: Expr) -> str:
    return value.name if isinstance(value, Var) else "tile"


def _as_type(ctx: ConversionContext, tile: Expr, dtype: DataType) -> Expr:
    """Return a tile with elements of ``dtype``: itself, or cast step by step."""
    source = _tile_type(tile).dtype
    if source is dtype:
        return tile
    steps = cast_steps(source, dtype)
    if steps is None:
        return elementwise.cast.build((tile, dtype), {}, ctx.span)  # raises, in the op's words
    value = tile
    for step in steps:
        value = ctx.let(_name(tile), elementwise.cast.build((value, step), {}, ctx.span))
    return value


def _number(scalar: Expr, dtype: DataType, span: Span) -> Expr:
    """Return a scalar of element type ``dtype``."""
    if dtype_of(scalar) is dtype:
        return scalar
    if isinstance(scalar, ConstInt | ConstFloat):
        return literal(scalar.value, dtype, span)
    return Cast(scalar, dtype, span)


class _Spread(NamedTuple):
    """The block ops that do on a tile and a column, or a row, what an op does on two tiles."""

    column: AnyOp | None = None
    row: AnyOp | None = None
    commutes: bool = False


def _two_tiles(op: AnyOp, spread: _Spread) -> Conversion:
    """Return the conversion to a block op on two tiles of one element type and one shape.

    Where the instruction set has an op that spreads a column or a row, that one is taken; else
    the column or row is spread first.
    """

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], _kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        dtype = promote(*(_tile_type(arg).dtype for arg in args))
        lhs, rhs = (_as_type(ctx, arg, dtype) for arg in args)
        for whole, part in ((lhs, rhs), (rhs, lhs)):
            fitting = _spreading(spread, whole, part)
            if fitting is not None and (whole is lhs or spread.commutes):
                return fitting.build((whole, part), {}, span)
        shape = broadcast(_tile_type(lhs).shape, _tile_type(rhs).shape)
        if shape is not None and len(shape) == 2:
            lhs, rhs = _grown(ctx, lhs, shape), _grown(ctx, rhs, shape)
        return op.build((lhs, rhs), {}, span)

    return convert


def _spreading(spread: _Spread, whole: Expr, part: Expr) -> AnyOp | None:
    """Return the op that spreads ``part`` over ``whole``, None if there is none or no need."""
    a, b = _tile_type(whole).shape, _tile_type(part).shape
    if len(a) != 2 or len(b) != 2 or same_dims(a, b):
        return None
    if same_dim(a[0], b[0]) and const_value(b[1]) == 1:
        return spread.column
    return spread.row if same_dim(a[1], b[1]) and const_value(b[0]) == 1 else None


def _grown(ctx: ConversionContext, tile: Expr, shape: Sequence[Expr]) -> Expr:
    """Return a tile with its column, or its row, in each of the columns or rows of ``shape``."""
    value = tile
    for axis, times in ((1, reduce.row_expand_mul), (0, reduce.col_expand_mul)):
        kind = _tile_type(value)
        if len(kind.shape) != 2 or same_dim(kind.shape[axis], shape[axis]):
            continue
        sizes = list(kind.shape)
        sizes[axis] = shape[axis]
        ones = ctx.let("ones", memory.full.build((sizes, kind.dtype, 1), {}, ctx.span))
        spread = times.build((ones, value), {}, ctx.span)  # 1 * x is x, exactly
        value = ctx.let(_name(tile), spread)
    return value


def _tile_and_number(op: AnyOp) -> Conversion:
    """Return the conversion to a block op on a tile and a number, both of the promoted type."""

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], _kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        tile, scalar = args
        dtype = promote(_tile_type(tile).dtype, dtype_of(scalar))
        return op.build((_as_type(ctx, tile, dtype), _number(scalar, dtype, span)), {}, span)

    return convert


def _exp(
    ctx: ConversionContext, args: Sequence[Expr], _kwargs: Mapping[str, Any], span: Span
) -> Expr:
    (tile,) = args
    dtype = _tile_type(tile).dtype
    wide = dtype if dtype.is_float() else DataType.FP32
    return elementwise.exp.build((_as_type(ctx, tile, wide),), {}, span)


def _cast(
    _ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
) -> Expr:
    (tile,) = args
    if _tile_type(tile).dtype is kwargs["target_type"]:
        return tile
    return elementwise.cast.build((tile,), kwargs, span)


def _transpose(
    ctx: ConversionContext, args: Sequence[Expr], _kwargs: Mapping[str, Any], span: Span
) -> Expr:
    """Convert to the block op, which needs scratch."""
    tile, first, second = args
    kind = _tile_type(tile)
    sizes = static_shape(kind)
    if sizes is None or len(sizes) != 2:
        raise OpError(
            "pl.transpose of a tile wants two dimensions of constant size", slug="transpose-axes"
        )
    shape = layout.scratch_shape(sizes[::-1], kind.dtype)
    scratch = ctx.let("scratch", memory.create_tile.build((shape, kind.dtype), {}, span))
    return layout.transpose.build((tile, scratch, first, second), {}, span)


for _from, _to, _spread in (
    (tensor_math.add, elementwise.add, _Spread(reduce.row_expand_add, commutes=True)),
    (
        tensor_math.sub,
        elementwise.sub,
        _Spread(reduce.row_expand_sub, reduce.col_expand_sub),
    ),
    (
        tensor_math.mul,
        elementwise.mul,
        _Spread(reduce.row_expand_mul, reduce.col_expand_mul, commutes=True),
    ),
    (
        tensor_math.div,
        elementwise.div,
        _Spread(reduce.row_expand_div, reduce.col_expand_div),
    ),
    (tensor_math.maximum, elementwise.maximum, _Spread()),
):
    CONVERSIONS[_from.name] = _two_tiles(_to, _spread)

for _from, _to in (
    (tensor_math.add_scalar, elementwise.adds),
    (tensor_math.sub_scalar, elementwise.subs),
    (tensor_math.mul_scalar, elementwise.muls),
    (tensor_math.div_scalar, elementwise.divs),
):
    CONVERSIONS[_from.name] = _tile_and_number(_to)

CONVERSIONS[tensor_math.exp.name] = _exp
CONVERSIONS[tensor_math.cast.name] = _cast
CONVERSIONS[tensor_math.transpose.name] = _transpose
register_op_conversion(tensor_math.reshape.name, layout.reshape.name)
