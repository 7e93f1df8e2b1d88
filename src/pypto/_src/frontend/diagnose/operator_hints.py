"""Errors and hints of operators: what to use in place of one that does not exist."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from typing import Any, Final, TypeGuard, cast

from pypto._src.diagnostics import line_at
from pypto._src.dtypes import DataType, bounds, holds, out_of_range_text
from pypto._src.errors import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
)
from pypto._src.frontend.diagnose.trial import is_on_host, tried_text
from pypto._src.frontend.source.python_names import MISSING, items_of
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import (
    as_full,
    describe,
    dtype_like,
    nearest,
    number_in,
    spell_dims,
)
from pypto._src.frontend.syntax.annotations import parameter_type
from pypto._src.ir.array_types import ShapedType, TensorType, TileType, dtype_of
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.types import ScalarType
from pypto._src.ops import elementwise, tensor
from pypto._src.ops.rules.boxes import elements
from pypto._src.ops.unified import is_data

_POWERS: Final = {-1: "recip", -0.5: "rsqrt", 0.5: "sqrt"}
"""The ops that compute powers of a tile."""

_ROOTED: Final = frozenset({DataType.FP16, DataType.FP32})
"""The element types that they take."""

_PRODUCTS: Final = (2, 3)
"""The powers that are written as products."""

_LOGIC: Final = frozenset({"&", "|", "^", "<<", ">>"})
"""Operators on the bits of integers."""

_MOST_LISTED: Final = 4  # the most items of a list that a hint writes out


def last_item(ctx: Context, node: ast.expr, args: Sequence[Any]) -> str | None:
    """Return the last item of a list read beyond its end, or the key of a dict that is meant."""
    if not isinstance(node, ast.Subscript):
        return None
    text, (container, key) = ctx.source.text(node.value), args
    if isinstance(container, list | tuple) and container and isinstance(key, int):
        return f"write {text}[{len(cast('Sequence[Any]', container)) - 1}]"
    if isinstance(container, dict) and isinstance(key, str):
        meant = nearest(key, [k for k in cast("dict[Any, Any]", container) if isinstance(k, str)])
        return None if meant is None else f"write {text}[{meant!r}]"
    return None


def other_operator(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return the existing operator in place of one that does not exist."""
    operands = _sides(node)
    if len(operands) != 2:
        return None
    a, b = _operand_texts(ctx, node)
    meant = None
    if symbol == "@":
        meant = f"{a} * {b}"
    elif symbol == "//" and is_data(left) and left.type.dtype.is_float():
        whole = f'pl.cast({a} / {b}, pl.INT32, mode="floor")'
        meant = f"pl.cast({whole}, pl.{left.type.dtype.member})"
    elif symbol == "**" and isinstance(right, int | float):
        kind = getattr(left, "type", None)
        if right in _PRODUCTS and isinstance(operands[0], ast.Name | ast.Subscript):
            meant = " * ".join([a] * int(right))
        elif right in _POWERS and isinstance(kind, TileType) and kind.dtype in _ROOTED:
            meant = f"pl.{_POWERS[right]}({ctx.source.text(operands[0])})"
    elif symbol == "**" and isinstance(left, int | float) and left > 0 and _is_rooted(right):
        meant = f"pl.exp({b} * {math.log(left)!r})"
    return None if meant is None else in_place(ctx, node, meant)


def _sides(node: Any) -> list[ast.expr]:
    """Return the operands of an operator; empty for any other expression."""
    from pypto._src.frontend.diagnose.fixits import sides

    return sides(node)


def _operand_texts(ctx: Context, node: Any) -> list[str]:
    """Return the texts of an operator's operands for a hint that computes the same.

    What changes an output reads and writes its elements; in a kernel these are loaded.
    """
    from pypto._src.frontend.state.roles import computes_with_tiles

    first, second = [ctx.source.operand(each) for each in _sides(node)]
    if _output_of(ctx, node) is None:
        return [first, second]
    value = ctx.value(node.value) if isinstance(node.value, ast.Name) else None
    is_tensor = isinstance(getattr(value, "type", None), TensorType)
    loads = is_tensor and computes_with_tiles(ctx.home)
    return [f"{first}[:]", f"{second}[:]" if loads else second]


def _output_of(ctx: Context, node: Any) -> Var | None:
    """Return the output that an augmented assignment changes, None for anything else."""
    target = node.target if isinstance(node, ast.AugAssign) else None
    return ctx.outputs.get(target.id) if isinstance(target, ast.Name) else None


def in_place(ctx: Context, node: Any, text: str) -> str | None:
    """Return the hint to write an expression in place of ``node``, None if it is refused there.

    For an augmented assignment it is the value to assign.
    """
    if not _is_accepted(ctx, node, text):
        return None
    if not isinstance(node, ast.AugAssign):
        return f"write {text}"
    name = ctx.source.text(node.target)
    output = _output_of(ctx, node)
    if output is None:
        return f"write {name} = {text}"
    line = f"{'with pl.incore(): ' if is_on_host(ctx) else ''}{name}[:] = {text}"
    if output in ctx.written or _is_given(ctx, name):
        return f"write {line}"
    return f"declare {name} as pl.InOut[...] to read it, and write {line}"


def _is_given(ctx: Context, name: str) -> bool:
    """True for an output that has values when the function is called."""
    types = [each.annotation for each in ctx.node.args.args if each.arg == name]
    return any(
        node is not None and parameter_type(ctx, node)[1] is ParamDirection.InOut for node in types
    )


def _is_accepted(ctx: Context, node: ast.AST, text: str) -> bool:
    """True if the text of an expression can be evaluated at ``node``, and used there."""
    value = tried_text(ctx, text, makes_region=isinstance(node, ast.AugAssign))
    return value is not MISSING and not (is_data(value) and is_test(ctx, node))


def _is_rooted(value: Any) -> bool:
    """True for a tile or tensor of an element type in `_ROOTED`."""
    return is_data(value) and value.type.dtype in _ROOTED


def refuse_too_large(ctx: Context, node: Any, left: Any, right: Any) -> None:
    """Raise the error for a number that no constant beside the other operand can hold."""
    for value, other, operand_node in zip((left, right), (right, left), _sides(node), strict=False):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        beside_int = isinstance(value, int) and not (
            isinstance(other, Expr) and dtype_of(other).is_float()
        )
        dtype = DataType.INT64 if beside_int else DataType.FP32
        if not holds(value, dtype):
            raise ParserTypeError(
                out_of_range_text(value, dtype),
                ctx.span(operand_node),
                hint=f"write {bounds(dtype)[value > 0]}",
                slug="constant-range",
            )


def integers_hint(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return an operator on integers with casts of the operands that are floats."""
    if not isinstance(node, ast.BinOp):
        return None
    texts: list[str] = []
    from pypto._src.frontend.diagnose.fixits import integer_text

    for value, operand_node in ((left, node.left), (right, node.right)):
        is_int = isinstance(value, int) or (isinstance(value, Expr) and dtype_of(value).is_int())
        text = ctx.source.operand(operand_node)
        texts.append(text if is_int else integer_text(ctx, operand_node, value))
    return f"write {f' {symbol} '.join(texts)}"


def common_cast(ctx: Context, left: Any, right: Any) -> str | None:
    """Return the cast that gives an integer and a float a common type."""
    for side, other in ((left, right), (right, left)):
        if not isinstance(side, Expr) or not isinstance(side.type, ScalarType):
            continue
        wanted = getattr(other.type, "dtype", None) if isinstance(other, Expr) else None
        dtype = "FP32" if wanted is None else wanted.member
        floats = isinstance(other, float) or (wanted is not None and wanted.is_float())
        if side.type.dtype.is_int() and floats:
            name = getattr(side, "name", "...")
            return _float_begin(ctx, side) or f"write pl.cast({name}, pl.{dtype})"
    return None


def _unquoted(ctx: Context, node: Any, left: Any, right: Any) -> str | None:
    """Return an operation with the number that a string beside the operator holds."""
    if not isinstance(node, ast.BinOp):
        return None
    whole = ctx.source.text(node)  # has brackets around an operand that its own text lacks
    for operand_node, value in ((node.left, left), (node.right, right)):
        number = number_in(value) if isinstance(value, str) else None
        text = ctx.source.text(operand_node)
        if number is not None and isinstance(operand_node, ast.Constant) and whole.count(text) == 1:
            return f"write {whole.replace(text, str(number))}"
    return None


def no_operator(
    ctx: Context, node: Any, symbol: str, left: Any, right: Any, hint: str | None = None
) -> ParserError:
    return InvalidOperationError(
        f"there is no {symbol!r} between {describe(left)} and {describe(right)}",
        ctx.span(node),
        hint=hint
        or _unquoted(ctx, node, left, right)
        or _as_number(ctx, node, symbol, left, right)
        or _as_tile(ctx, node, symbol, left, right)
        or _as_parameter(ctx, node, left, right),
        slug="no-operator",
    )


def _as_number(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return an operation with a plain number for one of NumPy, or for True and False."""
    if not isinstance(node, ast.BinOp):
        return None
    texts = [ctx.source.operand(node.left), ctx.source.operand(node.right)]
    for at, value in enumerate((left, right)):
        if isinstance(value, bool):
            texts[at] = str(int(value))
        elif type(value).__module__ in ("numpy", "ml_dtypes") and getattr(value, "shape", 0) == ():
            texts[at] = repr(value.item())
        else:
            continue
        return f"write {texts[0]} {symbol} {texts[1]}"
    return None


def _as_tile(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return an operation with a tile in place of an array of equal elements."""
    if not isinstance(node, ast.BinOp):
        return None
    pairs = (node.left, left, right), (node.right, right, left)
    for at, (operand_node, value, other) in enumerate(pairs):
        full = as_full(value, other.type.dtype) if is_data(other) else None
        if full is None or not _is_made_here(ctx, operand_node):
            continue
        if isinstance(operand_node, ast.Name):
            return f"begin with {operand_node.id} = {full}"
        texts = [ctx.source.operand(node.left), ctx.source.operand(node.right)]
        texts[at] = full
        return f"write {texts[0]} {symbol} {texts[1]}"
    return None


def _is_made_here(ctx: Context, node: ast.expr) -> bool:
    """True for an expression, and for a name that the kernel gives a value."""
    return not isinstance(node, ast.Name) or node.id in ctx.names.values


def _as_parameter(ctx: Context, node: Any, left: Any, right: Any) -> str | None:
    """Suggest a parameter for an array from outside of the kernel."""
    if not isinstance(node, ast.BinOp):
        return None
    for value, operand_node in ((left, node.left), (right, node.right)):
        dtype = dtype_like(getattr(value, "dtype", None))
        if isinstance(operand_node, ast.Name) and dtype is not None and hasattr(value, "__array__"):
            kind = f"pl.Tensor[{list(value.shape)}, pl.{dtype.member}]"
            return f"make it a parameter, {operand_node.id}: {kind}"
        count = _count_of_numbers(value)
        if count:
            name = operand_node.id if isinstance(operand_node, ast.Name) else "row"
            return f"make it a parameter, {name}: pl.Tensor[[1, {count}], pl.FP32]"
    return None


def _count_of_numbers(value: Any) -> int:
    """Return how many numbers a list of numbers has, 0 for anything else."""
    items = items_of(value) or ()
    return len(items) if all(isinstance(item, int | float) for item in items) else 0


def load_hint(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return the slice that makes a tile of a tensor that is used beside a tile."""
    if not (is_data(left) and is_data(right)):
        return None
    if isinstance(node, ast.AugAssign):
        return stored(ctx, node, symbol) if isinstance(left.type, TensorType) else None
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(left.type, TensorType) == isinstance(right.type, TensorType):
        return None
    is_left = isinstance(left.type, TensorType)
    operand_node, value = (node.left, left) if is_left else (node.right, right)
    from pypto._src.frontend.state.roles import computes_with_tiles

    if not computes_with_tiles(ctx.home):
        loaded = _as_load(ctx, operand_node, value)
        other = ctx.source.operand(node.right if is_left else node.left)
        texts = (loaded, other) if is_left else (other, loaded)
        return None if loaded is None else in_place(ctx, node, f"{texts[0]} {symbol} {texts[1]}")
    return (
        f"write {ctx.source.text(operand_node)}[:]" if isinstance(operand_node, ast.Name) else None
    )


def stored(ctx: Context, node: ast.AugAssign, symbol: str) -> str | None:
    """Return the store that ``out += value`` of an output means."""
    if _output_of(ctx, node) is None:
        return None
    return in_place(ctx, node, f" {symbol} ".join(_operand_texts(ctx, node)))


def _as_load(ctx: Context, node: ast.expr, value: Expr) -> str | None:
    """Return the load of a tensor or of a part of one, as ``pl.incore`` regions have it."""
    assert isinstance(value.type, ShapedType)
    whole, begins = node, f"[{', '.join(['0'] * len(value.type.shape))}]"
    if isinstance(value, Call) and value.op is tensor.view and isinstance(node, ast.Subscript):
        whole, begins = node.value, spell_dims(elements(value.args[2]))
    if not isinstance(whole, ast.Name):
        return None
    return f"pl.load({whole.id}, {begins}, {spell_dims(value.type.shape)})"


def number_first(
    ctx: Context, node: Any, symbol: str, name: str, left: Any, right: Any
) -> ParserError:
    error = no_operator(ctx, node, symbol, left, right)
    if isinstance(node, ast.BinOp):
        number_text, tile = ctx.source.operand(node.left), ctx.source.text(node.right)
        dtype, is_tile = right.type.dtype, isinstance(right.type, TileType)
        if name == "sub":
            value = ctx.source.operand(node.right)
            if dtype not in elementwise.muls.dtypes:
                value = f"pl.cast({tile}, pl.FP32)"
            negated = f"{value} * -1"
            if is_tile and dtype in elementwise.neg.dtypes:
                negated = f"pl.neg({tile})"
            error.hint = in_place(ctx, node, f"{negated} + {number_text}")
        if name == "div" and (is_tile or ctx.region is not None):
            is_one = not isinstance(left, Expr) and left == 1
            of_floats = dtype in elementwise.recip.dtypes
            value = tile if of_floats else f"pl.cast({tile}, pl.FP32)"
            text = f"pl.recip({value}){'' if is_one else f' * {number_text}'}"
            error.hint = in_place(ctx, node, text)
        elif name == "div":
            error.hint = "compute it inside with pl.incore():, or in an InCore function"
    return error


def of_integers(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return an operator on bits with the integers of the operands that are floats."""
    if symbol not in _LOGIC or not isinstance(node, ast.BinOp):
        return None
    texts = [
        f"pl.cast({ctx.source.text(operand_node)}, pl.INT32)"
        if isinstance(value, Expr) and dtype_of(value).is_float()
        else ctx.source.operand(operand_node)
        for operand_node, value in ((node.left, left), (node.right, right))
    ]
    return in_place(ctx, node, f" {symbol} ".join(texts))


def is_test(ctx: Context, node: ast.AST) -> bool:
    """True for the condition of a branch or loop, which no tile can be."""
    around = (each for each in ast.walk(ctx.home.node) if isinstance(each, ast.If | ast.While))
    return any(each.test is node for each in around)


def of_masks(
    ctx: Context, node: ast.expr, values: Sequence[ast.expr], is_and: bool, left: Any, right: Any
) -> str | None:
    """Return what ``and`` and ``or`` mean for two comparisons of tiles, which are 1 or 0."""
    kinds = [getattr(each, "type", None) for each in (left, right)]
    dtypes = [kind.dtype for kind in kinds if isinstance(kind, TileType)]
    if len(values) != 2 or len(dtypes) != 2 or dtypes[0] is not dtypes[1]:
        return None
    masks = [
        ctx.source.text(value)
        if isinstance(value, ast.Compare)
        else f"{ctx.source.operand(value)} != 0"
        for value in values
    ]
    return in_place(ctx, node, _of_links(masks, is_and=is_and))


_ORDER: Final = frozenset({"<", "<=", ">", ">="})


def no_identity(ctx: Context, node: ast.Compare, symbol: str, left: Any, right: Any) -> ParserError:
    """Return the error for ``is`` and ``in``, with the comparisons that they mean."""
    error = no_operator(ctx, node, symbol, left, right)
    text, items = ctx.source.text(node.left), node.comparators[0]
    equal, word = ("!=", "and") if symbol in ("is not", "not in", "!=") else ("==", "or")
    if isinstance(items, ast.List | ast.Tuple) and 0 < len(items.elts) <= _MOST_LISTED:
        links = [f"{text} {equal} {ctx.source.text(item)}" for item in items.elts]
        error.hint = f"write {f' {word} '.join(links)}"
    elif (left is None or right is None) and symbol not in _ORDER:
        named = text if right is None else ctx.source.text(items)
        error.hint = f"leave the test out: {named} is never None"
    elif symbol in ("is", "is not"):
        error.hint = f"write {text} {equal} {ctx.source.text(items)}"
    return error


def of_tiles(ctx: Context, node: ast.Compare, symbol: str) -> str:
    """Return a comparison of the tiles that tensors hold, or where one may be written."""
    from pypto._src.frontend.state.roles import computes_with_tiles

    if ctx.launches_regions:
        return "write it inside with pl.at(level=pl.Level.CORE_GROUP):"
    sides = [node.left, node.comparators[0]]
    if not computes_with_tiles(ctx.home):
        made = [
            _as_load(ctx, p, ctx.value(p)) if is_data(ctx.value(p)) else ctx.source.text(p)
            for p in sides
        ]
        if None in made:
            return "write it in an InCore function, or inside with pl.incore():"
        return f"inside with pl.incore():, write {made[0]} {symbol} {made[1]}"
    tensors = [isinstance(getattr(ctx.value(p), "type", None), TensorType) for p in sides]
    texts = [
        f"{ctx.source.text(p)}[:]" if t else ctx.source.text(p)
        for p, t in zip(sides, tensors, strict=True)
    ]
    return f"write {texts[0]} {symbol} {texts[1]}"


def chain(ctx: Context, node: ast.Compare, symbols: Sequence[str]) -> ParserError:
    return ParserSyntaxError(
        "comparisons cannot be chained",
        ctx.span(node),
        hint=_joined(ctx, node, symbols),
        slug="comparison-chain",
    )


def _joined(ctx: Context, node: ast.Compare, symbols: Sequence[str]) -> str | None:
    """Return the comparisons that a chain means, joined; None if what it means is unclear.

    In ``a > 0 & b > 0`` Python takes ``0 & b`` together.
    """
    *between, last = node.comparators
    taken = [item for item in between if _is_of_bits(item) and not _is_in_brackets(ctx, node, item)]
    joints = {type(item.op) for item in taken}
    operands = [side for item in taken for side in (item.left, item.right)]
    if len(joints) > 1 or len(taken) not in (0, len(between)) or any(map(_is_of_bits, operands)):
        return None
    operands = [node.left, *(operands or [side for item in between for side in (item, item)]), last]
    pairs = [*zip(operands[::2], symbols, operands[1::2], strict=True)]
    links = [f"{_side(ctx, a)} {symbol} {_side(ctx, b)}" for a, symbol, b in pairs]
    are_masks = {any(is_data(ctx.value(side)) for side in (a, b)) for a, _, b in pairs}
    if are_masks == {False}:
        return in_place(ctx, node, f" {'or' if ast.BitOr in joints else 'and'} ".join(links))
    if are_masks != {True}:
        return None
    return in_place(ctx, node, _of_links(links, is_and=ast.BitOr not in joints))


def _of_links(links: Sequence[str], *, is_and: bool) -> str:
    """Return what ``and`` and ``or`` mean for comparisons of tiles, which are 1 or 0."""
    return " * ".join(f"({link})" for link in links) if is_and else f"max({', '.join(links)})"


def _is_of_bits(node: ast.expr) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)


def _is_in_brackets(ctx: Context, around: ast.expr, node: ast.expr) -> bool:
    """True if an expression inside another one has brackets around it."""
    span, outer = ctx.source.span(node), ctx.source.span(around)
    if (span.begin_line, span.begin_column) == (outer.begin_line, outer.begin_column):
        return False
    before = ctx.source.lines[span.begin_line - 1][: span.begin_column]
    return before.rstrip().endswith("(")


def _side(ctx: Context, node: ast.expr) -> str:
    """Return the text of one side of a comparison; arithmetic needs no brackets there."""
    is_arithmetic = isinstance(node, ast.BinOp | ast.UnaryOp) and not isinstance(node.op, ast.Not)
    return ctx.source.text(node) if is_arithmetic else ctx.source.operand(node)


def _float_begin(ctx: Context, value: Any) -> str | None:
    """Suggest a float for a variable that was initialized with an integer literal.

    None for other values, and for a variable assigned only once, which may be meant as an integer.
    """
    if not isinstance(value, Var) or ctx.assigned.get(value.name, 0) < 2:
        return None
    target, _, number = line_at(value.span).strip().partition(" = ")
    is_integer = target == value.name and re.fullmatch(r"-?\d+", number)
    return f"begin with {value.name} = {number}.0" if is_integer else None
