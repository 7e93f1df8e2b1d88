"""Kernels with their gradients, as users of PyTorch and JAX write them."""

# pyright: basic, reportInvalidTypeArguments=false, reportOperatorIssue=false
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false

from __future__ import annotations

import pypto.language as pl

ROWS = pl.dynamic("ROWS")
COLS = 64
TILE = 32


@pl.jit
def softmax(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
    """Return the softmax of each row."""
    for row in pl.range(0, x.shape[0], TILE):
        rows = pl.min(TILE, x.shape[0] - row)
        tile = pl.load(x, [row, 0], [TILE, COLS], valid_shapes=[rows, COLS])
        powers = pl.exp(pl.row_expand_sub(tile, pl.row_max(tile)))
        y = pl.store(pl.row_expand_div(powers, pl.row_sum(powers)), [row, 0], [rows, COLS], y)
    return y


@pl.jit
def softmax_backward(
    y: pl.Tensor[[ROWS, COLS], pl.FP32],
    grad_y: pl.Tensor[[ROWS, COLS], pl.FP32],
    grad_x: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    """Return y * (grad_y - sum of y * grad_y in the row)."""
    for row in pl.range(0, y.shape[0], TILE):
        rows = pl.min(TILE, y.shape[0] - row)
        share = pl.load(y, [row, 0], [TILE, COLS], valid_shapes=[rows, COLS])
        wanted = pl.load(grad_y, [row, 0], [TILE, COLS], valid_shapes=[rows, COLS])
        mean = pl.row_sum(pl.mul(share, wanted))
        grad_x = pl.store(
            pl.mul(share, pl.row_expand_sub(wanted, mean)), [row, 0], [rows, COLS], grad_x
        )
    return grad_x


@pl.jit(target="interpreter")
def scale(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    factor: pl.FP32 = 2.0,
):
    for row in pl.range(0, x.shape[0], 16):
        rows = pl.min(16, x.shape[0] - row)
        tile = pl.load(x, [row, 0], [16, COLS], valid_shapes=[rows, COLS])
        y = pl.store(pl.mul(tile, factor), [row, 0], [rows, COLS], y)
    return y


@pl.jit(target="interpreter")
def divide(
    a: pl.Tensor[[16, COLS], pl.FP32],
    n: pl.Tensor[[16, COLS], pl.INT32],
    quotient: pl.Out[pl.Tensor[[16, COLS], pl.FP32]],
    half: pl.Out[pl.Tensor[[16, COLS], pl.FP32]],
    BY: int = 2,
):
    """Return a / n and a / 2: two results, and an input without gradient."""
    tile = pl.load(a, [0, 0], [16, COLS])
    count = pl.cast(pl.load(n, [0, 0], [16, COLS]), pl.FP32)
    quotient = pl.store(pl.div(tile, count), [0, 0], [16, COLS], quotient)
    half = pl.store(pl.mul(tile, 1.0 / BY), [0, 0], [16, COLS], half)
    return quotient, half


@pl.jit(target="interpreter")
def divide_backward(
    n: pl.Tensor[[16, COLS], pl.INT32],
    grad_half: pl.Tensor[[16, COLS], pl.FP32],
    grad_quotient: pl.Tensor[[16, COLS], pl.FP32],
    grad_a: pl.Out[pl.Tensor[[16, COLS], pl.FP32]],
):
    count = pl.cast(pl.load(n, [0, 0], [16, COLS]), pl.FP32)
    first = pl.div(pl.load(grad_quotient, [0, 0], [16, COLS]), count)
    second = pl.mul(pl.load(grad_half, [0, 0], [16, COLS]), 0.5)
    return pl.store(pl.add(first, second), [0, 0], [16, COLS], grad_a)


@pl.jit(target="interpreter")
def append(
    row: pl.Tensor[[1, COLS], pl.BF16],
    cache: pl.InOut[pl.Tensor[[ROWS, COLS], pl.BF16]],
    at: pl.INT32,
):
    """Write a row into a cache, which is modified in place."""
    return pl.store(pl.load(row, [0, 0], [1, COLS]), [at, 0], [1, COLS], cache)


@pl.jit(target="interpreter")
def without_shape(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    return pl.store(pl.load(x, [0, 0], [16, 64]), [0, 0], [16, COLS], y)


@pl.jit(target="interpreter")
def with_constant(
    x: pl.Tensor[[16, COLS], pl.FP32], y: pl.Out[pl.Tensor[[16, COLS], pl.FP32]], n: int
):
    return pl.store(pl.mul(pl.load(x, [0, 0], [16, COLS]), float(n)), [0, 0], [16, COLS], y)


@pl.jit(target="interpreter")
def without_gradient(
    grad_y: pl.Tensor[[ROWS, COLS], pl.FP32], grad_z: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]
):
    return pl.store(pl.load(grad_y, [0, 0], [16, COLS]), [0, 0], [16, COLS], grad_z)


@pl.jit(target="interpreter")
def two_inputs(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    z: pl.Tensor[[ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    total = pl.add(pl.load(x, [0, 0], [16, COLS]), pl.load(z, [0, 0], [16, COLS]))
    return pl.store(total, [0, 0], [16, COLS], y)
