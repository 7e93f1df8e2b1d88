"""Operands in a memory that the unit does not read: found when a body is complete.

That is after the calls are parsed, since a later line may decide where a tile is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto._src.diagnostics import Label, Span
from pypto._src.errors import ParserError, ParserOpError, PyptoError
from pypto._src.frontend.state.context import Context
from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.op_params import TENSOR
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import AssignStmt, Stmt
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ops.rules.type_rules import FROM_MAT, check_space


def misplaced_operands(ctx: Context, body: Stmt) -> list[ParserError]:
    """Return an error for each call in ``ctx.unplaced`` that has an operand in a wrong memory.

    Operands of the matrix unit carry the layout of their memory in their types. One that does not
    comes from a definition that says where it is; this looks those up, all at once.
    """
    made = {s.var: s for s in stmts_in(body) if isinstance(s, AssignStmt)}
    found: list[ParserError] = []
    for call in ctx.unplaced:
        op = op_of(call)
        assert op is not None
        for index in op.operand_spaces(call.kwargs):
            error = _misplaced(ctx, op, call.kwargs, index, call.args[index], made)
            if error is not None:
                found.append(error.at(call.span))
                break
    return found


def _load_into(ctx: Context, maker: OpDef[..., Any], line: Span, target: MemorySpace) -> str | None:
    """Return the assignment at ``line``, of a load, changed to load the tile to ``target``."""
    loads = maker.params[0].kind == TENSOR and maker.params[-1].attr_type == MemorySpace.__name__
    in_line = line.filename == ctx.source.filename and line.end_line == line.begin_line
    if not loads or not in_line or target not in (MemorySpace.Mat, *FROM_MAT):
        return None
    text = ctx.source.lines[line.begin_line - 1][line.begin_column : line.end_column]
    name, _, value = text.partition(" = ")
    if not value.endswith(")") or "=" in value:
        return None
    value = f"{value[:-1]}, target_memory=pl.MemorySpace.Mat)"
    if target is not MemorySpace.Mat:
        value = f"pl.move({value}, target_memory=pl.MemorySpace.{target.name})"
    return f"write {name} = {value}"


def _misplaced(
    ctx: Context,
    op: OpDef[..., Any],
    kwargs: Mapping[str, Any],
    index: int,
    value: Expr,
    made: Mapping[Any, AssignStmt],
) -> ParserError | None:
    source, seen = value, 0
    while isinstance(source, Var) and source in made and seen < len(made):
        source, seen = made[source].value, seen + 1
    maker = op_of(source)
    if maker is None or not isinstance(value, Var) or not isinstance(source.type, TileType):
        return None
    space = maker.space_of(source)  # pyright: ignore[reportArgumentType]
    try:
        check_space(op, kwargs, index, value.name, space)
    except PyptoError as error:
        line = made[value].span if value in made else value.span
        target = next(iter(op.operand_spaces(kwargs)[index]))
        by_tensor = f"store {value.name} to a tensor, and load that"
        return ParserOpError(
            error.message,
            hint=_load_into(ctx, maker, line, target)
            or (error.hint if space is MemorySpace.Mat else by_tensor),
            slug=error.slug,
            related=(Label(line, f"{value.name} is in {space.name} memory"),),
        )
    return None
