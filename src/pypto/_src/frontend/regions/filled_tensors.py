"""Tensors that are filled when created, ``pl.create_tensor([64, 64], pl.FP32, init_value=0)``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.frontend.state.context import Context
from pypto._src.ir.enums import ForKind, ScopeKind
from pypto._src.ir.exprs import ConstInt, Expr, Min, Mul, Sub, Var, as_expr, binary
from pypto._src.ir.stmts import AssignStmt, EvalStmt, ForStmt, ScopeStmt, Stmt, seq
from pypto._src.ir.types import scalar_type
from pypto._src.ops import elementwise, memory, new_tiles, tensor
from pypto._src.ops.define import BY_PYTHON_NAME

_BLOCK: Final = 32
_MOST_COLUMNS: Final = 2048
_MOST_BYTES: Final = 64 * 1024


def filled(ctx: Context, shape: Sequence[Any], dtype: DataType, value: Any, span: Span) -> Expr:
    """Return a new tensor filled with a value, by a region of its own."""
    made = tensor.create.build((list(shape), dtype), {}, span)
    var = Var("filled", made.type, span)
    ctx.append(var, made, span)
    element = max(1, dtype.get_bit() // 8)
    constant = math.prod(size for size in shape if isinstance(size, int))
    columns = _columns(constant, element)
    others = [size for size in shape if not isinstance(size, int)]
    rows: Any = constant // columns
    for size in others:
        rows = size if rows == 1 else binary(Mul, as_expr(rows), size)
    most = max(1, _MOST_BYTES // (columns * max(element, filling_type(dtype).get_bit() // 8)))
    reshaped = tensor.reshape_view.build((var, [rows, columns]), {}, span)
    view = Var("rows", reshaped.type, span)
    stmts: list[Stmt] = [AssignStmt(view, reshaped, span)]
    index = Var("row", scalar_type(DataType.INDEX), span)

    def loop(end: Any, step: int, body: Sequence[Stmt]) -> None:
        bounds = (ConstInt(0), as_expr(end), ConstInt(step))
        stmts.append(ForStmt(index, *bounds, (), seq(body, span), (), span, ForKind.Sequential))

    if isinstance(rows, int):
        step = min(rows, most)
        whole = rows // step * step
        loop(whole, step, _stored(view, index, [step, columns], (dtype, value), span))
        if whole < rows:
            stmts += _stored(view, whole, [rows - whole, columns], (dtype, value), span)
    else:
        left = binary(Min, ConstInt(most), binary(Sub, rows, index))
        count = Var("count", left.type, span)
        part = (dtype, value)
        body = _stored(view, index, [most, columns], part, span, [count, ConstInt(columns)])
        loop(rows, most, [AssignStmt(count, left, span), *body])
    ctx.block.append(ScopeStmt(ScopeKind.InCore, seq(stmts, span), span))
    return var


def filling_type(dtype: DataType) -> DataType:
    """Return the element type to fill a tile with before a cast: not all types can be filled."""
    if dtype in (DataType.INT8, DataType.UINT8):
        return DataType.FP16
    return DataType.FP32 if dtype is DataType.BF16 else dtype


def _columns(count: int, element: int) -> int:
    """Return the number of columns for so many elements, in rows of whole blocks if possible."""
    found = [
        size
        for size in range(1, min(count, _MOST_COLUMNS) + 1)
        if count % size == 0 and size * element % _BLOCK == 0
    ]
    return found[-1] if found else count


def _stored(
    view: Var,
    row: Any,
    sizes: list[int],
    filling: tuple[DataType, Any],
    span: Span,
    valid: list[Expr] | None = None,
) -> list[Stmt]:
    """Return the statements that fill rows of a tensor; with ``valid``, only so many of them."""
    dtype, value = filling
    kind = filling_type(dtype)
    stmts: list[Stmt] = []

    def held(made: Expr) -> Var:
        tile = Var("part", made.type, span)
        stmts.append(AssignStmt(tile, made, span))
        return tile

    tile = held(new_tiles.full.build((sizes, kind, value), {}, span))
    if kind is not dtype:
        tile = held(elementwise.cast.build((tile, dtype), {}, span))
    if valid is not None:
        mark = BY_PYTHON_NAME["block", "set_validshape"]
        tile = held(mark.build((tile, valid), {}, span))
    stored = memory.store.build((tile, [row, 0], valid or sizes, view), {}, span)
    return [*stmts, EvalStmt(stored, span)]
