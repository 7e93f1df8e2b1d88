"""Variables that hold tuples become one variable for each item.

``pair = (a, b)`` is ``pair_0 = a`` and ``pair_1 = b``, and ``pair[0]`` is ``pair_0``: a tile in a
tuple is then a tile like any other for later passes. Several results of a call stay a tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pypto._src.errors import PassError
from pypto._src.ir.exprs import (
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    TupleGetItemExpr,
    Var,
)
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.stmts import AssignStmt, Function, Stmt
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import stmts_in, uses, variable_names
from pypto._src.ir.types import TupleType

MOST_VALUES: Final = 1024
"""The most values in a tuple that is assigned to a variable, those of nested tuples included."""

MOST_DEPTH: Final = 64
"""The deepest nesting of tuples."""


def split_tuples(function: Function) -> Function:
    """Return the function without variables that are assigned tuples, itself if it has none."""
    while True:
        found = _tuples(function)
        if not found:
            return function
        names = FreshNames(variable_names(function))
        function = _Split(found, names).function(function)  # items may be tuples again


def _tuples(function: Function) -> list[Var]:
    """Return the variables that are assigned a tuple literal, or the value of such a variable."""
    stmts: Any = stmts_in(function.body)
    taking = [s for s in stmts if s.__class__ is AssignStmt and s.var.type.__class__ is TupleType]
    found: dict[Var, None] = {}
    copies: dict[Var, list[Var]] = {}
    sizes: dict[int, tuple[int, int]] = {}
    for stmt in taking:
        _check_size(stmt, sizes)
        value = _item(stmt.value)
        if isinstance(value, MakeTuple):
            found[stmt.var] = None
        elif isinstance(value, Var):
            copies.setdefault(value, []).append(stmt.var)
    pending = list(found)
    for var in pending:  # grows meanwhile
        new = [copy for copy in copies.get(var, ()) if copy not in found]
        found |= dict.fromkeys(new)
        pending += new
    return list(found)


def _check_size(stmt: AssignStmt, sizes: dict[int, tuple[int, int]]) -> None:
    """Refuse a tuple of too many values, each of which would be a variable, or nested too deeply.

    ``sizes`` has depth and number of values by the identity of types, which may be shared.
    """
    pending: list[TupleType] = [stmt.var.type] if isinstance(stmt.var.type, TupleType) else []
    while pending:
        kind = pending[-1]
        inner = [item for item in kind.types if isinstance(item, TupleType)]
        unknown = [item for item in inner if id(item) not in sizes]
        pending += unknown
        if not unknown:
            pending.pop()
            depths, counts = zip((0, 0), *[sizes[id(item)] for item in inner], strict=True)
            sizes[id(kind)] = 1 + max(depths), sum(counts) + len(kind.types) - len(inner)
    depth, count = sizes[id(stmt.var.type)]
    if depth > MOST_DEPTH or count > MOST_VALUES:
        raise PassError(
            f"'{stmt.var.name}' is a tuple of {count} values, "
            f"up to {depth} tuples inside each other",
            stmt.span,
            f"take tuples of at most {MOST_VALUES} values, {MOST_DEPTH} inside each other",
            slug="tuple-size",
        )


def _item(value: Expr) -> Expr:
    """Return ``a`` for ``(a, b)[0]``, anything else itself."""
    indices: list[int] = []
    whole = value
    while isinstance(whole, TupleGetItemExpr):
        indices.append(whole.index)
        whole = whole.tuple
    while indices:
        if not isinstance(whole, MakeTuple):
            return value
        whole = whole.elements[indices.pop()]
    return whole


_ATOMS: Final = frozenset({Var, IterArg, ConstInt, ConstFloat, ConstBool})


def _is_plain(expr: Expr) -> bool:
    """True for an expression that computes nothing."""
    if isinstance(expr, MakeTuple):
        return all(map(_is_plain, expr.elements))
    return expr.__class__ in _ATOMS


class _Split(Mutator):
    def __init__(self, found: Sequence[Var], names: FreshNames) -> None:
        super().__init__()
        self._names = names
        self._items = {var: self._new(var, "") for var in found}

    def _new(self, var: Var, suffix: str) -> list[Var]:
        assert isinstance(var.type, TupleType)
        return [
            Var(self._names.like(f"{var.name}_{index}{suffix}"), kind, var.span)
            for index, kind in enumerate(var.type.types)
        ]

    def visit_Var(self, var: Var) -> Expr:
        """Return the tuple of a variable's items."""
        items = self._items.get(var)
        return var if items is None else MakeTuple(items, var.span)

    def visit_TupleGetItemExpr(self, item: TupleGetItemExpr) -> Expr:
        """Return the item itself, unless an item of the tuple has to be computed."""
        whole: Expr = self.visit(item.tuple)
        if isinstance(whole, MakeTuple) and _is_plain(whole):
            return whole.elements[item.index]
        return item if whole is item.tuple else TupleGetItemExpr(whole, item.index, item.span)

    def _written_out(self, value: Expr, name: str, before: list[Stmt]) -> Expr:
        """Return ``a`` for ``(a, b)[0]``; ``before`` computes all items, in order."""
        if not isinstance(value, TupleGetItemExpr):
            return value
        whole = self._written_out(value.tuple, name, before)
        if not isinstance(whole, MakeTuple):
            return value
        items: list[Expr] = []
        for item in whole.elements:
            if not _is_plain(item):
                held = Var(self._names.like(name), item.type, value.span)
                before.append(AssignStmt(held, item, value.span))
                item = held
            items.append(item)
        return items[value.index]

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt | list[Stmt]:
        """Assign the items one after the other, with the values from before all assignments."""
        items = self._items.get(stmt.var)
        if items is None:
            return self.rebuild(stmt)
        before: list[Stmt] = []
        value = self._written_out(self.visit(stmt.value), stmt.var.name, before)
        if isinstance(value, MakeTuple):
            values: Sequence[Expr] = value.elements
        else:
            if not isinstance(value, Var):  # a call, which must run once
                whole = Var(self._names.like(stmt.var.name), value.type, stmt.span)
                before.append(AssignStmt(whole, value, stmt.span))
                value = whole
            values = [TupleGetItemExpr(value, i, stmt.span) for i in range(len(items))]
        assigned: set[Var] = set()
        for item, each in zip(items, values, strict=True):
            if not assigned.isdisjoint(uses([each])):
                held = self._new(stmt.var, "_new")
                before += [AssignStmt(*pair, stmt.span) for pair in zip(held, values, strict=True)]
                values = held
                break
            assigned.add(item)
        pairs = zip(items, values, strict=True)
        return [*before, *(AssignStmt(*pair, stmt.span) for pair in pairs)]
