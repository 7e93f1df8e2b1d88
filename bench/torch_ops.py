"""What a call of a kernel costs as an operator of PyTorch, compared with PyTorch's own operators.

Microseconds per call of the fastest round, in which all take turns, with one thread. The sizes are
small, so that the call dominates, except for the last. Needs PyTorch, the extra ``torch``.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import pypto.language as pl
import pypto.torch

ROWS: Final = pl.dynamic("ROWS")
SIZES: Final = (8, 64, 4096)
ROUNDS: Final = 201
SECONDS: Final = 0.002  # the least time of a contender in a round


@pl.jit
def softmax(x: pl.Tensor[[ROWS, 64], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]]):
    """Return the softmax of each row."""
    for row in pl.range(0, x.shape[0], 32):
        rows = pl.min(32, x.shape[0] - row)
        tile = pl.load(x, [row, 0], [32, 64], valid_shapes=[rows, 64])
        powers = pl.exp(pl.row_expand_sub(tile, pl.row_max(tile)))
        shares = pl.row_expand_div(powers, pl.row_sum(powers))
        y = pl.store(shares, [row, 0], [rows, 64], y)
    return y


def microseconds(contenders: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the time of a call of each, from the fastest round; in each they take turns."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, call in contenders.items():
            begin, count = time.perf_counter(), 0
            while time.perf_counter() - begin < SECONDS:
                for _ in range(10):
                    call()
                count += 10
            times[name].append((time.perf_counter() - begin) / count * 1e6)
    return {name: min(found) for name, found in times.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: pip install 'pypto[torch]'")
        return
    os.environ["PYPTO_NUM_THREADS"] = "1"
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    operator = pypto.torch.register(softmax, "bench::softmax")
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}")
    print("| Softmax of rows of 64 | PyTorch's operator | ours | the kernel on NumPy arrays |")
    print("|---|---|---|---|")
    for rows in SIZES:
        x = torch.randn(rows, 64)
        given, made = x.numpy(), torch.empty(rows, 64).numpy()
        torch.testing.assert_close(operator(x), torch.softmax(x, -1))
        found = microseconds(
            {
                "PyTorch": lambda x=x: torch.softmax(x, -1),
                "operator": lambda x=x: operator(x),
                "kernel": lambda given=given, made=made: softmax(given, made),
            }
        )
        print(f"| {rows} rows | {' | '.join(f'{each:.1f}' for each in found.values())} |")


if __name__ == "__main__":
    main()
