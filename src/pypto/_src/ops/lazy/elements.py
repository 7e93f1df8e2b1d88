"""Single elements of tiles, read and written by the scalar pipe.

Writes are in place: the tile keeps its name and all its other elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError
from pypto._src.ir.array_types import TileType, static_shape, valid_part
from pypto._src.ir.enums import PipeType
from pypto._src.ir.exprs import Add, ConstInt, Expr, Mul, binary, const_value
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type, UnknownType, scalar_type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Offsets, Scalar, Tile, block_op
from pypto._src.ops.layout import is_column, physical_shape
from pypto._src.ops.rules.boxes import elements
from pypto._src.ops.rules.type_rules import (
    called,
    check_operands,
    dims,
    operand_name,
    refuse,
)
from pypto._src.ops.rules.valid_parts import given
from pypto._src.ops.tensor import check_indices, with_flat_index

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
READ: Final = frozenset({D.FP32, D.FP16, D.BF16, D.INT32, D.INT16, D.INT8})
"""Element types that the assembler moves between a tile and a scalar."""


def _check_element(o: Operands, value: int | None) -> None:
    """Check the indices of an element, and the type of a number to write."""
    check_operands(o)
    kind = o.tile(0)
    if static_shape(kind) is None:
        refuse(o, f"{called(o.op)} takes a tile of constant sizes", "tile-shape", shown=(0,))
    check_indices(o, kind.shape, o.ints(1))
    _check_valid(o, kind)
    if value is not None:
        check_number(o, kind.dtype, value)


def _check_valid(o: Operands, kind: TileType) -> None:
    """Check that an element lies in the valid part of its tile, if both are known."""
    valid = valid_part(kind)
    if valid is None:
        return
    for axis, (index, limit) in enumerate(zip(o.ints(1), valid, strict=False)):
        at, size = const_value(index), const_value(limit)
        if at is not None and size is not None and at >= size:
            name = operand_name(o, 0)
            refuse(
                o,
                f"{called(o.op)} of index {at} in dimension {axis} of {name}, of which "
                f"{dims(valid)} is valid",
                "valid-shape",
                f"fill the rest before: {name} = pl.fillpad({name})",
            )


def check_number(o: Operands, dtype: DataType, index: int) -> None:
    """Check that a number to write has the element type.

    Raises:
        OpError: it has another type; nothing is converted.
    """
    found = o.scalar(index).dtype
    if found is not dtype:
        name = operand_name(o, index)
        refuse(
            o,
            f"{called(o.op)} of a number of {found.member} into elements of {dtype.member}",
            "dtype-mismatch",
            f"pl.cast({name}, pl.{dtype.member})",
            shown=(0, index),
        )


def _read_type(o: Operands) -> Type:
    _check_element(o, None)
    return scalar_type(o.tile(0).dtype)


def _write_type(o: Operands) -> Type:
    _check_element(o, 2)
    return UnknownType.get()


def _at(array: Array, indices: Sequence[int], verb: str) -> tuple[int, ...]:
    for index, limit in zip(indices, array.shape, strict=True):
        if not 0 <= index < limit:
            raise EvaluationError(
                f"pl.{verb} of element {list(indices)} of {list(array.shape)}",
                slug="out-of-bounds",
            )
    return tuple(indices)


def _read(array: Array, indices: Sequence[int]) -> Any:
    return array[_at(array, indices, "read")]


def write_at(array: Array, indices: Sequence[int], value: Any) -> None:
    """Set an element to a number, converted to the array's type."""
    array[_at(array, indices, "write")] = np.asarray(value).astype(array.dtype)


def _offset(tile: Expr, indices: Expr) -> Expr:
    """Return the offset of an element in memory, in elements from the start of its tile."""
    kind = tile.type
    assert isinstance(kind, TileType)
    shape, columns = static_shape(kind), physical_shape(kind)[1]
    assert shape is not None
    *rows, column = elements(indices)
    row: Expr = ConstInt(0)
    for index, size in zip(rows, shape, strict=False):
        row = _sum(_product(row, size), index)
    return row if is_column(kind) else _sum(_product(row, columns), column)


def _product(value: Expr, by: int) -> Expr:
    known = const_value(value)
    return binary(Mul, value, by) if known is None else ConstInt(known * by)


def _sum(a: Expr, b: Expr) -> Expr:
    first, second = const_value(a), const_value(b)
    if first is not None and second is not None:
        return ConstInt(first + second)
    if first == 0:
        return b
    return a if second == 0 else binary(Add, a, b)


def _read_pto(site: PtoSite) -> None:
    at = site.index(_offset(*site.call.args))
    site.emit(
        f"{site.dst} = pto.tgetval ins({site.args[0]}, {at} : {site.arg_types[0]}, index) "
        f"outs : {site.dst_type}"
    )


def _read_cpp(site: CppSite) -> None:
    at = site.expr(_offset(*site.call.args))
    site.emit(f"{site.dst} = {site.args[0]}.GetValue({at});")


@block_op(
    pipe=PipeType.S,
    types=_read_type,
    valid=given,
    complete=with_flat_index,
    dtypes=READ,
    columns=(0,),
    numpy=_read,
    pto=_read_pto,
    isa=_read_cpp,
)
def read(tile: Tile, indices: Offsets) -> Scalar:
    """Return the element of ``tile`` at ``indices``, one index per dimension.

    A bare number is an index in row-major order.
    """
    ...


def _write_pto(site: PtoSite) -> None:
    tile, indices, _ = site.call.args
    at = site.index(_offset(tile, indices))
    site.emit(
        f"pto.tsetval ins({at}, {site.args[2]} : index, {site.arg_types[2]}) "
        f"outs({site.args[0]} : {site.arg_types[0]})"
    )


def _write_cpp(site: CppSite) -> None:
    tile, indices, value = site.call.args
    at = site.expr(_offset(tile, indices))
    kind = f"decltype({site.args[0]})::DType"
    site.emit(f"{site.args[0]}.SetValue({at}, static_cast<{kind}>({site.expr(value)}));")


@block_op(
    pipe=PipeType.S,
    types=_write_type,
    valid=given,
    complete=with_flat_index,
    dtypes=READ,
    reads=(),
    writes=(0,),
    in_place=(),
    columns=(0,),
    numpy=write_at,
    pto=_write_pto,
    isa=_write_cpp,
)
def write(tile: Tile, indices: Offsets, value: Scalar) -> None:
    """Set the element of ``tile`` at ``indices`` to ``value``, which has its element type.

    The tile is changed in place. A bare number is an index in row-major order.
    """
    ...
