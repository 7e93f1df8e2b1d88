"""How long Ctrl-C takes: from the signal to KeyboardInterrupt in the caller, with all work ended.

    python bench/interrupts.py [--repeat 100] [ROW ...]

Sends SIGINT to itself at a random moment of a run that would take hours, or of a compilation.
`scalars` is a kernel whose loop has no instruction, `kernel` one that loads and stores 4 KiB in
each iteration; with two threads a second Python thread computes kernels meanwhile. `host` is an
orchestration that loops without a task, `tasks` one whose tasks, one per thread, are endless.
`compile` is the compilation of a text that is not in the cache, so that the signal interrupts
passes, emission or the C++ compiler: of one kernel, and of two that compile at once. Prints median
and worst in milliseconds. Takes about five minutes.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

import pypto.language as pl
from pypto import runtime
from pypto._src.run.toolchain import find_toolchain

ENDLESS = 1 << 60
ROWS = ("kernel", "scalars", "host", "tasks", "compile")

PROGRAM = """
@pl.program
class Endless:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.InOut[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        for i in pl.range(n):
            t = pl.load(x, [0, 0], [16, 64])
            x = pl.store(pl.add(t, 1.0), [0, 0], [16, 64], x)
        return x

    @pl.function(type=pl.FunctionType.InCore)
    def scalars(self, x: pl.InOut[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        s = 0
        for i in pl.range(n):
            s = (s * 5 + i) % 1000003
        t = pl.load(x, [0, 0], [16, 64])
        x = pl.store(pl.add(t, s), [0, 0], [16, 64], x)
        return x

    @pl.function(type=pl.FunctionType.Orchestration)
    def host(self, x: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        s = 0
        for i in pl.range(n):
            s = (s * 5 + i) % 1000003
        if s == 3:
            self.kernel(x[0:16], 1)
        return x

    @pl.function(type=pl.FunctionType.Orchestration)
    def tasks(self, x: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        for i in pl.range(4):
            self.kernel(x[i * 16 : i * 16 + 16], n)
        return x

    @pl.function(type=pl.FunctionType.Orchestration)
    def both(self, x: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        self.kernel(x[0:16], n)
        self.scalars(x[16:32], n)
        return x
"""


def latency(run: Callable[[], Any], after_s: float) -> float | None:
    """Return seconds from a signal to the end of ``run``; None if it ended before the signal."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after_s, send)
    try:
        timer.start()
        run()
        timer.cancel()
        timer.join()  # the signal may come here, and then is not counted
    except KeyboardInterrupt:
        end = time.perf_counter()
        timer.join()
        return end - sent[0] if timer.finished.is_set() else None
    return None


def measure(name: str, threads: int, run: Callable[[], Any], longest_s: float, repeat: int) -> None:
    """Print the latencies of a run that is interrupted within ``longest_s`` seconds."""
    found: list[float] = []
    chance = random.Random(0)
    for _ in range(2 * repeat):  # a compilation may end before the signal
        if len(found) < repeat:
            seconds = latency(run, chance.uniform(0.02, longest_s))
            found += [] if seconds is None else [seconds * 1e3]
    figures = f"{statistics.median(found):>10.1f}{max(found):>10.1f}" if found else ""
    print(f"{name:<20}{threads:>8}{len(found):>8}{figures}", flush=True)


@contextmanager
def busy_thread(compiled: Any) -> Generator[None]:
    """Run kernels in another thread."""
    done = threading.Event()
    x = np.zeros((16, 64), np.float32)

    def work() -> None:
        while not done.is_set():
            compiled(x, 10_000)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def measure_runs(program: Any, name: str, repeat: int) -> None:
    """Print the rows of a kernel, or of an orchestration."""
    compiled = runtime.compile(program, entry=name)
    if name in ("kernel", "scalars"):
        array = np.zeros((16, 64), np.float32)
        measure(name, 1, lambda: compiled(array, ENDLESS), 0.2, repeat)
        with busy_thread(runtime.compile(program, entry="kernel")):
            measure(name, 2, lambda: compiled(array, ENDLESS), 0.2, repeat)
        return
    array = np.zeros((64, 64), np.float32)
    for threads in (1, 2):
        os.environ["PYPTO_NUM_THREADS"] = str(threads)
        measure(name, threads, lambda: compiled(array, ENDLESS), 0.2, repeat)


def measure_compilations(repeat: int) -> None:
    """Print the rows of compilations, each of a different text, so that none is in the cache."""
    numbers = itertools.count(1)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PYPTO_CACHE_DIR"] = cache
        for threads, entry in ((1, "kernel"), (2, "both")):
            os.environ["PYPTO_NUM_THREADS"] = str(threads)

            def compile_another(entry: str = entry) -> None:
                text = PROGRAM.replace("add(t, 1.0)", f"add(t, {next(numbers)}.0)")
                text = text.replace("1000003", str(1000003 + next(numbers)))
                runtime.compile(pl.parse(text), entry=entry)

            compile_another()  # fills the cache with what all programs share
            begin = time.perf_counter()
            compile_another()
            seconds = time.perf_counter() - begin
            measure("compile", threads, compile_another, 0.9 * seconds, repeat)


def main() -> None:
    """Measure and print all rows, or those that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--repeat", type=int, default=100)
    chosen = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    toolchain = find_toolchain()
    print(toolchain.label if toolchain else "no C++ compiler")
    print(f"{'ms':<20}{'threads':>8}{'times':>8}{'median':>10}{'worst':>10}")
    program = pl.parse(PROGRAM)
    for name in chosen.rows or ROWS:
        if name == "compile":
            measure_compilations(chosen.repeat)
        else:
            measure_runs(program, name, chosen.repeat)


if __name__ == "__main__":
    main()
