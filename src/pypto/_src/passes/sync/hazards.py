"""The earlier instructions with which an instruction conflicts: the accesses so far.

Knows accesses and blocks, but not what is already ordered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias

from pypto._src.analysis.accesses import Accesses, Chunk, Instruction, TensorAccess
from pypto._src.analysis.affine import Box, encloses, may_overlap
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, owner_of
from pypto._src.ir.exprs import Var
from pypto._src.records import NamedTuple


def meeting(first: ProgramPoint, second: ProgramPoint) -> tuple[ProgramPoint, ProgramPoint] | None:
    """Return the statements of one block that hold two points; None if these are in two arms."""
    a, b = first, second
    if a.home is b.home:
        return a, b
    depth, other = a.block.depth, b.block.depth
    for _ in range(depth - other):
        a = owner_of(a.block)
    for _ in range(other - depth):
        b = owner_of(b.block)
    while a.home is not b.home:
        a, b = owner_of(a.block), owner_of(b.block)
        if a is b:
            return None
    return a, b


def lifted(point: ProgramPoint, block: Block) -> ProgramPoint:
    """Return the statement of ``block`` that holds ``point``."""
    while point.block is not block:
        point = owner_of(point.block)
    return point


class Need(Protocol):
    """What a pipe must have completed: its instruction ``number``, at ``point``."""

    @property
    def point(self) -> ProgramPoint: ...

    @property
    def queue(self) -> int: ...

    @property
    def number(self) -> int: ...


class Taken(NamedTuple):
    """A summary of accesses of one pipe: the newest number, and the statement around them."""

    point: ProgramPoint
    queue: int
    number: int


_Older: TypeAlias = "tuple[Instruction, _Older] | None"
"""An access and those before it."""


class ByPipe(dict[int, Instruction]):
    """The newest access of each pipe.

    ``older`` has the accesses of the same pipe before it, for instructions in another arm than
    the newer ones.
    """

    __slots__ = ("older",)

    def __init__(self) -> None:
        super().__init__()
        self.older: dict[int, _Older] = {}

    def add(self, instruction: Instruction) -> None:
        """Record the newest access of its pipe.

        A wait for it also covers earlier ones that it always follows.
        """
        pipe, block = instruction.queue, instruction.block
        if pipe in self:
            older: _Older = self[pipe], self.older.get(pipe)
            while older is not None and encloses(block, older[0].block):
                older = older[1]
            self.older[pipe] = older
        self[pipe] = instruction

    def reached(self, pipe: int, point: ProgramPoint) -> Instruction | None:
        """Return the newest access of a pipe that is not in another arm than ``point``."""
        found: _Older = self[pipe], self.older.get(pipe)
        while found is not None and meeting(found[0].point, point) is None:
            found = found[1]
        return None if found is None else found[0]


class _Chunks(dict[Chunk, tuple[ByPipe, ByPipe]]):
    """The reads and the writes of each chunk of on-chip memory."""

    def __missing__(self, chunk: Chunk) -> tuple[ByPipe, ByPipe]:
        found = self[chunk] = ByPipe(), ByPipe()
        return found


PartEntry: TypeAlias = "tuple[Need, Box | None, bool]"
"""An access to part of a tensor for which later ones must wait; True if it writes."""


class _Parts:
    """The accesses to parts of one tensor, with rising numbers for each pipe."""

    def __init__(self) -> None:
        self.listed: list[PartEntry] = []
        self.newest: dict[int, int] = {}  # the number of the last one of each pipe
        self.newest_write: dict[int, int] = {}


_LISTED: Final = 64
"""How many accesses to one tensor are kept separately before the older ones are merged."""


class History:
    """The accesses so far that a later one can conflict with.

    Instructions are numbered from 1 on each pipe. Of the accesses to a chunk only the newest of
    each pipe matters: if one is known to be complete, so are all before it.
    """

    def __init__(self, accesses: Accesses) -> None:
        self.integers = accesses.integers
        self.written_tensors = accesses.written  # no conflict without a write
        self.chunks = _Chunks()
        self.tensors: dict[Var, _Parts] = {}

    def record(self, instruction: Instruction) -> None:
        """Record what ``instruction``, the last one of its pipe so far, touches."""
        chunks = self.chunks
        for chunk in instruction.reads:
            chunks[chunk][0].add(instruction)
        for chunk in instruction.writes:
            chunks[chunk][1].add(instruction)
        if instruction.tensors:
            self._record_parts(instruction)

    def _record_parts(self, instruction: Instruction) -> None:
        pipe, number = instruction.queue, instruction.number
        for root, box, writes in instruction.tensors:
            if root not in self.written_tensors:
                continue
            parts = self.tensors.get(root)
            if parts is None:
                parts = self.tensors[root] = _Parts()
            parts.listed.append((instruction, box, writes))
            parts.newest[pipe] = number
            if writes:
                parts.newest_write[pipe] = number
            if len(parts.listed) > _LISTED:
                parts.listed = _condensed(parts.listed, instruction.point)

    def latest(self, instruction: Instruction, known: Sequence[int]) -> dict[int, Need]:
        """Return by pipe the last conflict that comes before in the same iteration of all loops.

        ``known`` has, for each pipe, the number of its last instruction that is known to be
        complete by then: conflicts up to that number are left out.
        """
        point, block = instruction.point, instruction.block
        ordered = instruction.queue if instruction.in_order else None
        found: dict[int, Need] = {}
        for by_pipe in self.on_chip(instruction):
            for pipe, newest in by_pipe.items():
                if newest.number <= known[pipe] or pipe == ordered:
                    continue
                need = newest if newest.block is block else by_pipe.reached(pipe, point)
                if need is not None:
                    old = found.get(pipe)
                    if need.number > (known[pipe] if old is None else old.number):
                        found[pipe] = need
        if instruction.tensors:
            self._add_parts(instruction, known, found, None)
        return found

    def latest_of_iterations(
        self, instruction: Instruction, known: Sequence[int], body: Block, *, tensors: bool
    ) -> dict[int, Need]:
        """Return by pipe the last conflict in earlier iterations of the loop with ``body``."""
        ordered = instruction.queue if instruction.in_order else None
        found: dict[int, Need] = {}
        for by_pipe in self.on_chip(instruction):
            for pipe, newest in by_pipe.items():
                old = found.get(pipe)
                least = known[pipe] if old is None else old.number
                if newest.number > least and pipe != ordered:
                    found[pipe] = newest
        if tensors and instruction.tensors:
            self._add_parts(instruction, known, found, body)
        return found

    def on_chip(self, instruction: Instruction) -> list[ByPipe]:
        """Return the accesses to on-chip memory that conflict with those of an instruction."""
        chunks = self.chunks
        found = [chunks[chunk][1] for chunk in instruction.reads]
        for chunk in instruction.writes:
            found += chunks[chunk]
        return found

    def _add_parts(
        self,
        instruction: Instruction,
        known: Sequence[int],
        found: dict[int, Need],
        body: Block | None,
    ) -> None:
        """Add the last conflicts of tensor accesses, in earlier iterations if ``body`` is given."""
        ordered = instruction.queue if instruction.in_order else None
        for access in instruction.tensors:
            parts = self.tensors.get(access.root)
            if parts is None:
                continue
            newest = parts.newest if access.writes else parts.newest_write
            left: list[int] = []
            for pipe, number in newest.items():
                if number > known[pipe] and pipe != ordered:
                    left.append(pipe)
            if left:
                self._add_entries(parts.listed, left, access, instruction.point, known, found, body)

    def _add_entries(
        self,
        listed: Sequence[PartEntry],
        left: list[int],
        access: TensorAccess,
        point: ProgramPoint,
        known: Sequence[int],
        found: dict[int, Need],
        body: Block | None,
    ) -> None:
        """Add the last conflicts of an access at ``point`` with entries of the pipes ``left``."""
        _, box, writes = access
        for done, other, wrote in reversed(listed):
            pipe = done.queue
            if pipe not in left or not (writes or wrote):
                continue
            old = found.get(pipe)
            if done.number > (known[pipe] if old is None else old.number):
                if not self.may_conflict(done.point, other, point, box, body):
                    continue
                found[pipe] = done
            left.remove(pipe)  # its others come before
            if not left:
                return

    def may_conflict(
        self,
        done: ProgramPoint,
        other: Box | None,
        point: ProgramPoint,
        box: Box | None,
        body: Block | None,
    ) -> bool:
        """True unless an access at ``point`` touches other elements, or is in another arm.

        It is in a later iteration of the loop with ``body``, or without that in the same iteration.
        """
        block = body
        if block is None:
            met = meeting(done, point)
            if met is None:
                return False
            block = met[0].block
        return may_overlap(other, box, block, self.integers, later_iteration=body is not None)


class StraightHistory(History):
    """The accesses of straight-line code.

    If a write to a chunk is complete, so are all accesses before it, for which the write has
    waited. So only the write and the accesses since then matter.
    """

    def __init__(self, accesses: Accesses) -> None:
        super().__init__(accesses)
        self.written: dict[Chunk, Instruction] = {}
        # The write, and reads since.
        self.touched: dict[Chunk, list[Instruction]] = defaultdict(list)

    def record(self, instruction: Instruction) -> None:
        touched = self.touched
        for chunk in instruction.reads:
            touched[chunk].append(instruction)
        for chunk in instruction.writes:
            touched[chunk] = [instruction]
            self.written[chunk] = instruction
        if instruction.tensors:
            self._record_parts(instruction)

    def latest(self, instruction: Instruction, known: Sequence[int]) -> dict[int, Need]:
        written, touched = self.written, self.touched
        earlier: list[Instruction] = []
        for chunk in instruction.reads:
            if chunk in written:
                earlier.append(written[chunk])
        for chunk in instruction.writes:
            if chunk in touched:
                earlier += touched[chunk]
        found: dict[int, Need] = {}
        for done in earlier:
            pipe, number = done.queue, done.number
            if number > known[pipe] and (pipe not in found or number > found[pipe].number):
                found[pipe] = done
        if instruction.in_order:
            found.pop(instruction.queue, None)
        if instruction.tensors:
            self._add_parts(instruction, known, found, None)
        return found


def _condensed(listed: list[PartEntry], now: ProgramPoint) -> list[PartEntry]:
    """Return the list with the older half merged, one entry for each pipe and open block.

    An access inside a statement that has ended by ``now`` counts as that whole statement, so that
    no entry stands for an access that a branch excludes.
    """
    half = len(listed) // 2
    old: dict[tuple[int, bool, Block], PartEntry] = {}
    for done, _, writes in listed[:half]:
        point = done.point
        while not encloses(point.block, now.block):
            point = owner_of(point.block)
        old[done.queue, writes, point.block] = Taken(point, done.queue, done.number), None, writes
    return [*sorted(old.values(), key=lambda entry: entry[0].number), *listed[half:]]
