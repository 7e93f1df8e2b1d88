"""Which regions of tensors a function or one iteration of a loop touches, calls included.

Steps through the statements as a run would: loops one iteration at a time, branches by their
conditions. Each reported access happens in every run, or on the path of a condition that is named.
Where too little is known, that is recorded; loops whose bounds do not depend on the iteration are
assumed to run.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from pypto._src.analysis.affine import Affine, combine, encloses
from pypto._src.analysis.box_sets import Box
from pypto._src.analysis.iteration_values import Values
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, call_of, points_in
from pypto._src.analysis.tensor_regions import TensorParts, moved
from pypto._src.diagnostics import Span
from pypto._src.ir.array_types import TensorType, valid_part
from pypto._src.ir.exprs import Call, Expr, GlobalVar, Var
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    yielded,
)
from pypto._src.ir.traversal.symbolic_dims import dimension_vars
from pypto._src.ir.types import ScalarType
from pypto._src.ops.lazy.atomic_stores import store_add
from pypto._src.ops.rules.type_rules import called
from pypto._src.records import NamedTuple

_MOST_STEPS: Final = 20_000
"""The most statements stepped through for one loop, all iterations together."""
_MOST_INNER: Final = 256
"""The most iterations of a loop that are stepped through, unless a function has room for all."""
_MOST_CALLS: Final = 16
"""The greatest depth of nested calls that are stepped through."""

Path: TypeAlias = "frozenset[tuple[Hashable, bool]]"
"""Conditions, and the values that they must have."""


Iterations: TypeAlias = "tuple[tuple[Var, Affine], ...]"
"""Loop variables and their values."""


class Access(NamedTuple):
    """Elements of a tensor that a call touches in an iteration, where ``path`` is taken."""

    iteration: int
    order: int  # of the call, in the text
    root: Var
    offsets: tuple[Affine, ...]
    sizes: tuple[int, ...]
    writes: bool
    span: Span
    path: Path
    reader: str = ""
    around: Iterations = ()  # the enclosing loops
    adds: bool = False  # atomically, so that additions need no order among themselves


def box_of(access: Access) -> Box | None:
    """Return the elements of an access, None where they depend on arguments."""
    if any(offset.terms for offset in access.offsets) or not access.offsets:
        return None
    pairs = zip(access.offsets, access.sizes, strict=True)
    return tuple([(offset.constant, offset.constant + size) for offset, size in pairs])


class Outside(NamedTuple):
    """A region that is outside its tensor, in every run that reaches the access."""

    call: Call
    caller: Span | None  # of the call in the analysed function that leads to it
    tensor: Expr
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    limits: tuple[int | None, ...]  # the tensor's sizes, None if unknown
    around: Iterations  # the loops around the access
    outer: Iterations  # the loops around the call in the analysed function


_Region: TypeAlias = "tuple[tuple[Affine, ...], tuple[Affine, ...]]"
"""Offsets and sizes, by dimension."""
_Numbers: TypeAlias = "tuple[tuple[Affine, ...], tuple[int, ...]]"
"""Offsets and sizes with their current values."""

_Location: TypeAlias = "tuple[Var, tuple[Affine, ...]]"
"""The tensor that a parameter stands for, and its offset in that; empty for the beginning."""


class IterationAccesses:
    """The accesses of one function, or of iterations of one loop in it, in execution order.

    ``known`` has the functions that it may call. The accesses are complete up to number ``broken``,
    if that is set; ``unknown`` has the tensors of which any part may also be written, with the
    number of accesses before that, ``unread`` those of which any part may also be read.
    """

    def __init__(
        self, parts: TensorParts, known: Mapping[str, TensorParts], body: Block | None = None
    ) -> None:
        """Prepare to step through a function, or iterations of the loop with ``body``."""
        self.parts = parts
        self.known = known
        self.body = body
        self.found: list[Access] = []
        self.broken: int | None = None
        self.unknown: dict[Var, int] = {}
        self.unread: set[Var] = set()
        self.outside: dict[Call, Outside] = {}
        self.steps = 0
        self.regions: dict[tuple[Call, int], _Region | None] = {}
        self.lost: dict[Block, Mapping[Var, bool]] = {}  # True for what is written
        # Jumps inside a statement, which may leave a loop or the function.
        self.jumps: dict[ProgramPoint, frozenset[type[Stmt]]] = {}
        home, loop = parts.iterations.integers.home, parts.iterations.loop
        sizes = set(dimension_vars(parts.function))

        def stays(var: Var) -> bool:
            if var not in home:
                return var in sizes
            return loop[home[var]] is None if body is None else not encloses(body, home[var])

        self._values = Values(parts.iterations.integers, stays)
        inside = () if body is None else points_in(body)
        self._own = {s.stmt.var for s in inside if isinstance(s.stmt, AssignStmt)}

    @property
    def is_exhausted(self) -> bool:
        """True if no more statements are stepped through."""
        return self.steps > _MOST_STEPS

    def add_iteration(self, iteration: int, var: Var, value: Affine) -> None:
        """Add the accesses of an iteration in which the loop variable has ``value``."""
        assert self.body is not None
        self._values.let(var, value)
        self._go(iteration, self.body)

    def add_all(self) -> None:
        """Add the accesses of the function."""
        self._go(0, self.parts.iterations.root)

    def _go(self, iteration: int, block: Block) -> None:
        _Function(self, iteration, self.parts, self._values, None, None, 0).block(
            block, frozenset()
        )

    def is_own(self, root: Var) -> bool:
        """True for a tensor that each iteration makes for itself."""
        return root in self._own

    def breaks(self) -> None:
        """Record that something may run here that is not stepped through."""
        if self.broken is None:
            self.broken = len(self.found)

    def loses(self, root: Var) -> None:
        """Record that any part of a tensor may be written here."""
        self.unknown.setdefault(root, len(self.found))


def iterations_text(around: Iterations) -> str:
    """Return the values of loop variables in words; empty if none is known."""
    known = [(user_name(var), at.constant) for var, at in around if not at.terms]
    return ", ".join(f"{name} is {number}" for name, number in known)


class _Function:
    """One pass through a function, or through the loop's body.

    ``params`` says which tensors the parameters stand for; ``at`` is the outermost call, None
    outside of calls: its number, its span, and the loops around it.
    """

    def __init__(
        self,
        whole: IterationAccesses,
        iteration: int,
        parts: TensorParts,
        values: Values,
        params: Mapping[Var, _Location] | None,
        at: tuple[int, Span, Iterations] | None,
        depth: int,
    ) -> None:
        self.whole = whole
        self.iteration = iteration
        self.parts = parts
        self.values = values
        self.params = params
        self.at = at
        self.depth = depth
        self.around: list[tuple[Var, Affine]] = []

    def block(self, block: Block, path: Path) -> bool:
        """Step through a block; False if it may be left before its end."""
        for point in block.points:
            self.whole.steps += 1
            if self.whole.is_exhausted:
                self.whole.breaks()
                return False
            if not self._point(point, path):
                return False
        return True

    def _point(self, point: ProgramPoint, path: Path) -> bool:
        stmt: Stmt = point.stmt
        if isinstance(stmt, ScopeStmt):
            return self.block(point.blocks[0], path)
        if isinstance(stmt, ForStmt | WhileStmt):
            is_for = isinstance(stmt, ForStmt)
            is_whole = self._loop(point, stmt, path) if is_for else self._while(point, stmt, path)
            if is_whole or ReturnStmt not in self._jumps(point):
                return True
            self.whole.breaks()
            return False
        if isinstance(stmt, IfStmt):
            return self._branch(point, stmt, path)
        call = call_of(stmt)
        if call is not None:
            self._call(point, call, path)
        if not isinstance(stmt, BreakStmt | ContinueStmt | ReturnStmt):
            return True
        if point.block is not self.parts.iterations.root:
            self.whole.breaks()
        return False

    def _loop(self, point: ProgramPoint, stmt: ForStmt, path: Path) -> bool:
        """Step through a loop; False if it may have more iterations, or fewer."""
        values, [body] = self.values, point.blocks
        bounds = [values.of(each, point.block) for each in (stmt.start, stmt.stop, stmt.step)]
        iterations: Sequence[Affine] = []
        ends = False
        if None not in bounds:
            start, stop, step = cast("list[Affine]", bounds)
            length = combine(stop, start, -1)
            if length.terms or step.terms or not step.constant:
                iterations = [start]  # for equal length and step it always runs, or never
                key = tuple([(x.constant, frozenset(x.terms.items())) for x in (length, step)])
                path |= {((ForStmt, *key), True)}
            else:
                numbers = range(0, length.constant, step.constant)
                most = self._most(len(numbers), body)
                iterations = [combine(start, Affine(i, {}), 1) for i in numbers[:most]]
                ends = len(iterations) == len(numbers)
        carried = _Carried(self.values, point, stmt)
        for value in iterations:
            values.let(stmt.loop_var, value)
            carried.begin()
            self.around.append((stmt.loop_var, value))
            is_whole = self.block(body, path)
            self.around.pop()
            if not is_whole:
                ends = False
                break
            carried.end()
        if not ends:
            self._skip(point.blocks)
        carried.leave(is_known=ends)
        return ends

    def _most(self, count: int, body: Block) -> int:
        """Return how many iterations of a loop are stepped through at most."""
        whole = self.whole
        if count <= _MOST_INNER or whole.body is not None:
            return _MOST_INNER
        is_room = count * (len(points_in(body)) + 1) <= _MOST_STEPS - whole.steps
        return count if is_room else _MOST_INNER

    def _while(self, point: ProgramPoint, stmt: WhileStmt, path: Path) -> bool:
        """Step through a loop while its condition is known; False if its end is not reached."""
        values, [body] = self.values, point.blocks
        carried = _Carried(values, point, stmt)
        runs: bool | None = None
        for _ in range(_MOST_INNER):
            carried.begin()
            runs = values.decide(stmt.condition, body)
            if not runs or not self.block(body, path):
                break
            carried.end()
        if runs is not False:
            self._skip(point.blocks)
        carried.leave(is_known=runs is False)
        return runs is False

    def _branch(self, point: ProgramPoint, stmt: IfStmt, path: Path) -> bool:
        values = self.values
        taken = values.decide(stmt.condition, point.block)
        ends = True
        if taken is not None:
            arm = 0 if taken else 1
            body = stmt.then_body if taken else stmt.else_body
            ends = arm >= len(point.blocks) or self.block(point.blocks[arm], path)
            for var, value in zip(stmt.return_vars, yielded(body), strict=False):
                if isinstance(var.type, ScalarType):
                    values.let(var, values.of(value, point.blocks[arm]))
            return ends
        key = values.key(stmt.condition, point.block)
        for block, outcome in zip(point.blocks, (True, False), strict=False):
            if key is not None and (key, not outcome) in path:
                continue  # it does not run
            if key is None:
                self._skip([block])
                if self._jumps(point):
                    self.whole.breaks()
                    ends = False
            else:
                ends = self.block(block, path | {(key, outcome)}) and ends
        for var in stmt.return_vars:
            values.let(var, None)
        return ends

    # ----- calls --------------------------------------------------------------------------------

    def _call(self, point: ProgramPoint, call: Call, path: Path) -> None:
        op, block = op_of(call), point.block
        if isinstance(call.op, GlobalVar):
            callee = self.whole.known.get(call.op.name)
            if callee is None or self.depth >= _MOST_CALLS:
                self._lose_all(call)
            else:
                self._callee(point, call, callee, path)
            return
        if op is None:
            return
        if op.view_of is not None:
            region = None if path else self.parts.view_region(call, op, block)
            box = None if region is None else self._box(region, block)
            if box is not None:
                self._inside(call, call.args[op.view_of], box, block)
            return
        for index in sorted(op.reads | op.writes):
            tensor = call.args[index]
            if not isinstance(tensor.type, TensorType):
                continue
            if not self._touch(point, call, op, index, path):
                self._lose(tensor, writes=index in op.writes)

    def _touch(
        self, point: ProgramPoint, call: Call, op: OpDef[..., object], index: int, path: Path
    ) -> bool:
        """Record what a call touches of an operand; False if unknown."""
        tensor, block = call.args[index], point.block
        if (call, index) not in self.whole.regions:
            region = self.parts.region(call, op, index, block)
            if region is not None and index in op.writes:
                region = self._valid(call, region, block)
            self.whole.regions[call, index] = region
        region = self.whole.regions[call, index]
        box = None if region is None else self._box(region, block)
        if box is None:
            return False
        if not path:
            self._inside(call, tensor, box, block)
        location = self._location(tensor, block)
        offsets = None if location is None else moved(location[1], box[0])
        if location is None or offsets is None or len(box[1]) != len(offsets):
            return False
        writes, around = index in op.writes, tuple(self.around)
        order, span, reader = point.begin, call.span, called(op)
        if self.at is not None:
            order, span, around = self.at
            reader = self.parts.function.name
        self.whole.found.append(
            Access(
                self.iteration,
                order,
                location[0],
                offsets,
                box[1],
                writes,
                span,
                path,
                reader,
                around,
                op is store_add,
            )
        )
        return True

    def _valid(self, call: Call, region: _Region, block: Block) -> _Region | None:
        """Return the part of a region that a call writes: only the valid part of a tile."""
        parts = [part for part in (valid_part(arg.type) for arg in call.args) if part is not None]
        if not parts:
            return region
        form = self.values.integers.form
        sizes = tuple([form(size, block) for size in parts[0]])
        return (region[0], sizes) if len(parts) == 1 and len(sizes) == len(region[0]) else None

    def _box(self, region: _Region, block: Block) -> _Numbers | None:
        """Return the current offsets and sizes, None if unknown."""
        offsets = [self.values.at(form, block) for form in region[0]]
        sizes = [self.values.at(form, block) for form in region[1]]
        begins = [form for form in offsets if form is not None]
        numbers = [form.constant for form in sizes if form is not None and not form.terms]
        if len(begins) < len(offsets) or len(numbers) < len(sizes):
            return None
        return tuple(begins), tuple(numbers)

    def _inside(self, call: Call, tensor: Expr, box: _Numbers, block: Block) -> None:
        """Record a region if it is outside its tensor."""
        kind = tensor.type
        if call in self.whole.outside or not isinstance(kind, TensorType):
            return
        if any(offset.terms for offset in box[0]):
            return
        at = tuple([offset.constant for offset in box[0]])
        limits = tuple([self.values.constant(dim, block) for dim in kind.shape])
        if all(
            begin >= 0 and (limit is None or begin + size <= limit)
            for begin, size, limit in zip(at, box[1], limits, strict=False)
        ):
            return
        _, caller, outer = (0, None, ()) if self.at is None else self.at
        found = Outside(call, caller, tensor, at, box[1], limits, tuple(self.around), outer)
        self.whole.outside[call] = found

    def _skip(self, blocks: Iterable[Block]) -> None:
        """Record the tensors of blocks that may run without being stepped through."""
        for block in blocks:
            if block not in self.whole.lost:
                self.whole.lost[block] = self._touched(block)
            for root, writes in self.whole.lost[block].items():
                self._lose_root(root, writes=writes)

    def _touched(self, block: Block) -> dict[Var, bool]:
        """Return the tensors that a block may touch, and which of them it may write."""
        found: dict[Var, bool] = {}
        for call in [call_of(point.stmt) for point in points_in(block)]:
            op = None if call is None else op_of(call)
            for index, arg in enumerate(() if call is None else call.args):
                if isinstance(arg.type, TensorType) and (
                    op is None or index in op.reads | op.writes
                ):
                    writes = op is None or index in op.writes
                    for root in self.parts.bases_of(arg):
                        found[root] = found.get(root, False) or writes
        return found

    def _jumps(self, point: ProgramPoint) -> frozenset[type[Stmt]]:
        """Return the kinds of jumps inside a compound statement."""
        known = self.whole.jumps
        if point not in known:
            stmts = [inner.stmt for block in point.blocks for inner in points_in(block)]
            known[point] = frozenset(
                [type(s) for s in stmts if isinstance(s, BreakStmt | ContinueStmt | ReturnStmt)]
            )
        return known[point]

    def _lose_all(self, call: Call) -> None:
        """Record that a call may touch any part of its tensors."""
        op = op_of(call)
        for index, arg in enumerate(call.args):
            if isinstance(arg.type, TensorType) and (op is None or index in op.reads | op.writes):
                self._lose(arg, writes=op is None or index in op.writes)

    def _lose(self, value: Expr, *, writes: bool) -> None:
        """Record that any part of a tensor may be read, or written."""
        for root in self.parts.bases_of(value):
            self._lose_root(root, writes=writes)

    def _lose_root(self, root: Var, *, writes: bool) -> None:
        """Record that any part of an alias base may be read, or written."""
        outer = root
        if self.params is not None:
            if root not in self.params:
                return
            outer = self.params[root][0]
        self.whole.unread.add(outer)
        if writes:
            self.whole.loses(outer)

    def _location(self, value: Expr, block: Block) -> _Location | None:
        """Return which tensor a value currently stands for, and its offset in that."""
        roots, base = self.parts.bases_of(value), self.parts.base(value)
        if len(roots) != 1 or base is None:
            return None
        at = [self.values.at(form, block) for form in base]
        known = tuple([form for form in at if form is not None])
        if len(known) < len(at):
            return None
        if self.params is None:
            return None if self.whole.is_own(roots[0]) else (roots[0], known)
        outer = self.params.get(roots[0])
        if outer is None or not known:
            return outer
        offsets = moved(outer[1], known)
        return None if offsets is None else (outer[0], offsets)

    def _callee(self, point: ProgramPoint, call: Call, callee: TensorParts, path: Path) -> None:
        """Step through a called function."""
        params: dict[Var, _Location] = {}
        values = Values(callee.iterations.integers, lambda _: False)
        for param, arg in zip(callee.function.params, call.args, strict=False):
            if isinstance(param.type, TensorType):
                self._size(values, param.type, arg, point.block)
                location = self._location(arg, point.block)
                if location is not None:
                    params[param] = location
                else:
                    self._lose(arg, writes=True)
            elif isinstance(param.type, ScalarType):
                number = self.values.of(arg, point.block) if param.type.dtype.is_int() else None
                values.let(param, number)
        at = self.at or (point.begin, call.span, tuple(self.around))
        inner = _Function(self.whole, self.iteration, callee, values, params, at, self.depth + 1)
        inner.block(callee.iterations.root, path)

    def _size(self, values: Values, kind: TensorType, arg: Expr, block: Block) -> None:
        """Bind the named sizes of a parameter in a call."""
        if isinstance(arg.type, TensorType):
            for dim, size in zip(kind.shape, arg.type.shape, strict=False):
                if isinstance(dim, Var):
                    values.let(dim, self.values.of(size, block))


class _Carried:
    """The scalars that a loop carries from one iteration to the next."""

    def __init__(self, values: Values, point: ProgramPoint, stmt: ForStmt | WhileStmt) -> None:
        self.values = values
        self.body = point.blocks[0]
        found = zip(stmt.iter_args, stmt.return_vars, yielded(stmt.body), strict=False)
        self.found = [each for each in found if isinstance(each[0].type, ScalarType)]
        self.now = [values.of(arg.initValue, point.block) for arg, _, _ in self.found]

    def begin(self) -> None:
        """Begin an iteration with the current values."""
        for (arg, _, _), number in zip(self.found, self.now, strict=True):
            self.values.let(arg, number)

    def end(self) -> None:
        """End an iteration: take the yielded values."""
        self.now = [self.values.of(end, self.body) for _, _, end in self.found]

    def leave(self, *, is_known: bool) -> None:
        """Leave the loop; its results are unknown if it may have ended earlier or later."""
        for (_, var, _), number in zip(self.found, self.now, strict=True):
            self.values.let(var, number if is_known else None)
