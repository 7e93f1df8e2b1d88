"""Facts that calls of one form share: one table for the process.

A long kernel has thousands of calls and a few dozen forms of them. The form of a call is its op,
the types of its operands, the constants among these, and its keywords. The type of the call follows
from its form, whatever the program; so does how the front end turns the arguments of a call into
operands. So each is computed for the first call of a form, and holds for the others.

The table is bounded and is cleared when full. A form keeps alive the objects whose ids are in its
key: ops, types, and variables that are sizes. It holds nothing else of a program, no statement and
no span. Knows nothing of the type rules, nor of what others attach to a form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Final, TypeAlias

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import ShapedType
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import (
    CONSTANTS,
    BinaryExpr,
    Call,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.node_base import Keywords
from pypto._src.ir.types import ScalarType, TupleType, Type, scalar_type

Key: TypeAlias = tuple[Any, ...]

PLAIN_KEYWORDS: Final = frozenset({bool, int, float, str, DataType, MemorySpace, PipeType})
"""Classes of keyword values that are identified by class and value."""

MOST_FORMS: Final = 4096
"""How many forms the process keeps."""


class CallForm:
    """What the calls of one form share."""

    __slots__ = ("_kept", "plan", "type")

    def __init__(self, kind: Type, kept: object) -> None:
        self.type = kind
        self.plan: Any = None
        """What the front end knows of calls in this form; see `frontend.state.call_plan`."""
        self._kept = kept


FORMS: Final[dict[Key, CallForm]] = {}
"""The forms by their keys; see `key_of`."""


def keep(key: Key, kind: Type, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallForm:
    """Store a form, whose calls have the type ``kind``; ``key`` is `key_of` the other arguments."""
    if len(FORMS) >= MOST_FORMS:
        FORMS.clear()
    form = FORMS[key] = CallForm(kind, _named(op, args, kwargs))
    return form


def key_of(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Key | None:
    """Return the key that identifies the form of a call, None if an argument cannot be part of one.

    ``args`` are the operands of a call, or the arguments that a user gives: expressions, numbers
    and lists. ``op`` may be a name that stands for several ops.
    """
    parts: list[Any] = [id(op)]
    for value in args:
        cls = value.__class__
        if cls is Var:  # most are variables, or lists of numbers
            parts.append(id(value.type))
            continue
        if cls is list and _NUMBERS.issuperset(map(type, value)):
            parts.append(tuple(value))
            continue
        part = _part_of(op, len(parts) - 1, value)
        if part is None:
            return None
        parts.append(part)
    for name, value in kwargs.items():
        part = _part_of(op, name, value)
        if part is None:
            return None
        parts.append(name)
        parts.append(part)
    return tuple(parts)


def _part_of(op: Any, at: int | str, value: Any) -> object:
    """Return an argument's part of the key, None if it has none."""
    cls = value.__class__
    if cls is list or cls is tuple:
        return _list_part(op, at, value)
    if cls is MakeTuple:
        return tuple_part(op, at, value)
    if cls is float and value == 0.0:
        return cls, str(value)  # 0.0 and -0.0 compare equal
    if cls in _LITERALS:
        return cls, value
    if cls is Var or cls is IterArg:
        return id(value.type)
    if cls in _SINGLETONS:
        return id(value)
    if isinstance(value, Expr):
        part = constant_part(value)
        return _computed(value) if part is None else part
    return None


def keywords_part(named: Mapping[str, Any]) -> Key | None:
    """Return the keywords' part of the key, None if their values do not identify them."""
    if not named:
        return ()
    if not isinstance(named, Keywords):
        return _part_of_keywords(named)
    try:
        return named.part
    except AttributeError:
        named.part = _part_of_keywords(named)
    return named.part


def _part_of_keywords(named: Mapping[str, Any]) -> Key | None:
    if not PLAIN_KEYWORDS.issuperset(map(type, named.values())):
        return None
    return tuple([part for k, v in named.items() for part in (k, _part_of(None, k, v))])


def constant_part(value: Any) -> Key | None:
    """Return the key part of a constant or a list of integer constants, None for all else."""
    if value.__class__ is MakeTuple:
        items: Sequence[Any] = value.elements
        if not _INTEGERS.issuperset(map(type, items)):
            return None
        numbers = [i.value if i.type is _INDEX else (i.value, id(i.dtype)) for i in items]
        return MakeTuple, *numbers
    if value.__class__ in CONSTANTS:
        number = value.value or str(value.value)  # 0.0 and -0.0 compare equal
        return value.__class__, number, id(value.dtype)
    return None


def tuple_part(op: Any, at: int | str, value: MakeTuple) -> Key | None:
    """Return the key part of a `MakeTuple`, which differs from that of a list that a user gives."""
    part = constant_part(value)
    if part is not None:
        return part
    items = _list_part(op, at, value.elements)
    return None if items is None else (MakeTuple, *items)


def _list_part(op: Any, at: int | str, items: Sequence[Any]) -> Key | None:
    """Return the key part of a list of numbers and scalars.

    A size is in the type of the result, and so part of the form; a computed offset is not.
    """
    if _NUMBERS.issuperset(map(type, items)):
        return tuple(items)
    parts: list[Any] = []
    for item in items:
        cls = item.__class__
        if cls is int:
            parts.append(item)
        elif cls is ConstInt:
            parts.append((item.value, id(item.dtype)))
        elif not isinstance(item, Expr) or not isinstance(item.type, ScalarType):
            return None
        elif at in op.offsets:
            parts.append((id(item.type.dtype),))
        elif cls is Var:
            parts.append((id(item), id(item)))
        else:
            return None
    return tuple(parts)


def _computed(value: Expr) -> Key | None:
    """Return the key part of an operand that is neither a variable nor a constant."""
    kind = value.type
    if isinstance(value, Call):
        op: Any = value.op
        if not hasattr(op, "space_of"):  # a function of the program
            return None
        # The memory of a tile follows from the op that makes it.
        space = op.space_of(value).value if isinstance(kind, ShapedType) else None
        return id(kind), id(op), space
    if isinstance(value, BinaryExpr | UnaryExpr | TupleGetItemExpr):
        return None if isinstance(kind, TupleType) else (id(kind),)
    return None


def _named(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[object]:
    """Return the objects whose ids `key_of` uses."""
    found: list[object] = [op]
    for at, value in (*enumerate(args), *kwargs.items()):
        items: Sequence[Any] = ()
        if value.__class__ is MakeTuple:
            items = value.elements
        elif value.__class__ is list or value.__class__ is tuple:
            items = value
        elif isinstance(value, Expr):
            found.append(value.type)
            if isinstance(value, Call):
                found.append(value.op)
        for item in items:
            if item.__class__ is Var and at not in op.offsets:
                found.append(item)
    return found


_INDEX: Final = scalar_type(DataType.INDEX)
_NUMBERS: Final = frozenset({int})
_INTEGERS: Final = frozenset({ConstInt})
_LITERALS: Final = frozenset({bool, int, float, str, NoneType})
_SINGLETONS: Final = frozenset({DataType, MemorySpace, PipeType})
