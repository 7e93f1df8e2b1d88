"""Programs of several ranks: windows, transfers, signals, and their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import golden
from pypto._src.cli import main
from pypto._src.errors import EvaluationError, ParserError, PyptoError
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig

Array = np.ndarray[Any, Any]
COLUMNS = 128


def devices(count: int) -> RunConfig:
    """Return the configuration of a run on ``count`` devices."""
    return RunConfig(distributed_config=DistributedConfig(device_ids=list(range(count))))


def floats(*shape: int) -> Array:
    """Return numbers whose sums are exact."""
    return np.random.default_rng(7).integers(-50, 50, shape).astype(np.float32)


@pytest.fixture(params=["interpreter", "cpu"])
def target(request: pytest.FixtureRequest) -> Any:
    """The target that runs the kernels."""
    return request.param


# --------------------------------------------------------------------------------------------
# Devices
# --------------------------------------------------------------------------------------------


@pl.jit
def scaled(x: pl.Tensor, f: pl.Scalar[pl.FP32], y: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.mul(x[:, :], f)
    return y


def test_a_device_for_each_part() -> None:
    """Each device works on its part; the world size is that of the configuration."""

    @pl.jit.host
    def launch(x: pl.Tensor[[4, 16, 64], pl.FP32], y: pl.Out[pl.Tensor[[4, 16, 64], pl.FP32]]):
        for r in pl.range(pld.world_size()):
            if r % 2 == 0:
                scaled(x[r], 2.0, y[r], device=r)
            else:
                scaled(x[r], r * 10.0, y[r], device=r)

    x = floats(4, 16, 64)
    y = np.zeros_like(x)
    launch(x, y, config=devices(4))
    np.testing.assert_array_equal(y, x * np.array([2, 10, 2, 30], np.float32)[:, None, None])
    y = np.zeros_like(x)
    launch.compile(x, y, config=devices(2))(x, y)
    assert y[1].any()
    assert not y[2:].any()


def test_outputs_that_are_left_out() -> None:
    """They are new arrays, which the call returns, as for a kernel."""

    @pl.jit.host
    def launch(x: pl.Tensor[[2, 16, 64], pl.FP32], y: pl.Out[pl.Tensor[[2, 16, 64], pl.FP32]]):
        for r in pl.range(pld.world_size()):
            scaled(x[r], 2.0, y[r], device=r)

    x = floats(2, 16, 64)
    np.testing.assert_array_equal(launch(x, config=devices(2)), x * 2)
    y = np.zeros_like(x)
    assert launch(x, y=y, config=devices(2)) is None
    np.testing.assert_array_equal(y, x * 2)


def test_commands_take_the_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel with windows is checked, and what launches it; a host function is no program."""
    file = Path(__file__).parents[2] / "examples" / "distributed" / "gather_gemm.py"
    assert main(["show", f"{file}:gather_and_multiply"]) == 0
    assert "rows: pl.InOut[pl.Tensor[[16, 8192], pl.FP32]]" in capsys.readouterr().out
    assert main(["check", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "cpp     ok" in shown
    assert "pto     skipped: the assembler does not support ranks" in shown
    assert "4 ranks ok" in shown
    assert main(["show", f"{file}:gather_gemm"]) == 1
    assert "gather_gemm launches kernels, which are programs" in capsys.readouterr().err


def test_devices_wait_for_what_they_take() -> None:
    """A launch runs after those on other devices that write what it reads."""

    @pl.jit.host
    def launch(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        middle = pl.create_tensor([16, 64], dtype=pl.FP32)
        last = pl.create_tensor([16, 64], dtype=pl.FP32)
        scaled(x, 2.0, middle, device=2)
        scaled(middle, 3.0, last, device=0)
        scaled(last, 4.0, y, device=1)

    x = floats(16, 64)
    y = np.zeros_like(x)
    launch(x, y, config=devices(3))
    np.testing.assert_array_equal(y, x * 24)


def test_one_program_serves_all_ranks() -> None:
    """A scalar of a launch is a run-time value: ranks do not have programs of their own."""

    @pl.jit
    def shifted(x: pl.Tensor, r: pl.Scalar[pl.INT32], y: pl.Out[pl.Tensor]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.add(x[:, :], pl.cast(r, pl.FP32))

    @pl.jit.host
    def launch(x: pl.Tensor[[4, 16, 64], pl.FP32], y: pl.Out[pl.Tensor[[4, 16, 64], pl.FP32]]):
        for r in pl.range(pld.world_size()):
            shifted(x[r], r, y[r], device=r)

    x = floats(4, 16, 64)
    y = np.zeros_like(x)
    launch(x, y, config=devices(4))
    np.testing.assert_array_equal(y, x + np.arange(4, dtype=np.float32)[:, None, None])
    assert len(shifted.misses) == 1


# --------------------------------------------------------------------------------------------
# Windows and signals
# --------------------------------------------------------------------------------------------


def ring(target: Any) -> Any:
    """Return a program in which each rank sends its data to the next one."""

    @pl.jit(target=target)
    def send(
        mine: pl.Tensor[[1, COLUMNS], pl.FP32],
        got: pl.Out[pl.Tensor[[1, COLUMNS], pl.FP32]],
        box: pl.InOut[pld.DistributedTensor[[1, COLUMNS], pl.FP32]],
        bell: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
        me: pl.Scalar[pl.INT32],
        count: pl.Scalar[pl.INT32],
    ):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="pass_on"):
            following = (me + 1) % count
            pld.tensor.put(box, following, mine)
            pld.system.notify(bell, following, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
            pld.system.wait(bell, [0, 0], 1, cmp=pld.WaitCmp.Ge)
            got[:] = box[0:1, :]
        return got

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        letters = pld.alloc_window_buffer([1, COLUMNS], dtype=pl.FP32)
        bells = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            box = pld.window(letters, [1, COLUMNS], dtype=pl.FP32)
            bell = pld.window(bells, [1, 1], dtype=pl.INT32)
            send(x[r], y[r], box, bell, r, pld.world_size(), device=r)

    return run


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_ring(target: Any, count: int) -> None:
    """Every rank gets the data of the one before it."""
    x = floats(count, 1, COLUMNS)
    y = np.zeros_like(x)
    program = ring(target)
    for _ in range(3):  # the signals start at zero each time
        y[:] = 0
        program(x, y, config=devices(count))
        np.testing.assert_array_equal(y, np.roll(x, 1, axis=0))


@pytest.mark.parametrize("seed", ["1", "2", "99"])
def test_a_ring_in_any_order(target: Any, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order in which ranks are scheduled changes nothing."""
    monkeypatch.setenv("PYPTO_RANK_SEED", seed)
    x = floats(4, 1, COLUMNS)
    y = np.zeros_like(x)
    ring(target)(x, y, config=devices(4))
    np.testing.assert_array_equal(y, np.roll(x, 1, axis=0))


@pytest.mark.parametrize("count", [2, 4])
def test_a_sum_over_all_ranks(target: Any, count: int) -> None:
    """All-reduce by hand: each rank loads the others' data, after all have signalled."""

    @pl.jit(target=target)
    def reduce(
        mine: pl.Tensor[[16, 64], pl.FP32],
        total: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        shared: pld.DistributedTensor[[16, 64], pl.FP32],
        ready: pld.DistributedTensor[[4, 1], pl.INT32],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            ctx = pld.get_comm_ctx(shared)
            me = pld.rank(ctx)
            shared[:, :] = mine[:, :]
            for p in pl.range(pld.nranks(ctx)):
                pld.system.notify(ready, p, [me, 0], 1, op=pld.NotifyOp.Set)
            for p in pl.range(pld.nranks(ctx)):
                pld.system.wait(ready, [p, 0], 1, cmp=pld.WaitCmp.Eq)
            acc = pl.full([16, 64], dtype=pl.FP32, value=0.0)
            for p in pl.range(pld.nranks(ctx)):
                acc = pl.add(acc, pld.tile.remote_load(shared, p, [0, 0], [16, 64]))
            total[:, :] = acc
        return total

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        data = pld.alloc_window_buffer(16 * 64 * 4)
        flags = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            shared = pld.window(data, [16, 64], dtype=pl.FP32)
            reduce(x[r], y[r], shared, pld.window(flags, [4, 1], dtype=pl.INT32), device=r)

    x = floats(count, 16, 64)
    y = np.zeros_like(x)
    run(x, y, config=devices(count))
    np.testing.assert_array_equal(y, np.broadcast_to(x.sum(axis=0), y.shape))


def test_parts_and_sums_at_peers(target: Any) -> None:
    """Tiles and parts of tensors go to a peer's window, or are added to its contents."""

    @pl.jit(target=target)
    def spread(
        mine: pl.Tensor[[32, 64], pl.FP32],
        result: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        box: pl.InOut[pld.DistributedTensor[[32, 64], pl.FP32]],
        bell: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
        me: pl.Scalar[pl.INT32],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            other = 1 - me
            tile = pl.mul(mine[0:8, :], 2.0)
            pld.tile.remote_store(tile, box, other, [0, 0])
            pld.tensor.remote_store(tile, box, other, [0, 0], atomic=pld.AtomicType.Add)
            pld.tensor.put(
                box, other, mine, dst_offsets=[8, 0], src_offsets=[16, 0], shape=[16, 64]
            )
            pld.tensor.put(
                box,
                peer=other,
                src=mine,
                dst_offsets=[8, 32],
                src_offsets=[16, 32],
                shape=[8, 32],
                atomic=pld.AtomicType.Add,
                chunk_rows=8,
                chunk_cols=32,
                pipeline=True,
            )
            pld.system.notify(bell, other, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
            pld.system.wait(bell, [other, 0], 1, cmp=pld.WaitCmp.Ge)
            result[:, :] = box[:, :]
        with pl.at(level=pl.Level.CORE_GROUP):
            pld.tensor.get(
                result, 1 - me, box, dst_offsets=[24, 0], src_offsets=[0, 0], shape=[8, 64]
            )

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        data = pld.alloc_window_buffer([32, 64], dtype=pl.FP32)
        bells = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            box = pld.window(data, [32, 64], dtype=pl.FP32)
            bell = pld.window(bells, [2, 1], dtype=pl.INT32)
            spread(x[r], y[r], box, bell, r, device=r)

    x = floats(2, 32, 64)
    y = np.zeros_like(x)
    run(x, y, config=devices(2))
    for r in (0, 1):
        other = x[1 - r]
        np.testing.assert_array_equal(y[r][:8], other[:8] * 4)
        np.testing.assert_array_equal(y[r][8:16, :32], other[16:24, :32])
        np.testing.assert_array_equal(y[r][8:16, 32:], other[16:24, 32:] * 2)
        np.testing.assert_array_equal(y[r][16:24], other[24:32])
        np.testing.assert_array_equal(y[r][24:], x[r][:8] * 4)


def test_large_tensors_go_in_pieces(target: Any) -> None:
    """A tensor larger than the memory of a core is still copied."""
    rows, columns = 40, 20_000

    @pl.jit(target=target)
    def send(
        mine: pl.Tensor[[rows, columns], pl.FP32],
        got: pl.Out[pl.Tensor[[rows, columns], pl.FP32]],
        box: pl.InOut[pld.DistributedTensor[[rows, columns], pl.FP32]],
        bell: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
        me: pl.Scalar[pl.INT32],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            pld.tensor.put(box, 1 - me, mine)
            pld.system.notify(bell, 1 - me, [0, 0], 3, op=pld.NotifyOp.Set)
            pld.system.wait(bell, [0, 0], 3, cmp=pld.WaitCmp.Eq)
            pld.tensor.get(got, me, box)

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        data = pld.alloc_window_buffer([rows, columns], dtype=pl.FP32)
        bells = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
        for r in pl.range(2):
            box = pld.window(data, [rows, columns], dtype=pl.FP32)
            send(x[r], y[r], box, pld.window(bells, [1, 1], dtype=pl.INT32), r, device=r)

    x = floats(2, rows, columns)
    y = np.zeros_like(x)
    run(x, y, config=devices(2))
    np.testing.assert_array_equal(y, x[::-1])


# --------------------------------------------------------------------------------------------
# Mistakes
# --------------------------------------------------------------------------------------------


def exchange(target: Any, *, peer: int = 1, sent: int = 1, waits: bool = True) -> Any:
    """Return a ring, or one with a mistake in it."""

    @pl.jit(target=target)
    def send(
        mine: pl.Tensor[[1, COLUMNS], pl.FP32],
        got: pl.Out[pl.Tensor[[1, COLUMNS], pl.FP32]],
        box: pl.InOut[pld.DistributedTensor[[1, COLUMNS], pl.FP32]],
        bell: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]],
        me: pl.Scalar[pl.INT32],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            pld.tensor.put(box, (me + 1) % 4, mine)  # first
            pld.system.notify(bell, (me + peer) % 4, [me, 0], sent, op=pld.NotifyOp.Set)
            if waits:
                pld.system.wait(bell, [(me + 3) % 4, 0], 1, cmp=pld.WaitCmp.Ge)  # here
            got[:] = box[0:1, :]  # last

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        letters = pld.alloc_window_buffer([1, COLUMNS], dtype=pl.FP32)
        bells = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            box = pld.window(letters, [1, COLUMNS], dtype=pl.FP32)
            send(x[r], y[r], box, pld.window(bells, [4, 1], dtype=pl.INT32), r, device=r)

    return run


def line_of(text: str) -> int:
    """Return the first line of this file that contains a text."""
    lines = Path(__file__).read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("mistake", [{"peer": 2}, {"sent": 0}], ids=["neighbour", "value"])
def test_a_deadlock_is_named(target: Any, mistake: dict[str, Any]) -> None:
    """Ranks that wait for signals that nobody sends end, with the line of each wait."""
    x = floats(4, 1, COLUMNS)
    with pytest.raises(EvaluationError, match="all 4 ranks that still run wait") as raised:
        exchange(target, **mistake)(x, np.zeros_like(x), config=devices(4))
    error = raised.value
    assert error.slug == "deadlock"
    assert "rank 0 waits for bells[3, 0] of rank 0 >= 1, which is 0" in error.message
    assert error.location.begin_line == line_of("# " + "here")
    assert [label.text.partition(" waits")[0] for label in error.related] == [
        "rank 1",
        "rank 2",
        "rank 3",
    ]


def test_a_deadlock_in_a_collective_is_named(target: Any) -> None:
    """The line is that of the kernel that called the collective, on either target."""

    @pl.jit(target=target)
    def meet(bell: pl.InOut[pld.DistributedTensor[[2], pl.INT32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            if pld.rank(bell) == 0:
                pld.tensor.barrier(bell)  # rank 1 does not come

    @pl.jit.host
    def run():
        bells = pld.alloc_window_buffer([2], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            meet(pld.window(bells, [2], dtype=pl.INT32), device=r)

    with pytest.raises(EvaluationError, match="rank 0 waits for bells") as raised:
        run(config=devices(2))
    assert raised.value.slug == "deadlock"
    assert raised.value.location.filename == __file__
    assert raised.value.location.begin_line == line_of("# " + "rank 1 does not come")


def test_a_wait_that_is_missing_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a wait the result depends on the order of the ranks."""
    x = floats(4, 1, COLUMNS)
    y = np.zeros_like(x)
    monkeypatch.setenv("PYPTO_RANK_SEED", "1")
    exchange("interpreter")(x, y, config=devices(4))
    np.testing.assert_array_equal(y, np.roll(x, 1, axis=0))
    exchange("interpreter", waits=False)(x, y, config=devices(4))
    assert (y != np.roll(x, 1, axis=0)).any()


def test_races_are_found() -> None:
    """A check names both accesses where a wait is missing, in whatever order the ranks run."""
    x = floats(4, 1, COLUMNS)
    y = np.full_like(x, 7)
    exchange("interpreter").check(x, y, config=devices(4))
    assert (y == 7).all()
    with pytest.raises(EvaluationError) as raised:
        exchange("interpreter", waits=False).check(x, y, orders=1, config=devices(4))
    error = raised.value
    assert error.slug == "rank-race"
    assert error.message == (
        "rank 1 reads letters[0, 0] of rank 1 while rank 0 writes it: no signal orders the two"
    )
    assert error.location.begin_line == line_of("got[:] = box[0:1, :]  # last")
    [first] = error.related
    assert first.text == "rank 0 writes it here"
    assert first.span.begin_line == line_of("pld.tensor.put(box, (me + 1) % 4, mine)  # first")
    with pytest.raises(EvaluationError, match="deadlock"):
        exchange("interpreter", peer=2).check(x, y, config=devices(4))


def test_orders_are_compared() -> None:
    """Atomic adds by ranks in any order are not a race, but their results may differ."""

    @pl.jit(target="interpreter")
    def add(
        mine: pl.Tensor[[1, COLUMNS], pl.FP32],
        got: pl.Out[pl.Tensor[[1, COLUMNS], pl.FP32]],
        box: pl.InOut[pld.DistributedTensor[[1, COLUMNS], pl.FP32]],
        bell: pl.InOut[pld.DistributedTensor[[3], pl.INT32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            for peer in pl.range(3):
                pld.tensor.put(box, peer, mine, atomic=pld.AtomicType.Add)
            pld.tensor.barrier(bell)
            got[:] = box[0:1, :]

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        boxes = pld.alloc_window_buffer([1, COLUMNS], dtype=pl.FP32)
        bells = pld.alloc_window_buffer([3], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            box = pld.window(boxes, [1, COLUMNS], dtype=pl.FP32)
            add(x[r], y[r], box, pld.window(bells, [3], dtype=pl.INT32), device=r)

    x = floats(3, 1, COLUMNS)
    run.check(x, np.zeros_like(x), config=devices(3))
    x[...] = np.array([1e9, 1, -1e9], np.float32)[:, None, None]
    with pytest.raises(EvaluationError, match="run depends on the order of its ranks") as raised:
        run.check(x, np.zeros_like(x), config=devices(3))
    assert raised.value.slug == "rank-order"
    assert raised.value.note == "PYPTO_RANK_SEED=4 runs them in that order"


@pytest.mark.parametrize(
    ("sends", "takes_back", "value", "slug", "text"),
    [
        (1, False, 1, None, ""),
        (1, True, 1, None, ""),
        (2, True, 1, "signal-left", r"bells\[0\] of rank \d is 1 at the end, and .* leaves 0"),
        (2, True, "set", "signal-reuse", r"sets bells\[0\] of rank \d again before the rank that"),
    ],
)
def test_signals_that_are_sent_twice(
    sends: int, takes_back: bool, value: Any, slug: str | None, text: str
) -> None:
    """A signal that is sent again before it is seen, or that nobody waits for, is named."""
    op = pld.NotifyOp.Set if value == "set" else pld.NotifyOp.AtomicAdd

    @pl.jit(target="interpreter")
    def send(bell: pl.InOut[pld.DistributedTensor[[1], pl.INT32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            for _ in pl.range(sends):
                pld.system.notify(bell, (pld.rank(bell) + 1) % 2, [0], 1, op=op)
            pld.system.wait(bell, [0], 1, cmp=pld.WaitCmp.Ge)
            if takes_back:
                pld.system.notify(bell, pld.rank(bell), [0], -1, op=pld.NotifyOp.AtomicAdd)

    @pl.jit.host
    def run():
        bells = pld.alloc_window_buffer([1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            send(pld.window(bells, [1], dtype=pl.INT32), device=r)

    if slug is None:
        run.check(config=devices(2))
        return
    with pytest.raises(EvaluationError, match=text) as raised:
        run.check(config=devices(2))
    assert raised.value.slug == slug
    assert raised.value.location.begin_line == line_of("[0], 1, op=op)")


@pytest.mark.parametrize("epochs", [True, False])
def test_a_signal_that_is_used_again(epochs: bool) -> None:
    """Two rounds with one signal need epochs: else the second wait sees the first one's signal."""

    @pl.jit(target="interpreter")
    def send(
        mine: pl.Tensor[[1, COLUMNS], pl.FP32],
        got: pl.Out[pl.Tensor[[1, COLUMNS], pl.FP32]],
        box: pl.InOut[pld.DistributedTensor[[2, COLUMNS], pl.FP32]],
        bell: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
        me: pl.Scalar[pl.INT32],
    ):
        for turn in pl.range(2):
            with pl.at(level=pl.Level.CORE_GROUP):
                if turn == 0:
                    pld.tensor.put(box, (me + 1) % 4, mine, [0, 0], [0, 0], [1, COLUMNS])
                else:
                    pld.tensor.put(box, (me + 1) % 4, box, [1, 0], [0, 0], [1, COLUMNS])
                pld.system.notify(bell, (me + 1) % 4, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
                if epochs:
                    pld.system.wait(bell, [0, 0], turn + 1, cmp=pld.WaitCmp.Ge)
                else:
                    pld.system.wait(bell, [0, 0], 1, cmp=pld.WaitCmp.Ge)
        with pl.at(level=pl.Level.CORE_GROUP):
            got[:] = box[1:2, :]

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        letters = pld.alloc_window_buffer([2, COLUMNS], dtype=pl.FP32)
        bells = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            box = pld.window(letters, [2, COLUMNS], dtype=pl.FP32)
            send(x[r], y[r], box, pld.window(bells, [1, 1], dtype=pl.INT32), r, device=r)

    x = floats(4, 1, COLUMNS)
    y = np.zeros_like(x)
    if epochs:
        run.check(x, y, config=devices(4))
        run(x, y, config=devices(4))
        np.testing.assert_array_equal(y, np.roll(x, 2, axis=0))
    else:
        with pytest.raises(EvaluationError, match="reads letters") as raised:
            run.check(x, y, orders=1, config=devices(4))
        assert raised.value.slug == "rank-race"


def test_a_rank_that_fails_ends_the_others(target: Any) -> None:
    """An error of one rank is the error of the run, and nobody waits for that rank."""

    @pl.jit(target=target)
    def fails(
        x: pl.Tensor[[16, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        bell: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
        me: pl.Scalar[pl.INT32],
        far: pl.Scalar[pl.INT32],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            if me == 1:
                y[far : far + 8, :] = x[0:8, :]
            pld.system.wait(bell, [0, 0], 1, cmp=pld.WaitCmp.Ge)

    @pl.jit.host
    def run(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        bells = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            fails(x[r], y[r], pld.window(bells, [1, 1], dtype=pl.INT32), r, 12, device=r)

    x = floats(3, 16, 64)
    with pytest.raises(EvaluationError) as raised:
        run(x, np.zeros_like(x), config=devices(3))
    assert raised.value.slug == "out-of-bounds"


@pl.jit
def plain(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.tensor.put(y, 0, x)


@pl.jit
def takes(box: pld.DistributedTensor[[16, 64], pl.FP32], x: pl.Tensor[[16, 64], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.tensor.put(box, 2, x)


@pl.jit
def outside(box: pld.DistributedTensor[[16, 64], pl.FP32], x: pl.Tensor[[16, 64], pl.FP32]):
    pld.tensor.put(box, 0, x)
    scaled_here(x)


@pl.jit.inline
def scaled_here(x: pl.Tensor[[16, 64], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP):
        x[:, :] = pl.mul(x[:, :], 2.0)


@pl.jit
def bells_of_floats(box: pld.DistributedTensor[[16, 64], pl.FP32], x: pl.Tensor):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.system.wait(box, [0, 0], 1, cmp=pld.WaitCmp.Ge)


@pl.jit
def no_word(box: pld.DistributedTensor[[16, 64], pl.INT32], x: pl.Tensor):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.system.wait(box, [0, 0], 1, cmp=1)  # pyright: ignore[reportArgumentType]


@pl.jit
def half_told(box: pld.DistributedTensor[[16, 64], pl.FP32], x: pl.Tensor[[16, 64], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.tensor.put(box, 0, x, dst_offsets=[0, 0])


@pl.jit
def asks_the_host(box: pld.DistributedTensor[[16, 64], pl.FP32], x: pl.Tensor):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.tensor.get(x, pld.world_size(), box)


REFUSED = [
    (outside, "misplaced", "pld.tensor.put belongs in a region"),
    (bells_of_floats, "element-type", "takes a signal, an element of INT32"),
    (no_word, "region-option", "cmp is one of pld.WaitCmp's members"),
    (half_told, "argument-count", "dst_offsets, src_offsets and shape together"),
    (asks_the_host, "misplaced", "pld.world_size belongs in a function of @pl.jit.host"),
]


@pytest.mark.parametrize(("kernel", "slug", "text"), REFUSED, ids=lambda v: str(v)[:20])
def test_kernels_that_are_refused(kernel: Any, slug: str, text: str) -> None:
    """A kernel's communication with other ranks is checked at its line."""

    dtype = pl.INT32 if kernel is no_word else pl.FP32

    @pl.jit.host
    def run(x: pl.Tensor):
        data = pld.alloc_window_buffer([16, 64], dtype=dtype)
        kernel(pld.window(data, [16, 64], dtype=dtype), x, device=0)

    with pytest.raises(PyptoError) as raised:
        run(floats(16, 64), config=devices(2))
    assert text in raised.value.message
    assert raised.value.slug == slug
    assert raised.value.hint


def test_a_peer_that_is_not_there() -> None:
    """A constant peer must be the number of a rank."""

    @pl.jit.host
    def run(x: pl.Tensor):
        data = pld.alloc_window_buffer([16, 64], dtype=pl.FP32)
        takes(pld.window(data, [16, 64], dtype=pl.FP32), x, device=0)

    with pytest.raises(ParserError, match="peer is 2; there are ranks 0 to 1") as raised:
        run(floats(16, 64), config=devices(2))
    assert raised.value.hint == "write (rank + 1) % 2 for the next one"


def test_a_device_that_is_not_there() -> None:
    """A launch beyond the devices of the run says how a call gets more of them."""

    @pl.jit.host
    def beyond(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        for r in pl.range(3):
            scaled(x[r], 1.0, y[r], device=r)

    x = floats(4, 16, 64)
    with pytest.raises(ParserError, match="device is 2; the run has 2 devices, from 0") as raised:
        beyond(x, x.copy(), config=devices(2))
    assert "DistributedConfig(device_ids=[0, 1, 2])" in (raised.value.hint or "")


def test_tensors_are_no_windows() -> None:
    """A plain tensor has no part at a peer; Python has no window to pass."""
    x = floats(16, 64)
    with pytest.raises(ParserError, match=r"the target of pld.tensor.put is a window") as raised:
        plain(x, x.copy())
    assert raised.value.slug == "window"
    with pytest.raises(PyptoError, match="'box' of takes is a window, which all ranks reach"):
        takes(x, x)


@pl.jit.host
def works(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    pl.add(x, x)


@pl.jit.host
def has_region(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:] = x


@pl.jit.host
def too_small(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    data = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
    pld.window(data, [16, 64], dtype=pl.FP32)


@pl.jit.host
def no_buffer(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    pld.window(x, [16, 64], dtype=pl.FP32)


@pl.jit.host
def without_dtype(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    pld.alloc_window_buffer([16, 64])


HOSTS = [
    (works, "pl.add belongs in a kernel; a host function launches kernels"),
    (has_region, "is a region, and a host function has none"),
    (too_small, r"a window \[16, 64\] of FP32 has 4096 bytes, data has 32"),
    (no_buffer, "a window is of a buffer, got a tensor"),
    (without_dtype, "a window buffer has a size in bytes, or a shape and dtype="),
]


@pytest.mark.parametrize(("function", "text"), HOSTS, ids=lambda v: str(v)[:20])
def test_host_functions_that_are_refused(function: Any, text: str) -> None:
    """A host function has launches; everything else is rejected with what to write."""
    x = floats(4, 16, 64)
    with pytest.raises(ParserError, match=text) as raised:
        function(x, x.copy(), config=devices(2))
    assert raised.value.hint
    assert raised.value.location.filename == __file__


def test_runs_against_a_reference(
    target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness compiles, runs and compares programs of several ranks; their C++ is emitted."""
    monkeypatch.chdir(tmp_path)
    words = {"distributed_config": DistributedConfig(device_ids=[0, 1])}
    spec = golden.TensorSpec("y", [2, 1, COLUMNS], np.float32, is_output=True)
    specs = [golden.TensorSpec("x", [2, 1, COLUMNS], np.float32, init_value=2.5), spec]

    def expected(tensors: dict[str, Any]) -> None:
        tensors["y"][:] = 2.5

    found = golden.run_jit(fn=ring(target), specs=specs, golden_fn=expected, compile_cfg=words)
    assert found.passed, found.error
    found = golden.run_jit(fn=ring(target), specs=specs, compile_cfg=words, compile_only=True)
    assert found.work_dir is not None
    texts = [path.read_text("utf-8") for path in found.work_dir.glob("send/*.cpp")]
    assert ["TNOTIFY(" in text for text in texts] == ([True] if target == "cpu" else [])
