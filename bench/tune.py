"""What the tuner finds, compared with an exhaustive search: matrix products of twelve sizes.

    python bench/tune.py                            # all sizes
    python bench/tune.py 512x512x512                # one
    python bench/tune.py --exhaustive all           # simulates large products, too: hours

Tiles of the result, tiles of K, stages and the order of blocks are chosen. ``seconds`` is a search
that finds nothing on disk, ``processor`` the CPU time of all its processes. Where ``exhaustive``
is requested, it is the best of simulating every legal candidate to its end, and ``ratio`` the
tuner's time divided by that. ``right`` compares the choice, compiled for this machine at a reduced
size, with NumPy; that flags and barriers suffice is proved for every legal candidate.
"""

# The arrays in a kernel have no known type.
# pyright: reportArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import pypto.language as pl
from pypto import runtime
from pypto._src.tune.autotune import Tuned
from pypto._src.tune.search import Options, Space, search

SIZES: Final = (
    (512, 512, 512),
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (3001, 2047, 2049),
    (128, 4096, 4096),
    (16, 4096, 2048),
    (1000, 777, 1111),
    (513, 513, 513),
    (77, 1000, 3000),
    (1, 1024, 5000),
    (1531, 509, 383),
)
"""M, K and N."""

LARGE: Final = 2048**3
"""Products of this many multiplications take too long to be searched exhaustively each time."""


@pl.autotune(
    BM=[32, 64, 128, 256],
    BN=[64, 128, 256],
    BK=[32, 64, 128],
    STAGES=[1, 2, 3],
    N_FIRST=[True, False],
)
@pl.jit
def gemm(
    a: pl.Tensor,
    b: pl.Tensor,
    c: pl.Out[pl.Tensor],
    BM: int,
    BN: int,
    BK: int,
    STAGES: int,
    N_FIRST: bool,
):
    """Return the product of a [M, K] and b [K, N], of any sizes."""
    M, K = a.shape
    N = b.shape[1]
    m_tiles = (M + BM - 1) // BM
    n_tiles = (N + BN - 1) // BN
    for block in pl.spmd(m_tiles * n_tiles, name_hint="gemm"):
        if N_FIRST:
            m = block // n_tiles * BM
            n = block % n_tiles * BN
        else:
            m = block % m_tiles * BM
            n = block // m_tiles * BN
        rows = pl.min(M - m, BM)
        cols = pl.min(N - n, BN)
        depth = min(K, BK)
        acc = pl.matmul(
            pl.slice(a, [BM, BK], [m, 0], valid_shape=[rows, depth]),
            pl.slice(b, [BK, BN], [0, n], valid_shape=[depth, cols]),
            out_dtype=pl.FP32,
        )
        for k in pl.pipeline(BK, K, BK, stage=STAGES):
            left = pl.min(K - k, BK)
            acc = pl.matmul_acc(
                acc,
                pl.slice(a, [BM, BK], [m, k], valid_shape=[rows, left]),
                pl.slice(b, [BK, BN], [k, n], valid_shape=[left, cols]),
            )
        c = pl.assemble(c, acc, [m, n])
    return c


def arrays(m: int, k: int, n: int) -> tuple[Any, Any, Any]:
    """Return factors in FP16 and an array for the product."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    return a, b, np.zeros((m, n), np.float32)


def tuned(size: Sequence[int], processes: int) -> tuple[Tuned, float, float]:
    """Return the tuner's result for a size, and the wall and CPU seconds that it took."""
    given = arrays(*size)
    begin, before = time.perf_counter(), sum(os.times()[:4])
    found = gemm.tune(*given, processes=processes)
    return found, time.perf_counter() - begin, sum(os.times()[:4]) - before


def exhaustive(size: Sequence[int], found: Tuned, processes: int) -> float:
    """Return the time of the best candidate, simulating each of them to its end."""
    given = dict(zip("abc", arrays(*size), strict=True))
    choices = [(each.choice, False) for each in found.outcome.candidates]
    space = Space(lambda choice: gemm.program(choice, given), choices, None, {}, None)
    best = search(space, Options(processes), exhaustive=True).best
    assert best is not None
    return best.run["us"]


def is_small(size: Sequence[int]) -> bool:
    """Return whether an exhaustive search takes minutes at most."""
    m, k, n = size
    return m * k * n < LARGE


def is_right(size: Sequence[int], choice: dict[str, Any]) -> bool:
    """Return whether a choice computes the product at a reduced size, compiled for this machine."""
    tiles = (choice["BM"], choice["BK"], choice["BN"])
    m, k, n = (min(s, 2 * tile + s % tile) for s, tile in zip(size, tiles, strict=True))
    a, b, c = arrays(m, k, n)
    program = gemm.program(choice, {"a": a, "b": b, "c": c})
    runtime.compile(program, target="cpu")(a, b, c)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return np.allclose(c, expected, rtol=1e-3, atol=1e-2)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row for each size; return 1 if one is slow, far from the best or wrong.

    A search is slow if it takes more than 30 s of CPU time, however busy the machine is.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sizes", nargs="*", help="MxKxN; all twelve if none is given")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--exhaustive",
        choices=["none", "small", "all"],
        default="small",
        help="for which sizes every candidate is simulated; small ones are below 2048 ^ 3",
    )
    args = parser.parse_args(argv)
    sizes = [tuple(map(int, text.split("x"))) for text in args.sizes] or SIZES
    print(
        f"{'M x K x N':>18} {'seconds':>8} {'processor':>10} {'legal':>6} {'to end':>7} {'us':>8} "
        f"{'exhaustive':>11} {'ratio':>6} {'right':>6}  choice"
    )
    failed = False
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            before = os.environ.get("PYPTO_CACHE_DIR")
            os.environ["PYPTO_CACHE_DIR"] = folder
            try:
                found, seconds, processor = tuned(size, args.processes)
                best = found.outcome.best
                assert best is not None
                us, least = best.run["us"], None
                if args.exhaustive == "all" or (args.exhaustive == "small" and is_small(size)):
                    least = exhaustive(size, found, args.processes)
            finally:
                del os.environ["PYPTO_CACHE_DIR"]
                if before is not None:
                    os.environ["PYPTO_CACHE_DIR"] = before
        candidates = found.outcome.candidates
        legal = sum(not each.refused for each in candidates)
        right = is_right(size, found.choice)
        failed |= processor > 30 or (least is not None and us > least * 1.03) or not right
        whole = f"{'-':>11} {'-':>6}" if least is None else f"{least:>11.1f} {us / least:>6.3f}"
        print(
            f"{' x '.join(map(str, size)):>18} {seconds:>8.1f} {processor:>10.1f} "
            f"{legal:>6} {len(found.outcome.ranked):>7} "
            f"{us:>8.1f} {whole} {'yes' if right else 'NO':>6}  "
            + ", ".join(f"{name}={value}" for name, value in found.choice.items()),
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
