"""Overlap on request: in kernels that it makes faster, with the same values, in every text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.cli import main
from pypto._src.commands.programs import call_arguments, load_case
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.driver import compile_for_evaluator
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.sync.checker import check_sync
from pypto._src.timeline.overlap import worthwhile
from pypto._src.timeline.profile import ProgramSimulator
from tests.passes.test_sync import errors, sync_points, without

TEXT = """
import pypto.language as pl

@pl.program
class Two:
    @pl.function(type=pl.FunctionType.InCore)
    def faster(self, x: pl.Tensor[[64, 512], pl.FP32], y: pl.Out[pl.Tensor[[64, 512], pl.FP32]]):
        for r in pl.range(0, 64, 8):
            y = pl.store(pl.exp(pl.load(x, [r, 0], [8, 512])), [r, 0], [8, 512], y)
        return y

    @pl.function(type=pl.FunctionType.InCore)
    def chained(self, x: pl.Tensor[[64, 512], pl.FP32], y: pl.Out[pl.Tensor[[64, 512], pl.FP32]]):
        y = pl.store(pl.load(x, [0, 0], [8, 512]), [0, 0], [8, 512], y)
        for r in pl.range(0, 56, 8):
            y = pl.store(pl.exp(pl.load(y, [r, 0], [8, 512])), [r + 8, 0], [8, 512], y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[64, 512], pl.FP32], y: pl.Out[pl.Tensor[[64, 512], pl.FP32]],
             z: pl.Out[pl.Tensor[[64, 512], pl.FP32]]):
        y = self.faster(x, y)
        z = self.chained(x, z)
        return z
"""


PRODUCT = """
import pypto.language as pl

@pl.program
class Product:
    @pl.function(type=pl.FunctionType.InCore)
    def sums(self, a: pl.Tensor[[128, 1024], pl.FP32], b: pl.Tensor[[1024, 128], pl.FP32],
             c: pl.Out[pl.Tensor[[128, 128], pl.FP32]]):
        acc = pl.matmul(
            pl.move(pl.load(a, [0, 0], [128, 64], target_memory=pl.MemorySpace.Mat),
                    target_memory=pl.MemorySpace.Left),
            pl.move(pl.load(b, [0, 0], [64, 128], target_memory=pl.MemorySpace.Mat),
                    target_memory=pl.MemorySpace.Right))
        for k in pl.range(64, 1024, 64):
            left = pl.move(pl.load(a, [0, k], [128, 64], target_memory=pl.MemorySpace.Mat),
                           target_memory=pl.MemorySpace.Left)
            right = pl.move(pl.load(b, [k, 0], [64, 128], target_memory=pl.MemorySpace.Mat),
                            target_memory=pl.MemorySpace.Right)
            acc = pl.matmul_acc(acc, left, right)
        c = pl.store(acc, [0, 0], [128, 128], c)
        return c

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[128, 1024], pl.FP32], b: pl.Tensor[[1024, 128], pl.FP32],
             c: pl.Out[pl.Tensor[[128, 128], pl.FP32]]):
        c = self.sums(a, b, c)
        return c
"""


def two() -> ir.Program:
    """Return the program."""
    found = pl.parse(TEXT)
    assert isinstance(found, ir.Program)
    return found


def test_kernels_that_are_not_faster_stay() -> None:
    """Each iteration of one needs what the previous one stored: nothing overlaps."""
    assert worthwhile(two()).without == {"chained"}


def test_kernels_that_are_faster_with_operands_in_the_cache_overlap() -> None:
    """From memory its loads dominate the time; from the cache the products do."""
    program = pl.parse(PRODUCT)
    assert isinstance(program, ir.Program)
    assert worthwhile(program).without == set()


def test_each_flag_of_flash_attention_is_needed() -> None:
    """With the longer steps of `bench/overlap.py`: its kernels overlap, and are in order."""
    example = Path(__file__).parents[2] / "examples/flash_attention.py"
    text = example.read_text(encoding="utf-8").replace("BLOCK_K = 512 ", "BLOCK_K = 1024 ")
    program = pl.parse(text[: text.index("def inputs(")])
    assert isinstance(program, ir.Program)
    passes = worthwhile(program)
    assert passes.without == set()
    for kernel in PassManager(optional=[passes]).run_passes(program).functions_:
        if kernel.name != "attention":
            assert check_sync(kernel) == []
            count = len(sync_points(kernel))
            assert count > 10
            assert all(errors(without(kernel, place)) for place in range(count)), kernel.name


def test_a_compiled_program_overlaps_with_the_same_values() -> None:
    """On this machine, in its memory plan and in its texts."""
    x = np.random.default_rng(0).standard_normal((64, 512)).astype(np.float32) / 8
    arrays = [np.zeros_like(x) for _ in range(4)]
    plain, overlapped = (runtime.compile(two(), overlap=each) for each in (False, True))
    plain(x, *arrays[:2])
    overlapped(x, *arrays[2:])
    assert np.array_equal(arrays[0], arrays[2])
    assert np.array_equal(arrays[1], arrays[3])
    sizes = [
        {plan.kernel: len(plan.spaces[0].buffers) for plan in each.memory_plan.kernels}
        for each in (plain, overlapped)
    ]
    assert sizes == [{"chained": 3, "faster": 2}, {"chained": 3, "faster": 4}]


def test_commands_take_overlap(tmp_path: Path) -> None:
    """`pypto compile --overlap` emits two loads for one."""
    file = tmp_path / "two.py"
    file.write_text(TEXT, encoding="utf-8")
    counts: list[int] = []
    for words in ([], ["--overlap"]):
        assert main(["compile", str(file), "-o", str(tmp_path / f"out{len(words)}"), *words]) == 0
        [text] = (tmp_path / f"out{len(words)}").rglob("faster.cpp")
        counts.append(text.read_text(encoding="utf-8").count("TLOAD("))
    assert counts == [1, 2]


def test_loops_of_both_kinds_of_cores_overlap() -> None:
    """One loop with both cube and vector work: the times in docs/profiling.md."""
    example = str(Path(__file__).parents[2] / "examples/attention/mla_decode.py")
    program, case = load_case(example)
    times: list[float] = []

    def make(lowered: ir.Program) -> ProgramSimulator:
        found.append(ProgramSimulator(lowered, CostModel(load_table("a2a3"))))
        return found[-1]

    found: list[ProgramSimulator] = []
    for overlap in (False, True):
        compiled = compile_for_evaluator(program, None, make, overlap=overlap)
        compiled(*call_arguments(compiled, program, case, {}).values())
        profile = found[-1].profile
        assert profile is not None
        times.append(profile.us)
    assert [round(each) for each in times] == [53, 41]
