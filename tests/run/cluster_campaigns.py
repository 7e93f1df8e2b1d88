"""Long fault-injection runs on a Ray cluster: ranks that are killed, a sweep that loses a node.

``python -m tests.run.cluster_campaigns kills [COUNT]`` kills one rank of a running program with
SIGKILL, COUNT times, and checks how long the error takes, whom it names, and what is left behind.
``python -m tests.run.cluster_campaigns sweep [COUNT]`` lets two nodes evaluate COUNT candidates of
a kernel, and kills one of the nodes when half of them are done. Both print what they find, and
exit with status 1 if it is not as expected.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

import pypto.language as pl
from pypto._src.cluster.tasks import Tasks
from pypto._src.errors import EvaluationError
from tests.run.test_cluster import arrays, busy, config, is_busy, is_ours, nodes, rank_processes

LATEST_S: Final = 10.0
"""A run whose rank was killed must end within this many seconds."""


def shared_memory() -> set[str]:
    """Return the names of the objects in shared memory."""
    return {path.name for path in Path("/dev/shm").iterdir()}


def windows() -> int:
    """Return how many child processes of this one map windows of ranks."""
    found = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            found += b"pypto-window" in (path / "maps").read_bytes() and is_ours(int(path.name))
        except OSError:
            continue
    return found


# --------------------------------------------------------------------------------------------
# Ranks that are killed
# --------------------------------------------------------------------------------------------


def kills(count: int) -> int:
    """Kill a rank ``count`` times; return 1 if an error is late or wrong, or something is left."""
    x, _ = arrays()
    before = shared_memory()
    slowest, wrong = 0.0, list[str]()
    left_processes = left_windows = 0
    with nodes(2, 2):
        for number in range(count):
            seconds, what = killed(x)
            slowest = max(slowest, seconds)
            if what:
                wrong.append(f"run {number}: {what}")
            ended(lambda: not rank_processes())
            left_processes += len(rank_processes())
            left_windows += windows()
            if (number + 1) % 10 == 0:
                print(f"{number + 1} runs: slowest {slowest:.2f} s, {len(wrong)} wrong", flush=True)
    left = sorted(shared_memory() - before)
    print(
        f"{count} ranks killed: the error came after {slowest:.2f} s at most, {len(wrong)} wrong; "
        f"left: {left_processes} processes, {left_windows} windows, {len(left)} in shared memory"
    )
    for line in wrong + left:
        print(f"  {line}")
    return int(bool(wrong or left or left_processes or left_windows or slowest > LATEST_S))


def killed(x: Any) -> tuple[float, str]:
    """Kill a rank that is computing; return how long the error took, and what is wrong with it."""
    found: list[tuple[int, float]] = []
    y = np.zeros_like(x)

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not found:
            process = next(filter(is_busy, rank_processes()), None)
            if process is not None:
                found.append((process, time.monotonic()))
                os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    message, slug = "the run ended without an error", ""
    try:
        busy(x, y, config=config("ray"))
    except EvaluationError as error:
        message, slug = error.message, error.slug
    end = time.monotonic()
    killer.join()
    [(process, begin)] = found
    is_right = slug == "rank-lost" and f"process {process} has ended" in message
    half = "; something was written" if y.any() else ""
    return end - begin, "" if is_right and not half else message + half


def ended(what: Callable[[], bool]) -> None:
    """Wait for a limited time until a condition becomes true."""
    deadline = time.monotonic() + LATEST_S
    while not what() and time.monotonic() < deadline:
        time.sleep(0.05)


# --------------------------------------------------------------------------------------------
# A sweep that loses a node
# --------------------------------------------------------------------------------------------

TILES: Final = tuple(range(1, 21))


def kernel(count: int) -> Any:
    """Return a kernel with at least ``count`` candidates."""
    numbers = [*range(-(-count // len(TILES)))]

    @pl.autotune(ROWS_OF_TILE=TILES, NUMBER=numbers)
    @pl.jit
    def scaled(
        a: pl.Tensor[[64, 64], pl.FP32],
        b: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        ROWS_OF_TILE: int = 8,
        NUMBER: int = 0,
    ):
        for r in pl.range(64 // ROWS_OF_TILE):
            tile = pl.load(a, [r * ROWS_OF_TILE, 0], [ROWS_OF_TILE, 64])
            b = pl.store(pl.mul(tile, NUMBER * 0.5), [r * ROWS_OF_TILE, 0], [ROWS_OF_TILE, 64], b)
        return b

    return scaled


def sweep(count: int) -> int:
    """Evaluate candidates on two nodes, one of which dies halfway; return 1 if any is missing."""
    a = np.zeros((64, 64), np.float32)
    tuned, judged, lost = kernel(count), [0], list[float]()
    ask = Tasks.ask
    with TemporaryDirectory() as folder, nodes(1, 1) as (cluster, [second]):
        os.environ["PYPTO_CACHE_DIR"] = folder

        def counted(self: Tasks, request: Any) -> Any:
            answer = ask(self, request)
            answer.add_done_callback(one_more)
            return answer

        def one_more(_answer: Any) -> None:
            judged[0] += 1
            if judged[0] == count // 2:
                threading.Thread(target=kill).start()

        def kill() -> None:
            lost.append(time.monotonic())
            cluster.remove_node(second, allow_graceful=False)

        Tasks.ask = counted
        begin = time.monotonic()
        try:
            outcome = tuned.tune(a, a.copy(), on="ray").outcome
        finally:
            Tasks.ask = ask
        end = time.monotonic()
    choices = {(tuple(each.choice.items()), each.overlap) for each in outcome.candidates}
    legal = [each for each in outcome.candidates if not each.refused]
    missing = [each for each in legal if not each.estimate]
    gone = [each for each in outcome.candidates if "lost on the cluster" in each.refused]
    whole = len(outcome.candidates)
    print(
        f"{whole} candidates on two nodes in {end - begin:.0f} s, one of which was killed after "
        f"{lost[0] - begin if lost else np.nan:.1f} s: {len(choices)} different, {len(legal)} "
        f"legal, {whole - len(legal) - len(gone)} refused, {len(gone)} lost, {len(missing)} not "
        f"judged; {judged[0]} answers, {len(outcome.ranked)} simulated to the end"
    )
    is_whole = len(choices) == whole >= count
    return int(not is_whole or bool(missing or gone or not lost or outcome.stopped))


def main() -> int:
    """Run the campaign named on the command line."""
    campaigns: dict[str, tuple[Callable[[int], int], int]] = {
        "kills": (kills, 50),
        "sweep": (sweep, 2000),
    }
    run, count = campaigns[sys.argv[1]]
    return run(int(sys.argv[2]) if len(sys.argv) > 2 else count)


if __name__ == "__main__":
    sys.exit(main())
