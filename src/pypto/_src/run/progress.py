"""Progress of a build, shown to a user who waits at the terminal for longer than a second.

One line on standard error, overwritten until it is cleared. Nothing if that is not a terminal. Of
nested jobs, such as the compilations of a demo, the outermost owns the line.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Generator
from typing import Final, TextIO

_AFTER_S: Final = 1.0
_EVERY_S: Final = 0.2
_line = threading.Lock()  # held by the job that owns the line


class Progress:
    """How many parts of a job are done, and which are under way."""

    def __init__(self, what: str, total: int) -> None:
        """Begin to count.

        Args:
            what: What is done to each part: ``compiling``.
            total: How many parts there are.
        """
        self._what, self._total = what, total
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._active: list[str] = []
        self._done = 0

    @contextlib.contextmanager
    def part(self, name: str) -> Generator[None]:
        """Count one part as under way inside the block, and as done after it."""
        with self._lock:
            self._active.append(name)
        try:
            yield
        finally:
            with self._lock:
                self._active.remove(name)
                self._done += 1

    def line(self) -> str:
        """Return the state as one line."""
        with self._lock:
            names = ", ".join(self._active)
            state = f"{self._done} of {self._total}"
        return f"{self._what} {state}, {time.monotonic() - self._start:.0f} s: {names}"

    @contextlib.contextmanager
    def shown(self, stream: TextIO | None = None) -> Generator[None]:
        """Show the line after the first second, if ``stream`` (standard error) is a terminal."""
        out = sys.stderr if stream is None else stream
        if not _is_terminal(out) or not _line.acquire(blocking=False):
            yield
            return
        over = threading.Event()
        try:
            thread = threading.Thread(target=self._show, args=(out, over), daemon=True)
            thread.start()
            try:
                yield
            finally:
                over.set()
                thread.join()
        finally:
            _line.release()

    def _show(self, out: TextIO, over: threading.Event) -> None:
        with contextlib.suppress(OSError, ValueError):  # a stream that is closed meanwhile
            is_over = over.wait(_AFTER_S)
            width = 0
            while not is_over:
                text = self.line()[: shutil.get_terminal_size().columns - 1]
                out.write("\r" + text.ljust(width))
                out.flush()
                width = len(text)
                is_over = over.wait(_EVERY_S)
            if width:
                out.write("\r" + " " * width + "\r")
                out.flush()


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False
