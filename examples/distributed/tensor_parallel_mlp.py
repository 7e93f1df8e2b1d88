"""A tensor-parallel MLP: weights split over the ranks, partial products and an all-reduce.

Rank r has some columns of the first matrix and the same rows of the second. Each computes with its
slice of the inner dimension and so gets a partial sum of every result. The number of ranks is taken
from the call, whose arguments hold weights for each.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld

RANKS = 4
TOKENS, HIDDEN, INNER = 32, 128, 64
"""``INNER`` is one rank's share of the inner dimension."""


@pl.jit
def mlp_part(
    x: pl.Tensor[[TOKENS, HIDDEN], pl.FP32],
    up: pl.Tensor,
    down: pl.Tensor,
    y: pl.Out[pl.Tensor[[TOKENS, HIDDEN], pl.FP32]],
    parts: pl.InOut[pld.DistributedTensor[[TOKENS, HIDDEN], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor],
):
    """Compute this rank's partial sums, then the sums over all ranks."""
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
    up: pl.Tensor,
    down: pl.Tensor,
    y: pl.Out[pl.Tensor],
):
    """Every rank gets the whole result."""
    sums = pld.alloc_window_buffer([TOKENS, HIDDEN], dtype=pl.FP32)
    signals = pld.alloc_window_buffer([pld.world_size(), 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        parts = pld.window(sums, [TOKENS, HIDDEN], dtype=pl.FP32)
        signal = pld.window(signals, [pld.world_size(), 1], dtype=pl.INT32)
        mlp_part(x, up[r], down[r], y[r], parts, signal, device=r)


PROGRAM = tensor_parallel_mlp


def inputs(rng, ranks=RANKS, inner=INNER):
    """Return activations and weights of typical magnitude."""
    return {
        "x": rng.standard_normal((TOKENS, HIDDEN), np.float32),
        "up": rng.standard_normal((ranks, HIDDEN, inner), np.float32) / HIDDEN**0.5,
        "down": rng.standard_normal((ranks, inner, HIDDEN), np.float32) / inner**0.5,
        "y": np.zeros((ranks, TOKENS, HIDDEN), np.float32),
    }


def reference(x, up, down, y):
    """Return the MLP in float64, once for each rank."""
    wide = x.astype(np.float64)
    parts = zip(up, down, strict=True)
    total = sum(np.maximum(wide @ first, 0) @ second for first, second in parts)
    return {"y": np.broadcast_to(total, y.shape)}


def split(whole, ranks):
    """Split the arguments of one rank among several: parts of the inner dimension."""
    up, down = np.split(whole["up"][0], ranks, axis=1), np.split(whole["down"][0], ranks, axis=0)
    y = np.zeros((ranks, TOKENS, HIDDEN), np.float32)
    return {"x": whole["x"], "up": np.stack(up), "down": np.stack(down), "y": y}


def joined(y):
    """Return the result of several ranks, each of which has all of it, as that of one."""
    return y[-1:]
