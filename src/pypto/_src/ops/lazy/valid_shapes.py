"""Setting the valid part of a tile, and padding a tile to a larger one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypto._src.diagnostics import Span
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import MemorySpace, TilePad
from pypto._src.ir.exprs import const_value
from pypto._src.ir.opdef import RESULT, Operands
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import STORABLE, Ints, Tile, block_op
from pypto._src.ops.layout import is_column, tile_type, with_valid
from pypto._src.ops.new_tiles import filling, pad_number, padded
from pypto._src.ops.rules.type_rules import called, check_operands, dims, operand_name, refuse
from pypto._src.ops.rules.valid_parts import all_of, check_sizes, given, marked, whole_name

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


def _marked(o: Operands) -> Type:
    check_operands(o)
    kind, sizes = o.tile(0), o.ints(1)
    if len(kind.shape) != 2:
        refuse(
            o,
            f"{called(o.op)} takes a tile of rows and columns, {operand_name(o, 0)} is not one",
            "tile-rank",
            shown=(0,),
        )
    check_sizes(o, kind.shape, sizes)
    return with_valid(tile_type(kind.shape, kind.dtype, MemorySpace.Vec), sizes)


def _as_list(
    args: Sequence[Any], kwargs: Mapping[str, Any], _span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Accept rows and columns in place of one list of sizes."""
    if len(args) == 3:
        return (args[0], [args[1], args[2]]), kwargs
    if {"valid_rows", "valid_cols"} <= kwargs.keys():
        words = {key: value for key, value in kwargs.items() if not key.startswith("valid_")}
        return args, {**words, "valid_shape": [kwargs["valid_rows"], kwargs["valid_cols"]]}
    return args, kwargs


def _copied(site: PtoSite) -> None:
    """Copy all bytes, valid or not: the type of the result says which are valid."""
    source = site.call.args[0]
    assert isinstance(source.type, TileType)
    name, kind = site.reinterpret(source, _bytes_of(source.type))
    result, result_kind = site.reinterpret(None, _bytes_of(site.call.type))
    site.emit(f"pto.tmov ins({name} : {kind}) outs({result} : {result_kind})")


def _copied_cpp(site: CppSite) -> None:
    source = site.call.args[0]
    assert isinstance(source.type, TileType)
    if is_column(source.type):
        result = site.reinterpret(None, _bytes_of(site.call.type), "all")
        site.emit(f"TMOV({result}, {site.reinterpret(source, _bytes_of(source.type), 'all')});")
    else:
        site.emit(f"TMOV({whole_name(site, RESULT)}, {whole_name(site, 0)});")


def _bytes_of(kind: Type) -> TileType:
    """Return the type of a tile's bytes as a whole tile, for a column as a row."""
    whole = all_of(kind)
    if is_column(whole):
        return TileType(whole.shape[::-1], whole.dtype, whole.memref)
    return whole


@block_op(
    types=_marked,
    valid=marked,
    complete=_as_list,
    dtypes=STORABLE - frozenset(d for d in STORABLE if d.get_bit() > 32),
    in_place=(),
    columns=(0, RESULT),
    numpy=lambda tile, _sizes: tile.copy(),
    pto=_copied,
    isa=_copied_cpp,
)
def set_validshape(tile: Tile, valid_shape: Ints) -> Tile:
    """Return ``tile`` [R, C] with only ``valid_shape``, its first rows and columns, valid.

    ``pl.set_validshape(tile, rows, columns)`` is the same.
    """
    ...


def _expanded(o: Operands) -> Type:
    check_operands(o)
    kind, shape = o.tile(0), o.ints(1)
    old, new = static_shape(kind), [const_value(dim) for dim in shape]
    if old is None or None in new or not len(old) == len(new) == 2 or is_column(kind):
        refuse(
            o,
            f"{called(o.op)} takes a tile of rows and columns of constant size, "
            f"{operand_name(o, 0)} has the shape {dims(kind.shape)}",
            "tile-rank",
            shown=(0,),
        )
    if any(size is not None and size < least for size, least in zip(new, old, strict=True)):
        refuse(
            o,
            f"{called(o.op)} makes a tile as large as {dims(kind.shape)} or larger, got "
            f"{dims(shape)}",
            "tile-shape",
            "pl.slice(x, shape, [0, 0]) is a part of it",
            shown=(0,),
        )
    return tile_type(shape, kind.dtype, MemorySpace.Vec)


def _filled(tile: Array, shape: Sequence[int], pad_value: TilePad = TilePad.zero) -> Array:
    out = np.full(shape, filling({"pad_value": pad_value}, tile.dtype), tile.dtype)
    out[: tile.shape[0], : tile.shape[1]] = tile
    return out


def _expanded_pto(site: PtoSite) -> None:
    result, kind = site.reinterpret(None, padded(site.call))
    name, source = site.args[0], site.arg_types[0]
    site.emit(f"pto.tfillpad_expand ins({name} : {source}) outs({result} : {kind})")


def _expanded_cpp(site: CppSite) -> None:
    result = site.reinterpret(None, padded(site.call), "padded")
    site.emit(f"TFILLPAD_EXPAND({result}, {site.args[0]});")


@block_op(
    types=_expanded,
    valid=given,
    complete=pad_number(2),
    dtypes=STORABLE - frozenset(d for d in STORABLE if d.get_bit() > 32),
    in_place=(),
    rest=filling,
    numpy=_filled,
    pto=_expanded_pto,
    isa=_expanded_cpp,
)
def fillpad_expand(tile: Tile, shape: Ints, pad_value: TilePad | None = None) -> Tile:
    """Return the valid elements of ``tile`` [R, C] padded to a larger tile of ``shape``.

    The padding is 0, or with ``pad_value`` the largest or the smallest element.
    """
    ...
