"""The guides that add something: what they say is done in a copy of the sources, and works.

A block with a path behind its language is a new file. A block ``diff PATH`` has a few lines of that
file, of which those with ``+`` are new.
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
    """A page, and how much it may ask of its reader: files of the sources, and of the tests."""

    page: str
    new_files: int
    changed_lines: int
    tests: int


GUIDES = [Guide("add-a-pass.md", new_files=1, changed_lines=1, tests=1)]


def insert(text: str, diff: str) -> tuple[str, int]:
    """Return ``text`` with the ``+`` lines of ``diff`` put in, and their number."""
    lines = diff.splitlines()
    old = "".join(line[1:] + "\n" for line in lines if line[:1] != "+")
    new = "".join(line[1:] + "\n" for line in lines)
    assert text.count(old) == 1, f"these lines stand {text.count(old)} times:\n{old}"
    return text.replace(old, new), len(lines) - old.count("\n")


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.page)
def test_what_a_guide_says_works(guide: Guide, tmp_path: Path) -> None:
    """Its files and lines, put into a copy, pass its test; and they are no more than promised."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    files = {"src": 0, "tests": 0}
    changed = 0
    tests: list[str] = []
    for language, name, text in BLOCK.findall((ROOT / "docs" / guide.page).read_text("utf-8")):
        path = tmp_path / name
        if language == "diff":
            after, lines = insert(path.read_text("utf-8"), text)
            changed += lines
        else:
            assert not path.exists(), f"{name} exists already"
            after = text
            files[name.partition("/")[0]] += 1
            tests += [name] if name.startswith("tests/") else []
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(after, "utf-8")
    assert (files["src"], changed, files["tests"]) == (
        guide.new_files,
        guide.changed_lines,
        guide.tests,
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--noconftest",
        *tests,
    ]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
