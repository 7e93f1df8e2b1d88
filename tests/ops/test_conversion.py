"""Conversions of tensor ops: their replacements on tiles compute the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from pypto import ir
from pypto._src.dtypes import DataType
from pypto._src.errors import OpError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.array_types import static_shape
from pypto._src.ir.op_params import SCALAR, TENSOR
from pypto._src.ops import tensor_math
from pypto._src.ops.conversion import CONVERSIONS, Converted, converted
from pypto._src.ops.lazy.tensor_forms import cmp, minimum
from tests.cases import Array, Kernel, between, moderate, positive, whole_range
from tests.line_cases import LINES
from tests.natively import lowered

D = DataType
SPAN = ir.Span("kernel.py", 3, 7)


def on_tensors(
    op: Any,
    *kinds: tuple[list[int], DataType],
    rest: tuple[Any, ...] = (),
    words: Mapping[str, Any] | None = None,
) -> Any:
    """Return a call of ``op`` on new tensors, followed by other operands."""
    tensors = [
        ir.Var(f"x{i}", ir.TensorType(shape, dtype)) for i, (shape, dtype) in enumerate(kinds)
    ]
    if words is not None:
        names = [param.name for param in op.operands]
        return op.build([], {**dict(zip(names, tensors, strict=False)), **words}, SPAN)
    return op.build((*tensors, *rest), {}, SPAN)


def tile_kernel(made: Any) -> tuple[ir.Function, Converted]:
    """Return a kernel that loads a call's tensors, does its tile form, and stores the result."""
    kernel = Kernel()
    args: list[ir.Expr] = []
    for arg in made.args:
        if isinstance(arg.type, ir.TensorType):
            args.append(kernel.tile(static_shape(arg.type) or (), arg.type.dtype))
        else:
            args.append(arg)
    found = converted(made, args)
    assert found is not None
    kernel.stmts += found.stmts
    return kernel.finish(kernel.let("result", found.value)).function, found


def check(made: Any, values: Any = moderate) -> Converted:
    """Check that the call gives the same on tensors and, in its tile form, on tiles."""
    types = [arg.type for arg in made.args if isinstance(arg.type, ir.TensorType)]
    rng = np.random.default_rng(5)
    arrays: list[Array] = [values(rng, static_shape(kind) or (), kind.dtype) for kind in types]
    params = [arg for arg in made.args if isinstance(arg, ir.Var)]
    whole = ir.Function("f", params, [made.type], ir.ReturnStmt([made]))
    wanted = evaluate(whole, arrays)
    function, found = tile_kernel(made)
    for each in (function, lowered(function)):
        out = np.zeros(wanted.shape, wanted.dtype)
        evaluate(each, [*arrays, out])
        np.testing.assert_array_equal(out, wanted)
    return found


BINARY = (tensor_math.add, tensor_math.sub, tensor_math.mul, tensor_math.div, tensor_math.maximum)
WITH_NUMBER = (
    tensor_math.add_scalar,
    tensor_math.sub_scalar,
    tensor_math.mul_scalar,
    tensor_math.div_scalar,
)


@pytest.mark.parametrize("dtype", [D.FP32, D.FP16, D.INT32, D.UINT16])
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_two_tiles(op: Any, dtype: DataType) -> None:
    """Tiles with the same shape and type: only the block op of the same name."""
    made = on_tensors(op, ([16, 32], dtype), ([16, 32], dtype))
    if op is tensor_math.div and dtype.is_int():
        with pytest.raises(OpError, match=r"pl\.div takes elements of FP16, FP32"):
            tile_kernel(made)
        return
    found = check(made, whole_range)
    assert found.stmts == ()
    assert isinstance(found.value, ir.Call)
    assert found.value.op.name == op.name.replace("tensor", "block")


@pytest.mark.parametrize("dtype", [D.FP32, D.FP16, D.INT32])
@pytest.mark.parametrize(
    ("op", "shapes", "name"),
    [
        (tensor_math.add, ([16, 32], [16, 1]), "row_expand_add"),
        (tensor_math.add, ([16, 1], [16, 32]), "row_expand_add"),
        (tensor_math.sub, ([16, 32], [16, 1]), "row_expand_sub"),
        (tensor_math.sub, ([16, 32], [1, 32]), "col_expand_sub"),
        (tensor_math.mul, ([16, 32], [16, 1]), "row_expand_mul"),
        (tensor_math.mul, ([16, 32], [1, 32]), "col_expand_mul"),
        (tensor_math.mul, ([1, 32], [16, 32]), "col_expand_mul"),
        (tensor_math.div, ([16, 32], [16, 1]), "row_expand_div"),
        (tensor_math.div, ([16, 32], [1, 32]), "col_expand_div"),
    ],
)
def test_spread(op: Any, shapes: tuple[list[int], list[int]], name: str, dtype: DataType) -> None:
    """A column or a row next to a tile: the block op that broadcasts it."""
    made = on_tensors(op, *((shape, dtype) for shape in shapes))
    if op is tensor_math.div and dtype.is_int():
        with pytest.raises(OpError, match="takes elements of FP16, FP32"):
            tile_kernel(made)
        return
    found = check(made, positive if op is tensor_math.div else moderate)
    assert isinstance(found.value, ir.Call)
    assert found.value.op.name == f"block.{name}"


@pytest.mark.parametrize("dtype", [D.FP32, D.FP16, D.INT32])
@pytest.mark.parametrize(
    ("op", "shapes", "count"),
    [
        (tensor_math.sub, ([16, 1], [16, 32]), 1),
        (tensor_math.sub, ([1, 32], [16, 32]), 2),
        (tensor_math.add, ([16, 32], [1, 32]), 2),
        (tensor_math.maximum, ([16, 32], [16, 1]), 1),
        (tensor_math.maximum, ([1, 32], [16, 32]), 2),
        (tensor_math.add, ([16, 1], [1, 32]), 3),
        (tensor_math.mul, ([1, 32], [16, 1]), 3),
    ],
)
def test_spread_first(
    op: Any, shapes: tuple[list[int], list[int]], count: int, dtype: DataType
) -> None:
    """Where no block op broadcasts the column or row, it is broadcast first, exactly."""
    made = on_tensors(op, *((shape, dtype) for shape in shapes))
    found = check(made, special if dtype.is_float() else moderate)
    assert len(found.stmts) == count
    assert isinstance(found.value, ir.Call)
    assert found.value.op.name == op.name.replace("tensor", "block")


def special(rng: np.random.Generator, shape: tuple[int, ...], dtype: DataType) -> Array:
    """Return floats that include infinities, NaN and negative zeros."""
    edges = np.array([-np.inf, np.inf, np.nan, -0.0, 0.0, 1.5, -65504], np.float32)
    return rng.choice(edges, shape).astype(dtype.numpy)


def test_tiles_that_do_not_fit() -> None:
    """Tiles passed in place of the tensors are checked by the block op."""
    made = on_tensors(tensor_math.add, ([16, 32], D.FP32), ([16, 32], D.FP32))
    tiles = [ir.Var("t", ir.TileType(shape, D.FP32)) for shape in ([16, 32], [16, 64])]
    with pytest.raises(OpError, match="have different shapes") as caught:
        converted(made, tiles)
    assert caught.value.location is SPAN


@pytest.mark.parametrize(
    ("a", "b", "casts"),
    [
        (D.FP16, D.FP32, ["FP32"]),
        (D.FP32, D.INT32, ["FP32"]),
        (D.INT8, D.FP32, ["FP16", "FP32"]),
        (D.INT16, D.INT32, ["FP32", "INT32"]),
    ],
)
def test_mixed_types(a: DataType, b: DataType, casts: list[str]) -> None:
    """The operand of the other type is cast first, in as many steps as needed."""
    found = check(on_tensors(tensor_math.add, ([16, 32], a), ([16, 32], b)))
    names = [str(stmt).partition("target_type=pl.")[2].partition(",")[0] for stmt in found.stmts]
    assert names == casts


@pytest.mark.parametrize("other", [D.INT32, D.INT16])
@pytest.mark.parametrize("op", [*BINARY, minimum, cmp], ids=lambda op: op.name)
def test_integers_beside_bf16(op: Any, other: DataType) -> None:
    """Cores lack BF16 arithmetic: both are cast to FP32, and the result is rounded once."""
    kinds = ([16, 32], D.BF16), ([16, 32], other)
    check(on_tensors(op, *kinds), between(-1000, 1000))
    check(on_tensors(op, *reversed(kinds)), between(-1000, 1000))


@pytest.mark.parametrize("dtype", [D.FP32, D.FP16, D.INT32])
@pytest.mark.parametrize("op", WITH_NUMBER, ids=lambda op: op.name)
def test_numbers(op: Any, dtype: DataType) -> None:
    """A tile and a number of its type: only the block op."""
    assert check(on_tensors(op, ([16, 32], dtype), rest=(3,)), whole_range).stmts == ()


def test_wider_number() -> None:
    """FP16 elements with an FP32 number are cast; so is a narrower number."""
    wide = ir.ConstFloat(0.1, D.FP32)
    found = check(on_tensors(tensor_math.mul_scalar, ([16, 32], D.FP16), rest=(wide,)))
    assert len(found.stmts) == 1
    found = check(on_tensors(tensor_math.add_scalar, ([16, 32], D.FP32), rest=(ir.ConstInt(3),)))
    assert str(found.value).endswith(", 3.0)")
    n = ir.Var("n", ir.ScalarType(D.INT32))
    made = on_tensors(tensor_math.add_scalar, ([16, 32], D.FP32), rest=(n,))
    result = converted(made, [ir.Var("t", ir.TileType([16, 32], D.FP32)), n])
    assert result is not None
    assert str(result.value) == "pl.block.adds(t, pl.cast(n, pl.FP32))"


@pytest.mark.parametrize("dtype", [D.FP32, D.FP16, D.INT32])
def test_exp(dtype: DataType) -> None:
    """Integers are cast to FP32 first."""
    found = check(on_tensors(tensor_math.exp, ([16, 32], dtype)))
    assert len(found.stmts) == int(dtype is D.INT32)


@pytest.mark.parametrize(("source", "target"), [(D.FP32, D.FP16), (D.FP32, D.INT32)])
def test_cast(source: DataType, target: DataType) -> None:
    """The rounding mode is passed on."""
    made = tensor_math.cast.build(
        (ir.Var("x", ir.TensorType([16, 32], source)),),
        {"target_type": target, "mode": "floor"},
        SPAN,
    )
    found = check(made)
    assert isinstance(found.value, ir.Call)
    assert found.value.kwargs["mode"] == 3


def test_cast_to_the_same_type() -> None:
    """A cast that changes nothing is the tile itself."""
    made = on_tensors(tensor_math.cast, ([16, 32], D.FP32), rest=(D.FP32,))
    tile = ir.Var("t", ir.TileType([16, 32], D.FP32))
    found = converted(made, [tile])
    assert found is not None
    assert found.value is tile


@pytest.mark.parametrize("dtype", [D.FP32, D.FP16, D.INT32, D.INT8])
def test_transpose(dtype: DataType) -> None:
    """The scratch tile that the instruction needs is created."""
    found = check(on_tensors(tensor_math.transpose, ([32, 64], dtype), rest=(0, 1)))
    assert len(found.stmts) == 1


def test_reshape() -> None:
    """The shape is passed on."""
    assert check(on_tensors(tensor_math.reshape, ([16, 32], D.FP32), rest=([8, 64],))).stmts == ()


OF_BITS = [
    *("tensor.and", "tensor.ands", "tensor.or", "tensor.ors", "tensor.xor", "tensor.xors"),
    *("tensor.shl", "tensor.shls", "tensor.shr", "tensor.shrs"),
]


LINE_CASES = {case.op.name: case for case in LINES}


@pytest.mark.parametrize("name", list(CONVERSIONS))
def test_operands_are_tiles(name: str) -> None:
    """Operands that are still tensors are rejected, at the location of the call."""
    op: Any = ir.get_op(name)
    case = LINE_CASES.get(name)
    rest = {
        tensor_math.cast: (D.FP16,),
        tensor_math.transpose: (0, 1),
        tensor_math.reshape: ([512],),
    }.get(op, (2.0,) if op in WITH_NUMBER else ())
    dtype = D.INT32 if op.name in ("tensor.not", *OF_BITS) else D.FP32
    if op.operands[-1].kind == SCALAR and not rest:
        rest = (ir.ConstInt(2, dtype) if dtype is D.INT32 else 2.0,)
    kinds = [([16, 32], dtype)] * sum(p.kind == TENSOR for p in op.operands)
    words: dict[str, Any] | None = None
    if case is not None and case.shapes[0] and not rest:
        words = dict(case.attrs)
        kinds = [(list(shape), case.dtypes[0]) for shape in case.shapes[0]]
        if name == "tensor.sort32":
            kinds[1] = (kinds[1][0], D.UINT32)
    with pytest.raises(OpError) as caught:
        converted(on_tensors(op, *kinds, rest=rest, words=words))
    assert caught.value.slug == "argument-kind"
    assert caught.value.location is SPAN
