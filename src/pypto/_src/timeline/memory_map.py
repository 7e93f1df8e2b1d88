"""Which tile occupies which addresses of a core's memories, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pypto._src.ir.enums import MemorySpace
from pypto._src.records import NamedTuple
from pypto._src.timeline.core import CoreTimeline, Site, TileUse


class Occupied(NamedTuple):
    """A range of addresses that a tile occupies, from its first instruction to its last one."""

    tile: TileUse
    site: int
    """The first instruction that writes it."""
    start: float
    end: float


def occupied(timeline: CoreTimeline, sites: Sequence[Site]) -> Iterator[Occupied]:
    """Yield what the memories of a core hold during a call.

    A tile lives from the start of the first instruction that writes it until the last one that uses
    it is done. One that an instruction reads and writes, such as a sum, stays the same tile.
    """
    now: dict[MemorySpace, list[Occupied]] = {}
    for event in timeline.events:
        tiles = sites[event.site].tiles
        read = {(use.space, use.address) for use in tiles if not use.is_written}
        for use in tiles:
            held = now.setdefault(use.space, [])
            goes_on = not use.is_written or (use.space, use.address) in read
            same = next(
                (n for n, each in enumerate(held) if each.tile.address == use.address), None
            )
            if goes_on and same is not None:
                old = held[same]
                held[same] = Occupied(old.tile, old.site, old.start, max(old.end, event.done))
            elif use.is_written:
                gone = [each for each in held if _meet(each.tile, use)]
                yield from gone
                held[:] = [each for each in held if each not in gone]
                held.append(Occupied(use, event.site, event.start, event.done))
    for held in now.values():
        yield from held


def _meet(a: TileUse, b: TileUse) -> bool:
    return a.address < b.address + b.size and b.address < a.address + a.size
