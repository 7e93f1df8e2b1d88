"""Ops on two tiles, one of which may be partly valid: elsewhere the result is the other tile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import valid_part
from pypto._src.ir.opdef import OpDef, Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Tile, block_op
from pypto._src.ops.elementwise import add, maximum, minimum, mul
from pypto._src.ops.rules.type_rules import called, dims, operand_name, refuse, two_tiles
from pypto._src.ops.rules.valid_parts import valid_or_all

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
COMBINED: Final = (D.FP32, D.FP16, D.INT32, D.INT16)


def _whole(o: Operands, kind: Type) -> Type:
    """Check that one operand is valid throughout, as the result is."""
    if all(valid_part(o.tile(index)) is not None for index in (0, 1)):
        names = [operand_name(o, index) for index in (0, 1)]
        parts = [dims(valid_or_all(o.tile(index))) for index in (0, 1)]
        refuse(
            o,
            f"{called(o.op)} takes one tile that is valid throughout, {names[0]} is in {parts[0]} "
            f"and {names[1]} in {parts[1]}",
            "valid-shape",
            f"pl.fillpad({names[0]})",
            shown=(0, 1),
        )
    return kind


def _in_parts(op: OpDef[..., Any]) -> Callable[[Array, Array], Array]:
    """Return the meaning on the valid parts of two tiles, one of which is valid throughout."""

    def meaning(lhs: Array, rhs: Array) -> Array:
        compute = op.numpy
        assert compute is not None
        rows, columns = map(max, lhs.shape, rhs.shape)
        out = np.zeros((rows, columns), lhs.dtype)
        for part in (lhs, rhs):
            out[: part.shape[0], : part.shape[1]] = part
        rows, columns = map(min, lhs.shape, rhs.shape)
        out[:rows, :columns] = compute(lhs[:rows, :columns], rhs[:rows, :columns])
        return out

    return meaning


on_parts: Final = partial(block_op, types=two_tiles, valid=_whole, dtypes=COMBINED, in_place=())
"""Registers such an op."""


@on_parts(
    numpy=_in_parts(add),
    pto="pto.tpartadd",
    isa="TPARTADD",
)
def part_add(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs + rhs`` [R, C] where both are valid, elsewhere the one that is."""
    ...


@on_parts(
    numpy=_in_parts(mul),
    pto="pto.tpartmul",
    isa="TPARTMUL",
)
def part_mul(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs * rhs`` [R, C] where both are valid, elsewhere the one that is."""
    ...


@on_parts(
    numpy=_in_parts(maximum),
    pto="pto.tpartmax",
    isa="TPARTMAX",
)
def part_max(lhs: Tile, rhs: Tile) -> Tile:
    """Return the larger of ``lhs`` and ``rhs`` [R, C] where both are valid, else the valid one."""
    ...


@on_parts(
    numpy=_in_parts(minimum),
    pto="pto.tpartmin",
    isa="TPARTMIN",
)
def part_min(lhs: Tile, rhs: Tile) -> Tile:
    """Return the smaller of ``lhs`` and ``rhs`` [R, C] where both are valid, else the valid one."""
    ...
