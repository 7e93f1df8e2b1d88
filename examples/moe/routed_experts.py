"""Routed experts: group tokens by expert, run each expert on its own tokens, sum up by token."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

TOKENS, HIDDEN, INNER = 32, 512, 256
EXPERTS, TOP = 8, 2
ROWS = 16  # tokens that an expert takes at a time
TILE_K = 128


@pl.jit.inline
def list_tokens(experts: pl.Tensor, counts: pl.Tensor, lists: pl.Tensor):
    """Write, for each expert, its number of tokens and token * TOP + choice of each."""
    for e in pl.spmd(EXPERTS, name_hint="list_tokens"):
        count = pl.cast(0, pl.INDEX)
        for t in pl.range(TOKENS):
            for c in pl.range(TOP):
                if pl.read(experts, [t, c]) == pl.cast(e, pl.INT32):
                    pl.write(lists, [e, count], pl.cast(t * TOP + c, pl.INT32))
                    count = count + 1
        pl.write(counts, [e], pl.cast(count, pl.INT32))
    return counts, lists


@pl.jit.inline
def gather_tokens(x: pl.Tensor, counts: pl.Tensor, lists: pl.Tensor, grouped: pl.Tensor):
    """Copy the rows of each expert's tokens, one after another."""
    for e in pl.spmd(EXPERTS, name_hint="gather_tokens"):
        count = pl.cast(pl.read(counts, [e]), pl.INDEX)
        for i in pl.range(count):
            token = pl.cast(pl.read(lists, [e, i]), pl.INDEX) // TOP
            row = e * TOKENS + i
            grouped[row : row + 1, :] = x[token : token + 1, :]
    return grouped


@pl.jit
def routed_experts(
    x: pl.Tensor[[TOKENS, HIDDEN], pl.BF16],
    experts: pl.Tensor[[TOKENS, TOP], pl.INT32],
    shares: pl.Tensor[[TOKENS, TOP], pl.FP32],
    w_gate: pl.Tensor[[EXPERTS, HIDDEN, INNER], pl.BF16],
    w_up: pl.Tensor[[EXPERTS, HIDDEN, INNER], pl.BF16],
    w_down: pl.Tensor[[EXPERTS, INNER, HIDDEN], pl.BF16],
    y: pl.Out[pl.Tensor[[TOKENS, HIDDEN], pl.FP32]],
):
    """Return, for each token, the sum of its experts' results weighted by their shares."""
    counts = pl.create_tensor([EXPERTS], dtype=pl.INT32)
    lists = pl.create_tensor([EXPERTS, TOKENS], dtype=pl.INT32)
    counts, lists = list_tokens(experts, counts, lists)
    grouped = pl.create_tensor([EXPERTS * TOKENS, HIDDEN], dtype=pl.BF16, init_value=0)
    grouped = gather_tokens(x, counts, lists, grouped)

    gates = pl.reshape(w_gate, [EXPERTS * HIDDEN, INNER])
    ups = pl.reshape(w_up, [EXPERTS * HIDDEN, INNER])
    downs = pl.reshape(w_down, [EXPERTS * INNER, HIDDEN])
    inner = pl.create_tensor([EXPERTS * TOKENS, INNER], dtype=pl.BF16)
    results = pl.create_tensor([TOKENS * TOP, HIDDEN], dtype=pl.FP32)
    gated = pl.create_tensor([EXPERTS * TOKENS, INNER], dtype=pl.FP32)
    upped = pl.create_tensor([EXPERTS * TOKENS, INNER], dtype=pl.FP32)
    for e in pl.spmd(EXPERTS, name_hint="gate_up"):
        count = pl.cast(pl.read(counts, [e]), pl.INDEX)
        for r in pl.range(0, count, ROWS):
            row = e * TOKENS + r
            gate = pl.create_tensor([ROWS, INNER], dtype=pl.FP32)
            up = pl.create_tensor([ROWS, INNER], dtype=pl.FP32)
            for k in pl.pipeline(0, HIDDEN, TILE_K, stage=2):
                part = grouped[row : row + ROWS, k : k + TILE_K]
                at = e * HIDDEN + k
                gate = pl.matmul_acc(gate, part, gates[at : at + TILE_K, :], init_cond=k == 0)
                up = pl.matmul_acc(up, part, ups[at : at + TILE_K, :], init_cond=k == 0)
            gated[row : row + ROWS, :] = gate
            upped[row : row + ROWS, :] = up
    for e in pl.spmd(EXPERTS, name_hint="activate"):
        count = pl.cast(pl.read(counts, [e]), pl.INDEX)
        for r in pl.range(0, count, ROWS):
            row = e * TOKENS + r
            gate = gated[row : row + ROWS, :]
            sigmoid = pl.recip(pl.add(pl.exp(pl.neg(gate)), 1.0))
            active = pl.mul(pl.mul(gate, sigmoid), upped[row : row + ROWS, :])
            inner[row : row + ROWS, :] = pl.cast(active, target_type=pl.BF16)
    for e in pl.spmd(EXPERTS, name_hint="down"):
        count = pl.cast(pl.read(counts, [e]), pl.INDEX)
        for r in pl.range(0, count, ROWS):
            row = e * TOKENS + r
            for n in pl.range(0, HIDDEN, TILE_K):
                w = downs[e * INNER : (e + 1) * INNER, n : n + TILE_K]
                part = pl.matmul(inner[row : row + ROWS, :], w, out_dtype=pl.FP32)
                for i in pl.range(pl.min(ROWS, count - r)):
                    place = pl.cast(pl.read(lists, [e, r + i]), pl.INDEX)
                    results[place : place + 1, n : n + TILE_K] = part[i : i + 1, :]
    for t in pl.spmd(TOKENS, name_hint="combine"):
        total = pl.full([1, HIDDEN], dtype=pl.FP32, value=0.0)
        for c in pl.unroll(TOP):
            share = pl.read(shares, [t, c])
            total = pl.add(total, pl.mul(results[t * TOP + c : t * TOP + c + 1, :], share))
        y[t : t + 1, :] = total
    return y


def inputs(rng):
    """Return tokens with distinct experts, and one expert without tokens."""
    bf16 = pl.BF16.numpy

    def weights(rows, columns):
        values = rng.standard_normal((EXPERTS, rows, columns), np.float32) * rows**-0.5
        return values.astype(bf16)

    experts = np.stack([rng.permutation(EXPERTS - 1)[:TOP] for _ in range(TOKENS)])
    shares = rng.random((TOKENS, TOP), np.float32) + 0.1
    return {
        "x": rng.standard_normal((TOKENS, HIDDEN), np.float32).astype(bf16),
        "experts": experts.astype(np.int32),
        "shares": shares / shares.sum(axis=1, keepdims=True),
        "w_gate": weights(HIDDEN, INNER),
        "w_up": weights(HIDDEN, INNER),
        "w_down": weights(INNER, HIDDEN),
        "y": np.zeros((TOKENS, HIDDEN), np.float32),
    }


def reference(x, experts, shares, w_gate, w_up, w_down, y):
    """Return the sums in float64."""
    exact = x.astype(np.float64)
    result = np.zeros(y.shape)
    for t, c in np.ndindex(experts.shape):
        gate, up, down = (w[experts[t, c]].astype(np.float64) for w in (w_gate, w_up, w_down))
        z = exact[t] @ gate
        result[t] += shares[t, c] * ((z / (1 + np.exp(-z)) * (exact[t] @ up)) @ down)
    return {"y": result}


# The inner activations are rounded to BF16, with standard deviation 2**-9 / sqrt(3) at most.
CASES = [Case("routed_experts", routed_experts, inputs, reference, 6.5e-3)]
