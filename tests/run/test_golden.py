"""``pypto.golden``: arguments from specs, runs of kernels against a reference, comparisons."""

from __future__ import annotations

import ctypes
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import golden, runtime
from pypto._src.errors import CallError, OutputError
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto.golden import ScalarSpec, TensorSpec, run_jit
from pypto.ir.distributed_compiled_program import DistributedConfig
from pypto.runtime import RunConfig

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
    """A kernel runs on arguments made from specs, and its outputs match the reference."""
    kernel = scaling()
    for rows in (16, 32):
        result = run_jit(kernel, specs(rows), reference, runtime_cfg={"platform": "a2a3sim"})
        assert (result.passed, result.error) == (True, None)
    assert kernel.misses == ["scale: first call"]
    assert capsys.readouterr().out.startswith("[RUN] PASS (")


def test_a_wrong_result(capsys: pytest.CaptureFixture[str]) -> None:
    """Differences are in the result, and printed; a comparison of one output may allow them."""

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
    """Data saved by one run replaces the reference in a later one."""
    monkeypatch.chdir(tmp_path)
    folder = run_jit(scaling(), specs(), reference, save_data=True).work_dir
    assert folder is not None
    assert sorted(p.name for p in (folder / "data").rglob("*.npy")) == ["x.npy", "y.npy", "y.npy"]
    assert run_jit(scaling(), specs(), golden_data=folder / "data").passed
    np.save(folder / "data" / "out" / "y.npy", np.ones((16, 32), np.float32))
    assert not run_jit(scaling(), specs(), golden_data=folder / "data").passed


def test_compile_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts for the device can be emitted anywhere; a run needs the device's tools."""
    monkeypatch.chdir(tmp_path)
    result = run_jit(scaling("cpu"), specs(), compile_only=True, runtime_cfg={"platform": "a2a3"})
    assert result.passed
    assert result.work_dir is not None
    assert [p.name for p in result.work_dir.rglob("*.pto")] == ["scale_incore_0.pto"]
    with pytest.raises(CallError, match="a run on a2a3 needs an Ascend 910B, its driver"):
        run_jit(scaling(), specs(), runtime_cfg={"platform": "a2a3"})


def test_folders_of_earlier_runs(tmp_path: Path) -> None:
    """The folder of an earlier run must exist, and excludes `compile_only`."""
    config = {"dump_passes": True, "save_kernels_dir": str(tmp_path / "made")}
    first = run_jit(scaling(), specs(), reference, compile_cfg=config)
    assert first.work_dir is not None
    assert first.work_dir == tmp_path / "made"
    assert sorted(p.name for p in first.work_dir.iterdir()) == [
        "kernels",
        "orchestration",
        "passes_dump",
        "program.ir",
        "program.json",
    ]
    assert (first.work_dir / "passes_dump" / "03_after_OutlineIncoreScopes.py").is_file()
    again = run_jit(None, specs(), reference, runtime_dir=first.work_dir)
    assert (again.passed, again.work_dir) == (True, first.work_dir)
    empty = run_jit(scaling(), specs(), reference, runtime_dir=tmp_path)
    assert str(empty.error).startswith(f"{tmp_path} is not the folder of a compiled program")
    missing = run_jit(scaling(), specs(), runtime_dir=tmp_path / "none")
    assert missing.error == f"there is no folder {tmp_path / 'none'}"
    both = run_jit(scaling(), specs(), compile_only=True, runtime_dir=tmp_path)
    assert both.error == "compile_only and runtime_dir exclude each other"


def test_options_that_there_are_not() -> None:
    """A misspelt field, platform or output is rejected."""
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
    strategy = {"strategy": OptimizationStrategy.PTOAS, "skip_ptoas": True}
    assert golden.run(program, specs(), reference, compile_cfg=strategy).passed
    with pytest.raises(TypeError, match="RunConfig has no field 'stratgy'"):
        golden.run(program, specs(), reference, compile_cfg={"stratgy": 1})


def test_configurations(tmp_path: Path) -> None:
    """A configuration selects passes, and which texts a call emits; a device only compiles."""
    kernel = scaling()
    x, y = np.ones((16, 32), np.float32), np.zeros((16, 32), np.float32)
    dumped = RunConfig(dump_passes=True, save_kernels_dir=str(tmp_path / "dumped"))
    kernel(x, 2.0, y, config=dumped)
    assert (y == 2).all()
    passes = [p.name for p in sorted((tmp_path / "dumped" / "passes_dump").iterdir())]
    assert passes[0] == "00_frontend.py"
    assert any("InsertSync" in name for name in passes)
    ptoas = RunConfig(strategy=OptimizationStrategy.PTOAS, save_kernels_dir=str(tmp_path / "ptoas"))
    compiled = kernel.compile(x, 2.0, y, config=ptoas)
    assert compiled.runtime_config is ptoas
    assert kernel.compile(x, 2.0, y, config=ptoas) is compiled
    compiled(x, 2.0, y)
    kernels = list((tmp_path / "ptoas" / "kernels").rglob("*.pto"))
    assert len(kernels) == 1
    assert "set_flag" not in kernels[0].read_text()
    assert "set_flag" in next((tmp_path / "dumped" / "kernels").rglob("*.pto")).read_text()
    assert len(kernel.lower(x, 2.0, y, config=ptoas).functions_) == 2
    device = kernel.compile(x, 2.0, y, config=RunConfig(platform="a2a3"))
    assert (device.platform, device.runtime_name) == ("a2a3", "tensormap_and_ringbuffer")
    with pytest.raises(CallError, match="a run on a2a3 needs an Ascend 910B"):
        device(x, 2.0, y)
    device(x, 2.0, y, config=RunConfig())
    wrong: Any = "Default"
    with pytest.raises(TypeError, match="strategy is OptimizationStrategy"):
        RunConfig(strategy=wrong)
    with pytest.raises(TypeError, match="dump_passes is True or False, got 'Default'"):
        RunConfig(dump_passes=wrong)


def test_programs_of_folders(tmp_path: Path) -> None:
    """A compiled program can be loaded from its folder, with the scalars that are part of it."""
    kernel = scaling()
    x, y = np.ones((16, 32), np.float32), np.zeros((16, 32), np.float32)
    config = RunConfig(save_kernels_dir=str(tmp_path))
    folder = kernel.compile(x, 3.0, y, config=config).output_dir
    loaded = runtime.CompiledProgram.from_dir(folder)
    assert loaded.output_dir == folder
    loaded(x, 3.0, y)
    assert (y == 3).all()
    with pytest.raises(CallError, match="3"):
        loaded(x, 4.0, y)
    (tmp_path / "program.json").write_text('{"entry": 1}')
    with pytest.raises(OutputError, match="not the folder of a compiled program: 'fixed'"):
        runtime.CompiledProgram.load(folder)


LIBRARY = {
    "config.py": "ROWS, COLS, STEP = 32, 64, 16\n",
    "rms_norm.py": """
import pypto.language as pl
from config import COLS, STEP


@pl.jit.inline
def rms_norm(x: pl.Tensor[[STEP, COLS], pl.FP32]):
    mean = pl.mul(pl.row_sum(pl.mul(x, x)), 1.0 / COLS)
    return pl.row_expand_mul(x, pl.rsqrt(pl.add(mean, 1e-6)))
""",
    "program.py": """
import argparse
import numpy as np
import pypto.language as pl
from golden import TensorSpec, ratio_allclose, run_jit
from config import COLS, ROWS, STEP
from rms_norm import rms_norm


@pl.jit
def forward(
    x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]
):
    for b in pl.spmd(ROWS // STEP, name_hint="rms_norm"):
        even = rms_norm(x[b * STEP : b * STEP + STEP, :])
        y[b * STEP : b * STEP + STEP, :] = even
    return y


def golden_forward(t):
    t["y"][:] = t["x"] / np.sqrt((t["x"] ** 2).mean(1, keepdims=True) + 1e-6)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-p", "--platform", default="a2a3sim")
    parser.add_argument("-d", "--device", type=int, default=0)
    args = parser.parse_args()
    specs = [
        TensorSpec("x", [ROWS, COLS], np.float32, init_value=lambda: np.arange(1, COLS + 1)),
        TensorSpec("y", [ROWS, COLS], np.float32, is_output=True),
    ]
    result = run_jit(
        fn=forward,
        specs=specs,
        golden_fn=golden_forward,
        runtime_cfg={"platform": args.platform, "device_id": args.device},
        rtol=1e-4,
        compare_fn={"y": ratio_allclose(atol=1e-4, rtol=1 / 128)},
    )
    if not result.passed:
        raise SystemExit(result.error or 1)
""",
}


def ran(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "program.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder.parent)


def test_files_of_a_library(tmp_path: Path) -> None:
    """A program file runs as a script, with `golden`, its constants and kernels by bare names."""
    folder = tmp_path / "library"
    folder.mkdir()
    for name, text in LIBRARY.items():
        (folder / name).write_text(text)
    done = ran(folder, "-p", "a2a3sim", "-d", "0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[RUN] PASS (")
    refused = ran(folder, "-p", "a2a3")
    assert refused.returncode == 1
    assert "a run on a2a3 needs an Ascend 910B" in refused.stderr
    (folder / "golden.py").write_text("raise SystemExit('a golden of the library')\n")
    assert ran(folder).stderr == "a golden of the library\n"


def test_golden_at_the_top() -> None:
    """The module `golden` has what `pypto.golden` has."""
    top = importlib.import_module("golden")
    assert top.__all__ == golden.__all__
    assert all(getattr(top, name) is getattr(golden, name) for name in top.__all__)


def test_specs() -> None:
    """A tensor is zeros, a number, or a function's result; a scalar has a range."""
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
    assert tail == (False, "2 elements after the first 99 are not zero")
    assert golden.ratio_reldiff()(actual, expected, **run)[0]
    assert not golden.ratio_reldiff(max_diff_hd=0.001)(actual, expected, **run)[0]
    actual[0, 0] = np.nan
    assert golden.ratio_allclose()(actual, expected, **run) == (
        False, "1 of 200 elements are not finite")  # fmt: skip


def test_indices_and_pools() -> None:
    """Equal values may come in any order; in a pool, only blocks named by a mapping count."""
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
    """A compiled program has its parameters, its functions and its platform as attributes."""
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
    """The devices of a program are distinct numbers."""
    assert (DistributedConfig().device_ids, DistributedConfig([1, 0]).device_ids) == ([0], [1, 0])
    for wrong in ([], [0, 0], [-1]):
        with pytest.raises(ValueError, match="device_ids are different numbers from 0 on"):
            DistributedConfig(wrong)
