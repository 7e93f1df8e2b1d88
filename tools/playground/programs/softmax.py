# Softmax: each row becomes weights that sum to one
import numpy as np

import pypto.language as pl

ROWS, COLS, BLOCK = 256, 128, 32


@pl.jit
def softmax(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    for block in pl.spmd(ROWS // BLOCK):
        row = block * BLOCK
        scores = x[row : row + BLOCK, :]
        powers = pl.exp(pl.row_expand_sub(scores, pl.row_max(scores)))
        out[row : row + BLOCK, :] = pl.row_expand_div(powers, pl.row_sum(powers))
    return out


x = np.random.default_rng(0).standard_normal((ROWS, COLS), np.float32)
out = np.empty_like(x)
softmax(x, out)

powers = np.exp(x - x.max(axis=1, keepdims=True))
expected = powers / powers.sum(axis=1, keepdims=True)
print("largest difference from NumPy:", np.abs(out - expected).max())
