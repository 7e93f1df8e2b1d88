"""The statements of a C++ kernel, in order: assignments, calls with effects, jumps.

Owns which statement writes what, and the prints that help debugging. Does not know the text of
calls (`calls`), and how loops and branches pass values on (`control_flow`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pypto._src.emit.cpp.calls import Calls
from pypto._src.emit.cpp.kernel_state import Kernel, space_of
from pypto._src.emit.cpp.prologue import Declarations
from pypto._src.emit.cpp.scalar_exprs import printed
from pypto._src.emit.cpp.tensors import valid_sizes, written
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.array_types import TensorType, TileType, dtype_of
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, Var, const_value
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
from pypto._src.ir.types import MemRefType, ScalarType, Type
from pypto._src.ops import tensor

if TYPE_CHECKING:
    from pypto._src.emit.cpp.control_flow import Flow


class Statements:
    """Writes the body of a kernel."""

    def __init__(self, kernel: Kernel, declarations: Declarations) -> None:
        self._kernel = kernel
        self._body = kernel.body
        self._declarations = declarations
        self._calls = Calls(kernel)
        self._prints = kernel.options.debug_prints

    def function(self) -> None:
        """Write the whole body, with the profiling counters if they are enabled."""
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
        for stmt in statements(body):
            kind = stmt.__class__
            try:
                if kind is AssignStmt:
                    target: Any = stmt
                    kind = target.var.type.__class__
                write = WRITERS.get(kind)
                if write is None:
                    what = "variable of " if isinstance(stmt, AssignStmt) else ""
                    raise EmitError(f"C++ kernels have no {what}{kind.__name__}")
                write(self, stmt)
            except PyptoError as error:
                raise error.at(stmt.span) from None

    def flow(self) -> Flow:
        """Return the writer of loops and branches, made on first use: many kernels have neither."""
        from pypto._src.emit.cpp.control_flow import Flow

        return Flow(self._kernel, self._declarations, self.write, self._assign_scalar)

    def evaluate(self, stmt: EvalStmt) -> None:
        """Write a call for its effect."""
        call, body = stmt.expr, self._body
        if isinstance(call, Call):
            if stmt.span is not body.span:  # a flag has the span of the statement beside it
                body.note(stmt.span)
            if call.args:
                self._calls.write(call, "")
            else:
                body.emit_lines(self._calls.lines_alone(call))

    def finish(self, stmt: ReturnStmt) -> None:
        """Write nothing: a kernel returns only tensors that it has stored to."""
        for value in stmt.value:
            if not isinstance(value.type, TensorType):
                raise EmitError(
                    "a kernel returns tensors only",
                    stmt.span,
                    hint="store the value to an Out parameter",
                    slug="emit-return",
                )

    def jump(self, word: str) -> None:
        """Write ``break`` or ``continue``."""
        self._body.emit_line(f"{word};")

    # ----- assignments ----------------------------------------------------------------------

    def assign_tile(self, stmt: AssignStmt) -> None:
        """Write the instruction that computes a tile."""
        var, value, span = stmt.var, stmt.value, stmt.span
        kernel = self._kernel
        if not isinstance(value, Call):  # another name of the same tile
            kernel.context.register_var(var, kernel.value(value))
            return
        kind: Any = var.type
        if span is not self._body.span:
            self._body.note(span)
        name = kernel.context.given.get(var) or kernel.name(var)
        if kind.tile_view is not None:
            self._set_valid(name, kind)
        self._calls.write(value, name, kind)
        if self._prints and space_of(kind) is MemorySpace.Vec:
            self._print_tile(name)

    def _set_valid(self, name: str, kind: TileType) -> None:
        """Set those valid sizes of a tile that are known only at run time."""
        sizes = valid_sizes(kind)
        if all(const_value(size) is not None for size in sizes):
            return
        rows, cols = (self._kernel.scalar(size) for size in sizes)
        self._body.emit_line(f"{name}.SetValidShape({rows}, {cols});")

    def assign_tensor(self, stmt: AssignStmt) -> None:
        """Bind a variable to a tensor, to part of one, or to what an instruction writes."""
        kernel, var, value = self._kernel, stmt.var, stmt.value
        if not isinstance(value, Call):
            kernel.same_tensor(var, value)
        elif value.op is tensor.view or value.op is tensor.reshape_view:
            ref = self._calls.view_ref(value)
            kernel.new_tensor(var, kernel.context.fresh(var.name), ref)
        else:
            self._body.note(stmt.span)
            self._calls.write(value, "")
            kernel.same_tensor(var, written(value))

    def assign_scalar(self, stmt: AssignStmt) -> None:
        """Write the definition of a scalar that is used."""
        var = stmt.var
        if var in self._kernel.used:
            self._body.note(stmt.span)
            self._assign_scalar(var, stmt.value)
            if self._prints:
                self._print_scalar(var)

    def _assign_scalar(self, var: Var, value: Expr) -> None:
        kernel = self._kernel
        kind = kernel.types.ConvertDataType(dtype_of(var))
        if isinstance(value, Call):
            self._calls.write(value, f"{kind} {kernel.context.declare(var)}")
            return
        value = kernel.folded(value)
        from pypto._src.emit.cpp.scalar_folding import is_constant

        if kernel.options.fold_constants and is_constant(value):
            kernel.constants[var] = value  # replaces the variable where it is used
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


WRITERS: Final[dict[type[Stmt] | type[Type], Callable[[Statements, Any], None]]] = {
    EvalStmt: Statements.evaluate,
    ForStmt: lambda writer, stmt: writer.flow().counted(stmt),
    IfStmt: lambda writer, stmt: writer.flow().branch(stmt),
    WhileStmt: lambda writer, stmt: writer.flow().conditional(stmt),
    ScopeStmt: lambda writer, stmt: writer.write(stmt.body),
    BreakStmt: lambda writer, _: writer.jump("break"),
    ContinueStmt: lambda writer, _: writer.jump("continue"),
    ReturnStmt: Statements.finish,
    YieldStmt: lambda _writer, _stmt: None,  # written by the statement that it yields to
    TileType: Statements.assign_tile,
    TensorType: Statements.assign_tensor,
    ScalarType: Statements.assign_scalar,
    # block.alloc describes a buffer; tiles are declared with their addresses.
    MemRefType: lambda _writer, _stmt: None,
}
"""The writer of each class of statement; for assignments, by the class of the variable's type."""
