"""Loops over the tiles of tensors in global memory, and the loads and stores in them.

A dimension of known size is cut into tiles of one size. One whose size is known only at run time
may be smaller than any tile: it has several tile sizes, the last of which is 1. The largest that
fits is used, or each size in turn where tiles must not overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import LARGEST, DataType
from pypto._src.ir.array_types import TensorType, TileType, same_dims
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import (
    Call,
    ConstFloat,
    ConstInt,
    Expr,
    FloorDiv,
    Ge,
    IterArg,
    MakeTuple,
    Min,
    Mul,
    Sub,
    Var,
    binary,
    const_value,
)
from pypto._src.ir.opdef import aliased
from pypto._src.ir.stmts import AssignStmt, ForStmt, IfStmt, Stmt, YieldStmt, seq
from pypto._src.ir.types import scalar_type
from pypto._src.ops import elementwise, layout, memory, new_tiles, reshaping
from pypto._src.ops.promotion.casts import SIGNED_OF
from pypto._src.ops.rules.type_rules import known_size

_INDEX: Final = scalar_type(DataType.INDEX)
Name = Callable[[str], str]
"""Returns a new name similar to the given one."""
Views = dict[Var, tuple[Var, Sequence[Expr]]]
"""Views of tensors: by view, the tensor and the offsets in it."""


class Builder:
    """Collects statements, with the span of the op that they come from.

    ``views`` has the tensor of each view, and its offsets in that.
    """

    def __init__(self, name: Name, span: Span, views: Views | None = None) -> None:
        self.name = name
        self.span = span
        self.stmts: list[Stmt] = []
        self.views = {} if views is None else views

    def let(self, name: str, value: Expr) -> Var:
        """Append an assignment of ``value`` to a new variable; return the variable."""
        var = Var(self.name(name), value.type, self.span)
        self.stmts.append(AssignStmt(var, value, self.span))
        return var

    def inner(self) -> Builder:
        """Return a builder for a nested body."""
        return Builder(self.name, self.span, self.views)

    def loop(
        self,
        name: str,
        bounds: tuple[Any, Any, Any],
        carried: Sequence[Var],
        body: Callable[[Builder, Var, list[Var]], Sequence[Var]],
    ) -> list[Var]:
        """Append a loop that carries variables; return them as they are after it."""
        counter = Var(self.name(name), _INDEX, self.span)
        args = [IterArg(self.name(f"{v.name}_iter"), v.type, v, self.span) for v in carried]
        inside = self.inner()
        values = body(inside, counter, list(args))
        results = [Var(self.name(v.name), v.type, self.span) for v in carried]
        if values:
            inside.stmts.append(YieldStmt(list(values), self.span))
        self.stmts.append(
            ForStmt(counter, *bounds, args, seq(inside.stmts, self.span), results, self.span)
        )
        return results

    def branch(
        self,
        condition: Expr,
        carried: Sequence[Var],
        bodies: Sequence[Callable[[Builder, list[Var]], Sequence[Var]]],
    ) -> list[Var]:
        """Append a branch whose two bodies write the carried tensors; return these after it."""
        arms: list[Stmt] = []
        for body in bodies:
            inside = self.inner()
            values = body(inside, list(carried))
            if values:
                inside.stmts.append(YieldStmt(list(values), self.span))
            arms.append(seq(inside.stmts, self.span))
        results = [Var(self.name(v.name), v.type, self.span) for v in carried]
        self.stmts.append(IfStmt(condition, arms[0], arms[1], results, self.span))
        return results


def begin_of(b: Builder, counter: Var, dim: Expr, size: int) -> Expr:
    """Return the offset of an iteration's tile: the last tile ends with the tensor."""
    known = known_size(dim)
    if size == 1 or (known is not None and known % size == 0):
        return counter
    last = binary(Sub, dim, size, b.span) if known is None else ConstInt(known - size)
    return b.let(f"{counter.name}_at", binary(Min, counter, last, b.span))


def plus(a: Expr, b: Expr) -> Expr:
    if const_value(a) == 0:
        return b
    return a if const_value(b) == 0 else a + b


def product(sizes: Sequence[Expr]) -> Expr:
    """Return the product of sizes, a number if all of them are."""
    known = math.prod(const_value(size) or 1 for size in sizes)
    if any(const_value(size) == 0 for size in sizes):
        return ConstInt(0)
    found: Expr = ConstInt(known)
    for size in sizes:
        if const_value(size) is None:
            found = size if const_value(found) == 1 else found * size
    return found


def tensors_of(call: Call) -> list[Var]:
    """Return the operands of a call that are tensors."""
    return [a for a in call.args if isinstance(a, Var) and isinstance(a.type, TensorType)]


def tensor_type(var: Expr) -> TensorType:
    """Return the type of a tensor expression."""
    assert isinstance(var.type, TensorType)
    return var.type


def load_tile(b: Builder, source: Var, offsets: Sequence[Expr], sizes: Sequence[int]) -> Var:
    name = source.name
    while source in b.views and const_value(tensor_type(source).shape[-1]) == 1:
        # A column's type does not show the stride of its elements; the whole tensor's does.
        source, begin = b.views[source]
        offsets = [plus(first, at) for first, at in zip(begin, offsets, strict=True)]
    call = memory.load.build((source, MakeTuple(offsets), MakeTuple(sizes)), {}, b.span)
    return b.let(f"{name}_tile", call)


def shaped(b: Builder, tile: Var, shape: Sequence[int]) -> Var:
    """Return ``tile`` with another shape for the same elements."""
    assert isinstance(tile.type, TileType)
    if same_dims(tile.type.shape, [ConstInt(n) for n in shape]):
        return tile
    return b.let(tile.name, reshaping.reshape.build((tile, MakeTuple(shape)), {}, b.span))


def store_tile(
    b: Builder, tile: Var, offsets: Sequence[Expr], sizes: Sequence[int], target: Var
) -> Var:
    assert isinstance(tile.type, TileType)
    if layout.is_column(tile.type) and sizes[-1] != 1:  # it is a row of the target
        tile = shaped(b, tile, [1, sizes[-1]])
    operands = (tile, MakeTuple(offsets), MakeTuple(sizes), target)
    return b.let(target.name, memory.store.build(operands, {}, b.span))


def filled(b: Builder, shape: Sequence[int], dtype: DataType, value: float) -> Var:
    """Append a tile that is filled with a number, which may be infinite.

    Unsigned tiles are filled through signed ones. The emitted texts have no constant for infinity,
    which is computed as twice the largest number.
    """
    signed = SIGNED_OF.get(dtype, dtype)
    number: Expr = ConstFloat(value, signed)
    if not dtype.is_float():
        below = signed is dtype or value < 1 << (dtype.get_bit() - 1)
        number = ConstInt(int(value) - (0 if below else 1 << dtype.get_bit()), signed)
    elif math.isinf(value):
        number = ConstFloat(math.copysign(LARGEST[dtype], value), dtype)
    tile = b.let("filled", new_tiles.full.build((MakeTuple(shape), signed, number), {}, b.span))
    if dtype.is_float() and math.isinf(value):
        tile = b.let("filled", elementwise.muls.build((tile, ConstFloat(2.0, dtype)), {}, b.span))
    return tile if signed is dtype else b.let("filled", reshaping.reread(tile, dtype))


def bytes_at_peak(stmts: Sequence[Stmt]) -> int:
    """Return the peak bytes of vector memory that straight-line statements use at once."""
    owner: dict[Var, Var] = {}
    last: dict[Var, int] = {}
    size: dict[Var, int] = {}
    first: dict[Var, int] = {}
    for index, stmt in enumerate(stmts):
        assert isinstance(stmt, AssignStmt)
        if isinstance(stmt.value, Call):
            for arg in stmt.value.args:
                if isinstance(arg, Var) and arg in owner:
                    last[owner[arg]] = index
        kind = stmt.var.type
        if isinstance(kind, TileType):
            source = aliased(stmt.value)
            home = owner.get(source) if isinstance(source, Var) else None
            owner[stmt.var] = stmt.var if home is None else home
            if home is None:
                size[stmt.var] = layout.alloc_bytes(kind, MemorySpace.Vec)
                first[stmt.var] = last[stmt.var] = index
    changes = [0] * (len(stmts) + 2)
    for var, count in size.items():
        changes[first[var]] += count
        changes[last[var] + 1] -= count
    best = now = 0
    for change in changes:
        now += change
        best = max(best, now)
    return best


# --------------------------------------------------------------------------------------------
# Sizes of tiles
# --------------------------------------------------------------------------------------------


def divisors(count: int) -> list[int]:
    """Return the divisors of ``count``, the largest first."""
    small = [d for d in range(1, int(count**0.5) + 1) if count % d == 0]
    return sorted({*small, *(count // d for d in small)}, reverse=True)


def halves(count: int) -> list[int]:
    """Return the sizes of 1, 2, 4, ... equal parts of ``count``, the largest first.

    They are rounded up, so that the parts cover it, and the last overlaps the one before least.
    """
    return sorted({-(-count // (1 << k)) for k in range(count.bit_length() + 1)}, reverse=True)


_MIDDLE: Final = 16
"""Middle tile size, at least a block, where a run-time dimension is smaller than the best one."""


def steps(dim: Expr, best: int, unit: int) -> tuple[int, ...]:
    """Return sizes of tiles along a dimension, each a multiple of the next: ``best`` and less.

    One size is enough for a dimension of known size.
    """
    if known_size(dim) is not None or best == 1:
        return (best,)
    middle = max(unit, _MIDDLE)
    return (best, middle, 1) if middle < best and best % middle == 0 else (best, 1)


Along = Callable[[Builder, Expr, int, list[Var]], list[Var]]
"""Appends the work of a tile at an offset, of a size; gets and returns the targets."""


def along(
    b: Builder,
    name: str,
    dim: Expr,
    sizes: Sequence[int],
    targets: Sequence[Var],
    body: Along,
    *,
    overlap: bool = True,
    first: int = 0,
) -> list[Var]:
    """Append loops over tiles that cover a dimension; return the targets after them.

    With ``overlap`` the last tile ends with the dimension and may overlap the one before; without
    it the rest of a known dimension is a smaller tile, and the ``first`` elements are skipped.
    """
    now = list(targets)
    if const_value(dim) == sizes[0]:
        return now if first else body(b, ConstInt(0), sizes[0], now)
    if overlap:
        return _overlapping(b, name, dim, sizes, now, body)
    known, begin, end = known_size(dim), _index(first), _index(first)
    for size in sizes:
        end = _multiple(b, dim, size)
        if known is None or (const_value(end) or 0) > first:
            now = _counted(b, name, (begin, end, size), now, body)
        begin = end
    rest = 0 if known is None else known - (const_value(end) or 0)
    return body(b, end, rest, now) if rest else now


InTile = Callable[[Builder, Sequence[Expr], Sequence[int], list[Var]], list[Var]]
"""Appends the work of a tile at offsets, of sizes; gets and returns the targets."""


def nest(
    b: Builder,
    space: Sequence[Expr],
    sizes: Sequence[Sequence[int]],
    targets: Sequence[Var],
    body: InTile,
    names: Sequence[str] = (),
    *,
    overlap: bool = True,
) -> list[Var]:
    """Append loops over tiles that cover a space; return the targets after them.

    Each dimension has tile sizes as `along` takes them.
    """

    def level(
        b: Builder, offsets: tuple[Expr, ...], widths: tuple[int, ...], now: list[Var]
    ) -> list[Var]:
        axis = len(offsets)
        if axis == len(space):
            return body(b, offsets, widths, now)

        def inner(inside: Builder, begin: Expr, size: int, held: list[Var]) -> list[Var]:
            return level(inside, (*offsets, begin), (*widths, size), held)

        name = names[axis] if names else "row" if axis < len(space) - 1 else "col"
        return along(b, name, space[axis], sizes[axis], now, inner, overlap=overlap)

    return level(b, (), (), list(targets))


def _overlapping(
    b: Builder, name: str, dim: Expr, sizes: Sequence[int], now: list[Var], body: Along
) -> list[Var]:
    best, *others = sizes

    def every(inside: Builder, held: list[Var]) -> Sequence[Var]:
        def iteration(deep: Builder, counter: Var, each: list[Var]) -> Sequence[Var]:
            return body(deep, begin_of(deep, counter, dim, best), best, each)

        return inside.loop(name, (0, dim, best), held, iteration)

    if not others:
        return list(every(b, now))

    def smaller(inside: Builder, held: list[Var]) -> Sequence[Var]:
        return _overlapping(inside, name, dim, others, held, body)

    return b.branch(binary(Ge, dim, best, b.span), now, [every, smaller])


def _index(value: int) -> Expr:
    return ConstInt(value)


def _counted(
    b: Builder, name: str, bounds: tuple[Expr, Expr, int], now: list[Var], body: Along
) -> list[Var]:
    def iteration(inside: Builder, counter: Var, held: list[Var]) -> Sequence[Var]:
        return body(inside, counter, bounds[2], held)

    return b.loop(name, bounds, now, iteration)


def _multiple(b: Builder, dim: Expr, size: int) -> Expr:
    """Return the largest multiple of ``size`` that is at most the dimension."""
    known = known_size(dim)
    if known is not None:
        return ConstInt(known // size * size)
    if size == 1:
        return dim
    whole = binary(FloorDiv, dim, size, b.span)
    return b.let("end", binary(Mul, whole, size, b.span))
