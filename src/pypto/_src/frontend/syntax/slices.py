"""Slices: ``t[r0:r1, c0:c1]`` is one load or view, ``out[...] = tile`` one store.

A slice of a tensor is a tile if the function computes with tiles, else a view of the tensor; a
slice of a tile is a part of it. Knows which op a slice means and how its bounds become offsets and
sizes; the op does the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import OpError, ParserError, ParserTypeError, UnsupportedFeatureError
from pypto._src.frontend.source.python_names import items_of
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.known_sizes import difference, number_of
from pypto._src.frontend.state.messages import describe, dtype_like, spell, spell_dims
from pypto._src.frontend.state.scope import OF_THE_FUNCTION
from pypto._src.frontend.state.valid_sizes import known_size
from pypto._src.frontend.syntax.calls import op_call
from pypto._src.ir.array_types import (
    DYNAMIC_DIM,
    ShapedType,
    TensorType,
    TileType,
    is_integer,
    same_dim,
    same_dims,
    valid_part,
)
from pypto._src.ir.exprs import Call, ConstInt, Expr, as_expr, const_value
from pypto._src.ir.opdef import spelling
from pypto._src.ir.stmts import EvalStmt
from pypto._src.ir.types import ScalarType
from pypto._src.ops import memory, tensor, tensor_math
from pypto._src.ops.define import BY_PYTHON_NAME
from pypto._src.ops.unified import is_number
from pypto._src.records import NamedTuple

_WHOLE: Final = slice(None)


class _Region(NamedTuple):
    """A box of a tensor or tile: where it begins and its size in each dimension."""

    begins: list[Any]
    sizes: list[Any]  # a number, or an expression known at run time
    indexed: Sequence[int] = ()  # dimensions with a single index


def read(ctx: Context, node: ast.Subscript, base: Expr) -> Expr:
    """Return the load, view or part that ``base[...]`` means.

    Raises:
        ParserTypeError: an index is not a slice, or a tile would get a size known only at run time.
    """
    kind = base.type
    assert isinstance(kind, ShapedType)
    from pypto._src.frontend.state.roles import computes_with_tiles

    index = _element(ctx, node, kind)
    if index is not None:
        if isinstance(kind, TileType) and ctx.region is not None:
            base = ctx.region.operand(ctx, base, node)
        return ctx.element(base, index, node)
    region = _region(ctx, node, kind)
    is_load = ctx.region is not None or computes_with_tiles(ctx.home)
    if isinstance(kind, TileType) or is_load:
        _check_constant(ctx, node, region)
    base, region = _without_indices(ctx, node, base, region)
    if isinstance(kind, TileType) and ctx.region is not None:
        taken = ctx.region.part(ctx, base, region.sizes, region.begins, node)
        from pypto._src.frontend.regions.indices import part_without_indices

        return part_without_indices(ctx, taken, region.indexed, node)
    if isinstance(kind, TileType):
        from pypto._src.frontend.syntax.tile_parts import TileParts

        return TileParts(ctx, op_call, node).part(base, region.sizes, region.begins)
    if is_load:
        return op_call(ctx, memory.load, (base, region.begins, region.sizes), {}, node)
    return op_call(ctx, tensor.view, (base, region.sizes, region.begins), {}, node)


def _without_indices(
    ctx: Context, node: ast.Subscript, base: Expr, region: _Region
) -> tuple[Expr, _Region]:
    """Return a tensor and its box, without the dimensions that have a single index."""
    if not region.indexed or not isinstance(base.type, TensorType):
        return base, region
    from pypto._src.frontend.regions.indices import box_without_indices

    box = region.begins, region.sizes
    base, begins, sizes = box_without_indices(ctx, node, base, box, region.indexed)
    return base, _Region(begins, sizes)


def _element(ctx: Context, node: ast.Subscript, kind: ShapedType) -> list[Any] | None:
    """Return the indices of ``x[i, j]``, None if one is a slice or is missing."""
    index = ctx.value(node.slice)
    items = items_of(index) or [index]
    if len(items) != len(kind.shape):
        return None
    whole = all(
        item.__class__ is int or (isinstance(item, Expr) and isinstance(item.type, ScalarType))
        for item in items
    )
    return items if whole else None


def write(ctx: Context, target: ast.Subscript, value: Any, source: ast.expr) -> None:
    """Append what ``target = value`` means: a store, whose result takes the tensor's name.

    Raises:
        UnsupportedFeatureError: the target is not a variable that names a tensor.
        ParserTypeError: the value is neither a tile nor a tensor, or does not fit.
    """
    name = target.value
    base = ctx.value(name)
    if base.__class__ in OF_THE_FUNCTION:
        from pypto._src.frontend.regions.tasks import write_item

        write_item(ctx, target, base, value)
        return
    if is_number(value) and isinstance(base, Expr) and isinstance(base.type, ShapedType):
        index = _element(ctx, target, base.type)
        in_kernel = ctx.region is not None and isinstance(base.type, TensorType)
        if index is not None and (in_kernel or not (ctx.region or ctx.launches_regions)):
            number = ctx.as_expr(value, source, base.type.dtype)
            ctx.block.append(EvalStmt(_written(ctx, base, index, number, target), ctx.span(target)))
            return
    if (
        ctx.region is not None
        and isinstance(name, ast.Name)
        and isinstance(base, Expr)
        and isinstance(base.type, TileType)
    ):
        region = _region(ctx, target, base.type)
        value = ctx.region.operand(ctx, value, target)
        if isinstance(value, Expr) and isinstance(value.type, TileType):
            _check_fits(ctx, target, region, value, source)
            made = ctx.region.with_part(ctx, base, value, region.begins, target, region.sizes)
            ctx.assign(name.id, made, name, source=source)
            return
    if _is_a_tile(base) and _is_a_tile(value) and isinstance(name, ast.Name):
        from pypto._src.frontend.syntax.tile_parts import TileParts

        region = _region(ctx, target, cast("TileType", base.type))
        _check_fits(ctx, target, region, value, source)
        made = TileParts(ctx, op_call, target).assembled(base, value, region.begins)
        ctx.assign(name.id, made, name, source=source)
        return
    is_part = isinstance(name, ast.Subscript) and isinstance(base, Expr)
    if not is_part and (not isinstance(base, Expr) or not isinstance(base.type, TensorType)):
        raise _no_tensor(ctx, target, base, value, source)
    if not isinstance(name, ast.Name):
        raise UnsupportedFeatureError(
            f"{ctx.source.text(name)} has no name to which the written tensor could be assigned",
            ctx.span(target),
            hint=f"write t = {ctx.source.text(name)} before, and t[...] = here"
            if ctx.region is None
            else "name the part by one subscript: x[0:2, 0:64] = ...",
            slug="target",
        )
    assert isinstance(base, Expr)
    assert isinstance(base.type, TensorType)
    region = _region(ctx, target, base.type)
    named = base
    base, region = _without_indices(ctx, target, base, region)
    kind = value.type if isinstance(value, Expr) else None
    if isinstance(value, Expr) and isinstance(kind, ShapedType):
        _check_fits(ctx, target, region, value, source)
    if ctx.region is not None and isinstance(value, Expr):
        value = ctx.region.stored(ctx, value, region.begins, base, target)
        kind = value.type if isinstance(value.type, ShapedType) else None
        if isinstance(kind, TensorType):
            if base is named:
                ctx.assign(name.id, value, name, source=source)
            else:
                ctx.block.append(EvalStmt(value, ctx.span(target).up_to(ctx.span(source))))
            return
    if isinstance(kind, TileType):
        args = (value, region.begins, region.sizes, base)
        try:
            stored = op_call(ctx, memory.store, args, {}, target)
        except ParserError as error:
            _respell(ctx, error, args, source)
            raise
    elif isinstance(kind, TensorType):
        stored = op_call(ctx, tensor_math.assemble, (base, value, region.begins), {}, target)
    else:
        assert isinstance(base.type, TensorType)
        raise _no_tile(ctx, target, base.type, region, value, source)
    if ctx.strict_ssa or base is not named:
        ctx.block.append(EvalStmt(stored, ctx.span(target).up_to(ctx.span(source))))
    else:
        ctx.assign(name.id, stored, name, source=source)


def _written(ctx: Context, base: Expr, index: Sequence[Any], number: Expr, node: ast.AST) -> Call:
    """Return the call that sets an element to a number."""
    is_tensor = isinstance(base.type, TensorType)
    if is_tensor and ctx.region is not None:
        ctx.region.writes_elements = True
    op = BY_PYTHON_NAME["tensor" if is_tensor else "block", "write"]
    made = op_call(ctx, op, (base, index, number), {}, node)
    assert isinstance(made, Call)
    return made


def _is_a_tile(value: Any) -> TypeGuard[Expr]:
    return isinstance(value, Expr) and isinstance(value.type, TileType)


def _respell(ctx: Context, error: ParserError, args: Sequence[Any], source: ast.expr) -> None:
    """Word the error of a store with the user's text for what is stored."""
    try:
        with spelling({args[0]: ctx.source.text(source)}):
            memory.store.build(args, {})
    except OpError as again:
        error.label = again.label
        if again.slug == "dtype-mismatch" and again.hint is not None:
            error.hint = f"write {again.hint}"


# --------------------------------------------------------------------------------------------
# Bounds
# --------------------------------------------------------------------------------------------


def _region(ctx: Context, node: ast.Subscript, kind: ShapedType) -> _Region:
    """Return the box that the indices of a subscript mean; omitted dimensions are whole."""
    index = ctx.value(node.slice)
    items = _per_dimension(ctx, node, index, len(kind.shape))
    begins: list[Any] = []
    sizes: list[Any] = []
    indexed: list[int] = []
    for axis, (given, dim) in enumerate(zip(items, kind.shape, strict=True)):
        if _is_single_index(ctx, given):
            begins.append(_bound(ctx, node, given, 0, axis, dim))
            sizes.append(1)
            indexed.append(axis)
            continue
        if not isinstance(given, slice):
            raise _no_slice(ctx, node, items)
        item = cast("slice[Any, Any, Any]", given)
        constant = dim.value if isinstance(dim, ConstInt) else DYNAMIC_DIM
        if constant != DYNAMIC_DIM and item.start is item.stop is item.step is None:
            begins.append(0)
            sizes.append(constant)
            continue
        if item.step is not None and number_of(item.step, ctx.constants) != 1:
            raise ParserTypeError(
                "a slice has no step: it is one region of the tensor",
                ctx.span(node),
                hint="leave the step out",
                slug="subscript",
            )
        begin = _bound(ctx, node, item.start, 0, axis, dim)
        end = _bound(ctx, node, item.stop, dim, axis, dim)
        begins.append(begin)
        sizes.append(_size(ctx, node, axis, begin, end))
    return _Region(begins, sizes, indexed)


def _is_single_index(ctx: Context, index: Any) -> bool:
    """True for a single index, in a function with regions."""
    is_number = (isinstance(index, int) and not isinstance(index, bool)) or (
        isinstance(index, Expr) and is_integer(index)
    )
    return is_number and ctx.launches_regions


def _per_dimension(ctx: Context, node: ast.Subscript, index: Any, rank: int) -> list[Any]:
    """Return one index per dimension; ``...`` and omitted indices stand for whole dimensions."""
    given: list[Any] = list(cast("tuple[Any, ...]", index)) if type(index) is tuple else [index]
    if len(given) == rank and all(item.__class__ is slice for item in given):
        return given
    if any(item is None for item in given):
        raise _no_slice(ctx, node, given)
    ellipses = [at for at, item in enumerate(given) if item is ...]
    count = len(given) - len(ellipses)
    if count > rank or len(ellipses) > 1:
        problem = "more than one '...'" if count <= rank else f"{count} indices"
        raise ParserTypeError(
            f"{ctx.source.text(node)} has {problem} for {rank} dimensions",
            ctx.span(node),
            hint=_fewer(ctx, node, rank),
            slug="subscript",
        )
    at = ellipses[0] if ellipses else len(given)
    return [*given[:at], *[_WHOLE] * (rank - count), *given[at + 1 :]]


def _fewer(ctx: Context, node: ast.Subscript, rank: int) -> str | None:
    """Suggest a subscript with as many indices as dimensions, without '...'."""
    index_nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    texts = [ctx.source.text(index_node) for index_node in index_nodes]
    kept = [text for text in texts if text != "..."][:rank]
    return f"write {ctx.source.text(node.value)}[{', '.join(kept)}]" if kept else None


def _bound(
    ctx: Context, node: ast.Subscript, bound: Any, default: Any, axis: int, dim: Expr
) -> Any:
    """Return a bound; a negative number counts from the end, as in Python."""
    value = default if bound is None else bound
    if value.__class__ is int and value >= 0:
        return value
    integer = isinstance(value, int) or (isinstance(value, Expr) and is_integer(value))
    if not integer or isinstance(value, bool):
        raise ParserTypeError(
            f"the bound of a slice is an integer, got {describe(value)}",
            ctx.span(node),
            hint="divide with //" if isinstance(value, float) and value.is_integer() else None,
            slug="subscript",
        )
    number = number_of(value, ctx.constants)
    from_end = number is not None and number < 0
    if (from_end or value is dim) and const_value(dim) == DYNAMIC_DIM:
        raise ParserTypeError(
            f"{ctx.source.text(node.value)} has a size without a name in dimension {axis}, where "
            "the slice ends",
            ctx.span(node),
            hint='declare it: n = pl.dynamic("n"), and write n for -1',
            slug="slice-size",
        )
    if number is None:
        return value
    return difference(dim, -number, ctx.constants) if from_end else number


def _size(ctx: Context, node: ast.Subscript, axis: int, begin: Any, end: Any) -> Any:
    size = difference(end, begin, ctx.constants)
    if isinstance(size, int) and size <= 0:
        raise ParserTypeError(
            f"the slice of dimension {axis} ends {_where(size)} it begins",
            ctx.span(node),
            hint=_turned(ctx, node, axis, size),
            slug="slice-size",
        )
    return size


def _turned(ctx: Context, node: ast.Subscript, axis: int, size: int) -> str | None:
    """Suggest a subscript with the bounds of a dimension swapped."""
    index_nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    index_node = index_nodes[axis] if axis < len(index_nodes) else None
    if size == 0 or not isinstance(index_node, ast.Slice):
        return None
    if index_node.lower is None or index_node.upper is None:
        return None
    texts = [ctx.source.text(each) for each in index_nodes]
    texts[axis] = f"{ctx.source.text(index_node.upper)}:{ctx.source.text(index_node.lower)}"
    return f"write {ctx.source.text(node.value)}[{', '.join(texts)}]"


def _where(size: int) -> str:
    return "where" if size == 0 else f"{-size} before"


def _check_constant(ctx: Context, node: ast.Subscript, region: _Region) -> None:
    """Raise an error for a size known only at run time, if a tile would have it."""
    for axis, size in enumerate(region.sizes):
        if not isinstance(size, int):
            raise ParserTypeError(
                f"the slice of dimension {axis} has the size {size}, which is known only at run "
                "time; tiles have constant sizes",
                ctx.span(node),
                hint=_in_part(ctx, node, region, axis)
                or f"write {_resized(ctx, node, {axis: _size_within(ctx, node, region, axis)})}",
                slug="slice-size",
            )


def _size_within(ctx: Context, node: ast.Subscript, region: _Region, axis: int) -> int:
    """Return a constant size for a slice: 16, or less where the dimension ends before that."""
    limit = const_value(ctx.value(node.value).type.shape[axis])
    if limit is None or limit == DYNAMIC_DIM:
        return 16
    begin = number_of(region.begins[axis], ctx.constants) or 0
    return max(1, min(16, limit - begin))


def _in_part(ctx: Context, node: ast.Subscript, region: _Region, axis: int) -> str | None:
    """Return the load of as many rows or columns as there are, None if that is not meant."""
    from pypto._src.frontend.diagnose.fixits import loaded_in_part

    if region.indexed:
        return None
    return loaded_in_part(ctx, node, region.begins, region.sizes, axis)


def _is_inside(
    ctx: Context, target: ast.Subscript, region: _Region, sizes: Mapping[int, int]
) -> bool:
    """True if the region with other sizes, by dimension, stays within the tensor."""
    kind = ctx.value(target.value).type
    for axis, size in sizes.items():
        begin = number_of(region.begins[axis], ctx.constants) or 0
        limit = const_value(kind.shape[axis])
        if limit is not None and limit != DYNAMIC_DIM and begin + size > limit:
            return False
    return True


def _cut(ctx: Context, region: _Region, value: Expr, source: ast.expr) -> str | None:
    """Suggest the part of the written value that is as large as the region."""
    sizes = {at: size for at, size in enumerate(region.sizes) if isinstance(size, int)}
    if len(sizes) < len(region.sizes):
        return None
    if isinstance(source, ast.Subscript):
        return f"write {_resized(ctx, source, sizes)}"
    if not isinstance(source, ast.Name) or not isinstance(value.type, TileType):
        return None
    inner = list(sizes.values())[1:]
    rows_only = all(a == const_value(b) for a, b in zip(inner, value.type.shape[1:], strict=True))
    from pypto._src.frontend.diagnose.fixits import loaded_from

    tensor_of = loaded_from(ctx, value)
    name = source.id if rows_only else None if tensor_of is None else tensor_of.name
    cut = ", ".join(f":{size}" for size in sizes.values())
    return f"write {name}[{cut}]" if name else None


def _check_fits(
    ctx: Context, target: ast.Subscript, region: _Region, value: Expr, source: ast.expr
) -> None:
    """Raise an error if the written value and the region differ in size; the op checks ranks."""
    kind = value.type
    assert isinstance(kind, ShapedType)
    pairs = zip(region.sizes, kind.shape, strict=False)
    equal = all(size.__class__ is int and size == const_value(dim) for size, dim in pairs)
    if equal and len(region.sizes) == len(kind.shape):
        return
    sizes = [as_expr(size) for size in region.sizes]
    if len(sizes) != len(kind.shape) or same_dims(sizes, kind.shape):
        return
    part = valid_part(kind)
    if part is not None and same_dims([known_size(ctx, size, part) for size in sizes], part):
        return
    wanted = {
        axis: const_value(dim)
        for axis, (size, dim) in enumerate(zip(sizes, kind.shape, strict=True))
        if not same_dim(size, dim)
    }
    fitting = {axis: size for axis, size in wanted.items() if size is not None}
    hint = None
    if len(fitting) == len(wanted):
        hint = f"write {_resized(ctx, target, fitting)}"
        if not _is_inside(ctx, target, region, fitting):
            hint = _cut(ctx, region, value, source)
    raise ParserTypeError(
        f"{describe(value)} is written to a region of size {spell_dims(sizes)}",
        ctx.span(target),
        hint=hint,
        slug="shape-mismatch",
    )


def _resized(ctx: Context, node: ast.Subscript, sizes: Mapping[int, int]) -> str:
    """Return the text of a subscript with slices of the given sizes."""
    index = node.slice
    index_nodes = index.elts if isinstance(index, ast.Tuple) else [index]
    texts = [ctx.source.text(index_node) for index_node in index_nodes]
    for axis, size in sizes.items():
        texts += [":"] * (axis + 1 - len(texts))
        first = index_nodes[axis] if axis < len(index_nodes) else None
        if isinstance(first, ast.Slice):
            first = first.lower
        elif isinstance(first, ast.Constant) and first.value in (0, ...):
            first = None
        begin = "" if first is None else ctx.source.text(first)
        texts[axis] = f"{begin}:{begin} + {size}" if begin not in ("", "0") else f"{begin}:{size}"
    return f"{ctx.source.text(node.value)}[{', '.join(texts)}]"


# --------------------------------------------------------------------------------------------
# Errors
# --------------------------------------------------------------------------------------------


def _no_slice(ctx: Context, node: ast.Subscript, items: Sequence[Any]) -> ParserError:
    """Return the error for an index that is not a slice, such as that of an element or row."""
    from pypto._src.frontend.diagnose import subscripts

    text = ctx.source.text(node.value)
    index = node.slice
    index_nodes = index.elts if isinstance(index, ast.Tuple) else [index]
    place = next(at for at, item in enumerate(items) if not isinstance(item, slice))
    odd = items[place]
    odd_node = index_nodes[place] if len(index_nodes) == len(items) else index
    odd = None if any(item is None for item in items) else odd
    hint, at = None, node
    is_number = items_of(odd) is None and isinstance(odd, int | Expr)
    joined = subscripts.joined(ctx, node) if is_number else None
    if isinstance(odd, Expr) and isinstance(odd.type, ShapedType):
        hint = subscripts.by_tile(ctx, node, odd_node, odd)
    elif joined is not None:
        at, hint = joined
    elif is_number:
        hint = (
            f"write {text}[{', '.join(_as_slice(ctx, index_node) for index_node in index_nodes)}]"
        )
    elif odd is None:
        hint = _with_new_axes(ctx, node, items)
    return ParserTypeError(
        f"an index of {describe(ctx.value(node.value))} is a slice, got {describe(odd)}",
        ctx.span(at),
        hint=hint or f"write {text}[0:1]",
        slug="subscript",
    )


def _with_new_axes(ctx: Context, node: ast.Subscript, items: Sequence[Any]) -> str | None:
    """Suggest the reshape that ``x[:, None]`` means, None if it also takes a part."""
    kind = ctx.value(node.value).type
    whole = all(item is None or item == slice(None) for item in items)
    if not whole or not isinstance(kind, ShapedType):
        return None
    if sum(item is not None for item in items) > len(kind.shape):
        return None
    dims = iter(kind.shape)
    shape = [ConstInt(1) if item is None else next(dims) for item in items]
    return f"write pl.reshape({ctx.source.text(node.value)}, {spell_dims([*shape, *dims])})"


def _as_slice(ctx: Context, index_node: ast.expr) -> str:
    text = ctx.source.text(index_node)
    if isinstance(index_node, ast.Slice) or (
        isinstance(index_node, ast.Constant) and index_node.value is ...
    ):
        return text
    if isinstance(index_node, ast.Constant) and isinstance(index_node.value, int):
        return f"{index_node.value}:{index_node.value + 1}"
    if isinstance(index_node, ast.UnaryOp):  # a number from the end; after -1 there is none
        return f"{text}:" if text == "-1" else f"{text}:{text} + 1"
    return f"{text}:{text} + 1"


def _no_tensor(
    ctx: Context, target: ast.Subscript, base: Any, value: Any, source: ast.expr
) -> ParserError:
    if isinstance(base, Expr) and isinstance(base.type, TileType):
        return _no_tile(ctx, target, base.type, _region(ctx, target, base.type), value, source)
    return UnsupportedFeatureError(
        f"{describe(base)} has no parts that can be assigned; tensors and tiles have",
        ctx.span(target),
        hint=_as_tensor(ctx.source.text(target.value), base),
        slug="target",
    )


def _as_tensor(name: str, array: Any) -> str | None:
    """Suggest a kernel tensor in place of an array, None if it is not an array."""
    shape, dtype = getattr(array, "shape", ()), dtype_like(getattr(array, "dtype", None))
    if dtype is None or not shape:
        return None
    dtype = DataType.FP32 if dtype is DataType.FP64 else dtype  # NumPy's default, which no core has
    return f"make a tensor: {name} = pl.create_tensor({[*shape]}, pl.{dtype.member})"


def _no_tile(
    ctx: Context,
    target: ast.Subscript,
    kind: ShapedType,
    region: _Region,
    value: Any,
    source: ast.expr,
) -> ParserError:
    hint = None
    if is_number(value) and all(isinstance(size, int) for size in region.sizes):
        text = ctx.source.text(source)
        hint = f"write pl.full({region.sizes}, pl.{kind.dtype.member}, {text})"
    elif value is None and isinstance(source, ast.Call):
        hint = f"end {ctx.source.text(source.func)} with return value"
    what = "a tile" if isinstance(kind, TileType) else "a tile or tensor"
    return ParserTypeError(
        f"{what} is written to {spell(kind)}, got {describe(value)}",
        ctx.span(source),
        hint=hint,
        slug="target",
    )
