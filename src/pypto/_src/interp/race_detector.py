"""Finds unordered accesses of ranks to windows, and signals that are lost or reused.

Ranks have vector clocks. A notification releases its rank's clock, a wait acquires what was
released up to the first value that satisfies it: the earliest moment at which it could have
continued, whenever it did. So findings do not depend on how late a rank happens to run. For every
element of a window it is recorded which rank wrote it last, and which have read it or added to it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Label, Span
from pypto._src.errors import EvaluationError
from pypto._src.lazy import lazy_module
from pypto._src.ranks import Rank
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

Clocks = tuple[int, ...]
"""A vector clock: what a rank knows of each rank's number of notifications."""


class AccessKind(Enum):
    """What an access does with an element."""

    READ = "reads"
    WRITE = "writes"
    ADD = "adds to"


class _Access(NamedTuple):
    """An access of a rank, with the rank's clock."""

    rank: int
    clocks: Clocks
    kind: AccessKind
    location: Span

    def happens_before(self, clocks: Clocks) -> bool:
        """True if this access happens before ``clocks``."""
        return clocks[self.rank] >= self.clocks[self.rank]


class _Change(NamedTuple):
    """A signal's value from some moment on, and the clock that a wait for it acquires."""

    value: int
    clocks: Clocks
    rank: int
    location: Span


class _Window:
    """Memory of all ranks, and the accesses to each of its elements, numbered from 1."""

    def __init__(self, memory: Array, unit: int, ranks: int) -> None:
        self.low, self.size, self.unit = int(memory.ctypes.data), memory.size, unit
        self._ranks, self._count = ranks, -(-memory.size // unit)
        self.is_read = False

    @cached_property
    def written(self) -> Array:
        """The last write of each element."""
        return np.zeros(self._count, np.int32)

    @cached_property
    def read(self) -> Array:
        """The last read of each element, by each rank."""
        return np.zeros((self._ranks, self._count), np.int32)

    @cached_property
    def added(self) -> Array:
        """The last addition to each element, by each rank."""
        return np.zeros((self._ranks, self._count), np.int32)

    def part(self, marks: Array, view: Array) -> Array:
        """Return the marks of the elements of a view of the memory."""
        begin = (int(view.ctypes.data) - self.low) // self.unit
        width = max(view.itemsize // self.unit, 1)
        step = marks.itemsize
        strides = (*(stride // self.unit * step for stride in view.strides), step)
        return np.lib.stride_tricks.as_strided(marks[begin:], (*view.shape, width), strides)


class RaceDetector:
    """Observes ranks as they take turns; raises an error where two accesses race."""

    def __init__(
        self, ranks: int, windows: Sequence[tuple[Array, int]], name: Callable[[int], str]
    ) -> None:
        """Take the number of ranks, the windows with their element sizes in bytes, and names."""
        self._count = ranks
        self._windows = [_Window(memory, unit, ranks) for memory, unit in windows]
        self._name = name
        self._clocks: list[Clocks] = [
            tuple([int(other == rank) for other in range(ranks)]) for rank in range(ranks)
        ]
        self._accesses: list[_Access] = []
        self._numbers: dict[_Access, int] = {}
        self._signals: dict[int, _Signal] = {}
        self._ends: dict[int, Clocks] = {}

    # ----- accesses -------------------------------------------------------------------------

    def touched(self, rank: Rank, view: Array, kind: AccessKind) -> None:
        """Record that a rank touches a part of a tensor, which may be in a window.

        Raises:
            EvaluationError: another rank touches it concurrently.
        """
        window = self._window(view)
        if window is None or view.size == 0:
            return
        window.is_read |= kind is AccessKind.READ
        me, clocks = rank.number, self._clocks[rank.number]
        others = [window.written]
        if kind is not AccessKind.ADD:
            others += [window.added[other] for other in range(self._count) if other != me]
        if kind is not AccessKind.READ:
            others += [window.read[other] for other in range(self._count) if other != me]
        for marks in others:
            part = window.part(marks, view)
            for number in _numbers(part):
                earlier = self._accesses[number - 1]
                if not earlier.happens_before(clocks):
                    at = tuple(int(n) for n in np.argwhere(part == number)[0][:-1])
                    raise self._race(earlier, rank, kind, _address(view, at))
        access = _Access(me, clocks, kind, rank.at)
        number = self._numbers.get(access)
        if number is None:
            self._accesses.append(access)
            number = self._numbers[access] = len(self._accesses)
        marks = {
            AccessKind.READ: window.read[me],
            AccessKind.WRITE: window.written,
            AccessKind.ADD: window.added[me],
        }[kind]
        window.part(marks, view)[...] = number

    def _window(self, view: Array) -> _Window | None:
        address = int(view.ctypes.data)
        for window in self._windows:
            if 0 <= address - window.low < window.size:
                return window
        return None

    def _race(
        self, earlier: _Access, rank: Rank, kind: AccessKind, address: int
    ) -> EvaluationError:
        return EvaluationError(
            f"rank {rank.number} {kind.value} {self._name(address)} while rank {earlier.rank} "
            f"{earlier.kind.value} it: no signal orders the two",
            rank.at,
            hint=f"let rank {rank.number} wait for a signal that rank {earlier.rank} sends "
            "after its access",
            slug="rank-race",
            related=[Label(earlier.location, f"rank {earlier.rank} {earlier.kind.value} it here")],
        )

    # ----- signals --------------------------------------------------------------------------

    def notified(self, rank: Rank, address: int, value: int, *, adds: bool) -> None:
        """Record that a rank is about to change a signal.

        Raises:
            EvaluationError: it sets a signal whose last value no rank has waited for, or others
                access it in another way concurrently.
        """
        signal, me = self._signal(address), rank.number
        last = signal.changes[-1]
        clocks = self._clocks[me]
        if not adds and last.value and not signal.is_consumed(clocks, me):
            raise EvaluationError(
                f"rank {me} sets {self._name(address)} again before the rank that waits for it "
                f"has seen {last.value}, which rank {last.rank} has sent",
                rank.at,
                hint="let that rank say that it has gone on, or add instead: "
                "op=pld.NotifyOp.AtomicAdd",
                slug="signal-reuse",
                related=[Label(last.location, f"rank {last.rank} sends {last.value} here")],
            )
        self.touched(rank, _cell(address), AccessKind.ADD if adds else AccessKind.WRITE)
        now = _wrapped(last.value + value) if adds else _wrapped(value)
        released = _joined(last.clocks, clocks) if adds else clocks
        signal.changes.append(_Change(now, released, me, rank.at))
        if signal.owner == me:
            signal.seen = len(signal.changes) - 1
            if not adds or value < 0:
                signal.due = signal.due + value if adds else now
                signal.is_reset = True
        self._tick(me)

    def waited(self, rank: Rank, address: int, expected: int, *, at_least: bool) -> None:
        """Record that a rank continues after a wait."""
        signal, me = self._signal(address), rank.number
        signal.owner = me
        seen = next(
            (
                at
                for at, change in enumerate(signal.changes)
                if at >= signal.seen
                and (change.value >= expected if at_least else change.value == expected)
            ),
            len(signal.changes) - 1,
        )
        signal.seen, signal.due = seen, expected
        self._clocks[me] = _joined(self._clocks[me], signal.changes[seen].clocks)
        signal.consumed = self._clocks[me][me]

    def _signal(self, address: int) -> _Signal:
        """Return the record of a signal, brought up to its current value."""
        signal = self._signals.get(address)
        value = int(_cell(address)[0])
        if signal is None:
            signal = self._signals[address] = _Signal(value, (0,) * self._count)
        if signal.changes[-1].value != value:  # an ordinary store has changed it
            window = self._window(_cell(address))
            number = 0 if window is None else int(window.part(window.written, _cell(address)).max())
            if number:
                access = self._accesses[number - 1]
                change = _Change(value, access.clocks, access.rank, access.location)
                signal.changes.append(change)
                signal.due, signal.seen = value, len(signal.changes) - 1
        return signal

    def _tick(self, rank: int) -> None:
        clocks = self._clocks[rank]
        self._clocks[rank] = (*clocks[:rank], clocks[rank] + 1, *clocks[rank + 1 :])

    # ----- launches and the end ------------------------------------------------------------

    def ended(self, rank: Rank, launch: int) -> None:
        """Record the end of a launch."""
        self._ends[launch] = self._clocks[rank.number]
        self._tick(rank.number)

    def joined(self, rank: Rank, launch: int) -> None:
        """Record that a rank has waited for the end of a launch."""
        self._clocks[rank.number] = _joined(self._clocks[rank.number], self._ends[launch])

    def finish(self) -> None:
        """Check the final values of signals.

        Raises:
            EvaluationError: a signal that its rank resets was sent more or less often than waited
                for, or no rank waits for any signal of a window, or reads it.
        """
        self._look_for_unheard()
        for address, signal in self._signals.items():
            value = int(_cell(address)[0])
            if not signal.is_reset or value == signal.due:
                continue
            pairs = pairwise(signal.changes)
            sent = [new for old, new in pairs if new.value > old.value] or signal.changes
            raise EvaluationError(
                f"{self._name(address)} is {value} at the end, and what its rank has waited for "
                f"leaves {signal.due}: a signal is sent twice, or nobody waits for it",
                sent[-1].location,
                hint="send a signal once for each wait",
                slug="signal-left",
            )

    def _look_for_unheard(self) -> None:
        heard = [
            self._window(_cell(address))
            for address, signal in self._signals.items()
            if signal.owner is not None
        ]
        for address, signal in self._signals.items():
            window = self._window(_cell(address))
            if window is None or window in heard or window.is_read:
                continue
            last = signal.changes[-1]
            raise EvaluationError(
                f"rank {last.rank} sends {self._name(address)}, and no rank waits for any signal "
                "of that window",
                last.location,
                hint="wait for it with pld.system.wait, or leave it out",
                slug="signal-left",
            )


class _Signal:
    """An element that ranks notify and one rank waits for."""

    def __init__(self, value: int, clocks: Clocks) -> None:
        self.changes = [_Change(value, clocks, -1, _NOWHERE)]
        self.owner: int | None = None
        """The rank that waits for it, once it has."""
        self.seen = 0
        """The index of the last change that this rank has seen."""
        self.consumed = 0
        """The clock of that rank when it saw it."""
        self.due = 0
        """The value if everything sent had been waited for."""
        self.is_reset = False
        """True once that rank has reset what it waited for."""

    def is_consumed(self, clocks: Clocks, rank: int) -> bool:
        """True if ``rank``, at ``clocks``, knows that the waiting rank has seen the last change."""
        if self.owner is None or self.seen < len(self.changes) - 1:
            return False
        return self.owner == rank or clocks[self.owner] >= self.consumed


_NOWHERE: Final = Span("", 0, 0)


def _numbers(part: Array) -> list[int]:
    """Return the numbers of the accesses in marks."""
    low, high = int(part.min()), int(part.max())
    found = [high] if low == high else [int(n) for n in np.unique(part)]
    return [number for number in found if number]


def _address(view: Array, at: Sequence[int]) -> int:
    steps = zip(at, view.strides, strict=True)
    return int(view.ctypes.data) + sum(index * step for index, step in steps)


def _cell(address: int) -> Array:
    """Return a signal as an array."""
    return np.ctypeslib.as_array(ctypes.c_int32.from_address(address)).reshape(1)


def _wrapped(value: int) -> int:
    return ctypes.c_int32(value).value


def _joined(a: Clocks, b: Clocks) -> Clocks:
    return tuple([max(pair) for pair in zip(a, b, strict=True)])
