"""The parts of the compiler under the names of the native module that they replace.

Exceptions are Python's own where it has one of that name; the others are ours.
"""

from builtins import (
    AssertionError,
    IndexError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
from typing import TYPE_CHECKING

from pypto._src.dtypes import DataType
from pypto._src.errors import InternalError, check, internal_check
from pypto._src.errors import PyptoError as Error
from pypto._src.lazy import lazy_names
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

if TYPE_CHECKING:
    from pypto.pypto_core import backend, codegen, ir, passes, testing

DEBUG = LogLevel.DEBUG
INFO = LogLevel.INFO
WARN = LogLevel.WARN
ERROR = LogLevel.ERROR
FATAL = LogLevel.FATAL
EVENT = LogLevel.EVENT
NONE = LogLevel.NONE

__getattr__ = lazy_names(__name__, {}, ("backend", "codegen", "ir", "passes", "testing"))

__all__ = [
    "DEBUG",
    "ERROR",
    "EVENT",
    "FATAL",
    "INFO",
    "NONE",
    "WARN",
    "AssertionError",
    "DataType",
    "Error",
    "IndexError",
    "InternalError",
    "LogLevel",
    "NotImplementedError",
    "RuntimeError",
    "TypeError",
    "ValueError",
    "backend",
    "check",
    "codegen",
    "internal_check",
    "ir",
    "log_debug",
    "log_error",
    "log_event",
    "log_fatal",
    "log_info",
    "log_warn",
    "passes",
    "set_log_level",
    "testing",
]
