"""Reads of uninitialized tiles.

A tile that ``create_tile`` makes is uninitialized. What is reported is certain: an error where no
path to the read writes the tile, a warning where one outcome of a condition leaves it
uninitialized, an error where a tile is stored whole and all parts ever put into it leave some of
its elements out. Tiles whose elements are written one by one, or scattered to, are not reported:
several such writes may fill them. Expects functions in SSA form with flattened calls. Knows no op
but those that make tiles, and stores: what an op reads is in its definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from pypto._src.analysis.affine import trip_count
from pypto._src.analysis.first_iteration import FirstIterations
from pypto._src.analysis.interval_sets import missing, union
from pypto._src.analysis.liveness import carried
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, call_of, points_in
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label, Span
from pypto._src.ir.array_types import TileType, same_dims, static_shape, valid_part
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    WhileStmt,
)
from pypto._src.lint.tile_puts import Put, Puts
from pypto._src.lint.uninitialized_iterations import Reads, uninitialized_reads
from pypto._src.ops import memory, new_tiles
from pypto._src.ops.rules.type_rules import called, dims
from pypto._src.records import NamedTuple

RULE: Final = "uninitialized-tile"
_ALWAYS: Final = 1 << 30
"""A depth that no block has."""


class _State(NamedTuple):
    """A tile that has no value: the statement that makes it, and when this state holds.

    It holds where no branch is open from the block at depth ``since`` on; with ``branch`` only if
    its condition has that ``outcome``. A state with ``later`` holds from the second iteration on of
    the loop whose body has that depth, where there is no branch in between.
    """

    origin: AssignStmt
    since: int = _ALWAYS
    branch: ProgramPoint | None = None
    outcome: bool = True
    later: bool = False


def uninitialized_tiles(function: Function, names: Mapping[Call, str]) -> list[Diagnostic]:
    """Return a finding for each tile that is read without a value; see the module.

    ``names`` maps calls to the names of their values in the source.
    """
    iterations = FirstIterations(function)
    makes_any = any(_makes(point) for point in points_in(iterations.root))
    if not makes_any:
        return []
    tiles = _Tiles(iterations, names)
    tiles.look()
    if any(point.is_loop for point in points_in(iterations.root)):
        tiles.look_at(uninitialized_reads(iterations, tiles.puts.copies))
    found = {**tiles.read_in_part, **tiles.found}
    return [each for origin, each in found.items() if origin not in tiles.filled]


def _makes(point: ProgramPoint) -> bool:
    call = call_of(point.stmt)
    return call is not None and call.op is new_tiles.create_tile


class _Tiles:
    def __init__(self, iterations: FirstIterations, names: Mapping[Call, str]) -> None:
        self.iterations = iterations
        self.names = names
        self.states: dict[Var, _State] = {}
        self.twice: dict[ProgramPoint, bool] = {}
        self.puts = Puts(iterations.root, iterations.integers)
        self.never, self.filled, self.partly = _never_filled_and_partly(iterations, self.puts.found)
        self.found: dict[AssignStmt, Diagnostic] = {}
        self.read_in_part: dict[AssignStmt, Diagnostic] = {}

    def look(self) -> None:
        """Find the reads in first iterations, and those that all iterations have in common."""
        pending = [*reversed(self.iterations.root.points)]
        after: set[ProgramPoint] = set()
        while pending:
            point = pending.pop()
            if not point.blocks:
                self._simple(point)
            elif point in after:
                self._leave(point)
            else:
                after.add(point)
                self._enter(point)
                pending.append(point)
                pending += [
                    inner for block in reversed(point.blocks) for inner in block.points[::-1]
                ]

    def look_at(self, reads: Reads) -> None:
        """Add the reads of other iterations; where ``reads`` is complete, drop what it lacks."""
        if reads.is_complete:
            self.found = {
                origin: found
                for origin, found in self.found.items()
                if origin in reads.found and found.span == reads.found[origin].span
            }
        spans = {found.span for found in self.found.values()}
        for origin, (reader, span, when) in reads.found.items():
            known = self.found.get(origin)
            if known is None and span in spans and not reads.is_complete:
                continue
            if known is None or known.severity is DiagnosticSeverity.Warning:
                found = self._finding(_State(origin), reader, span)
                text = f"{found.message} where {when}" if when else found.message
                self.found[origin] = found._replace(message=text)

    def _simple(self, point: ProgramPoint) -> None:
        stmt, call = point.stmt, call_of(point.stmt)
        op = None if call is None else op_of(call)
        is_read = op is not None and op.view_of is None and stmt not in self.puts.copies
        if call is not None and op is not None and is_read:
            for index in sorted(op.reads):
                if index < len(call.args):
                    self._read(point, call.args[index], called(op), call.span)
                    self._read_whole(point, call, call.args[index])
        if not isinstance(stmt, AssignStmt) or not isinstance(stmt.var.type, TileType):
            return
        source = aliased(stmt.value)
        if _makes(point):
            self.states[stmt.var] = _State(stmt)
        elif isinstance(source, Var):
            self._hand_on(stmt.var, self.states.get(source))

    def _hand_on(self, var: Var, state: _State | None) -> None:
        if var in self.never:
            self.states[var] = _State(self.never[var])
        elif state is not None:
            self.states[var] = state

    def _enter(self, point: ProgramPoint) -> None:
        for value in carried(point):
            arg = value.iter_arg
            if arg is None or not isinstance(arg.type, TileType):
                continue
            state = self._state(arg.initValue)
            depth = point.block.depth + 1
            if state is not None:
                state = state._replace(since=min(state.since, depth))
            elif value.yields and self._runs_twice(point):
                made = self._made_in(point.blocks[0], value.yields[0][1])
                state = None if made is None else made._replace(since=depth, later=True)
            self._hand_on(arg, state)

    def _made_in(self, body: Block, value: Expr, end: int | None = None) -> _State | None:
        """Return the tile that a loop's body yields, if its first iteration makes it.

        Considers the first ``end`` statements of the body, and branches whose outcome is decided by
        the iteration, or by the function's arguments.
        """
        var = aliased(value)
        for position in reversed(range(len(body.points) if end is None else end)):
            point = body.points[position]
            stmt = point.stmt
            if isinstance(stmt, AssignStmt) and stmt.var is var:
                if _makes(point):
                    return _State(stmt)
                var = aliased(stmt.value)
            elif isinstance(stmt, IfStmt) and any(each is var for each in stmt.return_vars):
                return self._made_in_branch(point, position, var)
        return None

    def _made_in_branch(
        self, point: ProgramPoint, position: int, var: Expr | None
    ) -> _State | None:
        """Return the state of ``var``, a result of the branch at ``position`` in its block."""
        [results] = [value.yields for value in carried(point) if value.return_var is var]
        arms: list[_State | None] = [None, None]
        for last, value in results:
            made = self._made_in(last.block, value) or self._made_in(point.block, value, position)
            arms[point.blocks.index(last.block)] = made
        outcome, stmt = self.iterations.outcomes[point], point.stmt
        assert isinstance(stmt, IfStmt)
        if outcome is not None:
            return arms[0 if outcome else 1]
        first, second = arms
        if first is not None and second is not None:
            return first if first.branch is None else second
        state = first or second
        if state is None or state.branch is not None or not self.iterations.is_free(stmt.condition):
            return None
        return state._replace(branch=point, outcome=first is not None)

    def _leave(self, point: ProgramPoint) -> None:
        never_runs = isinstance(point.stmt, ForStmt) and trip_count(point.stmt) == 0
        for value in carried(point):
            var = value.return_var
            if not isinstance(var.type, TileType):
                continue
            state = None
            if value.iter_arg is not None:
                ends = [value.iter_arg.initValue] if never_runs else [e for _, e in value.yields]
                state = self._state(ends[0]) if ends else None
                if state is not None and not never_runs and state.since < _ALWAYS:
                    state = None  # as it is in the first iteration
                if state is not None and not never_runs and point in self.iterations.uneven:
                    state = None if self._in_later(point) else self._in_first(point, state)
            elif isinstance(point.stmt, IfStmt):
                yields = {last.block: self._present(e) for last, e in value.yields}
                state = self._merged(point, [yields.get(block) for block in point.blocks])
            self._hand_on(var, state)

    def _in_later(self, loop: ProgramPoint) -> bool:
        """True if a loop may run only in later iterations of those around it."""
        [body] = loop.blocks
        return self.iterations.open[body] >= body.depth

    def _in_first(self, loop: ProgramPoint, state: _State) -> _State:
        """Return a state as it is when the loops around ``loop`` are in their first iterations."""
        return state._replace(since=min(state.since, loop.block.depth))

    def _merged(self, point: ProgramPoint, arms: list[_State | None]) -> _State | None:
        """Return the state of a branch's result, given what its arms yield."""
        outcome = self.iterations.outcomes[point]
        loop = self.iterations.loop[point.block]
        if outcome is not None:
            state = arms[0 if outcome else 1]
            if state is None:
                return self._otherwise(point, arms[1 if outcome else 0], not outcome)
            if loop is None:
                return state
            return state._replace(since=min(state.since, loop.block.depth + 1))
        uninitialized = [(i == 0, state) for i, state in enumerate(arms) if state is not None]
        depth = point.block.depth
        if len(uninitialized) == 1:
            [(outcome, state)] = uninitialized
            since = min(state.since, depth)
            if state.branch is None:
                return state._replace(since=since, branch=point, outcome=outcome)
            inside = state.branch.block.begin > point.begin
            return state._replace(since=since) if inside else None
        if uninitialized and all(state.branch is None for _, state in uninitialized):
            return uninitialized[0][1]._replace(
                since=min(state.since for _, state in uninitialized)
            )
        return None

    def _runs_twice(self, point: ProgramPoint) -> bool:
        """True if a loop certainly has a second iteration."""
        known = self.twice.get(point)
        if known is None:
            count = trip_count(point.stmt) if isinstance(point.stmt, ForStmt) else None
            known = self.twice[point] = (count or 0) > 1 and not any(
                isinstance(inner.stmt, BreakStmt | ReturnStmt)
                for inner in points_in(point.blocks[0])
            )
        return known

    def _otherwise(self, point: ProgramPoint, state: _State | None, outcome: bool) -> _State | None:
        """Return the result of a branch where a later iteration of a loop takes the other arm.

        ``state`` is what that arm yields.
        """
        if state is None or state.branch is not None:
            return None
        block = point.block
        while block.owner is not None and not isinstance(block.owner.stmt, IfStmt):
            loop = block.owner
            if self._runs_twice(loop) and self.iterations.later(loop, point) is outcome:
                return state._replace(since=min(state.since, block.depth), later=True)
            if loop in self.iterations.uneven:
                return None
            block = loop.block
        return None

    def _state(self, value: Expr) -> _State | None:
        source = aliased(value)
        return self.states.get(source) if isinstance(source, Var) else None

    def _present(self, value: Expr) -> _State | None:
        """Return the state of a tile as it is in first iterations."""
        state = self._state(value)
        return None if state is None or state.later else state

    def _read(self, point: ProgramPoint, value: Expr, reader: str, span: Span) -> None:
        state = self.states.get(value) if isinstance(value, Var) else None
        if state is None or not self.iterations.is_sure(point.block, state.since):
            return
        if self.iterations.trips[point.block] == 0:
            return  # it never does
        if state.later and self._in_branch(point.block, state.since):
            return
        known = self.found.get(state.origin)
        if known is None or (state.branch is None and known.severity is DiagnosticSeverity.Warning):
            self.found[state.origin] = self._finding(state, reader, span)

    def _read_whole(self, point: ProgramPoint, call: Call, value: Expr) -> None:
        """Note a store of a whole tile that parts were put into, but not everywhere.

        Other ops may compute with rows that nobody uses, and what is in a branch may never run.
        """
        missed = self.partly.get(value) if isinstance(value, Var) else None
        if missed is None or op_of(call) is not memory.store or call.args[3] in self.puts.made:
            return
        if self._may_not_run(point.block):
            return
        origin, place = missed
        found = self._finding(_State(origin), called(memory.store), call.span, place)
        self.read_in_part.setdefault(origin, found)

    def _may_not_run(self, block: Block) -> bool:
        """True for a block inside a branch, or inside a loop that may have no iteration."""
        if self.iterations.trips[block] == 0 or self._in_branch(block, 0):
            return True
        around = block.owner
        while around is not None and not isinstance(around.stmt, WhileStmt):
            around = around.block.owner
        return around is not None

    def _in_branch(self, block: Block, depth: int) -> bool:
        """True if a block is inside a branch, or a loop that may not run, below ``depth``."""
        while block.depth > depth and block.owner is not None:
            if isinstance(block.owner.stmt, IfStmt) or block.owner in self.iterations.uneven:
                return True
            block = block.owner.block
        return False

    def _finding(self, state: _State, reader: str, span: Span, place: str = "") -> Diagnostic:
        call = state.origin.value
        assert isinstance(call, Call)
        name = self.names.get(call, state.origin.var.name)
        made = Label(call.span, f"{name} is made here and has no value yet")
        if state.branch is None:
            text = f"{reader} reads {place}{name}, which is uninitialized"
            return Diagnostic(
                DiagnosticSeverity.Error, RULE, 0, text, span, related=(made,), hint=_hint(state)
            )
        condition = state.branch.stmt
        assert isinstance(condition, IfStmt)
        word = "holds" if state.outcome else "does not hold"
        return Diagnostic(
            DiagnosticSeverity.Warning,
            RULE,
            1,
            f"{reader} reads {name}, which is uninitialized where a condition {word}",
            span,
            related=(made, Label(condition.condition.span, "the condition")),
            hint=_hint(state),
        )


def _hint(state: _State) -> str | None:
    """Return a hint that makes the tile with a value, where tiles can be filled."""
    call, kind = state.origin.value, state.origin.var.type
    assert isinstance(call, Call)
    assert isinstance(kind, TileType)
    if new_tiles.create_tile.space_of(call) is not MemorySpace.Vec:
        return None
    if kind.dtype not in new_tiles.full.dtypes:
        return None
    zero = "0.0" if kind.dtype.is_float() else "0"
    return f"pl.full({dims(kind.shape)}, pl.{kind.dtype.member}, {zero})"


def _never_filled_and_partly(
    iterations: FirstIterations, puts: Mapping[Var, Put]
) -> tuple[dict[Var, AssignStmt], set[AssignStmt], dict[Var, tuple[AssignStmt, str]]]:
    """Return the tiles that are uninitialized on every path, with a statement that makes them.

    Also return the statements that make tiles whose elements others write, in place or in a copy,
    and the tiles that have only the parts put into them, with a place that all of these leave out.
    """
    sources: dict[Var, list[Expr]] = {}
    made: dict[Var, AssignStmt] = {}
    in_place: list[Expr] = []
    for point in points_in(iterations.root):
        stmt = point.stmt
        if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TileType):
            if _makes(point):
                made[stmt.var] = stmt
            else:
                sources[stmt.var] = [stmt.value]
                in_place += _scattered_to(stmt.value)
        elif isinstance(stmt, EvalStmt) and isinstance(stmt.expr, Call):
            op = op_of(stmt.expr)
            in_place += [] if op is None else [stmt.expr.args[at] for at in op.writes]
        for value in carried(point) if point.blocks else ():
            if isinstance(value.return_var.type, TileType):
                ends = [e for _, e in value.yields]
                if value.iter_arg is not None:
                    sources[value.iter_arg] = [value.iter_arg.initValue, *ends]
                    ends = [value.iter_arg.initValue, *ends]
                sources[value.return_var] = ends
    written = _written(made, sources)
    first = _first_of(made, sources)
    never = {var: origin for var, origin in first.items() if var not in written}
    filled = {first[var] for var in in_place if isinstance(var, Var) and var in first}
    if not puts:
        return never, filled, {}
    sources |= {var: [put.tile] for var, put in puts.items()}
    return never, filled, _partly_filled(made, sources, puts, {*in_place})


def _partly_filled(
    made: Mapping[Var, AssignStmt],
    sources: Mapping[Var, list[Expr]],
    puts: Mapping[Var, Put],
    in_place: Set[Expr],
) -> dict[Var, tuple[AssignStmt, str]]:
    """Return the tiles that have only parts, with a place that these leave out.

    A tile may have any part that is put into it, into a tile it may come from, or into one that
    may come from it.
    """
    neighbours: dict[Var, list[Var]] = {var: [] for var in (*made, *sources)}
    for var, values in sources.items():
        for source in map(aliased, values):
            if isinstance(source, Var) and source in neighbours:
                neighbours[var].append(source)
                neighbours[source].append(var)
    written = _written(made, sources)
    found: dict[Var, tuple[AssignStmt, str]] = {}
    seen: set[Var] = set()
    for start, origin in made.items():
        group: list[Var] = []
        pending = [start]
        while pending:
            var = pending.pop()
            if var not in seen:
                seen.add(var)
                group.append(var)
                pending += neighbours[var]
        place = _left_out(group, puts) if in_place.isdisjoint(group) else None
        if place is not None:
            alike = [var for var in group if var not in written and _alike(var, start)]
            found |= dict.fromkeys(alike, (origin, place))
    return found


def _left_out(group: Sequence[Var], puts: Mapping[Var, Put]) -> str | None:
    """Return where no part put into one of the tiles can be; None if that is not known."""
    covers = [puts[var].covers for var in group if var in puts]
    if not covers:
        return None
    kind = group[0].type
    assert isinstance(kind, TileType)
    shape = static_shape(kind)
    if shape is None or any(len(each) != len(shape) for each in covers):
        return None
    if not all(_alike(var, group[0]) for var in group if var in puts):
        return None
    for axis, size in enumerate(shape):
        left = missing((0, size), union([each[axis] for each in covers]))
        if left is not None:
            return f"{left[0]}:{left[1]} in dimension {axis} of "
    return None


def _alike(one: Var, other: Var) -> bool:
    """True for two tiles of one shape that are valid as a whole."""
    return (
        isinstance(one.type, TileType)
        and isinstance(other.type, TileType)
        and same_dims(one.type.shape, other.type.shape)
        and valid_part(one.type) is None
    )


def _scattered_to(value: Expr) -> list[Expr]:
    """Return the tile that an op copies with some elements replaced, as a list of at most one."""
    op = op_of(value)
    if not isinstance(value, Call) or op is None or op.overload != "scatter":
        return []
    names = [param.name for param in op.operands]
    return [value.args[names.index("dst" if "dst" in names else "input")]]


def _written(made: Iterable[Var], sources: Mapping[Var, list[Expr]]) -> set[Var]:
    """Return the tiles that anything other than ``made`` defines on some path."""
    users: dict[Var, list[Var]] = {}
    known = {*made, *sources}
    found: set[Var] = set()
    pending: list[Var] = []
    for var, values in sources.items():
        for value in values:
            source = aliased(value)
            if isinstance(source, Var) and source in known:
                users.setdefault(source, []).append(var)
            elif var not in found:
                found.add(var)
                pending.append(var)
    while pending:
        for user in users.get(pending.pop(), ()):
            if user not in found:
                found.add(user)
                pending.append(user)
    return found


def _first_of(
    made: Mapping[Var, AssignStmt], sources: Mapping[Var, list[Expr]]
) -> dict[Var, AssignStmt]:
    """Return for each tile one of the statements that it may come from."""
    found = dict(made)
    for var, values in sources.items():  # in textual order: a carried tile before its yield
        for value in values:
            source = aliased(value)
            if isinstance(source, Var) and source in found:
                found[var] = found[source]
                break
    return found
