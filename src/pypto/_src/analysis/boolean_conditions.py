"""Conditions made of ``not``, ``and`` and ``or``: their parts, and how these decide the whole.

A condition may name others, and use one of them many times: as a tree it can be far larger than
the program. So each part is visited once, however often it occurs and however deep it is. Does not
know what a part means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from pypto._src.ir.exprs import And, Expr, Not, Or, Var

T = TypeVar("T")


def resolved(expr: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """Return what a variable stands for by its assignments, anything else itself."""
    while isinstance(expr, Var) and expr in values:
        expr = values[expr]
    return expr


def parts(condition: Expr, values: Mapping[Expr, Expr], seen: set[Expr]) -> Iterator[Expr]:
    """Yield a condition and all its operands down to the leaves; add them to ``seen``.

    Those in ``seen`` are skipped.
    """
    pending = [resolved(condition, values)]
    while pending:
        expr = pending.pop()
        if expr not in seen:
            seen.add(expr)
            yield expr
            pending += _operands(expr, values)


def outcome(
    condition: Expr,
    values: Mapping[Expr, Expr],
    known: dict[Expr, T | None],
    of_part: Callable[[Expr], T | None],
    joined: Callable[[Expr, Sequence[T | None]], T | None],
) -> T | None:
    """Evaluate a condition: ``of_part`` gives the value of a leaf, ``joined`` combines operands.

    ``known`` caches values of earlier calls and of this one. A condition that depends on itself is
    None.
    """
    root = resolved(condition, values)
    if root in known:
        return known[root]
    pending, opened = [(root, _operands(root, values))], {root}
    while pending:
        expr, operands = pending[-1]
        left = [each for each in operands if each not in known and each not in opened]
        if left:
            opened.add(left[0])
            pending.append((left[0], _operands(left[0], values)))
            continue
        pending.pop()
        found = joined(expr, [known.get(each) for each in operands]) if operands else of_part(expr)
        known[expr] = found
    return known[root]


def truth(condition: Expr, sides: Sequence[bool | None]) -> bool | None:
    """Return the value of ``not``, ``and`` or ``or`` on its operands; None is unknown."""
    if isinstance(condition, Not):
        return None if sides[0] is None else not sides[0]
    strong = isinstance(condition, Or)  # the value of one side that decides it
    if strong in sides:
        return strong
    return None if None in sides else not strong


def _operands(expr: Expr, values: Mapping[Expr, Expr]) -> list[Expr]:
    """Return the operands of a connective, with names resolved; none for any other condition."""
    if isinstance(expr, And | Or):
        return [resolved(expr.left, values), resolved(expr.right, values)]
    return [resolved(expr.operand, values)] if isinstance(expr, Not) else []
