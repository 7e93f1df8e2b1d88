"""Ops that make tiles and move data between memories.

A region of a tensor is a box: ``offsets`` and ``shapes`` with one entry a dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError, OpError
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.nodes import (
    Call,
    Expr,
    MakeTuple,
    TensorType,
    TileType,
    Type,
    const_value,
    same_dims,
    scalar_type,
    static_shape,
)
from pypto._src.ir.opdef import RESULT, CppSite, Operands, PtoSite
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import FLOATS, STORABLE, Ints, Scalar, Tensor, Tile, block_op
from pypto._src.ops.layout import BOXED, is_column, tile_space, tile_type
from pypto._src.ops.matmul import OPERANDS
from pypto._src.ops.rules import (
    attribute,
    called,
    cast_text,
    check_element,
    check_operands,
    check_space,
    describe,
    dims,
    known_size,
    known_space,
    operand_name,
    poison,
    refuse,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
_CUBE: Final = (MemorySpace.Left, MemorySpace.Right)
_SPACE_DTYPES: Final = {
    MemorySpace.Vec: STORABLE,
    MemorySpace.Mat: frozenset(d for d in STORABLE if d.get_bit() <= 32),
    MemorySpace.Left: OPERANDS,
    MemorySpace.Right: OPERANDS,
    MemorySpace.Acc: frozenset({D.FP32, D.INT32}),
}
"""Element types of tiles by the memory they lie in."""


# --------------------------------------------------------------------------------------------
# Regions
# --------------------------------------------------------------------------------------------


def _check_region(o: Operands, tensor: int, first: int) -> None:
    """Check a box of a tensor: one offset and one size a dimension, constants within bounds."""
    kind, offsets, shapes = o.tensor(tensor), o.ints(first), o.ints(first + 1)
    rank, name = len(kind.shape), operand_name(o, tensor)
    if not len(offsets) == len(shapes) == rank:
        refuse(
            o,
            f"{called(o.op)} wants {rank} offsets and {rank} sizes for {name} {dims(kind.shape)}, "
            f"got {len(offsets)} and {len(shapes)}",
            "region-rank",
            shown=(tensor,),
        )
    for axis, (dim, offset, size) in enumerate(zip(kind.shape, offsets, shapes, strict=True)):
        begin, length, limit = const_value(offset), const_value(size), known_size(dim)
        if length is not None and length <= 0:
            refuse(
                o,
                f"{called(o.op)} has the size {length} in dimension {axis}; sizes are positive",
                "tile-shape",
                shown=(tensor,),
            )
        if begin is None:
            continue
        end = begin + (length or 0)
        if begin < 0 or (limit is not None and end > limit):
            refuse(
                o,
                f"{called(o.op)} of {begin}:{end} in dimension {axis} is outside {name} "
                f"{dims(kind.shape)}",
                "out-of-bounds",
                shown=(tensor,),
            )


def region(array: Array, offsets: Sequence[int], sizes: Sequence[int], verb: str) -> Array:
    """Return a box of ``array`` as a view.

    Raises:
        EvaluationError: the box does not lie inside the array.
    """
    shape = array.shape
    for begin, size, limit in zip(offsets, sizes, shape, strict=True):
        if begin < 0 or size < 0 or begin + size > limit:
            box = ", ".join(f"{b}:{b + s}" for b, s in zip(offsets, sizes, strict=True))
            raise EvaluationError(f"{verb} [{box}] of a tensor {list(shape)}", slug="out-of-bounds")
    return array[tuple(slice(b, b + s) for b, s in zip(offsets, sizes, strict=True))]


def _layout(tile: Type, tensor: TensorType) -> str:
    """Return how the global view of a tile lies: DN for columns of a tensor that is one column."""
    assert isinstance(tile, TileType)
    one_column = const_value(tensor.shape[-1]) == 1
    return "DN" if is_column(tile) and one_column else "ND"


# --------------------------------------------------------------------------------------------
# Load and store
# --------------------------------------------------------------------------------------------


def _load_type(o: Operands) -> Type:
    kind, shapes = o.tensor(0), o.ints(2)
    name = operand_name(o, 0)
    space = _target(o, (MemorySpace.Vec, MemorySpace.Mat))
    check_element(o.op, name, kind.dtype)
    _check_space_dtype(o, space, kind.dtype)
    _check_region(o, 0, 1)
    result = tile_type(shapes, kind.dtype, space)
    if is_column(result) and (known_size(kind.shape[-1]) or 1) != 1:
        refuse(
            o,
            f"{called(o.op)} of a column {dims(shapes)} needs a tensor of one column, {name} has "
            f"the shape {dims(kind.shape)}",
            "tile-layout",
            "keep the vector in a tensor [N, 1]",
        )
    return result


def _target(o: Operands, allowed: Sequence[MemorySpace]) -> MemorySpace:
    space = attribute(o, "target_memory")
    if space not in allowed:
        names = " or ".join(s.name for s in allowed)
        raise OpError(
            f"{called(o.op)} goes to {names} memory, got {space.name}",
            hint=f"target_memory=pl.MemorySpace.{allowed[0].name}",
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
    space = call.kwargs.get("target_memory", MemorySpace.Vec)
    assert isinstance(space, MemorySpace)
    return space


def _load(tensor: Array, offsets: Sequence[int], shapes: Sequence[int], **_: Any) -> Array:
    return region(tensor, offsets, shapes, "pl.load reads").copy()


def _load_pto(site: PtoSite) -> None:
    tensor, offsets, shapes = site.call.args
    part, kind = site.partition_view(tensor, elements(offsets), elements(shapes))
    site.emit(f"pto.tload ins({part} : {kind}) outs({site.dst} : {site.dst_type})")


def _load_cpp(site: CppSite) -> None:
    tensor, offsets, shapes = site.call.args
    assert isinstance(tensor.type, TensorType)
    layout = _layout(site.call.type, tensor.type)
    view = site.global_view(tensor, elements(offsets), elements(shapes), layout)
    site.emit(f"TLOAD({site.dst}, {view});")


def elements(value: Expr) -> tuple[Expr, ...]:
    """Return the elements of a list operand."""
    assert isinstance(value, MakeTuple)
    return value.elements


@block_op(
    pipe=PipeType.MTE2,
    types=_load_type,
    dtypes=STORABLE,
    space=_target_space,
    columns=(RESULT,),
    numpy=_load,
    pto=_load_pto,
    isa=_load_cpp,
)
def load(
    tensor: Tensor, offsets: Ints, shapes: Ints, target_memory: MemorySpace = MemorySpace.Vec
) -> Tile:
    """Return the region of ``tensor`` at ``offsets`` as a tile of shape ``shapes``.

    ``target_memory`` is Vec, or Mat for an operand of a matrix product.
    """
    ...


_ACC_STORES: Final = {
    D.FP32: frozenset({D.FP32, D.FP16, D.BF16}),
    D.INT32: frozenset({D.INT32}),
}
"""Element types of the accumulator to those it is stored as."""


def _store_type(o: Operands) -> Type:
    check_operands(o)
    tile, shapes, tensor = o.tile(0), o.ints(2), o.tensor(3)
    _check_region(o, 3, 1)
    if not same_dims(_long(tile.shape), _long(shapes)):
        refuse(
            o,
            f"{called(o.op)} of a tile {dims(tile.shape)} to a region {dims(shapes)}",
            "shape-mismatch",
            f"give the tile's shape as the size of the region: {dims(tile.shape)}"
            if len(tile.shape) == len(shapes)
            else None,
        )
    space = known_space(o.args[0])
    allowed = frozenset({tile.dtype})
    if space is MemorySpace.Acc:
        allowed = _ACC_STORES.get(tile.dtype, frozenset())
    if tensor.dtype not in allowed:
        refuse(
            o,
            f"{called(o.op)} of {tile.dtype.member} elements to a tensor of {tensor.dtype.member}",
            "dtype-mismatch",
            None
            if space is MemorySpace.Acc
            else cast_text(operand_name(o, 0), tile.dtype, tensor.dtype),
            shown=(0, 3),
        )
    return tensor


def _long(shape: Sequence[Expr]) -> list[Expr]:
    """Return the dimensions that are not the constant 1."""
    return [dim for dim in shape if const_value(dim) != 1]


def _store_pipe(call: Call) -> PipeType:
    # The engine follows from where the tile is, not from the name of the op.
    return PipeType.FIX if tile_space(call.args[0]) is MemorySpace.Acc else PipeType.MTE3


def _store(tile: Array, offsets: Sequence[int], shapes: Sequence[int], tensor: Array) -> Array:
    target = region(tensor, offsets, shapes, "pl.store writes")
    target[...] = tile.reshape(target.shape)
    return tensor


def _store_pto(site: PtoSite) -> None:
    _, offsets, shapes, tensor = site.call.args
    part, kind = site.partition_view(tensor, elements(offsets), elements(shapes))
    site.emit(f"pto.tstore ins({site.args[0]} : {site.arg_types[0]}) outs({part} : {kind})")


def _store_cpp(site: CppSite) -> None:
    tile, offsets, shapes, tensor = site.call.args
    assert isinstance(tensor.type, TensorType)
    layout = _layout(tile.type, tensor.type)
    view = site.global_view(tensor, elements(offsets), elements(shapes), layout)
    site.emit(f"TSTORE({view}, {site.args[0]});")


@block_op(
    pipe=_store_pipe,
    types=_store_type,
    dtypes=STORABLE,
    reads=(0,),
    writes=(3,),
    in_place=(),
    columns=(0,),
    spaces={0: frozenset({MemorySpace.Vec, MemorySpace.Acc})},
    space=MemorySpace.DDR,
    numpy=_store,
    pto=_store_pto,
    isa=_store_cpp,
)
def store(tile: Tile, offsets: Ints, shapes: Ints, output_tensor: Tensor) -> Tensor:
    """Write ``tile`` to the region of ``output_tensor`` at ``offsets``; return the tensor.

    ``shapes`` is the size of the region, that of the tile. The value is the very tensor: its
    other elements stay. A tile in Acc may be stored as a narrower float.
    """
    ...


@block_op(
    pipe=PipeType.FIX,
    types=_store_type,
    dtypes=_SPACE_DTYPES[MemorySpace.Acc],
    reads=(0,),
    writes=(3,),
    in_place=(),
    spaces={0: MemorySpace.Acc},
    space=MemorySpace.DDR,
    numpy=_store,
    pto=_store_pto,
    isa=_store_cpp,
)
def l0c_store(tile: Tile, offsets: Ints, shapes: Ints, output_tensor: Tensor) -> Tensor:
    """Write ``tile`` in Acc memory to a region of ``output_tensor``, as `store` does."""
    ...


# --------------------------------------------------------------------------------------------
# Move
# --------------------------------------------------------------------------------------------


def _move_source(kwargs: Mapping[str, Any]) -> dict[int, MemorySpace]:
    target = kwargs.get("target_memory")
    return {0: MemorySpace.Mat if target in _CUBE else MemorySpace.Vec}


def _move_type(o: Operands) -> Type:
    kind, name = o.tile(0), operand_name(o, 0)
    space = _target(o, (*_CUBE, MemorySpace.Vec))
    source = known_space(o.args[0])
    if source is not None:
        check_space(o.op, o.kwargs, 0, name, source)
    _check_space_dtype(o, space, kind.dtype)
    if not attribute(o, "transpose"):
        return tile_type(kind.shape, kind, space)
    if space is MemorySpace.Vec or len(kind.shape) != 2:
        raise OpError(
            f"{called(o.op)} transposes two-dimensional tiles from Mat to Left or Right memory, "
            f"{name} is {describe(kind)} going to {space.name}",
            hint=f"pl.transpose({name}, tmp_tile)",
            slug="transpose",
        )
    return tile_type(kind.shape[::-1], kind, space)


def _move_pipe(call: Call) -> PipeType:
    return PipeType.MTE1 if _target_space(call) in _CUBE else PipeType.V


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
    if site.call.kwargs.get("transpose"):
        tile = site.call.args[0]
        source, kind = site.retype(tile, _transposed(tile.type))
    site.emit(f"pto.tmov ins({source} : {kind}) outs({site.dst} : {site.dst_type})")


def _move_cpp(site: CppSite) -> None:
    source = site.args[0]
    if site.call.kwargs.get("transpose"):
        tile = site.call.args[0]
        source = site.retype(tile, _transposed(tile.type), "t")
    site.emit(f"TMOV({site.dst}, {source});")


@block_op(
    pipe=_move_pipe,
    types=_move_type,
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

    From Mat to Left or Right, the memories of a product's operands, also transposed; or from Vec
    to Vec.
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
