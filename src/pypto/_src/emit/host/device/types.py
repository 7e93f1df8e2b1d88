"""The C++ names of element types and scalars in an orchestration, and which it lacks.

Knows types only; the names are those of the device's runtime.
"""

from __future__ import annotations

from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.types import c_type
from pypto._src.emit.host.runtime_api import DTYPES, ON_DEVICE
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.exprs import Expr, Var


def element_type(var: Var) -> str:
    """Return the runtime's name for a tensor variable's element type.

    Raises:
        EmitError: the runtime has no tensors of that element type.
    """
    dtype = dtype_of(var)
    if dtype not in ON_DEVICE:
        raise EmitError(
            f"the runtime has no tensors of {dtype.member}, {var.name!r} is one",
            var.span,
            slug="emit-dtype",
        )
    return f"DataType::{DTYPES[dtype]}"


def scalar_type(var: Var) -> str:
    """Return the C++ type of a scalar variable.

    Raises:
        EmitError: the host's C++ has no arithmetic on it.
    """
    dtype = dtype_of(var)
    if dtype.is_float() and dtype not in (DataType.FP32, DataType.FP64):
        raise no_scalar(dtype, var)
    return c_type(dtype)


def no_scalar(dtype: DataType, at: Expr) -> EmitError:
    """Return the error for a scalar type that the host does not have."""
    return EmitError(
        f"the host cannot compute with {dtype.member} scalars",
        at.span,
        hint="use pl.FP32 and cast in the kernel",
        slug="emit-dtype",
    )
