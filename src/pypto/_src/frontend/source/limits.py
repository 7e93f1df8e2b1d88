"""Limits on the values that the front end computes: a short text must not fill the memory.

Knows Python's numbers, strings and lists, not the language.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

MOST_BITS: Final = 1 << 12
"""The most bits of an integer."""

MOST_ITEMS: Final = 1 << 10
"""The most items of a list with all lists inside it, and the most characters of a string."""

_WIDE: Final = re.compile(r"\*|\d{4}")
"""What may make the result of ``%`` long: a field width of many digits, or ``*``."""


def is_huge_result(op: type[ast.operator], left: Any, right: Any) -> bool:
    """True if ``left op right``, both Python values, would take minutes or gigabytes."""
    if op is ast.Mod and isinstance(left, str | bytes):
        return _WIDE.search(repr(left)) is not None
    if op is ast.Mult and isinstance(left, int):
        left, right = right, left  # a list, if there is one, is on the left
    if op is ast.Add and isinstance(left, Sequence) and isinstance(right, Sequence):
        return item_count([left, right]) > MOST_ITEMS
    if not isinstance(right, int):
        return False
    if isinstance(left, Sequence):
        return op is ast.Mult and right > 0 and item_count([left]) * right > MOST_ITEMS
    if not isinstance(left, int):
        return False
    if op is ast.Mult:
        return left.bit_length() + right.bit_length() > MOST_BITS
    if op is ast.LShift:
        return right > 0 and left.bit_length() + right > MOST_BITS
    return op is ast.Pow and right * left.bit_length() > MOST_BITS


def is_huge_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """True if one of Python's own functions would take minutes or gigabytes."""
    if function is range:
        return all(isinstance(arg, int) for arg in args) and _is_long(args)
    names = next((names for known, names in _PARAMETERS if known is function), ())
    given = [*args, *(kwargs[name] for name in names[len(args) :] if name in kwargs)]
    if not names:
        return False
    if len(given) < 2:
        return False
    if function is pow:
        return is_huge_result(ast.Pow, *given[:2])
    if function is round:
        return isinstance(given[1], int) and abs(given[1]) > MOST_BITS
    return isinstance(given[1], Sequence) and item_count(given) > MOST_ITEMS


_PARAMETERS: Final[tuple[tuple[Any, tuple[str, ...]], ...]] = (
    (pow, ("base", "exp")),
    (round, ("number", "ndigits")),
    (sum, ("iterable", "start")),
)


def _is_long(bounds: Sequence[int]) -> bool:
    try:
        return bool(range(*bounds)[MOST_ITEMS:])  # `len` fails for a length beyond 64 bits
    except (TypeError, ValueError):  # the call itself raises it again
        return False


def item_count(values: Iterable[Any]) -> int:
    """Count the items of values, nested ones included, stopping beyond the limit.

    A list that occurs several times counts each time, as it would for any traversal.
    """
    count, pending = 0, [*values]
    while pending and count <= MOST_ITEMS:
        value = pending.pop()
        if isinstance(value, str | bytes):
            count += len(value)
        elif isinstance(value, list | tuple):
            items = cast("Sequence[Any]", value)
            count += len(items)
            if count <= MOST_ITEMS:
                pending += items
        elif isinstance(value, Mapping):
            entries = cast("Mapping[Any, Any]", value)
            count += len(entries)
            pending += entries.values()
    return count
