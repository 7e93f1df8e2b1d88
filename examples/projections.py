"""The first step of a decoder layer: RMSNorm of 16 rows, and three projections of the result.

The function launches regions: one normalises the rows, and each block of a launch computes 64
columns of a projection, accumulating products over slices of the hidden size.
"""

# pyright: reportCallIssue=false, reportUnknownVariableType=false
# pl.matmul_acc is declared for tiles; in a region it takes tensors, and more keywords.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pypto.language as pl
from pypto.runtime import Case

if TYPE_CHECKING:
    import numpy as np

BATCH, HIDDEN = 16, 1024
QUERIES, KEYS = 512, 128  # columns of the projections
PART = 128  # elements of the hidden size that are processed at a time
COLUMNS = 64  # of a projection, per block
EPS = 1e-6


@pl.jit.inline
def rms_norm(x: pl.Tensor, weight: pl.Tensor, normed: pl.Tensor):
    """Divide each row by its root mean square, and scale the columns."""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="rms_norm"):
        squares = pl.full([BATCH, 1], pl.FP32, 0.0)
        for k in pl.range(0, HIDDEN, PART):
            part = x[:, k : k + PART]
            squares = pl.add(squares, pl.row_sum(pl.mul(part, part)))
        scale = pl.recip(pl.sqrt(pl.add(pl.mul(squares, 1.0 / HIDDEN), EPS)))
        for k in pl.range(0, HIDDEN, PART):
            rows = pl.row_expand_mul(x[:, k : k + PART], scale)
            scaled = pl.col_expand_mul(rows, weight[:, k : k + PART])
            normed[:, k : k + PART] = pl.cast(scaled, pl.BF16)
    return normed


@pl.jit.inline
def project(x: pl.Tensor, weights: pl.Tensor, out: pl.Tensor, columns: int):
    """Multiply by weights with one row per output column."""
    for block in pl.spmd(columns // COLUMNS, name_hint="project"):
        first = block * COLUMNS
        acc = pl.create_tensor([BATCH, COLUMNS], pl.FP32)
        for k in pl.pipeline(0, HIDDEN, PART, stage=2):
            rows = x[:, k : k + PART]
            part = weights[first : first + COLUMNS, k : k + PART]
            acc = pl.matmul_acc(acc, rows, part, b_trans=True, init_cond=k == 0)
        out[:, first : first + COLUMNS] = acc
    return out


@pl.jit
def projections(
    x: pl.Tensor[[BATCH, HIDDEN], pl.FP32],
    norm: pl.Tensor[[1, HIDDEN], pl.FP32],
    wq: pl.Tensor[[QUERIES, HIDDEN], pl.BF16],
    wk: pl.Tensor[[KEYS, HIDDEN], pl.BF16],
    wv: pl.Tensor[[KEYS, HIDDEN], pl.BF16],
    q: pl.Out[pl.Tensor[[BATCH, QUERIES], pl.FP32]],
    k: pl.Out[pl.Tensor[[BATCH, KEYS], pl.FP32]],
    v: pl.Out[pl.Tensor[[BATCH, KEYS], pl.FP32]],
):
    """Return queries, keys and values of 16 rows."""
    normed = pl.create_tensor([BATCH, HIDDEN], pl.BF16)
    normed = rms_norm(x, norm, normed)
    q = project(normed, wq, q, QUERIES)
    k = project(normed, wk, k, KEYS)
    v = project(normed, wv, v, KEYS)
    return q, k, v


PROGRAM = projections.parse(
    pl.Tensor[[BATCH, HIDDEN], pl.FP32],
    pl.Tensor[[1, HIDDEN], pl.FP32],
    pl.Tensor[[QUERIES, HIDDEN], pl.BF16],
    pl.Tensor[[KEYS, HIDDEN], pl.BF16],
    pl.Tensor[[KEYS, HIDDEN], pl.BF16],
    pl.Tensor[[BATCH, QUERIES], pl.FP32],
    pl.Tensor[[BATCH, KEYS], pl.FP32],
    pl.Tensor[[BATCH, KEYS], pl.FP32],
)


def inputs(rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments: rows, norm and projection weights, all uniform in [-1, 1)."""
    import numpy as np

    def uniform(*shape: int) -> np.ndarray[Any, Any]:
        return (rng.random(shape, np.float32) * 2 - 1).astype(np.float32)

    bf16 = pl.BF16.numpy
    weights = {name: uniform(n, HIDDEN).astype(bf16) for name, n in _WEIGHTS.items()}
    outputs = {name: np.zeros((BATCH, n), np.float32) for name, n in _OUTPUTS.items()}
    return {"x": uniform(BATCH, HIDDEN), "norm": uniform(1, HIDDEN), **weights, **outputs}


_WEIGHTS = {"wq": QUERIES, "wk": KEYS, "wv": KEYS}
_OUTPUTS = {"q": QUERIES, "k": KEYS, "v": KEYS}


def reference(
    x: np.ndarray[Any, Any],
    norm: np.ndarray[Any, Any],
    precision: Any = "float64",
    **others: Any,
) -> dict[str, Any]:
    """Return the results in ``precision``; the normalised rows are BF16, as in the kernel."""
    import numpy as np

    bf16: Any = others["wq"].dtype
    exact = x.astype(precision)
    normed = exact / np.sqrt((exact * exact).mean(axis=-1, keepdims=True) + EPS) * norm
    rows = normed.astype(np.float32).astype(bf16).astype(precision)
    pairs = zip(_OUTPUTS, _WEIGHTS, strict=True)
    return {out: rows @ others[weights].astype(precision).T for out, weights in pairs}


# The rows are rounded to BF16 after FP32 arithmetic with a relative error of about 2**-22: so about
# one element in ten thousand is rounded the other way, by at most 2**-7, which changes a result
# by at most 2**-7. Sums of 1024 products add less than 1024 * 2**-24 * 60 < 0.004; for results
# above 1 the error is relative. Twelve runs stay below 0.0005.
CASES = [Case("projections", PROGRAM, inputs, reference, 0.008)]
