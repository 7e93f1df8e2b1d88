"""The vocabulary: every operator, one definition each. Importing it registers all.

Written by `make generate` from the definitions of the ops.
"""

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
