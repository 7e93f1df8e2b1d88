"""Tile layouts: views, sizes in bytes, and the memory spaces of a function's tiles."""

from __future__ import annotations

from typing import Any

import pytest

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import OpError
from pypto._src.ir.array_types import TensorType, TileType, TileView
from pypto._src.ir.enums import MemorySpace, TileLayout
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import AssignStmt, Function, SeqStmts
from pypto._src.ir.types import ScalarType
from pypto._src.ops import elementwise, matmul, memory
from pypto._src.ops.layout import (
    alloc_bytes,
    are_in_vec,
    check_layout,
    effective_view,
    is_column,
    is_padded,
    physical_shape,
    tile_spaces,
)
from pypto._src.ops.reshaping import reshape
from pypto._src.ops.rules.type_rules import BOXED
from tests.cases import call

D = DataType
VEC, MAT = MemorySpace.Vec, MemorySpace.Mat
LEFT, RIGHT, ACC = MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc
ROW, COL, NONE = TileLayout.row_major, TileLayout.col_major, TileLayout.none_box


@pytest.mark.parametrize(
    ("shape", "space", "layout"),
    [
        ([16, 16], None, (ROW, NONE, 512)),
        ([16, 1], VEC, (COL, NONE, 512)),
        ([1, 16], VEC, (ROW, NONE, 512)),
        ([64], VEC, (ROW, NONE, 512)),
        ([16, 16], MAT, (COL, ROW, 512)),
        ([16, 16], LEFT, (ROW, ROW, 512)),
        ([16, 16], RIGHT, (ROW, COL, 512)),
        ([16, 16], ACC, (COL, ROW, 1024)),
    ],
)
def test_usual_views(
    shape: list[int], space: MemorySpace | None, layout: tuple[TileLayout, TileLayout, int]
) -> None:
    """Without its own view a tile has its memory's layout; columns are column-major."""
    view = effective_view(TileType(shape, D.FP16), space)
    assert (view.blayout, view.slayout, view.fractal) == layout


def test_own_view_wins() -> None:
    """A view in the type takes precedence, also for a single column."""
    view = TileView(blayout=ROW)
    kind = TileType([16, 1], D.FP32, None, view)
    assert effective_view(kind, MAT) is kind.tile_view
    assert not is_column(kind)


@pytest.mark.parametrize(
    ("shape", "dtype", "space", "physical", "size"),
    [
        ([16, 16], D.FP32, VEC, (16, 16), 1024),
        ([3, 5], D.FP32, VEC, (3, 8), 96),
        ([16, 1], D.FP16, VEC, (16, 1), 32),
        ([5, 1], D.FP16, VEC, (5, 16), 160),
        ([1, 1], D.FP32, VEC, (1, 8), 32),
        ([2, 3, 32], D.INT8, VEC, (6, 32), 192),
        ([40], D.FP16, VEC, (1, 48), 96),
        ([17, 9], D.FP16, MAT, (32, 16), 1024),
        ([17, 9], D.FP32, LEFT, (32, 16), 2048),
        ([17, 33], D.INT8, RIGHT, (32, 64), 2048),
        ([32, 48], D.INT8, RIGHT, (32, 48), 1536),
        ([1, 1], D.FP32, ACC, (16, 16), 1024),
    ],
)
def test_bytes(
    shape: list[int], dtype: DataType, space: MemorySpace, physical: tuple[int, int], size: int
) -> None:
    """Rows fill 32-byte blocks, boxed tiles fill boxes."""
    kind = TileType(shape, dtype)
    assert physical_shape(kind, space) == physical
    assert alloc_bytes(kind, space) == size


def test_bytes_need_a_constant_shape() -> None:
    """A tile with a run-time shape has no size in bytes."""
    kind = TileType([Var("n", ScalarType(D.INT64)), 16], D.FP32)
    with pytest.raises(ValueError, match=r"^the tile shape \[n, 16\] is not constant$"):
        alloc_bytes(kind)
    check_layout(kind, VEC)


@pytest.mark.parametrize(
    ("shape", "dtype", "space"),
    [
        ([16, 8], D.FP32, VEC),
        ([8, 1], D.FP32, VEC),
        ([1, 32], D.INT8, VEC),
        ([16, 8], D.FP32, MAT),
        ([16, 32], D.INT8, LEFT),
        ([32, 16], D.INT8, RIGHT),
        ([16, 16], D.INT32, ACC),
    ],
)
def test_full_blocks(shape: list[int], dtype: DataType, space: MemorySpace) -> None:
    """The smallest tiles that fill blocks take no more; one row or column less is padded."""
    kind = TileType(shape, dtype, None, BOXED.get(space))
    check_layout(kind, space)
    assert not is_padded(kind, space)
    axis = 0 if shape[1] == 1 or space is not VEC else 1
    smaller = list(shape)
    smaller[axis] -= 1
    kind = TileType(smaller, dtype, None, BOXED.get(space))
    check_layout(kind, space)
    assert is_padded(kind, space)


def test_a_row_of_a_product_is_full() -> None:
    """The operand of `gemv` is not padded."""
    with pytest.raises(OpError) as caught:
        check_layout(TileType([1, 100], D.FP16, None, BOXED[LEFT]), LEFT)
    assert caught.value.slug == "tile-layout"


def kernel(space: MemorySpace) -> tuple[Function, list[Var]]:
    """Return a kernel whose product takes its left operand from ``space``."""
    x = Var("x", TensorType([32, 32], D.FP16))
    made: list[Var] = []

    def let(name: str, value: Any, line: int) -> Var:
        made.append(Var(name, value.type))
        stmts.append(AssignStmt(made[-1], value, Span("k.py", line, 4)))
        return made[-1]

    stmts: list[AssignStmt] = []
    staged = let("s", call(memory.load, x, [0, 0], [32, 32], target_memory=MAT), 2)
    lhs = let("l", call(memory.move, staged, LEFT), 3)
    if space is VEC:
        plain = call(memory.load, x, [0, 0], [32, 32])
        lhs = let("v", call(elementwise.exp, plain), 4)
    rhs = let("r", call(memory.move, staged, RIGHT), 5)
    product = matmul.matmul.build([lhs, rhs], {}, Span("k.py", 6, 8))
    let("p", product, 6)
    return Function("k", [x], [], SeqStmts(stmts)), made


def test_spaces_of_a_function() -> None:
    """The memory of every tile follows from the op that defines it."""
    function, made = kernel(LEFT)
    spaces = tile_spaces(function)
    assert [(v.name, spaces[v]) for v in made] == [
        ("s", MAT),
        ("l", LEFT),
        ("r", RIGHT),
        ("p", ACC),
    ]


def test_a_function_in_vec() -> None:
    """By its calls all tiles are in vector memory, unless one is elsewhere, or specified."""
    x, tile = Var("x", TensorType([32, 32], D.FP16)), Var("t", TileType([32, 32], D.FP16))
    plain = call(memory.load, x, [0, 0], [32, 32])
    staged = call(memory.load, x, [0, 0], [32, 32], target_memory=MAT)
    stored = call(memory.store, tile, [0, 0], [32, 32], x)
    assert are_in_vec([x], [plain, call(elementwise.exp, tile), stored])
    assert not are_in_vec([x], [plain, staged])
    assert not are_in_vec([x], [plain, matmul.matmul.build([tile, tile], {})])
    assert not are_in_vec([x, tile], [plain])


def test_wrong_space_in_a_function() -> None:
    """An operand in the wrong memory is found through variables, at the location of the call."""
    function, _ = kernel(VEC)
    with pytest.raises(OpError) as caught:
        tile_spaces(function)
    error = caught.value
    assert error.message == "pl.matmul takes v from Left memory, it is in Vec"
    assert error.hint == (
        "load v with target_memory=pl.MemorySpace.Mat, then "
        "pl.move(v, target_memory=pl.MemorySpace.Left)"
    )
    assert str(error.location) == "k.py:6:8"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([1, 32, 64], [32, 64]),
        ([32, 64], [1, 1, 32, 64]),
        ([1, 1, 128], [1, 128]),
        ([128], [1, 128]),
    ],
)
def test_matrices_in_mat_memory_have_other_ranks(old: list[int], new: list[int]) -> None:
    """A reshape there adds or drops leading dimensions of one, and no others."""
    x = Var("x", TensorType(old, D.FP32))
    tile = Var("t", call(memory.load, x, [0] * len(old), old, MAT).type)
    kind = call(reshape, tile, new).type
    assert isinstance(kind, TileType)
    assert kind.tile_view is not None
    assert alloc_bytes(kind, MAT) == alloc_bytes(TileType(old, D.FP32), MAT)
    with pytest.raises(OpError, match=r"in Mat memory to .* keeps its rows and columns"):
        call(reshape, tile, [*new[:-2], new[-2] * 2, new[-1] // 2])
