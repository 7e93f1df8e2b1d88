"""C++ of host functions for this machine: the whole text, its source lines, and no warnings."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pypto.language as pl
from pypto._src.driver import INCLUDE
from pypto._src.emit.host.native.generate import HostText, host_text
from pypto._src.emit.host.native.scalar_exprs import HostScalars
from pypto._src.ir.exprs import Abs, Expr, Mul, Sub, Var, binary, unary
from pypto._src.ir.roles import outermost
from pypto._src.ir.scalar_ops import DECOMPOSED
from pypto._src.ir.types import scalar_type
from pypto._src.passes.pass_manager import PassManager
from pypto._src.run.effects import effects
from tests.natively import compiler

PROGRAM = """
ROWS = pl.dynamic("ROWS")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self, x: pl.Tensor[[16, 64], pl.FP32], f: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        out = pl.store(pl.mul(pl.load(x, [0, 0], [16, 64]), f), [0, 0], [16, 64], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def twice(
        self, x: pl.Tensor[[16, 64], pl.FP32], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ) -> tuple[pl.Tensor[[16, 64], pl.FP32], pl.Scalar[pl.INT64]]:
        out = self.scale(x, 2.0, out)
        return out, 2

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[ROWS, 64], pl.FP32], h: pl.Scalar[pl.BF16], flag: pl.Scalar[pl.BOOL],
        low: pl.Scalar[pl.INT8],
    ) -> tuple[pl.Tensor[[16, 64], pl.FP32], pl.Scalar[pl.INT64]]:
        held = pl.create_tensor([16, 64], pl.FP32)
        count: pl.Scalar[pl.INT64] = 0
        for i in pl.range(0, ROWS // 16):
            rows = pl.view(x, [16, 64], [i * 16, 0])
            fresh = pl.create_tensor([16, 64], pl.FP32)
            fresh, more = self.twice(rows, fresh)
            if pl.read(rows, [0, 3]) > 0.5:
                held = fresh
                count = count + more % 3
            else:
                self.scale(rows, pl.read(x, [i, 0]) * 0.5, held)
        while count > 10 and flag:
            count = count - max(count // 2, 1)
        return held, count
"""


def text() -> HostText:
    lowered = PassManager.get_strategy().run_passes(pl.parse_program(PROGRAM))
    known = effects(lowered)
    [main] = outermost(lowered)
    results = {"scale": [index for [index] in known["scale"].results]}
    return host_text(lowered, main, results)


def test_whole_text(golden: Callable[[str, str], None]) -> None:
    """Swapped tensors, elements read, nested functions and run-time sizes as one file."""
    found = text()
    golden("emit/host.cpp", found.code)
    assert found.kernels == ("scale",)
    assert found.ops == ()


def test_lines_have_their_places() -> None:
    """A line of the text is mapped to the user's line that it implements."""
    found = text()
    lines = found.code.splitlines()
    assert len(found.spans) == len(lines)
    source = PROGRAM.splitlines()
    for part, wanted in (
        ("= x.view(", "rows = pl.view("),
        ("pto2_rt_read<float>(rt, x", "self.scale(rows, pl.read(x, [i, 0])"),
        ("make_tensor(fresh", "fresh = pl.create_tensor"),
    ):
        [number] = [n for n, line in enumerate(lines, 1) if part in line]
        assert wanted in source[found.span(number).begin_line - 1]
    assert found.span(0).begin_line <= 0


def test_text_has_no_warnings(tmp_path: Path) -> None:
    """The text compiles without a warning."""
    toolchain = compiler()
    source = tmp_path / "main.cpp"
    source.write_text(text().code)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{INCLUDE}"]
    done = subprocess.run(
        [*toolchain.command, *flags, str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_stands_for_an_operator_is_one_operand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference passed to a function is in parentheses, although the function needs none."""

    def one_less(a: Expr) -> Expr:
        return binary(Sub, a, 1)

    monkeypatch.setitem(DECOMPOSED, Abs, one_less)
    n = Var("n", scalar_type(pl.INT64))
    assert HostScalars(lambda _: "n").text(binary(Mul, 2, unary(Abs, n))) == "2 * (n - 1)"
