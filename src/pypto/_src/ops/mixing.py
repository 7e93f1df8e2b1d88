"""Tiles of several element types or shapes as operands of one op.

Operands are converted to the promoted element type (`dtypes.promote`) and broadcast, then the op
works on equal ones. The vector unit does neither by itself: `Mixing.parts` gives the casts and
spreads that such a call stands for, which LegalizeTiles puts in its place. What the type rule takes
is what these parts are made of, for it makes them; so the chip executes whatever has a type.

A conversion is in one step, or in steps that are exact but for the last; between integers of one
width it reads the same bytes. A shift keeps the element type of what it shifts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType, promote
from pypto._src.errors import EmitError, OpError
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import (
    Call,
    Cast,
    ConstFloat,
    ConstInt,
    Expr,
    MakeTuple,
    TileType,
    Type,
    Var,
    const_value,
    dtype_of,
    same_dim,
    same_dims,
    valid_part,
)
from pypto._src.ir.opdef import Let, OpDef, Operands, literal
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.layout import reread, reshape
from pypto._src.ops.memory import create_tile, full
from pypto._src.ops.rules import (
    broadcast,
    called,
    cast_operand,
    cast_steps,
    check_operands,
    check_same_dtype,
    check_same_shape,
    check_spaces,
    members,
    operand_label,
    operand_name,
    refuse,
    why_not,
)
from pypto._src.ops.unsigned import SIGNED_OF

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
    AnyOp = OpDef[..., Any]
else:
    np = lazy_module("numpy")

D = DataType
_DIGITS: Final = {D.FP32: 24, D.FP16: 11, D.BF16: 8}
"""How many bits of an integer a float holds."""


Naming = Callable[[str, Expr], Var]
"""Gives a value a name, in front of what is made."""


class Spread(NamedTuple):
    """Names of block ops that do on a tile and a column, or a row, what an op does on two tiles."""

    column: str | None = None
    row: str | None = None
    commutes: bool = False
    opposite: str | None = None
    """What does the same on a tile and a row times -1, exactly; a sum is such a difference."""


_NO_SPREAD: Final = Spread()


class Mixing:
    """Which operands of an op may differ, and what a call stands for where they do."""

    def __init__(
        self,
        *operands: int,
        spread: Spread = _NO_SPREAD,
        broadcasts: bool = True,
        keeps_first: bool = False,
        number: int | None = None,
    ) -> None:
        """Say which operands may differ.

        Args:
            operands: Places of tiles that are converted to one type and broadcast.
            spread: The ops that take a column or a row as it is.
            broadcasts: False where the op itself spreads an operand.
            keeps_first: The element type is that of the first, and is not narrower than the others.
            number: The place of a number that has the element type of the first.
        """
        self.operands: Final = operands
        self.spread: Final = spread
        self._broadcasts = broadcasts
        self._keeps_first = keeps_first
        self._number = number

    def differ(self, args: Sequence[Expr]) -> bool:
        """True if tiles among the operands of a call have several element types or shapes."""
        first, *others = self.operands
        kind: Any = args[first].type
        for at in others:
            other: Any = args[at].type
            if other is kind:
                continue
            if other.dtype is not kind.dtype:
                return True
            shape = other.shape
            if self._broadcasts and shape is not kind.shape and not same_dims(shape, kind.shape):
                return True
        return False

    # ----- types --------------------------------------------------------------------------------

    def type_of(self, o: Operands) -> Type | None:
        """Return the type of a call whose operands differ, None if they do not.

        Raises:
            OpError: there is no conversion, or nothing that spreads an operand.
        """
        if not self.differ(o.args):
            return None
        check_spaces(o)
        dtype, shape = self._element(o), self._shape(o)
        if any(valid_part(o.tile(at)) is not None for at in self.operands):
            if o.op.valid is None:
                return TileType(shape, dtype)  # the op refuses it
            if all(same_dims(o.tile(at).shape, shape) for at in self.operands):
                o.op.valid(o, TileType(shape, dtype))
        self._check_conversions(o, dtype)
        if self._number is not None and promote(dtype, dtype_of(o.args[self._number])) is not dtype:
            check_same_dtype(o, self.operands[0], self._number)
        try:
            return self._equal(o.op, o.args, o.kwargs, _Dry(), UNKNOWN_SPAN).type
        except OpError as error:
            if self._broadcasts and error.slug == "valid-shape":
                self._refuse_part(o)
            self._check_as_equal(o, dtype, shape)
            if not self._broadcasts:
                raise
            first, *others = self.operands
            for other in others:
                check_same_shape(o, first, other)
            raise

    def _check_as_equal(self, o: Operands, dtype: DataType, shape: Sequence[Expr]) -> None:
        """Raise what the op says of equal tiles, in the names of the operands as they are."""
        args = list(o.args)
        for at in self.operands:
            kind, name, old = o.tile(at), operand_name(o, at), o.args[at]
            span = old.span if isinstance(old, Var) else UNKNOWN_SPAN
            if self._broadcasts and not same_dims(kind.shape, shape):
                kind, name, span = TileType(shape, dtype), "the result", UNKNOWN_SPAN
            args[at] = Var(name, TileType(kind.shape, dtype, tile_view=kind.tile_view), span)
        for at in o.op.writes:
            args[at] = Var(operand_name(o, at), _tile(args[self.operands[0]]))
        if self._number is not None:
            args[self._number] = as_number(args[self._number], dtype, UNKNOWN_SPAN)
        try:
            o.op.type_of(Operands(o.op, tuple(args), o.kwargs))
        except OpError as error:
            error.label = error.label and operand_label(o)  # not their types once converted
            raise

    def _refuse_part(self, o: Operands) -> None:
        """Refuse partly valid tiles of several shapes, which nothing spreads."""
        first, *others = self.operands
        if all(same_dims(o.tile(at).shape, o.tile(first).shape) for at in others):
            return
        at = next(at for at in self.operands if valid_part(o.tile(at)) is not None)
        name = operand_name(o, at)
        raise OpError(
            f"{called(o.op)} spreads a column or row over tiles that are valid throughout, "
            f"{name} is valid in part",
            hint=f"pl.fillpad({name}) is a whole tile with zeros in the rest",
            slug="valid-shape",
        )

    def _kinds(self, args: Sequence[Expr]) -> list[TileType]:
        kinds: list[Any] = [args[at].type for at in self.operands]
        return kinds

    def _target(self, args: Sequence[Expr]) -> DataType:
        """Return the element type that the operands are converted to."""
        dtypes = [kind.dtype for kind in self._kinds(args)]
        return dtypes[0] if self._keeps_first else reduce(promote, dtypes)

    def _element(self, o: Operands) -> DataType:
        """Return the element type of the result, after a check that the op takes it."""
        dtype = self._target(o.args)
        integers = not any(each.is_float() for each in o.op.dtypes)
        found = [kind.dtype for kind in self._kinds(o.args)]
        other = any(why_not(each) or (integers and each.is_float()) for each in found)
        if other or dtype not in o.op.dtypes:
            check_operands(o)
        return dtype

    def _shape(self, o: Operands) -> Sequence[Expr]:
        """Return the shape of the result."""
        first, *others = self.operands
        shape: Sequence[Expr] = o.tile(first).shape
        if not self._broadcasts:
            return shape
        for at in others:
            found = broadcast(shape, o.tile(at).shape)
            if found is None:
                check_same_shape(o, first, at)
            shape = found or shape
        return shape

    def _check_conversions(self, o: Operands, dtype: DataType) -> None:
        for at in self.operands:
            source = o.tile(at).dtype
            narrows = self._keeps_first and source.get_bit() > dtype.get_bit()
            chain = None if narrows else steps(source, dtype)
            if chain is not None:
                if any(map(_rereads, (source, *chain), chain)):
                    _check_whole(o.tile(at), dtype, operand_name(o, at))
                continue
            name = operand_name(o, at)
            other = next(i for i in self.operands if o.tile(i).dtype is dtype)
            shown = sorted({at, other})
            refuse(
                o,
                f"operands of {called(o.op)} have different element types",
                "dtype-mismatch",
                cast_operand(o, at, dtype)
                or f"give {name} elements of {dtype.member} in the tensor that it is loaded from",
                f"the result has elements of {dtype.member}, and {source.member} is not converted "
                "to it without a loss"
                if cast_operand(o, at, dtype)
                else f"the A2/A3 chip does not convert {source.member} to {members((dtype,))}",
                shown=shown,
            )

    # ----- what stands in place of a call -------------------------------------------------------

    def parts(self, call: Call, let: Let) -> Call | None:
        """Return what a call on tiles that differ stands for: the op on equal ones; else None.

            y = add(a, b)  ->  w = cast(b); y = add(a, w)
            y = add(a, c)  ->  y = row_expand_add(a, c)

        Raises:
            OpError: nothing does; `type_of` refuses such operands.
        """
        if not self.differ(call.args):
            return None
        op: Any = call.op
        return self._equal(op, call.args, call.kwargs, let, call.span)

    def _equal(
        self,
        op: AnyOp,
        args: Sequence[Expr],
        kwargs: Mapping[str, Any],
        let: Let,
        span: Span,
    ) -> Call:
        dtype = self._target(args)
        new = list(args)
        for at in self.operands:
            if at in op.reads:
                new[at] = as_type(new[at], dtype, let, {"mode": "rint"}, span, "wide")
            elif _tile(new[at]).dtype is not dtype:
                new[at] = _room(_tile(new[at]).shape, dtype, let, span)
        if self._number is not None:
            new[self._number] = as_number(new[self._number], dtype, span)
        if self._broadcasts:
            first, second = (new[at] for at in self.operands[:2])
            found = spread_alone(self.spread, first, second, span)
            if found is None:
                found = _opposite(self.spread, first, second, let, span)
            if found is not None:
                return found
            shape = reduce(_common, [_tile(new[at]).shape for at in self.operands])
            for at in self.operands:
                new[at] = grown(new[at], shape, let, span, "spread")
        kind = _tile(new[self.operands[0]])
        for at in op.writes:
            if not _is_like(new[at], kind):
                new[at] = _room(kind.shape, dtype, let, span)
        return op.call(new, kwargs, span)

    # ----- the meaning on arrays ----------------------------------------------------------------

    def meaning(self, call: Call, compute: Callable[..., Any]) -> Callable[..., Any]:
        """Return what a call computes on arrays, given what the op does on equal ones."""
        if not self.differ(call.args):
            return compute
        dtype = self._target(call.args)
        chains = [
            (at, steps(k.dtype, dtype))
            for at, k in zip(self.operands, self._kinds(call.args), strict=True)
        ]
        broadcasts = self._broadcasts

        def run(*values: Any, **kwargs: Any) -> Any:
            new = list(values)
            for at, chain in chains:
                new[at] = _converted(new[at], chain or ())
            if broadcasts:
                equal = np.broadcast_arrays(*[new[at] for at, _ in chains])
                for (at, _), array in zip(chains, equal, strict=True):
                    new[at] = array
            return compute(*new, **kwargs)

        return run


def check_equal(op: AnyOp, call: Call) -> None:
    """Check that a call is one instruction.

    Raises:
        EmitError: its tiles have several element types or shapes.
    """
    if op.mixing is not None and op.mixing.differ(call.args):
        raise EmitError(
            f"{op.name} of tiles with several element types or shapes is several instructions",
            hint="run passes.legalize_tiles() first",
            slug="emit-op",
        )


class _Dry:
    """A `Let` of no program: what is made is looked at for its type."""

    def __call__(self, name: str, value: Expr) -> Var:
        return Var(name, value.type)

    def made(self, value: Expr) -> Call | None:
        return None

    def space(self, tile: Expr) -> MemorySpace | None:
        return None


# --------------------------------------------------------------------------------------------
# Conversions
# --------------------------------------------------------------------------------------------


def _holds(between: DataType, source: DataType) -> bool:
    """True if every value of ``source`` is one of ``between``."""
    if source.is_float():
        return between.is_float() and between.get_bit() > source.get_bit()
    digits = source.get_bit() - (not source.is_unsigned_int())
    if between.is_float():
        return digits <= _DIGITS.get(between, 0)
    return digits <= between.get_bit() - (not between.is_unsigned_int())


def steps(source: DataType, target: DataType) -> tuple[DataType, ...] | None:
    """Return the element types that a conversion goes over, ``target`` last; None if none does.

    A step between integers of one width reads the same bytes, the others are casts.
    """
    if source is target:
        return ()
    if source.is_int() and target.is_int() and source.get_bit() == target.get_bit():
        return (target,)
    signed = SIGNED_OF.get(target, target)
    found = cast_steps(source, signed)
    if found is None or not all(_holds(between, source) for between in found[:-1]):
        return None
    return found if signed is target else (*found, target)


def _rereads(source: DataType, target: DataType) -> bool:
    return source.is_int() and target.is_int() and source.get_bit() == target.get_bit()


def as_type(
    tile: Expr,
    dtype: DataType,
    let: Naming,
    words: Mapping[str, Any],
    span: Span,
    name: str,
) -> Expr:
    """Return a tile with elements of ``dtype``: itself, or cast step by step with ``words``."""
    value, source = tile, _tile(tile).dtype
    for step in steps(source, dtype) or ():
        if _rereads(source, step):
            made = _reread(value, step)
        else:
            made = _op("cast").build((value, step), words, span)
        value, source = let(name, made), step
    return value


def as_number(number: Expr, dtype: DataType, span: Span) -> Expr:
    """Return a scalar, rounded to its own type, with elements of ``dtype``."""
    source = dtype_of(number)
    if source is dtype:
        return number
    if isinstance(number, ConstFloat):
        rounded = float(np.asarray(number.value).astype(source.numpy))
        return literal(rounded, dtype, span)
    return (
        literal(number.value, dtype, span)
        if isinstance(number, ConstInt)
        else Cast(number, dtype, span)
    )


def _converted(array: Array, chain: Sequence[DataType]) -> Array:
    for step in chain:
        if array.dtype.kind in "iu" and step.is_int() and array.dtype.itemsize == step.bytes:
            array = array.astype(step.numpy)
        else:
            cast: Any = _op("cast").numpy
            array = cast(array, target_type=step, mode="rint")
    return array


# --------------------------------------------------------------------------------------------
# Shapes
# --------------------------------------------------------------------------------------------


def _common(a: Sequence[Expr], b: Sequence[Expr]) -> Sequence[Expr]:
    found = broadcast(a, b)
    if found is None:
        raise OpError("the shapes of tiles do not broadcast", slug="shape-mismatch")
    return found


def spread_alone(spread: Spread, lhs: Expr, rhs: Expr, span: Span) -> Call | None:
    """Return the call of the one op that spreads ``rhs`` over ``lhs`` or the other way, if any."""
    for whole, part in ((lhs, rhs), (rhs, lhs)):
        a, b = _tile(whole).shape, _tile(part).shape
        if len(a) != 2 or len(b) != 2 or same_dims(a, b) or not (whole is lhs or spread.commutes):
            continue
        name = None
        if same_dim(a[0], b[0]) and const_value(b[1]) == 1:
            name = spread.column
        elif same_dim(a[1], b[1]) and const_value(b[0]) == 1:
            name = spread.row
        if name is not None:
            return _op(name).call((whole, part), {}, span)
    return None


def _opposite(spread: Spread, lhs: Expr, rhs: Expr, let: Naming, span: Span) -> Call | None:
    """Return y - (-x) for a sum of a tile y that is valid in part and a row x; else None.

    A whole tile takes its row spread, which may serve other calls.
    """
    with_row = Spread(row=spread.opposite)
    for whole, part in ((lhs, rhs), (rhs, lhs)):
        if valid_part(_tile(whole)) is None or spread_alone(with_row, whole, part, span) is None:
            continue
        minus = let("minus", _op("neg").call((part,), {}, span))
        return spread_alone(with_row, whole, minus, span)
    return None


def grown(tile: Expr, shape: Sequence[Expr], let: Naming, span: Span, name: str) -> Expr:
    """Return a tile with its column, or its row, in each of the columns or rows of ``shape``.

    Raises:
        OpError: no op does that.
    """
    kind = _tile(tile)
    if same_dims(kind.shape, shape):
        return tile
    if len(shape) != 2:
        raise OpError("only tiles of two dimensions are spread", slug="shape-mismatch")
    value, sizes = tile, kind.shape
    if len(sizes) == 1:
        sizes = (ConstInt(1), *sizes)
        value = let("row", reshape.call((value, MakeTuple(sizes)), {}, span))
    if const_value(shape[1]) == 1 and not same_dim(sizes[0], shape[0]):  # [1, 1] in a column
        across = grown(value, (shape[1], shape[0]), let, span, name)
        return let(name, reshape.call((across, MakeTuple(shape)), {}, span))
    if not same_dim(sizes[1], shape[1]):
        value = let(name, _along_row(value, (sizes[0], shape[1]), let, span))
    if not same_dim(sizes[0], shape[0]):
        room = _room(shape, kind.dtype, let, span)
        value = let(name, _op("col_expand").build((room, value), {}, span))
    return value


def _along_row(column: Expr, shape: Sequence[Expr], let: Naming, span: Span) -> Expr:
    """Return a column in all of ``shape``: 1 * x is x, exactly. No target fills unsigned tiles."""
    dtype = _tile(column).dtype
    signed = SIGNED_OF.get(dtype, dtype)
    if signed is not dtype:
        column = let("signed", _reread(column, signed))
    ones = let("ones", full.build((shape, signed, 1), {}, span))
    value = _op("row_expand_mul").build((ones, column), {}, span)
    return value if signed is dtype else _reread(let("result", value), dtype)


# --------------------------------------------------------------------------------------------
# Small things
# --------------------------------------------------------------------------------------------


def _op(name: str) -> AnyOp:
    """Return a block op; those that mix are defined before and after the ones they need."""
    return REGISTRY[f"block.{name}"]


def _tile(value: Expr) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _name(value: Expr) -> str:
    return value.name if isinstance(value, Var) else "tile"


def _reread(value: Expr, dtype: DataType) -> Call:
    """Return a tile with its bytes read as elements of another type, which knows no valid part."""
    _check_whole(_tile(value), dtype, _name(value))
    return reread(value, dtype)


def _check_whole(kind: TileType, dtype: DataType, name: str) -> None:
    if valid_part(kind) is not None:
        raise OpError(
            f"elements of {kind.dtype.member} that become {dtype.member} take tiles that "
            f"are valid throughout, {name} is valid in part",
            hint=f"pl.fillpad({name}) is a whole tile with zeros in the rest",
            slug="valid-shape",
        )


def _is_like(value: Expr, kind: TileType) -> bool:
    return _tile(value).dtype is kind.dtype and same_dims(_tile(value).shape, kind.shape)


def _room(shape: Sequence[Expr], dtype: DataType, let: Naming, span: Span) -> Var:
    """Return a tile whose elements have no value."""
    return let("room", create_tile.build((shape, dtype), {}, span))
