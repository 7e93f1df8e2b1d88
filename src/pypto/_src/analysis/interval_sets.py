"""Sets of indices along one dimension, as sorted intervals.

They over-approximate: a set that would take many intervals becomes the interval from its first
index to its last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

Cover: TypeAlias = "tuple[tuple[int, int], ...]"
"""Disjoint intervals [begin, end) in ascending order, none of which touches the next one."""

_MOST: Final = 1024
"""The most intervals of one set."""


def union(parts: Iterable[Cover]) -> Cover:
    """Return the union of the sets."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted([each for part in parts for each in part if each[0] < each[1]]):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    if len(found) > _MOST:
        return ((found[0][0], found[-1][1]),)
    return tuple(found)


def repeated(cover: Cover, distance: int, count: int) -> Cover:
    """Return the union of the set shifted by 0, 1, ... ``count`` - 1 times ``distance``."""
    if not cover or count <= 0:
        return ()
    if distance < 0:
        return shifted(repeated(cover, -distance, count), distance * (count - 1))
    whole = len(cover) == 1 and distance <= cover[0][1] - cover[0][0]
    if distance == 0 or count == 1:
        return cover
    if whole or count * len(cover) > _MOST:
        return ((cover[0][0], cover[-1][1] + distance * (count - 1)),)
    return union([shifted(cover, distance * i) for i in range(count)])


def shifted(cover: Cover, distance: int) -> Cover:
    """Return the set shifted by ``distance``."""
    return tuple([(begin + distance, end + distance) for begin, end in cover])


def missing(wanted: tuple[int, int], cover: Cover) -> tuple[int, int] | None:
    """Return the first interval of ``wanted`` that is not in the set, None if all of it is."""
    begin, end = wanted
    for first, last in cover:
        if last <= begin:
            continue
        if first > begin:
            return begin, min(first, end)
        begin = last
        if begin >= end:
            return None
    return (begin, end) if begin < end else None
