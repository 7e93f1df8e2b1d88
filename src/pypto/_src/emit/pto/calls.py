"""Calls of ops in the PTO dialect: operands, results, and what an op's own form may do.

Owns the standard form of an operation and the site that other forms write to
(`ir.emit_sites.PtoSite`). Does not know statements: the caller says which variable a call
defines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.kernel_state import Kernel
from pypto._src.emit.pto.regions import Write
from pypto._src.emit.pto.subtiles import Tile, TileAddress
from pypto._src.emit.pto.tensors import TensorName
from pypto._src.emit.pto.tile_allocations import Texts, address_of, memref_of
from pypto._src.emit.pto.types import parameter_type, scalar_dtype, tile_buf_type
from pypto._src.emit.tensor_parts import check_column
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import Call, ConstInt, Expr, GlobalVar, Var, const_value
from pypto._src.ir.op_params import AXIS, INDEX
from pypto._src.ir.opdef import OpDef, aliased, no_form, op_of
from pypto._src.ir.types import ScalarType
from pypto._src.ops import tensor as tensor_ops
from pypto._src.ops.layout import is_column
from pypto._src.ops.promotion.operands import check_equal


class Calls:
    """Writes calls into the body of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.site: Site | None = None  # of the call being written
        kernel.scalars.call = self.scalar

    def end(self) -> None:
        """Remove the scalars' reference to this object, to break a reference cycle."""
        del self.kernel.scalars.call

    def evaluate(self, call: Call) -> None:
        """Write a call for its effect, or nothing if it has none."""
        op = operator(call)
        is_unused_tile = isinstance(call.type, TileType)  # it has no destination buffer
        if not is_unused_tile and (op.writes or op.level == "system"):
            self._write(call, op, "", "")

    def tensor(self, value: Expr) -> TensorName:
        """Return the name of a tensor value; write the store first if it is one's result."""
        kernel = self.kernel
        value = kernel.item(value)
        if not isinstance(value, Call):
            return kernel.tensors.of(value)
        op = operator(value)
        if op is tensor_ops.view:
            return kernel.tensors.window(value.args[0], kernel.elements(value.args[2]))
        if op is tensor_ops.reshape_view:
            assert isinstance(value.type, TensorType)
            return kernel.tensors.reshaped(value.args[0], value.type)
        if op.level == "block" and len(op.writes) == 1:
            self._write(value, op, "", "")
            return kernel.tensors.of(value.args[next(iter(op.writes))])
        raise no_form(op, "PTO", "it is not an operation of a core")

    def tile(self, var: Var, value: Expr) -> None:
        """Bind a tile variable to ``value``, writing the call that computes it."""
        kernel = self.kernel
        value = kernel.item(value)
        source = aliased(value)
        if source is not None and source in kernel.addresses:
            kernel.addresses[var] = kernel.addresses[source]
        if not isinstance(value, Call):
            kernel.tiles[var] = kernel.tile(value)
            return
        op = operator(value)
        texts = kernel.buffers.texts_of(var)
        if kernel.buffers.reread(var, value):
            self._reread(var, texts)
            return
        name: str | None = None  # an alias of another tile, which `Site` names
        if source is None:
            name = kernel.buffer_names[kernel.buffers.of(var)]
            if texts.valid is not None:
                self._set_valid_shape(texts.valid, name, texts.name)
        site = self._write(value, op, name, texts.name)
        kernel.tiles[var] = site.dst, texts.name
        if site.address is not None:
            kernel.addresses[var] = site.address

    def _reread(self, var: Var, texts: Texts) -> None:
        """Bind a variable to its own allocation, which has the bytes of the tile it views."""
        kernel = self.kernel
        if not kernel.buffers.defines(var):
            raise EmitError(
                "the bytes of a column whose valid part is known only at run time are read as a "
                "row, which the PTO dialect cannot say where the assembler plans memory",
                var.span,
                hint="ir.compile(program, strategy=ir.OptimizationStrategy.Default)",
                slug="emit-op",
            )
        name = kernel.buffer_names[kernel.buffers.of(var)]
        assert texts.valid is not None
        self._set_valid_shape(texts.valid, name, texts.name)
        kernel.tiles[var] = name, texts.name

    def _set_valid_shape(
        self, valid: tuple[Expr | None, Expr | None], name: str, type_: str
    ) -> None:
        rows, columns = valid
        if rows is not None and columns is not None:
            sizes = [self.kernel.scalars.index(size) for size in (rows, columns)]
            self.kernel.body.emit(f"pto.set_validshape {name}, {', '.join(sizes)} : {type_}")

    def scalar(self, call: Call, long: bool) -> str:
        """Write a call with a scalar value; return it in the body's type, or an INT64 as i64."""
        op, dtype = operator(call), scalar_dtype(call)
        site = self._write(call, op, None, parameter_type(dtype))
        if site.known is not None:  # a size, which is `index`
            return self.kernel.scalars.index_to_i64(site.known) if long else site.known
        if dtype is DataType.INT64 and not long:
            return self.kernel.body.assign(f"arith.index_cast {site.dst} : i64 to index")
        return site.dst

    def _write(self, call: Call, op: OpDef[..., Any], dst: str | None, dst_type: str) -> Site:
        form = op.pto
        if form is None or op.unsupported is not None:
            raise no_form(op, "PTO", "it is not an operation of a core")
        check_equal(op, call)
        outer, site = self.site, Site(self, call, op, dst, dst_type)
        self.site = site
        try:
            if isinstance(form, str):
                site.standard(form)
            else:
                form(site)
        finally:
            self.site = outer
        return site

    def part(self, result: Tile, tile: Expr, row: Expr, column: Expr) -> TileAddress | None:
        """Write the part of a tile at a row and column; at level 3, return where it begins."""
        kernel = self.kernel
        (name, type_), kind = kernel.tile(tile), tile.type
        assert isinstance(kind, TileType)
        source = Tile(name, type_, kind)
        address: TileAddress | None = None
        if kernel.has_addresses:
            base = kernel.addresses.get(tile) or TileAddress(address_of(memref_of(tile)), None)
            address = kernel.parts.begin(kind, base, row, column)
        first, second = const_value(row), const_value(column)
        if address is not None and (address.moved is not None or name in kernel.body.reshapes):
            kernel.parts.at_address(result, address)
        elif first is not None and second is not None:
            kernel.parts.constant(result, source, first, second)
        else:
            kernel.parts.copied(result, source, row, column)
        return address


class Site:
    """One call, as the op's form sees it (`ir.emit_sites.PtoSite`)."""

    dst: str

    def __init__(
        self, calls: Calls, call: Call, op: OpDef[..., Any], dst: str | None, dst_type: str
    ) -> None:
        kernel = calls.kernel
        self._calls = calls
        self._kernel = kernel
        self.codegen = kernel.codegen
        self.call = call
        if dst is not None:
            self.dst = dst
        self.dst_type = dst_type
        self.known: str | None = None  # the existing value that the result equals, if any
        self.address: TileAddress | None = None  # where the result begins, if it is part of a tile
        names: list[str] = []
        types: list[str] = []
        for arg, param in zip(call.args, op.operands, strict=True):
            kind = arg.type
            if param.kind == AXIS:
                name, type_ = "", ""  # an attribute of the op, not an operand in the text
            elif isinstance(kind, ScalarType):
                dtype = kind.dtype if param.attr_type == INDEX else self._operand_dtype(kind.dtype)
                name, type_ = kernel.operand(arg, dtype)
            else:
                name, type_ = kernel.operand(arg)
            names.append(name)
            types.append(type_)
        self.args = tuple(names)
        self.arg_types = tuple(types)

    def __getattr__(self, name: str) -> str:
        """Name a scalar result when the op first asks for it, so that numbers follow the text."""
        if name != "dst":
            raise AttributeError(name)
        self.dst = self._kernel.body.fresh()
        return self.dst

    def _operand_dtype(self, dtype: DataType) -> DataType:
        """Return the type of a scalar operand beside tiles: their element type.

        No tile op takes ``index``, and a float constant is FP32 whatever the tiles are.
        """
        kinds = [arg.type for arg in self.call.args]
        element = next((k.dtype for k in kinds if isinstance(k, TileType)), None)
        if element is None and isinstance(self.call.type, TileType):
            element = self.call.type.dtype
        if element is None or element.get_bit() < 8:
            return dtype
        same_kind = element.is_float() == dtype.is_float()
        return element if same_kind or dtype is DataType.INDEX else dtype

    def emit(self, line: str) -> None:
        """Write one operation."""
        self._kernel.body.op(line)

    def expr(self, value: Expr) -> str:
        """Return the name of a scalar."""
        return self._kernel.scalars.value(value)

    def index(self, value: Expr) -> str:
        """Return the name of a scalar as ``index``."""
        return self._kernel.scalars.index(value)

    def long(self, value: Expr) -> str:
        """Return the name of a scalar as i64, with all its bits."""
        return self._kernel.scalars.long_value(value)

    def partition_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr]
    ) -> tuple[str, str]:
        """Write the view of part of a tensor; return its name and type.

        The tile that moves is the result or an operand.
        """
        moved = (self.call.type, *(arg.type for arg in self.call.args))
        if any(isinstance(kind, TileType) and is_column(kind) for kind in moved):
            sizes = [d.value if isinstance(d, ConstInt) else "?" for d in shape]
            check_column(sizes, self._kernel.tensors.of(tensor).strides)
        return self._kernel.tensors.region(tensor, offsets, shape)

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> tuple[str, str, str]:
        """Return pointer, linear index and pointee type of one element."""
        return self._kernel.tensors.element(tensor, indices)

    def alias(self, name: str) -> None:
        """Make the call's result the value ``name``, without emitting code."""
        self.known = name

    def reinterpret(self, tile: Expr | None, kind: TileType) -> tuple[str, str]:
        """Write a reshape of a tile, or of the result; return its name and type."""
        if tile is None:
            name, type_, space = self.dst, self.dst_type, operator(self.call).space_of(self.call)
        else:
            (name, type_), space = self._kernel.tile(tile), memref_of(tile).memory_space_
        other = tile_buf_type(kind, space)
        alias = self._kernel.body.assign(f"pto.treshape {name} : {type_} -> {other}")
        return alias, other

    def branch(self, condition: str, line: str, other: str) -> None:
        """Write a branch on an i1 with one line in each arm."""

        def write(text: str) -> Write:
            def emit(_inside: Sequence[str]) -> Sequence[str]:
                self.emit(text)
                return ()

            return emit

        self._kernel.regions.branch(condition, (), tuple, write(line), write(other))

    def part(self, row: Expr, column: Expr) -> None:
        """Make the result the part of the first operand that begins at a row and column."""
        kind = self.call.type
        assert isinstance(kind, TileType)
        result = Tile(self.dst, self.dst_type, kind)
        self.address = self._calls.part(result, self.call.args[0], row, column)

    def standard(self, mnemonic: str) -> None:
        """Write ``mnemonic ins(a, b : Ta, Tb) outs(d : Td)``."""
        names, types = ", ".join(filter(None, self.args)), ", ".join(filter(None, self.arg_types))
        self._kernel.body.operation(
            f"{mnemonic} ins({names} : {types})", f"outs({self.dst} : {self.dst_type})"
        )


def operator(call: Call) -> OpDef[..., Any]:
    """Return the registered op of a call.

    Raises:
        EmitError: it calls a function, or an unregistered op.
    """
    op = op_of(call)
    if op is not None:
        return op
    if isinstance(call.op, GlobalVar):
        raise EmitError(
            f"a kernel cannot call {call.op.name!r}",
            call.span,
            hint="run passes.convert_to_ssa() first, which inlines calls between kernels",
            slug="emit-call",
        )
    raise EmitError(f"the op {call.op.name} is not registered", call.span, slug="emit-op")
