"""The counters of kernels that record their calls and time: `CppOptions.profile`.

Owns the two words that each kernel writes to. Knows nothing about what kernels do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Final

from pypto._src.records import NamedTuple

_TICKS_PER_SECOND: Final = 1e9  # of the clock that the C++ uses on a CPU


class Timing(NamedTuple):
    """How often a kernel ran, and the total time of its runs."""

    calls: int
    seconds: float


class Profile:
    """The counters of a program's kernels."""

    def __init__(self, names: Iterable[str]) -> None:
        self._counters = {name: (ctypes.c_int64 * 2)(0, 0) for name in names}

    def address(self, name: str) -> int:
        """Return the address of a kernel's counters, valid as long as the profile lives."""
        return ctypes.addressof(self._counters[name])

    def timings(self) -> dict[str, Timing]:
        """Return what was counted so far, by kernel."""
        return {
            name: Timing(counter[0], counter[1] / _TICKS_PER_SECOND)
            for name, counter in self._counters.items()
        }
