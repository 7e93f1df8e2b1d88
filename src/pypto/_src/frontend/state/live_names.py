"""Which names of a Python function are read after one of its statements.

Goes backwards through the syntax tree, once a loop nest. Knows names, and what the statements of
Python do with them; nothing of kernels.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any


class LiveNames:
    """The names that are read after each statement of some classes before they are assigned."""

    def __init__(self, body: Sequence[ast.stmt], wanted: tuple[type[ast.stmt], ...]) -> None:
        self._wanted = wanted
        self._after: dict[ast.stmt, frozenset[str]] = {}
        self._end: dict[ast.stmt, frozenset[str]] = {}  # where an iteration of a loop ends
        # By loop, what an iteration reads before it assigns it; not all over for each loop around.
        self._first: dict[ast.stmt, frozenset[str]] = {}
        self.before = self._block(body, frozenset())

    def after(self, node: ast.stmt) -> frozenset[str]:
        """Return the names that are read after ``node``."""
        return self._after.get(node, frozenset())

    def at_end(self, node: ast.For | ast.While) -> frozenset[str]:
        """Return the names that are read after an iteration of a loop: by the next, or later."""
        return self._end.get(node, frozenset())

    def _block(self, body: Sequence[ast.stmt], live: frozenset[str]) -> frozenset[str]:
        for node in reversed(body):
            if isinstance(node, self._wanted):
                self._after[node] = live | self._after.get(node, frozenset())
            live = self._before(node, live)
        return live

    def _before(self, node: ast.stmt, live: frozenset[str]) -> frozenset[str]:
        match node:
            case ast.If():
                arms = self._block(node.body, live) | self._block(node.orelse, live)
                return arms | _read(node.test)
            case ast.For():
                target = _stored(node.target)
                later = live | (self._iteration(node) - target)
                self._end[node] = later | self._end.get(node, frozenset())
                return live | (self._block(node.body, later) - target) | _read(node.iter)
            case ast.While():
                later = live | self._iteration(node) | _read(node.test)
                self._end[node] = later | self._end.get(node, frozenset())
                return live | self._block(node.body, later) | _read(node.test)
            case ast.With():
                items = [item.context_expr for item in node.items]
                return self._block(node.body, live) | _read(*items)
            case ast.Return():
                return _read(node)
            case _:
                return (live - _stored(node)) | _read(node)

    def _iteration(self, node: ast.For | ast.While) -> frozenset[str]:
        found = self._first.get(node)
        if found is None:
            found = self._first[node] = self._block(node.body, frozenset())
        return found


def _stored(node: ast.AST) -> frozenset[str]:
    return frozenset(
        item.id
        for item in ast.walk(node)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    )


def _read(*nodes: ast.AST) -> frozenset[str]:
    found = {
        item.id
        for node in nodes
        for item in ast.walk(node)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
    }
    found |= {
        node.target.id
        for node in nodes
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    return frozenset(found)


def read_names(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Return the names that statements read before they assign them."""
    return LiveNames(body, ()).before


def live_after(ctx: Any, node: ast.stmt) -> frozenset[str]:
    """Return the names that are read after a region, loop or if of the function that is parsed."""
    return _of(ctx).after(node)


def live_at_end(ctx: Any, node: ast.For | ast.While) -> frozenset[str]:
    """Return the names that are read after an iteration of a loop that is parsed."""
    return _of(ctx).at_end(node)


def _of(ctx: Any) -> LiveNames:
    if ctx.live is None:
        ctx.live = LiveNames(ctx.node.body, (ast.With, ast.If, ast.For, ast.While))
    found: LiveNames = ctx.live
    return found
