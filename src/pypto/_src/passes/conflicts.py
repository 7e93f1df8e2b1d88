"""Which earlier instructions an instruction conflicts with: the accesses of a function so far.

Knows accesses and blocks, and nothing of what is already ordered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pypto._src.ir.nodes import Var
from pypto._src.passes.boxes import Box, encloses, may_overlap
from pypto._src.passes.buffers import Accesses, Chunk, Instruction
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
        self.tiles: dict[Chunk, dict[tuple[int, bool], list[_Entry]]] = {}
        self.tensors: dict[Var, list[_TensorEntry]] = {}

    def record(self, instruction: Instruction, number: int) -> None:
        """Take note of what ``instruction``, the ``number``-th of its pipe, touches."""
        site, pipe = instruction.site, int(instruction.pipe)
        for touched, writes in ((instruction.reads, False), (instruction.writes, True)):
            for chunk in touched:
                entries = self.tiles.setdefault(chunk, {}).setdefault((pipe, writes), [])
                # Who waits for this access also waits for earlier ones that it always follows.
                while entries and encloses(site.block, entries[-1].site.block):
                    entries.pop()
                entries.append(_Entry(number, site))
        for access in instruction.tensors:
            listed = self.tensors.setdefault(access.root, [])
            listed.append(_TensorEntry(number, pipe, site, access.box, access.writes))
            if len(listed) > _LISTED:
                self.tensors[access.root] = _condensed(listed, site)

    def earlier(self, instruction: Instruction, known: Sequence[int]) -> Iterator[Need]:
        """Yield the conflicts with instructions that come before in the same turn of all loops.

        ``known`` has, for each pipe, the number of its last instruction that is complete by then:
        conflicts with parts of tensors that earlier ones touch are left out.
        """
        site = instruction.site
        for chunk, writes in _touched(instruction):
            for (pipe, wrote), entries in self.tiles.get(chunk, {}).items():
                if not (writes or wrote) or _keeps_order(instruction, pipe):
                    continue
                for entry in reversed(entries):
                    if meeting(entry.site, site) is not None:
                        yield Need(pipe, entry.number, entry.site)
                        break
        ordered = int(instruction.pipe) if instruction.in_order else None
        for access in instruction.tensors:
            for entry in self.tensors.get(access.root, ()):
                if entry.pipe == ordered or not (access.writes or entry.writes):
                    continue
                if entry.number <= known[entry.pipe]:
                    continue
                met = meeting(entry.site, site)
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
        for chunk, writes in _touched(instruction):
            for (pipe, wrote), entries in self.tiles.get(chunk, {}).items():
                if not (writes or wrote) or _keeps_order(instruction, pipe):
                    continue
                if entries and entries[-1].number > before[pipe]:
                    yield Need(pipe, entries[-1].number, entries[-1].site)
        for access in instruction.tensors if tensors else ():
            for entry in self.tensors.get(access.root, ()):
                if entry.number <= before[entry.pipe] or not (access.writes or entry.writes):
                    continue
                if not _keeps_order(instruction, entry.pipe) and may_overlap(
                    entry.box, access.box, body, self.integers, later_turn=True
                ):
                    yield Need(entry.pipe, entry.number, entry.site)


def _touched(instruction: Instruction) -> Iterator[tuple[Chunk, bool]]:
    for chunk in instruction.reads:
        yield chunk, False
    for chunk in instruction.writes:
        yield chunk, True


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
