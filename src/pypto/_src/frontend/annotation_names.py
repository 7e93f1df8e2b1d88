"""The element types and the annotation wrappers, under the names that kernels write.

At run time they are the members of `DataType` and the classes of `pypto._src.ir.annotations`. A
type checker, for which ``x: pl.FP32`` is a number and ``pl.Out[T]`` a T, sees the stand-ins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Annotated, TypeVar

    from pypto._src.ir.static_names import (
        BF16,
        BOOL,
        FP4,
        FP8,
        FP8E4M3FN,
        FP8E5M2,
        FP16,
        FP32,
        HF4,
        HF8,
        INDEX,
        INT4,
        INT8,
        INT16,
        INT32,
        INT64,
        UINT4,
        UINT8,
        UINT16,
        UINT32,
        UINT64,
    )

    T = TypeVar("T")
    Out = Annotated[T, "a parameter that the function only writes"]
    InOut = Annotated[T, "a parameter that the function reads and writes"]
    Scalar = Annotated[T, "one number"]
else:
    from pypto._src.dtypes import DataType
    from pypto._src.ir.annotations import InOut, Out, Scalar

    BF16 = DataType.BF16
    BOOL = DataType.BOOL
    FP16 = DataType.FP16
    FP32 = DataType.FP32
    FP4 = DataType.FP4
    FP8 = DataType.FP8
    FP8E4M3FN = DataType.FP8E4M3FN
    FP8E5M2 = DataType.FP8E5M2
    HF4 = DataType.HF4
    HF8 = DataType.HF8
    INDEX = DataType.INDEX
    INT16 = DataType.INT16
    INT32 = DataType.INT32
    INT4 = DataType.INT4
    INT64 = DataType.INT64
    INT8 = DataType.INT8
    UINT16 = DataType.UINT16
    UINT32 = DataType.UINT32
    UINT4 = DataType.UINT4
    UINT64 = DataType.UINT64
    UINT8 = DataType.UINT8

__all__ = [
    "BF16",
    "BOOL",
    "FP4",
    "FP8",
    "FP8E4M3FN",
    "FP8E5M2",
    "FP16",
    "FP32",
    "HF4",
    "HF8",
    "INDEX",
    "INT4",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "UINT4",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "InOut",
    "Out",
    "Scalar",
]
