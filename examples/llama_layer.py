"""A decoder layer as in Llama, prefill: 256 tokens, width 512, 4 heads of 128, inner size 1024.

    h = x + attention(rope(norm(x) wq), rope(norm(x) wk), norm(x) wv) wo
    out = h + (silu(norm(h) w_gate) * (norm(h) w_up)) w_down

The residual stream x, h, out is FP32. Weights and data passed between kernels are BF16, sums FP32.
norm is RMSNorm; rope rotates each pair of elements (i, i + 64) of a head by an angle that grows
with the position; attention is causal.

Everything is done in blocks of 64 tokens. Blocks interact only where attention reads the keys and
values of all earlier ones: only there do tasks of different blocks wait for one another. The keys
of all blocks come first, since a task that writes keys would have to wait for those that read them.
Cube and vector cores are separate on this chip and exchange data through global memory, so a kernel
runs on one or the other: `project`, `widen`, `narrow`, `scores` and `values` on cube cores.

A head is 128 columns of a [tokens, 512] tensor. Kernels load it from there, at a column that is
passed as a number: no tensor is split by heads in memory, and all views are dense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypto.language as pl
from pypto.runtime import Case

if TYPE_CHECKING:
    import numpy as np

TOKENS, WIDTH, HEADS, INNER = 256, 512, 4, 1024
HEAD = WIDTH // HEADS
HALF = HEAD // 2
BLOCK = 64  # tokens per launch
# Left and Right hold 64 KiB each: a [64, 128] is 16 KiB, w [128, 128] is 32 KiB in BF16.
TILE_K, TILE_N = 128, 128
TILE = 16  # tokens per vector tile: 32 KiB of 512 FP32 elements per token
EPS = 1e-5
SCALE = HEAD**-0.5
LOWEST = -1e30  # below every score; finite, so that differences are not NaN


@pl.program
class LlamaLayer:
    """One decoder layer on a sequence."""

    @pl.function(type=pl.FunctionType.InCore)
    def norm(
        self,
        x: pl.Tensor[[BLOCK, WIDTH], pl.FP32],
        weight: pl.Tensor[[1, WIDTH], pl.FP32],
        out: pl.Out[pl.Tensor[[BLOCK, WIDTH], pl.BF16]],
    ):
        """Divide each token by its root mean square."""
        scratch = pl.create_tile([TILE, WIDTH], pl.FP32)
        weights = weight[:]
        for r in pl.range(0, BLOCK, TILE):
            tile = x[r : r + TILE]
            mean = pl.row_sum(tile * tile, scratch) * (1.0 / WIDTH)
            scaled = pl.row_expand_mul(tile, pl.recip(pl.sqrt(mean + EPS)))
            out[r : r + TILE] = pl.cast(pl.col_expand_mul(scaled, weights), pl.BF16)

    @pl.function(type=pl.FunctionType.InCore)
    def project(
        self,
        a: pl.Tensor[[BLOCK, WIDTH], pl.BF16],
        w: pl.Tensor[[WIDTH, WIDTH], pl.BF16],
        out: pl.Out[pl.Tensor[[BLOCK, WIDTH], pl.BF16]],
    ):
        """Multiply tokens by a square weight matrix."""
        for n in pl.range(0, WIDTH, TILE_N):
            mat_a = pl.load(a, [0, 0], [BLOCK, TILE_K], target_memory=pl.MemorySpace.Mat)
            mat_w = pl.load(w, [0, n], [TILE_K, TILE_N], target_memory=pl.MemorySpace.Mat)
            left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
            right = pl.move(mat_w, target_memory=pl.MemorySpace.Right)
            acc = pl.matmul(left, right)
            for k in pl.range(TILE_K, WIDTH, TILE_K):
                mat_a = pl.load(a, [0, k], [BLOCK, TILE_K], target_memory=pl.MemorySpace.Mat)
                mat_w = pl.load(w, [k, n], [TILE_K, TILE_N], target_memory=pl.MemorySpace.Mat)
                left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
                right = pl.move(mat_w, target_memory=pl.MemorySpace.Right)
                acc = pl.matmul_acc(acc, left, right)
            out = pl.store(acc, [0, n], [BLOCK, TILE_N], out)

    @pl.function(type=pl.FunctionType.InCore)
    def widen(
        self,
        a: pl.Tensor[[BLOCK, WIDTH], pl.BF16],
        w: pl.Tensor[[WIDTH, INNER], pl.BF16],
        out: pl.Out[pl.Tensor[[BLOCK, INNER], pl.FP32]],
    ):
        """Multiply tokens by the gate or up weights."""
        for n in pl.range(0, INNER, TILE_N):
            mat_a = pl.load(a, [0, 0], [BLOCK, TILE_K], target_memory=pl.MemorySpace.Mat)
            mat_w = pl.load(w, [0, n], [TILE_K, TILE_N], target_memory=pl.MemorySpace.Mat)
            left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
            right = pl.move(mat_w, target_memory=pl.MemorySpace.Right)
            acc = pl.matmul(left, right)
            for k in pl.range(TILE_K, WIDTH, TILE_K):
                mat_a = pl.load(a, [0, k], [BLOCK, TILE_K], target_memory=pl.MemorySpace.Mat)
                mat_w = pl.load(w, [k, n], [TILE_K, TILE_N], target_memory=pl.MemorySpace.Mat)
                left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
                right = pl.move(mat_w, target_memory=pl.MemorySpace.Right)
                acc = pl.matmul_acc(acc, left, right)
            out = pl.store(acc, [0, n], [BLOCK, TILE_N], out)

    @pl.function(type=pl.FunctionType.InCore)
    def narrow(
        self,
        a: pl.Tensor[[BLOCK, INNER], pl.BF16],
        w: pl.Tensor[[INNER, WIDTH], pl.BF16],
        out: pl.Out[pl.Tensor[[BLOCK, WIDTH], pl.BF16]],
    ):
        """Multiply the gated activations by the down weights."""
        for n in pl.range(0, WIDTH, TILE_N):
            mat_a = pl.load(a, [0, 0], [BLOCK, TILE_K], target_memory=pl.MemorySpace.Mat)
            mat_w = pl.load(w, [0, n], [TILE_K, TILE_N], target_memory=pl.MemorySpace.Mat)
            left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
            right = pl.move(mat_w, target_memory=pl.MemorySpace.Right)
            acc = pl.matmul(left, right)
            for k in pl.range(TILE_K, INNER, TILE_K):
                mat_a = pl.load(a, [0, k], [BLOCK, TILE_K], target_memory=pl.MemorySpace.Mat)
                mat_w = pl.load(w, [k, n], [TILE_K, TILE_N], target_memory=pl.MemorySpace.Mat)
                left = pl.move(mat_a, target_memory=pl.MemorySpace.Left)
                right = pl.move(mat_w, target_memory=pl.MemorySpace.Right)
                acc = pl.matmul_acc(acc, left, right)
            out = pl.store(acc, [0, n], [BLOCK, TILE_N], out)

    @pl.function(type=pl.FunctionType.InCore)
    def rope(
        self,
        x: pl.Tensor[[BLOCK, WIDTH], pl.BF16],
        cos: pl.Tensor[[BLOCK, HALF], pl.FP32],
        sin: pl.Tensor[[BLOCK, HALF], pl.FP32],
        out: pl.Out[pl.Tensor[[BLOCK, WIDTH], pl.BF16]],
    ):
        """Rotate the pairs of each head by the angle of their token."""
        for r in pl.range(0, BLOCK, TILE):
            c, s = cos[r : r + TILE], sin[r : r + TILE]
            for head in pl.range(0, WIDTH, HEAD):
                first = pl.cast(pl.load(x, [r, head], [TILE, HALF]), pl.FP32)
                second = pl.cast(pl.load(x, [r, head + HALF], [TILE, HALF]), pl.FP32)
                turned = pl.cast(first * c - second * s, pl.BF16)
                out = pl.store(turned, [r, head], [TILE, HALF], out)
                turned = pl.cast(second * c + first * s, pl.BF16)
                out = pl.store(turned, [r, head + HALF], [TILE, HALF], out)

    @pl.function(type=pl.FunctionType.InCore)
    def scores(
        self,
        column: pl.INT64,
        keys: pl.INT64,
        q: pl.Tensor[[BLOCK, WIDTH], pl.BF16],
        k: pl.Tensor[[TOKENS, WIDTH], pl.BF16],
        s: pl.Out[pl.Tensor[[BLOCK, TOKENS], pl.FP32]],
    ):
        """Multiply the queries of a head by its first ``keys`` keys, transposed."""
        mat_q = pl.load(q, [0, column], [BLOCK, HEAD], target_memory=pl.MemorySpace.Mat)
        left = pl.move(mat_q, target_memory=pl.MemorySpace.Left)
        for n in pl.range(0, keys, BLOCK):
            mat_k = pl.load(k, [n, column], [BLOCK, HEAD], target_memory=pl.MemorySpace.Mat)
            right = pl.move(mat_k, target_memory=pl.MemorySpace.Right, transpose=True)
            s = pl.store(pl.matmul(left, right), [0, n], [BLOCK, BLOCK], s)

    @pl.function(type=pl.FunctionType.InCore)
    def softmax(
        self,
        keys: pl.INT64,
        s: pl.Tensor[[BLOCK, TOKENS], pl.FP32],
        mask: pl.Tensor[[BLOCK, BLOCK], pl.FP32],
        p: pl.Out[pl.Tensor[[BLOCK, TOKENS], pl.BF16]],
    ):
        """Turn scores into weights; the last 64 keys are the queries' own and are masked."""
        scratch = pl.create_tile([TILE, BLOCK], pl.FP32)
        for r in pl.range(0, BLOCK, TILE):
            own = pl.load(s, [r, keys - BLOCK], [TILE, BLOCK]) * SCALE + mask[r : r + TILE]
            largest = pl.row_max(own, scratch)
            for n in pl.range(0, keys - BLOCK, BLOCK):
                tile = pl.load(s, [r, n], [TILE, BLOCK]) * SCALE
                largest = pl.maximum(largest, pl.row_max(tile, scratch))
            own_powers = pl.exp(pl.row_expand_sub(own, largest))
            total = pl.row_sum(own_powers, scratch)
            for n in pl.range(0, keys - BLOCK, BLOCK):
                tile = pl.load(s, [r, n], [TILE, BLOCK]) * SCALE
                powers = pl.exp(pl.row_expand_sub(tile, largest))
                total = pl.add(total, pl.row_sum(powers, scratch))
            for n in pl.range(0, keys - BLOCK, BLOCK):
                tile = pl.load(s, [r, n], [TILE, BLOCK]) * SCALE
                powers = pl.exp(pl.row_expand_sub(tile, largest))
                weights = pl.cast(pl.row_expand_div(powers, total), pl.BF16)
                p = pl.store(weights, [r, n], [TILE, BLOCK], p)
            weights = pl.cast(pl.row_expand_div(own_powers, total), pl.BF16)
            p = pl.store(weights, [r, keys - BLOCK], [TILE, BLOCK], p)

    @pl.function(type=pl.FunctionType.InCore)
    def values(
        self,
        keys: pl.INT64,
        p: pl.Tensor[[HEADS * BLOCK, TOKENS], pl.BF16],
        v: pl.Tensor[[TOKENS, WIDTH], pl.BF16],
        out: pl.Out[pl.Tensor[[BLOCK, WIDTH], pl.BF16]],
    ):
        """Multiply the weights of each head by its values: 128 columns of the result."""
        for head in pl.range(HEADS):
            row, column = head * BLOCK, head * HEAD
            mat_p = pl.load(p, [row, 0], [BLOCK, BLOCK], target_memory=pl.MemorySpace.Mat)
            mat_v = pl.load(v, [0, column], [BLOCK, HEAD], target_memory=pl.MemorySpace.Mat)
            left = pl.move(mat_p, target_memory=pl.MemorySpace.Left)
            right = pl.move(mat_v, target_memory=pl.MemorySpace.Right)
            acc = pl.matmul(left, right)
            for n in pl.range(BLOCK, keys, BLOCK):
                mat_p = pl.load(p, [row, n], [BLOCK, BLOCK], target_memory=pl.MemorySpace.Mat)
                mat_v = pl.load(v, [n, column], [BLOCK, HEAD], target_memory=pl.MemorySpace.Mat)
                left = pl.move(mat_p, target_memory=pl.MemorySpace.Left)
                right = pl.move(mat_v, target_memory=pl.MemorySpace.Right)
                acc = pl.matmul_acc(acc, left, right)
            out = pl.store(acc, [0, column], [BLOCK, HEAD], out)

    @pl.function(type=pl.FunctionType.InCore)
    def activate(
        self,
        gate: pl.Tensor[[BLOCK, INNER], pl.FP32],
        up: pl.Tensor[[BLOCK, INNER], pl.FP32],
        out: pl.Out[pl.Tensor[[BLOCK, INNER], pl.BF16]],
    ):
        """Apply the gate: silu(gate) * up."""
        for r in pl.range(0, BLOCK, TILE // 2):
            g = gate[r : r + TILE // 2]
            open_part = g / (pl.exp(-g) + 1.0)
            out[r : r + TILE // 2] = pl.cast(open_part * up[r : r + TILE // 2], pl.BF16)

    @pl.function(type=pl.FunctionType.InCore)
    def add(
        self,
        x: pl.Tensor[[BLOCK, WIDTH], pl.FP32],
        y: pl.Tensor[[BLOCK, WIDTH], pl.BF16],
        out: pl.Out[pl.Tensor[[BLOCK, WIDTH], pl.FP32]],
    ):
        """Add the output of attention or MLP to the stream."""
        for r in pl.range(0, BLOCK, TILE):
            out[r : r + TILE] = x[r : r + TILE] + pl.cast(y[r : r + TILE], pl.FP32)

    @pl.function(type=pl.FunctionType.Orchestration)
    def layer(
        self,
        x: pl.Tensor[[TOKENS, WIDTH], pl.FP32],
        norm_1: pl.Tensor[[1, WIDTH], pl.FP32],
        wq: pl.Tensor[[WIDTH, WIDTH], pl.BF16],
        wk: pl.Tensor[[WIDTH, WIDTH], pl.BF16],
        wv: pl.Tensor[[WIDTH, WIDTH], pl.BF16],
        wo: pl.Tensor[[WIDTH, WIDTH], pl.BF16],
        norm_2: pl.Tensor[[1, WIDTH], pl.FP32],
        w_gate: pl.Tensor[[WIDTH, INNER], pl.BF16],
        w_up: pl.Tensor[[WIDTH, INNER], pl.BF16],
        w_down: pl.Tensor[[INNER, WIDTH], pl.BF16],
        cos: pl.Tensor[[TOKENS, HALF], pl.FP32],
        sin: pl.Tensor[[TOKENS, HALF], pl.FP32],
        mask: pl.Tensor[[BLOCK, BLOCK], pl.FP32],
        out: pl.Out[pl.Tensor[[TOKENS, WIDTH], pl.FP32]],
    ) -> pl.Tensor[[TOKENS, WIDTH], pl.FP32]:
        """Launch the kernels block by block, first for the keys, then for everything else."""
        q = pl.create_tensor([TOKENS, WIDTH], pl.BF16)
        k = pl.create_tensor([TOKENS, WIDTH], pl.BF16)
        v = pl.create_tensor([TOKENS, WIDTH], pl.BF16)
        for t in pl.range(0, TOKENS, BLOCK):
            rows_cos, rows_sin = cos[t : t + BLOCK], sin[t : t + BLOCK]
            normed = pl.create_tensor([BLOCK, WIDTH], pl.BF16)
            plain_q = pl.create_tensor([BLOCK, WIDTH], pl.BF16)
            plain_k = pl.create_tensor([BLOCK, WIDTH], pl.BF16)
            self.norm(x[t : t + BLOCK], norm_1, normed)
            self.project(normed, wq, plain_q)
            self.project(normed, wk, plain_k)
            self.project(normed, wv, v[t : t + BLOCK])
            self.rope(plain_q, rows_cos, rows_sin, q[t : t + BLOCK])
            self.rope(plain_k, rows_cos, rows_sin, k[t : t + BLOCK])

        for t in pl.range(0, TOKENS, BLOCK):
            keys = t + BLOCK  # that the tokens of this block attend to
            p = pl.create_tensor([HEADS * BLOCK, TOKENS], pl.BF16)
            for head in pl.range(HEADS):
                s = pl.create_tensor([BLOCK, TOKENS], pl.FP32)
                self.scores(head * HEAD, keys, q[t : t + BLOCK], k, s)
                self.softmax(keys, s, mask, p[head * BLOCK : head * BLOCK + BLOCK])
            attended = pl.create_tensor([BLOCK, WIDTH], pl.BF16)
            attention = pl.create_tensor([BLOCK, WIDTH], pl.BF16)
            h = pl.create_tensor([BLOCK, WIDTH], pl.FP32)
            self.values(keys, p, v, attended)
            self.project(attended, wo, attention)
            self.add(x[t : t + BLOCK], attention, h)

            normed = pl.create_tensor([BLOCK, WIDTH], pl.BF16)
            gate = pl.create_tensor([BLOCK, INNER], pl.FP32)
            up = pl.create_tensor([BLOCK, INNER], pl.FP32)
            active = pl.create_tensor([BLOCK, INNER], pl.BF16)
            perceptron = pl.create_tensor([BLOCK, WIDTH], pl.BF16)
            self.norm(h, norm_2, normed)
            self.widen(normed, w_gate, gate)
            self.widen(normed, w_up, up)
            self.activate(gate, up, active)
            self.narrow(active, w_down, perceptron)
            self.add(h, perceptron, out[t : t + BLOCK])
        return out


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments: x uniform in [-2, 2), weights so that each part makes about 0.2."""
    import numpy as np

    def random(shape: tuple[int, int], limit: float) -> np.ndarray[Any, Any]:
        return (rng.random(shape, np.float32) * 2 - 1) * np.float32(limit)

    def weights(rows: int, columns: int, gain: float) -> np.ndarray[Any, Any]:
        return random((rows, columns), gain * (3 / rows) ** 0.5).astype(pl.BF16.numpy)

    angles = np.arange(TOKENS)[:, None] * 10000.0 ** (-np.arange(HALF) / HALF)
    place = np.arange(BLOCK)
    return {
        "x": random((TOKENS, WIDTH), 2),
        "norm_1": 1 + random((1, WIDTH), 0.5),
        "wq": weights(WIDTH, WIDTH, 1),
        "wk": weights(WIDTH, WIDTH, 1),
        "wv": weights(WIDTH, WIDTH, 1),
        "wo": weights(WIDTH, WIDTH, 0.2),
        "norm_2": 1 + random((1, WIDTH), 0.5),
        "w_gate": weights(WIDTH, INNER, 1),
        "w_up": weights(WIDTH, INNER, 1),
        "w_down": weights(INNER, WIDTH, 0.2),
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "mask": np.where(place <= place[:, None], 0, LOWEST).astype(np.float32),
        "out": np.zeros((TOKENS, WIDTH), np.float32),
    }


def reference(precision: Any = "float64", **arguments: Any) -> dict[str, Any]:
    """Return the result in ``precision``, without intermediate rounding."""
    import numpy as np

    wide = {name: value.astype(precision) for name, value in arguments.items()}
    cos, sin = wide["cos"][:, None], wide["sin"][:, None]

    def norm(x: np.ndarray[Any, Any], weight: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS) * weight

    def rope(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        first, second = x[..., :HALF], x[..., HALF:]
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)

    x = wide["x"]
    normed = norm(x, wide["norm_1"])
    q, k, v = ((normed @ wide[w]).reshape(TOKENS, HEADS, HEAD) for w in ("wq", "wk", "wv"))
    s = np.einsum("qhd,khd->hqk", rope(q), rope(k)) * SCALE
    s += np.triu(np.full((TOKENS, TOKENS), LOWEST, precision), 1)
    powers = np.exp(s - s.max(axis=-1, keepdims=True))
    p = powers / powers.sum(axis=-1, keepdims=True)
    attended = np.einsum("hqk,khd->qhd", p, v).reshape(TOKENS, WIDTH)
    h = x + attended @ wide["wo"]
    normed = norm(h, wide["norm_2"])
    gate, up = normed @ wide["w_gate"], normed @ wide["w_up"]
    return {"out": h + (gate / (1 + np.exp(-gate)) * up) @ wide["w_down"]}


# Rounding to BF16 multiplies a number by 1 + d with |d| <= 2**-8. Such errors are independent of
# one another with mean zero, and their standard deviation is at most r = 2**-8 / sqrt(3). A sum of
# many such numbers times weights has the same relative deviation, with respect to its typical
# magnitude.
#
# Attention: q has three errors (norm, product, rope) and so has k. A score, of magnitude 1.1, has
# an error of sqrt(6) * 1.1 r = 2.7 r, the relative error of its exponential. Together with those of
# norm, v, p, the weighted values and the product by wo that is sqrt(2.7**2 + 5) r = 3.5 r of a part
# that is about 0.2, and less where it is a mean of many values: 1.6e-3. (The first token has one
# score, whose weight is 1: 2 r of 0.2.)
# MLP: norm affects both factors; with their product and the one by w_down it is 2 r of a part
# that is about 0.13: 6e-4. The stream is FP32, and the other roundings are below 1e-5.
#
# Together this is a deviation of at most 1.7e-3, for the first few tokens, and a third of that for
# most others. None of 131,072 results is off by 5.7 deviations, 9.7e-3.
CASES = [Case("llama_layer", LlamaLayer, inputs, reference, 9.7e-3)]
