"""Views that NumPy can only make as copies: they are kept equal to their source.

A reshaped part of a tensor is the same memory: a write to one of them is a write to both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


class ViewCopy:
    """A copy, held weakly, and the array that it is a view of."""

    __slots__ = ("copy", "last", "source")

    def __init__(self, copy: Array, source: Array) -> None:
        self.copy = ref(copy)
        self.source = source
        self.last = copy.reshape(source.shape).copy()  # the elements of both after the last update

    def update(self) -> None:
        """Copy to both what was written to either."""
        owner = self.copy()
        if owner is not None:
            copy = owner.reshape(self.source.shape)
            changed = _bits(copy) != _bits(self.last)
            self.source[changed] = copy[changed]
            copy[...] = self.source
            self.last[...] = copy


def updated(copies: list[ViewCopy]) -> list[ViewCopy]:
    """Make copies and sources equal after a write; return the copies that are still alive."""
    alive = [each for each in copies if each.copy() is not None]
    for each in reversed(alive):  # a copy of a copy first
        each.update()
    for each in alive:
        each.update()
    return alive


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
