"""Files of the repository contain no paths of the machine they were written on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCANNED = ["src", "docs", "bench", ".ci", "Makefile", "pyproject.toml", *sorted(ROOT.glob("*.md"))]

# An absolute path into a machine-specific folder. Not part of a longer path.
MACHINE_PATH = re.compile(r"(?<![\w.)}-])/(?:work|tmp|root|home|Users)/")


def text_files() -> Iterator[Path]:
    for start in (ROOT / name for name in SCANNED):
        paths = start.rglob("*") if start.is_dir() else [start]
        yield from (p for p in paths if p.is_file() and "__pycache__" not in p.parts)


def test_no_machine_paths() -> None:
    """No source, document or build file contains a path of one machine."""
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{number}: {line.strip()}"
        for path in text_files()
        for number, line in enumerate(path.read_bytes().decode(errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert not found, "\n".join(found)


def test_machine_paths_are_recognized() -> None:
    """An absolute path is found anywhere in a line; the same words in a longer path are not."""
    slash = "/"
    assert MACHINE_PATH.search(f'cache = "{slash}tmp/x"')
    assert MACHINE_PATH.search(f"({slash}home/someone/x)")
    assert not MACHINE_PATH.search(f"https://example.org{slash}root/x and src{slash}work/x")
