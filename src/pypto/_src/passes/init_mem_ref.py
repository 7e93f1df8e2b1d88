"""InitMemRef: every tensor and tile variable gets the buffer it lives in.

Variables that are one buffer share one `MemRef`: views, the result of a store and its tensor, and
everything that a loop carries or a branch hands on under one name. Where lifetimes forbid the last,
a `block.move` into the carried buffer is inserted. No two values that are needed at the same time
ever share. Packing buffers into less memory is the work of other passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from pypto._src.errors import PassError
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import (
    Call,
    ConstInt,
    Expr,
    IterArg,
    MemRef,
    TensorType,
    TileType,
    Type,
    Var,
    const_value,
    static_shape,
)
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    Function,
    Program,
    Stmt,
    YieldStmt,
)
from pypto._src.ir.walk import variable_names
from pypto._src.ops.layout import alloc_bytes
from pypto._src.ops.memory import move
from pypto._src.passes.base import IRProperty, IRPropertySet, Pass
from pypto._src.passes.buffers import tensor_roots
from pypto._src.passes.liveness import Carried, Lifetimes, Range, carried
from pypto._src.passes.normalize_stmt_structure import normalized
from pypto._src.passes.regions import (
    Block,
    Retype,
    Site,
    number,
    rewrite,
    with_memref,
)

_P: Final = IRProperty


class InitMemRef(Pass):
    """Give every tensor and tile variable a MemRef with address -1.

    Numbers count from 0 in the order in which the function defines its buffers. The size is what
    the target allocates for a tile, or a tensor's dense bytes (0 if a dimension is symbolic).
    """

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked, _P.SplitIncoreOrch, _P.IncoreBlockOps)
    produces = IRPropertySet(_P.NormalizedStmtStructure, _P.HasMemRefs)
    invalidates = IRPropertySet(_P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program with a memory reference on every tensor and tile type.

        Raises:
            PassError: a loop or branch would have to copy a tile that no move can copy.
        """
        return normalized(program.with_functions([with_memrefs(f) for f in program.functions_]))


def init_mem_ref() -> Pass:
    """Return the pass that gives every tensor and tile variable the buffer it lives in."""
    return InitMemRef()


def with_memrefs(function: Function) -> Function:
    """Return ``function`` with memory references; see `InitMemRef`."""
    plan = _Plan(function)
    plan.share()
    return _Writer(plan).write()


class _Copy(NamedTuple):
    """A value that a loop or branch takes over: at its entry, or at the yield of one block."""

    source: Var
    value: Carried
    last: Site | None  # the yield, None for the entry of a loop

    @property
    def site(self) -> Site:
        return self.value.site if self.last is None else self.last

    @property
    def target(self) -> Var:
        return self.value.return_var


class _Plan:
    """Which tile variables share a buffer, and which copies remain."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.root = number(function)
        self.parent: dict[Var, Var] = {}
        self.ranges: dict[Var, Range] = {}  # of the classes' representatives
        self.space: dict[Var, MemorySpace] = {}
        self.copies: list[_Copy] = []
        lifetimes = Lifetimes(function, self.root)
        self.parts = lifetimes.parts
        for var, range_ in lifetimes.ranges.items():
            if isinstance(var.type, TileType):
                self.parent[var] = var
                self.ranges[var] = range_
                self.space[var] = MemorySpace.Vec

    def find(self, var: Var) -> Var:
        """Return the representative of the class of ``var``."""
        top = var
        while self.parent[top] is not top:
            top = self.parent[top]
        while self.parent[var] is not top:
            var, self.parent[var] = self.parent[var], top
        return top

    def merge(self, a: Var, b: Var) -> None:
        """Make one class of the classes of ``a`` and ``b``; the space is that of ``a``."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return
        space = self.space[a]
        if len(self.ranges[a]) < len(self.ranges[b]):
            a, b = b, a
        self.parent[b] = a
        self.ranges[a] = self.ranges[a].absorb(self.ranges.pop(b))
        self.space[a] = space

    def fits(self, a: Var, b: Var) -> bool:
        """True if two classes can be one buffer: same memory, never both in use."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return True
        return self.space[a] is self.space[b] and not self.ranges[a].meets(self.ranges[b])

    def share(self) -> None:
        """Join what must be one buffer, then what may be, the innermost copies first."""
        candidates: list[_Copy] = []
        products: list[AssignStmt] = []
        self._visit(self.root, candidates, products)
        self._join_updates(products)
        candidates.sort(key=lambda c: (-c.site.block.depth, c.site.begin, c.value.position))
        for copy in candidates:
            if copy.source not in self.parts and self.fits(copy.target, copy.source):
                self.merge(copy.target, copy.source)
            else:
                self._check_movable(copy)
                self.copies.append(copy)

    def _visit(self, block: Block, candidates: list[_Copy], products: list[AssignStmt]) -> None:
        """Join views with their tiles; collect copies, and what the matrix unit adds up."""
        for site in block.sites:
            stmt = site.stmt
            if isinstance(stmt, AssignStmt):
                if isinstance(stmt.var.type, TileType) and self._make(stmt) is MemorySpace.Acc:
                    products.append(stmt)
                continue
            values = [v for v in carried(site) if isinstance(v.return_var.type, TileType)]
            for value in values:
                if value.iter_arg is not None:
                    init = _variable(value.iter_arg.initValue)
                    self.space[self.find(value.iter_arg)] = self.space[self.find(init)]
                    self.merge(value.iter_arg, value.return_var)
                    candidates.append(_Copy(init, value, None))
            for inner in site.blocks:
                self._visit(inner, candidates, products)
            for value in values:
                sources = [(_variable(e), last) for last, e in value.yields]
                if value.iter_arg is None and sources:
                    first = self.space[self.find(sources[0][0])]
                    self.space[self.find(value.return_var)] = first
                candidates += [_Copy(source, value, last) for source, last in sources]

    def _make(self, stmt: AssignStmt) -> MemorySpace | None:
        """Return the memory in which a statement makes a tile, None if it has another's bytes."""
        var, value = stmt.var, stmt.value
        op = op_of(value)
        source: Expr | None = value
        space: MemorySpace | None = None
        if op is not None and isinstance(value, Call):
            source = None if op.view_of is None else value.args[op.view_of]
            space = op.space_of(value)
        if isinstance(source, Var):
            self.merge(source, var)
            return None
        if space is not None:
            self.space[var] = space
        return space

    def _join_updates(self, products: Sequence[AssignStmt]) -> None:
        """Join the result of an accumulating matrix product with what it accumulates in.

        The matrix unit adds into the accumulator in place, and nothing copies accumulators.
        """
        for stmt in products:
            updated = self._updated(stmt.value)
            if updated is None:
                continue
            if not self.fits(updated, stmt.var):
                raise PassError(
                    f"{updated.name!r} is still needed after {_op_name(stmt.value)} has added to "
                    "it, and accumulators cannot be copied",
                    stmt.span,
                    hint=f"use the result instead of {updated.name!r} from here on",
                )
            self.merge(updated, stmt.var)

    def _updated(self, product: Expr) -> Var | None:
        """Return the accumulator operand whose bytes the result of a product has to be."""
        op = op_of(product)
        if op is None or op.view_of is not None or not isinstance(product, Call):
            return None
        for index in sorted(op.reads):
            arg = product.args[index]
            if not isinstance(arg, Var) or arg not in self.parent:
                continue
            if self.space[self.find(arg)] is MemorySpace.Acc:
                return arg
        return None

    def _check_movable(self, copy: _Copy) -> None:
        space = self.space[self.find(copy.target)]
        other = self.space[self.find(copy.source)]
        if space is MemorySpace.Vec and other is MemorySpace.Vec:
            return
        stmt = copy.value.site.stmt
        what = "loop" if copy.value.iter_arg is not None else "branch"
        if space is not other:
            raise PassError(
                f"the {what} hands on {copy.target.name!r} in {space.name} memory, "
                f"but {copy.source.name!r} is in {other.name} memory",
                copy.site.stmt.span,
                hint=f"move {copy.source.name!r} to {space.name} memory first",
            )
        raise PassError(
            f"{copy.source.name!r} is needed beside {copy.target.name!r}, which the {what} "
            f"hands on, and a tile in {space.name} memory cannot be copied",
            copy.site.stmt.span if copy.last is not None else stmt.span,
            hint=f"make {copy.source.name!r} a second time, for {copy.target.name!r} alone",
        )


def _variable(value: Expr) -> Var:
    if isinstance(value, Var):
        return value
    raise PassError(
        "a tile that a loop carries or a branch hands on is a variable",
        value.span,
        hint="run passes.flatten_call_expr() first",
    )


def _op_name(value: Expr) -> str:
    op = op_of(value)
    return "the call" if op is None else op.name


# --------------------------------------------------------------------------------------------
# Writing it down
# --------------------------------------------------------------------------------------------


class _Move(NamedTuple):
    """One copy of a group that happens at one moment: all read before any writes."""

    copy: _Copy
    reads: Var  # class
    writes: Var  # class


class _Writer:
    """Inserts the copies of a plan and puts memory references on all types."""

    def __init__(self, plan: _Plan) -> None:
        self.plan = plan
        self.before: dict[Site, list[Stmt]] = {}
        self.inits: dict[Var, Var] = {}  # iter_arg to the copy it starts from
        self.yielded: dict[tuple[Site, int], Var] = {}
        self.classes: dict[Var, Var] = {}  # of inserted variables
        self.count = 0
        self.known: dict[tuple[int, MemorySpace], int] = {}  # sizes by id of a type of the function
        self.sizes: dict[Var, int] = {}  # of classes: the most that a member takes
        for var in plan.parent:
            class_ = plan.find(var)
            size = self._bytes(var, plan.space[class_])
            if size > self.sizes.get(class_, -1):
                self.sizes[class_] = size
        self.tiles: dict[Var, MemRef] = {}  # by class
        self.tensors: dict[tuple[int, ...], MemRef] = {}  # by ids of the roots

    @cached_property
    def names(self) -> set[str]:
        """The names that are taken; few functions need new ones."""
        return variable_names(self.plan.function)

    def write(self) -> Function:
        """Return the function of the plan."""
        groups: dict[Site, list[_Copy]] = {}
        for copy in self.plan.copies:
            groups.setdefault(copy.site, []).append(copy)
        for site, copies in groups.items():
            copies.sort(key=lambda c: c.value.position)
            self._place(site, copies)
        self.roots = tensor_roots(self.plan.function, self.plan.root)  # copies are of tiles
        function = self.plan.function
        if self.before:
            function = rewrite(function, self.plan.root, self._edit)
        return _Assign(self).function(function)

    def _bytes(self, tile: Var, space: MemorySpace) -> int:
        key = id(tile.type), space
        size = self.known.get(key)
        if size is None:
            size = self.known[key] = _allocated_bytes(tile, space)
        return size

    def _place(self, site: Site, copies: Sequence[_Copy]) -> None:
        """Order the copies of one moment so that none overwrites what another still reads."""
        find = self.plan.find
        pending = [_Move(c, find(c.source), find(c.target)) for c in copies]
        sources = {m.copy: m.copy.source for m in pending}
        while pending:
            read = [m.reads for m in pending]
            free = [
                m
                for i, m in enumerate(pending)
                if all(r is not m.writes for j, r in enumerate(read) if j != i)
            ]
            for each in free:
                self._emit(site, each.copy, sources[each.copy])
            pending = [m for m in pending if all(m is not f for f in free)]
            if pending and not free:
                # A ring of exchanges: set the first one's source aside in a buffer of its own.
                first = pending[0]
                aside = self._variable(first.copy.source, first.copy.source.name, None)
                self._append(site, aside, first.copy.source)
                sources[first.copy] = aside
                pending[0] = _Move(first.copy, aside, first.writes)

    def _emit(self, site: Site, copy: _Copy, source: Var) -> None:
        result = self._variable(source, copy.target.name, self.plan.find(copy.target))
        self._append(site, result, source)
        if copy.last is None:
            assert copy.value.iter_arg is not None
            self.inits[copy.value.iter_arg] = result
        else:
            self.yielded[copy.last, copy.value.position] = result

    def _append(self, site: Site, result: Var, source: Var) -> None:
        span = site.stmt.span
        call = move.build((source, MemorySpace.Vec), {}, span)
        self.before.setdefault(site, []).append(AssignStmt(var=result, value=call, span=span))

    def _variable(self, like: Var, name: str, class_: Var | None) -> Var:
        while (fresh := f"{name}_copy{self.count}") in self.names:
            self.count += 1
        self.names.add(fresh)
        var = Var(fresh, like.type, like.span)
        self.classes[var] = var if class_ is None else class_
        return var

    def _edit(self, site: Site, stmt: Stmt) -> Sequence[Stmt]:
        added = self.before.get(site, [])
        if isinstance(stmt, YieldStmt) and added:
            values = [self.yielded.get((site, i), v) for i, v in enumerate(stmt.value)]
            stmt = YieldStmt(values, stmt.span)
        return [*added, stmt]

    def type_of(self, var: Var) -> Type:
        """Return the type of a variable with its memory reference, made when first asked for."""
        kind = var.type
        if isinstance(kind, TileType):
            return with_memref(kind, self._of_tile(var))
        if isinstance(kind, TensorType):
            key = tuple([id(root) for root in self.roots[var]])
            found = self.tensors.get(key)
            if found is None:
                found = self.tensors[key] = self._new(MemorySpace.DDR, _dense_bytes(kind))
            return with_memref(kind, found)
        return kind

    def _of_tile(self, tile: Var) -> MemRef:
        class_ = self.classes.get(tile)
        if class_ is None:
            class_ = self.plan.find(tile)
        found = self.tiles.get(class_)
        if found is None:
            space = self.plan.space.get(class_, MemorySpace.Vec)
            size = self.sizes.get(class_)
            size = self._bytes(tile, space) if size is None else size
            found = self.tiles[class_] = self._new(space, size)
        return found

    def _new(self, space: MemorySpace, size_bytes: int) -> MemRef:
        return MemRef(space, _NOWHERE, size_bytes, len(self.tiles) + len(self.tensors))


_NOWHERE: Final = ConstInt(-1)
"""The address of what has none yet."""


def _dense_bytes(kind: TensorType) -> int:
    shape = static_shape(kind)
    if shape is None:
        return 0
    size = kind.dtype.bytes
    for dim in shape:
        size *= dim
    return size


def _allocated_bytes(tile: Var, space: MemorySpace) -> int:
    assert isinstance(tile.type, TileType)
    if static_shape(tile.type) is None:
        raise PassError(
            f"the shape of tile {tile.name!r} is not constant, so it has no place in memory",
            tile.span,
            hint=_constant_sizes(tile.type.shape),
        )
    return alloc_bytes(tile.type, space)


def _constant_sizes(shape: Sequence[Expr]) -> str:
    """Return what to do instead of taking a tile of ``shape``, a size of which varies."""
    sizes = [const_value(dim) for dim in shape]
    if sizes[-1] is None or sizes[-1] < 0:
        return "take blocks of constant size, the last one up to the end of the tensor"
    rest = ", ".join("1" if size is None or size < 0 else str(size) for size in sizes)
    return f"take blocks of constant size, then the rest in tiles [{rest}]"


class _Assign(Retype):
    """Puts the memory reference on each type, and lets loops start from the copies."""

    def __init__(self, writer: _Writer) -> None:
        super().__init__(writer.type_of)
        self._writer = writer

    def initial(self, var: IterArg) -> Expr:
        """Return the copy that the loop starts with, or else what it started with before."""
        start = self._writer.inits.get(var)
        return super().initial(var) if start is None else self.visit(start)
