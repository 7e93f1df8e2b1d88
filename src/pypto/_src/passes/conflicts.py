"""Which earlier instructions an instruction conflicts with: the accesses of a function so far.

Knows accesses and blocks, and nothing of what is already ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from pypto._src.ir.nodes import Var
from pypto._src.passes.boxes import Box, encloses, may_overlap
from pypto._src.passes.buffers import Accesses, Chunk, Instruction, TensorAccess
from pypto._src.passes.regions import Block, Site, owner_of


def meeting(first: Site, second: Site) -> tuple[Site, Site] | None:
    """Return the statements of one block that hold two sites; None for two arms of a branch."""
    a, b = first, second
    if a.block is b.block:
        return a, b
    while a.block.depth > b.block.depth:
        a = owner_of(a.block)
    while b.block.depth > a.block.depth:
        b = owner_of(b.block)
    while a.block is not b.block:
        a, b = owner_of(a.block), owner_of(b.block)
        if a is b:
            return None
    return a, b


def lifted(site: Site, block: Block) -> Site:
    """Return the statement of ``block`` that holds ``site``."""
    while site.block is not block:
        site = owner_of(site.block)
    return site


class Need(NamedTuple):
    """A pipe must have completed its instruction ``number`` (at ``site``).

    What is recorded of accesses to on-chip memory has this form, too: ``older`` is one before, of
    the same pipe, which is the last one for instructions that a branch keeps this one from.
    """

    pipe: int
    number: int
    site: Site
    older: Need | None = None


ByPipe: TypeAlias = dict[int, Need]


class _Chunks(dict[Chunk, tuple[ByPipe, ByPipe]]):
    """The reads and the writes of each piece of on-chip memory."""

    def __missing__(self, chunk: Chunk) -> tuple[ByPipe, ByPipe]:
        found = self[chunk] = {}, {}
        return found


class PartEntry(NamedTuple):
    """An access to part of a tensor that later ones have to wait for."""

    number: int
    pipe: int
    site: Site
    box: Box | None
    writes: bool


class _Parts:
    """The accesses to parts of one tensor; the numbers of those of one pipe rise."""

    def __init__(self) -> None:
        self.listed: list[PartEntry] = []
        self.newest: dict[int, int] = {}  # the number of the last one of each pipe
        self.newest_write: dict[int, int] = {}


_LISTED: Final = 64
"""How many accesses to one tensor are told apart before the older ones are taken together."""


class History:
    """The accesses so far that a later one can conflict with.

    Instructions are numbered from 1 on each pipe. Of the accesses to a chunk only the newest of
    each pipe matters, since a pipe that knows one to be complete knows all before it to be.
    """

    def __init__(self, accesses: Accesses) -> None:
        self.integers = accesses.integers
        self.is_flat = accesses.is_flat
        self.chunks = _Chunks()
        self.tensors: dict[Var, _Parts] = {}

    def record(self, instruction: Instruction, number: int) -> None:
        """Take note of what ``instruction``, the ``number``-th of its pipe, touches."""
        site, pipe, chunks = instruction.site, instruction.queue, self.chunks
        entry, flat = Need(pipe, number, site), self.is_flat
        for chunk in instruction.reads:
            by_pipe = chunks[chunk][0]
            old = None if flat else by_pipe.get(pipe)
            by_pipe[pipe] = entry if old is None else _after(entry, old)
        for chunk in instruction.writes:
            by_pipe = chunks[chunk][1]
            old = None if flat else by_pipe.get(pipe)
            by_pipe[pipe] = entry if old is None else _after(entry, old)
        if instruction.tensors:
            self._record_parts(instruction, number)

    def _record_parts(self, instruction: Instruction, number: int) -> None:
        site, pipe = instruction.site, instruction.queue
        for access in instruction.tensors:
            parts = self.tensors.get(access.root)
            if parts is None:
                parts = self.tensors[access.root] = _Parts()
            parts.listed.append(PartEntry(number, pipe, site, access.box, access.writes))
            parts.newest[pipe] = number
            if access.writes:
                parts.newest_write[pipe] = number
            if len(parts.listed) > _LISTED:
                parts.listed = _condensed(parts.listed, site)

    def latest(self, instruction: Instruction, known: Sequence[int]) -> dict[int, Need]:
        """Return by pipe the last conflict that comes before in the same turn of all loops.

        ``known`` has, for each pipe, the number of its last instruction that is complete by then:
        conflicts with these are left out.
        """
        site, block = instruction.site, instruction.site.block
        ordered = instruction.queue if instruction.in_order else None
        found: dict[int, Need] = {}
        for by_pipe in self.on_chip(instruction):
            for pipe, newest in by_pipe.items():
                if newest.number <= known[pipe] or pipe == ordered:
                    continue
                need = newest if newest.site.block is block else reached(newest, site)
                if need is not None:
                    old = found.get(pipe)
                    if need.number > (known[pipe] if old is None else old.number):
                        found[pipe] = need
        for access in instruction.tensors:
            self._add_parts(instruction, access, known, found, None)
        return found

    def latest_of_turns(
        self, instruction: Instruction, known: Sequence[int], body: Block, *, tensors: bool
    ) -> dict[int, Need]:
        """Return by pipe the last conflict in earlier turns of the loop that has ``body``."""
        ordered = instruction.queue if instruction.in_order else None
        found: dict[int, Need] = {}
        for by_pipe in self.on_chip(instruction):
            for pipe, newest in by_pipe.items():
                old = found.get(pipe)
                least = known[pipe] if old is None else old.number
                if newest.number > least and pipe != ordered:
                    found[pipe] = newest
        for access in instruction.tensors if tensors else ():
            self._add_parts(instruction, access, known, found, body)
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
        access: TensorAccess,
        known: Sequence[int],
        found: dict[int, Need],
        body: Block | None,
    ) -> None:
        """Add the last conflicts of one access to a tensor, in earlier turns if there is a body."""
        parts = self.tensors.get(access.root)
        if parts is None:
            return
        ordered = instruction.queue if instruction.in_order else None
        newest = parts.newest if access.writes else parts.newest_write
        left = [p for p, number in newest.items() if number > known[p] and p != ordered]
        if not left:
            return
        for entry in reversed(parts.listed):
            pipe = entry.pipe
            if pipe not in left or not (access.writes or entry.writes):
                continue
            old = found.get(pipe)
            if entry.number > (known[pipe] if old is None else old.number):
                if not self.may_conflict(entry, access, instruction.site, body):
                    continue
                found[pipe] = Need(pipe, entry.number, entry.site)
            left.remove(pipe)  # its others come before
            if not left:
                return

    def may_conflict(
        self, entry: PartEntry, access: TensorAccess, site: Site, body: Block | None
    ) -> bool:
        """True unless an access at ``site`` touches other elements, or stands in another arm.

        It is taken in a later turn of the loop that has ``body``, or in the same turn.
        """
        block = body
        if block is None:
            met = meeting(entry.site, site)
            if met is None:
                return False
            block = met[0].block
        later = body is not None
        return may_overlap(entry.box, access.box, block, self.integers, later_turn=later)


def _after(entry: Need, old: Need) -> Need:
    """Return an access as the newest one behind others of its pipe.

    Who waits for it also waits for earlier ones that it always follows.
    """
    block, older = entry.site.block, old
    while encloses(block, older.site.block):
        if older.older is None:
            return entry
        older = older.older
    return Need(entry.pipe, entry.number, entry.site, older)


def reached(need: Need, site: Site) -> Need | None:
    """Return the newest of an access and older ones that does not stand in another arm."""
    found: Need | None = need
    while found is not None and meeting(found.site, site) is None:
        found = found.older
    return found


def _condensed(listed: list[PartEntry], now: Site) -> list[PartEntry]:
    """Return the list with the older half taken together, one for each pipe and open block.

    What stands in a statement that is finished ``now`` counts as the whole of that statement, so
    that no entry stands for one which a branch excludes.
    """
    half = len(listed) // 2
    old: dict[tuple[int, bool, Block], PartEntry] = {}
    for entry in listed[:half]:
        site = entry.site
        while not encloses(site.block, now.block):
            site = owner_of(site.block)
        old[entry.pipe, entry.writes, site.block] = entry._replace(box=None, site=site)
    return [*sorted(old.values(), key=itemgetter(0)), *listed[half:]]
