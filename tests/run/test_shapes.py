"""Tensor programs at sizes that fill no blocks; `tests.run.shapes` draws thousands of them."""

from __future__ import annotations

from tests.natively import compiler
from tests.run.shapes import FORMS, Run, checked

ODD = [(3, 5, 17), (17, 31, 5), (1, 1, 1), (0, 3, 5), (3, 0, 5), (5, 3, 0), (0, 0, 3)]
LARGE = [("softmax", 1000, 777, 1), ("product", 127, 777, 300), ("transpose", 777, 100, 1)]


def test_constant_sizes() -> None:
    """Primes, few rows, single elements, none: native, interpreter, both texts, NumPy."""
    compiler()
    runs = [Run(n, *ODD[(at + i) % len(ODD)]) for at, n in enumerate(FORMS) for i in (0, 3)]
    for run, error in checked(runs):
        assert error is None, run


def test_sizes_known_at_the_call() -> None:
    """One program for all sizes, large ones as well."""
    compiler()
    names = [name for name, form in FORMS.items() if form.dynamic]
    runs = [Run(name, *sizes, dynamic=True) for name in names for sizes in ODD]
    for run, error in checked([*runs, *(Run(*each, dynamic=True) for each in LARGE)]):
        assert error is None, run
