"""Tensor programs at sizes that fill no blocks; `tests.run.shapes` draws thousands of them."""

from __future__ import annotations

import pytest

from tests.natively import compiler
from tests.run.shapes import FORMS, Run, check

ODD = [(3, 5, 17), (17, 31, 5), (1, 1, 1)]


@pytest.mark.parametrize("name", FORMS)
def test_odd_sizes(name: str) -> None:
    """Primes, few rows and single elements: native, interpreter, both texts, NumPy."""
    compiler()
    for sizes in ODD:
        check(Run(name, *sizes))


def test_large_odd_sizes() -> None:
    """1000 x 777, and a product with K = 300."""
    compiler()
    check(Run("softmax", 1000, 777, 1))
    check(Run("product", 127, 777, 300))
