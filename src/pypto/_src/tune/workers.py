"""Processes that examine candidates: plain data is sent and comes back, no code and no pickles.

A worker runs the module `worker` in this Python. It knows nothing of the program that started it,
so a script needs no guard around what it does on import.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from pypto._src.lazy import lazy_module
from pypto._src.tune.examine import answer

if TYPE_CHECKING:
    from pypto._src.cluster.tasks import Tasks

msgpack = lazy_module("msgpack")

_LENGTH: Final = 8


def write_message(stream: BinaryIO, message: object) -> None:
    """Write a message of plain data, preceded by its length."""
    data = cast("bytes", msgpack.packb(message))
    stream.write(len(data).to_bytes(_LENGTH, "little") + data)
    stream.flush()


def read_message(stream: BinaryIO) -> dict[str, Any] | None:
    """Return the next message, None at the end of the stream."""
    head = stream.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    data = stream.read(int.from_bytes(head, "little"))
    return cast("dict[str, Any]", msgpack.unpackb(data))


class _Process:
    """One process, which answers one request at a time."""

    def __init__(self) -> None:
        package = str(Path(__file__).parents[3])
        path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", f"{__package__}.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the process that the user sees
        )

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request; for a process that has ended, a refusal."""
        pipes = self._process
        assert pipes.stdin is not None
        assert pipes.stdout is not None
        try:
            write_message(cast("BinaryIO", pipes.stdin), request)
            found = read_message(cast("BinaryIO", pipes.stdout))
        except OSError:
            found = None
        if found is None:
            return {"refused": "the process that compiled it ended", "slug": "worker"}
        return found

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.communicate()


class Workers:
    """Worker processes and the threads that wait for them; none if at most one is wanted."""

    def __init__(self, count: int, on: str | None = None) -> None:
        """Take the number of processes here, or the cluster that works instead."""
        self._tasks: Tasks | None = None
        if on is not None:
            from pypto._src.cluster.tasks import Tasks

            self._tasks, count = Tasks(on, answer), 1
        self._own = threading.local()
        self._lock = threading.Lock()
        self._processes: list[_Process] = []
        self._is_here = count <= 1 or not sys.executable
        self._threads = None if self._is_here else ThreadPoolExecutor(count)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End all processes; what they are doing is lost."""
        if self._tasks is not None:
            self._tasks.close()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for process in self._processes:
                process.end()
            self._processes.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=True)

    def ask(self, request: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Send a request; return its future, which is done at once if there are no processes."""
        if self._tasks is not None:
            return self._tasks.ask(request)
        if self._threads is not None:
            return self._threads.submit(self._ask, request)
        found: Future[dict[str, Any]] = Future()
        found.set_result(answer(request))
        return found

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        process: _Process | None = getattr(self._own, "process", None)
        if process is None:
            process = self._own.process = _Process()
            with self._lock:
                self._processes.append(process)
        return process.ask(request)


def answers(futures: Sequence[Future[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return all answers, in the order of the requests."""
    return [future.result() for future in futures]
