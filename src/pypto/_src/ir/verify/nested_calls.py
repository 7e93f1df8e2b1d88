"""The rule NoNestedCall: a call is the whole right side of an assignment, or a statement.

Holds from FlattenCallExpr on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final

from pypto._src.diagnostics import Diagnostic, Span
from pypto._src.ir.exprs import (
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    IRNode,
    UnaryExpr,
    Var,
)
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    Program,
    ReturnStmt,
    WhileStmt,
    YieldStmt,
)
from pypto._src.ir.traversal.walk import child_list
from pypto._src.ir.verify.codes import NestedCallErrorType, finding, span_or
from pypto._src.ir.verify.ssa import look
from pypto._src.ir.verify.verification_cache import VerificationCache

_LEAVES: Final = (Var, ConstInt, ConstFloat, ConstBool)


def no_nested_call(
    program: Program, cache: VerificationCache | None = None
) -> Iterator[Diagnostic]:
    """A call is the whole right side of an assignment, or a statement."""
    cache = cache or VerificationCache()
    codes = NestedCallErrorType
    for function in program.functions_:
        for stmt in look(function, cache).left:
            match stmt:
                case AssignStmt(value=value) | EvalStmt(expr=value):
                    below = () if isinstance(value, Var) else child_list(value)
                    yield from _nested(below, _code_inside(value), stmt.span)
                case IfStmt():
                    yield from _nested((stmt.condition,), codes.CALL_IN_IF_CONDITION, stmt.span)
                case WhileStmt():
                    code = codes.CALL_IN_WHILE_CONDITION
                    yield from _nested((stmt.condition,), code, stmt.span)
                    yield from _nested_init(stmt)
                case ForStmt():
                    bounds = (stmt.start, stmt.stop, stmt.step)
                    yield from _nested(bounds, codes.CALL_IN_FOR_RANGE, stmt.span)
                    yield from _nested_init(stmt)
                case YieldStmt() | ReturnStmt():
                    yield from _nested(stmt.value, codes.CALL_IN_YIELD_OR_RETURN, stmt.span)
                case _:
                    pass


def _nested_init(stmt: ForStmt | WhileStmt) -> Iterator[Diagnostic]:
    values = [arg.initValue for arg in stmt.iter_args]
    yield from _nested(values, NestedCallErrorType.CALL_IN_INIT_VALUE, stmt.span)


def _nested(roots: Iterable[IRNode], code: IntEnum, span: Span) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each call in ``roots``, with the code for what directly holds it."""
    stack = [(root, code) for root in roots if not isinstance(root, _LEAVES)]
    stack.reverse()
    seen: set[tuple[int, IntEnum]] = set()  # an expression may be shared
    while stack:
        node, holder = stack.pop()
        if (id(node), holder) in seen:
            continue
        seen.add((id(node), holder))
        if isinstance(node, Call):
            message = f"the call of {node.op.name} is {_PLACES[holder]}"
            yield finding(holder, message, span_or(node, span))
        below = [child for child in child_list(node) if not isinstance(child, _LEAVES)]
        if below:
            inside = _code_inside(node)
            stack += [(child, inside) for child in reversed(below)]


def _code_inside(node: IRNode) -> IntEnum:
    if isinstance(node, Call):
        return NestedCallErrorType.CALL_IN_CALL_ARGS
    if isinstance(node, BinaryExpr):
        return NestedCallErrorType.CALL_IN_BINARY_EXPR
    if isinstance(node, UnaryExpr):
        return NestedCallErrorType.CALL_IN_UNARY_EXPR
    return NestedCallErrorType.CALL_IN_TUPLE


_PLACES: Final[dict[IntEnum, str]] = {
    NestedCallErrorType.CALL_IN_CALL_ARGS: "an argument of another call",
    NestedCallErrorType.CALL_IN_IF_CONDITION: "the condition of an if",
    NestedCallErrorType.CALL_IN_FOR_RANGE: "a bound of a loop",
    NestedCallErrorType.CALL_IN_BINARY_EXPR: "an operand of an operator",
    NestedCallErrorType.CALL_IN_UNARY_EXPR: "an operand of an operator",
    NestedCallErrorType.CALL_IN_WHILE_CONDITION: "the condition of a while",
    NestedCallErrorType.CALL_IN_TUPLE: "an item of a tuple",
    NestedCallErrorType.CALL_IN_INIT_VALUE: "an init value of a loop",
    NestedCallErrorType.CALL_IN_YIELD_OR_RETURN: "a value of a yield or return",
}
