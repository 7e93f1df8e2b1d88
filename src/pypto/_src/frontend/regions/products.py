"""Matrix products in regions: operands go to the memories that the matrix unit reads.

A product takes its operands from Left and Right memory, where they come from Mat memory, and
gives a tile in Acc. What was loaded for it is loaded to Mat; what was computed goes through a
tensor of the region's own, and so does a product that vector ops take. Operands that are larger
than Left or Right memory are multiplied in parts of K, products larger than Acc memory in blocks.

Rows and columns that fill no boxes of the memories on the way are padded there, with elements that
are not valid. A product of a single row, one that is padded itself and one made in blocks have
another shape in Acc memory than they have as values; they are values in vector memory.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe
from pypto._src.frontend.state.region import Loaded
from pypto._src.frontend.syntax.annotations import plain_dims
from pypto._src.frontend.syntax.calls import op_call
from pypto._src.ir.array_types import TensorType, TileType, static_shape, valid_part
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import (
    Add,
    Call,
    ConstInt,
    Expr,
    MakeTuple,
    Var,
    as_expr,
    binary,
    const_value,
)
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import AssignStmt, EvalStmt, ForStmt, IfStmt, Stmt, YieldStmt, seq
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.types import scalar_type
from pypto._src.ops import matmul as products
from pypto._src.ops import memory, new_tiles, tensor
from pypto._src.ops.define import BY_PYTHON_NAME
from pypto._src.ops.layout import round_up, whole_box
from pypto._src.ops.rules.type_rules import known_space
from pypto._src.ops.unified import Unified
from pypto._src.records import NamedTuple
from pypto._src.targets import A2A3

_ACC_BYTES: Final = DataType.FP32.bytes
_UNROLLED: Final = 32
"""So many products of parts stand one after another at most; more are made in loops."""
_MOST_LOADED: Final = 64 * 1024
"""Bytes of tensors that are loaded in one piece; more are copied in parts."""


class _Span(NamedTuple):
    """A part of a dimension: where it begins, its size, and the size with its padding."""

    begin: Any  # an int; in a loop, its variable
    size: int
    padded: int


class _Operand:
    """A matrix in global memory: the whole of a tensor, or what a load reads of it."""

    def __init__(
        self,
        ctx: Context,
        source: Expr,
        begins: Sequence[Any],
        sizes: Sequence[int],
        valid: Sequence[Any] | None,
        loaded: Loaded | None,
    ) -> None:
        self.ctx = ctx
        self.source = source
        self.begins = begins
        self.sizes = sizes
        self.valid = valid
        self.loaded = loaded  # the load behind which parts are loaded; None for here

    def part(
        self, axis: int, span: _Span, across: _Span, space: MemorySpace, node: ast.AST
    ) -> Expr:
        """Return a part of the matrix in Left or Right memory; K is its dimension ``axis``."""
        transposed = axis == (0 if space is MemorySpace.Left else 1)
        loaded = self._loaded((span, across) if axis == 0 else (across, span), node)
        return op_call(self.ctx, memory.move, (loaded, space), {"transpose": transposed}, node)

    def _loaded(self, spans: tuple[_Span, _Span], node: ast.AST) -> Var:
        ctx, loaded = self.ctx, self.loaded
        known = None if loaded is None else loaded.parts.get(spans)
        if known is not None:
            return known
        begins = [_plus(at, span.begin) for at, span in zip(self.begins, spans, strict=True)]
        sizes = [span.padded for span in spans]
        words: dict[str, Any] = {"target_memory": MemorySpace.Mat}
        valid = [span.size for span in spans]
        if self.valid is not None:
            whole = zip(spans, self.sizes, self.valid, strict=True)
            valid = [v if span.size == size else span.size for span, size, v in whole]
        if self.valid is not None or valid != sizes:
            words["valid_shapes"] = valid
        load: Expr = op_call(ctx, memory.load, (self.source, begins, sizes), words, node)
        if loaded is None:
            return _assigned(ctx, load)
        var = Var("_tmp", load.type, load.span)
        at = next(index for index, stmt in enumerate(loaded.block) if stmt is loaded.stmt) + 1
        loaded.block.insert(at, AssignStmt(var, load, load.span))
        loaded.parts[spans] = var
        return var


def _plus(begin: Any, start: Any) -> Any:
    if isinstance(start, Expr):
        return start if begin == 0 else binary(Add, as_expr(begin), start)
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
        call, loaded = found
        begins, sizes, *valid = [plain_dims(_elements(arg)) for arg in call.args[1:]]
        numbers = [size for size in sizes if isinstance(size, int)]
        if len(numbers) == len(sizes) == 2:
            return _Operand(ctx, call.args[0], begins, numbers, valid[0] if valid else None, loaded)
    return _through_memory(ctx, value, node)


def part_of_matrix(
    ctx: Context, tile: Var, shape: Sequence[Any], begins: Sequence[Any], node: ast.AST
) -> Expr:
    """Return a part of a matrix that was loaded for products: the part is loaded instead."""
    assert ctx.region is not None
    found = ctx.region.load_of(tile, ctx.block)
    is_whole = found is not None and len(found.call.args) == 3
    if found is None or not is_whole or ctx.inputs.get(found.call.args[0], found.call) is not None:
        raise ParserTypeError(
            f"{describe(tile)} is in Mat memory, from where no part of it can be taken here",
            ctx.span(node),
            hint="take the part of the tensor that it was loaded from",
            slug="memory-space",
        )
    plain = plain_dims([as_expr(at) for at in begins])
    starts = [_sum(a, b) for a, b in zip(_elements(found.call.args[1]), plain, strict=True)]
    words = {"target_memory": MemorySpace.Mat}
    return op_call(ctx, memory.load, (found.call.args[0], starts, [*shape]), words, node)


def _sum(a: Expr, b: Any) -> Any:
    known = const_value(a)
    if known is not None and isinstance(b, int):
        return known + b
    return b if known == 0 else binary(Add, a, as_expr(b))


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
    found = ctx.region.load_of(value, ctx.block) if isinstance(value, Var) else None
    return None if found is None else (found.call, found)


_LOADS: Final = (memory.load, memory.load_part)


def own_tensor(ctx: Context, shape: Sequence[Any], dtype: DataType, node: ast.AST) -> Var:
    """Return a tensor of the region's own, which is made before it."""
    assert ctx.region is not None
    made = op_call(ctx, tensor.create, ([*shape], dtype), {}, node)
    var = Var("_scratch", made.type, made.span)
    ctx.region.before.append(AssignStmt(var, made, made.span))
    return var


def scratch(ctx: Context, tile: Expr, node: ast.AST) -> Var:
    """Return a tensor of the region's own, with a tile stored in it."""
    kind = tile.type
    assert isinstance(kind, TileType)
    shape = plain_dims(kind.shape)
    var = own_tensor(ctx, shape, kind.dtype, node)
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


def settled(ctx: Context, name: str, value: Expr, node: ast.AST) -> Expr:
    """Return a value as a name of an outer block takes it: a product where vector work is.

    A tensor is loaded whole, where the name is of a tile.
    """
    old = ctx.names.values.get(name)
    if not isinstance(old, Var) or not isinstance(old.type, TileType):
        return value
    is_inner = ctx.names.levels.get(name, 0) < ctx.names.level
    if isinstance(value.type, TensorType):
        is_same = static_shape(value.type) == static_shape(old.type)
        if not is_inner or not is_same or value.type.dtype is not old.type.dtype:
            return value
        zeros = [0] * len(value.type.shape)
        return op_call(ctx, memory.load, (value, zeros, plain_dims(value.type.shape)), {}, node)
    if not is_in_acc(value):
        return value
    return in_vector_memory(ctx, value, node) if is_inner and known_space(old) is None else value


def settle(ctx: Context, bodies: Sequence[ast.stmt]) -> None:
    """Let products be in vector memory to which a loop or branch assigns what is no product.

    So are those to which it adds products beside vector work, which they would have to outlive.
    """
    for stmt in (inner for body in bodies for inner in ast.walk(body)):
        if not isinstance(stmt, ast.Assign | ast.AugAssign):
            continue
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
        is_part = isinstance(target, ast.Subscript)  # the whole is another value then
        target = target.value if isinstance(target, ast.Subscript) else target
        value = ctx.names.values.get(target.id) if isinstance(target, ast.Name) else None
        if not isinstance(target, ast.Name) or not isinstance(value, Var) or not is_in_acc(value):
            continue
        if not is_part and isinstance(stmt.value, ast.Call):
            name = called_name(ctx, stmt.value.func)
            if name in _BEGIN_PRODUCTS and name != "matmul_acc":
                continue
            if name == "matmul_acc":
                from pypto._src.frontend.regions.vector_work import adds_up_beside_vector_work

                if not adds_up_beside_vector_work(ctx, target.id, bodies):
                    continue
        ctx.assign(target.id, _outside_acc(ctx, value, stmt), target)


def _outside_acc(ctx: Context, value: Var, node: ast.AST) -> Any:
    """Return a tile in Acc memory as one in vector memory; one without a value is made there."""
    every = (inner for stmt in ctx.block for inner in stmts_in(stmt))  # those of loops, too
    made = [s.value for s in every if isinstance(s, AssignStmt) and s.var is value]
    kind = value.type
    has_no_value = bool(made) and all(op_of(each) is new_tiles.create_tile for each in made)
    if isinstance(kind, TileType) and has_no_value:
        return op_call(ctx, new_tiles.create_tile, (plain_dims(kind.shape), kind.dtype), {}, node)
    return in_vector_memory(ctx, value, node)


def called_name(ctx: Context, func: ast.expr) -> str:
    """Return the name of the op that a call is of: ``pl.tensor`` has fewer than mean one here."""
    found = name_of(ctx.peek(func))
    return func.attr if not found and isinstance(func, ast.Attribute) else found


def name_of(callee: Any) -> str:
    """Return the name under which users call an op, at whatever level; empty if it is none."""
    if isinstance(callee, Unified):
        return callee.name
    return callee.python_name if isinstance(callee, OpDef) else getattr(callee, "__name__", "")


PRODUCTS: Final = frozenset({"matmul", "matmul_acc"})
_BEGIN_PRODUCTS: Final = PRODUCTS | {"create_tensor", "create_tile"}


# --------------------------------------------------------------------------------------------
# Products
# --------------------------------------------------------------------------------------------

_OF_MATMUL: Final = ("lhs", "rhs", "out_dtype", "a_trans", "b_trans", "c_matrix_nz")
_OF_MATMUL_ACC: Final = ("acc", "lhs", "rhs", "a_trans", "b_trans", "init_cond")
_OF_MATMUL_BIAS: Final = ("lhs", "rhs", "bias")


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
    if is_in_acc(first) is not is_in_acc(acc):
        first = in_vector_memory(ctx, first, node)
    then, ctx.block = [*ctx.block, YieldStmt((first,), span)], []
    more = _product(ctx, acc, given, node)
    orelse, ctx.block = [*ctx.block, YieldStmt((more,), span)], outside
    var = Var("_tmp", first.type, span)
    ctx.block.append(IfStmt(start, seq(then, span), seq(orelse, span), (var,), span))
    return var


def matmul_bias(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return ``pl.matmul_bias(lhs, rhs, bias)``: the product, and ``bias`` [1, N] in each row."""
    given = {**dict(zip(_OF_MATMUL_BIAS, args, strict=False)), **kwargs}
    if given.keys() != set(_OF_MATMUL_BIAS):
        return None
    if all(_is_placed(given[key]) for key in ("lhs", "rhs")):
        return None
    assert ctx.region is not None
    bias = ctx.region.operand(ctx, given["bias"], node)
    made = _assigned(ctx, in_vector_memory(ctx, _product(ctx, None, given, node), node))
    return op_call(ctx, BY_PYTHON_NAME["block", "col_expand_add"], (made, bias), {}, node)


def _is_placed(value: Any) -> bool:
    return isinstance(value, Expr) and known_space(value) in (MemorySpace.Left, MemorySpace.Right)


def is_in_acc(value: Any) -> bool:
    """True for a tile in the memory in which the matrix unit adds up."""
    if not isinstance(value, Expr) or not isinstance(value.type, TileType):
        return False
    return known_space(value) is MemorySpace.Acc


def _accumulator(ctx: Context, acc: Any, node: ast.Call) -> Expr:
    """Return what a product is added to: a tile in Acc memory, or in vector memory."""
    if isinstance(acc, Expr) and isinstance(acc.type, TileType):
        return acc
    if isinstance(acc, Expr) and isinstance(acc.type, TensorType):
        assert ctx.region is not None
        loaded = ctx.region.operand(ctx, acc, node)
        assert isinstance(loaded, Expr)
        return loaded
    raise ParserTypeError(
        f"products are added up in a product, got {describe(acc)}",
        ctx.span(node),
        hint="begin with acc = pl.matmul(...), or with acc = pl.create_tensor(...) and init_cond=",
        slug="product-operand",
    )


def begins_in_acc(shape: Sequence[Any], dtype: DataType) -> bool:
    """True if a product of this shape and element type is a value in Acc memory."""
    if len(shape) != 2 or not all(isinstance(size, int) for size in shape):
        return True
    unit = whole_box(dtype)
    held = round_up(shape[0], unit) * shape[1] * dtype.bytes
    fits = held <= A2A3.memories[MemorySpace.Acc].usable_bytes
    return shape[0] != 1 and shape[1] % unit == 0 and fits


def _product(ctx: Context, acc: Expr | None, given: Mapping[str, Any], node: ast.Call) -> Expr:
    """Return the product of two matrices, added to ``acc`` if there is one."""
    lhs, rhs = _operand(ctx, given["lhs"], node), _operand(ctx, given["rhs"], node)
    transposed = bool(given.get("a_trans")), bool(given.get("b_trans"))
    left_axis, right_axis = (0 if transposed[0] else 1), (1 if transposed[1] else 0)
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
    product = _Product(ctx, lhs, rhs, (left_axis, right_axis), dtype, node)
    start = acc if product.is_plain and is_in_acc(acc) else None
    if product.is_plain:
        (block,) = _blocks(rows, columns, dtype)
        made = product.block(*block, start)
    else:
        held = own_tensor(ctx, (rows, columns), product.summed, node)
        outside, ctx.block = ctx.block, []
        gathered = product.gathered(held, [0, 0])
        own, ctx.block = ctx.block, outside
        ctx.block += own
        valid = _valid_of(lhs, 1 - left_axis), _valid_of(rhs, 1 - right_axis)
        words = {} if valid == (rows, columns) else {"valid_shapes": valid}
        assert ctx.region is not None
        if not words and rows * columns * _ACC_BYTES > _MOST_LOADED and acc is None:
            ctx.region.gathered = Gathered(gathered, held, len(own), own[-1], product)
            return gathered  # which is stored elsewhere in parts
        made = op_call(ctx, memory.load, (gathered, [0, 0], [rows, columns]), words, node)
        made = _assigned(ctx, made)
        ctx.region.products.add(made)
    if acc is None or start is not None:
        return made
    made = in_vector_memory(ctx, made, node)
    add = BY_PYTHON_NAME["block", "add"]
    assert ctx.region is not None
    return ctx.region.call(ctx, add, (in_vector_memory(ctx, acc, node), made), {}, node)


class Gathered(NamedTuple):
    """A product of many blocks that has been made in a tensor of the region's own."""

    value: Expr  # the tensor after that
    held: Var  # the tensor
    length: int  # of the statements that made it
    last: Stmt  # of them
    product: _Product


class _Product:
    """The product of two matrices: blocks that fit Acc memory, parts of K that fit the others.

    Blocks and parts stand one after another, or in loops where there are many.
    """

    def __init__(
        self,
        ctx: Context,
        lhs: _Operand,
        rhs: _Operand,
        axes: tuple[int, int],
        dtype: DataType,
        node: ast.AST,
    ) -> None:
        self.ctx, self.lhs, self.rhs, self.axes, self.node = ctx, lhs, rhs, axes, node
        self.dtype = dtype
        self.summed = DataType.FP32 if dtype.is_float() else DataType.INT32
        left_axis, right_axis = axes
        self.rows, self.inner = lhs.sizes[1 - left_axis], lhs.sizes[left_axis]
        self.columns = rhs.sizes[1 - right_axis]
        transposed = left_axis == 0, right_axis == 1
        unit = self.unit = whole_box(dtype)
        # Boxes of these are not as high as they are wide: what is turned on the way fills both.
        oblong = dtype.bytes != 2  # bytes for which a box is a square
        self.depth = unit if oblong and (transposed[0] or not transposed[1]) else 1
        self.high = unit if self.rows == 1 or (oblong and transposed[0]) else 1
        self.wide = unit if self.columns == 1 or (oblong and not transposed[1]) else 1
        blocks = _blocks(self.rows, self.columns, dtype)
        in_acc = begins_in_acc((self.rows, self.columns), self.summed)
        self.is_plain = len(blocks) == 1 and in_acc and not self.rows % self.high
        down, across = blocks[0]
        parts = _parts(self._high(down).padded, self.inner, self._wide(across).padded, dtype)
        plain = all(operand.loaded is None and operand.valid is None for operand in (lhs, rhs))
        many = len(blocks) * len(parts) > _UNROLLED
        self.in_loops = many and plain and not ctx.strict_ssa

    def _high(self, span: _Span) -> _Span:
        return span._replace(padded=round_up(span.size, self.high))

    def _wide(self, span: _Span) -> _Span:
        return span._replace(padded=round_up(span.size, self.wide))

    def block(self, down: _Span, across: _Span, start: Expr | None = None) -> Expr:
        """Return a block of the product, added to ``start``: a tile in Acc memory."""
        down, across = self._high(down), self._wide(across)
        parts = _parts(down.padded, self.inner, across.padded, self.dtype)
        if self.in_loops and len(parts) > 2 and start is None:
            return self._in_a_loop(down, across, parts)
        result = start
        for part in parts[:-1]:
            result = _assigned(self.ctx, self._part(part, down, across, result))
        return self._part(parts[-1], down, across, result)

    def _part(self, part: _Span, down: _Span, across: _Span, acc: Expr | None) -> Expr:
        """Return a product of parts of K, added to ``acc``."""
        k = part._replace(padded=round_up(part.size, self.unit if part.size == 1 else self.depth))
        a = self.lhs.part(self.axes[0], k, down, MemorySpace.Left, self.node)
        b = self.rhs.part(self.axes[1], k, across, MemorySpace.Right, self.node)
        if acc is None:
            return op_call(self.ctx, products.matmul, (a, b), {}, self.node)
        return op_call(self.ctx, products.matmul_acc, (acc, a, b), {}, self.node)

    def _in_a_loop(self, down: _Span, across: _Span, parts: Sequence[_Span]) -> Expr:
        first, *others = parts
        ctx, span = self.ctx, self.ctx.span(self.node)
        result = _assigned(ctx, self._part(first, down, across, None))

        def add(part: _Span) -> None:
            made = self._part(part, down, across, result)
            ctx.block.append(AssignStmt(result, made, span))

        self._each(others, "k", add)
        return result

    def gathered(self, target: Expr, begins: Sequence[Any]) -> Expr:
        """Store all blocks in a part of a tensor; return the tensor that it is after that."""
        ctx, span = self.ctx, self.ctx.span(self.node)
        blocks = _blocks(self.rows, self.columns, self.dtype)
        held = target

        def store(down: _Span, across: _Span) -> Expr:
            made = self.block(down, across)
            assert isinstance(made.type, TileType)
            part = valid_part(made.type)
            sizes = [down.size, across.size] if part is None else [*plain_dims(part)]
            at = [_plus(begins[0], down.begin), _plus(begins[1], across.begin)]
            return op_call(ctx, memory.store, (made, at, sizes, held), {}, self.node)

        if not self.in_loops:
            for down, across in blocks:
                stored = store(down, across)
                held = _assigned(ctx, stored)
                ctx.follow(held, stored)
            return held
        held = _assigned(ctx, target)
        ctx.follow(held, target)

        def row(down: _Span) -> None:
            def column(across: _Span) -> None:
                ctx.block.append(AssignStmt(held, store(down, across), span))

            self._each(list(dict.fromkeys(across for _, across in blocks)), "n", column)

        self._each(list(dict.fromkeys(down for down, _ in blocks)), "m", row)
        return held

    def _each(self, spans: Sequence[_Span], name: str, body: Callable[[_Span], None]) -> None:
        """Do something with spans that follow each other, of which the last may be shorter."""
        size = spans[0].size
        equal = [span for span in spans if span.size == size]
        if len(equal) > 2:
            ctx, where = self.ctx, self.ctx.span(self.node)
            counter = Var(f"_{name}", scalar_type(DataType.INDEX), where)
            outside, ctx.block = ctx.block, []
            body(_Span(counter, size, size))
            made, ctx.block = seq(ctx.block, where), outside
            begin, end = equal[0].begin, equal[-1].begin + size
            ctx.block.append(ForStmt(counter, begin, end, size, (), made, (), where))
            spans = spans[len(equal) :]
        for span in spans:
            body(span)


def copied(ctx: Context, source: Expr, begins: Sequence[Any], target: Expr, node: ast.AST) -> Expr:
    """Store a tensor of constant size in a part of another one, by way of vector memory.

    A product is rounded to the element type of the target, which the matrix unit would have done.
    One that has just been made, for nothing else, is made there.
    """
    assert ctx.region is not None
    made = ctx.region.gathered
    if made is not None and made.value is source and _is_free(ctx, made, target):
        del ctx.block[-made.length :]
        ctx.region.before = [s for s in ctx.region.before if _assigned_to(s) is not made.held]
        ctx.region.gathered = None
        return made.product.gathered(target, begins)
    assert isinstance(source.type, TensorType)
    assert isinstance(target.type, TensorType)
    sizes, dtype = static_shape(source.type), target.type.dtype
    assert sizes is not None
    row = math.prod(sizes[1:]) * source.type.dtype.bytes
    step = max(1, _MOST_LOADED // row)
    for span in _spans(sizes[0], step if sizes[0] * row > _MOST_LOADED else sizes[0]):
        here = [span.size, *sizes[1:]]
        at = [span.begin, *[0] * (len(sizes) - 1)]
        tile: Expr = op_call(ctx, memory.load, (source, at, here), {}, node)
        if dtype is not source.type.dtype and dtype in _NARROWED:
            tile = op_call(ctx, BY_PYTHON_NAME["block", "cast"], (tile, dtype), {}, node)
        offsets = [_plus(begins[0], span.begin), *begins[1:]]
        stored = op_call(ctx, memory.store, (tile, offsets, here, target), {}, node)
        if span.begin + span.size == sizes[0]:
            return stored
        ctx.block.append(EvalStmt(stored, stored.span))
    return target


def _is_free(ctx: Context, made: Gathered, target: Expr) -> bool:
    """True if nobody else has a product, and its blocks may go to ``target`` while it is made."""
    product = made.product
    assert isinstance(target.type, TensorType)
    rounds = product.summed is DataType.FP32 and target.type.dtype in _NARROWED
    return (
        bool(ctx.block)
        and ctx.block[-1] is made.last
        and (target.type.dtype is product.summed or rounds)
        and any(value is target for value in ctx.names.values.values())
        and all(_are_apart(ctx, o.source, target) for o in (product.lhs, product.rhs))
    )


def _are_apart(ctx: Context, source: Expr, target: Expr) -> bool:
    """True if two tensors certainly share no memory."""
    home, other = _home(ctx, source), _home(ctx, target)
    return home is not None and other is not None and home is not other


def _home(ctx: Context, tensor: Expr) -> Expr | None:
    """Return the parameter or new tensor whose memory a tensor is, None if it is not known."""
    found = ctx.origin(tensor)
    return tensor if found is None and (tensor in ctx.made_here or tensor in ctx.inputs) else found


def _assigned_to(stmt: Stmt) -> Var | None:
    return stmt.var if isinstance(stmt, AssignStmt) else None


_NARROWED: Final = frozenset({DataType.FP16, DataType.BF16})


def narrowed(ctx: Context, value: Any, dtype: DataType, node: ast.AST) -> Any:
    """Return a value as a tensor of ``dtype`` takes it: a product is rounded in its store."""
    assert ctx.region is not None
    if not isinstance(value, Var) or value not in ctx.region.products or dtype not in _NARROWED:
        return value
    assert isinstance(value.type, TileType)
    if value.type.dtype is dtype:
        return value
    return op_call(ctx, BY_PYTHON_NAME["block", "cast"], (value, dtype), {}, node)


def _valid_of(operand: _Operand, axis: int) -> Any:
    return (operand.sizes if operand.valid is None else operand.valid)[axis]


def _hint(given: Mapping[str, Any], inner: int, inner2: int, columns: int) -> str | None:
    return "write b_trans=True" if inner == columns and not given.get("b_trans") else None


def _spans(size: int, most: int) -> list[_Span]:
    """Return a dimension in parts of at most ``most`` elements."""
    return [_Span(start, part := min(most, size - start), part) for start in range(0, size, most)]


def _blocks(rows: int, columns: int, dtype: DataType) -> list[tuple[_Span, _Span]]:
    """Return the blocks of a product: each fits Acc memory, its operands Left and Right."""
    unit = whole_box(dtype)
    down, across = round_up(rows, unit), round_up(columns, unit)
    # Of each operand the least part of K fits.
    tallest, widest = (
        A2A3.memories[space].usable_bytes // dtype.bytes // unit // unit * unit
        for space in (MemorySpace.Left, MemorySpace.Right)
    )
    down, across = min(down, tallest), min(across, widest)
    room = A2A3.memories[MemorySpace.Acc].usable_bytes // _ACC_BYTES
    while down * across > room:
        if down >= across:  # long rows of the second matrix load faster
            down = round_up(down // 2, unit)
        else:
            across = round_up(across // 2, unit)
    return [(m, n) for m in _spans(rows, down) for n in _spans(columns, across)]


def _parts(rows: int, inner: int, columns: int, dtype: DataType) -> list[_Span]:
    """Return the parts of K that Left and Right memory hold."""
    unit = whole_box(dtype)
    size = inner
    for space, other in ((MemorySpace.Left, rows), (MemorySpace.Right, columns)):
        room = A2A3.memories[space].usable_bytes // (round_up(other, unit) * dtype.bytes)
        if room < round_up(inner, unit):
            size = min(size, max(unit, room // 2 // unit * unit))
    return _spans(inner, size)
