"""Matrix products in regions: operands go to the memories that the matrix unit reads.

A product takes its operands from Left and Right memory, where they come from Mat memory, and
gives a tile in Acc. What was loaded for it is loaded to Mat; what was computed goes through a
tensor of the region's own, and so does a product that vector ops take. Operands that are larger
than Left or Right memory are multiplied in parts of K.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe, spell_dims
from pypto._src.frontend.state.region import Loaded
from pypto._src.frontend.syntax.annotations import plain_dims
from pypto._src.frontend.syntax.calls import op_call
from pypto._src.ir.array_types import TensorType, TileType, same_dims, static_shape, valid_part
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Add, Call, ConstInt, Expr, MakeTuple, Var, binary
from pypto._src.ir.stmts import AssignStmt, IfStmt, YieldStmt, seq
from pypto._src.ops import matmul as products
from pypto._src.ops import memory, tensor
from pypto._src.ops.rules.type_rules import known_space
from pypto._src.targets import A2A3

_UNIT: Final = 16
"""Parts of K are multiples of so many elements (INT8: twice as many)."""


class _Operand:
    """A matrix in global memory: the whole of a tensor, or what a load reads of it."""

    def __init__(
        self,
        ctx: Context,
        source: Expr,
        begins: Sequence[Any],
        sizes: Sequence[int],
        valid: Sequence[Any] | None,
        place: Loaded | None,
    ) -> None:
        self.ctx = ctx
        self.source = source
        self.begins = begins
        self.sizes = sizes
        self.valid = valid
        self.place = place  # the load behind which parts are loaded; None for here

    def part(self, axis: int, start: int, size: int, space: MemorySpace, node: ast.AST) -> Expr:
        """Return a part of the matrix in Left or Right memory; K is its dimension ``axis``."""
        transposed = axis == (0 if space is MemorySpace.Left else 1)
        loaded = self._loaded(axis, start, size, node)
        return op_call(self.ctx, memory.move, (loaded, space), {"transpose": transposed}, node)

    def _loaded(self, axis: int, start: int, size: int, node: ast.AST) -> Var:
        ctx, place = self.ctx, self.place
        known = None if place is None else place.parts.get((axis, start, size))
        if known is not None:
            return known
        begins, sizes = list(self.begins), list(self.sizes)
        begins[axis] = _plus(begins[axis], start)
        sizes[axis] = size
        words: dict[str, Any] = {"target_memory": MemorySpace.Mat}
        if self.valid is not None:
            words["valid_shapes"] = [size if at == axis else v for at, v in enumerate(self.valid)]
        load: Expr = op_call(ctx, memory.load, (self.source, begins, sizes), words, node)
        if place is None:
            return _assigned(ctx, load)
        var = Var("_tmp", load.type, load.span)
        at = next(index for index, stmt in enumerate(place.block) if stmt is place.stmt) + 1
        place.block.insert(at, AssignStmt(var, load, load.span))
        place.parts[axis, start, size] = var
        return var


def _plus(begin: Any, start: int) -> Any:
    if start == 0:
        return begin
    if isinstance(begin, int):
        return begin + start
    return (
        begin.value + start if isinstance(begin, ConstInt) else binary(Add, begin, ConstInt(start))
    )


def _assigned(ctx: Context, value: Expr) -> Var:
    var = Var("_tmp", value.type, value.span)
    ctx.append(var, value, value.span)
    return var


def _operand(ctx: Context, value: Any, node: ast.Call) -> _Operand:
    """Return where the matrix unit gets an operand from."""
    kind = value.type if isinstance(value, Expr) else None
    if isinstance(kind, TensorType):
        sizes = static_shape(kind)
        if sizes is not None and len(sizes) == 2:
            return _Operand(ctx, value, [0, 0], sizes, None, None)
    if not isinstance(kind, TileType):
        raise ParserTypeError(
            f"a product is of two matrices of constant size, got {describe(value)}",
            ctx.span(node),
            hint="take a part of constant size, as in x[0:16, :]",
            slug="product-operand",
        )
    found = _load_of(ctx, value)
    if found is not None:
        call, place = found
        begins, sizes, *valid = [plain_dims(_elements(arg)) for arg in call.args[1:]]
        numbers = [size for size in sizes if isinstance(size, int)]
        if len(numbers) == len(sizes) == 2:
            return _Operand(ctx, call.args[0], begins, numbers, valid[0] if valid else None, place)
    return _through_memory(ctx, value, node)


def _plain_part(kind: TileType) -> list[Any] | None:
    part = valid_part(kind)
    return None if part is None else plain_dims(part)


def _elements(arg: Expr) -> Sequence[Expr]:
    assert isinstance(arg, MakeTuple)
    return arg.elements


def _load_of(ctx: Context, value: Expr) -> tuple[Call, Loaded | None] | None:
    """Return the load that has made a tile, and where it stands; None if another may have."""
    if isinstance(value, Call):
        return (value, None) if value.op in _LOADS else None
    assert ctx.region is not None
    found = ctx.region.loads.get(value) if isinstance(value, Var) else None
    if found is None or (found.block is not ctx.block and not found.is_only):
        return None
    return found.call, found


_LOADS: Final = (memory.load, memory.load_part)


def scratch(ctx: Context, tile: Expr, node: ast.AST) -> Var:
    """Return a tensor of the region's own, with a tile stored in it."""
    kind = tile.type
    assert isinstance(kind, TileType)
    assert ctx.region is not None
    shape = plain_dims(kind.shape)
    made = op_call(ctx, tensor.create, (shape, kind.dtype), {}, node)
    var = Var("_scratch", made.type, made.span)
    ctx.region.before.append(AssignStmt(var, made, made.span))
    zeros = [0 for _ in shape]
    stored = op_call(ctx, memory.store, (tile, zeros, shape, var), {}, node)
    return _assigned(ctx, stored)


def _through_memory(ctx: Context, tile: Expr, node: ast.Call) -> _Operand:
    """Return an operand that vector ops have computed; it is stored, for the cube core to load."""
    kind = tile.type
    assert isinstance(kind, TileType)
    sizes = static_shape(kind)
    if sizes is None or len(sizes) != 2:
        raise ParserTypeError(
            f"a product is of two matrices, got {describe(tile)}",
            ctx.span(node),
            hint="write pl.reshape(..., [rows, columns]) for it",
            slug="product-operand",
        )
    return _Operand(ctx, scratch(ctx, tile, node), [0, 0], sizes, _plain_part(kind), None)


def in_vector_memory(ctx: Context, value: Any, node: ast.AST) -> Any:
    """Return a product as vector ops take it; other values as they are."""
    if not isinstance(value, Expr) or not isinstance(value.type, TileType):
        return value
    if known_space(value) is not MemorySpace.Acc:
        return value
    stored = scratch(ctx, value, node)
    shape = plain_dims(value.type.shape)
    part = valid_part(value.type)
    words: dict[str, Any] = {} if part is None else {"valid_shapes": plain_dims(part)}
    zeros = [0 for _ in shape]
    return _assigned(ctx, op_call(ctx, memory.load, (stored, zeros, shape), words, node))


# --------------------------------------------------------------------------------------------
# Products
# --------------------------------------------------------------------------------------------

_OF_MATMUL: Final = ("lhs", "rhs", "out_dtype", "a_trans", "b_trans", "c_matrix_nz")
_OF_MATMUL_ACC: Final = ("acc", "lhs", "rhs", "a_trans", "b_trans", "init_cond")


def matmul(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return ``pl.matmul(lhs, rhs, ...)``: a tile in Acc, of FP32 or INT32."""
    given = {**dict(zip(_OF_MATMUL, args, strict=False)), **kwargs}
    if given.keys() - set(_OF_MATMUL) or "lhs" not in given or "rhs" not in given:
        return None
    if all(_is_placed(given[key]) for key in ("lhs", "rhs")):
        return None
    return _product(ctx, None, given, node)


def matmul_acc(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return ``pl.matmul_acc(acc, lhs, rhs, ...)``; where ``init_cond`` holds, without ``acc``."""
    given = {**dict(zip(_OF_MATMUL_ACC, args, strict=False)), **kwargs}
    if given.keys() - set(_OF_MATMUL_ACC) or not {"acc", "lhs", "rhs"} <= given.keys():
        return None
    if all(_is_placed(given[key]) for key in ("lhs", "rhs")):
        return None
    start = given.get("init_cond")
    acc = _accumulator(ctx, given["acc"], node)
    if not isinstance(start, Expr):
        return _product(ctx, None if start else acc, given, node)
    span = ctx.span(node)
    outside, ctx.block = ctx.block, []
    first = _product(ctx, None, given, node)
    then, ctx.block = [*ctx.block, YieldStmt((first,), span)], []
    more = _product(ctx, acc, given, node)
    orelse, ctx.block = [*ctx.block, YieldStmt((more,), span)], outside
    var = Var("_tmp", first.type, span)
    ctx.block.append(IfStmt(start, seq(then, span), seq(orelse, span), (var,), span))
    return var


def _is_placed(value: Any) -> bool:
    return isinstance(value, Expr) and known_space(value) in (MemorySpace.Left, MemorySpace.Right)


def _accumulator(ctx: Context, acc: Any, node: ast.Call) -> Expr:
    """Return what a product is added to, in Acc memory: the product of it with 1."""
    if isinstance(acc, Expr) and isinstance(acc.type, TileType):
        space = known_space(acc)
        if space is MemorySpace.Acc or (space is None and acc.type.tile_view is not None):
            return acc
    raise ParserTypeError(
        f"products are added up in a product, got {describe(acc)}",
        ctx.span(node),
        hint="begin with acc = pl.matmul(...), or with acc = pl.create_tensor(...) and init_cond=",
        slug="product-operand",
    )


def _product(ctx: Context, acc: Expr | None, given: Mapping[str, Any], node: ast.Call) -> Expr:
    lhs, rhs = _operand(ctx, given["lhs"], node), _operand(ctx, given["rhs"], node)
    left_axis = 0 if given.get("a_trans") else 1
    right_axis = 1 if given.get("b_trans") else 0
    rows, inner = lhs.sizes[1 - left_axis], lhs.sizes[left_axis]
    columns, inner2 = rhs.sizes[1 - right_axis], rhs.sizes[right_axis]
    if inner != inner2:
        raise ParserTypeError(
            f"a product of [{rows}, {inner}] and [{inner2}, {columns}] has different K",
            ctx.span(node),
            hint=_hint(given, inner, inner2, columns),
            slug="shape-mismatch",
        )
    dtype = lhs.source.type.dtype if isinstance(lhs.source.type, TensorType) else DataType.FP32
    first, more = (products.matmul, products.matmul_acc)
    if rows == 1:
        first, more = (products.gemv, products.gemv_acc)
    result = acc
    for start, size in _parts(rows, inner, columns, dtype):
        a = lhs.part(left_axis, start, size, MemorySpace.Left, node)
        b = rhs.part(right_axis, start, size, MemorySpace.Right, node)
        op, operands = (first, (a, b)) if result is None else (more, (result, a, b))
        made = op_call(ctx, op, operands, {}, node)
        result = made if start + size == inner else _assigned(ctx, made)
    assert result is not None
    if acc is not None:
        assert isinstance(acc.type, TileType)
        assert isinstance(result.type, TileType)
        assert same_dims(acc.type.shape, result.type.shape), spell_dims(acc.type.shape)
    return result


def _hint(given: Mapping[str, Any], inner: int, inner2: int, columns: int) -> str | None:
    return "write b_trans=True" if inner == columns and not given.get("b_trans") else None


def _parts(rows: int, inner: int, columns: int, dtype: DataType) -> list[tuple[int, int]]:
    """Return begins and sizes of the parts of K that Left and Right memory hold."""
    element = max(1, dtype.get_bit() // 8)
    unit = _UNIT * (2 if element == 1 else 1)
    size = inner
    for space, other in ((MemorySpace.Left, rows), (MemorySpace.Right, columns)):
        room = A2A3.memories[space].usable_bytes // (max(other, _UNIT) * element)
        if room < inner:
            size = min(size, max(unit, room // 2 // unit * unit))
    return [(start, min(size, inner - start)) for start in range(0, inner, size)]
