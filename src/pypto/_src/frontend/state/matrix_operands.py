"""Operands of the matrix unit that a program has not moved: loads go to Mat, moves are inserted.

A load goes to Vec unless it names another memory. If only the matrix unit uses its tile, it goes to
Mat instead; if vector ops use the tile as well, there are two loads. What vector ops compute
reaches the matrix unit only through a tensor, which is up to the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pypto._src.diagnostics import Span
from pypto._src.errors import PyptoError
from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.op_params import TENSOR, TILE
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import AssignStmt, Stmt, checked_assign
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import held_by, stmts_in, uses
from pypto._src.ops import memory
from pypto._src.ops.rules.type_rules import FROM_MAT, known_space
from pypto._src.ops.unified import Unified

_MEMORY = "target_memory"
"""The keyword of ops whose result is placed by the program."""


def with_moves(
    callee: Unified | OpDef[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    span: Span,
) -> Call | None:
    """Return a call with its loads and operands in Mat moved to where the op takes them from.

    None if there is no such operand, or the op still refuses the call.
    """
    ops = callee.candidates if isinstance(callee, Unified) else [callee]
    op = next((op for op in ops if op.names_spaces), None)
    if op is None:
        return None
    values, has_moved = list(args), False
    for index, spaces in op.operand_spaces(kwargs).items():
        value = values[index] if index < len(values) else None
        if not isinstance(value, Expr) or not isinstance(value.type, TileType):
            continue
        moved = _moved(value, spaces)
        if moved is not None:
            values[index], has_moved = moved, True
    if not has_moved:
        return None
    try:
        return op.build(values, kwargs, span)
    except (PyptoError, TypeError, ValueError):
        return None


def _moved(value: Expr, spaces: frozenset[MemorySpace]) -> Expr | None:
    """Return a tile in Mat, or a load, moved to a memory in ``spaces``; None for anything else."""
    space = known_space(value)
    if _is_load(value) and space is MemorySpace.Vec and space not in spaces:
        value = _placed(value, MemorySpace.Mat)
        space = MemorySpace.Mat
    if space is not MemorySpace.Mat:
        return value if space in spaces else None
    return _from_mat(value, spaces)


def _from_mat(tile: Expr, spaces: frozenset[MemorySpace]) -> Expr | None:
    """Return a tile in Mat moved to where an op takes it from, None if it cannot be moved there."""
    if MemorySpace.Mat in spaces:
        return tile
    target = next((target for target in FROM_MAT if target in spaces), None)
    return None if target is None else memory.move.build([tile], {_MEMORY: target}, tile.span)


def _is_load(value: Expr) -> bool:
    op = op_of(value)
    return op is not None and _MEMORY in op.get_attr_keys() and op.params[0].kind == TENSOR


def _placed(value: Any, space: MemorySpace) -> Call:
    op = op_of(value)
    assert op is not None
    return op.call(value.args, {**value.kwargs, _MEMORY: space}, value.span)


def placed(body: Stmt, calls: Sequence[Call]) -> tuple[Stmt, list[Call]]:
    """Return the body of a function with the loads of operands of ``calls`` changed to go to Mat.

    ``calls`` are those that may have an operand in a wrong memory. They are also returned, as they
    are in the new body.
    """
    made: dict[Var, list[AssignStmt]] = {}
    for stmt in stmts_in(body):
        if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TileType):
            made.setdefault(stmt.var, []).append(stmt)
    plan = _Plan(made)
    for call in calls:
        plan.add(call)
    if not plan.loads and not plan.begins:
        return body, list(calls)
    return plan.rewritten(body), [plan.calls.get(call, call) for call in calls]


class _Plan:
    """Which variables' loads have to go to Mat, and which accumulators were made in Vec."""

    def __init__(self, made: Mapping[Var, Sequence[AssignStmt]]) -> None:
        self._made = made
        self.loads: dict[Var, Var] = {}  # variables of loads to those of the same tiles in Mat
        self.begins: dict[Var, Var] = {}  # tiles made without a value to those elsewhere
        self.calls: dict[Call, Call] = {}  # the calls that use them, old to new
        self.final: dict[Var, Var] = {}  # tiles in Mat to their final variables

    def add(self, call: Call) -> None:
        """Note what the operands of a call need."""
        op = op_of(call)
        assert op is not None
        args = list(call.args)
        for index, spaces in op.operand_spaces(call.kwargs).items():
            value = args[index]
            if not isinstance(value, Var) or MemorySpace.Vec in spaces:
                continue
            makers = [stmt.value for stmt in self._made.get(value, ())]
            if makers and all(_is_load(maker) and _is_in_vec(maker) for maker in makers):
                moved = _from_mat(self._in_mat(value), spaces)
                if moved is not None:
                    args[index] = moved
                    self.calls[call] = call
            elif makers and value not in self.begins and _begins(makers, spaces):
                kind = _placed(makers[0], next(iter(spaces))).type
                self.begins[value] = Var(value.name, kind, value.span)
        if call in self.calls:
            self.calls[call] = op.call(args, call.kwargs, call.span)

    def _in_mat(self, var: Var) -> Var:
        found = self.loads.get(var)
        if found is None:
            kind = _placed(self._made[var][0].value, MemorySpace.Mat).type
            found = self.loads[var] = Var(f"{var.name}_mat", kind, var.span)
        return found

    def rewritten(self, body: Stmt) -> Stmt:
        """Return the body with loads to Mat, keeping those to Vec whose tiles are still read."""
        body = _Calls(self.calls, self.begins).visit(body)
        read = {var for stmt in stmts_in(body) for var in uses(held_by(stmt))}
        names = FreshNames({var.name for var in read} | {var.name for var in self._made})
        for var, tile in self.loads.items():
            name = names.like(tile.name) if var in read else var.name
            self.loads[var] = self.final[tile] = Var(name, tile.type, var.span)
        return _Loads(self.loads, self.final, read).visit(body)


class _Calls(Mutator):
    """Replaces calls, and variables together with their definitions."""

    def __init__(self, calls: Mapping[Call, Call], variables: Mapping[Var, Var]) -> None:
        super().__init__()
        self._calls = calls
        self._variables = variables

    def visit_Call(self, call: Call) -> Expr:
        """Replace a call that takes operands from a memory where they are not."""
        return self.rebuild(self._calls.get(call, call))

    def visit_Var(self, var: Var) -> Expr:
        """Replace a tile that is made in Vec and used in another memory."""
        return self._variables.get(var, var)

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt:
        """Make a tile without a value in the memory where it is used."""
        var = self._variables.get(stmt.var)
        if var is None:
            return self.rebuild(stmt)
        value: Expr = self.visit(stmt.value)
        space = known_space(var)
        if _is_in_vec(value) and space is not None:
            value = _placed(value, space)
        return checked_assign(var, value, stmt.span)


class _Loads(Mutator):
    """Adds loads to Mat after those to Vec, or replaces these."""

    def __init__(self, loads: Mapping[Var, Var], final: Mapping[Var, Var], read: set[Var]) -> None:
        super().__init__()
        self._loads = loads
        self._final = final
        self._read = read

    def visit_Var(self, var: Var) -> Expr:
        """Replace a tile in Mat by its final variable."""
        return self._final.get(var, var)

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt | list[Stmt]:
        """Load to Mat what the matrix unit uses."""
        tile = self._loads.get(stmt.var)
        if tile is None:
            return self.rebuild(stmt)
        load = checked_assign(tile, _placed(stmt.value, MemorySpace.Mat), stmt.span)
        return [stmt, load] if stmt.var in self._read else load


def _is_in_vec(maker: Expr) -> bool:
    return known_space(maker) is MemorySpace.Vec


def _begins(makers: Sequence[Expr], spaces: frozenset[MemorySpace]) -> bool:
    """True for a tile made without a value in Vec that is assigned values in another memory."""
    first, *others = makers
    op = op_of(first)
    if op is None or any(param.kind in (TENSOR, TILE) for param in op.params):
        return False
    is_empty = _MEMORY in op.get_attr_keys() and _is_in_vec(first)
    return is_empty and all(known_space(maker) in spaces for maker in others)
