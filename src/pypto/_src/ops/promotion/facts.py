"""The facts that op definitions state about operands that may differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pypto._src.ir.array_types import same_dims
from pypto._src.ir.exprs import Expr
from pypto._src.records import NamedTuple


class BroadcastOps(NamedTuple):
    """Names of block ops that apply an op on two tiles to a tile and a column, or a row."""

    column: str | None = None
    row: str | None = None
    commutes: bool = False
    opposite: str | None = None
    """An op with exactly the same result on a tile and the negated row: subtraction, for a sum."""


NO_BROADCAST: Final = BroadcastOps()


class PromotionFacts:
    """Which operands of an op may differ, and how they are converted and broadcast."""

    def __init__(
        self,
        *operands: int,
        broadcast_ops: BroadcastOps = NO_BROADCAST,
        broadcasts: bool = True,
        keeps_first: bool = False,
        number: int | None = None,
    ) -> None:
        """Declare which operands may differ.

        Args:
            operands: Indices of the tiles to convert to one type and broadcast.
            broadcast_ops: The ops that take a column or a row as it is.
            broadcasts: False where the op itself broadcasts an operand.
            keeps_first: The element type is that of the first tile. No other tile is wider.
            number: The index of a scalar operand to convert, too.
        """
        self.operands: Final = operands
        self.first: Final = operands[0]
        self.others: Final = operands[1:]
        self.broadcast_ops: Final = broadcast_ops
        self.broadcasts: Final = broadcasts
        self.keeps_first: Final = keeps_first
        self.number: Final = number
        self.promoted: Final = operands if number is None else tuple(sorted((*operands, number)))

    def differ(self, args: Sequence[Expr]) -> bool:
        """True if operands of a call differ in element type, or tiles in shape."""
        kind: Any = args[self.first].type
        number = self.number
        if number is not None:
            of_number: Any = args[number].type
            if of_number.dtype is not kind.dtype:
                return True
        for at in self.others:
            other: Any = args[at].type
            if other is kind:
                continue
            if other.dtype is not kind.dtype:
                return True
            shape = other.shape
            if self.broadcasts and shape is not kind.shape and not same_dims(shape, kind.shape):
                return True
        return False
