"""Forward dataflow over every path of a function; finds what its flags and barriers leave open.

Paths are joined where they meet, and a loop is iterated to a fixed point. A join keeps only what
holds on both paths, and there are finitely many bits. So this terminates, and what holds then holds
for any number of iterations: no race, deadlock or leak is missed. It can report one on a path that
no run takes, when two conditions exclude it; conditions that depend on the iteration of a loop, or
are equal, are decided (`branch_conditions`).

It takes one pass over a function's statements for each state of its loops, with sets of as many
bits as it has instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from pypto._src.analysis.accesses import Accesses, Instruction, TensorAccess
from pypto._src.analysis.affine import Affine, Box, combine, may_overlap, trip_count
from pypto._src.analysis.branch_conditions import Conditions, Iteration
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, points_in
from pypto._src.ir.enums import ForKind, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Op, Var, const_value
from pypto._src.ir.stmts import (
    BreakStmt,
    ContinueStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    WhileStmt,
)
from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_src
from pypto._src.passes.sync.access_bitsets import Bit, Conflict, Conflicts, Numbering
from pypto._src.passes.sync.checker_reports import Findings, Triple
from pypto._src.passes.sync.checker_state import DOWN, PIPES, TWICE, UP, Key, State, joined
from pypto._src.passes.sync.hazards import meeting
from pypto._src.records import NamedTuple

_BARRIERS: Final[dict[Op, PipeType]] = {
    bar_v: PipeType.V,
    bar_m: PipeType.M,
    bar_all: PipeType.ALL,
}
_MAX_DISTINGUISHED_DEPTH: Final = 3
"""Up to this nesting depth first, last and other iterations are distinguished."""
_MOST_SPLITS: Final = 4
"""On how many repeated conditions paths are split at one time."""

KeyOf = Callable[[Triple], Key]


class _Sync(NamedTuple):
    """A set, a wait or a barrier, read from its call."""

    triple: Triple | None = None
    raises: bool = False
    barrier: PipeType | None = None


class OpenLoop(NamedTuple):
    """An open loop, with the states at its ``break`` and ``continue`` statements."""

    breaks: list[State]
    continues: list[State]


class Flow:
    """The dataflow over one function; ``findings`` collects the results."""

    def __init__(
        self,
        function: Function,
        root: Block,
        accesses: Accesses,
        findings: Findings,
        key_of: KeyOf,
        *,
        every_way: bool = False,
        like: Flow | None = None,
    ) -> None:
        """Prepare a run; ``like`` is a flow over the same function, with other flags."""
        self.function = function
        self.root = root
        self.accesses = accesses
        self.findings = findings
        self.key_of = key_of
        self.syncs: dict[ProgramPoint, _Sync] = {}
        self.sets: dict[Triple, list[ProgramPoint]] = {}
        self.flags: dict[Key, int] = {}  # numbers
        self._find_syncs()
        self.conditions = Conditions(accesses.integers)
        self.every_way = every_way
        if like is None:
            self.numbering = Numbering(accesses, len(self.flags))
            self.conflicts = Conflicts(accesses, self.numbering)
            self.repeated = set[object]() if every_way else self._repeated_conditions()
            self.last_values = {} if every_way else self._find_last_values()
        else:
            self.numbering = like.numbering.with_flags(len(self.flags))
            self.conflicts = like.conflicts
            self.repeated, self.last_values = like.repeated, like.last_values
        self.waits = self._wait_bits()
        self.splits: int = 0
        self.loops: list[OpenLoop] = []
        self.iterations: dict[ProgramPoint, Iterations] = {}  # of outermost loops
        self.visits: dict[ProgramPoint, dict[tuple[object, ...], _Visit]] = {}
        self.returns: list[State] = []
        self.in_loop: bool = False  # inside `_fix` of a loop
        self.unsettled: bool = False  # one inside it has pending iterations

    def _find_syncs(self) -> None:
        for point, call in self.accesses.syncs.items():
            sync = _read(call)
            if sync.triple is not None:
                if not self.findings.exists(point, sync.triple):
                    continue
                self.findings.used.add(sync.triple)
                key = self.key_of(sync.triple)
                self.flags.setdefault(key, len(self.flags))
                if sync.raises:
                    self.sets.setdefault(sync.triple, []).append(point)
            self.syncs[point] = sync

    def _find_last_values(self) -> dict[ProgramPoint, tuple[Var, int]]:
        """Return each loop's variable with its value in the last iteration, if known."""
        points = list(points_in(self.root))
        if any(isinstance(point.stmt, BreakStmt) for point in points):
            return {}
        found: dict[ProgramPoint, tuple[Var, int]] = {}
        for point in points:
            value = _last_value(point.stmt) if isinstance(point.stmt, ForStmt) else None
            if isinstance(point.stmt, ForStmt) and value is not None:
                found[point] = (point.stmt.loop_var, value)
        return found

    def _wait_bits(self) -> list[int]:
        """Return the bits of the flags for which each pipe waits: its queue has the waits."""
        found = [0] * PIPES
        for sync in self.syncs.values():
            if sync.triple is not None and not sync.raises:
                found[sync.triple.target] |= self.numbering.flag(
                    self.flags[self.key_of(sync.triple)]
                )
        return found

    def _repeated_conditions(self) -> set[object]:
        """Return the conditions on which instructions, sets or waits depend in several places."""
        at, syncs = self.accesses.at, self.syncs
        seen: set[object] = set()
        again: set[object] = set()
        for point in points_in(self.root):
            if isinstance(point.stmt, IfStmt) and any(
                inner in at or inner in syncs
                for block in point.blocks
                for inner in points_in(block)
            ):
                key = self.conditions.key(point.stmt.condition, point.block)
                if key is not None:
                    (again if key in seen else seen).add(key)
        return again

    # ----- paths --------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the dataflow over the function."""
        state = self.block(self.root, State([self.numbering.all] * PIPES))
        for ended in (*self.returns, state):
            if ended is not None:
                self._end(ended)

    def block(self, block: Block, state: State | None, begin: int = 0) -> State | None:
        """Return the state after the statements of a block from index ``begin`` on."""
        for point in block.points[begin:]:
            if state is None:
                return None
            instruction = self.accesses.at.get(point)
            if instruction is not None:
                self.instruction(instruction, state)
            elif point in self.syncs:
                self._sync(point, self.syncs[point], state)
            elif point.blocks:
                key = self.split_key(point)
                if key is not None:
                    return self._split(point, key, state)
                state = self.compound(point, state)
            elif isinstance(point.stmt, BreakStmt | ContinueStmt | ReturnStmt):
                state = self._jump(point, state)
        return state

    def compound(self, point: ProgramPoint, state: State) -> State | None:
        """Return the state after a compound statement."""
        stmt = point.stmt
        if isinstance(stmt, ForStmt | WhileStmt):
            return self._loop(point, stmt, state)
        if isinstance(stmt, IfStmt):
            return self._branch(point, stmt, state)
        after: State | None = state
        for inner in point.blocks:
            after = self.block(inner, after)
        return after

    def _jump(self, point: ProgramPoint, state: State) -> State | None:
        match point.stmt:
            case BreakStmt() if self.loops:
                self.loops[-1].breaks.append(state)
            case ContinueStmt() if self.loops:
                self.loops[-1].continues.append(state)
            case _:
                if point.block is self.root and point is self.root.points[-1]:
                    return state
                self.returns.append(state)
        return None

    def _branch(self, point: ProgramPoint, stmt: IfStmt, state: State) -> State | None:
        taken = self.conditions.decide(stmt.condition, point.block)
        if taken is not None:
            arm = 0 if taken else 1
            return self.block(point.blocks[arm], state) if arm < len(point.blocks) else state
        first = self.block(point.blocks[0], state.copy())
        second = self.block(point.blocks[1], state) if len(point.blocks) > 1 else state
        return joined(first, second, point)

    def split_key(self, point: ProgramPoint) -> object:
        """Return the key of a condition on which to split the paths of the rest of a block."""
        stmt = point.stmt
        if not self.repeated or not isinstance(stmt, IfStmt) or self.splits >= _MOST_SPLITS:
            return None
        key = self.conditions.key(stmt.condition, point.block)
        if key is None or key not in self.repeated:
            return None
        return key if self.conditions.decide(stmt.condition, point.block) is None else None

    def rest(self, point: ProgramPoint, state: State) -> State | None:
        """Return the state after ``point``, now reached, and the rest of its block."""
        return self.block(point.block, state, point.index)

    def _split(self, point: ProgramPoint, key: object, state: State) -> State | None:
        """Follow the rest of a block separately for each value of a condition."""
        self.splits += 1
        results: list[State | None] = []
        for value in (True, False):
            self.conditions.assumed[key] = value
            results.append(self.rest(point, state.copy()))
            del self.conditions.assumed[key]
        self.splits -= 1
        return joined(results[0], results[1], point)

    # ----- loops --------------------------------------------------------------------------------

    def _loop(self, point: ProgramPoint, stmt: ForStmt | WhileStmt, entry: State) -> State | None:
        """Return the state after a loop.

        Each head is a join of all states at the beginning of such an iteration, so it only loses
        bits and reaches a fixed point. An inner loop is entered again with ever lower states: it
        then continues from its heads. Only the outermost loop is iterated until all loops in it
        have settled; within one of its iterations, inner loops visit each of their iterations once.
        So the time does not multiply with the depth.
        """
        trips = trip_count(stmt)
        if trips == 0:
            return entry
        visits = self.visits.setdefault(point, {})
        context = self.conditions.present()
        known = visits.get(context)
        if known is not None and not known.pending and entry.same(known.entry):
            return None if known.result is None else known.result.copy()
        iterations = self.iterations_of(point, trips)
        visit = _Visit(entry.copy(), {}, {}, {}, None)
        if known is not None and _is_lower(entry, known.entry, point):
            visit = known._replace(entry=visit.entry)
        self._fix(point, iterations, visit)
        ends = [end for each in visit.ends.values() for end in each]
        if isinstance(stmt, WhileStmt):
            ends += visit.heads.values()  # it ends where its condition is tested
        elif trips is None:
            ends.append(entry)
        result: State | None = None
        for state in ends:
            result = state.copy() if result is None else joined(result, state, point)
        visits[context] = visit._replace(result=result)
        return None if result is None else result.copy()

    def iterations_of(self, point: ProgramPoint, trips: int | None) -> Iterations:
        """Return the iterations to distinguish in a loop, inside the open loops."""
        blind = self.every_way or len(self.loops) >= _MAX_DISTINGUISHED_DEPTH
        if self.loops:  # their iterations may decide conditions in this one
            return Iterations(self.conditions, point, trips, blind=blind)
        known = self.iterations.get(point)
        if known is None:
            known = self.iterations[point] = Iterations(self.conditions, point, trips, blind=blind)
        return known

    def _fix(self, point: ProgramPoint, iterations: Iterations, visit: _Visit) -> None:
        """Visit iterations whose heads have changed: to a fixed point if outermost, else once."""
        heads, pending = visit.heads, visit.pending
        for iteration in iterations.first():
            self._lead(point, visit.entry, iteration, heads, pending)
        outermost, unsettled = not self.in_loop, self.unsettled
        self.in_loop = True
        done = set[Iteration]()
        while iteration := next((t for t in pending if t not in done), None):
            del pending[iteration]
            self.unsettled = False
            for last in iterations.endings(iteration):
                after, ends = self._iteration(
                    point, iteration._replace(last=last), heads[iteration], iterations
                )
                visit.ends[iteration._replace(last=last)] = ends
                if after is None:
                    continue
                if last is not False and iterations.may_end(iteration):
                    ends.append(after)
                if last is not True and iterations.trips != 1:
                    state = self._in_next_iteration(point, after)
                    self._lead(point, state, iterations.next(iteration), heads, pending)
            if self.unsettled:
                pending[iteration] = None
            if not outermost:
                done.add(iteration)
        self.in_loop = not outermost
        self.unsettled = unsettled or bool(pending)

    def _in_next_iteration(self, point: ProgramPoint, after: State) -> State:
        """Return the state after an iteration, in terms of the next one."""
        state = after.copy()
        state.each(lambda bits: self.numbering.next_iteration(point, bits))
        return state

    def _lead(
        self,
        point: ProgramPoint,
        state: State,
        iteration: Iteration,
        heads: dict[Iteration, State],
        pending: dict[Iteration, None],
    ) -> None:
        """Join a state into the head of an iteration."""
        known = heads.get(iteration)
        new = state if known is None else joined(known, state, point)
        assert new is not None
        if known is None or not new.same(known):
            heads[iteration] = new
            pending[iteration] = None

    def _iteration(
        self, point: ProgramPoint, iteration: Iteration, head: State, iterations: Iterations
    ) -> tuple[State | None, list[State]]:
        """Return the state after one iteration, and the states in which it leaves the loop."""
        loop = OpenLoop([], [])
        self.loops.append(loop)
        if iterations.counter is not None:
            self.conditions.iterations[iterations.counter.var] = (iterations.counter, iteration)
        state = self.block(point.blocks[0], head.copy())
        if iterations.counter is not None:
            del self.conditions.iterations[iterations.counter.var]
        self.loops.pop()
        for early in loop.continues:
            state = joined(state, early, point)
        return state, loop.breaks

    # ----- instructions -------------------------------------------------------------------------

    def instruction(self, instruction: Instruction, state: State) -> None:
        """Check an instruction against all that is in flight, and add it to that."""
        pipe = instruction.queue
        if instruction.in_order:  # it and later ones start when all before it is complete
            state.known[pipe] |= self.numbering.of_pipe[pipe]
        found = self.conflicts.of(instruction)
        unknown = ~state.known[pipe]
        for conflict in found.on_chip if found.candidates & unknown else ():
            if conflict.candidates & unknown:
                self._races(instruction, conflict, conflict.candidates & unknown)
        for conflict in found.parts:
            if conflict.candidates & unknown:
                self._races(instruction, conflict, conflict.candidates & unknown)
        state.forget(~(1 << self.numbering.now(instruction.point)))

    def _races(self, instruction: Instruction, conflict: Conflict, open_: int) -> None:
        for position, bit in self.numbering.meanings(open_):
            loop = _common_loop(bit, instruction)
            wrote = bool(conflict.written >> position & 1)
            if self.findings.knows_race(bit.instruction, instruction, loop):
                continue
            if conflict.access is None or self._meets(bit, instruction, conflict, loop):
                self.findings.race(bit.instruction, instruction, wrote, conflict.writes, loop)

    def _meets(
        self, bit: Bit, instruction: Instruction, conflict: Conflict, loop: ProgramPoint | None
    ) -> bool:
        """True if an earlier access to the same tensor may touch the same elements."""
        if loop is not None:
            stmt, block = loop.stmt, loop.blocks[0]
            if isinstance(stmt, ForStmt) and stmt.kind is ForKind.Parallel:
                return False  # a parallel loop: the user says that iterations are independent
        else:
            met = meeting(bit.instruction.point, instruction.point)
            block = None if met is None else met[0].block
        if not conflict.moves:
            return True
        now = conflict.access
        assert now is not None
        return block is None or any(
            may_overlap(
                self._last_box(earlier.box, bit, instruction),
                now.box,
                block,
                self.accesses.integers,
                later_iteration=loop is not None,
            )
            for earlier in bit.instruction.tensors
            if _conflicts(earlier, now)
        )

    def _last_box(self, box: Box | None, bit: Bit, instruction: Instruction) -> Box | None:
        """Return a box as it was in the last iterations of the loops that have ended by now."""
        if box is None:
            return None
        offsets = box.offsets
        for loop in bit.loops[: bit.plane]:
            last = self.last_values.get(loop)
            if last is not None and not loop.begin < instruction.point.begin <= loop.end:
                offsets = tuple(_pinned(offset, *last) for offset in offsets)
        return Box(offsets, box.sizes)

    # ----- flags and barriers -------------------------------------------------------------------

    def _sync(self, point: ProgramPoint, sync: _Sync, state: State) -> None:
        if sync.barrier is PipeType.ALL:
            state.known = [self.numbering.all] * PIPES
        elif sync.barrier is not None:
            state.known[sync.barrier] |= self.numbering.of_pipe[sync.barrier]
        elif sync.triple is not None:
            key = self.key_of(sync.triple)
            (self._raise if sync.raises else self._wait)(point, sync.triple, key, state)

    def _raise(self, point: ProgramPoint, triple: Triple, key: Key, state: State) -> None:
        mask = state.flag(key)
        if mask != DOWN:
            self.findings.double_set(point, triple, state.origin.get(key))
        known = state.known[triple.source]
        if not known & self.numbering.flag(self.flags[key]):
            self.findings.overtake(point, triple)
        state.tokens[key] = (
            known | self.numbering.of_pipe[triple.source] | self.waits[triple.source]
        )
        state.flags[key] = UP if mask == DOWN else (TWICE | (UP if mask & DOWN else 0))
        state.origin[key] = point

    def _wait(self, point: ProgramPoint, triple: Triple, key: Key, state: State) -> None:
        mask = state.flag(key)
        if mask & DOWN:
            split = state.split.get(key) if mask != DOWN else None
            last = state.origin.get(key)
            self.findings.deadlock(point, triple, self.sets.get(triple, ()), split, last)
        raised = state.origin.get(key)
        if raised is not None and mask != DOWN:
            meant = self.syncs[raised].triple
            if meant is not None and self.syncs[raised].raises and meant != triple:
                self.findings.taken(point, triple, raised, meant)
        token = state.tokens.get(key, self.numbering.all)
        bit = self.numbering.flag(self.flags[key])
        state.forget(~bit)
        state.learn(PipeType(triple.target), token | bit)
        left = (UP | TWICE if mask & TWICE else 0) | (DOWN if mask & (UP | DOWN) else 0)
        state.flags[key] = left
        if left == DOWN:
            state.tokens.pop(key, None)
        state.origin[key] = point
        state.split.pop(key, None)

    # ----- the end ------------------------------------------------------------------------------

    def _end(self, state: State) -> None:
        """Report raised flags and work in flight at the end of the function."""
        name = self.function.name
        for triple, points in self.sets.items():
            key = self.key_of(triple)
            if state.flag(key) & (UP | TWICE):
                origin = state.origin.get(key)
                raised = origin if origin is not None and self.syncs[origin].raises else points[-1]
                self.findings.leak(raised, triple, name)
        work = 0
        for bits in self.numbering.of_pipe[: PipeType.S] + self.numbering.of_pipe[PipeType.S + 1 :]:
            work |= bits
        last: dict[PipeType, Instruction] = {}
        for _, bit in self.numbering.meanings(work & ~state.known[PipeType.S]):
            instruction = bit.instruction
            known = last.get(instruction.pipe)
            if known is None or known.point.begin < instruction.point.begin:
                last[instruction.pipe] = instruction
        for pipe in sorted(last):
            self.findings.tail(last[pipe], name)


class _Visit(NamedTuple):
    """The result of a loop, for one entry state."""

    entry: State
    heads: dict[Iteration, State]  # states at the beginning of an iteration, by kind of iteration
    ends: dict[Iteration, list[State]]  # where an iteration leaves the loop
    pending: dict[
        Iteration, None
    ]  # iterations that have not been visited since their heads changed
    result: State | None


def _is_lower(state: State, other: State, point: ProgramPoint) -> bool:
    """True if ``other`` knows everything that ``state`` knows."""
    both = joined(other, state, point)
    return both is not None and both.same(state)


class Iterations:
    """The kinds of iterations of one loop that are distinguished."""

    def __init__(
        self, conditions: Conditions, point: ProgramPoint, trips: int | None, *, blind: bool
    ) -> None:
        self.counter = None if blind else conditions.counter(point)
        self.trips = trips
        self.distinguishes_first = (
            not blind and trips is not None and trips > 1
        )  # it cannot end then
        self.distinguishes_last = False
        self.modulus = 1
        self.start: int | None = None
        if self.counter is not None:
            asked = conditions.questions(point, self.counter)
            self.distinguishes_first = self.distinguishes_first or asked.first
            self.distinguishes_last, self.modulus = asked.last, asked.modulus
            if not self.counter.start.terms:
                self.start = self.counter.start.constant
        self.step = 0 if self.counter is None else self.counter.step

    def first(self) -> list[Iteration]:
        """Return the possible first iterations."""
        first = True if self.distinguishes_first else None
        if self.modulus == 1:
            return [Iteration(first)]
        starts = range(self.modulus) if self.start is None else [self.start % self.modulus]
        return [Iteration(first, None, remainder, self.modulus) for remainder in starts]

    def endings(self, iteration: Iteration) -> tuple[bool | None, ...]:
        """Return the values of ``last`` to follow for an iteration; None stands for both."""
        if not self.distinguishes_last:
            return (None,)
        return (True, False) if self.may_end(iteration) else (False,)

    def may_end(self, iteration: Iteration) -> bool:
        """True if the loop may end with an iteration."""
        if self.trips is None:
            return True
        if iteration.first is not None and iteration.first and self.trips > 1:
            return False
        if iteration.remainder is None or self.start is None:
            return True
        last = self.start + (self.trips - 1) * self.step
        return last % self.modulus == iteration.remainder

    def next(self, iteration: Iteration) -> Iteration:
        """Return the successor of an iteration."""
        remainder = iteration.remainder
        if remainder is not None:
            remainder = (remainder + self.step) % self.modulus
        return Iteration(
            False if self.distinguishes_first else None, None, remainder, iteration.modulus
        )


def _common_loop(bit: Bit, instruction: Instruction) -> ProgramPoint | None:
    """Return the loop around both instructions that they execute in different iterations."""
    if bit.plane >= len(bit.loops):
        return None
    loop = bit.loops[bit.plane]
    begin, end = loop.begin, loop.end
    return loop if begin < instruction.point.begin <= end else None


def _pinned(form: Affine, var: Var, value: int) -> Affine:
    """Return a linear form with ``value`` substituted for a variable."""
    factor = form.terms.get(var, 0)
    return combine(combine(form, Affine(0, {var: factor}), -1), Affine(value, {}), factor)


def _last_value(stmt: ForStmt) -> int | None:
    """Return the value of a loop variable in the last iteration, None if unknown."""
    trips, start, step = trip_count(stmt), const_value(stmt.start), const_value(stmt.step)
    if not trips or start is None or step is None:
        return None
    return start + (trips - 1) * step


def _conflicts(first: TensorAccess, second: TensorAccess) -> bool:
    root: Var = second.root
    return first.root is root and (first.writes or second.writes)


def _read(call: Call) -> _Sync:
    """Return what a call does to flags and pipes."""
    barrier = _BARRIERS.get(call.op)
    if barrier is not None:
        return _Sync(barrier=barrier)
    return _Sync(_triple(call), call.op is sync_src)


def _triple(call: Call) -> Triple:
    kwargs = call.kwargs
    return Triple(_int(kwargs["set_pipe"]), _int(kwargs["wait_pipe"]), _int(kwargs["event_id"]))


def _int(value: object) -> int:
    return value.value if isinstance(value, ConstInt) else int(cast("int", value))
