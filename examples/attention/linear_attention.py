"""Linear attention: a recurrent state instead of a cache, updated chunk by chunk.

For each head, a 64 x 64 matrix summarises the past. A chunk of tokens attends to itself
by a masked product, and to the past by a product with the state; then it adds its own keys and
values to the state, which decays by a per-head factor with each token.
"""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

SEQ, HEADS, DIM = 512, 4, 64
CHUNK = 64


@pl.jit
def linear_attention(
    q: pl.Tensor[[SEQ, HEADS * DIM], pl.FP32],
    k: pl.Tensor[[SEQ, HEADS * DIM], pl.FP32],
    v: pl.Tensor[[SEQ, HEADS * DIM], pl.FP32],
    decay_mask: pl.Tensor[[HEADS * CHUNK, CHUNK], pl.FP32],
    decay_q: pl.Tensor[[HEADS * CHUNK, 1], pl.FP32],
    decay_k: pl.Tensor[[HEADS * CHUNK, 1], pl.FP32],
    decay_chunk: pl.Tensor[[HEADS, 1], pl.FP32],
    state: pl.InOut[pl.Tensor[[HEADS * DIM, DIM], pl.FP32]],
    y: pl.Out[pl.Tensor[[SEQ, HEADS * DIM], pl.FP32]],
):
    """Attend to all preceding tokens, and return the state after the last one."""
    for h in pl.spmd(HEADS, name_hint="linear_attention"):
        column = h * DIM
        first = h * CHUNK
        mask = decay_mask[first : first + CHUNK, :]
        fade_q = decay_q[first : first + CHUNK, :]
        fade_k = decay_k[first : first + CHUNK, :]
        fade = pl.read(decay_chunk, [h, 0])
        past = state[column : column + DIM, :]
        for t in pl.range(0, SEQ, CHUNK):
            q_tile = q[t : t + CHUNK, column : column + DIM]
            k_tile = k[t : t + CHUNK, column : column + DIM]
            v_tile = v[t : t + CHUNK, column : column + DIM]
            scores = pl.matmul(q_tile, k_tile, b_trans=True, out_dtype=pl.FP32)
            inside = pl.matmul(pl.mul(scores, mask), v_tile, out_dtype=pl.FP32)
            before = pl.matmul(pl.row_expand_mul(q_tile, fade_q), past, out_dtype=pl.FP32)
            y[t : t + CHUNK, column : column + DIM] = pl.add(inside, before)
            faded = pl.row_expand_mul(k_tile, fade_k)
            added = pl.matmul(faded, v_tile, a_trans=True, out_dtype=pl.FP32)
            past = pl.add(pl.mul(past, fade), added)
        state[column : column + DIM, :] = past
    return state, y


def inputs(rng):
    """Return queries and keys of length about 1, values, and decay factors by token distance."""
    decay = 1 - 2.0 ** -(5 + np.arange(HEADS))
    place = np.arange(CHUNK)
    distance = place[:, None] - place
    mask = np.where(distance >= 0, decay[:, None, None] ** np.maximum(distance, 0), 0)
    rows = (SEQ, HEADS * DIM)

    def column(powers):
        return (decay[:, None] ** powers).reshape(-1, 1).astype(np.float32)

    return {
        "q": rng.standard_normal(rows, np.float32) * np.float32(DIM**-0.5),
        "k": rng.standard_normal(rows, np.float32) * np.float32(DIM**-0.5),
        "v": rng.standard_normal(rows, np.float32),
        "decay_mask": mask.reshape(-1, CHUNK).astype(np.float32),
        "decay_q": column(place + 1),
        "decay_k": column(CHUNK - 1 - place),
        "decay_chunk": column(np.array([CHUNK])),
        "state": rng.standard_normal((HEADS * DIM, DIM), np.float32),
        "y": np.zeros(rows, np.float32),
    }


def reference(q, k, v, decay_mask, decay_q, decay_k, decay_chunk, state, y):
    """Return outputs and state in float64, token by token."""
    decay = 1 - 2.0 ** -(5 + np.arange(HEADS))
    now = state.astype(np.float64).reshape(HEADS, DIM, DIM)
    queries, keys, values = (x.astype(np.float64).reshape(SEQ, HEADS, DIM) for x in (q, k, v))
    result = np.empty((SEQ, HEADS, DIM))
    for t in range(SEQ):
        now = now * decay[:, None, None] + keys[t][:, :, None] * values[t][:, None]
        result[t] = np.einsum("hk,hkv->hv", queries[t], now)
    return {"state": now.reshape(-1, DIM), "y": result.reshape(SEQ, -1)}


# FP32 products: each chunk adds an error of about 2**-22 of the state's magnitude, which is below
# 16, and there are eight chunks.
CASES = [Case("linear_attention", linear_attention, inputs, reference, 1e-4)]
