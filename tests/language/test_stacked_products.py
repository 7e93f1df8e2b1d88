"""Products of vectors and of stacks of matrices in regions, compared with NumPy."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto._src.errors import ParserTypeError
from tests.language.test_local_matrices import RNG, TARGETS, Array, call, floats


@pl.jit
def row(
    v: pl.Tensor[[40], pl.FP32],
    w: pl.Tensor[[40, 36], pl.FP32],
    out: pl.Out[pl.Tensor[[36], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        out[:] = pl.matmul(v, w)
    return out


@pl.jit
def column(
    w: pl.Tensor[[40, 24], pl.FP32],
    v: pl.Tensor[[40], pl.FP32],
    out: pl.Out[pl.Tensor[[24], pl.FP32]],
):
    with pl.incore():
        scaled = pl.mul(v, 2.0)
        out[:] = pl.add(pl.matmul(w, scaled, a_trans=True), 1.0)
    return out


@pl.jit
def stack(
    x: pl.Tensor[[5, 48, 64], pl.FP16],
    y: pl.Tensor[[5, 32, 64], pl.FP16],
    out: pl.Out[pl.Tensor[[5, 48, 32], pl.BF16]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        out[:, :, :] = pl.matmul(x, y, b_trans=True, out_dtype=pl.FP32)
    return out


@pl.jit
def spread(
    x: pl.Tensor[[2, 1, 16, 24], pl.FP32],
    y: pl.Tensor[[3, 24, 16], pl.FP32],
    out: pl.Out[pl.Tensor[[2, 3, 16, 16], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        out[:, :, :, :] = x @ y  # pyright: ignore[reportOperatorIssue]
    return out


@pl.jit
def large(
    x: pl.Tensor[[4, 300, 100], pl.INT8],
    y: pl.Tensor[[100, 96], pl.INT8],
    out: pl.Out[pl.Tensor[[4, 300, 96], pl.INT32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        out[:, :, :] = pl.matmul(x, y, out_dtype=pl.INT32)
    return out


@pl.jit
def computed(
    x: pl.Tensor[[8, 20, 16], pl.FP32],
    y: pl.Tensor[[8, 16, 9], pl.FP32],
    out: pl.Out[pl.Tensor[[8, 20, 9], pl.FP32]],
):
    for i in pl.spmd(2):
        for j in pl.range(2):
            at = i * 4 + j * 2
            part = pl.exp(x[at : at + 2, :, :])
            made = pl.batch_matmul(part, y[at : at + 2, :, :])
            out[at : at + 2, :, :] = pl.mul(made, made)
    return out


@pl.jit
def rows_of_a_stack(
    v: pl.Tensor[[16], pl.FP32],
    y: pl.Tensor[[7, 16, 8], pl.FP32],
    out: pl.Out[pl.Tensor[[7, 8], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        out[:, :] = pl.matmul(v, y)
    return out


def bytes_of(*shape: int) -> Array:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def wide(array: Array) -> Array:
    return array.astype(np.int32 if array.dtype == np.int8 else np.float32)


PRODUCTS: list[tuple[Any, Callable[..., Array], Callable[[], list[Array]], Any]] = [
    (row, np.matmul, lambda: [floats(40), floats(40, 36)], np.float32),
    (column, lambda w, v: w.T @ (2 * v) + 1, lambda: [floats(40, 24), floats(40)], np.float32),
    (
        stack,
        lambda x, y: x @ y.swapaxes(1, 2),
        lambda: [floats(5, 48, 64).astype(np.float16), floats(5, 32, 64).astype(np.float16)],
        ml_dtypes.bfloat16,
    ),
    (spread, np.matmul, lambda: [floats(2, 1, 16, 24), floats(3, 24, 16)], np.float32),
    (large, np.matmul, lambda: [bytes_of(4, 300, 100), bytes_of(100, 96)], np.int32),
    (
        computed,
        lambda x, y: np.square(np.exp(x) @ y),
        lambda: [floats(8, 20, 16), floats(8, 16, 9)],
        np.float32,
    ),
    (rows_of_a_stack, np.matmul, lambda: [floats(16), floats(7, 16, 8)], np.float32),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kernel", "reference", "operands", "dtype"),
    PRODUCTS,
    ids=[str(p[0].__name__) for p in PRODUCTS],
)
def test_products_in_regions(
    kernel: Any,
    reference: Callable[..., Array],
    operands: Callable[[], list[Array]],
    dtype: Any,
    target: str,
) -> None:
    """Vectors omit their dimension, stacks broadcast, and products are those of NumPy."""
    arrays = operands()
    want = reference(*map(wide, arrays))
    out = np.zeros(want.shape, dtype)
    call(kernel, target, *arrays, out)
    rounded = dtype is ml_dtypes.bfloat16
    np.testing.assert_allclose(
        out.astype(np.float64), want, rtol=1e-2 if rounded else 2e-4, atol=1e-3
    )


N = pl.dynamic("N")


def test_stacks_of_any_size() -> None:
    """A stack whose size is known only at run time is multiplied in the loop shown by the hint."""

    @pl.jit
    def at_once(
        x: pl.Tensor[[N, 16, 32], pl.FP32],
        y: pl.Tensor[[32, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[N, 16, 16], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:, :, :] = pl.matmul(x, y)
        return out

    @pl.jit
    def one_by_one(
        x: pl.Tensor[[N, 16, 32], pl.FP32],
        y: pl.Tensor[[32, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[N, 16, 16], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            for b in pl.range(x.shape[0]):
                out[b, :, :] = pl.matmul(x[b, :, :], y)
        return out

    with pytest.raises(ParserTypeError) as caught:
        at_once.lower()
    loop = "for b in pl.range(x.shape[0]): pl.matmul(x[b, :, :], y)"
    assert caught.value.hint == f"multiply them one by one, {loop}"
    x, y, out = floats(5, 16, 32), floats(32, 16), np.zeros((5, 16, 16), np.float32)
    call(one_by_one, "interpreter", x, y, out)
    np.testing.assert_allclose(out, x @ y, rtol=2e-4, atol=1e-4)


def test_a_stack_times_a_number() -> None:
    """An operand that is not an array is reported as what it is."""

    @pl.jit
    def times_a_number(x: pl.Tensor[[4, 16, 16], pl.FP32], out: pl.Out[pl.Tensor]):
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:, :, :] = pl.matmul(x, 2.0)
        return out

    with pytest.raises(ParserTypeError, match=r"of constant size, got the float 2.0"):
        times_a_number.lower(floats(4, 16, 16), floats(4, 16, 16))
