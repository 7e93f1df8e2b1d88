"""Lists of numbers, ``counts = pl.array.create(4, pl.INT32)``, whose items are read and assigned.

A list is a small tensor in memory that is initialized to zeros. So its items can be indexed by
numbers known only at run time, in loops and branches, and inlined functions change the list of
their caller.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe
from pypto._src.frontend.state.scope import OF_THE_FUNCTION
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.exprs import Cast, ConstInt, Expr, Ne, Var, as_expr, binary
from pypto._src.ir.stmts import AssignStmt, EvalStmt
from pypto._src.ir.types import ScalarType
from pypto._src.ops import tensor
from pypto._src.ops.define import BY_PYTHON_NAME

_HELD_AS: Final = {DataType.BOOL: DataType.INT32, DataType.INDEX: DataType.INT64}
"""Element types that can be kept in memory, as those to store them with."""


class Numbers:
    """A list of numbers, and the tensor that holds it."""

    def __init__(self, size: int, dtype: DataType, held: Var) -> None:
        self.size = size
        self.dtype = dtype
        self.held = held

    def __repr__(self) -> str:
        return f"a list of {self.size} numbers of {self.dtype.member}"


OF_THE_FUNCTION.add(Numbers)


def create(ctx: Context, size: int, dtype: DataType, node: ast.Call) -> Numbers:
    """Return a new list of zeros."""
    kind = _HELD_AS.get(dtype, dtype)
    made = tensor.create.build(([size], kind), {}, ctx.span(node))
    held = Var("array", made.type, made.span)
    block = ctx.block if ctx.region is None else ctx.region.before
    block.append(AssignStmt(held, made, made.span))
    numbers = Numbers(size, dtype, held)
    for index in range(size):
        _write(ctx, numbers, index, ConstInt(0, kind), node)
    return numbers


def item(ctx: Context, numbers: Numbers, index: Any, node: ast.AST) -> Expr:
    """Return an item with its present value."""
    read = tensor.read.build((numbers.held, [index]), {}, ctx.span(node))
    value = Var("item", read.type, read.span)
    ctx.append(value, read, read.span)  # a later assignment does not change what is read here
    if numbers.dtype is DataType.BOOL:
        return binary(Ne, value, ConstInt(0, DataType.INT32), read.span)
    return value if dtype_of(value) is numbers.dtype else Cast(value, numbers.dtype, read.span)


def write_item(
    ctx: Context, numbers: Numbers, index: Any, value: Any, target: ast.Subscript
) -> None:
    """Append ``counts[i] = value``.

    Raises:
        ParserTypeError: the value is no integer.
    """
    is_number = isinstance(value, int) or (
        isinstance(value, Expr)
        and isinstance(value.type, ScalarType)
        and not value.type.dtype.is_float()
    )
    if not is_number:
        raise ParserTypeError(
            f"{numbers} holds integers, got {describe(value)}",
            ctx.span(target),
            hint=f"write {ctx.source.text(target)} = pl.cast(value, pl.{numbers.dtype.member})",
            slug="array",
        )
    kind = _HELD_AS.get(numbers.dtype, numbers.dtype)
    expr = ConstInt(int(value), kind) if isinstance(value, int) else as_expr(value)
    if isinstance(expr.type, ScalarType) and expr.type.dtype is not kind:
        expr = Cast(expr, kind, ctx.span(target))
    _write(ctx, numbers, index, expr, target)


def _write(ctx: Context, numbers: Numbers, index: Any, value: Expr, node: ast.AST) -> None:
    op = BY_PYTHON_NAME["tensor", "write"]
    written = op.build((numbers.held, [index], value), {}, ctx.span(node))
    ctx.block.append(EvalStmt(written, written.span))
