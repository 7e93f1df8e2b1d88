"""Annotations -> types of the IR, with the direction of parameters.

Accepts ``pl.Tensor[[64, N], pl.FP32]`` and the like, bare element types (``n: pl.INT64``), the call
forms of older texts (``pl.Tensor((64, 64), pl.FP32)``), and names for any of these.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final, cast

from pypto._src.diagnostics import counted
from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.errors import ParserError, ParserTypeError, UndefinedVariableError, warn
from pypto._src.frontend.markers import DynVar, Tuple
from pypto._src.frontend.source.python_names import MISSING, items_of, plain_value
from pypto._src.frontend.source.source import refuse_keyword_twice
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import cast_hint, describe, did_you_mean, dtype_like, spell
from pypto._src.frontend.state.scope import same_value_type
from pypto._src.ir.annotations import DistributedTensor, InOut, Out, Scalar, Tensor, Tile
from pypto._src.ir.array_types import (
    DYNAMIC_DIM,
    MemRef,
    ShapedType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    same_valid_part,
    valid_part,
)
from pypto._src.ir.enums import ParamDirection, TensorLayout
from pypto._src.ir.exprs import ConstInt, Expr, Var, as_expr
from pypto._src.ir.interning import unique, unique_array
from pypto._src.ir.types import MemRefType, ScalarType, TupleType, Type, UnknownType, scalar_type

_SHAPED: Final = (Tensor, Tile, DistributedTensor)
_DIRECTIONS: Final = {Out: ParamDirection.Out, InOut: ParamDirection.InOut}
_NUMBERS: Final = frozenset({int})
_PYTHON_TYPES: Final = {int: "pl.INT64", float: "pl.FP32", bool: "pl.BOOL"}


def parameter_type(ctx: Context, node: ast.expr) -> tuple[Type, ParamDirection]:
    """Return type and direction of a parameter's annotation.

    Raises:
        ParserTypeError: it is not a type, or is a scalar that is read and written.
    """
    direction = ParamDirection.In
    kind: Type | None = None
    if isinstance(node, ast.Subscript):
        wrapper = ctx.value(node.value)
        if wrapper is Out or wrapper is InOut:
            direction = _DIRECTIONS[wrapper]
            node = node.slice
        else:
            kind = _subscript(ctx, node, wrapper)
    kind = kind or type_of(ctx, node)
    if direction is ParamDirection.InOut and isinstance(kind, ScalarType):
        raise ParserTypeError(
            "a Scalar parameter cannot be InOut: kernels get scalars by value",
            ctx.span(node),
            hint=f"pass a tensor, pl.InOut[pl.Tensor[[1], pl.{kind.dtype.member}]]",
            slug="scalar-inout",
        )
    return kind, direction


def result_types(ctx: Context, node: ast.expr) -> tuple[Type, ...]:
    """Return the types after the arrow: one, those of ``tuple[T, U]``, or none for ``None``."""
    if isinstance(node, ast.Constant) and node.value is None:
        return ()
    if isinstance(node, ast.Subscript) and ctx.value(node.value) is tuple:
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return tuple(type_of(ctx, item) for item in items)
    if isinstance(node, ast.Tuple | ast.List) and node.elts:
        error = _no_type(ctx, node)
        error.hint = f"write tuple[{', '.join(ctx.source.text(item) for item in node.elts)}]"
        raise error
    return (type_of(ctx, node),)


def type_of(ctx: Context, node: ast.expr) -> Type:
    """Return the type that an annotation means.

    Raises:
        ParserTypeError: it means none.
    """
    if isinstance(node, ast.Subscript):
        found = _subscript(ctx, node, ctx.value(node.value))
    elif isinstance(node, ast.Call):
        found = _call(ctx, node)
    else:
        found = _named(ctx.value(node))
    if found is None:
        raise _no_type(ctx, node)
    return found


def _no_type(ctx: Context, node: ast.expr) -> ParserError:
    hint = "write pl.Tensor[[64, 64], pl.FP32]"
    if isinstance(node, ast.Constant):
        what = "a string" if isinstance(node.value, str) else repr(node.value)
    else:
        value = ctx.value(node) if isinstance(node, ast.Name | ast.Attribute) else None
        what = repr(ctx.source.text(node))
        if isinstance(node, ast.Call) and len(node.args) == 1:
            called = ctx.value(node.func)
            if called is Out or called is InOut:
                hint = f"write {ctx.source.text(node.func)}[{ctx.source.text(node.args[0])}]"
        if isinstance(value, type) and value in _PYTHON_TYPES:
            hint = f"write {_PYTHON_TYPES[value]}"
        elif value is Tile:
            hint = "write pl.Tile[[64, 64], pl.FP32]"
        elif value is Scalar:
            hint = "write pl.Scalar[pl.FP32]"
        elif value is Out or value is InOut:
            hint = f"write {ctx.source.text(node)}[pl.Tensor[[64, 64], pl.FP32]]"
    return ParserTypeError(
        f"{what} is not a type of a kernel", ctx.span(node), hint=hint, slug="annotation"
    )


def _named(value: Any) -> Type | None:
    if isinstance(value, DataType):
        return scalar_type(value)
    if isinstance(value, Type):
        return unique(value)
    if value is MemRefType or value is UnknownType:
        return UnknownType.get() if value is UnknownType else MemRefType()
    if isinstance(value, Scalar) and isinstance(value.dtype, DataType):
        return scalar_type(value.dtype)
    if isinstance(value, Tensor | Tile) and isinstance(value.dtype, DataType):
        dims = [as_expr(plain_value(dim)) for dim in value.shape]
        kind = TensorType if isinstance(value, Tensor) else TileType
        return unique(kind(dims, value.dtype))
    return None


def _subscript(ctx: Context, node: ast.Subscript, wrapper: Any) -> Type | None:
    if wrapper in _SHAPED:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return _shaped(ctx, node, _local(wrapper), parts, {})
    if wrapper is Scalar:
        return scalar_type(_dtype(ctx, node.slice))
    if wrapper is Tuple:
        items = node.slice.elts if isinstance(node.slice, ast.List | ast.Tuple) else [node.slice]
        return TupleType(tuple(type_of(ctx, item) for item in items))
    if wrapper in _DIRECTIONS:
        raise ParserTypeError(
            f"pl.{wrapper.__name__} may be used only around the type of a parameter",
            ctx.span(node),
            hint=f"write {ctx.source.text(node.slice)}",
            slug="annotation",
        )
    return None


def _local(wrapper: Any) -> Any:
    """Return the type wrapper for one rank: a window becomes the tensor that the rank has."""
    return Tensor if wrapper is DistributedTensor else wrapper


def _call(ctx: Context, node: ast.Call) -> Type | None:
    """Return the type of ``pl.Tensor(shape, dtype)`` and the like, as in older texts."""
    wrapper = ctx.value(node.func)
    refuse_keyword_twice(ctx.span, node)
    keywords = {word.arg: word.value for word in node.keywords if word.arg}
    if wrapper in _SHAPED:
        named = [keywords.pop(name) for name in ("shape", "dtype") if name in keywords]
        return _shaped(ctx, node, _local(wrapper), [*node.args, *named], keywords)
    if wrapper is Scalar and len(node.args) + len(keywords) == 1:
        return scalar_type(_dtype(ctx, [*node.args, *keywords.values()][0]))
    if wrapper is Tuple and len(node.args) == 1 and isinstance(node.args[0], ast.List):
        return TupleType(tuple(type_of(ctx, item) for item in node.args[0].elts))
    return None


def _shaped(
    ctx: Context,
    node: ast.expr,
    wrapper: Any,
    parts: Sequence[ast.expr],
    keywords: dict[str, ast.expr],
) -> Type:
    word = wrapper.__name__
    if len(parts) < 2:
        raise ParserTypeError(
            f"pl.{word} has a shape and an element type, got {counted(len(parts), 'part')}",
            ctx.span(node),
            hint=_shaped_hint(ctx, word, parts),
            slug="annotation",
        )
    is_list = parts[0].__class__ is ast.List or parts[0].__class__ is ast.Tuple
    if not is_list and items_of(ctx.value(parts[0])) is None:
        raise ParserTypeError(
            f"a shape is a list, got {describe(ctx.value(parts[0]))}",
            ctx.span(node),
            hint=_shaped_hint(ctx, word, parts),
            slug="annotation",
        )
    shape = shape_of(ctx, parts[0])
    dtype = _dtype(ctx, parts[1])
    if len(parts) == 2 and not keywords and _NUMBERS.issuperset(map(type, shape)):
        kind = TensorType if wrapper is Tensor else TileType
        return unique_array(kind, cast("list[int]", shape), dtype)
    memref: MemRef | None = None
    view: TensorView | TileView | None = None
    for extra in (*parts[2:], *keywords.values()):
        value = ctx.value(extra)
        if isinstance(value, MemRef):
            memref = value
        elif isinstance(value, TensorLayout) and wrapper is Tensor:
            view = TensorView((), value)
        elif isinstance(value, TensorView if wrapper is Tensor else TileView):
            view = value
        elif value is not None:
            raise ParserTypeError(
                f"a pl.{word} type does not have {describe(value)}",
                ctx.span(extra),
                slug="annotation",
            )
    if wrapper is Tensor:
        assert not isinstance(view, TileView)
        return unique(TensorType(shape, dtype, memref, view))
    assert not isinstance(view, TensorView)
    return unique(TileType(shape, dtype, memref, view))


def _shaped_hint(ctx: Context, word: str, parts: Sequence[ast.expr]) -> str:
    """Suggest the annotation that is meant by parts in another order or without brackets."""
    dims: list[str] = []
    dtype = "pl.FP32"
    for part in parts:
        value = ctx.value(part)
        if isinstance(value, DataType):
            dtype = ctx.source.text(part)
        elif isinstance(value, list | tuple):
            dims = [ctx.source.text(part)[1:-1]]
        else:
            dims.append(ctx.source.text(part))
    return f"write pl.{word}[[{', '.join(dims) or '64, 64'}], {dtype}]"


def _dim_hint(error: ParserError, node: ast.expr) -> None:
    """Suggest how to make a symbolic dimension, if a shape names something undefined."""
    if not isinstance(error, UndefinedVariableError) or error.hint is not None:
        return
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and f"{item.id!r} is not defined" == error.message:
            error.hint = f'write {item.id} = pl.dynamic("{item.id}") before the kernel'


def shape_of(ctx: Context, node: ast.expr) -> list[Expr | int]:
    """Return the dimensions that a shape means.

    Raises:
        ParserTypeError: it is not a list, or a dimension is not an integer.
    """
    try:
        shape = ctx.value(node)
    except ParserError as error:
        _dim_hint(error, node)
        raise
    dims = items_of(shape)
    if dims is None:
        raise ParserTypeError(
            f"a shape is a list, got {describe(shape)}",
            ctx.span(node),
            hint=f"write [{ctx.source.text(node)}]",
            slug="annotation",
        )
    if _NUMBERS.issuperset(map(type, dims)) and (not dims or min(dims) >= 0):
        return dims
    found: list[Expr | int] = []
    for dim in dims:
        if dim.__class__ is int and dim >= 0:
            found.append(dim)
            continue
        item: Any = plain_value(dim)
        integer = isinstance(item, Expr) and isinstance(item.type, ScalarType)
        if not integer and (isinstance(item, bool) or not isinstance(item, int)):
            raise ParserTypeError(
                f"a dimension is an integer, got {describe(item)}",
                ctx.span(_part(node, len(found))),
                hint=_integer_hint(ctx, node, len(found), dims),
                slug="annotation",
            )
        if isinstance(item, int) and item < 0 and item != DYNAMIC_DIM:
            raise ParserTypeError(
                f"a dimension is positive, got {item}",
                ctx.span(_part(node, len(found))),
                hint=f"write {-item}",
                slug="annotation",
            )
        number = ctx.known_number(item) if ctx.constants else None
        found.append(item if number is None else number)
    return found


def _integer_hint(ctx: Context, node: ast.expr, index: int, dims: Sequence[Any]) -> str | None:
    """Suggest what is meant by a non-integer dimension, if the list is a literal."""
    dim_node, found = _part(node, index), plain_value(dims[index])
    if isinstance(found, str) and found.isidentifier() and dim_node is not node:
        return f'write pl.dynamic("{found}")'
    if (found is None or found is ...) and dim_node is not node:
        others = {dim.name for dim in dims if isinstance(dim, DynVar | Var)}
        name = next(letter for letter in "NMKL" if letter not in others or letter == "L")
        return f'write pl.dynamic("{name}")'
    if dim_node is node or not isinstance(found, float):
        return None
    from pypto._src.frontend.diagnose.fixits import integer_text

    return f"write {integer_text(ctx, dim_node, found)}"


def _part(node: ast.expr, index: int) -> ast.expr:
    """Return the item of a literal list, else the whole node."""
    return node.elts[index] if isinstance(node, ast.List | ast.Tuple) else node


def _dtype(ctx: Context, node: ast.expr) -> DataType:
    value = ctx.peek(node) if isinstance(node, ast.Attribute) else ctx.value(node)
    if isinstance(value, DataType):
        return value
    if isinstance(node, ast.Attribute) and value is MISSING:
        prefix = f"{ctx.source.text(node.value)}."
        raise ParserTypeError(
            f"there is no element type {ctx.source.text(node)}",
            ctx.span(node),
            hint=did_you_mean(node.attr, MEMBERS, prefix),
            slug="annotation",
        )
    meant = dtype_like(value)
    raise ParserTypeError(
        f"an element type was wanted, got {describe(value)}",
        ctx.span(node),
        hint=f"write pl.{'FP32' if meant is None else meant.member}",
        slug="annotation",
    )


def declared_type(
    ctx: Context, node: ast.expr, declared: Type, found: Type, value: ast.expr
) -> Type:
    """Return the type of a variable that is declared with one type and assigned another.

    Layout and memory come from the declaration or, if it has none, from the value. If the two
    differ in kind, element type or shape, the value's type is used, with a warning.

    Raises:
        ParserTypeError: they differ in which part of a tile is valid.
    """
    if isinstance(found, UnknownType):
        return declared
    if not same_value_type(declared, found):
        warn(
            f"the annotation is {spell(declared)}, but the value is {spell(found)}; the value's "
            "type is used",
            ctx.span(node),
            hint=_as_found(found) or cast_hint(declared, found, ctx.source.text(value)),
            slug="annotation-mismatch",
        )
        return found
    if isinstance(declared, TileType) and isinstance(found, TileType):
        says = declared.tile_view is not None and valid_part(found) is not None
        if says and not same_valid_part(declared, found):
            raise _other_part(ctx, node)
        view = declared.tile_view or found.tile_view
        if view is declared.tile_view:
            return declared
        return unique(TileType(declared.shape, declared.dtype, declared.memref, view))
    if isinstance(declared, TensorType) and isinstance(found, TensorType):
        view = declared.tensor_view or found.tensor_view
        if view is not declared.tensor_view:
            return unique(TensorType(declared.shape, declared.dtype, declared.memref, view))
    return declared


def declared_join(ctx: Context, node: ast.AST, declared: Type | None, found: Type) -> Type:
    """Return the type of a yielded value: as declared, with the value's valid part.

    Raises:
        ParserTypeError: the declaration has a different valid part.
    """
    if declared is None:
        return found
    if not isinstance(declared, TileType) or not same_value_type(declared, found):
        return declared
    if not isinstance(found, TileType) or same_valid_part(declared, found):
        return declared
    if declared.tile_view is None:
        return unique(TileType(declared.shape, declared.dtype, declared.memref, found.tile_view))
    raise _other_part(ctx, node)


def _other_part(ctx: Context, node: ast.AST) -> ParserTypeError:
    return ParserTypeError(
        "the annotation says that another part of the tile is valid than of the value",
        ctx.span(node),
        hint="leave pl.TileView out of the annotation",
        slug="valid-shape",
    )


def _as_found(found: Type) -> str | None:
    """Suggest the annotation that fits a value."""
    if isinstance(found, ShapedType | ScalarType):
        return f"write pl.{annotation_text(found)}"
    return None


def annotation_text(kind: Type) -> str:
    """Return a type as an annotation without prefix: ``Tile[[64, 64], pl.FP32]``."""
    if isinstance(kind, TensorType | TileType):
        dims = ", ".join(
            str(dim.value) if isinstance(dim, ConstInt) else str(dim) for dim in kind.shape
        )
        word = "Tensor" if isinstance(kind, TensorType) else "Tile"
        return f"{word}[[{dims}], pl.{kind.dtype.member}]"
    if isinstance(kind, ScalarType):
        return f"Scalar[pl.{kind.dtype.member}]"
    return spell(kind)


def plain_dims(dims: Sequence[Expr]) -> list[Any]:
    """Return dimensions as a list that users could have written, as calls of ops expect it."""
    return [plain_dim(dim) for dim in dims]


def plain_dim(dim: Expr) -> Any:
    """Return a dimension as users compute with it: a number or an expression."""
    return dim.value if isinstance(dim, ConstInt) else dim
