"""Loops and branches need not carry a view that they only write to: it remains the same view.

    for i, (dst,) in range(4, init=(view,)):      for i in range(4):
        with pl.incore():                             with pl.incore():
            d1 = store(load(src), dst)      ->            store(load(src), view)
        dst = pl.yield_(d1)

A kernel that also uses another part of the same tensor creates both views itself. It could not
create one that a loop carries, nor return one that it has created.
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
from pypto._src.passes.tensors.core_work import calls_in


def without_carried_views(function: Function, roots: Mapping[Var, Sequence[Var]]) -> Function:
    """Return a host function that carries no view used in a region with others of its tensor.

    Such a view then has one name, before and after it is written.
    """
    every = list(stmts_in(function.body))
    made = {stmt.var: stmt.value for stmt in every if isinstance(stmt, AssignStmt)}
    same = _same_tensors(every, made)
    views: set[Var] = set()
    for scope in every:
        if isinstance(scope, ScopeStmt):
            views |= {view for view in _beside_others(scope, same, roots) if _is_view(made, view)}
    carried: dict[Var, Expr] = {
        var: view for var in same if (view := _resolved(var, same)) in views
    }
    if not carried:
        return function
    body = _Uncarried(carried).body(function.body)
    return function.with_body(substitute(body, carried))


def _is_view(made: Mapping[Var, Expr], var: Var) -> bool:
    return op_of(made.get(var)) in (tensor.view, tensor.reshape_view)


def _same_tensors(every: Sequence[Stmt], made: Mapping[Var, Expr]) -> dict[Var, Var]:
    """Map names of tensors to the earlier name that they equal on every path."""
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


def _beside_others(
    scope: ScopeStmt, same: Mapping[Var, Var], roots: Mapping[Var, Sequence[Var]]
) -> set[Var]:
    """Return the tensors of a region that share a base, which is written, with others in it."""
    inner = list(stmts_in(scope.body))
    own = {var for stmt in inner for var in defined_by(stmt)}
    used = {_resolved(var, same) for stmt in inner for var in _used(stmt) if var not in own}
    names: dict[Var, set[Var]] = {}
    for var in used:
        for base in roots.get(var, ()):
            names.setdefault(base, set()).add(var)
    calls = [call for stmt in inner for call in calls_in(stmt)]
    written = {
        base
        for call in calls
        if (op := op_of(call)) is not None
        for at in op.writes
        if isinstance(target := call.args[at], Var)
        for base in roots.get(target, ())
    }
    return {var for base in written for var in names.get(base, ()) if len(names[base]) > 1}


def _used(stmt: Stmt) -> list[Var]:
    parts = [child for child in children(stmt) if not isinstance(child, Stmt)]
    return list(uses(parts))


class _Uncarried(Mutator):
    """Removes variables from what loops and branches carry."""

    def __init__(self, carried: Mapping[Var, Expr]) -> None:
        super().__init__()
        self._carried = carried

    def visit_ForStmt(self, loop: ForStmt) -> Stmt:
        """Return a loop without the views that it carries."""
        return self._without(loop)

    def visit_WhileStmt(self, loop: WhileStmt) -> Stmt:
        """Return a loop without the views that it carries."""
        return self._without(loop)

    def visit_IfStmt(self, branch: IfStmt) -> Stmt:
        """Return a branch that does not yield views."""
        kept = [at for at, var in enumerate(branch.return_vars) if var not in self._carried]
        then = self.body(branch.then_body)
        other = None if branch.else_body is None else self.body(branch.else_body)
        if len(kept) < len(branch.return_vars):
            then = _with_ends(then, kept)
            other = None if other is None else _with_ends(other, kept)
        results = [branch.return_vars[at] for at in kept]
        return IfStmt(branch.condition, then, other, results, branch.span)

    def _without(self, loop: ForStmt | WhileStmt) -> Stmt:
        kept = [at for at, arg in enumerate(loop.iter_args) if arg not in self._carried]
        body = self.body(loop.body)
        if len(kept) == len(loop.iter_args):
            return loop if body is loop.body else copy_with(loop, {"body": body})
        changes = {
            "iter_args": tuple([loop.iter_args[at] for at in kept]),
            "return_vars": tuple([loop.return_vars[at] for at in kept]),
            "body": _with_ends(body, kept),
        }
        return copy_with(loop, changes)


def _with_ends(body: Stmt, kept: Sequence[int]) -> Stmt:
    """Return a body that yields only the values at the indices ``kept``."""
    stmts, ends = list(statements(body)), yielded(body)
    last = [YieldStmt([ends[at] for at in kept], stmts[-1].span)] if kept else []
    return seq([*stmts[:-1], *last], body.span)
