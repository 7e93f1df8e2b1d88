"""ConvertToSSA: every definition gets its own variable.

The pass is thin: calls between kernels are expanded in `inline_calls`, jumps become conditions in
`ir.ssa.jumps`, and SSA form is constructed in `ir.ssa.construct`, which the IRBuilder uses, too.
"""

from __future__ import annotations

from operator import is_
from typing import Final

from pypto._src.errors import PassError
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.ssa.construct import ssa_and_calls, to_ssa
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    Function,
    Program,
    ReturnStmt,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.types import TupleType, UnknownType
from pypto._src.passes.pass_base import Pass, pass_factory
from pypto._src.passes.properties import IRProperty, IRPropertySet

_P: Final = IRProperty


class ConvertToSSA(Pass):
    """Variables assigned many times -> every variable assigned once.

    Before that, op calls that were built by hand without a type get one, calls between kernels are
    expanded, and ``break``, ``continue`` and early ``return`` become conditions; none of these
    exist after the pass.
    """

    requires = IRPropertySet(_P.TypeChecked)
    produces = IRPropertySet(_P.SSAForm, _P.TypeChecked)
    invalidates = IRPropertySet(_P.NormalizedStmtStructure, _P.FlattenedSingleStmt)

    def run(self, program: Program) -> Program:
        """Return the program in SSA form.

        Raises:
            PassError: a tensor is read without being assigned on every path there, a variable
                changes its type from one path to another, or a kernel calls itself.
        """
        lowered = program
        if not all(map(_is_plain, program.functions_)):
            from pypto._src.ir.ssa.jumps import lower_jumps
            from pypto._src.ir.ssa.tuples import split_tuples

            lowered = lower_jumps(map_functions(program, _with_types))
            program = map_functions(lowered, split_tuples)
        new = _without_calls(program)
        if new is None:
            from pypto._src.ir.ssa.tuples import split_tuples
            from pypto._src.passes.structure.inline_calls import inline_kernel_calls

            program = map_functions(inline_kernel_calls(lowered), split_tuples)
            return map_functions(program, lambda f: to_ssa(f, _unassigned))
        return program if all(map(is_, program.functions_, new)) else program.with_functions(new)


_JUMPS: Final = frozenset({BreakStmt, ContinueStmt, ReturnStmt})


def _is_plain(function: Function) -> bool:
    """True if a function has no jump, no tuple and no untyped call, as most functions."""
    last = (statements(function.body) or [None])[-1]
    for stmt in stmts_in(function.body):
        if isinstance(stmt, AssignStmt):
            if stmt.var.type.__class__ is TupleType or stmt.value.type.__class__ is UnknownType:
                return False
        elif stmt.__class__ in _JUMPS and stmt is not last:
            return False
    return True


def _with_types(function: Function) -> Function:
    """Return the function with a type for each op call that gives a value."""
    assigned = (stmt for stmt in stmts_in(function.body) if isinstance(stmt, AssignStmt))
    if not any(stmt.value.type.__class__ is UnknownType for stmt in assigned):
        return function
    return function.with_body(_Typed().visit(function.body))


class _Typed(Mutator):
    def visit_Call(self, node: Call) -> Call:
        call: Call = self.rebuild(node)
        op = op_of(call)
        if op is None or not isinstance(call.type, UnknownType):
            return call
        return Call(op, call.args, call.kwargs, op.result_type(call.args, call.kwargs), call.span)


def _without_calls(program: Program) -> list[Function] | None:
    """Return the functions in SSA form, None if a kernel may call one of them.

    Few kernels do. The conversion to SSA form visits each call, and so finds out whether one does.
    """
    new: list[Function] = []
    for function in program.functions_:
        try:
            made, calls_functions = ssa_and_calls(function, _unassigned)
        except PassError:  # inlining a callee may remove it
            return None
        if calls_functions and role(function) is Role.KERNEL:
            return None
        new.append(made)
    return new


def _unassigned(var: Var) -> Expr | None:
    """Return the initial value of a variable that some path leaves unassigned; rarely needed."""
    from pypto._src.ops.new_tiles import unassigned_value

    return unassigned_value(var)


@pass_factory
def convert_to_ssa() -> Pass:
    """Return the pass that gives every definition its own variable."""
    return ConvertToSSA()
