"""Host functions as compiled C++ equal the interpreter, for all thread counts and delays."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.driver import INCLUDE, CompiledProgram, TargetName
from pypto._src.emit.host.device.generate import generate_orchestration
from pypto._src.emit.host.native.generate import HostText, host_text
from pypto._src.errors import EvaluationError, PyptoError
from pypto._src.ir.stmts import Program
from pypto._src.run.arguments.signature import Bound
from pypto._src.run.native import KernelError
from pypto._src.run.scheduler import NativeHost, Scheduling, thread_count
from pypto._src.run.toolchain import find_toolchain
from tests import effort
from tests.run.programs import Broken, Flows, Steps
from tests.run.scripts import COLS, OPS, ROWS, WORDS, Scripted

pytestmark = pytest.mark.skipif(find_toolchain() is None, reason="no C++ compiler")

Array = np.ndarray[Any, Any]
Outcome = tuple[Any, ...]


def native(program: Any, entry: str | None = None) -> tuple[CompiledProgram, NativeHost]:
    """Return a program whose host is compiled, and that host."""
    compiled = runtime.compile(program, entry=entry)
    host = getattr(compiled._run, "__self__", None)  # pyright: ignore[reportPrivateUsage]
    assert isinstance(host, NativeHost)
    return compiled, host


# --------------------------------------------------------------------------------------------
# Random graphs
# --------------------------------------------------------------------------------------------


def script(seed: int) -> tuple[Array, Array, Array]:
    """Return random steps, on a grid or at any position, and two tensors."""
    rng = np.random.default_rng(seed)
    steps = np.zeros((int(rng.integers(1, 40)), WORDS), np.int64)
    count = len(steps)
    steps[:, 0], steps[:, 1] = rng.integers(0, OPS, count), rng.integers(0, 2, count)
    on_grid = rng.random() < 0.7
    for column in (2, 4, 6):
        high_row, high_col = (ROWS // 8, COLS // 16) if on_grid else (ROWS - 7, COLS - 15)
        scale = (8, 16) if on_grid else (1, 1)
        steps[:, column] = rng.integers(0, high_row, count) * scale[0]
        steps[:, column + 1] = rng.integers(0, high_col, count) * scale[1]
    if rng.random() < 0.1:
        steps[-1, 2] = ROWS  # a position outside
    x, y = (rng.random((ROWS, COLS), dtype=np.float32) * 2 - 1 for _ in range(2))
    return steps, x, y


def outcome(compiled: CompiledProgram, steps: Array, x: Array, y: Array) -> Outcome:
    """Return everything a run leaves behind: arrays, results, or the error with its span."""
    first, second = x.copy(), y.copy()
    try:
        held, whole, level = compiled(first, second, steps, 1.5)
    except PyptoError as error:
        line = error.span.begin_line
        return (first.tobytes(), second.tobytes(), error.message, error.slug, line)
    assert whole is first
    return (first.tobytes(), second.tobytes(), held.tobytes(), level)


@pytest.mark.parametrize("threads", effort.part([1, 2, 4], 2))
def test_random_graphs(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks on overlapping views and temporaries leave the same bytes as serial execution."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", str(threads))
    ours, _ = native(Scripted, "main")
    evaluated = runtime.compile(Scripted, "interpreter", entry="main")
    errors = 0
    for seed in range(threads * 1000, threads * 1000 + 120):
        steps, x, y = script(seed)
        found = outcome(ours, steps, x, y)
        if found[3] == "overlapping-views":
            # The interpreter has no such rule: only the steps before that one must be the same.
            done = next(
                count
                for count in range(len(steps))
                if outcome(ours, steps[: count + 1], x, y)[3] == "overlapping-views"
            )
            assert found[:2] == outcome(evaluated, steps[:done], x, y)[:2], seed
        else:
            assert found == outcome(evaluated, steps, x, y), seed
        errors += not isinstance(found[2], bytes)
    assert 0 < errors < 100


@pytest.mark.parametrize("threads", [2, 4])
def test_random_graphs_with_delays(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks of any duration, in small windows and little memory, change nothing."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "1")
    ours, host = native(Scripted, "main")
    for seed in range(40):
        steps, x, y = script(seed)
        host.scheduling = Scheduling()
        monkeypatch.setenv("PYPTO_NUM_THREADS", "1")
        expected = outcome(ours, steps, x, y)
        monkeypatch.setenv("PYPTO_NUM_THREADS", str(threads))
        host.scheduling = Scheduling(window=1 + seed % 9, delay_ns=100_000, budget_bytes=4096)
        assert outcome(ours, steps, x, y) == expected, seed


KERNELS = """
    @pl.function(type=pl.FunctionType.InCore)
    def mix(
        self, x: pl.Tensor[[8, 16], pl.FP32], y: pl.Tensor[[8, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        a = pl.load(x, [0, 0], [8, 16])
        b = pl.load(y, [0, 0], [8, 16])
        out = pl.store(pl.add(pl.mul(a, 0.5), pl.mul(b, 0.25)), [0, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def bump(
        self, x: pl.InOut[pl.Tensor[[8, 16], pl.FP32]], by: pl.Scalar[pl.FP32]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        x = pl.store(pl.add(pl.load(x, [0, 0], [8, 16]), by), [0, 0], [8, 16], x)
        return x
"""


def parsed(signature: str, body: str, returns: str = "", more: str = "") -> Program:
    """Return a program with the kernels and an orchestration ``main``."""
    arrow = f" -> {returns}" if returns else ""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return pl.parse_program(
        f"@pl.program\nclass P:\n{KERNELS}\n{more}\n"
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        f"    def main(self, {signature}){arrow}:\n{lines}"
    )


class _Writer:
    """Writes random statements on the 8 x 16 tensors that are known."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.count = 0

    def pick(self, names: list[str]) -> str:
        return names[int(self.rng.integers(len(names)))]

    def block(self, names: list[str], depth: int, index: str, most: int = 5) -> None:
        """Write up to ``most`` statements; later ones can use the tensors that they make."""
        known = list(names)
        indent = "    " * depth
        for _ in range(int(self.rng.integers(2, most + 1))):
            self.count += 1
            new, kind = f"t{self.count}", int(self.rng.integers(7))
            if kind < 2:
                target = self.pick(known[2:])
                sources = [n for n in known if n != target]
                self.lines.append(
                    f"{indent}self.mix({self.pick(sources)}, {self.pick(sources)}, {target})"
                )
            elif kind == 2:
                self.lines.append(f"{indent}{new} = pl.create_tensor([8, 16], dtype=pl.FP32)")
                self.lines.append(
                    f"{indent}{new} = self.mix({self.pick(known)}, {self.pick(known)}, {new})"
                )
                known.append(new)
            elif kind == 3:
                row = f"({index} * 3 + {int(self.rng.integers(4))}) % 4 * 8"
                self.lines.append(f"{indent}{new} = pl.view(big, [8, 16], [{row}, 0])")
                self.lines.append(f"{indent}{new} = self.bump({new}, 0.5)")
            elif kind == 4 and depth < 3:
                iterations = int(self.rng.integers(0, 4))
                self.lines.append(f"{indent}for i{self.count} in pl.range(0, {iterations}):")
                self.block(known, depth + 1, f"i{self.count}", 3)
            elif kind == 5 and depth < 3:
                target = self.pick(known[2:])
                self.lines.append(f"{indent}if pl.read({target}, [0, 0]) > n * 0.125:")
                self.block(known, depth + 1, index, 3)
                self.lines.append(f"{indent}else:")
                self.lines.append(f"{indent}    self.bump({target}, n)")
            else:
                others = [name for name in known if name != "b"]
                # The name denotes another tensor from here on, also in later iterations.
                self.lines.append(f"{indent}if {index} % 2 == 0:")
                self.lines.append(f"{indent}    b = pl.create_tensor([8, 16], dtype=pl.FP32)")
                self.lines.append(f"{indent}    b = self.mix(x, {self.pick(others)}, b)")


@pytest.mark.parametrize("seed", effort.part(range(24), 2))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random texts with loops, branches, swapped tensors and views run as in the interpreter."""
    writer = _Writer(seed)
    writer.lines += [
        "b = pl.create_tensor([8, 16], dtype=pl.FP32)",
        "b = self.mix(x, y, b)",
        "c = pl.create_tensor([8, 16], dtype=pl.FP32)",
        "c = self.mix(y, x, c)",
        "for i0 in pl.range(0, 3):",
    ]
    writer.block(["x", "y", "b", "c", "z"], 1, "i0", 7)
    writer.lines.append("return b, c, z")
    kind = "pl.Tensor[[8, 16], pl.FP32]"
    source = parsed(
        f"x: {kind}, y: {kind}, z: pl.InOut[{kind}], "
        "big: pl.InOut[pl.Tensor[[32, 16], pl.FP32]], n: pl.Scalar[pl.FP32]",
        "\n".join(writer.lines),
        f"tuple[{kind}, {kind}, {kind}]",
    )
    monkeypatch.setenv("PYPTO_NUM_THREADS", "3")
    ours, host = native(source)
    host.scheduling = Scheduling(delay_ns=30_000)
    evaluated = runtime.compile(source, "interpreter")
    rng = np.random.default_rng(seed)
    given = [rng.random((8, 16), dtype=np.float32) for _ in range(3)]
    given.append(rng.random((32, 16), dtype=np.float32))
    runs: list[list[bytes]] = []
    for each in (ours, evaluated):
        args = [array.copy() for array in given]
        results = each(*args, 2.0)
        runs.append([array.tobytes() for array in (*args, *results)])
    assert runs[0] == runs[1]


# --------------------------------------------------------------------------------------------
# Bounds
# --------------------------------------------------------------------------------------------

_LONG = """\
for i in pl.range(0, n):
    part = pl.view(x, [8, 16], [i % 4 * 8, 0])
    self.bump(part, 1.0)
"""
_BIG = "x: pl.InOut[pl.Tensor[[32, 16], pl.FP32]], n: pl.Scalar[pl.INT64]"


def test_open_tasks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tasks a loop submits, no more than the window are in flight."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "2")
    compiled, host = native(parsed(_BIG, _LONG))
    for window in (1, 8, 0):
        host.scheduling = Scheduling(window=window)
        x = np.zeros((32, 16), np.float32)
        compiled(x, 5000)
        assert (x == 1250).all()
        assert host.usage.tasks == 5000
        assert host.usage.most_open <= (window or 1024)


_TEMPORARIES = """\
for i in pl.range(0, n):
    made = pl.create_tensor([2048, 16], dtype=pl.FP32)
    part = pl.view(made, [8, 16], [i % 64 * 8, 0])
    part = self.mix(x, x, part)
    self.mix(part, x, out)
"""


@pytest.mark.parametrize(("threads", "blocks"), [(1, 1), (2, 10)])
def test_temporaries_share_memory(
    threads: int, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 tensors of 128 KiB made in a loop take the memory of a few."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", str(threads))
    kind = "pl.Tensor[[8, 16], pl.FP32]"
    source = parsed(f"x: {kind}, out: pl.Out[{kind}], n: pl.Scalar[pl.INT64]", _TEMPORARIES)
    compiled, host = native(source)
    size = 2048 * 16 * 4
    host.scheduling = Scheduling(budget_bytes=8 * size)
    x = np.ones((8, 16), np.float32)
    out = np.zeros_like(x)
    compiled(x, out, 10_000)
    np.testing.assert_array_equal(out, x * 0.625)
    assert host.usage.tasks == 20_000
    assert size <= host.usage.peak_bytes <= blocks * size


_CORNER = """
    @pl.function(type=pl.FunctionType.InCore)
    def corner(
        self, x: pl.Tensor[[800, 16], pl.FP32], row: pl.Scalar[pl.INT64],
        out: pl.InOut[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        a = pl.load(x, [row, 0], [8, 16])
        b = pl.load(out, [0, 0], [8, 16])
        out = pl.store(pl.add(pl.mul(a, 0.5), pl.mul(b, 0.5)), [0, 0], [8, 16], out)
        return out
"""
_PARTS = """\
for iteration in pl.range(0, 5):
    for i in pl.range(0, 100):
        self.bump(pl.view(x, [8, 16], [i * 8, 0]), 1.0)
    for k in pl.range(0, 60):
        self.corner(x, (iteration * 160 + k * 8) % 800, pl.view(out, [8, 16], [k * 8, 0]))
    self.bump(pl.view(x, [8, 16], [396, 0]), 4.0)
    self.corner(x, 392, pl.view(out, [8, 16], [0, 0]))
"""
_OWN_PART = """\
for iteration in pl.range(0, 5):
    for k in pl.range(0, 60):
        self.corner(x, k * 8, pl.view(out, [8, 16], [k * 8, 0]))
    self.corner(x, 392, pl.view(x, [8, 16], [iteration * 8, 0]))
"""


@pytest.mark.parametrize("body", [_PARTS, _OWN_PART], ids=["parts", "own-part"])
def test_readers_and_writers_of_parts_and_wholes(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of parts, read as a whole again and again, keep their order; none waits forever.

    A task may also write a part of what it reads.
    """
    monkeypatch.setenv("PYPTO_NUM_THREADS", "4")
    source = parsed(
        "x: pl.InOut[pl.Tensor[[800, 16], pl.FP32]], out: pl.InOut[pl.Tensor[[480, 16], pl.FP32]]",
        body,
        more=_CORNER,
    )
    compiled, host = native(source)
    expected = [np.ones((800, 16), np.float32), np.zeros((480, 16), np.float32)]
    runtime.compile(source, "interpreter")(*expected)
    for window, delay in product((0, 64, 200), (0, 1_000, 20_000, 100_000)):
        host.scheduling = Scheduling(window=window, delay_ns=delay)
        found = [np.ones((800, 16), np.float32), np.zeros((480, 16), np.float32)]
        compiled(*found)
        for ours, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, wanted)


_BLOCKS = """
    @pl.function(type=pl.FunctionType.InCore)
    def block(
        self, x: pl.Tensor[[8, 16], pl.FP32], row: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[800, 16], pl.FP32]],
    ) -> pl.Tensor[[800, 16], pl.FP32]:
        out = pl.store(pl.mul(pl.load(x, [0, 0], [8, 16]), 1.5), [row, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def more(
        self, x: pl.Tensor[[8, 16], pl.FP32], row: pl.Scalar[pl.INT64],
        out: pl.InOut[pl.Tensor[[800, 16], pl.FP32]],
    ) -> pl.Tensor[[800, 16], pl.FP32]:
        sum = pl.add(pl.load(x, [0, 0], [8, 16]), pl.load(out, [row, 0], [8, 16]))
        out = pl.store(sum, [row, 0], [8, 16], out)
        return out
"""
_LAUNCHES = """\
for k in pl.range(0, 3):
    for i in pl.parallel(0, 100):
        self.block(pl.view(x, [8, 16], [i * 8, 0]), i * 8, y)
    for i in pl.parallel(0, 20):
        for j in pl.parallel(0, 5):
            self.block(pl.view(y, [8, 16], [(99 - i * 5 - j) * 8, 0]), (i * 5 + j) * 8, x)
    self.bump(pl.view(x, [8, 16], [k * 4 + 3, 0]), 1.0)
    for i in pl.parallel(0, 20):
        for j in pl.range(0, 5):
            self.block(pl.view(x, [8, 16], [(i * 5 + j) * 8, 0]), i * 8, y)
        self.more(pl.view(y, [8, 16], [i * 8, 0]), i * 8 + 160, y)
    for i in pl.parallel(0, 50):
        if i % 3 == 0:
            self.block(pl.view(x, [8, 16], [i * 8, 0]), i * 8 + 400, y)
        else:
            self.bump(pl.view(y, [8, 16], [i * 8, 0]), 2.0)
"""


def test_launches_between_other_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations that only write one tensor run concurrently; tasks before and after wait."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "4")
    kind = "pl.InOut[pl.Tensor[[800, 16], pl.FP32]]"
    source = parsed(f"x: {kind}, y: {kind}", _LAUNCHES, more=_BLOCKS)
    compiled, host = native(source)
    rng = np.random.default_rng(5)
    given = [rng.random((800, 16), dtype=np.float32) for _ in range(2)]
    expected = [array.copy() for array in given]
    runtime.compile(source, "interpreter")(*expected)
    for window, delay in product((0, 8, 64), (0, 1_000, 20_000)):
        host.scheduling = Scheduling(window=window, delay_ns=delay)
        found = [array.copy() for array in given]
        compiled(*found)
        for ours, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, wanted)


# --------------------------------------------------------------------------------------------
# Order
# --------------------------------------------------------------------------------------------

_Callback = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_uint32, ctypes.c_uint32
)


class _InPython:
    """A kernel that is a Python function of its first word, so that a test sees when it runs."""

    def __init__(self, run: Callable[[Sequence[int]], bytes | None]) -> None:
        self.text: Any = None
        self.run = run
        self.callback = _Callback(self._call)
        self.address = ctypes.cast(self.callback, ctypes.c_void_p).value or 0

    def _call(self, words: Any, _block: int, _blocks: int) -> int | None:
        found = self.run(words[:1])
        if found is None:
            return None
        self.text = ctypes.create_string_buffer(found)
        return ctypes.addressof(self.text)

    def __call__(self, words: Sequence[int]) -> None:
        self.run(words)


def with_kernels(
    source: Program, kernels: Mapping[str, Callable[[Sequence[int]], bytes | None]]
) -> Callable[..., Any]:
    """Return a callable for a program's ``main`` with Python functions in place of its kernels."""
    compiled, host = native(source)
    function = compiled.program.get_function("main")
    toolchain = find_toolchain()
    assert function is not None
    assert toolchain is not None
    made = {
        name: kernel._replace(launcher=_InPython(kernels[name]))
        for name, kernel in host.kernels.items()
    }
    results = {name: kernel.signature.results for name, kernel in made.items()}
    only_written = {name: kernel.signature.only_written for name, kernel in made.items()}
    text = host_text(compiled.program, function, results, only_written)
    ours = NativeHost(function, text, made, toolchain=toolchain, include_dirs=[INCLUDE])
    return lambda *arrays: ours.launch(Bound(list(arrays), [a.ctypes.data for a in arrays]))


_PAIR = "x: pl.InOut[pl.Tensor[[32, 16], pl.FP32]], y: pl.InOut[pl.Tensor[[32, 16], pl.FP32]]"
_FIRST, _SECOND = "pl.view(x, [8, 16], [0, 0])", "pl.view(x, [8, 16], [8, 0])"


@pytest.mark.parametrize(
    "body",
    [
        f"self.bump({_FIRST}, 1.0)\nself.bump({_SECOND}, 2.0)",
        f"self.mix({_FIRST}, {_FIRST}, pl.view(y, [8, 16], [0, 0]))\n"
        f"self.mix({_FIRST}, {_FIRST}, pl.view(y, [8, 16], [16, 0]))",
    ],
    ids=["writers of separate parts", "readers of one part"],
)
def test_tasks_that_may_run_together_do(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tasks without a conflict run at the same time: neither waits for the other."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "2")
    barrier = threading.Barrier(2, timeout=120)

    def meet(_words: Sequence[int]) -> None:
        barrier.wait()

    call = with_kernels(parsed(_PAIR, body), {"bump": meet, "mix": meet})
    call(np.zeros((32, 16), np.float32), np.zeros((32, 16), np.float32))
    assert not barrier.broken


def test_blocks_that_only_write_a_tensor_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two iterations that take one whole tensor as output run at the same time."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "2")
    barrier = threading.Barrier(2, timeout=120)

    def meet(_words: Sequence[int]) -> None:
        barrier.wait()

    kind = "pl.InOut[pl.Tensor[[800, 16], pl.FP32]]"
    body = "for i in pl.parallel(0, 2):\n    self.block(x[0:8], i * 8, y)"
    source = parsed(f"x: {kind}, y: {kind}", body, more=_BLOCKS)
    call = with_kernels(source, {"block": meet})
    call(np.zeros((800, 16), np.float32), np.zeros((800, 16), np.float32))
    assert not barrier.broken


_WRITERS = """
    @pl.function(type=pl.FunctionType.InCore)
    def both(
        self, a: pl.Out[pl.Tensor[[8, 16], pl.FP32]], b: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ):
        t = pl.full([8, 16], dtype=pl.FP32, value=1.0)
        pl.store(t, [0, 0], [8, 16], a)
        pl.store(t, [0, 0], [8, 16], b)

    @pl.function(type=pl.FunctionType.InCore)
    def look(
        self, a: pl.Tensor[[8, 16], pl.FP32], x: pl.Tensor[[800, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ):
        t = pl.add(pl.load(a, [0, 0], [8, 16]), pl.load(x, [0, 0], [8, 16]))
        pl.store(t, [0, 0], [8, 16], out)

    @pl.function(type=pl.FunctionType.InCore)
    def whole(
        self, x: pl.Tensor[[800, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]
    ):
        pl.store(pl.load(x, [0, 0], [8, 16]), [0, 0], [8, 16], out)
"""
_MANY_WRITERS = """\
self.both(pl.view(y, [8, 16], [0, 0]), pl.view(x, [8, 16], [0, 0]))
for i in pl.range(1, 40):
    self.bump(pl.view(x, [8, 16], [i * 8, 0]), 1.0)
self.look(pl.view(y, [8, 16], [0, 0]), x, pl.view(y, [8, 16], [8, 0]))
self.whole(x, pl.view(y, [8, 16], [16, 0]))
"""


def test_a_reader_waits_for_a_writer_that_an_earlier_one_knew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A task that reads many parts waits for all, even if an earlier task depends on one twice."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "4")
    has_read = threading.Event()
    overtaken: list[bool] = []

    def write(_words: Sequence[int]) -> None:
        overtaken.append(has_read.wait(0.3))

    def read(_words: Sequence[int]) -> None:
        has_read.set()

    kind = "pl.InOut[pl.Tensor[[800, 16], pl.FP32]]"
    source = parsed(f"x: {kind}, y: {kind}", _MANY_WRITERS, more=_WRITERS)
    nothing: Callable[[Sequence[int]], None] = lambda _words: None  # noqa: E731
    kernels = {"both": write, "bump": nothing, "look": nothing, "whole": read}
    call = with_kernels(source, kernels)
    call(np.zeros((800, 16), np.float32), np.zeros((800, 16), np.float32))
    assert overtaken == [False]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        (f"self.bump({_FIRST}, 1.0)", "self.mix(x[4:12], x[4:12], y[0:8])", ["bump 0", "mix 4"]),
        ("self.mix(x[4:12], x[4:12], y[0:8])", f"self.bump({_FIRST}, 2.0)", ["mix 4", "bump 0"]),
        (f"self.bump({_FIRST}, 1.0)", "self.bump(x[4:12], 2.0)", ["bump 0", "bump 4"]),
    ],
    ids=["RAW", "WAR", "WAW"],
)
def test_tasks_in_each_others_way_keep_their_order(
    threads: int, first: str, second: str, order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks on overlapping parts run in program order, even if the first takes long."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", str(threads))
    log: list[str] = []
    x, y = np.zeros((32, 16), np.float32), np.zeros((32, 16), np.float32)

    def note(name: str, words: Sequence[int]) -> None:
        time.sleep(0.02 if not log else 0)
        log.append(f"{name} {(words[0] - x.ctypes.data) // x.strides[0]}")

    kernels = {name: functools.partial(note, name) for name in ("bump", "mix")}
    call = with_kernels(parsed(_PAIR, f"{first}\n{second}\nself.bump(x[7:15], 3.0)"), kernels)
    call(x, y)
    assert log == [*order, "bump 7"]


@pytest.mark.parametrize("threads", [1, 4])
def test_what_a_kernel_reports_has_the_place_of_its_call(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a task is raised at the call, and tasks that depend on it do not run."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", str(threads))
    ran: list[str] = []

    def fail(_words: Sequence[int]) -> bytes:
        return b"a tile is not aligned"

    def note(_words: Sequence[int]) -> None:
        ran.append("mix")

    body = f"self.bump({_FIRST}, 1.0)\nself.mix(x[4:12], x[4:12], y[0:8])"
    call = with_kernels(parsed(_PAIR, body), {"bump": fail, "mix": note})
    with pytest.raises(KernelError, match="a tile is not aligned") as caught:
        call(np.zeros((32, 16), np.float32), np.zeros((32, 16), np.float32))
    assert "self.bump(pl.view(x, [8, 16], [0, 0]), 1.0)" in caught.value.render()
    assert ran == []


def test_thread_count_is_a_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    """PYPTO_NUM_THREADS sets the number of threads."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "3")
    assert thread_count() == 3


# --------------------------------------------------------------------------------------------
# Errors
# --------------------------------------------------------------------------------------------

_ROWS = """\
for i in pl.range(0, 40):
    self.copy_row(x, pl.read(rows, [i]), pl.view(out, [4, 16], [i * 4, 0]))
"""


@pytest.mark.parametrize("threads", [1, 4])
def test_first_error_in_order_counts(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If two kernels fail, the first in program order is reported, and all before it have run."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", str(threads))
    kernel = """
    @pl.function(type=pl.FunctionType.InCore)
    def copy_row(
        self, x: pl.Tensor[[4, 16], pl.FP32], row: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
    ) -> pl.Tensor[[4, 16], pl.FP32]:
        a = pl.load(x, [row, 0], [1, 16])
        out = pl.store(a, [0, 0], [1, 16], out)
        return out
"""
    source = parsed(
        "x: pl.Tensor[[4, 16], pl.FP32], rows: pl.Tensor[[40], pl.INT64], "
        "out: pl.Out[pl.Tensor[[160, 16], pl.FP32]]",
        _ROWS,
        more=kernel,
    )
    compiled, host = native(source)
    host.scheduling = Scheduling(delay_ns=200_000)
    rows = np.arange(40) % 4
    rows[[21, 30]] = 1 << 20
    out = np.zeros((160, 16), np.float32)
    with pytest.raises(KernelError, match=r"a load reads \[1048576:1048577, 0:16\] of x") as caught:
        compiled(np.ones((4, 16), np.float32), rows, out)
    assert "self.copy_row(x, pl.read(rows, [i])" in caught.value.render()
    assert out[: 21 * 4 : 4].all()
    rows[:] = 0
    compiled(np.ones((4, 16), np.float32), rows, out)
    assert out[::4].all()


def test_mistake_of_the_host_waits_for_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view outside its tensor is reported at its line when the tasks before it are done."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "2")
    compiled, host = native(Broken)
    host.scheduling = Scheduling(delay_ns=2_000_000)
    out = np.ones((20, 16), np.float32)
    with pytest.raises(EvaluationError, match=r"pl.view takes \[16:24, 0:16\]") as caught:
        compiled(out, 3)
    assert "rows = pl.view(out, [8, 16], [i * 8, 0])" in caught.value.render()
    assert out.sum(axis=1).tolist() == [0.0] * 16 + [16.0] * 4


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to itself")
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt_ends_a_call(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a call that would run for hours, and the next call works."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", str(threads))
    # A process that a shell started in the background ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    compiled, _ = native(parsed(_BIG, _LONG))
    x = np.zeros((32, 16), np.float32)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))

    def call() -> None:
        timer.start()
        compiled(x, 1 << 40)

    with pytest.raises(KeyboardInterrupt):
        call()
    timer.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    x[:] = 0
    compiled(x, 8)
    assert (x == 2).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_has_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forked child, which has none of its parent's threads, starts its own."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "2")
    compiled, _ = native(parsed(_BIG, _LONG))
    compiled(np.zeros((32, 16), np.float32), 100)
    child = os.fork()
    if child == 0:
        x = np.zeros((32, 16), np.float32)
        compiled(x, 400)
        os._exit(0 if (x == 100).all() else 1)
    for _ in range(2400):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0


# --------------------------------------------------------------------------------------------
# Values
# --------------------------------------------------------------------------------------------


def test_results_outlive_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor made inside belongs to the caller: the next call does not reuse its memory."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "2")
    compiled, _ = native(Flows, "alone")
    x, y = np.full((8, 16), 3, np.float32), np.zeros((8, 16), np.float32)
    first = compiled(x, y)
    second = compiled(x * 2, y)
    del compiled
    gc.collect()
    assert first.flags.writeable
    assert (first == 3).all()
    assert (second == 6).all()
    part = first[2:4]
    del first
    gc.collect()
    assert (part == 3).all()


def test_views_are_results() -> None:
    """A part of an argument, and a part of a tensor made inside, are returned as arrays."""
    source = parsed(
        "x: pl.InOut[pl.Tensor[[32, 16], pl.FP32]], r: pl.Scalar[pl.INT64]",
        "made = pl.create_tensor([16, 32], dtype=pl.FP32)\n"
        "low = pl.view(made, [8, 16], [8, 16])\n"
        "part = pl.view(x, [8, 16], [r, 0])\n"
        "low = self.mix(part, part, low)\n"
        "part = self.bump(part, 1.0)\n"
        "return low, part",
        "tuple[pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[8, 16], pl.FP32]]",
    )
    compiled, _ = native(source)
    x = np.ones((32, 16), np.float32)
    low, part = compiled(x, 3)
    assert np.shares_memory(part, x)
    assert (x[3:11] == 2).all()
    assert x.sum() == 32 * 16 + 8 * 16
    assert low.strides == (128, 4)
    assert (low == 0.75).all()


_INTS = """
a + b; a - b; a * b; a // b; a % b; min(a, b); max(a, b); -a; a & b; a | b; a ^ b; a << 3; a >> 2;
abs(a); a ** 2; (a + b) * (a - b); a - (b - a); -(-a)
"""
_FLOATS = """
u + v; u - v; u * v; u / v; min(u, v); max(u, v); -u; u // v; u % v; abs(u); (u + v) * (u - v);
-(-u)
"""


def scalar_program(kind: str, operators: str) -> Program:
    """Return a program with one result for each operator on ``a`` and ``b``, or ``u`` and ``v``."""
    texts = [text.strip() for text in operators.split(";")]
    names = [f"r{i}" for i in range(len(texts))]
    lines = [f"{name} = {text}" for name, text in zip(names, texts, strict=True)]
    scalar = f"pl.Scalar[pl.{kind}]"
    first, second = ("u", "v") if "u" in texts[0] else ("a", "b")
    return pl.parse_program(
        "@pl.program\nclass P:\n    @pl.function(type=pl.FunctionType.Orchestration)\n"
        f"    def main(self, {first}: {scalar}, {second}: {scalar}) "
        f"-> tuple[{', '.join([scalar] * len(names))}]:\n"
        + "".join(f"        {line}\n" for line in [*lines, f"return {', '.join(names)}"])
    )


@pytest.mark.parametrize("kind", ["INT8", "INT32", "INT64", "UINT16", "UINT64"])
def test_integers(kind: str) -> None:
    """Every operator on integers matches the interpreter, at the ends of the range too."""
    source = scalar_program(kind, _INTS)
    compiled, _ = native(source)
    evaluated = runtime.compile(source, "interpreter")
    info = np.iinfo(kind.lower())
    values = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1]
    values += [v for v in (-1, -2, -7, -100) if v >= info.min]
    for a in values:
        for b in values:
            found = [attempt(each, a, b) for each in (compiled, evaluated)]
            assert found[0] == found[1], (a, b)


def attempt(compiled: CompiledProgram, *args: Any) -> Any:
    try:
        return compiled(*args)
    except EvaluationError as error:
        return error.message, error.slug, error.span.begin_line


@pytest.mark.parametrize("kind", ["FP32", "FP16", "BF16"])
def test_floats(kind: str) -> None:
    """Every operator on floats rounds as in the interpreter, infinities and NaN included."""
    source = scalar_program(kind, _FLOATS)
    compiled, _ = native(source)
    evaluated = runtime.compile(source, "interpreter")
    rng = np.random.default_rng(0)
    values = [0.0, -0.0, 1.0, -2.5, 1e-3, 3e4, float("inf"), float("-inf"), float("nan")]
    values += [float(v) for v in rng.normal(size=8)]
    for u in values:
        for v in values:
            ours, wanted = compiled(u, v), evaluated(u, v)
            np.testing.assert_array_equal(np.array(ours), np.array(wanted), err_msg=f"{u} {v}")


def test_ops_on_whole_tensors_wait_and_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host op on tensors sees what earlier tasks wrote, and later tasks see its result."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "2")
    kind = "pl.Tensor[[8, 16], pl.FP32]"
    source = parsed(
        f"x: {kind}, out: pl.InOut[{kind}]",
        "made = pl.create_tensor([8, 16], dtype=pl.FP32)\n"
        "made = self.mix(x, x, made)\n"
        "both = pl.tensor.add(made, x)\n"
        "both = self.bump(both, 1.0)\n"
        "out = self.mix(both, both, out)\n"
        "return pl.tensor.mul(out, 2.0)",
        kind,
    )
    compiled, host = native(source)
    host.scheduling = Scheduling(delay_ns=3_000_000)
    x = np.ones((8, 16), np.float32)
    runs = [
        each(x, np.zeros_like(x)) for each in (compiled, runtime.compile(source, "interpreter"))
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert runs[0][0, 0] == 4.125


def test_an_interrupt_where_an_op_begins_is_not_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An exception raised by a handler before the op can catch it ends the call like any other."""
    kind = "pl.Tensor[[8, 16], pl.FP32]"
    compiled, host = native(parsed(f"x: {kind}", "return pl.tensor.mul(x, 2.0)", kind))

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(host, "_in_python", interrupted)
    shown = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        compiled(np.ones((8, 16), np.float32))
    assert capfd.readouterr().err == ""
    assert sys.unraisablehook is shown


def test_what_has_no_cpp_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """A host function without a C++ form is interpreted; the log has its name, reason and line."""
    source = parsed(
        "x: pl.InOut[pl.Tensor[[8, 16], pl.FP8E4M3FN]], y: pl.InOut[pl.Tensor[[8, 16], pl.FP32]]",
        "y = self.bump(y, 1.0)\nreturn pl.read(x, [0, 1])",
        "pl.Scalar[pl.FP8E4M3FN]",
    )
    compiled = runtime.compile(source)
    said = capsys.readouterr().err
    assert "main runs in the interpreter: the host cannot compute with FP8E4M3FN scalars" in said
    assert compiled.target == "interpreter"
    x, y = np.full((8, 16), 3, ml_dtypes.float8_e4m3fn), np.zeros((8, 16), np.float32)
    assert compiled(x, y) == 3
    assert (y == 1).all()


def test_eight_dimensions() -> None:
    """Views, elements and sizes of tensors that no kernel takes, up to the runtime's limit."""
    source = parsed(
        "x: pl.InOut[pl.Tensor[[2, 1, 2, 1, 2, 1, 8, 16], pl.FP32]], at: pl.Scalar[pl.INT64]",
        "part = pl.view(x, [1, 1, 1, 1, 1, 1, 8, 16], [at, 0, 0, 0, 1, 0, 0, 0])\n"
        "flat = pl.tensor.reshape(part, [8, 16])\n"
        "flat = self.bump(flat, 0.5)\n"
        "return flat, part, pl.tensor.dim(x, 4) + pl.tensor.dim(part, 6)",
        "tuple[pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[1, 1, 1, 1, 1, 1, 8, 16], pl.FP32], "
        "pl.Scalar[pl.INT64]]",
    )
    compiled, _ = native(source)
    x = np.arange(8 * 128, dtype=np.float32).reshape(2, 1, 2, 1, 2, 1, 8, 16)
    flat, part, sizes = compiled(x, 1)
    np.testing.assert_array_equal(flat, x[1, 0, 0, 0, 1, 0] + 0.5)
    np.testing.assert_array_equal(part[0, 0, 0, 0, 0, 0], x[1, 0, 0, 0, 1, 0])
    assert np.shares_memory(part, x)
    assert sizes == 10
    with pytest.raises(EvaluationError, match=r"pl.view takes \[2:3, 0:1, 0:1, 0:1, 1:2"):
        compiled(x, 2)


def test_tuples_of_tuples() -> None:
    """Host functions take and return nested tuples; arrays in them are those of the caller."""
    kind = "pl.Tensor[[8, 16], pl.FP32]"
    nested = f"pl.Tuple[pl.Tuple[{kind}, pl.INT64], pl.INT64]"
    more = f"""
    @pl.function(type=pl.FunctionType.Orchestration)
    def swap(self, t: {nested}):
        inner, last = t
        return inner[1], (self.bump(inner[0], 1.0), last)
"""
    source = parsed(
        f"x: pl.InOut[{kind}], n: pl.Scalar[pl.INT64]",
        "t = ((x, 1), 2)\n"
        "for i in pl.range(n):\n"
        "    t = ((t[0][0], t[0][1] + 1), t[1] * 3)\n"
        "first, rest = self.swap(t)\n"
        "return first, rest, (first + rest[1], (first,))",
        more=more,
    )
    compiled, _ = native(source)
    runs: list[Any] = []
    for each in (compiled, runtime.compile(source, "interpreter")):
        x = np.zeros((8, 16), np.float32)
        first, (array, last), rest = each(x, 3)
        assert np.shares_memory(array, x)
        runs.append((first, x.tobytes(), array.tobytes(), last, rest))
    assert runs[0] == runs[1]
    assert runs[0][0] == 4
    assert runs[0][3:] == (54, (58, (4,)))


_SIZES = """
A = pl.dynamic("A")
N = pl.dynamic("N")
B = pl.dynamic("B")
C = pl.dynamic("C")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def fill(
        self, x: pl.Tensor[[B * 8 + k, C], pl.FP32], k: pl.Scalar[pl.INT32],
        y: pl.Tensor[[N, C], pl.FP32], z: pl.Tensor[[A - B, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ):
        tile = pl.full([8, 16], pl.FP32, pl.cast(A * 1000 + B * 100 + N * 10 + C, pl.FP32))
        out = pl.store(tile, [0, 0], [8, 16], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def inner(
        self, x: pl.Tensor[[B * k, 16], pl.FP32], k: pl.Scalar[pl.INT64],
        y: pl.Tensor[[3, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Scalar[pl.INT64]:
        self.fill(x, 2, y, y[0:1], out)
        return B

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[N, 16], pl.FP32], k: pl.Scalar[pl.INT64],
        y: pl.Tensor[[3, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Scalar[pl.INT64]:
        return self.inner(x, k, y, out)
"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("rows", "k"), [(18, 9), (10, 5), (18, 0), (18, 4), (1, 1), (11, 11)])
def test_solved_sizes(threads: int, rows: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes solved from expressions reach host functions and kernels, among those of dimensions."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", str(threads))
    source = pl.parse_program(_SIZES)
    compiled, _ = native(source, "main")
    runs: list[Any] = []
    for each in (compiled, runtime.compile(source, "interpreter", entry="main")):
        out = np.zeros((8, 16), np.float32)
        x, y = np.ones((rows, 16), np.float32), np.ones((3, 16), np.float32)
        try:
            runs.append((each(x, k, y, out), out.tobytes()))
        except EvaluationError as error:
            text = error.message.replace("an array", "a tensor")
            runs.append((text.replace(" of fill", ""), error.slug, error.span.begin_line))
    assert runs[0] == runs[1]
    wanted = {9: 2, 5: 2}.get(k)
    assert wanted is None or runs[0][0] == wanted
    assert (wanted is None) == isinstance(runs[0][0], str)


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
def test_outermost_orchestration_is_the_entry(target: TargetName) -> None:
    """Of two orchestrations, the one not called by the other is the entry without being named."""
    assert runtime.compile(Scripted, target).entry == "main"


def test_text_for_the_device_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The orchestration emitted for the device compiles against our runtime, and runs."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "2")
    compiled, native_host = native(Steps, "columns")
    lowered = compiled.program
    function = lowered.get_function("columns")
    assert function is not None
    made = generate_orchestration(lowered, function)
    code = made.code + (
        '\nextern "C" __attribute__((visibility("default")))\n'
        "int pypto_enter(PTO2Runtime* rt, uint64_t* args, int count)\n"
        "{ return pto2_enter(rt, args, count, aicpu_orchestration_entry); }\n"
    )
    text = HostText(code, tuple(made.func_name_to_id), (), ())
    toolchain = find_toolchain()
    assert toolchain is not None
    host = NativeHost(
        function, text, native_host.kernels, toolchain=toolchain, include_dirs=[INCLUDE]
    )
    x = np.arange(8 * 64, dtype=np.float32).reshape(8, 64)
    out, expected = np.zeros_like(x), np.zeros_like(x)
    host.launch(Bound([x, out], [x.ctypes.data, out.ctypes.data]))
    runtime.compile(Steps, "interpreter", entry="columns")(x, expected)
    np.testing.assert_array_equal(out, expected)


def test_api_header_has_no_warnings(tmp_path: Path) -> None:
    """The runtime's headers compile without a warning."""
    toolchain = find_toolchain()
    assert toolchain is not None
    source = tmp_path / "all.cpp"
    source.write_text('#include "pto_orchestration_api.h"\n#include "pto/runtime/runtime.hpp"\n')
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        [*toolchain.command, *flags, f"-I{INCLUDE}", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
