"""Product, bias and activation, where each of a cluster's two vector cores does half the rows."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

M, K, N = 128, 256, 256
TILE_M, TILE_K, TILE_N = 64, 128, 128
HALF = TILE_M // 2


@pl.jit
def two_lanes(
    x: pl.Tensor[[M, K], pl.FP16],
    w: pl.Tensor[[N, K], pl.FP16],
    bias: pl.Tensor[[1, N], pl.FP32],
    y: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    """Return relu(x w + bias), where w is stored transposed."""
    for m in pl.parallel(0, M, TILE_M):
        for block in pl.spmd(N // TILE_N, name_hint="two_lanes"):
            n = block * TILE_N
            acc = pl.create_tensor([TILE_M, TILE_N], dtype=pl.FP32)
            for k in pl.pipeline(0, K, TILE_K, stage=2):
                left = x[m : m + TILE_M, k : k + TILE_K]
                right = w[n : n + TILE_N, k : k + TILE_K]
                acc = pl.matmul_acc(acc, left, right, b_trans=True, init_cond=k == 0)
            for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
                mine = pl.aiv_shard(acc)
                biased = pl.col_expand_add(mine, bias[:, n : n + TILE_N])
                row = m + lane * HALF
                y[row : row + HALF, n : n + TILE_N] = pl.maximum(biased, 0.0)
    return y


def inputs(rng):
    """Return FP16 operands."""
    return {
        "x": rng.standard_normal((M, K), np.float32).astype(np.float16),
        "w": (rng.standard_normal((N, K), np.float32) * K**-0.5).astype(np.float16),
        "bias": rng.standard_normal((1, N), np.float32),
        "y": np.zeros((M, N), np.float32),
    }


def reference(x, w, bias, y):
    """Return the activation in float64."""
    return {"y": np.maximum(x.astype(np.float64) @ w.astype(np.float64).T + bias, 0)}


# Sums of 256 exact products that stay below 8.
CASES = [Case("two_lanes", two_lanes, inputs, reference, 1e-5)]
