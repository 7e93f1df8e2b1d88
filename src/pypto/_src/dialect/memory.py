"""Whether the tiles of a function fit the on-chip memories when the assembler allocates them.

Owns an estimate: the peak number of bytes of live tiles. The assembler reuses memory, so what does
not fit by this count does not fit at all.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation, SSAValue

from pypto._src.dialect import ops
from pypto._src.dialect.rules import A3, A5
from pypto._src.dialect.types import TileType

_KIB: Final = 1024
CAPACITY: Final = {
    A3: {
        "vec": 192 * _KIB,
        "mat": 512 * _KIB,
        "left": 64 * _KIB,
        "right": 64 * _KIB,
        "acc": 128 * _KIB,
        "bias": 64 * _KIB,
        "scaling": 192 * _KIB,
    },
    A5: {
        "vec": 248 * _KIB,
        "mat": 512 * _KIB,
        "left": 64 * _KIB,
        "right": 64 * _KIB,
        "acc": 256 * _KIB,
        "bias": 64 * _KIB,
        "scaling": 248 * _KIB,
    },
}
"""Bytes that the assembler can allocate in each memory, by target."""

_ALIASES: Final = (ops.ReshapeOp, ops.BitcastOp, ops.SubsetOp)


def find_overflows(function: Operation, arch: str) -> list[str]:
    """Return a message for each memory that the live tiles of a function overflow."""
    order: dict[Operation, tuple[int, int]] = {}
    _number(function, order)
    events: dict[str, list[tuple[int, int]]] = {}
    for op in function.walk():
        if isinstance(op, ops.AllocTileOp):
            life = _lifetime(op, order)
            kind = op.result.type
            assert isinstance(kind, TileType)
            size = kind.data.size_bytes
            if life is not None and size is not None:
                begin, end = life
                found = events.setdefault(kind.data.space, [])
                found += [(begin, size), (end + 1, -size)]
    return [
        f"{space} overflows: the live tiles take {peak} bytes, there are {CAPACITY[arch][space]}"
        for space, steps in events.items()
        if (peak := _peak(steps)) > CAPACITY[arch][space]
    ]


def _number(function: Operation, order: dict[Operation, tuple[int, int]]) -> None:
    """Map each op to its own number and that of its last nested op."""
    walked = list(function.walk())
    begins = {op: index for index, op in enumerate(walked)}
    ends = dict(begins)
    for op in reversed(walked):
        parent = op.parent_op()
        if parent is not None and parent in ends:
            ends[parent] = max(ends[parent], ends[op])
    order.update((op, (begins[op], ends[op])) for op in walked)


def _lifetime(
    alloc: ops.AllocTileOp, order: dict[Operation, tuple[int, int]]
) -> tuple[int, int] | None:
    """Return the numbers of the first and last op that use a tile, None for a dead tile.

    A use inside a loop of a tile allocated outside it lasts for the whole loop.
    """
    users: list[Operation] = []
    values: list[SSAValue] = [alloc.result]
    while values:
        for use in values.pop().uses:
            users.append(use.operation)
            if isinstance(use.operation, (*_ALIASES, ops.AssignOp)):
                values += use.operation.results
    if not users:
        return None
    home = alloc.parent
    spans: list[tuple[int, int]] = []
    for user in users:
        op = user
        while op.parent is not home:
            parent = op.parent_op()
            if parent is None:
                break
            op = parent
        spans.append(order.get(op, (0, 0)))
    return min(begin for begin, _ in spans), max(end for _, end in spans)


def _peak(steps: list[tuple[int, int]]) -> int:
    peak = level = 0
    for _, change in sorted(steps):
        level += change
        peak = max(peak, level)
    return peak
