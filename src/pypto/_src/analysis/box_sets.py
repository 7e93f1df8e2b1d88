"""Sets of elements of a tensor, as lists of boxes whose edges are numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

MOST_BOXES: Final = 256
"""The most boxes kept for one tensor, and the most pieces into which a box is split."""

Box: TypeAlias = "tuple[tuple[int, int], ...]"
"""Elements of a tensor: begin and end for each dimension."""


def add(boxes: list[Box], box: Box) -> None:
    """Add a box to a list, merged with those at the end of the list if they form one box."""
    while boxes:
        whole = _joined(boxes[-1], box)
        if whole is None:
            break
        box = whole
        boxes.pop()
    boxes.append(box)


def _joined(first: Box, second: Box) -> Box | None:
    """Return the union of two boxes, None if it is not a box."""
    apart = [axis for axis, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    if not apart:
        return first
    if len(apart) > 1:
        return None
    [axis] = apart
    (begin, end), (other, last) = first[axis], second[axis]
    if other > end or begin > last:
        return None
    return (*first[:axis], (min(begin, other), max(end, last)), *first[axis + 1 :])


def uncovered(wanted: Box, boxes: Iterable[Box]) -> Box | None:
    """Return the first part of ``wanted`` that no box of ``boxes`` covers, None if there is none.

    Also None if ``wanted`` is split into too many pieces to tell.
    """
    pieces = [wanted]
    for box in boxes:
        pieces = [rest for piece in pieces for rest in _without(piece, box)]
        if len(pieces) > MOST_BOXES:
            return None
    pieces = [piece for piece in pieces if all(begin < end for begin, end in piece)]
    return min(pieces, default=None)


def _without(piece: Box, box: Box) -> Iterator[Box]:
    """Yield the boxes that are left of ``piece`` without ``box``."""
    if any(b >= end or begin >= e for (b, e), (begin, end) in zip(piece, box, strict=True)):
        yield piece
        return
    rest = list(piece)
    for axis, (begin, end) in enumerate(box):
        b, e = rest[axis]
        if b < begin:
            rest[axis] = b, begin
            yield tuple(rest)
        if end < e:
            rest[axis] = end, e
            yield tuple(rest)
        rest[axis] = max(b, begin), min(e, end)
