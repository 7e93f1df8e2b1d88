"""The page of operators is what the rows say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.page import page, rows_by_operator

PAGE = Path(__file__).parents[2] / "docs" / "operators.md"


def test_page_is_what_the_rows_say(request: pytest.FixtureRequest) -> None:
    """`make golden` writes docs/operators.md."""
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_row_is_of_an_operator() -> None:
    """A row shows one operator at least."""
    assert len(rows_by_operator()) > 90
