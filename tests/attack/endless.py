"""Programs that never end, one per process, selected by name: ``python endless.py CASE THREADS``.

Prints ``ready`` when it is about to be interrupted, then the outcome as one line of JSON. It
never ends by itself, so the caller has to watch it.
"""

# The annotations of kernels are a language of their own, and their bodies are not run as Python.
# pyright: basic, reportInvalidTypeArguments=false, reportOperatorIssue=false
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false
# pyright: reportCallIssue=false, reportGeneralTypeIssues=false
# ruff: noqa: B007, RET504  loops that only go round; a store's result is named, as in the documents

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pypto.language as pl
from pypto import runtime
from pypto._src.run.native import KernelError
from pypto._src.run.toolchain import find_toolchain

ENDLESS = 1 << 60


@pl.program
class Program:
    """Kernels and hosts whose last argument is the number of iterations of their loops."""

    @pl.function(type=pl.FunctionType.InCore)
    def rows(self, out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Store in each iteration, so that the iterations can be counted in the result."""
        for i in pl.range(n):
            t = pl.load(out, [0, 0], [16, 64])
            out = pl.store(pl.add(t, 1.0), [0, 0], [16, 64], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def scalars(self, out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Compute a scalar in nested loops without any instruction."""
        s = 0
        for i in pl.range(0, n, 2):
            for j in pl.range(i, n + i, n // 2):
                s = (s * 5 + j) % 1000003
        t = pl.load(out, [0, 0], [16, 64])
        out = pl.store(pl.add(t, s), [0, 0], [16, 64], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def until(self, out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Wait for a condition that becomes true after about as many iterations."""
        s = 0
        while s < n:
            s = s + 1
        t = pl.load(out, [0, 0], [16, 64])
        out = pl.store(pl.add(t, s), [0, 0], [16, 64], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def beyond(self, out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Load out of bounds from the fourth iteration on."""
        for i in pl.range(n):
            t = pl.load(out, [i * 4, 0], [4, 64])
            out = pl.store(pl.add(t, 1.0), [0, 0], [4, 64], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def element(self, out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Read elements out of bounds."""
        s = 0.0
        for i in pl.range(n):
            s = s + pl.tensor.read(out, [i, 0])
        t = pl.load(out, [0, 0], [16, 64])
        out = pl.store(pl.add(t, s), [0, 0], [16, 64], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def division(self, out: pl.InOut[pl.Tensor[[16, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Divide by zero in the fourth iteration, and never again."""
        s = 0
        for i in pl.range(n):
            s = s + n // (3 - i)
        t = pl.load(out, [0, 0], [16, 64])
        out = pl.store(pl.add(t, s), [0, 0], [16, 64], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def no_tasks(self, out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Loop without a task."""
        s = 0
        for i in pl.range(n):
            s = (s * 5 + i) % 1000003
        if s == 3:
            self.rows(out[0:16], 1)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def short_tasks(self, out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Submit short tasks."""
        for i in pl.range(n):
            self.rows(out[i % 4 * 16 : i % 4 * 16 + 16], 1)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def endless_tasks(self, out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Submit four endless tasks, two of which are started at once by two threads."""
        for i in pl.range(4):
            self.rows(out[i * 16 : i * 16 + 16], n)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def host_ops(self, out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Compute whole tensors in Python."""
        for i in pl.range(n):
            made = pl.add(out, 1.0)
            self.rows(made[0:16], 1)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def failing_task(self, out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Submit a task that fails at once, and one that never ends."""
        self.beyond(out[0:16], n)
        self.rows(out[16:32], n)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def failing_later(self, out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64]):
        """Submit a task that fails after a while, next to endless ones."""
        self.rows(out[0:16], 200000)
        self.beyond(out[0:16], n)
        self.rows(out[16:32], n)
        self.rows(out[32:48], n)
        return out


def call(name: str, rows: int) -> tuple[Callable[[int], Any], Any]:
    """Return a callable that runs a function of the program, and the array that it writes."""
    out = np.zeros((rows, 64), np.float32)
    compiled = runtime.compile(Program, entry=name)
    return lambda n: compiled(out, n), out


def interrupted(run: Callable[[], Any]) -> dict[str, Any]:
    """Return what ended an endless run."""
    print("ready", flush=True)
    try:
        run()
    except BaseException as error:
        return {"error": type(error).__name__, "message": str(error)}
    return {"error": None}


def of_function(name: str) -> dict[str, Any]:
    """Run a function endlessly; report its array's state, and whether it can be called again."""
    run, out = call(name, 64 if is_host(name) else 16)
    run(2)
    out[:] = 0
    found = interrupted(lambda: run(ENDLESS))
    before = out.copy()
    time.sleep(0.2)
    found["is_still"] = bool((out == before).all())
    # Each store is complete: the rows of an iteration are equal.
    found["is_whole"] = all(
        bool((part == part[0, 0]).all()) for part in np.split(before, len(before) // 16)
    )
    found["changed"] = bool(before.any())
    out[:] = 0
    run(2)
    found["handler"] = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return found


def is_host(name: str) -> bool:
    """Whether a function of the program is an orchestration."""
    function = Program.get_function(name)
    assert function is not None
    return function.func_type is pl.FunctionType.Orchestration


def beside_a_thread() -> dict[str, Any]:
    """Interrupt the main thread while another Python thread runs the same kernel."""
    run, _ = call("rows", 16)
    other, out = call("rows", 16)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            other(4_000_000)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    found = interrupted(lambda: run(ENDLESS))
    thread.join()
    return {**found, "others": len(errors), "value": float(out[3, 5])}


class Own(Exception):
    """Raised by a handler."""


def own_handlers() -> dict[str, Any]:
    """Run handlers during a kernel: one calls a kernel and returns, then one raises."""
    run, out = call("rows", 16)
    run(1)
    seen: list[str] = []

    def handle(_number: int, _frame: object) -> None:
        if seen:
            raise Own
        try:
            run(1)
        except KernelError as error:
            seen.append(str(error))
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    signal.signal(signal.SIGINT, handle)
    return {**interrupted(lambda: run(ENDLESS)), "seen": seen, "changed": bool(out.any())}


def forked() -> dict[str, Any]:
    """Interrupt a forked child, which has none of its parent's threads."""
    run, _ = call("rows", 16)
    run(1)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        found = {"error": None}
        try:
            os.write(writer, b"begun\n")
            run(ENDLESS)
        except KeyboardInterrupt:
            found = {"error": "KeyboardInterrupt"}
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        lines.readline()
        time.sleep(0.2)
        os.kill(child, signal.SIGINT)
        found = json.loads(lines.read())
    os.waitpid(child, 0)
    return found


def _files() -> list[str]:
    places = (os.environ["PYPTO_CACHE_DIR"], os.environ["TMPDIR"])
    return [str(file) for place in places for file in Path(place).rglob("*") if file.is_file()]


def compiling() -> dict[str, Any]:
    """Compile the whole program."""
    assert find_toolchain() is not None
    before = _files()
    Path(os.environ["STALL"]).touch()
    found = interrupted(lambda: runtime.compile(Program, entry=sys.argv[3]))
    found["left"] = [file for file in _files() if file not in before]
    Path(os.environ["STALL"]).unlink()
    runtime.compile(Program, entry=sys.argv[3])
    return found


CASES = {
    "beside_a_thread": beside_a_thread,
    "own_handlers": own_handlers,
    "forked": forked,
    "compiling": compiling,
}


def main() -> None:
    """Run the case named on the command line."""
    case, os.environ["PYPTO_NUM_THREADS"] = sys.argv[1:3]
    # A process that a shell started in the background ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found = CASES[case]() if case in CASES else of_function(case)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
