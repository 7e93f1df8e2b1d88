"""Four-bit weights: two to a byte, each an index into a table of sixteen values."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

BATCH, K, N = 16, 512, 256
ROWS = 16  # of weights, unpacked at a time
TILE_N, TILE_K = 128, 128


@pl.jit
def codebook_gemm(
    x: pl.Tensor[[BATCH, K], pl.BF16],
    packed: pl.Tensor[[N, K // 2], pl.UINT8],
    table: pl.Tensor[[1, 16], pl.FP32],
    y: pl.Out[pl.Tensor[[BATCH, N], pl.FP32]],
):
    """Return x times w transposed: the low nibbles are the first half of a row of w."""
    w = pl.create_tensor([N, K], dtype=pl.BF16)
    for block in pl.spmd(N // ROWS, name_hint="unpack"):
        for i in pl.range(ROWS):
            row = block * ROWS + i
            book = table[:, :]
            bytes_ = pl.cast(packed[row : row + 1, :], target_type=pl.FP16)
            both = pl.cast(bytes_, target_type=pl.FP32)
            low = pl.fmods(both, 16.0)
            high = pl.div(pl.sub(both, low), 16.0)
            low_at = pl.cast(low, target_type=pl.INT32, mode="trunc")
            high_at = pl.cast(high, target_type=pl.INT32, mode="trunc")
            first = pl.gather(book, dim=-1, index=low_at)
            second = pl.gather(book, dim=-1, index=high_at)
            w[row : row + 1, 0 : K // 2] = pl.cast(first, target_type=pl.BF16)
            w[row : row + 1, K // 2 : K] = pl.cast(second, target_type=pl.BF16)
    for block in pl.spmd(N // TILE_N, name_hint="multiply"):
        n = block * TILE_N
        acc = pl.create_tensor([BATCH, TILE_N], dtype=pl.FP32)
        for k in pl.pipeline(0, K, TILE_K, stage=2):
            part = w[n : n + TILE_N, k : k + TILE_K]
            acc = pl.matmul_acc(acc, x[:, k : k + TILE_K], part, b_trans=True, init_cond=k == 0)
        y[:, n : n + TILE_N] = acc
    return y


def inputs(rng):
    """Return random bytes, and a table of values that are exact in BF16."""
    bf16 = pl.BF16.numpy
    table = np.sort(rng.standard_normal((1, 16), np.float32) * np.float32(K**-0.5), axis=1)
    return {
        "x": rng.standard_normal((BATCH, K), np.float32).astype(bf16),
        "packed": rng.integers(0, 256, (N, K // 2), np.uint8),
        "table": table.astype(bf16).astype(np.float32),
        "y": np.zeros((BATCH, N), np.float32),
    }


def reference(x, packed, table, y):
    """Return the product in float64."""
    w = table[0][np.concatenate([packed % 16, packed // 16], axis=1)].astype(np.float64)
    return {"y": x.astype(np.float64) @ w.T}


# Sums of 512 exact products that stay below 8.
CASES = [Case("codebook_gemm", codebook_gemm, inputs, reference, 1e-5)]
