"""Which core a statement's work needs, which variables it uses, and which it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pypto._src.analysis.stmt_tree import call_of
from pypto._src.ir.array_types import TileType, exprs_of_type
from pypto._src.ir.enums import CoreType, MemorySpace, PipeType
from pypto._src.ir.exprs import Call, Expr, IterArg, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Stmt
from pypto._src.ir.traversal.queries import defined_by, stmts_in, uses
from pypto._src.ir.traversal.walk import children, walk
from pypto._src.ir.types import ScalarType
from pypto._src.ops.layout import tile_space

BOTH_CORES: Final = frozenset({CoreType.CUBE, CoreType.VECTOR})
_ON_CUBE: Final = frozenset({PipeType.M, PipeType.MTE1, PipeType.FIX})


def cores_of(stmts: Sequence[Stmt]) -> frozenset[CoreType]:
    """Return the kinds of cores that the work on tiles in statements needs."""
    found = {_core_of(call) for stmt in stmts for call in calls_in(stmt)}
    return frozenset(core for core in found if core is not None)


def _core_of(call: Call) -> CoreType | None:
    op = op_of(call)
    if op is None or op.level != "block":
        return None
    pipe = op.pipe_of(call)
    if pipe in _ON_CUBE:
        return CoreType.CUBE
    if pipe is PipeType.V:
        return CoreType.VECTOR
    for value in (call, *call.args):
        if isinstance(value.type, TileType):
            return CoreType.VECTOR if tile_space(value) is MemorySpace.Vec else CoreType.CUBE
    return None


def calls_in(top: Stmt) -> list[Call]:
    """Return the calls in a statement, nested ones included."""
    found: list[Call] = []
    for stmt in stmts_in(top):
        for child in children(stmt):
            if not isinstance(child, Stmt):
                found += [node for node in walk(child) if isinstance(node, Call)]
    return found


def used_in(top: Stmt) -> dict[Var, None]:
    """Return the variables that a statement uses and does not define, by first use."""
    found: dict[Var, None] = {}
    defined: set[Var] = set()
    for stmt in stmts_in(top):
        defined.update(defined_by(stmt))
        for child in children(stmt):
            if isinstance(child, Stmt):
                continue
            found.update(dict.fromkeys(uses([child])))
            if isinstance(child, IterArg):
                found.update(dict.fromkeys(uses([child.initValue])))
            for node in walk(child):
                if isinstance(node, Expr) and not isinstance(node.type, ScalarType):
                    found.update(dict.fromkeys(uses(exprs_of_type(node.type))))
    return {var: None for var in found if var not in defined}


def changed_in_place(stmt: Stmt) -> list[Var]:
    """Return the tiles that a statement changes in place, except scratch of ops that make tiles."""
    call = stmt.expr if isinstance(stmt, EvalStmt) else None
    op = None if call is None else op_of(call)
    if op is None or not isinstance(call, Call):
        return []
    written = [call.args[at] for at in op.writes]
    return [arg for arg in written if isinstance(arg, Var) and isinstance(arg.type, TileType)]


def wanted_core(stmt: Stmt) -> CoreType | None:
    """Return the core that a statement of a scope needs, None for any; CUBE if it needs both.

    Unlike in `cores_of`, data movement alone needs none: it stays with the statements around it.
    """
    found: CoreType | None = None
    from pypto._src.ops.conversion import core_of

    for node in walk(stmt):
        core = core_of(node) if isinstance(node, Call) else None
        if core is CoreType.CUBE:
            return core
        found = core or found
    return found


def by_core(body: Sequence[Stmt]) -> list[list[Stmt]]:
    """Return a scope's statements in stretches that run on one core.

    A statement that writes a tensor into another one stays with those that compute the tensor.
    """
    makers: dict[Var, CoreType | None] = {}
    parts: list[list[Stmt]] = []
    current: CoreType | None = None
    for stmt in body:
        core = wanted_core(stmt)
        if core is None:
            core = _copying_core(stmt, makers)
        for var in defined_by(stmt):
            makers[var] = core
        if not parts or (core is not None and current is not None and core is not current):
            parts.append([])
            current = core
        current = core if current is None else current
        parts[-1].append(stmt)
    return parts


def tiles_cross_cores(parts: Sequence[Sequence[Stmt]]) -> bool:
    """True if a tile of one stretch, or an element of one, is used in another.

    Only tensors can cross cores, so the scope becomes one kernel with both kinds of work.
    """
    if any(core_kinds_count(stmt) > 1 for part in parts for stmt in part):
        return True
    later: set[Var] = set()
    for part in reversed(parts):
        defined = {var for top in part for stmt in stmts_in(top) for var in defined_by(stmt)}
        tiles = {var for var in defined if isinstance(var.type, TileType)}
        tiles |= {var for stmt in part if _reads_tile(stmt) for var in defined_by(stmt)}
        if not tiles.isdisjoint(later):
            return True
        later.update(var for stmt in part for var in used_in(stmt))
    return False


def _reads_tile(stmt: Stmt) -> bool:
    """True for a number that is an element of a tile."""
    is_number = isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, ScalarType)
    return is_number and any(isinstance(var.type, TileType) for var in used_in(stmt))


def core_kinds_count(stmt: Stmt) -> int:
    """Return how many kinds of cores a statement needs, nested statements included."""
    from pypto._src.ops.conversion import core_of

    on_tiles = [c for c in calls_in(stmt) if (op := op_of(c)) is not None and op.level == "block"]
    return len({core for call in on_tiles if (core := core_of(call)) is not None})


def _copying_core(stmt: Stmt, makers: Mapping[Var, CoreType | None]) -> CoreType | None:
    call = call_of(stmt)
    op = op_of(call) if call is not None else None
    if call is None or op is None or not op.writes:
        return None
    sources = [call.args[index] for index in sorted(op.reads)]
    made = [makers.get(source) for source in sources if isinstance(source, Var)]
    return next((core for core in made if core is not None), CoreType.VECTOR)
