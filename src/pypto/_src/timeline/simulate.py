"""Runs a program without its data: what each kernel call issues, as the core's pipes execute it.

Kernels are walked statement by statement as they are emitted: loops run, branches are taken,
offsets are computed, flags and barriers are waited for. What instructions compute is left out, so
an element that a kernel reads from one of its tiles is taken as 0, and reported so.

Each call is walked twice: first for its transfers alone, which cache and other calls need to know.
That also tells which path it took. If an earlier call took the same path, missed the cache as often
and had as much of the bandwidth, the call gets the same timeline, and the second walk, which takes
many times longer, is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Any, Final

from pypto._src.cost.cases import Case
from pypto._src.cost.formulas import Timing
from pypto._src.cost.model import CostModel
from pypto._src.interp.evaluate import Evaluator, Plan, Run
from pypto._src.interp.op_calls import Env, Eval, operands_of
from pypto._src.ir.array_types import MemRef, TensorType, TileType
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr, Var
from pypto._src.ir.inspect.source_names import user_call
from pypto._src.ir.op_params import INTS
from pypto._src.ir.opdef import OpDef, aliased, op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, Program, Stmt
from pypto._src.ir.types import ScalarType
from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_dst, sync_src
from pypto._src.records import NamedTuple
from pypto._src.timeline.core import CoreTimeline, Rates, Share, Site, TileUse
from pypto._src.timeline.instructions import Instruction, instruction_of

Part = tuple[int, int, int, int]
"""A part of a tensor: the number of its buffer, its first byte there, rows and columns."""

Trace = tuple[tuple[Any, ...], tuple[float, ...]]
"""The path of a call, as bodies of loops and branches and sizes; and its misses per transfer."""

ENOUGH: Final = 512.0
"""More bytes per cycle than any core loads or stores."""
_COARSE: Final = 50.0
"""Above this rate a whole byte per cycle does not matter."""

_BARRIERS: Final = {bar_v: PipeType.V, bar_m: PipeType.M}


class TooSlowError(Exception):
    """A run takes longer than matters: at least so many cycles, without its launch."""

    def __init__(self, cycles: float) -> None:
        super().__init__(cycles)
        self.cycles = cycles


class KernelSimulator(Evaluator):
    """Evaluates kernels to timelines, one for each call, in `calls`."""

    def __init__(self, program: Program, model: CostModel) -> None:
        super().__init__(program)
        self.model = model
        self.rates = Rates.of(model)
        self.sites: list[Site] = []
        self.calls: list[CoreTimeline] = []
        self.shares: Sequence[Share] = ()
        """Each call's share of the memory; all of it where none is given."""
        self.levels: Sequence[int] = ()
        """How many calls in a row each call has to wait for, as found in the last round."""
        self.touches: dict[Part, tuple[int, int]] = {}
        """The level on which each part of memory is touched first, and how often there."""
        self.touched_before: dict[Part, tuple[int, int]] = {}
        """The same, as found in the last round."""
        self.resident: dict[Part, int] = {}
        """What is in the cache, the oldest first, with the bytes of each."""
        self.resident_bytes = 0
        self._arrays: dict[int, tuple[Any, int, int]] = {}
        self._buffers: dict[int, int] = {}
        self.limit: float | None = None
        """The number of cycles from which on it does not matter how long all calls take."""
        self._work = [0.0, 0.0]  # of vector and cube cores, in all calls so far
        self._known: dict[tuple[str, Share, Trace], CoreTimeline] = {}
        self.reads_data = False
        """True if what a kernel issues may depend on the contents of tensors when it is called."""
        self._walked: list[_Walked] = []
        self.cores = tuple(model.machine(f"cores.{kind}") for kind in ("vector", "cube"))
        self.cache_bytes = int(model.machine("warm.l2_bytes"))

    def plan(self, function: Function) -> Plan:
        """Return ``function`` ready to be called."""
        return (
            KernelPlan(function, self) if role(function) is Role.KERNEL else super().plan(function)
        )

    def restart(self, shares: Sequence[Share], levels: Sequence[int]) -> None:
        """Forget all calls, and give those to come these shares of the memory."""
        self.calls = []
        self.shares = shares
        self.touched_before = self.touches if self.levels else {}
        self.levels = levels
        self.touches = {}
        self.resident.clear()
        self.resident_bytes = 0
        self._arrays.clear()
        self._buffers.clear()
        self._walked.clear()

    def repeat(self, shares: Sequence[Share], levels: Sequence[int]) -> None:
        """Make all calls again with these shares of the memory, without running the host function.

        Only if no kernel reads data, which may be gone by then.
        """
        walked = [*self._walked]
        arrays, buffers = dict(self._arrays), dict(self._buffers)
        self.restart(shares, levels)
        self._arrays, self._buffers, self._walked = arrays, buffers, walked
        for plan, args, way, parts in walked:
            missing = tuple([self.touch(part, size) for part, size in parts])
            plan.add(args, (way, missing))

    def add_call(self, kernel: str, trace: Trace, walk: Callable[[CoreTimeline], object]) -> None:
        """Add the timeline of a call with this trace: a known one, or a new one by ``walk``."""
        number = len(self.calls)
        share = Share(ENOUGH, ENOUGH)
        if number < len(self.shares):
            share = Share(*map(_rounded, self.shares[number]))
        key = kernel, share, trace
        timeline = self._known.get(key)
        if timeline is None:
            timeline = self._known[key] = CoreTimeline(kernel, self.rates, share)
            walk(timeline)
        self.calls.append(timeline)
        if self.limit is not None and not self.shares:
            self._work[timeline.is_cube] += timeline.cycles
            least = max(self._work[0] / self.cores[0], self._work[1] / self.cores[1])
            if least > self.limit:
                raise TooSlowError(least)

    def note_walked(self, call: _Walked) -> None:
        """Remember a call for `repeat`."""
        if not self.reads_data:
            self._walked.append(call)

    def address_of(self, array: Any) -> tuple[int, int]:
        """Return the number of an array's buffer, and the array's first byte there.

        Numbers are given in the order of the program, so that they are the same each time.
        """
        known = self._arrays.get(id(array))
        if known is None:
            owner = array
            while isinstance(owner.base, type(array)):
                owner = owner.base
            number = self._buffers.setdefault(id(owner), len(self._buffers))
            first, begin = (a.__array_interface__["data"][0] for a in (array, owner))
            known = self._arrays[id(array)] = (array, number, first - begin)  # alive: ids are keys
        return known[1], known[2]

    def touch(self, key: Part, size: int) -> float:
        """Note that a part of memory is now in the cache; return how much of it was not before.

        Of calls that read it at the same time only one loads it, and which is the first is not
        known: so each loads its share.
        """
        was_there = self.resident.pop(key, None) is not None
        self.resident[key] = size
        if not was_there:
            self.resident_bytes += size
            while self.resident_bytes > self.cache_bytes and len(self.resident) > 1:
                oldest = next(iter(self.resident))
                self.resident_bytes -= self.resident.pop(oldest)
        number = len(self.calls)
        if number < len(self.levels):
            level = self.levels[number]
            first, count = self.touches.get(key, (level, 0))
            if level == first:
                self.touches[key] = (level, count + 1)
            before = self.touched_before.get(key)
            if before is not None and before[0] == level:
                return 1 / before[1]
        return 0.0 if was_there else 1.0


class _Walked(NamedTuple):
    """A call, the path that it took, and its transfers with the bytes of each."""

    plan: KernelPlan
    args: tuple[Any, ...]
    way: tuple[Any, ...]
    parts: tuple[tuple[Part, int], ...]


class KernelPlan(Plan):
    """One kernel as closures that issue its instructions to a timeline."""

    core: CoreTimeline
    """The timeline of the call that is being walked."""
    _missing: Iterator[float]
    """What fraction of each of its transfers is not in the cache."""

    def __init__(self, function: Function, simulator: KernelSimulator) -> None:
        self.simulator = simulator
        super().__init__(function, simulator)
        self._transfers = TransferPlan(function, simulator)

    def call(self, args: Sequence[Any]) -> Any:
        """Walk the kernel; see `Evaluator.call`."""
        found, trace = self._transfers.traced(args)
        parts = tuple(self._transfers.parts)
        self.simulator.note_walked(_Walked(self, tuple(args), trace[0], parts))
        self.add(args, trace)
        return found

    def add(self, args: Sequence[Any], trace: Trace) -> None:
        """Add the timeline of a call with a known trace."""

        def walk(timeline: CoreTimeline) -> None:
            self.walk(timeline, args, iter(trace[1]))

        self.simulator.add_call(self.function.name, trace, walk)

    def walk(self, timeline: CoreTimeline, args: Sequence[Any], missing: Iterator[float]) -> None:
        """Issue a call to a timeline; ``missing`` gives the uncached fraction of each transfer."""
        self.core = timeline
        self._missing = missing
        self._walk(args)

    def _walk(self, args: Sequence[Any]) -> Any:
        return super().call(args)

    def _address(self, var: Var) -> int | None:
        del var
        return None  # tiles hold nothing

    def _assign(self, stmt: AssignStmt) -> Run:
        call, op = stmt.value, op_of(stmt.value)
        slot = self._slot(stmt.var)
        if not isinstance(call, Call) or op is None:
            if isinstance(stmt.value.type, TileType):
                return partial(_put, slot, None)
            return super()._assign(stmt)
        pipe = op.pipe_of(call)
        if pipe is not None:
            return self._issue(call, op, pipe, slot, stmt)
        if isinstance(call.type, TileType):
            return partial(_put, slot, None)
        return super()._assign(stmt)

    def _evaluation(self, stmt: EvalStmt) -> Run:
        call, op = stmt.expr, op_of(stmt.expr)
        if not isinstance(call, Call) or op is None:
            return super()._evaluation(stmt)
        order = self._ordering(call, op, stmt)
        if order is not None:
            return order
        pipe = op.pipe_of(call)
        if pipe is None:
            return super()._evaluation(stmt)
        return self._issue(call, op, pipe, None, stmt)

    def _site(
        self,
        call: Call,
        pipe: PipeType,
        instruction: str,
        shape: Sequence[int],
        tiles: tuple[TileUse, ...] = (),
    ) -> int:
        sites = self.simulator.sites
        name, kernel = user_call(call), self.function.name
        sites.append(Site(kernel, pipe, name, instruction, tuple(shape), call.span, tiles))
        return len(sites) - 1

    def _ordering(self, call: Call, op: OpDef[..., Any], stmt: EvalStmt) -> Run | None:
        """Plan a set, a wait or a barrier; None for other calls."""
        if op is sync_src or op is sync_dst:
            values = [call.kwargs[key] for key in ("set_pipe", "wait_pipe", "event_id")]
            first, second, event = (v.value if isinstance(v, ConstInt) else int(v) for v in values)
            triple = (PipeType(first), PipeType(second), event)
            if op is sync_src:
                site = self._site(call, triple[0], "set_flag", ())
                return lambda _env: self.core.set(site, triple)
            site = self._site(call, triple[1], "wait_flag", ())
            return lambda _env: self.core.wait(site, triple, stmt.span)
        if op is bar_all:
            site = self._site(call, PipeType.S, "pipe_barrier", ())
            return lambda _env: self.core.full_barrier(site)
        pipe = _BARRIERS.get(op)
        if pipe is None:
            return None
        site = self._site(call, pipe, "pipe_barrier", ())
        return lambda _env: self.core.barrier(site, pipe)

    def _issue(
        self,
        call: Call,
        op: OpDef[..., Any],
        pipe: PipeType,
        slot: int | None,
        stmt: AssignStmt | EvalStmt,
    ) -> Run:
        """Plan an instruction: its time, and its result as far as that is known."""
        timing = self._timing(call, op, pipe, _tiles(call, op, stmt))
        result = self._result(call, op, stmt)

        def run(env: Env) -> None:
            timing(env)
            if slot is not None:
                env[slot] = result(env)

        return run

    def _result(self, call: Call, op: OpDef[..., Any], stmt: AssignStmt | EvalStmt) -> Eval:
        if isinstance(call.type, TensorType):
            source = aliased(call)
            return (lambda _env: None) if source is None else self._value(source)
        if not isinstance(call.type, ScalarType):
            return lambda _env: None
        if not any(isinstance(arg.type, TileType) for arg in call.args):
            if any(isinstance(arg.type, TensorType) for arg in call.args):
                self.simulator.reads_data = True
            evals = [self._value(arg) for arg in operands_of(call)]
            return self._op_call(call, op, evals)
        assumptions = self.simulator.model.assumptions
        what = f"{user_call(call)} in line {stmt.span.begin_line}"
        zero = 0.0 if call.type.dtype.is_float() else 0

        def unknown(_env: Env) -> Any:
            assumptions.setdefault(what, "gives 0, as its tile holds nothing here")
            return zero

        return unknown

    def _timing(
        self, call: Call, op: OpDef[..., Any], pipe: PipeType, tiles: tuple[TileUse, ...]
    ) -> Callable[[Env], None]:
        """Plan how long an instruction takes."""
        simulator, rates = self.simulator, self.simulator.rates
        found = instruction_of(call, op, pipe)
        site = self._site(call, pipe, found.name, _shape(found.case), tiles)
        if pipe is PipeType.S:
            has_elements = any(isinstance(arg.type, TileType | TensorType) for arg in call.args)
            cost = simulator.model.machine("issue.element") if has_elements else rates.scalar
            access = Timing(0.0, cost, 0.0)
            return lambda _env: _nothing(self.core.work(site, pipe, access, 0.0))
        moves = self._moves(call, op, found)
        if moves is not None:
            return partial(moves, site)
        issue = rates.cube if pipe in (PipeType.M, PipeType.MTE1) else rates.scalar
        if found.valid is None:
            timing = simulator.model.timing(found.case)
            return lambda _env: _nothing(self.core.work(site, pipe, timing, issue))
        sizes = self._sizes(found.valid)
        timings: dict[tuple[int, int], Timing] = {}

        def run(env: Env) -> None:
            valid = sizes(env)
            timing = timings.get(valid)
            if timing is None:
                timing = timings[valid] = simulator.model.timing(_with_valid(found.case, valid))
            self.core.work(site, pipe, timing, issue)

        return run

    def _sizes(self, valid: tuple[Expr, Expr]) -> Callable[[Env], tuple[int, int]]:
        rows, cols = (self._value(size) for size in valid)
        return lambda env: (int(rows(env)), int(cols(env)))

    def _part(self, found: Instruction) -> Callable[[Env], tuple[int, int]] | None:
        """Return a function to the sizes of a partly valid tile, None for a whole one."""
        if found.valid is not None:
            return self._sizes(found.valid)
        case = found.case
        valid = case.valid_rows, case.valid_cols
        return None if valid == (case.rows, case.cols) else lambda _env: valid

    def _moves(
        self, call: Call, op: OpDef[..., Any], found: Instruction
    ) -> Callable[[int, Env], None] | None:
        """Plan a transfer from or to global memory; None for other instructions."""
        at = next((i for i, a in enumerate(call.args) if isinstance(a.type, TensorType)), None)
        if at is None or found.pipe not in (PipeType.MTE2, PipeType.MTE3, PipeType.FIX):
            return None
        simulator, pipe, model = self.simulator, found.pipe, self.simulator.model
        tensor = self._value(call.args[at])
        lists = {p.name: i for i, p in enumerate(op.operands) if p.kind == INTS}
        offsets = self._value(call.args[lists["offsets"]]) if "offsets" in lists else None
        shapes = self._value(call.args[lists["shapes"]]) if "shapes" in lists else None
        part = self._part(found)
        is_cube = found.case.extra.get("dst") == MemorySpace.Mat.name
        timings: dict[tuple[int, int], tuple[Case, Timing]] = {}
        cost = simulator.rates.transfer

        def known(env: Env) -> tuple[Part, Case, Timing]:
            array = tensor(env)
            if part is not None:
                rows, cols = part(env)
            else:
                sizes = shapes(env) if shapes is not None else array.shape
                rows, cols = prod(sizes[:-1]), sizes[-1] if sizes else 1
            valid = rows, cols
            known = timings.get(valid)
            if known is None:
                case = _with_valid(found.case, valid)
                known = timings[valid] = (case, model.timing(case))
            buffer, first = simulator.address_of(array)
            if offsets is not None:
                for offset, stride in zip(offsets(env), array.strides, strict=False):
                    first += offset * stride
            return (buffer, first, rows, cols), *known

        return self._transfer(known, pipe, is_cube=is_cube, cost=cost)

    def _transfer(
        self,
        known: Callable[[Env], tuple[Part, Case, Timing]],
        pipe: PipeType,
        *,
        is_cube: bool,
        cost: float,
    ) -> Callable[[int, Env], None]:
        """Plan a transfer; its part, case and timing are known only when it runs."""

        def run(site: int, env: Env) -> None:
            _, case, timing = known(env)
            core = self.core
            missing = next(self._missing)
            if pipe is PipeType.MTE2:
                timing = core.load(case, timing, missing, is_cube=is_cube)
            elif pipe is PipeType.MTE3:
                timing = core.store(case, timing)
            else:
                timing = core.drain(case, timing)
            core.work(site, pipe, timing, cost)

        return run


class TransferPlan(KernelPlan):
    """One kernel as closures that look up its transfers in the cache, and note its path."""

    def __init__(self, function: Function, simulator: KernelSimulator) -> None:
        self.simulator = simulator
        self.missing: list[float] = []
        """What fraction of each transfer is not in the cache."""
        self.parts: list[tuple[Part, int]] = []
        """The part that each transfer of the call moves, with its bytes."""
        self._way: list[Any] = []
        self._bodies = 0
        Plan.__init__(self, function, simulator)

    def traced(self, args: Sequence[Any]) -> tuple[Any, Trace]:
        """Return the result of a call, and its trace."""
        self.missing.clear()
        self.parts.clear()
        self._way.clear()
        found = self._walk(args)
        return found, (tuple(self._way), tuple(self.missing))

    def _site(
        self,
        call: Call,
        pipe: PipeType,
        instruction: str,
        shape: Sequence[int],
        tiles: tuple[TileUse, ...] = (),
    ) -> int:
        del call, pipe, instruction, shape
        return -1

    def _body(self, body: Stmt | None, targets: Sequence[Var]) -> Run:
        run, way, number = super()._body(body, targets), self._way, self._bodies
        self._bodies += 1

        def noted(env: Env) -> str | None:
            way.append(number)
            return run(env)

        return noted

    def _ordering(self, call: Call, op: OpDef[..., Any], stmt: EvalStmt) -> Run | None:
        order = super()._ordering(call, op, stmt)
        return order if order is None else _nothing

    def _timing(
        self, call: Call, op: OpDef[..., Any], pipe: PipeType, tiles: tuple[TileUse, ...]
    ) -> Callable[[Env], None]:
        found = instruction_of(call, op, pipe)
        moves = self._moves(call, op, found)
        if moves is not None:
            return partial(moves, -1)
        if found.valid is None:
            return _nothing
        sizes, way = self._sizes(found.valid), self._way
        return lambda env: way.append(sizes(env))

    def _transfer(
        self,
        known: Callable[[Env], tuple[Part, Case, Timing]],
        pipe: PipeType,
        *,
        is_cube: bool,
        cost: float,
    ) -> Callable[[int, Env], None]:
        simulator, missing, way = self.simulator, self.missing, self._way
        parts = self.parts

        def run(_site: int, env: Env) -> None:
            part, case, _ = known(env)
            parts.append((part, case.bytes))
            way.append(part[2:])
            missing.append(simulator.touch(part, case.bytes))

        return run


def _rounded(rate: float) -> float:
    """Return a rate to three digits or less, so that calls with similar shares have equal ones."""
    return min(float(f"{rate:.2g}" if rate > _COARSE else f"{rate:.3g}"), ENOUGH)


def _put(slot: int, value: Any, env: Env) -> None:
    env[slot] = value


def _nothing(_event: object) -> None:
    """Drop a value: a statement that returned one would end its block."""


def _tiles(call: Call, op: OpDef[..., Any], stmt: AssignStmt | EvalStmt) -> tuple[TileUse, ...]:
    """Return the tiles with an address that a call reads, then those that it writes."""
    used = [(arg, index in op.writes) for index, arg in enumerate(call.args)]
    if isinstance(stmt, AssignStmt):
        used.append((stmt.var, True))
    found: dict[tuple[MemRef, bool], TileUse] = {}
    for value, is_written in used:
        kind = value.type
        memref = kind.memref if isinstance(kind, TileType) else None
        if memref is None or not isinstance(value, Var) or not isinstance(memref.addr_, ConstInt):
            continue
        where = memref.memory_space_, memref.addr_.value, memref.size_
        found[memref, is_written] = TileUse(value.name, *where, is_written)
    return tuple(sorted(found.values(), key=lambda use: use.is_written))


def _shape(case: Case) -> tuple[int, ...]:
    if "k" in case.extra:
        return tuple(case.number(key, 0) for key in ("m", "k", "n"))
    return case.valid_rows, case.valid_cols


def _with_valid(case: Case, valid: tuple[int, int]) -> Case:
    shape = (max(case.rows, valid[0]), max(case.cols, valid[1]))
    return Case(case.instruction, case.src_dtype, case.dst_dtype, shape, valid, case.extra)
