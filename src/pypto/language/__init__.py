"""The language that kernels are written in: ``import pypto.language as pl``."""

from typing import TYPE_CHECKING

from pypto._src.dtypes import DataType
from pypto._src.frontend.control import (
    DynVar,
    IntLike,
    Tuple,
    cond,
    const,
    dynamic,
    incore,
    parallel,
    typed,
    while_,
    yield_,
)
from pypto._src.frontend.control import (
    range_ as range,
)
from pypto._src.frontend.decorators import function, inline, program
from pypto._src.frontend.inline import InlineFunction
from pypto._src.frontend.text import loads, loads_program, parse, parse_program
from pypto._src.ir.annotations import InOut, Out, Scalar, Tensor, Tile
from pypto._src.ir.enums import (
    CoreType,
    ForKind,
    FunctionType,
    MemorySpace,
    PipeType,
    TensorLayout,
    TileLayout,
    TilePad,
)
from pypto._src.ir.nodes import (
    ConstBool,
    ConstFloat,
    ConstInt,
    MemRef,
    MemRefType,
    TensorView,
    TileView,
    UnknownType,
)
from pypto._src.lazy import lazy_names
from pypto._src.ops.bitwise import (
    ands,
    not_,
    ors,
    rems,
    shls,
    shrs,
    xors,
)
from pypto._src.ops.elementwise import (
    adds,
    divs,
    log,
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
from pypto._src.ops.matmul import (
    batch_matmul,
    gemv,
    gemv_acc,
    gemv_bias,
    matmul_acc,
    matmul_bias,
)
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
from pypto._src.ops.select import (
    addc,
    addsc,
    cmp,
    cmps,
    expands,
    lrelu,
    prelu,
    sel,
    sels,
    subc,
    subsc,
)
from pypto._src.ops.tensor import (
    create as create_tensor,
)
from pypto._src.ops.tensor import (
    dim,
    read,
)
from pypto._src.ops.tensor_math import (
    assemble,
)
from pypto._src.ops.unified import (
    abs,
    add,
    and_,
    cast,
    div,
    exp,
    matmul,
    max,
    maximum,
    min,
    minimum,
    mul,
    or_,
    rem,
    reshape,
    row_max,
    row_sum,
    shl,
    shr,
    sub,
    transpose,
    view,
    xor,
)
from pypto.language import block, parser, system, tensor

BF16 = DataType.BF16
BOOL = DataType.BOOL
FP16 = DataType.FP16
FP32 = DataType.FP32
FP4 = DataType.FP4
FP8E4M3FN = DataType.FP8E4M3FN
FP8E5M2 = DataType.FP8E5M2
HF4 = DataType.HF4
HF8 = DataType.HF8
INDEX = DataType.INDEX
INT16 = DataType.INT16
INT32 = DataType.INT32
INT4 = DataType.INT4
INT64 = DataType.INT64
INT8 = DataType.INT8
UINT16 = DataType.UINT16
UINT32 = DataType.UINT32
UINT4 = DataType.UINT4
UINT64 = DataType.UINT64
UINT8 = DataType.UINT8
FP8 = DataType.FP8
ND = TensorLayout.ND
DN = TensorLayout.DN
NZ = TensorLayout.NZ

if TYPE_CHECKING:
    from pypto._src.jit import jit

__getattr__ = lazy_names(__name__, {"jit": "pypto._src.jit"})

__all__ = [
    "BF16",
    "BOOL",
    "DN",
    "FP4",
    "FP8",
    "FP8E4M3FN",
    "FP8E5M2",
    "FP16",
    "FP32",
    "HF4",
    "HF8",
    "INDEX",
    "INT4",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "ND",
    "NZ",
    "UINT4",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "ConstBool",
    "ConstFloat",
    "ConstInt",
    "CoreType",
    "DataType",
    "DynVar",
    "ForKind",
    "FunctionType",
    "InOut",
    "InlineFunction",
    "IntLike",
    "MemRef",
    "MemRefType",
    "MemorySpace",
    "Out",
    "PipeType",
    "Scalar",
    "Tensor",
    "TensorLayout",
    "TensorView",
    "Tile",
    "TileLayout",
    "TilePad",
    "TileView",
    "Tuple",
    "UnknownType",
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
    "block",
    "cast",
    "cmp",
    "cmps",
    "col_expand",
    "col_expand_div",
    "col_expand_mul",
    "col_expand_sub",
    "cond",
    "const",
    "create_tensor",
    "create_tile",
    "dim",
    "div",
    "divs",
    "dynamic",
    "exp",
    "expands",
    "fillpad",
    "full",
    "function",
    "gemv",
    "gemv_acc",
    "gemv_bias",
    "get_block_idx",
    "incore",
    "inline",
    "jit",
    "l0c_store",
    "load",
    "loads",
    "loads_program",
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
    "parallel",
    "parse",
    "parse_program",
    "parser",
    "prelu",
    "program",
    "range",
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
    "system",
    "tensor",
    "transpose",
    "typed",
    "vec_move",
    "view",
    "while_",
    "xor",
    "xors",
    "yield_",
]
