"""Reorders the statements of a scope so that each core works in long stretches.

A core can pass only vector tiles to the other one: an accumulator that vector work interrupts
would be lost. Both orders here give the same results as the order in the source.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from heapq import heappop, heappush

from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import CoreType, MemorySpace
from pypto._src.ir.exprs import Call, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    Stmt,
    WhileStmt,
    seq,
    statements,
)
from pypto._src.ir.traversal.queries import defined_by, stmts_in
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ops import memory
from pypto._src.ops.layout import tile_space
from pypto._src.passes.tensors.core_work import (
    BOTH_CORES,
    calls_in,
    changed_in_place,
    cores_of,
    used_in,
)


def hoist_accumulator_stores(
    stmts: Sequence[Stmt], roots: Mapping[Var, Sequence[Var]]
) -> list[Stmt]:
    """Return the statements with stores of accumulators as early as possible, before vector work.

    The vector work that reads one may come in several pieces; all of them then find it in memory,
    and the accumulator need not outlive the first one. A store moves up if nothing in between
    touches the tensor that it writes.
    """
    made: dict[Var, int] = {}
    touched: dict[Var, int] = {}  # where a tensor was read or written last
    vector = -1  # where the last vector work is
    behind: dict[int, list[Stmt]] = {}
    moved: set[int] = set()
    for index, stmt in enumerate(stmts):
        used = used_in(stmt)
        at = _early(stmt, used, made)
        if at is not None and at < vector:
            tensors = [root for var in used for root in roots.get(var, (var,))]
            if all(touched.get(root, -1) <= at for root in tensors):
                behind.setdefault(at, []).append(stmt)
                moved.add(index)
                made.update(dict.fromkeys(defined_by(stmt), at))
                touched.update(dict.fromkeys(tensors, at))
                continue
        if CoreType.VECTOR in cores_of([stmt]):
            vector = index
        for var in (*used, *defined_by(stmt)):
            if isinstance(var.type, TensorType):
                touched.update(dict.fromkeys(roots.get(var, (var,)), index))
        made.update(dict.fromkeys(defined_by(stmt), index))
    out: list[Stmt] = []
    for index, stmt in enumerate(stmts):
        if index not in moved:
            out += [stmt, *behind.get(index, ())]
    return out


def _early(stmt: Stmt, used: Iterable[Var], made: Mapping[Var, int]) -> int | None:
    """Return the index after which an accumulator may be stored, None for other statements."""
    tile = _stored_accumulator(stmt)
    if tile is None or tile not in made:
        return None
    return max(made.get(var, -1) for var in used)


def _stored_accumulator(stmt: Stmt) -> Var | None:
    """Return the accumulator that a statement stores, None for other statements."""
    value = stmt.value if isinstance(stmt, AssignStmt) else None
    value = stmt.expr if isinstance(stmt, EvalStmt) else value
    if not isinstance(value, Call) or op_of(value) is not memory.store:
        return None
    tile = value.args[0]
    if not isinstance(tile, Var) or tile_space(tile) is not MemorySpace.Acc:
        return None
    return tile


def gathered(
    stmts: Sequence[Stmt], roots: Mapping[Var, Sequence[Var]], own: Container[Var]
) -> list[Stmt]:
    """Return the statements with vector work before products where possible.

    Statements that make an accumulator, add to it and store it stay together. ``own`` are the
    tensors that one statement writes, and that have no other name.
    """
    found = [part for stmt in stmts for part in _without_stores(stmt, own)]
    before = _order(found, roots)
    heads = _chains(found)
    chains: dict[int, list[int]] = {}
    for at, head in enumerate(heads):
        chains.setdefault(head, []).append(at)
    waits: dict[int, int] = {}
    followers: dict[int, list[int]] = {}
    ready: dict[frozenset[CoreType], list[int]] = {}
    cores = {head: cores_of([found[at] for at in chain]) for head, chain in chains.items()}
    for head, chain in chains.items():
        others = {heads[other] for at in chain for other in before[at]} - {head}
        waits[head] = len(others)
        for other in others:
            followers.setdefault(other, []).append(head)
        if not others:
            heappush(ready.setdefault(cores[head], []), head)
    out: list[Stmt] = []
    current = CoreType.VECTOR
    while ready:
        wanted = min(ready, key=lambda each: _rank(each, current))
        head = heappop(ready[wanted])
        if not ready[wanted]:
            del ready[wanted]
        if len(wanted) == 1:
            (current,) = wanted
        out += [found[at] for at in chains[head]]
        for follower in followers.get(head, ()):
            waits[follower] -= 1
            if not waits[follower]:
                heappush(ready.setdefault(cores[follower], []), follower)
    return out if len(out) == len(found) else list(stmts)  # a sum may need its own result


def _rank(cores: frozenset[CoreType], current: CoreType) -> int:
    """Return the scheduling rank, lowest first: scalars, then work of the current core."""
    if not cores:
        return 0
    if cores == BOTH_CORES:
        return 3
    return 1 if current in cores else 2


def _without_stores(stmt: Stmt, own: Container[Var]) -> list[Stmt]:
    """Return a loop, preceded by its stores that are the same in each iteration."""
    if not isinstance(stmt, ForStmt) or cores_of([stmt]) != BOTH_CORES:
        return [stmt]
    inside = {var for inner in stmts_in(stmt.body) for var in defined_by(inner)}
    inside |= {stmt.loop_var, *stmt.iter_args}
    body = list(statements(stmt.body))
    same = [
        inner
        for inner in body
        if _stored_accumulator(inner) is not None
        and inside.isdisjoint(used_in(inner))
        and any(var in own for var in used_in(inner))
    ]
    if not same:
        return [stmt]
    rest = [inner for inner in body if inner not in same]
    return [*same, copy_with(stmt, {"body": seq(rest, stmt.span)})]


def _chains(stmts: Sequence[Stmt]) -> list[int]:
    """Return, for each statement, the first one of its accumulator's chain."""
    heads = list(range(len(stmts)))

    def head(at: int) -> int:
        while heads[at] != at:
            heads[at] = heads[heads[at]]
            at = heads[at]
        return at

    made = {var: at for at, stmt in enumerate(stmts) for var in defined_by(stmt)}
    for at, stmt in enumerate(stmts):
        for var in used_in(stmt):
            if (
                var in made
                and isinstance(var.type, TileType)
                and tile_space(var) is MemorySpace.Acc
            ):
                low, high = sorted((head(at), head(made[var])))
                heads[high] = low
    return [head(at) for at in range(len(stmts))]


def _order(stmts: Sequence[Stmt], roots: Mapping[Var, Sequence[Var]]) -> list[set[int]]:
    """Return, for each statement, those that must come before it."""
    made: dict[Var, int] = {}
    readers: dict[Var, set[int]] = {}
    writers: dict[Var, set[int]] = {}
    fixed = -1  # the last statement that none may move across
    before: list[set[int]] = []
    for at, stmt in enumerate(stmts):
        used = used_in(stmt)
        waits = {made[var] for var in used if var in made}
        is_fixed = _is_fixed(stmt)
        waits.update(range(max(fixed, 0), at) if is_fixed else (fixed,) * (fixed >= 0))
        written = {root for var in _written(stmt) for root in roots.get(var, (var,))}
        tensors = [var for var in (*used, *defined_by(stmt)) if isinstance(var.type, TensorType)]
        for root in {root for var in tensors for root in roots.get(var, (var,))} | written:
            waits |= writers.get(root, set())
            if root in written:  # later accesses need to wait only for this one
                waits |= readers.pop(root, set())
                writers[root] = {at}
            else:
                readers.setdefault(root, set()).add(at)
        made.update(dict.fromkeys(defined_by(stmt), at))
        fixed = at if is_fixed else fixed
        before.append(waits - {at})
    return before


def _written(stmt: Stmt) -> list[Var]:
    found: list[Var] = []
    for call in calls_in(stmt):
        op = op_of(call)
        if op is not None:
            written = [call.args[at] for at in op.writes]
            found += [arg for arg in written if isinstance(arg, Var)]
    return found


def _is_fixed(stmt: Stmt) -> bool:
    """True for a statement that must not move: it changes tiles, or more than tensors."""
    for inner in stmts_in(stmt):
        if changed_in_place(inner):
            return True
        if isinstance(inner, EvalStmt) and op_of(inner.expr) is not memory.store:
            return True
    if not isinstance(stmt, AssignStmt | EvalStmt | ForStmt | IfStmt | WhileStmt):
        return True
    ops = [op_of(call) for call in calls_in(stmt)]
    return any(op is None or op.level not in ("block", "tensor") for op in ops)
