"""Flash attention, forward, one head: softmax(q k^T / sqrt(head)) v, sequence 1024 and head 128.

On this chip, cube and vector cores are separate and exchange data through global memory only. So a
step of the online softmax takes four kernels: the scores of a block of queries against a block of
keys (cube), their softmax with the running maximum and sum (vector), its product with the values
(cube), and adding that to the accumulated result, rescaled if the maximum grew (vector). Query
blocks run in parallel, one per workspace; later blocks reuse the workspaces in turn, so that data
passed between kernels stays in the cache however long the sequence is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypto.language as pl
from pypto.runtime import Case

if TYPE_CHECKING:
    import numpy as np

SEQ, HEAD = 1024, 128
BLOCK_Q = 128  # queries per launch
BLOCK_K = 512  # keys per step of the online softmax
TILE_K = 64  # keys per matrix product: half of Right memory, which leaves room for the next ones
ROWS = 8192 // BLOCK_K  # rows per vector tile: 32 KiB of exponentials
WORKSPACES = 8  # query blocks in flight at once
SCALE = HEAD**-0.5
LOWEST = -1e30  # below every score; finite, so that differences are not NaN


@pl.program
class FlashAttention:
    """Attention of one head with an online softmax."""

    @pl.function(type=pl.FunctionType.InCore)
    def start(
        self,
        q: pl.Tensor[[BLOCK_Q, HEAD], pl.FP32],
        scaled: pl.Out[pl.Tensor[[BLOCK_Q, HEAD], pl.FP32]],
        largest: pl.Out[pl.Tensor[[BLOCK_Q, 1], pl.FP32]],
        total: pl.Out[pl.Tensor[[BLOCK_Q, 1], pl.FP32]],
        out: pl.Out[pl.Tensor[[BLOCK_Q, HEAD], pl.FP32]],
    ):
        """Scale a block of queries; initialise its running maximum, sum and result."""
        lowest = pl.full([BLOCK_Q, 1], pl.FP32, LOWEST)
        zero = pl.full([BLOCK_Q, 1], pl.FP32, 0.0)
        zeros = pl.full([BLOCK_Q, HEAD], pl.FP32, 0.0)
        pl.store(lowest, [0, 0], [BLOCK_Q, 1], largest)
        pl.store(zero, [0, 0], [BLOCK_Q, 1], total)
        pl.store(zeros, [0, 0], [BLOCK_Q, HEAD], out)
        for r in pl.range(0, BLOCK_Q, ROWS):
            rows = pl.mul(pl.load(q, [r, 0], [ROWS, HEAD]), SCALE)
            scaled = pl.store(rows, [r, 0], [ROWS, HEAD], scaled)

    @pl.function(type=pl.FunctionType.InCore)
    def scores(
        self,
        q: pl.Tensor[[BLOCK_Q, HEAD], pl.FP32],
        k: pl.Tensor[[BLOCK_K, HEAD], pl.FP32],
        s: pl.Out[pl.Tensor[[BLOCK_Q, BLOCK_K], pl.FP32]],
    ):
        """Multiply queries by transposed keys."""
        mat_q = pl.load(q, [0, 0], [BLOCK_Q, HEAD], target_memory=pl.MemorySpace.Mat)
        left = pl.move(mat_q, target_memory=pl.MemorySpace.Left)
        for n in pl.range(0, BLOCK_K, TILE_K):
            mat_k = pl.load(k, [n, 0], [TILE_K, HEAD], target_memory=pl.MemorySpace.Mat)
            right = pl.move(mat_k, target_memory=pl.MemorySpace.Right, transpose=True)
            s = pl.store(pl.matmul(left, right), [0, n], [BLOCK_Q, TILE_K], s)

    @pl.function(type=pl.FunctionType.InCore)
    def softmax(
        self,
        s: pl.Tensor[[BLOCK_Q, BLOCK_K], pl.FP32],
        largest: pl.InOut[pl.Tensor[[BLOCK_Q, 1], pl.FP32]],
        total: pl.InOut[pl.Tensor[[BLOCK_Q, 1], pl.FP32]],
        shrink: pl.Out[pl.Tensor[[BLOCK_Q, 1], pl.FP32]],
        p: pl.Out[pl.Tensor[[BLOCK_Q, BLOCK_K], pl.FP32]],
    ):
        """Turn scores into exponentials; update maximum and sum."""
        scratch = pl.create_tile([ROWS, BLOCK_K], pl.FP32)
        for r in pl.range(0, BLOCK_Q, ROWS):
            scores = pl.load(s, [r, 0], [ROWS, BLOCK_K])
            before = pl.load(largest, [r, 0], [ROWS, 1])
            now = pl.maximum(before, pl.row_max(scores, scratch))
            factor = pl.exp(pl.sub(before, now))
            powers = pl.exp(pl.row_expand_sub(scores, now))
            sum_before = pl.load(total, [r, 0], [ROWS, 1])
            sum_now = pl.add(pl.mul(sum_before, factor), pl.row_sum(powers, scratch))
            largest = pl.store(now, [r, 0], [ROWS, 1], largest)
            total = pl.store(sum_now, [r, 0], [ROWS, 1], total)
            shrink = pl.store(factor, [r, 0], [ROWS, 1], shrink)
            p = pl.store(powers, [r, 0], [ROWS, BLOCK_K], p)

    @pl.function(type=pl.FunctionType.InCore)
    def values(
        self,
        p: pl.Tensor[[BLOCK_Q, BLOCK_K], pl.FP32],
        v: pl.Tensor[[BLOCK_K, HEAD], pl.FP32],
        step: pl.Out[pl.Tensor[[BLOCK_Q, HEAD], pl.FP32]],
    ):
        """Multiply exponentials by values."""
        mat_p = pl.load(p, [0, 0], [BLOCK_Q, TILE_K], target_memory=pl.MemorySpace.Mat)
        mat_v = pl.load(v, [0, 0], [TILE_K, HEAD], target_memory=pl.MemorySpace.Mat)
        left = pl.move(mat_p, target_memory=pl.MemorySpace.Left)
        right = pl.move(mat_v, target_memory=pl.MemorySpace.Right)
        acc = pl.matmul(left, right)
        for k in pl.range(TILE_K, BLOCK_K, TILE_K):
            mat_p = pl.load(p, [0, k], [BLOCK_Q, TILE_K], target_memory=pl.MemorySpace.Mat)
            mat_v = pl.load(v, [k, 0], [TILE_K, HEAD], target_memory=pl.MemorySpace.Mat)
            left = pl.move(mat_p, target_memory=pl.MemorySpace.Left)
            right = pl.move(mat_v, target_memory=pl.MemorySpace.Right)
            acc = pl.matmul_acc(acc, left, right)
        pl.store(acc, [0, 0], [BLOCK_Q, HEAD], step)

    @pl.function(type=pl.FunctionType.InCore)
    def accumulate(
        self,
        step: pl.Tensor[[BLOCK_Q, HEAD], pl.FP32],
        shrink: pl.Tensor[[BLOCK_Q, 1], pl.FP32],
        out: pl.InOut[pl.Tensor[[BLOCK_Q, HEAD], pl.FP32]],
    ):
        """Rescale the accumulated result, and add a step to it."""
        for r in pl.range(0, BLOCK_Q, ROWS):
            factor = pl.load(shrink, [r, 0], [ROWS, 1])
            before = pl.row_expand_mul(pl.load(out, [r, 0], [ROWS, HEAD]), factor)
            now = pl.add(before, pl.load(step, [r, 0], [ROWS, HEAD]))
            out = pl.store(now, [r, 0], [ROWS, HEAD], out)

    @pl.function(type=pl.FunctionType.InCore)
    def finish(
        self,
        total: pl.Tensor[[BLOCK_Q, 1], pl.FP32],
        out: pl.InOut[pl.Tensor[[BLOCK_Q, HEAD], pl.FP32]],
    ):
        """Divide the result by the sum of the exponentials."""
        for r in pl.range(0, BLOCK_Q, ROWS):
            sums = pl.load(total, [r, 0], [ROWS, 1])
            mean = pl.row_expand_div(pl.load(out, [r, 0], [ROWS, HEAD]), sums)
            out = pl.store(mean, [r, 0], [ROWS, HEAD], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def attention(
        self,
        q: pl.Tensor[[SEQ, HEAD], pl.FP32],
        k: pl.Tensor[[SEQ, HEAD], pl.FP32],
        v: pl.Tensor[[SEQ, HEAD], pl.FP32],
        out: pl.Out[pl.Tensor[[SEQ, HEAD], pl.FP32]],
    ) -> pl.Tensor[[SEQ, HEAD], pl.FP32]:
        """Launch the kernels: for each block of queries, the steps over the keys."""
        all_scaled = pl.create_tensor([WORKSPACES * BLOCK_Q, HEAD], pl.FP32)
        all_s = pl.create_tensor([WORKSPACES * BLOCK_Q, BLOCK_K], pl.FP32)
        all_p = pl.create_tensor([WORKSPACES * BLOCK_Q, BLOCK_K], pl.FP32)
        all_step = pl.create_tensor([WORKSPACES * BLOCK_Q, HEAD], pl.FP32)
        all_largest = pl.create_tensor([WORKSPACES * BLOCK_Q, 1], pl.FP32)
        all_total = pl.create_tensor([WORKSPACES * BLOCK_Q, 1], pl.FP32)
        all_shrink = pl.create_tensor([WORKSPACES * BLOCK_Q, 1], pl.FP32)
        for i in pl.range(0, SEQ, BLOCK_Q):
            at = i // BLOCK_Q % WORKSPACES * BLOCK_Q
            scaled = pl.view(all_scaled, [BLOCK_Q, HEAD], [at, 0])
            s = pl.view(all_s, [BLOCK_Q, BLOCK_K], [at, 0])
            p = pl.view(all_p, [BLOCK_Q, BLOCK_K], [at, 0])
            step = pl.view(all_step, [BLOCK_Q, HEAD], [at, 0])
            largest = pl.view(all_largest, [BLOCK_Q, 1], [at, 0])
            total = pl.view(all_total, [BLOCK_Q, 1], [at, 0])
            shrink = pl.view(all_shrink, [BLOCK_Q, 1], [at, 0])
            rows_q = pl.view(q, [BLOCK_Q, HEAD], [i, 0])
            rows_out = pl.view(out, [BLOCK_Q, HEAD], [i, 0])
            self.start(rows_q, scaled, largest, total, rows_out)
            for j in pl.range(0, SEQ, BLOCK_K):
                rows_k = pl.view(k, [BLOCK_K, HEAD], [j, 0])
                rows_v = pl.view(v, [BLOCK_K, HEAD], [j, 0])
                self.scores(scaled, rows_k, s)
                self.softmax(s, largest, total, shrink, p)
                self.values(p, rows_v, step)
                self.accumulate(step, shrink, rows_out)
            self.finish(total, rows_out)
        return out


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments, uniform in [-1, 1)."""
    import numpy as np

    q, k, v = (rng.random((SEQ, HEAD), np.float32) * 2 - 1 for _ in range(3))
    return {"q": q, "k": k, "v": v, "out": np.zeros((SEQ, HEAD), np.float32)}


def reference(
    q: np.ndarray[Any, Any],
    k: np.ndarray[Any, Any],
    v: np.ndarray[Any, Any],
    precision: Any = "float64",
    **_: Any,
) -> dict[str, Any]:
    """Return the attention in ``precision``, from all scores at once."""
    import numpy as np

    s = (q.astype(precision) @ k.astype(precision).T) * SCALE
    powers = np.exp(s - s.max(axis=-1, keepdims=True))
    return {"out": powers @ v.astype(precision) / powers.sum(axis=-1, keepdims=True)}


# With u = 2**-24: a score is a sum of 128 products of once-rounded factors, whose magnitudes add up
# to less than 60 / 11.3 < 5.4. Its error is at most 129u * 5.4 < 700u, the relative error of its
# exponential. A sum of 1024 terms adds 1024u, and the two rescalings 10u. This holds for divisor
# and (as values are in [-1, 1], relative to the divisor) for dividend: 2 * 1734u < 2.1e-4.
CASES = [Case("flash_attention", FlashAttention, inputs, reference, 2.1e-4)]
