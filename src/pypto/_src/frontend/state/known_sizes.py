"""Integers known at parse time, and differences of integers that are not known.

``i + 16`` minus ``i`` is 16 whatever ``i`` is; ``rows // 2`` is 32 if ``rows`` was set to 64 and
nothing else. Knows scalars, not syntax, slices or ops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pypto._src.dtypes import fits
from pypto._src.ir.array_types import same_dim
from pypto._src.ir.exprs import (
    Add,
    And,
    BinaryExpr,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Eq,
    Expr,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Sub,
    Var,
    as_expr,
    binary,
)
from pypto._src.ir.types import ScalarType

_ON_NUMBERS: Final[dict[type[Expr], Callable[[int, int], int]]] = {
    kind: kind.fold for kind in (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max)
}
_COMPARED: Final[dict[type[Expr], Callable[[float, float], bool]]] = {
    kind: kind.fold for kind in (Eq, Ne, Lt, Le, Gt, Ge)
}
_SUMS: Final = frozenset({Add, Sub, Mul, Neg})
_DIVIDED: Final = frozenset({Add, Sub, Mul, Min, Max, FloorMod})
_FEWEST_BITS: Final = 32  # of sums that are taken apart; narrower ones wrap
_DEEPEST: Final = 20  # of an expression whose value is computed; deeper ones are left to run time


def number_of(value: Any, known: Mapping[Var, int], deepest: int = _DEEPEST) -> int | None:
    """Return the integer that a value is, None if unknown; ``known`` has those of variables."""
    cls = value.__class__
    if cls is ConstInt:
        return value.value
    if isinstance(value, int):
        return value
    if isinstance(value, Var):
        return known.get(value)
    fold = _ON_NUMBERS.get(cls)
    found: int | None = None
    if fold is not None and deepest:
        left = number_of(value.left, known, deepest - 1)
        right = None if left is None else number_of(value.right, known, deepest - 1)
        divides = cls is FloorDiv or cls is FloorMod
        if left is not None and right is not None and not (divides and right == 0):
            found = fold(left, right)
    elif (cls is Neg or cls is Cast) and deepest:
        operand = number_of(value.operand, known, deepest - 1)
        found = -operand if cls is Neg and operand is not None else operand
    return found if found is not None and _holds(value, found) else None


def divisor_of(value: Any, divisors: Mapping[Var, int], deepest: int = _DEEPEST) -> int:
    """Return a number that divides a value, whatever that is at run time: 1 if nothing is known.

    ``divisors`` has such numbers for loop variables. 0 is returned only for the value 0.
    """
    if isinstance(value, int | ConstInt):
        return abs(value if isinstance(value, int) else value.value)
    if isinstance(value, Var):
        return divisors.get(value, 1)
    cls = value.__class__
    if not deepest or (cls is not Cast and cls not in _DIVIDED):
        return 1
    if cls is Cast:
        return divisor_of(value.operand, divisors, deepest - 1) if _widens(value) else 1
    left = divisor_of(value.left, divisors, deepest - 1)
    right = divisor_of(value.right, divisors, deepest - 1)
    return left * right if cls is Mul else math.gcd(left, right)


def truth_of(condition: Expr, known: Mapping[Var, int], deepest: int = _DEEPEST) -> bool | None:
    """Return whether a condition holds, None if only run time tells, or if it is too deep."""
    if isinstance(condition, ConstBool):
        return condition.value
    if isinstance(condition, Not):
        inner = truth_of(condition.operand, known, deepest - 1) if deepest else None
        return None if inner is None else not inner
    if isinstance(condition, And | Or):
        if not deepest:
            return None
        both = condition.left, condition.right
        sides = {truth_of(side, known, deepest - 1) for side in both}
        decisive = isinstance(condition, Or)
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    compare = _COMPARED.get(condition.__class__)
    if compare is not None and isinstance(condition, BinaryExpr):
        left, right = (_constant(side, known) for side in (condition.left, condition.right))
        return None if left is None or right is None else bool(compare(left, right))
    number = _constant(condition, known)
    return None if number is None else number != 0


def _constant(value: Expr, known: Mapping[Var, int]) -> float | None:
    return value.value if isinstance(value, ConstFloat) else number_of(value, known)


def _holds(value: Expr, number: int) -> bool:
    """True if the type of a scalar can hold ``number``; otherwise computing it wraps."""
    kind = value.type
    return isinstance(kind, ScalarType) and kind.dtype.is_int() and fits(number, kind.dtype)


def difference(end: Any, begin: Any, known: Mapping[Var, int]) -> int | Expr:
    """Return ``end - begin`` of two integers, as a number if the unknown terms cancel."""
    if isinstance(end, int) and isinstance(begin, int):
        return end - begin
    (base, constant), (other, less) = _shifted(end), _shifted(begin)
    if base is other or (
        isinstance(base, Expr) and isinstance(other, Expr) and same_dim(base, other)
    ):
        return constant - less  # begin + 16 and begin, as most slices are
    constant = 0
    terms: dict[Expr, int] = {}
    todo: list[tuple[Any, int]] = [(begin, -1), (end, 1)]
    while todo:
        value, factor = todo.pop()
        parts = _parts(value, factor, known)
        if parts is not None:
            todo += parts
            continue
        number = number_of(value, known)
        if number is None:
            _add(terms, value, factor)
        else:
            constant += factor * number
    return constant if not terms else _sum(constant, terms)


def _shifted(value: Any) -> tuple[Any, int]:
    """Split a value into a rest and the constant that is added to it."""
    plus = value.__class__ is Add and value.right.__class__ is ConstInt
    if not plus or value.type.dtype.get_bit() < _FEWEST_BITS:
        return value, 0
    return value.left, value.right.value


def _parts(value: Any, factor: int, known: Mapping[Var, int]) -> Sequence[tuple[Any, int]] | None:
    """Return the terms of a sum, each with its factor; None for a single term."""
    kind = value.__class__
    if kind is Var or kind is int or kind is ConstInt:
        return None
    if kind is Cast:
        return ((value.operand, factor),) if _widens(value) else None
    if kind not in _SUMS or value.type.dtype.get_bit() < _FEWEST_BITS:
        return None
    if kind is Neg:
        return ((value.operand, -factor),)
    if kind is not Mul:
        return (value.right, factor if kind is Add else -factor), (value.left, factor)
    by = number_of(value.right, known)
    if by is not None:
        return ((value.left, factor * by),)
    by = number_of(value.left, known)
    return None if by is None else ((value.right, factor * by),)


def _widens(value: Cast) -> bool:
    source = value.operand.type
    return (
        isinstance(source, ScalarType)
        and source.dtype.is_int()
        and value.dtype.is_int()
        and value.dtype.get_bit() >= source.dtype.get_bit()
    )


def _add(terms: dict[Expr, int], value: Expr, factor: int) -> None:
    same = value
    if value not in terms and not isinstance(value, Var):
        same = next((term for term in terms if same_dim(term, value)), value)
    total = terms.get(same, 0) + factor
    if total:
        terms[same] = total
    else:
        terms.pop(same, None)


def _sum(constant: int, terms: Mapping[Expr, int]) -> int | Expr:
    """Return the sum as an expression, with additions before subtractions."""
    parts = sorted(terms.items(), key=lambda part: part[1] < 0)
    found: Expr | None = None
    if not parts or (constant and parts[0][1] < 0):
        found, constant = as_expr(constant), 0
    for term, factor in parts:
        part = term if abs(factor) == 1 else binary(Mul, term, as_expr(abs(factor)))
        if found is None:
            found = part if factor > 0 else binary(Sub, as_expr(0), part)
        else:
            found = binary(Add if factor > 0 else Sub, found, part)
    assert found is not None
    if constant:
        found = binary(Add if constant > 0 else Sub, found, as_expr(abs(constant)))
    return found.value if isinstance(found, ConstInt) else found
