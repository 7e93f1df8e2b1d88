"""The parts of the compiler under the names of the native module that they stand for."""

from pypto import backend, codegen, ir, passes
from pypto._src.dtypes import DataType
from pypto._src.errors import InternalError, check, internal_check

__all__ = [
    "DataType",
    "InternalError",
    "backend",
    "check",
    "codegen",
    "internal_check",
    "ir",
    "passes",
]
