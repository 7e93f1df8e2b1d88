"""Wording of errors: types as users write them, and the nearest known name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.errors import of_type
from pypto._src.ir.array_types import TensorType, TileType, TileView, same_valid_part, valid_part
from pypto._src.ir.exprs import ConstInt, Expr, Var
from pypto._src.ir.types import ScalarType, TupleType, Type, UnknownType
from pypto._src.suggestions import did_you_mean as did_you_mean
from pypto._src.suggestions import dtype_word
from pypto._src.suggestions import nearest as nearest
from pypto._src.suggestions import op_elsewhere as op_elsewhere


def spell(kind: Type) -> str:
    """Return a type in short form, such as ``Tile[[64, 64], FP32]``."""
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


def first_value(kind: Type) -> str:
    """Return an initial value for a variable, as the user can write it."""
    from pypto._src.ops.new_tiles import full

    if isinstance(kind, ScalarType) and kind.dtype is DataType.BOOL:
        return "False"
    if isinstance(kind, TupleType):
        items = ", ".join(map(first_value, kind.types))
        return f"({items},)" if len(kind.types) == 1 else f"({items})"
    if isinstance(kind, TensorType):
        return f"pl.create_tensor({spell_dims(kind.shape)}, pl.{kind.dtype.member})"
    if not isinstance(kind, TileType):
        return "0.0" if isinstance(kind, ScalarType) and kind.dtype.is_float() else "0"
    size = f"{spell_dims(kind.shape)}, pl.{kind.dtype.member}"
    part = valid_part(kind)
    if part is not None:
        return f"pl.set_validshape(pl.create_tile({size}), {spell_dims(part)[1:-1]})"
    if kind.dtype in full.dtypes and kind.tile_view is None:
        return f"pl.full({size}, {'0.0' if kind.dtype.is_float() else '0'})"
    return f"pl.create_tile({size})"


def spell_apart(a: Type, b: Type) -> tuple[str, str]:
    """Return two types in short form, with what differs if that form does not show it."""
    first, second = spell(a), spell(b)
    if first != second or not isinstance(a, TileType) or not isinstance(b, TileType):
        return first, second
    views = [kind.tile_view or TileView() for kind in (a, b)]
    if not same_valid_part(a, b):
        parts = [valid_part(kind) for kind in (a, b)]
        words = ["valid throughout" if p is None else f"valid in {spell_dims(p)}" for p in parts]
    else:
        words = [f"in {view.blayout.name} and {view.slayout.name}" for view in views]
    return f"{first} {words[0]}", f"{second} {words[1]}"


def part_hint(a: Type, a_text: str, b: Type, b_text: str) -> str | None:
    """Suggest how to give two tiles the same valid part, None if they have it."""
    parts = valid_part(a), valid_part(b)
    if same_valid_part(a, b):
        return None
    part = parts[0] or parts[1]
    assert part is not None
    hint = f"load both with valid_shapes={spell_dims(part)}"
    if parts[0] is not None and parts[1] is not None:
        return hint
    filled = b_text if parts[0] is None else a_text
    return f"{hint}, or write pl.fillpad({filled}) for a whole tile with zeros in the rest"


def spell_dims(dims: Iterable[Expr]) -> str:
    """Return a shape as text."""
    texts = (str(dim.value) if isinstance(dim, ConstInt) else str(dim) for dim in dims)
    return f"[{', '.join(texts)}]"


def cast_hint(wanted: Type, found: Type, text: str) -> str | None:
    """Return the cast of the scalar ``text`` to the wanted scalar type; None for other types."""
    if isinstance(wanted, ScalarType) and isinstance(found, ScalarType):
        return f"write pl.cast({text}, pl.{wanted.dtype.member})"
    return None


def describe(value: Any) -> str:
    """Return a value's type, for "got ...": a type of the language or of Python."""
    if isinstance(value, Expr):
        return spell(value.type)
    if isinstance(value, bool | int | float | str):
        return f"the {type(value).__name__} {value!r}"
    if value is None:
        return "None"
    name = getattr(value, "__name__", None)
    return f"{name!r}" if isinstance(name, str) else of_type(value)


def store_line(name: str, output: Var, tile: str = "") -> str:
    """Return a statement that stores a tile into an output, as a user could write it."""
    shape = output.type.shape if isinstance(output.type, TensorType) else ()
    zeros = ", ".join("0" for _ in shape)
    dims = ", ".join(str(dim) for dim in shape)
    return f"{name} = pl.store({tile or 'tile'}, [{zeros}], [{dims}], {name})"


PRINT_HINT: Final = "store the value in an output, and print that after the call"
PRINTING: Final = frozenset({"print", "printf", "debug", "dump"})
"""Names of printing elsewhere; kernels do not print."""


def number_in(text: str) -> int | float | None:
    """Return the number that a string holds, None if it holds no finite one."""
    for kind in (int, float):
        with suppress(ValueError):
            found = kind(text)
            return found if math.isfinite(found) else None
    return None


def as_full(value: Any, dtype: DataType) -> str | None:
    """Return the tile that an array of equal elements stands for, None for any other value."""
    if not hasattr(value, "__array__") or not getattr(value, "shape", ()) or 0 in value.shape:
        return None
    try:
        least, greatest = value.min().item(), value.max().item()
    except (AttributeError, TypeError):  # elements that are not numbers
        return None
    if least != greatest or not isinstance(least, int | float):
        return None
    number = float(least) if dtype.is_float() else int(least)
    return f"pl.full({list(value.shape)}, pl.{dtype.member}, {number})"


def dtype_like(value: Any) -> DataType | None:
    """Return the element type that a string, Python type, NumPy or PyTorch type stands for."""
    text = value if isinstance(value, str) else getattr(value, "__name__", None)
    text = str(getattr(value, "name", value)) if text is None else str(text)
    return MEMBERS.get(dtype_word(text))
