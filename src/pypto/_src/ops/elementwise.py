"""Elementwise ops: each element of the result depends on the elements at the same index.

All run on the vector pipe. Two tiles that differ in shape or element type are broadcast and
promoted (`promotion`); a scalar operand has the tile's element type. 16-bit floats are computed in
32 bits and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType, compute_dtype
from pypto._src.ir.array_types import TileType, dtype_of, valid_part
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Cast, ConstFloat, Expr, MakeTuple
from pypto._src.ir.op_params import ROUND_MODES
from pypto._src.ir.opdef import Decomposition, OpDef, Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import (
    ARITHMETIC,
    BY_PYTHON_NAME,
    FLOATS,
    REGISTRY,
    Scalar,
    Tile,
    block_op,
)
from pypto._src.ops.layout import padding_differs, tile_type
from pypto._src.ops.promotion.facts import BroadcastOps
from pypto._src.ops.promotion.operands import Promotion
from pypto._src.ops.rules.type_rules import (
    CASTS,
    RoundMode,
    attribute,
    called,
    cast_operand,
    check_operands,
    ignoring,
    members,
    one_tile,
    operand_name,
    refuse,
    tile_and_scalar,
    two_tiles,
)
from pypto._src.ops.rules.valid_parts import part_of_first, same_part

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
FILLED: Final = FLOATS | {D.INT16, D.INT32}
"""Element types of tiles that the assembler can fill with a number."""


# --------------------------------------------------------------------------------------------
# Tile with tile
# --------------------------------------------------------------------------------------------


def _larger(lhs: Array, rhs: Any) -> Array:
    """Return the larger of each pair; of two zeros, the second.

    ``np.maximum`` gives either zero, depending on the processor and on the index in the array.
    """
    return np.where((lhs > rhs) | (lhs != lhs), lhs, rhs)


def _smaller(lhs: Array, rhs: Any) -> Array:
    """Return the smaller of each pair; of two zeros, the second."""
    return np.where((lhs < rhs) | (lhs != lhs), lhs, rhs)


on_tiles: Final = partial(
    block_op, types=two_tiles, valid=same_part, dtypes=ARITHMETIC, promotion=Promotion(0, 1)
)
"""Registers an elementwise op on two tiles [R, C]."""


@on_tiles(
    promotion=Promotion(
        0, 1, broadcast_ops=BroadcastOps("row_expand_add", commutes=True, opposite="col_expand_sub")
    ),
    numpy=lambda lhs, rhs: lhs + rhs,
    pto="pto.tadd",
    isa="TADD",
)
def add(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs + rhs`` [R, C], element by element; integers wrap."""
    ...


@on_tiles(
    promotion=Promotion(0, 1, broadcast_ops=BroadcastOps("row_expand_sub", "col_expand_sub")),
    numpy=lambda lhs, rhs: lhs - rhs,
    pto="pto.tsub",
    isa="TSUB",
)
def sub(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs - rhs`` [R, C], element by element; integers wrap."""
    ...


@on_tiles(
    promotion=Promotion(
        0, 1, broadcast_ops=BroadcastOps("row_expand_mul", "col_expand_mul", commutes=True)
    ),
    numpy=lambda lhs, rhs: lhs * rhs,
    pto="pto.tmul",
    isa="TMUL",
)
def mul(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs * rhs`` [R, C], element by element; integers wrap."""
    ...


@on_tiles(
    dtypes=FLOATS,
    promotion=Promotion(0, 1, broadcast_ops=BroadcastOps("row_expand_div", "col_expand_div")),
    complete=ignoring("high_precision"),
    numpy=lambda lhs, rhs: lhs / rhs,
    pto="pto.tdiv",
    isa="TDIV",
)
def div(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs / rhs`` [R, C] for floats, element by element."""
    ...


@on_tiles(
    numpy=lambda lhs, rhs: _larger(lhs, rhs),
    pto="pto.tmax",
    isa="TMAX",
)
def maximum(lhs: Tile, rhs: Tile) -> Tile:
    """Return the larger of ``lhs`` and ``rhs`` [R, C], element by element; NaN if either is."""
    ...


@on_tiles(
    numpy=lambda lhs, rhs: _smaller(lhs, rhs),
    pto="pto.tmin",
    isa="TMIN",
)
def minimum(lhs: Tile, rhs: Tile) -> Tile:
    """Return the smaller of ``lhs`` and ``rhs`` [R, C], element by element; NaN if either is."""
    ...


# --------------------------------------------------------------------------------------------
# Tile with scalar
# --------------------------------------------------------------------------------------------


def beside(tile: Array, number: Any) -> Any:
    """Return a number converted to the element type of ``tile``."""
    return np.asarray(number).astype(tile.dtype)


def quotient(lhs: Array, rhs: Array) -> Array:
    """Return ``lhs / rhs`` for equal types; integers truncate toward zero, and x / 0 is 0."""
    if lhs.dtype.kind not in "iu":
        return lhs / rhs
    down = np.asarray(lhs // rhs)  # floor division; a divisor of 0 gives 0
    inexact = down * rhs != lhs
    up = inexact & (rhs != 0) & ((lhs < 0) != (rhs < 0))
    return (down + up).astype(lhs.dtype)


on_tile_and_number: Final = partial(
    block_op,
    types=tile_and_scalar,
    valid=same_part,
    dtypes=ARITHMETIC,
    promotion=Promotion(0, number=1),
)
"""Registers an op on each element of a tile [R, C] and one number."""


@on_tile_and_number(
    overload="add",
    commutes=True,
    numpy=lambda lhs, rhs: lhs + beside(lhs, rhs),
    pto="pto.tadds",
    isa="TADDS",
)
def adds(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs + rhs`` [R, C]; integers wrap."""
    ...


@on_tile_and_number(
    overload="sub",
    numpy=lambda lhs, rhs: lhs - beside(lhs, rhs),
    pto="pto.tsubs",
    isa="TSUBS",
)
def subs(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs - rhs`` [R, C]; integers wrap."""
    ...


@on_tile_and_number(
    overload="mul",
    commutes=True,
    numpy=lambda lhs, rhs: lhs * beside(lhs, rhs),
    pto="pto.tmuls",
    isa="TMULS",
)
def muls(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs * rhs`` [R, C]; integers wrap."""
    ...


@on_tile_and_number(
    overload="div",
    numpy=lambda lhs, rhs: quotient(lhs, beside(lhs, rhs)),
    pto="pto.tdivs",
    isa="TDIVS",
)
def divs(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs / rhs`` [R, C]; integers truncate toward zero, and x / 0 is 0."""
    ...


def _extreme(o: Operands) -> Type:
    kind = o.tile(0)
    if kind.dtype.is_unsigned_int():  # which the op on two tiles takes
        refuse(
            o,
            f"{called(o.op)} of a tile and a number takes elements of {members(o.op.dtypes)}, "
            f"{operand_name(o, 0)} has {kind.dtype.member}",
            "element-type",
            note="the A2/A3 chip fills no unsigned tile with a number; load one from a tensor",
            shown=(0,),
        )
    return tile_and_scalar(o)


def on_filled(on_tiles: OpDef[..., Any], alone: Set[DataType]) -> Decomposition:
    """Return the decomposition of an op on a tile and a number, except for elements of ``alone``.

    y = maxs(x, 7)  ->  n = full(...); y = maximum(x, n)

    If the tile is partly valid, a tile with the same valid part is filled.
    """

    def expand(call: Call, let: Let) -> Expr | None:
        tile, number, *scratch = call.args
        kind = tile.type
        assert isinstance(kind, TileType)
        if kind.dtype in alone:
            return None
        if valid_part(kind) is None:
            shape, words = MakeTuple(kind.shape), {"dtype": kind.dtype}
            filled = REGISTRY["block.full"].call([shape, number], words, call.span)
        else:
            filled = REGISTRY["block.expands"].call([tile, number], {}, call.span)
        return on_tiles.call([tile, let("filled", filled), *scratch], {}, call.span)

    return expand


@on_tile_and_number(
    overload="maximum",
    types=_extreme,
    commutes=True,
    dtypes=FILLED,
    decomposition=on_filled(maximum, FLOATS),  # the assembler takes integers only in two tiles
    numpy=lambda lhs, rhs: _larger(lhs, beside(lhs, rhs)),
    pto="pto.tmaxs",
    isa="TMAXS",
)
def maxs(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the larger of each element of ``lhs`` [R, C] and ``rhs``; NaN if either is NaN."""
    ...


@on_tile_and_number(
    overload="minimum",
    types=_extreme,
    commutes=True,
    dtypes=FILLED,
    decomposition=on_filled(minimum, FLOATS),
    numpy=lambda lhs, rhs: _smaller(lhs, beside(lhs, rhs)),
    pto="pto.tmins",
    isa="TMINS",
)
def mins(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the smaller of each element of ``lhs`` [R, C] and ``rhs``; NaN if either is NaN."""
    ...


@on_tile_and_number(
    valid=part_of_first,
    dtypes=FILLED,
    reads=(),
    numpy=lambda target, scalar: np.full(target.shape, beside(target, scalar), target.dtype),
    pto=lambda site: site.emit(
        f"pto.texpands ins({site.args[1]} : {site.arg_types[1]}) outs({site.dst} : {site.dst_type})"
    ),
    isa=lambda site: site.emit(f"TEXPANDS({site.dst}, {site.args[1]});"),
)
def expands(target: Tile, scalar: Scalar) -> Tile:
    """Return a tile like ``target`` [R, C] filled with ``scalar``.

    The elements of ``target`` are not read.
    """
    ...


def leaky(tile: Array, slope: Any) -> Array:
    """Return each element of ``tile`` if it is positive, else ``slope`` times it."""
    return np.where(tile > 0, tile, tile * slope)


def _lrelu_pto(site: PtoSite) -> None:
    slope = site.call.args[1]  # FP32 whatever the element type of the tile
    if isinstance(slope, ConstFloat):
        slope = ConstFloat(slope.value, D.FP32)
    name = site.expr(slope if dtype_of(slope) is D.FP32 else Cast(slope, D.FP32))
    site.emit(
        f"pto.tlrelu ins({site.args[0]}, {name} : {site.arg_types[0]}, f32) "
        f"outs({site.dst} : {site.dst_type})"
    )


@on_tile_and_number(
    dtypes=FLOATS,
    numpy=lambda tile, slope: leaky(tile, beside(tile, slope)),
    pto=_lrelu_pto,
    isa="TLRELU",
)
def lrelu(tile: Tile, slope: Scalar) -> Tile:
    """Return each element of ``tile`` [R, C] if it is positive, else ``slope`` times it."""
    ...


BY_PYTHON_NAME["block", "maximums"] = maxs  # aliases of the two
BY_PYTHON_NAME["block", "minimums"] = mins


# --------------------------------------------------------------------------------------------
# One tile
# --------------------------------------------------------------------------------------------


def _in_float32(tile: Array, compute: Callable[[Array], Array]) -> Array:
    """Compute in 32 bits and round once."""
    return compute(tile.astype(compute_dtype(tile.dtype))).astype(tile.dtype)


def _reciprocal(x: Array) -> Array:
    return np.float32(1) / x


def _reciprocal_root(x: Array) -> Array:
    return np.float32(1) / np.sqrt(x)


on_tile: Final = partial(block_op, types=one_tile, valid=same_part, dtypes=FLOATS)
"""Registers an op on each element of a tile [R, C]."""


@on_tile(
    numpy=lambda tile: _in_float32(tile, np.exp),
    pto="pto.texp",
    isa="TEXP",
)
def exp(tile: Tile) -> Tile:
    """Return e to the power of each element of ``tile`` [R, C]."""
    ...


@on_tile(
    numpy=lambda tile, high_precision=None: _in_float32(tile, np.log),
    pto="pto.tlog",
    isa="TLOG",
)
def log(tile: Tile, high_precision: bool | None = None) -> Tile:
    """Return the natural logarithm of each element of ``tile`` [R, C]; NaN below zero.

    ``high_precision`` has no effect: results are already exact to the last place.
    """
    ...


@on_tile(
    numpy=lambda tile: _in_float32(tile, np.sqrt),
    pto="pto.tsqrt",
    isa="TSQRT",
)
def sqrt(tile: Tile) -> Tile:
    """Return the square root of each element of ``tile`` [R, C]; NaN below zero."""
    ...


@on_tile(
    in_place=(),  # the instruction reads its source after writing its result
    complete=ignoring("tmp", scratch=1),
    numpy=lambda tile, high_precision=None: _in_float32(tile, _reciprocal_root),
    pto="pto.trsqrt",
    isa="TRSQRT",
)
def rsqrt(tile: Tile, high_precision: bool | None = None) -> Tile:
    """Return 1 / sqrt(x) for each element x of ``tile`` [R, C].

    ``high_precision`` has no effect: results are already exact to the last place.
    """
    ...


@on_tile(
    in_place=(),  # A2/A3 needs distinct buffers for source and result
    numpy=lambda tile, high_precision=None: _in_float32(tile, _reciprocal),
    pto="pto.trecip",
    isa="TRECIP",
)
def recip(tile: Tile, high_precision: bool | None = None) -> Tile:
    """Return 1 / x for each element x of ``tile`` [R, C].

    ``high_precision`` has no effect: results are already exact to the last place.
    """
    ...


def _on_signed(call: Call, let: Let) -> Expr | None:
    from pypto._src.ops.promotion.casts import on_signed

    return on_signed(call, let)


@on_tile(
    dtypes=ARITHMETIC,
    decomposition=_on_signed,
    numpy=lambda tile: -tile,
    pto="pto.tneg",
    isa="TNEG",
)
def neg(tile: Tile) -> Tile:
    """Return ``-tile`` [R, C]; the smallest signed integer stays unchanged, unsigned ones wrap."""
    ...


@on_tile(
    numpy=lambda tile: np.abs(tile),
    pto="pto.tabs",
    isa="TABS",
)
def abs(tile: Tile) -> Tile:
    """Return the absolute value of each element of ``tile`` [R, C]."""
    ...


def _never_negative(call: Call, _let: Let) -> Expr | None:
    """Decompose relu where no element can be negative: to the tile itself."""
    (tile,) = call.args
    kind = tile.type
    if not isinstance(kind, TileType) or not kind.dtype.is_unsigned_int():
        return None
    return REGISTRY["block.reshape"].call([tile, MakeTuple(kind.shape)], {}, call.span)


@on_tile(
    dtypes=FLOATS | {D.INT32, D.UINT32},
    decomposition=_never_negative,
    numpy=lambda tile: _larger(tile, tile.dtype.type(0)),
    pto="pto.trelu",
    isa="TRELU",
)
def relu(tile: Tile) -> Tile:
    """Return each element of ``tile`` [R, C], or 0 where it is negative; NaN stays NaN."""
    ...


# --------------------------------------------------------------------------------------------
# Conversion
# --------------------------------------------------------------------------------------------


def _cast_type(o: Operands) -> Type:
    check_operands(o)
    kind, target = o.tile(0), _dtype(attribute(o, "target_type"))
    if target is not kind.dtype and target not in CASTS[kind.dtype]:
        refuse(
            o,
            f"{called(o.op)} from {kind.dtype.member} to {target.member} does not exist; "
            f"{kind.dtype.member} goes to {members(CASTS[kind.dtype])}",
            "cast",
            cast_operand(o, 0, target),
        )
    return tile_type(kind.shape, target, MemorySpace.Vec, "the result")


def _is_copy(call: Call) -> bool:
    """True for a cast to the element type that the tile already has.

    TCVT would round the floats to integral values on the chip, and leave them unchanged on the CPU.
    """
    return dtype_of(call.args[0]) is call.kwargs["target_type"]


def _dtype(value: Any) -> DataType:
    assert isinstance(value, DataType)
    return value


def _mode(value: RoundMode) -> int:
    return ROUND_MODES[value] if isinstance(value, str) else value


def _round_name(value: RoundMode) -> str:
    return next(name for name, number in ROUND_MODES.items() if number == _mode(value)).upper()


def _odd(x: Array) -> Array:
    cut = np.trunc(x)
    step = (cut != x) & (np.fmod(cut, 2) == 0)
    return cut + np.where(step, np.copysign(np.float32(1), x), np.float32(0))


def _away(x: Array) -> Array:
    cut = np.trunc(x)
    up = np.abs(x - cut) >= 0.5
    return cut + np.where(up, np.copysign(np.float32(1), x), np.float32(0))


def _rounded(x: Array, mode: int) -> Array:
    """Return floats rounded to integral values."""
    match mode:
        case 1:
            return np.rint(x)
        case 2:
            return _away(x)
        case 3:
            return np.floor(x)
        case 4:
            return np.ceil(x)
        case 6:
            return _odd(x)
        case _:
            return np.trunc(x)


def _to_integer(x: Array, target: DataType) -> Array:
    """Return integral floats as integers.

    32- and 64-bit targets saturate, and NaN gives 0. Narrower ones wrap, and give 0 for values that
    do not fit in 64 bits.
    """
    low, over = -(2.0**63), 2.0**63
    inside = (x >= low) & (x < over)
    wide = np.where(inside, x, 0).astype(np.int64)
    if target.get_bit() < 32:
        return wide.astype(target.numpy)
    limits = np.iinfo(target.numpy)
    wide = np.where(x >= over, limits.max, np.where(x < low, limits.min, wide))
    return np.clip(wide, limits.min, limits.max).astype(target.numpy)


def _cast(tile: Array, target_type: Any, mode: RoundMode = "round") -> Array:
    target = _dtype(target_type)
    if tile.dtype == target.numpy:
        return tile.copy()
    if tile.dtype.kind in "iu":
        if target.is_float():
            return tile.astype(np.float32).astype(target.numpy)
        return tile.astype(target.numpy)
    wide = tile.astype(compute_dtype(tile.dtype))
    if target.is_float():
        return wide if wide.dtype == np.float64 else wide.astype(target.numpy)
    return _to_integer(_rounded(wide, _mode(mode)), target)


def _on_equal_rows(call: Call, let: Let) -> Expr | None:
    """Decompose a cast whose operand and result have rows padded to different lengths."""
    if not padding_differs(call.args[0].type, call.type):
        return None
    from pypto._src.ops.padding import on_equal_rows

    return on_equal_rows(call, let)


def _rounding(call: Call) -> int | str:
    """Return the rounding mode of a cast, the default if a call built by hand has none."""
    return call.kwargs.get("mode", "round")


def _emit_cast_pto(site: PtoSite) -> None:
    if _is_copy(site.call):
        site.emit(
            f"pto.tmov ins({site.args[0]} : {site.arg_types[0]}) outs({site.dst} : {site.dst_type})"
        )
        return
    mode = _round_name(_rounding(site.call))
    site.emit(
        f"pto.tcvt ins({site.args[0]} {{rmode = #pto<round_mode {mode}>}} : {site.arg_types[0]}) "
        f"outs({site.dst} : {site.dst_type})"
    )


def _emit_cast_cpp(site: CppSite) -> None:
    if _is_copy(site.call):
        site.emit(f"TMOV({site.dst}, {site.args[0]});")
        return
    mode = _round_name(_rounding(site.call))
    site.emit(f"TCVT({site.dst}, {site.args[0]}, RoundMode::CAST_{mode});")


@block_op(
    types=_cast_type,
    valid=same_part,
    dtypes=CASTS,
    of_padded=_on_equal_rows,
    numpy=_cast,
    pto=_emit_cast_pto,
    isa=_emit_cast_cpp,
)
def cast(tile: Tile, target_type: DataType, mode: RoundMode = "round") -> Tile:
    """Return ``tile`` [R, C] with elements of ``target_type``.

    ``mode`` rounds floats to integers: "rint" to the nearest, ties to even; "round" to the
    nearest, ties away from zero; "floor", "ceil"; "trunc" and "none" toward zero; "odd" to the odd
    neighbour. Casts between floats round to nearest, ties to even. Floats cast to integers of 32
    and 64 bits saturate, to narrower ones wrap; NaN gives 0. A cast to the same type is a copy.
    """
    ...
