"""The accesses of each iteration of parallel loops, against Python running the same loops."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

import pypto.language as pl
from pypto._src.diagnostics import DiagnosticSeverity
from pypto._src.ir.stmts import Program
from pypto._src.lint.parallel_loops import check_parallel

HEAD = """\
@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, n: pl.INT64, x: pl.InOut[pl.Tensor[[256, 32], pl.FP32]],
        out: pl.InOut[pl.Tensor[[256, 32], pl.FP32]],
    ):
"""
CALLEE = """\
@pl.program
class Launches:
    @pl.function(type=pl.FunctionType.InCore)
    def part(
        self, i: pl.INT64, n: pl.INT64, x: pl.InOut[pl.Tensor[[256, 32], pl.FP32]],
        out: pl.InOut[pl.Tensor[[256, 32], pl.FP32]],
    ):
{part}
        return x, out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, n: pl.INT64, x: pl.InOut[pl.Tensor[[256, 32], pl.FP32]],
        out: pl.InOut[pl.Tensor[[256, 32], pl.FP32]],
    ):
        for i in pl.parallel({count}):
            x, out = self.part(i, n, x, out)
"""


def index(random: Random, names: list[str]) -> str:
    """Return the text of an offset that is nonnegative for small iterations."""
    name = random.choice(names)
    a, b = random.randint(1, 4), random.randint(1, 6)
    forms = (
        f"{name} * {4 * a}", f"({name} % {a + 1}) * {4 * b}", f"({name} // {a}) * 4",
        f"min({name}, {b}) * 4", f"max({name}, {b}) * 4", f"{name} * 4 + {4 * b}",
        f"min({name} * {a}, {b} + {name}) * 4", f"abs({name} - {a}) * 4", f"{4 * b}",
    )  # fmt: skip
    text = random.choice(forms)
    return f"{text} + {index(random, names)}" if random.random() < 0.25 else text


def body(random: Random, names: list[str], depth: int) -> Iterator[str]:
    """Yield the lines of an iteration."""
    for _ in range(random.randint(1, 2)):
        kind = random.randrange(6)
        size = random.choice((4, 8))
        if kind < 3 or depth > 1:
            source, target = random.choice(("x", "out")), random.choice(("x", "out"))
            tile = f"pl.load({source}, [{index(random, names)}, 0], [{size}, 32])"
            at = f"[{index(random, names)}, 0]"
            yield f"{target} = pl.store({tile}, {at}, [{size}, 32], {target})"
        elif kind < 5:
            var = f"j{depth}"
            bounds = random.choice(("3", names[-1], f"{names[-1]}, 4", "5, 0, -2", "1, 9, 4"))
            if random.random() < 0.8:
                yield f"for {var} in pl.range({bounds}):"
                yield from (f"    {line}" for line in body(random, [*names, var], depth + 1))
            else:
                yield f"k{depth} = {random.choice(('0', names[-1]))}"
                yield f"while k{depth} < {random.choice(('2', '4'))}:"
                yield from (
                    f"    {line}" for line in body(random, [*names, f"k{depth}"], depth + 1)
                )
                yield f"    k{depth} = k{depth} + {random.randint(1, 2)}"
        else:
            condition = f"{random.choice(names)} {random.choice(('%', '//'))} 2 == 0"
            yield f"if {condition}:"
            yield from (f"    {line}" for line in body(random, names, depth + 1))
            if random.random() < 0.5:
                yield "else:"
                yield from (f"    {line}" for line in body(random, names, depth + 1))


class Recorder:
    """Stands in for the language: records the rows that are read and written."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[set[int], set[int]]] = {
            "x": (set(), set()),
            "out": (set(), set()),
        }

    range = range

    def load(self, tensor: str, at: list[int], size: list[int]) -> None:
        """Read rows."""
        self.rows[tensor][0].update(range(at[0], at[0] + size[0]))

    def store(self, _: None, at: list[int], size: list[int], tensor: str) -> str:
        """Write rows."""
        self.rows[tensor][1].update(range(at[0], at[0] + size[0]))
        return tensor


def depends(lines: list[str], count: int) -> list[str]:
    """Return the tensors for which the order of the iterations matters."""
    iterations: list[Recorder] = []
    for iteration in range(count):
        iterations.append(Recorder())
        exec("\n".join(lines), {"pl": iterations[-1], "i": iteration, "x": "x", "out": "out"})
    return [
        name
        for name in ("x", "out")
        if any(
            a is not b and a.rows[name][1] & (b.rows[name][0] | b.rows[name][1])
            for a in iterations
            for b in iterations
        )
    ]


@pytest.mark.parametrize("chunk", range(4))
@pytest.mark.parametrize("through_call", [False, True])
def test_random_loops(chunk: int, through_call: bool) -> None:
    """All dependences are found, and no others, in kernels and through calls."""
    outcomes: set[int] = set()
    for seed in range(chunk * 40, chunk * 40 + 40):
        random = Random(seed)
        count = random.choice((2, 3, 5, 9))
        lines = [*body(random, ["i"], 0)]
        if through_call:
            text = CALLEE.format(part="\n".join(f"        {line}" for line in lines), count=count)
        else:
            inner = "".join(f"            {line}\n" for line in lines)
            text = f"{HEAD}        for i in pl.parallel({count}):\n{inner}"
        program = pl.parse(text, "kernels.py")
        assert isinstance(program, Program)
        wanted = depends(lines, count)
        found = check_parallel(program)
        assert len(found) == len(wanted), (seed, text, wanted, [f.message for f in found])
        assert all(f.severity is DiagnosticSeverity.Error for f in found)
        outcomes.add(len(wanted))
    assert outcomes == {0, 1, 2}
