"""Matrix products in regions: in blocks that fit Acc memory, from parts that fit Left and Right.

Operands larger than Left or Right memory are multiplied in parts of K, products larger than Acc
memory in blocks. `product_operands` brings operands to the memories from which they are read.

Rows and columns that do not fill the boxes of a memory are padded there, with elements that are not
valid. A product with a single row, one that is itself padded and one made in blocks have another
shape in Acc memory than as values, so they become values in vector memory.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError
from pypto._src.frontend.regions.product_operands import (
    DimPart,
    Matrix,
    assigned,
    in_vector_memory,
    is_in_acc,
    matrix_operand,
    own_tensor,
    plus,
)
from pypto._src.frontend.state.call_keywords import refuse_unknown_keyword
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe, dtype_like
from pypto._src.frontend.syntax.annotations import plain_dims
from pypto._src.frontend.syntax.calls import op_call
from pypto._src.ir.array_types import TensorType, TileType, static_shape, valid_part
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import (
    Expr,
    Var,
)
from pypto._src.ir.stmts import AssignStmt, EvalStmt, ForStmt, IfStmt, Stmt, YieldStmt, seq
from pypto._src.ir.types import scalar_type
from pypto._src.ops import matmul as products
from pypto._src.ops import memory
from pypto._src.ops.define import BY_PYTHON_NAME
from pypto._src.ops.layout import round_up, whole_box
from pypto._src.ops.rules.type_rules import known_space
from pypto._src.records import NamedTuple
from pypto._src.targets import A2A3

_ACC_BYTES: Final = DataType.FP32.bytes
_UNROLLED: Final = 32
"""The most products of parts that are emitted one after another; more are made in loops."""
MOST_LOADED: Final = 64 * 1024
"""The most bytes of a tensor that are loaded in one piece; more are copied in parts."""


_OF_MATMUL: Final = ("lhs", "rhs", "out_dtype", "a_trans", "b_trans", "c_matrix_nz")
_OF_MATMUL_ACC: Final = ("acc", "lhs", "rhs", "a_trans", "b_trans", "init_cond")
_OF_MATMUL_BIAS: Final = ("lhs", "rhs", "bias")


def matmul_arguments(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> dict[str, Any] | None:
    """Return the arguments of ``pl.matmul(lhs, rhs, ...)`` by name; None without both operands."""
    return _by_name(ctx, _OF_MATMUL, args, kwargs, node)


def _by_name(
    ctx: Context,
    names: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.Call,
) -> dict[str, Any] | None:
    """Return a product's arguments by name; None if an operand is missing, or both are in place.

    Raises:
        ParserTypeError: there is no such keyword. The op on tiles would refuse those for regions.
    """
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if "lhs" not in given or "rhs" not in given:
        return None
    if all(_is_placed(given[key]) for key in ("lhs", "rhs")):
        return None
    refuse_unknown_keyword(ctx, node, kwargs, names)
    _check_options(ctx, given, node)
    return given


def _check_options(ctx: Context, given: Mapping[str, Any], node: ast.Call) -> None:
    """Check that an element type is one, and that flags are flags: a string would be true."""
    wanted = {"out_dtype": DataType, "a_trans": int, "b_trans": int}
    for name, kind in wanted.items():
        value = given.get(name)
        if value is None or isinstance(value, kind):
            continue
        word = next((word for word in node.keywords if word.arg == name), None)
        dtype = dtype_like(value) or DataType.FP32
        raise ParserTypeError(
            f"argument {name!r} of {ctx.source.text(node.func)} is {describe(value)}, "
            f"a {'DataType' if kind is DataType else 'bool'} was wanted",
            ctx.span(node if word is None else word.value),
            hint=f"write {f'pl.{dtype.member}' if kind is DataType else 'True'}",
            slug="argument-kind",
        )


def product_of_matrices(ctx: Context, given: Mapping[str, Any], node: ast.Call) -> Expr:
    """Return ``pl.matmul(lhs, rhs, ...)``: a tile in Acc, of FP32 or INT32."""
    return _product(ctx, None, _operands(ctx, given, node), given, node)


def gathered_product(
    ctx: Context,
    operands: tuple[Matrix, Matrix],
    transposed: tuple[bool, bool],
    target: Expr,
    begins: Sequence[Any],
    node: ast.Call,
) -> Expr:
    """Store the product of two matrices of equal K in a part of a tensor; return that tensor."""
    lhs, rhs = operands
    axes = (0 if transposed[0] else 1), (1 if transposed[1] else 0)
    assert isinstance(lhs.source.type, TensorType)
    return _Product(ctx, lhs, rhs, axes, lhs.source.type.dtype, node).gathered(target, begins)


def matmul_acc(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return ``pl.matmul_acc(acc, lhs, rhs, ...)``; without ``acc`` where ``init_cond`` holds."""
    given = _by_name(ctx, _OF_MATMUL_ACC, args, kwargs, node)
    if given is None or "acc" not in given:
        return None
    start = given.get("init_cond")
    acc = _accumulator(ctx, given["acc"], node)
    operands = _operands(ctx, given, node)
    if not isinstance(start, Expr):
        return _product(ctx, None if start else acc, operands, given, node)
    span = ctx.span(node)
    if is_in_acc(acc):
        outside, ctx.block = ctx.block, []
        first = _product(ctx, None, operands, given, node)
        then, ctx.block = ctx.block, []
        more = _product(ctx, acc, operands, given, node)
    else:  # both branches use one product
        assert ctx.region is not None
        first = _product(ctx, None, operands, given, node)
        first = ctx.region.operand(ctx, in_vector_memory(ctx, first, node), node)
        outside, then, ctx.block = ctx.block, list[Stmt](), []
        more = _sum(ctx, acc, first, node)
    orelse, ctx.block = ctx.block, outside
    var = Var("_tmp", first.type, span)
    then_body = seq([*then, YieldStmt((first,), span)], span)
    else_body = seq([*orelse, YieldStmt((more,), span)], span)
    ctx.block.append(IfStmt(start, then_body, else_body, (var,), span))
    return var


def matmul_bias(
    ctx: Context, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Expr | None:
    """Return ``pl.matmul_bias(lhs, rhs, bias)``: the product plus ``bias`` [1, N] in each row."""
    given = _by_name(ctx, _OF_MATMUL_BIAS, args, kwargs, node)
    if given is None or "bias" not in given:
        return None
    assert ctx.region is not None
    bias = ctx.region.operand(ctx, given["bias"], node)
    made = _product(ctx, None, _operands(ctx, given, node), given, node)
    made = assigned(ctx, in_vector_memory(ctx, made, node))
    return op_call(ctx, BY_PYTHON_NAME["block", "col_expand_add"], (made, bias), {}, node)


def _first_product(ctx: Context, node: ast.Call) -> str:
    """Return how what products are added to begins: with zeros of their shape."""
    kinds = [getattr(ctx.value(arg), "type", None) for arg in node.args[1:3]]
    shapes = [static_shape(kind) for kind in kinds if isinstance(kind, TensorType | TileType)]
    name = node.args[0].id if node.args and isinstance(node.args[0], ast.Name) else "acc"
    words = {word.arg: ctx.peek(word.value) for word in node.keywords}
    if len(shapes) != 2 or any(shape is None or len(shape) != 2 for shape in shapes):
        return f"begin with {name} = pl.matmul(...), the first product"
    rows = (shapes[0] or ())[1 if words.get("a_trans") is True else 0]
    columns = (shapes[1] or ())[0 if words.get("b_trans") is True else 1]
    zero = "pl.FP32, 0.0"
    if any(isinstance(kind, TensorType | TileType) and kind.dtype.is_int() for kind in kinds):
        zero = "pl.INT32, 0"
    return f"begin with {name} = pl.full([{rows}, {columns}], {zero})"


def _is_placed(value: Any) -> bool:
    return isinstance(value, Expr) and known_space(value) in (MemorySpace.Left, MemorySpace.Right)


def _accumulator(ctx: Context, acc: Any, node: ast.Call) -> Expr:
    """Return the accumulator of a product: a tile in Acc memory or in vector memory."""
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
        hint=_first_product(ctx, node),
        slug="product-operand",
    )


def begins_in_acc(shape: Sequence[Any], dtype: DataType) -> bool:
    """True if a product of this shape and element type is kept in Acc memory."""
    if len(shape) != 2:
        return False
    if not all(isinstance(size, int) for size in shape):
        return True
    unit = whole_box(dtype)
    held = round_up(shape[0], unit) * shape[1] * dtype.bytes
    fits = held <= A2A3.memories[MemorySpace.Acc].usable_bytes
    return shape[0] != 1 and shape[1] % unit == 0 and fits


def _operands(ctx: Context, given: Mapping[str, Any], node: ast.Call) -> tuple[Matrix, Matrix]:
    """Return the two matrices of a product."""
    return matrix_operand(ctx, given["lhs"], node), matrix_operand(ctx, given["rhs"], node)


def _product(
    ctx: Context,
    acc: Expr | None,
    operands: tuple[Matrix, Matrix],
    given: Mapping[str, Any],
    node: ast.Call,
) -> Expr:
    """Return the product of two matrices, added to ``acc`` if that is given."""
    lhs, rhs = operands
    transposed = bool(given.get("a_trans")), bool(given.get("b_trans"))
    left_axis, right_axis = (0 if transposed[0] else 1), (1 if transposed[1] else 0)
    rows, inner = lhs.sizes[1 - left_axis], lhs.sizes[left_axis]
    columns, inner2 = rhs.sizes[1 - right_axis], rhs.sizes[right_axis]
    if inner != inner2:
        raise ParserTypeError(
            f"a product of [{rows}, {inner}] and [{inner2}, {columns}] has different K",
            ctx.span(node),
            hint=None if inner != columns or transposed[1] else _transposed(ctx, node),
            slug="shape-mismatch",
        )
    _check_types(ctx, operands, given, node)
    dtype = lhs.source.type.dtype if isinstance(lhs.source.type, TensorType) else DataType.FP32
    product = _Product(ctx, lhs, rhs, (left_axis, right_axis), dtype, node)
    _check_result(ctx, given.get("out_dtype"), product, node)
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
        if not words and rows * columns * _ACC_BYTES > MOST_LOADED and acc is None:
            ctx.region.gathered = Gathered(gathered, held, len(own), own[-1], product)
            return gathered  # later it is stored elsewhere, in parts
        made = op_call(ctx, memory.load, (gathered, [0, 0], [rows, columns]), words, node)
        made = assigned(ctx, made)
        ctx.region.products.add(made)
    if acc is None or start is not None:
        return made
    return _sum(ctx, acc, in_vector_memory(ctx, made, node), node)


def _check_types(
    ctx: Context,
    operands: tuple[Matrix, Matrix],
    given: Mapping[str, Any],
    node: ast.Call | ast.BinOp | ast.AugAssign,
) -> None:
    """Check that both matrices have the same element type; the ops on their parts know no names."""
    kinds = [matrix.source.type for matrix in operands]
    dtypes = [kind.dtype for kind in kinds if isinstance(kind, TensorType | TileType)]
    if len(dtypes) < 2 or dtypes[0] is dtypes[1]:
        return
    if isinstance(node, ast.BinOp):
        nodes = {"lhs": node.left, "rhs": node.right}
    elif isinstance(node, ast.AugAssign):
        nodes = {"lhs": node.target, "rhs": node.value}
    else:
        names = _OF_MATMUL_ACC if "acc" in given else _OF_MATMUL
        nodes = dict(zip(names, node.args, strict=False))
        nodes |= {word.arg: word.value for word in node.keywords if word.arg}
    lhs, rhs = (ctx.source.text(nodes[name]) for name in ("lhs", "rhs"))
    wider = max(dtypes, key=lambda dtype: (dtype.is_float(), dtype.get_bit()))
    text = rhs if dtypes[0] is wider else lhs
    raise ParserTypeError(
        f"a product is of matrices of one element type, {lhs} has {dtypes[0].member} and {rhs} "
        f"{dtypes[1].member}",
        ctx.span(node),
        hint=f"write pl.cast({text}, pl.{wider.member})",
        slug="dtype-mismatch",
    )


def _check_result(ctx: Context, wanted: Any, product: _Product, node: ast.Call) -> None:
    """Check that a product can have elements ``wanted``: a store only rounds floats."""
    summed = product.summed
    if not isinstance(wanted, DataType) or wanted is summed:
        return
    if summed.is_float() and wanted.is_float():
        return
    others = [item for item in (*node.args[:2], *node.keywords) if not _is_out_dtype(item)]
    texts = [*(ctx.source.text(item) for item in others), f"out_dtype=pl.{summed.member}"]
    made = f"{ctx.source.text(node.func)}({', '.join(texts)})"
    raise ParserTypeError(
        f"a product of {product.dtype.member} is added up in {summed.member}, "
        f"out_dtype is {wanted.member}",
        ctx.span(next(filter(_is_out_dtype, node.keywords), node)),
        hint=f"write pl.cast({made}, pl.{wanted.member})",
        slug="product-operand",
    )


def _is_out_dtype(item: ast.expr | ast.keyword) -> bool:
    return isinstance(item, ast.keyword) and item.arg == "out_dtype"


def _sum(ctx: Context, acc: Expr, product: Expr, node: ast.Call) -> Expr:
    """Return a product in vector memory added to ``acc``, which is moved there."""
    assert ctx.region is not None
    add = BY_PYTHON_NAME["block", "add"]
    total: Expr = ctx.region.call(ctx, add, (in_vector_memory(ctx, acc, node), product), {}, node)
    return total


class Gathered(NamedTuple):
    """A product of many blocks that was made in a tensor of the region's own."""

    value: Expr  # the tensor once it is filled
    held: Var  # the tensor
    length: int  # the number of statements that made it
    last: Stmt  # the last of them
    product: _Product


class _Product:
    """The product of two matrices: blocks that fit Acc memory, parts of K that fit the others.

    Blocks and parts are emitted one after another, or in loops if there are many.
    """

    def __init__(
        self,
        ctx: Context,
        lhs: Matrix,
        rhs: Matrix,
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
        # For these types boxes are not square: what is transposed on the way has to fill both.
        oblong = dtype.bytes != 2  # a box is a square for 2 bytes
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

    def _high(self, span: DimPart) -> DimPart:
        return span._replace(padded=round_up(span.size, self.high))

    def _wide(self, span: DimPart) -> DimPart:
        return span._replace(padded=round_up(span.size, self.wide))

    def block(self, down: DimPart, across: DimPart, start: Expr | None = None) -> Expr:
        """Return a block of the product, added to ``start``, as a tile in Acc memory."""
        down, across = self._high(down), self._wide(across)
        parts = _parts(down.padded, self.inner, across.padded, self.dtype)
        if self.in_loops and len(parts) > 2 and start is None:
            return self._in_a_loop(down, across, parts)
        result = start
        for part in parts[:-1]:
            result = assigned(self.ctx, self._part(part, down, across, result))
        return self._part(parts[-1], down, across, result)

    def _part(self, part: DimPart, down: DimPart, across: DimPart, acc: Expr | None) -> Expr:
        """Return the product of parts of K, added to ``acc``."""
        k = part._replace(padded=round_up(part.size, self.unit if part.size == 1 else self.depth))
        a = self.lhs.part(self.axes[0], k, down, MemorySpace.Left, self.node)
        b = self.rhs.part(self.axes[1], k, across, MemorySpace.Right, self.node)
        if acc is None:
            return op_call(self.ctx, products.matmul, (a, b), {}, self.node)
        return op_call(self.ctx, products.matmul_acc, (acc, a, b), {}, self.node)

    def _in_a_loop(self, down: DimPart, across: DimPart, parts: Sequence[DimPart]) -> Expr:
        first, *others = parts
        ctx, span = self.ctx, self.ctx.span(self.node)
        result = assigned(ctx, self._part(first, down, across, None))

        def add(part: DimPart) -> None:
            made = self._part(part, down, across, result)
            ctx.block.append(AssignStmt(result, made, span))

        self._each(others, "k", add)
        return result

    def gathered(self, target: Expr, begins: Sequence[Any]) -> Expr:
        """Store all blocks in a part of a tensor; return the tensor after that."""
        ctx, span = self.ctx, self.ctx.span(self.node)
        blocks = _blocks(self.rows, self.columns, self.dtype)
        held = target

        def store(down: DimPart, across: DimPart) -> Expr:
            made = self.block(down, across)
            assert isinstance(made.type, TileType)
            part = valid_part(made.type)
            sizes = [down.size, across.size] if part is None else [*plain_dims(part)]
            at = [plus(begins[0], down.begin), plus(begins[1], across.begin)]
            return op_call(ctx, memory.store, (made, at, sizes, held), {}, self.node)

        if not self.in_loops:
            for down, across in blocks:
                stored = store(down, across)
                held = assigned(ctx, stored)
                ctx.follow(held, stored)
            return held
        held = assigned(ctx, target)
        ctx.follow(held, target)

        def row(down: DimPart) -> None:
            def column(across: DimPart) -> None:
                ctx.block.append(AssignStmt(held, store(down, across), span))

            self._each(list(dict.fromkeys(across for _, across in blocks)), "n", column)

        self._each(list(dict.fromkeys(down for down, _ in blocks)), "m", row)
        return held

    def _each(self, spans: Sequence[DimPart], name: str, body: Callable[[DimPart], None]) -> None:
        """Call ``body`` with consecutive spans, of which the last may be shorter."""
        size = spans[0].size
        equal = [span for span in spans if span.size == size]
        if len(equal) > 2:
            ctx, where = self.ctx, self.ctx.span(self.node)
            counter = Var(f"_{name}", scalar_type(DataType.INDEX), where)
            outside, ctx.block = ctx.block, []
            body(DimPart(counter, size, size))
            made, ctx.block = seq(ctx.block, where), outside
            begin, end = equal[0].begin, equal[-1].begin + size
            ctx.block.append(ForStmt(counter, begin, end, size, (), made, (), where))
            spans = spans[len(equal) :]
        for span in spans:
            body(span)


def copied(ctx: Context, source: Expr, begins: Sequence[Any], target: Expr, node: ast.AST) -> Expr:
    """Copy a tensor of constant size to a part of another one, by way of vector memory.

    A product is rounded to the element type of the target, as the matrix unit would have done. One
    that has just been made for nothing else is made there directly.
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
    step = max(1, MOST_LOADED // row)
    for span in _spans(sizes[0], step if sizes[0] * row > MOST_LOADED else sizes[0]):
        here = [span.size, *sizes[1:]]
        at = [span.begin, *[0] * (len(sizes) - 1)]
        tile: Expr = op_call(ctx, memory.load, (source, at, here), {}, node)
        if dtype is not source.type.dtype and dtype in _NARROWED:
            tile = op_call(ctx, BY_PYTHON_NAME["block", "cast"], (tile, dtype), {}, node)
        offsets = [plus(begins[0], span.begin), *begins[1:]]
        stored = op_call(ctx, memory.store, (tile, offsets, here, target), {}, node)
        if span.begin + span.size == sizes[0]:
            return stored
        ctx.block.append(EvalStmt(stored, stored.span))
    return target


def _is_free(ctx: Context, made: Gathered, target: Expr) -> bool:
    """True if a product has no other use, and its blocks can be stored in ``target`` directly."""
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
    """Return the parameter or new tensor whose memory a tensor shares, None if unknown."""
    found = ctx.origin(tensor)
    return tensor if found is None and (tensor in ctx.made_here or tensor in ctx.inputs) else found


def _assigned_to(stmt: Stmt) -> Var | None:
    return stmt.var if isinstance(stmt, AssignStmt) else None


_NARROWED: Final = frozenset({DataType.FP16, DataType.BF16})


def narrowed(ctx: Context, value: Any, dtype: DataType, node: ast.AST) -> Any:
    """Return a value as a tensor of ``dtype`` takes it: a product is rounded when stored."""
    assert ctx.region is not None
    if not isinstance(value, Var) or value not in ctx.region.products or dtype not in _NARROWED:
        return value
    assert isinstance(value.type, TileType)
    if value.type.dtype is dtype:
        return value
    return op_call(ctx, BY_PYTHON_NAME["block", "cast"], (value, dtype), {}, node)


def _valid_of(operand: Matrix, axis: int) -> Any:
    return (operand.sizes if operand.valid is None else operand.valid)[axis]


def _transposed(ctx: Context, node: ast.Call | ast.BinOp | ast.AugAssign) -> str | None:
    """Return the product with the second matrix transposed."""
    if isinstance(node, ast.Call):
        return "write b_trans=True"
    from pypto._src.frontend.diagnose.fixits import sides
    from pypto._src.frontend.diagnose.operator_hints import in_place

    texts = [ctx.source.text(side) for side in sides(node)]
    return in_place(ctx, node, f"pl.matmul({', '.join(texts)}, b_trans=True)")


def _spans(size: int, most: int) -> list[DimPart]:
    """Split a dimension into parts of at most ``most`` elements."""
    return [DimPart(start, part := min(most, size - start), part) for start in range(0, size, most)]


def _blocks(rows: int, columns: int, dtype: DataType) -> list[tuple[DimPart, DimPart]]:
    """Return the blocks of a product: each fits Acc memory, and its operands Left and Right."""
    unit = whole_box(dtype)
    down, across = round_up(rows, unit), round_up(columns, unit)
    # The smallest part of K fits, for each operand.
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


def _parts(rows: int, inner: int, columns: int, dtype: DataType) -> list[DimPart]:
    """Split K into parts that fit Left and Right memory."""
    unit = whole_box(dtype)
    size = inner
    for space, other in ((MemorySpace.Left, rows), (MemorySpace.Right, columns)):
        room = A2A3.memories[space].usable_bytes // (round_up(other, unit) * dtype.bytes)
        if room < round_up(inner, unit):
            size = min(size, max(unit, room // 2 // unit * unit))
    return _spans(inner, size)
