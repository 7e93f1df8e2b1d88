"""Compiled kernels that leave the arrays they were given report it and touch nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.errors import EvaluationError
from pypto._src.run.native import KernelError, launcher_source
from pypto.runtime import compile as compile_program
from tests.natively import compiler

TEXT = """
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def shift(
    x: pl.Tensor[[64, 64], pl.FP32],
    begin: pl.Scalar[pl.INT64],
    end: pl.Scalar[pl.INT64],
    out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
):
    tile = pl.load(x, [begin, 0], [32, 64])
    out = pl.store(tile, [end, 0], [32, 64], out)
"""


def _arrays() -> tuple[Any, Any]:
    x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    return x, np.zeros((192, 64), np.float32)


@pytest.mark.parametrize(
    ("begin", "end", "message"),
    [
        (33, 0, "a load reads outside the tensors that the kernel was given"),
        (-1, 0, "a load reads outside the tensors that the kernel was given"),
        (0, 33, "a store writes outside the tensors that the kernel was given"),
        (0, -1, "a store writes outside the tensors that the kernel was given"),
    ],
)
def test_transfers_outside_are_errors(begin: int, end: int, message: str) -> None:
    """Neither side of the output changes, and the interpreter refuses the same call."""
    compiler()
    x, memory = _arrays()
    program = pl.parse(TEXT)
    with pytest.raises(KernelError) as caught:
        compile_program(program, target="cpu")(x, begin, end, memory[64:128])
    assert caught.value.message == message
    assert caught.value.hint == 'run it with target="interpreter", which names the line'
    assert not memory[:64].any()
    assert not memory[128:].any()
    with pytest.raises(EvaluationError):
        compile_program(program, target="interpreter")(x, begin, end, memory[64:128])


def test_transfers_up_to_the_edge_are_not() -> None:
    """The last region of a tensor may be read and written; a failed call leaves no trace."""
    compiler()
    x, memory = _arrays()
    compiled = compile_program(pl.parse(TEXT), target="cpu")
    with pytest.raises(KernelError):
        compiled(x, 60, 0, memory[64:128])
    compiled(x, 32, 32, memory[64:128])
    assert (memory[96:128] == x[32:]).all()


def test_launcher_names_the_tensors() -> None:
    """The launcher hands the size of each tensor to the headers, and nothing for scalars."""
    text = launcher_source("kernel_entry", [16384, 0, 256])
    assert [line.strip() for line in text.splitlines() if "allow" in line] == [
        "pto::cpu::allow(reinterpret_cast<const void*>(args[0]), 16384);",
        "pto::cpu::allow(reinterpret_cast<const void*>(args[2]), 256);",
    ]
    assert "allow" not in launcher_source("kernel_entry")
