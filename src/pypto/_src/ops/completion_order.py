"""Which calls the hardware completes in the order in which their pipe starts them."""

from __future__ import annotations

from typing import Final

from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import PipeType
from pypto._src.ir.exprs import Call

SMALL_CUBE: Final = 10
"""Below this many 16 x 16 fractals of the result the matrix unit needs a barrier between two
writes of one accumulator; at or above it they complete in order (hardware sheet, 2.4)."""


def completes_in_order(call: Call, pipe: PipeType) -> bool:
    """True if ``call`` starts when everything before it on its pipe is complete."""
    if pipe is PipeType.S:
        return True
    kind = call.type
    if pipe is not PipeType.M or not isinstance(kind, TileType):
        return False
    shape = static_shape(kind)
    if shape is None or len(shape) != 2:
        return False
    return -(-shape[0] // 16) * -(-shape[1] // 16) >= SMALL_CUBE
