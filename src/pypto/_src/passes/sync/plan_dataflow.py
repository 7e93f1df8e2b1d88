"""The dataflow of a function with the flags and barriers of a plan, before they are emitted.

Each flag of a plan is separate, raised and waited for alternately on every path; so a state
is what pipes know and the tokens of raised flags. Event numbers are considered in `acknowledge`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pypto._src.analysis.accesses import Instruction
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, owner_of
from pypto._src.diagnostics import DiagnosticSeverity
from pypto._src.ir.enums import PipeType
from pypto._src.ir.stmts import ForStmt, Function
from pypto._src.passes.sync.checker_dataflow import Flow
from pypto._src.passes.sync.checker_reports import Findings, Triple
from pypto._src.passes.sync.checker_state import PIPES, Bits, State
from pypto._src.passes.sync.flags import CLOSING, PRIMED, Flag
from pypto._src.passes.sync.planner import Planner, strongest
from pypto._src.records import NamedTuple

_S: Final = PipeType.S
_ALL: Final = PipeType.ALL


class RaceError(Exception):
    """Raised when something races."""


class _Alarm(Findings):
    """Raises an error where `Findings` would record a race."""

    def report(self, *_args: Any, **named: Any) -> None:
        if named.get("severity", DiagnosticSeverity.Error) is DiagnosticSeverity.Error:
            raise RaceError

    def race(
        self,
        first: Instruction,
        second: Instruction,
        wrote: bool,
        writes: bool,
        loop: ProgramPoint | None,
    ) -> None:
        raise RaceError


class Act(NamedTuple):
    """What a pipe does beside a statement: a set, a wait, or a barrier."""

    of: Flag | ProgramPoint | None  # the suspect; None if it cannot be dropped
    flag: Flag | None = None
    sets: bool = False
    primes: bool = False  # for the first iteration of a loop
    barrier: PipeType | None = None


class PlanFlow(Flow):
    """The dataflow of a function with the flags and barriers of a plan, except those dropped.

    Each flag of a plan is separate, raised and waited for alternately on every path; so a state is
    what pipes know and the tokens of raised flags.
    """

    def __init__(self, planner: Planner, function: Function) -> None:
        self.before: dict[ProgramPoint, list[Act]] = {}
        self.after: dict[ProgramPoint, list[Act]] = {}
        self.closing: dict[Block, list[Act]] = {}
        self.dropped: set[Flag | ProgramPoint] = set()
        self.steps: int = 0
        self.look: Callable[[ProgramPoint, State], None] | None = (
            None  # at states before acts in blocks
        )
        self.look_on: Callable[[Block, State], None] | None = None  # before closing acts of blocks
        self._add_acts(planner, list(planner.flags.values()))
        like, root = planner.flow, planner.root
        super().__init__(function, root, planner.accesses, _Alarm(0), _itself, like=like)
        planner.flow = self

    def _add_acts(self, planner: Planner, flags: Sequence[Flag], *, late: bool = False) -> None:
        """Index the plan by statements: waits before barriers before sets.

        With ``late`` sets are where they were moved to free an event.
        """
        for flag in flags:
            if flag.form is CLOSING:
                self.closing.setdefault(flag.block, []).append(Act(flag, flag))
            else:
                self.before.setdefault(flag.wait_before, []).append(Act(flag, flag))
        for point, kinds in planner.bars.items():
            acts = self.before.setdefault(point, [])
            acts += [Act(point, barrier=kind) for kind in strongest(kinds)]
        for flag in flags:
            if late and flag.late is not None:
                self.before.setdefault(flag.late, []).append(Act(flag, flag, sets=True))
            else:
                self.after.setdefault(flag.set_after, []).append(Act(flag, flag, sets=True))
        for flag in flags:
            if flag.form is PRIMED:
                owner = owner_of(flag.block)
                self.before.setdefault(owner, []).append(Act(flag, flag, sets=True, primes=True))
                self.after.setdefault(owner, []).insert(0, Act(flag, flag))
        for block in (*planner.closing_bars, planner.root):
            self.closing.setdefault(block, []).append(Act(None, barrier=PipeType.ALL))

    def block(
        self, block: Block, state: State | None, begin: int = 0, *, entered: bool = False
    ) -> State | None:
        """As `Flow.block`; ``entered`` if the acts before the first statement are done."""
        assert state is not None  # nothing leaves a block early
        for index in range(begin, len(block.points)):
            point = block.points[index]
            if point in self.before and not (entered and index == begin):
                if self.look is not None:
                    self.look(point, state)
                self.act(self.before[point], state)
            if point.blocks:
                key = self.split_key(point)
                if key is not None:
                    return self._split(point, key, state)
            state = self.step(point, state)
        if block in self.closing:
            if self.look_on is not None:
                self.look_on(block, state)
            self.act(self.closing[block], state)
        return state

    def rest(self, point: ProgramPoint, state: State) -> State | None:
        return self.block(point.block, state, point.index, entered=True)

    def step(self, point: ProgramPoint, state: State) -> State:
        """Return the state after a statement and the acts after it."""
        self.steps += 1
        instruction = self.accesses.at.get(point)
        if instruction is not None:
            self.instruction(instruction, state)
        elif point.blocks:
            after = self.compound(point, state)
            assert after is not None
            state = after
        if point in self.after:
            self.act(self.after[point], state)
        return state

    def act(self, acts: Sequence[Act], state: State) -> None:
        """Apply the acts beside a statement."""
        of_pipe, dropped = self.numbering.of_pipe, self.dropped
        for act in acts:
            flag, barrier = act.flag, act.barrier
            if act.of in dropped:
                continue
            if flag is not None:
                if act.sets:
                    state.tokens[flag] = state.known[flag.source] | of_pipe[flag.source]
                elif flag.target == _S:
                    state.learn(_S, state.tokens.pop(flag))
                else:
                    state.known[flag.target] |= state.tokens.pop(flag)
            elif barrier is _ALL:
                state.known = [self.numbering.all] * PIPES
            elif barrier is not None:
                state.known[barrier] |= of_pipe[barrier]

    def told(
        self, point: ProgramPoint, pipe: int, state: State, suspect: Flag | ProgramPoint
    ) -> Bits:
        """Return what a pipe knows after the acts before a statement, without a suspect's."""
        acts = self.before.get(point, ())
        return self._told(acts, pipe, state.known[pipe], state.tokens, suspect)

    def told_next(self, flag: Flag, state: State) -> Bits | None:
        """Return the most that a CLOSING flag's target knows where the next iteration needs it.

        That is without the flag, from a state at the end of the body. None if the pipe may learn
        more on the path there, or no iteration follows.
        """
        block, point, pipe = flag.block, flag.wait_before, flag.target
        loop, points = owner_of(block), block.points[: point.index]
        acts = self.before.get(point, ())
        told = [act for act in acts if act.of not in self.dropped and _tells(act, pipe)]
        sources = [act.flag.source for act in told if act.flag is not None]
        own = [point for point in points if point in self.accesses.at]
        if any(self.accesses.at[point].queue == pipe for point in own) or self._is_last_iteration(
            loop
        ):
            return None
        if not all(self._is_plain(points, each) for each in (pipe, *sources)):
            return None

        def known(pipe: int) -> Bits:
            found = self._told(self.closing[block], pipe, state.known[pipe], state.tokens, flag)
            return self.numbering.next_iteration(loop, found)

        raised: dict[Flag | None, Bits] = {}
        for act in told:
            if act.flag is not None and act.flag.form is PRIMED:
                raised[act.flag] = self.numbering.next_iteration(loop, state.tokens[act.flag])
            elif act.flag is not None:  # set in this iteration
                source = act.flag.source
                raised[act.flag] = known(source) | self.numbering.of_pipe[source]
        return self._told(told, pipe, known(pipe), raised, flag)

    def _is_plain(self, points: Sequence[ProgramPoint], pipe: int) -> bool:
        """True if a pipe learns nothing from the acts beside some statements."""
        for point in points:
            acts = (*self.before.get(point, ()), *self.after.get(point, ()))
            if point.blocks or any(_tells(act, pipe) for act in acts):
                return False
        return True

    def _is_last_iteration(self, loop: ProgramPoint) -> bool:
        stmt = loop.stmt
        known = self.conditions.iterations.get(stmt.loop_var) if isinstance(stmt, ForStmt) else None
        return known is not None and known[1].last is True

    def _told(
        self,
        acts: Sequence[Act],
        pipe: int,
        known: Bits,
        tokens: Mapping[Any, Bits],
        suspect: Flag | ProgramPoint,
    ) -> Bits:
        for act in acts:
            if act.of is suspect or act.of in self.dropped or not _tells(act, pipe):
                continue
            if act.flag is not None:
                known |= tokens[act.flag]
            elif act.barrier is _ALL:
                return self.numbering.all
            else:
                known |= self.numbering.of_pipe[pipe]
        return known


def _tells(act: Act, pipe: int) -> bool:
    """True if a pipe may learn something from an act."""
    if act.flag is not None:
        return not act.sets and act.flag.target in (pipe, _S)
    return act.barrier in (_ALL, pipe)


def _itself(triple: Triple) -> Triple:
    return triple


def is_sufficient(planner: Planner, function: Function) -> bool:
    """True if the checker finds no race in the plan."""
    try:
        PlanFlow(planner, function).run()
    except RaceError:
        return False
    return True
