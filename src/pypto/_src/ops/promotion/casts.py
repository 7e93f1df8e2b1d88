"""Casts of tiles to other element types, as promotion of operands needs them.

A conversion is one step, or several steps of which all but the last are exact; between integers of
equal width it is a bitcast. Ops on unsigned elements also bitcast where the instruction takes only
signed ones: sums, differences and products wrap, and have the same bits for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TileType, dtype_of, valid_part
from pypto._src.ir.exprs import Call, Cast, ConstFloat, ConstInt, Expr, Var
from pypto._src.ir.op_params import literal
from pypto._src.ir.opdef import OpDef, not_whole
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.reshaping import reread
from pypto._src.ops.rules.type_rules import CASTS, cast_steps

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import Let

    Array = np.ndarray[Any, Any]
    AnyOp = OpDef[..., Any]
else:
    np = lazy_module("numpy")

D = DataType
SIGNED_OF: Final = {D.UINT8: D.INT8, D.UINT16: D.INT16, D.UINT32: D.INT32}
_PRECISION: Final = {D.FP32: 24, D.FP16: 11, D.BF16: 8}
"""The precision of each float: how many bits of an integer it represents exactly."""

Naming = Callable[[str, Expr], Var]
"""Binds a value to a new variable, before the call that is built."""


def block_op_of(name: str) -> AnyOp:
    """Return a block op, looked up late: ops that promote are defined before those they need."""
    return REGISTRY[f"block.{name}"]


def tile_of(value: Expr) -> TileType:
    """Return the type of a tile expression."""
    assert isinstance(value.type, TileType)
    return value.type


def _holds(between: DataType, source: DataType) -> bool:
    """True if ``between`` represents every value of ``source``."""
    if source.is_float():
        return between.is_float() and between.get_bit() > source.get_bit()
    digits = source.get_bit() - (not source.is_unsigned_int())
    if between.is_float():
        return digits <= _PRECISION.get(between, 0)
    return digits <= between.get_bit() - (not between.is_unsigned_int())


def steps(source: DataType, target: DataType) -> tuple[DataType, ...] | None:
    """Return the element types that a conversion goes through, ``target`` last; None if impossible.

    A step between integers of equal width is a bitcast, the others are casts.
    """
    if source is target:
        return ()
    if _rereads(source, target):
        return (target,)
    signed = SIGNED_OF.get(target, target)
    found = cast_steps(source, signed)
    if found is None or not all(_holds(between, source) for between in found[:-1]):
        return None
    return found if signed is target else (*found, target)


def chain(source: DataType, target: DataType) -> tuple[DataType, ...] | None:
    """Return the types of a shortest chain of casts, ``target`` last; None if there is none.

    Each type in between represents all values of the source or of the target: such a chain rounds
    as the device does, which has no other path.
    """
    paths: list[tuple[DataType, ...]] = [(source,)]
    seen = {source}
    for path in paths:  # grows as longer paths are found
        for dtype in CASTS:
            if dtype in seen or dtype not in CASTS.get(path[-1], ()):
                continue
            if dtype is target:
                return (*path[1:], dtype)
            if _holds(dtype, source) or _holds(dtype, target):
                seen.add(dtype)
                paths.append((*path, dtype))
    return None


def _rereads(source: DataType, target: DataType) -> bool:
    return source.is_int() and target.is_int() and source.get_bit() == target.get_bit()


def as_type(
    tile: Expr,
    dtype: DataType,
    let: Naming,
    words: Mapping[str, Any],
    span: Span,
    name: str,
) -> Expr:
    """Return a tile with elements of ``dtype``: itself, or cast step by step with ``words``."""
    value, source = tile, tile_of(tile).dtype
    for step in steps(source, dtype) or ():
        if _rereads(source, step):
            made = _reread(value, step)
        else:
            made = block_op_of("cast").build((value, step), words, span)
        value, source = let(name, made), step
    return value


def _reread(value: Expr, dtype: DataType) -> Call:
    """Return a bitcast of a tile, which must be valid throughout."""
    check_whole(tile_of(value), dtype, value.name if isinstance(value, Var) else "tile")
    return reread(value, dtype)


def check_whole(kind: TileType, dtype: DataType, name: str) -> None:
    """Check that a tile that is converted to ``dtype`` by a bitcast is valid throughout.

    Raises:
        OpError: a step is a bitcast, and the tile is partly valid.
    """
    chain = steps(kind.dtype, dtype) or ()
    if valid_part(kind) is None or not any(map(_rereads, (kind.dtype, *chain), chain)):
        return
    raise not_whole(f"elements of {kind.dtype.member} that become {dtype.member} take", name)


def as_number(number: Expr, dtype: DataType, span: Span) -> Expr:
    """Return a scalar, rounded to its own type, converted to ``dtype``."""
    source = dtype_of(number)
    if source is dtype:
        return number
    if isinstance(number, ConstFloat):
        rounded = float(np.asarray(number.value).astype(source.numpy))
        return literal(rounded, dtype, span)
    return (
        literal(number.value, dtype, span)
        if isinstance(number, ConstInt)
        else Cast(number, dtype, span)
    )


def converted(array: Array, chain: Sequence[DataType]) -> Array:
    """Return an array converted along ``chain``, which `steps` gives."""
    for step in chain:
        if array.dtype.kind in "iu" and step.is_int() and array.dtype.itemsize == step.bytes:
            array = array.astype(step.numpy)
        else:
            cast: Any = block_op_of("cast").numpy
            array = cast(array, target_type=step, mode="rint")
    return array


def is_unsigned(value: Expr) -> bool:
    """True for a tile of unsigned elements."""
    return isinstance(value.type, TileType) and value.type.dtype in SIGNED_OF


def signed(value: Expr, let: Let) -> Expr:
    """Return a tile of unsigned elements bitcast to signed ones, anything else unchanged."""
    kind = value.type
    if not isinstance(kind, TileType) or kind.dtype not in SIGNED_OF:
        return value
    return let("signed", reread(value, SIGNED_OF[kind.dtype]))


def on_signed(call: Call, let: Let) -> Expr | None:
    """Decompose an op on unsigned elements whose result has the same bits for signed ones.

    y = neg(x)  ->  s = x as INT32; t = neg(s); y = t as UINT32
    """
    if not is_unsigned(call.args[0]):
        return None
    op, kind = call.op, call.args[0].type
    assert isinstance(op, OpDef)
    assert isinstance(kind, TileType)
    result = op.call([signed(arg, let) for arg in call.args], call.kwargs, call.span)
    return reread(let("result", result), kind.dtype)
