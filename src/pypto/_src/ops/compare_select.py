"""Ops that compare elements and ops that select between them.

All run on the vector pipe. The user's masks are tiles like the operands, 1 where true and 0 where
false; the vector unit knows only packed bits. LegalizeTiles converts: a comparison becomes one that
gives bits followed by a select between 1 and 0, and a select first compares its mask with 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import (
    TileType,
    TileView,
    dtype_of,
    same_dims,
    static_shape,
    valid_part,
)
from pypto._src.ir.exprs import Call, Cast, ConstFloat, ConstInt, Expr, MakeTuple, Ne, const_value
from pypto._src.ir.interning import unique
from pypto._src.ir.op_params import literal
from pypto._src.ir.opdef import RESULT, Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import (
    ARITHMETIC,
    FLOATS,
    STORABLE,
    Axis,
    Scalar,
    Tile,
    block_op,
    target_form,
)
from pypto._src.ops.elementwise import beside, cast, expands, leaky, maximum, mul
from pypto._src.ops.layout import declared_shape, is_column, round_up, with_valid
from pypto._src.ops.new_tiles import create_tile, full, scratch_like, vec_move
from pypto._src.ops.promotion.casts import SIGNED_OF, signed
from pypto._src.ops.promotion.operands import Promotion
from pypto._src.ops.reshaping import reread, reshape
from pypto._src.ops.rules.type_rules import (
    attribute,
    called,
    check_operands,
    check_same_dtype,
    check_same_shape,
    ignoring,
    plain_tile,
    refuse,
    three_operands,
    tile_and_scalar,
    two_tiles,
)
from pypto._src.ops.rules.valid_parts import (
    all_of,
    equal_part,
    has_invalid_bytes,
    on_all,
    same_part,
    valid_or_all,
    whole_name,
)

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
COMPARED: Final = FLOATS | {D.INT32}
"""Element types that the vector unit compares; integers only for equality."""

EQ, NE, LT, LE, GT, GE = range(6)
MODES: Final = ("EQ", "NE", "LT", "LE", "GT", "GE")
"""Names of the comparisons, indexed by ``cmp_type``."""


# --------------------------------------------------------------------------------------------
# Packed bits, with which the vector unit compares and selects
# --------------------------------------------------------------------------------------------


def _compare(lhs: Array, rhs: Any, mode: int) -> Array:
    """Return where a comparison holds; a NaN is unequal to everything, neither less nor greater."""
    compare: Any = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
    held: Array = compare[mode](lhs, rhs)
    return held


_STEP: Final = 32  # the row size of a tile is a multiple of this many bytes
_SCRATCH: Final = 16  # UINT32 elements of scratch that a select needs


def _bits_type(o: Operands) -> Type:
    """Return the type of packed bits of a tile [.., C]: [R, C rounded up to 32], C / 8 bytes valid.

    One bit per element, lowest first, padding included; all targets take this width.
    """
    two_tiles(o)
    rows, columns = (1, 1) if static_shape(o.tile(0)) is None else declared_shape(o.tile(0))
    view = TileView(valid_shape=[rows, -(-columns // 8)])
    return TileType([rows, round_up(columns, _STEP)], D.UINT8, tile_view=view)


def _bits(lhs: Array, rhs: Array, _per_byte: int, cmp_type: int = EQ) -> Array:
    columns: int = lhs.shape[-1]
    held = _compare(lhs, rhs, cmp_type).reshape(-1, columns)
    room = round_up(columns, _STEP) - -(-columns // 8)
    return np.pad(np.packbits(held, axis=1, bitorder="little"), ((0, 0), (0, room)))


def _mode(call: Call) -> str:
    mode: int = call.kwargs["cmp_type"]
    return MODES[mode]


def _all_of_each(site: PtoSite, *tiles: int) -> list[tuple[str, str]]:
    """Return names and types of the operands; partly valid ``tiles`` are retyped as whole tiles.

    Bits are packed for whole tiles; nothing reads those of elements that are not valid.
    """
    operands = list(zip(site.args, site.arg_types, strict=True))
    for at in tiles:
        tile = site.call.args[at]
        if has_invalid_bytes(tile.type):
            operands[at] = site.reinterpret(tile, all_of(tile.type))
    return operands


def _bits_pto(site: PtoSite) -> None:
    (lhs, kind), (rhs, _) = _all_of_each(site, 0, 1)[:2]  # both have the same type
    site.emit(
        f"pto.tcmp ins({lhs}, {rhs} {{cmpMode = #pto<cmp {_mode(site.call).lower()}>}} : "
        f"{kind}, {kind}) outs({site.dst} : {site.dst_type})"
    )


def _bits_cpp(site: CppSite) -> None:
    kind = site.call.type
    assert isinstance(kind, TileType)
    assert kind.tile_view is not None
    # Where a row of bits ends; the CPU model of the chip relies on it.
    site.emit(f"{site.dst}.SetValidCol({const_value(kind.tile_view.valid_shape[1])});")
    lhs, rhs = (whole_name(site, at) for at in (0, 1))
    site.emit(f"TCMP({site.dst}, {lhs}, {rhs}, CmpMode::{_mode(site.call)});")


@target_form(
    name="cmp",
    types=_bits_type,
    masks=True,
    dtypes=COMPARED,
    in_place=(),
    numpy=_bits,
    pto=_bits_pto,
    isa=_bits_cpp,
)
def cmp_on_target(lhs: Tile, rhs: Tile, per_byte: Axis, cmp_type: int = EQ) -> Tile:
    """Return the packed bits of the comparison of ``lhs`` and ``rhs``; ``per_byte`` is 8."""
    ...


def _chosen_type(o: Operands) -> Type:
    check_same_dtype(o, 1, 2)
    check_same_shape(o, 1, 2)
    return with_valid(plain_tile(o.tile(1)), valid_or_all(o.tile(1)))


def _chosen_pto(site: PtoSite) -> None:
    names, types = (", ".join(each) for each in zip(*_all_of_each(site, 1, 2), strict=True))
    dst, kind = site.dst, site.dst_type
    if has_invalid_bytes(site.call.type):
        dst, kind = site.reinterpret(None, all_of(site.call.type))
    site.emit(f"pto.tsel ins({names} : {types}) outs({dst} : {kind})")


def _chosen(mask: Array, lhs: Array, rhs: Array, _scratch: Array) -> Array:
    columns = lhs.shape[-1]
    bits = np.unpackbits(mask, axis=1, bitorder="little")[:, :columns].astype(bool)
    return np.where(bits.reshape(lhs.shape), lhs, rhs)


@target_form(
    masks=True,
    name="sel",
    types=_chosen_type,
    dtypes=STORABLE,
    reads=(0, 1, 2),
    writes=(3,),
    in_place=(1, 2),
    numpy=_chosen,
    pto=_chosen_pto,
    isa=on_all("TSEL", RESULT, 1, 2),
)
def sel_on_target(mask: Tile, lhs: Tile, rhs: Tile, tmp: Tile) -> Tile:
    """Return ``lhs`` where the bits of ``mask`` are set, else ``rhs``; ``tmp`` is scratch."""
    ...


def _as_row(value: Expr, let: Let) -> Expr:
    """Return a tile as the target compares it: columns and narrow tiles reshaped to one row.

    A5 wants the bits in a tile of the same shape, whose rows have 32 bytes, one per element. So it
    does not take fewer than 32 elements; A2/A3 does. Partly valid narrow tiles are not reshaped.
    """
    kind = value.type
    assert isinstance(kind, TileType)
    shape = static_shape(kind) or (1,)
    size = math.prod(shape)
    if not is_column(kind) and (has_invalid_bytes(kind) or shape[-1] % _STEP == 0 or size % _STEP):
        return value
    return let("row", reshape.build([value, [1, size]], {}))


def _filled(like: Expr, value: float, let: Let, name: str) -> Expr:
    """Return a tile like ``like``, filled with ``value``."""
    kind = like.type
    assert isinstance(kind, TileType)
    if valid_part(kind) is not None:
        return let(name, expands.build([like, value], {}))
    return _filled_with(kind, literal(value, kind.dtype), let, name)


def _filled_with(kind: TileType, number: Expr, let: Let, name: str) -> Expr:
    """Return a tile filled with ``number``; unsigned elements are filled as signed ones."""
    dtype = SIGNED_OF.get(kind.dtype)
    if dtype is None:
        return let(name, full.build([kind.shape, kind.dtype, number], {}))
    value = const_value(number)
    if value is None:
        number = Cast(number, dtype)
    else:  # the signed number with the same bits
        bits = kind.dtype.get_bit()
        value &= (1 << bits) - 1
        number = ConstInt(value - (value >> (bits - 1) << bits), dtype)
    filled = let("filled", full.build([kind.shape, dtype, number], {}))
    return let(name, reread(filled, kind.dtype))


def _as_comparable(value: Expr, let: Let) -> Expr:
    """Return a tile of integers in a type that the vector unit compares, preserving equality."""
    value = signed(value, let)
    kind = value.type
    assert isinstance(kind, TileType)
    if kind.dtype in COMPARED:
        return value
    return let("wide", cast.build([value], {"target_type": D.FP32, "mode": "rint"}))


def _held(lhs: Expr, rhs: Expr, mode: int, let: Let) -> tuple[Expr, bool]:
    """Return the packed bits of a comparison, and whether they are inverted.

    The vector unit compares integers for equality only: a <= b is max(a, b) == b. 16-bit integers
    are compared as floats, which represent them exactly.
    """
    kind, inverted = lhs.type, False
    assert isinstance(kind, TileType)
    if kind.dtype.is_int():
        inverted = mode in (NE, LT, GT)
        if mode in (LE, GT):
            lhs = let("larger", maximum.build([lhs, rhs], {}))
        elif mode in (GE, LT):
            rhs = let("larger", maximum.build([lhs, rhs], {}))
        lhs, rhs, mode = _as_comparable(lhs, let), _as_comparable(rhs, let), EQ
    operands, keywords = (lhs, rhs, ConstInt(8, D.INDEX)), {"cmp_type": mode}
    kind = cmp_on_target.result_type(operands, keywords)
    return let("bits", Call(cmp, operands, keywords, kind)), inverted


def _choice(bits: tuple[Expr, bool], yes: Expr, no: Expr, let: Let) -> Call:
    held, inverted = bits
    yes, no = (no, yes) if inverted else (yes, no)
    tmp = let("scratch", create_tile.build([[1, _SCRATCH], D.UINT32], {}))
    assert isinstance(yes.type, TileType)
    kind = with_valid(plain_tile(yes.type), valid_or_all(yes.type))
    return Call(sel, (held, yes, no, tmp), {}, unique(kind))


def _is_static(call: Call) -> bool:
    return isinstance(call.type, TileType) and static_shape(call.type) is not None


def _shaped(value: Call, call: Call, let: Let) -> Expr:
    """Return ``value`` reshaped to the shape of ``call``; see `_as_row`."""
    kind, found = call.type, value.type
    assert isinstance(kind, TileType)
    assert isinstance(found, TileType)
    if same_dims(kind.shape, found.shape):
        return Call(value.op, value.args, value.kwargs, value.type, call.span)
    return reshape.call([let("result", value), MakeTuple(kind.shape)], {}, call.span)


# --------------------------------------------------------------------------------------------
# Comparison
# --------------------------------------------------------------------------------------------


def check_mode(o: Operands) -> None:
    """Check ``cmp_type``, the number of a comparison.

    Raises:
        OpError: there is no such comparison.
    """
    mode = attribute(o, "cmp_type")
    if mode not in range(len(MODES)):
        names = ", ".join(f"{number} {name}" for number, name in enumerate(MODES))
        refuse(
            o,
            f"{called(o.op)} has no comparison {mode}",
            "argument-kind",
            f"cmp_type is one of {names}",
        )


def _compared(o: Operands) -> Type:
    check_mode(o)
    return two_tiles(o)


def _compared_with_number(o: Operands) -> Type:
    check_mode(o)
    return tile_and_scalar(o)


def mask(lhs: Array, rhs: Any, cmp_type: int = EQ) -> Array:
    """Return 1 where a comparison holds, else 0, in the element type of ``lhs``."""
    return _compare(lhs, rhs, cmp_type).astype(lhs.dtype)


def _as_select(call: Call, let: Let) -> Expr | None:
    """Decompose a comparison: y = cmp(a, b)  ->  y = sel(its bits, 1, 0)."""
    if not _is_static(call):
        return None  # InitMemRef rejects the tile
    lhs, bits = _compared_bits(call, let)
    yes, no = _filled(lhs, 1, let, "ones"), _filled(lhs, 0, let, "zeros")
    return _shaped(_choice(bits, yes, no, let), call, let)


def _compared_bits(call: Call, let: Let) -> tuple[Expr, tuple[Expr, bool]]:
    """Return the first operand of `cmp` or `cmps` as a tile, and what `_held` returns."""
    lhs = _as_row(call.args[0], let)
    number = not isinstance(call.args[1].type, TileType)
    rhs = _number(lhs, call.args[1], let) if number else _as_row(call.args[1], let)
    return lhs, _held(lhs, rhs, call.kwargs.get("cmp_type", EQ), let)


def _number(like: Expr, number: Expr, let: Let) -> Expr:
    kind = like.type
    assert isinstance(kind, TileType)
    if valid_part(kind) is not None:
        return let("number", expands.build([like, number], {}))
    return _filled_with(kind, number, let, "number")


@block_op(
    types=_compared,
    valid=same_part,
    dtypes=ARITHMETIC,
    in_place=(),
    promotion=Promotion(0, 1),
    numpy=mask,
    decomposition=_as_select,
    with_scratch=cmp_on_target,
)
def cmp(lhs: Tile, rhs: Tile, cmp_type: int = 0) -> Tile:
    """Return 1 where comparison ``cmp_type`` holds for ``lhs`` and ``rhs`` [R, C], else 0.

    The result has their element type. ``cmp_type`` is 0 for equal, 1 not equal, 2 less, 3 less or
    equal, 4 greater, 5 greater or equal. A NaN is unequal to everything, and neither less nor
    greater.
    """
    ...


@block_op(
    overload="cmp",
    types=_compared_with_number,
    valid=same_part,
    dtypes=ARITHMETIC,
    in_place=(),
    promotion=Promotion(0, number=1),
    numpy=lambda lhs, rhs, cmp_type=EQ: mask(lhs, beside(lhs, rhs), cmp_type),
    decomposition=_as_select,
)
def cmps(lhs: Tile, rhs: Scalar, cmp_type: int = 0) -> Tile:
    """Return 1 where comparison ``cmp_type`` holds for ``lhs`` [R, C] and ``rhs``, else 0.

    The result has the element type of ``lhs``. See `cmp`.
    """
    ...


# --------------------------------------------------------------------------------------------
# Select
# --------------------------------------------------------------------------------------------


def _selected(o: Operands) -> Type:
    """Return the result type for a mask and two tiles: [R, C]."""
    check_operands(o)
    check_same_dtype(o, 1, 2)
    check_same_shape(o, 1, 2)
    check_same_shape(o, 1, 0)
    return plain_tile(o.tile(1))


def _as_choice_by_zero(call: Call, let: Let) -> Expr | None:
    """Decompose a select: y = sel(m, a, b)  ->  y = sel(bits of m == 0, b, a).

    Where the mask is a comparison, its bits are used directly, without a comparison with 0.
    """
    if not _is_static(call):
        return None
    made = let.made(call.args[0])
    if made is not None and (made.op is cmp or made.op is cmps):
        lhs, rhs = (_as_row(arg, let) for arg in call.args[1:])
        _, bits = _compared_bits(made, let)
        return _shaped(_choice(bits, lhs, rhs, let), call, let)
    mask, lhs, rhs = [_as_row(arg, let) for arg in call.args]
    zeros = _filled(mask, 0, let, "zeros")
    return _shaped(_choice(_held(mask, zeros, EQ, let), rhs, lhs, let), call, let)


def _by_mask(mask: Array, lhs: Array, rhs: Array) -> Array:
    return np.where(mask != 0, lhs, rhs)


@block_op(
    types=_selected,
    complete=ignoring("tmp", scratch=3),
    valid=same_part,
    dtypes=ARITHMETIC,
    in_place=(),
    promotion=Promotion(1, 2),
    numpy=_by_mask,
    decomposition=_as_choice_by_zero,
    with_scratch=sel_on_target,
)
def sel(mask: Tile, lhs: Tile, rhs: Tile) -> Tile:
    """Return the elements of ``lhs`` [R, C] where ``mask`` is not 0, else those of ``rhs``.

    ``mask`` [R, C] is a result of `cmp` or `cmps`; it may have another element type.
    """
    ...


def _as_choice_by_sign(call: Call, let: Let) -> Expr | None:
    """Decompose prelu: y = prelu(a, s)  ->  y = sel(bits of a > 0, a, a * s)."""
    if not _is_static(call):
        return None
    tile, slope = [_as_row(arg, let) for arg in call.args[:2]]
    scaled = let("scaled", mul.build([tile, slope], {}))
    bits = _held(tile, _filled(tile, 0, let, "zeros"), GT, let)
    return _shaped(_choice(bits, tile, scaled, let), call, let)


@block_op(
    types=three_operands,
    complete=scratch_like("tmp", "tile", "slope"),
    valid=same_part,
    dtypes=FLOATS,
    reads=(0, 1),
    writes=(2,),
    in_place=(),
    promotion=Promotion(0, 1),
    numpy=lambda tile, slope, _scratch: leaky(tile, slope),
    decomposition=_as_choice_by_sign,
)
def prelu(tile: Tile, slope: Tile, tmp: Tile | None = None) -> Tile:
    """Return each element of ``tile`` [R, C] if it is positive, else ``slope`` [R, C] times it.

    ``tmp`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...


def _either(call: Call, _let: Let) -> Expr | None:
    """Return the tile that a constant mode selects, None if the mode is known only at run time."""
    lhs, rhs, mode = call.args
    if isinstance(mode, ConstInt | ConstFloat):
        return vec_move.call([lhs if mode.value != 0 else rhs], {}, call.span)
    return None


def _zero(mode: Expr) -> Expr:
    return literal(0, dtype_of(mode))


def _sels_pto(site: PtoSite) -> None:
    mode = site.call.args[2]
    condition = site.expr(Ne(mode, _zero(mode), D.BOOL))
    moves = [
        f"pto.tmov ins({name} : {kind}) outs({site.dst} : {site.dst_type})"
        for name, kind in zip(site.args[:2], site.arg_types[:2], strict=True)
    ]
    site.branch(condition, *moves)


def _sels_cpp(site: CppSite) -> None:
    mode = site.call.args[2]
    lines: Sequence[str] = (
        f"if ({site.expr(Ne(mode, _zero(mode), D.BOOL))}) {{",
        f"    TMOV({site.dst}, {site.args[0]});",
        "} else {",
        f"    TMOV({site.dst}, {site.args[1]});",
        "}",
    )
    for line in lines:
        site.emit(line)


def _with_mode(
    args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Make a mode that is a bare integer INT32, whatever the element type."""
    if len(args) == 3 and args[2].__class__ is int:
        args = [*args[:2], ConstInt(args[2], D.INT32, span)]
    elif kwargs.get("select_mode").__class__ is int:
        kwargs = {**kwargs, "select_mode": ConstInt(kwargs["select_mode"], D.INT32, span)}
    return args, kwargs


@block_op(
    types=two_tiles,
    complete=_with_mode,
    valid=equal_part,
    dtypes=STORABLE - {D.UINT64},
    in_place=(),
    columns=(0, 1, RESULT),
    promotion=Promotion(0, 1),
    numpy=lambda lhs, rhs, select_mode: (lhs if select_mode != 0 else rhs).copy(),
    decomposition=_either,
    pto=_sels_pto,
    isa=_sels_cpp,
)
def sels(lhs: Tile, rhs: Tile, select_mode: Scalar) -> Tile:
    """Return all of ``lhs`` [R, C] if the number ``select_mode`` is not 0, else all of ``rhs``."""
    ...
