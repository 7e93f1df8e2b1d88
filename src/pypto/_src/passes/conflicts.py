"""Which earlier instructions an instruction conflicts with: the accesses of a function so far.

Knows accesses and blocks, and nothing of what is already ordered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

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


class _Entry(NamedTuple):
    """An access to on-chip memory that later ones have to wait for."""

    number: int  # of the instruction on its pipe
    site: Site


class _TensorEntry(NamedTuple):
    """An access to part of a tensor that later ones have to wait for."""

    number: int
    pipe: int
    site: Site
    box: Box | None
    writes: bool


class Need(NamedTuple):
    """A pipe must have completed its instruction ``number`` (at ``site``)."""

    pipe: int
    number: int
    site: Site


_LISTED: Final = 64
"""How many accesses to one tensor are told apart before the older ones are taken together."""


class History:
    """The accesses so far that a later one can conflict with.

    Instructions are numbered from 1 on each pipe. Of the accesses to a chunk only the newest of
    each pipe matters, since a pipe that knows one to be complete knows all before it to be.
    """

    def __init__(self, accesses: Accesses) -> None:
        self.integers = accesses.integers
        self.read: dict[Chunk, dict[int, list[_Entry]]] = {}  # by pipe
        self.written: dict[Chunk, dict[int, list[_Entry]]] = {}
        self.tensors: dict[Var, list[_TensorEntry]] = {}

    def record(self, instruction: Instruction, number: int) -> None:
        """Take note of what ``instruction``, the ``number``-th of its pipe, touches."""
        site, pipe = instruction.site, int(instruction.pipe)
        entry, block = _Entry(number, site), site.block
        for touched, known in ((instruction.reads, self.read), (instruction.writes, self.written)):
            for chunk in touched:
                by_pipe = known.get(chunk)
                if by_pipe is None:
                    by_pipe = known[chunk] = {}
                entries = by_pipe.get(pipe)
                if entries is None:
                    by_pipe[pipe] = [entry]
                    continue
                # Who waits for this access also waits for earlier ones that it always follows.
                if len(entries) == 1 and entries[0].site.block is block:
                    entries[0] = entry
                    continue
                while entries and encloses(block, entries[-1].site.block):
                    entries.pop()
                entries.append(entry)
        for access in instruction.tensors:
            listed = self.tensors.setdefault(access.root, [])
            listed.append(_TensorEntry(number, pipe, site, access.box, access.writes))
            if len(listed) > _LISTED:
                self.tensors[access.root] = _condensed(listed, site)

    def earlier(self, instruction: Instruction, known: Sequence[int]) -> list[Need]:
        """Return the conflicts with instructions that come before in the same turn of all loops.

        ``known`` has, for each pipe, the number of its last instruction that is complete by then:
        conflicts with these are left out.
        """
        site, block = instruction.site, instruction.site.block
        found: list[Need] = []
        for by_pipe in self._on_chip(instruction):
            for pipe, entries in by_pipe.items():
                newest = entries[-1]
                if newest.number <= known[pipe]:
                    continue
                if instruction.in_order and _keeps_order(instruction, pipe):
                    continue
                if newest.site.block is block:
                    found.append(Need(pipe, newest.number, newest.site))
                else:
                    found += _newest(entries, site, pipe)
        for access in instruction.tensors:
            found += self._parts(instruction, access, known)
        return found

    def _on_chip(self, instruction: Instruction) -> list[dict[int, list[_Entry]]]:
        """Return the accesses to on-chip memory that conflict with those of an instruction."""
        read, written = self.read, self.written
        found = [written[c] for c in instruction.reads if c in written]
        for chunk in instruction.writes:
            if chunk in written:
                found.append(written[chunk])
            if chunk in read:
                found.append(read[chunk])
        return found

    def _parts(
        self, instruction: Instruction, access: TensorAccess, known: Sequence[int]
    ) -> Iterator[Need]:
        """Yield the conflicts of one access to a tensor, as `earlier`."""
        site = instruction.site
        ordered = int(instruction.pipe) if instruction.in_order else None
        for entry in self.tensors.get(access.root, ()):
            if entry.number <= known[entry.pipe] or not (access.writes or entry.writes):
                continue
            met = None if entry.pipe == ordered else meeting(entry.site, site)
            if met is not None and may_overlap(
                entry.box, access.box, met[0].block, self.integers, later_turn=False
            ):
                yield Need(entry.pipe, entry.number, entry.site)

    def earlier_turn(
        self, instruction: Instruction, body: Block, before: Sequence[int], *, tensors: bool
    ) -> Iterator[Need]:
        """Yield the conflicts with earlier turns of the loop that has ``body``.

        ``before`` has the numbers of the last instructions before the loop.
        """
        for by_pipe in self._on_chip(instruction):
            for pipe, entries in by_pipe.items():
                newest = entries[-1]
                if newest.number > before[pipe] and not _keeps_order(instruction, pipe):
                    yield Need(pipe, newest.number, newest.site)
        for access in instruction.tensors if tensors else ():
            for entry in self.tensors.get(access.root, ()):
                if entry.number <= before[entry.pipe] or not (access.writes or entry.writes):
                    continue
                if not _keeps_order(instruction, entry.pipe) and may_overlap(
                    entry.box, access.box, body, self.integers, later_turn=True
                ):
                    yield Need(entry.pipe, entry.number, entry.site)


def _newest(entries: Sequence[_Entry], site: Site, pipe: int) -> Iterator[Need]:
    """Yield the newest of the accesses that does not stand in another arm of a branch."""
    for entry in reversed(entries):
        if meeting(entry.site, site) is not None:
            yield Need(pipe, entry.number, entry.site)
            return


def _keeps_order(instruction: Instruction, pipe: int) -> bool:
    """True if the hardware orders ``instruction`` after all earlier ones of ``pipe``."""
    return instruction.in_order and instruction.pipe == pipe


def _condensed(listed: list[_TensorEntry], now: Site) -> list[_TensorEntry]:
    """Return the list with the older half taken together, one for each pipe and open block.

    What stands in a statement that is finished ``now`` counts as the whole of that statement, so
    that no entry stands for one which a branch excludes.
    """
    half = len(listed) // 2
    old: dict[tuple[int, bool, Block], _TensorEntry] = {}
    for entry in listed[:half]:
        site = entry.site
        while not encloses(site.block, now.block):
            site = owner_of(site.block)
        old[entry.pipe, entry.writes, site.block] = entry._replace(box=None, site=site)
    return [*old.values(), *listed[half:]]
