"""How the front end builds calls of a form that it has met before.

Which op a name means, and how the arguments of a call become operands and keywords, follows from
the form of the call as written (`ir.call_forms`). So the op itself builds the first call of a form,
and that call tells how to build the others.

Knows nothing of syntax, names or errors: a call that an op refuses is never a form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, Final, TypeAlias, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstFloat, ConstInt, Expr, MakeTuple
from pypto._src.ir.op_params import ATTR
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.unchecked import checked_call, checked_float, checked_int, checked_tuple

Key: TypeAlias = tuple[Any, ...]
Maker: TypeAlias = Callable[[Sequence[Any], Span], Expr]
"""Builds an operand from the arguments of a call and its span."""


class _NotReusable(Exception):
    """Calls of this form cannot be built from what they have in common."""


class CallPlan:
    """How to build calls of one form."""

    __slots__ = (
        "has_effect",
        "is_plain",
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
        # True if an operand may be in a memory from which the op does not take it.
        self.unplaced = used.names_spaces and _is_unplaced(used, made)
        self.on_tiles = used.level == "block"
        # For each operand the index of an argument, or a function that makes it. Empty if only the
        # op can build the call.
        self.sources = _sources(made, args, kwargs)
        self.is_plain = self.sources.__class__ is range  # they are the positional arguments

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
    """Return where the operands of a call come from; empty if that is unknown."""
    operands = made.args
    if len(operands) == len(args) and all(map(is_, operands, args)):
        return range(len(args))
    op = op_of(made)
    assert op is not None
    values = [*args, *kwargs.values()] if kwargs else args
    found: list[int | Maker] = []
    try:
        for operand, slot in zip(operands, _slots(op, operands, args, kwargs), strict=True):
            value: Any = None if slot is None else values[slot]
            if value is operand and slot is not None:
                found.append(slot)
            elif isinstance(value, list | tuple) and isinstance(operand, MakeTuple):
                found.append(_of_list(slot, cast("Sequence[Any]", value), operand))
            elif isinstance(value, Expr):
                return ()
            else:
                found.append(_again(operand, made.span))
    except _NotReusable:
        return ()
    return tuple(found)


def _slots(
    op: OpDef[..., Any],
    operands: Sequence[Expr],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> list[int | None]:
    """Return the index of the argument for each operand, None if it was left out."""
    count = len(args)
    if count == len(operands) == 2 and operands[0] is args[1] and operands[1] is not args[1]:
        return [1, 0]  # a number came first
    named = {name: count + at for at, name in enumerate(kwargs)}
    return [
        at if at < count else named.get(param.name)
        for at, param in enumerate(op.params)
        if param.kind != ATTR
    ]


def _is_unplaced(op: OpDef[..., Any], made: Call) -> bool:
    """True if an operand may be in a memory from which the op does not take it."""
    for index, spaces in op.operand_spaces(made.kwargs).items():
        kind = made.args[index].type
        known = isinstance(kind, TileType) and (kind.tile_view or kind.memref)
        if not known and MemorySpace.Vec not in spaces:
            return True
    return False


def _again(operand: Expr, span: Span) -> Maker:
    """Return what makes an operand that all calls of a form share, each with its own span."""
    if isinstance(operand, ConstInt) and operand.span is span:
        integer, kind = operand.value, operand.type
        return lambda _, span: checked_int(integer, kind, span)
    if isinstance(operand, ConstFloat) and operand.span is span:
        value, kind = operand.value, operand.type
        return lambda _, span: checked_float(value, kind, span)
    if isinstance(operand, MakeTuple) and _have_no_span(operand.elements):
        elements, kind = operand.elements, operand.type
        return lambda _, span: checked_tuple(elements, kind, span)
    if isinstance(operand, Call) and operand.span is span:  # the scratch tile that was left out
        parts = [_again(arg, span) for arg in operand.args]
        op, keywords, result = operand.op, operand.kwargs, operand.type
        return lambda values, span: checked_call(
            op, tuple([part(values, span) for part in parts]), keywords, result, span
        )
    raise _NotReusable


def _of_list(slot: Any, given: Sequence[Any], operand: MakeTuple) -> Maker:
    """Return what makes a list operand: its numbers stay, its expressions are the call's."""
    elements, kind = operand.elements, operand.type
    if _NUMBERS.issuperset(map(type, given)) and _have_no_span(elements):
        return lambda _, span: checked_tuple(elements, kind, span)
    pairs = list(zip(given, elements, strict=True))
    own = [at for at, (item, element) in enumerate(pairs) if item is element]
    numbers = [None if item is element else element for item, element in pairs]
    if not _have_no_span([number for number in numbers if number is not None]):
        raise _NotReusable

    def make(values: Sequence[Any], span: Span) -> Expr:
        items: list[Any] = numbers.copy()
        for at in own:
            items[at] = values[slot][at]
        return checked_tuple(tuple(items), kind, span)

    return make


def _have_no_span(items: Sequence[Expr]) -> bool:
    """True for constants without a span, which are the same in all calls."""
    for item in items:
        if item.__class__ is not ConstInt or item.span is not UNKNOWN_SPAN:
            return False
    return True


_NUMBERS: Final = frozenset({int})
