"""What the printer of programs and its readers share.

Owns which names are plain, the marks for missing parts, and what a reader infers where the text
says nothing: types of calls, element types of bare numbers. The grammar is that of `ir.text`.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import ShapedType, TileView, exprs_of_type
from pypto._src.ir.exprs import ConstInt, Expr
from pypto._src.ir.op_params import ATTR
from pypto._src.ir.opdef import OpDef, Operands
from pypto._src.ir.scalar_ops import BINARY_FUNCTIONS, UNARY_FUNCTIONS
from pypto._src.ir.types import ScalarType, TupleType, Type, UnknownType

_NOT_IN_NAMES: Final = re.compile(r"\W")
_VIEW_FIELDS: Final = (
    "valid_shape",
    "stride",
    "start_offset",
    "blayout",
    "slayout",
    "fractal",
    "pad",
)
_VIEW_DEFAULTS: Final = {name: getattr(TileView(), name) for name in _VIEW_FIELDS}

NO_FUNCTIONS: Final = frozenset({*BINARY_FUNCTIONS, *UNARY_FUNCTIONS, "float", "str", "tuple"})
"""Names that mean something else when they are called."""

UNTYPED: Final = "  # untyped"
"""Follows an assigned call that has no type though its variable has one."""

LEVELS: Final = ("block", "tensor", "system", "test")
"""The first parts of the names of registered ops, before the dot."""


def identifier(name: str) -> str:
    """Return ``name`` as Python's parser keeps it, with other characters replaced."""
    name = unicodedata.normalize("NFKC", name)
    if not name.isidentifier():
        name = unicodedata.normalize("NFKC", _NOT_IN_NAMES.sub("_", name))
        name = name if name.isidentifier() else f"_{name}"
    return name if name.isidentifier() else "_"


def is_plain_name(name: str) -> bool:
    """True if Python's parser reads ``name`` as exactly that name."""
    plain = name.isascii() or unicodedata.is_normalized("NFKC", name)
    return plain and name.isidentifier() and not keyword.iskeyword(name)


def is_truth(value: Expr) -> bool:
    """True for a scalar of type BOOL."""
    kind = value.type
    return isinstance(kind, ScalarType) and kind.dtype is DataType.BOOL


def is_closed(kind: Type) -> bool:
    """True if a type names no variable, so that its text means the same everywhere."""
    if isinstance(kind, ScalarType):
        return True
    if isinstance(kind, TupleType):
        return all(map(is_closed, kind.types))
    memref = kind.memref if isinstance(kind, ShapedType) else None
    if memref is not None and memref.addr_.__class__ is not ConstInt:
        return False
    return all(expr.__class__ is ConstInt for expr in exprs_of_type(kind))


def value_type(results: Sequence[Type]) -> Type | None:
    """Return the type of a call of a function with such results, None if one is not closed."""
    if not all(map(is_closed, results)):
        return None
    if not results:
        return UnknownType.get()
    return results[0] if len(results) == 1 else TupleType(results)


def view_fields(view: TileView) -> list[tuple[str, Any]]:
    """Return the fields of a view with other than default values, in the order of the text."""
    found: list[tuple[str, Any]] = []
    for name, default in _VIEW_DEFAULTS.items():
        value = getattr(view, name)
        if isinstance(value, Expr) or value != default:  # expressions are never compared
            found.append((name, value))
    return found


def deduced_type(
    op: OpDef[..., Any], args: Sequence[Expr], kwargs: Mapping[str, Any]
) -> Type | None:
    """Return the type that an op's rule gives, None if it refuses the operands."""
    try:
        return op.type_of(Operands(op, tuple(args), kwargs))
    except Exception:
        # Broken programs are printed too, as when a pass fails, and a rule may fail in any way on
        # unchecked operands. With None the text states the type, so nothing is lost.
        return None


def is_complete(op: OpDef[..., Any], kwargs: Mapping[str, Any]) -> bool:
    """True if ``kwargs`` holds every attribute that a call of the op has."""
    return all(
        param.name in kwargs or param.default is None for param in op.params if param.kind is ATTR
    )


def element_type(args: Iterable[Expr | None], kwargs: Mapping[str, Any]) -> DataType | None:
    """Return the element type that a bare number among the operands of an op takes."""
    dtype = kwargs.get("dtype")
    if isinstance(dtype, DataType):
        return dtype
    for arg in args:
        if arg is not None and isinstance(arg.type, ShapedType):
            return arg.type.dtype
    return None
