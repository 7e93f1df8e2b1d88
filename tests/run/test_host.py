"""Orchestrations on the CPU: each gives what the interpreter gives, for any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.errors import EvaluationError
from pypto._src.run.toolchain import find_toolchain

pytestmark = pytest.mark.skipif(find_toolchain() is None, reason="no C++ compiler")

Array = np.ndarray[Any, Any]


@pytest.fixture(params=["1", "4"], autouse=True)
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PYPTO_NUM_THREADS", request.param)
    return request.param


@pl.program
class Steps:
    """Kernels on 8 x 16 blocks, and orchestrations that need them in order."""

    @pl.function(type=pl.FunctionType.InCore)
    def add(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        y: pl.Tensor[[8, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        a = pl.load(x, [0, 0], [8, 16])
        b = pl.load(y, [0, 0], [8, 16])
        out = pl.store(pl.add(a, b), [0, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self, x: pl.InOut[pl.Tensor[[8, 16], pl.FP32]], factor: pl.Scalar[pl.FP32]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        a = pl.load(x, [0, 0], [8, 16])
        x = pl.store(pl.mul(a, factor), [0, 0], [8, 16], x)
        return x

    @pl.function(type=pl.FunctionType.InCore)
    def top_row(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        a = pl.load(x, [0, 0], [1, 16])
        out = pl.store(a, [0, 0], [1, 16], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def fibonacci(
        self,
        x: pl.InOut[pl.Tensor[[8, 16], pl.FP32]],
        y: pl.InOut[pl.Tensor[[8, 16], pl.FP32]],
        z: pl.InOut[pl.Tensor[[8, 16], pl.FP32]],
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        for _ in pl.range(0, 5):
            self.add(x, y, z)
            self.add(y, z, x)
            self.add(z, x, y)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def columns(
        self,
        x: pl.Tensor[[8, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
    ) -> pl.Tensor[[8, 64], pl.FP32]:
        for c in pl.range(0, 64, 16):
            source = pl.view(x, [8, 16], [0, c])
            target = pl.view(out, [8, 16], [0, c])
            self.add(source, source, target)
            self.scale(target, 0.5)
        for c in pl.range(0, 48, 16):
            left = pl.view(out, [8, 16], [0, c])
            right = pl.view(out, [8, 16], [0, c + 16])
            self.add(left, right, right)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def partly(
        self,
        x: pl.Tensor[[8, 16], pl.FP32],
        out: pl.InOut[pl.Tensor[[8, 32], pl.FP32]],
    ) -> pl.Tensor[[8, 32], pl.FP32]:
        right = pl.view(out, [8, 16], [0, 16])
        self.top_row(x, right)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def until_large(
        self, x: pl.InOut[pl.Tensor[[8, 16], pl.FP32]], limit: pl.Scalar[pl.FP32]
    ) -> pl.Scalar[pl.INT64]:
        turns: pl.Scalar[pl.INT64] = 0
        largest: pl.Scalar[pl.FP32] = pl.read(x, [7, 15])
        while largest < limit:
            self.scale(x, 2.0)
            largest = pl.read(x, [7, 15])
            turns = turns + 1
        return turns

    @pl.function(type=pl.FunctionType.Orchestration)
    def with_scratch(
        self, x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        for i in pl.range(0, 20):
            scratch = pl.create_tensor([8, 16], dtype=pl.FP32)
            scratch = self.add(x, x, scratch)
            if i % 2 == 0:
                self.scale(scratch, 3.0)
            self.add(scratch, x, out)
        return out


def both(entry: str, *args: Any) -> tuple[list[Any], Any]:
    """Run compiled and in the interpreter; return arguments and result, which are equal."""
    runs: list[tuple[list[Any], Any]] = []
    for target in ("cpu", "interpreter"):
        ready = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
        runs.append((ready, runtime.compile(Steps, target, entry=entry)(*ready)))
    for native, evaluated in zip(*(run[0] for run in runs), strict=True):
        np.testing.assert_array_equal(native, evaluated)
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    return runs[0]


def block(*shape: int) -> Array:
    return np.arange(float(np.prod(shape)), dtype=np.float32).reshape(shape)


def test_tasks_that_overwrite_their_inputs() -> None:
    """Kernels that read what others write next, and write what others read, keep their order."""
    ones = np.ones((8, 16), np.float32)
    args, result = both("fibonacci", ones, ones, ones * 0)
    assert result is args[1]
    assert [int(array[0, 0]) for array in args] == [987, 1597, 610]


def test_views_with_gaps() -> None:
    """Column blocks of a tensor go through dense copies, and reach the tensor."""
    x = block(8, 64)
    args, result = both("columns", x, np.zeros_like(x))
    sums = np.cumsum(x.reshape(8, 4, 16), axis=1).reshape(8, 64)
    np.testing.assert_array_equal(result, sums)
    assert result is args[1]


def test_what_a_kernel_leaves_alone_stays() -> None:
    """A kernel that writes one row of a view with gaps leaves the other rows as they were."""
    out = np.full((8, 32), 5, np.float32)
    _, result = both("partly", block(8, 16), out)
    assert result[0, 16:].tolist() == list(range(16))
    assert (result[1:] == 5).all()
    assert (result[0, :16] == 5).all()


def test_reads_wait_for_tasks() -> None:
    """A loop on an element that its tasks write turns as often as it should."""
    x = np.ones((8, 16), np.float32)
    args, turns = both("until_large", x, 1000.0)
    assert turns == 10
    assert (args[0] == 1024).all()


def test_tensors_made_inside() -> None:
    """Each turn has a tensor of its own, which lives until the last task on it is done."""
    x = block(8, 16)
    _, result = both("with_scratch", x, np.zeros_like(x))
    np.testing.assert_array_equal(result, x * 3)


@pl.program
class Broken:
    """An orchestration whose views leave the tensor in the third turn."""

    @pl.function(type=pl.FunctionType.InCore)
    def clear(
        self, out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        out = pl.store(pl.full([8, 16], pl.FP32, 0.0), [0, 0], [8, 16], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, out: pl.InOut[pl.Tensor[[20, 16], pl.FP32]], turns: pl.Scalar[pl.INT64]
    ) -> pl.Tensor[[20, 16], pl.FP32]:
        for i in pl.range(0, turns):
            rows = pl.view(out, [8, 16], [i * 8, 0])
            self.clear(rows)
        return out


def test_mistake_in_the_orchestration_has_its_place() -> None:
    """A view outside its tensor is reported at its line, after the tasks before it have run."""
    out = np.ones((20, 16), np.float32)
    with pytest.raises(EvaluationError) as caught:
        runtime.compile(Broken)(out, 3)
    assert caught.value.message == "pl.view takes [16:24, 0:16] of a tensor [20, 16]"
    source = caught.value.render().splitlines()
    assert any("rows = pl.view(out, [8, 16], [i * 8, 0])" in line for line in source)
    assert out.sum(axis=1).tolist() == [0.0] * 16 + [16.0] * 4


def test_program_is_usable_after_a_mistake() -> None:
    """A call that failed leaves nothing behind that disturbs the next one."""
    compiled = runtime.compile(Broken)
    with pytest.raises(EvaluationError):
        compiled(np.ones((20, 16), np.float32), 3)
    out = np.ones((20, 16), np.float32)
    assert compiled(out, 2) is out
    assert out.sum() == 64


@pl.program
class CopyRow:
    """A kernel that copies the row it is told to."""

    @pl.function(type=pl.FunctionType.InCore)
    def copy_row(
        self,
        x: pl.Tensor[[4, 16], pl.FP32],
        row: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
    ) -> pl.Tensor[[4, 16], pl.FP32]:
        a = pl.load(x, [row, 0], [1, 16])
        out = pl.store(a, [0, 0], [1, 16], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[4, 16], pl.FP32],
        out: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
    ) -> pl.Tensor[[4, 16], pl.FP32]:
        self.copy_row(x, 1, out)
        return out


def test_scalars_reach_kernels() -> None:
    """An integer that the orchestration passes chooses the row that the kernel copies."""
    x = block(4, 16)
    out = np.zeros_like(x)
    runtime.compile(CopyRow)(x, out)
    assert out[0].tolist() == x[1].tolist()
    assert not out[1:].any()
