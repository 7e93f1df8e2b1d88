"""Cross-entropy loss of a batch: log-sum-exp over a long row, minus the logit of the target."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

TOKENS, VOCAB = 64, 8192
TILE, CHUNK = 16, 512
LOWEST = -3.4028234663852886e38


@pl.jit
def cross_entropy(
    logits: pl.Tensor[[TOKENS, VOCAB], pl.BF16],
    targets: pl.Tensor[[TOKENS], pl.INT32],
    losses: pl.Out[pl.Tensor[[TOKENS, 1], pl.FP32]],
    mean: pl.Out[pl.Tensor[[1, 1], pl.FP32]],
):
    """Return -log of the probability of each target, and the mean of these losses."""
    for block in pl.spmd(TOKENS // TILE, name_hint="cross_entropy"):
        row = block * TILE
        top = pl.full([TILE, 1], dtype=pl.FP32, value=LOWEST)
        total = pl.full([TILE, 1], dtype=pl.FP32, value=0.0)
        for c in pl.pipeline(0, VOCAB, CHUNK, stage=2):
            part = pl.cast(logits[row : row + TILE, c : c + CHUNK], target_type=pl.FP32)
            new_top = pl.maximum(top, pl.row_max(part))
            powers = pl.exp(pl.row_expand_sub(part, new_top))
            total = pl.add(pl.mul(total, pl.exp(pl.sub(top, new_top))), pl.row_sum(powers))
            top = new_top
        chosen = pl.create_tensor([TILE, 1], dtype=pl.FP32)
        for i in pl.range(TILE):
            target = pl.cast(pl.read(targets, [row + i]), pl.INDEX)
            logit = pl.cast(pl.read(logits, [row + i, target]), pl.FP32)
            pl.write(chosen, [i, 0], logit)
        losses[row : row + TILE, :] = pl.sub(pl.add(pl.log(total), top), chosen)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="mean"):
        all_losses = pl.reshape(losses[:, :], [1, TOKENS])
        mean[:] = pl.mul(pl.row_sum(all_losses), 1.0 / TOKENS)
    return losses, mean


def inputs(rng):
    """Return logits with a standard deviation of 3."""
    logits = rng.standard_normal((TOKENS, VOCAB), np.float32) * 3
    return {
        "logits": logits.astype(pl.BF16.numpy),
        "targets": rng.integers(0, VOCAB, TOKENS, np.int32),
        "losses": np.zeros((TOKENS, 1), np.float32),
        "mean": np.zeros((1, 1), np.float32),
    }


def reference(logits, targets, losses, mean):
    """Return the losses in float64."""
    wide = logits.astype(np.float64)
    top = wide.max(axis=1, keepdims=True)
    sums = np.log(np.exp(wide - top).sum(axis=1, keepdims=True)) + top
    result = sums - np.take_along_axis(wide, targets[:, None], axis=1)
    return {"losses": result, "mean": result.mean(keepdims=True)}


# The sum of 8192 exponentials: a relative error of 2**-20; a logarithm and two sums: 2**-21 of 16.
CASES = [Case("cross_entropy", cross_entropy, inputs, reference, 1e-5)]
