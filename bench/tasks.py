"""Measure the cost of a task: 10,000 empty tasks, in four shapes of graph.

    python bench/tasks.py [--threads 2] [--repeat 40]

Each program is compiled with `pypto.runtime.compile` and called from Python; the time is that of
the whole call. The peer is OpenMP tasks with ``depend`` clauses from the same compiler. Its
dependences are given by hand: it knows addresses, not overlapping regions, so a join is a taskwait.

Prints the best and the median of all repeats in milliseconds, nanoseconds per task (of the best),
and the ratio of the best to ours.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pypto.language as pl
from pypto import runtime
from pypto._src.run.toolchain import find_toolchain
from pypto._src.run.toolchain import run as run_command

TASKS = 10_000

PROGRAM = """
@pl.program
class Tasks:
    @pl.function(type=pl.FunctionType.InCore)
    def nothing(self, x: pl.InOut[pl.Tensor[[1, 8], pl.FP32]]) -> pl.Tensor[[1, 8], pl.FP32]:
        return x

    @pl.function(type=pl.FunctionType.InCore)
    def join(self, x: pl.InOut[pl.Tensor[[10000, 8], pl.FP32]]) -> pl.Tensor[[10000, 8], pl.FP32]:
        return x

    @pl.function(type=pl.FunctionType.Orchestration)
    def independent(self, x: pl.InOut[pl.Tensor[[10000, 8], pl.FP32]]):
        for i in pl.range(0, 10000):
            self.nothing(pl.view(x, [1, 8], [i, 0]))

    @pl.function(type=pl.FunctionType.Orchestration)
    def chain(self, x: pl.InOut[pl.Tensor[[10000, 8], pl.FP32]]):
        for i in pl.range(0, 10000):
            self.nothing(pl.view(x, [1, 8], [0, 0]))

    @pl.function(type=pl.FunctionType.Orchestration)
    def chains(self, x: pl.InOut[pl.Tensor[[10000, 8], pl.FP32]]):
        for i in pl.range(0, 100):
            for k in pl.range(0, 100):
                self.nothing(pl.view(x, [1, 8], [k, 0]))

    @pl.function(type=pl.FunctionType.Orchestration)
    def fork_join(self, x: pl.InOut[pl.Tensor[[10000, 8], pl.FP32]]):
        for i in pl.range(0, 100):
            for k in pl.range(0, 99):
                self.nothing(pl.view(x, [1, 8], [k, 0]))
            self.join(x)
"""
SHAPES = ("independent", "chain", "chains", "fork_join")

OPENMP = """
#include <omp.h>

static char x[10000];
__attribute__((noinline)) static void nothing(char* p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

template <class Body>
static void run(int threads, Body body)
{
    #pragma omp parallel num_threads(threads)
    #pragma omp single
    body();
}

extern "C" void independent(int threads)
{
    run(threads, [] {
        for (int i = 0; i < 10000; i++) {
            #pragma omp task depend(inout: x[i]) firstprivate(i)
            nothing(x + i);
        }
    });
}
extern "C" void chain(int threads)
{
    run(threads, [] {
        for (int i = 0; i < 10000; i++) {
            #pragma omp task depend(inout: x[0])
            nothing(x);
        }
    });
}
extern "C" void chains(int threads)
{
    run(threads, [] {
        for (int i = 0; i < 100; i++) {
            for (int k = 0; k < 100; k++) {
                #pragma omp task depend(inout: x[k]) firstprivate(k)
                nothing(x + k);
            }
        }
    });
}
extern "C" void fork_join(int threads)
{
    run(threads, [] {
        for (int i = 0; i < 100; i++) {
            for (int k = 0; k < 99; k++) {
                #pragma omp task depend(inout: x[k]) firstprivate(k)
                nothing(x + k);
            }
            #pragma omp taskwait
            nothing(x);
        }
    });
}
"""


def milliseconds(call: Callable[[], object], repeat: int) -> list[float]:
    """Return the times of ``repeat`` calls, after two warm-up calls."""
    found: list[float] = []
    for _ in range(repeat + 2):
        begin = time.perf_counter()
        call()
        found.append((time.perf_counter() - begin) * 1e3)
    return found[2:]


def openmp(folder: Path) -> ctypes.CDLL | None:
    """Return the peer's functions, None where the compiler has no OpenMP."""
    toolchain = find_toolchain()
    assert toolchain is not None
    source, output = folder / "peer.cpp", folder / "peer.so"
    source.write_text(OPENMP)
    flags = [*toolchain.flags, "-fopenmp", "-fvisibility=default"]
    command = [*toolchain.command, *flags, str(source), "-o", str(output)]
    if run_command(command, timeout_s=60).code != 0:
        return None
    return ctypes.CDLL(str(output))


def row(name: str, runtime_name: str, times: list[float], ours: float) -> str:
    """Return one line of the table."""
    best, middle = min(times), statistics.median(times)
    each = best * 1e6 / TASKS
    return f"{name:12} {runtime_name:14} {best:9.3f} {middle:9.3f} {each:9.0f} {best / ours:8.2f}"


def compiled(program: Any, shape: str) -> Callable[[], object]:
    """Return a function that runs one orchestration of the program."""
    return runtime.compile(program, entry=shape).prepared([np.zeros((TASKS, 8), np.float32)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What a task that does nothing costs.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=40)
    chosen = parser.parse_args()
    threads, repeat = int(chosen.threads), int(chosen.repeat)
    os.environ["PYPTO_NUM_THREADS"] = str(threads)
    program = pl.parse_program(PROGRAM)
    print(f"{TASKS} empty tasks on {threads} threads, best and median of {repeat}")
    print(f"{'graph':12} {'runtime':14} {'best ms':>9} {'median':>9} {'ns/task':>9} {'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        peer = openmp(Path(folder))
        for shape in SHAPES:
            times = milliseconds(compiled(program, shape), repeat)
            best = min(times)
            print(row(shape, "PyPTO", times, best))
            if peer is not None:
                call = peer[shape]
                others = milliseconds(lambda call=call: call(threads), repeat)
                print(row(shape, "OpenMP", others, best))


if __name__ == "__main__":
    main()
