"""How PTO ISA C++ spells types, shapes, pipes and scalar expressions. No state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import EmitError
from pypto._src.ir.enums import MemorySpace, PipeType, TileLayout, TilePad
from pypto._src.ir.nodes import (
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
    ConstBool,
    ConstFloat,
    ConstInt,
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
    TileType,
    UnaryExpr,
    Var,
    Xor,
    dtype_of,
)
from pypto._src.ops.layout import effective_view

TILE_TYPES: Final = {
    MemorySpace.Vec: "Vec",
    MemorySpace.Mat: "Mat",
    MemorySpace.Left: "Left",
    MemorySpace.Right: "Right",
    MemorySpace.Acc: "Acc",
    MemorySpace.Bias: "Bias",
}
_LAYOUT_NAMES: Final = {
    TileLayout.none_box: "NoneBox",
    TileLayout.row_major: "RowMajor",
    TileLayout.col_major: "ColMajor",
}


def c_type(dtype: DataType) -> str:
    """Return the C++ type of an element.

    Raises:
        EmitError: the tile library has none (slug ``emit-dtype``).
    """
    if dtype.c_type == "unknown":
        raise EmitError(f"C++ kernels have no elements of {dtype.member}", slug="emit-dtype")
    return dtype.c_type


def five(dims: Sequence[Any], fill: Any = 1) -> list[Any]:
    """Return dimensions filled up to five with leading ones.

    Raises:
        EmitError: more than five dimensions.
    """
    if len(dims) > 5:
        raise EmitError(f"a tensor has {len(dims)} dimensions; kernels take up to 5", slug="rank")
    return [fill] * (5 - len(dims)) + list(dims)


def shape_text(dims: Sequence[Any]) -> str:
    """Return ``Shape<1, 1, 1, 128, 64>``."""
    return f"Shape<{', '.join(str(d) for d in five(dims))}>"


def stride_text(strides: Sequence[Any]) -> str:
    """Return ``Stride<1, 1, 1, 64, 1>`` for strides in elements, outermost first."""
    return f"Stride<{', '.join(str(s) for s in five(strides))}>"


def row_major(dims: Sequence[int]) -> list[int]:
    """Return the strides in elements of a dense array."""
    strides = [1] * len(dims)
    for axis in range(len(dims) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * dims[axis + 1]
    return strides


def tile_text(kind: TileType, space: MemorySpace, rows: int, cols: int) -> str:
    """Return the ``Tile<...>`` class of a tile; plain row-major vector tiles in the short form."""
    view = effective_view(kind, space)
    text = (
        f"Tile<TileType::{TILE_TYPES[space]}, {c_type(kind.dtype)}, {rows}, {cols}, "
        f"BLayout::{_LAYOUT_NAMES[view.blayout]}, -1, -1"
    )
    plain = (
        view.blayout is TileLayout.row_major
        and view.slayout is TileLayout.none_box
        and view.fractal == 512
    )
    if plain and view.pad is TilePad.null:
        return f"{text}>"
    pad = "" if view.pad is TilePad.null else f", PadValue::{view.pad.name.capitalize()}"
    return f"{text}, SLayout::{_LAYOUT_NAMES[view.slayout]}, {view.fractal}{pad}>"


def bit_cast_lines(name: str, dtype: DataType, word: str) -> list[str]:
    """Return the lines that unpack scalar parameter ``name`` from an argument word."""
    kind = c_type(dtype)
    if dtype is DataType.BOOL:
        return [f"bool {name} = {word} != 0;"]
    if dtype is DataType.INT64:
        return [f"int64_t {name} = {word};"]
    if not dtype.is_float():
        return [f"{kind} {name} = static_cast<{kind}>({word});"]
    return [
        f"union {{ int64_t word; {kind} value; }} {name}_bits;",
        f"{name}_bits.word = {word};",
        f"{kind} {name} = {name}_bits.value;",
    ]


def pipe_text(pipe: PipeType) -> str:
    """Return ``PIPE_V`` for a pipe."""
    return f"PIPE_{PipeType(pipe).name}"


# Scalar expressions. Higher binds tighter, as in C++.
_ATOM, _UNARY, _MUL, _ADD, _SHIFT, _ORDER, _EQUAL, _BAND, _BXOR, _BOR, _LAND, _LOR, _COND = range(
    13, 0, -1
)
_INFIX: Final[dict[type[BinaryExpr], tuple[str, int]]] = {
    Mul: ("*", _MUL),
    FloatDiv: ("/", _MUL),
    Add: ("+", _ADD),
    Sub: ("-", _ADD),
    BitShiftLeft: ("<<", _SHIFT),
    BitShiftRight: (">>", _SHIFT),
    Lt: ("<", _ORDER),
    Le: ("<=", _ORDER),
    Gt: (">", _ORDER),
    Ge: (">=", _ORDER),
    Eq: ("==", _EQUAL),
    Ne: ("!=", _EQUAL),
    Xor: ("!=", _EQUAL),
    BitAnd: ("&", _BAND),
    BitXor: ("^", _BXOR),
    BitOr: ("|", _BOR),
    And: ("&&", _LAND),
    Or: ("||", _LOR),
}

_HELPER_NAMES: Final[dict[type[BinaryExpr], str]] = {
    FloorDiv: "floor_div",
    FloorMod: "floor_mod",
    Pow: "int_pow",
}
_INNER: Final = {
    **dict.fromkeys((_SHIFT, _BAND, _BXOR, _BOR), _UNARY),
    **dict.fromkeys((_ORDER, _EQUAL), _ADD),
    **dict.fromkeys((_LAND, _LOR), _EQUAL),
}
"""How tightly an operand binds that needs no parentheses, where compilers warn about precedence."""


def _inner(level: int) -> int:
    return _INNER.get(level, level)


def _chains(kind: type[BinaryExpr], left: Expr) -> bool:
    """True if ``left`` may stand before another ``kind`` as in ``a + b + c``."""
    return type(left) is kind or kind in (Add, Sub, Mul, FloatDiv)


FLOOR_HELPERS: Final = {
    "floor_div": (
        "static inline __aicore__ int64_t floor_div(int64_t a, int64_t b)",
        "{",
        "    int64_t q = a / b;",
        "    return (q * b != a && (a < 0) != (b < 0)) ? q - 1 : q;",
        "}",
    ),
    "floor_mod": (
        "static inline __aicore__ int64_t floor_mod(int64_t a, int64_t b)",
        "{",
        "    int64_t r = a % b;",
        "    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;",
        "}",
    ),
    "int_pow": (
        "static inline __aicore__ int64_t int_pow(int64_t a, int64_t n)",
        "{",
        "    uint64_t result = 1, base = static_cast<uint64_t>(a);",
        "    for (; n > 0; n >>= 1) {",
        "        if (n & 1) { result *= base; }",
        "        base *= base;",
        "    }",
        "    return static_cast<int64_t>(result);",
        "}",
    ),
}
"""C++ has no floor division, no floor remainder and no integer power: text of our own."""


class ScalarText:
    """Writes scalar expressions as C++; remembers which helper functions they need."""

    def __init__(self, name_of: Callable[[Var], str]) -> None:
        self._name_of = name_of
        self.helpers: dict[str, None] = {}

    def text(self, expr: Expr, parent: int = 0) -> str:
        """Return ``expr`` in parentheses if it binds less tightly than ``parent``."""
        text, level = self._parts(expr)
        return f"({text})" if level < parent else text

    def _parts(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Var():
                return self._name_of(expr), _ATOM
            case ConstBool():
                return ("true" if expr.value else "false"), _ATOM
            case ConstInt():
                return _integer(expr), _ATOM if expr.value >= 0 else _UNARY
            case ConstFloat():
                return _floating(expr), _ATOM if expr.value >= 0 else _UNARY
            case BinaryExpr():
                return self._binary(expr)
            case UnaryExpr():
                return self._unary(expr)
            case _:
                raise EmitError(
                    f"a kernel cannot compute {type(expr).__name__} as a scalar", slug="emit"
                ).at(expr.span)

    def _binary(self, expr: BinaryExpr) -> tuple[str, int]:
        kind = type(expr)
        if kind in (FloorDiv, FloorMod, Pow):
            return self._helper(expr)
        if kind in (Min, Max):
            a, b = self.text(expr.left, _ORDER + 1), self.text(expr.right, _ORDER + 1)
            return f"{a} {'<' if kind is Min else '>'} {b} ? {a} : {b}", _COND
        symbol, level = _INFIX[kind]
        left = self.text(expr.left, level if _chains(kind, expr.left) else _inner(level))
        right = self.text(expr.right, max(level + 1, _inner(level)))
        text = f"{left} {symbol} {right}"
        # Narrow integers are computed as int in C++: cut the result back to its own width.
        if expr.dtype.is_int() and expr.dtype.get_bit() < 32:
            return f"static_cast<{c_type(expr.dtype)}>({text})", _ATOM
        return text, level

    def _helper(self, expr: BinaryExpr) -> tuple[str, int]:
        dtype, kind = dtype_of(expr), type(expr)
        if dtype.is_float():
            raise EmitError(
                f"a kernel has no scalar '{expr.symbol}' on floats",
                hint="compute it in the orchestration and pass it as a pl.Scalar",
                slug="emit",
            ).at(expr.span)
        left, right = self.text(expr.left, _MUL), self.text(expr.right, _MUL + 1)
        if dtype.is_unsigned_int() and kind is not Pow:
            return f"{left} {'/' if kind is FloorDiv else '%'} {right}", _MUL
        name = _HELPER_NAMES[kind]
        self.helpers[name] = None
        call = f"{name}({self.text(expr.left)}, {self.text(expr.right)})"
        return (call if dtype is DataType.INT64 else f"static_cast<{c_type(dtype)}>({call})"), _ATOM

    def _unary(self, expr: UnaryExpr) -> tuple[str, int]:
        match expr:
            case Cast():
                return f"static_cast<{c_type(expr.dtype)}>({self.text(expr.operand)})", _ATOM
            case Neg():
                return f"-{self.text(expr.operand, _UNARY + 1)}", _UNARY
            case Not():
                return f"!{self.text(expr.operand, _UNARY)}", _UNARY
            case BitNot():
                return f"~{self.text(expr.operand, _UNARY)}", _UNARY
            case Abs():
                value = self.text(expr.operand, _UNARY + 1)
                return f"{value} < 0 ? -{value} : {value}", _COND
            case _:
                raise EmitError(f"a kernel has no scalar {type(expr).__name__}").at(expr.span)


def _integer(expr: ConstInt) -> str:
    value = expr.value
    if value == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    suffix = "" if -(1 << 31) <= value < 1 << 31 else "LL"
    return f"{value}{suffix}"


def _floating(expr: ConstFloat) -> str:
    value, dtype = expr.value, expr.dtype
    if math.isnan(value):
        text = "(0.0f / 0.0f)"
    elif math.isinf(value):
        text = "(1.0f / 0.0f)" if value > 0 else "(-1.0f / 0.0f)"
    else:
        text = repr(value) + ("" if dtype is DataType.FP64 else "f")
    if dtype in (DataType.FP32, DataType.FP64):
        return text
    return f"static_cast<{c_type(dtype)}>({text})"
