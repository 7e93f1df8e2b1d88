"""Section 11 of the API: the registry of ops, their helpers, types and conversions."""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.dtypes import promote
from pypto._src.errors import ConversionError, OpError
from pypto._src.ir.array_types import same_dims
from pypto._src.ops.conversion import CONVERSIONS, converted
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.rules.type_rules import broadcast, describe

D, M = ir.DataType, ir.MemorySpace
SPAN = ir.Span("kernel.py", 3, 7)


def tensor(shape: list[Any], dtype: ir.DataType = D.FP32, name: str = "x") -> ir.Var:
    return ir.Var(name, ir.TensorType(shape, dtype))


def tile(shape: list[Any], dtype: ir.DataType = D.FP32, view: Any = None) -> ir.Var:
    return ir.Var("t", ir.TileType(shape, dtype, None, view))


def scalar(dtype: ir.DataType) -> ir.Var:
    return ir.Var("s", ir.ScalarType(dtype))


def placed(shape: list[int], dtype: ir.DataType, space: ir.MemorySpace) -> Any:
    """Return a tile in ``space``, as a result of the ops that move it there."""
    helpers: Any = ir.op.block
    staged = helpers.load(tensor(shape, dtype), [0, 0], shape, M.Mat)
    return staged if space is M.Mat else helpers.move(staged, space)


X, Y = tensor([16, 32]), tensor([16, 32], name="y")
T, U = tile([16, 32]), tile([16, 32])
WHOLE, OTHER = tile([16, 32], D.INT32), tile([16, 32], D.INT32)
COLUMN, ROW = tile([16, 1]), tile([1, 32])
LEFT, RIGHT = placed([16, 32], D.FP16, M.Left), placed([32, 48], D.FP16, M.Right)
ACC: Any = ir.get_op("block.matmul").build((LEFT, RIGHT), {})


# --------------------------------------------------------------------------------------------
# 11.1 Functions
# --------------------------------------------------------------------------------------------

ZEROS, SIZE = ir.MakeTuple([0, 0]), ir.MakeTuple([16, 32])


def test_forms_of_create_op_call() -> None:
    """A call has the op, operands, keywords, span, and the type that the op deduces."""
    made = ir.create_op_call("block.add", [T, U], SPAN)
    assert made.op is ir.get_op("block.add")
    assert [arg is wanted for arg, wanted in zip(made.args, (T, U), strict=True)] == [True, True]
    assert (dict(made.kwargs), made.span) == ({}, SPAN)
    assert describe(made.type) == "Tile[[16, 32], FP32]"
    words = {"target_memory": M.Mat}
    loaded = ir.create_op_call("block.load", [X, ZEROS, SIZE], words, SPAN)
    assert (dict(loaded.kwargs), loaded.span) == (words, SPAN)
    named = ir.create_op_call("block.load", [X, ZEROS, SIZE], kwargs=words, span=SPAN)
    assert (dict(named.kwargs), named.span) == (words, SPAN)


def test_names_of_ops() -> None:
    """An op is known by its full name only."""
    assert ir.is_op_registered("tensor.add")
    assert not ir.is_op_registered("add")
    assert ir.get_op("tensor.add").name == "tensor.add"


@pytest.mark.parametrize("axes", [(0, 1), (1, 2), (0, 2), (-1, 0), (-2, -1)])
def test_two_dimensions_of_a_tile_of_three_are_swapped(axes: tuple[int, int]) -> None:
    """A transpose of a tile swaps any two dimensions, by its helper, by name, and as evaluated."""
    batch = ir.Var("batch", ir.TileType([2, 16, 64], ir.FP32))
    made = ir.create_op_call("block.transpose", [batch, *map(ir.ConstInt, axes)], SPAN)
    wanted = np.swapaxes(np.zeros((2, 16, 64)), *axes).shape
    for call in (made, ir.op.block.transpose(batch, *axes)):
        assert str(call.type) == f"pl.Tile[{list(wanted)}, pl.FP32]"

    kernel = pl.parse(f"""
@pl.function(type=pl.FunctionType.InCore)
def main(
    x: pl.Tensor[[2, 16, 64], pl.FP32], y: pl.Out[pl.Tensor[{list(wanted)}, pl.FP32]]
):
    t = pl.transpose(pl.load(x, [0, 0, 0], [2, 16, 64]), {axes[0]}, {axes[1]})
    y = pl.store(t, [0, 0, 0], {list(wanted)}, y)
""")
    assert isinstance(kernel, ir.Function)
    program = ir.Program([kernel], "P")
    ir.assert_structural_equal(ir.parse(str(program)), program)
    x, y = np.random.default_rng(1).random((2, 16, 64)).astype(np.float32), np.zeros(wanted)
    y = y.astype(np.float32)
    runtime.compile(program, "interpreter")(x, y)
    np.testing.assert_array_equal(y, np.swapaxes(x, *axes))


@pytest.mark.parametrize("axes", [(1, 1), (0, 3), (-4, 0), (0, -3)])
def test_axes_that_a_tile_has_not(axes: tuple[int, int]) -> None:
    """There must be two axes, dimensions of the tile; the error does not mention scratch."""
    batch = ir.Var("batch", ir.TileType([2, 16, 64], ir.FP32))
    wanted = f"swaps two dimensions of a tile, got {axes[0]} and {axes[1]}"
    with pytest.raises(OpError, match=f"{wanted}$") as caught:
        ir.create_op_call("block.transpose", [batch, *axes], SPAN)
    assert "scratch" not in str(caught.value)


def test_unknown_op() -> None:
    """An unknown op name is a ValueError."""
    with pytest.raises(OpError, match=r"there is no op 'block\.adz'") as caught:
        ir.get_op("block.adz")
    assert caught.value.hint == "did you mean block.add?"
    with pytest.raises(OpError, match="there is no op 'x'") as caught:
        ir.get_op("x")
    assert caught.value.hint == "dir(pypto.ir.op.block) lists block ops"
    with pytest.raises(ValueError, match=r"there is no op 'block\.adz'"):
        ir.create_op_call("block.adz", [T], SPAN)
    turned = ir.create_op_call("block.transpose", [T, ir.ConstInt(0, ir.INDEX), 1], SPAN)
    assert str(turned.type) == str(ir.op.block.transpose(T, 0, 1).type)
    for operand in (3, X):
        with pytest.raises(TypeError, match=r"'rhs' of block\.add is .*, a Tile was wanted"):
            ir.create_op_call("block.add", [T, operand], SPAN)


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("block.add", [T], r"block\.add takes 2 operands, got 1"),
        ("block.add", [T, U, T], r"block\.add takes 2 operands, got 3"),
        ("tensor.create", [], r"tensor\.create takes 1 operands, got 0"),
        ("block.add", [T, X], r"argument 'rhs' of block\.add is a Tensor, a Tile was wanted"),
        ("tensor.add", [X, T], r"argument 'rhs' of tensor\.add is a Tile, a Tensor was wanted"),
        ("block.load", [X, ir.ConstInt(0), SIZE], r"argument 'offsets' .* a list of integers"),
        ("tensor.dim", [X, scalar(D.INT64)], r"'axis' of tensor\.dim .* an integer constant"),
        ("block.add", [tile([16, 32], D.BOOL), U], r"takes elements of .*, t has BOOL"),
        ("tensor.add", [tensor([4], D.BOOL), Y], r"takes elements of .*, x has BOOL"),
        ("block.add", [T, tile([8, 32])], r"operands of pl\.add have different shapes"),
        ("tensor.add", [X, tensor([8, 32])], r"shapes \[16, 32\] and \[8, 32\] .* not broadcast"),
        ("tensor.read", [X, ir.MakeTuple([0])], r"needs 2 indices for x \[16, 32\], got 1"),
    ],
)
def test_wrong_operands(name: str, args: list[ir.Expr], text: str) -> None:
    """Wrong count, kind, element type or shape is a ValueError."""
    with pytest.raises(ValueError, match=text):
        ir.create_op_call(name, args, {}, SPAN)


def test_keywords_of_ops_without_any() -> None:
    """An op that declares no keywords checks none, and the call keeps those it got."""
    made = ir.create_op_call("block.add", [T, U], {"note": 3}, SPAN)
    assert dict(made.kwargs) == {"note": 3}
    assert describe(made.type) == "Tile[[16, 32], FP32]"


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "kind", "text"),
    [
        ("block.load", [X, ZEROS, SIZE], {"space": M.Mat}, ValueError, "no keyword 'space'"),
        ("block.load", [X, ZEROS, SIZE], {"tensor": Y}, ValueError, "no keyword 'tensor'"),
        ("block.load", [X, ZEROS, SIZE], {"target_memory": 1}, TypeError, "MemorySpace was wanted"),
        ("tensor.create", [SIZE], {"dtype": "FP32"}, TypeError, "DataType was wanted"),
        ("tensor.create", [SIZE], {"dtype": 0x99}, ValueError, "the code of no DataType"),
        ("tensor.matmul", [X, Y], {"b_trans": 1}, TypeError, "bool was wanted"),
        ("tensor.row_sum", [X], {"axis": True}, TypeError, "int was wanted"),
        ("tensor.row_sum", [X], {"axis": 1.0}, TypeError, "int was wanted"),
        ("tensor.cast", [X], {"target_type": D.FP16, "mode": 7}, ValueError, "is 7"),
        ("tensor.cast", [X], {"target_type": D.FP16, "mode": "up"}, ValueError, "is 'up'"),
        ("tensor.cast", [X], {"target_type": D.FP16, "mode": 1.5}, TypeError, "is 1.5"),
    ],
)
def test_wrong_keywords(
    name: str, args: list[ir.Expr], kwargs: Mapping[str, Any], kind: type[Exception], text: str
) -> None:
    """An undeclared keyword or value is a ValueError, a value of another kind a TypeError."""
    with pytest.raises(kind, match=text):
        ir.create_op_call(name, args, kwargs, SPAN)


def test_element_type_by_code() -> None:
    """Where an element type is expected its code is accepted; the call keeps the type."""
    made = ir.create_op_call("tensor.create", [SIZE], {"dtype": D.BF16.code()}, SPAN)
    assert made.kwargs["dtype"] is D.BF16
    assert describe(made.type) == "Tensor[[16, 32], BF16]"


def test_keywords_are_optional() -> None:
    """An omitted keyword has its default."""
    made = ir.create_op_call("tensor.row_sum", [X], {}, SPAN)
    assert describe(made.type) == "Tensor[[16, 1], FP32]"


@pytest.mark.parametrize("dtype", [D.FP16, D.BF16, D.FP32])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_number_beside_narrow_floats(name: str, dtype: ir.DataType) -> None:
    """A Python number takes the element type of the tensor or tile next to it."""
    made: Any = getattr(ir.op.tensor, name)(tensor([4], dtype), 2)
    assert made.type.dtype is dtype
    assert (type(made.args[1]), made.args[1].value) == (ir.ConstFloat, 2.0)
    assert made.args[1].dtype is dtype


# --------------------------------------------------------------------------------------------
# 11.2 Type rules
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        (D.INT8, D.INT8, D.INT8),
        (D.FP16, D.INT64, D.FP16),
        (D.BOOL, D.BF16, D.BF16),
        (D.INT8, D.INT32, D.INT32),
        (D.FP16, D.FP32, D.FP32),
        (D.UINT32, D.INT32, D.INT32),
        (D.INT32, D.UINT32, D.INT32),
        (D.UINT64, D.INT8, D.UINT64),
        (D.FP16, D.BF16, D.FP16),
        (D.BF16, D.FP16, D.BF16),
    ],
)
def test_promotion(a: ir.DataType, b: ir.DataType, wanted: ir.DataType) -> None:
    """Equal types stay; floats win; then the wider; at equal width the signed, else the first."""
    assert promote(a, b) is wanted
    if D.BOOL not in (a, b):
        made: Any = ir.create_op_call("tensor.add", [tensor([4], a), tensor([4], b)], SPAN)
        assert made.type.dtype is wanted


N, K = ir.Var("n", ir.ScalarType(D.INDEX)), ir.Var("k", ir.ScalarType(D.INDEX))


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ([4, 6], [4, 6], [4, 6]),
        ([4, 6], [6], [4, 6]),
        ([6], [4, 6], [4, 6]),
        ([4, 1], [1, 6], [4, 6]),
        ([2, 1, 6], [4, 1], [2, 4, 6]),
        ([4, 6], [], [4, 6]),
        ([N, 6], [N, 6], [N, 6]),
        ([N, 6], [1, 6], [N, 6]),
        ([1, 6], [N, 1], [N, 6]),
        ([4, 6], [4, 5], None),
        ([4, 6], [4], None),
        ([N, 6], [K, 6], None),
        ([N, 6], [4, 6], None),
    ],
)
def test_broadcast(a: list[Any], b: list[Any], wanted: list[Any] | None) -> None:
    """Shapes are aligned at the end; 1 is broadcast; a symbol matches only itself."""
    first, second = tensor(a), tensor(b)
    found = broadcast(ir.TensorType(a, D.FP32).shape, ir.TensorType(b, D.FP32).shape)
    if wanted is None:
        assert found is None
        with pytest.raises(ValueError, match="do not broadcast"):
            ir.create_op_call("tensor.mul", [first, second], SPAN)
        return
    shape = ir.TensorType(wanted, D.FP32).shape
    assert found is not None
    assert same_dims(found, shape)
    made: Any = ir.create_op_call("tensor.mul", [first, second], SPAN)
    assert same_dims(made.type.shape, shape)


# --------------------------------------------------------------------------------------------
# 11.3 Ops, helpers and result types
# --------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """One use of a helper, and the resulting call."""

    helper: str  # tensor.add, block.and_
    params: str  # names of the parameters
    args: tuple[Any, ...]
    kinds: str  # of the operands: T tensor, U tile, s scalar, tup list, axis integer constant
    kwargs: dict[str, Any]  # in order
    result: str
    op: str = ""  # if it is not the helper's name

    @property
    def op_name(self) -> str:
        return self.op or self.helper


def rows() -> Iterator[Row]:
    yield from tensor_rows()
    yield from memory_rows()
    yield from arithmetic_rows()
    yield from matrix_rows()
    yield from reduction_rows()


def tensor_rows() -> Iterator[Row]:
    whole, half = "Tensor[[16, 32], FP32]", "Tensor[[16, 32], FP16]"
    h = tensor([16, 32], D.FP16)
    yield Row(
        "tensor.create",
        "shape dtype",
        ([4, 8], D.BF16),
        "tup",
        {"dtype": D.BF16},
        "Tensor[[4, 8], BF16]",
    )
    yield Row("tensor.read", "tensor indices", (X, [1, 2]), "T tup", {}, "Scalar[FP32]")
    yield Row("tensor.dim", "tensor axis", (X, -1), "T axis", {}, "Scalar[INT64]")
    yield Row(
        "tensor.view",
        "tensor shape offset",
        (X, [4, 8], [1, 2]),
        "T tup tup",
        {},
        "Tensor[[4, 8], FP32]",
    )
    yield Row(
        "tensor.assemble", "target source offset", (X, tensor([4, 8]), [1, 2]), "T T tup", {}, whole
    )
    for name in ("add", "sub", "mul", "div"):
        helper = f"tensor.{name}"
        yield Row(helper, "lhs rhs", (X, tensor([32])), "T T", {}, whole)
        yield Row(helper, "lhs rhs", (h, X), "T T", {}, whole)
        yield Row(helper, "lhs rhs", (h, 2), "T s", {}, half, f"{helper}_scalar")
        yield Row(helper, "lhs rhs", (h, 2.5), "T s", {}, half, f"{helper}_scalar")
        yield Row(helper, "lhs rhs", (h, scalar(D.FP32)), "T s", {}, whole, f"{helper}_scalar")
        yield Row(f"{helper}_scalar", "lhs rhs", (h, 2), "T s", {}, half)
        yield Row(f"{helper}_scalar", "lhs rhs", (h, scalar(D.FP32)), "T s", {}, whole)
    yield Row("tensor.maximum", "lhs rhs", (h, tensor([16, 1])), "T T", {}, whole)
    for name in ("row_max", "row_sum"):
        yield Row(f"tensor.{name}", "input axis keep_dim", (h,), "T", {}, "Tensor[[16, 1], FP16]")
        yield Row(
            f"tensor.{name}",
            "input axis keep_dim",
            (X, 0, False),
            "T",
            {"axis": 0, "keep_dim": False},
            "Tensor[[32], FP32]",
        )
    yield Row("tensor.exp", "input", (h,), "T", {}, half)
    yield Row("tensor.exp", "input", (tensor([16, 32], D.INT16),), "T", {}, whole)
    yield Row(
        "tensor.cast",
        "input target_type mode",
        (X, D.FP16),
        "T",
        {"target_type": D.FP16, "mode": 2},
        half,
    )
    for mode, name in enumerate(("none", "rint", "round", "floor", "ceil", "trunc", "odd")):
        yield Row(
            "tensor.cast",
            "input target_type mode",
            (X, D.INT32, name),
            "T",
            {"target_type": D.INT32, "mode": mode},
            "Tensor[[16, 32], INT32]",
        )
    yield Row(
        "tensor.reshape", "tensor shape", (X, [4, 128]), "T tup", {}, "Tensor[[4, 128], FP32]"
    )
    yield Row(
        "tensor.transpose",
        "tensor axis1 axis2",
        (tensor([2, 3, 4]), 0, -1),
        "T axis axis",
        {},
        "Tensor[[4, 3, 2], FP32]",
    )
    yield from product_rows()


def product_rows() -> Iterator[Row]:
    params = "lhs rhs out_dtype a_trans b_trans c_matrix_nz"
    plain = {"a_trans": False, "b_trans": False, "c_matrix_nz": False}
    a, b, v = tensor([4, 6], D.FP16), tensor([6, 5]), tensor([6])
    for args, kwargs, result in (
        ((a, b), plain, "Tensor[[4, 5], FP32]"),
        ((a, b, D.FP16), {**plain, "out_dtype": D.FP16}, "Tensor[[4, 5], FP16]"),
        ((v, v), plain, "Tensor[[], FP32]"),
        ((a, v), plain, "Tensor[[4], FP32]"),
        ((v, b), plain, "Tensor[[5], FP32]"),
        ((tensor([6, 4]), b, None, True), {**plain, "a_trans": True}, "Tensor[[4, 5], FP32]"),
        (
            (a, tensor([5, 6]), None, False, True),
            {**plain, "b_trans": True},
            "Tensor[[4, 5], FP32]",
        ),
        ((a, b, None, False, False, True), {**plain, "c_matrix_nz": True}, "Tensor[[4, 5], FP32]"),
        ((tensor([2, 1, 4, 6]), tensor([3, 6, 5])), plain, "Tensor[[2, 3, 4, 5], FP32]"),
    ):
        yield Row("tensor.matmul", params, args, "T T", dict(kwargs), result)


def memory_rows() -> Iterator[Row]:
    flat, whole = "Tile[[16, 32], FP32]", "Tensor[[64, 64], FP32]"
    y = tensor([64, 64])
    yield Row(
        "block.create_tile",
        "shape dtype target_memory",
        ([16, 32], D.FP32),
        "tup",
        {"dtype": D.FP32, "target_memory": M.Vec},
        flat,
    )
    yield Row(
        "block.full",
        "shape dtype value",
        ([16, 32], D.FP16, 1),
        "tup s",
        {"dtype": D.FP16},
        "Tile[[16, 32], FP16]",
    )
    yield Row(
        "block.load",
        "tensor offsets shapes target_memory",
        (y, [1, 2], [16, 32]),
        "T tup tup",
        {"target_memory": M.Vec},
        flat,
    )
    yield Row(
        "block.load",
        "tensor offsets shapes target_memory",
        (y, [1, 2], [16, 32], M.Mat),
        "T tup tup",
        {"target_memory": M.Mat},
        flat,
    )
    yield Row(
        "block.store",
        "tile offsets shapes output_tensor",
        (T, [1, 2], [16, 32], y),
        "U tup tup T",
        {},
        whole,
    )
    yield Row(
        "block.l0c_store",
        "tile offsets shapes output_tensor",
        (ACC, [0, 0], [16, 48], y),
        "U tup tup T",
        {},
        whole,
    )
    mat = placed([16, 32], D.FP16, M.Mat)
    yield Row(
        "block.move",
        "tile target_memory transpose",
        (mat, M.Left),
        "U",
        {"target_memory": M.Left, "transpose": False},
        "Tile[[16, 32], FP16]",
    )
    yield Row(
        "block.move",
        "tile target_memory transpose",
        (mat, M.Right, True),
        "U",
        {"target_memory": M.Right, "transpose": True},
        "Tile[[32, 16], FP16]",
    )
    yield Row("block.vec_move", "tile", (T,), "U", {}, flat)
    yield Row("block.fillpad", "tile pad_value", (T,), "U", {}, flat)
    yield Row(
        "block.view",
        "tile shape offset",
        (T, [8, 32], [4, 0]),
        "U tup tup",
        {},
        "Tile[[8, 32], FP32]",
    )
    yield Row("block.reshape", "tile shape", (T, [32, 16]), "U tup", {}, "Tile[[32, 16], FP32]")
    yield Row("block.get_block_idx", "", (), "", {}, "Scalar[UINT64]")


def arithmetic_rows() -> Iterator[Row]:
    flat, ints = "Tile[[16, 32], FP32]", "Tile[[16, 32], INT32]"
    for name in ("add", "sub", "mul", "div", "rem", "maximum", "minimum"):
        yield Row(f"block.{name}", "lhs rhs", (T, U), "U U", {}, flat)
    for name in ("shl", "shr", "and_", "or_"):
        op = f"block.{name.rstrip('_')}"
        yield Row(f"block.{name}", "lhs rhs", (WHOLE, OTHER), "U U", {}, ints, op)
    yield Row(
        "block.xor", "lhs rhs tmp", (WHOLE, OTHER, tile([16, 32], D.INT32)), "U U U", {}, ints
    )
    for name in ("adds", "subs", "muls", "divs", "rems", "maxs", "mins"):
        yield Row(f"block.{name}", "lhs rhs", (T, 2), "U s", {}, flat)
        yield Row(f"block.{name}", "lhs rhs", (T, 2.5), "U s", {}, flat)
    for name in ("shls", "shrs", "ands", "ors"):
        yield Row(f"block.{name}", "lhs rhs", (WHOLE, 2), "U s", {}, ints)
    yield Row("block.xors", "lhs rhs tmp", (WHOLE, 2, OTHER), "U s U", {}, ints)
    for name in ("addc", "subc"):
        yield Row(f"block.{name}", "lhs rhs rhs2", (T, U, T), "U U U", {}, flat)
    for name in ("addsc", "subsc"):
        yield Row(f"block.{name}", "lhs rhs rhs2", (T, 2, U), "U s U", {}, flat)
    yield Row("block.prelu", "tile slope tmp", (T, U, tile([16, 32])), "U U U", {}, flat)
    yield Row("block.lrelu", "tile slope", (T, 0.5), "U s", {}, flat)
    for name in ("cmp", "cmps"):
        second: Any = U if name == "cmp" else 1.5
        kinds = "U U" if name == "cmp" else "U s"
        yield Row(f"block.{name}", "lhs rhs cmp_type", (T, second), kinds, {"cmp_type": 0}, flat)
        for cmp_type in range(6):
            yield Row(
                f"block.{name}",
                "lhs rhs cmp_type",
                (T, second, cmp_type),
                kinds,
                {"cmp_type": cmp_type},
                flat,
            )
    yield Row("block.sel", "mask lhs rhs", (T, T, U), "U U U", {}, flat)
    yield Row("block.sels", "lhs rhs select_mode", (T, U, 1), "U U s", {}, flat)
    for name in ("neg", "exp", "sqrt", "abs", "relu"):
        yield Row(f"block.{name}", "tile", (T,), "U", {}, flat)
    for name in ("recip", "rsqrt", "log"):
        yield Row(f"block.{name}", "tile high_precision", (T,), "U", {}, flat)
    yield Row(
        "block.not_",
        "tile",
        (tile([16, 32], D.INT16),),
        "U",
        {},
        "Tile[[16, 32], INT16]",
        "block.not",
    )
    yield Row(
        "block.cast",
        "tile target_type mode",
        (T, D.FP16),
        "U",
        {"target_type": D.FP16, "mode": 2},
        "Tile[[16, 32], FP16]",
    )


def matrix_rows() -> Iterator[Row]:
    # A vector's row has a multiple of 512 bytes: 256 two-byte elements.
    one, wide = placed([1, 256], D.FP16, M.Left), placed([256, 48], D.FP16, M.Right)
    vector: Any = ir.get_op("block.gemv").build((one, wide), {})
    bias = placed([1, 48], D.FP32, M.Bias)
    for name, lhs, rhs, acc, result in (
        ("matmul", LEFT, RIGHT, ACC, "Tile[[16, 48], FP32]"),
        ("gemv", one, wide, vector, "Tile[[1, 48], FP32]"),
    ):
        yield Row(f"block.{name}", "lhs rhs", (lhs, rhs), "U U", {}, result)
        yield Row(f"block.{name}_acc", "acc lhs rhs", (acc, lhs, rhs), "U U U", {}, result)
        yield Row(f"block.{name}_bias", "lhs rhs bias", (lhs, rhs, bias), "U U U", {}, result)
    stacks = tile([2, 1, 4, 6]), tile([3, 6, 5])
    yield Row("block.batch_matmul", "lhs rhs", stacks, "U U", {}, "Tile[[2, 3, 4, 5], FP32]")


def reduction_rows() -> Iterator[Row]:
    flat, column = "Tile[[16, 32], FP32]", "Tile[[16, 1], FP32]"
    for name in ("sum", "max", "min"):
        helper, params = f"block.{name}", "tile axis keepdim"
        yield Row(helper, params, (T, 1), "U", {"axis": 1, "keepdim": False}, "Tile[[16], FP32]")
        yield Row(helper, params, (T, -1, True), "U", {"axis": -1, "keepdim": True}, column)
        yield Row(
            helper, params, (T, 0, True), "U", {"axis": 0, "keepdim": True}, "Tile[[1, 32], FP32]"
        )
        yield Row(
            helper, params, (tile([32]), 0), "U", {"axis": 0, "keepdim": False}, "Scalar[FP32]"
        )
    for name in ("row_sum", "row_max", "row_min"):
        yield Row(f"block.{name}", "tile tmp_tile", (T, tile([16, 32])), "U U", {}, column)
    yield Row("block.row_expand", "src", (T,), "U", {}, flat)
    for name in ("add", "sub", "mul", "div"):
        yield Row(f"block.row_expand_{name}", "tile row_vec", (T, COLUMN), "U U", {}, flat)
    yield Row("block.col_expand", "target col_vec", (T, ROW), "U U", {}, flat)
    for name in ("mul", "div", "sub"):
        yield Row(f"block.col_expand_{name}", "tile col_vec", (T, ROW), "U U", {}, flat)
    yield Row("block.expands", "target scalar", (T, 2), "U s", {}, flat)


ROWS = list(rows())


def helper_of(name: str) -> Any:
    level, _, python_name = name.partition(".")
    return getattr(getattr(ir.op, level), python_name)


def kind_of(arg: ir.Expr, axis: bool) -> str:
    match arg.type:
        case ir.TensorType():
            return "T"
        case ir.TileType():
            return "U"
        case ir.TupleType():
            assert isinstance(arg, ir.MakeTuple)
            return "tup"
        case _:
            return "axis" if axis and isinstance(arg, ir.ConstInt) else "s"


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{r.helper}" for i, r in enumerate(ROWS)])
def test_helper(row: Row) -> None:
    """A helper takes Python numbers, lists and a span, and builds this call of this type."""
    made: Any = helper_of(row.helper)(*row.args, span=SPAN)
    assert made.op is ir.get_op(row.op_name)
    found = [kind_of(arg, "axis" in row.kinds) for arg in made.args]
    assert found == row.kinds.split()
    assert list(made.kwargs.items()) == list(row.kwargs.items())
    assert describe(made.type) == row.result
    assert made.span is SPAN


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{r.helper}" for i, r in enumerate(ROWS)])
def test_helper_and_create_op_call_agree(row: Row) -> None:
    """The call of a helper can also be built by name from its operands and keywords."""
    made: Any = helper_of(row.helper)(*row.args)
    again = ir.create_op_call(row.op_name, made.args, made.kwargs, SPAN)
    assert ir.structural_equal(again, made)
    assert again.type == made.type
    assert list(again.kwargs) == list(made.kwargs)


NAMES = {row.helper: row for row in ROWS}


@pytest.mark.parametrize("row", list(NAMES.values()), ids=list(NAMES))
def test_parameters(row: Row) -> None:
    """A helper has the parameters in the manual and a span, which may also come last."""
    helper = helper_of(row.helper)
    params = inspect.signature(helper).parameters
    assert list(params) == [*row.params.split(), "span"]
    assert params["span"].default is None
    named = dict(zip(row.params.split(), row.args, strict=False))
    made: Any = helper(**named)
    assert made.span.filename == __file__
    assert ir.structural_equal(made, helper(*row.args, SPAN))
    assert helper(*row.args, SPAN).span is SPAN


BOXES = {
    M.Mat: (ir.col_major, ir.row_major, 512),
    M.Left: (ir.row_major, ir.row_major, 512),
    M.Right: (ir.row_major, ir.col_major, 512),
    M.Acc: (ir.col_major, ir.row_major, 1024),
}


@pytest.mark.parametrize("space", list(BOXES))
def test_views_of_matrix_tiles(space: ir.MemorySpace) -> None:
    """Tiles in the cube core's memories have the view of their memory."""
    made = ACC if space is M.Acc else placed([16, 32], D.FP16, space)
    view = made.type.tile_view
    assert (view.blayout, view.slayout, view.fractal) == BOXES[space]


def test_products_of_integers() -> None:
    """INT8 gives INT32; both operands have one type, and their K dimensions match."""
    lhs, rhs = placed([16, 32], D.INT8, M.Left), placed([32, 64], D.INT8, M.Right)
    assert ir.create_op_call("block.matmul", [lhs, rhs], SPAN).type.dtype is D.INT32  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    with pytest.raises(ValueError, match="different element types"):
        ir.create_op_call("block.matmul", [lhs, RIGHT], SPAN)
    with pytest.raises(ValueError, match="different K"):
        ir.create_op_call("block.matmul", [LEFT, placed([16, 48], D.FP16, M.Right)], SPAN)


def test_store_has_the_type_of_its_tensor() -> None:
    """The result of a store or assemble has exactly its target's type."""
    made: Any = ir.op.block.store(T, [0, 0], [16, 32], Y)
    assert made.type is Y.type
    made = ir.op.tensor.assemble(Y, tensor([4, 8]), [0, 0])
    assert made.type is Y.type


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("tensor.read", (X, [0]), "needs 2 indices"),
        ("tensor.dim", (X, 2), "of dimension 2, x has 2 dimensions"),
        ("tensor.reshape", (X, [4, 4]), "of 512 elements to .4, 4., which has 16"),
        ("tensor.transpose", (X, 1, -1), "got dimension 1 twice"),
        ("tensor.transpose", (tensor([4]), 0, 1), "swaps two dimensions"),
        ("tensor.cast", (X, D.FP16, "up"), "is 'up'"),
        ("block.cast", (T, D.FP16, "up"), "is 'up'"),
        ("block.load", (X, [0, 0], [16, 32], M.Left), "goes to Vec or Mat memory, got Left"),
        ("block.load", (X, [0], [16]), "needs 2 offsets and 2 sizes"),
        ("block.load", (X, [0, 0], [16]), "got 2 and 1"),
        ("block.create_tile", ([N, 4], D.FP32), "takes constant sizes"),
        ("block.create_tile", ([0, 4], D.FP32), "0"),
        ("block.reshape", (T, [4, 4]), "of 512 elements to .4, 4., which has 16"),
        ("block.row_expand_add", (T, ROW), "takes a column"),
    ],
)
def test_refused_by_helpers(name: str, args: tuple[Any, ...], text: str) -> None:
    """What a row of the manual excludes is a ValueError."""
    with pytest.raises(ValueError, match=text):
        helper_of(name)(*args)


def test_alloc() -> None:
    """A buffer is described by the number of its memory space, address, size and id."""
    numbers = [ir.ConstInt(number, D.INT64) for number in (int(M.Vec.value), -1, 4096, 3)]
    made = ir.create_op_call("block.alloc", numbers, SPAN)
    assert made.type == ir.MemRef(M.Vec, -1, 4096, 3).type
    assert dict(made.kwargs) == {}


@pytest.mark.parametrize(
    "words", [{}, {"int_attr": 1, "string_attr": "a", "bool_attr": True}, {"bool_attr": False}]
)
def test_op_for_tests(words: Mapping[str, Any]) -> None:
    """The op for tests takes keywords of three kinds, all optional, and has no value."""
    made = ir.create_op_call("test.op", [], words, SPAN)
    assert dict(made.kwargs) == dict(words)
    assert isinstance(made.type, ir.UnknownType)
    assert made.op.get_attr_keys() == ["int_attr", "string_attr", "bool_attr"]
    assert made.op.has_attr("int_attr")
    assert not made.op.has_attr("float_attr")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ({"int_attr": True}, TypeError),
        ({"int_attr": "1"}, TypeError),
        ({"string_attr": 1}, TypeError),
        ({"bool_attr": 1}, TypeError),
        ({"float_attr": 1.0}, ValueError),
    ],
)
def test_wrong_keywords_of_the_op_for_tests(
    words: Mapping[str, Any], kind: type[Exception]
) -> None:
    """Bool and int are distinct kinds; what is not declared is a ValueError."""
    with pytest.raises(kind):
        ir.create_op_call("test.op", [], words, SPAN)


@pytest.mark.parametrize("name", ["bar_all", "bar_m", "bar_v"])
def test_barriers(name: str) -> None:
    """A barrier has neither operands nor keywords nor a value."""
    made = ir.create_op_call(f"system.{name}", [], SPAN)
    assert (made.args, dict(made.kwargs)) == ((), {})
    assert isinstance(made.type, ir.UnknownType)


@pytest.mark.parametrize("name", ["sync_src", "sync_dst"])
def test_flags(name: str) -> None:
    """A flag goes from one pipe to another, both given as numbers; it has no value."""
    words = {"set_pipe": int(ir.MTE2), "wait_pipe": int(ir.V), "event_id": 0}
    made = ir.create_op_call(f"system.{name}", [], words, SPAN)
    assert dict(made.kwargs) == words
    assert isinstance(made.type, ir.UnknownType)


# --------------------------------------------------------------------------------------------
# 11.4 Names
# --------------------------------------------------------------------------------------------

TENSOR_OPS = (
    "add add_scalar assemble cast create dim div div_scalar exp matmul maximum mul mul_scalar read "
    "reshape row_max row_sum sub sub_scalar transpose view"
)
BLOCK_OPS = (
    "abs add addc adds addsc alloc and ands batch_matmul cast cmp cmps col_expand col_expand_div "
    "col_expand_mul col_expand_sub create_tile div divs exp expands fillpad full gemv gemv_acc "
    "gemv_bias get_block_idx l0c_store load log lrelu matmul matmul_acc matmul_bias max maximum "
    "maxs min minimum mins move mul muls neg not or ors prelu recip relu rem rems reshape "
    "row_expand row_expand_add row_expand_div row_expand_mul row_expand_sub row_max row_min "
    "row_sum rsqrt sel sels shl shls shr shrs sqrt store sub subc subs subsc sum transpose "
    "vec_move view xor xors"
)
SYSTEM_OPS = "bar_all bar_m bar_v sync_src sync_dst"


def test_names() -> None:
    """All ops of the manual are registered; the op table lists any others."""
    levels = {"tensor": TENSOR_OPS, "block": BLOCK_OPS, "system": SYSTEM_OPS, "test": "op"}
    wanted = {f"{level}.{name}" for level, names in levels.items() for name in names.split()}
    assert len(wanted) == 107
    assert set(REGISTRY) >= wanted
    assert all(ir.is_op_registered(name) and ir.get_op(name).name == name for name in wanted)


def test_namespaces() -> None:
    """The helpers are available under two spellings each, all of them listed."""
    assert ir.op.tensor is ir.op.tensor_ops
    assert ir.op.block is ir.op.block_ops
    assert copy.deepcopy(ir.op.block).add is ir.op.block.add
    assert {*TENSOR_OPS.split(), "create_tensor"} <= set(dir(ir.op.tensor))
    with pytest.raises(AttributeError, match="there is no op 'nothing' in tensor"):
        _ = ir.op.tensor.nothing


# --------------------------------------------------------------------------------------------
# 11.5 Conversions
# --------------------------------------------------------------------------------------------

SAME = {
    **{f"tensor.{name}": f"block.{name}" for name in ("add", "sub", "mul", "div", "maximum")},
    **{f"tensor.{name}_scalar": f"block.{name}s" for name in ("add", "sub", "mul", "div")},
    **{f"tensor.{name}": f"block.{name}" for name in ("exp", "cast", "reshape", "transpose")},
}
NONE = ("matmul", "row_max", "row_sum", "read", "dim", "create", "view", "assemble")


@pytest.fixture
def own_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo a test's registrations."""
    before = dict(CONVERSIONS)
    monkeypatch.setattr("pypto._src.ops.conversion.CONVERSIONS", before)


def call_on_tensors(name: str) -> Any:
    """Return some call of a tensor op, and the operands with tiles in place of its tensors."""
    second: dict[str, Any] = {"reshape": [32, 16], "cast": D.FP16}
    words = name.removeprefix("tensor.")
    args = {"exp": (X,), "transpose": (X, 0, 1)}.get(words, (X, second.get(words, Y)))
    made: Any = helper_of(name)(*((X, 2) if words.endswith("_scalar") else args), span=SPAN)
    return made, [T if isinstance(arg.type, ir.TensorType) else arg for arg in made.args]


def test_default_entries() -> None:
    """These ops of the manual have conversions initially, and no others."""
    named = {name for name in REGISTRY if ir.has_op_conversion(name)}
    assert named & {f"tensor.{name}" for name in TENSOR_OPS.split()} == set(SAME)
    assert not any(ir.has_op_conversion(f"tensor.{name}") for name in NONE)


@pytest.mark.parametrize(("from_op", "to_op"), list(SAME.items()))
def test_default_conversion(from_op: str, to_op: str) -> None:
    """A call on tensors becomes the call of the block op on tiles, with the same span."""
    made, args = call_on_tensors(from_op)
    found = converted(made, args)
    assert found is not None
    assert isinstance(found.value, ir.Call)
    assert found.value.op is ir.get_op(to_op)
    assert found.value.args[0] is T
    assert found.value.span is SPAN
    assert describe(found.value.type).replace("Tile", "Tensor") == describe(made.type)


@pytest.mark.usefixtures("own_conversions")
def test_register_same_arguments() -> None:
    """One op becomes another with the same operands and keywords."""
    assert not ir.has_op_conversion("tensor.matmul")
    ir.register_op_conversion("tensor.matmul", "block.matmul")
    assert ir.has_op_conversion("tensor.matmul")
    found = converted(ir.create_op_call("tensor.row_max", [X], SPAN), [T])
    assert found is None
    ir.register_op_conversion("tensor.cast", "block.cast")
    made, args = call_on_tensors("tensor.cast")
    found = converted(made, args)
    assert found is not None
    assert found.stmts == ()
    assert isinstance(found.value, ir.Call)
    assert list(found.value.kwargs.items()) == [("target_type", D.FP16), ("mode", 2)]


@pytest.mark.usefixtures("own_conversions")
def test_decorated_conversion() -> None:
    """A function gets context, operands, keywords and span; its statements come first."""

    @ir.op_conversion("tensor.row_sum")
    def convert(
        ctx: ir.ConversionContext, args: Any, kwargs: Mapping[str, Any], span: ir.Span
    ) -> ir.Expr:
        assert (dict(kwargs), span, ctx.span) == ({"axis": -1}, SPAN, SPAN)
        scratch = ctx.let("scratch", helper_of("block.create_tile")([16, 32], D.FP32))
        ctx.emit(ir.EvalStmt(ir.create_op_call("system.bar_v", [], span)))
        return helper_of("block.row_sum")(args[0], scratch, span=span)

    assert callable(convert)
    found = converted(ir.create_op_call("tensor.row_sum", [X], {"axis": -1}, SPAN), [T])
    assert found is not None
    assert [str(stmt) for stmt in found.stmts] == [
        "scratch: pl.Tile[[16, 32], pl.FP32] = "
        "pl.block.create_tile([16, 32], dtype=pl.FP32, target_memory=pl.MemorySpace.Vec)",
        "pl.system.bar_v()",
    ]
    assert str(found.value) == "pl.block.row_sum(t, scratch)"


def first_operand(
    _ctx: ir.ConversionContext, args: Any, _kwargs: Mapping[str, Any], _span: ir.Span
) -> ir.Expr:
    return args[0]


@pytest.mark.usefixtures("own_conversions")
def test_module_of_conversions() -> None:
    """The module with the decorator's name is also the decorator; the core has the others."""
    module: Any = importlib.import_module("pypto.ir.op_conversion")
    core: Any = importlib.import_module("pypto.pypto_core.ir")
    names = ("register_op_conversion", "register_op_conversion_custom", "has_op_conversion")
    for name in names:
        assert getattr(core, name) is getattr(ir, name)
    assert module.has_op_conversion is ir.has_op_conversion
    assert module.ConversionContext is ir.ConversionContext
    spellings: dict[str, Any] = {
        "tensor.row_sum": module,
        "tensor.row_max": module.op_conversion,
        "tensor.read": ir.op_conversion,
    }
    for name, decorator in spellings.items():
        assert not ir.has_op_conversion(name)
        decorator(name)(first_operand)
        assert ir.has_op_conversion(name)


def test_conversion_context() -> None:
    """A context collects assignments and other statements in order."""
    context = ir.ConversionContext(SPAN)
    assert context.stmts == []
    var = context.let("n", 3)
    other = ir.EvalStmt(ir.create_op_call("system.bar_all", [], SPAN))
    context.emit(other)
    first, second = context.stmts
    assert isinstance(first, ir.AssignStmt)
    assert first.var is var
    assert (var.name, var.span, var.type) == ("n", SPAN, ir.ScalarType(D.INDEX))
    assert second is other


@pytest.mark.usefixtures("own_conversions")
@pytest.mark.parametrize("with_statements", [False, True])
def test_custom_conversion(with_statements: bool) -> None:
    """A custom function gets keywords as pairs and returns a value, or statements and value."""
    stmt = ir.EvalStmt(ir.create_op_call("system.bar_all", [], SPAN))

    def convert(args: list[ir.Expr], kwargs: list[tuple[str, Any]], span: ir.Span) -> Any:
        assert (kwargs, span) == ([("axis", 0)], SPAN)
        assert isinstance(args, list)
        return ([stmt], args[0]) if with_statements else args[0]

    ir.register_op_conversion_custom("tensor.row_max", convert)
    found = converted(ir.create_op_call("tensor.row_max", [X], {"axis": 0}, SPAN), [T])
    assert found is not None
    assert found.value is T
    assert found.stmts == ((stmt,) if with_statements else ())


FAILED: list[tuple[Any, str]] = [
    (None, "is to give an expression, got NoneType"),
    (([], 3), "is to give an expression, got int"),
    (([1], T), "is to give statements, got int"),
    ((T, T, T), "is to give an expression, got tuple"),
]


@pytest.mark.usefixtures("own_conversions")
@pytest.mark.parametrize(("result", "text"), FAILED)
def test_failed_conversion(result: Any, text: str) -> None:
    """A conversion that returns anything else is a RuntimeError at the call."""
    ir.register_op_conversion_custom("tensor.row_max", lambda args, kwargs, span: result)
    with pytest.raises(RuntimeError, match=text) as caught:
        converted(ir.create_op_call("tensor.row_max", [X], SPAN), [T])
    assert isinstance(caught.value, ConversionError)
    assert caught.value.location is SPAN


@pytest.mark.parametrize(
    "register",
    [
        lambda: ir.register_op_conversion("tensor.nothing", "block.add"),
        lambda: ir.register_op_conversion("tensor.add", "block.nothing"),
        lambda: ir.op_conversion("tensor.nothing"),
        lambda: ir.register_op_conversion_custom("tensor.nothing", lambda a, k, s: a[0]),
    ],
    ids=["from", "to", "decorator", "custom"],
)
def test_conversion_of_unknown_ops(register: Callable[[], object]) -> None:
    """Conversions are only between existing ops."""
    with pytest.raises(ValueError, match="there is no op"):
        register()
