"""Calls that mean nothing where they are: their errors, and the calls that are meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, Final

from pypto._src.errors import (
    InvalidOperationError,
    ParserError,
    ParserOpError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto._src.frontend.diagnose.absent_ops import ABSENT
from pypto._src.frontend.diagnose.calls_elsewhere import meant_elsewhere
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import PRINT_HINT, dtype_like, nearest, recipe
from pypto._src.frontend.syntax.inline import InlineFunction
from pypto._src.ir.array_types import ShapedType, TensorType
from pypto._src.ir.exprs import Expr
from pypto._src.ir.op_params import INTS
from pypto._src.ir.types import ScalarType
from pypto._src.ops.define import OVERLOADS
from pypto._src.ops.unified import Unified, unified

_CONVERSIONS: Final[dict[Any, str]] = {
    int: "pl.cast({0}, pl.INT64)",
    float: "pl.cast({0}, pl.FP32)",
    bool: "{0} != 0",
}
"""Types of Python that convert numbers, and how to convert values of a kernel."""

_ROUNDING: Final = frozenset({"ceil", "floor", "trunc", "round"})
"""Functions of Python that leave integers as they are."""


def no_regions(ctx: Context, node: ast.Call) -> ParserTypeError:
    return ParserTypeError(
        f"{ctx.source.text(node.func)} fills a tensor that regions compute with, and "
        f"{ctx.home.node.name} has none",
        ctx.span(node),
        hint="compute in a region, with pl.at(level=pl.Level.CORE_GROUP): around the statements",
        slug="region-wanted",
    )


def in_regions_only(ctx: Context, node: ast.Call) -> ParserError:
    """Return the error for a call that means nothing outside regions."""
    return ParserSyntaxError(
        f"{ctx.source.text(node.func)} belongs in a region",
        ctx.span(node),
        hint="begin a region: with pl.at(level=pl.Level.CORE_GROUP):",
        slug="misplaced",
    )


def no_slice(ctx: Context, node: ast.Call, kwargs: Mapping[str, Any]) -> ParserError:
    """Return the error for a ``pl.slice`` that means nothing outside kernels and regions."""
    if kwargs.get("valid_shape") is not None:
        return ParserOpError(
            "a tensor outside of regions is valid throughout: valid_shape= is for what a region "
            "loads",
            ctx.span(node),
            hint="put this statement into the region that computes with it",
            slug="valid-shape",
        )
    return ParserOpError(
        f"{ctx.source.text(node.func)} takes a tensor, its shape and its offset here",
        ctx.span(node),
        hint="write pl.slice(x, [16, 64], [row, 0])",
        slug="op-operands",
    )


def through_self(ctx: Context, node: ast.Call) -> ParserError:
    text = ctx.source.text(node.func)
    return UnsupportedFeatureError(
        f"{text} is a function of the program; it is called through self",
        ctx.span(node),
        hint=f"write self.{_call_text(ctx, node, text)}",
        slug="python-call",
    )


def meant_call(ctx: Context, error: ParserError, node: ast.Call, func: ast.Attribute) -> str | None:
    """Return the call that is meant by that of another library's op, or of a method."""
    texts = [_as_dtype(ctx, item) or ctx.source.text(item) for item in (*node.args, *node.keywords)]
    is_method = error.slug == "attribute"
    if is_method or error.slug == InvalidOperationError.slug:
        nodes = [func.value, *node.args] if is_method else node.args
        found = meant_elsewhere(ctx, func.attr, nodes, node.keywords)
        if found is not None:
            return found
    if is_method and func.attr in ABSENT:
        return ABSENT[func.attr].hint
    if error.slug == InvalidOperationError.slug and node.args:
        return recipe(func.attr, texts)
    if is_method:
        if not texts and _of_all(ctx, func.attr, func.value) is not None:
            return _of_all(ctx, func.attr, func.value)
        if func.attr == "transpose" and not texts:
            return f"write pl.transpose({ctx.source.text(func.value)}, 0, 1)"
        if func.attr == "size" and len(texts) == 1:
            return f"write {ctx.source.text(func.value)}.shape[{texts[0].removeprefix('dim=')}]"
        axes = [text for text in texts[len(node.args) :] if text.startswith(("axis=", "dim="))]
        operands = [ctx.source.text(func.value), *texts[: len(node.args)], *axes]
        found = recipe(func.attr, operands)
        if found is not None or recipe(func.attr, [""]) is not None:
            error.hint = None  # which does not know the other arguments
            return _assigned(ctx, func, found)
    found = re.match(r"write (pl\.\w+)\(", error.hint or "")
    if not is_method or found is None or not texts:
        return None
    op = unified(found[1].removeprefix("pl."))
    ops = op.candidates if isinstance(op, Unified) else [] if op is None else [op]
    lists = {sum(param.kind == INTS for param in each.params) for each in ops}
    if lists == {1} and not isinstance(node.args[0], ast.List | ast.Tuple | ast.Name):
        texts = [f"[{', '.join(texts)}]"]  # x.reshape(64, 128)
    texts = [text.replace("keepdims=", "keepdim=") for text in texts]  # as NumPy has it
    if any(param.name == "axis" for each in ops for param in each.params):  # as PyTorch has it
        texts = [re.sub(r"^dim=", "axis=", text) for text in texts]
    return f"write {found[1]}({', '.join([ctx.source.text(func.value), *texts])})"


_OF_ALL: Final = {"amax": "max", "amin": "min", "max": "max", "min": "min", "sum": "sum"}
"""Functions that reduce all dimensions elsewhere unless told one, and what they take here."""


def _of_all(ctx: Context, name: str, node: ast.expr) -> str | None:
    """Return the reduction of all elements of a matrix, None for other functions and values."""
    kind = getattr(ctx.value(node), "type", None)
    if name not in _OF_ALL or not isinstance(kind, ShapedType) or len(kind.shape) != 2:
        return None
    return f"write pl.col_{_OF_ALL[name]}(pl.row_{_OF_ALL[name]}({ctx.source.text(node)}))"


def _assigned(ctx: Context, func: ast.Attribute, hint: str | None) -> str | None:
    """Return a hint with an assignment, for a method that changes its object."""
    if hint is None or func.attr not in _CHANGING:
        return hint
    kind = ctx.value(func.value).type
    whole = f"[{', '.join([':'] * len(kind.shape))}]" if isinstance(kind, TensorType) else ""
    return f"write {ctx.source.text(func.value)}{whole} = {hint.removeprefix('write ')}"


_CHANGING: Final = frozenset({"fill", "fill_"})


def _as_dtype(ctx: Context, node: ast.expr | ast.keyword) -> str | None:
    """Return the element type that an attribute of another library stands for: ``pl.FP16``."""
    if not isinstance(node, ast.Attribute):
        return None
    dtype = dtype_like(ctx.peek(node))
    return None if dtype is None else f"pl.{dtype.member}"


def by_position(ctx: Context, callee: InlineFunction, node: ast.Call) -> str | None:
    """Return the call of an inline function with its keywords as positional arguments."""
    names = callee.param_names[len(node.args) :]
    values = {word.arg: ctx.source.text(word.value) for word in node.keywords}
    if set(names) != set(values):
        return None
    texts = [*(ctx.source.text(arg) for arg in node.args), *(values[name] for name in names)]
    return f"write {callee.name}({', '.join(texts)})"


def product_hint(ctx: Context, callee: Any, text: str, node: ast.Call) -> str | None:
    """Return what is meant by a call of a number, a product, or of a tensor, a slice."""
    if len(node.args) == 1 and not node.keywords and isinstance(callee, int | float):
        return f"write {text} * {ctx.source.text(node.args[0])}"
    if not node.args and not node.keywords:  # x.shape()
        return f"write {text}"
    op = f"{text}imum" if text in ("min", "max") else text
    if isinstance(callee, Expr) and unified(op) is not None:  # a variable hides the function
        return f"write pl.{op}({', '.join(ctx.source.text(arg) for arg in node.args)})"
    if isinstance(callee, Expr) and isinstance(callee.type, ShapedType) and node.args:
        return f"write {text}[{', '.join(ctx.source.text(arg) for arg in node.args)}]"
    return None


def call_hint(ctx: Context, callee: Any, text: str, node: ast.Call) -> str | None:
    name = text.rpartition(".")[2]
    if callee is print:
        return PRINT_HINT
    if callee is len and len(node.args) == 1:
        return f"write {ctx.source.text(node.args[0])}.shape[0]"
    if callee is sum and len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
        return f"write {' + '.join(ctx.source.text(item) for item in node.args[0].elts)}"
    if callee is sum and len(node.args) == 1 and _of_all(ctx, "sum", node.args[0]) is not None:
        return f"write pl.col_sum({ctx.source.text(node.args[0])})"  # Python adds up the rows
    known = name if unified(name) is not None else None
    texts = [ctx.source.text(item) for item in (*node.args, *node.keywords)]
    meant = meant_elsewhere(ctx, name, node.args, node.keywords) if "." in text else None
    if meant is not None:
        return meant
    if "." in text and name in ABSENT:
        return ABSENT[name].hint
    if "." in text and len(texts) == len(node.args) == 1:
        whole = _of_all(ctx, name, node.args[0])
        if whole is not None:
            return whole
        if name == "transpose":
            return f"write pl.transpose({texts[0]}, 0, 1)"
    first = ctx.value(node.args[0]) if node.args else None
    is_data = isinstance(getattr(first, "type", None), ShapedType)
    if "." in text and known is None and (is_data or name not in _ROUNDING) and recipe(name, texts):
        return recipe(name, texts)
    if hasattr(callee, "__code__") and not ("." in text and known is not None):
        if ctx.self_name and text == f"{ctx.self_name}.{name}":
            return f"write @pl.function above def {name}"
        return f"write @pl.inline above def {name}"
    if callee in _CONVERSIONS and len(node.args) == 1:
        inner = ctx.source.text(node.args[0])
        return f"write {_CONVERSIONS[callee].format(inner)}"
    known = known or nearest(name, OVERLOADS)
    if known is None and name in _ROUNDING and len(node.args) == 1:
        inner = ctx.source.text(node.args[0])
        value = ctx.value(node.args[0])
        kind = value.type if isinstance(value, Expr) else None
        is_int = isinstance(kind, ScalarType) and kind.dtype.is_int()
        return f"write {inner}" if is_int else None
    return None if known is None else f"write pl.{_call_text(ctx, node, known)}"


def _call_text(ctx: Context, node: ast.Call, name: str) -> str:
    """Return a call with another callee, as the user could write it."""
    texts = [ctx.source.text(item) for item in (*node.args, *node.keywords)]
    return f"{name}({', '.join(texts)})".replace("keepdims=", "keepdim=")
