"""The values of a running module: numbers, pointers, views, tiles in memories.

Owns the layout of tiles in memory. Knows no op.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute

from pypto._src.dialect.types import DYNAMIC, Tile, as_integer
from pypto._src.errors import EvaluationError

Array = NDArray[Any]

_FLOATS: Final[dict[str, Any]] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E5M2": ml_dtypes.float8_e5m2,
}


def numpy_dtype(element: Attribute) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type; ``index`` is 32 bits wide, as on the device.

    Raises:
        EvaluationError: NumPy has no such type.
    """
    integer = as_integer(element)
    if integer is not None and integer.width.data in (8, 16, 32, 64):
        sign = "u" if str(integer).startswith("u") else "i"
        return np.dtype(f"{sign}{integer.width.data // 8}")
    if integer is not None and integer.width.data == 1:
        return np.dtype(np.bool_)
    if isinstance(element, IndexType):
        return np.dtype(np.int32)
    if str(element) in _FLOATS:
        return np.dtype(_FLOATS[str(element)])
    raise EvaluationError(f"there are no arrays with elements of {element}", slug="element-type")


def number(value: Any, kind: Attribute) -> Any:
    """Return a number converted to a NumPy scalar of an MLIR type; integers wrap."""
    dtype = numpy_dtype(kind)
    if dtype.kind in "iu" and isinstance(value, int):
        bits = dtype.itemsize * 8
        value &= (1 << bits) - 1
        return np.array(value, f"u{dtype.itemsize}").view(dtype)[()]
    return np.asarray(value).astype(dtype)[()]


@dataclass(frozen=True)
class Pointer:
    """An address in global memory: a flat array and an offset in elements."""

    buffer: Array
    offset: int = 0


@dataclass(frozen=True)
class Region:
    """Elements of global memory: a pointer, sizes and strides in elements."""

    pointer: Pointer
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def part(self, offsets: Sequence[int], sizes: Sequence[int]) -> Region:
        """Return a part of the region."""
        step = sum(a * b for a, b in zip(offsets, self.strides, strict=True))
        pointer = Pointer(self.pointer.buffer, self.pointer.offset + step)
        return Region(pointer, tuple(sizes), self.strides)

    def indices(self) -> NDArray[np.int64]:
        """Return the index of each element in the flat array, in the shape of the region.

        Raises:
            EvaluationError: an element lies outside the array.
        """
        indices = np.full(self.sizes, self.pointer.offset, np.int64)
        for axis, (size, stride) in enumerate(zip(self.sizes, self.strides, strict=True)):
            shape = [1] * len(self.sizes)
            shape[axis] = size
            indices += (np.arange(size, dtype=np.int64) * stride).reshape(shape)
        limit = self.pointer.buffer.size
        if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= limit):
            raise EvaluationError(
                f"a region of {self.sizes} reaches element "
                f"{int(indices.min())} to {int(indices.max())} of {limit}",
                slug="out-of-bounds",
            )
        return indices

    def read(self) -> Array:
        """Return the elements in the shape of the region."""
        return self.pointer.buffer[self.indices()]

    def write(self, values: Array) -> None:
        """Write elements in the shape of the region."""
        self.pointer.buffer[self.indices()] = values


@dataclass
class TileValue:
    """A tile: its elements [rows, columns], and how many of them are valid."""

    kind: Tile
    data: Array
    valid: tuple[int, int]

    @property
    def live(self) -> Array:
        """The valid elements, as a view through which the tile can be written."""
        return self.data[: self.valid[0], : self.valid[1]]

    def within(self, shape: tuple[int, int]) -> Array:
        """Return the first rows and columns, whether valid or not."""
        return self.data[: shape[0], : shape[1]]


def view_bytes(store: NDArray[np.uint8], kind: Tile) -> Array:
    """Return the elements [rows, columns] of a tile stored in ``store``.

    Tiles with inner boxes are treated as row-major: nothing here reads them as bytes.
    """
    flat = store.view(numpy_dtype(kind.element))
    if kind.blayout == "col_major" and kind.slayout == "none_box":
        return flat.reshape(kind.cols, kind.rows).T
    return flat.reshape(kind.rows, kind.cols)


def bytes_of(tile: TileValue) -> NDArray[np.uint8]:
    """Return the bytes of a tile, in memory order.

    Raises:
        EvaluationError: the tile is part of another tile, with gaps between its rows.
    """
    kind = tile.kind
    is_columns = kind.blayout == "col_major" and kind.slayout == "none_box"
    data = tile.data.T if is_columns else tile.data
    if not data.flags.c_contiguous:
        raise EvaluationError("a part of a tile is reshaped", slug="unsupported")
    return data.reshape(-1).view(np.uint8)


def valid_of(kind: Tile, row: int | None, col: int | None) -> tuple[int, int]:
    """Return the valid shape of a tile from its type and the run-time sizes.

    Raises:
        EvaluationError: more rows or columns are valid than the tile has.
    """
    given = (row, col)
    found = [
        kind.valid[i] if kind.valid[i] != DYNAMIC else kind.shape[i] if value is None else value
        for i, value in enumerate(given)
    ]
    for size, limit in zip(found, kind.shape, strict=True):
        if not 0 <= size <= limit:
            raise EvaluationError(
                f"{found[0]}x{found[1]} elements are valid in a tile of {kind.rows}x{kind.cols}",
                slug="valid-shape",
            )
    return found[0], found[1]
