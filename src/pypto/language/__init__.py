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
    AtomicType,
    CoreType,
    ForKind,
    FunctionType,
    MaskPattern,
    MemorySpace,
    PipeType,
    TensorLayout,
    TileLayout,
    TilePad,
)
from pypto._src.ir.enums import TilePad as PadValue
from pypto._src.ir.exprs import ConstBool, ConstFloat, ConstInt
from pypto._src.ir.types import MemRefType, UnknownType
from pypto._src.lazy import lazy_names
from pypto._src.ops import names as _ops
from pypto._src.ops.names import *
from pypto.language import block, parser, system, tensor
from pypto.language import block as tile

ND = TensorLayout.ND
DN = TensorLayout.DN
NZ = TensorLayout.NZ

Mem = MemorySpace

if TYPE_CHECKING:
    from pypto._src.frontend.region_markers import (
        RUNTIME,
        TASK_ID,
        Array,
        Level,
        Role,
        ScopeMode,
        SplitMode,
        TaskId,
        at,
        cross_core_slot,
        manual_scope,
        no_dep,
        pipeline,
        scope,
        slice,
        split,
        split_aiv,
        spmd,
        unroll,
    )
    from pypto._src.jit.decorator import jit
    from pypto.language import array, prefetch
else:  # to a type checker it would stand for any name
    __getattr__ = lazy_names(
        __name__,
        {
            "jit": "pypto._src.jit.decorator",
            "RUNTIME": "pypto._src.frontend.region_markers",
            "TASK_ID": "pypto._src.frontend.region_markers",
            "Array": "pypto._src.frontend.region_markers",
            "Level": "pypto._src.frontend.region_markers",
            "Role": "pypto._src.frontend.region_markers",
            "ScopeMode": "pypto._src.frontend.region_markers",
            "SplitMode": "pypto._src.frontend.region_markers",
            "TaskId": "pypto._src.frontend.region_markers",
            "at": "pypto._src.frontend.region_markers",
            "cross_core_slot": "pypto._src.frontend.region_markers",
            "manual_scope": "pypto._src.frontend.region_markers",
            "no_dep": "pypto._src.frontend.region_markers",
            "pipeline": "pypto._src.frontend.region_markers",
            "scope": "pypto._src.frontend.region_markers",
            "slice": "pypto._src.frontend.region_markers",
            "split": "pypto._src.frontend.region_markers",
            "split_aiv": "pypto._src.frontend.region_markers",
            "spmd": "pypto._src.frontend.region_markers",
            "unroll": "pypto._src.frontend.region_markers",
        },
        ("array", "prefetch"),
    )

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
    "RUNTIME",
    "TASK_ID",
    "UINT4",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "Array",
    "AtomicType",
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
    "Level",
    "MaskPattern",
    "Mem",
    "MemRef",
    "MemRefType",
    "MemorySpace",
    "Out",
    "PadValue",
    "PipeType",
    "Role",
    "Scalar",
    "ScopeMode",
    "SplitMode",
    "TaskId",
    "Tensor",
    "TensorLayout",
    "TensorView",
    "Tile",
    "TileLayout",
    "TilePad",
    "TileView",
    "Tuple",
    "UnknownType",
    "array",
    "at",
    "block",
    "cond",
    "const",
    "cross_core_slot",
    "dynamic",
    "function",
    "incore",
    "inline",
    "jit",
    "loads",
    "loads_program",
    "manual_scope",
    "no_dep",
    "parallel",
    "parse",
    "parse_program",
    "parser",
    "pipeline",
    "prefetch",
    "program",
    "range",
    "scope",
    "slice",
    "split",
    "split_aiv",
    "spmd",
    "system",
    "tensor",
    "tile",
    "typed",
    "unroll",
    "while_",
    "yield_",
]
__all__.extend(_ops.__all__)
