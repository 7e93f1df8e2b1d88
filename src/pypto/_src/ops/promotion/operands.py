"""Operands of one op that differ in element type or shape.

Operands are converted to the promoted element type (`dtypes.promote`) and broadcast, then the op
runs on operands that agree. The vector unit does neither by itself: `Promotion.parts` decomposes
such a call into casts and broadcasts, which LegalizeTiles puts in its place. The type rule builds
the same decomposition and accepts a call only if that succeeds; so the chip can execute every call
that has a type.

A shift keeps the element type of what it shifts, a bitwise op with a number that of the tile.
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
    """Which operands of an op may differ, and the decomposition of calls where they do."""

    def type_of(self, o: Operands) -> Type | None:
        """Return the type of a call whose operands differ, None if they do not.

        Raises:
            OpError: there is no conversion, or no op that broadcasts an operand.
        """
        if not self.differ(o.args):
            return None
        from pypto._src.ops.promotion import differing

        return differing.type_of(self, o)

    def parts(self, call: Call, let: Let) -> Call | None:
        """Decompose a call on operands that differ to the op on equal ones; None if they do not.

            y = add(a, b)  ->  w = cast(b); y = add(a, w)
            y = add(a, c)  ->  y = row_expand_add(a, c)

        Raises:
            OpError: there is no decomposition; `type_of` rejects such operands.
        """
        if not self.differ(call.args):
            return None
        from pypto._src.ops.promotion import differing

        return differing.parts(self, call, let)

    def meaning(self, call: Call, compute: Callable[..., Any]) -> Callable[..., Any]:
        """Return what a call computes on arrays; ``compute`` does so on equal shapes and types."""
        if not self.differ(call.args):
            return compute
        from pypto._src.ops.promotion import differing

        return differing.meaning(self, call, compute)


def check_equal(op: AnyOp, call: Call) -> None:
    """Check that a call maps to one instruction.

    Raises:
        EmitError: its tiles differ in element type or shape.
    """
    if op.promotion is not None and op.promotion.differ(call.args):
        raise EmitError(
            f"{op.name} of tiles with several element types or shapes is several instructions",
            hint="run passes.legalize_tiles() first",
            slug="emit-op",
        )
