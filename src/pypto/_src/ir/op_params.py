"""The parameters of ops: their kinds, and which arguments fit them.

Owns what errors call a kind and a value, and how a number, a list or a name becomes an operand or a
keyword. Knows of an op only its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import BY_CODE, DataType, bounds, holds, out_of_range_text
from pypto._src.errors import OpError, OpTypeError, of_type, with_article
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import ConstFloat, ConstInt, Expr, MakeTuple, Op, as_expr
from pypto._src.ir.types import ScalarType, TupleType, Type
from pypto._src.records import NamedTuple

# Kinds of parameters. Everything but an attribute is a positional expression of the call.
TENSOR: Final = "Tensor"
TILE: Final = "Tile"
SCALAR: Final = "Scalar"
INTS: Final = "Ints"  # a tuple of index expressions: offsets, shape, indices
OFFSETS: Final = "Offsets"  # INTS whose constants alone affect types; see Param.attr_type
INDEX: Final = "Index"  # a scalar of the type INDEX; see Param.attr_type
AXIS: Final = "Axis"  # an integer constant that names a dimension
ATTR: Final = "attribute"

REQUIRED: Final = object()


class Param(NamedTuple):
    """One parameter of an op, read from the definition's signature."""

    name: str
    kind: str  # TENSOR, TILE, SCALAR, INTS, AXIS or ATTR
    default: Any  # REQUIRED if it must be given
    # Annotation text of an attribute: DataType, MemorySpace, bool, int, str. A SCALAR of the type
    # MemorySpace is the constant number of one, and one of the type INDEX counts, whatever the
    # elements are; INTS of the type OFFSETS are not sizes: no type depends on computed values
    # among them.
    attr_type: str = ""


KIND_TYPES: Final = {
    TENSOR: TensorType,
    TILE: TileType,
    SCALAR: ScalarType,
    INTS: TupleType,
    AXIS: ScalarType,
}
"""The type of expression that each kind of parameter takes."""

TYPE_IS_ENOUGH: Final = {TENSOR: TensorType, TILE: TileType, SCALAR: ScalarType}
"""The kinds for which checking the type is enough."""

_WORDS: Final = {
    TENSOR: "a Tensor",
    TILE: "a Tile",
    SCALAR: "a Scalar",
    INTS: "a list of integers",
    AXIS: "the number of a dimension",
    ATTR: "a value without type",
}
"""What errors call the kinds of parameters."""

ROUND_MODES: Final = {
    "none": 0,
    "rint": 1,
    "round": 2,
    "floor": 3,
    "ceil": 4,
    "trunc": 5,
    "odd": 6,
}
"""Names of the rounding modes of casts, and the numbers that the IR keeps."""

_ATTR_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "DataType": (DataType, int),
    "MemorySpace": (MemorySpace,),
    "PipeType": (PipeType, int),
    "RoundMode": (int, str),
    "bool": (bool,),
    "int": (int,),
    "str": (str,),
    "float": (float, int),
}


def kind_of(value: Any) -> str:
    """Return the parameter kind that ``value`` (an expression or Python value) can stand for."""
    if isinstance(value, Expr):
        for kind, type_ in KIND_TYPES.items():
            if isinstance(value.type, type_):
                return kind
        return ATTR
    if isinstance(value, bool):
        return ATTR
    if isinstance(value, int | float):
        return SCALAR
    return INTS if isinstance(value, list | tuple) else ATTR


def check_kind(op: Op, param: Param, value: Expr) -> None:
    if not isinstance(value.type, KIND_TYPES[param.kind]):
        found = kind_of(value)
        raise OpTypeError(
            f"argument {param.name!r} of {op.name} is {_WORDS.get(found, 'a ' + found)}, "
            f"{_WORDS[param.kind]} was wanted",
            slug="argument-kind",
        )
    if param.kind == AXIS and not isinstance(value, ConstInt):
        raise OpTypeError(
            f"argument {param.name!r} of {op.name} names a dimension: it is an integer constant",
            slug="argument-kind",
        )
    if param.kind == INTS:
        if not isinstance(value, MakeTuple):
            raise OpTypeError(
                f"argument {param.name!r} of {op.name} is not a list of numbers",
                slug="argument-kind",
            )
        for item in value.elements:
            if not (isinstance(item.type, ScalarType) and item.type.dtype.is_int()):
                raise OpTypeError(
                    f"argument {param.name!r} of {op.name} holds integers, "
                    f"got {_of_constant(item)}",
                    slug="argument-kind",
                )


def shown(value: Any) -> str:
    """Return a value as errors show it: short texts as they are, types and functions by name."""
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    name, text = getattr(value, "__name__", None), repr(value)
    if isinstance(name, str) and text[:1] == "<":
        kind = type(value).__name__
        return f"the {kind if kind in _NAMED else _OP} {name!r}"
    plain = len(text) <= _LONGEST and " at 0x" not in text and "\n" not in text
    return text if plain else of_type(value)


_NAMED: Final = ("function", "module", "method")
_OP: Final = "op"
_LONGEST: Final = 80
"""The most characters of a value's text that an error shows."""


def _of_constant(value: Expr) -> str:
    """Return a constant itself, and the type of any other value."""
    return str(value.value) if isinstance(value, ConstFloat) else f"a value of {_spell(value.type)}"


def _spell(kind: Type) -> str:
    return str(kind.dtype) if isinstance(kind, ScalarType) else type(kind).__name__


def _element_type(values: Iterable[Any]) -> DataType | None:
    for value in values:
        if isinstance(value, Expr) and isinstance(value.type, (TensorType, TileType)):
            return value.type.dtype
    return None


def as_operand(
    op: Op,
    param: Param,
    value: Any,
    attributes: Mapping[str, Any],
    values: Mapping[str, Any],
    span: Span,
) -> Expr:
    """Convert an argument that is not an expression to an operand; ``values`` are all arguments."""
    if param.kind == INTS and isinstance(value, (list, tuple)):
        try:
            return MakeTuple(cast("Sequence[Any]", value), span)
        except TypeError as error:
            raise OpTypeError(
                f"argument {param.name!r} of {op.name}: {error}", slug="argument-kind"
            ) from error
    if param.kind == AXIS and isinstance(value, int) and not isinstance(value, bool):
        return ConstInt(value, DataType.INDEX, span)
    if param.attr_type == MemorySpace.__name__ and isinstance(value, MemorySpace):
        return space_number(value, span)
    if param.attr_type == INDEX and isinstance(value, int) and not isinstance(value, bool):
        return ConstInt(value, DataType.INDEX, span)
    if param.kind == SCALAR and isinstance(value, (int, float)) and not isinstance(value, bool):
        dtype = attributes.get("dtype", values.get("dtype")) or _element_type(values.values())
        return literal(value, dtype, span)
    raise OpTypeError(
        f"argument {param.name!r} of {op.name} is {shown(value)}, {_WORDS[param.kind]} was wanted",
        slug="argument-kind",
    )


def space_number(space: MemorySpace, span: Span = UNKNOWN_SPAN) -> ConstInt:
    """Return a memory space as the operand of a call."""
    return ConstInt(space.value, DataType.INDEX, span)


def space_of_number(param: Param, value: Expr) -> MemorySpace | None:
    """Return the memory space that an operand of a call stands for, None if it is anything else."""
    if param.attr_type != MemorySpace.__name__ or not isinstance(value, ConstInt):
        return None
    if value.dtype is not DataType.INDEX:
        return None
    return next((space for space in MemorySpace if space.value == value.value), None)


def literal(value: float, dtype: DataType | None, span: Span = UNKNOWN_SPAN) -> Expr:
    """Return a bare number as a constant of element type ``dtype``.

    Raises:
        OpError: a number with a fraction for an integer element type, or one outside the range
            of the element type.
    """
    if dtype is None:
        return as_expr(value, span)
    if isinstance(value, float) and math.isfinite(value) and not dtype.is_float():
        if not value.is_integer():
            raise OpError(
                f"the number {value} is used with elements of {dtype}",
                hint=f"cast the tile first, or write pl.const({value}, pl.FP32)",
                slug="literal-dtype",
            )
        value = int(value)
    if not holds(value, dtype):
        is_nan = isinstance(value, float) and math.isnan(value)
        near = 0 if is_nan else bounds(dtype)[value > 0]
        raise OpError(out_of_range_text(value, dtype), hint=f"write {near}", slug="constant-range")
    if dtype.is_float():
        return ConstFloat(float(value), dtype, span)
    return ConstInt(int(value), dtype, span)


def as_attribute(op: Op, param: Param, value: Any) -> Any:
    if isinstance(value, (ConstInt, ConstFloat)):
        value = value.value
    kind = param.attr_type.removesuffix(" | None")
    wanted = _ATTR_TYPES.get(kind, (object,))
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        raise OpTypeError(
            f"argument {param.name!r} of {op.name} is {shown(value)}, "
            f"{with_article(kind)} was wanted",
            slug="argument-kind",
        )
    member = int(value) if kind == "int" else _member(kind, value)
    if member is None:
        is_mode = kind == "RoundMode"
        raise OpTypeError(
            f"argument {param.name!r} of {op.name} is {shown(value)}"
            + ("" if is_mode else f", the code of no {kind}"),
            hint=f"write one of {', '.join(ROUND_MODES)}" if is_mode else None,
            slug="argument-kind",
        )
    return member


def _member(kind: str, value: Any) -> Any:
    """Return what a rounding mode's name or an element type's code stands for, None if nothing."""
    if kind == "RoundMode":
        number = ROUND_MODES.get(value) if isinstance(value, str) else value
        return number if number in ROUND_MODES.values() else None
    if kind == "DataType" and isinstance(value, int):
        return BY_CODE.get(value)
    return value
