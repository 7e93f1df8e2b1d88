"""Sequences of integers, and gathering elements by a tile of indices.

The vector unit indexes the elements of a whole tile in row-major order. To indices within rows, the
offsets of the rows are added first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import MaskPattern, MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr, const_value
from pypto._src.ir.opdef import OpDef, Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Ints, Scalar, Tile, block_op
from pypto._src.ops.elementwise import cast, muls
from pypto._src.ops.layout import (
    declared_shape,
    is_padded,
    is_vertical,
    physical_shape,
    round_up,
    rows_and_columns,
    tile_type,
)
from pypto._src.ops.new_tiles import create_tile, fillpad, vec_move
from pypto._src.ops.promotion.casts import signed
from pypto._src.ops.reduce import row_expand_add
from pypto._src.ops.reshaping import reread, reshape
from pypto._src.ops.rules.type_rules import (
    attribute,
    called,
    check_element,
    check_operands,
    dims,
    operand_name,
    refuse,
)

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
SEQUENCE_TYPES: Final = frozenset({D.INT16, D.INT32, D.UINT16, D.UINT32})
"""Element types of sequences."""
MOVABLE: Final = frozenset({D.FP16, D.BF16, D.FP32, D.INT16, D.INT32, D.UINT16, D.UINT32})
"""Element types that are gathered and scattered: of 16 and 32 bits."""
INDICES: Final = frozenset({D.INT16, D.INT32, D.UINT32})
"""Element types of the indices of gather and scatter."""


# --------------------------------------------------------------------------------------------
# Sequences
# --------------------------------------------------------------------------------------------


def check_first_number(o: Operands, dtype: DataType) -> None:
    """Raise `OpError` if a sequence of ``dtype`` starts with a number of another type."""
    found = o.scalar(0).dtype
    if found is not dtype:
        refuse(
            o,
            f"{called(o.op)} of {dtype.member} begins with a number of {found.member}",
            "dtype-mismatch",
            f"pl.cast({operand_name(o, 0)}, pl.{dtype.member})",
            shown=(0,),
        )


def _arange_type(o: Operands) -> Type:
    shape, dtype = o.ints(1), attribute(o, "dtype")
    assert isinstance(dtype, DataType)
    check_element(o.op, "the tile", dtype)
    if any(const_value(dim) != 1 for dim in shape[:-1]) or const_value(shape[-1]) is None:
        refuse(
            o,
            f"{called(o.op)} makes one row of constant size, got the shape {dims(shape)}",
            "tile-shape",
            f"pl.col_expand(tile, pl.arange(0, {dims([ConstInt(1), shape[-1]])})) has it in all "
            "rows of a tile",
            shown=(),
        )
    check_first_number(o, dtype)
    kind = tile_type(shape, dtype, MemorySpace.Vec)
    assert isinstance(kind, TileType)
    return kind if len(shape) > 1 else tile_type((ConstInt(1), *shape), dtype, MemorySpace.Vec)


def _arange(
    start: Any, shape: Sequence[int], dtype: DataType = D.INT32, descending: bool = False
) -> Array:
    steps = np.arange(shape[-1]).astype(dtype.numpy)
    first = np.asarray(start).astype(dtype.numpy)
    row: Array = first - steps if descending else first + steps
    return row.reshape(tuple(shape) if len(shape) > 1 else (1, *shape))


_OF_SIGNED: Final = {D.UINT16: D.INT16, D.UINT32: D.INT32}


def _signed_arange(call: Call, let: Let) -> Expr | None:
    """Decompose a sequence of unsigned numbers: to one of signed numbers with the same bits."""
    dtype = call.kwargs.get("dtype", D.INT32)
    other = _OF_SIGNED.get(dtype)
    if other is None:
        return None
    start, shape = call.args
    known = const_value(start)
    if known is None:
        first: Expr = _as_signed(start, other)
    else:
        half = 1 << (other.get_bit() - 1)
        first = ConstInt((known + half) % (2 * half) - half, other)
    made = arange.call([first, shape], {**call.kwargs, "dtype": other}, call.span)
    return reread(let("signed", made), dtype)


def _as_signed(value: Expr, dtype: DataType) -> Expr:
    from pypto._src.ir.exprs import Cast

    return Cast(value, dtype, value.span)


def _arange_pto(site: PtoSite) -> None:
    way = " {descending = true}" if site.call.kwargs.get("descending") else ""
    name, kind = site.args[0], site.arg_types[0]
    site.emit(f"pto.tci ins({name}{way} : {kind}) outs({site.dst} : {site.dst_type})")


def _arange_cpp(site: CppSite) -> None:
    tile, way = f"decltype({site.dst})", int(bool(site.call.kwargs.get("descending")))
    start = f"static_cast<{tile}::DType>({site.expr(site.call.args[0])})"
    site.emit(f"TCI<{tile}, {tile}::DType, {way}>({site.dst}, {start});")


@block_op(
    pipe=PipeType.S,
    types=_arange_type,
    dtypes=SEQUENCE_TYPES,
    numpy=_arange,
    decomposition=_signed_arange,
    pto=_arange_pto,
    isa=_arange_cpp,
)
def arange(
    start: Scalar, shape: Ints, dtype: DataType = DataType.INT32, descending: bool = False
) -> Tile:
    """Return the row ``start``, ``start`` + 1, ... of ``shape`` [1, C].

    ``start`` has the element type ``dtype``, an integer of 16 or 32 bits. The elements decrease if
    ``descending``.
    """
    ...


# --------------------------------------------------------------------------------------------
# Gathering
# --------------------------------------------------------------------------------------------


def _check_indices(o: Operands, index: int) -> None:
    dtype = o.tile(index).dtype
    if dtype not in INDICES:
        refuse(
            o,
            f"{called(o.op)} takes indices of INT16, INT32 or UINT32, {operand_name(o, index)} has "
            f"{dtype.member}",
            "element-type",
            f"pl.cast({operand_name(o, index)}, pl.INT32)",
            shown=(index,),
        )


def _check_source(o: Operands, index: int) -> None:
    dtype = o.tile(index).dtype
    check_element(o.op, operand_name(o, index), dtype)


def _two_dimensions(o: Operands, *indices: int) -> None:
    for index in indices:
        shape = o.tile(index).shape
        if len(shape) != 2 or static_shape(o.tile(index)) is None:
            refuse(
                o,
                f"{called(o.op)} takes tiles of two constant dimensions, {operand_name(o, index)} "
                f"has the shape {dims(shape)}",
                "tile-rank",
                shown=(index,),
            )


def _check_unpadded(o: Operands) -> None:
    """Check that the elements of operand 0 are contiguous: indices are offsets in it."""
    kind = o.tile(0)
    rows = static_shape(kind) or (1,)
    if not is_padded(kind) or rows[0] == 1:
        return
    refuse(
        o,
        f"{called(o.op)} counts elements by their index in {operand_name(o, 0)}, and rows of "
        f"{dims(kind.shape)} are padded to 32 bytes",
        "tile-layout",
        f"load it with {declared_shape(kind)[1]} columns",
        shown=(0,),
    )


def _gather_type(o: Operands) -> Type:
    _check_unpadded(o)
    _check_source(o, 0)
    _check_indices(o, 1)
    _two_dimensions(o, 0, 1)
    return tile_type(o.tile(1).shape, o.tile(0).dtype, MemorySpace.Vec)


def _taken(tile: Array, indices: Array, _scratch: Any = None) -> Array:
    flat, at = tile.reshape(-1), indices.astype(np.int64)
    inside = (at >= 0) & (at < flat.size)
    return np.where(inside, flat[np.where(inside, at, 0)], flat.dtype.type(0))


_AS_BITS: Final = {D.UINT16: D.INT16, D.UINT32: D.INT32}
"""Element types that are gathered as another type of the same width."""


def _on_supported_bits(call: Call, let: Let) -> Expr | None:
    """Decompose a gather: to one of supported element types, by 32-bit indices."""
    tile, indices = call.args[:2]
    kind, numbers = tile.type, indices.type
    assert isinstance(kind, TileType)
    assert isinstance(numbers, TileType)
    narrow, other = numbers.dtype is D.INT16, _AS_BITS.get(kind.dtype)
    if kind.dtype is D.BF16:
        return _in_fp32(gather, [tile, indices], {}, call, let)
    if not narrow and other is None:
        return None
    if narrow:
        indices = let("wide", _as_int32(indices, let, call))
    if other is not None:
        tile = let("bits", reread(tile, other))
    op = gather.build([tile, indices], {}, call.span)
    scratch = [let("scratch", arg) if isinstance(arg, Call) else arg for arg in op.args[2:]]
    made = gather.call([tile, indices, *scratch], {}, call.span)
    return made if other is None else reread(let("taken", made), kind.dtype)


def _in_fp32(
    op: OpDef[..., Any], args: Sequence[Expr], words: Mapping[str, Any], call: Call, let: Let
) -> Expr:
    """Return ``op`` on BF16 elements, computed in FP32, which represents them exactly."""
    wide = let("wide", cast.build([args[0]], {"target_type": D.FP32, "mode": "none"}, call.span))
    made = op.build([wide, *args[1:]], words, call.span)
    operands = [let("scratch", arg) if isinstance(arg, Call) else arg for arg in made.args]
    taken = let("taken", op.call(operands, made.kwargs, call.span))
    return cast.build([taken], {"target_type": D.BF16, "mode": "rint"}, call.span)


def _as_int32(tile: Expr, let: Let, call: Call) -> Expr:
    words = {"target_type": D.FP32, "mode": "none"}
    single = let("single", cast.build([tile], words, call.span))
    return cast.build([single], {"target_type": D.INT32, "mode": "rint"}, call.span)


def _own_scratch(
    args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Create the scratch tile, which is like the indices, if the call omits it."""
    given = args[2] if len(args) > 2 else kwargs.get("tmp")
    indices = args[1] if len(args) > 1 else kwargs.get("indices")
    kind = indices.type if isinstance(indices, Expr) else None
    if given is not None or not isinstance(kind, TileType):
        return args, kwargs
    scratch = create_tile.build([list(kind.shape), kind.dtype], {}, span)
    return args[:2], {**kwargs, "tmp": scratch}


@block_op(
    types=_gather_type,
    complete=_own_scratch,
    dtypes=MOVABLE,
    reads=(0, 1),
    writes=(2,),
    in_place=(),
    numpy=_taken,
    decomposition=_on_supported_bits,
    pto="pto.tgather",
    isa="TGATHER",
)
def gather(tile: Tile, indices: Tile, tmp: Tile | None = None) -> Tile:
    """Return the elements of ``tile`` [R, C] at ``indices``, in the shape of ``indices``.

    Indices are into the whole tile in row-major order; one out of bounds gives 0. ``tmp`` is a
    scratch tile like ``indices``, created if omitted.
    """
    ...


def _along_type(o: Operands) -> Type:
    _check_unpadded(o)
    _check_source(o, 0)
    _check_indices(o, 1)
    _two_dimensions(o, 0, 1)
    _check_last(o)
    if const_value(o.tile(0).shape[0]) != const_value(o.tile(1).shape[0]):
        refuse(
            o,
            f"{called(o.op)} along rows takes one row of indices per row, got "
            f"{dims(o.tile(1).shape)} for {dims(o.tile(0).shape)}",
            "shape-mismatch",
        )
    return tile_type(o.tile(1).shape, o.tile(0).dtype, MemorySpace.Vec)


def _check_last(o: Operands) -> None:
    if attribute(o, "dim") not in (-1, 1):
        refuse(
            o,
            f"{called(o.op)} of a tile goes along its last dimension, got dim="
            f"{attribute(o, 'dim')}",
            "axis",
            "write dim=-1",
            shown=(0,),
        )


def _in_rows(tile: Array, indices: Array, dim: int = -1) -> Array:
    at = indices.astype(np.int64)
    inside = (at >= 0) & (at < tile.shape[-1])
    found = np.take_along_axis(tile, np.where(inside, at, 0), axis=-1)
    return np.where(inside, found, tile.dtype.type(0))


def flat_indices(tile: Expr, indices: Expr, let: Let, call: Call) -> Expr:
    """Return indices within rows as indices into the whole of ``tile``."""
    kind, numbers = tile.type, indices.type
    assert isinstance(kind, TileType)
    assert isinstance(numbers, TileType)
    if numbers.dtype is D.INT16:
        indices = let("wide", _as_int32(indices, let, call))
    indices = signed(indices, let)
    rows, _ = static_shape(kind) or (1, 1)
    if rows == 1:
        return indices
    # The column 0, C, 2 C, ... of row offsets, where C includes the padding of a row.
    width = physical_shape(kind)[1]
    counts = let("counts", arange.build([0, [1, rows]], {"dtype": D.INT32}, call.span))
    begins = let("begins", muls.build([counts, width], {}, call.span))
    column = let("column", reshape.build([begins, [rows, 1]], {}, call.span))
    return let("places", row_expand_add.build([indices, column], {}, call.span))


def _taken_in_rows(call: Call, let: Let) -> Expr:
    """Decompose a gather along rows: to a gather by indices into the whole tile."""
    tile, indices = call.args
    made = gather.build([tile, flat_indices(tile, indices, let, call)], {}, call.span)
    scratch = [let("scratch", arg) if isinstance(arg, Call) else arg for arg in made.args[2:]]
    return gather.call([*made.args[:2], *scratch], {}, call.span)


@block_op(
    overload="gather",
    types=_along_type,
    dtypes=MOVABLE,
    in_place=(),
    numpy=_in_rows,
    decomposition=_taken_in_rows,
)
def gather_along(input: Tile, dim: int, index: Tile) -> Tile:
    """Return the elements of each row of ``input`` [R, C] at the indices ``index`` [R, K]: [R, K].

    The result for an index outside the row is undefined; the interpreter gives 0. ``dim`` is the
    last dimension.
    """
    ...


# --------------------------------------------------------------------------------------------
# Columns by a pattern
# --------------------------------------------------------------------------------------------


def pattern(mask_pattern: int) -> tuple[int, int]:
    """Return the first column that a pattern selects, and the distance to the next."""
    return {
        MaskPattern.P0101: (0, 2),
        MaskPattern.P1010: (1, 2),
        MaskPattern.P0001: (0, 4),
        MaskPattern.P0010: (1, 4),
        MaskPattern.P0100: (2, 4),
        MaskPattern.P1000: (3, 4),
        MaskPattern.P1111: (0, 1),
    }[MaskPattern(mask_pattern)]


def _mask_type(o: Operands) -> Type:
    check_operands(o)
    _two_dimensions(o, 0)
    rows, columns = static_shape(o.tile(0)) or (0, 0)
    _, step = pattern(attribute(o, "mask_pattern"))
    if columns % step:
        refuse(
            o,
            f"{called(o.op)} by this pattern takes columns in multiples of {step}, "
            f"{operand_name(o, 0)} has {columns}",
            "shape-mismatch",
        )
    dtype = attribute(o, "output_dtype") or o.tile(0).dtype
    if dtype.get_bit() != o.tile(0).dtype.get_bit():
        refuse(
            o,
            f"{called(o.op)} reads the bits of {o.tile(0).dtype.member} as {dtype.member}, which "
            "is not as wide",
            "dtype-mismatch",
        )
    if dtype is not o.tile(0).dtype and D.BF16 in (dtype, o.tile(0).dtype):
        refuse(o, f"{called(o.op)} reads no bits of BF16 as others", "element-type")
    shape = ConstInt(rows), ConstInt(columns // step)
    return tile_type(shape, dtype, MemorySpace.Vec)


def _by_pattern(tile: Array, mask_pattern: int, output_dtype: DataType | None = None) -> Array:
    first, step = pattern(mask_pattern)
    found = np.ascontiguousarray(tile[:, first::step])
    return found if output_dtype is None else found.view(output_dtype.numpy)


def _of_moved_bits(call: Call, let: Let) -> Expr | None:
    """Decompose a gather of columns of an element type that the unit does not support."""
    (tile,) = call.args
    kind, mask = tile.type, call.kwargs["mask_pattern"]
    assert isinstance(kind, TileType)
    wanted = call.kwargs.get("output_dtype") or kind.dtype
    if mask == MaskPattern.P1111 and wanted is kind.dtype:
        return vec_move.call([tile], {}, call.span)
    if kind.dtype is D.BF16 and wanted is D.BF16:
        return _in_fp32(gather_mask, [tile], {"mask_pattern": mask}, call, let)
    other = _AS_BITS.get(kind.dtype)
    if other is None:
        return None
    bits = let("bits", reread(tile, other))
    words = {"mask_pattern": mask, "output_dtype": wanted}
    return gather_mask.build([bits], words, call.span)


def _of_whole_rows(call: Call, let: Let) -> Expr | None:
    """Decompose a gather of columns whose result has rows that do not fill whole blocks.

    The instruction fills whole rows of its result:
    y = gather_mask(x)  ->  w = x padded with zeros; v = gather_mask(w); y = the front of v
    """
    kind, result = call.args[0].type, call.type
    assert isinstance(kind, TileType)
    assert isinstance(result, TileType)
    _, step = pattern(call.kwargs["mask_pattern"])
    if step == 1 or kind.dtype in (*_AS_BITS, D.BF16):  # decomposed by `_of_moved_bits`
        return None
    if not (is_padded(result) or is_vertical(result)):
        return None
    from pypto._src.ops.padding import block_of, first_column, relaid

    size, (rows, columns) = static_shape(kind), rows_and_columns(result)
    block = block_of(result)
    longer = rows, max(round_up(columns, block) * step, declared_shape(kind)[1])
    wide = let("wide", relaid(call.args[0], longer, size))
    whole = let("whole", fillpad.build([wide], {}, call.span))
    found = let("found", gather_mask.call([whole], call.kwargs, call.span))
    if columns == 1:
        return first_column(found, result, let)
    return relaid(found, (rows, columns), None)


def _mask_pto(site: PtoSite) -> None:
    mask = MaskPattern(site.call.kwargs["mask_pattern"]).name
    site.emit(
        f"pto.tgather ins({site.args[0]}, {{maskPattern = #pto.mask_pattern<{mask}>}} : "
        f"{site.arg_types[0]}) outs({site.dst} : {site.dst_type})"
    )


def _mask_cpp(site: CppSite) -> None:
    mask = MaskPattern(site.call.kwargs["mask_pattern"]).name
    kinds = f"decltype({site.dst}), decltype({site.args[0]})"
    site.emit(f"TGATHER<{kinds}, MaskPattern::{mask}>({site.dst}, {site.args[0]});")


@block_op(
    overload="gather",
    types=_mask_type,
    dtypes=MOVABLE,
    in_place=(),
    numpy=_by_pattern,
    decomposition=_of_moved_bits,
    of_padded=_of_whole_rows,
    pto=_mask_pto,
    isa=_mask_cpp,
)
def gather_mask(tile: Tile, mask_pattern: int, output_dtype: DataType | None = None) -> Tile:
    """Return the columns of ``tile`` [R, C] that a pattern selects, side by side.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one. With ``output_dtype`` their bits are reinterpreted as elements of that type.
    """
    ...
