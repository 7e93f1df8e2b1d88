"""What is known of the types of calls: what they depend on, and those that were found before.

The tables are bounded and hold for the process. Knows nothing of the rules that give types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstFloat, ConstInt, Expr, IterArg, MakeTuple, Var
from pypto._src.ir.interning import is_plain, unique, with_own_constants
from pypto._src.ir.types import Type

PLAIN_KEYWORDS: Final = frozenset({bool, int, float, str, DataType, MemorySpace, PipeType})
"""What keywords hold that are known by their class and value."""

MOST_KNOWN: Final = 1024
"""How many result types an op remembers; then it begins anew."""

MOST_OF_PROGRAMS: Final = 256
OF_PROGRAMS: Final[dict[tuple[Any, ...], tuple[Type, Any]]] = {}
"""The same for calls with named or computed sizes, of all ops. It keeps variables of programs, but
few, and neither statements nor functions."""


_DEEPEST: Final = 4
"""How many calls inside each other are known by what is in them."""


def keep(op: Any, key: tuple[Any, ...], kind: Type, kept: Sequence[Any]) -> None:
    """Keep the type of the calls of ``op`` with ``key``, and with it the objects that it names."""
    known = kind, kept
    if all(map(is_plain, kept)):
        if len(op.known) >= MOST_KNOWN:
            op.known.clear()
        op.known[key] = known
    else:
        if len(OF_PROGRAMS) >= MOST_OF_PROGRAMS:
            OF_PROGRAMS.clear()
        OF_PROGRAMS[op, key] = known


def one_object(kind: Type, operands: Sequence[Expr]) -> Type:
    """Return `unique` of a result type, but the very type of an operand as it is.

    Others have no constant of a list: equal constants find them, perhaps of the next program.
    """
    for value in operands:
        if value.type is kind:
            return kind
    if MakeTuple in map(type, operands) and not is_plain(kind):
        return with_own_constants(kind)
    return unique(kind)


def known_as(
    op: Any, operands: Sequence[Expr], kwargs: Mapping[str, Any], deepest: int = _DEEPEST
) -> tuple[tuple[Any, ...], list[Any]] | None:
    """Return what a result type depends on, and the objects whose identity stands in it.

    The memory of a nested call's result follows from all that its own type depends on. Of what is
    computed among `OFFSETS` no type depends. None where a type may depend on more.
    """
    parts: list[Any] = []
    kept: list[Any] = []
    values: Sequence[Any] = operands
    for at, value in enumerate(values):
        cls = value.__class__
        if cls is MakeTuple:
            items = value.elements
            parts.append((None, len(items)))  # else a number behind a list could be one of it
            for item in items:
                if item.__class__ is ConstInt:
                    parts.append(item.value)
                    parts.append(id(item.type))
                    kept.append(item.type)
                else:
                    part = item.type if at in op.offsets else item
                    parts.append((id(part),))
                    kept.append(part)
            continue
        if cls is ConstInt or cls is ConstFloat:
            parts.append(value.value)
        elif cls is Call and deepest and value.op.__class__ is op.__class__:
            inner = known_as(value.op, value.args, value.kwargs, deepest - 1)
            if inner is None:
                return None
            parts.append((value.op, inner[0]))
            kept += inner[1]
        elif cls is not Var and cls is not IterArg:
            return None
        parts.append(id(value.type))
        kept.append(value.type)
    for key, value in kwargs.items():
        if value.__class__ not in PLAIN_KEYWORDS:
            return None
        parts.append((key, value.__class__, value))
    return tuple(parts), kept
