"""Calls of other libraries: what to write for each.

A hint is given only if it uses every argument of the call, and if its code is not refused in turn.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pypto._src.dtypes import DataType
from pypto._src.frontend.diagnose.recipes import ALONG, POWER, RECIPES, ROUNDED, X
from pypto._src.frontend.diagnose.trial import is_on_host, tried, tried_text
from pypto._src.frontend.source.python_names import MISSING, items_of
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import dtype_like, op_elsewhere
from pypto._src.ir.array_types import ShapedType, static_shape
from pypto._src.ir.exprs import Expr
from pypto._src.ir.types import ScalarType
from pypto._src.ops.new_tiles import full
from pypto._src.ops.unified import is_number, unified
from pypto._src.records import NamedTuple

_LIBRARIES: Final = frozenset(
    {"builtins", "cupy", "jax", "math", "numpy", "pypto", "scipy", "torch", "triton"}
)
"""Modules whose functions are known by their names."""


def is_of_library(ctx: Context, func: ast.expr, callee: Any = None) -> bool:
    """True for a function of a known library, of the language, and of Python itself."""
    if isinstance(func, ast.Attribute):
        name = getattr(ctx.peek(func.value), "__name__", None)
    else:
        name = getattr(callee, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in _LIBRARIES


class Foreign(NamedTuple):
    """A call of another library: its arguments, by the first of their names here."""

    ctx: Context
    given: Mapping[str, Sequence[ast.expr]]
    values: Mapping[ast.expr, Any]

    def node(self, name: str) -> ast.expr | None:
        """Return an argument, None if it is left out."""
        return next(iter(self.given.get(name, ())), None)

    def text(self, name: str = "x") -> str:
        """Return an argument as the user wrote it."""
        return self.ctx.source.text(self.given[name][0])

    def value(self, name: str = "x") -> Any:
        """Return what an argument means, None if it is left out."""
        node = self.node(name)
        return None if node is None else self.values[node]

    def kind(self, name: str = "x") -> ShapedType | None:
        """Return the type of a tile or tensor, None for other arguments."""
        return _kind_of(self.value(name))

    def shape(self) -> list[int] | None:
        """Return the shape of the first argument, None if it is not known."""
        kind = self.kind()
        shape = None if kind is None else static_shape(kind)
        return None if shape is None else [*shape]

    def integers(self, name: str) -> list[int] | None:
        """Return the integers in a list, or in arguments one by one, None if some are not known."""
        return _integers([self.values[node] for node in self.given[name]])

    def filled(self, text: str) -> str:
        """Return a recipe with the arguments in their places."""
        texts = {name: self.text(name) for name, nodes in self.given.items() if nodes}
        operand = self.ctx.source.operand(self.given["x"][0]) if "x" in texts else ""
        return f"write {text.format(**texts, o=operand)}"


Meaning: TypeAlias = Callable[[Foreign], str | None]


def meant_elsewhere(
    ctx: Context, name: str, args: Sequence[ast.expr], words: Sequence[ast.keyword]
) -> str | None:
    """Return what is written for a call of another library, None if nothing is known.

    A method's name begins with a dot, and its object is the first argument. An argument that is
    refused itself is taken for one that the hint accepts.
    """
    values = {node: tried(ctx, node) for node in (*args, *(word.value for word in words))}
    form = FORMS.get(name.lower()) or FORMS.get(name.lower().removeprefix("."))
    given = None if form is None else _bound(form[0], args, words)
    if form is None or given is None:
        hint = _of_op(ctx, name.removeprefix("."), args, words)
    else:
        meaning, call = form[1], Foreign(ctx, given, values)
        hint = call.filled(meaning) if isinstance(meaning, str) else meaning(call)
    if hint is None or any(value is MISSING for value in values.values()):
        return hint
    return hint if is_accepted(ctx, hint) else None


def is_accepted(ctx: Context, hint: str) -> bool:
    """True for a hint in words, and for code that has a value here."""
    code = hint.removeprefix("write ")
    return code == hint or tried_text(ctx, code) is not MISSING


def _of_op(
    ctx: Context, name: str, args: Sequence[ast.expr], words: Sequence[ast.keyword]
) -> str | None:
    """Return the call of the op that has the name, or means the same, with the same arguments."""
    op = name if unified(name) is not None or name in FORMS else op_elsewhere(name)
    is_unpacked = any(isinstance(arg, ast.Starred) for arg in args) or any(not w.arg for w in words)
    if op is None or unified(op) is None or is_unpacked:
        return None
    dtypes = [_dtype_at(ctx, arg) for arg in args] + [None] * len(words)
    texts = [
        ctx.source.text(item) if dtype is None else f"pl.{dtype.member}"
        for item, dtype in zip((*args, *words), dtypes, strict=True)
    ]
    return f"write pl.{op}({', '.join(texts)})"


def _bound(
    params: str, args: Sequence[ast.expr], words: Sequence[ast.keyword]
) -> dict[str, list[ast.expr]] | None:
    """Return the arguments by parameter, None if some have no parameter or are missing.

    Parameters are separated by spaces, and their names by ``|``; those in brackets may be left
    out, for which None stands too, and the one after a star takes several arguments.
    """
    given: dict[str, list[ast.expr]] = {}
    rest, named = [*args], {word.arg: word.value for word in words}
    if None in named or any(isinstance(arg, ast.Starred) for arg in args):
        return None
    for param in params.split():
        names = param.strip("[*]").split("|")
        count = len(rest) if "*" in param else 1
        found = [*rest[:count], *(named.pop(name) for name in names if name in named)]
        rest = rest[count:]
        found = [node for node in found if getattr(node, "value", node) is not None]
        if len(found) > max(count, 1) or (not found and not param.startswith("[")):
            return None
        given[names[0]] = found
    return None if rest or named else given


def _dtype_at(ctx: Context, node: ast.expr) -> DataType | None:
    """Return the element type that an argument stands for: ``np.float16``, ``"float16"``."""
    return dtype_like(node.value if isinstance(node, ast.Constant) else ctx.peek(node))


def _kind_of(value: Any) -> ShapedType | None:
    kind = getattr(value, "type", None)
    return kind if isinstance(kind, ShapedType) else None


def _integers(values: Sequence[Any]) -> list[int] | None:
    if len(values) == 1:
        values = items_of(values[0]) or values
    return [*values] if values and all(isinstance(each, int) for each in values) else None


def _is_integer(value: Any) -> bool:
    """True for an integer, and for a scalar that is one."""
    kind = value.type if isinstance(value, Expr) else None
    return isinstance(value, int) or (isinstance(kind, ScalarType) and kind.dtype.is_int())


def _rounded_up(call: Foreign) -> str | None:
    values = call.value("x"), call.value("y")
    if not all(map(_is_integer, values)) or (isinstance(values[1], int) and values[1] < 1):
        return None
    a, b = (call.ctx.source.operand(call.given[name][0]) for name in ("x", "y"))
    return f"write (({a} + {b} - 1) // {b})"


def _full_of(number: int) -> Meaning:
    def filled(call: Foreign) -> str | None:
        """Return a constant tile: ``zeros([64, 64], dtype)``, ``zeros(64, 64)``."""
        values = [call.values[node] for node in call.given["shape"]]
        node = call.node("dtype")
        if node is None and len(values) > 1 and not isinstance(values[-1], int):
            node = call.given["shape"][-1]
            values.pop()
        shape = _integers(values)
        dtype = DataType.FP32 if node is None else _dtype_at(call.ctx, node)
        if shape is None or dtype is None or dtype not in full.dtypes:
            return None
        value = float(number) if dtype.is_float() else number
        text = f"pl.full({shape}, pl.{dtype.member}, {value})"
        if is_on_host(call.ctx):
            return f"in a region or an InCore function, store {text}"
        return f"write {text}"

    return filled


def _joined(default: int) -> Meaning:
    def joined(call: Foreign) -> str | None:
        """Return the join of matrices on an axis."""
        parts = call.node("parts")
        if not isinstance(parts, ast.List | ast.Tuple):
            return None
        kinds = [_kind_of(value) for value in items_of(call.value("parts")) or ()]
        if not kinds or any(kind is None or len(kind.shape) != 2 for kind in kinds):
            return None
        if (default if call.node("axis") is None else call.value("axis")) not in (1, -1):
            return "pl.concat joins columns: store each part to rows of its own in the output"
        text, *others = map(call.ctx.source.text, parts.elts)
        for other in others:
            text = f"pl.concat({text}, {other})"
        return f"write {text}"

    return joined


def _clamped(call: Foreign) -> str | None:
    text = call.text()
    for op, bound in (("maximum", "min"), ("minimum", "max")):
        if call.node(bound) is not None:
            text = f"pl.{op}({text}, {call.text(bound)})"
    return None if text == call.text() else f"write {text}"


def _reshape(call: Foreign, shape: Sequence[int]) -> str:
    return f"write pl.reshape({call.text()}, {[*shape]})"


def _resized(call: Foreign) -> str | None:
    """Return a reshape with the size that -1 stands for."""
    sizes, shape = call.integers("shape"), call.shape()
    if sizes is None:
        return None
    if sizes.count(-1) == 1 and shape is not None:
        others = math.prod(size for size in sizes if size != -1)
        if others <= 0 or math.prod(shape) % others:
            return None
        sizes = [math.prod(shape) // others if size == -1 else size for size in sizes]
    return None if any(size < 1 for size in sizes) else _reshape(call, sizes)


def _flat(call: Foreign) -> str | None:
    shape = call.shape()
    return None if shape is None else _reshape(call, [math.prod(shape)])


def _unsqueezed(call: Foreign) -> str | None:
    shape, axis = call.shape(), call.value("axis")
    if shape is None or not isinstance(axis, int) or not -len(shape) <= axis + 1 <= len(shape) + 1:
        return None
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
    return _reshape(call, shape)


def _permuted(call: Foreign) -> str | None:
    """Return the transpose that swaps two axes, those of a matrix if none are given."""
    kind = call.kind()
    axes = call.integers("axes") if call.given["axes"] else [1, 0]
    if axes is None or kind is None or sorted(axes) != [*range(len(kind.shape))]:
        return None
    moved = [at for at, axis in enumerate(axes) if at != axis]
    if len(moved) != 2:
        return f"write {call.text()}" if not moved else None
    return f"write pl.transpose({call.text()}, {moved[0]}, {moved[1]})"


def _stride(call: Foreign) -> str | None:
    """Return how many elements are between two that follow each other on an axis."""
    kind, axis = call.kind(), call.value("axis")
    if kind is None or not isinstance(axis, int) or not -len(kind.shape) <= axis < len(kind.shape):
        return None
    behind = range(axis % len(kind.shape) + 1, len(kind.shape))
    sizes = [f"{call.text()}.shape[{each}]" for each in behind]
    return f"write ({' * '.join(sizes)})" if len(sizes) > 1 else f"write {(*sizes, '1')[0]}"


def _element(call: Foreign) -> str | None:
    kind = call.kind()
    return None if kind is None else call.filled(f"{{o}}[{', '.join(['0'] * len(kind.shape))}]")


def _chosen(call: Foreign) -> str | None:
    return None if call.kind("test") is None else f"write {_choice(call)}"


def selected(ctx: Context, test: ast.expr, if_so: ast.expr, if_not: ast.expr) -> str:
    """Return the choice between two tiles, of which one or both may be numbers."""
    given = {"test": [test], "x": [if_so], "y": [if_not]}
    return _choice(Foreign(ctx, given, {node: tried(ctx, node) for [node] in given.values()}))


def _choice(call: Foreign) -> str:
    """Return ``pl.sel`` with tiles in place of numbers."""
    kind = call.kind("x") or call.kind("y") or call.kind("test")
    texts = {name: call.text(name) for name in ("test", "x", "y")}
    for name in ("x", "y"):
        value = call.value(name)
        if kind is None or not is_number(value):
            continue
        shape, dtype = static_shape(kind), f"pl.{kind.dtype.member}"
        size = f"{texts['test']}.shape" if shape is None else str([*shape])
        if isinstance(value, Expr) and getattr(value.type, "dtype", None) is not kind.dtype:
            texts[name] = f"pl.cast({texts[name]}, {dtype})"
        texts[name] = f"pl.full({size}, {dtype}, {texts[name]})"
    return f"pl.sel({', '.join(texts.values())})"


def _line(call: Foreign) -> str | None:
    """Return what is reduced of a matrix, each ``row`` or ``col`` or ``all``; None if unknown."""
    kind, axis = call.kind(), call.value("axis")
    if kind is None or len(kind.shape) != 2:
        return None
    if call.node("axis") is None:
        return "all"
    return {-1: "row", 1: "row", -2: "col", 0: "col"}.get(axis) if isinstance(axis, int) else None


def _along(texts: Mapping[str, str]) -> Meaning:
    def along(call: Foreign) -> str | None:
        text = texts.get(_line(call) or "")
        return None if text is None else call.filled(text)

    return along


def _reduced(op: str) -> Meaning:
    def reduced(call: Foreign) -> str | None:
        if _line(call) == "all":
            return call.filled(f"pl.col_{op}(pl.row_{op}({{x}}))")
        if not isinstance(call.value("axis"), int):
            return None
        words = (name for name in ("axis", "keepdim") if call.node(name) is not None)
        return f"write pl.{op}({', '.join([call.text(), *(f'{w}={call.text(w)}' for w in words)])})"

    return reduced


def _power(call: Foreign) -> str | None:
    """Return a power; the logarithm of a negative element is none, whose square there is."""
    exponent = call.value("y")
    if isinstance(exponent, int | float) and exponent % 1 == 0:
        products = {2: "pl.mul({x}, {x})", 3: "pl.mul(pl.mul({x}, {x}), {x})"}
        return call.filled(products[exponent]) if exponent in products else None
    return call.filled(POWER)


def _whole(name: str) -> Meaning:
    def whole(call: Foreign) -> str | None:
        """Return elements without their fractions; integers have none."""
        return call.filled("{x}" if _is_integer(call.value()) else ROUNDED[name])

    return whole


_REDUCED: Final = f"{X} [axis|dim] [keepdim|keepdims]"
_PARTS: Final = "parts|tensors|arrays|tup [axis|dim]"

FORMS: Final[Mapping[str, tuple[str, str | Meaning]]] = {
    **{name: (params, text) for params, texts in RECIPES.items() for name, text in texts.items()},
    **{name: (X, _whole(name)) for name in ROUNDED},
    **{name: (_REDUCED, _along(texts)) for name, texts in ALONG.items()},
    **{
        name: (_REDUCED, _reduced(name.removeprefix("a")))
        for name in ("amax", "amin", "max", "min")
    },
    "sum": (_REDUCED, _reduced("sum")),
    **dict.fromkeys(("clamp", "clip"), (f"{X} [min|a_min] [max|a_max]", _clamped)),
    **dict.fromkeys(("cat", "concatenate", "vstack"), (_PARTS, _joined(0))),
    "hstack": (_PARTS, _joined(1)),
    "cdiv": ("x y", _rounded_up),
    **dict.fromkeys(("flatten", "ravel"), (X, _flat)),
    "item": (X, _element),
    "ones": ("*shape|size [dtype]", _full_of(1)),
    "permute": (f"{X} *axes|dims", _permuted),
    **dict.fromkeys(("pow", "power"), (f"{X} y|exponent", _power)),
    **dict.fromkeys(("reshape", "view"), (f"{X} *shape|size", _resized)),
    ".size": (f"{X} dim|axis", "{o}.shape[{dim}]"),
    "stride": (f"{X} axis|dim", _stride),
    "transpose": (f"{X} [axes|dims]", _permuted),
    "unsqueeze": (f"{X} axis|dim", _unsqueezed),
    "where": ("test|condition x|a|input y|b|other", _chosen),
    ".where": (f"{X} test|condition y|other", _chosen),
    "zeros": ("*shape|size [dtype]", _full_of(0)),
}
"""Functions of other libraries: their parameters, and what to write, by name.

A name with a dot is that of a method with parameters of its own.
"""
