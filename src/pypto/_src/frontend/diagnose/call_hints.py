"""Calls that mean nothing where they are: their errors, and the calls that are meant."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final

from pypto._src.errors import (
    ParserError,
    ParserOpError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto._src.frontend.diagnose.absent_ops import ABSENT
from pypto._src.frontend.diagnose.calls_elsewhere import (
    FORMS,
    is_accepted,
    is_of_library,
    meant_elsewhere,
)
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import PRINT_HINT, op_elsewhere
from pypto._src.frontend.syntax.inline import InlineFunction
from pypto._src.ir.array_types import ShapedType, TensorType
from pypto._src.ir.exprs import Expr
from pypto._src.ops.unified import unified

_OF_PYTHON: Final[dict[Any, str]] = {
    len: "{o}.shape[0]",
    sum: "pl.col_sum({x})",  # Python adds up the rows
    int: "pl.cast({x}, pl.INT64)",
    float: "pl.cast({x}, pl.FP32)",
    bool: "{x} != 0",
}
"""Functions of Python, and what computes the same from a value of a kernel."""


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
    """Return the hint for a call of an op or method that there is not: the call that is meant."""
    found_at, end = error.location, ctx.span(func)
    if (found_at.end_line, found_at.end_column) != (end.end_line, end.end_column):
        return error.hint  # of the object
    name = func.attr
    if error.slug == "attribute":
        meant = meant_elsewhere(ctx, f".{name}", [func.value, *node.args], node.keywords)
        if meant is not None:
            return _assigned(ctx, func, meant)
        absent = ABSENT.get(name)
        has_arguments = node.args or node.keywords  # the error knows nothing of them
        return absent.hint if absent is not None else None if has_arguments else error.hint
    if not is_of_library(ctx, func):
        return error.hint
    is_near = name.lower() in FORMS and op_elsewhere(name) is None  # a name, not a meaning
    meant = meant_elsewhere(ctx, name, node.args, node.keywords)
    return meant or (None if is_near else error.hint)


def _assigned(ctx: Context, func: ast.Attribute, hint: str) -> str | None:
    """Return a hint with an assignment, for a method that changes its object."""
    if func.attr not in _CHANGING:
        return hint
    kind, text = ctx.value(func.value).type, ctx.source.text(func.value)
    if isinstance(kind, TensorType) and text not in ctx.home.outputs:
        return None
    whole = f"[{', '.join([':'] * len(kind.shape))}]" if isinstance(kind, TensorType) else ""
    return f"write {text}{whole} = {hint.removeprefix('write ')}"


_CHANGING: Final = frozenset({"fill", "fill_"})


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
    if callee is sum and len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
        return f"write {' + '.join(ctx.source.text(item) for item in node.args[0].elts)}"
    if callee in _OF_PYTHON and len(node.args) == 1:
        source, arg = ctx.source, node.args[0]
        hint = f"write {_OF_PYTHON[callee].format(x=source.text(arg), o=source.operand(arg))}"
        return hint if is_accepted(ctx, hint) else None
    if is_of_library(ctx, node.func, callee):
        absent = ABSENT[name].hint if name in ABSENT else None
        return meant_elsewhere(ctx, name, node.args, node.keywords) or absent
    if not hasattr(callee, "__code__"):
        return None
    is_own = ctx.self_name and text == f"{ctx.self_name}.{name}"
    return f"write {'@pl.function' if is_own else '@pl.inline'} above def {name}"


def _call_text(ctx: Context, node: ast.Call, name: str) -> str:
    """Return a call with another callee, as the user could write it."""
    texts = [ctx.source.text(item) for item in (*node.args, *node.keywords)]
    return f"{name}({', '.join(texts)})"
