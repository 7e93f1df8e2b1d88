"""What holds for a program between passes: the properties, and sets of them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from operator import attrgetter
from typing import Final


class IRProperty(Enum):
    """A property of programs, which passes require, produce and invalidate."""

    SSAForm = 0
    """Each variable is assigned once, before it is read; loops and branches yield what changes."""
    TypeChecked = 1
    """Each node has the type that its operands give it."""
    NoNestedCalls = 2
    """Each call is a statement of its own or the whole right side of an assignment."""
    NormalizedStmtStructure = 3
    """Each body is a `SeqStmts`, and each run of operations in it an `OpStmts`."""
    FlattenedSingleStmt = 4
    """No sequence has just one statement."""
    SplitIncoreOrch = 5
    """Kernels are functions of their own: no function has regions."""
    HasMemRefs = 6
    """Each tensor and tile has the buffer in which it lives, a `MemRef`."""
    IncoreBlockOps = 7
    """Kernels compute on tiles: what ops on whole tensors stand for is in their place."""
    AllocatedMemoryAddr = 8
    """Each buffer on the chip has an address, at which it fits into its memory."""

    __hash__ = object.__hash__  # members are singletons; Enum's own is slow Python


class IRPropertySet:
    """A set of properties. Only `insert` and `remove` change it; the others return new sets."""

    __slots__ = ("_items",)

    def __init__(self, *properties: IRProperty) -> None:
        self._items = frozenset(properties)

    @property
    def items(self) -> frozenset[IRProperty]:
        """The properties, in no order."""
        return self._items

    def insert(self, prop: IRProperty) -> None:
        """Add ``prop``."""
        self._items |= {prop}

    def remove(self, prop: IRProperty) -> None:
        """Take ``prop`` out if it is there."""
        self._items -= {prop}

    def contains(self, prop: IRProperty) -> bool:
        """True if ``prop`` is in the set."""
        return prop in self._items

    __contains__ = contains

    def contains_all(self, other: IRPropertySet) -> bool:
        """True if every property of ``other`` is in the set."""
        return other._items <= self._items

    def union_with(self, other: IRPropertySet) -> IRPropertySet:
        """Return the properties of either set."""
        return _set_of(self._items | other._items)

    def intersection(self, other: IRPropertySet) -> IRPropertySet:
        """Return the properties of both sets."""
        return _set_of(self._items & other._items)

    def difference(self, other: IRPropertySet) -> IRPropertySet:
        """Return the properties of this set that are not in ``other``."""
        return _set_of(self._items - other._items)

    def copy(self) -> IRPropertySet:
        """Return an independent set with the same properties."""
        return _set_of(self._items)

    def empty(self) -> bool:
        """True if the set has no property."""
        return not self._items

    def to_list(self) -> list[IRProperty]:
        """Return the properties in the order of the enumeration."""
        return _ordered(self._items)

    def __iter__(self) -> Iterator[IRProperty]:
        return iter(self.to_list())

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, IRPropertySet) else NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType]  mutable, hence not hashable

    def __str__(self) -> str:
        return "{" + ", ".join(prop.name for prop in self) + "}"

    __repr__ = __str__


_NUMBER: Final = attrgetter("_value_")  # faster than the property ``value``


def _set_of(items: frozenset[IRProperty]) -> IRPropertySet:
    made = object.__new__(IRPropertySet)
    made._items = items  # pyright: ignore[reportPrivateUsage]
    return made


def _ordered(properties: frozenset[IRProperty]) -> list[IRProperty]:
    return sorted(properties, key=_NUMBER)
