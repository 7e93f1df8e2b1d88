"""Where flags and barriers go: the plan behind InsertSync.

The plan keeps a vector clock, for each pipe how far every other pipe is known to have come, walks
the function in program order and adds a flag or barrier only where a conflict is not yet ordered.

* The set and the wait of a flag are in one block, so that flags balance on every path: a wait that
  a branch or loop needs comes before it, a set for its instructions comes after it.
* Dependences from one iteration of a loop to the next are found by a second walk over its body. The
  wait is at the end of the body if the waiting pipe would reach it first anyway; else the flag is
  raised before the loop (primed), waited for where needed, and waited for once more after it.

`insert_sync` assigns event numbers and emits statements.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from pypto._src.analysis.accesses import Accesses, Instruction
from pypto._src.analysis.affine import trip_count
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, owner_of
from pypto._src.ir.enums import ForKind, PipeType
from pypto._src.ir.stmts import ForStmt, IfStmt, WhileStmt
from pypto._src.passes.sync.flags import CLOSING, FORWARD, PRIMED, Flag, Form
from pypto._src.passes.sync.hazards import History, Need, StraightHistory, lifted, meeting
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    from pypto._src.passes.sync.checker_dataflow import Flow


# --------------------------------------------------------------------------------------------
# Clocks
# --------------------------------------------------------------------------------------------

# In CPython 3.11, looking up an enum member takes five times as long as a global.
_S: Final = PipeType.S
_ALL: Final = PipeType.ALL

PIPES: Final = 7
_PIPES: Final = range(PIPES)

Row: TypeAlias = "list[int]"
"""For each pipe, the number of the last instruction known to be complete; shared, never changed."""
Clock: TypeAlias = "list[Row]"
"""A row for each pipe: what is complete before the next instruction of it starts."""


def _with(row: Sequence[int], pipe: int, number: int) -> Row:
    """Return a row with another number for one pipe."""
    new = [*row]
    new[pipe] = number
    return new


def _learn(clock: Clock, pipe: int, token: Sequence[int]) -> None:
    """Add ``token`` to what ``pipe`` knows; a wait of the scalar pipe holds up all pipes."""
    for p in (pipe,) if pipe != _S else _PIPES:
        row = clock[p] = [*clock[p]]
        for source in _PIPES:
            if token[source] > row[source]:
                row[source] = token[source]


def _lowest(clocks: Sequence[Clock]) -> Clock:
    """Return the meet of the clocks: what is known in all of them."""
    lowest, *others = clocks
    for clock in others:
        lowest = [
            a if a is b else [x if x < y else y for x, y in zip(a, b, strict=True)]
            for a, b in zip(lowest, clock, strict=True)
        ]
    return lowest[:]


def _skipped(clock: Clock, before: Row, after: Row) -> Clock:
    """Return ``clock`` after instructions that did not execute on this path.

    Numbers went from ``before`` to ``after``. A pipe that knows everything before also knows these.
    """
    if before == after:
        return clock[:]
    steps = [*zip(before, after, strict=True)]
    return [
        [new if known >= old else known for known, (old, new) in zip(row, steps, strict=True)]
        for row in clock
    ]


Token: TypeAlias = "Sequence[int]"
"""What a flag carries: for each pipe, the last instruction complete when it is raised."""


def _token(clock: Clock, count: Row, pipe: int) -> Row:
    """Return the token of a flag that ``pipe`` sets now."""
    return _with(clock[pipe], pipe, count[pipe])


class _Added(NamedTuple):
    """A flag, or the barriers before a statement, that an instruction needed when it was visited.

    Positions are twice the numbers of statements.
    """

    what: Flag | ProgramPoint
    acts: int  # the position from which on it acts
    since: int  # the position of the instruction for which it waits
    after: int  # acts after this may order the two: 0 if they are in different iterations
    needed: int  # the position of the instruction; after the body if in the next iteration
    late: int  # the end of the last loop before it to which a second iteration has added something
    apart: bool  # the two are in different blocks, or in a branch


_Choice: TypeAlias = "tuple[Need, ProgramPoint, ProgramPoint, Token]"
"""A need, the statements after which to set and before which to wait, and the flag's token."""


# --------------------------------------------------------------------------------------------
# Planning
# --------------------------------------------------------------------------------------------


class _Frame(NamedTuple):
    """An open compound statement, with the saved clocks of its paths."""

    point: ProgramPoint
    clocks: list[Clock]


class Planner:
    """Decides on flags and barriers; `flags`, `bars` and `closing_bars` are the result."""

    def __init__(self, root: Block, accesses: Accesses) -> None:
        self.root = root
        self.accesses = accesses
        self.is_straight: bool = root.is_flat
        self.history = (StraightHistory if root.is_flat else History)(accesses)
        self.clock: Clock = [[0] * PIPES for _ in range(PIPES)]
        self.count: Row = [0] * PIPES
        self.frames: list[_Frame] = []
        # After a compound statement, the tokens of flags of each pipe.
        self.behind: dict[ProgramPoint, list[Token]] = {}
        self.first: dict[Block, dict[int, int]] = {}  # pipe to its first statement in the block
        self.flags: dict[tuple[int, bool, ProgramPoint | Block], Flag] = {}
        self.loops: int = 0  # how many are open
        self.finished: int = 0  # the end of the last planned compound statement
        self.waits: dict[ProgramPoint, list[Flag]] = {}  # of flags in loops
        self.sets: dict[ProgramPoint, dict[Flag, None]] = {}
        self.carried: dict[Block, list[Flag]] = {}  # by the body of their loop
        self.arms: dict[Block, bool] = {}
        self.log: list[_Added] = []
        # The instructions directly in a block, by pipe, with their indices and numbers.
        self.always: dict[Block, dict[int, list[tuple[int, int]]]] = {}
        self.late: int = (
            0  # twice the end of the last loop to which a second iteration added something
        )
        self.now: Instruction = next(iter(accesses.at.values()))
        self.bars: dict[ProgramPoint, list[PipeType]] = {}  # before a statement
        self.closing_bars: dict[Block, None] = {}  # of all pipes, at the end of a loop's body
        self.flow: Flow | None = None  # a flow over the function, for others to reuse
        self.dropped_any: bool = False  # flags or barriers on which known facts relied are gone

    def barriers_only(self) -> None:
        """Put a barrier of all pipes before each instruction, and drop all flags."""
        self.flags, self.bars, self.closing_bars = {}, {}, {}
        for point in self.accesses.at:
            self.bars[point] = [_ALL]

    def plan(self) -> None:
        """Walk the function."""
        if self.is_straight:
            for instruction in self.accesses.at.values():
                self._instruction(instruction)
        else:
            self._block(self.root)

    def _block(self, block: Block) -> None:
        for point in block.points:
            instruction = self.accesses.at.get(point)
            if instruction is not None:
                self._instruction(instruction)
            elif isinstance(point.stmt, ForStmt | WhileStmt):
                self._loop(point, point.stmt)
            elif isinstance(point.stmt, IfStmt):
                self._branch(point)
            elif point.blocks:
                self.frames.append(_Frame(point, []))
                for inner in point.blocks:
                    self._block(inner)
                self.frames.pop()
            if point.blocks:
                self.behind[point] = [_token(self.clock, self.count, p) for p in range(PIPES)]
                self.finished = point.end

    def token(self, point: ProgramPoint, pipe: int) -> Token:
        """Return the token of a flag that ``pipe`` sets after a statement."""
        done = self.accesses.at.get(point)
        return self.behind[point][pipe] if done is None else _with(done.knows, pipe, done.number)

    def _instruction(self, instruction: Instruction) -> None:
        point, pipe = instruction.point, instruction.queue
        clock, count = self.clock, self.count
        self.now = instruction
        latest = self.history.latest(instruction, clock[pipe])
        same = self.order(instruction, latest, self) if latest else None
        if same is not None:
            self.bar(instruction, clock, count)
            if not self.is_straight:
                self._note(point, point, same)
        if instruction.in_order:  # it starts when all before it on its pipe is complete
            clock[pipe] = _with(clock[pipe], pipe, count[pipe])
        count[pipe] += 1
        instruction.number, instruction.knows = count[pipe], clock[pipe]
        self.history.record(instruction)
        if self.loops:
            inner: ProgramPoint | None = point
            while inner is not None and pipe not in self.first.setdefault(inner.block, {}):
                self.first[inner.block][pipe] = inner.index
                inner = inner.block.owner

    def _branch(self, point: ProgramPoint) -> None:
        taken = self.taken(point)
        if taken is not None:
            for arm in point.blocks[taken : taken + 1]:
                self._block(arm)
            return
        before = self.count[:]
        entry = self.clock
        done: list[tuple[Clock, Row]] = []
        frame = _Frame(point, [entry])
        self.frames.append(frame)
        for arm in point.blocks:
            self.clock = _skipped(entry, before, self.count)
            self._block(arm)
            done.append((self.clock, self.count[:]))
            frame.clocks.append(self.clock)
        self.frames.pop()
        if len(point.blocks) == 1:
            done.append((entry, before))
        self.clock = _lowest([_skipped(clock, count, self.count) for clock, count in done])

    def taken(self, point: ProgramPoint) -> int | None:
        """Return the arm that a branch always takes, None if it may be either."""
        assert isinstance(point.stmt, IfStmt)
        from pypto._src.analysis.branch_conditions import Conditions

        conditions = Conditions(self.accesses.integers)
        value = conditions.decide(point.stmt.condition, point.block)
        return None if value is None else 0 if value else 1

    def _loop(self, point: ProgramPoint, stmt: ForStmt | WhileStmt) -> None:
        body, trips = point.blocks[0], trip_count(stmt)
        if trips == 0:
            return
        before, entry = self.count[:], self.clock[:]
        self.frames.append(_Frame(point, [entry]))
        self.loops += 1
        self._block(body)
        self.frames.pop()
        carried: list[Flag] = []
        if trips is None or trips > 1:
            replay = _Replay(self, body, before)
            replay.independent = isinstance(stmt, ForStmt) and stmt.kind is ForKind.Parallel
            replay.run(body)
            carried = self.carried[body] = list(replay.found)
        self.loops -= 1
        for flag in carried:
            if flag.form is CLOSING:
                _learn(self.clock, flag.target, self.token(flag.set_after, flag.source))
        if not trips:
            self.clock = _lowest([_skipped(entry, before, self.count), self.clock])
        for flag in carried:
            if flag.form is PRIMED:  # the last wait; the set before the loop if it never ran
                token = entry[flag.source][:]
                token[flag.source] = self.token(flag.set_after, flag.source)[flag.source]
                _learn(self.clock, flag.target, token)

    def order(
        self, instruction: Instruction, latest: dict[int, Need], chooser: _Chooser
    ) -> Need | None:
        """Add the flags that ``instruction`` needs; return the need for a barrier, if any.

        ``latest`` has the last conflict with each pipe that is not ordered yet.
        """
        pipe = instruction.queue
        if len(latest) == 1:
            [need] = latest.values()
            if need.queue == pipe:
                return need
            chooser.accept(chooser.choose(need))
            return None
        same = latest.pop(pipe, None)
        choices = [chooser.choose(need) for need in latest.values()]
        if len(choices) > 1:
            choices = _necessary(choices)
        if same is not None:
            if _orders(choices, same):
                same = None  # the flags order it too
            elif instruction.pipe not in _BARRIERS:
                return min((same, *latest.values()), key=lambda n: n.point.begin)  # for all pipes
        for choice in choices:
            chooser.accept(choice)
        return same

    def choose(self, need: Need) -> _Choice:
        """Return the placement of a flag from an earlier statement."""
        point = self.now.point
        if isinstance(need, Instruction) and need.block is self.now.block:
            return need, need.point, point, _with(need.knows, need.queue, need.number)
        met = meeting(need.point, point)
        assert met is not None
        return need, *met, self.token(met[0], need.queue)

    def accept(self, choice: _Choice) -> None:
        """Add a flag from an earlier statement."""
        need, _, wait_before, token = choice
        target = self.now.queue
        flag = self.add_flag(FORWARD, choice, target, wait_before)
        if self.is_straight:
            _learn(self.clock, target, token)
            return
        self._note(flag, wait_before, need)
        learn_inside(self.clock, self.frames, target, token, wait_before.block.depth)

    def _note(self, what: Flag | ProgramPoint, point: ProgramPoint, need: Need) -> None:
        """Record what is added before ``point`` for the current instruction."""
        acts, since, needed = 2 * point.begin, 2 * need.point.begin, 2 * self.now.point.begin
        apart = self._is_apart(need.point, self.now.block)
        self.log.append(_Added(what, acts, since, since, needed, self.late, apart))

    def _is_apart(self, point: ProgramPoint, block: Block) -> bool:
        """True if several paths, or possibly none, lead from a statement to one in ``block``.

        There is one path within an arm of a branch in the function's own block, if no other branch
        or loop is in between: arms that are never taken are not planned. That does not hold from
        before the branch: an earlier statement of the arm may need a flag that waits there, too.
        """
        if point.block is not block:
            return True
        if not self.in_arm(block):
            return False
        branch = owner_of(block)
        is_alone = isinstance(branch.stmt, IfStmt) and branch.block is self.root
        return not is_alone or point.begin < self.finished

    def in_arm(self, block: Block) -> bool:
        """True if a block is an arm of a branch, or inside one: it may never run."""
        known = self.arms.get(block)
        if known is None:
            owner = block.owner
            known = owner is not None and (
                isinstance(owner.stmt, IfStmt) or self.in_arm(owner.block)
            )
            self.arms[block] = known
        return known

    def add_flag(
        self, form: Form, choice: _Choice, target: int, where: ProgramPoint | Block
    ) -> Flag:
        """Return the flag of this form with a wait at ``where``, set late enough for ``choice``."""
        need, set_after, wait_before, token = choice
        key = (need.queue * PIPES + target, form is PRIMED, where)
        flag = self.flags.get(key)
        if flag is None:
            flag = self.flags[key] = Flag(form, need.queue, target, set_after, wait_before)
            flag.known = token[target]
            if not self.loops:
                flag.number = self.count[target] + 1
            else:
                self.waits.setdefault(wait_before, []).append(flag)
                self.sets.setdefault(set_after, {})[flag] = None
        elif flag.set_after.index < set_after.index:
            if self.loops:
                self.sets.get(flag.set_after, {}).pop(flag, None)
                self.sets.setdefault(set_after, {})[flag] = None
            flag.set_after, flag.known = set_after, token[target]
        return flag

    def is_past(self, earlier: Flag, flag: Flag) -> bool:
        """True if the wait for ``earlier`` is surely over when ``flag`` of its pipes is set."""
        if not earlier.number or not flag.number or self.dropped_any:
            return False
        number, point = earlier.number, earlier.wait_before
        if point.blocks:  # the instruction after the wait may not execute
            number = self._next_sure(point, earlier.target)
        return flag.known >= number

    def _next_sure(self, point: ProgramPoint, pipe: int) -> float:
        """Return the number of a pipe's first instruction that certainly runs after a statement.

        One that does not execute counts as complete once all before it are known to be, so that it
        says nothing about waits before it. Infinity if there is none.
        """
        block = point.block
        while True:
            of_pipe = self.always.get(block)
            if of_pipe is None:
                of_pipe = self.always[block] = {}
                for inner in block.points:
                    if (found := self.accesses.at.get(inner)) is not None:
                        of_pipe.setdefault(found.queue, []).append((inner.index, found.number))
            listed = of_pipe.get(pipe, ())
            at = bisect_right(listed, (point.index, inf))
            if at < len(listed):
                return listed[at][1]
            if block.owner is None:
                return inf
            point, block = block.owner, block.owner.block

    def bar(self, instruction: Instruction, clock: Clock, count: Row) -> None:
        """Add a barrier before an instruction: of its pipe if that has one, else of all."""
        kind = instruction.pipe if instruction.pipe in _BARRIERS else _ALL
        point = instruction.point
        if point in self.bars:
            self.bars[point].append(kind)
        else:
            self.bars[point] = [kind]
        pass_bar(clock, kind, count)

    def suspects(self) -> list[Flag | ProgramPoint]:
        """Return the flags, and the program points of barriers, that others may make superfluous.

        An instruction is visited when everything before it in the text is planned. But some of what
        is planned later acts earlier: flags that wait before a branch or loop for an instruction
        inside it, and what the second iteration of a loop adds. Nor does the plan rely on the
        effects of that after the loop, or of statements inside a loop on its next iteration.
        """
        suspects: dict[Flag | ProgramPoint, None] = {}
        needed: set[Flag | ProgramPoint] = set()
        acts: list[int] = []  # of what is planned later, negated: mostly descending in the text
        for added in reversed(self.log):
            last = bisect_right(acts, -added.needed)  # of those before the instruction
            is_between = last < len(acts) and -acts[last] > added.after
            open_ = added.apart or added.since < added.late or is_between
            (suspects.update({added.what: None}) if open_ else needed.add(added.what))
            insort(acts, -added.acts)
        return [what for what in reversed(suspects) if what not in needed]


class _Chooser(Protocol):
    """Places the flags of one instruction."""

    def choose(self, need: Need) -> _Choice:
        """Return where a flag would be."""
        ...

    def accept(self, choice: _Choice) -> None:
        """Add the flag."""
        ...


_BARRIERS: Final = frozenset({PipeType.V, PipeType.M})
"""The pipes that have a barrier of their own; elsewhere all pipes wait."""


def strongest(kinds: Sequence[PipeType]) -> Sequence[PipeType]:
    """Return the fewest barriers that cover all of ``kinds``."""
    return (_ALL,) if _ALL in kinds else kinds


def pass_bar(clock: Clock, kind: PipeType, count: Row) -> None:
    """Apply a barrier to ``clock`` after ``count`` instructions."""
    if kind is _ALL:
        clock[:] = [count[:]] * PIPES
        return
    row = clock[kind] = [*clock[kind]]
    row[kind] = count[kind]


def learn_inside(
    clock: Clock, frames: Sequence[_Frame], pipe: int, token: Sequence[int], depth: int
) -> None:
    """Add ``token`` to what ``pipe`` knows, from before the open statement at ``depth`` on."""
    _learn(clock, pipe, token)
    for frame in reversed(frames):
        if frame.point.block.depth < depth:
            return
        for other in frame.clocks:
            _learn(other, pipe, token)


def _orders(choices: Iterable[_Choice], need: Need) -> bool:
    """True if the tokens of the flags show that a need is met."""
    pipe, number = need.queue, need.number
    for _, _, _, token in choices:  # noqa: SIM110 few items, thousands of calls
        if token[pipe] >= number:
            return True
    return False


def _necessary(choices: list[_Choice]) -> list[_Choice]:
    """Return the choices without those whose need the others meet; later sets are preferred."""
    choices.sort(key=_latest_first)
    kept: list[_Choice] = []
    for choice in choices:
        if not kept or not _orders(kept, choice[0]):
            kept.append(choice)
    for choice in [*kept] if len(kept) > 1 else ():
        others = [c for c in kept if c is not choice]
        if _orders(others, choice[0]):
            kept = others
    return kept


def _latest_first(choice: _Choice) -> tuple[int, int]:
    return -choice[1].end, choice[0].queue


class _Replay:
    """The second iteration of a loop: finds dependences from one iteration to the next.

    Clocks count only the instructions of the first iteration; whatever the second one completes on
    a pipe comes after all of the first on it.
    """

    def __init__(self, planner: Planner, body: Block, before: Row) -> None:
        self.planner = planner
        self.body = body
        self.before = before
        self.count = planner.count[:]
        self.clock = planner.clock[:]
        self.frames: list[_Frame] = []
        self.tokens: dict[Flag, Token] = {}
        self.found: dict[Flag, None] = {}
        self.independent = False  # the iterations touch different parts of tensors
        self.instruction: Instruction | None = None

    def run(self, block: Block) -> None:
        """Walk a block with the flags and barriers that it has so far."""
        for point in block.points:
            for flag in self.planner.waits.get(point, ()):
                if flag.form is not CLOSING and flag in self.tokens:
                    _learn(self.clock, flag.target, self.tokens[flag])
            for kind in self.planner.bars.get(point, ()):
                pass_bar(self.clock, kind, self.count)
            self._point(point)
            for flag in self.planner.sets.get(point, ()):
                if flag.form is not PRIMED:
                    self.tokens[flag] = _token(self.clock, self.count, flag.source)

    def _point(self, point: ProgramPoint) -> None:
        instruction = self.planner.accesses.at.get(point)
        if instruction is not None:
            self._instruction(instruction)
        elif isinstance(point.stmt, ForStmt | WhileStmt):
            self._loop(point, point.stmt)
        elif isinstance(point.stmt, IfStmt):
            self._branch(point)
        else:
            for inner in point.blocks:
                self.run(inner)

    def _instruction(self, instruction: Instruction) -> None:
        self.instruction = instruction
        pipe = instruction.queue
        known = [a if a > b else b for a, b in zip(self.before, self.clock[pipe], strict=True)]
        latest = self.planner.history.latest_of_iterations(
            instruction, known, self.body, tensors=not self.independent
        )
        same = self.planner.order(instruction, latest, self) if latest else None
        if same is not None:
            self.planner.bar(instruction, self.clock, self.count)
            self._note(instruction.point, instruction.point, same)
        if instruction.in_order:
            self.clock[pipe] = _with(self.clock[pipe], pipe, self.count[pipe])

    def choose(self, need: Need) -> _Choice:
        """Return the placement of a flag from the previous iteration."""
        assert self.instruction is not None
        set_after = lifted(need.point, self.body)
        wait_before = lifted(self.instruction.point, self.body)
        token = self.planner.token(set_after, need.queue)
        return need, set_after, wait_before, token

    def accept(self, choice: _Choice) -> None:
        """Add a flag from the previous iteration."""
        assert self.instruction is not None
        need, set_after, wait, token = choice
        target = self.instruction.queue
        first = self.planner.first[self.body][target]
        if set_after.index < wait.index or wait.index <= first:
            flag = self.planner.add_flag(CLOSING, choice, target, self.body)
        else:
            flag = self.planner.add_flag(PRIMED, choice, target, wait)
        self.found[flag] = None
        self._note(flag, wait, need)
        learn_inside(self.clock, self.frames, target, token, self.body.depth)

    def _note(self, what: Flag | ProgramPoint, point: ProgramPoint, need: Need) -> None:
        """Record what is added before ``point``, or at the end of the body."""
        assert self.instruction is not None
        closing = isinstance(what, Flag) and what.form is CLOSING
        acts = 2 * (self.body.end if closing else point.begin) - 1
        since, needed = 2 * need.point.begin, 2 * self.body.end + 1
        block = self.instruction.block
        apart = (
            block is not self.body or need.point.block is not block or self.planner.in_arm(block)
        )
        self.planner.log.append(_Added(what, acts, since, 0, needed, self.planner.late, apart))
        self.planner.late = max(self.planner.late, needed)

    def _branch(self, point: ProgramPoint) -> None:
        taken = self.planner.taken(point)
        if taken is not None:
            for arm in point.blocks[taken : taken + 1]:
                self.run(arm)
            return
        entry = self.clock
        done: list[Clock] = []
        frame = _Frame(point, [entry])
        self.frames.append(frame)
        for arm in point.blocks:
            self.clock = entry[:]
            self.run(arm)
            done.append(self.clock)
            frame.clocks.append(self.clock)
        self.frames.pop()
        if len(point.blocks) == 1:
            done.append(entry)
        self.clock = _lowest(done)

    def _loop(self, point: ProgramPoint, stmt: ForStmt | WhileStmt) -> None:
        trips = trip_count(stmt)
        if trips == 0:
            return
        body = point.blocks[0]
        carried = self.planner.carried.get(body, ())
        for flag in carried:
            if flag.form is PRIMED:
                self.tokens[flag] = _token(self.clock, self.count, flag.source)
        entry = self.clock[:]
        self.frames.append(_Frame(point, [entry]))
        self.run(body)
        self.frames.pop()
        for flag in carried:
            if flag.form is CLOSING:
                _learn(self.clock, flag.target, self.tokens[flag])
        if not trips:
            self.clock = _lowest([entry, self.clock])
        for flag in carried:
            if flag.form is PRIMED:
                _learn(self.clock, flag.target, self.tokens[flag])
