"""Ops that move data between memories.

A region of a tensor is a box: ``offsets`` and ``shapes`` have one entry per dimension.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError, OpError
from pypto._src.ir.array_types import (
    TensorType,
    TileType,
    same_dims,
    static_shape,
    valid_part,
)
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr, MakeTuple, const_value
from pypto._src.ir.opdef import RESULT, Operands, not_whole
from pypto._src.ir.types import Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import (
    FACTORS,
    STORABLE,
    Index,
    Ints,
    Offsets,
    Tensor,
    Tile,
    block_op,
    target_form,
)
from pypto._src.ops.layout import (
    BOXED,
    TRANSPOSED,
    declared_shape,
    is_column,
    is_row,
    round_up,
    rows_and_columns,
    tile_space,
    tile_type,
    whole_box,
    with_valid,
)
from pypto._src.ops.rules.boxes import (
    check_region,
    elements,
    region,
)
from pypto._src.ops.rules.target_spaces import (
    SPACE_DTYPES,
    check_space_dtype,
    target_of,
    target_space,
)
from pypto._src.ops.rules.type_rules import (
    FROM_MAT,
    attribute,
    called,
    cast_operand,
    check_element,
    check_operands,
    check_space,
    describe,
    dims,
    known_size,
    known_space,
    operand_name,
    refuse,
)
from pypto._src.ops.rules.valid_parts import (
    all_of,
    check_sizes,
    given,
    has_invalid_bytes,
    whole_name,
)

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
_CUBE: Final = (MemorySpace.Left, MemorySpace.Right)  # the memories of a product's operands


# --------------------------------------------------------------------------------------------
# Load and store
# --------------------------------------------------------------------------------------------


def _layout(tile: Type, tensor: TensorType) -> str:
    """Return the layout of a tile's global view: DN if tile and tensor are one column, else ND."""
    assert isinstance(tile, TileType)
    one_column = const_value(tensor.shape[-1]) == 1
    return "DN" if is_column(tile) and one_column else "ND"


def _load_type(o: Operands, valid: Sequence[Expr] | None = None) -> Type:
    kind, shapes = o.tensor(0), o.ints(2)
    name = operand_name(o, 0)
    space = target_of(o, (MemorySpace.Vec, MemorySpace.Mat))
    check_element(o.op, name, kind.dtype)
    check_space_dtype(space, kind.dtype)
    check_region(o, 0, 1, valid)
    result = tile_type(shapes, kind.dtype, space)
    can_turn = kind.dtype in TRANSPOSED and _is_matrix(shapes) and valid is None
    if _is_from_wide(result, kind) and not can_turn:
        refuse(
            o,
            f"{called(o.op)} of a column {dims(shapes)} needs a tensor of one column, {name} has "
            f"the shape {dims(kind.shape)}",
            "tile-layout",
            "keep the vector in a tensor [N, 1]",
        )
    return result


def _is_matrix(shapes: Sequence[Expr]) -> bool:
    """True for the sizes of a matrix, possibly with leading sizes of 1."""
    return len(shapes) >= 2 and all(const_value(size) == 1 for size in shapes[:-2])


def _is_from_wide(kind: TileType, tensor: TensorType) -> bool:
    """True for a column-major tile loaded from a tensor that may have several columns."""
    return is_column(kind) and const_value(tensor.shape[-1]) != 1


def _from_wide(call: Call, let: Let) -> Expr | None:
    """Decompose the load of a column [N, 1] of a wide tensor.

    y = load(x, [i, j], [N, 1])
      ->  p = load(x, [i, j], [N, 8], valid_shapes=[N, 1]); y = the first column of p
    """
    tensor, offsets, shapes = call.args[:3]
    kind, result = tensor.type, call.type
    assert isinstance(kind, TensorType)
    assert isinstance(result, TileType)
    if len(call.args) > 3 or not _is_from_wide(result, kind):
        return None
    from pypto._src.ops.padding import as_rows, block_of, first_column

    width = block_of(result)
    operands = (tensor, offsets, MakeTuple([*result.shape[:-1], width]), shapes)
    part = Call(load, operands, call.kwargs, load_part.result_type(operands, call.kwargs))
    return first_column(as_rows(let("part", part), width, let), result, let)


def _load(tensor: Array, offsets: Sequence[int], shapes: Sequence[int], **_: Any) -> Array:
    return region(tensor, offsets, shapes, "pl.load reads").copy()


def _load_pto(site: PtoSite) -> None:
    tensor, offsets, shapes, *valid = site.call.args
    part, kind = site.partition_view(tensor, elements(offsets), elements([shapes, *valid][-1]))
    site.emit(f"pto.tload ins({part} : {kind}) outs({site.dst} : {site.dst_type})")


def _load_cpp(site: CppSite) -> None:
    tensor, offsets, shapes = site.call.args[:3]
    assert isinstance(tensor.type, TensorType)
    layout = _layout(site.call.type, tensor.type)
    view = site.global_view(tensor, elements(offsets), elements(shapes), layout)
    site.emit(f"TLOAD({site.dst}, {view});")


def _load_part_type(o: Operands) -> Type:
    """Return the type of a tile of which only the valid sizes are loaded."""
    shapes, valid = o.ints(2), o.ints(3)
    space = target_of(o, (MemorySpace.Vec, MemorySpace.Mat))
    # A partly valid tile is a matrix: dimensions of 1 before the last two are dropped.
    before = len(shapes) - 2 if len(shapes) == len(valid) > 2 else 0
    if not all(const_value(dim) == 1 for dim in (*shapes[:before], *valid[:before])):
        before = 0
    matrix = shapes[before:]
    check_sizes(o, matrix, valid[before:])
    kind = _load_type(o, valid)
    assert isinstance(kind, TileType)
    if space is not MemorySpace.Vec and is_row(matrix):
        raise OpError(
            f"{called(o.op)} of a single row to {space.name} memory takes all of it",
            hint="leave valid_shapes out",
            slug="valid-shape",
        )
    return with_valid(tile_type(matrix, kind, space), valid[before:])


def _load_part(
    tensor: Array, offsets: Sequence[int], _shapes: Sequence[int], valid: Sequence[int], **_: Any
) -> Array:
    return region(tensor, offsets, valid, "pl.load reads").reshape(valid[-2:]).copy()


@target_form(
    name="load",
    overload="load",
    pipe=PipeType.MTE2,
    types=_load_part_type,
    dtypes=STORABLE,
    valid=given,
    space=target_space,
    columns=(RESULT,),
    numpy=_load_part,
    pto=_load_pto,
    isa=_load_cpp,
)
def load_part(
    tensor: Tensor,
    offsets: Offsets,
    shapes: Ints,
    target_memory: MemorySpace = MemorySpace.Vec,
    *,
    valid_shapes: Ints,
) -> Tile:
    """Return a tile of shape ``shapes`` of which ``valid_shapes`` is loaded and valid."""
    ...


def _valid_by_position(
    args: Sequence[Any], kwargs: Mapping[str, Any], _span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Accept the valid sizes as fourth argument, before the memory, or as ``valid_shape``."""
    given = dict(kwargs)
    if len(args) > 3 and (args[3] is None or isinstance(args[3], list | tuple | MakeTuple)):
        given["valid_shapes"] = args[3]
        args = [*args[:3], *args[4:]]
    elif "valid_shape" in given and "valid_shapes" not in given:
        given["valid_shapes"] = given.pop("valid_shape")
    else:
        return args, kwargs
    return args, given


@block_op(
    pipe=PipeType.MTE2,
    types=_load_type,
    dtypes=STORABLE,
    complete=_valid_by_position,
    space=target_space,
    columns=(RESULT,),
    of_padded=_from_wide,
    with_scratch=load_part,
    last_operand="valid_shapes",
    numpy=_load,
    pto=_load_pto,
    isa=_load_cpp,
)
def load(
    tensor: Tensor,
    offsets: Offsets,
    shapes: Ints,
    target_memory: MemorySpace = MemorySpace.Vec,
    valid_shapes: Ints | None = None,
) -> Tile:
    """Return the region of ``tensor`` at ``offsets`` as a tile of shape ``shapes``.

    ``target_memory`` is Vec, or Mat for an operand of a matrix product. With ``valid_shapes`` only
    that many rows and columns are read, and the rest of the tile is undefined. The valid sizes are
    numbers or variables, from 0 to the size of the tile; they may also be the fourth argument,
    before the memory, or be called ``valid_shape``. Results computed from such a tile are valid in
    the same part, and `store` writes only that. Operands of a product have the same valid part of
    K. The valid part is a matrix: in a tensor of more dimensions, the other sizes are 1.
    """
    ...


_ACC_STORES: Final = {
    D.FP32: frozenset({D.FP32, D.FP16, D.BF16}),
    D.INT32: frozenset({D.INT32}),
}
"""Maps element types of the accumulator to those it can be stored as."""


def store_type(o: Operands) -> Type:
    """Check a store of a tile; return the type of the tensor."""
    check_operands(o)
    tile, shapes, tensor = o.tile(0), o.ints(2), o.tensor(3)
    part = valid_part(tile)
    check_region(o, 3, 1, part)
    space = known_space(o.args[0])
    fits = part is not None and same_dims(part, shapes)
    if part is not None and (space is MemorySpace.Acc or _is_matrix(shapes)):
        fits = same_dims(_without_ones(part), _without_ones(shapes))
    if part is not None and not fits and len(shapes) != len(tile.shape):
        refuse(
            o,
            f"{called(o.op)} of a partly valid tile {dims(tile.shape)} to a region {dims(shapes)}",
            "valid-shape",
            "store it to a tensor of two dimensions",
        )
    whole = same_dims(_long(tile.shape), _long(shapes))
    if not whole and not fits:
        valid = "" if part is None else f", valid in {dims(part)},"
        refuse(
            o,
            f"{called(o.op)} of a tile {dims(tile.shape)}{valid} to a region {dims(shapes)}",
            "shape-mismatch",
            _fit_hint(o),
        )
    allowed = frozenset({tile.dtype})
    if space is MemorySpace.Acc:
        allowed = _ACC_STORES.get(tile.dtype, frozenset())
    if tensor.dtype not in allowed:
        refuse(
            o,
            f"{called(o.op)} of {tile.dtype.member} elements to a tensor of {tensor.dtype.member}",
            "dtype-mismatch",
            None if space is MemorySpace.Acc else cast_operand(o, 0, tensor.dtype),
            shown=(0, 3),
        )
    return tensor


def _fit_hint(o: Operands) -> str | None:
    """Return a hint: the tile's shape as the region's size, or the part of the tile that fits."""
    tile, offsets, sizes, tensor = o.tile(0), o.ints(1), o.ints(2), o.tensor(3)
    if len(tile.shape) != len(sizes):
        return None
    for dim, offset, limit in zip(tile.shape, offsets, tensor.shape, strict=True):
        size, most = const_value(dim), known_size(limit)
        if size is not None and most is not None and size + (const_value(offset) or 0) > most:
            if any(
                (const_value(have) or 0) < (const_value(want) or 0)
                for have, want in zip(tile.shape, sizes, strict=True)
            ):
                is_turned = len(sizes) == 2 and same_dims(tile.shape[::-1], sizes)
                return (
                    f"transpose it: pl.transpose({operand_name(o, 0)}, 0, 1)" if is_turned else None
                )
            zeros = dims([ConstInt(0)] * len(sizes))
            return (
                f"store the part that fits: pl.view({operand_name(o, 0)}, {dims(sizes)}, {zeros})"
            )
    return f"give the tile's shape as the size of the region: {dims(tile.shape)}"


def _long(shape: Sequence[Expr]) -> list[Expr]:
    """Return the dimensions that are not the constant 1."""
    return [dim for dim in shape if const_value(dim) != 1]


def _without_ones(shape: Sequence[Expr]) -> Sequence[Expr]:
    """Return a shape without its leading dimensions of 1."""
    begin = next((axis for axis, dim in enumerate(shape) if const_value(dim) != 1), len(shape))
    return shape[begin:]


def size_of_tile(
    args: Sequence[Any], kwargs: Mapping[str, Any], _span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Accept the tensor as third argument, before the size, which defaults to the tile's shape."""
    is_third = len(args) > 2 and isinstance(args[2], Expr) and isinstance(args[2].type, TensorType)
    names = ["tile", "offsets", "shapes", "output_tensor"]
    if is_third:
        names[2:] = ["output_tensor", "shapes"]
    given: dict[str, Any] = dict(zip(names, args, strict=False))
    if len(given) < len(args) or not given.keys().isdisjoint(kwargs):
        return args, kwargs
    given.update(kwargs)
    tile, offsets = given.get("tile"), given.get("offsets")
    if "output_tensor" not in given or not isinstance(tile, Expr):
        return args, kwargs
    if given.get("shapes") is None and isinstance(tile.type, TileType):
        shape = tile.type.shape
        rank = len(cast("Sequence[Any]", offsets)) if isinstance(offsets, list | tuple) else 0
        given["shapes"] = [*[1] * (rank - len(shape)), *shape]
    elif not is_third:
        return args, kwargs
    return (), given


def store_pipe(call: Call) -> PipeType:
    """Return the pipe of a store: for accumulators FIX, which also converts."""
    # The pipe follows from the tile's memory space, not from the name of the op.
    return _FIX if tile_space(call.args[0]) is _ACC else _MTE3


# In CPython 3.11, looking up a member in its class takes five times as long as a global.
_VEC: Final = MemorySpace.Vec
_ACC: Final = MemorySpace.Acc
_FIX: Final = PipeType.FIX
_MTE3: Final = PipeType.MTE3


def _store(tile: Array, offsets: Sequence[int], shapes: Sequence[int], tensor: Array) -> Array:
    sizes = shapes if tile.size == math.prod(shapes) else tile.shape  # the sizes of the valid part
    target = region(tensor, offsets, sizes, "pl.store writes")
    target[...] = tile.reshape(target.shape)
    return tensor


def _to_wide(call: Call, let: Let) -> Expr | None:
    """Decompose the store of a column [N, 1] to a wide tensor.

    store(y, [i, j], [N, 1], x)
      ->  r = y as the first elements of one-block rows; store(r, [i, j], [N, 1], x)
    """
    tile, offsets, shapes, tensor = call.args
    kind, whole = tile.type, tensor.type
    assert isinstance(kind, TileType)
    assert isinstance(whole, TensorType)
    flat = len(kind.shape) == 2 and _is_matrix(elements(shapes)) and whole.tensor_view is None
    if not flat or not _is_from_wide(kind, whole):
        return None
    valid = valid_part(kind)
    if kind.tile_view is not None and valid is None:
        return None
    if kind.dtype not in TRANSPOSED:
        return None  # the emitters report why
    from pypto._src.ops.padding import as_rows, block_of, relaid

    width = block_of(kind)
    if valid is not None:
        shapes = MakeTuple([*elements(shapes)[:-2], *valid])
    rows = relaid(as_rows(tile, width, let), (kind.shape[0], width), valid or kind.shape)
    return store.build([let("front", rows), offsets, shapes, tensor], {}, call.span)


def store_pto(site: PtoSite, attrs: str = "") -> None:
    """Emit the store of a tile to a region; ``attrs`` say how it combines with the old elements."""
    tile, offsets, shapes, tensor = site.call.args
    sizes, valid = elements(shapes), valid_part(tile.type)
    if valid is not None and len(valid) == len(sizes):
        sizes = valid
    part, kind = site.partition_view(tensor, elements(offsets), sizes)
    site.emit(f"pto.tstore ins({site.args[0]} : {site.arg_types[0]}) outs({part} : {kind}){attrs}")


def store_cpp(site: CppSite, mode: str = "") -> None:
    """Emit the store of a tile to a region; ``mode`` says how it combines with the old elements."""
    tile, offsets, shapes, tensor = site.call.args
    assert isinstance(tile.type, TileType)
    assert isinstance(tensor.type, TensorType)
    layout = _layout(tile.type, tensor.type)
    sizes = elements(shapes)
    if valid_part(tile.type) is not None:
        rank = len(sizes)
        sizes = [*[ConstInt(1)] * rank, *tile.type.shape][-rank:]
    view = site.global_view(tensor, elements(offsets), sizes, layout)
    kinds = f"<decltype({site.args[0]}), decltype({view}), {mode}>" if mode else ""
    site.emit(f"TSTORE{kinds}({view}, {site.args[0]});")


@block_op(
    pipe=store_pipe,
    types=store_type,
    complete=size_of_tile,
    valid=given,
    dtypes=STORABLE,
    reads=(0,),
    writes=(3,),
    in_place=(),
    columns=(0,),
    of_padded=_to_wide,
    spaces={0: frozenset({MemorySpace.Vec, MemorySpace.Acc})},
    space=MemorySpace.DDR,
    numpy=_store,
    pto=store_pto,
    isa=store_cpp,
)
def store(tile: Tile, offsets: Offsets, shapes: Ints, output_tensor: Tensor) -> Tensor:
    """Write ``tile`` to the region of ``output_tensor`` at ``offsets``; return the tensor.

    ``shapes`` is the size of the region: the shape of the tile, or of its valid part. Only the
    valid part is written. ``pl.store(tile, offsets, output_tensor)`` uses the tile's shape. The
    value is ``output_tensor`` itself, whose other elements are unchanged. A tile in Acc may be
    stored as a narrower float.
    """
    ...


@block_op(
    pipe=PipeType.FIX,
    types=store_type,
    valid=given,
    dtypes=SPACE_DTYPES[MemorySpace.Acc],
    reads=(0,),
    writes=(3,),
    in_place=(),
    spaces={0: MemorySpace.Acc},
    space=MemorySpace.DDR,
    numpy=_store,
    pto=store_pto,
    isa=store_cpp,
)
def l0c_store(tile: Tile, offsets: Offsets, shapes: Ints, output_tensor: Tensor) -> Tensor:
    """Write ``tile`` in Acc memory to a region of ``output_tensor``, as `store` does."""
    ...


# --------------------------------------------------------------------------------------------
# Move
# --------------------------------------------------------------------------------------------


def _move_source(kwargs: Mapping[str, Any]) -> dict[int, MemorySpace]:
    target = kwargs.get("target_memory")
    return {0: MemorySpace.Mat if target in FROM_MAT else MemorySpace.Vec}


def _move_type(o: Operands) -> Type:
    kind, name = o.tile(0), operand_name(o, 0)
    space = target_of(o, (*FROM_MAT, MemorySpace.Vec))
    source = known_space(o.args[0])
    if source is not None:
        check_space(o.op, o.kwargs, 0, name, source)
    check_space_dtype(space, kind.dtype)
    if not attribute(o, "transpose"):
        result = tile_type(kind.shape, kind, space)
        _check_boxes(o, kind, kind.shape, result, space)
        return result
    if space not in _CUBE or len(kind.shape) != 2:
        raise OpError(
            f"{called(o.op)} transposes two-dimensional tiles from Mat to Left or Right memory, "
            f"{name} is {describe(kind)} going to {space.name}",
            hint=f"pl.transpose({name})",
            slug="transpose",
        )
    result = tile_type(kind.shape[::-1], kind, space)
    _check_boxes(o, kind, kind.shape[::-1], result, space)
    return result


def _check_boxes(
    o: Operands, kind: TileType, shape: Sequence[Expr], result: TileType, space: MemorySpace
) -> None:
    """Check that a tile has the same padding in Mat and, possibly transposed, in ``space``."""
    if space not in FROM_MAT or static_shape(kind) is None or len(shape) != 2:
        return
    before = declared_shape(tile_type(kind.shape, kind, MemorySpace.Mat), MemorySpace.Mat)
    after = declared_shape(result, space)
    if before == (after if shape is kind.shape else after[::-1]):
        return
    unit = whole_box(kind.dtype)
    sizes = [round_up(size, unit) for size in rows_and_columns(kind)]
    name = operand_name(o, 0)
    refuse(
        o,
        f"{called(o.op)} to {space.name} memory takes whole boxes of {unit} x {unit} elements of "
        f"{kind.dtype.member}, {name} is {dims(kind.shape)}",
        "tile-layout",
        f"load {name} as {sizes} with valid_shapes={dims(kind.shape)}",
        shown=(0,),
    )


def _moved_part(o: Operands, kind: Type) -> Type:
    """A partly valid matrix moves only to Left or Right memory, where products accept it."""
    part = valid_part(o.tile(0))
    if part is None or attribute(o, "target_memory") not in _CUBE:
        raise not_whole(f"{called(o.op)} takes", operand_name(o, 0))
    return with_valid(kind, part[::-1] if attribute(o, "transpose") else part)


def _move_pipe(call: Call) -> PipeType:
    return PipeType.MTE1 if target_space(call) in FROM_MAT else PipeType.V


def _move(tile: Array, transpose: bool = False, **_: Any) -> Array:
    return tile.T.copy() if transpose else tile.copy()


def _transposed(kind: Type) -> TileType:
    """Return the Mat type in which the bytes of ``kind`` are the transposed matrix.

    A tile [N, K] of row-major boxes in column-major order has the same bytes as a tile [K, N] of
    column-major boxes in row-major order.
    """
    assert isinstance(kind, TileType)
    return TileType(kind.shape[::-1], kind.dtype, kind.memref, BOXED[MemorySpace.Right])


def _move_pto(site: PtoSite) -> None:
    source, kind = site.args[0], site.arg_types[0]
    result, result_kind = site.dst, site.dst_type
    if site.call.kwargs.get("transpose"):
        tile = site.call.args[0]
        source, kind = site.reinterpret(tile, _transposed(all_of(tile.type)))
        if has_invalid_bytes(tile.type):  # bytes outside the valid part move too
            result, result_kind = site.reinterpret(None, all_of(site.call.type))
    site.emit(f"pto.tmov ins({source} : {kind}) outs({result} : {result_kind})")


def _move_cpp(site: CppSite) -> None:
    source = site.args[0]
    if site.call.kwargs.get("transpose"):
        tile = site.call.args[0]
        source = site.reinterpret(tile, _transposed(all_of(tile.type)), "t")
        site.emit(f"TMOV({whole_name(site, RESULT)}, {source});")
        return
    site.emit(f"TMOV({site.dst}, {source});")


@block_op(
    pipe=_move_pipe,
    types=_move_type,
    valid=_moved_part,
    dtypes=STORABLE,
    in_place=(),
    columns=(0, RESULT),
    space=target_space,
    spaces=_move_source,
    numpy=_move,
    pto=_move_pto,
    isa=_move_cpp,
)
def move(tile: Tile, target_memory: MemorySpace, transpose: bool = False) -> Tile:
    """Return a copy of ``tile`` [R, C] in ``target_memory``; [C, R] with ``transpose``.

    The moves are from Mat to Left or Right, the memories of a product's operands, optionally
    transposed; from Mat to Bias, for a row [1, C]; and from Vec to Vec.
    """
    ...


# --------------------------------------------------------------------------------------------
# Extract
# --------------------------------------------------------------------------------------------


def _extract_type(o: Operands) -> Type:
    kind, name, shape = o.tile(0), operand_name(o, 0), o.ints(3)
    space = target_of(o, _CUBE)
    source = known_space(o.args[0])
    if source is not None:
        check_space(o.op, o.kwargs, 0, name, source)
    check_space_dtype(space, kind.dtype)
    if len(kind.shape) != 2 or len(shape) != 2:
        refuse(
            o,
            f"{called(o.op)} takes a part of two dimensions of a tile that has two, got "
            f"{dims(shape)} of {name} {dims(kind.shape)}",
            "region-rank",
            shown=(0,),
        )
    unit = whole_box(kind.dtype)
    for axis, (corner, size, limit) in enumerate(zip(o.args[1:3], shape, kind.shape, strict=True)):
        begin, length, whole = const_value(corner), const_value(size), known_size(limit)
        if length is None or length <= 0 or length % unit or (begin or 0) % unit:
            refuse(
                o,
                f"{called(o.op)} takes whole boxes of {unit} x {unit} elements of "
                f"{kind.dtype.member}, got {'?' if length is None else length} elements from "
                f"{'?' if begin is None else begin} in dimension {axis}",
                "tile-layout",
                f"begin at a multiple of {unit}, and take a multiple of {unit}",
                shown=(0,),
            )
        if whole is not None and not 0 <= (begin or 0) <= whole - length:
            refuse(
                o,
                f"{called(o.op)} of {length} elements from {'?' if begin is None else begin} in "
                f"dimension {axis} is outside {name} {dims(kind.shape)}",
                "out-of-bounds",
                shown=(0,),
            )
    part = shape[::-1] if attribute(o, "transpose") else shape
    return tile_type(part, kind, space)


def _extract(
    tile: Array, row: int, column: int, shape: Sequence[int], transpose: bool = False, **_: Any
) -> Array:
    part = region(tile, (row, column), shape, "extract", "tile")
    unit = 32 if tile.dtype.itemsize == 1 else 16
    if row % unit or column % unit:
        raise EvaluationError(
            f"extract from [{row}, {column}], which is not the corner of a box of {unit} x {unit} "
            "elements",
            slug="tile-layout",
        )
    return part.T.copy() if transpose else part.copy()


def _extract_pto(site: PtoSite) -> None:
    source, row, column, *_ = site.args
    kind = site.arg_types[0]
    if site.call.kwargs.get("transpose"):
        tile = site.call.args[0]
        source, kind = site.reinterpret(tile, _transposed(tile.type))
        row, column = column, row
    site.emit(
        f"pto.textract ins({source}, {row}, {column} : {kind}, index, index) "
        f"outs({site.dst} : {site.dst_type})"
    )


def _extract_cpp(site: CppSite) -> None:
    source, row, column, *_ = site.args
    if site.call.kwargs.get("transpose"):
        tile = site.call.args[0]
        source = site.reinterpret(tile, _transposed(tile.type), "t")
        row, column = column, row
    site.emit(f"TEXTRACT({site.dst}, {source}, {row}, {column});")


@block_op(
    pipe=PipeType.MTE1,
    types=_extract_type,
    dtypes=FACTORS,
    in_place=(),
    space=target_space,
    spaces={0: MemorySpace.Mat},
    numpy=_extract,
    pto=_extract_pto,
    isa=_extract_cpp,
)
def extract(
    src: Tile,
    index_row: Index,
    index_col: Index,
    shape: Ints,
    target_memory: MemorySpace,
    transpose: bool = False,
) -> Tile:
    """Return the part of ``src`` [R, C] in Mat memory that starts at ``index_row``, ``index_col``.

    Load a wide matrix once and extract the part that each product needs: rows of 512 bytes load
    faster than the same bytes in four rows. The result, in ``target_memory`` (Left or Right), has
    the shape ``shape`` [r, c] of the part, or [c, r] with ``transpose``. The indices and sizes are
    multiples of 16, or of 32 for 8-bit elements.
    """
    ...
