"""Runs scalar functions, before and after SSA, and records what they call.

Independent of the interpreter: a call of an unregistered op returns a number computed from its
operands and is appended to a trace, so that a test sees which calls were made and in what order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto._src.ir.exprs import (
    And,
    BinaryExpr,
    Call,
    ConstBool,
    ConstInt,
    Expr,
    MakeTuple,
    Or,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
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
    statements,
)

Trace = list[tuple[Any, ...]]


def run(function: Function, args: Sequence[int]) -> tuple[Any, ...]:
    """Return what ``function`` returns for ``args``."""
    return run_program(Program([function]), function.name, args)[0]


def run_program(
    program: Program, name: str, args: Sequence[int], iterations: int = 10**6
) -> tuple[tuple[Any, ...], Trace]:
    """Return the results of function ``name`` and the calls of unknown ops that it made."""
    machine = _Machine(program, iterations)
    return machine.call(name, args), machine.trace


class _Machine:
    def __init__(self, program: Program, iterations: int) -> None:
        self.functions = {f.name: f for f in program.functions_}
        self.trace: Trace = []
        self.iterations = iterations  # left, for all loops together

    def call(self, name: str, args: Sequence[Any]) -> tuple[Any, ...]:
        function = self.functions[name]
        values: dict[Var, Any] = dict(zip(function.params, args, strict=True))
        return self.body(function.body, values)

    def body(self, body: Stmt | None, values: dict[Var, Any]) -> tuple[Any, ...]:
        """Run a body; return what it yields or returns."""
        for stmt in statements(body):
            match stmt:
                case AssignStmt():
                    values[stmt.var] = self.expr(stmt.value, values)
                case EvalStmt():
                    self.expr(stmt.expr, values)
                case YieldStmt() | ReturnStmt():
                    return tuple(self.expr(value, values) for value in stmt.value)
                case ScopeStmt():
                    self.body(stmt.body, values)
                case IfStmt():
                    taken = self.expr(stmt.condition, values)
                    results = self.body(stmt.then_body if taken else stmt.else_body, values)
                    values.update(zip(stmt.return_vars, results, strict=True))
                case ForStmt():
                    self.loop_for(stmt, values)
                case WhileStmt():
                    self.loop_while(stmt, values)
                case _:
                    raise TypeError(stmt.type_name())
        return ()

    def loop_for(self, stmt: ForStmt, values: dict[Var, Any]) -> None:
        bounds = [self.expr(bound, values) for bound in (stmt.start, stmt.stop, stmt.step)]
        carried = tuple(self.expr(arg.initValue, values) for arg in stmt.iter_args)
        for index in range(*bounds):
            values[stmt.loop_var] = index
            carried = self.iteration(stmt, carried, values)
        values.update(zip(stmt.return_vars, carried, strict=True))

    def loop_while(self, stmt: WhileStmt, values: dict[Var, Any]) -> None:
        carried = tuple(self.expr(arg.initValue, values) for arg in stmt.iter_args)
        values.update(zip(stmt.iter_args, carried, strict=True))
        while self.expr(stmt.condition, values):
            carried = self.iteration(stmt, carried, values)
            values.update(zip(stmt.iter_args, carried, strict=True))
        values.update(zip(stmt.return_vars, carried, strict=True))

    def iteration(
        self, stmt: ForStmt | WhileStmt, carried: tuple[Any, ...], values: dict[Var, Any]
    ) -> tuple[Any, ...]:
        self.iterations -= 1
        assert self.iterations > 0, "the loops do not end"
        values.update(zip(stmt.iter_args, carried, strict=True))
        return self.body(stmt.body, values)

    def expr(self, expr: Expr, values: dict[Var, Any]) -> Any:
        match expr:
            case Var():
                return values[expr]
            case ConstInt() | ConstBool():
                return expr.value
            case And():
                return self.expr(expr.left, values) and self.expr(expr.right, values)
            case Or():
                return self.expr(expr.left, values) or self.expr(expr.right, values)
            case BinaryExpr():
                fold: Any = type(expr).fold
                return fold(self.expr(expr.left, values), self.expr(expr.right, values))
            case UnaryExpr():
                fold = type(expr).fold
                return fold(self.expr(expr.operand, values))
            case MakeTuple():
                return tuple(self.expr(item, values) for item in expr.elements)
            case TupleGetItemExpr():
                return self.expr(expr.tuple, values)[expr.index]
            case Call():
                return self.call_op(expr, [self.expr(arg, values) for arg in expr.args])
            case _:
                raise TypeError(expr.type_name())

    def call_op(self, call: Call, args: list[Any]) -> Any:
        if call.op.name in self.functions:
            results = self.call(call.op.name, args)
            return results[0] if len(results) == 1 else results
        self.trace.append((call.op.name, *args))
        return opaque(*args)


def opaque(*args: int) -> int:
    """The result of an unknown op, also when Python runs the source."""
    return sum(args) * 7 % 11 - 3
