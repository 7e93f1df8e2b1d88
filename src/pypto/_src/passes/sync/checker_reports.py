"""What the sync checker reports, in words: message, lines, and the flag or barrier to add.

Keeps each finding once. Does not know how findings are computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from pypto._src.analysis.accesses import Instruction
from pypto._src.analysis.stmt_tree import ProgramPoint, owner_of
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label, Span, line_at, lines_at
from pypto._src.ir.enums import PipeType
from pypto._src.ir.exprs import Call
from pypto._src.ir.inspect.source_names import statement_lines, user_call
from pypto._src.ir.stmts import Function, IfStmt, WhileStmt
from pypto._src.passes.sync.hazards import lifted, meeting
from pypto._src.passes.sync.shared_bytes import SharedBytes
from pypto._src.records import NamedTuple

OWN_BARRIER: Final = (PipeType.V, PipeType.M)
"""The pipes that have a barrier of their own; elsewhere all pipes wait."""


class Triple(NamedTuple):
    """A flag: the pipe that raises it, the pipe that waits for it, its event number."""

    source: int
    target: int
    event: int

    def __str__(self) -> str:
        names = f"{PipeType(self.source).name} -> {PipeType(self.target).name}"
        return f"flag {self.event} of {names}"


class _Race(NamedTuple):
    """Two unordered accesses; ``more`` earlier ones on that pipe race with the later one, too."""

    first: Instruction
    second: Instruction
    wrote: bool
    writes: bool
    loop: ProgramPoint | None
    more: int


Skips: TypeAlias = Callable[[ProgramPoint, ProgramPoint, ProgramPoint | None], bool]
"""True for races not to report, given the earlier and later statement, and the loop."""


class Findings:
    """Collects the findings of one function, except the races for which ``skips`` is true."""

    def __init__(
        self, event_ids: int, skips: Skips | None = None, function: Function | None = None
    ) -> None:
        self._function = function
        self._shared: SharedBytes | None = None  # computed for the first race
        self.skips = skips
        self._calls: dict[Call, str] = {}  # as the user wrote them
        self.found: dict[tuple[object, ...], Diagnostic | _Race] = {}
        # The pairs whose race is reported or counted.
        self._pairs: set[tuple[ProgramPoint, ProgramPoint, ProgramPoint | None]] = set()
        self.event_ids = event_ids
        self.used: set[Triple] = set()

    def list(self) -> list[Diagnostic]:
        """Return the findings, errors before warnings."""
        return sorted(map(self.diagnostic, self.found), key=lambda d: d.severity.value)

    def diagnostic(self, key: tuple[object, ...]) -> Diagnostic:
        """Return one finding in words."""
        found = self.found[key]
        return self._race(found) if isinstance(found, _Race) else found

    def report(
        self,
        rule: str,
        what: tuple[object, ...],
        message: str,
        span: Span,
        *related: Label,
        hint: str | None = None,
        label: str = "",
        severity: DiagnosticSeverity = DiagnosticSeverity.Error,
    ) -> None:
        """Record a finding unless it is known."""
        if (rule, *what) not in self.found:
            self.found[rule, *what] = Diagnostic(
                severity, rule, 0, message, span, label, related, hint
            )

    # ----- races --------------------------------------------------------------------------------

    def knows_race(
        self, first: Instruction, second: Instruction, loop: ProgramPoint | None
    ) -> bool:
        """True if this race is already known, or is to be skipped."""
        if self.has_race(first.point, second.point, loop):
            return True
        return self.skips is not None and self.skips(first.point, second.point, loop)

    def has_race(
        self, first: ProgramPoint, second: ProgramPoint, loop: ProgramPoint | None
    ) -> bool:
        """True if the race of two statements is reported, or counted in another report."""
        return (first, second, loop) in self._pairs

    def race(
        self,
        first: Instruction,
        second: Instruction,
        wrote: bool,
        writes: bool,
        loop: ProgramPoint | None,
    ) -> None:
        """Report two unordered accesses, in different iterations of ``loop`` if there is one.

        The last of the earlier ones on a pipe, in the text, represents them all: a wait for it
        orders the others, too.
        """
        self._pairs.add((first.point, second.point, loop))
        key = "sync-race", second.point, second.pipe, first.pipe, loop
        race, known = _Race(first, second, wrote, writes, loop, 0), self.found.get(key)
        if isinstance(known, _Race):
            last = race if first.point.begin > known.first.point.begin else known
            race = last._replace(more=known.more + 1)
        self.found[key] = race

    def _race(self, race: _Race) -> Diagnostic:
        first, second, wrote, writes, loop, more = race
        a, b = first.pipe.name, second.pipe.name
        was, now = ("writes" if wrote else "reads"), ("writes" if writes else "reads")
        earlier, later = self._call(first), self._call(second)
        kind = {(True, False): "RAW", (False, True): "WAR", (True, True): "WAW"}[wrote, writes]
        when = "" if loop is None else " in the iteration before"
        others = "statement races" if more == 1 else "statements race"
        notes = [f"{more} more {others} with it on {a}"] if more else []
        if self._function is not None:
            self._shared = self._shared or SharedBytes(self._function)
            shared = self._shared.between(first.point.stmt, second.point.stmt)
            notes += [] if shared is None else [shared]
        return Diagnostic(
            DiagnosticSeverity.Error,
            "sync-race",
            0,
            f"{kind} race: {later} on {b} {now} what {earlier} on {a} {was}{when}, and nothing "
            f"makes {b} wait",
            second.point.stmt.span,
            f"{now} it on {b}",
            (Label(first.point.stmt.span, f"{was} it on {a}"),),
            self._order(first, second, loop),
            "; ".join(notes) or None,
        )

    def _call(self, instruction: Instruction) -> str:
        call = instruction.call
        if call not in self._calls:
            self._calls[call] = user_call(call)
        return self._calls[call]

    def _order(self, first: Instruction, second: Instruction, loop: ProgramPoint | None) -> str:
        """Return the flag or barrier that orders two instructions, and where to put it."""
        apart = None if loop is not None else _apart(first.point.stmt.span, second.point.stmt.span)
        if apart is not None:
            return apart
        if first.pipe is second.pipe:
            pipe = first.pipe.name.lower() if first.pipe in OWN_BARRIER else "all"
            return f"pl.system.bar_{pipe}() before {_line(second.point)}"
        if loop is not None:
            source, end = lifted(first.point, loop.blocks[0]), "at the end of the loop's body"
        else:
            met = meeting(first.point, second.point)
            source, target = met if met is not None else (first.point, second.point)
            end = f"before {_line(target)}"
        words = _words(self._unused(first.pipe, second.pipe))
        return (
            f"pl.system.sync_src({words}) after {_line(source, after=True)}, "
            f"pl.system.sync_dst({words}) {end}"
        )

    def _unused(self, source: int, target: int) -> Triple:
        """Return a flag that the function does not use yet, event 0 if it uses all."""
        flags = (Triple(source, target, event) for event in range(self.event_ids))
        return next((flag for flag in flags if flag not in self.used), Triple(source, target, 0))

    # ----- flags --------------------------------------------------------------------------------

    def exists(self, point: ProgramPoint, triple: Triple) -> bool:
        """Report a flag that the hardware does not have; True if it has it."""
        pipes = range(len(PipeType) - 1)
        if (
            triple.source != triple.target
            and triple.source in pipes
            and triple.target in pipes
            and 0 <= triple.event < self.event_ids
        ):
            return True
        what = "a pipe does not wait for itself: use a barrier"
        if triple.source != triple.target:
            what = f"pipes are 0 to {len(pipes) - 1}, events 0 to {self.event_ids - 1}"
        self.report("sync-flag", (triple,), f"no flag {tuple(triple)}: {what}", point.stmt.span)
        return False

    def deadlock(
        self,
        point: ProgramPoint,
        triple: Triple,
        sets: Iterable[ProgramPoint],
        split: ProgramPoint | None,
        last: ProgramPoint | None,
    ) -> None:
        """Report a wait for a flag that is down, at least on some path."""
        later = [s for s in sets if s.begin > point.begin]
        earlier = [s for s in sets if s.begin < point.begin]
        labels: list[Label] = []
        hint = None
        if split is not None:
            why = f"is not raised {_path(split, point)}"
            labels.append(Label(split.stmt.span, "the paths part here"))
        elif last is not None and last.begin != point.begin:
            why = "was taken by the wait before"
            labels.append(Label(last.stmt.span, "taken here"))
        elif later and not earlier:
            why = "is raised only later"
            labels.append(Label(later[0].stmt.span, "raised here"))
            hint = f"move pl.system.sync_src({_words(triple)}) up, before {_line(point)}"
        else:
            why = "is not raised before"
            hint = f"pl.system.sync_src({_words(triple)}) before {_line(point)}"
        self.report(
            "sync-deadlock",
            (triple, point),
            f"{PipeType(triple.target).name} waits forever: {triple} {why}",
            point.stmt.span,
            *labels,
            hint=hint,
        )

    def double_set(self, point: ProgramPoint, triple: Triple, first: ProgramPoint | None) -> None:
        """Report a set of a flag that is already up."""
        labels = [Label(first.stmt.span, "raised here, and not waited for")] if first else []
        if first is point:
            labels = [Label(point.stmt.span, "the iteration before raised it, too")]
        self.report(
            "sync-double-set",
            (triple, point),
            f"{triple} is raised again before anything waits for it",
            point.stmt.span,
            *labels,
            hint=f"pl.system.sync_dst({_words(triple)}) before {_line(point)}",
        )

    def taken(
        self, point: ProgramPoint, triple: Triple, raised: ProgramPoint, meant: Triple
    ) -> None:
        """Report a wait that takes a flag raised for another pipe."""
        self.report(
            "sync-taken",
            (triple, point),
            f"{PipeType(triple.target).name} takes event {triple.event} of "
            f"{PipeType(triple.source).name}, which is raised for {PipeType(meant.target).name}: "
            "a flag is its source and event here, whoever waits",
            point.stmt.span,
            Label(raised.stmt.span, f"raised here for {PipeType(meant.target).name}"),
            hint="give the flags of one source different events, or insert_sync(by_source=True)",
        )

    def overtake(self, point: ProgramPoint, triple: Triple) -> None:
        """Warn about a set that may happen before a wait has lowered the flag, once per flag."""
        other = self._unused(triple.source, triple.target)
        hint = f"use event {other.event} here and where it is waited for"
        if _repeats(point) or other in self.used:  # each iteration raises the same event again
            hint = f"pl.system.bar_all() before {_line(point)}"
        self.report(
            "sync-overtake",
            (triple,),
            f"{triple} may be raised again while its last wait is still in flight",
            point.stmt.span,
            hint=hint,
            severity=DiagnosticSeverity.Warning,
        )

    def leak(self, point: ProgramPoint, triple: Triple, name: str) -> None:
        """Report a flag that is up when the function ends, at least on some path."""
        self.report(
            "sync-leak",
            (triple, point),
            f"{triple} is still raised when {name!r} ends",
            point.stmt.span,
            label="raised here",
            hint=f"pl.system.sync_dst({_words(triple)}) before the end",
        )

    def tail(self, instruction: Instruction, name: str) -> None:
        """Report work that is in flight when the function ends."""
        self.report(
            "sync-tail",
            (instruction.pipe,),
            f"{self._call(instruction)} on {instruction.pipe.name} may still be in flight when "
            f"{name!r} ends",
            instruction.point.stmt.span,
            hint="pl.system.bar_all() before the end",
        )


def _apart(first: Span, second: Span) -> str | None:
    """Return a hint on putting two parts of a statement on separate lines; None if they are."""
    last = max(second.begin_line, second.end_line)
    if not 0 < second.begin_line <= first.begin_line <= last:
        return None
    if first.begin_column == second.begin_column and first.end_column == second.end_column:
        return "run passes.insert_sync(), which sees the parts of one op"
    text = re.sub(r",\s*(?=[)\]])", "", " ".join(lines_at(first).split()))
    text = re.sub(r"(?<=[(\[])\s+|\s+(?=[)\]])", "", text)
    if not text:
        return None
    if " = " in text:
        return f"put {text} on a line of its own"
    name = _fresh(first)
    return f"write {name} = {text} on a line before, and {name} here"


def _fresh(span: Span) -> str:
    """Return a name for a tile that does not occur in the line of ``span``."""
    words = re.findall(r"\w+", line_at(span))
    names = ("tile", *(f"tile{number}" for number in range(2, len(words) + 3)))
    return next(name for name in names if name not in words)


def _repeats(point: ProgramPoint) -> bool:
    """True if a statement is in a loop."""
    block = point.block
    while block.depth:
        owner = owner_of(block)
        if owner.is_loop:
            return True
        block = owner.block
    return False


def _words(triple: Triple) -> str:
    source, target = PipeType(triple.source).name, PipeType(triple.target).name
    return f"set_pipe=pl.PipeType.{source}, wait_pipe=pl.PipeType.{target}, event_id={triple.event}"


def _line(point: ProgramPoint, *, after: bool = False) -> str:
    """Return the location of a statement in a hint: its first line, or its last."""
    what = "line"
    if point.is_loop:
        what = "the loop at line"
    elif isinstance(point.stmt, IfStmt):
        what = "the branch at line"
    line = statement_lines(point.stmt.span)[after]
    return f"{what} {line}" if line > 0 else "it"


def _path(split: ProgramPoint, point: ProgramPoint) -> str:
    """Return which path through a statement leaves a flag down at a wait."""
    line = split.stmt.span.begin_line
    at = f" at line {line}" if line > 0 else ""
    if isinstance(split.stmt, IfStmt):
        return f"by one arm of the branch{at}"
    if isinstance(split.stmt, WhileStmt) or split.is_loop:
        if split.begin < point.begin < split.end:
            return f"again in the next iteration of the loop{at}"
        return f"by some number of iterations of the loop{at}"
    return f"on every path past the statement{at}"
