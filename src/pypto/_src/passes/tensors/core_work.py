"""What the cores have to do with statements: whose work they are, what they use and change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pypto._src.ir.array_types import TileType, exprs_of_type
from pypto._src.ir.enums import CoreType, MemorySpace, PipeType
from pypto._src.ir.exprs import Call, Expr, IterArg, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import EvalStmt, Stmt
from pypto._src.ir.traversal.queries import defined_by, stmts_in, uses
from pypto._src.ir.traversal.walk import children, walk
from pypto._src.ir.types import ScalarType
from pypto._src.ops.layout import tile_space

BOTH_CORES: Final = frozenset({CoreType.CUBE, CoreType.VECTOR})
_ON_CUBE: Final = frozenset({PipeType.M, PipeType.MTE1, PipeType.FIX})


def cores_of(stmts: Sequence[Stmt]) -> frozenset[CoreType]:
    """Return the cores that the work on tiles in statements wants."""
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
    """Return the tiles that a statement itself changes; scratch of what makes a tile is none."""
    call = stmt.expr if isinstance(stmt, EvalStmt) else None
    op = None if call is None else op_of(call)
    if op is None or not isinstance(call, Call):
        return []
    written = [call.args[at] for at in op.writes]
    return [arg for arg in written if isinstance(arg, Var) and isinstance(arg.type, TileType)]
