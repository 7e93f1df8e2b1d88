"""Which names of a Python function are read after one of its statements.

Goes backwards through the syntax tree, once per loop nest. Knows names, and what Python's
statements do with them. About kernels it knows that a region never sees a value from another run of
it: a block none from another block, an iteration of a loop around it none from the one before; and
that what a loop assigns is known after it inside a region, but not between regions.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import Any

from pypto._src.frontend.source.syntax_tree import assigned_names, nodes_in


class LiveNames:
    """The names that are read after each statement of some classes before being assigned."""

    def __init__(
        self,
        body: Sequence[ast.stmt],
        wanted: tuple[type[ast.stmt], ...],
        params: Collection[str] = (),
        *,
        in_region: bool,
    ) -> None:
        self._wanted = wanted
        self._in_region = in_region  # at the present statement
        self._all: Sequence[ast.stmt] = body
        self._params = params
        self._counts: dict[str, int] | None = None  # how often each name is assigned in total
        self._after: dict[ast.stmt, frozenset[str]] = {}
        self._end: dict[ast.stmt, frozenset[str]] = {}  # at the end of a loop's iteration
        # By loop, what an iteration reads before it assigns it; cached, as loops nest.
        self._first: dict[ast.stmt, frozenset[str]] = {}
        self.before = self._block(body, frozenset())

    def after(self, node: ast.stmt) -> frozenset[str]:
        """Return the names that are read after ``node``."""
        return self._after.get(node, frozenset())

    def at_end(self, node: ast.For | ast.While) -> frozenset[str]:
        """Return the names that are read after an iteration of a loop: by the next one or later."""
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
            case ast.For() if _runs_on_a_core(node.iter):
                target = _stored(node.target) | self._own(node)
                return live | (self._region(node.body, live) - target) | _read(node.iter)
            case ast.For():
                target = _stored(node.target)
                later = live | (self._iteration(node) - target)
                self._end[node] = later | self._end.get(node, frozenset())
                assigns = self._in_region and _has_iterations(node.iter)
                skipped = frozenset[str]() if assigns else live
                return skipped | (self._block(node.body, later) - target) | _read(node.iter)
            case ast.While():
                later = live | self._iteration(node) | _read(node.test)
                self._end[node] = later | self._end.get(node, frozenset())
                return live | self._block(node.body, later) | _read(node.test)
            case ast.With():
                items = [item.context_expr for item in node.items]
                if any(map(_runs_on_a_core, items)):
                    before = self._region(node.body, live) - self._own(node)
                else:
                    before = self._block(node.body, live)
                return before | _read(*items)
            case ast.Return():
                return _read(node)
            case _:
                return (live - _stored(node)) | _read(node)

    def _region(self, body: Sequence[ast.stmt], live: frozenset[str]) -> frozenset[str]:
        around, self._in_region = self._in_region, True
        before = self._block(body, live)
        self._in_region = around
        return before

    def _own(self, region: ast.stmt) -> frozenset[str]:
        """Return the names that only one region assigns: it sees no value from an earlier run."""
        if self._counts is None:
            self._counts = assigned_names(self._all)
        own = assigned_names([region])
        params = self._params
        return frozenset(n for n, c in own.items() if c == self._counts[n] and n not in params)

    def _iteration(self, node: ast.For | ast.While) -> frozenset[str]:
        found = self._first.get(node)
        if found is None:
            found = self._first[node] = self._block(node.body, frozenset())
        return found


def _runs_on_a_core(call: ast.expr) -> bool:
    func = call.func if isinstance(call, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr in ("spmd", "at", "incore")


def _has_iterations(call: ast.expr) -> bool:
    """True for a loop with a literal number of iterations, at least one: ``pl.range(4)``."""
    match call:
        case ast.Call(args=[ast.Constant(value=int(count))]):
            return count > 0
        case _:
            return False


def _stored(node: ast.AST) -> frozenset[str]:
    return frozenset(
        item.id
        for item in nodes_in(node)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    )


def _read(*nodes: ast.AST) -> frozenset[str]:
    found = {
        item.id
        for item in nodes_in(*nodes)
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
    return LiveNames(body, (), in_region=True).before


def live_after(ctx: Any, node: ast.stmt) -> frozenset[str]:
    """Return the names read after a region, loop or if of the function that is being parsed."""
    return _of(ctx).after(node)


def live_at_end(ctx: Any, node: ast.For | ast.While) -> frozenset[str]:
    """Return the names read after an iteration of a loop that is being parsed."""
    return _of(ctx).at_end(node)


def _of(ctx: Any) -> LiveNames:
    if ctx.live is None:
        args = ctx.node.args
        params = {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        # This is first needed around a region, unless the whole function is inlined into one.
        ctx.live = LiveNames(
            ctx.node.body,
            (ast.With, ast.If, ast.For, ast.While),
            params,
            in_region=ctx.region is not None,
        )
    found: LiveNames = ctx.live
    return found
