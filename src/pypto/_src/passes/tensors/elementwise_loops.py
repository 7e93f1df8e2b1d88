"""Loop nests over tiles that implement ops on whole tensors in global memory.

A `Group` is a run of tensor ops that share one iteration space, the shape that all their tensors
broadcast to. For each tile of that space the parts of the tensors are loaded, the ops are applied
to tiles (`ops.conversion`), and values that others need are stored. Tiles are as large as vector
memory allows with room for a second set; where tiles do not divide a dimension, the last overlaps
the one before. Where rows are too long to be reduced whole, the group is split into several, and a
reduction combines its parts.

`fusion_groups` decides which ops form a group, `tensor_buffers` where results are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import MemoryPlanError, PassError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import (
    Call,
    ConstInt,
    Expr,
    MakeTuple,
    Var,
    const_value,
)
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.opdef import op_of
from pypto._src.ops import elementwise, layout, new_tiles, reduce
from pypto._src.ops.conversion import (
    GENERATORS,
    REDUCTIONS,
    ConversionContext,
    Generator,
    on_tiles,
)
from pypto._src.ops.rules.type_rules import broadcast, called, dims, known_size
from pypto._src.passes.tensors.tile_loops import (
    Builder,
    along,
    bytes_at_peak,
    divisors,
    filled,
    halves,
    load_tile,
    nest,
    plus,
    shaped,
    steps,
    store_tile,
    tensor_type,
    tensors_of,
)
from pypto._src.records import NamedTuple
from pypto._src.targets import A2A3, Target


class Member(NamedTuple):
    """One tensor op of a group: ``var = call``, whose tensor operands have their current names."""

    var: Var
    call: Call
    sources: tuple[Var, ...]  # its tensor operands, as the program's variables


class Sink(NamedTuple):
    """Where a value goes: the region of ``target`` at ``offset`` (None: its beginning)."""

    value: Var
    target: Var
    offset: tuple[Expr, ...] | None
    span: Span


# --------------------------------------------------------------------------------------------
# Iteration spaces
# --------------------------------------------------------------------------------------------


def _aligned(shape: Sequence[Expr], rank: int) -> tuple[Expr, ...]:
    """Return ``shape`` padded with leading dimensions of 1 to ``rank``."""
    return (*[ConstInt(1)] * (rank - len(shape)), *shape)


def _is_one(dim: Expr) -> bool:
    return const_value(dim) == 1


def reduced_axis(call: Call) -> int:
    """Return the dimension along which a reduction runs, counted from the end: -1 is the last."""
    rank = len(tensor_type(call.args[0]).shape)
    axis = call.kwargs.get("axis")
    axis = -1 if axis is None else axis
    return axis if axis < 0 else axis - rank


def is_reduction(call: Call) -> bool:
    """True for an op that reduces many elements to one."""
    return call.op.name in REDUCTIONS


def reduces(call: Call) -> bool:
    """True for a reduction of more than one element."""
    return is_reduction(call) and not _is_one(tensor_type(call.args[0]).shape[reduced_axis(call)])


def aligned_shape(member: Member) -> tuple[Expr, ...]:
    """Return the shape of a member's result, with 1 for a dimension that a reduction drops."""
    shape = tensor_type(member.var).shape
    if is_reduction(member.call) and member.call.kwargs.get("keep_dim") is False:
        shape = list(tensor_type(member.call.args[0]).shape)
        shape[reduced_axis(member.call)] = ConstInt(1)
    return tuple(shape)


class Group:
    """Tensor ops that are fused into one loop nest over tiles."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.sinks: list[Sink] = []
        self.space: tuple[Expr, ...] = ()
        self.shapes: dict[Var, tuple[Expr, ...]] = {}  # of the values that members make
        self.reduced: set[int] = set()  # dimensions, from the end, that reductions run along
        self.inputs: dict[Var, None] = {}  # tensors in memory that members read
        self.exact = False  # tiles must not overlap: a tensor is read and written

    def joined(self, shapes: Sequence[Sequence[Expr]]) -> tuple[Expr, ...] | None:
        """Return the space broadcast with ``shapes``, None if they do not broadcast."""
        space: tuple[Expr, ...] | None = self.space
        for shape in shapes:
            space = None if space is None else broadcast(space, shape)
        return space

    def add(self, member: Member, space: tuple[Expr, ...]) -> None:
        """Add an op whose tensors fit into ``space``."""
        self.members.append(member)
        self.space = space
        self.shapes[member.var] = aligned_shape(member)
        if reduces(member.call):
            self.reduced.add(reduced_axis(member.call))
        for arg, source in zip(tensors_of(member.call), member.sources, strict=True):
            if source not in self.shapes:
                self.inputs[arg] = None

    def add_input(self, source: Var, space: tuple[Expr, ...]) -> None:
        """Add a tensor in memory that is only copied."""
        self.space = space
        self.inputs[source] = None


class _Tile(NamedTuple):
    """One tile of a space: its size and offset in each dimension.

    A single row may be replicated ``copies`` times, so that its columns fill a block.
    """

    sizes: tuple[int, ...]
    offsets: tuple[Expr, ...]
    copies: int = 1


class _Sizes(NamedTuple):
    """Rows and columns of tiles, and how often a single row is replicated."""

    rows: int
    columns: int
    copies: int = 1


class Emission:
    """Emits the loop nest of one group."""

    def __init__(self, group: Group, builder: Builder, memory_bytes: int) -> None:
        self.group = group
        self.b = builder
        self.memory = memory_bytes
        rank = max(2, len(group.space))
        self.space = _aligned(group.space, rank)
        self.rank = rank
        self.adds_up = False  # parts are combined by further reductions
        self.stored = list(range(len(group.sinks)))  # the sinks that each tile stores

    # Tiles of values --------------------------------------------------------------------------

    def _part(self, shape: Sequence[Expr], tile: _Tile) -> tuple[list[Expr], list[int]]:
        """Return offsets and sizes of the part of a tensor that a tile of the space uses."""
        offsets: list[Expr] = []
        sizes: list[int] = []
        first = self.rank - len(shape)
        for axis, dim in enumerate(shape, first):
            whole = _is_one(dim)
            offsets.append(ConstInt(0) if whole else tile.offsets[axis])
            sizes.append(1 if whole else tile.sizes[axis])
        return offsets, sizes

    def _canonical(self, shape: Sequence[Expr], tile: _Tile) -> list[int]:
        """Return rows and columns of the tile that a part of a tensor of ``shape`` is loaded as."""
        _, sizes = self._part(_aligned(shape, self.rank), tile)
        return sizes[-2:]

    def ops(
        self, b: Builder, tile: _Tile, now: list[Var], indices: Sequence[int]
    ) -> dict[Var, Var]:
        """Append the ops of the group on one tile; return the tiles by variable.

        The sinks ``indices`` are stored as early as possible; ``now`` gets the new names.
        """
        found: dict[Var, Var] = {}
        waiting: dict[Var, list[int]] = {}
        for index in indices:
            waiting.setdefault(self.group.sinks[index].value, []).append(index)
        for member in self.group.members:
            b.span = member.call.span
            found[member.var] = self._member(b, found, member, tile)
            if not self.group.exact:  # else a tensor may be read after it is written
                for index in waiting.pop(member.var, ()):
                    self.store(b, tile, found, now, index)
        for index in (i for each in waiting.values() for i in each):
            self.store(b, tile, found, now, index)
        return found

    def _member(self, b: Builder, found: dict[Var, Var], member: Member, tile: _Tile) -> Var:
        """Append one op; return the tile that it makes."""
        generator = GENERATORS.get(member.call.op.name)
        if generator is not None:
            return self._generated(b, member, generator, tile)
        op, tensors = _op(member.call), iter(member.sources)
        args: list[Expr] = []
        for index, arg in enumerate(member.call.args):
            if not isinstance(arg.type, TensorType) or not isinstance(arg, Var):
                args.append(arg)
                continue
            source = next(tensors)
            if index in op.reads:
                args.append(self.operand(b, found, source, arg, tile))
            else:  # only its shape matters
                sizes = self._canonical(arg.type.shape, tile)
                rows = sizes[0] if tile.copies == 1 else tile.copies
                room = new_tiles.create_tile.build(([rows, sizes[1]], arg.type.dtype), {}, b.span)
                args.append(b.let("room", room))
        return self._op(b, member, args)

    def _generated(self, b: Builder, member: Member, generator: Generator, tile: _Tile) -> Var:
        """Append the op that generates a part of a tensor; return its tile."""
        shape = _aligned(tensor_type(member.var).shape, self.rank)
        offsets, sizes = self._part(shape, tile)
        context = ConversionContext(b.span, b.name)
        made = generator(context, member.call, sizes[-2:], offsets[-2:])
        b.stmts += context.stmts
        value = made if isinstance(made, Var) else b.let(f"{member.var.name}_tile", made)
        return value if tile.copies == 1 else self._copies(b, value, tile)

    def operand(
        self, b: Builder, found: dict[Var, Var], source: Var, name: Var, tile: _Tile
    ) -> Var:
        """Return the tile of a tensor operand: computed before, or loaded now."""
        if source in found:
            return found[source]
        if name not in found:
            shape = tensor_type(name).shape
            offsets, sizes = self._part(shape, tile)
            if not shape:
                raise PassError(
                    f"'{user_name(name)}' is a tensor without dimensions, which no tile holds",
                    b.span,
                    slug="tensor-tile",
                )
            loaded = load_tile(b, name, offsets, sizes)
            row = shaped(b, loaded, self._canonical(shape, tile))
            found[name] = row if tile.copies == 1 else self._copies(b, row, tile)
        return found[name]

    def _copies(self, b: Builder, row: Var, tile: _Tile) -> Var:
        """Return a tile with copies of a row."""
        kind = row.type
        assert isinstance(kind, TileType)
        sizes = (ConstInt(tile.copies), kind.shape[1])
        room = b.let("room", new_tiles.create_tile.build((sizes, kind.dtype), {}, b.span))
        return b.let(row.name, reduce.col_expand.build((room, row), {}, b.span))

    def _op(self, b: Builder, member: Member, args: list[Expr]) -> Var:
        call = member.call
        if is_reduction(call):
            axis = reduced_axis(call)
            kind = args[0].type
            assert isinstance(kind, TileType)
            if _is_one(kind.shape[axis]):
                assert isinstance(args[0], Var)
                return args[0]  # one element is its own sum, and its own largest
            if self.adds_up and REDUCTIONS[call.op.name].adds_up and _is_narrow(kind.dtype):
                args = [b.let(member.var.name, _as_type(args[0], DataType.FP32, b.span))]
            call = Call(call.op, call.args, {"axis": axis + 2}, call.type, call.span)
        return self._converted(b, f"{member.var.name}_tile", call, args)

    def _converted(self, b: Builder, name: str, call: Call, args: Sequence[Expr]) -> Var:
        """Append the tile form of a call; return its value, named ``name``."""
        new = on_tiles(call, args, b.name)
        b.stmts += new.stmts
        return new.value if isinstance(new.value, Var) else b.let(name, new.value)

    def store(
        self, b: Builder, tile: _Tile, found: dict[Var, Var], now: list[Var], index: int
    ) -> None:
        """Append the store of one sink; ``now`` gets the new name of its target."""
        sink = self.group.sinks[index]
        b.span = sink.span
        value = found.get(sink.value)
        if value is None:
            value = self.operand(b, found, sink.value, sink.value, tile)
        shape = self.group.shapes.get(sink.value, tensor_type(sink.value).shape)
        offsets, sizes = self._part(shape, tile)
        if tile.copies > 1:
            rows = new_tiles.view.build(
                (value, MakeTuple([1, sizes[-1]]), MakeTuple([0, 0])), {}, b.span
            )
            value = b.let(value.name, rows)
        if len(shape) > len(tensor_type(sink.target).shape):  # a reduction drops its dimension
            at = self._dropped_axis(sink.value)
            del offsets[at], sizes[at]
        if sink.offset is not None:
            offsets = [plus(a, o) for a, o in zip(sink.offset, offsets, strict=True)]
        now[index] = store_tile(b, value, offsets, sizes, now[index])

    def _dropped_axis(self, value: Var) -> int:
        member = next(m for m in self.group.members if m.var is value)
        return reduced_axis(member.call)

    # Sizes ------------------------------------------------------------------------------------

    def units(self) -> tuple[int, int]:
        """Return the units of which rows and columns of tiles are multiples, to fill blocks."""
        rows = columns = 1
        for shape, dtype in self._values():
            unit = max(1, layout.BLOCK_BYTES // dtype.bytes)
            down, across = _aligned(shape, self.rank)[-2:]
            if not _is_one(across):
                columns = max(columns, unit)
            elif not _is_one(down) or _is_one(self.space[-2]):
                rows = max(rows, unit)
        return rows, columns

    def _values(self) -> Iterator[tuple[Sequence[Expr], DataType]]:
        """Yield shape and element type of every tensor of the group."""
        for member in self.group.members:
            yield self.group.shapes[member.var], tensor_type(member.var).dtype
        for var in self.group.inputs:
            yield tensor_type(var).shape, tensor_type(var).dtype

    def peak(self, sizes: _Sizes) -> int:
        """Return the peak bytes of vector memory for one tile of the space."""
        trial = Builder(lambda name: name, self.b.span)
        every = (*[1] * (self.rank - 2), sizes.rows, sizes.columns)
        tile = _Tile(every, tuple(ConstInt(0) for _ in every), sizes.copies)
        self.ops(trial, tile, self._targets(), self.stored)
        return bytes_at_peak(trial.stmts)

    def _targets(self) -> list[Var]:
        return [sink.target for sink in self.group.sinks]

    def sizes(self, room: int) -> _Sizes | None:
        """Return sizes of tiles that fit ``room`` bytes, None if no tile does.

        Tiles whose rows and columns fill blocks are preferred; if there are none, tiles are padded.
        """
        rows, columns = self.units()
        units = [(rows, columns)]
        odd = [self._is_odd(axis, unit) for axis, unit in ((-2, rows), (-1, columns))]
        if any(odd):
            units += [(1 if odd[0] else rows, 1 if odd[1] else columns), (1, 1)]
        for each in units:
            found = self._sizes_in(each, room)
            if found is not None:
                return found
        return None

    def _is_odd(self, axis: int, unit: int) -> bool:
        """True for a dimension that tiles in multiples of ``unit`` cannot cover."""
        known, group = known_size(self.space[axis]), self.group
        if known is None:
            return False
        whole = axis in group.reduced or group.exact
        return known < unit or (whole and known % unit != 0)

    def _sizes_in(self, units: tuple[int, int], room: int) -> _Sizes | None:
        """Return sizes in multiples of ``units`` that fit ``room`` bytes, None if none do."""
        group, (unit_rows, unit_columns) = self.group, units
        rows = _counts(self.space[-2], unit_rows, -2 in group.reduced, group.exact)
        columns = _counts(self.space[-1], unit_columns, -1 in group.reduced, group.exact)
        whole = known_size(self.space[-1])
        if whole is not None and columns and whole % unit_columns:
            columns.insert(0, whole)  # padded on chip: cheaper than computing columns twice
        for across in columns:
            if rows:
                best = _first(rows, lambda down: self.peak(_Sizes(down, across)) <= room)  # noqa: B023
                if best is not None:
                    return _Sizes(best, across)
            elif units == self.units() and self.has_copies(across, room):
                return _Sizes(1, across, unit_rows)
        return None

    def has_copies(self, columns: int, room: int) -> bool:
        """True if a single row can be replicated to fill a block, within ``room`` bytes."""
        group, unit = self.group, self.units()[0]
        shapes = [tensor_type(var).shape for var in group.inputs]
        shapes += [group.shapes.get(s.value, tensor_type(s.value).shape) for s in group.sinks]
        if unit == 1 or -2 in group.reduced or _is_one(self.space[-1]):
            return False
        if any(_is_one(shape[-1]) for shape in shapes):  # one element fills no block
            return False
        return self.peak(_Sizes(1, columns, unit)) <= room

    # Loops ------------------------------------------------------------------------------------

    def over_tiles(self, sizes: _Sizes) -> list[Var]:
        """Append loops over tiles of ``sizes``; return the targets after them."""

        def in_tile(
            b: Builder, offsets: Sequence[Expr], widths: Sequence[int], now: list[Var]
        ) -> list[Var]:
            tile = _Tile(tuple(widths), tuple(offsets), sizes.copies)
            self.ops(b, tile, now, range(len(now)))
            return now

        each = [*self._ones(), *map(steps, self.space[-2:], sizes[:2], self.units())]
        exact = self.group.exact
        return nest(self.b, self.space, each, self._targets(), in_tile, overlap=not exact)

    def _ones(self) -> list[tuple[int, ...]]:
        """Return the sizes of tiles along all dimensions but the last two."""
        return [(1,)] * (self.rank - 2)

    # Rows in parts ----------------------------------------------------------------------------

    def in_parts(self, axis: int, sums: Sequence[Member]) -> list[Var]:
        """Append loops that compute the reductions ``sums`` along ``axis`` part by part.

        No op of the group may use the result of a reduction.
        """
        other = -3 - axis
        length, width = self.space[axis], self.space[other]
        known, units = known_size(length), self.units()
        targets, made = self._targets(), {member.var for member in sums}
        plain = [i for i, sink in enumerate(self.group.sinks) if sink.value not in made]
        self.adds_up, self.stored = True, plain
        parts = _part_counts(length, units[axis])
        widths = _counts(width, units[other], False, self.group.exact)
        sizes = (
            self._part_sizes(parts, widths or [1], axis)
            if known != 0
            else (
                next((width for width in widths if width <= _DYNAMIC), 1),
                parts[0],
            )
        )
        if sizes is None:
            raise _no_fit(self)
        across, part = sizes
        begins = known is not None and known >= part  # there is a whole first part

        def at(offsets: Sequence[Expr], widths: Sequence[int], begin: Expr, size: int) -> _Tile:
            """Return the tile of a part; the line's offset is the last one in ``offsets``."""
            where = (begin, offsets[-1]) if axis == -2 else (offsets[-1], begin)
            both = (size, widths[-1]) if axis == -2 else (widths[-1], size)
            return _Tile((*widths[:-1], *both), (*offsets[:-1], *where))

        def line(
            b: Builder, offsets: Sequence[Expr], widths: Sequence[int], now: list[Var]
        ) -> list[Var]:
            found: dict[Var, Var] = {}
            if begins:
                found = self.ops(b, at(offsets, widths, ConstInt(0), part), now, plain)
                accs = [found[m.var] for m in sums]
            else:
                accs = [self._identity(b, m, widths[-1], axis) for m in sums]

            def more(inside: Builder, begin: Expr, size: int, held: list[Var]) -> list[Var]:
                initialized = _replaced(now, plain, held[len(accs) :])
                tile = at(offsets, widths, begin, size)
                new = self.ops(inside, tile, initialized, plain)
                joined = [
                    self._joined(inside, member, acc, new[member.var])
                    for member, acc in zip(sums, held, strict=False)
                ]
                return [*joined, *(initialized[i] for i in plain)]

            held = [*accs, *(now[i] for i in plain)]
            first = part if begins else 0
            held = along(
                b,
                "part",
                length,
                steps(length, part, units[axis]),
                held,
                more,
                overlap=False,
                first=first,
            )
            accs, now = held[: len(accs)], _replaced(now, plain, held[len(accs) :])
            for member, acc in zip(sums, accs, strict=True):
                found[member.var] = _rounded(b, member, acc)
            for index in range(len(targets)):
                if index not in plain:
                    tile = at(offsets, widths, ConstInt(0), part)
                    self.store(b, tile, found, now, index)
            return now

        space = (*self.space[:-2], width)
        each = [*self._ones(), steps(width, across, units[other])]
        names = ["row"] * len(space)
        exact = self.group.exact
        return nest(self.b, space, each, targets, line, names, overlap=not exact)

    def _identity(self, b: Builder, member: Member, width: int, axis: int) -> Var:
        """Return a tile of the reduction's identity, with which its parts are combined."""
        dtype = tensor_type(member.var).dtype
        reduction = REDUCTIONS[member.call.op.name]
        is_filled = dtype in new_tiles.full.dtypes or not dtype.is_float()
        if not is_filled or (reduction.adds_up and _is_narrow(dtype)):
            dtype = DataType.FP32
        shape = [1, width] if axis == -2 else [width, 1]
        return filled(b, shape, dtype, reduction.identity(dtype))

    def _joined(self, b: Builder, member: Member, acc: Var, part: Var) -> Var:
        """Return the accumulator of a reduction combined with another part."""
        joined = REDUCTIONS[member.call.op.name].joined
        call = Call(joined, member.call.args, member.call.type, b.span)
        return self._converted(b, f"{member.var.name}_tile", call, (acc, part))

    def _part_sizes(
        self, parts: Sequence[int], widths: Sequence[int], axis: int
    ) -> tuple[int, int] | None:
        for room in (self.memory * 3 // 8, self.memory * 3 // 4):  # the accumulators need room, too
            for part in parts:
                for across in widths:
                    sizes = _Sizes(part, across) if axis == -2 else _Sizes(across, part)
                    if self.peak(sizes) <= room:
                        return across, part
        return None


def _is_narrow(dtype: DataType) -> bool:
    return dtype.is_float() and dtype.get_bit() < 32


def _as_type(tile: Expr, dtype: DataType, span: Span) -> Expr:
    return elementwise.cast.build((tile, dtype), {"mode": "rint"}, span)


def _rounded(b: Builder, member: Member, acc: Var) -> Var:
    """Return a sum converted to its element type: 16-bit floats are summed in 32 bits."""
    wanted = tensor_type(member.var).dtype
    assert isinstance(acc.type, TileType)
    if acc.type.dtype is wanted:
        return acc
    return b.let(f"{member.var.name}_tile", _as_type(acc, wanted, b.span))


def _replaced(now: Sequence[Var], indices: Sequence[int], new: Sequence[Var]) -> list[Var]:
    out = list(now)
    for index, var in zip(indices, new, strict=True):
        out[index] = var
    return out


def _first(counts: Sequence[int], is_small: Callable[[int], bool]) -> int | None:
    """Return the first of descending ``counts`` that is small enough, None if none is."""
    if not is_small(counts[-1]):
        return None
    low, high = 0, len(counts) - 1  # the one at `high` is small enough
    while low < high:
        middle = (low + high) // 2
        if is_small(counts[middle]):
            high = middle
        else:
            low = middle + 1
    return counts[high]


_DYNAMIC: Final = 256
"""The largest tile along a dimension whose size is known only at run time."""


def _counts(dim: Expr, unit: int, whole: bool, exact: bool) -> list[int]:
    """Return possible sizes of tiles along a dimension, best first; may be empty."""
    known = known_size(dim)
    if known is None:
        counts = [] if whole else [unit * k for k in halves(max(1, _DYNAMIC // unit))]
        return counts if not counts or counts[-1] == unit else [*counts, unit]
    if whole:
        return [known] if known and known % unit == 0 else []
    if known % unit == 0:
        others = [] if exact else halves(known // unit)
        every = sorted({*divisors(known // unit), *others}, reverse=True)
        return [unit * k for k in every]
    if exact or known < unit:
        return []
    return [size for size in (unit * k for k in halves(-(-known // unit))) if size <= known]


def _part_counts(dim: Expr, unit: int) -> list[int]:
    """Return sizes of the parts in which a dimension is reduced, best first."""
    known = known_size(dim)
    if known == 0:
        return [unit]
    if known is not None and known % unit == 0:
        return [unit * k for k in divisors(known // unit)]
    return [unit * k for k in halves(_DYNAMIC // unit if known is None else known // unit) if k]


def _no_fit(emission: Emission) -> MemoryPlanError:
    group = emission.group
    first = group.members[0] if group.members else None
    what = "the copy" if first is None else called(_op(first.call))
    span = emission.b.span if first is None else first.call.span
    return MemoryPlanError(
        f"no tile of {what} and the ops fused with it, on tensors of {dims(group.space)}, fits the "
        f"{emission.memory} bytes of vector memory",
        span,
        hint="end the with statement before this statement, and begin another one",
        slug="tensor-tile",
    )


def _op(call: Call) -> Any:
    op = op_of(call)
    assert op is not None
    return op


# --------------------------------------------------------------------------------------------
# Groups
# --------------------------------------------------------------------------------------------


def write_group(group: Group, builder: Builder, target: Target = A2A3) -> list[Var]:
    """Append the loops of a group; return the new names of its sinks' targets.

    Raises:
        PassError: sizes of the tensors do not fill the blocks of vector memory.
        MemoryPlanError: no tile fits vector memory.
    """
    if is_empty(group):
        return [sink.target for sink in group.sinks]
    room = target.memories[MemorySpace.Vec].usable_bytes
    emission = Emission(group, builder, room)
    axes = sorted(group.reduced)
    sums = [m for m in group.members if reduces(m.call)]
    whole = emission.sizes(room // 2) or emission.sizes(room)
    if whole is not None:
        return emission.over_tiles(whole)
    if len(axes) != 1 or not sums or _uses_reduction(group.members):
        raise _no_fit(emission)
    return emission.in_parts(axes[0], sums)


def _uses_reduction(members: Sequence[Member]) -> bool:
    made = {m.var for m in members if reduces(m.call)}
    return any(source in made for m in members for source in m.sources)


def is_empty(group: Group) -> bool:
    """True for a group without results: a dimension that is not reduced has the size 0."""
    dims_of = _aligned(group.space, max(2, len(group.space)))
    return any(
        const_value(dim) == 0 and axis - len(dims_of) not in group.reduced
        for axis, dim in enumerate(dims_of)
    )


def fits(group: Group, target: Target = A2A3) -> bool:
    """True if tiles of a group fit vector memory without splitting reduced rows."""
    emission, room = _trial(group, target)
    return is_empty(group) or emission.sizes(room) is not None


def is_one_tile(group: Group, target: Target = A2A3) -> bool:
    """True if one tile covers a group, so that all reads come before the writes."""
    emission, room = _trial(group, target)
    sizes = emission.sizes(room // 2) or emission.sizes(room)
    if sizes is None or sizes.copies > 1:
        return False
    every = (*[1] * (emission.rank - 2), sizes.rows, sizes.columns)
    return all(known_size(d) == n for d, n in zip(emission.space, every, strict=True))


def _trial(group: Group, target: Target) -> tuple[Emission, int]:
    room = target.memories[MemorySpace.Vec].usable_bytes
    return Emission(group, Builder(lambda name: name, UNKNOWN_SPAN), room), room
