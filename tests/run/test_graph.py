"""The order of tasks: what waits for what, how many are open, and which error is reported."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.errors import EvaluationError
from pypto._src.run.graph import OPEN_PER_THREAD, Access, Buffer, Region, TaskGraph, thread_count

THREADS = pytest.mark.parametrize("threads", [1, 4])


def buffer(*shape: int) -> Region:
    return Buffer(np.zeros(shape)).whole()


def submit(graph: TaskGraph, run: Callable[[], object], *accesses: Access) -> None:
    graph.submit(run, accesses, UNKNOWN_SPAN)


def after(seconds: float, run: Callable[[], object]) -> Callable[[], None]:
    def wait_and_run() -> None:
        time.sleep(seconds)
        run()

    return wait_and_run


@THREADS
@pytest.mark.parametrize(
    ("first_writes", "second_writes"), [(True, False), (False, True), (True, True)]
)
def test_conflicting_tasks_keep_their_order(
    threads: int, first_writes: bool, second_writes: bool
) -> None:
    """Read after write, write after read and write after write wait, also on part of a region."""
    whole = buffer(8, 8)
    graph, log = TaskGraph(threads), list[str]()
    submit(graph, after(0.02, lambda: log.append("first")), (whole, first_writes))
    submit(graph, lambda: log.append("second"), (whole.view([1, 1], [7, 7]), second_writes))
    submit(graph, lambda: log.append("third"), (whole, True))
    graph.finish()
    assert log == ["first", "second", "third"]


def meeting(
    first: Access, second: Access
) -> tuple[TaskGraph, Callable[[], None], threading.Barrier]:
    barrier = threading.Barrier(2, timeout=120)
    graph = TaskGraph(2)
    submit(graph, barrier.wait, first)
    submit(graph, barrier.wait, second)
    return graph, graph.finish, barrier


def test_readers_run_together() -> None:
    """Two tasks that read one region meet inside: neither waits for the other."""
    whole = buffer(4)
    _, finish, barrier = meeting((whole, False), (whole, False))
    finish()
    assert not barrier.broken


def test_writers_of_separate_boxes_run_together() -> None:
    """Two tasks that write different columns of one buffer meet inside."""
    whole = buffer(4, 4)
    left, right = whole.view([4, 2], [0, 0]), whole.view([4, 2], [0, 2])
    _, finish, barrier = meeting((left, True), (right, True))
    finish()
    assert not barrier.broken


def test_chain_through_a_covered_access() -> None:
    """A task that waits for one which covers earlier writes waits for those, too."""
    whole = buffer(8)
    graph, log = TaskGraph(4), list[str]()
    submit(graph, after(0.03, lambda: log.append("part")), (whole.view([2], [0]), True))
    submit(graph, lambda: log.append("all"), (whole, True))
    submit(graph, lambda: log.append("read"), (whole.view([1], [1]), False))
    graph.finish()
    assert log == ["part", "all", "read"]


@THREADS
def test_random_tasks_give_the_sequential_result(threads: int) -> None:
    """Two thousand tasks on overlapping boxes compute what running them in order computes."""
    draw = random.Random(4)
    parallel, expected = buffer(12, 12), np.zeros((12, 12))
    graph = TaskGraph(threads)
    for number in range(2000):
        boxes: list[tuple[tuple[int, int], tuple[int, int]]] = []
        shape = (draw.randint(1, 5), draw.randint(1, 5))
        for _ in range(2):
            offset = (draw.randint(0, 12 - shape[0]), draw.randint(0, 12 - shape[1]))
            boxes.append((shape, offset))
        source, target = (parallel.view(*box) for box in boxes)

        def run(source: Region = source, target: Region = target, number: int = number) -> None:
            target.array[...] = source.array * 0.5 + number

        graph.submit(run, [(source, False), (target, True)], UNKNOWN_SPAN, None, number % 3 == 0)
        (h, w), ((a, b), (c, d)) = shape, (boxes[0][1], boxes[1][1])
        expected[c : c + h, d : d + w] = expected[a : a + h, b : b + w] * 0.5 + number
    graph.finish()
    np.testing.assert_array_equal(parallel.array, expected)


def test_open_tasks_are_bounded() -> None:
    """Submitting goes on only while fewer tasks than the limit are open."""
    graph, running = TaskGraph(2), threading.Semaphore(0)
    done: list[int] = []
    total = 4 * 2 * OPEN_PER_THREAD

    def run() -> None:
        running.acquire()
        done.append(1)

    threading.Thread(target=lambda: running.release(total), daemon=True).start()
    most = 0
    for submitted in range(1, total + 1):
        submit(graph, run)
        most = max(most, submitted - len(done))
    graph.finish()
    assert len(done) == total
    assert most <= 2 * OPEN_PER_THREAD


def fail(text: str) -> Callable[[], None]:
    def run() -> None:
        raise EvaluationError(text)

    return run


@THREADS
def test_first_error_in_program_order_is_reported(threads: int) -> None:
    """Of two failing tasks the one submitted first is reported, though it fails later."""
    graph = TaskGraph(threads)
    place = Span("user.py", 7, 4)

    def run_all() -> None:
        graph.submit(after(0.02, fail("early")), [(buffer(1), True)], place)
        submit(graph, fail("late"), (buffer(1), True))
        graph.finish()

    with pytest.raises(EvaluationError, match="early") as caught:
        run_all()
    assert caught.value.span is place


@THREADS
def test_tasks_after_an_error_do_not_run(threads: int) -> None:
    """What waits for a failed task never runs, and submitting anything more reports the error."""
    graph, log, whole = TaskGraph(threads), list[str](), buffer(2)

    def run_all() -> None:
        submit(graph, fail("broken"), (whole, True))
        submit(graph, lambda: log.append("follower"), (whole, False))
        graph.finish()

    with pytest.raises(EvaluationError, match="broken"):
        run_all()
    assert log == []
    if threads > 1:
        with pytest.raises(EvaluationError, match="broken"):
            submit(graph, lambda: log.append("more"))
    assert log == []


@THREADS
def test_waiting_for_a_region(threads: int) -> None:
    """An access from outside waits for the writers of that region, not for other tasks."""
    whole, log, gate = buffer(4), list[str](), threading.Event()
    graph = TaskGraph(threads)
    submit(graph, after(0.02, lambda: log.append("written")), (whole.view([1], [0]), True))
    if threads > 1:
        submit(graph, lambda: gate.wait(10), (whole.view([1], [1]), True))
        submit(graph, lambda: None)  # so that the task at the gate is not held back
    graph.wait_for(whole.view([1], [0]), False)
    assert log == ["written"]
    gate.set()
    graph.finish()


def test_cancelled_tasks_do_not_run() -> None:
    """After cancel nothing that had not begun ever runs."""
    graph, log, whole = TaskGraph(2), list[str](), buffer(2)
    gate = threading.Event()
    submit(graph, lambda: gate.wait(10), (whole, True))
    submit(graph, lambda: None)
    submit(graph, lambda: log.append("never"), (whole, True))
    threading.Timer(0.02, gate.set).start()
    graph.cancel()
    assert log == []


@pytest.mark.parametrize(
    ("shape", "offset", "is_dense"),
    [
        ((4, 6), (0, 0), True),
        ((2, 6), (1, 0), True),
        ((1, 3), (2, 2), True),
        ((2, 3), (0, 0), False),
        ((4, 1), (0, 0), False),
    ],
)
def test_views_know_their_memory(
    shape: tuple[int, int], offset: tuple[int, int], is_dense: bool
) -> None:
    """Address and density of a view are those of the NumPy view of the same box."""
    view = Buffer(np.arange(24.0).reshape(4, 6)).whole().view(shape, offset)
    assert view.address == view.array.ctypes.data
    assert view.array.shape == shape
    assert view.is_dense is is_dense
    assert view.array.flags.c_contiguous is is_dense


def test_view_of_a_view() -> None:
    """Offsets add up, and bounds are those of the inner view."""
    inner = Buffer(np.arange(24.0).reshape(4, 6)).whole().view([3, 4], [1, 1])
    assert inner.view([1, 1], [2, 3]).array.tolist() == [[22.0]]
    with pytest.raises(EvaluationError) as caught:
        inner.view([1, 2], [0, 3])
    assert caught.value.message == "pl.view takes [0:1, 3:5] of a tensor [3, 4]"


def test_thread_count_is_a_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    """PYPTO_NUM_THREADS decides how many threads there are."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "3")
    assert thread_count() == 3
