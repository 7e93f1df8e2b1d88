"""The vocabulary: every operator, one definition each. Importing the package registers all."""

from pypto._src.ops import (
    bitwise,
    elementwise,
    layout,
    matmul,
    memory,
    reduce,
    select,
    system,
    tensor,
    tensor_math,
    testing,
)

__all__ = [
    "bitwise",
    "elementwise",
    "layout",
    "matmul",
    "memory",
    "reduce",
    "select",
    "system",
    "tensor",
    "tensor_math",
    "testing",
]
