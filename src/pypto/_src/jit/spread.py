"""The tasks of one program on several ranks: the owner of what a task writes runs it.

A program whose host function launches kernels is a graph of tasks. Here each task becomes a launch
on one rank, as if the program were a function of ``@pl.jit.host``: launches wait for each other
as they do there, and on a cluster arrays move from rank to rank. The cost is estimated before
anything is sent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Span, span_of_frame
from pypto._src.driver import CompiledProgram, compile_program, entry_function
from pypto._src.emit.cpp.options import CppOptions
from pypto._src.errors import CallError, EvaluationError, UnsupportedFeatureError
from pypto._src.interp.data_free import NO_DATA, DataFreeEvaluator, DataFreePlan
from pypto._src.interp.evaluate import Plan
from pypto._src.interp.op_calls import Eval
from pypto._src.ir.exprs import Call
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.queries import functions_called
from pypto._src.lazy import lazy_module
from pypto._src.passes.pass_manager import with_outputs
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import is_array, may_share
from pypto._src.run.config import DistributedConfig
from pypto._src.run.effects import effects
from pypto._src.run.launches import Launch, Touched, orders, run_launches
from pypto._src.run.scheduler import thread_count
from pypto._src.run.task_graph.tasks import Box, box_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

CALL_S: Final = 1e-3
"""Approximate cost of a launch in another process: a round trip through the cluster's engine."""
BYTES_PER_S: Final = 1e9
"""Approximate bandwidth at which a process receives arrays of another one."""


class Region(NamedTuple):
    """The first part of a tensor that a task writes; its owner runs the task."""

    kernel: str
    box: Box
    """First index and exclusive end for each dimension of the whole tensor."""
    shape: tuple[int, ...]
    """The sizes of the whole tensor."""


Owner = Callable[[Region, int], int]
"""Returns which of a number of ranks owns a region."""


def block(region: Region, ranks: int) -> int:
    """Return the owner if each rank has one contiguous piece of a tensor."""
    low, _, size = _split_dimension(region)
    return low * ranks // size


def cyclic(region: Region, ranks: int) -> int:
    """Return the owner if regions are dealt in turn: the first to rank 0, the next to rank 1."""
    low, high, _ = _split_dimension(region)
    return low // (high - low) % ranks


_OWNERS: Final[Mapping[str, Owner]] = {"block": block, "cyclic": cyclic}


def _split_dimension(region: Region) -> tuple[int, int, int]:
    """Return begin, end and size in the first dimension that a region does not fill."""
    for (low, high), size in zip(region.box, region.shape, strict=True):
        if 0 < high - low < size:
            return low, high, size
    return 0, 1, 1


class _Task(NamedTuple):
    """One call of a kernel."""

    kernel: str
    args: tuple[Any, ...]
    location: Span
    rank: int


class Estimate(NamedTuple):
    """The estimated cost of running a program on several ranks or here."""

    tasks: tuple[int, ...]
    """The number of tasks of each rank."""
    moved_bytes: int
    """Bytes sent between ranks, and to and from the caller's arrays."""
    here_s: float
    """Seconds of the program on this machine alone."""
    spread_s: float
    """Seconds of the program on its ranks."""
    least_s: float
    """A lower bound of the seconds on ranks, however the tasks are distributed."""
    call_s: float
    bytes_per_s: float

    @property
    def pays(self) -> bool:
        """True if the ranks are faster than this machine alone."""
        return self.spread_s < self.here_s

    @property
    def can_pay(self) -> bool:
        """False if no distribution over so many ranks could be faster."""
        return self.least_s < self.here_s

    def __str__(self) -> str:
        counts = ", ".join(map(str, self.tasks))
        moved = self.moved_bytes / 2**20
        if self.pays:
            verdict = f"spreading pays: {self.here_s / self.spread_s:.1f} times as fast"
        elif self.can_pay:
            verdict = "spreading does not pay with these owners"
        else:
            verdict = (
                f"spreading cannot pay: {self.least_s * 1e3:.3g} ms at least, whoever owns what"
            )
        return (
            f"{len(self.tasks)} ranks with {counts} tasks, {moved:.3g} MiB moved\n"
            f"this machine alone  {self.here_s * 1e3:9.3g} ms\n"
            f"the ranks           {self.spread_s * 1e3:9.3g} ms  "
            f"({self.call_s * 1e3:g} ms a task, {self.bytes_per_s / 1e9:g} GB/s)\n"
            f"{verdict} (an estimate)"
        )


class Spread:
    """A call of a program as tasks of several ranks, made by `spread`."""

    def __init__(
        self, program: Program, entry: str | None, args: Sequence[Any], config: DistributedConfig
    ) -> None:
        self._program, self._config = program, config
        self._entry = entry_function(program, entry).name
        self._args = args
        self._whole = with_outputs(program)
        self.ranks = len(config.device_ids)
        self._tasks: tuple[_Task, ...] = ()

    def own(self, owner: Owner) -> None:
        """Give each task to the owner of what it writes."""
        found = effects(self._whole)
        recorder = _Recorder(self._whole)
        recorder.call(self._entry, self._args)
        self._writes = {name: each.writes for name, each in found.items()}
        self._tasks = tuple(
            _Task(kernel, args, span, self._owner(owner, kernel, args, span))
            for kernel, args, span in recorder.calls
        )

    def _owner(self, owner: Owner, kernel: str, args: Sequence[Any], span: Span) -> int:
        pairs = zip(args, self._writes[kernel], strict=True)
        written = next((arg for arg, is_written in pairs if is_written), None)
        if written is None:
            return 0
        whole = _whole_of(written, self._args)
        region = Region(kernel, box_of(whole, written), whole.shape)
        rank = owner(region, self.ranks)
        if not isinstance(rank, int) or not 0 <= rank < self.ranks:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CallError(
                f"the owner of {list(region.box)} of a tensor {list(whole.shape)} is {rank!r}; "
                f"there are ranks 0 to {self.ranks - 1}",
                span,
                hint="return a number of them: lambda region, ranks: region.box[0][0] % ranks",
                slug="device",
            )
        return rank

    @property
    def owners(self) -> list[tuple[str, int]]:
        """The kernel and the rank of each task, in program order."""
        return [(task.kernel, task.rank) for task in self._tasks]

    @cached_property
    def _kernels(self) -> Mapping[str, CompiledProgram]:
        return {name: self._compiled(name) for name in dict.fromkeys(t.kernel for t in self._tasks)}

    def _compiled(self, name: str) -> CompiledProgram:
        """Return a kernel, with the functions that it calls, as a separate program."""
        wanted, functions = [name], dict[str, Function]()
        while wanted:
            function = self._whole.get_function(wanted.pop())
            assert function is not None
            if function.name not in functions:
                functions[function.name] = function
                wanted += functions_called(function)
        return compile_program(Program([*functions.values()], name), entry=name)

    # ----- running --------------------------------------------------------------------------

    def run(self) -> None:
        """Run all tasks, each on its rank; the results are in the arrays that were given.

        Raises:
            EvaluationError: a kernel reports an error, or a rank is lost.
        """
        kernels, config = self._kernels, self._config
        if config.on is None:
            self._launch(lambda task: kernels[task.kernel].run(task.args), None)
            return
        from pypto._src.cluster.session import Session

        session = Session(self.ranks, config.on, config.timeout)
        try:
            session.begin([], dict.fromkeys(kernels.values()))
            self._launch(
                lambda task: session.launch(
                    task.rank,
                    kernels[task.kernel],
                    task.args,
                    task.location,
                    task.location.filename,
                ),
                session,
            )
            session.end()
        finally:
            session.close()

    def _launch(self, run: Callable[[_Task], Any], session: Any) -> None:
        run_launches(self._launches(run), self.ranks, hex, None, session)

    def _launches(self, run: Callable[[_Task], Any]) -> list[Launch]:
        return [
            Launch(
                task.kernel,
                task.rank,
                partial(run, task),
                tuple(
                    Touched(arg, is_written)
                    for arg, is_written in zip(task.args, self._writes[task.kernel], strict=True)
                    if is_array(arg)
                ),
                task.location,
                task.location.filename,
                takes_turns=False,
            )
            for task in self._tasks
        ]

    # ----- cost --------------------------------------------------------------------

    def estimate(
        self,
        seconds: Mapping[str, float] | None = None,
        *,
        call_s: float = CALL_S,
        bytes_per_s: float = BYTES_PER_S,
        threads: int | None = None,
    ) -> Estimate:
        """Estimate the time of the run, here and on its ranks. Nothing is sent anywhere.

        Args:
            seconds: The time of a call of each kernel, by name; if not given, the program runs once
                on this machine, on copies of its arrays, and the kernels are measured.
            call_s: The cost of a launch on a rank besides its kernel.
            bytes_per_s: The bandwidth between ranks.
            threads: How many tasks this machine runs at a time; by default as many as a call does.
                A rank runs one.
        """
        known = self._measured() if seconds is None else seconds
        took = [known[task.kernel] for task in self._tasks]
        launches = self._launches(lambda _: None)
        # As if each task had its own rank, so that the bound holds for any owners.
        before = orders([each._replace(device=n) for n, each in enumerate(launches)])
        total, longest = sum(took), _longest(took, before)
        here = max(total / (threads or thread_count()), longest)
        moves = _moves(launches)
        ends: list[float] = []
        free = [0.0] * self.ranks
        for index, launch in enumerate(launches):
            begin = max([free[launch.device], *(ends[n] for n in before[index])])
            end = begin + call_s + moves[index] / bytes_per_s + took[index]
            ends.append(end)
            free[launch.device] = end
        written = [each.array for launch in launches for each in launch.touched if each.is_written]
        back = sum({_key(array): array.nbytes for array in written}.values())
        calls = -(-len(took) // self.ranks)
        return Estimate(
            tuple(sum(task.rank == rank for task in self._tasks) for rank in range(self.ranks)),
            sum(moves) + back,
            here,
            max(ends, default=0.0) + back / bytes_per_s,
            max(total / self.ranks + calls * call_s, longest + call_s) + back / bytes_per_s,
            call_s,
            bytes_per_s,
        )

    def _measured(self) -> dict[str, float]:
        """Return the time of a call of each kernel on this machine, measured in a run on copies."""
        program = compile_program(self._whole, entry=self._entry, options=CppOptions(profile=True))
        copies = [np.array(arg) if is_array(arg) else arg for arg in self._args]
        program.run(copies)  # warms up: memory is new in the first run
        before = program.profile
        program.run(copies)
        return {
            name: (after.seconds - before[name].seconds) / max(1, after.calls - before[name].calls)
            for name, after in program.profile.items()
        }


def spread(
    program: Program | CompiledProgram,
    *args: Any,
    config: DistributedConfig,
    owner: str | Owner = "block",
    entry: str | None = None,
) -> Spread:
    """Return the tasks of a call of a program, each on the rank that owns what it writes.

    Nothing runs: `Spread.estimate` says whether it pays, and `Spread.run` runs it.

    Args:
        program: A program whose host function launches kernels.
        args: What a call of it takes; arrays are those of NumPy.
        config: How many ranks there are, and where: threads, or processes of a cluster.
        owner: Which rank owns a region: ``block``, where each rank has a piece of a tensor,
            ``cyclic``, where regions are dealt in turn, or a function of a `Region` and the
            number of ranks.
        entry: The host function, if there are several.

    Raises:
        CallError: an argument does not fit, or an owner is not a rank.
        UnsupportedFeatureError: which tasks there are depends on the elements of a tensor, or the
            host itself changes one.
        PyptoError: the passes reject the program.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    source = program.source if isinstance(program, CompiledProgram) else program
    if isinstance(owner, str) and owner not in _OWNERS:
        raise CallError(
            f"owner is {owner!r}; it is one of {', '.join(_OWNERS)}, or a function",
            span_of_frame(frame),
            hint='owner="block"',
            slug="argument-kind",
        )
    made = Spread(source, entry, args, config)
    try:
        made.own(_OWNERS[owner] if isinstance(owner, str) else owner)
    except EvaluationError as error:
        if error.slug != "signal-data":
            raise
        raise UnsupportedFeatureError(
            "which tasks there are depends on the elements of a tensor",
            error.location,
            hint="run it on one machine: runtime.compile(program)(...)",
            slug="spread",
        ) from None
    return made


# --------------------------------------------------------------------------------------------
# Recording
# --------------------------------------------------------------------------------------------


class _Recorder(DataFreeEvaluator):
    """Evaluates host functions without data; calls of kernels are recorded instead of made."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._kernels = {f.name for f in program.functions_ if role(f) is Role.KERNEL}
        self.signalling = {f.name for f in program.functions_}  # so that no call is skipped
        self.calls: list[tuple[str, tuple[Any, ...], Span]] = []

    def plan(self, function: Function) -> Plan:
        is_kernel = function.name in self._kernels
        return DataFreePlan(function, self) if is_kernel else _HostPlan(function, self)

    def run(self, name: str, args: Sequence[Any], span: Span | None = None) -> Any:
        where = Span("", 0, 0) if span is None else span
        if name in self._kernels:
            if any(arg is NO_DATA for arg in args):
                raise _needs_data(where)
            self.calls.append((name, tuple(args), where))
        return super().run(name, args, where)

    def note_view(self, view: Any, source: Any) -> None:
        raise UnsupportedFeatureError(
            "the host function takes a tensor in another shape, which is a copy",
            hint="let a kernel do that",
            slug="spread",
        )


class _HostPlan(DataFreePlan):
    """A host function, which calls kernels and computes nothing on tensors itself."""

    def _op_call(self, call: Call, op: OpDef[..., Any], evals: Sequence[Eval]) -> Eval:
        if op.writes:
            raise UnsupportedFeatureError(
                "the host function changes a tensor itself",
                call.span,
                hint="let a kernel do that",
                slug="spread",
            )
        return super()._op_call(call, op, evals)


def _needs_data(span: Span) -> EvaluationError:
    from pypto._src.interp.signal_trace import NeedsDataError

    return NeedsDataError().at(span)


def _whole_of(view: Array, args: Sequence[Any]) -> Array:
    """Return the tensor that an array is part of: an argument, or one that the host has made."""
    for arg in args:
        if is_array(arg) and may_share(arg, view):
            return arg
    whole = view
    while is_array(whole.base):
        whole = whole.base
    return whole


# --------------------------------------------------------------------------------------------
# Data movement and its timing
# --------------------------------------------------------------------------------------------


def _longest(took: Sequence[float], before: Sequence[Sequence[int]]) -> float:
    """Return the time of the longest chain of dependent tasks."""
    ends: list[float] = []
    for seconds, waits in zip(took, before, strict=True):
        ends.append(seconds + max((ends[n] for n in waits), default=0.0))
    return max(ends, default=0.0)


def _moves(launches: Sequence[Launch]) -> list[int]:
    """Return how many bytes each launch must fetch: those that its rank does not have yet."""
    held: dict[Hashable, tuple[Array, set[int]]] = {}
    found: list[int] = []
    for launch in launches:
        count = 0
        for array, is_written in launch.touched:
            _, ranks = held.get(_key(array), (array, set[int]()))
            if launch.device not in ranks:
                count += array.nbytes
            if is_written:
                held = {key: each for key, each in held.items() if not may_share(each[0], array)}
                ranks = set[int]()
            held[_key(array)] = (array, {*ranks, launch.device})
        found.append(count)
    return found


def _key(array: Array) -> Hashable:
    return array.ctypes.data, array.shape, array.strides
