"""Results that nothing reads: what `unused_results` reports, and what it does not."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto._src.diagnostics import DiagnosticSeverity, render
from pypto._src.ir.stmts import Program
from pypto._src.lint.unused_results import unused_results

HEAD = """\
@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[16, 32], pl.FP32],
        n: pl.INT64,
        counts: pl.Tensor[[4], pl.INT32],
        out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ):
        tile = pl.load(x, [0, 0], [16, 32])
        out = pl.store(tile, [0, 0], [16, 32], out)
"""


def findings(body: str) -> list[str]:
    """Return the messages about a kernel with the body ``body``."""
    text = HEAD + "".join(f"        {line}\n" for line in body.splitlines())
    program = pl.parse(text)
    assert isinstance(program, Program)
    return [found.message for found in unused_results(program)]


def test_text() -> None:
    """The whole report: variable, op, location, and what to type."""
    program = pl.parse(HEAD + "        floor = pl.full([16, 32], pl.FP32, 0.0)\n", "kernels.py")
    assert isinstance(program, Program)
    [found] = unused_results(program)
    assert found.severity is DiagnosticSeverity.Warning
    assert render(found) == (
        "warning: 'floor' is assigned the value of pl.full, and nothing reads it  "
        "[unused-variable]\n"
        "  --> kernels.py:13:9\n"
        "   |\n"
        "13 |         floor = pl.full([16, 32], pl.FP32, 0.0)\n"
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = hint: delete the line, or name it _floor"
    )


@pytest.mark.parametrize(
    ("body", "names"),
    [
        pytest.param("a = pl.exp(tile)\nb = pl.neg(tile)", ["a", "b"], id="two"),
        pytest.param("a = pl.exp(tile)\na = pl.neg(tile)", ["a"], id="assigned twice"),
        pytest.param("for i in pl.range(4):\n    a = pl.exp(tile)", ["a"], id="in a loop"),
        pytest.param(
            "if n > 0:\n    a = pl.exp(tile)\nelse:\n    a = pl.neg(tile)", ["a"], id="in branches"
        ),
        pytest.param("a = pl.row_max(tile)", ["a"], id="a written scratch tile is no effect"),
        pytest.param("c = pl.tensor.read(counts, [0])", ["c"], id="scalar"),
    ],
)
def test_reported(body: str, names: list[str]) -> None:
    """One finding per variable, wherever it is assigned."""
    assert [message.split("'")[1] for message in findings(body)] == names


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("_a = pl.exp(tile)", id="underscore"),
        pytest.param("for i in pl.range(4):\n    pass", id="loop variable"),
        pytest.param("done = pl.store(tile, [0, 0], [16, 32], out)", id="store"),
        pytest.param(
            "for i, (a,) in pl.range(4, init_values=(tile,)):\n"
            "    b = pl.exp(a)\n"
            "    a = pl.yield_(b)",
            id="yield",
        ),
        pytest.param("m = n + 1", id="no op"),
        pytest.param(
            "c = pl.tensor.read(counts, [0])\n"
            "_t = pl.load(x, [0, 0], [16, 32], valid_shapes=[16, c])",
            id="valid size",
        ),
        pytest.param("a = pl.exp(tile)\nreturn pl.store(a, [0, 0], [16, 32], out)", id="read"),
    ],
)
def test_left_alone(body: str) -> None:
    """Read in any way, called for its effect, or named as deliberately unused."""
    assert findings(body) == []


def test_function_calls() -> None:
    """The effects of another function are unknown: its result may stay unread."""
    program = pl.parse(
        HEAD
        + """
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[16, 32], pl.FP32],
        counts: pl.Tensor[[4], pl.INT32],
        out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ) -> pl.Tensor[[16, 32], pl.FP32]:
        done = self.copy(x, out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def copy(
        self, x: pl.Tensor[[16, 32], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]
    ) -> pl.Tensor[[16, 32], pl.FP32]:
        return pl.store(pl.load(x, [0, 0], [16, 32]), [0, 0], [16, 32], out)
"""
    )
    assert isinstance(program, Program)
    assert unused_results(program) == []


def test_accumulator_in_another_memory() -> None:
    """An accumulator that a region keeps in vector memory is the one that the user created."""

    @pl.jit
    def product(
        x: pl.Tensor[[16, 64], pl.FP32],
        w: pl.Tensor[[64, 32], pl.FP32],
        y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
        s: pl.Out[pl.Tensor[[16, 1], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            acc = pl.create_tensor([16, 32], dtype=pl.FP32)
            total = pl.full([16, 1], dtype=pl.FP32, value=0.0)
            for k in pl.range(0, 64, 16):
                part = x[:, k : k + 16]
                total = pl.add(total, pl.row_sum(part))
                acc = pl.matmul_acc(acc, part, w[k : k + 16, :], init_cond=k == 0)
            y[:] = acc
            s[:] = total
        return y, s

    program = product.parse()
    assert isinstance(program, Program)
    assert unused_results(program) == []
