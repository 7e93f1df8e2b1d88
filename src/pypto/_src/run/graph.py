"""Tasks of one call, run by threads in any order that their regions of memory allow.

Owns buffers, regions of them, and the order: a task waits for earlier ones whose region overlaps
its own where one of the two writes. Results are those of running the tasks one after the other,
errors included: of several tasks that fail, the first in order of submission is reported. Knows
nothing of kernels: a task is something to call.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from pypto._src import knobs
from pypto._src.diagnostics import Span
from pypto._src.errors import PyptoError
from pypto._src.lazy import lazy_module
from pypto._src.ops.boxes import region

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

OPEN_PER_THREAD: Final = 32
"""Tasks that may be submitted and not finished, for each thread: bounds memory and searching."""

Box = tuple[tuple[int, int], ...]
"""First index and the one behind the last, a pair for each dimension of the buffer."""


class Buffer:
    """One allocation, with the tasks that may still access it."""

    __slots__ = ("accesses", "address", "array", "shape", "strides")

    def __init__(self, array: Array, address: int | None = None) -> None:
        self.array = array
        self.shape: tuple[int, ...] = array.shape
        self.address: int = array.ctypes.data if address is None else address
        self.strides: tuple[int, ...] = array.strides
        self.accesses: list[tuple[Task, Box, bool]] = []

    def whole(self) -> Region:
        """Return the region that is all of the buffer, which is dense and row-major."""
        box = tuple([(0, size) for size in self.shape])
        return Region(self, box, self.shape, self.address, True)


class Region:
    """A box of a buffer: what a tensor of an orchestration is."""

    __slots__ = ("address", "box", "buffer", "is_dense", "shape")

    def __init__(
        self, buffer: Buffer, box: Box, shape: tuple[int, ...], address: int, is_dense: bool
    ) -> None:
        self.buffer = buffer
        self.box = box
        self.shape = shape
        self.address = address
        self.is_dense = is_dense  # the elements lie behind one another

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements."""
        return self.buffer.array.dtype

    @property
    def array(self) -> Array:
        """The region as a view of the buffer's array; of a whole buffer, that very array."""
        array = self.buffer.array
        if self.shape == array.shape:
            return array
        return array[tuple([slice(low, high) for low, high in self.box])]

    def view(self, shape: Sequence[int], offset: Sequence[int]) -> Region:
        """Return the part of size ``shape`` at ``offset``.

        Raises:
            EvaluationError: it does not lie inside this region.
        """
        address = self.address
        box: list[tuple[int, int]] = []
        is_dense, is_row = True, True  # is_row: all sizes so far are 1
        buffer = self.buffer
        rows = zip(self.box, self.shape, shape, offset, buffer.strides, buffer.shape, strict=True)
        for (low, _), limit, size, begin, stride, whole in rows:
            if begin < 0 or size < 0 or begin + size > limit:
                region(self.array, offset, shape, "pl.view takes")  # raises, in the op's words
            first = low + begin
            box.append((first, first + size))
            address += begin * stride
            is_dense = is_dense and (is_row or size == whole)
            is_row = is_row and size == 1
        return Region(buffer, tuple(box), tuple(shape), address, is_dense)


class Task:
    """Something to run, and the tasks that wait for it."""

    __slots__ = ("done", "followers", "graph", "keep", "number", "run", "span", "waits")

    def __init__(
        self, graph: TaskGraph, number: int, run: Callable[[], object], span: Span, keep: object
    ) -> None:
        self.graph = graph
        self.number = number
        self.run = run
        self.span = span
        self.keep = keep  # alive until the task is done: its run may hold bare addresses
        self.waits = 0
        self.followers: list[Task] = []
        self.done = False


Access = tuple[Region, bool]
"""A region, and whether the task writes it. A task that writes a region may read it, too."""


class TaskGraph:
    """The tasks of one call. Used by one thread, which gives tasks in the order of the program."""

    def __init__(self, threads: int) -> None:
        self._pool = None if threads == 1 else _pool(threads)
        self._limit = threads * OPEN_PER_THREAD
        self._changed = threading.Condition(threading.Lock())
        self._wake_at = -1  # number of open tasks at which the waiting thread looks again
        self._open = 0
        self._submitted = 0
        self._held: Task | None = None
        self._failure: BaseException | None = None
        self._failed_at: float = math.inf  # number of the first task that failed

    def submit(
        self,
        run: Callable[[], object],
        accesses: Sequence[Access],
        span: Span,
        keep: object = None,
        is_short: bool = False,
    ) -> None:
        """Run something as soon as no earlier task stands in the way, or right now.

        Args:
            run: What to call, once, in any thread.
            accesses: The regions that it reads and writes.
            span: The place of the call in the user's program.
            keep: Stays alive until ``run`` has ended.
            is_short: Running takes no longer than handing over to another thread does.

        Raises:
            Exception: what an earlier task raised (or this one), with its place.
        """
        if self._pool is None:
            _run_at(run, span)
            return
        if self._failure is not None:
            self.finish()
        task = Task(self, self._submitted, run, span, keep)
        self._submitted += 1
        with self._changed:
            for target, writes in accesses:
                _enter(task, target, writes)
            self._open += 1
            is_ready = task.waits == 0
        if is_ready and is_short:
            self.execute(task)
        elif is_ready:
            # The newest ready task is held back: a lone one runs in this thread, without a switch.
            held, self._held = self._held, task
            if held is not None:
                self._pool.put(held)
        if self._open >= self._limit:
            self._wait(self._limit // 2)

    def wait_for(self, target: Region, writes: bool) -> None:
        """Return when no open task stands in the way of an access to a region.

        Raises:
            Exception: what a task raised, with its place.
        """
        with self._changed:
            entries = target.buffer.accesses
            blockers = [entry[0] for entry in entries if _conflict(entry, target.box, writes)]
        if blockers:
            self._wait(0, blockers)
        if self._failure is not None:
            self.finish()

    def finish(self) -> None:
        """Return when all tasks are done.

        Raises:
            Exception: what the first task that failed raised, with its place.
        """
        self._wait(0)
        if self._failure is not None:
            raise self._failure

    def cancel(self) -> None:
        """Return when no task runs; those that have not begun never will."""
        self._failed_at = -1
        self._wait(0)

    def _wait(self, most: int, tasks: Sequence[Task] | None = None) -> None:
        """Return when at most so many tasks are open, or all of the given ones are done."""
        held, self._held = self._held, None
        while held is not None:
            held = self.execute(held)
        with self._changed:
            try:
                while self._open > most if tasks is None else any(not task.done for task in tasks):
                    self._wake_at = most if tasks is None else self._limit
                    self._changed.wait()
            except BaseException:  # Ctrl-C: tasks write to the caller's arrays, so none may go on
                self._failed_at = -1
                self._wake_at = 0
                while self._open:
                    self._changed.wait()
                raise
            finally:
                self._wake_at = -1

    def execute(self, task: Task) -> Task | None:
        """Run a task whose turn has come; return another one that can run now, if any."""
        error: BaseException | None = None
        if task.number < self._failed_at:
            try:
                _run_at(task.run, task.span)
            except BaseException as found:  # also Ctrl-C: nobody may wait for the task for ever
                error = found
        following: Task | None = None
        with self._changed:
            if error is not None and task.number < self._failed_at:
                self._failure, self._failed_at = error, task.number
            task.done = True
            for follower in task.followers:
                follower.waits -= 1
                if follower.waits == 0:
                    if following is not None:
                        self._hand_over(following)
                    following = follower
            self._open -= 1
            if self._open <= self._wake_at:
                self._changed.notify()
        task.run, task.keep, task.followers = _nothing, None, []
        return following

    def _hand_over(self, task: Task) -> None:
        assert self._pool is not None
        self._pool.put(task)


def _nothing() -> None:
    return None


def _run_at(run: Callable[[], object], span: Span) -> None:
    try:
        run()
    except PyptoError as error:
        raise error.at(span) from None


def _enter(task: Task, target: Region, writes: bool) -> None:
    """Make ``task`` wait for the open tasks in its way, and note its own access."""
    box, kept = target.box, list[tuple[Task, Box, bool]]()
    for entry in target.buffer.accesses:
        other = entry[0]
        if other.done:
            continue
        if other is not task and _conflict(entry, box, writes):
            other.followers.append(task)
            task.waits += 1
            if writes and _covers(box, entry[1]):
                continue  # whoever would wait for it waits for this task instead
        kept.append(entry)
    kept.append((task, box, writes))
    target.buffer.accesses = kept


def _conflict(entry: tuple[Task, Box, bool], box: Box, writes: bool) -> bool:
    task, other, other_writes = entry
    if task.done or not (writes or other_writes):
        return False
    for (low, high), (first, end) in zip(box, other, strict=True):
        if high <= first or end <= low:
            return False
    return True


def _covers(box: Box, other: Box) -> bool:
    for (low, high), (first, end) in zip(box, other, strict=True):
        if first < low or high < end:
            return False
    return True


# --------------------------------------------------------------------------------------------
# Threads
# --------------------------------------------------------------------------------------------


def thread_count() -> int:
    """Return how many threads run tasks: PYPTO_NUM_THREADS, else the CPUs of this process."""
    chosen = knobs.NUM_THREADS.get()
    if chosen is not None:
        return chosen
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_pools: dict[tuple[int, int], SimpleQueue[Task]] = {}


def _pool(threads: int) -> SimpleQueue[Task]:
    """Return the queue that so many threads take tasks from; they live as long as the process."""
    key = (os.getpid(), threads)  # a forked child has none of its parent's threads
    queue = _pools.get(key)
    if queue is None:
        queue = _pools.setdefault(key, SimpleQueue())
        for number in range(threads):
            name = f"pypto-{threads}-{number}"
            threading.Thread(target=_work, args=(queue,), name=name, daemon=True).start()
    return queue


def _work(queue: SimpleQueue[Task]) -> None:
    while True:
        task: Task | None = queue.get()
        while task is not None:
            task = task.graph.execute(task)
