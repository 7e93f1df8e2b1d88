"""Workers: programs of ranks that run many times, and tensors that stay on their devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto
import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, runtime
from pypto._src.errors import CallError
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import ChipWorker, DistributedWorker, RunConfig, Worker

RANKS, ROWS = 2, 16


@pl.jit
def counted(
    x: pl.Tensor[[ROWS, 64], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    runs: pl.InOut[pld.DistributedTensor[[ROWS, 64], pl.FP32]],
):
    """Add 1 to a peer's part of a window; return x plus the rank's own."""
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
    """They start as zeros, unless the worker keeps them."""
    x, y = arrays()
    with prepared(**options) as worker:
        for _ in range(3):
            worker(x, y)
    np.testing.assert_array_equal(y, x + np.float32(last))


def test_tensors_stay_on_the_devices() -> None:
    """They can be passed to calls like arrays, and copied to and from arrays."""
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
        with pytest.raises(ValueError, match="not a tensor of this worker"):
            worker.free_tensor(held)
        with pytest.raises(ValueError, match="does not fill"):
            worker.copy_to(out, x[0])
    with pytest.raises(ValueError, match="was freed"):
        out.array  # noqa: B018


def test_which_program() -> None:
    """A worker of several programs must be told which one; it runs no others."""
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


# --------------------------------------------------------------------------------------------
# One device
# --------------------------------------------------------------------------------------------


@pl.jit
def halved(x: pl.Tensor[[ROWS, 64], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.mul(x[:, :], 0.5)
    return y


HALVED: Any = halved.parse(np.zeros((ROWS, 64), np.float32), np.zeros((ROWS, 64), np.float32))


@pytest.mark.parametrize("made", [halved, runtime.compile(HALVED, "interpreter")])
def test_a_worker_of_one_device(made: Any) -> None:
    """A chip worker runs kernels and compiled programs on its own tensors, by handle or not."""
    x = np.random.default_rng(3).random((ROWS, 64), np.float32)
    with ChipWorker() as worker:
        source, target = (
            worker.alloc_tensor(x.shape, pl.FP32, init=x),
            worker.alloc_tensor([ROWS, 64], np.float32),
        )
        handle = worker.register(made)
        assert handle.program is made
        handle(source, target)
        assert (worker.copy_from(target) == x / 2).all()
        worker.run(made, target, source)
        worker.run(handle, source, x)
        assert (x == worker.copy_from(target) / 4).all()
        worker.free_tensor(target)
        with pytest.raises(ValueError, match="was freed"):
            worker.run(made, source, target)
    with pytest.raises(ValueError, match="is closed"):
        worker.run(made, x, x)


def test_workers_say_what_they_cannot_do() -> None:
    """A worker has one kind, on an available platform, and runs compiled programs."""
    with pytest.raises(TypeError, match=r"make a ChipWorker\(\)"):
        Worker()
    with pytest.raises(CallError, match="needs an Ascend 910B"):
        ChipWorker(platform="a2a3")
    with pytest.raises(TypeError, match=r"pass runtime\.compile\(program\)"):
        ChipWorker().register(HALVED)


def test_a_program_of_a_folder(tmp_path: Path) -> None:
    """A program compiled to a folder runs by the program or by the folder; `str` is the folder."""
    x = np.ones((ROWS, 64), np.float32)
    made = runtime.compile_program(HALVED, tmp_path / "work")
    assert list((tmp_path / "work").glob("kernels/*/*"))
    for program in (made, tmp_path / "work", str(made.output_dir)):
        y = np.zeros_like(x)
        runtime.execute_compiled(program, [x, y])
        assert (y == 0.5).all()
    with pytest.raises(CallError, match="needs an Ascend 910B"):
        runtime.execute_compiled(made, [x, x], platform="a2a3")
    with pytest.raises(CallError, match="of one device") as caught:
        runtime.execute_distributed_compiled(made, [x, x])  # pyright: ignore[reportArgumentType]
    assert caught.value.hint == "execute_compiled(compiled, args)"
    with pytest.raises(CallError, match="share memory") as caught:
        runtime.execute_compiled(made, [x, x])
    assert caught.value.location.filename == __file__


def test_what_ir_compile_returns_runs(tmp_path: Path) -> None:
    """`ir.compile` returns a path that is also the program; its keywords are those of a run."""
    folder = ir.compile(
        HALVED,
        tmp_path,
        skip_ptoas=True,
        platform="a5sim",
        memory_planner="PTOAS",
        profiling=True,
        emit_source_loc=True,
        runtime="tensormap_and_ringbuffer",
    )
    assert folder == str(tmp_path) == str(folder.output_dir)
    assert Path(folder, "orchestration").is_dir()
    assert (folder.platform, folder.param_names, folder.output_indices) == (
        "a5sim",
        ["x", "y"],
        [1],
    )
    assert folder["halved"].entry == "halved"
    assert folder[0] == str(tmp_path)[0]
    y = np.zeros((ROWS, 64), np.float32)
    folder(np.ones_like(y), y)
    assert (y == 0.5).all()
    runtime.execute_compiled(folder, [y.copy(), y])
    assert (y == 0.25).all()
    device = ir.compile(HALVED, tmp_path, dump_passes=False, skip_ptoas=True, platform="a2a3")
    with pytest.raises(CallError, match="needs an Ascend 910B"):
        device(y, y)
    with pytest.raises(ValueError, match="no platform 'a3'"):
        ir.compile(HALVED, tmp_path, platform="a3")


def test_a_distributed_program_is_executed() -> None:
    """`execute_distributed_compiled` is a call of the compiled host function."""
    x, y = arrays()
    made = both.compile(x, y, config=CONFIG)
    runtime.execute_distributed_compiled(made, [x, y])
    assert (y == x + 1).all()


def test_log_levels(capsys: pytest.CaptureFixture[str]) -> None:
    """Names and members set the log level, permanently or inside a ``with``."""
    with runtime.log_level("ERROR"):
        with runtime.log_level("warning"):
            pypto.log_warn("seen")
            runtime.configure_log(pypto.LogLevel.NONE)
            pypto.log_error("hidden")
        pypto.log_warn("hidden")
        pypto.log_error("seen again")
    found = [line.split("| ")[1] for line in capsys.readouterr().err.splitlines()]
    assert found == ["seen", "seen again"]
    with pytest.raises(
        ValueError, match="there is no log level 'loud'; the levels are DEBUG, INFO"
    ):
        runtime.configure_log("loud")


def test_the_headers_are_here() -> None:
    """The root of the tile library is the folder whose ``include`` has the headers."""
    assert Path(runtime.ensure_pto_isa_root(), "include") == Path(runtime.pto_isa_include_dir())
    assert Path(runtime.pto_isa_include_dir(), "pto", "pto-inst.hpp").is_file()
