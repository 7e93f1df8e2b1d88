"""The on-chip memories of one call, as bytes: tiles at one address share their values.

Knows memory references and tile types; knows no ops. Memory is poisoned at first, so that unwritten
bytes show in the result.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from pypto._src.errors import EvaluationError
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import const_value
from pypto._src.lazy import lazy_module
from pypto._src.ops.layout import declared_shape
from pypto._src.records import NamedTuple
from pypto._src.targets import A2A3

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

POISON_BYTE: Final = 0xFF
"""Fills unwritten memory: NaN for every float type, -1 or the largest integer."""


class TileAddress(NamedTuple):
    """The address of a tile: a region of a buffer, with a shape and element type."""

    buffer: MemorySpace | int  # a whole memory, or id() of a reference without an address
    offset_bytes: int
    size_bytes: int
    rows: tuple[int, int]  # rows and columns that it occupies, padding included
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def of(self, memory: Array) -> Array:
        """Return the elements of the tile in the bytes of its buffer."""
        begin, end = self.offset_bytes, self.offset_bytes + self.size_bytes
        taken = memory[begin:end].view(self.dtype)
        if math.prod(self.rows) == math.prod(self.shape):
            return taken.reshape(self.shape)
        rows, columns = math.prod(self.shape[:-1]), self.shape[-1]
        return taken.reshape(self.rows)[:rows, :columns].reshape(self.shape)


def address_of(kind: TileType) -> TileAddress | None:
    """Return the address of a tile of type ``kind``, None if its type has none.

    Raises:
        EvaluationError: the tile ends beyond its memory or its buffer.
    """
    memref, shape = kind.memref, static_shape(kind)
    if memref is None or shape is None:
        return None
    rows = declared_shape(kind, memref.memory_space_)
    size = math.prod(rows) * kind.dtype.bytes
    address = const_value(memref.addr_)
    if address is None:
        return None
    if address < 0:
        if size > memref.size_:
            raise EvaluationError(
                f"a tile of {size} bytes is in {memref.name}, which has {memref.size_}",
                slug="memory-overflow",
            )
        return TileAddress(id(memref), 0, size, rows, shape, kind.dtype.numpy)
    space = memref.memory_space_
    memory = A2A3.memories.get(space)
    if memory is None or address + size > memory.physical_bytes:
        limit = 0 if memory is None else memory.physical_bytes
        raise EvaluationError(
            f"a tile at bytes {address}:{address + size} is beyond {space.name} memory, which "
            f"has {limit} bytes",
            slug="memory-overflow",
        )
    return TileAddress(space, address, size, rows, shape, kind.dtype.numpy)


class Layout:
    """The distinct addresses of all tiles of a function, and the buffers that they need."""

    def __init__(self) -> None:
        self.addresses: list[TileAddress] = []
        self._index: dict[TileAddress, int] = {}
        self._sizes: dict[MemorySpace | int, int] = {}

    def index(self, tile: TileAddress) -> int:
        """Return the index of an address; equal ones share it."""
        number = self._index.get(tile)
        if number is None:
            number = self._index[tile] = len(self.addresses)
            self.addresses.append(tile)
            end = tile.offset_bytes + tile.size_bytes
            self._sizes[tile.buffer] = max(end, self._sizes.get(tile.buffer, 0))
        return number

    def fresh(self) -> list[Array]:
        """Return one array per address, in new poisoned memory."""
        memory: dict[MemorySpace | int, Array] = {}
        for buffer, size in self._sizes.items():
            memory[buffer] = np.full(size, POISON_BYTE, np.uint8)
        return [tile.of(memory[tile.buffer]) for tile in self.addresses]


def poison(array: Array) -> None:
    """Fill an array, which need not be contiguous, with poison."""
    array[...] = np.full(array.dtype.itemsize, POISON_BYTE, np.uint8).view(array.dtype)[0]
