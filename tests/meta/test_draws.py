"""Random test data in CI is the same in every process, whatever ran there before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).parents[2]
DRAWS = """\
import sys
from hypothesis import given, strategies
import tests.conftest


def draws():
    seen = []

    @given(strategies.lists(strategies.integers(0, 10**6) | strategies.text()))
    def keep(values):
        seen.append(values)

    keep()
    return seen


first = draws()
sys.path.insert(0, ".")
import numbers_and_words

print(len(first), draws() == first)
"""


def test_loaded_modules_do_not_count(tmp_path: Path) -> None:
    """In CI, one test draws the same values after a module full of constants is loaded."""
    constants = [*range(50_000, 52_000, 7), *(f"word {n}" for n in range(300))]
    (tmp_path / "numbers_and_words.py").write_text(f"ALL = {constants}\n")
    done = subprocess.run(
        [sys.executable, "-c", DRAWS],
        cwd=tmp_path,
        env={**os.environ, "CI": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    drawn = settings.get_profile("ci").max_examples
    assert (done.stdout, done.stderr) == (f"{drawn} True\n", "")
