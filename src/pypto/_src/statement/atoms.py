"""Names, types and constants as text in the statement form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import PyptoError
from pypto._src.ir.array_types import MemRef, ShapedType, TensorType, TileType, TileView
from pypto._src.ir.enums import TensorLayout
from pypto._src.ir.exprs import (
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    MakeTuple,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.node_base import Node
from pypto._src.ir.text.grammar import view_fields
from pypto._src.ir.types import ScalarType, TupleType, Type, UnknownType, same_type
from pypto._src.statement.mnemonics import (
    CONSTANT,
    DTYPE_WORD,
    GET_ITEM,
    MAKE_TUPLE,
    SCALAR_WORD,
    key_text,
    name_text,
    quoted,
)

CONSTANTS: Final = (ConstInt, ConstFloat, ConstBool)
_NATURAL: Final = {
    ConstInt: DataType.INDEX,
    ConstFloat: DataType.FP32,
    ConstBool: DataType.BOOL,
}
"""Element types of constants written without one."""


def alike(a: Type, b: Type) -> bool:
    """True if two types have the same text, ignoring views of tensors and memory references."""
    return same_type(a, b) or type_text(a) == type_text(b)


def dims_text(dims: Sequence[Expr]) -> str:
    """Return a shape as a message shows it."""
    printer = TypePrinter()
    printer.in_signature = True
    return printer.dims(dims)


def type_text(kind: Type) -> str:
    """Return a type as a message shows it."""
    printer = TypePrinter()
    printer.in_signature = True
    return printer.type(kind)


class TypePrinter:
    """Prints types and constants; holds the names of one function."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.taken: dict[str, int] = {}  # names given, each with the last number appended to it
        self.type_texts: dict[int, str] = {}  # by id: types live as long as the program
        self.in_signature = False
        self.free: dict[Var, None] = {}  # used and not defined

    # ---------------------------------------------------------------------------- names

    def define(self, var: Var) -> str:
        """Name a variable that is defined here: by its own name, numbered if that is taken."""
        text = self.names.get(var)
        if text is None:
            text = self.names[var] = f"%{name_text(self.fresh(var.name))}"
        return text

    def fresh(self, wanted: str) -> str:
        if wanted and wanted not in self.taken:
            self.taken[wanted] = 0
            return wanted
        stem = f"{wanted}_" if wanted else ""
        number = self.taken.get(wanted, 0) + 1
        while f"{stem}{number}" in self.taken:
            number += 1
        self.taken[wanted] = number
        self.taken[f"{stem}{number}"] = 0
        return f"{stem}{number}"

    def use(self, var: Var) -> str:
        """Return the name of a variable; one without a definition is declared in the function."""
        text = self.names.get(var)
        if text is None:
            text = self.define(var)
            self.free[var] = None
        return text

    def dim_name(self, var: Var) -> str:
        """Return the name of a variable in a type.

        Its first use in the signature defines it, with its type unless that is ``int64``.
        """
        if not self.in_signature or var in self.names:
            return self.use(var)
        text = self.define(var)
        return text if is_index(var.type) else f"{text}: {self.type(var.type)}"

    # ---------------------------------------------------------------------------- types

    def type(self, kind: Type) -> str:
        if isinstance(kind, ScalarType):
            return DTYPE_WORD[kind.dtype]
        text = self.type_texts.get(id(kind))
        if text is None:
            text = self.type_texts[id(kind)] = self.new_type(kind)
        return text

    def new_type(self, kind: Type) -> str:
        match kind:
            case TensorType():
                return f"tensor<{self.dims(kind.shape)}, {self.tail(kind)}>"
            case TileType():
                view = kind.tile_view
                valid = kind.shape if view is None or not view.valid_shape else view.valid_shape
                return f"tile<{self.dims(valid)}, {self.dims(kind.shape)}, {self.tail(kind)}>"
            case TupleType():
                return f"tuple<{', '.join([self.type(item) for item in kind.types])}>"
            case UnknownType():
                return "()"
            case _:
                return "memref"

    def tail(self, kind: ShapedType) -> str:
        """Return element type, view and memory reference of a tensor or tile."""
        text = DTYPE_WORD[kind.dtype]
        view = self.view(kind)
        if view is not None:
            text = f"{text}, view={{{view}}}"
        if kind.memref is not None:
            text = f"{text}, memref={{{self.memref(kind.memref)}}}"
        return text

    def view(self, kind: ShapedType) -> str | None:
        """Return the fields of a view that differ from their defaults, None for no view."""
        if isinstance(kind, TileType):
            return None if kind.tile_view is None else self.tile_view(kind.tile_view, kind.shape)
        view = cast("TensorType", kind).tensor_view
        if view is None:
            return None
        fields = [f"stride={self.dims(view.stride)}"] if view.stride else []
        if view.layout is not TensorLayout.ND:
            fields.append(f"layout={view.layout.name}")
        return ", ".join(fields)

    def tile_view(self, view: TileView, shape: Sequence[Expr]) -> str | None:
        # The first list of the type is the valid shape if that differs from the type's shape.
        shown = bool(view.valid_shape) and self.dims(view.valid_shape) != self.dims(shape)
        fields = [
            f"{name}={self._field(value)}"
            for name, value in view_fields(view)
            if not (shown and name == "valid_shape")
        ]
        return None if shown and not fields else ", ".join(fields)

    def _field(self, value: Any) -> str:
        if isinstance(value, tuple):
            return self.dims(cast("tuple[Expr, ...]", value))
        if isinstance(value, Expr):
            return self.inline(value)
        return value.name if isinstance(value, Enum) else str(value)

    def memref(self, memref: MemRef) -> str:
        address = self.inline(memref.addr_)
        space = memref.memory_space_.name
        return f"space={space}, addr={address}, size={memref.size_}, id={memref.id_}"

    def dims(self, dims: Sequence[Expr]) -> str:
        texts = [str(dim.value) if isinstance(dim, ConstInt) else self.inline(dim) for dim in dims]
        return f"[{', '.join(texts)}]"

    def inline(self, root: Expr) -> str:
        """Return an inline expression, as types hold it: ``tensor.OP_SCALAR_MUL(%n, 2)``."""
        out: list[str] = []
        stack: list[Expr | str] = [root]
        while stack:
            item = stack.pop()
            match item:
                case str():
                    out.append(item)
                case Var() if not isinstance(item, MemRef):
                    out.append(self.dim_name(item))
                case ConstInt() | ConstFloat() | ConstBool() if not is_mistyped(item):
                    out.append(literal(item, with_type=True))
                case _:
                    word, operands, number = _inline_parts(item)
                    out.append(f"{word}(")
                    stack.append(f"{number}){self.inline_type(item)}")
                    for index, operand in enumerate(reversed(operands)):
                        if index:
                            stack.append(", ")
                        stack.append(operand)
        return "".join(out)

    def inline_type(self, value: Expr) -> str:
        return "" if is_index(value.type) else f": {self.type(value.type)}"

    # ------------------------------------------------------------------------ constants

    def constant(self, value: Any) -> str:
        """Return the value of an attribute.

        Raises:
            PyptoError: programs cannot hold such a value.
        """
        if isinstance(value, bool):
            return "true" if value else "false"
        if value is None:
            return "none"
        if isinstance(value, DataType):
            return DTYPE_WORD[value]
        if isinstance(value, Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, int | float):
            return repr(value)
        if isinstance(value, Type):
            return f"type({self.type(value)})"
        if isinstance(value, Expr):
            return f"expr({self.inline(value)})"
        if isinstance(value, Mapping):
            return self.dictionary(cast("Mapping[Any, Any]", value))
        if isinstance(value, list | tuple):
            texts = [self.constant(item) for item in cast("Sequence[Any]", value)]
            ends = "[]" if isinstance(value, list) else "()"
            return f"{ends[0]}{', '.join(texts)}{ends[1]}"
        what = type(value).__name__ if not isinstance(value, Node) else str(value)
        raise PyptoError(f"an attribute holds {what}, which has no text", slug="attribute")

    def dictionary(self, items: Mapping[Any, Any]) -> str:
        if not items:
            return "{}"
        return f"{{ {', '.join([f'{key_text(k)}={self.constant(v)}' for k, v in items.items()])} }}"


def is_index(kind: Type) -> bool:
    return has_dtype(kind, DataType.INDEX)


def has_dtype(kind: Type, dtype: DataType) -> bool:
    return isinstance(kind, ScalarType) and kind.dtype is dtype


def is_mistyped(value: Expr) -> bool:
    """True for an int constant of a float type, or the reverse: its text would read as another."""
    if isinstance(value, ConstInt):
        return value.dtype.is_float()
    return isinstance(value, ConstFloat) and not value.dtype.is_float()


def literal(value: Expr, *, with_type: bool) -> str:
    """Return a constant; ``with_type`` adds its type if that is not the default one."""
    assert isinstance(value, ConstInt | ConstFloat | ConstBool)
    if isinstance(value, ConstBool):
        text = "true" if value.value else "false"
    else:
        text = repr(value.value)
    if with_type and value.dtype is not _NATURAL[type(value)]:
        return f"{text}: {DTYPE_WORD[value.dtype]}"
    return text


def _inline_parts(node: Expr) -> tuple[str, Sequence[Expr], str]:
    """Return word, operands, and the rest of the parenthesised text of an inline expression."""
    match node:
        case ConstInt() | ConstFloat():
            return CONSTANT, (), repr(node.value)
        case BinaryExpr():
            return SCALAR_WORD[node.__class__], (node.left, node.right), ""
        case UnaryExpr():
            return SCALAR_WORD[node.__class__], (node.operand,), ""
        case MakeTuple():
            return MAKE_TUPLE, node.elements, ""
        case TupleGetItemExpr():
            return GET_ITEM, (node.tuple,), f", {node.index}"
        case _:
            what = f"a call of {node.op.name}" if isinstance(node, Call) else type(node).__name__
            raise PyptoError(
                f"a type holds {what}", hint="assign it to a variable first", slug="type-expression"
            )
