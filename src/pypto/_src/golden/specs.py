"""The arguments of a run: `TensorSpec` and `ScalarSpec`, which say how each is made.

Tensors are PyTorch's if the element type is one of PyTorch, else NumPy arrays. PyTorch is never
imported: a caller with one of its element types has imported it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

_C_TYPES: Final[dict[str, Any]] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "float32": ctypes.c_float,
    "float16": ctypes.c_uint16,  # the bits: C has no such type
    "bfloat16": ctypes.c_uint16,
}
_RANDOM: Final = ("randn", "rand", "zeros", "ones")
"""Functions of PyTorch that a spec calls with shape and element type."""


def is_torch(value: Any) -> bool:
    """True for a tensor or an element type of PyTorch."""
    return type(value).__module__.partition(".")[0] == "torch"


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """Return NumPy's element type for one of PyTorch, of the language, or of NumPy.

    Raises:
        TypeError: NumPy has no such type.
    """
    if isinstance(dtype, DataType):
        return dtype.numpy
    name = str(dtype).removeprefix("torch.") if is_torch(dtype) else dtype
    if isinstance(name, str) and name.startswith(("bfloat", "float8", "float4")):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


@dataclass
class TensorSpec:
    """A tensor argument: ``TensorSpec("x", [64, 128], torch.float32, init_value=torch.rand)``.

    ``init_value`` is None for zeros, a number, a tensor, ``torch.randn``, ``torch.rand``,
    ``torch.zeros``, ``torch.ones``, or a function without parameters that returns a tensor. A
    tensor with ``is_output`` is compared after the run. ``resident`` says on which device it stays.
    """

    name: str
    shape: Sequence[int]
    dtype: Any
    init_value: Any = None
    is_output: bool = False
    resident: int | str | bool | None = None

    def __post_init__(self) -> None:
        """Check ``resident``.

        Raises:
            ValueError: it is neither None, False, the number of a device, nor ``"stacked"``.
        """
        resident = self.resident
        is_device = isinstance(resident, int) and resident is not True and resident >= 0
        if not (resident is None or is_device or resident == "stacked"):
            raise ValueError(
                f"resident of {self.name!r} is {resident!r}; it is None, the number of a device, "
                'or "stacked"'
            )

    @property
    def is_resident(self) -> bool:
        """True if the tensor stays on a device."""
        return self.resident is not None and self.resident is not False

    def create_tensor(self) -> Any:
        """Return a new tensor with the initial content."""
        shape, value = tuple(self.shape), self.init_value
        if not is_torch(self.dtype):
            return self._array(shape)
        torch = sys.modules["torch"]
        if value is None:
            return torch.zeros(shape, dtype=self.dtype)
        if any(value is getattr(torch, name) for name in _RANDOM):
            return value(shape, dtype=self.dtype)
        if callable(value):
            value = value()
        if isinstance(value, int | float):
            return torch.full(shape, value, dtype=self.dtype)
        return torch.as_tensor(value).to(self.dtype).contiguous().clone()

    def _array(self, shape: tuple[int, ...]) -> Any:
        value = self.init_value() if callable(self.init_value) else self.init_value
        made = np.zeros(shape, numpy_dtype(self.dtype))
        made[...] = 0 if value is None else value
        return made

    def empty(self) -> Any:
        """Return a new tensor with arbitrary content."""
        if is_torch(self.dtype):
            return sys.modules["torch"].empty(tuple(self.shape), dtype=self.dtype)
        return np.empty(tuple(self.shape), numpy_dtype(self.dtype))


@dataclass
class ScalarSpec:
    """A scalar argument: ``ScalarSpec("n", torch.int32, 5)``."""

    name: str
    dtype: Any
    value: Any

    def __post_init__(self) -> None:
        """Check that the element type holds the value.

        Raises:
            ValueError: it does not, or scalars cannot have this type.
        """
        kind = numpy_dtype(self.dtype)
        if kind.name not in _C_TYPES:
            raise ValueError(f"scalar {self.name!r} is of {kind.name}, which scalars do not have")
        if kind.kind in "iu":
            low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
            if not isinstance(self.value, int) or not low <= self.value <= high:
                raise ValueError(
                    f"scalar {self.name!r} is {self.value!r}; {kind.name} holds {low} to {high}"
                )
        elif kind.kind == "b" and self.value not in (0, 1):
            raise ValueError(f"scalar {self.name!r} is {self.value!r}; a bool is True or False")

    def to_python(self) -> Any:
        """Return the value as a Python number, rounded to the element type."""
        return np.array(self.value, numpy_dtype(self.dtype)).item()

    def to_ctypes(self) -> Any:
        """Return the value as a C number; the bits for floats that C does not have."""
        kind = numpy_dtype(self.dtype)
        number = np.array(self.value, kind)
        is_bits = kind.name in ("float16", "bfloat16")
        return _C_TYPES[kind.name]((number.view(np.uint16) if is_bits else number).item())
