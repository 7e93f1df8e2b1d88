"""What operators compute at each level where they exist: one row per spelling.

A row is a line of a program on operands ``x0``, ``x1``, ... that computes ``r``, with ``f`` for the
namespace. `tests.language.test_levels` puts it in a region, in a function on whole tensors, and
in a kernel on tiles, and compares what each computes with the row's formula on NumPy arrays.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# The formulas are functions of arrays.

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pypto._src.dtypes import DataType

Array = np.ndarray[Any, Any]
Formula = Callable[[Any], Any] | Callable[[Any, Any], Any] | Callable[[Any, Any, Any], Any]
Shape = tuple[int, ...]
D = DataType

COMPUTED: Final = (D.FP32, D.FP16, D.INT32, D.INT16)
FLOATS: Final = (D.FP32, D.FP16)
SINGLE: Final = (D.FP32,)
INTS: Final = (D.INT32, D.INT16)
REGION, TENSOR, TILE = "region", "tensor", "tile"
ALL: Final = (REGION, TENSOR, TILE)
PARTS: Final = (REGION, TILE)
PL, LEVEL = (True, False), (False, True)


LOCAL: Final = {"set_validshape", "matmul_acc"}
"""Operators on tensors in regions, where these are on chip, but not on whole tensors."""


@dataclass(frozen=True)
class Row:
    """A spelling, its operands, and its formula."""

    text: str
    shapes: Sequence[Shape]
    means: Formula
    dtypes: Sequence[DataType] = COMPUTED
    levels: Sequence[str] = ALL
    operand_dtypes: Sequence[DataType | None] = ()
    """Element types of operands, where they are not the row's."""
    result: DataType | None = None
    """The element type of the result, if it is not the row's."""
    values: tuple[float, float] = (-8, 8)
    rtol: float | None = None
    namespaces: tuple[bool, bool] = (True, True)
    """Whether ``pl`` itself, and whether the level's namespace, has the text's operators."""

    @property
    def name(self) -> str:
        """The text, for use in test ids."""
        return self.text.replace("\n", "; ")

    @property
    def operators(self) -> list[str]:
        """The operators that the text calls."""
        return re.findall(r"\bf\.(\w+)\(", self.text)


M, N = 16, 64
WHOLE: Final = (M, N)
COLUMN: Final = (M, 1)
ROW: Final = (1, N)


def one(text: str, means: Formula, dtypes: Sequence[DataType] = FLOATS, **facts: Any) -> Row:
    return Row(text, [WHOLE], means, dtypes, **facts)


def two(text: str, means: Formula, dtypes: Sequence[DataType] = COMPUTED, **facts: Any) -> Row:
    return Row(text, [WHOLE, WHOLE], means, dtypes, **facts)


def beside_column(
    text: str, means: Formula, dtypes: Sequence[DataType] = COMPUTED, **facts: Any
) -> Row:
    return Row(text, [WHOLE, COLUMN], means, dtypes, **facts)


def beside_row(
    text: str, means: Formula, dtypes: Sequence[DataType] = COMPUTED, **facts: Any
) -> Row:
    return Row(text, [WHOLE, ROW], means, dtypes, **facts)


def quotient(a: Array, b: Any) -> Array:
    if np.issubdtype(a.dtype, np.integer):
        return np.trunc(a / np.asarray(b, np.float64)).astype(np.int64)
    return a / b


POSITIVE: Final[dict[str, Any]] = {"values": (0.25, 8.0)}


def _expdif(a: Array, v: Array) -> Array:
    return np.exp(a - v)


ROWS: list[Row] = [
    # elementwise
    two("r = f.add(x0, x1)", np.add),
    two("r = f.sub(x0, x1)", np.subtract),
    two("r = f.mul(x0, x1)", np.multiply),
    two("r = f.div(x0, x1)", quotient, FLOATS, **POSITIVE),
    one("r = f.add(x0, 3)", lambda a: a + 3, COMPUTED, levels=(REGION, TENSOR)),
    one("r = f.add(x0, 3)", lambda a: a + 3, COMPUTED, levels=(TILE,), namespaces=PL),
    one("r = f.sub(x0, 3)", lambda a: a - 3, COMPUTED, levels=(REGION, TENSOR)),
    one("r = f.sub(x0, 3)", lambda a: a - 3, COMPUTED, levels=(TILE,), namespaces=PL),
    one("r = f.mul(x0, 3)", lambda a: a * 3, COMPUTED, levels=(REGION, TENSOR)),
    one("r = f.mul(x0, 3)", lambda a: a * 3, COMPUTED, levels=(TILE,), namespaces=PL),
    one("r = f.div(x0, 3)", lambda a: quotient(a, 3), COMPUTED, levels=(REGION, TENSOR)),
    one("r = f.div(x0, 3)", lambda a: quotient(a, 3), COMPUTED, levels=(TILE,), namespaces=PL),
    one("r = f.adds(x0, 3)", lambda a: a + 3, COMPUTED, namespaces=LEVEL),
    one("r = f.subs(x0, 3)", lambda a: a - 3, COMPUTED, namespaces=LEVEL),
    one("r = f.muls(x0, 3)", lambda a: a * 3, COMPUTED, namespaces=LEVEL),
    one("r = f.divs(x0, 3)", lambda a: quotient(a, 3), COMPUTED, namespaces=LEVEL),
    two("r = f.div(x0, x1, high_precision=True)", quotient, FLOATS, **POSITIVE),
    beside_column("r = f.add(x0, x1)", np.add, levels=(REGION, TENSOR)),
    beside_column("r = f.sub(x0, x1)", np.subtract, levels=(REGION, TENSOR)),
    Row("r = f.sub(x0, x1)", [COLUMN, WHOLE], np.subtract, levels=(REGION, TENSOR)),
    Row("r = f.sub(x0, x1)", [ROW, WHOLE], np.subtract, levels=(REGION, TENSOR)),
    Row(
        "r = f.div(x0, x1)", [COLUMN, WHOLE], quotient, FLOATS, levels=(REGION, TENSOR), **POSITIVE
    ),
    beside_row("r = f.mul(x0, x1)", np.multiply, levels=(REGION, TENSOR)),
    beside_row("r = f.maximum(x0, x1)", np.maximum, levels=(REGION, TENSOR)),
    beside_column("r = f.minimum(x0, x1)", np.minimum, levels=(REGION, TENSOR)),
    two("r = f.maximum(x0, x1)", np.maximum),
    two("r = f.minimum(x0, x1)", np.minimum),
    one("r = f.maximum(x0, 2)", lambda a: np.maximum(a, 2), COMPUTED, levels=(REGION, TENSOR)),
    one(
        "r = f.maximum(x0, 2)", lambda a: np.maximum(a, 2), COMPUTED, levels=(TILE,), namespaces=PL
    ),
    one("r = f.minimum(x0, 2)", lambda a: np.minimum(a, 2), COMPUTED, levels=(REGION, TENSOR)),
    one(
        "r = f.minimum(x0, 2)", lambda a: np.minimum(a, 2), COMPUTED, levels=(TILE,), namespaces=PL
    ),
    one("r = f.maximums(x0, 2)", lambda a: np.maximum(a, 2), COMPUTED, levels=(REGION, TILE)),
    one("r = f.minimums(x0, 2)", lambda a: np.minimum(a, 2), COMPUTED, levels=(REGION, TILE)),
    two("r = f.part_add(x0, x1)", np.add),
    two("r = f.part_mul(x0, x1)", np.multiply),
    two("r = f.part_max(x0, x1)", np.maximum),
    two("r = f.part_min(x0, x1)", np.minimum),
    two("r = f.fmod(x0, x1)", np.fmod, SINGLE, **POSITIVE),
    one("r = f.fmod(x0, 3.0)", lambda a: np.fmod(a, 3.0), SINGLE),
    one("r = f.fmods(x0, 3.0)", lambda a: np.fmod(a, 3.0), SINGLE),
    Row(
        "tmp = pl.create_tile([16, 128], x0.dtype)\nr = f.rem(x0, x1, tmp)",
        [WHOLE, WHOLE],
        np.mod,
        SINGLE,
        (TILE,),
        **POSITIVE,
    ),
    Row(
        "tmp = pl.create_tile([16, 128], x0.dtype)\nr = f.rems(x0, 3.0, tmp)",
        [WHOLE],
        lambda a: np.mod(a, 3.0),
        SINGLE,
        (TILE,),
    ),
    one("r = f.exp(x0)", np.exp),
    one("r = f.log(x0)", np.log, **POSITIVE),
    one("r = f.log(x0, high_precision=True)", np.log, **POSITIVE),
    one("r = f.sqrt(x0)", np.sqrt, **POSITIVE),
    one("r = f.recip(x0)", lambda a: 1 / a, **POSITIVE),
    one("r = f.recip(x0, high_precision=True)", lambda a: 1 / a, **POSITIVE),
    one("r = f.rsqrt(x0)", lambda a: 1 / np.sqrt(a), **POSITIVE),
    one(
        "r = f.rsqrt(x0, high_precision=True)",
        lambda a: 1 / np.sqrt(a),
        levels=(REGION, TENSOR),
        **POSITIVE,
    ),
    one(
        "tmp = pl.create_tile([16, 64], x0.dtype)\nr = f.rsqrt(x0, tmp)",
        lambda a: 1 / np.sqrt(a),
        levels=(TILE,),
        **POSITIVE,
    ),
    one("r = f.neg(x0)", np.negative, COMPUTED),
    one("r = f.abs(x0)", np.abs),
    one("r = f.sin(x0)", np.sin, SINGLE, rtol=1e-5),
    one("r = f.cos(x0)", np.cos, SINGLE, rtol=1e-5),
    one("r = f.relu(x0)", lambda a: np.maximum(a, 0), levels=(REGION, TILE)),
    one("r = f.lrelu(x0, 0.5)", lambda a: np.where(a > 0, a, a * 0.5), levels=(REGION, TILE)),
    # bits
    two("r = f.and_(x0, x1)", np.bitwise_and, INTS),
    two("r = f.or_(x0, x1)", np.bitwise_or, INTS),
    two("r = f.xor(x0, x1)", np.bitwise_xor, INTS, levels=(REGION, TENSOR)),
    two(
        "tmp = pl.create_tile([16, 64], x0.dtype)\nr = f.xor(x0, x1, tmp)",
        np.bitwise_xor,
        INTS,
        levels=(TILE,),
    ),
    two("r = f.shl(x0, x1)", np.left_shift, INTS, values=(0, 5)),
    two("r = f.shr(x0, x1)", np.right_shift, INTS, values=(0, 5)),
    one("r = f.and_(x0, 6)", lambda a: a & 6, INTS, levels=(REGION, TENSOR)),
    one("r = f.and_(x0, 6)", lambda a: a & 6, INTS, levels=(TILE,), namespaces=PL),
    one("r = f.ands(x0, 6)", lambda a: a & 6, INTS, namespaces=LEVEL),
    one("r = f.or_(x0, 6)", lambda a: a | 6, INTS, levels=(REGION, TENSOR)),
    one("r = f.or_(x0, 6)", lambda a: a | 6, INTS, levels=(TILE,), namespaces=PL),
    one("r = f.ors(x0, 6)", lambda a: a | 6, INTS, namespaces=LEVEL),
    one("r = f.xor(x0, 6)", lambda a: a ^ 6, INTS, levels=(REGION, TENSOR)),
    one("r = f.xors(x0, 6)", lambda a: a ^ 6, INTS, levels=(REGION, TENSOR), namespaces=LEVEL),
    one(
        "tmp = pl.create_tile([16, 64], x0.dtype)\nr = f.xors(x0, 6, tmp)",
        lambda a: a ^ 6,
        INTS,
        levels=(TILE,),
    ),
    one("r = f.shl(x0, 2)", lambda a: a << 2, INTS, levels=(REGION, TENSOR)),
    one("r = f.shl(x0, 2)", lambda a: a << 2, INTS, levels=(TILE,), namespaces=PL),
    one("r = f.shls(x0, 2)", lambda a: a << 2, INTS, namespaces=LEVEL),
    one("r = f.shr(x0, 2)", lambda a: a >> 2, INTS, levels=(REGION, TENSOR)),
    one("r = f.shr(x0, 2)", lambda a: a >> 2, INTS, levels=(TILE,), namespaces=PL),
    one("r = f.shrs(x0, 2)", lambda a: a >> 2, INTS, namespaces=LEVEL),
    one("r = f.not_(x0)", np.invert, (D.INT16, D.UINT16), values=(0, 100)),
    # reductions
    *[
        one(
            f"r = f.row_{name}(x0)",
            lambda a, g=g: g(a, axis=1, keepdims=True),
            COMPUTED,
            levels=(REGION, TENSOR),
            values=values,
        )
        for name, g, values in [
            ("max", np.max, (-8, 8)),
            ("sum", np.sum, (-8, 8)),
            ("min", np.min, (-8, 8)),
            ("prod", np.prod, (0.9, 1.1)),
        ]
    ],
    *[
        one(
            f"tmp = pl.create_tile([16, 64], x0.dtype)\nr = f.row_{name}(x0, tmp)",
            lambda a, g=g: g(a, axis=1, keepdims=True),
            COMPUTED,
            levels=(REGION, TILE),
            values=values,
        )
        for name, g, values in [
            ("max", np.max, (-8, 8)),
            ("sum", np.sum, (-8, 8)),
            ("min", np.min, (-8, 8)),
            ("prod", np.prod, (0.9, 1.1)),
        ]
    ],
    *[
        one(
            f"r = f.col_{name}(x0)",
            lambda a, g=g: g(a, axis=0, keepdims=True),
            COMPUTED,
            values=values,
        )
        for name, g, values in [
            ("max", np.max, (-8, 8)),
            ("sum", np.sum, (-8, 8)),
            ("min", np.min, (-8, 8)),
            ("prod", np.prod, (0.9, 1.1)),
        ]
    ],
    one(
        "tmp = pl.create_tile([16, 64], x0.dtype)\nr = f.col_sum(x0, tmp)",
        lambda a: np.sum(a, axis=0, keepdims=True),
        COMPUTED,
        levels=(TILE,),
    ),
    *[
        one(
            f"r = f.row_{name}(x0)",
            lambda a, g=g: g(a, axis=1).reshape(-1, 1),
            COMPUTED,
            levels=(REGION, TENSOR),
            result=D.INT32,
        )
        for name, g in [("argmax", np.argmax), ("argmin", np.argmin)]
    ],
    *[
        one(
            f"tmp = pl.create_tile([16, 64], x0.dtype)\nr = f.row_{name}(x0, tmp)",
            lambda a, g=g: g(a, axis=1).reshape(-1, 1),
            COMPUTED,
            levels=(TILE,),
            result=D.INT32,
        )
        for name, g in [("argmax", np.argmax), ("argmin", np.argmin)]
    ],
    *[
        one(
            f"r = f.col_{name}(x0)",
            lambda a, g=g: g(a, axis=0).reshape(1, -1),
            FLOATS,
            levels=(REGION, TENSOR),
            result=D.INT32,
        )
        for name, g in [("argmax", np.argmax), ("argmin", np.argmin)]
    ],
    *[
        one(
            f"tmp = pl.create_tile([16, 64], x0.dtype)\nr = f.col_{name}(x0, tmp)",
            lambda a, g=g: g(a, axis=0).reshape(1, -1),
            FLOATS,
            levels=(TILE,),
            result=D.INT32,
        )
        for name, g in [("argmax", np.argmax), ("argmin", np.argmin)]
    ],
    # expansion
    beside_column("r = f.row_expand(x0, x1)", lambda a, v: a * 0 + v),
    beside_column("r = f.row_expand_mul(x0, x1)", np.multiply),
    beside_column("r = f.row_expand_div(x0, x1)", quotient, FLOATS, **POSITIVE),
    beside_column("r = f.row_expand_add(x0, x1)", np.add),
    beside_column("r = f.row_expand_sub(x0, x1)", np.subtract),
    beside_column("r = f.row_expand_max(x0, x1)", np.maximum),
    beside_column("r = f.row_expand_min(x0, x1)", np.minimum),
    beside_column("r = f.row_expand_expdif(x0, x1)", _expdif, FLOATS, values=(-2, 2)),
    beside_row("r = f.col_expand(x0, x1)", lambda a, v: a * 0 + v),
    beside_row("r = f.col_expand_mul(x0, x1)", np.multiply),
    beside_row("r = f.col_expand_div(x0, x1)", quotient, FLOATS, **POSITIVE),
    beside_row("r = f.col_expand_add(x0, x1)", np.add),
    beside_row("r = f.col_expand_sub(x0, x1)", np.subtract),
    beside_row("r = f.col_expand_max(x0, x1)", np.maximum),
    beside_row("r = f.col_expand_min(x0, x1)", np.minimum),
    beside_row("r = f.col_expand_expdif(x0, x1)", _expdif, FLOATS, values=(-2, 2)),
    one("r = f.expands(x0, 3)", lambda a: a * 0 + 3, COMPUTED),
    # casts
    *[
        Row(
            f'r = f.cast(x0, pl.{to.member}, mode="{mode}")',
            [WHOLE],
            g,
            (of,),
            result=to,
            values=(-100, 100),
        )
        for of, to, modes in [
            (D.FP32, D.INT32, ("none", "rint", "round", "floor", "ceil", "trunc")),
            (D.FP32, D.INT16, ("rint", "trunc")),
            (D.FP16, D.INT8, ("rint", "round", "trunc")),
            (D.INT32, D.FP32, ("none",)),
            (D.INT32, D.FP16, ("round",)),
            (D.FP16, D.FP32, ("none",)),
        ]
        for mode in modes
        for g in [
            {
                "none": np.trunc,
                "rint": np.rint,
                "trunc": np.trunc,
                "floor": np.floor,
                "ceil": np.ceil,
                "round": lambda a: np.sign(a) * np.floor(np.abs(a) + 0.5),
            }[mode]
            if not to.is_float()
            else (lambda a: a)
        ]
    ],
    Row(
        'r = f.cast(x0, target_type=pl.BF16, mode="rint")',
        [WHOLE],
        lambda a: a,
        SINGLE,
        result=D.BF16,
        rtol=8e-3,
    ),
    Row("r = f.cast(x0, pl.FP32)", [WHOLE], lambda a: a, (D.BF16, D.FP16), result=D.FP32),
    Row(
        'r = f.cast(f.cast(x0, pl.FP16), pl.FP32, mode="none")',
        [WHOLE],
        lambda a: a,
        (D.INT8, D.UINT8),
        result=D.FP32,
        values=(0, 100),
    ),
    # casts in several steps
    *[
        Row(
            f'r = f.cast(x0, pl.{to.member}, mode="rint")',
            [WHOLE],
            g,
            (of,),
            (REGION,),
            result=to,
            values=(0, 100) if D.UINT8 in (of, to) else (-100, 100),
            rtol=8e-3 if to is D.BF16 else None,
        )
        for of, to, g in [
            (D.FP32, D.INT8, lambda a: np.rint(np.asarray(a, np.float16).astype(float))),
            (D.FP32, D.UINT8, lambda a: np.rint(np.asarray(a, np.float16).astype(float))),
            (D.BF16, D.INT8, np.rint),
            (D.BF16, D.INT16, np.rint),
            (D.BF16, D.FP16, lambda a: a),
            (D.FP16, D.BF16, lambda a: a),
            (D.FP16, D.INT64, np.rint),
            *((D.INT32, to, lambda a: a) for to in (D.INT8, D.UINT8, D.BF16)),
            *((D.INT16, to, lambda a: a) for to in (D.INT32, D.INT8, D.BF16)),
            *((D.INT8, to, lambda a: a) for to in (D.FP32, D.INT32, D.BF16, D.INT16)),
            *((D.UINT8, to, lambda a: a) for to in (D.FP32, D.INT32)),
            *((D.INT64, to, lambda a: a) for to in (D.FP16, D.INT8)),
        ]
    ],
    # comparison
    *[
        two(
            f"r = f.cmp(x0, x1, {code})",
            lambda a, b, g=g: g(a, b) * 1,
            FLOATS,
            levels=(REGION, TENSOR),
        )
        for code, g in enumerate(
            [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]
        )
    ],
    two("r = f.cmp(x0, x1, cmp_type=5)", lambda a, b: (a >= b) * 1, INTS, levels=(REGION, TENSOR)),
    one("r = f.cmp(x0, 0.5, cmp_type=5)", lambda a: (a >= 0.5) * 1, levels=(REGION, TENSOR)),
    two(
        "m = f.cmp(x0, x1, 4)\ntmp = pl.create_tile([1, 32], pl.UINT8)\nr = f.sel(m, x0, x1, tmp)",
        np.maximum,
        levels=(TILE,),
    ),
    one(
        "m = f.cmps(x0, 0.5, 4)\ns = pl.create_tile([1, 32], x0.dtype)\nr = f.sels(m, x0, s, 0.5)",
        lambda a: np.maximum(a, 0.5),
        FLOATS,
        levels=(TILE,),
    ),
    # making
    *[
        row
        for levels, names in ((PARTS, (True, True)), ((TENSOR,), LEVEL))
        for row in [
            Row(
                "r = f.full([16, 64], x0.dtype, 3)",
                [WHOLE],
                lambda a: a * 0 + 3,
                levels=levels,
                namespaces=names,
            ),
            Row(
                "r = f.full([16, 64], dtype=x0.dtype, value=-2)",
                [WHOLE],
                lambda a: a * 0 - 2,
                levels=levels,
                namespaces=names,
            ),
            Row(
                "r = f.arange(0, [1, 64], dtype=x0.dtype)",
                [ROW],
                lambda a: np.arange(64)[None],
                (D.INT32, D.UINT32, D.INT16, D.UINT16),
                levels,
                values=(0, 9),
                namespaces=names,
            ),
            Row(
                "r = f.arange(5, [1, 64], dtype=x0.dtype, descending=True)",
                [ROW],
                lambda a: 5 - np.arange(64)[None],
                INTS,
                levels,
                namespaces=names,
            ),
        ]
    ],
    Row(
        "r = f.tri(1, [16, 64], dtype=x0.dtype)",
        [WHOLE],
        lambda a: np.tri(16, 64, 1),
        COMPUTED,
        (REGION, TILE),
    ),
    Row(
        "r = f.tri(-1, [16, 64], dtype=x0.dtype, upper=True)",
        [WHOLE],
        lambda a: np.triu(np.ones((16, 64)), -1),
        COMPUTED,
        (REGION, TILE),
    ),
    # shape
    one("r = f.reshape(x0, [32, 32])", lambda a: a.reshape(32, 32), COMPUTED),
    Row("r = f.reshape(x0, [64, 1])", [ROW], lambda a: a.reshape(64, 1)),
    one("r = f.transpose(x0, 0, 1)", np.transpose, COMPUTED),
    one("r = f.transpose(x0, axis1=0, axis2=1)", np.transpose, COMPUTED),
    one("r = f.slice(x0, [8, 32], [8, 32])", lambda a: a[8:16, 32:64], COMPUTED, levels=PARTS),
    one("r = f.slice(x0, [8, 32], [0, 0])", lambda a: a[0:8, 0:32], COMPUTED, levels=PARTS),
    Row("r = f.concat(x0, x1)", [WHOLE, (M, 32)], lambda a, b: np.concatenate([a, b], 1)),
    Row(
        "r = f.fillpad(f.concat(f.set_validshape(x0, 10, 64), f.set_validshape(x1, 10, 5)), 0)",
        [WHOLE, (M, 32)],
        lambda a, b: np.pad(np.concatenate([a, b[:, :5]], 1)[:10], ((0, 6), (0, 27))),
    ),
    one(
        "r = f.fillpad(f.set_validshape(x0, 10, 40), pad_value=pl.PadValue.zero)",
        lambda a: np.where(np.arange(16)[:, None] < 10, np.where(np.arange(64) < 40, a, 0), 0),
        COMPUTED,
    ),
    one(
        "r = f.fillpad(f.set_validshape(x0, 10, 40), 0)",
        lambda a: np.where(np.arange(16)[:, None] < 10, np.where(np.arange(64) < 40, a, 0), 0),
        COMPUTED,
    ),
    one(
        "r = f.fillpad(f.set_validshape(x0, 10, 40), pad_value=pl.PadValue.min)",
        lambda a: np.where(
            np.arange(16)[:, None] < 10, np.where(np.arange(64) < 40, a, -np.inf), -np.inf
        ),
        FLOATS,
    ),
    one(
        "r = f.fillpad_expand(f.set_validshape(x0, 10, 40), [32, 64])",
        lambda a: np.pad(a[:10, :40], ((0, 22), (0, 24))),
        COMPUTED,
    ),
    one(
        "r = f.fillpad_inplace(f.set_validshape(x0, 10, 40))",
        lambda a: np.pad(a[:10, :40], ((0, 6), (0, 24))),
        COMPUTED,
        levels=(TILE,),
    ),
    one(
        "r = f.reinterpret_view(x0, pl.INT32)",
        lambda a: a.astype(np.float32).view(np.int32),
        SINGLE,
        result=D.INT32,
    ),
    # parts
    Row(
        "t = f.mul(x0, x0)\nr = f.assemble(t, x1, [0, 0])",
        [WHOLE, (8, 64)],
        lambda a, b: np.concatenate([b, (a * a)[8:]]),
    ),
    Row(
        "t = f.mul(x0, x0)\nr = f.assemble(t, x1, [8, 32])",
        [WHOLE, (8, 32)],
        lambda a, b: np.concatenate([(a * a)[:8], np.concatenate([(a * a)[8:, :32], b], 1)]),
    ),
    # elements
    one(
        "s = f.read(x0, [3, 5])\nr = f.adds(x0, s)",
        lambda a: a + a[3, 5],
        COMPUTED,
        namespaces=LEVEL,
    ),
    one("s = f.read(x0, [3, 5])\nr = f.add(x0, s)", lambda a: a + a[3, 5], COMPUTED, namespaces=PL),
    Row(
        "s = f.read(x0, 5)\nr = f.add(x1, s)",
        [(N,), WHOLE],
        lambda a, b: b + a[5],
        levels=(REGION, TENSOR),
    ),
    one(
        "f.write(x0, [3, 5], pl.const(2, x0.dtype))\nr = f.adds(x0, 1)",
        lambda a: np.where((np.arange(16)[:, None] == 3) & (np.arange(64) == 5), 2, a) + 1,
        COMPUTED,
        levels=(TILE,),
    ),
    # gather
    Row(
        "r = f.gather(x0, dim=-1, index=x1)",
        [WHOLE, (M, 32)],
        lambda a, i: np.take_along_axis(a, i.astype(int), 1),
        (D.FP32, D.INT32),
        (REGION, TENSOR),
        operand_dtypes=(None, D.INT32),
        values=(0, 31),
    ),
    Row(
        "r = f.gather(x0, -1, x1)",
        [WHOLE, (M, 128)],
        lambda a, i: np.take_along_axis(a, i.astype(int), 1),
        (D.FP32, D.INT32),
        (REGION, TENSOR),
        operand_dtypes=(None, D.INT32),
        values=(0, 31),
    ),
    Row(
        "r = f.gather(x0, -1, x1)",
        [WHOLE, (M, 32)],
        lambda a, i: np.take_along_axis(a, i.astype(int), 1),
        (D.FP16, D.INT16),
        (REGION, TENSOR),
        operand_dtypes=(None, D.INT16),
        values=(0, 31),
    ),
    Row(
        "tmp = pl.create_tile([16, 32], pl.INT32)\nr = f.gather(x0, x1, tmp)",
        [WHOLE, (M, 32)],
        lambda a, i: a.reshape(-1)[i.astype(int)],
        (D.FP32, D.INT32),
        (TILE,),
        operand_dtypes=(None, D.INT32),
        values=(0, 999),
    ),
    *[
        one(
            f"r = f.gather(x0, mask_pattern=pl.tile.MaskPattern.{p})",
            lambda a, s=s: a[:, s],
            COMPUTED,
            levels=(REGION, TENSOR),
        )
        for p, s in [
            ("P0101", slice(0, None, 2)),
            ("P1010", slice(1, None, 2)),
            ("P0001", slice(0, None, 4)),
            ("P1000", slice(3, None, 4)),
        ]
    ],
    one(
        "r = f.gather_mask(x0, pl.tile.MaskPattern.P0010)",
        lambda a: a[:, 1::4],
        COMPUTED,
        levels=(TILE,),
    ),
    one(
        "r = f.gather(x0, mask_pattern=pl.tile.MaskPattern.P1010, output_dtype=pl.INT32)",
        lambda a: a.astype(np.float32)[:, 1::2].copy().view(np.int32),
        SINGLE,
        levels=(REGION, TENSOR),
        result=D.INT32,
    ),
    Row(
        "r = f.scatter(x0, dim=-1, index=x1, src=x2)",
        [WHOLE, (M, 4), (M, 4)],
        lambda a, i, s: scattered(a, i, s),
        (D.FP32, D.INT32),
        (REGION, TENSOR),
        operand_dtypes=(None, D.INT32),
        values=(0, 60),
    ),
    Row(
        "r = f.scatter(x0, mask_pattern=pl.tile.MaskPattern.P1010, dst=x1)",
        [(M, 32), WHOLE],
        lambda a, d: patterned(a, d, 1, 2),
        COMPUTED,
        (REGION, TENSOR),
    ),
    Row(
        "r = f.scatter_update(x0, -2, x1, x2)",
        [WHOLE, (1, 4), (4, N)],
        lambda a, i, s: updated(a, i, s),
        (D.FP32, D.INT32),
        operand_dtypes=(None, D.INT32),
        values=(0, 15),
    ),
    # sort
    Row(
        "r = f.sort32(x0, x1)",
        [(1, N), (1, N)],
        lambda a, i: runs(a, i),
        SINGLE,
        operand_dtypes=(None, D.UINT32),
        values=(0, 1000),
    ),
    Row(
        "p = f.sort32(x0, x1)\nr = f.mrgsort(p, block_len=64)",
        [(1, 128), (1, 128)],
        lambda a, i: runs(a, i, 128),
        SINGLE,
        PARTS,
        operand_dtypes=(None, D.UINT32),
        values=(0, 1000),
    ),
    Row(
        "p = f.sort32(x0, x1)\na = f.slice(p, [1, 64], [0, 0])\n"
        "r = f.mrgsort(a, f.slice(p, [1, 64], [0, 64]))",
        [(1, 64), (1, 64)],
        lambda a, i: runs(a, i, 64),
        SINGLE,
        (REGION,),
        operand_dtypes=(None, D.UINT32),
        values=(0, 1000),
    ),
    # products
    *[
        Row(
            f"r = f.matmul(x0, x1{words}, out_dtype=pl.FP32)",
            [a, b],
            g,
            (D.FP32, D.FP16, D.BF16),
            (REGION, TENSOR),
            result=D.FP32,
            rtol=1e-4,
        )
        for words, a, b, g in [
            ("", (16, 64), (64, 32), lambda a, b: a @ b),
            (", b_trans=True", (16, 64), (32, 64), lambda a, b: a @ b.T),
            (", a_trans=True", (64, 16), (64, 32), lambda a, b: a.T @ b),
            (", a_trans=True, b_trans=True", (64, 16), (32, 64), lambda a, b: a.T @ b.T),
        ]
    ],
    Row(
        "r = f.matmul(x0, x1)",
        [(16, 64), (64, 32)],
        lambda a, b: a @ b,
        SINGLE,
        (REGION, TENSOR),
        rtol=1e-4,
    ),
    Row(
        "r = f.matmul(x0, x1, out_dtype=pl.INT32)",
        [(16, 64), (64, 32)],
        lambda a, b: a @ b,
        (D.INT8,),
        (REGION, TENSOR),
        result=D.INT32,
        values=(-100, 100),
    ),
    Row(
        "acc = f.matmul(x0, x1, out_dtype=pl.FP32)\nr = f.matmul_acc(acc, x0, x1)",
        [(16, 64), (64, 32)],
        lambda a, b: 2 * (a @ b),
        (D.FP32, D.FP16, D.BF16),
        (REGION, TENSOR),
        result=D.FP32,
        rtol=1e-4,
    ),
    Row(
        "acc = f.matmul(x0, x1, b_trans=True, out_dtype=pl.FP32)\n"
        "r = f.matmul_acc(acc, x0, x1, b_trans=True)",
        [(16, 64), (32, 64)],
        lambda a, b: 2 * (a @ b.T),
        (D.FP32, D.FP16, D.BF16),
        (REGION, TENSOR),
        result=D.FP32,
        rtol=1e-4,
    ),
    Row(
        "acc = pl.create_tensor([16, 32], dtype=pl.FP32)\nfor k in pl.range(4):\n"
        "    acc = f.matmul_acc(acc, x0, x1, init_cond=k == 0)\nr = acc",
        [(16, 64), (64, 32)],
        lambda a, b: 4 * (a @ b),
        (D.FP32, D.BF16),
        (REGION, TENSOR),
        result=D.FP32,
        rtol=1e-4,
    ),
]


def scattered(a: Array, index: Array, src: Array) -> Array:
    out = a.copy()
    for row in range(len(a)):
        for k in range(index.shape[1]):
            out[row, int(index[row, k])] = src[row, k]
    return out


def patterned(a: Array, dst: Array, first: int, step: int) -> Array:
    out = dst.copy()
    out[:, first::step] = a
    return out


def updated(a: Array, index: Array, src: Array) -> Array:
    out = a.copy()
    for k, row in enumerate(index.reshape(-1).astype(int)):
        out[row] = src[k]
    return out


def runs(a: Array, index: Array, size: int = 32) -> Array:
    out = np.zeros((1, 2 * a.shape[1]), np.float32)
    for begin in range(0, a.shape[1], size):
        order = begin + np.argsort(-a[0, begin : begin + size], kind="stable")
        out[0, 2 * begin : 2 * (begin + size) : 2] = a[0, order]
        out[0, 2 * begin + 1 : 2 * (begin + size) : 2] = (
            index[0, order].astype(np.uint32).view(np.float32)
        )
    return out
