"""Folders of kept texts: one file for each text, and no other file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"


def compare_folder(
    folder: str,
    texts: Iterable[tuple[str, str]],
    suffix: str,
    golden: Callable[[str, str], None],
    config: pytest.Config,
) -> None:
    """Compare texts, by file name, with the files in ``golden/<folder>`` that end with ``suffix``.

    No two names differ in nothing but the case of letters. ``--update-golden`` removes other files.
    """
    names: dict[str, str] = {}
    for name, text in texts:
        assert name.lower() not in names
        names[name.lower()] = name
        golden(f"{folder}/{name}", text)
    wanted = set(names.values())
    kept = {path.name: path for path in (GOLDEN / folder).glob(f"*{suffix}")}
    if config.getoption("--update-golden"):
        for stale in sorted(kept.keys() - wanted):
            kept.pop(stale).unlink()
    assert kept.keys() == wanted
