"""What values of a host function are in C++: a tensor, a scalar, or several for a tuple."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from pypto._src.dtypes import DataType
from pypto._src.emit.host.native.scalar_exprs import host_type
from pypto._src.emit.host.runtime_api import DTYPES
from pypto._src.emit.writer import string_literal
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Var
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.types import ScalarType, TupleType, Type

MAX_DIMS: Final = 8
"""The most dimensions of a runtime tensor: ``PTO2_MAX_DIMS`` there."""

Value: TypeAlias = "str | tuple[Value, ...]"
"""The C++ text of a scalar or tensor; of a tuple, those of its elements."""


def leaf_types(kinds: Sequence[Type]) -> list[Type]:
    """Return types with tuples replaced by their elements' types, at any depth."""
    found: list[Type] = []
    for kind in kinds:
        found += leaf_types(kind.types) if isinstance(kind, TupleType) else [kind]
    return found


def items_of(kind: TupleType, names: Iterator[str]) -> tuple[Value, ...]:
    """Return the elements of a tuple whose leaves have names."""
    return tuple(
        [
            items_of(item, names) if isinstance(item, TupleType) else next(names)
            for item in kind.types
        ]
    )


def leaves_of(value: Value) -> list[str]:
    """Return the texts in a value, those of tuples one after the other."""
    if isinstance(value, str):
        return [value]
    return [text for item in value for text in leaves_of(item)]


def value_type(kind: Type) -> str:
    """Return the C++ type of a variable.

    Raises:
        EmitError: it is neither a scalar nor a tensor that the runtime has.
    """
    if isinstance(kind, TensorType):
        check_rank(len(kind.shape))
        return "Tensor"
    if isinstance(kind, ScalarType):
        return host_type(kind.dtype)
    raise EmitError(f"a host function has no variable of {type(kind).__name__}")


def element_dtype(dtype: DataType) -> str:
    """Return the runtime's name of an element type.

    Raises:
        EmitError: it has none (slug ``emit-dtype``).
    """
    if dtype not in DTYPES:
        raise EmitError(f"the runtime has no tensors of {dtype.member}", slug="emit-dtype")
    return DTYPES[dtype]


def check_rank(rank: int) -> None:
    """Refuse more dimensions than a tensor of the runtime has.

    Raises:
        EmitError: there are more.
    """
    if rank > MAX_DIMS:
        raise EmitError(f"a tensor has {rank} dimensions; the runtime takes up to {MAX_DIMS}")


def wanted_text(kind: TensorType) -> str:
    """Return the C++ string with which a check says what it wants."""
    dims = ", ".join(
        python_print(dim) if not isinstance(dim, Var) else dim.name for dim in kind.shape
    )
    return string_literal(f"Tensor[[{dims}], {kind.dtype.member}]")
