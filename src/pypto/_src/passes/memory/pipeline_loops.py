"""PipelineLoops: iterations of a loop get separate buffers, so that they overlap.

    for i in pl.pipeline(0, 8, 1, stage=2):        for i in pl.range(0, 8, 2):
        t = load(x, [i, 0])                            t_1 = load(x, [i, 0])
        out = store(exp(t), [i, 0], out)      ->       out_1 = store(exp(t_1), [i, 0], out)
                                                       t_2 = load(x, [i + 1, 0])
                                                       out_2 = store(exp(t_2), [i + 1, 0], out_1)

Nothing is reordered: the pipes of a core do that. If ``t_1`` and ``t_2`` have different bytes, a
load waits, by a flag of its own, only for the last use of its own buffer, ``stage`` iterations
before. If ``stage`` does not divide the number of iterations, the remaining ones follow, in the
same buffers.

Copies have separate buffers only where several pipes use these: the work of a single pipe is in
order anyway. If memory is short, buffers of one iteration share bytes first, as far as that delays
nothing; then the loop gets fewer stages, and the log says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pypto._src.analysis.accesses import Accesses
from pypto._src.analysis.purity import trips
from pypto._src.analysis.stmt_tree import Block
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import MemRef, TileType, dtype_of
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Add, Cast, ConstInt, Expr, FloorDiv, IterArg, Max, Mul, Sub, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, Stmt, YieldStmt, seq
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import defined_by, exprs_in, stmts_in, uses, variable_names
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.logs import log_info
from pypto._src.passes.memory.memory_reuse import Buffer, buffers_of, merged, total_bytes
from pypto._src.passes.memory.memref_assignment import MemRefs
from pypto._src.passes.structure.copied_iterations import can_copy_iterations, copied_iteration
from pypto._src.passes.structure.normalize_stmt_structure import normal_function
from pypto._src.records import NamedTuple
from pypto._src.targets import Target

Stages: TypeAlias = "Mapping[ForStmt, int]"
"""How many iterations of each loop overlap."""


def pipelined(given: MemRefs, target: Target) -> MemRefs:
    """Return a function with its pipelined loops expanded into copies of iterations."""
    function = given.materialize()
    loops = [s for s in stmts_in(function.body) if isinstance(s, ForStmt) and s.stages > 1]
    if not loops:
        return given
    wanted = {loop: _useful_stages(loop) for loop in loops}
    buffers = _Buffers(MemRefs.in_types(function), target, wanted)
    if buffers.short:
        _say(function, buffers)
    made = _Pipeliner(function, buffers).function(function)
    return MemRefs.in_types(normal_function(made)).replaced(buffers.shared)


def _useful_stages(loop: ForStmt) -> int:
    """Return how many iterations of a loop can overlap, regardless of memory."""
    if not can_copy_iterations(loop):
        return 1
    count = trips(loop)
    if count is not None:
        return max(min(loop.stages, count), 1)
    step = loop.step
    return loop.stages if isinstance(step, ConstInt) and step.value > 0 else 1


def _say(function: Function, buffers: _Buffers) -> None:
    """Log the memories in which tiles have fewer buffers than wanted."""
    found = [
        f"{count} in {space.name}, not {buffers.most}" for space, count in buffers.short.items()
    ]
    log_info(
        f"kernel {function.name!r}: tiles of pipelined loops have fewer buffers: "
        f"{'; '.join(found)}, as more do not fit"
    )


# --------------------------------------------------------------------------------------------
# Buffers
# --------------------------------------------------------------------------------------------


Sharing: TypeAlias = "dict[MemRef, MemRef]"
"""Memory references and their replacements, where buffers share their bytes."""

Slot: TypeAlias = "dict[MemRef, MemRef]"
"""The buffers of the loop, and those that replace them in one copy of the body."""
Slots: TypeAlias = "Sequence[Slot]"

_LEVELS: Final = 4
"""What may share: nothing; buffers of one pipe; these with one of several pipes; all."""


class _Shared(NamedTuple):
    """Buffers that share their bytes."""

    buffers: list[Buffer]
    alternates: bool = False
    """True if successive tiles of one iteration alternate between this buffer and others like it.

    They overlap as copies of an iteration would, so that copies need no separate buffers.
    """


class _Buffers:
    """The buffers of a function: which pipes use them, and how copies of them fit into memory."""

    def __init__(self, given: MemRefs, target: Target, wanted: Stages) -> None:
        self.target = target
        self.most = max(wanted.values())
        self.pipes: dict[MemRef, set[int]] = {}
        self.in_body_of: dict[MemRef, set[Stmt]] = {}
        accesses = Accesses(given.function, given.root, (), given.of)
        for instruction in accesses.at.values():
            loop = _loop_around(instruction.block)
            for chunk in (*instruction.reads, *instruction.writes):
                if isinstance(chunk, MemRef):
                    self.pipes.setdefault(chunk, set()).add(instruction.queue)
                    if loop is not None:
                        self.in_body_of.setdefault(chunk, set()).add(loop)
        ranges = given.lifetimes.ranges
        self.found = {space: buffers_of(tiles, ranges) for space, tiles in given.tiles.items()}
        self.own = {loop: self._own(loop) for loop in wanted}
        """The buffers of each loop that every copy of its body may need to have separately."""
        self.shared: Sharing = {}
        self.depths: dict[MemorySpace, int] = {}
        """How many buffers a tile in each memory may have."""
        self.short: dict[MemorySpace, int] = {}
        """The depths that are smaller than wanted."""
        self._together: dict[MemRef, set[int]] = {}
        self._alternating: set[MemRef] = set()
        for space in self.found:
            self._fit(space, wanted)
        self.stages = {loop: self._stages(loop, count) for loop, count in wanted.items()}

    def _stages(self, loop: ForStmt, wanted: int) -> int:
        depths = [self.depths[m.memory_space_] for m in self.own[loop] if self.is_for_several(m)]
        return min(max(depths, default=1), wanted)

    def count(self, memref: MemRef, stages: int) -> int:
        """Return how many buffers a tile of a loop has, a divisor of the number of copies."""
        if not self.is_for_several(memref) or self.shared.get(memref, memref) in self._alternating:
            return 1
        most = min(self.depths[memref.memory_space_], stages)
        return next(count for count in range(most, 0, -1) if stages % count == 0)

    def is_for_several(self, memref: MemRef) -> bool:
        """True if several pipes access the bytes of a buffer."""
        return len(self._together[self.shared.get(memref, memref)]) > 1

    def _own(self, loop: ForStmt) -> dict[MemRef, None]:
        made: dict[Var, None] = {}
        used: list[Var] = [*loop.iter_args, *loop.return_vars]
        for stmt in stmts_in(loop.body):
            made.update(dict.fromkeys(defined_by(stmt)))
            if isinstance(stmt, ForStmt):
                made.update(dict.fromkeys(stmt.iter_args))
            used += uses(exprs_in(stmt))
        outside = {_memref(var) for var in used if var not in made}
        inside = dict.fromkeys(map(_memref, made))
        return {
            memref: None
            for memref in inside
            if memref is not None
            and memref not in outside
            and loop in self.in_body_of.get(memref, ())
        }

    def _fit(self, space: MemorySpace, wanted: Stages) -> None:
        """Find how many buffers per tile fit into a memory, and which must share for that."""
        usable = self.target.memories[space].usable_bytes
        found = [_Shared([buffer]) for buffer in self.found[space]]
        self.depths[space] = 1  # then nothing is shared here, but by MemoryReuse
        for depth in range(self.most, 1, -1):
            stages = {loop: min(count, depth) for loop, count in wanted.items()}
            levels = (self._slots(space, level, depth) for level in range(_LEVELS))
            slots = next((s for s in levels if self._bytes(space, s, stages) <= usable), None)
            if slots is not None:
                self.depths[space], found = depth, slots
                break
        self.shared.update(merged([slot.buffers for slot in found]))
        for slot in found:
            pipes = self._pipes_of(slot.buffers)
            for buffer in slot.buffers:
                memref = self.shared.get(buffer.memref, buffer.memref)
                self._together[memref] = pipes
                if slot.alternates:
                    self._alternating.add(memref)
        own = [m for each in self.own.values() for m in each if m.memory_space_ is space]
        if self.depths[space] < self.most and any(map(self.is_for_several, own)):
            self.short[space] = self.depths[space]

    def _slots(self, space: MemorySpace, level: int, depth: int) -> list[_Shared]:
        """Return the buffers of a memory, grouped by shared bytes."""
        slots: list[list[Buffer]] = []
        for buffer in sorted(self.found[space], key=lambda b: -b.size):
            for slot in slots if level else ():
                if self._may_share([*slot, buffer], level) and not any(
                    other.range.meets(buffer.range) for other in slot
                ):
                    slot.append(buffer)
                    break
            else:
                slots.append([buffer])
        if level < _LEVELS - 1:
            return [_Shared(slot) for slot in slots]
        return [part for slot in slots for part in self._alternating_parts(slot, depth)]

    def _alternating_parts(self, slot: list[Buffer], depth: int) -> Iterator[_Shared]:
        """Yield ``depth`` slots instead of one with ``depth`` copies, if that gives more overlap.

        It does if each loop has none or several tiles, and all of them use the same pipes.
        """
        several = [buffer for buffer in slot if len(self._pipes(buffer)) > 1]
        by_loop = [sum([each.memref in own for each in several]) for own in self.own.values()]
        apart = any(self._pipes(each) != self._pipes(several[0]) for each in several)
        if apart or not any(by_loop) or 1 in by_loop:
            yield _Shared(slot)
            return
        slot.sort(key=lambda buffer: buffer.range.begins[0])
        for first in range(min(depth, len(slot))):
            yield _Shared(slot[first::depth], alternates=True)

    def _may_share(self, slot: Sequence[Buffer], level: int) -> bool:
        if level == _LEVELS - 1:
            return True
        several = sum([len(self._pipes(buffer)) > 1 for buffer in slot])
        return several <= level - 1 and (several > 0 or len(self._pipes_of(slot)) == 1)

    def _pipes(self, buffer: Buffer) -> set[int]:
        return self.pipes.get(buffer.memref, set())

    def _pipes_of(self, slot: Iterable[Buffer]) -> set[int]:
        """Return the pipes that access bytes that buffers share."""
        return {pipe for buffer in slot for pipe in self._pipes(buffer)}

    def _bytes(self, space: MemorySpace, slots: Sequence[_Shared], stages: Stages) -> int:
        """Return the bytes that buffers take with their copies."""
        memory, sizes = self.target.memories[space], list[int]()
        for slot in slots:
            copies = 1
            if not slot.alternates and len(self._pipes_of(slot.buffers)) > 1:
                for loop, count in stages.items():
                    if any(buffer.memref in self.own[loop] for buffer in slot.buffers):
                        copies = max(copies, count)
            sizes += [max([buffer.size for buffer in slot.buffers])] * copies
        return total_bytes(sizes, memory)


def _loop_around(block: Block) -> Stmt | None:
    """Return the innermost loop around a block."""
    while not block.is_loop:
        if block.owner is None:
            return None
        block = block.owner.block
    return None if block.owner is None else block.owner.stmt


def _memref(var: Var) -> MemRef | None:
    kind = var.type
    return kind.memref if isinstance(kind, TileType) else None


# --------------------------------------------------------------------------------------------
# Copies of iterations
# --------------------------------------------------------------------------------------------


class _Pipeliner(Mutator):
    """Copies the iterations of inner loops first; ``values`` are the results of loops."""

    def __init__(self, function: Function, buffers: _Buffers) -> None:
        super().__init__()
        self._buffers = buffers
        self._copies: dict[tuple[MemRef, int], MemRef] = {}
        self._last = max([memref.id_ for memref in buffers.pipes], default=0)
        self._names = FreshNames(variable_names(function))
        self._values: dict[Var, Expr] = {}

    def visit_Var(self, var: Var) -> Expr:
        return self._values.get(var, var)

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt | list[Stmt]:
        stages = self._buffers.stages.get(stmt, 1)
        loop: ForStmt = self.rebuild(stmt)
        if loop.stages > 1:
            loop = copy_with(loop, {"stages": 1})
        if stages == 1:
            return loop
        slots = [self._slot(stmt, number) for number in range(stages)]
        return self._grouped(loop, slots)

    def _slot(self, loop: ForStmt, number: int) -> Slot:
        """Return the buffer replacements in the copy of a body with this number."""
        buffers, slot = self._buffers, dict[MemRef, MemRef]()
        for memref in buffers.own[loop]:
            copy = number % buffers.count(memref, buffers.stages[loop])
            if copy:
                slot[memref] = self._copy_of(buffers.shared.get(memref, memref), copy)
        return slot

    def _copy_of(self, memref: MemRef, number: int) -> MemRef:
        key = memref, number
        known = self._copies.get(key)
        if known is None:
            self._last += 1
            space, size = memref.memory_space_, memref.size_
            known = self._copies[key] = MemRef(space, memref.addr_, size, self._last, memref.span)
        return known

    def _grouped(self, loop: ForStmt, slots: Slots) -> list[Stmt]:
        """Return a loop over groups of iterations, and the remaining iterations."""
        stages = len(slots)
        assert isinstance(loop.step, ConstInt)
        count, step = trips(loop), loop.step.value
        if count is None:
            return self._grouped_at_run_time(loop, slots, step)
        assert isinstance(loop.start, ConstInt)
        grouped, start = count - count % stages, loop.start.value
        main = self._main(loop, slots, _number(start + grouped * step, loop))
        if grouped == count:
            return [main]
        main, values = self._with_new_results(main)
        out: list[Stmt] = [main]
        for iteration in range(grouped, count):
            index = _number(start + iteration * step, loop)
            slot = slots[iteration - grouped]
            body, values = copied_iteration(loop, index, values, self._names, slot)
            out += body
        self._values.update(zip(loop.return_vars, values, strict=True))
        return out

    def _grouped_at_run_time(self, loop: ForStmt, slots: Slots, step: int) -> list[Stmt]:
        """Return a loop over groups of iterations, and one over the remaining iterations."""
        stages = len(slots)
        dtype, span = dtype_of(loop.loop_var), loop.span
        bounds = {"start": _as_type(loop.start, dtype), "stop": _as_type(loop.stop, dtype)}
        loop = copy_with(loop, bounds)
        stop = _less(loop.stop, (stages - 1) * step, loop)  # groups that begin before are whole
        main, values = self._with_new_results(self._main(loop, slots, stop))
        group = _number(stages * step, loop)
        length = _less(loop.stop, _constant(loop.start) + 1 - step, loop)
        if not isinstance(loop.start, ConstInt):
            length = Sub(length, loop.start, dtype, span)
        groups = Max(FloorDiv(length, group, dtype, span), _number(0, loop), dtype, span)
        rest = Var(self._names.like(f"{loop.loop_var.name}_rest"), loop.loop_var.type, span)
        behind: Expr = Mul(groups, group, dtype, span)
        if not isinstance(loop.start, ConstInt) or loop.start.value:
            behind = Add(loop.start, behind, dtype, span)
        counter = self._new(loop.loop_var)
        args = [
            IterArg(self._names.numbered(f"{arg.name}_"), arg.type, value, arg.span)
            for arg, value in zip(loop.iter_args, values, strict=True)
        ]
        body, values = copied_iteration(loop, counter, args, self._names)
        changes: dict[str, Any] = {"loop_var": counter, "start": rest, "iter_args": tuple(args)}
        changes["body"] = seq([*body, *_yield(values, loop)], loop.body.span)
        return [main, AssignStmt(rest, behind, span), copy_with(loop, changes)]

    def _main(self, loop: ForStmt, slots: Slots, stop: Expr) -> ForStmt:
        """Return the loop over whole groups of iterations, up to ``stop``."""
        assert isinstance(loop.step, ConstInt)
        values: Sequence[Expr] = loop.iter_args
        out: list[Stmt] = []
        for iteration, slot in enumerate(slots):
            index = _less(loop.loop_var, -iteration * loop.step.value, loop)
            body, values = copied_iteration(loop, index, values, self._names, slot)
            out += body
        body = seq([*out, *_yield(values, loop)], loop.body.span)
        step = _number(len(slots) * loop.step.value, loop)
        return copy_with(loop, {"stop": stop, "step": step, "body": body})

    def _with_new_results(self, loop: ForStmt) -> tuple[ForStmt, Sequence[Expr]]:
        """Return a loop with new result variables, and these, as more iterations follow it."""
        results = tuple([self._new(var) for var in loop.return_vars])
        return copy_with(loop, {"return_vars": results}), results

    def _new(self, var: Var) -> Var:
        return Var(self._names.numbered(f"{var.name}_"), var.type, var.span)


def _yield(values: Sequence[Expr], loop: ForStmt) -> list[Stmt]:
    return [YieldStmt(values, loop.span)] if values else []


def _number(value: int, loop: ForStmt) -> ConstInt:
    return ConstInt(value, dtype_of(loop.loop_var), loop.span)


def _as_type(bound: Expr, dtype: DataType) -> Expr:
    """Return a bound cast to the loop variable's type: a length may be an INT32, for example."""
    if dtype_of(bound) is dtype:
        return bound
    if isinstance(bound, ConstInt):
        return ConstInt(bound.value, dtype, bound.span)
    return Cast(bound, dtype, bound.span)


def _constant(value: Expr) -> int:
    """Return the value of a constant, 0 if it is known only at run time."""
    return value.value if isinstance(value, ConstInt) else 0


def _less(value: Expr, amount: int, loop: ForStmt) -> Expr:
    """Return ``value - amount``."""
    if not amount:
        return value
    kind, number = (Sub, amount) if amount > 0 else (Add, -amount)
    return kind(value, _number(number, loop), dtype_of(loop.loop_var), loop.span)
