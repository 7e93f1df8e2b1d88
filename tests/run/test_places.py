"""An access outside of a tensor is reported at its line, or else at the call that led there."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.driver import compile_program
from pypto._src.errors import EvaluationError

TEXT = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def kernel(
    x: pl.Tensor[[64, 64], pl.FP32],
    n: pl.INT64,
    m: pl.INT64,
    out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
):
    k = n
    for i in pl.range(1):
        t = pl.load(x, [k, 0], [16, 64])
        k = k + 16
        LINE
        out = pl.store(t, [m, 0], [16, 64], out)
"""


@pytest.mark.parametrize(
    ("line", "n", "m", "message", "place"),
    [
        ("pass", 60, 0, "kernel: a load reads [60:76, 0:64] of x", "pl.load(x, [k, 0], [16, 64])"),
        (
            "pass",
            0,
            60,
            "kernel: a store writes [60:76, 0:64] of out",
            "pl.store(t, [m, 0], [16, 64], out)",
        ),
        ("t = pl.load(x, [m, 0], [16, 64])", 60, 0, "kernel: a load reads [60:76, 0:64] of x", ""),
    ],
)
def test_outside_of_a_tensor(line: str, n: int, m: int, message: str, place: str) -> None:
    """A unique access of that kind is the location; if there are two, the kernel's call is."""
    text = TEXT.replace("LINE", line)
    function = pl.parse(text)
    assert isinstance(function, ir.Function)
    run = compile_program(function)
    x, out = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    with pytest.raises(EvaluationError) as caught:
        run(x, n, m, out)
    assert caught.value.message.startswith(message)
    span = caught.value.location
    if place:
        assert place in text.splitlines()[span.begin_line - 1]
    else:
        assert span.filename == __file__


SWAPPED = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def kernel(
    x: pl.Tensor[[64, 64], pl.FP32],
    y: pl.Tensor[[64, 64], pl.FP32],
    n: pl.INT64,
    out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
):
    HEAD
        out = pl.store(pl.load(t, [n * i, 0], [16, 64]), [0, 0], [16, 64], out)
        t = NEXT
    out = pl.store(pl.load(y, [0, 0], [16, 64]), [16, 0], [16, 64], out)
"""


@pytest.mark.parametrize(
    ("head", "then"),
    [
        ("for i, (t,) in pl.range(2, init_values=[x]):", "pl.yield_(y)"),
        ("t = x\n    for i in pl.range(2):", "y"),
    ],
)
def test_a_loop_that_goes_on_with_another_tensor(head: str, then: str) -> None:
    """The load that names y is not the one that failed: the location is the kernel's call."""
    function = pl.parse(SWAPPED.replace("HEAD", head).replace("NEXT", then))
    assert isinstance(function, ir.Function)
    x, y, out = (np.zeros((64, 64), np.float32) for _ in range(3))
    with pytest.raises(EvaluationError, match=r"reads \[60:76, 0:64\] of y") as caught:
        compile_program(function)(x, y, 60, out)
    assert caught.value.location.filename == __file__
