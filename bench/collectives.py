"""What collectives cost: a sum over all ranks, on threads and on a cluster, beside a plain copy.

Each row is one size of a rank's window, in INT32: all ranks fill their windows, sum them, and read
the result, which is compared with NumPy. ``copy`` is NumPy's copy of as many bytes as one rank has,
``store`` a put and a get of them in Ray's object store. ``cluster`` are processes of one node of
Ray on this machine. Times are the least of three, with ranks and kernels there already.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig

COLUMNS: Final = 256
SIZES: Final = (1 << 10, 1 << 16, 1 << 20, 1 << 23)


@pl.jit
def fill(x: pl.Tensor, box: pl.InOut[pld.DistributedTensor], ROWS: int = 1):
    """Let a rank's window have what it is given."""
    with pl.at(level=pl.Level.CORE_GROUP):
        for r in pl.range(ROWS):
            box[r : r + 1, :] = x[r : r + 1, :]


@pl.jit
def read(y: pl.Out[pl.Tensor], box: pl.InOut[pld.DistributedTensor], ROWS: int = 1):
    """Return what a rank's window has."""
    with pl.at(level=pl.Level.CORE_GROUP):
        for r in pl.range(ROWS):
            y[r : r + 1, :] = box[r : r + 1, :]
    return y


@pl.jit.host
def all_reduce(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    """Let each part of ``y`` be the sum of all parts of ``x``."""
    rows = x.shape[1]
    boxes = pld.alloc_window_buffer([rows, COLUMNS], dtype=pl.INT32)
    box = pld.window(boxes, [rows, COLUMNS], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        fill(x[r], box, ROWS=rows, device=r)
    pld.tensor.allreduce(box)
    for r in pl.range(pld.world_size()):
        read(y[r], box, ROWS=rows, device=r)


def least(run: Callable[[], object]) -> float:
    """Return the least time of three runs, in seconds."""
    found: list[float] = []
    for _ in range(3):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return min(found)


def summed(ranks: int, size: int, on: str | None) -> float:
    """Return how long a sum over all ranks takes."""
    rows = size // (4 * COLUMNS)
    x = np.random.default_rng(0).integers(-999, 999, (ranks, rows, COLUMNS), np.int32)
    y = np.zeros_like(x)
    devices = DistributedConfig(device_ids=[*range(ranks)], on=on, timeout=300)
    compiled = all_reduce.compile(x, y, config=RunConfig(distributed_config=devices))
    with compiled.prepare() as worker:
        a, b = worker.alloc_stacked_tensor(x), worker.alloc_stacked_tensor(y)
        worker(a, b)
        np.testing.assert_array_equal(worker.copy_from(b), np.broadcast_to(x.sum(axis=0), x.shape))
        return least(lambda: worker(a, b))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="bytes of a window")
    args = parser.parse_args()
    ray: Any = import_module("ray") if find_spec("ray") is not None else None
    if ray is not None:
        options: Any = {"include_dashboard": False, "log_to_driver": False}
        ray.init("local", num_cpus=max(args.ranks), object_store_memory=1 << 29, **options)
    print("ranks      bytes     copy ms    store ms  threads ms  cluster ms")
    for ranks in args.ranks:
        for size in args.sizes:
            data = np.ones(size, np.uint8)
            columns = [least(data.copy)]
            columns.append(least(lambda data=data: ray.get(ray.put(data))) if ray else np.nan)
            columns.append(summed(ranks, size, None))
            columns.append(summed(ranks, size, "ray") if ray else np.nan)
            cells = "".join(f"{1e3 * each:12.3f}" for each in columns)
            print(f"{ranks:5} {size:10}{cells}", flush=True)
    if ray is None:
        print("Ray is not installed: pip install 'pypto[cluster]'")
    else:
        ray.shutdown()


if __name__ == "__main__":
    main()
