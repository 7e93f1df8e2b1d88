"""All-gather fused with a matrix product: each rank has some rows of x and some columns of w.

Communication overlaps computation: the rows of each rank are multiplied as soon as they arrive,
while others are still on their way.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld

RANKS = 4
ROWS, K, N = 16, 128, 64


@pl.jit
def gather_and_multiply(
    x: pl.Tensor[[ROWS, K], pl.FP32],
    w: pl.Tensor[[K, N], pl.FP32],
    y: pl.Out[pl.Tensor[[RANKS * ROWS, N], pl.FP32]],
    rows: pl.InOut[pld.DistributedTensor[[RANKS * ROWS, K], pl.FP32]],
    there: pl.InOut[pld.DistributedTensor[[RANKS, 1], pl.INT32]],
    me: pl.Scalar[pl.INT32],
):
    """Send this rank's rows to all others, and multiply rows as they arrive."""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="send"):
        for step in pl.range(RANKS):
            peer = (me + step) % RANKS
            pld.tensor.put(
                rows, peer, x, dst_offsets=[me * ROWS, 0], src_offsets=[0, 0], shape=[ROWS, K]
            )
            pld.system.notify(there, peer, [me, 0], 1, op=pld.NotifyOp.Set)
    for step in pl.range(RANKS):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="multiply"):
            source = (me + step) % RANKS
            pld.system.wait(there, [source, 0], 1, cmp=pld.WaitCmp.Eq)
            at = source * ROWS
            y[at : at + ROWS, :] = pl.matmul(rows[at : at + ROWS, :], w)
    return y


@pl.jit.host
def gather_gemm(
    x: pl.Tensor[[RANKS, ROWS, K], pl.FP32],
    w: pl.Tensor[[RANKS, K, N], pl.FP32],
    y: pl.Out[pl.Tensor[[RANKS, RANKS * ROWS, N], pl.FP32]],
):
    """Rank r computes its columns of the product for all rows."""
    buffer = pld.alloc_window_buffer([RANKS * ROWS, K], dtype=pl.FP32)
    signals = pld.alloc_window_buffer([RANKS, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        rows = pld.window(buffer, [RANKS * ROWS, K], dtype=pl.FP32)
        there = pld.window(signals, [RANKS, 1], dtype=pl.INT32)
        gather_and_multiply(x[r], w[r], y[r], rows, there, r, device=r)


PROGRAM = gather_gemm


def inputs(rng):
    """Return rows and weights of typical magnitude."""
    return {
        "x": rng.standard_normal((RANKS, ROWS, K), np.float32),
        "w": rng.standard_normal((RANKS, K, N), np.float32) / K**0.5,
        "y": np.zeros((RANKS, RANKS * ROWS, N), np.float32),
    }


def reference(x, w, y):
    """Return the product of all rows with each rank's columns, in float64."""
    rows = x.reshape(RANKS * ROWS, K).astype(np.float64)
    return {"y": np.stack([rows @ w[r] for r in range(RANKS)])}
