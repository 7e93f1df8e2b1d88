"""Which statements of a region compute in the vector unit, found before they are parsed.

A sum of products in Acc memory does not survive vector work, so the loop has to know it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

from pypto._src.frontend.state.context import Context
from pypto._src.frontend.syntax.inline import InlineFunction
from pypto._src.ir.enums import PipeType
from pypto._src.ops.define import BY_PYTHON_NAME


def adds_up_beside_vector_work(ctx: Context, name: str, body: Sequence[ast.stmt]) -> bool:
    """True if a body adds products to the earlier value of a name, and also does vector work."""
    return _is_carried(name, body) and _does_vector_work(ctx, body)


def _is_carried(name: str, body: Sequence[ast.stmt]) -> bool:
    """True if a body's first assignment to a name is not a new product."""
    for stmt in body:
        made = [inner for inner in ast.walk(stmt) if _assigns(inner, name)]
        if made:
            return made[0] is not stmt or _reads(made[0], name)
    return False


def _assigns(stmt: ast.AST, name: str) -> bool:
    if not isinstance(stmt, ast.Assign):
        return False
    return any(isinstance(target, ast.Name) and target.id == name for target in stmt.targets)


def _reads(stmt: ast.AST, name: str) -> bool:
    return any(
        isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load)
        for inner in ast.walk(stmt)
    )


def _does_vector_work(ctx: Context, body: Sequence[ast.stmt]) -> bool:
    """True if statements call ops of the vector unit, also in functions that are inlined."""
    pending: list[tuple[Callable[[str], Any], Sequence[ast.stmt]]]
    pending = [(lambda name: ctx.peek(ast.Name(name, ast.Load())), body)]
    seen: set[InlineFunction] = set()
    for lookup, stmts in pending:  # grows as functions are found
        for node in (inner for stmt in stmts for inner in ast.walk(stmt)):
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Attribute) and _is_of_vector_unit(node, node.func.attr):
                return True
            found = lookup(node.func.id) if isinstance(node.func, ast.Name) else None
            if isinstance(found, InlineFunction) and found not in seen:
                seen.add(found)
                pending.append((found.environment.get, found.func_def.body))
    return False


def _is_of_vector_unit(node: ast.Call, name: str) -> bool:
    """True for a call whose name is that of a vector op; scalars share some of these names."""
    if name in _NOT_ALWAYS:
        words = [inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)]
        return name == "cast" and not _NARROW.isdisjoint(words)
    op = BY_PYTHON_NAME.get(("block", name))
    return op is not None and op.pipe_rule is PipeType.V


_NOT_ALWAYS: Final = frozenset({"cast", "const", "max", "min"})
_NARROW: Final = frozenset({"BF16", "FP16", "INT8"})
"""Element types to which only tiles are cast."""
