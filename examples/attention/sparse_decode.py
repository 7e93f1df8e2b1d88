"""Attention to the tokens that an index selects: score all, keep the largest, gather, attend.

A small indexer with a few short heads scores each cached token against the new one. Sorting finds
the best ones; only their keys and values are read.
"""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

BATCH, HEADS, HEAD_DIM = 4, 16, 128
INDEX_HEADS, INDEX_DIM = 16, 128
SEQ, TOP = 512, 128
TILE = 128
SCALE = HEAD_DIM**-0.5


@pl.jit.inline
def index_scores(index_q: pl.Tensor, index_k: pl.Tensor, index_w: pl.Tensor, scores: pl.Tensor):
    """Score each token: a weighted sum over heads of relu(q k)."""
    for block in pl.spmd(BATCH * (SEQ // TILE), name_hint="index_scores"):
        b = block // (SEQ // TILE)
        s = block % (SEQ // TILE) * TILE
        q = index_q[b * INDEX_HEADS : (b + 1) * INDEX_HEADS, :]
        k = index_k[b * SEQ + s : b * SEQ + s + TILE, :]
        by_head = pl.matmul(q, k, b_trans=True, out_dtype=pl.FP32)
        positive = pl.maximum(by_head, 0.0)
        weight = pl.reshape(index_w[b : b + 1, :], [INDEX_HEADS, 1])
        weighted = pl.row_expand_mul(positive, weight)
        scores[b : b + 1, s : s + TILE] = pl.col_sum(weighted)
    return scores


@pl.jit.inline
def choose(scores: pl.Tensor, chosen: pl.Tensor):
    """Write the indices of the tokens with the largest scores, best first."""
    for b in pl.spmd(BATCH, name_hint="choose"):
        places = pl.arange(0, [1, SEQ], dtype=pl.UINT32)
        pairs = pl.sort32(scores[b : b + 1, :], places)
        pairs = pl.mrgsort(pairs, block_len=64)
        pairs = pl.mrgsort(pairs, block_len=256)
        best = pairs[:, 0 : 2 * TOP]
        chosen[b : b + 1, :] = pl.gather(
            best, mask_pattern=pl.tile.MaskPattern.P1010, output_dtype=pl.INT32
        )
    return chosen


@pl.jit
def sparse_decode(
    q: pl.Tensor[[BATCH * HEADS, HEAD_DIM], pl.BF16],
    keys: pl.Tensor[[BATCH * SEQ, HEAD_DIM], pl.BF16],
    values: pl.Tensor[[BATCH * SEQ, HEAD_DIM], pl.BF16],
    index_q: pl.Tensor[[BATCH * INDEX_HEADS, INDEX_DIM], pl.BF16],
    index_k: pl.Tensor[[BATCH * SEQ, INDEX_DIM], pl.BF16],
    index_w: pl.Tensor[[BATCH, INDEX_HEADS], pl.FP32],
    chosen: pl.Out[pl.Tensor[[BATCH, TOP], pl.INT32]],
    attended: pl.Out[pl.Tensor[[BATCH * HEADS, HEAD_DIM], pl.BF16]],
):
    """Return the attention output of each request, and the tokens it chose."""
    scores = pl.create_tensor([BATCH, SEQ], dtype=pl.FP32)
    scores = index_scores(index_q, index_k, index_w, scores)
    chosen = choose(scores, chosen)
    near_k = pl.create_tensor([BATCH * TOP, HEAD_DIM], dtype=pl.BF16)
    near_v = pl.create_tensor([BATCH * TOP, HEAD_DIM], dtype=pl.BF16)
    for b in pl.spmd(BATCH, name_hint="gather_rows"):
        for i in pl.range(TOP):
            token = b * SEQ + pl.cast(pl.read(chosen, [b, i]), pl.INDEX)
            near_k[b * TOP + i : b * TOP + i + 1, :] = keys[token : token + 1, :]
            near_v[b * TOP + i : b * TOP + i + 1, :] = values[token : token + 1, :]
    for b in pl.spmd(BATCH, name_hint="attend"):
        q_rows = q[b * HEADS : (b + 1) * HEADS, :]
        k_rows = near_k[b * TOP : (b + 1) * TOP, :]
        logits = pl.mul(pl.matmul(q_rows, k_rows, b_trans=True, out_dtype=pl.FP32), SCALE)
        powers = pl.exp(pl.row_expand_sub(logits, pl.row_max(logits)))
        weights = pl.row_expand_div(powers, pl.row_sum(powers))
        v_rows = near_v[b * TOP : (b + 1) * TOP, :]
        mixed = pl.matmul(pl.cast(weights, target_type=pl.BF16), v_rows, out_dtype=pl.FP32)
        attended[b * HEADS : (b + 1) * HEADS, :] = mixed
    return chosen, attended


def inputs(rng):
    """Return a cache, the indexer's keys, and the weights of its heads."""
    bf16 = pl.BF16.numpy

    def normal(rows, columns):
        return rng.standard_normal((rows, columns), np.float32).astype(bf16)

    # Small integers make the scores exact, so that only one order is right.
    index_q = rng.integers(-2, 3, (BATCH * INDEX_HEADS, INDEX_DIM)).astype(bf16)
    index_k = rng.integers(-2, 3, (BATCH * SEQ, INDEX_DIM)).astype(bf16)
    return {
        "q": normal(BATCH * HEADS, HEAD_DIM),
        "keys": normal(BATCH * SEQ, HEAD_DIM),
        "values": normal(BATCH * SEQ, HEAD_DIM),
        "index_q": index_q,
        "index_k": index_k,
        "index_w": rng.integers(1, 512, (BATCH, INDEX_HEADS)).astype(np.float32) / 256,
        "chosen": np.zeros((BATCH, TOP), np.int32),
        "attended": np.zeros((BATCH * HEADS, HEAD_DIM), bf16),
    }


def reference(q, keys, values, index_q, index_k, index_w, chosen, attended):
    """Return the chosen tokens exactly, and the attention output in float64."""

    def wide(x, rows):
        return x.astype(np.float64).reshape(BATCH, rows, -1)

    products = np.einsum("bhd,bsd->bhs", wide(index_q, INDEX_HEADS), wide(index_k, SEQ))
    scores = np.einsum("bh,bhs->bs", index_w.astype(np.float64), np.maximum(products, 0))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
    k, v = (np.take_along_axis(wide(x, SEQ), order[..., None], axis=1) for x in (keys, values))
    logits = np.einsum("bhd,bsd->bhs", wide(q, HEADS), k) * SCALE
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    mixed = np.einsum("bhs,bsd->bhd", powers / powers.sum(axis=-1, keepdims=True), v)
    return {"chosen": order, "attended": mixed.reshape(-1, HEAD_DIM)}


# As in decoding, two roundings to BF16: the weights and the results.
CASES = [Case("sparse_decode", sparse_decode, inputs, reference, 0.01)]
