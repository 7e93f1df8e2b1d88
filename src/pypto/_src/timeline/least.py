"""A lower bound on how long a run takes, for which each kind of task is walked once.

Sizes, loops and branches of host functions and kernels are computed for all iterations at once, as
arrays. That tells which calls of a kernel issue the same instructions. One call of each such class
is walked with times that no call beats: no pipe has to start up, each load takes the shorter time
of one from the cache and one from memory, no other core takes bandwidth. Longer times never make
anything in such a walk earlier, so each call takes at least as long, and for tasks of known lengths
the cores take at least as long as the busiest of them. What is unknown about a program counts as
nothing, so the bound holds for every program, but is 0 where data steers it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from pypto._src.cost.cases import Case
from pypto._src.cost.formulas import Timing
from pypto._src.cost.model import CostModel
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.enums import PipeType
from pypto._src.ir.exprs import (
    Add,
    And,
    Call,
    ConstBool,
    ConstInt,
    Eq,
    Expr,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    MakeTuple,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Sub,
    UnaryExpr,
    Var,
)
from pypto._src.ir.exprs import BinaryExpr as Binary
from pypto._src.ir.op_params import INTS
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ScopeStmt,
    Stmt,
    WhileStmt,
    statements,
)
from pypto._src.ir.traversal.queries import calls_of
from pypto._src.ir.types import ScalarType
from pypto._src.lazy import lazy_module
from pypto._src.ops.tensor import dim
from pypto._src.timeline.core import CoreTimeline, Event, Share
from pypto._src.timeline.instructions import instruction_of
from pypto._src.timeline.simulate import ENOUGH, KernelPlan, KernelSimulator

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

_LANES: Final = 1 << 23
"""More iterations at once take too much memory and count as nothing."""
_CLASSES: Final = 32
"""How many classes of calls are walked, the largest first."""
_RANGE: Final = 1 << 31
"""Numbers beyond this may have wrapped."""

Value = Any
"""A number, or an array with an axis for each enclosing loop, of length 1 where it is the same."""

_ON_NUMBERS: Final = (Add, Sub, Mul, Eq, Ne, Lt, Le, Gt, Ge, FloorDiv, FloorMod, Neg)
"""Operators with the same meaning on arrays, element by element, as on numbers."""
_ON_ARRAYS: Final[dict[type[Expr], str]] = {
    Min: "minimum",
    Max: "maximum",
    And: "logical_and",
    Or: "logical_or",
    Not: "logical_not",
}
"""NumPy's names of the operators for which that is not so."""


class _UnknownError(Exception):
    """What a kernel issues depends on something unknown."""


class _Fastest(CoreTimeline):
    """A call that never waits for others and pays nothing to start a pipe."""

    def work(self, site: int, pipe: PipeType, timing: Timing, issue: float) -> Event:
        """Issue an instruction, which has no startup time."""
        return super().work(site, pipe, Timing(0.0, timing.busy, timing.tail), issue)

    def load(self, case: Case, timing: Timing, missing: float, *, is_cube: bool) -> Timing:
        """Return the shortest time of a load, however much of it is in the cache."""
        rates, size, rows = self.rates, case.bytes, case.valid_rows
        cold = rates.cold_cube if is_cube else rates.cold_vector
        warm = rates.warm_cube if is_cube else rates.warm_vector
        alone = timing.busy or size / cold
        times = (size / warm + rates.warm_row * rows, size / cold + rates.cold_row * rows, alone)
        rounded = 0.5 * max(1 / cold, alone / max(size, 1))  # fractions of a load are whole bytes
        busy = max(min(times) - rounded, rates.transfer)
        return Timing(0.0, busy, min(timing.head, rates.warm_latency))


def lower_bound_cycles(
    program: Program, entry: Function, model: CostModel, sizes: Mapping[str, int]
) -> float:
    """Return how many cycles after the launch a run takes at least."""
    search = _Least(program, model)
    if role(entry) is Role.KERNEL:
        search.launches(entry, [sizes.get(param.name) for param in entry.params], 1)
    else:
        search.host(entry, {}, sizes)
    return search.cycles()


class _Least:
    """The tasks of a run, each with its least time."""

    def __init__(self, program: Program, model: CostModel) -> None:
        self.simulator = KernelSimulator(program, model)
        self.functions = {function.name: function for function in program.functions_}
        self.tasks: dict[bool, list[tuple[float, int]]] = {True: [], False: []}
        self._plans: dict[str, KernelPlan | None] = {}

    def cycles(self) -> float:
        """Return how long the busier kind of cores is busy at least."""
        vector, cube = self.simulator.cores
        return max(_makespan(self.tasks[True], cube), _makespan(self.tasks[False], vector))

    def host(self, function: Function, args: Mapping[Var, Value], sizes: Mapping[str, int]) -> None:
        """Add the tasks of a host function."""
        walk = _HostWalk(self, args)
        for param in function.params:
            if param not in args and isinstance(param.type, ScalarType) and param.name in sizes:
                walk.env[param] = sizes[param.name]
            if isinstance(param.type, TensorType):
                for dim in param.type.shape:
                    if isinstance(dim, Var) and dim.name in sizes:
                        walk.env[dim] = sizes[dim.name]
        walk.body(function.body)

    def launches(self, kernel: Function, args: Sequence[Value], count: int) -> None:
        """Add ``count`` calls of a kernel; each scalar is a number or an array, None if unknown."""
        try:
            groups = self._classes(kernel, args, count)
        except _UnknownError:
            return
        for first, calls in groups:
            numbers = [int(arg[first]) if _is_array(arg) else arg for arg in args]
            found = self._time(kernel, numbers)
            if found is not None:
                self.tasks[found[0]].append((found[1], calls))

    def _classes(
        self, kernel: Function, args: Sequence[Value], count: int
    ) -> list[tuple[int, int]]:
        """Return for each class of calls the number of its first call and its size."""
        walk = _KernelWalk(count)
        for param, arg in zip(kernel.params, args, strict=True):
            if isinstance(param.type, ScalarType) and arg is not None:
                walk.env[param] = arg
        walk.body(kernel.body)
        _, first, counts = np.unique(walk.classes, return_index=True, return_counts=True)
        found = sorted(zip(first.tolist(), counts.tolist(), strict=True), key=lambda g: (-g[1], g))
        return found[:_CLASSES]

    def _time(self, kernel: Function, args: Sequence[Value]) -> tuple[bool, float] | None:
        """Return whether a call runs on a cube core, and its least time; None if not known."""
        plan = self._plan(kernel)
        if plan is None:
            return None
        arrays: list[Value] = []
        for param, arg in zip(kernel.params, args, strict=True):
            if not isinstance(param.type, TensorType):
                arrays.append(arg or 0)  # an unknown one steers nothing
                continue
            shape = static_shape(param.type)
            if shape is None:
                return None
            arrays.append(np.broadcast_to(np.zeros((), param.type.dtype.numpy), shape))
        simulator = self.simulator
        timeline = _Fastest(kernel.name, simulator.rates, Share(ENOUGH, ENOUGH))
        plan.walk(timeline, arrays, repeat(0.0))
        pickup = simulator.model.machine("pickup.us") * simulator.model.machine("clock.mhz")
        return timeline.is_cube, timeline.cycles + pickup

    def _plan(self, kernel: Function) -> KernelPlan | None:
        if kernel.name not in self._plans:
            simulator = self.simulator
            simulator.reads_data = False
            plan = simulator.plan(kernel)
            assert isinstance(plan, KernelPlan)
            self._plans[kernel.name] = None if simulator.reads_data else plan
        return self._plans[kernel.name]


def _makespan(tasks: Sequence[tuple[float, int]], cores: float) -> float:
    """Return how long cores take at least for tasks of these times, each with its count.

    One core has ``m + 1`` of the longest ``m * cores + 1`` tasks.
    """
    least = sum(time * count for time, count in tasks) / cores
    before = 0
    for time, count in sorted(tasks, reverse=True):
        before += count
        least = max(least, -(-before // int(cores)) * time)
    return least


class _Walk(ABC):
    """Statements, with their scalars for all iterations at once."""

    def __init__(self, env: Mapping[Var, Value], axes: Sequence[int]) -> None:
        self.env: dict[Var, Value] = dict(env)
        self.axes = list(axes)
        """How many iterations each enclosing loop has."""
        self.mask: Value = True
        """Which of these iterations happen."""

    def body(self, body: Stmt | None) -> None:
        """Walk through the statements of a body."""
        for stmt in statements(body):
            match stmt:
                case AssignStmt():
                    self.calls(stmt)
                    if isinstance(stmt.var.type, ScalarType):
                        self._define(stmt.var, self.value(stmt.value))
                case EvalStmt():
                    self.calls(stmt)
                case ForStmt():
                    self._loop(stmt)
                case IfStmt():
                    self._branch(stmt)
                case ScopeStmt():
                    self.body(stmt.body)
                case WhileStmt() | BreakStmt() | ContinueStmt():
                    self.unknown()
                case _:
                    pass

    @abstractmethod
    def calls(self, stmt: AssignStmt | EvalStmt) -> None:
        """Note what a statement calls."""

    @abstractmethod
    def note(self, value: Value) -> None:
        """Note a value that steers."""

    @abstractmethod
    def unknown(self) -> None:
        """Note that something that steers is unknown."""

    def value(self, expr: Expr) -> Value:
        """Return the value of an expression, None if it is unknown."""
        if isinstance(expr, ConstInt | ConstBool):
            return int(expr.value)
        if isinstance(expr, Var):
            return self._deep(self.env.get(expr))
        if isinstance(expr, Call) and op_of(expr) is dim:
            tensor, axis = expr.args
            if isinstance(tensor.type, TensorType) and isinstance(axis, ConstInt):
                found = self.value(tensor.type.shape[axis.value])
                return None if found is None or np.min(found) < 0 else found
            return None
        if not isinstance(expr, Binary | UnaryExpr) or expr.dtype.is_float():
            return None
        kind = type(expr)
        if kind not in _ON_NUMBERS and kind not in _ON_ARRAYS:
            return None
        compute = kind.fold if kind in _ON_NUMBERS else getattr(np, _ON_ARRAYS[kind])
        if isinstance(expr, Binary):
            args = [self.value(expr.left), self.value(expr.right)]
            if isinstance(expr, FloorDiv | FloorMod) and (args[1] is None or not np.all(args[1])):
                return None
        else:
            args = [self.value(expr.operand)]
        if any(arg is None for arg in args):
            return None
        if _size(args) > _LANES:
            return None
        found = np.asarray(compute(*args)).astype(np.int64)
        bits = expr.dtype.get_bit()
        limit = min(_RANGE, 1 << max(bits - 1, 1))
        if found.size and (found.max() >= limit or found.min() < -limit):
            return None
        return found if found.ndim else int(found)

    def _define(self, var: Var, value: Value) -> None:
        if value is not None:
            self.env[var] = value

    def _deep(self, value: Value) -> Value:
        """Return a value with as many axes as there are loops."""
        if not _is_array(value):
            return value
        return value.reshape(value.shape + (1,) * (len(self.axes) - value.ndim))

    def _loop(self, loop: ForStmt) -> None:
        bounds = [self.value(each) for each in (loop.start, loop.stop, loop.step)]
        if any(bound is None for bound in bounds) or not np.all(bounds[2]):
            self.unknown()
            return
        start, stop, step = bounds
        up = np.maximum(-((start - stop) // step), 0)
        for bound in bounds:
            self.note(bound)
        most = int(np.max(up, initial=0))
        if most == 0:
            return
        if most * max(self._broadcast(up), 1) > _LANES:
            self.unknown()
            return
        mask = self.mask
        self.axes.append(most)
        numbers = np.arange(most, dtype=np.int64).reshape((1,) * (len(self.axes) - 1) + (most,))
        self.env[loop.loop_var] = self._deep(start) + numbers * self._deep(step)
        self.mask = self._deep(mask)
        if _is_array(up):
            self.mask = np.logical_and(self.mask, numbers < self._deep(up))
        self.body(loop.body)
        self.axes.pop()
        self.mask = mask

    def _broadcast(self, value: Value) -> int:
        return _size([value, self.mask])

    def _branch(self, stmt: IfStmt) -> None:
        condition = self.value(stmt.condition)
        if condition is None:
            self.unknown()
            return
        self.note(condition)
        mask = self.mask
        for body, taken in ((stmt.then_body, True), (stmt.else_body, False)):
            self.mask = np.logical_and(mask, np.equal(condition != 0, taken))
            if np.any(self.mask):
                self.body(body)
        self.mask = mask


class _HostWalk(_Walk):
    """A host function: its calls are tasks, or calls of other host functions."""

    def __init__(self, least: _Least, env: Mapping[Var, Value]) -> None:
        super().__init__(env, ())
        self._least = least
        self._depth = 0

    def note(self, value: Value) -> None:
        """Do nothing: each iteration is a task of its own."""

    def unknown(self) -> None:
        """Do nothing: what is unknown counts as nothing."""

    def calls(self, stmt: AssignStmt | EvalStmt) -> None:
        for call in calls_of(stmt):
            callee = self._least.functions.get(call.op.name)
            if callee is None or op_of(call) is not None:
                continue
            args = [self.value(arg) for arg in call.args]
            if role(callee) is not Role.KERNEL:
                inner = {
                    param: arg
                    for param, arg in zip(callee.params, args, strict=True)
                    if arg is not None
                }
                before, self.env = self.env, {**self.env, **inner}
                self.body(callee.body)
                self.env = before
                continue
            shape = tuple(self.axes)
            count = 1
            for axis in shape:
                count *= axis
            if count > _LANES:
                continue
            taken = np.broadcast_to(np.asarray(self.mask, dtype=bool), shape)
            lanes = [np.broadcast_to(arg, shape)[taken] if _is_array(arg) else arg for arg in args]
            self._least.launches(callee, lanes, int(taken.sum()))


class _KernelWalk(_Walk):
    """All calls of a kernel: which of them issue the same instructions."""

    def __init__(self, count: int) -> None:
        super().__init__({}, (count,))
        self.classes: Any = np.zeros(count, dtype=np.int64)
        self._noted: dict[tuple[int, int], Value] = {}
        """Variables and masks that have been noted, by identity; this keeps the masks alive."""

    def unknown(self) -> None:
        raise _UnknownError

    def note(self, value: Value) -> None:
        """Put calls into different classes if a value that steers differs between them."""
        if value is None:
            raise _UnknownError
        if not _is_array(value) or value.shape[0] == 1:
            return
        if self._broadcast(value) > _LANES:
            raise _UnknownError
        rows = np.where(self.mask, value, 0)
        rows = rows.reshape(rows.shape[0], -1)
        _, own = np.unique(rows, axis=0, return_inverse=True)
        both = self.classes * (int(own.max(initial=0)) + 1) + own.reshape(-1)
        self.classes = np.unique(both, return_inverse=True)[1].reshape(-1)

    def calls(self, stmt: AssignStmt | EvalStmt) -> None:
        for call in calls_of(stmt):
            op = op_of(call)
            pipe = None if op is None else op.pipe_of(call)
            if op is None or pipe is None:
                continue
            steering = [*(instruction_of(call, op, pipe).valid or ())]
            lists = {p.name: i for i, p in enumerate(op.operands) if p.kind == INTS}
            shapes = call.args[lists["shapes"]] if "shapes" in lists else None
            if isinstance(shapes, MakeTuple):
                steering += shapes.elements
            for expr in steering:
                key = id(expr), id(self.mask)
                if not isinstance(expr, Var) or key not in self._noted:
                    self._noted[key] = self.mask
                    self.note(self.value(expr))


def _is_array(value: Value) -> bool:
    return hasattr(value, "ndim") and value.ndim > 0


def _size(values: Sequence[Value]) -> int:
    """Return the number of elements of arrays after broadcasting them together."""
    size = 1
    shapes = [value.shape for value in values if _is_array(value)]
    for axis in zip(*shapes, strict=False):
        size *= max(axis)
    return size
