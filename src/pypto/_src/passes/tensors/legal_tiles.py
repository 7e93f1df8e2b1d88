"""Replacements for calls that no target executes: the work of LegalizeTiles.

Most kernels have none, and do not load this module.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from operator import is_
from typing import Any, Final

from pypto._src.analysis.stmt_tree import Block, ProgramPoint, number, rewrite
from pypto._src.diagnostics import Span
from pypto._src.errors import OpError, PassError
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, MakeTuple, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.interning import Facts
from pypto._src.ir.op_params import INTS
from pypto._src.ir.opdef import RESULT, op_of
from pypto._src.ir.stmts import (
    SIMPLE,
    AssignStmt,
    Function,
    Stmt,
    checked_assign,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import map_bodies
from pypto._src.ir.traversal.queries import occurring, stmts_in, variable_names
from pypto._src.ir.types import Type
from pypto._src.ir.unchecked import checked_var
from pypto._src.ops.layout import (
    is_column,
    is_vertical,
    space_in,
)
from pypto._src.ops.reshaping import reshape
from pypto._src.ops.rules.type_rules import called


def with_calls_replaced(
    function: Function, concerned: Container[Stmt], spaces: dict[Var, MemorySpace]
) -> Function:
    """Return ``function`` with the calls in the statements ``concerned`` replaced.

    Raises:
        PassError: an op mixes a column vector with other tiles, which no target executes.
    """
    rows = _Rows(function, concerned, spaces)
    legal = rewrite(function, number(function), rows.edit)
    return legal if legal is function else _without_unused(legal, rows.candidates)


def _is_tile(value: Expr) -> bool:
    return value.type.__class__ is TileType


def column_length(kind: Type) -> int | None:
    """Return N of a tile type [.., 1] with N > 1 elements, None for anything else."""
    if not isinstance(kind, TileType):
        return None
    shape = static_shape(kind)
    if shape is None or len(shape) < 2 or shape[-1] != 1 or math.prod(shape) <= 1:
        return None
    # An explicit view gives the layout: only the default one for a column is column-major.
    return math.prod(shape) if is_column(kind) else None


_COLUMN_LENGTH: Final = Facts(column_length)


class _Rows:
    """Rewrites statements; records for each column the row of the same bytes."""

    def __init__(
        self,
        function: Function,
        concerned: Container[Stmt],
        spaces: dict[Var, MemorySpace],
    ) -> None:
        self._function = function
        self._concerned = concerned
        self.spaces = spaces
        self.rows: dict[Var, list[tuple[Block, Var]]] = {}
        self.candidates: dict[Var, None] = {}  # dropped if nothing reads them
        self._row_shapes: dict[int, MakeTuple] = {}
        self.made: dict[Var, Call] = {}  # decomposed calls as the program has them, by result

    @cached_property
    def names(self) -> FreshNames:
        """Names for new variables; few functions need any."""
        return FreshNames(variable_names(self._function))

    def edit(self, point: ProgramPoint, stmt: Stmt) -> Sequence[Stmt]:
        """Return the statements that replace a statement."""
        if point.stmt not in self._concerned:
            return (stmt,)
        return [legal for each in self._expanded(stmt) for legal in self._on_target(point, each)]

    def _expanded(self, stmt: Stmt) -> Sequence[Stmt]:
        """Return the decomposition of a call, down to ops that the targets execute."""
        out: list[Stmt] = []
        pending = [stmt]
        while pending:
            each = pending.pop()
            parts = self._parts(each)
            if parts is None:
                out.append(each)
            else:
                pending += reversed(parts)
        return out

    def _parts(self, stmt: Stmt) -> Sequence[Stmt] | None:
        """Return the decomposition of a call, None if the targets execute it."""
        op = op_of(stmt.value) if isinstance(stmt, AssignStmt) else None
        if op is None or op.decomposition is op.promotion is op.of_padded is None:
            return None
        assert isinstance(stmt, AssignStmt)
        assert isinstance(stmt.value, Call)
        let = _Let(self, stmt)
        try:
            value = op.parts_of(stmt.value, let)
        except OpError as error:
            raise error.at(stmt.span) from None
        if value is None:
            return None
        self.made[stmt.var] = stmt.value
        self.candidates[stmt.var] = None
        return [*let.out, _assign(stmt.var, value, stmt.span)]

    def let(self, stmt: AssignStmt, value: Expr, name: str) -> Stmt:
        """Return the assignment of a part of the replacement of ``stmt`` to a new variable."""
        var = self._name(stmt.var, value.type, name)
        self.candidates[var] = None
        space = space_in(self.spaces, value)
        if space is not None:
            self.spaces[var] = space
        return _assign(var, value, stmt.span)

    def _on_target(self, point: ProgramPoint, stmt: Stmt) -> Sequence[Stmt]:
        if not isinstance(stmt, AssignStmt) or not isinstance(stmt.value, Call):
            return [stmt]
        call = stmt.value
        op = op_of(call)
        if op is None or op.level != "block":
            return [stmt]
        length_of = _COLUMN_LENGTH.of
        tiles = [(i, arg.type) for i, arg in enumerate(call.args) if arg.type.__class__ is TileType]
        if stmt.var.type.__class__ is TileType:
            tiles.append((RESULT, stmt.var.type))
        lengths = {index: length_of(kind) for index, kind in tiles}
        for index, length in lengths.items():
            if length is not None and index not in op.columns:
                break
        else:
            return [stmt]
        # An op that takes some columns treats them specially, which it would not do with rows.
        length = lengths.get(RESULT)
        is_equal = length is not None and {*lengths.values()} == {length}
        if not (op.columns or is_equal) and all(is_vertical(kind) for _, kind in tiles):
            return self._in_blocks(stmt, call)  # not all of them are column-major
        if op.columns or length is None or not is_equal:
            raise _refused(call, [kind for _, kind in tiles], stmt.span)
        return self._on_rows(point, stmt, call, length)

    def _on_rows(
        self, point: ProgramPoint, stmt: AssignStmt, call: Call, length: int
    ) -> list[Stmt]:
        out: list[Stmt] = []
        shape = self._row_shape(length)
        args: list[Expr] = []
        op = op_of(call)
        assert op is not None
        for param, arg in zip(op.operands, call.args, strict=True):
            if isinstance(arg, Var) and isinstance(arg.type, TileType):
                args.append(self._row(point, arg, out, stmt.span))
            elif param.kind == INTS and param.name == "shape":
                args.append(shape)
            else:
                args.append(arg)
        try:
            on_rows = op.call(args, call.kwargs, call.span)
        except OpError as error:
            raise _refused(call, (), stmt.span) from error
        if not isinstance(on_rows.type, TileType) or static_shape(on_rows.type) != (1, length):
            raise _refused(call, (), stmt.span)
        row = self._name(stmt.var, on_rows.type)
        self.rows.setdefault(stmt.var, []).append((point.block, row))
        self.candidates[stmt.var] = None
        assert isinstance(stmt.var.type, TileType)
        back = reshape.call([row, MakeTuple(stmt.var.type.shape)], {}, stmt.span)
        return [*out, _assign(row, on_rows, stmt.span), _assign(stmt.var, back, stmt.span)]

    def _in_blocks(self, stmt: AssignStmt, call: Call) -> Sequence[Stmt]:
        """Return an op on columns, not all of them column-major, done on rows of one block each."""
        from pypto._src.ops.padding import as_rows, block_of, first_column

        let, op = _Let(self, stmt), op_of(call)
        assert op is not None
        kinds = [value.type for value in (stmt.var, *call.args)]
        width = max(block_of(kind) for kind in kinds if isinstance(kind, TileType))
        try:
            args = [as_rows(a, width, let) if _is_tile(a) else a for a in call.args]
            rows = let("rows", op.call(args, call.kwargs, call.span))
            assert isinstance(stmt.var.type, TileType)
            value = first_column(rows, stmt.var.type, let)
        except OpError as error:
            raise error.at(stmt.span) from None
        self.candidates[stmt.var] = None
        return [*let.out, _assign(stmt.var, value, stmt.span)]

    def _row(self, point: ProgramPoint, column: Var, out: list[Stmt], span: Span) -> Var:
        """Return the row of a column's bytes; reshape in this block unless one is in scope."""
        known = self.rows.setdefault(column, [])
        for block, row in known:
            if block.begin <= point.begin <= block.end:
                return row
        shape = self._row_shape(_COLUMN_LENGTH.of(column.type) or 0)
        call = reshape.call([column, shape], {}, span)
        row = self._name(column, call.type)
        known.append((point.block, row))
        out.append(_assign(row, call, span))
        return row

    def _row_shape(self, length: int) -> MakeTuple:
        """Return the list [1, N], one object for each N."""
        found = self._row_shapes.get(length)
        if found is None:
            found = self._row_shapes[length] = MakeTuple([1, length])
        return found

    def _name(self, like: Var, kind: Type, suffix: str = "row") -> Var:
        return checked_var(self.names.like(f"{like.name}_{suffix}", ""), kind, like.span)


class _Let:
    """The interface for decompositions (`ir.emit_sites.Let`); collects their statements."""

    def __init__(self, rows: _Rows, stmt: AssignStmt) -> None:
        self._rows = rows
        self._stmt = stmt
        self.out: list[Stmt] = []

    def __call__(self, name: str, value: Expr) -> Var:
        made = self._rows.let(self._stmt, value, name)
        assert isinstance(made, AssignStmt)
        self.out.append(made)
        return made.var

    def made(self, value: Expr) -> Call | None:
        return self._rows.made.get(value) if isinstance(value, Var) else None

    def space(self, tile: Expr) -> MemorySpace | None:
        return space_in(self._rows.spaces, tile)


def _assign(var: Var, value: Expr, span: Span) -> Stmt:
    return checked_assign(var, value, span)


def _refused(call: Call, tiles: Iterable[Type], span: Span) -> PassError:
    kinds = [kind for kind in tiles if isinstance(kind, TileType)]
    shapes = ", ".join(str(list(static_shape(kind) or ())) for kind in kinds)
    with_what = f" (its tiles are {shapes})" if shapes else ""
    column = next(
        (e for e in call.args if isinstance(e, Var) and column_length(e.type) is not None), None
    )
    op, hint = op_of(call), None
    name = call.op.name if op is None else called(op)
    if column is not None:
        length = column_length(column.type)
        hint = f"read it as a row: pl.reshape({user_name(column)}, [1, {length}])"
    return PassError(
        f"{name} does not take column vectors [N, 1]{with_what}",
        span,
        hint=hint,
        slug="column-vector",
    )


def _without_unused(function: Function, candidates: dict[Var, None]) -> Function:
    """Drop what the pass made, and decomposed calls of the program, if nothing reads them."""
    made: dict[Var, AssignStmt] = {}
    readers: dict[Any, int] = dict.fromkeys(candidates, 0)
    stmts: Any = stmts_in(function.body)
    for stmt in stmts:
        for var in occurring(stmt):
            if var in readers:
                readers[var] += 1
        # A write to a tensor is visible, even if the resulting name is not read.
        is_made = stmt.__class__ is AssignStmt and stmt.var in readers
        if is_made and stmt.var.type.__class__ is TileType:
            made[stmt.var] = stmt
    unused = [var for var in made if not readers[var]]
    dropped: dict[Var, None] = {}
    while unused:
        var = unused.pop()
        dropped[var] = None
        for read in occurring(made[var]):
            if read in made:
                readers[read] -= 1
                if not readers[read]:
                    unused.append(read)
    return function.with_body(_without(function.body, dropped)) if dropped else function


def _without(body: Stmt, dropped: Container[Var]) -> Stmt:
    """Return a body without the assignments to some variables."""
    old = statements(body)
    new = [
        stmt if stmt.__class__ in SIMPLE else map_bodies(stmt, lambda b: _without(b, dropped))
        for stmt in old
        if not (isinstance(stmt, AssignStmt) and stmt.var in dropped)
    ]
    same = len(new) == len(old) and all(map(is_, new, old))
    return body if same else seq(new, body.span)
