"""Select between the elements of a tile and a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypto._src.ir.exprs import Call, Expr
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.compare_select import sel
from pypto._src.ops.define import ARITHMETIC, Scalar, Tile, block_op
from pypto._src.ops.elementwise import beside, expands
from pypto._src.ops.rules.type_rules import (
    check_operands,
    check_same_dtype,
    check_same_shape,
    plain_tile,
)
from pypto._src.ops.rules.valid_parts import same_part

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import Let

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


def _masked_type(o: Operands) -> Type:
    """Return the result type for a mask, a tile and a number: that of the tile."""
    check_operands(o)
    check_same_shape(o, 1, 0)
    check_same_dtype(o, 1, 3)
    return plain_tile(o.tile(1))


def _as_choice_of_tiles(call: Call, let: Let) -> Expr:
    """Decompose a select between a tile and a number s: y = sel(m, a, full(s))."""
    mask, tile, _, number = call.args
    other = let("number", expands.build([tile, number], {}, call.span))
    return sel.build([mask, tile, other], {}, call.span)


def _or_number(mask: Array, src: Array, _scratch: Array, scalar: Any) -> Array:
    return np.where(mask != 0, src, beside(src, scalar))


@block_op(
    overload="sels",
    types=_masked_type,
    valid=same_part,
    dtypes=ARITHMETIC - frozenset(d for d in ARITHMETIC if d.is_unsigned_int()),
    reads=(0, 1),
    writes=(2,),
    in_place=(),
    numpy=_or_number,
    decomposition=_as_choice_of_tiles,
)
def sel_or_number(mask: Tile, src: Tile, tmp: Tile, scalar: Scalar) -> Tile:
    """Return the elements of ``src`` [R, C] where ``mask`` is not 0, else the number ``scalar``.

    ``mask`` [R, C] is a result of `cmp` or `cmps`. ``tmp`` is scratch that is not used.
    """
    ...
