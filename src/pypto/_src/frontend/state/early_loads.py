"""Tensors that a loop or branch of a region turns into tiles: they are loaded in advance.

That a name is a tensor before a statement and a tile inside it is found only when the statement is
parsed. It is then parsed again, after the load.
"""

from __future__ import annotations

import ast
from typing import Any

from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.state.live_names import live_after, read_names
from pypto._src.ir.stmts import Stmt


def again(ctx: Any, node: ast.stmt, name: str, before: Stmt | None) -> None:
    """Parse a statement again, after loading the tensor ``name``; it comes after ``before``.

    If the tensor's contents are not read, the name starts afresh in the statement.
    """
    region = ctx.region
    # Loads and copies may have been inserted since, so the number of statements before is unknown.
    at = (index for index, stmt in enumerate(ctx.block) if stmt is before)
    del ctx.block[next(at, -1) + 1 :]
    region.forget_copies(ctx.block)
    region.was_parsed_twice = True
    first, last = ctx.span(node).begin_line, ctx.span(node).end_line
    found = ctx.errors.found
    found[:] = [e for e in found if not first <= e.location.begin_line <= last]
    value = ctx.names.values[name]
    if name in live_after(ctx, node) or name in read_names([node]):
        ctx.assign(name, region.operand(ctx, value, node), node)
    else:
        ctx.names.bind(name, MISSING)
    ctx.run([node])
