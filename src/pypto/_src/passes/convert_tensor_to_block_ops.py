"""ConvertTensorToBlockOps: in kernels, ops on whole tensors become loops over tiles.

    y = pl.tensor.exp(x)      x_tile = pl.block.load(x, [0, 0], [64, 128])
    return y             ->   y_tile = pl.block.exp(x_tile)
                              out_0_1 = pl.block.store(y_tile, [0, 0], [64, 128], out_0)
                              return out_0_1

A tensor that a kernel returns and did not get is a new Out parameter ``out_<N>``, one that it needs
in between a new parameter ``tmp_<N>``; callers create both. A run of ops whose tensors fit together
is one `tile_tensors.Group`: what only its own ops use never goes to memory. What crosses a branch,
a loop or the border of a group does.

This module decides what lies where and keeps the order of reads and writes; the loops over tiles
come from `tile_tensors` and `tile_moves`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

from pypto._src.diagnostics import Span
from pypto._src.errors import PassError, PyptoError
from pypto._src.ir.enums import CoreType, ParamDirection
from pypto._src.ir.nodes import (
    Call,
    Expr,
    GlobalVar,
    IterArg,
    MakeTuple,
    ScalarType,
    TensorType,
    Var,
    const_value,
    exprs_of_type,
    same_dims,
)
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.ssa import to_ssa
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    seq,
    statements,
)
from pypto._src.ir.walk import (
    Mutator,
    calls_in,
    copy_with,
    functions_called,
    ops_called,
    stmts_in,
    substitute,
    uses,
    walk,
)
from pypto._src.ops import tensor, tensor_math
from pypto._src.ops.conversion import core_of
from pypto._src.passes.base import IRProperty, IRPropertySet, Pass
from pypto._src.passes.buffers import tensor_roots
from pypto._src.passes.flatten_call_expr import lift_calls
from pypto._src.passes.outline_incore_scopes import check_merges
from pypto._src.passes.regions import call_of, number, read_by
from pypto._src.passes.tile_moves import write_product, write_reshape, write_transpose
from pypto._src.passes.tile_tensors import (
    Builder,
    Group,
    Member,
    Sink,
    aligned_shape,
    fits,
    is_reduction,
    reduced_axis,
    write_group,
)

_P: Final = IRProperty
_COPIES: Final = {tensor_math.reshape: write_reshape, tensor_math.transpose: write_transpose}


class ConvertTensorToBlockOps(Pass):
    """Load, compute on tiles and store, where a kernel has ops on whole tensors."""

    requires = IRPropertySet(_P.SplitIncoreOrch)
    produces = IRPropertySet(_P.IncoreBlockOps)

    def run(self, program: Program) -> Program:
        """Return the program with kernels of block ops; itself if no kernel has tensor ops.

        Raises:
            PassError: a kernel does what no tile can do, or both matrix and vector work.
            MemoryPlanError: no tile of the tensors fits the on-chip memory.
        """
        lowered: dict[str, _Lowered] = {}
        for function in program.functions_:
            if role(function) is Role.KERNEL and _has_tensor_ops(function):
                lowered[function.name] = _Lowering(function).run()
        if not lowered:
            return program
        out: list[Function] = []
        for function in program.functions_:
            found = lowered.get(function.name)
            out.append(_with_arguments(function, lowered) if found is None else found.function)
        return program.with_functions(out)


def convert_tensor_to_block_ops() -> Pass:
    """Return the pass that turns ops on tensors into ops on tiles, in kernels."""
    return ConvertTensorToBlockOps()


def _has_tensor_ops(function: Function) -> bool:
    return any(_is_work(call) for call in ops_called(function.body).values())


def _is_work(call: Call) -> bool:
    """True for a tensor op that no kernel executes as it is."""
    op = op_of(call)
    if op is None or op.level != "tensor":
        return False
    return core_of(call) is not None or op is tensor_math.assemble or op is tensor.create


class _Lowered(NamedTuple):
    """A kernel with block ops, and the parameters behind its old ones."""

    function: Function
    added: tuple[Var, ...]


# --------------------------------------------------------------------------------------------
# Callers
# --------------------------------------------------------------------------------------------


def _with_arguments(function: Function, lowered: dict[str, _Lowered]) -> Function:
    """Return ``function`` with new tensors for the parameters that its callees have got."""
    if not any(lowered[n].added for n in functions_called(function) if n in lowered):
        return function
    lifted = lift_calls(function)
    body = _Arguments(lifted, lowered).body(lifted.body)
    return lifted.with_body(body)


class _Arguments(Mutator):
    def __init__(self, function: Function, lowered: dict[str, _Lowered]) -> None:
        super().__init__()
        self._lowered = lowered
        self._name = _names_of(function)

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt | list[Stmt]:
        """Return the call with more arguments, after what makes them."""
        return self._called(stmt, stmt.value, "value")

    def visit_EvalStmt(self, stmt: EvalStmt) -> Stmt | list[Stmt]:
        """Return the call with more arguments, after what makes them."""
        return self._called(stmt, stmt.expr, "expr")

    def _called(self, stmt: Stmt, value: Expr, field: str) -> Stmt | list[Stmt]:
        found = None
        if isinstance(value, Call) and isinstance(value.op, GlobalVar):
            found = self._lowered.get(value.op.name)
        if found is None or not found.added:
            return stmt
        assert isinstance(value, Call)
        mapping = _bound(found.function, value)
        out: list[Stmt] = []
        for param in found.added:
            kind = param.type
            assert isinstance(kind, TensorType)
            shape = MakeTuple([substitute(dim, mapping) for dim in kind.shape])
            made = tensor.create.build((shape, kind.dtype), {}, stmt.span)
            var = Var(self._name(param.name), made.type, stmt.span)
            out.append(AssignStmt(var, made, stmt.span))
        args = [*value.args, *(s.var for s in out if isinstance(s, AssignStmt))]
        return [*out, copy_with(stmt, {field: copy_with(value, {"args": tuple(args)})})]


def _bound(function: Function, call: Call) -> dict[Var, Expr]:
    """Return what parameters, and sizes that they give, are at a call."""
    mapping: dict[Var, Expr] = {}
    for param, arg in zip(function.params, call.args, strict=False):
        mapping[param] = arg
        if isinstance(param.type, TensorType) and isinstance(arg.type, TensorType):
            for dim, value in zip(param.type.shape, arg.type.shape, strict=True):
                if isinstance(dim, Var):
                    mapping.setdefault(dim, value)
    return mapping


def _names_of(function: Function) -> Callable[[str], str]:
    """Return what gives new names, different from those in ``function`` and from one another."""
    taken = {node.name for node in walk(function) if isinstance(node, Var)}
    counts: dict[str, int] = {}

    def name(like: str) -> str:
        found = like
        while found in taken:
            counts[like] = counts.get(like, 0) + 1
            found = f"{like}_{counts[like]}"
        taken.add(found)
        return found

    return name


# --------------------------------------------------------------------------------------------
# One kernel
# --------------------------------------------------------------------------------------------


class _Product(NamedTuple):
    """A product of matrices that waits for where it goes."""

    var: Var
    call: Call
    sinks: list[Sink]
    results: list[Var]  # of the program, what the sinks are after it


class _Names(Mutator):
    """Puts the present name of each tensor in place of the program's variable."""

    def __init__(self, present: dict[Var, Var]) -> None:
        super().__init__()
        self._present = present

    def visit_Var(self, var: Var) -> Expr:
        """Return the present name."""
        return self._present.get(var, var)


class _Pending:
    """Members of the group that is being collected, and where their values go."""

    def __init__(self) -> None:
        self.group = Group()
        self.calls: list[tuple[Var, Call]] = []
        self.sinks: list[tuple[Sink, Var]] = []  # with the variable that the target is after it
        self.read: dict[Var, bool] = {}  # buffers, True if each read is of the whole, in place
        self.written: set[Var] = set()  # buffers


class _Lowering:
    """Rewrites one kernel, statement by statement, with one group or product waiting."""

    def __init__(self, function: Function) -> None:
        function = _Flat().function(to_ssa(lift_calls(function)))
        check_merges(function)
        self.function = function
        self.name = _names_of(function)
        self.now: dict[Var, Var] = {}  # the present name of each tensor variable
        self.buffer: dict[Var, Var] = {}  # what stands for the memory of a name
        self.part: set[Var] = set()  # names of parts of buffers
        self.mapped = _Names(self.now)
        self.added: list[Var] = []
        self.temporaries: list[Var] = []
        self.stmts: list[Stmt] = []
        self.pending: _Pending | None = None
        self.product: _Product | None = None
        self.roots = tensor_roots(function, number(function))
        self.uses = _use_counts(function.body)
        self.homes: dict[Var, Var] = {}
        self.is_cube = any(core_of(call) is CoreType.CUBE for call in calls_in(function.body))
        self.params = set(function.params)
        self.symbols = self.params | {
            v for p in function.params for v in uses(exprs_of_type(p.type))
        }

    def run(self) -> _Lowered:
        """Return the kernel with block ops."""
        for param in self.function.params:
            if isinstance(param.type, TensorType):
                self.buffer[param] = param
        self._results()
        stmts = self.block(self.function.body, None)
        function = self.function
        added = (*self.added, *self.temporaries)
        params = [
            *zip(function.params, function.param_directions, strict=True),
            *((param, ParamDirection.Out) for param in added),
        ]
        body = seq(stmts, function.body.span)
        lowered = Function(
            function.name, params, function.return_types, body, function.span, function.func_type
        )
        return _Lowered(lowered, added)

    # Where values lie -------------------------------------------------------------------------

    def _results(self) -> None:
        """Make the parameters of what the kernel returns and did not get."""
        last = next((s for s in statements(self.function.body) if isinstance(s, ReturnStmt)), None)
        for index, value in enumerate(last.value if last is not None else ()):
            if not isinstance(value, Var) or not isinstance(value.type, TensorType):
                continue
            roots = self.roots.get(value, ())
            if len(roots) == 1 and roots[0] in self.params:
                continue
            home = self._parameter(f"out_{index}", value, self.added)
            # What is merged, or only a part, is copied; else it is made there.
            if len(roots) == 1 and same_dims(_shape(roots[0]), _shape(value)):
                self.homes.setdefault(roots[0], home)
            self.homes.setdefault(value, home)

    def _parameter(self, name: str, like: Var, added: list[Var]) -> Var:
        kind = like.type
        assert isinstance(kind, TensorType)
        for var in uses(kind.shape):
            if var not in self.symbols:
                raise PassError(
                    f"'{like.name}' has a size that only the kernel knows: '{var.name}'",
                    like.span,
                    hint=f"compute '{var.name}' before the with pl.incore()",
                    slug="tensor-size",
                )
        param = Var(self.name(name), TensorType(kind.shape, kind.dtype), like.span)
        added.append(param)
        self.buffer[param] = param
        return param

    def home(self, var: Var) -> Var:
        """Return the parameter that holds ``var``."""
        if var not in self.homes:
            name = f"tmp_{len(self.temporaries)}"
            self.homes[var] = self._parameter(name, var, self.temporaries)
        return self.homes[var]

    def rename(self, var: Var, name: Var, like: Var, *, part: bool = False) -> None:
        """Note that ``var`` is called ``name`` from now on, in the buffer of the name ``like``."""
        self.now[var] = name
        self.buffer[name] = self.buffer[like]
        if part or like in self.part:
            self.part.add(name)

    def at(self, var: Var) -> Var:
        """Return the present name of a tensor variable."""
        return self.now.get(var, var)

    # Statements -------------------------------------------------------------------------------

    def block(
        self, body: Stmt | None, end: Callable[[YieldStmt], Sequence[Expr]] | None
    ) -> list[Stmt]:
        """Return a body rewritten; ``end`` gives what its yield hands on."""
        outer, self.stmts = self.stmts, []
        for stmt in statements(body):
            if isinstance(stmt, YieldStmt) and end is not None:
                values = end(stmt)
                self.flush()
                self.stmts.append(YieldStmt([self.mapped.visit(v) for v in values], stmt.span))
            else:
                self.statement(stmt)
        self.flush()
        stmts, self.stmts = self.stmts, outer
        return stmts

    def statement(self, stmt: Stmt) -> None:
        """Rewrite one statement."""
        match stmt:
            case AssignStmt(var=var, value=Call() as call) if _is_tensor_op(call):
                self.tensor_op(var, call, stmt)
            case EvalStmt(expr=Call() as call) if _is_tensor_op(call):
                self.tensor_op(Var("_", call.type, stmt.span), call, stmt)
            case AssignStmt(var=var, value=Var() as source) if isinstance(var.type, TensorType):
                self.in_memory(source)
                self.rename(var, self.at(source), self.at(source))
            case AssignStmt() if isinstance(stmt.var.type, ScalarType) and not _has_call(stmt):
                self.stmts.append(stmt)
            case IfStmt():
                self.flush()
                self.branch(stmt)
            case ForStmt() | WhileStmt():
                self.flush()
                self.loop(stmt)
            case ReturnStmt():
                self.result(stmt)
            case _:
                self.flush()
                self.plain(stmt)

    def plain(self, stmt: Stmt) -> None:
        """Rewrite a statement that stays what it is, but for the names of tensors."""
        new: Any = self.mapped.visit(stmt)
        self.stmts.append(new)
        if isinstance(new, AssignStmt) and isinstance(new.var.type, TensorType):
            call = call_of(new)
            op = op_of(call) if call is not None else None
            target = None
            if call is not None and op is not None and len(op.writes) == 1:
                target = call.args[min(op.writes)]
            self.buffer[new.var] = self.buffer.get(cast("Var", target), new.var)

    def tensor_op(self, var: Var, call: Call, stmt: Stmt) -> None:
        """Rewrite a tensor op."""
        op = op_of(call)
        assert op is not None
        if op is tensor.create:
            self.rename(var, self.home(var), self.home(var))
        elif op is tensor.view:
            self.view(var, call, stmt)
        elif op is tensor_math.assemble:
            self.assemble(var, call, stmt.span)
        elif core_of(call) is CoreType.CUBE:
            self.multiply(var, call)
        elif op in _COPIES:
            self.copy(var, call)
        elif core_of(call) is CoreType.VECTOR:
            self.member(var, call)
        else:  # reads an element, or a size
            self.flush()
            self.plain(stmt)

    def view(self, var: Var, call: Call, stmt: Stmt) -> None:
        """Keep a view, of the present name of its tensor."""
        source = call.args[0]
        assert isinstance(source, Var)
        self.in_memory(source)
        name = self.at(source)
        self.stmts.append(AssignStmt(var, self.mapped.visit(call), stmt.span))
        self.rename(var, var, name, part=True)

    def in_memory(self, source: Var) -> None:
        """See to it that a tensor is in memory."""
        if self.pending is not None and source in self.pending.group.shapes:
            self.flush()
        if self.product is not None and source is self.product.var:
            self.flush()
        if self.product is not None and any(source is r for r in self.product.results):
            self.flush()
        if self.pending is not None and any(source is after for _, after in self.pending.sinks):
            self.flush()

    # Groups -----------------------------------------------------------------------------------

    def member(self, var: Var, call: Call) -> None:
        """Add an elementwise op or a reduction to the group, or begin another one."""
        self._only_vector(call)
        if not self._fits(var, call):
            self.flush()
            if not self._fits(var, call):
                raise PassError(
                    f"the tensors of {call.op.name} do not broadcast", call.span, slug="tensor-tile"
                )
        if is_reduction(call) and reduced_axis(call) < -2:
            raise PassError(
                f"{call.op.name} along dimension {reduced_axis(call)} of "
                f"{len(_shape(call.args[0]))}: a kernel reduces one of the last two",
                call.span,
                hint="pl.transpose the tensor before the with pl.incore()",
                slug="tensor-tile",
            )
        assert self.pending is not None
        self._add(self.pending, var, call)

    def _add(self, pending: _Pending, var: Var, call: Call) -> None:
        sources = _tensors(call)
        made = pending.group.shapes
        args = [self.at(a) if isinstance(a, Var) and a not in made else a for a in call.args]
        member = Member(var, copy_with(call, {"args": tuple(args)}), tuple(sources))
        space = pending.group.joined([*(_shape(s) for s in sources), aligned_shape(member)])
        assert space is not None
        for source in sources:
            if source not in made:
                self._note_read(pending, source)
        pending.group.add(member, space)
        pending.calls.append((var, call))

    def _note_read(self, pending: _Pending, source: Var) -> None:
        name = self.at(source)
        buffer = self.buffer[name]
        in_place = name not in self.part
        pending.read[buffer] = pending.read.get(buffer, True) and in_place

    def _fits(self, var: Var, call: Call) -> bool:
        """True if an op can be done with the group that waits; begins one if there is none."""
        if self.product is not None:
            self.flush()
        if self.pending is None:
            self.pending = _Pending()
        pending = self.pending
        sources = _tensors(call)
        for source in sources:
            if source in pending.group.shapes:
                dropped = len(pending.group.shapes[source]) != len(_shape(source))
                if dropped:
                    return False
            elif self.buffer[self.at(source)] in pending.written:
                return False
        shapes = [*(_shape(s) for s in sources), aligned_shape(Member(var, call, ()))]
        space = pending.group.joined(shapes)
        if space is None:
            return False
        # A tensor that is written in place keeps its place only as long as tiles are the same.
        return not pending.group.exact or same_dims(space, pending.group.space)

    def assemble(self, var: Var, call: Call, span: Span) -> None:
        """Let a value go to a region of a tensor."""
        target, source, offset = call.args
        assert isinstance(target, Var)
        assert isinstance(source, Var)
        assert isinstance(offset, MakeTuple)
        self.in_memory(target)
        at = tuple(self.mapped.visit(each) for each in offset.elements)
        self.sink(source, target, at, var, span)

    def sink(
        self, source: Var, target: Var, offset: tuple[Expr, ...] | None, after: Var, span: Span
    ) -> None:
        """Let ``source`` go to ``target`` at ``offset``, which is called ``after`` then."""
        name = self.at(target)
        buffer = self.buffer[name]
        sink = Sink(source, name, offset, span)
        product = self.product
        if product is not None and source is product.var:
            read = {self.buffer[self.at(s)] for s in _tensors(product.call)}
            if buffer not in read:
                product.sinks.append(sink)
                product.results.append(after)
                self.rename(after, name, name)
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
            space = pending.group.joined([_shape(source)])
            assert space is not None
            self._note_read(pending, source)
            pending.group.add_input(self.at(source), space)
            sink = sink._replace(value=self.at(source))
        if buffer in pending.read and not self._is_copy_apart(source, buffer):
            pending.group.exact = True
        pending.sinks.append((sink, after))
        pending.written.add(buffer)
        self.rename(after, name, name)

    def _is_copy_apart(self, source: Var, buffer: Var) -> bool:
        return source not in self._made() and self.buffer[self.at(source)] is not buffer

    def _made(self) -> dict[Var, tuple[Expr, ...]]:
        return {} if self.pending is None else self.pending.group.shapes

    def _sinks(self, source: Var, buffer: Var, name: Var, offset: tuple[Expr, ...] | None) -> bool:
        """True if the waiting group can write a buffer; begins one if there is none."""
        if self.pending is None:
            self.pending = _Pending()
            return True
        pending = self.pending
        if buffer in pending.written:
            return False
        made = pending.group.shapes
        if source not in made:
            if self.buffer[self.at(source)] in pending.written:
                return False
            return not pending.group.members and pending.group.joined([_shape(source)]) is not None
        if buffer not in pending.read:
            return True
        # Written where it is read: element by element, in place, or not at all.
        space = pending.group.space
        zero = offset is None or all(const_value(each) == 0 for each in offset)
        whole = same_dims(_shape(name), space) and same_dims(made[source], space)
        return (
            pending.read[buffer]
            and zero
            and whole
            and name not in self.part
            and not pending.group.reduced
        )

    def flush(self) -> None:
        """Write the group or product that waits."""
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
        if len(pending.calls) < 2 or self._fits_memory(self._with_homes(pending)):
            self._write(self._with_homes(pending))
        else:
            self._write_in_turn(pending)

    def _fits_memory(self, pending: _Pending) -> bool:
        pending.group.sinks = [sink for sink, _ in pending.sinks]
        return fits(pending.group)

    def _with_homes(self, pending: _Pending) -> _Pending:
        """Add what other statements need to the sinks of a group."""
        inside: dict[Var, int] = {}
        for _, call in pending.calls:
            for source in _tensors(call):
                inside[source] = inside.get(source, 0) + 1
        for sink, _ in pending.sinks:
            inside[sink.value] = inside.get(sink.value, 0) + 1
        homes = {self.buffer[sink.target] for sink, _ in pending.sinks}
        for var, call in pending.calls:
            if self.homes.get(var) in homes:
                continue
            if self.uses.get(var, 0) > inside.get(var, 0):
                home = self.home(var)
                pending.sinks.append((Sink(var, home, None, call.span), var))
                self.rename(var, home, home)
        return pending

    def _write(self, pending: _Pending) -> None:
        pending.group.sinks = [sink for sink, _ in pending.sinks]
        if not pending.sinks:
            return
        first = pending.calls[0][1].span if pending.calls else pending.sinks[0][0].span
        builder = Builder(self.name, first)
        try:
            names = write_group(pending.group, builder)
        except PyptoError as error:
            raise error.at(builder.span) from None
        self.stmts += builder.stmts
        for (sink, after), name in zip(pending.sinks, names, strict=True):
            self.rename(after, name, sink.target)

    def _write_in_turn(self, pending: _Pending) -> None:
        """Write a group that does not fit as several: each ends with its reductions."""
        last = [pair for pair in pending.sinks if self._waits(pair[0], pending)]
        waiting = [(s, a) for s, a in pending.sinks if all(s is not other for other, _ in last)]
        for sink, _ in last:  # read once more after all groups: it has to be in memory
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

    def _waits(self, sink: Sink, pending: _Pending) -> bool:
        return self.buffer[sink.target] in pending.read

    def _joins(self, current: _Pending, var: Var, call: Call) -> bool:
        sums = {v for v, c in current.calls if is_reduction(c)}
        sources = _tensors(call)
        if any(source in sums for source in sources):
            return False
        if is_reduction(call) and current.group.reduced - {reduced_axis(call)}:
            return False
        shapes = [*(_shape(s) for s in sources), aligned_shape(Member(var, call, ()))]
        return current.group.joined(shapes) is not None

    def _end(self, current: _Pending, waiting: list[tuple[Sink, Var]]) -> None:
        made = current.group.shapes
        current.sinks += [pair for pair in waiting if pair[0].value in made]
        current = self._with_homes(current)
        if len(current.calls) < 2 or current.group.reduced or self._fits_memory(current):
            self._write(current)
            return
        half = len(current.calls) // 2  # too many values at once
        for calls in (current.calls[:half], current.calls[half:]):
            part = _Pending()
            for var, call in calls:
                self._add(part, var, call)
            self._end(part, current.sinks)

    # Products and copies ----------------------------------------------------------------------

    def multiply(self, var: Var, call: Call) -> None:
        """Let a product of matrices wait for where it goes."""
        self.flush()
        args = [self.at(arg) if isinstance(arg, Var) else arg for arg in call.args]
        self.product = _Product(var, copy_with(call, {"args": tuple(args)}), [], [])

    def _write_product(self, product: _Product) -> None:
        var, call = product.var, product.call
        sinks, results = list(product.sinks), list(product.results)
        if self.uses.get(var, 0) > len(sinks):
            home = self.home(var)
            sinks.append(Sink(var, home, None, call.span))
            results.append(var)
        if not sinks:
            return
        builder = Builder(self.name, call.span)
        try:
            names = write_product(builder, call, [(s.target, s.offset) for s in sinks])
        except PyptoError as error:
            raise error.at(call.span) from None
        self.stmts += builder.stmts
        for after, name, sink in zip(results, names, sinks, strict=True):
            self.rename(after, name, sink.target)

    def copy(self, var: Var, call: Call) -> None:
        """Write a tensor in another order to its home."""
        self._only_vector(call)
        self.flush()
        op = op_of(call)
        home = self.home(var)
        builder = Builder(self.name, call.span)
        assert op is not None
        try:
            name = _COPIES[op](builder, self.mapped.visit(call), home)
        except PyptoError as error:
            raise error.at(call.span) from None
        self.stmts += builder.stmts
        self.rename(var, name, home)

    def _only_vector(self, call: Call) -> None:
        if self.is_cube:
            raise self._mixed(call.span, f"{call.op.name} is vector work")

    def _only_vector_copy(self, source: Var, span: Span) -> None:
        if self.is_cube:
            raise self._mixed(span, f"copying '{source.name}' is vector work")

    def _mixed(self, span: Span, what: str) -> PassError:
        return PassError(
            f"{what}, and the kernel '{self.function.name}' multiplies matrices, which no one core "
            "does both",
            span,
            hint="put the pl.matmul into a with pl.incore() of its own",
            slug="mixed-cores",
        )

    # Control flow -----------------------------------------------------------------------------

    def _is_merged(self, var: Var) -> bool:
        """True for a tensor that is one of several: it gets memory of its own."""
        return isinstance(var.type, TensorType) and len(self.roots.get(var, ())) > 1

    def branch(self, stmt: IfStmt) -> None:
        """Rewrite a branch; what its arms merge is copied to one place in each."""
        merged = [self.home(v) if self._is_merged(v) else None for v in stmt.return_vars]

        def end(last: YieldStmt) -> list[Expr]:
            return [
                value if home is None else self._copied(value, home, last.span)
                for value, home in zip(last.value, merged, strict=False)
            ]

        tensors = [isinstance(v.type, TensorType) for v in stmt.return_vars]
        then, other = self.block(stmt.then_body, end), None
        yielded = _last_values(then)
        if stmt.else_body is not None:
            other = seq(self.block(stmt.else_body, end), stmt.span)
        results = [
            Var(self.name(v.name), v.type, v.span) if is_tensor else v
            for v, is_tensor in zip(stmt.return_vars, tensors, strict=True)
        ]
        condition = self.mapped.visit(stmt.condition)
        self.stmts.append(IfStmt(condition, seq(then, stmt.span), other, results, stmt.span))
        self._after(stmt.return_vars, results, yielded)

    def _after(self, old: Sequence[Var], new: Sequence[Var], values: Sequence[Expr]) -> None:
        for var, name, value in zip(old, new, values, strict=False):
            if isinstance(var.type, TensorType):
                assert isinstance(value, Var)
                self.rename(var, name, value)

    def _copied(self, value: Expr, place: Var, span: Span) -> Expr:
        """Let ``value`` go to ``place``; return the name of that."""
        assert isinstance(value, Var)
        after = Var("_", value.type, span)
        self.sink(value, place, None, after, span)
        return after

    def loop(self, stmt: ForStmt | WhileStmt) -> None:
        """Rewrite a loop; what it carries of several tensors lies in one place."""
        homes = [self.home(r) if self._is_merged(r) else None for r in stmt.return_vars]
        inits: list[Expr] = []
        for arg, home in zip(stmt.iter_args, homes, strict=True):
            init = arg.initValue
            inits.append(init if home is None else self._copied(init, home, stmt.span))
        self.flush()
        inits = [self.mapped.visit(init) for init in inits]
        args: list[IterArg] = []
        for arg, init in zip(stmt.iter_args, inits, strict=True):
            if isinstance(arg.type, TensorType):
                new = IterArg(self.name(arg.name), arg.type, init, arg.span)
                assert isinstance(init, Var)
                self.rename(arg, new, init)
                args.append(new)
            else:
                args.append(arg if init is arg.initValue else copy_with(arg, {"initValue": init}))
        carried = list(zip(stmt.iter_args, args, homes, strict=True))

        def end(last: YieldStmt) -> Sequence[Expr]:
            return self._carried_on(last, carried)

        body = seq(self.block(stmt.body, end), stmt.span)
        results = [
            Var(self.name(v.name), v.type, v.span) if isinstance(v.type, TensorType) else v
            for v in stmt.return_vars
        ]
        changes: dict[str, Any] = {
            "body": body,
            "iter_args": tuple(args),
            "return_vars": tuple(results),
        }
        self.stmts.append(copy_with(stmt, changes))
        self._after(stmt.return_vars, results, args)

    def _carried_on(
        self, last: YieldStmt, carried: Sequence[tuple[IterArg, IterArg, Var | None]]
    ) -> list[Expr]:
        """Copy what a turn hands on to where the loop carries it; return the names."""
        values = list(last.value)
        places = {
            self.buffer[new]: index
            for index, (_, new, home) in enumerate(carried)
            if home is not None
        }
        for index, ((_, _, home), value) in enumerate(zip(carried, values, strict=True)):
            if home is None or not isinstance(value, Var) or value in self._waiting_values():
                continue
            at = places.get(self.buffer[self.at(value)])
            if at is not None and at != index:  # would be overwritten before it is copied
                kept = Var(value.name, value.type, last.span)
                self.homes[kept] = home = self.home(kept)
                self.sink(value, home, None, kept, last.span)
                self.flush()
                values[index] = kept
        for index, ((_, new, home), value) in enumerate(zip(carried, values, strict=True)):
            if home is None:
                continue
            assert isinstance(value, Var)
            is_same = value not in self._waiting_values() and (
                self.buffer[self.at(value)] is self.buffer[new] and self.at(value) not in self.part
            )
            values[index] = value if is_same else self._copied(value, new, last.span)
        return values

    def _waiting_values(self) -> set[Var]:
        """Return what the waiting group or product makes and has not stored."""
        product = () if self.product is None else (self.product.var,)
        return {*self._made(), *product}

    def result(self, stmt: ReturnStmt) -> None:
        """Rewrite the return; what is no parameter yet becomes one."""
        values: list[Expr] = []
        for value in stmt.value:
            home = self.homes.get(value) if isinstance(value, Var) else None
            if home is None or not isinstance(value, Var):
                values.append(value)
                continue
            waits = value in self._waiting_values()
            if waits or self.buffer[self.at(value)] is self.buffer[home]:
                values.append(value)
            else:
                values.append(self._copied(value, home, stmt.span))
        self.flush()
        self.stmts.append(ReturnStmt([self.mapped.visit(v) for v in values], stmt.span))


class _Flat(Mutator):
    """Takes the marks of scopes away: inside of a kernel they mark nothing."""

    def visit_ScopeStmt(self, stmt: ScopeStmt) -> list[Stmt]:
        """Return what the scope holds."""
        return list(statements(self.body(stmt.body)))


def _shape(value: Expr) -> tuple[Expr, ...]:
    assert isinstance(value.type, TensorType)
    return tuple(value.type.shape)


def _tensors(call: Call) -> list[Var]:
    return [a for a in call.args if isinstance(a, Var) and isinstance(a.type, TensorType)]


def _is_tensor_op(call: Call) -> bool:
    op = op_of(call)
    return op is not None and op.level == "tensor"


def _has_call(stmt: AssignStmt) -> bool:
    return any(isinstance(node, Call) for node in walk(stmt.value))


def _last_values(stmts: Sequence[Stmt]) -> Sequence[Expr]:
    last = stmts[-1] if stmts else None
    return last.value if isinstance(last, YieldStmt) else ()


def _use_counts(body: Stmt) -> dict[Var, int]:
    """Return how often each tensor variable is used, an iter_arg's init value included."""
    counts: dict[Var, int] = {}
    for stmt in stmts_in(body):
        for var in uses(read_by(stmt)):
            if isinstance(var.type, TensorType):
                counts[var] = counts.get(var, 0) + 1
    return counts
