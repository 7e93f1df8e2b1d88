"""What optimising passes ask about values: may one be dropped, computed once, or hoisted?

All answers hold in SSA form before tiles have memory references, where a tile is a value. Writing a
scratch tile is not an effect: what a scratch tile holds afterwards is undefined.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

from pypto._src.analysis.stmt_tree import bodies
from pypto._src.ir.array_types import TensorType, exprs_of_type
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import (
    BitShiftLeft,
    BitShiftRight,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    FloorDiv,
    FloorMod,
    GlobalVar,
    MakeTuple,
    Pow,
    TupleGetItemExpr,
    Var,
)
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    ReturnStmt,
    Stmt,
    statements,
)
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import ScalarType

_LEVELS: Final = frozenset({"block", "tensor"})


def calls_in(expr: Expr) -> Iterator[Call]:
    """Yield the calls in an expression."""
    return (node for node in walk(expr) if isinstance(node, Call))


def has_effect(expr: Expr) -> bool:
    """True if evaluating ``expr`` has a side effect, such as writing a tensor."""
    return any(_call_has_effect(call) for call in calls_in(expr))


def _call_has_effect(call: Call) -> bool:
    op = op_of(call)
    if op is None or isinstance(call.op, GlobalVar) or op.level not in _LEVELS:
        return True
    return any(isinstance(call.args[i].type, TensorType) for i in op.writes if i < len(call.args))


def reads_tensor(expr: Expr) -> bool:
    """True if the value depends on what a tensor holds at that moment."""
    return any(
        isinstance(call.args[i].type, TensorType)
        for call in calls_in(expr)
        for i in _op(call).reads
        if i < len(call.args)
    )


def _op(call: Call) -> OpDef[..., object]:
    op = op_of(call)
    assert op is not None  # only called for values without effect
    return op


def is_repeatable(expr: Expr) -> bool:
    """True if computing ``expr`` twice gives one value, unless tensors are written in between.

    A new tile or tensor is not the same as another new one, a view is a name rather than a value,
    and a tile for the matrix unit is made again for each loop that changes it, since it cannot be
    copied.
    """
    if has_effect(expr):
        return False
    return all(
        isinstance(call.type, ScalarType)
        or (_op(call).pipe_of(call) is not None and _op(call).space_of(call) is MemorySpace.Vec)
        for call in calls_in(expr)
    )


def may_fail(expr: Expr) -> bool:
    """True if ``expr`` is an error for some values of its operands."""
    for node in walk(expr):
        if isinstance(node, FloorDiv | FloorMod):
            if not (isinstance(node.right, ConstInt) and node.right.value != 0):
                return True
        elif isinstance(node, BitShiftLeft | BitShiftRight | Pow):
            return True
        elif isinstance(node, Call) and any(isinstance(a.type, TensorType) for a in node.args):
            return True  # the access may be out of bounds
    return False


def key_of(expr: Expr) -> Hashable:
    """Return a key that is equal for two expressions iff they agree in structure and variables."""
    key: list[Hashable] = []
    for node in walk(expr):
        key.append(type(node))
        match node:
            case Var():
                key.append(node)
            case ConstInt() | ConstBool():
                key += (node.value, node.dtype)
            case ConstFloat():
                key += (node.value.hex(), node.dtype)
            case Call():
                key += (node.op, len(node.args), repr(sorted(node.kwargs.items())))
            case TupleGetItemExpr():
                key.append(node.index)
            case MakeTuple():
                key.append(len(node.elements))
            case Expr():
                key.append(node.type if isinstance(node.type, ScalarType) else None)
            case _:
                pass
    return tuple(key)


def used_by_type(var: Var) -> Iterator[Var]:
    """Yield the variables in the dimensions of a variable's type."""
    return uses(exprs_of_type(var.type))


def expression_of(stmt: Stmt) -> Expr | None:
    """Return the expression of an assignment or evaluation, None for other statements."""
    if isinstance(stmt, AssignStmt):
        return stmt.value
    return stmt.expr if isinstance(stmt, EvalStmt) else None


def with_effects(body: Stmt) -> frozenset[Stmt]:
    """Return the statements of a body that have a side effect, or contain one that has."""
    found: set[Stmt] = set()
    stack: list[tuple[Stmt, tuple[Any, ...] | None]] = [(s, None) for s in statements(body)]
    while stack:
        stmt, above = stack.pop()
        value = expression_of(stmt)
        if isinstance(stmt, BreakStmt | ContinueStmt | ReturnStmt) or (
            value is not None and has_effect(value)
        ):
            found.add(stmt)
            while above is not None and above[0] not in found:
                found.add(above[0])
                above = above[1]
        stack += [(inner, (stmt, above)) for part in bodies(stmt) for inner in statements(part)]
    return frozenset(found)


def trips(loop: ForStmt) -> int | None:
    """Return how often a loop runs, None if its bounds are not constant."""
    bounds = [b.value for b in (loop.start, loop.stop, loop.step) if isinstance(b, ConstInt)]
    if len(bounds) != 3 or bounds[2] == 0:
        return None
    return len(range(*bounds))
