"""Kernels to which passes add parameters are still called with their own signature, everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.driver import CompiledProgram
from pypto._src.errors import CallError
from pypto.runtime import compile as compile_program
from tests.natively import compiler

DOUBLED = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def doubled(x: pl.Tensor[[16, 64], pl.FP32], times: pl.Scalar[pl.INT64]):
    e = pl.exp(x)
    for _ in pl.range(times):
        e = pl.mul(e, 2.0)
    return pl.add(e, x)
"""


def _targets(text: str) -> list[CompiledProgram]:
    compiler()
    program = pl.parse(text)
    return [
        compile_program(program, target="interpreter"),
        compile_program(program, target="interpreter", strict=True),
        compile_program(program, target="cpu"),
    ]


def _wanted(x: Any, times: int) -> Any:
    return np.exp(x) * 2**times + x


def test_kernels_are_called_as_they_are_written() -> None:
    """Neither scratch tensors nor a returned tensor become arguments of the caller."""
    x = np.random.default_rng(3).random((16, 64)).astype(np.float32)
    shown = "doubled(x: Tensor[[16, 64], FP32], times: Scalar[INT64])"
    for compiled in _targets(DOUBLED):
        assert compiled.signature == shown
        assert compiled.written == []
        found = [compiled(x, 3), compiled(times=3, x=x), compiled.prepared([x, 3])()]
        for out in found:
            np.testing.assert_allclose(out, _wanted(x, 3), rtol=1e-5)
        assert found[0] is not found[1]
        np.testing.assert_allclose(compiled(x, -1), _wanted(x, 0), rtol=1e-5)
        with pytest.raises(CallError) as caught:
            compiled(x)
        assert caught.value.message == "doubled takes 2 arguments (x, times), got 1"
        assert caught.value.hint == f"call it as {shown}"


ANY_SIZE = """
import pypto.language as pl
N = pl.dynamic("N")

@pl.function(type=pl.FunctionType.InCore)
def part(x: pl.Tensor[[N, 64], pl.FP32], n: pl.Scalar[pl.INT64], f: pl.Scalar[pl.FP16]):
    return pl.exp({value})
"""


@pytest.mark.parametrize(
    ("value", "is_part"), [("x", False), ("pl.view(x, [n, 64], [0, 0])", True)]
)
def test_added_tensors_have_the_sizes_of_each_call(value: str, is_part: bool) -> None:
    """Sizes come from the arrays and scalars of a call."""
    for compiled in _targets(ANY_SIZE.format(value=value)):
        for rows, n in ((1, 1), (16, 3), (37, 20)):
            x = np.random.default_rng(rows).random((rows, 64)).astype(np.float32)
            wanted = np.exp(x[:n] if is_part else x)
            np.testing.assert_allclose(compiled(x, n, 0.5), wanted, rtol=1e-5)


IN_PLACE = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def shares(x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    e = pl.exp(x)
    for _ in pl.range(2):
        e = pl.mul(e, 2.0)
    out = pl.assemble(out, pl.add(e, x), [0, 0])
    return out
"""


def test_outputs_stay_the_callers() -> None:
    """A kernel with scratch tensors beside an output writes and returns the caller's array."""
    x = np.random.default_rng(3).random((16, 64)).astype(np.float32)
    for compiled in _targets(IN_PLACE):
        out = np.zeros_like(x)
        assert compiled.signature == (
            "shares(x: Tensor[[16, 64], FP32], out: Out[Tensor[[16, 64], FP32]])"
        )
        assert compiled(x, out) is out
        np.testing.assert_allclose(out, _wanted(x, 2), rtol=1e-5)


BY_NUMBER = """
import pypto.language as pl
Rows = pl.dynamic("{name}")

@pl.function(type=pl.FunctionType.InCore)
def part(x: pl.Tensor[[Rows, 64], pl.FP32], n: pl.Scalar[pl.INT64]):
    out = pl.create_tensor([{size}, 64], pl.FP32)
    for i in pl.range(0, {size}):
        out = pl.store(pl.load(x, [i, 0], [1, 64]), [i, 0], [1, 64], out)
    return out
"""


@pytest.mark.parametrize(
    ("name", "size", "rows"), [("Rows", "Rows + n", 12), ("n", "Rows", 16), ("Rows", "n + 8", 4)]
)
def test_numbers_below_zero_are_part_of_a_size(name: str, size: str, rows: int) -> None:
    """A negative scalar is used as it is, even if a dimension has the name of another scalar."""
    x = np.random.default_rng(3).random((16, 64)).astype(np.float32)
    for compiled in _targets(BY_NUMBER.format(name=name, size=size)):
        np.testing.assert_array_equal(compiled(x, -4), x[:rows])


def test_sizes_below_zero_are_refused() -> None:
    """A result with a negative size is an error before anything runs."""
    x = np.zeros((16, 64), np.float32)
    for compiled in _targets(BY_NUMBER.format(name="Rows", size="Rows + n"))[1:]:
        with pytest.raises(CallError) as caught:
            compiled(x, -20)
        assert caught.value.message.endswith(", Rows + n, is -4")
        assert caught.value.slug == "argument-range"
