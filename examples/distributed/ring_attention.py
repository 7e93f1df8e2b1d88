"""Ring attention over a sequence that is split over the ranks: keys and values go round a ring.

Each rank keeps its queries. In each step it computes with its current keys and values, and sends
them on to the next rank. Two windows alternate (double buffering): a rank signals when it is done
with one, so that no window is overwritten while it is being read. The number of ranks is taken from
the call, whose arguments hold one part of the sequence per rank.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld

RANKS = 2
ROWS, DIM = 32, 64
"""``ROWS`` is the number of rows of the sequence on one rank."""
SCALE = DIM**-0.5
LOWEST = -3.4028234663852886e38


@pl.jit
def attend(
    q: pl.Tensor,
    k: pl.Tensor,
    v: pl.Tensor,
    y: pl.Out[pl.Tensor],
    pairs: pl.InOut[pld.DistributedTensor],
    came: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    done: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    me: pl.Scalar[pl.INT32],
):
    """Fold the keys and values of all ranks into the attention of this rank's queries."""
    ranks = pld.nranks(pairs)
    rows = q.shape[0]
    top = pl.create_tensor([rows, 1], dtype=pl.FP32, init_value=LOWEST)
    total = pl.create_tensor([rows, 1], dtype=pl.FP32, init_value=0.0)
    acc = pl.create_tensor([rows, DIM], dtype=pl.FP32, init_value=0.0)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="begin"):
        pairs[0:rows, :] = k[:, :]
        pairs[rows : 2 * rows, :] = v[:, :]
        pld.system.notify(came, me, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
    for step in pl.range(ranks):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="send"):
            following = (me + 1) % ranks
            here = step % 2
            pld.system.wait(came, [here, 0], step // 2 + 1, cmp=pld.WaitCmp.Ge)
            if step < ranks - 1:
                other = (step + 1) % 2
                pld.system.wait(done, [other, 0], (step + 1) // 2, cmp=pld.WaitCmp.Ge)
                pld.tensor.put(
                    pairs,
                    following,
                    pairs,
                    dst_offsets=[other * 2 * rows, 0],
                    src_offsets=[here * 2 * rows, 0],
                    shape=[2 * rows, DIM],
                )
                pld.system.notify(came, following, [other, 0], 1, op=pld.NotifyOp.AtomicAdd)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="fold"):
            at = step % 2 * 2 * rows
            keys = pairs[at : at + rows, :]
            values = pairs[at + rows : at + 2 * rows, :]
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
            before = (me + ranks - 1) % ranks
            pld.system.notify(done, before, [step % 2, 0], 1, op=pld.NotifyOp.AtomicAdd)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="divide"):
        y[:, :] = pl.row_expand_div(acc[:, :], total[:, :])
    return y


@pl.jit.host
def ring_attention(
    q: pl.Tensor,
    k: pl.Tensor,
    v: pl.Tensor,
    y: pl.Out[pl.Tensor],
):
    """Rank r has the rows of its part of the sequence."""
    rows = q.shape[1]
    memory = pld.alloc_window_buffer([4 * rows, DIM], dtype=pl.FP32)
    arrivals = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    releases = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
    for r in pl.range(pld.world_size()):
        pairs = pld.window(memory, [4 * rows, DIM], dtype=pl.FP32)
        came = pld.window(arrivals, [2, 1], dtype=pl.INT32)
        done = pld.window(releases, [2, 1], dtype=pl.INT32)
        attend(q[r], k[r], v[r], y[r], pairs, came, done, r, device=r)


PROGRAM = ring_attention


def inputs(rng, ranks=RANKS, rows=ROWS):
    """Return queries, keys and values of typical magnitude."""
    names = ("q", "k", "v")
    made = {name: rng.standard_normal((ranks, rows, DIM), np.float32) for name in names}
    return {**made, "y": np.zeros((ranks, rows, DIM), np.float32)}


def reference(q, k, v, y):
    """Return attention over the whole sequence, in float64."""
    wide, keys, values = (each.reshape(-1, DIM).astype(np.float64) for each in (q, k, v))
    scores = wide @ keys.T * SCALE
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"y": (powers @ values / powers.sum(axis=1, keepdims=True)).reshape(y.shape)}


def split(whole, ranks):
    """Split the arguments of one rank among several: parts of the sequence."""
    return {name: array.reshape(ranks, -1, DIM).copy() for name, array in whole.items()}


def joined(y):
    """Return the result of several ranks in the layout of a single rank."""
    return y.reshape(1, -1, DIM)
