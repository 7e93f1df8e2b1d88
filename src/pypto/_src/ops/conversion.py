"""How ops on tensors become ops on tiles: a registry of conversions, by the name of the op.

A conversion gets the operands with tiles in place of tensors and returns the value, with the
statements to run before it. `converted` is the single entry point for passes that rewrite calls;
which calls those are, and where their tiles come from, is not known here. The last conversion
registered for an op wins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType, promote
from pypto._src.errors import ConversionError, OpError, OpTypeError, PyptoError
from pypto._src.ir.array_types import TileType, dtype_of, static_shape
from pypto._src.ir.enums import CoreType, MemorySpace, PipeType
from pypto._src.ir.exprs import Call, Cast, ConstFloat, ConstInt, Expr, Operand, Var, as_expr
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.op_params import literal
from pypto._src.ir.opdef import OpDef, op_of, spelling
from pypto._src.ir.stmts import AssignStmt, Stmt
from pypto._src.lazy import lazy_module
from pypto._src.ops import elementwise, new_tiles, reduce, reshaping, tensor_math
from pypto._src.ops.lazy import axis_reductions
from pypto._src.ops.lookup import create_op_call, get_op
from pypto._src.ops.promotion import broadcasting, casts
from pypto._src.ops.promotion.operands import Promotion
from pypto._src.ops.rules.type_rules import broadcast, cast_steps
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

AnyOp = OpDef[..., Any]


class ConversionContext:
    """Collects the statements of one conversion."""

    def __init__(self, span: Span = UNKNOWN_SPAN, name: Callable[[str], str] | None = None) -> None:
        """Collect statements for ``span``; ``name`` maps wanted names of variables to new ones."""
        self.span = span
        self.stmts: list[Stmt] = []
        self._name = name

    def let(self, name: str, value: Operand) -> Var:
        """Append an assignment of ``value`` to a new variable; return the variable."""
        expr = as_expr(value, self.span)
        var = Var(name if self._name is None else self._name(name), expr.type, self.span)
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
"""Maps operands, keywords and span of a call to its value; statements go to the context."""

Custom = Callable[[list[Expr], list[tuple[str, Any]], Span], "Expr | tuple[list[Stmt], Expr]"]
"""Maps operands, keywords as pairs and span to the value, or to statements and the value."""

C = TypeVar("C", bound=Conversion)

CONVERSIONS: Final[dict[str, Conversion]] = {}
"""The conversions by the full name of the op that they replace."""


class Reduction(NamedTuple):
    """What a reduction becomes."""

    convert: Conversion
    joined: AnyOp  # the op on tensors that combines the results of two parts
    identity: Callable[[DataType], float]  # the identity of ``joined``: the result for no elements
    adds_up: bool = False  # partial results of 16-bit floats are kept in 32 bits


def zero(_dtype: DataType) -> float:
    """Return the identity of addition."""
    return 0


def one(_dtype: DataType) -> float:
    """Return the identity of multiplication."""
    return 1


REDUCTIONS: Final[dict[str, Reduction]] = {}
"""What reductions become unless another conversion is registered, by the name of the op."""


class Rewrite(NamedTuple):
    """An op on tensors that is rewritten to other ops on tensors."""

    parts: Callable[[Call, Callable[[str, Expr], Var]], Expr]
    """Returns the replacement of a call, given a function that binds a value to a new variable."""
    core: CoreType = CoreType.VECTOR


REWRITES: Final[dict[str, Rewrite]] = {}
"""The rewrites by the name of the op; they are applied before tiles are created."""


class Linewise(NamedTuple):
    """An op whose rows (-2) or columns (-1) each depend on the same ones of its operands only."""

    axis: int
    shared: frozenset[int] = frozenset()  # operands that every row or column needs as a whole


LINEWISE: Final[dict[str, Linewise]] = {}
"""Such ops by name: they run on some rows or columns at a time."""

Generator = Callable[[ConversionContext, Call, Sequence[int], Sequence[Expr]], Expr]
"""Maps a call, a tile's rows and columns, and its offset in the result to the tile's value."""

GENERATORS: Final[dict[str, Generator]] = {}
"""Ops that take no tensors: the function that computes a part of their result, by name."""


def op_conversion(from_op: str) -> Callable[[C], C]:
    """Return a decorator that makes ``fn(ctx, args, kwargs, span)`` the conversion of an op.

    Raises:
        OpError: there is no op named ``from_op``.
    """
    name = get_op(from_op).name

    def register(function: C) -> C:
        CONVERSIONS[name] = function
        return function

    return register


def register_op_conversion(from_op: str, to_op: str) -> None:
    """Convert calls of ``from_op`` to calls of ``to_op`` with the same arguments.

    Raises:
        OpError: there is no op with one of the names.
    """
    name = get_op(to_op).name

    def same(
        _ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        return create_op_call(name, args, kwargs, span)

    op_conversion(from_op)(same)


def register_op_conversion_custom(from_op: str, func: Custom) -> None:
    """Convert calls of ``from_op`` to what ``func(args, [(key, value), ...], span)`` returns.

    That is an expression, or a list of statements and an expression.

    Raises:
        OpError: there is no op named ``from_op``.
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
    """Return statements and value; anything but a pair is taken as the value."""
    pair = isinstance(made, tuple) and len(cast("tuple[Any, ...]", made)) == 2
    return cast("tuple[list[Stmt], Expr]", made if pair else ([], made))


def has_op_conversion(from_op: str) -> bool:
    """True if the op with the full name ``from_op`` has a conversion."""
    return from_op in CONVERSIONS


def converted(
    call: Call, args: Sequence[Expr] | None = None, name: Callable[[str], str] | None = None
) -> Converted | None:
    """Return what ``call`` becomes with ``args``, by default its own; None without a conversion.

    ``name`` maps the wanted name of a variable to a new one.

    Raises:
        OpError: the block op rejects the operands; has the span of the call.
        ConversionError: the conversion returned no expression, or something other than statements.
    """
    conversion = CONVERSIONS.get(call.op.name)
    return None if conversion is None else _applied(conversion, call, args, name)


def on_tiles(call: Call, args: Sequence[Expr], name: Callable[[str], str]) -> Converted:
    """Return what ``call`` becomes in a kernel, where reductions are converted too.

    Raises:
        OpError: the block op rejects the operands, or there is no conversion.
        ConversionError: the conversion returned no expression, or something other than statements.
    """
    reduction = REDUCTIONS.get(call.op.name)
    conversion = CONVERSIONS.get(call.op.name) or (reduction and reduction.convert)
    if conversion is None:
        raise OpError(f"{call.op.name} has no form on tiles", call.span, slug="unknown-op")
    try:
        return _applied(conversion, call, args, name)
    except OpError:  # once more, with tensor names in the error: users did not write the tiles
        pairs = zip(args, call.args, strict=False)
        with spelling({tile: user_name(each) for tile, each in pairs if isinstance(each, Var)}):
            return _applied(conversion, call, args, name)


def _applied(
    conversion: Conversion,
    call: Call,
    args: Sequence[Expr] | None,
    name: Callable[[str], str] | None,
) -> Converted:
    context = ConversionContext(call.span, name)
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


def core_of(call: Call) -> CoreType | None:
    """Return the core type that executes ``call``, None if any can: it computes no elements."""
    op = op_of(call)
    if op is None:
        return None
    if op.level == "tensor":
        if op is tensor_math.matmul:
            return CoreType.CUBE
        rewrite = REWRITES.get(op.name)
        if rewrite is not None:
            return rewrite.core
        work = any(op.name in each for each in (CONVERSIONS, REDUCTIONS, GENERATORS))
        return CoreType.VECTOR if work else None
    pipe = op.pipe_of(call)
    if pipe in (PipeType.M, PipeType.MTE1, PipeType.FIX):
        return CoreType.CUBE
    return CoreType.VECTOR if pipe is PipeType.V else None


def _wrong(call: Call, wanted: str, found: object) -> ConversionError:
    return ConversionError(
        f"the conversion of {call.op.name} is to give {wanted}, got {type(found).__name__}",
        call.span,
        hint="return an Expr, or a list of Stmts and an Expr",
    )


# --------------------------------------------------------------------------------------------
# The built-in conversions
# --------------------------------------------------------------------------------------------


def _tile_type(value: Expr) -> TileType:
    if not isinstance(value.type, TileType):
        raise OpTypeError(
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
    if casts.steps(source, dtype) is None:
        value = tile
        for step in cast_steps(source, dtype) or (dtype,):  # with no chain, cast raises
            value = ctx.let(_name(tile), elementwise.cast.build((value, step), {}, ctx.span))
        return value
    return casts.as_type(tile, dtype, ctx.let, {}, ctx.span, _name(tile))


def _number(scalar: Expr, dtype: DataType, span: Span) -> Expr:
    """Return a scalar of element type ``dtype``."""
    if dtype_of(scalar) is dtype:
        return scalar
    if isinstance(scalar, ConstInt | ConstFloat):
        return literal(scalar.value, dtype, span)
    return Cast(scalar, dtype, span)


def of_two_tiles(op: AnyOp) -> Conversion:
    """Return the conversion to a block op on two tiles of equal element type and shape.

    Where the instruction set has an op that broadcasts a column or a row, that op is used;
    otherwise the column or row is broadcast first.
    """

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        dtype = promote(*(_tile_type(arg).dtype for arg in args))
        lhs, rhs = (_as_type(ctx, arg, _working(op, dtype)) for arg in args)
        return _rounded(ctx, on_equal(ctx, lhs, rhs, kwargs, span), dtype)

    def on_equal(
        ctx: ConversionContext, lhs: Expr, rhs: Expr, kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        assert isinstance(op.promotion, Promotion)
        found = broadcasting.broadcast_alone(op.promotion.broadcast_ops, lhs, rhs, span)
        if found is not None:
            return found
        shape = broadcast(_tile_type(lhs).shape, _tile_type(rhs).shape)
        if shape is not None and len(shape) == 2:
            lhs, rhs = (broadcasting.grown(t, shape, ctx.let, span, _name(t)) for t in (lhs, rhs))
        return _named_scratch(ctx, op.build((lhs, rhs), kwargs, span))

    return convert


def _named_scratch(ctx: ConversionContext, call: Call) -> Call:
    """Return a call whose scratch tiles, created by the op itself, are bound to variables."""
    made = [ctx.let("scratch", arg) if isinstance(arg, Call) else arg for arg in call.args]
    return Call(call.op, made, call.kwargs, call.type, call.span)


def _working(op: AnyOp, dtype: DataType) -> DataType:
    """Return the type to compute in: ``dtype``, or FP32 for floats that ``op`` does not take."""
    return DataType.FP32 if dtype.is_float() and dtype not in op.dtypes else dtype


def _rounded(ctx: ConversionContext, value: Expr, dtype: DataType) -> Expr:
    """Return a result computed in FP32 as elements of ``dtype``, rounded once."""
    found = _tile_type(value).dtype
    if found is dtype or not (found.is_float() and dtype.is_float()):
        return value
    exact = ctx.let("exact", value)
    return elementwise.cast.build((exact, dtype), {"mode": "rint"}, ctx.span)


def of_tile_and_number(op: AnyOp) -> Conversion:
    """Return the conversion to a block op on a tile and a number, both of the promoted type."""

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        tile, scalar = args
        dtype = promote(_tile_type(tile).dtype, dtype_of(scalar))
        wide = _working(op, dtype)
        number = _number(scalar, dtype, span)
        if wide is not dtype:
            number = _widened(number, wide, span)
        value = op.build((_as_type(ctx, tile, wide), number), kwargs, span)
        return _rounded(ctx, _named_scratch(ctx, value), dtype)

    return convert


def _widened(number: Expr, dtype: DataType, span: Span) -> Expr:
    """Return a float scalar, rounded to its own type, in a wider type."""
    if not isinstance(number, ConstFloat):
        return Cast(number, dtype, span)
    rounded = float(np.asarray(number.value).astype(number.dtype.numpy))
    return ConstFloat(rounded, dtype, span)


class _Parts:
    """The `Let` of a decomposition in a conversion: it sees nothing of the program around."""

    def __init__(self, ctx: ConversionContext) -> None:
        self._ctx = ctx

    def __call__(self, name: str, value: Expr) -> Var:
        return self._ctx.let(name, value)

    def made(self, value: Expr) -> Call | None:
        return None

    def space(self, tile: Expr) -> MemorySpace | None:
        return None


def in_parts(op: AnyOp) -> Conversion:
    """Return the conversion to an op's decomposition, whose results all take on-chip memory."""
    assert op.decomposition is not None
    expand = op.decomposition

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], _kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        dtype = _tile_type(args[0]).dtype
        call = op.build((_as_type(ctx, args[0], _working(op, dtype)),), {}, span)
        return _rounded(ctx, expand(call, _Parts(ctx)) or call, dtype)

    return convert


def of_one_tile(op: AnyOp) -> Conversion:
    """Return the conversion to a block op, in FP32 where it does not take the element type."""

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], _kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        (tile,) = args
        dtype = _tile_type(tile).dtype
        wide = dtype if dtype in op.dtypes else DataType.FP32
        value = op.build((_as_type(ctx, tile, wide),), {}, span)
        return _rounded(ctx, value, dtype)

    return convert


def of_two_same_shape(op: AnyOp) -> Conversion:
    """Return the conversion to a block op on two tiles that already have the same shape."""

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        dtype = promote(*(_tile_type(arg).dtype for arg in args))
        both = [_as_type(ctx, arg, _working(op, dtype)) for arg in args]
        return _rounded(ctx, op.build(both, kwargs, span), dtype)

    return convert


def by_name(op: AnyOp, args: Sequence[Expr]) -> dict[str, Any]:
    """Return operands by parameter name; constant attributes may lie between the parameters."""
    return {param.name: arg for param, arg in zip(op.operands, args, strict=False)}


def linewise(op: AnyOp) -> Conversion:
    """Return the conversion to a block op with the same operands and its own scratch."""

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        return _named_scratch(ctx, op.build((), {**by_name(op, args), **kwargs}, span))

    return convert


def broadcasting_second(op: AnyOp) -> Conversion:
    """Return the conversion to an op that broadcasts its second operand to the first's shape."""

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], _kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        room, vector = args
        dtype = promote(_tile_type(room).dtype, _tile_type(vector).dtype)
        if _tile_type(room).dtype is not dtype:
            sizes = (_tile_type(room).shape, dtype)
            room = ctx.let("room", new_tiles.create_tile.build(sizes, {}, span))
        return _named_scratch(ctx, op.build((room, _as_type(ctx, vector, dtype)), {}, span))

    return convert


def _cast(
    _ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
) -> Expr:
    (tile,) = args
    if _tile_type(tile).dtype is kwargs["target_type"]:
        return tile
    return elementwise.cast.build((tile,), kwargs, span)


def along(op: AnyOp) -> Callable[[Expr, Span], Expr]:
    """Return a function that reduces the columns of a tile by an op that takes an axis."""
    return lambda tile, span: op.build((tile,), {"axis": 0, "keepdim": True}, span)


def reduction_form(row_op: AnyOp, columns: Callable[[Expr, Span], Expr]) -> Conversion:
    """Return the conversion of a reduction along the last dimension, or the first of two."""

    def convert(
        ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span
    ) -> Expr:
        dtype = _tile_type(args[0]).dtype
        tile = _as_type(ctx, args[0], _working(row_op, dtype))
        kind = _tile_type(tile)
        axis = kwargs.get("axis")
        axis = (-1 if axis is None else axis) % max(1, len(kind.shape))
        if axis != len(kind.shape) - 1 and len(kind.shape) == 2:
            value = columns(tile, span)
        elif axis == len(kind.shape) - 1:
            sizes = (kind.shape, kind.dtype)
            scratch = ctx.let("scratch", new_tiles.create_tile.build(sizes, {}, span))
            value = row_op.build((tile, scratch), {}, span)
        else:
            raise OpError(
                f"pl.{row_op.overload} of a tile reduces its last dimension, or the first of two",
                slug="axis",
            )
        value = _rounded(ctx, value, dtype)
        if kwargs.get("keep_dim") is not False:
            return value
        kept = [dim for index, dim in enumerate(kind.shape) if index != axis]
        whole = ctx.let(_name(tile), value)
        return reshaping.reshape.build((whole, kept), {}, span)

    return convert


def _transpose(
    ctx: ConversionContext, args: Sequence[Expr], _kwargs: Mapping[str, Any], span: Span
) -> Expr:
    """Convert to the block op, which needs a scratch tile."""
    tile, first, second = args
    kind = _tile_type(tile)
    sizes = static_shape(kind)
    if sizes is None or len(sizes) != 2:
        raise OpError(
            "pl.transpose of a tile needs two dimensions of constant size", slug="transpose-axes"
        )
    shape = reshaping.scratch_shape(sizes[::-1], kind.dtype)
    scratch = ctx.let("scratch", new_tiles.create_tile.build((shape, kind.dtype), {}, span))
    return reshaping.transpose.build((tile, scratch, first, second), {}, span)


for _from, _to in (
    (tensor_math.add, elementwise.add),
    (tensor_math.sub, elementwise.sub),
    (tensor_math.mul, elementwise.mul),
    (tensor_math.div, elementwise.div),
    (tensor_math.maximum, elementwise.maximum),
):
    CONVERSIONS[_from.name] = of_two_tiles(_to)

for _from, _to in (
    (tensor_math.add_scalar, elementwise.adds),
    (tensor_math.sub_scalar, elementwise.subs),
    (tensor_math.mul_scalar, elementwise.muls),
    (tensor_math.div_scalar, elementwise.divs),
):
    CONVERSIONS[_from.name] = of_tile_and_number(_to)

CONVERSIONS[tensor_math.exp.name] = of_one_tile(elementwise.exp)
CONVERSIONS[tensor_math.cast.name] = _cast
CONVERSIONS[tensor_math.transpose.name] = _transpose
register_op_conversion(tensor_math.reshape.name, reshaping.reshape.name)

REDUCTIONS[tensor_math.row_max.name] = Reduction(
    reduction_form(reduce.row_max, along(axis_reductions.max)),
    tensor_math.maximum,
    tensor_math.smallest,
)
REDUCTIONS[tensor_math.row_sum.name] = Reduction(
    reduction_form(reduce.row_sum, along(axis_reductions.sum)), tensor_math.add, zero, adds_up=True
)
