"""Programs using operators that move elements: select, scatter, count, sort, quantise."""

# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# A value of a region is a tile that authors call a tensor: ops that accept only tiles accept it.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(11)


@pytest.fixture(params=["interpreter", "cpu"])
def target(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_rotation_by_gathered_neighbours(target: Any) -> None:
    """Each pair of columns is rotated: its neighbours are gathered by index."""

    @pl.jit(target=target)
    def rotate(
        x: pl.Tensor[[16, 64], pl.FP32],
        other: pl.Tensor[[16, 64], pl.INT32],
        sign: pl.Tensor[[1, 64], pl.FP32],
        cosine: pl.Tensor[[16, 64], pl.FP32],
        sine: pl.Tensor[[16, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ):
        for b in pl.spmd(2):
            r = b * 8
            rows = x[r : r + 8, :]
            swapped = pl.gather(rows, dim=-1, index=other[r : r + 8, :])
            swapped = pl.col_expand_mul(swapped, sign)
            straight = pl.mul(rows, cosine[r : r + 8, :])
            y[r : r + 8, :] = pl.add(straight, pl.mul(swapped, sine[r : r + 8, :]))
        return y

    x = RNG.random((16, 64), np.float32)
    angle = RNG.random((16, 32)).repeat(2, 1)
    other = np.tile(np.arange(64, dtype=np.int32) ^ 1, (16, 1))
    sign = np.where(np.arange(64) % 2, 1, -1).astype(np.float32)[None]
    cosine, sine = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    y = np.zeros_like(x)
    rotate(x, other, sign, cosine, sine, y)
    wanted = x * np.cos(angle) + x[:, np.arange(64) ^ 1] * sign * np.sin(angle)
    np.testing.assert_allclose(y, wanted, 1e-5, 1e-6)


def test_logits_that_are_banned(target: Any) -> None:
    """A value is scattered to the columns of each row that a list names."""

    @pl.jit(target=target)
    def ban(
        logits: pl.Tensor[[4, 256], pl.FP32],
        banned: pl.Tensor[[4, 8], pl.INT32],
        y: pl.Out[pl.Tensor[[4, 256], pl.FP32]],
    ):
        for b in pl.spmd(4):
            row = logits[b : b + 1, :]
            low = pl.full([1, 8], dtype=pl.FP32, value=-10000.0)
            y[b : b + 1, :] = pl.tensor.scatter(row, dim=-1, index=banned[b : b + 1, :], src=low)
        return y

    logits = RNG.random((4, 256), np.float32)
    banned = np.stack([RNG.permutation(256)[:8] for _ in range(4)]).astype(np.int32)
    y, wanted = np.zeros_like(logits), logits.copy()
    np.put_along_axis(wanted, banned, -10000, 1)
    ban(logits, banned, y)
    assert (y == wanted).all()


def test_tokens_of_experts_are_counted(target: Any) -> None:
    """Expert indices become one-hot rows by comparison, which are summed by columns."""

    @pl.jit(target=target)
    def count(experts: pl.Tensor[[32, 2], pl.INT32], n: pl.Out[pl.Tensor[[1, 8], pl.INT32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            room = pl.full([32, 8], dtype=pl.FP32, value=0.0)
            every = pl.col_expand(room, pl.cast(pl.arange(0, [1, 8], dtype=pl.INT32), pl.FP32))
            chosen = pl.cast(experts, pl.FP32)
            total = pl.full([1, 8], dtype=pl.FP32, value=0.0)
            for k in pl.unroll(2):
                own = pl.row_expand(room, chosen[:, k : k + 1])
                total = pl.add(total, pl.col_sum(pl.cmp(own, every, cmp_type=0)))
            n[:, :] = pl.cast(total, pl.INT32, mode="rint")
        return n

    experts = RNG.integers(0, 8, (32, 2)).astype(np.int32)
    n = np.zeros((1, 8), np.int32)
    count(experts, n)
    assert (n[0] == np.bincount(experts.ravel(), minlength=8)).all()


def test_largest_of_four_sorted_lists(target: Any) -> None:
    """Each block sorts a quarter, and the best of the four are merged."""

    @pl.jit(target=target)
    def best(x: pl.Tensor[[1, 1024], pl.FP32], found: pl.Out[pl.Tensor[[1, 32], pl.INT32]]):
        parts = pl.create_tensor([4, 64], dtype=pl.FP32)
        for c in pl.spmd(4):
            at = c * 256
            first = pl.cast(at, pl.UINT32)
            p = pl.sort32(x[:, at : at + 256], pl.arange(first, [1, 256], dtype=pl.UINT32))
            p = pl.mrgsort(p, block_len=64)
            p = pl.mrgsort(p[:, 0:256], p[:, 256:512])
            parts[c : c + 1, :] = p[:, 0:64]
        with pl.at(level=pl.Level.CORE_GROUP):
            m = pl.mrgsort(parts[0:1, :], parts[1:2, :], parts[2:3, :], parts[3:4, :])
            found[:, :] = pl.gather(
                m[:, 0:64], mask_pattern=pl.tile.MaskPattern.P1010, output_dtype=pl.INT32
            )
        return found

    x = RNG.permutation(1024).astype(np.float32)[None]
    found = np.zeros((1, 32), np.int32)
    best(x, found)
    assert (found[0] == np.argsort(-x[0])[:32]).all()


def test_rows_of_bytes_and_back(target: Any) -> None:
    """Rows are cast to INT8 by their own scale and back, each cast in the device's steps."""

    @pl.jit(target=target)
    def quantise(
        x: pl.Tensor[[16, 128], pl.BF16],
        q: pl.Out[pl.Tensor[[16, 128], pl.INT8]],
        y: pl.Out[pl.Tensor[[16, 128], pl.FP32]],
    ):
        for b in pl.spmd(2):
            r = b * 8
            rows = pl.cast(x[r : r + 8, :], pl.FP32)
            most = pl.row_max(pl.abs(rows))
            scaled = pl.row_expand_mul(rows, pl.mul(pl.recip(most), 127.0))
            held = pl.cast(scaled, pl.INT8, mode="rint")
            q[r : r + 8, :] = held
            y[r : r + 8, :] = pl.row_expand_mul(pl.cast(held, pl.FP32), pl.mul(most, 1.0 / 127))
        return q, y

    exact = RNG.standard_normal((16, 128))
    x = exact.astype(pl.BF16.numpy)
    q, y = np.zeros((16, 128), np.int8), np.zeros((16, 128), np.float32)
    quantise(x, q, y)
    wide = x.astype(np.float64)
    most = np.abs(wide).max(1, keepdims=True)
    assert np.abs(q - wide * 127 / most).max() < 0.57  # FP16 in between keeps 11 bits
    assert np.abs(y - wide).max() < 0.57 * most.max() / 127
