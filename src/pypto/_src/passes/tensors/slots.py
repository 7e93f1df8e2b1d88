"""Tensors that pass tiles from core to core, a different one in consecutive iterations.

    held = create([128, 64])                 slots = create([256, 64])
    for i in range(8):                       for i in range(8):
        cube(..., held)               ->         held = view(slots, [128, 64], [i % 2 * 128, 0])
        vector(held, ...)                        cube(..., held)
                                                 vector(held, ...)

With one tensor, the product of the next iteration waits until the vector work of this one has read
it. A loop with two stages has two slots: the cube works one iteration ahead and no further, since
the slot that it writes next has not been read yet, and the order of tasks respects that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pypto._src.analysis.affine import trip_count
from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TensorType, same_dims
from pypto._src.ir.exprs import Call, ConstInt, Expr, IterArg, MakeTuple, Var, const_value
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, IfStmt, Stmt, WhileStmt
from pypto._src.ir.traversal.queries import stmts_in, uses
from pypto._src.ir.traversal.walk import children
from pypto._src.ops import memory, tensor


class LoopSlots:
    """The slots of the tensors of one loop, as many as iterations may be in flight."""

    def __init__(self, loop: ForStmt, names: FreshNames, stages: int) -> None:
        self.head: list[Stmt] = []
        """The statements that begin an iteration and select its slots."""
        self._loop = loop
        self._names = names
        self._number: Var | None = None
        count = trip_count(loop)
        self._count = stages if count is None else min(count, stages)

    def held(
        self, name: str, shape: Sequence[Expr], dtype: DataType, span: Span
    ) -> tuple[Stmt, Var]:
        """Return the tensor that one iteration uses, and the statement before the loop for it."""
        if self._count < 2:
            return created(name, shape, dtype, span)
        rows = shape[0]
        size = const_value(rows)
        whole = rows * self._count if size is None else ConstInt(size * self._count)
        made, slots = created(self._names.like(f"{name}_slots"), [whole, *shape[1:]], dtype, span)
        begins = MakeTuple([self._slot(span) * rows, *(ConstInt(0) for _ in shape[1:])])
        view = tensor.view.build((slots, MakeTuple(shape), begins), {}, span)
        var = Var(name, view.type, span)
        self.head.append(AssignStmt(var, view, span))
        return made, var

    def _slot(self, span: Span) -> Var:
        """Return the slot number of an iteration."""
        if self._number is None:
            loop = self._loop
            number: Expr = loop.loop_var
            if const_value(loop.start) != 0:
                number = number - loop.start
            if const_value(loop.step) != 1:
                number = number // loop.step
            slot = number % self._count
            self._number = Var(self._names.like("slot"), slot.type, span)
            self.head.append(AssignStmt(self._number, slot, span))
        return self._number


def created(name: str, shape: Sequence[Expr], dtype: DataType, span: Span) -> tuple[Stmt, Var]:
    """Return a new tensor, and the statement that makes it."""
    made = tensor.create.build((list(shape), dtype), {}, span)
    var = Var(name, made.type, span)
    return AssignStmt(var, made, span), var


def written_once(function: Function, roots: Mapping[Var, Sequence[Var]]) -> set[Var]:
    """Return the new tensors that one store fills, and that are read only through its result.

    So every read sees what the same iteration has stored.
    """
    stmts = list(stmts_in(function.body))
    made = {s.var for s in stmts if isinstance(s, AssignStmt) and op_of(s.value) is tensor.create}
    counts = Counter(
        var
        for stmt in stmts
        for child in children(stmt)
        if not isinstance(child, Stmt)
        for var in uses([child, *([child.initValue] if isinstance(child, IterArg) else ())])
    )
    filled = {
        stmt.value.args[-1]
        for stmt in stmts
        if isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call) and _fills(stmt.value)
    }
    merged = {
        root
        for stmt in stmts
        if isinstance(stmt, ForStmt | WhileStmt | IfStmt)
        for var in stmt.return_vars
        for root in roots.get(var, ())
    }
    return {var for var in made if counts[var] == 2 and var in filled and var not in merged}


def _fills(call: Call) -> bool:
    """True for a store of a whole tensor."""
    if op_of(call) is not memory.store:
        return False
    _, begins, sizes, target = call.args
    if not isinstance(begins, MakeTuple) or not isinstance(sizes, MakeTuple):
        return False
    kind = target.type
    assert isinstance(kind, TensorType)
    return all(const_value(begin) == 0 for begin in begins.elements) and same_dims(
        tuple(sizes.elements), tuple(kind.shape)
    )
