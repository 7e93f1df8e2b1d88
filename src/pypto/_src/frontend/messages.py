"""Words for errors: types as users write them, and the nearest known name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.ir.nodes import (
    ConstInt,
    Expr,
    ScalarType,
    TensorType,
    TileType,
    TupleType,
    Type,
    UnknownType,
)
from pypto._src.spelling import did_you_mean as did_you_mean
from pypto._src.spelling import dtype_word
from pypto._src.spelling import nearest as nearest
from pypto._src.spelling import op_elsewhere as op_elsewhere


def spell(kind: Type) -> str:
    """Return a type in short, such as ``Tile[[64, 64], FP32]``."""
    match kind:
        case ScalarType():
            return f"Scalar[{kind.dtype.member}]"
        case TensorType() | TileType():
            word = "Tensor" if isinstance(kind, TensorType) else "Tile"
            return f"{word}[{spell_dims(kind.shape)}, {kind.dtype.member}]"
        case TupleType():
            return f"({', '.join(spell(item) for item in kind.types)})"
        case UnknownType():
            return "no value"
        case _:
            return type(kind).__name__


def spell_dims(dims: Iterable[Expr]) -> str:
    """Return a shape as text."""
    texts = (str(dim.value) if isinstance(dim, ConstInt) else str(dim) for dim in dims)
    return f"[{', '.join(texts)}]"


def cast_hint(wanted: Type, found: Type, text: str) -> str | None:
    """Return the cast of the scalar that ``text`` is to another one's type; None for others."""
    if isinstance(wanted, ScalarType) and isinstance(found, ScalarType):
        return f"write pl.cast({text}, pl.{wanted.dtype.member})"
    return None


def describe(value: Any) -> str:
    """Return what a value is, for "got ...": a type of the language or of Python."""
    if isinstance(value, Expr):
        return spell(value.type)
    if isinstance(value, bool | int | float | str):
        return f"the {type(value).__name__} {value!r}"
    if value is None:
        return "None"
    name = getattr(value, "__name__", None)
    return f"{name!r}" if isinstance(name, str) else f"a {type(value).__name__}"


def number_in(text: str) -> int | float | None:
    """Return the number that a string holds, None if it is no finite one."""
    for kind in (int, float):
        with suppress(ValueError):
            found = kind(text)
            return found if math.isfinite(found) else None
    return None


def counted(count: int, noun: str) -> str:
    """Return a number of things: ``1 value``, ``2 values``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_SHIFTED: Final = "pl.exp(pl.row_expand_sub({0}, pl.row_max({0})))"
_RECIPES: Final = {
    "gelu": "pl.div({0}, pl.add(pl.exp(pl.mul({0}, -1.702)), 1.0))",
    "mean": "pl.mul(pl.row_sum({0}), 1.0 / {0}.shape[1])",
    "sigmoid": "pl.recip(pl.add(pl.exp(pl.neg({0})), 1.0))",
    "silu": "pl.div({0}, pl.add(pl.exp(pl.neg({0})), 1.0))",
    "softmax": f"pl.row_expand_div({_SHIFTED}, pl.row_sum({_SHIFTED}))",
    "square": "pl.mul({0}, {0})",
    "tanh": "pl.add(pl.mul(pl.recip(pl.add(pl.exp(pl.mul({0}, 2.0)), 1.0)), -2.0), 1.0)",
}
"""What ops of other libraries are made of here, of a tile."""


def recipe(name: str, tile: str) -> str | None:
    """Return how an op of other libraries is written with those that there are."""
    found = _RECIPES.get(name.lower())
    return None if found is None else f"write {found.format(tile)}"


def dtype_like(value: Any) -> DataType | None:
    """Return the element type that a string, Python type, NumPy or PyTorch type stands for."""
    text = value if isinstance(value, str) else getattr(value, "__name__", None)
    text = str(getattr(value, "name", value)) if text is None else str(text)
    return MEMBERS.get(dtype_word(text))
