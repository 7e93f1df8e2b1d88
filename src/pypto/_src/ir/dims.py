"""The symbolic dimensions of types: finding them, and replacing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto._src.ir.nodes import (
    ConstInt,
    Expr,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
    Type,
    Var,
    symbols_of_type,
)
from pypto._src.ir.stmts import Function
from pypto._src.ir.unique import unique
from pypto._src.ir.walk import uses


def dimension_vars(function: Function) -> tuple[Var, ...]:
    """Return the symbolic sizes that a kernel is told as arguments of their own, behind the others.

    They are the variables in the shapes and strides of its tensors, in order of appearance, but
    for those that are parameters already.
    """
    found: dict[Var, None] = {}
    for param in function.params:
        symbols = symbols_of_type(param.type) if isinstance(param.type, TensorType) else ()
        if symbols:
            found |= dict.fromkeys(uses(symbols))
    if not found:
        return ()
    given = set(function.params)
    return tuple(var for var in found if var not in given)


def told_dims(function: Function) -> list[tuple[int, int, Expr]]:
    """Return the dimensions whose sizes other arguments tell: parameter, axis and size.

    They are expressions, and numbers that are parameters. Nothing about the tensor itself shows
    that it has them, and code that was compiled for these sizes relies on it.
    """
    given = set(function.params)
    return [
        (index, axis, dim)
        for index, param in enumerate(function.params)
        if isinstance(param.type, TensorType)
        for axis, dim in enumerate(param.type.shape)
        if not isinstance(dim, ConstInt) and not (isinstance(dim, Var) and dim not in given)
    ]


def map_dims(kind: Type, visit: Callable[[Expr], Expr]) -> Type:
    """Return ``kind`` with ``visit`` applied to its dimensions, strides and offsets."""

    def each(dims: Sequence[Expr]) -> list[Expr]:
        return [visit(dim) for dim in dims]

    match kind:
        case TupleType():
            return TupleType(types=tuple(map_dims(item, visit) for item in kind.types))
        case TensorType():
            view = kind.tensor_view
            if view is not None:
                view = TensorView(each(view.stride), view.layout)
            return unique(TensorType(each(kind.shape), kind.dtype, kind.memref, view))
        case TileType():
            tile_view = _map_view(kind.tile_view, visit)
            return unique(TileType(each(kind.shape), kind.dtype, kind.memref, tile_view))
        case _:
            return kind


def _map_view(view: TileView | None, visit: Callable[[Expr], Expr]) -> TileView | None:
    if view is None:
        return None
    return TileView(
        [visit(dim) for dim in view.valid_shape],
        [visit(dim) for dim in view.stride],
        None if view.start_offset is None else visit(view.start_offset),
        view.blayout,
        view.slayout,
        view.fractal,
        view.pad,
    )
