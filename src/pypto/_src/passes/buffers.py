"""What each instruction of a kernel touches: on-chip buffers, and boxes of tensors.

One `Instruction` for each call that a pipe executes. An on-chip access names chunks: memory
references, or, once these have addresses, the pieces that the address ranges cut each other into.
A tensor access names the tensors it may be (a parameter, or one made in the function) and the box
of elements (`boxes`). Distinct parameters are taken as distinct memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from pypto._src.errors import PassError
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.nodes import (
    Call,
    Expr,
    IterArg,
    MakeTuple,
    MemRef,
    ShapedType,
    TensorType,
    TileType,
    Var,
    const_value,
)
from pypto._src.ir.opdef import INTS, aliased, op_of
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, IfStmt, WhileStmt
from pypto._src.ops.order import completes_in_order
from pypto._src.passes.boxes import Affine, Box, Integers, combine
from pypto._src.passes.liveness import carried
from pypto._src.passes.regions import Block, Site, call_of, sites_in

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
            if _is_tensor(stmt.var):
                found[stmt.var] = _roots_of(stmt, found)
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
    roots = () if source is None else _union(found, (source,))
    return roots or (stmt.var,)


# --------------------------------------------------------------------------------------------
# Instructions
# --------------------------------------------------------------------------------------------


class Accesses:
    """The instructions of a function by site, with the facts to compare what they touch."""

    def __init__(self, function: Function, root: Block) -> None:
        self.integers = Integers(function, root)
        self.roots = tensor_roots(function, root)
        self.windows: dict[Var, Window] = dict.fromkeys(function.params, ())
        self.at: dict[Site, Instruction] = {}
        self.chunks = chunks(_on_chip(function, root))
        self._block(root)

    def _block(self, block: Block) -> None:
        for site in block.sites:
            self.integers.visit(site)
            values = carried(site)
            for value in values:
                if value.iter_arg is not None:
                    self._hand_on(value.iter_arg, [value.iter_arg.initValue])
            self._visit(site)
            for inner in site.blocks:
                self._block(inner)
            for value in values:
                self._hand_on(value.return_var, [e for _, e in value.yields])

    def _visit(self, site: Site) -> None:
        stmt = site.stmt
        target = stmt.var if isinstance(stmt, AssignStmt) else None
        if isinstance(stmt, AssignStmt) and _is_tensor(stmt.var):
            self.windows[stmt.var] = self._window(stmt.value, site.block)
        call = call_of(stmt)
        op = op_of(call)
        pipe = None if call is None or op is None else op.pipe_of(call)
        if call is None or op is None or pipe is None:
            return
        instruction = Instruction(site, call, pipe)
        touched = _tiles(call, op.reads)
        instruction.reads = tuple(c for t in touched for c in self.chunks[memref_of(t)])
        results = _tiles(call, op.writes)
        if target is not None and isinstance(target.type, TileType) and op.view_of is None:
            results.append(target)
        instruction.writes = tuple(c for t in results for c in self.chunks[memref_of(t)])
        instruction.tensors = tuple(self._tensors(call, site.block))
        if instruction.reads or instruction.writes or instruction.tensors:
            self.at[site] = instruction

    def _hand_on(self, target: Var, sources: Sequence[Expr]) -> None:
        """What is carried is a whole tensor, or it may begin elsewhere on each turn."""
        whole = all(isinstance(e, Var) and self.windows.get(e) == () for e in sources)
        self.windows[target] = () if whole else None

    def _tensors(self, call: Call, block: Block) -> Iterator[TensorAccess]:
        op = op_of(call)
        assert op is not None
        for index, arg in enumerate(call.args):
            if not isinstance(arg, Var) or not _is_tensor(arg):
                continue
            box = self._box(call, arg, block)
            for root in self.roots.get(arg, (arg,)):
                if index in op.reads:
                    yield TensorAccess(root, box, False)
                if index in op.writes:
                    yield TensorAccess(root, box, True)

    def _ints(self, call: Call, block: Block, name: str) -> tuple[Affine, ...] | None:
        """Return the integer list that a call has under ``name``, such as its offsets."""
        op = op_of(call)
        assert op is not None
        for param, arg in zip(op.operands, call.args, strict=True):
            if param.kind == INTS and param.name == name and isinstance(arg, MakeTuple):
                return tuple(self.integers.form(e, block) for e in arg.elements)
        return None

    def _box(self, call: Call, tensor: Var, block: Block) -> Box | None:
        """Return the part of ``tensor`` that a call touches, None for unknown.

        The names of the operands say it: ``indices`` of one element, or ``offsets`` and ``shapes``
        of a box.
        """
        base = self.windows.get(tensor)
        indices = self._ints(call, block, "indices")
        offsets = self._ints(call, block, "offsets") if indices is None else indices
        if offsets is None or base is None:
            return None
        if base:
            if len(base) != len(offsets):
                return None
            offsets = tuple(combine(b, o, 1) for b, o in zip(base, offsets, strict=True))
        if indices is not None:
            return Box(offsets, (1,) * len(offsets))
        sizes = self._ints(call, block, "shapes")
        if sizes is None or len(sizes) != len(offsets):
            return None
        return Box(offsets, tuple(None if s.terms else s.constant for s in sizes))

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
        offsets = self._ints(value, block, "offset")
        if offsets is None or (base and len(base) != len(offsets)):
            return None  # a reshape, whose elements have other indices
        if not base:
            return offsets
        return tuple(combine(b, o, 1) for b, o in zip(base, offsets, strict=True))


def _tiles(call: Call, indices: Iterable[int]) -> list[Var]:
    chosen: Sequence[Expr] = [call.args[i] for i in sorted(indices)]
    return [arg for arg in chosen if isinstance(arg, Var) and isinstance(arg.type, TileType)]


def _on_chip(function: Function, root: Block) -> Iterator[MemRef]:
    for param in function.params:
        if isinstance(param.type, TileType):
            yield memref_of(param)
    for site in sites_in(root):
        stmt = site.stmt
        variables: Sequence[Var | IterArg] = ()
        if isinstance(stmt, AssignStmt):
            variables = (stmt.var,)
        elif isinstance(stmt, ForStmt | WhileStmt):
            variables = (*stmt.iter_args, *stmt.return_vars)
        elif isinstance(stmt, IfStmt):
            variables = stmt.return_vars
        yield from (memref_of(v) for v in variables if isinstance(v.type, TileType))
