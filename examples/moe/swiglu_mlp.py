"""The MLP of a decoder layer: gate and up in one region, then down and the residual."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

BATCH, HIDDEN, INNER = 16, 5120, 17408
TILE_N, TILE_K = 128, 256


@pl.jit.inline
def silu(x: pl.Tensor[[BATCH, TILE_N], pl.FP32]):
    """Return x * sigmoid(x)."""
    gate = pl.recip(pl.add(pl.exp(pl.neg(x)), 1.0))
    return pl.mul(x, gate)


@pl.jit
def swiglu_mlp(
    x: pl.Tensor[[BATCH, HIDDEN], pl.BF16],
    w_gate: pl.Tensor[[HIDDEN, INNER], pl.BF16],
    w_up: pl.Tensor[[HIDDEN, INNER], pl.BF16],
    w_down: pl.Tensor[[INNER, HIDDEN], pl.BF16],
    residual: pl.Tensor[[BATCH, HIDDEN], pl.FP32],
    y: pl.Out[pl.Tensor[[BATCH, HIDDEN], pl.FP32]],
):
    """Return residual + (silu(x w_gate) * (x w_up)) w_down."""
    inner = pl.create_tensor([BATCH, INNER], dtype=pl.BF16)
    for block in pl.spmd(INNER // TILE_N, name_hint="gate_up"):
        n = block * TILE_N
        x_part = x[:, 0:TILE_K]
        gate = pl.matmul(x_part, w_gate[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        up = pl.matmul(x_part, w_up[0:TILE_K, n : n + TILE_N], out_dtype=pl.FP32)
        for k in pl.pipeline(TILE_K, HIDDEN, TILE_K, stage=2):
            x_part = x[:, k : k + TILE_K]
            gate = pl.matmul_acc(gate, x_part, w_gate[k : k + TILE_K, n : n + TILE_N])
            up = pl.matmul_acc(up, x_part, w_up[k : k + TILE_K, n : n + TILE_N])
        active = silu(gate)
        inner[:, n : n + TILE_N] = pl.cast(pl.mul(active, up), target_type=pl.BF16)
    for block in pl.spmd(HIDDEN // TILE_N, name_hint="down"):
        n = block * TILE_N
        acc = pl.create_tensor([BATCH, TILE_N], dtype=pl.FP32)
        for k in pl.pipeline(0, INNER, TILE_K, stage=2):
            part = inner[:, k : k + TILE_K]
            acc = pl.matmul_acc(acc, part, w_down[k : k + TILE_K, n : n + TILE_N], init_cond=k == 0)
        y[:, n : n + TILE_N] = pl.add(residual[:, n : n + TILE_N], acc)
    return y


def inputs(rng):
    """Return weights scaled so that each product is about 1."""
    bf16 = pl.BF16.numpy

    def weights(rows, columns):
        return (rng.standard_normal((rows, columns), np.float32) * rows**-0.5).astype(bf16)

    return {
        "x": rng.standard_normal((BATCH, HIDDEN), np.float32).astype(bf16),
        "w_gate": weights(HIDDEN, INNER),
        "w_up": weights(HIDDEN, INNER),
        "w_down": weights(INNER, HIDDEN),
        "residual": rng.standard_normal((BATCH, HIDDEN), np.float32),
        "y": np.zeros((BATCH, HIDDEN), np.float32),
    }


def reference(x, w_gate, w_up, w_down, residual, y):
    """Return the sum in float64."""
    exact = x.astype(np.float64)
    gate, up = exact @ w_gate.astype(np.float64), exact @ w_up.astype(np.float64)
    inner = gate / (1 + np.exp(-gate)) * up
    return {"y": residual + inner @ w_down.astype(np.float64)}


# The inner activations are rounded to BF16, a relative error of standard deviation 2**-9 / sqrt(3)
# at most, and so are the sums over them, of magnitude below 1. 5.7 deviations.
CASES = [Case("swiglu_mlp", swiglu_mlp, inputs, reference, 6.5e-3)]
