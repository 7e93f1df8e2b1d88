"""Small transfers and small tiles: a loop over parts of tensors that could take larger ones.

Each instruction and each transfer has a fixed cost besides that of its bytes, and pipes that pass
work on wait for each other once an iteration. So fewer and larger tiles are faster, as long as they
fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pypto._src.analysis.purity import trips
from pypto._src.diagnostics import Span
from pypto._src.emit.writer import source_comment
from pypto._src.ir.array_types import TileType
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, Program, Stmt
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.timeline.changes.change import (
    Change,
    ChangePass,
    coefficient,
    region_operands,
    scalar_values,
)

_FACTORS: Final = (2, 4, 8, 16)


def changes(kernel: Function, *, transfers_bound: bool) -> Iterator[Change]:
    """Yield, for each loop over parts of tensors, the larger parts that it could take."""
    for loop in stmts_in(kernel.body):
        if not isinstance(loop, ForStmt) or not isinstance(loop.step, ConstInt):
            continue
        count = trips(loop)
        regions = _regions(loop)
        if count is None or not regions or _carries_tiles(loop):
            continue
        step = loop.step.value
        for factor in _FACTORS:
            if count % factor == 0:
                lines = dict.fromkeys(source_comment(span) or "?" for span in regions)
                sizes = " and ".join(str(size) for size in dict.fromkeys(regions.values()))
                larger = " and ".join(str(s * factor) for s in dict.fromkeys(regions.values()))
                yield Change(
                    "small transfers" if transfers_bound else "tile too small",
                    kernel.name,
                    (loop.span, *regions),
                    f"an iteration works on {sizes} of the {count * step} that the loop goes over",
                    f"step {step * factor} in place of {step} in {source_comment(loop.span)}, "
                    f"and tiles of {larger} in {', '.join(lines)}",
                    (LargerTiles(kernel.name, loop.span, factor),),
                    keeps_values=False,
                    subject=("tiles", loop.span),
                )


def _carries_tiles(loop: ForStmt) -> bool:
    """Return whether the loop, or one inside it, hands a tile to its next iteration."""
    loops = [loop, *(each for each in stmts_in(loop.body) if isinstance(each, ForStmt))]
    return any(isinstance(arg.type, TileType) for each in loops for arg in each.iter_args)


def _regions(loop: ForStmt) -> Mapping[Span, int]:
    """Return the transfers whose region moves with the loop by its own size, with that size."""
    found: dict[Span, int] = {}
    values = scalar_values(loop.body)
    for stmt in stmts_in(loop.body):
        call = stmt.value if isinstance(stmt, AssignStmt) else None
        if isinstance(call, Call):
            for dim in _dims(call, loop, values):
                size = _tuple(call, 1)[dim]
                assert isinstance(size, ConstInt)
                found[call.span] = size.value
    return found


def _tuple(call: Call, which: int) -> tuple[Expr, ...]:
    at = region_operands(call)
    value = None if at is None else call.args[at[which]]
    return value.elements if isinstance(value, MakeTuple) else ()


def _dims(call: Call, loop: ForStmt, values: Mapping[Var, Expr]) -> list[int]:
    """Return in which dimensions the region of a transfer moves with the loop by its own size.

    Empty if the region moves in another way as well.
    """
    offsets, shapes = _tuple(call, 0), _tuple(call, 1)
    assert isinstance(loop.step, ConstInt)
    found: list[int] = []
    for dim, (offset, size) in enumerate(zip(offsets, shapes, strict=False)):
        times = coefficient(offset, loop.loop_var, values)
        if times == 0:
            continue
        if times is None or not isinstance(size, ConstInt):
            return []
        if size.value != times * loop.step.value:
            return []
        found.append(dim)
    return found


class LargerTiles(ChangePass):
    """``for r in range(0, 64, 8): ... [8, n]``  ->  ``for r in range(0, 64, 32): ... [32, n]``."""

    def __init__(self, kernel: str, span: Span, factor: int) -> None:
        super().__init__(kernel)
        self.span = span
        self.factor = factor

    def run(self, program: Program) -> Program:
        """Return the program with larger tiles in this loop."""
        return map_functions(
            program, lambda f: _Outer(self).function(f) if f.name == self.kernel else f
        )


class _Outer(Mutator):
    def __init__(self, wanted: LargerTiles) -> None:
        super().__init__()
        self._wanted = wanted

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt:
        if stmt.span is not self._wanted.span or not isinstance(stmt.step, ConstInt):
            return self.rebuild(stmt)
        body = _Larger(stmt, self._wanted.factor).body(stmt.body)
        step = copy_with(stmt.step, {"value": stmt.step.value * self._wanted.factor})
        return copy_with(stmt, {"step": step, "body": body})


class _Larger(Mutator):
    """Rebuilds a body: regions that move with the loop grow, and all tiles that follow from them.

    Raises:
        OpError: an op does not take the larger tile.
    """

    def __init__(self, loop: ForStmt, factor: int) -> None:
        super().__init__()
        self._loop = loop
        self._factor = factor
        self._values = scalar_values(loop.body)
        self._new: dict[Var, Var] = {}

    def visit_Var(self, var: Var) -> Expr:
        return self._new.get(var, var)

    def visit_Call(self, call: Call) -> Expr:
        dims = _dims(call, self._loop, self._values)
        new: Call = self.rebuild(call)
        op = op_of(call)
        at = region_operands(call)
        if op is None or not (dims or new is not call):
            return new
        args = list(new.args)
        if dims and at is not None:
            shape = args[at[1]]
            assert isinstance(shape, MakeTuple)
            sizes: list[Any] = list(shape.elements)
            for dim in dims:
                sizes[dim] = copy_with(sizes[dim], {"value": sizes[dim].value * self._factor})
            args[at[1]] = copy_with(shape, {"elements": tuple(sizes)})
        return op.call(args, call.kwargs, call.span)

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt:
        value = self.visit(stmt.value)
        if value is stmt.value:
            return stmt
        var = stmt.var
        if isinstance(var.type, TileType):
            var = copy_with(var, {"type": value.type})
            self._new[stmt.var] = var
        return AssignStmt(var, value, stmt.span)
