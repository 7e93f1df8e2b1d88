# Add: load tiles, add them, store the sum
import numpy as np

import pypto.language as pl


@pl.jit
def add(
    x: pl.Tensor[[128, 64], pl.FP32],
    y: pl.Tensor[[128, 64], pl.FP32],
    out: pl.Out[pl.Tensor[[128, 64], pl.FP32]],
):
    with pl.incore():
        left = pl.load(x, [0, 0], [128, 64])
        right = pl.load(y, [0, 0], [128, 64])
        out = pl.store(pl.add(left, right), [0, 0], [128, 64], out)
    return out


x = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)
out = np.empty_like(x)
add(x, x, out)
print("right:", (out == 2 * x).all())
