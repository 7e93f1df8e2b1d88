"""What ranks do with windows, as lists of events: recorded once, replayed in any order of ranks.

A rank is recorded alone, as if each of its waits ended at once. Replayed together, the ranks wait
for each other as in a run, and observers see the same events. So a deadlock is explained by the
signals that each rank would still have sent.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pypto._src.diagnostics import Span
from pypto._src.errors import EvaluationError
from pypto._src.interp.race_detector import AccessKind, RaceDetector
from pypto._src.ranks import Rank, World, current
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class NeedsDataError(EvaluationError):
    """Signals depend on the elements of a tensor."""

    def __init__(self) -> None:
        super().__init__(
            "which signals ranks send depends on the elements of a tensor",
            hint="run it with arrays that it is meant for: ring.check(x, y, config=...)",
            slug="signal-data",
        )


class Notify(NamedTuple):
    """A rank changes a signal."""

    address: int
    value: int
    adds: bool
    at: Span


class Wait(NamedTuple):
    """A rank waits for a signal."""

    address: int
    expected: int
    at_least: bool
    at: Span


class Access(NamedTuple):
    """A rank touches a part of a window."""

    view: Array
    kind: AccessKind
    at: Span


Event = Notify | Wait | Access


class RecordingWorld(World):
    """A world in which no rank waits: it records what its rank does."""

    def __init__(self, count: int, is_window: Callable[[Array], bool]) -> None:
        super().__init__(count)
        self._is_window = is_window
        self._is_muted = False
        self.events: list[Event] = []

    def notify(self, address: int, value: int, *, adds: bool) -> None:
        """Record the change of a signal."""
        self.events.append(Notify(address, value, adds, _location()))

    def wait_for(self, address: int, expected: int, *, at_least: bool, location: Span) -> None:
        """Record a wait of the rank."""
        self.events.append(Wait(address, expected, at_least, location))

    def touched(self, view: Array, kind: AccessKind) -> None:
        """Record that the rank touches a part of a tensor, if that is in a window."""
        if not self._is_muted and self._is_window(view):
            self.events.append(Access(view, kind, _location()))

    @contextmanager
    def muted(self) -> Generator[None]:
        """Record no accesses meanwhile: whether they happen is unknown."""
        before, self._is_muted = self._is_muted, True
        try:
            yield
        finally:
            self._is_muted = before


def _location() -> Span:
    rank = current()
    assert rank is not None
    return rank.at


class Player:
    """Replays the recorded events of each launch, in order."""

    def __init__(self, devices: Sequence[int], traces: Sequence[Sequence[Event]]) -> None:
        """Take the rank and the events of each launch."""
        self._devices, self._traces = devices, traces
        self._position: dict[int, tuple[int, int]] = {}

    def play(self, launch: int) -> None:
        """Replay the events of a launch, as the rank of this thread."""
        rank = current()
        assert rank is not None
        for index, event in enumerate(self._traces[launch]):
            self._position[rank.number] = (launch, index)
            _do(rank, event)
        self._position[rank.number] = (launch, len(self._traces[launch]))

    def begin(self) -> None:
        """Reset all signals to zero and all ranks to their start."""
        self._position = {}
        for event in (event for trace in self._traces for event in trace):
            if isinstance(event, Notify):
                ctypes.c_int32.from_address(event.address).value = 0

    def explain(self, error: EvaluationError, name: Callable[[int], str]) -> None:
        """Add to a deadlock's error the cycle of ranks, or the signal that no rank sends."""
        waits: dict[int, Wait] = {}
        senders: dict[int, tuple[int, Notify] | None] = {}
        for rank in sorted(self._position):
            event = next(self._left(rank), None)
            if isinstance(event, Wait):
                waits[rank], senders[rank] = event, self._sender(event)
        for rank, sender in senders.items():
            wait = waits[rank]
            if sender is None:
                again = " again" if self._was_sent(wait) else ""
                error.noted(
                    f"no rank sends {name(wait.address)}{again}, which rank {rank} waits for in "
                    f"line {wait.at.begin_line}"
                )
                return
        circle: list[int] = []
        rank = next(iter(senders), None)
        while rank is not None and rank not in circle:
            circle.append(rank)
            sender = senders.get(rank)
            rank = None if sender is None else sender[0]
        if rank is None:  # a rank waits for the end of a launch, as the error says
            return
        parts: list[str] = []
        for each in circle[circle.index(rank) :]:
            sender = senders[each]
            assert sender is not None
            parts.append(
                f"rank {each} waits in line {waits[each].at.begin_line} for "
                f"{name(waits[each].address)}, which rank {sender[0]} sends in line "
                f"{sender[1].at.begin_line}"
            )
        error.noted(f"each waits before it sends: {'; '.join(parts)}")

    def _sender(self, wait: Wait) -> tuple[int, Notify] | None:
        """Return which rank would still send a signal, and the event."""
        for rank in sorted(self._position):
            for event in self._left(rank):
                if isinstance(event, Notify) and event.address == wait.address and event.value > 0:
                    return rank, event
        return None

    def _left(self, rank: int) -> Iterator[Event]:
        """Yield the events that a rank has not replayed yet."""
        launch, index = self._position[rank]
        yield from self._traces[launch][index:]
        for later in range(launch + 1, len(self._traces)):
            if self._devices[later] == rank:
                yield from self._traces[later]

    def _was_sent(self, wait: Wait) -> bool:
        return any(
            isinstance(event, Notify) and event.address == wait.address
            for trace in self._traces
            for event in trace
        )


def _do(rank: Rank, event: Event) -> None:
    rank.at = event.at
    match event:
        case Notify():
            rank.world.notify(event.address, event.value, adds=event.adds)
        case Wait():
            rank.world.wait_for(
                event.address, event.expected, at_least=event.at_least, location=event.at
            )
        case Access():
            watch = rank.world.watch
            if isinstance(watch, RaceDetector):
                watch.touched(rank, event.view, event.kind)


def stored_signal(traces: Sequence[Sequence[Event]]) -> Access | None:
    """Return a store to an element that is also a signal, whose value then depends on data."""
    signals = sorted({e.address for t in traces for e in t if not isinstance(e, Access)})
    for trace in traces:
        for event in trace:
            if isinstance(event, Access) and event.kind is not AccessKind.READ:
                low = int(event.view.ctypes.data)
                steps = zip(event.view.shape, event.view.strides, strict=True)
                high = low + sum((size - 1) * step for size, step in steps)
                if any(low <= signal <= high for signal in signals):
                    return event
    return None
