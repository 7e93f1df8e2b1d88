"""How the PTO dialect spells types and numbers. Pure functions of IR types; no state, no ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from pypto._src.dtypes import LARGEST, DataType, holds
from pypto._src.errors import EmitError, of_type
from pypto._src.ir.array_types import TileType, as_matrix
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import ConstInt, Expr, const_value
from pypto._src.ir.types import ScalarType
from pypto._src.ops import layout
from pypto._src.ops.layout import effective_view

LOCATIONS: Final = {
    MemorySpace.Vec: "vec",
    MemorySpace.Mat: "mat",
    MemorySpace.Left: "left",
    MemorySpace.Right: "right",
    MemorySpace.Acc: "acc",
    MemorySpace.Bias: "bias",
}
"""Memory spaces in which tiles live, as `loc` names them."""

MAX_RANK: Final = 5
"""Dimensions of a tensor view; the assembler dies on six."""


def element_type(dtype: DataType) -> str:
    """Return how tiles, views and pointers spell an element type.

    Raises:
        EmitError: the assembler has no such element type, or silently substitutes another.
    """
    # i1 fails late in the assembler, so masks are packed bits in ui8.
    if dtype.mlir is None or dtype is DataType.BOOL:
        raise EmitError(f"the PTO dialect has no elements of type {dtype}", slug="emit-dtype")
    return dtype.mlir


def value_type(dtype: DataType) -> str:
    """Return the type of a scalar in a function body.

    Integers are signless, since scalar operations take no others. INT64 is ``index``, which can be
    carried by loops and used as an offset without the casts that crash the assembler, unless its
    value is needed for more than that (`int64`).

    Raises:
        EmitError: there are no scalars of that element type.
    """
    if dtype is DataType.BOOL:
        return "i1"
    if dtype is DataType.INT64:
        return "index"
    if dtype.is_int() and dtype.get_bit() >= 8:
        return f"i{dtype.get_bit()}"
    if dtype in (DataType.FP16, DataType.BF16, DataType.FP32, DataType.FP64):
        return element_type(dtype)
    raise EmitError(f"the PTO dialect has no scalars of type {dtype}", slug="emit-dtype")


def parameter_type(dtype: DataType) -> str:
    """Return the type of a scalar function parameter: that of the body, but i64 for INT64."""
    return "i64" if dtype is DataType.INT64 else value_type(dtype)


def signless(element: str) -> str:
    """Return the pointer element type through which a scalar can be read: i8 for ui8."""
    return element.removeprefix("u") if element.startswith("ui") else element


def rows_and_columns(kind: TileType) -> tuple[int, int]:
    """Return the two dimensions of a tile; what precedes the last one collapses into rows.

    Raises:
        EmitError: a dimension is not constant.
    """
    dims: list[int] = []
    for dim in kind.shape:
        value = const_value(dim)
        if value is None:
            raise EmitError(
                f"the tile shape [{', '.join(map(str, kind.shape))}] is not constant",
                hint="give the tile a constant shape and load the part that is valid",
                slug="emit-tile-shape",
            )
        dims.append(value)
    return math.prod(dims[:-1]), dims[-1] if dims else 1


def declared_shape(kind: TileType, space: MemorySpace) -> tuple[int, int]:
    """Return the rows and columns that a tile is declared with, padding included.

    Raises:
        EmitError: a dimension is not constant.
    """
    rows_and_columns(kind)
    return layout.declared_shape(kind, space)


def valid_dims(kind: TileType, space: MemorySpace) -> tuple[Expr | None, Expr | None]:
    """Return the valid rows and columns where they are not constant, None where they are."""
    valid = effective_view(kind, space).valid_shape
    if len(valid) not in (1, 2) or all(isinstance(dim, ConstInt) for dim in valid):
        return None, None
    rows, columns = as_matrix(valid)
    return rows, columns


def _valid_text(kind: TileType, space: MemorySpace) -> tuple[str, str]:
    valid = effective_view(kind, space).valid_shape
    rows, columns = rows_and_columns(kind)
    constant = [dim.value for dim in valid if isinstance(dim, ConstInt)]
    if len(constant) < len(valid):
        # `set_validshape` requires both dimensions dynamic, so one dynamic dimension makes both so.
        return "?", "?"
    if not valid:
        return str(rows), str(columns)
    return str(math.prod(constant[:-1])), str(constant[-1])


def tile_buf_type(kind: TileType, space: MemorySpace) -> str:
    """Return the type of a tile in the long form, which every version of the assembler reads.

    Raises:
        EmitError: the tile's shape is not constant, or its elements or memory do not exist there.
    """
    if space not in LOCATIONS:
        raise EmitError(f"a tile cannot live in {space.name} memory", slug="emit-tile-space")
    rows, columns = declared_shape(kind, space)
    valid_rows, valid_columns = _valid_text(kind, space)
    view = effective_view(kind, space)
    return (
        f"!pto.tile_buf<loc={LOCATIONS[space]}, dtype={element_type(kind.dtype)}, "
        f"rows={rows}, cols={columns}, v_row={valid_rows}, v_col={valid_columns}, "
        f"blayout={view.blayout.name}, slayout={view.slayout.name}, fractal={view.fractal}, "
        f"pad={view.pad.value}>"
    )


def pointer_type(element: str) -> str:
    """Return the type of a pointer to a tensor's first element."""
    return f"!pto.ptr<{element}>"


def tensor_view_type(rank: int, element: str) -> str:
    """Return the type of a view of a whole tensor; all dimensions are dynamic, as in the document.

    Raises:
        EmitError: the assembler has no view of that rank.
    """
    if not 1 <= rank <= MAX_RANK:
        raise EmitError(
            f"a tensor of {rank} dimensions has no view, 1 to {MAX_RANK} were wanted",
            hint="reshape the tensor before the kernel gets it",
            slug="emit-rank",
        )
    return f"!pto.tensor_view<{'?x' * rank}{element}>"


def partition_type(sizes: Sequence[Expr], element: str) -> str:
    """Return the type of a region of a tensor view."""
    dims = "".join(f"{dim.value}x" if isinstance(dim, ConstInt) else "?x" for dim in sizes)
    return f"!pto.partition_tensor_view<{dims}{element}>"


def scalar_dtype(value: Expr) -> DataType:
    """Return the element type of a scalar expression.

    Raises:
        EmitError: the expression is not a scalar.
    """
    if isinstance(value.type, ScalarType):
        return value.type.dtype
    raise EmitError(f"{of_type(value.type)} is used where a scalar is wanted", value.span)


def float_literal(value: float, dtype: DataType) -> str:
    """Return a float constant with the decimal point that MLIR requires.

    Raises:
        EmitError: the value is not a finite number of that type: NaN, infinite, or too large.
    """
    largest = LARGEST.get(dtype)
    if largest and math.isfinite(value) and holds(value, dtype):
        value = max(-largest, min(value, largest))  # it rounds to this
    if math.isnan(value) or math.isinf(value) or (largest and abs(value) > largest):
        # The hexadecimal form assembles, but the C++ generated from it does not compile.
        raise EmitError(
            f"{value} is not a constant of type {dtype} in the PTO dialect",
            hint=f"use the largest number, {-largest if value < 0 else largest}"
            if largest and not math.isnan(value)
            else None,
            slug="emit-constant",
        )
    text = repr(value)
    if "." not in text:  # 1e-05
        mantissa, exponent = text.split("e")
        text = f"{mantissa}.0e{exponent}"
    return text


def check_integer(value: int, type_: str) -> None:
    """Check that an integer constant fits its type.

    Raises:
        EmitError: it does not; ``index`` has 32 bits in the C++ that the assembler writes.
    """
    bits = 32 if type_ == "index" else int(type_[1:])
    if not -(1 << (bits - 1)) <= value < 1 << (bits if type_ != "index" else bits - 1):
        raise EmitError(
            f"the constant {value} does not fit {type_}, which has {bits} bits in the PTO dialect",
            hint=f"use the {'largest' if value > 0 else 'smallest'} number, "
            f"{(1 << (bits - 1)) - 1 if value > 0 else -(1 << (bits - 1))}",
            slug="emit-constant",
        )
