"""Sub-tiles: they share their tile's bytes, whatever happens to the buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EvaluationError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.array_types import TileType
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import AssignStmt, Function, Program
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.passes.memory.allocate_memory_addr import with_addresses
from pypto._src.passes.memory.init_mem_ref import init_mem_ref
from pypto._src.passes.memory.memory_reuse import with_shared_buffers
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.passes.structure.convert_to_ssa import convert_to_ssa
from pypto._src.passes.structure.flatten_call_expr import flatten_call_expr
from pypto._src.passes.sync.checker import check_sync
from pypto._src.passes.sync.insert_sync import with_sync
from pypto._src.passes.tensors.legalize_tiles import legalize_tiles
from tests.emit.native import lowered, run

HEAD = """
@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[32, 64], pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        n: pl.Scalar[pl.INT64],
    ) -> pl.Tensor[[32, 64], pl.FP32]:
"""
KERNELS = {
    "halves are added": """\
t = pl.load(x, [0, 0], [32, 64])
a = pl.view(t, [16, 64], [0, 0])
b = pl.view(t, [16, 64], [16, 0])
out = pl.store(pl.sub(a, b), [0, 0], [16, 64], out)
out = pl.store(pl.sub(b, a), [16, 0], [16, 64], out)""",
    "a part dies before its tile": """\
t = pl.load(x, [0, 0], [32, 64])
a = pl.view(t, [16, 64], [8, 0])
u = pl.exp(pl.neg(a))
v = pl.add(u, u)
out = pl.store(t, [0, 0], [32, 64], out)
out = pl.store(v, [8, 0], [16, 64], out)""",
    "a tile dies before its part": """\
t = pl.load(x, [0, 0], [32, 64])
a = pl.view(t, [8, 64], [24, 0])
u = pl.load(x, [0, 0], [32, 64])
v = pl.load(x, [16, 0], [16, 64])
w = pl.add(v, v)
b = pl.mul(a, 2.0)
out = pl.store(u, [0, 0], [32, 64], out)
out = pl.store(w, [0, 0], [16, 64], out)
out = pl.store(b, [16, 0], [8, 64], out)""",
    "parts of parts, reshaped": """\
t = pl.load(x, [0, 0], [32, 64])
a = pl.view(t, [16, 64], [16, 0])
b = pl.reshape(a, [8, 128])
c = pl.view(b, [2, 128], [3, 0])
d = pl.view(c, [1, 64], [1, 64])
e = pl.reshape(c, [4, 64])
out = pl.store(pl.add(e, e), [0, 0], [4, 64], out)
out = pl.store(pl.neg(d), [9, 0], [1, 64], out)""",
    "offsets at run time": """\
t = pl.load(x, [0, 0], [32, 64])
r = pl.reshape(t, [1, 2048])
for i in pl.range(0, 4):
    a = pl.view(t, [8, 64], [24 - i * 8, 0])
    b = pl.view(r, [1, 64], [0, (n + i) * 64])
    out = pl.store(pl.col_expand_mul(a, b), [i * 8, 0], [8, 64], out)""",
    "a loop begins with a part": """\
t = pl.load(x, [0, 0], [32, 64])
acc = pl.view(t, [8, 64], [8, 0])
for i in pl.range(0, n):
    acc = pl.add(acc, pl.view(t, [8, 64], [16, 0]))
out = pl.store(acc, [0, 0], [8, 64], out)
out = pl.store(t, [0, 0], [32, 64], out)""",
    "a loop goes on with a part": """\
acc = pl.load(x, [0, 0], [8, 64])
for i in pl.range(0, n):
    t = pl.load(x, [i, 0], [24, 64])
    u = pl.exp(pl.neg(t))
    acc = pl.view(u, [8, 64], [8, 0])
out = pl.store(acc, [8, 0], [8, 64], out)""",
    "a loop begins with a part of a dead tile": """\
t = pl.load(x, [0, 0], [32, 64])
acc = pl.view(t, [8, 64], [8, 0])
for i in pl.range(0, n):
    acc = pl.add(acc, acc)
out = pl.store(acc, [0, 0], [8, 64], out)""",
    "a branch hands on a part": """\
t = pl.load(x, [0, 0], [32, 64])
if n > 2:
    a = pl.view(t, [8, 64], [8, 0])
else:
    a = pl.load(x, [16, 0], [8, 64])
out = pl.store(pl.add(a, a), [0, 0], [8, 64], out)
out = pl.store(pl.view(t, [1, 64], [31, 0]), [31, 0], [1, 64], out)""",
}


def program(body: str) -> Program:
    lines = [f"        {line}\n" for line in (*body.splitlines(), "return out")]
    return pl.parse_program(HEAD + "".join(lines))


def arguments(n: int) -> list[Any]:
    x = np.random.default_rng(5).standard_normal((32, 64)).astype(np.float32)
    return [x, np.zeros((32, 64), np.float32), n]


def with_buffers(source: Program) -> Function:
    for step in (convert_to_ssa(), flatten_call_expr(), legalize_tiles(), init_mem_ref()):
        source = step(source)
    [function] = kernels(source)
    return function


def result(function: Function, n: int) -> Any:
    given = arguments(n)
    evaluate(function, given)
    return given[1]


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("name", KERNELS)
def test_parts_keep_their_meaning(name: str, n: int) -> None:
    """With buffers, shared buffers and addresses, and compiled, a kernel computes the same."""
    source = program(KERNELS[name])
    [kernel] = kernels(source)
    wanted = result(kernel, n)
    assert wanted.any()
    planned = with_buffers(source)
    shared = with_shared_buffers(planned, always=True)
    for function in (planned, shared, with_addresses(planned), with_addresses(shared)):
        np.testing.assert_array_equal(result(function, n), wanted)
    given = arguments(n)
    run(lowered(source), *given)
    np.testing.assert_allclose(given[1], wanted, rtol=3e-7)


@pytest.mark.parametrize("name", KERNELS)
def test_parts_are_waited_for(name: str) -> None:
    """Flags order the work on a sub-tile after that on its tile."""
    function = with_buffers(program(KERNELS[name]))
    shared = with_addresses(with_shared_buffers(function, always=True))
    synchronised, _ = with_sync(shared)
    assert check_sync(synchronised) == []
    assert check_sync(shared) != []


def memrefs(function: Function) -> dict[str, Any]:
    """Return the memory reference of each tile variable by name."""
    return {
        stmt.var.name: stmt.var.type.memref
        for stmt in stmts_in(function.body)
        if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TileType)
    }


def test_a_part_has_the_buffer_of_its_tile() -> None:
    """Sub-tiles share the memory reference; it is not reused while one of them is live."""
    found = memrefs(with_buffers(program(KERNELS["a tile dies before its part"])))
    assert found["a"] is found["t"]
    shared = with_shared_buffers(
        with_buffers(program(KERNELS["a tile dies before its part"])), always=True
    )
    found = memrefs(shared)
    holders = [name for name, memref in found.items() if memref is found["t"]]
    assert holders == ["t", "a"]


def test_a_result_does_not_lie_on_a_part() -> None:
    """An op that works in place on whole tiles creates a new one for a sub-tile."""
    body = """\
t = pl.load(x, [0, 0], [32, 64])
a = pl.{}
b = pl.neg(a)
out = pl.store(b, [0, 0], {}, out)"""
    part = body.format("view(t, [16, 64], [16, 0])", [16, 64])
    whole = body.format("view(t, [32, 64], [0, 0])", [32, 64])
    for text, same in ((part, False), (whole, True)):
        found = memrefs(with_shared_buffers(with_buffers(program(text)), always=True))
        assert (found["b"] is found["a"]) is same


def emitted(body: str) -> str:
    lowered = PassManager(OptimizationStrategy.PTOAS).run_passes(program(body))
    return PTOCodegen().generate(lowered)


def test_the_dialect_takes_whole_rows() -> None:
    """A sub-tile is a subset with the sizes of its type."""
    text = emitted(KERNELS["halves are added"])
    tile = (
        "!pto.tile_buf<loc=vec, dtype=f32, rows={0}, cols=64, v_row={0}, v_col=64, "
        "blayout=row_major, slayout=none_box, fractal=512, pad=0>"
    )
    first, second = (line.strip() for line in text.splitlines() if "pto.subset" in line)
    assert first.endswith(f" = pto.subset %0[%c0, %c0] sizes [16, 64] : {tile.format(32)}")
    assert second.endswith(f" = pto.subset %0[%c16, %c0] sizes [16, 64] : {tile.format(32)}")
    part, other = first.split()[0], second.split()[0]
    assert f"pto.tsub ins({part}, {other} : {tile.format(16)}, {tile.format(16)})" in text.replace(
        "\n", " "
    )


@pytest.mark.parametrize(
    ("name", "copied"),
    [
        ("a loop begins with a part", 1),
        ("a loop begins with a part of a dead tile", 1),
        ("a loop goes on with a part", 1),
        ("a branch hands on a part", 1),
        ("halves are added", 0),
        ("parts of parts, reshaped", 1),  # the assembler rejects a sub-tile of a reshaped tile
    ],
)
def test_parts_are_copied_to_be_handed_on(name: str, copied: int) -> None:
    """A buffer passed on by a loop or branch begins with its tile, so a sub-tile is moved there."""
    assert emitted(KERNELS[name]).count("pto.tmov") == copied


def test_the_dialect_chooses_parts_of_constant_offsets() -> None:
    """Where the assembler plans memory, copies select among all possible constant offsets."""
    text = emitted(KERNELS["offsets at run time"])
    rows = 32 - 8 + 1
    blocks = 2048 // 8 - 64 // 8 + 1  # the row is 256 blocks of 32 bytes, the sub-tile 8 of them
    # The assembler rejects a sub-tile of a reshaped tile, so the row is moved once.
    assert text.count("= pto.subset ") == text.count("pto.tmov ") - 1 == rows + blocks
    assert text.count("scf.if ") == rows - 1 + blocks - 1


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (30, "pl.view takes [0:1, 2048:2112] of a tile [1, 2048]"),
        (-2, "pl.view takes [0:1, -128:-64] of a tile [1, 2048]"),
    ],
)
def test_offsets_at_run_time_are_checked(n: int, message: str) -> None:
    """A sub-tile that exceeds its tile is an error, in the interpreter and compiled."""
    source = program(KERNELS["offsets at run time"])
    with pytest.raises(EvaluationError) as caught:
        result(kernels(source)[0], n)
    assert caught.value.message == message
    with pytest.raises(Exception, match="TSUBVIEW: the part does not lie inside the tile"):
        run(lowered(source), *arguments(n))


def test_a_part_begins_at_a_block() -> None:
    """An offset that is not a multiple of 32 bytes at run time is an error in both."""
    source = program("""\
t = pl.load(x, [0, 0], [1, 64])
out = pl.store(pl.view(t, [1, 32], [0, n]), [0, 0], [1, 32], out)""")
    with pytest.raises(EvaluationError, match=r"^pl\.view begins at byte 4 of a tile, a multiple"):
        result(kernels(source)[0], 1)
    with pytest.raises(Exception, match="does not begin at a multiple of 32 bytes"):
        run(lowered(source), *arguments(1))
