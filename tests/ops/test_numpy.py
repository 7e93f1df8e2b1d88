"""What ops compute, against formulas on Python numbers and against hand-written edge values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pypto._src.dtypes import DataType
from pypto._src.interp.scalars import wrapper
from pypto._src.ops import elementwise, matmul, memory, reduce, reshaping, tensor_math
from pypto._src.ops.rules.type_rules import CASTS, cast_steps, poison
from tests.cases import CASES, AnyOp, Array, Case, build_call
from tests.ops.arrays import apply, apply_call, array

D = DataType
INF, NAN = math.inf, math.nan
FLOATS = (D.FP16, D.FP32)


def referenced() -> Iterator[Any]:
    """Yield the rows that have a formula, once per element type."""
    for case in CASES:
        if case.reference is not None:
            for dtype in case.dtypes:
                yield pytest.param(case, dtype, id=f"{case.name}-{dtype.member}")


def expected(case: Case, dtype: DataType, arrays: list[Array]) -> Array:
    """Return the formula's result on each element, or on each row for a reduction."""
    formula: Any = case.reference
    wrap = wrapper(dtype)
    number: Any = int if dtype.is_int() else float
    scalars = [number(s) if dtype.is_int() else wrap(s) for s in case.scalars]
    if len(arrays) < len(case.op.reads) or case.op in (
        reduce.row_max,
        reduce.row_min,
        reduce.row_sum,
        tensor_math.row_max,
        tensor_math.row_sum,
    ):
        rows = [[wrap(formula([number(x) for x in row]))] for row in arrays[0]]
        return np.array(rows).astype(dtype.numpy)
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    flat = [np.broadcast_to(a, shape).ravel() for a in arrays]
    values = [wrap(formula(*map(number, each), *scalars)) for each in zip(*flat, strict=True)]
    return np.array(values).astype(dtype.numpy).reshape(shape)


@pytest.mark.parametrize(("case", "dtype"), list(referenced()))
def test_formula(case: Case, dtype: DataType) -> None:
    """The op gives the formula's result on Python numbers, rounded or wrapped once."""
    rng = np.random.default_rng(7)
    shapes = case.shapes[0]
    arrays = [case.values(rng, shape, dtype) for shape in shapes]
    call = build_call(case, dtype, shapes)
    found = apply_call(call, case.op, [*arrays, np.zeros(0)])
    rtol, atol = case.tolerance(dtype)
    np.testing.assert_allclose(
        found.astype(np.float64),
        expected(case, dtype, arrays).astype(np.float64),
        rtol=rtol,
        atol=atol,
    )


EDGES = [-INF, -65504.0, -1.5, -0.0, 0.0, 2.0, 65504.0, INF, NAN]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        (elementwise.abs, [INF, 65504.0, 1.5, 0.0, 0.0, 2.0, 65504.0, INF, NAN]),
        (elementwise.neg, [INF, 65504.0, 1.5, 0.0, -0.0, -2.0, -65504.0, -INF, NAN]),
        (elementwise.relu, [0.0, 0.0, 0.0, None, 0.0, 2.0, 65504.0, INF, NAN]),
        (elementwise.exp, [0.0, 0.0, None, 1.0, 1.0, None, INF, INF, NAN]),
        (elementwise.log, [NAN, NAN, NAN, -INF, -INF, None, None, INF, NAN]),
        (elementwise.sqrt, [NAN, NAN, NAN, -0.0, 0.0, None, None, INF, NAN]),
        (elementwise.rsqrt, [NAN, NAN, NAN, -INF, INF, None, None, 0.0, NAN]),
        (elementwise.recip, [-0.0, None, None, -INF, INF, 0.5, None, 0.0, NAN]),
    ],
)
def test_edges_of_one_tile(op: AnyOp, wanted: list[float | None], dtype: DataType) -> None:
    """Infinities, NaN, signed zeros and overflow behave as IEEE 754 says."""
    found = apply(op, array(EDGES, dtype))[0]
    for index, value in enumerate(wanted):
        if value is not None:
            np.testing.assert_equal(float(found[index]), value)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", [elementwise.maximum, elementwise.minimum])
def test_extremes_propagate_nan(op: AnyOp, dtype: DataType) -> None:
    """A NaN on either side makes the result NaN."""
    found = apply(op, array([NAN, 1.0, NAN], dtype), array([1.0, NAN, NAN], dtype))
    assert np.isnan(found).all()


@pytest.mark.parametrize("op", [reduce.row_max, reduce.row_min])
def test_row_extremes_propagate_nan(op: AnyOp) -> None:
    """A NaN anywhere in a row makes the row's result NaN; other rows are not affected."""
    rows = np.array([[1, NAN, 3], [4, 5, 6]], np.float32)
    found = apply(op, rows, rows)
    assert np.isnan(found[0, 0])
    assert found[1, 0] == (6 if op is reduce.row_max else 4)


def test_row_sum_of_half_is_exact_inside() -> None:
    """4096 ones and a half are accumulated in 32 bits: FP16 alone would stop at 2048."""
    row = np.ones((1, 4096), np.float16)
    row[0, 0] = 0.5
    assert apply(reduce.row_sum, row, row)[0, 0] == np.float16(4095.5)


@pytest.mark.parametrize(
    ("dtype", "values", "divisor", "wanted"),
    [
        (D.INT32, [7, -7, 6, -6, 1], 2, [3, -3, 3, -3, 0]),
        (D.INT32, [7, -7, 6, -6, 1], -2, [-3, 3, -3, 3, 0]),
        (D.INT16, [7, -7, 0], 0, [0, 0, 0]),
        (D.INT32, [-(2**31)], -1, [-(2**31)]),
        (D.UINT32, [2**32 - 1, 3], 2, [2**31 - 1, 1]),
        (D.UINT16, [65535], 256, [255]),
    ],
)
def test_integer_division(
    dtype: DataType, values: list[int], divisor: int, wanted: list[int]
) -> None:
    """Quotients are truncated toward zero, are 0 over 0, and wrap."""
    assert apply(elementwise.divs, array(values, dtype), divisor)[0].tolist() == wanted


def test_float_division_by_zero() -> None:
    """Floats over 0 are infinite, or NaN for 0 over 0."""
    found = apply(elementwise.divs, array([1.0, -1.0, 0.0], D.FP32), 0.0)[0]
    np.testing.assert_equal(found.tolist(), [INF, -INF, NAN])


def test_integer_arithmetic_wraps() -> None:
    """Sums and products beyond the element type keep their low bits."""
    big = array([2**31 - 1, -(2**31)], D.INT32)
    assert apply(elementwise.adds, big, 1)[0].tolist() == [-(2**31), -(2**31) + 1]
    assert apply(elementwise.mul, big, big)[0].tolist() == [1, 0]
    assert apply(elementwise.neg, big)[0].tolist() == [-(2**31) + 1, -(2**31)]
    assert apply(elementwise.subs, array([0], D.UINT16), 1)[0].tolist() == [65535]


TIES = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.25, -2.75]


@pytest.mark.parametrize("source", [D.FP32, D.FP16])
@pytest.mark.parametrize("target", [D.INT16, D.INT32])
@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("rint", [0, 2, 2, 0, -2, -2, 2, -3]),
        ("round", [1, 2, 3, -1, -2, -3, 2, -3]),
        ("floor", [0, 1, 2, -1, -2, -3, 2, -3]),
        ("ceil", [1, 2, 3, 0, -1, -2, 3, -2]),
        ("trunc", [0, 1, 2, 0, -1, -2, 2, -2]),
        ("none", [0, 1, 2, 0, -1, -2, 2, -2]),
        ("odd", [1, 1, 3, -1, -1, -3, 3, -3]),
    ],
)
def test_rounding_modes(source: DataType, target: DataType, mode: str, wanted: list[int]) -> None:
    """Each mode rounds ties and values between ties as defined."""
    found = apply(elementwise.cast, array(TIES, source), target_type=target, mode=mode)
    assert found[0].tolist() == wanted


@pytest.mark.parametrize(
    ("source", "target", "values", "wanted"),
    [
        (D.FP32, D.INT32, [3e9, -3e9, INF, -INF, NAN], [2**31 - 1, -(2**31)] * 2 + [0]),
        (D.FP32, D.INT64, [1e19, -1e19, INF, NAN], [2**63 - 1, -(2**63), 2**63 - 1, 0]),
        (D.FP16, D.INT32, [INF, -INF, NAN, 65504], [2**31 - 1, -(2**31), 0, 65504]),
        (D.BF16, D.INT32, [2.0**31, 256.0], [2**31 - 1, 256]),
        (D.FP32, D.INT16, [300000.0, -32769.0, INF, NAN], [-27680, 32767, 0, 0]),
        (D.FP16, D.INT8, [128.0, -129.0, 300.0], [-128, 127, 44]),
        (D.FP16, D.UINT8, [256.0, -1.0, 255.0], [0, 255, 255]),
        (D.INT32, D.INT16, [32768, -32769, 7], [-32768, 32767, 7]),
        (D.INT64, D.INT32, [2**31, 5], [-(2**31), 5]),
        (D.FP32, D.FP16, [65520.0, 1e9, 2049.0, NAN], [INF, INF, 2048.0, NAN]),
        (D.FP32, D.BF16, [257.0, 1.00390625, 3.4e38], [256.0, 1.0, INF]),
        (D.INT32, D.FP32, [2**24 + 1, -3], [2.0**24, -3.0]),
        (D.INT32, D.FP16, [2049, 70000], [2048.0, INF]),
    ],
)
def test_casts_at_the_limits(
    source: DataType, target: DataType, values: list[float], wanted: list[float]
) -> None:
    """Values out of range saturate in 32 and 64 bits and wrap in fewer; NaN is 0."""
    found = apply(elementwise.cast, array(values, source), target_type=target, mode="rint")
    assert found.dtype == target.numpy
    np.testing.assert_equal(found[0].astype(object).tolist(), wanted)


def test_every_cast_leads_somewhere() -> None:
    """Between any two types with casts there is a chain; the shortest is found first."""
    steps = {(a, b): cast_steps(a, b) for a in CASTS for b in CASTS if a is not b}
    assert steps[D.INT8, D.FP32] == (D.FP16, D.FP32)
    assert steps[D.BF16, D.FP16] == (D.FP32, D.FP16)
    assert all(path is not None and path[-1] is b for (_, b), path in steps.items())


@pytest.mark.parametrize("dtype", [D.INT8, D.FP16, D.BF16, D.FP32])
def test_matmul_adds_up_wide(dtype: DataType) -> None:
    """Products of whole numbers are exact: they are accumulated in 32 bits."""
    rng = np.random.default_rng(3)
    lhs, rhs = rng.integers(-100, 100, (16, 64)), rng.integers(-100, 100, (64, 32))
    a, b = lhs.astype(dtype.numpy), rhs.astype(dtype.numpy)
    found = apply(matmul.matmul, a, b)
    assert found.dtype == (np.float32 if dtype.is_float() else np.int32)
    np.testing.assert_array_equal(found, lhs @ rhs)
    np.testing.assert_array_equal(apply(matmul.matmul_acc, found, a, b), 2 * (lhs @ rhs))


def test_movement() -> None:
    """Copies are copies; transposing swaps rows and columns."""
    tile = np.arange(12, dtype=np.float32).reshape(3, 4)
    moved = apply(memory.move, tile, target_memory=None)
    moved[0, 0] = 99
    assert tile[0, 0] == 0
    np.testing.assert_array_equal(apply(memory.move, tile, transpose=True), tile.T)
    np.testing.assert_array_equal(apply(reshaping.transpose, tile, tile, 0, 1), tile.T)
    np.testing.assert_array_equal(apply(reshaping.reshape, tile, (2, 6)), tile.reshape(2, 6))


def test_store_keeps_what_is_around() -> None:
    """Only the region changes, in the same array that was passed."""
    whole = np.zeros((4, 6), np.float16)
    tile = np.full((2, 3), 1.5, np.float32)
    assert apply(memory.store, tile, (1, 2), (2, 3), whole) is whole
    wanted = np.zeros((4, 6))
    wanted[1:3, 2:5] = 1.5
    np.testing.assert_array_equal(whole, wanted)


@pytest.mark.parametrize("dtype", [D.FP16, D.BF16, D.FP32])
def test_poison_of_floats(dtype: DataType) -> None:
    """Uninitialized floats are NaN."""
    assert np.isnan(poison((2, 3), dtype).astype(np.float32)).all()


@pytest.mark.parametrize(
    ("dtype", "value"), [(D.INT8, -128), (D.INT32, -(2**31)), (D.UINT16, 32768)]
)
def test_poison_of_integers(dtype: DataType, value: int) -> None:
    """Uninitialized integers have only the highest bit set."""
    assert poison((2, 2), dtype).tolist() == [[value] * 2] * 2
