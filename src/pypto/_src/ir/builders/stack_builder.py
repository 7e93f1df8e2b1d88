"""Building IR step by step: the builder whose blocks one call opens and another closes.

    ib = IRBuilder()
    ib.begin_function("double", span)
    x = ib.func_arg("x", ScalarType(DataType.INT64), span)
    ib.return_type(ScalarType(DataType.INT64))
    ib.return_([x * 2], span)
    function = ib.end_function(span)

For authors of other front ends, which have a source span for everything. The blocks and their
checks are those of `builder`; this module owns only their order: the block opened last is closed
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.ir.builders import builder as build
from pypto._src.ir.enums import ForKind, FunctionType, ParamDirection, ScopeKind
from pypto._src.ir.exprs import GlobalVar, IterArg, Operand, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
)
from pypto._src.ir.types import Type

B = TypeVar("B", bound=build.Block)

_WORDS: Final[dict[type[build.Block], str]] = {
    build.FunctionBuilder: "a function",
    build.ForLoopBuilder: "a for loop",
    build.WhileLoopBuilder: "a while loop",
    build.IfStmtBuilder: "an if",
    build.ScopeBuilder: "a scope",
    build.ProgramBuilder: "a program",
}


class IRBuilder:
    """Makes functions and programs from pairs of ``begin_...`` and ``end_...`` calls.

    ``begin_...`` raises RuntimeError or ValueError where the block is not allowed, ``end_...``
    RuntimeError where another block was opened last. The span of a node extends from the span of
    its begin to that of its end.
    """

    def __init__(self) -> None:
        self._builder = build.IRBuilder()

    def _open(self, kind: type[B]) -> B:
        """Return the innermost block, which must be a ``kind``."""
        block = self._builder.innermost()
        if isinstance(block, kind):
            return block
        found = "no block is open" if block is None else f"{_WORDS[type(block)]} is open"
        raise RuntimeError(f"this belongs directly into {_WORDS[kind]}, and {found}")

    def _end(self, kind: type[build.Block], end_span: Span) -> Any:
        return self._open(kind).close(end_span)

    # ------------------------------------------------------------------------- functions

    def begin_function(
        self, name: str, span: Span, type: FunctionType = FunctionType.Opaque
    ) -> None:
        """Open a function.

        Raises:
            RuntimeError: inside another function.
        """
        self._builder.function(name, span, type).__enter__()

    def func_arg(
        self,
        name: str,
        type: Type,
        span: Span,
        direction: ParamDirection = ParamDirection.In,
    ) -> Var:
        """Add a parameter to the function; return its variable.

        Raises:
            ValueError: another block is open in the function.
        """
        return self._signature("func_arg").param(name, type, span, direction)

    def return_type(self, type: Type) -> None:
        """Add a result type to the function.

        Raises:
            ValueError: another block is open in the function.
        """
        self._signature("return_type").return_type(type)

    def _signature(self, what: str) -> build.FunctionBuilder:
        block = self._builder.innermost()
        if self.in_function() and not isinstance(block, build.FunctionBuilder):
            raise ValueError(f"{what} belongs directly in the block of its function")
        return self._open(build.FunctionBuilder)

    def end_function(self, end_span: Span) -> Function:
        """Close the function and return it."""
        return self._end(build.FunctionBuilder, end_span)

    # ----------------------------------------------------------------------------- loops

    def begin_for_loop(
        self,
        loop_var: Var,
        start: Operand,
        stop: Operand,
        step: Operand,
        span: Span,
        kind: ForKind = ForKind.Sequential,
    ) -> None:
        """Open a counted loop.

        Raises:
            RuntimeError: outside of a function.
        """
        self._builder.for_loop(loop_var, start, stop, step, span, kind).__enter__()

    def add_iter_arg(self, iter_arg: IterArg) -> None:
        """Add a value that the for loop carries."""
        self._open(build.ForLoopBuilder).add_iter_arg(iter_arg)

    def add_return_var(self, var: Var) -> None:
        """Add ``var`` as the variable of the for loop's next result."""
        self._open(build.ForLoopBuilder).add_return_var(var)

    def end_for_loop(self, end_span: Span) -> ForStmt:
        """Close the for loop, append it to the block around it, and return it.

        Raises:
            RuntimeError: it does not have as many return_vars as iter_args.
        """
        return self._end(build.ForLoopBuilder, end_span)

    def begin_while_loop(self, condition: Operand, span: Span) -> None:
        """Open a loop that runs while ``condition`` holds.

        Raises:
            RuntimeError: outside of a function.
        """
        self._builder.while_loop(condition, span).__enter__()

    def add_while_iter_arg(self, iter_arg: IterArg) -> None:
        """Add a value that the while loop carries."""
        self._open(build.WhileLoopBuilder).add_iter_arg(iter_arg)

    def add_while_return_var(self, var: Var) -> None:
        """Add ``var`` as the variable of the while loop's next result."""
        self._open(build.WhileLoopBuilder).add_return_var(var)

    def set_while_loop_condition(self, cond: Operand) -> None:
        """Replace the condition of the while loop, by one that reads its iter_args."""
        self._open(build.WhileLoopBuilder).set_condition(cond)

    def end_while_loop(self, end_span: Span) -> WhileStmt:
        """Close the while loop, append it to the block around it, and return it.

        Raises:
            RuntimeError: it does not have as many return_vars as iter_args.
        """
        return self._end(build.WhileLoopBuilder, end_span)

    # ------------------------------------------------------------------ branches, scopes

    def begin_if(self, condition: Operand, span: Span) -> None:
        """Open a branch.

        Raises:
            ValueError: outside of a function.
        """
        self._builder.if_stmt(condition, span).__enter__()

    def begin_else(self, span: Span) -> None:
        """Start the else branch. An else has no span; ``span`` is not used.

        Raises:
            ValueError: it has started already.
        """
        self._open(build.IfStmtBuilder).else_(span)

    def add_if_return_var(self, var: Var) -> None:
        """Add ``var`` as the variable of the next value that both branches yield."""
        self._open(build.IfStmtBuilder).add_return_var(var)

    def end_if(self, end_span: Span) -> IfStmt:
        """Close the branch, append it to the block around it, and return it."""
        return self._end(build.IfStmtBuilder, end_span)

    def begin_scope(self, kind: ScopeKind, span: Span, name_hint: str = "") -> None:
        """Open a marked region, whose kernel is to be called ``name_hint``.

        Raises:
            ValueError: outside of a function.
        """
        self._builder.scope(kind, span, name_hint).__enter__()

    def end_scope(self, end_span: Span) -> ScopeStmt:
        """Close the region, append it to the block around it, and return it."""
        return self._end(build.ScopeBuilder, end_span)

    # -------------------------------------------------------------------------- programs

    def begin_program(self, name: str, span: Span) -> None:
        """Open a program.

        Raises:
            RuntimeError: inside another block.
        """
        self._builder.program(name, span).__enter__()

    def declare_function(self, name: str) -> GlobalVar:
        """Return the callee for calls of function ``name``, which may be added later."""
        return self._program().declare_function(name)

    def get_global_var(self, name: str) -> GlobalVar:
        """Return what `declare_function` returned for ``name``.

        Raises:
            RuntimeError: it was not declared.
        """
        return self._program().get_global_var(name)

    def add_function(self, func: Function) -> None:
        """Add a finished function to the program.

        Raises:
            ValueError: the program already has a function of this name.
        """
        self._program().add_function(func)

    def get_function_return_types(self, gvar: GlobalVar) -> list[Type]:
        """Return the result types of a function of the program; none until it is added."""
        function = self._program().functions.get(gvar.name)
        return [] if function is None else list(function.return_types)

    def end_program(self, end_span: Span) -> Program:
        """Close the program and return it."""
        return self._end(build.ProgramBuilder, end_span)

    def _program(self) -> build.ProgramBuilder:
        """Return the open program, which may have an open function in it."""
        block = self._builder.outermost()
        if not isinstance(block, build.ProgramBuilder):
            raise RuntimeError("no program is open: call begin_program first")
        return block

    # ------------------------------------------------------------------------ statements

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the innermost block.

        Raises:
            RuntimeError: no open block takes statements.
        """
        self._builder.emit(stmt)

    def assign(self, var: Var, value: Operand, span: Span) -> AssignStmt:
        """Append ``var = value``."""
        return self._builder.assign(var, value, span)

    def var(self, name: str, type: Type, span: Span) -> Var:
        """Return a new variable; nothing is appended."""
        return self._builder.var(name, type, span)

    def return_(
        self, values: Sequence[Operand] | Span = (), span: Span = UNKNOWN_SPAN
    ) -> ReturnStmt:
        """Append a return of ``values``, or of nothing: ``return_(span)``."""
        if isinstance(values, Span):
            values, span = (), values
        return self._builder.return_stmt(values, span)

    # ----------------------------------------------------------------------- where it is

    def in_function(self) -> bool:
        """True inside a function."""
        return self._builder.in_function()

    def in_loop(self) -> bool:
        """True directly inside a for loop."""
        return self._builder.in_loop()

    def in_if(self) -> bool:
        """True directly inside a branch."""
        return self._builder.in_if()

    def in_program(self) -> bool:
        """True inside a program."""
        return isinstance(self._builder.outermost(), build.ProgramBuilder)
