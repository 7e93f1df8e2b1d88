"""Copies of single iterations of a loop, each with its own variables.

The copies are named after the loop's variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from pypto._src.ir.array_types import MemRef, ShapedType
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.stmts import (
    BreakStmt,
    ContinueStmt,
    ForStmt,
    ReturnStmt,
    Stmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.types import Type, same_type
from pypto._src.ir.unchecked import with_memref
from pypto._src.passes.structure.inline_calls import Clone

_SAME: Final[Mapping[MemRef, MemRef]] = MappingProxyType({})


def copied_iteration(
    loop: ForStmt,
    index: Expr,
    values: Sequence[Expr],
    names: FreshNames,
    memrefs: Mapping[MemRef, MemRef] = _SAME,
) -> tuple[list[Stmt], tuple[Expr, ...]]:
    """Return one copy of a body, and what it yields.

    ``index`` replaces the loop variable, ``values`` what the previous iteration has yielded;
    ``memrefs`` maps memory references to their replacements, where tiles have them.
    """
    mapping: dict[Var, Expr] = {loop.loop_var: index}
    mapping.update(zip(loop.iter_args, values, strict=True))
    copied = list(statements(_Copy(mapping, names, memrefs).body(loop.body)))
    if copied and isinstance(copied[-1], YieldStmt):
        return copied[:-1], copied[-1].value
    return copied, ()


def can_copy_iterations(loop: ForStmt) -> bool:
    """True if copies in sequence equal the loop: no jumps, and carried values keep their type."""
    if any(isinstance(stmt, BreakStmt | ContinueStmt | ReturnStmt) for stmt in stmts_in(loop.body)):
        return False
    return all(
        same_type(arg.type, arg.initValue.type) and same_type(arg.type, result.type)
        for arg, result in zip(loop.iter_args, loop.return_vars, strict=True)
    )


class _Copy(Clone):
    """Copies a body, and gives its variables new names."""

    def __init__(
        self, mapping: dict[Var, Expr], names: FreshNames, memrefs: Mapping[MemRef, MemRef]
    ) -> None:
        super().__init__(mapping)
        self._names = names
        self._memrefs = memrefs

    def rebuild(self, node: Any) -> Any:
        """Rebuild ``node``, with the memory references of its type replaced."""
        if not isinstance(node, Call) or not isinstance(node.type, ShapedType):
            return super().rebuild(node)
        if node.type.memref is None:
            return super().rebuild(node)
        new = Mutator.rebuild(self, node)  # its type has more than the op infers
        kind = self.kind(node.type)
        return new if kind is node.type else copy_with(new, {"type": kind})

    def kind(self, kind: Type) -> Type:
        """Return ``kind`` with its dimensions and memory reference replaced."""
        new = super().kind(kind)
        if not isinstance(new, ShapedType) or new.memref is None:
            return new
        other = self._memrefs.get(new.memref)
        return new if other is None else with_memref(new, other)

    def define(self, var: Var) -> Var:
        if var in self._mapping:
            return super().define(var)
        named = copy_with(super().define(var), {"name": self._names.numbered(f"{var.name}_")})
        self._mapping[var] = named
        return named
