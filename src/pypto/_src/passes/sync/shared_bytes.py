"""Which tiles of a function have the same bytes because the memory plan gave them to both.

A view, a carried tile and a branch result have the bytes of the tile that they come from; all other
tiles with the same bytes were put there by the plan. Knows no instructions and no flags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pypto._src.ir.array_types import MemRef, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Expr, Var, const_value
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.opdef import aliased
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.queries import held_by, stmts_in, uses


class SharedBytes:
    """The tiles of one function; several names of one tile have one root."""

    def __init__(self, function: Function) -> None:
        self._roots: dict[Var, Var] = {}
        for stmt in stmts_in(function.body):
            for var, source in _same_tiles(stmt):
                self._roots[self._root(var)] = self._root(source)

    def between(self, first: Stmt, second: Stmt) -> str | None:
        """Return which tiles of two statements share which bytes by the plan, None if none do."""
        for a in _tiles(first):
            for b in _tiles(second):
                span = _common(a, b)
                one, other = user_name(a), user_name(b)
                if span is not None and one != other and self._root(a) is not self._root(b):
                    return (
                        f"the memory plan gives {span} to {one} and {other}, which are not needed "
                        "at once in the order of the text; smaller tiles would not share"
                    )
        return None

    def _root(self, var: Var) -> Var:
        while var in self._roots and self._roots[var] is not var:
            var = self._roots[var]
        return var


def _same_tiles(stmt: Stmt) -> Iterator[tuple[Var, Var]]:
    """Yield the pairs of variables that a statement makes names of one tile."""
    if isinstance(stmt, AssignStmt):
        source = aliased(stmt.value)
        if source is not None:
            yield from _pairs((stmt.var,), (source,))
    elif isinstance(stmt, IfStmt):
        for body in (stmt.then_body, stmt.else_body):
            yield from _pairs(stmt.return_vars, _yielded(body))
    elif isinstance(stmt, ForStmt | WhileStmt):
        yield from _pairs(stmt.iter_args, [arg.initValue for arg in stmt.iter_args])
        yield from _pairs(stmt.iter_args, _yielded(stmt.body))
        yield from _pairs(stmt.return_vars, stmt.iter_args)


def _pairs(variables: Sequence[Var], values: Sequence[Expr]) -> Iterator[tuple[Var, Var]]:
    for var, value in zip(variables, values, strict=False):
        if isinstance(var.type, TileType) and isinstance(value, Var):
            yield var, value


def _yielded(body: Stmt | None) -> Sequence[Expr]:
    last = [*statements(body)][-1:]
    return last[0].value if last and isinstance(last[0], YieldStmt) else ()


def _tiles(stmt: Stmt) -> list[Var]:
    """Return the tiles that a statement defines and reads."""
    found = [stmt.var] if isinstance(stmt, AssignStmt) else []
    return [var for var in (*found, *uses(held_by(stmt))) if isinstance(var.type, TileType)]


def _common(a: Var, b: Var) -> str | None:
    """Return the bytes that two tiles share, None if they share none."""
    first, second = _bytes(a), _bytes(b)
    if first is None or second is None or first[0] is not second[0]:
        return None
    begin, end = max(first[1], second[1]), min(first[2], second[2])
    return f"bytes {begin} to {end - 1} of {first[0].name}" if begin < end else None


def _bytes(var: Var) -> tuple[MemorySpace, int, int] | None:
    """Return the bytes of a tile: its memory, its first byte, and the end after its last."""
    memref: MemRef | None = var.type.memref if isinstance(var.type, TileType) else None
    begin = None if memref is None else const_value(memref.addr_)
    if memref is None or begin is None or begin < 0:
        return None
    return memref.memory_space_, begin, begin + memref.size_
