"""Products of vectors and of stacks of matrices in regions, as products of matrices, one by one.

What is not a matrix becomes one in memory: a stack [.., M, K] the rows [.. * M, K], a vector a
single row. The products are stored one below the other in a tensor of the region's own, and a
reshaped view of it has the shape that the op gives to the product.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError
from pypto._src.frontend.regions.product_operands import (
    Matrix,
    assigned,
    in_vector_memory,
    own_tensor,
    plus,
    scratch,
)
from pypto._src.frontend.regions.products import (
    MOST_LOADED,
    gathered_product,
    matmul_arguments,
    product_of_matrices,
)
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe
from pypto._src.frontend.syntax.annotations import plain_dims
from pypto._src.frontend.syntax.calls import op_call
from pypto._src.ir.array_types import TensorType, TileType, static_shape, valid_part
from pypto._src.ir.exprs import ConstInt, Expr, Mul, Var, binary, const_value
from pypto._src.ir.stmts import AssignStmt, ForStmt, seq
from pypto._src.ir.types import scalar_type
from pypto._src.ops import memory, tensor, tensor_math


def matmul(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return ``pl.matmul(lhs, rhs, ...)`` of matrices, vectors or stacks of matrices."""
    given = matmul_arguments(ctx, args, kwargs, node)
    if given is None:
        return None
    lhs, rhs = given["lhs"], given["rhs"]
    if all(_rank(operand) in (None, 2) for operand in (lhs, rhs)):
        return product_of_matrices(ctx, given, node)
    left, right = (_in_memory(ctx, operand, lhs, rhs, node) for operand in (lhs, rhs))
    words = {key: value for key, value in given.items() if key not in ("lhs", "rhs")}
    shape = _shape_of_product(ctx, left, right, words, node)
    made = _products(ctx, _Stack(ctx, left, node), _Stack(ctx, right, node), words, shape, node)
    view = assigned(ctx, op_call(ctx, tensor.reshape_view, (made, shape), {}, node))
    assert isinstance(made.type, TensorType)
    if math.prod(shape) * made.type.dtype.bytes > MOST_LOADED:
        return view  # later it is stored elsewhere, in parts
    tile = assigned(ctx, op_call(ctx, memory.load, (view, [0] * len(shape), shape), {}, node))
    assert ctx.region is not None
    ctx.region.products.add(tile)
    return tile


def _rank(value: Any) -> int | None:
    kind = value.type if isinstance(value, Expr) else None
    return len(kind.shape) if isinstance(kind, TensorType | TileType) else None


def _in_memory(ctx: Context, value: Any, lhs: Any, rhs: Any, node: ast.Call) -> Expr:
    """Return an operand as a tensor of constant size: a tile is stored in one."""
    kind = value.type if isinstance(value, Expr) else None
    if isinstance(kind, TileType) and valid_part(kind) is None:
        return scratch(ctx, in_vector_memory(ctx, value, node), node)
    if isinstance(kind, TensorType) and static_shape(kind) is not None:
        return value
    if isinstance(kind, TileType):
        raise ParserTypeError(
            f"a product of vectors or of a stack takes whole operands, of {describe(value)} a part "
            "is valid",
            ctx.span(node),
            hint="fill the tile before: pl.fillpad(...)",
            slug="product-operand",
        )
    raise ParserTypeError(
        f"a product is of vectors, matrices and stacks of constant size, got {describe(value)}",
        ctx.span(node),
        hint=_in_a_loop(ctx, lhs, rhs, node) or "take a part of constant size, as in x[0:16, :]",
        slug="product-operand",
    )


def _texts(ctx: Context, node: ast.AST) -> tuple[str, str] | None:
    """Return the text of a product's two operands, None if one is given by keyword."""
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        left, right = node.args[:2]
    elif isinstance(node, ast.BinOp):
        left, right = node.left, node.right
    else:
        return None
    return ctx.source.text(left), ctx.source.text(right)


def _in_a_loop(ctx: Context, lhs: Any, rhs: Any, node: ast.AST) -> str | None:
    """Suggest a loop over stacks whose size is known only at run time."""
    texts = _texts(ctx, node)
    ranks = _rank(lhs), _rank(rhs)
    if texts is None or not set(ranks) <= {2, 3}:
        return None
    if None in map(const_value, (*lhs.type.shape[-2:], *rhs.type.shape[-2:])):
        return None
    matrices = [
        f"{text}[b, :, :]" if rank == 3 else text for text, rank in zip(texts, ranks, strict=True)
    ]
    count = f"{texts[ranks.index(3)]}.shape[0]"
    return f"multiply them one by one, for b in pl.range({count}): pl.matmul({', '.join(matrices)})"


def _shape_of_product(
    ctx: Context, lhs: Expr, rhs: Expr, words: Mapping[str, Any], node: ast.Call
) -> tuple[int, ...]:
    """Return the shape that the op gives to the product of two tensors."""
    kind = op_call(ctx, tensor_math.matmul, (lhs, rhs), words, node).type
    assert isinstance(kind, TensorType)
    shape = static_shape(kind)
    assert shape is not None
    if not shape:
        raise ParserTypeError(
            "a product of two vectors is a number, which the matrix unit cannot return",
            ctx.span(node),
            hint=_as_a_row(ctx, lhs, node),
            slug="product-operand",
        )
    return tuple(shape)


def _as_a_row(ctx: Context, vector: Expr, node: ast.AST) -> str | None:
    """Suggest the product of two vectors with a result of one element instead of a number."""
    texts = _texts(ctx, node)
    if texts is None:
        return None
    assert isinstance(vector.type, TensorType)
    row = f"pl.reshape({texts[0]}, {[1, *plain_dims(vector.type.shape)]})"
    return f"write pl.matmul({row}, {texts[1]})"


class _Stack:
    """Matrices stacked one below the other in a tensor of two dimensions."""

    def __init__(self, ctx: Context, source: Expr, node: ast.Call) -> None:
        kind = source.type
        assert isinstance(kind, TensorType)
        shape = plain_dims(kind.shape)
        self.ctx = ctx
        self.is_vector = len(shape) == 1
        self.batch: tuple[int, ...] = tuple(shape[:-2])
        self.sizes: list[int] = [1, *shape] if self.is_vector else shape[-2:]
        rows = math.prod(self.batch) * self.sizes[0]
        flat = [rows, self.sizes[1]]
        is_flat = shape == flat
        view = op_call(ctx, tensor.reshape_view, (source, flat), {}, node)
        self.rows = source if is_flat else assigned(ctx, view)

    def matrix(self, at: Sequence[Any]) -> Matrix:
        """Return the matrix at an index of the broadcast batch."""
        own = at[len(at) - len(self.batch) :]
        begin = _begin(own, self.batch, self.sizes[0])
        return Matrix(self.ctx, self.rows, [begin, 0], self.sizes, None, None)


def _begin(at: Sequence[Any], batch: Sequence[int], rows: int) -> Any:
    """Return the first row of the matrix at an index; a dimension of 1 is broadcast."""
    begin: Any = 0
    for index, size in zip(reversed(at), reversed(batch), strict=True):
        if size > 1:
            step = index * rows if isinstance(index, int) else binary(Mul, index, ConstInt(rows))
            begin = plus(step, begin)
        rows *= size
    return begin


def _products(
    ctx: Context,
    lhs: _Stack,
    rhs: _Stack,
    words: Mapping[str, Any],
    shape: Sequence[int],
    node: ast.Call,
) -> Expr:
    """Return a tensor of two dimensions with all products, one below the other."""
    a_trans = bool(words.get("a_trans")) and not lhs.is_vector  # it is a row already
    b_trans = bool(words.get("b_trans")) or rhs.is_vector  # a row that has to be a column
    rows, columns = lhs.sizes[1 if a_trans else 0], rhs.sizes[0 if b_trans else 1]
    batch = shape[: len(shape) - (not lhs.is_vector) - (not rhs.is_vector)]
    assert isinstance(lhs.rows.type, TensorType)
    summed = DataType.FP32 if lhs.rows.type.dtype.is_float() else DataType.INT32
    held = own_tensor(ctx, (math.prod(batch) * rows, columns), summed, node)

    def one(at: Sequence[Any], target: Expr) -> Expr:
        operands = lhs.matrix(at), rhs.matrix(at)
        begins = [_begin(at, batch, rows), 0]
        return gathered_product(ctx, operands, (a_trans, b_trans), target, begins, node)

    return _each(ctx, batch, one, held, node)


def _each(
    ctx: Context,
    batch: Sequence[int],
    body: Callable[[Sequence[Any], Expr], Expr],
    target: Expr,
    node: ast.Call,
    at: tuple[Any, ...] = (),
) -> Expr:
    """Call ``body`` for each index of a batch, in loops; return the tensor after all calls."""
    if not batch:
        return body(at, target)
    size, *inner = batch
    if size <= 2 or ctx.strict_ssa:
        for index in range(size):
            target = _each(ctx, inner, body, target, node, (*at, index))
        return target
    span = ctx.span(node)
    held = assigned(ctx, target)
    ctx.follow(held, target)
    counter = Var("_batch", scalar_type(DataType.INDEX), span)
    outside, ctx.block = ctx.block, []
    ctx.block.append(
        AssignStmt(held, _each(ctx, inner, body, held, node, (*at, counter)), span),
    )
    made, ctx.block = seq(ctx.block, span), outside
    ctx.block.append(ForStmt(counter, 0, size, 1, (), made, (), span))
    return held
