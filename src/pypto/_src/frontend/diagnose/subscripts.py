"""Subscripts of other libraries: masks, lists of indices, and indices in brackets of their own."""

from __future__ import annotations

import ast

from pypto._src.frontend.diagnose.absent_ops import ABSENT
from pypto._src.frontend.diagnose.calls_elsewhere import selected
from pypto._src.frontend.state.context import Context
from pypto._src.ir.array_types import ShapedType, TileType
from pypto._src.ir.exprs import Expr


def by_tile(ctx: Context, node: ast.Subscript, index: Expr) -> str | None:
    """Return what is meant by a mask, or by indices, in brackets."""
    kind = ctx.value(node.value).type
    assert isinstance(index.type, ShapedType)
    if index.type.dtype.is_int():
        return ABSENT["mgather"].hint
    if not isinstance(kind, TileType) or not isinstance(node.value, ast.Name):
        return None
    for stmt in ast.walk(ctx.home.node):
        if isinstance(stmt, ast.Assign) and stmt.targets == [node]:
            chosen = selected(ctx, node.slice, stmt.value, node.value)
            return f"write {node.value.id} = {chosen}"
    mask = ctx.source.text(node.slice)
    return f"a tile keeps its shape: choose with pl.sel({mask}, {node.value.id}, ...)"


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
    return outer, f"write {ctx.source.text(node.value)}[{texts}]"
