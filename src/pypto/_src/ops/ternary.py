"""Sums and differences of three operands. All run on the vector pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypto._src.ir.exprs import Call, Expr
from pypto._src.ir.opdef import Decomposition, OpDef
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import ARITHMETIC, Scalar, Tile, block_op
from pypto._src.ops.elementwise import add, adds, beside, sub, subs
from pypto._src.ops.promotion.operands import Promotion
from pypto._src.ops.rules.type_rules import three_operands
from pypto._src.ops.rules.valid_parts import equal_part

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import Let

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


def _one_by_one(first: OpDef[..., Any], second: OpDef[..., Any]) -> Decomposition:
    """Return the decomposition of an op on three operands: y = second(first(a, b), c).

    The assembler's own three-operand ops add the last operand even where they should subtract it.
    """

    def expand(call: Call, let: Let) -> Expr:
        lhs, rhs, rhs2 = call.args
        part = let("part", first.call([lhs, rhs], {}, call.span))
        return second.call([part, rhs2], {}, call.span)

    return expand


@block_op(
    types=three_operands,
    valid=equal_part,
    dtypes=ARITHMETIC,
    promotion=Promotion(0, 1, 2),
    numpy=lambda lhs, rhs, rhs2: lhs + rhs + rhs2,
    decomposition=_one_by_one(add, add),
)
def addc(lhs: Tile, rhs: Tile, rhs2: Tile) -> Tile:
    """Return ``lhs + rhs + rhs2`` [R, C], element by element; integers wrap."""
    ...


@block_op(
    types=three_operands,
    valid=equal_part,
    dtypes=ARITHMETIC,
    promotion=Promotion(0, 2, number=1),
    numpy=lambda lhs, rhs, rhs2: lhs + beside(lhs, rhs) + rhs2,
    decomposition=_one_by_one(adds, add),
)
def addsc(lhs: Tile, rhs: Scalar, rhs2: Tile) -> Tile:
    """Return ``lhs + rhs + rhs2`` [R, C] with a number ``rhs``; integers wrap."""
    ...


@block_op(
    types=three_operands,
    valid=equal_part,
    dtypes=ARITHMETIC,
    promotion=Promotion(0, 1, 2),
    numpy=lambda lhs, rhs, rhs2: lhs - rhs - rhs2,
    decomposition=_one_by_one(sub, sub),
)
def subc(lhs: Tile, rhs: Tile, rhs2: Tile) -> Tile:
    """Return ``lhs - rhs - rhs2`` [R, C], element by element; integers wrap."""
    ...


@block_op(
    types=three_operands,
    valid=equal_part,
    dtypes=ARITHMETIC,
    promotion=Promotion(0, 2, number=1),
    numpy=lambda lhs, rhs, rhs2: lhs - beside(lhs, rhs) - rhs2,
    decomposition=_one_by_one(subs, sub),
)
def subsc(lhs: Tile, rhs: Scalar, rhs2: Tile) -> Tile:
    """Return ``lhs - rhs - rhs2`` [R, C] with a number ``rhs``; integers wrap."""
    ...
