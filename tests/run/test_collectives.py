"""Collectives of all ranks, in kernels and on the host, equal NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto._src.errors import ParserError
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig

Array = np.ndarray[Any, Any]


def devices(count: int) -> RunConfig:
    """Return the configuration of a run on ``count`` devices."""
    return RunConfig(distributed_config=DistributedConfig(device_ids=list(range(count))))


def numbers(count: int, rows: int, columns: int) -> Array:
    """Return numbers for which all sums and products here are exact."""
    return np.random.default_rng(3).integers(-3, 4, (count, rows, columns)).astype(np.float32)


@pytest.fixture(params=["interpreter", "cpu"])
def target(request: pytest.FixtureRequest) -> Any:
    """The target that runs the kernels."""
    return request.param


def program(target: Any, count: int, rows: int, columns: int, work: Any) -> Any:
    """Return a program in which each rank puts its part in a window, and ``work`` runs."""

    @pl.jit(target=target)
    def kernel(
        mine: pl.Tensor[[rows, columns], pl.FP32],
        out: pl.Out[pl.Tensor[[rows, columns], pl.FP32]],
        box: pld.DistributedTensor[[rows, columns], pl.FP32],
        other: pld.DistributedTensor[[rows, columns], pl.FP32],
        signal: pld.DistributedTensor[[count, 1], pl.INT32],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            pld.tensor.put(box, pld.rank(pld.get_comm_ctx(box)), mine)
            pld.tensor.put(other, pld.rank(pld.get_comm_ctx(box)), mine)
            for _ in pl.range(2):  # the signals are reset each time
                work(box, other, signal)
            pld.tensor.get(out, pld.rank(pld.get_comm_ctx(box)), box)

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        boxes = pld.alloc_window_buffer([rows, columns], dtype=pl.FP32)
        others = pld.alloc_window_buffer([rows, columns], dtype=pl.FP32)
        signals = pld.alloc_window_buffer([count, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            box = pld.window(boxes, [rows, columns], dtype=pl.FP32)
            other = pld.window(others, [rows, columns], dtype=pl.FP32)
            signal = pld.window(signals, [count, 1], dtype=pl.INT32)
            kernel(x[r], y[r], box, other, signal, device=r)

    return run


def result(run: Any, x: Array) -> Array:
    """Run a program on as many devices as there are parts."""
    y = np.full_like(x, np.nan)
    run(x, y, config=devices(len(x)))
    return y


@pl.jit.inline
def summed(box: Any, other: Any, signal: Any):
    pld.tensor.allreduce(box, signal)


@pl.jit.inline
def maximal(box: Any, other: Any, signal: Any):
    pld.tensor.allreduce(box, signal, op=pld.ReduceOp.Max, mode="ring")


@pl.jit.inline
def minimal(box: Any, other: Any, signal: Any):
    box = pld.tensor.allreduce(box, signal, op=pld.ReduceOp.Min)


@pytest.mark.parametrize(
    ("target", "count", "work", "combined"),
    [
        ("interpreter", 1, maximal, np.max),
        ("interpreter", 4, maximal, np.max),
        ("interpreter", 3, minimal, np.min),
        ("cpu", 4, maximal, np.max),
    ],
)
def test_allreduce(target: Any, count: int, work: Any, combined: Any) -> None:
    """Every rank has all parts combined by the operation."""
    x = numbers(count, 16, 64)
    y = result(program(target, count, 16, 64, work), x)
    np.testing.assert_array_equal(y, np.broadcast_to(combined(x, axis=0), y.shape))


def test_a_mode_that_is_none_is_refused() -> None:
    """An unknown mode is an error, not one of the two."""

    @pl.jit.inline
    def mistyped(box: Any, other: Any, signal: Any):
        pld.tensor.allreduce(box, signal, mode="rings")

    with pytest.raises(ParserError, match='mode is "mesh" or "ring"'):
        result(program("interpreter", 2, 16, 64, mistyped), numbers(2, 16, 64))


def test_allreduce_of_large_windows(target: Any) -> None:
    """A window larger than a core's memory is summed in pieces; a second run sums the sums."""
    x = numbers(2, 96, 1024)
    y = result(program(target, 2, 96, 1024, summed), x)
    np.testing.assert_array_equal(y, np.broadcast_to(x.sum(axis=0) * 2, y.shape))


@pytest.mark.parametrize(("target", "count"), [("interpreter", 2), ("interpreter", 4), ("cpu", 4)])
def test_gather_scatter_broadcast(target: Any, count: int) -> None:
    """Rows of ranks go to all ranks, sums of rows to the rank with their index."""

    @pl.jit.inline
    def gathered(box: Any, other: Any, signal: Any):
        pld.tensor.allgather(other[0:1, :], box, signal)

    @pl.jit.inline
    def scattered(box: Any, other: Any, signal: Any):
        pld.tensor.reduce_scatter(other, signal)
        pld.tensor.put(box, pld.rank(pld.get_comm_ctx(box)), other)
        pld.tensor.put(other, 0, box)

    @pl.jit.inline
    def spread(box: Any, other: Any, signal: Any):
        pld.tensor.broadcast(box, signal, root=count - 1)

    @pl.jit.inline
    def exchanged(box: Any, other: Any, signal: Any):
        pld.tensor.all_to_all(other, box, signal)

    x = numbers(count, count, 64)
    y = result(program(target, count, count, 64, spread), x)
    np.testing.assert_array_equal(y, np.broadcast_to(x[-1], y.shape))
    y = result(program(target, count, count, 64, exchanged), x)
    np.testing.assert_array_equal(y, x.transpose(1, 0, 2))
    y = result(program(target, count, count, 64, gathered), x)
    np.testing.assert_array_equal(y, np.broadcast_to(x[:, 0], y.shape))


def test_collectives_on_the_host() -> None:
    """A host function calls a collective for all devices at once."""

    @pl.jit
    def fill(mine: pl.Tensor[[4, 64], pl.FP32], box: pld.DistributedTensor[[4, 64], pl.FP32]):
        with pl.at(level=pl.Level.CORE_GROUP):
            box[:, :] = mine[:, :]

    @pl.jit
    def read(box: pld.DistributedTensor[[4, 64], pl.FP32], out: pl.Out[pl.Tensor]):
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:, :] = box[:, :]

    @pl.jit.host
    def run(x: pl.Tensor, sums: pl.Out[pl.Tensor], swapped: pl.Out[pl.Tensor]):
        boxes = pld.alloc_window_buffer([4, 64], dtype=pl.FP32)
        others = pld.alloc_window_buffer([4, 64], dtype=pl.FP32)
        box = pld.window(boxes, [4, 64], dtype=pl.FP32)
        other = pld.window(others, [4, 64], dtype=pl.FP32)
        for r in pl.range(pld.world_size()):
            fill(x[r], box, device=r)
        pld.tensor.all_to_all(box, other)
        box = pld.tensor.allreduce(box, op=pld.ReduceOp.Sum)
        for r in pl.range(pld.world_size()):
            read(box, sums[r], device=r)
            read(other, swapped[r], device=r)

    x = numbers(4, 4, 64)
    sums, swapped = np.zeros_like(x), np.zeros_like(x)
    run(x, sums, swapped, config=devices(4))
    np.testing.assert_array_equal(sums, np.broadcast_to(x.sum(axis=0), x.shape))
    np.testing.assert_array_equal(swapped, x.transpose(1, 0, 2))

    @pl.jit.host
    def wrong(x: pl.Tensor):
        pld.tensor.allreduce(x)

    with pytest.raises(ParserError, match="on the host takes windows, got a tensor"):
        wrong(x)
