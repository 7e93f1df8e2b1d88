"""LegalizeTiles: tiles become acceptable to both targets, so that emitters never choose.

A call that no target executes becomes the ones that it stands for (`OpDef.parts_of`), as one on
tiles of several element types or shapes:

    c = add(a, b)   ->   wide = cast(b); c = add(a, wide)

Column vectors [N, 1] lie in memory column by column, which elementwise instructions refuse. The
same bytes read as a row [1, N] are fine, so these ops work on reshaped operands:

    c = exp(a)   ->   a_row = reshape(a, [1, N]); c_row = exp(a_row); c = reshape(c_row, [N, 1])

Which tiles of an op may be columns is a fact of the op (`OpDef.columns`).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from operator import is_
from typing import Any, Final, cast

from pypto._src.analysis.stmt_tree import Block, ProgramPoint, number, rewrite
from pypto._src.diagnostics import Span
from pypto._src.errors import OpError, PassError
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, MakeTuple, Op, Var
from pypto._src.ir.fresh_names import NewNames
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.interning import Facts
from pypto._src.ir.opdef import INTS, RESULT, OpDef, op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import (
    SIMPLE,
    AssignStmt,
    EvalStmt,
    Function,
    Program,
    Stmt,
    checked_assign,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import map_bodies, map_functions
from pypto._src.ir.traversal.queries import defined_by, occurring, stmts_in, variable_names
from pypto._src.ir.types import ScalarType, Type
from pypto._src.ir.unchecked import checked_var
from pypto._src.ops.layout import (
    are_in_vec,
    is_column,
    is_padded,
    is_vertical,
    space_in,
    tile_spaces,
)
from pypto._src.ops.reshaping import reshape
from pypto._src.ops.rules.type_rules import called
from pypto._src.passes.pass_base import Pass, makes_a_pass
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.structure.flatten_call_expr import with_nested_calls
from pypto._src.passes.verification import NOTHING_KNOWN, PassFacts

_P: Final = IRProperty


class LegalizeTiles(Pass):
    """Decompose ops, and let elementwise ops on columns work on rows of the same bytes."""

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked, _P.NoNestedCalls)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program with column vectors only where targets take them.

        Raises:
            PassError: an op mixes a column vector with other tiles, which no target executes.
        """
        return self.transform(program, NOTHING_KNOWN)

    def transform(self, program: Program, facts: PassFacts) -> Program:
        """Do what `run` does; one call of each form tells whether a function is concerned."""
        return map_functions(
            program, lambda f: with_legal_tiles(f, facts) if role(f) is Role.KERNEL else f
        )


@makes_a_pass
def legalize_tiles() -> Pass:
    """Return the pass that makes tiles acceptable to the targets."""
    return LegalizeTiles()


def with_legal_tiles(function: Function, facts: PassFacts = NOTHING_KNOWN) -> Function:
    """Return ``function`` with legal tiles; see `LegalizeTiles`.

    Raises:
        OpError: an op gets a tile from a memory that it does not take it from.
    """
    stmts = [*stmts_in(function.body)]
    some = facts.one_of_each_form(function)
    if 2 * len(some) > len(stmts):  # then who is concerned is found at once
        some = stmts
    made = _made(some)
    calls = [s.value for s in made]
    calls += [s.expr for s in some if isinstance(s, EvalStmt) and s.expr.__class__ is Call]
    # Not every tile tells by its type where it is.
    in_vec = not with_nested_calls(function, facts) and are_in_vec(function.params, calls)
    spaces = {} if in_vec else tile_spaces(function)
    concerned = _concerned(made)
    if not concerned:
        return function
    if some is not stmts:
        concerned = _concerned(_made(stmts))
    if in_vec:
        tiles = [var for stmt in stmts for var in defined_by(stmt) if _is_tile(var)]
        spaces = dict.fromkeys(tiles, MemorySpace.Vec)
    root = number(function)
    rows = _Rows(function, concerned, spaces)
    legal = rewrite(function, root, rows.edit)
    return legal if legal is function else _without_unused(legal, rows.candidates)


def _made(stmts: Sequence[Any]) -> list[Any]:
    """Return the assignments of calls."""
    return [s for s in stmts if s.__class__ is AssignStmt and s.value.__class__ is Call]


def _concerned(made: Sequence[Any]) -> set[Stmt]:
    """Return those of the assignments whose call has a column, or an op that may stand for others.

    All assign calls. Where all tiles have one type, and all numbers that element type, no operands
    differ.
    """
    used = {s.value.op for s in made}
    ops = {op for op in used if _may_expand(op)}
    found: set[Stmt] = {s for s in made if s.value.op in ops} if ops else set()
    args = {arg for s in made for arg in s.value.args}
    scalars = {arg.type.dtype for arg in args if arg.type.__class__ is ScalarType}
    tiles = [e for e in args.union([s.var for s in made]) if e.type.__class__ is TileType]
    kinds: dict[int, Any] = {id(e.type): e.type for e in tiles}
    if len(kinds) > 1 or len(scalars.union([kind.dtype for kind in kinds.values()])) > 1:
        forms = [cast("OpDef[..., Any]", op) for op in used if isinstance(op, OpDef)]
        rules = {form: form.promotion for form in forms if form.promotion is not None}
        for s in made if rules else ():
            rule = rules.get(s.value.op)
            if rule is not None and rule.differ(s.value.args):
                found.add(s)
    high = {key for key, kind in kinds.items() if is_vertical(kind) or is_padded(kind)}
    columns = {e for e in tiles if id(e.type) in high} if high else ()
    if columns:
        found |= {s for s in made if s.var in columns or not columns.isdisjoint(s.value.args)}
    return found


def _is_tile(value: Expr) -> bool:
    return value.type.__class__ is TileType


def _may_expand(op: Op) -> bool:
    if not isinstance(op, OpDef):
        return False
    form = cast("OpDef[..., Any]", op)
    other = form.with_scratch
    return form.decomposition is not None or (other is not None and other.decomposition is not None)


def column_length(kind: Type) -> int | None:
    """Return N of a tile type [.., 1] with N > 1 elements, None for anything else."""
    if not isinstance(kind, TileType):
        return None
    shape = static_shape(kind)
    if shape is None or len(shape) < 2 or shape[-1] != 1 or math.prod(shape) <= 1:
        return None
    # A view of its own says how the tile lies: only the usual one for a column is column-major.
    return math.prod(shape) if is_column(kind) else None


_COLUMN_LENGTH: Final = Facts(column_length)


class _Rows:
    """Rewrites statements; remembers for each column the row of the same bytes."""

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
        self.candidates: dict[Var, None] = {}  # to be dropped if nobody reads them
        self._row_shapes: dict[int, MakeTuple] = {}
        self.made: dict[Var, Call] = {}  # decomposed calls as the program has them, by result

    @cached_property
    def names(self) -> NewNames:
        """Names for what is added; few functions need new ones."""
        return NewNames(variable_names(self._function))

    def edit(self, point: ProgramPoint, stmt: Stmt) -> Sequence[Stmt]:
        """Return what stands in place of a statement."""
        if point.stmt not in self._concerned:
            return (stmt,)
        return [legal for each in self._expanded(stmt) for legal in self._on_target(point, each)]

    def _expanded(self, stmt: Stmt) -> Sequence[Stmt]:
        """Return what a call of a decomposed op stands for, down to ops that targets execute."""
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
        """Return what a call of a decomposed op stands for, None if the targets execute it."""
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
        """Return the statement that gives a part of what replaces ``stmt`` a name."""
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
        # An op that takes some columns gives them a meaning of their own, which rows do not have.
        length = lengths.get(RESULT)
        is_equal = length is not None and {*lengths.values()} == {length}
        if not (op.columns or is_equal) and all(is_vertical(kind) for _, kind in tiles):
            return self._in_blocks(stmt, call)  # not all of them lie as columns
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
        """Return an op on columns of which not all lie as columns, done on rows of one block."""
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
        """Return the row of a column's bytes, reshaped in this block unless one is visible."""
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
    """What a decomposition sees (`ir.emit_sites.Let`); collects the statements that it makes."""

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
    """Drop what the pass made, and decomposed calls of the program, where nothing reads it."""
    made: dict[Var, AssignStmt] = {}
    readers: dict[Any, int] = dict.fromkeys(candidates, 0)
    stmts: Any = stmts_in(function.body)
    for stmt in stmts:
        for var in occurring(stmt):
            if var in readers:
                readers[var] += 1
        # A tensor that is written is seen, whether or not its name is read.
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
