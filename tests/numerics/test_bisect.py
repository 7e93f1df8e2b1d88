"""The first wrong statement: versions, float64, functions on arrays, capsules, planted faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pypto._src import cli
from pypto._src.ir.stmts import Program
from pypto._src.numerics.bisect import against_program, worst_element
from pypto._src.numerics.capsule import Search
from tests.numerics.faults import FAULTS, Fault, outcome

RIGHT = """\
import pypto.language as pl


@pl.jit
def softmax(x: pl.Tensor[[64, 128], pl.FP32], out: pl.Out[pl.Tensor[[64, 128], pl.FP32]]):
    powers = pl.create_tensor([64, 128], dtype=pl.FP32)
    for block in pl.spmd(4, name_hint="powers"):
        row = block * 16
        rows = x[row : row + 16, :]
        top = pl.row_max(rows)
        shifted = pl.row_expand_sub(rows, top)
        powers[row : row + 16, :] = pl.exp(shifted)
    for block in pl.spmd(4, name_hint="divide"):
        row = block * 16
        part = powers[row : row + 16, :]
        total = pl.row_sum(part)
        out[row : row + 16, :] = pl.row_expand_div(part, total)
    return out
"""
REFERENCE = """\
import numpy as np


def reference(x, out):
    x = x.astype(np.float64)
    top = x.max(axis=1, keepdims=True)
    shifted = x - top
    powers = np.exp(shifted)
    total = powers.sum(axis=1, keepdims=True)
    return {"out": powers / total}
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def search(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Return the status of ``pypto bisect`` and the difference found."""
    status = cli.main(["bisect", *words, "--json"])
    return status, json.loads(capsys.readouterr().out)["difference"]


CHANGES = {
    "rows = x[row : row + 16, :]": ("rows = x[0:16, :]", 9),
    "pl.row_max(rows)": ("pl.row_min(rows)", 10),
    "pl.row_expand_sub(rows, top)": ("rows", 11),
    "pl.exp(shifted)": ("pl.exp(rows)", 12),
    "total = pl.row_sum(part)": ("total = pl.row_max(part)", 16),
    "pl.row_expand_div(part, total)": ("pl.row_expand_mul(part, total)", 17),
}


@pytest.mark.parametrize("old", CHANGES)
def test_against_an_earlier_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str
) -> None:
    """The changed statement is found, or what it lacks."""
    new, line = CHANGES[old]
    right = write(tmp_path, "right.py", RIGHT)
    wrong = write(tmp_path, "wrong.py", RIGHT.replace(old, new))
    status, found = search(capsys, wrong, "--against", right)
    assert status == 1
    lines = [found["line"], *(int(each.rpartition(":")[2]) for each in found["only_there"])]
    assert line in lines
    assert search(capsys, right, "--against", right) == (0, None)


@pytest.mark.parametrize(
    ("old", "line", "region"),
    [("pl.exp(shifted)", 12, "powers"), ("total = pl.row_sum(part)", 16, "divide")],
)
def test_against_a_function_on_arrays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, line: int, region: str
) -> None:
    """Tensors and tiles are compared with a reference function's variables of the same names."""
    wrong = write(tmp_path, "wrong.py", RIGHT.replace(old, CHANGES[old][0]))
    reference = write(tmp_path, "ref.py", REFERENCE)
    status, found = search(capsys, wrong, "--against", reference)
    assert (status, found["line"], found["region"]) == (1, line, region)
    right = write(tmp_path, "right.py", RIGHT)
    assert search(capsys, right, "--against", reference) == (0, None)


def test_a_reference_returns_arrays_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """These are the program's outputs; a wrong number of them is an error with what to return."""
    right = write(tmp_path, "right.py", RIGHT)
    old = "pl.row_expand_div(part, total)"
    wrong = write(tmp_path, "wrong.py", RIGHT.replace(old, CHANGES[old][0]))
    for returned in ("powers / total", "[powers / total]"):
        text = REFERENCE.replace('{"out": powers / total}', returned)
        reference = write(tmp_path, "ref.py", text)
        assert search(capsys, right, "--against", reference) == (0, None)
        status, found = search(capsys, wrong, "--against", reference)
        assert (status, found["line"]) == (1, 17)
    text = REFERENCE.replace('{"out": powers / total}', "powers, total")
    reference = write(tmp_path, "ref.py", text)
    assert cli.main(["bisect", right, "--against", reference]) == 1
    assert "return {'out': out}" in capsys.readouterr().err


def test_operands_have_no_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A statement's intermediate values are not the value of the variable that it assigns."""
    nested = RIGHT.replace(
        "total = pl.row_sum(part)", "total = pl.mul(pl.row_sum(pl.mul(part, 2.0)), 0.5)"
    )
    right = write(tmp_path, "right.py", nested)
    wrong = write(tmp_path, "wrong.py", nested.replace("0.5)", "0.25)"))
    reference = write(tmp_path, "ref.py", REFERENCE)
    assert search(capsys, right, "--against", reference) == (0, None)
    status, found = search(capsys, wrong, "--against", reference)
    assert (status, found["line"], found["value"]) == (1, 16, "total")
    assert found["statement"] == "pl.mul(pl.row_sum(pl.mul(part, 2.0)), 0.25)"


def test_against_float64(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first statement with a rounding error above the bound is found."""
    text = RIGHT.replace(
        "part = powers[row : row + 16, :]\n",
        "part = pl.cast(pl.cast(powers[row : row + 16, :], pl.BF16), pl.FP32)\n",
    )
    path = write(tmp_path, "short.py", text)
    status, found = search(capsys, path, "--against", "float64", "--bound", "1e-5")
    assert (status, found["line"], found["statement"]) == (
        1,
        15,
        "pl.cast(powers[row : row + 16, :], pl.BF16)",
    )
    assert 1e-5 < found["error"] < 4e-3
    assert search(capsys, path, "--against", "float64") == (0, None)


@pytest.mark.parametrize("reference", ["right.py", "ref.py", "float64"])
def test_a_capsule_runs_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reference: str
) -> None:
    """Program, arguments and reference are in one data file, and give the same difference."""
    write(tmp_path, "right.py", RIGHT)
    write(tmp_path, "ref.py", REFERENCE)
    wrong = write(tmp_path, "wrong.py", RIGHT.replace("pl.exp(shifted)", "pl.exp(rows)"))
    other = str(tmp_path / reference) if reference != "float64" else reference
    capsule = str(tmp_path / "wrong.npz")
    words = ["--seed", "3", "--bound", "1e-9", "-o", capsule]
    first = search(capsys, wrong, "--against", other, *words)
    for path in tmp_path.glob("*.py"):
        path.unlink()
    status, again = search(capsys, capsule)
    assert first[0] == status == 1
    for key in ("line", "index", "found", "wanted", "iteration", "region"):
        assert first[1][key] == again[key]
    assert isinstance(Search.load(Path(capsule)).program, Program)


def test_damaged_capsules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An invalid capsule is an error; pickled objects in it are rejected."""
    path = tmp_path / "c.npz"
    bad: Any = np.array([object()], dtype=object)
    for make in (
        lambda: path.write_bytes(b"PK\x03\x04"),
        lambda: np.savez(path, x=np.zeros(3)),
        lambda: np.savez(path, json=bad),
        lambda: np.savez(path, json=np.frombuffer(b"[1", np.uint8)),
        lambda: np.savez(path, json=np.frombuffer(b"[1]", np.uint8)),
    ):
        make()
        assert cli.main(["bisect", str(path)]) == 1
        assert "is not a capsule that this version reads" in capsys.readouterr().err


def test_wrong_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A search needs a reference, and a capsule has its own."""
    path = write(tmp_path, "right.py", RIGHT)
    assert cli.main(["bisect", path]) == 2
    assert "--against REF.py" in capsys.readouterr().err
    assert cli.main(["bisect", "c.npz", "--against", path]) == 2
    assert cli.main(["bisect", path, "--against", path, "--bound", "-1"]) == 2
    empty = write(tmp_path, "empty.py", "x = 1")
    assert cli.main(["bisect", path, "--against", empty]) == 1
    assert "has no program and no reference" in capsys.readouterr().err
    fails = write(tmp_path, "fails.py", "def reference(x, out):\n    return 1 / 0\n")
    assert cli.main(["bisect", path, "--against", fails]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text has both values, both lines, the iteration and the last statement that agrees."""
    right = write(tmp_path, "right.py", RIGHT)
    wrong = write(tmp_path, "wrong.py", RIGHT.replace("pl.row_max(rows)", "pl.row_min(rows)"))
    assert cli.main(["bisect", wrong, "--against", right]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("error: the first wrong value in powers, at block = 0: element [")
    assert f"{wrong}:10:15" in printed
    assert f"{right}:10" in printed
    assert "= note: the last that agrees: wrong.py:9  x[row : row + 16, :]" in printed
    assert cli.main(["bisect", right, "--against", right]) == 0
    assert capsys.readouterr().out == "every value that has a partner is within 0\n"


def test_a_region_without_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its line is labelled as the region's; the wrong statement is on another line."""
    unnamed = RIGHT.replace(', name_hint="divide"', "")
    wrong = write(tmp_path, "wrong.py", unnamed.replace("row_sum(part)", "row_max(part)"))
    assert cli.main(["bisect", wrong, "--against", write(tmp_path, "right.py", unnamed)]) == 1
    told = capsys.readouterr().out
    assert "the first wrong value in the region at line 13, at block = 0" in told
    assert "wrong.py:16:" in told


def test_worst_elements() -> None:
    """The element furthest off is found; poison equals itself; shapes have to match."""
    assert worst_element(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), 0.0) is None
    assert worst_element(np.array([1.0, 3.0]), np.array([1.0, 2.0]), 0.5) is None
    assert worst_element(np.array([1.0, 4.0]), np.array([1.0, 2.0]), 0.5) == ((1,), "4", "2", 1.0)
    found = worst_element(np.zeros((2, 3)), np.zeros((3, 2)), 0.0)
    assert found == ((), "of shape [2, 3]", "[3, 2]", float("inf"))
    assert worst_element(3, 4, 0.0) == ((), "3", "4", 0.25)


@pytest.mark.parametrize("fault", FAULTS[16:17] + FAULTS[21:], ids=lambda fault: fault.kind)
def test_planted_faults(fault: Fault) -> None:
    """The faults of `tests.numerics.faults` in small programs are found here, too."""
    assert outcome(fault).is_named


def test_arguments_stay(tmp_path: Path) -> None:
    """A search modifies none of the arguments."""
    from pypto._src.commands.programs import load

    program = load(write(tmp_path, "right.py", RIGHT))
    x, out = np.ones((64, 128), np.float32), np.zeros((64, 128), np.float32)
    assert against_program(program, program, [x, out]) is None
    assert (out == 0).all()
