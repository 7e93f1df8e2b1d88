"""Positions of allocations in PTO texts: in loops, if the tiles do not all fit together."""

from __future__ import annotations

import pypto.language as pl
from pypto import ir
from pypto._src.dialect.verify import check, options_of
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager

SHAPES = ((32, 512), (64, 256), (128, 128), (16, 1024))
"""64 KiB each: at most two are live at once, and all four exceed Vec memory."""


def program(count: int) -> ir.Program:
    """A kernel that carries a row and uses tiles of this many shapes in a loop."""
    params = [f"x{i}: pl.Tensor[[1024, {SHAPES[i][1]}], pl.FP32]" for i in range(count)]
    lines = ["total = pl.full([1, 64], pl.FP32, 0.0)", "for k in pl.range(8):"]
    for i in range(count):
        rows, columns = SHAPES[i]
        lines.append(f"    t{i} = pl.load(x{i}, [k * {rows}, 0], [{rows}, {columns}])")
        lines.append(f"    out{i} = pl.store(t{i}, [0, 0], [{rows}, {columns}], out{i})")
        params.append(f"out{i}: pl.Out[pl.Tensor[[{rows}, {columns}], pl.FP32]]")
    lines += ["    total = pl.add(total, 1.0)", "out = pl.store(total, [0, 0], [1, 64], out)"]
    params.append("out: pl.Out[pl.Tensor[[1, 64], pl.FP32]]")
    outs = ", ".join(["out", *(f"out{i}" for i in range(count))])
    body = "\n".join(f"    {line}" for line in [*lines, f"return {outs}"])
    return pl.parse_program(
        "@pl.program\nclass P:\n  @pl.function(type=pl.FunctionType.InCore)\n"
        f"  def kernel(self, {', '.join(params)}):\n{body}"
    )


def text_of(before: ir.Program) -> tuple[str, str]:
    """Return the lines before the loop, and those from it on, of a text that is valid."""
    after = PassManager.get_strategy(OptimizationStrategy.PTOAS).run_passes(before)
    text = PTOCodegen().generate(after)
    check(text, "kernel.pto", options_of(text))
    head, _, body = text.partition("scf.for")
    return head, body


def test_tiles_that_fit_are_allocated_in_the_head() -> None:
    """As usual: nothing is allocated in the loop."""
    head, body = text_of(program(2))
    assert head.count("pto.alloc_tile") == 3
    assert "pto.alloc_tile" not in body


def test_tiles_that_do_not_fit_are_allocated_in_their_loop() -> None:
    """Except for the one that iterations carry."""
    head, body = text_of(program(4))
    assert head.count("pto.alloc_tile") == 1
    assert body.count("pto.alloc_tile") == 4


def test_padding_counts() -> None:
    """Rows of 100 elements fit together in bytes, but not with on-chip padding."""
    rows = 108

    @pl.program
    class Dequantized:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            self,
            x: pl.Tensor[[4 * rows, 100], pl.INT8],
            out: pl.Out[pl.Tensor[[4 * rows, 100], pl.FP32]],
        ) -> pl.Tensor[[4 * rows, 100], pl.FP32]:
            for k in pl.range(4):
                whole = pl.load(x, [k * rows, 0], [rows, 100])
                half = pl.cast(whole, target_type=pl.FP16)
                wide = pl.cast(half, target_type=pl.FP32)
                more = pl.add(wide, 1.0)
                most = pl.exp(more)
                out = pl.store(pl.mul(more, most), [k * rows, 0], [rows, 100], out)
            return out

    head, body = text_of(Dequantized)
    assert "pto.alloc_tile" not in head
    assert "pto.alloc_tile" in body
