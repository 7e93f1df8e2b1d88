"""A matrix product: each block computes a tile of the result, with loads pipelined along K."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

M, K, N = 512, 1024, 768
TILE_M, TILE_K, TILE_N = 128, 128, 128
M_TILES, N_TILES = M // TILE_M, N // TILE_N


@pl.jit
def gemm(
    a: pl.Tensor[[M, K], pl.BF16],
    b: pl.Tensor[[N, K], pl.BF16],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    """Return a times b transposed."""
    for block in pl.spmd(M_TILES * N_TILES, name_hint="gemm"):
        m = block // N_TILES * TILE_M
        n = block % N_TILES * TILE_N
        acc = pl.matmul(
            a[m : m + TILE_M, 0:TILE_K],
            b[n : n + TILE_N, 0:TILE_K],
            b_trans=True,
            out_dtype=pl.FP32,
        )
        for k in pl.pipeline(TILE_K, K, TILE_K, stage=2):
            left = a[m : m + TILE_M, k : k + TILE_K]
            right = b[n : n + TILE_N, k : k + TILE_K]
            acc = pl.matmul_acc(acc, left, right, b_trans=True)
        c[m : m + TILE_M, n : n + TILE_N] = acc
    return c


def inputs(rng):
    """Return BF16 operands."""
    bf16 = pl.BF16.numpy
    return {
        "a": rng.standard_normal((M, K), np.float32).astype(bf16),
        "b": rng.standard_normal((N, K), np.float32).astype(bf16),
        "c": np.zeros((M, N), np.float32),
    }


def reference(a, b, c):
    """Return the product in float64."""
    return {"c": a.astype(np.float64) @ b.astype(np.float64).T}


# A product of two BF16 numbers is exact in FP32; sums of 1024 of them stay below 256, so each
# addition has an error of at most 2**-17, and all together typically 32 times that.
CASES = [Case("gemm", gemm, inputs, reference, 1e-3)]
