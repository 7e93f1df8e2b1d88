"""Variables for shared subexpressions: whoever builds IR may use an object more than once.

An expression is printed and computed as a tree. ``x = y + y`` done forty times in a row on objects,
with no statement in between, is a tree of 2**40 leaves; with a variable for each shared part it is
forty lines. Without such variables it must not be printed; callers ask `endless` first. Knows
expressions and statements, no op and no pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pypto._src.ir.exprs import (
    And,
    BinaryExpr,
    Call,
    ConstInt,
    Expr,
    IRNode,
    MakeTuple,
    Or,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.scalar_ops import ROWS
from pypto._src.ir.stmts import AssignStmt, Function, Program, Stmt, WhileStmt
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import held_by, is_flat, stmts_in
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.types import ScalarType
from pypto._src.ir.unchecked import checked_tuple

_USUAL: Final = frozenset({Var, ConstInt})
_MOST_PARTS: Final = 512  # of a statement that is left unchanged
_MOST_WRITTEN: Final = 1 << 18  # parts of an expression that is printed
_CAN_FAIL: Final = tuple(row.node for row in ROWS if row.can_fail)
_FIELDS: Final = ("value", "expr", "condition", "start", "stop", "step")


def name_shared_subexpressions(function: Function) -> Function:
    """Return the function with variables for subexpressions that one expression has many times.

    Most functions are returned unchanged. The condition of a ``while`` stays too, as do parts
    that contain calls, and parts that ``and`` and ``or`` may skip and that can fail.
    """
    if not any(map(_is_large, stmts_in(function.body))):
        return function
    return with_room(lambda: _Naming().function(function), function)


def endless(node: IRNode) -> str | None:
    """Return why a node cannot be printed: sharing makes one of its expressions too long.

    Takes time linear in the number of objects, however often each of them is in the text.
    """
    if isinstance(node, Program):
        bodies: Sequence[Stmt] = [function.body for function in node.functions_]
    else:
        bodies = [node.body] if isinstance(node, Function) else []
    if isinstance(node, Stmt):
        bodies = [node]
    found = [held_by(stmt) for body in bodies for stmt in stmts_in(body) if _is_large(stmt)]
    for root in [part for parts in found for part in parts] or [node]:
        if isinstance(root, Expr):
            order, _ = _parts(root)
            sizes: dict[int, int] = {}
            for part in order:
                sizes[id(part)] = 1 + sum(sizes[id(inner)] for inner in _operands(part))
            size = sizes[id(root)]
            if size > _MOST_WRITTEN and size > 2 * len(order):
                return f"{len(order)} parts of one expression occur in it {size} times"
    return None


def _is_large(stmt: Stmt) -> bool:
    """True if the expressions of one statement, as trees, have many parts."""
    held = held_by(stmt)
    if len(held) == 1 and isinstance(held[0], Call) and is_flat(held[0]):
        return False  # as for most statements
    stack, count = [*held], 0
    while stack:
        count += 1
        if count > _MOST_PARTS:
            return True
        stack += [part for part in _operands(stack.pop()) if part.__class__ not in _USUAL]
    return False


def _operands(node: Expr) -> tuple[Expr, ...]:
    """Return the operands of an operation, call or tuple; none for anything else."""
    if isinstance(node, BinaryExpr):
        return node.left, node.right
    if isinstance(node, UnaryExpr):
        return (node.operand,)
    if isinstance(node, Call):
        return node.args
    if isinstance(node, TupleGetItemExpr):
        return (node.tuple,)
    return node.elements if isinstance(node, MakeTuple) else ()


class _Naming(Mutator):
    """Inserts an assignment before a statement for each part that it has twice."""

    def visit_Expr(self, expr: Expr) -> Expr:
        return expr

    def visit_Stmt(self, stmt: Stmt) -> Stmt | list[Stmt]:
        new: Stmt = self.rebuild(stmt)
        if isinstance(stmt, WhileStmt) or not _is_large(stmt):
            return new
        before: list[Stmt] = []
        changes: dict[str, object] = {}
        for name in _FIELDS:
            old = getattr(new, name, None)
            if isinstance(old, Expr):
                changes[name] = _named(old, before)
            elif isinstance(old, tuple):  # the values of a return or yield
                changes[name] = tuple(_named(value, before) for value in old)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return [*before, copy_with(new, changes)] if before else new


def _named(root: Expr, before: list[Stmt]) -> Expr:
    """Return an expression that uses variables, whose definitions are appended to ``before``."""
    order, counts = _parts(root)
    sure = _always_computed(root)
    risky: set[int] = set()  # parts that fail for some values
    now: dict[int, Expr] = {}
    calls: set[int] = set()  # parts that contain calls
    for node in order:
        old = _operands(node)
        if isinstance(node, Call) or any(id(part) in calls for part in old):
            calls.add(id(node))
        if isinstance(node, _CAN_FAIL) or any(id(part) in risky for part in old):
            risky.add(id(node))
        new = tuple(now[id(part)] for part in old)
        value = node if all(map(lambda a, b: a is b, old, new)) else _with_operands(node, new)
        is_number = isinstance(node, BinaryExpr | UnaryExpr) and isinstance(node.type, ScalarType)
        twice = counts[id(node)] > 1 and (id(node) in sure or id(node) not in risky)
        if is_number and twice and id(node) not in calls:
            var = Var("_part_tmp", node.type, node.span)
            before.append(AssignStmt(var, value, node.span))
            value = var
        now[id(node)] = value
    return now[id(root)]


def _parts(root: Expr) -> tuple[list[Expr], dict[int, int]]:
    """Return the distinct parts of an expression, operands first, and how often each occurs."""
    order: list[Expr] = []
    counts: dict[int, int] = {}
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
            continue
        counts[id(node)] = counts.get(id(node), 0) + 1
        if counts[id(node)] == 1:
            stack.append((node, True))
            stack += [(part, False) for part in reversed(_operands(node))]
    return order, counts


def _always_computed(root: Expr) -> set[int]:
    """Return the parts that are always computed, whatever the values."""

    def needed(node: Expr) -> Iterator[Expr]:
        parts = _operands(node)
        return iter(parts[:1] if isinstance(node, And | Or) else parts)

    found: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found.add(id(node))
            stack += needed(node)
    return found


def _with_operands(node: Expr, new: tuple[Expr, ...]) -> Expr:
    if isinstance(node, BinaryExpr):
        return copy_with(node, {"left": new[0], "right": new[1]})
    if isinstance(node, UnaryExpr):
        return copy_with(node, {"operand": new[0]})
    if isinstance(node, Call):
        return copy_with(node, {"args": new})
    if isinstance(node, TupleGetItemExpr):
        return copy_with(node, {"tuple": new[0]})
    return checked_tuple(new, node.type, node.span)
