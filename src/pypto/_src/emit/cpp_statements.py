"""The statements of a C++ kernel, in order: assignments, calls for their effect, jumps.

Owns which statement writes what, and the prints that help debugging. Refuses to know the text of
calls (`cpp_calls`), and how loops and branches hand values on (`cpp_flow`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto._src.diagnostics import Span
from pypto._src.emit.cpp_calls import Calls
from pypto._src.emit.cpp_declarations import Declarations
from pypto._src.emit.cpp_flow import Flow
from pypto._src.emit.cpp_index import is_constant
from pypto._src.emit.cpp_kernel import Kernel, space_of
from pypto._src.emit.cpp_tensors import valid_sizes, written
from pypto._src.emit.cpp_types import printed
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import (
    Call,
    Expr,
    MemRefType,
    ScalarType,
    TensorType,
    TileType,
    Type,
    Var,
    const_value,
    dtype_of,
)
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ops import tensor


class Statements:
    """Writes the body of a kernel."""

    def __init__(self, kernel: Kernel, declarations: Declarations) -> None:
        self._kernel = kernel
        self._body = kernel.body
        self._calls = Calls(kernel)
        self._prints = kernel.options.debug_prints
        flow = Flow(kernel, declarations, self.write, self._assign_scalar)
        self._writers: dict[type[Stmt], Callable[[Any], None]] = {
            AssignStmt: self._assign,
            EvalStmt: self._evaluate,
            ForStmt: flow.counted,
            IfStmt: flow.branch,
            WhileStmt: flow.conditional,
            ScopeStmt: lambda stmt: self.write(stmt.body),
            BreakStmt: lambda _: self._body.emit_line("break;"),
            ContinueStmt: lambda _: self._body.emit_line("continue;"),
            ReturnStmt: self._return,
            YieldStmt: lambda _: None,  # written by the statement that it yields to
        }
        self._assigners: dict[type[Type], Callable[[Var, Expr, Span], None]] = {
            TileType: self._assign_tile,
            TensorType: self._assign_tensor,
            ScalarType: self._assign_used,
            # block.alloc describes a buffer; tiles are declared with their addresses.
            MemRefType: lambda _var, _value, _span: None,
        }

    def function(self) -> None:
        """Write the whole body, and what counts its calls where that was asked for."""
        kernel, body = self._kernel, self._body
        if not kernel.options.profile:
            self.write(kernel.function.body)
            return
        begin = kernel.context.fresh("profile_begin")
        body.emit_line(f"int64_t {begin} = profile_clock();")
        self.write(kernel.function.body)
        body.end_notes()
        body.emit_line(f"profile_add({kernel.profile}, 1);")
        body.emit_line(f"profile_add({kernel.profile} + 1, profile_clock() - {begin});")

    def write(self, body: Stmt | None) -> None:
        """Write the statements of a body.

        Raises:
            EmitError: one has no C++ form; the error points at it.
        """
        writers = self._writers
        for stmt in statements(body):
            try:
                write = writers.get(stmt.__class__)
                if write is None:
                    raise EmitError(f"C++ kernels have no {type(stmt).__name__}")
                write(stmt)
            except PyptoError as error:
                raise error.at(stmt.span) from None

    def _evaluate(self, stmt: EvalStmt) -> None:
        call = stmt.expr
        if isinstance(call, Call):
            self._body.note(stmt.span)
            if call.args:
                self._calls.write(call, "")
            else:
                emit = self._body.emit_line
                for line in self._calls.lines_alone(call):
                    emit(line)

    def _return(self, stmt: ReturnStmt) -> None:
        for value in stmt.value:
            if not isinstance(value.type, TensorType):
                raise EmitError(
                    "a kernel returns tensors only",
                    stmt.span,
                    hint="store the value to an Out parameter",
                    slug="emit-return",
                )

    # ----- assignments ----------------------------------------------------------------------

    def _assign(self, stmt: AssignStmt) -> None:
        kind = stmt.var.type
        assign = self._assigners.get(kind.__class__)
        if assign is None:
            raise EmitError(f"C++ kernels have no variable of {type(kind).__name__}")
        assign(stmt.var, stmt.value, stmt.span)

    def _assign_tile(self, var: Var, value: Expr, span: Span) -> None:
        kernel = self._kernel
        if not isinstance(value, Call):  # another name of the same tile
            kernel.context.register_var(var, kernel.value(value))
            return
        kind: Any = var.type
        self._body.note(span)
        name = kernel.context.given.get(var) or kernel.name(var)
        if kind.tile_view is not None:
            self._set_valid(name, kind)
        self._calls.write(value, name, kind)
        if self._prints and space_of(kind) is MemorySpace.Vec:
            self._print_tile(name)

    def _set_valid(self, name: str, kind: TileType) -> None:
        """Set the valid sizes of a tile that are known only at run time."""
        sizes = valid_sizes(kind)
        if all(const_value(size) is not None for size in sizes):
            return
        rows, cols = (self._kernel.scalar(size) for size in sizes)
        self._body.emit_line(f"{name}.SetValidShape({rows}, {cols});")

    def _assign_tensor(self, var: Var, value: Expr, span: Span) -> None:
        kernel = self._kernel
        if not isinstance(value, Call):
            kernel.same_tensor(var, value)
        elif value.op is tensor.view:
            place = self._calls.view(value)
            kernel.new_tensor(var, kernel.context.fresh(var.name), place)
        else:
            self._body.note(span)
            self._calls.write(value, "")
            kernel.same_tensor(var, written(value))

    def _assign_used(self, var: Var, value: Expr, span: Span) -> None:
        if var in self._kernel.used:
            self._body.note(span)
            self._assign_scalar(var, value)
            if self._prints:
                self._print_scalar(var)

    def _assign_scalar(self, var: Var, value: Expr) -> None:
        kernel = self._kernel
        kind = kernel.types.ConvertDataType(dtype_of(var))
        if isinstance(value, Call):
            self._calls.write(value, f"{kind} {kernel.context.declare(var)}")
            return
        value = kernel.folded(value)
        if kernel.options.fold_constants and is_constant(value):
            kernel.constants[var] = value  # stands where the variable is used
            if not self._prints:
                return
        kernel.ranges.assign(var, value)
        text = kernel.scalar(value)
        self._body.emit_line(f"{kind} {kernel.context.declare(var)} = {text};")

    # ----- debugging ------------------------------------------------------------------------

    def _print_tile(self, name: str) -> None:
        self._kernel.helpers["PYPTO_PRINT"] = None
        self._body.emit_line("pipe_barrier(PIPE_ALL);")
        self._body.emit_line(f'PYPTO_PRINT("{name}: ");')
        self._body.emit_line(f"TPRINT({name});")

    def _print_scalar(self, var: Var) -> None:
        self._kernel.helpers["PYPTO_PRINT"] = None
        name = self._kernel.name(var)
        form, value = printed(name, dtype_of(var))
        self._body.emit_line(f'PYPTO_PRINT("{name} = {form}\\n", {value});')
