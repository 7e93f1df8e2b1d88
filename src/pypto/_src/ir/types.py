"""Types: what every value has. Those of arrays, which have dimensions, are in `array_types`.

``==`` between types compares structure; see `same_type`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.node_base import Node, NodeMeta, all_of, check_class

_put = object.__setattr__


class Type(Node, metaclass=NodeMeta):
    """Base of types. ``==`` compares structure."""

    def __eq__(self, other: object) -> bool:
        return same_type(self, other) if isinstance(other, Type) else NotImplemented

    def __hash__(self) -> int:
        return hash(type(self))

    def has_structure_of(self, other: Any) -> bool:
        """True if ``other`` has equal structure; `same_type` looks into tuples."""
        return type(self) is type(other)


class UnknownType(Type, metaclass=NodeMeta):
    """The type of a call that has no value, or whose type is not known yet."""

    _shared: ClassVar[UnknownType | None] = None

    @staticmethod
    def get() -> UnknownType:
        """Return the shared instance."""
        if UnknownType._shared is None:
            UnknownType._shared = UnknownType()
        return UnknownType._shared


class ScalarType(Type, metaclass=NodeMeta):
    """One number."""

    dtype: DataType

    def __init__(self, dtype: DataType) -> None:
        check_class("the element type", dtype, DataType)
        _put(self, "dtype", dtype)

    def __hash__(self) -> int:
        return hash((ScalarType, self.dtype))

    def has_structure_of(self, other: Any) -> bool:
        """True if ``other`` is a scalar of the same element type."""
        return isinstance(other, ScalarType) and self.dtype is other.dtype


class TupleType(Type, metaclass=NodeMeta):
    """A fixed sequence of values."""

    types: tuple[Type, ...]

    def __init__(self, types: Sequence[Type]) -> None:
        _put(self, "types", all_of("a part of a tuple", types, Type))

    def __hash__(self) -> int:
        # Tuples may be nested deeply: inner ones are hashed by class only.
        parts = (TupleType if isinstance(item, TupleType) else hash(item) for item in self.types)
        return hash((TupleType, *parts))


class MemRefType(Type, metaclass=NodeMeta):
    """The type of a memory reference."""


MEMREF_TYPE: Final = MemRefType()
_SCALAR_TYPES: dict[str, ScalarType] = {}


def scalar_type(dtype: DataType) -> ScalarType:
    """Return the shared `ScalarType` of ``dtype``."""
    try:
        return _SCALAR_TYPES[dtype.member]
    except KeyError:
        return _SCALAR_TYPES.setdefault(dtype.member, ScalarType(dtype))


INDEX: Final = scalar_type(DataType.INDEX)


def same_type(a: Type, b: Type) -> bool:
    """True if two types have equal structure; memory references and tensor views do not count."""
    if a is b:
        return True
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        return _same_tuple(a, b)
    return a.has_structure_of(b)


def _same_tuple(a: TupleType, b: TupleType) -> bool:
    pairs: list[tuple[Type, Type]] = [(a, b)]
    while pairs:
        x, y = pairs.pop()
        if x is y:
            continue
        if isinstance(x, TupleType) and isinstance(y, TupleType):
            if len(x.types) != len(y.types):
                return False
            pairs += zip(x.types, y.types, strict=True)
        elif not x.has_structure_of(y):
            return False
    return True
