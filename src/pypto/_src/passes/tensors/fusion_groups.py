"""Which tensor ops of a kernel become one loop nest over tiles.

Ops are added one after another, in program order. A run of them whose tensors broadcast together is
one `elementwise_loops.Group`: values that only its own ops use never go to memory. Values that
cross a branch, a loop or the boundary of a group do, to the buffer that `tensor_buffers` assigns.
The order of reads and writes is kept.

Knows single ops and the names of tensors, not statements and control flow. The loops over
tiles come from `elementwise_loops` and `matmul_and_reshape_loops`.
"""

from __future__ import annotations

from typing import Final

from pypto._src.analysis.stmt_tree import read_by
from pypto._src.diagnostics import Span
from pypto._src.errors import PassError, PyptoError
from pypto._src.ir.array_types import TensorType, same_dims
from pypto._src.ir.enums import CoreType
from pypto._src.ir.exprs import Call, Expr, Var, const_value
from pypto._src.ir.inspect.source_names import user_call, user_name
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import Function, Stmt
from pypto._src.ir.traversal.queries import calls_in, stmts_in, uses
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ops import tensor_math
from pypto._src.ops.conversion import core_of
from pypto._src.passes.tensors.elementwise_loops import (
    Group,
    Member,
    Sink,
    aligned_shape,
    fits,
    is_one_tile,
    is_reduction,
    reduced_axis,
    write_group,
)
from pypto._src.passes.tensors.line_loops import write_lines
from pypto._src.passes.tensors.matmul_and_reshape_loops import (
    write_product,
    write_reshape,
    write_transpose,
)
from pypto._src.passes.tensors.tensor_buffers import TensorBuffers, shape_of
from pypto._src.passes.tensors.tile_loops import Builder, product, tensors_of
from pypto._src.records import NamedTuple

COPIES: Final = {tensor_math.reshape: write_reshape, tensor_math.transpose: write_transpose}
"""The functions that write a tensor in another order, by op."""


class _Product(NamedTuple):
    """A product of matrices whose destination is not known yet."""

    var: Var
    call: Call
    sinks: list[Sink]
    results: list[Var]  # the program's variables for the sinks after it


class _Pending:
    """Members of the group that is being collected, and where their values go."""

    def __init__(self) -> None:
        self.group = Group()
        self.calls: list[tuple[Var, Call]] = []
        self.sinks: list[tuple[Sink, Var]] = []  # with the name of the target after it
        self.read: dict[Var, bool] = {}  # buffers, True if each read is of the whole, in place
        self.written: set[Var] = set()  # buffers


class Waiting:
    """The group or product that is being collected: at most one is pending at a time.

    ``stmts`` are the statements of the body that is being written, without the pending ones.
    """

    def __init__(self, function: Function, buffers: TensorBuffers) -> None:
        self.buffers = buffers
        self.stmts: list[Stmt] = []
        self.pending: _Pending | None = None
        self.product: _Product | None = None
        self.uses = _use_counts(function.body)
        self.kernel = function.name
        self.is_cube = any(core_of(call) is CoreType.CUBE for call in calls_in(function.body))

    def in_memory(self, source: Var) -> None:
        """Make sure that a tensor is in memory."""
        if self.pending is not None and source in self.pending.group.shapes:
            self.flush()
        if self.product is not None and source is self.product.var:
            self.flush()
        if self.product is not None and any(source is r for r in self.product.results):
            self.flush()
        if self.pending is not None and any(source is after for _, after in self.pending.sinks):
            self.flush()

    def values(self) -> set[Var]:
        """Return the values of the pending group or product that are not stored yet."""
        product = () if self.product is None else (self.product.var,)
        return {*self._made(), *product}

    # Groups -----------------------------------------------------------------------------------

    def member(self, var: Var, call: Call) -> None:
        """Add an elementwise op or a reduction to the group, or begin another one."""
        self._only_vector(call)
        if is_reduction(call) and reduced_axis(call) < -2:
            self._reduce_planes(var, call)
            return
        if not self._fits(var, call):
            self.flush()
            if not self._fits(var, call):
                raise PassError(
                    f"the tensors of {user_call(call)} do not broadcast",
                    call.span,
                    slug="tensor-tile",
                )
        assert self.pending is not None
        self._add(self.pending, var, call)

    def _reduce_planes(self, var: Var, call: Call) -> None:
        """Reduce a dimension before the last two: the dimensions after it are reshaped to rows."""
        op, shape = op_of(call), shape_of(call.args[0])
        assert op is not None
        axis = len(shape) + reduced_axis(call)
        row = product(shape[axis + 1 :])
        span = call.span
        flat = tensor_math.reshape.build([call.args[0], [*shape[: axis + 1], row]], {}, span)
        rows = self._step(var, flat)
        self.copy(rows, flat)
        kwargs = {**call.kwargs, "axis": -2, "keep_dim": True}
        reduced = op.build([rows], kwargs, span)
        sums = self._step(var, reduced)
        self.member(sums, reduced)
        self.copy(var, tensor_math.reshape.build([sums, list(shape_of(var))], {}, span))

    def _step(self, var: Var, value: Call) -> Var:
        """Return a variable for a value that only the next step uses."""
        step = Var(self.buffers.name(var.name), value.type, value.span)
        self.uses[step] = 1
        return step

    def _add(self, pending: _Pending, var: Var, call: Call) -> None:
        sources = tensors_of(call)
        made = pending.group.shapes
        args = [
            self.buffers.at(a) if isinstance(a, Var) and a not in made else a for a in call.args
        ]
        member = Member(var, copy_with(call, {"args": tuple(args)}), tuple(sources))
        space = pending.group.joined([*(shape_of(s) for s in sources), aligned_shape(member)])
        assert space is not None
        for source in sources:
            if source not in made:
                self._note_read(pending, source)
        pending.group.add(member, space)
        pending.calls.append((var, call))

    def _note_read(self, pending: _Pending, source: Var) -> None:
        name = self.buffers.at(source)
        buffer = self.buffers.buffer[name]
        in_place = name not in self.buffers.part
        pending.read[buffer] = pending.read.get(buffer, True) and in_place

    def _fits(self, var: Var, call: Call) -> bool:
        """True if an op fits the pending group; begins a group if there is none."""
        if self.product is not None:
            self.flush()
        if self.pending is None:
            self.pending = _Pending()
        pending = self.pending
        sources = tensors_of(call)
        for source in sources:
            if source in pending.group.shapes:
                dropped = len(pending.group.shapes[source]) != len(shape_of(source))
                if dropped:
                    return False
            elif self.buffers.buffer_of(source) in pending.written:
                return False
        shapes = [*(shape_of(s) for s in sources), aligned_shape(Member(var, call, ()))]
        space = pending.group.joined(shapes)
        if space is None:
            return False
        # A tensor can be written in place only as long as the tiles stay the same.
        return not pending.group.exact or same_dims(space, pending.group.space)

    def sink(
        self, source: Var, target: Var, offset: tuple[Expr, ...] | None, after: Var, span: Span
    ) -> None:
        """Write ``source`` to ``target`` at ``offset``; ``after`` is the target's new name."""
        name = self.buffers.at(target)
        buffer = self.buffers.buffer[name]
        sink = Sink(source, name, offset, span)
        product = self.product
        if product is not None and source is product.var:
            read = {self.buffers.buffer_of(s) for s in tensors_of(product.call)}
            if buffer not in read:
                product.sinks.append(sink)
                product.results.append(after)
                self.buffers.rename(after, name, name)
                return
        if product is not None:
            self.flush()
        if not self._sinks(source, buffer, name, offset):
            self.flush()
            self._only_vector_copy(source, span)
            self._sinks(source, buffer, name, offset)
        pending = self.pending
        assert pending is not None
        if source not in pending.group.shapes:
            self._only_vector_copy(source, span)
            space = pending.group.joined([shape_of(source)])
            assert space is not None
            self._note_read(pending, source)
            pending.group.add_input(self.buffers.at(source), space)
            sink = sink._replace(value=self.buffers.at(source))
        if buffer in pending.read:
            pending.group.exact = True
        pending.sinks.append((sink, after))
        pending.written.add(buffer)
        self.buffers.rename(after, name, name)

    def copied(self, value: Expr, target: Var, span: Span) -> Expr:
        """Write ``value`` to ``target``; return the new name of the target."""
        assert isinstance(value, Var)
        after = Var("_", value.type, span)
        self.sink(value, target, None, after, span)
        return after

    def _made(self) -> dict[Var, tuple[Expr, ...]]:
        return {} if self.pending is None else self.pending.group.shapes

    def _sinks(self, source: Var, buffer: Var, name: Var, offset: tuple[Expr, ...] | None) -> bool:
        """True if the pending group can write a buffer; begins a group if there is none."""
        if self.pending is None:
            self.pending = _Pending()
            return True
        pending = self.pending
        if buffer in pending.written:
            return False
        made = pending.group.shapes
        if source not in made:
            # A tile might overwrite elements that an earlier copy has not read yet.
            if self.buffers.buffer_of(source) in pending.written or buffer in pending.read:
                return False
            return (
                not pending.group.members and pending.group.joined([shape_of(source)]) is not None
            )
        if buffer not in pending.read:
            return True
        # Written where it is read: element by element, in place, or not at all.
        space = pending.group.space
        zero = offset is None or all(const_value(each) == 0 for each in offset)
        whole = same_dims(shape_of(name), space) and same_dims(made[source], space)
        return (
            pending.read[buffer]
            and zero
            and whole
            and name not in self.buffers.part
            and not pending.group.reduced
        )

    def flush(self) -> None:
        """Write the pending group or product."""
        if self.product is not None:
            product, self.product = self.product, None
            self._write_product(product)
        if self.pending is not None:
            pending, self.pending = self.pending, None
            self._write_pending(pending)

    def _write_pending(self, pending: _Pending) -> None:
        group = pending.group
        if not group.members and not pending.sinks:
            return
        if group.exact and not group.members and not self._is_one_tile(pending):
            self._write_moves(pending)
            return
        # Even one op can be split if it reads what it writes: through another tensor.
        least = 1 if group.exact else 2
        if len(pending.calls) < least or self._fits_memory(self._with_homes(pending)):
            self._write(self._with_homes(pending))
        else:
            self._write_one_by_one(pending)

    def _fits_memory(self, pending: _Pending) -> bool:
        pending.group.sinks = [sink for sink, _ in pending.sinks]
        return fits(pending.group)

    def _with_homes(self, pending: _Pending) -> _Pending:
        """Add the values that other statements need to the sinks of a group."""
        inside: dict[Var, int] = {}
        for _, call in pending.calls:
            for source in tensors_of(call):
                inside[source] = inside.get(source, 0) + 1
        for sink, _ in pending.sinks:
            inside[sink.value] = inside.get(sink.value, 0) + 1
        homes = {self.buffers.buffer[sink.target] for sink, _ in pending.sinks}
        for var, call in pending.calls:
            if self.buffers.homes.get(var) in homes:
                continue
            if self.uses.get(var, 0) > inside.get(var, 0):
                home = self.buffers.home(var)
                pending.sinks.append((Sink(var, home, None, call.span), var))
                self.buffers.rename(var, home, home)
        return pending

    def _write(self, pending: _Pending) -> None:
        pending.group.sinks = [sink for sink, _ in pending.sinks]
        if not pending.sinks:
            return
        first = pending.calls[0][1].span if pending.calls else pending.sinks[0][0].span
        builder = Builder(self.buffers.name, first, self.buffers.views)
        try:
            names = write_group(pending.group, builder)
        except PyptoError as error:
            raise error.at(builder.span) from None
        self.stmts += builder.stmts
        for (sink, after), name in zip(pending.sinks, names, strict=True):
            self.buffers.rename(after, name, sink.target)

    def _write_one_by_one(self, pending: _Pending) -> None:
        """Write a group that does not fit as several groups, each of which ends with reductions."""
        last = [pair for pair in pending.sinks if self._waits(pair[0], pending)]
        waiting = [(s, a) for s, a in pending.sinks if all(s is not other for other, _ in last)]
        for sink, _ in last:  # read again after all groups: it must be in memory
            self.uses[sink.value] = self.uses.get(sink.value, 0) + 1
        current = _Pending()
        for var, call in pending.calls:
            if current.calls and not self._joins(current, var, call):
                self._end(current, waiting)
                current = _Pending()
            self._add(current, var, call)
        self._end(current, waiting)
        for sink, after in last:
            self.sink(sink.value, sink.target, sink.offset, after, sink.span)
            self.flush()

    def _is_one_tile(self, pending: _Pending) -> bool:
        pending.group.sinks = [sink for sink, _ in pending.sinks]
        return is_one_tile(pending.group)

    def _write_moves(self, pending: _Pending) -> None:
        """Write copies within a tensor through another one: tiles could read what others wrote."""
        for sink, after in pending.sinks:
            value = sink.value
            if self.buffers.buffer[value] is self.buffers.buffer[sink.target]:
                copy = Var(value.name, value.type, sink.span)
                self.sink(value, self.buffers.home(copy), None, copy, sink.span)
                self.flush()
                value = copy
            self.sink(value, sink.target, sink.offset, after, sink.span)
            self.flush()

    def _waits(self, sink: Sink, pending: _Pending) -> bool:
        return self.buffers.buffer[sink.target] in pending.read

    def _joins(self, current: _Pending, var: Var, call: Call) -> bool:
        sums = {v for v, c in current.calls if is_reduction(c)}
        sources = tensors_of(call)
        if any(source in sums for source in sources):
            return False
        if is_reduction(call) and current.group.reduced - {reduced_axis(call)}:
            return False
        shapes = [*(shape_of(s) for s in sources), aligned_shape(Member(var, call, ()))]
        return current.group.joined(shapes) is not None

    def _end(self, current: _Pending, waiting: list[tuple[Sink, Var]]) -> None:
        made = current.group.shapes
        current.sinks += [pair for pair in waiting if pair[0].value in made]
        current = self._with_homes(current)
        if len(current.calls) < 2 or current.group.reduced or self._fits_memory(current):
            self._write(current)
            return
        half = len(current.calls) // 2  # too many live values
        for calls in (current.calls[:half], current.calls[half:]):
            part = _Pending()
            for var, call in calls:
                self._add(part, var, call)
            self._end(part, current.sinks)

    # Products and copies ----------------------------------------------------------------------

    def multiply(self, var: Var, call: Call) -> None:
        """Make a product of matrices pending until its destination is known."""
        self.flush()
        args = [self.buffers.at(arg) if isinstance(arg, Var) else arg for arg in call.args]
        self.product = _Product(var, copy_with(call, {"args": tuple(args)}), [], [])

    def _write_product(self, product: _Product) -> None:
        var, call = product.var, product.call
        sinks, results = list(product.sinks), list(product.results)
        if self.uses.get(var, 0) > len(sinks):
            home = self.buffers.home(var)
            sinks.append(Sink(var, home, None, call.span))
            results.append(var)
        if not sinks:
            return
        builder = Builder(self.buffers.name, call.span, self.buffers.views)
        try:
            names = write_product(builder, call, [(s.target, s.offset) for s in sinks])
        except PyptoError as error:
            raise error.at(call.span) from None
        self.stmts += builder.stmts
        for after, name, sink in zip(results, names, sinks, strict=True):
            self.buffers.rename(after, name, sink.target)

    def copy(self, var: Var, call: Call) -> None:
        """Write a tensor that is not computed elementwise to its home."""
        self._only_vector(call)
        self.flush()
        op = op_of(call)
        home = self.buffers.home(var)
        builder = Builder(self.buffers.name, call.span, self.buffers.views)
        assert op is not None
        try:
            name = COPIES.get(op, write_lines)(builder, self.buffers.named(call), home)
        except PyptoError as error:
            raise error.at(call.span) from None
        self.stmts += builder.stmts
        self.buffers.rename(var, name, home)

    def _only_vector(self, call: Call) -> None:
        if self.is_cube:
            raise self._mixed(call.span, f"{user_call(call)} is vector work")

    def _only_vector_copy(self, source: Var, span: Span) -> None:
        if self.is_cube:
            raise self._mixed(span, f"copying '{user_name(source)}' is vector work")

    def _mixed(self, span: Span, what: str) -> PassError:
        return PassError(
            f"{what}, and the kernel '{self.kernel}' multiplies matrices, which no one core "
            "does both",
            span,
            hint="put the pl.matmul into a with statement of its own",
            slug="mixed-cores",
        )


def _use_counts(body: Stmt) -> dict[Var, int]:
    """Return how often each tensor variable is used, an iter_arg's init value included."""
    counts: dict[Var, int] = {}
    for stmt in stmts_in(body):
        for var in uses(read_by(stmt)):
            if isinstance(var.type, TensorType):
                counts[var] = counts.get(var, 0) + 1
    return counts
