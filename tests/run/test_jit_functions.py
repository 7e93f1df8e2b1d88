"""What ``@pl.jit`` kernels call: inlined functions, kernels of one core, of C++, on devices."""

# pyright: reportArgumentType=false, reportCallIssue=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportPossiblyUnboundVariable=false, reportUnknownParameterType=false
# A value of a region is a tile that authors call a tensor: ops that accept only tiles accept it.

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.errors import CallError, UnsupportedFeatureError
from pypto._src.frontend.inline_kernels import SUBSTITUTES

Array = np.ndarray[Any, Any]
ROWS = pl.dynamic("ROWS")
RNG = np.random.default_rng(11)


@pytest.fixture(params=["interpreter", "cpu"])
def target(request: pytest.FixtureRequest) -> Any:
    return request.param


def result(kernel: Any, x: Array, *others: Any) -> Array:
    """Return a kernel's result for an array; its program is printed and parsed back."""
    y = np.zeros_like(x)
    program = kernel.parse(x, *others, y)
    ir.assert_structural_equal(ir.parse(str(program)), program)
    kernel(x, *others, y)
    return y


def floats(rows: int = 32) -> Array:
    return RNG.random((rows, 64), np.float32)


# --------------------------------------------------------------------------------------------
# Inlined functions
# --------------------------------------------------------------------------------------------

FACTOR = 3


@pl.jit.inline
def both(x: pl.Tensor, factor: pl.Scalar[pl.FP32] = FACTOR, *, more: float = 1.0):
    y = pl.mul(x, factor)
    return y, pl.add(y, more)


def test_results_keywords_and_defaults(target: Any) -> None:
    """An inlined function can have several results; its defaults are those of its own source."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            t = x[:, :]
            a, b = both(t, more=4.0)
            c, _ = both(factor=5.0, x=t)
            y[:, :] = pl.add(pl.add(a, b), c)
        return y

    x = floats()
    np.testing.assert_allclose(result(kernel, x), x * 11 + 4, rtol=1e-6)


def factory(scale: float, rows: int) -> Any:
    @pl.jit.inline
    def inner(dst: pl.Tensor, row: pl.Scalar[pl.INDEX], part: pl.Tensor[[rows, 64], pl.FP32]):
        dst[row : row + rows, :] = pl.mul(part, scale)

    @pl.jit.inline
    def outer(src: pl.Tensor, dst: pl.Tensor):
        for i in pl.range(32 // rows):
            with pl.at(level=pl.Level.CORE_GROUP):
                inner(dst, i * rows, src[i * rows : i * rows + rows, :])

    @pl.jit(target="interpreter")
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        outer(x, y)
        return y

    return kernel


def test_closures() -> None:
    """Functions made by a factory see its variables; what they write is visible to the caller."""
    x = floats()
    for scale, rows in ((3.0, 8), (2.0, 16)):
        np.testing.assert_allclose(result(factory(scale, rows), x), x * np.float32(scale))


@pl.jit.inline
def grow(a: pl.Tensor[[32, 64], pl.FP32], b: pl.Tensor[[32, 64], pl.FP32]):
    a.bind_dynamic(0, ROWS)
    b.bind_dynamic(0, ROWS)
    for i in pl.spmd(pl.tensor.dim(a, 0) // 8):
        b[i * 8 : i * 8 + 8, :] = pl.add(a[i * 8 : i * 8 + 8, :], 1.0)
    return b


@pl.jit.inline
def grow_twice(u: pl.Tensor[[ROWS, 64], pl.FP32], v: pl.Tensor[[32, 64], pl.FP32]):
    middle = pl.create_tensor([u.shape[0], 64], dtype=pl.FP32)
    middle = grow(u, middle)
    return grow(b=v, a=middle)


def test_sizes_named_in_spliced_functions(target: Any) -> None:
    """A size named by an inlined function is the kernel's, whose signature has a number for it."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        return grow_twice(x, y)

    for rows in (8, 64, 32):
        x, y = floats(rows), np.zeros((rows, 64), np.float32)
        kernel(x, y)
        np.testing.assert_allclose(y, x + 2, rtol=1e-6)
    assert kernel.misses == ["kernel: first call"]


HALF = False
MODES = {"quick": 1}


def test_branches_that_constants_exclude(target: Any) -> None:
    """A branch not taken need not be valid; variables assigned in the other one are defined."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor, mode: pl.Scalar[pl.INT32], y: pl.Out[pl.Tensor]):
        for i in pl.range(2):
            with pl.at(level=pl.Level.CORE_GROUP):
                t = x[i * 16 : i * 16 + 16, :]
                if HALF:
                    t = pl.no_such_op(t)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
                elif MODES["quick"] == 1:
                    scale = 2.0
                if mode == 1:
                    scale = 3.0
                elif mode == 2:
                    t = pl.reshape(t, [8, 128])
                    t = pl.reshape(t, [16, 64])
                if x.dtype == pl.FP16:
                    t = pl.cast(t, pl.FP32)
                y[i * 16 : i * 16 + 16, :] = pl.mul(t, scale)
        return y

    x = floats()
    for mode, scale in ((0, 2), (1, 3), (2, 2)):
        np.testing.assert_array_equal(result(kernel, x, mode), x * scale)


# --------------------------------------------------------------------------------------------
# Kernels of one core
# --------------------------------------------------------------------------------------------


@pl.jit.incore
def add_one(src: pl.Tensor[[8, 64], pl.FP32], dst: pl.Out[pl.Tensor[[8, 64], pl.FP32]]):
    """Write one part; a call returns the output."""
    dst[:] = pl.add(src, 1.0)


@pl.jit.incore(level=pl.Level.CORE_GROUP)
def double(
    src: pl.Tensor[[32, 64], pl.FP32],
    row: pl.Scalar[pl.INDEX],
    dst: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
):
    tile = pl.load(src, [row, 0], [8, 64])
    return pl.store(pl.mul(tile, 2.0), [row, 0], dst)


def test_kernels_of_one_core(target: Any) -> None:
    """Each call of a kernel is a task; called from the blocks of a launch, it is a block's work."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        middle = pl.create_tensor([32, 64], dtype=pl.FP32)
        last = pl.create_tensor([32, 64], dtype=pl.FP32)
        for i in pl.parallel(4):
            middle = double(x, i * 8, middle)
        for b in pl.spmd(4):
            last = double(middle, b * 8, last)
        for i in pl.range(4):
            part = y[i * 8 : i * 8 + 8, :]
            part = add_one(last[i * 8 : i * 8 + 8, :], part)
        return y

    x = floats()
    np.testing.assert_array_equal(result(kernel, x), x * 4 + 1)
    assert sum(f.func_type == pl.FunctionType.InCore for f in kernel.lower(x, x).functions_) == 3


def test_submitted_kernels(target: Any) -> None:
    """Submitting a kernel returns its results and its task, on which another one can depend."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        middle = pl.create_tensor([32, 64], dtype=pl.FP32)
        largest, tripled, first = pl.submit(sums, x)
        for i in pl.range(4):
            middle, last = pl.submit(double, tripled, i * 8, middle, deps=[first])
        with pl.at(level=pl.Level.CORE_GROUP, deps=[last, first]):
            y[:] = pl.row_expand_sub(middle, largest)
        return y

    x = floats()
    wanted = (x * 3) * 2 - (x * 3).max(1, keepdims=True)
    np.testing.assert_allclose(result(kernel, x), wanted, rtol=1e-6)


@pl.jit.incore
def rows_of_blocks(
    src: pl.Tensor[[32, 64], pl.FP32],
    doubled: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    tripled: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
):
    row = pl.tile.get_block_idx() * 8
    rows = src[row : row + 8, :]
    tripled[row : row + 8, :] = pl.mul(rows, 3.0)
    doubled[row : row + 8, :] = pl.mul(rows, 2.0)
    return tripled, doubled


def test_submitted_launches(target: Any) -> None:
    """Submitting a launch returns what the kernel returns and one task, in loops too."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        two = pl.create_tensor([32, 64], dtype=pl.FP32)
        three = pl.create_tensor([32, 64], dtype=pl.FP32)
        three, two, first = pl.spmd_submit(rows_of_blocks, x, two, three, core_num=4)
        for _ in pl.range(2):
            two, y, last = pl.spmd_submit(
                self.rows_of_blocks,  # noqa: F821  # pyright: ignore
                three,
                y,
                two,
                core_num=4,
                deps=[first],
            )
            three, y, first = pl.spmd_submit(rows_of_blocks, two, y, three, core_num=4, deps=[last])
        return y

    x = floats()
    np.testing.assert_allclose(result(kernel, x), x * 3**4 * 2, rtol=1e-6)


def test_launches_that_a_program_submits(target: Any) -> None:
    """A kernel of a class knows its block index, whether submitted or called in a launch."""

    @pl.program
    class Rows:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            self, x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]
        ) -> pl.Tensor[[32, 64], pl.FP32]:
            row = pl.get_block_idx() * 8
            return pl.store(pl.mul(pl.load(x, [row, 0], [8, 64]), 2.0), [row, 0], [8, 64], y)

        @pl.function(type=pl.FunctionType.Orchestration)
        def main(
            self,
            x: pl.Tensor[[32, 64], pl.FP32],
            y: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
            z: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        ) -> tuple[pl.Tensor[[32, 64], pl.FP32], pl.Tensor[[32, 64], pl.FP32]]:
            y, done = pl.spmd_submit(self.kernel, x, y, core_num=4)
            with pl.spmd(4, deps=[done]) as _:
                z = self.kernel(y, z)
            return y, z

    x = floats()
    y, z = np.zeros_like(x), np.zeros_like(x)
    runtime.compile(Rows, target)(x, y, z)
    np.testing.assert_array_equal(y, x * 2)
    np.testing.assert_array_equal(z, x * 4)


def test_sizes_of_unrolled_copies(target: Any) -> None:
    """A number computed in each copy of an unrolled loop can be a size; the last value remains."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        for i in pl.unroll(1, 3):
            size = i * 8
            end = size + 8
            with pl.at(level=pl.Level.CORE_GROUP):
                ones = pl.full([size, 64], dtype=pl.FP32, value=1.0)
                y[8:end, :] = pl.add(x[8:end, :], ones)
        with pl.at(level=pl.Level.CORE_GROUP):
            factor, before = 0, 0
            for i in pl.unroll(3):
                factor = factor + before
                before = i + 2
            y[0:8, :] = pl.mul(x[0:8, :], pl.cast(factor * size, pl.FP32))
            y[24:32, :] = x[24:32, :]
        return y

    x = floats()
    wanted = x.copy()
    wanted[:8] *= (2 + 3) * 16
    wanted[8:24] += 1
    np.testing.assert_allclose(result(kernel, x), wanted, rtol=1e-6)


def test_a_value_of_both_vector_cores(target: Any) -> None:
    """A value that both vector cores hold in full is gathered unchanged."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):
                rows = pl.aic_gather(pl.add(x[lane * 16 : lane * 16 + 16, :], 1.0))
                y[lane * 16 : lane * 16 + 16, :] = rows
        return y

    x = floats()
    np.testing.assert_array_equal(result(kernel, x), x + 1)


@pl.program
class Submitted:
    @pl.function(type=pl.FunctionType.InCore)
    def both(
        self,
        x: pl.Tensor[[16, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        z: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ) -> tuple[pl.Tensor[[16, 64], pl.FP32], pl.Tensor[[16, 64], pl.FP32]]:
        tile = pl.load(x, [0, 0], [16, 64])
        y = pl.store(pl.mul(tile, 2.0), [0, 0], [16, 64], y)
        z = pl.store(pl.mul(tile, 3.0), [0, 0], [16, 64], z)
        return y, z

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[16, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        z: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ) -> tuple[pl.Tensor[[16, 64], pl.FP32], pl.Tensor[[16, 64], pl.FP32]]:
        y, z, first = pl.submit(self.both, x, y, z)
        z, y, _ = pl.submit(self.both, x, z, y, deps=[first])
        return y, z


def test_kernels_that_a_program_submits(target: Any) -> None:
    """A kernel of a class is submitted through ``self``; its outputs are those passed to it."""
    x = floats()[:16].copy()
    y, z = np.zeros_like(x), np.zeros_like(x)
    runtime.compile(Submitted, target)(x, y, z)
    np.testing.assert_allclose(y, x * 3, rtol=1e-6)
    np.testing.assert_allclose(z, x * 2, rtol=1e-6)


@pl.jit.incore
def sums(src: pl.Tensor[[32, 64], pl.FP32]):
    tripled = pl.mul(src, 3.0)
    return pl.row_max(tripled), tripled


def test_new_values_of_a_kernel(target: Any) -> None:
    """A tensor that a kernel computes and returns is a new tensor of the caller."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        largest, tripled = sums(x)
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:] = pl.row_expand_sub(tripled, largest)
        return y

    x = floats()
    wanted = x * np.float32(3)
    np.testing.assert_array_equal(result(kernel, x), wanted - wanted.max(1, keepdims=True))


@pl.jit.opaque
def times_five(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Tensor[[32, 64], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:] = pl.mul(x, 5.0)
    return y


def test_functions_of_no_type(target: Any) -> None:
    """An opaque function has regions of its own."""

    @pl.jit(target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        return times_five(x, y)

    x = floats()
    np.testing.assert_array_equal(result(kernel, x), x * 5)


# --------------------------------------------------------------------------------------------
# Host functions, kernels in C++
# --------------------------------------------------------------------------------------------


@pl.jit
def entry(x: pl.Tensor[[32, 64], pl.FP32], f: pl.Scalar[pl.FP32], y: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.mul(x[:, :], f)
    return y


def test_host_functions() -> None:
    """A host function launches entries, one on the results of another, on any device."""

    @pl.jit.host
    def launch(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        middle = pl.create_tensor([32, 64], dtype=pl.FP32)
        entry(x, 2.0, middle, device=0)
        for r in pl.range(1):
            entry(middle, 4.0, y, device=r)

    x = floats()
    np.testing.assert_array_equal(result(launch, x), x * 8)


def test_entries_are_called_by_python() -> None:
    """An entry that calls another one is rejected, with what to write instead."""

    @pl.jit
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        entry(x, 2.0, y)

    with pytest.raises(UnsupportedFeatureError, match="entry is an entry, which Python calls") as e:
        kernel(floats(), floats())
    assert e.value.hint == "write @pl.jit.inline above def entry"


@pytest.fixture
def sources(tmp_path: Path) -> Iterator[list[Path]]:
    """Two C++ files; what is registered for kernels is forgotten afterwards."""
    files = [tmp_path / "cube.cpp", tmp_path / "vector.cpp"]
    for file in files:
        file.touch()
    yield files
    SUBSTITUTES.clear()


def test_kernels_in_cpp(sources: list[Path]) -> None:
    """A kernel in C++ needs a Python replacement here."""
    cube, vector = sources

    @pl.jit.extern(
        core_type="mixed",
        aic_source=cube,
        aiv_source=vector,
        dual_aiv_dispatch=True,
        include_dirs=[runtime.pto_isa_include_dir()],
    )
    def shift(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]): ...

    @pl.jit(target="interpreter")
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        return shift(x, y)

    x = floats()
    with pytest.raises(UnsupportedFeatureError, match=r"C\+\+ for the device \(cube.cpp, vector"):
        result(kernel, x)

    @pl.jit.incore
    def shift_here(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        y[:] = pl.add(x, 7.0)

    runtime.register_extern("shift", shift_here)
    np.testing.assert_array_equal(result(kernel, x), x + 7)


EXTERN: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"core_type": "x"}, ValueError, "core_type is 'x'; it is one of 'aiv', 'aic', 'mixed'"),
    ({"core_type": "aiv"}, ValueError, "core_type='aiv' needs source=, the file of the kernel"),
    ({"core_type": "aiv", "source": "none"}, ValueError, "there is no file none, which source"),
    ({"core_type": "mixed", "source": __file__}, ValueError, "core_type='mixed' needs aic_source="),
    (
        {"core_type": "aic", "source": __file__, "dual_aiv_dispatch": True},
        ValueError,
        "dual_aiv_dispatch goes with core_type=\"mixed\", not 'aic'",
    ),
    (
        {"core_type": "aiv", "source": __file__, "include_dirs": "here"},
        TypeError,
        "include_dirs is a list of folders, got 'here'",
    ),
]


@pytest.mark.parametrize(("words", "kind", "message"), EXTERN, ids=lambda row: str(row)[:30])
def test_wrong_declarations(words: dict[str, Any], kind: type[Exception], message: str) -> None:
    """A kernel in C++ has a kind of core and the files that belong to it."""
    with pytest.raises(kind, match=message):
        pl.jit.extern(**words)


def test_what_is_no_kernel() -> None:
    """Levels other than the cores', and other functions as C++ kernels' stand-ins, are errors."""
    with pytest.raises(CallError, match=r"level is <Level.HOST: 5>; a kernel runs at"):
        pl.jit.incore(level=pl.Level.HOST)
    with pytest.raises(CallError, match=r"'shift' is to be .* a function of pl.jit.incore or"):
        runtime.register_extern("shift", len)


# --------------------------------------------------------------------------------------------
# Constructs that change no values
# --------------------------------------------------------------------------------------------


def test_what_changes_no_value(target: Any) -> None:
    """Prefetches, omitted dependences, and types that a region's values have anyway."""

    @pl.jit(auto_scope=False, target=target)
    def kernel(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        context = pl.prefetch.make_context()
        event = pl.prefetch.async_prefetch(x, context)
        is_read = pl.prefetch.wait(event, pl.prefetch.session(context))
        middle = pl.create_tensor([32, 64], dtype=pl.FP32, manual_dep=True)
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            more: pl.Tensor[[32, 64], pl.FP32] = pl.add(x, 1.0)
            middle[:] = more
        if is_read:
            with pl.scope():
                for i in pl.range(4):
                    y = double(pl.no_dep(middle), i * 8, y)
        return y

    x = floats()
    np.testing.assert_array_equal(result(kernel, x), (x + 1) * 2)


def test_tails_are_padded(target: Any) -> None:
    """A partly valid tile is padded with the smallest value, however many rows a call has."""

    @pl.jit(target=target)
    def kernel(
        x: pl.Tensor[[32, 64], pl.FP32], used: pl.INDEX, y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            part = pl.slice(x, [32, 64], [0, 0], valid_shape=[32, used])
            whole = pl.fillpad(part, pad_value=pl.PadValue.zero)
            y[:, :] = pl.row_expand_add(whole, pl.row_sum(whole))
        return y

    x = floats()
    for used in (64, 40, 8):
        wanted = np.where(np.arange(64) < used, x, 0).astype(np.float32)
        wanted = wanted + wanted.sum(1, keepdims=True, dtype=np.float32)
        np.testing.assert_allclose(result(kernel, x, used), wanted, rtol=1e-5)


# --------------------------------------------------------------------------------------------
# Tensors in another shape
# --------------------------------------------------------------------------------------------

TABLES = pl.dynamic("TABLES")


@pl.jit
def by_table(
    table: pl.Tensor[[TABLES, 2, 4], pl.INT32],
    x: pl.Tensor[[16, 64], pl.FP32],
    y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
):
    count = pl.tensor.dim(table, 0)
    flat = pl.reshape(table, [count * 8])
    pairs = pl.reshape(flat, [count * 4, 2])
    tall = pl.reshape(x, [64, 16])
    for i in pl.range(count * 4):
        times = pl.read(pairs, [i, 0])
        scale = pl.read(tall, [i, 3])
        for _k in pl.range(times):
            with pl.at(level=pl.Level.CORE_GROUP):
                row = pl.read(flat, [2 * i + 1])
                y[row : row + 1, :] = pl.add(y[row : row + 1, :], scale)
    return y


def test_elements_of_tensors_in_another_shape(capsys: pytest.CaptureFixture[str]) -> None:
    """The host reads them in place: the program runs natively."""
    x = floats(16)
    rows = RNG.permutation(16).astype(np.int32)
    times = RNG.integers(0, 4, 16).astype(np.int32)
    table = np.stack([times, rows], 1).reshape(4, 2, 4)
    y = np.zeros_like(x)
    by_table(table, x, y)
    wanted = np.zeros_like(x)
    for row, count, scale in zip(rows, times, x.reshape(64, 16)[:, 3], strict=False):
        wanted[row] = np.sum([scale] * count, dtype=np.float32)
    np.testing.assert_allclose(y, wanted, rtol=1e-6)
    assert "runs in the interpreter" not in capsys.readouterr().err


# --------------------------------------------------------------------------------------------
# Lengths that a tensor holds
# --------------------------------------------------------------------------------------------


@pl.jit
def summed(
    ends: pl.Tensor[[1, 2], pl.INT32],
    x: pl.Tensor[[256, 64], pl.FP32],
    y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        begin = pl.read(ends, [0, 0])
        end = pl.read(ends, [0, 1])
        total = pl.full([16, 64], dtype=pl.FP32, value=0.0)
        for i in pl.pipeline(begin, end, stage=2):
            total = pl.add(total, x[i * 16 : i * 16 + 16, :])
        y[:, :] = total
    return y


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (0, 1), (0, 7), (3, 16), (5, 2)])
def test_a_pipeline_as_long_as_a_tensor_says(begin: int, end: int) -> None:
    """Bounds that are INT32, where loops count in wider numbers."""
    x = floats(256)
    y = np.ones((16, 64), np.float32)
    summed(np.array([[begin, end]], np.int32), x, y)
    wanted = x.reshape(16, 16, 64)[begin:end].sum(axis=0)
    np.testing.assert_allclose(y, wanted, rtol=1e-5)
