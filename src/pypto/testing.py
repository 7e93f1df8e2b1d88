"""Functions that raise each class of error, for tests of programs that catch them."""

from pypto._src.testing import (
    raise_assertion_error,
    raise_generic_error,
    raise_index_error,
    raise_internal_error,
    raise_not_implemented_error,
    raise_runtime_error,
    raise_type_error,
    raise_value_error,
)

__all__ = [
    "raise_assertion_error",
    "raise_generic_error",
    "raise_index_error",
    "raise_internal_error",
    "raise_not_implemented_error",
    "raise_runtime_error",
    "raise_type_error",
    "raise_value_error",
]
