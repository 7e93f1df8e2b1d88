"""What each tile op computes, on NumPy arrays.

An op that is also in the registry means what it means there. Knows nothing of control flow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from xdsl.dialects.builtin import IntegerAttr

from pypto._src.dialect.conversions import converted, integers
from pypto._src.dialect.rules import attribute_of
from pypto._src.dialect.tile_ops import TileOp
from pypto._src.dialect.types import TileType, Word
from pypto._src.dialect.values import Array, Region, TileValue
from pypto._src.errors import EvaluationError
from pypto._src.ops.bitwise import remainder
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.lazy.columns import first_best
from pypto._src.ops.lazy.sorting import merged_runs, sorted_runs


@dataclass(frozen=True)
class Step:
    """One tile op as it runs: its operands by name and its attributes."""

    op: TileOp
    values: Mapping[str, Any]
    simulator: bool = False
    """True for the results of the recorded simulator where they differ from the device's."""

    def has(self, name: str) -> bool:
        """True if the op has the operand ``name``."""
        return name in self.values

    def tile(self, name: str) -> TileValue:
        """Return the tile ``name``."""
        value = self.values[name]
        assert isinstance(value, TileValue)
        return value

    def region(self, name: str) -> Region:
        """Return the region of global memory ``name``."""
        value = self.values[name]
        assert isinstance(value, Region)
        return value

    def word(self, name: str) -> str | None:
        """Return the keyword that an attribute holds, None if the op does not have it."""
        found = attribute_of(self.op, name)
        return found.data if isinstance(found, Word) else None

    def integer(self, name: str, default: int = 0) -> int:
        """Return the number or Boolean that an attribute holds."""
        found = attribute_of(self.op, name)
        return found.value.data if isinstance(found, IntegerAttr) else default


Meaning = Callable[[Step], None]
One = Callable[[Any], Any]
Two = Callable[[Any, Any], Any]

# --------------------------------------------------------------------------------------------
# Patterns of ops
# --------------------------------------------------------------------------------------------


def _put(dst: TileValue, values: Any) -> None:
    """Write values to the valid part of a tile, converted to its element type."""
    live = dst.live
    live[...] = np.broadcast_to(np.asarray(values), live.shape).astype(live.dtype)


def _beside(scalar: Any, array: Array) -> Any:
    """Return a scalar as an element of an array's type."""
    return np.asarray(scalar).astype(array.dtype)


def elementwise(compute: Callable[..., Any], *names: str) -> Meaning:
    """Compute each valid element of dst from the operands' elements at the same position."""

    def run(step: Step) -> None:
        dst = step.tile("dst")
        tiles = [step.values[name] for name in names if step.has(name)]
        first = next(value for value in tiles if isinstance(value, TileValue))
        arrays = [
            value.within(dst.valid) if isinstance(value, TileValue) else _beside(value, first.data)
            for value in tiles
        ]
        _put(dst, compute(*arrays))

    return run


def _is_narrow(array: Array) -> bool:
    return array.dtype.kind not in "iu" and array.dtype.itemsize < 4


def in_f32(compute: One) -> One:
    """Compute 16-bit floats in 32 bits and round once."""

    def run(x: Array) -> Any:
        if not _is_narrow(x):
            return compute(x)
        return np.asarray(compute(x.astype(np.float32))).astype(x.dtype)

    return run


def pair_in_f32(compute: Two) -> Two:
    """Compute pairs of 16-bit floats in 32 bits and round once."""

    def run(x: Array, y: Array) -> Any:
        if not _is_narrow(x):
            return compute(x, y)
        wide = compute(x.astype(np.float32), y.astype(np.float32))
        return np.asarray(wide).astype(x.dtype)

    return run


def over_rows(compute: Callable[[Array], Any]) -> Meaning:
    """Reduce each row of src to one element of dst."""

    def run(step: Step) -> None:
        _put(step.tile("dst"), np.asarray(compute(step.tile("src").live)).reshape(-1, 1))

    return run


def over_columns(compute: Callable[[Array], Any]) -> Meaning:
    """Reduce each column of src to one element of dst."""

    def run(step: Step) -> None:
        _put(step.tile("dst"), np.asarray(compute(step.tile("src").live)).reshape(1, -1))

    return run


def by_row(compute: Callable[[Array, Array], Any]) -> Meaning:
    """Combine each element of src0 with the value of src1 for its row."""

    def run(step: Step) -> None:
        dst, src0, src1 = step.tile("dst"), step.tile("src0"), step.tile("src1")
        _put(dst, compute(src0.within(dst.valid), src1.within((dst.valid[0], 1))))

    return run


def by_column(compute: Callable[[Array, Array], Any]) -> Meaning:
    """Combine each element of src0 with the value of src1 for its column."""

    def run(step: Step) -> None:
        dst, src0, src1 = step.tile("dst"), step.tile("src0"), step.tile("src1")
        _put(dst, compute(src0.within(dst.valid), src1.within((1, dst.valid[1]))))

    return run


# --------------------------------------------------------------------------------------------
# Arithmetic
# --------------------------------------------------------------------------------------------


def quotient(a: Array, b: Array) -> Array:
    """Return a / b; integers truncate toward zero, and x / 0 is 0."""
    if a.dtype.kind not in "iu":
        return np.asarray(a / b)
    safe = np.where(b == 0, np.ones_like(b), b)
    down = np.asarray(a // safe)
    up = (down * safe != a) & ((a < 0) != (safe < 0))
    return np.where(b == 0, 0, down + up).astype(a.dtype)


def _sum(values: Array, axis: int) -> Array:
    wide = np.float32 if values.dtype.kind not in "iu" and values.dtype.itemsize < 4 else None
    return np.asarray(values.sum(axis=axis, dtype=wide or values.dtype)).astype(values.dtype)


def _product(values: Array, axis: int) -> Array:
    return np.multiply.reduce(values, axis=axis, dtype=values.dtype)


def _exp_difference(a: Array, b: Array) -> Any:
    return np.exp(a - b)


def _leaky(x: Array, slope: Any) -> Any:
    return np.where(x > 0, x, x * slope)


def _sum_of_three(a: Any, b: Any, c: Any) -> Any:
    return a + b + c


def _difference_and_sum(a: Any, b: Any, c: Any) -> Any:
    return a - b + c


def _reciprocal(x: Array) -> Any:
    return np.float32(1) / x


def _reciprocal_root(x: Array) -> Any:
    return np.float32(1) / np.sqrt(x)


def _not_negative(x: Array) -> Any:
    return np.maximum(x, x.dtype.type(0))


# --------------------------------------------------------------------------------------------
# Ops with their own pattern
# --------------------------------------------------------------------------------------------


def _partial(compute: Callable[[Array, Array], Any]) -> Meaning:
    """Compute where both sources are valid; elsewhere dst gets the one that is valid."""

    def run(step: Step) -> None:
        dst, src0, src1 = step.tile("dst"), step.tile("src0"), step.tile("src1")
        rows, cols = dst.valid
        result = dst.live.copy()
        for src in (src0, src1):
            r, c = min(rows, src.valid[0]), min(cols, src.valid[1])
            result[:r, :c] = src.data[:r, :c]
        both = tuple(
            min(a, b, c) for a, b, c in zip(src0.valid, src1.valid, dst.valid, strict=True)
        )
        r, c = both
        result[:r, :c] = compute(src0.data[:r, :c], src1.data[:r, :c])
        _put(dst, result)

    return run


def _axpy(step: Step) -> None:
    dst = step.tile("dst")
    src = step.tile("src").within(dst.valid).astype(np.float32)
    factor = np.float32(step.values["scalar"])
    if dst.data.dtype.itemsize == 2:
        product = (src * factor).astype(dst.data.dtype)
        _put(dst, (dst.live.astype(np.float32) + product.astype(np.float32)))
        return
    _put(dst, dst.live + src * factor)


def _divide_by_scalar(step: Step) -> None:
    dst = step.tile("dst")
    src = step.tile("src").within(dst.valid)
    scalar = _beside(step.values["scalar"], src)
    scalar_first = not isinstance(step.op.ins[0].type, TileType)
    _put(
        dst,
        quotient(np.broadcast_to(scalar, src.shape), src)
        if scalar_first
        else quotient(src, scalar),
    )


def _fill_scalar(step: Step) -> None:
    _put(step.tile("dst"), step.values["scalar"])


def _argument(axis: int, *, largest: bool) -> Meaning:
    def run(step: Step) -> None:
        _put(step.tile("dst"), first_best(step.tile("src").live, axis, largest=largest))

    return run


def _expand_rows(step: Step) -> None:
    dst = step.tile("dst")
    _put(dst, step.tile("src").within((dst.valid[0], 1)))


def _expand_columns(step: Step) -> None:
    dst = step.tile("dst")
    _put(dst, step.tile("src").within((1, dst.valid[1])))


def _concat(step: Step) -> None:
    parts = [step.tile(name).live for name in ("src0", "src1")]
    joined = np.concatenate(parts, axis=1)
    dst = step.tile("dst")
    rows, cols = min(joined.shape[0], dst.data.shape[0]), min(joined.shape[1], dst.data.shape[1])
    dst.data[:rows, :cols] = joined[:rows, :cols]


_COMPARE: Final[Mapping[str, Callable[[Array, Any], Any]]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _compare(step: Step, src: TileValue, other: Any) -> None:
    """Write one bit per element, eight columns per byte, the first column in the lowest bit."""
    found = _COMPARE[step.word("cmpMode") or "eq"](src.live, other)
    packed = np.packbits(found, axis=1, bitorder="little")
    dst = step.tile("dst").data.view(np.uint8)
    rows, cols = min(packed.shape[0], dst.shape[0]), min(packed.shape[1], dst.shape[1])
    dst[:rows, :cols] = packed[:rows, :cols]


def _compare_tiles(step: Step) -> None:
    src = step.tile("src0")
    _compare(step, src, step.tile("src1").within(src.valid))


def _compare_scalar(step: Step) -> None:
    src = step.tile("src")
    _compare(step, src, _beside(step.values["scalar"], src.data))


def mask_bits(mask: TileValue, shape: tuple[int, int]) -> Array:
    """Return the bits of a packed mask as Booleans [rows, columns]."""
    packed = np.ascontiguousarray(mask.data).view(np.uint8)
    bits = np.unpackbits(packed, axis=1, bitorder="little").astype(np.bool_)
    return bits[: shape[0], : shape[1]]


def _select(step: Step) -> None:
    dst = step.tile("dst")
    bits = mask_bits(step.tile("mask"), dst.valid)
    a, b = (step.tile(name).within(dst.valid) for name in ("src0", "src1"))
    _put(dst, np.where(bits, a, b))


def _select_scalar(step: Step) -> None:
    dst = step.tile("dst")
    bits = mask_bits(step.tile("mask"), dst.valid)
    src = step.tile("src").within(dst.valid)
    _put(dst, np.where(bits, src, _beside(step.values["scalar"], src)))


def _convert(step: Step) -> None:
    src, dst = step.tile("src"), step.tile("dst")
    mode, saturates = step.word("rmode") or "CAST_RINT", step.word("sat_mode") == "ON"
    _put(
        dst,
        converted(
            src.within(dst.valid),
            dst.data.dtype,
            mode,
            saturates=saturates,
            simulator=step.simulator,
        ),
    )


def _transpose(step: Step) -> None:
    src, dst = step.tile("src"), step.tile("dst")
    turned = src.live.T
    rows, cols = min(turned.shape[0], dst.data.shape[0]), min(turned.shape[1], dst.data.shape[1])
    dst.data[:rows, :cols] = turned[:rows, :cols]


def padding(dtype: np.dtype[Any], pad: int, *, simulator: bool = False) -> Any:
    """Return the element that fills a tile: 0, the largest or the smallest.

    The simulator has no limits of 16-bit floats, and fills with 0.
    """
    if pad == 1 or (simulator and dtype == np.float16):
        return dtype.type(0)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return dtype.type(limits.max if pad == 2 else limits.min)
    return dtype.type(np.inf if pad == 2 else -np.inf)


def _fill_pad(step: Step) -> None:
    src, dst = step.tile("src"), step.tile("dst")
    live = src.live.copy()
    dst.data[...] = padding(dst.data.dtype, dst.kind.pad, simulator=step.simulator)
    rows, cols = min(live.shape[0], dst.data.shape[0]), min(live.shape[1], dst.data.shape[1])
    dst.data[:rows, :cols] = live[:rows, :cols]


def _count(step: Step) -> None:
    dst = step.tile("dst")
    first, (rows, cols) = step.values["scalar"], dst.valid
    steps = np.arange(cols).astype(dst.data.dtype)
    row = first - steps if step.integer("descending") else first + steps
    _put(dst, np.broadcast_to(row, (rows, cols)))


def _triangle(step: Step) -> None:
    dst = step.tile("dst")
    rows, cols = dst.valid
    diagonal = int(step.values["diagonal"])
    ones = np.ones((rows, cols), np.int8)
    keep = np.triu if step.integer("upperOrLower") else np.tril
    _put(dst, keep(ones, diagonal))


def _gather(step: Step) -> None:
    src, dst = step.tile("src"), step.tile("dst")
    if step.has("idx"):
        indices = step.tile("idx").within(dst.valid)
        _put(dst, np.ascontiguousarray(src.data).reshape(-1)[indices])
        return
    pattern = (step.word("maskPattern") or "P1111").removeprefix("P")
    keep = np.resize(np.array([bit == "1" for bit in reversed(pattern)]), src.live.shape[1])
    found = src.live[:, keep]
    bits = np.ascontiguousarray(found).view(dst.data.dtype)
    dst.data.reshape(-1)[: found.size] = bits.reshape(-1)


def _gather_blocks(step: Step) -> None:
    """Gather blocks of 32 bytes at byte offsets."""
    src, dst, offsets = step.tile("src"), step.tile("dst"), step.tile("offsets")
    size = 32 // src.data.dtype.itemsize
    flat = np.ascontiguousarray(src.data).reshape(-1)
    rows, cols = dst.valid
    starts = offsets.data[:rows, : -(-cols // size)].astype(np.int64) // src.data.dtype.itemsize
    found = flat[starts[..., None] + np.arange(size)].reshape(rows, -1)
    _put(dst, found[:, :cols])


def _scatter(step: Step) -> None:
    src, dst, idx = step.tile("src"), step.tile("dst"), step.tile("idx")
    indices = idx.within(src.valid).astype(np.int64)
    flat = dst.data.reshape(-1)
    flat[indices] = src.live


def _sort32(step: Step) -> None:
    """Sort every 32 columns in descending order, as pairs of value and index."""
    src, idx, dst = step.tile("src"), step.tile("idx"), step.tile("dst")
    rows, cols = src.valid
    size = src.data.dtype.itemsize
    if size == 4:
        numbers = idx.data[:rows, :cols].view(np.uint32)
        _put(dst, sorted_runs(src.live, np.ascontiguousarray(numbers)))
        return
    for row in range(rows):
        for begin in range(0, cols, 32):
            block = src.data[row, begin : begin + 32]
            indices = idx.data[row, begin : begin + 32]
            order = np.argsort(-block.astype(np.float32), kind="stable")
            line = dst.data[row].view(np.uint8)
            pairs = np.zeros((len(order), 8), np.uint8)
            pairs[:, :size] = block[order].view(np.uint8).reshape(-1, size)
            pairs[:, 4:] = indices[order].astype(np.uint32).view(np.uint8).reshape(-1, 4)
            line[begin * 8 : begin * 8 + pairs.size] = pairs.reshape(-1)


def _merge_sort(step: Step) -> None:
    """Merge every four runs of pairs; an unsorted run is merged as it is."""
    src, dst = step.tile("src"), step.tile("dst")
    if src.data.dtype.itemsize == 4:
        _put(dst, merged_runs(np.ascontiguousarray(src.live), int(step.values["length"])))
        return
    per_pair = 8 // src.data.dtype.itemsize
    pairs = src.data[0, : src.valid[1]].reshape(-1, per_pair)
    size = int(step.values["length"]) // per_pair
    merged = [
        position
        for begin in range(0, len(pairs), 4 * size)
        for position in _merge(pairs[:, 0], begin, size, min(begin + 4 * size, len(pairs)))
    ]
    dst.data[0, : src.valid[1]] = pairs[merged].reshape(-1)


def _merge(keys: Array, begin: int, size: int, end: int) -> list[int]:
    """Merge runs of ``size`` from ``begin`` to ``end`` by the largest head; return positions."""
    heads = list(range(begin, end, size))
    stops = [min(head + size, end) for head in heads]
    order: list[int] = []
    while len(order) < end - begin:
        live = [run for run, head in enumerate(heads) if head < stops[run]]
        best = max(live, key=lambda run: (float(keys[heads[run]]), -run))
        order.append(heads[best])
        heads[best] += 1
    return order


def _quantize(step: Step) -> None:
    src, dst, scale = step.tile("src"), step.tile("dst"), step.tile("scale")
    values = src.within(dst.valid) * scale.data[: dst.valid[0], :1]
    if step.has("offset"):
        values = values + step.tile("offset").data[: dst.valid[0], :1]
    _put(dst, integers(np.rint(values.astype(np.float64)), dst.data.dtype, saturates=True))


def _dequantize(step: Step) -> None:
    src, dst = step.tile("src"), step.tile("dst")
    scale, offset = (step.tile(name).data[: dst.valid[0], :1] for name in ("scale", "offset"))
    _put(dst, (src.within(dst.valid).astype(np.float32) - offset) * scale)


# Moves


def _from_acc(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return accumulator elements converted to another type; to integers they truncate."""
    return converted(values, dtype, "TRUNC", saturates=True, simulator=False)


def _load(step: Step) -> None:
    values = step.region("src").read()
    dst = step.tile("dst")
    lines = values.shape or (1,)
    flat = values.reshape(math.prod(lines[:-1]), lines[-1]).view(dst.data.dtype)
    if flat.shape != dst.valid and flat.size == dst.valid[0] * dst.valid[1]:
        flat = flat.reshape(dst.valid)
    rows, cols = min(flat.shape[0], dst.data.shape[0]), min(flat.shape[1], dst.data.shape[1])
    dst.data[:rows, :cols] = flat[:rows, :cols]


_ATOMIC: Final[Mapping[str, Callable[[Array, Array], Any]]] = {
    "atomic_add": np.add,
    "atomic_max": np.maximum,
    "atomic_min": np.minimum,
}


def _store(step: Step) -> None:
    src, dst = step.tile("src"), step.region("dst")
    values = src.live
    if step.word("reluPreMode") == "normal_relu":
        values = np.maximum(values, values.dtype.type(0))
    if step.has("factor") or step.has("fp"):
        raise EvaluationError("a store that quantizes is not evaluated", slug="unsupported")
    kind = dst.pointer.buffer.dtype
    if src.kind.space == "acc" and values.dtype != kind:
        values = _from_acc(values, kind)
    else:
        values = np.ascontiguousarray(values).view(kind)
    values = values.reshape(dst.sizes)
    combine = _ATOMIC.get(step.word("atomicType") or "")
    dst.write(values if combine is None else combine(dst.read(), values))


def _move(step: Step) -> None:
    src, dst = step.tile("src"), step.tile("dst")
    if step.has("fp"):
        raise EvaluationError("a move that quantizes is not evaluated", slug="unsupported")
    values = src.data
    if step.word("reluPreMode") == "normal_relu":
        values = np.maximum(values, values.dtype.type(0))
    if src.kind.space == "vec":
        values = values[: src.valid[0], : src.valid[1]]
    rows, cols = (min(a, b) for a, b in zip(values.shape, dst.data.shape, strict=True))
    if dst.kind.space == "vec":
        rows, cols = min(rows, dst.valid[0]), min(cols, dst.valid[1])
    part = values[:rows, :cols]
    if part.dtype != dst.data.dtype:
        part = _from_acc(part, dst.data.dtype)
    dst.data[:rows, :cols] = part


def _extract(step: Step) -> None:
    src, dst = step.tile("src"), step.tile("dst")
    row, col = int(step.values["row"]), int(step.values["col"])
    rows, cols = dst.data.shape
    dst.data[...] = src.data[row : row + rows, col : col + cols]


def _insert(step: Step) -> None:
    src, dst = step.tile("src"), step.tile("dst")
    row, col = int(step.values["row"]), int(step.values["col"])
    live = src.live
    values = live if live.dtype == dst.data.dtype else _from_acc(live, dst.data.dtype)
    dst.data[row : row + live.shape[0], col : col + live.shape[1]] = values


def _gather_memory(step: Step) -> None:
    region, dst = step.region("src"), step.tile("dst")
    indices = step.tile("idx").within(dst.valid).astype(np.int64)
    flat = region.indices().reshape(-1)
    if step.word("gatherOob") == "clamp":
        indices = np.clip(indices, 0, flat.size - 1)
    _put(dst, region.pointer.buffer[flat[indices]])


def _scatter_memory(step: Step) -> None:
    region, src = step.region("dst"), step.tile("src")
    indices = step.tile("idx").within(src.valid).astype(np.int64)
    region.pointer.buffer[region.indices().reshape(-1)[indices]] = src.live


# Matrix products


def _multiply(step: Step) -> None:
    lhs, rhs, dst = step.tile("lhs"), step.tile("rhs"), step.tile("dst")
    wide = dst.data.dtype
    rows, inner = lhs.valid
    cols = rhs.valid[1]
    result = lhs.live.astype(wide) @ rhs.data[:inner, :cols].astype(wide)
    if step.has("acc"):
        result = result + step.tile("acc").data[:rows, :cols]
    if step.has("bias"):
        result = result + step.tile("bias").data[:1, :cols].astype(wide)
    dst.data[:rows, :cols] = result


# --------------------------------------------------------------------------------------------
# The table
# --------------------------------------------------------------------------------------------

_REGISTERED: Final = {op.pto: op for op in REGISTRY.values() if isinstance(op.pto, str)}


def _known(name: str, compute: Callable[..., Any], operands: int) -> Callable[..., Any]:
    """Return the registry's meaning of an op with that many operands, else ``compute``."""
    op = _REGISTERED.get(f"pto.{name}")
    if op is None or op.numpy is None or len(op.operands) != operands:
        return compute
    return op.numpy


_PAIR: Final[Mapping[str, Two]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": quotient,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "rem": pair_in_f32(remainder),
    "fmod": pair_in_f32(np.fmod),
    "shl": np.left_shift,
    "shr": np.right_shift,
}
_ONE: Final[Mapping[str, One]] = {
    "abs": np.abs,
    "exp": in_f32(np.exp),
    "log": in_f32(np.log),
    "sqrt": in_f32(np.sqrt),
    "rsqrt": in_f32(_reciprocal_root),
    "recip": in_f32(_reciprocal),
    "neg": np.negative,
    "not": np.invert,
    "relu": _not_negative,
}


def _elementwise_ops() -> Iterator[tuple[str, Meaning]]:
    for name, compute in _ONE.items():
        yield f"t{name}", elementwise(_known(f"t{name}", compute, 1), "src")
    for name, compute in _PAIR.items():
        known = _known(f"t{name}", compute, 2)
        yield f"t{name}", elementwise(known, "src0", "src1")
        yield f"t{name}s", elementwise(_known(f"t{name}s", known, 2), "src", "scalar")
    for name in ("add", "mul", "max", "min"):
        yield f"tpart{name}", _partial(_PAIR[name])
    for name in ("add", "sub", "mul", "div", "max", "min"):
        yield f"trowexpand{name}", by_row(_known(f"trowexpand{name}", _PAIR[name], 2))
        yield f"tcolexpand{name}", by_column(_known(f"tcolexpand{name}", _PAIR[name], 2))
    yield "trowexpandexpdif", by_row(pair_in_f32(_exp_difference))
    yield "tcolexpandexpdif", by_column(pair_in_f32(_exp_difference))


_REDUCE: Final[Mapping[str, Callable[[Array, int], Any]]] = {
    "sum": _sum,
    "max": lambda x, axis: x.max(axis=axis),
    "min": lambda x, axis: x.min(axis=axis),
    "prod": _product,
}


def _reductions() -> Iterator[tuple[str, Meaning]]:
    for name, compute in _REDUCE.items():
        yield f"trow{name}", over_rows(_reduction(f"trow{name}", compute, 1))
        yield f"tcol{name}", over_columns(_reduction(f"tcol{name}", compute, 0))


def _reduction(name: str, compute: Callable[[Array, int], Any], axis: int) -> One:
    """Return the registry's meaning of a reduction, with or without a scratch tile."""
    op = _REGISTERED.get(f"pto.{name}")
    if op is None or op.numpy is None:
        return lambda x: compute(x, axis)
    known, scratch = op.numpy, (None,) * (len(op.operands) - 1)
    return lambda x: known(x, *scratch)


MEANINGS: Final[dict[str, Meaning]] = {
    **{f"pto.{name}": meaning for name, meaning in _elementwise_ops()},
    "pto.tdivs": _divide_by_scalar,
    "pto.tprelu": elementwise(_leaky, "src0", "src1"),
    "pto.tlrelu": elementwise(_leaky, "src", "scalar"),
    "pto.taddc": elementwise(_sum_of_three, "src0", "src1", "src2"),
    "pto.tsubc": elementwise(_difference_and_sum, "src0", "src1", "src2"),
    "pto.taddsc": elementwise(_sum_of_three, "src0", "scalar", "src1"),
    "pto.tsubsc": elementwise(_difference_and_sum, "src0", "scalar", "src1"),
    "pto.taxpy": _axpy,
    "pto.texpands": _fill_scalar,
    **{f"pto.{name}": meaning for name, meaning in _reductions()},
    "pto.trowargmax": _argument(1, largest=True),
    "pto.trowargmin": _argument(1, largest=False),
    "pto.tcolargmax": _argument(0, largest=True),
    "pto.tcolargmin": _argument(0, largest=False),
    "pto.trowexpand": _expand_rows,
    "pto.tcolexpand": _expand_columns,
    "pto.tconcat": _concat,
    "pto.tcmp": _compare_tiles,
    "pto.tcmps": _compare_scalar,
    "pto.tsel": _select,
    "pto.tsels": _select_scalar,
    "pto.tcvt": _convert,
    "pto.ttrans": _transpose,
    "pto.tfillpad": _fill_pad,
    "pto.tfillpad_inplace": _fill_pad,
    "pto.tfillpad_expand": _fill_pad,
    "pto.tci": _count,
    "pto.ttri": _triangle,
    "pto.tgather": _gather,
    "pto.tgatherb": _gather_blocks,
    "pto.tscatter": _scatter,
    "pto.tsort32": _sort32,
    "pto.tmrgsort": _merge_sort,
    "pto.tquant": _quantize,
    "pto.tdequant": _dequantize,
    "pto.tprint": lambda step: None,
    "pto.tload": _load,
    "pto.tprefetch": lambda step: None,
    "pto.tstore": _store,
    "pto.tmov": _move,
    "pto.textract": _extract,
    "pto.tinsert": _insert,
    "pto.mgather": _gather_memory,
    "pto.mscatter": _scatter_memory,
    **{
        f"pto.t{name}{suffix}": _multiply
        for name in ("matmul", "gemv")
        for suffix in ("", ".acc", ".bias")
    },
}
"""What each tile op computes; ops that are missing cannot be evaluated."""
