"""Partly valid values of regions, and tensors and tiles filled with one value."""

# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# A value of a region is a tile that authors call a tensor: ops that accept only tiles accept it.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto.language.parser.diagnostics import ParserError

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(23)


@pytest.fixture(params=["interpreter", "cpu"])
def target(request: pytest.FixtureRequest) -> Any:
    return request.param


def reread(kernel: Any, *args: Any) -> None:
    """Check that the program of a call round-trips through its text."""
    program = kernel.parse(*args)
    ir.assert_structural_equal(ir.parse(str(program)), program)


def test_valid_sizes_are_computed_in_the_call(target: Any) -> None:
    """The sizes of `pl.set_validshape` are expressions, like those of `pl.slice`."""

    @pl.jit(target=target)
    def head(
        x: pl.Tensor[[32, 64], pl.FP32],
        count: pl.Tensor[[1], pl.INT32],
        y: pl.InOut[pl.Tensor[[32, 64], pl.FP32]],
    ):
        rows = pl.cast(pl.read(count, [0]), pl.INDEX)
        for block in pl.spmd(2):
            row = block * 16
            tile = pl.mul(x[row : row + 16, :], 2.0)
            known = pl.set_validshape(tile, pl.max(pl.min(16, rows - row), 0), 64)
            y[row : row + 16, :] = known
        return y

    x, y = RNG.random((32, 64), np.float32), np.zeros((32, 64), np.float32)
    count = np.array([21], np.int32)
    reread(head, x, count, y)
    head(x, count, y)
    assert (y[:21] == 2 * x[:21]).all()
    assert not y[21:].any()


def test_each_region_has_its_own_number_of_valid_rows(target: Any) -> None:
    """A scalar that is not used after a region ends with it: the next one has another."""
    size = pl.dynamic("size")

    @pl.jit(target=target)
    def twice(
        x: pl.Tensor[[size, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[size, 64], pl.FP32]],
    ):
        count = pl.tensor.dim(x, 0)
        doubled = pl.create_tensor([32, 64], dtype=pl.FP32)
        for block in pl.spmd((count + 7) // 8):
            rows = pl.min(8, count - block * 8)
            part = pl.slice(x, [8, 64], [block * 8, 0], valid_shape=[rows, 64])
            doubled[block * 8 : block * 8 + 8, :] = pl.mul(part, 2.0)
        for block in pl.spmd((count + 7) // 8):
            rows = pl.min(8, count - block * 8)
            part = pl.slice(doubled, [8, 64], [block * 8, 0], valid_shape=[rows, 64])
            y[block * 8 : block * 8 + 8, :] = pl.add(part, 1.0)
        with pl.at(level=pl.Level.CORE_GROUP):
            rows = pl.min(count, 2)
            y[0:2, :] = pl.slice(doubled, [2, 64], [0, 0], valid_shape=[rows, 64])
        return y

    x, y = RNG.random((21, 64), np.float32), np.zeros((21, 64), np.float32)
    reread(twice, x, y)
    twice(x, y)
    assert (y[:2] == 2 * x[:2]).all()
    assert (y[2:] == 2 * x[2:] + 1).all()


def test_number_of_valid_rows_in_loops_and_branches(target: Any) -> None:
    """A name used as a tile's size has another value in each iteration or branch."""

    @pl.jit(target=target)
    def pieces(
        x: pl.Tensor[[64, 64], pl.FP32],
        counts: pl.Tensor[[4], pl.INT32],
        y: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            rows = pl.cast(pl.read(counts, [0]), pl.INDEX)
            part = pl.slice(x, [16, 64], [0, 0], valid_shape=[rows, 64])
            y[0:16, :] = part
            for i in pl.range(1, 3):
                rows = pl.cast(pl.read(counts, [i]), pl.INDEX)
                part = pl.slice(x, [16, 64], [i * 16, 0], valid_shape=[rows, 64])
                if rows > 8:
                    rows = pl.min(rows, 3)
                    few = pl.slice(x, [16, 64], [i * 16, 0], valid_shape=[rows, 64])
                    y[i * 16 : i * 16 + 16, :] = pl.mul(few, 3.0)
                else:
                    y[i * 16 : i * 16 + 16, :] = pl.mul(part, 2.0)
            rows = pl.cast(pl.read(counts, [0]), pl.INDEX)
            if rows > 5:
                rows = pl.cast(pl.read(counts, [3]), pl.INDEX)
            else:
                rows = pl.cast(pl.read(counts, [2]), pl.INDEX)
            part = pl.slice(x, [16, 64], [48, 0], valid_shape=[rows, 64])
            y[48:64, :] = part
        return y

    x, y = RNG.random((64, 64), np.float32), np.zeros((64, 64), np.float32)
    counts = np.array([5, 4, 12, 16], np.int32)
    wanted = np.zeros((64, 64), np.float32)
    for first, rows, factor in ((0, 5, 1), (16, 4, 2), (32, 3, 3), (48, 12, 1)):
        wanted[first : first + rows] = np.float32(factor) * x[first : first + rows]
    reread(pieces, x, counts, y)
    pieces(x, counts, y)
    assert (y == wanted).all()


def test_sums_of_rows_of_which_some_are_valid(target: Any) -> None:
    """A fully filled column is added to one with only some valid rows."""

    @pl.jit(target=target)
    def squares(
        x: pl.Tensor[[16, 64], pl.FP32],
        count: pl.Tensor[[1], pl.INT32],
        y: pl.InOut[pl.Tensor[[16, 1], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            rows = pl.cast(pl.read(count, [0]), pl.INDEX)
            total = pl.full([16, 1], dtype=pl.FP32, value=0.0)
            for k in pl.range(0, 64, 32):
                part = pl.slice(x, [16, 32], [0, k], valid_shape=[rows, 32])
                total = pl.add(total, pl.row_sum(pl.mul(part, part)))
            y[:, :] = pl.set_validshape(total, rows, 1)
        return y

    x, y = RNG.random((16, 64), np.float32), np.zeros((16, 1), np.float32)
    count = np.array([5], np.int32)
    reread(squares, x, count, y)
    squares(x, count, y)
    np.testing.assert_allclose(y[:5], (x[:5] ** 2).sum(1, keepdims=True), 1e-5)
    assert not y[5:].any()


def test_part_of_a_value_that_is_valid_in_part(target: Any) -> None:
    """The valid part of a slice follows from its value's: all, the beginning, or nothing."""

    @pl.jit(target=target)
    def parts(
        x: pl.Tensor[[8, 64], pl.FP32],
        count: pl.Tensor[[1], pl.INT32],
        y: pl.InOut[pl.Tensor[[8, 64], pl.FP32]],
    ):
        columns = pl.cast(pl.read(count, [0]), pl.INDEX)
        with pl.at(level=pl.Level.CORE_GROUP):
            known = pl.set_validshape(pl.mul(x[:], 2.0), 8, 24)
            y[0:4, 0:16] = known[0:4, 0:16]
            y[0:4, 16:32] = known[0:4, 16:32]
            some = pl.set_validshape(pl.mul(x[:], 3.0), 8, columns)
            y[4:8, 0:32] = some[4:8, 0:32]
            y[4:8, 32:64] = some[4:8, 32:64]
        return y

    x, y = RNG.random((8, 64), np.float32), np.zeros((8, 64), np.float32)
    count = np.array([40], np.int32)
    reread(parts, x, count, y)
    parts(x, count, y)
    wanted = np.zeros((8, 64), np.float32)
    wanted[:4, :24], wanted[4:, :40] = 2 * x[:4, :24], 3 * x[4:, :40]
    assert (y == wanted).all()


def test_column_beside_few_rows_of_valid_columns(target: Any) -> None:
    """The valid columns of one row are divided by their sum."""

    @pl.jit(target=target)
    def shares(x: pl.Tensor[[1, 32], pl.FP32], y: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            known = pl.set_validshape(x[:], 1, 8)
            y[:] = pl.row_expand_div(known, pl.row_sum(known))[:, 0:8]
        return y

    x, y = RNG.random((1, 32), np.float32), np.zeros((1, 8), np.float32)
    shares(x, y)
    assert np.allclose(y, x[:, :8] / x[:, :8].sum(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [pl.BF16, pl.INT8, pl.UINT8, pl.FP16, pl.INT32])
def test_tensors_and_tiles_of_one_value(dtype: pl.DataType, target: Any) -> None:
    """For every element type, including those that no instruction fills a tile with."""

    @pl.jit(target=target)
    def filled(y: pl.Out[pl.Tensor[[24, 96], dtype]], z: pl.Out[pl.Tensor[[16, 64], dtype]]):
        begun = pl.create_tensor([24, 96], dtype=dtype, init_value=3)
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:] = begun[:, :]
            z[:] = pl.full([16, 64], dtype=dtype, value=5)
        return y, z

    y, z = np.zeros((24, 96), dtype.numpy), np.zeros((16, 64), dtype.numpy)
    filled(y, z)
    assert (y == 3).all()
    assert (z == 5).all()


@pytest.mark.parametrize("rows", [1, 300, 512])
def test_tensor_of_one_value_and_a_size_of_the_call(rows: int, target: Any) -> None:
    """`init_value=` fills any number of rows."""

    @pl.jit(target=target)
    def filled(n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[512, 128], pl.BF16]]):
        begun = pl.create_tensor([n, 128], dtype=pl.BF16, init_value=1)
        with pl.at(level=pl.Level.CORE_GROUP):
            for r in pl.range(n):
                y[r : r + 1, :] = begun[r : r + 1, :]
        return y

    y = np.zeros((512, 128), pl.BF16.numpy)
    filled(rows, y)
    assert (y[:rows] == 1).all()
    assert not y[rows:].any()


@pytest.mark.parametrize("mode", [pl.SplitMode.UP_DOWN, pl.SplitMode.LEFT_RIGHT])
def test_halves_of_a_value(mode: pl.SplitMode, target: Any) -> None:
    """Each vector core has half of the rows, or of the columns, of a product."""
    by_rows = mode is pl.SplitMode.UP_DOWN

    @pl.jit(target=target)
    def halves(
        x: pl.Tensor[[32, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            product = pl.matmul(x[:, :], w[:, :], out_dtype=pl.FP32)
            for lane in pl.split_aiv(2, mode=mode):
                mine = pl.mul(pl.aiv_shard(product), 2.0)
                if by_rows:
                    y[lane * 16 : lane * 16 + 16, :] = mine
                else:
                    y[:, lane * 32 : lane * 32 + 32] = mine
        return y

    x, w = RNG.random((32, 64), np.float32), RNG.random((64, 64), np.float32)
    y = np.zeros((32, 64), np.float32)
    reread(halves, x, w, y)
    halves(x, w, y)
    assert np.allclose(y, 2 * (x @ w), rtol=1e-5)


def test_halves_are_those_of_a_loop_over_the_cores() -> None:
    """Outside of `pl.split_aiv` there are no halves, and an odd number of rows has none."""

    @pl.jit
    def alone(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:] = pl.aiv_shard(x[:, :])

    @pl.jit
    def odd(x: pl.Tensor[[31, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
                y[lane : lane + 15, :] = pl.aiv_shard(x[:, :])

    y = np.zeros((32, 64), np.float32)
    for kernel, rows in ((alone, 32), (odd, 31)):
        with pytest.raises(ParserError) as caught:
            kernel.parse(np.zeros((rows, 64), np.float32), y)
        assert caught.value.slug == "split-aiv"


def test_reshapes_of_values_that_lie_otherwise(target: Any) -> None:
    """Where rows of one shape are padded on chip, a value is reshaped via global memory."""

    @pl.jit(target=target)
    def scales(
        x: pl.Tensor[[8, 512], pl.FP32],
        z: pl.Tensor[[4, 6], pl.FP32],
        y: pl.Out[pl.Tensor[[8, 4], pl.FP32]],
        w: pl.Out[pl.Tensor[[3, 8], pl.FP32]],
    ):
        for block in pl.spmd(2):
            groups = pl.reshape(x[block * 4 : block * 4 + 4, :], [16, 128])
            largest = pl.row_max(pl.abs(groups))
            y[block * 4 : block * 4 + 4, :] = pl.reshape(largest, [4, 4])
        with pl.at(level=pl.Level.CORE_GROUP):
            w[:, :] = pl.mul(pl.reshape(pl.add(z, 1.0), [3, 8]), 2.0)
        return y, w

    x, z = RNG.random((8, 512), np.float32) - 0.5, RNG.random((4, 6), np.float32)
    y, w = np.zeros((8, 4), np.float32), np.zeros((3, 8), np.float32)
    reread(scales, x, z, y, w)
    scales(x, z, y, w)
    assert (y == np.abs(x.reshape(8, 4, 128)).max(2)).all()
    assert (w == 2 * (z + 1).reshape(3, 8)).all()


def test_sizes_that_are_asked_for_in_a_call(target: Any) -> None:
    """The sizes of a tensor or a view are computed inline, `pl.tensor.dim` included."""
    size = pl.dynamic("size")

    @pl.jit(target=target)
    def later(
        x: pl.Tensor[[size, 8, 64], pl.FP32],
        y: pl.InOut[pl.Tensor[[size, 8, 64], pl.FP32]],
    ):
        flat = pl.reshape(y, [pl.tensor.dim(y, 0) * 8, 64])
        rest = pl.slice(x, [pl.tensor.dim(x, 0) - 1, 8, 64], [1, 0, 0])
        twice = pl.create_tensor([pl.tensor.dim(x, 0) * 8, 64], dtype=pl.FP32)
        for block in pl.spmd(pl.tensor.dim(rest, 0)):
            twice[block * 8 : block * 8 + 8, :] = pl.mul(rest[block], 2.0)
        for block in pl.spmd(pl.tensor.dim(x, 0) - 1):
            flat[block * 8 : block * 8 + 8, :] = twice[block * 8 : block * 8 + 8, :]
        return y

    x = RNG.random((3, 8, 64), np.float32)
    y = np.zeros_like(x)
    reread(later, x, y)
    later(x, y)
    assert (y[:2] == 2 * x[1:]).all()
    assert not y[2].any()


def test_parts_that_are_given_to_a_spliced_function(target: Any) -> None:
    """A slice of a tensor, passed to an inlined function, is loaded for the product in it."""

    @pl.jit.inline
    def expert(x: pl.Tensor[[16, 64], pl.FP32], weight: pl.Tensor[[64, 32], pl.FP32]):
        return pl.matmul(x, weight)

    @pl.jit(target=target)
    def routed(
        x: pl.Tensor[[32, 64], pl.FP32],
        weights: pl.Tensor[[3, 64, 32], pl.FP32],
        y: pl.InOut[pl.Tensor[[3, 32, 32], pl.FP32]],
    ):
        for e in pl.spmd(3):
            for block in pl.range(2):
                row = block * 16
                y[e, row : row + 16, :] = expert(x[row : row + 16, :], weights[e])
        return y

    x, weights = RNG.random((32, 64), np.float32), RNG.random((3, 64, 32), np.float32)
    y = np.zeros((3, 32, 32), np.float32)
    reread(routed, x, weights, y)
    assert "_scratch" not in str(routed.parse(x, weights, y))
    assert "MemorySpace.Vec" not in str(routed.parse(x, weights, y))
    routed(x, weights, y)
    np.testing.assert_allclose(y, x @ weights, rtol=1e-5)


def test_rows_of_a_product_in_a_loop(target: Any) -> None:
    """A product whose rows are used in a loop is moved to vector memory before the loop, once."""

    @pl.jit(target=target)
    def combined(
        x: pl.Tensor[[16, 64], pl.FP32],
        weight: pl.Tensor[[64, 32], pl.FP32],
        order: pl.Tensor[[16], pl.INT32],
        y: pl.InOut[pl.Tensor[[16, 32], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            product = pl.matmul(x, weight)
            for row in pl.range(16):
                to = pl.cast(pl.read(order, [row]), pl.INDEX)
                part = pl.mul(product[row : row + 1, :], 2.0)
                y = pl.assemble(y, part, [to, 0], atomic=pl.AtomicType.Add)
        return y

    x, weight = RNG.random((16, 64), np.float32), RNG.random((64, 32), np.float32)
    order = np.arange(16, dtype=np.int32)[::-1].copy()
    y = np.ones((16, 32), np.float32)
    reread(combined, x, weight, order, y)
    lines = str(combined.parse(x, weight, order, y)).splitlines()
    loop = next(index for index, line in enumerate(lines) if "pl.range(" in line)
    assert not any("_scratch" in line for line in lines[loop:])
    combined(x, weight, order, y)
    np.testing.assert_allclose(y, 1 + 2 * (x @ weight)[::-1], rtol=1e-5)
