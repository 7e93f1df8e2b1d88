"""Calls of ops in C++: the instruction of each, its operands, and the parts of tensors it touches.

Owns addresses inside tensors and what an op's own form may do (`ir.opdef.CppSite`). Refuses to know
statements: who writes a call says where its result goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto._src.dtypes import DataType
from pypto._src.emit.columns import check_column
from pypto._src.emit.cpp_index import folded
from pypto._src.emit.cpp_isa import ISAMapper
from pypto._src.emit.cpp_kernel import Kernel, space_of
from pypto._src.emit.cpp_tensors import (
    Place,
    column_part,
    constant_sizes,
    set_sizes,
    tile_rows_cols,
    valid_sizes,
)
from pypto._src.emit.cpp_types import Size
from pypto._src.errors import EmitError
from pypto._src.ir.nodes import (
    Add,
    Call,
    ConstInt,
    Expr,
    MakeTuple,
    Mul,
    TileType,
    Type,
    Var,
    binary,
    const_value,
    scalar_type,
)
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ops.layout import is_column


class Calls:
    """Writes calls into the body of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._mapper = ISAMapper()
        self._hints = kernel.options.scheduling_hints
        self._alone: dict[tuple[object, ...], tuple[Sequence[str], Call]] = {}
        self._sizes: dict[str, Var] = {}  # variables for sizes that are known at run time

    def write(self, call: Call, dst: str, kind: Type | None = None) -> None:
        """Write one call.

        Args:
            call: What is called.
            dst: The name of the result tile; the declaration of a scalar result; "" for none.
            kind: The type of the result tile's variable.

        Raises:
            EmitError: it has no C++ form.
        """
        op = op_of(call)
        if op is None:
            raise EmitError(f"the call of {call.op.name!r} was not expanded into the kernel")
        if not call.args and not dst:
            self._write_alone(op, call)
            return
        form = self._mapper.form(op)
        args = self.kernel.operands(call.args)
        remark = self._remark(op, call)
        if isinstance(form, str):
            parts = ", ".join(filter(None, (dst, *args)))
            self.kernel.body.emit_line(f"{form}({parts});{remark}")
        else:
            form(Site(self, call, dst, tuple(args), kind, remark, self.kernel.body.emit_line))

    def _write_alone(self, op: OpDef[..., object], call: Call) -> None:
        """Write a call without operands and result: its text follows from op and keywords alone."""
        kwargs = call.kwargs
        key = (op, *kwargs, *map(id, kwargs.values()))
        known = self._alone.get(key)
        if known is None:
            lines: list[str] = []
            site = Site(self, call, "", (), None, self._remark(op, call), lines.append)
            form = self._mapper.form(op)
            if isinstance(form, str):
                site.emit(f"{form}();")
            else:
                form(site)
            known = self._alone[key] = (lines, call)  # the call keeps what the key identifies
        for line in known[0]:
            self.kernel.body.emit_line(line)

    def _remark(self, op: OpDef[..., object], call: Call) -> str:
        """Return what ends the lines of a call: the pipe that runs it, where that was asked for."""
        pipe = op.pipe_of(call) if self._hints else None
        return f"  // {pipe.name}" if pipe is not None else ""

    # ----- parts of tensors -----------------------------------------------------------------

    def view(self, call: Call) -> Place:
        """Return the place that a call of `tensor.view` names."""
        kernel = self.kernel
        source = kernel.place(call.args[0])
        shape, offsets = call.args[1], call.args[2]
        assert isinstance(shape, MakeTuple)
        assert isinstance(offsets, MakeTuple)
        dims = [d.value if isinstance(d, ConstInt) else kernel.scalar(d) for d in shape.elements]
        text = self.offset(source, offsets.elements)
        pointer = text if text.isidentifier() else f"({text})"
        return Place(pointer, source.base, source.element, tuple(dims), source.strides, "")

    def offset(self, place: Place, offsets: Sequence[Expr]) -> str:
        """Return ``x + r * 64 + c`` for a place and one offset a dimension."""
        kernel = self.kernel
        if kernel.options.fold_constants or kernel.sharing is not None:
            return self._short_offset(place, offsets)
        text, parts = kernel.scalars.text, [place.pointer]
        for offset, stride in zip(offsets, place.strides, strict=True):
            parts.append(f"{text(offset, 11)} * {stride}" if stride != 1 else text(offset, 10))
        return " + ".join(parts)

    def _short_offset(self, place: Place, offsets: Sequence[Expr]) -> str:
        """Return an address whose offset is one expression, to be folded and shared."""
        total: Expr = ConstInt(0)
        for offset, stride in zip(offsets, place.strides, strict=True):
            total = binary(Add, total, binary(Mul, offset, self._size(stride)))
        total = folded(total, self.kernel.constants)
        if isinstance(total, ConstInt) and total.value == 0:
            return place.pointer
        return f"{place.pointer} + {self.kernel.scalar(total, 10)}"

    def _size(self, size: Size) -> Expr:
        if isinstance(size, int):
            return ConstInt(size)
        if size not in self._sizes:
            var = self._sizes[size] = Var(size, scalar_type(DataType.INDEX))
            self.kernel.context.register_var(var, size)
        return self._sizes[size]

    def region(
        self, place: Place, offsets: Sequence[Expr], shape: Sequence[Size], order: str
    ) -> str:
        """Return the GlobalTensor of a region, after pointing it there."""
        if (
            order == "ND"
            and place.whole
            and tuple(shape) == place.shape
            and all(const_value(offset) == 0 for offset in offsets)
        ):
            return place.whole
        address = self.offset(place, offsets)
        return self.point(self.kernel.regions.object_for(place, shape, order), address, shape)

    def point(self, name: str, address: str, shape: Sequence[Size]) -> str:
        """Point a GlobalTensor somewhere and give it its sizes; return its name."""
        self.kernel.body.emit_line(f"TASSIGN({name}, {address});")
        sizes = set_sizes(name, shape)
        if sizes is not None:
            self.kernel.body.emit_line(sizes)
        return name


class Site:
    """What an op's own C++ form may do (`CppSite`)."""

    __slots__ = ("_calls", "_kernel", "_kind", "_remark", "_write", "args", "call", "dst")

    def __init__(
        self,
        calls: Calls,
        call: Call,
        dst: str,
        args: tuple[str, ...],
        kind: Type | None,
        remark: str,
        write: Callable[[str], None],
    ) -> None:
        self._calls = calls
        self._kernel = calls.kernel
        self._kind = kind
        self._remark = remark  # ends each line
        self._write = write
        self.call = call
        self.dst = dst
        self.args = args

    def emit(self, line: str) -> None:
        """Write one line."""
        self._write(line + self._remark)

    def expr(self, value: Expr) -> str:
        """Return the text of a scalar."""
        return self._kernel.scalar(value)

    def global_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr], layout: str = "ND"
    ) -> str:
        """Return the GlobalTensor of a region, after pointing it there.

        The region is as large as the valid part of the tile that moves. Where a column goes in
        rows, the tile's name is from here on that of the same bytes in rows.
        """
        kernel, calls = self._kernel, self._calls
        place = kernel.place(tensor)
        tile, kind = self._moved()
        sizes: Sequence[Size] = constant_sizes(shape, "a region")
        valid = valid_sizes(kind)
        if len(valid) == len(sizes):
            sizes = [v.value if isinstance(v, ConstInt) else kernel.scalar(v) for v in valid]
        if layout == "ND":
            if is_column(kind):
                check_column(sizes, place.strides)
            return calls.region(place, offsets, sizes, layout)
        part = column_part(sizes, place.strides, kind.dtype.bytes)
        address = calls.offset(place, offsets)
        if part.order == "ND":
            self._name_rows(tile, kind, part.shape)
        there = place._replace(strides=part.strides)
        name = kernel.regions.object_for(there, part.shape, part.order)
        return calls.point(name, address, part.shape)

    def _moved(self) -> tuple[Expr | None, TileType]:
        """Return the tile that moves and its type; None stands for the result."""
        if isinstance(self._kind, TileType):
            return None, self._kind
        for tile in self.call.args:
            if isinstance(tile.type, TileType):
                return tile, tile.type
        raise EmitError(f"{self.call.op.name} moves no tile")

    def _name_rows(self, tile: Expr | None, kind: TileType, shape: Sequence[Size]) -> None:
        rows = TileType([int(size) for size in shape], kind.dtype)
        name = self.retype(tile, rows, "rows")
        if tile is None:
            self.dst = name
        else:
            index = next(i for i, arg in enumerate(self.call.args) if arg is tile)
            self.args = (*self.args[:index], name, *self.args[index + 1 :])

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> str:
        """Return the text of one element."""
        return f"*({self._calls.offset(self._kernel.place(tensor), indices)})"

    def retype(self, tile: Expr | None, kind: TileType, suffix: str) -> str:
        """Declare a tile over the bytes of another, or of the result; return its name."""
        kernel = self._kernel
        source = self.dst if tile is None else kernel.value(tile)
        # Two underscores in a row would make a name that C++ keeps for itself.
        name = kernel.context.fresh(f"{self.dst or source}_{suffix.strip('_')}")
        bare = TileType(kind.shape, kind.dtype, None, kind.tile_view)
        op = op_of(self.call)
        assert op is not None
        space = op.space_of(self.call) if tile is None else space_of(tile.type)
        rows, cols = tile_rows_cols(bare)
        kind_text = kernel.types.tile_type(bare, space, rows, cols)
        kernel.body.emit_line(f"using {name}Type = {kind_text};")
        kernel.body.emit_line(f"{name}Type {name}({rows}, {cols});")
        kernel.body.emit_line(f"TRESHAPE({name}, {source});")
        return name
