"""The rank checker finds mutations of collectives; all mutants: `collective_mutants`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.collective_mutants import Source, mutants, verdict

EVERY = mutants()


@pytest.mark.parametrize("collective", ["all-reduce, ring", "all-to-all"])
def test_collectives_have_no_race(collective: str, tmp_path: Path) -> None:
    """Nothing is found in a collective as it is, and its result equals NumPy's."""
    assert verdict(collective, Source().text, tmp_path) == ""


@pytest.mark.parametrize(
    ("collective", "kind", "found"),
    [
        ("all-reduce, ring", "missing wait", "rank-race"),
        ("all-reduce, mesh", "missing barrier", "rank-race"),
        ("all-reduce, ring", "wrong neighbour", "deadlock"),
        ("all-gather", "barrier too early", "rank-race"),
        ("all-reduce, mesh", "missing transfer", "value"),
        ("barrier", "doubled notify", "rank-race"),
        ("barrier", "reused signal", "deadlock"),
    ],
)
def test_mutants_are_found(collective: str, kind: str, found: str, tmp_path: Path) -> None:
    """The first mutant of a kind is found, with the right diagnosis."""
    mutant = next(each for each in EVERY if (each.collective, each.kind) == (collective, kind))
    assert verdict(collective, mutant.text, tmp_path) == found, str(mutant)


def test_there_are_mutants_of_every_collective() -> None:
    """More than a hundred, no two the same."""
    texts = {(mutant.collective, mutant.text) for mutant in EVERY}
    assert len(texts) == len(EVERY) > 100
