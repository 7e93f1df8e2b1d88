"""Plain types: one object per structure in the whole process.

A type is plain if nothing in it belongs to a program: its sizes are known, its view has no
variable, and it has no memory reference. Facts about operators follow from the types of operands.
With one object per type they are looked up by the identity of the types, and hold for the next
program as well.

The table is bounded, and is cleared when full: then a structure has a second object, and facts are
computed once more. Nothing else depends on it: types are compared by `same_type`, and `serialize`
writes equal ones once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TensorType, TensorView, TileType, TileView
from pypto._src.ir.exprs import ConstInt, Expr, MakeTuple
from pypto._src.ir.types import ScalarType, TupleType, Type, UnknownType, scalar_type

T = TypeVar("T")
Key: TypeAlias = tuple[Any, ...]

MOST_TYPES: Final = 4096
"""How many structures the table holds."""

_INDEX: Final = scalar_type(DataType.INDEX)
TYPES: Final[dict[Key, Type]] = {}
BY_ID: Final[dict[int, Type]] = {}
"""The same types by identity."""


def unique(kind: Type) -> Type:
    """Return the one type with the structure of ``kind``, or ``kind`` itself if it is not plain."""
    cls = kind.__class__
    if (cls is not TileType and cls is not TensorType) or BY_ID.get(id(kind)) is kind:
        return kind
    key = _key(kind)
    if key is None:
        return kind
    found = TYPES.get(key)
    return _added(key, _copy(cast("Any", kind))) if found is None else found


def with_own_constants(kind: Type) -> Type:
    """Return a tensor or tile type with the same symbols, and new constants without spans."""
    cls = kind.__class__
    return _copy(cast("Any", kind)) if cls is TileType or cls is TensorType else kind


def unique_result(kind: Type, operands: Sequence[Expr]) -> Type:
    """Return `unique` of a call's type; the type object of an operand is returned unchanged.

    Other types share no constant with a list operand: calls with equal constants reuse them,
    perhaps in the next program.
    """
    for value in operands:
        if value.type is kind:
            return kind
    if MakeTuple in map(type, operands) and not is_plain(kind):
        return with_own_constants(kind)
    return unique(kind)


def unique_array(
    cls: type[TensorType | TileType], shape: Sequence[int], dtype: DataType
) -> TensorType | TileType:
    """Return the one tensor or tile type of a shape, without view."""
    key = (cls, dtype, None, *shape)
    found: Any = TYPES.get(key)
    return _added(key, cls(shape, dtype)) if found is None else found


def is_plain(kind: object) -> bool:
    """True for a type that any program can have; False for others, and for what is not a type."""
    cls = kind.__class__
    if cls is TileType or cls is TensorType:
        return BY_ID.get(id(kind)) is kind or _key(kind) is not None
    if cls is TupleType:
        return all(part.__class__ is ScalarType for part in cast("TupleType", kind).types)
    return cls is ScalarType or cls is UnknownType


class Facts(Generic[T]):
    """The results of a function of types, kept for the process if the types are unique."""

    def __init__(self, find: Callable[..., T]) -> None:
        self._find = find
        self._known: dict[tuple[Any, ...], tuple[Type, T]] = {}  # by id of the type, kept alive

    def of(self, kind: Type, *rest: Any) -> T:
        """Return ``find(kind, *rest)``; ``rest`` is hashable, and belongs to no program."""
        key = id(kind), *rest
        known = self._known.get(key)
        if known is not None:
            return known[1]
        found = self._find(kind, *rest)
        if is_plain(kind) and unique(kind) is kind:  # other types may have source spans
            if len(self._known) >= MOST_TYPES:
                self._known.clear()
            self._known[key] = kind, found
        return found


def _added(key: Key, kind: Any) -> Any:
    if len(TYPES) >= MOST_TYPES:
        TYPES.clear()
        BY_ID.clear()
    found = TYPES.setdefault(key, kind)  # another thread may have been first
    BY_ID[id(found)] = found
    return found


def _key(kind: Any) -> Key | None:
    """Return the structure of a tensor or tile type, None for one that is not plain."""
    return structure(kind) if kind.memref is None else None


def structure(kind: Any) -> Key | None:
    """Return the structure of a tensor or tile type, memory aside; None if it has a variable."""
    dims = _numbers(kind.shape)
    if dims is None:
        return None
    view: Any = kind.tile_view if kind.__class__ is TileType else kind.tensor_view
    if view is not None:
        view = _view_key(view)
        if view is None:
            return None
    return (kind.__class__, kind.dtype, view, *dims)


def _view_key(view: Any) -> Key | None:
    """Return the structure of a view, None if there is an expression in it."""
    parts = [_numbers(view.stride)]
    facts: Key
    if view.__class__ is TileView:
        parts.append(_numbers(view.valid_shape))
        parts.append(() if view.start_offset is None else _numbers((view.start_offset,)))
        facts = (view.blayout.value, view.slayout.value, view.fractal, view.pad.value)
    else:
        facts = (view.layout.value,)
    return None if None in parts else (*parts, *facts)


def _numbers(items: Any) -> tuple[int, ...] | None:
    found: list[int] = []
    for item in items:
        if item.__class__ is not ConstInt or item.type is not _INDEX:
            return None
        found.append(item.value)
    return tuple(found)


def _copy(kind: TensorType | TileType) -> TensorType | TileType:
    """Return a type that shares no constant with ``kind``, and whose constants have no spans.

    So nothing shows which program asked first: neither spans nor shared objects.
    """
    if isinstance(kind, TensorType):
        view = kind.tensor_view
        if view is not None:
            view = TensorView(_copies(view.stride), view.layout)
        return TensorType(_copies(kind.shape), kind.dtype, kind.memref, view)
    return TileType(_copies(kind.shape), kind.dtype, kind.memref, _copy_of_view(kind.tile_view))


def _copy_of_view(view: TileView | None) -> TileView | None:
    if view is None:
        return None
    offset = None if view.start_offset is None else _copies((view.start_offset,))[0]
    layout = view.blayout, view.slayout, view.fractal, view.pad
    return TileView(_copies(view.valid_shape), _copies(view.stride), offset, *layout)


def _copies(items: Sequence[Expr]) -> tuple[Expr, ...]:
    own: list[Any] = [*items]
    for at, item in enumerate(own):
        if item.__class__ is ConstInt:
            own[at] = ConstInt(item.value, item.dtype)
    return tuple(own)
