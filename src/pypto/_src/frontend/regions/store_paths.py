"""How a region stores to a tensor: parts of it, or single elements, not both.

A part leaves the core through the store pipe, an element through the cache of the scalar unit, and
the chip does not keep the two coherent: what is written back last wins, in whole cache lines.
Neither the interpreter nor this machine would show it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto._src.diagnostics import Label
from pypto._src.errors import InvalidOperationError
from pypto._src.ir.array_types import TensorType, TileType, same_dims
from pypto._src.ir.exprs import Call, ConstFloat, ConstInt, Expr, MakeTuple, Var, const_value
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, ForStmt, Stmt, statements
from pypto._src.ir.traversal.queries import stmts_in, uses
from pypto._src.ops import new_tiles
from pypto._src.ops.lazy import tensor_elements


def check_store_paths(stmts: Sequence[Stmt]) -> None:
    """Refuse a tensor to which the statements of a region store in both ways.

    It may first be filled with one number and then have elements written, and a loop may write one
    constant to consecutive elements: neither depends on the order of the two paths.

    Raises:
        InvalidOperationError: there is such a tensor.
    """
    every = [stmt for top in stmts for stmt in stmts_in(top)]
    filling = {inner for stmt in every if _fills(stmt) for inner in stmts_in(stmt)}
    roots: dict[Var, Var] = {}
    made: dict[Var, Expr] = {}
    parts: dict[Var, tuple[Stmt, Call]] = {}
    single: dict[Var, tuple[Stmt, Call]] = {}
    for stmt in every:
        call = _call(stmt)
        op = None if call is None else op_of(call)
        if call is None or op is None:
            continue
        if isinstance(stmt, AssignStmt):
            made[stmt.var] = call
        at = min(op.writes, default=op.view_of)
        target = call.args[at] if at is not None else None
        if not isinstance(target, Var) or not isinstance(target.type, TensorType):
            continue
        root = roots.get(target, target)
        if isinstance(stmt, AssignStmt) and stmt.var is not target:
            roots[stmt.var] = root
        if op is tensor_elements.write:
            if stmt not in filling:
                single.setdefault(root, (stmt, call))
        elif op.writes and isinstance(call.args[0].type, TileType):
            begins = stmt in stmts and root not in single and root not in parts
            if not (begins and _is_filled_whole(call, made)):
                parts.setdefault(root, (stmt, call))
    for root, (_, element) in single.items():
        if root in parts:
            part = parts[root][1]
            first, second = sorted((part, element), key=lambda c: c.span.begin_line)
            name = user_name(root)
            raise InvalidOperationError(
                f"a region stores parts of '{name}' and single elements of it, and the chip keeps "
                "neither up to date with the other",
                second.span,
                hint="put the element into the value before it is stored: "
                f"pl.write(value, ...), then {name}[...] = value",
                slug="mixed-stores",
                related=(Label(first.span, "the other store"),),
            )


def _call(stmt: Stmt) -> Call | None:
    value = stmt.value if isinstance(stmt, AssignStmt) else None
    value = stmt.expr if isinstance(stmt, EvalStmt) else value
    return value if isinstance(value, Call) else None


def _is_filled_whole(call: Call, made: dict[Var, Expr]) -> bool:
    """True for a store of one number to all of a tensor."""
    tile, offsets, shapes, target = call.args[:4]
    value = made.get(tile, tile) if isinstance(tile, Var) else tile
    kind = target.type
    return (
        op_of(value) is new_tiles.full
        and isinstance(offsets, MakeTuple)
        and isinstance(shapes, MakeTuple)
        and isinstance(kind, TensorType)
        and all(const_value(offset) == 0 for offset in offsets.elements)
        and len(shapes.elements) == len(kind.shape)
        and same_dims(shapes.elements, kind.shape)
    )


def _fills(stmt: Stmt) -> bool:
    """True for a loop from zero that only writes constants to consecutive elements."""
    if not isinstance(stmt, ForStmt) or const_value(stmt.start) != 0 or const_value(stmt.step) != 1:
        return False
    for inner in statements(stmt.body):
        call = _call(inner)
        if call is None or op_of(call) is not tensor_elements.write:
            return False
        _, indices, number = call.args
        last = indices.elements[-1] if isinstance(indices, MakeTuple) else indices
        if not isinstance(number, ConstInt | ConstFloat) or stmt.loop_var not in set(uses([last])):
            return False
    return True
