"""Which variables each branch and loop has to pass on: the analysis behind `construct`.

Takes a body in which variables may be assigned many times and returns plain data (`Block`,
`Region`), one record per *occurrence* of a statement, since statements may be shared. Decides
nothing about names and builds no IR. Time is linear in the size of the body times its depth.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import islice
from typing import TypeAlias

from pypto._src.diagnostics import Span
from pypto._src.errors import PassError, of_type
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import (
    OPERATIONS,
    SIMPLE,
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.queries import occurring, uses

Vars: TypeAlias = "dict[Var, None]"
"""A set of variables in order of insertion."""

Branching: TypeAlias = "IfStmt | ForStmt | WhileStmt | ScopeStmt"


class Run:
    """A run of statements without bodies: the variables they read before assigning, and assign.

    Afterwards the run counts as one statement.
    """

    __slots__ = ("exposed", "writes")

    def __init__(self) -> None:
        self.exposed: Vars = {}
        self.writes: Vars = {}


class Block:
    """One occurrence of a body: its statements, and its parts in order.

    A part is a `Region` for a statement that holds bodies, a `Run` for statements in between.
    """

    __slots__ = ("defines", "exposed", "parts", "stmts", "writes")

    def __init__(self, stmts: tuple[Stmt, ...]) -> None:
        self.stmts = stmts
        self.parts: list[Run | Region] = []
        self.exposed: Vars = {}  # read where they may not be assigned in the block yet
        self.writes: Vars = {}  # assigned somewhere inside
        self.defines: set[Var] = set()  # assigned on every path through

    def add(self, part: Run | Region) -> None:
        """Append a part."""
        self.parts.append(part)
        _add(self.exposed, part.exposed, self.defines)
        self.writes |= part.writes
        self.defines.update(part.writes if isinstance(part, Run) else part.defines)

    def ends_with_yield(self) -> bool:
        """True if the block yields values to its statement."""
        return bool(self.stmts) and isinstance(self.stmts[-1], YieldStmt)


class Region:
    """One occurrence of an if, loop or scope."""

    __slots__ = (
        "at_top",
        "blocks",
        "candidates",
        "defines",
        "exposed",
        "merged",
        "results",
        "stmt",
        "writes",
    )

    def __init__(self, stmt: Branching, blocks: list[Block], results: Sequence[Var] = ()) -> None:
        self.stmt = stmt
        self.blocks = blocks
        self.results = results  # return_vars of the source that take yielded values
        self.exposed: Vars = {}
        self.writes: Vars = {}
        self.defines: set[Var] = set()
        self.at_top: Vars = {}  # of a loop: what an iteration reads from the previous one
        self.candidates: Vars = {}  # assigned inside, and not in iter_args or return_vars
        self.merged: list[Var] = []  # the candidates that must be passed on, by name


class Plan:
    """The analysis of one function body.

    Attributes:
        block: the body.
        counts: by name, how often SSA form defines a variable of that name (`IterArg`s aside).
        written: by variable, the span of the first statement that assigns it.
        names: names that are taken besides those in ``counts``.
    """

    def __init__(self, body: Stmt, reserved: Iterable[str]) -> None:
        self.counts: dict[str, int] = dict.fromkeys(reserved, 1)
        self._reserved = frozenset(self.counts)
        self.written: dict[Var, Span] = {}
        self.names: set[str] = set()
        stmts = statements(body)
        # Without branches and loops nothing is passed on, whatever is read.
        self._is_straight = SIMPLE.issuperset(map(type, stmts))
        self.block = self._block(stmts, top=True)
        if not self._is_straight:
            _Liveness(self.counts).block(self.block)

    def span_of(self, var: Var) -> Span:
        """Return the span that errors give for the first assignment of a variable."""
        return var.span if var.span.is_valid() else self.written[var]

    # Bottom up: what each block reads and writes ------------------------------------------

    def _block(self, stmts: tuple[Stmt, ...], *, top: bool = False) -> Block:
        block = Block(stmts)
        begin = 0
        for index, stmt in enumerate(stmts):
            if stmt.__class__ in OPERATIONS:
                continue
            if begin < index:
                block.add(self._run(stmts[begin:index]))
            begin = index + 1
            match stmt:
                case YieldStmt() | ReturnStmt():
                    block.add(self._run((stmt,)))
                    if begin != len(stmts) or (isinstance(stmt, ReturnStmt) and not top):
                        raise _misplaced(stmt)
                case IfStmt() | ForStmt() | WhileStmt() | ScopeStmt():
                    block.add(self._region(stmt, top))
                case _:
                    raise _misplaced(stmt)
        if begin < len(stmts):
            block.add(self._run(stmts[begin:]))
        return block

    def _run(self, stmts: Sequence[Stmt]) -> Run:
        run = Run()
        exposed, writes, counts, written = run.exposed, run.writes, self.counts, self.written
        reads = not self._is_straight
        for stmt in stmts:
            if reads:
                for var in occurring(stmt):
                    if var not in writes:
                        exposed[var] = None
            if isinstance(stmt, AssignStmt):
                var = stmt.var
                writes[var] = None
                name = var.name
                counts[name] = counts.get(name, 0) + 1
                if var not in written:
                    written[var] = stmt.span
        return run

    def _define(self, region: Region, variables: Sequence[Var], span: Span) -> None:
        for var in variables:
            region.writes[var] = None
            region.defines.add(var)
            self.counts[var.name] = self.counts.get(var.name, 0) + 1
            self.written.setdefault(var, span)

    def _region(self, stmt: Branching, top: bool) -> Region:
        match stmt:
            case IfStmt():
                return self._if(stmt)
            case ScopeStmt():
                return self._scope(stmt, top)
            case _:
                return self._loop(stmt)

    def _if(self, stmt: IfStmt) -> Region:
        then, other = (
            self._block(statements(stmt.then_body)),
            self._block(statements(stmt.else_body)),
        )
        region = Region(stmt, [then, other], stmt.return_vars if then.ends_with_yield() else ())
        self.names.update([var.name for var in stmt.return_vars])
        _add(region.exposed, uses((stmt.condition,)))
        _add(region.exposed, then.exposed)
        _add(region.exposed, other.exposed)
        region.candidates = then.writes | other.writes
        region.writes |= region.candidates
        region.defines = then.defines & other.defines
        self._define(region, region.results, stmt.span)
        return region

    def _scope(self, stmt: ScopeStmt, top: bool) -> Region:
        known = len(self.written)
        body = self._block(statements(stmt.body), top=top)
        region = Region(stmt, [body])
        region.exposed, region.writes, region.defines = body.exposed, body.writes, body.defines
        # A core runs a scope, and keeps no tiles and numbers from one run to the next: in a loop
        # around the scope, no iteration reads what the previous one left.
        own = set(islice(reversed(self.written), len(self.written) - known))
        region.exposed = {
            var: None
            for var in body.exposed
            if var not in own or isinstance(var.type, TensorType) or var.name in self._reserved
        }
        return region

    def _loop(self, stmt: ForStmt | WhileStmt) -> Region:
        body = self._block(statements(stmt.body))
        region = Region(stmt, [body], stmt.return_vars if stmt.iter_args else ())
        if len(region.results) != len(stmt.iter_args):
            raise PassError(
                f"this loop carries {len(stmt.iter_args)} values and returns {len(region.results)}",
                stmt.span,
                slug="carried-count",
            )
        self.names.update([var.name for var in (*stmt.iter_args, *stmt.return_vars)])
        _add(region.exposed, uses([arg.initValue for arg in stmt.iter_args]))
        own: Vars = dict.fromkeys(stmt.iter_args)
        region.candidates |= body.writes
        if isinstance(stmt, ForStmt):
            _add(region.exposed, uses((stmt.start, stmt.stop, stmt.step)))
            self._define(region, (stmt.loop_var,), stmt.span)
            region.defines.clear()  # the loop may have no iterations
            region.candidates[stmt.loop_var] = None
            own[stmt.loop_var] = None
        else:
            _add(region.at_top, uses((stmt.condition,)), own)
        _add(region.at_top, body.exposed, own)
        _add(region.exposed, region.at_top)
        region.writes |= region.candidates
        self._define(region, region.results, stmt.span)
        return region


class _Liveness:
    """Walks backwards with the live variables, and fills in `Region.merged`."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts
        self._live: set[Var] = set()

    def block(self, block: Block) -> None:
        """Turn the set live after ``block`` into the set live before it."""
        live = self._live
        for part in reversed(block.parts):
            if isinstance(part, Run):
                live.difference_update(part.writes)
            else:
                self._region(part)
                live.difference_update(part.defines)
            live.update(part.exposed)

    def _region(self, region: Region) -> None:
        """Process the bodies of ``region``; of the live variables remove only its results."""
        match region.stmt:
            case ScopeStmt():
                self._inside(region.blocks[0], {})
            case IfStmt():
                self._live.difference_update(region.results)
                self._merge(region, {})
                for block in region.blocks:
                    self._inside(block, {})
            case _:
                self._live.difference_update(region.results)
                self._merge(region, region.at_top)
                self._inside(region.blocks[0], region.at_top)

    def _merge(self, region: Region, also_read: Vars) -> None:
        live = self._live
        found = [var for var in region.candidates if var in also_read or var in live]
        region.merged = sorted(found, key=lambda var: var.name)
        for var in region.merged:
            self._counts[var.name] = self._counts.get(var.name, 0) + 1

    def _inside(self, block: Block, also_read: Vars) -> None:
        """Process a block after which ``also_read`` is live too; leave the live set as it was."""
        live = self._live
        touched = {**block.writes, **block.exposed, **also_read}
        before = [var for var in touched if var in live]
        live.update(also_read)
        self.block(block)
        live.difference_update(touched)
        live.update(before)


def _add(target: Vars, variables: Iterable[Var], without: Container[Var] = ()) -> None:
    for var in variables:
        if var not in without:
            target[var] = None


def _misplaced(stmt: Stmt) -> PassError:
    match stmt:
        case ReturnStmt():
            return PassError(
                "this return is not the last statement of its function",
                stmt.span,
                "assign the value to a variable, and return that at the end",
                slug="early-return",
            )
        case BreakStmt() | ContinueStmt():
            word = "break" if isinstance(stmt, BreakStmt) else "continue"
            return PassError(f"this {word} is not inside a loop", stmt.span, slug="stray-jump")
        case _:
            return PassError(
                f"{of_type(stmt)} is before the end of its body",
                stmt.span,
                "yield at the end of a loop body or branch",
                slug="stray-yield",
            )
