"""PipelineLoops and OverlapLoops: overlapping iterations compute the same, in order, and fit."""

from __future__ import annotations

import logging
import textwrap
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.interp.pipe_interpreter import StrictEvaluator
from pypto._src.ir.stmts import ForStmt
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.passes.memory.memory_plan import MemoryPlan
from pypto._src.passes.optimize.overlap_loops import OverlapLoops
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.flatten_call_expr import FlattenCallExpr
from pypto._src.passes.sync.checker import check_sync
from tests import effort
from tests.passes.mutants import MAKERS, Kernel, Paths, Tally, kernel_of
from tests.passes.preservation import check

HEADER = """\
import pypto.language as pl

M = pl.dynamic("M")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[64, 64], pl.FP32], n: pl.INT64, m: pl.INT64,
               out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]]):
"""

ROWS = """
for r in pl.pipeline(m, n, 4, stage=STAGE):
    tile = pl.load(x, [r, 0], [4, 64])
    out = pl.store(pl.mul(pl.exp(tile), 2.0), [r, 0], [4, 64], out)
return out
"""

CARRIED = """
total = pl.full([4, 64], pl.FP32, 0.0)
last = m
for r in pl.pipeline(m, n, 4, stage=STAGE):
    total = pl.add(total, pl.load(x, [r, 0], [4, 64]))
    last = r
out = pl.store(total, [0, 0], [4, 64], out)
out = pl.store(pl.load(x, [last, 0], [4, 64]), [8, 0], [4, 64], out)
return out
"""

NESTED = """
for c in pl.pipeline(0, 64, 32, stage=2):
    scale = pl.load(x, [0, c], [4, 32])
    for r in pl.pipeline(m, n, 4, stage=STAGE):
        tile = pl.mul(pl.load(x, [r, c], [4, 32]), scale)
        out = pl.store(tile, [r, c], [4, 32], out)
return out
"""

DEPENDENT = """
for r in pl.pipeline(m, n, 4, stage=STAGE):
    before = pl.load(out, [0, 0], [4, 64])
    out = pl.store(pl.add(before, pl.load(x, [r, 0], [4, 64])), [0, 0], [4, 64], out)
return out
"""

BRANCHES = """
for r in pl.pipeline(m, n, 4, stage=STAGE):
    tile = pl.load(x, [r, 0], [4, 64])
    if r == m + 4:
        tile = pl.mul(tile, 3.0)
    if r > 12:
        out = pl.store(tile, [r, 0], [4, 64], out)
return out
"""

BODIES = {
    "rows": ROWS,
    "carried": CARRIED,
    "nested": NESTED,
    "dependent": DEPENDENT,
    "branches": BRANCHES,
}


def program(body: str, stage: int = 2, header: str = HEADER) -> ir.Program:
    """Return the program of a kernel with this body."""
    text = header + textwrap.indent(body.strip().replace("STAGE", str(stage)), " " * 8)
    found = pl.parse(text)
    assert isinstance(found, ir.Program)
    return found


def lowered(given: ir.Program) -> ir.Program:
    """Return a program after all passes."""
    return PassManager.get_strategy().run_passes(given)


def loops(function: ir.Function) -> list[ForStmt]:
    """Return the loops of a function."""
    return [stmt for stmt in stmts_in(function.body) if isinstance(stmt, ForStmt)]


@pytest.mark.parametrize("stage", [2, 3])
@pytest.mark.parametrize("name", BODIES)
def test_values_stay_whatever_the_number_of_iterations(name: str, stage: int) -> None:
    """0, 1, N - 1, N, N + 1 iterations and more, counted at run time: same as with one stage."""
    pipelined = program(BODIES[name], stage)
    after = lowered(pipelined)
    kernel = after.get_function("kernel")
    assert kernel is not None
    assert check_sync(kernel) == []
    plain = runtime.compile(program(BODIES[name], 1), target="interpreter")
    strict = runtime.compile(pipelined, target="interpreter", strict="exhaustive")
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    for start, iterations in [(8, 0), (12, -3), *((4, count) for count in range(1, 9))]:
        arrays = [np.zeros((64, 64), np.float32) for _ in range(2)]
        for run, out in zip((plain, strict), arrays, strict=True):
            run(x, start + 4 * iterations, start, out)
        assert np.array_equal(arrays[0], arrays[1]), (start, iterations)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 7])
def test_values_stay_for_constant_numbers_of_iterations(count: int) -> None:
    """The remainder follows the loop; a loop of fewer iterations has as many stages."""
    body = ROWS.replace("(m, n,", f"(8, {8 + 4 * count},")
    pipelined = program(body, 3)
    kernel = lowered(pipelined).get_function("kernel")
    assert kernel is not None
    assert check_sync(kernel) == []
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    arrays = [np.zeros((64, 64), np.float32) for _ in range(2)]
    runtime.compile(program(body, 1), target="interpreter")(x, 0, 0, arrays[0])
    runtime.compile(pipelined, target="interpreter", strict="exhaustive")(x, 0, 0, arrays[1])
    assert np.array_equal(arrays[0], arrays[1])


def test_ragged_last_iteration() -> None:
    """Row count known only at the call, last tile partly valid; native code too."""
    header = HEADER.replace("x: pl.Tensor[[64, 64]", "x: pl.Tensor[[M, 64]").replace(
        "out: pl.InOut[pl.Tensor[[64, 64]", "out: pl.InOut[pl.Tensor[[M, 64]"
    )
    body = """
for r in pl.pipeline(0, M, 4, stage=STAGE):
    rows = pl.min(M - r, 4)
    tile = pl.load(x, [r, 0], [4, 64], valid_shapes=[rows, 64])
    out = pl.store(pl.exp(tile), [r, 0], [4, 64], out)
return out
"""
    pipelined = program(body, 2, header)
    runs: list[Any] = [
        runtime.compile(pipelined),
        runtime.compile(pipelined, target="interpreter", strict="exhaustive"),
    ]
    plain = runtime.compile(program(body, 1, header), target="interpreter")
    for rows in (1, 3, 4, 7, 8, 9, 18):
        x = np.random.default_rng(rows).standard_normal((rows, 64)).astype(np.float32)
        wanted = np.zeros_like(x)
        plain(x, 0, 0, wanted)
        for run in runs:
            found = np.zeros_like(x)
            run(x, 0, 0, found)
            assert np.allclose(found, wanted, rtol=1e-6), rows


def buffers(given: ir.Program) -> dict[str, set[tuple[str, int]]]:
    """Return the names and addresses of the buffers of each memory."""
    [plan] = MemoryPlan.of(given).kernels
    return {
        space.space.name: {(buffer.names[0], buffer.address) for buffer in space.buffers}
        for space in plan.spaces
    }


def test_each_copy_has_buffers_of_its_own_where_pipes_meet() -> None:
    """A loaded or stored tile has one per stage; what only the vector unit uses has one in all."""
    body = ROWS.replace("pl.mul(pl.exp(tile), 2.0)", "pl.mul(pl.exp(pl.neg(tile)), 2.0)")
    found = buffers(lowered(program(body, 3)))["Vec"]
    assert len(found) == 3 + 3 + 2
    names = {name.rpartition("_")[0] for name, _ in found}
    assert "tile" in names
    assert len({address for _, address in found}) == len(found)


def test_short_memory_is_shared_inside_an_iteration_first() -> None:
    """Six tiles of 32 KiB per iteration: eight in two stages, as vector tiles share theirs."""
    body = """
for r in pl.pipeline(0, 64, 8, stage=STAGE):
    tile = pl.load(x, [r, 0], [8, 1024])
    a = pl.exp(tile)
    b = pl.mul(a, 2.0)
    c = pl.add(a, b)
    d = pl.sub(c, 1.0)
    out = pl.store(pl.abs(d), [r, 0], [8, 1024], out)
return out
"""
    header = HEADER.replace("[64, 64]", "[64, 1024]")
    found = lowered(program(body, 2, header))
    tiles = {address for name, address in buffers(found)["Vec"] if name.startswith("tile")}
    assert len(tiles) == 2
    kernel = found.get_function("kernel")
    assert kernel is not None
    assert check_sync(kernel) == []
    assert [loop.step.value for loop in loops(kernel)] == [16]  # pyright: ignore


def test_fewer_stages_where_more_do_not_fit(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight stages of 32 KiB are too many, even in place: five remain, according to the log.

    It is logged only on request.
    """
    header = HEADER.replace("[64, 64]", "[64, 1024]")
    body = ROWS.replace("m, n, 4", "0, 64, 8").replace("[4, 64]", "[8, 1024]")
    lowered(program(body, 8, header))
    assert capfd.readouterr().err == ""
    monkeypatch.setenv("PYPTO_DEBUG", "1")
    logging.getLogger("pypto").setLevel(logging.NOTSET)  # so that the variable is read
    [loop] = loops(lowered(program(body, 8, header)).functions_[0])
    assert loop.stages == 1
    assert str(loop.step) == "40"
    message = "tiles of pipelined loops have fewer buffers: 5 in Vec, not 8, as more do not fit"
    assert f"kernel 'kernel': {message}" in capfd.readouterr().err
    monkeypatch.delenv("PYPTO_DEBUG")
    logging.getLogger("pypto").setLevel(logging.NOTSET)


PRODUCTS = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, a: pl.Tensor[[16, 512], pl.FP32], b: pl.Tensor[[512, 128], pl.FP32],
               c: pl.Out[pl.Tensor[[64, 128], pl.FP32]]):
        for k in pl.pipeline(0, 512, 128, stage=2):
            left = pl.move(pl.load(a, [0, k], [16, 128], target_memory=pl.MemorySpace.Mat),
                           target_memory=pl.MemorySpace.Left)
            right = pl.move(pl.load(b, [k, 0], [128, 128], target_memory=pl.MemorySpace.Mat),
                            target_memory=pl.MemorySpace.Right)
            c = pl.store(pl.matmul(left, right), [k // 8, 0], [16, 128], c)
        return c
"""


def test_one_memory_may_be_shorter_than_others() -> None:
    """Right has room for one tile: loads to Mat overlap all the same."""
    given = pl.parse(PRODUCTS)
    assert isinstance(given, ir.Program)
    found = {space: len(tiles) for space, tiles in buffers(lowered(given)).items()}
    assert found == {"Mat": 4, "Left": 2, "Right": 1, "Acc": 2}
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(size).astype(np.float32) for size in ((16, 512), (512, 128)))
    results = [np.zeros((64, 128), np.float32) for _ in range(2)]
    runtime.compile(given, target="interpreter")(a, b, results[0])
    runtime.compile(given, target="interpreter", strict="exhaustive")(a, b, results[1])
    assert np.array_equal(results[0], results[1])


PARTS = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, a: pl.Tensor[[32, 512], pl.FP16], b: pl.Tensor[[512, 256], pl.FP16],
               c: pl.Out[pl.Tensor[[64, 256], pl.FP32]]):
        for k in pl.pipeline(0, 512, 256, stage=2):
            rows = pl.load(a, [0, k], [32, 256], target_memory=pl.MemorySpace.Mat)
            columns = pl.load(b, [k, 0], [256, 256], target_memory=pl.MemorySpace.Mat)
            acc = pl.matmul(
                pl.tile.extract(rows, 0, 0, [32, 64], target_memory=pl.MemorySpace.Left),
                pl.tile.extract(columns, 0, 0, [64, 256], target_memory=pl.MemorySpace.Right))
            for s in pl.unroll(64, 256, 64):
                left = pl.tile.extract(rows, 0, s, [32, 64], target_memory=pl.MemorySpace.Left)
                right = pl.tile.extract(columns, s, 0, [64, 256],
                                        target_memory=pl.MemorySpace.Right)
                acc = pl.matmul_acc(acc, left, right)
            c = pl.store(acc, [k // 8, 0], [32, 256], c)
        return c
"""


def test_tiles_of_an_iteration_alternate_where_each_cannot_have_a_copy() -> None:
    """Right has room for two of eight: a product runs while the next one's tile is moved."""
    given = pl.parse(PARTS)
    assert isinstance(given, ir.Program)
    found = lowered(given)
    kernel = found.get_function("kernel")
    assert kernel is not None
    assert check_sync(kernel) == []
    tiles = [s.var.type for s in stmts_in(kernel.body) if isinstance(s, ir.AssignStmt)]
    memrefs = [kind.memref for kind in tiles if isinstance(kind, ir.TileType)]
    moved = [m.addr_ for m in memrefs if m and m.memory_space_ is ir.MemorySpace.Right]
    assert len(moved) == 8
    assert all(one != other for one, other in pairwise(map(str, moved)))
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(size).astype(np.float16) for size in ((32, 512), (512, 256)))
    results = [np.zeros((64, 256), np.float32) for _ in range(2)]
    runtime.compile(given, target="interpreter")(a, b, results[0])
    runtime.compile(given, target="interpreter", strict="exhaustive")(a, b, results[1])
    assert np.array_equal(results[0], results[1])


def test_the_assembler_gets_the_buffers_too() -> None:
    """Without flags, which the assembler inserts itself."""
    manager = PassManager.get_strategy(OptimizationStrategy.PTOAS)
    assert len(buffers(manager.run_passes(program(ROWS)))["Vec"]) == 5


def test_stages_are_part_of_every_text() -> None:
    """The IR text, the statement form and the serialized bytes keep them."""
    given = program(NESTED, 3)
    assert "pl.pipeline(m, n, 4, stage=3" in str(given)
    ir.assert_structural_equal(ir.parse(str(given)), given)
    ssa = FlattenCallExpr()(ConvertToSSA()(given))
    assert "attributes { stages=3 }" in ir.to_statement_text(ssa)
    ir.assert_structural_equal(ir.from_statement_text(ir.to_statement_text(ssa)), ssa)
    ir.assert_structural_equal(ir.deserialize(ir.serialize(given)), given)
    assert not ir.structural_equal(given, program(NESTED, 2))


def test_overlap_loops_finds_loops_that_load_and_compute() -> None:
    """A loop that only computes is unchanged, and so is one with stages of its own."""
    body = """
total = pl.full([4, 64], pl.FP32, 0.0)
for i in pl.range(0, n):
    total = pl.add(total, 1.0)
for r in pl.range(m, n, 4):
    out = pl.store(pl.add(total, pl.load(x, [r, 0], [4, 64])), [r, 0], [4, 64], out)
for r in pl.pipeline(m, n, 4, stage=3):
    out = pl.store(pl.load(x, [r, 0], [4, 64]), [r, 0], [4, 64], out)
return out
"""
    ssa = FlattenCallExpr()(ConvertToSSA()(program(body)))
    [kernel] = OverlapLoops()(ssa).functions_
    assert [loop.stages for loop in loops(kernel)] == [1, 2, 3]
    assert OverlapLoops(without=["kernel"])(ssa) is ssa


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_compute_the_same(seed: int) -> None:
    """With OverlapLoops and then all passes, bit for bit."""
    check("written", 7 * seed)


@pytest.mark.parametrize("name", BODIES)
def test_mutants_of_pipelined_kernels(name: str) -> None:
    """Each removal of a flag breaks in some order, and the checker finds those, and no others."""
    after = lowered(program(BODIES[name]))
    [function] = after.functions_
    evaluator = StrictEvaluator(after)
    evaluator.calls = []
    for iterations in range(7):
        arrays = [np.zeros((64, 64), np.float32) for _ in range(2)]
        evaluator.call("kernel", [arrays[0], 4 + 4 * iterations, 4, arrays[1]])
    paths = Paths(after, function)
    tally = Tally()
    tally.add(Kernel(name, function, evaluator.calls, paths.each))
    assert (tally.findings, tally.missed, tally.alarms) == (0, [], [])
    assert tally.counts["removal", "broken found"] == tally.counts["removal", "broken"] > 10


def test_mutants_of_random_pipelined_kernels_are_found() -> None:
    """Each removal of a flag that breaks on some arguments is found."""
    tally = Tally()
    seeds = effort.count(8, thorough_run=24)
    for seed in range(seeds):
        given = MAKERS[seed % len(MAKERS)](Random(seed).randrange, 4 + seed % 13)
        after = PassManager(optional=["OverlapLoops"]).run_passes(given)
        tally.add(kernel_of(f"pipelined {seed}", after))
    assert (tally.findings, tally.missed) == (0, [])
    assert tally.counts["removal", "broken"] > 12 * seeds
