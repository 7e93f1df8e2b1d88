"""Which numbers the integers of a kernel can be, as far as its text says so.

Owns closed ranges of scalars and loop variables, and whether a part of a dimension stays inside of
it. What is not seen to be smaller has all numbers of its type; nothing is assumed of arguments.
"""

from __future__ import annotations

from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.types import Size
from pypto._src.ir.array_types import dtype_of, is_integer
from pypto._src.ir.exprs import BinaryExpr, Cast, ConstInt, Expr, Var
from pypto._src.ir.scalar_ops import BINARY, Interval
from pypto._src.ir.stmts import ForStmt


class Ranges:
    """The ranges of a function's scalars, told in the order of its text."""

    def __init__(self) -> None:
        self._known: dict[Expr, Interval] = {}
        self._ends: dict[Expr, Size] = {}  # loop variables that count up from 0 on, and to what

    def enter(self, loop: ForStmt, stop: str) -> None:
        """Take note of a loop's variable; ``stop`` is the text of where it ends."""
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
        """Take note of a scalar's definition."""
        if isinstance(value, BinaryExpr | ConstInt | Cast) and dtype_of(var).is_int():
            self._known[var] = self.of(value)

    def is_inside(self, begin: Expr, size: Size, limit: Size, is_part: bool, is_flat: bool) -> bool:
        """True if ``begin`` is sure to be inside of a dimension of ``limit`` elements.

        For ``is_part`` true if so are all ``size`` elements from there on. Else the headers see
        these, but where the dimension has one element: there only in the rows of ``is_flat``
        tensors, whose length is known at run time.
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
    """Return a range, that of the type where numbers may wrap."""
    whole = _all(dtype)
    if found is None or found.low < whole.low or found.high > whole.high:
        return whole
    return found
