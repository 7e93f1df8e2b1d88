"""Evaluates a program without its data: numbers, views and signals, but no element of a tensor.

So what ranks do with windows is known at the cost of a walk through their loops, whatever the
contents and sizes of the tensors. A number that is an element of a tensor is `NO_DATA`. If it
decides which signal a rank sends or waits for, the walk ends with `NeedsDataError`; branches and
loops that it controls are skipped if they contain no signal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final

from pypto._src.diagnostics import Span
from pypto._src.interp.evaluate import Evaluator, Plan, Run, Store
from pypto._src.interp.op_calls import Env, Eval, argument
from pypto._src.interp.race_detector import AccessKind
from pypto._src.interp.signal_trace import NeedsDataError, RecordingWorld
from pypto._src.interp.tensor_boxes import TensorBoxes
from pypto._src.interp.watched_interpreter import access_kind
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import BinaryExpr, Call, UnaryExpr, Var
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.roles import sends_signals
from pypto._src.ir.stmts import (
    BreakStmt,
    ContinueStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    Stmt,
    WhileStmt,
)
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import ScalarType
from pypto._src.ranks import current


class _NoData:
    """An element of a tensor. Using its value raises an error."""

    def _needed(self, *_: object) -> Any:
        raise NeedsDataError

    __bool__ = __int__ = __index__ = __float__ = __neg__ = __abs__ = __invert__ = _needed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _needed
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _needed
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _needed
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __pow__ = __rpow__ = _needed
    __lt__ = __le__ = __gt__ = __ge__ = __trunc__ = _needed


NO_DATA: Final = _NoData()


class DataFreeEvaluator(Evaluator):
    """Evaluates a program after the passes; calls report to the world of their rank."""

    def __init__(self, program: Program | Function) -> None:
        super().__init__(program)
        self.signalling = {
            function.name for function in self._functions.values() if sends_signals(function.body)
        }
        """The functions that send signals or wait for them."""

    def plan(self, function: Function) -> Plan:
        """Return ``function`` ready to be called."""
        return DataFreePlan(function, self)

    def note_view(self, view: Any, source: Any) -> None:
        """Do nothing for a view that had to be a copy: its elements are not used."""


class DataFreePlan(Plan):
    """One function as closures that compute no element."""

    evaluator: DataFreeEvaluator

    def _address(self, var: Var) -> int | None:
        return None  # a tile has no elements, so no memory

    def _scalar_binder(self, param: Var, kind: ScalarType) -> Store:
        slot, known = self._slot(param), super()._scalar_binder(param, kind)

        def bind(env: Env, value: Any) -> None:
            if value is NO_DATA:
                env[slot] = value
            else:
                known(env, value)

        return bind

    # ----- control flow ---------------------------------------------------------------------

    def _statement(self, stmt: Stmt, targets: Sequence[Var]) -> Run:
        known, span = super()._statement(stmt, targets), stmt.span

        def run(env: Env) -> str | None:
            try:
                return known(env)
            except NeedsDataError as error:
                raise error.at(span) from None

        return run

    def _if(self, stmt: IfStmt) -> Run:
        known = super()._if(stmt)
        if not self._may_be_left_out(stmt):
            return known
        condition = self._guarded(stmt.condition, stmt.span)
        then_run = self._body(stmt.then_body, stmt.return_vars)
        forget = self._forgetting(stmt.return_vars)

        def run(env: Env) -> str | None:
            try:
                bool(condition(env))
            except NeedsDataError:
                world = _world()
                with nullcontext() if world is None else world.muted():
                    then_run(env)
                return forget(env)
            return known(env)

        return run

    def _for(self, stmt: ForStmt) -> Run:
        known = super()._for(stmt)
        if not self._may_be_left_out(stmt):
            return known
        bounds = [self._guarded(e, stmt.span) for e in (stmt.start, stmt.stop, stmt.step)]
        skip = self._skipping(stmt)

        def run(env: Env) -> str | None:
            try:
                for bound in bounds:
                    int(bound(env))
            except NeedsDataError:
                return skip(env)
            return known(env)

        return run

    def _while(self, stmt: WhileStmt) -> Run:
        known = super()._while(stmt)
        if not self._may_be_left_out(stmt):
            return known
        enter = self._hand_over([a.initValue for a in stmt.iter_args], stmt.iter_args)
        condition = self._guarded(stmt.condition, stmt.span)
        skip = self._skipping(stmt)

        def run(env: Env) -> str | None:
            enter(env)
            try:
                bool(condition(env))
            except NeedsDataError:
                return skip(env)
            return known(env)

        return run

    def _skipping(self, stmt: ForStmt | WhileStmt) -> Run:
        """Return the skipping of a loop: tensors stay the same ones, numbers become unknown."""
        enter = self._hand_over([a.initValue for a in stmt.iter_args], stmt.iter_args)
        leave = self._hand_over(stmt.iter_args, stmt.return_vars)
        forget = self._forgetting(stmt.return_vars)

        def skip(env: Env) -> str | None:
            enter(env)
            leave(env)
            return forget(env)

        return skip

    def _forgetting(self, results: Sequence[Var]) -> Run:
        slots = [self._slot(var) for var in results if not isinstance(var.type, TensorType)]

        def forget(env: Env) -> None:
            for slot in slots:
                env[slot] = NO_DATA

        return forget

    def _may_be_left_out(self, stmt: Stmt) -> bool:
        """True if skipping a statement changes no signals and no control flow around it."""
        return not sends_signals(stmt, self.evaluator.signalling) and not any(
            isinstance(node, ReturnStmt)
            or (isinstance(node, BreakStmt | ContinueStmt) and isinstance(stmt, IfStmt))
            for node in walk(stmt)
        )

    # ----- expressions ----------------------------------------------------------------------

    def _binary(self, expr: BinaryExpr) -> Eval:
        return _or_no_data(super()._binary(expr))

    def _unary(self, expr: UnaryExpr) -> Eval:
        return _or_no_data(super()._unary(expr))

    def _short_circuit(self, expr: BinaryExpr) -> Eval:
        return _or_no_data(super()._short_circuit(expr))

    def _op_call(self, call: Call, op: OpDef[..., Any], evals: Sequence[Eval]) -> Eval:
        compute = super()._op_call(call, op, [argument(index) for index in range(len(evals))])
        if op.level == "system":
            return _system_call(call.span, compute, evals)
        if op.view_of is not None and isinstance(call.type, TensorType):
            return _if_all_known(compute, evals)
        touched = [
            (index, access_kind(op, index))
            for index, arg in enumerate(call.args)
            if isinstance(arg.type, TensorType) and (index in op.reads or index in op.writes)
        ]
        if touched:
            return _transfer(call, op, touched, evals)
        has_tiles = any(isinstance(arg.type, TileType) for arg in call.args)
        if has_tiles or isinstance(call.type, TileType):
            return _nothing(evals)
        return _if_all_known(compute, evals)


def _system_call(span: Span, compute: Callable[..., Any], evals: Sequence[Eval]) -> Eval:
    """Return the evaluation of a call that sends a signal or waits for one."""

    def run(env: Env) -> Any:
        args = [each(env) for each in evals]
        if _has_no_data(args):
            raise NeedsDataError().at(span)
        rank = current()
        if rank is not None:
            rank.at = span
        return compute(args)

    return run


def _transfer(
    call: Call,
    op: OpDef[..., Any],
    touched: Sequence[tuple[int, AccessKind]],
    evals: Sequence[Eval],
) -> Eval:
    """Return the evaluation of a call that reports which parts of tensors it touches."""
    span, boxes, count = call.span, TensorBoxes(op), len(call.args)
    named = next(iter(op.writes)) if len(op.writes) == 1 else None
    is_tensor = isinstance(call.type, TensorType)

    def run(env: Env) -> Any:
        args = [each(env) for each in evals]
        rank, world = current(), _world()
        numbers: list[Any] = [arg for arg in args if isinstance(arg, tuple)]  # offsets and sizes
        if rank is not None and world is not None and not _has_no_data([*numbers, *args[count:]]):
            rank.at = span
            for index, kind in touched:
                if args[index] is NO_DATA:
                    continue
                box = boxes.of(args, index)
                if count < len(args) <= count + 2:  # of a partly valid tile
                    box = box[(..., *map(slice, args[count:]))]
                world.touched(box, kind)
        return args[named] if is_tensor and named is not None else NO_DATA

    return run


def _nothing(evals: Sequence[Eval]) -> Eval:
    def run(env: Env) -> Any:
        for each in evals:
            each(env)
        return NO_DATA

    return run


def _if_all_known(compute: Callable[..., Any], evals: Sequence[Eval]) -> Eval:
    def run(env: Env) -> Any:
        args = [each(env) for each in evals]
        return NO_DATA if _has_no_data(args) else compute(args)

    return run


def _or_no_data(known: Eval) -> Eval:
    def run(env: Env) -> Any:
        try:
            return known(env)
        except NeedsDataError:
            return NO_DATA

    return run


def _has_no_data(args: Sequence[Any]) -> bool:
    return any(
        arg is NO_DATA or (isinstance(arg, tuple) and _has_no_data(arg))  # pyright: ignore[reportUnknownArgumentType]
        for arg in args
    )


def _world() -> RecordingWorld | None:
    """Return the world that records what this thread does, None without one."""
    rank = current()
    world = None if rank is None else rank.world
    return world if isinstance(world, RecordingWorld) else None
