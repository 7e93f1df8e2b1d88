"""Acc round trips: results that each iteration stores to one address, of which the last counts."""

from __future__ import annotations

from collections.abc import Iterator

from pypto._src.analysis.purity import trips, with_effects
from pypto._src.diagnostics import Span
from pypto._src.emit.writer import source_comment
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    Program,
    Stmt,
    YieldStmt,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import stmts_in, uses
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.records import NamedTuple
from pypto._src.timeline.changes.change import Change, ChangePass


class _Late(NamedTuple):
    """A store in a loop that could be moved after it."""

    stmt: AssignStmt
    store: Call
    tile: int  # which of the carried values it stores
    tensor: int  # which carried value is the tensor


def changes(kernel: Function) -> Iterator[Change]:
    """Yield, for each such store, the change that moves it after the loop."""
    for loop in stmts_in(kernel.body):
        late = _late(loop) if isinstance(loop, ForStmt) else None
        if late is not None:
            where = source_comment(late.store.span)
            yield Change(
                "Acc round trip" if _is_in_acc(late.store) else "repeated store",
                kernel.name,
                (late.store.span, loop.span),
                "each iteration stores its sum to one address, where only the last one stays",
                f"move the store in {where} after the loop in {source_comment(loop.span)}",
                (LateStore(kernel.name, loop.span),),
                keeps_values=False,
            )


def _is_in_acc(store: Call) -> bool:
    return any(
        isinstance(arg.type, TileType)
        and isinstance(arg, Var)
        and _made_space(arg) is MemorySpace.Acc
        for arg in store.args
    )


def _made_space(var: Var) -> MemorySpace | None:
    kind = var.type
    assert isinstance(kind, TileType)
    view = kind.tile_view
    return MemorySpace.Acc if view is not None and view.fractal > 512 else MemorySpace.Vec


class LateStore(ChangePass):
    """``for ...: store(sum)``  ->  ``for ...: ...; store(sum)``, for one loop."""

    def __init__(self, kernel: str, span: Span) -> None:
        super().__init__(kernel)
        self.span = span

    def run(self, program: Program) -> Program:
        """Return the program with the store after that loop."""
        return map_functions(
            program, lambda f: _Mover(self.span).function(f) if f.name == self.kernel else f
        )


class _Mover(Mutator):
    def __init__(self, span: Span) -> None:
        super().__init__()
        self._span = span

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt | list[Stmt]:
        late = _late(stmt) if stmt.span is self._span else None
        if late is None:
            return self.rebuild(stmt)
        *others, last = statements(stmt.body)
        assert isinstance(last, YieldStmt)
        at = late.tensor
        carried = YieldStmt(_without(last.value, at), last.span)
        inner = [each for each in others if each is not late.stmt]
        tensor, result = stmt.iter_args[at], stmt.return_vars[at]
        loop = copy_with(
            stmt,
            {
                "iter_args": _without(stmt.iter_args, at),
                "return_vars": _without(stmt.return_vars, at),
                "body": seq([*inner, carried], stmt.body.span),
            },
        )
        args = [
            stmt.return_vars[late.tile]
            if arg is last.value[late.tile]
            else tensor.initValue
            if arg is tensor
            else arg
            for arg in late.store.args
        ]
        op = op_of(late.store)
        assert op is not None
        store = op.call(args, late.store.kwargs, late.store.span)
        return [loop, AssignStmt(result, store, late.stmt.span)]


def _without(values: tuple[Expr, ...], index: int) -> tuple[Expr, ...]:
    return (*values[:index], *values[index + 1 :])


def _late(loop: ForStmt) -> _Late | None:
    """Return the store at the end of a loop that could be moved after it; None if there is none.

    It stores a value that the loop carries, in a region that does not move, to a tensor that the
    loop does nothing else with. The loop certainly has an iteration.
    """
    body = list(statements(loop.body))
    if not trips(loop) or not body or not isinstance(body[-1], YieldStmt):
        return None
    carried = body[-1].value
    inside = {stmt.var for stmt in stmts_in(loop.body) if isinstance(stmt, AssignStmt)}
    writing = with_effects(loop.body)
    for stmt in body[:-1]:
        call = stmt.value if isinstance(stmt, AssignStmt) else None
        if not isinstance(call, Call) or stmt not in writing or not isinstance(stmt, AssignStmt):
            continue
        if not isinstance(call.type, TensorType):
            continue
        tensor = aliased(call)
        to = _index(loop.iter_args, tensor)
        of = next((n for n, v in enumerate(carried) if any(v is arg for arg in call.args)), None)
        if to is None or of is None or carried[to] is not stmt.var:
            continue
        others = [arg for arg in call.args if arg is not tensor and arg is not carried[of]]
        read = {*uses(others)}
        if read & {*inside, loop.loop_var}:
            continue
        names = {loop.iter_args[to], stmt.var}
        if any(names & {*uses((each,))} for each in body[:-1] if each is not stmt):
            continue
        return _Late(stmt, call, of, to)
    return None


def _index(variables: tuple[Var, ...], wanted: Expr | None) -> int | None:
    return next((n for n, var in enumerate(variables) if var is wanted), None)
