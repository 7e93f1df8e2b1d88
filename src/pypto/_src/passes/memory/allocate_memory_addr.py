"""AllocateMemoryAddr: every on-chip buffer gets its address, or an error says what does not fit.

Buffers of one memory space are placed in order of first definition, those whose sizes are whole
cache lines first: so each of these begins at a cache line, at no cost in bytes. MemoryReuse has
decided which buffers share; a space in which every buffer has an address stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from pypto._src.analysis.liveness import definitions
from pypto._src.analysis.stmt_tree import Block, number, points_in
from pypto._src.diagnostics import UNKNOWN_SPAN, Label, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import MemoryPlanError
from pypto._src.ir.array_types import MemRef
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import const_value
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import AssignStmt, Function
from pypto._src.ir.types import scalar_type
from pypto._src.ir.unchecked import checked_int, checked_memref
from pypto._src.ops.layout import round_up
from pypto._src.passes.memory.memory_reuse import (
    LINE_BYTES,
    Buffer,
    buffers,
    peak_bytes,
    total_bytes,
)
from pypto._src.passes.memory.memref_assignment import MemoryPass, MemRefAssignment, MemRefs
from pypto._src.passes.pass_base import AnyProgram, Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.targets import A2A3, Memory, Target

if TYPE_CHECKING:
    from pypto._src.passes.memory.overflow_hints import Live


_LISTED: Final = 5
"""How many tiles an overflow report names."""

_P: Final = IRProperty


class AllocateMemoryAddr(MemoryPass):
    """Assign addresses to on-chip buffers, from 0 up in each memory, aligned for the target."""

    requires = IRPropertySet(_P.TypeChecked, _P.SplitIncoreOrch, _P.HasMemRefs, _P.IncoreBlockOps)
    produces = IRPropertySet(_P.AllocatedMemoryAddr)

    def __init__(self, target: Target = A2A3) -> None:
        self.target = target

    def go_on(self, given: AnyProgram) -> AnyProgram:
        """Return the program with addresses in all on-chip memory references.

        Raises:
            MemoryPlanError: the tiles of a kernel do not fit a memory.
        """
        assigned = MemRefAssignment.of(given)
        return assigned.with_functions(
            [
                _with_addresses(each, self.target) if role(each.function) is Role.KERNEL else each
                for each in assigned.functions
            ]
        )


@pass_factory
def allocate_memory_addr() -> Pass:
    """Return the pass that assigns addresses to on-chip buffers."""
    return AllocateMemoryAddr()


_INDEX: Final = scalar_type(DataType.INDEX)


def with_addresses(function: Function, target: Target = A2A3) -> Function:
    """Return ``function`` with addresses; see `AllocateMemoryAddr`."""
    return _with_addresses(MemRefs.in_types(function), target).materialize()


def _with_addresses(given: MemRefs, target: Target) -> MemRefs:
    assigned: dict[MemRef, MemRef] = {}
    for space, found in given.buffers.items():
        memory = target.memories[space]
        if _is_placed(found, memory):
            continue
        sizes = {memref: round_up(memref.size_, memory.align_bytes) for memref in found}
        if sum(sizes.values()) > memory.usable_bytes:
            raise _overflow(given.materialize(), space, memory)
        whole = [memref for memref, size in sizes.items() if size % LINE_BYTES == 0]
        parts = [memref for memref, size in sizes.items() if size % LINE_BYTES]
        address = 0
        for old in (*whole, *parts):
            addr = checked_int(address, _INDEX, UNKNOWN_SPAN)
            assigned[old] = checked_memref(space, addr, old.size_, old.id_, old.span)
            address += sizes[old]
    return given.replaced(assigned)


def _is_placed(found: Iterable[MemRef], memory: Memory) -> bool:
    """True if all buffers of a space have addresses, which MemoryReuse assigns when it must."""
    for memref in found:
        address = const_value(memref.addr_)
        if address is None or not 0 <= address <= memory.usable_bytes - memref.size_:
            return False
    return True


def _overflow(function: Function, space: MemorySpace, memory: Memory) -> MemoryPlanError:
    """Return the error about the moment at which the most bytes are needed."""
    root = number(function)
    found = buffers(function, root)[space]
    needed, time = peak_bytes(found, memory)
    what = f"the tiles that are live here take {needed} bytes"
    if needed <= memory.usable_bytes:  # fragmentation: no whole buffer fits the gaps
        needed = total_bytes([b.memref.size_ for b in found], memory)
        what = f"its buffers take {needed} bytes"
    live = _live_at(function, root, found, time)
    related = [Label(each.span, each.text) for each in live[:_LISTED]]
    if len(live) > _LISTED:
        size = total_bytes([each.buffer.memref.size_ for each in live[_LISTED:]], memory)
        related.append(Label(UNKNOWN_SPAN, f"and {len(live) - _LISTED} more: {size} bytes"))
    from pypto._src.passes.memory.overflow_hints import advice

    return MemoryPlanError(
        f"{space.name} memory of kernel {function.name!r} overflows: {what}, "
        f"{memory.usable_bytes} are usable",
        _span_at(root, time),
        hint=advice(function, root, found, live, memory),
        related=related,
    )


def _live_at(function: Function, root: Block, found: Sequence[Buffer], time: int) -> list[Live]:
    """Return the buffers live at ``time``, largest first, each with its latest tile by then."""
    defined = {var: when for var, _, when in definitions(function, root)}
    makers = {
        point.stmt.var: point.stmt
        for point in points_in(root)
        if isinstance(point.stmt, AssignStmt)
    }
    live: list[Live] = []
    from pypto._src.passes.memory.overflow_hints import Live

    for buffer in found:
        if any(begin <= time <= end for begin, end in buffer.range):
            tiles = [tile for tile in buffer.tiles if defined[tile] <= time]
            tile = tiles[-1] if tiles else buffer.tiles[0]
            live.append(Live(buffer, tile, makers.get(tile)))
    live.sort(key=lambda each: -each.buffer.memref.size_)
    return live


def _span_at(root: Block, time: int) -> Span:
    """Return the span of the innermost statement that runs at ``time``."""
    span = UNKNOWN_SPAN
    for point in points_in(root):
        if point.begin <= time // 2 <= point.end:
            span = point.stmt.span
    return span
