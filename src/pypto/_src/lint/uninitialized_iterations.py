"""Reads of uninitialized tiles, in any iteration of loops whose iterations are known.

Steps through a function as a run would: loops one iteration at a time, branches by their
conditions, up to a limit. Each finding is certain: the tile has no value where it is read, and
every run that makes the tile gets there. Expects functions in SSA form with flattened calls.
`uninitialized_tiles` finds what first iterations show. Knows no op but the one that makes tiles,
and those that put parts into them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from pypto._src.analysis.affine import Affine, combine
from pypto._src.analysis.first_iteration import FirstIterations
from pypto._src.analysis.iteration_accesses import iterations_text
from pypto._src.analysis.iteration_values import Values
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, call_of, points_in
from pypto._src.diagnostics import Span
from pypto._src.ir.array_types import TileType, is_integer
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    Stmt,
    WhileStmt,
    yielded,
)
from pypto._src.ir.types import ScalarType
from pypto._src.ops import new_tiles
from pypto._src.ops.rules.type_rules import called
from pypto._src.records import NamedTuple

_MOST_STEPS: Final = 20_000
"""How many statements of a function are stepped through at most."""


class UninitializedRead(NamedTuple):
    """A read of a tile without a value: what reads it, and when."""

    reader: str
    span: Span
    when: str  # the values of the loop variables around it then


class _State(NamedTuple):
    """A tile that has had no value on any path since; ``open`` branches were undecided then."""

    origin: AssignStmt
    open: int


_Now: TypeAlias = "list[tuple[Affine | None, _State | None]]"
"""What variables stand for: numbers, or tiles without a value."""


class _Stop(Exception):
    """The function may end, or has taken long enough."""


class Reads(NamedTuple):
    """The first read of each tile that has no value there, by the statement that makes it."""

    found: Mapping[AssignStmt, UninitializedRead]
    is_complete: bool  # every statement that runs was checked, so there are no other reads


def uninitialized_reads(iterations: FirstIterations, copies: Container[Stmt]) -> Reads:
    """Return the tiles that some iteration reads without a value.

    ``copies`` are the statements that store a tile for a part to be put into it: no such reads.
    """
    walk = _Walk(iterations, copies)
    with suppress(_Stop):
        walk.block(iterations.root)
    return Reads(walk.found, walk.is_complete)


class _Walk:
    """Steps through one function; ``open`` counts the enclosing branches of unknown outcome."""

    def __init__(self, iterations: FirstIterations, copies: Container[Stmt]) -> None:
        self.iterations = iterations
        self.copies = copies
        home, loop = iterations.integers.home, iterations.loop
        self.values = Values(iterations.integers, lambda v: v in home and loop[home[v]] is None)
        self.states: dict[Var, _State] = {}
        self.found: dict[AssignStmt, UninitializedRead] = {}
        self.around: list[tuple[Var, Affine]] = []  # the loops that are open
        self.open = 0
        self.steps = 0
        self.is_complete = True

    def block(self, block: Block) -> bool:
        """Step through a block; False if it is left before its end, or may be."""
        for point in block.points:
            self._step()
            if not self._point(point):
                return False
        return True

    def _step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            self.is_complete = False
            raise _Stop

    def _point(self, point: ProgramPoint) -> bool:
        stmt = point.stmt
        match stmt:
            case ForStmt():
                self._loop(point, stmt)
            case WhileStmt():
                self._while(point, stmt)
            case IfStmt():
                return self._branch(point, stmt)
            case BreakStmt() | ContinueStmt():
                self.is_complete = False
                return False
            case ReturnStmt():
                raise _Stop
            case _ if point.blocks:
                return self.block(point.blocks[0])
            case _:
                self._simple(point)
        return True

    def _simple(self, point: ProgramPoint) -> None:
        stmt, call = point.stmt, call_of(point.stmt)
        op = None if call is None else op_of(call)
        is_read = op is not None and op.view_of is None and stmt not in self.copies
        if call is not None and op is not None and is_read:
            for index in sorted(op.reads):
                if index < len(call.args):
                    self._read(call.args[index], called(op), call.span)
        if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TileType):
            made = op is new_tiles.create_tile
            self._set(stmt.var, _State(stmt, self.open) if made else self._state(stmt.value))

    def _read(self, value: Expr, reader: str, span: Span) -> None:
        state = self.states.get(value) if isinstance(value, Var) else None
        if state is not None and self.open <= state.open:
            self.found.setdefault(
                state.origin, UninitializedRead(reader, span, iterations_text(tuple(self.around)))
            )

    def _state(self, value: Expr) -> _State | None:
        source = aliased(value)
        return self.states.get(source) if isinstance(source, Var) else None

    def _set(self, var: Var, state: _State | None) -> None:
        if state is None:
            self.states.pop(var, None)
        else:
            self.states[var] = state

    def _forget(self, variables: Sequence[Var]) -> None:
        for var in variables:
            self._take(var, None, None)

    def _take(self, var: Var, number: Affine | None, state: _State | None) -> None:
        """Set what a variable stands for from now on."""
        if isinstance(var.type, ScalarType):
            self.values.let(var, number)
        elif isinstance(var.type, TileType):
            self._set(var, state)

    def _values_of(self, values: Sequence[Expr], block: Block) -> _Now:
        return [
            (self.values.of(v, block) if is_integer(v) else None, self._state(v)) for v in values
        ]

    # ----- loops --------------------------------------------------------------------------------

    def _loop(self, point: ProgramPoint, stmt: ForStmt) -> None:
        [body] = point.blocks
        begin, iterations, ends = self._iterations(point, stmt)
        now = self._values_of([arg.initValue for arg in stmt.iter_args], point.block)
        for distance in iterations:
            number = combine(begin, Affine(distance, {}), 1)
            self.values.let(stmt.loop_var, number)
            self._take_all(stmt.iter_args, now)
            self.around.append((stmt.loop_var, number))
            is_whole = self.block(body)
            self.around.pop()
            if not is_whole:
                ends = False
                break
            now = self._values_of(yielded(stmt.body), body)
        self._leave(point, stmt, now if ends else None)

    def _while(self, point: ProgramPoint, stmt: WhileStmt) -> None:
        [body] = point.blocks
        now = self._values_of([arg.initValue for arg in stmt.iter_args], point.block)
        while True:
            self._step()
            self._take_all(stmt.iter_args, now)
            runs = self.values.decide(stmt.condition, body)
            if not runs or not self.block(body):
                break
            now = self._values_of(yielded(stmt.body), body)
        self.is_complete = self.is_complete and runs is not None
        self._leave(point, stmt, now if runs is False else None)

    def _take_all(self, variables: Sequence[Var], found: _Now) -> None:
        for var, each in zip(variables, found, strict=True):
            self._take(var, *each)

    def _leave(self, point: ProgramPoint, stmt: ForStmt | WhileStmt, now: _Now | None) -> None:
        """Leave a loop with the values that it carries, None where it may have ended elsewhere."""
        if now is None and _holds(point, ReturnStmt):
            raise _Stop
        if now is None or len(now) != len(stmt.return_vars):
            self._forget(stmt.return_vars)
        else:
            self._take_all(stmt.return_vars, now)

    def _iterations(self, point: ProgramPoint, stmt: ForStmt) -> tuple[Affine, Sequence[int], bool]:
        """Return the variable's start, its distances from it, and whether that is all iterations.

        A loop with bounds that no iteration changes is assumed to run.
        """
        bounds = (stmt.start, stmt.stop, stmt.step)
        start, stop, step = [self.values.of(each, point.block) for each in bounds]
        if start is None or stop is None or step is None:
            self.is_complete = False
            return Affine(0, {}), (), False
        length = combine(stop, start, -1)
        if not length.terms and not step.terms and step.constant:
            return start, range(0, length.constant, step.constant), True
        self.is_complete = False
        is_even = point not in self.iterations.uneven
        return start, (0,) if is_even else (), False

    # ----- branches -----------------------------------------------------------------------------

    def _branch(self, point: ProgramPoint, stmt: IfStmt) -> bool:
        taken = self.values.decide(stmt.condition, point.block)
        if taken is not None:
            body = stmt.then_body if taken else stmt.else_body
            arm = 0 if taken else 1
            if arm < len(point.blocks) and not self.block(point.blocks[arm]):
                return False
            for var, found in zip(
                stmt.return_vars, self._values_of(yielded(body), point.block), strict=False
            ):
                self._take(var, *found)
            return True
        ends = True
        self.is_complete = False
        arms: list[list[_State | None]] = []
        self.open += 1
        for block, body in zip(point.blocks, (stmt.then_body, stmt.else_body), strict=False):
            before = dict(self.states)
            ends = self.block(block) and ends
            arms.append([state for _, state in self._values_of(yielded(body), block)])
            self.states = before
        self.open -= 1
        for i, var in enumerate(stmt.return_vars):
            states = [arm[i] for arm in arms if i < len(arm)]
            state = states[0] if len(states) == 2 and None not in states else None
            self._take(var, None, None if state is None else state._replace(open=self.open))
        return ends


def _holds(point: ProgramPoint, *kinds: type) -> bool:
    return any(
        isinstance(inner.stmt, kinds) for block in point.blocks for inner in points_in(block)
    )
