"""Sorting in descending order: runs of 32 columns, then merging sorted lists.

The ops sort records of a value and the number that came with it, in two adjacent columns of FP32,
the number as raw bits. Sorting is stable; a NaN is the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TileType, same_dims, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstFloat, ConstInt, Expr, const_value
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Tile, block_op
from pypto._src.ops.elementwise import muls
from pypto._src.ops.layout import tile_type
from pypto._src.ops.lazy.joining import concat
from pypto._src.ops.new_tiles import create_tile, full, view
from pypto._src.ops.reduce import col_expand
from pypto._src.ops.rules.type_rules import (
    attribute,
    called,
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
_LOWEST: Final = -3.4028234663852886e38
RUN: Final = 32
"""Columns that are sorted together."""


def _order(values: Array) -> Array:
    """Return the indices that sort values in descending order, stably."""
    nan = np.isnan(values)
    return np.lexsort((np.arange(len(values)), -np.where(nan, 0.0, values + 0.0), ~nan))


def sorted_runs(values: Array, numbers: Array) -> Array:
    """Return the records of each run of 32 columns in descending order."""
    rows, columns = values.shape
    out = np.zeros((rows, columns, 2), np.float32)
    for row in range(rows):
        for begin in range(0, columns, RUN):
            run = slice(begin, begin + RUN)
            order = _order(values[row, run])
            out[row, run, 0] = values[row, run][order]
            bits = np.ascontiguousarray(numbers[row, run][order])
            out[row, run, 1] = bits.view(np.float32)
    return out.reshape(rows, 2 * columns)


def merged_runs(records: Array, block_len: int) -> Array:
    """Merge every four runs of ``block_len`` columns, repeatedly taking the largest head."""
    pairs: Array = records.reshape(-1, 2)
    size, out = block_len // 2, np.empty_like(pairs)
    for begin in range(0, len(pairs), 4 * size):
        end = min(begin + 4 * size, len(pairs))
        heads = list(range(begin, end, size))
        stops = [min(head + size, end) for head in heads]
        keys = [(not np.isnan(k), -k if not np.isnan(k) else 0.0) for k in pairs[:, 0]]
        for to in range(begin, end):
            live = [run for run, head in enumerate(heads) if head < stops[run]]
            best = min(live, key=lambda run: (*keys[heads[run]], run))
            out[to] = pairs[heads[best]]
            heads[best] += 1
    merged: Array = out.reshape(records.shape)
    return merged


# --------------------------------------------------------------------------------------------
# Runs of 32
# --------------------------------------------------------------------------------------------


def _sort_type(o: Operands) -> Type:
    kind, numbers, name = o.tile(0), o.tile(1), operand_name(o, 0)
    if kind.dtype is not D.FP32:
        refuse(
            o,
            f"{called(o.op)} takes elements of FP32, {name} has {kind.dtype.member}",
            "element-type",
            f"pl.cast({name}, pl.FP32)",
            shown=(0,),
        )
    if numbers.dtype is not D.UINT32 and numbers.dtype is not D.INT32:
        refuse(
            o,
            f"{called(o.op)} takes numbers of UINT32 beside the values, {operand_name(o, 1)} has "
            f"{numbers.dtype.member}",
            "element-type",
            f"pl.arange(0, {dims((ConstInt(1), kind.shape[-1]))}, dtype=pl.UINT32)",
            shown=(1,),
        )
    shape = static_shape(kind)
    if shape is None or len(shape) != 2 or shape[1] % RUN:
        refuse(
            o,
            f"{called(o.op)} sorts rows of constant size in runs of {RUN} columns, {name} has the "
            f"shape {dims(kind.shape)}",
            "tile-shape",
            "fill the rest: pl.fillpad(x, pad_value=pl.PadValue.min)",
            shown=(0,),
        )
    is_row = const_value(numbers.shape[0]) == 1 and same_dims(numbers.shape[1:], kind.shape[1:])
    if not is_row and not same_dims(numbers.shape, kind.shape):
        refuse(
            o,
            f"{called(o.op)} takes as many numbers as values, got {dims(numbers.shape)} for "
            f"{dims(kind.shape)}",
            "shape-mismatch",
        )
    return tile_type((ConstInt(shape[0]), ConstInt(2 * shape[1])), D.FP32, MemorySpace.Vec)


def _sort(values: Array, numbers: Array) -> Array:
    return sorted_runs(values, np.ascontiguousarray(np.broadcast_to(numbers, values.shape)))


def _in_each_row(call: Call, let: Let) -> Expr | None:
    """Decompose sorting: broadcast a single row of numbers to all rows, and read them as UINT32."""
    tile, numbers = call.args
    kind, other = tile.type, numbers.type
    assert isinstance(kind, TileType)
    assert isinstance(other, TileType)
    made = numbers
    if not same_dims(kind.shape, other.shape):
        room = let("room", create_tile.build([list(kind.shape), other.dtype], {}, call.span))
        made = let("numbers", col_expand.build([room, numbers], {}, call.span))
    if other.dtype is not D.UINT32:
        from pypto._src.ops.reshaping import reread

        made = let("numbers", reread(made, D.UINT32))
    return None if made is numbers else sort32.call([tile, made], {}, call.span)


@block_op(
    types=_sort_type,
    dtypes=[D.FP32],
    in_place=(),
    numpy=_sort,
    decomposition=_in_each_row,
    pto="pto.tsort32",
    isa="TSORT32",
)
def sort32(src: Tile, idx: Tile) -> Tile:
    """Return ``src`` [R, C], each 32 columns sorted in descending order, with numbers: [R, 2 C].

    Even columns are the values, odd ones the bits of their numbers in ``idx`` [R, C] or [1, C], of
    UINT32. The sort is stable; a NaN is the largest.
    """
    ...


# --------------------------------------------------------------------------------------------
# Lists
# --------------------------------------------------------------------------------------------


def _check_records(o: Operands, index: int) -> int:
    """Check that a tile is one row of records; return its columns."""
    check_operands(o)
    kind, name = o.tile(index), operand_name(o, index)
    shape = static_shape(kind)
    if shape is None or len(shape) != 2 or shape[0] != 1:
        refuse(
            o,
            f"{called(o.op)} merges one row of records, {name} has the shape {dims(kind.shape)}",
            "tile-shape",
            "merge the rows one by one",
            shown=(index,),
        )
    return shape[1]


def _merge_type(o: Operands) -> Type:
    columns, length = _check_records(o, 0), int(attribute(o, "block_len"))
    if length <= 0 or length % (2 * RUN):
        refuse(
            o,
            f"{called(o.op)} merges runs of a multiple of {2 * RUN} columns, got block_len="
            f"{length}",
            "argument-kind",
            f"write block_len={max(1, length // (2 * RUN)) * 2 * RUN}",
            shown=(0,),
        )
    if columns % (4 * length):
        name, half = operand_name(o, 0), columns // 2
        refuse(
            o,
            f"{called(o.op)} merges four runs of {length} columns into one, {name} has {columns} "
            "columns",
            "tile-shape",
            f"pl.mrgsort({name}[:, :{half}], {name}[:, {half}:])"
            if half == length
            else "merge the halves: pl.mrgsort(first, second)",
            shown=(0,),
        )
    return tile_type(o.tile(0).shape, D.FP32, MemorySpace.Vec)


def _merge_pto(site: PtoSite) -> None:
    length = site.expr(ConstInt(site.call.kwargs["block_len"], D.INT32))
    site.emit(
        f"pto.tmrgsort ins({site.args[0]}, {length} : {site.arg_types[0]}, i32) "
        f"outs({site.dst} : {site.dst_type})"
    )


def _merge_cpp(site: CppSite) -> None:
    site.emit(f"TMRGSORT({site.dst}, {site.args[0]}, {site.call.kwargs['block_len']});")


@block_op(
    types=_merge_type,
    dtypes=[D.FP32],
    in_place=(),
    numpy=merged_runs,
    pto=_merge_pto,
    isa=_merge_cpp,
)
def mrgsort(src: Tile, block_len: int) -> Tile:
    """Return ``src`` [1, C] with every four sorted runs of ``block_len`` columns merged into one.

    The runs hold records of `sort32`, two columns each.
    """
    ...


def _lists_type(o: Operands) -> Type:
    sizes = [_check_records(o, index) for index in range(len(o.args))]
    if len(set(sizes)) > 1 or sizes[0] % (2 * RUN):
        names = ", ".join(f"{operand_name(o, i)} {size}" for i, size in enumerate(sizes))
        refuse(
            o,
            f"{called(o.op)} merges lists of one length, a multiple of {2 * RUN} columns; got "
            f"{names}",
            "shape-mismatch",
            "fill the shorter ones with records of -inf",
        )
    return tile_type((ConstInt(1), ConstInt(sum(sizes))), D.FP32, MemorySpace.Vec)


def _merged_lists(*lists: Array) -> Array:
    return merged_runs(np.concatenate(lists, axis=1), lists[0].shape[1])


def _as_runs(call: Call, let: Let) -> Expr:
    """Decompose a merge of lists: to a merge of four runs, where missing ones are -inf."""
    kind = call.args[0].type
    assert isinstance(kind, TileType)
    (_, size), count = static_shape(kind) or (1, 1), len(call.args)
    whole = call.args[0]
    for each in call.args[1:]:
        whole = let("joined", concat.build([whole, each], {}, call.span))
    if count < 4:
        # Neither PTO nor C++ text can write infinities: the lowest finite number times 2 is -inf.
        room, lowest = [1, (4 - count) * size], ConstFloat(_LOWEST, D.FP32)
        finite = let("lowest", full.build([room, D.FP32, lowest], {}, call.span))
        rest = let("rest", muls.build([finite, 2.0], {}, call.span))
        whole = let("joined", concat.build([whole, rest], {}, call.span))
    made = mrgsort.build([whole, size], {}, call.span)
    if count == 4:
        return made
    sizes = [1, count * size]
    return view.build([let("merged", made), sizes, [0, 0]], {}, call.span)


merging: Final = block_op(
    overload="mrgsort",
    types=_lists_type,
    dtypes=[D.FP32],
    in_place=(),
    numpy=_merged_lists,
    decomposition=_as_runs,
)
"""Registers a merge of two to four lists."""


@merging
def mrgsort2(src0: Tile, src1: Tile) -> Tile:
    """Return the sorted lists ``src0`` and ``src1`` [1, C] of records as one sorted list."""
    ...


@merging
def mrgsort3(src0: Tile, src1: Tile, src2: Tile) -> Tile:
    """Return the sorted lists ``src0``, ``src1`` and ``src2`` [1, C] of records as one."""
    ...


@merging
def mrgsort4(src0: Tile, src1: Tile, src2: Tile, src3: Tile) -> Tile:
    """Return the sorted lists ``src0``, ``src1``, ``src2``, ``src3`` [1, C] of records as one."""
    ...
