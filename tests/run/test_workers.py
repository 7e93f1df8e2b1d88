"""Workers: programs of ranks that run many times, and tensors that stay on their devices."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import DistributedWorker, RunConfig

RANKS, ROWS = 2, 16


@pl.jit
def counted(
    x: pl.Tensor[[ROWS, 64], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    runs: pl.InOut[pld.DistributedTensor[[ROWS, 64], pl.FP32]],
):
    """Add 1 to what the peer has of a window; return x plus the rank's own."""
    with pl.at(level=pl.Level.CORE_GROUP):
        runs[:, :] = pl.add(runs[:, :], 1.0)
        y[:, :] = pl.add(x[:, :], runs[:, :])
    return y


@pl.jit.host
def both(
    x: pl.Tensor[[RANKS, ROWS, 64], pl.FP32], y: pl.Out[pl.Tensor[[RANKS, ROWS, 64], pl.FP32]]
):
    held = pld.alloc_window_buffer([ROWS, 64], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        runs = pld.window(held, [ROWS, 64], dtype=pl.FP32)
        counted(x[r], y[r], runs, device=r)


CONFIG = RunConfig(distributed_config=DistributedConfig(device_ids=[0, 1]))


def arrays() -> tuple[Any, Any]:
    x = np.random.default_rng(2).random((RANKS, ROWS, 64), np.float32)
    return x, np.zeros_like(x)


def prepared(**options: Any) -> DistributedWorker:
    return both.compile(*arrays(), config=CONFIG).prepare(**options)


@pytest.mark.parametrize(
    ("options", "last"),
    [
        ({}, 1),
        ({"persistent": True}, 3),
        ({"persistent": True, "reset_persistent_windows": True}, 1),
    ],
)
def test_windows_of_later_runs(options: dict[str, Any], last: int) -> None:
    """They begin with zeros, unless the worker keeps them."""
    x, y = arrays()
    with prepared(**options) as worker:
        for _ in range(3):
            worker(x, y)
    np.testing.assert_array_equal(y, x + np.float32(last))


def test_tensors_stay_on_the_devices() -> None:
    """They stand for arrays in calls, and are copied to and from arrays."""
    x, y = arrays()
    with prepared() as worker:
        held = worker.alloc_stacked_tensor(x)
        out = worker.alloc_tensor(y.shape, pl.FP32, init=7.0)
        np.testing.assert_array_equal(worker.copy_from(out), np.full_like(y, 7))
        handle = worker.submit(worker.programs[0], held, out)
        handle.result(60)
        assert handle.done()
        assert handle.wait(1)
        np.testing.assert_array_equal(worker.copy_from(out, y), x + 1)
        worker.copy_to(held, y)
        np.testing.assert_array_equal(worker.copy_stacked_from(held), y)
        worker(held, out)
        np.testing.assert_array_equal(worker.copy_from(out), x + 2)
        assert worker.alloc_tensor([4], "bfloat16").dtype == ml_dtypes.bfloat16
        worker.free_stacked_tensor(held)
        with pytest.raises(ValueError, match="was freed"):
            worker(held, out)
        with pytest.raises(ValueError, match="no tensor of this worker"):
            worker.free_tensor(held)
        with pytest.raises(ValueError, match="does not fill"):
            worker.copy_to(out, x[0])
    with pytest.raises(ValueError, match="was freed"):
        out.array  # noqa: B018


def test_which_program() -> None:
    """A worker of several programs is told which one; it runs none that it was not made for."""
    x, y = arrays()
    first, second = (both.compile(x, y, config=CONFIG) for _ in range(2))
    with first.prepare(CONFIG, extra_compiled=[second]) as worker:
        worker.run(second, x, y)
        np.testing.assert_array_equal(y, x + 1)
        with pytest.raises(TypeError, match="this worker has 2 programs"):
            worker(x, y)
    with first.prepare() as worker, pytest.raises(ValueError, match="not made for"):
        worker.run(second, x, y)
    with pytest.raises(ValueError, match="is closed"):
        worker(x, y)
    with pytest.raises(ValueError, match="leave callbacks out"):
        first.prepare(callbacks={})  # pyright: ignore[reportArgumentType]
