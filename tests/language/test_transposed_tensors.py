"""Tensors with two dimensions swapped, outside regions: kernels copy them."""

from __future__ import annotations

import numpy as np

from tests.language.draw_values import Program
from tests.language.programs import fault_of
from tests.natively import compiler

SOURCE = """
import pypto.language as pl


@pl.jit
def drawn(
    x: pl.Tensor[[32, 64], pl.FP32],
    heads: pl.Tensor[[4, 16, 40], pl.FP32],
    y: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    z: pl.Out[pl.Tensor[[16, 160], pl.FP32]],
):
    turned = pl.transpose(x, 0, 1)
    by_row = pl.transpose(heads, 0, 1)
    for b in pl.spmd(2, name_hint="scale"):
        y[b * 32 : b * 32 + 32, :] = pl.mul(turned[b * 32 : b * 32 + 32, :], 2.0)
    with pl.at(level=pl.Level.CORE_GROUP):
        for row in pl.range(16):
            z[row : row + 1, :] = pl.reshape(pl.mul(by_row[row, :, :], 0.5), [1, 160])
    return y, z
"""


def test_transposed_tensors() -> None:
    """All ways of running agree, and the host text for the device is emitted."""
    compiler()
    rng = np.random.default_rng(5)
    shapes = (32, 64), (4, 16, 40), (64, 32), (16, 160)
    args = [rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes]
    assert fault_of(Program(SOURCE, [args], ())) is None
