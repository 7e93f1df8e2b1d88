"""The symbolic dimensions of types: finding and replacing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TensorType, TensorView, TileType, TileView, symbols_of_type
from pypto._src.ir.exprs import Add, BinaryExpr, ConstInt, Expr, FloorDiv, Mul, Sub, Var
from pypto._src.ir.interning import unique
from pypto._src.ir.stmts import Function
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.traversal.walk import child_list, walk
from pypto._src.ir.types import TupleType, Type, scalar_type
from pypto._src.records import NamedTuple


def dimension_vars(function: Function) -> tuple[Var, ...]:
    """Return the symbolic sizes that a kernel gets as arguments of their own, after the others.

    They are the variables in the shapes and strides of its tensors, in order of appearance,
    except those that are parameters already.
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


def dependent_dims(function: Function) -> list[tuple[int, int, Expr]]:
    """Return the dimensions whose sizes follow from other arguments: parameter, axis and size.

    The sizes are expressions, or scalars that are parameters. The tensor itself does not guarantee
    them, and code that was compiled for these sizes relies on them.
    """
    given = set(function.params)
    return [
        (index, axis, dim)
        for index, param in enumerate(function.params)
        if isinstance(param.type, TensorType)
        for axis, dim in enumerate(param.type.shape)
        if not isinstance(dim, ConstInt) and not (isinstance(dim, Var) and dim not in given)
    ]


class SolvedDim(NamedTuple):
    """A symbolic size that is not itself a dimension, but follows from one that contains it."""

    var: Var
    param: int
    """Index of the parameter with the dimension, whose number is ``axis``."""
    axis: int
    size: Var
    """Stands for the size of that dimension."""
    value: Expr
    """The value of ``var``, if it has one: recompute the dimension from it and compare.

    It may contain the sizes before it in the list."""


def solved_dims(function: Function, given: int | None = None) -> list[SolvedDim]:
    """Return the sizes that follow from dimensions such as ``B * 32``, each from the first one.

    The first ``given`` parameters have arguments, or all if None.
    """
    params = function.params[:given]
    known = set(params)
    dims = [
        (index, axis, dim)
        for index, param in enumerate(params)
        if isinstance(param.type, TensorType)
        for axis, dim in enumerate(param.type.shape)
    ]
    known |= {dim for _, _, dim in dims if isinstance(dim, Var)}
    pending = [
        (index, axis, dim, list(dict.fromkeys(uses([dim]))))
        for index, axis, dim in dims
        if isinstance(dim, BinaryExpr)
    ]
    found: list[SolvedDim] = []
    before = -1
    while pending and before != len(found):
        before = len(found)
        left: list[tuple[int, int, Expr, list[Var]]] = []
        for index, axis, dim, names in pending:
            unknown = [var for var in names if var not in known]
            if len(unknown) > 1:
                left.append((index, axis, dim, unknown))
            elif unknown:
                size = Var("size", scalar_type(DataType.INDEX))
                value = _solved(dim, unknown[0], size)
                if value is not None:
                    known.add(unknown[0])
                    found.append(SolvedDim(unknown[0], index, axis, size, value))
        pending = left
    return found


def _solved(dim: Expr, var: Var, size: Expr) -> Expr | None:
    """Return the value of ``var`` for which ``dim`` is ``size``, None if it is not certain."""
    holding: set[object] = {var}
    for node in reversed([*walk(dim)]):
        if not holding.isdisjoint(child_list(node)):
            holding.add(node)
    while dim is not var:
        if not isinstance(dim, Add | Sub | Mul):
            return None
        in_left = dim.left in holding
        if in_left and dim.right in holding:
            return None
        inner, other = (dim.left, dim.right) if in_left else (dim.right, dim.left)
        if isinstance(dim, Mul):
            size = FloorDiv(size, other, DataType.INDEX)
        elif isinstance(dim, Add):
            size = Sub(size, other, DataType.INDEX)
        elif in_left:
            size = Add(size, other, DataType.INDEX)
        else:
            size = Sub(other, size, DataType.INDEX)
        dim = inner
    return size


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
