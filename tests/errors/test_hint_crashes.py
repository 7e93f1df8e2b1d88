"""Operators on operands of every kind, in a kernel, a region and on the host.

Most combinations are mistakes. Finding a hint for one must not fail.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests import effort
from tests.errors.test_errors import first_line
from tests.errors.test_typed_hints import HOST, REGION, TILE

OPERANDS = [
    *("t", "x", "w", "idx", "n", "f", "out", "2", "1.5", "-1", "None", "True", '"s"', "[1, 2]"),
    *("(1,)", "{}", "t[0:1, :]", "x[0, 0]", "pl.FP32", "self", "pl", "t > 0", "x.shape", "[t, t]"),
]
OPERATORS = [
    *("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"),
    *("<", "<=", "==", "!=", "is", "is not", "in", "not in", "and", "or"),
]
AUGMENTED = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"]
TEMPLATES = {"kernel": TILE, "region": REGION, "host": HOST}


def _lines() -> Iterator[str]:
    for symbol, left, right in itertools.product(OPERATORS, OPERANDS, OPERANDS):
        yield f"u = {left} {symbol} {right}"
    for symbol, name, value in itertools.product(AUGMENTED, ("t", "x", "n", "out"), OPERANDS):
        yield f"{name} {symbol}= {value}"
    for first, second, symbol in itertools.product(OPERANDS, OPERANDS, "&|"):
        yield f"u = 0 < {first} {symbol} {second} < 1"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", TEMPLATES)
def test_operators(place: str) -> None:
    """An operator is accepted or refused; no other exception is raised."""
    first = list(TEMPLATES).index(place)
    for line in effort.part(_lines(), 31, first=first):
        try:
            first_line(TEMPLATES[place].replace("{line}", line), "")
        except Exception as error:
            raise AssertionError(line) from error
