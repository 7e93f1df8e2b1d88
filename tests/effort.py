"""How much of the unbounded tests each change runs, and how much more a thorough run does.

Random programs and tables of combinations find most faults in their first part. Each change runs
that part, so that its author waits only minutes; `pytest --thorough`, which the nightly runs use,
runs all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

thorough = False
"""Whether this is a thorough run; `tests/conftest.py` sets it before it loads any test."""


def count(each_change: int, *, thorough_run: int) -> int:
    """Return how many programs to generate."""
    return thorough_run if thorough else each_change


def part(items: Iterable[T], one_in: int, *, first: int = 0) -> list[T]:
    """Return one in ``one_in`` items, starting at ``first``; at least one, all in a thorough run.

    Tables of one family pass different ``first``, so that together they cover all kinds of items.
    """
    found = list(items)
    if thorough or not found:
        return found
    return found[first % min(one_in, len(found)) :: one_in]
