"""Programs with loops and branches nested four deep have a text that the assembler takes."""

from __future__ import annotations

import pytest

from pypto._src.passes.pass_manager import OptimizationStrategy
from tests import effort
from tests.properties.nested_regions import ORDERS, check, main

COUNT = effort.count(len(ORDERS) // 3, thorough_run=len(ORDERS))
"""A program for some or each order; `python -m tests.properties.nested_regions` draws more."""


@pytest.mark.parametrize("strategy", OptimizationStrategy)
def test_texts_are_accepted_and_mean_the_same(strategy: OptimizationStrategy) -> None:
    """No text is in a form that the assembler refuses, and each computes what the kernel does."""
    for number in range(COUNT):
        check(number, strategy)


def test_the_command_says_what_it_has_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m tests.properties.nested_regions 2` ends with its figures."""
    assert main(2) == 0
    assert capsys.readouterr().out == (
        "2 programs: 4 texts for a3 and a5, each evaluated 3 times; 0 refused or different\n"
    )
