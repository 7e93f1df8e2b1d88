"""The page of operators matches the rows."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.language.page import OTHERS, page, rows_by_operator

PAGE = Path(__file__).parents[2] / "docs" / "operators.md"


def test_page_is_what_the_rows_say(request: pytest.FixtureRequest) -> None:
    """`make golden` writes docs/operators.md."""
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", OTHERS)
def test_operators_without_rows_are_tested(name: str) -> None:
    """The test named on the page exists, and its file names the operator."""
    path, _, test = OTHERS[name].partition("::")
    text = (PAGE.parents[1] / path).read_text(encoding="utf-8")
    functions = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    assert not test or test in functions
    by_table = {"create_tile", "move", "max", "min"}  # rows of tables, and functions by their names
    assert name in by_table or name.rpartition(".")[2] in text


def test_every_row_is_of_an_operator() -> None:
    """A row covers at least one operator."""
    assert len(rows_by_operator()) > 90
