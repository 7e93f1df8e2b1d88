"""Causal attention over a whole prompt: blocks of queries, each attending to earlier key blocks."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

MAX_SEQ, HEADS, KV_HEADS, HEAD_DIM = 512, 8, 2, 128
GROUP = HEADS // KV_HEADS
Q_TILE, K_TILE = 64, 64
SCALE = HEAD_DIM**-0.5
LOWEST = -3.4028234663852886e38
HIDDEN = -1e30  # added to the score of a masked position

SEQ = pl.dynamic("SEQ")


@pl.jit
def causal_prefill(
    q: pl.Tensor[[MAX_SEQ, HEADS * HEAD_DIM], pl.BF16],
    k: pl.Tensor[[MAX_SEQ, KV_HEADS * HEAD_DIM], pl.BF16],
    v: pl.Tensor[[MAX_SEQ, KV_HEADS * HEAD_DIM], pl.BF16],
    mask: pl.Tensor[[Q_TILE, K_TILE], pl.FP32],
    attended: pl.Out[pl.Tensor[[MAX_SEQ, HEADS * HEAD_DIM], pl.BF16]],
):
    """Let each token attend to itself and those before it."""
    q.bind_dynamic(0, SEQ)
    k.bind_dynamic(0, SEQ)
    v.bind_dynamic(0, SEQ)
    attended.bind_dynamic(0, SEQ)
    seq = pl.tensor.dim(q, 0)
    for t in pl.parallel(0, seq, Q_TILE):
        rows = pl.min(Q_TILE, seq - t)
        with pl.spmd(HEADS, name_hint="causal_prefill"):
            head = pl.tile.get_block_idx()
            qc = head * HEAD_DIM
            kc = head // GROUP * HEAD_DIM
            q_part = pl.slice(q, [Q_TILE, HEAD_DIM], [t, qc], valid_shape=[rows, HEAD_DIM])
            q_tile = pl.fillpad(q_part, pad_value=pl.PadValue.zero)
            top = pl.full([Q_TILE, 1], dtype=pl.FP32, value=LOWEST)
            total = pl.full([Q_TILE, 1], dtype=pl.FP32, value=0.0)
            acc = pl.full([Q_TILE, HEAD_DIM], dtype=pl.FP32, value=0.0)
            for s in pl.range(0, t + Q_TILE, K_TILE):
                left = pl.min(K_TILE, seq - s)
                k_part = pl.slice(k, [K_TILE, HEAD_DIM], [s, kc], valid_shape=[left, HEAD_DIM])
                k_tile = pl.fillpad(k_part, pad_value=pl.PadValue.zero)
                scores = pl.mul(pl.matmul(q_tile, k_tile, b_trans=True, out_dtype=pl.FP32), SCALE)
                if s == t:
                    scores = pl.add(scores, mask)
                new_top = pl.maximum(top, pl.row_max(scores))
                fade = pl.exp(pl.sub(top, new_top))
                powers = pl.exp(pl.row_expand_sub(scores, new_top))
                total = pl.add(pl.mul(total, fade), pl.row_sum(powers))
                v_part = pl.slice(v, [K_TILE, HEAD_DIM], [s, kc], valid_shape=[left, HEAD_DIM])
                v_tile = pl.fillpad(v_part, pad_value=pl.PadValue.zero)
                mixed = pl.matmul(pl.cast(powers, target_type=pl.BF16), v_tile, out_dtype=pl.FP32)
                acc = pl.add(pl.row_expand_mul(acc, fade), mixed)
                top = new_top
            result = pl.cast(pl.row_expand_div(acc, total), target_type=pl.BF16)
            known = pl.set_validshape(result, rows, HEAD_DIM)
            attended[t : t + Q_TILE, qc : qc + HEAD_DIM] = known
    return attended


def inputs(rng, seq=MAX_SEQ - 27):
    """Return queries, keys and values of a prompt that ends partway through a block."""
    bf16 = pl.BF16.numpy

    def normal(columns):
        return rng.standard_normal((seq, columns), np.float32).astype(bf16)

    place = np.arange(Q_TILE)
    return {
        "q": normal(HEADS * HEAD_DIM),
        "k": normal(KV_HEADS * HEAD_DIM),
        "v": normal(KV_HEADS * HEAD_DIM),
        "mask": np.where(place <= place[:, None], 0, HIDDEN).astype(np.float32),
        "attended": np.zeros((seq, HEADS * HEAD_DIM), bf16),
    }


def reference(q, k, v, mask, attended):
    """Return the attention output in float64."""
    seq = len(q)
    heads = q.astype(np.float64).reshape(seq, KV_HEADS, GROUP, HEAD_DIM)
    keys, values = (x.astype(np.float64).reshape(seq, KV_HEADS, HEAD_DIM) for x in (k, v))
    scores = np.einsum("qhgd,khd->hgqk", heads, keys) * SCALE
    scores += np.triu(np.full((seq, seq), HIDDEN), 1)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return {"attended": np.einsum("hgqk,khd->qhgd", weights, values).reshape(seq, -1)}


# As in decoding, two roundings to BF16: the weights and the results.
CASES = [Case("causal_prefill", causal_prefill, inputs, reference, 0.01)]
