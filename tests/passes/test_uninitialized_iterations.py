"""Tiles that some iteration reads uninitialized, against Python running the same loops."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random

import pytest

import pypto.language as pl
from pypto._src.ir.stmts import Program
from pypto._src.lint.uninitialized import check_uninitialized

HEAD = """\
@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, n: pl.INT64, x: pl.Tensor[[16, 32], pl.FP32],
        out: pl.InOut[pl.Tensor[[16, 32], pl.FP32]],
    ):
        t = pl.create_tile([16, 32], pl.FP32)
        u = pl.create_tile([16, 32], pl.FP32)
"""
END = "        out = pl.store(t, [0, 0], [16, 32], out)\n"


def body(random: Random, names: list[str], depth: int) -> Iterator[str]:
    """Yield the lines of a body."""
    for _ in range(random.randint(1, 3)):
        kind = random.randrange(12)
        a, b = random.choice("tu"), random.choice("tu")
        if kind < 2:
            yield f"{a} = pl.create_tile([16, 32], pl.FP32)"
        elif kind < 5:
            yield f"{a} = pl.load(x, [0, 0], [16, 32])"
        elif kind < 7:
            yield f"{a} = pl.exp({b})"
        elif kind < 8 and a != b:
            yield f"{a} = {b}"
        elif kind < 10 and depth < 3:
            var = f"j{depth}"
            name = random.choice(names) if names else "2"
            bounds = random.choice(("3", "0", name, f"{name}, 3", f"2 - {name}", "5, 0, -2"))
            if kind < 9:
                yield f"for {var} in pl.range({bounds}):"
                yield from (f"    {line}" for line in body(random, [*names, var], depth + 1))
            else:
                yield f"k{depth} = {random.choice(('0', name))}"
                yield f"while k{depth} < {random.choice(('2', '3', name))}:"
                yield from (
                    f"    {line}" for line in body(random, [*names, f"k{depth}"], depth + 1)
                )
                yield f"    k{depth} = k{depth} + 1"
        elif names and depth < 4:
            name = random.choice(names)
            condition = random.choice((f"{name} % 2 == 0", f"{name} > 1", f"{name} == 2"))
            yield f"if {condition}:"
            yield from (f"    {line}" for line in body(random, names, depth + 1))
            if random.random() < 0.5:
                yield "else:"
                yield from (f"    {line}" for line in body(random, names, depth + 1))
        else:
            yield f"{a} = pl.load(x, [0, 0], [16, 32])"


class Recorder:
    """Stands in for the language: a tile is the line that creates it, 0 once it is initialized."""

    FP32 = None
    range = range

    def __init__(self) -> None:
        self.found: set[int] = set()

    def create_tile(self, *_: object) -> int:
        """Create a tile."""
        return sys._getframe(1).f_lineno  # pyright: ignore[reportPrivateUsage]

    def load(self, *_: object) -> int:
        """Initialize the tile."""
        return 0

    def exp(self, tile: int) -> int:
        """Read a tile."""
        self.found.add(tile)
        return 0

    def store(self, tile: int, *_: object) -> None:
        """Read a tile."""
        self.found.add(tile)


@pytest.mark.parametrize("chunk", range(4))
def test_random_loops(chunk: int) -> None:
    """All tiles that are read uninitialized are found, and no others."""
    outcomes: set[int] = set()
    for seed in range(chunk * 60, chunk * 60 + 60):
        lines = [f"        {line}\n" for line in body(Random(seed), [], 0)]
        text = "".join([HEAD, *lines, END])
        program = pl.parse(text, "kernels.py")
        assert isinstance(program, Program)
        recorder = Recorder()
        start = text.index("        t = ")
        code = "\n" * text[:start].count("\n") + "if True:\n" + text[start:]
        exec(code, {"pl": recorder, "x": None, "out": None})
        wanted = sorted(line - 1 for line in recorder.found - {0})
        found = [f for f in check_uninitialized(program) if f.rule_name == "uninitialized-tile"]
        assert sorted(f.related[0].span.begin_line for f in found) == wanted, (seed, text)
        outcomes.add(len(wanted))
    assert outcomes >= {0, 1, 2}
