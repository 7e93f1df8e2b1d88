"""Boxes of tensors whose offsets are linear forms of a function's integers, and their overlaps.

A loop that walks over a tensor touches each part once, as the difference between the offsets of
two iterations shows. A nonlinear term is an atom of its own, equal only to itself.
"""

from __future__ import annotations

from math import inf
from typing import Final

from pypto._src.analysis.stmt_tree import Block, ProgramPoint
from pypto._src.ir.exprs import Add, Cast, ConstInt, Expr, Mul, Neg, Sub, Var, const_value
from pypto._src.ir.stmts import ForStmt, Function, IfStmt, WhileStmt
from pypto._src.ir.types import ScalarType
from pypto._src.records import NamedTuple


class Affine(NamedTuple):
    """``constant`` plus the sum of coefficient times atom; atoms are variables or opaque terms."""

    constant: int
    terms: dict[Expr, int]


class Box(NamedTuple):
    """Part of a tensor: offset and size for each dimension; None for an unknown size."""

    offsets: tuple[Affine, ...]
    sizes: tuple[int | None, ...]


class _Counter(NamedTuple):
    """What is known about a loop variable: step, and the closed range of its values."""

    step: int | None
    low: float
    high: float


class Integers:
    """The function's integers as linear forms, and where each atom is defined."""

    def __init__(self, function: Function, root: Block) -> None:
        self.home: dict[Expr, Block] = dict.fromkeys(function.params, root)
        self.forms: dict[Expr, Affine] = {}
        self.counters: dict[Expr, _Counter] = {}
        self.of_body: dict[Block, Var] = {}
        self.values: dict[Expr, Expr] = {}  # of scalar variables
        self.differences: dict[Expr, Affine] = {}  # left minus right of comparisons, cached
        self._unread: list[tuple[Var, Expr, Block]] = []  # scalars with no form requested yet

    def assign(self, var: Var, value: Expr, block: Block) -> None:
        """Record a scalar that a statement of ``block`` defines; call it in textual order."""
        self.values[var] = value
        self.home[var] = block
        self._unread.append((var, value, block))

    def enter(self, point: ProgramPoint) -> None:
        """Record the integers that a compound statement defines, before those inside it."""
        stmt = point.stmt
        match stmt:
            case ForStmt():
                body = point.blocks[0]
                self.home.update(dict.fromkeys((stmt.loop_var, *stmt.iter_args), body))
                self.home.update(dict.fromkeys(stmt.return_vars, point.block))
                self.counters[stmt.loop_var] = _counter(stmt)
                self.of_body[body] = stmt.loop_var
            case WhileStmt():
                self.home.update(dict.fromkeys(stmt.iter_args, point.blocks[0]))
                self.home.update(dict.fromkeys(stmt.return_vars, point.block))
            case IfStmt():
                self.home.update(dict.fromkeys(stmt.return_vars, point.block))
            case _:
                pass

    def limit(self, var: Var, low: int, high: int) -> None:
        """Record the closed range of a variable's values."""
        self.counters[var] = _Counter(None, low, high)

    def form(self, expr: Expr, block: Block) -> Affine:
        """Return ``expr``, which stands in ``block``, as a linear form."""
        if isinstance(expr, ConstInt):
            return Affine(expr.value, _NO_TERMS)
        unread, self._unread = self._unread, []
        for var, value, home in unread:
            form = self._form(value, home)
            if not _is_opaque(form, value):
                self.forms[var] = form
        return self._form(expr, block)

    def bounds(self, form: Affine) -> tuple[float, float]:
        """Return the least and the greatest value that a linear form may have in any iteration."""
        found = float(form.constant), float(form.constant)
        for atom, factor in form.terms.items():
            counter = self.counters.get(atom, _ANY)
            found = _add(found, _scaled(factor, counter.low, counter.high))
        return found

    def _form(self, expr: Expr, block: Block) -> Affine:
        if isinstance(expr, ConstInt):
            return Affine(expr.value, _NO_TERMS)
        if isinstance(expr, Var):
            known = self.forms.get(expr)
            return Affine(0, {expr: 1}) if known is None else known
        match expr:
            case Add():
                return combine(self._form(expr.left, block), self._form(expr.right, block), 1)
            case Sub():
                return combine(self._form(expr.left, block), self._form(expr.right, block), -1)
            case Neg():
                return combine(Affine(0, {}), self._form(expr.operand, block), -1)
            case Mul():
                return self._product(expr, block)
            case Cast() if isinstance(expr.operand.type, ScalarType) and (
                expr.dtype.is_int() and expr.operand.type.dtype.is_int()
            ):
                return self._form(expr.operand, block)
            case _:
                self.home.setdefault(expr, block)
                return Affine(0, {expr: 1})

    def _product(self, expr: Mul, block: Block) -> Affine:
        left, right = self._form(expr.left, block), self._form(expr.right, block)
        if not left.terms:
            return combine(Affine(0, {}), right, left.constant)
        if not right.terms:
            return combine(Affine(0, {}), left, right.constant)
        self.home.setdefault(expr, block)
        return Affine(0, {expr: 1})


_NO_TERMS: Final[dict[Expr, int]] = {}
"""The terms of every constant; linear forms are never mutated."""


def _is_opaque(form: Affine, expr: Expr) -> bool:
    return form.constant == 0 and len(form.terms) == 1 and form.terms.get(expr) == 1


def combine(a: Affine, b: Affine, factor: int) -> Affine:
    """Return a + factor * b."""
    if not b.terms:
        return Affine(a.constant + factor * b.constant, a.terms)
    terms = dict(a.terms)
    for atom, coefficient in b.terms.items():
        total = terms.pop(atom, 0) + factor * coefficient
        if total:
            terms[atom] = total
    return Affine(a.constant + factor * b.constant, terms)


def _counter(stmt: ForStmt) -> _Counter:
    start, stop, step = (const_value(e) for e in (stmt.start, stmt.stop, stmt.step))
    if step is None or step == 0:
        return _Counter(None, -inf, inf)
    first = None if start is None else float(start)
    last = None if stop is None else float(stop - 1 if step > 0 else stop + 1)
    low, high = (first, last) if step > 0 else (last, first)
    return _Counter(step, -inf if low is None else low, inf if high is None else high)


def trip_count(stmt: ForStmt | WhileStmt) -> int | None:
    """Return how often a loop runs, None unless its bounds are constants."""
    if isinstance(stmt, WhileStmt):
        return None
    start, stop, step = (const_value(e) for e in (stmt.start, stmt.stop, stmt.step))
    if start is None or stop is None or not step:
        return None
    return len(range(start, stop, step))


def encloses(outer: Block, inner: Block) -> bool:
    """True if ``inner`` is ``outer`` or is inside it."""
    return outer.begin <= inner.begin and inner.end <= outer.end


def may_overlap(
    first: Box | None,
    second: Box | None,
    block: Block,
    integers: Integers,
    *,
    later_iteration: bool,
) -> bool:
    """True unless two boxes of one tensor are known to have no element in common.

    ``block`` is the innermost block that holds both accesses. With ``later_iteration`` the second
    one happens in any later iteration of the loop whose body that block is, else in the same
    iteration.
    """
    if first is None or second is None or len(first.offsets) != len(second.offsets):
        return True
    if first is second and not later_iteration:
        return 0 not in first.sizes
    for dim, (offset, other) in enumerate(zip(first.offsets, second.offsets, strict=True)):
        if offset.terms or other.terms:
            low, high = _difference(offset, other, block, integers, later_iteration)
        else:
            low = high = offset.constant - other.constant
        size_first, size_second = first.sizes[dim], second.sizes[dim]
        if (size_second is not None and low >= size_second) or (
            size_first is not None and high <= -size_first
        ):
            return False
    return True


def _difference(
    a: Affine, b: Affine, block: Block, integers: Integers, later_iteration: bool
) -> tuple[float, float]:
    """Return bounds of a - b, where b is taken at the later moment."""
    low = high = float(a.constant - b.constant)
    in_loop = integers.of_body.get(block) if later_iteration else None
    for atom in dict.fromkeys((*a.terms, *b.terms)):
        x, y = a.terms.get(atom, 0), b.terms.get(atom, 0)
        counter = integers.counters.get(atom, _ANY)
        if atom is in_loop:
            step = counter.step or 0  # an iteration comes after the one that ``a`` is taken in
            first, last = counter.low - min(step, 0), counter.high - max(step, 0)
            low, high = _add((low, high), _scaled(x - y, first, last))
            if y and counter.step is None:
                return -inf, inf
            shift = y * (counter.step or 0)  # per iteration; at least one iteration lies between
            low, high = (-inf, high - shift) if shift > 0 else (low, high)
            low, high = (low - shift, inf) if shift < 0 else (low, high)
        elif _same_value(atom, block, integers, later_iteration):
            low, high = _add((low, high), _scaled(x - y, counter.low, counter.high))
        else:
            low, high = _add((low, high), _scaled(x, counter.low, counter.high))
            low, high = _add((low, high), _scaled(-y, counter.low, counter.high))
    return low, high


_ANY: Final = _Counter(None, -inf, inf)


def _same_value(atom: Expr, block: Block, integers: Integers, later_iteration: bool) -> bool:
    home = integers.home.get(atom)
    if home is None:
        return False
    return encloses(home, block) and not (later_iteration and home is block)


def _scaled(factor: int, low: float, high: float) -> tuple[float, float]:
    if factor == 0:
        return 0.0, 0.0
    return (factor * low, factor * high) if factor > 0 else (factor * high, factor * low)


def _add(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return a[0] + b[0], a[1] + b[1]
