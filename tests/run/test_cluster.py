"""Ranks on a cluster: two Ray nodes on this machine, with runs on threads as the reference.

A single test, since starting the cluster takes longer than everything that runs on it.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto._src.cli import main
from pypto._src.cluster.session import Session, connect
from pypto._src.errors import CallError, EvaluationError, PyptoError
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import DistributedWorker, RunConfig, spread
from tests import campaigns
from tests.run.test_spread import Rolled

RANKS, ROWS, COLUMNS = 3, 4, 64


@pl.jit
def send_on(
    mine: pl.Tensor[[ROWS, COLUMNS], pl.FP32],
    got: pl.Out[pl.Tensor[[ROWS, COLUMNS], pl.FP32]],
    box: pl.InOut[pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]],
    bell: pl.InOut[pld.DistributedTensor[[1, RANKS], pl.INT32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        following = (pld.rank(box) + 1) % pld.nranks(box)
        pld.tensor.put(box, following, mine)
        pld.system.notify(bell, following, [0, 0], 1, op=pld.NotifyOp.Set)
        pld.system.wait(bell, [0, 0], 1, cmp=pld.WaitCmp.Eq)
        got[:, :] = box[:, :]
    return got


@pl.jit
def add_to_all(
    mine: pl.Tensor[[ROWS, COLUMNS], pl.FP32],
    got: pl.Out[pl.Tensor[[ROWS, COLUMNS], pl.FP32]],
    box: pl.InOut[pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]],
    bell: pl.InOut[pld.DistributedTensor[[1, RANKS], pl.INT32]],
):
    """Add to the windows of all ranks at once, by tile and by tensor; then read the next one's."""
    with pl.at(level=pl.Level.CORE_GROUP):
        for peer in pl.range(pld.nranks(box)):
            pld.tensor.put(box, peer, mine, atomic=pld.AtomicType.Add)
            part = mine[0:2, :]
            pld.tile.remote_store(part, box, peer, [2, 0], atomic=pld.AtomicType.Add)
        pld.tensor.barrier(bell)
        following = (pld.rank(box) + 1) % pld.nranks(box)
        got[:, :] = pld.tile.remote_load(box, following, [0, 0], [ROWS, COLUMNS])
    return got


@pl.jit
def wait_forever(
    mine: pl.Tensor[[ROWS, COLUMNS], pl.FP32],
    got: pl.Out[pl.Tensor[[ROWS, COLUMNS], pl.FP32]],
    box: pl.InOut[pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]],
    bell: pl.InOut[pld.DistributedTensor[[1, RANKS], pl.INT32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        pld.system.wait(bell, [0, 1], 1, cmp=pld.WaitCmp.Ge)
        got[:, :] = mine[:, :]
    return got


@pl.jit
def compute_forever(
    mine: pl.Tensor[[ROWS, COLUMNS], pl.FP32],
    got: pl.Out[pl.Tensor[[ROWS, COLUMNS], pl.FP32]],
    box: pl.InOut[pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]],
    bell: pl.InOut[pld.DistributedTensor[[1, RANKS], pl.INT32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        if pld.rank(box) == pld.nranks(box) - 1:
            for _ in pl.range(1 << 40):
                box[:, :] = pl.add(box[:, :], 1.0)
            for peer in pl.range(pld.nranks(box)):
                pld.system.notify(bell, peer, [0, 1], 1, op=pld.NotifyOp.Set)
        pld.system.wait(bell, [0, 1], 1, cmp=pld.WaitCmp.Ge)
        got[:, :] = mine[:, :]
    return got


@pl.jit
def fill(
    mine: pl.Tensor[[ROWS, COLUMNS], pl.FP32],
    box: pl.InOut[pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        box[:, :] = mine[:, :]


@pl.jit
def read(
    got: pl.Out[pl.Tensor[[ROWS, COLUMNS], pl.FP32]],
    box: pl.InOut[pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        got[:, :] = box[:, :]
    return got


@pl.jit
def halve(x: pl.Tensor[[ROWS, COLUMNS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLUMNS], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.mul(x[:, :], 0.5)
    return y


@pl.jit.host
def ring(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    boxes = pld.alloc_window_buffer([ROWS, COLUMNS], dtype=pl.FP32)
    bells = pld.alloc_window_buffer([1, RANKS], dtype=pl.INT32)
    box = pld.window(boxes, [ROWS, COLUMNS], dtype=pl.FP32)
    bell = pld.window(bells, [1, RANKS], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        send_on(x[r], y[r], box, bell, device=r)


@pl.jit.host
def sums(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    boxes = pld.alloc_window_buffer([ROWS, COLUMNS], dtype=pl.FP32)
    bells = pld.alloc_window_buffer([1, RANKS], dtype=pl.INT32)
    box = pld.window(boxes, [ROWS, COLUMNS], dtype=pl.FP32)
    bell = pld.window(bells, [1, RANKS], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        add_to_all(x[r], y[r], box, bell, device=r)


@pl.jit.host
def collective(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    """Sum over all ranks on the host, and a result that is passed from one rank to the next."""
    boxes = pld.alloc_window_buffer([ROWS, COLUMNS], dtype=pl.FP32)
    box = pld.window(boxes, [ROWS, COLUMNS], dtype=pl.FP32)
    halves = pl.create_tensor([RANKS, ROWS, COLUMNS], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        fill(x[r], box, device=r)
    pld.tensor.allreduce(box)
    for r in pl.range(pld.world_size()):
        read(halves[r], box, device=r)
    for r in pl.range(pld.world_size()):
        halve(halves[r], y[r], device=(r + 1) % pld.world_size())


@pl.jit.host
def stuck(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    boxes = pld.alloc_window_buffer([ROWS, COLUMNS], dtype=pl.FP32)
    bells = pld.alloc_window_buffer([1, RANKS], dtype=pl.INT32)
    box = pld.window(boxes, [ROWS, COLUMNS], dtype=pl.FP32)
    bell = pld.window(bells, [1, RANKS], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        wait_forever(x[r], y[r], box, bell, device=r)


@pl.jit.host
def busy(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    boxes = pld.alloc_window_buffer([ROWS, COLUMNS], dtype=pl.FP32)
    bells = pld.alloc_window_buffer([1, RANKS], dtype=pl.INT32)
    box = pld.window(boxes, [ROWS, COLUMNS], dtype=pl.FP32)
    bell = pld.window(bells, [1, RANKS], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        compute_forever(x[r], y[r], box, bell, device=r)


def config(on: str | None, ranks: int = RANKS, timeout: float = 60.0) -> RunConfig:
    devices = DistributedConfig(device_ids=[*range(ranks)], on=on, timeout=timeout)
    return RunConfig(distributed_config=devices)


def arrays() -> tuple[Any, Any]:
    x = np.random.default_rng(3).integers(-9, 9, (RANKS, ROWS, COLUMNS)).astype(np.float32)
    return x, np.zeros_like(x)


@contextmanager
def nodes(*cpus: int) -> Generator[tuple[Any, list[Any]]]:
    """Start a cluster with a node for each number of CPUs; the first is the head."""
    ray: Any = import_module("ray")
    utils: Any = import_module("ray.cluster_utils")
    store = {"object_store_memory": 80 << 20}
    with (
        TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder,  # short: sockets
        pytest.MonkeyPatch.context() as patch,
    ):
        # The head stores its address in the folder that Ray creates on its own first use.
        patch.setenv("RAY_TMPDIR", folder)
        (Path(folder) / "ray").mkdir()
        head = {**store, "num_cpus": cpus[0], "include_dashboard": False, "temp_dir": folder}
        made = utils.Cluster(initialize_head=True, head_node_args=head)
        try:
            more = [made.add_node(num_cpus=count, **store) for count in cpus[1:]]
            ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
            yield made, more
        finally:
            ray.shutdown()
            made.shutdown()


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two nodes with two CPUs each; required in CI, optional elsewhere."""
    if sys.platform != "linux":
        pytest.skip("ranks on a cluster run on Linux")
    if not os.environ.get("CI"):
        pytest.importorskip("ray", reason="ranks on a cluster were not run: ray is not installed")
    with nodes(2, 2):
        yield import_module("ray")


PROGRAMS = {"ring": ring, "sums": sums, "collective": collective}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_threads(name: str) -> None:
    """The programs of the next test agree with NumPy."""
    x, y = arrays()
    PROGRAMS[name](x, y, config=config(None))
    np.testing.assert_array_equal(y, expected(name, x))


def expected(name: str, x: Any) -> Any:
    if name == "ring":
        return np.roll(x, 1, axis=0)
    total = np.broadcast_to(x.sum(axis=0), x.shape).copy()
    if name == "collective":
        return total / 2
    total[:, 2:] += x.sum(axis=0)[:2]
    return total


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Ray, a run on a cluster says what to install."""
    for name in [name for name in sys.modules if name.startswith("pypto._src.cluster")]:
        monkeypatch.delitem(sys.modules, name)

    def finds_nothing(_name: str) -> None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", finds_nothing)
    x, y = arrays()
    with pytest.raises(PyptoError, match="needs the package ray, which is not installed") as found:
        ring(x, y, config=config("ray"))
    assert found.value.hint == "pip install 'pypto[cluster]'"


@pytest.mark.usefixtures("cluster")
def test_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Programs compute the same in processes on two nodes; failures name ranks and nodes."""
    x, y = arrays()
    compiled = {
        name: program.compile(x, y, config=config("ray")) for name, program in PROGRAMS.items()
    }
    waits = stuck.compile(x, y, config=config("ray"))
    with waits.prepare(extra_compiled=[*compiled.values()]) as worker:
        for name, program in compiled.items():
            y[...] = 0
            worker.run(program, x, y)
            np.testing.assert_array_equal(y, expected(name, x), err_msg=name)
        stays_on_ranks(worker, compiled["ring"], x)
        says_what_all_wait_for(worker, waits, x)
    tunes(monkeypatch, tmp_path)
    checks_programs(tmp_path)
    spreads_tasks()
    restarts_a_step(x, monkeypatch)
    ends_when_a_rank_is_killed(x)
    ends_when_nothing_goes_on(x)
    needs_a_cpu_for_each_rank(x, monkeypatch)
    opens_no_window_of_who_has_ended()
    spreads_campaigns(tmp_path)


@pl.autotune(ROWS_OF_TILE=[8, 16, 32])
@pl.jit
def double(
    a: pl.Tensor[[64, 64], pl.FP32],
    b: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ROWS_OF_TILE: int = 8,
):
    for r in pl.range(0, 64, ROWS_OF_TILE):
        tile = pl.load(a, [r, 0], [ROWS_OF_TILE, 64])
        b = pl.store(pl.add(tile, tile), [r, 0], [ROWS_OF_TILE, 64], b)
    return b


def tunes(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A search on the cluster finds what a local one finds, and stores it locally."""
    a = np.zeros((64, 64), np.float32)
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(folder / "cluster"))
    there = double.tune(a, a.copy(), on="ray")
    kept = len([*(folder / "cluster" / "tune").rglob("*.json")])
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(folder / "here"))
    here = double.tune(a, a.copy(), processes=1)
    assert there.outcome.candidates == here.outcome.candidates
    assert kept == len([*(folder / "here" / "tune").rglob("*.json")]) > 3
    monkeypatch.delenv("PYPTO_CACHE_DIR")


def checks_programs(folder: Path) -> None:
    """Checking programs on the cluster gives the same findings as checking locally."""
    path = folder / "kernels.py"
    path.write_text(KERNELS, "utf-8")
    told: list[tuple[int, str, str]] = []
    for words in ([], ["--on", "ray"]):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = main(["check", str(path), *words])
        told.append((status, out.getvalue(), err.getvalue()))
    assert told[0] == told[1]
    assert told[0][0] == 1
    assert "pl.load of 48:112 in dimension 0 is outside x" in told[1][2]


KERNELS = """
import pypto.language as pl


@pl.function(type=pl.FunctionType.InCore)
def half(x: pl.Tensor[[64, 32], pl.FP32], out: pl.Out[pl.Tensor[[64, 32], pl.FP32]]):
    out = pl.store(pl.load(x, [0, 0], [32, 32]), [0, 0], [32, 32], out)
    return out


@pl.function(type=pl.FunctionType.InCore)
def beyond(x: pl.Tensor[[64, 32], pl.FP32], out: pl.Out[pl.Tensor[[64, 32], pl.FP32]]):
    out = pl.store(pl.load(x, [48, 0], [64, 32]), [0, 0], [64, 32], out)
    return out
"""


def spreads_tasks() -> None:
    """Tasks of one program run where their results are owned; parts move between nodes."""
    x = np.random.default_rng(5).random((64, 64), np.float32)
    y = np.zeros_like(x)
    ranks = DistributedConfig(device_ids=[*range(RANKS)], on="ray")
    made = spread(Rolled, x, y, config=ranks, owner="cyclic")
    assert [rank for _, rank in made.owners] == [0, 1, 2, 0] * 2
    made.run()
    np.testing.assert_array_equal(y, 2 * x + 2 * np.roll(x, -16, axis=0))


@pl.jit.host
def in_steps(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    boxes = pld.alloc_window_buffer([ROWS, COLUMNS], dtype=pl.FP32)
    box = pld.window(boxes, [ROWS, COLUMNS], dtype=pl.FP32)
    for r in pl.range(pld.world_size()):
        fill(x[r], box, device=r)
    with pld.step(restarts=1):
        for r in pl.range(pld.world_size()):
            read(y[r], box, device=r)


def restarts_a_step(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step whose rank is killed restarts on new ranks, with the windows restored."""
    launch = Session.launch
    killed: list[int] = []

    def kills(self: Session, rank: int, program: Any, *args: Any) -> None:
        if program.entry == "read" and rank == 1 and not killed:
            killed.append(self.nodes[rank].process)
            os.kill(killed[0], signal.SIGKILL)
        launch(self, rank, program, *args)

    monkeypatch.setattr(Session, "launch", kills)
    y = np.zeros_like(x)
    in_steps(x, y, config=config("ray"))
    np.testing.assert_array_equal(y, x)
    assert len(killed) == 1


def stays_on_ranks(worker: DistributedWorker, program: Any, x: Any) -> None:
    """The worker's tensors stay on the ranks between runs, without being copied here."""
    a, b = worker.alloc_stacked_tensor(x), worker.alloc_tensor(x.shape, x.dtype)
    worker.run(program, a, b)
    worker.run(program, b, a)
    assert not b.array.any()
    np.testing.assert_array_equal(worker.copy_from(a), np.roll(x, 2, axis=0))
    worker.copy_to(a, x + 1)
    worker.run(program, a, b)
    np.testing.assert_array_equal(worker.copy_from(b), np.roll(x + 1, 1, axis=0))


def says_what_all_wait_for(worker: DistributedWorker, program: Any, x: Any) -> None:
    """A deadlock of ranks is detected at once, even though they are processes."""
    y = np.zeros_like(x)
    with pytest.raises(EvaluationError, match=r"rank 0 waits for bells\[0, 1\] of rank 0") as found:
        worker.run(program, x, y)
    assert found.value.slug == "deadlock"
    assert [label.text.split(" >=")[0] for label in found.value.related] == [
        f"rank {rank} waits for bells[0, 1] of rank {rank}" for rank in range(1, RANKS)
    ]
    assert not y.any()


def ends_when_a_rank_is_killed(x: Any) -> None:
    """A killed process is reported with its node, and nothing of it is left behind."""
    killed: list[tuple[int, float]] = []
    y = np.zeros_like(x)

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            process = next(filter(is_busy, rank_processes()), None)
            if process is not None:
                killed.append((process, time.monotonic()))
                os.kill(process, signal.SIGKILL)
                return

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(EvaluationError, match=r"rank \d on node \S+ \(\w{8}\), process") as found:
        busy(x, y, config=config("ray"))
    killer.join()
    [(process, begin)] = killed
    assert time.monotonic() - begin < 10
    assert f"process {process} has ended in the middle of a run" in found.value.message
    assert not y.any(), "nothing is half written"
    deadline = time.monotonic() + 10
    while rank_processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not rank_processes()


def ends_when_nothing_goes_on(x: Any) -> None:
    """A run whose ranks neither end nor wait for each other ends after the given timeout."""
    with pytest.raises(EvaluationError, match="gone on for 1 s: rank 0 on node") as found:
        busy(x, np.zeros_like(x), config=config("ray", ranks=1, timeout=1.0))
    assert found.value.slug == "rank-timeout"


def opens_no_window_of_who_has_ended() -> None:
    """The rank that created a window may be killed before the others open it."""
    from pypto._src.cluster.rank_actor import RankActor

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not RankActor(0, 2).open({1: 64}, {1: (gone.pid, 5)})


def spreads_campaigns(folder: Path) -> None:
    """Checks run on the cluster, in order; those with known results do not run again."""
    keep, check = folder / "outcomes", "tests.run.test_cluster:squared"
    assert [*campaigns.outcomes(check, range(2), keep=keep)] == [(0, {"is": 0}), (1, {"is": 1})]
    found = campaigns.outcomes(check, range(5), on="ray", keep=keep)
    assert [(n, each["is"]) for n, each in found] == [(n, n * n) for n in range(5)]
    assert len(keep.read_text().splitlines()) == 5


def squared(number: int) -> dict[str, int]:
    return {"is": number * number}


def test_a_cluster_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's errors are reported as ours; it reports minutes later if nobody answers."""

    def refuse(**_words: Any) -> None:
        raise ConnectionError("no token")

    closed = SimpleNamespace(is_initialized=lambda: False, init=refuse)
    monkeypatch.setattr("pypto._src.cluster.session.ray", closed)
    with pytest.raises(CallError, match=r"this process in at .*: no token") as found:
        connect("192.0.2.9:6379")
    assert found.value.slug == "cluster-refuses"
    assert "export RAY_AUTH_MODE=token" in str(found.value.hint)


def needs_a_cpu_for_each_rank(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """More ranks than CPUs is an error, not an endless wait."""
    monkeypatch.setattr("pypto._src.cluster.session._START_S", 0.1)
    many = np.zeros((9, ROWS, COLUMNS), np.float32)
    with pytest.raises(CallError, match="9 ranks need a CPU each, the cluster has") as found:
        ring(many, np.zeros_like(many), config=config("ray", ranks=9))
    assert found.value.slug == "rank-placement"


def rank_processes() -> list[int]:
    """Return the rank processes started by this one."""
    found: list[int] = []
    for path in sorted(Path("/proc").glob("[0-9]*")):
        with suppress(OSError):
            if b"RankActor" in (path / "cmdline").read_bytes() and is_ours(int(path.name)):
                found.append(int(path.name))
    return found


def is_ours(process: int) -> bool:
    while process > 1:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        if process == os.getpid():
            return True
    return False


def is_busy(process: int) -> bool:
    """True if a process runs the endless kernel: no other maps a window and uses the CPU."""
    with suppress(OSError):
        before = cpu_time(process)
        has_window = "pypto-window" in Path(f"/proc/{process}/maps").read_text()
        time.sleep(0.1)
        return has_window and cpu_time(process) - before >= 3
    return False


def cpu_time(process: int) -> int:
    """Return the CPU time of a process, in ticks of 10 ms."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11])
