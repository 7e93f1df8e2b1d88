"""LegalizeTiles: tiles become acceptable to both targets, so that emitters never choose.

A call that no target executes is replaced by its decomposition (`OpDef.parts_of`), and so is one on
tiles of several element types or shapes:

    c = add(a, b)   ->   wide = cast(b); c = add(a, wide)

Column vectors [N, 1] are column-major in memory, which elementwise instructions do not accept. The
same bytes read as a row [1, N] are fine, so these ops work on reshaped operands:

    c = exp(a)   ->   a_row = reshape(a, [1, N]); c_row = exp(a_row); c = reshape(c_row, [N, 1])

Which tiles of an op may be columns is a fact of the op (`OpDef.columns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, Op
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    Function,
    Program,
    Stmt,
)
from pypto._src.ir.traversal.mutator import map_functions
from pypto._src.ir.traversal.queries import defined_by, stmts_in
from pypto._src.ir.types import ScalarType
from pypto._src.ops.layout import (
    are_in_vec,
    is_padded,
    is_vertical,
    tile_spaces,
)
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.structure.flatten_call_expr import with_nested_calls
from pypto._src.passes.verification import NOTHING_KNOWN, PassFacts

_P: Final = IRProperty


class LegalizeTiles(Pass):
    """Decompose ops, and make elementwise ops on columns work on rows of the same bytes."""

    requires = IRPropertySet(_P.SSAForm, _P.TypeChecked, _P.NoNestedCalls)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program with column vectors only where targets accept them.

        Raises:
            PassError: an op mixes a column vector with other tiles, which no target executes.
        """
        return self.transform(program, NOTHING_KNOWN)

    def transform(self, program: Program, facts: PassFacts) -> Program:
        """Do what `run` does; one call of each form shows whether a function needs changes."""
        return map_functions(
            program, lambda f: with_legal_tiles(f, facts) if role(f) is Role.KERNEL else f
        )


@pass_factory
def legalize_tiles() -> Pass:
    """Return the pass that makes tiles acceptable to the targets."""
    return LegalizeTiles()


def with_legal_tiles(function: Function, facts: PassFacts = NOTHING_KNOWN) -> Function:
    """Return ``function`` with legal tiles; see `LegalizeTiles`.

    Raises:
        OpError: an op gets a tile in a memory from which it cannot read.
    """
    stmts = [*stmts_in(function.body)]
    some = facts.representative_statements(function)
    if 2 * len(some) > len(stmts):  # then one search finds the statements to change
        some = stmts
    made = _made(some)
    calls = [s.value for s in made]
    calls += [s.expr for s in some if isinstance(s, EvalStmt) and s.expr.__class__ is Call]
    # Not every tile's type gives its memory space.
    in_vec = not with_nested_calls(function, facts) and are_in_vec(function.params, calls)
    spaces = {} if in_vec else tile_spaces(function)
    concerned = _concerned(made)
    if not concerned:
        return function
    if some is not stmts:
        concerned = _concerned(_made(stmts))
    if in_vec:
        tiles = [var for stmt in stmts for var in defined_by(stmt) if _is_tile(var)]
        spaces = dict.fromkeys(tiles, MemorySpace.Vec)
    from pypto._src.passes.tensors.legal_tiles import with_calls_replaced

    return with_calls_replaced(function, concerned, spaces)


def _made(stmts: Sequence[Any]) -> list[Any]:
    """Return the assignments of calls."""
    return [s for s in stmts if s.__class__ is AssignStmt and s.value.__class__ is Call]


def _concerned(made: Sequence[Any]) -> set[Stmt]:
    """Return the assignments whose call has a column, mixed operands, or an op that may expand.

    All of ``made`` assign calls. Where all tiles have one type, and all scalars its element type,
    no operands differ.
    """
    used = {s.value.op for s in made}
    ops = {op for op in used if _may_expand(op)}
    found: set[Stmt] = {s for s in made if s.value.op in ops} if ops else set()
    args = {arg for s in made for arg in s.value.args}
    scalars = {arg.type.dtype for arg in args if arg.type.__class__ is ScalarType}
    tiles = [e for e in args.union([s.var for s in made]) if e.type.__class__ is TileType]
    kinds: dict[int, Any] = {id(e.type): e.type for e in tiles}
    if len(kinds) > 1 or len(scalars.union([kind.dtype for kind in kinds.values()])) > 1:
        forms = [cast("OpDef[..., Any]", op) for op in used if isinstance(op, OpDef)]
        rules = {form: form.promotion for form in forms if form.promotion is not None}
        for s in made if rules else ():
            rule = rules.get(s.value.op)
            if rule is not None and rule.differ(s.value.args):
                found.add(s)
    high = {key for key, kind in kinds.items() if is_vertical(kind) or is_padded(kind)}
    columns = {e for e in tiles if id(e.type) in high} if high else ()
    if columns:
        found |= {s for s in made if s.var in columns or not columns.isdisjoint(s.value.args)}
    return found


def _is_tile(value: Expr) -> bool:
    return value.type.__class__ is TileType


def _may_expand(op: Op) -> bool:
    if not isinstance(op, OpDef):
        return False
    form = cast("OpDef[..., Any]", op)
    other = form.with_scratch
    return form.decomposition is not None or (other is not None and other.decomposition is not None)
