"""Reductions along a chosen dimension: the first or the last of a tile."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pypto._src.errors import EmitError, OpError
from pypto._src.ir.array_types import TileType, same_dims, static_shape, valid_part
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, Var
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.opdef import Decomposition, OpDef, Operands
from pypto._src.ir.types import ScalarType, Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import ARITHMETIC, Tile, block_op
from pypto._src.ops.layout import is_column, is_padded, tile_type
from pypto._src.ops.lazy.elements import read
from pypto._src.ops.new_tiles import create_tile
from pypto._src.ops.promotion.casts import on_signed
from pypto._src.ops.reduce import by_signed_order, row_max, row_min, row_sum, total
from pypto._src.ops.reshaping import reshape
from pypto._src.ops.rules.type_rules import (
    attribute,
    called,
    check_operands,
    dims,
    members,
    operand_name,
    refuse,
)

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


def _along_axis(o: Operands) -> Type:
    """Return the type of a tile with dimension ``axis`` dropped, or 1; a scalar for [N]."""
    check_operands(o)
    kind, name = o.tile(0), operand_name(o, 0)
    axis, rank = int(attribute(o, "axis")), len(kind.shape)
    if "axis" not in o.kwargs:  # None was given in place of the default
        reduction = o.op.overload
        refuse(
            o,
            f"{called(o.op)} reduces one dimension, axis is None",
            "argument-kind",
            f"write pl.col_{reduction}(pl.row_{reduction}({name}))" if rank == 2 else None,
        )
    if not -rank <= axis < rank:
        refuse(o, f"{called(o.op)} of dimension {axis}, {name} has {rank} dimensions", "axis")
    axis %= rank
    if 0 < axis < rank - 1:
        refuse(
            o,
            f"{called(o.op)} reduces the first or the last dimension, got dimension {axis} of "
            f"{rank}",
            "axis",
        )
    if valid_part(kind) is not None:
        _refuse_part(o, is_last=axis == rank - 1)
    if attribute(o, "keepdim"):
        shape = (*kind.shape[:axis], ConstInt(1), *kind.shape[axis + 1 :])
    elif rank == 1:
        return ScalarType(kind.dtype)
    else:
        shape = (*kind.shape[:axis], *kind.shape[axis + 1 :])
    result = tile_type(shape, kind, MemorySpace.Vec, "the result")
    _check_planes(o, kind, result, axis)
    return result


def _check_planes(o: Operands, kind: TileType, result: TileType, axis: int) -> None:
    """Check that reducing a tile of several planes need not remove the padding between its rows."""
    if len(kind.shape) < 3 or static_shape(kind) is None:
        return
    padded = is_padded(kind) if axis == 0 else is_padded(result) and len(result.shape) > 1
    keeps = axis != 0 and attribute(o, "keepdim")
    if padded and not keeps:
        name = operand_name(o, 0)
        refuse(
            o,
            f"{called(o.op)} along dimension {axis} of {dims(kind.shape)} would have to "
            "remove padding: each row is padded to 32 bytes",
            "tile-layout",
            f"write pl.{o.op.overload}({name}, axis=-1, keepdim=True)"
            if axis
            else "reduce tiles of two dimensions",
            shown=(0,),
        )


def _refuse_part(o: Operands, *, is_last: bool) -> NoReturn:
    """Reject a partly valid tile; a fill with zeros keeps a sum but may change a maximum."""
    kind, name, reduction = o.tile(0), operand_name(o, 0), o.op.overload
    if is_last:
        hint = f"write pl.row_{reduction}({name})"
    elif reduction == "sum":
        hint = f"pl.fillpad({name})"
    else:
        row = dims((ConstInt(1), *kind.shape[1:]))
        hint = f"take blocks of constant size, then the rest in tiles {row}"
    refuse(
        o,
        f"{called(o.op)} takes tiles that are valid throughout, {name} is valid in part",
        "valid-shape",
        hint,
    )


def _by_rows(row_op: OpDef[..., Any], by_columns: Decomposition) -> Decomposition:
    """Return the decomposition of a reduction; ``by_columns`` is that of the columns of [R, C].

    y = max(x, axis=-1)  ->  s = create_tile(...); c = row_max(x, s); y = reshape(c, [R])
    """

    def expand(call: Call, let: Let) -> Expr | None:
        (tile,) = call.args
        kind, result = tile.type, call.type
        assert isinstance(kind, TileType)
        shape = static_shape(kind)
        if shape is None:
            return None  # InitMemRef rejects the tile
        if not isinstance(result, TileType):  # a number: a row reduced to one element
            line, name = [1, *shape], user_name(tile) if isinstance(tile, Var) else "it"
            short = row_op.overload.removeprefix("row_")
            if kind.dtype not in read.dtypes:
                raise OpError(
                    f"pl.{short} of a tile of one dimension is a number, and numbers are read from "
                    f"elements of {members(read.dtypes)}, {name} has {kind.dtype.member}",
                    hint=f"write pl.{short}(pl.reshape({name}, {line}), axis=1, keepdim=True)",
                    slug="element-type",
                )
            row = let("row", reshape.build([tile, line], {}, call.span))
            scratch = let("scratch", create_tile.build([line, kind.dtype], {}, call.span))
            left = let("left", row_op.build([row, scratch], {}, call.span))
            return read.build([left, [0, 0]], {}, call.span)
        wanted = MakeTuple(result.shape)
        if is_column(kind) and len(shape) == 2 and call.kwargs["axis"] in (0, -2):
            row = let("row", reshape.build([tile, shape[::-1]], {}))  # the same bytes
            scratch = let("scratch", create_tile.build([shape[::-1], kind.dtype], {}))
            element = row_op.build([row, scratch], {}, call.span)
            if same_dims(element.type.shape, result.shape):
                return element
            return reshape.call([let("element", element), wanted], {}, call.span)
        if call.kwargs["axis"] % len(shape) == 0:
            if len(shape) == 2:
                return by_columns(call, let)
            rows = let("rows", reshape.build([tile, [shape[0], math.prod(shape[1:])]], {}))
            op = call.op
            assert isinstance(op, OpDef)
            columns = op.build([rows], {"axis": 0, "keepdim": True}, call.span)
            return reshape.call([let("columns", columns), wanted], {}, call.span)
        if shape[-1] == 1:
            return reshape.call([tile, wanted], {}, call.span)
        scratch = let("scratch", create_tile.build([list(shape), kind.dtype], {}, call.span))
        column = row_op.build([tile, scratch], {}, call.span)
        if same_dims(column.type.shape, result.shape):
            return column
        return reshape.call([let("column", column), wanted], {}, call.span)

    return expand


def _check_columns(call: Call) -> None:
    if call.kwargs["axis"] not in (0, -2):
        raise EmitError(
            f"{call.op.name} along rows is several instructions",
            hint="run passes.legalize_tiles() first",
            slug="emit-op",
        )


def _columns_pto(mnemonic: str) -> Callable[[PtoSite], None]:
    def emit(site: PtoSite) -> None:
        _check_columns(site.call)
        site.emit(
            f"{mnemonic} ins({site.args[0]} : {site.arg_types[0]}) "
            f"outs({site.dst} : {site.dst_type})"
        )

    return emit


def _columns_cpp(name: str) -> Callable[[CppSite], None]:
    def emit(site: CppSite) -> None:
        _check_columns(site.call)
        site.emit(f"{name}({site.dst}, {site.args[0]});")

    return emit


_reduction: Final = partial(block_op, types=_along_axis, dtypes=ARITHMETIC, in_place=())
"""Registers an op that drops a dimension."""


@_reduction(
    numpy=lambda tile, axis=0, keepdim=False: np.max(tile, axis=axis, keepdims=keepdim),
    decomposition=_by_rows(row_max, by_signed_order),
    pto=_columns_pto("pto.tcolmax"),
    isa=_columns_cpp("TCOLMAX"),
)
def max(tile: Tile, axis: int = 0, keepdim: bool = False) -> Tile:
    """Return the largest elements of ``tile`` along dimension ``axis``; NaN where there is any.

    ``axis`` is the first or the last dimension, and may be negative. The dimension is
    dropped, or becomes 1 with ``keepdim``. On scalars, `pl.max` is the larger one.
    """
    ...


@_reduction(
    numpy=lambda tile, axis=0, keepdim=False: np.min(tile, axis=axis, keepdims=keepdim),
    decomposition=_by_rows(row_min, by_signed_order),
    pto=_columns_pto("pto.tcolmin"),
    isa=_columns_cpp("TCOLMIN"),
)
def min(tile: Tile, axis: int = 0, keepdim: bool = False) -> Tile:
    """Return the smallest elements of ``tile`` along dimension ``axis``; NaN where there is any.

    ``axis`` is the first or the last dimension, and may be negative. The dimension is
    dropped, or becomes 1 with ``keepdim``. On scalars, `pl.min` is the smaller one.
    """
    ...


@_reduction(
    numpy=lambda tile, axis, keepdim=False: total(tile, axis, keepdim),
    decomposition=_by_rows(row_sum, on_signed),
    pto=_columns_pto("pto.tcolsum"),
    isa=_columns_cpp("TCOLSUM"),
)
def sum(tile: Tile, axis: int, keepdim: bool = False) -> Tile:
    """Return the sums of ``tile`` along dimension ``axis``; FP16 is accumulated in 32 bits.

    ``axis`` is the first or the last dimension, and may be negative. The dimension is
    dropped, or becomes 1 with ``keepdim``. Integers wrap.
    """
    ...
