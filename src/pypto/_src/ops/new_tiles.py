"""Ops that create a tile: uninitialized, from a number, or from a tile in the same memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType, promote
from pypto._src.errors import OpError, OpTypeError
from pypto._src.ir.array_types import (
    MemRef,
    ShapedType,
    TensorType,
    TileType,
    TileView,
    static_shape,
    valid_part,
)
from pypto._src.ir.enums import MemorySpace, TilePad
from pypto._src.ir.exprs import Call, ConstFloat, ConstInt, Expr, MakeTuple, Var, const_value
from pypto._src.ir.op_params import literal, space_of_number
from pypto._src.ir.opdef import RESULT, Complete, Operands, no_form
from pypto._src.ir.types import MemRefType, ScalarType, TupleType, Type, same_type, scalar_type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import (
    BY_PYTHON_NAME,
    FLOATS,
    REGISTRY,
    STORABLE,
    Ints,
    Offsets,
    Scalar,
    Space,
    Tile,
    block_op,
    target_form,
)
from pypto._src.ops.layout import is_column, tile_type, with_valid
from pypto._src.ops.reshaping import emit_reshape, scratch_shape, source_space, transpose
from pypto._src.ops.rules.boxes import (
    elements,
    is_contiguous,
    part_of,
    part_type,
    row_and_column,
)
from pypto._src.ops.rules.target_spaces import (
    SPACE_DTYPES,
    check_space_dtype,
    target_of,
    target_space,
)
from pypto._src.ops.rules.type_rules import (
    attribute,
    broadcast,
    called,
    check_element,
    dims,
    known_space,
    one_tile,
    operand_name,
    poison,
    refuse,
)
from pypto._src.ops.rules.valid_parts import (
    given,
    same_part,
)

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType


# --------------------------------------------------------------------------------------------
# New tiles
# --------------------------------------------------------------------------------------------


def _create_type(o: Operands) -> Type:
    shape, dtype = o.ints(0), attribute(o, "dtype")
    assert isinstance(dtype, DataType)
    check_element(o.op, "the tile", dtype)
    space = target_of(o, tuple(SPACE_DTYPES))
    check_space_dtype(space, dtype)
    kind = tile_type(shape, dtype, space)
    if static_shape(kind) is None:
        raise OpError(
            f"{called(o.op)} takes constant sizes, got {dims(shape)}",
            hint="give the tile a constant shape and load the part that is valid",
            slug="tile-shape",
        )
    return kind


def _nothing(_site: CppSite | PtoSite) -> None:
    """Emit nothing: the tile is declared with its buffer."""


@block_op(
    pipe=None,
    types=_create_type,
    dtypes=STORABLE,
    columns=(RESULT,),
    space=target_space,
    numpy=lambda shape, dtype, target_memory=None: poison(shape, dtype),
    pto=_nothing,
    isa=_nothing,
)
def create_tile(shape: Ints, dtype: DataType, target_memory: MemorySpace = MemorySpace.Vec) -> Tile:
    """Return an uninitialized tile of constant ``shape``, as scratch or to write to."""
    ...


BY_PYTHON_NAME["block", "create"] = create_tile  # an alias


def unassigned_value(var: Var) -> Expr | None:
    """Return a placeholder initial value, never read, for a variable that some paths do not assign.

    None if no value of the variable's type has a constant size.
    """
    return _unassigned(var.type, known_space(var) or MemorySpace.Vec, var.span)


def _unassigned(kind: Type, space: MemorySpace, span: Span) -> Expr | None:
    if isinstance(kind, ScalarType):
        is_float = kind.dtype.is_float()
        return ConstFloat(0.0, kind.dtype) if is_float else ConstInt(0, kind.dtype)
    if isinstance(kind, TupleType):
        items = [_unassigned(item, MemorySpace.Vec, span) for item in kind.types]
        given = [item for item in items if item is not None]
        return MakeTuple(given, span) if len(given) == len(items) else None
    shape = static_shape(kind) if isinstance(kind, ShapedType) else None
    if not isinstance(kind, ShapedType) or kind.memref is not None or shape is None:
        return None
    made: Expr
    try:
        if isinstance(kind, TensorType):
            made = REGISTRY["tensor.create"].build([list(shape), kind.dtype], {}, span)
        else:
            made = create_tile.build([list(shape), kind.dtype, space], {}, span)
        valid = valid_part(kind)
        if valid is not None:
            made = REGISTRY["block.set_validshape"].build([made, list(valid)], {}, span)
    except OpError:  # that memory cannot hold such a tile
        return None
    return made if same_type(made.type, kind) else None


def scratch_like(name: str, *operands: str) -> Complete:
    """Return a completer that creates the scratch tile ``name`` after ``operands`` if omitted.

    The tile has the broadcast shape and promoted element type of ``operands``.
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
            shape = broadcast(shape, kind.shape) or shape  # the op rejects others
        dtype = reduce(promote, [kind.dtype for kind in tiles])
        scratch = create_tile.build([list(shape), dtype], {}, span)
        return args[:index], {**kwargs, name: scratch}

    return complete


def _alloc_type(o: Operands) -> Type:
    """Return the type of a buffer description, after a check that no number is negative."""
    space = space_of_number(o.op.operands[0], o.args[0])
    if space is None:
        raise OpError(
            f"{o.op.name} takes the constant number of a memory space first",
            hint="pl.MemorySpace.Vec",
            slug="memory-space",
        )
    for index in range(1, 4):
        dtype, value = o.scalar(index).dtype, const_value(o.args[index])
        lowest = -1 if index == 1 else 0  # -1: no address assigned yet
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

    It stands at the top of a function and executes nothing: tiles carry their buffers in their
    types. An ``addr`` of -1 means that no address is assigned yet.
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


def filled(shape: Sequence[int], value: Any, dtype: DataType) -> Array:
    return np.full(tuple(shape), value, dtype.numpy)


@block_op(
    types=_full_type,
    dtypes=FLOATS | {D.INT16, D.INT32},  # the assembler cannot fill unsigned tiles
    numpy=filled,
    pto="pto.texpands",
    isa="TEXPANDS",
)
def full(shape: Ints, dtype: DataType, value: Scalar) -> Tile:
    """Return a tile of ``shape`` with elements of ``dtype``, filled with ``value``."""
    ...


# --------------------------------------------------------------------------------------------
# Copies
# --------------------------------------------------------------------------------------------


def _relaid_type(o: Operands, shape: int, valid: int) -> Type:
    """Return the type of operand 0's elements in the given shape and valid shape."""
    return with_valid(TileType(o.ints(shape), o.tile(0).dtype), o.ints(valid))


# An exact product with 1: a move needs rows of equal length.
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
    """Return a copy of ``tile`` with rows of another length: ``shape``, valid in ``valid``."""
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
            f"{called(o.op)} does not take partly valid columns [N, 1], such as "
            f"{operand_name(o, 0)}",
            "valid-shape",
            "pad the tile before reducing it: pl.row_sum(pl.fillpad(tile))",
        )
    return one_tile(o)


def _pad_of(kwargs: Mapping[str, Any]) -> TilePad:
    """Return the padding that fills the rest of a tile."""
    return TilePad(kwargs.get("pad_value", TilePad.zero))


def pad_number(index: int) -> Complete:
    """Return a completer that makes the padding, argument ``index``, a `TilePad`.

    0 and the infinities are accepted; other numbers are not, so that 3 is not read as a member.
    """

    def complete(
        args: Sequence[Any], kwargs: Mapping[str, Any], _span: Span
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        given = args[index] if len(args) > index else kwargs.get("pad_value")
        given = given.value if isinstance(given, ConstInt | ConstFloat) else given
        if given is None:
            return args, kwargs
        known = {0: TilePad.zero, math.inf: TilePad.max, -math.inf: TilePad.min}
        pad = given if isinstance(given, TilePad) else known.get(given)
        if pad is None or pad is TilePad.null:
            raise OpError(
                f"pl.fillpad fills with zeros, or the largest or smallest element, got {given}",
                hint="write pad_value=pl.PadValue.zero, or max or min",
                slug="argument-kind",
            )
        words = {key: value for key, value in kwargs.items() if key != "pad_value"}
        return args[:index], words if pad is TilePad.zero else {**words, "pad_value": pad}

    return complete


def filling(kwargs: Mapping[str, Any], dtype: Any) -> Any:
    """Return the element that fills the rest; for floats the limits are infinite."""
    pad = _pad_of(kwargs)
    if pad is TilePad.zero:
        return 0
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.max if pad is TilePad.max else limits.min
    return math.inf if pad is TilePad.max else -math.inf


def padded(call: Call) -> TileType:
    """Return the type of the result while it is filled, which includes the padding."""
    kind = call.type
    assert isinstance(kind, TileType)
    return TileType(kind.shape, kind.dtype, tile_view=TileView(pad=_pad_of(call.kwargs)))


def _fillpad_pto(site: PtoSite) -> None:
    result, kind = site.reinterpret(None, padded(site.call))
    site.emit(f"pto.tfillpad ins({site.args[0]} : {site.arg_types[0]}) outs({result} : {kind})")


def _fillpad_cpp(site: CppSite) -> None:
    result = site.reinterpret(None, padded(site.call), "padded")
    site.emit(f"TFILLPAD({result}, {site.args[0]});")


@block_op(
    types=_fillpad_type,
    valid=given,
    dtypes=[d for d in STORABLE if d.get_bit() <= 32],
    in_place=(),
    complete=pad_number(1),
    rest=filling,
    numpy=lambda tile, pad_value=TilePad.zero: tile.copy(),
    pto=_fillpad_pto,
    isa=_fillpad_cpp,
)
def fillpad(tile: Tile, pad_value: TilePad | None = None) -> Tile:
    """Return a copy of ``tile`` [R, C] with zeros where it has no valid elements.

    With ``pad_value=pl.PadValue.max`` or ``min`` the padding is the largest or smallest element of
    the type, which is an infinity for floats.

    The copy is entirely valid. Load a tile with ``valid_shapes`` to make it partly valid.
    """
    ...


BY_PYTHON_NAME["block", "fillpad_inplace"] = fillpad  # nothing else reads the padding


# --------------------------------------------------------------------------------------------
# Parts of tiles
# --------------------------------------------------------------------------------------------


def is_strided(call: Expr) -> bool:
    """True for a `view` whose bytes are not contiguous in the tile."""
    assert isinstance(call, Call)
    kind, part = call.args[0].type, call.type
    assert isinstance(kind, TileType)
    assert isinstance(part, TileType)
    shape = static_shape(part)
    assert shape is not None
    return not is_contiguous(kind, shape, elements(call.args[2]))


def _as_swapped_rows(call: Call, let: Let) -> Expr | None:
    """Decompose a view of columns of several rows, which is not contiguous.

    The tile is transposed, which makes the columns rows, and the part transposed back.
    """
    if not is_strided(call):
        return None
    tile, sizes, offset = call.args
    (height, width), (row, column) = elements(sizes), elements(offset)
    assert isinstance(tile.type, TileType)

    def swapped(given: Expr) -> Call:
        assert isinstance(given.type, TileType)
        size = static_shape(given.type)
        assert size is not None
        room = [list(scratch_shape(size[::-1], given.type.dtype)), given.type.dtype]
        scratch = let("scratch", create_tile.build(room, {}, call.span))
        return transpose.build([given, scratch, 0, 1], {}, call.span)

    rows = view.build([tile, [height, tile.type.shape[1]], [row, 0]], {}, call.span)
    turned = let("turned", swapped(let("rows", rows)))
    found = view.build([turned, [width, height], [column, 0]], {}, call.span)
    return swapped(let("columns", found))


def _refuse_cut_out(call: Call, language: str) -> None:
    if is_strided(call):
        raise no_form(view, language, "it spans parts of several rows")


def _part_pto(site: PtoSite) -> None:
    _refuse_cut_out(site.call, "PTO")
    site.part(*row_and_column(site.call))


def _part_cpp(site: CppSite) -> None:
    _refuse_cut_out(site.call, "C++")
    row, column = map(site.expr, row_and_column(site.call))
    site.emit(f"TSUBVIEW({site.dst}, {site.args[0]}, {row}, {column});")


def _same_bytes(
    tile: Array, shape: Sequence[int], _offset: Sequence[int], _valid: Sequence[int]
) -> Array:
    """Return rows truncated, or extended by the padding in memory, or else by undefined bytes."""
    rows, columns = shape
    if columns <= tile.shape[1]:
        return tile[:, :columns]
    padded = _with_padding(tile, columns)
    if padded is not None:
        return padded
    found = np.zeros((rows, columns), tile.dtype)
    found.view(np.uint8).fill(0xFF)
    found[:, : tile.shape[1]] = tile
    return found


def _with_padding(tile: Array, columns: int) -> Array | None:
    """Return a view of a tile's memory with longer rows, None if the rows have no such padding."""
    owner: Any = tile
    base: Any = tile.base
    while isinstance(base, np.ndarray):
        owner = cast("Any", base)
        base = owner.base
    step, size = tile.strides[0], tile.itemsize
    if tile.strides[1] != size or step < columns * size or not owner.flags.c_contiguous:
        return None
    offset = tile.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    if offset + (tile.shape[0] - 1) * step + columns * size > owner.nbytes:
        return None
    memory = owner.reshape(-1).view(np.uint8)
    return np.ndarray((tile.shape[0], columns), tile.dtype, memory, offset, tile.strides)


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
    """Return the bytes of ``tile``, padding included, as a tile of ``shape`` valid in ``valid``."""
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
    decomposition=_as_swapped_rows,
)
def view(tile: Tile, shape: Ints, offset: Offsets) -> Tile:
    """Return the part of ``tile`` [R, C] of size ``shape`` that begins at ``offset``.

    Sizes are constant. Whole rows, or part of one row from a multiple of 32 bytes on, are not
    copied; columns of several rows of a matrix are copied, by two transposes.
    """
    ...
