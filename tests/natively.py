"""Compiles many kernels as one shared object, and compares arrays.

A test that checks hundreds of kernels cannot start the compiler for each of them: every kernel's
file goes into its own namespace of a single translation unit, with an entry point of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pytest

from pypto._src import driver
from pypto._src.driver import INCLUDE
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run import compiled_kernels
from pypto._src.run.arguments.signature import Bound
from pypto._src.run.cache import build
from pypto._src.run.native import (
    LAUNCH_SYMBOL,
    LaunchTensor,
    NativeKernel,
    launch_body,
    with_checkpoints,
)
from pypto._src.run.scheduler import NativeHost
from pypto._src.run.toolchain import Toolchain, find_toolchain

Array = np.ndarray[Any, Any]


def compiler() -> Toolchain:
    """Return the C++ compiler; without one, the test is skipped."""
    found = find_toolchain()
    if found is None:
        pytest.skip("no C++ compiler")
    return found


def lowered(
    function: Function, strategy: OptimizationStrategy = OptimizationStrategy.Default
) -> Function:
    """Return a kernel after all passes of a strategy."""
    (result,) = PassManager(strategy).run_passes(Program([function], "batch")).functions_
    return result


LAUNCHER = """\
#if defined(_WIN32)
#define PYPTO_EXPORT __declspec(dllexport)
#else
#define PYPTO_EXPORT __attribute__((visibility("default")))
#endif
"""
LAUNCHED = """\
extern "C" PYPTO_EXPORT const char* {symbol}(
    int64_t* args, uint32_t block, uint32_t blocks, pto::cpu::Run* run) {{
    return pto::cpu::launch(run, block, blocks, {launched}, args);
}}
"""


class Text(NamedTuple):
    """A kernel's C++ and its launch data."""

    source: str
    tensors: Sequence[LaunchTensor | None] = ()
    name: str | None = None


def compile_together(
    kernels: Sequence[Function], toolchain: Toolchain, flags: Sequence[str] = ()
) -> list[NativeKernel]:
    """Return kernels, which have been through the passes, compiled as one translation unit.

    ``flags`` follow those of the compiler.
    """
    return _load([Text(kernel_file(kernel)) for kernel in kernels], toolchain, flags)


def _load(
    texts: Sequence[Text], toolchain: Toolchain, flags: Sequence[str] = ()
) -> list[NativeKernel]:
    """Return kernels compiled as one translation unit."""
    parts = ["#include <cstdint>", "#include <pto/pto-inst.hpp>", LAUNCHER]
    # What is included here adds nothing inside a namespace.
    lines = (line for text in texts for line in text.source.splitlines())
    parts += dict.fromkeys(line for line in lines if line.startswith("#include "))
    for number, text in enumerate(texts):
        entry, symbol = f"kernel_entry_{number}", f"{LAUNCH_SYMBOL}_{number}"
        launched = f"batch_{number}::launched"
        parts += [
            f"namespace {{ namespace batch_{number} {{",
            f"#define kernel_entry {entry}",
            text.source,
            "#undef kernel_entry",
            "void launched(int64_t* args) {",
            launch_body(entry, text.tensors, text.name),
            "}}}",
            LAUNCHED.format(symbol=symbol, launched=launched),
        ]
    source = "\n".join(parts)
    path = build(source, toolchain=toolchain, include_dirs=[INCLUDE], extra_flags=flags)
    return [NativeKernel(path, f"{LAUNCH_SYMBOL}_{number}") for number in range(len(texts))]


class Deferred:
    """Kernels of compiled programs, which are compiled together when one of them is needed."""

    def __init__(self) -> None:
        self._waiting: dict[DeferredKernel, Text] = {}
        self._made: dict[DeferredKernel, NativeKernel] = {}
        self._lock = Lock()

    def kernel(self, wanted: DeferredKernel) -> NativeKernel:
        """Return a kernel, compiled with all others that are pending."""
        with self._lock:
            if wanted not in self._made:
                # In a fixed order: threads ask for kernels of a program in any order.
                batch = sorted(self._waiting.items(), key=lambda item: item[1].source)
                found = _load([text for _, text in batch], compiler())
                self._made.update(zip((kernel for kernel, _ in batch), found, strict=True))
                self._waiting.clear()
            return self._made[wanted]

    def load_kernel(
        self,
        source: str,
        *,
        tensors: Sequence[LaunchTensor | None],
        name: str,
        toolchain: Toolchain,
        include_dirs: Sequence[Path],
    ) -> DeferredKernel:
        """Replace the function of this name in `run.native`."""
        assert (toolchain, list(include_dirs)) == (compiler(), [INCLUDE])
        made = DeferredKernel(self)
        with self._lock:
            self._waiting[made] = Text(with_checkpoints(source), tensors, name)
        return made


class DeferredKernel:
    """A kernel that is compiled when it runs, or when a host function needs its address."""

    def __init__(self, batch: Deferred) -> None:
        self._batch = batch

    @property
    def address(self) -> int:
        """The address of the launcher."""
        return self._batch.kernel(self).address

    def __call__(self, words: Sequence[int]) -> None:
        self._batch.kernel(self)(words)


class DeferredHost:
    """A host function that is compiled when it runs: its table has the addresses of its kernels."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Replace `NativeHost`, with its arguments."""
        self._make = partial(NativeHost, *args, **named)

    @cached_property
    def _host(self) -> NativeHost:
        return self._make()

    def launch(self, bound: Bound) -> Any:
        """Run it, see `NativeHost.launch`."""
        return self._host.launch(bound)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)


@contextmanager
def deferred() -> Generator[None]:
    """Let the kernels of programs that are compiled inside be compiled together.

    That happens when the first of them runs. Everything else is as outside: passes, C++, and
    calls.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_kernels, "load_kernel", Deferred().load_kernel)
        patch.setattr(driver, "NativeHost", DeferredHost)
        yield


TOGETHER = 250
"""The most kernels of a batch."""


def batches(counts: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return, by name, the names whose kernels are compiled together with its own.

    Kernels of one translation unit share their loads, stores and instructions: eight ops compiled
    together take less than half the time that they take one by one.
    """
    found: list[list[str]] = [[]]
    total = 0
    for name, count in counts.items():
        if total + count > TOGETHER and found[-1]:
            found.append([])
            total = 0
        found[-1].append(name)
        total += count
    return {name: tuple(batch) for batch in found for name in batch}


def with_scratch(args: Sequence[Array], kernel: Function) -> list[Array]:
    """Return arguments with those that the passes add: tensors between ops of a kernel.

    The kernel's caller allocates them.
    """
    kinds = [param.type for param in kernel.params[len(args) :]]
    made: list[Array] = []
    for kind in kinds:
        assert isinstance(kind, TensorType)
        made.append(np.zeros(static_shape(kind) or (), kind.dtype.numpy))
    return [*args, *made]


def words(args: Sequence[Array | int]) -> list[int]:
    """Return arguments as a kernel takes them: addresses of arrays, and integers.

    The arrays have to stay alive during the call.
    """
    return [arg if isinstance(arg, int) else arg.ctypes.data for arg in args]


def bits(array: Array, *, signed_zero: bool = True) -> Array:
    """Return the bits of elements as integers; all NaNs are equal, and zeros on request."""
    if array.dtype.kind in "iub":
        return array
    plain = np.where(np.isnan(array), array.dtype.type("nan"), array)
    if not signed_zero:
        plain = np.where(plain == 0, array.dtype.type(0), plain)
    return plain.view(np.dtype(f"u{array.dtype.itemsize}"))


def assert_close(
    found: Array,
    wanted: Array,
    bounds: tuple[float, float] = (0.0, 0.0),
    *,
    signed_zero: bool = True,
    note: str = "",
) -> None:
    """Compare arrays: bit by bit without bounds, else within relative and absolute ones.

    A NaN equals any NaN. Without ``signed_zero`` the zeros are equal: which of two zeros is
    larger is unspecified, and NumPy's own choice depends on the machine.
    """
    assert found.dtype == wanted.dtype, note
    rtol, atol = bounds
    if rtol == atol == 0.0:
        left, right = (bits(array, signed_zero=signed_zero) for array in (found, wanted))
        np.testing.assert_array_equal(left, right, err_msg=note)
        return
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            found.astype(np.float64), wanted.astype(np.float64), rtol, atol, err_msg=note
        )


assert ctypes.sizeof(ctypes.c_void_p) == 8, "a kernel's arguments are 64-bit words"
