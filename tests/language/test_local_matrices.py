"""Matrices gathered row by row for a product, and transposed operands."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false
# A value of a region is a tile that authors call a tensor: ops that accept only tiles accept it.

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from tests.examples.emitted import Emitted
from tests.natively import compiler

Array = np.ndarray[Any, Any]
TARGETS = ("interpreter", "cpu", "pto")
RNG = np.random.default_rng(3)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape, np.float32)


def call(kernel: Any, target: str, *args: Any) -> None:
    """Call a kernel on a target; check that its program round-trips through its text."""
    program = kernel.lower(*args)
    ir.assert_structural_equal(ir.parse(str(program)), program)
    if target == "pto":
        Emitted(program).run(kernel.__name__, list(args))
        return
    if target == "cpu":
        compiler()
    runtime.compile(program, target=cast("Any", target))(*args)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_gathered_for_a_product(target: str) -> None:
    """Rows from any position form a matrix operand; each block has its own."""

    @pl.jit
    def scores(
        q: pl.Tensor[[16, 64], pl.FP32],
        keys: pl.Tensor[[128, 64], pl.FP32],
        at: pl.Tensor[[32], pl.INT32],
        out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ):
        for block in pl.spmd(2, name_hint="scores"):
            rows = pl.create_l1([16, 64], pl.FP32)
            for i in pl.range(16):
                row = pl.cast(pl.read(at, [block * 16 + i]), pl.INDEX)
                rows = pl.gather_row(rows, keys, [i, 0], [row, 0], [1, 64], valid_shape=[1, 64])
            found = pl.matmul(q, rows, b_trans=True, out_dtype=pl.FP32)
            out[:, block * 16 : block * 16 + 16] = found
        return out

    q, keys, at = floats(16, 64), floats(128, 64), RNG.integers(0, 128, 32).astype(np.int32)
    out = np.zeros((16, 32), np.float32)
    call(scores, target, q, keys, at, out)
    np.testing.assert_allclose(out, q @ keys[at].T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_a_transposed_operand(target: str) -> None:
    """`pl.tile.transpose_view` of an operand is ``b_trans=True``."""

    @pl.jit
    def product(
        x: pl.Tensor[[16, 64], pl.FP16],
        w: pl.Tensor[[32, 64], pl.FP16],
        out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:, :] = pl.matmul(x, pl.tile.transpose_view(w), out_dtype=pl.FP32)
        return out

    x, w = floats(16, 64).astype(np.float16), floats(32, 64).astype(np.float16)
    out = np.zeros((16, 32), np.float32)
    call(product, target, x, w, out)
    wanted = x.astype(np.float64) @ w.astype(np.float64).T
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_parts_of_a_loaded_matrix(target: str) -> None:
    """A kernel that loads whole matrices for products may use slices of them."""

    @pl.jit.incore
    def by_parts(
        x: pl.Tensor[[16, 256], pl.FP32],
        w: pl.Tensor[[256, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ):
        a = pl.load(x, [0, 0], [16, 256], target_memory=pl.Mem.Mat)
        b = pl.load(w, [0, 0], [256, 64], target_memory=pl.Mem.Mat)
        acc = pl.matmul(a[:, 0:64], b[0:64, :])
        for i in pl.range(1, 4):
            part = pl.tile.slice(a, [16, 64], [0, i * 64])
            acc = pl.matmul_acc(acc, part, b[i * 64 : i * 64 + 64, :])
        pl.store(acc, [0, 0], out)
        return out

    @pl.jit
    def product(
        x: pl.Tensor[[16, 256], pl.FP32],
        w: pl.Tensor[[256, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ):
        by_parts(x, w, out)
        return out

    x, w = floats(16, 256), floats(256, 64)
    out = np.zeros((16, 64), np.float32)
    call(product, target, x, w, out)
    np.testing.assert_allclose(out, x.astype(np.float64) @ w, rtol=1e-4, atol=1e-4)
