"""Tiles with memory references share bytes as they do on chip."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.array_types import MemRef, TensorType, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, SeqStmts, Stmt
from pypto._src.ops import elementwise, memory, new_tiles, reduce, reshaping
from pypto._src.ops.lazy import columns
from tests.cases import Array, call

D = DataType
VEC = MemorySpace.Vec
x = Var("x", TensorType([16, 16], D.FP32))
y = Var("y", TensorType([16, 16], D.FP32))
out = Var("out", TensorType([16, 16], D.FP32))


def memref(address: int, size: int = 1024, space: MemorySpace = VEC) -> MemRef:
    """Return a reference to bytes at an address."""
    return MemRef(space, address, size, address + 2)


def tile(
    name: str, place: MemRef | None, shape: Sequence[int] = (16, 16), dtype: DataType = D.FP32
) -> Var:
    """Return a tile variable with a memory reference."""
    return Var(name, TileType(shape, dtype, place), Span("k.py", 3, 4))


def run(a: Var, b: Var, c: Var, sum_: Var) -> Array:
    """Return ``a + b`` where ``a = x``, ``b = y`` and ``c = x`` are loaded in this order."""
    stmts: list[Stmt] = [
        AssignStmt(a, call(memory.load, x, [0, 0], [16, 16])),
        AssignStmt(b, call(memory.load, y, [0, 0], [16, 16])),
        AssignStmt(c, call(memory.load, x, [0, 0], [16, 16])),
        AssignStmt(sum_, call(elementwise.add, a, b)),
        EvalStmt(call(memory.store, sum_, [0, 0], [16, 16], out)),
    ]
    result = np.zeros((16, 16), np.float32)
    ones = np.ones((16, 16), np.float32)
    evaluate(Function("k", [x, y, out], [], SeqStmts(stmts)), [ones, 10 * ones, result])
    return result


def test_own_addresses() -> None:
    """Tiles at distinct addresses keep their values; the sum may overwrite its operand."""
    places = [memref(0), memref(1024), memref(2048)]
    a, b, c = (tile(n, p) for n, p in zip("abc", places, strict=True))
    assert (run(a, b, c, tile("s", places[0])) == 11).all()


def test_shared_address_spoils() -> None:
    """A tile loaded over one that is still live destroys its value."""
    a, c = tile("a", memref(0)), tile("c", memref(2048))
    b = tile("b", memref(1024))
    assert (run(a, b, tile("c", memref(1024)), tile("s", memref(4096))) == 2).all()
    assert (run(a, b, c, tile("s", memref(4096))) == 11).all()


def test_partial_overlap_spoils_a_part() -> None:
    """Overlap in half the bytes destroys half the rows."""
    a, b = tile("a", memref(0)), tile("b", memref(1024))
    result = run(a, b, tile("c", memref(1536)), tile("s", memref(4096)))
    assert (result[:8] == 11).all()
    assert (result[8:] == 2).all()


def test_buffers_without_address() -> None:
    """Before allocation the same reference is the same buffer, and others are not."""
    one, two, three = memref(-1), memref(-1), memref(-1)
    a, b = tile("a", one), tile("b", two)
    assert (run(a, b, tile("c", two), tile("s", three)) == 2).all()
    assert (run(a, b, tile("c", three), tile("s", one)) == 11).all()


def test_without_references() -> None:
    """Before buffers exist every tile is a value of its own."""
    assert (run(*(tile(n, None) for n in "abcs")) == 11).all()


def test_reshape_is_the_same_bytes() -> None:
    """A reshape over the same buffer sees the buffer's contents when it is read."""
    place = memref(0)
    a, row = tile("a", place), tile("r", place, (1, 256))
    twice = tile("t", memref(1024), (1, 256))
    stmts: list[Stmt] = [
        AssignStmt(a, call(memory.load, x, [0, 0], [16, 16])),
        AssignStmt(row, call(reshaping.reshape, a, [1, 256])),
        AssignStmt(a, call(memory.load, y, [0, 0], [16, 16])),
        AssignStmt(twice, call(elementwise.adds, row, 1.0)),
    ]
    back = call(reshaping.reshape, twice, [16, 16])
    stmts.append(EvalStmt(call(memory.store, back, [0, 0], [16, 16], out)))
    result = np.zeros((16, 16), np.float32)
    given = np.arange(256, dtype=np.float32).reshape(16, 16)
    evaluate(Function("k", [x, y, out], [], SeqStmts(stmts)), [0 * given, given, result])
    np.testing.assert_array_equal(result, given + 1)


def test_second_name_of_a_view() -> None:
    """Another name of a row is that row: nothing is copied to the start of its tile."""
    place = memref(0)
    a, row, again = tile("a", place), tile("r", place, (1, 16)), tile("s", place, (1, 16))
    summed = tile("t", memref(1024))
    stmts: list[Stmt] = [
        AssignStmt(a, call(memory.load, x, [0, 0], [16, 16])),
        AssignStmt(row, call(new_tiles.view, a, [1, 16], [15, 0])),
        AssignStmt(again, row),
        AssignStmt(summed, call(columns.col_expand_add, a, again)),
        EvalStmt(call(memory.store, summed, [0, 0], [16, 16], out)),
    ]
    result = np.zeros((16, 16), np.float32)
    given = np.arange(256, dtype=np.float32).reshape(16, 16)
    evaluate(Function("k", [x, out], [], SeqStmts(stmts)), [given, result])
    np.testing.assert_array_equal(result, given + given[15])


def test_created_tiles_and_memory_are_poisoned() -> None:
    """Uninitialized elements are NaN, with a memory reference and without."""
    for place in (None, memref(64)):
        empty = tile("e", place)
        stmts: list[Stmt] = [
            AssignStmt(empty, call(new_tiles.create_tile, [16, 16], D.FP32)),
            EvalStmt(call(memory.store, empty, [0, 0], [16, 16], out)),
        ]
        result = np.zeros((16, 16), np.float32)
        evaluate(Function("k", [out], [], SeqStmts(stmts)), [result])
        assert np.isnan(result).all()


def test_scratch_is_spoiled() -> None:
    """A reduction clobbers its scratch: what was in it is lost."""
    a, scratch = tile("a", memref(0)), tile("s", memref(1024))
    largest = tile("m", memref(4096), (16, 1))
    stmts: list[Stmt] = [
        AssignStmt(a, call(memory.load, x, [0, 0], [16, 16])),
        AssignStmt(scratch, call(memory.load, x, [0, 0], [16, 16])),
        AssignStmt(largest, call(reduce.row_max, a, scratch)),
        EvalStmt(call(memory.store, scratch, [0, 0], [16, 16], out)),
    ]
    result = np.zeros((16, 16), np.float32)
    evaluate(Function("k", [x, out], [], SeqStmts(stmts)), [result.copy(), result])
    assert np.isnan(result).all()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            memref(192 * 1024 - 512),
            "a tile at bytes 196096:197120 is beyond Vec memory, which has 196608 bytes",
        ),
        (memref(-1, 512), "a tile of 1024 bytes is in mem_vec_1, which has 512"),
        (
            memref(0, space=MemorySpace.DDR),
            "a tile at bytes 0:1024 is beyond DDR memory, which has 0 bytes",
        ),
    ],
)
def test_beyond_memory(place: MemRef, message: str) -> None:
    """A tile that does not fit its memory is an error at the tile."""
    a = tile("a", place)
    load = AssignStmt(a, call(memory.load, x, [0, 0], [16, 16]))
    with pytest.raises(EvaluationError) as caught:
        evaluate(Function("k", [x], [], load), [np.zeros((16, 16), np.float32)])
    assert caught.value.message == message
    assert str(caught.value.location) == "k.py:3:4"


def test_memory_is_fresh_for_each_call() -> None:
    """A second call does not see what the first one left on chip."""
    a = tile("a", memref(0))
    stmts: list[Stmt] = [
        AssignStmt(a, call(new_tiles.create_tile, [16, 16], D.FP32)),
        EvalStmt(call(memory.store, a, [0, 0], [16, 16], out)),
        AssignStmt(a, call(memory.load, x, [0, 0], [16, 16])),
    ]
    f = Function("k", [x, out], [], SeqStmts(stmts))
    for _ in range(2):
        result = np.zeros((16, 16), np.float32)
        evaluate(f, [np.ones((16, 16), np.float32), result])
        assert math.isnan(result[0, 0])
