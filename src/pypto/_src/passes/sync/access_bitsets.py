"""Numbers for the instructions of a function, and which of them touch the same bytes.

Gives every instruction the bits that `checker_state` describes, and for each access the set of bits
with which it conflicts. Of loops it knows only how they nest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import accumulate, count
from typing import TypeAlias
from weakref import ref

from pypto._src.analysis.accesses import Accesses, Chunk, Instruction, TensorAccess
from pypto._src.analysis.affine import Box
from pypto._src.analysis.stmt_tree import Block, ProgramPoint
from pypto._src.ir.exprs import Var
from pypto._src.passes.sync.checker_state import PIPES, Bits
from pypto._src.records import NamedTuple

Interval: TypeAlias = "tuple[int, int]"


def loops_around(point: ProgramPoint) -> tuple[ProgramPoint, ...]:
    """Return the loops that hold a statement, the outermost first."""
    found: list[ProgramPoint] = []
    owner = point.block.owner
    while owner is not None:
        if owner.is_loop:
            found.append(owner)
        owner = owner.block.owner
    return tuple(reversed(found))


class Bit(NamedTuple):
    """What one bit means: an instruction, and the loop in whose earlier iterations it ran."""

    instruction: Instruction
    plane: int
    loops: tuple[ProgramPoint, ...]


class _Iteration(NamedTuple):
    """The bits of the instructions in a loop."""

    present: Bits  # about the current iterations of all loops, one for each instruction
    inner: Bits  # about its own current iteration, and the iterations of loops inside it
    others: Bits  # all but those about its earlier iterations


class Numbering:
    """The bits of each instruction: a plane for each loop around it, one for this iteration.

    The bits of one instruction are adjacent, those of outer loops higher; instructions in more
    loops come first.
    """

    def __init__(self, accesses: Accesses, flags: int) -> None:
        at: dict[ref[Block], tuple[ProgramPoint, ...]] = {}
        for point in accesses.at:
            if point.home not in at:
                at[point.home] = loops_around(point)
        loops = {point: at[point.home] for point in accesses.at}
        ordered = sorted(accesses.at, key=lambda point: -len(loops[point]))
        self.instructions: list[Instruction] = [accesses.at[point] for point in ordered]
        self.loops = [loops[point] for point in ordered]
        self.index = {point: i for i, point in enumerate(ordered)}
        self.depths = [len(each) for each in self.loops]
        self.bases: list[int] = [0, *accumulate([depth + 1 for depth in self.depths])]
        self.instruction_bits: int = self.bases.pop()
        self.all: Bits = (1 << (self.instruction_bits + flags)) - 1
        self.of_pipe: list[Bits] = [0] * PIPES  # that a set or barrier of the pipe waits for
        pipes: list[list[int]] = [[] for _ in range(PIPES)]
        for i, instruction in enumerate(self.instructions):
            pipes[instruction.pipe] += self.positions(i)
        self.of_pipe = [_bits(positions) for positions in pipes]
        self.iterations: dict[ProgramPoint, _Iteration] = self._iterations()

    def _iterations(self) -> dict[ProgramPoint, _Iteration]:
        """Return the bits of the instructions in each loop."""
        inside: dict[ProgramPoint, tuple[list[int], list[int]]] = {}
        for base, around in zip(self.bases, self.loops, strict=True):
            for earlier, loop in zip(count(base + len(around), -1), around, strict=False):
                if loop not in inside:
                    inside[loop] = [], []
                inside[loop][0].append(base)
                inside[loop][1].append(earlier)
        found: dict[ProgramPoint, _Iteration] = {}
        for loop, (bases, highest) in inside.items():
            present, earlier = _bits(bases), _bits(highest)
            found[loop] = _Iteration(present, earlier - present, ~earlier)
        return found

    def with_flags(self, flags: int) -> Numbering:
        """Return the same numbering with ``flags`` flag bits after those of the instructions."""
        new = copy(self)
        new.all = (1 << (self.instruction_bits + flags)) - 1
        return new

    def positions(self, index: int) -> Sequence[int]:
        """Return the positions of all bits of an instruction."""
        base = self.bases[index]
        return range(base, base + self.depths[index] + 1)

    def every(self, point: ProgramPoint) -> Bits:
        """Return all bits of an instruction."""
        return _bits(self.positions(self.index[point]))

    def now(self, point: ProgramPoint) -> int:
        """Return the position of the bit about the current iteration of all loops."""
        return self.bases[self.index[point]]

    def flag(self, number: int) -> Bits:
        """Return the bit about the last wait of flag ``number``."""
        return 1 << (self.instruction_bits + number)

    def meanings(self, bits: Bits) -> list[tuple[int, Bit]]:
        """Return the positions of a set of instructions' bits, and their meanings.

        Executions in earlier iterations of outer loops come first.
        """
        found: list[tuple[int, Bit]] = []
        for position in positions(bits):
            index = bisect_right(self.bases, position) - 1
            plane = self.depths[index] - (position - self.bases[index])
            found.append((position, Bit(self.instructions[index], plane, self.loops[index])))
        return sorted(found, key=_plane)

    def next_iteration(self, loop: ProgramPoint, bits: Bits) -> Bits:
        """Return ``bits`` at the beginning of the next iteration of a loop.

        Nothing has run in that iteration yet, so its bits are set. The bit about earlier iterations
        is set if it was set before, and so were all bits of the last iteration: adding one to the
        lowest bit of an instruction carries into it exactly then.
        """
        iteration = self.iterations.get(loop)
        if iteration is None:
            return bits
        present, inner, others = iteration
        return (bits | inner) & (others | (bits & inner) + present)


def _plane(found: tuple[int, Bit]) -> int:
    return found[1].plane


def _bits(positions: Sequence[int]) -> Bits:
    """Return the set of some positions, in time linear in the largest."""
    if not positions:
        return 0
    raw = bytearray(max(positions) // 8 + 1)
    for position in positions:
        raw[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(raw, "little")


def positions(bits: Bits) -> Iterator[int]:
    """Yield the positions of a set, the lowest first."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


class Conflict(NamedTuple):
    """The conflicts of one access of an instruction."""

    candidates: Bits
    writes: bool
    written: Bits  # the candidates that write
    access: TensorAccess | None  # of a tensor, None for on-chip memory
    moves: bool  # boxes must be compared in the current iterations


class Conflicting(NamedTuple):
    """The conflicts of an instruction."""

    candidates: Bits  # on on-chip memory
    on_chip: Sequence[Conflict]
    parts: Sequence[Conflict] = ()  # of tensors


class Conflicts:
    """For each instruction, the sets of bits with which it conflicts."""

    def __init__(self, accesses: Accesses, numbering: Numbering) -> None:
        self.numbering = numbering
        self.reads: dict[Chunk, Bits] = {}
        self.writes: dict[Chunk, Bits] = {}
        self.tensors: dict[Var, _Tensor] = {}
        self.of_chunk: dict[tuple[Chunk, bool], Conflict] = {}
        self.known: dict[Instruction, Conflicting] = {}
        self.alike: dict[object, Conflicting] = {}  # by the on-chip chunks touched
        reads: dict[Chunk, list[int]] = {}
        writes: dict[Chunk, list[int]] = {}
        for index, instruction in enumerate(numbering.instructions):
            positions = numbering.positions(index)
            for chunk in instruction.reads:
                reads.setdefault(chunk, []).extend(positions)
            for chunk in instruction.writes:
                writes.setdefault(chunk, []).extend(positions)
            for access in instruction.tensors:
                if access.root not in accesses.written:
                    continue  # never written, hence no conflict
                tensor = self.tensors.get(access.root)
                if tensor is None:
                    tensor = self.tensors[access.root] = _Tensor()
                tensor.add(access, positions)
        self.reads = {chunk: _bits(found) for chunk, found in reads.items()}
        self.writes = {chunk: _bits(found) for chunk, found in writes.items()}
        for tensor in self.tensors.values():
            tensor.close()

    def of(self, instruction: Instruction) -> Conflicting:
        """Return the conflicts of an instruction's accesses."""
        known = self.known.get(instruction)
        if known is None:
            known = self.known[instruction] = self._of(instruction)
        return known

    def _of(self, instruction: Instruction) -> Conflicting:
        """Return the conflicts; instructions that touch the same share one object."""
        touched = instruction.reads, instruction.writes
        alike = self.alike.get(touched)
        if alike is None:
            each = [self._of_chunk(chunk, writes=False) for chunk in instruction.reads]
            each += [self._of_chunk(chunk, writes=True) for chunk in instruction.writes]
            candidates = 0
            for conflict in each:
                candidates |= conflict.candidates
            alike = self.alike[touched] = Conflicting(candidates, each)
        if not instruction.tensors:
            return alike
        tensors = self.tensors
        known = [a for a in instruction.tensors if a.root in tensors]
        found = [c for a in known for c in tensors[a.root].conflicts(a)]
        return Conflicting(alike.candidates, alike.on_chip, found)

    def _of_chunk(self, chunk: Chunk, *, writes: bool) -> Conflict:
        found = self.of_chunk.get((chunk, writes))
        if found is None:
            written = self.writes.get(chunk, 0)
            candidates = written | self.reads.get(chunk, 0) if writes else written
            found = Conflict(candidates, writes, written, None, False)
            self.of_chunk[chunk, writes] = found
        return found


_FixedBox: TypeAlias = "tuple[Interval, ...]"


class _Tensor:
    """The accesses to one tensor: at constant boxes, and at boxes that move with a loop."""

    def __init__(self) -> None:
        self.fixed: dict[_FixedBox, tuple[list[int], list[int]]] = {}  # reads, writes
        self.sets: dict[_FixedBox, tuple[Bits, Bits]] = {}
        self.known: dict[_FixedBox, tuple[Bits, Bits]] = {}
        self.moving: tuple[list[int], list[int]] = ([], [])
        self.moving_sets: tuple[Bits, Bits] = (0, 0)
        self.dim: int = 0
        self.order: list[tuple[int, _FixedBox]] = []  # by offset in dimension ``dim``
        self.longest: int = 0

    def add(self, access: TensorAccess, positions: Sequence[int]) -> None:
        """Record an access."""
        box = _fixed(access.box)
        lists = self.moving if box is None else self.fixed.setdefault(box, ([], []))
        lists[access.writes].extend(positions)

    def close(self) -> None:
        """Prepare for queries: sort constant boxes along the dimension that separates them best."""
        self.sets = {box: (_bits(r), _bits(w)) for box, (r, w) in self.fixed.items()}
        self.moving_sets = (_bits(self.moving[0]), _bits(self.moving[1]))
        ranks = {len(box) for box in self.sets}
        if len(ranks) != 1 or 0 in ranks:
            self.order = [(0, box) for box in self.sets]
            self.longest = 1
            return
        dims = range(ranks.pop())
        self.dim = max(dims, key=lambda d: len({box[d][0] for box in self.sets}))
        self.order = sorted((box[self.dim][0], box) for box in self.sets)
        self.longest = max(box[self.dim][1] - box[self.dim][0] for box in self.sets)

    def conflicts(self, access: TensorAccess) -> Iterator[Conflict]:
        """Yield the conflicts of an access."""
        reads, writes = self.moving_sets
        box = _fixed(access.box)
        if box is None:
            for r, w in self.sets.values():
                reads, writes = reads | r, writes | w
        else:
            fixed = self.known.get(box)
            if fixed is None:
                fixed = self.known[box] = self._meeting(box)
            yield _conflict(fixed, access, moves=False)
        if reads | writes:
            yield _conflict((reads, writes), access, moves=True)

    def _meeting(self, box: _FixedBox) -> tuple[Bits, Bits]:
        """Return the readers and the writers of the constant boxes that overlap ``box``."""
        reads = writes = 0
        low, high = 0, len(self.order)
        if self.order[0][0] != self.order[-1][0]:
            low = bisect_left(self.order, (box[self.dim][0] - self.longest, ()))
            high = bisect_left(self.order, (box[self.dim][1], ()))
        for _, other in self.order[low:high]:
            if len(other) != len(box) or _meet(box, other):
                reads, writes = reads | self.sets[other][0], writes | self.sets[other][1]
        return reads, writes


def _conflict(sets: tuple[Bits, Bits], access: TensorAccess, *, moves: bool) -> Conflict:
    reads, written = sets
    candidates = reads | written if access.writes else written
    return Conflict(candidates, access.writes, written, access, moves)


def _fixed(box: Box | None) -> _FixedBox | None:
    """Return a box as constants, None if it is not constant."""
    if box is None or any(offset.terms for offset in box.offsets) or None in box.sizes:
        return None
    pairs = zip(box.offsets, box.sizes, strict=True)
    return tuple((o.constant, o.constant + size) for o, size in pairs if size is not None)


def _meet(first: _FixedBox, second: _FixedBox) -> bool:
    return all(a < d and c < b for (a, b), (c, d) in zip(first, second, strict=True))
