"""InsertSync: flags and barriers, so that no pipe overtakes what it depends on.

A flag orders the work of one pipe before the set before the work of another pipe after the wait.
`planner` decides which flags and barriers a function needs; this module gives the flags event
numbers and emits them. There are eight events for each ordered pair of pipes. A set moves down to
where one is free; if there is none, the flag becomes a barrier of all pipes, which the report
counts.

A flag or barrier that others may have made superfluous is left out if the checker finds nothing
without it, and a flag that might be raised again too early waits for an acknowledgement (`prune`,
`acknowledge`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from heapq import heapify, heappop, heappush, heapreplace
from types import MappingProxyType
from typing import Final, TypeAlias

from pypto._src.analysis.accesses import SYNC_OPS, Accesses
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, call_of, number, owner_of
from pypto._src.diagnostics import UNKNOWN_SPAN
from pypto._src.ir.enums import PipeType
from pypto._src.ir.exprs import Call
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import Function, ReturnStmt, Stmt, YieldStmt, checked_eval
from pypto._src.ir.traversal.mutator import map_bodies
from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_dst, sync_src
from pypto._src.passes.memory.memref_assignment import MemoryPass, MemRefAssignment, MemRefs
from pypto._src.passes.pass_base import AnyProgram
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.structure.normalize_stmt_structure import normal_body, normal_function
from pypto._src.passes.sync.flags import (
    BARRIER,
    CLOSING,
    FORWARD,
    NONE,
    PRIMED,
    Flag,
    in_text_order,
)
from pypto._src.passes.sync.planner import Planner, strongest
from pypto._src.records import NamedTuple
from pypto._src.targets import A2A3, Target
from pypto._src.usage_errors import check_kind, users_frame

_P: Final = IRProperty
_ALL: Final = PipeType.ALL  # see `planner.FORWARD`


class SyncReport(NamedTuple):
    """What InsertSync added to one function."""

    flags: int  # pairs of a set and a wait; a primed one counts once
    carried: int  # of these, from one iteration of a loop to the next, primed ones included
    barriers: int  # of one pipe
    full_barriers: int  # of all pipes, including the one at the end
    fallbacks: int  # flags without a free event, or acknowledgements without: full barriers
    acknowledgements: int = 0  # extra flags that report the end of the last wait for an event


class InsertSync(MemoryPass):
    """Order all conflicting accesses of kernels; functions that synchronise by hand stay.

    With ``by_source`` flags with one source have different events, even for different targets:
    safe also if the hardware does not distinguish them (`FlagIdentity.SOURCE`), but uses up events.
    """

    requires = IRPropertySet(
        _P.SSAForm, _P.TypeChecked, _P.SplitIncoreOrch, _P.HasMemRefs, _P.IncoreBlockOps
    )

    def __init__(self, target: Target = A2A3, *, by_source: bool = False) -> None:
        check_kind("by_source", by_source, bool, "by_source=True", users_frame())
        self.target = target
        self.by_source = by_source
        self.reports: dict[str, SyncReport] = {}
        """The reports of the last run, by function name."""

    def go_on(self, given: AnyProgram) -> AnyProgram:
        """Return the program with flags and barriers in its kernels."""
        self.reports = {}
        assigned = MemRefAssignment.of(given)
        kernels = [each for each in assigned.functions if role(each.function) is Role.KERNEL]
        found = {each: Accesses(each.function, each.root, (), each.of) for each in kernels}
        if len(kernels) < len(assigned.functions):
            roots = {each.function.name: accesses.roots for each, accesses in found.items()}
            from pypto._src.analysis.call_aliases import call_aliases

            aliases = call_aliases(assigned.program, roots)
            for each in kernels:
                shared = [alias.params for alias in aliases.get(each.function.name, ())]
                if shared and not found[each].syncs:
                    found[each] = Accesses(each.function, each.root, shared, each.of)
        return assigned.with_functions(
            [self._function(each, found.get(each)) for each in assigned.functions]
        )

    def _function(self, given: MemRefs, accesses: Accesses | None) -> MemRefs:
        function = given.function
        if accesses is None or accesses.syncs:
            return given if given.is_normal else given.within(normal_function(function))
        result, self.reports[function.name] = _with_sync(
            function, given.root, accesses, self.target, self.by_source
        )
        return given.within(result)


def insert_sync(*, by_source: bool = False) -> InsertSync:
    """Return the pass that adds flags and barriers; see `InsertSync`."""
    return InsertSync(by_source=by_source)


def is_sync(stmt: Stmt) -> bool:
    """True for a set, a wait or a barrier."""
    call = call_of(stmt)
    return call is not None and call.op in SYNC_OPS


def with_sync(
    function: Function, target: Target = A2A3, *, by_source: bool = False
) -> tuple[Function, SyncReport]:
    """Return ``function`` with flags and barriers, and what was added; see `InsertSync`."""
    root = number(function)
    return _with_sync(function, root, Accesses(function, root), target, by_source)


def _with_sync(
    function: Function, root: Block, accesses: Accesses, target: Target, by_source: bool
) -> tuple[Function, SyncReport]:
    if not accesses.at:
        return normal_function(function), SyncReport(0, 0, 0, 0, 0)
    planner = Planner(root, accesses)
    if any(point is not root.points[-1] for point in accesses.jumps):  # an early exit from a block
        planner.barriers_only()
        return _Writer(root, planner, target, by_source).write(function)
    planner.plan()
    suspects = planner.suspects()
    if suspects:
        from pypto._src.passes.sync.prune import prune

        prune(planner, function, suspects)
    writer = _Writer(root, planner, target, by_source)
    replaced = writer.replaced
    if replaced:
        _say(function, replaced)
        writer = _with_barriers(writer, planner, function, target, by_source)
    unacknowledged: Sequence[Flag] = ()
    if writer.may_overtake:
        writer = _with_acks(writer, function)
        unacknowledged = writer.unacknowledged()
    if unacknowledged:
        _say(function, unacknowledged, acknowledgements=True)
    result, report = writer.write(function)
    return result, report._replace(fallbacks=len(replaced) + len(unacknowledged))


def _with_barriers(
    writer: _Writer, planner: Planner, function: Function, target: Target, by_source: bool
) -> _Writer:
    """Return the writer of a plan with barriers in place of flags without an event."""
    fresh: list[ProgramPoint] = []
    while writer.replaced:
        fresh += _settle(writer.replaced, planner)
        writer = _Writer(planner.root, planner, target, by_source)
    from pypto._src.passes.sync.plan_dataflow import is_sufficient

    if is_sufficient(planner, function):
        from pypto._src.passes.sync.prune import prune

        prune(planner, function, [*fresh, *planner.flags.values()])
        writer = _Writer(planner.root, planner, target, by_source)
        if not writer.replaced:
            return writer
    planner.barriers_only()  # another flag relied on the replaced ones
    return _Writer(planner.root, planner, target, by_source)


def _with_acks(writer: _Writer, function: Function) -> _Writer:
    """Return the writer with acknowledgements where an event might be raised too early.

    Where no event is free for some, the flags are limited to fewer events if possible.
    """
    _acknowledge(writer, function)
    found = writer.unacknowledged()
    wanted = Counter((flag.target, flag.source) for flag in found)
    kept = {pair: min(wanted[pair], writer.free(pair)) for pair in wanted}
    if not any(kept.values()):
        return writer
    other = writer.again(kept)
    if not other.replaced:
        _acknowledge(other, function)
        if len(other.unacknowledged()) < len(found):
            return other
    writer = writer.again({})  # the flags are shared objects: restore their events
    _acknowledge(writer, function)
    return writer


def _acknowledge(writer: _Writer, function: Function) -> None:
    writer.has_acks = True
    from pypto._src.passes.sync.acknowledge import acknowledge

    writer.leave_out(acknowledge(writer.planner, function, writer.flags, writer.spare()))


def _say(function: Function, flags: Sequence[Flag], *, acknowledgements: bool = False) -> None:
    """Log the flags, or their acknowledgements, for which no event was free."""
    lines = dict.fromkeys(_where(flag, acknowledgement=acknowledgements) for flag in flags)
    pairs = dict.fromkeys((PipeType(f.source).name, PipeType(f.target).name) for f in flags)
    names = ", ".join(f"{source} -> {target}" for source, target in pairs)
    listed = ", ".join(list(lines)[:_LISTED])
    more = f" and {len(lines) - _LISTED} more" if len(lines) > _LISTED else ""
    what = "for acknowledgements before" if acknowledgements else "for"
    from pypto._src.logs import log_event

    log_event(
        f"kernel {function.name!r}: no event is free {what} {len(flags)} flags ({names}); a "
        f"barrier of all pipes replaces them: {listed}{more}"
    )


_LISTED: Final = 4
"""How many locations a log record names."""


def _where(flag: Flag, *, acknowledgement: bool) -> str:
    """Return the location of the barrier that replaces a flag or its acknowledgement."""
    if acknowledgement and flag.ack != BARRIER:
        return f"before the loop at line {owner_of(flag.block).stmt.span.begin_line}"
    if acknowledgement and flag.late is None:
        return f"after line {flag.set_after.stmt.span.begin_line}"
    if acknowledgement and flag.late is not None:
        return f"before line {flag.late.stmt.span.begin_line}"
    if flag.form is not FORWARD:
        line = owner_of(flag.block).stmt.span.begin_line
        return f"at the end of the loop at line {line}"
    return f"before line {flag.wait_before.stmt.span.begin_line}"


def _settle(replaced: Sequence[Flag], planner: Planner) -> list[ProgramPoint]:
    """Replace flags by barriers of all pipes; return the statements before which these are.

    One at the end of a loop's body replaces all flags from an iteration to the next.
    """
    bodies = {flag.block for flag in replaced if flag.form is not FORWARD}
    planner.closing_bars.update((flag.block, None) for flag in replaced if flag.form is not FORWARD)
    points = [flag.wait_before for flag in replaced if flag.form is FORWARD]
    for point in points:
        planner.bars.setdefault(point, []).append(PipeType.ALL)
    gone = set(replaced)
    planner.dropped_any = True
    planner.flags = {
        key: flag
        for key, flag in planner.flags.items()
        if flag not in gone and (flag.form is FORWARD or flag.block not in bodies)
    }
    return points


# --------------------------------------------------------------------------------------------
# Events and statements
# --------------------------------------------------------------------------------------------


class _Writer:
    """Chooses event numbers and puts the flags and barriers into the function."""

    def __init__(
        self,
        root: Block,
        planner: Planner,
        target: Target,
        by_source: bool,
        kept: Mapping[tuple[int, int], int] = MappingProxyType({}),
    ) -> None:
        """Number the flags; ``kept`` says how many events of each pair no flag may take."""
        self.root = root
        self.target = target
        self.bars = planner.bars
        self.closing_bars = dict(planner.closing_bars)
        self.replaced: list[Flag] = []  # by a barrier
        pairs: dict[tuple[int, int], list[Flag]] = {}
        for flag in planner.flags.values():
            flag.reset()
            pair = flag.source, flag.target
            if pair in pairs:
                pairs[pair].append(flag)
            else:
                pairs[pair] = [flag]
        self.pairs = pairs
        events = {pair: range(target.event_ids - kept.get(pair, 0)) for pair in pairs}
        if by_source:
            events = _shared_out(pairs, target.event_ids)
        self.planner = planner
        self.by_source = by_source
        self.may_overtake = False  # a flag may be raised again before its last wait is over
        self.has_acks = False  # acknowledgements have been added for that
        self.flags = [f for pair in pairs for f in self._numbered(pairs[pair], events[pair])]

    def again(self, kept: Mapping[tuple[int, int], int]) -> _Writer:
        """Return a new writer of the same plan; see `__init__`."""
        return _Writer(self.root, self.planner, self.target, self.by_source, kept)

    def free(self, pair: tuple[int, int]) -> int:
        """Return how many events of two pipes no flag needs, though it may have taken one."""
        return 0 if self.by_source else self.target.event_ids - _at_once(self.pairs.get(pair, ()))

    def unacknowledged(self) -> list[Flag]:
        """Return the flags with a barrier in place of an acknowledgement."""
        return [flag for flag in self.flags if BARRIER in (flag.ack, flag.ack_first)]

    def leave_out(self, dropped: Collection[Flag | ProgramPoint]) -> None:
        """Remove some flags, and the barriers before some statements."""
        if dropped:
            self.flags = [flag for flag in self.flags if flag not in dropped]
            self.bars = {point: kinds for point, kinds in self.bars.items() if point not in dropped}

    def _numbered(self, flags: Sequence[Flag], events: Sequence[int]) -> list[Flag]:
        """Give event numbers to the flags of one pair of pipes; return those that got one.

        The number that has been free for longest is taken, so that its wait is long past.
        """
        free_from = [(-1, event) for event in events]
        holder: dict[int, Flag] = {}
        queue = [(flag.begin, flag.end, order, flag) for order, flag in enumerate(flags)]
        heapify(queue)
        done: list[Flag] = []
        delayed: dict[Block, Flag] = {}  # the last one in each block
        while queue:
            begin, end, order, flag = heappop(queue)
            if flag.late is not None and _covers(delayed.get(flag.block), flag):
                continue
            if not free_from:
                self._replace(flag)
                continue
            free, event = free_from[0]
            if free < begin:
                flag.event = event
                heapreplace(free_from, (end, event))
                if not flag.number or (free >= 0 and not self.planner.is_past(holder[event], flag)):
                    self.may_overtake = True
                holder[event] = flag
                done.append(flag)
                if flag.late is not None:
                    delayed[flag.block] = flag
                continue
            if self._delay(flag, holder[event]):
                heappush(queue, (flag.begin, end, order, flag))
            else:
                self._replace(flag)
        return done

    def _delay(self, flag: Flag, earlier: Flag) -> bool:
        """Move the set of ``flag`` after the wait for ``earlier``, if that is in its block."""
        point = earlier.wait_before
        if (
            flag.form is not FORWARD
            or earlier.form is not FORWARD
            or point.block is not flag.wait_before.block
            or not flag.set_after.index < point.index < flag.wait_before.index
        ):
            return False
        flag.late = point
        flag.locate()
        return True

    def _replace(self, flag: Flag) -> None:
        """Mark a flag to be replaced by a barrier of all pipes."""
        self.replaced.append(flag)

    def spare(self) -> dict[tuple[int, int], list[int]]:
        """Return the events that no flag uses, for acknowledgements, by their source and target."""
        used: dict[tuple[int, int], set[int]] = {}
        for flag in self.flags:
            used.setdefault(self._pool(flag.source, flag.target), set()).add(flag.event)
        pairs = list(dict.fromkeys((flag.target, flag.source) for flag in self.flags))
        found: dict[tuple[int, int], list[int]] = {}
        for event in range(self.target.event_ids):
            for pair in sorted(pairs, key=lambda pair: len(found.get(pair, ()))):
                taken = used.setdefault(self._pool(*pair), set())
                if event not in taken:
                    taken.add(event)
                    found.setdefault(pair, []).append(event)
        return found

    def _pool(self, source: int, target: int) -> tuple[int, int]:
        """Return the key of the pool from which a pair of pipes takes events."""
        return source, -1 if self.by_source else target

    def write(self, function: Function) -> tuple[Function, SyncReport]:
        """Return the function with flags and barriers, and the report about them."""
        bars = {point: strongest(kinds) for point, kinds in self.bars.items()}
        text = _Text(self.root, in_text_order(self.flags), bars, self.closing_bars)
        kinds = [kind for each in bars.values() for kind in each]
        full = kinds.count(_ALL)
        acknowledgements: list[int] = []
        if self.has_acks:
            acknowledgements = [
                ack for f in self.flags for ack in (f.ack, f.ack_first) if ack != NONE
            ]
        report = SyncReport(
            flags=len(self.flags),
            carried=sum([flag.form is not FORWARD for flag in self.flags]),
            barriers=len(kinds) - full,
            full_barriers=full + acknowledgements.count(BARRIER) + len(self.closing_bars) + 1,
            fallbacks=len(self.replaced),
            acknowledgements=len(acknowledgements) - acknowledgements.count(BARRIER),
        )
        return text.write(function), report


_Beside: TypeAlias = "defaultdict[ProgramPoint, list[Stmt]]"
"""New statements, by the statement beside which they are put."""


class _Text:
    """The statements of flags and barriers, by the statements beside which they are put.

    Before a statement come waits, barriers, sets that have moved down, and the first sets of primed
    flags of a loop; after it the last waits of these, and sets.
    """

    def __init__(
        self,
        root: Block,
        flags: Sequence[Flag],
        bars: Mapping[ProgramPoint, Sequence[PipeType]],
        closing_bars: Iterable[Block],
    ) -> None:
        self.root = root
        self.before: _Beside = defaultdict(list)
        self.after: _Beside = defaultdict(list)
        self.closing: _Beside = defaultdict(list)  # by the last statement of a block
        before, after = self.before, self.after
        primed = [flag for flag in flags if flag.form is PRIMED]
        for flag in primed:
            self._wait(after, flag, owner_of(flag.block))
        moved: list[tuple[Flag, ProgramPoint]] = []
        for flag in flags:
            raised, awaited = _flag(flag.source, flag.target, flag.event)
            if flag.form is CLOSING:
                self._put(self.closing, flag.block.points[-1], awaited)
            else:
                point = flag.wait_before
                before[point].append(checked_eval(awaited, point.stmt.span))
            if flag.late is not None:
                moved.append((flag, flag.late))
            elif flag.ack == NONE:
                point = flag.set_after
                after[point].append(checked_eval(raised, point.stmt.span))
            else:
                self._set(after, flag, flag.ack, flag.set_after)
        for point, kinds in bars.items():
            for kind in kinds:
                before[point].append(checked_eval(_BARRIERS[kind], point.stmt.span))
        for flag, late in moved:
            self._set(before, flag, flag.ack, late)
        for flag in primed:
            self._set(before, flag, flag.ack_first, owner_of(flag.block))
        for block in (*closing_bars, root):
            # At the end of the function nothing may be in flight when the next kernel starts.
            self._put(self.closing, block.points[-1], _BARRIERS[_ALL])

    def write(self, function: Function) -> Function:
        """Return the function with these statements inserted, and all bodies normal."""
        body = self._body(function.body, self.root)
        return function if body is function.body else function.with_body(body)

    def _body(self, body: Stmt, block: Block) -> Stmt:
        before, after = self.before, self.after
        out: list[Stmt] = []
        for point in block.points:
            if point in before:
                out += before[point]
            out.append(self._with_bodies(point) if point.blocks else point.stmt)
            if point in after:
                out += after[point]
        if block.points and block.points[-1] in self.closing:
            end = len(out) - isinstance(out[-1], YieldStmt | ReturnStmt)
            out[end:end] = self.closing[block.points[-1]]
        return normal_body(body, out)

    def _with_bodies(self, point: ProgramPoint) -> Stmt:
        blocks = iter(point.blocks)
        return map_bodies(point.stmt, lambda body: self._body(body, next(blocks)))

    def _wait(self, where: _Beside, flag: Flag, point: ProgramPoint) -> None:
        self._put(where, point, _flag(flag.source, flag.target, flag.event)[1])

    def _set(self, where: _Beside, flag: Flag, ack: int, point: ProgramPoint) -> None:
        """Put the set of a flag, after its acknowledgement or the barrier in place of that."""
        if ack == BARRIER:
            self._put(where, point, _BARRIERS[_ALL])
        elif ack != NONE:
            for like in _flag(flag.target, flag.source, ack):
                self._put(where, point, like)
        self._put(where, point, _flag(flag.source, flag.target, flag.event)[0])

    def _put(self, where: _Beside, point: ProgramPoint, call: Call) -> None:
        """Put a statement that makes a call beside another one.

        Statements share their call objects: each statement has its own span.
        """
        where[point].append(checked_eval(call, point.stmt.span))


@cache
def _flag(source: int, target: int, event: int) -> tuple[Call, Call]:
    """Return the calls that set and wait for a flag, without a span."""
    pipes = {"set_pipe": PipeType(source), "wait_pipe": PipeType(target), "event_id": event}
    return sync_src.call((), pipes, UNKNOWN_SPAN), sync_dst.call((), pipes, UNKNOWN_SPAN)


_BARRIERS: Final = {
    kind: op.call((), {}, UNKNOWN_SPAN)
    for kind, op in ((PipeType.V, bar_v), (PipeType.M, bar_m), (PipeType.ALL, bar_all))
}
"""The calls of barriers, without a span."""


def _covers(first: Flag | None, second: Flag) -> bool:
    """True if a flag that is set late orders everything that another one of its block would."""
    return (
        first is not None
        and first.late is not None
        and second.set_after.index < first.late.index
        and first.wait_before.index <= second.wait_before.index
    )


def _shared_out(
    pairs: Mapping[tuple[int, int], Sequence[Flag]], count: int
) -> dict[tuple[int, int], range]:
    """Distribute the events of each source pipe among its targets, as many as each can use."""
    found: dict[tuple[int, int], range] = {}
    for source in dict.fromkeys(pair[0] for pair in pairs):
        own = {pair: flags for pair, flags in pairs.items() if pair[0] == source}
        wanted = {pair: _at_once(flags) for pair, flags in own.items()}
        for _ in range(count - _KEPT - sum(wanted.values())):  # more events mean later reuse
            pair = max(own, key=lambda pair: len(own[pair]) - wanted[pair])
            wanted[pair] += len(own[pair]) > wanted[pair]
        begin = 0
        for i, pair in enumerate(own):
            behind = len(own) - i - 1
            end = min(begin + min(wanted[pair], max(count - begin - behind, 1)), count)
            found[pair] = range(begin, end)
            begin = end
    return found


_KEPT: Final = 2
"""How many events of a source are reserved for acknowledgements, if there are enough."""


def _at_once(flags: Sequence[Flag]) -> int:
    """Return the maximum number of flags that are in use at one time."""
    edges = sorted([(f.begin, 1) for f in flags] + [(f.end + 1, -1) for f in flags])
    most = now = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most
