"""A thousand damaged programs of each kind: each is rejected, or read and printed back equal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pypto.language as pl
from tests import effort
from tests.attack.mutants import KINDS, PLANTED, PROBE

ROOT = Path(__file__).parents[2]
COUNT = effort.count(150, thorough_run=1000)


@pytest.mark.parametrize("kind", KINDS)
def test_mutants(kind: str) -> None:
    """In its own process, with limits on memory and time, and under observation."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack.mutants", kind, str(COUNT)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = re.fullmatch(rf"{kind}: {COUNT} mutants of seed 0, (\d+) read, (\d+) .*\n", done.stdout)
    assert found is not None, done.stdout
    assert int(found[1]) >= COUNT // 50  # otherwise they are too damaged to test the readers
    assert int(found[2]) > COUNT // 2


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("probe", PLANTED)
def test_probe_leaves_a_trace(probe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluating what is planted in kernels would be noticed: it leaves a file or an import."""
    monkeypatch.chdir(tmp_path)
    trace = ""
    try:
        eval(probe, {"pl": pl})
    except Exception as error:
        trace = str(error)
    assert PROBE in trace or (tmp_path / PROBE).exists()
