"""The page of misuses matches the reports of the programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.misuses import ERRORS, MISUSES, page

PAGE = Path(__file__).parents[2] / "docs" / "misuses.md"


def test_page_is_what_the_reports_say(request: pytest.FixtureRequest) -> None:
    """`make golden` writes docs/misuses.md."""
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_each_misuse_stands_once() -> None:
    """Each has a program, and together they cover most mistakes that the language names."""
    names = [name for listed in MISUSES.values() for name in listed.split()]
    assert len(set(names)) == len(names) > 200
    without = {"spread-parts", "static-assert"}  # which have no single fix
    for name in names:
        text = (ERRORS / f"{name}.md").read_text(encoding="utf-8")
        assert ("= hint: " in text) == (name not in without), name
