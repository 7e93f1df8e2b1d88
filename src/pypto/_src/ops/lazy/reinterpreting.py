"""The bits of a tile as elements of another type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import BY_CODE, DataType
from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Axis, Ints, Tile, block_op, target_form
from pypto._src.ops.layout import is_column, is_padded, tile_type
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
READ_AS: Final = (
    *(D.FP32, D.FP16, D.BF16, D.INT8, D.INT16, D.INT32, D.INT64),
    *(D.UINT8, D.UINT16, D.UINT32),
)


def _type(o: Operands) -> Type:
    check_operands(o)
    kind, dtype = o.tile(0), attribute(o, "dtype")
    assert isinstance(dtype, DataType)
    check_element(o.op, "the result", dtype)
    name = operand_name(o, 0)
    if dtype is kind.dtype:
        refuse(
            o,
            f"{called(o.op)} reads {name} as {dtype.member}, which it already is",
            "dtype-mismatch",
            f"write {name}",
            shown=(0,),
        )
    if is_padded(kind) or is_column(kind):
        refuse(
            o,
            f"{called(o.op)} takes tiles whose rows fill blocks of 32 bytes, {name} is "
            f"{dims(kind.shape)}",
            "tile-layout",
            shown=(0,),
        )
    if dtype.bytes != kind.dtype.bytes:
        refuse(
            o,
            f"{called(o.op)} reads elements as others of equal width, {name} has "
            f"{kind.dtype.member}, which is not as wide as {dtype.member}",
            "dtype-mismatch",
            f"pl.cast({name}, pl.{dtype.member})",
            shown=(0,),
        )
    return tile_type(kind.shape, dtype, MemorySpace.Vec)


def _read_as(tile: Array, dtype: DataType) -> Array:
    return np.ascontiguousarray(tile).view(dtype.numpy)


def _as_bits(call: Call, _let: Let) -> Expr:
    """Return the variant that targets take, which has no keyword."""
    (tile,), dtype = call.args, call.kwargs["dtype"]
    assert isinstance(tile.type, TileType)
    operands = (tile, MakeTuple(tile.type.shape), ConstInt(dtype.code(), D.INDEX))
    kind = bits_on_target.result_type(operands, {})
    return Call(reinterpret_view, operands, {}, kind, call.span)


def _bits_type(o: Operands) -> Type:
    return tile_type(o.ints(1), BY_CODE[o.axis(2)], MemorySpace.Vec)


def _bits_pto(site: PtoSite) -> None:
    site.emit(f"{site.dst} = pto.bitcast {site.args[0]} : {site.arg_types[0]} -> {site.dst_type}")


def _no_text(_site: CppSite) -> None:
    """Emit nothing: the tile of the result has the address of the operand."""


@target_form(
    name="reinterpret_view",
    pipe=None,
    types=_bits_type,
    dtypes=READ_AS,
    view_of=0,
    numpy=lambda tile, _shape, code: _read_as(tile, BY_CODE[code]),
    pto=_bits_pto,
    isa=_no_text,
)
def bits_on_target(tile: Tile, shape: Ints, code: Axis) -> Tile:
    """Return the bits of ``tile`` as elements of the type with the number ``code``."""
    ...


@block_op(
    types=_type,
    dtypes=READ_AS,
    in_place=(),
    numpy=_read_as,
    decomposition=_as_bits,
    with_scratch=bits_on_target,
)
def reinterpret_view(tile: Tile, dtype: DataType) -> Tile:
    """Return the bits of each element of ``tile`` [R, C] as a ``dtype`` of the same width.

    Nothing is converted.
    """
    ...
