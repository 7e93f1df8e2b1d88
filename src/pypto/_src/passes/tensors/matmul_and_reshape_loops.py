"""Loops over tiles for products of matrices and for tensors that are copied in another shape.

The result is the same elements in another order (`write_reshape`, `write_transpose`), or a product
in Acc memory (`write_product`). `elementwise_loops` covers all ops whose shapes broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from pypto._src.dtypes import DataType
from pypto._src.errors import PassError
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import (
    Call,
    ConstInt,
    Expr,
    FloorDiv,
    FloorMod,
    MakeTuple,
    Min,
    Sub,
    Var,
    binary,
    const_value,
)
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ops import layout, matmul, memory, tensor
from pypto._src.ops.conversion import on_tiles
from pypto._src.ops.define import FACTORS
from pypto._src.ops.reshaping import swapped
from pypto._src.ops.rules.type_rules import describe, dims, known_size
from pypto._src.passes.tensors.tile_loops import (
    Builder,
    begin_of,
    bytes_at_peak,
    divisors,
    load_tile,
    nest,
    plus,
    product,
    shaped,
    steps,
    store_tile,
    tensor_type,
)
from pypto._src.targets import A2A3, Target

T = TypeVar("T")

_BOX: Final = 16
"""Rows and columns of the boxes that matrix tiles consist of; INT8 takes 32."""
_UNKNOWN: Final = 128
"""The most rows and columns of a transposed tile where sizes are known only at run time."""
_LONGEST: Final = 4096
"""The most elements of a copied tile where sizes are known only at run time."""
_EDGE: Final = 128
"""The most rows and columns of one tile of a product, so that two of each operand fit."""

Body = Callable[[Builder, Sequence[Expr], list[Var]], list[Var]]
"""Appends the work at an offset; gets and returns the written tensors."""


def nest_of_parts(
    b: Builder,
    space: Sequence[Expr],
    sizes: Sequence[int],
    targets: Sequence[Var],
    body: Body,
    names: Sequence[str],
) -> list[Var]:
    """Append loops over the tiles of ``sizes`` in ``space``; return the targets after them.

    A tile may extend beyond the tensors, which may be smaller than one tile.
    """

    def level(b: Builder, offsets: tuple[Expr, ...], now: list[Var]) -> list[Var]:
        axis = len(offsets)
        if axis == len(space):
            return body(b, offsets, now)
        dim, size = space[axis], sizes[axis]
        known = known_size(dim)
        if known is not None and 0 < known <= size:
            return level(b, (*offsets, ConstInt(0)), now)

        def iteration(inside: Builder, counter: Var, held: list[Var]) -> Sequence[Var]:
            stays = known is None or known < size
            begin = counter if stays else begin_of(inside, counter, dim, size)
            return level(inside, (*offsets, begin), held)

        return b.loop(names[axis], (0, dim, size), now, iteration)

    return level(b, (), list(targets))


def _tile_of(count: int | None, unit: int, most: int) -> int:
    """Return the size of tiles along a dimension of ``count``: a large divisor if there is one.

    Otherwise the dimension is cut into equal parts, of which the last one is shorter.
    """
    if count is None:
        return unit
    largest = max(1, min(count, most) // unit)
    exact = [d for d in divisors(count // unit) if d <= largest] if count % unit == 0 else []
    if exact and exact[0] * 2 > largest:
        return unit * exact[0]
    parts = max(1, -(-count // (largest * unit)))
    return unit * max(1, min(largest, -(-count // (parts * unit))))


# --------------------------------------------------------------------------------------------
# Other orders
# --------------------------------------------------------------------------------------------


def _run(shape: Sequence[int]) -> int:
    """Return the dimension along which elements are contiguous in memory."""
    return max((axis for axis, size in enumerate(shape) if size != 1), default=len(shape) - 1)


def _indices(linear: Expr, shape: Sequence[int], run: int) -> list[Expr]:
    """Return the index of element ``linear`` of a tensor of ``shape``."""
    indices: list[Expr] = [ConstInt(0)] * len(shape)
    rest = linear
    for axis in range(run, -1, -1):
        if shape[axis] == 1:
            continue
        is_outer = math.prod(shape[:axis]) == 1
        indices[axis] = rest if is_outer else _fold(FloorMod, rest, shape[axis])
        rest = _fold(FloorDiv, rest, shape[axis])
    return indices


def _fold(kind: Any, value: Expr, by: int) -> Expr:
    known = const_value(value)
    if known is not None:
        return ConstInt(kind.fold(known, by))
    return binary(kind, value, by, value.span)


def write_reshape(b: Builder, call: Call, target: Var, chip: Target = A2A3) -> Var:
    """Append the copy of a tensor to ``target`` of another shape; return its new name.

    Raises:
        PassError: the elements that are contiguous in both do not fill blocks of memory.
    """
    source = call.args[0]
    assert isinstance(source, Var)
    old, new = static_shape(tensor_type(source)), static_shape(tensor_type(target))
    dtype = tensor_type(source).dtype
    call_text = f"pl.reshape({user_name(source)}, ...)"
    outside = f"{user_name(target)} = {call_text} before the with statement"
    if old is None or new is None or -1 in old or -1 in new:
        shapes = tensor_type(source).shape, tensor_type(target).shape
        is_part = not b.views.keys().isdisjoint((source, target))
        if not is_part and all(const_value(dim) != -1 for shape in shapes for dim in shape):
            return _write_run(b, source, target, chip)
        wanted = "constant sizes" if is_part else "sizes that have names"
        raise PassError(
            f"pl.reshape from {dims(shapes[0])} to {dims(shapes[1])} in a kernel needs {wanted}",
            call.span,
            hint=outside if is_part else 'declare it: n = pl.dynamic("n"), and write n for -1',
            slug="tensor-tile",
        )
    total = math.prod(old)
    if not total:
        return target
    from_axis, to_axis = _run(old), _run(new)
    length = math.gcd(old[from_axis], new[to_axis])
    unit = max(1, layout.BLOCK_BYTES // dtype.bytes)
    if length % unit:  # such runs are padded on chip
        unit = 1
    room = chip.memories[MemorySpace.Vec].usable_bytes // 4 // dtype.bytes
    length = unit * _largest(length // unit, room // unit)

    def body(b: Builder, offsets: Sequence[Expr], _: Sequence[int], now: list[Var]) -> list[Var]:
        (at,) = offsets
        sizes = [length if axis == from_axis else 1 for axis in range(len(old))]
        tile = load_tile(b, source, _indices(at, old, from_axis), sizes)
        sizes = [length if axis == to_axis else 1 for axis in range(len(new))]
        tile = shaped(b, tile, sizes if len(sizes) > 1 else [1, *sizes])
        return [store_tile(b, tile, _indices(at, new, to_axis), sizes, now[0])]

    return nest(b, [ConstInt(total)], [(length,)], [target], body, ["run"])[0]


def _write_run(b: Builder, source: Var, target: Var, chip: Target) -> Var:
    """Append the copy of all elements, a number known only at run time, in their order.

    Where a call gives shapes of different numbers of elements, the smaller number is copied.
    """
    dtype = tensor_type(source).dtype
    count = binary(Min, _element_count(source), _element_count(target), b.span)
    count = b.let("count", count)
    runs = [
        b.let(f"{var.name}_run", tensor.reshape_view.build((var, [1, _element_count(var)]), {}))
        for var in (source, target)
    ]
    room = chip.memories[MemorySpace.Vec].usable_bytes // 4 // dtype.bytes
    unit = max(1, layout.BLOCK_BYTES // dtype.bytes)

    def body(
        b: Builder, offsets: Sequence[Expr], widths: Sequence[int], now: list[Var]
    ) -> list[Var]:
        at, sizes = [ConstInt(0), offsets[0]], [1, widths[0]]
        return [store_tile(b, load_tile(b, runs[0], at, sizes), at, sizes, now[0])]

    sizes = steps(count, min(_LONGEST, room // unit * unit), unit)
    run = nest(b, [count], [sizes], [runs[1]], body, ["run"])[0]
    shape = MakeTuple(tensor_type(target).shape)
    return b.let(target.name, tensor.reshape_view.build((run, shape), {}))


def _element_count(var: Var) -> Expr:
    return product(tensor_type(var).shape)


def _largest(count: int, most: int) -> int:
    return next(d for d in divisors(count) if d <= most)


def write_transpose(b: Builder, call: Call, target: Var, chip: Target = A2A3) -> Var:
    """Append the copy of a tensor with two dimensions swapped; return the target after it.

    Raises:
        PassError: rows or columns do not fill blocks of memory.
    """
    source, *axes = call.args
    assert isinstance(source, Var)
    kind = tensor_type(source)
    if any(const_value(dim) == 0 for dim in kind.shape):
        return target
    rank = len(kind.shape)
    first, second = sorted((const_value(axis) or 0) % rank for axis in axes)
    swaps_rows = second == rank - 1
    row = first if swaps_rows else rank - 2 if rank - 2 != first else second
    unit = max(1, layout.BLOCK_BYTES // kind.dtype.bytes)
    space, sizes = list(kind.shape), [1] * rank
    units = {row: unit if swaps_rows else 1, rank - 1: unit}
    for axis, least in units.items():
        known = known_size(space[axis])
        sizes[axis] = least if known is None else min(least, known)  # fewer are padded on chip
    room = chip.memories[MemorySpace.Vec].usable_bytes // 2

    def body(
        b: Builder, offsets: Sequence[Expr], widths: Sequence[int], now: list[Var]
    ) -> list[Var]:
        tile = load_tile(b, source, offsets, widths)
        tile = shaped(b, tile, [widths[row], widths[-1]])
        at, out = swapped(offsets, first, second), swapped(widths, first, second)
        if swaps_rows:
            new = on_tiles(call, (tile, ConstInt(0), ConstInt(1)), b.name)
            b.stmts += new.stmts
            tile = b.let(f"{target.name}_tile", new.value)
        else:
            tile = shaped(b, tile, out if len(out) > 1 else [1, *out])
        return [store_tile(b, tile, at, out, now[0])]

    for axis in (rank - 1, row):
        known = known_size(space[axis])
        for count in _sizes_down(_UNKNOWN if known is None else known, sizes[axis]):
            kept, sizes[axis] = sizes[axis], count
            trial = Builder(lambda name: name, b.span)
            body(trial, [ConstInt(0)] * rank, sizes, [target])
            if bytes_at_peak(trial.stmts) <= room:
                break
            sizes[axis] = kept
    every = [
        steps(dim, size, units.get(axis, 1))
        for axis, (dim, size) in enumerate(zip(space, sizes, strict=True))
    ]
    return nest(b, space, every, [target], body)[0]


def _sizes_down(count: int, unit: int) -> list[int]:
    """Return multiples of ``unit`` up to ``count``, the largest first."""
    found: list[int] = []
    now = count // unit
    while now:
        found.append(now * unit)
        now //= 2
    return found


# --------------------------------------------------------------------------------------------
# Products
# --------------------------------------------------------------------------------------------

_ACCUMULATED: Final = {
    DataType.FP32: frozenset({DataType.FP32, DataType.FP16, DataType.BF16}),
    DataType.INT32: frozenset({DataType.INT32}),
}
"""Element types in which a product can be stored, by the type of its accumulator."""


def write_product(
    b: Builder,
    call: Call,
    sinks: Sequence[tuple[Var, Sequence[Expr] | None]],
    chip: Target = A2A3,
) -> list[Var]:
    """Append a product of matrices, stored in each target at its offset; return the targets.

    Operands go from global memory to Mat, from there to Left and Right; products along K are
    accumulated in Acc. Stacks of matrices are multiplied one after the other.

    Raises:
        PassError: the matrix unit does not accept the operands' element types or shapes.
    """
    return _Product(b, call, sinks, chip).write()


class _Product:
    def __init__(
        self,
        b: Builder,
        call: Call,
        sinks: Sequence[tuple[Var, Sequence[Expr] | None]],
        chip: Target,
    ) -> None:
        self.b = b
        self.call = call
        self.sinks = sinks
        lhs, rhs = call.args
        assert isinstance(lhs, Var)
        assert isinstance(rhs, Var)
        self.lhs, self.rhs = lhs, rhs
        self._check()
        a_trans, b_trans = bool(call.kwargs.get("a_trans")), bool(call.kwargs.get("b_trans"))
        is_vector = len(tensor_type(lhs).shape) == 1  # a row, which needs no reshape
        self.transposed = a_trans and not is_vector, b_trans
        if len(tensor_type(rhs).shape) == 1:  # A x is x A'
            self.lhs, self.rhs = rhs, lhs
            self.transposed = False, not a_trans
        a, c = tensor_type(self.lhs).shape, tensor_type(self.rhs).shape
        self.has_rows = len(a) > 1
        rows, inner = _matrix(a, self.transposed[0])
        other, columns = _matrix(c, self.transposed[1])
        self.matrix = rows, columns
        assert isinstance(call.type, TensorType)
        self.stack = call.type.shape[: -2 if self.has_rows else -1]
        self.depths = inner if known_size(other) is None else other
        self.inner = known_size(self.depths)  # None: known only at run time
        self.chip = chip
        self.size = tensor_type(lhs).dtype.bytes
        self._fit()

    def _refuse(self, message: str, hint: str) -> PassError:
        return PassError(message, self.call.span, hint=hint, slug="tensor-matmul")

    def _check(self) -> None:
        a, c = tensor_type(self.lhs), tensor_type(self.rhs)
        left, right = user_name(self.lhs), user_name(self.rhs)
        if len(a.shape) == len(c.shape) == 1:
            raise self._refuse(
                f"pl.matmul in a kernel multiplies matrices, {left} is {describe(a)} and "
                f"{right} is {describe(c)}",
                f"pl.matmul({left}, {right}) before the with statement",
            )
        if a.dtype is not c.dtype or a.dtype not in FACTORS:
            raise self._refuse(
                f"the matrix unit multiplies elements of one type out of "
                f"{', '.join(sorted(d.member for d in FACTORS))}, {left} is "
                f"{describe(a)} and {right} is {describe(c)}",
                f"pl.cast({right}, pl.{a.dtype.member}) before the product",
            )
        acc = DataType.FP32 if a.dtype.is_float() else DataType.INT32
        for target, _ in self.sinks:
            dtype = tensor_type(target).dtype
            if dtype not in _ACCUMULATED[acc]:
                raise self._refuse(
                    f"a product of {a.dtype.member} elements adds up in {acc.member}, which is "
                    f"not stored as {dtype.member}",
                    f"pl.matmul({left}, {right}, out_dtype=pl.{acc.member})",
                )

    def _fit(self) -> None:
        """Choose rows, columns and depth of tiles; reshape a vector that fills no blocks."""
        rows, columns = (known_size(dim) for dim in self.matrix)
        across = _BOX if self.size > 1 else 2 * _BOX
        least = 512 // self.size  # elements of a single row: it moves in units of 512 bytes
        fills = self.inner is not None and self.inner > 0 and self.inner % least == 0
        if not self.has_rows and not (fills and (columns is None or columns >= across)):
            shape = MakeTuple([1, *tensor_type(self.lhs).shape])
            row = tensor.reshape_view.build((self.lhs, shape), {})
            self.lhs = self.b.let(f"{self.lhs.name}_row", row)
        is_vector = len(tensor_type(self.lhs).shape) == 1
        self.is_row = rows == 1 and (is_vector or fills)
        depth = least if self.is_row else across
        m = 1 if self.is_row else _tile_of(rows, across, _EDGE)
        n = _tile_of(columns, across, _EDGE)
        half = self.chip.memories[MemorySpace.Left].usable_bytes // 2
        most = max(1, half // self.size // max(m, n) // depth)
        self.tile = m, n
        if not self.inner:  # the valid size of each part is known only at run time
            self.depth = depth * most
            return
        whole = self.inner // depth
        if self.inner % depth == 0 and whole:
            self.depth = depth * _largest(whole, most)
        else:  # the rest is one more product, partly valid
            self.depth = depth * max(1, min(whole, most))

    def write(self) -> list[Var]:
        """Append the loops; a product without elements needs none."""
        targets = [target for target, _ in self.sinks]
        if any(const_value(dim) == 0 for dim in (*self.stack, *self.matrix)):
            return targets
        sizes = (*[1] * len(self.stack), *self.tile)
        names = (*["batch"] * len(self.stack), "row", "col")
        space = (*self.stack, *self.matrix)
        return nest_of_parts(self.b, space, sizes, targets, self._block, names)

    def _block(self, b: Builder, offsets: Sequence[Expr], now: list[Var]) -> list[Var]:
        name = self.sinks[0][0].name
        valid = self._valid(b, offsets)
        multiply, accumulate = (
            (matmul.gemv, matmul.gemv_acc) if self.is_row else (matmul.matmul, matmul.matmul_acc)
        )
        whole = ConstInt(self.depth)
        first = ConstInt(min(self.inner, self.depth)) if self.inner else self._rest(b, ConstInt(0))
        left, right = self._operands(b, offsets, valid, ConstInt(0), first)
        acc = b.let(f"{name}_acc", multiply.build((left, right), {}, b.span))
        end = None if self.inner is None else self.inner // self.depth * self.depth

        def iteration(inside: Builder, counter: Var, held: list[Var]) -> Sequence[Var]:
            count = whole if self.inner else self._rest(inside, counter)
            left, right = self._operands(inside, offsets, valid, counter, count)
            value = accumulate.build((held[0], left, right), {}, b.span)
            return [inside.let(f"{name}_acc", value)]

        if end is None or end > self.depth:
            bounds = (self.depth, self.depths if end is None else end, self.depth)
            (acc,) = b.loop("k", bounds, [acc], iteration)
        if self.inner and end and end < self.inner:
            rest = ConstInt(self.inner - end)
            left, right = self._operands(b, offsets, valid, ConstInt(end), rest)
            acc = b.let(f"{name}_acc", accumulate.build((acc, left, right), {}, b.span))
        rows = slice(0 if self.has_rows else 1, None)
        sizes = (*[1] * len(self.stack), *valid[rows])
        indices = (*offsets[: len(self.stack)], *offsets[-2:][rows])
        out: list[Var] = []
        for target, (_, offset) in zip(now, self.sinks, strict=True):
            at = list(indices)
            if offset is not None:
                at = [plus(o, each) for o, each in zip(offset, indices, strict=True)]
            operands = (acc, MakeTuple(at), MakeTuple(sizes), target)
            out.append(b.let(target.name, memory.store.build(operands, {}, b.span)))
        return out

    def _valid(self, b: Builder, offsets: Sequence[Expr]) -> tuple[Expr, Expr]:
        """Return how many rows and columns of a block are inside the tensors."""
        found: list[Expr] = []
        for name, dim, size, begin in zip(
            ("rows", "cols"), self.matrix, self.tile, offsets[-2:], strict=True
        ):
            part: Expr = ConstInt(min(size, known_size(dim) or size))
            if known_size(dim) is None:
                part = b.let(name, binary(Min, binary(Sub, dim, begin, b.span), size, b.span))
            found.append(part)
        return found[0], found[1]

    def _rest(self, b: Builder, begin: Expr) -> Expr:
        """Return how much of a part along the inner dimension is inside the tensors."""
        rest = self.depths if const_value(begin) == 0 else binary(Sub, self.depths, begin, b.span)
        return b.let("depth", binary(Min, rest, self.depth, b.span))

    def _operands(
        self, b: Builder, offsets: Sequence[Expr], valid: tuple[Expr, Expr], k: Expr, depth: Expr
    ) -> tuple[Var, Var]:
        """Return tiles of both operands from ``k`` on, ``depth`` of the inner size valid."""
        *stack, row, column = offsets
        (m, n), (rows, columns) = self.tile, valid
        left = self._operand(
            b, self.lhs, stack, (row, k), (m, self.depth), (rows, depth), MemorySpace.Left
        )
        right = self._operand(
            b, self.rhs, stack, (k, column), (self.depth, n), (depth, columns), MemorySpace.Right
        )
        return left, right

    def _operand(
        self,
        b: Builder,
        source: Var,
        stack: Sequence[Expr],
        at: tuple[Expr, Expr],
        sizes: tuple[int, int],
        valid: tuple[Expr, Expr],
        space: MemorySpace,
    ) -> Var:
        transposed = self.transposed[space is MemorySpace.Right]
        offsets, shape = (at[::-1], sizes[::-1]) if transposed else (at, sizes)
        before = tensor_type(source).shape[:-2]
        front = [
            ConstInt(0) if const_value(dim) == 1 else offset
            for dim, offset in zip(before, stack[len(stack) - len(before) :], strict=True)
        ]
        is_vector = len(tensor_type(source).shape) == 1
        ones = [1] * len(front)
        kwargs: dict[str, Any] = {"target_memory": MemorySpace.Mat}
        if any(const_value(part) != size for part, size in zip(valid, sizes, strict=True)):
            kwargs["valid_shapes"] = MakeTuple([*ones, *(valid[::-1] if transposed else valid)])
        box = MakeTuple([*ones, *shape[is_vector:]])
        operands = (source, MakeTuple([*front, *offsets[is_vector:]]), box)
        loaded = memory.load.build(operands, kwargs, b.span)
        mat = shaped(b, b.let(f"{source.name}_mat", loaded), shape)
        kwargs = {"target_memory": space}
        if transposed:
            kwargs["transpose"] = True
        return b.let(
            f"{source.name}_{space.name.lower()}", memory.move.build((mat,), kwargs, b.span)
        )


def _matrix(shape: Sequence[Expr], transposed: bool) -> tuple[Expr, Expr]:
    """Return rows and columns of each matrix of a stack; a vector is a row."""
    rows, columns = shape[-2:] if len(shape) > 1 else (ConstInt(1), shape[0])
    return (columns, rows) if transposed else (rows, columns)
