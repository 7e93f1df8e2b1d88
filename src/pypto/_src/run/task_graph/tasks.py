"""The tasks of one run of a program as data: which tasks wait for which, and why.

Runs the program in the interpreter, on copies of its arguments, and records each kernel call with
the regions that it reads and writes. Knows nothing of how a graph is drawn, nor of how tasks are
scheduled: it gives the constraints on any schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.emit.writer import source_comment
from pypto._src.interp.evaluate import Evaluator, Plan, Run
from pypto._src.interp.op_calls import Env, Eval
from pypto._src.ir.enums import ForKind, ParamDirection
from pypto._src.ir.exprs import Call
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, Program
from pypto._src.lazy import lazy_module
from pypto._src.ops import tensor
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import is_array
from pypto._src.run.effects import effects

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

Box = tuple[tuple[int, int], ...]
"""First index and exclusive end for each dimension of the buffer."""

Iterations = tuple[tuple[int, int], ...]
"""The enclosing parallel loops, outermost first: the number of the run, the index in it."""

RAW: Final = "RAW"
"""The later task reads what the earlier one writes."""
WAW: Final = "WAW"
"""Both write, and the later one does not read it."""
WAR: Final = "WAR"
"""The later task writes what the earlier one reads."""


class Part(NamedTuple):
    """A box of a buffer."""

    buffer: str
    box: Box
    is_whole: bool

    def __str__(self) -> str:
        if self.is_whole:
            return self.buffer
        return f"{self.buffer}[{', '.join(f'{low}:{high}' for low, high in self.box)}]"

    def as_data(self) -> dict[str, Any]:
        """Return the part as data that JSON can represent."""
        return {"tensor": self.buffer, "region": [list(pair) for pair in self.box]}


class Wait(NamedTuple):
    """Why a task comes after an earlier one: a region that both access."""

    before: int  # the number of the earlier task
    kind: str  # RAW, WAW or WAR
    part: Part


class TaskNode(NamedTuple):
    """One task: a kernel call, or an op on whole tensors that the host runs itself."""

    number: int  # in the order of the program
    name: str  # of the kernel, or of the op
    location: str | None  # file and line of the call, without the folder
    is_host: bool
    scalars: tuple[tuple[str, int | float], ...]  # arguments by the names of the parameters
    reads: tuple[Part, ...]
    writes: tuple[Part, ...]
    waits: tuple[Wait, ...]
    level: int  # the number of tasks on the longest path to it

    def as_data(self) -> dict[str, Any]:
        """Return the task as data that JSON can represent."""
        return {
            "number": self.number,
            "name": self.name,
            "location": self.location,
            "host": self.is_host,
            "level": self.level,
            "scalars": dict(self.scalars),
            "reads": [part.as_data() for part in self.reads],
            "writes": [part.as_data() for part in self.writes],
            "waits": [
                {"task": wait.before, "kind": wait.kind, **wait.part.as_data()}
                for wait in self.waits
            ],
        }


class Tasks(NamedTuple):
    """All tasks of a run."""

    entry: str
    nodes: tuple[TaskNode, ...]

    @property
    def levels(self) -> list[list[TaskNode]]:
        """The tasks by level, in program order: those of one level may run in parallel."""
        found: list[list[TaskNode]] = [[] for _ in range(1 + max(self._levels(), default=-1))]
        for node in self.nodes:
            found[node.level].append(node)
        return found

    def _levels(self) -> Iterable[int]:
        return (node.level for node in self.nodes)

    @property
    def counts(self) -> dict[str, int]:
        """The number of tasks of each kernel, sorted by name."""
        found: dict[str, int] = {}
        for node in self.nodes:
            found[node.name] = found.get(node.name, 0) + 1
        return dict(sorted(found.items()))

    def as_data(self) -> dict[str, Any]:
        """Return the tasks as data that JSON can represent."""
        return {"entry": self.entry, "tasks": [node.as_data() for node in self.nodes]}


def tasks_of(program: Program, entry: str, args: Sequence[Any]) -> Tasks:
    """Run ``program`` in the interpreter and return its tasks; ``args`` are not written.

    Raises:
        EvaluationError: the program does something undefined, or ``args`` do not fit.
    """
    trace = TaskTrace(program)
    return trace.tasks(entry, args)


# --------------------------------------------------------------------------------------------
# Memory
# --------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """An access of a task to a box of a buffer."""

    task: int
    box: Box
    reads: bool
    writes: bool
    around: Iterations = ()


_SECTIONS: Final = 1024
"""The number of equal sections of a buffer, used to find the accesses near an address."""
_FEW: Final = 8
"""An access to more sections than this is checked against all others."""


class _Entries:
    """Accesses to one buffer, by the sections that they touch; without duplicates."""

    def __init__(self) -> None:
        self.all: dict[_Entry, None] = {}  # in program order
        self.wide: dict[_Entry, None] = {}
        self.at: dict[int, dict[_Entry, None]] = {}

    def near(self, sections: range) -> Iterator[_Entry]:
        """Yield all accesses that may touch one of these sections."""
        if len(sections) > _FEW:
            yield from self.all
            return
        yield from self.wide
        for section in sections:
            yield from self.at.get(section, ())

    def add(self, entry: _Entry, sections: range) -> None:
        self.all[entry] = None
        for table in self._tables(sections):
            table[entry] = None

    def remove(self, entry: _Entry, sections: range) -> None:
        del self.all[entry]
        for table in self._tables(sections):
            del table[entry]

    def _tables(self, sections: range) -> list[dict[_Entry, None]]:
        if len(sections) > _FEW:
            return [self.wide]
        return [self.at.setdefault(section, {}) for section in sections]


class _Buffer:
    """One allocation, with the accesses that later tasks may have to wait for."""

    def __init__(self, array: Array) -> None:
        self.array = array  # kept alive, so that no other allocation gets its address
        self.address = array.ctypes.data
        self.name = ""
        self._readers = _Entries()  # accesses that only read
        self._writers = _Entries()
        self._run = -1  # of the parallel loop that is running, if any
        self._of_run: dict[int, dict[_Entry, None]] = {}
        """The accesses in that run by iteration: an iteration never waits for those of others."""
        self._overwritten: dict[_Entry, None] = {}
        """Accesses that one iteration has overwritten, and others still must wait for."""

    def conflicts(self, now: _Entry) -> list[tuple[_Entry, str]]:
        """Return the accesses that ``now`` must wait for, and why, in program order.

        A read waits only for writes, so earlier reads are not searched for it.
        """
        self._enter(now)
        sections = self._sections(now.box)
        found: dict[_Entry, str] = {}
        sources = [
            entries.near(sections)
            for entries in ((self._writers, self._readers) if now.writes else (self._writers,))
        ]
        if now.around:
            sources += [iter(self._of_run.get(now.around[0][1], ())), iter(self._overwritten)]
        for entry in chain(*sources):
            kind = _kind(entry, now)
            if kind is not None:
                found[entry] = kind
        return sorted(found.items())

    def note(self, now: _Entry) -> None:
        """Record an access; later ones wait for it instead of for what it overwrites."""
        self._enter(now)
        own = self._of_run.setdefault(now.around[0][1], {}) if now.around else {}
        for entry, _ in self.conflicts(now):
            if not now.writes or not _is_inside(entry.box, now.box):
                continue
            if entry in own:
                del own[entry]
            elif entry not in self._overwritten:
                self._table(entry).remove(entry, self._sections(entry.box))
                if now.around:
                    self._overwritten[entry] = None
        if now.around:
            own[now] = None
        else:
            self._table(now).add(now, self._sections(now.box))

    def _enter(self, now: _Entry) -> None:
        """Begin the run that an access is in, and end the one before."""
        run = now.around[0][0] if now.around else -1
        if run == self._run:
            return
        for entries in self._of_run.values():
            for entry in entries:
                self._table(entry).add(entry, self._sections(entry.box))
        self._run, self._of_run, self._overwritten = run, {}, {}

    def _table(self, entry: _Entry) -> _Entries:
        return self._writers if entry.writes else self._readers

    def _sections(self, box: Box) -> range:
        first = last = 0
        for size, (low, high) in zip(self.array.shape, box, strict=True):
            first, last = first * size + low, last * size + max(low, high - 1)
        whole = max(1, self.array.size)
        return range(first * _SECTIONS // whole, last * _SECTIONS // whole + 1)

    def box(self, view: Array) -> Box:
        """Return the box of the buffer that an array views."""
        return box_of(self.array, view)


def box_of(buffer: Array, view: Array) -> Box:
    """Return the box of a buffer that an array views; all of it, if the view is not a box."""
    whole = tuple((0, size) for size in buffer.shape)
    if view.ndim != buffer.ndim:
        return whole
    rest, box = view.ctypes.data - buffer.ctypes.data, list[tuple[int, int]]()
    for size, stride, length in zip(buffer.shape, buffer.strides, view.shape, strict=True):
        first = rest // stride if size > 1 else 0
        rest -= first * stride
        box.append((first, first + length))
    return tuple(box) if rest == 0 else whole


def _owner(array: Array) -> Array:
    while is_array(array.base):
        array = array.base
    return array


class _Draft(NamedTuple):
    """A task whose buffers may still be unnamed."""

    name: str
    span: Span
    is_host: bool
    scalars: tuple[tuple[str, int | float], ...]
    accesses: tuple[tuple[_Buffer, _Entry], ...]
    waits: tuple[tuple[int, str, _Buffer, Box], ...]
    level: int


# --------------------------------------------------------------------------------------------
# Running
# --------------------------------------------------------------------------------------------


class TaskTrace(Evaluator):
    """Evaluates host functions; kernels are recorded and evaluated, by ``inside`` if given.

    With ``zeros``, tensors that the program makes begin as zeros: for an ``inside`` that computes
    nothing, so that numbers read from them control loops and branches sensibly.
    """

    def __init__(
        self, program: Program, inside: Evaluator | None = None, *, zeros: bool = False
    ) -> None:
        super().__init__(program)
        self.zeros = zeros
        self.has_zeros = False
        """True once such a tensor has been made."""
        self._kernels = {f.name: f for f in program.functions_ if role(f) is Role.KERNEL}
        self._inside = inside or Evaluator(
            program
        )  # kernels may call functions, which are not tasks
        self._effects = effects(program)
        self._buffers: dict[int, _Buffer] = {}
        self._drafts: list[_Draft] = []
        self.parallel_loops: list[tuple[int, int, Env]] = []
        """The running ones: the number of the run, the slot of the index, and its environment."""
        self.parallel_runs = 0

    def tasks(self, entry: str, args: Sequence[Any]) -> Tasks:
        """Call a function on copies of its arguments, and return its tasks."""
        function = self._functions[entry]
        copies = [np.array(arg, order="C") if np.ndim(arg) else arg for arg in args]
        for param, value in zip(function.params, copies, strict=False):
            if is_array(value):
                self.buffer_of(value).name = param.name
        self.call(entry, copies)
        return Tasks(entry, self.nodes())

    def plan(self, function: Function) -> Plan:
        """Return ``function`` ready to be called."""
        return _HostPlan(function, self)

    def run(self, name: str, args: Sequence[Any], span: Span = UNKNOWN_SPAN) -> Any:
        kernel = self._kernels.get(name)
        if kernel is None:
            return super().run(name, args, span)
        writes = self._effects[name].writes
        scalars: list[tuple[str, int | float]] = []
        accesses: list[tuple[Array, bool, bool]] = []
        rows = zip(kernel.params, kernel.param_directions, writes, args, strict=False)
        for param, direction, is_written, value in rows:
            if is_array(value):
                accesses.append((value, direction is not ParamDirection.Out, is_written))
            else:
                scalars.append((param.name, value))
        found = self._inside.call(name, args)
        self._add(name, span, accesses, tuple(scalars))
        return found

    def host_op(self, name: str, span: Span, accesses: Sequence[tuple[Array, bool, bool]]) -> None:
        """Record an op of the host if it writes a tensor, or reads what a task has written."""
        if any(writes for _, _, writes in accesses) or self._has_to_wait(accesses):
            self._add(name, span, accesses, (), is_host=True)

    def buffer_of(self, array: Array) -> _Buffer:
        """Return the allocation that an array is part of; a new one for an unknown array."""
        owner = _owner(array)
        found = self._buffers.get(id(owner))
        if found is None:
            found = self._buffers[id(owner)] = _Buffer(array)
        return found

    def _has_to_wait(self, accesses: Iterable[tuple[Array, bool, bool]]) -> bool:
        for array, reads, writes in accesses:
            buffer = self.buffer_of(array)
            now = _Entry(-1, buffer.box(array), reads, writes, self._around())
            if buffer.conflicts(now):
                return True
        return False

    def _add(
        self,
        name: str,
        span: Span,
        accesses: Iterable[tuple[Array, bool, bool]],
        scalars: tuple[tuple[str, int | float], ...],
        is_host: bool = False,
    ) -> None:
        number, level = len(self._drafts), 0
        around = self._around()
        noted: list[tuple[_Buffer, _Entry]] = []
        waits: dict[tuple[int, str, int, Box], tuple[int, str, _Buffer, Box]] = {}
        for array, reads, writes in accesses:
            buffer = self.buffer_of(array)
            now = _Entry(number, buffer.box(array), reads, writes, around)
            noted.append((buffer, now))
            for entry, kind in buffer.conflicts(now):
                level = max(level, self._drafts[entry.task].level + 1)
                common = _common(entry.box, now.box)
                waits[entry.task, kind, id(buffer), common] = (entry.task, kind, buffer, common)
        for buffer, now in noted:
            buffer.note(now)
        ordered = tuple(waits[key] for key in sorted(waits, key=lambda key: key[0]))
        self._drafts.append(_Draft(name, span, is_host, scalars, tuple(noted), ordered, level))

    def _around(self) -> Iterations:
        return tuple([(run, env[slot]) for run, slot, env in self.parallel_loops])

    def nodes(self) -> tuple[TaskNode, ...]:
        """Return the tasks, with names for all buffers."""
        self._name_buffers()
        return tuple(_node(number, draft) for number, draft in enumerate(self._drafts))

    def _name_buffers(self) -> None:
        """Rename buffers of the same name: s, s.2, s.3, in order of creation."""
        used: dict[str, int] = {}
        for buffer in self._buffers.values():
            name = buffer.name or "tensor"
            used[name] = used.get(name, 0) + 1
            buffer.name = name if used[name] == 1 else f"{name}.{used[name]}"


def _node(number: int, draft: _Draft) -> TaskNode:
    def parts(wanted: Iterable[tuple[_Buffer, Box]]) -> tuple[Part, ...]:
        return tuple(dict.fromkeys(_part(buffer, box) for buffer, box in wanted))

    return TaskNode(
        number,
        draft.name,
        source_comment(draft.span),
        draft.is_host,
        draft.scalars,
        parts((buffer, entry.box) for buffer, entry in draft.accesses if entry.reads),
        parts((buffer, entry.box) for buffer, entry in draft.accesses if entry.writes),
        tuple(Wait(before, kind, _part(buffer, box)) for before, kind, buffer, box in draft.waits),
        draft.level,
    )


def _part(buffer: _Buffer, box: Box) -> Part:
    return Part(buffer.name, box, box == tuple((0, size) for size in buffer.array.shape))


def _kind(before: _Entry, now: _Entry) -> str | None:
    """Return why ``now`` must wait for ``before``, None if it need not."""
    if before.task == now.task:
        return None
    if not (before.writes or now.writes) or _are_parallel(before.around, now.around):
        return None
    for (low, high), (first, end) in zip(before.box, now.box, strict=True):
        if high <= first or end <= low:
            return None
    if not before.writes:
        return WAR
    return RAW if now.reads else WAW


def _are_parallel(around: Iterations, other: Iterations) -> bool:
    """True for different iterations of one parallel loop, which may run in any order."""
    for (run, index), (other_run, other_index) in zip(around, other, strict=False):
        if run != other_run:
            return False
        if index != other_index:
            return True
    return False


def _common(box: Box, other: Box) -> Box:
    return tuple(
        (max(low, first), min(high, end))
        for (low, high), (first, end) in zip(box, other, strict=True)
    )


def _is_inside(inner: Box, outer: Box) -> bool:
    """True if a box is inside another one."""
    return _common(inner, outer) == inner


# --------------------------------------------------------------------------------------------
# Host functions
# --------------------------------------------------------------------------------------------


class _HostPlan(Plan):
    """A host function that reports its ops and the names of its variables to the trace."""

    def __init__(self, function: Function, trace: TaskTrace) -> None:
        self.trace = trace
        super().__init__(function, trace)

    def _assign(self, stmt: AssignStmt) -> Run:
        run, slot = super()._assign(stmt), self._slot(stmt.var)
        name, trace = stmt.var.name, self.trace

        def assign(env: Env) -> str | None:
            signal = run(env)
            value: Any = env[slot]
            if is_array(value):
                buffer = trace.buffer_of(value)
                buffer.name = buffer.name or name
            return signal

        return assign

    def _for(self, stmt: ForStmt) -> Run:
        run = super()._for(stmt)
        if stmt.kind is not ForKind.Parallel:
            return run
        slot, trace = self._slot(stmt.loop_var), self.trace

        def parallel(env: Env) -> str | None:
            trace.parallel_runs += 1
            trace.parallel_loops.append((trace.parallel_runs, slot, env))
            try:
                return run(env)
            finally:
                trace.parallel_loops.pop()

        return parallel

    def _op_call(self, call: Call, op: OpDef[..., Any], evals: Sequence[Eval]) -> Eval:
        if op.view_of is not None and not op.writes:
            return super()._op_call(call, op, evals)
        values: list[Any] = [None] * len(evals)

        def noting(index: int, each: Eval) -> Eval:
            def note(env: Env) -> Any:
                values[index] = each(env)
                return values[index]

            return note

        run = super()._op_call(call, op, [noting(i, each) for i, each in enumerate(evals)])
        trace, span = self.trace, call.span

        def run_and_tell(env: Env) -> Any:
            result = run(env)
            accesses = [
                (value, index in op.reads, index in op.writes)
                for index, value in enumerate(values)
                if is_array(value)
            ]
            if is_array(result) and not op.writes:
                result = result if result.base is None else result.copy()
                if trace.zeros and op is tensor.create:
                    result.fill(0)
                    trace.has_zeros = True
                trace.buffer_of(result)
                if op.reads:
                    accesses.append((result, False, True))
            trace.host_op(op.name, span, accesses)
            return result

        return run_and_tell
