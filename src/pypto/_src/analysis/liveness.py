"""When each tile is live, in the numbering of `stmt_tree`.

A statement numbered p reads at time 2p and writes at time 2p + 1, so that a result may reuse the
buffer of an operand that dies there: [.., 2p] and [2p + 1, ..] do not overlap. A range is a sorted
list of closed, disjoint segments. It has holes where the value is not needed: in the other arm of
a branch, and in a loop between the last use of a carried value and its next definition.

Knows nothing about memory spaces or sizes, and never makes tiles share a buffer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pypto._src.analysis.stmt_tree import Block, ProgramPoint, points_in, read_by
from pypto._src.ir.array_types import ShapedType, TileType, same_dims
from pypto._src.ir.exprs import Call, ConstFloat, ConstInt, Expr, IterArg, MakeTuple, Op, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    SIMPLE,
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
)
from pypto._src.ir.traversal.queries import stmts_in, uses
from pypto._src.ir.types import Type
from pypto._src.ops.layout import is_whole

Segment = tuple[int, int]


class Range:
    """A set of times as sorted, disjoint, closed segments."""

    __slots__ = ("begins", "ends")

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []
        for begin, end in sorted(segments):
            if self.ends and begin <= self.ends[-1] + 1:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.begins.append(begin)
                self.ends.append(end)

    @staticmethod
    def of(begin: int, end: int) -> Range:
        """Return the range of one segment."""
        made = _new_range(Range)
        made.begins, made.ends = [begin], [end]
        return made

    def copy(self) -> Range:
        """Return a copy, for callers that add to it."""
        made = self.__class__.__new__(self.__class__)
        made.begins, made.ends = self.begins[:], self.ends[:]
        return made

    def __len__(self) -> int:
        return len(self.begins)

    def __iter__(self) -> Iterator[Segment]:
        return iter(list(zip(self.begins, self.ends, strict=True)))

    def meets(self, other: Range) -> bool:
        """True if the ranges overlap, in O(n log m), n being the segments of the shorter one."""
        few, many = (self, other) if len(self.begins) <= len(other.begins) else (other, self)
        begins, ends = many.begins, many.ends
        if not few.begins or ends[-1] < few.begins[0]:
            return False
        if begins[-1] <= few.begins[0]:  # the last one is the most frequent case
            return True
        for at, begin in enumerate(few.begins):
            index = bisect_left(ends, begin)
            if index < len(begins) and begins[index] <= few.ends[at]:
                return True
        return False

    def absorb(self, other: Range) -> Range:
        """Return the union; this may change ``self``, but not ``other``."""
        if len(self.begins) < len(other.begins):
            self, other = other.copy(), self
        for at, begin in enumerate(other.begins):
            self.add(begin, other.ends[at])
        return self

    def add(self, begin: int, end: int) -> None:
        """Add one segment."""
        if not self.ends or begin > self.ends[-1] + 1:
            self.begins.append(begin)
            self.ends.append(end)
            return
        if begin >= self.begins[-1]:
            self.ends[-1] = end if end > self.ends[-1] else self.ends[-1]
            return
        low = bisect_left(self.ends, begin - 1)
        high = low
        while high < len(self.begins) and self.begins[high] <= end + 1:
            begin, end = min(begin, self.begins[high]), max(end, self.ends[high])
            high += 1
        self.begins[low:high] = [begin]
        self.ends[low:high] = [end]


_new_range: Final = Range.__new__


def is_data(expr: Expr) -> bool:
    """True for a value that is in memory: a tensor or tile."""
    return isinstance(expr.type, ShapedType)


def may_overwrite(operand: Type, result: Type) -> bool:
    """True if a result may reuse the bytes of an operand, as far as their types matter.

    They must agree in shape and element size, so that no element is written before it is read.
    Whether the op allows it at all is in `OpDef.in_place`.
    """
    if operand.__class__ is not TileType or result.__class__ is not TileType:
        return False
    a: Any = operand
    b: Any = result
    return (a.shape is b.shape or same_dims(a.shape, b.shape)) and (
        a.dtype is b.dtype or a.dtype.bytes == b.dtype.bytes
    )


_NUMBERS: Final = frozenset({ConstInt, ConstFloat})
_ATOMS: Final = _NUMBERS | {Var}
_NOTHING: Final[frozenset[int]] = frozenset()


class Carried:
    """One value that a loop carries or a branch merges, with the yields that write it.

    ``iter_arg`` is None for a branch. ``yields`` holds the yielding point and value of each block,
    ``position`` is the index of the value among the yielded ones.
    """

    __slots__ = ("iter_arg", "point", "position", "return_var", "yields")

    def __init__(
        self, point: ProgramPoint, iter_arg: IterArg | None, return_var: Var, position: int
    ) -> None:
        self.point = point
        self.position = position
        self.iter_arg = iter_arg
        self.return_var = return_var
        self.yields: list[tuple[ProgramPoint, Expr]] = []
        for block in point.blocks:
            last = block.last_yield
            if last is not None and isinstance(last.stmt, YieldStmt):
                self.yields.append((last, last.stmt.value[position]))


def carried(point: ProgramPoint) -> list[Carried]:
    """Return the tensors and tiles that a loop carries or a branch merges, by position."""
    stmt = point.stmt
    if isinstance(stmt, ForStmt | WhileStmt):
        pairs = zip(stmt.iter_args, stmt.return_vars, strict=True)
        return [Carried(point, a, r, i) for i, (a, r) in enumerate(pairs) if is_data(a)]
    if isinstance(stmt, IfStmt):
        return [Carried(point, None, r, i) for i, r in enumerate(stmt.return_vars) if is_data(r)]
    return []


def definitions(function: Function, root: Block) -> Iterator[tuple[Var, Block, int]]:
    """Yield every tensor and tile variable with its block and the time of its definition.

    The order is that of the text; an iter_arg comes before the contents of its loop, a return_var
    at the statement's position in that order, though its time is that of the end.
    """
    for param in function.params:
        if is_data(param):
            yield param, root, 0
    for point in points_in(root):
        stmt = point.stmt
        if isinstance(stmt, AssignStmt):
            if isinstance(stmt.var.type, ShapedType):
                yield stmt.var, point.block, 2 * point.begin + 1
        elif point.blocks:
            yield from _carried_definitions(carried(point))


def defined(function: Function) -> list[Var]:
    """Return the variables of `definitions`, without their blocks and times."""
    found: list[Var] = [*function.params]
    stmts: Any = stmts_in(function.body)
    for stmt in stmts:
        if stmt.__class__ is AssignStmt:
            found.append(stmt.var)
        elif stmt.__class__ not in SIMPLE:
            found += _handed_on(stmt)
    return [var for var in found if isinstance(var.type, ShapedType)]


def _handed_on(stmt: Stmt) -> Iterable[Var]:
    if isinstance(stmt, ForStmt | WhileStmt):
        return [v for pair in zip(stmt.iter_args, stmt.return_vars, strict=True) for v in pair]
    return stmt.return_vars if isinstance(stmt, IfStmt) else ()


def _carried_definitions(values: Sequence[Carried]) -> Iterator[tuple[Var, Block, int]]:
    for value in values:
        point = value.point
        if value.iter_arg is not None:
            yield value.iter_arg, point.blocks[0], 2 * point.begin + 1
        yield value.return_var, point.block, 2 * point.end + 1


class Lifetimes:
    """The live ranges of a function's tiles, found in one walk.

    ``ranges`` are in order of definition. A yielded value is live, under the name of the iter_arg
    or else the return_var, from the yield to the end of the statement.

    ``parts`` are the tiles that are parts of other tiles, and have only some of their bytes.
    Nothing may reuse the bytes of a part alone: a tile shares a buffer from its beginning.
    """

    def __init__(self, function: Function, root: Block) -> None:
        # A variable is needed from its definition on in its block, and in nested blocks.
        self._home: dict[Any, Block] = {}
        self._begin: dict[Var, int] = {}
        self._last: dict[Var, int] = {}
        self._below: dict[Var, dict[Block, int]] = {}  # the last use in each nested block
        self._extra: dict[Var, Sequence[Segment]] = {}
        self._facts: dict[Op, tuple[frozenset[int], int | None]] = {}
        self.parts: set[Var] = set()
        for param in function.params:
            if param.type.__class__ is TileType:
                self._define(param, root, 0)
        home, begins, last = self._home, self._begin, self._last
        for point in points_in(root):
            stmt: Any = point.stmt
            block, now = root if root.is_flat else point.block, 2 * point.begin
            if stmt.__class__ is not AssignStmt:
                for expr in read_by(stmt):
                    self._read(expr, block, now)
                if point.blocks:
                    self._carry(point)
                continue
            var = stmt.var
            source = self._read(stmt.value, block, now)
            if var.type.__class__ is TileType:
                if source is not None:
                    self._note_part(source, var)
                home[var] = block
                begins[var] = last[var] = now + 1
        self.ranges = {var: Range.of(begin, last[var]) for var, begin in begins.items()}
        for var in (*self._below, *self._extra):
            self.ranges[var] = self._range(var)

    def _define(self, var: Var, block: Block, time: int) -> None:
        self._home[var] = block
        self._begin[var] = self._last[var] = time

    def _range(self, var: Var) -> Range:
        """Return the range of a variable that is needed outside its own block."""
        below = [(2 * block.begin, last) for block, last in self._below.get(var, {}).items()]
        first = self._begin[var], self._last[var]
        return Range([first, *below, *self._extra.get(var, ())])

    def _note_part(self, source: Expr, var: Var) -> None:
        """Record ``var``, which has bytes of ``source``, as a part if it is not the whole tile."""
        if isinstance(source, Var) and (source in self.parts or not is_whole(source, var)):
            self.parts.add(var)

    def _read(self, expr: Any, block: Block, now: int) -> Expr | None:
        """Record what an expression reads; return the value whose bytes it aliases, if any.

        It reads when its statement begins. If it makes a tile, it reads until that is made, except
        the operands whose bytes the tile may reuse.
        """
        if expr.__class__ is not Call:
            self._use((expr,), block, now)
            return expr
        kind = expr.type
        is_tile = kind.__class__ is TileType
        done = now + 1 if is_tile else now
        in_place, view_of = self._facts.get(expr.op) or self._facts_of(expr)
        home, last = self._home, self._last
        for index, arg in enumerate(expr.args):
            known = last.get(arg)
            if known is None:  # no tile
                cls = arg.__class__
                if cls is MakeTuple:
                    if not _NUMBERS.issuperset(map(type, arg.elements)):
                        self._use(arg.elements, block, done)
                elif cls not in _ATOMS:
                    self._use((arg,), block, done)
                continue
            time = done
            if index in in_place and is_tile:
                other = arg.type
                if (other is kind or may_overwrite(other, kind)) and arg not in self.parts:
                    time = now
            if home[arg] is not block:
                self._use_from(arg, home[arg], block, time)
            elif known < time:
                last[arg] = time
        return None if view_of is None else expr.args[view_of]

    def _facts_of(self, call: Call) -> tuple[frozenset[int], int | None]:
        """Return the operands whose bytes the result may reuse, and the one that it aliases."""
        op = op_of(call)
        found = (_NOTHING, None) if op is None else (op.in_place, op.view_of)
        if op is not None and op.with_scratch is None:  # else it holds for this form of call only
            self._facts[call.op] = found
        return found

    def _use(self, exprs: Sequence[Expr], block: Block, time: int) -> None:
        for var in uses(exprs):
            home = self._home.get(var)
            if home is not None:
                self._use_from(var, home, block, time)

    def _use_from(self, var: Var, home: Block, block: Block, time: int) -> None:
        """Extend a live range to a time in ``block``, and accordingly in the blocks around it."""
        if block is not home:
            time = _use_below(home, block, time, self._below.setdefault(var, {}))
        if time > self._last[var]:
            self._last[var] = time

    def _carry(self, point: ProgramPoint) -> None:
        values = [v for v in carried(point) if v.return_var.type.__class__ is TileType]
        for var, block, time in _carried_definitions(values):
            self._define(var, block, time)
        for value in values:
            holder = value.return_var if value.iter_arg is None else value.iter_arg
            ends = [point.end if point.is_loop else last.block.end for last, _ in value.yields]
            self._extra[holder] = [
                (2 * last.begin + 1, 2 * end + 1)
                for (last, _), end in zip(value.yields, ends, strict=True)
            ]


def _use_below(home: Block, block: Block, time: int, below: dict[Block, int]) -> int:
    """Extend a live range in nested blocks; return the corresponding time in its own block."""
    while block is not home and below.get(block, -1) < time:
        below[block] = time
        owner = block.owner
        if owner is None:
            return 0
        if owner.is_loop:  # the next iteration reads it again
            below[block] = 2 * block.end + 1
            time = 2 * owner.end
        else:
            time = 2 * owner.begin
        block = owner.block
    return time if block is home else 0


def peak(ranges: Sequence[tuple[Range, int]]) -> tuple[int, int]:
    """Return (bytes, time) of the first moment at which the total size of live ranges peaks."""
    changes: dict[int, int] = {}
    for range_, size in ranges:
        for begin, end in zip(range_.begins, range_.ends, strict=True):
            changes[begin] = changes.get(begin, 0) + size
            changes[end + 1] = changes.get(end + 1, 0) - size
    best, when, now = 0, 0, 0
    for time in sorted(changes):
        now += changes[time]
        if now > best:
            best, when = now, time
    return best, when
