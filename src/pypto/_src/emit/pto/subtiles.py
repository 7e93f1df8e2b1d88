"""Parts of tiles that begin at an offset known at run time, in the PTO dialect.

The assembler's own form of a part has a type that follows from the offset, so its offset must be
constant. With addresses (level 3) a part is one more allocation, at an address computed at run
time. Where the assembler plans memory it is a copy of a constant part, selected by a binary search
over all offsets; parts are never written, so a copy is equivalent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.function_body import Body
from pypto._src.emit.pto.regions import Regions, Write
from pypto._src.emit.pto.scalar_exprs import Scalars
from pypto._src.emit.pto.types import declared_shape, rows_and_columns, tile_buf_type
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Expr, const_value
from pypto._src.ops.layout import BLOCK_BYTES, is_padded
from pypto._src.records import NamedTuple

MOST_OFFSETS: Final = 1024
"""The most offsets that a part may be selected from; each takes a few lines."""


class Tile(NamedTuple):
    """A tile as it appears in the text."""

    name: str
    type: str
    kind: TileType


class TileAddress(NamedTuple):
    """Where a tile begins in its memory, in bytes: a constant plus an ``index`` value, if any."""

    constant: int
    moved: str | None


class Parts:
    """Writes parts of tiles in vector memory."""

    def __init__(self, body: Body, scalars: Scalars, regions: Regions) -> None:
        self.body = body
        self.scalars = scalars
        self.regions = regions

    def constant(self, result: Tile, source: Tile, row: int, column: int) -> None:
        """Write the part of a tile that begins at a constant offset."""
        source = self._allocated(source)
        self.body.emit(f"{result.name} = {self._cut(source, result, row, column)}")

    def _cut(self, source: Tile, result: Tile, row: int, column: int) -> str:
        """Return the operation that takes a part at a constant offset."""
        rows, columns = declared_shape(result.kind, MemorySpace.Vec)
        offset = f"{self.body.index(row)}, {self.body.index(column)}"
        part = f"pto.subset {source.name}[{offset}] sizes [{rows}, {columns}] : {source.type}"
        if not (is_padded(source.kind) or is_padded(result.kind)):
            return part
        # A subset is entirely valid.
        whole = tile_buf_type(TileType([rows, columns], result.kind.dtype), MemorySpace.Vec)
        return f"pto.treshape {self.body.assign(part)} : {whole} -> {result.type}"

    def _allocated(self, tile: Tile) -> Tile:
        """Return a tile that a subset can be taken of.

        Trap: the assembler rejects a subset of a treshape's result, so that is copied first.
        """
        if tile.name not in self.body.reshapes:
            return tile
        type_ = tile_buf_type(tile.kind, MemorySpace.Vec)
        copy = Tile(self.body.assign(f"pto.alloc_tile : {type_}"), type_, tile.kind)
        self._move(tile, copy)
        return copy

    def _move(self, source: Tile, target: Tile) -> None:
        source, target = self._movable(source), self._movable(target)
        self.body.op(
            f"pto.tmov ins({source.name} : {source.type}) outs({target.name} : {target.type})"
        )

    def _movable(self, tile: Tile) -> Tile:
        """Return a tile that can be moved: UINT64, which no move takes, viewed as INT64."""
        if tile.kind.dtype is not DataType.UINT64:
            return tile
        kind = TileType(rows_and_columns(tile.kind), DataType.INT64)
        type_ = tile_buf_type(kind, MemorySpace.Vec)
        name = self.body.assign(f"pto.treshape {tile.name} : {tile.type} -> {type_}")
        return Tile(name, type_, kind)

    def at_address(self, result: Tile, begin: TileAddress) -> None:
        """Write an allocation for ``result`` at its address."""
        address = self.body.integer(begin.constant, "i64")
        if begin.moved is not None:
            wide = self.body.assign(f"arith.index_cast {begin.moved} : index to i64")
            address = self.body.assign(f"arith.addi {address}, {wide} : i64")
        self.body.emit(f"{result.name} = pto.alloc_tile addr = {address} : {result.type}")

    def begin(self, source: TileType, base: TileAddress, row: Expr, column: Expr) -> TileAddress:
        """Return the address of a part, given that of its tile."""
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
        return TileAddress(fixed, self.scalars.sum_of_products(terms) if terms else None)

    def copied(self, result: Tile, source: Tile, row: Expr, column: Expr) -> None:
        """Write an allocation for ``result``, and a copy of the part of ``source`` to it.

        Raises:
            EmitError: there are too many offsets to select from.
        """
        self.body.emit(f"{result.name} = pto.alloc_tile : {result.type}")
        source = self._allocated(source)
        rows, columns = declared_shape(source.kind, MemorySpace.Vec)
        count, width = declared_shape(result.kind, MemorySpace.Vec)
        unit = BLOCK_BYTES // source.kind.dtype.bytes
        in_row = 1  # offsets in one row
        if width == columns:
            offset = self.scalars.index(row)
        else:  # part of one row, aligned to a block
            in_row = (columns - width) // unit + 1
            block = self.body.assign(
                f"arith.divsi {self.scalars.index(column)}, {self.body.index(unit)} : index"
            )
            offset = self.scalars.sum_of_products([(row, in_row), (block, 1)])
        offsets = (rows - count + 1) * in_row
        if offsets > MOST_OFFSETS:
            raise EmitError(
                f"a part may begin at {offsets} offsets in its tile, the PTO dialect chooses from "
                f"{MOST_OFFSETS} at most where the assembler plans memory",
                hint="ir.compile(program, strategy=ir.OptimizationStrategy.Default)",
                slug="emit-op",
            )

        def copy(index: int) -> None:
            line = self._cut(source, result, index // in_row, index % in_row * unit)
            self._move(Tile(self.body.assign(line), result.type, result.kind), result)

        self._choose(offset, 0, offsets, copy)

    def _choose(self, offset: str, low: int, high: int, write: Callable[[int], None]) -> None:
        """Write branches that run ``write(offset)`` for an offset in [``low``, ``high``)."""
        if high - low == 1:
            write(low)
            return
        middle = (low + high) // 2
        below = self.body.assign(f"arith.cmpi slt, {offset}, {self.body.index(middle)} : index")

        def half(low: int, high: int) -> Write:
            def choose(_inside: Sequence[str]) -> Sequence[str]:
                self._choose(offset, low, high, write)
                return ()

            return choose

        self.regions.branch(below, (), tuple, half(low, middle), half(middle, high))
