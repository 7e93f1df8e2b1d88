"""A sample of `tests.passes.mutants`: the checker finds the mutants that break, and no others."""

from __future__ import annotations

from collections.abc import Iterable

from pypto._src.passes.sync.checker import check_sync
from tests import effort
from tests.passes.mutants import Kernel, Tally, cases, examples, random_program

SAMPLE = effort.count(20, thorough_run=60)
SHARE = effort.count(3, thorough_run=1)
"""One out of this many mutants of a thorough run."""


def judged(kernels: Iterable[Kernel]) -> Tally:
    """Judge all mutants: those that break are found, those that cannot break are not reported."""
    tally = Tally()
    for kernel in kernels:
        tally.add(kernel)
    assert tally.findings == 0
    assert tally.missed == []
    assert tally.alarms == []
    return tally


def test_mutants_of_the_examples() -> None:
    """Breaking mutants are found; every set, wait, barrier and whole flag is needed: it breaks.

    So is every acknowledgement without which another flag would be raised again too early.
    """
    counts = judged(examples(effort.part(cases(), 8, first=1))).counts
    assert counts["removal", "whole"] == counts["flag", "whole"] == 0
    assert counts["removal", "broken"] > 500 // SHARE
    assert counts["flag", "broken"] > 150 // SHARE
    assert counts["reuse", "broken"] > 20 // SHARE


def test_mutants_of_random_programs() -> None:
    """Breaking mutants are found; at most one set, wait or barrier in 500 is superfluous."""
    counts = judged(random_program(seed) for seed in range(SAMPLE)).counts
    assert counts["removal", "whole"] * 500 <= counts["removal", "broken"]
    assert counts["flag", "whole"] == 0
    assert counts["removal", "broken"] > 800 // SHARE
    assert counts["flag", "broken"] > 200 // SHARE
    assert counts["deadlock", "broken"] > 200 // SHARE
    assert counts["reuse", "broken"] > 20 // SHARE
    assert counts["reuse", "whole"] > 50 // SHARE


def test_acknowledgements_are_not_too_early_themselves() -> None:
    """Two acknowledgements with one event in a loop: nothing shows that its last wait was over."""
    assert check_sync(random_program(792).function) == []
