"""How PTO ISA C++ spells types, shapes, pipes and scalar expressions. No state."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.emit.writer import RUN_PASSES
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TileType, dtype_of
from pypto._src.ir.enums import MemorySpace, PipeType, TileLayout, TilePad
from pypto._src.ir.exprs import (
    SHIFT,
    Abs,
    Add,
    And,
    BinaryExpr,
    BitNot,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    FloatDiv,
    FloorDiv,
    Max,
    Min,
    Mul,
    Neg,
    Not,
    Or,
    Sub,
    UnaryExpr,
    Var,
)
from pypto._src.ir.scalar_ops import BINARY, DECOMPOSED, UNARY, decomposed
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
        raise EmitError(
            f"a tensor has {len(dims)} dimensions; kernels take up to 5",
            hint=f"declare the first {len(dims) - 4} dimensions as one",
            slug="rank",
        )
    return [fill] * (5 - len(dims)) + list(dims)


Size = int | str
"""A number, or the C++ text of one that is known when the kernel runs."""


def shape_text(dims: Sequence[Size]) -> str:
    """Return ``Shape<1, 1, 1, 128, 64>``; -1 stands for what is known at run time."""
    return f"Shape<{_static(*dims)}>"


def stride_text(strides: Sequence[Size]) -> str:
    """Return ``Stride<1, 1, 1, 64, 1>`` for strides in elements, outermost first."""
    return f"Stride<{_static(*strides)}>"


@lru_cache(maxsize=1024)
def _static(*sizes: Size) -> str:
    return ", ".join([str(size) if isinstance(size, int) else "-1" for size in five(sizes)])


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
_LEVELS: Final = {
    **dict.fromkeys(("*", "/", "%"), _MUL),
    **dict.fromkeys(("+", "-"), _ADD),
    **dict.fromkeys(("<<", ">>"), _SHIFT),
    **dict.fromkeys(("<", "<=", ">", ">="), _ORDER),
    **dict.fromkeys(("==", "!="), _EQUAL),
    "&": _BAND,
    "^": _BXOR,
    "|": _BOR,
    "&&": _LAND,
    "||": _LOR,
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


SCALAR_HELPERS: Final = {
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
    "int_abs": (
        "template <typename T>",
        "static inline __aicore__ T int_abs(T a)",
        "{",
        "    const uint64_t bits = static_cast<uint64_t>(a);",
        "    return static_cast<T>(a < 0 ? 0 - bits : bits);",
        "}",
    ),
    "int_max": (
        "template <typename T>",
        "static inline __aicore__ T int_max(T a, T b)",
        "{",
        "    return a > b ? a : b;",
        "}",
    ),
    "int_min": (
        "template <typename T>",
        "static inline __aicore__ T int_min(T a, T b)",
        "{",
        "    return a < b ? a : b;",
        "}",
    ),
    "float_abs": (
        "template <typename T>",
        "static inline __aicore__ T float_abs(T a)",
        "{",
        "    return a <= 0 ? static_cast<T>(0 - a) : a;  // -0 becomes 0, too",
        "}",
    ),
    "float_floor_div": (
        "static inline __aicore__ double float_floor_div(double a, double b)",
        "{",
        "    double q = a / b;",
        "    if (!(q > -4503599627370496.0 && q < 4503599627370496.0)) {",
        "        return q;  // whole already, infinite or not a number",
        "    }",
        "    double whole = static_cast<double>(static_cast<int64_t>(q));",
        "    return (whole > q ? whole - 1.0 : whole) + 0.0;",
        "}",
    ),
    "float_floor_mod": (
        "static inline __aicore__ double float_floor_mod(double a, double b)",
        "{",
        "#if defined(__CCE_AICORE__)",
        "    double q = a / b, whole = static_cast<double>(static_cast<int64_t>(q));",
        "    double r = a - whole * b;",
        "#else",
        "    double r = __builtin_fmod(a, b);",
        "#endif",
        "    if (r == 0.0) {",
        "        return b < 0.0 ? -0.0 : 0.0;",
        "    }",
        "    return (r < 0.0) != (b < 0.0) ? r + b : r;",
        "}",
    ),
    "float_max": (
        "static inline __aicore__ double float_max(double a, double b)",
        "{",
        "    return (a != a || b != b) ? a + b : b > a ? b : a;",
        "}",
    ),
    "float_min": (
        "static inline __aicore__ double float_min(double a, double b)",
        "{",
        "    return (a != a || b != b) ? a + b : b < a ? b : a;",
        "}",
    ),
    "float_pow": (
        "static inline __aicore__ double float_pow(double a, double n)",
        "{",
        "#if defined(__CCE_AICORE__)",
        "    int64_t count = static_cast<int64_t>(n < 0.0 ? -n : n);  // whole exponents only",
        "    double result = 1.0;",
        "    for (; count > 0; count >>= 1) {",
        "        if (count & 1) { result *= a; }",
        "        a *= a;",
        "    }",
        "    return n < 0.0 ? 1.0 / result : result;",
        "#else",
        "    return __builtin_pow(a, n);",
        "#endif",
        "}",
    ),
}
"""What C++ has not, or not with the same meaning: floor division, its remainder, powers of
integers, smaller and larger of floats one of which is not a number; and what would have to write
its operands twice."""


_SKIPPING: Final = (And, Or)
"""Operators that evaluate their right side only if the left one does not decide."""

_Parts = tuple[str, int]
"""The text of an expression and how tightly it binds."""


class ScalarText:
    """Writes scalar expressions as C++; remembers which helper functions they need.

    ``checked`` are those of a kernel: on the CPU, what has no result is an error there.

    ``shared``, if given, sees the text of each part that computes an integer, before it is used in
    a larger one, and returns what stands for it: the text itself, or a variable that holds it.
    """

    def __init__(
        self,
        name_of: Callable[[Var], str],
        shared: Callable[[BinaryExpr, str], str | None] | None = None,
        *,
        checked: bool = False,
    ) -> None:
        self._name_of = name_of
        self._shared = shared
        self._checked = checked
        self.helpers: dict[str, None] = {}

    def text(self, expr: Expr, parent: int = 0) -> str:
        """Return ``expr`` in parentheses if it binds less tightly than ``parent``."""
        if isinstance(expr, ConstInt) and 0 <= expr.value < 1 << 31:
            return str(expr.value)  # which most of them are
        if isinstance(expr, Var):
            return self._name_of(expr)
        return _wrapped(self._parts(expr), parent)

    def _leaf(self, expr: Any) -> _Parts:
        """Return the text of a variable or number."""
        if isinstance(expr, Var):
            return self._name_of(expr), _ATOM
        write = _NUMBERS.get(expr.__class__)
        if write is not None:
            return write(expr), _ATOM if expr.value >= 0 else _UNARY
        raise EmitError(
            f"a kernel cannot compute {type(expr).__name__} as a scalar",
            expr.span,
            hint=RUN_PASSES if isinstance(expr, Call) else None,
        )

    def _parts(self, root: Expr) -> _Parts:
        # Post-order without recursion: expressions may be as deep as the source makes them.
        done: list[_Parts] = []
        pending: list[tuple[Expr, bool, bool]] = [(root, False, True)]
        while pending:
            expr, ready, always = pending.pop()
            if expr.__class__ in DECOMPOSED:
                expr = decomposed(expr)
            if isinstance(expr, BinaryExpr):
                if not ready:
                    right = always and not isinstance(expr, _SKIPPING)
                    pending.append((expr, True, always))
                    pending.append((expr.right, False, right))
                    pending.append((expr.left, False, always))
                    continue
                right_parts = done.pop()
                parts = self._binary(expr, done.pop(), right_parts)
                done.append(self._name_shared(expr, parts) if always else parts)
            elif isinstance(expr, UnaryExpr):
                if not ready:
                    pending.append((expr, True, always))
                    pending.append((expr.operand, False, always))
                    continue
                done.append(self._unary(expr, done.pop()))
            else:
                done.append(self._leaf(expr))
        return done.pop()

    def _name_shared(self, expr: BinaryExpr, parts: _Parts) -> _Parts:
        name = None if self._shared is None else self._shared(expr, parts[0])
        return parts if name is None else (name, _ATOM)

    def _binary(self, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        kind = type(expr)
        row = BINARY[kind]
        if dtype_of(expr).is_float() and row.cpp_floats:
            return self._float_helper(expr, left, right)
        if kind in (Min, Max):
            return self._one_of(expr, left, right)
        if row.cpp_integers:
            return self._helper(expr, left, right)
        if self._checked and kind is FloatDiv and dtype_of(expr).is_int():
            return self._divide("int_div", expr, left, right)
        if self._checked and kind.precedence == SHIFT:
            right = self._shift_count(expr, right)
        if row.on_itself and left == right and not dtype_of(expr.left).is_float():
            return row.on_itself, _ATOM  # compilers warn of a value compared with itself
        symbol, level = row.cpp, _LEVELS[row.cpp]
        chained = level if _chains(kind, expr.left) else _inner(level)
        text = (
            f"{_wrapped(left, chained)} {symbol} {_wrapped(right, max(level + 1, _inner(level)))}"
        )
        # Narrow integers are computed as int in C++, BF16 as float: cut the result back.
        if (expr.dtype.is_int() and expr.dtype.get_bit() < 32) or expr.dtype is DataType.BF16:
            return f"static_cast<{c_type(expr.dtype)}>({text})", _ATOM
        return text, level

    def _one_of(self, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        """Return the smaller or the larger of two integers; only short texts stand there twice."""
        is_min = isinstance(expr, Min)
        if _is_short(expr.left, left) and _is_short(expr.right, right):
            a, b = left[0], right[0]
            return f"{a} {'<' if is_min else '>'} {b} ? {a} : {b}", _COND
        name = BINARY[type(expr)].cpp_integers
        self.helpers[name] = None
        return f"{name}<{c_type(dtype_of(expr))}>({left[0]}, {right[0]})", _ATOM

    def _helper(self, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        dtype, kind = dtype_of(expr), type(expr)
        row = BINARY[kind]
        if dtype.is_unsigned_int() and row.cpp:
            if self._checked and not _is_positive(expr.right):
                name = "unsigned_div" if kind is FloorDiv else "unsigned_mod"
                return self._divide(name, expr, left, right)
            return f"{_wrapped(left, _MUL)} {row.cpp} {_wrapped(right, _MUL + 1)}", _MUL
        name = row.cpp_integers
        self.helpers[name] = None
        call = f"{name}({left[0]}, {right[0]})"
        return (call if dtype is DataType.INT64 else f"static_cast<{c_type(dtype)}>({call})"), _ATOM

    def _divide(self, name: str, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        """Return a call of a division that is not C++'s where that has no result."""
        self.helpers[name] = None
        return f"{name}<{c_type(dtype_of(expr))}>({left[0]}, {right[0]})", _ATOM

    def _shift_count(self, expr: BinaryExpr, count: _Parts) -> _Parts:
        bits = dtype_of(expr.left).get_bit()
        if isinstance(expr.right, ConstInt) and 0 <= expr.right.value < bits:
            return count
        self.helpers["shift_count"] = None
        return f"shift_count({count[0]}, {bits})", _ATOM

    def _float_helper(self, expr: BinaryExpr, left: _Parts, right: _Parts) -> _Parts:
        """Return a call that computes in double, as the meaning of scalars does."""
        name, dtype = BINARY[type(expr)].cpp_floats, dtype_of(expr)
        self.helpers[name] = None
        call = f"{name}({left[0]}, {right[0]})"
        if dtype is DataType.FP64:
            return call, _ATOM
        single = f"static_cast<float>({call})"
        return (single if dtype is DataType.FP32 else f"static_cast<{c_type(dtype)}>({single})"), (
            _ATOM
        )

    def _unary(self, expr: UnaryExpr, operand: _Parts) -> _Parts:
        parts = self._operator(expr, operand)
        is_narrow = expr.dtype.is_int() and expr.dtype.get_bit() < 32
        if is_narrow and not isinstance(expr, Cast | Abs):  # as in `_binary`
            return f"static_cast<{c_type(expr.dtype)}>({parts[0]})", _ATOM
        return parts

    def _operator(self, expr: UnaryExpr, operand: _Parts) -> _Parts:
        match expr:
            case Cast() if (
                self._checked and dtype_of(expr.operand).is_float() and expr.dtype.is_int()
            ):
                self.helpers["float_to_int"] = None
                return f"float_to_int<{c_type(expr.dtype)}>({operand[0]})", _ATOM
            case Cast():
                return f"static_cast<{c_type(expr.dtype)}>({operand[0]})", _ATOM
            case Neg():  # two are no decrement
                return f"-{_wrapped(operand, _UNARY + 1)}", _UNARY
            case Not() | BitNot():
                return f"{UNARY[type(expr)].cpp}{_wrapped(operand, _UNARY)}", _UNARY
            case Abs() if dtype_of(expr).is_unsigned_int():
                return operand
            case Abs():
                return self._magnitude(expr, operand), _ATOM
            case _:
                raise EmitError(f"a kernel has no scalar {type(expr).__name__}").at(expr.span)

    def _magnitude(self, expr: Abs, operand: _Parts) -> str:
        """Return a call: compilers take ``a < 0 ? -a : a`` for a number that is not negative."""
        dtype = dtype_of(expr)
        name = "float_abs" if dtype.is_float() else "int_abs"
        self.helpers[name] = None
        if dtype is DataType.BF16:  # whose negation is a float
            return f"static_cast<bfloat16_t>({name}<float>(static_cast<float>({operand[0]})))"
        return f"{name}<{c_type(dtype)}>({operand[0]})"


def _is_short(value: Expr, parts: _Parts) -> bool:
    """True for a name or a number."""
    return isinstance(value, ConstInt) or parts[0].isidentifier()


def _is_positive(value: Expr) -> bool:
    return isinstance(value, ConstInt) and value.value > 0


def _wrapped(parts: _Parts, parent: int) -> str:
    return f"({parts[0]})" if parts[1] < parent else parts[0]


def _integer(value: int) -> str:
    if value == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    suffix = "" if -(1 << 31) <= value < 1 << 31 else "LL"
    return f"{value}{suffix}"


def _floating(expr: ConstFloat) -> str:
    value, dtype = expr.value, expr.dtype
    if math.isfinite(value):
        text = repr(value) if dtype is DataType.FP64 else f"{value!r}f"
    elif math.isnan(value):
        text = "(0.0f / 0.0f)"
    else:
        text = "(1.0f / 0.0f)" if value > 0 else "(-1.0f / 0.0f)"
    if dtype is DataType.FP32 or dtype is DataType.FP64:
        return text
    return f"static_cast<{c_type(dtype)}>({text})"


_NUMBERS: Final[dict[type[Expr], Callable[[Any], str]]] = {
    ConstBool: lambda expr: "true" if expr.value else "false",
    ConstInt: lambda expr: _integer(expr.value),
    ConstFloat: _floating,
}
"""How constants are written."""


def loop_test(name: str, stop: str, step: str, known: int | None) -> str:
    """Return the condition under which a loop that counts goes on; never if its step is zero.

    Args:
        name: The loop's variable.
        stop: Where the loop ends, as an operand of a comparison.
        step: What is added to the variable, as an operand of a comparison.
        known: The step's value where it is constant.
    """
    if not known:
        return f"{step} > 0 ? {name} < {stop} : ({step} < 0 && {name} > {stop})"
    return f"{name} {'<' if known > 0 else '>'} {stop}"


def printed(name: str, dtype: DataType) -> tuple[str, str]:
    """Return the format and the argument that print a scalar with printf."""
    if dtype.is_float():
        return "%g", f"static_cast<double>({name})"
    return "%lld", f"static_cast<long long>({name})"


# --------------------------------------------------------------------------------------------
# The converter of document 000
# --------------------------------------------------------------------------------------------


class TypeConverter:
    """Spells types, memory, shapes, strides, pipes and events as the tile library does."""

    def ConvertDataType(self, dtype: DataType) -> str:
        """Return ``float`` for FP32.

        Raises:
            EmitError: the tile library has no such elements.
        """
        return c_type(dtype)

    def ConvertMemorySpace(self, space: MemorySpace) -> str:
        """Return the annotation of a pointer: ``__gm__`` for DDR, nothing for memory on chip."""
        return "__gm__" if space is MemorySpace.DDR else ""

    def ConvertPipeType(self, pipe: PipeType) -> str:
        """Return ``PIPE_V`` for a pipe."""
        return pipe_text(pipe)

    def ConvertEventId(self, event_id: int) -> str:
        """Return ``EVENT_ID3`` for 3.

        Raises:
            ValueError: there is no such event.
        """
        if not 0 <= event_id < 8:
            raise ValueError(f"event {event_id} does not exist: there are 0 to 7")
        return f"EVENT_ID{event_id}"

    def GenerateShapeType(self, dims: Sequence[Size]) -> str:
        """Return ``Shape<1, 1, 1, 128, 64>`` for [128, 64]."""
        return shape_text(_one_to_five(dims))

    def GenerateStrideType(self, shape: Sequence[int]) -> str:
        """Return ``Stride<1, 1, 1, 64, 1>`` for a dense array of shape [128, 64]."""
        _one_to_five(shape)
        return stride_text(row_major(shape))

    def tile_type(self, kind: TileType, space: MemorySpace, rows: int, cols: int) -> str:
        """Return the ``Tile<...>`` class of a tile."""
        return tile_text(kind, space, rows, cols)


def _one_to_five(dims: Sequence[Size]) -> Sequence[Size]:
    if not 1 <= len(dims) <= 5:
        raise ValueError(f"{len(dims)} dimensions were given, 1 to 5 are possible")
    return dims
