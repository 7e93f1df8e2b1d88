"""Enumerations of the IR. Values are those of the serialised form."""

from __future__ import annotations

import sys
from enum import Enum, EnumMeta, IntEnum
from typing import Any

from pypto._src.suggestions import raise_unknown_name


class _Meta(EnumMeta):
    """Makes the error for an unknown member suggest the one that is probably meant."""

    def __getattr__(cls, name: str) -> Any:
        members = cls._member_map_
        if name in members:
            return members[name]
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        return raise_unknown_name(f"pl.{cls.__name__}", name, members, frame)


class MemorySpace(Enum, metaclass=_Meta):
    """Where bytes live. UB, L1, L0A, L0B and L0C are older names of the on-chip spaces.

    Bias holds the row that a matrix product is added to.
    """

    DDR = 0
    Vec = 1
    Mat = 2
    Left = 3
    Right = 4
    Acc = 5
    Bias = 6
    UB = 1
    L1 = 2
    L0A = 3
    L0B = 4
    L0C = 5

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is Python code

    def __str__(self) -> str:
        return f"MemorySpace.{self.name}"


class PipeType(IntEnum, metaclass=_Meta):
    """The in-order instruction queues of a core."""

    MTE1 = 0
    MTE2 = 1
    MTE3 = 2
    M = 3
    V = 4
    S = 5
    FIX = 6
    ALL = 7

    def __str__(self) -> str:
        return f"PipeType.{self.name}"


class _Named(Enum, metaclass=_Meta):
    __hash__ = object.__hash__  # as in `MemorySpace`

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class CoreType(IntEnum, metaclass=_Meta):
    """The two kinds of cores. Members are ints, as those of `PipeType` are."""

    CUBE = 0
    VECTOR = 1

    def __str__(self) -> str:
        return f"CoreType.{self.name}"


class MaskPattern(IntEnum, metaclass=_Meta):
    """Which columns of each group of two or four are taken; the lowest bit is the first column."""

    P0101 = 1
    P1010 = 2
    P0001 = 3
    P0010 = 4
    P0100 = 5
    P1000 = 6
    P1111 = 7


class AtomicType(IntEnum, metaclass=_Meta):
    """Whether a store replaces the elements in memory or adds to them."""

    None_ = 0
    Add = 1


class TensorLayout(_Named):
    """Order of a tensor's elements in global memory."""

    ND = 0
    DN = 1
    NZ = 2


class TileLayout(_Named):
    """Order of boxes (blayout) or of elements inside a box (slayout)."""

    none_box = 0
    row_major = 1
    col_major = 2


class TilePad(_Named):
    """What fills a tile outside its valid shape."""

    null = 0
    zero = 1
    max = 2
    min = 3


class ForKind(_Named):
    """Whether iterations of a loop may run in any order."""

    Sequential = 0
    Parallel = 1


class ScopeKind(_Named):
    """What a ``with`` scope marks."""

    InCore = 0


class FunctionType(_Named):
    """Where a function runs: unspecified, on the host, or on one core."""

    Opaque = 0
    Orchestration = 1
    InCore = 2


class ParamDirection(_Named):
    """Whether a function reads, writes, or reads and writes a parameter."""

    In = 0
    Out = 1
    InOut = 2
