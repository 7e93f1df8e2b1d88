"""Element types, one row each: bits, texts, code, and their names in other systems."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from pypto._src.lazy import lazy_module
from pypto._src.suggestions import raise_unknown_name

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")
ml_dtypes = lazy_module("ml_dtypes")


class _ReadOnly(type):
    def __getattr__(cls, name: str) -> NoReturn:
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        raise_unknown_name("DataType", name, MEMBERS, frame)

    def __setattr__(cls, name: str, value: object) -> NoReturn:
        raise AttributeError(f"DataType.{name} cannot be set: the element types are fixed")

    def __delattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"DataType.{name} cannot be deleted: the element types are fixed")


class DataType(metaclass=_ReadOnly):
    """An element type. The members are class attributes such as ``DataType.FP32``."""

    __slots__ = ("_bits", "_code", "c_type", "kind", "member", "mlir", "numpy_name", "text")

    member: str  # name of the class attribute, as printed after ``pl.``
    text: str  # str() of the member
    kind: str  # "bool", "int", "uint" or "float"
    c_type: str  # C++ spelling in PTO ISA code, "unknown" where there is none
    mlir: str | None  # spelling as a PTO tile or view element, None where there is none
    numpy_name: str | None  # attribute of numpy or ml_dtypes
    _bits: int
    _code: int

    BOOL: ClassVar[DataType]
    INT4: ClassVar[DataType]
    INT8: ClassVar[DataType]
    INT16: ClassVar[DataType]
    INT32: ClassVar[DataType]
    INT64: ClassVar[DataType]
    UINT4: ClassVar[DataType]
    UINT8: ClassVar[DataType]
    UINT16: ClassVar[DataType]
    UINT32: ClassVar[DataType]
    UINT64: ClassVar[DataType]
    FP4: ClassVar[DataType]
    FP8E4M3FN: ClassVar[DataType]
    FP8E5M2: ClassVar[DataType]
    FP16: ClassVar[DataType]
    FP32: ClassVar[DataType]
    FP64: ClassVar[DataType]
    BF16: ClassVar[DataType]
    HF4: ClassVar[DataType]
    HF8: ClassVar[DataType]
    # Other names of the same members.
    INDEX: ClassVar[DataType]
    DEFAULT_CONST_INT: ClassVar[DataType]
    DEFAULT_CONST_FLOAT: ClassVar[DataType]
    FP8: ClassVar[DataType]
    FLOAT16: ClassVar[DataType]
    FLOAT32: ClassVar[DataType]
    FLOAT64: ClassVar[DataType]

    def __init__(self) -> None:
        raise TypeError("DataType has no constructor: use a member such as DataType.FP32")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"DataType is immutable: cannot set {name!r}")

    def get_bit(self) -> int:
        """Return the number of bits of one element."""
        return self._bits

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory; types narrower than a byte take one."""
        return (self._bits + 7) // 8

    def code(self) -> int:
        """Return the number of the type in serialised programs."""
        return self._code

    def to_string(self) -> str:
        """Return the lower-case name, such as ``fp32``."""
        return self.text

    __str__ = __repr__ = to_string

    def to_c_type_string(self) -> str:
        """Return the C++ type name, or ``unknown`` where there is none."""
        return self.c_type

    def is_float(self) -> bool:
        """True for floating-point types."""
        return self.kind == "float"

    def is_signed_int(self) -> bool:
        """True for signed integers (BOOL is not one)."""
        return self.kind == "int"

    def is_unsigned_int(self) -> bool:
        """True for unsigned integers (BOOL is not one)."""
        return self.kind == "uint"

    def is_int(self) -> bool:
        """True for signed and unsigned integers (BOOL is neither)."""
        return self.kind in ("int", "uint")

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of arrays with this element type.

        Raises:
            TypeError: neither NumPy nor ml_dtypes has the type.
        """
        if self.numpy_name is None:
            raise TypeError(f"{self.member} has no NumPy dtype")
        module = ml_dtypes if self.numpy_name in _ML_DTYPES else np
        return np.dtype(getattr(module, self.numpy_name))

    def __eq__(self, other: object) -> bool:
        return self is other if isinstance(other, DataType) else NotImplemented

    def __hash__(self) -> int:
        return self._code

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (getattr, (DataType, self.member))


_ML_DTYPES = frozenset(
    {"bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float4_e2m1fn"}
)

# member, bits, text, code, kind, C++ type, PTO element, NumPy name
_ROWS: tuple[tuple[str, int, str, int, str, str, str | None, str | None], ...] = (
    ("BOOL", 1, "bool", 0x00, "bool", "bool", "i1", "bool_"),
    ("INT4", 4, "int4", 0x10, "int", "unknown", None, "int4"),
    ("INT8", 8, "int8", 0x11, "int", "int8_t", "i8", "int8"),
    ("INT16", 16, "int16", 0x12, "int", "int16_t", "i16", "int16"),
    ("INT32", 32, "int32", 0x13, "int", "int32_t", "i32", "int32"),
    ("INT64", 64, "int64", 0x14, "int", "int64_t", "i64", "int64"),
    ("UINT4", 4, "uint4", 0x20, "uint", "unknown", None, "uint4"),
    ("UINT8", 8, "uint8", 0x21, "uint", "uint8_t", "ui8", "uint8"),
    ("UINT16", 16, "uint16", 0x22, "uint", "uint16_t", "ui16", "uint16"),
    ("UINT32", 32, "uint32", 0x23, "uint", "uint32_t", "ui32", "uint32"),
    ("UINT64", 64, "uint64", 0x24, "uint", "uint64_t", "ui64", "uint64"),
    ("FP4", 4, "fp4", 0x30, "float", "unknown", None, "float4_e2m1fn"),
    ("FP8E4M3FN", 8, "fp8e4m3fn", 0x31, "float", "unknown", "f8E4M3FN", "float8_e4m3fn"),
    ("FP8E5M2", 8, "fp8e5m2", 0x32, "float", "unknown", "f8E5M2", "float8_e5m2"),
    ("FP16", 16, "fp16", 0x33, "float", "half", "f16", "float16"),
    ("FP32", 32, "fp32", 0x34, "float", "float", "f32", "float32"),
    ("FP64", 64, "fp64", 0x35, "float", "double", "f64", "float64"),
    ("BF16", 16, "bfloat16", 0x40, "float", "bfloat16_t", "bf16", "bfloat16"),
    ("HF4", 4, "hf4", 0x41, "float", "unknown", None, None),
    ("HF8", 8, "hf8", 0x42, "float", "unknown", None, None),
)
_ALIASES = {
    "INDEX": "INT64",
    "DEFAULT_CONST_INT": "INT64",
    "DEFAULT_CONST_FLOAT": "FP32",
    "FP8": "FP8E4M3FN",
    "FLOAT16": "FP16",
    "FLOAT32": "FP32",
    "FLOAT64": "FP64",
}
_FIELDS = ("member", "_bits", "text", "_code", "kind", "c_type", "mlir", "numpy_name")


def _member(row: tuple[object, ...]) -> DataType:
    dtype = object.__new__(DataType)
    for name, value in zip(_FIELDS, row, strict=True):
        object.__setattr__(dtype, name, value)
    return dtype


MEMBERS: Final[dict[str, DataType]] = {row[0]: _member(row) for row in _ROWS}
BY_CODE: Final[dict[int, DataType]] = {dtype.code(): dtype for dtype in MEMBERS.values()}
for _name, _dtype in MEMBERS.items():
    type.__setattr__(DataType, _name, _dtype)
for _name, _target in _ALIASES.items():
    type.__setattr__(DataType, _name, MEMBERS[_target])

PUBLIC_NAMES: Final = (*(name for name in MEMBERS if name != "FP64"), "INDEX")
"""Public names of element types in ``pypto.language`` and ``pypto.ir``."""


def compute_dtype(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """Return the type in which ops compute on floats: 32 bits, but 64 for arrays of 64 bits.

    No element type of programs is that wide: such arrays come from an exact run.
    """
    return np.float64 if dtype == np.float64 else np.float32


def promote(a: DataType, b: DataType) -> DataType:
    """Return the element type of an op on ``a`` and ``b``.

    A float beats an integer; else the wider; integers of equal width: the signed one; floats of
    equal width (FP16 with BF16): the first.
    """
    if a is b:
        return a
    if a.is_float() != b.is_float():
        return a if a.is_float() else b
    if a.get_bit() != b.get_bit():
        return a if a.get_bit() > b.get_bit() else b
    if a.is_int() and b.is_signed_int() and not a.is_signed_int():
        return b
    return a


LARGEST: Final = {
    DataType.FP8E4M3FN: 448.0,
    DataType.FP8E5M2: 57344.0,
    DataType.FP16: 65504.0,
    DataType.BF16: 3.3895313892515355e38,
    DataType.FP32: 3.4028234663852886e38,
    DataType.FP64: sys.float_info.max,
}
"""The largest numbers of floating-point types; the smallest are their negatives."""


_LONGEST: Final = 128
"""The most bits of an integer that is shown in full."""


def bounds(dtype: DataType) -> tuple[float, float]:
    """Return the smallest and the largest number of an element type, as int for integers."""
    if not dtype.is_int():
        largest = LARGEST.get(dtype, math.inf)
        return -largest, largest
    bits = dtype.get_bit()
    if dtype.is_signed_int():
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << min(bits, 63)) - 1


def holds(value: float, dtype: DataType) -> bool:
    """True if an element type has a number, or rounds a finite number to a finite one."""
    if dtype.is_int():
        return isinstance(value, int) and fits(value, dtype)
    largest = LARGEST.get(dtype)
    if largest is None or (isinstance(value, float) and not math.isfinite(value)):
        return True
    power: int = 1 << math.frexp(largest)[1]
    return abs(value) < (int(largest) + power) // 2


def out_of_range_text(value: float, dtype: DataType) -> str:
    """Return the error text for a number that an element type does not hold."""
    smallest, largest = bounds(dtype)
    return f"{dtype.member} has no value {number_text(value)}: it has {smallest} to {largest}"


def number_text(value: float) -> str:
    """Return a number as text; for a very long integer, its number of bits."""
    if isinstance(value, int) and value.bit_length() > _LONGEST:
        return f"of {value.bit_length()} bits"
    return str(value)


def fits(value: int, dtype: DataType) -> bool:
    """True if integer type ``dtype`` has ``value``."""
    bits = dtype.get_bit()
    if dtype.is_signed_int():
        return -(1 << (bits - 1)) <= value < 1 << (bits - 1)
    return 0 <= value < 1 << min(bits, 63)
