"""InlineCalls: functions that a kernel calls are inlined into it. ConvertToSSA does this first.

A core runs one kernel and calls nothing, so every call of a program function inside a kernel is
expanded in place, with its own variables. Tensors are passed by reference, scalars and tiles by
value. Host functions keep their calls: each call of a kernel there is a launch.

Works on the form before SSA. Expects no early returns (`ir.ssa.jumps`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pypto._src.diagnostics import Label, spelled_like
from pypto._src.errors import PassError, PyptoError
from pypto._src.ir.array_types import ShapedType, symbols_of_type
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.exprs import (
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    IterArg,
    MakeTuple,
    TupleGetItemExpr,
    Var,
)
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.ssa.jumps import assign_all
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    Function,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import defined_by, functions_called, stmts_in, uses
from pypto._src.ir.traversal.symbolic_dims import map_dims
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.types import ScalarType, TupleType, Type
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.structure.flatten_call_expr import lift_calls

_P: Final = IRProperty


class InlineCalls(Pass):
    """``kernel: y = self.helper(x)``  ->  the statements of ``helper`` in ``kernel``."""

    requires = IRPropertySet(_P.TypeChecked)
    produces = IRPropertySet(_P.TypeChecked)
    invalidates = IRPropertySet(_P.SSAForm, _P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program with kernels that call no function.

        Raises:
            PassError: a kernel calls itself, an orchestration function, or an unknown function.
        """
        return inline_kernel_calls(program)


@pass_factory
def inline_calls() -> Pass:
    """Return the pass that expands calls inside kernels."""
    return InlineCalls()


def inline_kernel_calls(program: Program) -> Program:
    """Return ``program`` with every call inside a kernel expanded.

    Functions that were only called by kernels are dropped, unless they are the program's entry.
    """
    callers = [f for f in program.functions_ if role(f) is Role.KERNEL and functions_called(f)]
    if not callers:
        return program
    expander = _Expander(program)
    for function in callers:
        expander.expand(function)
    kernels = {function.name for function in callers}
    new = {f.name: expander.done[f.name] if f.name in kernels else f for f in program.functions_}
    roots = [name for name in new if name not in expander.used or name == program.entry]
    kept = _reachable(roots, new)
    return program.with_functions([f for f in new.values() if f.name in kept])


def _reachable(roots: Sequence[str], functions: Mapping[str, Function]) -> set[str]:
    """Return ``roots`` and the names of all functions that they call, directly or not."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found:
            found.add(name)
            waiting += functions_called(functions[name])
    return found


class _Expander:
    """Expands functions, callees first, each once."""

    def __init__(self, program: Program) -> None:
        self._functions = {f.name: f for f in program.functions_}
        self._path: list[str] = []  # of callers, outermost first
        self.done: dict[str, Function] = {}
        self.used: set[str] = set()  # functions that were inlined into another one

    def expand(self, function: Function) -> Function:
        """Return ``function`` with its calls of functions expanded."""
        name = function.name
        if name not in self.done:
            self._path.append(name)
            self.done[name] = self._expanded(function)
            self._path.pop()
        return self.done[name]

    def _expanded(self, function: Function) -> Function:
        if not functions_called(function):
            return function
        function = lift_calls(function)
        tuples: dict[Var, tuple[Var, ...]] = {}
        for stmt in stmts_in(function.body):
            if isinstance(stmt, AssignStmt) and _is_function_call(stmt.value):
                kind = stmt.var.type
                if isinstance(kind, TupleType):
                    tuples[stmt.var] = _elements(stmt.var, kind)
        rewrite = _Inline(self._callee, tuples)
        return function.with_body(rewrite.body(function.body))

    def _callee(self, call: Call) -> Function:
        """Return the expanded function that ``call`` calls."""
        name = call.op.name
        function = self._functions.get(name)
        if function is None:
            meant = spelled_like(name, self._functions)
            raise PassError(
                f"no function '{name}' is in the program",
                call.span,
                None if meant is None else f"did you mean {meant}?",
                slug="no-callee",
            )
        if function.func_type is FunctionType.Orchestration:
            raise PassError(
                f"the kernel '{self._path[0]}' calls '{name}', which runs on the host",
                call.span,
                "call it in a function with type=pl.FunctionType.Orchestration",
                slug="kernel-calls-host",
            )
        if name in self._path:
            cycle = " -> ".join([*self._path[self._path.index(name) :], name])
            raise PassError(
                f"the kernel '{self._path[0]}' contains a call that comes back to itself: {cycle}",
                call.span,
                "write a loop in place of the recursion",
                slug="recursion",
            )
        if len(function.params) != len(call.args):
            raise PassError(
                f"'{name}' takes {len(function.params)} arguments, got {len(call.args)}",
                call.span,
                slug="argument-count",
                related=(Label(function.span, f"'{name}' is defined here"),),
            )
        self.used.add(name)
        return self.expand(function)


def _is_function_call(expr: Expr) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, GlobalVar)


def _elements(var: Var, kind: TupleType) -> tuple[Var, ...]:
    return tuple(Var(f"{var.name}_{i}", item, var.span) for i, item in enumerate(kind.types))


class _Inline(Mutator):
    """Replaces the calls in one function, each of which is the whole right side of its statement.

    A variable that takes several results becomes one variable per result.
    """

    def __init__(
        self, callee: Callable[[Call], Function], tuples: Mapping[Var, tuple[Var, ...]]
    ) -> None:
        super().__init__()
        self._callee = callee
        self._tuples = tuples

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt | list[Stmt]:
        if not (isinstance(stmt.value, Call) and isinstance(stmt.value.op, GlobalVar)):
            return self._tuple_assignment(stmt) if stmt.var in self._tuples else self.rebuild(stmt)
        call: Call = self.rebuild(stmt.value)
        function = self._callee(call)
        out, values = _expansion(function, call)
        targets = self._tuples.get(stmt.var, (stmt.var,))
        if len(targets) == 1 and len(values) > 1:
            values = (MakeTuple(values, call.span),)
        if len(targets) != len(values):
            raise PassError(
                f"'{function.name}' returns {len(values)} values, {len(targets)} are taken",
                call.span,
                slug="result-count",
            )
        pairs = zip(targets, values, strict=True)
        return out + [AssignStmt(var=var, value=value, span=stmt.span) for var, value in pairs]

    def _tuple_assignment(self, stmt: AssignStmt) -> list[Stmt]:
        targets = self._tuples[stmt.var]
        value = self.visit(stmt.value)
        if isinstance(value, MakeTuple):
            values: Sequence[Expr] = value.elements
        else:
            values = [TupleGetItemExpr(value, i, stmt.span) for i in range(len(targets))]
        return assign_all(targets, values, stmt.span)

    def visit_EvalStmt(self, stmt: EvalStmt) -> Stmt | list[Stmt]:
        if not (isinstance(stmt.expr, Call) and isinstance(stmt.expr.op, GlobalVar)):
            return self.rebuild(stmt)
        call: Call = self.rebuild(stmt.expr)
        return _expansion(self._callee(call), call)[0]

    def visit_TupleGetItemExpr(self, expr: TupleGetItemExpr) -> Expr:
        elements = self._tuples.get(expr.tuple) if isinstance(expr.tuple, Var) else None
        return self.rebuild(expr) if elements is None else elements[expr.index]

    def visit_Var(self, var: Var) -> Expr:
        elements = self._tuples.get(var)
        return var if elements is None else MakeTuple(elements, var.span)


def _expansion(function: Function, call: Call) -> tuple[list[Stmt], tuple[Expr, ...]]:
    """Return the statements that do what ``call`` does, and the values it returns."""
    written = set(_definitions(function))
    mapping = _bound_symbols(function, call)
    before: list[Stmt] = []
    for param, arg in zip(function.params, call.args, strict=True):
        if param not in written and isinstance(arg, Var | ConstInt | ConstFloat | ConstBool):
            mapping[param] = arg
        else:
            local = Var(param.name, arg.type, param.span)
            mapping[param] = local
            before.append(AssignStmt(var=local, value=arg, span=call.span))
    clone = Clone(mapping)
    body = statements(clone.body(function.body))
    stmts, values = _split_return(body)
    return before + stmts, values


def _definitions(function: Function) -> Iterator[Var]:
    """Yield the variables that the body of ``function`` defines."""
    for stmt in stmts_in(function.body):
        yield from defined_by(stmt)


def _bound_symbols(function: Function, call: Call) -> dict[Var, Expr]:
    """Return the values of the parameters' symbolic dimensions at this call."""
    bound: dict[Var, Expr] = {}
    params = set(function.params)
    for param, arg in zip(function.params, call.args, strict=True):
        if isinstance(param.type, ShapedType) and isinstance(arg.type, ShapedType):
            for dim, value in zip(param.type.shape, arg.type.shape, strict=False):
                if isinstance(dim, Var) and dim not in params:
                    bound.setdefault(dim, value)
    return bound


def _split_return(stmts: Sequence[Stmt]) -> tuple[list[Stmt], tuple[Expr, ...]]:
    """Return ``stmts`` without the return at their end, and the values of that return."""
    if not stmts:
        return [], ()
    *front, last = stmts
    match last:
        case ReturnStmt():
            return front, last.value
        case ScopeStmt():
            inner, values = _split_return(statements(last.body))
            return [*front, copy_with(last, {"body": seq(inner)})], values
        case _:
            return list(stmts), ()


class Clone(Mutator):
    """Copies a body with new variables; the mapping replaces variables from outside."""

    def __init__(self, mapping: dict[Var, Expr]) -> None:
        super().__init__()
        self._mapping = mapping

    def visit_Var(self, var: Var) -> Expr:
        return self._mapping.get(var, var)

    def define(self, var: Var) -> Var:
        known = self._mapping.get(var)
        if isinstance(known, Var):
            return known
        kind = self.kind(var.type)
        if isinstance(var, IterArg):
            new: Var = IterArg(var.name, kind, self.visit(var.initValue), var.span)
        else:
            new = Var(var.name, kind, var.span)
        self._mapping[var] = new
        return new

    def rebuild(self, node: Any) -> Any:
        """Rebuild ``node``; infer its type again if that names replaced dimensions."""
        new = super().rebuild(node)
        if new is node or not isinstance(new, Expr) or not self._is_symbolic(new.type):
            return new
        op = op_of(new)
        if isinstance(new, Call) and op is not None:
            try:
                return op.call(new.args, new.kwargs, new.span)
            except PyptoError as error:  # the op does not take the caller's sizes
                raise error.at(new.span) from None
        return copy_with(new, {"type": self.kind(new.type)})

    def _is_symbolic(self, kind: Type) -> bool:
        symbols = symbols_of_type(kind)
        return bool(symbols) and not self._mapping.keys().isdisjoint(uses(symbols))

    def kind(self, kind: Type) -> Type:
        """Return ``kind`` with its dimensions replaced."""
        if isinstance(kind, ScalarType) or not self._is_symbolic(kind):
            return kind
        return map_dims(kind, self.visit)
