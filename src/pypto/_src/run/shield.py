"""Work, such as compiling, that would leave files and processes behind if a signal cut it short.

Such work runs in its own thread, where no signal handler raises, while the main thread waits.
What a handler raises there, as for Ctrl-C, kills the commands that the work has started; the work
then cleans up, and only then does the exception propagate. Knows nothing of compilers and files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

_CLEANUP_S: Final = 10.0
"""How long interrupted work has to remove its files."""


_LOOK_S: Final = 0.03
"""How often the main thread runs handlers while it waits. The system may deliver a signal to
another thread, which does not end the main thread's wait."""


class Abandoned(BaseException):
    """Nobody waits for this work any more. Not an Exception: it is not a command's failure."""


class Shield:
    """The commands of one piece of work, and whether it is still wanted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kills: list[Callable[[], None]] = []
        self._is_abandoned = False

    def abandon(self) -> None:
        """Kill the running commands, and any that start later."""
        with self._lock:
            self._is_abandoned = True
            for kill in self._kills:
                kill()

    def check(self) -> None:
        """Raise `Abandoned` if the work is not wanted any more."""
        if self._is_abandoned:
            raise Abandoned

    @contextmanager
    def command(self, kill: Callable[[], None]) -> Generator[None]:
        """Have `abandon` call ``kill`` as long as a command runs; at its end, `check`."""
        with self._lock:
            self._kills.append(kill)
            if self._is_abandoned:
                kill()
        try:
            yield
        finally:
            with self._lock:
                self._kills.remove(kill)
        self.check()


class _OfThread(threading.local):
    shield = Shield()  # of threads outside any shielded work; it is never abandoned


_of_thread = _OfThread()


def current() -> Shield:
    """Return the shield that this thread works under."""
    return _of_thread.shield


def adopt(shield: Shield) -> None:
    """Put this thread, which works for another one, under that thread's shield."""
    _of_thread.shield = shield


def shielded(work: Callable[[], T]) -> T:
    """Return ``work()``, protected from what signal handlers raise.

    Raises:
        BaseException: what ``work`` raises; or what a handler raised meanwhile, when ``work`` has
            ended.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # no signal handler runs here
    shield, done = Shield(), threading.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        adopt(shield)
        try:
            results.append(work())
        except BaseException as error:  # raised again below, in the thread that waits
            errors.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=run, name="pypto-compile", daemon=True).start()
        while not done.wait(_LOOK_S):
            pass
    except BaseException:  # of a signal handler, as for Ctrl-C
        shield.abandon()
        done.wait(_CLEANUP_S)
        raise
    if errors:
        raise errors[0]
    return results[0]
