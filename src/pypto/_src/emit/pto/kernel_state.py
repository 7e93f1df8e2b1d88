"""The state of one kernel that the parts of the generator share while they write it.

Owns what each variable denotes: a scalar's name, a tensor's view, a tile's buffer, the elements
of a tuple. Does not know statements, calls or the head of the function.
"""

from __future__ import annotations

from typing import Any

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.function_body import Body
from pypto._src.emit.pto.int64 import long_variables
from pypto._src.emit.pto.regions import Regions
from pypto._src.emit.pto.scalar_exprs import Scalars
from pypto._src.emit.pto.subtiles import Parts, TileAddress
from pypto._src.emit.pto.tensors import Tensors
from pypto._src.emit.pto.tile_allocations import Buffers, Key
from pypto._src.emit.pto.types import rows_and_columns, value_type
from pypto._src.emit.writer import RUN_PASSES
from pypto._src.errors import EmitError, of_type
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import Expr, MakeTuple, TupleGetItemExpr, Var
from pypto._src.ir.stmts import ForStmt, Function
from pypto._src.ir.types import ScalarType


class Kernel:
    """The state of the generator for one function.

    Args:
        function: The function that is written.
        has_addresses: Tiles have addresses (level 3).
        codegen: What the forms of ops see as ``site.codegen``.
        locations: Operations have the source spans that they come from.
    """

    def __init__(
        self, function: Function, has_addresses: bool, codegen: Any, locations: bool
    ) -> None:
        self.function = function
        self.has_addresses = has_addresses
        self.codegen = codegen
        self.body = Body(locations)
        self.body.span = function.span
        self.scalars = Scalars(self.body, long_variables(function))
        self.tensors = Tensors(self.body, self.scalars)
        self.regions = Regions(self.body)
        self.parts = Parts(self.body, self.scalars, self.regions)
        self.buffers = Buffers(function, has_addresses=has_addresses)
        # The document numbers allocations before views.
        self.buffer_names: dict[Key, str] = {key: self.body.fresh() for key, _ in self.buffers}
        self.inner_buffers: dict[ForStmt, list[Key]] = {}  # buffers allocated inside a loop
        self.tiles: dict[Expr, tuple[str, str]] = {}  # name and type
        self.addresses: dict[Expr, TileAddress] = {}  # of parts of tiles, at level 3
        self.tuples: dict[Expr, tuple[Expr, ...]] = {}

    def operand(self, value: Expr, dtype: DataType | None = None) -> tuple[str, str]:
        """Return an operand's name and type, or ""; ``dtype`` None keeps a scalar's own type."""
        kind = value.type
        if isinstance(kind, TileType):
            return self.tile(value)
        if isinstance(kind, TensorType):
            tensor = self.tensors.of(value)
            return tensor.view, tensor.view_type
        if isinstance(kind, ScalarType):
            dtype = kind.dtype if dtype is None else dtype
            return self.scalars.value_as(value, dtype), value_type(dtype)
        return "", ""

    def tile(self, value: Expr) -> tuple[str, str]:
        """Return name and type of a tile variable."""
        found = self.tiles.get(value)
        if found is None:
            name = repr(value.name) if isinstance(value, Var) else "a call inside another"
            raise EmitError(
                f"{name} is not a tile that is defined here",
                value.span,
                hint=None if isinstance(value, Var) else RUN_PASSES,
                slug="emit-undefined",
            )
        return found

    def allocate(self, key: Key) -> None:
        """Write the allocation of a buffer, or the reshape that defines it."""
        buffer, name = self.buffers[key], self.buffer_names[key]
        if buffer.alias_of is not None:
            whole = self.buffers[buffer.alias_of]
            self.body.emit(
                f"{name} = pto.treshape {self.buffer_names[buffer.alias_of]} : "
                f"{whole.type_text} -> {buffer.type_text}"
            )
            return
        operands = ""
        if self.has_addresses:
            operands = f" addr = {self.body.integer(buffer.address, 'i64')}"
        if self.buffers.texts(buffer.kind, buffer.space).valid is not None:
            rows, columns = rows_and_columns(buffer.kind)
            operands += f" valid_row = {self.body.index(rows)}"
            operands += f" valid_col = {self.body.index(columns)}"
        self.body.emit(f"{name} = pto.alloc_tile{operands} : {buffer.type_text}")

    def own_buffer(self, var: Var) -> None:
        """Bind a tile variable to the buffer that it is written to."""
        key = self.buffers.of(var)
        self.tiles[var] = self.buffer_names[key], self.buffers[key].type_text

    def elements(self, value: Expr) -> tuple[Expr, ...]:
        """Return the elements of a tuple."""
        if isinstance(value, MakeTuple):
            return value.elements
        if value in self.tuples:
            return self.tuples[value]
        raise EmitError(f"{of_type(value)} is not a tuple of values here", value.span)

    def item(self, value: Expr) -> Expr:
        """Return the element that a tuple access denotes; anything else is returned unchanged."""
        while isinstance(value, TupleGetItemExpr):
            value = self.elements(value.tuple)[value.index]
        return value
