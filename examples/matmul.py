"""A tiled matrix product, 512 x 512 x 512, of FP32 and of BF16 operands; the result is FP32.

Tiles go from global memory to Mat, from there to Left and Right, and the products accumulate in
Acc. A kernel computes a block of rows of the result from the same rows of ``a`` and all of ``b``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypto.language as pl
from pypto.runtime import Case

if TYPE_CHECKING:
    import numpy as np

M, K, N = 512, 512, 512
BLOCK = 64  # rows per launch
# Left and Right hold 64 KiB each, Acc 128 KiB: a [64, 128] is 32 KiB in FP32, b [128, 128] 64 KiB.
TILE_K, TILE_N = 128, 128


def matmul_program(dtype: pl.DataType) -> Any:
    """Return the program for operands of ``dtype``."""

    @pl.program
    class Matmul:
        """The product of a [M, K] and b [K, N]."""

        @pl.function(type=pl.FunctionType.InCore)
        def matmul_block(
            self,
            a: pl.Tensor[[BLOCK, K], dtype],
            b: pl.Tensor[[K, N], dtype],
            c: pl.Out[pl.Tensor[[BLOCK, N], pl.FP32]],
        ) -> pl.Tensor[[BLOCK, N], pl.FP32]:
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
                c = pl.store(acc, [0, n], [BLOCK, TILE_N], c)
            return c

        @pl.function(type=pl.FunctionType.Orchestration)
        def matmul(
            self,
            a: pl.Tensor[[M, K], dtype],
            b: pl.Tensor[[K, N], dtype],
            c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
        ) -> pl.Tensor[[M, N], pl.FP32]:
            """Launch the kernel for each block of rows."""
            for m in pl.range(0, M, BLOCK):
                rows_a = pl.view(a, [BLOCK, K], [m, 0])
                rows_c = pl.view(c, [BLOCK, N], [m, 0])
                self.matmul_block(rows_a, b, rows_c)
            return c

    return Matmul


def _inputs(rng: np.random.Generator, dtype: pl.DataType) -> dict[str, Any]:
    import numpy as np

    a, b = ((rng.random(s, np.float32) * 2 - 1).astype(dtype.numpy) for s in ((M, K), (K, N)))
    return {"a": a, "b": b, "c": np.zeros((M, N), np.float32)}


def fp32_inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return FP32 arguments, uniform in [-1, 1)."""
    return _inputs(rng, pl.FP32)


def bf16_inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return BF16 arguments, uniform in [-1, 1]."""
    return _inputs(rng, pl.BF16)


def reference(
    a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], precision: Any = "float64", **_: Any
) -> dict[str, Any]:
    """Return the product in ``precision``."""
    return {"c": a.astype(precision) @ b.astype(precision)}


# With u = 2**-24: the error of a sum of K = 512 products in any order is at most 512u of the sum of
# their magnitudes. That sum has mean K / 4 = 128 and standard deviation 5, so it is below 170
# everywhere: 512 * 170u < 5.2e-3. Products of BF16 numbers are exact in FP32: the same bound.
CASES = [
    Case("matmul_fp32", matmul_program(pl.FP32), fp32_inputs, reference, 5.2e-3),
    Case("matmul_bf16", matmul_program(pl.BF16), bf16_inputs, reference, 5.2e-3),
]
