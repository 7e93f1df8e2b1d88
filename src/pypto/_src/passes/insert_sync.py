"""InsertSync: flags and barriers, so that no pipe overtakes what it depends on.

A flag orders what one pipe did before it is set before what another pipe does after it waits. Which
flags and barriers a function needs is decided in `sync_plan`; this module gives the flags their
event numbers and writes them down. Eight events exist for each ordered pair of pipes. A set moves
down to where one is free; if there is no such place the flag becomes a barrier for all pipes, which
the report counts.

`happens_before` checks the result by other means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Final, NamedTuple

from pypto._src.diagnostics import Span
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
from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_dst, sync_src
from pypto._src.passes.base import IRProperty, IRPropertySet, Pass
from pypto._src.passes.buffers import (
    Accesses,
)
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
    """Order all conflicting accesses of kernels; functions that synchronise by hand stay."""

    requires = IRPropertySet(_P.TypeChecked, _P.SplitIncoreOrch, _P.HasMemRefs, _P.IncoreBlockOps)

    def __init__(self, target: Target = A2A3) -> None:
        self.target = target
        self.reports: dict[str, SyncReport] = {}
        """By function name, of the last run."""

    def run(self, program: Program) -> Program:
        """Return the program with flags and barriers in its kernels."""
        self.reports = {}
        return normalized(program.with_functions([self._function(f) for f in program.functions_]))

    def _function(self, function: Function) -> Function:
        if role(function) is not Role.KERNEL or is_synchronised(function):
            return function
        result, self.reports[function.name] = with_sync(function, self.target)
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


def with_sync(function: Function, target: Target = A2A3) -> tuple[Function, SyncReport]:
    """Return ``function`` with flags and barriers, and what was added."""
    root = number(function)
    accesses = Accesses(function, root)
    if not accesses.at:
        return function, SyncReport(0, 0, 0, 0, 0)
    planner = Planner(root, accesses)
    if _has_jumps(root):
        planner.barriers_only()
    else:
        planner.plan()
    return _Writer(root, planner, target).write(function)


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

    def __init__(self, root: Block, planner: Planner, target: Target) -> None:
        self.root = root
        self.bars = {site: list(kinds) for site, kinds in planner.bars.items()}
        self.closing_bars: dict[Block, None] = {}
        self.fallbacks = 0
        pairs: dict[tuple[int, int], list[Flag]] = {}
        for flag in planner.flags.values():
            pairs.setdefault((flag.source, flag.target), []).append(flag)
        self.flags = [f for flags in pairs.values() for f in self._numbered(flags, target)]
        self.before: dict[Site, list[Flag]] = {}  # waits
        self.late: dict[Site, list[Flag]] = {}  # sets before a statement, after its waits
        self.after: dict[Site, list[Flag]] = {}
        self.primes: dict[Site, list[Flag]] = {}  # sets before a loop, waits after it
        self.closing: dict[Block, list[Flag]] = {}  # waits at the end of a loop's body
        for flag in sorted(self.flags, key=lambda f: (f.begin, f.end, f.source, f.target)):
            self._file(flag)

    def _numbered(self, flags: Sequence[Flag], target: Target) -> list[Flag]:
        """Give event numbers to the flags of one pair of pipes; return those that got one.

        The number that has been unused for longest is taken, so that its wait is long past.
        """
        free_from = [(-1, event) for event in range(target.event_ids)]
        holder: dict[int, Flag] = {}
        queue = [(flag.begin, flag.end, order, flag) for order, flag in enumerate(flags)]
        heapify(queue)
        done: list[Flag] = []
        while queue:
            begin, end, order, flag = heappop(queue)
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
        """Let a barrier of all pipes stand for a flag."""
        self.fallbacks += 1
        if flag.form is Form.CLOSING:
            self.closing_bars[flag.block] = None
        else:
            self.bars.setdefault(flag.wait_before, []).append(PipeType.ALL)

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
            fallbacks=self.fallbacks,
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


def _strongest(kinds: Sequence[PipeType]) -> Sequence[PipeType]:
    return (PipeType.ALL,) if PipeType.ALL in kinds else kinds


def _set(flag: Flag, span: Span) -> Stmt:
    return EvalStmt(expr=sync_src.build((), _operands(flag), span), span=span)


def _wait(flag: Flag, span: Span) -> Stmt:
    return EvalStmt(expr=sync_dst.build((), _operands(flag), span), span=span)


def _operands(flag: Flag) -> dict[str, Any]:
    return {
        "set_pipe": PipeType(flag.source),
        "wait_pipe": PipeType(flag.target),
        "event_id": flag.event,
    }


_BARRIERS: Final = {PipeType.V: bar_v, PipeType.M: bar_m}


def _barrier(kind: PipeType, span: Span) -> Stmt:
    return EvalStmt(expr=_BARRIERS.get(kind, bar_all).build((), {}, span), span=span)
