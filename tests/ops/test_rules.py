"""Type rules: the types they give, and the exact error messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import OpError
from pypto._src.ir.array_types import TensorType, TileType, TileView, dtype_of
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.types import ScalarType
from pypto._src.ops import (
    bitwise,
    compare_select,
    elementwise,
    matmul,
    memory,
    new_tiles,
    reduce,
    reshaping,
    system,
    tensor,
)
from pypto._src.ops.rules.type_rules import BOXED, describe
from tests.cases import AnyOp, call

D = DataType


def tile(
    name: str, shape: Sequence[Any], dtype: DataType, space: MemorySpace = MemorySpace.Vec
) -> Var:
    """Return a tile variable with the layout of ``space``."""
    return Var(name, TileType(list(shape), dtype, None, BOXED.get(space)))


def tensor_var(name: str, shape: Sequence[Any], dtype: DataType) -> Var:
    """Return a tensor variable."""
    return Var(name, TensorType(list(shape), dtype))


n, f = Var("n", ScalarType(D.INT64)), Var("f", ScalarType(D.FP32))
x, m = tile("x", [64, 128], D.FP32), tile("m", [64, 64], D.FP32)
column, row = tile("c", [64, 1], D.FP32), tile("r", [1, 128], D.FP32)
h, i = tile("h", [64, 128], D.FP16), tile("i", [64, 128], D.INT32)
u = tile("u", [64, 128], D.UINT16)
b, i8 = tile("b", [64, 128], D.BF16), tile("i8", [64, 128], D.INT8)
a, a16 = tensor_var("a", [64, 128], D.FP32), tensor_var("ah", [64, 128], D.FP16)
a4 = tensor_var("a4", [64, 128], D.INT4)
left = tile("l", [16, 32], D.FP16, MemorySpace.Left)
right = tile("rt", [32, 16], D.FP16, MemorySpace.Right)
acc = tile("acc", [16, 16], D.FP32, MemorySpace.Acc)
staged = tile("mt", [16, 32], D.FP16, MemorySpace.Mat)


class Refused(NamedTuple):
    """A call that is rejected, and the full text of the error."""

    op: AnyOp
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    slug: str
    message: str
    label: str = ""
    hint: str | None = None
    note: str | None = None


REFUSED = [
    Refused(
        elementwise.add,
        (x, m),
        {},
        "shape-mismatch",
        "operands of pl.add have different shapes",
        label="x is Tile[[64, 128], FP32], m is Tile[[64, 64], FP32]",
        hint="give m the shape of x, as in pl.load(tensor, [0, 0], [64, 128])",
    ),
    Refused(
        elementwise.add,
        (x, u),
        {},
        "dtype-mismatch",
        "operands of pl.add have different element types",
        label="x is Tile[[64, 128], FP32], u is Tile[[64, 128], UINT16]",
        hint="give u elements of FP32 in the tensor that it is loaded from",
        note="the A2/A3 chip does not convert UINT16 to FP32",
    ),
    Refused(
        bitwise.shl,
        (tile("s", [64, 128], D.INT16), i),
        {},
        "dtype-mismatch",
        "operands of pl.shl have different element types",
        label="s is Tile[[64, 128], INT16], i is Tile[[64, 128], INT32]",
        hint="pl.cast(i, pl.INT16)",
        note="the result has elements of INT16, and INT32 cannot be converted to it exactly",
    ),
    Refused(
        compare_select.sel,
        (column, x, x),
        {},
        "shape-mismatch",
        "operands of pl.sel have different shapes",
        label="x is Tile[[64, 128], FP32], c is Tile[[64, 1], FP32]",
        hint="pl.row_expand_mul(pl.full([64, 128], pl.FP32, 1.0), c)",
    ),
    Refused(
        compare_select.sel,
        (row, x, x),
        {},
        "shape-mismatch",
        "operands of pl.sel have different shapes",
        label="x is Tile[[64, 128], FP32], r is Tile[[1, 128], FP32]",
        hint="pl.col_expand(pl.create_tile([64, 128], pl.FP32), r)",
    ),
    Refused(
        elementwise.add,
        (b, b),
        {},
        "element-type",
        "pl.add takes elements of INT16, INT32, UINT16, UINT32, FP16, FP32, b has BF16",
        hint="pl.cast(b, pl.FP32)",
    ),
    Refused(
        elementwise.add,
        (i8, i8),
        {},
        "element-type",
        "pl.add takes elements of INT16, INT32, UINT16, UINT32, FP16, FP32, i8 has INT8",
        hint="pl.cast(pl.cast(i8, pl.FP16), pl.FP32)",
    ),
    Refused(
        elementwise.div,
        (i, i),
        {},
        "element-type",
        "pl.div takes elements of FP16, FP32, i has INT32",
        hint="pl.cast(i, pl.FP32)",
    ),
    Refused(
        elementwise.adds,
        (i, n),
        {},
        "dtype-mismatch",
        "operands of pl.add have different element types",
        label="i is Tile[[64, 128], INT32], n is Scalar[INT64]",
        hint="pl.cast(n, pl.INT32)",
    ),
    Refused(
        elementwise.adds,
        (i, 2.5),
        {},
        "literal-dtype",
        "the number 2.5 is used with elements of int32",
        hint="cast the tile first, or write pl.const(2.5, pl.FP32)",
    ),
    Refused(
        elementwise.maxs,
        (tile("u", [64, 128], D.UINT32), 0),
        {},
        "element-type",
        "pl.maximum of a tile and a number takes elements of INT16, INT32, FP16, FP32, "
        "u has UINT32",
        label="u is Tile[[64, 128], UINT32]",
        note="the A2/A3 chip fills no unsigned tile with a number; load one from a tensor",
    ),
    Refused(
        elementwise.exp,
        (staged,),
        {},
        "memory-space",
        "pl.exp takes mt from Vec memory, it is in Mat",
    ),
    Refused(
        elementwise.exp,
        (i,),
        {},
        "element-type",
        "pl.exp takes elements of FP16, FP32, i has INT32",
        hint="pl.cast(i, pl.FP32)",
    ),
    Refused(
        elementwise.cast,
        (i8, D.FP32),
        {},
        "cast",
        "pl.cast from INT8 to FP32 does not exist; INT8 goes to FP16",
        label="i8 is Tile[[64, 128], INT8]",
        hint="pl.cast(pl.cast(i8, pl.FP16), pl.FP32)",
    ),
    Refused(
        elementwise.cast,
        (x, D.UINT8),
        {},
        "cast",
        "pl.cast from FP32 to UINT8 does not exist; FP32 goes to INT16, INT32, INT64, FP16, BF16",
        label="x is Tile[[64, 128], FP32]",
        hint="pl.cast(pl.cast(x, pl.FP16), pl.UINT8)",
    ),
    Refused(
        elementwise.cast,
        (x, D.INT4),
        {},
        "cast",
        "pl.cast from FP32 to INT4 does not exist; FP32 goes to INT16, INT32, INT64, FP16, BF16",
        label="x is Tile[[64, 128], FP32]",
    ),
    Refused(
        elementwise.cast,
        (x, D.FP16),
        {"mode": "nearest"},
        "argument-kind",
        "argument 'mode' of block.cast is 'nearest'",
        hint="write one of none, rint, round, floor, ceil, trunc, odd",
    ),
    Refused(
        reduce.row_max,
        (x, m),
        {},
        "scratch-size",
        "scratch tile m of pl.row_max has the shape [64, 64], [64, 128] was wanted",
        label="x is Tile[[64, 128], FP32], m is Tile[[64, 64], FP32]",
        hint="leave it out: pl.row_max(x)",
    ),
    Refused(
        reduce.row_max,
        (tile("v", [128], D.FP32), tile("v", [128], D.FP32)),
        {},
        "tile-rank",
        "pl.row_max reduces the rows of a two-dimensional tile, v has the shape [128]",
        label="v is Tile[[128], FP32]",
        hint="pl.reshape(v, [1, 128])",
    ),
    Refused(
        reduce.row_expand_add,
        (x, x),
        {},
        "shape-mismatch",
        "pl.row_expand_add takes a column [64, 1] beside [64, 128], x has the shape [64, 128]",
        label="x is Tile[[64, 128], FP32]",
        hint="pl.add(x, x)",
    ),
    Refused(
        reduce.row_expand_mul,
        (x, row),
        {},
        "shape-mismatch",
        "pl.row_expand_mul takes a column [64, 1] beside [64, 128], r has the shape [1, 128]",
        label="x is Tile[[64, 128], FP32], r is Tile[[1, 128], FP32]",
        hint="pl.col_expand_mul(x, r)",
    ),
    Refused(
        reduce.col_expand_mul,
        (x, column),
        {},
        "shape-mismatch",
        "pl.col_expand_mul takes a row [1, 128] beside [64, 128], c has the shape [64, 1]",
        label="x is Tile[[64, 128], FP32], c is Tile[[64, 1], FP32]",
        hint="pl.row_expand_mul(x, c)",
    ),
    Refused(
        matmul.matmul,
        (left, left),
        {},
        "memory-space",
        "pl.matmul takes l from Right memory, it is in Left",
        hint="load l with target_memory=pl.MemorySpace.Mat, then pl.move(l, "
        "target_memory=pl.MemorySpace.Right)",
    ),
    Refused(
        reshaping.reshape,
        (acc, [1, 16, 16]),
        {},
        "memory-space",
        "pl.reshape takes acc from Vec or Mat memory, it is in Acc",
        hint="store acc to a tensor, and load that",
    ),
    Refused(
        matmul.matmul,
        (staged, right),
        {},
        "memory-space",
        "pl.matmul takes mt from Left memory, it is in Mat",
        hint="pl.move(mt, target_memory=pl.MemorySpace.Left)",
    ),
    Refused(
        matmul.matmul,
        (x, x),
        {},
        "shape-mismatch",
        "pl.matmul of [M, K] and [K, N] tiles has different K: x is [64, 128], x is [64, 128]",
        label="x is Tile[[64, 128], FP32]",
    ),
    Refused(
        matmul.matmul,
        (tile("p", [16, 64], D.FP16, MemorySpace.Left), right),
        {},
        "shape-mismatch",
        "pl.matmul of [M, K] and [K, N] tiles has different K: p is [16, 64], rt is [32, 16]",
        label="p is Tile[[16, 64], FP16], rt is Tile[[32, 16], FP16]",
    ),
    Refused(
        matmul.matmul_acc,
        (tile("acc", [16, 32], D.FP32, MemorySpace.Acc), left, right),
        {},
        "shape-mismatch",
        "pl.matmul_acc adds to a tile [16, 16] of FP32, acc is [16, 32] of FP32",
        label="acc is Tile[[16, 32], FP32], l is Tile[[16, 32], FP16], rt is Tile[[32, 16], FP16]",
    ),
    Refused(
        matmul.matmul,
        (tile("p", [8192, 32], D.FP16), right),
        {},
        "matmul-size",
        "pl.matmul takes sizes up to 4095, got 8192",
        label="p is Tile[[8192, 32], FP16], rt is Tile[[32, 16], FP16]",
        hint="split the product into blocks and add them up with pl.matmul_acc",
    ),
    Refused(
        memory.load,
        (a, [0], [16]),
        {},
        "region-rank",
        "pl.load needs 2 offsets and 2 sizes for a [64, 128], got 1 and 1",
        label="a is Tensor[[64, 128], FP32]",
    ),
    Refused(
        memory.load,
        (a, [0, 0], [128, 128]),
        {},
        "out-of-bounds",
        "pl.load of 0:128 in dimension 0 is outside a [64, 128]",
        label="a is Tensor[[64, 128], FP32]",
    ),
    Refused(
        memory.load,
        (Var("longs", TensorType([64, 128], D.INT64)), [0, 0], [64, 1]),
        {},
        "tile-layout",
        "pl.load of a column [64, 1] needs a tensor of one column, longs has the shape [64, 128]",
        label="longs is Tensor[[64, 128], INT64]",
        hint="keep the vector in a tensor [N, 1]",
    ),
    Refused(
        memory.load,
        (a, [-1, 0], [16, 16]),
        {},
        "out-of-bounds",
        "pl.load of -1:15 in dimension 0 is outside a [64, 128]",
        label="a is Tensor[[64, 128], FP32]",
    ),
    Refused(
        memory.load,
        (a4, [0, 0], [16, 16]),
        {},
        "element-type",
        "pl.load takes elements of INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, "
        "FP16, FP32, BF16, a4 has INT4",
        note="elements of INT4 are narrower than a byte",
    ),
    Refused(
        memory.load,
        (a, [0, 0], [16, 16]),
        {"target_memory": MemorySpace.Left},
        "memory-space",
        "pl.load goes to Vec or Mat memory, got Left",
        hint="write target_memory=pl.MemorySpace.Mat, and then "
        "pl.move(tile, target_memory=pl.MemorySpace.Left)",
    ),
    Refused(
        memory.store,
        (x, [0, 0], [64, 64], a),
        {},
        "shape-mismatch",
        "pl.store of a tile [64, 128] to a region [64, 64]",
        label="x is Tile[[64, 128], FP32], a is Tensor[[64, 128], FP32]",
        hint="give the tile's shape as the size of the region: [64, 128]",
    ),
    Refused(
        memory.store,
        (x, [0, 0], [64, 128], a16),
        {},
        "dtype-mismatch",
        "pl.store of FP32 elements to a tensor of FP16",
        label="x is Tile[[64, 128], FP32], ah is Tensor[[64, 128], FP16]",
        hint="pl.cast(x, pl.FP16)",
    ),
    Refused(
        memory.store,
        (x, [1, 0], [64, 128], a),
        {},
        "out-of-bounds",
        "pl.store of 1:65 in dimension 0 is outside a [64, 128]",
        label="a is Tensor[[64, 128], FP32]",
    ),
    Refused(
        memory.l0c_store,
        (left, [0, 0], [16, 32], a16),
        {},
        "memory-space",
        "pl.l0c_store takes l from Acc memory, it is in Left",
    ),
    Refused(
        memory.store,
        (acc, [0, 0], [16, 16], tensor_var("o", [16, 16], D.INT32)),
        {},
        "dtype-mismatch",
        "pl.store of FP32 elements to a tensor of INT32",
        label="acc is Tile[[16, 16], FP32], o is Tensor[[16, 16], INT32]",
    ),
    Refused(
        memory.move,
        (staged, MemorySpace.Acc),
        {},
        "memory-space",
        "pl.move goes to Left or Right or Bias or Vec memory, got Acc",
        hint="write target_memory=pl.MemorySpace.Left",
    ),
    Refused(
        memory.move,
        (left, MemorySpace.Vec),
        {},
        "memory-space",
        "pl.move takes l from Vec memory, it is in Left",
    ),
    Refused(
        memory.move,
        (x, MemorySpace.Vec, True),
        {},
        "transpose",
        "pl.move transposes two-dimensional tiles from Mat to Left or Right memory, x is "
        "Tile[[64, 128], FP32] going to Vec",
        hint="pl.transpose(x)",
    ),
    Refused(
        new_tiles.create_tile,
        ([n, 16], D.FP32),
        {},
        "tile-shape",
        "pl.create_tile takes constant sizes, got [n, 16]",
        hint="give the tile a constant shape and load the part that is valid",
    ),
    Refused(
        new_tiles.create_tile,
        ([16, 16], D.BOOL),
        {},
        "element-type",
        "pl.create_tile takes elements of INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, "
        "UINT64, FP16, FP32, BF16, the tile has BOOL",
        note="the vector unit keeps conditions as packed bits, not as BOOL elements",
    ),
    Refused(
        new_tiles.create_tile,
        ([16, 0], D.FP32),
        {},
        "tile-shape",
        "the tile has the shape [16, 0]; dimensions are positive",
    ),
    Refused(
        new_tiles.create_tile,
        ([16, 16], D.FP16, MemorySpace.Acc),
        {},
        "element-type",
        "Acc memory cannot hold elements of FP16",
        hint="it holds INT32, FP32",
    ),
    Refused(
        new_tiles.full,
        ([16, 16], D.UINT16, 1),
        {},
        "element-type",
        "pl.full takes elements of INT16, INT32, FP16, FP32, the tile has UINT16",
    ),
    Refused(
        new_tiles.full,
        ([16, 16], D.FP32, n),
        {},
        "dtype-mismatch",
        "pl.full fills a tile of FP32 with a number of INT64",
        label="n is Scalar[INT64]",
        hint="pl.cast(n, pl.FP32)",
    ),
    Refused(
        reshaping.reshape,
        (x, [64, 64]),
        {},
        "shape-mismatch",
        "pl.reshape of 8192 elements to [64, 64], which has 4096",
        label="x is Tile[[64, 128], FP32]",
    ),
    Refused(
        reshaping.transpose,
        (x, m),
        {},
        "scratch-size",
        "scratch tile m [64, 64] of pl.transpose has 4096 elements, 8192 were wanted",
        hint="leave it out: pl.transpose(x, 0, 1)",
    ),
    Refused(
        reshaping.transpose,
        (x, m, 1, 1),
        {},
        "transpose-axes",
        "pl.transpose swaps rows and columns of a two-dimensional tile",
        label="x is Tile[[64, 128], FP32]",
    ),
    Refused(
        tensor.create,
        ([4], D.INT4),
        {},
        "element-type",
        "pl.create_tensor cannot create tensors of INT4",
        note="elements of INT4 are narrower than a byte",
    ),
    Refused(
        tensor.view,
        (a, [4], [0]),
        {},
        "region-rank",
        "pl.view needs 2 sizes and 2 offsets for a [64, 128], got 1 and 1",
        label="a is Tensor[[64, 128], FP32]",
    ),
    Refused(
        tensor.view,
        (a, [64, 64], [0, 96]),
        {},
        "out-of-bounds",
        "pl.view of 96:160 in dimension 1 is outside a [64, 128]",
        label="a is Tensor[[64, 128], FP32]",
    ),
    Refused(
        tensor.read,
        (a, [0]),
        {},
        "region-rank",
        "pl.read needs 2 indices for a [64, 128], got 1",
        label="a is Tensor[[64, 128], FP32]",
    ),
    Refused(
        tensor.read,
        (a, [64, 0]),
        {},
        "out-of-bounds",
        "pl.read of index 64 in dimension 0 is outside a [64, 128]",
        hint="take an index from 0 to 63",
        label="a is Tensor[[64, 128], FP32]",
    ),
    Refused(
        tensor.dim,
        (a, 2),
        {},
        "axis",
        "pl.dim of dimension 2, a has 2 dimensions",
        label="a is Tensor[[64, 128], FP32]",
    ),
    Refused(
        system.sync_src,
        (PipeType.V, PipeType.V, 0),
        {},
        "sync",
        "a flag goes from one pipe to another, got V and V",
        hint="write pl.system.bar_v()",
    ),
    Refused(
        system.sync_src,
        (PipeType.V, PipeType.MTE3, 8),
        {},
        "sync",
        "event 8 does not exist; a pair of pipes has events 0 to 7",
        hint="write event_id=0",
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
    found = (error.slug, error.message, error.label, error.hint, error.note)
    assert found == (case.slug, case.message, case.label, case.hint, case.note)


def test_hints_are_accepted() -> None:
    """What the hints for other shapes and element types suggest is a legal call."""
    assert describe(call(reduce.row_expand_add, x, column).type) == "Tile[[64, 128], FP32]"
    assert describe(call(reduce.col_expand_sub, x, row).type) == "Tile[[64, 128], FP32]"
    wide = call(elementwise.cast, call(elementwise.cast, i8, D.FP16), D.FP32)
    assert describe(call(elementwise.add, wide, x).type) == "Tile[[64, 128], FP32]"
    zeros = call(new_tiles.full, [64, 128], D.INT32, 0)
    assert describe(call(elementwise.maximum, i, zeros).type) == "Tile[[64, 128], INT32]"


def test_refusal_names_the_places() -> None:
    """The error points at the operands' definitions."""
    span = Span("k.py", 7, 4, 7, 9)
    other = Var("y", TileType([64, 64], D.FP32), span)
    with pytest.raises(OpError) as caught:
        call(elementwise.add, x, other)
    assert [(label.span, label.text) for label in caught.value.related] == [
        (span, "y is defined here")
    ]


VIEWS: list[tuple[Any, str, TileView | None]] = [
    (call(memory.load, a, [0, 0], [16, 16]), "Tile[[16, 16], FP32]", None),
    (
        call(memory.load, a, [0, n], [16, 16], target_memory=MemorySpace.Mat),
        "Tile[[16, 16], FP32]",
        BOXED[MemorySpace.Mat],
    ),
    (call(memory.load, a, [0, 0], [n, 16]), "Tile[[n, 16], FP32]", None),
    (
        call(memory.move, staged, MemorySpace.Left),
        "Tile[[16, 32], FP16]",
        BOXED[MemorySpace.Left],
    ),
    (
        call(memory.move, staged, MemorySpace.Right, transpose=True),
        "Tile[[32, 16], FP16]",
        BOXED[MemorySpace.Right],
    ),
    (call(memory.move, x, MemorySpace.Vec), "Tile[[64, 128], FP32]", None),
    (call(matmul.matmul, left, right), "Tile[[16, 16], FP32]", BOXED[MemorySpace.Acc]),
    (call(matmul.matmul_acc, acc, left, right), "Tile[[16, 16], FP32]", BOXED[MemorySpace.Acc]),
    (
        call(
            matmul.matmul,
            tile("p", [16, 32], D.INT8, MemorySpace.Left),
            tile("q", [32, 16], D.INT8, MemorySpace.Right),
        ),
        "Tile[[16, 16], INT32]",
        BOXED[MemorySpace.Acc],
    ),
    (call(new_tiles.create_tile, [8, 8], D.FP32), "Tile[[8, 8], FP32]", None),
    (
        call(new_tiles.create_tile, [16, 16], D.FP32, MemorySpace.Acc),
        "Tile[[16, 16], FP32]",
        BOXED[MemorySpace.Acc],
    ),
    (call(new_tiles.full, [8, 1], D.FP32, 1), "Tile[[8, 1], FP32]", None),
    (call(elementwise.adds, h, 2), "Tile[[64, 128], FP16]", None),
    (call(elementwise.cast, h, D.FP32), "Tile[[64, 128], FP32]", None),
    (call(reduce.row_max, x, x), "Tile[[64, 1], FP32]", None),
    (call(reduce.row_expand_mul, x, column), "Tile[[64, 128], FP32]", None),
    (call(reshaping.reshape, column, [1, 64]), "Tile[[1, 64], FP32]", None),
    (call(reshaping.transpose, x, x), "Tile[[128, 64], FP32]", None),
    (call(memory.store, x, [0, 0], [64, 128], a), "Tensor[[64, 128], FP32]", None),
    (call(memory.l0c_store, acc, [0, n], [16, 16], a16), "Tensor[[64, 128], FP16]", None),
    (call(system.get_block_idx), "Scalar[UINT64]", None),
    (call(tensor.create, [n, 4], D.INT8), "Tensor[[n, 4], INT8]", None),
    (call(tensor.view, a, [32, 64], [0, 64]), "Tensor[[32, 64], FP32]", None),
    (call(tensor.read, a, [0, n]), "Scalar[FP32]", None),
    (call(tensor.dim, a, -1), "Scalar[INT64]", None),
    (call(system.bar_all), "UnknownType", None),
]


@pytest.mark.parametrize(
    ("made", "text", "view"), VIEWS, ids=[f"{v[0].op.name}-{k}" for k, v in enumerate(VIEWS)]
)
def test_result(made: Any, text: str, view: TileView | None) -> None:
    """The type of each op's result; only tiles outside vector memory have a view."""
    assert describe(made.type) == text
    if isinstance(made.type, TileType):
        wanted = TileType(made.type.shape, made.type.dtype, None, view)
        assert made.type == wanted


def test_numbers_take_the_element_type() -> None:
    """A bare number with a tile is a constant of the tile's element type."""
    for number, operand in ((2, i), (2.0, i), (2, h), (0.5, x)):
        value: Expr = call(elementwise.muls, operand, number).args[1]
        assert value.type == ScalarType(dtype_of(operand))


def test_store_of_a_slice() -> None:
    """A two-dimensional tile fits a region with more dimensions of size 1."""
    cube = tensor_var("q", [4, 16, 64], D.FP32)
    flat = tile("t", [16, 64], D.FP32)
    assert call(memory.store, flat, [n, 0, 0], [1, 16, 64], cube).type == cube.type


PIPES: list[tuple[Any, PipeType | None]] = [
    (call(memory.load, a, [0, 0], [16, 16]), PipeType.MTE2),
    (call(memory.store, x, [0, 0], [64, 128], a), PipeType.MTE3),
    (call(memory.store, acc, [0, 0], [16, 16], a), PipeType.FIX),
    (call(memory.l0c_store, acc, [0, 0], [16, 16], a), PipeType.FIX),
    (call(memory.move, staged, MemorySpace.Left), PipeType.MTE1),
    (call(memory.move, x, MemorySpace.Vec), PipeType.V),
    (call(matmul.matmul, left, right), PipeType.M),
    (call(elementwise.exp, x), PipeType.V),
    (call(new_tiles.full, [8, 8], D.FP32, 0), PipeType.V),
    (call(reshaping.reshape, x, [128, 64]), None),
    (call(new_tiles.create_tile, [8, 8], D.FP32), None),
    (call(tensor.create, [8, 8], D.FP32), None),
    (call(system.get_block_idx), PipeType.S),
    (call(system.bar_v), PipeType.S),
]


@pytest.mark.parametrize(
    ("made", "pipe"), PIPES, ids=[f"{p[0].op.name}-{k}" for k, p in enumerate(PIPES)]
)
def test_pipe(made: Any, pipe: PipeType | None) -> None:
    """The pipe that executes a call follows from the op and its tiles' memory spaces."""
    assert made.op.pipe_of(made) is pipe


def test_open_dimensions() -> None:
    """A tensor dimension of -1 may have any size; only known dimensions are checked."""
    opened = tensor_var("o", [-1, 16], D.FP32)
    assert describe(call(memory.load, opened, [0, 0], [64, 16]).type) == "Tile[[64, 16], FP32]"
    assert describe(call(tensor.read, opened, [99, 0]).type) == "Scalar[FP32]"
    assert describe(call(tensor.view, opened, [8, 16], [99, 0]).type) == "Tensor[[8, 16], FP32]"
    with pytest.raises(OpError) as caught:
        call(memory.load, opened, [0, 8], [64, 16])
    assert caught.value.message == "pl.load of 8:24 in dimension 1 is outside o [-1, 16]"
