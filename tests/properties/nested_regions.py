"""Random kernels with whiles, branches and counted loops nested four deep, in every order.

They carry numbers of 16 bits and others, and cut parts out of reshaped tiles. The assembler takes
no while around a branch within another region, no carried half and no part of a reshape, so that
emission has other forms for them: no text may be refused, and each has to mean the same.
`python -m tests.properties.nested_regions COUNT` looks at so many programs.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from random import Random
from typing import Any, Final

import ml_dtypes
import numpy as np

import pypto.language as pl
from pypto import ir
from pypto._src.dialect.evaluate import evaluate
from pypto._src.dialect.reader import parse
from pypto._src.dialect.verify import faults_of, options_of
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.interp.evaluate import Evaluator
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager

ARCHS: Final = ("a3", "a5")
ARGUMENTS: Final = (0, 1, 3)
"""What kernels are called with; most loops end after so many iterations."""
KINDS = ("while", "if", "for")
ORDERS = list(product(KINDS, repeat=4))
"""Each order of four; programs take them in turn."""


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.names = 0

    def fresh(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def effects(self, depth: int, index: str) -> None:
        """Add one or two statements that change what loops carry."""
        choices = [
            "s = s * 0.5 + h",
            "s = h - s * 0.25",
            "b = b + g",
            "b = b * 0.5",
            "s, r = r, s",
            "r = r + s",
            f"k = k + {index}",
            "k = k - 1",
            "t = pl.add(t, 1.0)",
            "t = pl.mul(t, 0.5)",
            "t = pl.adds(t, s)",
            "t = pl.adds(t, b)",
        ]
        part = self.random.randrange(6)
        row = f"{index} % 5" if self.random.randrange(2) else str(part)
        if part == 0:
            q, p = self.fresh("q"), self.fresh("p")
            self.add(depth, f"{q} = pl.reshape(t, [8, 32])")
            self.add(depth, f"{p} = pl.view({q}, [4, 32], [{row}, 0])")
            self.add(depth, f"w = pl.add(w, {p})")
        for text in self.random.sample(choices, self.random.randrange(1, 3)):
            self.add(depth, text)

    def block(self, kinds: tuple[str, ...], depth: int, index: str) -> None:
        """Add a region of the first kind around those of the others."""
        if self.random.randrange(2):
            self.effects(depth, index)
        if not kinds:
            self.effects(depth, index)
            return
        kind, *rest = kinds
        inner = tuple(rest)
        match kind:
            case "while":
                count = self.fresh("c")
                self.add(depth, f"{count} = n % {self.random.randrange(2, 4)}")
                self.add(depth, f"while {count} > 0:")
                self.block(inner, depth + 1, count)
                self.add(depth + 1, f"{count} = {count} - 1")
            case "if":
                test = self.random.choice([f"{index} > 0", "k > 1", "n > 2", "s > r", "k < 2"])
                self.add(depth, f"if {test}:")
                self.block(inner, depth + 1, index)
                if self.random.randrange(3):
                    self.add(depth, "else:")
                    if self.random.randrange(2):
                        self.block(inner, depth + 1, index)
                    else:
                        self.effects(depth + 1, index)
            case _:
                name = self.fresh("i")
                bounds = self.random.choice(["n", "1, n", "0, n, 2", "n, 0, -1", f"{index} + 1"])
                self.add(depth, f"for {name} in pl.range({bounds}):")
                self.block(inner, depth + 1, name)
        if self.random.randrange(3) == 0:
            self.effects(depth, index)


def nested_source(number: int) -> str:
    """Return program ``number``: a kernel ``main``."""
    maker = _Maker(Random(number))
    maker.block(ORDERS[number % len(ORDERS)], 0, "n")
    body = "\n".join(maker.lines)
    return f"""
@pl.function(type=pl.FunctionType.InCore)
def main(
    x: pl.Tensor[[4, 64], pl.FP32], n: pl.Scalar[pl.INT64], h: pl.Scalar[pl.FP16],
    g: pl.Scalar[pl.BF16], y: pl.Out[pl.Tensor[[4, 64], pl.FP32]],
    z: pl.Out[pl.Tensor[[4, 32], pl.FP32]],
):
    t = pl.load(x, [0, 0], [4, 64])
    w = pl.load(x, [0, 0], [4, 32])
    s = h
    r = h + 1.0
    b = g
    k = n
{body}
    t = pl.adds(t, s)
    t = pl.adds(t, b)
    t = pl.adds(t, r)
    t = pl.adds(t, k)
    y = pl.store(t, [0, 0], [4, 64], y)
    z = pl.store(w, [0, 0], [4, 32], z)
    return y, z
"""


def arguments(count: int) -> list[Any]:
    """Return what a kernel is called with; its outputs are the last two."""
    x = np.random.default_rng(count).uniform(-2, 2, (4, 64)).astype(np.float32)
    numbers = [count, np.float16(0.7), ml_dtypes.bfloat16(0.3)]
    return [x, *numbers, np.zeros((4, 64), np.float32), np.zeros((4, 32), np.float32)]


def check(number: int, strategy: OptimizationStrategy) -> None:
    """Check that the text of a program is taken for each target, and computes what it does."""
    kernel = pl.parse(nested_source(number))
    assert isinstance(kernel, ir.Function)
    program = ir.Program([kernel], "P")
    text = PTOCodegen().generate(PassManager.get_strategy(strategy).run_passes(program))
    for arch in ARCHS:
        faults = faults_of(text, f"{number}.pto", options_of(text, arch))
        assert [str(fault) for fault in faults] == []
    source = parse(text)
    for count in ARGUMENTS:
        wanted, found = arguments(count), arguments(count)
        Evaluator(program).call("main", wanted)
        evaluate(source, "main", found)
        for one, other in zip(found[-2:], wanted[-2:], strict=True):
            np.testing.assert_array_equal(one, other, f"program {number}, {count}")


def main(count: int) -> int:
    """Check programs by each strategy; print those that fail, and return how many texts do."""
    begin, wrong = time.monotonic(), 0
    for number in range(count):
        for strategy in OptimizationStrategy:
            try:
                check(number, strategy)
            except Exception as error:
                wrong += 1
                message = " ".join(str(error).split())
                print(number, strategy, type(error).__name__, message[:300], sep=": ", flush=True)
        if (number + 1) % 100 == 0:
            print(f"{number + 1} programs, {time.monotonic() - begin:.0f} s", flush=True)
    texts = count * len(OptimizationStrategy)
    print(
        f"{count} programs: {texts} texts for {' and '.join(ARCHS)}, "
        f"each evaluated {len(ARGUMENTS)} times; {wrong} refused or different"
    )
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]))))
