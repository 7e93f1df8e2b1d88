"""Building IR by hand: `IRBuilder`, and functions for the scalar operators.

The builder keeps track of open blocks and of source spans, and refuses what cannot be a block.
`verify` checks whether the finished program is valid.

    ib = IRBuilder()
    with ib.function("double") as f:
        x = f.param("x", ScalarType(DataType.INT64))
        f.return_type(ScalarType(DataType.INT64))
        y = ib.let("y", x * 2)
        ib.return_stmt(y)
    function = f.get_result()

Loops and branches pass values on through ``iter_arg``, ``return_var`` and yields. Or they assign to
an outer variable, as Python does, and ``f.get_result(ssa=True)`` supplies the rest:

    with ib.for_loop(i, 0, 8, 1):
        ib.assign(total, total + i)

Misplaced calls raise RuntimeError or ValueError, a result requested too early AssertionError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import with_article
from pypto._src.ir.array_types import MemRef, TensorType, TensorView, TileType, TileView
from pypto._src.ir.enums import (
    ForKind,
    FunctionType,
    MemorySpace,
    ParamDirection,
    ScopeKind,
    TensorLayout,
    TileLayout,
    TilePad,
)
from pypto._src.ir.exprs import (
    Add,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Call,
    Cast,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    GlobalVar,
    Gt,
    IterArg,
    Le,
    Lt,
    MakeTuple,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Operand,
    Pow,
    Sub,
    UnaryExpr,
    Var,
    as_expr,
    as_exprs,
    binary,
    caller_span,
    unary,
)
from pypto._src.ir.ssa.construct import to_ssa
from pypto._src.ir.ssa.jumps import lower_function_jumps
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    seq,
)
from pypto._src.ir.traversal.common_parts import name_shared_subexpressions
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.types import Type, UnknownType, same_type

# --------------------------------------------------------------------------------------------
# Operators
# --------------------------------------------------------------------------------------------

BinaryMaker = Callable[..., BinaryExpr]
UnaryMaker = Callable[..., UnaryExpr]


def _binary(kind: type[BinaryExpr]) -> BinaryMaker:
    def make(lhs: Operand, rhs: Operand, span: Span = UNKNOWN_SPAN) -> BinaryExpr:
        return binary(kind, lhs, rhs, span)

    make.__doc__ = f"Return `{kind.__name__}` of two scalars, promoted to one element type."
    return make


def _unary(kind: type[UnaryExpr]) -> UnaryMaker:
    def make(operand: Operand, span: Span = UNKNOWN_SPAN) -> UnaryExpr:
        return unary(kind, operand, span)

    make.__doc__ = f"Return `{kind.__name__}` of a scalar."
    return make


add, sub, mul = _binary(Add), _binary(Sub), _binary(Mul)
truediv, floordiv, mod, pow_ = _binary(FloatDiv), _binary(FloorDiv), _binary(FloorMod), _binary(Pow)
eq, ne, lt = _binary(Eq), _binary(Ne), _binary(Lt)
le, gt, ge = _binary(Le), _binary(Gt), _binary(Ge)
min_, max_ = _binary(Min), _binary(Max)
bit_and, bit_or, bit_xor = _binary(BitAnd), _binary(BitOr), _binary(BitXor)
bit_shift_left, bit_shift_right = _binary(BitShiftLeft), _binary(BitShiftRight)
neg, bit_not = _unary(Neg), _unary(BitNot)


def cast_(operand: Operand, dtype: DataType, span: Span = UNKNOWN_SPAN) -> Cast:
    """Return ``operand`` as element type ``dtype``."""
    return Cast(operand, dtype, span)


# --------------------------------------------------------------------------------------------
# Blocks
# --------------------------------------------------------------------------------------------


class Block:
    """One open context. It collects statements and becomes a node when it closes."""

    def __init__(self, builder: IRBuilder, span: Span) -> None:
        self._builder = builder
        self._span = span
        self.stmts: list[Stmt] = []
        self._node: Any = None

    def __enter__(self) -> Self:
        self._builder.open_block(self)
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._builder.close_block(self)
        if kind is None:
            self._node = self._finish()
            if isinstance(self._node, Stmt):
                self._builder.emit(self._node)

    def close(self, end: Span) -> Any:
        """End the block without a ``with``; return its node, whose span extends to ``end``."""
        self._span = self._span.up_to(end)
        self.__exit__(None, None, None)
        return self._node

    def _finish(self) -> Any:
        raise NotImplementedError

    def _closed(self) -> Any:
        if self._node is None:
            raise AssertionError("the result is there when the with block has ended without error")
        return self._node

    def _body(self) -> Stmt:
        return seq(self.stmts, self._span)


class _WithResults(Block):
    """A block whose node has return_vars."""

    def __init__(self, builder: IRBuilder, span: Span) -> None:
        super().__init__(builder, span)
        self._return_vars: list[Var] = []

    def add_return_var(self, var: Var) -> None:
        """Add ``var`` as the variable of the next result."""
        self._return_vars.append(var)

    def outputs(self) -> list[Var]:
        """Return the variables that hold the results after the block."""
        self._closed()
        return list(self._return_vars)

    def output(self, index: int = 0) -> Var:
        """Return result ``index``.

        Raises:
            IndexError: there is no such result.
        """
        results = self.outputs()
        if not 0 <= index < len(results):
            raise IndexError(f"output {index} of a block with {len(results)} results")
        return results[index]


class FunctionBuilder(Block):
    """The function inside ``with ib.function(...) as f``."""

    def __init__(self, builder: IRBuilder, span: Span, name: str, kind: FunctionType) -> None:
        super().__init__(builder, span)
        self._name = name
        self._kind = kind
        self._params: list[tuple[Var, ParamDirection]] = []
        self._return_types: list[Type] = []

    def param(
        self,
        name: str,
        type: Type,
        span: Span | None = None,
        direction: ParamDirection = ParamDirection.In,
    ) -> Var:
        """Add a parameter; return its variable."""
        self._at_top("param")
        var = Var(name, type, span or caller_span())
        self._params.append((var, direction))
        return var

    def return_type(self, type: Type) -> None:
        """Add a result type."""
        self._at_top("return_type")
        self._return_types.append(type)

    def get_result(self, *, ssa: bool = False) -> Function:
        """Return the function, after its block.

        Subexpressions that occur many times, as after repeated ``x = x + x`` in Python, are
        assigned to variables.

        With ``ssa`` every variable is assigned once: iter_args, yields, return_vars and else
        branches are supplied for variables that loops and branches assign, and break, continue
        and early return become conditions.

        Raises:
            PassError: with ``ssa``, a variable is read that some path leaves unassigned, or
                that has different types.
        """
        function: Function = self._closed()
        return to_ssa(lower_function_jumps(function)) if ssa else function

    def _at_top(self, what: str) -> None:
        if self._builder.innermost() is not self:
            raise ValueError(f"{what} belongs directly in the block of its function")

    def _finish(self) -> Function:
        body = self._body()
        return name_shared_subexpressions(
            Function(self._name, self._params, self._return_types, body, self._span, self._kind)
        )


class _LoopBuilder(_WithResults):
    def __init__(self, builder: IRBuilder, span: Span) -> None:
        super().__init__(builder, span)
        self._iter_args: list[IterArg] = []

    def iter_arg(
        self, name: str, init_value: Operand, type: Type | None = None, span: Span | None = None
    ) -> IterArg:
        """Add a carried value that enters the loop as ``init_value``.

        Raises:
            ValueError: ``type`` is not that of ``init_value``.
        """
        init = as_expr(init_value)
        if isinstance(type, Type) and not same_type(type, init.type):
            raise ValueError(
                f"iter_arg {name!r} is {with_article(str(type))}, "
                f"its init_value {with_article(str(init.type))}"
            )
        arg = IterArg(name, init.type if type is None else type, init, span or caller_span())
        self.add_iter_arg(arg)
        return arg

    def add_iter_arg(self, arg: IterArg) -> None:
        """Add a carried value."""
        self._iter_args.append(arg)

    def return_var(self, name: str, type: Type | None = None, span: Span | None = None) -> Var:
        """Add the result of the next carried value, with that value's type.

        Raises:
            ValueError: there is no such carried value, or it has another type.
        """
        index = len(self._return_vars)
        if index >= len(self._iter_args):
            raise ValueError(f"result {name!r} has no iter_arg: call iter_arg before return_var")
        kind = self._iter_args[index].type
        if type is not None and not same_type(type, kind):
            raise ValueError(
                f"result {name!r} is {with_article(str(type))}, "
                f"its iter_arg {with_article(str(kind))}"
            )
        var = Var(name, kind, span or caller_span())
        self.add_return_var(var)
        return var

    def _check_counts(self) -> None:
        args, results = len(self._iter_args), len(self._return_vars)
        if args != results:
            raise RuntimeError(f"a loop with {args} iter_args has {results} return_vars")


class ForLoopBuilder(_LoopBuilder):
    """The loop inside ``with ib.for_loop(...) as loop``."""

    def __init__(
        self,
        builder: IRBuilder,
        span: Span,
        loop_var: Var,
        bounds: tuple[Operand, Operand, Operand],
        kind: ForKind,
    ) -> None:
        super().__init__(builder, span)
        self._loop_var = loop_var
        self._bounds = bounds
        self._kind = kind

    def get_result(self) -> ForStmt:
        """Return the loop, after its block."""
        return self._closed()

    def _finish(self) -> ForStmt:
        self._check_counts()
        return ForStmt(
            self._loop_var,
            *self._bounds,
            self._iter_args,
            self._body(),
            self._return_vars,
            self._span,
            self._kind,
        )


class WhileLoopBuilder(_LoopBuilder):
    """The loop inside ``with ib.while_loop(...) as loop``."""

    def __init__(self, builder: IRBuilder, span: Span, condition: Operand) -> None:
        super().__init__(builder, span)
        self._condition = as_expr(condition)

    def set_condition(self, condition: Operand) -> None:
        """Replace the condition, by one that reads the iter_args."""
        self._condition = as_expr(condition)

    def get_result(self) -> WhileStmt:
        """Return the loop, after its block."""
        return self._closed()

    def _finish(self) -> WhileStmt:
        self._check_counts()
        body = self._body()
        return WhileStmt(self._condition, self._iter_args, body, self._return_vars, self._span)


class IfStmtBuilder(_WithResults):
    """The branch inside ``with ib.if_stmt(...) as branch``."""

    def __init__(self, builder: IRBuilder, span: Span, condition: Operand) -> None:
        super().__init__(builder, span)
        self._condition = as_expr(condition)
        self._then: Stmt | None = None

    def else_(self, span: Span | None = None) -> None:
        """Start the else branch.

        Raises:
            ValueError: it has started already, or another block is open inside.
        """
        if self._then is not None:
            raise ValueError("an if has one else")
        if self._builder.innermost() is not self:
            raise ValueError("else_ belongs directly in the block of its if")
        self._then = self._body()
        self.stmts = []

    def return_var(self, name: str, type: Type, span: Span | None = None) -> Var:
        """Add a result, which takes what both branches yield at its position."""
        var = Var(name, type, span or caller_span())
        self.add_return_var(var)
        return var

    def get_result(self) -> IfStmt:
        """Return the branch, after its block."""
        return self._closed()

    def _finish(self) -> IfStmt:
        then, other = self._then, self._body() if self.stmts else None
        if then is None:
            then, other = self._body(), None
        return IfStmt(self._condition, then, other, self._return_vars, self._span)


class ScopeBuilder(Block):
    """The scope inside ``with ib.scope(...) as scope``."""

    def __init__(self, builder: IRBuilder, span: Span, kind: ScopeKind, name_hint: str) -> None:
        super().__init__(builder, span)
        self._kind = kind
        self._name_hint = name_hint

    def get_result(self) -> ScopeStmt:
        """Return the scope, after its block."""
        return self._closed()

    def _finish(self) -> ScopeStmt:
        return ScopeStmt(self._kind, self._body(), self._span, self._name_hint)


class ProgramBuilder(Block):
    """The program inside ``with ib.program(...) as program``."""

    def __init__(self, builder: IRBuilder, span: Span, name: str) -> None:
        super().__init__(builder, span)
        self._name = name
        self._globals: dict[str, GlobalVar] = {}
        self.functions: dict[str, Function] = {}

    def declare_function(self, name: str) -> GlobalVar:
        """Return the callee for calls of function ``name``, which may be added later."""
        return self._globals.setdefault(name, GlobalVar(name))

    def get_global_var(self, name: str) -> GlobalVar:
        """Return what `declare_function` returned for ``name``.

        Raises:
            RuntimeError: it was not declared.
        """
        if name not in self._globals:
            raise RuntimeError(f"function {name!r} is not declared: call declare_function first")
        return self._globals[name]

    def add_function(self, function: Function) -> GlobalVar:
        """Add a finished function.

        Raises:
            ValueError: the program already has a function of this name.
        """
        if function.name in self.functions:
            raise ValueError(f"the program has a function {function.name!r} already")
        self.functions[function.name] = function
        return self.declare_function(function.name)

    def get_result(self) -> Program:
        """Return the program, after its block."""
        return self._closed()

    def _finish(self) -> Program:
        return Program(list(self.functions.values()), self._name, self._span)


# --------------------------------------------------------------------------------------------
# The builder
# --------------------------------------------------------------------------------------------


class IRBuilder:
    """Makes functions and programs from nested ``with`` blocks; see the module's example.

    A node whose optional ``span`` is not given gets the caller's file and line. Python numbers
    stand for constants: ints INDEX, floats FP32.
    """

    def __init__(self) -> None:
        self._blocks: list[Block] = []

    # ---------------------------------------------------------------------------- blocks

    def function(
        self, name: str, span: Span | None = None, type: FunctionType = FunctionType.Opaque
    ) -> FunctionBuilder:
        """Open a function.

        Raises:
            RuntimeError: inside another function.
        """
        if self.in_function():
            raise RuntimeError("a function is inside another function")
        return FunctionBuilder(self, span or caller_span(), name, type)

    def program(self, name: str, span: Span | None = None) -> ProgramBuilder:
        """Open a program.

        Raises:
            RuntimeError: inside another program or a function.
        """
        if self._blocks:
            raise RuntimeError("a program is inside another block")
        return ProgramBuilder(self, span or caller_span(), name)

    def for_loop(
        self,
        loop_var: Var,
        start: Operand,
        stop: Operand,
        step: Operand,
        span: Span | None = None,
        kind: ForKind = ForKind.Sequential,
    ) -> ForLoopBuilder:
        """Open a counted loop.

        Raises:
            RuntimeError: outside of a function.
        """
        if not self.in_function():
            raise RuntimeError("a for loop is outside a function")
        bounds = (start, stop, step)
        return ForLoopBuilder(self, span or caller_span(), loop_var, bounds, kind)

    def while_loop(self, condition: Operand, span: Span | None = None) -> WhileLoopBuilder:
        """Open a loop that runs while ``condition`` holds.

        Raises:
            RuntimeError: outside of a function.
        """
        if not self.in_function():
            raise RuntimeError("a while loop is outside a function")
        return WhileLoopBuilder(self, span or caller_span(), condition)

    def if_stmt(self, condition: Operand, span: Span | None = None) -> IfStmtBuilder:
        """Open a branch.

        Raises:
            ValueError: outside of a function.
        """
        if not self.in_function():
            raise ValueError("an if is outside a function")
        return IfStmtBuilder(self, span or caller_span(), condition)

    def scope(
        self, scope_kind: ScopeKind, span: Span | None = None, name_hint: str = ""
    ) -> ScopeBuilder:
        """Open a marked region, whose kernel is to be called ``name_hint``.

        Raises:
            ValueError: outside of a function.
        """
        if not self.in_function():
            raise ValueError("a scope is outside a function")
        return ScopeBuilder(self, span or caller_span(), scope_kind, name_hint)

    def in_function(self) -> bool:
        """True inside a function."""
        return any(isinstance(block, FunctionBuilder) for block in self._blocks)

    def in_loop(self) -> bool:
        """True directly inside a for loop."""
        return isinstance(self.innermost(), ForLoopBuilder)

    def in_if(self) -> bool:
        """True directly inside a branch."""
        return isinstance(self.innermost(), IfStmtBuilder)

    def innermost(self) -> Block | None:
        """Return the block that statements go to, None outside of all blocks."""
        return self._blocks[-1] if self._blocks else None

    def outermost(self) -> Block | None:
        """Return the block around all others, None outside of all."""
        return self._blocks[0] if self._blocks else None

    def open_block(self, block: Block) -> None:
        """Direct statements to ``block``."""
        self._blocks.append(block)

    def close_block(self, block: Block) -> None:
        """Leave ``block``, and any blocks inside it that an error has left open."""
        while self._blocks and self._blocks.pop() is not block:
            pass

    # ------------------------------------------------------------------------ statements

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the innermost block.

        Raises:
            RuntimeError: no open block takes statements.
        """
        block = self.innermost()
        if block is None or isinstance(block, ProgramBuilder):
            raise RuntimeError(f"{type(stmt).__name__} is outside a function")
        block.stmts.append(stmt)

    def var(self, name: str, type: Type, span: Span | None = None) -> Var:
        """Return a new variable; nothing is appended."""
        return Var(name, type, span or caller_span())

    def assign(self, var: Var, value: Operand, span: Span | None = None) -> AssignStmt:
        """Append ``var = value``."""
        stmt = AssignStmt(var, value, span or caller_span())
        self.emit(stmt)
        return stmt

    def let(
        self, name: str, value: Operand, type: Type | None = None, span: Span | None = None
    ) -> Var:
        """Append an assignment to a new variable, with the value's type; return the variable.

        Raises:
            ValueError: ``type`` is not the value's, or a called function has several results.
        """
        span = span or caller_span()
        expr = self._typed(as_expr(value, span))
        kind = expr.type
        if type is not None and not isinstance(kind, UnknownType) and not same_type(type, kind):
            raise ValueError(
                f"variable {name!r} is declared as {type}, its value is {with_article(str(kind))}"
            )
        var = Var(name, kind if type is None else type, span)
        self.emit(AssignStmt(var, expr, span))
        return var

    def _typed(self, value: Expr) -> Expr:
        """Give a call of a function of the program the function's result type."""
        if not (isinstance(value, Call) and isinstance(value.op, GlobalVar)):
            return value
        program = self._blocks[0] if self._blocks else None
        if not isinstance(program, ProgramBuilder) or not isinstance(value.type, UnknownType):
            return value
        callee = program.functions.get(value.op.name)
        if callee is None or not callee.return_types:
            return value
        result, *others = callee.return_types
        if others:
            count = len(callee.return_types)
            raise ValueError(f"{callee.name} has {count} results: give the call a TupleType")
        return copy_with(value, {"type": result})

    def eval_stmt(self, expr: Expr, span: Span | None = None) -> EvalStmt:
        """Append an expression that is evaluated for its effect."""
        stmt = EvalStmt(expr, span or caller_span())
        self.emit(stmt)
        return stmt

    def return_stmt(
        self, values: Operand | Sequence[Operand] | None = None, span: Span | None = None
    ) -> ReturnStmt:
        """Append a return of one value, several, or none."""
        if values is None:
            items: Sequence[Operand] = ()
        elif isinstance(values, list | tuple):
            items = cast("Sequence[Operand]", values)
        else:
            items = (cast("Operand", values),)
        stmt = ReturnStmt(items, span or caller_span())
        self.emit(stmt)
        return stmt

    # ------------------------------------------------------------- expressions and types

    def make_tuple(self, elements: Sequence[Operand], span: Span | None = None) -> MakeTuple:
        """Return several values as one; nothing is appended."""
        return MakeTuple(elements, span or caller_span())

    def memref(
        self,
        memory_space: MemorySpace,
        addr: Operand,
        size: int,
        id: int,
        span: Span | None = None,
    ) -> MemRef:
        """Return a memory reference: space, address in bytes, size in bytes, number."""
        return MemRef(memory_space, addr, size, id, span or caller_span())

    def tile_view(
        self,
        valid_shape: Sequence[Operand],
        stride: Sequence[Operand],
        start_offset: Operand | None,
        blayout: TileLayout = TileLayout.row_major,
        slayout: TileLayout = TileLayout.none_box,
        fractal: int = 512,
        pad: TilePad = TilePad.null,
        span: Span | None = None,
    ) -> TileView:
        """Return a tile view. Views have no span; ``span`` is not used."""
        offset = None if start_offset is None else as_expr(start_offset)
        return TileView(
            as_exprs(valid_shape), as_exprs(stride), offset, blayout, slayout, fractal, pad
        )

    def tensor_view(
        self, stride: Sequence[Operand], layout: TensorLayout, span: Span | None = None
    ) -> TensorView:
        """Return a tensor view. Views have no span; ``span`` is not used."""
        return TensorView(as_exprs(stride), layout)

    def tensor_type(
        self,
        shape: Sequence[Operand],
        dtype: DataType,
        memref: MemRef | None = None,
        tensor_view: TensorView | None = None,
        span: Span | None = None,
    ) -> TensorType:
        """Return a tensor type; dimensions are ints and expressions."""
        return TensorType(shape, dtype, memref, tensor_view)

    def tile_type(
        self,
        shape: Sequence[Operand],
        dtype: DataType,
        memref: MemRef | None = None,
        tile_view: TileView | None = None,
        span: Span | None = None,
    ) -> TileType:
        """Return a tile type; dimensions are ints and expressions."""
        return TileType(shape, dtype, memref, tile_view)
