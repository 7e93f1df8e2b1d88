"""The Python names around a kernel, and their values."""

from pypto._src.frontend.source.python_names import (
    MISSING,
    Environment,
    function_environment,
    module_environment,
)

__all__ = ["MISSING", "Environment", "function_environment", "module_environment"]
