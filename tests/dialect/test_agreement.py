"""We accept what the real assembler accepts, and reject what it rejects."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random

import pytest

from pypto._src.dialect.reader import Source, parse
from pypto._src.dialect.verify import Options, faults_of, find_faults
from pypto._src.errors import ParserSyntaxError
from tests import effort
from tests.dialect.recorded import DATA, Verdict, verdicts

CATEGORIES = sorted({verdict.category for verdict in verdicts()})
ROW = re.compile(
    r"\| (?P<id>[a-z]+-[0-9a-f]{10}) \| (?P<arch>a[35]) \| (?:accepted|refused) \| .+ \|"
)


def accepts(source: Source | None, verdict: Verdict, arch: str) -> bool:
    """Judge one text for one target."""
    if source is None:
        return False
    return not find_faults(source.module, Options(arch, verdict.level, verdict.insert_sync))


def parsed(text: str) -> Source | None:
    try:
        return parse(text)
    except ParserSyntaxError:
        return None


@cache
def judged() -> list[Verdict]:
    """Return the texts that this run judges."""
    return effort.part(verdicts(), 3)


@cache
def disagreements(category: str) -> frozenset[tuple[str, str]]:
    """Return id and target of every text of a category that is judged differently."""
    found: list[tuple[str, str]] = []
    for verdict in judged():
        if verdict.category == category:
            source = parsed(verdict.text)
            for arch, wanted in verdict.accepted.items():
                if accepts(source, verdict, arch) != wanted:
                    found.append((verdict.id, arch))
    return frozenset(found)


def listed() -> set[tuple[str, str]]:
    """Return id and target of the texts in the list of disagreements, each with a reason."""
    text = (DATA / "disagreements.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    found = [ROW.fullmatch(row) for row in rows]
    assert all(found), "a row of disagreements.md is not: id, target, verdict, reason"
    return {(match["id"], match["arch"]) for match in found if match is not None}


@pytest.mark.parametrize("category", CATEGORIES)
def test_texts_are_judged_as_by_the_assembler(category: str) -> None:
    """At least 98 % of the verdicts of each category agree, and the others are listed."""
    chosen = {verdict.id for verdict in judged() if verdict.category == category}
    count = 2 * len(chosen)
    wrong = disagreements(category)
    print(f"{category}: {count - len(wrong)} of {count} verdicts agree")
    assert wrong == {(id_, arch) for id_, arch in listed() if id_ in chosen}
    assert len(wrong) <= 0.02 * count


def test_recorded_verdicts_are_there() -> None:
    """The data has accepted and rejected texts of all categories."""
    assert len(verdicts()) == 5929
    assert len(CATEGORIES) == 11
    for arch in ("a3", "a5"):
        accepted = sum(verdict.accepted[arch] for verdict in verdicts())
        assert 0.5 < accepted / len(verdicts()) < 0.7


def test_listed_texts_exist() -> None:
    """A row of the list of disagreements names a recorded text."""
    assert {id_ for id_, _ in listed()} <= {verdict.id for verdict in verdicts()}
    assert Path(DATA / "README.md").is_file()


def test_mangled_texts_are_judged() -> None:
    """Texts with lost, doubled or swapped words give a verdict, never another error."""
    random = Random(0)
    texts = [verdict.text for verdict in verdicts()[::5]]
    for text in texts:
        words = list(re.finditer(r"[%!#@^]?[\w.$]+|\"[^\"]*\"|->|[^\s\w]", text))
        word, other = random.choice(words), random.choice(words)
        new = random.choice(("", f"{word[0]} {word[0]}", other[0]))
        mangled = f"{text[: word.start()]}{new}{text[word.end() :]}"
        faults = faults_of(mangled, "mangled.pto", Options(random.choice(("a3", "a5"))))
        assert all(fault.message for fault in faults)
