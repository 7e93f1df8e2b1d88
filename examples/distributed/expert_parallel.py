"""Expert parallelism: each token goes to its expert's rank, and the result comes back.

Each rank has one expert and sorts its tokens by expert, so that the tokens for one rank are
contiguous. The exchange is the same in both directions: block r of a rank goes to rank r.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld

RANKS = 4
TOKENS, HIDDEN = 16, 128
"""``TOKENS`` is the number of tokens that one rank has for one expert."""


@pl.jit
def expert(
    x: pl.Tensor[[RANKS * TOKENS, HIDDEN], pl.FP32],
    w: pl.Tensor[[HIDDEN, HIDDEN], pl.FP32],
    gates: pl.Tensor[[RANKS * TOKENS, 1], pl.FP32],
    y: pl.Out[pl.Tensor[[RANKS * TOKENS, HIDDEN], pl.FP32]],
    arrived: pl.InOut[pld.DistributedTensor[[RANKS * TOKENS, HIDDEN], pl.FP32]],
    returned: pl.InOut[pld.DistributedTensor[[RANKS * TOKENS, HIDDEN], pl.FP32]],
    counts: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    me: pl.Scalar[pl.INT32],
):
    """Dispatch this rank's tokens, apply its expert for all ranks, combine the results."""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="dispatch"):
        for peer in pl.range(RANKS):
            pld.tensor.put(
                arrived,
                peer,
                x,
                dst_offsets=[me * TOKENS, 0],
                src_offsets=[peer * TOKENS, 0],
                shape=[TOKENS, HIDDEN],
            )
            pld.system.notify(counts, peer, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
        pld.system.wait(counts, [0, 0], RANKS, cmp=pld.WaitCmp.Ge)
    for peer in pl.range(RANKS):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="work"):
            at = peer * TOKENS
            made = pl.matmul(arrived[at : at + TOKENS, :], w)
            pld.tensor.remote_store(made, returned, peer, [me * TOKENS, 0])
            pld.system.notify(counts, peer, [1, 0], 1, op=pld.NotifyOp.AtomicAdd)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="combine"):
        pld.system.wait(counts, [1, 0], RANKS, cmp=pld.WaitCmp.Ge)
        for e in pl.range(RANKS):
            at = e * TOKENS
            scale = gates[at : at + TOKENS, :]
            y[at : at + TOKENS, :] = pl.row_expand_mul(returned[at : at + TOKENS, :], scale)
    return y


@pl.jit.host
def expert_parallel(
    x: pl.Tensor[[RANKS, RANKS * TOKENS, HIDDEN], pl.FP32],
    w: pl.Tensor[[RANKS, HIDDEN, HIDDEN], pl.FP32],
    gates: pl.Tensor[[RANKS, RANKS * TOKENS, 1], pl.FP32],
    y: pl.Out[pl.Tensor[[RANKS, RANKS * TOKENS, HIDDEN], pl.FP32]],
):
    """Block e of a rank's tokens is for the expert on rank e."""
    there = pld.alloc_window_buffer([RANKS * TOKENS, HIDDEN], dtype=pl.FP32)
    back = pld.alloc_window_buffer([RANKS * TOKENS, HIDDEN], dtype=pl.FP32)
    signals = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        arrived = pld.window(there, [RANKS * TOKENS, HIDDEN], dtype=pl.FP32)
        returned = pld.window(back, [RANKS * TOKENS, HIDDEN], dtype=pl.FP32)
        counts = pld.window(signals, [2, 1], dtype=pl.INT32)
        expert(x[r], w[r], gates[r], y[r], arrived, returned, counts, r, device=r)


PROGRAM = expert_parallel


def inputs(rng):
    """Return tokens, expert matrices and gates of typical magnitude."""
    return {
        "x": rng.standard_normal((RANKS, RANKS * TOKENS, HIDDEN), np.float32),
        "w": rng.standard_normal((RANKS, HIDDEN, HIDDEN), np.float32) / HIDDEN**0.5,
        "gates": rng.random((RANKS, RANKS * TOKENS, 1), np.float32),
        "y": np.zeros((RANKS, RANKS * TOKENS, HIDDEN), np.float32),
    }


def reference(x, w, gates, y):
    """Return each block times the matrix of its expert, in float64."""
    blocks = x.reshape(RANKS, RANKS, TOKENS, HIDDEN).astype(np.float64)
    made = np.einsum("reth,ehk->retk", blocks, w).reshape(y.shape)
    return {"y": made * gates}
