"""The pipes of one core as queues: what may start when, and which races that allows.

The scalar unit issues entries in program order; each pipe starts its own in order and completes
them in any order that flags and barriers allow (hardware sheet, 3.1). If of two accesses to the
same bytes, one of them a write, the later starts before the earlier is complete, it is a race,
whatever the values.

`Queues` runs entries in one order; `held_back` decides for all orders. Knows no IR: an entry says
what it waits for, and its issuer has found the earlier accesses that it conflicts with.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from random import Random
from typing import Protocol

from pypto._src.diagnostics import Label, Span
from pypto._src.errors import EvaluationError
from pypto._src.interp.pipe_order import PIPES, PipeOrder, Triple
from pypto._src.ir.enums import PipeType
from pypto._src.records import NamedTuple


class Kind(Enum):
    """What an entry of a queue does."""

    WORK = "work"
    SET = "set"
    WAIT = "wait"
    BARRIER = "barrier"
    FULL_BARRIER = "barrier of all pipes"


class Hazard(NamedTuple):
    """An earlier entry that has to be complete before an entry starts."""

    entry: int
    kind: str  # RAW, WAR or WAW


class Entry:
    """One entry of a queue."""

    __slots__ = (
        "_what",
        "finish",
        "hazards",
        "in_order",
        "kind",
        "number",
        "pipe",
        "source",
        "span",
        "start",
        "triple",
    )

    def __init__(
        self,
        kind: Kind,
        pipe: PipeType,
        span: Span,
        what: str | Callable[[], str] = "",
        *,
        triple: Triple | None = None,
        in_order: bool = False,
        source: object = None,
    ) -> None:
        self.kind = kind
        self.pipe = pipe
        self.span = span
        self._what = what
        self.triple = triple
        self.in_order = in_order
        self.source = source  # the statement
        self.number = -1
        self.hazards: Sequence[Hazard] = ()
        self.start: Callable[[], None] = _nothing
        self.finish: Callable[[], None] = _nothing

    @property
    def what(self) -> str:
        """The user's name for it, computed on demand."""
        return self._what if isinstance(self._what, str) else self._what()


def _nothing() -> None:
    """Do nothing: flags and barriers touch no memory."""


class Order(Protocol):
    """Decides the order in which queues proceed."""

    def ahead(self) -> int:
        """Return how many steps the pipes take before the next entry is issued."""
        ...

    def choose(self, starts: Sequence[int], flying: Sequence[int]) -> tuple[bool, int]:
        """Return (True, index of a start) or (False, index of an entry to complete)."""
        ...


class RandomOrder:
    """Any order, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def ahead(self) -> int:
        """Return how many steps the pipes take before the next entry is issued."""
        return self._random.randrange(4)

    def choose(self, starts: Sequence[int], flying: Sequence[int]) -> tuple[bool, int]:
        """Return any step."""
        index = self._random.randrange(len(starts) + len(flying))
        return (True, index) if index < len(starts) else (False, index - len(starts))


class LateOrder:
    """Everything starts as early and completes as late as flags and barriers allow."""

    def ahead(self) -> int:
        """Return how many steps the pipes take before the next entry is issued."""
        return 0

    def choose(self, starts: Sequence[int], flying: Sequence[int]) -> tuple[bool, int]:
        """Return a start if there is one, else the completion of the entry issued last."""
        return (True, 0) if starts else (False, len(flying) - 1)


class Queues:
    """The queues, flags and work in flight of one core during one call of a kernel."""

    def __init__(self, order: Order, name: str) -> None:
        self.order = order
        self.name = name
        self.entries: list[Entry] = []
        self.done = bytearray()
        self.queues: list[deque[Entry]] = [deque() for _ in range(PIPES)]
        self.flying: list[list[Entry]] = [[] for _ in range(PIPES)]
        self.up: dict[Triple, Entry] = {}  # raised flags, each with the set that raised it
        self.issued_up: dict[Triple, Entry] = {}  # the same in program order

    # ----- issuing ------------------------------------------------------------------------------

    def issue(self, entry: Entry) -> None:
        """Give an entry to its pipe; the scalar pipe and full barriers make the program wait.

        Raises:
            EvaluationError: a race, a flag raised twice, or a deadlock.
        """
        entry.number = len(self.entries)
        self.entries.append(entry)
        self.done.append(0)
        if entry.triple is not None:
            self._count(entry, entry.triple)
        self.queues[entry.pipe if entry.kind is not Kind.FULL_BARRIER else PipeType.S].append(entry)
        if entry.kind is Kind.FULL_BARRIER or (
            entry.pipe is PipeType.S and entry.kind is not Kind.SET
        ):
            self._until(entry)
        for _ in range(self.order.ahead()):
            if not self._step():
                break

    def _count(self, entry: Entry, triple: Triple) -> None:
        first = self.issued_up.get(triple)
        if entry.kind is Kind.WAIT:
            self.issued_up.pop(triple, None)
            return
        if first is not None:
            raise EvaluationError(
                f"{flag_text(triple)} is raised again before anything waits for it",
                entry.span,
                slug="sync-double-set",
                related=[Label(first.span, "raised here, and not waited for")],
            )
        self.issued_up[triple] = entry

    def finish(self) -> None:
        """End the kernel: all work has to be complete, and all flags down.

        Raises:
            EvaluationError: work in flight, a raised flag, or a deadlock.
        """
        while any(self.queues) and self._step(starts_only=True):
            pass
        left = [e for e in self.entries if not self.done[e.number] and e.kind is Kind.WORK]
        stuck = [queue[0] for queue in self.queues if queue]
        while self._step():
            pass
        if any(self.queues):
            self._deadlock()
        if left or stuck:
            entry = (left or stuck)[-1]
            raise EvaluationError(
                f"{entry.what or entry.kind.value} on {entry.pipe.name} may still be in flight "
                f"when {self.name!r} ends",
                entry.span,
                "pl.system.bar_all() before the end",
                slug="sync-tail",
            )
        for triple, entry in self.up.items():
            raise EvaluationError(
                f"{flag_text(triple)} is still raised when {self.name!r} ends",
                entry.span,
                slug="sync-leak",
            )

    def _until(self, entry: Entry) -> None:
        while not self.done[entry.number]:
            if not self._step():
                self._deadlock()

    # ----- going on -----------------------------------------------------------------------------

    def _step(self, *, starts_only: bool = False) -> bool:
        """Let one entry start or complete; False if none can."""
        starts = [p for p in range(PIPES) if self.queues[p] and self._can_start(self.queues[p][0])]
        flying = [e for each in self.flying for e in each if self._can_finish(e)]
        if starts_only:
            flying = []
        if not starts and not flying:
            return False
        flying.sort(key=lambda e: e.number)
        is_start, index = self.order.choose(starts, [e.number for e in flying])
        if is_start:
            self._start(self.queues[starts[index]].popleft())
        else:
            self._complete(flying[index])
        return True

    def _can_start(self, entry: Entry) -> bool:
        flying = self.flying[entry.pipe] if entry.kind is not Kind.FULL_BARRIER else []
        match entry.kind:
            case Kind.WORK:
                return not (entry.in_order and flying)
            case Kind.SET:
                return True
            case Kind.WAIT:
                return entry.triple in self.up
            case Kind.BARRIER:
                return not flying
            case Kind.FULL_BARRIER:
                heads = sum(len(queue) for queue in self.queues)
                return heads == 1 and not any(self.flying)

    def _can_finish(self, entry: Entry) -> bool:
        if entry.kind is not Kind.SET:
            return True
        earlier = self.flying[entry.pipe][0] is entry
        return earlier and entry.triple not in self.up

    def _start(self, entry: Entry) -> None:
        for hazard in entry.hazards:
            if not self.done[hazard.entry]:
                raise race(self.entries[hazard.entry], entry, hazard.kind)
        if entry.kind in (Kind.WORK, Kind.SET):
            entry.start()
            self.flying[entry.pipe].append(entry)
            if entry.kind is Kind.WORK and entry.pipe is PipeType.S:
                self._complete(entry)
            return
        if entry.kind is Kind.WAIT:
            assert entry.triple is not None
            del self.up[entry.triple]
        self.done[entry.number] = 1

    def _complete(self, entry: Entry) -> None:
        self.flying[entry.pipe].remove(entry)
        if entry.kind is Kind.SET:
            assert entry.triple is not None
            self.up[entry.triple] = entry
        else:
            entry.finish()
        self.done[entry.number] = 1

    def _deadlock(self) -> None:
        stuck = sorted((queue[0] for queue in self.queues if queue), key=lambda e: e.number)
        waits = [e for e in stuck if e.kind is Kind.WAIT]
        # If the set of a flag is stuck behind another entry, that entry is to blame.
        behind = {e.triple for queue in self.queues for e in queue if e.kind is Kind.SET}
        causes = [e for e in waits if e.triple not in behind]
        entry = (causes or waits or stuck)[0]
        what = flag_text(entry.triple) if entry.triple is not None else "the other pipes"
        raise EvaluationError(
            f"{entry.pipe.name} waits forever: {what} is not raised",
            entry.span,
            slug="sync-deadlock",
            related=[
                Label(e.span, f"{e.pipe.name} is blocked here") for e in stuck if e is not entry
            ],
        )


def flag_text(triple: Triple) -> str:
    """Return the name of a flag in messages."""
    source, target, event = triple
    return f"flag {event} of {source.name} -> {target.name}"


def race(first: Entry, second: Entry, kind: str) -> EvaluationError:
    """Return the report of two accesses of which the second is not ordered after the first."""
    return EvaluationError(
        f"{kind} race: {second.what} on {second.pipe.name} starts while {first.what} on "
        f"{first.pipe.name} is in flight, on the same bytes",
        second.span,
        slug="sync-race",
        related=[Label(first.span, f"{first.what} on {first.pipe.name}")],
    )


# --------------------------------------------------------------------------------------------
# All orders
# --------------------------------------------------------------------------------------------


def held_back(entries: Sequence[Entry]) -> Iterator[EvaluationError]:
    """Yield a race for each pair of entries that some order of the queues lets race.

    For each entry that others have to wait for, everything proceeds that can without its
    completion. Entries that can start then do so before its completion in some order; others never
    do, because queues and flags only ever wait for completions. So this covers all orders, in time
    linear in the distance between the entries that conflict.
    """
    last: dict[int, int] = {}
    for entry in entries:
        for hazard in entry.hazards:
            last[hazard.entry] = entry.number
    up: dict[Triple, deque[bool]] = {}
    for entry in entries:
        end = last.get(entry.number)
        if end is not None:
            tokens = {triple: deque(False for _ in queue) for triple, queue in up.items() if queue}
            yield from _races(entry, tokens, entries[entry.number + 1 : end + 1])
        if entry.triple is not None:
            queue = up.setdefault(entry.triple, deque())
            if entry.kind is Kind.SET:
                queue.append(False)
            elif queue:
                queue.popleft()


def _races(
    held: Entry, tokens: dict[Triple, deque[bool]], later: Iterable[Entry]
) -> Iterator[EvaluationError]:
    """Yield the races of later entries with one that is held back.

    A moment is True if it has to wait for that entry.
    """
    order = PipeOrder(start=False)
    order.raised = tokens
    order.drained[held.pipe] = True
    for entry in later:
        match entry.kind:
            case Kind.WORK:
                if order.ready(entry.pipe, entry.in_order):
                    order.work(entry.pipe, free=True, done=True)
                    if entry.pipe is PipeType.S:
                        return  # the program itself waits
                    continue
                for hazard in entry.hazards:
                    if hazard.entry == held.number:
                        yield race(held, entry, hazard.kind)
                        break
            case Kind.SET:
                assert entry.triple is not None
                order.set(entry.triple, order.effect(entry.pipe))
            case Kind.WAIT:
                assert entry.triple is not None
                if order.wait(entry.triple) is None:
                    order.hold(entry.pipe, until=True)
            case Kind.BARRIER:
                order.barrier(entry.pipe)
            case Kind.FULL_BARRIER:
                return  # it waits for the entry, and the program with it
        if order.issued:
            return


# --------------------------------------------------------------------------------------------
# Replay
# --------------------------------------------------------------------------------------------


def replayed(
    entries: Iterable[Entry], name: str, change: Callable[[Entry], Entry | None], order: Order
) -> Queues:
    """Run entries again without their work: each as ``change`` returns it, None to omit it.

    Raises:
        EvaluationError: as in `Queues`.
    """
    queues = Queues(order, name)
    numbers: dict[int, int] = {}
    for old in entries:
        new = change(old)
        if new is None:
            continue
        copy = Entry(
            new.kind, new.pipe, new.span, new.what, triple=new.triple, in_order=new.in_order
        )
        numbers[old.number] = len(queues.entries)
        copy.hazards = [Hazard(numbers[h.entry], h.kind) for h in old.hazards]
        queues.issue(copy)
    queues.finish()
    return queues
