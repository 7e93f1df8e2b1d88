"""Parts of tiles that begin at a place known at run time, in the PTO dialect.

The assembler's own form of a part has a type that follows from the place, so its place is a
constant. With addresses (level 3) a part is one more allocation, at an address computed at run
time. Where the assembler plans memory it is a copy of the part that is chosen among all there are,
by halving; nobody writes to a part, so the copy is as good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.function_body import Body
from pypto._src.emit.pto.scalar_exprs import Scalars
from pypto._src.emit.pto.types import declared_shape, rows_and_columns, tile_buf_type
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Expr, const_value
from pypto._src.ops.layout import BLOCK_BYTES, is_padded
from pypto._src.records import NamedTuple

MOST_PLACES: Final = 1024
"""How many places a part may be chosen from; each takes a few lines."""


class Tile(NamedTuple):
    """A tile as the text has it."""

    name: str
    type: str
    kind: TileType


class Place(NamedTuple):
    """Where a tile begins in its memory: a number of bytes, and another, an ``index`` value."""

    constant: int
    moved: str | None


class Parts:
    """Writes parts of tiles in vector memory."""

    def __init__(self, body: Body, scalars: Scalars) -> None:
        self.body = body
        self.scalars = scalars

    def constant(self, result: Tile, source: Tile, row: int, column: int) -> None:
        """Write the part of a tile that begins at a constant place."""
        rows, columns = declared_shape(result.kind, MemorySpace.Vec)
        place = f"{self.body.index(row)}, {self.body.index(column)}"
        part = f"pto.subset {source.name}[{place}] sizes [{rows}, {columns}] : {source.type}"
        if not (is_padded(source.kind) or is_padded(result.kind)):
            self.body.emit(f"{result.name} = {part}")
            return
        # A subset is valid throughout.
        whole = tile_buf_type(TileType([rows, columns], result.kind.dtype), MemorySpace.Vec)
        name = self.body.assign(part)
        self.body.emit(f"{result.name} = pto.treshape {name} : {whole} -> {result.type}")

    def placed(self, result: Tile, begin: Place) -> None:
        """Write an allocation for ``result`` at an address known at run time."""
        assert begin.moved is not None
        wide = self.body.assign(f"arith.index_cast {begin.moved} : index to i64")
        base = self.body.integer(begin.constant, "i64")
        address = self.body.assign(f"arith.addi {base}, {wide} : i64")
        self.body.emit(f"{result.name} = pto.alloc_tile addr = {address} : {result.type}")

    def begin(self, source: TileType, base: Place, row: Expr, column: Expr) -> Place:
        """Return where a part begins, given where its tile does."""
        _, columns = declared_shape(source, MemorySpace.Vec)
        size = source.dtype.bytes
        fixed, moved = base.constant, [] if base.moved is None else [(base.moved, 1)]
        terms: list[tuple[Expr | str | int, str | int]] = list(moved)
        for index, step in ((row, columns * size), (column, size)):
            known = const_value(index)
            if known is None:
                terms.append((index, step))
            else:
                fixed += known * step
        return Place(fixed, self.scalars.sum_of_products(terms) if terms else None)

    def copied(self, result: Tile, source: Tile, row: Expr, column: Expr) -> None:
        """Write an allocation for ``result``, and a copy of the part of ``source`` to it.

        Raises:
            EmitError: there are too many places to choose from.
        """
        self.body.emit(f"{result.name} = pto.alloc_tile : {result.type}")
        rows, columns = rows_and_columns(source.kind)
        count, width = rows_and_columns(result.kind)
        if width == columns:
            unit, place = columns, self.scalars.index(row)
        else:
            # Part of one row: the tile as rows of one block each.
            unit = BLOCK_BYTES // source.kind.dtype.bytes
            begin = self.scalars.sum_of_products([(row, columns), (column, 1)])
            place = self.body.assign(f"arith.divsi {begin}, {self.body.index(unit)} : index")
            rows, count = rows * columns // unit, count * width // unit
        places = rows - count + 1
        if places > MOST_PLACES:
            raise EmitError(
                f"a part may begin at {places} places of its tile, the PTO dialect chooses from "
                f"{MOST_PLACES} at most where the assembler plans memory",
                hint="ir.compile(program, strategy=ir.OptimizationStrategy.Default)",
                slug="emit-op",
            )
        whole, part = self._as(source, rows, unit), self._as(result, count, unit)

        def copy(index: int) -> None:
            inner = self.body.assign(
                f"pto.subset {whole.name}[{self.body.index(index)}, {self.body.index(0)}] "
                f"sizes [{count}, {unit}] : {whole.type}"
            )
            self.body.op(f"pto.tmov ins({inner} : {part.type}) outs({part.name} : {part.type})")

        self._choose(place, 0, places, copy)

    def _as(self, tile: Tile, rows: int, columns: int) -> Tile:
        """Return a tile as [rows, columns]; elements that no move takes as those of equal size."""
        dtype = DataType.INT64 if tile.kind.dtype is DataType.UINT64 else tile.kind.dtype
        if (rows, columns) == rows_and_columns(tile.kind) and dtype is tile.kind.dtype:
            return tile
        kind = TileType([rows, columns], dtype)
        type_ = tile_buf_type(kind, MemorySpace.Vec)
        name = self.body.assign(f"pto.treshape {tile.name} : {tile.type} -> {type_}")
        return Tile(name, type_, kind)

    def _choose(self, place: str, low: int, high: int, write: Callable[[int], None]) -> None:
        """Write ``write(place)`` for a place from ``low`` to below ``high``."""
        if high - low == 1:
            write(low)
            return
        middle = (low + high) // 2
        below = self.body.assign(f"arith.cmpi slt, {place}, {self.body.index(middle)} : index")
        self.body.emit(f"scf.if {below} {{")
        with self.body.indented():
            self._choose(place, low, middle, write)
        self.body.emit("} else {")
        with self.body.indented():
            self._choose(place, middle, high, write)
        self.body.emit("}")
