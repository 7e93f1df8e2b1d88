"""The playground: what its Python reports for a text, and what the page consists of.

`make playground` tests the page itself, in a browser; this needs neither a browser nor packages.
"""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto._src.dtypes import MEMBERS
from tools.playground import __main__ as build
from tools.playground import evaluate
from tools.playground import ml_dtypes as stand_in

PROGRAMS = {each["name"]: each["text"] for each in build.programs()}


@pytest.fixture(autouse=True)
def as_in_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without a compiler and without xDSL, in a writable folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "xdsl", None)
    monkeypatch.setattr("pypto._src.driver.find_toolchain", lambda: None)


def shown(text: str) -> Any:
    return json.loads(evaluate.evaluate(text))


def test_programs_of_the_page() -> None:
    """Each program offered by the page runs; all tabs are there, and the mistake is found."""
    assert next(iter(PROGRAMS)) == "softmax"
    for name, text in PROGRAMS.items():
        found = shown(text)
        lines = [each["line"] for each in found["findings"]]
        assert lines == ([8] if name == "mistakes" else []), name
        assert list(found["parts"])[0::7] == ["Results", "Timeline"]
        assert not [title for title, part in found["parts"].items() if "pypto-error" in part]
        assert not found["failed"]
    assert "largest difference from NumPy: " in shown(PROGRAMS["softmax"])["parts"]["Results"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (PROGRAMS["add"].replace("(left, right)", "(left, rihgt)"), 16, "rihgt"),
        ("x = (\n", 1, "SyntaxError"),
        ("import numpy\n1 / 0\n", 2, "ZeroDivisionError"),
        ("print(1)\n", 0, "defines no program"),
    ],
)
def test_failures(text: str, line: int, message: str) -> None:
    """A file that fails has a finding at its line, and its report in place of results."""
    found = shown(text)
    [finding] = found["findings"]
    assert found["failed"]
    assert finding["line"] == line
    assert message in finding["message"]
    assert list(found["parts"]) == ["Results"]


def test_elements_that_are_missing() -> None:
    """A program with element types that NumPy lacks is shown, but its results are not computed."""
    found = shown(PROGRAMS["gemm"].replace("FP16", "BF16").split("random =")[0])
    refused = [title for title, part in found["parts"].items() if "cannot compute" in part]
    assert refused == ["Results", "Tasks", "Timeline"]
    assert "bfloat16_t" in found["parts"]["C++"]


def test_stand_in_of_ml_dtypes() -> None:
    """It has a type of the right size for each element type that NumPy lacks."""
    names = {kind.numpy_name for kind in MEMBERS.values() if kind.numpy_name is not None}
    missing = {name for name in names if not hasattr(np, name)}
    assert set(stand_in.BYTES) == missing
    made = {name: getattr(stand_in, name) for name in missing}
    assert len(set(made.values())) == len(missing)
    for name, dtype in made.items():
        assert dtype.itemsize == np.dtype(getattr(ml_dtypes, name)).itemsize
        with pytest.raises(ValueError, match="sequence"):
            np.zeros(2, dtype).astype(np.float32)


def test_page_asks_nobody_else() -> None:
    """The page refers to no other host, and its policy forbids requests to any."""
    page = Path(build.HERE / "page")
    texts = {path.name: path.read_text(encoding="utf-8") for path in page.iterdir()}
    assert not [name for name, text in texts.items() if re.search(r"https?://", text)]
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', texts["index.html"])
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert " http" not in policy
    assert "'unsafe-eval'" not in policy


def test_archive() -> None:
    """The page's archive of our files is reproducible, and has no file of the C++ runtime."""
    data = build.our_archive()
    assert data == build.our_archive()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
    assert {"evaluate.py", "ml_dtypes.py", "pypto/language/__init__.py"} <= set(names)
    assert {Path(name).suffix for name in names} == {".py", ".toml"}
