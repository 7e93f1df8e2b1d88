"""The specialisations of a process: how many are kept, which, and when code is unloaded."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.driver import INCLUDE
from pypto._src.jit import specialisation as jit_module
from pypto._src.run.native import load_kernel
from pypto._src.run.toolchain import Toolchain
from tests.attack.specialisations import usage

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[2]
BOUND = 8


@pytest.fixture(autouse=True)
def bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep few specialisations, and none of other tests."""
    monkeypatch.setenv("PYPTO_MAX_SPECIALISATIONS", str(BOUND))
    monkeypatch.setattr(jit_module, "_generations", type(jit_module._generations)())  # pyright: ignore[reportPrivateUsage]


def make(target: Any = "interpreter") -> Any:
    @pl.jit(target=target)
    def add(
        x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]], STEP: int = 0
    ):
        return pl.store(pl.add(pl.load(x, [0, 0], [8, 16]), STEP), [0, 0], [8, 16], out)

    return add


def zeros() -> Array:
    return np.zeros((8, 16), np.float32)


def ran(kernel: Any, step: int) -> float:
    out = zeros()
    kernel(zeros(), out, step)
    assert (out == out[0, 0]).all()
    return float(out[0, 0])


def alive(programs: list[weakref.ref[Any]]) -> int:
    """Return how many are still alive: none is in a cycle, so no garbage collection is needed."""
    return sum(program() is not None for program in programs)


def test_specialisations_are_bounded() -> None:
    """However many there were, no more than the limit are kept, of all kernels together."""
    kernels = [make(), make(), make()]
    programs: list[weakref.ref[Any]] = []
    for step in range(10 * BOUND):
        kernel = kernels[step % 3]
        assert ran(kernel, step) == step
        programs.append(weakref.ref(kernel.compile(zeros(), zeros(), step)))
        assert alive(programs) <= BOUND
    assert alive(programs) >= BOUND // 2
    assert sum(len(kernel.misses) for kernel in kernels) == 10 * BOUND


@pytest.mark.parametrize("most", [1, 2, 3])
def test_small_bounds(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit also holds if it is one or two."""
    monkeypatch.setenv("PYPTO_MAX_SPECIALISATIONS", str(most))
    kernel = make()
    programs: list[weakref.ref[Any]] = []
    for step in (0, 1, 2, 3, 0, 1, 0, 0):
        assert ran(kernel, step) == step
        programs.append(weakref.ref(kernel.compile(zeros(), zeros(), step)))
        assert len({id(program()) for program in programs} - {id(None)}) <= most


def test_what_is_used_stays() -> None:
    """A kernel that is called in between is compiled once; one that is not is compiled again."""
    kernel = make()
    for step in range(1, 10 * BOUND):
        assert ran(kernel, 0) == 0
        assert ran(kernel, step) == step
    assert len(kernel.misses) == 10 * BOUND
    ran(kernel, 0)
    assert len(kernel.misses) == 10 * BOUND
    assert ran(kernel, 1) == 1
    assert len(kernel.misses) == 10 * BOUND + 1
    assert kernel.misses[-1].startswith("add: STEP is 1, was ")


def test_misses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the latest reasons for compilations are kept."""
    monkeypatch.setattr(jit_module, "_MAX_MISSES", 5)
    kernel = make()
    for step in range(12):
        ran(kernel, step)
    assert len(kernel.misses) == 5
    assert kernel.misses[-1].startswith("add: STEP is 11, was ")


def test_changed_globals_are_bounded() -> None:
    """Programs for former values of a global are forgotten, and so are the values."""

    class Setting:
        step = 0

    @pl.jit(target="interpreter")
    def add(x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]):
        return pl.store(pl.add(pl.load(x, [0, 0], [8, 16]), Setting.step), [0, 0], [8, 16], out)

    programs: list[weakref.ref[Any]] = []
    for step in range(10 * BOUND):
        Setting.step = step
        out = zeros()
        add(zeros(), out)
        assert out[0, 0] == step
        programs.append(weakref.ref(add.compile(zeros(), zeros())))
        assert alive(programs) <= BOUND
    versions = add._versions  # pyright: ignore[reportPrivateUsage]
    assert len(versions) <= BOUND + 1
    assert add.misses[-1] == f"add: Setting.step is {10 * BOUND - 1}, was {10 * BOUND - 2}"


def test_forgotten_kernels_leave_nothing() -> None:
    """When a kernel is no longer referenced, its specialisations are freed with it."""
    programs: list[weakref.ref[Any]] = []
    for step in range(BOUND // 2):
        kernel = make()
        ran(kernel, step)
        programs.append(weakref.ref(kernel.compile(zeros(), zeros(), step)))
        del kernel
    assert alive(programs) == 0


def test_held_programs_run_on(toolchain: Toolchain) -> None:
    """A program that the user holds still runs after eviction, but calls do not use it."""
    kernel = make("cpu")
    held = kernel.compile(zeros(), zeros(), 3)
    other = make()
    for step in range(10 * BOUND):
        ran(other, step)
    out = zeros()
    held(zeros(), out)
    assert (out == 3).all()
    assert kernel.compile(zeros(), zeros(), 3) is not held
    assert ran(kernel, 3) == 3


def test_threads(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evicted code that other threads are running finishes with the right result."""
    monkeypatch.setenv("PYPTO_MAX_SPECIALISATIONS", "2")
    kernel = make("cpu")

    def call(first: int) -> bool:
        return all(ran(kernel, (first + i) % 4) == (first + i) % 4 for i in range(24))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, range(4))) == [True] * 4


# --------------------------------------------------------------------------------------------
# Loaded objects
# --------------------------------------------------------------------------------------------

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what is loaded")

BODY = """\
#include <pto/pto-inst.hpp>
extern "C" __aicore__ void kernel_entry(int64_t* args) {
    unsigned char* memory = pto::detail::@memory@;
    memory[0] = 1;
    args[0] += memory[0];
}
"""


def kernel_with(memory: str, toolchain: Toolchain) -> Any:
    source = BODY.replace("@memory@", memory)
    return load_kernel(source, toolchain=toolchain, include_dirs=[INCLUDE])


@LINUX
def test_objects_are_unloaded(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unreferenced code is unloaded, though it ran, and was the first to need so much memory.

    The object of a thread's first kernel stays: its code frees the thread's tile memory.
    """
    if toolchain.kind != "gcc":
        pytest.skip("kernels share the memory of a thread where g++ compiles them")
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path))

    def run(memory: str) -> str:
        kernel = kernel_with(memory, toolchain)
        words = np.zeros(1, np.int64)
        kernel([words.ctypes.data])
        return str(kernel.path)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(run, "scratch()").result()
        others = [pool.submit(run, f"work_buffer({n} << 20)").result() for n in (4, 8, 16)]
        loaded = os.fsdecode(Path("/proc/self/maps").read_bytes())
        assert first in loaded
        assert [path for path in others if path in loaded] == []


@LINUX
def test_many_specialisations() -> None:
    """After ten times as many specialisations as are kept, no more than these are loaded."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack.specialisations", str(10 * BOUND)],
        cwd=ROOT,
        env={**os.environ, "PYPTO_MAX_SPECIALISATIONS": str(BOUND)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rows = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == [BOUND * i for i in range(1, 11)]
    assert all(1 <= objects <= BOUND + 1 for _, _, objects, _, _ in rows), rows
    assert usage(ROOT).mappings > 0
