"""Row views of columns that may be computed in full, including their padding.

Where the assembler plans memory, a reshape's valid part is a constant in its type. So the row view
of a column [N, 1] whose valid part is known only at run time is taken whole, as long as nothing
reads more of it than of the column. Elements beyond the valid part that elementwise ops compute are
meaningless, and nothing reads them. Finds such rows; writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pypto._src.ir.array_types import TileType, same_dims
from pypto._src.ir.exprs import Call, Expr, Var, const_value
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, WhileStmt
from pypto._src.ir.traversal.queries import exprs_in, stmts_in, uses
from pypto._src.ops.layout import effective_view, is_column
from pypto._src.ops.rules.valid_parts import ELEMENTWISE, marked


def whole_rows(function: Function) -> dict[Var, TileType]:
    """Return the rows that may be computed in full, with their types as full tiles."""
    found = _Rows()
    for stmt in stmts_in(function.body):
        if isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call):
            found.assign(stmt.var, stmt.value)
        elif found.any:
            found.refuse(uses(exprs_in(stmt)))
            if isinstance(stmt, ForStmt | WhileStmt):
                found.refuse(uses([arg.initValue for arg in stmt.iter_args]))
    return {var: _whole(var) for var in found.rows()}


class _Rows:
    """Groups of rows: those that elementwise ops compute from each other are whole together."""

    def __init__(self) -> None:
        self._parent: dict[Var, Var] = {}
        self._refused: set[Var] = set()  # any member rules out its group

    @property
    def any(self) -> bool:
        """True once a row has been found."""
        return bool(self._parent)

    def assign(self, var: Var, call: Call) -> None:
        """Record a call and its result."""
        op, source = op_of(call), aliased(call)
        if isinstance(source, Var) and op is not None and op.view_of is not None:
            if varies(var) and _is_column(source) and not _is_column(var):
                self._parent[var] = var
            elif not (varies(var) and _is_column(var) and source in self._parent):
                self.refuse(uses([call]))
            return
        rows = [arg for arg in call.args if isinstance(arg, Var) and arg in self._parent]
        if not rows or (op is not None and op.valid is marked):  # may read beyond the valid part
            return
        tiles = [arg for arg in call.args if isinstance(arg.type, TileType)]
        if op is not None and op.masks:  # works on whole tiles, padding included
            if not varies(var):
                return
            tiles = rows
        together = op is not None and (op.masks or op.valid in ELEMENTWISE) and varies(var)
        if together and all(self._is_like(tile, var) for tile in tiles):
            self._parent[var] = self._root(rows[0])
            for row in rows[1:]:
                self._join(row, rows[0])
        else:
            self.refuse(rows)

    def refuse(self, variables: Iterable[Var]) -> None:
        """Record that something else reads variables."""
        self._refused.update(var for var in variables if var in self._parent)

    def rows(self) -> Iterator[Var]:
        """Yield the rows of groups without a refused member."""
        refused = {self._root(var) for var in self._refused}
        return (var for var in self._parent if self._root(var) not in refused)

    def _is_like(self, tile: Expr, var: Var) -> bool:
        """True if an operand has the result's shape, and is a grouped row or entirely valid."""
        assert isinstance(tile.type, TileType)
        assert isinstance(var.type, TileType)
        if not same_dims(tile.type.shape, var.type.shape):
            return False
        return tile in self._parent or not varies(tile)

    def _root(self, var: Var) -> Var:
        while self._parent[var] is not var:
            self._parent[var] = self._parent[self._parent[var]]
            var = self._parent[var]
        return var

    def _join(self, a: Var, b: Var) -> None:
        first, second = self._root(a), self._root(b)
        if first is not second:
            self._parent[second] = first


def varies(tile: Expr) -> bool:
    """True for a tile whose valid part is known only at run time."""
    kind = tile.type
    if not isinstance(kind, TileType):
        return False
    return any(const_value(dim) is None for dim in effective_view(kind).valid_shape)


def _is_column(tile: Expr) -> bool:
    return isinstance(tile.type, TileType) and is_column(tile.type)


def _whole(var: Var) -> TileType:
    assert isinstance(var.type, TileType)
    return TileType(var.type.shape, var.type.dtype, memref=var.type.memref)
