"""Parallel loops with dependent iterations: what is found, and what is not."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto._src.commands import example_cases
from pypto._src.diagnostics import Diagnostic, render
from pypto._src.ir.stmts import Program
from pypto._src.lint.parallel_loops import check_parallel
from tests.passes.heads import KERNEL, program_of


def findings(body: str) -> list[Diagnostic]:
    """Return the findings in a kernel with the body ``body``."""
    return check_parallel(program_of(KERNEL, body))


def test_text() -> None:
    """The whole report: which accesses depend on each other, where, and which loop to use."""
    [found] = findings(
        "acc = pl.load(x, [0, 0], [16, 32])\n"
        "for i in pl.parallel(16, 64, 16):\n"
        "    acc = pl.add(acc, pl.load(x, [i, 0], [16, 32]))\n"
        "out = pl.store(acc, [0, 0], [16, 32], out)"
    )
    assert render(found) == (
        "error: the iterations of a parallel loop depend on each other: each uses the acc of "
        "the one before  [parallel-iterations]\n"
        "  --> kernels.py:11:9\n"
        "   |\n"
        "11 |         for i in pl.parallel(16, 64, 16):\n"
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "12 |             acc = pl.add(acc, pl.load(x, [i, 0], [16, 32]))\n"
        "   |                   ----------------------------------------- "
        "uses the value of an earlier iteration\n"
        "   = hint: write for i in pl.range(...)"
    )


def test_text_of_a_tensor() -> None:
    """A part of a tensor that all iterations write is reported where it is written."""
    [found] = findings(
        "for i in pl.parallel(4):\n"
        "    t = pl.load(x, [i * 16, 0], [16, 32])\n"
        "    out = pl.store(t, [i * 8, 0], [16, 32], out)"
    )
    assert render(found) == (
        "error: the iterations of a parallel loop depend on each other: each writes elements of "
        "out that others write  [parallel-iterations]\n"
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
                     "    out = pl.store(t, [0, 0], [16, 32], out)", [], id="one iteration"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    if i == 3:\n"
                     "        out = pl.store(t, [0, 0], [16, 32], out)", [], id="in one iteration"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    r = i % 2\n"
                     "    out = pl.store(t, [r * 16, 0], [16, 32], out)", [EACH], id="by parity"),
        pytest.param(f"{T}for i in pl.parallel(2):\n    r = i % 2\n"
                     "    out = pl.store(t, [r * 16, 0], [16, 32], out)", [], id="one by one"),
        pytest.param(f"{T}for i in pl.parallel(n):\n    r = i % 3\n"
                     "    out = pl.store(t, [r * 16, 0], [16, 32], out)",
                     [f"{EACH}, if there are 4 iterations or more"], id="remainder, open"),
        pytest.param(f"{T}for i in pl.parallel(4):\n"
                     "    out = pl.store(t, [i // 2 * 16, 0], [16, 32], out)", [EACH],
                     id="by halves"),
        pytest.param(f"{T}for i in pl.parallel(4):\n"
                     "    out = pl.store(t, [pl.min(i, 2) * 16, 0], [16, 32], out)", [EACH],
                     id="up to an end"),
        pytest.param(f"{T}for i in pl.parallel(200):\n    j = pl.min(i, 198)\n"
                     "    out = pl.store(pl.view(t, [1, 8], [0, 0]), [j // 4, j % 4 * 8], "
                     "[1, 8], out)", [EACH], id="up to a late end"),
        pytest.param(f"{T}for i in pl.parallel(200):\n"
                     "    out = pl.store(pl.view(t, [1, 8], [0, 0]), [i // 4, i % 4 * 8], "
                     "[1, 8], out)", [], id="rows and columns"),
        pytest.param(f"{T}for i in pl.parallel(4):\n"
                     "    out = pl.store(t, [pl.min(i * 16, 48), 0], [16, 32], out)", [],
                     id="an end that is not passed"),
        pytest.param(f"{T}for i in pl.parallel(2):\n"
                     "    out = pl.store(t, [i * n, 0], [16, 32], out)", [], id="an open stride"),
        pytest.param("for i in pl.parallel(2):\n    t = pl.load(out, [i * n + n, 0], [16, 32])\n"
                     "    out = pl.store(t, [i * n, 0], [16, 32], out)", [READ],
                     id="an open stride, the rows behind"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    for j in pl.range(2):\n"
                     "        out = pl.store(t, [i * 16 + j * 16, 0], [16, 32], out)", [EACH],
                     id="more rows than an iteration has"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    for j in pl.range(i):\n"
                     "        out = pl.store(t, [j * 16, 0], [16, 32], out)", [EACH],
                     id="triangle"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    for j in pl.range(n):\n"
                     "        out = pl.store(t, [j * 16, 0], [16, 32], out)", [EACH],
                     id="open bounds inside"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    for j in pl.range(i, n):\n"
                     "        out = pl.store(t, [j * 16, 0], [16, 32], out)", [],
                     id="bounds inside that iterations change"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    if n > 0:\n"
                     "        out = pl.store(t, [0, 0], [16, 32], out)", [EACH],
                     id="on one path"),
        pytest.param("for i in pl.parallel(4):\n    t = pl.load(x, [0, 0], [16, 32])\n"
                     "    if n > 0:\n        t = pl.load(out, [48, 0], [16, 32])\n    if n <= 0:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 32], out)", [],
                     id="on two paths that exclude each other"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    if i < n:\n"
                     "        out = pl.store(t, [0, 0], [16, 32], out)", [],
                     id="on paths that iterations decide"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    if i % 2 == 0:\n"
                     "        out = pl.store(t, [0, 0], [16, 32], out)", [EACH],
                     id="in each other iteration"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    k = 0\n    for j in pl.range(2):\n"
                     "        out = pl.store(t, [i * 16 + k, 0], [16, 32], out)\n        k = k + 8",
                     [EACH], id="a number that counts"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    k = i * 16\n    for j in pl.range(2):\n"
                     "        out = pl.store(pl.view(t, [8, 32], [0, 0]), [k, 0], [8, 32], out)\n"
                     "        k = k + 8", [], id="a number that counts inside"),
        pytest.param(f"{T}for i in pl.parallel(4):\n    for j in pl.range(4):\n"
                     "        if j > 0:\n            break\n"
                     "        out = pl.store(t, [i * 16 + j * 16, 0], [16, 32], out)", [],
                     id="left early"),
        pytest.param(f"{T}for i in pl.parallel(2):\n    for j in pl.range(2):\n"
                     "        out = pl.store(t, [i * 32 + j * 16, 0], [16, 32], out)", [],
                     id="nested"),
        pytest.param(f"{T}for i in pl.parallel(2):\n    for j in pl.range(i, i + 2):\n"
                     "        out = pl.store(t, [j * 16, 0], [16, 32], out)", [EACH],
                     id="a loop that each iteration moves"),
        pytest.param(f"{T}for i in pl.parallel(2):\n    for j in pl.range(4):\n"
                     "        out = pl.store(t, [j * 16, 0], [16, 32], out)", [EACH],
                     id="all of it in each iteration"),
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
    """Certain dependences are found, and nothing that may be right."""
    start = "the iterations of a parallel loop depend on each other: "
    assert [found.message.removeprefix(start) for found in findings(body)] == wanted


def test_examples_are_clean() -> None:
    """Nothing is reported for the examples' parallel loops."""
    directory = example_cases.examples_directory()
    assert directory is not None
    assert all(not check_parallel(case.program) for case in example_cases.cases(directory))


HOST = """\
@pl.program
class Launches:
    @pl.function(type=pl.FunctionType.InCore)
    def rows(
        self,
        i: pl.INT64,
        x: pl.Tensor[[64, 32], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    ):
        for j in pl.range(0, 32, 16):
            out = pl.store(pl.load(x, [i + j, 0], [16, 32]), [i + j, 0], [16, 32], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def more(
        self, x: pl.Tensor[[16, 32], pl.FP32], sums: pl.InOut[pl.Tensor[[16, 32], pl.FP32]]
    ):
        sums[:] = sums[:] + x[:]
        return sums

    @pl.function(type=pl.FunctionType.InCore)
    def either(
        self, i: pl.INT64, x: pl.Tensor[[16, 32], pl.FP32],
        y: pl.InOut[pl.Tensor[[16, 32], pl.FP32]],
    ):
        if i > 0:
            y[:] = x[:]
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def twice(
        self, i: pl.INT64, x: pl.Tensor[[64, 32], pl.FP32], y: pl.Out[pl.Tensor[[64, 32], pl.FP32]]
    ):
        self.rows(i * 2, x, y)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        acc: pl.InOut[pl.Tensor[[16, 32], pl.FP32]],
        out: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
    ):
"""
EACH2 = "each writes elements of acc that others write"
SUMS = "one writes elements of acc that others read"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param("for i in pl.parallel(0, 64, 32):\n    out = self.rows(i, x, out)", [],
                     id="rows"),
        pytest.param("for i in pl.parallel(0, 32, 8):\n    out = self.rows(i, x, out)", [EACH],
                     id="rows that meet"),
        pytest.param("for i in pl.parallel(0, 32, 16):\n    self.twice(i, x, out)", [],
                     id="two levels"),
        pytest.param("for i in pl.parallel(0, 32, 4):\n    self.twice(i, x, out)", [EACH],
                     id="two levels that meet"),
        pytest.param("for i in pl.parallel(0, 64, 16):\n"
                     "    acc = self.more(x[i : i + 16], acc)", [SUMS], id="a sum"),
        pytest.param("for i in pl.parallel(0, 64, 16):\n    self.more(x[i : i + 16], acc)",
                     [SUMS], id="a sum without a name"),
        pytest.param("for i in pl.range(0, 64, 16):\n    acc = self.more(x[i : i + 16], acc)",
                     [], id="in turn"),
        pytest.param("for i in pl.parallel(0, 64, 16):\n"
                     "    self.more(x[i : i + 16], out[i : i + 16])", [], id="views"),
        pytest.param("for i in pl.parallel(0, 48, 16):\n"
                     "    self.more(x[i : i + 16], out[i : i + 16])\n"
                     "    self.more(out[i + 16 : i + 32], out[i : i + 16])",
                     ["one writes elements of out that others read"], id="the rows behind"),
        pytest.param("for i in pl.parallel(4):\n    acc = self.either(i, x[0:16], acc)", [EACH2],
                     id="in a branch"),
        pytest.param("for i in pl.parallel(2):\n    acc = self.either(i, x[0:16], acc)", [],
                     id="in one iteration"),
        pytest.param("t = pl.create_tensor([16, 32], pl.FP32)\n"
                     "for i in pl.parallel(0, 64, 16):\n    t = self.more(x[i : i + 16], t)",
                     ["one writes elements of t that others read"], id="a tensor for all"),
        pytest.param("for i in pl.parallel(0, 64, 16):\n"
                     "    t = pl.create_tensor([16, 32], pl.FP32)\n"
                     "    t = self.more(x[i : i + 16], t)", [], id="a tensor each"),
    ],
)  # fmt: skip
def test_launches(body: str, wanted: list[str]) -> None:
    """What a function accesses in every call is found in loops that call it."""
    text = HOST + "".join(f"        {line}\n" for line in body.splitlines())
    program = pl.parse(text, "kernels.py")
    assert isinstance(program, Program)
    start = "the iterations of a parallel loop depend on each other: "
    assert [f.message.removeprefix(start) for f in check_parallel(program)] == wanted


DYNAMIC = """\
N = pl.dynamic("N")


@pl.program
class Dynamic:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[N, 64], pl.FP32], out: pl.Out[pl.Tensor[[N, 64], pl.FP32]]):
        for i in pl.parallel(4):
            out = pl.store(pl.load(x, [i * 16, 0], [16, 64]), [{at}, 0], [16, 64], out)
        return out
"""


def test_sizes_that_are_not_known() -> None:
    """Rows from an unknown start may or may not coincide, like any other rows."""
    [found] = check_parallel(pl.parse_program(DYNAMIC.format(at="N - 16")))
    assert found.message.endswith(EACH)
    assert check_parallel(pl.parse_program(DYNAMIC.format(at="N - 16 - i * 16"))) == []
    assert check_parallel(pl.parse_program(DYNAMIC.format(at="pl.min(N - 16, i * 16)"))) == []


def test_text_of_a_launch() -> None:
    """The report shows the call."""
    body = "for i in pl.parallel(0, 64, 16):\n    acc = self.more(x[i : i + 16], acc)\n"
    text = HOST + "".join(f"        {line}\n" for line in body.splitlines())
    program = pl.parse(text, "kernels.py")
    assert isinstance(program, Program)
    [found] = check_parallel(program)
    assert render(found) == (
        "error: the iterations of a parallel loop depend on each other: one writes elements of "
        "acc that others read  [parallel-iterations]\n"
        "  --> kernels.py:44:19\n"
        "   |\n"
        "44 |             acc = self.more(x[i : i + 16], acc)\n"
        "   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "44 |             acc = self.more(x[i : i + 16], acc)\n"
        "   |                   ----------------------------- the read\n"
        "   = hint: write for i in pl.range(...)"
    )


def test_iterations_that_add_to_one_region() -> None:
    """Sums may be accumulated in any order; stores or reads in between may not be reordered."""
    add = "    out = pl.store_add(t, [0, 0], [16, 32], out)\n"
    store = "    out = pl.store(t, [i * 16, 0], [16, 32], out)\n"
    assert findings(T + "for i in pl.parallel(4):\n" + add) == []
    assert len(findings(T + "for i in pl.parallel(4):\n" + store + add)) == 1
