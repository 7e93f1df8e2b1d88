"""What each instruction of a kernel touches: on-chip buffers, and boxes of tensors.

One `Instruction` for each call that a pipe executes. An on-chip access names chunks: memory
references, or, once these have addresses, the pieces that the address ranges cut each other into.
A tensor access names the tensors it may be (a parameter, or one made in the function) and the box
of elements (`boxes`). Distinct parameters are taken as distinct memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from pypto._src.errors import PassError
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.nodes import (
    Call,
    Expr,
    MakeTuple,
    MemRef,
    ScalarType,
    ShapedType,
    TensorType,
    TileType,
    Var,
    const_value,
)
from pypto._src.ir.opdef import INTS, OpDef, aliased, op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, YieldStmt
from pypto._src.ops.order import completes_in_order
from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_dst, sync_src
from pypto._src.passes.boxes import Affine, Box, Integers, combine
from pypto._src.passes.liveness import carried
from pypto._src.passes.regions import Block, Site

SYNC_OPS: Final = frozenset((sync_src, sync_dst, bar_v, bar_m, bar_all))
"""The ops of flags and barriers."""

Chunk: TypeAlias = Hashable
"""A piece of on-chip memory that is touched whole or not at all."""


Window: TypeAlias = "tuple[Affine, ...] | None"
"""Where a view begins in its tensor: empty for at its beginning, None for not known."""


class TensorAccess(NamedTuple):
    """A read or write of part of a tensor; ``box`` is None for any part of it."""

    root: Var
    box: Box | None
    writes: bool


class Instruction:
    """A call that a pipe executes, with everything that it reads and writes."""

    __slots__ = ("call", "in_order", "pipe", "reads", "site", "tensors", "writes")

    def __init__(self, site: Site, call: Call, pipe: PipeType) -> None:
        self.site = site
        self.call = call
        self.pipe = pipe
        self.reads: tuple[Chunk, ...] = ()
        self.writes: tuple[Chunk, ...] = ()
        self.tensors: tuple[TensorAccess, ...] = ()
        self.in_order = completes_in_order(call, pipe)


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

Roots: TypeAlias = "tuple[Var, ...]"


def tensor_roots(function: Function, root: Block) -> dict[Var, Roots]:
    """Return for each tensor variable the tensors whose memory it may name.

    These are parameters, and variables whose statement makes a tensor. Most variables have one; a
    branch or loop that hands on different tensors gives several.
    """
    found: dict[Var, Roots] = {p: (p,) for p in function.params if _is_tensor(p)}
    _roots_in(root, found)
    return found


def _is_tensor(value: Expr) -> bool:
    return isinstance(value.type, TensorType)


def _roots_in(block: Block, found: dict[Var, Roots]) -> None:
    for site in block.sites:
        stmt = site.stmt
        if isinstance(stmt, AssignStmt):
            if isinstance(stmt.var.type, TensorType):
                found[stmt.var] = _roots_of(stmt, found)
        elif not site.blocks:
            continue
        elif site.is_loop:
            _roots_in_loop(site, found)
        else:
            for inner in site.blocks:
                _roots_in(inner, found)
            for value in carried(site):
                if _is_tensor(value.return_var):
                    found[value.return_var] = _union(found, (e for _, e in value.yields))


def _roots_in_loop(site: Site, found: dict[Var, Roots]) -> None:
    values = [v for v in carried(site) if _is_tensor(v.return_var)]
    for value in values:
        assert value.iter_arg is not None
        found[value.iter_arg] = _union(found, (value.iter_arg.initValue,))
    grown = True
    while grown:  # at most once for each tensor that joins; most loops carry one in place
        for inner in site.blocks:
            _roots_in(inner, found)
        grown = False
        for value in values:
            assert value.iter_arg is not None
            joined = _union(found, (value.iter_arg, *(e for _, e in value.yields)))
            grown = grown or len(joined) > len(found[value.iter_arg])
            found[value.iter_arg] = found[value.return_var] = joined


def _union(found: dict[Var, Roots], values: Iterable[Expr]) -> Roots:
    return tuple(dict.fromkeys(r for v in values if isinstance(v, Var) for r in found.get(v, ())))


def _roots_of(stmt: AssignStmt, found: dict[Var, Roots]) -> Roots:
    source = aliased(stmt.value)
    return (found.get(source) if isinstance(source, Var) else None) or (stmt.var,)


# --------------------------------------------------------------------------------------------
# Instructions
# --------------------------------------------------------------------------------------------


class _Shape(NamedTuple):
    """What an op's definition says of its calls, in the form that accesses are found by."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    is_view: bool
    boxes: dict[str, int]  # where its lists of integers stand

    @staticmethod
    def of(op: OpDef[..., Any]) -> _Shape:
        lists = {p.name: i for i, p in enumerate(op.operands) if p.kind == INTS}
        return _Shape(
            tuple(sorted(op.reads)), tuple(sorted(op.writes)), op.view_of is not None, lists
        )


class Accesses:
    """The instructions of a function by site, with the facts to compare what they touch.

    ``syncs`` has the calls that set or wait for a flag or are barriers, ``jumps`` the statements
    that end a block or leave a loop early; both in textual order.
    """

    def __init__(self, function: Function, root: Block) -> None:
        self.integers = Integers(function, root)
        self.roots = tensor_roots(function, root)
        self.windows: dict[Var, Window] = dict.fromkeys(function.params, ())
        self.at: dict[Site, Instruction] = {}
        self.syncs: dict[Site, Call] = {}
        self.jumps: list[Site] = []
        self._shapes: dict[OpDef[..., Any], _Shape] = {}
        self._memrefs: dict[MemRef, None] = {}
        self._touched: list[tuple[Instruction, list[MemRef], list[MemRef]]] = []
        self._block(root)
        self._cut()

    def _block(self, block: Block) -> None:
        for site in block.sites:
            stmt = site.stmt
            if isinstance(stmt, AssignStmt):
                self._assign(site, stmt)
            elif isinstance(stmt, EvalStmt):
                if isinstance(stmt.expr, Call):
                    self._call(site, stmt.expr, None)
            elif site.blocks:
                self._compound(site)
            elif not isinstance(stmt, YieldStmt):
                self.jumps.append(site)

    def _compound(self, site: Site) -> None:
        self.integers.enter(site)
        values = carried(site)
        for value in values:
            if value.iter_arg is not None:
                self._hand_on(value.iter_arg, [value.iter_arg.initValue])
        for inner in site.blocks:
            self._block(inner)
        for value in values:
            self._hand_on(value.return_var, [e for _, e in value.yields])

    def _assign(self, site: Site, stmt: AssignStmt) -> None:
        var, value = stmt.var, stmt.value
        kind = var.type
        if isinstance(kind, ScalarType):
            self.integers.assign(var, value, site.block)
        elif isinstance(kind, TensorType):
            self.windows[var] = self._window(value, site.block)
        if isinstance(value, Call):
            self._call(site, value, var if isinstance(kind, TileType) else None)

    def _call(self, site: Site, call: Call, tile: Var | None) -> None:
        """Take note of what a call does; ``tile`` is its result, if that is a tile."""
        op = op_of(call)
        if op is None:
            return
        if op in SYNC_OPS:
            self.syncs[site] = call
            return
        pipe = op.pipe_of(call)
        if pipe is None:
            return
        shape = self._shapes.get(op)
        if shape is None:
            shape = self._shapes[op] = _Shape.of(op)
        args, tensors = call.args, False
        reads: list[MemRef] = []
        writes: list[MemRef] = []
        for indices, found in ((shape.reads, reads), (shape.writes, writes)):
            for index in indices:
                arg = args[index]
                if not isinstance(arg, Var):
                    continue
                if isinstance(arg.type, TileType):
                    found.append(memref_of(arg))
                else:
                    tensors = tensors or isinstance(arg.type, TensorType)
        if tile is not None and not shape.is_view:
            writes.append(memref_of(tile))
        instruction = Instruction(site, call, pipe)
        if tensors:
            instruction.tensors = tuple(self._tensors(call, shape, site.block))
        if reads or writes:
            self._memrefs.update(dict.fromkeys((*reads, *writes)))
            self._touched.append((instruction, reads, writes))
        if reads or writes or tensors:
            self.at[site] = instruction

    def _cut(self) -> None:
        """Give the instructions the chunks of the buffers that they touch."""
        of = chunks(self._memrefs)
        for instruction, reads, writes in self._touched:
            instruction.reads = tuple([chunk for memref in reads for chunk in of[memref]])
            instruction.writes = tuple([chunk for memref in writes for chunk in of[memref]])

    def _hand_on(self, target: Var, sources: Sequence[Expr]) -> None:
        """What is carried is a whole tensor, or it may begin elsewhere on each turn."""
        whole = all(isinstance(e, Var) and self.windows.get(e) == () for e in sources)
        self.windows[target] = () if whole else None

    def _tensors(self, call: Call, shape: _Shape, block: Block) -> Iterator[TensorAccess]:
        for index, arg in enumerate(call.args):
            if not isinstance(arg, Var) or not _is_tensor(arg):
                continue
            box = self._box(call, shape, arg, block)
            for root in self.roots.get(arg, (arg,)):
                if index in shape.reads:
                    yield TensorAccess(root, box, False)
                if index in shape.writes:
                    yield TensorAccess(root, box, True)

    def _ints(
        self, call: Call, shape: _Shape, block: Block, name: str
    ) -> tuple[Affine, ...] | None:
        """Return the integer list that a call has under ``name``, such as its offsets."""
        index = shape.boxes.get(name)
        arg = None if index is None else call.args[index]
        if not isinstance(arg, MakeTuple):
            return None
        form = self.integers.form
        return tuple([form(e, block) for e in arg.elements])

    def _box(self, call: Call, shape: _Shape, tensor: Var, block: Block) -> Box | None:
        """Return the part of ``tensor`` that a call touches, None for unknown.

        The names of the operands say it: ``indices`` of one element, or ``offsets`` and ``shapes``
        of a box.
        """
        base = self.windows.get(tensor)
        indices = self._ints(call, shape, block, "indices")
        offsets = self._ints(call, shape, block, "offsets") if indices is None else indices
        if offsets is None or base is None:
            return None
        if base:
            if len(base) != len(offsets):
                return None
            offsets = tuple(combine(b, o, 1) for b, o in zip(base, offsets, strict=True))
        if indices is not None:
            return Box(offsets, (1,) * len(offsets))
        sizes = self._ints(call, shape, block, "shapes")
        if sizes is None or len(sizes) != len(offsets):
            return None
        return Box(offsets, tuple([None if s.terms else s.constant for s in sizes]))

    def _window(self, value: Expr, block: Block) -> Window:
        """Return where the tensor ``value`` begins in the tensor that it aliases."""
        if isinstance(value, Var):
            return self.windows.get(value)
        source = aliased(value)
        if source is None:
            return ()
        base = self._window(source, block)
        if not isinstance(value, Call) or base is None:
            return None
        op = op_of(value)
        if op is None or op.view_of is None or op.writes:
            return base  # a store: its value is the whole tensor that it writes
        offsets = self._ints(value, _Shape.of(op), block, "offset")
        if offsets is None or (base and len(base) != len(offsets)):
            return None  # a reshape, whose elements have other indices
        if not base:
            return offsets
        return tuple(combine(b, o, 1) for b, o in zip(base, offsets, strict=True))
