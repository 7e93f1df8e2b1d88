"""Ops on whole tensors in global memory.

Written by `make generate` from the definitions of the ops.
"""

from pypto._src.ops.names import tensor_add as add
from pypto._src.ops.names import tensor_div as div
from pypto._src.ops.names import tensor_mul as mul
from pypto._src.ops.names import tensor_sub as sub
from pypto._src.ops.tensor import create, dim, read, view
from pypto._src.ops.tensor import create as create_tensor
from pypto._src.ops.tensor_math import (
    add_scalar,
    assemble,
    cast,
    div_scalar,
    exp,
    matmul,
    maximum,
    mul_scalar,
    reshape,
    row_max,
    row_sum,
    sub_scalar,
    transpose,
)

__all__ = [
    "add",
    "add_scalar",
    "assemble",
    "cast",
    "create",
    "create_tensor",
    "dim",
    "div",
    "div_scalar",
    "exp",
    "matmul",
    "maximum",
    "mul",
    "mul_scalar",
    "read",
    "reshape",
    "row_max",
    "row_sum",
    "sub",
    "sub_scalar",
    "transpose",
    "view",
]
