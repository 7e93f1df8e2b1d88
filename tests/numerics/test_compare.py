"""Where precision is lost: ulps, exact runs, the table and the inputs of `pypto compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src import cli
from pypto._src.dtypes import DataType
from pypto._src.numerics.ulps import distances, ulp

KERNEL = """\
import pypto.language as pl

M = pl.dynamic("M")


@pl.jit
def weights(x: pl.Tensor[[M, 128], pl.BF16], out: pl.Out[pl.Tensor[[M, 128], pl.BF16]]):
    for i in pl.range(0, pl.tensor.dim(x, 0), 16):
        with pl.incore():
            rows = pl.cast(x[i : i + 16, :], target_type=pl.FP32)
            powers = pl.exp(pl.mul(rows, 2.0))
            out[i : i + 16, :] = pl.cast(powers, target_type=pl.BF16)
    return out
"""


def write(folder: Path) -> str:
    path = folder / "weights.py"
    path.write_text(KERNEL)
    return str(path)


@pytest.mark.parametrize("dtype", ["FP32", "FP16", "BF16", "FP8E4M3FN", "FP8E5M2"])
def test_ulps_are_distances_of_neighbours(dtype: str) -> None:
    """For all positive numbers of a type, the next one is an ulp away."""
    kind: DataType = getattr(DataType, dtype)
    bits = min(kind.get_bit(), 16)
    patterns = np.arange((1 << (bits - 1)) - 1)
    whole = patterns.astype(np.uint32) << 16 if dtype == "FP32" else patterns
    numbers: Any = whole.astype(f"uint{kind.get_bit()}")
    with np.errstate(invalid="ignore"):
        values = numbers.view(kind.numpy).astype(np.float64)
        after = (numbers + 1).view(kind.numpy).astype(np.float64)
    used = np.isfinite(values) & np.isfinite(after)
    assert used.sum() > 100
    assert (ulp(values, kind)[used] == after[used] - values[used]).all()


def test_what_is_no_number() -> None:
    """Two NaNs are equal, as are equal infinities; otherwise the distance is infinite."""
    found = distances([np.nan, np.inf, np.nan, -np.inf], [np.nan, np.inf, 1.0, np.inf])
    assert found.tolist() == [0.0, 0.0, np.inf, np.inf]
    assert ulp([1.0, 5.0], DataType.INT8).tolist() == [1.0, 1.0]


@pl.jit
def softmax(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.incore():
        powers = pl.exp(pl.row_expand_sub(x, pl.row_max(x)))
        short = pl.cast(powers, target_type=pl.BF16)
        total = pl.row_sum(pl.cast(short, target_type=pl.FP32))
        out[:] = pl.row_expand_div(powers, total)
    return out


def test_the_cast_that_rounds_is_first() -> None:
    """A cast to BF16 loses half a BF16 ulp; an exact result loses nothing."""
    x = np.random.default_rng(1).standard_normal((16, 64), np.float32)
    out = np.zeros((16, 64), np.float32)
    program = softmax.parse(x, out)
    found = runtime.compare(program, x, out)
    first = found.statements[0]
    assert first.point.text == "pl.cast(powers, target_type=pl.BF16)"
    assert first.span.begin_line == program.functions_[0].span.begin_line + 3
    assert 0.4 < first.errors.largest <= 0.51
    assert first.errors.dtype is DataType.BF16
    wanted = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    worst = first.errors.worst
    assert worst is not None
    assert worst.exact == pytest.approx(wanted[worst.index], rel=1e-12)
    assert worst.found == np.float32(wanted[worst.index].astype(ml_dtypes.bfloat16))
    assert (out == 0).all()
    assert str(found).splitlines()[1].split()[1:4] == [
        f"{first.errors.largest:.3g}",
        f"{first.errors.mean:.2g}",
        "BF16",
    ]


def test_results_of_both_runs() -> None:
    """The exact result is that of NumPy in float64; interpreter and compiled code are near it."""
    x = np.random.default_rng(1).standard_normal((16, 64), np.float32)
    out = np.zeros((16, 64), np.float32)
    found = runtime.compare(softmax.parse(x, out), x, out)
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    exact = powers / powers.sum(axis=1, keepdims=True)
    for errors in found.results["out"].values():
        assert errors.worst is not None
        assert errors.worst.exact == pytest.approx(exact[errors.worst.index], rel=1e-12)
        assert errors.part < 2e-3


def test_another_way_in_float64() -> None:
    """Where the two runs diverge, the comparison ends and says where."""
    program = pl.parse(
        "import pypto.language as pl\n@pl.program\nclass P:\n"
        "  @pl.function(type=pl.FunctionType.InCore)\n"
        "  def f(self, x: pl.Tensor[[16, 16], pl.FP32], y: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):\n"
        "    t = pl.load(x, [0, 0], [16, 16])\n"
        "    if pl.tensor.read(x, [0, 0]) + 0.00000001 > 1.0:\n"
        "      y = pl.store(pl.exp(t), [0, 0], [16, 16], y)\n"
        "    else:\n"
        "      y = pl.store(t, [0, 0], [16, 16], y)\n"
    )
    assert isinstance(program, ir.Program)
    x = np.ones((16, 16), np.float32)
    found = runtime.compare(program, x, x.copy())
    assert found.diverged is not None
    assert "goes another way here" in str(found)
    assert found.results == {}


def test_sorts_compute_on_bytes(tmp_path: Path) -> None:
    """Value/index pairs are not 64-bit numbers: a top-k program can be compared, too."""
    path = Path(__file__).parents[2] / "examples" / "top_k.py"
    assert cli.main(["compare", str(path)]) == 0


def test_inputs_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Arrays are matched by name, BF16 by its bytes; a named size is the arrays'."""
    x = np.linspace(-1, 1, 32 * 128).reshape(32, 128).astype(ml_dtypes.bfloat16)
    arrays = str(tmp_path / "in.npz")
    np.savez(arrays, x=x)
    assert cli.main(["compare", write(tmp_path), "--inputs", arrays, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["statements"][0]["line"] == 12
    worst = found["results"]["out"]["interpreter"]["worst"]
    row, column = worst["index"]
    assert worst["exact"] == pytest.approx(float(np.exp(2 * x[row, column].astype(float))))


@pytest.mark.parametrize(
    ("name", "text"),
    [("y", "is not a parameter of weights"), ("", "holds no arrays of NumPy")],
)
def test_wrong_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    """An unknown name, and a file in another format, are errors with a hint."""
    arrays = tmp_path / "in.npz"
    if name:
        np.savez(arrays, y=np.zeros(3))
    else:
        arrays.write_text("not arrays")
    assert cli.main(["compare", write(tmp_path), "--inputs", str(arrays)]) == 1
    printed = capsys.readouterr().err
    assert text in printed
    assert "hint: " in printed


def test_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without arrays, the size of a named dimension is required and accepted."""
    assert cli.main(["compare", write(tmp_path)]) == 1
    assert "--size M=64" in capsys.readouterr().err
    assert cli.main(["compare", write(tmp_path), "--size", "M=32", "--rows", "1"]) == 0
    assert "statements that lose less" in capsys.readouterr().out
    assert cli.main(["compare", write(tmp_path), "--size", "M=32", "--size", "M=16"]) == 2
