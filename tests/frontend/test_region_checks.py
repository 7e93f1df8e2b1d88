"""Checks of regions that no result on this machine would reveal: warnings and errors."""

# Kernels are only parsed or called by the tests' helpers.
# pyright: reportUnusedFunction=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.errors import CallError, EvaluationError, InvalidOperationError, PyptoWarning
from pypto.runtime import RunConfig

X = np.arange(1024, dtype=np.float32).reshape(32, 32)


def parsed(kernel: Any, *args: Any) -> None:
    """Parse a kernel of a tensor and an output, and further arguments between."""
    kernel.parse(X, *args, np.zeros_like(X))


def test_a_tensor_is_stored_to_in_one_way() -> None:
    """Slice and element stores to one tensor do not mix in a region, in any order or in loops."""

    @pl.jit
    def element_first(x: pl.Tensor[[32, 32], pl.FP32], o: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        for b in pl.spmd(2):
            for i in pl.range(4):
                pl.write(o, [b * 16, i], pl.read(x, [b, i]))
            o[b * 16 + 1 : b * 16 + 16, :] = x[b * 16 + 1 : b * 16 + 16, :]

    with pytest.raises(InvalidOperationError, match="parts of 'o' and single elements of it"):
        parsed(element_first)


def test_tensors_that_begin_as_one_number_may_have_elements_written() -> None:
    """So may two tensors of one region, each in its way, and a constant loop beside a slice."""

    @pl.jit
    def kernel(
        x: pl.Tensor[[32, 32], pl.FP32],
        o: pl.Out[pl.Tensor[[32, 32], pl.FP32]],
        p: pl.Out[pl.Tensor[[32, 32], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            o[:, :] = pl.full([32, 32], dtype=pl.FP32, value=0.0)
            pl.write(o, [1, 1], pl.read(x, [2, 2]))
            p[0:16, :] = x[0:16, :]
            p[16:32, :] = x[0:16, :]
        with pl.at(level=pl.Level.CORE_GROUP):
            for i in pl.range(8):
                pl.write(p, [0, i], 5.0)
            p[1:2, :] = x[3:4, :]

    out, parts = np.zeros_like(X), np.zeros_like(X)
    kernel(X, out, parts)
    assert out[1, 1] == X[2, 2]
    assert np.count_nonzero(out) == 1
    assert (parts[0, :8] == 5).all()
    assert (parts[1] == X[3]).all()


def test_what_is_not_valid_is_not_computed_with() -> None:
    """Operands with fewer valid elements than are used, and slices without any, give warnings."""

    @pl.jit
    def less(x: pl.Tensor[[32, 32], pl.FP32], o: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            some = pl.slice(x, [32, 32], [0, 0], valid_shape=[4, 32])
            o[:, :] = pl.add(x[:, :], some)

    @pl.jit
    def none(x: pl.Tensor[[32, 32], pl.FP32], o: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            some = pl.slice(x, [32, 32], [0, 0], valid_shape=[4, 32])
            o[0:8, :] = some[16:24, :]

    with pytest.warns(
        PyptoWarning, match=r"\[32, 32\] of some is computed with, of which \[4, 32\]"
    ):
        parsed(less)
    with pytest.warns(PyptoWarning, match="this part of the tile has no valid element"):
        parsed(none)


def test_iterations_and_blocks_write_parts_of_their_own() -> None:
    """With affine offsets, blocks and parallel iterations that overlap get warnings."""

    @pl.jit
    def blocks(x: pl.Tensor[[32, 32], pl.FP32], o: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        for b in pl.spmd(4):
            o[b * 4 : b * 4 + 8, :] = x[b * 8 : b * 8 + 8, :]

    @pl.jit
    def iterations(x: pl.Tensor[[32, 32], pl.FP32], o: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        for row in pl.parallel(0, 32, 4):
            with pl.at(level=pl.Level.CORE_GROUP):
                o[row : row + 5, :] = x[0:5, :]

    @pl.jit
    def right(x: pl.Tensor[[32, 32], pl.FP32], o: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        for row in pl.parallel(0, 32, 4):
            with pl.at(level=pl.Level.CORE_GROUP):
                o[row : row + 4, :] = x[0:4, :]

    with pytest.warns(PyptoWarning, match="blocks of the launch write the same part of 'o'"):
        parsed(blocks)
    with pytest.warns(PyptoWarning, match="iterations of the loop write the same part of 'o'"):
        parsed(iterations)
    parsed(right)


def test_what_an_iteration_makes_is_its_own() -> None:
    """Tensors filled with one value, and those made in an inner loop, are private."""

    @pl.jit
    def kernel(x: pl.Tensor[[32, 32], pl.FP32], o: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        for b in pl.parallel(4):
            total = pl.create_tensor([8, 32], dtype=pl.FP32, init_value=0.0)
            for _ in pl.range(2):
                twice = pl.create_tensor([8, 32], dtype=pl.FP32)
                flat = pl.reshape(twice, [1, 256])
                with pl.at(level=pl.Level.CORE_GROUP):
                    twice[:, :] = pl.mul(x[b * 8 : b * 8 + 8, :], 2.0)
                with pl.at(level=pl.Level.CORE_GROUP):
                    flat[:, 0:32] = flat[:, 32:64]
                with pl.at(level=pl.Level.CORE_GROUP):
                    total[:, :] = pl.add(total[:, :], twice[:, :])
            with pl.at(level=pl.Level.CORE_GROUP):
                o[b * 8 : b * 8 + 8, :] = total[:, :]

    parsed(kernel)


def test_blocks_in_other_orders() -> None:
    """A run on copies in other orders finds blocks that conflict through data; sums may differ."""

    @pl.jit
    def rows(
        x: pl.Tensor[[32, 32], pl.FP32],
        places: pl.Tensor[[4], pl.INT32],
        o: pl.Out[pl.Tensor[[32, 32], pl.FP32]],
    ):
        for b in pl.spmd(4):
            row = pl.cast(pl.read(places, [b]), pl.INDEX)
            o[row : row + 8, :] = pl.add(x[b * 8 : b * 8 + 8, :], 1.0)

    @pl.jit(target="interpreter")
    def added(x: pl.Tensor[[32, 32], pl.FP32], o: pl.InOut[pl.Tensor[[8, 32], pl.FP32]]):
        for b in pl.spmd(4):
            o = pl.assemble(o, x[b * 8 : b * 8 + 8, :], [0, 0], atomic=pl.AtomicType.Add)

    config = RunConfig(check_blocks=True)
    out = np.zeros_like(X)
    with pytest.raises(EvaluationError) as caught:
        rows.compile(X, np.zeros(4, np.int32), out)(
            X, np.array([0, 8, 12, 24], np.int32), out, config=config
        )
    assert caught.value.slug == "block-order"
    assert caught.value.message == (
        "blocks of this launch depend on their order: o[12, 0] is 513.0 in order, and 385.0 from "
        "the last to the first"
    )
    assert caught.value.location.begin_line > 0
    assert (out == 0).all()  # the call itself has not run
    rows(X, np.array([24, 8, 16, 0], np.int32), out, config=config)
    assert (out[24:] == X[:8] + 1).all()
    sums, ones = np.ones((8, 32), np.float32), np.full_like(X, 0.1)
    ones[8:16] = 3e5
    added(ones, sums, config=config)
    with pytest.raises((CallError, TypeError), match="check_blocks is True or False"):
        RunConfig(check_blocks=1)  # pyright: ignore[reportArgumentType]
