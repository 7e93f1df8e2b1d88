"""PyPTO: a Python language and compiler for tile kernels that also run on any laptop."""

from typing import TYPE_CHECKING

from pypto._src.dtypes import DataType
from pypto._src.errors import InternalError, PyptoError, PyptoWarning, check, internal_check
from pypto._src.lazy import lazy_names
from pypto._version import __version__

if TYPE_CHECKING:
    from pypto import backend, codegen, ir, language, passes, pypto_core, runtime, testing
    from pypto._src.logs import (
        LogLevel,
        log_debug,
        log_error,
        log_event,
        log_fatal,
        log_info,
        log_warn,
        set_log_level,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "LogLevel": "pypto._src.logs",
        "log_debug": "pypto._src.logs",
        "log_error": "pypto._src.logs",
        "log_event": "pypto._src.logs",
        "log_fatal": "pypto._src.logs",
        "log_info": "pypto._src.logs",
        "log_warn": "pypto._src.logs",
        "set_log_level": "pypto._src.logs",
    },
    (
        "backend",
        "codegen",
        "ir",
        "language",
        "passes",
        "pypto_core",
        "runtime",
        "testing",
    ),
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
    "LogLevel",
    "PyptoError",
    "PyptoWarning",
    "__version__",
    "backend",
    "check",
    "codegen",
    "internal_check",
    "ir",
    "language",
    "log_debug",
    "log_error",
    "log_event",
    "log_fatal",
    "log_info",
    "log_warn",
    "passes",
    "pypto_core",
    "runtime",
    "set_log_level",
    "testing",
]
