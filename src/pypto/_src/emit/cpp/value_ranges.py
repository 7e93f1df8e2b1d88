"""Ranges of the integers of a kernel, as far as its text determines them.

Owns closed ranges of scalars and loop variables, and whether a part of a dimension stays within
it. A scalar not known to be narrower has the full range of its type; arguments are unrestricted.
"""

from __future__ import annotations

from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.types import Size
from pypto._src.ir.array_types import dtype_of, is_integer
from pypto._src.ir.exprs import BinaryExpr, Cast, ConstInt, Expr, Var
from pypto._src.ir.scalar_ops import BINARY, Interval
from pypto._src.ir.stmts import ForStmt


class Ranges:
    """The ranges of a function's scalars, recorded in textual order."""

    def __init__(self) -> None:
        self._known: dict[Expr, Interval] = {}
        self._ends: dict[Expr, Size] = {}  # upper bounds of loop variables that are never negative

    def enter(self, loop: ForStmt, stop: str) -> None:
        """Record the range of a loop's variable; ``stop`` is the text of its upper bound."""
        start, end = self.of(loop.start), self.of(loop.stop)
        step = loop.step.value if isinstance(loop.step, ConstInt) else 0
        if step > 0:
            last = end.high - 1
            if start.low == start.high and end.low == end.high:
                last -= (last - start.low) % step
            self._known[loop.loop_var] = Interval(start.low, max(start.low, last))
            if start.low >= 0:
                self._ends[loop.loop_var] = stop
        elif step < 0:
            self._known[loop.loop_var] = Interval(min(start.high, end.low + 1), start.high)

    def assign(self, var: Var, value: Expr) -> None:
        """Record the range of a scalar from its definition."""
        if isinstance(value, BinaryExpr | ConstInt | Cast) and dtype_of(var).is_int():
            self._known[var] = self.of(value)

    def is_inside(self, begin: Expr, size: Size, limit: Size, is_part: bool, is_flat: bool) -> bool:
        """True if ``begin`` is certain to be inside a dimension of ``limit`` elements.

        With ``is_part`` all ``size`` elements from there on must be inside, too. Otherwise the
        headers check those, except where the dimension has one element: there they check them only
        in the rows of ``is_flat`` tensors whose length is known only at run time.
        """
        if not is_part and (
            (isinstance(begin, ConstInt) and begin.value == 0) or self._ends.get(begin) == limit
        ):
            return size in (1, limit) or (limit > 1 if isinstance(limit, int) else is_flat)
        if is_part and size == limit:
            return isinstance(begin, ConstInt) and begin.value == 0
        if not isinstance(limit, int) or not (isinstance(size, int) or not is_part):
            return False
        last = limit - size if is_part and isinstance(size, int) else limit - 1
        found = self.of(begin)
        return found.low >= 0 and found.high <= last

    def of(self, root: Expr) -> Interval:
        """Return the range of an integer expression."""
        done: list[Interval] = []
        pending: list[tuple[Expr, bool]] = [(root, False)]
        while pending:
            expr, ready = pending.pop()
            row = BINARY.get(type(expr)) if isinstance(expr, BinaryExpr) else None
            if isinstance(expr, BinaryExpr) and row is not None and row.interval is not None:
                if not ready:
                    pending += [(expr, True), (expr.right, False), (expr.left, False)]
                    continue
                right = done.pop()
                done.append(_fitting(row.interval(done.pop(), right), dtype_of(expr)))
            elif isinstance(expr, Cast) and is_integer(expr) and is_integer(expr.operand):
                if not ready:
                    pending += [(expr, True), (expr.operand, False)]
                    continue
                done.append(_fitting(done.pop(), dtype_of(expr)))
            elif isinstance(expr, ConstInt):
                done.append(Interval(expr.value, expr.value))
            else:
                done.append(self._known.get(expr) or _all(dtype_of(expr)))
        return done.pop()


def _all(dtype: DataType) -> Interval:
    """Return the range of a type."""
    bits = dtype.get_bit()
    if dtype.is_unsigned_int():
        return Interval(0, (1 << bits) - 1)
    return Interval(-(1 << bits - 1), (1 << bits - 1) - 1)


def _fitting(found: Interval | None, dtype: DataType) -> Interval:
    """Return a range, or the full range of the type where numbers may wrap."""
    whole = _all(dtype)
    if found is None or found.low < whole.low or found.high > whole.high:
        return whole
    return found
