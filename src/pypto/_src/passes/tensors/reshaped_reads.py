"""Elements of reshaped tensors, read from the source tensor instead.

The runtime represents tensors as boxes of its arguments, which a reshaped tensor is not. Kernels
reshape tensors themselves; an element that a host function reads is an element of the source::

    flat = reshape_view(table, [32]); n = read(flat, [i])   ->   n = read(table, [i // 8, i % 8])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pypto._src.diagnostics import Span
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import (
    Add,
    Call,
    ConstInt,
    Expr,
    FloorDiv,
    FloorMod,
    MakeTuple,
    Mul,
    Var,
    binary,
    const_value,
)
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, Stmt
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ops import tensor


def with_reads_of_sources(body: Stmt) -> Stmt:
    """Return ``body`` with each element of a reshaped tensor read from its source."""
    made = {
        stmt.var: stmt.value
        for stmt in stmts_in(body)
        if isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call)
    }
    if not any(op_of(call) is tensor.reshape_view for call in made.values()):
        return body
    return _Reads(made).body(body)


class _Reads(Mutator):
    """Rewrites reads; knows the calls that define variables."""

    def __init__(self, made: Mapping[Var, Call]) -> None:
        super().__init__()
        self._made = made

    def visit_Call(self, call: Call) -> Expr:
        """Return a read of the tensor's source."""
        call = self.rebuild(call)
        source = call.args[0] if op_of(call) is tensor.read else None
        if not isinstance(source, Var) or not isinstance(at := call.args[1], MakeTuple):
            return call
        indices: Sequence[Expr] = at.elements
        found: Call | None = None
        while isinstance(source, Var) and (view := self._made.get(source)) is not None:
            base = view.args[0]
            if op_of(view) is tensor.reshape_view:
                indices = _split(
                    _number(_shape(source), indices, call.span), _shape(base), call.span
                )
                found = tensor.read.build((base, MakeTuple(indices)), call.kwargs, call.span)
            elif op_of(view) is tensor.view and isinstance(begins := view.args[2], MakeTuple):
                pairs = zip(begins.elements, indices, strict=True)
                indices = [_sum(begin, index, call.span) for begin, index in pairs]
            else:
                break
            source = base
        return call if found is None else found


def _shape(value: Expr) -> Sequence[Expr]:
    assert isinstance(value.type, TensorType)
    return value.type.shape


def _sum(left: Expr, right: Expr, span: Span) -> Expr:
    if const_value(left) == 0:
        return right
    return left if const_value(right) == 0 else binary(Add, left, right, span)


def _number(shape: Sequence[Expr], indices: Sequence[Expr], span: Span) -> Expr:
    """Return the row-major linear index of the element at ``indices``."""
    number: Expr = ConstInt(0)
    for dim, index in zip(shape, indices, strict=True):
        before = number if const_value(number) == 0 else binary(Mul, number, dim, span)
        number = _sum(before, index, span)
    return number


def _split(number: Expr, shape: Sequence[Expr], span: Span) -> list[Expr]:
    """Return the indices of the element with the linear index ``number``."""
    found: list[Expr] = [ConstInt(0)] * len(shape)
    wide = [axis for axis, dim in enumerate(shape) if const_value(dim) != 1]
    for axis in reversed(wide[1:]):
        found[axis] = binary(FloorMod, number, shape[axis], span)
        number = binary(FloorDiv, number, shape[axis], span)
    if wide:
        found[wide[0]] = number
    return found
