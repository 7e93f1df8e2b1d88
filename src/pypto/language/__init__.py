"""The language that kernels are written in: ``import pypto.language as pl``."""

from typing import TYPE_CHECKING

from pypto._src.dtypes import DataType
from pypto._src.frontend.annotation_names import (
    BF16,
    BOOL,
    FP4,
    FP8,
    FP8E4M3FN,
    FP8E5M2,
    FP16,
    FP32,
    HF4,
    HF8,
    INDEX,
    INT4,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT4,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    InOut,
    Out,
    Scalar,
)
from pypto._src.frontend.decorators import function, inline, program
from pypto._src.frontend.markers import (
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
from pypto._src.frontend.markers import range_ as range
from pypto._src.frontend.parse_text import loads, loads_program, parse, parse_program
from pypto._src.frontend.syntax.inline import InlineFunction
from pypto._src.ir.annotations import Tensor, Tile
from pypto._src.ir.array_types import MemRef, TensorView, TileView
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
from pypto._src.ir.exprs import ConstBool, ConstFloat, ConstInt
from pypto._src.ir.types import MemRefType, UnknownType
from pypto._src.lazy import lazy_names
from pypto._src.ops import names as _ops
from pypto._src.ops.names import *
from pypto.language import block, parser, system, tensor

ND = TensorLayout.ND
DN = TensorLayout.DN
NZ = TensorLayout.NZ

if TYPE_CHECKING:
    from pypto._src.jit.decorator import jit
else:  # to a type checker it would stand for any name
    __getattr__ = lazy_names(__name__, {"jit": "pypto._src.jit.decorator"})

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
    "block",
    "cond",
    "const",
    "dynamic",
    "function",
    "incore",
    "inline",
    "jit",
    "loads",
    "loads_program",
    "parallel",
    "parse",
    "parse_program",
    "parser",
    "program",
    "range",
    "system",
    "tensor",
    "typed",
    "while_",
    "yield_",
]
__all__.extend(_ops.__all__)
