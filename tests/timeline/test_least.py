"""The lower bound of a run: never above the simulated time, and close if nothing is unknown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.commands.programs import load
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.driver import compile_for_evaluator, entry_function, random_arguments
from pypto._src.timeline.least import lower_bound_cycles
from pypto._src.timeline.profile import ProgramSimulator

EXAMPLES = Path(__file__).parents[2] / "examples"

PRODUCT = """\
import pypto.language as pl


@pl.program
class Product:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        a: pl.Tensor[[M, K], pl.FP16],
        b: pl.Tensor[[K, N], pl.FP16],
        c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
        block: pl.Scalar[pl.INDEX],
    ):
        m = block // TILES * 64
        n = block % TILES * 64
        rows = pl.min(M - m, 64)
        cols = pl.min(N - n, 64)
        acc = pl.matmul(
            pl.load(a, [m, 0], [64, 32], target_memory=MAT, valid_shapes=[rows, 32]),
            pl.load(b, [0, n], [32, 64], target_memory=MAT, valid_shapes=[32, cols]),
        )
        for k in pl.range(32, K, 32):
            left = pl.min(K - k, 32)
            acc = pl.matmul_acc(
                acc,
                pl.load(a, [m, k], [64, 32], target_memory=MAT, valid_shapes=[rows, left]),
                pl.load(b, [k, n], [32, 64], target_memory=MAT, valid_shapes=[left, cols]),
            )
        c = pl.store(acc, [m, n], [64, 64], c)
        return c

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        a: pl.Tensor[[M, K], pl.FP16],
        b: pl.Tensor[[K, N], pl.FP16],
        c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ):
        for block in pl.parallel(0, BLOCKS):
            c = self.kernel(a, b, c, block)
        return c
"""

TRIANGLE = """\
import pypto.language as pl


@pl.program
class Triangle:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[512, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[512, 64], pl.FP32]],
        block: pl.Scalar[pl.INDEX],
    ):
        for r in pl.range(0, block + 1):
            tile = pl.load(x, [r * 8, 0], [8, 64])
            if r == block:
                out = pl.store(pl.exp(tile), [r * 8, 0], [8, 64], out)
            else:
                out = pl.store(tile, [r * 8, 0], [8, 64], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[512, 64], pl.FP32], out: pl.Out[pl.Tensor[[512, 64], pl.FP32]]
    ):
        for block in pl.parallel(0, 64):
            out = self.kernel(x, out, block)
        return out
"""


ALONE = """\
import pypto.language as pl


@pl.function
def alone(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    for row in pl.range(0, 64, 8):
        y = pl.store(pl.exp(pl.load(x, [row, 0], [8, 64])), [row, 0], [8, 64], y)
    return y
"""


def product(m: int, k: int, n: int) -> ir.Program:
    """Return a product of any sizes as tasks, each of which computes a part of 64 x 64."""
    tiles = -(-n // 64)
    numbers = {"BLOCKS": -(-m // 64) * tiles, "TILES": tiles, "M": m, "K": k, "N": n}
    text = PRODUCT.replace("MAT", "pl.MemorySpace.Mat")
    found = pl.parse(re.sub(r"\b(BLOCKS|TILES|M|K|N)\b", lambda at: str(numbers[at[0]]), text))
    assert isinstance(found, ir.Program)
    return found


def both(program: ir.Program) -> tuple[float, float]:
    """Return the bound of a program, and its simulated run time after the launch."""
    model, found = CostModel(load_table("a2a3")), list[ProgramSimulator]()

    def make(lowered: ir.Program) -> ProgramSimulator:
        found.append(ProgramSimulator(lowered, model))
        return found[0]

    compiled = compile_for_evaluator(program, None, make)
    compiled(*random_arguments(compiled, 0, {}).values())
    profile, lowered = found[0].profile, found[0].whole
    assert profile is not None
    least = lower_bound_cycles(lowered, entry_function(lowered, None), model, {})
    return least, profile.cycles - profile.launch


@pytest.mark.parametrize(
    ("sizes", "close"), [((1024, 512, 512), 0.8), ((1000, 333, 777), 0.6), ((1, 999, 5000), 0.4)]
)
def test_products(sizes: tuple[int, int, int], close: float) -> None:
    """Tasks with whole and with ragged tiles are separate classes; the bound is otherwise tight."""
    least, cycles = both(product(*sizes))
    assert close * cycles < least <= cycles


def test_loops_as_long_as_their_task_says() -> None:
    """Each of 64 tasks is longer than the one before; the bound includes at least the longest."""
    program = pl.parse(TRIANGLE)
    assert isinstance(program, ir.Program)
    least, cycles = both(program)
    assert 0.2 * cycles < least <= cycles


@pytest.mark.parametrize(
    "name", ["softmax", "rmsnorm", "flash_attention", "gelu_mlp", "top_k", "basics/projections"]
)
def test_examples(name: str) -> None:
    """The bound is positive and not above the simulated time."""
    least, cycles = both(load(str(EXAMPLES / f"{name}.py")))
    assert 0 < least <= cycles


def test_what_data_steers_counts_as_nothing() -> None:
    """A table that a host function reads could contain anything."""
    least, cycles = both(load(str(EXAMPLES / "attention" / "sparse_decode.py")))
    assert 0 <= least <= cycles


def test_a_kernel_without_a_host_function() -> None:
    """It is a single task."""
    program = pl.parse(ALONE)
    assert isinstance(program, ir.Function)
    least, cycles = both(ir.Program([program], "alone"))
    assert 0.4 * cycles < least <= cycles
