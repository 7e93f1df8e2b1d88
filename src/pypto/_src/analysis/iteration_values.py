"""Values of a function's integers and conditions in one iteration of the loops around them.

A value is a linear form of what does not change from one iteration to the next: arguments, and what
is defined outside the loops that are stepped through. A value that has no such form is unknown, so
that every value given is the one of a run. Knows nothing about tiles and tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any, Final, cast

from pypto._src.analysis.affine import Affine, Integers, combine
from pypto._src.analysis.boolean_conditions import outcome, parts, truth
from pypto._src.analysis.stmt_tree import Block
from pypto._src.ir.array_types import is_integer
from pypto._src.ir.exprs import (
    BinaryExpr,
    ConstBool,
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
    Pow,
    UnaryExpr,
    Var,
)
from pypto._src.ir.traversal.queries import uses

COMPARISONS: Final = (Eq, Ne, Lt, Le, Gt, Ge)
_ZERO: Final = Affine(0, {})
_MOST_DEEP: Final = 64
"""The longest chain of definitions that is followed through expressions that are not linear."""
_MOST_PARTS: Final = 64
"""The most distinct parts of a condition that are evaluated in each iteration."""


class Values:
    """The values in the current iteration.

    ``stays`` says which variables are the same in every iteration. Others have the value that `let`
    gives them, or one computed from such values, or are unknown.
    """

    def __init__(self, integers: Integers, stays: Callable[[Var], bool]) -> None:
        self.integers = integers
        self.stays = stays
        self._given: dict[Expr, Affine | None] = {}
        self._known: dict[Expr, Affine | None] = {}  # since the last change
        self._depth = 0
        self._decided: dict[Expr, bool | None] = {}  # since the last change
        self._keys: dict[Expr, Hashable | None] = {}  # since the last change
        self._numbers: dict[Hashable, int] = {}  # of compound keys
        self._short: dict[Expr, bool] = {}  # by condition

    def let(self, var: Var, value: Affine | None) -> None:
        """Set the value of a variable from now on; None if unknown."""
        self._given[var] = value
        for found in (self._known, self._decided, self._keys):
            found.clear()

    def of(self, expr: Expr, block: Block) -> Affine | None:
        """Return the current value of an integer used in ``block``."""
        return self.at(self.integers.form(expr, block), block)

    def at(self, form: Affine, block: Block) -> Affine | None:
        """Return the current value of a linear form."""
        if not form.terms:
            return form
        found = Affine(form.constant, {})
        for atom, factor in form.terms.items():
            value = self._atom(atom, block)
            if value is None:
                return None
            found = combine(found, value, factor)
        return found

    def constant(self, expr: Expr, block: Block) -> int | None:
        """Return the current value of an integer if it is a constant."""
        found = self.of(expr, block)
        return None if found is None or found.terms else found.constant

    def _atom(self, atom: Expr, block: Block) -> Affine | None:
        if atom in self._given:
            return self._given[atom]
        if atom not in self._known:
            if self._depth >= _MOST_DEEP:
                return None
            self._depth += 1
            self._known[atom] = None  # what depends on itself has no value
            self._known[atom] = self._found(atom, block)
            self._depth -= 1
        return self._known[atom]

    def _found(self, atom: Expr, block: Block) -> Affine | None:
        home = self.integers.home.get(atom, block)
        if isinstance(atom, Var):
            value = self.integers.values.get(atom)
            found = None if value is None else self._computed(value, home)
        else:
            found = self._computed(atom, home)
        if found is None:
            read = [*uses([atom])]
            if read and all(self.stays(var) for var in read):
                return Affine(0, {atom: 1})
        return found

    def _computed(self, expr: Expr, block: Block) -> Affine | None:
        """Return the value of an expression that is not linear."""
        if isinstance(expr, Var | ConstInt):
            return self.of(expr, block)
        if not is_integer(expr):
            return None
        if isinstance(expr, UnaryExpr):
            value = self.constant(expr.operand, block) if is_integer(expr.operand) else None
            return None if value is None else Affine(_folded(expr, value), {})
        if not isinstance(expr, BinaryExpr) or not (
            is_integer(expr.left) and is_integer(expr.right)
        ):
            return None
        left, right = self.of(expr.left, block), self.of(expr.right, block)
        return None if left is None or right is None else _binary(expr, left, right)

    # ----- conditions ---------------------------------------------------------------------------

    def decide(self, condition: Expr, block: Block) -> bool | None:
        """Return the current value of a condition, None if it may be either."""
        if not self._is_short(condition):
            return None
        values, known = self.integers.values, self._decided
        return outcome(condition, values, known, lambda part: self._truth(part, block), truth)

    def _truth(self, expr: Expr, block: Block) -> bool | None:
        """Return the current value of a condition that is not a connective."""
        if isinstance(expr, ConstBool | ConstInt):
            return bool(expr.value)
        if isinstance(expr, COMPARISONS):
            difference = self._difference(expr, block)
            if difference is None or difference.terms:
                return None
            return bool(_folded(expr, difference.constant, 0))
        value = self.constant(expr, block) if is_integer(expr) else None
        return None if value is None else value != 0

    def key(self, condition: Expr, block: Block) -> Hashable:
        """Return a key shared by conditions that are equal in this iteration, None if unknown."""
        if not self._is_short(condition):
            return None
        values, known = self.integers.values, self._keys
        return outcome(condition, values, known, lambda part: self._key(part, block), self._joined)

    def _key(self, expr: Expr, block: Block) -> Hashable:
        if isinstance(expr, COMPARISONS):
            difference = self._difference(expr, block)
            if difference is not None:
                return type(expr), difference.constant, frozenset(difference.terms.items())
        elif isinstance(expr, Var) and self.stays(expr):
            return expr
        return None

    def _joined(self, expr: Expr, keys: Sequence[Hashable]) -> Hashable:
        """Return a number for an op on these keys: nested keys would grow as large as trees."""
        if None in keys:
            return None
        return self._numbers.setdefault((type(expr), *keys), len(self._numbers))

    def _is_short(self, condition: Expr) -> bool:
        """True if a condition, with the conditions that it names, has few distinct parts."""
        if condition not in self._short:
            found = parts(condition, self.integers.values, set())
            self._short[condition] = next(islice(found, _MOST_PARTS, None), None) is None
        return self._short[condition]

    def _difference(self, expr: Expr, block: Block) -> Affine | None:
        """Return left minus right of a comparison of integers."""
        sides = cast("BinaryExpr", expr)
        if not (is_integer(sides.left) and is_integer(sides.right)):
            return None
        left, right = self.of(sides.left, block), self.of(sides.right, block)
        return None if left is None or right is None else combine(left, right, -1)


def _folded(expr: Any, *operands: int) -> int:
    return int(expr.fold(*operands))


def _binary(expr: BinaryExpr, left: Affine, right: Affine) -> Affine | None:
    """Return the result of an op on two linear forms, None if it is not linear."""
    if isinstance(expr, Mul) and not (left.terms and right.terms):
        form, factor = (left, right.constant) if left.terms else (right, left.constant)
        return combine(_ZERO, form, factor) if factor else _ZERO
    if isinstance(expr, Min | Max):
        apart = combine(left, right, -1)
        if apart.terms:
            return None
        return left if (apart.constant < 0) == isinstance(expr, Min) else right
    if isinstance(expr, FloorDiv | FloorMod) and not right.terms and right.constant:
        by = right.constant
        if any(factor % by for factor in left.terms.values()):
            return None
        if isinstance(expr, FloorMod):
            return Affine(left.constant % by, {})
        terms = {atom: factor // by for atom, factor in left.terms.items()}
        return Affine(left.constant // by, terms)
    if left.terms or right.terms or isinstance(expr, Pow):
        return None
    try:
        return Affine(_folded(expr, left.constant, right.constant), {})
    except (ArithmeticError, ValueError):
        return None
