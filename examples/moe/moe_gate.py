"""The gate of a mixture of experts: scores of all, the best of each token, and their weights."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

TOKENS, HIDDEN, EXPERTS, TOP = 32, 2048, 256, 8
TILE, CHUNK = 16, 256
PAIRS = 32  # sorted pairs that are considered: as many as one instruction sorts


@pl.jit.inline
def gate_scores(x: pl.Tensor, w: pl.Tensor, scores: pl.Tensor):
    """Write the sigmoid of the products with each expert's vector."""
    for block in pl.spmd(TOKENS // TILE, name_hint="gate_scores"):
        row = block * TILE
        acc = pl.matmul(
            x[row : row + TILE, 0:CHUNK], w[:, 0:CHUNK], b_trans=True, out_dtype=pl.FP32
        )
        for k in pl.pipeline(CHUNK, HIDDEN, CHUNK, stage=2):
            acc = pl.matmul_acc(
                acc, x[row : row + TILE, k : k + CHUNK], w[:, k : k + CHUNK], b_trans=True
            )
        scores[row : row + TILE, :] = pl.recip(pl.add(pl.exp(pl.neg(acc)), 1.0))
    return scores


@pl.jit
def moe_gate(
    x: pl.Tensor[[TOKENS, HIDDEN], pl.FP32],
    w: pl.Tensor[[EXPERTS, HIDDEN], pl.FP32],
    bias: pl.Tensor[[1, EXPERTS], pl.FP32],
    scale: pl.Scalar[pl.FP32],
    experts: pl.Out[pl.Tensor[[TOKENS, TOP], pl.INT32]],
    weights: pl.Out[pl.Tensor[[TOKENS, TOP], pl.FP32]],
):
    """Choose by score plus bias; weigh by the scores alone, so that weights sum to ``scale``."""
    scores = pl.create_tensor([TOKENS, EXPERTS], dtype=pl.FP32)
    scores = gate_scores(x, w, scores)
    for t in pl.spmd(TOKENS, name_hint="choose_experts"):
        row = scores[t : t + 1, :]
        numbers = pl.arange(0, [1, EXPERTS], dtype=pl.UINT32)
        pairs = pl.sort32(pl.add(row, bias), numbers)
        pairs = pl.mrgsort(pairs, block_len=64)
        pairs = pl.mrgsort(pairs[:, 0:EXPERTS], pairs[:, EXPERTS : 2 * EXPERTS])
        best = pl.gather(
            pairs[:, 0 : 2 * PAIRS],
            mask_pattern=pl.tile.MaskPattern.P1010,
            output_dtype=pl.INT32,
        )
        chosen = pl.gather(row, dim=-1, index=best)
        known = pl.set_validshape(chosen, 1, TOP)
        total = pl.row_sum(known)
        shares = pl.mul(pl.row_expand_div(known, total), scale)
        weights[t : t + 1, :] = shares[:, 0:TOP]
        experts[t : t + 1, :] = best[:, 0:TOP]
    return experts, weights


def inputs(rng):
    """Return tokens, and vectors scaled so that products are about 1."""
    return {
        "x": rng.standard_normal((TOKENS, HIDDEN), np.float32),
        "w": rng.standard_normal((EXPERTS, HIDDEN), np.float32) * np.float32(HIDDEN**-0.5),
        "bias": rng.standard_normal((1, EXPERTS), np.float32) * np.float32(0.1),
        "scale": 2.5,
        "experts": np.zeros((TOKENS, TOP), np.int32),
        "weights": np.zeros((TOKENS, TOP), np.float32),
    }


def reference(x, w, bias, scale, experts, weights):
    """Return experts and weights in float64."""
    scores = 1 / (1 + np.exp(-(x.astype(np.float64) @ w.astype(np.float64).T)))
    order = np.argsort(-(scores + bias), axis=1, kind="stable")[:, :TOP]
    best = np.take_along_axis(scores, order, axis=1)
    return {"experts": order, "weights": scale * best / best.sum(axis=1, keepdims=True)}


# Sums of 2048 FP32 products that stay below 6. Two scores of one token differ by 1e-5 at least.
CASES = [Case("moe_gate", moe_gate, inputs, reference, 1e-5)]
