"""Op calls of one form: a long kernel has thousands of calls and a few dozen forms.

The form of a call is the op, how its arguments are given, their types, and the numbers and other
constants among them. Which op of a name is meant, how the arguments become operands and keywords,
and the type of the result follow from it. So the first call of a form is built by the op, and tells
how to put together the others.

A form whose types are plain is the same in any program; such forms are kept for the process, in a
bounded table that begins anew when it is full. Nothing of a program is in them: no variable, no
place in a text. The others, which have named sizes, are kept for the parse of one program.

Knows nothing of syntax, names or errors: what an op refuses is never a form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from types import NoneType
from typing import Any, Final, TypeAlias, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import ShapedType, TileType
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import (
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.interning import is_plain
from pypto._src.ir.opdef import ATTR, INTS, OFFSETS, OpDef, op_of
from pypto._src.ir.result_type_cache import PLAIN_KEYWORDS
from pypto._src.ir.types import ScalarType, TupleType, Type
from pypto._src.ir.unchecked import checked_call, checked_float, checked_int, checked_tuple
from pypto._src.ops.unified import Unified

Key: TypeAlias = tuple[Any, ...]
Maker: TypeAlias = Callable[[Sequence[Any], Span], Expr]
"""Returns an operand, from the arguments of a call and its place."""


class _Other(Exception):
    """Calls of this form are not put together by what they have in common."""


class CallForm:
    """What the calls of one form share."""

    __slots__ = (
        "has_effect",
        "is_plain",
        "kept",
        "keywords",
        "on_tiles",
        "op",
        "sources",
        "type",
        "unplaced",
    )

    def __init__(self, made: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        used: Any = made.op
        self.op = used
        self.keywords = made.kwargs
        self.type = made.type
        self.has_effect = bool(used.writes) or used.view_of is not None
        # True if an operand may be in a memory that the op does not take it from.
        self.unplaced = used.placed and _is_unplaced(used, made)
        self.on_tiles = used.level == "block"
        # What each operand is: the number of an argument, or what makes it. Nothing if only the op
        # can build the call.
        self.sources = _sources(made, args, kwargs)
        self.is_plain = self.sources.__class__ is range  # they are the positional arguments
        self.kept: Any = None  # what the key identifies by its id

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span) -> Call | None:
        """Return another call of this form, None if only the op itself can build it."""
        if self.is_plain:
            return checked_call(self.op, tuple(args), self.keywords, self.type, span)
        if not self.sources:
            return None
        values = [*args, *kwargs.values()] if kwargs else args
        operands: list[Any] = []
        for source in self.sources:
            operands.append(values[source] if source.__class__ is int else source(values, span))
        return checked_call(self.op, tuple(operands), self.keywords, self.type, span)


def _sources(made: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
    """Return where the operands of a call come from, nothing if that is unknown."""
    operands = made.args
    if len(operands) == len(args) and all(map(is_, operands, args)):
        return range(len(args))
    op = op_of(made)
    assert op is not None
    values = [*args, *kwargs.values()] if kwargs else args
    found: list[int | Maker] = []
    try:
        for operand, place in zip(operands, _places(op, operands, args, kwargs), strict=True):
            value: Any = None if place is None else values[place]
            if value is operand and place is not None:
                found.append(place)
            elif isinstance(value, list | tuple) and isinstance(operand, MakeTuple):
                found.append(_of_list(place, cast("Sequence[Any]", value), operand))
            elif isinstance(value, Expr):
                return ()
            else:
                found.append(_again(operand, made.span))
    except _Other:
        return ()
    return tuple(found)


def _places(
    op: OpDef[..., Any],
    operands: Sequence[Expr],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> list[int | None]:
    """Return which argument each operand was given by, None for what was left out."""
    count = len(args)
    if count == len(operands) == 2 and operands[0] is args[1] and operands[1] is not args[1]:
        return [1, 0]  # a number stood first
    named = {name: count + at for at, name in enumerate(kwargs)}
    return [
        at if at < count else named.get(param.name)
        for at, param in enumerate(op.params)
        if param.kind != ATTR
    ]


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
    if isinstance(operand, ConstInt) and operand.span is span:
        integer, kind = operand.value, operand.type
        return lambda _, place: checked_int(integer, kind, place)
    if isinstance(operand, ConstFloat) and operand.span is span:
        value, kind = operand.value, operand.type
        return lambda _, place: checked_float(value, kind, place)
    if isinstance(operand, MakeTuple) and _stand_nowhere(operand.elements):
        elements, kind = operand.elements, operand.type
        return lambda _, place: checked_tuple(elements, kind, place)
    if isinstance(operand, Call) and operand.span is span:  # the scratch tile that was left out
        parts = [_again(arg, span) for arg in operand.args]
        op, keywords, result = operand.op, operand.kwargs, operand.type
        return lambda values, place: checked_call(
            op, tuple([part(values, place) for part in parts]), keywords, result, place
        )
    raise _Other


def _of_list(place: Any, given: Sequence[Any], operand: MakeTuple) -> Maker:
    """Return what makes a list operand: its numbers stay, its expressions are those of a call."""
    elements, kind = operand.elements, operand.type
    if _NUMBERS.issuperset(map(type, given)) and _stand_nowhere(elements):
        return lambda _, span: checked_tuple(elements, kind, span)
    pairs = list(zip(given, elements, strict=True))
    own = [at for at, (item, element) in enumerate(pairs) if item is element]
    numbers = [None if item is element else element for item, element in pairs]
    if not _stand_nowhere([number for number in numbers if number is not None]):
        raise _Other

    def make(values: Sequence[Any], span: Span) -> Expr:
        items: list[Any] = numbers.copy()
        for at in own:
            items[at] = values[place][at]
        return checked_tuple(tuple(items), kind, span)

    return make


def _stand_nowhere(items: Sequence[Expr]) -> bool:
    """True for constants that are at no place of a text, and so the same in all calls."""
    for item in items:
        if item.__class__ is not ConstInt or item.span is not UNKNOWN_SPAN:
            return False
    return True


MOST_FORMS: Final = 4096
"""How many forms the process keeps."""

KNOWN: Final[dict[Key, CallForm]] = {}
"""The forms of any program. `CallForms.find` looks here first."""


class CallForms:
    """The forms of op calls as one program or function sees them: all known ones, and its own.

    A form is known by its key: the op, then what `_part_of` says of each argument, those by keyword
    behind their names.
    """

    __slots__ = ("own",)

    def __init__(self) -> None:
        self.own: dict[Key, CallForm] = {}

    def key(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Key | None:
        """Return what identifies the form of a call, None if it may depend on more.

        Objects stand in the key by their ids; the form keeps them.
        """
        parts: list[Any] = [id(op)]
        for value in args:
            cls = value.__class__
            if cls is Var:  # most are, or lists of numbers
                parts.append(id(value.type))
                continue
            if cls is list and _NUMBERS.issuperset(map(type, value)):
                parts.append(tuple(value))
                continue
            part = _part_of(op, len(parts) - 1, value)
            if part is None:
                return None
            parts.append(part)
        if kwargs:
            for name, value in kwargs.items():
                part = _part_of(op, name, value)
                if part is None:
                    return None
                parts.append(name)
                parts.append(part)
        return tuple(parts)

    def find(self, key: Key) -> CallForm | None:
        """Return the form that a key identifies, None if no call had it before."""
        found = KNOWN.get(key)
        return self.own.get(key) if found is None else found

    def keep(
        self, key: Key, form: CallForm, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """Keep the form of a call, with what stands in its key by an id."""
        form.kept = _of_any_program(form, op, args, kwargs)
        if form.kept is None:
            form.kept = op, args, kwargs
            self.own[key] = form
            return
        if len(KNOWN) >= MOST_FORMS:
            KNOWN.clear()
        KNOWN[key] = form


def _part_of(op: Any, place: int | str, value: Any) -> object:
    """Return what the form of a call has of an argument, None if it is not known."""
    cls = value.__class__
    if cls is list or cls is tuple:
        numbers = _NUMBERS.issuperset(map(type, value))
        return tuple(value) if numbers else _list(op, place, value)
    if cls is float and value == 0.0:
        return cls, str(value)  # zeros of both signs are equal
    if cls in _LITERALS:
        return cls, value
    if cls is Var or cls is IterArg:
        return id(value.type)
    if cls in _SINGLETONS:
        return id(value)
    return _expression(value) if isinstance(value, Expr) else None


def _list(op: Any, place: int | str, items: Sequence[Any]) -> Key | None:
    """Return what a form has of a list with expressions.

    A size is in the type of the result, and so part of the form; an offset is not.
    """
    free = place in _free_places(op)
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


_FREE: Final[dict[int, tuple[Any, frozenset[Any]]]] = {}
_MOST_FREE: Final = 1024


def _free_places(op: Any) -> frozenset[Any]:
    """Return which arguments, by position and by name, are lists of offsets whatever is meant.

    What a name stands for is known only when a call is built.
    """
    found = _FREE.get(id(op))
    if found is None:
        ops = op.candidates if isinstance(op, Unified) else (op,)
        sizes: set[Any] = set()
        offsets: set[Any] = set()
        for each in ops:
            for at, param in enumerate(each.params):
                if param.kind == INTS:
                    (offsets if param.attr_type == OFFSETS else sizes).update((at, param.name))
        if len(_FREE) >= _MOST_FREE:
            _FREE.clear()
        found = _FREE[id(op)] = op, frozenset(offsets - sizes)
    return found[1]


def _of_any_program(
    form: CallForm, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[Any] | None:
    """Return what the key of a form names by ids, None if it can be of this program only."""
    kinds: list[Type] = [form.type]
    kept: list[Any] = [op]
    pairs = (*enumerate(args), *kwargs.items()) if kwargs else enumerate(args)
    for place, value in pairs:
        cls = value.__class__
        if isinstance(value, Expr):
            kinds.append(value.type)
            if isinstance(value, Call):
                if op_of(value) is None:  # a function of the program
                    return None
                kept.append(value.op)
        elif (cls is list or cls is tuple) and not _NUMBERS.issuperset(map(type, value)):
            for item in value:
                if isinstance(item, Expr):
                    kinds.append(item.type)
                    if item.__class__ is not ConstInt and place not in _free_places(op):
                        return None
    for kind in kinds:
        if not is_plain(kind):
            return None
    keywords = form.keywords
    if keywords and not PLAIN_KEYWORDS.issuperset(map(type, keywords.values())):
        return None
    return [*kept, *kinds]


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


_NUMBERS: Final = frozenset({int})
_LITERALS: Final = frozenset({bool, int, float, str, NoneType})
_SINGLETONS: Final = frozenset({DataType, MemorySpace, PipeType})
