"""Files generated from the definitions of ops are up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pypto._src.ops.define import Table

ROOT = Path(__file__).parents[2]


def test_generated_files_are_current() -> None:
    """`make generate` would change nothing: no op can lack a name that users import."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.generate", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_names_without_a_definition_say_what_to_do() -> None:
    """The error after renaming an op says to regenerate the lists, not just that a name is gone."""
    table: Table[str, int] = Table()
    table.lazy["block.softsign"] = ("elementwise",)
    with pytest.raises(KeyError, match=r"listed 'block\.softsign': run `make generate`"):
        table["block.softsign"]
