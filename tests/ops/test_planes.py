"""Tiles of three dimensions with smaller ones, which are broadcast: values on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.test_valid import targets

KERNEL = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[{whole}, pl.{dtype}],
        y: pl.Tensor[{part}, pl.{dtype}],
        out: pl.Out[pl.Tensor[{whole}, pl.{dtype}]],
    ):
        a = pl.load(x, [0] * 3, {whole})
        b = pl.load(y, [0] * {rank}, {part})
        return pl.store({value}, [0] * 3, {whole}, out)
"""


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
@pytest.mark.parametrize(
    ("whole", "part"),
    [
        ((2, 16, 32), (16, 32)),  # a plane
        ((2, 16, 32), (1, 16, 32)),
        ((2, 16, 32), (32,)),
        ((2, 16, 32), (2, 16, 1)),
        ((16, 3, 32), (16, 1, 1)),  # a number in each plane
        ((2, 16, 32), (1, 16, 1)),  # a column in each plane
        ((16, 1, 32), (16, 1, 1)),
        ((1, 1, 32), (1, 32)),  # the same except for leading dimensions of 1
        ((1, 16, 32), (16, 32)),
        ((1, 16, 32), (16, 1)),
        ((1, 16, 32), (32,)),
    ],
)
def test_parts_of_planes_are_spread(
    whole: tuple[int, ...], part: tuple[int, ...], dtype: Any
) -> None:
    """Missing leading or trailing dimensions are broadcast, as NumPy does."""
    random = np.random.default_rng(3)
    x = random.integers(1, 9, whole).astype(dtype)
    y = random.integers(1, 9, part).astype(dtype)
    text = KERNEL.format(
        whole=list(whole),
        part=list(part),
        rank=len(part),
        dtype="FP32" if dtype is np.float32 else "INT16",
        value="pl.maximum(b, a) - b",
    )
    wanted = np.maximum(x, y) - y
    for run in targets(text):
        out = np.zeros(whole, dtype)
        run(x, y, out)
        np.testing.assert_array_equal(out, wanted)
