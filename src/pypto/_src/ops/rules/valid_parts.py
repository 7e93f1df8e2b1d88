"""The valid part of a result when operands are partly valid tiles.

A tile has a constant size; how many of its rows and columns hold elements may be known only at run
time (`TileView.valid_shape`). Elements outside are undefined. An op takes such tiles only if its
definition names one of these rules (`OpDef.valid`); all others reject them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from pypto._src.ir.array_types import TileType, same_dim, same_dims, valid_part
from pypto._src.ir.exprs import ConstInt, Expr, Var, const_value
from pypto._src.ir.opdef import RESULT, Operands, not_whole
from pypto._src.ir.types import Type
from pypto._src.ops.layout import declared_shape, in_boxes, is_column, is_padded, with_valid
from pypto._src.ops.rules.type_rules import called, dims, operand_name, refuse

if TYPE_CHECKING:
    from pypto._src.ir.emit_sites import CppSite

COMPUTED_SIZE: Final = "valid-computed"
"""The slug of a valid size that is a computed expression; the fix is to assign it to a variable."""


def check_sizes(o: Operands, shape: Sequence[Expr], valid: Sequence[Expr]) -> None:
    """Check the valid sizes that a kernel gives for a tile of constant size.

    Raises:
        OpError: there is not one per dimension, of which there are at most two; or one is larger
            than the tile or negative, or neither a number nor a variable.
    """
    if len(shape) != len(valid) or len(shape) > 2:
        refuse(
            o,
            f"{called(o.op)} makes partly valid tiles of at most two dimensions, got the shape "
            f"{dims(shape)} and {len(valid)} valid sizes",
            "valid-shape",
            f"give one size per dimension, as in {dims(shape)}"
            if len(shape) <= 2
            else f"declare the tensor with two dimensions, and load {dims(shape[-2:])} of it",
            shown=(0,),
        )
    for axis, (size, part) in enumerate(zip(shape, valid, strict=True)):
        limit, count = const_value(size), const_value(part)
        if limit is None:
            refuse(
                o,
                f"{called(o.op)} takes constant sizes beside valid ones, got {dims(shape)}",
                "valid-shape",
                "give the tile a constant shape and load the part that is valid",
                shown=(0,),
            )
        if count is not None and not 0 <= count <= limit:
            refuse(
                o,
                f"{called(o.op)} has {count} valid of {limit} elements in dimension {axis}",
                "valid-shape",
                f"give a number from 0 to {limit}",
                shown=(0,),
            )
        if not isinstance(part, ConstInt | Var):  # types refer to it, from here to the store
            refuse(
                o,
                f"the valid size in dimension {axis} is computed in the call of {called(o.op)}",
                COMPUTED_SIZE,
                "assign it to a variable first: count = ...",
                shown=(0,),
            )


def valid_or_all(kind: TileType) -> tuple[Expr, ...]:
    """Return the valid sizes of a tile, by default its shape."""
    return valid_part(kind) or kind.shape


def check_decomposition(o: Operands) -> None:
    """Check that the call is not decomposed into ops that cannot handle valid parts."""
    if o.op.decomposition is not None and o.tile(0).dtype.is_unsigned_int():
        refuse_part(o)


def refuse_part(o: Operands) -> NoReturn:
    """Reject a partly valid tile because of its element type."""
    parts = [i for i, e in enumerate(o.args) if isinstance(e.type, TileType) and valid_part(e.type)]
    name, dtype = operand_name(o, parts[0] if parts else 0), o.tile(0).dtype
    raise not_whole(f"{called(o.op)} of elements of {dtype.member} takes", name)


def parts_differ(
    o: Operands, first: int, second: int, wanted: Sequence[Expr] | None = None
) -> NoReturn:
    """Reject two tiles with different valid parts.

    The hint loads the second with the ``wanted`` sizes, or both with those of the first if None.
    """
    parts = [valid_or_all(o.tile(index)) for index in (first, second)]
    names = [operand_name(o, index) for index in (first, second)]
    which, sizes = ("both", parts[0]) if wanted is None else (names[1], wanted)
    refuse(
        o,
        f"operands of {called(o.op)} have different valid parts: {names[0]} {dims(parts[0])}, "
        f"{names[1]} {dims(parts[1])}",
        "valid-shape",
        f"load {which} with valid_shapes={dims(sizes)}",
        shown=(first, second),
    )


def same_part(o: Operands, kind: Type) -> Type:
    """Elementwise: all tiles have the result's valid part; rejects unsigned ones if decomposed."""
    check_decomposition(o)
    return equal_part(o, kind)


def equal_part(o: Operands, kind: Type) -> Type:
    """Like `same_part`, for ops that take unsigned elements as they are."""
    tiles = [i for i in sorted(o.op.reads) if isinstance(o.args[i].type, TileType)]
    for index in tiles:
        if not same_dims(valid_or_all(o.tile(index)), valid_or_all(o.tile(tiles[0]))):
            parts_differ(o, tiles[0], index)
    return with_valid(kind, valid_or_all(o.tile(tiles[0])))


def reduced_rows(o: Operands, kind: Type) -> Type:
    """[R, C] with valid [r, c] -> a column [R, 1] with valid [r, 1]."""
    check_decomposition(o)
    part = valid_part(o.tile(0))
    if part is None or is_column(o.tile(0)):
        refuse(
            o,
            f"{called(o.op)} takes a whole tile as scratch, {operand_name(o, 1)} is valid in part"
            if part is None
            else f"{called(o.op)} does not take partly valid columns [N, 1]",
            "valid-shape",
        )
    return with_valid(kind, (part[0], ConstInt(1)))


def beside_column(o: Operands, kind: Type) -> Type:
    """[R, C] with a column [R, 1], whose rows are valid wherever those of the tile are."""
    check_decomposition(o)
    return _beside(o, kind, 0)


def beside_row(o: Operands, kind: Type) -> Type:
    """[R, C] with a row [1, C], whose columns are valid wherever those of the tile are."""
    check_decomposition(o)
    return _beside(o, kind, 1)


def _beside(o: Operands, kind: Type, axis: int) -> Type:
    whole, part = valid_or_all(o.tile(0)), valid_or_all(o.tile(1))
    if is_column(o.tile(0)):
        refuse(o, f"{called(o.op)} does not take a partly valid column [N, 1] first", "valid-shape")
    other = const_value(part[1 - axis]) == 1
    if not other or not (same_dim(part[axis], whole[axis]) or valid_part(o.tile(1)) is None):
        parts_differ(o, 0, 1)
    return with_valid(kind, whole)


def part_of_first(o: Operands, kind: Type) -> Type:
    """The valid part of a target that is not read."""
    return with_valid(kind, valid_or_all(o.tile(0)))


ELEMENTWISE: Final = (same_part, equal_part, part_of_first)
"""The rules of ops whose elements depend only on those at the same index."""


def has_invalid_bytes(kind: Type) -> bool:
    """True for a tile that occupies bytes without valid elements: partly valid, or padded."""
    return isinstance(kind, TileType) and (valid_part(kind) is not None or is_padded(kind))


def all_of(kind: Type) -> TileType:
    """Return the type of a tile's bytes as a whole tile, valid or not, padding included."""
    assert isinstance(kind, TileType)
    shape = declared_shape(kind) if is_padded(kind) else kind.shape
    view = kind.tile_view
    if view is not None:
        view = in_boxes(view, ())
    return TileType(shape, kind.dtype, kind.memref, view)


def whole_name(site: CppSite, at: int) -> str:
    """Return the C++ name of operand ``at``, or of `RESULT`, as a whole tile."""
    tile = None if at == RESULT else site.call.args[at]
    kind = site.call.type if tile is None else tile.type
    if has_invalid_bytes(kind):
        return site.reinterpret(tile, all_of(kind), "all")
    return site.dst if tile is None else site.args[at]


def on_all(name: str, *tiles: int) -> Callable[[CppSite], None]:
    """Return the C++ emitter of an instruction on whole ``tiles``, valid or not.

    The instruction needs tiles of one C++ type. Its results outside the valid part are not read.
    """

    def emit(site: CppSite) -> None:
        places = (RESULT, *range(len(site.args)))
        named = [whole_name(site, at) if at in tiles else "" for at in places]
        plain = (site.dst, *site.args)
        operands = [one or other for one, other in zip(named, plain, strict=True)]
        site.emit(f"{name}({', '.join(operands)});")

    return emit


def given(_o: Operands, kind: Type) -> Type:
    """Return the type that the op's own rule gives, for ops that move or fill the valid part."""
    return kind


def marked(_o: Operands, kind: Type) -> Type:
    """Return the type that the op's own rule gives, for ops that copy all bytes, valid or not."""
    return kind
