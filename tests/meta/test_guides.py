"""The guides to adding something: their steps are applied to a copy of the sources, and work.

A block with a path after its language is a new file. A block ``diff PATH`` has a few lines of that
file, of which those with ``+`` are new; ``@@`` separates positions in one file. Only the lines
before new ones are shown: whoever adds something else after them does not break the guide.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Guide:
    """A page, and limits on how much it may ask of its reader."""

    page: str
    new_files: tuple[str, ...]
    changed_files: tuple[str, ...]
    changed_lines: int | None = None
    generates: bool = False
    """Whether `make generate` has to run afterwards."""
    runs: tuple[str, ...] = ()
    """The tests to run, besides the new ones: existing tests, restricted to the new thing."""


OPS = "src/pypto/_src/ops/elementwise.py", "tests/cases.py"
ON_TENSORS = "src/pypto/_src/ops/lazy/tensor_forms.py", "tests/more_cases.py"
SCALARS = "src/pypto/_src/ir/exprs.py", "src/pypto/_src/ir/scalar_ops.py"
GUIDES = [
    Guide(
        "add-a-pass.md",
        (
            "src/pypto/_src/passes/optimize/double_negation.py",
            "tests/passes/test_double_negation.py",
        ),
        ("src/pypto/_src/passes/pass_manager.py",),
        changed_lines=1,
    ),
    Guide(
        "add-an-op.md",
        ("tests/frontend/test_distance.py",),
        (*OPS, *ON_TENSORS, *SCALARS),  # two for an op, two for a scalar operator
        generates=True,
        runs=(
            *("tests/ops/test_table.py", "tests/ops/test_numpy.py"),
            *("tests/frontend/test_language.py", "tests/frontend/test_distance.py"),
            *("-k", "softsign or distance or language"),
        ),
    ),
]


def insert(text: str, diff: str) -> tuple[str, int]:
    """Return ``text`` with the ``+`` lines of ``diff`` inserted, and their number."""
    added = 0
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines()
        old = "".join(line[1:] + "\n" for line in lines if line[:1] != "+")
        new = "".join(line[1:] + "\n" for line in lines)
        if new in text:  # an import that is already there
            continue
        found = text.count(old)
        assert found == 1, f"mend the diff of the guide: its file has {found} times\n{old}"
        text = text.replace(old, new)
        added += len(lines) - old.count("\n")
    return text, added


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.page)
def test_what_a_guide_says_works(guide: Guide, tmp_path: Path) -> None:
    """Its files and lines, applied to a copy, pass its test; they are no more than promised."""
    ignored = shutil.ignore_patterns("__pycache__", "golden")
    for folder in ("src", "tests", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    new: list[str] = []
    changed: list[str] = []
    count = 0
    for language, name, text in BLOCK.findall((ROOT / "docs" / guide.page).read_text("utf-8")):
        path = tmp_path / name
        if language == "diff":
            after, lines = insert(path.read_text("utf-8"), text)
            count += lines
            changed.append(name)
        else:
            assert not path.exists(), f"{name} exists already"
            after = text
            new.append(name)
        path.write_text(after, "utf-8")
    assert tuple(new) == guide.new_files
    assert tuple(changed) == guide.changed_files
    assert guide.changed_lines in (None, count)
    for rules in (["check"], ["format", "--check"]):
        done = run(tmp_path, "-m", "ruff", *rules, "--no-cache", *new, *changed)
        assert done.returncode == 0, done.stdout + done.stderr
    if guide.generates:
        done = run(tmp_path, "-m", "tools.generate")
        assert done.returncode == 0, done.stderr
    tests = guide.runs or tuple(name for name in new if name.startswith("tests/"))
    options = ("-q", "-p", "no:cacheprovider", "--noconftest")
    done = run(tmp_path, "-m", "pytest", *options, *tests)
    assert done.returncode == 0, done.stdout + done.stderr


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a copy of the repository."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
