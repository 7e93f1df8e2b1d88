"""Wording of errors: types as users write them, and the nearest known name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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


def _moments(line: str, axis: int) -> dict[str, str]:
    """Return recipes for mean, variance and deviation of each ``line``, row or col, on ``axis``."""
    mean = f"pl.mul(pl.{line}_sum({{0}}), 1.0 / {{0}}.shape[{axis}])"
    centred = f"pl.{line}_expand_sub({{0}}, {mean})"
    var = f"pl.mul(pl.{line}_sum(pl.mul({centred}, {centred})), 1.0 / {{0}}.shape[{axis}])"
    found = {"mean": mean, "var": var, "std": f"pl.sqrt({var})"}
    return {f"{line}_{name}": text for name, text in found.items()}


def _whole_moments() -> dict[str, str]:
    """Return recipes for mean, variance and deviation of all elements, as a tile of one."""
    total, share = "pl.col_sum(pl.row_sum({}))", "1.0 / ({0}.shape[0] * {0}.shape[1])"
    mean = f"pl.mul({total.format('{0}')}, {share})"
    centred = f"pl.sub({{0}}, {mean}[0, 0])"
    var = f"pl.mul({total.format(f'pl.mul({centred}, {centred})')}, {share})"
    return {"mean": mean, "var": var, "std": f"pl.sqrt({var})"}


_TWICE: Final = "pl.mul({0}, pl.add(pl.mul(pl.mul({0}, {0}), 0.2018), 2.2568))"  # erf as tanh
_SHIFTED: Final = "pl.exp(pl.row_expand_sub({0}, pl.row_max({0})))"
_RECIPES: Final = {
    "argmax": "pl.row_argmax({0})",
    "argmin": "pl.row_argmin({0})",
    "barrier": "pl.system.bar_all()",
    "bfloat16": "pl.cast({0}, pl.BF16)",
    "ceil": 'pl.cast(pl.cast({0}, pl.INT32, mode="ceil"), {0}.dtype)',
    "erf": f"pl.add(pl.mul(pl.recip(pl.add(pl.exp({_TWICE}), 1.0)), -2.0), 1.0)",
    "exp2": "pl.exp(pl.mul({0}, 0.6931471805599453))",
    "fill": "pl.full({0}.shape, {0}.dtype, {1})",
    "fill_": "pl.full({0}.shape, {0}.dtype, {1})",
    "float": "pl.cast({0}, pl.FP32)",
    "floor": 'pl.cast(pl.cast({0}, pl.INT32, mode="floor"), {0}.dtype)',
    "fma": "pl.add(pl.mul({0}, {1}), {2})",
    "gelu": "pl.div({0}, pl.add(pl.exp(pl.mul({0}, -1.702)), 1.0))",
    "full_like": "pl.full({0}.shape, {0}.dtype, {1})",
    "half": "pl.cast({0}, pl.FP16)",
    "isnan": "({0} != {0})",
    "log10": "pl.mul(pl.log({0}), 0.4342944819032518)",
    "log2": "pl.mul(pl.log({0}), 1.4426950408889634)",
    "ones_like": "pl.full({0}.shape, {0}.dtype, 1)",
    "pipe_barrier": "pl.system.bar_all()",
    "pow": "pl.exp(pl.mul(pl.log({0}), {1}))",
    "power": "pl.exp(pl.mul(pl.log({0}), {1}))",
    "round": 'pl.cast(pl.cast({0}, pl.INT32, mode="rint"), {0}.dtype)',
    "set_flag": "pl.system.sync_src({0}, {1}, {2})",
    "sigmoid": "pl.recip(pl.add(pl.exp(pl.neg({0})), 1.0))",
    "sign": "pl.sub({0} > 0, {0} < 0)",
    "silu": "pl.div({0}, pl.add(pl.exp(pl.neg({0})), 1.0))",
    "softmax": f"pl.row_expand_div({_SHIFTED}, pl.row_sum({_SHIFTED}))",
    "square": "pl.mul({0}, {0})",
    "sync": "pl.system.bar_all()",
    "tanh": "pl.add(pl.mul(pl.recip(pl.add(pl.exp(pl.mul({0}, 2.0)), 1.0)), -2.0), 1.0)",
    "trunc": 'pl.cast(pl.cast({0}, pl.INT32, mode="trunc"), {0}.dtype)',
    "wait_flag": "pl.system.sync_dst({0}, {1}, {2})",
    "zeros_like": "pl.full({0}.shape, {0}.dtype, 0)",
    **_whole_moments(),
    **_moments("row", 1),
    **_moments("col", 0),
}
"""What ops of other libraries are composed of here, given a tile and further arguments."""


_ARGUMENTS: Final = frozenset({"argmax", "argmin"})
_MOMENTS: Final = frozenset({"mean", "std", "var"})
_OF_COLUMNS: Final = frozenset({"0", "axis=0", "dim=0"})


def recipe(name: str, texts: Sequence[str]) -> str | None:
    """Return how to write an op of another library with ops that exist here."""
    if name.lower() in _ARGUMENTS and not _OF_COLUMNS.isdisjoint(texts[1:]):
        return f"write pl.col_{name.lower()}({texts[0]})"
    others = [each for each in texts[1:] if not each.startswith("keepdim")]
    if name.lower() in _MOMENTS and others not in ([], ["axis=None"], ["dim=None"]):
        name = f"{'row' if _OF_COLUMNS.isdisjoint(texts[1:]) else 'col'}_{name}"
    found = _RECIPES.get(name.lower())
    if name.lower() in ("pow", "power") and texts[1:] == ["2"]:
        found = _RECIPES["square"]
    if found is None or f"{{{len(texts)}}}" in found:
        return None
    if name.lower() == "fill" and len(texts) > 2:
        return None  # called with shape, element type and value: pl.full itself
    return f"write {found.format(*texts)}"


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
