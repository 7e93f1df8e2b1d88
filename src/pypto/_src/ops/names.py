"""The short names of the ops: `pl.add` is `add` here.

Written by `make generate` from the definitions of the ops.
"""

# ruff: noqa: A004  an op has the name that users write

from pypto._src.ops.bitwise import ands, not_, ors, rems, shls, shrs, xors
from pypto._src.ops.compare_select import cmp, cmps, prelu, sel, sels
from pypto._src.ops.elementwise import (
    adds,
    divs,
    expands,
    log,
    lrelu,
    maxs,
    mins,
    muls,
    neg,
    recip,
    relu,
    rsqrt,
    sqrt,
    subs,
)
from pypto._src.ops.matmul import batch_matmul, gemv, gemv_acc, gemv_bias, matmul_acc, matmul_bias
from pypto._src.ops.memory import (
    alloc,
    create_tile,
    fillpad,
    full,
    get_block_idx,
    l0c_store,
    load,
    move,
    store,
    vec_move,
)
from pypto._src.ops.reduce import (
    col_expand,
    col_expand_div,
    col_expand_mul,
    col_expand_sub,
    row_expand,
    row_expand_add,
    row_expand_div,
    row_expand_mul,
    row_expand_sub,
    row_min,
    sum,
)
from pypto._src.ops.tensor import create as create_tensor
from pypto._src.ops.tensor import dim, read
from pypto._src.ops.tensor_math import assemble
from pypto._src.ops.ternary import addc, addsc, subc, subsc
from pypto._src.ops.unified import Unified

abs = Unified("abs")
add = Unified("add")
and_ = Unified("and_")
cast = Unified("cast")
div = Unified("div")
exp = Unified("exp")
matmul = Unified("matmul")
max = Unified("max")
maximum = Unified("maximum")
min = Unified("min")
minimum = Unified("minimum")
mul = Unified("mul")
or_ = Unified("or_")
rem = Unified("rem")
reshape = Unified("reshape")
row_max = Unified("row_max")
row_sum = Unified("row_sum")
shl = Unified("shl")
shr = Unified("shr")
sub = Unified("sub")
transpose = Unified("transpose")
view = Unified("view")
xor = Unified("xor")
tensor_add = Unified("add", "tensor")
tensor_div = Unified("div", "tensor")
tensor_mul = Unified("mul", "tensor")
tensor_sub = Unified("sub", "tensor")

__all__ = [
    "abs",
    "add",
    "addc",
    "adds",
    "addsc",
    "alloc",
    "and_",
    "ands",
    "assemble",
    "batch_matmul",
    "cast",
    "cmp",
    "cmps",
    "col_expand",
    "col_expand_div",
    "col_expand_mul",
    "col_expand_sub",
    "create_tensor",
    "create_tile",
    "dim",
    "div",
    "divs",
    "exp",
    "expands",
    "fillpad",
    "full",
    "gemv",
    "gemv_acc",
    "gemv_bias",
    "get_block_idx",
    "l0c_store",
    "load",
    "log",
    "lrelu",
    "matmul",
    "matmul_acc",
    "matmul_bias",
    "max",
    "maximum",
    "maxs",
    "min",
    "minimum",
    "mins",
    "move",
    "mul",
    "muls",
    "neg",
    "not_",
    "or_",
    "ors",
    "prelu",
    "read",
    "recip",
    "relu",
    "rem",
    "rems",
    "reshape",
    "row_expand",
    "row_expand_add",
    "row_expand_div",
    "row_expand_mul",
    "row_expand_sub",
    "row_max",
    "row_min",
    "row_sum",
    "rsqrt",
    "sel",
    "sels",
    "shl",
    "shls",
    "shr",
    "shrs",
    "sqrt",
    "store",
    "sub",
    "subc",
    "subs",
    "subsc",
    "sum",
    "transpose",
    "vec_move",
    "view",
    "xor",
    "xors",
]
