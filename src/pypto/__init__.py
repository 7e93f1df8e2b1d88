"""PyPTO: a Python language and compiler for tile kernels that also run on any laptop."""

from typing import TYPE_CHECKING

from pypto._src.dtypes import DataType
from pypto._src.errors import InternalError, PyptoError, check, internal_check
from pypto._src.lazy import lazy_submodules
from pypto._version import __version__

if TYPE_CHECKING:
    from pypto import backend, codegen, ir, language, passes, runtime

__getattr__ = lazy_submodules(
    __name__, ("backend", "codegen", "ir", "language", "passes", "runtime")
)

DT_BOOL = DataType.BOOL
DT_INT4 = DataType.INT4
DT_INT8 = DataType.INT8
DT_INT16 = DataType.INT16
DT_INT32 = DataType.INT32
DT_INT64 = DataType.INT64
DT_UINT4 = DataType.UINT4
DT_UINT8 = DataType.UINT8
DT_UINT16 = DataType.UINT16
DT_UINT32 = DataType.UINT32
DT_UINT64 = DataType.UINT64
DT_FP4 = DataType.FP4
DT_FP8E4M3FN = DataType.FP8E4M3FN
DT_FP8E5M2 = DataType.FP8E5M2
DT_FP16 = DataType.FP16
DT_FP32 = DataType.FP32
DT_BF16 = DataType.BF16
DT_HF4 = DataType.HF4
DT_HF8 = DataType.HF8
DT_INDEX = DataType.INDEX

__all__ = [
    "DT_BF16",
    "DT_BOOL",
    "DT_FP4",
    "DT_FP8E4M3FN",
    "DT_FP8E5M2",
    "DT_FP16",
    "DT_FP32",
    "DT_HF4",
    "DT_HF8",
    "DT_INDEX",
    "DT_INT4",
    "DT_INT8",
    "DT_INT16",
    "DT_INT32",
    "DT_INT64",
    "DT_UINT4",
    "DT_UINT8",
    "DT_UINT16",
    "DT_UINT32",
    "DT_UINT64",
    "DataType",
    "InternalError",
    "PyptoError",
    "__version__",
    "backend",
    "check",
    "codegen",
    "internal_check",
    "ir",
    "language",
    "passes",
    "runtime",
]
