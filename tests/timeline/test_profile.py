"""Profiles of programs: times, stalls, tasks on cores, and how they are reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src import cli
from pypto._src.commands.programs import load
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.driver import compile_for_evaluator, random_arguments
from pypto._src.ir.enums import PipeType
from pypto._src.timeline import report
from pypto._src.timeline.chrome_trace import trace
from pypto._src.timeline.memory_map import occupied
from pypto._src.timeline.profile import Profile, ProgramSimulator, critical_path
from pypto._src.timeline.roofline import positions

EXAMPLES = Path(__file__).parents[2] / "examples"

TEXT = """\
import pypto.language as pl


@pl.program
class Rows:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[ROWS, 1024], pl.FP32], out: pl.Out[pl.Tensor[[ROWS, 1024], pl.FP32]]
    ):
        for r in pl.range(0, ROWS, 8):
            tile = pl.load(x, [r, 0], [8, 1024])
            out = pl.store(pl.exp(tile), [r, 0], [8, 1024], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[ALL, 1024], pl.FP32], out: pl.Out[pl.Tensor[[ALL, 1024], pl.FP32]]
    ):
        for i in pl.range(0, ALL, ROWS):
            part = pl.tensor.view(x, [ROWS, 1024], [i, 0])
            into = pl.tensor.view(out, [ROWS, 1024], [i, 0])
            into = self.kernel(part, into)
        return out
"""


def parsed(text: str) -> ir.Program:
    program = pl.parse(text)
    assert isinstance(program, ir.Program)
    return program


def rows(each: int, all_rows: int) -> ir.Program:
    """Return a program of tasks with ``each`` rows each."""
    return parsed(TEXT.replace("ROWS", str(each)).replace("ALL", str(all_rows)))


def profiled(program: ir.Program, model: CostModel | None = None) -> Profile:
    """Return the profile of a program on random arguments."""
    found: list[ProgramSimulator] = []

    def make(lowered: ir.Program) -> ProgramSimulator:
        found.append(ProgramSimulator(lowered, model or CostModel(load_table("a2a3"))))
        return found[0]

    compiled = compile_for_evaluator(program, None, make)
    compiled(*random_arguments(compiled, 0, {}).values())
    assert found[0].profile is not None
    return found[0].profile


def test_a_kernel_of_loads_work_and_stores() -> None:
    """Each instruction runs once per iteration; its pipe is busy for the sum."""
    profile = profiled(rows(64, 64))
    [kernel] = profile.kernels
    assert (kernel.name, kernel.core_kind, kernel.calls) == ("kernel", "vector", 1)
    named = {profile.sites[n].instruction: (n, ran) for n, ran in kernel.sites.items()}
    assert {name: ran[0] for name, (_, ran) in named.items()} == {
        "TLOAD": 8,
        "TEXP": 8,
        "TSTORE": 8,
    }
    assert named["TEXP"][1][1] == 8 * 8 * 1024 / 64 * 2 + 13 * 8  # two cycles a repeat, plus starts
    assert max(kernel.busy.values()) < kernel.cycles
    tails = 8 * (522 + 18 + 196)
    assert kernel.cycles <= sum(kernel.busy.values()) + tails + 8 * 100
    assert profile.cycles > profile.launch + kernel.cycles


def test_the_critical_path_is_as_long_as_the_kernel() -> None:
    """The path has no gap: its parts add up to the time of the call."""
    profile = profiled(rows(64, 64))
    [run] = profile.runs
    assert run.timeline is not None
    assert sum(time for _, time in critical_path(run.timeline)) == pytest.approx(
        run.timeline.cycles
    )
    assert sum(profile.kernels[0].critical.values()) == pytest.approx(run.timeline.cycles)


def test_stalls_name_what_waits_for_what() -> None:
    """The store waits for the exponential, because of a flag that the compiler inserted."""
    profile = profiled(rows(64, 64))
    stall = next(s for s in profile.kernels[0].stalls if s.pipe is PipeType.MTE3)
    names = [profile.sites[n].instruction for n in (stall.site, stall.cause, stall.wait)]
    assert names == ["TSTORE", "TEXP", "wait_flag"]
    assert profile.sites[stall.signal].instruction == "set_flag"


def test_independent_tasks_spread_over_cores_and_share_the_memory() -> None:
    """A few tasks take as long as one; many share the bandwidth, and run in waves."""
    one, four = (profiled(rows(64, 64 * n)) for n in (1, 4))
    assert four.cycles == pytest.approx(one.cycles, rel=0.01)
    assert {run.core for run in four.runs} == {0, 1, 2, 3}
    whole = profiled(rows(64, 64 * 48))
    alone, together = one.cycles - one.launch, whole.cycles - whole.launch
    assert together > 1.5 * alone
    bound = {b.name: b.cycles for b in whole.bounds}
    assert bound["memory bandwidth"] == 2 * 64 * 48 * 4096 / 800
    assert whole.bounds[0].name == "memory bandwidth"
    assert 0.98 < together / bound["memory bandwidth"] < 1.1
    waves = profiled(rows(64, 64 * 96))
    assert waves.runs[48].cause in range(48)
    assert waves.cycles - waves.launch == pytest.approx(2 * together, rel=0.05)


def test_tasks_wait_for_what_they_read() -> None:
    """A chain of tasks runs one after another, with a pause to start each."""
    text = TEXT.replace("part = pl.tensor.view(x, [ROWS, 1024], [i, 0])", "part = out")
    text = text.replace("into = pl.tensor.view(out, [ROWS, 1024], [i, 0])", "into = out")
    program = parsed(
        text.replace("range(0, ALL, ROWS)", "range(3)").replace("ROWS", "64").replace("ALL", "64")
    )
    profile = profiled(program)
    assert profile.critical == (0, 1, 2)
    first, second, _ = profile.runs
    assert second.start == pytest.approx(first.end + 0.5 * 1850)
    assert second.timeline is not None
    assert second.timeline.missed_bytes == 0  # what the first has stored is in the cache


def test_a_load_and_a_store_of_a_part_take_the_time_of_the_part() -> None:
    """They move only what is valid, whether its sizes are constants or run-time values."""
    busy: dict[str, dict[PipeType, float]] = {}
    for valid in ("8, 1024", "2, 128", "r // 100 + 2, 128"):
        text = TEXT.replace("[8, 1024])", f"[8, 1024], valid_shapes=[{valid}])", 1)
        assert text != TEXT
        profile = profiled(parsed(text.replace("ROWS", "64").replace("ALL", "64")))
        busy[valid] = profile.kernels[0].busy
        assert not [name for name in profile.assumptions if "PART" in name]
    whole, part, computed = busy.values()
    assert part == computed
    assert part[PipeType.MTE2] < whole[PipeType.MTE2] / 4
    assert part[PipeType.MTE3] < whole[PipeType.MTE3] / 4


def test_valid_sizes_and_indices_are_those_of_the_run() -> None:
    """A partly valid tile takes the time of its valid part."""
    text = TEXT.replace(
        "tile = pl.load(x, [r, 0], [8, 1024])",
        "tile = pl.load(x, [r, 0], [8, 1024], valid_shapes=[8, r + 64])",
    )
    text = text.replace("[r, 0], [8, 1024], out)", "[r, 0], [8, 1024], out)")
    program = parsed(text.replace("ROWS", "64").replace("ALL", "64"))
    profile = profiled(program)
    assert profile.kernels[0].busy[PipeType.V] < 8 * 8 * 1024 / 64 * 2 / 4


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_every_example_has_a_profile(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All examples run; busy shares are fractions, and no call is longer than the run."""
    programs = {"matmul": ":matmul_bf16"}
    words = [f"{EXAMPLES / name}.py{programs.get(name, '')}", "--json", "--hints", "0"]
    assert cli.main(["profile", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tasks"]
    for kernel in found["kernels"]:
        assert kernel["longest"] <= found["cycles"]
        for cycles in kernel["busy"].values():
            assert 0 < cycles <= kernel["cycles"] * 1.0001
        path = sum(s["critical"] for s in kernel["statements"]) + kernel["issue_critical"]
        assert path == pytest.approx(kernel["cycles"])


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text has time, bounds, busy pipes, critical path, stalls and assumptions."""
    path = tmp_path / "rows.py"
    path.write_text(TEXT.replace("ROWS", "64").replace("ALL", "128"))
    assert cli.main(["profile", str(path)]) == 0
    text = capsys.readouterr().out
    assert "main on a2a3: " in text
    assert "2 tasks on 2 vector cores" in text
    assert "kernel: 2 calls on vector cores" in text
    assert "critical path:" in text
    assert (
        "MTE3 before rows.py:12 pl.store: waits for rows.py:12 pl.exp 8 x 1024 on V, by a flag"
        in text
    )
    assert "machine.flags: never measured apart" in text


def test_costs_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of costs changes the prediction."""
    path, costs = tmp_path / "rows.py", tmp_path / "costs.toml"
    path.write_text(TEXT.replace("ROWS", "64").replace("ALL", "64"))
    costs.write_text("[machine.launch]\nus = 1000\n")
    assert cli.main(["profile", str(path), "--json", "--costs", str(costs)]) == 0
    assert json.loads(capsys.readouterr().out)["us"] > 1000


def test_trace(tmp_path: Path) -> None:
    """The trace has a slice for each instruction and task; slices in a lane do not overlap."""
    path, out = tmp_path / "rows.py", tmp_path / "trace.json"
    path.write_text(TEXT.replace("ROWS", "64").replace("ALL", "128"))
    assert cli.main(["profile", str(path), "--perfetto", str(out)]) == 0
    events: list[dict[str, Any]] = json.loads(out.read_text())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    assert sum(e["cat"] == "task" for e in slices) == 2
    assert sum(e["cat"] == "instruction" for e in slices) == 2 * 3 * 8
    lanes: dict[tuple[int, int], float] = {}
    for each in sorted(slices, key=lambda e: e["ts"]):
        lane = each["pid"], each["tid"]
        assert each["ts"] >= lanes.get(lane, 0.0) - 1e-4
        lanes[lane] = each["ts"] + each["dur"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]}
    assert {"vector core 0", "vector core 1", "tasks", "MTE2", "V", "MTE3"} <= names
    starts, ends = ({e["id"] for e in events if e["ph"] == phase} for phase in "sf")
    assert starts == ends
    assert starts


def test_a_profile_says_the_same_twice() -> None:
    """Two simulations of one program are equal, as data and as trace."""
    first, second = (profiled(rows(64, 256)) for _ in range(2))
    assert report.as_data(first) == report.as_data(second)
    assert trace(first) == trace(second)


PRODUCT = """\
import pypto.language as pl


@pl.program
class Product:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        a: pl.Tensor[[128, 256], pl.FP16],
        b: pl.Tensor[[256, 128], pl.FP16],
        c: pl.Out[pl.Tensor[[128, 128], pl.FP32]],
    ):
        for n in pl.range(0, 256, 64):
            left = pl.load(a, [0, n], [128, 64], target_memory=pl.MemorySpace.Mat)
            right = pl.load(b, [n, 0], [64, 128], target_memory=pl.MemorySpace.Mat)
            left_l0 = pl.move(left, target_memory=pl.MemorySpace.Left)
            right_l0 = pl.move(right, target_memory=pl.MemorySpace.Right)
            acc = pl.matmul(left_l0, right_l0)
            c = pl.store(acc, [0, 0], [128, 128], c)
        return c
"""


def test_each_move_has_the_time_of_its_memories() -> None:
    """Loads to Mat, moves to Left and Right, products and stores each have their own cost."""
    profile = profiled(parsed(PRODUCT))
    [kernel] = profile.kernels
    assert kernel.core_kind == "cube"
    assert kernel.busy[PipeType.MTE1] == pytest.approx(4 * (46 + 16384 / 256 + 16384 / 128))
    assert kernel.busy[PipeType.M] == pytest.approx(4 * (13 + 8 * 4 * 8))
    assert kernel.busy[PipeType.FIX] == pytest.approx(4 * (164 + 128 * 4.45))


def test_tasks_that_read_one_part_at_once_share_the_miss() -> None:
    """Of tasks on one level none is first: each fetches a share of what all read."""
    text = TEXT.replace("part = pl.tensor.view(x, [ROWS, 1024], [i, 0])", "part = x")
    text = text.replace("x: pl.Tensor[[ALL, 1024]", "x: pl.Tensor[[ROWS, 1024]")
    profile = profiled(parsed(text.replace("ROWS", "64").replace("ALL", "256")))
    calls = [run.timeline for run in profile.runs if run.timeline is not None]
    assert [call.missed_bytes for call in calls] == [64 * 1024] * 4
    assert [call.hit_bytes for call in calls] == [3 * 64 * 1024] * 4
    assert len({run.end - run.start for run in profile.runs}) == 1


BLOCKS = """\
import pypto.language as pl


@pl.jit
def double(x: pl.Tensor[[512, 1024], pl.FP32], y: pl.Out[pl.Tensor[[512, 1024], pl.FP32]]):
    for block in pl.spmd(16):
        tile = pl.slice(x, [32, 1024], [block * 32, 0])
        y = pl.assemble(y, pl.add(tile, tile), [block * 32, 0])
    for block in pl.spmd(16):
        tile = pl.slice(y, [32, 1024], [block * 32, 0])
        y = pl.assemble(y, pl.add(tile, tile), [block * 32, 0])
    return y
"""


def test_blocks_of_one_launch_run_at_the_same_time(tmp_path: Path) -> None:
    """Blocks of the second launch wait for all of the first, as both write the whole tensor."""
    path = tmp_path / "blocks.py"
    path.write_text(BLOCKS)
    runs = profiled(load(str(path))).runs
    first, second = runs[:16], runs[16:]
    assert len({run.core for run in first}) == 16
    assert all(run.node.waits == () for run in first)
    assert [{wait.before for wait in run.node.waits} for run in second] == [set(range(16))] * 16
    assert min(run.start for run in second) > max(run.end for run in first)


def test_calls_that_go_the_same_way_are_walked_once() -> None:
    """Tasks with equal cache misses and an equal share of the bandwidth use one timeline."""
    runs = profiled(rows(32, 512)).runs
    timelines = {id(run.timeline) for run in runs}
    assert len(runs) == 16
    assert len(timelines) == 1


def test_against_another_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Times of the run and of each kernel are shown beside those of the earlier program."""
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(TEXT.replace("ROWS", "64").replace("ALL", "128"))
    after.write_text(TEXT.replace("ROWS", "32").replace("ALL", "128"))
    words = ["profile", str(after), "--against", str(before), "--hints", "0"]
    assert cli.main(words) == 0
    text = capsys.readouterr().out
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    old, new = found["against"]["us"], found["us"]
    assert new < old
    assert f"before and after, run: {old:.1f} us to {new:.1f} us {new / old - 1:+.1%}" in text
    assert "before and after, kernel: " in text


def test_a_tile_lies_where_it_does_from_its_first_instruction_to_its_last() -> None:
    """Each iteration's tile occupies its bytes from its load until the exponential has read it."""
    profile = profiled(rows(64, 64))
    [run] = profile.runs
    assert run.timeline is not None
    held = list(occupied(run.timeline, profile.sites))
    loads = [e for e in run.timeline.events if profile.sites[e.site].instruction == "TLOAD"]
    powers = [e for e in run.timeline.events if profile.sites[e.site].instruction == "TEXP"]
    tiles = sorted((e for e in held if e.tile.name == "tile"), key=lambda e: e.start)
    assert [each.start for each in tiles] == [load.start for load in loads]
    assert [each.end for each in tiles] == [power.done for power in powers]
    assert {each.tile.size for each in held} == {8 * 1024 * 4}


def test_no_kernel_is_above_the_roofline() -> None:
    """Neither memory nor the computing pipe exceeds it; sharing is iterated to within 2 %."""
    profile = profiled(rows(64, 64 * 48))
    [point] = positions(profile)
    assert point.operations == 64 * 48 * 1024
    assert point.bytes == 2 * 64 * 48 * 4096
    assert max(point.busy, point.bytes / profile.memory_rate) <= 1.02 * point.cycles
    assert point.bytes / profile.memory_rate > 0.9 * point.cycles


STEERED = """
import pypto.language as pl

@pl.jit
def rows_of(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    order = pl.create_tensor([64], dtype=pl.INT32)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="choose"):
        for i in pl.range(64):
            pl.write(order, [i], pl.cast(63 - i, pl.INT32))
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="take"):
        for i in pl.range(64):
            row = pl.cast(pl.read(order, [i]), pl.INDEX)
            y[i : i + 1, :] = x[row : row + 1, :]
    return y
"""


def test_numbers_that_kernels_would_compute_are_zeros(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An index that another kernel computes is simulated as 0, and the text says so."""
    file = tmp_path / "kernel.py"
    file.write_text(STEERED)
    assert cli.main(["profile", str(file)]) == 0
    text = capsys.readouterr().out
    assert "\ntake: 1 calls on vector cores" in text
    assert "elements of tensors that the program makes: are 0 where a kernel reads them" in text
