"""Removes from a plan the flags and barriers that are superfluous according to the checker.

A suspect is tried at the point where it acts: what follows is checked with and without it, from
the states that the checker has there, until something races (it is needed) or both states are the
same again (it is superfluous). Usually that takes a few statements. Inside a loop the states are
those of all its iterations, as the checker finds them; so a suspect that does not change these is
superfluous in every iteration. A flag from one iteration to the next, and a suspect that is open at
the end of a block, is tried with the whole statement that holds the block. A race inside a
statement is found with states that can only know too much, so it always proves the need. Most
suspects are needed by the instruction directly after them, which is seen without a trial when the
statement is checked.

Knows plans, states and paths; event numbers are assigned later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from pypto._src.analysis.accesses import Instruction
from pypto._src.analysis.affine import trip_count
from pypto._src.analysis.branch_conditions import Counter, Iteration
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, owner_of
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import ForStmt, Function, IfStmt, WhileStmt
from pypto._src.passes.sync.checker_dataflow import OpenLoop
from pypto._src.passes.sync.checker_state import PIPES, Bits, State
from pypto._src.passes.sync.flags import CLOSING, FORWARD, NONE, PRIMED, Flag
from pypto._src.passes.sync.plan_dataflow import PlanFlow, RaceError
from pypto._src.passes.sync.planner import Planner
from pypto._src.records import NamedTuple

Suspect: TypeAlias = "Flag | ProgramPoint"
"""A flag, or the barriers before a statement."""

_WORK: Final = 24
"""The most statements checked to try suspects, for each instruction of the function."""
_LEAST: Final = 1 << 14
"""How many statements may be checked in any case, in addition."""


def prune(planner: Planner, function: Function, suspects: Sequence[Suspect]) -> None:
    """Remove the superfluous suspects from the plan."""
    dropped = superfluous(PlanFlow(planner, function), suspects) if suspects else ()
    if dropped:
        planner.dropped_any = True
        planner.flags = {key: flag for key, flag in planner.flags.items() if flag not in dropped}
        planner.bars = {
            point: kinds for point, kinds in planner.bars.items() if point not in dropped
        }


def superfluous(flow: PlanFlow, suspects: Iterable[Suspect]) -> set[Suspect]:
    """Return suspects that can all be dropped together without a race."""
    try:
        return _Trials(flow, suspects).run()
    except RaceError:
        return set()  # the plan itself is not sufficient


class _Path(NamedTuple):
    """The conditions and iterations that are decided on a path to a statement."""

    iterations: dict[Var, tuple[Counter, Iteration]]
    assumed: dict[object, bool]
    splits: int
    depth: int  # loops that are open


class _Front(NamedTuple):
    """A path to a statement, and the state there."""

    path: _Path
    state: State


class _Verdict(Enum):
    NEEDED = "something races without it"
    SUPERFLUOUS = "nothing does, and what follows is as it was"
    OPEN = "the block ends before that is known"


class _SuspectIndex:
    """Suspects of one kind by where they act."""

    def __init__(self) -> None:
        self.local: dict[ProgramPoint, list[Suspect]] = {}  # by the statement before which they act
        # From one iteration to the next, by their loop.
        self.carried: dict[ProgramPoint, list[Suspect]] = {}
        self.points: set[ProgramPoint] = set()  # those statements, and the ones around them
        self.last: dict[Block, int] = {}  # the index of the last of them in a block
        # How many suspects in a block may still be superfluous.
        self.open: dict[Block, int] = defaultdict(int)

    def add(self, suspect: Suspect) -> None:
        """Add a suspect."""
        point = _acts_at(suspect)
        if isinstance(suspect, Flag) and suspect.form is not FORWARD:
            self.carried.setdefault(owner_of(suspect.block), []).append(suspect)
        if not isinstance(suspect, Flag) or suspect.form is not CLOSING:
            self.local.setdefault(point, []).append(suspect)
        for each in (point, *_around(point)):
            self.points.add(each)
            self.last[each.block] = max(self.last.get(each.block, 0), each.index)
            self.open[each.block] += 1

    def close(self, suspect: Suspect) -> None:
        """Record that a suspect is needed where it acts."""
        point = _acts_at(suspect)
        for each in (point, *_around(point)):
            self.open[each.block] -= 1


class _Trials:
    """Tries suspects in textual order, those inside a statement before the others.

    In each statement of the function barriers come first, which cost the most time, and flags from
    iteration to iteration last, one of which may replace others.
    """

    def __init__(self, flow: PlanFlow, suspects: Iterable[Suspect]) -> None:
        self.flow = flow
        self.kinds = [_SuspectIndex() for _ in range(3)]
        self.closing: dict[Block, list[Flag]] = defaultdict(list)  # by the body of their loop
        for suspect in suspects:
            if isinstance(suspect, Flag) and suspect.form is CLOSING:
                self.closing[suspect.block].append(suspect)
            kind = 0 if isinstance(suspect, ProgramPoint) else 1 if suspect.form is FORWARD else 2
            self.kinds[kind].add(suspect)
        self.needed: set[Suspect] = set()
        self.most = _WORK * len(flow.accesses.at) + _LEAST

    def run(self) -> set[Suspect]:
        """Return the superfluous suspects."""
        flow = self.flow
        last = max(kind.last.get(flow.root, -1) for kind in self.kinds)
        fronts = [_Front(_Path({}, {}, 0, 0), State([flow.numbering.all] * PIPES))]
        for point in flow.root.points[: last + 1]:
            behind, dropped = self._scan_ahead(point, fronts), len(flow.dropped)
            for kind in self.kinds:
                if point in kind.points:
                    self._at(point, kind, fronts)
            if flow.steps > self.most:
                break
            if point.index < last:
                if behind is None or len(flow.dropped) > dropped:
                    behind = self._advance(point, fronts)
                fronts = behind
        return flow.dropped

    def _scan_ahead(self, point: ProgramPoint, fronts: Sequence[_Front]) -> list[_Front] | None:
        """Return the paths after a compound statement, and find what is needed inside on the way.

        None if there are no suspects in it.
        """
        flow = self.flow
        if not point.blocks or flow.steps > self.most:
            return None
        if not any(kind.open[block] for kind in self.kinds for block in point.blocks):
            return None
        flow.look, flow.look_on = self._look, self._look_on
        try:
            return self._advance(point, [_copied(front) for front in fronts])
        finally:
            flow.look = flow.look_on = None

    def _look(self, point: ProgramPoint, state: State) -> None:
        """Find suspects that are needed in a state before a statement, real or with more known."""
        for kind in self.kinds:
            for suspect in kind.local.get(point, ()):
                if suspect not in self.needed and self._races(suspect, point, [state]):
                    self.needed.add(suspect)
                    kind.close(suspect)

    def _look_on(self, block: Block, state: State) -> None:
        """Find what the next iteration of a loop needs, from a state at the end of its body.

        So flags carried by nested loops need no trial per loop, each over all statements inside.
        """
        flow = self.flow
        for suspect in self.closing.get(block, ()):
            instruction = flow.accesses.at.get(suspect.wait_before)
            if instruction is None or suspect in self.needed:
                continue
            known = flow.told_next(suspect, state)
            if known is not None and self._unknown(instruction, known):
                self.needed.add(suspect)

    def _block(self, block: Block, kind: _SuspectIndex, fronts: list[_Front]) -> list[Suspect]:
        """Try the suspects that act in a block; return those that are open at its end."""
        undecided: list[Suspect] = []
        last = kind.last.get(block, -1)
        for point in block.points[: last + 1]:
            if point in kind.points:
                undecided += self._at(point, kind, fronts)
            if self.flow.steps > self.most:
                break
            if point.index < last:
                fronts = self._advance(point, fronts)
        return undecided

    def _at(
        self, point: ProgramPoint, kind: _SuspectIndex, fronts: Sequence[_Front]
    ) -> list[Suspect]:
        """Try the suspects at a statement; return those that are open at the end of its block."""
        suspects: list[Suspect] = []
        undecided: list[Suspect] = []
        if any(kind.open[block] for block in point.blocks):
            suspects += self._inside(point, kind, fronts)
        for suspect in kind.local.get(point, ()):
            if suspect in self.needed:
                continue
            if not isinstance(suspect, Flag) or suspect.form is not PRIMED:
                suspects.append(suspect)
            elif (
                self._try(suspect, point, fronts) is _Verdict.NEEDED
            ):  # here, whatever else it does
                self.needed.add(suspect)
        suspects += [s for s in kind.carried.get(point, ()) if s not in self.needed]
        for suspect in suspects:
            verdict = self._try(suspect, point, fronts)
            if verdict is _Verdict.OPEN:
                undecided.append(suspect)
            elif verdict is _Verdict.SUPERFLUOUS:
                self._drop(suspect, point, fronts)
        return undecided

    def _try(self, suspect: Suspect, begin: ProgramPoint, fronts: Sequence[_Front]) -> _Verdict:
        """Follow the paths from a statement with and without a suspect."""
        flow, block = self.flow, begin.block
        if self._races(suspect, begin, [front.state for front in fronts]):
            return _Verdict.NEEDED
        trial, base = [_copied(f, suspect) for f in fronts], None
        visits = flow.visits
        without: dict[ProgramPoint, dict[tuple[object, ...], Any]] = {}
        for index in range(begin.index, len(block.points)):
            point = block.points[index]
            if flow.steps > self.most:
                return _Verdict.NEEDED
            flow.dropped.add(suspect)
            flow.visits = without
            try:
                trial = self._advance(point, trial)
            except RaceError:
                return _Verdict.NEEDED
            finally:
                flow.visits = visits
                flow.dropped.discard(suspect)
            base = self._advance(point, base or [_copied(front) for front in fronts])
            if all(a.state.same(b.state) for a, b in zip(trial, base, strict=True)):
                return _Verdict.SUPERFLUOUS
        return _Verdict.SUPERFLUOUS if block is flow.root else _Verdict.OPEN

    def _races(self, suspect: Suspect, point: ProgramPoint, states: Sequence[State]) -> bool:
        """True if the instruction after a suspect has an on-chip race without it.

        That saves most needed suspects a trial.
        """
        flow = self.flow
        instruction = flow.accesses.at.get(point)
        if instruction is None or point is not _acts_at(suspect):
            return False
        flow.steps += 1
        pipe = instruction.queue
        told = (flow.told(point, pipe, state, suspect) for state in states)
        return any(self._unknown(instruction, known) for known in told)

    def _unknown(self, instruction: Instruction, known: Bits) -> bool:
        """True if an instruction has an on-chip conflict that is not known to be complete."""
        candidates = self.flow.conflicts.of(instruction).candidates
        if instruction.in_order:
            candidates &= ~self.flow.numbering.of_pipe[instruction.queue]
        return bool(candidates & ~known)

    def _drop(self, suspect: Suspect, begin: ProgramPoint, fronts: Sequence[_Front]) -> None:
        """Drop a superfluous suspect from a statement on."""
        self.flow.dropped.add(suspect)
        if isinstance(suspect, Flag):
            for front in fronts:
                front.state.tokens.pop(suspect, None)
        for loop in _around(_acts_at(suspect)):
            if begin.begin <= loop.begin <= begin.end:
                self.flow.visits.pop(loop, None)  # computed with the suspect

    def _advance(self, point: ProgramPoint, fronts: list[_Front]) -> list[_Front]:
        """Return the paths after a statement; the given states are changed."""
        flow = self.flow
        if point.blocks:
            out: list[_Front] = []
            for path, state in self._entered(point, fronts):
                self._go(path)
                out.append(_Front(path, flow.step(point, state)))
            return out
        acts = flow.before.get(point, ())
        for _, state in fronts:
            flow.act(acts, state)
            flow.step(point, state)
        return fronts

    def _entered(self, point: ProgramPoint, fronts: Sequence[_Front]) -> Iterator[_Front]:
        """Yield the paths into a compound statement, after the acts before it."""
        flow = self.flow
        for path, state in fronts:
            if point in flow.before:
                flow.act(flow.before[point], state)
            self._go(path)
            key = flow.split_key(point)
            if key is None:
                yield _Front(path, state)
                continue
            for value in (True, False):
                assumed = {**path.assumed, key: value}
                yield _Front(path._replace(assumed=assumed, splits=path.splits + 1), state.copy())

    def _go(self, path: _Path) -> None:
        """Decide conditions as on a path from now on."""
        self.flow.conditions.iterations = dict(path.iterations)
        self.flow.conditions.assumed = dict(path.assumed)
        self.flow.splits = path.splits
        self.flow.loops = [OpenLoop([], [])] * path.depth
        self.flow.in_loop = False

    # ----- bodies -------------------------------------------------------------------------------

    def _inside(
        self, point: ProgramPoint, kind: _SuspectIndex, fronts: Sequence[_Front]
    ) -> list[Suspect]:
        """Try the suspects inside a compound statement; return those that stay open."""
        into: list[list[_Front]] = [[] for _ in point.blocks]
        for front in self._entered(point, [_copied(front) for front in fronts]):
            self._go(front.path)
            stmt = point.stmt
            if isinstance(stmt, ForStmt | WhileStmt):
                into[0] += self._iterations(point, stmt, front)
                continue
            taken = None
            if isinstance(stmt, IfStmt):
                taken = self.flow.conditions.decide(stmt.condition, point.block)
            for arm, paths in enumerate(into):
                if taken is None or taken is (arm == 0):
                    paths.append(_copied(front))
        undecided: list[Suspect] = []
        for block, paths in zip(point.blocks, into, strict=True):
            undecided += self._block(block, kind, paths)
        return undecided

    def _iterations(
        self, point: ProgramPoint, stmt: ForStmt | WhileStmt, front: _Front
    ) -> Iterator[_Front]:
        """Yield the iterations of a loop with the joined state at the start of each."""
        flow, trips = self.flow, trip_count(stmt)
        if trips == 0:
            return
        context = flow.conditions.present()
        flow.compound(point, front.state.copy())
        iterations = flow.iterations_of(point, trips)
        for iteration, head in flow.visits[point][context].heads.items():
            for last in iterations.endings(iteration):
                known = dict(front.path.iterations)
                if iterations.counter is not None:
                    known[iterations.counter.var] = (
                        iterations.counter,
                        iteration._replace(last=last),
                    )
                path = front.path._replace(iterations=known, depth=front.path.depth + 1)
                yield _Front(path, head.copy())


def _copied(front: _Front, without: Suspect | None = None) -> _Front:
    """Return a front with a copy of the state, without the token of a flag."""
    state = front.state.copy()
    state.tokens.pop(without, None)
    return _Front(front.path, state)


def _acts_at(suspect: Suspect) -> ProgramPoint:
    """Return the statement from which on it matters whether a suspect is present.

    For a flag that is the one of its wait, unless its set is acknowledged.
    """
    if isinstance(suspect, ProgramPoint):
        return suspect
    if suspect.form is not FORWARD or suspect.ack == NONE:
        return suspect.wait_before
    return suspect.set_after if suspect.late is None else suspect.late


def _around(point: ProgramPoint) -> Iterator[ProgramPoint]:
    """Yield the statements that hold one, the innermost first."""
    owner = point.block.owner
    while owner is not None:
        yield owner
        owner = owner.block.owner
