"""Our headers against the recorded behaviour of the real header library (`tests/data/isa`)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from pypto._src.run.toolchain import Toolchain
from tests import effort
from tests.headers.conformance import (
    DATA,
    INCLUDE,
    Case,
    disagreements,
    execute,
    judge,
    read_cases,
    read_runs,
)

SHARE = 0.97
ROW = re.compile(r"\| (?P<id>[\w.-]+) \| (?P<ours>compiles|refused) \| (?P<reason>.+) \|")
# One case in this many is executed, and compiled in both modes; the script takes all of them.
EVERY = effort.count(8, thorough_run=4)
NOWHERE = ("TADDC", "TSUBC", "TADDSC", "TSUBSC")


def chosen(name: str) -> bool:
    return zlib.crc32(name.encode()) % EVERY == 0


@dataclass(frozen=True)
class Judged:
    """The recorded units, and which of them our headers reject."""

    cases: list[Case]
    lax: dict[str, str]
    sample: frozenset[str]
    strict: dict[str, str]  # of the sample


@pytest.fixture(scope="module")
def judged(toolchain: Toolchain) -> Judged:
    """Compile some or all recorded units in the lax mode, some in the default mode."""
    recorded = read_cases(DATA)
    sample = [case for case in recorded if chosen(case.name)]
    cases = recorded if effort.thorough else sample
    return Judged(
        cases,
        judge(toolchain, cases),
        frozenset(case.name for case in sample),
        judge(toolchain, sample, lax=False),
    )


def listed() -> dict[str, str]:
    """Return id and our verdict of the list's rows, each of which has a reason."""
    lines = (DATA / "disagreements.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| id ")]
    found = [ROW.fullmatch(row) for row in rows]
    assert all(found), "a row of disagreements.md is not: id, verdict, reason"
    return {match["id"]: match["ours"] for match in found if match is not None}


def verdict(name: str, refused: Mapping[str, str]) -> str:
    return "refused" if name in refused else "compiles"


def test_all_units_are_there() -> None:
    """This many recorded units have a verdict that counts."""
    assert sum(not case.suspect for case in read_cases(DATA)) == 2904


def test_share_of_agreement(judged: Judged) -> None:
    """Our headers compile what the real ones compile and reject what they reject."""
    fair = [case for case in judged.cases if not case.suspect]
    wrong = disagreements(judged.cases, judged.lax)
    assert 1 - len(wrong) / len(fair) >= SHARE


def test_listed_units_exist() -> None:
    """A row of the list of disagreements names a recorded unit."""
    assert listed().keys() <= {case.name for case in read_cases(DATA)}


def test_every_disagreement_is_listed(judged: Judged) -> None:
    """The list of disagreements is exact."""
    names = [case.name for case in disagreements(judged.cases, judged.lax)]
    names += [case.name for case in judged.cases if case.suspect]
    compiled = {case.name for case in judged.cases}
    wanted = {name: ours for name, ours in listed().items() if name in compiled}
    assert {name: verdict(name, judged.lax) for name in sorted(names)} == wanted


def test_strict_mode_only_refuses_more(judged: Judged) -> None:
    """The default mode rejects everything that the lax mode rejects."""
    assert judged.lax.keys() & judged.sample <= judged.strict.keys()


def test_strict_mode_refuses_by_its_rules(judged: Judged) -> None:
    """What only the default mode rejects, it rejects by a rule of the device."""
    text = "".join(path.read_text() for path in sorted(INCLUDE.rglob("*.hpp")))
    rules = set(re.findall(r'PTO_NPU_RULE\((?:[^;"]|\n)*?"([^"]+)"\);', text))
    rules |= {f"{name}: no NPU has this instruction" for name in NOWHERE}
    extra = [name for name in judged.strict if name not in judged.lax]
    assert len(extra) > 200 // EVERY
    messages = {judged.strict[name] for name in extra}
    assert {text for text in messages if not any(rule in text for rule in rules)} == set()


def test_recorded_runs_come_out_equal(toolchain: Toolchain) -> None:
    """When executed, the units give the recorded numbers within the recorded tolerance."""
    good = [case for case in read_cases(DATA) if case.compiles]
    runs = [run for run in read_runs(DATA) if chosen(run.case)]
    assert len(runs) > 600 // EVERY
    assert {run.case for run in runs} <= {case.name for case in good}
    assert execute(toolchain, good, runs, DATA) == {}
