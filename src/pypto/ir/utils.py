"""Python values as IR, facts of types, and the place of the caller."""

from pypto._src.ir.nodes import (
    as_expr,
    as_exprs,
    caller_span,
    const_value,
    dtype_of,
    same_type,
    static_shape,
)

__all__ = [
    "as_expr",
    "as_exprs",
    "caller_span",
    "const_value",
    "dtype_of",
    "same_type",
    "static_shape",
]
