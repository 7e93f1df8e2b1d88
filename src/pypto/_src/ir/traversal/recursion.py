"""Room to recurse over statements that are nested deeper than Python's recursion limit."""

from __future__ import annotations

import sys
from _thread import allocate_lock  # that of `threading`, which takes 1 ms to import
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeVar

from pypto._src.ir.array_types import exprs_of_type
from pypto._src.ir.exprs import Expr, IRNode
from pypto._src.ir.stmts import Function, Program, Stmt
from pypto._src.ir.traversal.walk import OPERANDS, VALUES, children

T = TypeVar("T")

_CALLS: Final = 40
"""More nested Python calls than one rewrite makes for one level of statements."""


def with_room(action: Callable[[], T], root: IRNode) -> T:
    """Return ``action()``, which recurses over the statements of ``root`` and can be restarted.

    Python's recursion limit is raised only if it was too low, and while that is needed. The
    calls are Python's own, which do not use up the stack of the thread.
    """
    try:
        return action()
    except RecursionError:
        depth = nesting(root)
    with room(depth):
        return action()


@contextmanager
def room(depth: int) -> Generator[None, None, None]:
    """Raise Python's recursion limit as `with_room` does, for statements ``depth`` deep."""
    with _Room.lock:
        if not _Room.users:
            _Room.before = sys.getrecursionlimit()
        _Room.users += 1
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _Room.before + depth * _CALLS))
    try:
        yield
    finally:
        with _Room.lock:
            _Room.users -= 1
            if not _Room.users:
                sys.setrecursionlimit(_Room.before)


class _Room:
    """The number of threads that need a higher recursion limit now, and the original limit."""

    lock = allocate_lock()
    users = 0
    before = 0


def nesting(root: IRNode) -> int:
    """Return the greatest nesting depth of statements plus that of operators and calls in them."""
    deepest = 0
    heights: dict[int, int] = {}  # of expressions, by identity
    stack: list[tuple[IRNode, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, Expr):
            if node.__class__ not in VALUES:
                depth += _height(node, heights)
        elif isinstance(node, Stmt | Function | Program):
            stack += [(child, depth + 1) for child in children(node)]
            if isinstance(node, Function):
                dims = (dim for param in node.params for dim in exprs_of_type(param.type))
                stack += [(dim, depth + 1) for dim in dims]
        else:
            continue
        deepest = max(deepest, depth)
    return deepest


def _height(root: Expr, known: dict[int, int]) -> int:
    """Return the greatest nesting depth of operators and calls in an expression."""
    stack: list[IRNode] = [root]
    while stack:
        node = stack[-1]
        operands = OPERANDS[node.__class__]
        parts = () if operands is None else operands(node)
        below = [part for part in parts if OPERANDS[part.__class__] is not None]
        pending = [part for part in below if id(part) not in known]
        if pending:
            stack += pending
        else:
            known[id(node)] = max((known[id(part)] + 1 for part in below), default=0)
            stack.pop()
    return known[id(root)]
