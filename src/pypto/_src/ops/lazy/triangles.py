"""Triangular masks of ones and zeros, as for causal attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import ConstInt, const_value
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Ints, Scalar, Tile, block_op
from pypto._src.ops.layout import tile_type
from pypto._src.ops.rules.type_rules import (
    attribute,
    called,
    check_element,
    dims,
    operand_name,
    refuse,
)

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
MASKS: Final = (D.FP32, D.FP16, D.INT32, D.INT16)


def _tri_type(o: Operands) -> Type:
    shape, dtype = o.ints(1), attribute(o, "dtype")
    assert isinstance(dtype, DataType)
    check_element(o.op, "the tile", dtype)
    if len(shape) != 2 or any(const_value(dim) is None for dim in shape):
        refuse(
            o,
            f"{called(o.op)} makes a tile of two constant dimensions, got {dims(shape)}",
            "tile-shape",
            shown=(),
        )
    found = o.scalar(0).dtype
    if not found.is_int():
        refuse(
            o,
            f"{called(o.op)} takes an integer diagonal first, got {found.member}",
            "dtype-mismatch",
            f"pl.cast({operand_name(o, 0)}, pl.INT32)",
            shown=(0,),
        )
    return tile_type(shape, dtype, MemorySpace.Vec)


def _tri(
    diagonal: Any, shape: Sequence[int], dtype: DataType = D.INT32, upper: bool = False
) -> Array:
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    edge = rows + int(diagonal)
    return (columns >= edge if upper else columns <= edge).astype(dtype.numpy)


def _tri_pto(site: PtoSite) -> None:
    upper = int(bool(site.call.kwargs.get("upper")))
    name, kind = site.args[0], site.arg_types[0]
    site.emit(
        f"pto.ttri ins({name} {{upperOrLower = {upper} : i32}} : {kind}) "
        f"outs({site.dst} : {site.dst_type})"
    )


def _tri_cpp(site: CppSite) -> None:
    upper = int(bool(site.call.kwargs.get("upper")))
    diagonal = site.expr(site.call.args[0])
    site.emit(f"TTRI<decltype({site.dst}), {upper}>({site.dst}, {diagonal});")


def _integer(
    args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Make a diagonal that is a bare integer INT32, whatever the element type."""
    if args and args[0].__class__ is int:
        return [ConstInt(args[0], D.INT32, span), *args[1:]], kwargs
    return args, kwargs


@block_op(
    complete=_integer,
    types=_tri_type,
    dtypes=MASKS,
    numpy=_tri,
    pto=_tri_pto,
    isa=_tri_cpp,
)
def tri(
    diagonal: Scalar, shape: Ints, dtype: DataType = DataType.INT32, upper: bool = False
) -> Tile:
    """Return a tile of ``shape`` [R, C]: 1 on and below the diagonal (``upper``: above), else 0.

    The diagonal is where the column index is the row index plus ``diagonal``.
    """
    ...
