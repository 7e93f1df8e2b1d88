"""The printer: any node or type as Python text that is read back as what was printed.

Owns the grammar of the text. Knows no op by name; what a call looks like follows from its
`OpDef`. ``ir.parse(print(x))`` is structurally equal to ``x`` for every program, function and type,
valid or not, and printing that gives the same text again (free variables may correspond to
others). The plain part of the grammar, which every program that verifies keeps to but for the
types of some calls, is source of the language as well. Below ``pl`` stands for the prefix.

Types
    ``pl.Scalar[pl.INT64]``; ``pl.Tensor[[64, n], pl.FP32]``; ``pl.Tile[[64, 64], pl.FP16]``;
    ``pl.Tuple[[T, U]]``; ``pl.MemRefType``; ``pl.UnknownType``. After the element type of a
    tensor or tile stand, in this order and only where the type has them:
    ``pl.MemRef(pl.MemorySpace.Vec, ADDR, SIZE, ID)``, ``pl.TensorView(stride=[...],
    layout=pl.TensorLayout.DN)`` or ``pl.TileView(valid_shape=[...], stride=[...],
    start_offset=E, blayout=pl.TileLayout.col_major, slayout=..., fractal=1024,
    pad=pl.TilePad.zero)``. Fields of a view that have their default are left out. MemRefs of one
    function with equal parts are one object. ``FP64`` is ``pl.DataType.FP64``.
Names
    Distinct variables have distinct names wherever both could be meant; a later one gets
    ``_1``, ``_2``, ... A loop variable is always new and known in its loop only, and so is an
    iter_arg; but after the loop its name means the loop's result, so no other variable has that
    name. The two may be called alike: ``for i, (s,) in ...: s = pl.yield_(s)``.
    What a function uses before it defines it stands above the function or class: a symbolic
    dimension, which is an INT64, as ``n = pl.dynamic("n")``, any other as ``x: TYPE``. A dimension
    may be a parameter that stands later in the signature.
    Where a variable is an IterArg or a MemRef outside of its usual place,
    ``pl.IterArg(TYPE, INIT)`` or ``pl.MemRef(...)`` stands for its type; a MemRef that is used as
    a value is written out.
Constants
    A bare int is INT64 and a bare float FP32, but directly as Scalar operand of an op, where it
    takes the ``dtype`` keyword or the element type of the first tensor or tile operand, and in
    shapes. All others are ``pl.const(VALUE, pl.INT32)``, also where a bare number would stand
    beside a scalar of another type. A minus sign before a number is part of the number. An
    operator on constants alone keeps being one: its first operand is written with ``pl.const``,
    also a BOOL.
    Floats have their shortest exact text; ``pl.const(float("inf"), pl.FP32)``, ``"-inf"`` and
    ``"nan"`` are the others. Booleans are ``True`` and ``False``.
Expressions
    Python operators with Python's precedence. ``and or not`` are And, Or, Not; ``^`` is Xor
    between BOOLs and BitXor otherwise; ``~`` is BitNot. ``min(a, b)``, ``max(a, b)``,
    ``abs(x)``, ``pl.cast(x, pl.FP16)``; ``[a, b]`` makes a tuple, ``t[0]`` reads one. Casts are
    always written; reading the text never has to add one. An operation has the type of its
    (left) operand, a comparison or logical one is BOOL.
Calls
    ``pl.block.and_(...)``: level and Python name. Operands are positional up to the first
    attribute of the op's signature; then come the attributes, in the order of the call's, and
    then operands by keyword: ``pl.block.full([64, 64], dtype=pl.FP32, value=0.0)``. Rounding modes
    are words (``mode="rint"``), pipes ``pl.PipeType.V``, spaces ``pl.MemorySpace.Vec``. Functions
    of the program are called as ``self.f(a)``, by a function printed alone as ``f(a)``; ops that
    nobody registered as ``pl.my.op(a)`` or ``foo(a)``.
    The value of a variable has the variable's type; any other call of an op has the type that the
    op's rule gives, and one of a function the function's results where they name no variable.
Statements
    ``v: TYPE = EXPR``; the annotation *is* the variable's type, and is missing only for calls that
    are not understood and have no type. ``return a, b``; ``pl.yield_(a, b)``; ``break``;
    ``continue``; ``with pl.incore():``; ``pass`` in an empty body.
    ``for i in pl.range(start, stop, step):`` (``pl.parallel``), with
    iter_args ``for i, (a,) in pl.range(start, stop, step, init_values=(x,)):``. ``while c:``, with
    iter_args ``for (a,) in pl.while_(init_values=(x,)):`` and first in its body ``pl.cond(c)``.
    The last yield of a loop body or branch names the results: ``q: TYPE = pl.yield_(x)``, or
    ``q, r = pl.yield_(x, y)``. An iter_arg has the type of its init value, and one of several
    results that of the yielded value; where not, ``q: TYPE`` without value stands first in the
    loop body, or directly before the yield (a result declared so shares no name with an
    iter_arg); so does a loop variable that is no INT64 or is known outside of the loop. Sequences
    in sequences print as one. An empty else is not printed.
Functions and programs
    ``@pl.function`` or ``@pl.function(type=pl.FunctionType.InCore)``, parameters
    ``q: pl.Out[T]``, ``r: pl.InOut[T]``; ``-> T``, ``-> tuple[T, U]`` for several result types, no
    arrow for none. A program starts with ``# pypto.program: NAME``, ``# pypto.entry: FUNCTION``
    and ``# pypto.attr: KEY = LITERAL`` for each attribute; functions stand before their callers.
    Names in these lines are quoted where they are odd, an attribute is then ``{KEY: LITERAL}``.
    A function whose name is no Python name has it in ``@pl.function(name="...")``, and is called
    as ``self["..."](a)``.
Exact forms, which only IR text has
    ``pl.typed(EXPR, TYPE)``: an operation, call or constant with a type that its parts do not give.
    ``v: TYPE = CALL  # untyped``: a call without a type, assigned to a variable that has one.
    ``pl.call("block.add", a, k=1)``: a call with nothing understood: of an op whose name is no
    Python name, or that lacks operands or attributes of a registered one (missing attributes are
    never filled in). ``pl.logical_xor(a, b)`` and ``pl.bit_xor(a, b)``, where ``^`` means the
    other. ``q, r = pl.results()`` at the end of a body: the results, where no yield names them.
    Keywords that the op does not declare, or that are no names: ``**{"x y": 1}``;
    their values are Python constants, members, types, and ``pl.expr(EXPR)``;
    ``str("rint")`` is a text where a word would be a rounding mode.

An expression or statement printed alone is for people only: it is in no exact form, and
``# no yield for: q`` stands where results have no yield.
"""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import TextError
from pypto._src.ir.base import Node
from pypto._src.ir.enums import ForKind, FunctionType, ParamDirection, PipeType, TensorLayout
from pypto._src.ir.nodes import (
    ATOM,
    BIT_XOR,
    CALL,
    COMPARE,
    COMPARISONS,
    LOGICAL,
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
    Not,
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
    exprs_of_type,
    same_type,
    scalar_type,
)
from pypto._src.ir.opdef import (
    ATTR,
    ROUND_MODES,
    SCALAR,
    OpDef,
    Operands,
    Param,
    space_of_number,
)
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

NO_FUNCTIONS: Final = frozenset({"abs", "float", "max", "min", "str", "tuple"})
"""Names that mean something else when they are called."""

UNTYPED: Final = "  # untyped"
"""Stands after an assigned call that has no type though its variable has one."""

LEVELS: Final = ("block", "tensor", "system")
"""What stands before the dot in the names of registered ops."""


def python_print(node: Node, prefix: str = "pl") -> str:
    """Return ``node`` (anything of the IR, or a type) as text without a final newline.

    Raises:
        TextError: it nests deeper than Python calls may; CPython's parser stops far earlier.
    """
    try:
        return _printed(node, prefix)
    except RecursionError:
        raise TextError(
            f"this {type(node).__name__} nests too deeply to be printed",
            hint="print a part of it, or look at ir.dump_tree(node)",
            slug="too-deep",
        ) from None


def _printed(node: Node, prefix: str) -> str:
    if isinstance(node, Program):
        return _program(node, prefix)
    if isinstance(node, Function):
        return _function_alone(node, prefix)
    printer = _Printer(prefix, exact=not isinstance(node, Expr | Stmt))
    if isinstance(node, Stmt):
        printer.body(node, "")
        return "\n".join(printer.lines)
    if isinstance(node, Op | MemRef):
        return node.name
    write = _WRITERS.get(type(node))
    if write is not None:
        return write(printer, node)
    if isinstance(node, Expr):
        return printer.expr(node)
    raise TypeError(f"nothing is known about printing a {type(node).__name__}")


class _Whole:
    """What the functions of one text share: signatures, and the names declared above them."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self.results = {f.name: f.return_types for f in functions}
        self.declared: dict[str, str] = {}
        self.defs: dict[str, str] = {}  # names after `def`, by names of functions
        taken: set[str] = set()
        for function in sorted(functions, key=lambda f: not is_plain_name(f.name)):
            name = _identifier(function.name)
            number = 0
            while name in taken or keyword.iskeyword(name):
                number += 1
                name = f"{_identifier(function.name)}_{number}"
            taken.add(name)
            self.defs[function.name] = name

    def deduced(self, callee: str) -> Type | None:
        """Return the type of a call of a function, where that names no symbolic dimension."""
        results = self.results.get(callee)
        return None if results is None else value_type(results)


class _Results:
    """The variables that take what a body yields, while that body is printed."""

    def __init__(self, variables: Sequence[Var], *, carries: bool = False) -> None:
        self.variables = variables
        self.carries = carries  # the statement has iter_args
        self.names: dict[Var, str] = {}  # of those that nothing has named yet
        self.args: set[Var] = set()  # loop variable and iter_args that only the loop knows

    def fit(self, last: Stmt | None) -> bool:
        """True if a yield that ends the body can name the variables."""
        count = len(self.variables)
        return count > 0 and isinstance(last, YieldStmt) and len(last.value) == count


class _Printer:
    """Prints one function (or statement, expression, type): the names and lines so far."""

    def __init__(self, prefix: str, whole: _Whole | None = None, *, exact: bool = True) -> None:
        self.prefix = prefix
        self.exact = exact  # False for what is only looked at: expressions and statements alone
        self.whole = whole
        self.in_program = whole is not None
        self.lines: list[str] = []
        self.names: dict[Var, str] = {}
        self.holders: dict[str, Var] = {}  # who has a name at this place of the text
        self.suffixes: dict[str, int] = {}  # the last one given
        self.expected: dict[Var, str] = {}  # results of statements being printed
        self.free: dict[str, str] = {}  # declarations of what is used before any definition
        self.declared: dict[str, str] = {} if whole is None else whole.declared
        self.callees: dict[str, None] = {}
        self.type_texts: dict[int, str] = {}  # of types without names, by id
        self.return_types: Sequence[Type] = ()

    # ---------------------------------------------------------------------------- names

    def fresh(self, wanted: str) -> str:
        """Return ``wanted``, or a variation of it, that no variable has at this place."""
        name = wanted if wanted.isidentifier() and wanted.isascii() else _identifier(wanted)
        if self.usable(name):
            return name
        number = self.suffixes.get(name, 0) + 1
        while not self.usable(f"{name}_{number}"):
            number += 1
        self.suffixes[name] = number
        return f"{name}_{number}"

    def usable(self, name: str) -> bool:
        return name not in self.holders and name not in _RESERVED and name != self.prefix

    def reserve(self, var: Var) -> str:
        """Return a name that only ``var`` gets."""
        name = self.expected.pop(var, None)
        if name is not None:
            return name
        name = self.fresh(var.name)
        self.holders[name] = var
        return name

    def define(self, var: Var) -> str:
        """Return the name of a variable that is defined here and known from here on."""
        name = self.names.get(var)
        if name is None:
            name = self.names[var] = self.reserve(var)
        return name

    def use(self, var: Var) -> str:
        name = self.names.get(var)
        return self.declare(var) if name is None else name

    def declare(self, var: Var) -> str:
        """Return the name of a variable that nothing has defined so far.

        It stands above the function. Functions of a program that declare alike share the name.
        """
        kind = self.definition(var)
        if var.__class__ is MemRef:
            return kind
        while True:
            name = self.reserve(var)
            text = f"{name}: {kind}"
            if var.__class__ is Var and _is_index(var.type):
                text = f'{name} = {self.prefix}.dynamic("{name}")'
            if self.declared.setdefault(name, text) == text:
                break
        self.names[var] = name
        self.free[name] = text
        return name

    def definition(self, var: Var) -> str:
        """Return what stands after the colon where a variable is defined."""
        if isinstance(var, MemRef):
            return self.memref(var)
        kind = self.type(var.type)
        if isinstance(var, IterArg):
            return f"{self.prefix}.IterArg({kind}, {self.explicit(var.initValue)})"
        return kind

    def enter(self, counter: Var) -> str:
        """Name a loop variable that nothing outside of the loop knows."""
        name = self.names[counter] = self.fresh(counter.name)
        self.holders[name] = counter
        return name

    def leave(self, counter: Var, name: str) -> None:
        """Set the name of a loop variable free again."""
        del self.holders[name]
        if self.names.get(counter) == name:
            del self.names[counter]

    def carry(self, stmt: ForStmt | WhileStmt) -> _Results:
        """Name the results and iter_args of a loop, equally where they have one name.

        After the loop an iter_arg's name means its result, so nothing else gets that name.
        """
        results = _Results(stmt.return_vars, carries=bool(stmt.iter_args))
        last = _last(stmt.body)
        # A result that is declared in the body is known there by its name.
        named = results.fit(last)
        declared = set(stmt.return_vars)  # names that mean nothing else in the body
        if named and isinstance(last, YieldStmt):
            declared = set(self.declared_results(results, last)).union(stmt.iter_args)
        self.expect(results)
        for index, arg in enumerate(stmt.iter_args):
            if arg in self.names:  # known outside as well
                continue
            result = stmt.return_vars[index] if index < len(stmt.return_vars) else None
            results.args.add(arg)
            name = None if result is None else results.names.get(result)
            if name is None or result is None or result.name != arg.name or result in declared:
                name = self.fresh(arg.name)
                self.holders[name] = arg
            else:
                del self.expected[result]  # inside of the loop its name means the iter_arg
            self.names[arg] = name
        return results

    def expect(self, results: _Results) -> None:
        """Reserve names for the results; they are known when the body has been printed."""
        for var in results.variables:
            if var not in self.names and var not in results.names:
                results.names[var] = self.reserve(var)
                self.expected[var] = results.names[var]

    def settle(self, results: _Results) -> None:
        """Make the results known, and forget the iter_args."""
        for arg in results.args:
            self.names.pop(arg, None)
        results.args.clear()
        for var, name in results.names.items():
            self.expected.pop(var, None)
            if var not in self.names:
                self.names[var] = name
        results.names.clear()

    # ---------------------------------------------------------------------------- types

    def type(self, kind: Type) -> str:
        text = self.type_texts.get(id(kind))  # the type lives as long as the node printed
        if text is None:
            text = _WRITERS[kind.__class__](self, kind)
            if is_closed(kind):
                self.type_texts[id(kind)] = text
        return text

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
        if node.type is _INT64 or node.dtype is DataType.INT64:
            return str(node.value)
        return self.const(node)

    def float(self, node: ConstFloat) -> str:
        if node.dtype is DataType.FP32 and math.isfinite(node.value):
            return repr(node.value)
        return self.const(node)

    def bool(self, node: ConstBool) -> str:
        return repr(node.value)

    def const(self, node: ConstInt | ConstFloat | ConstBool) -> str:
        """Return a constant with its element type."""
        text = self.value(node.value)
        other_kind = node.dtype.is_float() != isinstance(node, ConstFloat)
        if other_kind and self.exact:
            return self.typed(text, node.type)
        return f"{self.prefix}.const({text}, {self.dtype(node.dtype)})"

    def typed(self, text: str, kind: Type) -> str:
        """Return an expression with a type that its parts do not give."""
        if not self.exact:
            return text
        return f"{self.prefix}.typed({text}, {self.type(kind)})"

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
            symbol, own, left_limit, right_limit, gives_bool = _INFIX[link.__class__]
            left, right = link.left, link.right
            # A number beside a scalar has that one's type when it is read, or is not bare.
            mixed = left.type is not right.type and not same_type(left.type, right.type)
            if below is None and (mixed or isinstance(right, _CONSTANTS)):
                text = self.explicit(left, left_limit)
            elif below is None:
                text = self.child(left, left_limit)
            elif below < left_limit:
                text = f"({text})"
            other = self.explicit(right, right_limit) if mixed else self.child(right, right_limit)
            below = own
            logical = link.__class__ is Xor
            if own == BIT_XOR and logical != (_is_truth(left) and _is_truth(right)):
                name = "logical_xor" if logical else "bit_xor"
                text, below = f"{self.prefix}.{name}({text}, {other})", ATOM
            else:
                text = f"{text} {symbol} {other}"
            kind = _BOOL if gives_bool else left.type
            if link.type is not kind and not same_type(link.type, kind):
                text, below = self.typed(text, link.type), ATOM
        return text

    def explicit(self, node: Expr, precedence: int = 0) -> str:
        """Return ``node`` as `child` does, or, where it is a constant, with its element type."""
        if isinstance(node, _CONSTANTS):
            return self.const(node)
        return self.child(node, precedence)

    def binary_call(self, node: BinaryExpr) -> str:
        left, right = node.left, node.right
        mixed = not same_type(left.type, right.type)
        alone = mixed or isinstance(right, _CONSTANTS)
        first = self.explicit(left) if alone else self.expr(left)
        second = self.explicit(right) if mixed else self.expr(right)
        return self.checked(f"{node.symbol}({first}, {second})", node, left.type)

    def checked(self, text: str, node: Expr, kind: Type) -> str:
        """Return the text of ``node``, whose type is read as ``kind``."""
        return text if same_type(node.type, kind) else self.typed(text, node.type)

    def prefix_op(self, node: UnaryExpr) -> str:
        text = f"{node.symbol}{self.explicit(node.operand, node.precedence)}"
        return self.checked(text, node, _BOOL if isinstance(node, Not) else node.operand.type)

    def abs(self, node: Abs) -> str:
        return self.checked(f"abs({self.explicit(node.operand)})", node, node.operand.type)

    def cast(self, node: Cast) -> str:
        text = f"{self.prefix}.cast({self.explicit(node.operand)}, {self.dtype(node.dtype)})"
        # Of a tile or tensor, the name alone means an op.
        return text if isinstance(node.operand.type, ScalarType) else self.typed(text, node.type)

    def make_tuple(self, node: MakeTuple) -> str:
        return f"[{', '.join([self.expr(item) for item in node.elements])}]"

    def item(self, node: TupleGetItemExpr) -> str:
        return f"{self.child(node.tuple, ATOM)}[{node.index}]"

    # ----------------------------------------------------------------------------- calls

    def nested_call(self, node: Call) -> str:
        """Return a call whose type no annotation tells."""
        text = self.call(node)
        kind = self.deduced(node)
        if kind is not None and (node.type is kind or same_type(node.type, kind)):
            return text
        return self.typed(text, node.type)

    def deduced(self, node: Call) -> Type | None:
        """Return the type that a reader gives to a call which nothing says the type of."""
        op = node.op
        found: Type | None = None
        if isinstance(op, OpDef):
            if _regular(node):
                form = cast("OpDef[..., Any]", op).written(len(node.args))
                return deduced_type(form, node.args, node.kwargs)
        elif isinstance(op, GlobalVar) and self.whole is not None:
            found = self.whole.deduced(op.name)
        return UnknownType.get() if found is None else found

    def call(self, node: Call) -> str:
        op = node.op
        if isinstance(op, OpDef):
            definition = cast("OpDef[..., Any]", op).written(len(node.args))
            return self.op_call(definition, node) if _regular(node) else self.exact_call(node)
        if isinstance(op, GlobalVar):
            return self.function_call(op, node)
        parts = op.name.split(".")
        last = parts[-1]
        if not all(map(is_plain_name, [*parts[:-1], last if len(parts) == 1 else f"{last}_"])):
            return self.exact_call(node)
        if parts[0] in LEVELS or (last[-1] == "_" and keyword.iskeyword(last[:-1])):
            return self.exact_call(node)
        if len(parts) == 1:
            reserved = op.name in NO_FUNCTIONS or op.name == self.prefix
            return self.exact_call(node) if reserved else f"{op.name}({self.arguments(node)})"
        mark = "_" if keyword.iskeyword(last) else ""
        return f"{self.prefix}.{op.name}{mark}({self.arguments(node)})"

    def exact_call(self, node: Call) -> str:
        """Return a call by the op's whole name, with nothing understood."""
        arguments = self.arguments(node)
        name = self.value(node.op.name)
        return f"{self.prefix}.call({f'{name}, {arguments}' if arguments else name})"

    def function_call(self, op: GlobalVar, node: Call) -> str:
        self.callees[op.name] = None
        name = op.name
        means_else = not self.in_program and (name in NO_FUNCTIONS or name == self.prefix)
        if node.kwargs or means_else or not is_plain_name(name):
            callee = f"self[{self.value(name)}]"
        else:
            callee = f"self.{name}" if self.in_program else name
        return f"{callee}({self.arguments(node)})"

    def arguments(self, node: Call) -> str:
        parts = [self.expr(arg) for arg in node.args]
        return ", ".join([*parts, *[self.keyword(k, v) for k, v in node.kwargs.items()]])

    def keyword(self, key: Any, value: Any) -> str:
        if isinstance(key, str) and is_plain_name(key):
            return f"{key}={self.value(value)}"
        return f"**{{{self.value(key)}: {self.value(value)}}}"

    def op_call(self, op: OpDef[..., Any], node: Call) -> str:
        """Return a call with all its attributes: operands by position up to the first of them."""
        args, kwargs = iter(node.args), node.kwargs
        parts: list[str] = []
        words: list[str] = []
        declared: dict[str, Param] = {}
        for param in op.params:
            if param.kind is ATTR:
                declared[param.name] = param
            elif declared:
                words.append(f"{param.name}={self.operand(param, next(args), node)}")
            else:
                parts.append(self.operand(param, next(args), node))
        for key, value in kwargs.items():
            param = declared.get(key)
            if param is None:
                parts.append(f"**{{{self.value(key)}: {self.value(value)}}}")
            else:
                parts.append(f"{key}={self.attribute(param, value)}")
        name = op.python_name if op.base is None else op.base.python_name
        return f"{self.prefix}.{op.level}.{name}({', '.join([*parts, *words])})"

    def operand(self, param: Param, arg: Expr, call: Call) -> str:
        if param.kind is not SCALAR or not isinstance(arg, ConstInt | ConstFloat):
            return self.expr(arg)
        space = space_of_number(param, arg)
        if space is not None:
            return self.value(space)
        element = element_type(call.args, call.kwargs)
        if element is None:
            return self.expr(arg)
        fits = arg.dtype is element and element.is_float() == isinstance(arg, ConstFloat)
        if fits and math.isfinite(arg.value):
            return repr(arg.value)
        return self.const(arg)

    def attribute(self, param: Param, value: Any) -> str:
        kind = param.attr_type.removesuffix(" | None")
        if kind == "RoundMode":
            if type(value) is int and value in _ROUND_NAMES:
                return f'"{_ROUND_NAMES[value]}"'
            if isinstance(value, str):
                return f"str({self.value(value)})"
        if kind == "PipeType" and type(value) is int and value in _PIPES:
            return self.member(PipeType(value))
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
        if isinstance(value, MemRef):
            return self.memref(value)
        if isinstance(value, Expr):
            return f"{self.prefix}.expr({self.expr(value)})"
        if isinstance(value, Node) and value.__class__ in _WRITERS:
            return _WRITERS[value.__class__](self, value)
        if isinstance(value, list):
            items = cast("Sequence[Any]", value)
            return f"[{', '.join([self.value(item) for item in items])}]"
        if isinstance(value, tuple):
            items = cast("Sequence[Any]", value)
            comma = "," if len(items) == 1 else ""
            return f"({', '.join([self.value(item) for item in items])}{comma})"
        if isinstance(value, Mapping):
            entries = cast("Mapping[Any, Any]", value)
            texts = [f"{self.value(k)}: {self.value(v)}" for k, v in entries.items()]
            return f"{{{', '.join(texts)}}}"
        return repr(value)

    def literal(self, value: Any) -> str:
        """Return an attribute of a program, as far as it can a Python literal; 1e999 is inf."""
        if isinstance(value, float) and math.isinf(value):
            return "1e999" if value > 0 else "-1e999"
        if isinstance(value, Mapping):
            entries = cast("Mapping[Any, Any]", value)
            texts = [f"{self.literal(k)}: {self.literal(v)}" for k, v in entries.items()]
            return f"{{{', '.join(texts)}}}"
        if isinstance(value, list):
            items = cast("Sequence[Any]", value)
            return f"[{', '.join([self.literal(item) for item in items])}]"
        return repr(value) if isinstance(value, str) else self.value(value)

    def member(self, member: Enum) -> str:
        return f"{self.prefix}.{type(member).__name__}.{member.name}"

    # ----------------------------------------------------------------------- statements

    def body(self, body: Stmt | None, pad: str, results: _Results | None = None) -> None:
        """Print the statements of a body; its last yield names ``results``."""
        stmts = statements(body)
        last = stmts[-1] if stmts else None
        names_results = results is not None and results.fit(last)
        for stmt in stmts[:-1] if names_results else stmts:
            _PRINTERS[stmt.__class__](self, stmt, pad)
        if results is not None:
            if names_results and isinstance(last, YieldStmt):
                self.yield_into(results, last, pad)
                return
            unnamed = self.exact and results.carries and isinstance(last, YieldStmt)
            if not stmts and not self.exact:
                self.lines.append(f"{pad}pass")
            if results.variables or unnamed:
                self.name_results(results, pad)
                return
            self.settle(results)
        if not stmts:
            self.lines.append(f"{pad}pass")

    def yield_into(self, results: _Results, stmt: YieldStmt, pad: str) -> None:
        """Print a yield that names the results. Their types are known inside of the body."""
        values = ", ".join([self.expr(value) for value in stmt.value])
        variables = results.variables
        if len(variables) == 1:
            kind = self.annotation(variables[0], results)
            self.settle(results)
            target = f"{self.names[variables[0]]}: {kind}"
        else:
            declared = self.declared_results(results, stmt)
            kinds = [self.annotation(var, results) for var in declared]
            self.settle(results)
            for var, kind in zip(declared, kinds, strict=True):
                self.lines.append(f"{pad}{self.names[var]}: {kind}")
            target = ", ".join([self.names[var] for var in variables])
        self.lines.append(f"{pad}{target} = {self.prefix}.yield_({values})")

    def annotation(self, var: Var, results: _Results) -> str:
        """Return what stands after the colon where a result is named."""
        known = var in self.names and var not in results.args
        return self.type(var.type) if known else self.definition(var)

    def name_results(self, results: _Results, pad: str) -> None:
        """Print which variables take results that no yield gives."""
        if not self.exact:
            self.settle(results)
            names = ", ".join([self.names[var] for var in results.variables])
            self.lines.append(f"{pad}# no yield for: {names}")
            return
        new = [var for var in results.names if var not in self.names or var in results.args]
        kinds = [(var, self.definition(var)) for var in new]
        self.settle(results)
        self.lines += [f"{pad}{self.names[var]}: {kind}" for var, kind in kinds]
        names = [self.names[var] for var in results.variables]
        comma = "," if len(names) == 1 else ""
        target = f"{', '.join(names)}{comma} = " if names else ""
        self.lines.append(f"{pad}{target}{self.prefix}.results()")

    def assign(self, stmt: AssignStmt, pad: str) -> None:
        value, var = stmt.value, stmt.var
        kind = var.type
        if value.__class__ is Call:
            text = self.call(value)  # pyright: ignore[reportArgumentType]
            if value.type is not kind and not same_type(value.type, kind):
                unknown = value.type.__class__ is UnknownType
                text = f"{text}{UNTYPED}" if unknown else self.typed(text, value.type)
        elif isinstance(value, _CONSTANTS) and not same_type(value.type, kind):
            text = self.const(value)
        else:
            text = self.expr(value)
        name = self.names.get(var)
        if name is not None:
            self.lines.append(f"{pad}{name}: {self.type(kind)} = {text}")
        elif var.__class__ is Var and kind.__class__ is UnknownType and _is_bare(value):
            self.lines.append(f"{pad}{self.define(var)} = {text}")
        else:
            after = self.type(kind) if var.__class__ is Var else self.definition(var)
            self.lines.append(f"{pad}{self.define(var)}: {after} = {text}")

    def eval(self, stmt: EvalStmt, pad: str) -> None:
        self.lines.append(f"{pad}{self.expr(stmt.expr)}")

    def yield_(self, stmt: YieldStmt, pad: str) -> None:
        values = ", ".join([self.expr(value) for value in stmt.value])
        self.lines.append(f"{pad}{self.prefix}.yield_({values})")

    def return_(self, stmt: ReturnStmt, pad: str) -> None:
        values = [self.expr(value) for value in stmt.value]
        for index, (value, kind) in enumerate(zip(stmt.value, self.return_types, strict=False)):
            if isinstance(value, _CONSTANTS) and not same_type(value.type, kind):
                values[index] = self.const(value)
        self.lines.append(f"{pad}return {', '.join(values)}" if values else f"{pad}return")

    def break_(self, stmt: BreakStmt, pad: str) -> None:
        self.lines.append(f"{pad}break")

    def continue_(self, stmt: ContinueStmt, pad: str) -> None:
        self.lines.append(f"{pad}continue")

    def if_(self, stmt: IfStmt, pad: str) -> None:
        self.lines.append(f"{pad}if {self.expr(stmt.condition)}:")
        then = orelse = None
        if stmt.return_vars:
            results = _Results(stmt.return_vars)
            self.expect(results)
            orelse = results if results.fit(_last(stmt.else_body)) else None
            # Where no branch can name the results in its yield, they stand in the first.
            then = results if orelse is None or results.fit(_last(stmt.then_body)) else None
            if not self.exact:
                then = orelse = results
        self.body(stmt.then_body, pad + _STEP, then)
        if statements(stmt.else_body) or (stmt.return_vars and not self.exact):
            self.lines.append(f"{pad}else:")
            self.body(stmt.else_body, pad + _STEP, orelse)

    def for_(self, stmt: ForStmt, pad: str) -> None:
        call = "parallel" if stmt.kind is ForKind.Parallel else "range"
        bounds = [self.expr(stmt.start), self.expr(stmt.stop), self.expr(stmt.step)]
        if stmt.iter_args:
            bounds.append(f"init_values={self.inits(stmt.iter_args)}")
        known = [var for var in (stmt.loop_var, *stmt.iter_args) if var in self.names]
        results = self.carry(stmt) if stmt.iter_args or stmt.return_vars else None
        own = stmt.loop_var not in self.names
        counter = self.enter(stmt.loop_var) if own else self.names[stmt.loop_var]
        if own and results is not None:
            results.args.add(stmt.loop_var)
        target = counter
        if stmt.iter_args:
            target = f"{counter}, {self.tuple_of(stmt.iter_args)}"
        source = f"{self.prefix}.{call}({', '.join(bounds)})"
        self.lines.append(f"{pad}for {target} in {source}:")
        if not own or not _is_index(stmt.loop_var.type) or stmt.loop_var.__class__ is not Var:
            self.lines.append(f"{pad}{_STEP}{counter}: {self.definition(stmt.loop_var)}")
        self.iter_arg_types(stmt.iter_args, pad + _STEP, known)
        self.body(stmt.body, pad + _STEP, results)
        if own:
            self.leave(stmt.loop_var, counter)

    def while_(self, stmt: WhileStmt, pad: str) -> None:
        if not stmt.iter_args:
            self.lines.append(f"{pad}while {self.expr(stmt.condition)}:")
            self.body(stmt.body, pad + _STEP, self.carry(stmt) if stmt.return_vars else None)
            return
        inits = self.inits(stmt.iter_args)
        known = [var for var in stmt.iter_args if var in self.names]
        results = self.carry(stmt)
        target = self.tuple_of(stmt.iter_args)
        self.lines.append(f"{pad}for {target} in {self.prefix}.while_(init_values={inits}):")
        self.iter_arg_types(stmt.iter_args, pad + _STEP, known)
        self.lines.append(f"{pad}{_STEP}{self.prefix}.cond({self.expr(stmt.condition)})")
        self.body(stmt.body, pad + _STEP, results)

    def declared_results(self, results: _Results, stmt: YieldStmt) -> list[Var]:
        """Return those of several results whose types differ from what is yielded."""
        if len(results.variables) == 1:
            return []
        odd: dict[Var, None] = {}
        for var, value in zip(results.variables, stmt.value, strict=False):
            known = var in self.names and var not in results.args
            if not known and (var.__class__ is not Var or not same_type(var.type, value.type)):
                odd[var] = None
        return list(odd)

    def tuple_of(self, variables: Sequence[Var]) -> str:
        names = [self.names[var] for var in variables]
        return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"

    def inits(self, iter_args: Sequence[IterArg]) -> str:
        values = [self.expr(arg.initValue) for arg in iter_args]
        return f"({values[0]},)" if len(values) == 1 else f"({', '.join(values)})"

    def iter_arg_types(self, iter_args: Sequence[IterArg], pad: str, known: Sequence[Var]) -> None:
        """Print the types that the init values do not tell, and those of args known outside."""
        outside = set(known)
        for arg in iter_args:
            if arg in outside or not same_type(arg.type, arg.initValue.type):
                self.lines.append(f"{pad}{self.names[arg]}: {self.type(arg.type)}")

    def scope(self, stmt: ScopeStmt, pad: str) -> None:
        self.lines.append(f"{pad}with {self.prefix}.{stmt.scope_kind.name.lower()}():")
        self.body(stmt.body, pad + _STEP)

    def sequence(self, stmt: Stmt, pad: str) -> None:
        self.body(stmt, pad)

    # ------------------------------------------------------------------------ functions

    def function(self, function: Function, pad: str) -> None:
        kind = function.func_type
        defined = _identifier(function.name)
        if self.whole is not None:
            defined = self.whole.defs[function.name]
        options = [] if kind is FunctionType.Opaque else [f"type={self.member(kind)}"]
        if defined != function.name or keyword.iskeyword(defined):
            options.append(f"name={self.value(function.name)}")
            defined = f"{defined}_" if keyword.iskeyword(defined) else defined
        option = f"({', '.join(options)})" if options else ""
        self.lines.append(f"{pad}@{self.prefix}.function{option}")
        params = ["self"] if self.in_program else []
        for var in function.params:
            self.define(var)
        for var, direction in zip(function.params, function.param_directions, strict=True):
            text = self.definition(var)
            if direction is not ParamDirection.In:
                text = f"{self.prefix}.{direction.name}[{text}]"
            params.append(f"{self.names[var]}: {text}")
        self.return_types = function.return_types
        results = [self.type(kind) for kind in function.return_types]
        arrow = f" -> {results[0]}" if len(results) == 1 else ""
        if len(results) > 1:
            arrow = f" -> tuple[{', '.join(results)}]"
        self.lines.append(f"{pad}def {defined}({', '.join(params)}){arrow}:")
        self.body(function.body, pad + _STEP)


def _identifier(name: str) -> str:
    """Return ``name`` as Python's parser keeps it, with other characters replaced."""
    name = unicodedata.normalize("NFKC", name)
    if not name.isidentifier():
        name = unicodedata.normalize("NFKC", _NOT_IN_NAMES.sub("_", name))
        name = name if name.isidentifier() else f"_{name}"
    return name if name.isidentifier() else "_"


def is_plain_name(name: str) -> bool:
    """True if Python's parser reads ``name`` as that very name."""
    plain = name.isascii() or unicodedata.is_normalized("NFKC", name)
    return plain and name.isidentifier() and not keyword.iskeyword(name)


def is_closed(kind: Type) -> bool:
    """True if a type names no variable, so that its text means the same everywhere."""
    if isinstance(kind, ScalarType):
        return True
    if isinstance(kind, TupleType):
        return all(map(is_closed, kind.types))
    memref = kind.memref if isinstance(kind, ShapedType) else None
    if memref is not None and memref.addr_.__class__ is not ConstInt:
        return False
    return all(expr.__class__ is ConstInt for expr in exprs_of_type(kind))


def value_type(results: Sequence[Type]) -> Type | None:
    """Return the type of a call of a function with closed result types, None if they are not."""
    if not all(map(is_closed, results)):
        return None
    if not results:
        return UnknownType.get()
    return results[0] if len(results) == 1 else TupleType(results)


def deduced_type(
    op: OpDef[..., Any], args: Sequence[Expr], kwargs: Mapping[str, Any]
) -> Type | None:
    """Return the type that an op's rule gives, None if it refuses the operands."""
    try:
        return op.type_of(Operands(op, tuple(args), kwargs))
    except Exception:  # the rule expects operands that were checked
        return None


def is_complete(op: OpDef[..., Any], kwargs: Mapping[str, Any]) -> bool:
    """True if ``kwargs`` holds every attribute that a call of the op has."""
    return all(
        param.name in kwargs or param.default is None for param in op.params if param.kind is ATTR
    )


def _regular(node: Call) -> bool:
    """True if a call of a registered op has all that the op declares."""
    op = cast("OpDef[..., Any]", node.op).written(len(node.args))
    operands = sum(param.kind is not ATTR for param in op.params)
    return len(node.args) == operands and is_complete(op, node.kwargs)


def _is_bare(value: Expr) -> bool:
    """True for a call that has no type and is not understood as one of a registered op."""
    if not isinstance(value, Call) or not isinstance(value.type, UnknownType):
        return False
    return value.op.__class__ is Op or (isinstance(value.op, OpDef) and not _regular(value))


def _is_truth(node: Expr) -> bool:
    kind = node.type
    return isinstance(kind, ScalarType) and kind.dtype is DataType.BOOL


def _last(body: Stmt | None) -> Stmt | None:
    stmts = statements(body)
    return stmts[-1] if stmts else None


def _is_index(kind: Type) -> bool:
    return isinstance(kind, ScalarType) and kind.dtype is DataType.INT64


def element_type(args: Iterable[Expr | None], kwargs: Mapping[str, Any]) -> DataType | None:
    """Return the element type that a bare number among the operands of an op takes."""
    dtype = kwargs.get("dtype")
    if isinstance(dtype, DataType):
        return dtype
    for arg in args:
        if arg is not None and isinstance(arg.type, ShapedType):
            return arg.type.dtype
    return None


def _declarations(texts: Iterable[str]) -> list[str]:
    lines = list(dict.fromkeys(texts))
    return [*lines, ""] if lines else []


def _function_alone(function: Function, prefix: str) -> str:
    printer = _Printer(prefix)
    printer.function(function, "")
    return "\n".join([*_declarations(printer.free.values()), *printer.lines])


def _program(program: Program, prefix: str) -> str:
    whole = _Whole(program.functions_)
    printers: dict[str, _Printer] = {}
    for function in program.functions_:
        printers[function.name] = printer = _Printer(prefix, whole)
        printer.function(function, _STEP)
    order = _callees_first({name: printer.callees for name, printer in printers.items()})
    name = program.name or "Program"
    lines = [f"# pypto.program: {_header_text(name)}"]
    if program.entry is not None:
        lines.append(f"# pypto.entry: {_header_text(program.entry)}")
    writer = _Printer(prefix)
    for key, value in program.attrs.items():
        text = f"{key} = {writer.literal(value)}"
        if _header_text(key) != key or "=" in key or key[0] == "{":
            text = writer.literal({key: value})
        lines.append(f"# pypto.attr: {text}")
    plain = prefix == "pl"
    lines.append(
        "import pypto.language as pl" if plain else f"from pypto import language as {prefix}"
    )
    lines.append("")
    lines += _declarations(text for f in order for text in printers[f].free.values())
    lines += [f"@{prefix}.program", f"class {_Printer('').fresh(name)}:"]
    for function_name in order:
        lines += printers[function_name].lines
    if not order:
        lines.append(f"{_STEP}pass")
    return "\n".join(lines)


def _header_text(text: str) -> str:
    """Return a name for a comment line: as it is, or quoted where it would not come back."""
    plain = text.isprintable() and text == text.strip() and text[:1] not in ("", "'", '"')
    return text if plain else repr(text)


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


_INT64: Final = ConstInt(0).type
_BOOL: Final = scalar_type(DataType.BOOL)
_PIPES: Final = frozenset(int(pipe) for pipe in PipeType)
_Infix: TypeAlias = tuple[str, int, int, int, bool]


def _infix_row(cls: type[BinaryExpr]) -> _Infix:
    """Return symbol, own precedence, what a left and a right operand need, and if it is BOOL."""
    if cls is Xor:  # between BOOLs Python's ^ is the logical one
        return "^", BIT_XOR, BIT_XOR, BIT_XOR + 1, True
    own = cls.precedence
    left = own + 1 if own in (POWER, COMPARE) else own  # a < b < c would be a chain
    truth = cls in COMPARISONS or cls in LOGICAL
    return cls.symbol, own, left, own if own == POWER else own + 1, truth


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
    Call: _P.nested_call,
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
