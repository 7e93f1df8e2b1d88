"""``pypto.golden``: arguments from specs, runs of kernels against a reference, comparisons."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import golden, runtime
from pypto._src.errors import CallError
from pypto.golden import ScalarSpec, TensorSpec, run_jit
from pypto.ir.distributed_compiled_program import DistributedConfig

Array = np.ndarray[Any, Any]
ROWS = pl.dynamic("ROWS")


def scaling(target: Any = "interpreter") -> Any:
    @pl.jit(target=target)
    def scale(
        x: pl.Tensor[[ROWS, 32], pl.FP32],
        f: pl.Scalar[pl.FP32],
        y: pl.Out[pl.Tensor[[ROWS, 32], pl.FP32]],
    ):
        for b in pl.spmd(ROWS // 8):
            y[b * 8 : b * 8 + 8, :] = pl.mul(x[b * 8 : b * 8 + 8, :], f)
        return y

    return scale


def specs(rows: int = 16) -> list[Any]:
    return [
        TensorSpec("x", [rows, 32], np.float32, init_value=lambda: np.arange(32)),
        ScalarSpec("f", np.float32, 0.5),
        TensorSpec("y", [rows, 32], np.float32, is_output=True),
    ]


def reference(t: dict[str, Any]) -> None:
    t["y"][:] = t["x"] * t["f"]
    t["x"][:] = 0  # its own copy


def test_runs_against_a_reference(capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel runs on what specs make, and its outputs are those of the reference."""
    kernel = scaling()
    for rows in (16, 32):
        result = run_jit(kernel, specs(rows), reference, runtime_cfg={"platform": "a2a3sim"})
        assert (result.passed, result.error) == (True, None)
    assert kernel.misses == ["scale: first call"]
    assert capsys.readouterr().out.startswith("[RUN] PASS (")


def test_a_wrong_result(capsys: pytest.CaptureFixture[str]) -> None:
    """What differs is in the result, and printed; comparisons of one output may allow it."""

    def wrong(t: dict[str, Any]) -> None:
        t["y"][:] = t["x"] * t["f"]
        t["y"][0, 0] = 9

    result = run_jit(scaling(), specs(), wrong)
    assert not result.passed
    assert result.error == ("output 'y': 1 of 512 elements differ, 0 may: [0, 0]: 0, expected 9")
    assert capsys.readouterr().out == f"[RUN] FAIL: {result.error}\n"
    compare = {"y": golden.ratio_allclose(max_error_ratio=0.01)}
    assert run_jit(scaling(), specs(), wrong, compare_fn=compare).passed
    assert run_jit(scaling(), specs()).passed  # nothing to compare with
    assert "nothing is compared" in capsys.readouterr().out


def test_saved_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run saves, a later one takes in place of a reference."""
    monkeypatch.chdir(tmp_path)
    folder = run_jit(scaling(), specs(), reference, save_data=True).work_dir
    assert folder is not None
    assert sorted(p.name for p in (folder / "data").rglob("*.npy")) == ["x.npy", "y.npy", "y.npy"]
    assert run_jit(scaling(), specs(), golden_data=folder / "data").passed
    np.save(folder / "data" / "out" / "y.npy", np.ones((16, 32), np.float32))
    assert not run_jit(scaling(), specs(), golden_data=folder / "data").passed


def test_compile_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts for the device are written anywhere; a run needs what the device needs."""
    monkeypatch.chdir(tmp_path)
    result = run_jit(scaling("cpu"), specs(), compile_only=True, runtime_cfg={"platform": "a2a3"})
    assert result.passed
    assert result.work_dir is not None
    assert [p.name for p in result.work_dir.rglob("*.pto")] == ["scale_incore_0.pto"]
    with pytest.raises(CallError, match="a run on a2a3 needs an Ascend 910B, its driver"):
        run_jit(scaling(), specs(), runtime_cfg={"platform": "a2a3"})


def test_folders_of_earlier_runs(tmp_path: Path) -> None:
    """The folder of an earlier run has to be there, and excludes `compile_only`."""
    assert run_jit(scaling(), specs(), reference, runtime_dir=tmp_path).passed
    missing = run_jit(scaling(), specs(), runtime_dir=tmp_path / "none")
    assert missing.error == f"there is no folder {tmp_path / 'none'}"
    both = run_jit(scaling(), specs(), compile_only=True, runtime_dir=tmp_path)
    assert both.error == "compile_only and runtime_dir exclude each other"


def test_options_that_there_are_not() -> None:
    """A misspelt field, platform or output is refused."""
    with pytest.raises(TypeError, match="RunConfig has no field 'platfrom'"):
        run_jit(scaling(), specs(), runtime_cfg={"platfrom": "a2a3sim"})
    with pytest.raises(ValueError, match="there is no platform 'a3'"):
        run_jit(scaling(), specs(), runtime_cfg={"platform": "a3"})
    with pytest.raises(ValueError, match="compare_fn has 'x'; the outputs are y"):
        run_jit(scaling(), specs(), compare_fn={"x": golden.ratio_allclose()})


def test_programs() -> None:
    """`run` does the same with a program."""
    kind = pl.Tensor[[16, 32], pl.FP32]
    program = scaling().parse(kind, pl.RUNTIME, kind)
    assert golden.run(program, specs(), reference).passed


def test_specs() -> None:
    """A tensor is zeros, a number, what a function returns; a scalar has a range."""
    assert TensorSpec("x", [2], np.int32).create_tensor().tolist() == [0, 0]
    assert TensorSpec("x", [2], pl.BF16, init_value=1.5).create_tensor().tolist() == [1.5, 1.5]
    assert TensorSpec("x", [2], np.int8, resident=0).is_resident
    assert not TensorSpec("x", [2], np.int8, resident=False).is_resident
    with pytest.raises(ValueError, match="resident of 'x' is True"):
        TensorSpec("x", [2], np.int8, resident=True)
    assert ScalarSpec("n", np.int8, -128).to_python() == -128
    assert ScalarSpec("n", np.int32, 7).to_ctypes().value == 7
    assert ScalarSpec("n", np.float16, 1.0).to_ctypes().value == 0x3C00
    with pytest.raises(ValueError, match="scalar 'n' is 128; int8 holds -128 to 127"):
        ScalarSpec("n", np.int8, 128)


def test_comparisons() -> None:
    """Which elements count, and how many may be wrong."""
    run: dict[str, Any] = {
        "rtol": 0.0,
        "atol": 0.1,
        "inputs": {},
        "expected_outputs": {},
        "actual_outputs": {},
    }
    expected = np.arange(200.0).reshape(100, 2)
    actual = expected.copy()
    actual[99, 1] += 1
    assert golden.ratio_allclose()(actual, expected, **run) == (True, "")
    assert not golden.ratio_allclose(max_error_ratio=0)(actual, expected, **run)[0]
    assert golden.ratio_allclose(max_error_ratio=0, valid_rows=99)(actual, expected, **run)[0]
    tail = golden.ratio_allclose(valid_rows=99, zero_tail=True)(actual, expected, **run)
    assert tail == (False, "2 elements behind the first 99 are not zero")
    assert golden.ratio_reldiff()(actual, expected, **run)[0]
    assert not golden.ratio_reldiff(max_diff_hd=0.001)(actual, expected, **run)[0]
    actual[0, 0] = np.nan
    assert golden.ratio_allclose()(actual, expected, **run) == (
        False, "1 of 200 elements are no finite numbers")  # fmt: skip


def test_indices_and_pools() -> None:
    """Equal values come in any order; of a pool the blocks count that a mapping names."""
    run: dict[str, Any] = {"rtol": 0.0, "atol": 0.0, "actual_outputs": {}}
    values, wanted = np.array([[3.0, 3.0, 1.0]]), np.array([[4, 7, 2]])
    others = {**run, "inputs": {}, "expected_outputs": {"values": values}}
    compare = golden.topk_pair_compare("values")
    assert compare(np.array([[7, 4, 9]]), wanted, **others) == (True, "")
    assert compare(np.array([[7, 5, 2]]), wanted, **others)[0] is False
    source = {**run, "inputs": {"values": np.array([[1.0, 5.0, 5.0, 0.0]])}, "expected_outputs": {}}
    assert compare(np.array([[2, 0]]), np.array([[1, 0]]), **source)[0]
    assert not compare(np.array([[3, 0]]), np.array([[1, 0]]), **source)[0]
    pool = golden.mapped_pool_ratio_allclose(
        "table", mapping_shape=(2, 2), block_size=2, atol=0.0, rtol=0.0
    )
    named = {**run, "inputs": {"table": np.array([2, 0, -1, -1])}, "expected_outputs": {}}
    expected = np.arange(12.0).reshape(6, 2)
    actual = expected.copy()
    actual[2] = -1  # of block 1, which is not named
    assert pool(actual, expected, **named)[0]
    actual[5] = -1
    assert not pool(actual, expected, **named)[0]


def test_names_of_compiled_programs() -> None:
    """A compiled program tells its parameters, its functions and its platform."""
    x = np.ones((16, 32), np.float32)
    compiled = scaling().compile(x, 0.5, x)
    assert (compiled.param_names, compiled.output_indices) == (["x", "f", "y"], [2])
    assert (compiled.has_return, compiled.platform) == (True, "a2a3sim")
    assert compiled["scale"] is compiled
    compiled(x, ctypes.c_float(0.5), x.copy())
    with pytest.raises(CallError, match="a c_double"):
        compiled(x, ctypes.c_double(0.5), x.copy())


def test_benchmark() -> None:
    """Calls are counted and timed; the first ones are not."""
    calls: list[int] = []
    stats = runtime.benchmark(lambda: calls.append(1), rounds=3, warmup=2)
    assert (len(calls), stats.rounds) == (5, 3)
    assert stats.min <= stats.median <= stats.max


def test_devices() -> None:
    """The devices of a program are different numbers."""
    assert (DistributedConfig().device_ids, DistributedConfig([1, 0]).device_ids) == ([0], [1, 0])
    for wrong in ([], [0, 0], [-1]):
        with pytest.raises(ValueError, match="device_ids are different numbers from 0 on"):
            DistributedConfig(wrong)
