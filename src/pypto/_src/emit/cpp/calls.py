"""Calls of ops in C++: the instruction of each, its operands, and the parts of tensors it touches.

Owns addresses inside tensors and what an op's own form may do (`ir.emit_sites.CppSite`). Does not
know statements: the caller says where a call's result goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.kernel_state import Kernel, space_of
from pypto._src.emit.cpp.tensors import (
    TensorRef,
    column_part,
    constant_sizes,
    set_sizes,
    tile_rows_cols,
    valid_sizes,
)
from pypto._src.emit.cpp.types import Size, row_major
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TileType, dtype_of
from pypto._src.ir.exprs import (
    Add,
    Call,
    Cast,
    ConstInt,
    Expr,
    MakeTuple,
    Mul,
    Var,
    binary,
    const_value,
)
from pypto._src.ir.op_params import SCALAR, TILE
from pypto._src.ir.opdef import OpDef, no_form, op_of
from pypto._src.ir.types import Type, scalar_type
from pypto._src.ops.layout import declared_shape, is_column
from pypto._src.ops.promotion.operands import check_equal

if TYPE_CHECKING:
    from pypto._src.ir.emit_sites import CppSite

Form: TypeAlias = "str | Callable[[CppSite], None]"


def form_of(op: OpDef[..., Any]) -> Form:
    """Return how an op is written: an instruction's name, or a function that writes it.

    Raises:
        EmitError: it has no C++ form; the message says why.
    """
    if op.isa is None:
        raise no_form(op, "C++", "none is known")
    return op.isa


def _as_wide(offset: Expr) -> Expr:
    """Widen an offset to 64 bits: a tensor may have more elements than its type can count."""
    dtype = dtype_of(offset)
    return offset if dtype.get_bit() >= 64 else Cast(offset, DataType.INT64, offset.span)


def _literal(offset: Expr, stride: Size) -> str | None:
    """Return a constant whose product with ``stride`` overflows C++'s int."""
    if (
        isinstance(offset, ConstInt)
        and isinstance(stride, int)
        and offset.value * stride >= 1 << 31
    ):
        return f"{offset.value}LL"
    return None


class Calls:
    """Writes calls into the body of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._given = kernel.context.given
        self._hints = kernel.options.scheduling_hints
        self._use_names = (
            not kernel.options.fold_constants
        )  # operands can be emitted as plain names
        self._forms: dict[tuple[object, int], _Form] = {}  # by op and number of operands
        # By op and identity of the keywords, which are kept alive; see `lines_alone`.
        self._alone: dict[tuple[object, int], tuple[Sequence[str], object]] = {}
        self._is_text = self._use_names and kernel.sharing is None  # addresses need no statements
        # The GlobalTensors of regions and the lines that point them there, by the identity of what
        # they depend on, which the value keeps alive: long kernels repeat the same few lists.
        self._views: dict[tuple[int, ...], tuple[str, str, object]] = {}
        self._sizes: dict[str, Var] = {}  # variables for sizes known only at run time

    def write(self, call: Call, dst: str, kind: Type | None = None) -> None:
        """Write one call.

        Args:
            call: What is called.
            dst: The name of the result tile; the declaration of a scalar result; "" for none.
            kind: The type of the result tile's variable.

        Raises:
            EmitError: it has no C++ form.
        """
        kernel = self.kernel
        args = call.args
        op, form, is_plain = self._forms.get((call.op, len(args))) or self._form(call)
        if op.promotion is not None and op.promotion.differ(args):
            check_equal(op, call)
        remark = self._remark(op, call) if self._hints else ""
        if is_plain and self._use_names:
            given, names = self._given, [dst] if dst else []
            for arg in args:
                if arg not in given:
                    break
                names.append(given[arg])
            else:
                kernel.body.emit_line(f"{form}({', '.join(names)});{remark}")
                return
        texts = kernel.operands(call.args)
        if isinstance(form, str):
            kernel.body.emit_line(f"{form}({', '.join(filter(None, (dst, *texts)))});{remark}")
        else:
            form(Site(self, call, dst, tuple(texts), kind, remark, kernel.body.emit_line))

    def lines_alone(self, call: Call) -> Sequence[str]:
        """Return the lines of a call without operands and result: op and keywords decide them."""
        kwargs = call.kwargs
        same = call.op, id(kwargs) if kwargs else 0
        known = self._alone.get(same)
        if known is not None:
            return known[0]
        op, form, _ = self._forms.get((call.op, 0)) or self._form(call)
        lines: list[str] = []
        site = Site(self, call, "", (), None, self._remark(op, call), lines.append)
        if isinstance(form, str):
            site.emit(f"{form}();")
        else:
            form(site)
        self._alone[same] = lines, kwargs
        return lines

    def _form(self, call: Call) -> _Form:
        """Find out how calls of this op with this number of operands are written."""
        op = op_of(call)
        if op is None:
            raise EmitError(f"the call of {call.op.name!r} was not expanded into the kernel")
        isa = form_of(op)
        is_plain = isinstance(isa, str) and all(p.kind in (TILE, SCALAR) for p in op.operands)
        form = self._forms[call.op, len(call.args)] = op, isa, is_plain
        return form

    def _remark(self, op: OpDef[..., object], call: Call) -> str:
        """Return the comment that ends each line of a call: its pipe, if hints are enabled."""
        pipe = op.pipe_of(call) if self._hints else None
        return f"  // {pipe.name}" if pipe is not None else ""

    # ----- parts of tensors -----------------------------------------------------------------

    def view_ref(self, call: Call) -> TensorRef:
        """Return the tensor that a call of `tensor.view`, or of `tensor.reshape_view`, names."""
        kernel = self.kernel
        source = kernel.ref(call.args[0])
        shape = call.args[1]
        assert isinstance(shape, MakeTuple)
        dims = [d.value if isinstance(d, ConstInt) else kernel.scalar(d) for d in shape.elements]
        if len(call.args) == 2:  # the same bytes in another shape
            from pypto._src.emit.tensor_parts import check_dense

            check_dense(source.shape, source.strides, call.span)
            return source._replace(
                shape=tuple(dims), strides=tuple(row_major(dims)), whole="", is_part=True
            )
        offsets = call.args[2]
        assert isinstance(offsets, MakeTuple)
        begins = map(self._checked_begin, offsets.elements, dims, source.shape)
        text = self.offset(source, tuple(begins))
        pointer = text if text.isidentifier() else f"({text})"
        return TensorRef(
            pointer, source.base, source.element, tuple(dims), source.strides, "", True
        )

    def offset(self, ref: TensorRef, offsets: Sequence[Expr]) -> str:
        """Return ``x + r * 64 + c`` for a tensor and one offset a dimension."""
        kernel = self.kernel
        if not self._is_text:
            return self._short_offset(ref, offsets)
        text, parts = kernel.scalars.text, [ref.pointer]
        for offset, stride in zip(offsets, ref.strides, strict=True):
            if stride == 1:
                parts.append(text(offset, 10))
            else:
                wide = offset if offset.__class__ is ConstInt else _as_wide(offset)
                parts.append(f"{_literal(wide, stride) or text(wide, 11)} * {stride}")
        return " + ".join(parts)

    def _short_offset(self, ref: TensorRef, offsets: Sequence[Expr]) -> str:
        """Return an address whose offset is a single expression, which can be folded and shared."""
        total: Expr = ConstInt(0)
        for offset, stride in zip(offsets, ref.strides, strict=True):
            total = binary(Add, total, binary(Mul, offset, self._size(stride)))
        from pypto._src.emit.cpp.scalar_folding import folded

        total = folded(total, self.kernel.constants)
        if isinstance(total, ConstInt) and total.value == 0:
            return ref.pointer
        return f"{ref.pointer} + {self.kernel.scalar(total, 10)}"

    def _size(self, size: Size) -> Expr:
        if isinstance(size, int):
            return ConstInt(size)
        if size not in self._sizes:
            var = self._sizes[size] = Var(size, scalar_type(DataType.INDEX))
            self.kernel.context.register_var(var, size)
        return self._sizes[size]

    def checked_index(self, index: Expr, size: Size) -> Expr:
        """Return an index that is checked on the CPU against a dimension of ``size`` elements."""
        if isinstance(size, int) and const_value(index) is not None:
            return index  # the op's type rule has checked it already
        self.kernel.helpers["element_index"] = None
        return self._size(f"element_index({self.kernel.scalar(index)}, {size})")

    def _checked_begin(self, begin: Expr, size: Size, limit: Size) -> Expr:
        """Return the begin of a view; on the CPU a view that ends out of bounds is an error."""
        if isinstance(size, int) and isinstance(limit, int) and const_value(begin) is not None:
            return begin
        self.kernel.helpers["view_begin"] = None
        return self._size(f"view_begin({self.kernel.scalar(begin)}, {size}, {limit})")

    def kept(
        self, ref: TensorRef, offsets: Sequence[Expr], sizes: Sequence[Size]
    ) -> Sequence[Expr]:
        """Return the offsets of a region, with a bounds check for the CPU where one is needed.

        The headers know a region's begin and extent, and the end of its tensor. Only this check
        finds a region that begins beyond the end of a row, or leaves a part of a tensor.
        """
        limits = ref.shape
        if _are_known(ref, offsets, sizes):
            return offsets  # the op's type rule has checked them already
        first = 0 if ref.is_part else 1
        kept = list(offsets)
        for axis in range(first, len(kept)):
            begin, size, limit = offsets[axis], sizes[axis], limits[axis]
            if isinstance(begin, ConstInt) and isinstance(size, int) and isinstance(limit, int):
                continue
            is_flat = len(kept) <= 2
            if not self.kernel.ranges.is_inside(begin, size, limit, ref.is_part, is_flat):
                self.kernel.helpers["region_begin"] = None
                text = self.kernel.scalar(begin)
                kept[axis] = self._size(f"region_begin({axis}, {text}, {size}, {limit})")
        return tuple(kept)

    def transfer_sizes(self, shape: Sequence[Expr], kind: TileType) -> tuple[Size, ...]:
        """Return the sizes of the region that a tile of type ``kind`` is loaded from or stored to.

        They are ``shape``, or those of the valid part of the tile.
        """
        sizes, valid = constant_sizes(shape, "a region"), valid_sizes(kind)
        if not valid:
            return sizes
        text = self.kernel.scalar
        part = [v.value if isinstance(v, ConstInt) else text(v) for v in valid[-len(sizes) :]]
        return (*sizes[: len(sizes) - len(part)], *part)

    def view(
        self, ref: TensorRef, offsets: Sequence[Expr], shape: Sequence[Expr], kind: TileType
    ) -> str:
        """Point the GlobalTensor of a region that a tile is loaded from or stored to; return it."""
        key = id(ref), id(offsets), id(shape), id(kind.shape), id(kind.tile_view)
        known = self._views.get(key)
        if known is not None:
            name, line, _ = known
            if line:
                self.kernel.body.emit_line(line)
            return name
        sizes = self.transfer_sizes(shape, kind)
        if is_column(kind):
            from pypto._src.emit.tensor_parts import check_column

            check_column(sizes, ref.strides)
        if ref.whole and sizes == ref.shape and all(const_value(offset) == 0 for offset in offsets):
            name, line = ref.whole, ""
        else:
            address = self.offset(ref, self.kept(ref, offsets, sizes))
            name = self.kernel.regions.object_for(ref, sizes, "ND")
            line = self.point(name, address, sizes)
        if self._is_text and _are_known(ref, offsets, sizes):
            self._views[key] = name, line, (ref, offsets, shape, kind)
        return name

    def point(self, name: str, address: str, shape: Sequence[Size]) -> str:
        """Point a GlobalTensor at an address and set its sizes; return the line that points it."""
        line = f"TASSIGN({name}, {address});"
        self.kernel.body.emit_line(line)
        sizes = set_sizes(name, shape)
        if sizes is not None:
            self.kernel.body.emit_line(sizes)
        return line


def _are_known(ref: TensorRef, offsets: Sequence[Expr], sizes: Sequence[Size]) -> bool:
    """True if the region's position and size, and its tensor's sizes, are constants."""
    known = _CONSTANTS.issuperset(map(type, offsets))
    return known and str not in map(type, (*sizes, *ref.shape))


_Form: TypeAlias = "tuple[OpDef[..., Any], Form, bool]"
"""The op, its form, and whether that is a plain instruction on tiles and scalars."""

_CONSTANTS: Final = frozenset({ConstInt})


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

        The region is as large as the valid part of the tile that moves. Where a column moves as
        rows, the tile's name from here on denotes the same bytes as rows.
        """
        kernel, calls = self._kernel, self._calls
        ref = kernel.ref(tensor)
        tile, kind = self._moved()
        if layout == "ND":
            return calls.view(ref, offsets, shape, kind)
        sizes = calls.transfer_sizes(shape, kind)
        part = column_part(sizes, ref.strides, kind.dtype.bytes)
        address = calls.offset(ref, calls.kept(ref, offsets, sizes))
        if part.order == "ND":
            self._name_rows(tile, kind, part.shape)
        there = ref._replace(strides=part.strides)
        name = kernel.regions.object_for(there, part.shape, part.order)
        calls.point(name, address, part.shape)
        return name

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
        name = self.reinterpret(tile, rows, "rows")
        if tile is None:
            self.dst = name
        else:
            index = next(i for i, arg in enumerate(self.call.args) if arg is tile)
            self.args = (*self.args[:index], name, *self.args[index + 1 :])

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> str:
        """Return the text of one element; on the CPU, indices that may leave it are checked."""
        ref = self._kernel.ref(tensor)
        checked = map(self._calls.checked_index, indices, ref.shape)
        return f"*({self._calls.offset(ref, tuple(checked))})"

    def reinterpret(self, tile: Expr | None, kind: TileType, suffix: str) -> str:
        """Declare a tile over the bytes of another, or of the result; return its name."""
        kernel = self._kernel
        source = self.dst if tile is None else kernel.value(tile)
        # Two underscores in a row would make a name that C++ reserves.
        name = kernel.context.fresh(f"{self.dst or source}_{suffix.strip('_')}")
        bare = TileType(kind.shape, kind.dtype, None, kind.tile_view)
        op = op_of(self.call)
        assert op is not None
        space = op.space_of(self.call) if tile is None else space_of(tile.type)
        rows, cols = tile_rows_cols(bare)
        kind_text = kernel.types.tile_type(bare, space, *declared_shape(bare, space))
        kernel.body.emit_line(f"using {name}Type = {kind_text};")
        kernel.body.emit_line(f"{name}Type {name}({rows}, {cols});")
        kernel.body.emit_line(f"TRESHAPE({name}, {source});")
        return name
