"""Runs kernels as a core does: pipes as queues, memory by address, everything checked.

A kernel after the passes is issued call by call to the queues of its pipes (`pipe_queues`), which
proceed in an order that flags and barriers allow: as late as possible, or at random. For every byte
it is known which call wrote it and which have read it since, so that it is an error

* to read bytes that were never written (padding and dead scratch included), or that another tile
  has overwritten since; a copy within a memory does not count as a read: it passes on which bytes
  have been written, as a branch does for a tile that only the other one assigns;
* to start an access before an earlier one that it conflicts with is complete;
* to end with work in flight or a flag raised, or not to end.

Host functions run as in `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pypto._src.diagnostics import Label
from pypto._src.errors import EvaluationError
from pypto._src.interp.evaluate import Evaluator, Plan, Run, Store
from pypto._src.interp.memory import poison
from pypto._src.interp.op_calls import Env, argument, operands_of
from pypto._src.interp.pipe_order import PIPES
from pypto._src.interp.pipe_queues import (
    Entry,
    Hazard,
    Kind,
    LateOrder,
    Queues,
    RandomOrder,
    held_back,
)
from pypto._src.interp.tensor_boxes import TensorBoxes
from pypto._src.ir.array_types import TensorType, TileType, static_shape
from pypto._src.ir.enums import PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr, Var, const_value
from pypto._src.ir.inspect.source_names import user_call, user_name
from pypto._src.ir.op_params import TENSOR, TILE
from pypto._src.ir.opdef import OpDef, aliased, op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, Program
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.memory import move
from pypto._src.ops.system import bar_all, bar_m, bar_v, completes_in_order, sync_dst, sync_src

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

OrderName = Literal["late", "random", "exhaustive"]
ORDERS: Final[tuple[OrderName, ...]] = ("late", "random", "exhaustive")

_BARRIERS: Final[tuple[tuple[Any, PipeType], ...]] = ((bar_v, PipeType.V), (bar_m, PipeType.M))


class StrictEvaluator(Evaluator):
    """Evaluates a program after the passes; its kernels run on queues.

    ``order`` is ``late``: all work starts as early and completes as late as it may; ``random``: any
    order, given by ``seed``; or ``exhaustive``: late, and then all other orders are checked too.
    """

    def __init__(
        self, program: Program | Function, order: OrderName = "late", seed: int = 0
    ) -> None:
        super().__init__(program)
        self.order: OrderName = order
        self.seed = seed
        self.calls: list[Queues] | None = None
        """The queues of each call of a kernel, if set to a list."""

    def plan(self, function: Function) -> Plan:
        """Return ``function`` ready to be called."""
        if role(function) is Role.KERNEL:
            return StrictPlan(function, self)
        return super().plan(function)

    def queues(self, name: str) -> Queues:
        """Return the empty queues of a core that is about to run kernel ``name``."""
        random = self.order == "random"
        self.seed += random  # another order for each call
        return Queues(RandomOrder(self.seed) if random else LateOrder(), name)


class StrictPlan(Plan):
    """One kernel as closures that issue its calls."""

    def __init__(self, function: Function, evaluator: StrictEvaluator) -> None:
        self.strict = evaluator
        super().__init__(function, evaluator)

    def call(self, args: Sequence[Any]) -> Any:
        """Call the kernel; see `Evaluator.call`."""
        core = Core(self.strict.queues(self.function.name))
        self.core = core
        if self.strict.calls is not None:
            self.strict.calls.append(core.queues)
        result = super().call(args)
        try:
            core.queues.finish()
            if self.strict.order == "exhaustive":
                for error in held_back(core.queues.entries):
                    raise error
        except EvaluationError as error:
            raise error.at(self.function.span) from None
        return result

    def _store(self, var: Var) -> Store:
        slot = self._slot(var)
        number = self.address_at.get(slot)
        if number is None:
            return super()._store(var)
        addresses_slot = self.addresses_slot

        def write(env: Env, value: Any) -> None:
            tile = env[addresses_slot][number]
            if value is not tile and not _same_bytes(value, tile):
                raise EvaluationError(
                    f"{var.name} is given a tile that is elsewhere", slug="memory-place"
                )
            env[slot] = tile

        return write

    def _hand_over(self, values: Sequence[Expr], targets: Sequence[Var]) -> Callable[[Env], None]:
        """Plan an assignment of several values at once; tiles keep their owners."""
        hand_over = super()._hand_over(values, targets)
        moves = [
            (self._slot(value), self._slot(target))
            for value, target in zip(values, targets, strict=False)
            if isinstance(value, Var) and isinstance(target.type, TileType)
        ]
        if not moves:
            return hand_over

        def run(env: Env) -> None:
            hand_over(env)
            core = self.core
            for slot, owner in [(target, core.owners.get(source)) for source, target in moves]:
                core.own(slot, owner)

        return run

    def _assign(self, stmt: AssignStmt) -> Run:
        call, op = stmt.value, op_of(stmt.value)
        slot = self._slot(stmt.var)
        if not isinstance(call, Call) or op is None:
            return self._view(super()._assign(stmt), call, slot)
        pipe = op.pipe_of(call)
        number = self.address_at.get(slot)
        if pipe is not None:
            return self._issue(call, op, pipe, slot, number, stmt)
        if op.view_of is not None or number is None:
            source = call.args[op.view_of] if op.view_of is not None else None
            return self._view(super()._assign(stmt), source, slot)
        addresses_slot = self.addresses_slot

        def undefine(env: Env) -> None:  # memory is allocated, and holds nothing
            tile = env[addresses_slot][number]
            self.core.undefine(tile)
            env[slot] = tile

        return undefine

    def _view(self, run: Run, source: Expr | None, slot: int) -> Run:
        """Make the owner of a view or second name that of the tile it refers to."""
        if not isinstance(source, Var) or not isinstance(source.type, TileType):
            return run
        source_slot = self._slot(source)

        def view(env: Env) -> str | None:
            signal = run(env)
            self.core.own(slot, self.core.owners.get(source_slot))
            return signal

        return view

    def _evaluation(self, stmt: EvalStmt) -> Run:
        call, op = stmt.expr, op_of(stmt.expr)
        if not isinstance(call, Call) or op is None:
            return super()._evaluation(stmt)
        entry = _sync_entry(call, stmt)
        if entry is not None:
            return self._sync(entry, stmt)
        pipe = op.pipe_of(call)
        if pipe is None:
            return super()._evaluation(stmt)
        return self._issue(call, op, pipe, None, None, stmt)

    def _sync(self, make: Callable[[], Entry], stmt: EvalStmt) -> Run:
        def run(_env: Env) -> None:
            try:
                self.core.queues.issue(make())
            except EvaluationError as error:
                raise error.at(stmt.span) from None

        return run

    def _issue(
        self,
        call: Call,
        op: OpDef[..., Any],
        pipe: PipeType,
        slot: int | None,
        number: int | None,
        stmt: AssignStmt | EvalStmt,
    ) -> Run:
        """Plan a call that a pipe executes: operands now, work later."""
        evals = [self._value(arg) for arg in operands_of(call)]
        compute = self._op_call(call, op, [argument(i) for i in range(len(evals))])
        access = self._access(call, op, stmt)
        source = aliased(call) if isinstance(call.type, TensorType) else None
        result = None if source is None else self._value(source)
        scratch = self._scratch(call)
        in_order = completes_in_order(call, pipe)
        padding = _valid_part(call.type)
        name, span = partial(user_call, call), stmt.span
        addresses_slot = self.addresses_slot

        def run(env: Env) -> None:
            core = self.core
            entry = Entry(Kind.WORK, pipe, span, name, in_order=in_order, source=stmt)
            target: Any = None if number is None else env[addresses_slot][number]
            try:
                args: Env = [each(env) for each in evals]
                entry.hazards = access.hazards(core, args, target, [env[s] for s in scratch])
                found: list[Any] = []

                def finish() -> None:
                    found.append(compute(args))
                    if target is not None:
                        target[...] = found[0]
                        if padding is not None:
                            poison_outside(target, padding)
                    for each in scratch:
                        poison(env[each])

                entry.finish = finish
                core.queues.issue(entry)
            except EvaluationError as error:
                raise error.at(span) from None
            if slot is None:
                return
            if target is not None:
                core.owners[slot] = entry.number
                env[slot] = target
                if padding is not None:
                    core.invalidate_outside(target, padding)
            else:
                env[slot] = found[0] if result is None else result(env)

        return run

    def _access(self, call: Call, op: OpDef[..., Any], _stmt: AssignStmt | EvalStmt) -> Access:
        """Return what a call touches."""
        return Access(self, call, op)


def _valid_part(kind: Type) -> tuple[slice, ...] | None:
    """Return the part of a tile that holds elements, None for the whole; the rest is padding."""
    view = kind.tile_view if isinstance(kind, TileType) else None
    if view is None or not isinstance(kind, TileType):
        return None
    sizes = [const_value(dim) for dim in view.valid_shape]
    shape = static_shape(kind)
    if shape is None or len(sizes) != len(shape) or None in sizes or tuple(sizes) == shape:
        return None
    return tuple(slice(0, size) for size in sizes)


def poison_outside(tile: Array, part: tuple[slice, ...]) -> None:
    """Fill all but a part of a tile with poison."""
    kept = tile[part].copy()
    poison(tile)
    tile[part] = kept


def _same_bytes(first: Any, second: Any) -> bool:
    return first.__array_interface__["data"] == second.__array_interface__["data"]


def _sync_entry(call: Call, stmt: EvalStmt) -> Callable[[], Entry] | None:
    """Return a factory for the entry of a set, wait or barrier; None for other calls."""
    if call.op is sync_src or call.op is sync_dst:
        values = [call.kwargs[key] for key in ("set_pipe", "wait_pipe", "event_id")]
        first, second, event = (v.value if isinstance(v, ConstInt) else int(v) for v in values)
        triple = (PipeType(first), PipeType(second), event)
        if call.op is sync_src:
            return lambda: Entry(Kind.SET, triple[0], stmt.span, triple=triple, source=stmt)
        return lambda: Entry(Kind.WAIT, triple[1], stmt.span, triple=triple, source=stmt)
    if call.op is bar_all:
        return lambda: Entry(Kind.FULL_BARRIER, PipeType.S, stmt.span, source=stmt)
    for op, pipe in _BARRIERS:
        if call.op is op:
            return lambda: Entry(Kind.BARRIER, pipe, stmt.span, source=stmt)
    return None


# --------------------------------------------------------------------------------------------
# Which entries have touched which bytes
# --------------------------------------------------------------------------------------------


class Core:
    """Queues and memory of one core during one call of a kernel."""

    def __init__(self, queues: Queues) -> None:
        self.queues = queues
        self.owners: dict[int, int] = {}  # slot of a tile to the entry that wrote it
        self.memories: dict[int, Marks] = {}  # by the id of the array that owns the bytes
        self.kept: list[Any] = []  # arrays whose ids are keys

    def marks(self, array: Array) -> Marks:
        """Return the marks of the memory that holds an array."""
        owner: Any = array
        base: Any = array.base
        while isinstance(base, np.ndarray):
            owner = cast("Any", base)
            base = owner.base
        marks = self.memories.get(id(owner))
        if marks is None:
            marks = self.memories[id(owner)] = Marks(owner)
            self.kept.append(owner)
        return marks

    def invalidate_outside(self, tile: Array, part: tuple[slice, ...]) -> None:
        """Mark all of a tile except a part as unwritten."""
        marks = self.marks(tile)
        kept = marks.part(marks.valid, tile[part]).copy()
        self.undefine(tile)
        marks.part(marks.valid, tile[part])[...] = kept

    def own(self, slot: int, owner: int | None) -> None:
        """Record which entry wrote the tile in a slot, None if unknown."""
        if owner is None:
            self.owners.pop(slot, None)
        else:
            self.owners[slot] = owner

    def undefine(self, tile: Array) -> None:
        """Mark a tile as unwritten, but keep the record of its accesses."""
        marks = self.marks(tile)
        marks.part(marks.valid, tile)[...] = False


class Marks:
    """The entry, plus 1, that last wrote each unit of a memory, and those that read it since."""

    def __init__(self, owner: Array) -> None:
        self.unit = owner.itemsize
        low, high = np.lib.array_utils.byte_bounds(owner)
        self.low = low
        self.size = (high - low) // self.unit
        self.written: Array = np.zeros(self.size, np.int32)
        self.valid: Array = np.zeros(self.size, np.bool_)
        self.read: list[Array | None] = [None] * PIPES

    def part(self, marks: Array, view: Array) -> Array:
        """Return the marks of the bytes of ``view``, as a view."""
        begin = (view.__array_interface__["data"][0] - self.low) // self.unit
        width = max(view.itemsize // self.unit, 1)
        if view.flags.c_contiguous:
            return marks[begin : begin + view.size * width]
        step = marks.itemsize
        strides = (*(s // self.unit * step for s in view.strides), step)
        return np.lib.stride_tricks.as_strided(marks[begin:], (*view.shape, width), strides)

    def readers(self, pipe: PipeType) -> Array:
        """Return the marks of a pipe's reads."""
        found = self.read[pipe]
        if found is None:
            found = self.read[pipe] = np.zeros(self.size, np.int32)
        return found


def _add(found: dict[int, str], entries: Iterable[int], kind: str) -> None:
    for entry in entries:
        found.setdefault(entry, kind)


def _is_copy(call: Call) -> bool:
    """True for a move of all bytes of a tile within one memory."""
    kind = call.type
    if call.op is not move or not isinstance(kind, TileType) or call.kwargs.get("transpose"):
        return False
    source = call.args[0].type
    return (
        isinstance(source, TileType)
        and source.memref is not None
        and source.memref.memory_space_ is move.space_of(call)
        and source.dtype is kind.dtype
        and static_shape(source) == static_shape(kind)
    )


def _entries(marks: Array) -> list[int]:
    """Return the distinct entries in marks."""
    if marks.size == 0:
        return []
    low, high = int(marks.min()), int(marks.max())
    found = [high] if low == high else [int(n) for n in np.unique(marks)]
    return [number - 1 for number in found if number > 0]


class Access:
    """What a call reads and writes, by operand."""

    def __init__(self, plan: StrictPlan, call: Call, op: OpDef[..., Any]) -> None:
        self.call = call
        self.pipe = op.pipe_of(call) or PipeType.S
        self.in_order = completes_in_order(call, self.pipe)
        # Operand, slot, name and valid part of each tile that is read.
        self.tiles: list[tuple[int, int, str, tuple[slice, ...] | None]] = []
        self.tensors: list[tuple[int, bool]] = []  # operand, writes
        for index, arg in enumerate(call.args):
            kind = op.operands[index].kind
            if kind == TILE and index in op.reads and isinstance(arg, Var):
                slot = plan._slot(arg)  # pyright: ignore[reportPrivateUsage]
                self.tiles.append((index, slot, user_name(arg), _valid_part(arg.type)))
            elif kind == TENSOR and isinstance(arg.type, TensorType):
                self.tensors += [(index, False)] * (index in op.reads)
                self.tensors += [(index, True)] * (index in op.writes)
        self.copies = _is_copy(call)
        self.boxes = TensorBoxes(op)
        self.anywhere: dict[int, None] = {}  # dimensions of a box whose offset is ignored

    def hazards(
        self, core: Core, args: Sequence[Any], target: Any, scratch: Sequence[Any]
    ) -> list[Hazard]:
        """Record what a call touches; return what has to be complete before it starts.

        Raises:
            EvaluationError: it reads unwritten bytes, or bytes that another tile has overwritten.
        """
        number = len(core.queues.entries)
        found: dict[int, str] = {}
        for index, slot, name, valid in self.tiles:
            view = args[index]
            self._check(core, view if valid is None else view[valid], slot, name)
        reads = [args[index] for index, *_ in self.tiles]
        reads += [self._box(args, index) for index, writes in self.tensors if not writes]
        writes = [self._box(args, index) for index, writes in self.tensors if writes]
        writes += [*scratch, *([] if target is None else [target])]
        for view in reads:
            marks = core.marks(view)
            _add(found, _entries(marks.part(marks.written, view)), "RAW")
        for view in writes:
            marks = core.marks(view)
            for readers in marks.read:
                if readers is not None:
                    _add(found, _entries(marks.part(readers, view)), "WAR")
            _add(found, _entries(marks.part(marks.written, view)), "WAW")
        for view in reads:
            marks = core.marks(view)
            marks.part(marks.readers(self.pipe), view)[...] = number + 1
        for view in writes:
            marks = core.marks(view)
            marks.part(marks.written, view)[...] = number + 1
            marks.part(marks.valid, view)[...] = True
            for readers in marks.read:
                if readers is not None:
                    marks.part(readers, view)[...] = 0
        if self.copies and target is not None:
            source, marks = core.marks(args[0]), core.marks(target)
            into = marks.part(marks.valid, target)
            into[...] = source.part(source.valid, args[0]).reshape(into.shape)
        for view in scratch:
            core.undefine(view)
        entries = core.queues.entries
        return [
            Hazard(earlier, kind)
            for earlier, kind in found.items()
            if not (self.in_order and entries[earlier].pipe is self.pipe)
        ]

    def _check(self, core: Core, view: Any, slot: int, name: str) -> None:
        """Raise an error unless a tile still holds what its own call wrote."""
        marks = core.marks(view)
        part = marks.part(marks.written, view)
        valid = marks.part(marks.valid, view)
        if not self.copies and not valid.all():
            count = (valid.size - int(np.count_nonzero(valid))) * marks.unit
            raise EvaluationError(
                f"{user_call(self.call)} reads {count} uninitialized bytes of {name}",
                slug="poison",
            )
        owner, newest = core.owners.get(slot), int(part.max()) - 1
        if owner is not None and newest > owner:
            other = core.queues.entries[newest]
            raise EvaluationError(
                f"{user_call(self.call)} reads {name}, whose bytes {other.what} has overwritten",
                slug="poison",
                related=[Label(other.span, "overwritten here")],
            )

    def _box(self, args: Sequence[Any], index: int) -> Any:
        """Return the part of a tensor operand that the call touches, as a view."""
        return self.boxes.of(args, index, self.anywhere)
