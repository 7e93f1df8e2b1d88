"""`pypto verify FILE.pto`."""

from __future__ import annotations

import importlib.util
import json
import runpy
from pathlib import Path

import pytest

import pypto._src.cli as cli
from pypto._src.errors import PyptoError

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "pto" / "kernels" / "matmul.level3.pto"
BROKEN = Path(__file__).parent / "broken" / "add-of-bytes-on-a3.pto"


def test_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without xdsl the command says what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(PyptoError, match="xdsl") as caught:
        runpy.run_path(str(ROOT / "src" / "pypto" / "_src" / "dialect" / "__init__.py"))
    assert caught.value.hint == "pip install 'pypto[mlir]'"
    assert caught.value.slug == "missing-package"


def test_accepted_file(capsys: pytest.CaptureFixture[str]) -> None:
    """A correct file gives one line and status 0; its first line gives the level."""
    assert cli.main(["verify", str(GOLDEN)]) == 0
    assert capsys.readouterr().out == f"{GOLDEN}: accepted for a3 at level3\n"


def test_refused_file(capsys: pytest.CaptureFixture[str]) -> None:
    """A faulty file gives the fault's location and status 1; another target may accept it."""
    assert cli.main(["verify", str(BROKEN)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[:2] == [
        "error: src0 has elements of i8, wanted f16, f32, i16, i32  [element-type]",
        f" --> {BROKEN}:7:5",
    ]
    assert cli.main(["verify", str(BROKEN), "--arch", "a5"]) == 0


def test_python_is_no_pto(capsys: pytest.CaptureFixture[str]) -> None:
    """A Python file is not parsed as PTO: the report says how to emit a `.pto` text."""
    assert cli.main(["verify", "kernel.py"]) == 1
    assert capsys.readouterr().err == (
        "error: kernel.py is a Python file, a text of PTO MLIR was wanted  [file]\n"
        "  = hint: pypto compile kernel.py --backend pto writes such texts\n"
    )


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """``--json`` prints the options and the faults as data."""
    assert cli.main(["verify", str(BROKEN), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "file": str(BROKEN),
        "arch": "a3",
        "level": "level2",
        "insert_sync": False,
        "faults": [
            {
                "line": 7,
                "column": 5,
                "rule": "element-type",
                "message": "src0 has elements of i8, wanted f16, f32, i16, i32",
            }
        ],
    }


def test_level_that_is_given_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """At level 2 no tile may have an address."""
    assert cli.main(["verify", str(GOLDEN), "--level", "level2"]) == 1
    assert capsys.readouterr().err.count("[level]") == 9


def test_text_of_another_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A syntax error is reported at its line, a missing file by its name."""
    path = tmp_path / "k.pto"
    path.write_text("module {\n  func.func @k( {\n}\n")
    assert cli.main(["verify", str(path)]) == 1
    assert f"{path}:2:" in capsys.readouterr().err
    assert cli.main(["verify", str(tmp_path / "none.pto")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_target_of_the_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without ``--arch`` the module gives the target; with it both must accept the text."""
    text = BROKEN.read_text(encoding="utf-8")
    path = tmp_path / "k.pto"
    path.write_text(text.replace("module {", 'module attributes {pto.target_arch = "a5"} {'))
    assert cli.main(["verify", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: accepted for a5 at level2\n"
    assert cli.main(["verify", str(path), "--arch", "a3"]) == 1
