"""What each instruction of a kernel touches: on-chip buffers, and boxes of tensors.

One `Instruction` for each call that a pipe executes. An on-chip access names chunks: memory
references, or, once these have addresses, the pieces that the address ranges cut each other into.
A tensor access names the tensors it may be (a parameter, or one made in the function) and the box
of elements (`affine`). Distinct parameters are taken as distinct memory, except those that are
declared as shared by calls.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from pypto._src.analysis.affine import Affine, Box, Integers, combine
from pypto._src.analysis.liveness import Carried, carried
from pypto._src.analysis.stmt_tree import Block, ProgramPoint
from pypto._src.diagnostics import UNKNOWN_SPAN
from pypto._src.dtypes import DataType
from pypto._src.errors import PassError
from pypto._src.ir.array_types import MemRef, ShapedType, TensorType, TileType
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, Var, const_value
from pypto._src.ir.op_params import INTS, TILE
from pypto._src.ir.opdef import OpDef, aliased, op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, YieldStmt
from pypto._src.ir.types import ScalarType
from pypto._src.ir.unchecked import checked_var, with_args, with_memref
from pypto._src.ops.system import bar_all, bar_m, bar_v, completes_in_order, sync_dst, sync_src
from pypto._src.records import NamedTuple

SYNC_OPS: Final = frozenset((sync_src, sync_dst, bar_v, bar_m, bar_all))
"""The ops of flags and barriers."""

Chunk: TypeAlias = Hashable
"""A piece of on-chip memory that is touched whole or not at all."""


NO_MEMREFS: Final[Mapping[Var, MemRef]] = MappingProxyType({})
"""For functions whose types carry their memory references."""

Window: TypeAlias = "tuple[Affine, ...] | None"
"""Offset of a view in its tensor: empty for the beginning, None if unknown."""


class TensorAccess(NamedTuple):
    """A read or write of part of a tensor; ``box`` is None for any part of it."""

    root: Var
    box: Box | None
    writes: bool


Distance: TypeAlias = "tuple[int | None, ...] | None"
"""Distance between the beginnings of two tensors, by dimension; None if unknown."""


class SharedParams(NamedTuple):
    """Two parameters, by position, that may share memory, and the second's offset in the first."""

    first: int
    second: int
    distance: Distance


class Instruction:
    """A call that a pipe executes, with everything that it reads and writes.

    It is ``in_order`` if it starts when everything before it on its pipe is complete; ``queue`` is
    the number of the pipe. A plan (`planner`) numbers the instructions of each pipe from 1, and
    records what the pipe ``knows`` to be complete after each.
    """

    __slots__ = (
        "block",
        "call",
        "in_order",
        "knows",
        "number",
        "pipe",
        "point",
        "queue",
        "reads",
        "tensors",
        "writes",
    )

    def __init__(
        self,
        point: ProgramPoint,
        block: Block,
        call: Call,
        pipe: PipeType,
        in_order: bool,
        reads: tuple[Chunk, ...],
        writes: tuple[Chunk, ...],
        tensors: Sequence[TensorAccess],
    ) -> None:
        self.point = point
        self.block = block  # that of the point
        self.call = call
        self.pipe = pipe
        self.queue = _NUMBERS[pipe]
        self.in_order = in_order
        self.reads = reads
        self.writes = writes
        self.tensors = tensors
        self.number = 0
        self.knows: Sequence[int] = ()


_NUMBERS: Final = {pipe: int(pipe) for pipe in PipeType}


def memref_of(value: Expr) -> MemRef:
    """Return the memory reference of a tile or tensor.

    Raises:
        PassError: InitMemRef has not run.
    """
    kind = value.type
    if isinstance(kind, ShapedType) and kind.memref is not None:
        return kind.memref
    name = value.name if isinstance(value, Var) else "a value"
    raise PassError(
        f"{name} has no memory reference", value.span, hint="run passes.init_mem_ref() first"
    )


# --------------------------------------------------------------------------------------------
# On-chip memory
# --------------------------------------------------------------------------------------------


def chunks(memrefs: Iterable[MemRef]) -> dict[MemRef, tuple[Chunk, ...]]:
    """Return the chunks of each on-chip buffer.

    Buffers without an address are one chunk each: the same object, the same bytes. Buffers with
    addresses share the chunks in which their ranges overlap.
    """
    found: dict[MemRef, tuple[Chunk, ...]] = {}
    placed: dict[MemorySpace, list[tuple[int, int, MemRef]]] = {}
    for memref in dict.fromkeys(memrefs):
        address = const_value(memref.addr_)
        if address is None or address < 0 or memref.size_ <= 0:
            found[memref] = (memref,)
        else:
            ranges = placed.setdefault(memref.memory_space_, [])
            ranges.append((address, address + memref.size_, memref))
    for space, ranges in placed.items():
        cuts = sorted({edge for begin, end, _ in ranges for edge in (begin, end)})
        index = {cut: i for i, cut in enumerate(cuts)}
        for begin, end, memref in ranges:
            found[memref] = tuple((space, cuts[i]) for i in range(index[begin], index[end]))
    return found


# --------------------------------------------------------------------------------------------
# Tensors
# --------------------------------------------------------------------------------------------

AliasBases: TypeAlias = "tuple[Var, ...]"


def alias_bases(function: Function, root: Block) -> dict[Var, AliasBases]:
    """Return for each tensor variable the tensors whose memory it may name.

    These are parameters, and variables whose statement makes a tensor. Most variables have one; a
    branch or loop that merges different tensors gives several.
    """
    found: dict[Var, AliasBases] = {p: (p,) for p in function.params if _is_tensor(p)}
    _bases_in(root, found)
    return found


def _is_tensor(value: Expr) -> bool:
    return isinstance(value.type, TensorType)


def _bases_in(block: Block, found: dict[Var, AliasBases]) -> None:
    for point in block.points:
        stmt = point.stmt
        if isinstance(stmt, AssignStmt):
            if isinstance(stmt.var.type, TensorType):
                found[stmt.var] = _bases_of(stmt, found)
        elif not point.blocks:
            continue
        elif point.is_loop:
            _bases_in_loop(point, found)
        else:
            for inner in point.blocks:
                _bases_in(inner, found)
            _bases_of_branch(carried(point), found)


def _bases_of_branch(values: Iterable[Carried], found: dict[Var, AliasBases]) -> None:
    for value in values:
        if _is_tensor(value.return_var):
            found[value.return_var] = _union(found, (e for _, e in value.yields))


def _bases_in_loop(point: ProgramPoint, found: dict[Var, AliasBases]) -> None:
    values = [v for v in carried(point) if _is_tensor(v.return_var)]
    for value in values:
        assert value.iter_arg is not None
        found[value.iter_arg] = _union(found, (value.iter_arg.initValue,))
    grown = True
    while grown:  # at most once for each tensor that joins; most loops carry one in place
        for inner in point.blocks:
            _bases_in(inner, found)
        grown = False
        for value in values:
            assert value.iter_arg is not None
            joined = _union(found, (value.iter_arg, *(e for _, e in value.yields)))
            grown = grown or len(joined) > len(found[value.iter_arg])
            found[value.iter_arg] = found[value.return_var] = joined


def _union(found: dict[Var, AliasBases], values: Iterable[Expr]) -> AliasBases:
    return tuple(dict.fromkeys(r for v in values if isinstance(v, Var) for r in found.get(v, ())))


def _bases_of(stmt: AssignStmt, found: dict[Var, AliasBases]) -> AliasBases:
    source = aliased(stmt.value)
    return (found.get(source) if isinstance(source, Var) else None) or (stmt.var,)


# --------------------------------------------------------------------------------------------
# Instructions
# --------------------------------------------------------------------------------------------


class _Shape:
    """What an op's definition says about its calls, in the form that finding accesses needs."""

    def __init__(self, op: OpDef[..., Any]) -> None:
        lists = {p.name: i for i, p in enumerate(op.operands) if p.kind == INTS}
        element = lists.get("indices")
        offsets = lists.get("offsets") if "shapes" in lists else None
        tiles = {index for index, p in enumerate(op.operands) if p.kind == TILE}
        self.op = op
        self.is_sync = op in SYNC_OPS
        self.pipe: PipeType | None = op.pipe  # None if it depends on the call, or executes nothing
        self.reads = tuple(sorted(op.reads & tiles))
        self.writes = tuple(sorted(op.writes & tiles))
        self.others = tuple(sorted((op.reads | op.writes) - tiles))  # that it reads or writes
        self.is_view = op.view_of is not None
        self.begins = offsets if element is None else element  # operand of indices or offsets
        self.sizes = lists.get("shapes") if element is None else None  # None for one element
        self.offset = lists.get("offset")  # where a view begins


_SHAPES: Final[dict[OpDef[..., Any], _Shape]] = {}


def _shape_of(op: OpDef[..., Any]) -> _Shape:
    return _SHAPES.get(op) or _SHAPES.setdefault(op, _Shape(op))


def _shape_of_call(call: Call) -> _Shape | None:
    """Return the shape of an op that is called, None for another function."""
    op = op_of(call)
    return None if op is None else _shape_of(op)


_KEEPS_ORDER: Final = frozenset({PipeType.S, PipeType.M})
"""The pipes that may complete a call in order."""


class Accesses:
    """The instructions of a function by point, with the facts to compare what they touch.

    ``syncs`` has the calls that set or wait for a flag or are barriers, ``jumps`` the statements
    that end a block or leave a loop early; both in textual order.
    """

    def __init__(
        self,
        function: Function,
        root: Block,
        shared: Sequence[SharedParams] = (),
        memrefs: Mapping[Var, MemRef] = NO_MEMREFS,
    ) -> None:
        """Find the accesses of a function; some of its parameters may be ``shared`` memory.

        The memory references of its tiles are in ``memrefs``, or else in their types.
        """
        self.integers = Integers(function, root)
        self._shared_offsets = (
            _shared_offsets(function, shared, self.integers, root) if shared else {}
        )
        self.roots: dict[Var, AliasBases] = {p: (p,) for p in function.params if _is_tensor(p)}
        self.windows: dict[Var, Window] = dict.fromkeys(function.params, ())
        self.written: set[Var] = set()  # tensors
        self.at: dict[ProgramPoint, Instruction] = {}
        self.syncs: dict[ProgramPoint, Call] = {}
        self.jumps: list[ProgramPoint] = []
        # Boxes of constants, by the identity of their lists, which the values keep alive.
        self._boxes: dict[tuple[int, int], tuple[Box | None, object, object]] = {}
        self._memref_of: dict[Any, MemRef] = {**memrefs}
        self._stand_ins: dict[tuple[int, MemorySpace], Var] = {}
        self._has_bases: bool = False  # whether alias bases inside the open loop are known
        self._block(root)
        self._cut()

    def _block(self, block: Block) -> None:
        for point in block.points:
            stmt: Any = point.stmt
            cls = stmt.__class__
            if cls is AssignStmt:
                value, kind = stmt.value, stmt.var.type.__class__
                if kind is not TileType:
                    self._define(stmt.var, value, block)
                if value.__class__ is Call:
                    self._call(point, block, value, stmt.var if kind is TileType else None)
            elif cls is EvalStmt:
                if stmt.expr.__class__ is Call:
                    self._call(point, block, stmt.expr, None)
            elif point.blocks:
                self._compound(point)
            elif not isinstance(stmt, YieldStmt):
                self.jumps.append(point)

    def _compound(self, point: ProgramPoint) -> None:
        self.integers.enter(point)
        values = carried(point)
        outermost = point.is_loop and not self._has_bases
        if outermost:
            _bases_in_loop(point, self.roots)
            self._has_bases = True
        for value in values:
            if value.iter_arg is not None:
                self._hand_on(value.iter_arg, [value.iter_arg.initValue])
        for inner in point.blocks:
            self._block(inner)
        for value in values:
            self._hand_on(value.return_var, [e for _, e in value.yields])
        if outermost:
            self._has_bases = False
        elif not self._has_bases:
            _bases_of_branch(values, self.roots)

    def _define(self, var: Var, value: Expr, block: Block) -> None:
        """Record what a scalar or a tensor stands for."""
        kind = var.type.__class__
        if kind is ScalarType:
            self.integers.assign(var, value, block)
        elif kind is TensorType:
            source = aliased(value)
            if not self._has_bases:
                roots = self.roots.get(source) if isinstance(source, Var) else None
                self.roots[var] = roots or (var,)
            self.windows[var] = self._window(value, source, block)

    def _call(self, point: ProgramPoint, block: Block, call: Call, tile: Var | None) -> None:
        """Record what a call does; ``tile`` is its result, if that is a tile."""
        op: Any = call.op
        shape = _SHAPES.get(op)
        if shape is None or op.with_scratch is not None:
            shape = _shape_of_call(call)
            if shape is None:
                return
        if shape.is_sync:
            self.syncs[point] = call
            return
        pipe = shape.pipe
        if pipe is None:
            op = shape.op
            pipe = None if op.pipe_rule is None else op.pipe_of(self._in_spaces(call))
            if pipe is None:
                return
        reads = self._on_chip(call, shape.reads) if shape.reads else ()
        writes = self._on_chip(call, shape.writes) if shape.writes else ()
        if tile is not None and not shape.is_view:
            own = self._memref_of.get(tile) or self._own(tile)
            writes = (*writes, own) if writes else (own,)
        tensors = self._tensors(call, shape, block) if shape.others else ()
        if not (reads or writes or tensors):
            return
        in_order = pipe in _KEEPS_ORDER and completes_in_order(call, pipe)
        self.at[point] = Instruction(point, block, call, pipe, in_order, reads, writes, tensors)

    def _on_chip(self, call: Call, indices: Sequence[int]) -> tuple[Chunk, ...]:
        """Return the memory references of some operands, which are tiles."""
        args, of = call.args, self._memref_of
        found: list[Chunk] = []
        for index in indices:
            arg = args[index]
            if arg in of:
                found.append(of[arg])
            elif isinstance(arg, Var):
                found.append(self._own(arg))
        return tuple(found)

    def _own(self, tile: Var) -> MemRef:
        """Return the memory reference that the type of a tile has."""
        memref = self._memref_of[tile] = memref_of(tile)
        return memref

    def _in_spaces(self, call: Call) -> Call:
        """Return the call with tiles whose types give their memory space."""
        args: list[Expr] | None = None
        for at, arg in enumerate(call.args):
            memref = self._memref_of.get(arg)
            if memref is None or arg.type.__class__ is not TileType:
                continue
            kind: Any = arg.type
            key = id(kind), memref.memory_space_
            placed = self._stand_ins.get(key)
            if placed is None:
                placed = checked_var("tile", with_memref(kind, memref), UNKNOWN_SPAN)
                self._stand_ins[key] = placed
            args = args or [*call.args]
            args[at] = placed
        return call if args is None else with_args(call, tuple(args))

    def _cut(self) -> None:
        """Replace buffers by chunks in the instructions, if buffers have addresses."""
        memrefs = self._memref_of.values()
        addresses = [const_value(each) for each in {memref.addr_ for memref in memrefs}]
        if all(address is None or address < 0 for address in addresses):
            return
        of: dict[Chunk, tuple[Chunk, ...]] = {**chunks(memrefs)}
        for each in self.at.values():
            each.reads = tuple([chunk for memref in each.reads for chunk in of[memref]])
            each.writes = tuple([chunk for memref in each.writes for chunk in of[memref]])

    def _hand_on(self, target: Var, sources: Sequence[Expr]) -> None:
        """Record a merged tensor as whole if all sources are; else its offset is unknown."""
        whole = all(isinstance(e, Var) and self.windows.get(e) == () for e in sources)
        self.windows[target] = () if whole else None

    def _tensors(self, call: Call, shape: _Shape, block: Block) -> list[TensorAccess]:
        found: list[TensorAccess] = []
        for index in shape.others:
            arg = call.args[index]
            if arg.type.__class__ is not TensorType or not isinstance(arg, Var):
                continue
            box = self._box(call, shape, arg, block)
            whole = box
            for root in self.roots.get(arg, (arg,)):
                if self._shared_offsets:
                    root, box = _in_shared(root, whole, self._shared_offsets)
                if index in shape.op.reads:
                    found.append(TensorAccess(root, box, False))
                if index in shape.op.writes:
                    self.written.add(root)
                    found.append(TensorAccess(root, box, True))
        return found

    def _ints(self, found: Expr | None, block: Block) -> tuple[Affine, ...] | None:
        """Return the integers of a list, None if ``found`` is not a list."""
        if not isinstance(found, MakeTuple):
            return None
        form = self.integers.form
        return tuple([form(e, block) for e in found.elements])

    def _box(self, call: Call, shape: _Shape, tensor: Var, block: Block) -> Box | None:
        """Return the part of ``tensor`` that a call touches, None for unknown.

        The operands' names tell: ``indices`` of one element, or ``offsets`` and ``shapes`` of a
        box. Boxes of constants are cached, as they are the same everywhere.
        """
        base = self.windows.get(tensor)
        if base is None or shape.begins is None:
            return None
        offsets = call.args[shape.begins]
        sizes = None if shape.sizes is None else call.args[shape.sizes]
        begins = offsets.elements if isinstance(offsets, MakeTuple) else None
        extents = sizes.elements if isinstance(sizes, MakeTuple) else () if sizes is None else None
        if base or begins is None or extents is None:
            return self._box_of(base, offsets, sizes, block)
        known = self._boxes.get((id(begins), id(extents)))
        if known is not None:
            return known[0]
        box = self._box_of(base, offsets, sizes, block)
        if _INTS.issuperset(map(type, begins)) and _INTS.issuperset(map(type, extents)):
            self._boxes[id(begins), id(extents)] = box, begins, extents
        return box

    def _box_of(
        self, base: tuple[Affine, ...], begins: Expr, sizes: Expr | None, block: Block
    ) -> Box | None:
        offsets = self._ints(begins, block)
        if offsets is None:
            return None
        if base:
            if len(base) != len(offsets):
                return None
            offsets = tuple(combine(b, o, 1) for b, o in zip(base, offsets, strict=True))
        if sizes is None:
            return Box(offsets, (1,) * len(offsets))
        listed = self._ints(sizes, block)
        if listed is None or len(listed) != len(offsets):
            return None
        return Box(offsets, tuple([None if s.terms else s.constant for s in listed]))

    def _window(self, value: Expr, source: Expr | None, block: Block) -> Window:
        """Return where the tensor ``value`` begins in the tensor ``source`` that it aliases."""
        if source is None:
            return ()
        if isinstance(value, Var):
            return self.windows.get(value)
        if isinstance(source, Var):
            base = self.windows.get(source)
        else:
            base = self._window(source, aliased(source), block)
        if not isinstance(value, Call) or base is None:
            return None
        op = op_of(value)
        if op is None or op.view_of is None or op.writes:
            return base  # a store: its value is the whole tensor that it writes
        index = _shape_of(op).offset
        offsets = None if index is None else self._ints(value.args[index], block)
        if offsets is None or (base and len(base) != len(offsets)):
            return None  # a reshape, whose elements have other indices
        if not base:
            return offsets
        return tuple(combine(b, o, 1) for b, o in zip(base, offsets, strict=True))


def heads(shared: Sequence[SharedParams]) -> dict[int, int]:
    """Map each parameter that shares memory to the first parameter of its group."""
    found = {i: i for each in shared for i in (each.first, each.second)}
    for each in shared:
        low, high = sorted((found[each.first], found[each.second]))
        found = {i: low if head == high else head for i, head in found.items()}
    return found


_SharedOffsets: TypeAlias = "dict[Var, tuple[Var, Sequence[Affine]]]"
"""By parameter, the one whose memory it shares, and its offset in that."""


def _shared_offsets(
    function: Function, shared: Sequence[SharedParams], integers: Integers, root: Block
) -> _SharedOffsets:
    """Return the offset of each parameter that shares memory, in the first one of its group.

    Where calls give different offsets, or an unknown one, the offset is a fresh variable: two
    accesses through one parameter can still be told apart.
    """
    params = function.params
    found: _SharedOffsets = {}
    for member, first in heads(shared).items():
        kind = params[member].type
        if member == first or not isinstance(kind, TensorType):
            continue
        distances = [
            each.distance for each in shared if (each.first, each.second) == (first, member)
        ]
        begins: list[Affine] = []
        for axis in range(len(kind.shape)):
            known = [None if distance is None else distance[axis] for distance in distances] or [
                None
            ]
            begins.append(_begin(f"begin_{axis}", known, integers, root))
        found[params[member]] = params[first], begins
    return found


def _begin(name: str, known: Sequence[int | None], integers: Integers, root: Block) -> Affine:
    """Return a parameter's offset in one dimension: a constant, or a variable with its range."""
    numbers = [number for number in known if number is not None]
    is_known = len(numbers) == len(known)
    if is_known and len(set(numbers)) == 1:
        return Affine(numbers[0], {})
    var = Var(name, ScalarType(DataType.INDEX), UNKNOWN_SPAN)
    integers.home[var] = root
    if is_known:
        integers.limit(var, min(numbers), max(numbers))
    return Affine(0, {var: 1})


def _in_shared(root: Var, box: Box | None, shared: _SharedOffsets) -> tuple[Var, Box | None]:
    """Return a part of a parameter as a part of the one whose memory it shares."""
    known = shared.get(root)
    if known is None:
        return root, box
    first, begins = known
    if box is None or len(box.offsets) != len(begins):
        return first, None
    offsets = tuple([combine(at, by, 1) for at, by in zip(box.offsets, begins, strict=True)])
    return first, Box(offsets, box.sizes)


_INTS: Final = frozenset({ConstInt})
