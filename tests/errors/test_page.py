"""docs/errors.md: every slug, and the mistakes that cause it; ``--update-golden`` rewrites it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pypto._src.dialect.rules import RULES
from tests.errors.test_errors import CASES, read
from tests.meta.test_slugs import ELSEWHERE

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
TABLE = re.compile(r"(?<=^## )(.+)\n[^#|]*((?:\|.*\n)+)", re.MULTILINE)
SHOWN, OTHERS, DIALECT = "What a program's text leads to", "What comes from elsewhere", "PTO texts"


def cases() -> str:
    """Return the table of the slugs that files show, each with links to its files.

    A report with several mistakes counts for the first one; the others have their own files.
    """
    found: dict[str, list[str]] = {}
    for path in CASES:
        slugs = re.search(r"  \[([a-z-]+)\]$", read(path).text, re.MULTILINE)
        assert slugs is not None
        title = path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        found.setdefault(slugs[1], []).append(f"[{title}](../tests/errors/{path.name})")
    rows = [f"| `{slug}` | {', '.join(found[slug])} |\n" for slug in sorted(found)]
    return "".join(["| Slug | Mistakes that lead to it |\n", "|---|---|\n", *rows])


def rules() -> str:
    """Return the table of the rules of PTO texts."""
    rows = [f"| `{rule}` | {text} |\n" for rule, text in RULES.items()]
    return "".join(["| Slug | What the rule demands |\n", "|---|---|\n", *rows])


def tables() -> dict[str, str]:
    """Return the tables of the page by the titles of their sections."""
    return {found[1]: found[2] for found in TABLE.finditer(PAGE.read_text(encoding="utf-8"))}


def test_page_is_what_files_and_rules_say(request: pytest.FixtureRequest) -> None:
    """One table has each slug that a program shows, with all its programs; one has the rules."""
    wanted = {SHOWN: cases(), DIALECT: rules()}
    if request.config.getoption("--update-golden"):
        text = PAGE.read_text(encoding="utf-8")
        for title, table in tables().items():
            text = text.replace(table, wanted.get(title, table))
        PAGE.write_text(text, encoding="utf-8")
        return
    assert {title: tables()[title] for title in wanted} == wanted


def test_page_lists_other_slugs() -> None:
    """The other table has the slugs that no program's text can cause, in order."""
    assert list(tables()) == [SHOWN, OTHERS, DIALECT]
    assert re.findall(r"^\| `([a-z-]+)` \| \S.* \|$", tables()[OTHERS], re.MULTILINE) == sorted(
        ELSEWHERE
    )
