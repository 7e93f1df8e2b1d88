"""Products in regions that are larger than the cube core's memories: blocks, and loops of them."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from tests.language.test_local_matrices import TARGETS, Array, call, floats


@pl.jit
def product(
    a: pl.Tensor[[600, 330], pl.FP16],
    b: pl.Tensor[[330, 780], pl.FP16],
    c: pl.Out[pl.Tensor[[600, 780], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        c[:, :] = pl.matmul(a, b, out_dtype=pl.FP32)
    return c


@pl.jit
def turned_into_a_part(
    a: pl.Tensor[[400, 512], pl.FP32],
    b: pl.Tensor[[512, 400], pl.FP32],
    c: pl.InOut[pl.Tensor[[700, 624], pl.BF16]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        c[100:612, 112:] = pl.matmul(a, b, a_trans=True, b_trans=True)
    return c


@pl.jit
def its_own_operand(x: pl.InOut[pl.Tensor[[512, 512], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        x[:, :] = pl.matmul(x, x, out_dtype=pl.FP32)
    return x


@pl.jit
def part_of_its_own_operand(x: pl.InOut[pl.Tensor[[1024, 512], pl.FP32]]):
    top = x[256:768, :]
    with pl.at(level=pl.Level.CORE_GROUP):
        x[0:512, :] = pl.matmul(top, top, out_dtype=pl.FP32)
    return x


@pl.jit
def stored_twice(
    a: pl.Tensor[[512, 512], pl.INT8],
    b: pl.Tensor[[512, 512], pl.INT8],
    c: pl.Out[pl.Tensor[[512, 512], pl.INT32]],
    d: pl.Out[pl.Tensor[[512, 512], pl.INT32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        both = pl.matmul(a, b, out_dtype=pl.INT32)
        c[:, :] = both
        d[:, :] = both
    return c


@pl.jit
def long_sum(
    a: pl.Tensor[[64, 9000], pl.FP16],
    b: pl.Tensor[[9000, 128], pl.FP16],
    c: pl.Out[pl.Tensor[[64, 128], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        c[:, :] = pl.add(pl.matmul(a, b, out_dtype=pl.FP32), 1.0)
    return c


def _halves(*shape: int) -> Array:
    return floats(*shape).astype(np.float16)


def _bytes(*shape: int) -> Array:
    return np.random.default_rng(7).integers(-128, 128, shape).astype(np.int8)


def _wide(array: Array) -> Array:
    return array.astype(np.float64)


@pytest.mark.parametrize("target", TARGETS)
def test_a_ragged_product(target: str) -> None:
    """No dimension is a multiple of its blocks; the remainder is handled after the loops."""
    a, b, c = _halves(600, 330), _halves(330, 780), np.zeros((600, 780), np.float32)
    call(product, target, a, b, c)
    np.testing.assert_allclose(c, _wide(a) @ _wide(b), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("target", TARGETS)
def test_a_long_sum(target: str) -> None:
    """Slices of K are accumulated in a loop, and vector work uses the sum."""
    a, b, c = _halves(64, 9000), _halves(9000, 128), np.zeros((64, 128), np.float32)
    call(long_sum, target, a, b, c)
    np.testing.assert_allclose(c, _wide(a) @ _wide(b) + 1, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("target", TARGETS)
def test_a_part_of_another_type(target: str) -> None:
    """Blocks are rounded by the cube core and stored in place; other elements do not change."""
    a, b = floats(400, 512), floats(512, 400)
    c: Any = np.full((700, 624), 3, ml_dtypes.bfloat16)
    call(turned_into_a_part, target, a, b, c)
    expected = np.full((700, 624), 3.0)
    expected[100:612, 112:] = _wide(a).T @ _wide(b).T
    np.testing.assert_allclose(c.astype(np.float64), expected, rtol=1e-2, atol=0.3)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_overwritten_is_read_first(target: str) -> None:
    """A product of the tensor it is assigned to, or of a view of it, is computed elsewhere."""
    x = floats(512, 512)
    expected = _wide(x) @ _wide(x)
    call(its_own_operand, target, x)
    np.testing.assert_allclose(x, expected, rtol=1e-3, atol=1e-3)
    y = floats(1024, 512)
    expected = _wide(y)
    expected[0:512] = expected[256:768] @ expected[256:768]
    call(part_of_its_own_operand, target, y)
    np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("target", TARGETS)
def test_a_product_with_a_name(target: str) -> None:
    """A product that is used twice is computed once."""
    a, b = _bytes(512, 512), _bytes(512, 512)
    c, d = np.zeros((512, 512), np.int32), np.zeros((512, 512), np.int32)
    call(stored_twice, target, a, b, c, d)
    expected = a.astype(np.int64) @ b.astype(np.int64)
    np.testing.assert_array_equal(c, expected)
    np.testing.assert_array_equal(d, expected)


def test_the_text_does_not_grow_with_the_sizes() -> None:
    """A product of 4096 x 4096 x 4096 is made of loops, and stored directly to its target."""

    @pl.jit
    def large(
        a: pl.Tensor[[4096, 4096], pl.FP16],
        b: pl.Tensor[[4096, 4096], pl.FP16],
        c: pl.Out[pl.Tensor[[4096, 4096], pl.FP16]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            c[:, :] = pl.matmul(a, b)
        return c

    text = str(large.parse())
    assert text.count("matmul") == 2
    assert "create" not in text
