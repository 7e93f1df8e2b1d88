"""A thousand damaged programs of each kind: each is refused, or read and printed back equal."""

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
    """In a process of its own, which has bounds on memory and time and watches what is done."""
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
    assert int(found[1]) >= COUNT // 50  # otherwise they are damaged beyond what readers look at
    assert int(found[2]) > COUNT // 2


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("probe", PLANTED)
def test_probe_leaves_a_trace(probe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is planted in kernels would be seen if it were evaluated: a file or an import of it."""
    monkeypatch.chdir(tmp_path)
    trace = ""
    try:
        eval(probe, {"pl": pl})
    except Exception as error:
        trace = str(error)
    assert PROBE in trace or (tmp_path / PROBE).exists()
