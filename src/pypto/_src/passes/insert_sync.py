"""InsertSync: flags and barriers, so that no pipe overtakes what it depends on.

A flag orders what one pipe did before it is set before what another pipe does after it waits. Which
flags and barriers a function needs is decided in `sync_plan`; this module gives the flags their
event numbers and writes them down. Eight events exist for each ordered pair of pipes. A set moves
down to where one is free; if there is no such place the flag becomes a barrier for all pipes, which
the report counts.

What a later flag may have made superfluous is left out if the checker (`happens_before`) then
still finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Final, NamedTuple

from pypto._src.diagnostics import DiagnosticSeverity, Span
from pypto._src.ir.enums import PipeType
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import (
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    Function,
    Program,
    ReturnStmt,
    Stmt,
    YieldStmt,
)
from pypto._src.logs import log_event
from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_dst, sync_src
from pypto._src.passes.base import IRProperty, IRPropertySet, Pass
from pypto._src.passes.buffers import (
    Accesses,
)
from pypto._src.passes.check_bits import loops_around
from pypto._src.passes.happens_before import check_sync
from pypto._src.passes.normalize_stmt_structure import normalized
from pypto._src.passes.regions import Block, Site, call_of, number, owner_of, rewrite, sites_in
from pypto._src.passes.sync_plan import Flag, Form, Planner
from pypto._src.targets import A2A3, Target

_P: Final = IRProperty


class SyncReport(NamedTuple):
    """What InsertSync added to one function."""

    flags: int  # pairs of a set and a wait; a primed one counts once
    carried: int  # flags from one turn of a loop to the next, those included
    barriers: int  # of one pipe
    full_barriers: int  # of all pipes, with the one at the end
    fallbacks: int  # full barriers that stand for a flag for which no event was free


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
        if role(function) is not Role.KERNEL or is_synchronised(function):
            return function
        result, self.reports[function.name] = with_sync(
            function, self.target, by_source=self.by_source
        )
        return result


def insert_sync() -> Pass:
    """Return the pass that adds flags and barriers."""
    return InsertSync()


_SYNC: Final = (sync_src, sync_dst, bar_v, bar_m, bar_all)


def is_synchronised(function: Function) -> bool:
    """True if a function has flags or barriers."""
    return any(is_sync(site.stmt) for site in sites_in(number(function)))


def is_sync(stmt: Stmt) -> bool:
    """True for a set, a wait or a barrier."""
    call = call_of(stmt)
    return call is not None and any(call.op is op for op in _SYNC)


def with_sync(
    function: Function, target: Target = A2A3, *, by_source: bool = False
) -> tuple[Function, SyncReport]:
    """Return ``function`` with flags and barriers, and what was added; see `InsertSync`."""
    root = number(function)
    accesses = Accesses(function, root)
    if not accesses.at:
        return function, SyncReport(0, 0, 0, 0, 0)
    planner = Planner(root, accesses)
    if _has_jumps(root):
        planner.barriers_only()
        return _Writer(root, planner, target, by_source).write(function)
    planner.plan()
    _prune(planner.suspects(), planner, function, target)
    writer = _Writer(root, planner, target, by_source)
    replaced = writer.replaced
    if replaced:
        _say(function, replaced)
        writer = _with_barriers(writer, planner, function, target, by_source)
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
    _prune([*fresh, *planner.flags.values()], planner, function, target)
    writer = _Writer(planner.root, planner, target, by_source)
    if _breaks(writer.write(function)[0], target):  # a way on which another flag relied on them
        planner.barriers_only()
        writer = _Writer(planner.root, planner, target, by_source)
    return writer


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


_MOST_CHECKED: Final = 1 << 15
"""How many instructions the checker looks at, over all suspects, to find superfluous flags."""


def _prune(
    suspects: Sequence[Flag | Site], planner: Planner, function: Function, target: Target
) -> None:
    """Leave flags, and the barriers of places, out of the plan without which nothing is found."""
    visits = sum((1 + len(loops_around(site))) ** 2 for site in planner.accesses.at)
    if len(suspects) * visits > _MOST_CHECKED:
        return
    for suspect in suspects:
        flags, bars = planner.flags, planner.bars
        planner.flags = {key: flag for key, flag in flags.items() if flag is not suspect}
        planner.bars = {site: kinds for site, kinds in bars.items() if site is not suspect}
        result, _ = _Writer(planner.root, planner, target, by_source=False).write(function)
        if _breaks(result, target):
            planner.flags, planner.bars = flags, bars


def _breaks(function: Function, target: Target) -> bool:
    found = check_sync(function, target, every_way=True)
    return any(d.severity is DiagnosticSeverity.Error for d in found)


def _has_jumps(root: Block) -> bool:
    """True if control leaves a block elsewhere than at its end."""
    return any(
        isinstance(site.stmt, BreakStmt | ContinueStmt)
        or (isinstance(site.stmt, ReturnStmt) and site is not root.sites[-1])
        for site in sites_in(root)
    )


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
            flag.late = None  # of an earlier attempt
            pairs.setdefault((flag.source, flag.target), []).append(flag)
        events = dict.fromkeys(pairs, range(target.event_ids))
        if by_source:
            events = _shared_out(pairs, target.event_ids)
        self.flags = [f for pair in pairs for f in self._numbered(pairs[pair], events[pair])]
        self.before: dict[Site, list[Flag]] = {}  # waits
        self.late: dict[Site, list[Flag]] = {}  # sets before a statement, after its waits
        self.after: dict[Site, list[Flag]] = {}
        self.primes: dict[Site, list[Flag]] = {}  # sets before a loop, waits after it
        self.closing: dict[Block, list[Flag]] = {}  # waits at the end of a loop's body
        for flag in sorted(self.flags, key=lambda f: (f.begin, f.end, f.source, f.target)):
            self._file(flag)

    def _numbered(self, flags: Sequence[Flag], events: Sequence[int]) -> list[Flag]:
        """Give event numbers to the flags of one pair of pipes; return those that got one.

        The number that has been unused for longest is taken, so that its wait is long past.
        """
        free_from = [(-1, event) for event in events]
        holder: dict[int, Flag] = {}
        queue = [(flag.begin, flag.end, order, flag) for order, flag in enumerate(flags)]
        heapify(queue)
        done: list[Flag] = []
        while queue:
            begin, end, order, flag = heappop(queue)
            if not free_from:
                self._replace(flag)
                continue
            free, event = free_from[0]
            if free < begin:
                flag.event = event
                heapreplace(free_from, (end, event))
                holder[event] = flag
                done.append(flag)
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
        kinds = [_strongest(kinds) for kinds in self.bars.values()]
        full = [kind for each in kinds for kind in each if kind is PipeType.ALL]
        report = SyncReport(
            flags=len(self.flags),
            carried=sum(flag.form is not Form.FORWARD for flag in self.flags),
            barriers=sum(len(each) for each in kinds) - len(full),
            full_barriers=len(full) + len(self.closing_bars) + 1,
            fallbacks=len(self.replaced),
        )
        return rewrite(function, self.root, self._edit), report

    def _edit(self, site: Site, stmt: Stmt) -> Sequence[Stmt]:
        last = site is site.block.sites[-1]
        ends = isinstance(stmt, YieldStmt | ReturnStmt)
        span = stmt.span
        closing = list(self._closing(site.block, span)) if last else []
        return [
            *(_wait(flag, span) for flag in self.before.get(site, ())),
            *(_barrier(kind, span) for kind in _strongest(self.bars.get(site, ()))),
            *(_set(flag, span) for flag in self.late.get(site, ())),
            *(_set(flag, span) for flag in self.primes.get(site, ())),
            *(closing if ends else ()),
            stmt,
            *(_wait(flag, span) for flag in self.primes.get(site, ())),
            *(_set(flag, span) for flag in self.after.get(site, ())),
            *(() if ends else closing),
        ]

    def _closing(self, block: Block, span: Span) -> Iterator[Stmt]:
        for flag in self.closing.get(block, ()):
            yield _wait(flag, span)
        if block is self.root or block in self.closing_bars:
            # At the end of the function: nothing may be in flight when the next kernel starts.
            yield _barrier(PipeType.ALL, span)


def _shared_out(
    pairs: Mapping[tuple[int, int], Sequence[Flag]], count: int
) -> dict[tuple[int, int], range]:
    """Share out the events of each source pipe among its targets, to each what it can use."""
    begins: dict[int, int] = {}
    found: dict[tuple[int, int], range] = {}
    for pair, flags in pairs.items():
        begin = begins.get(pair[0], 0)
        behind = sum(p[0] == pair[0] and p not in found for p in pairs) - 1
        most = max(count - begin - behind, 1)
        begins[pair[0]] = min(begin + min(_at_once(flags), most), count)
        found[pair] = range(begin, begins[pair[0]])
    return found


def _at_once(flags: Sequence[Flag]) -> int:
    """Return how many flags are in use at one time at most."""
    edges = sorted([(f.begin, 1) for f in flags] + [(f.end + 1, -1) for f in flags])
    most = now = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most


def _strongest(kinds: Sequence[PipeType]) -> Sequence[PipeType]:
    return (PipeType.ALL,) if PipeType.ALL in kinds else kinds


def _set(flag: Flag, span: Span) -> Stmt:
    return EvalStmt(expr=sync_src.call((), _operands(flag), span), span=span)


def _wait(flag: Flag, span: Span) -> Stmt:
    return EvalStmt(expr=sync_dst.call((), _operands(flag), span), span=span)


def _operands(flag: Flag) -> dict[str, Any]:
    return {
        "set_pipe": PipeType(flag.source),
        "wait_pipe": PipeType(flag.target),
        "event_id": flag.event,
    }


_BARRIERS: Final = {PipeType.V: bar_v, PipeType.M: bar_m}


def _barrier(kind: PipeType, span: Span) -> Stmt:
    return EvalStmt(expr=_BARRIERS.get(kind, bar_all).call((), {}, span), span=span)
