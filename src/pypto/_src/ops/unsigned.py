"""Unsigned elements on instructions that take signed ones of the same width.

Sums, differences and products wrap, so that their bits are the same for both. Knows no op.
"""

from __future__ import annotations

from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TileType
from pypto._src.ir.emit_sites import Let
from pypto._src.ir.exprs import Call, Expr
from pypto._src.ir.opdef import OpDef
from pypto._src.ops.layout import reread

D = DataType
SIGNED_OF: Final = {D.UINT8: D.INT8, D.UINT16: D.INT16, D.UINT32: D.INT32}


def is_unsigned(value: Expr) -> bool:
    """True for a tile of unsigned elements."""
    return isinstance(value.type, TileType) and value.type.dtype in SIGNED_OF


def signed(value: Expr, let: Let) -> Expr:
    """Return a tile with its elements read as signed ones; anything else as it is."""
    kind = value.type
    if not isinstance(kind, TileType) or kind.dtype not in SIGNED_OF:
        return value
    return let("signed", reread(value, SIGNED_OF[kind.dtype]))


def on_signed(call: Call, let: Let) -> Expr | None:
    """Return what an op stands for whose bits are the same for signed elements.

    y = neg(x)  ->  s = x as INT32; t = neg(s); y = t as UINT32
    """
    if not is_unsigned(call.args[0]):
        return None
    op, kind = call.op, call.args[0].type
    assert isinstance(op, OpDef)
    assert isinstance(kind, TileType)
    result = op.call([signed(arg, let) for arg in call.args], call.kwargs, call.span)
    return reread(let("result", result), kind.dtype)
