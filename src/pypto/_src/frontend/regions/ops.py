"""What ops mean inside a region, where tensors are in global memory and everything else is a tile.

A tensor used beside tiles is loaded; ops that outside make tensors or take them apart do so with
tiles here. The tables here say which form of an op that is; the op says what it does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserError, ParserTypeError, warn
from pypto._src.frontend.regions.filled_tensors import filling_type
from pypto._src.frontend.regions.product_operands import (
    PRODUCTS,
    called_name,
    in_vector_memory,
    name_of,
    own_tensor,
    part_of_matrix,
    scratch,
)
from pypto._src.frontend.regions.products import (
    begins_in_acc,
    copied,
    matmul_acc,
    matmul_bias,
    narrowed,
)
from pypto._src.frontend.regions.stacked_products import matmul
from pypto._src.frontend.source.python_names import items_of
from pypto._src.frontend.state.call_keywords import refuse_unknown_keyword
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.known_sizes import divisor_of, number_of
from pypto._src.frontend.state.messages import describe
from pypto._src.frontend.syntax.annotations import plain_dims
from pypto._src.frontend.syntax.calls import op_call
from pypto._src.frontend.syntax.host_ops import OF_CREATE_TENSOR
from pypto._src.frontend.syntax.tile_parts import store_op
from pypto._src.ir.array_types import (
    TensorType,
    TileType,
    same_dim,
    same_dims,
    static_shape,
    valid_part,
)
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import (
    ConstFloat,
    ConstInt,
    Expr,
    Max,
    Min,
    Sub,
    Var,
    as_expr,
    binary,
    const_value,
)
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.op_params import TENSOR
from pypto._src.ir.opdef import OpDef, spelling
from pypto._src.ir.types import ScalarType
from pypto._src.ops import elementwise, memory, new_tiles, reshaping, system, tensor
from pypto._src.ops.define import BY_PYTHON_NAME, OVERLOADS
from pypto._src.ops.layout import BLOCK_BYTES
from pypto._src.ops.promotion.casts import chain
from pypto._src.ops.rules.type_rules import dims, known_space
from pypto._src.ops.unified import Unified, unified

Handler = Callable[[Context, Sequence[Any], Mapping[str, Any], ast.Call], Any]


def call(
    ctx: Context,
    callee: Unified | OpDef[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: Any,
) -> Any:
    """Return the call of an op in a region, whether by name or as an operator."""
    name = name_of(callee)
    handler = _HANDLERS.get(name)
    if handler is not None:
        made = handler(ctx, args, kwargs, node)
        if made is not None:
            return made
    if getattr(callee, "is_op", False) is True:
        raise _refused(ctx, node, *_MARKERS[name])
    form = _on_tiles(name, callee)
    if form is None or _takes_tensors(form):
        return op_call(ctx, callee, args, kwargs, node)
    loaded = [as_operand(ctx, arg, node) for arg in args]
    named = {key: as_operand(ctx, value, node) for key, value in kwargs.items()}
    try:
        with spelling(_texts(ctx, args, kwargs, [*loaded, *named.values()], node)):
            return op_call(ctx, form, loaded, named, node)
    except ParserError as error:
        if error.slug != "valid-shape":
            raise
        try:
            alike, lacking = _valid_like_the_first(ctx, loaded, node)
            made = op_call(ctx, form, alike, named, node)
        except ParserError:
            raise error from None  # it is about what the program says
    for value, valid, wanted in lacking:
        _warn_of_rest(value, valid, wanted, node, ctx)
    return made


def _texts(
    ctx: Context,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    operands: Sequence[Any],
    node: ast.expr,
) -> dict[Expr, str]:
    """Return the user's text for operands that replace others: loads of whole tensors."""
    if isinstance(node, ast.Call):
        nodes = [*node.args, *(word.value for word in node.keywords)]
    else:  # an operator
        nodes = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    given = [*args, *kwargs.values()]
    if len(nodes) != len(given):
        return {}
    return {
        operand: ctx.source.text(written)
        for value, operand, written in zip(given, operands, nodes, strict=True)
        if operand is not value
    }


_Lacking: TypeAlias = "list[tuple[Expr, Sequence[Expr], Sequence[Expr]]]"
"""Operands that are used beyond their known valid part, with the valid and the used sizes."""


def _valid_like_the_first(
    ctx: Context, operands: list[Any], node: ast.AST
) -> tuple[list[Any], _Lacking]:
    """Return the operands with the same part valid as in the first tile.

    In a region the first operand of an op determines what is valid in the result. That part of the
    other operands is used, even where the program has not set their elements.
    """
    first = operands[0] if operands else None
    if not isinstance(first, Expr) or not isinstance(first.type, TileType):
        return operands, []
    wanted = valid_part(first.type) or first.type.shape
    mark = BY_PYTHON_NAME["block", "set_validshape"]
    alike: list[Any] = [first]
    lacking: _Lacking = []
    for value in operands[1:]:
        kind = value.type if isinstance(value, Expr) else None
        if isinstance(kind, TileType) and len(kind.shape) == len(first.type.shape):
            own = valid_part(kind) or kind.shape
            pairs = zip(kind.shape, first.type.shape, wanted, own, strict=True)
            sizes = [size if same_dim(dim, other) else now for dim, other, size, now in pairs]
            if not same_dims(sizes, own):
                if any(_is_less(*pair) for pair in zip(own, sizes, strict=True)):
                    lacking.append((value, own, sizes))
                value = op_call(ctx, mark, (value, [*plain_dims(sizes)]), {}, node)
        alike.append(value)
    return alike, lacking


def _is_less(a: Expr, b: Expr) -> bool:
    """True if the first of two sizes is known to be smaller."""
    first, second = const_value(a), const_value(b)
    return first is not None and second is not None and first < second


def _warn_of_rest(
    value: Expr, valid: Sequence[Expr], wanted: Sequence[Expr], node: ast.AST, ctx: Context
) -> None:
    """Warn of an operand that is used beyond its valid part."""
    name = describe(value) if not isinstance(value, Var) else user_name(value)
    warn(
        f"{dims(wanted)} of {name} is computed with, of which {dims(valid)} is valid: what is "
        "outside of that is undefined",
        ctx.span(node),
        hint=f"fill it before: pl.fillpad({name})",
        slug="valid-shape",
    )


def _on_tiles(name: str, callee: Unified | OpDef[..., Any]) -> Unified | OpDef[..., Any] | None:
    """Return the form of an op that works on tiles; None if it has none, or it was asked for."""
    level = callee.level
    if level == "block" or level == "system":
        return callee if level == "block" else None
    if not any(op.level == "block" for op in OVERLOADS.get(name, ())):
        if isinstance(callee, OpDef) and callee.overload != name:
            return _on_tiles(callee.overload, unified(callee.overload) or callee)
        return BY_PYTHON_NAME.get(("block", name))
    return unified(name)


def _takes_tensors(form: Unified | OpDef[..., Any]) -> bool:
    """True for loads and stores: the tensors that they take are not loaded first."""
    ops = form.candidates if isinstance(form, Unified) else [form]
    tiles = [op for op in ops if op.level == "block"]
    return bool(tiles) and all(any(p.kind == TENSOR for p in op.params) for op in tiles)


def as_operand(ctx: Context, value: Any, node: ast.AST) -> Any:
    """Return a value as vector ops take it: tensors are loaded, products are moved."""
    return in_vector_memory(ctx, loaded_whole(ctx, value, node), node)


def loaded_whole(ctx: Context, value: Any, node: ast.AST) -> Any:
    """Return a tensor as a tile that holds all of it; other values as they are."""
    if not isinstance(value, Expr) or not isinstance(value.type, TensorType):
        return value
    shape = value.type.shape
    if any(const_value(dim) is None for dim in shape):
        raise ParserTypeError(
            f"{describe(value)} is computed with as a whole, and its size is known only at run "
            "time",
            ctx.span(node),
            hint="take a part of constant size, as in x[0:16, :]",
            slug="slice-size",
        )
    sizes = [const_value(dim) for dim in shape]
    return op_call(ctx, memory.load, (value, [0] * len(sizes), sizes), {}, node)


def stored(ctx: Context, value: Expr, begins: Sequence[Any], target: Expr, node: ast.AST) -> Expr:
    """Return what is stored in ``target``: a tile; for a tensor, the target after the copy."""
    assert isinstance(target.type, TensorType)
    if not isinstance(value.type, TensorType):
        return narrowed(ctx, value, target.type.dtype, node)
    same_rank = len(value.type.shape) == len(target.type.shape)
    if static_shape(value.type) is None or not same_rank:
        return as_operand(ctx, value, node)
    return copied(ctx, value, begins, target, node)


# --------------------------------------------------------------------------------------------
# Ops of another meaning
# Ops with another meaning


def _given(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by name."""
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _create(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return a tile for a tensor made in a region: filled with a value, or uninitialized."""
    given = _given(OF_CREATE_TENSOR, args, kwargs)
    refuse_unknown_keyword(ctx, node, kwargs, OF_CREATE_TENSOR)
    if not {"shape", "dtype"} <= given.keys():
        return op_call(ctx, tensor.create, args, kwargs, node)  # which says what is missing
    init = given.get("init_value")
    if init is not None:
        return _full(ctx, (given["shape"], given["dtype"], init), {}, node)
    words: dict[str, Any] = {}
    if _is_accumulator(ctx, node) and begins_in_acc(given["shape"], given["dtype"]):
        words["target_memory"] = MemorySpace.Acc
    return op_call(ctx, new_tiles.create_tile, (given["shape"], given["dtype"]), words, node)


def _full(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return a filled tile; if no instruction fills its type, fill another type and cast."""
    given = _given(("shape", "dtype", "value"), args, kwargs)
    dtype = given.get("dtype")
    kind = filling_type(dtype) if isinstance(dtype, DataType) else None
    if kind is None or kind is dtype:
        return op_call(ctx, new_tiles.full, args, kwargs, node)
    whole = op_call(ctx, new_tiles.full, (), {**given, "dtype": kind}, node)
    return op_call(ctx, elementwise.cast, (whole, dtype), {}, node)


def _is_accumulator(ctx: Context, node: ast.Call) -> bool:
    """True if a call assigns to a name that holds a product elsewhere."""
    names: set[str] = set()
    products: set[str] = set()
    for stmt in ast.walk(ctx.node):
        if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Call):
            targets = {target.id for target in stmt.targets if isinstance(target, ast.Name)}
            if stmt.value is node:
                names |= targets
            elif targets and called_name(ctx, stmt.value.func) in PRODUCTS:
                products |= targets
    return not names.isdisjoint(products)


def _slice(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return the load for a slice of a tensor; for a tile, a part of it."""
    given = _given(_OF_SLICE, args, kwargs)
    refuse_unknown_keyword(ctx, node, kwargs, _OF_SLICE, _RENAMED)
    given = {_RENAMED.get(key, key): value for key, value in given.items()}
    given = {key: value for key, value in given.items() if value is not None and value is not False}
    if not {"x", "shape", "offset"} <= given.keys() <= set(_OF_SLICE):
        return None
    source, shape, begins = given["x"], given["shape"], given["offset"]
    valid, dropped = given.get("valid_shape"), given.get("drop_dims", ())
    if not isinstance(source, Expr) or not isinstance(source.type, TensorType):
        if "clamp" in given or items_of(shape) is None or items_of(begins) is None:
            return None
        taken = part(ctx, source, shape, begins, node)
        if valid is not None:
            mark = BY_PYTHON_NAME["block", "set_validshape"]
            taken = op_call(ctx, mark, (taken, valid), {}, node)
        return _without(ctx, taken, shape, dropped, node)
    sizes = shape if valid is None else valid
    lists = [items_of(each) or () for each in (shape, begins, sizes)]
    if "clamp" in given and all(len(each) == len(source.type.shape) for each in lists):
        valid = _clamped(source.type, begins, sizes)
        valid = None if all(a is b for a, b in zip(valid, shape, strict=True)) else valid
    words: dict[str, Any] = {} if valid is None else {"valid_shapes": valid}
    loaded = op_call(ctx, memory.load, (source, begins, shape), words, node)
    return _without(ctx, loaded, shape, dropped, node)


_OF_SLICE: Final = ("x", "shape", "offset", "valid_shape", "drop_dims", "pad_value", "clamp")


def _clamped(kind: TensorType, begins: Sequence[Any], sizes: Sequence[Any]) -> list[Any]:
    """Return how much of ``sizes`` from ``begins`` on is within a tensor."""
    return [
        _left(dim, begin, size)
        if isinstance(size, int)
        else binary(Min, as_expr(size), _left(dim, begin, const_value(as_expr(size)) or size))
        for dim, begin, size in zip(kind.shape, begins, sizes, strict=True)
    ]


def _without(ctx: Context, tile: Expr, shape: Sequence[Any], dropped: Any, node: ast.Call) -> Expr:
    """Return a tile, sliced to ``shape``, without the ``dropped`` dimensions, but at least two.

    Raises:
        ParserTypeError: one of the dimensions is not 1, or there is no such dimension.
    """
    kind, named = tile.type, items_of(dropped)
    if named == [] or not isinstance(kind, TileType):
        return tile
    count = len(shape)
    for axis in [dropped] if named is None else named:
        if named is None or not isinstance(axis, int) or not -count <= axis < count:
            raise ParserTypeError(
                f"drop_dims is a list of dimensions from 0 to {count - 1}, got {describe(axis)}",
                ctx.span(node),
                slug="axis",
            )
    wide = next((axis for axis in dropped if const_value(as_expr(shape[axis])) != 1), None)
    if wide is not None:
        ones = [axis for axis, size in enumerate(shape) if const_value(as_expr(size)) == 1]
        raise ParserTypeError(
            f"dimension {wide} of the slice is {shape[wide]}, and drop_dims names it",
            ctx.span(node),
            hint=f"write drop_dims={ones}" if ones else "leave out drop_dims",
            slug="axis",
        )
    rank = len(kind.shape)
    axes = {axis % rank for axis in dropped}
    kept = [size for axis, size in enumerate(plain_dims(kind.shape)) if axis not in axes]
    kept = [1] * (2 - len(kept)) + kept
    if len(kept) == rank:
        return tile
    return op_call(ctx, reshaping.reshape, (tile, kept), {}, node)


def part(ctx: Context, tile: Any, shape: Sequence[Any], begins: Sequence[Any], node: Any) -> Expr:
    """Return a part of a tile: a view if its bytes are contiguous, else by way of a tensor.

    They are not if it may begin inside a block, as far as is known at parse time.
    """
    if isinstance(tile, Var) and known_space(tile) is MemorySpace.Mat:
        return part_of_matrix(ctx, tile, shape, begins, node)
    tile = in_vector_memory(ctx, tile, node)
    valid = valid_part(tile.type) if isinstance(tile, Expr) else None
    if valid is not None:
        return _part_of_valid(ctx, tile, valid, shape, begins, node)
    is_constant = all(isinstance(size, int) for size in shape)
    if not is_constant or not begins or _begins_with_a_block(ctx, tile, begins[-1]):
        try:
            made = op_call(ctx, new_tiles.view, (tile, shape, begins), {}, node)
        except ParserError:
            if not is_constant:
                raise
        else:
            if not new_tiles.is_strided(made):
                return made
    return op_call(ctx, memory.load, (scratch(ctx, tile, node), begins, shape), {}, node)


def _begins_with_a_block(ctx: Context, tile: Expr, begin: Any) -> bool:
    """True if an element offset in a row is known to be a multiple of an on-chip block."""
    assert isinstance(tile.type, TileType)
    number = number_of(begin, ctx.constants)
    divisor = divisor_of(begin, ctx.names.fixed) if number is None else number
    return divisor * tile.type.dtype.bytes % BLOCK_BYTES == 0


def _part_of_valid(
    ctx: Context,
    tile: Expr,
    valid: Sequence[Expr],
    shape: Sequence[Any],
    begins: Sequence[Any],
    node: Any,
) -> Expr:
    """Return a part of a partly valid tile, with its own valid part."""
    assert isinstance(tile.type, TileType)
    mark = BY_PYTHON_NAME["block", "set_validshape"]
    whole = op_call(ctx, mark, (tile, plain_dims(tile.type.shape)), {}, node)
    taken = part(ctx, whole, shape, begins, node)
    sizes = [_left(*each) for each in zip(valid, begins, shape, strict=True)]
    if all(left is size for left, size in zip(sizes, shape, strict=True)):
        return taken
    none = any(isinstance(size, int) and size == 0 for size in sizes)
    if none and 0 not in map(const_value, valid):
        warn(
            f"this part of the tile has no valid element: {dims(valid)} of the tile is valid",
            ctx.span(node),
            hint="take a part of what is valid, or fill the tile before: pl.fillpad(...)",
            slug="valid-shape",
        )
    return op_call(ctx, mark, (taken, sizes), {}, node)


def _left(valid: Expr, begin: Any, size: Any) -> Any:
    """Return how many of ``size`` elements from ``begin`` on are among the first ``valid`` ones."""
    known, first = const_value(valid), const_value(as_expr(begin))
    if known is not None and first is not None:
        return size if known - first >= size else max(0, known - first)
    behind = valid if first == 0 else binary(Sub, valid, as_expr(begin))
    return binary(Max, binary(Min, behind, ConstInt(size)), ConstInt(0))


def begin(ctx: Context, var: Var, node: ast.AST) -> Expr | None:
    """Return an initial value for a variable that only a loop defines; None for tensors."""
    kind = var.type
    if isinstance(kind, ScalarType):
        is_float = kind.dtype.is_float()
        return ConstFloat(0.0, kind.dtype) if is_float else ConstInt(0, kind.dtype)
    if not isinstance(kind, TileType) or valid_part(kind) is not None:
        return None
    space = known_space(var) or MemorySpace.Vec
    return op_call(
        ctx,
        new_tiles.create_tile,
        (plain_dims(kind.shape), kind.dtype),
        {"target_memory": space},
        node,
    )


def with_part(
    ctx: Context,
    tile: Expr,
    value: Expr,
    begins: Sequence[Any],
    node: Any,
    box: Sequence[Any] | None = None,
) -> Expr:
    """Return a tile with one part replaced, by way of a tensor of the region's own.

    The part has the sizes of ``value``, or of ``box``, which may have more dimensions of 1.
    """
    assert isinstance(tile.type, TileType)
    assert isinstance(value.type, TileType)
    held = scratch(ctx, in_vector_memory(ctx, tile, node), node)
    sizes = plain_dims(value.type.shape)
    if len(sizes) < len(begins):
        sizes = [1] * (len(begins) - len(sizes)) + sizes if box is None else [*box]
    stored = op_call(ctx, memory.store, (value, begins, sizes, held), {}, node)
    shape = plain_dims(tile.type.shape)
    return op_call(ctx, memory.load, (stored, [0] * len(shape), shape), {}, node)


_RENAMED: Final = {"input": "x", "tensor": "x", "shapes": "shape", "offsets": "offset"}


def _reshape(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return a view of a reshaped tensor, as outside; for a tile, maybe by way of a tensor."""
    source = args[0] if args else None
    if isinstance(source, Expr) and isinstance(source.type, TensorType):
        return op_call(ctx, tensor.reshape_view, args, kwargs, node)
    given = _given(("x", "shape"), args, kwargs)
    if len(args) > 2 or given.keys() != {"x", "shape"} or not isinstance(source, Expr):
        return None
    tile = in_vector_memory(ctx, source, node)
    try:
        return op_call(ctx, reshaping.reshape, (tile, given["shape"]), {}, node)
    except ParserError as error:
        if error.slug != "tile-layout" or valid_part(tile.type) is not None:
            raise
    # On chip, rows are padded in one of the shapes; in memory, in neither.
    held = op_call(ctx, tensor.reshape_view, (scratch(ctx, tile, node), given["shape"]), {}, node)
    var = Var("_reshaped", held.type, held.span)
    ctx.append(var, held, held.span)
    return loaded_whole(ctx, var, node)


def _store(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return ``pl.store(tile, offsets, out)``, with the size of the tile, or of its valid part."""
    if len(args) != 3 or kwargs.keys() - {"atomic"} or items_of(args[2]) is not None:
        return None
    value, offsets, target = args
    tile = loaded_whole(ctx, value, node)
    if not isinstance(tile, Expr) or not isinstance(tile.type, TileType):
        return None
    sizes = plain_dims(tile.type.shape)
    op = store_op(ctx, kwargs.get("atomic"), node)
    if isinstance(target, Expr) and isinstance(target.type, TensorType):
        tile = narrowed(ctx, tile, target.type.dtype, node)
    return op_call(ctx, op, (tile, offsets, sizes, target), {}, node)


def _assemble(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return the store for a tile that is assembled into a tensor."""
    given = _given(("target", "source", "offset"), args, kwargs)
    target, source, offset = (given.get(key) for key in ("target", "source", "offset"))
    if isinstance(target, Expr) and isinstance(target.type, TileType):
        source = loaded_whole(ctx, source, node)
    are_tiles = all(isinstance(v, Expr) and isinstance(v.type, TileType) for v in (target, source))
    if (
        are_tiles
        and "atomic" not in given
        and offset is not None
        and BY_PYTHON_NAME.get(("block", "assemble")) is None
    ):
        return with_part(ctx, cast("Any", target), cast("Any", source), offset, node)
    if isinstance(target, Expr) and isinstance(target.type, TileType) and "atomic" in given:
        raise ParserTypeError(
            "atomic= adds to a tensor in global memory, this is a value of the region",
            ctx.span(node),
            hint="add the part to it: x[0:32, :] = pl.add(x[0:32, :], part)",
            slug="region-option",
        )
    if given.keys() - {"target", "source", "offset", "atomic"} or not isinstance(target, Expr):
        return None
    if not isinstance(target.type, TensorType) or not isinstance(source, Expr):
        return None
    tile = narrowed(ctx, loaded_whole(ctx, source, node), target.type.dtype, node)
    op = store_op(ctx, given.get("atomic"), node)
    return op_call(ctx, op, (tile, offset, plain_dims(tile.type.shape), target), {}, node)


def _block_index(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return the block index of the launch."""
    assert ctx.region is not None
    return ctx.region.block_index


def _element(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return the access to an element of a tensor in place: nothing is loaded."""
    source = args[0] if args else kwargs.get("tensor")
    if not isinstance(source, Expr) or not isinstance(source.type, TensorType):
        return None
    callee = ctx.peek(node.func)
    name = name_of(callee)
    if name == "write" and ctx.region is not None:
        ctx.region.writes_elements = True
    return op_call(ctx, BY_PYTHON_NAME["tensor", name], args, kwargs, node)


def _cast(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return a cast that takes the chip several steps as these, each with the call's mode."""
    given = _given(("input", "target_type"), args, kwargs)
    source, target = given.get("input"), given.get("target_type")
    if not isinstance(source, Expr) or not isinstance(source.type, TensorType | TileType):
        return None
    if not isinstance(target, DataType) or given.keys() - {"input", "target_type", "mode"}:
        return None
    steps = chain(source.type.dtype, target) or ()
    if len(steps) < 2:
        return None
    words = {key: value for key, value in given.items() if key == "mode"}
    value = as_operand(ctx, source, node)
    for step in steps:
        value = op_call(ctx, elementwise.cast, (value, step), words, node)
    return value


def _dim(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return the size of a tile, a constant; for a tensor, what it is outside."""
    source = args[0] if args else None
    axis = args[1] if len(args) > 1 else kwargs.get("axis")
    if isinstance(source, Expr) and isinstance(source.type, TileType) and isinstance(axis, int):
        size = const_value(source.type.shape[axis])
        return None if size is None else ConstInt(size)
    return None


def _create_l1(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return, for a matrix to gather row by row, a tensor of the region's own: products load it."""
    given = _given(("shape", "dtype", "transpose"), args, kwargs)
    if not {"shape", "dtype"} <= given.keys() <= {"shape", "dtype", "transpose"}:
        raise _refused(ctx, node, "a shape and an element type", "pl.create_l1([64, 64], pl.BF16)")
    if given.get("transpose"):
        hint = "leave transpose out, and write b_trans=True in the product"
        raise _refused(ctx, node, "no transpose=True", hint)
    return own_tensor(ctx, given["shape"], given["dtype"], node)


def _gather_row(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Copy rows from one tensor to another, or to a part of a tile."""
    names = ("dst", "src", "dst_offset", "src_offset", "shapes", "transpose", "valid_shape")
    given = _given(names[:-1], args, kwargs)
    if not set(names[:5]) <= given.keys() <= set(names):
        example = "pl.gather_row(rows, x, [i, 0], [at, 0], [1, 64])"
        raise _refused(ctx, node, "two tensors, where the rows go and come from, a size", example)
    if given.get("transpose"):
        hint = "leave transpose out, and write b_trans=True in the product"
        raise _refused(ctx, node, "no transpose=True", hint)
    words: dict[str, Any] = {}
    if given.get("valid_shape") is not None:
        words["valid_shapes"] = given["valid_shape"]
    target, source, sizes = given["dst"], given["src"], given["shapes"]
    rows = op_call(ctx, memory.load, (source, given["src_offset"], sizes), words, node)
    if isinstance(target, Expr) and isinstance(target.type, TileType):
        return with_part(ctx, target, rows, given["dst_offset"], node)
    return op_call(ctx, memory.store, (rows, given["dst_offset"], sizes, target), {}, node)


def _transpose_view(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return a matrix transposed for a product."""
    if len(args) != 1 or kwargs:
        raise _refused(ctx, node, "a matrix", "pl.tile.transpose_view(w)")
    tile = as_operand(ctx, args[0], node)
    return op_call(ctx, BY_PYTHON_NAME["block", "transpose"], (tile, 0, 1), {}, node)


def _refused(ctx: Context, node: ast.Call, wanted: str, hint: str) -> ParserTypeError:
    return ParserTypeError(
        f"{ctx.source.text(node.func)} takes {wanted}",
        ctx.span(node),
        hint=hint if hint.startswith("leave") else f"write {hint}",
        slug="op-operands",
    )


_MARKERS: Final = {
    "slice": ("a value, its shape and its offset", "pl.slice(x, [16, 64], [row, 0])"),
    "create_l1": ("a shape and an element type", "pl.create_l1([64, 64], pl.BF16)"),
    "gather_row": (
        "two tensors, offsets and a size",
        "pl.gather_row(rows, x, [i, 0], [at, 0], [1, 64])",
    ),
    "transpose_view": ("a matrix", "pl.tile.transpose_view(w)"),
}
"""The arguments of names that are not ops, with an example."""

_HANDLERS: Final[dict[str, Handler]] = {
    "create_l1": _create_l1,
    "gather_row": _gather_row,
    "transpose_view": _transpose_view,
    tensor.create.python_name: _create,
    "create_tensor": _create,
    "full": _full,
    "slice": _slice,
    new_tiles.view.python_name: _slice,
    reshaping.reshape.python_name: _reshape,
    memory.store.python_name: _store,
    "assemble": _assemble,
    system.get_block_idx.python_name: _block_index,
    tensor.dim.python_name: _dim,
    "read": _element,
    "write": _element,
    elementwise.cast.python_name: _cast,
    "matmul": matmul,
    "batch_matmul": matmul,
    "matmul_acc": matmul_acc,
    "matmul_bias": matmul_bias,
}
