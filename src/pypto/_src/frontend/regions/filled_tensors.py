"""Tensors that begin with a value, ``pl.create_tensor([64, 64], pl.FP32, init_value=0)``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.ir.enums import ForKind, ScopeKind
from pypto._src.ir.exprs import ConstInt, Expr, Var
from pypto._src.ir.stmts import AssignStmt, EvalStmt, ForStmt, ScopeStmt, Stmt, seq
from pypto._src.ir.types import scalar_type
from pypto._src.ops import memory, new_tiles, tensor

_BLOCK: Final = 32
_MOST_COLUMNS: Final = 2048
_MOST_BYTES: Final = 64 * 1024


def filled(ctx: Context, shape: Sequence[Any], dtype: DataType, value: Any, span: Span) -> Expr:
    """Return a new tensor with a value throughout: made, and filled by a region of its own.

    Raises:
        ParserTypeError: its size is known only at run time.
    """
    made = tensor.create.build((list(shape), dtype), {}, span)
    var = Var("filled", made.type, span)
    ctx.append(var, made, span)
    sizes = [size for size in shape if isinstance(size, int)]
    if len(sizes) != len(shape):
        raise ParserTypeError(
            "a tensor that begins with a value has a size that is known when it is compiled",
            span,
            hint="leave init_value out, and write it in a region",
            slug="init-value",
        )
    count = math.prod(sizes)
    columns = _columns(count, max(1, dtype.get_bit() // 8))
    rows = count // columns
    step = max(1, min(rows, _MOST_BYTES // (columns * max(1, dtype.get_bit() // 8))))
    view = Var("rows", tensor.reshape_view.build((var, [rows, columns]), {}, span).type, span)
    stmts: list[Stmt] = [
        AssignStmt(view, tensor.reshape_view.build((var, [rows, columns]), {}, span), span)
    ]
    whole = rows // step * step
    index = Var("row", scalar_type(DataType.INDEX), span)
    body = _stored(view, index, step, columns, (dtype, value), span)
    bounds = (ConstInt(0), ConstInt(whole), ConstInt(step))
    stmts.append(ForStmt(index, *bounds, (), seq(body, span), (), span, ForKind.Sequential))
    if whole < rows:
        stmts += _stored(view, whole, rows - whole, columns, (dtype, value), span)
    ctx.block.append(ScopeStmt(ScopeKind.InCore, seq(stmts, span), span))
    return var


def _columns(count: int, element: int) -> int:
    """Return into how many columns the elements go: rows of whole blocks, if there are such."""
    found = [
        size
        for size in range(1, min(count, _MOST_COLUMNS) + 1)
        if count % size == 0 and size * element % _BLOCK == 0
    ]
    return found[-1] if found else count


def _stored(
    view: Var, row: Any, rows: int, columns: int, filling: tuple[DataType, Any], span: Span
) -> list[Stmt]:
    dtype, value = filling
    made = new_tiles.full.build(([rows, columns], dtype, value), {}, span)
    tile = Var("part", made.type, span)
    stored = memory.store.build((tile, [row, 0], [rows, columns], view), {}, span)
    return [AssignStmt(tile, made, span), EvalStmt(stored, span)]
