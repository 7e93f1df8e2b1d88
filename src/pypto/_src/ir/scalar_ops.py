"""The scalar operators, one row each: all that any part of the compiler asks about one.

Owns symbols, meaning and the spellings in C++, PTO MLIR and the host's C++. The classes of the
nodes are in `exprs`; printers, readers, the interpreter, folding and emitters look here. What is
special about one target, such as that it has no sum of floats, is with that target.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from pypto._src.errors import EvaluationError
from pypto._src.ir.exprs import (
    CALL,
    Abs,
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Cast,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    Sub,
    UnaryExpr,
    Xor,
)
from pypto._src.lazy import lazy_module
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

_Python: Any = operator  # the stub knows no types of some

Meaning = Callable[..., Any]
"""What an operator computes on Python numbers, before the result is brought to its type."""


class Interval(NamedTuple):
    """The least and the greatest number that a value can have."""

    low: int
    high: int


class Arith(NamedTuple):
    """An operation of MLIR's dialect `arith`, or the predicate of a comparison, by kind of type."""

    signed: str = ""
    unsigned: str = ""
    real: str = ""
    wraps: bool = False  # the assembler's C++ for it holds the result as unsigned


class ScalarOp(NamedTuple):
    """One operator; its symbol, precedence and Python meaning are those of the class `node`.

    An operator that is expanded for targets has a ``decomposition``, and no spelling.
    """

    node: type[BinaryExpr] | type[UnaryExpr]
    mnemonic: str
    """The name in the statement form, after ``tensor.OP_SCALAR_``."""
    syntax: str = ""
    """The class in Python's `ast`, if Python has it as an operator."""
    python: Callable[..., Any] | None = None
    """The meaning on Python values that a kernel computes with; that of the node unless given."""
    on_tiles: str = ""
    """The op that the operator stands for on tiles and tensors: ``add`` for `pl.add`."""
    on_integers: Meaning | None = None
    """The meaning on integers; that of the node unless given."""
    on_floats: Meaning | None = None
    """The meaning on floats; that of the node unless given."""
    cpp: str = ""
    """The C++ operator, with the same precedence as in C++."""
    cpp_integers: str = ""
    """The function on integers in a kernel's C++, where there is no such operator."""
    cpp_floats: str = ""
    """The function on floats in a kernel's C++, where there is no such operator."""
    on_itself: str = ""
    """The C++ text for an integer compared with itself."""
    arith: Arith | None = None
    host: str = ""
    """The function in `pto/runtime/api.hpp`, where ``cpp`` does not have Python's meaning."""
    interval: Callable[[Interval, Interval], Interval | None] | None = None
    """The range of the result, None where it is not known."""
    divides: bool = False
    """Dividing an integer by zero is an error."""
    can_fail: bool = False
    """Some operands cause an error, or have no result in C++."""
    is_shared: bool = False
    """A kernel's C++ computes it once for the same operands."""
    high_bits: bool = True
    """The low bits of the result depend on all bits of the operands."""
    grows: bool = True
    """The result may need more bits than the operands."""
    decomposition: Callable[..., Expr] | None = None
    """Returns the expression that replaces the node on targets."""


# --------------------------------------------------------------------------------------------
# Meaning
# --------------------------------------------------------------------------------------------


def _no_zero(value: Any, symbol: str) -> None:
    if value == 0:
        raise EvaluationError(f"'{symbol}' by zero", slug="division-by-zero")


def _int_divide(a: int, b: int) -> int:
    _no_zero(b, "/")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _int_floor_divide(a: int, b: int) -> int:
    _no_zero(b, "//")
    return a // b


def _int_modulo(a: int, b: int) -> int:
    _no_zero(b, "%")
    return a % b


def _divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _floor_divide(a: float, b: float) -> float:
    quotient = _divide(a, b)
    return float(math.floor(quotient)) if math.isfinite(quotient) else quotient


def _modulo(a: float, b: float) -> float:
    if b == 0 or math.isinf(a) or math.isnan(a) or math.isnan(b):
        return math.nan
    return a % b


def _int_power(a: int, b: int) -> int:
    if b < 0:
        raise EvaluationError(f"'**' of integers with exponent {b}", slug="negative-exponent")
    return pow(a, b, 1 << 64) if a >= 0 else pow(-a, b, 1 << 64) * (-1 if b % 2 else 1)


def _power(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) ** np.float64(b))


def _float_min(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


def _float_max(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def _sum(a: Interval, b: Interval) -> Interval:
    return Interval(a.low + b.low, a.high + b.high)


def _difference(a: Interval, b: Interval) -> Interval:
    return Interval(a.low - b.high, a.high - b.low)


def _smaller(a: Interval, b: Interval) -> Interval:
    return Interval(min(a.low, b.low), min(a.high, b.high))


def _larger(a: Interval, b: Interval) -> Interval:
    return Interval(max(a.low, b.low), max(a.high, b.high))


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return Interval(min(corners), max(corners))


def _quotient(a: Interval, b: Interval) -> Interval | None:
    return Interval(a.low // b.low, a.high // b.low) if b.low == b.high > 0 else None


def _remainder(a: Interval, b: Interval) -> Interval | None:
    if b.low <= 0:
        return None
    return a if a.low >= 0 and a.high < b.low else Interval(0, b.high - 1)


# --------------------------------------------------------------------------------------------
# Rows
# --------------------------------------------------------------------------------------------

ROWS: Final = (
    ScalarOp(Not, "NOT", "Not", _Python.not_, "", cpp="!"),
    ScalarOp(Neg, "NEG", "USub", _Python.neg, "neg", cpp="-", high_bits=False),
    ScalarOp(
        Add,
        "ADD",
        "Add",
        _Python.add,
        "add",
        cpp="+",
        arith=Arith("addi", "addi", wraps=True),
        interval=_sum,
        is_shared=True,
        high_bits=False,
    ),
    ScalarOp(
        Sub,
        "SUB",
        "Sub",
        _Python.sub,
        "sub",
        cpp="-",
        arith=Arith("subi", "subi", "subf", wraps=True),
        interval=_difference,
        is_shared=True,
        high_bits=False,
    ),
    ScalarOp(
        Mul,
        "MUL",
        "Mult",
        _Python.mul,
        "mul",
        cpp="*",
        arith=Arith("muli", "muli", "mulf", wraps=True),
        interval=_product,
        is_shared=True,
        high_bits=False,
    ),
    ScalarOp(
        FloatDiv,
        "DIV",
        "Div",
        _Python.truediv,
        "div",
        _int_divide,
        _divide,
        cpp="/",
        arith=Arith(real="divf"),
        host="divide",
        divides=True,
        can_fail=True,
        high_bits=False,  # on floats
    ),
    ScalarOp(
        FloorMod,
        "MOD",
        "Mod",
        _Python.mod,
        "rem",
        _int_modulo,
        _modulo,
        cpp="%",  # on unsigned integers
        cpp_integers="floor_mod",
        cpp_floats="float_floor_mod",
        host="modulo",
        interval=_remainder,
        divides=True,
        can_fail=True,
        is_shared=True,
        grows=False,
    ),
    ScalarOp(
        BitAnd,
        "BITAND",
        "BitAnd",
        _Python.and_,
        "and_",
        cpp="&",
        arith=Arith("andi", "andi", wraps=True),
        is_shared=True,
        high_bits=False,
        grows=False,
    ),
    ScalarOp(
        BitOr,
        "BITOR",
        "BitOr",
        _Python.or_,
        "or_",
        cpp="|",
        arith=Arith("ori", "ori", wraps=True),
        is_shared=True,
        high_bits=False,
        grows=False,
    ),
    ScalarOp(
        BitXor,
        "BITXOR",
        "BitXor",
        _Python.xor,
        "xor",
        cpp="^",
        arith=Arith("xori", "xori", wraps=True),
        is_shared=True,
        high_bits=False,
        grows=False,
    ),
    ScalarOp(
        Eq,
        "EQ",
        "Eq",
        _Python.eq,
        cpp="==",
        on_itself="true",
        arith=Arith("eq", "eq", "oeq"),
    ),
    ScalarOp(
        Ne,
        "NE",
        "NotEq",
        _Python.ne,
        cpp="!=",
        on_itself="false",
        arith=Arith("ne", "ne", "une"),
    ),
    ScalarOp(
        Lt,
        "LT",
        "Lt",
        _Python.lt,
        cpp="<",
        on_itself="false",
        arith=Arith("slt", "ult", "olt"),
    ),
    ScalarOp(
        Le,
        "LE",
        "LtE",
        _Python.le,
        cpp="<=",
        on_itself="true",
        arith=Arith("sle", "ule", "ole"),
    ),
    ScalarOp(
        Gt,
        "GT",
        "Gt",
        _Python.gt,
        cpp=">",
        on_itself="false",
        arith=Arith("sgt", "ugt", "ogt"),
    ),
    ScalarOp(
        Ge,
        "GE",
        "GtE",
        _Python.ge,
        cpp=">=",
        on_itself="true",
        arith=Arith("sge", "uge", "oge"),
    ),
    ScalarOp(And, "AND", cpp="&&"),
    ScalarOp(Or, "OR", cpp="||"),
    ScalarOp(
        Min,
        "MIN",
        on_floats=_float_min,
        cpp_integers="int_min",
        cpp_floats="float_min",
        arith=Arith("minsi", "minui", "minimumf"),
        host="minimum",
        interval=_smaller,
        is_shared=True,
        grows=False,
    ),
    ScalarOp(
        Max,
        "MAX",
        on_floats=_float_max,
        cpp_integers="int_max",
        cpp_floats="float_max",
        arith=Arith("maxsi", "maxui", "maximumf"),
        host="maximum",
        interval=_larger,
        is_shared=True,
        grows=False,
    ),
    # Ours, for operators that the statement form's document does not list.
    ScalarOp(
        FloorDiv,
        "FLOORDIV",
        "FloorDiv",
        _Python.floordiv,
        "",
        _int_floor_divide,
        _floor_divide,
        cpp="/",  # on unsigned integers
        cpp_integers="floor_div",
        cpp_floats="float_floor_div",
        # The assembler expands a floor division into wrapping arithmetic.
        arith=Arith("floordivsi", "divui", wraps=True),
        host="floor_divide",
        interval=_quotient,
        divides=True,
        can_fail=True,
        is_shared=True,
        grows=False,
    ),
    ScalarOp(
        Pow,
        "POW",
        "Pow",
        _Python.pow,
        "",
        _int_power,
        _power,
        cpp_integers="int_pow",
        cpp_floats="float_pow",
        host="power",
        can_fail=True,
        high_bits=False,
    ),
    ScalarOp(Xor, "XOR", cpp="!="),
    ScalarOp(
        BitNot,
        "BITNOT",
        "Invert",
        _Python.invert,
        "not_",
        cpp="~",
        high_bits=False,
        grows=False,
    ),
    ScalarOp(
        BitShiftLeft,
        "BITSHIFTLEFT",
        "LShift",
        _Python.lshift,
        "shl",
        cpp="<<",
        arith=Arith("shli", "shli", wraps=True),
        host="shift_left",
        can_fail=True,
        high_bits=False,
    ),
    ScalarOp(
        BitShiftRight,
        "BITSHIFTRIGHT",
        "RShift",
        _Python.rshift,
        "shr",
        cpp=">>",
        arith=Arith("shrsi", "shrui"),
        host="shift_right",
        can_fail=True,
        grows=False,
    ),
    ScalarOp(Abs, "ABS", high_bits=False),
    ScalarOp(Cast, "CAST"),
)


def _binary(rows: Iterable[ScalarOp] = ROWS) -> dict[type[BinaryExpr], ScalarOp]:
    return {row.node: row for row in rows if issubclass(row.node, BinaryExpr)}


def _unary(rows: Iterable[ScalarOp] = ROWS) -> dict[type[UnaryExpr], ScalarOp]:
    return {row.node: row for row in rows if issubclass(row.node, UnaryExpr)}


BINARY: Final = _binary()
UNARY: Final = _unary()
BINARY_FUNCTIONS: Final = {node.symbol: node for node in BINARY if node.precedence == CALL}
"""What Python writes as a call with two operands: ``min``."""
UNARY_FUNCTIONS: Final = {
    node.symbol: node for node in UNARY if node.precedence == CALL and node is not Cast
}
"""What Python writes as a call with one operand: ``abs``."""
DECOMPOSED: Final[dict[type, Callable[..., Expr]]] = {
    row.node: row.decomposition for row in ROWS if row.decomposition is not None
}


def decomposed(expr: Expr) -> Expr:
    """Return the expansion of an operator for targets: itself if its row has no decomposition."""
    while expr.__class__ in DECOMPOSED:
        parts = DECOMPOSED[expr.__class__]
        if isinstance(expr, BinaryExpr):
            expr = parts(expr.left, expr.right)
        elif isinstance(expr, UnaryExpr):
            expr = parts(expr.operand)
    return expr
