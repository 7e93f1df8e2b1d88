"""The peak rates of this machine: multiply-adds and copies per second, over all threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from pypto._src.lazy import lazy_module
from pypto._src.run.native import INCLUDE, NativeKernel, load_kernel, pack
from pypto._src.run.toolchain import find_toolchain

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

_SOURCE: Final = """
#include <pto/pto-inst.hpp>
// 24 chains of multiply-adds on vectors: as many as hide the latency of any machine we know. Braces
// stand alone: a loop as the emitter writes it gets a look for Ctrl-C, which these must not have.
extern "C" __attribute__((optimize("fp-contract=fast"))) void kernel_entry(int64_t* args)
{
    using V = pto::detail::Vec<float, pto::detail::kVectorBytes / 4>;
    V sum[CHAINS], x, y;
    for (int i = 0; i < pto::detail::kVectorBytes / 4; ++i)
    {
        x[i] = 0.5f + static_cast<float>(args[0]) * 0.0f;
        y[i] = static_cast<float>(args[0]) * 1e-9f;
    }
#pragma GCC unroll 32
    for (int j = 0; j < CHAINS; ++j)
    {
        sum[j] = y + static_cast<float>(j);  // equal chains would be computed once
    }
    for (int64_t n = 0; n < args[0]; ++n)
    {
#pragma GCC unroll 32
        for (int j = 0; j < CHAINS; ++j)
        {
            sum[j] = sum[j] * x + y;
        }
    }
    float total = 0;
#pragma GCC unroll 32
    for (int j = 0; j < CHAINS; ++j)
    {
        for (int i = 0; i < pto::detail::kVectorBytes / 4; ++i)
        {
            total += sum[j][i];
        }
    }
    args[1] = static_cast<int64_t>(total);
    args[2] = pto::detail::kVectorBytes / 4 * CHAINS;
}
"""


def multiply_add_peak(threads: int) -> float:
    """Return the multiply-adds of FP32 that all threads together reach, in flops per second."""
    toolchain = find_toolchain()
    assert toolchain is not None  # the caller has checked
    best = 0.0
    for chains in (10, 16, 24):
        source = _SOURCE.replace("CHAINS", str(chains))
        kernel = load_kernel(source, toolchain=toolchain, include_dirs=[INCLUDE])
        best = max(best, _peak_of(kernel, threads))
    return best


def _peak_of(kernel: NativeKernel, threads: int) -> float:
    """Return the flops per second of all threads in one version of the loop."""
    iterations = 2_000_000
    words = [pack([iterations, 0, 0]) for _ in range(threads)]
    seconds = _together(threads, lambda index: kernel(words[index]))
    return threads * 2.0 * iterations * words[0][2] / seconds


def copy_bandwidth(threads: int) -> float:
    """Return the bytes read and written per second by copies of 256 MiB in all threads."""
    size = (256 << 20) // threads
    source = [np.ones(size, np.uint8) for _ in range(threads)]
    target = [np.zeros(size, np.uint8) for _ in range(threads)]
    seconds = _together(threads, lambda index: np.copyto(target[index], source[index]))
    return 2.0 * size * threads / seconds


def _together(threads: int, run: Callable[[int], object]) -> float:
    """Return the fastest time of several rounds in which every thread runs once."""
    with ThreadPoolExecutor(threads) as pool:
        best = float("inf")
        for _ in range(7):
            begin = time.perf_counter()
            list(pool.map(run, range(threads)))
            best = min(best, time.perf_counter() - begin)
    return best
