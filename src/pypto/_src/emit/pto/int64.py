"""Which 64-bit integers of a kernel keep all their bits in the PTO dialect.

The dialect's ``index`` has 32 bits in the C++ that the assembler writes: enough for offsets, sizes
and loop counters, for which the assembler requires it. A variable on which anything else depends, a
float, another integer or a comparison, is ``i64`` instead, and so is all that it is computed from.
An offset that is a quotient, a remainder or a minimum depends on all bits, too.
"""

from __future__ import annotations

from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.ir.exprs import (
    BinaryExpr,
    Call,
    Cast,
    ConstInt,
    Expr,
    MakeTuple,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.scalar_ops import ROWS
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, IfStmt, Stmt, WhileStmt, yielded
from pypto._src.ir.traversal.queries import held_by, is_flat, stmts_in
from pypto._src.ir.types import ScalarType, TupleType


def is_int64(value: Expr) -> bool:
    """True for a scalar of type INT64."""
    return isinstance(value.type, ScalarType) and value.type.dtype is DataType.INT64


def long_variables(function: Function) -> frozenset[Var]:
    """Return the variables of type INT64 that are ``i64`` in the text; all others are ``index``."""
    made_of: dict[Var, list[Expr]] = {var: [] for var in function.params if is_int64(var)}
    stmts = [*stmts_in(function.body)]
    stack: list[Expr] = []
    for stmt in stmts:
        for var, sources in _definitions(stmt):
            if is_int64(var) or isinstance(var.type, TupleType):
                made_of.setdefault(var, []).extend(sources)
                if any(map(_has_large_number, sources)):
                    stack.append(var)
    if not made_of:
        return frozenset()
    for stmt in stmts:
        stack += _wanted(stmt)
    seen: set[Expr] = set()
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += made_of.get(node, ()) if isinstance(node, Var) else parts(node)
    return frozenset(var for var in made_of if var in seen and is_int64(var))


def parts(node: Expr) -> tuple[Expr, ...]:
    """Return the operands on which all bits of an INT64 depend, if it is an operator's result."""
    match node:
        case BinaryExpr():
            return node.left, node.right
        case UnaryExpr():
            return (node.operand,)
        case TupleGetItemExpr():
            return (node.tuple,)
        case MakeTuple():
            return node.elements
        case _:
            return ()


def exceeds_index(value: Expr) -> bool:
    """True for an INT64 that may not fit in 32 bits, or whose operands may not.

    A variable that is ``index`` fits.
    """
    stack, seen = [value], {value}
    while stack:
        node = stack.pop()
        if isinstance(node, ConstInt):
            fits = _fits(node)
        elif isinstance(node, Cast) and not is_int64(node.operand):
            kind = node.operand.type
            fits = isinstance(kind, ScalarType) and kind.dtype in _NARROW
        elif isinstance(node, (Cast, *_NOT_GROWING)):
            below = [part for part in parts(node) if part not in seen]
            seen.update(below)
            stack += below
            continue
        else:
            fits = isinstance(node, Var)
        if not fits:
            return True
    return False


def _fits(number: ConstInt) -> bool:
    return -(1 << 31) <= number.value < 1 << 31


def _has_large_number(value: Expr) -> bool:
    """True if ``value`` is computed from a constant that does not fit ``index``."""
    stack, seen = [value], {value}
    while stack:
        node = stack.pop()
        if isinstance(node, ConstInt) and not _fits(node):
            return True
        below = [part for part in parts(node) if part not in seen]
        seen.update(below)
        stack += below
    return False


def _definitions(stmt: Stmt) -> list[tuple[Var, tuple[Expr, ...]]]:
    """Return what variables are computed from; a carried value keeps its type after the loop."""
    match stmt:
        case AssignStmt():
            return [(stmt.var, (stmt.value,))]
        case ForStmt() | WhileStmt():
            carried = zip(stmt.iter_args, stmt.return_vars, yielded(stmt.body), strict=True)
            found: list[tuple[Var, tuple[Expr, ...]]] = []
            for arg, result, value in carried:
                found += [(arg, (arg.initValue, result, value)), (result, (arg,))]
            return found
        case IfStmt() if stmt.return_vars:
            both = zip(yielded(stmt.then_body), yielded(stmt.else_body), strict=True)
            return [*zip(stmt.return_vars, both, strict=True)]
        case _:
            return []


def _wanted(stmt: Stmt) -> list[Expr]:
    """Return the integers in a statement that are used as values, not only as offsets."""
    if isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call) and is_flat(stmt.value):
        return [arg for arg in stmt.value.args if is_int64(arg)]
    found: list[Expr] = []
    if isinstance(stmt, IfStmt | WhileStmt):
        found.append(stmt.condition)
    stack: list[Expr] = [*held_by(stmt)]
    seen: set[Expr] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, _LEAVES) or node in seen:
            continue
        seen.add(node)
        below = node.args if isinstance(node, Call) else parts(node)
        if node.__class__ in _VALUE_USES:
            found += below
        stack += below
    return [value for value in found if is_int64(value)]


_VALUE_USES: Final = frozenset({Call, *(row.node for row in ROWS if row.high_bits)})
"""Nodes that use an integer's value: its low bits do not determine those of the result."""

_NOT_GROWING: Final = tuple(row.node for row in ROWS if not row.grows)
"""Operators whose results need no more bits than their operands."""

_NARROW: Final = (
    *(DataType.BOOL, DataType.INT8, DataType.INT16, DataType.INT32),
    *(DataType.UINT8, DataType.UINT16),
)
"""Types whose values fit ``index``."""

_LEAVES: Final = (Var, ConstInt)
"""The most common leaves of expressions."""
