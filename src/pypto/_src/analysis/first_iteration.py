"""What certainly happens when each loop of a function is in its first iteration.

What holds in the first iteration of all enclosing loops, and is in no branch of open outcome,
holds in every run that gets there. An inner loop is open, too, unless it certainly runs in the
first iteration of the outer one, or runs in all of its iterations if in any. Says where that
holds; knows nothing about tiles or tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pypto._src.analysis.affine import Affine, Integers, combine, trip_count
from pypto._src.analysis.branch_conditions import Conditions, Iteration
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, number, points_in
from pypto._src.ir.exprs import Call, Expr, Var, const_value
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, IfStmt, Stmt
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.types import ScalarType

_OUTSIDE: Final = 0
"""The depth of a function's body, above every branch."""


class FirstIterations:
    """The points of a function in SSA form, and which of them certainly run in first iterations.

    A block's *open* depth is that of the innermost enclosing block, or itself, that is an arm of an
    undecided branch, or the body of a loop that may run in later iterations only; `_OUTSIDE` if
    there is none.
    """

    def __init__(self, function: Function, root: Block | None = None) -> None:
        self.root = number(function) if root is None else root
        self.arguments: dict[Var, None] = dict.fromkeys(function.params)
        self.integers = Integers(function, self.root)
        self.conditions = Conditions(self.integers)
        self.open: dict[Block, int] = {self.root: _OUTSIDE}
        # By block, the outermost loop around it.
        self.loop: dict[Block, ProgramPoint | None] = {self.root: None}
        self.trips: dict[Block, int | None] = {self.root: 1}  # how often a block runs at most
        # Outcomes of branches in the first iterations of the loops around them.
        self.outcomes: dict[ProgramPoint, bool | None] = {}
        self.starts: dict[Var, Affine] = {}  # of loop variables
        # Loops that may run in only some iterations of those around them.
        self.uneven: set[ProgramPoint] = set()
        for point in points_in(self.root):
            self._point(point)

    def _point(self, point: ProgramPoint) -> None:
        stmt = point.stmt
        if isinstance(stmt, AssignStmt):
            if isinstance(stmt.var.type, ScalarType):
                self.integers.assign(stmt.var, stmt.value, point.block)
        elif point.blocks:
            self.integers.enter(point)
            if isinstance(stmt, IfStmt):
                self._branch(point, stmt)
            else:
                self._inner(point)

    def _inner(self, point: ProgramPoint) -> None:
        [body] = point.blocks
        block, stmt = point.block, point.stmt
        self.open[body], self.loop[body] = self.open[block], self.loop[block]
        self.trips[body] = self.trips[block]
        if not point.is_loop:
            return
        self.loop[body] = self.loop[block] or point
        counter = self.conditions.counter(point)
        if isinstance(stmt, ForStmt):
            self.starts[stmt.loop_var] = self.integers.form(stmt.start, block)
        if counter is not None:
            self.conditions.iterations[counter.var] = counter, Iteration(first=True)
        count, outer = self._count(stmt, block), self.trips[block]
        is_open = (count is None or outer is None) and 0 not in (count, outer)
        self.trips[body] = None if is_open else (count or 0) * (outer or 0)
        if self.loop[block] is not None and not self._is_even(stmt):
            self.uneven.add(point)
        if count == 0 or (point in self.uneven and not self._runs_first(stmt, block)):
            self.open[body] = body.depth  # it never runs, or may not run yet

    def _count(self, stmt: Stmt, block: Block) -> int | None:
        """Return how many iterations a loop has, None if unknown."""
        step = const_value(stmt.step) if isinstance(stmt, ForStmt) else None
        if not isinstance(stmt, ForStmt) or not step:
            return None
        start, stop = (self.integers.form(each, block) for each in (stmt.start, stmt.stop))
        length = combine(stop, start, -1)
        return None if length.terms else len(range(0, length.constant, step))

    def _is_even(self, stmt: Stmt) -> bool:
        """True if a loop runs in all iterations of the loops around it, or in none."""
        if not isinstance(stmt, ForStmt):
            return False
        return trip_count(stmt) is not None or self._is_fixed([stmt.start, stmt.stop, stmt.step])

    def _is_fixed(self, values: Iterable[Expr]) -> bool:
        """True if values do not depend on anything that a loop defines."""
        pending, seen = [*values], set[Expr]()
        while pending:
            for var in uses([pending.pop()]):
                if var in seen:
                    continue
                seen.add(var)
                home = self.integers.home.get(var, self.root)
                if self.loop[home] is None:
                    continue
                value = self.integers.values.get(var)
                if value is None or isinstance(value, Call):
                    return False
                pending.append(value)
        return True

    def _runs_first(self, stmt: Stmt, block: Block) -> bool:
        """True if a loop certainly runs when those around it are in their first iterations."""
        step = const_value(stmt.step) if isinstance(stmt, ForStmt) else None
        if not isinstance(stmt, ForStmt) or step is None:
            return False
        start, stop = (self.integers.form(each, block) for each in (stmt.start, stmt.stop))
        length = self.at_start(combine(stop, start, -1), block)
        return length is not None and not length.terms and length.constant * step > 0

    def _branch(self, point: ProgramPoint, stmt: IfStmt) -> None:
        block = point.block
        outcome = self.outcomes[point] = self.conditions.decide(stmt.condition, block)
        always = None if outcome is None else self.conditions.always(stmt.condition, block)
        for arm, taken in zip(point.blocks, (True, False), strict=False):
            self.loop[arm] = self.loop[block]
            self.trips[arm] = self.trips[block] if always in (None, taken) else 0
            self.open[arm] = self.open[block] if outcome is taken else arm.depth

    def is_sure(self, block: Block, depth: int) -> bool:
        """True if nothing is open between the enclosing block at ``depth`` and ``block``."""
        return self.open[block] <= depth

    def later(self, loop: ProgramPoint, branch: ProgramPoint) -> bool | None:
        """Return the arm that a branch takes in later iterations of a loop, None for either.

        The loops between them, and those around ``loop``, are in their first iterations.
        """
        counter, stmt = self.conditions.counter(loop), branch.stmt
        if counter is None or not isinstance(stmt, IfStmt):
            return None
        iterations = self.conditions.iterations
        now = iterations[counter.var]
        iterations[counter.var] = counter, Iteration(first=False)
        outcome = self.conditions.decide(stmt.condition, branch.block)
        iterations[counter.var] = now
        return outcome

    def until(self, point: ProgramPoint) -> int:
        """Return the last number that may have run before ``point``, in any iteration."""
        loop = self.loop[point.block]
        if loop is None or self.open[point.block] <= loop.block.depth:
            return point.begin
        return loop.end

    def at_start(self, form: Affine, block: Block) -> Affine | None:
        """Return a linear form's value in first iterations; None if ``block`` may not run then."""
        while True:
            var = next((v for v in form.terms if isinstance(v, Var) and v in self.starts), None)
            if var is None:
                return form
            if not self.is_sure(block, _OUTSIDE):
                return None
            factor = form.terms[var]
            rest = {atom: k for atom, k in form.terms.items() if atom is not var}
            form = combine(Affine(form.constant, rest), self.starts[var], factor)

    def is_free(self, condition: Expr) -> bool:
        """True if a condition depends only on the function's arguments, and on no iteration."""
        found = False
        pending: list[Expr] = [condition]
        seen: set[Expr] = set()
        while pending:
            for var in uses([pending.pop()]):
                if var in seen:
                    continue
                seen.add(var)
                value = self.integers.values.get(var)
                if value is not None:
                    pending.append(value)
                elif var in self.arguments:
                    found = True
                else:
                    return False
        return found
