"""InsertSync: flags and barriers, so that no pipe overtakes what it depends on.

A flag orders what one pipe did before it is set before what another pipe does after it waits. Which
flags and barriers a function needs is decided in `sync_plan`; this module gives the flags their
event numbers and writes them down. Eight events exist for each ordered pair of pipes. A set moves
down to where one is free; if there is no such place the flag becomes a barrier for all pipes, which
the report counts.

What others may have made superfluous is left out if the checker then still finds nothing, and a
flag that might be raised again too early waits for an answer (`sync_prune`, `sync_answers`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Final, NamedTuple

from pypto._src.diagnostics import Span
from pypto._src.ir.enums import PipeType
from pypto._src.ir.nodes import Call, checked_call
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import EvalStmt, Function, Program, ReturnStmt, Stmt, YieldStmt
from pypto._src.logs import log_event
from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_dst, sync_src
from pypto._src.passes.base import IRProperty, IRPropertySet, Pass
from pypto._src.passes.buffers import SYNC_OPS, Accesses
from pypto._src.passes.normalize_stmt_structure import normalized
from pypto._src.passes.plan_flow import is_sufficient
from pypto._src.passes.regions import Block, Site, call_of, number, owner_of, rewrite
from pypto._src.passes.sync_answers import answer
from pypto._src.passes.sync_plan import Flag, Form, Planner, strongest
from pypto._src.passes.sync_prune import prune
from pypto._src.targets import A2A3, Target

_P: Final = IRProperty


class SyncReport(NamedTuple):
    """What InsertSync added to one function."""

    flags: int  # pairs of a set and a wait; a primed one counts once
    carried: int  # flags from one turn of a loop to the next, those included
    barriers: int  # of one pipe
    full_barriers: int  # of all pipes, with the one at the end
    fallbacks: int  # full barriers that stand for a flag for which no event was free
    answers: int = 0  # more flags: a pipe hears that the last wait for an event is over


class InsertSync(Pass):
    """Order all conflicting accesses of kernels; functions that synchronise by hand stay.

    With ``by_source`` flags with one source have different events, whoever waits for them: safe
    also where the hardware does not tell them apart (`FlagIdentity.SOURCE`), at the cost of events.
    """

    requires = IRPropertySet(_P.TypeChecked, _P.SplitIncoreOrch, _P.HasMemRefs, _P.IncoreBlockOps)

    def __init__(self, target: Target = A2A3, *, by_source: bool = False) -> None:
        self.target = target
        self.by_source = by_source
        self.reports: dict[str, SyncReport] = {}
        """By function name, of the last run."""

    def run(self, program: Program) -> Program:
        """Return the program with flags and barriers in its kernels."""
        self.reports = {}
        return normalized(program.with_functions([self._function(f) for f in program.functions_]))

    def _function(self, function: Function) -> Function:
        if role(function) is not Role.KERNEL:
            return function
        root = number(function)
        accesses = Accesses(function, root)
        if accesses.syncs:
            return function
        result, self.reports[function.name] = _with_sync(
            function, root, accesses, self.target, self.by_source
        )
        return result


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
        return function, SyncReport(0, 0, 0, 0, 0)
    planner = Planner(root, accesses)
    if any(site is not root.sites[-1] for site in accesses.jumps):  # leaves a block before its end
        planner.barriers_only()
        return _Writer(root, planner, target, by_source).write(function)
    planner.plan()
    prune(planner, function, planner.suspects())
    writer = _Writer(root, planner, target, by_source)
    replaced = writer.replaced
    if replaced:
        _say(function, replaced)
        writer = _with_barriers(writer, planner, function, target, by_source)
    if writer.may_overtake:
        writer.leave_out(answer(planner, function, writer.flags, writer.spare(target)))
    result, report = writer.write(function)
    return result, report._replace(fallbacks=len(replaced))


def _with_barriers(
    writer: _Writer, planner: Planner, function: Function, target: Target, by_source: bool
) -> _Writer:
    """Return the writer of a plan with barriers for flags that found no event."""
    fresh: list[Site] = []
    while writer.replaced:
        fresh += _settle(writer.replaced, planner)
        writer = _Writer(planner.root, planner, target, by_source)
    if is_sufficient(planner, function):
        prune(planner, function, [*fresh, *planner.flags.values()])
        writer = _Writer(planner.root, planner, target, by_source)
        if not writer.replaced:
            return writer
    planner.barriers_only()  # there is a way on which another flag relied on them
    return _Writer(planner.root, planner, target, by_source)


def _say(function: Function, replaced: Sequence[Flag]) -> None:
    """Log the flags for which no event was free."""
    places = dict.fromkeys(_place(flag) for flag in replaced)
    pairs = dict.fromkeys((PipeType(f.source).name, PipeType(f.target).name) for f in replaced)
    names = ", ".join(f"{source} -> {target}" for source, target in pairs)
    listed = ", ".join(list(places)[:_LISTED])
    more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
    log_event(
        f"kernel {function.name!r}: no event is free for {len(replaced)} flags ({names}); a "
        f"barrier of all pipes stands for them: {listed}{more}"
    )


_LISTED: Final = 4
"""How many places a record of the log names."""


def _place(flag: Flag) -> str:
    """Return where the barrier stands that takes the place of a flag."""
    if flag.form is not Form.FORWARD:
        line = owner_of(flag.block).stmt.span.begin_line
        return f"at the end of the loop at line {line}"
    return f"before line {flag.wait_before.stmt.span.begin_line}"


def _settle(replaced: Sequence[Flag], planner: Planner) -> list[Site]:
    """Let barriers of all pipes stand for flags; return the statements before which they do.

    One at the end of a loop's body does for all that a turn leaves for the next.
    """
    bodies = {flag.block for flag in replaced if flag.form is not Form.FORWARD}
    planner.closing_bars.update(
        (flag.block, None) for flag in replaced if flag.form is not Form.FORWARD
    )
    sites = [flag.wait_before for flag in replaced if flag.form is Form.FORWARD]
    for site in sites:
        planner.bars.setdefault(site, []).append(PipeType.ALL)
    gone = set(replaced)
    planner.flags = {
        key: flag
        for key, flag in planner.flags.items()
        if flag not in gone and (flag.form is Form.FORWARD or flag.block not in bodies)
    }
    return sites


# --------------------------------------------------------------------------------------------
# Events and statements
# --------------------------------------------------------------------------------------------


class _Writer:
    """Chooses event numbers and puts the flags and barriers into the function."""

    def __init__(self, root: Block, planner: Planner, target: Target, by_source: bool) -> None:
        self.root = root
        self.bars = {site: list(kinds) for site, kinds in planner.bars.items()}
        self.closing_bars = dict(planner.closing_bars)
        self.replaced: list[Flag] = []  # by a barrier
        pairs: dict[tuple[int, int], list[Flag]] = {}
        for flag in planner.flags.values():
            flag.late, flag.back, flag.back_first = None, -1, -1  # of an earlier attempt
            pairs.setdefault((flag.source, flag.target), []).append(flag)
        events = dict.fromkeys(pairs, range(target.event_ids))
        if by_source:
            events = _shared_out(pairs, target.event_ids)
        self.planner = planner
        self.by_source = by_source
        self.may_overtake = False  # a flag may be raised again before its last wait is over
        self.flags = [f for pair in pairs for f in self._numbered(pairs[pair], events[pair])]
        self.before: dict[Site, list[Flag]] = {}  # waits
        self.late: dict[Site, list[Flag]] = {}  # sets before a statement, after its waits
        self.after: dict[Site, list[Flag]] = {}
        self.primes: dict[Site, list[Flag]] = {}  # sets before a loop, waits after it
        self.closing: dict[Block, list[Flag]] = {}  # waits at the end of a loop's body
        self.marked: set[Site] = set()  # the statements beside which any of these stand
        self.calls: dict[object, Call] = {}

    def leave_out(self, dropped: Collection[Flag | Site]) -> None:
        """Do without some flags, and without the barriers before some statements."""
        if dropped:
            self.flags = [flag for flag in self.flags if flag not in dropped]
            self.bars = {site: kinds for site, kinds in self.bars.items() if site not in dropped}

    def _numbered(self, flags: Sequence[Flag], events: Sequence[int]) -> list[Flag]:
        """Give event numbers to the flags of one pair of pipes; return those that got one.

        The number that has been unused for longest is taken, so that its wait is long past.
        """
        free_from = [(-1, event) for event in events]
        holder: dict[int, Flag] = {}
        queue = [(flag.begin, flag.end, order, flag) for order, flag in enumerate(flags)]
        heapify(queue)
        done: list[Flag] = []
        delayed: dict[Block, Flag] = {}  # the last one of each block
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
        """Set ``flag`` only when ``earlier`` has been waited for, if that is in its block."""
        site = earlier.wait_before
        if (
            flag.form is not Form.FORWARD
            or earlier.form is not Form.FORWARD
            or site.block is not flag.wait_before.block
            or not flag.set_after.index < site.index < flag.wait_before.index
        ):
            return False
        flag.late = site
        return True

    def _replace(self, flag: Flag) -> None:
        """Leave a flag to a barrier of all pipes."""
        self.replaced.append(flag)

    def spare(self, target: Target) -> dict[tuple[int, int], list[int]]:
        """Return for the ways back of the flags the events that no flag has."""
        used: dict[tuple[int, int], set[int]] = {}
        for flag in self.flags:
            used.setdefault(self._pool(flag.source, flag.target), set()).add(flag.event)
        ways = list(dict.fromkeys((flag.target, flag.source) for flag in self.flags))
        found: dict[tuple[int, int], list[int]] = {}
        for event in range(target.event_ids):
            for way in sorted(ways, key=lambda way: len(found.get(way, ()))):
                taken = used.setdefault(self._pool(*way), set())
                if event not in taken:
                    taken.add(event)
                    found.setdefault(way, []).append(event)
        return found

    def _pool(self, source: int, target: int) -> tuple[int, int]:
        """Return what events of two pipes are shared with."""
        return source, -1 if self.by_source else target

    def _file(self, flag: Flag) -> None:
        if flag.form is Form.CLOSING:
            self.closing.setdefault(flag.block, []).append(flag)
        else:
            self.before.setdefault(flag.wait_before, []).append(flag)
        if flag.late is None:
            self.after.setdefault(flag.set_after, []).append(flag)
        else:
            self.late.setdefault(flag.late, []).append(flag)
        if flag.form is Form.PRIMED:
            self.primes.setdefault(owner_of(flag.block), []).append(flag)

    def write(self, function: Function) -> tuple[Function, SyncReport]:
        """Return the function with flags and barriers, and what they are."""
        for filed in (self.before, self.late, self.after, self.primes):
            filed.clear()
        self.closing.clear()
        for flag in sorted(self.flags, key=lambda f: (f.begin, f.end, f.source, f.target)):
            self._file(flag)
        self.marked = {*self.bars, *self.before, *self.late, *self.after, *self.primes}
        kinds = [strongest(kinds) for kinds in self.bars.values()]
        full = [kind for each in kinds for kind in each if kind is PipeType.ALL]
        report = SyncReport(
            flags=len(self.flags),
            carried=sum(flag.form is not Form.FORWARD for flag in self.flags),
            barriers=sum(len(each) for each in kinds) - len(full),
            full_barriers=len(full) + len(self.closing_bars) + 1,
            fallbacks=len(self.replaced),
            answers=sum((f.back >= 0) + (f.back_first >= 0) for f in self.flags),
        )
        return rewrite(function, self.root, self._edit), report

    def _edit(self, site: Site, stmt: Stmt) -> Sequence[Stmt]:
        last = site is site.block.sites[-1]
        if not last and site not in self.marked:
            return (stmt,)
        span = stmt.span
        primes = self.primes.get(site, ())
        out = [self._wait(flag, span) for flag in self.before.get(site, ())]
        if site in self.bars:
            out += [_barrier(kind, span) for kind in strongest(self.bars[site])]
        for flag in self.late.get(site, ()):
            out += self._sets(flag, flag.back, span)
        for flag in primes:
            out += self._sets(flag, flag.back_first, span)
        closing = self._closing(site.block, span) if last else ()
        ends = last and isinstance(stmt, YieldStmt | ReturnStmt)
        if ends:
            out += closing
        out.append(stmt)
        out += [self._wait(flag, span) for flag in primes]
        for flag in self.after.get(site, ()):
            out += self._sets(flag, flag.back, span)
        if not ends:
            out += closing
        return out

    def _closing(self, block: Block, span: Span) -> list[Stmt]:
        out = [self._wait(flag, span) for flag in self.closing.get(block, ())]
        if block is self.root or block in self.closing_bars:
            # At the end of the function: nothing may be in flight when the next kernel starts.
            out.append(_barrier(PipeType.ALL, span))
        return out

    def _sets(self, flag: Flag, back: int, span: Span) -> list[Stmt]:
        """Return what raises a flag, behind an answer of the target if there is an event for it."""
        source, target = flag.source, flag.target
        last = self._call(sync_src, source, target, flag.event, span)
        if back < 0:
            return [last]
        return [
            self._call(sync_src, target, source, back, span),
            self._call(sync_dst, target, source, back, span),
            last,
        ]

    def _wait(self, flag: Flag, span: Span) -> Stmt:
        return self._call(sync_dst, flag.source, flag.target, flag.event, span)

    def _call(self, op: OpDef[..., Any], source: int, target: int, event: int, span: Span) -> Stmt:
        key = op, source, target, event
        like = self.calls.get(key)
        if like is None:
            pipes = {"set_pipe": PipeType(source), "wait_pipe": PipeType(target)}
            like = self.calls[key] = op.call((), {**pipes, "event_id": event}, span)
        return EvalStmt(checked_call(like.op, (), like.kwargs, like.type, span), span)


def _covers(first: Flag | None, second: Flag) -> bool:
    """True if a flag that is set late orders all that another one of its block would."""
    return (
        first is not None
        and first.late is not None
        and second.set_after.index < first.late.index
        and first.wait_before.index <= second.wait_before.index
    )


def _shared_out(
    pairs: Mapping[tuple[int, int], Sequence[Flag]], count: int
) -> dict[tuple[int, int], range]:
    """Share out the events of each source pipe among its targets, to each what it can use."""
    found: dict[tuple[int, int], range] = {}
    for source in dict.fromkeys(pair[0] for pair in pairs):
        own = {pair: flags for pair, flags in pairs.items() if pair[0] == source}
        wanted = {pair: _at_once(flags) for pair, flags in own.items()}
        for _ in range(count - _KEPT - sum(wanted.values())):  # the more, the later one comes again
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
"""How many events of a source are kept for answers, where there are enough."""


def _at_once(flags: Sequence[Flag]) -> int:
    """Return how many flags are in use at one time at most."""
    edges = sorted([(f.begin, 1) for f in flags] + [(f.end + 1, -1) for f in flags])
    most = now = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most


_BARRIERS: Final = {PipeType.V: bar_v, PipeType.M: bar_m}


def _barrier(kind: PipeType, span: Span) -> Stmt:
    return EvalStmt(expr=_BARRIERS.get(kind, bar_all).call((), {}, span), span=span)
