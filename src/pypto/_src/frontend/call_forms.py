"""Op calls of one form: a long kernel has thousands of calls and a few dozen forms.

The form of a call is the op, how its arguments are given, their types, and the numbers and other
constants among them. Which op of a name is meant, how the arguments become operands and keywords,
and the type of the result follow from it. So the first call of a form is built by the op, and tells
how to put together the others. Forms are kept for the parse of one program or function.

Knows nothing of syntax, names or errors: what an op refuses is never a form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from types import NoneType
from typing import Any, Final, TypeAlias, cast

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.nodes import (
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    ScalarType,
    ShapedType,
    TensorType,
    TileType,
    TupleGetItemExpr,
    TupleType,
    Type,
    UnaryExpr,
    Var,
    checked_call,
    checked_tuple,
    scalar_type,
)
from pypto._src.ir.opdef import ATTR, INTS, OFFSETS, OpDef, op_of
from pypto._src.ops.unified import Unified

Key: TypeAlias = tuple[Any, ...]
Maker: TypeAlias = Callable[[Sequence[Any], Span], Expr]
"""Returns an operand, from the arguments of a call and its place."""


class _Other(Exception):
    """Calls of this form are not put together by what they have in common."""


class CallForm:
    """What the calls of one form share."""

    __slots__ = (
        "args",
        "first",
        "has_effect",
        "is_plain",
        "kwargs",
        "on_tiles",
        "op",
        "sources",
        "unplaced",
    )

    def __init__(
        self,
        op: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        first: Call,
    ) -> None:
        self.op = op  # as the front end knows it; keeps what the key identifies, as do the next two
        self.args = args
        self.kwargs = kwargs
        self.first = first
        used: Any = first.op
        self.has_effect = bool(used.writes) or used.view_of is not None
        # True if an operand may be in a memory that the op does not take it from.
        self.unplaced = used.placed and _is_unplaced(used, first)
        self.on_tiles = used.level == "block"
        # What each operand is: the number of an argument, or what makes it. None before the
        # second call, an empty tuple if that has to be built by the op.
        self.sources: Sequence[int | Maker] | None = None
        self.is_plain = False  # True if they are the positional arguments

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span) -> Call | None:
        """Return another call of this form, None if only the op itself can build it."""
        first, sources = self.first, self.sources
        if sources is None:
            self.sources = sources = self._learned()
            self.is_plain = isinstance(sources, range)
        if self.is_plain:
            return checked_call(first.op, tuple(args), first.kwargs, first.type, span)
        if not sources:
            return None
        values = [*args, *kwargs.values()] if kwargs else args
        operands: list[Any] = []
        for source in sources:
            operands.append(values[source] if isinstance(source, int) else source(values, span))
        return checked_call(first.op, tuple(operands), first.kwargs, first.type, span)

    def _learned(self) -> Sequence[int | Maker]:
        """Return where the operands of the first call come from, nothing if that is unknown."""
        made, args = self.first.args, self.args
        if len(made) == len(args) and all(map(is_, made, args)):
            return range(len(args))
        op = op_of(self.first)
        assert op is not None
        pairs = zip(made, self._places(op), strict=True)
        try:
            return tuple([self._source(operand, place) for operand, place in pairs])
        except _Other:
            return ()

    def _places(self, op: OpDef[..., Any]) -> list[int | None]:
        """Return which argument each operand was given by, None for what was left out."""
        count, made = len(self.args), self.first.args
        if count == len(made) == 2 and made[0] is self.args[1] and made[1] is not self.args[1]:
            return [1, 0]  # a number stood first
        named = {name: count + at for at, name in enumerate(self.kwargs)}
        return [
            at if at < count else named.get(param.name)
            for at, param in enumerate(op.params)
            if param.kind != ATTR
        ]

    def _source(self, operand: Expr, place: int | None) -> int | Maker:
        span = self.first.span
        if place is None:
            return _again(operand, span)
        value: Any = [*self.args, *self.kwargs.values()][place]
        if isinstance(value, Expr):
            if operand is not value:
                raise _Other
            return place
        if isinstance(value, list | tuple) and isinstance(operand, MakeTuple):
            return _of_list(place, cast("Sequence[Any]", value), operand)
        return _again(operand, span)


def _is_unplaced(op: OpDef[..., Any], made: Call) -> bool:
    """True if an operand may live in a memory that the op does not take it from."""
    for index, spaces in op.operand_spaces(made.kwargs).items():
        kind = made.args[index].type
        known = isinstance(kind, TileType) and (kind.tile_view or kind.memref)
        if not known and MemorySpace.Vec not in spaces:
            return True
    return False


def _again(operand: Expr, span: Span) -> Maker:
    """Return what makes an operand that all calls of a form have, each at its own place."""
    if isinstance(operand, ConstInt | ConstFloat) and operand.span is span:
        cls, value, dtype = operand.__class__, operand.value, operand.dtype
        return lambda _, place: cls(value, dtype, place)  # pyright: ignore[reportArgumentType]
    if isinstance(operand, MakeTuple) and all(item.span is not span for item in operand.elements):
        elements, kind = operand.elements, operand.type
        return lambda _, place: checked_tuple(elements, kind, place)
    if isinstance(operand, Call) and operand.span is span:  # the scratch tile that was left out
        parts, made = [_again(arg, span) for arg in operand.args], operand
        return lambda values, place: checked_call(
            made.op, tuple([part(values, place) for part in parts]), made.kwargs, made.type, place
        )
    raise _Other


def _of_list(place: int, given: Sequence[Any], operand: MakeTuple) -> Maker:
    """Return what makes a list operand: its numbers stay, its expressions are those of a call."""
    pairs = list(zip(given, operand.elements, strict=True))
    own = [at for at, (item, element) in enumerate(pairs) if item is element]
    elements, kind = operand.elements, operand.type
    if not own:
        return lambda _, span: checked_tuple(elements, kind, span)

    def make(values: Sequence[Any], span: Span) -> Expr:
        items = list(elements)
        for at in own:
            items[at] = values[place][at]
        return checked_tuple(tuple(items), kind, span)

    return make


class CallForms:
    """The forms of the op calls of one program or function."""

    __slots__ = ("_free", "_shared", "_types", "forms")

    def __init__(self) -> None:
        self.forms: dict[Key | None, CallForm] = {}
        self._types: dict[Key, Type] = {}
        self._shared: set[int] = set()  # the ids of these types
        self._free: dict[int, tuple[Any, frozenset[Any]]] = {}

    def key(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Key | None:
        """Return what identifies the form of a call, None if it may depend on more.

        Objects stand in it by their ids; the form keeps them.
        """
        parts: list[Any] = [id(op)]
        for value in args:
            if value.__class__ is Var:  # most are
                parts.append(id(value.type))
                continue
            part = self._part(op, len(parts) - 1, value)
            if part is None:
                return None
            parts.append(part)
        if kwargs:
            for name, value in kwargs.items():
                part = self._part(op, name, value)
                if part is None:
                    return None
                parts.append(name)
                parts.append(part)
        return tuple(parts)

    def shared(self, kind: Type) -> Type:
        """Return the one type of the program that has this structure, so that forms agree in it."""
        if id(kind) in self._shared:
            return kind
        if isinstance(kind, TileType):
            view: Any = kind.tile_view
        elif isinstance(kind, TensorType):
            view = kind.tensor_view
        else:
            return kind
        if kind.memref is not None:
            return kind
        dims: list[Any] = [
            dim.value if isinstance(dim, ConstInt) and dim.type is _INDEX else (id(dim),)
            for dim in kind.shape  # one that is computed is like no other
        ]
        found = self._types.setdefault((kind.__class__, id(kind.dtype), id(view), *dims), kind)
        self._shared.add(id(found))
        return found

    def array(
        self, cls: type[TensorType | TileType], shape: Sequence[int], dtype: DataType
    ) -> Type:
        """Return the one type of such a tensor or tile without view."""
        key: Key = (cls, id(dtype), id(None), *shape)
        return self._types.get(key) or self.shared(cls(shape, dtype))

    def _part(self, op: Any, place: int | str, value: Any) -> object:
        """Return what the form of a call has of an argument, None if it is not known."""
        cls = value.__class__
        if cls is list or cls is tuple:
            for item in value:
                if item.__class__ is not int:
                    return self._list(op, place, value)
            return tuple(value)
        if cls is float and value == 0.0:
            return cls, str(value)  # zeros of both signs are equal
        if cls in _LITERALS:
            return cls, value
        if cls in _SINGLETONS or cls is IterArg:
            return id(value.type) if cls is IterArg else id(value)
        return _expression(value) if isinstance(value, Expr) else None

    def _list(self, op: Any, place: int | str, items: Sequence[Any]) -> Key | None:
        """Return what a form has of a list with expressions.

        A size is in the type of the result, and so part of the form; an offset is not.
        """
        free = place in self._free_places(op)
        parts: list[Any] = []
        for item in items:
            if item.__class__ is int:
                parts.append(item)
            elif not isinstance(item, Expr) or item.type.__class__ is not ScalarType:
                return None
            elif isinstance(item, ConstInt):
                parts.append((item.value, id(item.type)))
            elif free:
                parts.append((id(item.type),))
            elif item.__class__ is Var:
                parts.append((id(item), id(item)))
            else:
                return None
        return tuple(parts)

    def _free_places(self, op: Any) -> frozenset[Any]:
        """Return which arguments, by position and by name, are lists of offsets whatever is meant.

        What a name stands for is known only when a call is built.
        """
        found = self._free.get(id(op))
        if found is None:
            ops = op.candidates if isinstance(op, Unified) else (op,)
            sizes: set[Any] = set()
            offsets: set[Any] = set()
            for each in ops:
                for at, param in enumerate(each.params):
                    if param.kind == INTS:
                        (offsets if param.attr_type == OFFSETS else sizes).update((at, param.name))
            found = self._free[id(op)] = op, frozenset(offsets - sizes)
        return found[1]


def _expression(value: Expr) -> Key | None:
    """Return what the form of a call has of an operand that is no variable."""
    kind = value.type
    if isinstance(value, Call):  # the memory of a tile follows from the op that makes it
        op = op_of(value)
        space = None if op is None or not isinstance(kind, ShapedType) else op.space_of(value).value
        return id(kind), id(value.op), space
    if isinstance(value, ConstInt | ConstFloat | ConstBool):
        return None if value.value == 0.0 else (value.__class__, value.value, id(kind))
    if isinstance(value, BinaryExpr | UnaryExpr | TupleGetItemExpr):
        return None if isinstance(kind, TupleType) else (id(kind),)
    return None


_INDEX: Final = scalar_type(DataType.INDEX)
_LITERALS: Final = frozenset({bool, int, float, str, NoneType})
_SINGLETONS: Final = frozenset({DataType, MemorySpace, PipeType})
