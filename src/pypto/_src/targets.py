"""Chips as frozen data: bytes per memory, base alignment, cores, flags.

Source: the hardware sheet's tables of the Ascend 910B (A2/A3) part. ``usable_bytes`` of the
vector memory stops where the tile library keeps a private block in the last 8 KiB.
"""

from __future__ import annotations

from typing import Final

from pypto._src.ir.enums import MemorySpace
from pypto._src.records import NamedTuple


class Memory(NamedTuple):
    """One on-chip memory of a core."""

    physical_bytes: int
    usable_bytes: int
    align_bytes: int  # of a tile's first byte


class Target(NamedTuple):
    """One chip, as far as kernels see it."""

    name: str
    memories: dict[MemorySpace, Memory]
    cube_cores: int
    vector_cores: int
    event_ids: int  # flags of one ordered pair of pipes


_KIB = 1024

A2A3: Final = Target(
    name="a2a3",
    memories={
        MemorySpace.Vec: Memory(192 * _KIB, 184 * _KIB, 32),
        MemorySpace.Mat: Memory(512 * _KIB, 512 * _KIB, 32),
        MemorySpace.Left: Memory(64 * _KIB, 64 * _KIB, 512),
        MemorySpace.Right: Memory(64 * _KIB, 64 * _KIB, 512),
        MemorySpace.Acc: Memory(128 * _KIB, 128 * _KIB, 512),
        MemorySpace.Bias: Memory(1 * _KIB, 1 * _KIB, 64),
    },
    cube_cores=24,
    vector_cores=48,
    event_ids=8,
)
