"""Tiles in on-chip memory: layouts, sizes, what is legal, and in which memories.

`effective_view` is the only place that decides which layout a tile has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import OpError
from pypto._src.ir.array_types import (
    TileType,
    TileView,
    for_types,
    same_dims,
    static_shape,
    valid_part,
)
from pypto._src.ir.enums import MemorySpace, TileLayout
from pypto._src.ir.exprs import Call, Expr, Var, const_value
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
)
from pypto._src.ir.stmts import statements as statements_of
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.types import ScalarType, Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import STORABLE
from pypto._src.ops.rules.type_rules import (
    BOXED,
    check_space,
    dims,
    known_space,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

BLOCK_BYTES: Final = 32
"""Block size of vector memory: each row of a tile begins at a multiple of it."""

TRANSPOSED: Final = frozenset(d for d in STORABLE if d.get_bit() <= 32)
"""Element types whose tiles the vector unit can transpose."""
_ROWS: Final = for_types(TileView())
_COLUMN: Final = for_types(TileView(blayout=TileLayout.col_major))
_BOX_ROWS: Final = 16
_ACC_BOX: Final = 1024  # bytes
_ROW_BYTES: Final = 512
"""Transfer unit of a single row from Mat to Left memory, where it is not in boxes."""
_BIAS_BYTES: Final = 64
"""Transfer unit of a row from Mat to Bias memory."""


# --------------------------------------------------------------------------------------------
# Facts about a tile
# --------------------------------------------------------------------------------------------


def effective_view(kind: TileType, space: MemorySpace | None = None) -> TileView:
    """Return the layout of a tile: its view if it has one, else the default.

    The default layout is the boxes of ``space`` if that is a memory of the matrix unit; otherwise
    column-major for a tile of one column, else row-major.
    """
    if kind.tile_view is not None:
        return kind.tile_view
    view = None if space is None else memory_view(kind.shape, space)
    if view is not None:
        return view
    return _COLUMN if is_column(kind) else _ROWS


def memory_view(shape: Sequence[Expr], space: MemorySpace) -> TileView | None:
    """Return the view of a tile of ``shape`` in a memory of the matrix unit, None elsewhere.

    A single row in Mat is not in boxes: it becomes a bias, or the operand of `gemv`.
    """
    if space is MemorySpace.Bias or (space is MemorySpace.Mat and is_row(shape)):
        return _ROWS
    return BOXED.get(space)


def is_row(shape: Sequence[Expr]) -> bool:
    """True for a shape [1, N]."""
    return all(const_value(dim) == 1 for dim in shape[:-1])


def _is_unboxed_row(kind: TileType, view: TileView) -> bool:
    """True for an unboxed single row in Left memory: `gemv` reads it as a vector, not as boxes."""
    return view.blayout is view.slayout is TileLayout.row_major and is_row(kind.shape)


def is_column(kind: TileType) -> bool:
    """True for a column-major tile [N, 1]: without a view, or one that only sets the valid rows.

    One that does not fill whole blocks is row-major, as all other tiles are.
    """
    shape = kind.shape
    if len(shape) < 2 or const_value(shape[-1]) != 1:
        return False
    rows = static_shape(kind)
    if rows is not None and math.prod(rows) * kind.dtype.bytes % BLOCK_BYTES:
        return False
    view = kind.tile_view
    return view is None or (
        view.blayout is TileLayout.col_major
        and view.slayout is TileLayout.none_box
        and valid_part(kind) is not None
    )


def with_valid(kind: Type, valid: Sequence[Expr]) -> Type:
    """Return the type of a tile with ``valid`` rows and columns valid."""
    assert isinstance(kind, TileType)
    if same_dims(valid, kind.shape):
        return kind
    part = None if kind.tile_view is None else in_boxes(kind.tile_view, valid)
    if part is None:
        order = TileLayout.col_major if is_column(kind) else TileLayout.row_major
        part = TileView(valid, blayout=order)
    return TileType(kind.shape, kind.dtype, kind.memref, part)


def in_boxes(view: TileView, valid: Sequence[Expr]) -> TileView | None:
    """Return a boxed view with another valid part, None for a view without boxes."""
    if view.slayout is TileLayout.none_box:
        return None
    return TileView(valid, blayout=view.blayout, slayout=view.slayout, fractal=view.fractal)


def box(view: TileView, element_bytes: int) -> tuple[int, int]:
    """Return rows and columns of a box, (1, 1) for a layout without boxes."""
    if view.slayout is TileLayout.none_box:
        return 1, 1
    if view.fractal == _ACC_BOX:
        return _BOX_ROWS, _BOX_ROWS
    across = BLOCK_BYTES // element_bytes
    if view.slayout is TileLayout.row_major:
        return _BOX_ROWS, across
    return across, _BOX_ROWS


def whole_box(dtype: DataType) -> int:
    """Return a size, for rows and columns, that is whole boxes in every memory of a product."""
    return 32 if dtype is DataType.INT8 or dtype is DataType.INT32 else _BOX_ROWS


def physical_shape(kind: TileType, space: MemorySpace | None = None) -> tuple[int, int]:
    """Return rows and columns that a tile occupies in memory, padding to blocks and boxes included.

    Dimensions before the last one collapse into rows.

    Raises:
        ValueError: the shape is not constant.
    """
    rows, columns = rows_and_columns(kind)
    view = effective_view(kind, space)
    size = kind.dtype.bytes
    if view.slayout is not TileLayout.none_box:
        down, across = box(view, size)
        # Partial boxes are padded for every memory that the tile moves through: their boxes differ.
        unit = whole_box(kind.dtype)
        return (
            1
            if _is_unboxed_row(kind, view)
            else rows
            if rows % down == 0
            else round_up(rows, unit),
            columns if columns % across == 0 else round_up(columns, unit),
        )
    # A row moves from Mat to Bias memory in one piece, and keeps its layout.
    in_matrix_unit = space is MemorySpace.Bias or space is MemorySpace.Mat
    unit = max(1, (_BIAS_BYTES if in_matrix_unit else BLOCK_BYTES) // size)
    if view.blayout is TileLayout.col_major:
        return round_up(rows, unit), columns
    return rows, round_up(columns, unit)


def declared_shape(kind: TileType, space: MemorySpace | None = None) -> tuple[int, int]:
    """Return rows and columns of a tile's declaration in PTO and C++: those it occupies in memory.

    A single row in Acc memory is declared as one row, though it occupies a whole box.

    Raises:
        ValueError: the shape is not constant.
    """
    rows, columns = physical_shape(kind, space)
    view = effective_view(kind, space)
    return 1 if view.fractal == _ACC_BOX and rows_and_columns(kind)[0] == 1 else rows, columns


def is_padded(kind: TileType, space: MemorySpace | None = None) -> bool:
    """True for a tile of constant shape declared with more rows or columns than it has."""
    if static_shape(kind) is None:
        return False
    return declared_shape(kind, space) != rows_and_columns(kind)


def is_vertical(kind: Type) -> bool:
    """True for a tile [N, 1] of constant size, whatever its layout."""
    shape = static_shape(kind) if isinstance(kind, TileType) else None
    return shape is not None and len(shape) > 1 and shape[-1] == 1


def padding_differs(a: Type, b: Type) -> bool:
    """True for two tiles of equal constant shape whose rows are padded to different lengths."""
    if not (isinstance(a, TileType) and isinstance(b, TileType)) or static_shape(a) is None:
        return False
    return declared_shape(a) != declared_shape(b) and not (is_column(a) or is_column(b))


def alloc_bytes(kind: TileType, space: MemorySpace | None = None) -> int:
    """Return the bytes that a tile occupies in ``space``, padding included.

    Raises:
        ValueError: the shape is not constant.
    """
    rows, columns = physical_shape(kind, space)
    return rows * columns * kind.dtype.bytes


def rows_and_columns(kind: TileType) -> tuple[int, int]:
    """Return the rows and columns of a tile; dimensions before the last one collapse into rows.

    Raises:
        ValueError: the shape is not constant.
    """
    shape = static_shape(kind)
    if shape is None:
        raise ValueError(f"the tile shape {dims(kind.shape)} is not constant")
    return math.prod(shape[:-1]), shape[-1] if shape else 1


def round_up(value: int, unit: int) -> int:
    """Return the smallest multiple of ``unit`` that is at least ``value``."""
    return -(-value // unit) * unit


def check_layout(kind: TileType, space: MemorySpace, what: str = "the tile") -> None:
    """Check that a tile of constant shape can be in ``space``; other shapes pass.

    Rows, columns and boxes that are not full are padded (`physical_shape`), except a single row in
    Left memory.

    Raises:
        OpError: a dimension is not positive, or a row does not fill the units that `gemv` reads.
    """
    shape = static_shape(kind)
    if shape is None:
        return
    if any(dim <= 0 for dim in shape):
        raise OpError(
            f"{what} has the shape {dims(kind.shape)}; dimensions are positive", slug="tile-shape"
        )
    view = effective_view(kind, space)
    rows, columns = rows_and_columns(kind)
    if view.slayout is not TileLayout.none_box:
        if _is_unboxed_row(kind, view):
            _check_row(kind, what, columns)
        return
    if space is MemorySpace.Bias and rows != 1:
        raise OpError(
            f"{what} {dims(kind.shape)} has {rows} rows, Bias memory holds single rows",
            slug="tile-layout",
        )


def _check_row(kind: TileType, what: str, columns: int) -> None:
    """Check that a single row fills the units that `gemv` reads."""
    size = columns * kind.dtype.bytes
    if size % _ROW_BYTES != 0:
        raise OpError(
            f"a row of {what} {dims(kind.shape)} has {size} bytes, a multiple of {_ROW_BYTES} "
            "was wanted",
            hint="load it as one of 16 rows, for pl.matmul: "
            f"pl.load(tensor, [0, 0], [16, {columns}], valid_shapes=[1, {columns}])",
            slug="tile-layout",
        )


def tile_type(
    shape: Sequence[Expr], like: TileType | Any, space: MemorySpace, what: str = "the tile"
) -> TileType:
    """Return the type of a tile that an op creates in ``space``, with its layout checked.

    ``like`` gives the element type. A tile in vector memory has no view; others have that of their
    memory.
    """
    dtype = like.dtype if isinstance(like, TileType) else like
    kind = TileType(tuple(shape), dtype, tile_view=memory_view(shape, space))
    check_layout(kind, space, what)
    return kind


def is_whole(source: Expr, view: Expr) -> bool:
    """True if a view of a tile covers all its bytes."""
    a, b = source.type, view.type
    assert isinstance(a, TileType)
    assert isinstance(b, TileType)
    return _dense_bytes(a) == _dense_bytes(b)


def _dense_bytes(kind: TileType) -> int | None:
    shape = static_shape(kind)
    return None if shape is None else math.prod(shape) * kind.dtype.bytes


def tile_space(value: Expr) -> MemorySpace:
    """Return the memory space of a tile expression if its type tells, else Vec."""
    return known_space(value) or MemorySpace.Vec


# --------------------------------------------------------------------------------------------
# Memory spaces of a whole function
# --------------------------------------------------------------------------------------------


def are_in_vec(params: Sequence[Var], calls: Iterable[Call]) -> bool:
    """True if all tiles of a function are in vector memory, and its ops take them from there.

    ``calls`` are its calls, none nested. Calls of one op with the same keywords are alike, so only
    one of them is checked.
    """
    if TileType in [param.type.__class__ for param in params]:
        return False
    for call in {(call.op, id(call.kwargs)): call for call in calls}.values():
        op = op_of(call)
        if op is None:
            return False
        if op.names_spaces and not all(_VEC in s for s in op.operand_spaces(call.kwargs).values()):
            return False
        makes_tile = call.type.__class__ is TileType and op.view_of is None
        if makes_tile and op.space_of(call) is not _VEC:
            return False
    return True


def tile_spaces(function: Function) -> dict[Var, MemorySpace]:
    """Return the memory space of every tile variable whose space follows from its definition.

    Raises:
        OpError: an op gets a tile from a memory space that it does not accept; has its span.
    """
    spaces: dict[Var, MemorySpace] = {}
    for param in function.params:
        _learn(spaces, param, param)
    stmts: Any = stmts_in(function.body)
    for stmt in stmts:
        if stmt.__class__ is AssignStmt:
            if stmt.value.__class__ is not Call or not _learn_in_vec(spaces, stmt):
                _learn(spaces, stmt.var, stmt.value)
            continue
        match stmt:
            case EvalStmt():
                space_in(spaces, stmt.expr)
            case ForStmt() | WhileStmt():
                for iter_arg, result in zip(stmt.iter_args, stmt.return_vars, strict=False):
                    _learn(spaces, iter_arg, iter_arg.initValue)
                    _learn(spaces, result, iter_arg)
            case IfStmt():
                for result, value in zip(stmt.return_vars, _yielded(stmt.then_body), strict=False):
                    _learn(spaces, result, value)
            case _:
                pass
    return spaces


def _yielded(body: Stmt) -> tuple[Expr, ...]:
    last = statements_of(body)[-1:]
    return last[0].value if last and isinstance(last[0], YieldStmt) else ()


def _learn_in_vec(spaces: dict[Any, MemorySpace], stmt: AssignStmt) -> bool:
    """Do what `_learn` does for ops that take tiles only from Vec, as most do; False for others."""
    call: Any = stmt.value
    op = op_of(call)
    if op is None or op.names_spaces:
        return False
    for arg in call.args:
        if arg.type.__class__ is TileType and spaces.get(arg) is not _VEC:
            return False
    if stmt.var.type.__class__ is TileType:
        spaces[stmt.var] = _VEC if op.view_of is not None else op.space_of(call)
    return True


_VEC: Final = MemorySpace.Vec  # a lookup in its class takes five times as long


def _learn(spaces: dict[Var, MemorySpace], var: Var, value: Expr) -> None:
    if value.type.__class__ is ScalarType and value.__class__ is not Call:
        return
    space = space_in(spaces, value)
    if not isinstance(var.type, TileType):
        return
    if space is None:
        space = known_space(var)
    if space is not None:
        spaces[var] = space


def space_in(spaces: dict[Var, MemorySpace], value: Expr) -> MemorySpace | None:
    """Return the memory space of a tile expression, given those of earlier variables.

    Raises:
        OpError: an operand of a call is in a memory space that the op does not accept.
    """
    if isinstance(value, Var):
        space = spaces.get(value)
        return known_space(value) if space is None else space
    op = op_of(value)
    if op is None or not isinstance(value, Call):
        return None
    allowed = op.operand_spaces(value.kwargs)
    for index, arg in enumerate(value.args):
        if arg.type.__class__ is not TileType:
            continue
        space = space_in(spaces, arg)
        wanted = allowed.get(index)
        if space is None or wanted is None or space in wanted:
            continue
        name = arg.name if isinstance(arg, Var) else op.operands[index].name
        try:
            check_space(op, value.kwargs, index, name, space)
        except OpError as error:
            raise error.at(value.span) from None
    if value.type.__class__ is not TileType:
        return None
    return op.space_of(value) if op.view_of is None else space_in(spaces, value.args[op.view_of])
