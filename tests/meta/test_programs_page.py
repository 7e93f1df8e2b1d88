"""docs/programs.md: the tests named in its table exist, and test what the page says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
TEST = r"`(tests/[\w/]+\.py)(?:::(\w+))?`"
NAMED = sorted(set(re.findall(TEST, PAGE)))


@pytest.mark.parametrize(("path", "test"), NAMED, ids=lambda part: str(part))
def test_named_tests_are_there(path: str, test: str) -> None:
    """A test that the page names is a function in the file that it names."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert not test or test in functions


def test_rows_are_about_what_they_say() -> None:
    """The test files of a construct contain its words."""
    section = PAGE.partition("## Constructs and the tests")[2].partition("Not there yet:")[0]
    lacking: list[str] = []
    for row in [line for line in section.splitlines() if line.startswith("| `")]:
        construct, tests = row.strip("| ").rsplit(" | ", 1)
        paths = [path for path, _ in re.findall(TEST, tests)]
        found = "".join((ROOT / path).read_text(encoding="utf-8") for path in paths)
        for word in re.findall(r"\bpl\.(?:[a-z]+\.)*(\w+)|\b(\w+)=", construct):
            if not re.search(rf"\b{''.join(word)}\b", found):
                lacking.append(f"{construct}: {''.join(word)}")
    assert lacking == []


def test_every_row_names_a_test() -> None:
    """Every construct in the table has a test; the missing ones are listed separately."""
    section = PAGE.partition("## Constructs and the tests")[2]
    table, _, missing = section.partition("Not there yet:")
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 35
    assert [row for row in rows if "tests/" not in row] == []
    assert len(re.findall(r"^\| `", missing, re.MULTILINE)) >= 3
