"""Attention over a sequence that is split over the ranks: keys and values go around a ring.

Each rank keeps its queries. In each step it computes with the keys and values that it has, and
sends them on to the next rank; two windows take turns, so that nothing is overwritten that is
still read: a rank says when it is done with one.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld

RANKS = 2
ROWS, DIM = 32, 64
SCALE = DIM**-0.5
LOWEST = -3.4028234663852886e38


@pl.jit
def attend(
    q: pl.Tensor[[ROWS, DIM], pl.FP32],
    k: pl.Tensor[[ROWS, DIM], pl.FP32],
    v: pl.Tensor[[ROWS, DIM], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, DIM], pl.FP32]],
    pairs: pl.InOut[pld.DistributedTensor[[4 * ROWS, DIM], pl.FP32]],
    came: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    done: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    me: pl.Scalar[pl.INT32],
):
    """Fold the keys and values of all ranks into the attention of this rank's queries."""
    top = pl.create_tensor([ROWS, 1], dtype=pl.FP32, init_value=LOWEST)
    total = pl.create_tensor([ROWS, 1], dtype=pl.FP32, init_value=0.0)
    acc = pl.create_tensor([ROWS, DIM], dtype=pl.FP32, init_value=0.0)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="begin"):
        pairs[0:ROWS, :] = k[:, :]
        pairs[ROWS : 2 * ROWS, :] = v[:, :]
        pld.system.notify(came, me, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
    for step in pl.range(RANKS):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="send"):
            following = (me + 1) % RANKS
            here = step % 2
            pld.system.wait(came, [here, 0], step // 2 + 1, cmp=pld.WaitCmp.Ge)
            if step < RANKS - 1:
                other = (step + 1) % 2
                pld.system.wait(done, [other, 0], (step + 1) // 2, cmp=pld.WaitCmp.Ge)
                pld.tensor.put(
                    pairs,
                    following,
                    pairs,
                    dst_offsets=[other * 2 * ROWS, 0],
                    src_offsets=[here * 2 * ROWS, 0],
                    shape=[2 * ROWS, DIM],
                )
                pld.system.notify(came, following, [other, 0], 1, op=pld.NotifyOp.AtomicAdd)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="fold"):
            at = step % 2 * 2 * ROWS
            keys = pairs[at : at + ROWS, :]
            values = pairs[at + ROWS : at + 2 * ROWS, :]
            scores = pl.mul(pl.matmul(q, keys, b_trans=True), SCALE)
            old = top[:, :]
            new = pl.maximum(old, pl.row_max(scores))
            powers = pl.exp(pl.row_expand_sub(scores, new))
            shrink = pl.exp(pl.sub(old, new))
            total[:, :] = pl.add(pl.mul(total[:, :], shrink), pl.row_sum(powers))
            more = pl.matmul(powers, values)
            acc[:, :] = pl.add(pl.row_expand_mul(acc[:, :], shrink), more)
            top[:, :] = new
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="release"):
            before = (me + RANKS - 1) % RANKS
            pld.system.notify(done, before, [step % 2, 0], 1, op=pld.NotifyOp.AtomicAdd)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="divide"):
        y[:, :] = pl.row_expand_div(acc[:, :], total[:, :])
    return y


@pl.jit.host
def ring_attention(
    q: pl.Tensor[[RANKS, ROWS, DIM], pl.FP32],
    k: pl.Tensor[[RANKS, ROWS, DIM], pl.FP32],
    v: pl.Tensor[[RANKS, ROWS, DIM], pl.FP32],
    y: pl.Out[pl.Tensor[[RANKS, ROWS, DIM], pl.FP32]],
):
    """Rank r has the rows of its part of the sequence."""
    memory = pld.alloc_window_buffer([4 * ROWS, DIM], dtype=pl.FP32)
    arrivals = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    releases = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        pairs = pld.window(memory, [4 * ROWS, DIM], dtype=pl.FP32)
        came = pld.window(arrivals, [2, 1], dtype=pl.INT32)
        done = pld.window(releases, [2, 1], dtype=pl.INT32)
        attend(q[r], k[r], v[r], y[r], pairs, came, done, r, device=r)


PROGRAM = ring_attention


def inputs(rng):
    """Return queries, keys and values of usual size."""
    names = ("q", "k", "v")
    made = {name: rng.standard_normal((RANKS, ROWS, DIM), np.float32) for name in names}
    return {**made, "y": np.zeros((RANKS, ROWS, DIM), np.float32)}


def reference(q, k, v, y):
    """Return attention over the whole sequence, in float64."""
    rows = (RANKS * ROWS, DIM)
    wide, keys, values = (each.reshape(rows).astype(np.float64) for each in (q, k, v))
    scores = wide @ keys.T * SCALE
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"y": (powers @ values / powers.sum(axis=1, keepdims=True)).reshape(y.shape)}
