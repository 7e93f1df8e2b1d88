"""The texts of kernels that benchmarks read."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Final

EXAMPLES: Final = Path(__file__).parents[2] / "examples"

HEAD: Final = """\
import pypto.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        n: pl.INT64,
        y: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        t = pl.load(x, [0, 0], [16, 64])
        r = n + 1
"""
STRAIGHT: Final = """\
u = pl.load(x, [16, 0], [16, 64])
v = pl.add(t, u)
w = pl.mul(v, 0.5)
t = pl.exp(w)
r = (r + 3) * 2 - n
u = pl.sub(t, v)
t = pl.maximum(u, w)
y = pl.store(t, [0, 0], [16, 64], y)
""".splitlines()
SLICES: Final = """\
u = x[0:16, r*16:r*16+16]
y[n:n+16, 0:16] = u
t = x[n*8:n*8+16, :]
y[r:r+16, :] = t + t
""".splitlines()


def _text(body: Sequence[str]) -> str:
    return HEAD + "".join(f"        {line}\n" for line in body)


def straight_kernel(statements: int) -> str:
    """Return a kernel of ``statements`` statements, one per line, without control flow."""
    iterations = (statements - 2) // len(STRAIGHT) + 1
    return _text((STRAIGHT * iterations)[: statements - 3] + STRAIGHT[-1:])


def slice_kernel(lines: int) -> str:
    """Return a kernel of about ``lines`` lines that reads and writes slices of tensors."""
    return _text(SLICES * (lines // len(SLICES)))


def kernel(lines: int) -> str:
    """Return a kernel of about ``lines`` lines, with a branch or a loop every 20 lines."""
    body: list[str] = []
    while len(body) < lines:
        body += STRAIGHT
        body.append("if r > n:" if len(body) % 40 < 20 else "for i in pl.range(0, 4):")
        body += [f"    {line}" for line in STRAIGHT[1:]]
        body += STRAIGHT[:3]
    return _text(body)


def program_only(text: str) -> str:
    """Return an example up to the end of its program, which is a class."""
    [end] = [node.end_lineno for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    return "".join(text.splitlines(keepends=True)[:end])
