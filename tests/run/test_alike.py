"""Kernels that differ only in names are compiled once, and each reports under its own names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.errors import PyptoError
from pypto._src.ir.stmts import Program
from pypto._src.run import compiled_kernels
from pypto._src.run.compiled_kernels import without_names
from pypto._src.run.native import NativeKernel, load_kernel

KERNEL = """
    @pl.function(type=pl.FunctionType.InCore)
    def {name}(
        self, {x}: pl.Tensor[[{rows}, 16], pl.FP32], {to}: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
        first: pl.INT64,
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        {t} = pl.load({x}, [first, 0], [16, 16])
        {to} = pl.store(pl.{op}({t}, {t}), [0, 0], [16, 16], {to})
        return {to}
"""
PROGRAM = """
import pypto.language as pl

@pl.program
class Two:
{first}{second}
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, a: pl.Tensor[[16, 16], pl.FP32], b: pl.Tensor[[{rows}, 16], pl.FP32],
        c: pl.Out[pl.Tensor[[16, 16], pl.FP32]], d: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
        n: pl.INT64,
    ) -> pl.Tensor[[16, 16], pl.FP32]:
        c = self.left(a, c, 0)
        d = self.right(b, d, n)
        return d
"""


def two(op: str = "add", rows: int = 16) -> Program:
    """Return a program of two kernels, which are alike if the second one also adds 16 rows."""
    first = KERNEL.format(name="left", x="x", to="out", t="t", op="add", rows=16)
    second = KERNEL.format(name="right", x="weights", to="x", t="tile", op=op, rows=rows)
    program = pl.parse(PROGRAM.format(first=first, second=second, rows=rows))
    assert isinstance(program, Program)
    return program


@pytest.mark.parametrize(("op", "rows", "count"), [("add", 16, 1), ("mul", 16, 2), ("add", 32, 2)])
def test_only_kernels_that_are_alike_are_one(
    op: str, rows: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names do not matter, ops and sizes do; both kernels compute the right results."""
    loaded: list[str] = []

    def load(source: str, **options: Any) -> NativeKernel:
        loaded.append(options["name"])
        return load_kernel(source, **options)

    monkeypatch.setattr(compiled_kernels, "load_kernel", load)
    a, b = np.full((16, 16), 3, np.float32), np.full((rows, 16), 5, np.float32)
    c, d = np.zeros_like(a), np.zeros_like(a)
    compiled = runtime.compile(two(op, rows))
    compiled(a, b, c, d, 0)
    assert (c[0, 0], d[0, 0]) == (6, 10 if op == "add" else 25)
    assert len(loaded) == count
    assert set(compiled.sources) == {"left", "right"}


def test_report_has_the_names_of_the_kernel_that_ran() -> None:
    """An object that was compiled for another kernel does not report that one's names."""
    a = np.zeros((16, 16), np.float32)
    with pytest.raises(PyptoError) as caught:
        runtime.compile(two())(a, a, a.copy(), a.copy(), 4)
    assert caught.value.message == "right: a load reads [4:20, 0:16] of weights, a tensor [16, 16]"


def test_what_the_headers_declare_keeps_its_name() -> None:
    """Only names that a text declares itself may be renamed."""
    text = "using tType = Tile<Layout::{}>; tType {}(2); T{}({}, a > b); // {}"
    same = without_names(text.format("ND", "t", "ADD", "t", "one"))
    assert same == without_names(text.format("ND", "u", "ADD", "u", "two"))
    for other in (("DN", "t", "ADD", "t"), ("ND", "t", "SUB", "t"), ("ND", "t", "ADD", "tType")):
        assert same != without_names(text.format(*other, "one"))
