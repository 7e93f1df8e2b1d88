"""Parts put into tiles by way of memory, as ``tile[0:4, :] = part`` in a region does.

Such a put stores the tile whole in a new tensor, stores the part over it, and loads the result
whole. Expects functions in SSA form with flattened calls.
"""

from __future__ import annotations

from math import inf

from pypto._src.analysis.affine import Integers
from pypto._src.analysis.interval_sets import Cover
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, call_of, points_in
from pypto._src.ir.array_types import TensorType, TileType, same_dims
from pypto._src.ir.exprs import Call, Expr, MakeTuple, Var, const_value
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, Stmt
from pypto._src.ops import memory, tensor
from pypto._src.records import NamedTuple


class Put(NamedTuple):
    """The tile before, and for each dimension where the part may be, in any iteration.

    There are no covers where nothing is known of the part.
    """

    tile: Expr
    covers: tuple[Cover, ...]


class Puts:
    """The puts of one function.

    ``made`` has the tensors that it makes, ``copies`` the statements that store the tiles whole,
    ``found`` each put by the variable of its result.
    """

    def __init__(self, root: Block, integers: Integers) -> None:
        self.made: set[Expr] = set()
        self.copies: set[Stmt] = set()
        self.found: dict[Var, Put] = {}
        self._integers = integers
        self._copies: dict[Expr, AssignStmt] = {}
        self._stored: dict[Expr, Put] = {}
        for point in points_in(root):
            self._note(point)

    def _note(self, point: ProgramPoint) -> None:
        stmt, call = point.stmt, call_of(point.stmt)
        if not isinstance(stmt, AssignStmt) or call is None:
            return
        op = op_of(call)
        if op is tensor.create:
            self.made.add(stmt.var)
        elif op is memory.store:
            target = call.args[3]
            copy = self._copies.get(target)
            if copy is not None:
                assert isinstance(copy.value, Call)
                self.copies.add(copy)
                self._stored[stmt.var] = Put(copy.value.args[0], self._covers(point, call))
            elif target in self.made and _is_whole(call, target, call.args[0]):
                self._copies[stmt.var] = stmt
        elif op is memory.load and _is_whole(call, call.args[0], stmt.var):
            put = self._stored.get(call.args[0])
            if put is not None:
                self.found[stmt.var] = put

    def _covers(self, point: ProgramPoint, store: Call) -> tuple[Cover, ...]:
        """Return for each dimension the indices that a store may write."""
        offsets, sizes = store.args[1:3]
        if not isinstance(offsets, MakeTuple) or not isinstance(sizes, MakeTuple):
            return ()
        covers: list[Cover] = []
        for offset, size in zip(offsets.elements, sizes.elements, strict=True):
            low, high = self._integers.bounds(self._integers.form(offset, point.block))
            count = const_value(size)
            if -inf < low and high < inf and count is not None:
                covers.append(((int(low), int(high) + count),))
            else:
                covers.append(((-_ANYWHERE, _ANYWHERE),))
        return tuple(covers)


_ANYWHERE = 1 << 62


def _is_whole(call: Call, array: Expr, tile: Expr) -> bool:
    """True if a load or store moves a tile that is a whole tensor."""
    offsets, sizes = call.args[1:3]
    return (
        isinstance(array.type, TensorType)
        and isinstance(tile.type, TileType)
        and isinstance(offsets, MakeTuple)
        and isinstance(sizes, MakeTuple)
        and all(const_value(offset) == 0 for offset in offsets.elements)
        and same_dims(sizes.elements, array.type.shape)
        and same_dims(sizes.elements, tile.type.shape)
    )
