"""Remainders with the sign of the dividend, as in C; those of Python are in `bitwise`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypto._src.dtypes import DataType
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Scalar, Tile, block_op
from pypto._src.ops.elementwise import beside
from pypto._src.ops.rules.type_rules import tile_and_scalar, two_tiles
from pypto._src.ops.rules.valid_parts import equal_part

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


@block_op(
    types=two_tiles,
    valid=equal_part,
    dtypes=[DataType.FP32],
    in_place=(),
    numpy=lambda lhs, rhs: np.fmod(lhs, rhs),
    pto="pto.tfmod",
    isa="TFMOD",
)
def fmod(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs - trunc(lhs / rhs) * rhs`` [R, C], which has the sign of ``lhs``; NaN over 0."""
    ...


@block_op(
    overload="fmod",
    types=tile_and_scalar,
    valid=equal_part,
    dtypes=[DataType.FP32],
    in_place=(),
    numpy=lambda lhs, rhs: np.fmod(lhs, beside(lhs, rhs)),
    pto="pto.tfmods",
    isa="TFMODS",
)
def fmods(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs - trunc(lhs / rhs) * rhs`` [R, C], which has the sign of ``lhs``; NaN over 0."""
    ...
