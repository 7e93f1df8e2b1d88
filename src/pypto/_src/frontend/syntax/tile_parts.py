"""Parts of tiles, and tiles with a part replaced by another tile.

A part is a view (`new_tiles.view`); that of a column is a view of the row with the same bytes.
Knows which ops make a part, but not which syntax means one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pypto._src.errors import ParserError, ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.known_sizes import number_of
from pypto._src.frontend.state.messages import describe, spell_dims
from pypto._src.ir.array_types import TensorType, TileType, static_shape, valid_part
from pypto._src.ir.enums import AtomicType
from pypto._src.ir.exprs import Expr, Var, as_expr
from pypto._src.ir.opdef import OpDef
from pypto._src.ops import memory, new_tiles, reshaping
from pypto._src.ops.define import BY_PYTHON_NAME
from pypto._src.ops.layout import is_column

Make = Callable[..., Expr]
"""Builds the call of an op: `calls.op_call`."""


class TileParts:
    """Makes parts of tiles, for one node of a function."""

    def __init__(self, ctx: Context, make: Make, node: ast.AST) -> None:
        self.ctx = ctx
        self._make = make
        self.node = node

    def _call(self, op: OpDef[..., Any], *args: Any, **words: Any) -> Expr:
        return self._make(self.ctx, op, args, words, self.node)

    def part(self, tile: Expr, shape: Sequence[Any], begins: Sequence[Any]) -> Expr:
        """Return the part of size ``shape`` of a tile that begins at ``begins``."""
        kind = cast("TileType", tile.type)
        try:
            return self._call(new_tiles.view, tile, shape, begins)
        except ParserError as error:
            if error.slug == "argument-kind":  # shape or offset is no list
                raise
            whole = static_shape(kind)
            sizes = [size for size in shape if isinstance(size, int)]
            ranks = {len(begins), len(sizes), len(shape), *([] if whole is None else [len(whole)])}
            if whole is None or ranks != {2} or valid_part(kind) is not None:
                raise
            if self._leaves(whole, begins, sizes) or not is_column(kind):
                raise
        row = self._call(reshaping.reshape, tile, [1, whole[0]])
        row = self._call(new_tiles.view, row, [1, sizes[0]], [0, begins[0]])
        return self._call(reshaping.reshape, row, sizes)

    def _leaves(self, whole: Sequence[int], begins: Sequence[Any], sizes: Sequence[int]) -> bool:
        """True if a part is known not to be within the tile."""
        known = [number_of(begin, self.ctx.constants) for begin in begins]
        return any(
            begin is not None and not 0 <= begin <= limit - size
            for begin, limit, size in zip(known, whole, sizes, strict=True)
        )

    def _swapped(self, tile: Expr) -> Expr:
        return self._call(reshaping.transpose, tile, 0, 1)

    def sliced(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Expr | None:
        """Return ``pl.slice(x, shape, offset, valid_shape)`` in a kernel; None for other arguments.

        For a tensor it is a load, for a tile a part of it.
        """
        names = ("x", "shape", "offset", "valid_shape")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        source = given.get("x")
        if len(args) > len(names) or not {"shape", "offset"} <= given.keys() <= set(names):
            return None
        shape, offset, valid = given["shape"], given["offset"], given.get("valid_shape")
        if isinstance(source, Expr) and isinstance(source.type, TensorType):
            words: dict[str, Any] = {} if valid is None else {"valid_shapes": valid}
            return self._call(memory.load, source, offset, shape, **words)
        if not isinstance(source, Expr) or not isinstance(source.type, TileType):
            return None
        made = self.part(source, shape, offset)
        if valid is None:
            return made
        return self._call(BY_PYTHON_NAME["block", "set_validshape"], made, valid)

    def assembled(self, target: Expr, source: Expr, offset: Sequence[Any]) -> Expr:
        """Return a copy of the tile ``target`` with the part at ``offset`` replaced by ``source``.

        Raises:
            ParserTypeError: the offset is known only at run time, or the part leaves the tile.
        """
        whole, sizes = self._matrix(target), self._matrix(source)
        known = [number_of(begin, self.ctx.constants) for begin in offset]
        begins = [begin for begin in known if begin is not None]
        if len(begins) != 2 or len(known) != 2:
            raise ParserTypeError(
                "a tile is put into another one at an offset that is known when it is compiled, "
                f"got {spell_dims([as_expr(begin) for begin in offset])}",
                self.ctx.span(self.node),
                hint="store both in a tensor: pl.store(tile, [row, 0], out)",
                slug="slice-size",
            )
        if self._leaves(whole, begins, sizes):
            last = [limit - size for limit, size in zip(whole, sizes, strict=True)]
            raise ParserTypeError(
                f"a tile {list(sizes)} at {begins} leaves the tile {list(whole)} that it is put "
                "into",
                self.ctx.span(self.node),
                hint=f"write offset={last}" if min(last) >= 0 else None,
                slug="out-of-bounds",
            )
        if not isinstance(target, Var):
            held = Var("_tmp", target.type, target.span)
            self.ctx.append(held, target, target.span)
            target = held
        (row, column), (rows, columns) = begins, sizes
        middle = source
        if columns < whole[1]:
            beside = self._box(target, rows, whole[1], row, 0)
            rest = whole[1] - column - columns
            left = self._box(beside, rows, column, 0, 0)
            right = self._box(beside, rows, rest, 0, column + columns)
            middle = self._side_by_side([left, source, right])
        if rows == whole[0]:
            return middle
        above = self._box(target, row, whole[1], 0, 0)
        below = self._box(target, whole[0] - row - rows, whole[1], row + rows, 0)
        parts = [None if t is None else self._swapped(t) for t in (above, middle, below)]
        return self._swapped(self._side_by_side(parts))

    def _matrix(self, tile: Expr) -> Sequence[int]:
        """Return the constant numbers of rows and columns of a fully valid tile."""
        kind = tile.type
        shape = static_shape(cast("TileType", kind))
        if shape is None or len(shape) != 2 or valid_part(kind) is not None:
            raise ParserTypeError(
                "only fully valid tiles of two dimensions can be put together, "
                f"{describe(tile)} is not one",
                self.ctx.span(self.node),
                hint="fill what is not valid: pl.fillpad(tile)",
                slug="tile-rank",
            )
        return shape

    def _box(
        self, tile: Expr | None, rows: int, columns: int, row: int, column: int
    ) -> Expr | None:
        """Return a part of a tile, None if it has no elements."""
        if tile is None or not rows or not columns:
            return None
        return self.part(tile, [rows, columns], [row, column])

    def _side_by_side(self, tiles: Sequence[Expr | None]) -> Expr:
        found = [tile for tile in tiles if tile is not None]
        joined = found[0]
        for tile in found[1:]:
            joined = self._call(BY_PYTHON_NAME["block", "concat"], joined, tile)
        return joined


def store_op(ctx: Context, atomic: Any, node: ast.AST) -> OpDef[..., Any]:
    """Return the op that stores as ``atomic=`` asks for."""
    if atomic is None or atomic is AtomicType.None_:
        return memory.store
    if atomic is AtomicType.Add:
        return BY_PYTHON_NAME["block", "store_add"]
    raise ParserTypeError(
        f"atomic= says what a store does with what is there, got {describe(atomic)}",
        ctx.span(node),
        hint="write atomic=pl.AtomicType.Add",
        slug="region-option",
    )
