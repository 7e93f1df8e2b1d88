"""When each tensor and tile variable is live, in the numbers of `regions`.

A statement numbered p reads at time 2p and writes at time 2p + 1, so that a result may take the
place of an operand which dies there: [.., 2p] and [2p + 1, ..] do not meet. A range is a sorted
list of closed, disjoint segments. It has holes where the value is not needed: in the other arm of
a branch, and in a loop between the last use of a carried value and its next definition.

Knows nothing of memory spaces or sizes, and never shares anything.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from pypto._src.ir.nodes import (
    Call,
    ConstFloat,
    ConstInt,
    Expr,
    IterArg,
    ShapedType,
    TileType,
    Var,
    same_dims,
)
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    WhileStmt,
    YieldStmt,
)
from pypto._src.ir.walk import uses
from pypto._src.ops.layout import is_whole
from pypto._src.passes.regions import Block, Site, call_of, read_by, sites_in

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

    def __len__(self) -> int:
        return len(self.begins)

    def __iter__(self) -> Iterator[Segment]:
        return iter(list(zip(self.begins, self.ends, strict=True)))

    def meets(self, other: Range) -> bool:
        """True if there is a time in both; takes time in the shorter one times a logarithm."""
        few, many = (self, other) if len(self) <= len(other) else (other, self)
        for begin, end in zip(few.begins, few.ends, strict=True):
            index = bisect_left(many.ends, begin)
            if index < len(many.begins) and many.begins[index] <= end:
                return True
        return False

    def absorb(self, other: Range) -> Range:
        """Add the times of ``other``; returns the longer object, changed."""
        few, many = (self, other) if len(self) <= len(other) else (other, self)
        for begin, end in zip(few.begins, few.ends, strict=True):
            many.add(begin, end)
        return many

    def add(self, begin: int, end: int) -> None:
        """Add one segment."""
        low = bisect_left(self.ends, begin - 1)
        high = low
        while high < len(self.begins) and self.begins[high] <= end + 1:
            begin, end = min(begin, self.begins[high]), max(end, self.ends[high])
            high += 1
        self.begins[low:high] = [begin]
        self.ends[low:high] = [end]


def is_data(expr: Expr) -> bool:
    """True for a value that lies in memory: a tensor or tile."""
    return isinstance(expr.type, ShapedType)


def may_overwrite(call: Call, index: int) -> bool:
    """True if the result of ``call`` may lie on the bytes of operand ``index``.

    The op has to allow it, and result and operand to agree in shape and element size, so that no
    element is written before it is read.
    """
    op, kind, result = op_of(call), call.args[index].type, call.type
    return (
        op is not None
        and index in op.in_place
        and isinstance(kind, TileType)
        and isinstance(result, TileType)
        and kind.dtype.bytes == result.dtype.bytes
        and same_dims(kind.shape, result.shape)
    )


def parts(root: Block) -> frozenset[Var]:
    """Return the tile variables that are parts of other tiles, and have only some of their bytes.

    Nothing may lie on the bytes of a part alone: whoever shares its buffer has it from the begin.
    """
    found: set[Var] = set()
    for site in sites_in(root):
        stmt = site.stmt
        if not isinstance(stmt, AssignStmt) or not isinstance(stmt.var.type, TileType):
            continue
        source = aliased(stmt.value)
        if isinstance(source, Var) and (source in found or not is_whole(source, stmt.var)):
            found.add(stmt.var)
    return frozenset(found)


def _reads(site: Site, partial: frozenset[Var]) -> list[tuple[Var, int]]:
    """Return the tensors and tiles that a statement itself reads, each with the time."""
    stmt, now = site.stmt, 2 * site.begin
    call = call_of(stmt)
    if call is None or not isinstance(call.type, TileType):
        return [(var, now) for var in _data_in(read_by(stmt))]
    found: list[tuple[Var, int]] = []
    for index, arg in enumerate(call.args):
        data = _data_in((arg,))
        if data:
            when = now if arg not in partial and may_overwrite(call, index) else now + 1
            found += [(var, when) for var in data]
    return found


def _data_in(exprs: Sequence[Expr]) -> list[Var]:
    """Return the tensors and tiles that occur in expressions."""
    found: list[Var] = []
    for expr in exprs:
        if isinstance(expr, Var):
            if is_data(expr):
                found.append(expr)
        elif not isinstance(expr, ConstInt | ConstFloat):
            found += [var for var in uses((expr,)) if is_data(var)]
    return found


class Carried:
    """One value that a loop carries or a branch hands on, with the places that write it.

    ``iter_arg`` is None for a branch. ``yields`` holds the yielding site and value of each block,
    ``position`` is that of the value among all that are yielded.
    """

    __slots__ = ("iter_arg", "position", "return_var", "site", "yields")

    def __init__(
        self, site: Site, iter_arg: IterArg | None, return_var: Var, position: int
    ) -> None:
        self.site = site
        self.position = position
        self.iter_arg = iter_arg
        self.return_var = return_var
        self.yields: list[tuple[Site, Expr]] = []
        for block in site.blocks:
            last = block.last_yield
            if last is not None and isinstance(last.stmt, YieldStmt):
                self.yields.append((last, last.stmt.value[position]))


def carried(site: Site) -> list[Carried]:
    """Return the tensors and tiles that a loop carries or a branch hands on, by position."""
    stmt = site.stmt
    if isinstance(stmt, ForStmt | WhileStmt):
        pairs = zip(stmt.iter_args, stmt.return_vars, strict=True)
        return [Carried(site, a, r, i) for i, (a, r) in enumerate(pairs) if is_data(a)]
    if isinstance(stmt, IfStmt):
        return [Carried(site, None, r, i) for i, r in enumerate(stmt.return_vars) if is_data(r)]
    return []


def definitions(function: Function, root: Block) -> Iterator[tuple[Var, Block, int]]:
    """Yield every tensor and tile variable with its block and the time of its definition.

    The order is that of the text; an iter_arg comes before what its loop holds, a return_var at
    the statement's place in that order, though its time is that of the end.
    """
    for param in function.params:
        if is_data(param):
            yield param, root, 0
    for site in sites_in(root):
        stmt = site.stmt
        if isinstance(stmt, AssignStmt) and is_data(stmt.var):
            yield stmt.var, site.block, 2 * site.begin + 1
        for value in carried(site) if site.blocks else ():
            if value.iter_arg is not None:
                yield value.iter_arg, site.blocks[0], 2 * site.begin + 1
            yield value.return_var, site.block, 2 * site.end + 1


class _Builder:
    def __init__(self) -> None:
        self.home: dict[Var, tuple[Block, int]] = {}
        self.reach: dict[Var, dict[Block, int]] = {}
        self.extra: dict[Var, list[Segment]] = {}

    def define(self, var: Var, block: Block, time: int) -> None:
        self.home[var] = (block, time)
        self.reach[var] = {block: time}

    def use(self, var: Var, block: Block, time: int) -> None:
        found = self.home.get(var)
        if found is None:
            return
        reach = self.reach[var]
        while reach.get(block, -1) < time:
            reach[block] = time
            owner = block.owner
            if block is found[0] or owner is None:
                return
            if owner.is_loop:  # the next turn reads it again
                reach[block] = 2 * block.end + 1
                time = 2 * owner.end
            else:
                time = 2 * owner.begin
            block = owner.block

    def range_of(self, var: Var) -> Range:
        block, defined = self.home[var]
        segments = [
            (defined if b is block else 2 * b.begin, last) for b, last in self.reach[var].items()
        ]
        return Range([*segments, *self.extra.get(var, ())])


def live_ranges(function: Function, root: Block) -> dict[Var, Range]:
    """Return the live range of every tensor and tile variable, in order of definition.

    What a yield hands on lives, under the name of the iter_arg or else the return_var, from the
    yield to the end of the statement.
    """
    builder = _Builder()
    for var, block, time in definitions(function, root):
        builder.define(var, block, time)
    partial = parts(root)
    for site in sites_in(root):
        for var, time in _reads(site, partial):
            builder.use(var, site.block, time)
        for value in carried(site) if site.blocks else ():
            holder = value.return_var if value.iter_arg is None else value.iter_arg
            spans = builder.extra.setdefault(holder, [])
            for last, _ in value.yields:
                end = site.end if site.is_loop else last.block.end
                spans.append((2 * last.begin + 1, 2 * end + 1))
    return {var: builder.range_of(var) for var in builder.home}


def peak(ranges: Sequence[tuple[Range, int]]) -> tuple[int, int]:
    """Return (bytes, time) of the first moment at which the sizes of live ranges sum highest."""
    changes: dict[int, int] = {}
    for range_, size in ranges:
        for begin, end in range_:
            changes[begin] = changes.get(begin, 0) + size
            changes[end + 1] = changes.get(end + 1, 0) - size
    best, when, now = 0, 0, 0
    for time in sorted(changes):
        now += changes[time]
        if now > best:
            best, when = now, time
    return best, when
