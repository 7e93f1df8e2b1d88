"""A product with a long K: each block sums a slice of K and adds its partial sum to the result."""

import numpy as np

import pypto.language as pl
from pypto.runtime import Case

M, K, N = 16, 8192, 128
SPLITS, TILE_K = 8, 128
PART = K // SPLITS


@pl.jit
def split_k(
    a: pl.Tensor[[M, K], pl.BF16],
    b: pl.Tensor[[K, N], pl.BF16],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    """Return a b; blocks add their partial sums in any order."""
    sums = pl.create_tensor([M, N], dtype=pl.FP32, init_value=0.0)
    with pl.spmd(SPLITS, name_hint="part_of_k") as parts:
        first = pl.tile.get_block_idx() * PART
        acc = pl.matmul(
            a[:, first : first + TILE_K], b[first : first + TILE_K, :], out_dtype=pl.FP32
        )
        for k in pl.pipeline(TILE_K, PART, TILE_K, stage=2):
            at = first + k
            acc = pl.matmul_acc(acc, a[:, at : at + TILE_K], b[at : at + TILE_K, :])
        sums = pl.assemble(sums, acc, [0, 0], atomic=pl.AtomicType.Add)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="copy_sums", deps=[parts]):
        c[:] = sums[:, :]
    return c


def inputs(rng):
    """Return BF16 operands."""
    bf16 = pl.BF16.numpy
    return {
        "a": rng.standard_normal((M, K), np.float32).astype(bf16),
        "b": (rng.standard_normal((K, N), np.float32) * K**-0.5).astype(bf16),
        "c": np.zeros((M, N), np.float32),
    }


def reference(a, b, c):
    """Return the product in float64."""
    return {"c": a.astype(np.float64) @ b.astype(np.float64)}


# Sums of up to 8192 exact products that stay below 8.
CASES = [Case("split_k", split_k, inputs, reference, 1e-4)]
