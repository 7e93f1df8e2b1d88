"""Words for errors: types as users write them, and the nearest known name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pypto._src.diagnostics import spelled_like
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


def counted(count: int, noun: str) -> str:
    """Return a number of things: ``1 value``, ``2 values``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_ELSEWHERE: Final = {
    "absolute": "abs",
    "amax": "row_max",
    "astype": "cast",
    "divide": "div",
    "dot": "matmul",
    "fill": "full",
    "gt": "cmp",
    "mm": "matmul",
    "multiply": "mul",
    "negative": "neg",
    "power": "pow",
    "reciprocal": "recip",
    "remainder": "rem",
    "subtract": "sub",
    "sum": "row_sum",
    "to": "cast",
    "true_divide": "div",
    "where": "sel",
    "zeros": "full",
}
"""What NumPy and its kin call things. An entry counts where the name on its right is known."""


def dtype_like(value: Any) -> DataType | None:
    """Return the element type that a string, Python type, NumPy or PyTorch type stands for."""
    text = value if isinstance(value, str) else getattr(value, "__name__", None)
    text = str(getattr(value, "name", value)) if text is None else str(text)
    word = text.rpartition(".")[2].lower()
    word = _DTYPES.get(word) or word.replace("float", "fp").replace("bfp", "bf")
    return MEMBERS.get(word.upper())


_DTYPES: Final = {
    "int": "int64",
    "long": "int64",
    "float": "fp32",
    "half": "fp16",
    "double": "fp64",
    "bool_": "bool",
}
"""Names of element types that are not built like ours."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` most likely means.

    That is one spelled alike, whatever the case of its letters; one that begins it (``Vec`` for
    ``Vector``); or the one for what other libraries call ``name``.
    """
    spelled = {text.lower(): text for text in sorted(set(known), reverse=True)}
    low = name.lower()
    found = spelled_like(low, spelled, cutoff=0.66)
    if found is not None:
        return spelled[found]
    alias = _ELSEWHERE.get(low)
    if alias is not None and alias in spelled:
        return spelled[alias]
    begins = [text for text in spelled if len(text) >= 3 and low.startswith(text)]
    return spelled[max(begins, key=len)] if begins else None


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str | None:
    """Return a hint with the nearest known name, None if there is none."""
    found = nearest(name, known)
    return None if found is None else f"did you mean {prefix}{found}?"
