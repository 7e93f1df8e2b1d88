"""Rows of the op table for tensor forms of ops that work along rows or columns."""

from __future__ import annotations

import math
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.enums import MaskPattern, TilePad
from pypto._src.ir.exprs import Expr
from pypto._src.ops.lazy import tensor_lines as t
from tests.more_cases import FLOATS, NARROW, assembled, on_tensors, tensor_rows
from tests.op_kernels import AnyOp, Case, Formula, Kernel, Shape, between, small, whole_range

D = DataType
Shapes = tuple[tuple[Shape, ...], ...]
_RAGGED: Final[Shapes] = (((16, 64),), ((37, 93),))
_PAIR: Final[Shapes] = (((37, 93), (37, 93)),)
_MOVED: Final = (D.FP32, D.FP16, D.BF16, D.INT32, D.INT16)


def _made(kernel: Kernel, case: Case, dtype: DataType, _shapes: tuple[Shape, ...]) -> Expr:
    """Write what a creation op makes to an output tensor."""
    words = {"dtype": dtype, **case.attrs}
    start, shape = int(case.scalars[0]), list(case.ints[0])
    given = [shape, start] if case.op is t.full else [start, shape]
    names = [param.name for param in case.op.operands]
    return assembled(kernel, case.op.build([], {**dict(zip(names, given, strict=True)), **words}))


def _sorted(kernel: Kernel, case: Case, dtype: DataType, shapes: tuple[Shape, ...]) -> Expr:
    """Sort values with their indices."""
    given = [kernel.input(shapes[0], dtype), kernel.input(shapes[1], D.UINT32)]
    return assembled(kernel, case.op.build(given, {}))


def _elementwise() -> list[Case]:
    out: list[Case] = []
    pairs: list[tuple[AnyOp, Formula]] = [
        (t.part_add, lambda a, b: a + b),
        (t.part_mul, lambda a, b: a * b),
        (t.part_max, max),
        (t.part_min, min),
    ]
    computed = (D.FP32, D.FP16, D.INT32, D.INT16)
    for op, formula in pairs:
        small_pair = (((4, 6), (4, 6)),)
        out += tensor_rows(
            op, _PAIR, computed, formula, small_pair, values=whole_range, rtol=NARROW
        )
    near: dict[str, Any] = {"rtol": {D.FP32: 1e-4, **NARROW}, "atol": {D.FP32: 1e-5, D.FP16: 1e-3}}
    for op, formula in ((t.sin, math.sin), (t.cos, math.cos)):
        kinds = (D.FP32, D.FP16)
        out += tensor_rows(op, _RAGGED, kinds, formula, values=between(-6, 6), **near)
    values = between(-100, 100)
    out += tensor_rows(t.fmod, _PAIR, (D.FP32,), math.fmod, (((4, 6), (4, 6)),), values=values)
    out += tensor_rows(t.fmods, _RAGGED, (D.FP32,), math.fmod, scalars=(7,), values=values)
    column: Shapes = (((37, 93), (37, 1)),)
    row: Shapes = (((37, 93), (1, 93)),)
    added = tuple(kind for kind in _MOVED if kind is not D.BF16)  # to zeros, in each column
    out += tensor_rows(
        t.row_expand, column, added, lambda _, v: v, (((4, 6), (4, 1)),), values=whole_range
    )
    out += tensor_rows(
        t.col_expand, row, _MOVED, lambda _, v: v, (((4, 6), (1, 6)),), values=whole_range
    )
    out += tensor_rows(t.expands, _RAGGED, computed, lambda _, v: v, scalars=(3,))
    return out


LINES: Final = [
    *_elementwise(),
    Case(t.full, ((),), (D.FP32, D.BF16, D.INT8, D.UINT32), (3,), ((37, 93),), build=_made),
    *(
        Case(
            t.arange,
            ((),),
            (D.INT32, D.INT16, D.UINT32, D.UINT16),
            (start,),
            ((1, 300),),
            attrs={"descending": falls},
            build=_made,
        )
        for start, falls in ((5, False), (700, True))
    ),
    Case(t.concat, (((37, 93), (37, 5)), ((16, 64), (16, 64))), _MOVED, build=on_tensors),
    *(
        Case(
            t.fillpad_expand,
            (((37, 93),),),
            (D.FP32, D.INT32, D.INT8) if pad is TilePad.zero else (D.INT32, D.INT16),
            ints=((40, 100),),
            attrs={"pad_value": pad},
            build=on_tensors,
        )
        for pad in (TilePad.zero, TilePad.max, TilePad.min)
    ),
    *(
        Case(op, (((37, 93),), ((300, 24),)), FLOATS[:2], build=on_tensors, values=small)
        for op in (t.row_argmax, t.row_argmin, t.col_argmax, t.col_argmin)
    ),
    Case(t.reinterpret_view, (((37, 64),),), (D.FP32,), attrs={"dtype": D.INT32}, build=on_tensors),
    Case(
        t.gather_mask,
        (((37, 64),),),
        _MOVED,
        attrs={"mask_pattern": MaskPattern.P1010.value},
        build=on_tensors,
    ),
    Case(
        t.scatter_mask,
        (((37, 32), (37, 64)),),
        (D.FP32, D.INT32),
        attrs={"mask_pattern": MaskPattern.P1010.value},
        build=on_tensors,
    ),
    Case(t.sort32, (((3, 64), (3, 64)),), (D.FP32,), build=_sorted, values=between(0, 1000)),
    Case(t.mrgsort, (((3, 256),),), (D.FP32,), attrs={"block_len": 64}, build=on_tensors),
    *(
        Case(op, (((3, 64),) * count,), (D.FP32,), build=on_tensors)
        for op, count in ((t.mrgsort2, 2), (t.mrgsort3, 3), (t.mrgsort4, 4))
    ),
    Case(
        t.gather,
        (((3, 64), (3, 8)),),
        (D.INT32,),
        attrs={"dim": -1},
        values=between(0, 63),
        indices=(1,),
        build=on_tensors,
    ),
    Case(
        t.scatter,
        (((3, 64), (3, 8), (3, 8)),),
        (D.INT32,),
        attrs={"dim": -1},
        values=between(0, 63),
        indices=(1,),
        build=on_tensors,
    ),
    Case(
        t.scatter_update,
        (((8, 64), (1, 3), (3, 64)),),
        (D.INT32,),
        attrs={"dim": -2},
        values=between(0, 7),
        indices=(1,),
        build=on_tensors,
    ),
]
"""The rows."""
