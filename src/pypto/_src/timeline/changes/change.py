"""What a change is, and what all kinds of changes need: the user's lines, and parts of programs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pypto._src.diagnostics import Span
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Add, Call, Cast, ConstInt, Expr, Mul, Sub, Var
from pypto._src.ir.op_params import INTS
from pypto._src.ir.opdef import OpDef, aliased, op_of
from pypto._src.ir.stmts import AssignStmt, ForStmt, Function, Program, Stmt
from pypto._src.ir.traversal.queries import stmts_in, uses
from pypto._src.passes.pass_base import Pass
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.records import NamedTuple


class Change(NamedTuple):
    """A change to one kernel that may make it faster."""

    kind: str
    kernel: str
    spans: tuple[Span, ...]
    """The statements that it changes, the decisive one first."""
    found: str
    """What is slow."""
    advice: str
    """What to write."""
    passes: tuple[Pass, ...]
    """The passes that make the change."""
    keeps_values: bool = True
    """False if that has to be tested by running the kernel before and after."""
    needs_check: bool = False
    """True if the checker of flags and barriers has to prove it."""
    is_divided: bool = False
    """True if it splits one call into several."""
    subject: object = None
    """Of several changes with the same subject only the best is worth a hint."""


class ChangePass(Pass):
    """A pass that makes the change of a hint, in one kernel."""

    requires = IRPropertySet(IRProperty.SSAForm, IRProperty.TypeChecked)
    produces = IRPropertySet(IRProperty.SSAForm, IRProperty.TypeChecked)
    invalidates = IRPropertySet(IRProperty.NormalizedStmtStructure, IRProperty.FlattenedSingleStmt)

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel


class InKernel(ChangePass):
    """Another pass, applied to one kernel."""

    def __init__(self, inner: Pass, kernel: str) -> None:
        super().__init__(kernel)
        self.inner = inner

    def run(self, program: Program) -> Program:
        """Return the program with the kernel as the pass makes it."""
        changed = self.inner.run(program)
        return program.with_functions(
            [
                new if new.name == self.kernel else old
                for old, new in zip(program.functions_, changed.functions_, strict=True)
            ]
        )


@lru_cache(maxsize=8)
def _lines(filename: str) -> tuple[str, ...]:
    try:
        return tuple(Path(filename).read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return ()


def source_line(span: Span) -> str:
    """Return the line of the user's file that a statement begins in, empty where there is none."""
    lines = _lines(span.filename) if span.begin_line > 0 else ()
    return lines[span.begin_line - 1].strip() if 0 < span.begin_line <= len(lines) else ""


def scalar_values(body: Stmt) -> Mapping[Var, Expr]:
    """Return what is assigned to the variables of a body."""
    return {stmt.var: stmt.value for stmt in stmts_in(body) if isinstance(stmt, AssignStmt)}


def coefficient(expr: Expr, var: Var, values: Mapping[Var, Expr]) -> int | None:
    """Return the coefficient of ``var`` in an expression, None if that is not linear in it."""
    match expr:
        case Var():
            if expr is var:
                return 1
            inner = values.get(expr)
            return 0 if inner is None else coefficient(inner, var, values)
        case Add() | Sub():
            left = coefficient(expr.left, var, values)
            right = coefficient(expr.right, var, values)
            if left is None or right is None:
                return None
            return left + right if isinstance(expr, Add) else left - right
        case Mul():
            for one, other in ((expr.left, expr.right), (expr.right, expr.left)):
                if isinstance(one, ConstInt):
                    times = coefficient(other, var, values)
                    return None if times is None else times * one.value
        case Cast():
            return coefficient(expr.operand, var, values)
        case ConstInt():
            return 0
        case _:
            pass
    return None if any(part is var for part in _variables(expr, values)) else 0


def _variables(expr: Expr, values: Mapping[Var, Expr]) -> list[Var]:
    found: dict[Var, None] = {}
    todo = [*uses((expr,))]
    while todo:
        var = todo.pop()
        if var not in found:
            found[var] = None
            if var in values:
                todo += uses((values[var],))
    return list(found)


def tensor_origins(function: Function, *, through_views: bool = False) -> dict[Var, int]:
    """Return for each tensor variable the index of the parameter that it is.

    With ``through_views``, also of the parameter that it is a part of. Tensors that the function
    makes then have numbers after those of the parameters; of one not in the table nothing is known.
    """
    found: dict[Var, int] = {
        param: index
        for index, param in enumerate(function.params)
        if isinstance(param.type, TensorType)
    }
    made = len(function.params)

    def name(var: Var, value: Expr | None) -> None:
        origin = found.get(value) if isinstance(value, Var) else None
        if origin is not None:
            found[var] = origin

    for stmt in stmts_in(function.body):
        if isinstance(stmt, AssignStmt):
            op = op_of(stmt.value)
            if through_views and op is not None and _makes_tensor(op, stmt.var):
                found[stmt.var] = made
                made += 1
            if through_views or op is None or op.view_of is None:
                name(stmt.var, aliased(stmt.value))
        elif isinstance(stmt, ForStmt):
            for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=True):
                name(arg, arg.initValue)
                name(result, arg.initValue)
    return found


def _makes_tensor(op: OpDef[..., Any], var: Var) -> bool:
    """Return whether an op gives a tensor with memory of its own."""
    is_plain = op.view_of is None and op.pipe is None and not op.reads | op.writes
    return is_plain and isinstance(var.type, TensorType)


OFFSETS_NAME: Final = "offsets"
SHAPES_NAME: Final = "shapes"


def region_operands(call: Call) -> tuple[int, int] | None:
    """Return which operands of a transfer are its region's offsets and shape."""
    op = op_of(call)
    if op is None:
        return None
    lists = {p.name: i for i, p in enumerate(op.operands) if p.kind == INTS}
    if OFFSETS_NAME not in lists or SHAPES_NAME not in lists:
        return None
    return lists[OFFSETS_NAME], lists[SHAPES_NAME]
