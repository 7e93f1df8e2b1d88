"""MemoryReuse: buffers that are never needed at the same time become one.

Why only when memory is short, and how buffers are chosen: docs/decisions/0005-memory-reuse.md.
Works on whole buffers, whose places are decided later; only where those do not fit although the
bytes needed at any time do, it gives addresses itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import MemRef, TileType, Type, Var
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.base import IRProperty, IRPropertySet, Pass
from pypto._src.passes.liveness import Range, definitions, live_ranges, peak
from pypto._src.passes.regions import Block, Retype, number, with_memref
from pypto._src.passes.storage import Item, Placement, plan
from pypto._src.targets import A2A3, Memory, Target

_P: Final = IRProperty

LINE_BYTES: Final = 64
"""A cache line of the CPU: its vector accesses are slower where they cross from one to the next."""


class Buffer(NamedTuple):
    """One on-chip buffer of a function: its memory reference, when it is needed, and its tiles."""

    memref: MemRef
    range: Range
    tiles: tuple[Var, ...]  # in order of definition


class MemoryReuse(Pass):
    """Share buffers in those memory spaces that the function would otherwise overflow.

    ``always`` shares wherever lifetimes allow.
    """

    requires = IRPropertySet(_P.TypeChecked, _P.SplitIncoreOrch, _P.HasMemRefs, _P.IncoreBlockOps)

    def __init__(self, target: Target = A2A3, *, always: bool = False) -> None:
        self.target = target
        self.always = always

    def run(self, program: Program) -> Program:
        """Return the program with fewer buffers where memory is short."""
        return program.with_functions(
            [
                with_shared_buffers(f, self.target, always=self.always)
                if role(f) is Role.KERNEL
                else f
                for f in program.functions_
            ]
        )


class BasicMemoryReuse(MemoryReuse):
    """Share buffers wherever lifetimes allow, also where memory is plenty."""

    def __init__(self, target: Target = A2A3) -> None:
        super().__init__(target, always=True)


def basic_memory_reuse() -> Pass:
    """Return the pass that shares buffers wherever lifetimes allow."""
    return BasicMemoryReuse()


def with_shared_buffers(
    function: Function, target: Target = A2A3, *, always: bool = False
) -> Function:
    """Return ``function`` with shared buffers; see `MemoryReuse`."""
    root = number(function)
    tiles = members(function, root)
    full = [space for space in tiles if _overflows(tiles[space], target.memories[space])]
    if not always and not full:
        return function
    merged: dict[MemRef, MemRef] = {}
    for space, found in _buffers(tiles, live_ranges(function, root)).items():
        memory = target.memories[space]
        overflows = space in full
        # If even the peak does not fit, no sharing helps: AllocateMemoryAddr will report it.
        if always or (overflows and peak_bytes(found, memory)[0] <= memory.usable_bytes):
            shared = share(found, memory)
            left = dict.fromkeys(shared.get(b.memref, b.memref) for b in found)
            if total_bytes([m.size_ for m in left], memory) > memory.usable_bytes:
                shared = place(found, memory) or shared
            merged.update(shared)
    return replace_memrefs(function, merged)


def _overflows(found: Iterable[MemRef], memory: Memory) -> bool:
    return total_bytes([memref.size_ for memref in found], memory) > memory.usable_bytes


def replace_memrefs(function: Function, merged: dict[MemRef, MemRef]) -> Function:
    """Return ``function`` with memory references replaced."""
    return Retype(_Replaced(merged).type_of).function(function) if merged else function


class _Replaced:
    """The types of variables with other memory references, one object for those that are equal.

    What is known of types goes by their identity, and that of their shapes: the function that is
    rewritten holds them meanwhile.
    """

    def __init__(self, merged: dict[MemRef, MemRef]) -> None:
        self._merged = merged
        self._known: dict[int, Type] = {}
        self._made: dict[tuple[int, ...], Type] = {}

    def type_of(self, var: Var) -> Type:
        """Return the new type of a variable."""
        kind = var.type
        new = self._known.get(id(kind))
        if new is None:
            new = self._known[id(kind)] = self._replaced(kind)
        return new

    def _replaced(self, kind: Type) -> Type:
        old = kind.memref if isinstance(kind, TileType) else None
        memref = None if old is None else self._merged.get(old)
        if memref is None or memref is old or not isinstance(kind, TileType):
            return kind
        key = (id(memref), id(kind.shape), id(kind.dtype), id(kind.tile_view))
        new = self._made.get(key)
        if new is None:
            new = self._made[key] = with_memref(kind, memref)
        return new


Members: TypeAlias = "dict[MemorySpace, dict[MemRef, list[Var]]]"


def members(function: Function, root: Block) -> Members:
    """Return the tiles of each on-chip buffer, by memory space, in order of definition."""
    found: Members = {}
    for var, _, _ in definitions(function, root):
        memref = var.type.memref if isinstance(var.type, TileType) else None
        if memref is not None:
            found.setdefault(memref.memory_space_, {}).setdefault(memref, []).append(var)
    return found


def buffers(function: Function, root: Block) -> dict[MemorySpace, list[Buffer]]:
    """Return the on-chip buffers of each memory space in order of first definition."""
    return _buffers(members(function, root), live_ranges(function, root))


def _buffers(tiles: Members, ranges: dict[Var, Range]) -> dict[MemorySpace, list[Buffer]]:
    def together(each: Sequence[Var]) -> Range:
        if len(each) == 1:
            return ranges[each[0]]
        return Range([segment for var in each for segment in ranges[var]])

    return {
        space: [Buffer(memref, together(each), tuple(each)) for memref, each in found.items()]
        for space, found in tiles.items()
    }


def aligned(size_bytes: int, memory: Memory) -> int:
    """Return ``size_bytes`` rounded up to the alignment of ``memory``."""
    return -(-size_bytes // memory.align_bytes) * memory.align_bytes


def total_bytes(sizes: Sequence[int], memory: Memory) -> int:
    """Return the bytes that buffers of these sizes take one after another."""
    return sum(aligned(size, memory) for size in sizes)


def peak_bytes(found: Sequence[Buffer], memory: Memory) -> tuple[int, int]:
    """Return (bytes, time) of the moment at which most is needed: no plan can do with less."""
    return peak([(b.range, aligned(b.memref.size_, memory)) for b in found])


class _Slot:
    __slots__ = ("buffers", "order", "range", "size")

    def __init__(self, order: int, buffer: Buffer) -> None:
        self.order = order
        self.size = buffer.memref.size_
        self.range = buffer.range.copy()
        self.buffers = [buffer]

    def take(self, buffer: Buffer) -> None:
        self.range = self.range.absorb(buffer.range)
        self.buffers.append(buffer)


def _taken(slots: Sequence[_Slot], memory: Memory) -> int:
    return total_bytes([slot.size for slot in slots], memory)


_MOST_SLOTS: Final = 512
"""How many slots one buffer is compared with; keeps the pass near linear on hopeless programs."""


def share(found: Sequence[Buffer], memory: Memory) -> dict[MemRef, MemRef]:
    """Return the memory reference that takes the place of each one that joins another.

    The largest buffers come first, each into the first slot that is free whenever the buffer is
    needed; so a slot has the size of its first buffer. If that overflows, the order of definition
    is tried too, where slots grow.
    """
    sizes = [buffer.memref.size_ for buffer in found]
    by_size = sorted(range(len(found)), key=sizes.__getitem__, reverse=True)  # equal ones in order
    best = _slots(found, by_size)
    if _taken(best, memory) > memory.usable_bytes:
        best = min(best, _slots(found, range(len(found))), key=lambda s: _taken(s, memory))
    merged: dict[MemRef, MemRef] = {}
    for slot in best:
        first = min(slot.buffers, key=lambda b: b.memref.id_)
        memref = first.memref
        if memref.size_ != slot.size:
            memref = MemRef(memref.memory_space_, memref.addr_, slot.size, memref.id_)
        merged.update({b.memref: memref for b in slot.buffers if b.memref is not memref})
    return merged


def _slots(found: Sequence[Buffer], order: Sequence[int]) -> list[_Slot]:
    slots: list[_Slot] = []
    for index in order:
        buffer = found[index]
        for slot in slots[-_MOST_SLOTS:]:
            if not slot.range.meets(buffer.range):
                slot.take(buffer)
                slot.size = max(slot.size, buffer.memref.size_)
                break
        else:
            slots.append(_Slot(index, buffer))
    return slots


def place(found: Sequence[Buffer], memory: Memory) -> dict[MemRef, MemRef] | None:
    """Return addresses at which parts of buffers overlap when their lifetimes allow; None if none.

    For memories that whole buffers do not fit. The search is asked only when first fit fails. A
    plan in which all buffers begin at cache lines is taken where it fits.
    """
    lines = memory._replace(align_bytes=max(memory.align_bytes, LINE_BYTES))
    for each, exact in ((lines, False), (memory, False), (lines, True), (memory, True)):
        if exact and peak_bytes(found, each)[0] > each.usable_bytes:
            continue
        placement = placed(found, each, exact=exact)
        if placement.height <= memory.usable_bytes:
            return {
                b.memref: MemRef(b.memref.memory_space_, a, b.memref.size_, b.memref.id_)
                for b, a in zip(found, placement.addresses, strict=True)
            }
    return None


def placed(found: Sequence[Buffer], memory: Memory, *, exact: bool) -> Placement:
    """Return where the buffers of one memory may lie; see `storage.plan`."""
    items = [Item(aligned(b.memref.size_, memory), b.range) for b in found]
    return plan(items, exact=exact)
