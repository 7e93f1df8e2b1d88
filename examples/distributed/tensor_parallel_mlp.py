"""An MLP whose weights are split over the ranks: partial products, and a sum over all ranks.

Rank r has some columns of the first matrix and the same rows of the second. Each computes with its
part of the inner dimension, so what it gets is a part of every sum.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld

RANKS = 4
TOKENS, HIDDEN, INNER = 32, 128, 64
"""``INNER`` is what one rank has of the inner dimension."""


@pl.jit
def mlp_part(
    x: pl.Tensor[[TOKENS, HIDDEN], pl.FP32],
    up: pl.Tensor[[HIDDEN, INNER], pl.FP32],
    down: pl.Tensor[[INNER, HIDDEN], pl.FP32],
    y: pl.Out[pl.Tensor[[TOKENS, HIDDEN], pl.FP32]],
    parts: pl.InOut[pld.DistributedTensor[[TOKENS, HIDDEN], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[RANKS, 1], pl.INT32]],
):
    """Compute this rank's part of the sums, then the sums."""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="mlp"):
        inner = pl.maximum(pl.matmul(x, up), 0.0)
        parts[:, :] = pl.matmul(inner, down)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="sum"):
        pld.tensor.allreduce(parts, signal)
        y[:, :] = parts[:, :]
    return y


@pl.jit.host
def tensor_parallel_mlp(
    x: pl.Tensor[[TOKENS, HIDDEN], pl.FP32],
    up: pl.Tensor[[RANKS, HIDDEN, INNER], pl.FP32],
    down: pl.Tensor[[RANKS, INNER, HIDDEN], pl.FP32],
    y: pl.Out[pl.Tensor[[RANKS, TOKENS, HIDDEN], pl.FP32]],
):
    """Every rank has all of the result."""
    sums = pld.alloc_window_buffer([TOKENS, HIDDEN], dtype=pl.FP32)
    signals = pld.alloc_window_buffer([RANKS, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        parts = pld.window(sums, [TOKENS, HIDDEN], dtype=pl.FP32)
        signal = pld.window(signals, [RANKS, 1], dtype=pl.INT32)
        mlp_part(x, up[r], down[r], y[r], parts, signal, device=r)


PROGRAM = tensor_parallel_mlp


def inputs(rng):
    """Return activations and weights of usual size."""
    return {
        "x": rng.standard_normal((TOKENS, HIDDEN), np.float32),
        "up": rng.standard_normal((RANKS, HIDDEN, INNER), np.float32) / HIDDEN**0.5,
        "down": rng.standard_normal((RANKS, INNER, HIDDEN), np.float32) / INNER**0.5,
        "y": np.zeros((RANKS, TOKENS, HIDDEN), np.float32),
    }


def reference(x, up, down, y):
    """Return the MLP in float64, once for each rank."""
    wide = x.astype(np.float64)
    total = sum(np.maximum(wide @ up[r], 0) @ down[r] for r in range(RANKS))
    return {"y": np.broadcast_to(total, y.shape)}
