"""A thousand damaged programs of each kind: each is refused, or read and printed back equal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.mutants import KINDS

ROOT = Path(__file__).parents[2]
COUNT = 1000


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
    assert int(found[1]) >= 20  # otherwise they are damaged beyond what readers look at
    assert int(found[2]) > COUNT // 2
