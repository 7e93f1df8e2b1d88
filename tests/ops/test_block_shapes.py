"""Block ops that change shapes: reductions, broadcasts, batched products, sub-tiles, buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.diagnostics import UNKNOWN_SPAN
from pypto._src.dtypes import DataType
from pypto._src.errors import OpError, OpTypeError
from pypto._src.ir.array_types import TileType, TileView
from pypto._src.ir.enums import MemorySpace, PipeType, TileLayout
from pypto._src.ir.exprs import Call, ConstInt, Max, Min, Var
from pypto._src.ir.stmts import Program
from pypto._src.ir.types import MemRefType, ScalarType, UnknownType, same_type, scalar_type
from pypto._src.ops import layout, matmul, memory, new_tiles, reduce, reshaping
from pypto._src.ops.lazy import axis_reductions, testing
from pypto._src.ops.lookup import create_op_call
from pypto._src.ops.rules.type_rules import BOXED
from tests.cases import AnyOp, Array, call
from tests.ops.arrays import apply

D = DataType
ACC, BIAS, LEFT, MAT = MemorySpace.Acc, MemorySpace.Bias, MemorySpace.Left, MemorySpace.Mat


def tile(name: str, shape: list[int], dtype: DataType = D.FP32, space: Any = None) -> Var:
    view = layout.memory_view([ConstInt(dim) for dim in shape], space) if space else None
    return Var(name, TileType(shape, dtype, None, view))


x, cube = tile("x", [16, 32]), tile("cube", [4, 8, 16])
line, flat = tile("line", [1, 512]), tile("flat", [64])
column = tile("column", [16, 1])
i = Var("i", ScalarType(D.INT64))
row = tile("row", [1, 256], D.FP16, LEFT)
rows = tile("rows", [16, 256], D.FP16, LEFT)
matrix = tile("matrix", [256, 32], D.FP16, MemorySpace.Right)
bias = tile("bias", [1, 32], D.FP32, BIAS)
sums, sums16 = tile("sums", [1, 32], D.FP32, ACC), tile("sums16", [16, 32], D.FP32, ACC)


# --------------------------------------------------------------------------------------------
# Types
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "shape", "dtype", "view"),
    [
        (call(axis_reductions.sum, x, 0), [32], D.FP32, None),
        (call(axis_reductions.sum, x, 0, True), [1, 32], D.FP32, None),
        (call(axis_reductions.max, x, -1), [16], D.FP32, None),
        (call(axis_reductions.min, x, axis=1, keepdim=True), [16, 1], D.FP32, None),
        (call(axis_reductions.max, x), [32], D.FP32, None),
        (call(axis_reductions.sum, cube, -3), [8, 16], D.FP32, None),
        (call(axis_reductions.sum, cube, 2), [4, 8], D.FP32, None),
        (call(reduce.row_expand, x), [16, 32], D.FP32, None),
        (call(reduce.col_expand, x, tile("r", [1, 32])), [16, 32], D.FP32, None),
        (call(new_tiles.vec_move, column), [16, 1], D.FP32, None),
        (call(new_tiles.fillpad, x), [16, 32], D.FP32, None),
        (call(new_tiles.view, x, [4, 32], [i, 0]), [4, 32], D.FP32, None),
        (call(new_tiles.view, line, [1, 64], [0, i * 64]), [1, 64], D.FP32, None),
        (call(matmul.gemv, row, matrix), [1, 32], D.FP32, BOXED[ACC]),
        (call(matmul.gemv_acc, sums, row, matrix), [1, 32], D.FP32, BOXED[ACC]),
        (call(matmul.gemv_bias, row, matrix, bias), [1, 32], D.FP32, BOXED[ACC]),
        (call(matmul.matmul_bias, rows, matrix, bias), [16, 32], D.FP32, BOXED[ACC]),
        (
            call(matmul.batch_matmul, tile("p", [3, 1, 8, 16]), tile("q", [2, 16, 4])),
            [3, 2, 8, 4],
            D.FP32,
            None,
        ),
        (call(memory.move, tile("m", [1, 32], D.FP32, MAT), BIAS), [1, 32], D.FP32, TileView()),
        (call(memory.move, tile("m", [1, 256], D.FP16, MAT), LEFT), [1, 256], D.FP16, BOXED[LEFT]),
    ],
)
def test_types(made: Call, shape: list[int], dtype: DataType, view: TileView | None) -> None:
    """Each rule gives shape, element type and view of the result."""
    assert same_type(made.type, TileType(shape, dtype, None, view))


def test_a_vector_becomes_a_scalar() -> None:
    """If no dimension is left, the result is a scalar of the element type."""
    assert call(axis_reductions.sum, flat, 0).type == scalar_type(D.FP32)
    assert call(axis_reductions.max, tile("h", [32], D.INT16)).type == scalar_type(D.INT16)


def test_scalars_have_the_same_names() -> None:
    """Besides tiles, the names mean the maximum and the minimum of two scalars."""
    larger, smaller = pl.max(i, 3), pl.min(2, i)
    assert isinstance(larger, Max)
    assert isinstance(smaller, Min)
    assert str(larger) == "max(i, 3)"
    assert str(pl.max(x, axis=1)) == "pl.block.max(x, axis=1, keepdim=False)"
    assert str(pl.view(x, [4, 32], [8, 0])) == "pl.block.view(x, [4, 32], [8, 0])"


def test_a_number_beside_a_scalar_keeps_its_value() -> None:
    """It has the scalar's type if that can represent it, otherwise it widens the result."""
    small = Var("n", scalar_type(D.INT8), UNKNOWN_SPAN)
    fitting: Any = pl.max(small, -1)
    wide: Any = pl.max(small, 300)
    assert (fitting.type, wide.type) == (scalar_type(D.INT8), scalar_type(D.INT64))
    assert str(wide) == "max(pl.cast(n, pl.INT64), 300)"


def test_two_tiles_have_another_op() -> None:
    """The names of reductions do not compare two tiles; the error names the right op."""
    larger: Any = pl.max
    with pytest.raises(OpError) as caught:
        larger(x, x)
    assert caught.value.message == (
        "pl.max reduces one tile; the element-wise op on two is pl.maximum"
    )
    assert caught.value.hint == "write pl.maximum(x, x)"


@pytest.mark.parametrize(
    ("made", "pipe", "space"),
    [
        (call(matmul.gemv, row, matrix), PipeType.M, ACC),
        (call(matmul.matmul_bias, rows, matrix, bias), PipeType.M, ACC),
        (call(memory.move, tile("m", [1, 32], D.FP32, MAT), BIAS), PipeType.MTE1, BIAS),
        (call(new_tiles.vec_move, x), PipeType.V, MemorySpace.Vec),
        (call(new_tiles.view, x, [4, 32], [8, 0]), None, MemorySpace.Vec),
        (call(reduce.col_expand, x, tile("r", [1, 32])), PipeType.V, MemorySpace.Vec),
    ],
)
def test_pipes_and_memories(made: Call, pipe: PipeType | None, space: MemorySpace) -> None:
    """Each call runs on its pipe and leaves its result in its memory."""
    op: Any = made.op
    assert (op.pipe_of(made), op.space_of(made)) == (pipe, space)


# --------------------------------------------------------------------------------------------
# Refusals
# --------------------------------------------------------------------------------------------


class Refused(NamedTuple):
    """A call that a rule rejects, and the message."""

    op: AnyOp
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    slug: str
    message: str
    hint: str | None = None


REFUSED = [
    Refused(axis_reductions.sum, (x, 2), {}, "axis", "pl.sum of dimension 2, x has 2 dimensions"),
    Refused(
        axis_reductions.max,
        (cube, 1),
        {},
        "axis",
        "pl.max reduces the first or the last dimension, got dimension 1 of 3",
    ),
    Refused(
        axis_reductions.min,
        (tile("planes", [2, 5, 32]), 2),
        {},
        "tile-layout",
        "pl.min along dimension 2 of [2, 5, 32] would have to remove padding: each row is "
        "padded to 32 bytes",
        "write pl.min(planes, axis=-1, keepdim=True)",
    ),
    Refused(
        axis_reductions.max,
        (tile("planes", [3, 4, 5]), 0),
        {},
        "tile-layout",
        "pl.max along dimension 0 of [3, 4, 5] would have to remove padding: each row is "
        "padded to 32 bytes",
        "reduce tiles of two dimensions",
    ),
    Refused(
        reshaping.reshape,
        (tile("narrow", [6, 5]), [5, 6]),
        {},
        "tile-layout",
        "pl.reshape of [6, 5] to [5, 6] moves elements: rows of [6, 5] are padded to 32 bytes",
        "store narrow to a tensor, and load the other shape from there",
    ),
    Refused(
        memory.move,
        (tile("m", [24, 16], D.FP32, MAT),),
        {"target_memory": MemorySpace.Right},
        "tile-layout",
        "pl.move to Right memory takes whole boxes of 16 x 16 elements of FP32, m is [24, 16]",
        "load m as [32, 16] with valid_shapes=[24, 16]",
    ),
    Refused(
        axis_reductions.sum,
        (tile("bytes", [32, 32], D.INT8), 0),
        {},
        "element-type",
        "pl.sum takes elements of INT16, INT32, UINT16, UINT32, FP16, FP32, bytes has INT8",
        "pl.cast(pl.cast(bytes, pl.FP16), pl.FP32)",
    ),
    Refused(
        reduce.row_expand,
        (flat,),
        {},
        "tile-rank",
        "pl.row_expand takes a tile of rows and columns, flat has the shape [64]",
        "pl.reshape(flat, [1, 64])",
    ),
    Refused(
        reduce.col_expand,
        (x, x),
        {},
        "shape-mismatch",
        "pl.col_expand takes a row [1, 32] beside [16, 32], x has the shape [16, 32]",
    ),
    Refused(
        new_tiles.fillpad,
        (
            Var(
                "p",
                TileType(
                    [16, 1],
                    D.FP32,
                    None,
                    TileView(valid_shape=[9, 1], blayout=TileLayout.col_major),
                ),
            ),
        ),
        {},
        "valid-shape",
        "pl.fillpad does not take partly valid columns [N, 1], such as p",
        "pad the tile before reducing it: pl.row_sum(pl.fillpad(tile))",
    ),
    Refused(
        new_tiles.view,
        (x, [4], [0]),
        {},
        "region-rank",
        "pl.view needs 2 sizes and 2 offsets for x [16, 32], got 1 and 1",
    ),
    Refused(
        new_tiles.view,
        (x, [i, 32], [0, 0]),
        {},
        "tile-shape",
        "pl.view takes constant sizes, got [i, 32] of [16, 32]",
        "pass what varies as offset",
    ),
    Refused(
        new_tiles.view,
        (x, [4, 32], [13, 0]),
        {},
        "out-of-bounds",
        "pl.view of 13:17 in dimension 0 is outside x [16, 32]",
    ),
    Refused(
        new_tiles.view,
        (tile("wide", [16, 32], D.INT64), [4, 16], [0, 0]),
        {},
        "tile-layout",
        "pl.view of a tile of INT64 takes whole rows, or a part of one row; [4, 16] of wide "
        "[16, 32] spans parts of several rows",
        "load the part from its tensor, or store it from there on",
    ),
    Refused(
        new_tiles.view,
        (cube, [2, 4, 16], [0, 0, 0]),
        {},
        "tile-layout",
        "pl.view of a tile of 3 dimensions takes whole rows, or a part of one row; [2, 4, 16] of "
        "cube [4, 8, 16] spans parts of several rows",
        "make it one of two dimensions: pl.reshape(cube, [32, 16])",
    ),
    Refused(
        new_tiles.view,
        (line, [1, 64], [0, 12]),
        {},
        "tile-layout",
        "pl.view begins at byte 48 of line, a multiple of 32 was wanted",
        "load the part from its tensor, or store it from there on",
    ),
    Refused(
        new_tiles.view,
        (column, [8, 1], [8, 0]),
        {},
        "tile-layout",
        "pl.view takes parts of rows, column is a column [16, 1]",
        "pl.view(pl.reshape(column, [1, 16]), [1, 8], [0, 8])",
    ),
    Refused(
        new_tiles.view,
        (sums16, [4, 32], [0, 0]),
        {},
        "memory-space",
        "pl.view takes sums16 from Vec memory, it is in Acc",
        "store sums16 to a tensor, and load that",
    ),
    Refused(
        matmul.gemv,
        (rows, matrix),
        {},
        "matmul-rows",
        "pl.gemv multiplies a single row [1, K], rows is [16, 256]",
        "pl.matmul(rows, matrix)",
    ),
    Refused(
        matmul.matmul_acc,
        (sums, row, matrix),
        {},
        "matmul-rows",
        "pl.matmul_acc multiplies tiles of several rows, row is [1, 256]",
        "pl.gemv_acc(sums, row, matrix)",
    ),
    Refused(
        matmul.gemv_acc,
        (sums16, row, matrix),
        {},
        "shape-mismatch",
        "pl.gemv_acc adds to a tile [1, 32] of FP32, sums16 is [16, 32] of FP32",
    ),
    Refused(
        matmul.matmul_bias,
        (rows, matrix, tile("wide", [1, 48], D.FP32, BIAS)),
        {},
        "shape-mismatch",
        "pl.matmul_bias adds a row [1, 32] of FP32, wide is [1, 48] of FP32",
    ),
    Refused(
        matmul.gemv_bias,
        (row, matrix, tile("ints", [1, 32], D.INT32, BIAS)),
        {},
        "dtype-mismatch",
        "pl.gemv_bias adds a row [1, 32] of FP32, ints is [1, 32] of INT32",
    ),
    Refused(
        matmul.gemv_bias,
        (row, matrix, sums),
        {},
        "memory-space",
        "pl.gemv_bias takes sums from Mat or Bias memory, it is in Acc",
        "load sums with target_memory=pl.MemorySpace.Mat",
    ),
    Refused(
        matmul.batch_matmul,
        (tile("p", [2, 8, 16]), tile("q", [3, 16, 4])),
        {},
        "shape-mismatch",
        "pl.batch_matmul of [.., M, K] and [.., K, N] tiles, p is [2, 8, 16], q is [3, 16, 4]",
    ),
    Refused(
        memory.move,
        (tile("m", [1, 64], D.FP16, MAT),),
        {"target_memory": LEFT},
        "tile-layout",
        "a row of the tile [1, 64] has 128 bytes, a multiple of 512 was wanted",
        "load it as one of 16 rows, for pl.matmul: "
        "pl.load(tensor, [0, 0], [16, 64], valid_shapes=[1, 64])",
    ),
    Refused(
        memory.move,
        (tile("m", [16, 32], D.FP32, MAT),),
        {"target_memory": BIAS},
        "tile-layout",
        "the tile [16, 32] has 16 rows, Bias memory holds single rows",
    ),
    Refused(
        memory.move,
        (tile("m", [1, 32], D.FP16, MAT),),
        {"target_memory": BIAS},
        "element-type",
        "Bias memory cannot hold elements of FP16",
        hint="it holds INT32, FP32",
    ),
    Refused(
        new_tiles.alloc,
        (i, 0, 64, 1),
        {},
        "memory-space",
        "block.alloc takes the constant number of a memory space first",
        "pl.MemorySpace.Vec",
    ),
    Refused(
        new_tiles.alloc,
        (MemorySpace.Vec, -2, 64, 1),
        {},
        "argument-kind",
        "argument 'addr' of block.alloc is an integer from -1 on, got -2",
    ),
    Refused(
        new_tiles.alloc,
        (MemorySpace.Vec, 0, 1.5, 1),
        {},
        "argument-kind",
        "argument 'size' of block.alloc is an integer from 0 on, got a value of FP32",
    ),
]


@pytest.mark.parametrize(
    "case", REFUSED, ids=[f"{c.op.name}-{c.slug}-{k}" for k, c in enumerate(REFUSED)]
)
def test_refusal(case: Refused) -> None:
    """What no target executes is rejected with what was found, what was expected, and a hint."""
    with pytest.raises(OpError) as caught:
        case.op.build(case.args, case.kwargs)
    error = caught.value
    assert (error.slug, error.message, error.hint) == (case.slug, case.message, case.hint)


# --------------------------------------------------------------------------------------------
# Values
# --------------------------------------------------------------------------------------------


def by_loops(values: Array, axis: int, combine: Any) -> Array:
    """Reduce along an axis, one Python number at a time."""
    lines = np.moveaxis(values, axis, -1)
    flat_lines = lines.reshape(-1, lines.shape[-1])
    found = [combine([number.item() for number in each]) for each in flat_lines]
    return np.array(found).reshape(lines.shape[:-1])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [D.FP16, D.FP32, D.INT16, D.INT32])
def test_reductions(dtype: DataType, axis: int) -> None:
    """Along either dimension, minimum, maximum and sum are those of a loop."""
    values = np.random.default_rng(3).integers(-50, 50, (5, 7)).astype(dtype.numpy)
    for op, combine in (
        (axis_reductions.max, max),
        (axis_reductions.min, min),
        (axis_reductions.sum, sum),
    ):
        wanted = by_loops(values, axis, combine)
        np.testing.assert_array_equal(apply(op, values, axis=axis, keepdim=False), wanted)
        kept = apply(op, values, axis=axis, keepdim=True)
        np.testing.assert_array_equal(kept, np.expand_dims(wanted, axis))
        assert kept.dtype == dtype.numpy


def test_sums_wrap_and_half_sums_do_not_stall() -> None:
    """Integers wrap in their width; sums of FP16 are accumulated in 32 bits."""
    wide = np.full((1, 4), 20000, np.int16)
    assert apply(axis_reductions.sum, wide, axis=1).tolist() == [80000 - 65536]
    ones = np.ones((4096, 1), np.float16)
    assert apply(axis_reductions.sum, ones, axis=0).tolist() == [4096.0]


def test_extremes_of_nan() -> None:
    """One NaN makes the result of its column NaN, wherever it is."""
    values = np.array([[1, np.nan, 3], [np.nan, 2, 1]], np.float32)
    for op, last in ((axis_reductions.max, 3), (axis_reductions.min, 1)):
        np.testing.assert_array_equal(apply(op, values, axis=0), [np.nan, np.nan, last])


def test_spreading() -> None:
    """A column is broadcast over rows, a row over the shape of another tile."""
    values = np.arange(6, dtype=np.int8).reshape(2, 3)
    assert apply(reduce.row_expand, values).tolist() == [[0, 0, 0], [3, 3, 3]]
    assert apply(reduce.col_expand, values, values[1:]).tolist() == [[3, 4, 5], [3, 4, 5]]


def test_products_with_a_bias() -> None:
    """The bias is added to each row, integers in 32 bits."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, (4, 64)), rng.integers(-128, 128, (64, 8))
    c = rng.integers(-(2**20), 2**20, (1, 8)).astype(np.int32)
    for op, left in ((matmul.matmul_bias, a), (matmul.gemv_bias, a[:1])):
        found = apply(op, left.astype(np.int8), b.astype(np.int8), c)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, left @ b + c)


def test_batches() -> None:
    """Leading dimensions broadcast; the element type is kept, and integers wrap in it."""
    rng = np.random.default_rng(1)
    a = rng.integers(-3, 4, (3, 1, 2, 4)).astype(np.float16)
    b = rng.integers(-3, 4, (2, 4, 5)).astype(np.float16)
    found = apply(matmul.batch_matmul, a, b)
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, np.einsum("abij,bjk->abik", np.tile(a, (1, 2, 1, 1)), b))
    eights = np.full((1, 8, 8), 8, np.int8)
    assert apply(matmul.batch_matmul, eights, eights)[0, 0, 0] == 0  # 512


def test_a_part_is_no_copy() -> None:
    """Writes to a sub-tile are visible in its tile."""
    values = np.zeros((8, 16), np.float32)
    part = apply(new_tiles.view, values, (2, 16), (4, 0))
    part[...] = 1
    assert values.sum(axis=1).tolist() == [0, 0, 0, 0, 16, 16, 0, 0]


# --------------------------------------------------------------------------------------------
# Buffers, and the op of the tests
# --------------------------------------------------------------------------------------------


def test_alloc_is_made_printed_and_read() -> None:
    """The op is built from numbers or with the memory space, prints it, and is parsed back."""
    numbers = [ConstInt(value, D.INDEX) for value in (5, -1, 16384, 3)]
    made = create_op_call("block.alloc", numbers)
    assert isinstance(made.type, MemRefType)
    assert str(made) == "pl.block.alloc(pl.MemorySpace.Acc, -1, 16384, 3)"
    assert str(call(new_tiles.alloc, ACC, -1, 16384, 3)) == str(made)
    text = """\
# pypto.program: K
import pypto.language as pl

@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self):
        mem_vec_0: pl.MemRefType = pl.block.alloc(pl.MemorySpace.Vec, -1, 2048, 0)"""
    program = pl.parse(text)
    assert isinstance(program, Program)
    assert str(program) == text


def test_the_op_of_the_tests_can_be_called() -> None:
    """Its attributes are optional and of the right kinds; the call has no value."""
    bare, full = call(testing.op), call(testing.op, int_attr=3, string_attr="a", bool_attr=False)
    assert isinstance(bare.type, UnknownType)
    assert (str(bare), dict(bare.kwargs)) == ("pl.test.op()", {})
    assert dict(full.kwargs) == {"int_attr": 3, "string_attr": "a", "bool_attr": False}
    assert testing.op.get_attr_keys() == ["int_attr", "string_attr", "bool_attr"]
    with pytest.raises(OpTypeError, match="a bool was wanted"):
        call(testing.op, bool_attr=1)
    assert apply(testing.op, **full.kwargs) is None
