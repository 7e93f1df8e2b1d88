"""Passes called one by one on a program as written, without `convert_to_ssa` before."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, passes
from pypto._src.interp.evaluate import Evaluator
from pypto._src.passes.pass_base import Pass
from pypto._src.passes.pipeline import PassPipeline


@pl.program
class Halved:
    """A kernel that reassigns a tile and a number, in branches and in a loop."""

    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self,
        x: pl.Tensor[[16, 32], pl.FP32],
        n: pl.INT64,
        out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ):
        t = pl.load(x, [0, 0], [16, 32])
        k = n * 2
        for i in pl.range(n):
            if k > 20:
                break
            if k > 3:
                t = pl.add(t, t)
                k = k - 1
            else:
                t = pl.add(t, 1.0)
                k = k + i
        return pl.store(pl.mul(t, pl.cast(k, pl.FP32)), [0, 0], [16, 32], out)


@pl.program
class Region:
    """A region in a loop that assigns the output of its function."""

    @pl.function
    def main(
        self,
        x: pl.Tensor[[16, 32], pl.FP32],
        n: pl.INT64,
        out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ):
        for i in pl.range(n):
            with pl.incore():
                t = pl.load(x, [0, 0], [16, 32])
                t = pl.add(t, pl.cast(i, pl.FP32))
                out = pl.store(t, [0, 0], [16, 32], out)
        return out


def _run(program: ir.Program) -> np.ndarray:
    x = np.linspace(-1, 1, 512, dtype=np.float32).reshape(16, 32)
    out = np.zeros_like(x)
    Evaluator(program).call("main", [x, 3, out])
    return out


NEEDS_SSA: list[Callable[[], Pass]] = [
    passes.common_subexpr,
    passes.dead_code,
    passes.init_mem_ref,
    passes.legalize_tiles,
    passes.loop_invariant_motion,
    passes.outline_incore_scopes,
    passes.simplify,
    passes.unroll_loops,
]


@pytest.mark.parametrize("make", NEEDS_SSA, ids=lambda make: make.__name__)
@pytest.mark.parametrize("written", [Halved, Region], ids=lambda program: program.name)
def test_a_pass_that_needs_ssa_form_makes_it(written: ir.Program, make: Callable[[], Pass]) -> None:
    """Code that reassigns a variable means the same after the pass, alone or in a pipeline."""
    pipeline = PassPipeline()
    pipeline.add_pass(make())
    for after in (make()(written), pipeline.run(written)):
        np.testing.assert_array_equal(_run(after), _run(written))
        ir.assert_structural_equal(ir.parse(str(after)), after)


def test_what_assigns_once_keeps_its_names() -> None:
    """A pass that needs SSA form renames nothing in a function that already has it."""
    program = pl.parse_program(
        textwrap.dedent("""
        @pl.program
        class Once:
            @pl.function
            def main(self, x: pl.Tensor[[8], pl.FP32], out: pl.Out[pl.Tensor[[8], pl.FP32]]):
                with pl.incore():
                    t = pl.load(x, [0], [8])
                    done = pl.store(t, [0], [8], out)
                return done
        """)
    )
    assert "t: pl.Tile[[8], pl.FP32] = " in str(passes.outline_incore_scopes()(program))
