"""The patterns that docs/editor.md gives to editors match the output of `pypto check`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pypto._src import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "editor.md").read_text(encoding="utf-8")
KERNEL = """\
import pypto.language as pl


@pl.program
class TopHalf:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[64, 32], pl.FP32], out: pl.Out[pl.Tensor[[64, 32], pl.FP32]]):
        out = pl.store(pl.load(x, [0, 0], [32, 32]), [0, 0], [32, 32], out)
        return out
"""
MESSAGE = "output 'out' of kernel is written in part only: nothing writes 32:64 in dimension 0"


def block(language: str) -> str:
    """Return the page's block in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_vs_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The task's patterns match the two consecutive lines of a finding."""
    monkeypatch.chdir(tmp_path)
    Path("top half.py").write_text(KERNEL, encoding="utf-8")
    assert cli.main(["check", "top half.py"]) == 0  # a warning
    lines = capsys.readouterr().err.splitlines()
    [task] = json.loads(block("json"))["tasks"]
    patterns: list[dict[str, Any]] = task["problemMatcher"]["pattern"]
    matches = [
        re.search(pattern["regexp"], line) for pattern, line in zip(patterns, lines, strict=False)
    ]
    first, second = (match.groups() for match in matches if match is not None)
    assert first == ("warning", MESSAGE, "out-partly-written")
    assert second == ("top half.py", "7", "55")


@pytest.mark.skipif(sys.platform == "win32", reason="Vim runs pypto by a shell script")
def test_vim(tmp_path: Path) -> None:
    """`:make` fills the list of Vim's findings."""
    if shutil.which("vim") is None:
        pytest.skip("Vim is not installed: what the page says of it cannot be tried")
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    command = tmp_path / "pypto"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pypto "$@"\n')
    command.chmod(0o755)
    (tmp_path / "settings.vim").write_text(block("vim"), encoding="utf-8")
    show = 'call writefile([json_encode(getqflist())], "found.json")'
    words = ["vim", "-u", "NONE", "-es", "-c", "source settings.vim", "-c", "silent make!"]
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    subprocess.run(
        [*words, "-c", show, "-c", "qall!", "kernel.py"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    [found] = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert (found["lnum"], found["col"], found["type"]) == (7, 55, "W")
    assert found["text"].startswith(MESSAGE)
