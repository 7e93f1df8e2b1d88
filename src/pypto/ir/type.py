"""Types and their views."""

from pypto._src.ir.array_types import ShapedType, TensorType, TensorView, TileType, TileView
from pypto._src.ir.types import MemRefType, ScalarType, TupleType, Type, UnknownType

__all__ = [
    "MemRefType",
    "ScalarType",
    "ShapedType",
    "TensorType",
    "TensorView",
    "TileType",
    "TileView",
    "TupleType",
    "Type",
    "UnknownType",
]
