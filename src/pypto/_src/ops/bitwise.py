"""Bitwise ops, shifts, and remainders, which fit no other family.

All run on the vector pipe. Two tiles that differ in shape or element type are broadcast and
promoted (`promotion`); a scalar operand has the tile's element type. Where the assembler has no
instruction on A2/A3, others are used: bitwise ops on 32 bits treat the same bytes as 16-bit
elements, and a scalar operand of a 32-bit op fills a tile first. LegalizeTiles adds the scratch
tile of a remainder.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.exprs import Call, Expr, MakeTuple, const_value
from pypto._src.ir.opdef import RESULT, Decomposition, Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import INTEGERS, Scalar, Tile, block_op, target_form
from pypto._src.ops.elementwise import beside, on_filled
from pypto._src.ops.layout import is_column, round_up, with_valid
from pypto._src.ops.new_tiles import create_tile, scratch_like
from pypto._src.ops.promotion.operands import Promotion
from pypto._src.ops.reshaping import reshape
from pypto._src.ops.rules.type_rules import (
    called,
    check_element,
    check_same_dtype,
    check_same_shape,
    ignoring,
    members,
    one_tile,
    operand_name,
    refuse,
    tile_and_scalar,
    two_tiles,
)
from pypto._src.ops.rules.valid_parts import equal_part, on_all, valid_or_all

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
BITS: Final = INTEGERS | {D.INT8, D.UINT8}
"""Element types of bitwise ops and of shifts by a tile."""
BITS_AND_NUMBER: Final = BITS - {D.UINT32}
"""Element types of bitwise ops with a number: the assembler cannot fill a tile of UINT32."""
NARROW: Final = BITS - {D.INT32, D.UINT32}
"""Element types of the chip's bitwise instructions; 32-bit ops are decomposed."""
REMAINDERS: Final = frozenset({D.FP32, D.INT32})


# --------------------------------------------------------------------------------------------
# Bitwise ops on two tiles
# --------------------------------------------------------------------------------------------


def _halves(kind: Type) -> TileType:
    """Return the type of a tile of 32-bit elements read as twice as many 16-bit ones."""
    assert isinstance(kind, TileType)
    shape = static_shape(kind)
    if shape is None:
        raise EmitError("a tile of 32-bit elements has no constant shape", slug="emit-shape")
    return TileType([*shape[:-1], 2 * shape[-1]], D.INT16, kind.memref)


def _logic(mnemonic: str) -> Callable[[PtoSite], None]:
    """Return the PTO emitter for a tile instruction that takes elements of at most 16 bits."""

    def emit(site: PtoSite) -> None:
        kind, tiles = site.call.type, site.call.args
        assert isinstance(kind, TileType)
        operands = list(zip(site.args, site.arg_types, strict=True))
        result = site.dst, site.dst_type
        if kind.dtype.bytes > 2:
            operands = [site.reinterpret(tile, _halves(tile.type)) for tile in tiles]
            result = site.reinterpret(None, _halves(kind))
        names, types = (", ".join(column) for column in zip(*operands, strict=True))
        site.emit(f"{mnemonic} ins({names} : {types}) outs({result[0]} : {result[1]})")

    return emit


def _with_scratch(o: Operands) -> Type:
    """Return the result type for two tiles and a scratch tile of the same type: [R, C]."""
    kind = two_tiles(o)
    check_same_dtype(o, 0, 2)
    check_same_shape(o, 0, 2)
    return kind


bits_of_tiles: Final = partial(
    block_op, types=two_tiles, valid=equal_part, dtypes=BITS, promotion=Promotion(0, 1)
)
"""Registers an elementwise bitwise op on two tiles [R, C]."""


@bits_of_tiles(
    numpy=lambda lhs, rhs: lhs & rhs,
    pto=_logic("pto.tand"),
    isa="TAND",
)
def and_(lhs: Tile, rhs: Tile) -> Tile:
    """Return the bitwise AND of ``lhs`` and ``rhs`` [R, C], element by element."""
    ...


@bits_of_tiles(
    numpy=lambda lhs, rhs: lhs | rhs,
    pto=_logic("pto.tor"),
    isa="TOR",
)
def or_(lhs: Tile, rhs: Tile) -> Tile:
    """Return the bitwise OR of ``lhs`` and ``rhs`` [R, C], element by element."""
    ...


@bits_of_tiles(
    types=_with_scratch,
    complete=scratch_like("tmp", "lhs", "rhs"),
    reads=(0, 1),
    writes=(2,),
    in_place=(),  # the instruction reads its sources after writing its result
    numpy=lambda lhs, rhs, _scratch: lhs ^ rhs,
    pto=_logic("pto.txor"),
    isa="TXOR",
)
def xor(lhs: Tile, rhs: Tile, tmp: Tile | None = None) -> Tile:
    """Return the bitwise XOR of ``lhs`` and ``rhs`` [R, C], element by element.

    ``tmp`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...


# --------------------------------------------------------------------------------------------
# Bitwise ops on a tile and a number
# --------------------------------------------------------------------------------------------


def _bits_and_number(o: Operands) -> Type:
    """Return the type of a bitwise op on a tile and a number: [R, C], s -> [R, C]."""
    dtype = o.tile(0).dtype
    if dtype is D.UINT32:  # which the op on two tiles takes
        refuse(
            o,
            f"{called(o.op)} of a tile and a number takes elements of {members(o.op.dtypes)}, "
            f"{operand_name(o, 0)} has {dtype.member}",
            "element-type",
            note="the A2/A3 chip fills no tile of UINT32 with a number; load one from a tensor",
            shown=(0,),
        )
    return tile_and_scalar(o)


def _number_and_scratch(o: Operands) -> Type:
    """Return the result type for a tile, a number and a scratch tile of the tile's type: [R, C]."""
    kind = _bits_and_number(o)
    check_same_dtype(o, 0, 2)
    check_same_shape(o, 0, 2)
    return kind


bits_of_tile_and_number: Final = partial(
    block_op,
    types=_bits_and_number,
    valid=equal_part,
    dtypes=BITS_AND_NUMBER,
    in_place=(),  # the assembler wants distinct buffers for source and result
    promotion=Promotion(0, number=1, keeps_first=True),
)
"""Registers a bitwise op on a tile [R, C] and a number."""


@bits_of_tile_and_number(
    overload="and_",
    commutes=True,
    numpy=lambda lhs, rhs: lhs & beside(lhs, rhs),
    decomposition=on_filled(and_, NARROW),
    pto="pto.tands",
    isa="TANDS",
)
def ands(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the bitwise AND of each element of ``lhs`` [R, C] and ``rhs``."""
    ...


@bits_of_tile_and_number(
    overload="or_",
    commutes=True,
    numpy=lambda lhs, rhs: lhs | beside(lhs, rhs),
    decomposition=on_filled(or_, NARROW),
    pto="pto.tors",
    isa="TORS",
)
def ors(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the bitwise OR of each element of ``lhs`` [R, C] and ``rhs``."""
    ...


@bits_of_tile_and_number(
    overload="xor",
    types=_number_and_scratch,
    complete=scratch_like("tmp", "lhs", "rhs"),
    reads=(0,),
    writes=(2,),
    numpy=lambda lhs, rhs, _scratch: lhs ^ beside(lhs, rhs),
    decomposition=on_filled(xor, NARROW),
    pto="pto.txors",
    isa=on_all("TXORS", RESULT, 0),
)
def xors(lhs: Tile, rhs: Scalar, tmp: Tile | None = None) -> Tile:
    """Return the bitwise XOR of each element of ``lhs`` [R, C] and ``rhs``.

    ``tmp`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...


def _inverted(o: Operands) -> Type:
    """Return the type of the bitwise NOT of a tile: [R, C]."""
    dtype, name = o.tile(0).dtype, operand_name(o, 0)
    if dtype in BITS_AND_NUMBER:
        ones = 255 if dtype is D.UINT8 else -1
        check_element(o.op, name, dtype, f"pl.xor({name}, {ones})")
    return one_tile(o)


@block_op(
    types=_inverted,
    valid=equal_part,
    dtypes={D.INT16, D.UINT16},
    numpy=lambda tile: ~tile,
    pto="pto.tnot",
    isa="TNOT",
)
def not_(tile: Tile) -> Tile:
    """Return each element of ``tile`` [R, C] with its bits inverted."""
    ...


# --------------------------------------------------------------------------------------------
# Shifts
# --------------------------------------------------------------------------------------------


@bits_of_tiles(
    promotion=Promotion(0, 1, keeps_first=True),
    numpy=lambda lhs, rhs: np.left_shift(lhs, rhs),
    pto="pto.tshl",
    isa="TSHL",
)
def shl(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs`` [R, C] shifted left by ``rhs`` [R, C] bits, element by element.

    Bits shifted out are lost. A negative count, or one of at least the element's width, gives 0.
    """
    ...


@bits_of_tiles(
    promotion=Promotion(0, 1, keeps_first=True),
    numpy=lambda lhs, rhs: np.right_shift(lhs, rhs),
    pto="pto.tshr",
    isa="TSHR",
)
def shr(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs`` [R, C] shifted right by ``rhs`` [R, C] bits, element by element.

    The shift is arithmetic for signed elements and logical for unsigned ones. A negative count, or
    one of at least the element's width, gives 0, or -1 for a negative element.
    """
    ...


def _by_number(other: str) -> Callable[[Operands], Type]:
    """Return the type rule of a shift by a number; the hint names the opposite shift ``other``."""

    def rule(o: Operands) -> Type:
        kind, count = tile_and_scalar(o), const_value(o.args[1])
        if count is not None and count < 0:
            refuse(
                o,
                f"{called(o.op)} by {count} bits, a count of 0 or more was wanted",
                "shift",
                f"pl.{other}({operand_name(o, 0)}, {-count})",
                shown=(0,),
            )
        return kind

    return rule


@block_op(
    overload="shl",
    types=_by_number("shr"),
    valid=equal_part,
    dtypes=INTEGERS,
    promotion=Promotion(0, number=1, keeps_first=True),
    numpy=lambda lhs, rhs: np.left_shift(lhs, beside(lhs, rhs)),
    pto="pto.tshls",
    isa="TSHLS",
)
def shls(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs`` [R, C] shifted left by ``rhs`` bits.

    Bits shifted out are lost. A constant count must not be negative; at run time a negative count,
    or one of at least the element's width, gives 0.
    """
    ...


@block_op(
    overload="shr",
    types=_by_number("shl"),
    valid=equal_part,
    dtypes=INTEGERS,
    promotion=Promotion(0, number=1, keeps_first=True),
    numpy=lambda lhs, rhs: np.right_shift(lhs, beside(lhs, rhs)),
    pto="pto.tshrs",
    isa="TSHRS",
)
def shrs(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs`` [R, C] shifted right by ``rhs`` bits.

    The shift is arithmetic for signed elements and logical for unsigned ones. A constant count must
    not be negative; at run time a negative count, or one of at least the element's width, gives 0,
    or -1 for a negative element.
    """
    ...


# --------------------------------------------------------------------------------------------
# Remainders
# --------------------------------------------------------------------------------------------

_SCRATCH_STEP: Final = 8  # 32-bit elements per block of tile memory
_REPEAT: Final = 64  # 32-bit elements per repeat of a vector instruction


def remainder(lhs: Array, rhs: Array) -> Array:
    """Return ``lhs - floor(lhs / rhs) * rhs`` for equal element types, rounded once.

    It has the sign of ``rhs``, or of ``lhs`` if it is 0. For a divisor of 0, integers give 0 and
    floats NaN.
    """
    if lhs.dtype.kind in "iu":
        return np.mod(lhs, rhs)
    left = np.fmod(lhs, rhs)
    return np.where((left != 0) & ((left < 0) != (rhs < 0)), left + rhs, left)


def _scratch_columns(columns: int) -> int:
    """Return the scratch width for a remainder of two tiles: a row plus 2 elements per repeat."""
    wanted = columns + 2 * -(-columns // _REPEAT)
    return round_up(wanted, _SCRATCH_STEP)


def _given_scratch(wider: bool) -> Decomposition:
    """Return the decomposition that adds a scratch tile to a remainder, and makes columns rows.

    y = rem(a, b)  ->  s = create_tile(...); y = rem(a, b, s)
    """

    def expand(call: Call, let: Let) -> Expr | None:
        kind = call.type
        assert isinstance(kind, TileType)
        shape = static_shape(kind)
        if shape is None:
            return None  # InitMemRef rejects the tile
        args = list(call.args)
        if is_column(kind):
            args = [_as_row(arg, let) for arg in args]
            shape = (1, math.prod(shape))
        part = valid_or_all(kind)
        result = with_valid(TileType(shape, kind.dtype), part[::-1] if is_column(kind) else part)
        width = _scratch_columns(shape[-1]) if wider else shape[-1]
        room = create_tile.build([[*shape[:-1], width], kind.dtype], {}, call.span)
        value = Call(call.op, [*args, let("scratch", room)], {}, result, call.span)
        if not is_column(kind):
            return value
        return reshape.call([let("result", value), MakeTuple(kind.shape)], {}, call.span)

    return expand


def _as_row(value: Expr, let: Let) -> Expr:
    kind = value.type
    if not isinstance(kind, TileType):
        return value
    row = [1, math.prod(static_shape(kind) or ())]
    return let("row", reshape.build([value, row], {}))


def _without_scratch(site: PtoSite | CppSite) -> None:
    raise EmitError(
        f"{site.call.op.name} works in a scratch tile",
        hint="run passes.legalize_tiles() first, which gives it one",
        slug="emit-op",
    )


def _remainder_type(o: Operands) -> Type:
    kind = two_tiles(o)
    check_same_dtype(o, 0, 2)
    return kind


@target_form(
    name="rem",
    overload="rem",
    types=_remainder_type,
    valid=equal_part,
    dtypes=REMAINDERS,
    reads=(0, 1),
    writes=(2,),
    in_place=(),
    numpy=lambda lhs, rhs, _scratch: remainder(lhs, rhs),
    pto="pto.trem",
    isa="TREM",
)
def rem_on_target(lhs: Tile, rhs: Tile, tmp: Tile) -> Tile:
    """Return `rem` of ``lhs`` and ``rhs``; ``tmp`` is scratch."""
    ...


@block_op(
    types=two_tiles,
    valid=equal_part,
    dtypes=REMAINDERS,
    in_place=(),
    complete=ignoring("tmp", scratch=2),
    promotion=Promotion(0, 1),
    numpy=remainder,
    decomposition=_given_scratch(wider=True),
    with_scratch=rem_on_target,
    pto=_without_scratch,
    isa=_without_scratch,
)
def rem(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs - floor(lhs / rhs) * rhs`` [R, C], which has the sign of ``rhs``.

    A divisor of 0 gives 0 for integers and NaN for floats. On A2/A3, integer results are exact
    up to magnitudes of 2**24.
    """
    ...


@target_form(
    name="rems",
    overload="rem",
    types=_number_and_scratch,
    valid=equal_part,
    dtypes=REMAINDERS,
    reads=(0,),
    writes=(2,),
    in_place=(),
    numpy=lambda lhs, rhs, _scratch: remainder(lhs, beside(lhs, rhs)),
    pto="pto.trems",
    isa=on_all("TREMS", RESULT, 0),
)
def rems_on_target(lhs: Tile, rhs: Scalar, tmp: Tile) -> Tile:
    """Return `rems` of ``lhs`` and ``rhs``; ``tmp`` is scratch."""
    ...


@block_op(
    overload="rem",
    types=tile_and_scalar,
    valid=equal_part,
    dtypes=REMAINDERS,
    in_place=(),
    complete=ignoring("tmp", scratch=2),
    promotion=Promotion(0, number=1),
    numpy=lambda lhs, rhs: remainder(lhs, beside(lhs, rhs)),
    decomposition=_given_scratch(wider=False),
    with_scratch=rems_on_target,
    pto=_without_scratch,
    isa=_without_scratch,
)
def rems(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs - floor(lhs / rhs) * rhs`` [R, C], which has the sign of ``rhs``.

    A divisor of 0 gives 0 for integers and NaN for floats. On A2/A3, integer results are exact
    up to magnitudes of 2**24.
    """
    ...
