"""InitMemRef: every tensor and tile variable gets the buffer it lives in.

Variables that name one buffer share one `MemRef`: views, the result of a store and its tensor, and
everything that a loop carries or a branch merges under one name. Where lifetimes forbid the last, a
`block.move` into the carried buffer is inserted. Two values that are live at the same time never
share. Packing buffers into less memory is left to other passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pypto._src.analysis.accesses import AliasBases, alias_bases
from pypto._src.analysis.liveness import Carried, Lifetimes, Range, carried, defined, is_data
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, number, rewrite
from pypto._src.errors import PassError
from pypto._src.ir.array_types import MemRef, TensorType, TileType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr, Op, Var, const_value
from pypto._src.ir.interning import Facts
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, Stmt, YieldStmt
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import variable_names
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.unchecked import checked_memref
from pypto._src.lazy import lazy_module
from pypto._src.ops.layout import alloc_bytes
from pypto._src.ops.memory import move
from pypto._src.passes.memory.memref_assignment import MemoryPass, MemRefAssignment, MemRefs
from pypto._src.passes.pass_base import AnyProgram, Pass, materialized, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    from pypto._src.ir.inspect import source_names
else:
    source_names = lazy_module("pypto._src.ir.inspect.source_names")

_P: Final = IRProperty

# In CPython 3.11, looking up an enum member takes five times as long as a global.
_VEC: Final = MemorySpace.Vec
_ACC: Final = MemorySpace.Acc
_DDR: Final = MemorySpace.DDR


class InitMemRef(MemoryPass):
    """Give every tensor and tile variable a MemRef with address -1.

    They are numbered from 0 in the order in which the function defines its buffers. The size is
    what the target allocates for a tile, or a tensor's dense bytes (0 if a dimension is symbolic).
    """

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked, _P.SplitIncoreOrch, _P.IncoreBlockOps)
    produces = IRPropertySet(_P.NormalizedStmtStructure, _P.HasMemRefs)
    invalidates = IRPropertySet(_P.FlattenedSingleStmt)

    def go_on(self, given: AnyProgram) -> AnyProgram:
        """Return the program with a memory reference on every tensor and tile type.

        Raises:
            PassError: a loop or branch needs to copy a tile that no move can copy.
        """
        program = materialized(given)
        return MemRefAssignment(program, [_placed(f) for f in program.functions_])


@pass_factory
def init_mem_ref() -> Pass:
    """Return the pass that gives every tensor and tile variable the buffer it lives in."""
    return InitMemRef()


def with_memrefs(function: Function) -> Function:
    """Return ``function`` with memory references and normal bodies; see `InitMemRef`."""
    return _placed(function).materialize()


def _placed(function: Function) -> MemRefs:
    plan = _Plan(function)
    plan.share()
    return _Writer(plan).write()


class _Copy(NamedTuple):
    """A copy into a carried or merged value: at a loop's entry, or at the yield of one block."""

    source: Var
    value: Carried
    last: ProgramPoint | None  # the yield, None for the entry of a loop

    @property
    def point(self) -> ProgramPoint:
        return self.value.point if self.last is None else self.last

    @property
    def target(self) -> Var:
        return self.value.return_var


class _Plan:
    """Which tile variables share a buffer, and which copies remain.

    Lifetimes are computed only if a loop or branch yields a tile, or the matrix unit adds to one:
    everything else follows from the ops that make the tiles.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.root = number(function)
        self.parent: dict[Var, Var] = {}  # union-find; representatives have none
        self.space: dict[Var, MemorySpace] = {}  # of classes that are not in vector memory
        self.copies: list[_Copy] = []
        self.order: list[Var | ProgramPoint] = [p for p in function.params if is_data(p)]
        """The tensors and tiles in the order in which their buffers are numbered.

        The iter_args of a loop come before its contents, results of a loop or branch after it. In
        between are the statements before which copies may be inserted.
        """

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """The live range of each tile."""
        return Lifetimes(self.function, self.root)

    @cached_property
    def ranges(self) -> dict[Var, Range]:
        """The live range of each class, by its representative."""
        found: dict[Var, Range] = {}
        for var, range_ in self.lifetimes.ranges.items():
            if isinstance(var.type, TileType):
                class_ = self.find(var)
                known = found.get(class_)
                found[class_] = range_ if known is None else known.absorb(range_)
        return found

    def find(self, var: Var) -> Var:
        """Return the representative of the class of ``var``."""
        parent = self.parent
        top = parent.get(var)
        if top is None:
            return var
        while (above := parent.get(top)) is not None:
            top = above
        while var is not top:
            parent[var], var = top, parent[var]
        return top

    def space_of(self, var: Var) -> MemorySpace:
        """Return the memory of the class of ``var``."""
        return self.space.get(self.find(var), _VEC)

    def join(self, a: Var, b: Var) -> None:
        """Unite the classes of ``a`` and ``b``; only before their live ranges are computed."""
        a, b = self.find(a), self.find(b)
        if a is not b:
            self.parent[b] = a

    def merge(self, a: Var, b: Var) -> None:
        """Unite the classes of ``a`` and ``b``; the space is that of ``a``."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return
        space = self.space_of(a)
        ranges = self.ranges
        if len(ranges[a]) < len(ranges[b]):
            a, b = b, a
        self.parent[b] = a
        ranges[a] = ranges[a].absorb(ranges.pop(b))
        self.space[a] = space

    def fits(self, a: Var, b: Var) -> bool:
        """True if two classes can be one buffer: in the same memory, and never both live."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return True
        return self.space_of(a) is self.space_of(b) and not self.ranges[a].meets(self.ranges[b])

    def share(self) -> None:
        """Unite what must be one buffer, then what may be, the innermost copies first."""
        candidates: list[_Copy] = []
        products: list[AssignStmt] = []
        self._visit(self.root, candidates, products)
        self._join_updates(products)
        candidates.sort(key=lambda c: (-c.point.block.depth, c.point.begin, c.value.position))
        for copy in candidates:
            if copy.source not in self.lifetimes.parts and self.fits(copy.target, copy.source):
                self.merge(copy.target, copy.source)
            else:
                self._check_movable(copy)
                self.copies.append(copy)

    def _visit(self, block: Block, candidates: list[_Copy], products: list[AssignStmt]) -> None:
        """Unite views with their tiles; collect copies, and results of the matrix unit."""
        order = self.order
        for point in block.points:
            stmt: Any = point.stmt
            if stmt.__class__ is AssignStmt:
                var, value = stmt.var, stmt.value
                kind = var.type.__class__
                if kind is TileType:
                    order.append(var)
                    if value.__class__ is Call and value.op in _PLAIN:
                        continue
                    if self._make(stmt) is _ACC:
                        products.append(stmt)
                elif kind is TensorType:
                    order.append(var)
            elif stmt.__class__ is not EvalStmt:
                order.append(point)
                if point.blocks:
                    self._visit_below(point, candidates, products)

    def _visit_below(
        self, point: ProgramPoint, candidates: list[_Copy], products: list[AssignStmt]
    ) -> None:
        handed = carried(point)
        values = [v for v in handed if isinstance(v.return_var.type, TileType)]
        for value in values:
            if value.iter_arg is not None:
                init = _variable(value.iter_arg.initValue)
                self.space[self.find(value.iter_arg)] = self.space_of(init)
                self.join(value.iter_arg, value.return_var)
                candidates.append(_Copy(init, value, None))
        self.order += [value.iter_arg for value in handed if value.iter_arg is not None]
        for inner in point.blocks:
            self._visit(inner, candidates, products)
        self.order += [value.return_var for value in handed]
        for value in values:
            sources = [(_variable(e), last) for last, e in value.yields]
            if value.iter_arg is None and sources:
                self.space[self.find(value.return_var)] = self.space_of(sources[0][0])
            candidates += [_Copy(source, value, last) for source, last in sources]

    def _make(self, stmt: AssignStmt) -> MemorySpace:
        """Return the memory in which a statement makes a tile.

        That is Vec for a tile that aliases another one, whose class it joins.
        """
        var, value = stmt.var, stmt.value
        op = op_of(value)
        source: Expr | None = value
        space = _VEC
        if op is not None and isinstance(value, Call):
            source = None if op.view_of is None else value.args[op.view_of]
            space = op.space_of(value)
            has_own = source is None and op is value.op
            if has_own and op.space in _IN_VEC and op.with_scratch is None:
                _PLAIN.add(op)
        if isinstance(source, Var):
            self.join(source, var)
            return _VEC
        if space is not _VEC:
            self.space[var] = space
        return space

    def _join_updates(self, products: Sequence[AssignStmt]) -> None:
        """Unite the result of an accumulating matrix product with its accumulator.

        The matrix unit adds to the accumulator in place, and accumulators cannot be copied.
        """
        for stmt in products:
            updated = self._updated(stmt.value)
            if updated is None:
                continue
            if not self.fits(updated, stmt.var):
                name = source_names.user_name(updated)
                raise PassError(
                    f"{name!r} is still needed after {_call_text(stmt.value)} has added to it, and "
                    "accumulators cannot be copied",
                    stmt.span,
                    hint=f"use the result instead of {name!r} from here on",
                )
            self.merge(updated, stmt.var)

    def _updated(self, product: Expr) -> Var | None:
        """Return the accumulator operand whose bytes the result of a product must share."""
        op = op_of(product)
        if op is None or op.view_of is not None or not isinstance(product, Call):
            return None
        for index in sorted(op.reads):
            arg = product.args[index]
            if not isinstance(arg, Var) or not isinstance(arg.type, TileType):
                continue
            if self.space_of(arg) is MemorySpace.Acc:
                return arg
        return None

    def _check_movable(self, copy: _Copy) -> None:
        space, other = self.space_of(copy.target), self.space_of(copy.source)
        if space is MemorySpace.Vec and other is MemorySpace.Vec:
            return
        stmt = copy.value.point.stmt
        source, target = source_names.user_name(copy.source), source_names.user_name(copy.target)
        what = "loop carries" if copy.value.iter_arg is not None else "branch yields"
        if space is not other:
            raise PassError(
                f"the {what} {target!r} in {space.name} memory, "
                f"but {source!r} is in {other.name} memory",
                copy.point.stmt.span,
                hint=f"move {source!r} to {space.name} memory first",
            )
        raise PassError(
            f"{source!r} is still needed while {target!r}, which the {what}, is live, "
            f"and a tile in {space.name} memory cannot be copied",
            copy.point.stmt.span if copy.last is not None else stmt.span,
            hint=f"create a separate {source!r} for {target!r}",
        )


_PLAIN: Final[set[Op]] = set()
"""The ops found so far that always make new tiles in vector memory, whatever the call."""

_IN_VEC: Final = (None, MemorySpace.Vec)
"""The values of `OpDef.space` that mean vector memory."""


def _variable(value: Expr) -> Var:
    if isinstance(value, Var):
        return value
    raise PassError(
        "a tile that a loop carries or a branch hands on is a variable",
        value.span,
        hint="run passes.flatten_call_expr() first",
    )


def _call_text(value: Expr) -> str:
    return source_names.user_call(value) if isinstance(value, Call) else "the call"


# --------------------------------------------------------------------------------------------
# Applying the plan
# --------------------------------------------------------------------------------------------


class _Move(NamedTuple):
    """One copy of a parallel group: all reads come before any write."""

    copy: _Copy
    reads: Var  # class
    writes: Var  # class


class _Writer:
    """Inserts the copies of a plan and puts memory references on all types."""

    def __init__(self, plan: _Plan) -> None:
        self.plan = plan
        self.before: dict[ProgramPoint, list[AssignStmt]] = {}
        self.inits: dict[Var, Var] = {}  # iter_arg to the copy it starts from
        self.yielded: dict[tuple[ProgramPoint, int], Var] = {}
        self.count = 0

    @cached_property
    def names(self) -> set[str]:
        """The names in use; few functions need new ones."""
        return variable_names(self.plan.function)

    def write(self) -> MemRefs:
        """Return the function with the plan's copies, and its memory references."""
        groups: dict[ProgramPoint, list[_Copy]] = {}
        for copy in self.plan.copies:
            groups.setdefault(copy.point, []).append(copy)
        for point, copies in groups.items():
            copies.sort(key=lambda c: c.value.position)
            self._put_copies(point, copies)
        plan, function = self.plan, self.plan.function
        roots = alias_bases(function, plan.root)  # copies are of tiles
        found = _Buffers(plan, roots).memrefs(self._order())
        if self.before:
            function = rewrite(function, plan.root, self._edit)
        if self.inits:
            start = _Start(self.inits)
            function = start.function(function)
            found = {start.now(var): memref for var, memref in found.items()}
        if not plan.root.is_flat:
            found = {var: found[var] for var in defined(function)}
        placed = MemRefs(function, found, is_normal=True)
        same = function is plan.function
        return placed.knows(plan.root, vars(plan).get("lifetimes")) if same else placed

    def _order(self) -> list[Var]:
        """Return the tensors and tiles, including copies, in the order of their numbers."""
        before = self.before
        found: list[Var] = []
        for item in self.plan.order:
            if isinstance(item, Var):
                found.append(item)
            elif item in before:
                found += [stmt.var for stmt in before[item]]
        return found

    def _put_copies(self, point: ProgramPoint, copies: Sequence[_Copy]) -> None:
        """Serialize parallel copies so that none overwrites what another still reads."""
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
                self._emit(point, each.copy, sources[each.copy])
            pending = [m for m in pending if all(m is not f for f in free)]
            if pending and not free:
                # A cycle: save the first one's source in a separate buffer.
                first = pending[0]
                aside = self._variable(first.copy.source, first.copy.source.name, None)
                self._append(point, aside, first.copy.source)
                sources[first.copy] = aside
                pending[0] = _Move(first.copy, aside, first.writes)

    def _emit(self, point: ProgramPoint, copy: _Copy, source: Var) -> None:
        result = self._variable(source, copy.target.name, self.plan.find(copy.target))
        self._append(point, result, source)
        if copy.last is None:
            assert copy.value.iter_arg is not None
            self.inits[copy.value.iter_arg] = result
        else:
            self.yielded[copy.last, copy.value.position] = result

    def _append(self, point: ProgramPoint, result: Var, source: Var) -> None:
        span = point.stmt.span
        call = move.build((source, MemorySpace.Vec), {}, span)
        self.before.setdefault(point, []).append(AssignStmt(var=result, value=call, span=span))

    def _variable(self, like: Var, name: str, class_: Var | None) -> Var:
        while (fresh := f"{name}_copy{self.count}") in self.names:
            self.count += 1
        self.names.add(fresh)
        var = Var(fresh, like.type, like.span)
        if class_ is not None:
            self.plan.parent[var] = class_
        return var

    def _edit(self, point: ProgramPoint, stmt: Stmt) -> Sequence[Stmt]:
        added = self.before.get(point, [])
        if isinstance(stmt, YieldStmt) and added:
            values = [self.yielded.get((point, i), v) for i, v in enumerate(stmt.value)]
            stmt = YieldStmt(values, stmt.span)
        return [*added, stmt]


class _Buffers:
    """The memory references of a plan, one for each class of tiles and each set of tensors."""

    def __init__(self, plan: _Plan, roots: Mapping[Var, AliasBases]) -> None:
        self.plan = plan
        self.roots = roots
        self.tiles: dict[Var, MemRef] = {}  # by class
        self.tensors: dict[AliasBases, MemRef] = {}

    def memrefs(self, order: Sequence[Var]) -> dict[Var, MemRef]:
        """Return the memory references of variables, numbered in that order."""
        space, parent, find, tiles = self.plan.space, self.plan.parent, self.plan.find, self.tiles
        sizes = self._sizes(order)
        known: dict[tuple[int, MemorySpace], int] = {}  # by id of a type of the function
        found: dict[Var, MemRef] = {}
        for var in order:
            kind = var.type
            if kind.__class__ is not TileType:
                found[var] = self._of_tensor(var)
                continue
            class_ = find(var) if var in parent else var
            memref = tiles.get(class_)
            if memref is None:
                where = space.get(class_, _VEC)
                size = sizes.get(class_)
                if size is None:  # the class has one member
                    key = id(kind), where
                    size = known.get(key)
                    if size is None:
                        size = known[key] = _allocated_bytes(var, where)
                number = len(tiles) + len(self.tensors)
                memref = tiles[class_] = checked_memref(where, _NOWHERE, size, number)
            found[var] = memref
        return found

    def _sizes(self, order: Sequence[Var]) -> dict[Var, int]:
        """Return the bytes of each class with several members: the maximum over its members."""
        space, parent, find = self.plan.space, self.plan.parent, self.plan.find
        joined = {find(var) for var in parent}
        tiles = [var for var in order if var.type.__class__ is TileType] if joined else []
        sizes: dict[Var, int] = {}
        for at, var in enumerate(tiles):
            class_ = find(var) if var in parent else var
            if class_ not in joined:
                continue
            where = space.get(class_, _VEC)
            size = _BYTES_IN.of(var.type, where)
            if size is None:  # report the first tile without constant shape
                size = max(_allocated_bytes(tile, where) for tile in tiles[: at + 1])
            sizes[class_] = max(size, sizes.get(class_, 0))
        return sizes

    def _of_tensor(self, var: Var) -> MemRef:
        key = self.roots[var]
        memref = self.tensors.get(key)
        if memref is None:
            number = len(self.tiles) + len(self.tensors)
            memref = checked_memref(_DDR, _NOWHERE, _DENSE_BYTES.of(var.type), number)
            self.tensors[key] = memref
        return memref


_NOWHERE: Final = ConstInt(-1)
"""The address of a buffer that has none yet."""


def _dense_bytes(kind: TensorType) -> int:
    shape = static_shape(kind)
    if shape is None:
        return 0
    return math.prod(shape) * kind.dtype.bytes


_DENSE_BYTES: Final = Facts(_dense_bytes)


def _bytes_in(kind: TileType, space: MemorySpace) -> int | None:
    """Return the bytes that a tile takes in a memory, None if its shape is not constant."""
    return None if static_shape(kind) is None else alloc_bytes(kind, space)


_BYTES_IN: Final = Facts(_bytes_in)


def _allocated_bytes(tile: Var, space: MemorySpace) -> int:
    assert isinstance(tile.type, TileType)
    size = _BYTES_IN.of(tile.type, space)
    if size is None:
        name = source_names.user_name(tile)
        raise PassError(
            f"the shape of tile {name!r} is not constant, so it cannot be allocated",
            tile.span,
            hint=_constant_sizes(tile.type.shape),
        )
    return size


def _constant_sizes(shape: Sequence[Expr]) -> str:
    """Return the hint for a tile of ``shape``, one size of which is not constant."""
    sizes = [const_value(dim) for dim in shape]
    if sizes[-1] is None or sizes[-1] < 0:
        return "take blocks of constant size, the last one up to the end of the tensor"
    rest = ", ".join("1" if size is None or size < 0 else str(size) for size in sizes)
    return f"take blocks of constant size, then the rest in tiles [{rest}]"


class _Start(Mutator):
    """Makes loops start from copies."""

    def __init__(self, inits: Mapping[Var, Var]) -> None:
        super().__init__()
        self._inits = inits

    def define(self, var: Any) -> Any:
        """Return an iter_arg that starts from its copy, if it has one."""
        start = self._inits.get(var)
        if start is None:
            return super().define(var)
        new = self._redefined[var] = copy_with(var, {"initValue": start})
        return new

    def now(self, var: Var) -> Var:
        """Return the replacement of a variable, or itself."""
        return self._redefined.get(var, var)
