"""What collectives cost on threads and on a cluster, compared with a copy and Ray's collectives.

A row is one collective, for a number of ranks and a size of windows in bytes. All ranks fill their
windows, do it, and read the result: for INT32 it must be NumPy's bit for bit, for FP32 within the
rounding error of such a sum. ``copy`` is NumPy's copy of as many bytes as a window has, ``ray`` the
collective of ``ray.util.collective`` with gloo, which needs PyTorch and has no all-to-all.
``cluster`` uses processes of one node of Ray on this machine, as ``ray`` does.

Times are of FP32, without filling and reading: the extra time of a run of many collectives over a
run of one. They are the least of several runs, with ranks and kernels ready; the bandwidth is the
bytes of a window per second. A figure with a question mark is unreliable: its runs differ by half,
or the difference of the two is less than a tenth of a run, and a tenth is shown instead.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig

Array = np.ndarray[Any, Any]

SIZES: Final = (1 << 10, 1 << 16, 1 << 20, 1 << 23, 1 << 26)
RUNS: Final = 4
LARGE: Final = 1 << 22
"""Larger windows than this have fewer runs, of fewer collectives."""


@pl.jit
def fill(
    x: pl.Tensor,
    row: pl.Tensor,
    box: pl.InOut[pld.DistributedTensor],
    other: pl.InOut[pld.DistributedTensor],
):
    """Fill a rank's windows with its arguments: one with all of ``x``, one with its own ``row``."""
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.tensor.put(box, pld.rank(box), x)
        pld.tensor.put(other, pld.rank(box), row)


@pl.jit
def read(y: pl.Out[pl.Tensor], box: pl.InOut[pld.DistributedTensor]):
    """Return the contents of a rank's window."""
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.tensor.get(y, pld.rank(box), box)
    return y


@pl.jit.inline
def all_reduce(box: Any, other: Any, target: Any):
    """Sum over all ranks; each rank reads from all."""
    pld.tensor.allreduce(box)


@pl.jit.inline
def ring_all_reduce(box: Any, other: Any, target: Any):
    """Sum over all ranks, in a ring."""
    pld.tensor.allreduce(box, mode="ring")


@pl.jit.inline
def reduce_scatter(box: Any, other: Any, target: Any):
    """Give each rank the sum of its row."""
    pld.tensor.reduce_scatter(box)


@pl.jit.inline
def all_gather(box: Any, other: Any, target: Any):
    """Give all ranks the rows of all."""
    pld.tensor.allgather(other, box)


@pl.jit.inline
def all_to_all(box: Any, other: Any, target: Any):
    """Give each rank its row from all ranks."""
    pld.tensor.all_to_all(box, target)


def program(work: Any, dtype: Any, *, gives_target: bool) -> Any:
    """Return a program that does a collective a given number of times."""

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


class Figure(NamedTuple):
    """A measured time, and whether it is reliable."""

    seconds: float
    is_sure: bool = True

    def shown(self, size: int) -> str:
        """Return the bandwidth and the time as text, for ``size`` bytes."""
        if np.isnan(self.seconds):
            return "-"
        doubt = "" if self.is_sure else " ?"
        return f"{size / self.seconds / 1e6:,.0f} ({1e3 * self.seconds:.2f}){doubt}"


NOTHING: Final = Figure(np.nan)


def least(run: Callable[[], object], runs: int = RUNS) -> Figure:
    """Return the least time of some runs, marked as unreliable if they differ by half."""
    found: list[float] = []
    for _ in range(runs):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return Figure(min(found), sorted(found)[len(found) // 2] < 1.5 * min(found))


class Programs:
    """One collective for a number of ranks, in all sizes, and a worker that owns the ranks."""

    def __init__(self, ranks: int, kind: str, sizes: Sequence[int], on: str | None):
        """Compile the programs; the ranks start with the first run."""
        self.ranks, self.kind = ranks, kind
        devices = DistributedConfig(device_ids=[*range(ranks)], on=on, timeout=300)
        config = RunConfig(distributed_config=devices)
        self.programs: dict[tuple[int, Any], Any] = {}
        for dtype, element in DTYPES:
            run = program(KINDS[kind][0], dtype, gives_target=kind == "all-to-all")
            for size in sizes:
                array = pl.Tensor[[ranks, ranks, size // (4 * ranks)], dtype]
                self.programs[size, element] = run.compile(array, array, 1, config=config)
        first, *others = self.programs.values()
        self.worker = first.prepare(extra_compiled=others)

    def measured(self, size: int) -> Figure:
        """Return the time of a collective, after comparing its results with NumPy."""
        found = NOTHING
        for _, element in DTYPES:
            shape = (self.ranks, self.ranks, size // (4 * self.ranks))
            x = np.random.default_rng(0).integers(-999, 999, shape, np.int32).astype(element)
            if element is np.float32:
                x /= np.float32(7)
            run = partial(self.worker.run, self.programs[size, element])
            a = self.worker.alloc_stacked_tensor(x)
            b = self.worker.alloc_stacked_tensor(np.zeros_like(x))
            run(a, b, 1)
            what = f"{self.kind} of {self.ranks} ranks, {size} bytes"
            check(self.worker.copy_from(b), x, KINDS[self.kind][1], what)
            if element is np.float32:
                runs, more = (2, 1) if size > LARGE else (RUNS, 16)
                once = least(partial(run, a, b, 1), runs)
                many = least(partial(run, a, b, 1 + more), runs)
                took, floor = many.seconds - once.seconds, 0.1 * many.seconds
                is_sure = once.is_sure and many.is_sure and took > floor
                found = Figure(max(took, floor) / more, is_sure)
            self.worker.free_stacked_tensor(a)
            self.worker.free_stacked_tensor(b)
        return found


def check(y: Array, x: Array, reference: Callable[[Array], Array], what: str) -> None:
    """Compare a result with NumPy."""
    if x.dtype == np.int32:
        assert np.array_equal(y, reference(x)), what
        return
    bound = len(x) * np.finfo(np.float32).eps * reference(np.abs(x)).astype(np.float32)
    assert (np.abs(y - reference(x)) <= bound).all(), what


class Member:
    """A process that runs Ray's own collectives."""

    def __init__(self, rank: int, ranks: int, group: str) -> None:
        """Join a group."""
        self.rank, self.ranks, self.group = rank, ranks, group
        self.ray: Any = import_module("ray.util.collective")
        self.ray.init_collective_group(ranks, rank, backend="gloo", group_name=group)

    def seconds(self, kind: str, size: int) -> tuple[float, bool]:
        """Return the least time of a collective, and whether it is reliable."""
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
        figure = least(together, 2 if size > LARGE else RUNS)
        return figure.seconds, figure.is_sure


def of_ray(
    ray: Any, ranks: int, kinds: list[str], sizes: list[int]
) -> dict[tuple[str, int], Figure]:
    """Return the times of Ray's own collectives."""
    made = ray.remote(num_cpus=1)(Member)
    members = [made.remote(rank, ranks, f"group-{ranks}") for rank in range(ranks)]
    found: dict[tuple[str, int], Figure] = {}
    for kind in kinds:
        for size in sizes if kind in ("all-reduce", "all-gather", "reduce-scatter") else ():
            figures = ray.get([m.seconds.remote(kind, size) for m in members])
            found[kind, size] = Figure(max(s for s, _ in figures), all(sure for _, sure in figures))
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
    print("MB of a window per second, and milliseconds in brackets; `?`: not to be relied on\n")
    print("| Collective | Ranks | Bytes | Copy | Ray | Threads | Cluster |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    begin = time.perf_counter()
    for ranks in args.ranks:
        theirs = of_ray(ray, ranks, args.kinds, args.sizes) if has_gloo else {}
        for kind in args.kinds:
            here = Programs(ranks, kind, args.sizes, None)
            there = Programs(ranks, kind, args.sizes, "ray") if ray else None
            for size in args.sizes:
                data = np.ones(size, np.uint8)
                data.copy()  # into new memory
                figures = (
                    least(data.copy),
                    theirs.get((kind, size), NOTHING),
                    here.measured(size),
                    NOTHING if there is None else there.measured(size),
                )
                cells = " | ".join(figure.shown(size) for figure in figures)
                print(f"| {kind} | {ranks} | {size:,} | {cells} |", flush=True)
            here.worker.close()  # its windows take as much memory as everything measured
            if there is not None:
                there.worker.close()
    print(f"\nall results are those of NumPy; {time.perf_counter() - begin:.0f} s")
    if ray is None:
        print("Ray is not installed: pip install 'pypto[cluster]'")
    else:
        ray.shutdown()


if __name__ == "__main__":
    main()
