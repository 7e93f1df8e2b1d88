"""What the C++ compiler costs a waiting user: the first call of a new kernel, and the cache.

* A new small kernel: the seconds of ``runtime.compile`` and its first call. ``cold`` is a process
  with an empty cache; ``warm`` a process whose cache has other kernels; ``next`` the second new
  kernel of a process.
* A program of many kernels, no two alike: the first process, which compiles them, and the second,
  which finds them in the cache. ``call`` is the time from the program's text to the result of its
  call, ``process`` that of the whole process, ``each`` the difference from the smallest program,
  per kernel.

Times are medians; every run is a new process. ``PYTHONPATH`` selects the package to measure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

KERNEL: Final = """
    @pl.function(type=pl.FunctionType.InCore)
    def scale_{n}(
        self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        t = pl.load(x, [0, 0], [64, 64])
        out = pl.store(pl.add(pl.mul(t, {a}), {b}), [0, 0], [64, 64], out)
        return out
"""
HEAD: Final = """
import pypto.language as pl

@pl.program
class Scales:
"""
MAIN: Final = """
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
    ) -> pl.Tensor[[64, 64], pl.FP32]:
"""
CHILD: Final = """
import json, sys, time
import numpy as np
import pypto.language as pl
from pypto import runtime
x = np.ones((64, 64), np.float32)
seconds = []
for text in json.load(sys.stdin):
    out = np.zeros_like(x)
    start = time.perf_counter()
    runtime.compile(pl.parse(text))(x, out)
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""


def one_kernel(salt: float) -> str:
    """Return a program of one kernel, a different one for each ``salt``."""
    return HEAD + KERNEL.format(n=0, a=salt, b=2.0)


def many_kernels(count: int) -> str:
    """Return a program of ``count`` different kernels, each called once."""
    kernels = "".join(KERNEL.format(n=n, a=n + 0.5, b=count + 0.25) for n in range(count))
    calls = "".join(f"        out = self.scale_{n}(x, out)\n" for n in range(count))
    return f"{HEAD}{kernels}{MAIN}{calls}        return out\n"


def run(texts: list[str], cache: Path) -> tuple[list[float], float]:
    """Return the seconds of each program in one process, and of the whole process."""
    env = os.environ | {"PYPTO_CACHE_DIR": str(cache)}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(texts),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    )
    return json.loads(done.stdout), time.perf_counter() - start


def small_kernel(repetitions: int) -> dict[str, list[float]]:
    """Return the seconds of new small kernels."""
    found: dict[str, list[float]] = {"cold": [], "warm": [], "next": []}
    with tempfile.TemporaryDirectory() as folder:
        for n in range(repetitions):
            seconds, _ = run([one_kernel(n + 0.25)], Path(folder, str(n)))
            found["cold"] += seconds
            first, second = run([one_kernel(n + 0.5), one_kernel(n + 0.75)], Path(folder, "0"))[0]
            found["warm"].append(first)
            found["next"].append(second)
    return found


def second_process(count: int, repetitions: int) -> dict[str, Any]:
    """Return the seconds of the first and of later processes of a program of many kernels."""
    with tempfile.TemporaryDirectory() as folder:
        text = many_kernels(count)
        first = run([text], Path(folder))[0][0]
        later = [run([text], Path(folder)) for _ in range(repetitions)]
        return {
            "first": first,
            "call": statistics.median(seconds[0] for seconds, _ in later),
            "process": statistics.median(whole for _, whole in later),
        }


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kernels", type=int, nargs="*", default=[1, 10, 40], help="1 10 40")
    parser.add_argument("--repetitions", type=int, default=7, help="of each process (7)")
    given = parser.parse_args()
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}")
    print(f"{'new small kernel':20}{'median':>10}{'fastest':>10}")
    for name, seconds in small_kernel(given.repetitions).items():
        median, fastest = statistics.median(seconds) * 1e3, min(seconds) * 1e3
        print(f"{name:20}{median:7.0f} ms{fastest:7.0f} ms")
    print(f"\n{'kernels':>8}{'first':>12}{'call':>12}{'process':>12}{'each':>12}")
    least: tuple[int, float] | None = None
    for count in given.kernels:
        row = second_process(count, given.repetitions)
        least = least or (count, row["call"])
        more = count - least[0]
        each = f"{(row['call'] - least[1]) / more * 1e3:9.1f} ms" if more else ""
        times = "".join(f"{row[name] * 1e3:9.0f} ms" for name in ("first", "call", "process"))
        print(f"{count:8}{times}{each:>12}")


if __name__ == "__main__":
    main()
