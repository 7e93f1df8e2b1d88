"""The values of a host function's variables: tensors of the host, and memory of each device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import CallError
from pypto._src.lazy import lazy_module
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


class HostTensor:
    """A tensor of the host, or a view of part of one."""

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self.array.shape

    @property
    def dtype(self) -> Any:
        """The element type, as NumPy has it."""
        return self.array.dtype

    def __getitem__(self, index: Any) -> HostTensor:
        """Return a part: a number drops its dimension, a slice keeps it."""
        return HostTensor(self.array[index])

    def __repr__(self) -> str:
        return f"a tensor {list(self.shape)}"


class TensorWithoutShape(HostTensor):
    """A parameter, or a part of one, whose shape is not declared.

    A kernel that declares the shape of its own parameter gets an array of that shape, whose
    contents are never read.
    """

    def __init__(self, name: str) -> None:
        self._name, self._path = name, ()
        self._arrays: dict[tuple[int, ...], Array] = {}

    @property
    def array(self) -> Array:
        """Raise an error: there is no array.

        Raises:
            CallError: always.
        """
        raise CallError(
            f"the annotation of {self._name!r} has no shape",
            hint=f"declare {self._name}: pl.Tensor[[4, 64, 64], pl.FP32]",
            slug="argument-kind",
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Raise an error, as `array` does."""
        return self.array.shape

    def __getitem__(self, index: Any) -> TensorWithoutShape:
        """Return the part that an index, or several, select."""
        numbers = cast("tuple[Any, ...]", index if isinstance(index, tuple) else (index,))
        if not all(isinstance(each, int) and each >= 0 for each in numbers):
            _ = self.array
        part = TensorWithoutShape(self._name)
        part._path, part._arrays = (*self._path, *numbers), self._arrays
        return part

    def of_shape(self, shape: Sequence[int], dtype: DataType) -> Array:
        """Return a placeholder array for this part."""
        for path in self._arrays:
            if all(a == b for a, b in zip(path, self._path, strict=False)) and path != self._path:
                _ = self.array  # for a part of a part: only the shape says where it is
        found = self._arrays.get(self._path)
        if found is None:
            found = self._arrays[self._path] = np.empty(tuple(shape), dtype.numpy)
        if found.shape != tuple(shape) or found.dtype != dtype.numpy:
            _ = self.array
        return found

    def __repr__(self) -> str:
        return f"a tensor {self._name!r}"


class Buffer:
    """Memory that each rank has, in rows of one array."""

    def __init__(self, ranks: int, size: int | Sequence[int], dtype: DataType | None) -> None:
        shape = (size,) if isinstance(size, int) else tuple(size)
        self.name = "a window"
        self.shape = shape
        self.element = 1 if dtype is None else dtype.bytes
        self.bytes = math.prod(shape) * self.element
        self.memory: Array = np.zeros((ranks, self.bytes), np.uint8)

    def is_like(self, other: Buffer) -> bool:
        """True if both have the same declaration and number of ranks."""
        return (self.shape, self.element, len(self.memory)) == (
            other.shape,
            other.element,
            len(other.memory),
        )

    def element_at(self, address: int) -> str | None:
        """Return the name of an element, None if it is not in this memory."""
        offset = address - self.memory.ctypes.data
        if not 0 <= offset < self.memory.size:
            return None
        rank, at = divmod(offset, self.bytes)
        found: list[int] = []
        at //= self.element
        for size in reversed(self.shape):
            at, index = divmod(at, size)
            found.insert(0, index)
        return f"{self.name}{found} of rank {rank}"


class HostWindow(NamedTuple):
    """A buffer viewed as a tensor: each rank gets its own row."""

    rows: Array
    shape: tuple[int, ...]
    buffer: Buffer


COLLECTIVES: Final[dict[Any, Any]] = {}
"""Collectives: the functions that kernels call, with the same collectives as kernels."""
