"""Expressions: frozen nodes compared by identity.

``==`` between expressions builds an `Eq` node, so code here and everywhere compares nodes with
``is`` and looks them up in dictionaries (their hash is by identity), never with ``==`` or ``in``.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import NoneType
from typing import Any, ClassVar, Final, TypeAlias, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType, number_text
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.node_base import (
    NO_KEYWORDS,
    Keywords,
    Node,
    NodeMeta,
    check_class,
    ignored,
    not_a_span,
    setter,
)
from pypto._src.ir.types import INDEX, ScalarType, TupleType, Type, UnknownType, scalar_type
from pypto._src.lazy import lazy_module

_put = object.__setattr__
highlight = lazy_module("pypto._src.ir.inspect.highlight")


class IRNode(Node, metaclass=NodeMeta):
    """Base of expressions, statements, functions and programs. Has a source range."""

    span: Span = ignored()

    def __init__(self, span: Span = UNKNOWN_SPAN) -> None:
        put_span(self, span if span.__class__ is Span else not_a_span(self, span))

    __hash__ = object.__hash__

    def _repr_html_(self) -> str:
        """Return the printed node with colours, which is what notebooks show."""
        return highlight.to_html(self.as_python())

    def same_as(self, other: object) -> bool:
        """True if ``other`` is this very object."""
        return self is other

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the node class."""
        return cls.__name__


put_span: Final = setter(IRNode, "span")


class Expr(IRNode, metaclass=NodeMeta):
    """Base of expressions. Python operators on scalars build nodes, with dtype promotion."""

    type: Type

    def __add__(self, other: Operand) -> Expr:
        return binary(Add, self, other, caller_span())

    def __radd__(self, other: Operand) -> Expr:
        return binary(Add, other, self, caller_span())

    def __sub__(self, other: Operand) -> Expr:
        return binary(Sub, self, other, caller_span())

    def __rsub__(self, other: Operand) -> Expr:
        return binary(Sub, other, self, caller_span())

    def __mul__(self, other: Operand) -> Expr:
        return binary(Mul, self, other, caller_span())

    def __rmul__(self, other: Operand) -> Expr:
        return binary(Mul, other, self, caller_span())

    def __truediv__(self, other: Operand) -> Expr:
        return binary(FloatDiv, self, other, caller_span())

    def __rtruediv__(self, other: Operand) -> Expr:
        return binary(FloatDiv, other, self, caller_span())

    def __floordiv__(self, other: Operand) -> Expr:
        return binary(FloorDiv, self, other, caller_span())

    def __rfloordiv__(self, other: Operand) -> Expr:
        return binary(FloorDiv, other, self, caller_span())

    def __mod__(self, other: Operand) -> Expr:
        return binary(FloorMod, self, other, caller_span())

    def __rmod__(self, other: Operand) -> Expr:
        return binary(FloorMod, other, self, caller_span())

    def __pow__(self, other: Operand) -> Expr:
        return binary(Pow, self, other, caller_span())

    def __rpow__(self, other: Operand) -> Expr:
        return binary(Pow, other, self, caller_span())

    def __eq__(self, other: object) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        return binary(Eq, self, other, caller_span())

    def __ne__(self, other: object) -> Expr:  # pyright: ignore[reportIncompatibleMethodOverride]
        return binary(Ne, self, other, caller_span())

    def __lt__(self, other: Operand) -> Expr:
        return binary(Lt, self, other, caller_span())

    def __le__(self, other: Operand) -> Expr:
        return binary(Le, self, other, caller_span())

    def __gt__(self, other: Operand) -> Expr:
        return binary(Gt, self, other, caller_span())

    def __ge__(self, other: Operand) -> Expr:
        return binary(Ge, self, other, caller_span())

    def __and__(self, other: Operand) -> Expr:
        return binary(BitAnd, self, other, caller_span())

    def __rand__(self, other: Operand) -> Expr:
        return binary(BitAnd, other, self, caller_span())

    def __or__(self, other: Operand) -> Expr:
        return binary(BitOr, self, other, caller_span())

    def __ror__(self, other: Operand) -> Expr:
        return binary(BitOr, other, self, caller_span())

    def __xor__(self, other: Operand) -> Expr:
        return binary(BitXor, self, other, caller_span())

    def __rxor__(self, other: Operand) -> Expr:
        return binary(BitXor, other, self, caller_span())

    def __lshift__(self, other: Operand) -> Expr:
        return binary(BitShiftLeft, self, other, caller_span())

    def __rlshift__(self, other: Operand) -> Expr:
        return binary(BitShiftLeft, other, self, caller_span())

    def __rshift__(self, other: Operand) -> Expr:
        return binary(BitShiftRight, self, other, caller_span())

    def __rrshift__(self, other: Operand) -> Expr:
        return binary(BitShiftRight, other, self, caller_span())

    def __neg__(self) -> Expr:
        return unary(Neg, self, caller_span())

    def __invert__(self) -> Expr:
        return unary(BitNot, self, caller_span())

    def __abs__(self) -> Expr:
        return unary(Abs, self, caller_span())

    __hash__ = object.__hash__


put_type: Final = setter(Expr, "type")

Operand: TypeAlias = "Expr | int | float"


class Var(Expr, metaclass=NodeMeta):
    """A variable, identified by the object and not by its name."""

    name: str = ignored()
    type: Type
    span: Span = ignored()

    def __init__(self, name: str, type: Type, span: Span = UNKNOWN_SPAN) -> None:
        if name.__class__ is not str or not isinstance(type, Type):  # pyright: ignore[reportUnnecessaryIsInstance]
            _check_variable(name, type)
        put_name(self, name)
        put_type(self, type)
        put_span(self, span if span.__class__ is Span else not_a_span(self, span))


put_name: Final = setter(Var, "name")


class IterArg(Var, metaclass=NodeMeta):
    """A value that a loop carries: ``initValue`` at first, then what the body yields."""

    initValue: Expr

    def __init__(
        self, name: str, type: Type, initValue: Operand, span: Span = UNKNOWN_SPAN
    ) -> None:
        if name.__class__ is not str or not isinstance(type, Type):  # pyright: ignore[reportUnnecessaryIsInstance]
            _check_variable(name, type)
        put_name(self, name)
        put_type(self, type)
        _put(self, "initValue", as_expr(initValue))
        put_span(self, span if span.__class__ is Span else not_a_span(self, span))


class ConstInt(Expr, metaclass=NodeMeta):
    """An integer constant that fits 64 bits, signed."""

    value: int

    def __init__(
        self, value: int, dtype: DataType = DataType.INDEX, span: Span = UNKNOWN_SPAN
    ) -> None:
        if type(value) is not int:
            value = int(operator.index(value))
        if not -_MOST <= value < _MOST:
            text = number_text(value).replace("of", "one of")
            raise TypeError(f"a constant is a signed 64-bit integer, {text} needs more bits")
        _put_int(self, value)
        put_type(self, scalar_type(dtype))
        put_span(self, span if span.__class__ is Span else not_a_span(self, span))

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return scalar_dtype(self)


_put_int: Final = setter(ConstInt, "value")
_MOST: Final = 1 << 63


class ConstFloat(Expr, metaclass=NodeMeta):
    """A floating-point constant."""

    value: float

    def __init__(
        self, value: float, dtype: DataType = DataType.FP32, span: Span = UNKNOWN_SPAN
    ) -> None:
        _put(self, "value", float(value))
        _put(self, "type", scalar_type(dtype))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return scalar_dtype(self)


class ConstBool(Expr, metaclass=NodeMeta):
    """True or False."""

    value: bool

    def __init__(self, value: bool, span: Span = UNKNOWN_SPAN) -> None:
        _put(self, "value", bool(value))
        _put(self, "type", scalar_type(DataType.BOOL))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return DataType.BOOL


# The value of a scalar operation, from the Python values of its operands.
BinaryFold: TypeAlias = Callable[[Any, Any], Any]
UnaryFold: TypeAlias = Callable[[Any], Any]


class BinaryExpr(Expr, metaclass=NodeMeta):
    """Base of scalar operations on two operands."""

    left: Expr
    right: Expr

    symbol: ClassVar[str]  # infix text, or the name of a function when `precedence` is CALL
    precedence: ClassVar[int]
    fold: ClassVar[BinaryFold]
    integers_only: ClassVar[bool]  # refuses floats

    def __init_subclass__(
        cls, *, symbol: str, precedence: int, fold: BinaryFold, integers_only: bool = False
    ) -> None:
        super().__init_subclass__()
        cls.integers_only = integers_only
        cls.symbol = symbol
        cls.precedence = precedence
        cls.fold = staticmethod(fold)

    def __init__(
        self, left: Operand, right: Operand, dtype: DataType, span: Span = UNKNOWN_SPAN
    ) -> None:
        if self.__class__ is BinaryExpr:
            raise TypeError("BinaryExpr is abstract: use a subclass such as Add")
        _put(self, "left", left if isinstance(left, Expr) else as_expr(left))
        _put(self, "right", right if isinstance(right, Expr) else as_expr(right))
        _put(self, "type", scalar_type(dtype))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))

    @property
    def dtype(self) -> DataType:
        """The element type of the result."""
        return scalar_dtype(self)


class UnaryExpr(Expr, metaclass=NodeMeta):
    """Base of scalar operations on one operand."""

    operand: Expr

    symbol: ClassVar[str]  # infix text, or the name of a function when `precedence` is CALL
    precedence: ClassVar[int]
    fold: ClassVar[UnaryFold]
    integers_only: ClassVar[bool]  # refuses floats and BOOL

    def __init_subclass__(
        cls, *, symbol: str, precedence: int, fold: UnaryFold, integers_only: bool = False
    ) -> None:
        super().__init_subclass__()
        cls.integers_only = integers_only
        cls.symbol = symbol
        cls.precedence = precedence
        cls.fold = staticmethod(fold)

    def __init__(self, operand: Operand, dtype: DataType, span: Span = UNKNOWN_SPAN) -> None:
        if self.__class__ is UnaryExpr:
            raise TypeError("UnaryExpr is abstract: use a subclass such as Neg")
        _put(self, "operand", as_expr(operand))
        _put(self, "type", scalar_type(dtype))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))

    @property
    def dtype(self) -> DataType:
        """The element type of the result."""
        return scalar_dtype(self)


# Precedence of printed text, low to high; a child below its parent is parenthesised.
OR, XOR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, TERM, SIGN, POWER, CALL, ATOM = (
    range(15)
)


def _both(a: Any, b: Any) -> bool:
    return bool(a) and bool(b)


def _either(a: Any, b: Any) -> bool:
    return bool(a) or bool(b)


def _one(a: Any, b: Any) -> bool:
    return bool(a) != bool(b)


class Add(BinaryExpr, metaclass=NodeMeta, symbol="+", precedence=SUM, fold=lambda a, b: a + b):
    """The sum."""


class Sub(BinaryExpr, metaclass=NodeMeta, symbol="-", precedence=SUM, fold=lambda a, b: a - b):
    """The difference."""


class Mul(BinaryExpr, metaclass=NodeMeta, symbol="*", precedence=TERM, fold=lambda a, b: a * b):
    """The product."""


class FloatDiv(
    BinaryExpr, metaclass=NodeMeta, symbol="/", precedence=TERM, fold=lambda a, b: a / b
):
    """The quotient, not rounded."""


class FloorDiv(
    BinaryExpr, metaclass=NodeMeta, symbol="//", precedence=TERM, fold=lambda a, b: a // b
):
    """The quotient, rounded toward minus infinity."""


class FloorMod(
    BinaryExpr, metaclass=NodeMeta, symbol="%", precedence=TERM, fold=lambda a, b: a % b
):
    """The remainder, with the divisor's sign."""


class Pow(BinaryExpr, metaclass=NodeMeta, symbol="**", precedence=POWER, fold=lambda a, b: a**b):
    """The power."""


class Min(BinaryExpr, metaclass=NodeMeta, symbol="min", precedence=CALL, fold=min):
    """The smaller."""


class Max(BinaryExpr, metaclass=NodeMeta, symbol="max", precedence=CALL, fold=max):
    """The larger."""


class Eq(BinaryExpr, metaclass=NodeMeta, symbol="==", precedence=COMPARE, fold=lambda a, b: a == b):
    """True if equal."""


class Ne(BinaryExpr, metaclass=NodeMeta, symbol="!=", precedence=COMPARE, fold=lambda a, b: a != b):
    """True if not equal."""


class Lt(BinaryExpr, metaclass=NodeMeta, symbol="<", precedence=COMPARE, fold=lambda a, b: a < b):
    """True if less."""


class Le(BinaryExpr, metaclass=NodeMeta, symbol="<=", precedence=COMPARE, fold=lambda a, b: a <= b):
    """True if less or equal."""


class Gt(BinaryExpr, metaclass=NodeMeta, symbol=">", precedence=COMPARE, fold=lambda a, b: a > b):
    """True if greater."""


class Ge(BinaryExpr, metaclass=NodeMeta, symbol=">=", precedence=COMPARE, fold=lambda a, b: a >= b):
    """True if greater or equal."""


class And(BinaryExpr, metaclass=NodeMeta, symbol="and", precedence=AND, fold=_both):
    """Logical and."""


class Or(BinaryExpr, metaclass=NodeMeta, symbol="or", precedence=OR, fold=_either):
    """Logical or."""


class Xor(BinaryExpr, metaclass=NodeMeta, symbol="xor", precedence=XOR, fold=_one):
    """Logical exclusive or."""


class BitAnd(
    BinaryExpr,
    metaclass=NodeMeta,
    symbol="&",
    precedence=BIT_AND,
    fold=lambda a, b: a & b,
    integers_only=True,
):
    """Bits that are in both."""


class BitOr(
    BinaryExpr,
    metaclass=NodeMeta,
    symbol="|",
    precedence=BIT_OR,
    fold=lambda a, b: a | b,
    integers_only=True,
):
    """Bits that are in one or both."""


class BitXor(
    BinaryExpr,
    metaclass=NodeMeta,
    symbol="^",
    precedence=BIT_XOR,
    fold=lambda a, b: a ^ b,
    integers_only=True,
):
    """Bits that are in one of the two."""


class BitShiftLeft(
    BinaryExpr,
    metaclass=NodeMeta,
    symbol="<<",
    precedence=SHIFT,
    fold=lambda a, b: a << b,
    integers_only=True,
):
    """The bits shifted left."""


class BitShiftRight(
    BinaryExpr,
    metaclass=NodeMeta,
    symbol=">>",
    precedence=SHIFT,
    fold=lambda a, b: a >> b,
    integers_only=True,
):
    """The bits shifted right; the sign is kept."""


class Abs(UnaryExpr, metaclass=NodeMeta, symbol="abs", precedence=CALL, fold=abs):
    """The magnitude."""


class Neg(UnaryExpr, metaclass=NodeMeta, symbol="-", precedence=SIGN, fold=lambda a: -a):
    """The negative."""


class Not(UnaryExpr, metaclass=NodeMeta, symbol="not ", precedence=NOT, fold=lambda a: not a):
    """Logical not."""


class BitNot(
    UnaryExpr,
    metaclass=NodeMeta,
    symbol="~",
    precedence=SIGN,
    fold=lambda a: ~a,
    integers_only=True,
):
    """All bits inverted."""


class Cast(UnaryExpr, metaclass=NodeMeta, symbol="cast", precedence=CALL, fold=lambda x: x):
    """The operand as another element type."""


def _with_precedence(*levels: int) -> tuple[type[BinaryExpr], ...]:
    return tuple(cls for cls in BinaryExpr.__subclasses__() if cls.precedence in levels)


COMPARISONS: Final = _with_precedence(COMPARE)
LOGICAL: Final = _with_precedence(AND, OR, XOR)


class MakeTuple(Expr, metaclass=NodeMeta):
    """Several values as one."""

    elements: tuple[Expr, ...]

    def __init__(self, elements: Sequence[Operand], span: Span = UNKNOWN_SPAN) -> None:
        items = as_exprs(elements)
        _put_elements(self, items)
        put_type(self, _tuple_type(items))
        put_span(self, span if span.__class__ is Span else not_a_span(self, span))


_put_elements: Final = setter(MakeTuple, "elements")


def _tuple_type(items: Sequence[Expr]) -> TupleType:
    """Return the type of a tuple; lists of equally many INDEX numbers share one object."""
    for item in items:
        if item.type is not INDEX:
            return TupleType(tuple([item.type for item in items]))
    found = _INDEX_TUPLES.get(len(items))
    if found is None:
        if len(_INDEX_TUPLES) >= _MOST_TUPLES:
            _INDEX_TUPLES.clear()
        found = _INDEX_TUPLES[len(items)] = TupleType((INDEX,) * len(items))
    return found


_MOST_TUPLES: Final = 64
_INDEX_TUPLES: Final[dict[int, TupleType]] = {}


class TupleGetItemExpr(Expr, metaclass=NodeMeta):
    """Element ``index`` (constant) of a tuple."""

    tuple: Expr
    index: int

    def __init__(self, tuple: Expr, index: int, span: Span = UNKNOWN_SPAN) -> None:
        kind = tuple.type
        if not isinstance(kind, TupleType):
            raise ValueError(f"an item is read from a value of {kind}, which is not a tuple")
        if not 0 <= index < len(kind.types):
            raise ValueError(f"index {index} is outside a tuple of {len(kind.types)}")
        _put(self, "tuple", tuple)
        _put(self, "index", index)
        _put(self, "type", kind.types[index])
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))


class Op(Node, metaclass=NodeMeta):
    """Something that can be called. Registered ops are of a subclass that holds the facts."""

    name: str

    def __init__(self, name: str) -> None:
        check_class("the name of an op", name, str)
        _put(self, "name", name)

    __hash__ = object.__hash__

    @property
    def pipe(self) -> Any:
        """The pipe that executes the op, None for an unregistered op."""
        return None

    def has_attr(self, key: str) -> bool:
        """True if the op declares keyword ``key``."""
        return key in self.get_attr_keys()

    def get_attr_keys(self) -> list[str]:
        """Return the keywords that the op declares."""
        return []


class GlobalVar(Op, metaclass=NodeMeta):
    """A function of the program, as the callee of a `Call`."""


class Call(Expr, metaclass=NodeMeta):
    """One use of an op or function: positional expressions and constant keywords."""

    op: Op
    args: tuple[Expr, ...]
    kwargs: Mapping[str, Any]

    def __init__(self, op: Op, args: Sequence[Operand], *rest: Any, **named: Any) -> None:
        kwargs: Mapping[str, Any] = named.pop("kwargs", None) or {}
        kind: Type | None = named.pop("type", None)
        span: Span = named.pop("span", UNKNOWN_SPAN)
        if named:
            raise TypeError(f"Call has no parameter {next(iter(named))!r}")
        for item in rest:
            if item.__class__ is Span:
                span = item
            elif isinstance(item, Type):
                kind = item
            elif isinstance(item, Mapping):
                kwargs = cast("Mapping[str, Any]", item)
            else:
                raise TypeError(f"Call takes kwargs, a type and a span, got {item!r}")
        check_class("what is called", op, Op)
        for key, value in kwargs.items():
            if value.__class__ not in _KEYWORD_CLASSES:
                check_keyword(key, value)
        _put_op(self, op)
        _put_args(self, as_exprs(args))
        _put_kwargs(self, Keywords(kwargs) if kwargs else NO_KEYWORDS)
        put_type(self, UnknownType.get() if kind is None else kind)
        put_span(self, span if span.__class__ is Span else not_a_span(self, span))


_put_op: Final = setter(Call, "op")
_put_args: Final = setter(Call, "args")
_put_kwargs: Final = setter(Call, "kwargs")
_KEYWORD_CLASSES: Final = frozenset(
    {bool, int, float, str, NoneType, DataType, MemorySpace, PipeType}
)
"""Classes of most keyword values; `check_keyword` knows the rest."""

CONSTANTS: Final[frozenset[type]] = frozenset({ConstInt, ConstFloat, ConstBool})


def _check_variable(name: object, kind: object) -> None:
    check_class("the name of a variable", name, str)
    check_class("the type of a variable", kind, Type)


def check_keyword(key: object, value: object) -> None:
    """Check a keyword of a call: numbers, strings, enumerations, nodes, lists and dicts of these.

    Raises:
        TypeError: the value is of another class.
    """
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple | list):
            stack += cast("Sequence[object]", item)
        elif isinstance(item, Mapping):
            stack += cast("Mapping[object, object]", item).values()
        elif not isinstance(item, bool | int | float | str | NoneType | DataType | Enum | Node):
            raise TypeError(
                f"keyword {key!r} is a number, text, enumeration, DataType, node, list or dict, "
                f"got {type(item).__name__}"
            )


def as_expr(value: Any, span: Span = UNKNOWN_SPAN) -> Expr:
    """Return ``value`` as an expression; ints become INDEX, floats FP32, bools BOOL constants."""
    if value.__class__ is int:
        return ConstInt(value, DataType.INDEX, span)
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return ConstBool(value, span)
    if isinstance(value, int):
        return ConstInt(value, DataType.INDEX, span)
    if isinstance(value, float):
        return ConstFloat(value, DataType.FP32, span)
    if hasattr(value, "__index__"):
        return ConstInt(operator.index(value), DataType.INDEX, span)
    raise TypeError(f"an expression, int or float was wanted, got {type(value).__name__}")


def as_exprs(values: Sequence[Any]) -> tuple[Expr, ...]:
    """Return ``values`` as expressions; a tuple of expressions is returned itself."""
    given: Any = values
    if given.__class__ is tuple:
        for value in given:
            if not isinstance(value, Expr):
                break
        else:
            return given
    return tuple([v if isinstance(v, Expr) else as_expr(v) for v in values])


def const_value(expr: Expr) -> int | None:
    """Return the value of an integer constant, None for anything else."""
    return expr.value if isinstance(expr, ConstInt) else None


# --------------------------------------------------------------------------------------------
# Scalar operators
# --------------------------------------------------------------------------------------------


def caller_span(depth: int = 2) -> Span:
    """Return file and line of the caller's caller."""
    frame = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
    return Span(frame.f_code.co_filename, frame.f_lineno, -1)


class Symbol:
    """A named size: what kernels write for a variable that Python code computes with, too."""

    __slots__ = ()
    var: Var


def _number(value: Any, span: Span) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, Symbol):
        return value.var
    if isinstance(value, bool):
        return ConstInt(int(value), DataType.INDEX, span)
    if isinstance(value, int | float):
        return as_expr(value, span)
    raise TypeError(f"an operand is an expression, int or float, got {type(value).__name__}")


def scalar_dtype(expr: Expr) -> DataType:
    """Return the element type of a scalar."""
    if not isinstance(expr.type, ScalarType):
        raise TypeError(f"scalar operators take scalars, got a value of {type(expr.type).__name__}")
    return expr.type.dtype


def binary(kind: type[BinaryExpr], left: Any, right: Any, span: Span = UNKNOWN_SPAN) -> BinaryExpr:
    """Build ``kind`` with promoted operands: the wider type wins, the left one on a tie.

    Raises:
        TypeError: an operand is not a scalar, BOOL is used in arithmetic, int is mixed with
            float, or an operator on integers is applied to floats.
    """
    lhs, rhs = _number(left, span), _number(right, span)
    a, b = scalar_dtype(lhs), scalar_dtype(rhs)
    if kind in LOGICAL:
        return kind(lhs, rhs, DataType.BOOL, span)
    if a is DataType.BOOL or b is DataType.BOOL:
        if a is b and kind in (Eq, Ne):
            return kind(lhs, rhs, DataType.BOOL, span)
        raise TypeError(f"'{kind.symbol}' does not take BOOL operands")
    if a.is_float() != b.is_float():
        raise TypeError(f"'{kind.symbol}' takes two ints or two floats, got {a} and {b}")
    if kind.integers_only and a.is_float():
        raise TypeError(f"'{kind.symbol}' takes integers, got {a} and {b}")
    common = a if a.get_bit() >= b.get_bit() else b
    lhs = lhs if a is common else Cast(lhs, common, span)
    rhs = rhs if b is common else Cast(rhs, common, span)
    return kind(lhs, rhs, DataType.BOOL if kind in COMPARISONS else common, span)


def unary(kind: type[UnaryExpr], operand: Any, span: Span = UNKNOWN_SPAN) -> UnaryExpr:
    """Build ``kind`` on a scalar.

    Raises:
        TypeError: the operand is not a scalar, or one on integers is a float or BOOL.
    """
    value = _number(operand, span)
    dtype = scalar_dtype(value)
    if kind.integers_only and not dtype.is_int():
        raise TypeError(f"'{kind.symbol}' takes integers, got {dtype}")
    if kind is Not:
        return kind(value, DataType.BOOL, span)
    return kind(value, dtype, span)
