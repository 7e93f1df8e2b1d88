"""Python values as IR, facts about types, and the location of the caller."""

from pypto._src.ir.array_types import dtype_of, static_shape
from pypto._src.ir.exprs import as_expr, as_exprs, caller_span, const_value
from pypto._src.ir.types import same_type

__all__ = [
    "as_expr",
    "as_exprs",
    "caller_span",
    "const_value",
    "dtype_of",
    "same_type",
    "static_shape",
]
