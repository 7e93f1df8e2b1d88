"""Arguments of compiled programs passed by parameter name."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.driver import TARGETS
from pypto._src.errors import CallError
from pypto._src.run.arguments.parameters import address_of

SOURCE = """
import pypto.language as pl

@pl.program
class Scaled:
    @pl.function(type=pl.FunctionType.InCore)
    def scaled(
        self,
        x: pl.Tensor[[16, 16], pl.FP32],
        factor: pl.FP32,
        out: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
    ):
        t = pl.load(x, [0, 0], [16, 16])
        out = pl.store(pl.mul(t, factor), [0, 0], [16, 16], out)
"""
X = np.arange(256, dtype=np.float32).reshape(16, 16)


@pytest.mark.parametrize("target", TARGETS)
def test_names_stand_for_places(target: Any) -> None:
    """In whatever order keywords come, each argument goes to its parameter."""
    scaled = runtime.compile(pl.parse_program(SOURCE), target=target)
    for args, named in (((X,), {"factor": 2.0}), ((), {"factor": 2.0, "x": X})):
        out = np.zeros_like(X)
        scaled(*args, out=out, **named)
        np.testing.assert_array_equal(out, X * 2)


SIZED = """
import pypto.language as pl

M = pl.dynamic("M")

@pl.program
class Sums:
    @pl.function(type=pl.FunctionType.InCore)
    def sums(
        self,
        rows: pl.Out[pl.Tensor[[M, 16], pl.FP32]],
        x: pl.Tensor[[M, 16], pl.FP32],
        columns: pl.Out[pl.Tensor[[1, 16], pl.FP32]],
    ) -> pl.Tensor[[1, 16], pl.FP32]:
        columns = pl.store(pl.col_sum(pl.load(x, [0, 0], [8, 16])), [0, 0], [1, 16], columns)
        for i in pl.range(M):
            rows = pl.store(pl.neg(pl.load(x, [i, 0], [1, 16])), [i, 0], [1, 16], rows)
        return columns
"""


@pytest.mark.parametrize("target", TARGETS)
def test_outputs_that_are_left_out(target: Any) -> None:
    """All outputs may be left out: they are new arrays, of the sizes that the others tell."""
    scaled = runtime.compile(pl.parse_program(SOURCE), target=target)
    first, second = scaled(X, 2.0), scaled(factor=2.0, x=X)
    assert first is not second
    np.testing.assert_array_equal(first, X * 2)
    np.testing.assert_array_equal(second, X * 2)
    sums = runtime.compile(pl.parse_program(SIZED), target=target)
    np.testing.assert_array_equal(sums(X[:8]), X[:8].sum(axis=0, keepdims=True))
    with pytest.raises(CallError, match=r"sums takes 3 arguments \(rows, x, columns\), got 2"):
        sums(X[:8], X[:1])
    with pytest.raises(CallError, match="argument 'x' of scaled is a float"):
        scaled(2.0, X)


@pytest.mark.parametrize("size", ["M * 2", "N"])
def test_outputs_that_cannot_be_left_out(size: str) -> None:
    """A size that is computed, or that no other tensor has, is not known without the output."""
    text = SIZED.replace("pl.Out[pl.Tensor[[M,", f"pl.Out[pl.Tensor[[{size},")
    text = text.replace('M = pl.dynamic("M")', 'M = pl.dynamic("M")\nN = pl.dynamic("N")')
    sums = runtime.compile(pl.parse_program(text), target="interpreter")
    with pytest.raises(CallError, match=r"sums takes 3 arguments \(rows, x, columns\), got 1"):
        sums(X[:8])
    rows = np.zeros((16, 16), np.float32)
    sums(rows, X[:8], np.zeros((1, 16), np.float32))
    np.testing.assert_array_equal(rows[:8], -X[:8])


REFUSED: list[tuple[tuple[Any, ...], dict[str, Any], str, str]] = [
    ((X, 1.0), {"outt": X}, "scaled does not have the argument 'outt'; it has x, factor, out",
     "did you mean out=?"),
    ((X, 1.0), {"factor": 2.0}, "scaled got twice the argument 'factor'; it has x, factor, out",
     "call it as scaled("),
    ((X,), {"out": X}, "scaled takes 3 arguments (x, factor, out), got 2", "call it as scaled("),
    ((X, 1.0, X, X), {"out": X}, "scaled got twice the argument 'out'", "call it as scaled("),
]  # fmt: skip


@pytest.mark.parametrize(("args", "named", "message", "hint"), REFUSED)
def test_wrong_names(args: tuple[Any, ...], named: dict[str, Any], message: str, hint: str) -> None:
    """An unknown or repeated name, too few arguments: a TypeError with location and hint."""
    scaled = runtime.compile(pl.parse_program(SOURCE), target="interpreter")
    with pytest.raises(CallError) as caught:
        scaled(*args, **named)
    assert isinstance(caught.value, TypeError)
    assert caught.value.message.startswith(message)
    assert str(caught.value.hint).startswith(hint)
    assert caught.value.location.filename == __file__


@pytest.mark.parametrize(
    "values",
    [
        np.ones((4, 4), np.float32),
        np.ones((4, 4), ml_dtypes.bfloat16),
        np.zeros((0, 4), np.float32),
        np.frombuffer(bytes(16), np.int32),
        np.ones(8, np.bool_)[4:],
        np.array(3, np.int64),
    ],
    ids=["plain", "no-c-type", "empty", "read-only", "part", "scalar"],
)
def test_address(values: np.ndarray[Any, Any]) -> None:
    """Whatever an array contains, its address is that of its first byte."""
    assert address_of(values) == values.ctypes.data
