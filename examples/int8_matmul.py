"""A product of INT8 matrices, 256 x 1024 x 512, and its dequantisation to FP32.

out = (a b) * scale_a * scale_b, where scale_a has one element per row of a and scale_b one per
column of b: the usual symmetric quantisation, per token for activations, per channel for weights.
The cube core accumulates the products as INT32, exactly. A vector kernel converts the sums to FP32
and scales them. Both kernels of a block of rows run in sequence; blocks are independent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypto.language as pl
from pypto.runtime import Case

if TYPE_CHECKING:
    import numpy as np

M, K, N = 256, 1024, 512
BLOCK = 64  # rows per launch
# Left and Right hold 64 KiB each, Acc 128 KiB: a [64, 256] is 16 KiB, b [256, 128] is 32 KiB, and
# the sums [64, 128] are 32 KiB.
TILE_K, TILE_N = 256, 128
TILE = 16  # rows per vector tile: 32 KiB


@pl.program
class Int8Matmul:
    """The product of a [M, K] and b [K, N], scaled by row and column."""

    @pl.function(type=pl.FunctionType.InCore)
    def product(
        self,
        a: pl.Tensor[[BLOCK, K], pl.INT8],
        b: pl.Tensor[[K, N], pl.INT8],
        sums: pl.Out[pl.Tensor[[BLOCK, N], pl.INT32]],
    ):
        """Multiply a block of rows of ``a`` by ``b``."""
        for n in pl.range(0, N, TILE_N):
            mat_a = pl.load(a, [0, 0], [BLOCK, TILE_K], target_memory=pl.MemorySpace.Mat)
            mat_b = pl.load(b, [0, n], [TILE_K, TILE_N], target_memory=pl.MemorySpace.Mat)
            left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
            right = pl.move(mat_b, target_memory=pl.MemorySpace.Right)
            acc = pl.matmul(left, right)
            for k in pl.range(TILE_K, K, TILE_K):
                mat_a = pl.load(a, [0, k], [BLOCK, TILE_K], target_memory=pl.MemorySpace.Mat)
                mat_b = pl.load(b, [k, n], [TILE_K, TILE_N], target_memory=pl.MemorySpace.Mat)
                left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
                right = pl.move(mat_b, target_memory=pl.MemorySpace.Right)
                acc = pl.matmul_acc(acc, left, right)
            sums = pl.store(acc, [0, n], [BLOCK, TILE_N], sums)

    @pl.function(type=pl.FunctionType.InCore)
    def dequantise(
        self,
        sums: pl.Tensor[[BLOCK, N], pl.INT32],
        scale_a: pl.Tensor[[BLOCK, 1], pl.FP32],
        scale_b: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[BLOCK, N], pl.FP32]],
    ):
        """Dequantise the sums of a block."""
        columns = pl.load(scale_b, [0, 0], [1, N])
        for r in pl.range(0, BLOCK, TILE):
            rows = pl.load(scale_a, [r, 0], [TILE, 1])
            tile = pl.cast(pl.load(sums, [r, 0], [TILE, N]), pl.FP32)
            scaled = pl.col_expand_mul(pl.row_expand_mul(tile, rows), columns)
            out = pl.store(scaled, [r, 0], [TILE, N], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def int8_matmul(
        self,
        a: pl.Tensor[[M, K], pl.INT8],
        b: pl.Tensor[[K, N], pl.INT8],
        scale_a: pl.Tensor[[M, 1], pl.FP32],
        scale_b: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        """Launch both kernels for each block of rows."""
        for m in pl.range(0, M, BLOCK):
            sums = pl.create_tensor([BLOCK, N], pl.INT32)
            rows_a = pl.view(a, [BLOCK, K], [m, 0])
            rows_scale = pl.view(scale_a, [BLOCK, 1], [m, 0])
            rows_out = pl.view(out, [BLOCK, N], [m, 0])
            self.product(rows_a, b, sums)
            self.dequantise(sums, rows_scale, scale_b, rows_out)
        return out


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments: integers in [-127, 127], scales in [0.001, 0.011)."""
    import numpy as np

    a, b = (rng.integers(-127, 128, shape, np.int8) for shape in ((M, K), (K, N)))
    scales = (rng.random(shape, np.float32) / 100 + np.float32(0.001) for shape in ((M, 1), (1, N)))
    scale_a, scale_b = scales
    out = np.zeros((M, N), np.float32)
    return {"a": a, "b": b, "scale_a": scale_a, "scale_b": scale_b, "out": out}


def reference(
    a: np.ndarray[Any, Any],
    b: np.ndarray[Any, Any],
    scale_a: np.ndarray[Any, Any],
    scale_b: np.ndarray[Any, Any],
    precision: Any = "float64",
    **_: Any,
) -> dict[str, Any]:
    """Return the result in ``precision``; the sums are exact in both precisions."""
    sums = a.astype(precision) @ b.astype(precision)
    return {"out": sums * scale_a.astype(precision) * scale_b.astype(precision)}


# Sums are integers of at most 1024 * 127**2 < 2**24, which are exact in FP32. So two products are
# rounded, each by a relative 2**-24; their product, a second-order term, is far below 1e-8.
CASES = [Case("int8_matmul", Int8Matmul, inputs, reference, 1.3e-7)]
