"""Views whose bytes do not lie as an array has them: copies that are kept the same as their source.

A part of a tensor in another shape is memory all the same: who writes one of them writes both.
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
    """A copy, for as long as somebody has it, and the array that it is a view of."""

    __slots__ = ("copy", "last", "source")

    def __init__(self, copy: Array, source: Array) -> None:
        self.copy = ref(copy)
        self.source = source
        self.last = copy.reshape(source.shape).copy()  # what both held at the last write

    def update(self) -> None:
        """Let both hold what either was given."""
        owner = self.copy()
        if owner is not None:
            copy = owner.reshape(self.source.shape)
            changed = _bits(copy) != _bits(self.last)
            self.source[changed] = copy[changed]
            copy[...] = self.source
            self.last[...] = copy


def updated(copies: list[ViewCopy]) -> list[ViewCopy]:
    """Let copies and sources be the same after a write; return the copies that somebody has."""
    alive = [each for each in copies if each.copy() is not None]
    for each in reversed(alive):  # a copy of a copy first
        each.update()
    for each in alive:
        each.update()
    return alive


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
