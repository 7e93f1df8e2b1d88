"""Tiles of several element types or shapes as operands of one op, or a number of another type.

Operands are converted to the promoted element type (`dtypes.promote`) and broadcast, then the op
works on equal ones. The vector unit does neither by itself: `Promotion.parts` gives the casts
and broadcasts that such a call stands for, which LegalizeTiles puts in its place. The type rule
makes these parts, too, and takes what they can be made of; so the chip executes whatever has a
type.

A shift keeps the element type of what it shifts, logic with a number that of the tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pypto._src.errors import EmitError
from pypto._src.ir.exprs import Call
from pypto._src.ir.opdef import OpDef, Operands
from pypto._src.ir.types import Type
from pypto._src.ops.promotion.facts import PromotionFacts

if TYPE_CHECKING:
    from pypto._src.ir.emit_sites import Let

    AnyOp = OpDef[..., Any]


class Promotion(PromotionFacts):
    """Which operands of an op may differ, and what a call stands for where they do."""

    def type_of(self, o: Operands) -> Type | None:
        """Return the type of a call whose operands differ, None if they do not.

        Raises:
            OpError: there is no conversion, or nothing that broadcasts an operand.
        """
        if not self.differ(o.args):
            return None
        from pypto._src.ops.promotion import differing

        return differing.type_of(self, o)

    def parts(self, call: Call, let: Let) -> Call | None:
        """Return what a call on operands that differ stands for: the op on equal ones; else None.

            y = add(a, b)  ->  w = cast(b); y = add(a, w)
            y = add(a, c)  ->  y = row_expand_add(a, c)

        Raises:
            OpError: nothing does; `type_of` refuses such operands.
        """
        if not self.differ(call.args):
            return None
        from pypto._src.ops.promotion import differing

        return differing.parts(self, call, let)

    def meaning(self, call: Call, compute: Callable[..., Any]) -> Callable[..., Any]:
        """Return what a call computes on arrays, given what the op does on equal ones."""
        if not self.differ(call.args):
            return compute
        from pypto._src.ops.promotion import differing

        return differing.meaning(self, call, compute)


def check_equal(op: AnyOp, call: Call) -> None:
    """Check that a call is one instruction.

    Raises:
        EmitError: its tiles have several element types or shapes.
    """
    if op.promotion is not None and op.promotion.differ(call.args):
        raise EmitError(
            f"{op.name} of tiles with several element types or shapes is several instructions",
            hint="run passes.legalize_tiles() first",
            slug="emit-op",
        )
