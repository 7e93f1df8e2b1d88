"""Nodes made of valid parts: nothing is checked or derived, which takes half the time.

The constructors of nodes check what users and definitions give them. Nodes that the front end and
the passes make most often are made here, of parts of nodes that were checked already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.ir.array_types import MEMREF_NAMES, MemRef, ShapedType, TensorType, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import BinaryExpr, Call, ConstFloat, ConstInt, Expr, MakeTuple, Op, Var
from pypto._src.ir.node_base import not_a_span, uninitialized
from pypto._src.ir.types import MEMREF_TYPE, Type

_UninitializedTensor: Final = uninitialized(TensorType)
_UninitializedTile: Final = uninitialized(TileType)


def with_memref(kind: ShapedType, memref: MemRef | None) -> ShapedType:
    """Return a tensor or tile type at another address, or at none."""
    if isinstance(kind, TileType):
        placed = _UninitializedTile()
        placed.tile_view = kind.tile_view
    elif isinstance(kind, TensorType):
        placed = _UninitializedTensor()
        placed.tensor_view = kind.tensor_view
    else:
        raise TypeError(f"{type(kind).__name__} is neither a tensor nor a tile")
    placed.shape = kind.shape
    placed.dtype = kind.dtype
    placed.memref = memref
    placed.__class__ = TileType if isinstance(kind, TileType) else TensorType
    return placed


def checked_call(
    op: Op, args: tuple[Expr, ...], kwargs: Mapping[str, Any], kind: Type, span: Span
) -> Call:
    """Return the `Call` of arguments that are known to be valid; ``kwargs`` are `Keywords`."""
    call = _UninitializedCall()
    call.op = op
    call.args = args
    call.kwargs = kwargs
    call.type = kind
    call.span = span if span.__class__ is Span else not_a_span(call, span)
    call.__class__ = Call
    return call


_UninitializedCall: Final = uninitialized(Call)


def with_args(call: Call, args: tuple[Expr, ...]) -> Call:
    """Return a call of the same op with the same keywords and type; nothing is derived again."""
    made = _UninitializedCall()
    made.op = call.op
    made.args = args
    made.kwargs = call.kwargs
    made.type = call.type
    made.span = call.span
    made.__class__ = Call
    return made


def checked_tuple(elements: tuple[Expr, ...], kind: Type, span: Span) -> MakeTuple:
    """Return the `MakeTuple` of elements whose types are those of ``kind``."""
    made = _UninitializedTuple()
    made.elements = elements
    made.type = kind
    made.span = span
    made.__class__ = MakeTuple
    return made


_UninitializedTuple: Final = uninitialized(MakeTuple)


def checked_var(name: str, kind: Type, span: Span) -> Var:
    """Return the `Var` of arguments that are known to be valid."""
    made = _UninitializedVar()
    made.name = name
    made.type = kind
    made.span = span
    made.__class__ = Var
    return made


_UninitializedVar: Final = uninitialized(Var)


def checked_memref(
    space: MemorySpace, address: Expr, size: int, number: int, span: Span = UNKNOWN_SPAN
) -> MemRef:
    """Return the `MemRef` of a buffer of ``size`` bytes, which are 0 or more."""
    made = _UninitializedMemRef()
    made.name = f"{MEMREF_NAMES[space]}{number}"
    made.type = MEMREF_TYPE
    made.memory_space_ = space
    made.addr_ = address
    made.size_ = size
    made.id_ = number
    made.span = span
    made.in_type = True
    made.__class__ = MemRef
    return made


_UninitializedMemRef: Final = uninitialized(MemRef)


def checked_int(value: int, kind: Type, span: Span) -> ConstInt:
    """Return the `ConstInt` of a value that fits ``kind``, a type of `scalar_type`."""
    made = _UninitializedInt()
    made.value = value
    made.type = kind
    made.span = span
    made.__class__ = ConstInt
    return made


_UninitializedInt: Final = uninitialized(ConstInt)


def checked_float(value: float, kind: Type, span: Span) -> ConstFloat:
    """Return the `ConstFloat` of a value that ``kind``, a type of `scalar_type`, holds."""
    made = _UninitializedFloat()
    made.value = value
    made.type = kind
    made.span = span
    made.__class__ = ConstFloat
    return made


_UninitializedFloat: Final = uninitialized(ConstFloat)


def checked_binary(
    cls: type[BinaryExpr], left: Expr, right: Expr, kind: Type, span: Span
) -> BinaryExpr:
    """Return a ``cls`` of operands that need no cast; ``kind`` is the type of the result."""
    made = _UninitializedBinary()
    made.left = left
    made.right = right
    made.type = kind
    made.span = span
    made.__class__ = cls
    return made


_UninitializedBinary: Final = uninitialized(BinaryExpr)
