"""Attention of one new token per request over a paged cache; the batch size is set per call."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

MAX_BATCH, HEADS, KV_HEADS, HEAD_DIM = 16, 40, 8, 128
GROUP = HEADS // KV_HEADS  # query heads that share keys and values
Q_ROWS = 16  # rows of a matrix product; only the group's rows are valid
PAGE = 128  # tokens per page
MAX_PAGES = 8  # per request
POOL = 64  # pages shared by all requests
SCALE = HEAD_DIM**-0.5
LOWEST = -3.4028234663852886e38

BATCH = pl.dynamic("BATCH")
PAGES = pl.dynamic("PAGES")


@pl.jit
def paged_decode(
    q: pl.Tensor[[MAX_BATCH, HEADS * HEAD_DIM], pl.BF16],
    k_pool: pl.Tensor[[POOL * KV_HEADS * PAGE, HEAD_DIM], pl.BF16],
    v_pool: pl.Tensor[[POOL * KV_HEADS * PAGE, HEAD_DIM], pl.BF16],
    page_table: pl.Tensor[[MAX_BATCH, MAX_PAGES], pl.INT32],
    lengths: pl.Tensor[[MAX_BATCH], pl.INT32],
    attended: pl.Out[pl.Tensor[[MAX_BATCH, HEADS * HEAD_DIM], pl.BF16]],
):
    """Attend to the first ``lengths[b]`` tokens of request b."""
    q.bind_dynamic(0, BATCH)
    page_table.bind_dynamic(0, BATCH)
    lengths.bind_dynamic(0, BATCH)
    attended.bind_dynamic(0, BATCH)
    k_pool.bind_dynamic(0, PAGES)
    v_pool.bind_dynamic(0, PAGES)
    batch = pl.tensor.dim(q, 0)
    q_heads = pl.reshape(q, [batch * HEADS, HEAD_DIM])
    out_heads = pl.reshape(attended, [batch * HEADS, HEAD_DIM])
    for block in pl.spmd(batch * KV_HEADS, name_hint="paged_decode"):
        b = block // KV_HEADS
        kv = block % KV_HEADS
        first = b * HEADS + kv * GROUP
        length = pl.cast(pl.read(lengths, [b]), pl.INDEX)
        pages = (length + PAGE - 1) // PAGE
        q_part = pl.slice(q_heads, [Q_ROWS, HEAD_DIM], [first, 0], valid_shape=[GROUP, HEAD_DIM])
        q_rows = pl.fillpad(q_part, pad_value=pl.PadValue.zero)
        top = pl.full([Q_ROWS, 1], dtype=pl.FP32, value=LOWEST)
        total = pl.full([Q_ROWS, 1], dtype=pl.FP32, value=0.0)
        acc = pl.full([Q_ROWS, HEAD_DIM], dtype=pl.FP32, value=0.0)
        for p in pl.range(pages):
            page = pl.cast(pl.read(page_table, [b, p]), pl.INDEX)
            row = (page * KV_HEADS + kv) * PAGE
            left = pl.min(PAGE, length - p * PAGE)
            k_page = pl.slice(k_pool, [PAGE, HEAD_DIM], [row, 0])
            scores = pl.matmul(q_rows, k_page, b_trans=True, out_dtype=pl.FP32)
            scaled = pl.mul(scores, SCALE)
            known = pl.set_validshape(scaled, Q_ROWS, left)
            masked = pl.fillpad(known, pad_value=pl.PadValue.min)
            new_top = pl.maximum(top, pl.row_max(masked))
            fade = pl.exp(pl.sub(top, new_top))
            powers = pl.exp(pl.row_expand_sub(masked, new_top))
            total = pl.add(pl.mul(total, fade), pl.row_sum(powers))
            weights = pl.cast(powers, target_type=pl.BF16)
            v_page = pl.slice(v_pool, [PAGE, HEAD_DIM], [row, 0])
            mixed = pl.matmul(weights, v_page, out_dtype=pl.FP32)
            acc = pl.add(pl.row_expand_mul(acc, fade), mixed)
            top = new_top
        result = pl.cast(pl.row_expand_div(acc, total), target_type=pl.BF16)
        out_heads[first : first + GROUP, :] = result[0:GROUP, :]
    return attended


def inputs(rng, batch=MAX_BATCH - 1):
    """Return a pool with pages in random order, and lengths that cover the edge cases."""
    bf16 = pl.BF16.numpy
    pool = (POOL * KV_HEADS * PAGE, HEAD_DIM)
    pages = np.stack([rng.permutation(POOL)[:MAX_PAGES] for _ in range(batch)])
    lengths = rng.integers(1, MAX_PAGES * PAGE + 1, batch)
    lengths[:2] = 1, PAGE
    return {
        "q": rng.standard_normal((batch, HEADS * HEAD_DIM), np.float32).astype(bf16),
        "k_pool": rng.standard_normal(pool, np.float32).astype(bf16),
        "v_pool": rng.standard_normal(pool, np.float32).astype(bf16),
        "page_table": pages.astype(np.int32),
        "lengths": lengths.astype(np.int32),
        "attended": np.zeros((batch, HEADS * HEAD_DIM), bf16),
    }


def reference(q, k_pool, v_pool, page_table, lengths, attended):
    """Return the attention output in float64."""
    batch = len(lengths)
    heads = q.astype(np.float64).reshape(batch, KV_HEADS, GROUP, HEAD_DIM)
    keys, values = (pool.reshape(POOL, KV_HEADS, PAGE, HEAD_DIM) for pool in (k_pool, v_pool))
    result = np.empty_like(heads)
    for b, length in enumerate(lengths):
        pages = page_table[b]
        for kv in range(KV_HEADS):
            k = keys[pages, kv].reshape(-1, HEAD_DIM)[:length].astype(np.float64)
            v = values[pages, kv].reshape(-1, HEAD_DIM)[:length].astype(np.float64)
            scores = heads[b, kv] @ k.T * SCALE
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            result[b, kv] = powers @ v / powers.sum(axis=1, keepdims=True)
    return {"attended": result.reshape(batch, -1)}


# Weights are rounded to BF16: a result, a mean of values below 6, has an error of 2**-9 of the mean
# of their magnitudes, plus its own rounding of 2**-9.
CASES = [Case("paged_decode", paged_decode, inputs, reference, 0.01)]
