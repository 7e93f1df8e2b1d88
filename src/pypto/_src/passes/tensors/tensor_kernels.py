"""What `ConvertTensorToBlockOps` does to kernels with ops on tensors, and to their callers.

This module rewrites statements, control flow and callers. `fusion_groups` decides which ops form
one loop nest, `tensor_buffers` which buffer each tensor has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from pypto._src.analysis.accesses import SharedParams, alias_bases
from pypto._src.analysis.stmt_tree import call_of, number
from pypto._src.diagnostics import Span
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import CoreType, ParamDirection
from pypto._src.ir.exprs import Call, Expr, GlobalVar, IterArg, MakeTuple, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.ssa.construct import to_ssa
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
    yielded_by,
)
from pypto._src.ir.traversal.mutator import Mutator, as_list, substitute
from pypto._src.ir.traversal.queries import functions_called, variable_names
from pypto._src.ir.traversal.walk import copy_with, walk
from pypto._src.ir.types import ScalarType
from pypto._src.ops import tensor
from pypto._src.passes.structure.flatten_call_expr import lift_calls
from pypto._src.records import NamedTuple


def with_block_ops(program: Program, kernels: Sequence[Function]) -> Program:
    """Return the program with the tensor ops in ``kernels`` lowered to block ops."""
    shared = _shared(program)
    lowered = {f.name: _Lowering(f, shared.get(f.name, ())).run() for f in kernels}
    out: list[Function] = []
    for function in program.functions_:
        new = lowered.get(function.name)
        out.append(_with_arguments(function, lowered) if new is None else new.function)
    return program.with_functions(out)


def _shared(program: Program) -> dict[str, list[SharedParams]]:
    """Return the parameters of each kernel that some call gives the same memory."""
    if all(role(function) is Role.KERNEL for function in program.functions_):
        return {}
    flat = program.with_functions([to_ssa(lift_calls(f)) for f in program.functions_])
    kernels = [f for f in flat.functions_ if role(f) is Role.KERNEL]
    from pypto._src.analysis.call_aliases import call_aliases

    aliases = call_aliases(flat, {f.name: alias_bases(f, number(f)) for f in kernels})
    return {name: [alias.params for alias in found] for name, found in aliases.items()}


class _Lowered(NamedTuple):
    """A kernel with block ops, and the parameters added after its old ones."""

    function: Function
    added: tuple[Var, ...]


# --------------------------------------------------------------------------------------------
# Callers
# --------------------------------------------------------------------------------------------


def _with_arguments(function: Function, lowered: dict[str, _Lowered]) -> Function:
    """Return ``function`` with new tensors for the parameters that were added to its callees."""
    if not any(lowered[n].added for n in functions_called(function) if n in lowered):
        return function
    lifted = lift_calls(function)
    body = _Arguments(lifted, lowered).body(lifted.body)
    return lifted.with_body(body)


class _Arguments(Mutator):
    def __init__(self, function: Function, lowered: dict[str, _Lowered]) -> None:
        super().__init__()
        self._lowered = lowered
        self._name = FreshNames(variable_names(function)).like

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
    """Return the values of parameters, and of the sizes that they define, at a call."""
    mapping: dict[Var, Expr] = {}
    for param, arg in zip(function.params, call.args, strict=False):
        mapping[param] = arg
        if isinstance(param.type, TensorType) and isinstance(arg.type, TensorType):
            for dim, value in zip(param.type.shape, arg.type.shape, strict=True):
                if isinstance(dim, Var):
                    mapping.setdefault(dim, value)
    return mapping


# --------------------------------------------------------------------------------------------
# One kernel
# --------------------------------------------------------------------------------------------


class _Lowering:
    """Rewrites one kernel, statement by statement."""

    def __init__(self, function: Function, shared: Sequence[SharedParams]) -> None:
        function = to_ssa(lift_calls(function))
        function = _Flat(function).function(function)
        from pypto._src.passes.tensors.outlined_scopes import check_merges

        check_merges(function)
        self.function = function
        from pypto._src.passes.tensors.tensor_buffers import TensorBuffers

        self.buffers = TensorBuffers(function, shared)
        from pypto._src.passes.tensors.fusion_groups import Waiting

        self.waiting = Waiting(function, self.buffers)

    def run(self) -> _Lowered:
        """Return the kernel with block ops."""
        stmts = self.block(self.function.body, None)
        function = self.function
        added = (*self.buffers.added, *self.buffers.temporaries)
        params = [
            *zip(function.params, function.param_directions, strict=True),
            *((param, ParamDirection.Out) for param in added),
        ]
        body = seq(stmts, function.body.span)
        lowered = Function(
            function.name, params, function.return_types, body, function.span, function.func_type
        )
        return _Lowered(lowered, added)

    # Statements -------------------------------------------------------------------------------

    def block(
        self, body: Stmt | None, end: Callable[[YieldStmt], Sequence[Expr]] | None
    ) -> list[Stmt]:
        """Return a body rewritten; ``end`` gives the values of its yield."""
        outer, self.waiting.stmts = self.waiting.stmts, []
        for stmt in statements(body):
            if isinstance(stmt, YieldStmt) and end is not None:
                values = end(stmt)
                self.waiting.flush()
                self.write(YieldStmt([self.buffers.named(v) for v in values], stmt.span))
            else:
                self.statement(stmt)
        self.waiting.flush()
        stmts, self.waiting.stmts = self.waiting.stmts, outer
        return stmts

    def write(self, stmt: Stmt) -> None:
        """Append a statement after the pending ops."""
        self.waiting.stmts.append(stmt)

    def statement(self, stmt: Stmt) -> None:
        """Rewrite one statement."""
        match stmt:
            case AssignStmt(var=var, value=Call() as call) if _is_tensor_op(call):
                self.tensor_op(var, call, stmt)
            case EvalStmt(expr=Call() as call) if _is_tensor_op(call):
                self.tensor_op(Var("_", call.type, stmt.span), call, stmt)
            case AssignStmt(var=var, value=Var() as source) if isinstance(var.type, TensorType):
                self.waiting.in_memory(source)
                self.buffers.rename(var, self.buffers.at(source), self.buffers.at(source))
            case AssignStmt() if isinstance(stmt.var.type, ScalarType) and not _has_call(stmt):
                self.write(stmt)
            case IfStmt():
                self.waiting.flush()
                self.branch(stmt)
            case ForStmt() | WhileStmt():
                self.waiting.flush()
                self.loop(stmt)
            case ReturnStmt():
                self.result(stmt)
            case _:
                self.waiting.flush()
                self.plain(stmt)

    def plain(self, stmt: Stmt) -> None:
        """Rewrite a statement of which only the names of tensors change."""
        new: Any = self.buffers.named(stmt)
        self.write(new)
        if isinstance(new, AssignStmt) and isinstance(new.var.type, TensorType):
            call = call_of(new)
            op = op_of(call) if call is not None else None
            target = None
            if call is not None and op is not None and len(op.writes) == 1:
                target = call.args[min(op.writes)]
            self.buffers.buffer[new.var] = self.buffers.buffer.get(cast("Var", target), new.var)

    def tensor_op(self, var: Var, call: Call, stmt: Stmt) -> None:
        """Rewrite a tensor op."""
        op = op_of(call)
        assert op is not None
        from pypto._src.ops import tensor_math
        from pypto._src.ops.conversion import LINEWISE, core_of
        from pypto._src.passes.tensors.fusion_groups import COPIES

        if op is tensor.create:
            self.buffers.rename(var, self.buffers.home(var), self.buffers.home(var))
        elif op is tensor.view:
            self.view(var, call, stmt)
        elif op is tensor_math.assemble:
            self.assemble(var, call, stmt.span)
        elif core_of(call) is CoreType.CUBE:
            self.waiting.multiply(var, call)
        elif op in COPIES or op.name in LINEWISE:
            self.waiting.copy(var, call)
        elif core_of(call) is CoreType.VECTOR:
            self.waiting.member(var, call)
        else:  # reads an element, or a size
            self.waiting.flush()
            self.plain(stmt)

    def view(self, var: Var, call: Call, stmt: Stmt) -> None:
        """Keep a view, now of its tensor's current name."""
        source = call.args[0]
        assert isinstance(source, Var)
        self.waiting.in_memory(source)
        name, named = self.buffers.at(source), self.buffers.named(call)
        self.write(AssignStmt(var, named, stmt.span))
        offsets = named.args[2]
        if isinstance(offsets, MakeTuple):
            self.buffers.views[var] = name, offsets.elements
        self.buffers.rename(var, var, name, part=True)

    def assemble(self, var: Var, call: Call, span: Span) -> None:
        """Write a value to a region of a tensor."""
        target, source, offset = call.args
        assert isinstance(target, Var)
        assert isinstance(source, Var)
        assert isinstance(offset, MakeTuple)
        self.waiting.in_memory(target)
        at = tuple(self.buffers.named(each) for each in offset.elements)
        self.waiting.sink(source, target, at, var, span)

    # Control flow -----------------------------------------------------------------------------

    def branch(self, stmt: IfStmt) -> None:
        """Rewrite a branch; each arm copies a merged tensor to one common buffer."""
        merged = [self.buffers.merged(v) for v in stmt.return_vars]

        def end(last: YieldStmt) -> list[Expr]:
            return [
                value if home is None else self.waiting.copied(value, home, last.span)
                for value, home in zip(last.value, merged, strict=False)
            ]

        tensors = [isinstance(v.type, TensorType) for v in stmt.return_vars]
        then, other = self.block(stmt.then_body, end), None
        yielded = yielded_by(then)
        if stmt.else_body is not None:
            other = seq(self.block(stmt.else_body, end), stmt.span)
        results = [
            Var(self.buffers.name(v.name), v.type, v.span) if is_tensor else v
            for v, is_tensor in zip(stmt.return_vars, tensors, strict=True)
        ]
        condition = self.buffers.named(stmt.condition)
        self.write(IfStmt(condition, seq(then, stmt.span), other, results, stmt.span))
        self._after(stmt.return_vars, results, yielded)

    def _after(self, old: Sequence[Var], new: Sequence[Var], values: Sequence[Expr]) -> None:
        for var, name, value in zip(old, new, values, strict=False):
            if isinstance(var.type, TensorType):
                assert isinstance(value, Var)
                self.buffers.rename(var, name, value)

    def loop(self, stmt: ForStmt | WhileStmt) -> None:
        """Rewrite a loop; a carried value that may be several tensors gets one buffer."""
        homes = [self.buffers.merged(r) for r in stmt.return_vars]
        inits: list[Expr] = []
        for arg, home in zip(stmt.iter_args, homes, strict=True):
            init = arg.initValue
            inits.append(init if home is None else self.waiting.copied(init, home, stmt.span))
        self.waiting.flush()
        inits = [self.buffers.named(init) for init in inits]
        args: list[IterArg] = []
        for arg, init in zip(stmt.iter_args, inits, strict=True):
            if isinstance(arg.type, TensorType):
                new = IterArg(self.buffers.name(arg.name), arg.type, init, arg.span)
                assert isinstance(init, Var)
                self.buffers.rename(arg, new, init)
                args.append(new)
            else:
                args.append(arg if init is arg.initValue else copy_with(arg, {"initValue": init}))
        carried = list(zip(stmt.iter_args, args, homes, strict=True))

        def end(last: YieldStmt) -> Sequence[Expr]:
            return self._carried_on(last, carried)

        body = seq(self.block(stmt.body, end), stmt.span)
        results = [
            Var(self.buffers.name(v.name), v.type, v.span) if isinstance(v.type, TensorType) else v
            for v in stmt.return_vars
        ]
        changes: dict[str, Any] = {
            "body": body,
            "iter_args": tuple(args),
            "return_vars": tuple(results),
        }
        self.write(copy_with(stmt, changes))
        self._after(stmt.return_vars, results, args)

    def _carried_on(
        self, last: YieldStmt, carried: Sequence[tuple[IterArg, IterArg, Var | None]]
    ) -> list[Expr]:
        """Copy what an iteration yields to the carried buffers; return the names."""
        values = list(last.value)
        buffers = {
            self.buffers.buffer[new]: index
            for index, (_, new, home) in enumerate(carried)
            if home is not None
        }
        for index, ((_, _, home), value) in enumerate(zip(carried, values, strict=True)):
            if home is None or not isinstance(value, Var) or value in self.waiting.values():
                continue
            at = buffers.get(self.buffers.buffer_of(value))
            if at is not None and at != index:  # it would be overwritten before it is copied
                kept = Var(value.name, value.type, last.span)
                self.buffers.homes[kept] = home = self.buffers.home(kept)
                self.waiting.sink(value, home, None, kept, last.span)
                self.waiting.flush()
                values[index] = kept
        for index, ((_, new, home), value) in enumerate(zip(carried, values, strict=True)):
            if home is None:
                continue
            assert isinstance(value, Var)
            is_same = value not in self.waiting.values() and (
                self.buffers.buffer_of(value) is self.buffers.buffer[new]
                and self.buffers.at(value) not in self.buffers.part
            )
            values[index] = value if is_same else self.waiting.copied(value, new, last.span)
        return values

    def result(self, stmt: ReturnStmt) -> None:
        """Rewrite the return; a value that is not a parameter is copied to one."""
        values: list[Expr] = []
        for value in stmt.value:
            home = self.buffers.homes.get(value) if isinstance(value, Var) else None
            if home is None or not isinstance(value, Var):
                values.append(value)
                continue
            waits = value in self.waiting.values()
            if waits or self.buffers.buffer_of(value) is self.buffers.buffer[home]:
                values.append(value)
            else:
                values.append(self.waiting.copied(value, home, stmt.span))
        self.waiting.flush()
        self.write(ReturnStmt([self.buffers.named(v) for v in values], stmt.span))


class _Flat(Mutator):
    """Decomposes ops, and replaces scopes by their contents.

    Scopes have no effect inside a kernel.
    """

    def __init__(self, function: Function) -> None:
        super().__init__()
        self._name = FreshNames(variable_names(function)).like

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt | list[Stmt]:
        """Return the decomposition of the assigned call."""
        return self._expanded(stmt, stmt.value, "value")

    def visit_EvalStmt(self, stmt: EvalStmt) -> Stmt | list[Stmt]:
        """Return the decomposition of the call."""
        return self._expanded(stmt, stmt.expr, "expr")

    def _expanded(self, stmt: Stmt, value: Expr, field: str) -> Stmt | list[Stmt]:
        from pypto._src.ops.conversion import REWRITES

        rewrite = REWRITES.get(value.op.name) if isinstance(value, Call) else None
        if rewrite is None:
            return stmt
        assert isinstance(value, Call)
        stmts: list[Stmt] = []

        def let(name: str, part: Expr) -> Var:
            var = Var(self._name(name), part.type, stmt.span)
            made = self._expanded(AssignStmt(var, part, stmt.span), part, "value")
            stmts.extend(as_list(made))
            return var

        made = rewrite.parts(value, let)
        last = self._expanded(copy_with(stmt, {field: made}), made, field)
        return [*stmts, *as_list(last)]

    def visit_ScopeStmt(self, stmt: ScopeStmt) -> list[Stmt]:
        """Return the contents of the scope."""
        return list(statements(self.body(stmt.body)))


def _is_tensor_op(call: Call) -> bool:
    op = op_of(call)
    return op is not None and op.level == "tensor"


def _has_call(stmt: AssignStmt) -> bool:
    return any(isinstance(node, Call) for node in walk(stmt.value))
