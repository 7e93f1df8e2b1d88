"""Queries, keys and values of one input: three products, each a launch of several blocks."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

BATCH, HIDDEN = 16, 5120
Q_DIM, KV_DIM = 5120, 1024
CHUNK_N, CHUNK_K = 128, 256


@pl.jit.inline
def project(x: pl.Tensor, w: pl.Tensor, y: pl.Tensor):
    """Write x times w, one block per group of columns."""
    columns = pl.tensor.dim(w, 1)
    for block in pl.spmd(columns // CHUNK_N, name_hint="project"):
        n = block * CHUNK_N
        acc = pl.matmul(x[:, 0:CHUNK_K], w[0:CHUNK_K, n : n + CHUNK_N], out_dtype=pl.FP32)
        for k in pl.pipeline(CHUNK_K, HIDDEN, CHUNK_K, stage=2):
            acc = pl.matmul_acc(acc, x[:, k : k + CHUNK_K], w[k : k + CHUNK_K, n : n + CHUNK_N])
        y[:, n : n + CHUNK_N] = acc
    return y


@pl.jit
def projections(
    x: pl.Tensor[[BATCH, HIDDEN], pl.BF16],
    wq: pl.Tensor[[HIDDEN, Q_DIM], pl.BF16],
    wk: pl.Tensor[[HIDDEN, KV_DIM], pl.BF16],
    wv: pl.Tensor[[HIDDEN, KV_DIM], pl.BF16],
    q: pl.Out[pl.Tensor[[BATCH, Q_DIM], pl.FP32]],
    k: pl.Out[pl.Tensor[[BATCH, KV_DIM], pl.FP32]],
    v: pl.Out[pl.Tensor[[BATCH, KV_DIM], pl.FP32]],
):
    """Multiply one input by three matrices."""
    q = project(x, wq, q)
    k = project(x, wk, k)
    v = project(x, wv, v)
    return q, k, v


def inputs(rng):
    """Return weights scaled so that results are about 1."""
    bf16 = pl.BF16.numpy

    def weights(columns):
        return (rng.standard_normal((HIDDEN, columns), np.float32) * HIDDEN**-0.5).astype(bf16)

    return {
        "x": rng.standard_normal((BATCH, HIDDEN), np.float32).astype(bf16),
        "wq": weights(Q_DIM),
        "wk": weights(KV_DIM),
        "wv": weights(KV_DIM),
        "q": np.zeros((BATCH, Q_DIM), np.float32),
        "k": np.zeros((BATCH, KV_DIM), np.float32),
        "v": np.zeros((BATCH, KV_DIM), np.float32),
    }


def reference(x, wq, wk, wv, q, k, v):
    """Return the products in float64."""
    exact = x.astype(np.float64)
    return {name: exact @ w.astype(np.float64) for name, w in [("q", wq), ("k", wk), ("v", wv)]}


# Sums of up to 5120 exact products that stay below 8: each addition has an error of at most 2**-22,
# and all together typically 72 times that.
CASES = [Case("projections", projections, inputs, reference, 1e-4)]
