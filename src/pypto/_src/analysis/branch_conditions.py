"""Which arm a branch takes, as far as the iteration of a loop decides it.

A loop is examined separately for its first iteration, its last and the others, and for each
remainder of its variable, where conditions in it ask for that (``if i == 0``, ``if i + 1 < n``,
``if i % 2``). Any other condition may go either way. Knows integers and conditions, not flags.
"""

from __future__ import annotations

from math import inf, lcm
from typing import Final, TypeAlias

from pypto._src.analysis.affine import Affine, Integers, combine
from pypto._src.analysis.boolean_conditions import outcome, parts, resolved, truth
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, points_in
from pypto._src.ir.array_types import is_integer
from pypto._src.ir.exprs import (
    ConstBool,
    ConstInt,
    Eq,
    Expr,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Ne,
    Var,
    const_value,
)
from pypto._src.ir.stmts import ForStmt, IfStmt
from pypto._src.records import NamedTuple

MOST_CLASSES: Final = 8
"""The most remainders of one loop variable that are distinguished."""

Range: TypeAlias = "tuple[float, float]"


class Iteration(NamedTuple):
    """What is known about the current iteration of a loop; None is unknown."""

    first: bool | None = None
    last: bool | None = None
    remainder: int | None = None  # of the loop variable
    modulus: int = 1


class Counter(NamedTuple):
    """A loop's variable with its bounds as linear forms, and its constant step."""

    var: Var
    start: Affine
    stop: Affine
    step: int


class Questions(NamedTuple):
    """What the conditions in a loop depend on: being first, being last, a remainder."""

    first: bool
    last: bool
    modulus: int


class Conditions:
    """Decides conditions in the current iterations of the loops around them."""

    def __init__(self, integers: Integers) -> None:
        self.integers = integers
        self.values = integers.values
        self.iterations: dict[Var, tuple[Counter, Iteration]] = {}  # of the open loops
        self.assumed: dict[object, bool] = {}
        self._decided: dict[tuple[object, ...], dict[Expr, bool | None]] = {}  # current state

    def counter(self, point: ProgramPoint) -> Counter | None:
        """Return the counter of a loop, None for one whose step is not constant."""
        stmt = point.stmt
        step = const_value(stmt.step) if isinstance(stmt, ForStmt) else None
        if not isinstance(stmt, ForStmt) or not step:
            return None
        start = self.integers.form(stmt.start, point.block)
        return Counter(stmt.loop_var, start, self.integers.form(stmt.stop, point.block), step)

    # ----- what conditions ask of a loop ------------------------------------------------------

    def questions(self, point: ProgramPoint, counter: Counter) -> Questions:
        """Return what the conditions inside a loop depend on; see `Questions`."""
        first = last = False
        modulus = 1
        seen = set[Expr]()
        for inner in points_in(point.blocks[0]):
            if not isinstance(inner.stmt, IfStmt):
                continue
            for part in parts(inner.stmt.condition, self.values, seen):
                divisor = self._divisor(part, counter.var, inner.block)
                if divisor is not None and lcm(modulus, divisor) <= MOST_CLASSES:
                    modulus = lcm(modulus, divisor)
                difference = self._difference(part, inner.block)
                if difference is not None and counter.var in difference.terms:
                    first = first or _constant(difference, counter, counter.start) is not None
                    last = last or _constant(difference, counter, counter.stop) is not None
        return Questions(first, last, modulus)

    def _divisor(self, part: Expr, var: Var, block: Block) -> int | None:
        for side in (part.left, part.right) if isinstance(part, _COMPARISONS) else (part,):
            side = resolved(side, self.values)
            if isinstance(side, FloorMod):
                divisor = const_value(side.right)
                if divisor and var in self.integers.form(side.left, block).terms:
                    return abs(divisor)
        return None

    def _difference(self, part: Expr, block: Block) -> Affine | None:
        """Return left minus right of a comparison of integers."""
        if not isinstance(part, _COMPARISONS):
            return None
        known = self.integers.differences.get(part)
        if known is not None or not is_integer(part.left):
            return known
        left = self._form(part.left, block)
        difference = combine(left, self._form(part.right, block), -1)
        sides = resolved(part.left, self.values), resolved(part.right, self.values)
        if not any(isinstance(side, FloorMod) for side in sides):  # these depend on the iteration
            self.integers.differences[part] = difference
        return difference

    def _form(self, expr: Expr, block: Block) -> Affine:
        expr = resolved(expr, self.values)
        remainder = self._remainder(expr, block)
        return self.integers.form(expr, block) if remainder is None else Affine(remainder, {})

    def _remainder(self, expr: Expr, block: Block) -> int | None:
        """Return the value of ``form % number`` if the current iterations decide it, else None."""
        divisor = const_value(expr.right) if isinstance(expr, FloorMod) else None
        if not isinstance(expr, FloorMod) or not divisor or divisor < 0:
            return None
        form = self.integers.form(expr.left, block)
        total = form.constant
        for atom, factor in form.terms.items():
            if factor % divisor == 0:
                continue
            iteration = (
                self.iterations[atom][1]
                if isinstance(atom, Var) and atom in self.iterations
                else None
            )
            if (
                iteration is None
                or iteration.remainder is None
                or factor * iteration.modulus % divisor
            ):
                return None
            total += factor * iteration.remainder
        return total % divisor

    def present(self) -> tuple[object, ...]:
        """Return what is known about the current iterations and conditions, as a key."""
        iterations = [(var, iteration) for var, (_, iteration) in self.iterations.items()]
        return (*iterations, *self.assumed.items())

    # ----- deciding -----------------------------------------------------------------------------

    def decide(self, condition: Expr, block: Block) -> bool | None:
        """Return the value of a condition in the current iterations, None if it may be either."""
        now = self.present()
        known = self._decided.get(now)
        if known is None:
            known = dict[Expr, bool | None]()
            self._decided = {now: known}
        return outcome(condition, self.values, known, lambda e: self._of_part(e, block), truth)

    def always(self, condition: Expr, block: Block) -> bool | None:
        """Return the value of a condition in all iterations, None if it may be either."""
        iterations, self.iterations = self.iterations, {}
        try:
            return self.decide(condition, block)
        finally:
            self.iterations = iterations

    def _of_part(self, expr: Expr, block: Block) -> bool | None:
        """Return the value of a condition that is not a connective."""
        match expr:
            case ConstBool():
                return expr.value
            case ConstInt():
                return expr.value != 0
            case FloorMod():
                remainder = self._remainder(expr, block)
                return None if remainder is None else remainder != 0
            case _:
                pass
        difference = self._difference(expr, block)
        if difference is not None:
            decided = _compared(expr, self._bounds(difference))
            if decided is not None:
                return decided
        key = self.key(expr, block)
        return None if key is None else self.assumed.get(key)

    def key(self, condition: Expr, block: Block) -> object:
        """Return a key that equal conditions share, None if there is none."""
        expr = resolved(condition, self.values)
        if isinstance(expr, Var):
            return expr
        difference = self._difference(expr, block)
        if difference is None:
            return None
        return type(expr), difference.constant, frozenset(difference.terms.items())

    def _bounds(self, form: Affine) -> Range:
        """Return the closed range of a linear form's values."""
        low, high = -inf, inf
        if not form.terms:
            return form.constant, form.constant
        for counter, iteration in self.iterations.values():
            if counter.var not in form.terms:
                continue
            factor = form.terms[counter.var]
            over = _constant(form, counter, counter.start)
            if over is not None and iteration.first is not None:
                least = 0 if iteration.first else counter.step
                low, high = _narrow((low, high), over, factor, least, iteration.first, counter.step)
            over = _constant(form, counter, counter.stop)
            if over is not None and iteration.last is not None:
                low, high = _narrow_last((low, high), over, factor, iteration.last, counter.step)
        return low, high


_COMPARISONS: Final = (Eq, Ne, Lt, Le, Gt, Ge)


def _constant(form: Affine, counter: Counter, bound: Affine) -> int | None:
    """Return c if ``form`` is c plus a multiple of (variable - bound), None if it is not."""
    factor = form.terms.get(counter.var)
    if factor is None:
        return None
    rest = combine(form, Affine(0, {counter.var: 1}), -factor)
    rest = combine(rest, bound, factor)
    return None if rest.terms else rest.constant


def _narrow(bounds: Range, over: int, factor: int, least: int, exact: bool, step: int) -> Range:
    """Narrow ``bounds`` to over + factor * d, where d is ``least`` or steps beyond it."""
    value = over + factor * least
    if exact:
        return value, value
    grows = (factor > 0) == (step > 0)
    return (max(bounds[0], value), bounds[1]) if grows else (bounds[0], min(bounds[1], value))


def _narrow_last(bounds: Range, over: int, factor: int, last: bool, step: int) -> Range:
    """Narrow ``bounds`` to over + factor * d, where d is the variable minus the loop's stop."""
    size = abs(step)
    near, far = (-1, -size) if last else (-size - 1, -inf)
    low, high = (far, near) if step > 0 else (-near, -far)
    low, high = sorted((factor * low, factor * high))
    return max(bounds[0], over + low), min(bounds[1], over + high)


def _compared(expr: Expr, bounds: Range) -> bool | None:
    """Return the value of a comparison for a difference in ``bounds``, None for either."""
    low, high = bounds
    match expr:
        case Eq() | Ne():
            if low == high == 0:
                return isinstance(expr, Eq)
            return isinstance(expr, Ne) if low > 0 or high < 0 else None
        case Lt():
            return True if high < 0 else False if low >= 0 else None
        case Le():
            return True if high <= 0 else False if low > 0 else None
        case Gt():
            return True if low > 0 else False if high <= 0 else None
        case Ge():
            return True if low >= 0 else False if high < 0 else None
        case _:
            return None
