"""The common beginning of the programs in the tests of the checks."""

from __future__ import annotations

import pypto.language as pl
from pypto._src.ir.stmts import Program

KERNEL = """\
@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        n: pl.INT64,
        out: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    ):
"""
"""Ends with the signature of the kernel."""


def program_of(head: str, body: str) -> Program:
    """Return the program, as if from kernels.py, whose last function has the body ``body``."""
    text = head + "".join(f"        {line}\n" for line in body.splitlines())
    program = pl.parse(text, "kernels.py")
    assert isinstance(program, Program)
    return program
