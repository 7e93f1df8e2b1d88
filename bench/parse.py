"""What the front end costs: parsing kernels, and calling one that is already specialised.

Parsing: a kernel of 200, 2,000 and 20,000 lines as a user writes it, without types, with a branch
or a loop every 20 lines; one of 2,000 lines that are slices; each example in ``examples/``; and the
program of paged attention alone, without the arguments and the reference that follow it. The peer
is CPython's own ``ast.parse`` of the same text, in the same run.

Calling: a warm call of a ``@pl.jit`` kernel with five arrays, against the native call inside it,
and against an empty C function that ctypes calls with five pointers.

A time is the fastest of several repetitions, with the garbage collector off while it runs.
"""

from __future__ import annotations

import ast
import ctypes
import platform
import runpy
from typing import Any

import numpy as np
from support.texts import EXAMPLES, kernel, program_only, slice_kernel
from support.timing import fastest

import pypto.language as pl


def parsing() -> None:
    """Print what parsing costs."""
    print(f"{'text':24}{'lines':>8}{'ast.parse':>12}{'pl.parse':>12}{'x ast':>8}{'us/line':>9}")
    texts = {f"kernel of {n:,} lines": kernel(n) for n in (200, 2_000, 20_000)}
    texts["2,000 lines of slices"] = slice_kernel(2_000)
    numbers: dict[str, dict[str, Any]] = {}  # that Python computes, by example
    for path in sorted(EXAMPLES.glob("*.py")):
        texts[path.name] = path.read_text(encoding="utf-8")
        names = runpy.run_path(str(path))
        numbers[path.name] = {k: v for k, v in names.items() if isinstance(v, int | float)}
    texts["paged attention alone"] = program_only(texts["paged_attention.py"])
    for name, text in texts.items():
        lines = text.count("\n")
        peer = min(fastest(lambda t=text: ast.parse(t)) for _ in range(2))
        try:
            known = numbers.get(name, {})
            ours = min(fastest(lambda t=text, k=known: pl.parse(t, names=k)) for _ in range(2))
        except ValueError:
            continue  # an example with several programs
        print(
            f"{name:24}{lines:8,}{peer * 1e3:9.2f} ms{ours * 1e3:9.2f} ms{ours / peer:8.2f}"
            f"{ours / lines * 1e6:9.1f}"
        )


@pl.jit
def first_rows(
    a: pl.Tensor,
    b: pl.Tensor,
    c: pl.Tensor,
    d: pl.Tensor,
    out: pl.Out[pl.Tensor],
):
    """Add the first elements of four arrays."""
    left = pl.add(pl.load(a, [0, 0], [1, 16]), pl.load(b, [0, 0], [1, 16]))
    right = pl.add(pl.load(c, [0, 0], [1, 16]), pl.load(d, [0, 0], [1, 16]))
    return pl.store(pl.add(left, right), [0, 0], [1, 16], out)


def calling() -> None:
    """Print what a warm call costs."""
    arrays = [np.ones((1, 16), np.float32) for _ in range(5)]
    first_rows(*arrays)
    compiled = first_rows.compile(*arrays)
    if compiled.target != "cpu":
        print("no C++ compiler here: calls are not measured")
        return
    empty = ctypes.CDLL(None).getpid  # takes no arguments and ignores five
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    native = compiled.prepared(arrays)
    times = {
        "empty C function, ctypes, five pointers": fastest(lambda: empty(*pointers), repeat=1000),
        "native kernel, arguments ready": fastest(native, repeat=1000),
        "compiled(a, b, c, d, out)": fastest(lambda: compiled(*arrays), repeat=1000),
        "@pl.jit kernel(a, b, c, d, out)": fastest(lambda: first_rows(*arrays), repeat=1000),
    }
    base, ready = list(times.values())[:2]
    print(f"\n{'call':42}{'us':>8}{'x ctypes':>10}{'over native':>13}")
    for name, seconds in times.items():
        over = f"{(seconds - ready) * 1e6:10.2f} us" if seconds > ready else ""
        print(f"{name:42}{seconds * 1e6:8.2f}{seconds / base:10.1f}{over:>13}")


def main() -> None:
    """Measure and print both tables."""
    print(f"CPython {platform.python_version()}, {platform.machine()}")
    parsing()
    calling()


if __name__ == "__main__":
    main()
