"""Products of tensors in kernels: batches of matrices and vectors, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto._src.dtypes import DataType
from tests.ops.test_valid import targets

D = DataType

KERNEL = """
import pypto.language as pl
B = pl.dynamic("B")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[{left}, pl.{dtype}],
        y: pl.Tensor[{right}, pl.{dtype}],
        out: pl.InOut[pl.Tensor[{result}, pl.{acc}]],
    ):
        z = pl.matmul(x, y, out_dtype=pl.{acc}{words})
        return pl.assemble(out, z, {offset})
"""

SHAPES: list[tuple[str, str, str]] = [
    ("[3, 16, 32]", "[3, 32, 48]", ""),
    ("[3, 32, 16]", "[3, 32, 48]", ", a_trans=True"),
    ("[3, 16, 32]", "[3, 48, 32]", ", b_trans=True"),
    ("[2, 1, 20, 32]", "[3, 32, 48]", ""),
    ("[16, 32]", "[2, 2, 32, 48]", ""),
    ("[3, 1, 128]", "[128, 48]", ""),
    ("[3, 16, 160]", "[160, 144]", ""),
    ("[B, 16, 32]", "[B, 32, 48]", ""),
    ("[B, 16, 32]", "[32, 48]", ""),
    ("[128]", "[128, 48]", ""),
    ("[128]", "[3, 48, 128]", ", b_trans=True"),
    ("[128]", "[48, 128]", ", a_trans=True, b_trans=True"),
    ("[48, 128]", "[128]", ", b_trans=True"),
    ("[48, 128]", "[128]", ""),
    ("[3, 128, 48]", "[128]", ", a_trans=True"),
    ("[B, 48, 128]", "[128]", ""),
    ("[3, 128]", "[128]", ""),
    ("[128]", "[128, 3]", ""),
]
STACK = SHAPES[0]


def shape_of(text: str, batch: int) -> tuple[int, ...]:
    """Return the array shape of a tensor written as ``text``."""
    return tuple(int(dim) for dim in text.strip("[]").replace("B", str(batch)).split(","))


def turned(array: Any, words: str, which: str) -> Any:
    """Return an operand in 64 bits, with its matrices transposed if the keywords say so."""
    wide = array.astype(np.float64)
    return np.swapaxes(wide, -1, -2) if f"{which}_trans=True" in words and wide.ndim > 1 else wide


@pytest.mark.parametrize(
    ("row", "dtype", "acc"),
    [
        *((row, D.FP32, D.FP32) for row in SHAPES),
        (STACK, D.FP16, D.FP16),
        (STACK, D.BF16, D.FP32),
        (("[3, 32, 64]", "[3, 64, 32]", ""), D.INT8, D.INT32),
        (("[512]", "[3, 512, 32]", ""), D.INT8, D.INT32),
    ],
    ids=str,
)
def test_products(row: tuple[str, str, str], dtype: DataType, acc: DataType) -> None:
    """Each matrix of a batch is multiplied; a vector is a row or a column, which is dropped."""
    left, right, words = row
    random, batch = np.random.default_rng(5), 2
    x = random.integers(-3, 4, shape_of(left, batch)).astype(dtype.numpy)
    y = random.integers(-3, 4, shape_of(right, batch)).astype(dtype.numpy)
    wanted = turned(x, words, "a") @ turned(y, words, "b")
    dims = [str(size) for size in wanted.shape]
    if "B" in left:
        dims[0] = "B"
    text = KERNEL.format(
        left=left,
        right=right,
        result=f"[{', '.join(dims)}]",
        dtype=dtype.member,
        acc=acc.member,
        words=words,
        offset=[0] * wanted.ndim,
    )
    for index, run in enumerate(targets(text)):
        out = np.full(wanted.shape, -1, acc.numpy)
        sizes = [batch] if "B" in left and index > 2 else []  # sizes as arguments of the texts
        run(x, y, out, *sizes)
        np.testing.assert_array_equal(out.astype(np.float64), wanted)
