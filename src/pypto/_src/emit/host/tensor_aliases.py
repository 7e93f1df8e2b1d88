"""Tensor aliases of a function: which variables name the same memory, and what calls return.

Facts about the IR, for the emitter of orchestrations. Knows no text but that of its errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, Expr, GlobalVar, TupleGetItemExpr, Var
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.roles import Role, role
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
    final_yield,
    statements,
    yielded,
)
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.types import TupleType
from pypto._src.ops import tensor as tensor_ops


class Results:
    """Which parameters the results of functions are; each function is analysed once.

    Args:
        program: The program that host functions call; None where there are kernels only.
    """

    def __init__(self, program: Program | None) -> None:
        self._program = program
        self._known: dict[Function, tuple[int, ...]] = {}

    def of(self, callee: Function) -> tuple[int, ...]:
        """Return which parameter each result of a function is.

        Raises:
            EmitError: a result is not one of the function's tensor parameters.
        """
        known = self._known.get(callee)
        if known is None:
            stmts = stmts_in(callee.body)
            returns = [s for s in stmts if isinstance(s, ReturnStmt) and s.value]
            known = _result_params(callee, returns, self._roots(callee)) if returns else ()
            self._known[callee] = known
        return known

    def _roots(self, callee: Function) -> Mapping[Expr, Var]:
        """Return the parameter or new tensor of each tensor that is always the same one."""
        if role(callee) is not Role.HOST:
            return tensor_roots(callee)
        roots, choices = tensor_roots(callee, self), Choices(callee, self)
        return {var: root for var, root in roots.items() if not choices.is_chosen(var)}

    def of_call(self, call: Call) -> tuple[int, ...] | None:
        """Return `of` the called function, None if the program is not known to have it."""
        callee = None if self._program is None else self._program.get_function(call.op.name)
        return None if callee is None else self.of(callee)


def tensor_roots(function: Function, results: Results | None = None) -> dict[Expr, Var]:
    """Return for each tensor variable the parameter or new tensor whose memory it names.

    Covers elements of tuples that are operands or returned.

    Results of kernel calls are arguments of those calls: ``results`` says which. Without it they
    have no entry.
    """
    found = _Roots(results)
    found.of.update((p, p) for p in function.params if isinstance(p.type, TensorType))
    found.visit(function.body)
    return found.of


class Choices:
    """Which variables of a function may denote one of several tensors.

    They are what loops carry and branches return, where that is not always the same tensor.
    ``chosen`` has what each may denote: parameters, new tensors, views, and other such
    variables; ``same`` maps each tensor variable to the one of these that it is.
    """

    def __init__(self, function: Function, results: Results | None = None) -> None:
        self.results = results
        self.same: dict[Expr, Expr] = {}
        self.tuples: dict[Var, Call] = {}
        self.chosen: dict[Expr, tuple[Expr, ...]] = {}
        self.visit(function.body)

    def is_chosen(self, value: Expr) -> bool:
        """True if a value may be one tensor or another."""
        return self._tensor(value) in self.chosen

    def all_of(self, value: Expr) -> list[Expr]:
        """Return every tensor that a value may be."""
        found: dict[Expr, None] = {}
        pending = [self._tensor(value)]
        while pending:
            tensor = pending.pop()
            if tensor not in found:
                found[tensor] = None
                pending += self.chosen.get(tensor, ())
        return [tensor for tensor in found if tensor not in self.chosen]

    def visit(self, body: Stmt | None) -> None:
        for stmt in statements(body):
            match stmt:
                case AssignStmt(var=var, value=value):
                    if isinstance(var.type, TupleType) and isinstance(value, Call):
                        self.tuples[var] = value
                    elif isinstance(var.type, TensorType):
                        self.same[var] = self._source(value) or var
                case ForStmt() | WhileStmt():
                    self._loop(stmt)
                case IfStmt():
                    self._branch(stmt)
                case ScopeStmt():
                    self.visit(stmt.body)
                case _:
                    pass

    def _loop(self, stmt: ForStmt | WhileStmt) -> None:
        pairs = [
            (arg, var)
            for arg, var in zip(stmt.iter_args, stmt.return_vars, strict=True)
            if isinstance(arg.type, TensorType)
        ]
        for arg, _ in pairs:
            self.same[arg] = self._tensor(arg.initValue)
        changed = True
        while changed:  # at most once for each carried tensor
            self.visit(stmt.body)
            changed = False
            ends = dict(zip(stmt.iter_args, yielded(stmt.body), strict=False))
            for arg, _ in pairs:
                end = self._tensor(ends[arg])
                if end is not self.same[arg]:
                    changed = changed or arg not in self.chosen
                    self.chosen[arg] = (self._tensor(arg.initValue), end)
                    self.same[arg] = arg
        for arg, var in pairs:
            self.same[var] = self.same[arg]

    def _branch(self, stmt: IfStmt) -> None:
        self.visit(stmt.then_body)
        self.visit(stmt.else_body)
        arms = (yielded(stmt.then_body), yielded(stmt.else_body))
        for var, *values in zip(stmt.return_vars, *arms, strict=False):
            if not isinstance(var.type, TensorType):
                continue
            first, second = (self._tensor(value) for value in values)
            self.same[var] = first if first is second else var
            if first is not second:
                self.chosen[var] = (first, second)

    def _tensor(self, value: Expr) -> Expr:
        return self._source(value) or value

    def _source(self, value: Expr) -> Expr | None:
        """Return the tensor that ``value`` denotes, None for a new one or a view."""
        while True:
            if isinstance(value, TupleGetItemExpr):
                call = self.tuples.get(value.tuple) if isinstance(value.tuple, Var) else None
                source = None if call is None else _result(self.results, call, value.index)
            elif isinstance(value, Call):
                op = op_of(value)
                is_view = op is not None and op.view_of is not None
                source = _result(self.results, value, 0) if op is None else aliased(value)
                source = None if is_view else source
            else:
                return self.same.get(value, value)
            if source is None:
                return None
            value = source


class _Roots:
    """Follows tensors through the statements of a function."""

    def __init__(self, results: Results | None) -> None:
        self.results = results
        self.of: dict[Expr, Var] = {}
        self.tuples: dict[Var, Call] = {}

    def visit(self, body: Stmt | None) -> None:
        for stmt in statements(body):
            if isinstance(stmt, AssignStmt):
                self._items(stmt.value)
                self._assign(stmt)
                continue
            if isinstance(stmt, EvalStmt):
                self._items(stmt.expr)
                continue
            match stmt:
                case ForStmt() | WhileStmt():
                    for arg in stmt.iter_args:
                        self._hand_on(arg, arg.initValue)
                    self.visit(stmt.body)
                    for arg, var in zip(stmt.iter_args, stmt.return_vars, strict=True):
                        self._hand_on(var, arg)
                case IfStmt():
                    self.visit(stmt.then_body)
                    self.visit(stmt.else_body)
                    last = final_yield(stmt.then_body)
                    if last is not None:
                        for var, value in zip(stmt.return_vars, last.value, strict=True):
                            self._hand_on(var, value)
                case ScopeStmt():
                    self.visit(stmt.body)
                case ReturnStmt():
                    for value in stmt.value:
                        self._hand_on(value, value)
                case _:
                    pass

    def _items(self, value: Expr) -> None:
        args = value.args if isinstance(value, Call) else ()
        if TupleGetItemExpr in map(type, args):
            for arg in args:
                if isinstance(arg, TupleGetItemExpr):
                    self._hand_on(arg, arg)

    def _assign(self, stmt: AssignStmt) -> None:
        var, value = stmt.var, stmt.value
        if isinstance(var.type, TileType):
            return
        if isinstance(var.type, TupleType) and isinstance(value, Call):
            self.tuples[var] = value
        elif isinstance(var.type, TensorType):
            self._hand_on(var, self._source(value))
            if op_of(value) is tensor_ops.create:
                self.of[var] = var

    def _hand_on(self, var: Expr, source: Expr | None) -> None:
        while isinstance(source, TupleGetItemExpr):
            source = self._source(source)
        if isinstance(source, Var) and source in self.of:
            self.of[var] = self.of[source]

    def _source(self, value: Expr) -> Expr | None:
        """Return the tensor that ``value`` denotes, views or writes; None if it is new."""
        if isinstance(value, TupleGetItemExpr):
            call = self.tuples.get(value.tuple) if isinstance(value.tuple, Var) else None
            return None if call is None else _result(self.results, call, value.index)
        if not isinstance(value, Call):
            return value
        return _result(self.results, value, 0) if op_of(value) is None else aliased(value)


def _result(results: Results | None, call: Call, index: int) -> Expr | None:
    """Return the argument that is a call's result, None if the function is not known."""
    params = None if results is None else results.of_call(call)
    return None if params is None else call.args[params[index]]


def written_roots(
    function: Function, program: Program, roots: Mapping[Expr, Var], choices: Choices
) -> set[Var]:
    """Return the tensors written by the functions of ``program`` that ``function`` calls."""
    written: set[Var] = set()
    for stmt in stmts_in(function.body):
        value = stmt.value if isinstance(stmt, AssignStmt) else None
        call = stmt.expr if isinstance(stmt, EvalStmt) else value
        if not isinstance(call, Call) or not isinstance(call.op, GlobalVar):
            continue
        callee = program.get_function(call.op.name)
        if callee is None:
            continue
        for arg, direction in zip(call.args, callee.param_directions, strict=False):
            if direction is ParamDirection.In:
                continue
            for tensor in (arg, *choices.all_of(arg)):
                root = roots.get(tensor, tensor)
                if isinstance(root, Var):
                    written.add(root)
    return written


def _result_params(
    callee: Function, returns: Sequence[ReturnStmt], roots: Mapping[Expr, Var]
) -> tuple[int, ...]:
    positions = {param: i for i, param in enumerate(callee.params)}
    found: list[int] = []
    for stmt in returns:
        for value in stmt.value:
            root = roots.get(value)
            if root is None or root not in positions:
                raise EmitError(
                    f"a result of {noun(callee)} {callee.name!r} is not one of its parameters",
                    stmt.span,
                    hint="return the pl.Out tensor that the kernel stores to",
                    slug="emit-return",
                )
            found.append(positions[root])
    return tuple(found)


def noun(function: Function) -> str:
    """Return what errors call a function."""
    return "kernel" if role(function) is Role.KERNEL else "orchestration"
