"""The vocabulary: every operator, one definition each. Importing it registers all.

Written by `make generate` from the definitions of the ops.
"""

from pypto._src.ops import (
    bitwise,
    compare_select,
    elementwise,
    layout,
    matmul,
    memory,
    reduce,
    system,
    tensor,
    tensor_math,
    ternary,
    testing,
)

__all__ = [
    "bitwise",
    "compare_select",
    "elementwise",
    "layout",
    "matmul",
    "memory",
    "reduce",
    "system",
    "tensor",
    "tensor_math",
    "ternary",
    "testing",
]
