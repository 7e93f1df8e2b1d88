"""Types, expressions and calls as text, by the grammar of `ir.text`.

Owns the declarations above a function of variables that it uses before any definition. Knows no op
by name; what a call looks like follows from its `OpDef`. Knows no statements.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias, cast

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import MemRef, ShapedType, TensorType, TensorView, TileType, TileView
from pypto._src.ir.enums import PipeType, TensorLayout
from pypto._src.ir.exprs import (
    ATOM,
    BIT_XOR,
    CALL,
    COMPARE,
    COMPARISONS,
    LOGICAL,
    POWER,
    SIGN,
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
    Not,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    Xor,
)
from pypto._src.ir.node_base import Node
from pypto._src.ir.op_params import ATTR, ROUND_MODES, SCALAR, Param, space_of_number
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.scalar_ops import UNARY_FUNCTIONS
from pypto._src.ir.text.grammar import (
    LEVELS,
    NO_FUNCTIONS,
    deduced_type,
    element_type,
    is_closed,
    is_complete,
    is_plain_name,
    is_truth,
    view_fields,
)
from pypto._src.ir.text.names import Names, Whole
from pypto._src.ir.types import (
    MemRefType,
    ScalarType,
    TupleType,
    Type,
    UnknownType,
    same_type,
    scalar_type,
)

CONSTANTS: Final = (ConstInt, ConstFloat, ConstBool)
_ROUND_NAMES: Final = {number: name for name, number in ROUND_MODES.items()}


class Exprs:
    """Prints types, expressions and calls of one function, or on their own.

    Args:
        prefix: The name of the language module in the text.
        whole: What the functions of the text share, None for a node printed alone.
        exact: False for text that is for people only: expressions and statements alone.
    """

    def __init__(self, prefix: str, whole: Whole | None = None, *, exact: bool = True) -> None:
        self.prefix = prefix
        self.exact = exact
        self.whole = whole
        self.in_program = whole is not None
        self.names = Names(prefix)
        self.free: dict[str, str] = {}  # declarations of variables used before any definition
        self.declared: dict[str, str] = {} if whole is None else whole.declared
        self.callees: dict[str, None] = {}
        self.type_texts: dict[int, str] = {}  # of types without names, by id

    # ---------------------------------------------------------------------------- variables

    def use(self, var: Var) -> str:
        name = self.names.given.get(var)
        return self.declare(var) if name is None else name

    def declare(self, var: Var) -> str:
        """Return the name of a variable that nothing has defined so far.

        Its declaration goes above the function. Functions with equal declarations share the name.
        """
        kind = self.definition(var)
        if var.__class__ is MemRef:
            return kind
        while True:
            name = self.names.reserve(var)
            text = f"{name}: {kind}"
            if var.__class__ is Var and is_index(var.type):
                text = f'{name} = {self.prefix}.dynamic("{name}")'
            if self.declared.setdefault(name, text) == text:
                break
        self.names.given[var] = name
        self.free[name] = text
        return name

    def definition(self, var: Var) -> str:
        """Return the text after the colon where a variable is defined."""
        if isinstance(var, MemRef):
            return self.memref(var)
        kind = self.type(var.type)
        if isinstance(var, IterArg):
            return f"{self.prefix}.IterArg({kind}, {self.explicit(var.initValue)})"
        return kind

    # ---------------------------------------------------------------------------- types

    def type(self, kind: Type) -> str:
        text = self.type_texts.get(id(kind))  # the type lives as long as the node printed
        if text is None:
            text = WRITERS[kind.__class__](self, kind)
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
        if dtype is DataType.FP64:  # the only member that the language does not export
            return f"{self.prefix}.DataType.FP64"
        return f"{self.prefix}.{dtype.member}"

    def memref(self, memref: MemRef) -> str:
        space = self.member(memref.memory_space_)
        address = self.expr(memref.addr_)
        return f"{self.prefix}.MemRef({space}, {address}, {memref.size_}, {memref.id_})"

    def tile_view(self, view: TileView) -> str:
        fields = [f"{name}={self.view_field(value)}" for name, value in view_fields(view)]
        return f"{self.prefix}.TileView({', '.join(fields)})"

    def view_field(self, value: Any) -> str:
        if isinstance(value, tuple):
            return self.dims(cast("tuple[Expr, ...]", value))
        return self.dim(value) if isinstance(value, Expr) else self.value(value)

    def tensor_view(self, view: TensorView) -> str:
        fields = [f"stride={self.dims(view.stride)}"] if view.stride else []
        if view.layout is not TensorLayout.ND:
            fields.append(f"layout={self.member(view.layout)}")
        return f"{self.prefix}.TensorView({', '.join(fields)})"

    # ---------------------------------------------------------------------- expressions

    def expr(self, node: Expr) -> str:
        return WRITERS[node.__class__](self, node)

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
        """Return an expression with a type that does not follow from its operands."""
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
        """Print left operands iteratively: sums of thousands of terms are deep on that side."""
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
            # A bare number beside a scalar is read with the scalar's type: others need ``const``.
            mixed = left.type is not right.type and not same_type(left.type, right.type)
            if below is None and (mixed or isinstance(right, CONSTANTS)):
                text = self.explicit(left, left_limit)
            elif below is None:
                text = self.child(left, left_limit)
            elif below < left_limit:
                text = f"({text})"
            other = self.explicit(right, right_limit) if mixed else self.child(right, right_limit)
            below = own
            logical = link.__class__ is Xor
            if own == BIT_XOR and logical != (is_truth(left) and is_truth(right)):
                name = "logical_xor" if logical else "bit_xor"
                text, below = f"{self.prefix}.{name}({text}, {other})", ATOM
            else:
                text = f"{text} {symbol} {other}"
            kind = _BOOL if gives_bool else left.type
            if link.type is not kind and not same_type(link.type, kind):
                text, below = self.typed(text, link.type), ATOM
        return text

    def explicit(self, node: Expr, precedence: int = 0) -> str:
        """Return ``node`` as `child` does, but a constant with its element type."""
        if isinstance(node, CONSTANTS):
            return self.const(node)
        return self.child(node, precedence)

    def binary_call(self, node: BinaryExpr) -> str:
        left, right = node.left, node.right
        mixed = not same_type(left.type, right.type)
        alone = mixed or isinstance(right, CONSTANTS)
        first = self.explicit(left) if alone else self.expr(left)
        second = self.explicit(right) if mixed else self.expr(right)
        return self.checked(f"{node.symbol}({first}, {second})", node, left.type)

    def checked(self, text: str, node: Expr, kind: Type) -> str:
        """Return the text of ``node``, whose type is read as ``kind``."""
        return text if same_type(node.type, kind) else self.typed(text, node.type)

    def prefix_op(self, node: UnaryExpr) -> str:
        text = f"{node.symbol}{self.explicit(node.operand, node.precedence)}"
        return self.checked(text, node, _BOOL if isinstance(node, Not) else node.operand.type)

    def unary_call(self, node: UnaryExpr) -> str:
        text = f"{node.symbol}({self.explicit(node.operand)})"
        return self.checked(text, node, node.operand.type)

    def cast(self, node: Cast) -> str:
        text = f"{self.prefix}.cast({self.explicit(node.operand)}, {self.dtype(node.dtype)})"
        # With a tile or tensor, this name means an op.
        return text if isinstance(node.operand.type, ScalarType) else self.typed(text, node.type)

    def make_tuple(self, node: MakeTuple) -> str:
        return f"[{', '.join([self.expr(item) for item in node.elements])}]"

    def item(self, node: TupleGetItemExpr) -> str:
        return f"{self.child(node.tuple, ATOM)}[{node.index}]"

    # ----------------------------------------------------------------------------- calls

    def nested_call(self, node: Call) -> str:
        """Return a call whose type is not in an annotation."""
        text = self.call(node)
        kind = self.deduced(node)
        if kind is not None and (node.type is kind or same_type(node.type, kind)):
            return text
        return self.typed(text, node.type)

    def deduced(self, node: Call) -> Type | None:
        """Return the type that a reader infers for a call without a stated type."""
        op = node.op
        found: Type | None = None
        if isinstance(op, OpDef):
            if is_regular(node):
                form = cast("OpDef[..., Any]", op).written(len(node.args))
                return deduced_type(form, node.args, node.kwargs)
        elif isinstance(op, GlobalVar) and self.whole is not None:
            found = self.whole.deduced(op.name)
        return UnknownType.get() if found is None else found

    def call(self, node: Call) -> str:
        op = node.op
        if isinstance(op, OpDef):
            definition = cast("OpDef[..., Any]", op).written(len(node.args))
            return self.op_call(definition, node) if is_regular(node) else self.exact_call(node)
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
        """Return a call by the op's full name, with nothing inferred."""
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
        if isinstance(value, Node) and value.__class__ in WRITERS:
            return WRITERS[value.__class__](self, value)
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
        """Return an attribute of a program, as a Python literal if it can be one; 1e999 is inf."""
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


def is_regular(node: Call) -> bool:
    """True if a call of a registered op has everything that the op declares."""
    op = cast("OpDef[..., Any]", node.op).written(len(node.args))
    operands = sum(param.kind is not ATTR for param in op.params)
    return len(node.args) == operands and is_complete(op, node.kwargs)


def is_index(kind: Type) -> bool:
    """True for the type that loop variables and sizes have."""
    return isinstance(kind, ScalarType) and kind.dtype is DataType.INT64


_INT64: Final = ConstInt(0).type
_BOOL: Final = scalar_type(DataType.BOOL)
_PIPES: Final = frozenset(int(pipe) for pipe in PipeType)
_Infix: TypeAlias = tuple[str, int, int, int, bool]


def _infix_row(cls: type[BinaryExpr]) -> _Infix:
    """Return symbol, own precedence, the least one of each operand, and if the result is BOOL."""
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

_E = Exprs
WRITERS: Final[dict[type, Callable[[Exprs, Any], str]]] = {
    **{cls: (_E.binary_call if cls.precedence == CALL else _E.infix) for cls in _BINARY},
    **dict.fromkeys(UnaryExpr.__subclasses__(), _E.prefix_op),
    **dict.fromkeys(UNARY_FUNCTIONS.values(), _E.unary_call),
    Cast: _E.cast,
    Var: _E.use,
    IterArg: _E.use,
    MemRef: _E.use,
    ConstInt: _E.int,
    ConstFloat: _E.float,
    ConstBool: _E.bool,
    MakeTuple: _E.make_tuple,
    TupleGetItemExpr: _E.item,
    Call: _E.nested_call,
    ScalarType: _E.scalar_type,
    TensorType: _E.shaped_type,
    TileType: _E.shaped_type,
    TupleType: _E.tuple_type,
    MemRefType: _E.memref_type,
    UnknownType: _E.unknown_type,
    TensorView: _E.tensor_view,
    TileView: _E.tile_view,
}
