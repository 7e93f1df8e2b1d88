"""Programs with loops and branches nested four deep have a text that the assembler takes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import settings

import pypto.language as pl
from pypto import ir
from pypto._src.dialect.evaluate import evaluate
from pypto._src.dialect.reader import parse
from pypto._src.dialect.verify import faults_of, options_of
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.interp.evaluate import Evaluator
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests.properties.nested_regions import ORDERS, nested_source

COUNT = 1000 if settings().max_examples > 500 else len(ORDERS)
"""A program for each order; many more in the nightly."""


def _arguments(count: int) -> list[Any]:
    x = np.random.default_rng(count).uniform(-2, 2, (4, 64)).astype(np.float32)
    numbers = [count, np.float16(0.7), ml_dtypes.bfloat16(0.3)]
    return [x, *numbers, np.zeros((4, 64), np.float32), np.zeros((4, 32), np.float32)]


@pytest.mark.parametrize("strategy", OptimizationStrategy)
def test_texts_are_accepted_and_mean_the_same(strategy: OptimizationStrategy) -> None:
    """No text is in a form that the assembler refuses, and each computes what the kernel does."""
    for number in range(COUNT):
        kernel = pl.parse(nested_source(number))
        assert isinstance(kernel, ir.Function)
        program = ir.Program([kernel], "P")
        text = PTOCodegen().generate(PassManager.get_strategy(strategy).run_passes(program))
        for arch in ("a3", "a5"):
            faults = faults_of(text, f"{number}.pto", options_of(text, arch))
            assert [str(fault) for fault in faults] == []
        source = parse(text)
        for count in (0, 1, 3):
            wanted, found = _arguments(count), _arguments(count)
            Evaluator(program).call("main", wanted)
            evaluate(source, "main", found)
            for one, other in zip(found[-2:], wanted[-2:], strict=True):
                np.testing.assert_array_equal(one, other, f"program {number}, {count}")
