"""What ragged sizes cost: programs on whole tensors of 1000 x 777 against 1024 x 768, one thread.

    python bench/ragged.py [--rounds 15] [ROW ...]

Rows of 777 elements are not a multiple of 32 bytes, and neither 1000 nor 777 is a multiple of the
rows and columns of boxes. Prints the time per element (for a product, per multiplication) at both
sizes and the median of their ratios; the two take turns. A wrong result ends the run with an error.
"""

# NumPy's results are arrays of unknown type.
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

os.environ["PYPTO_NUM_THREADS"] = "1"  # read when the runtime is loaded

import numpy as np

import pypto.language as pl
from pypto import runtime

ROUND, RAGGED = (1024, 768), (1000, 777)
INNER: Final = {ROUND: 256, RAGGED: 300}


class Row(NamedTuple):
    """A program of inputs whose sizes are letters, and its reference."""

    inputs: tuple[str, ...]
    body: str
    meaning: Callable[..., Any]


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _rms_norm(x: Any, w: Any) -> Any:
    return x * w / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)


ROWS: Final[dict[str, Row]] = {
    "elementwise": Row(
        ("mn", "mn"), "y = pl.mul(pl.add(x0, x1), 2.0)", lambda a, b: (a + b) * np.float32(2)
    ),
    "softmax": Row(
        ("mn",), "e = pl.exp(pl.sub(x0, pl.row_max(x0))); y = pl.div(e, pl.row_sum(e))", _softmax
    ),
    "RMSNorm": Row(
        ("mn", "1n"),
        "s = pl.row_sum(pl.mul(x0, x0)); "
        "y = pl.div(pl.mul(x0, x1), pl.sqrt(pl.add(pl.mul(s, 1.0 / {n}), 1e-5)))",
        _rms_norm,
    ),
    "GEMM": Row(("mk", "kn"), "y = pl.matmul(x0, x1)", lambda a, b: a @ b),
}


def prepared(name: str, sizes: tuple[int, int]) -> tuple[Callable[[], Any], int]:
    """Return a checked function that runs a program at given sizes, and its amount of work.

    Raises:
        SystemExit: the result is wrong.
    """
    row, letters = ROWS[name], {"m": sizes[0], "n": sizes[1], "k": INNER[sizes], "1": 1}
    shapes = [tuple(letters[letter] for letter in each) for each in row.inputs]
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape, np.float32) for shape in shapes]
    params = ", ".join(f"x{at}: pl.Tensor[{list(s)}, pl.FP32]" for at, s in enumerate(shapes))
    body = row.body.format(**letters)
    program = pl.parse_program(
        "import pypto.language as pl\n\n\n@pl.program\nclass Ragged:\n    @pl.function\n"
        f"    def main(self, {params}):\n        with pl.incore():\n"
        + "".join(f"            {line}\n" for line in body.split("; "))
        + "        return y\n"
    )
    compiled = runtime.compile(program, target="cpu")
    if not np.allclose(compiled(*arrays), row.meaning(*arrays), 1e-4, 1e-5):
        raise SystemExit(f"{name} at {shapes}: the result is wrong")
    inner = INNER[sizes] if "k" in "".join(row.inputs) else 1
    return lambda: compiled(*arrays), sizes[0] * sizes[1] * inner


def measured(name: str, rounds: int) -> tuple[float, float, float]:
    """Return seconds per element at both sizes, and the median ratio."""
    pairs = [prepared(name, sizes) for sizes in (ROUND, RAGGED)]
    times: list[list[float]] = []
    for _ in range(rounds):
        both: list[float] = []
        for run, work in pairs:
            singles: list[float] = []
            for _ in range(10):
                begin = time.perf_counter()
                run()
                singles.append(time.perf_counter() - begin)
            both.append(min(singles) / work)  # a busy machine slows some of them
        times.append(both)
    ratio = statistics.median(after / before for before, after in times)
    return min(t[0] for t in times), min(t[1] for t in times), ratio


def main(names: Sequence[str], rounds: int) -> None:
    """Print a line for each program."""
    for name in names or ROWS:
        before, after, ratio = measured(name, rounds)
        sizes = [
            "x".join(map(str, (s[0], *([INNER[s]] if name == "GEMM" else []), s[1])))
            for s in (ROUND, RAGGED)
        ]
        print(
            f"{name:12} {sizes[0]:>13} {before * 1e12:8.1f} ps   {sizes[1]:>13} "
            f"{after * 1e12:8.1f} ps   ratio {ratio:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", nargs="*", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of ten runs at each size")
    options = parser.parse_args()
    main(options.rows, options.rounds)
