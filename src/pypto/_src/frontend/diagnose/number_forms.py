"""What to write for ops on tiles that are called with numbers."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import partial
from operator import neg
from typing import Any

from pypto._src.dtypes import DataType
from pypto._src.frontend.diagnose.fixits import Site
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.types import ScalarType
from pypto._src.ops import bitwise, elementwise
from pypto._src.ops.unified import is_number
from pypto._src.records import NamedTuple


class OfNumber(NamedTuple):
    """How an op on tiles is written on one number."""

    form: str  # with a placeholder for its operand
    value: Callable[[float], object]


def _power(exponent: float) -> Callable[[float], object]:
    """Return the function that raises a number to an exponent; complex for a negative number."""
    return lambda number: pow(number, exponent)


def _inverse(number: float) -> float:
    return 1 / number


OF_NUMBERS: Mapping[OpDef[..., Any], OfNumber] = {
    elementwise.abs: OfNumber("abs({})", abs),
    elementwise.exp: OfNumber(f"{math.e} ** {{}}", partial(pow, math.e)),
    elementwise.neg: OfNumber("-{}", neg),
    elementwise.recip: OfNumber("1 / {}", _inverse),
    elementwise.rsqrt: OfNumber("{} ** -0.5", _power(-0.5)),
    elementwise.sqrt: OfNumber("{} ** 0.5", _power(0.5)),
}


def of_number(site: Site) -> str | None:
    """Suggest the operator for an op of one number, or a tile full of the number."""
    value, text = site.args[0], site.texts()[0]
    if len(site.node.args) != 1 or len(site.args) != 1:
        return None
    dtype = DataType.FP32
    if isinstance(value, Expr):
        if not isinstance(value.type, ScalarType):
            return None
        dtype = value.type.dtype
    elif not isinstance(value, int | float):
        return None
    if dtype not in site.op.dtypes:
        if DataType.FP32 not in site.op.dtypes:
            return None
        text, dtype = f"pl.cast({text}, pl.FP32)", DataType.FP32
    known = OF_NUMBERS.get(site.op)
    if known is None or not (isinstance(value, Expr) or _has_value(known, value)):
        shape = _only_shape(site) or [1, 32 // dtype.bytes]  # one block
        return f"write {site.written}(pl.full({shape}, pl.{dtype.member}, {text}))"
    form = known.form
    is_simple = isinstance(site.node.args[0], ast.Name | ast.Constant) or text.startswith("pl.cast")
    return f"write {form.format(text if is_simple or form.endswith(')') else f'({text})')}"


def _has_value(known: OfNumber, number: float) -> bool:
    """True if the operator for an op gives a real number where its operand is a constant."""
    if isinstance(number, float) and not math.isfinite(number):
        return False  # it cannot be written
    try:
        return isinstance(known.value(number), int | float)
    except ArithmeticError:
        return False


def _only_shape(site: Site) -> list[int] | None:
    """Return the shape shared by all tiles that have names here, None if there are several."""
    known = (v.type for v in site.ctx.names.values.values() if isinstance(v, Var))
    shapes = {static_shape(kind) for kind in known if isinstance(kind, TileType)}
    shape = shapes.pop() if len(shapes) == 1 else None
    return None if shape is None else list(shape)


_OF_TWO_NUMBERS: Mapping[OpDef[..., Any], str] = {
    elementwise.add: "{} + {}",
    elementwise.sub: "{} - {}",
    elementwise.mul: "{} * {}",
    elementwise.div: "{} / {}",
    bitwise.rem: "{} % {}",
    bitwise.and_: "{} & {}",
    bitwise.or_: "{} | {}",
    bitwise.xor: "{} ^ {}",
    bitwise.shl: "{} << {}",
    bitwise.shr: "{} >> {}",
    elementwise.maximum: "pl.max({}, {})",
    elementwise.minimum: "pl.min({}, {})",
}
"""How ops on two tiles are written on two numbers."""


def of_two_numbers(site: Site) -> str | None:
    """Suggest the operator for an op of two numbers."""
    if len(site.args) != 2 or len(site.node.args) != 2 or site.kwargs:
        return None
    form = _OF_TWO_NUMBERS.get(site.op)
    is_call = form is not None and form.endswith(")")
    texts = [
        text if is_call or isinstance(argument, _CLOSED) else f"({text})"
        for argument, text in zip(site.node.args, site.texts(), strict=True)
    ]
    if form is None or not all(map(is_number, site.args)):
        return None
    return f"write {form.format(*texts)}"


_CLOSED = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Call)
"""Expressions that can be an operand without brackets."""
