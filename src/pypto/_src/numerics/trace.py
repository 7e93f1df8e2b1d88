"""Evaluates a program and shows an observer the value of each statement as it is computed.

A *point* is a place in the text that has a value: a call of an op, an assignment of a scalar or
another name, the arguments of a kernel, a bound of a loop, the condition of a branch. Points are
numbered in the order of the text, so that two versions of a program can be aligned before either
runs (`numerics.alignment`). Owns what a run shows; judges nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Span, lines_at
from pypto._src.dtypes import DataType
from pypto._src.interp.evaluate import UNSET, Evaluator, Plan, Run
from pypto._src.interp.op_calls import Env, Eval, op_eval
from pypto._src.ir.array_types import TensorType, TileType, dtype_of, static_shape
from pypto._src.ir.exprs import Call, Expr
from pypto._src.ir.inspect.source_names import user_call
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, Program, ScopeStmt, Stmt
from pypto._src.ir.types import ScalarType
from pypto._src.lazy import lazy_module
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import is_array

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

LARGEST_VIEW: Final = 1 << 18
"""The most elements of a tensor view that is observed; of larger ones only the offsets are."""


_SAMPLE: Final = 1 << 12


class Point(NamedTuple):
    """A point of the program that has a value whenever a run passes it."""

    function: str
    op: str
    """The op's name, ``=`` for a scalar or another name, or ``control`` for a loop or branch."""
    target: str
    """The name that the statement assigns, "" if none."""
    is_whole: bool
    """Whether the value is what the statement assigns, not an operand of it."""
    span: Span
    dtype: DataType | None
    """The element type of the value, None for several numbers."""
    stores: bool
    """Whether it changes a tensor: its values are the stored data and the offsets."""
    call: Call | None
    region: str
    """The region or kernel that the point is in, "" outside of any."""
    loops: tuple[tuple[str, int], ...]
    """The variables of the loops around it, each with its slot."""

    @property
    def text(self) -> str:
        """The source text in one line, or the op if the source is not available."""
        found = " ".join(lines_at(self.span).split())
        if not found and self.call is not None:
            found = user_call(self.call)
        return found or self.op


Observer = Callable[[int, tuple[Any, ...], Sequence[Any]], None]
"""Takes the number of a point, its values, and the values of its operands."""


class TracedEvaluator(Evaluator):
    """Evaluates a program for an observer; with ``is_exact``, in 64-bit floats."""

    def __init__(self, program: Program, *, is_exact: bool = False) -> None:
        super().__init__(program)
        self.is_exact = is_exact
        self.points: list[Point] = []
        self.observer: Observer | None = None
        self.env: Env = []
        self.callers: list[tuple[tuple[tuple[str, int], ...], Env]] = []
        for name, function in self._functions.items():
            self._plans[name] = self.plan(function)

    def plan(self, function: Function) -> Plan:
        """Return ``function`` ready to be called."""
        return _TracedPlan(function, self)

    def iteration(self, point: Point) -> list[tuple[str, int]]:
        """Return the loop variables at the run's current point, the outermost first."""
        around = [*self.callers, (point.loops, self.env)]
        return [
            (name, int(env[slot]))
            for loops, env in around
            for name, slot in loops
            if env[slot] is not UNSET
        ]

    def run_on(self, entry: str, args: Sequence[Any], observer: Observer) -> Any:
        """Call ``entry`` and show ``observer`` the values; changes tensors in place.

        Raises:
            EvaluationError: the program does something that has no meaning.
        """
        self.observer = observer
        self.callers.clear()
        try:
            return self.call(entry, args)
        finally:
            self.observer = None


class _TracedPlan(Plan):
    """One function as closures that show their values."""

    def __init__(self, function: Function, evaluator: TracedEvaluator) -> None:
        self.traced = evaluator
        self.target = ""
        self.assigned: Expr | None = None
        self.loops: list[tuple[str, int]] = []
        self.regions = [function.name if role(function) is Role.KERNEL else ""]
        super().__init__(function, evaluator)

    def _point(self, op: str, span: Span, kind: Any, call: Call | None, *, stores: bool) -> int:
        dtype = kind.dtype if isinstance(kind, TensorType | TileType | ScalarType) else None
        points = self.traced.points
        where = (self.regions[-1], tuple(self.loops))
        name = self.function.name
        is_whole = call is None or call is self.assigned
        points.append(Point(name, op, self.target, is_whole, span, dtype, stores, call, *where))
        return len(points) - 1

    def _statement(self, stmt: Stmt, targets: Sequence[Any]) -> Run:
        kept = self.target, self.assigned
        self.target = stmt.var.name if isinstance(stmt, AssignStmt) else ""
        self.assigned = stmt.value if isinstance(stmt, AssignStmt) else None
        if isinstance(stmt, ScopeStmt):
            self.regions.append(stmt.name_hint or f"line {stmt.span.begin_line}")
        try:
            return super()._statement(stmt, targets)
        finally:
            self.target, self.assigned = kept
            if isinstance(stmt, ScopeStmt):
                self.regions.pop()

    def _for(self, stmt: ForStmt) -> Run:
        self.loops.append((stmt.loop_var.name, self._slot(stmt.loop_var)))
        try:
            return super()._for(stmt)
        finally:
            self.loops.pop()

    def _function_call(self, name: str, evals: Sequence[Eval], span: Span) -> Eval:
        loops, traced = tuple(self.loops), self.traced
        number = self._point(f"call {name}", span, None, None, stores=False)
        run = super()._function_call(name, [*map(_argument, range(len(evals)))], span)

        def call(env: Env) -> Any:
            args = [each(env) for each in evals]
            if traced.observer is not None:
                traced.env = env
                small = [a for a in args if getattr(a, "size", 0) <= LARGEST_VIEW]
                traced.observer(number, tuple(small), ())
            traced.callers.append((loops, env))
            try:
                return run(args)
            finally:
                traced.callers.pop()

        return call

    def _assign(self, stmt: AssignStmt) -> Run:
        run = super()._assign(stmt)
        if isinstance(stmt.value, Call):
            return run
        number = self._point("=", stmt.span, stmt.var.type, None, stores=False)
        slot, traced = self._slot(stmt.var), self.traced

        def assign(env: Env) -> str | None:
            signal = run(env)
            if traced.observer is not None and env[slot] is not UNSET:
                traced.env = env
                traced.observer(number, (env[slot],), ())
            return signal

        return assign

    def _guarded(self, expr: Expr, span: Span) -> Eval:
        value = super()._guarded(expr, span)
        number = self._point("control", span, expr.type, None, stores=False)
        traced = self.traced

        def guarded(env: Env) -> Any:
            found = value(env)
            if traced.observer is not None:
                traced.env = env
                traced.observer(number, (found,), ())
            return found

        return guarded

    def _op_call(self, call: Call, op: OpDef[..., Any], evals: Sequence[Eval]) -> Eval:
        operands = [_argument(index) for index in range(len(evals))]
        compute = super()._op_call(call, op, operands)
        if self.traced.is_exact:
            compute = _of_numbers(compute, call, op_eval(call, op, operands))
        stores = isinstance(call.type, TensorType) and bool(op.writes)
        number = self._point(op.name, call.span, call.type, call, stores=stores)
        traced, is_view, writes = self.traced, op.view_of is not None, op.writes

        def run(env: Env) -> Any:
            args = [each(env) for each in evals]
            value = compute(args)
            observer = traced.observer
            if observer is not None:
                if stores:
                    values = tuple(a for index, a in enumerate(args) if index not in writes)
                elif is_view and getattr(value, "size", 0) > LARGEST_VIEW:
                    values = tuple(args[1:])
                else:
                    values = (value,)
                traced.env = env
                observer(number, values, args)
            return value

        return run


def _of_numbers(exact: Eval, call: Call, own: Eval) -> Eval:
    """Return a function that computes a call in float64, or in its own types if it works on bytes.

    Pairs of a value and the bits of its index, as in sorts, do not work as 64-bit numbers: the
    result then does not have the shape of the call's type.
    """
    kind = call.type
    shape = static_shape(kind) if isinstance(kind, TileType | TensorType) else None
    kinds = [arg.type for arg in call.args]

    def run(args: Env) -> Any:
        value = None
        with suppress(ValueError, IndexError, TypeError, OverflowError):
            value = exact(args)
            if shape is None or value.shape == shape:
                return value
        narrow = [
            arg.astype(kind.dtype.numpy)
            if isinstance(kind, TileType | TensorType) and is_array(arg)
            else arg
            for arg, kind in zip(args, kinds, strict=False)
        ] + args[len(kinds) :]
        found = own(narrow)
        is_float = is_array(found) and dtype_of(call).is_float()
        return found.astype(np.float64) if is_float else found

    return run


def sample(array: Array) -> Array:
    """Return a few thousand elements of an array, or all if it has no more."""
    if array.size <= _SAMPLE:
        return array
    step = math.ceil((array.size / _SAMPLE) ** (1 / array.ndim))
    return array[tuple([slice(None, None, step)] * array.ndim)]


def _argument(index: int) -> Callable[[Env], Any]:
    return lambda env: env[index]
