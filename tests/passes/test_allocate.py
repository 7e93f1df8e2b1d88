"""AllocateMemoryAddr: addresses, and the report of what does not fit."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

import pytest

from pypto._src.analysis.stmt_tree import number
from pypto._src.errors import MemoryPlanError
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Var, const_value
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, Stmt
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.passes.memory.allocate_memory_addr import with_addresses
from pypto._src.passes.memory.init_mem_ref import with_memrefs
from pypto._src.passes.memory.memory_reuse import buffers
from tests.passes.build import FP32, Block, memref, tensor
from tests.passes.test_memref import product
from tests.passes.test_reuse import target


def addresses(function: Function) -> dict[MemorySpace, list[tuple[int | None, int]]]:
    found = buffers(function, number(function))
    return {
        space: [(const_value(b.memref.addr_), b.memref.size_) for b in each]
        for space, each in found.items()
    }


def name(stmt: Stmt) -> str:
    """Return the name of the first variable that a statement defines, or ""."""
    if isinstance(stmt, AssignStmt):
        return stmt.var.name
    return stmt.return_vars[0].name if isinstance(stmt, ForStmt) else ""


def simple(rows: int, cols: int = 64) -> Function:
    """Return the addition of document 000: two loads, one sum, one store."""
    block = Block()
    x, y, out = (tensor(n, [rows, cols]) for n in ("x", "y", "out"))
    a = block.load("tile_x", x, [0, 0], [rows, cols])
    b = block.load("tile_y", y, [0, 0], [rows, cols])
    c = block.let("tile_z", "block.add", a, b)
    return with_memrefs(block.function([x, y, out], [block.store("r", c, [0, 0], out)]))


def test_tiles_follow_each_other() -> None:
    """Three tiles of 32 KiB are at 0x0, 0x8000 and 0x10000."""
    planned = with_addresses(simple(128))
    size = 0x8000
    assert addresses(planned) == {
        MemorySpace.Vec: [(0x0, size), (0x8000, size), (0x10000, size)],
    }


def test_addresses_are_aligned_for_the_space() -> None:
    """Tiles are aligned to 512 bytes in the matrix unit's memories, and to 32 in the others."""
    planned = with_addresses(product())
    for space, placed in addresses(planned).items():
        align = 512 if space in (MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc) else 32
        ends = [0, *(address + size for address, size in placed if address is not None)]
        assert all(a is not None and a % align == 0 for a, _ in placed)
        assert [a for a, _ in placed] == [-(-end // align) * align for end in ends[:-1]]


def test_buffers_of_whole_cache_lines_come_first() -> None:
    """Columns of 32 bytes are placed after tiles of 4096, which thus begin at multiples of 64."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    tile = block.load("tile", x, [0, 0], [8, 128])
    scratch = block.let("scratch", "block.create_tile", [8, 128], dtype=FP32)
    column = block.let("column", "block.row_max", tile, scratch)
    last = block.let("last", "block.row_expand_sub", tile, column)
    kernel = with_memrefs(block.function([x, out], [block.store("r", last, [0, 0], out)]))
    assert addresses(with_addresses(kernel))[MemorySpace.Vec] == [
        (0, 4096),
        (4096, 4096),
        (12288, 32),
        (8192, 4096),
    ]


def test_tensors_keep_their_place() -> None:
    """Global memory belongs to the caller: its addresses stay -1."""
    planned = with_addresses(simple(128))
    assert [const_value(memref(p).addr_) for p in planned.params] == [-1, -1, -1]


def test_what_names_no_tile_stays_the_same_object() -> None:
    """Only statements of tiles are rebuilt; numbers and their uses are shared."""
    block, x, out = Block(), tensor("x", [64, 128]), tensor("out", [64, 128])
    tile = block.load("tile", x, [0, 0], [8, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        row = inner.assign("row", (i + 1) * 8)
        return [inner.store("w", tile, [row, 0], args[0])]

    [last] = block.loop({"o": out}, body, stop=4)
    kernel = with_memrefs(block.function([x, out], [last]))
    placed = with_addresses(kernel)
    before, after = ({name(s): s for s in stmts_in(f.body)} for f in (kernel, placed))
    assert [key for key in before if before[key] is not after[key]] == ["tile", "o_out", "w"]
    assert before["row"] is after["row"]


def test_an_overflow_names_the_peak_and_what_is_live_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The report is located at the peak, lists the live tiles by size and suggests what to type."""
    monkeypatch.delitem(linecache.cache, "kernel.py", raising=False)  # another test's
    with pytest.raises(MemoryPlanError) as caught:
        with_addresses(simple(128, 256))
    error = caught.value
    assert error.slug == "memory-overflow"
    assert error.message == (
        "Vec memory of kernel 'k' overflows: the tiles that are live here take 262144 bytes, "
        "188416 are usable"
    )
    assert error.location.begin_line == 2  # the second load, before the sum takes the place of one
    assert [(label.span.begin_line, label.text) for label in error.related] == [
        (1, "tile_x: [128, 256] FP32, 131072 bytes"),
        (2, "tile_y: [128, 256] FP32, 131072 bytes"),
    ]
    assert error.hint is not None
    assert error.hint == (
        "work on 64 rows at a time, tile_x as pl.block.load(x, [0, 0], [64, 256], "
        "target_memory=pl.MemorySpace.Vec): then 131072 bytes are needed"
    )


def test_a_long_list_of_live_tiles_is_cut() -> None:
    """Five tiles are named, the others are summed up."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    tiles = [block.load(f"t{i}", x, [0, 0], [8, 128]) for i in range(7)]
    for tile in tiles:
        block.store("r", tile, [0, 0], out)
    kernel = with_memrefs(block.function([x, out], [out]))
    with pytest.raises(MemoryPlanError) as caught:
        with_addresses(kernel, target(4 * 4096))
    assert len(caught.value.related) == 6
    assert caught.value.related[-1].text == "and 2 more: 8192 bytes"


def test_one_tile_that_is_too_large_is_reported() -> None:
    """A single tile larger than the whole memory gives the same report."""
    block, x, out = Block(), tensor("x", [512, 128]), tensor("out", [512, 128])
    a = block.load("a", x, [0, 0], [512, 128])
    kernel = with_memrefs(block.function([x, out], [block.store("r", a, [0, 0], out)]))
    with pytest.raises(MemoryPlanError, match="take 262144 bytes, 188416 are usable"):
        with_addresses(kernel)
