"""Where flags and barriers go: the plan behind InsertSync.

The plan keeps, for each pipe, how far every other pipe is known to have come (a vector clock),
walks the function in program order and adds a flag or barrier only where a conflict is not yet
ordered.

* Both ends of a flag stand in one block, so that flags balance on every path: a wait that a branch
  or loop needs comes before it, a set that it gives comes after it.
* What one turn of a loop leaves for the next is found by a second walk over its body. The wait
  stands at the end of the body if the waiting pipe would meet it first anyway; else the flag is
  raised before the loop (primed), waited for where needed, and waited for once more after it.

Event numbers and statements are the business of `insert_sync`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol, TypeAlias

from pypto._src.ir.enums import ForKind, PipeType
from pypto._src.ir.stmts import ForStmt, IfStmt, WhileStmt
from pypto._src.passes.boxes import trip_count
from pypto._src.passes.buffers import Accesses, Instruction
from pypto._src.passes.check_paths import Conditions
from pypto._src.passes.conflicts import History, Need, lifted, meeting
from pypto._src.passes.regions import Block, Site, owner_of

# --------------------------------------------------------------------------------------------
# Clocks
# --------------------------------------------------------------------------------------------

PIPES: Final = 7

Row: TypeAlias = "list[int]"
"""For each pipe, the number of the last instruction known to be complete."""
Clock: TypeAlias = "list[Row]"
"""A row for each pipe: what is complete before the next instruction of it starts."""


def _copy(clock: Clock) -> Clock:
    return [row[:] for row in clock]


def _learn(clock: Clock, pipe: int, token: Sequence[int]) -> None:
    """Let ``pipe`` know ``token``; what the scalar pipe waits for, all later instructions do."""
    for row in clock if pipe == PipeType.S else (clock[pipe],):
        row[:] = [a if a > b else b for a, b in zip(row, token, strict=True)]


def _lowest(clocks: Sequence[Clock]) -> Clock:
    """Return what is known whichever of the clocks is right."""
    return [[min(clock[p][q] for clock in clocks) for q in range(PIPES)] for p in range(PIPES)]


def _skipped(clock: Clock, before: Row, after: Row) -> Clock:
    """Return ``clock`` after instructions that did not happen on this path.

    Numbers went from ``before`` to ``after``. Who knows everything before also knows these.
    """
    return [[after[q] if row[q] >= before[q] else row[q] for q in range(PIPES)] for row in clock]


# --------------------------------------------------------------------------------------------
# Flags
# --------------------------------------------------------------------------------------------


class Form(Enum):
    """Where the ends of a flag stand."""

    FORWARD = "set after one statement, wait before a later one of the block"
    CLOSING = "set in the body of a loop, wait at its end"
    PRIMED = "set before the loop, wait and set in its body, wait after the loop"


class Flag:
    """One set and its wait, before an event number is chosen."""

    __slots__ = (
        "back",
        "back_first",
        "block",
        "event",
        "form",
        "known",
        "late",
        "number",
        "set_after",
        "source",
        "target",
        "wait_before",
    )

    def __init__(
        self, form: Form, source: int, target: int, set_after: Site, wait_before: Site
    ) -> None:
        self.form = form
        self.source = source
        self.target = target
        self.set_after = set_after
        self.wait_before = wait_before  # of a CLOSING flag: where the next turn needs it
        self.block = wait_before.block  # of a CLOSING or PRIMED flag: the body of its loop
        self.late: Site | None = None  # set before this statement instead
        self.event = -1
        self.back = -1  # the event by which the source hears from the target before it sets this
        self.back_first = -1  # the same before it raises a PRIMED flag for the first turn
        self.known = 0  # the last instruction of the target complete when this is set
        self.number = 0  # the first instruction of the target behind the wait; 0 in a loop

    @property
    def begin(self) -> int:
        """The place of the first set in textual order: 8 times the number of its statement, +."""
        if self.form is Form.PRIMED:
            return 8 * owner_of(self.block).begin + 2
        return 8 * self.set_after.end + 5 if self.late is None else 8 * self.late.begin + 1

    @property
    def end(self) -> int:
        """The place of the last wait."""
        if self.form is Form.FORWARD:
            return 8 * self.wait_before.begin
        if self.form is Form.CLOSING:
            return 8 * self.block.end - 2
        return 8 * owner_of(self.block).end + 4


Token: TypeAlias = "Sequence[int]"
"""What a flag tells: for each pipe, the last instruction complete when it is raised."""


def _token(clock: Clock, count: Row, pipe: int) -> Row:
    """Return what a flag tells that ``pipe`` sets now."""
    token = clock[pipe][:]
    token[pipe] = count[pipe]
    return token


class _Added(NamedTuple):
    """A flag, or the barriers before a statement, that an instruction needed when it was met.

    Places are twice the numbers of statements.
    """

    what: Flag | Site
    acts: int  # from where on in the text
    since: int  # where the instruction stands that it waits for
    needed: int  # where the instruction stands; of what the next turn needs, behind the loop's body
    late: int  # the end of the last loop before to which a second turn has added something
    apart: bool  # the two stand in different blocks, or in a branch


class _Choice(NamedTuple):
    need: Need
    set_after: Site
    wait_before: Site
    token: Token


# --------------------------------------------------------------------------------------------
# Planning
# --------------------------------------------------------------------------------------------


class _Frame(NamedTuple):
    """An open compound statement, with the clocks of its paths that are set aside."""

    site: Site
    clocks: list[Clock]


class Planner:
    """Decides on flags and barriers; `flags`, `bars` and `closing_bars` are the result."""

    def __init__(self, root: Block, accesses: Accesses) -> None:
        self.root = root
        self.accesses = accesses
        self.history = History(accesses)
        self.clock: Clock = [[0] * PIPES for _ in range(PIPES)]
        self.count: Row = [0] * PIPES
        self.frames: list[_Frame] = []
        self.after: dict[Site, Token] = {}  # of a flag of the statement's own pipe behind it
        self.behind: dict[Site, list[Token]] = {}  # the same for each pipe, of a compound one
        self.first: dict[Block, dict[int, int]] = {}  # pipe to its first statement in the block
        self.flags: dict[tuple[int, bool, Site | Block], Flag] = {}
        self.loops: int = 0  # that are open
        self.waits: dict[Site, list[Flag]] = {}  # of flags in loops
        self.sets: dict[Site, dict[Flag, None]] = {}
        self.carried: dict[Block, list[Flag]] = {}  # by the body of their loop
        self.conditions = Conditions(accesses.integers)
        self.is_straight: bool = not any(site.blocks for site in root.sites)
        self.arms: dict[Block, bool] = {}
        self.log: list[_Added] = []
        self.late: int = 0  # twice the end of the last loop to which a second turn added something
        self.site: Site = root.sites[0]
        self.bars: dict[Site, list[PipeType]] = {}  # before a statement
        self.closing_bars: dict[Block, None] = {}  # of all pipes, at the end of a loop's body

    def barriers_only(self) -> None:
        """Let all pipes finish before each instruction, and do without flags."""
        self.flags, self.bars, self.closing_bars = {}, {}, {}
        for site in self.accesses.at:
            self.bars[site] = [PipeType.ALL]

    def plan(self) -> None:
        """Walk the function."""
        self._block(self.root)

    def _block(self, block: Block) -> None:
        for site in block.sites:
            instruction = self.accesses.at.get(site)
            if instruction is not None:
                self._instruction(instruction)
            elif isinstance(site.stmt, ForStmt | WhileStmt):
                self._loop(site, site.stmt)
            elif isinstance(site.stmt, IfStmt):
                self._branch(site)
            elif site.blocks:
                self.frames.append(_Frame(site, []))
                for inner in site.blocks:
                    self._block(inner)
                self.frames.pop()
            if site.blocks:
                self.behind[site] = [_token(self.clock, self.count, p) for p in range(PIPES)]

    def token(self, site: Site, pipe: int) -> Token:
        """Return what a flag tells that ``pipe`` sets behind a statement."""
        token = self.after.get(site)
        return self.behind[site][pipe] if token is None else token

    def _instruction(self, instruction: Instruction) -> None:
        site, pipe = instruction.site, int(instruction.pipe)
        self.site = site
        needs = self.history.earlier(instruction, self.clock[pipe])
        same = self.order(instruction, needs, self.clock, self) if needs else None
        if same is not None:
            self.bar(site, instruction.pipe, self.clock, self.count)
            self._note(site, site, same)
        if instruction.in_order:  # it starts when all before it on its pipe is complete
            self.clock[pipe][pipe] = self.count[pipe]
        self.count[pipe] += 1
        self.history.record(instruction, self.count[pipe])
        self.after[site] = _token(self.clock, self.count, pipe)
        inner: Site | None = site if self.loops else None
        while inner is not None and pipe not in self.first.setdefault(inner.block, {}):
            self.first[inner.block][pipe] = inner.index
            inner = inner.block.owner

    def _branch(self, site: Site) -> None:
        taken = self.taken(site)
        if taken is not None:
            for arm in site.blocks[taken : taken + 1]:
                self._block(arm)
            return
        before = self.count[:]
        entry, done = self.clock, list[tuple[Clock, Row]]()
        frame = _Frame(site, [entry])
        self.frames.append(frame)
        for arm in site.blocks:
            self.clock = _skipped(entry, before, self.count)
            self._block(arm)
            done.append((self.clock, self.count[:]))
            frame.clocks.append(self.clock)
        self.frames.pop()
        if len(site.blocks) == 1:
            done.append((entry, before))
        self.clock = _lowest([_skipped(clock, count, self.count) for clock, count in done])

    def taken(self, site: Site) -> int | None:
        """Return the arm that a branch always takes, None if it may be either."""
        assert isinstance(site.stmt, IfStmt)
        value = self.conditions.decide(site.stmt.condition, site.block)
        return None if value is None else 0 if value else 1

    def _loop(self, site: Site, stmt: ForStmt | WhileStmt) -> None:
        body, trips = site.blocks[0], trip_count(stmt)
        if trips == 0:
            return
        before, entry = self.count[:], _copy(self.clock)
        self.frames.append(_Frame(site, [entry]))
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
            if flag.form is Form.CLOSING:
                _learn(self.clock, flag.target, self.token(flag.set_after, flag.source))
        if not trips:
            self.clock = _lowest([_skipped(entry, before, self.count), self.clock])
        for flag in carried:
            if flag.form is Form.PRIMED:  # the last wait; the set before the loop if it never ran
                token = entry[flag.source][:]
                token[flag.source] = self.token(flag.set_after, flag.source)[flag.source]
                _learn(self.clock, flag.target, token)

    def order(
        self, instruction: Instruction, needs: Iterable[Need], clock: Clock, chooser: _Chooser
    ) -> Need | None:
        """Add the flags that ``instruction`` needs; return what it needs a barrier for."""
        pipe = int(instruction.pipe)
        row = clock[pipe]
        latest: dict[int, Need] = {}
        for need in needs:
            old = latest.get(need.pipe)
            if (row[need.pipe] if old is None else old.number) < need.number:
                latest[need.pipe] = need
        same = latest.pop(pipe, None)
        if not latest:
            return same
        choices = _necessary(row, [chooser.choose(need) for need in latest.values()])
        if same is not None:
            if _joined(row, [choice.token for choice in choices])[pipe] >= same.number:
                same = None  # the flags order it too
            elif instruction.pipe not in _BARRIERS:
                return min((same, *latest.values()), key=lambda n: n.site.begin)  # for all pipes
        for choice in choices:
            chooser.accept(choice)
        return same

    def choose(self, need: Need) -> _Choice:
        """Return where a flag from an earlier statement stands."""
        met = meeting(need.site, self.site)
        assert met is not None
        return _Choice(need, *met, self.token(met[0], need.pipe))

    def accept(self, choice: _Choice) -> None:
        """Add a flag from an earlier statement."""
        target = int(self.accesses.at[self.site].pipe)
        flag = self.add_flag(Form.FORWARD, choice, target, choice.wait_before)
        self._note(flag, choice.wait_before, choice.need)
        learn_inside(self.clock, self.frames, target, choice.token, flag.wait_before.block.depth)

    def _note(self, what: Flag | Site, place: Site, need: Need) -> None:
        """Note what is added before ``place`` for the present instruction."""
        if self.is_straight:
            return
        acts, since, needed = 2 * place.begin, 2 * need.site.begin, 2 * self.site.begin
        apart = self.in_arm(self.site.block) or need.site.block is not self.site.block
        self.log.append(_Added(what, acts, since, needed, self.late, apart))

    def in_arm(self, block: Block) -> bool:
        """True if a block is an arm of a branch, or inside one: perhaps nothing goes there."""
        known = self.arms.get(block)
        if known is None:
            owner = block.owner
            known = owner is not None and (
                isinstance(owner.stmt, IfStmt) or self.in_arm(owner.block)
            )
            self.arms[block] = known
        return known

    def add_flag(self, form: Form, choice: _Choice, target: int, place: Site | Block) -> Flag:
        """Return the flag of this form with a wait at ``place``, set late enough for ``choice``."""
        key = (choice.need.pipe * PIPES + target, form is Form.PRIMED, place)
        flag = self.flags.get(key)
        if flag is None:
            flag = Flag(form, choice.need.pipe, target, choice.set_after, choice.wait_before)
            self.flags[key] = flag
            flag.known = choice.token[target]
            if not self.loops:
                flag.number = self.count[target] + 1
            else:
                self.waits.setdefault(choice.wait_before, []).append(flag)
                self.sets.setdefault(choice.set_after, {})[flag] = None
        elif flag.set_after.index < choice.set_after.index:
            if self.loops:
                self.sets.get(flag.set_after, {}).pop(flag, None)
                self.sets.setdefault(choice.set_after, {})[flag] = None
            flag.set_after, flag.known = choice.set_after, choice.token[target]
        return flag

    def is_past(self, earlier: Flag, flag: Flag) -> bool:
        """True if the wait for a flag is over for sure when another one of its pipes is set."""
        if not earlier.number or not flag.number:
            return False
        number, site = earlier.number, earlier.wait_before
        if site.blocks:  # perhaps the instruction behind the wait does not happen
            number = self.behind[site][earlier.target][earlier.target] + 1
        return flag.known >= number

    def bar(self, site: Site, pipe: PipeType, clock: Clock, count: Row) -> None:
        """Add a barrier before a statement of ``pipe``."""
        kind = pipe if pipe in _BARRIERS else PipeType.ALL
        self.bars.setdefault(site, []).append(kind)
        pass_bar(clock, kind, count)

    def suspects(self) -> list[Flag | Site]:
        """Return the flags, and the places of barriers, that others may make superfluous.

        An instruction is met when what stands before it in the text is planned. But some of what
        is planned later acts earlier: flags that wait before a branch or loop for an instruction
        inside it, and what the second turn of a loop adds. Nor does the plan count on what that
        does behind the loop, or on what statements inside a loop do for its next turn.
        """
        suspects: dict[Flag | Site, None] = {}
        needed: set[Flag | Site] = set()
        earliest = 2 * self.root.end
        for added in reversed(self.log):
            open_ = added.apart or added.since < added.late or earliest < added.needed
            (suspects.update({added.what: None}) if open_ else needed.add(added.what))
            earliest = min(earliest, added.acts)
        return [what for what in reversed(suspects) if what not in needed]


class _Chooser(Protocol):
    """Places the flags of one instruction."""

    def choose(self, need: Need) -> _Choice:
        """Return where a flag would stand."""
        ...

    def accept(self, choice: _Choice) -> None:
        """Add the flag."""
        ...


_BARRIERS: Final = (PipeType.V, PipeType.M)
"""The pipes that have a barrier of their own; elsewhere all pipes wait."""


def strongest(kinds: Sequence[PipeType]) -> Sequence[PipeType]:
    """Return the barriers that do for all of ``kinds``."""
    return (PipeType.ALL,) if PipeType.ALL in kinds else kinds


def pass_bar(clock: Clock, kind: PipeType, count: Row) -> None:
    """Let ``clock`` pass a barrier when ``count`` instructions have been given."""
    if kind is not PipeType.ALL:
        clock[kind][kind] = count[kind]
        return
    for row in clock:
        row[:] = count


def learn_inside(
    clock: Clock, frames: Sequence[_Frame], pipe: int, token: Sequence[int], depth: int
) -> None:
    """Let ``pipe`` know ``token`` since before the open statement in a block of ``depth``."""
    _learn(clock, pipe, token)
    for frame in reversed(frames):
        if frame.site.block.depth < depth:
            return
        for other in frame.clocks:
            _learn(other, pipe, token)


def _joined(row: Row, tokens: Iterable[Sequence[int]]) -> Row:
    joined = row[:]
    for token in tokens:
        joined = [a if a > b else b for a, b in zip(joined, token, strict=True)]
    return joined


def _necessary(row: Row, choices: list[_Choice]) -> list[_Choice]:
    """Return the choices without those whose need the others meet, the latest sets preferred."""
    if len(choices) == 1:
        return choices
    choices.sort(key=lambda c: (-c.set_after.end, c.need.pipe))
    kept: list[_Choice] = []
    for choice in choices:
        if _joined(row, [c.token for c in kept])[choice.need.pipe] < choice.need.number:
            kept.append(choice)
    for choice in list(kept):
        others = [c for c in kept if c is not choice]
        if _joined(row, [c.token for c in others])[choice.need.pipe] >= choice.need.number:
            kept = others
    return kept


class _Replay:
    """The second turn of a loop, after the first: finds what one turn leaves for the next.

    Clocks count the instructions of the first turn only; whatever the second one completes on a
    pipe comes after all of the first there.
    """

    def __init__(self, planner: Planner, body: Block, before: Row) -> None:
        self.planner = planner
        self.body = body
        self.before = before
        self.count = planner.count[:]
        self.clock = _copy(planner.clock)
        self.frames: list[_Frame] = []
        self.tokens: dict[Flag, Token] = {}
        self.found: dict[Flag, None] = {}
        self.independent = False  # the turns touch different parts of tensors
        self.instruction: Instruction | None = None

    def run(self, block: Block) -> None:
        """Walk a block with the flags and barriers that it has so far."""
        for site in block.sites:
            for flag in self.planner.waits.get(site, ()):
                if flag.form is not Form.CLOSING and flag in self.tokens:
                    _learn(self.clock, flag.target, self.tokens[flag])
            for kind in self.planner.bars.get(site, ()):
                pass_bar(self.clock, kind, self.count)
            self._site(site)
            for flag in self.planner.sets.get(site, ()):
                if flag.form is not Form.PRIMED:
                    self.tokens[flag] = _token(self.clock, self.count, flag.source)

    def _site(self, site: Site) -> None:
        instruction = self.planner.accesses.at.get(site)
        if instruction is not None:
            self._instruction(instruction)
        elif isinstance(site.stmt, ForStmt | WhileStmt):
            self._loop(site, site.stmt)
        elif isinstance(site.stmt, IfStmt):
            self._branch(site)
        else:
            for inner in site.blocks:
                self.run(inner)

    def _instruction(self, instruction: Instruction) -> None:
        self.instruction = instruction
        needs = self.planner.history.earlier_turn(
            instruction, self.body, self.before, tensors=not self.independent
        )
        same = self.planner.order(instruction, needs, self.clock, self)
        if same is not None:
            self.planner.bar(instruction.site, instruction.pipe, self.clock, self.count)
            self._note(instruction.site, instruction.site, same)
        if instruction.in_order:
            self.clock[instruction.pipe][instruction.pipe] = self.count[instruction.pipe]

    def choose(self, need: Need) -> _Choice:
        """Return where a flag from the turn before stands."""
        assert self.instruction is not None
        set_after = lifted(need.site, self.body)
        wait_before = lifted(self.instruction.site, self.body)
        token = self.planner.token(set_after, need.pipe)
        return _Choice(need, set_after, wait_before, token)

    def accept(self, choice: _Choice) -> None:
        """Add a flag from the turn before."""
        assert self.instruction is not None
        target = int(self.instruction.pipe)
        wait = choice.wait_before
        first = self.planner.first[self.body][target]
        if choice.set_after.index < wait.index or wait.index <= first:
            flag = self.planner.add_flag(Form.CLOSING, choice, target, self.body)
        else:
            flag = self.planner.add_flag(Form.PRIMED, choice, target, wait)
        self.found[flag] = None
        self._note(flag, wait, choice.need)
        learn_inside(self.clock, self.frames, target, choice.token, self.body.depth)

    def _note(self, what: Flag | Site, place: Site, need: Need) -> None:
        """Note what is added before ``place``, or at the end of the body."""
        assert self.instruction is not None
        closing = isinstance(what, Flag) and what.form is Form.CLOSING
        acts = 2 * (self.body.end if closing else place.begin) - 1
        since, needed = 2 * need.site.begin, 2 * self.body.end + 1
        block = self.instruction.site.block
        apart = block is not self.body or need.site.block is not block or self.planner.in_arm(block)
        self.planner.log.append(_Added(what, acts, since, needed, self.planner.late, apart))
        self.planner.late = max(self.planner.late, needed)

    def _branch(self, site: Site) -> None:
        taken = self.planner.taken(site)
        if taken is not None:
            for arm in site.blocks[taken : taken + 1]:
                self.run(arm)
            return
        entry, done = self.clock, list[Clock]()
        frame = _Frame(site, [entry])
        self.frames.append(frame)
        for arm in site.blocks:
            self.clock = _copy(entry)
            self.run(arm)
            done.append(self.clock)
            frame.clocks.append(self.clock)
        self.frames.pop()
        if len(site.blocks) == 1:
            done.append(entry)
        self.clock = _lowest(done)

    def _loop(self, site: Site, stmt: ForStmt | WhileStmt) -> None:
        if trip_count(stmt) == 0:
            return
        body = site.blocks[0]
        carried = self.planner.carried.get(body, ())
        for flag in carried:
            if flag.form is Form.PRIMED:
                self.tokens[flag] = _token(self.clock, self.count, flag.source)
        entry = _copy(self.clock)
        self.frames.append(_Frame(site, [entry]))
        self.run(body)
        self.frames.pop()
        for flag in carried:
            if flag.form is Form.CLOSING:
                _learn(self.clock, flag.target, self.tokens[flag])
        if not trip_count(stmt):
            self.clock = _lowest([entry, self.clock])
        for flag in carried:
            if flag.form is Form.PRIMED:
                _learn(self.clock, flag.target, self.tokens[flag])
