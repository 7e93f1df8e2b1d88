"""Whether the blocks of a launch write parts of tensors that do not overlap.

Blocks run at the same time. The overlaps found here are certain as far as the indices tell: a store
whose offset does not depend on the block, and one whose box is larger than the step between blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pypto._src.errors import warn
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.known_sizes import difference, number_of
from pypto._src.ir.array_types import TensorType, TileType, exprs_of_type, valid_part
from pypto._src.ir.exprs import Add, Call, ConstInt, Expr, MakeTuple, Var, binary
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, ForStmt, IfStmt, Stmt, WhileStmt
from pypto._src.ir.traversal.mutator import substitute
from pypto._src.ir.traversal.queries import stmts_in, uses
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import ScalarType

_DEEPEST = 8  # levels of scalars that are computed from other scalars


def check_disjoint(
    ctx: Context,
    stmts: Sequence[Stmt],
    block: Var,
    step: int = 1,
    who: str = "block",
) -> None:
    """Warn of stores of the same elements by several blocks, which all run ``stmts``.

    The number ``block`` of each block is ``step`` more than that of the previous one.
    """
    around = "launch" if who == "block" else "loop"
    every = [stmt for top in stmts for stmt in stmts_in(top)]
    values = _values(every)
    depending = _depending(every, block)
    skipped = _own({stmt.var for stmt in stmts if isinstance(stmt, AssignStmt)}, every)
    guarded = _guarded(every, depending)
    for stmt in every:
        if stmt in guarded:
            continue
        for call, target in _stores(stmt):
            if target in depending or target in skipped:
                continue
            if not depending.isdisjoint(uses(exprs_of_type(call.args[0].type))):
                continue
            if _overlaps(ctx, call, block, step, depending, values):
                warn(
                    f"{who}s of the {around} write the same part of {target.name!r}, and run at "
                    "the same time",
                    call.span,
                    hint=f"let the part depend on the {who}, or write pl.assemble(..., "
                    "atomic=pl.AtomicType.Add)",
                    slug="region-blocks",
                )


def _own(made: set[Var], stmts: Sequence[Stmt]) -> set[Var]:
    """Return the tensors that are private to a block: those made in it, under all their names."""
    sources: dict[Var, list[Expr]] = {}
    for stmt in stmts:
        if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TensorType):
            value, op = stmt.value, op_of(stmt.value)
            if isinstance(value, Call) and op is not None and (op.writes or op.view_of is not None):
                value = value.args[min(op.writes) if op.writes else op.view_of or 0]
            sources.setdefault(stmt.var, []).append(value)
    found = set(made)
    while True:
        before = len(found)
        for var, values in sources.items():
            known = [v is var or v in found or op_of(v) is not None for v in values]
            if all(known) and not all(value is var for value in values):
                found.add(var)
        if len(found) == before:
            return found


def _stores(stmt: Stmt) -> Iterator[tuple[Call, Var]]:
    """Yield the stores of a statement that overwrite, with their tensors."""
    if not isinstance(stmt, AssignStmt | EvalStmt):
        return
    for node in walk(stmt.value if isinstance(stmt, AssignStmt) else stmt.expr):
        op = op_of(node)
        if not isinstance(node, Call) or op is None or len(op.writes) != 1:
            continue
        index = min(op.writes)
        target = node.args[index]
        is_box = len(node.args) > index >= 3 and isinstance(node.args[0].type, TileType)
        if is_box and index not in op.reads and isinstance(target, Var):
            yield node, target


def _values(stmts: Sequence[Stmt]) -> dict[Var, Expr]:
    """Return the scalars that are assigned once, with their values."""
    found: dict[Var, Expr] = {}
    again: set[Var] = set()
    for stmt in stmts:
        if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, ScalarType):
            if stmt.var in found:
                again.add(stmt.var)
            found[stmt.var] = stmt.value
    return {var: value for var, value in found.items() if var not in again}


def _depending(stmts: Sequence[Stmt], block: Var) -> set[Var]:
    """Return the variables whose values may differ between blocks; not the results of stores."""
    found = {block}
    while True:
        before = len(found)
        for stmt in stmts:
            if isinstance(stmt, AssignStmt):
                op = op_of(stmt.value)
                stored = op is not None and op.writes
                if not stored and not found.isdisjoint(uses([stmt.value])):
                    found.add(stmt.var)
            elif isinstance(stmt, ForStmt):
                if not found.isdisjoint(uses([stmt.start, stmt.stop, stmt.step])):
                    found.add(stmt.loop_var)
                found.update(v for v in stmt.iter_args if not isinstance(v.type, TensorType))
            if isinstance(stmt, ForStmt | IfStmt | WhileStmt):
                found.update(v for v in stmt.return_vars if not isinstance(v.type, TensorType))
        if len(found) == before:
            return found


def _guarded(stmts: Sequence[Stmt], depending: set[Var]) -> set[Stmt]:
    """Return the statements that some blocks may not reach."""
    found: set[Stmt] = set()
    for stmt in stmts:
        if isinstance(stmt, IfStmt | WhileStmt):
            asked = [stmt.condition]
        elif isinstance(stmt, ForStmt):
            asked = [stmt.start, stmt.stop, stmt.step]
        else:
            continue
        if not depending.isdisjoint(uses(asked)):
            found.update(inner for inner in stmts_in(stmt) if inner is not stmt)
    return found


def _overlaps(
    ctx: Context,
    call: Call,
    block: Var,
    step: int,
    depending: set[Var],
    values: dict[Var, Expr],
) -> bool:
    """True for a store whose boxes in this block and the next overlap, wherever they are."""
    _, offsets, shapes = call.args[:3]
    if not isinstance(offsets, MakeTuple) or not isinstance(shapes, MakeTuple):
        return False
    if not depending.isdisjoint(uses([shapes])):
        return False
    kind = call.args[0].type
    part = valid_part(kind) if isinstance(kind, TileType) else None
    sizes = shapes.elements if part is None else part
    if len(sizes) != len(offsets.elements):
        return False
    for offset, extent in zip(offsets.elements, sizes, strict=True):
        if depending.isdisjoint(uses([offset])):
            continue
        size = number_of(extent, ctx.constants)
        for _ in range(_DEEPEST):
            known = {var: values[var] for var in uses([offset]) if var in values}
            if not known:
                break
            offset = substitute(offset, known)
        after = substitute(offset, {block: binary(Add, block, ConstInt(step))})
        others = [var for var in uses([offset]) if var in depending and var is not block]
        moved = None if others else difference(after, offset, ctx.constants)
        if size is None or not isinstance(moved, int) or abs(moved) >= size:
            return False
    return True
