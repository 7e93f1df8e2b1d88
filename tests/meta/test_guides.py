"""The guides to adding something: their steps are applied to a copy of the sources, and work.

A block with a path after its language is a new file. A block ``diff PATH`` has a few lines of that
file, of which those with ``+`` are new; ``@@`` separates positions in one file. Only the lines
before new ones are shown: whoever adds something else after them does not break the guide.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests import effort

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Guide:
    """A page, and limits on how much it may ask of its reader."""

    page: str
    new_files: tuple[str, ...]
    changed_files: tuple[str, ...]
    changed_lines: int | None = None


# Rows and definitions of ops, which call what is typed: only a thorough run checks their types.
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
    ),
]
TESTS = (
    "tests/passes/test_double_negation.py",
    *("tests/ops/test_table.py", "tests/ops/test_numpy.py"),
    *("tests/frontend/test_language.py", "tests/frontend/test_distance.py"),
    *("-k", "double_negation or softsign or distance or language"),
)
"""The new tests, and existing ones, restricted to what is new."""


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


def apply(guide: Guide, folder: Path) -> list[str]:
    """Do what a guide says in a copy of the repository; return the files it writes and changes."""
    new: list[str] = []
    changed: list[str] = []
    count = 0
    for language, name, text in BLOCK.findall((ROOT / "docs" / guide.page).read_text("utf-8")):
        path = folder / name
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
    return [*new, *changed]


def test_what_the_guides_say_works(tmp_path: Path) -> None:
    """Their files and lines, applied to a copy, pass all checks; they are no more than promised."""
    ignored = shutil.ignore_patterns("__pycache__", "golden")
    for folder in ("src", "tests", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    files = [name for guide in GUIDES for name in apply(guide, tmp_path)]
    # Imports of others between those of the guide may ask for another order.
    run(tmp_path, "ruff", "check", "--no-cache", "--select", "I", "--fix", *files)
    run(tmp_path, "ruff", "check", "--no-cache", *files)
    run(tmp_path, "ruff", "format", "--check", "--no-cache", *files)
    run(tmp_path, "tools.generate")
    if importlib.util.find_spec("pyright") is not None:
        typed = [name for name in files if effort.thorough or name not in (*OPS, *ON_TENSORS)]
        run(tmp_path, "pyright", "--pythonpath", sys.executable, *typed)
    options = ("-q", "-p", "no:cacheprovider", "--noconftest")
    run(tmp_path, "pytest", *options, *TESTS)


def run(folder: Path, module: str, *words: str) -> None:
    """Run a module in a copy of the repository; it must succeed."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
