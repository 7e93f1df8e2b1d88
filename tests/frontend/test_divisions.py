"""Divisions by zero: rejected if they can run, accepted if a constant makes them unreachable."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto._src.errors import ParserTypeError

HEAD = """\
import pypto.language as pl

@pl.function
def f(n: pl.INT64, h: pl.FP32) -> pl.INT64:
    k = n
"""


def parse(lines: str) -> None:
    """Parse a function with these lines."""
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    pl.parse(f"{HEAD}{body}    return k\n")


@pytest.mark.parametrize(
    ("lines", "symbol"),
    [
        ("k = n // 0", "//"),
        ("k = n % (4 - 4)", "%"),
        ("k = pl.cast(n / 0, pl.INT64)", "/"),
        ("k //= 0", "//"),
        ("if n > 0:\n    k = 1 + n // 0", "//"),
        ("for i in pl.range(4):\n    k = k + i % 0", "%"),
        ("k = n if n % 0 > 1 else k", "%"),
        ("if n // 0 > 3:\n    k = 1", "//"),
        ("while n % 0 > 3:\n    k = k + 1", "%"),
    ],
)
def test_refused(lines: str, symbol: str) -> None:
    """A division that fails whenever it runs is an error, at its span."""
    with pytest.raises(ParserTypeError) as caught:
        parse(lines)
    assert caught.value.message == f"{symbol!r} by a constant that is zero fails whenever it runs"
    assert caught.value.slug == "division-by-zero"


@pytest.mark.parametrize(
    "lines",
    [
        "if 0 > 1:\n    k = n // 0",
        "if 0 < 1:\n    k = n\nelse:\n    k = n // 0",
        "if 0 > 1 and n > 3 and n > 4:\n    k = n // 0",
        "if 0 < 1 or n > 3:\n    k = n\nelse:\n    k = n // 0",
        "if 0 > 1 and n // 0 > 3:\n    k = 3",
        "if n > 2 and (0 > 1 and n // 0 > 3):\n    k = 3",
        "for i in pl.range(0):\n    k = k + i % 0",
        "while 0 > 1:\n    k = k % 0",
        "k = n // 0 if 0 > 1 else n",
        "k = pl.cast(h / 0.0, pl.INT64)",
    ],
)
def test_let_be(lines: str) -> None:
    """Code guarded by a false constant never runs; floats may be divided by zero."""
    parse(lines)
