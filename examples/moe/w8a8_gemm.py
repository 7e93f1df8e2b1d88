"""INT8 by INT8: rows are quantised with one scale each, weights have one scale per column."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

TOKENS, K, N = 64, 2048, 1024
Q_TILE = 16  # rows quantised at a time
CHUNK = 512  # columns that are quantised at a time
TILE_M, TILE_K, TILE_N = 64, 256, 128


@pl.jit.inline
def quantize(x: pl.Tensor, x_int8: pl.Tensor, x_scale: pl.Tensor):
    """Write each row divided by its scale, so that its largest magnitude becomes 127."""
    for block in pl.spmd(TOKENS // Q_TILE, name_hint="quantize"):
        row = block * Q_TILE
        largest = pl.full([Q_TILE, 1], dtype=pl.FP32, value=1e-6)
        for c in pl.range(0, K, CHUNK):
            part = pl.cast(x[row : row + Q_TILE, c : c + CHUNK], target_type=pl.FP32)
            size = pl.maximum(part, pl.neg(part))
            largest = pl.maximum(largest, pl.row_max(size))
        x_scale[row : row + Q_TILE, :] = pl.mul(largest, 1.0 / 127.0)
        factor = pl.mul(pl.recip(largest), 127.0)
        for c in pl.range(0, K, CHUNK):
            part = pl.cast(x[row : row + Q_TILE, c : c + CHUNK], target_type=pl.FP32)
            scaled = pl.row_expand_mul(part, factor)
            whole = pl.cast(scaled, target_type=pl.INT32, mode="rint")
            whole = pl.minimum(pl.maximum(whole, -127), 127)
            half = pl.cast(whole, target_type=pl.FP16, mode="round")
            x_int8[row : row + Q_TILE, c : c + CHUNK] = pl.cast(
                half, target_type=pl.INT8, mode="trunc"
            )
    return x_int8, x_scale


@pl.jit
def w8a8_gemm(
    x: pl.Tensor[[TOKENS, K], pl.BF16],
    w: pl.Tensor[[N, K], pl.INT8],
    w_scale: pl.Tensor[[1, N], pl.FP32],
    y: pl.Out[pl.Tensor[[TOKENS, N], pl.BF16]],
):
    """Return x times w transposed, where the weights are w_scale times the integers in w."""
    x_int8 = pl.create_tensor([TOKENS, K], dtype=pl.INT8)
    x_scale = pl.create_tensor([TOKENS, 1], dtype=pl.FP32)
    x_int8, x_scale = quantize(x, x_int8, x_scale)
    for m in pl.parallel(0, TOKENS, TILE_M):
        for block in pl.spmd(N // TILE_N, name_hint="w8a8_gemm"):
            n = block * TILE_N
            acc = pl.matmul(
                x_int8[m : m + TILE_M, 0:TILE_K],
                w[n : n + TILE_N, 0:TILE_K],
                b_trans=True,
                out_dtype=pl.INT32,
            )
            for k in pl.pipeline(TILE_K, K, TILE_K, stage=2):
                left = x_int8[m : m + TILE_M, k : k + TILE_K]
                acc = pl.matmul_acc(acc, left, w[n : n + TILE_N, k : k + TILE_K], b_trans=True)
            wide = pl.cast(acc, target_type=pl.FP32, mode="none")
            by_row = pl.row_expand_mul(wide, x_scale[m : m + TILE_M, :])
            both = pl.col_expand_mul(by_row, w_scale[:, n : n + TILE_N])
            y[m : m + TILE_M, n : n + TILE_N] = pl.cast(both, target_type=pl.BF16, mode="rint")
    return y


def inputs(rng):
    """Return quantised weights and their scales, such that results are about 1."""
    return {
        "x": rng.standard_normal((TOKENS, K), np.float32).astype(pl.BF16.numpy),
        "w": rng.integers(-127, 128, (N, K), np.int8),
        "w_scale": (0.5 + rng.random((1, N), np.float32)) * np.float32(K**-0.5 / 73),
        "y": np.zeros((TOKENS, N), pl.BF16.numpy),
    }


def reference(x, w, w_scale, y):
    """Return the product with x unquantised, in float64."""
    return {"y": x.astype(np.float64) @ w.astype(np.float64).T * w_scale}


# A scale is about 4 / 127: the quantisation error of an element is uniform within half a unit, with
# standard deviation 0.0095, and so is a result's, a sum with weights whose squares sum to 1 to 2.
# 6 deviations of 0.0143, and one rounding to BF16.
CASES = [Case("w8a8_gemm", w8a8_gemm, inputs, reference, 0.09)]
