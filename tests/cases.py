"""The op table: the test cases of each op.

`op_kernels` says what a row contains, and makes kernels of rows; rows of ops that few kernels
use are in `more_cases`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.ir.enums import PipeType
from pypto._src.ops import (
    bitwise,
    compare_select,
    elementwise,
    matmul,
    memory,
    new_tiles,
    reduce,
    reshaping,
    system,
    tensor,
    tensor_math,
    ternary,
)
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.lazy import axis_reductions, testing
from pypto._src.ops.rules.type_rules import CASTS
from tests.line_cases import LINES
from tests.more_cases import MORE
from tests.op_kernels import (
    ACC,
    BIAS,
    LEFT,
    MAT,
    RIGHT,
    VEC,
    AnyOp,
    Array,
    Build,
    BuiltKernel,
    Case,
    Formula,
    Kernel,
    Shape,
    Values,
    accumulated,
    accumulated_rows,
    between,
    biased,
    biased_in_mat,
    build_call,
    call,
    created,
    described,
    element_read,
    exact,
    extracted,
    filled,
    indexed,
    is_scratch,
    kernel_for,
    measured,
    moderate,
    moved,
    operands_for,
    positive,
    reduced,
    reshaped,
    shifted,
    small,
    static,
    stored,
    stored_acc,
    whole_range,
    windowed,
)

D = DataType

# --------------------------------------------------------------------------------------------
# Ops on whole tensors
# --------------------------------------------------------------------------------------------


def _cut(a: Any, b: Any) -> Any:
    """Return a quotient as the ops define it: integers truncate toward zero, and n / 0 is 0."""
    if isinstance(a, float):
        return a / b
    quotient = abs(a) // abs(b) if b else 0
    return quotient if (a < 0) == (b < 0) else -quotient


_BROADCAST = (
    ((4, 6), (4, 6)),
    ((4, 6), (4, 1)),
    ((4, 6), (6,)),
    ((1, 6), (4, 1)),
    ((2, 3, 4), (3, 1)),
    ((1,), (5,)),
)
_SIGNED = (D.FP32, D.FP16, D.INT32, D.INT16)
_NARROW = {D.BF16: 8e-3, D.FP16: 1e-3}


def _on_tensors() -> list[Case]:
    no_kernel = "they become block ops in kernels"
    one = (((4, 6),), ((3, 1, 5),))
    products = (
        ((4, 6), (6, 5)),
        ((6,), (6, 5)),
        ((4, 6), (6,)),
        ((6,), (6,)),
        ((2, 4, 6), (6, 5)),
        ((2, 1, 4, 6), (3, 6, 5)),
    )

    def row(op: AnyOp, shapes: Any, reference: Formula | None = None, **facts: Any) -> Case:
        return Case(op, shapes, reference=reference, no_kernel=no_kernel, **facts)

    return [
        row(tensor_math.add, _BROADCAST, lambda a, b: a + b, values=whole_range, rtol=_NARROW),
        row(tensor_math.sub, _BROADCAST, lambda a, b: a - b, values=whole_range, rtol=_NARROW),
        row(tensor_math.mul, _BROADCAST, lambda a, b: a * b, values=whole_range, rtol=_NARROW),
        row(tensor_math.div, _BROADCAST, _cut, values=whole_range, rtol=_NARROW),
        row(tensor_math.maximum, _BROADCAST, max, values=whole_range),
        row(
            tensor_math.add_scalar,
            one,
            lambda a, b: a + b,
            scalars=(3,),
            values=whole_range,
            rtol=_NARROW,
        ),
        row(
            tensor_math.sub_scalar,
            one,
            lambda a, b: a - b,
            scalars=(3,),
            values=whole_range,
            rtol=_NARROW,
        ),
        row(
            tensor_math.mul_scalar,
            one,
            lambda a, b: a * b,
            scalars=(3,),
            values=whole_range,
            rtol=_NARROW,
        ),
        row(tensor_math.div_scalar, one, _cut, scalars=(3,), values=whole_range, rtol=_NARROW),
        row(
            tensor_math.exp,
            one,
            np.exp,
            dtypes=(D.FP32, D.FP16, D.BF16),
            rtol={D.FP32: 1e-6, **_NARROW},
        ),
        row(tensor_math.cast, one, dtypes=(D.FP32,), attrs={"target_type": D.INT32}),
        row(tensor_math.cast, one, dtypes=(D.FP16,), attrs={"target_type": D.FP16}),
        row(tensor_math.cast, one, dtypes=(D.INT8,), attrs={"target_type": D.BF16}),
        row(tensor_math.row_max, one, max, values=whole_range),
        row(
            tensor_math.row_sum,
            one,
            sum,
            values=whole_range,
            rtol={D.FP32: 1e-6, **_NARROW},
            atol={D.FP32: 1e-5, D.FP16: 1e-2, D.BF16: 1e-1},
        ),
        row(tensor_math.row_sum, (((4, 6),),), attrs={"axis": 0, "keep_dim": False}),
        row(tensor_math.row_max, (((5,),),), attrs={"keep_dim": False}),
        row(tensor_math.reshape, (((4, 6),),), ints=((2, 3, 4),)),
        row(tensor_math.transpose, (((4, 6),),), axes=(0, 1)),
        row(tensor_math.transpose, (((2, 3, 4),),), axes=(-1, 0)),
        row(tensor_math.matmul, products),
        row(tensor_math.matmul, (((6, 4), (5, 6)),), attrs={"a_trans": True, "b_trans": True}),
        row(
            tensor_math.matmul,
            (((4, 6), (6, 5)),),
            attrs={"out_dtype": D.FP32},
            dtypes=(D.BF16, D.FP16, D.INT8),
        ),
        row(tensor_math.assemble, (((4, 6), (2, 3)),), ints=((1, 2),)),
    ]


# --------------------------------------------------------------------------------------------
# The table
# --------------------------------------------------------------------------------------------

# The third one is a column vector, which a pass turns into a row.
_ONE: tuple[tuple[Shape, ...], ...] = (((16, 16),), ((1, 256),), ((16, 1),), ((3, 64),))
_TWO: tuple[tuple[Shape, ...], ...] = tuple((s, s) for (s,) in _ONE)
_REDUCED: tuple[tuple[Shape, ...], ...] = (((16, 16),), ((32, 64),), ((16, 256),))
_COLUMN: tuple[tuple[Shape, ...], ...] = (((16, 16), (16, 1)), ((32, 128), (32, 1)))
_ROW: tuple[tuple[Shape, ...], ...] = (((16, 16), (1, 16)), ((3, 64), (1, 64)))
# One ulp and a bit, for functions that libraries compute differently.
_CLOSE: Mapping[DataType, float] = {D.FP32: 3e-7, D.FP16: 1.1e-3}


def _casts() -> list[Case]:
    rows: list[Case] = []
    for source, targets in CASTS.items():
        for target in (d for d in MEMBERS.values() if d in targets):
            rounds = source.is_float() and target.is_int()
            modes = ["rint", "round", "floor", "ceil", "trunc", "odd", "none"]
            for mode in modes if rounds else ["rint"]:
                attrs = {"target_type": target, "mode": mode}
                shapes: tuple[tuple[Shape, ...], ...] = (((16, 32),), ((32, 1),))
                values = between(-100, 100)
                row = Case(elementwise.cast, shapes, (source,), attrs=attrs, values=values)
                rows.append(row)
    same = {"target_type": D.FP32, "mode": "rint"}
    rows.append(Case(elementwise.cast, (((16, 32),),), (D.FP32,), attrs=same, reference=_itself))
    return rows


def _itself(a: Any) -> Any:
    return a


def _left(a: int, count: int) -> int:
    return a << count if 0 <= count < 64 else 0


def _right(a: int, count: int) -> int:
    return a >> (count if 0 <= count < 64 else 64)


def _remainder(a: Any, b: Any) -> Any:
    return a % b if b else 0


def _bitwise() -> list[Case]:
    # Rows and columns of one-byte elements, too, have at least 32 bytes.
    one: tuple[tuple[Shape, ...], ...] = (((32, 32),), ((1, 256),), ((32, 1),), ((3, 64),))
    two: tuple[tuple[Shape, ...], ...] = tuple((s, s) for (s,) in one)

    def number(op: AnyOp, scalar: int, reference: Formula, *dtypes: DataType) -> Case:
        near = op is bitwise.rems
        values = between(-100, 100) if near else whole_range
        return Case(op, one, dtypes, (scalar,), reference=reference, values=values)

    return [
        Case(bitwise.and_, two, values=whole_range, reference=lambda a, b: a & b),
        Case(bitwise.or_, two, values=whole_range, reference=lambda a, b: a | b),
        Case(bitwise.xor, two, values=whole_range, reference=lambda a, b: a ^ b),
        number(bitwise.ands, 0x5A, lambda a, s: a & s),
        number(bitwise.ors, 0x5A, lambda a, s: a | s),
        number(bitwise.xors, 0x5A, lambda a, s: a ^ s),
        Case(bitwise.not_, one, values=whole_range, reference=lambda a: ~a),
        Case(bitwise.shl, two, values=shifted, reference=_left),
        Case(bitwise.shr, two, values=shifted, reference=_right),
        number(bitwise.shls, 3, _left),
        number(bitwise.shls, 0, _left, D.INT16),
        number(bitwise.shls, 40, _left, D.INT32),
        number(bitwise.shrs, 3, _right),
        number(bitwise.shrs, 16, _right, D.UINT16),
        number(bitwise.shrs, 40, _right, D.INT32),
        Case(bitwise.rem, two, values=between(-100, 100), reference=_remainder),
        Case(bitwise.rem, two, (D.INT32,), values=whole_range, reference=_remainder),
        number(bitwise.rems, 7, _remainder),
        number(bitwise.rems, -7, _remainder, D.FP32),
        number(bitwise.rems, 0, _remainder, D.INT32),
    ]


_COMPARISONS: tuple[Formula, ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)


def _select() -> list[Case]:
    # A5 compares 32 elements or more.
    sizes: tuple[Shape, ...] = ((16, 16), (1, 256), (32, 1), (3, 64), (2, 8, 32), (64, 96))
    one: tuple[tuple[Shape, ...], ...] = tuple((s,) for s in sizes)
    two: tuple[tuple[Shape, ...], ...] = tuple((s, s) for s in sizes)
    three: tuple[tuple[Shape, ...], ...] = tuple((s, s, s) for s in sizes)
    moved: tuple[tuple[Shape, ...], ...] = (((16, 32),) * 2, ((32, 1),) * 2, ((3, 64),) * 2)
    rows = [
        Case(elementwise.expands, one, scalars=(3,), reference=lambda _a, s: s),
        Case(elementwise.lrelu, one, scalars=(0.3,), reference=lambda a, s: a if a > 0 else a * s),
        Case(compare_select.prelu, two, reference=lambda a, s: a if a > 0 else a * s),
        Case(ternary.addc, three, values=exact, reference=lambda a, b, c: a + b + c),
        Case(ternary.subc, three, values=exact, reference=lambda a, b, c: a - b - c),
        Case(
            ternary.addsc,
            two,
            scalars=(3,),
            values=exact,
            reference=lambda a, c, s: a + s + c,
        ),
        Case(
            ternary.subsc,
            two,
            scalars=(3,),
            values=exact,
            reference=lambda a, c, s: a - s - c,
        ),
        Case(compare_select.sel, three, values=small, reference=lambda m, a, b: a if m else b),
        Case(
            compare_select.sels,
            moved,
            scalars=(2,),
            values=whole_range,
            reference=lambda a, _b, _s: a,
        ),
        Case(
            compare_select.sels,
            moved,
            (D.FP16,),
            scalars=(0,),
            values=whole_range,
            reference=lambda _a, b, _s: b,
        ),
    ]
    for mode, holds in enumerate(_COMPARISONS):
        words = {"cmp_type": mode}
        rows.append(Case(compare_select.cmp, two, attrs=words, values=small, reference=holds))
        rows.append(
            Case(compare_select.cmps, one, scalars=(1,), attrs=words, values=small, reference=holds)
        )
    return rows


def _along(op: AnyOp, rtol: Mapping[DataType, float], atol: Mapping[DataType, float]) -> list[Case]:
    """Return rows of a reduction along the first and the last dimension."""
    columns: tuple[tuple[Shape, ...], ...] = (((16, 32),), ((3, 64),), ((1, 32),), ((4, 8, 16),))
    rows: tuple[tuple[Shape, ...], ...] = (((16, 32),), ((32, 256),), ((32, 1),))
    return [
        Case(
            op,
            columns if axis == 0 else rows if keepdim else (*rows, ((2, 16, 32),)),
            attrs={"axis": axis, "keepdim": keepdim},
            values=whole_range,
            rtol=rtol,
            atol=atol,
        )
        for axis, keepdim in ((0, True), (0, False), (-1, True), (-1, False))
    ]


CASES: list[Case] = [
    Case(elementwise.add, _TWO, values=whole_range, reference=lambda a, b: a + b),
    Case(elementwise.sub, _TWO, values=whole_range, reference=lambda a, b: a - b),
    Case(elementwise.mul, _TWO, values=whole_range, reference=lambda a, b: a * b),
    Case(elementwise.div, _TWO, values=positive, reference=lambda a, b: a / b),
    Case(elementwise.maximum, _TWO, values=whole_range, reference=max),
    Case(elementwise.minimum, _TWO, values=whole_range, reference=min),
    Case(elementwise.adds, _ONE, scalars=(3,), values=whole_range, reference=lambda a, s: a + s),
    Case(elementwise.subs, _ONE, scalars=(3,), values=whole_range, reference=lambda a, s: a - s),
    Case(elementwise.muls, _ONE, scalars=(3,), values=whole_range, reference=lambda a, s: a * s),
    Case(
        elementwise.divs,
        _ONE,
        scalars=(3,),
        values=whole_range,
        reference=lambda a, s: int(a / s) if isinstance(a, int) else a / s,
    ),
    Case(elementwise.maxs, _ONE, (D.FP16, D.FP32), (0.5,), reference=max),
    Case(elementwise.mins, _ONE, (D.FP16, D.FP32), (0.5,), reference=min),
    *[
        Case(op, _ONE, (dtype,), (-7,), values=whole_range, reference=formula)
        for op, formula in ((elementwise.maxs, max), (elementwise.mins, min))
        for dtype in (D.INT16, D.INT32)
    ],
    Case(elementwise.exp, _ONE, rtol=_CLOSE, reference=np.exp),
    Case(elementwise.log, _ONE, values=positive, rtol=_CLOSE, atol=_CLOSE, reference=np.log),
    Case(elementwise.sqrt, _ONE, values=positive, reference=np.sqrt),
    Case(
        elementwise.rsqrt,
        _ONE,
        values=positive,
        rtol=_CLOSE,
        reference=lambda a: 1 / np.sqrt(a),
    ),
    Case(elementwise.recip, _ONE, values=positive, rtol=_CLOSE, reference=lambda a: 1 / a),
    Case(elementwise.neg, _ONE, values=whole_range, reference=lambda a: -a),
    Case(elementwise.abs, _ONE, reference=abs),
    Case(elementwise.relu, _ONE, values=whole_range, reference=lambda a: max(a, 0)),
    *_casts(),
    *_bitwise(),
    *_select(),
    Case(reduce.row_max, _REDUCED, values=whole_range, reference=max),
    Case(reduce.row_min, _REDUCED, values=whole_range, reference=min),
    # The order of summation depends on the machine: 256 terms of up to 8.
    Case(
        reduce.row_sum,
        _REDUCED,
        values=whole_range,
        rtol={D.FP32: 1e-6, D.FP16: 1e-3},
        atol={D.FP32: 2e-4, D.FP16: 2e-4},
        reference=sum,
    ),
    *_along(axis_reductions.max, {}, {}),
    *_along(axis_reductions.min, {}, {}),
    *_along(axis_reductions.sum, {D.FP32: 1e-6, D.FP16: 1e-3}, {D.FP32: 2e-4, D.FP16: 2e-4}),
    Case(axis_reductions.max, (((40,),),), _SIGNED, attrs={"axis": 0}, build=reduced),
    Case(axis_reductions.min, (((40,),),), _SIGNED, attrs={"axis": -1}, build=reduced),
    Case(
        axis_reductions.sum,
        (((256,),),),
        _SIGNED,
        attrs={"axis": 0},
        rtol={D.FP32: 1e-6, D.FP16: 2e-3},
        atol={D.FP32: 2e-4, D.FP16: 2e-2},
        build=reduced,
    ),
    Case(reduce.row_expand, (((16, 32),), ((3, 64),), ((32, 1),)), values=whole_range),
    Case(reduce.col_expand, (((16, 32), (1, 32)), ((3, 64), (1, 64))), values=whole_range),
    Case(reduce.row_expand_add, _COLUMN, values=whole_range, reference=lambda a, v: a + v),
    Case(reduce.row_expand_sub, _COLUMN, values=whole_range, reference=lambda a, v: a - v),
    Case(reduce.row_expand_mul, _COLUMN, values=whole_range, reference=lambda a, v: a * v),
    Case(reduce.row_expand_div, _COLUMN, values=positive, reference=lambda a, v: a / v),
    Case(reduce.col_expand_mul, _ROW, values=whole_range, reference=lambda a, v: a * v),
    Case(reduce.col_expand_div, _ROW, values=positive, reference=lambda a, v: a / v),
    Case(reduce.col_expand_sub, _ROW, values=whole_range, reference=lambda a, v: a - v),
    Case(
        matmul.matmul,
        (((16, 32), (32, 32)), ((32, 64), (64, 96))),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-3, D.FP16: 1e-3, D.BF16: 1e-3},
    ),
    Case(
        matmul.matmul_acc,
        (((16, 32), (16, 32), (32, 32)), ((32, 96), (32, 64), (64, 96))),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-3, D.FP16: 1e-3, D.BF16: 1e-3},
        build=accumulated,
    ),
    Case(
        matmul.matmul_bias,
        (((16, 32), (32, 32), (1, 32)), ((32, 64), (64, 96), (1, 96))),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-3, D.FP16: 1e-3, D.BF16: 1e-3},
        build=biased,
    ),
    Case(
        matmul.matmul_bias,
        (((16, 32), (32, 32), (1, 32)),),
        (D.FP16,),
        rtol={D.FP16: 1e-5},
        atol={D.FP16: 1e-3},
        build=biased_in_mat,
    ),
    # A row is moved to Left memory in units of 512 bytes.
    Case(
        matmul.gemv,
        (((1, 512), (512, 32)),),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-2, D.FP16: 1e-2, D.BF16: 1e-2},
    ),
    Case(
        matmul.gemv_acc,
        (((1, 512), (512, 32)),),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-2, D.FP16: 1e-2, D.BF16: 1e-2},
        build=accumulated_rows,
    ),
    Case(
        matmul.gemv_bias,
        (((1, 512), (512, 32), (1, 32)),),
        rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
        atol={D.FP32: 1e-2, D.FP16: 1e-2, D.BF16: 1e-2},
        build=biased,
    ),
    Case(
        matmul.batch_matmul,
        (((2, 16, 32), (2, 32, 16)), ((3, 1, 8, 32), (2, 32, 4)), ((16, 32), (32, 16))),
        no_kernel="no target executes it",
    ),
    Case(reshaping.reshape, (((16, 32),),), ints=((8, 64),)),
    Case(reshaping.reshape, (((32, 1),),), ints=((1, 32),)),
    Case(reshaping.reshape, (((1, 32),),), ints=((32, 1),)),
    Case(reshaping.transpose, (((32, 64),), ((64, 32),))),
    Case(memory.load, (((20, 96),),), ints=((2, 32), (16, 32)), attrs={"target_memory": VEC}),
    Case(memory.load, (((48, 1),),), ints=((16, 0), (32, 1)), attrs={"target_memory": VEC}),
    Case(new_tiles.view, (((32, 64),),), ints=((8, 64), (16, 0))),
    Case(new_tiles.view, (((16, 256),),), ints=((1, 64), (3, 128))),
    Case(new_tiles.view, (((32, 64),),), (D.FP32, D.BF16, D.INT8), ints=((8, 16), (5, 24))),
    Case(new_tiles.view, (((32, 64),),), (D.FP32, D.BF16, D.INT8), ints=((7, 3), (0, 61))),
    Case(new_tiles.view, (((4, 8, 32),),), ints=((2, 8, 32), (1, 0, 0))),
    Case(new_tiles.view, (((512,),),), ints=((64,), (32,))),
    Case(new_tiles.view, (((4, 8, 32),),), ints=((1, 1, 32), (3, 5, 0))),
    Case(memory.store, (((16, 32),),), build=stored),
    Case(
        memory.l0c_store,
        (((16, 32),),),
        (D.FP32, D.INT32),
        rtol={D.FP32: 1e-5},
        atol={D.FP32: 1e-3},
        build=stored_acc,
    ),
    Case(memory.move, (((16, 32),), ((32, 1),)), attrs={"target_memory": VEC}),
    Case(new_tiles.vec_move, (((16, 32),), ((32, 1),)), values=whole_range),
    Case(new_tiles.fillpad, (((16, 32),), ((32, 1),), ((3, 64),)), values=whole_range),
    *(
        Case(
            memory.move,
            (((32, 64),),),
            (D.INT8, D.FP16, D.BF16, D.FP32),
            attrs={"target_memory": space, "transpose": transpose},
            rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
            atol={D.FP32: 1e-3, D.FP16: 1e-3, D.BF16: 1e-3},
            build=moved,
        )
        for space in (LEFT, RIGHT)
        for transpose in (False, True)
    ),
    *(
        Case(
            memory.extract,
            (((64, 96),),),
            (D.INT8, D.FP16, D.BF16, D.FP32),
            ints=((32, 64),),
            scalars=(32, 32),
            attrs={"target_memory": space, "transpose": transpose},
            rtol={D.FP32: 1e-5, D.FP16: 1e-5, D.BF16: 1e-5},
            atol={D.FP32: 1e-3, D.FP16: 1e-3, D.BF16: 1e-3},
            build=extracted,
        )
        for space in (LEFT, RIGHT)
        for transpose in (False, True)
    ),
    Case(
        new_tiles.create_tile,
        ((),),
        (D.FP32, D.FP16, D.INT16, D.INT32),
        ints=((16, 16),),
        build=created,
    ),
    Case(new_tiles.alloc, (((16, 32),),), (D.FP32, D.INT8), build=described),
    Case(new_tiles.full, ((),), scalars=(3,), ints=((16, 16),), build=filled),
    Case(new_tiles.full, ((),), scalars=(-2,), ints=((16, 1),), build=filled),
    Case(system.get_block_idx, ((),), (D.INT32,), build=indexed),
    Case(tensor.create, ((),), ints=((3, 5),), no_kernel="tensors are made on the host"),
    Case(tensor.view, (((20, 96),),), (D.FP32,), ints=((16, 32), (2, 32)), build=windowed),
    Case(tensor.reshape_view, (((8, 64),),), (D.FP32,), ints=((32, 16),), build=reshaped),
    Case(tensor.read, (((4, 8),),), (D.FP32, D.INT32), ints=((2, 3),), build=element_read),
    Case(tensor.dim, (((4, 8),),), (D.FP32,), axes=(-1,), build=measured),
    *_on_tensors(),
    *(
        Case(op, ((),), attrs=attrs, no_kernel="passes put it into kernels")
        for op, attrs in (
            (
                system.sync_src,
                {"set_pipe": PipeType.MTE2, "wait_pipe": PipeType.V, "event_id": 0},
            ),
            (
                system.sync_dst,
                {"set_pipe": PipeType.MTE2, "wait_pipe": PipeType.V, "event_id": 0},
            ),
            (system.bar_v, {}),
            (system.bar_m, {}),
            (system.bar_all, {}),
        )
    ),
    *MORE,
    *LINES,
    Case(
        testing.op,
        ((),),
        attrs={"int_attr": 1, "string_attr": "a", "bool_attr": True},
        no_kernel="it is there for tests of the registry",
    ),
]


def missing_rows() -> list[str]:
    """Return the registered ops that have no row."""
    known = {case.op.name for case in CASES}
    return [name for name in REGISTRY if name not in known]


__all__ = [
    "ACC",
    "BIAS",
    "CASES",
    "LEFT",
    "MAT",
    "RIGHT",
    "VEC",
    "AnyOp",
    "Array",
    "Build",
    "BuiltKernel",
    "Case",
    "Formula",
    "Kernel",
    "Shape",
    "Values",
    "accumulated",
    "accumulated_rows",
    "between",
    "biased",
    "biased_in_mat",
    "build_call",
    "call",
    "created",
    "described",
    "element_read",
    "exact",
    "filled",
    "indexed",
    "is_scratch",
    "kernel_for",
    "measured",
    "missing_rows",
    "moderate",
    "moved",
    "operands_for",
    "positive",
    "shifted",
    "small",
    "static",
    "stored",
    "stored_acc",
    "whole_range",
    "windowed",
]
