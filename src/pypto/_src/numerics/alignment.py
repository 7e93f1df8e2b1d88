"""Which point of one version of a program is which of another.

Points are the same where function, op and the name that is assigned are; between such stretches
those that stand in each other's place are, one by one. What only one version has has no partner.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from pypto._src.numerics.trace import Point


def aligned(points: Sequence[Point], others: Sequence[Point]) -> dict[int, int]:
    """Return for each of ``points`` that has one its partner among ``others``, both by number."""
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
    # Names that nobody has written are numbered: they say nothing, but the user's text does.
    target = point.text if point.target[:1] in ("_", "") else point.target
    return point.function, point.op, target


def _by_target(
    points: Sequence[Point], others: Sequence[Point], mine: range, theirs: range
) -> dict[int, int]:
    """Return partners among stretches of different lengths: the last point of equal names."""
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
