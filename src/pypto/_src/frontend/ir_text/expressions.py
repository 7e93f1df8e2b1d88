"""Expressions, types and constants of printed IR text, read as the printer writes them.

Nothing is inferred except what `ir.text` says a reader infers; no cast is added, no number folded,
no default filled in. Text that the printer would not have written raises `Unread`.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias, cast

from pypto._src.diagnostics import Span
from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.frontend.source.source import Source
from pypto._src.ir import enums, scalar_ops
from pypto._src.ir.array_types import MemRef, TensorType, TensorView, TileType, TileView
from pypto._src.ir.exprs import (
    COMPARISONS,
    LOGICAL,
    And,
    BinaryExpr,
    BitXor,
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
    Op,
    Or,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    Xor,
)
from pypto._src.ir.interning import unique
from pypto._src.ir.name_rules import is_function_name, is_op_name
from pypto._src.ir.op_params import ATTR, ROUND_MODES, SCALAR, space_number
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.scalar_ops import BINARY_FUNCTIONS, UNARY_FUNCTIONS
from pypto._src.ir.text.grammar import (
    LEVELS,
    NO_FUNCTIONS,
    deduced_type,
    element_type,
    is_closed,
    is_complete,
    is_truth,
)
from pypto._src.ir.types import (
    MemRefType,
    ScalarType,
    TupleType,
    Type,
    UnknownType,
    same_type,
    scalar_type,
)
from pypto._src.ops.define import BY_PYTHON_NAME
from pypto._src.ops.lookup import REGISTRY

MISSING: Final = object()
_OpDef: TypeAlias = "OpDef[..., Any]"

_BINARY: Final[dict[type, type[BinaryExpr]]] = {
    getattr(ast, row.syntax): node
    for node, row in scalar_ops.BINARY.items()
    if row.syntax and node not in COMPARISONS
}
_COMPARE: Final[dict[type, type[BinaryExpr]]] = {
    getattr(ast, scalar_ops.BINARY[node].syntax): node for node in COMPARISONS
}
_UNARY: Final[dict[type, type[UnaryExpr]]] = {
    getattr(ast, row.syntax): node for node, row in scalar_ops.UNARY.items() if row.syntax
}
_XORS: Final[dict[str, type[BinaryExpr]]] = {"logical_xor": Xor, "bit_xor": BitXor}
_ENUMS: Final[dict[str, type[Enum]]] = {
    name: value
    for name, value in vars(enums).items()
    if isinstance(value, type) and issubclass(value, Enum) and name[0] != "_" and len(value) > 0
}
_DTYPES: Final = {**MEMBERS, "INDEX": DataType.INDEX}
_BOOL: Final = scalar_type(DataType.BOOL)


class Unread(Exception):
    """The text is not what the printer writes; ``node`` is where."""

    def __init__(self, message: str, node: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.node = node


class Values:
    """Reads expressions; knows the names that a function, or the text around it, has defined."""

    def __init__(self, source: Source, prefix: str, outside: Values | None = None) -> None:
        self.source = source
        self.prefix = prefix
        self.outside = outside
        self.names: dict[str, Var] = {}
        # Types that are not read yet: of parameters, and of declarations above the functions. Each
        # function reads one where it first uses the name, which is where the printer would have
        # written it.
        self.pending: dict[str, ast.expr] = {}
        self.span: Span = Span.unknown()  # of the statement being read
        self.in_program = False
        self.implicit = False  # unknown names are symbolic dimensions
        self.results: dict[str, Type | None] = {}  # what functions of the program return
        self.types: dict[str, Type] = {}  # by text, those that name no variable
        self.bare: dict[int, tuple[Type, Type]] = {}
        self.memrefs: dict[Any, MemRef] = {}

    # ------------------------------------------------------------------------ names

    def expr(self, node: ast.expr) -> Expr:
        """Return the expression that a syntax node stands for."""
        return _EXPRESSIONS.get(node.__class__, Values.unread)(self, node)

    def unread(self, node: Any) -> Any:
        raise Unread(f"IR text has no {type(node).__name__} here", node)

    def name(self, node: ast.Name) -> Expr:
        var = self.names.get(node.id)
        return self.lookup(node.id, node) if var is None else var

    def lookup(self, name: str, node: Any) -> Var:
        """Return a variable that the function has not defined so far."""
        annotation = self.pending.pop(name, None)
        if annotation is None and self.outside is not None:
            annotation = self.outside.pending.get(name)
        if annotation is not None:
            var = self.variable(name, annotation)
        elif self.outside is not None:
            var = self.outside.names.get(name)
        else:
            var = Var(name, scalar_type(DataType.INDEX)) if self.implicit else None
        if var is None:
            raise Unread(f"{name!r} is not defined", node)
        self.names[name] = var
        return var

    def variable(self, name: str, annotation: ast.expr) -> Var:
        """Return a new variable of the kind and type that an annotation gives."""
        if annotation.__class__ is ast.Call:
            call = cast("ast.Call", annotation)
            word = self.word(call.func)
            if word == "MemRef":
                return self.memref(call)
            if word == "IterArg" and len(call.args) == 2 and not call.keywords:
                return IterArg(name, self.type(call.args[0]), self.expr(call.args[1]), self.span)
        return Var(name, self.type(annotation), self.span)

    def word(self, node: ast.expr) -> str | None:
        """Return ``w`` of ``pl.w``, None for anything else."""
        if node.__class__ is ast.Attribute:
            inner = cast("ast.Attribute", node).value
            if inner.__class__ is ast.Name and cast("ast.Name", inner).id == self.prefix:
                return cast("ast.Attribute", node).attr
        return None

    # -------------------------------------------------------------------- constants

    def constant(self, node: ast.Constant) -> Expr:
        found = self.number(node.value, None)
        if found is None:
            raise Unread(f"{node.value!r} is not a value of a kernel", node)
        return found

    def number(self, value: Any, dtype: DataType | None) -> Expr | None:
        """Return a Python number as a constant, None if it cannot have that type."""
        if value.__class__ is bool:
            return ConstBool(value, self.span) if dtype in (None, DataType.BOOL) else None
        if value.__class__ is int and -(1 << 63) <= value < 1 << 63:
            if dtype is not None and dtype.is_float():
                return None
            return ConstInt(value, DataType.INT64 if dtype is None else dtype, self.span)
        if value.__class__ is float:
            if dtype is not None and not dtype.is_float():
                return None
            return ConstFloat(value, DataType.FP32 if dtype is None else dtype, self.span)
        return None

    def typed_number(self, value: Any, kind: Type, node: ast.expr) -> Expr:
        """Return ``pl.typed(NUMBER, TYPE)``: a number whose kind differs from that of its type."""
        if isinstance(kind, ScalarType):
            if value.__class__ is int and -(1 << 63) <= value < 1 << 63:
                return ConstInt(value, kind.dtype, self.span)
            if value.__class__ is float:
                return ConstFloat(value, kind.dtype, self.span)
        raise Unread("a number has a scalar type", node)

    def const(self, node: ast.Call) -> Expr:
        if len(node.args) != 2 or node.keywords:
            raise Unread("pl.const takes a number and an element type", node)
        found = self.number(self.value(node.args[0]), self.dtype(node.args[1]))
        if found is None:
            raise Unread("the element type does not have this number", node)
        return found

    # -------------------------------------------------------------------- operators

    def binary(self, node: ast.BinOp, kind: Type | None = None) -> Expr:
        chain = [node]  # a sum of many terms nests on the left; no recursion over them
        left = node.left
        while left.__class__ is ast.BinOp:
            chain.append(cast("ast.BinOp", left))
            left = cast("ast.BinOp", left).left
        value = self.expr(left)
        bare = is_number(left)
        while chain:
            link = chain.pop()
            cls = _BINARY.get(link.op.__class__)
            if cls is None:
                raise Unread("IR text has no such operator", link)
            right = self.expr(link.right)
            self.check_bare(value, right, bare, is_number(link.right), link)
            if cls is BitXor and is_truth(value) and is_truth(right):
                cls = Xor
            wanted = kind if not chain else None
            value = self.combined(cls, value, right, wanted, link)
            bare = False
        return value

    def check_bare(self, a: Expr, b: Expr, a_bare: bool, b_bare: bool, node: ast.expr) -> None:
        """Refuse bare numbers that the front end would fold or give another type."""
        if (a_bare or b_bare) and (a_bare is b_bare or not same_type(a.type, b.type)):
            raise Unread("a bare number is used with an INT64 or FP32 scalar", node)

    def combined(
        self, cls: type[BinaryExpr], a: Expr, b: Expr, kind: Type | None, node: ast.expr
    ) -> Expr:
        """Return an operation, of its left operand's type or the wanted one."""
        if kind is None:
            kind = _BOOL if cls in _TRUTHS else a.type
        if not isinstance(kind, ScalarType):
            raise Unread("the operands are not scalars", node)
        return cls(a, b, kind.dtype, self.span)

    def bool_op(self, node: ast.BoolOp, kind: Type | None = None) -> Expr:
        cls = And if node.op.__class__ is ast.And else Or
        first, *others = node.values
        value, bare = self.expr(first), is_number(first)
        for index, item in enumerate(others, 2):
            if bare and is_number(item):
                raise Unread("a bare number is used with a scalar", node)
            wanted = kind if index == len(node.values) else None
            value, bare = self.combined(cls, value, self.expr(item), wanted, node), False
        return value

    def compare(self, node: ast.Compare, kind: Type | None = None) -> Expr:
        cls = _COMPARE.get(node.ops[0].__class__)
        if cls is None or len(node.ops) > 1:
            raise Unread("IR text has no such comparison", node)
        left, right = node.left, node.comparators[0]
        a, b = self.expr(left), self.expr(right)
        self.check_bare(a, b, is_number(left), is_number(right), node)
        return self.combined(cls, a, b, kind, node)

    def unary(self, node: ast.UnaryOp, kind: Type | None = None) -> Expr:
        number = number_of(node)
        if number is not MISSING:
            found = self.number(number, None)
            if found is not None:
                return found
        cls = _UNARY.get(node.op.__class__)
        if cls is None or is_number(node.operand):
            raise Unread("IR text has no such operator", node)
        return self.signed(cls, self.expr(node.operand), kind, node)

    def signed(self, cls: type[UnaryExpr], operand: Expr, kind: Type | None, node: Any) -> Expr:
        if kind is None:
            kind = _BOOL if cls is Not else operand.type
        if not isinstance(kind, ScalarType):
            raise Unread("the operand is not a scalar", node)
        return cls(operand, kind.dtype, self.span)

    def sequence(self, node: ast.List) -> Expr:
        return MakeTuple([self.expr(item) for item in node.elts], self.span)

    def item(self, node: ast.Subscript) -> Expr:
        index = number_of(node.slice)
        value = self.expr(node.value)
        kind = value.type
        if not isinstance(kind, TupleType) or index.__class__ is not int:
            raise Unread("an item is read from a tuple at a constant index", node)
        if not 0 <= index < len(kind.types):
            raise Unread(f"index {index} is outside a tuple of {len(kind.types)}", node)
        return TupleGetItemExpr(value, index, self.span)

    # ------------------------------------------------------------------------ calls

    def call(self, node: ast.Call, kind: Type | None = None) -> Expr:
        """Return a call; ``kind`` is its type where the text gives it."""
        func = node.func
        if func.__class__ is ast.Attribute:
            return self.attribute_call(node, cast("ast.Attribute", func), kind)
        if func.__class__ is ast.Name:
            return self.named_call(node, cast("ast.Name", func).id, kind)
        if isinstance(func, ast.Subscript) and isinstance(func.value, ast.Name):
            name = getattr(func.slice, "value", None)
            if func.value.id == "self" and isinstance(name, str):
                return self.function_call(name, node, kind)
        raise Unread("this cannot be called", node)

    def named_call(self, node: ast.Call, name: str, kind: Type | None) -> Expr:
        if name in BINARY_FUNCTIONS and len(node.args) == 2 and not node.keywords:
            left, right = node.args
            a, b = self.expr(left), self.expr(right)
            self.check_bare(a, b, is_number(left), is_number(right), node)
            return self.combined(BINARY_FUNCTIONS[name], a, b, kind, node)
        if name in UNARY_FUNCTIONS and len(node.args) == 1 and not is_number(node.args[0]):
            return self.signed(UNARY_FUNCTIONS[name], self.expr(node.args[0]), kind, node)
        if name in NO_FUNCTIONS or name == self.prefix:
            raise Unread(f"{name} takes other arguments", node)
        if self.in_program or node.keywords:
            return self.plain_call(Op(name), node, kind)
        return self.function_call(name, node, kind)

    def attribute_call(self, node: ast.Call, func: ast.Attribute, kind: Type | None) -> Expr:
        inner, name = func.value, func.attr
        if inner.__class__ is ast.Attribute:  # pl.block.add
            level = self.word(inner)
            if level is not None:
                op = BY_PYTHON_NAME.get((level, name))
                if op is not None:
                    return self.op_call(op, node, kind)
        elif inner.__class__ is ast.Name:
            base = cast("ast.Name", inner).id
            if base == "self":
                return self.function_call(name, node, kind)
            if base == self.prefix:
                form = _WORDS.get(name)
                if form is None:
                    raise Unread(f"IR text has no {self.prefix}.{name}", node)
                return form(self, node, kind)
        return self.plain_call(Op(self.dotted(func)), node, kind)

    def dotted(self, func: ast.Attribute) -> str:
        """Return the name of an op that is not registered."""
        last = func.attr
        parts = [last[:-1] if last[-1:] == "_" and keyword.iskeyword(last[:-1]) else last]
        node = func.value
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id != self.prefix or parts[-1] in LEVELS:
            raise Unread("there is no such op", func)
        return ".".join(reversed(parts))

    def exact_call(self, node: ast.Call, kind: Type | None) -> Expr:
        """Return ``pl.call("block.add", ...)``."""
        name = self.value(node.args[0]) if node.args else None
        if not isinstance(name, str):
            raise Unread("pl.call takes the name of an op first", node)
        if not is_op_name(name):
            raise Unread(f"{name!r} is not the name of an op", node.args[0])
        made = self.plain_call(Op(name), node, kind, 1)
        op = REGISTRY.get(name)
        if op is None or (len(made.args) == len(op.operands) and is_complete(op, made.kwargs)):
            return made
        return Call(op, made.args, made.kwargs, made.type, self.span)

    def plain_call(self, op: Op, node: ast.Call, kind: Type | None, first: int = 0) -> Call:
        args = [self.expr(arg) for arg in node.args[first:]]
        kwargs: dict[Any, Any] = {}
        for word in node.keywords:
            self.keyword(word, word.arg, kwargs)
        return Call(op, args, kwargs, UnknownType.get() if kind is None else kind, self.span)

    def keyword(self, word: ast.keyword, name: str | None, kwargs: dict[Any, Any]) -> None:
        """Take ``name=value``, or the one entry of ``**{name: value}``."""
        if name is not None:
            if name in kwargs:
                raise Unread(f"a call is given {name} twice", word)
            kwargs[name] = self.value(word.value)
            return
        if not isinstance(word.value, ast.Dict):
            raise Unread("'**' is followed by something other than a dict", word.value)
        found = self.value(word.value)
        if not kwargs.keys().isdisjoint(found):
            raise Unread("a call is given an argument twice", word)
        kwargs.update(found)

    def function_call(self, name: str, node: ast.Call, kind: Type | None) -> Expr:
        if node.keywords and node.func.__class__ is not ast.Subscript:
            raise Unread("functions take their arguments by position", node)
        if not is_function_name(name):
            raise Unread(f"the name {name!r} is not an identifier", node.func)
        if kind is None:
            kind = self.results.get(name)
        return self.plain_call(GlobalVar(name), node, kind)

    def op_call(self, op: _OpDef, node: ast.Call, kind: Type | None) -> Expr:
        """Return the call of a registered op, with exactly the attributes that are written."""
        base, last = op, op.last_operand
        if last is not None and any(word.arg == last for word in node.keywords):
            op = op.with_scratch or op
        operands = [param for param in op.params if param.kind is not ATTR]
        args: list[Expr | None] = []
        numbers: list[tuple[int, Any, ast.expr]] = []  # bare ones take an element type
        for index, arg in enumerate(node.args):
            self.operand(operands, index, arg, args, numbers)
        kwargs: dict[Any, Any] = {}
        if node.keywords:
            self.keywords(op, node, operands, args, numbers, kwargs)
        if len(args) != len(operands) or not is_complete(op, kwargs):
            raise Unread(f"{op.name} has other arguments", node)
        if numbers:
            element = element_type(args, kwargs)
            for index, number, item in numbers:
                found = self.number(number, element)
                if found is None:
                    raise Unread("the element type does not have this number", item)
                args[index] = found
        ready = cast("list[Expr]", args)
        if kind is None:
            kind = deduced_type(op, ready, kwargs)
            if kind is None:
                raise Unread(f"{op.name} has no type for these operands", node)
        return Call(base, ready, kwargs, kind, self.span)

    def operand(
        self,
        operands: Sequence[Any],
        index: int,
        arg: ast.expr,
        args: list[Expr | None],
        numbers: list[tuple[int, Any, ast.expr]],
    ) -> None:
        """Add an operand; if it is a bare number, remember it for later."""
        if index < len(operands) and operands[index].kind is SCALAR:
            if operands[index].attr_type and arg.__class__ is ast.Attribute:
                space = self.value(arg)
                if not isinstance(space, enums.MemorySpace):
                    raise Unread("a memory space was wanted", arg)
                args.append(space_number(space, self.span))
                return
            number = number_of(arg)
            if number is not MISSING and number.__class__ is not bool:
                numbers.append((len(args), number, arg))
                args.append(None)
                return
        args.append(self.expr(arg))

    def keywords(
        self,
        op: _OpDef,
        node: ast.Call,
        operands: Sequence[Any],
        args: list[Expr | None],
        numbers: list[tuple[int, Any, ast.expr]],
        kwargs: dict[Any, Any],
    ) -> None:
        """Read what follows the positional operands: attributes, and operands by name."""
        attributes = {param.name: param for param in op.params if param.kind is ATTR}
        named: dict[str, ast.expr] = {}
        for word in node.keywords:
            param = attributes.get(word.arg) if word.arg is not None else None
            if word.arg in kwargs or word.arg in named:
                raise Unread(f"{op.name} is given {word.arg} twice", word)
            if param is not None:
                kwargs[param.name] = self.attribute(param.attr_type, word.value)
            elif word.arg is None:
                self.keyword(word, None, kwargs)
            else:
                named[word.arg] = word.value
        for index in range(len(args), len(operands)):
            value = named.pop(operands[index].name, None)
            if value is None:
                break
            self.operand(operands, index, value, args, numbers)
        if named:
            raise Unread(f"{op.name} has other arguments", node)

    def attribute(self, kind: str, node: ast.expr) -> Any:
        """Return the value of an attribute; rounding modes are numbers."""
        value = self.value(node)
        if kind.startswith("RoundMode") and isinstance(node, ast.Constant):
            return ROUND_MODES.get(value, value) if isinstance(value, str) else value
        return value

    # ------------------------------------------------------------------- pl.word(...)

    def cast(self, node: ast.Call, kind: Type | None) -> Expr:
        if len(node.args) != 2 or node.keywords or is_number(node.args[0]):
            raise Unread("pl.cast takes a scalar and an element type", node)
        operand = self.expr(node.args[0])
        if kind is None and not isinstance(operand.type, ScalarType):
            raise Unread("pl.cast takes a scalar", node)
        return Cast(operand, self.dtype(node.args[1]), self.span)

    def const_call(self, node: ast.Call, kind: Type | None) -> Expr:
        return self.const(node)

    def typed(self, node: ast.Call, kind: Type | None = None) -> Expr:
        """Return ``pl.typed(EXPR, TYPE)``."""
        if len(node.args) != 2 or node.keywords:
            raise Unread("pl.typed takes an expression and a type", node)
        inner, wanted = node.args[0], self.type(node.args[1])
        number = number_of(inner)
        if number is MISSING and self.is_float_call(inner):
            number = self.value(inner)
        if number is not MISSING:
            return self.typed_number(number, wanted, node)
        form = _TYPED.get(inner.__class__)
        if form is None:
            raise Unread("the type of this cannot be chosen", node)
        return form(self, inner, wanted)

    def is_float_call(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and getattr(node.func, "id", None) == "float"

    def xor(self, node: ast.Call, kind: Type | None) -> Expr:
        cls = _XORS[cast("ast.Attribute", node.func).attr]
        if len(node.args) != 2 or node.keywords:
            raise Unread("an operator has two operands", node)
        a, b = self.expr(node.args[0]), self.expr(node.args[1])
        return self.combined(cls, a, b, kind, node)

    def memref_value(self, node: ast.Call, kind: Type | None) -> Expr:
        return self.memref(node)

    def memref(self, node: ast.Call) -> MemRef:
        """Return a memory reference; within one function, equal ones are one object."""
        if len(node.args) != 4 or node.keywords:
            raise Unread("pl.MemRef has a space, an address, a size and a number", node)
        space, size, number = (self.value(node.args[index]) for index in (0, 2, 3))
        integers = size.__class__ is int and number.__class__ is int
        if not isinstance(space, enums.MemorySpace) or not integers:
            raise Unread("pl.MemRef has a space, an address, a size and a number", node)
        address = number_of(node.args[1])
        if address is MISSING:
            address = ast.dump(node.args[1])
        key = (space, address, size, number)
        known = self.memrefs.get(key)
        if known is None:
            address = self.expr(node.args[1])
            known = self.memrefs[key] = MemRef(space, address, size, number, self.span)
        return known

    def annotated(self, node: ast.expr, kind: Type) -> Expr:
        """Return the value for a variable of type ``kind``, which is then also a call's type."""
        if node.__class__ is ast.Call:
            call = cast("ast.Call", node)
            if self.word(call.func) not in _OWN_TYPE and getattr(call.func, "id", "") not in (
                NO_FUNCTIONS
            ):
                return self.call(call, self.without_memory(kind))
        value = self.expr(node)
        if is_number(node) and not same_type(value.type, kind):
            raise Unread("a bare number is INT64 or FP32", node)
        return value

    # ------------------------------------------------------------------------ types

    def type(self, node: ast.expr) -> Type:
        """Return the type that a syntax node stands for."""
        if node.__class__ is ast.Subscript:
            text = self.text(node)
            found = self.types.get(text)
            if found is None:
                found = self.subscript(cast("ast.Subscript", node))
                if text and is_closed(found):
                    self.types[text] = found
            return found
        word = self.word(node)
        if word == "UnknownType":
            return UnknownType.get()
        if word == "MemRefType":
            return MemRefType()
        raise Unread("a type was wanted", node)

    def text(self, node: ast.expr) -> str:
        """Return the text of a node, "" if it spans several lines or the text is not ASCII."""
        source = self.source
        if source.encoded is not None or node.end_lineno != node.lineno:
            return ""
        return source.lines[node.lineno - 1][node.col_offset : node.end_col_offset]

    def subscript(self, node: ast.Subscript) -> Type:
        word, inner = self.word(node.value), node.slice
        if word == "Scalar":
            return scalar_type(self.dtype(inner))
        if word == "Tuple" and isinstance(inner, ast.List):
            return TupleType([self.type(item) for item in inner.elts])
        parts = inner.elts if isinstance(inner, ast.Tuple) else []
        if word not in ("Tile", "Tensor") or len(parts) < 2 or not isinstance(parts[0], ast.List):
            raise Unread("a type was wanted", node)
        shape = [self.expr(dim) for dim in parts[0].elts]
        dtype = self.dtype(parts[1])
        memref: MemRef | None = None
        extra = list(parts[2:])
        if extra and isinstance(extra[0], ast.Call) and self.word(extra[0].func) == "MemRef":
            memref = self.memref(extra[0])
            del extra[0]
        view = self.view(extra.pop()) if extra else None
        if extra or (view is not None and isinstance(view, TileView) != (word == "Tile")):
            raise Unread(f"a pl.{word} does not have this", node)
        if word == "Tile":
            return unique(TileType(shape, dtype, memref, cast("TileView | None", view)))
        return unique(TensorType(shape, dtype, memref, cast("TensorView | None", view)))

    def view(self, node: ast.expr) -> TileView | TensorView:
        """Return ``pl.TileView(...)`` or ``pl.TensorView(...)``."""
        if not isinstance(node, ast.Call) or node.args:
            raise Unread("a view was wanted", node)
        word = self.word(node.func)
        given: dict[str, Any] = {}
        for item in node.keywords:
            name = item.arg or ""
            if name in ("valid_shape", "stride") and isinstance(item.value, ast.List):
                given[name] = [self.expr(dim) for dim in item.value.elts]
            elif name == "start_offset":
                given[name] = self.expr(item.value)
            else:
                given[name] = self.value(item.value)
                wanted = _VIEW_FIELDS.get(name)
                if wanted is None or given[name].__class__ is not wanted:
                    raise Unread(f"a view has no such {name}", item.value)
        if word == "TileView" and "layout" not in given:
            return TileView(**given)
        if word == "TensorView" and given.keys() <= {"stride", "layout"}:
            return TensorView(**given)
        raise Unread("a view was wanted", node)

    def without_memory(self, kind: Type) -> Type:
        """Return a type without its memory reference, as the value of a variable has it."""
        if not isinstance(kind, TileType | TensorType) or kind.memref is None:
            return kind
        known = self.bare.get(id(kind))
        if known is not None:
            return known[1]
        if isinstance(kind, TileType):
            found = unique(TileType(kind.shape, kind.dtype, None, kind.tile_view))
        else:
            found = unique(TensorType(kind.shape, kind.dtype, None, kind.tensor_view))
        self.bare[id(kind)] = kind, found  # keeps the type, and so its id
        return found

    def dtype(self, node: ast.expr) -> DataType:
        found = self.value(node)
        if not isinstance(found, DataType):
            raise Unread("an element type was wanted", node)
        return found

    # ---------------------------------------------------------------- Python constants

    def value(self, node: ast.expr) -> Any:
        """Return the constant that a keyword or a program attribute has."""
        number = number_of(node)
        if number is not MISSING:
            return number
        match node:
            case ast.Constant(value=None | str() | bytes()):
                return node.value
            case ast.List():
                return [self.value(item) for item in node.elts]
            case ast.Tuple():
                return tuple([self.value(item) for item in node.elts])
            case ast.Dict():
                return self.entries(node)
            case ast.Attribute():
                return self.member(node)
            case ast.Subscript():
                return self.type(node)
            case ast.Call():
                return self.made(node)
            case _:
                raise Unread("a constant was wanted", node)

    def entries(self, node: ast.Dict) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise Unread("a constant was wanted", node)
            try:
                found[self.value(key)] = self.value(value)
            except TypeError:
                raise Unread("this cannot be a key", key) from None
        return found

    def member(self, node: ast.Attribute) -> Any:
        """Return ``pl.FP32``, ``pl.DataType.FP64``, ``pl.MemorySpace.Vec`` or a plain type."""
        word = self.word(node)
        if word is not None:
            found: Any = _DTYPES.get(word)
            return self.type(node) if found is None else found
        owner = self.word(node.value)
        if owner == "DataType" and node.attr in _DTYPES:
            return _DTYPES[node.attr]
        members: Mapping[str, Enum] = _ENUMS[owner].__members__ if owner in _ENUMS else {}
        if node.attr not in members:
            raise Unread("there is no such constant", node)
        return members[node.attr]

    def made(self, node: ast.Call) -> Any:
        """Return ``float("nan")``, ``str("...")``, ``pl.expr(...)`` or a view."""
        name = node.func.id if isinstance(node.func, ast.Name) else None
        only = node.args[0] if len(node.args) == 1 and not node.keywords else None
        text = only.value if isinstance(only, ast.Constant) else None
        if name == "str" and isinstance(text, str):
            return text
        if name == "float" and text in ("inf", "-inf", "nan"):
            return float(cast("str", text))
        word = self.word(node.func)
        if word == "expr" and only is not None:
            return self.expr(only)
        return self.memref(node) if word == "MemRef" else self.view(node)


def number_of(node: ast.expr) -> Any:
    """Return the number at a node, with its sign; `MISSING` if there is none."""
    if node.__class__ is ast.Constant:
        value = cast("ast.Constant", node).value
        return value if value.__class__ in _NUMBERS else MISSING
    if node.__class__ is ast.UnaryOp:
        unary = cast("ast.UnaryOp", node)
        if unary.op.__class__ is ast.USub and unary.operand.__class__ is ast.Constant:
            value: Any = cast("ast.Constant", unary.operand).value
            return -value if value.__class__ in _SIGNED else MISSING
    return MISSING


def is_number(node: ast.expr) -> bool:
    """True if a node is a number."""
    return number_of(node) is not MISSING


_NUMBERS: Final = (int, float, bool)
_SIGNED: Final = (int, float)
_TRUTHS: Final = frozenset({*COMPARISONS, *LOGICAL})
_VIEW_FIELDS: Final[Mapping[str, type]] = {
    "blayout": enums.TileLayout,
    "slayout": enums.TileLayout,
    "fractal": int,
    "pad": enums.TilePad,
    "layout": enums.TensorLayout,
}
_V: Final = Values
_EXPRESSIONS: Final[dict[type, Callable[[Values, Any], Expr]]] = {
    ast.Name: _V.name,
    ast.Constant: _V.constant,
    ast.BinOp: _V.binary,
    ast.BoolOp: _V.bool_op,
    ast.Compare: _V.compare,
    ast.UnaryOp: _V.unary,
    ast.List: _V.sequence,
    ast.Subscript: _V.item,
    ast.Call: _V.call,
}
_TYPED: Final[dict[type, Callable[[Values, Any, Type], Expr]]] = {
    ast.BinOp: _V.binary,
    ast.BoolOp: _V.bool_op,
    ast.Compare: _V.compare,
    ast.UnaryOp: _V.unary,
    ast.Call: _V.call,
}
_WORDS: Final[dict[str, Callable[[Values, ast.Call, Type | None], Expr]]] = {
    "call": _V.exact_call,
    "cast": _V.cast,
    "const": _V.const_call,
    "typed": _V.typed,
    "logical_xor": _V.xor,
    "bit_xor": _V.xor,
    "MemRef": _V.memref_value,
}
_OWN_TYPE: Final = frozenset({*_WORDS} - {"call"})
