"""Kernels of slices and conditional expressions mean what Python makes of the same text.

The text runs twice: parsed, on the interpreter; and as the Python function it is, on NumPy arrays
whose parts are copies, as loaded tiles are.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.stmts import Function, Program
from tests.properties import numpy_language

Array = np.ndarray[Any, Any]
ROWS = (
    ("i * 8", "(i + 1) * 8"),
    ("8 * i", "8 * i + 8"),
    ("8 * (3 - i)", "32 - i * 8"),
    ("n", "n + 8"),
    ("n + i", "8 + i + n"),
    ("8 * (n // 2)", "8 * (n // 2) + 8"),
    ("max(i, n)", "max(i, n) + 8"),
    ("k", "k + h"),
    ("-8", ""),
    ("-h", ""),
    ("", "8"),
    ("24", ""),
    ("-24", "-16"),
)
COLUMNS = (", :", ", 0:32", "", ", ...", ", -32:")
HALVES = (", :16", ", 16:", ", -16:", ", 8:24", ", c:", ", :-c", ", n:n + 16")
CONDITIONS = ("i < n", "n == 2", "i % 2 == 0 and n > 1", "not i > n", "min(i, 2) != n")


class Kernel:
    """Draws the lines of a kernel whose tiles are [8, 32] or [8, 16]."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.tiles: dict[bool, list[str]] = {True: [], False: []}

    def region(self, whole: bool) -> str:
        begin, end = self.random.choice(ROWS)
        return f"{begin}:{end}{self.random.choice(COLUMNS if whole else HALVES)}"

    def tile(self, whole: bool, depth: int = 0) -> str:
        known = self.tiles[whole]
        choice = self.random.randrange(4 if depth < 3 else 2)
        if choice == 0 and known:
            return self.random.choice(known)
        if choice <= 1:
            return f"{self.random.choice(['x', 'out'])}[{self.region(whole)}]"
        a, b = self.tile(whole, depth + 1), self.tile(whole, depth + 1)
        if choice == 2:
            return f"({a} {self.random.choice('+-*')} {b})"
        return f"({a} if {self.random.choice(CONDITIONS)} else {b})"

    def line(self, number: int) -> str:
        whole = self.random.random() < 0.5
        value = self.tile(whole)
        if self.random.random() < 0.5:
            return f"out[{self.region(whole)}] = {value}"
        self.tiles[whole].append(f"t{number}")
        return f"t{number} = {value}"

    def text(self) -> str:
        lines = "".join(f"        {self.line(number)}\n" for number in range(8))
        return (
            "@pl.function\n"
            "def f(\n"
            "    n: pl.INT64,\n"
            "    x: pl.Tensor[[32, 32], pl.INT32],\n"
            "    out: pl.InOut[pl.Tensor[[32, 32], pl.INT32]],\n"
            "):\n"
            "    c = x.shape[1] // 2\n"
            "    h: pl.INT64 = 8\n"
            "    for i in pl.range(4):\n"
            "        k = i + 2 if i < n else n\n"
            f"{lines}"
        )


class Memory(np.ndarray[Any, Any]):
    """A tensor whose parts are tiles: copies."""

    def __getitem__(self, key: Any) -> Any:
        return self.view(np.ndarray)[key].copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        self.view(np.ndarray)[key] = value


def as_python(text: str, n: int, x: Array, out: Array) -> None:
    """Run the text as the Python function that it is."""
    names: dict[str, Any] = {"pl": numpy_language.as_module()}
    exec(text, names)
    names["f"](n, x.view(Memory), out.view(Memory))


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_slices_are_those_of_numpy(first: int) -> None:
    """400 kernels, each for a scalar that its bounds and conditions depend on."""
    changed = 0
    for seed in range(first, first + 50):
        text = Kernel(seed).text()
        found = pl.parse(text)
        assert isinstance(found, Function)
        rng = np.random.default_rng(seed)
        x, start = rng.integers(-3, 4, (2, 32, 32)).astype(np.int32)
        wanted, got, n = start.copy(), start.copy(), seed % 5
        as_python(text, n, x, wanted)
        evaluate(Program([found]), [n, x, got])
        np.testing.assert_array_equal(got, wanted, err_msg=text)
        changed += not np.array_equal(got, start)
    assert changed > 40  # most kernels write something
