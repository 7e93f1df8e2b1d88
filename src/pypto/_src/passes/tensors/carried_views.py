"""Loops need not carry a view that they only write to: it is the same one in each iteration.

    for i, (dst,) in range(4, init=(view,)):      for i in range(4):
        with pl.incore():                             with pl.incore():
            d1 = store(load(src), dst)      ->            store(load(src), view)
        dst = pl.yield_(d1)

A kernel that gets another part of the same tensor, too, makes both views itself; the one that a
loop carries it could not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    seq,
    statements,
    yielded,
)
from pypto._src.ir.traversal.mutator import Mutator, substitute
from pypto._src.ir.traversal.queries import defined_by, stmts_in, uses
from pypto._src.ir.traversal.walk import children, copy_with
from pypto._src.ir.types import same_type
from pypto._src.ops import tensor


def without_carried_views(function: Function, roots: Mapping[Var, Sequence[Var]]) -> Function:
    """Return a host function whose loops do not carry views beside others of the same tensors."""
    every = list(stmts_in(function.body))
    made = {stmt.var: stmt.value for stmt in every if isinstance(stmt, AssignStmt)}
    same = _same_tensors(every, made)
    carried: dict[Var, Expr] = {}
    for loop in every:
        if not isinstance(loop, ForStmt | WhileStmt):
            continue
        for arg, result in zip(loop.iter_args, loop.return_vars, strict=True):
            view = _resolved(arg, same)
            is_view = op_of(made.get(view)) in (tensor.view, tensor.reshape_view)
            if arg in same and is_view and _is_beside_others(loop, view, same, roots):
                carried.update({arg: view, result: view})
    if not carried:
        return function
    body = _Uncarried(carried).body(function.body)
    return function.with_body(substitute(body, carried))


def _same_tensors(every: Sequence[Stmt], made: Mapping[Var, Expr]) -> dict[Var, Var]:
    """Return the names of tensors that are those of an earlier name, wherever the program goes."""
    same: dict[Var, Var] = {}
    for var, value in made.items():
        op, source = op_of(value), value
        if isinstance(value, Call) and op is not None and len(op.writes) == 1:
            source = value.args[min(op.writes)]
        if isinstance(source, Var) and isinstance(source.type, TensorType):
            same[var] = source
    for stmt in reversed(every):  # what is inside comes first
        if isinstance(stmt, IfStmt):
            ends = zip(yielded(stmt.then_body), yielded(stmt.else_body), strict=False)
            for result, arms in zip(stmt.return_vars, ends, strict=False):
                found = {_resolved(arm, same) for arm in arms if isinstance(arm, Var)}
                if len(found) == 1 and all(isinstance(arm, Var) for arm in arms):
                    same[result] = found.pop()
        elif isinstance(stmt, ForStmt | WhileStmt):
            ends = yielded(stmt.body)
            for arg, result, end in zip(stmt.iter_args, stmt.return_vars, ends, strict=False):
                first = arg.initValue
                if not isinstance(first, Var) or not isinstance(end, Var):
                    continue
                if _resolved(end, same) is arg and same_type(first.type, arg.type):
                    same.update({arg: first, result: first})
    return {var: to for var, to in same.items() if isinstance(var.type, TensorType)}


def _resolved(var: Var, same: Mapping[Var, Var]) -> Var:
    while var in same:
        var = same[var]
    return var


def _is_beside_others(
    loop: Stmt, view: Var, same: Mapping[Var, Var], roots: Mapping[Var, Sequence[Var]]
) -> bool:
    """True if a region in a loop uses a view, and what may share bytes with it."""
    for scope in (stmt for stmt in stmts_in(loop) if isinstance(stmt, ScopeStmt)):
        inner = list(stmts_in(scope.body))
        own = {var for stmt in inner for var in defined_by(stmt)}
        used = {_resolved(var, same) for stmt in inner for var in _used(stmt) if var not in own}
        others = (var for var in used if var is not view and isinstance(var.type, TensorType))
        bases = {base for var in others for base in roots.get(var, ())}
        if view in used and not bases.isdisjoint(roots.get(view, ())):
            return True
    return False


def _used(stmt: Stmt) -> list[Var]:
    parts = [child for child in children(stmt) if not isinstance(child, Stmt)]
    return list(uses(parts))


class _Uncarried(Mutator):
    """Takes variables out of what loops carry."""

    def __init__(self, carried: Mapping[Var, Expr]) -> None:
        super().__init__()
        self._carried = carried

    def visit_ForStmt(self, loop: ForStmt) -> Stmt:
        """Return a loop without the views that it carries."""
        return self._without(loop)

    def visit_WhileStmt(self, loop: WhileStmt) -> Stmt:
        """Return a loop without the views that it carries."""
        return self._without(loop)

    def _without(self, loop: ForStmt | WhileStmt) -> Stmt:
        kept = [at for at, arg in enumerate(loop.iter_args) if arg not in self._carried]
        body = self.body(loop.body)
        if len(kept) == len(loop.iter_args):
            return loop if body is loop.body else copy_with(loop, {"body": body})
        stmts = list(statements(body))
        ends = yielded(body)
        last = [YieldStmt([ends[at] for at in kept], stmts[-1].span)] if kept else []
        changes = {
            "iter_args": tuple([loop.iter_args[at] for at in kept]),
            "return_vars": tuple([loop.return_vars[at] for at in kept]),
            "body": seq([*stmts[:-1], *last], loop.span),
        }
        return copy_with(loop, changes)
