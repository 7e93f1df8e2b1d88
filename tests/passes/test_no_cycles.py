"""A compile leaves nothing that only the cyclic collector can free.

Memory freed by reference counting is free at once, and reused by the next compile. Cycles wait
for the collector, and until it runs each compile touches fresh memory.
"""

from __future__ import annotations

import ast
import gc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.ir.roles import Role, role
from pypto.codegen import PTOCodegen, generate_orchestration
from pypto.passes import PassManager

EXAMPLES = Path(__file__).parents[2] / "examples"
STRAIGHT = """
import pypto.language as pl


@pl.program
class Straight:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        n: pl.INT64,
        y: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        t = pl.load(x, [0, 0], [16, 64])
        r = n + 1
        t = pl.add(pl.mul(t, 0.5), pl.exp(t))
        r = (r + 3) * 2 - n
        y = pl.store(t, [r, 0], [16, 64], y)
"""


def example(name: str) -> str:
    """Return an example's source up to the end of its program, which is a class."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    [end] = [node.end_lineno for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    return "".join(text.splitlines(keepends=True)[:end])


TEXTS = {
    "straight": STRAIGHT,
    "layer_norm": example("layer_norm"),
    "paged_attention": example("paged_attention"),
}


def passed(program: ir.Program) -> ir.Program:
    """Return a program after the passes."""
    return PassManager.get_strategy().run_passes(program)


def emitted(program: ir.Program) -> list[str]:
    """Return the C++ of the functions of a program."""
    texts = [kernel_file(f) for f in program.functions_ if role(f) is Role.KERNEL]
    for function in program.functions_:
        if function.func_type is ir.FunctionType.Orchestration:
            texts.append(generate_orchestration(program, function).code)
    return texts


def as_pto(program: ir.Program) -> str:
    """Return the PTO text of a program."""
    return PTOCodegen().generate(program)


@pytest.fixture
def collector() -> Iterator[None]:
    """Make the collector keep what it finds, and run only on request."""
    gc.disable()
    gc.collect()
    gc.freeze()  # objects of other tests do not matter here, and need not be scanned
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


STAGES: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "parse": (pl.parse,),
    "passes": (pl.parse, passed),
    "emission": (pl.parse, passed, emitted),
    "pto": (pl.parse, passed, as_pto),
}


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_left_to_the_collector(stage: str, text: str) -> None:
    """The last step of a compile leaves no cycle, and neither does its result."""
    *before, last = STAGES[stage]

    def compiled() -> Any:
        given: Any = TEXTS[text]
        for step in before:
            given = step(given)
        gc.collect()
        gc.garbage.clear()  # what earlier steps leave is tested on its own
        return last(given)

    compiled()  # the first run imports modules and creates tables
    made = compiled()
    assert made
    del made
    gc.collect()
    assert Counter(type(each).__name__ for each in gc.garbage) == {}
