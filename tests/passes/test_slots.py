"""Loops of regions with matrix and vector work: the cube runs an iteration ahead, using slots."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ir, passes, runtime
from pypto._src.commands.programs import load_case
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.driver import compile_for_evaluator
from pypto._src.ir.text.printer import python_print
from pypto._src.timeline.profile import Profile, ProgramSimulator

SEQ, HEAD, BLOCK = 512, 128, 128
TEXT = """
import pypto.language as pl

SEQ, HEAD, BLOCK = 512, 128, 128

@pl.jit
def flash(
    q: pl.Tensor[[BLOCK, HEAD], pl.FP16],
    k: pl.Tensor[[SEQ, HEAD], pl.FP16],
    v: pl.Tensor[[SEQ, HEAD], pl.FP16],
    out: pl.Out[pl.Tensor[[BLOCK, HEAD], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        top = pl.full([BLOCK, 1], dtype=pl.FP32, value=-1e30)
        total = pl.full([BLOCK, 1], dtype=pl.FP32, value=0.0)
        acc = pl.full([BLOCK, HEAD], dtype=pl.FP32, value=0.0)
        for s in pl.range(0, SEQ, BLOCK):
            scores = pl.matmul(q[0:BLOCK, :], k[s : s + BLOCK, :], b_trans=True, out_dtype=pl.FP32)
            scores = pl.mul(scores, 0.125)
            new_top = pl.maximum(top, pl.row_max(scores))
            fade = pl.exp(pl.sub(top, new_top))
            powers = pl.exp(pl.row_expand_sub(scores, new_top))
            total = pl.add(pl.mul(total, fade), pl.row_sum(powers))
            step = pl.matmul(pl.cast(powers, pl.FP16), v[s : s + BLOCK, :], out_dtype=pl.FP32)
            acc = pl.add(pl.row_expand_mul(acc, fade), step)
            top = new_top
        out[:, :] = pl.row_expand_div(acc, total)
    return out
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> ir.Program:
    """Return attention for one block of queries."""
    file = tmp_path_factory.mktemp("slots") / "flash.py"
    file.write_text(TEXT, encoding="utf-8")
    return load_case(str(file))[0]


def arrays() -> list[np.ndarray]:
    """Return arguments for it."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, HEAD)).astype(np.float16) / 4 for n in (BLOCK, SEQ, SEQ))
    return [q, k, v, np.zeros((BLOCK, HEAD), np.float32)]


def host_lines(program: ir.Program, *optional: str) -> list[str]:
    """Return the lines of the host function, without types."""
    for pass_ in passes.PassManager(optional=optional).passes[:3]:
        program = pass_(program)
    lines = python_print(program).split("def flash(")[1].split("@pl.function")[0].splitlines()[1:]
    names = [line.strip().partition(": ")[0] for line in lines]
    values = [line.rpartition(" = ")[2].strip() for line in lines]
    return [
        f"{name} = {value}" if " = " in line else line.strip()
        for name, value, line in zip(names, values, lines, strict=True)
    ]


def simulated(program: ir.Program, *, overlap: bool) -> Profile:
    """Return the profile of a run."""
    found: list[ProgramSimulator] = []

    def make(lowered: ir.Program) -> ProgramSimulator:
        found.append(ProgramSimulator(lowered, CostModel(load_table("a2a3"))))
        return found[0]

    compile_for_evaluator(program, None, make, overlap=overlap)(*arrays())
    profile = found[0].profile
    assert profile is not None
    return profile


def test_iterations_take_slots_in_turn(program: ir.Program) -> None:
    """Values passed between kernels in an iteration have two slots; carried values have one."""
    plain, overlapped = host_lines(program), host_lines(program, "OverlapLoops")
    assert not any("slot" in line for line in plain)
    assert [line for line in overlapped if "slot" in line] == [
        "_scratch_0_slots = pl.tensor.create([256, 128], dtype=pl.FP32)",
        "_scratch_1_slots = pl.tensor.create([256, 128], dtype=pl.FP16)",
        "_scratch_2_slots = pl.tensor.create([256, 128], dtype=pl.FP32)",
        "fade_held_slots = pl.tensor.create([256, 1], dtype=pl.FP32)",
        "slot = s // 128 % 2",
        "_scratch_0 = pl.tensor.view(_scratch_0_slots, [128, 128], [slot * 128, 0])",
        "_scratch_1 = pl.tensor.view(_scratch_1_slots, [128, 128], [slot * 128, 0])",
        "_scratch_2 = pl.tensor.view(_scratch_2_slots, [128, 128], [slot * 128, 0])",
        "fade_held = pl.tensor.view(fade_held_slots, [128, 1], [slot * 128, 0])",
    ]


def test_carried_tiles_are_stored_where_they_are_made(program: ir.Program) -> None:
    """The maximum is known before the second product: the next iteration does not wait for that."""
    calls = [line for line in host_lines(program) if "self.flash_incore" in line]
    using = ["top_iter_held" in line for line in calls]
    assert using == [True, False, True, False, False, False]


def test_the_cube_works_ahead(program: ir.Program) -> None:
    """The second product of an iteration overlaps with the vector work of the next one."""
    plain, overlapped = (simulated(program, overlap=each) for each in (False, True))
    launch = plain.launch
    assert overlapped.cycles - launch < 0.7 * (plain.cycles - launch)
    cube = [run for run in overlapped.runs if run.core_kind == "cube"]
    vector = [run for run in overlapped.runs if run.core_kind == "vector"]
    beside = [
        run for run in cube if any(each.start < run.end and run.start < each.end for each in vector)
    ]
    assert len(beside) > len(cube) // 2


@pytest.mark.parametrize("overlap", [False, True])
def test_values_are_those_of_attention(program: ir.Program, *, overlap: bool) -> None:
    """In the interpreter, after all passes."""
    compiled = runtime.compile(program, target="interpreter", overlap=overlap)
    given = arrays()
    compiled(*given)
    q, k, v = (array.astype(np.float64) for array in given[:3])
    scores = q @ k.T * 0.125
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = powers @ v / powers.sum(axis=1, keepdims=True)
    assert np.abs(given[3] - expected).max() < 1e-3
