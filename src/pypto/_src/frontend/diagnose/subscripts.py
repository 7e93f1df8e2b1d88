"""Subscripts of other libraries: masks, lists of indices, and indices in brackets of their own."""

from __future__ import annotations

import ast

from pypto._src.frontend.diagnose.absent_ops import ABSENT
from pypto._src.frontend.diagnose.calls_elsewhere import selected
from pypto._src.frontend.state.context import Context
from pypto._src.ir.array_types import ShapedType, TensorType, TileType
from pypto._src.ir.exprs import Expr
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt


def by_tile(ctx: Context, node: ast.Subscript, index_node: ast.expr, index: Expr) -> str:
    """Return what is meant by a mask, or by indices, in brackets."""
    if not _is_mask(ctx, index_node, index):
        return ABSENT["mgather"].hint
    mask, base = ctx.source.text(index_node), node.value
    if not isinstance(base, ast.Name) or not isinstance(ctx.value(base).type, TileType):
        return f"choose elements with pl.sel({mask}, ..., ...)"
    for stmt in ast.walk(ctx.home.node) if index_node is node.slice else ():
        if isinstance(stmt, ast.Assign) and stmt.targets == [node]:
            return f"write {base.id} = {selected(ctx, index_node, stmt.value, base)}"
    return f"a tile keeps its shape: choose with pl.sel({mask}, {base.id}, ...)"


def _is_mask(ctx: Context, node: ast.expr, index: Expr) -> bool:
    """True if an index is what a comparison gives; it has the element type of what is compared."""
    assert isinstance(index.type, ShapedType)
    if not index.type.dtype.is_int():
        return True
    stmts = [stmt for stmt in ctx.block if isinstance(stmt, AssignStmt)]
    op = op_of(next((stmt.value for stmt in stmts if stmt.var is index), index))
    return any(isinstance(each, ast.Compare) for each in ast.walk(node)) or (
        op is not None and op.overload == "cmp"
    )


def joined(ctx: Context, node: ast.Subscript) -> tuple[ast.Subscript, str] | None:
    """Return ``t[0][0]`` around ``t[0]``, and all its indices in one pair of brackets."""
    indices, outer = [node.slice], node
    parents = {
        each.value: each for each in ast.walk(ctx.home.node) if isinstance(each, ast.Subscript)
    }
    while outer in parents:
        outer = parents[outer]
        indices.append(outer.slice)
    kind = ctx.value(node.value).type
    if len(indices) != len(kind.shape) or outer is node:
        return None
    if any(isinstance(each, ast.Slice | ast.Tuple) for each in indices):
        return None
    texts = ", ".join(map(ctx.source.text, indices))
    whole = f"{ctx.source.text(node.value)}[{texts}]"
    is_input = isinstance(kind, TensorType) and ctx.value(node.value) in ctx.inputs
    if is_input and isinstance(outer.ctx, ast.Store):
        return outer, f"an input is not written; for an output, the element is {whole}"
    return outer, f"write {whole}"
