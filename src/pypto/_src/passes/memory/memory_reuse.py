"""MemoryReuse: buffers that are never live at the same time become one.

Why only when memory is short, and how buffers are chosen: docs/decisions/0005-memory-reuse.md.
Works on whole buffers, whose addresses are decided later. It assigns addresses itself only where
the buffers do not fit although the bytes live at any one time do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from pypto._src.analysis.liveness import Range, peak
from pypto._src.analysis.stmt_tree import Block
from pypto._src.ir.array_types import MemRef
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Var
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function
from pypto._src.ops.layout import round_up
from pypto._src.passes.memory.memref_assignment import MemoryPass, MemRefAssignment, MemRefs
from pypto._src.passes.pass_base import AnyProgram, Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.targets import A2A3, Memory, Target

if TYPE_CHECKING:
    from pypto._src.passes.memory.dynamic_storage_allocation import Placement


_P: Final = IRProperty

LINE_BYTES: Final = 64
"""A cache line of the CPU: vector accesses that cross a line boundary are slower."""


class Buffer:
    """One on-chip buffer of a function: its memory reference, live range, and tiles."""

    __slots__ = ("memref", "range", "size", "tiles")

    def __init__(self, memref: MemRef, times: Range, tiles: Sequence[Var]) -> None:
        self.memref = memref
        self.size: int = memref.size_  # in bytes
        self.range = times
        self.tiles = tiles  # in order of definition


class MemoryReuse(MemoryPass):
    """Share buffers in those memory spaces that the function would otherwise overflow.

    ``always`` shares wherever lifetimes allow.
    """

    requires = IRPropertySet(_P.TypeChecked, _P.SplitIncoreOrch, _P.HasMemRefs, _P.IncoreBlockOps)

    def __init__(self, target: Target = A2A3, *, always: bool = False) -> None:
        self.target = target
        self.always = always

    def go_on(self, given: AnyProgram) -> AnyProgram:
        """Return the program with fewer buffers where memory is short."""
        allocated = MemRefAssignment.of(given)
        return allocated.with_functions(
            [
                _with_shared(each, self.target, always=self.always)
                if role(each.function) is Role.KERNEL
                else each
                for each in allocated.functions
            ]
        )


class BasicMemoryReuse(MemoryReuse):
    """Share buffers wherever lifetimes allow, even if memory is plentiful."""

    def __init__(self, target: Target = A2A3) -> None:
        super().__init__(target, always=True)


@pass_factory
def basic_memory_reuse() -> Pass:
    """Return the pass that shares buffers wherever lifetimes allow."""
    return BasicMemoryReuse()


def with_shared_buffers(
    function: Function, target: Target = A2A3, *, always: bool = False
) -> Function:
    """Return ``function`` with shared buffers; see `MemoryReuse`."""
    return _with_shared(MemRefs.in_types(function), target, always=always).materialize()


def _with_shared(given: MemRefs, target: Target, *, always: bool) -> MemRefs:
    in_space = given.buffers
    full = [space for space in in_space if _overflows(in_space[space], target.memories[space])]
    wanted = list(in_space) if always else full
    if not wanted:
        return given
    ranges = given.lifetimes.ranges
    shared: dict[MemRef, MemRef] = {}
    for space in wanted:
        found = buffers_of(given.tiles[space], ranges)
        shared.update(_shared(found, target.memories[space], always=always))
    return given.replaced(shared)


def _shared(found: Sequence[Buffer], memory: Memory, *, always: bool) -> dict[MemRef, MemRef]:
    """Map memory references to their replacements so that the buffers fit.

    If even the peak does not fit, sharing cannot help, and AllocateMemoryAddr will report it. Then
    nothing is shared, except with ``always``.
    """
    slots = _slots(found, _by_size(found), memory.usable_bytes)
    if _taken(slots, memory) <= memory.usable_bytes:
        return merged([slot.buffers for slot in slots])
    if not always and peak_bytes(found, memory)[0] > memory.usable_bytes:
        return {}
    shared = share(found, memory)
    left = dict.fromkeys(shared.get(b.memref, b.memref) for b in found)
    if total_bytes([m.size_ for m in left], memory) > memory.usable_bytes:
        return assign(found, memory) or shared
    return shared


def _overflows(found: Iterable[MemRef], memory: Memory) -> bool:
    return total_bytes([memref.size_ for memref in found], memory) > memory.usable_bytes


def buffers(function: Function, root: Block) -> dict[MemorySpace, list[Buffer]]:
    """Return the on-chip buffers of each memory space in order of first definition."""
    found = MemRefs.in_types(function).knows(root, None)
    return {
        space: buffers_of(tiles, found.lifetimes.ranges) for space, tiles in found.tiles.items()
    }


def buffers_of(found: Mapping[MemRef, Sequence[Var]], ranges: Mapping[Var, Range]) -> list[Buffer]:
    """Return the buffers of one memory with their live ranges."""
    return [
        Buffer(
            memref,
            ranges[tiles[0]] if len(tiles) == 1 else _all_times(tiles, ranges),
            tiles,
        )
        for memref, tiles in found.items()
    ]


def _all_times(tiles: Sequence[Var], ranges: Mapping[Var, Range]) -> Range:
    return Range([segment for var in tiles for segment in ranges[var]])


def total_bytes(sizes: Sequence[int], memory: Memory) -> int:
    """Return the bytes that buffers of these sizes take without sharing."""
    return sum([round_up(size, memory.align_bytes) for size in sizes])


def peak_bytes(found: Sequence[Buffer], memory: Memory) -> tuple[int, int]:
    """Return (bytes, time) of the peak, which is a lower bound for any plan."""
    return peak([(b.range, round_up(b.memref.size_, memory.align_bytes)) for b in found])


class _Slot:
    """Buffers that share their bytes, live for the last time from ``begin`` to ``end``."""

    __slots__ = ("_times", "begin", "buffers", "end", "size")

    def __init__(self, buffer: Buffer) -> None:
        self.size = buffer.size
        times = buffer.range
        self.begin, self.end = times.begins[-1], times.ends[-1]
        self.buffers = [buffer]
        self._times: tuple[Range, int] = Range(), 0  # union of the first so many ranges

    def take(self, buffer: Buffer) -> None:
        """Add a buffer for whose range `is_free` is true."""
        self.buffers.append(buffer)
        if buffer.size > self.size:
            self.size = buffer.size
        times = buffer.range
        end = times.ends[-1]
        if end > self.end:
            self.begin, self.end = times.begins[-1], end

    def is_free(self, wanted: Range) -> bool:
        """True if no buffer is live at any of the wanted times."""
        times, known = self._times
        for buffer in self.buffers[known:]:
            times = times.absorb(buffer.range)
        self._times = times, len(self.buffers)
        return not times.meets(wanted)


def _taken(slots: Sequence[_Slot], memory: Memory) -> int:
    return total_bytes([slot.size for slot in slots], memory)


_MOST_SLOTS: Final = 512
"""How many slots one buffer is compared with; keeps the pass near linear in the worst case."""


def share(found: Sequence[Buffer], memory: Memory) -> dict[MemRef, MemRef]:
    """Map each memory reference that joins another one to its replacement.

    The largest buffers come first, each into the first slot that is free whenever the buffer is
    live; so a slot has the size of its first buffer. If that overflows, the order of definition is
    tried too, in which slots may grow.
    """
    best = _slots(found, _by_size(found))
    if _taken(best, memory) > memory.usable_bytes:
        best = min(best, _slots(found, range(len(found))), key=lambda s: _taken(s, memory))
    return merged([slot.buffers for slot in best])


def _by_size(found: Sequence[Buffer]) -> list[int]:
    """Return the indices of buffers, the largest first, equal ones in order."""
    sizes = [buffer.size for buffer in found]
    return sorted(range(len(found)), key=sizes.__getitem__, reverse=True)


def merged(slots: Iterable[Sequence[Buffer]]) -> dict[MemRef, MemRef]:
    """Map memory references to the one that replaces them where buffers share their bytes."""
    found: dict[MemRef, MemRef] = {}
    for slot in slots:
        memrefs = [buffer.memref for buffer in slot]
        size = max([buffer.size for buffer in slot])
        memref = min(memrefs, key=_ID)
        if memref.size_ != size:
            memref = MemRef(memref.memory_space_, memref.addr_, size, memref.id_)
        found.update({old: memref for old in memrefs if old is not memref})
    return found


_ID: Final = attrgetter("id_")


def _slots(found: Sequence[Buffer], order: Iterable[int], most: int | None = None) -> list[_Slot]:
    """Put each buffer in the first slot that is free whenever it is live.

    Stop when the slots take more than ``most`` bytes.
    """
    slots: list[_Slot] = []
    taken = 0
    for index in order:
        buffer = found[index]
        range_ = buffer.range
        begin = range_.begins[0]
        for slot in slots if len(slots) <= _MOST_SLOTS else slots[-_MOST_SLOTS:]:
            if slot.end < begin or (slot.begin > begin and slot.is_free(range_)):
                slot.take(buffer)
                break
        else:
            slots.append(_Slot(buffer))
            taken += buffer.size
            if most is not None and taken > most:
                break
    return slots


def assign(found: Sequence[Buffer], memory: Memory) -> dict[MemRef, MemRef] | None:
    """Return addresses at which buffers may overlap in part if lifetimes allow; None if none fit.

    For memories in which sharing whole buffers is not enough. The search runs only if first fit
    fails. A plan in which all buffers begin at cache lines is preferred if it fits.
    """
    lines = memory._replace(align_bytes=max(memory.align_bytes, LINE_BYTES))
    for each, exact in ((lines, False), (memory, False), (lines, True), (memory, True)):
        if peak_bytes(found, each)[0] > each.usable_bytes:
            continue  # no plan fits
        placement = allocated(found, each, exact=exact)
        if placement.height <= memory.usable_bytes:
            return {
                b.memref: MemRef(b.memref.memory_space_, a, b.memref.size_, b.memref.id_)
                for b, a in zip(found, placement.addresses, strict=True)
            }
    return None


def allocated(found: Sequence[Buffer], memory: Memory, *, exact: bool) -> Placement:
    """Return a placement for the buffers of one memory; see `dynamic_storage_allocation.plan`."""
    from pypto._src.passes.memory.dynamic_storage_allocation import Item

    items = [Item(round_up(b.memref.size_, memory.align_bytes), b.range) for b in found]
    from pypto._src.passes.memory.dynamic_storage_allocation import plan

    return plan(items, exact=exact)
