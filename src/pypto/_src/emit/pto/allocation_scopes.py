"""The loop that each allocation is placed in where the assembler plans memory.

For the assembler a tile that is allocated outside a loop and used in it is live for the whole
loop. Kernels whose tiles fit that way have all allocations in the head. In others, an allocation
is placed in the innermost loop that has all uses of its bytes: what one iteration passes to the
next is used outside, too, where the loop begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

from pypto._src.emit.pto.tile_allocations import Buffers, Key
from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.opdef import aliased
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.queries import uses
from pypto._src.ops import layout
from pypto._src.targets import A2A3

Loops: TypeAlias = "tuple[ForStmt, ...]"
"""The loops around a statement, outermost first."""


class _Uses:
    """Where the bytes of one memory reference are used."""

    def __init__(self, loops: Loops, index: int) -> None:
        self.loops = loops
        """The loops that contain all uses."""
        self.first = self.last = index
        """The first and last top-level statements of the function that contain uses."""

    def add(self, loops: Loops, index: int) -> None:
        """Add a use; ``index`` never decreases from one use to the next."""
        self.loops = _common(self.loops, loops)
        self.last = index


def loops_of_allocations(function: Function, buffers: Buffers) -> dict[Key, ForStmt]:
    """Return the loop that each buffer is allocated in; buffers of the head have no entry."""
    found = _uses_of_bytes(function)
    if not _overflow(buffers, found):
        return {}
    loops = {key: found[id(buffer.memref)].loops for key, buffer in buffers}
    return {key: around[-1] for key, around in loops.items() if around}


def _overflow(buffers: Buffers, found: Mapping[int, _Uses]) -> bool:
    """True if some memory is too small when all buffers are allocated in the head."""
    changes: dict[MemorySpace, Counter[int]] = {}
    for _, buffer in buffers:
        if buffer.alias_of is None:
            used = found[id(buffer.memref)]
            steps = changes.setdefault(buffer.space, Counter())
            size = layout.alloc_bytes(buffer.kind, buffer.space)
            steps[used.first] += size
            steps[used.last + 1] -= size
    return any(
        max(accumulate(size for _, size in sorted(steps.items()))) > memory.physical_bytes
        for space, steps in changes.items()
        if (memory := A2A3.memories.get(space)) is not None
    )


def _uses_of_bytes(function: Function) -> dict[int, _Uses]:
    """Return the uses of each memory reference, by its identity."""
    found: dict[int, _Uses] = {}
    roots: dict[Expr, Var] = {}  # alias bases of variables that alias other tiles

    def note(exprs: Iterable[Expr], loops: Loops, index: int) -> None:
        for var in uses(exprs):
            for each in (var, roots.get(var, var)):
                kind = each.type
                if isinstance(kind, TileType) and kind.memref is not None:
                    known = found.get(id(kind.memref))
                    if known is None:
                        found[id(kind.memref)] = _Uses(loops, index)
                    else:
                        known.add(loops, index)

    for index, outermost in enumerate(statements(function.body)):
        pending: list[tuple[Stmt, Loops]] = [(outermost, ())]
        while pending:
            stmt, loops = pending.pop()
            inside: list[tuple[Stmt, Loops]] = []
            match stmt:
                case AssignStmt():
                    source = aliased(stmt.value)
                    if isinstance(source, Var):
                        roots[stmt.var] = roots.get(source, source)
                    note([stmt.value, stmt.var], loops, index)
                case EvalStmt():
                    note([stmt.expr], loops, index)
                case YieldStmt():
                    note(stmt.value, loops, index)
                case ForStmt() | WhileStmt():
                    note([arg.initValue for arg in stmt.iter_args], loops, index)
                    note([*stmt.iter_args, *stmt.return_vars], loops, index)
                    inner = (*loops, stmt) if isinstance(stmt, ForStmt) else loops
                    inside = [(each, inner) for each in statements(stmt.body)]
                case IfStmt():
                    note(stmt.return_vars, loops, index)
                    bodies = (*statements(stmt.then_body), *statements(stmt.else_body))
                    inside = [(each, loops) for each in bodies]
                case _:
                    pass
            pending += inside[::-1]
    return found


def _common(first: Sequence[ForStmt], second: Sequence[ForStmt]) -> Loops:
    """Return the loops that enclose both."""
    count = 0
    for a, b in zip(first, second, strict=False):
        if a is not b:
            break
        count += 1
    return tuple(first[:count])
