"""Integer divisions by a constant zero: each fails whenever it runs.

A division guarded by a constant, as in ``if WIDTH > 0: n // WIDTH``, does not run. So the front end
notes such divisions while it reads a function, and afterwards looks for those that may run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pypto._src.errors import ParserError, ParserTypeError
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.exprs import And, BinaryExpr, ConstBool, Expr, IRNode, Or, const_value
from pypto._src.ir.scalar_ops import BINARY
from pypto._src.ir.stmts import ForStmt, IfStmt, Stmt, WhileStmt
from pypto._src.ir.traversal.walk import child_list

_DIVIDING: Final[Mapping[type, str]] = {
    node: node.symbol for node, row in BINARY.items() if row.divides
}
"""Operators that fail on integers if the second operand is zero."""


def zero_divisions(body: Stmt) -> Iterator[ParserError]:
    """Yield an error for each division by zero, unless a constant keeps it from running."""
    seen: set[int] = set()
    todo: list[IRNode] = [body]
    while todo:
        node = todo.pop()
        if id(node) in seen:  # operands may be shared
            continue
        seen.add(id(node))
        if isinstance(node, BinaryExpr) and _fails(node):
            symbol = _DIVIDING[type(node)]
            message = f"{symbol!r} by a constant that is zero fails whenever it runs"
            yield ParserTypeError(message, node.span, slug="division-by-zero")
        todo += reversed(_run(node))


def _fails(node: BinaryExpr) -> bool:
    return type(node) in _DIVIDING and const_value(node.right) == 0 and dtype_of(node.left).is_int()


def _run(node: IRNode) -> Sequence[IRNode]:
    """Return the parts of a node, without those that a constant keeps from running."""
    if isinstance(node, IfStmt):
        parts: list[IRNode] = [node.condition]
        if not _has(node.condition, And, False):
            parts.append(node.then_body)
        if node.else_body is not None and not _has(node.condition, Or, True):
            parts.append(node.else_body)
        return parts
    if isinstance(node, And | Or) and _has(node.left, type(node), isinstance(node, Or)):
        return ()
    if isinstance(node, WhileStmt) and _has(node.condition, And, False):
        return node.iter_args
    if isinstance(node, ForStmt):
        start, stop = const_value(node.start), const_value(node.stop)
        if start is not None and stop is not None and start >= stop:
            return node.iter_args
    return child_list(node)


def _has(condition: Expr, kind: type[And | Or], value: bool) -> bool:
    """True if a term in a chain of ``and``, or of ``or``, is a constant that decides it."""
    todo = [condition]
    while todo:
        term = todo.pop()
        if isinstance(term, kind):
            todo += (term.left, term.right)
        elif isinstance(term, ConstBool) and term.value is value:
            return True
    return False
