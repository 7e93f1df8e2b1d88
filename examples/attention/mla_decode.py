"""Multi-head latent attention with absorbed weights: all heads share one latent vector per token.

The cache holds, for each token, a latent vector and the rotated part of the key. The matrix
that would expand latents into keys multiplies the query instead, and the one that would expand
them into values multiplies the result, so that no key or value of a cached token is ever built.
"""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

BATCH, HEADS = 4, 16
NOPE, ROTARY, LATENT, VALUE = 128, 64, 512, 128
MAX_SEQ, S_TILE = 512, 128
CHUNK = 128
SCALE = (NOPE + ROTARY) ** -0.5
LOWEST = -3.4028234663852886e38


@pl.jit.inline
def absorb(q_nope: pl.Tensor, w_key: pl.Tensor, q_latent: pl.Tensor):
    """Multiply the query of each head by its key up-projection, for all tokens of a batch."""
    for h in pl.spmd(HEADS, name_hint="absorb"):
        q_head = q_nope[:, h * NOPE : (h + 1) * NOPE]
        for c in pl.range(0, LATENT, CHUNK):
            w = w_key[h * NOPE : (h + 1) * NOPE, c : c + CHUNK]
            part = pl.matmul(q_head, w, out_dtype=pl.FP32)
            q_latent[:, h * LATENT + c : h * LATENT + c + CHUNK] = part
    return q_latent


@pl.jit.inline
def attend(
    q_latent: pl.Tensor,
    q_rotary: pl.Tensor,
    latents: pl.Tensor,
    rotaries: pl.Tensor,
    lengths: pl.Tensor,
    mixed: pl.Tensor,
):
    """Attend to the latents of each request; one row per head."""
    queries = pl.reshape(q_latent, [BATCH * HEADS, LATENT])
    rotated = pl.reshape(q_rotary, [BATCH * HEADS, ROTARY])
    for b in pl.spmd(BATCH, name_hint="attend"):
        length = pl.cast(pl.read(lengths, [b]), pl.INDEX)
        first = b * HEADS
        q_c = pl.cast(queries[first : first + HEADS, :], target_type=pl.BF16)
        q_r = rotated[first : first + HEADS, :]
        top = pl.full([HEADS, 1], dtype=pl.FP32, value=LOWEST)
        total = pl.full([HEADS, 1], dtype=pl.FP32, value=0.0)
        acc = pl.full([HEADS, LATENT], dtype=pl.FP32, value=0.0)
        for s in pl.range(0, length, S_TILE):
            row = b * MAX_SEQ + s
            left = pl.min(S_TILE, length - s)
            c_tile = latents[row : row + S_TILE, :]
            r_tile = rotaries[row : row + S_TILE, :]
            scores = pl.matmul(q_c, c_tile, b_trans=True, out_dtype=pl.FP32)
            scores = pl.matmul_acc(scores, q_r, r_tile, b_trans=True)
            scaled = pl.mul(scores, SCALE)
            masked = pl.fillpad(pl.set_validshape(scaled, HEADS, left), pad_value=pl.PadValue.min)
            new_top = pl.maximum(top, pl.row_max(masked))
            fade = pl.exp(pl.sub(top, new_top))
            powers = pl.exp(pl.row_expand_sub(masked, new_top))
            total = pl.add(pl.mul(total, fade), pl.row_sum(powers))
            weights = pl.cast(powers, target_type=pl.BF16)
            acc = pl.add(
                pl.row_expand_mul(acc, fade), pl.matmul(weights, c_tile, out_dtype=pl.FP32)
            )
            top = new_top
        mixed[first : first + HEADS, :] = pl.cast(
            pl.row_expand_div(acc, total), target_type=pl.BF16
        )
    return mixed


@pl.jit
def mla_decode(
    q_nope: pl.Tensor[[BATCH, HEADS * NOPE], pl.BF16],
    q_rotary: pl.Tensor[[BATCH, HEADS * ROTARY], pl.BF16],
    w_key: pl.Tensor[[HEADS * NOPE, LATENT], pl.BF16],
    w_value: pl.Tensor[[HEADS * LATENT, VALUE], pl.BF16],
    latents: pl.Tensor[[BATCH * MAX_SEQ, LATENT], pl.BF16],
    rotaries: pl.Tensor[[BATCH * MAX_SEQ, ROTARY], pl.BF16],
    lengths: pl.Tensor[[BATCH], pl.INT32],
    attended: pl.Out[pl.Tensor[[BATCH, HEADS * VALUE], pl.BF16]],
):
    """Return the attention outputs of all heads, for one new token of each request."""
    q_latent = pl.create_tensor([BATCH, HEADS * LATENT], dtype=pl.FP32)
    q_latent = absorb(q_nope, w_key, q_latent)
    mixed = pl.create_tensor([BATCH * HEADS, LATENT], dtype=pl.BF16)
    mixed = attend(q_latent, q_rotary, latents, rotaries, lengths, mixed)
    by_request = pl.reshape(mixed, [BATCH, HEADS * LATENT])
    for h in pl.spmd(HEADS, name_hint="values"):
        w = w_value[h * LATENT : (h + 1) * LATENT, :]
        value = pl.matmul(by_request[:, h * LATENT : (h + 1) * LATENT], w, out_dtype=pl.FP32)
        attended[:, h * VALUE : (h + 1) * VALUE] = pl.cast(value, target_type=pl.BF16)
    return attended


def inputs(rng):
    """Return weights scaled so that scores are about 1, and a partly filled cache."""
    bf16 = pl.BF16.numpy

    def normal(rows, columns, size=1.0):
        return (rng.standard_normal((rows, columns), np.float32) * np.float32(size)).astype(bf16)

    lengths = rng.integers(1, MAX_SEQ + 1, BATCH, np.int32)
    lengths[0] = MAX_SEQ
    return {
        "q_nope": normal(BATCH, HEADS * NOPE),
        "q_rotary": normal(BATCH, HEADS * ROTARY),
        "w_key": normal(HEADS * NOPE, LATENT, LATENT**-0.5),
        "w_value": normal(HEADS * LATENT, VALUE, LATENT**-0.5),
        "latents": normal(BATCH * MAX_SEQ, LATENT),
        "rotaries": normal(BATCH * MAX_SEQ, ROTARY),
        "lengths": lengths,
        "attended": np.zeros((BATCH, HEADS * VALUE), bf16),
    }


def reference(q_nope, q_rotary, w_key, w_value, latents, rotaries, lengths, attended):
    """Return the outputs in float64, from keys and values expanded from the latents."""

    def wide(x, *shape):
        return x.astype(np.float64).reshape(shape)

    q_n, q_r = wide(q_nope, BATCH, HEADS, NOPE), wide(q_rotary, BATCH, HEADS, ROTARY)
    to_key, to_value = wide(w_key, HEADS, NOPE, LATENT), wide(w_value, HEADS, LATENT, VALUE)
    c, r = wide(latents, BATCH, MAX_SEQ, LATENT), wide(rotaries, BATCH, MAX_SEQ, ROTARY)
    result = np.empty((BATCH, HEADS, VALUE))
    for b, n in enumerate(lengths):
        keys = np.einsum("sc,hnc->hsn", c[b, :n], to_key)
        scores = (np.einsum("hn,hsn->hs", q_n[b], keys) + q_r[b] @ r[b, :n].T) * SCALE
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = powers / powers.sum(axis=1, keepdims=True)
        result[b] = np.einsum("hs,sc,hcv->hv", weights, c[b, :n], to_value, optimize=True)
    return {"attended": result.reshape(BATCH, -1)}


# The absorbed query, weights, mixed latents and results are rounded to BF16. An error of 2**-9
# in each of 512 elements of a query changes a score by 2**-9 of its typical magnitude, 1.
CASES = [Case("mla_decode", mla_decode, inputs, reference, 0.02)]
