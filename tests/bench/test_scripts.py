"""The scripts of bench/ find what they take from the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "bench").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_imports(script: Path) -> None:
    """A script can be imported, which runs no measurement."""
    code = f"import sys; sys.path.insert(0, {str(script.parent)!r}); import {script.stem}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_there_are_scripts() -> None:
    """The folder was found."""
    assert {"compile", "kernels", "memory", "sync"} <= {path.stem for path in SCRIPTS}
