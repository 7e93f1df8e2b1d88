"""Which variables each branch and loop has to hand on: the analysis behind `ssa`.

Takes a body in which variables may be assigned many times and returns plain data (`Block`,
`Region`), one record per *occurrence* of a statement, since statements may be shared. Decides
nothing about names and builds no IR. Time is linear in the size of the body times its depth.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar

from pypto._src.diagnostics import Span
from pypto._src.errors import PassError
from pypto._src.ir.nodes import IRNode, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.walk import uses

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Vars: TypeAlias = "dict[Var, None]"
"""A set of variables that keeps the order of insertion."""

Branching: TypeAlias = "IfStmt | ForStmt | WhileStmt | ScopeStmt"


class Trail(Generic[K, V]):
    """A mapping whose changes since a mark can be listed and undone, each in constant time."""

    __slots__ = ("_log", "values")

    def __init__(self) -> None:
        self.values: dict[K, V] = {}
        self._log: list[tuple[K, V | None]] = []

    def put(self, key: K, value: V) -> None:
        """Map ``key`` to ``value``."""
        self._log.append((key, self.values.get(key)))
        self.values[key] = value

    def mark(self) -> int:
        """Return the present state, for `undo` and `before`."""
        return len(self._log)

    def before(self, mark: int) -> dict[K, V | None]:
        """Return the keys changed since ``mark``, with the values they had then."""
        old: dict[K, V | None] = {}
        for key, value in self._log[mark:]:
            old.setdefault(key, value)
        return old

    def undo(self, mark: int) -> None:
        """Go back to the state at ``mark``."""
        while len(self._log) > mark:
            key, value = self._log.pop()
            if value is None:
                del self.values[key]
            else:
                self.values[key] = value


class Block:
    """One occurrence of a body: its statements, and a `Region` for each one that holds bodies."""

    __slots__ = ("defines", "exposed", "regions", "stmts", "writes")

    def __init__(self, stmts: tuple[Stmt, ...]) -> None:
        self.stmts = stmts
        self.regions: list[Region] = []
        self.exposed: Vars = {}  # read before the block has surely assigned them
        self.writes: Vars = {}  # assigned somewhere inside
        self.defines: set[Var] = set()  # assigned on every way through

    def ends_with_yield(self) -> bool:
        """True if the block hands values to its statement."""
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
        self.at_top: Vars = {}  # of a loop: what a turn reads from the turn before
        self.candidates: Vars = {}  # assigned inside, without a place in iter_args or return_vars
        self.merged: list[Var] = []  # those of the candidates that must be handed on, by name


class Plan:
    """The analysis of one function body.

    Attributes:
        block: the body.
        counts: by name, how often SSA form defines a variable of that name (`IterArg`s aside).
        written: by variable, the place of its first assignment.
    """

    def __init__(self, body: Stmt, reserved: Iterable[str]) -> None:
        self.counts: dict[str, int] = dict.fromkeys(reserved, 1)
        self.written: dict[Var, Span] = {}
        self.block = self._block(body, top=True)
        _Liveness(self.counts).block(self.block)

    # Bottom up: what each block reads and writes ------------------------------------------

    def _block(self, body: Stmt | None, *, top: bool = False) -> Block:
        block = Block(statements(body))
        last = len(block.stmts) - 1
        for index, stmt in enumerate(block.stmts):
            match stmt:
                case AssignStmt():
                    self._read(block, (stmt.value,))
                    self._define(block, (stmt.var,), stmt.span)
                case EvalStmt():
                    self._read(block, (stmt.expr,))
                case YieldStmt() | ReturnStmt():
                    self._read(block, stmt.value)
                    if index != last or (isinstance(stmt, ReturnStmt) and not top):
                        raise _misplaced(stmt)
                case IfStmt() | ForStmt() | WhileStmt() | ScopeStmt():
                    region = self._region(stmt, top)
                    block.regions.append(region)
                    _add(block.exposed, region.exposed, block.defines)
                    block.writes |= region.writes
                    block.defines |= region.defines
                case _:
                    raise _misplaced(stmt)
        return block

    def _read(self, block: Block, exprs: Sequence[IRNode]) -> None:
        _add(block.exposed, uses(exprs), block.defines)

    def _define(self, block: Block | Region, variables: Sequence[Var], span: Span) -> None:
        for var in variables:
            block.writes[var] = None
            block.defines.add(var)
            self.counts[var.name] = self.counts.get(var.name, 0) + 1
            self.written.setdefault(var, var.span if var.span.is_valid() else span)

    def _region(self, stmt: Branching, top: bool) -> Region:
        match stmt:
            case IfStmt():
                return self._if(stmt)
            case ScopeStmt():
                return self._scope(stmt, top)
            case _:
                return self._loop(stmt)

    def _if(self, stmt: IfStmt) -> Region:
        then, other = self._block(stmt.then_body), self._block(stmt.else_body)
        region = Region(stmt, [then, other], stmt.return_vars if then.ends_with_yield() else ())
        _add(region.exposed, uses((stmt.condition,)))
        _add(region.exposed, then.exposed)
        _add(region.exposed, other.exposed)
        region.candidates = then.writes | other.writes
        region.writes |= region.candidates
        region.defines = then.defines & other.defines
        self._define(region, region.results, stmt.span)
        return region

    def _scope(self, stmt: ScopeStmt, top: bool) -> Region:
        body = self._block(stmt.body, top=top)
        region = Region(stmt, [body])
        region.exposed, region.writes, region.defines = body.exposed, body.writes, body.defines
        return region

    def _loop(self, stmt: ForStmt | WhileStmt) -> Region:
        body = self._block(stmt.body)
        region = Region(stmt, [body], stmt.return_vars if stmt.iter_args else ())
        if len(region.results) != len(stmt.iter_args):
            raise PassError(
                f"this loop carries {len(stmt.iter_args)} values and returns {len(region.results)}",
                stmt.span,
                slug="carried-count",
            )
        _add(region.exposed, uses(arg.initValue for arg in stmt.iter_args))
        own: Vars = dict.fromkeys(stmt.iter_args)
        region.candidates |= body.writes
        if isinstance(stmt, ForStmt):
            _add(region.exposed, uses((stmt.start, stmt.stop, stmt.step)))
            self._define(region, (stmt.loop_var,), stmt.span)
            region.defines.clear()  # the loop may make no turn
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
    """Walks backwards with the variables that are still read, and fills in `Region.merged`."""

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts
        self._live: Trail[Var, bool] = Trail()

    def _revive(self, variables: Iterable[Var]) -> None:
        for var in variables:
            if not self._live.values.get(var):
                self._live.put(var, True)

    def _kill(self, variables: Iterable[Var]) -> None:
        for var in variables:
            if self._live.values.get(var):
                self._live.put(var, False)

    def block(self, block: Block) -> None:
        """Go from what is live after ``block`` to what is live before it."""
        regions = reversed(block.regions)
        for stmt in reversed(block.stmts):
            match stmt:
                case AssignStmt():
                    self._kill((stmt.var,))
                    self._revive(uses((stmt.value,)))
                case EvalStmt():
                    self._revive(uses((stmt.expr,)))
                case YieldStmt() | ReturnStmt():
                    self._revive(uses(stmt.value))
                case _:
                    self._region(next(regions))

    def _region(self, region: Region) -> None:
        match region.stmt:
            case ScopeStmt():
                self.block(region.blocks[0])
            case IfStmt() as stmt:
                self._kill(region.results)
                self._merge(region, {})
                self._branches(region)
                self._revive(uses((stmt.condition,)))
            case stmt:
                self._kill(region.results)
                self._merge(region, region.at_top)
                mark = self._live.mark()
                self._revive(region.at_top)
                self.block(region.blocks[0])
                self._live.undo(mark)
                self._revive(region.exposed)

    def _merge(self, region: Region, also_read: Vars) -> None:
        live = self._live.values
        found = [var for var in region.candidates if var in also_read or live.get(var)]
        region.merged = sorted(found, key=lambda var: var.name)
        for var in region.merged:
            self._counts[var.name] = self._counts.get(var.name, 0) + 1

    def _branches(self, region: Region) -> None:
        then, other = region.blocks
        mark = self._live.mark()
        self.block(then)
        touched = self._live.before(mark)
        live_in_then = [var for var in touched if self._live.values[var]]
        self._live.undo(mark)
        self.block(other)
        # What the else branch overwrites is live all the same if only the then branch keeps it.
        kept = [v for v, was in self._live.before(mark).items() if was and v not in touched]
        self._revive(live_in_then)
        self._revive(kept)


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
                f"a {type(stmt).__name__} stands before the end of its body",
                stmt.span,
                "yield at the end of a loop body or branch",
                slug="stray-yield",
            )
