"""Which points of two versions of a program correspond.

Points correspond if function, op and assigned name are the same; between such stretches, points
that replace each other correspond one by one. Points of only one version have no partner.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from pypto._src.numerics.trace import Point


def aligned(points: Sequence[Point], others: Sequence[Point]) -> dict[int, int]:
    """Map ``points`` to their partners among ``others``, if they have one, both by number."""
    keys, other_keys = [_key(p) for p in points], [_key(p) for p in others]
    shorter = min(len(keys), len(other_keys))
    begin = 0
    while begin < shorter and keys[begin] == other_keys[begin]:
        begin += 1
    end = 0
    while end < shorter - begin and keys[-1 - end] == other_keys[-1 - end]:
        end += 1
    found = {at: at for at in range(begin)}
    middle, other_middle = keys[begin : len(keys) - end], other_keys[begin : len(other_keys) - end]
    matcher = SequenceMatcher(None, middle, other_middle, autojunk=False)
    for kind, low, high, other_low, other_high in matcher.get_opcodes():
        first, first_other = begin + low, begin + other_low
        if kind == "equal" or (kind == "replace" and high - low == other_high - other_low):
            found |= {first + at: first_other + at for at in range(high - low)}
        elif kind == "replace":
            found |= _by_target(points, others, range(first, begin + high),
                                range(first_other, begin + other_high))  # fmt: skip
    found |= {len(keys) - 1 - at: len(other_keys) - 1 - at for at in range(end)}
    return found


def _key(point: Point) -> tuple[str, str, str]:
    # Names that the user has not written are numbered, so the source text identifies the point.
    target = point.text if point.target[:1] in ("_", "") else point.target
    return point.function, point.op, target


def _by_target(
    points: Sequence[Point], others: Sequence[Point], mine: range, theirs: range
) -> dict[int, int]:
    """Map points between stretches of different lengths: the last one of each name."""
    last = {_key(others[at])[2]: at for at in theirs if _key(others[at])[2]}
    found: dict[int, int] = {}
    taken = theirs.start - 1
    for at in mine:
        name = _key(points[at])[2]
        is_last = at + 1 not in mine or _key(points[at + 1])[2] != name
        other = last.get(name) if is_last else None
        if other is not None and other > taken:
            found[at] = taken = other
    return found
