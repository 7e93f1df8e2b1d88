"""Matrix product, bias and activation in one region: cube and vector cores work together."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

M, K, N = 128, 512, 512
TILE_M, TILE_K, TILE_N = 64, 128, 128
SQRT_8_OVER_PI = 2 * (2 / np.pi) ** 0.5


@pl.jit.inline
def gelu(x: pl.Tensor[[TILE_M, TILE_N], pl.FP32]):
    """Return x * sigmoid(2 u), where u is the argument of tanh in the tanh approximation."""
    cube = pl.mul(pl.mul(x, x), x)
    u = pl.mul(pl.add(x, pl.mul(cube, 0.044715)), SQRT_8_OVER_PI)
    gate = pl.recip(pl.add(pl.exp(pl.neg(u)), 1.0))
    return pl.mul(x, gate)


@pl.jit
def gemm_gelu(
    x: pl.Tensor[[M, K], pl.BF16],
    w: pl.Tensor[[K, N], pl.BF16],
    bias: pl.Tensor[[1, N], pl.FP32],
    y: pl.Out[pl.Tensor[[M, N], pl.BF16]],
):
    """Return gelu(x w + bias)."""
    for m in pl.parallel(0, M, TILE_M):
        for n in pl.parallel(0, N, TILE_N):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="gemm_gelu"):
                acc = pl.matmul(
                    x[m : m + TILE_M, 0:TILE_K], w[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32
                )
                for k in pl.pipeline(TILE_K, K, TILE_K, stage=2):
                    acc = pl.matmul_acc(
                        acc, x[m : m + TILE_M, k : k + TILE_K], w[k : k + TILE_K, n : n + TILE_N]
                    )
                biased = pl.col_expand_add(acc, bias[:, n : n + TILE_N])
                active = gelu(biased)
                y[m : m + TILE_M, n : n + TILE_N] = pl.cast(
                    active, target_type=pl.BF16, mode="rint"
                )
    return y


def inputs(rng):
    """Return weights scaled so that results are about 1."""
    bf16 = pl.BF16.numpy
    return {
        "x": rng.standard_normal((M, K), np.float32).astype(bf16),
        "w": (rng.standard_normal((K, N), np.float32) * K**-0.5).astype(bf16),
        "bias": rng.standard_normal((1, N), np.float32),
        "y": np.zeros((M, N), bf16),
    }


def reference(x, w, bias, y):
    """Return the activation in float64."""
    z = x.astype(np.float64) @ w.astype(np.float64) + bias
    return {"y": z / (1 + np.exp(-SQRT_8_OVER_PI * (z + 0.044715 * z**3)))}


# Rounded to BF16 once; everything else is FP32.
CASES = [Case("gemm_gelu", gemm_gelu, inputs, reference, 2**-8 + 1e-4)]
