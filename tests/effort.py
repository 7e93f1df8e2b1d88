"""What each change runs of tests that could go on for hours, and what a thorough run adds.

Drawn programs and tables of combinations find most of what is wrong within their first part. Each
change runs that part, so that its author waits for minutes; `pytest --thorough`, which the nightly
runs, runs all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

thorough = False
"""Whether this run was asked for all; `tests/conftest.py` sets it before it loads any test."""


def count(each_change: int, *, thorough_run: int) -> int:
    """Return how many programs to draw."""
    return thorough_run if thorough else each_change


def part(items: Iterable[T], one_in: int, *, first: int = 0) -> list[T]:
    """Return one in so many items, from ``first`` on, and never none; all in a thorough run.

    Tables of one family pass different ``first``, so that together they reach all kinds of items.
    """
    found = list(items)
    if thorough or not found:
        return found
    return found[first % min(one_in, len(found)) :: one_in]
