"""The errors of the parser, and their renderer."""

from pypto._src.errors import (
    ErrorCategory,
    ErrorCode,
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    ScopeIsolationError,
    SSAViolationError,
    UndefinedVariableError,
    UnsupportedFeatureError,
    get_error_code,
)
from pypto._src.frontend.excepthook import ErrorRenderer

__all__ = [
    "ErrorCategory",
    "ErrorCode",
    "ErrorRenderer",
    "InvalidOperationError",
    "ParserError",
    "ParserSyntaxError",
    "ParserTypeError",
    "SSAViolationError",
    "ScopeIsolationError",
    "UndefinedVariableError",
    "UnsupportedFeatureError",
    "get_error_code",
]
