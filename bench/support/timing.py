"""One measurement: the fastest of several repetitions, with the garbage collector off meanwhile.

Knows nothing about what is measured.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without_collector() -> Generator[None]:
    """Collect the young garbage, then keep the collector off inside the block, as `timeit` does."""
    was_on = gc.isenabled()
    gc.collect(0)
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def once(run: Callable[[], Any], repeat: int = 1) -> float:
    """Return the time of ``repeat`` consecutive runs, in seconds per run."""
    rounds = range(repeat)
    with without_collector():
        start = time.perf_counter()
        for _ in rounds:
            run()
        return (time.perf_counter() - start) / repeat


def fastest(run: Callable[[], Any], seconds: float = 0.5, repeat: int = 1) -> float:
    """Return the fastest `once` within ``seconds``, at least one."""
    end = time.perf_counter() + seconds
    best = once(run, repeat)
    while time.perf_counter() < end:
        best = min(best, once(run, repeat))
    return best
