"""Words for errors: types as users write them, and the nearest known name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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


def describe(value: Any) -> str:
    """Return what a value is, for "got ...": a type of the language or of Python."""
    if isinstance(value, Expr):
        return spell(value.type)
    if isinstance(value, bool | int | float | str):
        return f"the {type(value).__name__} {value!r}"
    name = getattr(value, "__name__", None)
    return f"{name!r}" if isinstance(name, str) else f"a {type(value).__name__}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` is most likely a misspelling of."""
    from difflib import get_close_matches

    found = get_close_matches(name, sorted(set(known)), n=1, cutoff=0.7)
    return found[0] if found else None


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str | None:
    """Return a hint with the nearest known name, None if there is none."""
    found = nearest(name, known)
    return None if found is None else f"did you mean {prefix}{found}?"
