"""The signal checker, which uses no data: what it finds in ranks, and its limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto._src.cli import main
from pypto._src.errors import EvaluationError
from pypto._src.jit.host import HostFunction
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig

ADD = pld.NotifyOp.AtomicAdd
GE = pld.WaitCmp.Ge


def devices(count: int) -> RunConfig:
    return RunConfig(distributed_config=DistributedConfig(device_ids=[*range(count)]))


def line_of(text: str) -> int:
    lines = Path(__file__).read_text("utf-8").splitlines()
    [number] = [n for n, line in enumerate(lines, 1) if line.endswith(f"  # {text}")]
    return number


def program(kernel: Any) -> Any:
    """Return a program that launches a kernel with one window of two signals on every device."""

    @pl.jit.host
    def run():
        bells = pld.alloc_window_buffer([2], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            kernel(pld.window(bells, [2], dtype=pl.INT32), device=r)

    return run


def _nothing(*_args: object, **_named: object) -> None:
    """Do nothing."""


def found(function: Any, count: int, *args: Any) -> EvaluationError:
    """Return what the check finds; the check that computes the data finds the same."""
    with pytest.raises(EvaluationError) as early:
        function.check_signals(*args, config=devices(count))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostFunction, "check_signals", _nothing)
        with pytest.raises(EvaluationError) as late:
            function.check(*args, orders=1, config=devices(count))
    assert late.value.message == early.value.message
    assert late.value.slug == early.value.slug
    assert late.value.location == early.value.location
    return early.value


@pl.jit
def waits_first(bell: pl.InOut[pld.DistributedTensor[[2], pl.INT32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        following = (pld.rank(bell) + 1) % pld.nranks(bell)
        pld.system.wait(bell, [0], 1, cmp=GE)  # before it sends
        pld.system.notify(bell, following, [0], 1, op=ADD)  # too late


def test_the_circle_of_a_deadlock_is_named() -> None:
    """Every rank waits for the one before it: ranks, lines and signals are reported."""
    error = found(program(waits_first), 3)
    assert error.slug == "deadlock"
    wait, send = line_of("before it sends"), line_of("too late")
    assert error.location.begin_line == wait
    assert error.note == (
        f"each waits before it sends: rank 0 waits in line {wait} for bells[0] of rank 0, which "
        f"rank 2 sends in line {send}; rank 2 waits in line {wait} for bells[0] of rank 2, which "
        f"rank 1 sends in line {send}; rank 1 waits in line {wait} for bells[0] of rank 1, which "
        f"rank 0 sends in line {send}"
    )


@pl.jit
def sends_little(bell: pl.InOut[pld.DistributedTensor[[2], pl.INT32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.system.notify(bell, (pld.rank(bell) + 1) % pld.nranks(bell), [0], 1, op=ADD)
        pld.system.wait(bell, [0], 2, cmp=GE)  # one is sent


@pl.jit
def sends_elsewhere(bell: pl.InOut[pld.DistributedTensor[[2], pl.INT32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.system.notify(bell, (pld.rank(bell) + 1) % pld.nranks(bell), [1], 1, op=ADD)
        pld.system.wait(bell, [0], 1, cmp=GE)  # 1 is sent


@pytest.mark.parametrize(
    ("kernel", "again", "line"),
    [(sends_little, " again", "one is sent"), (sends_elsewhere, "", "1 is sent")],
)
def test_a_signal_that_nobody_sends_is_named(kernel: Any, again: str, line: str) -> None:
    """A wait for a wrong value or signal is a deadlock, and the missing signal is reported."""
    error = found(program(kernel), 2)
    assert error.slug == "deadlock"
    where = f"which rank 0 waits for in line {line_of(line)}"
    assert error.note == f"no rank sends bells[0] of rank 0{again}, {where}"


@pl.jit
def rings_in_vain(bell: pl.InOut[pld.DistributedTensor[[2], pl.INT32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.system.notify(bell, (pld.rank(bell) + 1) % pld.nranks(bell), [0], 1, op=ADD)  # in vain


def test_signals_that_nobody_hears() -> None:
    """Signals of a window that no rank waits for, or reads, are lost."""
    error = found(program(rings_in_vain), 2)
    assert error.slug == "signal-left"
    assert error.message == (
        "rank 0 sends bells[0] of rank 1, and no rank waits for any signal of that window"
    )
    assert error.location.begin_line == line_of("in vain")


@pl.jit
def by_data(
    x: pl.Tensor[[1, 8], pl.INT32],
    y: pl.Out[pl.Tensor[[1, 8], pl.INT32]],
    bell: pl.InOut[pld.DistributedTensor[[2], pl.INT32]],
    is_signal: int,
):
    with pl.at(level=pl.Level.CORE_GROUP):
        count = pl.read(x, [0, 0])
        if count > 3:
            y[:, :] = pl.add(x[:, :], 1)
        for _ in pl.range(count):
            y[:, :] = pl.add(x[:, :], 2)
        count = pl.read(x, [0, 1]) if is_signal else 1
        pld.system.notify(bell, 1 - pld.rank(bell), [0], count, op=ADD)
        pld.system.wait(bell, [0], 2, cmp=GE)  # data-dependent
    return y


@pl.jit.host
def of_data(x: pl.Tensor, y: pl.Out[pl.Tensor], is_signal: int = 0):
    bells = pld.alloc_window_buffer([2], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        by_data(x[r], y[r], pld.window(bells, [2], dtype=pl.INT32), is_signal, device=r)


def test_data_that_decides_signals() -> None:
    """Data-dependent branches and loops are skipped; data-dependent signals are rejected."""
    x = np.full((2, 1, 8), 2, np.int32)
    y = np.zeros_like(x)
    assert found(of_data, 2, x, y).slug == "deadlock"
    with pytest.raises(EvaluationError, match="depends on the elements of a tensor") as raised:
        of_data.check_signals(x, y, 1, config=devices(2))
    assert raised.value.slug == "signal-data"
    of_data.check(x, y, 1, config=devices(2))  # which computes them
    assert (y == 0).all()


@pl.jit
def clears(bell: pl.InOut[pld.DistributedTensor[[2], pl.INT32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pl.write(bell, [0], pl.const(0, pl.INT32))  # a store
        pld.system.notify(bell, pld.rank(bell), [0], 1, op=ADD)
        pld.system.wait(bell, [0], 1, cmp=GE)


def test_signals_that_are_stored() -> None:
    """A signal value that a kernel stores counts as data."""
    with pytest.raises(EvaluationError) as raised:
        program(clears).check_signals(config=devices(2))
    assert raised.value.slug == "signal-data"
    assert raised.value.location.begin_line == line_of("a store")


@pytest.mark.parametrize(("mode", "ranks"), [("mesh", 3), ("ring", 8)])
def test_size_costs_nothing(mode: str, ranks: int) -> None:
    """Arguments are types; windows of gigabytes are checked without being allocated."""

    @pl.jit.host
    def run(x: pl.Tensor):
        boxes = pld.alloc_window_buffer([1, 1 << 12], dtype=pl.FP32)
        large = pld.alloc_window_buffer([1 << 13, 1 << 13], dtype=pl.FP32)
        bells = pld.alloc_window_buffer([ranks], dtype=pl.INT32)
        box = pld.window(boxes, [1, 1 << 12], dtype=pl.FP32)
        _ = pld.window(large, [1 << 13, 1 << 13], dtype=pl.FP32)
        pld.tensor.allreduce(box, pld.window(bells, [ranks], dtype=pl.INT32), mode=mode)

    run.check_signals(pl.Tensor[[ranks, 1 << 26], pl.FP32], orders=1, config=devices(ranks))


FILE = """
import pypto.language as pl
import pypto.language.distributed as pld


@pl.jit
def send(
    x: pl.Tensor[[1, 128], pl.FP32],
    y: pl.Out[pl.Tensor[[1, 128], pl.FP32]],
    box: pl.InOut[pld.DistributedTensor[[1, 128], pl.FP32]],
    bell: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        following = (pld.rank(box) + 1) % pld.nranks(box)
        pld.tensor.put(box, following, x)
        pld.system.notify(bell, following, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
        pld.system.wait(bell, [0, 0], 1, cmp=pld.WaitCmp.Ge)
        y[:, :] = box[0:1, :]
    return y


@pl.jit.host
def ring(x: pl.Tensor, y: pl.Out[pl.Tensor[[COUNT, 1, 128], pl.FP32]]):
    boxes = pld.alloc_window_buffer([1, 128], dtype=pl.FP32)
    bells = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        box = pld.window(boxes, [1, 128], dtype=pl.FP32)
        bell = pld.window(bells, [1, 1], dtype=pl.INT32)
        send(x[r], y[r], box, bell, device=r)
"""


def test_the_command_checks_host_functions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One stage per number of ranks: ok, not made for it, or what is wrong with its signals."""
    path = tmp_path / "ring.py"
    path.write_text(FILE.replace("COUNT", "4"), "utf-8")
    assert main(["check", f"{path}:ring"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines[:3] == ["  2 ranks ok", "  3 ranks ok", "  4 ranks ok"]
    assert lines[3].startswith("  8 ranks skipped: y[r] takes r of 4 elements in dimension 0")
    assert main(["check", f"{path}:ring", "--ranks", "8", "--json"]) == 1
    [row] = json.loads(capsys.readouterr().out)["programs"]
    assert row["checks"] == {"8 ranks": "1 error"}
    text = FILE.replace("COUNT", "8").replace("[0, 0], 1, op", "[0, 0], 0, op")
    path.write_text(text, "utf-8")
    assert main(["check", str(path), "--ranks", "2,3"]) == 1
    shown = capsys.readouterr()
    assert "  sync    ok\n" in shown.out  # for the kernel, like all others
    assert "  2 ranks 1 error\n  3 ranks skipped: the same\n" in shown.out
    assert "no rank sends bells[0, 0] of rank 0 again" in shown.err
    assert main(["check", str(path), "--ranks", "0"]) == 2


def test_a_shape_that_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tensor without a shape has that of the kernel's parameter; else the check is skipped."""
    path = tmp_path / "ring.py"
    text = FILE.replace("COUNT", "8").replace(
        "alloc_window_buffer([1, 128]", "alloc_window_buffer([1, x.shape[2]]"
    )
    path.write_text(text, "utf-8")
    assert main(["check", f"{path}:ring", "--ranks", "2"]) == 0
    assert "2 ranks skipped: the annotation of 'x' has no shape" in capsys.readouterr().out
