"""Orchestrations on the CPU give the interpreter's results, for any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto import runtime
from pypto._src.errors import EvaluationError
from pypto._src.run.arguments.array_views import is_array
from pypto._src.run.toolchain import find_toolchain
from tests.run.programs import Broken, CopyRow, Steps, Undirected

pytestmark = pytest.mark.skipif(find_toolchain() is None, reason="no C++ compiler")

Array = np.ndarray[Any, Any]


@pytest.fixture(params=["1", "4"], autouse=True)
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PYPTO_NUM_THREADS", request.param)
    return request.param


def both(entry: str, *args: Any) -> tuple[list[Any], Any]:
    """Run compiled and in the interpreter; return arguments and result, which are equal."""
    runs: list[tuple[list[Any], Any]] = []
    for target in ("cpu", "interpreter"):
        ready = [arg.copy() if is_array(arg) else arg for arg in args]
        runs.append((ready, runtime.compile(Steps, target, entry=entry)(*ready)))
    for native, evaluated in zip(*(run[0] for run in runs), strict=True):
        np.testing.assert_array_equal(native, evaluated)
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    return runs[0]


def block(*shape: int) -> Array:
    return np.arange(float(np.prod(shape)), dtype=np.float32).reshape(shape)


def test_tasks_that_overwrite_their_inputs() -> None:
    """Kernels with read-after-write and write-after-read dependences keep their order."""
    ones = np.ones((8, 16), np.float32)
    args, result = both("fibonacci", ones, ones, ones * 0)
    assert result is args[1]
    assert [int(array[0, 0]) for array in args] == [987, 1597, 610]


def test_views_with_gaps() -> None:
    """Column blocks of a tensor are passed as dense copies, and copied back into the tensor."""
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
    """A loop whose condition reads what its tasks write runs the right number of iterations."""
    x = np.ones((8, 16), np.float32)
    args, iterations = both("until_large", x, 1000.0)
    assert iterations == 10
    assert (args[0] == 1024).all()


def test_tensors_made_inside() -> None:
    """Each iteration has its own tensor, which lives until the last task on it is done."""
    x = block(8, 16)
    _, result = both("with_scratch", x, np.zeros_like(x))
    np.testing.assert_array_equal(result, x * 3)


def test_host_functions_call_each_other() -> None:
    """A host function called from another one submits tasks of the same call."""
    ones = np.ones((8, 16), np.float32)
    args, result = both("twice", ones, ones * 0)
    assert result is args[1]
    assert (result == 18).all()


def test_views_that_overlap_partly() -> None:
    """Overlapping views with gaps cannot be copied separately: a kernel must not write one."""
    with pytest.raises(EvaluationError) as caught:
        runtime.compile(Steps, entry="overlapping")(block(8, 64))
    assert caught.value.message == (
        "add gets two views of one tensor that overlap, and writes one of them"
    )
    assert "self.add(left, left, right)" in caught.value.render()


def test_parameters_without_direction_may_be_written() -> None:
    """A store makes a parameter an output: it must be writable, and tasks on it are ordered."""
    compiled = runtime.compile(Undirected)
    assert compiled.written == ["y"]
    x, y = block(8, 16), np.zeros((8, 16), np.float32)
    assert compiled(x, y) is y
    np.testing.assert_array_equal(y, x * 4)


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
    """A call that failed leaves nothing behind that affects the next one."""
    compiled = runtime.compile(Broken)
    with pytest.raises(EvaluationError):
        compiled(np.ones((20, 16), np.float32), 3)
    out = np.ones((20, 16), np.float32)
    assert compiled(out, 2) is out
    assert out.sum() == 64


def test_scalars_reach_kernels() -> None:
    """An integer passed by the orchestration selects the row that the kernel copies."""
    x = block(4, 16)
    out = np.zeros_like(x)
    runtime.compile(CopyRow)(x, out)
    assert out[0].tolist() == x[1].tolist()
    assert not out[1:].any()
