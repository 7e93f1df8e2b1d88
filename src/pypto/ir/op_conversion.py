"""How ops on tensors are converted in kernels; the module is also the decorator of that name."""

from pypto._src.lazy import callable_module
from pypto._src.ops.conversion import (
    ConversionContext,
    has_op_conversion,
    op_conversion,
    register_op_conversion,
    register_op_conversion_custom,
)

# Importing the module makes it `pypto.ir.op_conversion`, which users call.
__call__ = callable_module(__name__, op_conversion)

__all__ = [
    "ConversionContext",
    "has_op_conversion",
    "op_conversion",
    "register_op_conversion",
    "register_op_conversion_custom",
]
