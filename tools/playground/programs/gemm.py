# Matrix product: tiles of the result by blocks, K in parts whose loads overlap
import numpy as np

import pypto.language as pl

M, K, N = 128, 256, 128
TILE = 64


@pl.jit
def gemm(
    a: pl.Tensor[[M, K], pl.FP16],
    b: pl.Tensor[[K, N], pl.FP16],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    for block in pl.spmd((M // TILE) * (N // TILE)):
        m = block // (N // TILE) * TILE
        n = block % (N // TILE) * TILE
        acc = pl.matmul(a[m : m + TILE, 0:TILE], b[0:TILE, n : n + TILE], out_dtype=pl.FP32)
        for k in pl.pipeline(TILE, K, TILE, stage=2):
            acc = pl.matmul_acc(acc, a[m : m + TILE, k : k + TILE], b[k : k + TILE, n : n + TILE])
        c[m : m + TILE, n : n + TILE] = acc
    return c


random = np.random.default_rng(0)
a = random.standard_normal((M, K)).astype(np.float16)
b = random.standard_normal((K, N)).astype(np.float16)
c = np.empty((M, N), np.float32)
gemm(a, b, c)
print("largest difference from NumPy:", np.abs(c - a.astype(np.float64) @ b).max())
