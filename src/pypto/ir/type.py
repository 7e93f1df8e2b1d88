"""Types and the views that they may have."""

from pypto._src.ir.nodes import (
    MemRefType,
    ScalarType,
    ShapedType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
    Type,
    UnknownType,
)

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
