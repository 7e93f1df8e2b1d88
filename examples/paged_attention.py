"""Paged attention, one decoding step of a serving engine: 8 requests, 32 query heads, BF16.

Each request brings one new token: 32 query heads of 128, which share 2 heads of keys and values,
16 to one. Keys and values of its 1 to 4,000 tokens are in a cache of blocks of 128 tokens, in any
order; the block table says which blocks of the cache belong to a request, and in which order.

On this chip, cube and vector cores are separate and exchange data through global memory only. So a
block of the online softmax is a chain of kernels: scores (cube), exponentials with maximum and sum
(vector), product with the values (cube), and update of the accumulated result (vector). A fifth
kernel divides by the sum and writes the result. The orchestration iterates over requests, heads and
blocks. It reads block table and context lengths, so the number of tasks is known at run time only.
Each block has its own scratch tensors: chains run in parallel, only updates wait for one another.

The 16 query heads that share keys are the rows of one matrix product. The cache layout is
[block, head, token, 128], so that the tokens of a block are a dense view [128, 128]. In the last
block of a request only the valid tokens count: the others get the score LOWEST, so that their
exponential is 0. (It is multiplied by whatever is in the cache there, which must be finite.)

``python examples/paged_attention.py`` runs it and prints time and largest error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypto.language as pl
from pypto.runtime import Case

if TYPE_CHECKING:
    import numpy as np

BATCH = 8  # requests
HEADS, KV_HEADS = 32, 2
GROUP = HEADS // KV_HEADS  # query heads that share a head of keys and values
HEAD = 128  # elements per head
BLOCK = 128  # tokens per block of the cache
CONTEXT = 4000  # most tokens of a request
SCALE = HEAD**-0.5
LOWEST = -1e30  # below every score; finite, so that differences are not NaN

ROWS = BATCH * HEADS  # query heads of all requests
TABLE = -(-CONTEXT // BLOCK)  # most blocks of a request: 32
CACHE = BATCH * TABLE * KV_HEADS * BLOCK  # rows of the cache


@pl.program
class PagedAttention:
    """Attention of new tokens to keys and values in a cache of blocks."""

    @pl.function(type=pl.FunctionType.InCore)
    def scores(
        self,
        q: pl.Tensor[[GROUP, HEAD], pl.BF16],
        k: pl.Tensor[[BLOCK, HEAD], pl.BF16],
        s: pl.Out[pl.Tensor[[GROUP, BLOCK], pl.FP32]],
    ):
        """Multiply queries by the transposed keys of a block."""
        mat_q = pl.load(q, [0, 0], [GROUP, HEAD], target_memory=pl.MemorySpace.Mat)
        mat_k = pl.load(k, [0, 0], [BLOCK, HEAD], target_memory=pl.MemorySpace.Mat)
        left = pl.move(mat_q, target_memory=pl.MemorySpace.Left)
        right = pl.move(mat_k, target_memory=pl.MemorySpace.Right, transpose=True)
        s = pl.store(pl.matmul(left, right), [0, 0], [GROUP, BLOCK], s)

    @pl.function(type=pl.FunctionType.InCore)
    def powers(
        self,
        s: pl.Tensor[[GROUP, BLOCK], pl.FP32],
        positions: pl.Tensor[[1, BLOCK], pl.FP32],
        tokens: pl.FP32,
        p: pl.Out[pl.Tensor[[GROUP, BLOCK], pl.BF16]],
        largest: pl.Out[pl.Tensor[[GROUP, 1], pl.FP32]],
        total: pl.Out[pl.Tensor[[GROUP, 1], pl.FP32]],
    ):
        """Turn the scores of the first ``tokens`` tokens into exponentials; find max and sum."""
        scratch = pl.create_tile([GROUP, BLOCK], pl.FP32)
        scaled = pl.mul(pl.load(s, [0, 0], [GROUP, BLOCK]), SCALE)
        position = pl.col_expand(scaled, pl.load(positions, [0, 0], [1, BLOCK]))
        counted = pl.sel(position < tokens, scaled, pl.full([GROUP, BLOCK], pl.FP32, LOWEST))
        top = pl.row_max(counted, scratch)
        power = pl.cast(pl.exp(pl.row_expand_sub(counted, top)), pl.BF16)
        p = pl.store(power, [0, 0], [GROUP, BLOCK], p)
        # The sum is over the rounded exponentials, so that their weights sum to 1.
        sums = pl.row_sum(pl.cast(power, pl.FP32), scratch)
        largest = pl.store(top, [0, 0], [GROUP, 1], largest)
        total = pl.store(sums, [0, 0], [GROUP, 1], total)

    @pl.function(type=pl.FunctionType.InCore)
    def values(
        self,
        p: pl.Tensor[[GROUP, BLOCK], pl.BF16],
        v: pl.Tensor[[BLOCK, HEAD], pl.BF16],
        step: pl.Out[pl.Tensor[[GROUP, HEAD], pl.FP32]],
    ):
        """Multiply exponentials by the values of a block."""
        mat_p = pl.load(p, [0, 0], [GROUP, BLOCK], target_memory=pl.MemorySpace.Mat)
        mat_v = pl.load(v, [0, 0], [BLOCK, HEAD], target_memory=pl.MemorySpace.Mat)
        left = pl.move(mat_p, target_memory=pl.MemorySpace.Left)
        right = pl.move(mat_v, target_memory=pl.MemorySpace.Right)
        step = pl.store(pl.matmul(left, right), [0, 0], [GROUP, HEAD], step)

    @pl.function(type=pl.FunctionType.InCore)
    def update(
        self,
        number: pl.INT64,
        largest: pl.Tensor[[GROUP, 1], pl.FP32],
        total: pl.Tensor[[GROUP, 1], pl.FP32],
        step: pl.Tensor[[GROUP, HEAD], pl.FP32],
        largest_so_far: pl.InOut[pl.Tensor[[GROUP, 1], pl.FP32]],
        total_so_far: pl.InOut[pl.Tensor[[GROUP, 1], pl.FP32]],
        result: pl.InOut[pl.Tensor[[GROUP, HEAD], pl.FP32]],
    ):
        """Add block ``number`` to the accumulated result, both scaled to the larger maximum."""
        top, sums = pl.load(largest, [0, 0], [GROUP, 1]), pl.load(total, [0, 0], [GROUP, 1])
        values = pl.load(step, [0, 0], [GROUP, HEAD])
        if number > 0:
            top_before = pl.load(largest_so_far, [0, 0], [GROUP, 1])
            sums_before = pl.load(total_so_far, [0, 0], [GROUP, 1])
            values_before = pl.load(result, [0, 0], [GROUP, HEAD])
            top_now = pl.maximum(top_before, top)
            old, new = pl.exp(pl.sub(top_before, top_now)), pl.exp(pl.sub(top, top_now))
            sums = pl.add(pl.mul(sums_before, old), pl.mul(sums, new))
            values = pl.add(pl.row_expand_mul(values_before, old), pl.row_expand_mul(values, new))
            top = top_now
        largest_so_far = pl.store(top, [0, 0], [GROUP, 1], largest_so_far)
        total_so_far = pl.store(sums, [0, 0], [GROUP, 1], total_so_far)
        result = pl.store(values, [0, 0], [GROUP, HEAD], result)

    @pl.function(type=pl.FunctionType.InCore)
    def finish(
        self,
        total: pl.Tensor[[GROUP, 1], pl.FP32],
        result: pl.Tensor[[GROUP, HEAD], pl.FP32],
        out: pl.Out[pl.Tensor[[GROUP, HEAD], pl.BF16]],
    ):
        """Divide the result by the sum of the exponentials."""
        values, sums = pl.load(result, [0, 0], [GROUP, HEAD]), pl.load(total, [0, 0], [GROUP, 1])
        mean = pl.cast(pl.row_expand_div(values, sums), pl.BF16)
        out = pl.store(mean, [0, 0], [GROUP, HEAD], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def attention(
        self,
        q: pl.Tensor[[ROWS, HEAD], pl.BF16],
        k_cache: pl.Tensor[[CACHE, HEAD], pl.BF16],
        v_cache: pl.Tensor[[CACHE, HEAD], pl.BF16],
        block_table: pl.Tensor[[BATCH, TABLE], pl.INT32],
        context_lengths: pl.Tensor[[BATCH], pl.INT32],
        positions: pl.Tensor[[1, BLOCK], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, HEAD], pl.BF16]],
    ) -> pl.Tensor[[ROWS, HEAD], pl.BF16]:
        """Launch the kernels: for each request, for each of its key heads, for each block."""
        for request in pl.range(BATCH):
            length = pl.cast(pl.tensor.read(context_lengths, [request]), pl.INDEX)
            for head in pl.range(KV_HEADS):
                row = request * HEADS + head * GROUP
                rows_q = pl.view(q, [GROUP, HEAD], [row, 0])
                rows_out = pl.view(out, [GROUP, HEAD], [row, 0])
                largest_so_far = pl.create_tensor([GROUP, 1], pl.FP32)
                total_so_far = pl.create_tensor([GROUP, 1], pl.FP32)
                result = pl.create_tensor([GROUP, HEAD], pl.FP32)
                for number in pl.range((length + BLOCK - 1) // BLOCK):
                    block = pl.cast(pl.tensor.read(block_table, [request, number]), pl.INDEX)
                    first = (block * KV_HEADS + head) * BLOCK
                    rows_k = pl.view(k_cache, [BLOCK, HEAD], [first, 0])
                    rows_v = pl.view(v_cache, [BLOCK, HEAD], [first, 0])
                    tokens = pl.cast(min(length - number * BLOCK, BLOCK), pl.FP32)
                    s = pl.create_tensor([GROUP, BLOCK], pl.FP32)
                    p = pl.create_tensor([GROUP, BLOCK], pl.BF16)
                    step = pl.create_tensor([GROUP, HEAD], pl.FP32)
                    largest = pl.create_tensor([GROUP, 1], pl.FP32)
                    total = pl.create_tensor([GROUP, 1], pl.FP32)
                    self.scores(rows_q, rows_k, s)
                    self.powers(s, positions, tokens, p, largest, total)
                    self.values(p, rows_v, step)
                    self.update(number, largest, total, step, largest_so_far, total_so_far, result)
                self.finish(total_so_far, result, rows_out)
        return out


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments: queries and keys uniform in [-4, 4], values in [-1, 1].

    Context lengths are random, and so is the order of the blocks in the cache.
    """
    import numpy as np

    def random(rows: int, limit: float) -> np.ndarray[Any, Any]:
        numbers = rng.random((rows, HEAD), np.float32) * (2 * limit) - limit
        return numbers.astype(pl.BF16.numpy)

    return {
        "q": random(ROWS, 4),
        "k_cache": random(CACHE, 4),
        "v_cache": random(CACHE, 1),
        "block_table": rng.permutation(BATCH * TABLE).astype(np.int32).reshape(BATCH, TABLE),
        "context_lengths": rng.integers(1, CONTEXT, BATCH, np.int32, endpoint=True),
        "positions": np.arange(BLOCK, dtype=np.float32).reshape(1, BLOCK),
        "out": np.zeros((ROWS, HEAD), pl.BF16.numpy),
    }


def reference(
    q: np.ndarray[Any, Any],
    k_cache: np.ndarray[Any, Any],
    v_cache: np.ndarray[Any, Any],
    block_table: np.ndarray[Any, Any],
    context_lengths: np.ndarray[Any, Any],
    precision: Any = "float64",
    **_: Any,
) -> dict[str, Any]:
    """Return the attention in ``precision``, from all scores of a request at once."""
    import numpy as np

    def gathered(cache: np.ndarray[Any, Any], request: int, head: int) -> np.ndarray[Any, Any]:
        blocks = cache.reshape(-1, KV_HEADS, BLOCK, HEAD)[block_table[request], head]
        return blocks.reshape(-1, HEAD)[: context_lengths[request]].astype(precision)

    out = np.empty(q.shape, precision)
    for request in range(len(context_lengths)):
        for head in range(KV_HEADS):
            row = request * HEADS + head * GROUP
            queries = q[row : row + GROUP].astype(precision)
            s = (queries @ gathered(k_cache, request, head).T) * SCALE
            powers = np.exp(s - s.max(axis=-1, keepdims=True))
            values = powers @ gathered(v_cache, request, head)
            out[row : row + GROUP] = values / powers.sum(axis=-1, keepdims=True)
    return {"out": out}


# The result o is a mean of values v in [-1, 1] with weights w that sum to 1.
#
# Rounding to BF16, with u = 2**-8: each exponential gets a factor 1 + d, |d| <= u, and so does its
# term of the sum. So the error of o is sum(w d (v - o)), at most u times the mean of |v - o|, which
# for numbers in [-1, 1] of mean o is at most 1 - o**2. Rounding o itself adds u |o|. In all at most
# u (1 + |o| - o**2) <= 1.25u.
#
# In FP32, with t = 2**-24: products of BF16 numbers are exact. The magnitudes of the 128 products
# of a score have mean 4: they add up to 512, below 800 everywhere, and are divided by 11.3. So a
# score is below 71, with an error of 128t * 71; scaling, the difference from the maximum and exp
# make it 9400t, the relative error of its exponential. Sums of 4,000 terms in dividend and divisor
# add 8000t, and 32 updates, each with an error of 10t, another 640t: below 18100t.
#
# Both: 1.25 * 2**-8 + 18100 * 2**-24 < 6.0e-3.
CASES = [Case("paged_attention", PagedAttention, inputs, reference, 6.0e-3)]


def main() -> int:
    """Run the case; print lengths, time and largest error; return 1 if that exceeds the bound."""
    import time

    import numpy as np

    from pypto import runtime

    [case] = CASES
    arguments = inputs(np.random.default_rng(0))
    expected = reference(**arguments)["out"]
    compiled = runtime.compile(PagedAttention)
    compiled(*arguments.values())
    begin = time.perf_counter()
    compiled(*arguments.values())
    seconds = time.perf_counter() - begin
    error = float(np.abs(arguments["out"].astype(np.float64) - expected).max())
    print(f"context lengths {arguments['context_lengths'].tolist()}")
    print(f"{seconds * 1e3:.1f} ms on {compiled.target}")
    print(f"largest error {error:.1e}, bound {case.bound:.1e}")
    return int(error > case.bound)


if __name__ == "__main__":
    raise SystemExit(main())
