"""What collectives cost on threads and on a cluster, beside a plain copy and Ray's own collectives.

A row is one collective, with so many ranks, on windows of so many bytes. All ranks fill their
windows, do it, and read the result: that of INT32 has to be NumPy's bit for bit, that of FP32 as
close as a sum of so many numbers is. ``copy`` is NumPy's copy of as many bytes as a window has,
``ray`` the collective of ``ray.util.collective`` with gloo, which needs PyTorch and has no
all-to-all. ``cluster`` are processes of one node of Ray on this machine, as those of ``ray`` are.

Times are of FP32, without filling and reading: what a run of many collectives takes longer than a
run of one. They are the least of several runs, with ranks and kernels there already; windows of so
many bytes per second are the bandwidth.
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

Array = np.ndarray[Any, Any]

SIZES: Final = (1 << 10, 1 << 16, 1 << 20, 1 << 23, 1 << 26)
RUNS: Final = 4
LARGE: Final = 1 << 22


@pl.jit
def fill(
    x: pl.Tensor,
    row: pl.Tensor,
    box: pl.InOut[pld.DistributedTensor],
    other: pl.InOut[pld.DistributedTensor],
):
    """Let a rank's windows have what it is given: all of it, and its own row."""
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.tensor.put(box, pld.rank(box), x)
        pld.tensor.put(other, pld.rank(box), row)


@pl.jit
def read(y: pl.Out[pl.Tensor], box: pl.InOut[pld.DistributedTensor]):
    """Return what a rank's window has."""
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.tensor.get(y, pld.rank(box), box)
    return y


@pl.jit.inline
def all_reduce(box: Any, other: Any, target: Any):
    """Sum over all ranks, each of which reads from all."""
    pld.tensor.allreduce(box)


@pl.jit.inline
def ring_all_reduce(box: Any, other: Any, target: Any):
    """Sum over all ranks, in a ring."""
    pld.tensor.allreduce(box, mode="ring")


@pl.jit.inline
def reduce_scatter(box: Any, other: Any, target: Any):
    """Let each rank have the sum of its row."""
    pld.tensor.reduce_scatter(box)


@pl.jit.inline
def all_gather(box: Any, other: Any, target: Any):
    """Let all ranks have the rows of all."""
    pld.tensor.allgather(other, box)


@pl.jit.inline
def all_to_all(box: Any, other: Any, target: Any):
    """Let each rank have its row of all."""
    pld.tensor.all_to_all(box, target)


def program(work: Any, dtype: Any, *, gives_target: bool) -> Any:
    """Return a program that does a collective so many times."""

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor], times: int):
        ranks, columns = x.shape[1], x.shape[2]
        boxes = pld.alloc_window_buffer([ranks, columns], dtype=dtype)
        rows = pld.alloc_window_buffer([1, columns], dtype=dtype)
        targets = pld.alloc_window_buffer([ranks if gives_target else 1, columns], dtype=dtype)
        box = pld.window(boxes, [ranks, columns], dtype=dtype)
        other = pld.window(rows, [1, columns], dtype=dtype)
        target = pld.window(targets, [ranks if gives_target else 1, columns], dtype=dtype)
        for r in pl.range(pld.world_size()):
            fill(x[r], x[r, r : r + 1], box, other, device=r)
        for _ in pl.range(times):
            work(box, other, target)
        for r in pl.range(pld.world_size()):
            if gives_target:
                read(y[r], target, device=r)
            else:
                read(y[r], box, device=r)

    return run


def _sums(x: Array) -> Array:
    return np.broadcast_to(x.sum(axis=0), x.shape)


def _row_sums(x: Array) -> Array:
    found = x.copy()
    for rank in range(len(x)):
        found[rank, rank] = x[:, rank].sum(axis=0)
    return found


def _rows(x: Array) -> Array:
    return np.broadcast_to(np.stack([x[rank, rank] for rank in range(len(x))]), x.shape)


def _exchanged(x: Array) -> Array:
    return x.transpose(1, 0, 2)


KINDS: Final[dict[str, tuple[Any, Callable[[Array], Array]]]] = {
    "all-reduce": (all_reduce, _sums),
    "ring": (ring_all_reduce, _sums),
    "reduce-scatter": (reduce_scatter, _row_sums),
    "all-gather": (all_gather, _rows),
    "all-to-all": (all_to_all, _exchanged),
}
DTYPES: Final = ((pl.INT32, np.int32), (pl.FP32, np.float32))


def least(run: Callable[[], object]) -> float:
    """Return the least time of some runs, in seconds."""
    found: list[float] = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return min(found)


def measured(kind: str, ranks: int, size: int, on: str | None) -> float:
    """Return the seconds of a collective, after its results were compared with NumPy."""
    work, reference = KINDS[kind]
    devices = DistributedConfig(device_ids=[*range(ranks)], on=on, timeout=300)
    config = RunConfig(distributed_config=devices)
    seconds = 0.0
    for dtype, element in DTYPES:
        shape = (ranks, ranks, size // (4 * ranks))
        x = np.random.default_rng(0).integers(-999, 999, shape, np.int32).astype(element)
        if element is np.float32:
            x /= np.float32(7)
        y = np.zeros_like(x)
        run = program(work, dtype, gives_target=kind == "all-to-all")
        compiled = run.compile(x, y, 1, config=config)
        with compiled.prepare() as worker:
            a, b = worker.alloc_stacked_tensor(x), worker.alloc_stacked_tensor(y)
            worker(a, b, 1)
            check(worker.copy_from(b), x, reference, f"{kind} of {ranks} ranks, {size} bytes")
            if element is np.float32:
                more = 2 if size > LARGE else 16
                once = least(lambda: worker(a, b, 1))  # noqa: B023  called here
                many = least(lambda: worker(a, b, 1 + more))  # noqa: B023
                seconds = max(many - once, 0.1 * many) / more  # a difference less is noise
    return seconds


def check(y: Array, x: Array, reference: Callable[[Array], Array], what: str) -> None:
    """Compare a result with NumPy."""
    if x.dtype == np.int32:
        assert np.array_equal(y, reference(x)), what
        return
    bound = len(x) * np.finfo(np.float32).eps * reference(np.abs(x)).astype(np.float32)
    assert (np.abs(y - reference(x)) <= bound).all(), what


class Member:
    """A process of Ray's own collectives."""

    def __init__(self, rank: int, ranks: int, group: str) -> None:
        """Join a group."""
        self.rank, self.ranks, self.group = rank, ranks, group
        self.ray: Any = import_module("ray.util.collective")
        self.ray.init_collective_group(ranks, rank, backend="gloo", group_name=group)

    def seconds(self, kind: str, size: int) -> float:
        """Return the least time of a collective."""
        data = np.ones((self.ranks, size // (4 * self.ranks)), np.float32)
        rows, own = [*data], data[self.rank].copy()
        run: dict[str, Callable[[], object]] = {
            "all-reduce": lambda: self.ray.allreduce(data, self.group),
            "all-gather": lambda: self.ray.allgather(rows, own, self.group),
            "reduce-scatter": lambda: self.ray.reducescatter(own, rows, self.group),
        }

        def together() -> None:
            run[kind]()
            self.ray.barrier(self.group)

        together()
        return least(together)


def of_ray(
    ray: Any, ranks: int, kinds: list[str], sizes: list[int]
) -> dict[tuple[str, int], float]:
    """Return the seconds of Ray's own collectives."""
    made = ray.remote(num_cpus=1)(Member)
    members = [made.remote(rank, ranks, f"group-{ranks}") for rank in range(ranks)]
    found: dict[tuple[str, int], float] = {}
    for kind in kinds:
        for size in sizes if kind in ("all-reduce", "all-gather", "reduce-scatter") else ():
            found[kind, size] = max(ray.get([m.seconds.remote(kind, size) for m in members]))
    for member in members:
        ray.kill(member)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4, 8])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="bytes of a window")
    parser.add_argument("--kinds", nargs="*", default=[*KINDS], choices=[*KINDS])
    args = parser.parse_args()
    ray: Any = import_module("ray") if find_spec("ray") is not None else None
    store = 12 * max(args.ranks) * max(args.sizes) + (1 << 28)
    if ray is not None:
        options: Any = {"include_dashboard": False, "log_to_driver": False}
        ray.init("local", num_cpus=max(args.ranks), object_store_memory=store, **options)
    has_gloo = ray is not None and find_spec("torch") is not None
    print("MB of a window per second, and milliseconds in brackets")
    columns = ("copy", "ray", "threads", "cluster")
    print(f"{'collective':<15}{'ranks':>6}{'bytes':>10}" + "".join(f"{c:>20}" for c in columns))
    for ranks in args.ranks:
        theirs = of_ray(ray, ranks, args.kinds, args.sizes) if has_gloo else {}
        for kind in args.kinds:
            for size in args.sizes:
                data = np.ones(size, np.uint8)
                seconds = [least(data.copy), theirs.get((kind, size), np.nan)]
                seconds.append(measured(kind, ranks, size, None))
                seconds.append(measured(kind, ranks, size, "ray") if ray else np.nan)
                print(
                    f"{kind:<15}{ranks:>6}{size:>10}" + "".join(map(cell(size), seconds)),
                    flush=True,
                )
    if ray is None:
        print("Ray is not installed: pip install 'pypto[cluster]'")
    else:
        ray.shutdown()


def cell(size: int) -> Callable[[float], str]:
    """Return what shows how long something took with so many bytes."""

    def shown(seconds: float) -> str:
        if np.isnan(seconds):
            return f"{'-':>20}"
        return f"{size / seconds / 1e6:>10.0f} ({1e3 * seconds:>7.2f})"

    return shown


if __name__ == "__main__":
    main()
