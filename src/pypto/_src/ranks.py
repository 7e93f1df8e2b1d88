"""Ranks of one program, as threads of this process: what they wait for, and what wakes them.

A signal is an INT32 element in memory that all ranks share. A notification changes it, a wait
blocks a rank until it has a value. When every rank waits and no condition holds, no rank is left to
notify: that is a deadlock, found at once and reported with the line of each wait. Knows memory by
addresses: neither arrays nor kernels.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Final, Protocol

from pypto._src.diagnostics import UNKNOWN_SPAN, Label, Span
from pypto._src.errors import EvaluationError
from pypto._src.records import NamedTuple

_LOOK_S: Final = 0.05
"""Polling interval for a signal that an ordinary store may have changed."""


class Stopped(BaseException):
    """Another rank has failed. Not an Exception: it is not an error of the kernel."""


class Blocked(NamedTuple):
    """What blocks a rank, and whether it still does."""

    holds: Callable[[], bool]
    """True when the rank may continue."""
    text: Callable[[], str]
    location: Span


class TransferKind(Enum):
    """What happens to a box of a window; the numbers are those of ``pto::WindowTransfer``."""

    FETCH = 0
    """It is about to be read."""
    DELIVER = 1
    """It was written."""
    BEGIN_ADD = 2
    """It is about to be added to."""
    END_ADD = 3


class Box(NamedTuple):
    """Memory by its first byte, with a size and a stride in bytes for each dimension."""

    first: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


class Launched(NamedTuple):
    """The span of a launch, and the file of the function that it runs."""

    location: Span
    file: str


class Watch(Protocol):
    """An observer of ranks that take turns."""

    def notified(self, rank: Rank, address: int, value: int, *, adds: bool) -> None:
        """Observe that a rank is about to change a signal."""
        ...

    def waited(self, rank: Rank, address: int, expected: int, *, at_least: bool) -> None:
        """Observe that a rank continues, as a signal has the value that it waited for."""
        ...

    def ended(self, rank: Rank, launch: int) -> None:
        """Observe that a launch of a rank has ended, by its number in the run."""
        ...

    def joined(self, rank: Rank, launch: int) -> None:
        """Observe that a rank has waited for the end of a launch."""
        ...


class Rank:
    """One of the threads of a `World`."""

    __slots__ = ("at", "launched", "number", "world")

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.number = number
        self.launched = Launched(UNKNOWN_SPAN, "")
        self.at = UNKNOWN_SPAN
        """The call that it is executing, if it is observed."""

    def location(self, line: int) -> Span:
        """Return the span of a line of the program; for line 0, that of the launch."""
        if self.at is not UNKNOWN_SPAN:
            return self.at
        if line <= 0 or not self.launched.file:
            return self.launched.location
        return Span(self.launched.file, line, -1)


class _OfThread(threading.local):
    rank: Rank | None = None


_of_thread: Final = _OfThread()


def current() -> Rank | None:
    """Return the rank of this thread, None if it is not a rank."""
    return _of_thread.rank


class World:
    """The ranks of one run.

    With ``seed=None`` they run concurrently. With a number they take turns: one runs until it
    waits, then another one, which the seed chooses (0: the next by number; 1: the previous; any
    other: a pseudo-random one). A run then depends on the seed alone.
    """

    def __init__(
        self,
        count: int,
        *,
        seed: int | None = None,
        name: Callable[[int], str] = hex,
        watch: Watch | None = None,
    ) -> None:
        """Take the number of ranks, the function that names a signal's address, and an observer.

        ``watch`` is for ranks that take turns.
        """
        self.count = count
        self.watch = watch
        self._changed = threading.Condition()
        self._blocked: dict[int, Blocked] = {}
        self._alive = set(range(count))
        self._failure: BaseException | None = None
        self._name = name
        self._takes_turns = seed is not None
        self._seed = seed or 0
        self._turn: int | None = None
        self._last = count - 1 if self._seed != 1 else 0  # the rank that had the last turn

    def run(self, works: Sequence[Callable[[], None]]) -> None:
        """Run one work per rank to its end.

        Raises:
            EvaluationError: the ranks wait for each other.
            BaseException: the exception of the first work that failed.
        """
        threads = [
            threading.Thread(target=self._work, args=(number, work), daemon=True)
            for number, work in enumerate(works)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                try:
                    thread.join(_LOOK_S)
                except BaseException as error:  # Ctrl-C: the ranks end where they wait next
                    self.fail(error)
        if self._failure is not None:
            raise self._failure

    def _work(self, number: int, work: Callable[[], None]) -> None:
        _of_thread.rank = Rank(self, number)
        try:
            if self._takes_turns:
                self.wait(Blocked(lambda: True, lambda: "its begin", UNKNOWN_SPAN))
            work()
        except Stopped:
            pass
        except BaseException as error:  # raised again by `run`
            self.fail(error)
        finally:
            with self._changed:
                self._alive.discard(number)
                self._turn = None
                self._look()

    def fail(self, error: BaseException) -> None:
        """End the run: every rank stops where it waits next. The first failure counts."""
        with self._changed:
            if self._failure is None:
                self._failure = error
            self._changed.notify_all()

    def changed(self) -> None:
        """Wake ranks to check whether they may continue."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, blocked: Blocked) -> None:
        """Block the rank of this thread until it may continue.

        Raises:
            Stopped: the run has failed, perhaps because of this wait.
        """
        rank = current()
        assert rank is not None
        with self._changed:
            if not self._takes_turns and self._failure is None and blocked.holds():
                return
            self._blocked[rank.number] = blocked
            if self._turn == rank.number:
                self._turn = None
            try:
                while True:
                    self._look()
                    if self._failure is not None:
                        raise Stopped
                    if self._takes_turns:
                        if self._turn == rank.number:
                            return
                    elif blocked.holds():
                        return
                    self._changed.wait(_LOOK_S)
            finally:
                del self._blocked[rank.number]

    def _look(self) -> None:
        """Decide, with the lock held, whose turn it is, or whether there is a deadlock."""
        if self._failure is None and self._turn is None and self._alive == self._blocked.keys():
            ready = sorted(number for number, each in self._blocked.items() if each.holds())
            if not ready and self._alive:
                self._failure = self._deadlock()
            elif ready and self._takes_turns:
                self._turn = self._last = self._next(ready)
        self._changed.notify_all()

    def _next(self, ready: Sequence[int]) -> int:
        if self._seed > 1:
            self._seed = (self._seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            return ready[(self._seed >> 33) % len(ready)]
        if self._seed == 1:
            return max((n for n in ready if n < self._last), default=ready[-1])
        return min((n for n in ready if n > self._last), default=ready[0])

    def _deadlock(self) -> EvaluationError:
        waits = sorted(self._blocked.items())
        (first, blocked), *others = waits
        whose = f"rank {first}" if not others else f"all {len(waits)} ranks that still run"
        error = EvaluationError(
            f"deadlock: {whose} wait{'s' if not others else ''}, and no rank is left to notify; "
            f"rank {first} waits for {blocked.text()}",
            hint="notify the signal before its wait, on the rank that waits",
            slug="deadlock",
        )
        error.related = tuple(
            Label(each.location, f"rank {number} waits for {each.text()}")
            for number, each in others
        )
        error.at(blocked.location)
        return error

    # ----- signals --------------------------------------------------------------------------

    def notify(self, address: int, value: int, *, adds: bool) -> None:
        """Add to a signal, or set it, and wake the ranks that wait."""
        rank = current()
        if self.watch is not None and rank is not None:
            self.watch.notified(rank, address, value, adds=adds)
        with self._changed:
            _change(address, value, adds=adds)
            self._changed.notify_all()

    def wait_for(self, address: int, expected: int, *, at_least: bool, location: Span) -> None:
        """Block the rank of this thread until a signal has a value."""
        cell = ctypes.c_int32.from_address(address)
        relation = ">=" if at_least else "=="

        def holds() -> bool:
            return cell.value >= expected if at_least else cell.value == expected

        def text() -> str:
            return f"{self._name(address)} {relation} {expected}, which is {cell.value}"

        self.wait(Blocked(holds, text, location))
        rank = current()
        if self.watch is not None and rank is not None:
            self.watch.waited(rank, address, expected, at_least=at_least)

    # ----- transfers ------------------------------------------------------------------------

    def transfer(self, box: Box, kind: TransferKind) -> None:
        """Transfer a box of a window from or to its rank: nothing here, as ranks share memory."""

    # ----- for running the works elsewhere --------------------------------------------------

    def running(self) -> set[int]:
        """Return the ranks that have not ended and wait for nothing."""
        with self._changed:
            return self._alive - self._blocked.keys()

    @property
    def has_failed(self) -> bool:
        """True once a rank has failed."""
        return self._failure is not None


@contextmanager
def as_rank(rank: Rank) -> Generator[None]:
    """Make this thread a rank inside a ``with``."""
    _of_thread.rank = rank
    try:
        yield
    finally:
        _of_thread.rank = None


def _change(address: int, value: int, *, adds: bool) -> None:
    cell = ctypes.c_int32.from_address(address)
    cell.value = cell.value + value if adds else value  # wraps to 32 bits


def notify(address: int, value: int, *, adds: bool) -> None:
    """Add to a signal, or set it, as the rank of this thread, if it is one."""
    rank = current()
    if rank is None:
        _change(address, value, adds=adds)
    else:
        rank.world.notify(address, value, adds=adds)


def transfer(box: Box, kind: TransferKind) -> None:
    """Transfer a box of a window from or to its rank, as the rank of this thread, if it is one."""
    rank = current()
    if rank is not None:
        rank.world.transfer(box, kind)


def wait(address: int, expected: int, *, at_least: bool, line: int) -> None:
    """Wait for a signal, as the rank of this thread.

    Raises:
        EvaluationError: there are no ranks, and the signal has another value.
        Stopped: the run has failed.
    """
    rank = current()
    if rank is not None:
        location = rank.location(line)
        rank.world.wait_for(address, expected, at_least=at_least, location=location)
        return
    found = ctypes.c_int32.from_address(address).value
    if not (found >= expected if at_least else found == expected):
        raise EvaluationError(
            f"deadlock: a kernel waits for a signal {'>=' if at_least else '=='} {expected}, which "
            f"is {found}, and there is no other rank",
            hint="launch it for each rank from a function of @pl.jit.host",
            slug="deadlock",
        )
