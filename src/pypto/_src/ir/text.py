"""The printer: any node or type as Python text that the front end reads back.

Owns the grammar of the text. Knows no op by name; what a call looks like follows from its
`OpDef`. ``parse(print(p))`` is structurally equal to ``p`` for every program that verifies, and
printing what was parsed gives the same text again. Below ``pl`` stands for the prefix.

Types
    ``pl.Scalar[pl.INT64]``; ``pl.Tensor[[64, n], pl.FP32]``; ``pl.Tile[[64, 64], pl.FP16]``;
    ``pl.Tuple[[T, U]]``; ``pl.MemRefType``; ``pl.UnknownType``. After the element type of a
    tensor or tile stand, in this order and only where the type has them:
    ``pl.MemRef(pl.MemorySpace.Vec, ADDR, SIZE, ID)``, ``pl.TensorView(stride=[...],
    layout=pl.TensorLayout.DN)`` or ``pl.TileView(valid_shape=[...], stride=[...],
    start_offset=E, blayout=pl.TileLayout.col_major, slayout=..., fractal=1024,
    pad=pl.TilePad.zero)``. Fields of a view that have their default are left out. MemRefs of one
    function with equal space and id are one object. ``FP64`` is ``pl.DataType.FP64``.
Names
    Distinct variables have distinct names wherever both could be meant; a later one gets
    ``_1``, ``_2``, ... A loop variable is always new and known in its loop only, and so is an
    iter_arg; but after the loop its name means the loop's result, so no other variable has that
    name. The two may be called alike: ``for i, (s,) in ...: s = pl.yield_(s)``.
    An integer variable that the function uses and does not define is a symbolic dimension and
    is declared above the function or class: ``n = pl.dynamic("n")``. A dimension may be a
    parameter that stands later in the signature.
Constants
    A bare int is INT64 and a bare float FP32, but directly as Scalar operand of an op, where it
    takes the ``dtype`` keyword or the element type of the first tensor or tile operand, and in
    shapes. All others are ``pl.const(VALUE, pl.INT32)``. A minus sign before a number is part of
    the number. An operator on constants alone keeps being one: its first operand is written with
    ``pl.const``, also a BOOL.
    Floats have their shortest exact text; ``pl.const(float("inf"), pl.FP32)``, ``"-inf"`` and
    ``"nan"`` are the others. Booleans are ``True`` and ``False``.
Expressions
    Python operators with Python's precedence. ``and or not`` are And, Or, Not; ``^`` is Xor
    between BOOLs and BitXor between integers; ``~`` is BitNot. ``min(a, b)``, ``max(a, b)``,
    ``abs(x)``, ``pl.cast(x, pl.FP16)``; ``[a, b]`` makes a tuple, ``t[0]`` reads one. Casts are
    always written; reading the text never has to add one.
Calls
    ``pl.block.and_(...)``: level and Python name. Operands are positional up to the first
    attribute of the op's signature; from there on everything is a keyword, in signature order:
    ``pl.block.full([64, 64], dtype=pl.FP32, value=0.0)``. Rounding modes are words
    (``mode="rint"``), pipes ``pl.PipeType.V``, spaces ``pl.MemorySpace.Vec``. Functions of the
    program are called as ``self.f(a)``, by a function printed alone as ``f(a)``.
Statements
    ``v: TYPE = EXPR``; the annotation *is* the variable's type, and is missing only when that is
    unknown. ``return a, b``; ``pl.yield_(a, b)``; ``break``; ``continue``; ``with pl.incore():``;
    ``pass`` in an empty body. ``for i in pl.range(start, stop, step):`` (``pl.parallel``), with
    iter_args ``for i, (a,) in pl.range(start, stop, step, init_values=(x,)):``. ``while c:``, with
    iter_args ``for (a,) in pl.while_(init_values=(x,)):`` and first in its body ``pl.cond(c)``.
    The last yield of a loop body or branch names the results: ``q: TYPE = pl.yield_(x)``, or
    ``q, r = pl.yield_(x, y)``. An iter_arg has the type of its init value, and one of several
    results that of the yielded value; where not, ``q: TYPE`` without value stands first in the
    loop body, or directly before the yield (a result declared so shares no name with an
    iter_arg). Sequences in sequences print as one. An empty else
    is not printed.
Functions and programs
    ``@pl.function`` or ``@pl.function(type=pl.FunctionType.InCore)``, parameters
    ``q: pl.Out[T]``, ``r: pl.InOut[T]``; ``-> T``, ``-> tuple[T, U]`` for several result types, no
    arrow for none. A program starts with ``# pypto.program: NAME``, ``# pypto.entry: FUNCTION``
    and ``# pypto.attr: KEY = LITERAL`` for each attribute; functions stand before their callers.

Three things are simpler when read: an item of a tuple made in place (``[a, b][0]``) is the item
itself; a statement that is no call is refused, for it has no effect; and a variable that lives in
two bodies, neither of which knows what the other assigns, is two variables.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias, cast

from pypto._src.dtypes import BY_CODE, DataType
from pypto._src.ir.base import Node
from pypto._src.ir.enums import ForKind, FunctionType, ParamDirection, PipeType, TensorLayout
from pypto._src.ir.nodes import (
    ATOM,
    BIT_XOR,
    CALL,
    COMPARE,
    POWER,
    SIGN,
    Abs,
    BinaryExpr,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    IterArg,
    MakeTuple,
    MemRef,
    MemRefType,
    Op,
    ScalarType,
    ShapedType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleGetItemExpr,
    TupleType,
    Type,
    UnaryExpr,
    UnknownType,
    Var,
    Xor,
    same_type,
)
from pypto._src.ir.opdef import ATTR, ROUND_MODES, SCALAR, OpDef, Param, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    OpStmts,
    Program,
    ReturnStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)

_STEP: Final = "    "
_RESERVED: Final = frozenset({*keyword.kwlist, "self", "min", "max", "abs", "float", "tuple"})
_CONSTANTS: Final = (ConstInt, ConstFloat, ConstBool)
_NOT_IN_NAMES: Final = re.compile(r"\W")
_ROUND_NAMES: Final = {number: name for name, number in ROUND_MODES.items()}
_VIEW_DEFAULTS: Final = TileView()


def python_print(node: Node, prefix: str = "pl") -> str:
    """Return ``node`` (anything of the IR, or a type) as text without a final newline."""
    if isinstance(node, Program):
        return _program(node, prefix)
    if isinstance(node, Function):
        return _function_alone(node, prefix)
    printer = _Printer(prefix, in_program=False)
    if isinstance(node, Stmt):
        printer.body(node, "")
        return "\n".join(printer.lines)
    write = _WRITERS.get(type(node))
    if write is not None:
        return write(printer, node)
    if isinstance(node, Expr):
        return printer.expr(node)
    if isinstance(node, Op):
        return node.name
    raise TypeError(f"nothing is known about printing a {type(node).__name__}")


class _Printer:
    """Prints one function (or statement, expression, type): the names and lines so far."""

    def __init__(self, prefix: str, *, in_program: bool) -> None:
        self.prefix = prefix
        self.in_program = in_program
        self.lines: list[str] = []
        self.names: dict[Var, str] = {}
        self.holders: dict[str, Var] = {}  # who has a name at this place of the text
        self.suffixes: dict[str, int] = {}  # the last one given
        self.free: dict[Var, str] = {}  # used and (so far) not defined
        self.callees: dict[str, None] = {}

    # ---------------------------------------------------------------------------- names

    def fresh(self, wanted: str) -> str:
        """Return ``wanted``, or a variation of it, that no variable has at this place."""
        name = wanted
        if not name.isidentifier():
            name = _NOT_IN_NAMES.sub("_", name)
            name = name if name.isidentifier() else f"_{name}"
        if self.usable(name):
            return name
        number = self.suffixes.get(name, 0) + 1
        while not self.usable(f"{name}_{number}"):
            number += 1
        self.suffixes[name] = number
        return f"{name}_{number}"

    def usable(self, name: str) -> bool:
        return name not in self.holders and name not in _RESERVED and name != self.prefix

    def define(self, var: Var) -> str:
        """Return the name of a variable that is defined here and known from here on."""
        name = self.names.get(var)
        if name is None:
            name = self.names[var] = self.fresh(var.name)
            self.holders[name] = var
        elif self.free:
            self.free.pop(var, None)
        return name

    def use(self, var: Var) -> str:
        name = self.names.get(var)
        if name is None:
            name = self.free[var] = self.define(var)
        return name

    def enter(self, counter: Var) -> str:
        """Name a loop variable; return its name, which `leave` sets free again."""
        name = self.names[counter] = self.fresh(counter.name)
        self.holders[name] = counter
        return name

    def leave(self, name: str) -> None:
        del self.holders[name]

    def carry(self, stmt: ForStmt | WhileStmt) -> None:
        """Name the results and iter_args of a loop, equally where they have one name.

        After the loop an iter_arg's name means its result, so nothing else gets that name.
        """
        for var in stmt.return_vars:
            self.define(var)
        last = _last(stmt.body)
        # A result that is declared in the body is known there by its name.
        declared = set(self.declared(stmt.return_vars, last) if isinstance(last, YieldStmt) else ())
        for index, arg in enumerate(stmt.iter_args):
            result = stmt.return_vars[index] if index < len(stmt.return_vars) else None
            if result is not None and result.name == arg.name and result not in declared:
                self.names[arg] = self.names[result]
            else:
                self.define(arg)

    # ---------------------------------------------------------------------------- types

    def type(self, kind: Type) -> str:
        return _WRITERS[kind.__class__](self, kind)

    def scalar_type(self, kind: ScalarType) -> str:
        return f"{self.prefix}.Scalar[{self.dtype(kind.dtype)}]"

    def tuple_type(self, kind: TupleType) -> str:
        return f"{self.prefix}.Tuple[[{', '.join([self.type(item) for item in kind.types])}]]"

    def memref_type(self, kind: MemRefType) -> str:
        return f"{self.prefix}.MemRefType"

    def unknown_type(self, kind: UnknownType) -> str:
        return f"{self.prefix}.UnknownType"

    def shaped_type(self, kind: ShapedType) -> str:
        dims = ", ".join([self.dim(dim) for dim in kind.shape])
        text = f"[[{dims}], {self.dtype(kind.dtype)}"
        if kind.memref is not None:
            text = f"{text}, {self.memref(kind.memref)}"
        if isinstance(kind, TileType):
            view = "" if kind.tile_view is None else f", {self.tile_view(kind.tile_view)}"
            return f"{self.prefix}.Tile{text}{view}]"
        assert isinstance(kind, TensorType)
        view = "" if kind.tensor_view is None else f", {self.tensor_view(kind.tensor_view)}"
        return f"{self.prefix}.Tensor{text}{view}]"

    def dim(self, dim: Expr) -> str:
        return str(dim.value) if isinstance(dim, ConstInt) else self.expr(dim)

    def dims(self, dims: Sequence[Expr]) -> str:
        return f"[{', '.join([self.dim(dim) for dim in dims])}]"

    def dtype(self, dtype: DataType) -> str:
        if dtype is DataType.FP64:  # the one member that is no public name of the language
            return f"{self.prefix}.DataType.FP64"
        return f"{self.prefix}.{dtype.member}"

    def memref(self, memref: MemRef) -> str:
        space = self.member(memref.memory_space_)
        address = self.expr(memref.addr_)
        return f"{self.prefix}.MemRef({space}, {address}, {memref.size_}, {memref.id_})"

    def tile_view(self, view: TileView) -> str:
        fields: list[str] = []
        if view.valid_shape:
            fields.append(f"valid_shape={self.dims(view.valid_shape)}")
        if view.stride:
            fields.append(f"stride={self.dims(view.stride)}")
        if view.start_offset is not None:
            fields.append(f"start_offset={self.dim(view.start_offset)}")
        for name in ("blayout", "slayout", "fractal", "pad"):
            value = getattr(view, name)
            if value != getattr(_VIEW_DEFAULTS, name):
                fields.append(f"{name}={self.value(value)}")
        return f"{self.prefix}.TileView({', '.join(fields)})"

    def tensor_view(self, view: TensorView) -> str:
        fields = [f"stride={self.dims(view.stride)}"] if view.stride else []
        if view.layout is not TensorLayout.ND:
            fields.append(f"layout={self.member(view.layout)}")
        return f"{self.prefix}.TensorView({', '.join(fields)})"

    # ---------------------------------------------------------------------- expressions

    def expr(self, node: Expr) -> str:
        return _WRITERS[node.__class__](self, node)

    def int(self, node: ConstInt) -> str:
        if node.type is _INT64:
            return str(node.value)
        dtype = node.dtype
        return str(node.value) if dtype is DataType.INT64 else self.const(node.value, dtype)

    def float(self, node: ConstFloat) -> str:
        if node.dtype is DataType.FP32 and math.isfinite(node.value):
            return repr(node.value)
        return self.const(node.value, node.dtype)

    def bool(self, node: ConstBool) -> str:
        return repr(node.value)

    def const(self, value: Any, dtype: DataType) -> str:
        text = repr(value)
        if isinstance(value, float) and not math.isfinite(value):
            text = f'float("{text}")'
        return f"{self.prefix}.const({text}, {self.dtype(dtype)})"

    def child(self, node: Expr, precedence: int) -> str:
        """Return ``node`` in parentheses if it binds weaker than ``precedence``."""
        text = self.expr(node)
        own = _PRECEDENCE.get(node.__class__, ATOM)
        if own is ATOM and text[0] == "-":
            own = SIGN
        return f"({text})" if own < precedence else text

    def infix(self, node: BinaryExpr) -> str:
        """Print the left operands in a loop: sums of thousands of terms are deep on that side."""
        chain = [node]
        while True:
            left = chain[-1].left
            if not isinstance(left, BinaryExpr) or left.__class__ not in _INFIX:
                break
            chain.append(left)
        text = ""
        below: int | None = None
        for link in reversed(chain):
            symbol, own, left_limit, right_limit = _INFIX[link.__class__]
            if below is None and isinstance(link.right, _CONSTANTS):
                text = self.explicit(link.left, left_limit)
            elif below is None:
                text = self.child(link.left, left_limit)
            elif below < left_limit:
                text = f"({text})"
            text = f"{text} {symbol} {self.child(link.right, right_limit)}"
            below = own
        return text

    def explicit(self, node: Expr, precedence: int = 0) -> str:
        """Return ``node`` as `child` does, or, where it is a constant, with its element type."""
        if isinstance(node, _CONSTANTS):
            return self.const(node.value, node.dtype)
        return self.child(node, precedence)

    def binary_call(self, node: BinaryExpr) -> str:
        alone = isinstance(node.right, _CONSTANTS)
        left = self.explicit(node.left) if alone else self.expr(node.left)
        return f"{node.symbol}({left}, {self.expr(node.right)})"

    def prefix_op(self, node: UnaryExpr) -> str:
        return f"{node.symbol}{self.explicit(node.operand, node.precedence)}"

    def abs(self, node: Abs) -> str:
        return f"abs({self.explicit(node.operand)})"

    def cast(self, node: Cast) -> str:
        return f"{self.prefix}.cast({self.explicit(node.operand)}, {self.dtype(node.dtype)})"

    def make_tuple(self, node: MakeTuple) -> str:
        return f"[{', '.join([self.expr(item) for item in node.elements])}]"

    def item(self, node: TupleGetItemExpr) -> str:
        return f"{self.expr(node.tuple)}[{node.index}]"

    def call(self, node: Call) -> str:
        op = node.op
        definition = op_of(node)
        if definition is not None and len(node.args) == len(definition.operands):
            return self.op_call(definition, node)
        parts = [self.expr(arg) for arg in node.args]
        parts += [f"{key}={self.value(value)}" for key, value in node.kwargs.items()]
        return f"{self.callee(op)}({', '.join(parts)})"

    def callee(self, op: Op) -> str:
        if isinstance(op, GlobalVar):
            self.callees[op.name] = None
            return f"self.{op.name}" if self.in_program else op.name
        if "." not in op.name:
            return op.name
        return f"{self.prefix}.{op.name}{'_' if op.name.split('.')[-1] in keyword.kwlist else ''}"

    def op_call(self, op: OpDef[..., Any], node: Call) -> str:
        args = iter(node.args)
        parts: list[str] = []
        mark = ""
        for param in op.params:
            if param.kind is not ATTR:
                text = self.operand(param, next(args), node)
                parts.append(f"{param.name}={text}" if mark else text)
                continue
            mark = "="
            if param.name in node.kwargs:
                parts.append(f"{param.name}={self.attribute(param, node.kwargs[param.name])}")
        declared = [param.name for param in op.params]
        for key, value in node.kwargs.items():
            if key not in declared:
                parts.append(f"{key}={self.value(value)}")
        return f"{self.prefix}.{op.level}.{op.python_name}({', '.join(parts)})"

    def operand(self, param: Param, arg: Expr, call: Call) -> str:
        if param.kind is not SCALAR or not isinstance(arg, ConstInt | ConstFloat):
            return self.expr(arg)
        element = _element_type(call)
        if element is None:
            return self.expr(arg)
        fits = arg.dtype is element and element.is_float() == isinstance(arg, ConstFloat)
        if fits and math.isfinite(arg.value):
            return repr(arg.value)
        return self.const(arg.value, arg.dtype)

    def attribute(self, param: Param, value: Any) -> str:
        kind = param.attr_type.removesuffix(" | None")
        if kind == "RoundMode" and value in _ROUND_NAMES:
            return f'"{_ROUND_NAMES[value]}"'
        if kind == "PipeType":
            return self.member(PipeType(value))
        if kind == "DataType" and isinstance(value, int) and value in BY_CODE:
            return self.dtype(BY_CODE[value])
        return self.value(value)

    def value(self, value: Any) -> str:
        """Return the text of a keyword's constant."""
        if isinstance(value, DataType):
            return self.dtype(value)
        if isinstance(value, Enum):
            return self.member(value)
        if isinstance(value, str):
            plain = value.isprintable() and '"' not in value and "\\" not in value
            return f'"{value}"' if plain else repr(value)
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, Node):
            return python_print(value, self.prefix)
        if isinstance(value, list | tuple):
            items = cast("Sequence[Any]", value)
            return f"[{', '.join([self.value(item) for item in items])}]"
        return repr(value)

    def member(self, member: Enum) -> str:
        return f"{self.prefix}.{type(member).__name__}.{member.name}"

    # ----------------------------------------------------------------------- statements

    def body(self, body: Stmt | None, pad: str, results: Sequence[Var] = ()) -> None:
        """Print the statements of a body; its last yield names ``results``."""
        stmts = statements(body)
        last = stmts[-1] if stmts else None
        if not results or not isinstance(last, YieldStmt):
            last = None
        for stmt in stmts if last is None else stmts[:-1]:
            _PRINTERS[stmt.__class__](self, stmt, pad)
        if last is not None:
            self.yield_into(results, last, pad)
        elif not stmts:
            self.lines.append(f"{pad}pass")
        if results and last is None:  # not valid, but a reader of the text should see it
            names = ", ".join([self.names[var] for var in results])
            self.lines.append(f"{pad}# no yield for: {names}")

    def yield_into(self, results: Sequence[Var], stmt: YieldStmt, pad: str) -> None:
        values = ", ".join([self.expr(value) for value in stmt.value])
        if len(results) == 1:
            target = self.annotated(results[0])
        else:
            for var in self.declared(results, stmt):
                self.lines.append(f"{pad}{self.annotated(var)}")
            target = ", ".join([self.names[var] for var in results])
        self.lines.append(f"{pad}{target} = {self.prefix}.yield_({values})")

    def annotated(self, var: Var) -> str:
        name = self.names[var]
        return name if isinstance(var.type, UnknownType) else f"{name}: {self.type(var.type)}"

    def assign(self, stmt: AssignStmt, pad: str) -> None:
        value = self.expr(stmt.value)
        var = stmt.var
        name = self.define(var)
        if isinstance(var.type, UnknownType):
            self.lines.append(f"{pad}{name} = {value}")
        else:
            self.lines.append(f"{pad}{name}: {self.type(var.type)} = {value}")

    def eval(self, stmt: EvalStmt, pad: str) -> None:
        self.lines.append(f"{pad}{self.expr(stmt.expr)}")

    def yield_(self, stmt: YieldStmt, pad: str) -> None:
        values = ", ".join([self.expr(value) for value in stmt.value])
        self.lines.append(f"{pad}{self.prefix}.yield_({values})")

    def return_(self, stmt: ReturnStmt, pad: str) -> None:
        values = ", ".join([self.expr(value) for value in stmt.value])
        self.lines.append(f"{pad}return {values}" if values else f"{pad}return")

    def break_(self, stmt: BreakStmt, pad: str) -> None:
        self.lines.append(f"{pad}break")

    def continue_(self, stmt: ContinueStmt, pad: str) -> None:
        self.lines.append(f"{pad}continue")

    def if_(self, stmt: IfStmt, pad: str) -> None:
        self.lines.append(f"{pad}if {self.expr(stmt.condition)}:")
        for var in stmt.return_vars:
            self.define(var)
        self.body(stmt.then_body, pad + _STEP, stmt.return_vars)
        if stmt.return_vars or statements(stmt.else_body):
            self.lines.append(f"{pad}else:")
            self.body(stmt.else_body, pad + _STEP, stmt.return_vars)

    def for_(self, stmt: ForStmt, pad: str) -> None:
        call = "parallel" if stmt.kind is ForKind.Parallel else "range"
        bounds = [self.expr(stmt.start), self.expr(stmt.stop), self.expr(stmt.step)]
        if stmt.iter_args:
            bounds.append(f"init_values={self.inits(stmt.iter_args)}")
        self.carry(stmt)
        counter = self.enter(stmt.loop_var)
        target = counter
        if stmt.iter_args:
            target = f"{counter}, {self.tuple_of(stmt.iter_args)}"
        source = f"{self.prefix}.{call}({', '.join(bounds)})"
        self.lines.append(f"{pad}for {target} in {source}:")
        self.iter_arg_types(stmt.iter_args, pad + _STEP)
        self.body(stmt.body, pad + _STEP, stmt.return_vars)
        self.leave(counter)

    def while_(self, stmt: WhileStmt, pad: str) -> None:
        if not stmt.iter_args:
            self.carry(stmt)
            self.lines.append(f"{pad}while {self.expr(stmt.condition)}:")
        else:
            inits = self.inits(stmt.iter_args)
            self.carry(stmt)
            target = self.tuple_of(stmt.iter_args)
            self.lines.append(f"{pad}for {target} in {self.prefix}.while_(init_values={inits}):")
            self.iter_arg_types(stmt.iter_args, pad + _STEP)
            condition = self.expr(stmt.condition)
            self.lines.append(f"{pad}{_STEP}{self.prefix}.cond({condition})")
        self.body(stmt.body, pad + _STEP, stmt.return_vars)

    def declared(self, results: Sequence[Var], stmt: YieldStmt) -> list[Var]:
        """Return those of several results whose types differ from what is yielded."""
        if len(results) == 1:
            return []
        pairs = zip(results, stmt.value, strict=False)
        return [var for var, value in pairs if not same_type(var.type, value.type)]

    def tuple_of(self, variables: Sequence[Var]) -> str:
        names = [self.names[var] for var in variables]
        return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"

    def inits(self, iter_args: Sequence[IterArg]) -> str:
        values = [self.expr(arg.initValue) for arg in iter_args]
        return f"({values[0]},)" if len(values) == 1 else f"({', '.join(values)})"

    def iter_arg_types(self, iter_args: Sequence[IterArg], pad: str) -> None:
        for arg in iter_args:
            if not same_type(arg.type, arg.initValue.type):
                self.lines.append(f"{pad}{self.annotated(arg)}")

    def scope(self, stmt: ScopeStmt, pad: str) -> None:
        self.lines.append(f"{pad}with {self.prefix}.{stmt.scope_kind.name.lower()}():")
        self.body(stmt.body, pad + _STEP)

    def sequence(self, stmt: Stmt, pad: str) -> None:
        self.body(stmt, pad)

    # ------------------------------------------------------------------------ functions

    def function(self, function: Function, pad: str) -> None:
        kind = function.func_type
        option = "" if kind is FunctionType.Opaque else f"(type={self.member(kind)})"
        self.lines.append(f"{pad}@{self.prefix}.function{option}")
        params = ["self"] if self.in_program else []
        for var in function.params:
            self.define(var)
        for var, direction in zip(function.params, function.param_directions, strict=True):
            text = self.type(var.type)
            if direction is not ParamDirection.In:
                text = f"{self.prefix}.{direction.name}[{text}]"
            params.append(f"{self.names[var]}: {text}")
        results = [self.type(kind) for kind in function.return_types]
        arrow = f" -> {results[0]}" if len(results) == 1 else ""
        if len(results) > 1:
            arrow = f" -> tuple[{', '.join(results)}]"
        self.lines.append(f"{pad}def {function.name}({', '.join(params)}){arrow}:")
        self.body(function.body, pad + _STEP)

    def symbols(self) -> list[str]:
        """Return the names of symbolic dimensions, in the order of their first use."""
        return [name for var, name in self.free.items() if _is_index(var.type)]


def _last(body: Stmt | None) -> Stmt | None:
    while isinstance(body, SeqStmts | OpStmts) and body.stmts:
        body = body.stmts[-1]
    return body


def _is_index(kind: Type) -> bool:
    return isinstance(kind, ScalarType) and kind.dtype is DataType.INT64


def _element_type(call: Call) -> DataType | None:
    """Return the element type that a bare number among the operands takes."""
    dtype = call.kwargs.get("dtype")
    if isinstance(dtype, DataType):
        return dtype
    for arg in call.args:
        if isinstance(arg.type, ShapedType):
            return arg.type.dtype
    return None


def _declarations(symbols: Iterable[str], prefix: str) -> list[str]:
    lines = [f'{name} = {prefix}.dynamic("{name}")' for name in dict.fromkeys(symbols)]
    return [*lines, ""] if lines else []


def _function_alone(function: Function, prefix: str) -> str:
    printer = _Printer(prefix, in_program=False)
    printer.function(function, "")
    return "\n".join([*_declarations(printer.symbols(), prefix), *printer.lines])


def _program(program: Program, prefix: str) -> str:
    printers: dict[str, _Printer] = {}
    for function in program.functions_:
        printers[function.name] = printer = _Printer(prefix, in_program=True)
        printer.function(function, _STEP)
    order = _callees_first({name: printer.callees for name, printer in printers.items()})
    name = program.name or "Program"
    lines = [f"# pypto.program: {name}"]
    if program.entry is not None:
        lines.append(f"# pypto.entry: {program.entry}")
    lines += [f"# pypto.attr: {key} = {_literal(value)}" for key, value in program.attrs.items()]
    plain = prefix == "pl"
    lines.append(
        "import pypto.language as pl" if plain else f"from pypto import language as {prefix}"
    )
    lines.append("")
    lines += _declarations((s for f in order for s in printers[f].symbols()), prefix)
    lines += [f"@{prefix}.program", f"class {_Printer('', in_program=True).fresh(name)}:"]
    for function_name in order:
        lines += printers[function_name].lines
    if not order:
        lines.append(f"{_STEP}pass")
    return "\n".join(lines)


def _callees_first(calls: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names of ``calls`` with callees before callers, in name order else."""
    done: dict[str, None] = {}
    seen: set[str] = set()
    for root in calls:
        stack = [(root, False)]
        while stack:
            name, leave = stack.pop()
            if leave:
                done[name] = None
            elif name not in seen:
                seen.add(name)
                stack.append((name, True))
                callees = sorted((c for c in calls[name] if c in calls), reverse=True)
                stack += [(callee, False) for callee in callees]
    return list(done)


def _literal(value: Any) -> str:
    """Return a Python literal for an attribute of a program; 1e999 reads as infinity."""
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value)
        return f"{{{', '.join([f'{k!r}: {_literal(v)}' for k, v in entries.items()])}}}"
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return f"[{', '.join([_literal(item) for item in items])}]"
    return repr(value)


_INT64: Final = ConstInt(0).type
_Infix: TypeAlias = tuple[str, int, int, int]


def _infix_row(cls: type[BinaryExpr]) -> _Infix:
    """Return symbol, own precedence, and what a left and a right operand need at least."""
    if cls is Xor:  # between BOOLs Python's ^ is the logical one
        return "^", BIT_XOR, BIT_XOR, BIT_XOR + 1
    own = cls.precedence
    left = own + 1 if own in (POWER, COMPARE) else own  # a < b < c would be a chain
    return cls.symbol, own, left, own if own == POWER else own + 1


_BINARY: Final = tuple(BinaryExpr.__subclasses__())
_INFIX: Final[dict[type, _Infix]] = {
    cls: _infix_row(cls) for cls in _BINARY if cls.precedence != CALL
}
_PRECEDENCE: Final[dict[type, int]] = {
    **{cls: cls.precedence for cls in UnaryExpr.__subclasses__()},
    **{cls: row[1] for cls, row in _INFIX.items()},
}

_P = _Printer
_WRITERS: Final[dict[type, Callable[[_Printer, Any], str]]] = {
    **{cls: (_P.binary_call if cls.precedence == CALL else _P.infix) for cls in _BINARY},
    **dict.fromkeys(UnaryExpr.__subclasses__(), _P.prefix_op),
    Abs: _P.abs,
    Cast: _P.cast,
    Var: _P.use,
    IterArg: _P.use,
    MemRef: _P.use,
    ConstInt: _P.int,
    ConstFloat: _P.float,
    ConstBool: _P.bool,
    MakeTuple: _P.make_tuple,
    TupleGetItemExpr: _P.item,
    Call: _P.call,
    ScalarType: _P.scalar_type,
    TensorType: _P.shaped_type,
    TileType: _P.shaped_type,
    TupleType: _P.tuple_type,
    MemRefType: _P.memref_type,
    UnknownType: _P.unknown_type,
    TensorView: _P.tensor_view,
    TileView: _P.tile_view,
}
_PRINTERS: Final[dict[type, Callable[[_Printer, Any, str], None]]] = {
    AssignStmt: _P.assign,
    EvalStmt: _P.eval,
    YieldStmt: _P.yield_,
    ReturnStmt: _P.return_,
    BreakStmt: _P.break_,
    ContinueStmt: _P.continue_,
    IfStmt: _P.if_,
    ForStmt: _P.for_,
    WhileStmt: _P.while_,
    ScopeStmt: _P.scope,
    SeqStmts: _P.sequence,
    OpStmts: _P.sequence,
}

Node.printer = staticmethod(python_print)
