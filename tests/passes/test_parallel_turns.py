"""Parallel loops whose turns depend on each other: what is found, and what is not."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto._src import demo
from pypto._src.diagnostics import Diagnostic, render
from pypto._src.ir.stmts import Program
from pypto._src.passes.parallel_turns import check_parallel

HEAD = """\
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


def findings(body: str) -> list[Diagnostic]:
    """Return what is found in a kernel that goes on with ``body``."""
    text = HEAD + "".join(f"        {line}\n" for line in body.splitlines())
    program = pl.parse(text, "kernels.py")
    assert isinstance(program, Program)
    return check_parallel(program)


def test_text() -> None:
    """The whole report: what depends on what, where, and which loop is right."""
    [found] = findings(
        "acc = pl.load(x, [0, 0], [16, 32])\n"
        "for i in pl.parallel(16, 64, 16):\n"
        "    acc = pl.add(acc, pl.load(x, [i, 0], [16, 32]))\n"
        "out = pl.store(acc, [0, 0], [16, 32], out)"
    )
    assert render(found) == (
        "error: the turns of a parallel loop depend on each other: each uses the acc of the one "
        "before  [parallel-turns]\n"
        "  --> kernels.py:11:9\n"
        "   |\n"
        "11 |         for i in pl.parallel(16, 64, 16):\n"
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "12 |             acc = pl.add(acc, pl.load(x, [i, 0], [16, 32]))\n"
        "   |                   ----------------------------------------- what an earlier turn has "
        "made of it\n"
        "   = hint: write for i in pl.range(...)"
    )


def test_text_of_a_tensor() -> None:
    """A part of a tensor that all turns write is shown where it is written."""
    [found] = findings(
        "for i in pl.parallel(4):\n"
        "    t = pl.load(x, [i * 16, 0], [16, 32])\n"
        "    out = pl.store(t, [i * 8, 0], [16, 32], out)"
    )
    assert render(found) == (
        "error: the turns of a parallel loop depend on each other: each writes elements of out "
        "that others write  [parallel-turns]\n"
        "  --> kernels.py:12:19\n"
        "   |\n"
        "12 |             out = pl.store(t, [i * 8, 0], [16, 32], out)\n"
        "   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = hint: write for i in pl.range(...)"
    )


T = "t = pl.load(x, [0, 0], [16, 32])\n"
EACH = "each writes elements of out that others write"
OTHER = "one writes elements of out that others write"
READ = "one writes elements of out that others read"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(f"{T}for i in pl.parallel(4):\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 32], out)", [], id="rows"),
        pytest.param(f"{T}for i in pl.parallel(3, -1, -1):\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 32], out)", [], id="backwards"),
        pytest.param(f"{T}for i in pl.parallel(4):\n"
                     "    out = pl.store(t, [0, 0], [16, 32], out)", [EACH], id="one place"),
        pytest.param(f"{T}for i in pl.parallel(n):\n"
                     "    out = pl.store(t, [n, 0], [16, 32], out)", [EACH], id="open bounds"),
        pytest.param(f"{T}for i in pl.parallel(1):\n"
                     "    out = pl.store(t, [0, 0], [16, 32], out)", [], id="one turn"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    if i == 3:\n"
                     "        out = pl.store(t, [0, 0], [16, 32], out)", [], id="in one turn"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    r = i % 2\n"
                     "    out = pl.store(t, [r * 16, 0], [16, 32], out)", [], id="not known"),
        pytest.param(f"{T}for i in pl.parallel(2):\n    for j in pl.range(2):\n"
                     "        out = pl.store(t, [i * 32 + j * 16, 0], [16, 32], out)", [],
                     id="nested"),
        pytest.param(f"{T}for i in pl.parallel(2):\n    for j in pl.range(i, i + 2):\n"
                     "        out = pl.store(t, [j * 16, 0], [16, 32], out)", [],
                     id="a loop that may not run"),
        pytest.param(f"{T}for i in pl.parallel(2):\n    for j in pl.range(4):\n"
                     "        out = pl.store(t, [j * 16, 0], [16, 32], out)", [EACH],
                     id="all of it in each turn"),
        pytest.param(f"{T}for i in pl.range(2):\n    for j in pl.parallel(4):\n"
                     "        out = pl.store(t, [j * 16, 0], [16, 32], out)", [],
                     id="in another loop"),
        pytest.param(f"{T}for i in pl.parallel(0, 48, 16):\n"
                     "    out = pl.store(t, [i, 0], [16, 32], out)\n"
                     "    out = pl.store(t, [i + 16, 0], [16, 32], out)", [OTHER], id="next rows"),
        pytest.param("out = pl.store(pl.load(x, [0, 0], [64, 32]), [0, 0], [64, 32], out)\n"
                     "for i in pl.parallel(4):\n"
                     "    u = pl.exp(pl.load(out, [i * 16, 0], [16, 32]))\n"
                     "    out = pl.store(u, [i * 16, 0], [16, 32], out)", [], id="in place"),
        pytest.param("out = pl.store(pl.load(x, [0, 0], [64, 32]), [0, 0], [64, 32], out)\n"
                     "for i in pl.parallel(1, 4):\n"
                     "    u = pl.exp(pl.load(out, [i * 16 - 16, 0], [16, 32]))\n"
                     "    out = pl.store(u, [i * 16, 0], [16, 32], out)", [READ], id="row before"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    u = pl.exp(t)\n    t = pl.neg(u)\n"
                     "out = pl.store(t, [0, 0], [16, 32], out)",
                     ["each uses the t of the one before"], id="tile"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    t = pl.load(x, [i * 16, 0], [16, 32])\n"
                     "out = pl.store(t, [0, 0], [16, 32], out)",
                     ["the t of the last one is used"], id="last tile"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    t = pl.load(x, [i * 16, 0], [16, 32])\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 32], out)", [], id="a name again"),
        pytest.param(f"{T}k = 0\nfor i in pl.parallel(4):\n"
                     "    out = pl.store(t, [k, 0], [16, 32], out)\n    k = k + 16",
                     ["each uses the k of the one before"], id="number"),
        pytest.param(f"{T}for i, (a,) in pl.parallel(4, init_values=[t]):\n"
                     "    b = pl.exp(a)\n    a_out = pl.yield_(b)\n"
                     "out = pl.store(a_out, [0, 0], [16, 32], out)",
                     ["each uses the a_out of the one before"], id="init values"),
        pytest.param(f"{T}for i in pl.range(4):\n    t = pl.exp(t)\n"
                     "    out = pl.store(t, [0, 0], [16, 32], out)", [], id="in turn"),
    ],
)  # fmt: skip
def test_kernels(body: str, wanted: list[str]) -> None:
    """What is certain is found, and nothing that may be right."""
    start = "the turns of a parallel loop depend on each other: "
    assert [found.message.removeprefix(start) for found in findings(body)] == wanted


def test_examples_are_clean() -> None:
    """Nothing is said of the parallel loops of the examples."""
    directory = demo.examples_directory()
    assert directory is not None
    assert all(not check_parallel(case.program) for case in demo.cases(directory))
