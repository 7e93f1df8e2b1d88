"""Kernel texts in the emitter's style, and a library of them compiled against the headers.

A `Kernel` is declared at module level with `kernel(...)`; all kernels of a test module are
compiled together by `Library`, and called with NumPy arrays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from pypto._src.run.cache import build
from pypto._src.run.toolchain import Toolchain

Array = npt.NDArray[Any]

INCLUDE = Path(__file__).parents[2] / "src" / "pypto" / "include"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fno-exceptions")

PRELUDE = "#include <cstdint>\n#include <pto/pto-inst.hpp>\nusing namespace pto;\n"
CONTROL = """
extern "C" __aicore__ const char* control_error() { return pto::cpu::error(); }
extern "C" __aicore__ void control_start(int64_t byte) {
    pto::cpu::reset_error();
    pto::cpu::poison(static_cast<uint8_t>(byte));
}
extern "C" __aicore__ void control_block(int64_t index, int64_t count) {
    pto::cpu::set_block(static_cast<uint32_t>(index), static_cast<uint32_t>(count));
}
"""

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES: dict[str, np.dtype[Any]] = {
    "float": np.dtype(np.float32),
    "half": np.dtype(np.float16),
    "bfloat16_t": BF16,
    "bool": np.dtype(np.bool_),
    **{
        f"{sign}int{bits}_t": np.dtype(f"{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}
FLOATS = ("float", "half", "bfloat16_t")

KERNELS_OF_A_PART = 110
"""The number of kernels that the compiler handles in a few seconds."""

LAYOUTS = {
    "nd": ("RowMajor", "NoneBox"),
    "dn": ("ColMajor", "NoneBox"),
    "nz": ("ColMajor", "RowMajor"),
    "zn": ("RowMajor", "ColMajor"),
    "zz": ("RowMajor", "RowMajor"),
}


def tile(
    name: str,
    dtype: str,
    shape: tuple[int, int],
    address: int,
    *,
    valid: tuple[int, int] | None = None,
    layout: str = "nd",
    location: str = "Vec",
    fractal: int = 512,
) -> str:
    """Declare a tile with a run-time valid size at an address."""
    blocks, boxes = LAYOUTS[layout]
    rows, cols = valid or shape
    return (
        f"using {name}Type = Tile<TileType::{location}, {dtype}, {shape[0]}, {shape[1]}, "
        f"BLayout::{blocks}, -1, -1, SLayout::{boxes}, {fractal}>;\n"
        f"{name}Type {name}({rows}, {cols});\nTASSIGN({name}, {address:#x});\n"
    )


def acc(name: str, dtype: str, shape: tuple[int, int], valid: tuple[int, int]) -> str:
    """Declare an accumulator tile at address 0."""
    return tile(name, dtype, shape, 0, valid=valid, layout="nz", location="Acc", fractal=1024)


def tensor(
    name: str,
    argument: int,
    dtype: str,
    shape: Sequence[int],
    strides: Sequence[int] | None = None,
    layout: str = "ND",
) -> str:
    """Declare a GlobalTensor on an argument; missing outer dimensions are 1."""
    if strides is None:
        sizes = [*shape, 1]
        strides = [int(np.prod(sizes[i + 1 :])) for i in range(len(shape))]
    pad = 5 - len(shape)
    sizes_text = ", ".join(map(str, [*[1] * pad, *shape]))
    strides_text = ", ".join(map(str, [*[1] * pad, *strides]))
    return (
        f"__gm__ {dtype}* {name}Data = reinterpret_cast<__gm__ {dtype}*>(args[{argument}]);\n"
        f"using {name}Type = GlobalTensor<{dtype}, Shape<{sizes_text}>, Stride<{strides_text}>, "
        f"Layout::{layout}>;\n{name}Type {name}({name}Data);\n"
    )


def function(name: str, body: str) -> str:
    """Return a kernel function as the emitter writes it, with its entry point."""
    return (
        f"__aicore__ __attribute__((always_inline)) void run_{name}(__gm__ int64_t* args)\n"
        f"{{\n{body}\n}}\n"
        f'extern "C" __aicore__ void {name}(__gm__ int64_t* args) {{ run_{name}(args); }}\n'
    )


class Library:
    """Kernels by name, compiled in parallel into a few shared objects.

    An object holds kernels with adjacent names: what they share is compiled once.
    """

    def __init__(self, kernels: dict[str, str], toolchain: Toolchain) -> None:
        names = sorted(kernels)

        def load(chosen: list[str]) -> ctypes.CDLL:
            functions = "".join(function(name, kernels[name]) for name in chosen)
            path = build(
                PRELUDE + functions + CONTROL,
                toolchain=toolchain,
                include_dirs=[INCLUDE],
                extra_flags=("-O1", *WARNINGS),
            )
            return ctypes.CDLL(str(path))

        parts = [names[i : i + KERNELS_OF_A_PART] for i in range(0, len(names), KERNELS_OF_A_PART)]
        with ThreadPoolExecutor() as pool:
            self._objects = list(pool.map(load, parts))
        for item in self._objects:
            item.control_error.restype = ctypes.c_char_p
        self._part = {name: index for index, part in enumerate(parts) for name in part}

    def start(self, byte: int = 0x3C) -> None:
        """Clear the error and fill this thread's tile memory with a byte."""
        for item in self._objects:
            item.control_start(ctypes.c_int64(byte))

    def error(self) -> str | None:
        """Return the error of this thread."""
        messages: list[bytes | None] = [item.control_error() for item in self._objects]
        return next((message.decode() for message in messages if message is not None), None)

    def block(self, index: int, count: int) -> None:
        """Set the block that this thread runs as."""
        for item in self._objects:
            item.control_block(ctypes.c_int64(index), ctypes.c_int64(count))

    def call(self, name: str, *arguments: Array | int) -> None:
        """Call a kernel; arrays are passed by address and must be contiguous."""
        words = [a if isinstance(a, int) else a.ctypes.data for a in arguments]
        entry = getattr(self._objects[self._part[name]], name)
        entry((ctypes.c_int64 * max(1, len(words)))(*words))

    def run(self, name: str, *arguments: Array | int) -> None:
        """Call a kernel with fresh memory and check that it records no error."""
        self.start()
        self.call(name, *arguments)
        assert self.error() is None
