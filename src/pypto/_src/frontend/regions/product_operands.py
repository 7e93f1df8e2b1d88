"""Where matrices are: the operands of products in regions, and products that vector ops take.

A product takes its operands from Left and Right memory, to which they are moved from Mat memory,
and gives a tile in Acc. A tile loaded for it is loaded to Mat; a computed one goes through a tensor
of the region's own, and so does a product that vector ops use.

A name assigned in a loop or branch is a tile in one memory: `settle` and `settled` choose it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
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
    Var,
    as_expr,
    binary,
    const_value,
)
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import AssignStmt
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.types import ScalarType
from pypto._src.ops import memory, new_tiles, tensor
from pypto._src.ops.rules.boxes import elements
from pypto._src.ops.rules.type_rules import known_space
from pypto._src.ops.unified import Unified
from pypto._src.records import NamedTuple


class DimPart(NamedTuple):
    """A part of a dimension: begin, size, and size with padding."""

    begin: Any  # an int; in a loop, the loop variable
    size: int
    padded: int


class Matrix:
    """A matrix in global memory: a whole tensor, or the part that a load reads."""

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
        self.loaded = loaded  # the load after which parts are loaded; None for here

    def part(
        self, axis: int, span: DimPart, across: DimPart, space: MemorySpace, node: ast.AST
    ) -> Expr:
        """Return a part of the matrix in Left or Right memory; K is its dimension ``axis``."""
        transposed = axis == (0 if space is MemorySpace.Left else 1)
        loaded = self._loaded((span, across) if axis == 0 else (across, span), node)
        return op_call(self.ctx, memory.move, (loaded, space), {"transpose": transposed}, node)

    def _loaded(self, spans: tuple[DimPart, DimPart], node: ast.AST) -> Var:
        ctx, loaded = self.ctx, self.loaded
        known = None if loaded is None else loaded.parts.get(spans)
        if known is not None:
            return known
        begins = [plus(at, span.begin) for at, span in zip(self.begins, spans, strict=True)]
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
            return assigned(ctx, load)
        var = Var("_tmp", load.type, load.span)
        at = next(index for index, stmt in enumerate(loaded.block) if stmt is loaded.stmt) + 1
        loaded.block.insert(at, AssignStmt(var, load, load.span))
        loaded.parts[spans] = var
        return var


def plus(begin: Any, start: Any) -> Any:
    if isinstance(start, Expr):
        return start if begin == 0 else binary(Add, as_expr(begin), start)
    if start == 0:
        return begin
    if isinstance(begin, int):
        return begin + start
    return (
        begin.value + start if isinstance(begin, ConstInt) else binary(Add, begin, ConstInt(start))
    )


def assigned(ctx: Context, value: Expr) -> Var:
    var = Var("_tmp", value.type, value.span)
    ctx.append(var, value, value.span)
    return var


def matrix_operand(ctx: Context, value: Any, node: ast.expr | ast.AugAssign) -> Matrix:
    """Return the matrix in global memory from which an operand of a product is loaded."""
    kind = value.type if isinstance(value, Expr) else None
    if isinstance(kind, TensorType):
        sizes = static_shape(kind)
        if sizes is not None and len(sizes) == 2:
            return Matrix(ctx, value, [0, 0], sizes, None, None)
    if isinstance(kind, TensorType | TileType) and len(kind.shape) != 2:
        raise ParserTypeError(
            f"a product that adds to something is of two matrices, got {describe(value)}",
            ctx.span(node),
            hint="multiply with pl.matmul, and add the result: pl.add(pl.matmul(x, y), acc)",
            slug="product-operand",
        )
    if not isinstance(kind, TileType):
        number = isinstance(value, int | float) or isinstance(kind, ScalarType)
        raise ParserTypeError(
            f"a product is of two matrices of constant size, got {describe(value)}",
            ctx.span(node),
            hint=_scaled(ctx, node) if number else "take a part of constant size, as in x[0:16, :]",
            slug="product-operand",
        )
    found = _load_of(ctx, value)
    if found is not None:
        call, loaded = found
        begins, sizes, *valid = [plain_dims(elements(arg)) for arg in call.args[1:]]
        numbers = [size for size in sizes if isinstance(size, int)]
        if len(numbers) == len(sizes) == 2:
            return Matrix(ctx, call.args[0], begins, numbers, valid[0] if valid else None, loaded)
    return _through_memory(ctx, value, node)


def _scaled(ctx: Context, node: ast.expr | ast.AugAssign) -> str | None:
    """Return the multiplication by a number that a product of matrices is meant to be."""
    from pypto._src.frontend.diagnose.fixits import sides
    from pypto._src.frontend.diagnose.operator_hints import in_place

    if not isinstance(node, ast.Call):
        factors = sides(node)
    elif called_name(ctx, node.func) == "matmul" and not node.keywords:
        factors = node.args
    else:
        return None
    return in_place(ctx, node, " * ".join(map(ctx.source.operand, factors)))


def part_of_matrix(
    ctx: Context, tile: Var, shape: Sequence[Any], begins: Sequence[Any], node: ast.AST
) -> Expr:
    """Return a part of a matrix that was loaded for products: only the part is loaded instead."""
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
    starts = [_sum(a, b) for a, b in zip(elements(found.call.args[1]), plain, strict=True)]
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


def _load_of(ctx: Context, value: Expr) -> tuple[Call, Loaded | None] | None:
    """Return the load that made a tile, and where it is; None if another one may have."""
    if isinstance(value, Call):
        return (value, None) if value.op in _LOADS else None
    assert ctx.region is not None
    found = ctx.region.load_of(value, ctx.block) if isinstance(value, Var) else None
    return None if found is None else (found.call, found)


_LOADS: Final = (memory.load, memory.load_part)


def own_tensor(ctx: Context, shape: Sequence[Any], dtype: DataType, node: ast.AST) -> Var:
    """Return a tensor of the region's own, made before the region."""
    assert ctx.region is not None
    made = op_call(ctx, tensor.create, ([*shape], dtype), {}, node)
    var = Var("_scratch", made.type, made.span)
    ctx.region.before.append(AssignStmt(var, made, made.span))
    return var


def scratch(ctx: Context, tile: Expr, node: ast.AST) -> Var:
    """Return a tensor of the region's own in which a tile is stored."""
    kind = tile.type
    assert isinstance(kind, TileType)
    shape = plain_dims(kind.shape)
    var = own_tensor(ctx, shape, kind.dtype, node)
    zeros = [0 for _ in shape]
    stored = op_call(ctx, memory.store, (tile, zeros, shape, var), {}, node)
    return assigned(ctx, stored)


def _through_memory(ctx: Context, tile: Expr, node: ast.AST) -> Matrix:
    """Return an operand computed by vector ops, stored in memory for the cube core to load."""
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
    return Matrix(ctx, scratch(ctx, tile, node), [0, 0], sizes, _plain_part(kind), None)


def is_in_acc(value: Any) -> bool:
    """True for a tile in the memory in which the matrix unit accumulates."""
    if not isinstance(value, Expr) or not isinstance(value.type, TileType):
        return False
    return known_space(value) is MemorySpace.Acc


def in_vector_memory(ctx: Context, value: Any, node: ast.AST) -> Any:
    """Return a product where vector ops can use it; other values as they are.

    A loop that uses a product made before it finds it in vector memory: it is moved only once.
    """
    if not isinstance(value, Expr) or not isinstance(value.type, TileType):
        return value
    if known_space(value) is not MemorySpace.Acc:
        return value
    made: Loaded | None = None
    if isinstance(value, Var) and ctx.region is not None:
        made = ctx.region.product_around(value, ctx.block)
    if made is None:
        return _moved(ctx, value, node)
    if _COPY not in made.parts:
        inside, ctx.block = ctx.block, []
        try:
            made.parts[_COPY] = _moved(ctx, value, node)
            at = next(index for index, stmt in enumerate(made.block) if stmt is made.stmt) + 1
            made.block[at:at] = ctx.block
        finally:
            ctx.block = inside
    return made.parts[_COPY]


_COPY: Final = "in vector memory"


def _moved(ctx: Context, value: Expr, node: ast.AST) -> Var:
    """Return a product moved to vector memory, by way of a tensor of the region's own."""
    assert isinstance(value.type, TileType)
    stored = scratch(ctx, value, node)
    shape = plain_dims(value.type.shape)
    part = valid_part(value.type)
    words: dict[str, Any] = {} if part is None else {"valid_shapes": plain_dims(part)}
    zeros = [0 for _ in shape]
    return assigned(ctx, op_call(ctx, memory.load, (stored, zeros, shape), words, node))


def settled(ctx: Context, name: str, value: Expr, node: ast.AST) -> Expr:
    """Return a value for assignment to a name of an outer block: products move to vector memory.

    A tensor is loaded whole if the name holds a tile.
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
    """Move a product to vector memory if a loop or branch assigns something else to its name.

    So also one to which products are added beside vector work, as Acc would not keep it.
    """
    for stmt in (inner for body in bodies for inner in ast.walk(body)):
        if not isinstance(stmt, ast.Assign | ast.AugAssign):
            continue
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
        is_part = isinstance(target, ast.Subscript)  # then the whole becomes another value
        target = target.value if isinstance(target, ast.Subscript) else target
        value = ctx.names.values.get(target.id) if isinstance(target, ast.Name) else None
        if not isinstance(target, ast.Name) or not isinstance(value, Var) or not is_in_acc(value):
            continue
        if not is_part and _stays_in_acc(ctx, target.id, stmt.value, bodies):
            continue
        ctx.assign(target.id, _outside_acc(ctx, value, stmt), target)


def _stays_in_acc(ctx: Context, name: str, value: ast.expr, bodies: Sequence[ast.stmt]) -> bool:
    """True if a name of a product still holds one in Acc memory after an assignment."""
    begin = value
    while isinstance(begin, ast.Call) and called_name(ctx, begin.func) == "matmul_acc":
        words = [each.value for each in begin.keywords if each.arg == "acc"]
        begin = (begin.args[:1] or words or [ast.Constant(None)])[0]
    if isinstance(begin, ast.Call):
        return called_name(ctx, begin.func) in _BEGIN_PRODUCTS
    if begin is value or not isinstance(begin, ast.Name) or begin.id != name:
        return False
    from pypto._src.frontend.regions.vector_work import adds_up_beside_vector_work

    return not adds_up_beside_vector_work(ctx, name, bodies)


def outside_acc(ctx: Context, body: Sequence[ast.stmt]) -> None:
    """Move products that a body reads to vector memory; all work of the body is on vector cores."""
    names = (node for stmt in body for node in ast.walk(stmt) if isinstance(node, ast.Name))
    for node in names:
        value = ctx.names.values.get(node.id)
        if isinstance(value, Var) and is_in_acc(value):
            ctx.assign(node.id, in_vector_memory(ctx, value, node), node)


def _outside_acc(ctx: Context, value: Var, node: ast.AST) -> Any:
    """Return a tile in Acc memory moved to vector memory; one without a value is made there."""
    every = (inner for stmt in ctx.block for inner in stmts_in(stmt))  # including those in loops
    made = [s.value for s in every if isinstance(s, AssignStmt) and s.var is value]
    kind = value.type
    has_no_value = bool(made) and all(op_of(each) is new_tiles.create_tile for each in made)
    if isinstance(kind, TileType) and has_no_value:
        return op_call(ctx, new_tiles.create_tile, (plain_dims(kind.shape), kind.dtype), {}, node)
    return in_vector_memory(ctx, value, node)


def called_name(ctx: Context, func: ast.expr) -> str:
    """Return the name of the called op: here more ops are meant than ``pl.tensor`` has."""
    found = name_of(ctx.peek(func))
    return func.attr if not found and isinstance(func, ast.Attribute) else found


def name_of(callee: Any) -> str:
    """Return the user's name of an op, of any level; empty if it is none."""
    if isinstance(callee, Unified):
        return callee.name
    return callee.python_name if isinstance(callee, OpDef) else getattr(callee, "__name__", "")


PRODUCTS: Final = frozenset({"matmul", "matmul_acc"})
_BEGIN_PRODUCTS: Final = PRODUCTS | {"create_tensor", "create_tile"}
