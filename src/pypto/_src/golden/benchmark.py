"""``runtime.benchmark``: how long calls take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from pypto._src.records import NamedTuple


class BenchmarkStats(NamedTuple):
    """The times of calls, in seconds."""

    rounds: int
    mean: float
    median: float
    min: float
    max: float


def benchmark(
    call: Callable[..., Any], *args: Any, rounds: int = 20, warmup: int = 2, **named: Any
) -> BenchmarkStats:
    """Return how long ``call(*args)`` takes, for a kernel or a compiled program.

    Args:
        call: The callable to measure.
        args: Its arguments.
        rounds: How many calls are measured.
        warmup: How many calls come before; the first call of a kernel compiles it.
        named: Its arguments by name.

    Raises:
        ValueError: ``rounds`` is not positive.
    """
    if rounds < 1:
        raise ValueError(f"rounds is {rounds}; at least one call is measured")
    for _ in range(warmup):
        call(*args, **named)
    found: list[float] = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call(*args, **named)
        found.append(time.perf_counter() - begin)
    return BenchmarkStats(
        rounds, statistics.fmean(found), statistics.median(found), min(found), max(found)
    )
