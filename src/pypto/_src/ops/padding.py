"""Decompositions of ops on padded tiles whose layout their instruction does not take.

Rows of a tile begin at a block (`layout.physical_shape`), so rows of elements of different sizes
are padded differently. An instruction that wants both tiles padded alike works on a copy of the one
with the larger elements, whose rows are as long as those of the other.

A column [N, 1] whose bytes fill whole blocks is column-major; any other is row-major, each element
at the start of a block (`layout.is_column`). Ops that mix the two, or take a column out of a wide
tensor, work on rows [N, K] of whole blocks whose first elements are those of the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pypto._src.errors import OpError
from pypto._src.ir.array_types import TileType, same_dims, static_shape, valid_part
from pypto._src.ir.exprs import Call, Expr, MakeTuple, Var, as_expr
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.opdef import op_of
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.layout import BLOCK_BYTES, declared_shape, is_column, rows_and_columns
from pypto._src.ops.reshaping import scratch_shape
from pypto._src.ops.rules.type_rules import called, dims

if TYPE_CHECKING:
    from pypto._src.ir.emit_sites import Let


def as_rows(column: Expr, width: int, let: Let) -> Expr:
    """Return a column [N, 1] broadcast to [N, width].

    Raises:
        OpError: no target broadcasts elements of this type.
    """
    kind = column.type
    assert isinstance(kind, TileType)
    count, _ = rows_and_columns(kind)
    if len(kind.shape) > 2:
        flat = REGISTRY["block.reshape"].build([column, [count, 1]], {}, column.span)
        column = let("flat", flat)
    op = REGISTRY["block.row_expand"]
    if kind.dtype not in op.dtypes or op.with_scratch is None:
        raise OpError(
            f"the A2/A3 chip cannot broadcast elements of {kind.dtype.member}, and a column "
            f"{dims(kind.shape)} of them does not fill whole blocks",
            hint=f"read it as a row: pl.reshape({user_name(column)}, [1, {count}])"
            if isinstance(column, Var)
            else None,
            slug="column-vector",
        )
    operands = (column, MakeTuple([count, width]))
    wide = op.with_scratch.result_type(operands, {})
    return let("rows", Call(op, operands, {}, wide, column.span))


def first_column(rows: Expr, like: TileType, let: Let) -> Call:
    """Return the first elements of block-aligned rows [N, K] as a column shaped like ``like``."""
    kind = rows.type
    assert isinstance(kind, TileType)
    shape = static_shape(kind)
    assert shape is not None
    count = shape[0]
    column = TileType((count, 1), kind.dtype)
    part = REGISTRY["block.view"]
    if not is_column(column):
        found = part.build([rows, [count, 1], [0, 0]], {}, rows.span)
    else:
        room = scratch_shape(shape[::-1], kind.dtype)
        scratch = REGISTRY["block.create_tile"].build([room, kind.dtype], {}, rows.span)
        turned = REGISTRY["block.transpose"].build([rows, let("scratch", scratch), 0, 1], {})
        line = part.build([let("turned", turned), [1, count], [0, 0]], {}, rows.span)
        found = REGISTRY["block.reshape"].build([let("line", line), [count, 1]], {}, rows.span)
    if same_dims(like.shape, column.shape):
        return found
    return REGISTRY["block.reshape"].build([let("column", found), like.shape], {}, rows.span)


def on_equal_rows(call: Call, let: Let) -> Expr:
    """Decompose an op on one tile whose result is padded differently.

    y = cast(x)  ->  w = x in longer rows; v = cast(w); y = the same bytes as a padded tile
    """
    tile, result = call.args[0], call.type
    kind, op = tile.type, op_of(call)
    assert op is not None
    assert isinstance(kind, TileType)
    assert isinstance(result, TileType)
    if valid_part(kind) is not None:
        raise OpError(
            f"{called(op)} takes tiles that are valid in part where their rows have as many "
            f"bytes as they take, {dims(kind.shape)} has fewer",
            hint="load it with a number of columns that is a multiple of 32",
            slug="valid-shape",
        )
    size, is_flat = rows_and_columns(kind), len(kind.shape) == 2
    reshape = REGISTRY["block.reshape"]
    if not is_flat:
        tile = let("flat", reshape.build([tile, size], {}, call.span))
    longer = size[0], max(declared_shape(kind)[1], declared_shape(result)[1])
    wide = let("wide", relaid(tile, longer, size))
    found = relaid(let("value", op.call([wide], call.kwargs, call.span)), size, None)
    if is_flat:
        return found
    return reshape.call([let("found", found), MakeTuple(result.shape)], {}, call.span)


def relaid(tile: Expr, shape: Sequence[Any], valid: Sequence[Any] | None) -> Call:
    """Return the elements of a tile as a tile of ``shape`` valid in ``valid``, throughout if None.

    If the rows of the two are equally long, nothing is copied.
    """
    kind = tile.type
    assert isinstance(kind, TileType)
    new = TileType(tuple(as_expr(size) for size in shape), kind.dtype)
    same = declared_shape(kind) == declared_shape(new)
    op = REGISTRY["block.view" if same else "block.vec_move"]
    form = op.with_scratch
    assert form is not None
    if not same and kind.dtype not in form.dtypes:
        raise OpError(
            f"the A2/A3 chip copies no elements of {kind.dtype.member} to rows of another length, "
            f"and those of {dims(kind.shape)} are padded",
            hint="give the tile a number of columns that is a multiple of 32",
            slug="tile-layout",
        )
    operands = [tile, MakeTuple(shape), MakeTuple(new.shape if valid is None else valid)]
    if same:
        operands.insert(2, MakeTuple([0] * len(shape)))
    return Call(op, operands, {}, form.result_type(tuple(operands), {}), tile.span)


def block_of(kind: TileType) -> int:
    """Return how many elements a block holds."""
    return max(1, BLOCK_BYTES // kind.dtype.bytes)
