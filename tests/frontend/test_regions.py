"""Regions, launches, tasks, inlined functions: what programs that use them compute."""

# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportPossiblyUnboundVariable=false
# A value of a region is a tile that authors call a tensor: ops that accept only tiles accept it.

from __future__ import annotations

import warnings
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.emit.host.device.generate import generate_orchestration
from pypto._src.errors import PyptoError, SerializeError
from pypto._src.ir.roles import core_type, kernels
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto.runtime import RunConfig
from tests import effort
from tests.examples.emitted import Emitted
from tests.natively import deferred

Array = np.ndarray[Any, Any]
TARGETS = ("interpreter", "cpu")
ROWS = pl.dynamic("ROWS")
RNG = np.random.default_rng(17)


def floats(*shape: int) -> Array:
    return RNG.random(shape, np.float32)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(autouse=True)
def kernels_are_compiled_together() -> Generator[None]:
    with deferred():
        yield


def both_texts(kernel: Any, *args: Any) -> None:
    """Check that the program of a call round-trips through its text."""
    program = kernel.parse(*args)
    ir.assert_structural_equal(ir.parse(str(program)), program)


def on_each_core(kernel: Any, *args: Any) -> None:
    """Check that each kernel is for one kind of core, and that the emitted kernels agree."""
    program = kernel.parse(*args)
    lowered = PassManager.get_strategy(OptimizationStrategy.Default).run_passes(program)
    for each in kernels(lowered):
        core_type(each)
    generate_orchestration(lowered, lowered.get_function(program.name))
    given = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    Emitted(program).run(program.name, given)
    kernel(*args)
    for one, other in zip(given, args, strict=True):
        np.testing.assert_allclose(
            np.asarray(one, np.float64), np.asarray(other, np.float64), rtol=1e-2, atol=1e-3
        )


def test_region(target: Any) -> None:
    """A slice is a copy: later stores do not change it."""

    @pl.jit(target=target)
    def stamp(
        dark: pl.Tensor[[8, 32], pl.FP32],
        board: pl.InOut[pl.Tensor[[32, 32], pl.FP32]],
        seen: pl.Out[pl.Tensor[[32, 32], pl.FP32]],
    ):
        for k in pl.range(4):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="stamp"):
                row = k * 8
                before = board[row : row + 8, :]
                board[row : row + 8, :] = pl.add(before, dark)
                seen[row : row + 8, :] = before
        return board

    dark, board, seen = floats(8, 32), floats(32, 32), np.zeros((32, 32), np.float32)
    first = board.copy()
    both_texts(stamp, dark, board, seen)
    stamp(dark, board, seen)
    assert (seen == first).all()
    assert (board == first + np.tile(dark, (4, 1))).all()


def test_value_that_leaves_a_region(target: Any) -> None:
    """A value that a later region reads is a tensor between them; it may reuse a tensor's name."""

    @pl.jit(target=target)
    def weigh(ore: pl.Tensor[[64, 64], pl.FP32], grade: pl.Out[pl.Tensor[[64, 1], pl.FP32]]):
        kept = pl.create_tensor([64, 64], dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP):
            kept[:] = pl.mul(ore, ore)
        with pl.at(level=pl.Level.CORE_GROUP):
            kept = pl.add(kept, 1.0)
            unused = pl.add(kept, 2.0)
            shown = pl.mul(unused, 0.0)
        with pl.at(level=pl.Level.CORE_GROUP):
            grade[:] = pl.add(pl.row_sum(kept), pl.row_sum(shown))
        return grade

    ore, grade = floats(64, 64), np.zeros((64, 1), np.float32)
    both_texts(weigh, ore, grade)
    weigh(ore, grade)
    assert np.allclose(grade, (ore * ore + 1).sum(axis=1, keepdims=True), rtol=1e-5)


def test_value_made_anew_where_a_loop_always_runs(target: Any) -> None:
    """A name that each iteration of a loop assigns in a region has a value before and after it."""

    @pl.jit(target=target)
    def replaced(x: pl.Tensor[[2, 16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            kept = pl.add(x[0, :, :], 1.0)
            left = pl.add(x[1, :, :], 1.0)
        for _ in pl.range(2):
            with pl.at(level=pl.Level.CORE_GROUP):
                kept = pl.mul(x[1, :, :], 2.0)
        for i in pl.unroll(2):
            with pl.at(level=pl.Level.CORE_GROUP):
                left = pl.mul(x[i, :, :], 3.0)
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:] = pl.add(kept, left)
        return out

    x, out = floats(2, 16, 64), np.zeros((16, 64), np.float32)
    both_texts(replaced, x, out)
    replaced(x, out)
    assert np.allclose(out, 5 * x[1], rtol=1e-5)


def test_value_carried_around_a_region(target: Any) -> None:
    """A region in a loop may update the value of a name."""

    @pl.jit(target=target)
    def powers(x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        acc = pl.create_tensor([16, 64], dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP):
            acc[:] = pl.mul(x, 1.0)
        for _ in pl.range(3):
            with pl.at(level=pl.Level.CORE_GROUP):
                acc = pl.mul(acc, x)
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:] = pl.mul(acc, 1.0)
        return out

    x, out = floats(16, 64), np.zeros((16, 64), np.float32)
    powers(x, out)
    assert np.allclose(out, x**4, rtol=1e-5)


def test_values_made_anew_in_loops(target: Any) -> None:
    """A value of a region may be updated in a loop; an alias of it keeps the old value."""

    @pl.jit(target=target)
    def sums(
        x: pl.Tensor[[8, 32], pl.FP32],
        y: pl.InOut[pl.Tensor[[8, 32], pl.FP32]],
        z: pl.Out[pl.Tensor[[8, 32], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            v = pl.mul(x, 2.0)
        for _ in pl.range(3):
            with pl.at(level=pl.Level.CORE_GROUP):
                y[:] = pl.add(y, v)
            with pl.at(level=pl.Level.CORE_GROUP):
                v = pl.add(v, 1.0)
        made = pl.create_tensor([8, 32], dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP):
            made[:] = pl.mul(v, 2.0)
        before = made
        part = made[0:4, :]
        with pl.at(level=pl.Level.CORE_GROUP):
            made = pl.mul(made, 100.0)
        with pl.at(level=pl.Level.CORE_GROUP):
            z[:] = pl.add(made, before)
            z[0:4, :] = pl.add(z[0:4, :], part)

    x, y, z = floats(8, 32), np.zeros((8, 32), np.float32), np.zeros((8, 32), np.float32)
    both_texts(sums, x, y, z)
    sums(x, y, z)
    assert np.allclose(y, 6 * x + 3, rtol=1e-5)
    wanted = 202 * (2 * x + 3)
    wanted[:4] += 2 * (2 * x[:4] + 3)
    assert np.allclose(z, wanted, rtol=1e-5)


def test_blocks(target: Any) -> None:
    """Both forms of a launch run each block once, with its index."""

    @pl.jit(target=target)
    def fade(
        strip: pl.Tensor[[96, 64], pl.FP16],
        gain: pl.Tensor[[96, 1], pl.FP32],
        faded: pl.Out[pl.Tensor[[96, 64], pl.FP32]],
    ):
        middle = pl.create_tensor([96, 64], dtype=pl.FP32)
        with pl.spmd(6, name_hint="fade_rows") as done:
            top = pl.tile.get_block_idx() * 16
            warm = pl.cast(strip[top : top + 16, :], pl.FP32)
            middle[top : top + 16, :] = pl.row_expand_mul(warm, gain[top : top + 16, :])
        with pl.spmd(12, deps=[done]) as more:  # noqa: SIM117  a with statement has one item
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="carrier"):
                top = pl.get_block_idx() * 8
                faded[top : top + 8, :] = pl.add(middle[top : top + 8, :], 1.0)
        for b in pl.spmd(pl.tensor.dim(strip, 0) // 16, allow_early_resolve=True):
            faded[b * 16 : b * 16 + 16, :] = pl.mul(faded[b * 16 : b * 16 + 16, :], 2.0)
        pl.system.task_dummy(deps=[more])
        return faded

    strip = floats(96, 64).astype(np.float16)
    gain, faded = floats(96, 1), np.zeros((96, 64), np.float32)
    both_texts(fade, strip, gain, faded)
    names = [function.name for function in fade.lower(strip, gain, faded).functions_]
    assert names == ["carrier", "fade", "fade_incore_0", "fade_rows"]
    fade(strip, gain, faded)
    assert np.allclose(faded, (strip.astype(np.float32) * gain + 1) * 2, rtol=1e-6)


def test_predicates(target: Any) -> None:
    """A launch whose predicate is false leaves its outputs unchanged, and is still a task."""

    @pl.jit(target=target)
    def kernel(
        x: pl.Tensor[[32, 32], pl.FP32],
        counts: pl.Tensor[[2], pl.INT32],
        y: pl.InOut[pl.Tensor[[32, 32], pl.FP32]],
    ):
        with pl.spmd(2, predicate=(counts[0] > 3)) as first:
            row = pl.tile.get_block_idx() * 16
            y[row : row + 16, :] = pl.mul(x[row : row + 16, :], 2.0)
        with pl.at(level=pl.Level.CORE_GROUP, deps=[first]):
            y[:] = pl.add(y, 1.0)
        for b in pl.spmd(2, predicate=counts[1] == 0):
            y[b * 16 : b * 16 + 16, :] = pl.mul(y[b * 16 : b * 16 + 16, :], 3.0)
        return y

    x, y = floats(32, 32), floats(32, 32)
    for counts in ([4, 1], [3, 0], [9, 0], [0, 1]):
        wanted = (x * 2 if counts[0] > 3 else y) + 1
        wanted = wanted * 3 if counts[1] == 0 else wanted
        numbers = np.array(counts, np.int32)
        both_texts(kernel, x, numbers, y)
        kernel(x, numbers, y)
        assert np.allclose(y, wanted, rtol=1e-6)


def test_names_of_kernels(target: Any) -> None:
    """A region names its kernels, including those for each kind of core; any identifier will do."""

    @pl.jit(target=target)
    def double(x: pl.Tensor[[32, 32], pl.FP32], y: pl.Out[pl.Tensor[[32, 32], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="union"):
            twice = pl.add(x, x)
        for b in pl.spmd(2, name_hint="square"):
            product = pl.matmul(twice[b * 16 : b * 16 + 16, :], x)
            y[b * 16 : b * 16 + 16, :] = pl.add(product, 1.0)
        with pl.incore(name_hint="double"):
            pl.assemble(y, pl.mul(y, 0.5), [0, 0])
        return y

    x, y = floats(32, 32), np.zeros((32, 32), np.float32)
    both_texts(double, x, y)
    names = [function.name for function in double.lower(x, y).functions_]
    assert names == ["double", "double_1", "square_aic", "square_aiv", "union"]
    double(x, y)
    assert np.allclose(y, ((x + x) @ x + 1) / 2, rtol=1e-5)
    program = double.parse(x, y)
    again = ir.deserialize(ir.serialize(program))
    ir.assert_structural_equal(again, program)
    assert 'pl.incore(name_hint="union")' in str(again)
    assert "statement.scope incore @union {" in ir.to_statement_text(program)
    with pytest.raises(SerializeError, match="has an identifier as name"):
        ir.deserialize(ir.serialize(program).replace(b"\xa5union", b"\xa5uni n"))


@pl.jit.inline
def centred(block: pl.Tensor[[16, 64], pl.FP32], scale: pl.Scalar[pl.FP32] = 1.0):
    mean = pl.mul(pl.row_sum(block), 1.0 / 64)
    return pl.mul(pl.row_expand_sub(block, mean), scale), mean


@pl.jit.inline(auto_scope=False)
def centre_rows(
    raw: pl.Tensor, flat: pl.Out[pl.Tensor], means: pl.Tensor, row: pl.Scalar[pl.INDEX]
):
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="centre") as done:
        even, mean = centred(raw[row : row + 16, :], scale=2.0)
        flat[row : row + 16, :] = even
        means[row : row + 16, :] = mean
    return done


def test_spliced_functions(target: Any) -> None:
    """Values and writes of inlined functions are the caller's; tasks pass through them."""

    @pl.jit(auto_scope=False, target=target)
    def centre(
        raw: pl.Tensor[[64, 64], pl.FP32],
        flat: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        means: pl.Out[pl.Tensor[[64, 1], pl.FP32]],
    ):
        raw.bind_dynamic(0, ROWS)
        flat.bind_dynamic(0, ROWS)
        means.bind_dynamic(0, ROWS)
        done: pl.Array[4, pl.TASK_ID] = pl.array.create(4, pl.TASK_ID)
        last = None
        with pl.manual_scope():
            for i in pl.parallel(ROWS // 16):
                done[i] = centre_rows(raw, flat, means, i * 16)
                last = done[i]
        with pl.at(level=pl.Level.CORE_GROUP, deps=[done[i] for i in range(4)]) as end:
            means[:] = pl.mul(means, 2.0)
        joined: pl.Scalar[pl.TaskId] = pl.system.task_dummy(deps=[end, last, None])
        pl.system.task_dummy(deps=[joined])
        return flat, means

    raw, flat, means = floats(64, 64), np.zeros((64, 64), np.float32), np.zeros((64, 1), np.float32)
    both_texts(centre, raw, flat, means)
    centre(raw, flat, means)
    mean = raw.mean(axis=1, keepdims=True)
    assert np.allclose(means, 2 * mean, rtol=1e-5)
    assert np.allclose(flat, 2 * (raw - mean), atol=1e-5)


def test_loops_of_regions(target: Any) -> None:
    """Pipelines count like loops, unrolled loops give constants, both vector cores work."""

    @pl.jit(target=target)
    def loops(x: pl.Tensor[[64, 128], pl.FP32], out: pl.Out[pl.Tensor[[64, 128], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            for i in pl.pipeline(0, 64, 16, stage=2):
                out[i : i + 16, :] = pl.add(x[i : i + 16, :], 1.0)
        for half in pl.unroll(2):
            with pl.at(level=pl.Level.CORE_GROUP):
                first = half * 64
                factor = [2.0, 3.0][half]
                out[:, first : first + 64] = pl.mul(out[:, first : first + 64], factor)
        with pl.at(level=pl.Level.CORE_GROUP):
            for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):
                row = lane * 32
                out[row : row + 32, :] = pl.add(out[row : row + 32, :], 1.0)
        return out

    x, out = floats(64, 128), np.zeros((64, 128), np.float32)
    both_texts(loops, x, out)
    loops(x, out)
    factors = np.repeat(np.float32([2, 3]), 64)
    assert np.allclose(out, (x + 1) * factors + 1, rtol=1e-6)


@pl.jit.inline
def layer(src: pl.Tensor, dst: pl.Tensor, odd: pl.Tensor):
    for i in pl.range(2):
        for j in pl.range(2):
            row = i * 32 + j * 16
            with pl.at(level=pl.Level.CORE_GROUP):
                dst[row : row + 16, :] = pl.add(src[row : row + 16, :], 1.0)
            if pl.read(odd, [i]) == 1:
                with pl.at(level=pl.Level.CORE_GROUP):
                    dst[row : row + 16, :] = pl.mul(dst[row : row + 16, :], 2.0)


def test_parts_of_one_tensor_in_loops(target: Any) -> None:
    """Regions of a loop read one part of a tensor and write another: the loop carries neither."""

    @pl.jit(target=target)
    def layers(
        x: pl.Tensor[[64, 128], pl.FP32],
        odd: pl.Tensor[[8], pl.INT32],
        out: pl.Out[pl.Tensor[[64, 128], pl.FP32]],
    ):
        kept = pl.create_tensor([4, 64, 128], dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP):
            kept[0, :, :] = x[:, :]
        for step in pl.unroll(3):
            layer(kept[step], kept[step + 1], odd)
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:, :] = kept[3]
        return out

    x, out = floats(64, 128), np.zeros((64, 128), np.float32)
    odd = np.array([0, 1] + [0] * 6, np.int32)
    both_texts(layers, x, odd, out)
    layers(x, odd, out)
    wanted = x.copy()
    for _ in range(3):
        wanted = (wanted + 1) * np.repeat(np.float32([1, 2]), 32)[:, None]
    np.testing.assert_allclose(out, wanted, rtol=1e-6)


def test_products(target: Any) -> None:
    """Products in regions: transposed, accumulated in loops, split along K, beside vector work."""
    rows, inner, columns = 32, 1024, 256

    @pl.jit(target=target)
    def gemm(
        x: pl.Tensor[[rows, inner], pl.BF16],
        w: pl.Tensor[[columns, inner], pl.BF16],
        y: pl.Out[pl.Tensor[[rows, columns], pl.BF16]],
        e: pl.Out[pl.Tensor[[rows, columns], pl.FP32]],
        z: pl.Out[pl.Tensor[[rows, 128], pl.FP32]],
    ):
        for block in pl.spmd(columns // 64, name_hint="gemm"):
            n0 = block * 64
            acc = pl.create_tensor([rows, 64], dtype=pl.FP32)
            for kb in pl.pipeline(0, inner, 128, stage=2):
                part = x[:, kb : kb + 128]
                weights = w[n0 : n0 + 64, kb : kb + 128]
                if kb == 0:
                    acc = pl.matmul(part, weights, b_trans=True, out_dtype=pl.FP32)
                else:
                    acc = pl.matmul_acc(acc, part, weights, b_trans=True)
            y[:, n0 : n0 + 64] = acc
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="mixed"):
            for block in pl.range(columns // 64):
                n0 = block * 64
                s = pl.matmul(x, w[n0 : n0 + 64, :], b_trans=True, out_dtype=pl.FP32)
                e[:, n0 : n0 + 64] = pl.exp(pl.mul(s, 0.01))
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="chain"):
            acc = pl.create_tensor([rows, 128], dtype=pl.FP32)
            for kb in pl.range(2):
                p = pl.cast(e[:, kb * 64 : kb * 64 + 64], pl.BF16)
                v = w[kb * 64 : kb * 64 + 64, 0:128]
                acc = pl.matmul_acc(acc, p, v, init_cond=kb == 0)
            z[:] = pl.add(acc, 1.0)
        return y, e, z

    bf16 = pl.BF16.numpy
    x, w = (RNG.normal(size=s).astype(bf16) for s in ((rows, inner), (columns, inner)))
    y, e = np.zeros((rows, columns), bf16), np.zeros((rows, columns), np.float32)
    z = np.zeros((rows, 128), np.float32)
    both_texts(gemm, x, w, y, e, z)
    gemm(x, w, y, e, z)
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    assert np.allclose(y.astype(np.float64), exact, rtol=2**-8, atol=1e-3)
    assert np.allclose(e, np.exp(exact * 0.01), rtol=1e-5)
    wanted = e[:, :128].astype(bf16).astype(np.float64) @ w[:128, :128].astype(np.float64) + 1
    assert np.allclose(z, wanted, rtol=1e-4, atol=1e-4)


@pl.jit.inline
def doubled(source: pl.Tensor, target: pl.Tensor, head: pl.Scalar[pl.INDEX]):
    with pl.at(level=pl.Level.CORE_GROUP):
        target[head * 8 : head * 8 + 8, :] = pl.mul(source[head * 8 : head * 8 + 8, :], 2.0)
    return target


def test_other_shapes(target: Any) -> None:
    """A reshaped tensor is the same memory, outside and inside of regions."""

    @pl.jit(target=target)
    def heads(
        x: pl.Tensor[[4, 512], pl.FP32],
        y: pl.Out[pl.Tensor[[4, 512], pl.FP32]],
        z: pl.Out[pl.Tensor[[2048], pl.FP32]],
    ):
        x_heads = pl.reshape(x, [32, 64])
        y_heads = pl.reshape(y, [32, 64])
        for head in pl.parallel(4):
            y_heads = doubled(x_heads, y_heads, head)
        kept = pl.create_tensor([32, 64], dtype=pl.FP32, manual_dep=True)
        with pl.at(level=pl.Level.CORE_GROUP):
            kept[:] = pl.add(y_heads, 1.0)
            z_heads = pl.reshape(z, [32, 64])
            z_heads[:] = pl.add(kept[:], 1.0)
        return y, z

    x, y, z = floats(4, 512), np.zeros((4, 512), np.float32), np.zeros(2048, np.float32)
    both_texts(heads, x, y, z)
    heads(x, y, z)
    assert (y == x * 2).all()
    assert np.allclose(z, (x * 2 + 2).ravel(), rtol=1e-6)


def test_operators_in_a_region(target: Any) -> None:
    """An operator accepts what its op accepts: whole tensors, and products directly."""

    @pl.jit(target=target)
    def signs(
        x: pl.Tensor[[16, 32], pl.FP32],
        w: pl.Tensor[[32, 32], pl.FP32],
        y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
        z: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            product = pl.matmul(x, w)
            y[:] = product * x + -x
            z[:] = pl.sel(product > x, 2.0 * product, x)
        return y, z

    x, w = (RNG.integers(-4, 5, shape).astype(np.float32) for shape in ((16, 32), (32, 32)))
    y, z = np.zeros_like(x), np.zeros_like(x)
    both_texts(signs, x, w, y, z)
    signs(x, w, y, z)
    product = x @ w
    assert (y == product * x - x).all()
    assert (z == np.where(product > x, 2 * product, x)).all()


def test_products_and_kept_values_as_tiles(target: Any) -> None:
    """An element of a product is read; a value of an earlier region is stored like a tile."""

    @pl.jit(target=target)
    def parts(
        x: pl.Tensor[[16, 32], pl.FP32],
        w: pl.Tensor[[32, 32], pl.FP32],
        y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
        z: pl.Out[pl.Tensor[[32, 32], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            product = pl.matmul(x, w)
            kept = pl.add(x, product[3, 5])
            for i in pl.range(2):
                product[i * 8 : i * 8 + 8, :] = x[0:8, :]
            kept = pl.add(kept, pl.sub(product, product))
            y[:] = kept
        with pl.at(level=pl.Level.CORE_GROUP):
            z[0:16, :] = x[:]
            z = pl.store(kept, [16, 0], z)

    x, w = (RNG.integers(-4, 5, shape).astype(np.float32) for shape in ((16, 32), (32, 32)))
    y, z = np.zeros_like(x), np.zeros_like(w)
    both_texts(parts, x, w, y, z)
    parts(x, w, y, z)
    assert (y == x + (x @ w)[3, 5]).all()
    assert (z == np.vstack([x, y])).all()


def test_elements_in_a_region(target: Any) -> None:
    """An element of a tensor is accessed in memory: no row has to fit a tile."""

    @pl.jit(target=target)
    def pick(
        index: pl.Tensor[[10], pl.INT32],
        x: pl.Tensor[[64, 16], pl.FP32],
        twice: pl.Out[pl.Tensor[[10], pl.INT32]],
        out: pl.Out[pl.Tensor[[10, 16], pl.FP32]],
    ):
        with pl.spmd(5):
            block = pl.tile.get_block_idx()
            for j in pl.range(2):
                i = block * 2 + j
                row = pl.cast(pl.read(index, [i]), pl.INDEX)
                out[i : i + 1, :] = x[row : row + 1, :]
                pl.write(twice, [i], pl.cast(row * 2, pl.INT32))
        return twice, out

    index = RNG.integers(0, 64, 10).astype(np.int32)
    x, twice, out = floats(64, 16), np.zeros(10, np.int32), np.zeros((10, 16), np.float32)
    both_texts(pick, index, x, twice, out)
    pick(index, x, twice, out)
    assert (twice == index * 2).all()
    assert (out == x[index]).all()


def test_entries(target: Any) -> None:
    """Omitted outputs are created; bound sizes vary; constants are captured."""

    def kernel(step: int) -> Any:
        @pl.jit(target=target)
        def scaled(
            x: pl.Tensor[[128, 64], pl.FP32],
            n: pl.Scalar[pl.INT32],
            y: pl.Out[pl.Tensor[[128, 64], pl.FP32]],
        ):
            x.bind_dynamic(0, ROWS)
            y.bind_dynamic(0, ROWS)
            for block in pl.spmd(ROWS // step):
                part = x[block * step : block * step + step, :]
                if n > 2:
                    part = pl.mul(part, 2.0)
                for _ in pl.range(n):
                    last = pl.add(part, 0.5)
                y[block * step : block * step + step, :] = last
            return y

        return scaled

    for rows in (64, 96):
        x, y = floats(rows, 64), np.zeros((rows, 64), np.float32)
        kernel(32)(x, 3, y, config=RunConfig())
        assert np.allclose(y, x * 2 + 0.5, rtol=1e-6)
        kernel(16)(x, 1, y)
        assert np.allclose(y, x + 0.5, rtol=1e-6)

    @pl.jit(target=target)
    def doubled(x: pl.Tensor, y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:] = pl.mul(x, 2.0)
        return y

    x = floats(64, 64)
    assert (doubled(x) == x * 2).all()


def test_values_in_regions(target: Any) -> None:
    """Values are accessed in parts; single elements select rows; tensors start at 0."""

    @pl.jit(target=target)
    def parts(
        x: pl.Tensor[[64, 64], pl.FP32],
        order: pl.Tensor[[64], pl.INT32],
        y: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        z: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        zeros = pl.create_tensor([64, 64], dtype=pl.FP32, init_value=0.0)
        with pl.at(level=pl.Level.CORE_GROUP):
            for i in pl.range(64):
                row = pl.cast(order[i], pl.INDEX)
                y[i : i + 1, :] = x[row : row + 1, :]
        with pl.at(level=pl.Level.CORE_GROUP):
            tile = pl.create_tensor([16, 64], dtype=pl.FP32)
            for c in pl.range(2):
                tile[:, c * 32 : c * 32 + 32] = pl.slice(x, [16, 32], [0, c * 32])
            same = tile
            tile[0:8, :] = x[32:40, :]
            zeros[0:16, :] = pl.add(tile, pl.mul(same, 10.0))
            zeros[16:32, 0:32] = same[:, 32:64]
        with pl.at(level=pl.Level.CORE_GROUP):
            z[:] = pl.add(zeros, 1.0)
        return y, z

    x, order = floats(64, 64), np.arange(64, dtype=np.int32)[::-1].copy()
    y, z = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    both_texts(parts, x, order, y, z)
    parts(x, order, y, z)
    assert (y == x[::-1]).all()
    wanted = np.ones((64, 64), np.float32)
    wanted[:16] += np.vstack([x[32:40], x[8:16]]) + 10 * x[:16]
    wanted[16:32, :32] += x[:16, 32:]
    assert np.allclose(z, wanted, rtol=1e-6)


def test_barriers(target: Any) -> None:
    """What blocks write before a barrier can be read by all of them after it."""

    @pl.jit(target=target)
    def turned(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        kept = pl.create_tensor([64, 64], dtype=pl.FP32)
        with pl.spmd(4, sync_start=True) as done:
            block = pl.tile.get_block_idx()
            row = block * 16
            kept[row : row + 16, :] = pl.mul(x[row : row + 16, :], 2.0)
            pl.system.syncall(core_type="mix")
            other = (3 - block) * 16
            y[row : row + 16, :] = kept[other : other + 16, :]
        pl.system.task_dummy(deps=[done])
        return y

    x, y = floats(64, 64), np.zeros((64, 64), np.float32)
    both_texts(turned, x, y)
    turned(x, y)
    assert (y == 2 * np.vstack([x[48:], x[32:48], x[16:32], x[:16]])).all()


def test_barriers_of_vector_cores(target: Any) -> None:
    """In a loop over the vector cores, where each core has its own scalars, and at its end."""

    @pl.jit(target=target)
    def turned(
        x: pl.Tensor[[64, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        kept = pl.create_tensor([64, 64], dtype=pl.FP32)
        back = pl.create_tensor([64, 64], dtype=pl.FP32)
        for block in pl.spmd(4, sync_start=True):
            first = block * 16
            for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):
                row = first + lane * 8
                kept[row : row + 8, :] = pl.mul(x[row : row + 8, :], 2.0)
                pl.system.syncall(core_type="mix")
                other = 56 - row
                back[row : row + 8, :] = kept[other : other + 8, :]
                pl.system.syncall(core_type="mix")
            other = 48 - first
            y[first : first + 16, :] = pl.matmul(back[other : other + 16, :], w[:, :])
        return y

    x, w, y = floats(64, 64), floats(64, 64), np.zeros((64, 64), np.float32)
    both_texts(turned, x, w, y)
    turned(x, w, y)
    back = 2 * x.reshape(8, 8, 64)[::-1].reshape(4, 16, 64)
    assert np.allclose(y, back[::-1].reshape(64, 64).astype(np.float64) @ w, atol=1e-4)


def test_blocks_add_to_one_region(target: Any) -> None:
    """A product split along K: what blocks add to one region is the sum over all of them."""

    @pl.jit(target=target)
    def split_k(
        a: pl.Tensor[[32, 256], pl.FP32],
        b: pl.Tensor[[256, 64], pl.FP32],
        c: pl.InOut[pl.Tensor[[32, 64], pl.FP32]],
        rows: pl.InOut[pl.Tensor[[4, 64], pl.FP32]],
    ) -> None:
        with pl.spmd(4):
            k = pl.tile.get_block_idx() * 64
            part = pl.matmul(a[:, k : k + 64], b[k : k + 64, :], out_dtype=pl.FP32)
            c = pl.assemble(c, part, [0, 0], atomic=pl.AtomicType.Add)
        with pl.at(level=pl.Level.CORE_GROUP):
            rows = pl.store(pl.load(b, [0, 0], [4, 64]), [0, 0], rows, atomic=pl.AtomicType.Add)

    a, b = floats(32, 256), floats(256, 64)
    c, rows = np.ones((32, 64), np.float32), np.ones((4, 64), np.float32)
    both_texts(split_k, a, b, c, rows)
    split_k(a, b, c, rows)
    wanted = 1 + a.astype(np.float64) @ b
    assert (np.abs(c - wanted) <= 1e-4).all()
    assert (rows == 1 + b[:4]).all()


def test_the_first_operand_says_what_is_valid(target: Any) -> None:
    """A sum over column slices, for any number of rows: the last block has fewer."""

    @pl.jit(target=target)
    def norms(x: pl.Tensor[[32, 128], pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        x.bind_dynamic(0, ROWS)
        out.bind_dynamic(0, ROWS)
        rows = pl.tensor.dim(x, 0)
        for block in pl.spmd((rows + 15) // 16, name_hint="norms"):
            first = block * 16
            count = pl.min(16, rows - first)
            total = pl.full([1, 16], dtype=pl.FP32, value=0.0)
            for k in pl.range(2):
                part = pl.slice(x, [16, 64], [first, k * 64], valid_shape=[count, 64])
                total = pl.add(total, pl.reshape(pl.row_sum(pl.mul(part, part)), [1, 16]))
            part = pl.slice(x, [16, 64], [first, 0], valid_shape=[count, 64])
            out[first : first + 16, :] = pl.row_expand_mul(part, pl.reshape(total, [16, 1]))

    for count in (5, 16, 21):
        x, out = floats(count, 128), np.zeros((count, 64), np.float32)
        both_texts(norms, x, out)
        again = np.zeros_like(out)
        Emitted(norms.parse(x, again)).run("norms", [x, again])
        norms(x, out)
        assert np.allclose(again, out, rtol=1e-6)
        sums = np.square(x, dtype=np.float64).sum(1, keepdims=True)
        np.testing.assert_allclose(out, x[:, :64] * sums, rtol=1e-5)


OPERANDS = (pl.BF16, pl.FP32, pl.INT8)
SIZES = ((1, 64, 128), (1, 1, 1), (3, 40, 24), (17, 33, 65), (16, 64, 1), (128, 128, 512))


def product_of(
    target: Any, size: tuple[int, int, int], dtype: Any, left: bool, right: bool
) -> tuple[Any, list[Array]]:
    """Return a matrix product with optionally transposed operands, and its arguments."""
    m, k, n = size
    total = pl.INT32 if dtype is pl.INT8 else pl.FP32
    a_shape, b_shape = [k, m] if left else [m, k], [n, k] if right else [k, n]

    @pl.jit(target=target)
    def product(
        a: pl.Tensor[a_shape, dtype],
        b: pl.Tensor[b_shape, dtype],
        once: pl.Out[pl.Tensor[[m, n], total]],
        twice: pl.Out[pl.Tensor[[m, n], total]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            once[:] = pl.matmul(a[:], b[:], a_trans=left, b_trans=right, out_dtype=total)
            if m * n < 1 << 15:
                acc = pl.create_tensor([m, n], dtype=total)
                for i in pl.range(2):
                    acc = pl.matmul_acc(
                        acc, a[:], b[:], a_trans=left, b_trans=right, init_cond=i == 0
                    )
                twice[:] = acc
            else:
                twice[:] = once

    given = [RNG.integers(-4, 5, s).astype(dtype.numpy) for s in (a_shape, b_shape)]
    return product, given + [np.zeros((m, n), total.numpy) for _ in range(2)]


@pytest.mark.parametrize("dtype", OPERANDS, ids=str)
@pytest.mark.parametrize(
    "size", effort.part(SIZES, 2, first=1), ids=lambda size: "x".join(map(str, size))
)
def test_sizes_of_products(target: Any, size: tuple[int, int, int], dtype: Any) -> None:
    """Products of a single row, of sizes that fill no boxes, and larger than Acc memory."""
    m, _, n = size
    first = SIZES.index(size) + OPERANDS.index(dtype)
    forms = effort.part(((False, False), (False, True), (True, False)), 3, first=first)
    products = [product_of(target, size, dtype, left, right) for left, right in forms]
    for product, arrays in products:
        both_texts(product, *arrays)
        product.compile(*arrays)  # compile all first: their kernels are compiled together
    for (product, arrays), (left, right) in zip(products, forms, strict=True):
        product(*arrays)
        first, second, once, twice = (array.astype(np.int64) for array in arrays)
        wanted = (first.T if left else first) @ (second.T if right else second)
        assert (once == wanted).all()
        assert (twice == (2 * wanted if m * n < 1 << 15 else wanted)).all()


def test_products_beside_values(target: Any) -> None:
    """A row's product is rounded when it is stored, added to values, and has a bias."""

    @pl.jit(target=target)
    def rows(
        x: pl.Tensor[[4, 64], pl.BF16],
        w: pl.Tensor[[64, 48], pl.BF16],
        bias: pl.Tensor[[1, 48], pl.FP32],
        y: pl.Out[pl.Tensor[[4, 48], pl.BF16]],
        z: pl.Out[pl.Tensor[[4, 48], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            for r in pl.range(4):
                y[r : r + 1, :] = pl.matmul(x[r : r + 1, :], w)
                total = pl.mul(bias[:], 2.0)
                z[r : r + 1, :] = pl.matmul_acc(total, x[r : r + 1, :], w)
            z[:] = pl.add(z[:], pl.matmul_bias(x, w, bias))

    bf16 = pl.BF16.numpy
    x, w = (RNG.normal(size=shape).astype(bf16) for shape in ((4, 64), (64, 48)))
    bias, y, z = floats(1, 48), np.zeros((4, 48), bf16), np.zeros((4, 48), np.float32)
    both_texts(rows, x, w, bias, y, z)
    rows(x, w, bias, y, z)
    exact = x.astype(np.float64) @ w.astype(np.float64)
    assert np.allclose(y.astype(np.float64), exact, rtol=2**-8, atol=1e-3)
    assert np.allclose(z, 2 * exact + 3 * bias, rtol=1e-5, atol=1e-4)


def test_switches(target: Any) -> None:
    """A branch on a constant is resolved, whatever the other branch contains."""
    wide = False

    @pl.jit(target=target)
    def switched(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            part = x[:]
            if wide:
                y[:] = pl.cast(part, pl.BF16)
            for i in pl.unroll(3):
                if i == 0 or (i > 1 and not wide):
                    part = pl.mul(part, 2.0)
                else:
                    scale = 0.5
                    part = pl.add(part, scale)
            y[:] = part

    x, y = floats(16, 64), np.zeros((16, 64), np.float32)
    switched(x, y)
    assert np.allclose(y, (x * 2 + 0.5) * 2, rtol=1e-6)


def test_indices_that_are_numbers(target: Any) -> None:
    """A number among indices drops a dimension: when reading, writing and viewing."""

    @pl.jit(target=target)
    def places(
        x: pl.Tensor[[4, 32, 64], pl.FP32],
        w: pl.Tensor[[4, 64, 48], pl.FP32],
        o: pl.Out[pl.Tensor[[4, 32, 64], pl.FP32]],
        p: pl.Out[pl.Tensor[[4, 32, 48], pl.FP32]],
        z: pl.Out[pl.Tensor[[4, 64], pl.FP32]],
    ):
        x.bind_dynamic(0, ROWS)
        w.bind_dynamic(0, ROWS)
        o.bind_dynamic(0, ROWS)
        p.bind_dynamic(0, ROWS)
        z.bind_dynamic(0, ROWS)
        for b in pl.spmd(pl.tensor.dim(x, 0)):
            o[b, :, :] = pl.add(x[b, :, :], 1.0)
            for row in pl.range(8):
                o[b, row, 0:32] = pl.mul(o[b, row, 32:64], 2.0)
            p[b] = pl.matmul(x[b], w[b, :, :])
            z[b, :] = pl.add(x[b, 3, :], x[b, 5, :])
        for b in pl.parallel(pl.tensor.dim(x, 0)):
            part = o[b]
            with pl.at(level=pl.Level.CORE_GROUP):
                part[8:16, :] = pl.mul(part[16:24, :], 3.0)
        return o, p, z

    x, w = floats(3, 32, 64), floats(3, 64, 48)
    o, p, z = np.zeros_like(x), np.zeros((3, 32, 48), np.float32), np.zeros((3, 64), np.float32)
    both_texts(places, x, w, o, p, z)
    places(x, w, o, p, z)
    wanted = x + 1
    wanted[:, :8, :32] = 2 * wanted[:, :8, 32:]
    wanted[:, 8:16] = 3 * wanted[:, 16:24]
    assert np.allclose(o, wanted)
    assert np.allclose(p, x.astype(np.float64) @ w, rtol=1e-5)
    assert np.allclose(z, x[:, 3] + x[:, 5])


def test_indices_of_values(target: Any) -> None:
    """A number among indices takes a dimension away from a value of a region, too."""

    @pl.jit(target=target)
    def places(
        x: pl.Tensor[[3, 8, 32], pl.FP32],
        o: pl.Out[pl.Tensor[[3, 8, 32], pl.FP32]],
        swapped: pl.Out[pl.Tensor[[3, 32, 8], pl.FP32]],
        total: pl.Out[pl.Tensor[[8, 32], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            value = pl.mul(x[:, :, :], 2.0)
            made = pl.create_tensor([3, 8, 32], dtype=pl.FP32)
            acc = pl.full([8, 32], dtype=pl.FP32, value=0.0)
            for b in pl.unroll(3):
                acc = pl.add(acc, value[b])
                turned = pl.transpose(value[b, :, :], 0, 1)
                swapped[b, :, :] = turned
                made[b, 0:4, :] = value[b, 4:8, :]
                made[b, 4:8, :] = pl.neg(value[b, 0:4, :])
            made[:, 0, :] = made[:, 5, :]
            o[:] = made
            total[:] = acc
        return o, swapped, total

    x = floats(3, 8, 32)
    o, swapped, total = np.zeros_like(x), np.zeros((3, 32, 8), np.float32), np.zeros_like(x[0])
    both_texts(places, x, o, swapped, total)
    places(x, o, swapped, total)
    wanted = np.concatenate([2 * x[:, 4:], -2 * x[:, :4]], axis=1)
    wanted[:, 0] = wanted[:, 5]
    assert (o == wanted).all()
    assert (swapped == 2 * x.transpose(0, 2, 1)).all()
    assert np.allclose(total, 2 * x.sum(axis=0), rtol=1e-5)


def test_mixed_loops(target: Any) -> None:
    """Loops and branches with products and vector work become one kernel per core."""

    @pl.jit(target=target)
    def attend(
        q: pl.Tensor[[64, 64], pl.BF16],
        k: pl.Tensor[[256, 64], pl.BF16],
        v: pl.Tensor[[256, 64], pl.BF16],
        lengths: pl.Tensor[[4], pl.INT32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        heads: pl.Out[pl.Tensor[[64, 1], pl.FP32]],
    ):
        for block in pl.spmd(4, name_hint="attend"):
            row = block * 16
            count = pl.cast(pl.read(lengths, [block]), pl.INDEX)
            queries = q[row : row + 16, :]
            top = pl.full([16, 1], dtype=pl.FP32, value=-1e30)
            total = pl.full([16, 1], dtype=pl.FP32, value=0.0)
            acc = pl.full([16, 64], dtype=pl.FP32, value=0.0)
            for j in pl.range((count + 63) // 64):
                keys = k[j * 64 : j * 64 + 64, :]
                s = pl.mul(pl.matmul(queries, keys, b_trans=True, out_dtype=pl.FP32), 0.125)
                left = pl.min(64, count - j * 64)
                s = pl.fillpad(pl.set_validshape(s, 16, left), pad_value=pl.PadValue.min)
                before = top
                top = pl.maximum(before, pl.row_max(s))
                scale = pl.exp(pl.sub(before, top))
                p = pl.exp(pl.row_expand_sub(s, top))
                total = pl.add(pl.mul(total, scale), pl.row_sum(p))
                acc = pl.row_expand_mul(acc, scale)
                if j % 2 == 0:
                    acc = pl.matmul_acc(acc, pl.cast(p, pl.BF16), v[j * 64 : j * 64 + 64, :])
                else:
                    more = pl.matmul(pl.cast(p, pl.BF16), v[j * 64 : j * 64 + 64, :])
                    acc = pl.add(acc, more)
            out[row : row + 16, :] = pl.row_expand_div(acc, total)
            heads[row : row + 16, :] = top
        return out, heads

    bf16 = pl.BF16.numpy
    q, k, v = (RNG.normal(size=(n, 64)).astype(bf16) for n in (64, 256, 256))
    lengths = np.array([1, 64, 130, 256], np.int32)
    out, heads = np.zeros((64, 64), np.float32), np.zeros((64, 1), np.float32)
    both_texts(attend, q, k, v, lengths, out, heads)
    on_each_core(attend, q, k, v, lengths, out, heads)
    for block, count in enumerate(lengths):
        rows = slice(block * 16, block * 16 + 16)
        s = q[rows].astype(np.float64) @ k[:count].astype(np.float64).T * 0.125
        p = np.exp(s - s.max(axis=1, keepdims=True))
        wanted = p @ v[:count].astype(np.float64) / p.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(out[rows], wanted, rtol=0.02, atol=0.02)
        np.testing.assert_allclose(heads[rows], s.max(axis=1, keepdims=True), rtol=1e-5, atol=1e-6)


def test_values_that_change_places(target: Any) -> None:
    """Loop-carried values of a mixed loop are swapped, kept if unchanged, and read after it."""

    @pl.jit(target=target)
    def exchange(
        x: pl.Tensor[[16, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP32],
        first: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        second: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        n: pl.Scalar[pl.INT32],
    ):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="exchange"):
            a = x[:]
            b = pl.mul(a, 0.5)
            kept = pl.add(a, 1.0)
            for _ in pl.range(n):
                product = pl.matmul(a, w)
                a = b
                b = pl.add(product, kept)
            first[:] = a
            second[:] = b

    x, w = floats(16, 64) - np.float32(0.5), (floats(64, 64) - np.float32(0.5)) / 8
    for count in (0, 1, 2, 5):
        first, second = np.zeros_like(x), np.zeros_like(x)
        on_each_core(exchange, x, w, first, second, count)
        a, b = x.astype(np.float64), x * 0.5
        for _ in range(count):
            a, b = b, a @ w + x + 1
        assert np.allclose(first, a, rtol=1e-4, atol=1e-4)
        assert np.allclose(second, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("statement", "is_shared"),
    [
        ("y[0:16, :] = part", True),
        ("y[b * 8 : b * 8 + 16, :] = part", True),
        ("pl.assemble(y, part, [0, 0])", True),
        ("row = b * 15\n            y[row + 3 : row + 19, :] = part", True),
        ("y[b * 16 : b * 16 + 16, :] = part", False),
        ("row = b * 16\n            y[row : row + 16, :] = part", False),
        ("y[(3 - b) * 16 : (3 - b) * 16 + 16, :] = part", False),
        ("y = pl.assemble(y, part, [0, 0], atomic=pl.AtomicType.Add)", False),
        ("if b == 2:\n                y[0:16, :] = part", False),
        (
            "row = pl.cast(pl.read(at, [b]), pl.INDEX)\n            y[row : row + 16, :] = part",
            False,
        ),
        (
            "row = b * 16\n            half = y[row : row + 16, 0:32]\n"
            "            y[row : row + 16, 0:32] = half",
            False,
        ),
    ],
)
def test_what_blocks_write_does_not_overlap(statement: str, is_shared: bool) -> None:
    """Blocks that certainly write the same elements get a warning, at the write."""
    text = f"""
@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        at: pl.Tensor[[4], pl.INT32],
        y: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
    ):
        for b in pl.spmd(4):
            part = x[b * 16 : b * 16 + 16, :]
            {statement}
        return y
"""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        pl.parse(text)
    assert ["same part of 'y'" in str(item.message) for item in shown] == [True] * is_shared


def test_product_that_vector_work_goes_on_with(target: Any) -> None:
    """A product may become another value in a loop or branch, and be accumulated into again."""

    @pl.jit(target=target)
    def decayed(
        x: pl.Tensor[[32, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="decayed"):
            acc = pl.matmul(x[:], w[:])
            for i in pl.range(3):
                acc = pl.mul(acc, 0.5)
                acc = pl.matmul_acc(acc, x[:], w[:])
                if i == 1:
                    acc = pl.matmul(x[:], w[:])
            out[:] = acc
        return out

    x, w, out = floats(32, 64), floats(64, 64), np.zeros((32, 64), np.float32)
    on_each_core(decayed, x, w, out)
    assert np.allclose(out, (x.astype(np.float64) @ w) * 1.5, rtol=1e-5)


def test_products_that_later_vector_work_takes(target: Any) -> None:
    """Products accumulated by a loop are transferred once complete, whoever uses them, and when."""

    @pl.jit(target=target)
    def gated(
        x: pl.Tensor[[16, 128], pl.FP16],
        gate: pl.Tensor[[128, 128], pl.FP16],
        up: pl.Tensor[[128, 128], pl.FP16],
        out: pl.Out[pl.Tensor[[16, 128], pl.FP32]],
    ):
        for block in pl.spmd(2, name_hint="gated"):
            column = block * 64
            g = pl.create_tensor([16, 64], dtype=pl.FP32)
            u = pl.create_tensor([16, 64], dtype=pl.FP32)
            for k in pl.pipeline(0, 128, 64, stage=2):
                part = x[:, k : k + 64]
                if k == 0:
                    g = pl.matmul(part, gate[k : k + 64, column : column + 64], out_dtype=pl.FP32)
                    u = pl.matmul(part, up[k : k + 64, column : column + 64], out_dtype=pl.FP32)
                else:
                    g = pl.matmul_acc(g, part, gate[k : k + 64, column : column + 64])
                    u = pl.matmul_acc(u, part, up[k : k + 64, column : column + 64])
            sigmoid = pl.recip(pl.add(pl.exp(pl.neg(g)), 1.0))
            out[:, column : column + 64] = pl.mul(pl.mul(g, sigmoid), u)
        return out

    x, gate, up = (RNG.normal(size=s).astype(np.float16) for s in ((16, 128), *2 * [(128, 128)]))
    out = np.zeros((16, 128), np.float32)
    on_each_core(gated, x, gate, up, out)
    names = [f.name for f in gated.lower(x, gate, up, out).functions_ if f.name != "gated"]
    assert names == ["gated_aic", "gated_aiv"]
    g, u = (x.astype(np.float64) @ w for w in (gate, up))
    np.testing.assert_allclose(out, g / (1 + np.exp(-g)) * u, rtol=1e-4, atol=1e-4)


def test_a_part_of_a_row_begins_anywhere(target: Any) -> None:
    """A slice of a tile at a run-time offset is copied; one aligned to blocks is a view."""

    @pl.jit(target=target)
    def shifted(
        x: pl.Tensor[[4, 32], pl.FP32],
        n: pl.INT32,
        out: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            doubled = pl.add(x[:, :], x[:, :])
            out[0:1, :] = pl.slice(doubled, [1, 16], [2, n % 9])
            out[1:2, :] = doubled[1:2, n : n + 16]
            for column in pl.range(0, 16, 8):
                out[3:4, column : column + 8] = doubled[3:4, column : column + 8]
                out[2:3, column : column + 8] = doubled[2:3, column * n : column * n + 8]
        return out

    x, out = floats(4, 32), np.zeros((4, 16), np.float32)
    shifted(x, 3, out)
    wanted = np.stack([2 * x[2, 3:19], 2 * x[1, 3:19], 2 * x[2, 0:16], 2 * x[3, :16]])
    wanted[2, 8:] = 2 * x[2, 24:32]
    np.testing.assert_array_equal(out, wanted)
    text = str(shifted.parse(x, 3, out))
    assert text.count("pl.block.view") == 2
    both_texts(shifted, x, 3, out)


@pytest.mark.filterwarnings("ignore:'s' is assigned in only one branch")
def test_what_a_region_may_not_assign_stays_in_it(target: Any) -> None:
    """The loop around a region carries none of its tiles and scalars, on some paths or on all."""

    @pl.jit(target=target)
    def stepped(
        x: pl.Tensor[[32, 64], pl.FP32],
        n: pl.INT32,
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ):
        for i in pl.parallel(4):
            row = i * 8
            with pl.at(level=pl.Level.CORE_GROUP):
                if n <= 2:
                    for _ in pl.unroll(2):
                        v = pl.add(x[row : row + 8, :], 1.0)
                    out[row : row + 8, :] = pl.mul(v, 2.0)
                else:
                    for _ in pl.range(n):
                        s = pl.cast(i, pl.FP32)
                        v = pl.add(x[row : row + 8, :], s)
                    out[row : row + 8, :] = v
                if n > 3:
                    out[row : row + 8, :] = pl.mul(out[row : row + 8, :], s)
        return out

    x, steps = floats(32, 64), np.arange(4, dtype=np.float32).repeat(8)[:, None]
    for n, wanted in ((1, (x + 1) * 2), (3, x + steps), (4, (x + steps) * steps)):
        out = np.zeros((32, 64), np.float32)
        on_each_core(stepped, x, n, out)
        np.testing.assert_array_equal(out, wanted)
    program = stepped.parse(x, 1, out)
    lowered = PassManager.get_strategy(OptimizationStrategy.Default).run_passes(program)
    assert "pl.Tile" not in str(lowered.get_function("stepped"))


def test_a_region_has_no_tile_of_the_iteration_before() -> None:
    """What a region assigned cannot be read by the same region in the next iteration."""

    @pl.jit
    def held(x: pl.Tensor[[32, 64], pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        for i in pl.range(4):
            row = i * 8
            with pl.at(level=pl.Level.CORE_GROUP):
                if i < 1:
                    v = pl.add(x[0:8, :], 1.0)
                    out[row : row + 8, :] = v
                else:
                    out[row : row + 8, :] = pl.mul(v, 2.0)
        return out

    with pytest.raises(PyptoError, match="'v' is read before the function assigns it"):
        held(floats(32, 64), np.zeros((32, 64), np.float32))


def test_shapes_of_a_tensor_that_nobody_needs(target: Any) -> None:
    """Reshaped views of a tensor are removed where no kernel uses them any more."""

    @pl.jit(target=target)
    def stored(
        x: pl.Tensor[[16, 32], pl.FP32],
        n: pl.INT32,
        sums: pl.InOut[pl.Tensor[[16, 32], pl.FP32]],
        out: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
    ):
        lines = pl.reshape(sums, [8, 64])
        half = pl.slice(lines, [4, 64], [pl.min(n, 4), 0])
        rest = half[0:2, :]
        with pl.at(level=pl.Level.CORE_GROUP):
            _seen = rest[0:1, :]
            out[:] = pl.reshape(x[:], [8, 64])
        return out

    x, sums, out = floats(16, 32), floats(16, 32), np.zeros((8, 64), np.float32)
    on_each_core(stored, x, 1, sums, out)
    np.testing.assert_array_equal(out, x.reshape(8, 64))


def test_a_region_of_nothing(target: Any) -> None:
    @pl.jit(target=target)
    def idle(x: pl.Tensor[[16, 32], pl.FP32], out: pl.InOut[pl.Tensor[[16, 32], pl.FP32]]):
        _lines = pl.reshape(x, [8, 64])
        with pl.at(level=pl.Level.CORE_GROUP):
            pass
        return out

    x, out = floats(16, 32), floats(16, 32)
    before = out.copy()
    idle(x, out)
    np.testing.assert_array_equal(out, before)


def test_augmented_assignment_of_a_tensor(target: Any) -> None:
    """All names of a tensor see ``name += value``; the name of an input gets its own value."""

    @pl.jit(target=target)
    def added(
        x: pl.Tensor[[8, 16], pl.FP32],
        out: pl.InOut[pl.Tensor[[8, 16], pl.FP32]],
        seen: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ):
        made = pl.create_tensor([8, 16], dtype=pl.FP32, init_value=0.0)
        rows = pl.slice(out, [4, 16], [2, 0])
        with pl.at(level=pl.Level.CORE_GROUP):
            other = made
            for _ in pl.range(3):
                other += x
            out += made
        with pl.at(level=pl.Level.CORE_GROUP):
            rows -= x[2:6, :]
            x *= 2.0
            seen[:] = x
        return out

    x, out, seen = floats(8, 16), floats(8, 16), np.zeros((8, 16), np.float32)
    before, wanted = x.copy(), out + ((x + x) + x)
    wanted[2:6] -= x[2:6]
    on_each_core(added, x, out, seen)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(seen, x * 2)


def test_views_of_views_of_a_tensor(target: Any) -> None:
    """A kernel that takes a view and a view of it creates them in order, whatever their names."""

    @pl.jit(target=target)
    def summed(
        x: pl.Tensor[[16, 32], pl.FP32],
        n: pl.INT32,
        out: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
    ):
        z = x[pl.min(n, 6) : pl.min(n, 6) + 10, 8:32]
        a = z[4:8, 0:16]
        with pl.at(level=pl.Level.CORE_GROUP):
            out[:] = pl.add(pl.add(z[0:4, 0:16], a), x[0:4, 0:16])
        return out

    x, out = floats(16, 32), np.zeros((4, 16), np.float32)
    on_each_core(summed, x, 3, out)
    np.testing.assert_array_equal(out, (x[3:7, 8:24] + x[7:11, 8:24]) + x[0:4, 0:16])
    both_texts(summed, x, 3, out)
