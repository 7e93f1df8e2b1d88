"""What the C++ generator must know about a function before it writes the first line.

One pass over the statements finds the tiles to declare and the variables whose value the text
needs. Knows no text, no names and no addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from pypto._src.emit.cpp.tensors import valid_sizes
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import Call, ConstBool, ConstFloat, ConstInt, Expr, IterArg, MakeTuple, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    final_yield,
)
from pypto._src.ir.traversal.queries import exprs_in, stmts_in, uses
from pypto._src.ir.types import ScalarType, Type
from pypto._src.records import NamedTuple

_LITERALS: Final = frozenset({ConstInt, ConstFloat, ConstBool})
_VARIABLES: Final = frozenset({Var, IterArg})


class Facts(NamedTuple):
    """What `scan` finds."""

    used: set[Var]
    """Scalars and tensors whose value the text needs, and some tiles; scalars that are never read,
    and what only such scalars read, are left out."""

    tiles: list[Var]
    """The tiles that ops assign, in textual order."""

    passes_tensors_on: bool
    """True if a loop carries a tensor, or a branch returns one."""


def scan(function: Function, removed: frozenset[Stmt] = frozenset()) -> Facts:
    """Look at ``function`` once; nothing in ``removed`` statements reads anything."""
    found = _Scan(removed)
    found.visit(stmts_in(function.body))
    for param in function.params:
        found.read_type(param.type)
    return Facts(found.used(), found.tiles, found.passes_tensors_on)


class TileCollector:
    """Finds the tiles that the prologue declares: those that ops assign.

    Results of branches are not among them; they are declared just before their branch.
    """

    def collect(self, function: Function) -> list[Var]:
        """Return the tile variables in textual order."""
        return scan(function).tiles


class _Scan:
    """Gathers `Facts`, one statement after the other."""

    def __init__(self, removed: frozenset[Stmt]) -> None:
        self.tiles: list[Var] = []
        self.passes_tensors_on = False
        self._read: set[Var] = set()
        self._pending: dict[Var, Sequence[Expr]] = {}  # operands of scalars not read so far
        # Yields of which a value is read only if the result for it is.
        self._passed: set[Stmt] = set()
        self._gone = {inner for stmt in removed for inner in stmts_in(stmt)}
        self._types: dict[int, Type] = {}  # by identity, types whose sizes have been noted

    def used(self) -> set[Var]:
        """Return the variables that are read, directly or indirectly."""
        stack = [var for var in self._pending if var in self._read]
        while stack:
            for var in uses(self._pending.pop(stack.pop(), ())):
                if var not in self._read:
                    self._read.add(var)
                    stack.append(var)
        return self._read

    def read_type(self, kind: Type) -> None:
        """Note the sizes in a type that appears in the text."""
        if isinstance(kind, TileType) and kind.tile_view is None:
            return
        if id(kind) not in self._types:
            self._types[id(kind)] = kind
            sizes = _sizes_said(kind)
            if not _LITERALS.issuperset(map(type, sizes)):
                self._read.update(uses(sizes))

    def visit(self, stmts: Iterable[Any]) -> None:
        """Visit statements, most of which are flags and calls on variables and numbers."""
        gone, tiles = self._gone, self.tiles
        for stmt in stmts:
            cls = stmt.__class__
            if cls is EvalStmt:
                value = stmt.expr
                if value.__class__ is Call and not value.args:
                    continue
                if stmt not in gone and value.__class__ is not Var:
                    self._expressions((value,))
                continue
            if cls is not AssignStmt:
                _VISITORS.get(cls, _Scan.other)(self, stmt)
                continue
            var, value = stmt.var, stmt.value
            kind = var.type
            is_tile, is_call = kind.__class__ is TileType, value.__class__ is Call
            if is_tile and is_call:
                tiles.append(var)
            if gone and stmt in gone:
                continue
            if kind.__class__ is ScalarType:
                self._pending[var] = (value,)
                continue
            if is_call:
                self._call(value)
            else:
                self._expressions((value,))
            if not is_tile or kind.tile_view is not None:
                self.read_type(kind)

    def other(self, stmt: Stmt) -> None:
        """Note what a statement without its own rule reads."""
        if stmt not in self._gone:
            self._expressions([e for e in exprs_in(stmt) if not isinstance(e, Var)])

    def loop(self, stmt: ForStmt | WhileStmt) -> None:
        """Note what a loop reads and carries."""
        self._note_tensors(stmt.iter_args)
        if stmt in self._gone:
            return
        if isinstance(stmt, ForStmt):
            self._expressions((stmt.start, stmt.stop, stmt.step))
        else:
            self._expressions((stmt.condition,))
        self._expressions([arg.initValue for arg in stmt.iter_args])

    def branch(self, stmt: IfStmt) -> None:
        """Note what a branch reads, and the values of its results."""
        self._note_tensors(stmt.return_vars)
        if stmt in self._gone:
            return
        self._expressions((stmt.condition,))
        for body in (stmt.then_body, stmt.else_body):
            last = final_yield(body)
            if last is not None:
                self._passed.add(last)
                if body not in self._gone:
                    self._expressions(self._branch_values(stmt.return_vars, last.value))

    def _branch_values(self, results: Sequence[Var], values: Sequence[Expr]) -> list[Expr]:
        """Note what a branch's scalar results read; return the values of the other results."""
        others: list[Expr] = []
        for var, value in zip(results, values, strict=False):
            if isinstance(var.type, ScalarType):
                self._pending[var] = (*self._pending.get(var, ()), value)
            else:
                others.append(value)
        return others

    def values(self, stmt: YieldStmt | ReturnStmt) -> None:
        """Note the values that a body yields or returns."""
        if stmt not in self._gone and stmt not in self._passed:
            self._expressions(stmt.value)

    def _note_tensors(self, variables: Sequence[Var]) -> None:
        for var in variables:
            if isinstance(var.type, TensorType):
                self.passes_tensors_on = True

    def _expressions(self, exprs: Sequence[Expr]) -> None:
        """Note the variables in expressions; most are calls on variables, numbers and lists."""
        more: list[Expr] = []
        for expr in exprs:
            if isinstance(expr, Call):
                self._call(expr)
            else:
                more.append(expr)
        if more:
            self._read.update(uses(more))

    def _call(self, call: Call) -> None:
        args: Any = call.args
        read = self._read
        for arg in args:
            cls = arg.__class__
            if cls in _VARIABLES:
                read.add(arg)
            elif cls is MakeTuple:
                if not _LITERALS.issuperset(map(type, arg.elements)):
                    read.update(uses(arg.elements))
            elif cls not in _LITERALS:
                read.update(uses((arg,)))


_VISITORS: Final[dict[type[Stmt], Callable[[_Scan, Any], None]]] = {
    ForStmt: _Scan.loop,
    WhileStmt: _Scan.loop,
    IfStmt: _Scan.branch,
    YieldStmt: _Scan.values,
    ReturnStmt: _Scan.values,
}


def _sizes_said(kind: Type) -> Sequence[Expr]:
    match kind:
        case TensorType():
            view = kind.tensor_view
            return (*kind.shape, *(view.stride if view is not None else ()))
        case TileType():
            return valid_sizes(kind)
        case _:
            return ()
