"""The memory space that a call names for its result, and what tiles of each space may hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.errors import OpError
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call
from pypto._src.ir.opdef import Operands
from pypto._src.ops.define import FACTORS, STORABLE
from pypto._src.ops.rules.type_rules import FROM_MAT, attribute, called, members

D = DataType
SPACE_DTYPES: Final = {
    MemorySpace.Vec: STORABLE,
    MemorySpace.Mat: frozenset(d for d in STORABLE if d.get_bit() <= 32),
    MemorySpace.Left: FACTORS,
    MemorySpace.Right: FACTORS,
    MemorySpace.Acc: frozenset({D.FP32, D.INT32}),
    MemorySpace.Bias: frozenset({D.FP32, D.INT32}),
}
"""Element types of tiles by memory space."""


def _path_hint(space: MemorySpace, allowed: Sequence[MemorySpace]) -> str:
    """Return a hint: how a tile gets to ``space`` from a space where the op can put it."""
    if space in FROM_MAT and MemorySpace.Mat in allowed:
        return (
            "write target_memory=pl.MemorySpace.Mat, and then "
            f"pl.move(tile, target_memory=pl.MemorySpace.{space.name})"
        )
    return f"write target_memory=pl.MemorySpace.{allowed[0].name}"


def target_of(o: Operands, allowed: Sequence[MemorySpace]) -> MemorySpace:
    """Return the memory space that a call names, after a check that it is ``allowed``."""
    space = attribute(o, "target_memory")
    if space not in allowed:
        names = " or ".join(s.name for s in allowed)
        raise OpError(
            f"{called(o.op)} goes to {names} memory, got {space.name}",
            hint=_path_hint(space, allowed),
            slug="memory-space",
        )
    assert isinstance(space, MemorySpace)
    return space


def check_space_dtype(space: MemorySpace, dtype: DataType) -> None:
    """Check that a memory space can hold tiles of an element type."""
    if dtype not in SPACE_DTYPES[space]:
        raise OpError(
            f"{space.name} memory cannot hold elements of {dtype.member}",
            hint=f"it holds {members(SPACE_DTYPES[space])}",
            slug="element-type",
        )


def target_space(call: Call) -> MemorySpace:
    """Return the memory space that a call names, vector memory if it names none."""
    space = call.kwargs.get("target_memory", MemorySpace.Vec)
    assert isinstance(space, MemorySpace)
    return space
