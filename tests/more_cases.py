"""Rows of the op table for families that are loaded only when one of their ops is named."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import ParamDirection, TilePad
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ops import bitwise, compare_select, elementwise, new_tiles, tensor, tensor_math
from pypto._src.ops.lazy import (
    atomic_stores,
    choosing,
    columns,
    elements,
    indexing,
    joining,
    partial,
    periodic,
    reinterpreting,
    remainders,
    scattering,
    signals,
    sorting,
    tensor_elements,
    tensor_forms,
    triangles,
    valid_shapes,
)
from tests.op_kernels import (
    AnyOp,
    Case,
    Formula,
    Kernel,
    Shape,
    between,
    call,
    operands_for,
    positive,
    small,
    static,
    stored,
    whole_range,
)

D = DataType
Shapes = tuple[tuple[Shape, ...], ...]
CLOSE: Final[Mapping[DataType, float]] = {D.FP32: 3e-7, D.FP16: 1.1e-3}
NARROW: Final[Mapping[DataType, float]] = {D.FP32: 1e-6, D.FP16: 1e-3, D.BF16: 8e-3}

# --------------------------------------------------------------------------------------------
# Ops on tensors, which are converted to ops on tiles
# --------------------------------------------------------------------------------------------


def on_tensors(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Write the op's result for tensors to an output tensor."""
    inputs = [kernel.input(shape, dtype) for shape in shapes]

    def scratch() -> Expr:
        raise AssertionError("ops on tensors have no scratch")

    operands = operands_for(case, dtype, inputs, scratch)
    named = dict(zip([p.name for p in case.op.operands], operands, strict=True))
    return assembled(kernel, case.op.build([], {**named, **case.attrs}))


def assembled(kernel: Kernel, value: Expr) -> Expr:
    """Write a tensor to an output."""
    result = kernel.let("result", value)
    kind = result.type
    assert isinstance(kind, TensorType)
    shape = static(kind)
    out = Var("out", TensorType(shape, kind.dtype))
    kernel.params.append((out, ParamDirection.InOut))
    kernel.inputs.append((shape, kind.dtype))
    return kernel.let("stored", call(tensor_math.assemble, out, result, [0] * len(shape)))


COMPUTED: Final = (D.FP32, D.FP16, D.BF16, D.INT32, D.INT16)
FLOATS: Final = (D.FP32, D.FP16, D.BF16)
INTEGERS: Final = (D.INT32, D.INT16)
ONE: Final[Shapes] = (((16, 64),), ((2, 8, 16),))
TWO: Final[Shapes] = (((16, 64), (16, 64)), ((16, 64), (16, 1)), ((16, 64), (1, 64)))
COLUMN: Final[Shapes] = (((16, 64), (16, 1)),)
ROW: Final[Shapes] = (((16, 64), (1, 64)),)


def tensor_rows(
    op: AnyOp,
    shapes: Shapes,
    dtypes: tuple[DataType, ...],
    reference: Formula | None = None,
    small_shapes: Shapes = (((4, 6),),),
    **facts: Any,
) -> list[Case]:
    """Return the row of a kernel, and one of arrays of any shape with a formula."""
    no_kernel = "the row with larger tensors has one"
    return [
        Case(op, shapes, dtypes, build=on_tensors, **facts),
        Case(op, small_shapes, dtypes, reference=reference, no_kernel=no_kernel, **facts),
    ]


def _tensor_forms() -> list[Case]:
    f = tensor_forms
    pair: Shapes = (((4, 6), (4, 6)), ((4, 6), (4, 1)), ((4, 6), (6,)))
    out: list[Case] = []
    functions: list[tuple[AnyOp, Formula]] = [
        (f.sqrt, np.sqrt),
        (f.recip, lambda a: 1 / a),
        (f.rsqrt, lambda a: 1 / np.sqrt(a)),
        (f.log, np.log),
    ]
    for op, formula in functions:
        facts: dict[str, Any] = {"values": positive, "rtol": NARROW, "atol": NARROW}
        out += tensor_rows(op, ONE, FLOATS, formula, **facts)
    out += tensor_rows(f.neg, ONE, COMPUTED, lambda a: -a, values=whole_range)
    out += tensor_rows(f.abs, ONE, COMPUTED, abs, values=between(-100, 100))
    out += tensor_rows(f.relu, ONE, (D.FP32, D.INT32), lambda a: max(a, 0), values=whole_range)
    out += tensor_rows(f.not_, ONE, (D.INT16,), lambda a: ~a, values=whole_range)
    out += tensor_rows(f.minimum, TWO, COMPUTED, min, pair, values=whole_range)
    for op, formula in ((f.maximums, max), (f.minimums, min)):
        out += tensor_rows(op, ONE, COMPUTED, formula, scalars=(2,), values=whole_range)
    return out


def _tensor_comparisons() -> list[Case]:
    f = tensor_forms
    out: list[Case] = []
    pair: Shapes = (((4, 6), (4, 6)), ((4, 6), (4, 1)))
    compared = (D.FP32, D.BF16, D.INT32)
    for mode, holds in enumerate(COMPARISONS):
        words: dict[str, Any] = {"cmp_type": mode}
        out += tensor_rows(f.cmp, TWO[:1], compared, holds, pair, attrs=words, values=small)
        out += tensor_rows(
            f.cmps, ONE[:1], compared, holds, scalars=(1,), attrs=words, values=small
        )
    logic: list[tuple[AnyOp, AnyOp, Formula]] = [
        (f.and_, f.ands, lambda a, b: a & b),
        (f.or_, f.ors, lambda a, b: a | b),
        (f.xor, f.xors, lambda a, b: a ^ b),
    ]
    for two, number, formula in logic:
        out += tensor_rows(two, TWO[:1], INTEGERS, formula, pair, values=whole_range)
        out += tensor_rows(number, ONE[:1], INTEGERS, formula, scalars=(0x5A,), values=whole_range)
    shifts: list[tuple[AnyOp, AnyOp, Formula]] = [
        (f.shl, f.shls, lambda a, b: a << b),
        (f.shr, f.shrs, lambda a, b: a >> b),
    ]
    for two, number, formula in shifts:
        out += tensor_rows(two, TWO[:1], INTEGERS, formula, pair[:1], values=between(0, 14))
        out += tensor_rows(number, ONE[:1], INTEGERS, formula, scalars=(3,), values=whole_range)
    return out


COMPARISONS: Final[tuple[Formula, ...]] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)


def _tensor_spreads() -> list[Case]:
    f = tensor_forms
    formulas: dict[str, Formula] = {
        "add": lambda a, v: a + v,
        "sub": lambda a, v: a - v,
        "mul": lambda a, v: a * v,
        "div": lambda a, v: a / v,
        "max": max,
        "min": min,
        "expdif": lambda a, v: np.exp(a - v),
    }
    out: list[Case] = []
    for name, formula in formulas.items():
        floats = name in ("div", "expdif")
        dtypes = FLOATS if floats else COMPUTED
        values = between(0.5, 3) if floats else whole_range
        near = {D.FP16: 4e-3, D.BF16: 4e-2, D.FP32: 1e-6}
        facts: dict[str, Any] = {"values": values, "rtol": near if floats else NARROW}
        rows, columns_ = getattr(f, f"row_expand_{name}"), getattr(f, f"col_expand_{name}")
        out += tensor_rows(rows, COLUMN, dtypes, formula, (((4, 6), (4, 1)),), **facts)
        out += tensor_rows(columns_, ROW, dtypes, formula, (((4, 6), (1, 6)),), **facts)
    return out


def _tensor_reductions() -> list[Case]:
    f = tensor_forms
    out: list[Case] = []
    shapes: Shapes = (((16, 64),), ((32, 16),))
    for op in (f.row_min, f.col_min, f.col_max):
        out += tensor_rows(op, shapes, COMPUTED, values=whole_range)
    near: dict[str, Any] = {
        "rtol": {D.FP32: 1e-6, **NARROW},
        "atol": {D.FP32: 1e-4, D.FP16: 1e-2, D.BF16: 1e-1},
    }
    out += tensor_rows(f.col_sum, shapes, COMPUTED, values=whole_range, **near)
    ones = between(0.9, 1.1)
    for op in (f.row_prod, f.col_prod):
        near: dict[str, Any] = {"rtol": {D.FP32: 1e-5, D.FP16: 1e-2}}
        out += tensor_rows(op, shapes, (D.FP32, D.FP16), values=ones, **near)
    out += [
        Case(f.row_min, (((4, 6),),), attrs={"axis": 0, "keep_dim": False}, no_kernel=_OTHER),
        Case(f.row_prod, (((4, 6),),), attrs={"keep_dim": False}, no_kernel=_OTHER),
    ]
    return out


_OTHER: Final = "the row of the last dimension has one"


# --------------------------------------------------------------------------------------------
# Columns and rows of tiles
# --------------------------------------------------------------------------------------------

_REDUCED: Final[Shapes] = (((16, 16),), ((32, 64),), ((16, 256),))
_COLUMN: Final[Shapes] = (((16, 16), (16, 1)), ((32, 128), (32, 1)))
_ROW: Final[Shapes] = (((16, 16), (1, 16)), ((3, 64), (1, 64)))


def _columns() -> list[Case]:
    c = columns
    sums: dict[str, Any] = {
        "rtol": {D.FP32: 1e-6, D.FP16: 1e-3},
        "atol": {D.FP32: 2e-4, D.FP16: 2e-4},
    }
    products: dict[str, Any] = {"rtol": {D.FP32: 1e-5, D.FP16: 2e-3}, "values": between(0.9, 1.1)}
    differences: dict[str, Any] = {"rtol": {D.FP32: 4e-7, D.FP16: 2e-3}, "values": between(-2, 2)}
    return [
        Case(c.col_max, _REDUCED, values=whole_range),
        Case(c.col_min, _REDUCED, values=whole_range),
        Case(c.col_sum, _REDUCED, values=whole_range, **sums),
        Case(c.col_prod, _REDUCED, **products),
        Case(c.row_prod, _REDUCED, **products),
        *(Case(op, _REDUCED, values=small) for op in (c.row_argmax, c.row_argmin)),
        *(Case(op, _REDUCED, values=small) for op in (c.col_argmax, c.col_argmin)),
        Case(c.row_expand_to, _COLUMN, values=whole_range),
        Case(c.row_expand_max, _COLUMN, values=whole_range, reference=max),
        Case(c.row_expand_min, _COLUMN, values=whole_range, reference=min),
        Case(c.row_expand_expdif, _COLUMN, **differences),
        Case(c.col_expand_add, _ROW, values=whole_range, reference=lambda a, v: a + v),
        Case(c.col_expand_max, _ROW, values=whole_range, reference=max),
        Case(c.col_expand_min, _ROW, values=whole_range, reference=min),
        Case(c.col_expand_expdif, _ROW, **differences),
    ]


# --------------------------------------------------------------------------------------------
# Elements, positions, lists
# --------------------------------------------------------------------------------------------


def _element_of_tile(
    kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]
) -> Expr:
    """Add an element of a tile to the tile."""
    tile = kernel.tile(shapes[0], dtype)
    number = kernel.let("number", case.op.build([tile, list(case.ints[0])], {}))
    return _stored_scalar(kernel, number, shapes[0], dtype)


def _stored_scalar(kernel: Kernel, number: Expr, shape: Shape, dtype: DataType) -> Expr:
    """Fill a tile with a scalar, or write it to one element if no tile can be filled with it."""
    if dtype in (D.FP32, D.FP16, D.INT32, D.INT16):
        return kernel.let("result", call(new_tiles.full, list(shape), dtype, number))
    tile = kernel.tile(shape, dtype)
    kernel.run(call(elements.write, tile, [0] * len(shape), number))
    return tile


def _element_written(
    kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]
) -> Expr:
    """Set an element of a tile to another one of it."""
    tile = kernel.tile(shapes[0], dtype)
    last = [size - 1 for size in shapes[0]]
    number = kernel.let("number", call(elements.read, tile, last))
    kernel.run(case.op.build([tile, list(case.ints[0]), number], {}))
    return tile


def _element_of_tensor_written(
    kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]
) -> Expr:
    """Set an element of a tensor to one of another tensor."""
    x = kernel.input(shapes[0], dtype)
    last = [size - 1 for size in shapes[0]]
    number = kernel.let("number", call(tensor.read, x, last))
    out = Var("out", TensorType(shapes[0], dtype))
    kernel.params.append((out, ParamDirection.InOut))
    kernel.inputs.append((shapes[0], dtype))
    kernel.run(case.op.build([out, list(case.ints[0]), number], {}))
    return out


def _counted(kernel: Kernel, case: Case, dtype: DataType, _shapes: tuple[Shape, ...]) -> Expr:
    words = {"dtype": dtype, **case.attrs}
    return kernel.let("result", case.op.build([int(case.scalars[0]), list(case.ints[0])], words))


def _taken(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Take elements at positions, which are remainders of random values."""
    source, places = shapes
    tile = kernel.tile(source, dtype)
    drawn = kernel.tile(places, D.INT32)
    along = case.op is indexing.gather_along
    last = (source[-1] if along else source[0] * source[1]) - 1
    kept = kernel.let("kept", call(bitwise.ands, drawn, last))
    return kernel.let("result", case.op.build([tile, -1, kept] if along else [tile, kept], {}))


def _sorted(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Sort values with their columns."""
    values = kernel.tile(shapes[0], dtype)
    words = {"dtype": D.UINT32}
    numbers = kernel.let("numbers", call(indexing.arange, 0, [1, shapes[0][1]], **words))
    return kernel.let("result", case.op.build([values, numbers], {}))


def _merged(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Sort values in runs, then in longer ones."""
    lists = [kernel.let("list", _sorted_records(kernel, shape, dtype)) for shape in shapes]
    return kernel.let("result", case.op.build(lists, dict(case.attrs)))


def _sorted_records(kernel: Kernel, shape: Shape, dtype: DataType) -> Expr:
    values = kernel.tile(shape, dtype)
    words = {"dtype": D.UINT32}
    numbers = kernel.let("numbers", call(indexing.arange, 0, [1, shape[1]], **words))
    return call(sorting.sort32, values, numbers)


def _marked(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Fill the invalid part of a tile."""
    tile = kernel.tile(shapes[0], dtype)
    part = kernel.let("part", case.op.build([tile, 5, shapes[0][1] - 3], {}))
    return kernel.let("result", call(new_tiles.fillpad, part))


def _filled(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Fill the invalid part of a tile with the largest or smallest element."""
    tile = kernel.tile(shapes[0], dtype)
    part = kernel.let("part", call(valid_shapes.set_validshape, tile, 5, shapes[0][1] - 3))
    filled = kernel.let("filled", case.op.build([part], dict(case.attrs)))
    if dtype not in (D.FP32, D.FP16):
        return filled
    most, least = call(elementwise.mins, filled, 100.0), -100.0  # infinities are not stored
    return kernel.let("result", call(elementwise.maxs, kernel.let("most", most), least))


FILLED: Final = (D.FP32, D.FP16, D.INT32, D.INT16, D.INT8, D.UINT8)
_TWO: Final[Shapes] = (((16, 16), (16, 16)), ((1, 256), (1, 256)), ((3, 64), (3, 64)))


def _elements() -> list[Case]:
    e, i, s = elements, indexing, sorting
    at: tuple[tuple[int, ...], ...] = ((3, 5),)
    one: Shapes = (((16, 32),), ((4, 64),))
    places: Shapes = (((16, 32), (16, 64)), ((1, 256), (1, 64)), ((8, 64), (8, 32)))
    taken = tuple(d for d in MEMBERS.values() if d in indexing.MOVABLE)
    masks = (1, 2, 3, 4, 5, 6, 7)
    return [
        Case(e.read, one, ints=at, build=_element_of_tile, values=whole_range),
        Case(e.read, (((32, 1),),), (D.FP32,), ints=((9, 0),), build=_element_of_tile),
        Case(e.write, one, ints=at, build=_element_written, values=whole_range),
        Case(atomic_stores.store_add, (((16, 32),),), build=stored),
        Case(
            tensor_elements.write,
            one[:1],
            (D.FP32, D.INT32, D.BF16, D.INT64),
            ints=at,
            build=_element_of_tensor_written,
            values=whole_range,
        ),
        *(
            Case(
                op,
                (((4, 8),),),
                (D.INT32,),
                scalars=(0,),
                ints=at,
                no_kernel="another rank is needed: tests/run/test_ranks.py",
            )
            for op in (signals.notify, signals.wait)
        ),
        *(
            Case(
                op,
                (((4, 8),),),
                (D.FP32,),
                ints=((0, 0), (2, 8)),
                no_kernel="another rank is needed: tests/run/test_ranks.py",
            )
            for op in (signals.fetch, signals.deliver)
        ),
        *(
            Case(
                i.arange,
                ((),),
                scalars=(start,),
                ints=((1, 64),),
                attrs={"descending": falls},
                build=_counted,
            )
            for start, falls in ((0, False), (7, True))
        ),
        Case(i.gather, places, taken, build=_taken, values=whole_range),
        Case(i.gather_along, places, taken, build=_taken, values=whole_range),
        *(
            Case(i.gather_mask, (((16, 64),), ((1, 256),)), attrs={"mask_pattern": mask})
            for mask in masks
        ),
        Case(
            i.gather_mask,
            (((16, 64),), ((1, 12),), ((5, 6),), ((8, 2),)),
            (D.FP32,),
            attrs={"mask_pattern": 2, "output_dtype": D.INT32},
        ),
        Case(s.sort32, (((1, 64),), ((4, 32),)), (D.FP32,), build=_sorted, values=small),
        Case(s.mrgsort, (((1, 128),),), attrs={"block_len": 64}, build=_merged),
        *(
            Case(op, (((1, 32),) * count,), build=_merged)
            for op, count in ((s.mrgsort2, 2), (s.mrgsort3, 3), (s.mrgsort4, 4))
        ),
        Case(remainders.fmod, _TWO, values=between(-100, 100), reference=math.fmod),
        Case(
            remainders.fmods,
            tuple((a,) for a, _ in _TWO),
            scalars=(7,),
            values=between(-100, 100),
            reference=math.fmod,
        ),
        Case(valid_shapes.set_validshape, (((16, 64),),), build=_marked, values=whole_range),
        *(
            Case(new_tiles.fillpad, (((16, 64),),), FILLED, attrs={"pad_value": pad}, build=_filled)
            for pad in (TilePad.max, TilePad.min)
        ),
        Case(joining.concat, (((16, 32), (16, 64)), ((3, 64), (3, 32))), values=whole_range),
    ]


# --------------------------------------------------------------------------------------------
# Triangles, sub-tiles, waves, scatter
# --------------------------------------------------------------------------------------------


def _partly(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Combine a whole tile with a partly valid one."""
    lhs, rhs = (kernel.tile(shape, dtype) for shape in shapes)
    part = kernel.let("part", call(valid_shapes.set_validshape, rhs, 5, shapes[1][1] - 3))
    return kernel.let("result", case.op.build([lhs, part], {}))


def _grown(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Put the valid part of a tile into a larger one."""
    tile = kernel.tile(shapes[0], dtype)
    part = kernel.let("part", call(valid_shapes.set_validshape, tile, 5, shapes[0][1] - 3))
    return kernel.let("result", case.op.build([part, list(case.ints[0])], {}))


def _reread(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Reinterpret the bytes of a tile as elements of another type."""
    tile = kernel.tile(shapes[0], dtype)
    return kernel.let("result", case.op.build([tile, case.attrs["dtype"]], {}))


def _scattered(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Put elements at positions, which are remainders of random values."""
    whole, part, numbers = shapes
    target, src = kernel.tile(whole, dtype), kernel.tile(part, dtype)
    if case.op is scattering.scatter_mask:
        return kernel.let("result", case.op.build([src], {"dst": target, **case.attrs}))
    drawn = kernel.tile(numbers, D.INT32)
    count = {scattering.scatter: whole[0] * whole[1], scattering.scatter_along: whole[1]}
    last = count.get(case.op, whole[0]) - 1
    places = kernel.let("places", call(bitwise.ands, drawn, last))
    if case.op is scattering.scatter:
        return kernel.let("result", case.op.build([target, src, places], {}))
    dim = -1 if case.op is scattering.scatter_along else -2
    return kernel.let("result", case.op.build([target, dim, places, src], {}))


def _chosen(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Select between a tile and a scalar by a comparison."""
    tile = kernel.tile(shapes[0], dtype)
    mask = kernel.let("mask", call(compare_select.cmps, tile, 2, cmp_type=4))
    tmp = kernel.let("tmp", call(new_tiles.create_tile, [1, 32], dtype))
    return kernel.let("result", case.op.build([mask, tile, tmp, 2], {}))


def _composed() -> list[Case]:
    s, p = scattering, partial
    waves: dict[str, Any] = {"values": between(-1000, 1000), "rtol": {D.FP32: 1e-4}}
    waves["atol"] = {D.FP32: 1e-5}
    single = (((16, 64),), ((1, 64),))
    kinds = tuple(d for d in MEMBERS.values() if d in indexing.MOVABLE)
    puts: Shapes = (((16, 32), (16, 8), (16, 8)),)
    pairs: Shapes = (((16, 64), (16, 64)),)
    return [
        Case(periodic.sin, single, reference=math.sin, **waves),
        Case(periodic.cos, single, reference=math.cos, **waves),
        *(
            Case(op, pairs, build=_partly, values=whole_range)
            for op in (p.part_add, p.part_mul, p.part_max, p.part_min)
        ),
        *(
            Case(
                triangles.tri,
                ((),),
                scalars=(diagonal,),
                ints=((16, 64),),
                attrs={"upper": upper},
                build=_counted,
            )
            for diagonal, upper in ((3, False), (-2, True))
        ),
        Case(
            valid_shapes.fillpad_expand,
            (((16, 32),),),
            FILLED,
            ints=((32, 64),),
            build=_grown,
            values=whole_range,
        ),
        *(
            Case(
                reinterpreting.reinterpret_view,
                (((16, 64),),),
                (source,),
                attrs={"dtype": target},
                build=_reread,
                values=whole_range,
            )
            for source, target in ((D.FP32, D.INT32), (D.FP16, D.INT16))
        ),
        Case(s.scatter, puts, kinds, build=_scattered, values=whole_range),
        Case(s.scatter_along, puts, kinds, build=_scattered, values=whole_range),
        Case(
            s.scatter_mask,
            (((16, 32), (16, 16), ()),),
            kinds,
            attrs={"mask_pattern": 2},
            build=_scattered,
            values=whole_range,
        ),
        Case(s.scatter_update, (((16, 32), (4, 32), (1, 4)),), kinds, build=_scattered),
        Case(choosing.sel_or_number, (((16, 64),),), build=_chosen, values=small),
    ]


MORE: Final = [
    *_composed(),
    *_columns(),
    *_elements(),
    *_tensor_forms(),
    *_tensor_comparisons(),
    *_tensor_spreads(),
    *_tensor_reductions(),
]
"""The rows."""
