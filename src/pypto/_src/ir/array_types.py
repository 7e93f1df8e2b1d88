"""Types of tensors and tiles: dimensions, views, memory references, and comparisons of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.ir.enums import MemorySpace, TensorLayout, TileLayout, TilePad
from pypto._src.ir.exprs import (
    BinaryExpr,
    Cast,
    ConstInt,
    Expr,
    Operand,
    UnaryExpr,
    Var,
    as_expr,
    as_exprs,
    put_name,
    put_span,
    put_type,
)
from pypto._src.ir.node_base import Node, NodeMeta, check_class, ignored, not_a_span, setter
from pypto._src.ir.types import INDEX, MEMREF_TYPE, ScalarType, TupleType, Type

DYNAMIC_DIM: Final = -1

_put = object.__setattr__


def _set_before_use(node: Any, name: str, value: object) -> None:
    """Set a field of a view or buffer, checked as by its constructor, unless a type holds it."""
    own = {field.name for field in node.fields()} - {"name", "type"}  # derived for a buffer
    if node.in_type or name not in own:
        what = f"{type(node).__name__}{' of a type' if node.in_type else ''}"
        raise AttributeError(f"{what} is immutable: cannot set {name!r}")
    given = {field: getattr(node, field) for field in own} | {name: value}
    new = type(node)(**{field.removesuffix("_"): item for field, item in given.items()})
    for field in node.fields():
        _put(node, field.name, getattr(new, field.name))


class TensorView(Node, metaclass=NodeMeta):
    """How a tensor is laid out in global memory: strides in elements (outermost first) and layout.

    Fields can be set. A type that gets the view takes a copy, which is immutable.
    """

    __slots__ = ("in_type",)

    stride: tuple[Expr, ...]
    layout: TensorLayout

    def __init__(
        self, stride: Sequence[int | Expr] = (), layout: TensorLayout = TensorLayout.ND
    ) -> None:
        check_class("the layout", layout, TensorLayout)
        _put(self, "in_type", False)
        _put(self, "stride", _integers("a stride", stride))
        _put(self, "layout", layout)

    __setattr__ = _set_before_use  # pyright: ignore[reportAssignmentType]


class TileView(Node, metaclass=NodeMeta):
    """How a tile is laid out on chip.

    Empty ``valid_shape`` and ``stride`` mean the tile's whole shape, dense. ``fractal`` is the
    box size in bytes. Fields can be set. A type that gets the view takes a copy, which is
    immutable.
    """

    __slots__ = ("in_type",)

    valid_shape: tuple[Expr, ...]
    stride: tuple[Expr, ...]
    start_offset: Expr | None
    blayout: TileLayout
    slayout: TileLayout
    fractal: int
    pad: TilePad

    def __init__(
        self,
        valid_shape: Sequence[int | Expr] = (),
        stride: Sequence[int | Expr] = (),
        start_offset: int | Expr | None = None,
        blayout: TileLayout = TileLayout.row_major,
        slayout: TileLayout = TileLayout.none_box,
        fractal: int = 512,
        pad: TilePad = TilePad.null,
    ) -> None:
        check_class("blayout", blayout, TileLayout)
        check_class("slayout", slayout, TileLayout)
        check_class("fractal", fractal, int)
        check_class("pad", pad, TilePad)
        offset = None if start_offset is None else _integers("start_offset", (start_offset,))[0]
        _put(self, "in_type", False)
        _put(self, "valid_shape", _integers("a dimension", valid_shape))
        _put(self, "stride", _integers("a stride", stride))
        _put(self, "start_offset", offset)
        _put(self, "blayout", blayout)
        _put(self, "slayout", slayout)
        _put(self, "fractal", fractal)
        _put(self, "pad", pad)

    __setattr__ = _set_before_use  # pyright: ignore[reportAssignmentType]


def for_types(view: View) -> View:
    """Return an immutable copy of a view for types to hold, or the view if it is immutable."""
    if view.in_type:
        return view
    held = type(view)(*[getattr(view, field.name) for field in view.fields()])
    _put(held, "in_type", True)
    return held


View = TypeVar("View", TensorView, TileView)


class ShapedType(Type, metaclass=NodeMeta):
    """Base of tensors and tiles."""

    shape: tuple[Expr, ...]
    dtype: DataType
    memref: MemRef | None = ignored()

    def _put_array(self, shape: Any, dtype: Any, memref: Any) -> None:
        """Set the fields of every array; ``dtype, shape`` is the order of document 002."""
        if isinstance(shape, DataType):
            shape, dtype = dtype, shape
        if dtype.__class__ is not DataType:
            check_class("the element type", dtype, DataType)
        if memref is not None:
            if memref.__class__ is not MemRef:
                check_class("memref", memref, MemRef)
            _put_in_type(memref, True)
        _put_shape(self, _integers("a dimension", shape))
        _put_dtype(self, dtype)
        _put_memref(self, memref)

    def __hash__(self) -> int:
        # Equal dimensions are equal constants or expressions of one class.
        dims = (dim.value if isinstance(dim, ConstInt) else type(dim) for dim in self.shape)
        return hash((type(self), self.dtype, *dims))

    def shares_memref_with(self, other: ShapedType) -> bool:
        """True if both have a memory reference and it is the same object."""
        return self.memref is not None and self.memref is other.memref


_put_shape: Final = setter(ShapedType, "shape")
_put_dtype: Final = setter(ShapedType, "dtype")
_put_memref: Final = setter(ShapedType, "memref")


class TensorType(ShapedType, metaclass=NodeMeta):
    """An array in global memory: shape, element type, optional memory reference and view."""

    tensor_view: TensorView | None = ignored()

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        memref: MemRef | None = None,
        tensor_view: TensorView | None = None,
    ) -> None:
        self._put_array(shape, dtype, memref)
        if tensor_view is not None:
            check_class("tensor_view", tensor_view, TensorView)
            tensor_view = for_types(tensor_view)
        _put(self, "tensor_view", tensor_view)

    def has_structure_of(self, other: Any) -> bool:
        """True if ``other`` is a tensor of the same shape and element type."""
        return (
            isinstance(other, TensorType)
            and self.dtype is other.dtype
            and same_dims(self.shape, other.shape)
        )


class TileType(ShapedType, metaclass=NodeMeta):
    """A block of elements in on-chip memory, at most two-dimensional when emitted."""

    tile_view: TileView | None

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        memref: MemRef | None = None,
        tile_view: TileView | None = None,
    ) -> None:
        self._put_array(shape, dtype, memref)
        if tile_view is not None:
            check_class("tile_view", tile_view, TileView)
            tile_view = for_types(tile_view)
        _put(self, "tile_view", tile_view)

    def has_structure_of(self, other: Any) -> bool:
        """True if ``other`` is a tile of the same shape, element type and view."""
        return (
            isinstance(other, TileType)
            and self.dtype is other.dtype
            and same_dims(self.shape, other.shape)
            and same_tile_view(self.tile_view, other.tile_view)
        )


class MemRef(Var, metaclass=NodeMeta):
    """A buffer: memory space, byte address (-1 before allocation), size in bytes, number.

    Fields can be set until a type gets the buffer.
    """

    __slots__ = ("in_type",)

    memory_space_: MemorySpace
    addr_: Expr
    size_: int
    id_: int = ignored()

    def __init__(
        self,
        memory_space: MemorySpace,
        addr: Operand,
        size: int,
        id: int = 0,
        span: Span = UNKNOWN_SPAN,
    ) -> None:
        if memory_space.__class__ is not MemorySpace or size.__class__ is not int:
            check_class("a memory space", memory_space, MemorySpace)
            check_class("the size of a MemRef", size, int)
        if id.__class__ is not int:
            check_class("the number of a MemRef", id, int)
        if size < 0:
            raise ValueError(f"the size of a MemRef is a number of bytes, got {size}")
        put_name(self, f"{MEMREF_NAMES[memory_space]}{id}")
        put_type(self, MEMREF_TYPE)
        _put_space(self, memory_space)
        _put_address(self, as_expr(addr))
        _put_size(self, size)
        _put_number(self, id)
        put_span(self, span if span.__class__ is Span else not_a_span(self, span))
        _put_in_type(self, False)

    __setattr__ = _set_before_use  # pyright: ignore[reportAssignmentType]


_put_in_type: Final = setter(MemRef, "in_type")
_put_space: Final = setter(MemRef, "memory_space_")
_put_address: Final = setter(MemRef, "addr_")
_put_size: Final = setter(MemRef, "size_")
_put_number: Final = setter(MemRef, "id_")
MEMREF_NAMES: Final = {space: f"mem_{space.name.lower()}_" for space in MemorySpace}


def dtype_of(expr: Expr) -> DataType:
    """Return the element type of a scalar, tensor or tile expression."""
    kind = expr.type
    if isinstance(kind, ScalarType | ShapedType):
        return kind.dtype
    raise TypeError(f"{type(expr).__name__} of {type(kind).__name__} has no element type")


def is_integer(value: Expr) -> bool:
    """True for a scalar of an integer type; BOOL does not count."""
    return isinstance(value.type, ScalarType) and value.type.dtype.is_int()


def _integers(what: str, values: Any) -> tuple[Expr, ...]:
    """Return dimensions, strides or an offset as expressions; errors call them ``what``.

    Raises:
        TypeError: ``values`` is not a sequence, or an element is not an integer.
    """
    if values.__class__ is tuple:
        for item in values:
            if item.__class__ is not ConstInt or item.type is not INDEX:
                break
        else:
            return values
    if not isinstance(values, (list, tuple, Sequence)):  # the ABC check is slow
        raise TypeError(f"a sequence of integers was wanted, got {type(values).__name__}")
    items = as_exprs(cast("Sequence[Any]", values))
    for item in items:
        kind = item.type
        if kind is not INDEX and not (isinstance(kind, ScalarType) and kind.dtype.is_int()):
            found = kind.dtype if isinstance(kind, ScalarType) else type(kind).__name__
            raise TypeError(f"{what} is an integer, got a value of {found}")
    return items


def static_shape(kind: ShapedType) -> tuple[int, ...] | None:
    """Return the shape as ints, None if any dimension is symbolic or unknown (-1)."""
    dims = [dim.value for dim in kind.shape if isinstance(dim, ConstInt) and dim.value >= 0]
    return tuple(dims) if len(dims) == len(kind.shape) else None


def same_dim(a: Expr, b: Expr) -> bool:
    """True if two dimensions are the same constant, the same object, or of equal structure."""
    if a is b:
        return True
    if isinstance(a, ConstInt):
        return isinstance(b, ConstInt) and a.value == b.value
    stack: list[tuple[Expr, Expr]] = [(a, b)]
    seen: set[tuple[int, int]] = set()  # subexpressions may be shared
    while stack:
        x, y = stack.pop()
        if x is y or (id(x), id(y)) in seen:
            continue
        seen.add((id(x), id(y)))
        if type(x) is not type(y):
            return False
        match x, y:
            case (ConstInt(), ConstInt()):
                if x.value != y.value:
                    return False
            case (BinaryExpr(), BinaryExpr()):
                stack += ((x.left, y.left), (x.right, y.right))
            case (UnaryExpr(), UnaryExpr()):
                if isinstance(x, Cast) and x.dtype is not y.dtype:
                    return False
                stack.append((x.operand, y.operand))
            case _:
                return False
    return True


def same_dims(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    """True if two shapes agree dimension by dimension."""
    return len(a) == len(b) and all(map(same_dim, a, b))


def valid_part(kind: Type) -> tuple[Expr, ...] | None:
    """Return the valid sizes of a partly valid tile, None for any other type."""
    if not isinstance(kind, TileType) or kind.tile_view is None:
        return None
    valid = kind.tile_view.valid_shape
    return None if not valid or same_dims(valid, kind.shape) else valid


def as_matrix(sizes: Sequence[Expr]) -> Sequence[Expr]:
    """Return the rows and columns that the sizes of a tile mean: [N] is a row [1, N]."""
    return (ConstInt(1), *sizes) if len(sizes) == 1 else sizes


def same_valid_part(a: Type, b: Type) -> bool:
    """True if the same part of both types is valid; for most types that is the whole."""
    first, second = valid_part(a), valid_part(b)
    if first is None or second is None:
        return first is second
    return same_dims(first, second)


def same_tile_view(a: TileView | None, b: TileView | None) -> bool:
    """True if two tile views are equal, or both None."""
    if a is None or b is None:
        return a is b
    if (a.start_offset is None) != (b.start_offset is None):
        return False
    offsets_agree = (
        a.start_offset is None or b.start_offset is None or same_dim(a.start_offset, b.start_offset)
    )
    return (
        offsets_agree
        and same_dims(a.valid_shape, b.valid_shape)
        and same_dims(a.stride, b.stride)
        and (a.blayout, a.slayout, a.fractal, a.pad) == (b.blayout, b.slayout, b.fractal, b.pad)
    )


def exprs_of_type(kind: Type) -> Iterator[Expr]:
    """Yield the expressions inside a type: symbolic dimensions, strides, offsets, addresses."""
    stack = [kind]
    while stack:
        match stack.pop():
            case TupleType(types=types):
                stack += reversed(types)
            case TensorType() as tensor:
                yield from tensor.shape
                if tensor.tensor_view is not None:
                    yield from tensor.tensor_view.stride
            case TileType() as tile:
                yield from tile.shape
                if tile.tile_view is not None:
                    yield from tile.tile_view.valid_shape
                    yield from tile.tile_view.stride
                    if tile.tile_view.start_offset is not None:
                        yield tile.tile_view.start_offset
            case _:
                pass


def symbols_of_type(kind: Type) -> list[Expr]:
    """Return `exprs_of_type` without integer constants: an empty list for nearly every type."""
    cls = kind.__class__
    if cls is ScalarType:
        return []
    array: Any = kind
    if (cls is TileType and array.tile_view is None) or (
        cls is TensorType and array.tensor_view is None
    ):
        exprs: Iterable[Expr] = array.shape
    else:
        exprs = exprs_of_type(kind)
    return [expr for expr in exprs if expr.__class__ is not ConstInt]
