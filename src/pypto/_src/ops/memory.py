"""Ops that make tiles and move data between memories.

A region of a tensor is a box: ``offsets`` and ``shapes`` with one entry a dimension.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType, promote
from pypto._src.errors import OpError, OpTypeError
from pypto._src.ir.array_types import (
    MemRef,
    TensorType,
    TileType,
    TileView,
    same_dims,
    static_shape,
    valid_part,
)
from pypto._src.ir.emit_sites import CppSite, Let, PtoSite
from pypto._src.ir.enums import MemorySpace, PipeType, TilePad
from pypto._src.ir.exprs import Call, ConstFloat, ConstInt, Expr, MakeTuple, const_value
from pypto._src.ir.opdef import RESULT, Complete, Operands, literal, not_whole, space_of_number
from pypto._src.ir.types import MemRefType, Type, scalar_type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import (
    FLOATS,
    STORABLE,
    Ints,
    Offsets,
    Scalar,
    Space,
    Tensor,
    Tile,
    block_op,
    target_form,
)
from pypto._src.ops.layout import (
    BOXED,
    TRANSPOSED,
    declared_shape,
    emit_reshape,
    is_column,
    is_row,
    rows_and_columns,
    source_space,
    tile_space,
    tile_type,
    whole_box,
    with_valid,
)
from pypto._src.ops.matmul import OPERANDS
from pypto._src.ops.rules.boxes import (
    check_region,
    elements,
    part_of,
    part_type,
    place_in_rows,
    region,
)
from pypto._src.ops.rules.type_rules import (
    FROM_MAT,
    attribute,
    broadcast,
    called,
    cast_operand,
    check_element,
    check_operands,
    check_space,
    describe,
    dims,
    known_size,
    known_space,
    one_tile,
    operand_name,
    poison,
    refuse,
)
from pypto._src.ops.rules.valid_parts import (
    all_of,
    check_sizes,
    given,
    has_rest,
    name_of_all,
    same_part,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
_CUBE: Final = (MemorySpace.Left, MemorySpace.Right)  # the tiles of a product
_SPACE_DTYPES: Final = {
    MemorySpace.Vec: STORABLE,
    MemorySpace.Mat: frozenset(d for d in STORABLE if d.get_bit() <= 32),
    MemorySpace.Left: OPERANDS,
    MemorySpace.Right: OPERANDS,
    MemorySpace.Acc: frozenset({D.FP32, D.INT32}),
    MemorySpace.Bias: frozenset({D.FP32, D.INT32}),
}
"""Element types of tiles by the memory they lie in."""


# --------------------------------------------------------------------------------------------
# Load and store
# --------------------------------------------------------------------------------------------


def _layout(tile: Type, tensor: TensorType) -> str:
    """Return how the global view of a tile lies: DN for columns of a tensor that is one column."""
    assert isinstance(tile, TileType)
    one_column = const_value(tensor.shape[-1]) == 1
    return "DN" if is_column(tile) and one_column else "ND"


def _load_type(o: Operands, valid: Sequence[Expr] | None = None) -> Type:
    kind, shapes = o.tensor(0), o.ints(2)
    name = operand_name(o, 0)
    space = _target(o, (MemorySpace.Vec, MemorySpace.Mat))
    check_element(o.op, name, kind.dtype)
    _check_space_dtype(o, space, kind.dtype)
    check_region(o, 0, 1, valid)
    result = tile_type(shapes, kind.dtype, space)
    can_turn = kind.dtype in TRANSPOSED and len(shapes) == 2 and valid is None
    if _is_from_wide(result, kind) and not can_turn:
        refuse(
            o,
            f"{called(o.op)} of a column {dims(shapes)} needs a tensor of one column, {name} has "
            f"the shape {dims(kind.shape)}",
            "tile-layout",
            "keep the vector in a tensor [N, 1]",
        )
    return result


def _is_from_wide(kind: TileType, tensor: TensorType) -> bool:
    """True for a tile that lies as a column, out of a tensor of several columns."""
    return is_column(kind) and (known_size(tensor.shape[-1]) or 1) != 1


def _from_wide(call: Call, let: Let) -> Expr | None:
    """Return what the load of a column [N, 1] of a wide tensor stands for.

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
    operands = (tensor, offsets, MakeTuple([result.shape[0], width]), shapes)
    part = Call(load, operands, call.kwargs, load_part.result_type(operands, call.kwargs))
    return first_column(as_rows(let("part", part), width, let), result, let)


def _way_to(space: MemorySpace, allowed: Sequence[MemorySpace]) -> str:
    """Return how a tile gets to ``space`` from where an op can put it."""
    if space in FROM_MAT and MemorySpace.Mat in allowed:
        return (
            "write target_memory=pl.MemorySpace.Mat, and then "
            f"pl.move(tile, target_memory=pl.MemorySpace.{space.name})"
        )
    return f"write target_memory=pl.MemorySpace.{allowed[0].name}"


def _target(o: Operands, allowed: Sequence[MemorySpace]) -> MemorySpace:
    space = attribute(o, "target_memory")
    if space not in allowed:
        names = " or ".join(s.name for s in allowed)
        raise OpError(
            f"{called(o.op)} goes to {names} memory, got {space.name}",
            hint=_way_to(space, allowed),
            slug="memory-space",
        )
    assert isinstance(space, MemorySpace)
    return space


def _check_space_dtype(o: Operands, space: MemorySpace, dtype: DataType) -> None:
    if dtype not in _SPACE_DTYPES[space]:
        raise OpError(
            f"{space.name} memory holds no elements of {dtype.member}", slug="element-type"
        )


def _target_space(call: Call) -> MemorySpace:
    space = call.kwargs.get("target_memory", _VEC)
    assert isinstance(space, MemorySpace)
    return space


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
    """Return the type of a tile of which only the given sizes are loaded."""
    shapes, valid = o.ints(2), o.ints(3)
    space = _target(o, (MemorySpace.Vec, MemorySpace.Mat))
    if space is MemorySpace.Vec:
        check_sizes(o, shapes, valid)
        kind = _load_type(o, valid)
        assert isinstance(kind, TileType)
        return with_valid(kind, valid)
    # The matrix unit takes matrices: dimensions of 1 before the last two are dropped.
    before = len(shapes) - 2 if len(shapes) == len(valid) > 2 else 0
    if not all(const_value(dim) == 1 for dim in (*shapes[:before], *valid[:before])):
        before = 0
    matrix = shapes[before:]
    check_sizes(o, matrix, valid[before:])
    kind = _load_type(o, valid)
    assert isinstance(kind, TileType)
    if is_row(matrix):
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
    space=_target_space,
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
    """Return a tile of shape ``shapes``, of which ``valid_shapes`` are read and valid."""
    ...


@block_op(
    pipe=PipeType.MTE2,
    types=_load_type,
    dtypes=STORABLE,
    space=_target_space,
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

    ``target_memory`` is Vec, or Mat for an operand of a matrix product. With ``valid_shapes``
    only so many rows and columns are read; the rest of the tile has no value. They are numbers
    or variables, from 0 to the size of the tile. What is computed from such a tile is valid in
    the same part, and `store` writes only that. Operands of a product have all of K; of a tensor
    of more dimensions they are a matrix, the other sizes being 1.
    """
    ...


_ACC_STORES: Final = {
    D.FP32: frozenset({D.FP32, D.FP16, D.BF16}),
    D.INT32: frozenset({D.INT32}),
}
"""Element types of the accumulator to those it is stored as."""


def store_type(o: Operands) -> Type:
    """Return the type of a tensor that a tile is stored to."""
    check_operands(o)
    tile, shapes, tensor = o.tile(0), o.ints(2), o.tensor(3)
    part = valid_part(tile)
    check_region(o, 3, 1, part)
    space = known_space(o.args[0])
    fits = part is not None and same_dims(part, shapes)
    if part is not None and space is MemorySpace.Acc:
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
            _fitting(o),
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


def _fitting(o: Operands) -> str | None:
    """Return the region that is as large as the tile, or the part of the tile that fits."""
    tile, offsets, sizes, tensor = o.tile(0), o.ints(1), o.ints(2), o.tensor(3)
    if len(tile.shape) != len(sizes):
        return None
    for dim, offset, limit in zip(tile.shape, offsets, tensor.shape, strict=True):
        size, most = const_value(dim), known_size(limit)
        if size is not None and most is not None and size + (const_value(offset) or 0) > most:
            zeros = dims([ConstInt(0)] * len(sizes))
            return (
                f"store the part that fits: pl.view({operand_name(o, 0)}, {dims(sizes)}, {zeros})"
            )
    return f"give the tile's shape as the size of the region: {dims(tile.shape)}"


def _long(shape: Sequence[Expr]) -> list[Expr]:
    """Return the dimensions that are not the constant 1."""
    return [dim for dim in shape if const_value(dim) != 1]


def _without_ones(shape: Sequence[Expr]) -> Sequence[Expr]:
    """Return a shape without the dimensions of 1 that it begins with."""
    begin = next((axis for axis, dim in enumerate(shape) if const_value(dim) != 1), len(shape))
    return shape[begin:]


def store_pipe(call: Call) -> PipeType:
    """Return the pipe that stores: of accumulators, the one that converts as well."""
    # The engine follows from where the tile is, not from the name of the op.
    return _FIX if tile_space(call.args[0]) is _ACC else _MTE3


# Looking a member up in its class takes CPython 3.11 five times as long as a global.
_VEC: Final = MemorySpace.Vec
_ACC: Final = MemorySpace.Acc
_FIX: Final = PipeType.FIX
_MTE3: Final = PipeType.MTE3


def _store(tile: Array, offsets: Sequence[int], shapes: Sequence[int], tensor: Array) -> Array:
    sizes = shapes if tile.size == math.prod(shapes) else tile.shape  # those of the valid part
    target = region(tensor, offsets, sizes, "pl.store writes")
    target[...] = tile.reshape(target.shape)
    return tensor


def _to_wide(call: Call, let: Let) -> Expr | None:
    """Return what the store of a column [N, 1] to a wide tensor stands for.

    store(y, [i, j], [N, 1], x)
      ->  r = y in the front of rows of a block; store(r, [i, j], [N, 1], x)
    """
    tile, offsets, shapes, tensor = call.args
    kind, whole = tile.type, tensor.type
    assert isinstance(kind, TileType)
    assert isinstance(whole, TensorType)
    flat = len(kind.shape) == len(elements(shapes)) == 2 and whole.tensor_view is None
    if not flat or kind.tile_view is not None or not _is_from_wide(kind, whole):
        return None
    if kind.dtype not in TRANSPOSED:
        return None  # the emitters say why
    from pypto._src.ops.padding import as_rows, block_of, relaid

    width = block_of(kind)
    rows = relaid(as_rows(tile, width, let), (kind.shape[0], width), kind.shape)
    return store.build([let("front", rows), offsets, shapes, tensor], {}, call.span)


def store_pto(site: PtoSite, attrs: str = "") -> None:
    """Emit the store of a tile to a region; ``attrs`` say what it does with what is there."""
    tile, offsets, shapes, tensor = site.call.args
    sizes, valid = elements(shapes), valid_part(tile.type)
    if valid is not None and len(valid) == len(sizes):
        sizes = valid
    part, kind = site.partition_view(tensor, elements(offsets), sizes)
    site.emit(f"pto.tstore ins({site.args[0]} : {site.arg_types[0]}) outs({part} : {kind}){attrs}")


def store_cpp(site: CppSite, mode: str = "") -> None:
    """Emit the store of a tile to a region; ``mode`` says what it does with what is there."""
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

    ``shapes`` is the size of the region: the shape of the tile, or its valid part, which alone is
    written. The value is the very tensor: its other elements stay. A tile in Acc may be stored as
    a narrower float.
    """
    ...


@block_op(
    pipe=PipeType.FIX,
    types=store_type,
    valid=given,
    dtypes=_SPACE_DTYPES[MemorySpace.Acc],
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
    space = _target(o, (*FROM_MAT, MemorySpace.Vec))
    source = known_space(o.args[0])
    if source is not None:
        check_space(o.op, o.kwargs, 0, name, source)
    _check_space_dtype(o, space, kind.dtype)
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
    """Check that a tile is padded alike in Mat memory and, maybe transposed, in ``space``."""
    if space not in FROM_MAT or static_shape(kind) is None or len(shape) != 2:
        return
    before = declared_shape(tile_type(kind.shape, kind, MemorySpace.Mat), MemorySpace.Mat)
    after = declared_shape(result, space)
    if before == (after if shape is kind.shape else after[::-1]):
        return
    unit = whole_box(kind.dtype)
    sizes = [-(-size // unit) * unit for size in rows_and_columns(kind)]
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
    """A part of a matrix is moved to Left or Right memory, where products take it."""
    part = valid_part(o.tile(0))
    if part is None or attribute(o, "target_memory") not in _CUBE:
        raise not_whole(f"{called(o.op)} takes", operand_name(o, 0))
    return with_valid(kind, part[::-1] if attribute(o, "transpose") else part)


def _move_pipe(call: Call) -> PipeType:
    return PipeType.MTE1 if _target_space(call) in FROM_MAT else PipeType.V


def _move(tile: Array, transpose: bool = False, **_: Any) -> Array:
    return tile.T.copy() if transpose else tile.copy()


def _transposed(kind: Type) -> TileType:
    """Return the Mat type with the bytes of ``kind`` transposed: boxes by row hold boxes by column.

    A tile [N, K] in columns of row-major boxes and a tile [K, N] in rows of column-major boxes
    have the same bytes.
    """
    assert isinstance(kind, TileType)
    return TileType(kind.shape[::-1], kind.dtype, kind.memref, BOXED[MemorySpace.Right])


def _move_pto(site: PtoSite) -> None:
    source, kind = site.args[0], site.arg_types[0]
    result, result_kind = site.dst, site.dst_type
    if site.call.kwargs.get("transpose"):
        tile = site.call.args[0]
        source, kind = site.reinterpret(tile, _transposed(all_of(tile.type)))
        if has_rest(tile.type):  # other bytes than those of the part move as well
            result, result_kind = site.reinterpret(None, all_of(site.call.type))
    site.emit(f"pto.tmov ins({source} : {kind}) outs({result} : {result_kind})")


def _move_cpp(site: CppSite) -> None:
    source = site.args[0]
    if site.call.kwargs.get("transpose"):
        tile = site.call.args[0]
        source = site.reinterpret(tile, _transposed(all_of(tile.type)), "t")
        site.emit(f"TMOV({name_of_all(site, RESULT)}, {source});")
        return
    site.emit(f"TMOV({site.dst}, {source});")


@block_op(
    pipe=_move_pipe,
    types=_move_type,
    valid=_moved_part,
    dtypes=STORABLE,
    in_place=(),
    columns=(0, RESULT),
    space=_target_space,
    spaces=_move_source,
    numpy=_move,
    pto=_move_pto,
    isa=_move_cpp,
)
def move(tile: Tile, target_memory: MemorySpace, transpose: bool = False) -> Tile:
    """Return a copy of ``tile`` [R, C] in ``target_memory``; [C, R] with ``transpose``.

    From Mat to Left or Right, the memories of a product's operands, also transposed; a row
    [1, C] from Mat to Bias; or from Vec to Vec.
    """
    ...


def _relaid_type(o: Operands, shape: int, valid: int) -> Type:
    """Return the type of a tile's elements in rows of another length, or called otherwise."""
    return with_valid(TileType(o.ints(shape), o.tile(0).dtype), o.ints(valid))


# A product with 1, exactly: a move wants rows that are equally long.
def _relaid_pto(site: PtoSite) -> None:
    kind = site.call.type
    assert isinstance(kind, TileType)
    one = site.expr(literal(1, kind.dtype))
    site.emit(
        f"pto.tmuls ins({site.args[0]}, {one} : {site.arg_types[0]}, {kind.dtype.mlir}) "
        f"outs({site.dst} : {site.dst_type})"
    )


@target_form(
    name="vec_move",
    types=lambda o: _relaid_type(o, 1, 2),
    valid=given,
    dtypes=FLOATS | {D.INT16, D.INT32},
    in_place=(),
    numpy=lambda tile, _shape, _valid: tile.copy(),
    pto=_relaid_pto,
    isa=lambda site: site.emit(f"TMULS({site.dst}, {site.args[0]}, 1);"),
)
def vec_move_on_target(tile: Tile, shape: Ints, valid: Ints) -> Tile:
    """Return a copy of ``tile`` in rows of another length: ``shape``, ``valid`` of it valid."""
    ...


@block_op(
    types=one_tile,
    valid=same_part,
    dtypes=STORABLE - {D.UINT64},
    in_place=(),
    columns=(0, RESULT),
    with_scratch=vec_move_on_target,
    numpy=lambda tile: tile.copy(),
    pto="pto.tmov",
    isa="TMOV",
)
def vec_move(tile: Tile) -> Tile:
    """Return a copy of ``tile`` [R, C] in vector memory."""
    ...


def _fillpad_type(o: Operands) -> Type:
    if is_column(o.tile(0)) and valid_part(o.tile(0)) is not None:
        refuse(
            o,
            f"{called(o.op)} takes no partly valid columns [N, 1], {operand_name(o, 0)} is one",
            "valid-shape",
            "fill what is reduced, right there: pl.row_sum(pl.fillpad(tile))",
        )
    return one_tile(o)


def _pad_of(kwargs: Mapping[str, Any]) -> TilePad:
    """Return what the rest of a tile is filled with."""
    return TilePad(kwargs.get("pad_value", TilePad.zero.value))


def _pad_number(
    args: Sequence[Any], kwargs: Mapping[str, Any], _span: Span
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Let the padding be the number of a `TilePad`; 0 and infinities stand for one, too."""
    given = args[1] if len(args) > 1 else kwargs.get("pad_value")
    given = given.value if isinstance(given, ConstInt | ConstFloat) else given
    if given is None:
        return args, kwargs
    known = {0: TilePad.zero, math.inf: TilePad.max, -math.inf: TilePad.min}
    codes = {pad.value: pad for pad in TilePad if pad is not TilePad.null}
    pad = given if isinstance(given, TilePad) else known.get(given, codes.get(given))
    if pad is None or pad is TilePad.null:
        raise OpError(
            f"pl.fillpad fills with zeros, or the largest or smallest element, got {given}",
            hint="write pad_value=pl.PadValue.zero, or max or min",
            slug="argument-kind",
        )
    words = {key: value for key, value in kwargs.items() if key != "pad_value"}
    return args[:1], words if pad is TilePad.zero else {**words, "pad_value": pad.value}


def _filling(kwargs: Mapping[str, Any], dtype: Any) -> Any:
    """Return the element that fills the rest: of floats the limits are infinite."""
    pad = _pad_of(kwargs)
    if pad is TilePad.zero:
        return 0
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.max if pad is TilePad.max else limits.min
    return math.inf if pad is TilePad.max else -math.inf


def _padded(call: Call) -> TileType:
    """Return the type of the result while it is filled: the padding is a part of it."""
    kind = call.type
    assert isinstance(kind, TileType)
    return TileType(kind.shape, kind.dtype, tile_view=TileView(pad=_pad_of(call.kwargs)))


def _fillpad_pto(site: PtoSite) -> None:
    result, kind = site.reinterpret(None, _padded(site.call))
    site.emit(f"pto.tfillpad ins({site.args[0]} : {site.arg_types[0]}) outs({result} : {kind})")


def _fillpad_cpp(site: CppSite) -> None:
    result = site.reinterpret(None, _padded(site.call), "padded")
    site.emit(f"TFILLPAD({result}, {site.args[0]});")


@block_op(
    types=_fillpad_type,
    valid=given,
    dtypes=[d for d in STORABLE if d.get_bit() <= 32],
    in_place=(),
    complete=_pad_number,
    rest=_filling,
    numpy=lambda tile, pad_value=1: tile.copy(),
    pto=_fillpad_pto,
    isa=_fillpad_cpp,
)
def fillpad(tile: Tile, pad_value: int | None = None) -> Tile:
    """Return a copy of ``tile`` [R, C] with zeros where it holds no valid elements.

    With ``pad_value=pl.PadValue.max`` or ``min`` these are the largest or smallest element of the
    type, of floats infinity.

    The copy is valid throughout: a tile of which a part is valid is loaded with ``valid_shapes``.
    """
    ...


# --------------------------------------------------------------------------------------------
# Parts of tiles
# --------------------------------------------------------------------------------------------


def _part_pto(site: PtoSite) -> None:
    site.part(*place_in_rows(site.call))


def _part_cpp(site: CppSite) -> None:
    row, column = map(site.expr, place_in_rows(site.call))
    site.emit(f"TSUBVIEW({site.dst}, {site.args[0]}, {row}, {column});")


def _same_bytes(
    tile: Array, shape: Sequence[int], _offset: Sequence[int], _valid: Sequence[int]
) -> Array:
    """Return rows made longer by what has no value, or cut off."""
    rows, columns = shape
    found = np.zeros((rows, columns), tile.dtype)
    found.view(np.uint8).fill(0xFF)
    width = min(columns, tile.shape[1])
    found[:, :width] = tile[:, :width]
    return found


@target_form(
    name="view",
    pipe=None,
    types=lambda o: _relaid_type(o, 1, 3),
    valid=given,
    dtypes=STORABLE,
    view_of=0,
    space=source_space,
    numpy=_same_bytes,
    pto=emit_reshape,
    isa=lambda site: site.emit(f"TRESHAPE({site.dst}, {site.args[0]});"),
)
def view_on_target(tile: Tile, shape: Ints, offset: Offsets, valid: Ints) -> Tile:
    """Return the bytes of ``tile``, padding included, as ``shape`` of which ``valid`` is valid."""
    ...


@block_op(
    pipe=None,  # moves nothing
    types=part_type,
    dtypes=STORABLE,
    view_of=0,
    with_scratch=view_on_target,
    space=source_space,
    numpy=part_of,
    pto=_part_pto,
    isa=_part_cpp,
)
def view(tile: Tile, shape: Ints, offset: Offsets) -> Tile:
    """Return the part of ``tile`` [R, C] of size ``shape`` that begins at ``offset``.

    Nothing is copied. The part is some whole rows, or a part of one row, and begins at a multiple
    of 32 bytes; sizes are constant.
    """
    ...


# --------------------------------------------------------------------------------------------
# New tiles
# --------------------------------------------------------------------------------------------


def _create_type(o: Operands) -> Type:
    shape, dtype = o.ints(0), attribute(o, "dtype")
    assert isinstance(dtype, DataType)
    check_element(o.op, "the tile", dtype)
    space = _target(o, tuple(_SPACE_DTYPES))
    _check_space_dtype(o, space, dtype)
    kind = tile_type(shape, dtype, space)
    if static_shape(kind) is None:
        raise OpError(
            f"{called(o.op)} takes constant sizes, got {dims(shape)}",
            hint="give the tile a constant shape and load the part that is valid",
            slug="tile-shape",
        )
    return kind


def _nothing(_site: CppSite | PtoSite) -> None:
    """The tile is declared with its buffer; the op has no code of its own."""


@block_op(
    pipe=None,
    types=_create_type,
    dtypes=STORABLE,
    columns=(RESULT,),
    space=_target_space,
    numpy=lambda shape, dtype, target_memory=None: poison(shape, dtype),
    pto=_nothing,
    isa=_nothing,
)
def create_tile(shape: Ints, dtype: DataType, target_memory: MemorySpace = MemorySpace.Vec) -> Tile:
    """Return a tile of constant ``shape`` with no value: scratch, or a place to write to."""
    ...


def scratch_like(name: str, *operands: str) -> Complete:
    """Return what makes the scratch tile ``name`` behind ``operands``, where a call leaves it out.

    It has the shape and the element type of the result of an op on them.
    """
    index = len(operands)

    def complete(
        args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        given = args[index] if len(args) > index else kwargs.get(name)
        values = [*args[:index], *[kwargs.get(each) for each in operands[len(args) :]]]
        kinds = [value.type if isinstance(value, Expr) else None for value in values]
        tiles = [kind for kind in kinds if isinstance(kind, TileType)]
        if given is not None or not isinstance(kinds[0], TileType):
            return args, kwargs
        shape: Sequence[Expr] = tiles[0].shape
        for kind in tiles[1:]:
            shape = broadcast(shape, kind.shape) or shape  # the op refuses others
        dtype = reduce(promote, [kind.dtype for kind in tiles])
        scratch = create_tile.build([list(shape), dtype], {}, span)
        return args[:index], {**kwargs, name: scratch}

    return complete


def _alloc_type(o: Operands) -> Type:
    """Return the type of a description of a buffer, whose numbers are not negative."""
    space = space_of_number(o.op.operands[0], o.args[0])
    if space is None:
        raise OpError(
            f"{o.op.name} takes the constant number of a memory space first",
            hint="pl.MemorySpace.Vec",
            slug="memory-space",
        )
    for index in range(1, 4):
        dtype, value = o.scalar(index).dtype, const_value(o.args[index])
        lowest = -1 if index == 1 else 0  # an address of -1 is not given yet
        if not dtype.is_int() or (value is not None and value < lowest):
            raise OpTypeError(
                f"argument {o.param(index)!r} of {o.op.name} is an integer from {lowest} on, got "
                f"{value if dtype.is_int() else f'a value of {dtype.member}'}",
                slug="argument-kind",
            )
    return MemRefType()


@block_op(
    pipe=None,
    types=_alloc_type,
    numpy=lambda memory_space, addr, size, number: None,
    pto=_nothing,
    isa=_nothing,
)
def alloc(memory_space: Space, addr: Scalar, size: Scalar, id: Scalar) -> MemRef:
    """Return the description of buffer ``id``: ``size`` bytes at ``addr`` in ``memory_space``.

    It stands at the top of a function and runs nothing: tiles carry their buffers in their types.
    An ``addr`` of -1 is not given yet.
    """
    ...


def _full_type(o: Operands) -> Type:
    shape, dtype = o.ints(0), attribute(o, "dtype")
    assert isinstance(dtype, DataType)
    check_element(o.op, "the tile", dtype)
    if o.args[1].type != scalar_type(dtype):
        refuse(
            o,
            f"{called(o.op)} fills a tile of {dtype.member} with a number of "
            f"{o.scalar(1).dtype.member}",
            "dtype-mismatch",
            f"pl.cast({operand_name(o, 1)}, pl.{dtype.member})",
        )
    return tile_type(shape, dtype, MemorySpace.Vec)


def _full(shape: Sequence[int], value: Any, dtype: DataType) -> Array:
    return np.full(tuple(shape), value, dtype.numpy)


@block_op(
    types=_full_type,
    dtypes=FLOATS | {D.INT16, D.INT32},  # the assembler fills no unsigned tiles
    numpy=_full,
    pto="pto.texpands",
    isa="TEXPANDS",
)
def full(shape: Ints, dtype: DataType, value: Scalar) -> Tile:
    """Return a tile of ``shape`` whose elements of ``dtype`` all are ``value``."""
    ...


# --------------------------------------------------------------------------------------------
# Where a kernel runs
# --------------------------------------------------------------------------------------------


def _block_idx_pto(site: PtoSite) -> None:
    site.emit(f"{site.dst} = pto.get_block_idx")


def _block_idx_cpp(site: CppSite) -> None:
    site.emit(f"{site.dst} = get_block_idx();")


@block_op(
    pipe=PipeType.S,
    types=lambda _operands: scalar_type(D.UINT64),
    numpy=lambda: 0,
    pto=_block_idx_pto,
    isa=_block_idx_cpp,
)
def get_block_idx() -> Scalar:
    """Return the number of the core that runs the kernel, from 0; 0 where there is one core."""
    ...
