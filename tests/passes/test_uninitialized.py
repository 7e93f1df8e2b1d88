"""Reads of uninitialized data, and outputs never written: what is found, and what is not."""

from __future__ import annotations

import re
import textwrap
from random import Random

import pytest

import pypto.language as pl
from pypto import passes
from pypto._src.analysis.interval_sets import missing, repeated, shifted, union
from pypto._src.commands import example_cases
from pypto._src.diagnostics import Diagnostic, render
from pypto._src.ir.exprs import ConstBool
from pypto._src.ir.stmts import IfStmt, Program, Stmt
from pypto._src.lint.uninitialized import check_uninitialized
from tests import effort
from tests.passes.heads import KERNEL, program_of
from tests.passes.uninitialized_mutants import drawn, mutants, random_program, reads_poison, verdict
from tests.properties.launches import random_launches
from tests.properties.tensor_programs import random_tensor_source

HOST = """\
@pl.program
class Launches:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(
        self, x: pl.Tensor[[64, 32], pl.FP32], out: pl.Out[pl.Tensor[[64, 32], pl.FP32]]
    ):
        out = pl.store(pl.load(x, [0, 0], [64, 32]), [0, 0], [64, 32], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def rows(
        self,
        i: pl.INT64,
        x: pl.Tensor[[64, 32], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    ):
        out = pl.store(pl.load(x, [i, 0], [16, 32]), [i, 0], [16, 32], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def more(
        self, x: pl.Tensor[[64, 32], pl.FP32], sums: pl.InOut[pl.Tensor[[64, 32], pl.FP32]]
    ):
        for i in pl.range(4):
            a = pl.load(sums, [i * 16, 0], [16, 32])
            b = pl.load(x, [i * 16, 0], [16, 32])
            sums = pl.store(pl.add(a, b), [i * 16, 0], [16, 32], sums)
        return sums

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[64, 32], pl.FP32],
        flat: pl.InOut[pl.Tensor[[1, 2048], pl.FP32]],
        out: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    ):
"""
WHOLE = "out = pl.store(pl.load(x, [0, 0], [64, 32]), [0, 0], [64, 32], out)"


def findings(head: str, body: str) -> list[Diagnostic]:
    """Return the findings in a program whose last function has the body ``body``."""
    return check_uninitialized(program_of(head, body))


def messages(head: str, body: str) -> list[str]:
    """Return rule and message of each finding."""
    return [f"{found.rule_name}: {found.message}" for found in findings(head, body)]


def test_text_of_a_tile() -> None:
    """The whole report: what reads the tile, where it is created, and what would initialize it."""
    [found] = findings(KERNEL, f"t = pl.create_tile([64, 32], pl.FP32)\nu = pl.exp(t)\n{WHOLE}")
    assert render(found) == (
        "error: pl.exp reads t, which is uninitialized  [uninitialized-tile]\n"
        "  --> kernels.py:11:13\n"
        "   |\n"
        "11 |         u = pl.exp(t)\n"
        "   |             ^^^^^^^^^\n"
        "10 |         t = pl.create_tile([64, 32], pl.FP32)\n"
        "   |             --------------------------------- t is made here and has no value yet\n"
        "   = hint: pl.full([64, 32], pl.FP32, 0.0)"
    )


def test_tile_that_parts_are_put_into() -> None:
    """Nothing is reported for a region's scratch filled by parts, but for an unfilled one."""

    @pl.jit
    def filled(x: pl.Tensor[[24, 32], pl.FP32], o: pl.Out[pl.Tensor[[24, 32], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            t = pl.create_tensor([24, 32], dtype=pl.FP32)
            for i in pl.range(0, 24, 4):
                t[i : i + 4, :] = pl.mul(x[i : i + 4, :], 2.0)
            o[:] = t
        return o

    @pl.jit
    def left(x: pl.Tensor[[24, 32], pl.FP32], o: pl.Out[pl.Tensor[[24, 32], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            t = pl.create_tensor([24, 32], dtype=pl.FP32)
            o[:] = pl.add(x, t)
        return o

    assert check_uninitialized(filled.parse()) == []
    [found] = check_uninitialized(left.parse())
    assert found.message == "pl.add reads t, which is uninitialized"


REGION = """\
@pl.program
class Regions:
    @pl.function
    def main(
        self,
        n: pl.INT64,
        x: pl.Tensor[[24, 32], pl.FP32],
        o: pl.Out[pl.Tensor[[24, 32], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            t = pl.create_tensor([24, 32], dtype=pl.FP32)
"""
PUT = "t[0:4, :] = x[0:4, :]\n"
LOOP = "for i in pl.range({}):\n    t[i : i + {}, :] = x[i : i + {}, :]\n"
ALL = LOOP.format("0, 24, 4", 4, 4)
STORED = "o[:] = t"
T = "uninitialized-tile: {} reads {}t, which is uninitialized"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(f"{ALL}{STORED}", [], id="all rows"),
        pytest.param(f"u = pl.add(t, x)\n{PUT}o[:] = pl.add(u, t)", [T.format("pl.add", "")],
                     id="read before a part"),
        pytest.param(f"u = pl.add(t, x)\n{ALL}o[:] = pl.add(u, t)", [T.format("pl.add", "")],
                     id="read before a loop that puts all rows"),
        pytest.param("for i in pl.range(0, 24, 4):\n    o[i : i + 4, :] = t[i : i + 4, :]\n"
                     "    t[i : i + 4, :] = x[i : i + 4, :]", [T.format("pl.store", "")],
                     id="read in the loop that puts"),
        pytest.param(f"{PUT}{STORED}", [T.format("pl.store", "4:24 in dimension 0 of ")],
                     id="four rows"),
        pytest.param(f"{LOOP.format('4, 24, 4', 4, 4)}{STORED}",
                     [T.format("pl.store", "0:4 in dimension 0 of ")], id="not the first rows"),
        pytest.param(f"{LOOP.format('20, -1, -4', 4, 4)}{STORED}", [], id="backwards"),
        pytest.param(f"{LOOP.format('0, n, 4', 4, 4)}{STORED}", [], id="rows that are not known"),
        pytest.param("t[n : n + 4, :] = x[0:4, :]\no[:] = t", [], id="place not known"),
        pytest.param("t[:, 0:16] = x[:, 0:16]\nt[:, 16:32] = x[:, 16:32]\no[:] = t", [],
                     id="two halves"),
        pytest.param("t[:, 0:16] = x[:, 0:16]\nt[0:4, :] = x[0:4, :]\no[:] = t", [],
                     id="parts that leave out neither a row nor a column"),
        pytest.param("t[:, 0:16] = x[:, 0:16]\nt[:, 8:24] = x[:, 8:24]\no[:] = t",
                     [T.format("pl.store", "24:32 in dimension 1 of ")], id="columns"),
        pytest.param(f"{PUT}o[:] = x\no[0:4, :] = t[0:4, :]", [], id="only the part is read"),
        pytest.param(f"{PUT}o[:] = x\no[0:4, 0:8] = t[0:4, 1:9]", [],
                     id="a part of the part is read"),
        pytest.param("if n > 0:\n    t[0:12, :] = x[0:12, :]\nelse:\n"
                     "    t[0:24, :] = x[0:24, :]\no[:] = t", [], id="in branches"),
        pytest.param("if n > 0:\n    t[0:12, :] = x[0:12, :]\no[:] = t",
                     [T.format("pl.store", "") + " where a condition does not hold"],
                     id="in one branch"),
        pytest.param("if n > 0:\n    t[0:12, :] = x[0:12, :]\nelse:\n"
                     "    t[8:16, :] = x[8:16, :]\no[:] = t",
                     [T.format("pl.store", "16:24 in dimension 0 of ")], id="too few in branches"),
        pytest.param(f"{PUT}u = pl.add(t, x)\npl.write(t, [5, 0], 1.0)\no[:] = u", [],
                     id="elements are written as well"),
        pytest.param(f"{PUT}if n > 0:\n    t = x[:]\no[:] = t", [], id="replaced in a branch"),
        pytest.param(f"{PUT}u = pl.full([24, 32], pl.FP32, 0.0)\nu[0:4, :] = t[0:4, :]\n"
                     "o[:] = u", [], id="put into a filled tile"),
        pytest.param("u = pl.create_tensor([24, 32], dtype=pl.FP32)\n"
                     "for i in pl.range(0, 24, 4):\n    u[i : i + 4, :] = x[i : i + 4, :]\n"
                     "    t[i : i + 4, :] = u[i : i + 4, :]\no[:] = t", [], id="two tiles"),
        pytest.param("for j in pl.range(2):\n    for i in pl.range(0, 12, 4):\n"
                     "        t[j * 12 + i : j * 12 + i + 4, :] = x[0:4, :]\no[:] = t", [],
                     id="two loops"),
        pytest.param(f"{PUT}u = pl.exp(pl.mul(t, 0.5))\no[:] = x\no[0:4, :] = u[0:4, :]", [],
                     id="a padded tile"),
        pytest.param(f"{PUT}o[:] = x\nfor i in pl.range(2):\n    if i > 5:\n        o[:] = t", [],
                     id="stored in iterations that there are not"),
        pytest.param(f"{PUT}o[:] = x\nfor i in pl.range(2):\n    if i < 2:\n"
                     "        o[0:4, :] = t[0:4, :]\n    else:\n        o[:] = t", [],
                     id="stored in an arm that never runs"),
        pytest.param(f"{PUT}o[:] = x\ni = 0\nwhile i < 0:\n    i = i + 1\n    o[:] = t", [],
                     id="stored in a loop that never runs"),
        pytest.param(f"{PUT}for i in pl.range(2):\n    o[:] = t",
                     [T.format("pl.store", "4:24 in dimension 0 of ")], id="stored in a loop"),
    ],
)  # fmt: skip
def test_parts_of_tiles(body: str, wanted: list[str]) -> None:
    """Reads before the first part are found, and of a whole tile that no parts can fill."""
    assert messages(REGION, textwrap.indent(body, "    ")) == wanted


def test_text_of_a_way() -> None:
    """A path without a write is a warning, with the condition that decides it."""
    body = (
        "t = pl.create_tile([64, 32], pl.FP32)\n"
        "if n > 0:\n"
        "    t = pl.load(x, [0, 0], [64, 32])\n"
        "out = pl.store(t, [0, 0], [64, 32], out)"
    )
    [found] = findings(KERNEL, body)
    assert render(found) == (
        "warning: pl.store reads t, which is uninitialized where a condition does not hold  "
        "[uninitialized-tile]\n"
        "  --> kernels.py:13:15\n"
        "   |\n"
        "13 |         out = pl.store(t, [0, 0], [64, 32], out)\n"
        "   |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "10 |         t = pl.create_tile([64, 32], pl.FP32)\n"
        "   |             --------------------------------- t is made here and has no value yet\n"
        "11 |         if n > 0:\n"
        "   |            ----- the condition\n"
        "   = hint: pl.full([64, 32], pl.FP32, 0.0)"
    )


def test_text_of_a_lost_write() -> None:
    """Writes to a reshaped copy are lost; the report says how to keep them."""
    [found] = findings(HOST, "self.copy(x, pl.reshape(flat, [64, 32]))\nself.copy(x, out)")
    assert render(found) == (
        "error: what copy writes is lost: pl.reshape makes a new tensor, and nothing reads it "
        "afterwards  [lost-write]\n"
        "  --> kernels.py:38:9\n"
        "   |\n"
        "38 |         self.copy(x, pl.reshape(flat, [64, 32]))\n"
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "38 |         self.copy(x, pl.reshape(flat, [64, 32]))\n"
        "   |                      -------------------------- a copy, not flat itself\n"
        "   = hint: write to t = pl.create_tensor([64, 32], pl.FP32), and then pl.assemble(flat, "
        "pl.reshape(t, [1, 2048]), [0, 0])"
    )


MADE = "t = pl.create_tile([64, 32], pl.FP32)\n"
NEW = "t = pl.create_tensor([64, 32], pl.FP32)\n"
END = "self.copy(x, out)"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(f"{MADE}for i in pl.range(4):\n    t = pl.add(t, t)\n{WHOLE}",
                     ["uninitialized-tile: pl.add reads t, which is uninitialized"], id="carried"),
        pytest.param(f"{MADE}for i in pl.range(4):\n    if n > i:\n        t = pl.exp(t)\n{WHOLE}",
                     [], id="carried, in a branch"),
        pytest.param(f"{MADE}for i in pl.range(4):\n    if i == 0:\n"
                     "        t = pl.load(x, [0, 0], [64, 32])\n    else:\n"
                     f"        t = pl.exp(t)\n{WHOLE}", [], id="first iteration"),
        pytest.param(f"{MADE}for i in pl.range(4):\n    if i != 0:\n"
                     "        t = pl.load(x, [0, 0], [64, 32])\n    else:\n"
                     f"        t = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized"],
                     id="wrong iteration"),
        pytest.param(f"{MADE}if n > 0:\n    t = pl.load(x, [0, 0], [64, 32])\nif n <= 0:\n"
                     f"    t = pl.full([64, 32], pl.FP32, 0.0)\nu = pl.exp(t)\n{WHOLE}",
                     [], id="two conditions"),
        pytest.param(f"{MADE}for i in pl.range(1, n):\n    if i * 2 <= 5:\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     [], id="first iteration, by a multiple"),
        pytest.param(f"{MADE}for i in pl.range(1, n, 3):\n    if 9 - i * 4 < 5:\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized"],
                     id="wrong iteration, by a multiple"),
        pytest.param(f"{MADE}if n + 1 <= n:\n    u = pl.exp(t)\n{WHOLE}",
                     [], id="a branch that nothing takes"),
        pytest.param(f"{MADE}for i in pl.range(n):\n    if i + n == n + i + 1:\n"
                     f"        u = pl.exp(t)\n{WHOLE}",
                     [], id="a branch that no iteration takes"),
        pytest.param(f"{MADE}for i in pl.range(n, n):\n    u = pl.exp(t)\n"
                     f"if n > 0:\n    {WHOLE}\nelse:\n    {WHOLE}",
                     [], id="a loop that has no iterations"),
        pytest.param(f"{MADE}if n > 0:\n    t = pl.load(x, [0, 0], [64, 32])\nif n > 0:\n"
                     f"    u = pl.exp(t)\n{WHOLE}", [], id="the same condition twice"),
        pytest.param(f"{MADE}for i in pl.range(n):\n    t = pl.load(x, [0, 0], [64, 32])\n"
                     f"u = pl.exp(t)\n{WHOLE}", [], id="a loop that may not run"),
        pytest.param(f"{MADE}for i in pl.range(0):\n    t = pl.load(x, [0, 0], [64, 32])\n"
                     f"u = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized"],
                     id="a loop that does not run"),
        pytest.param(f"for i in pl.range(4):\n    {MADE}    if i == 0:\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized"],
                     id="written in the first iteration only"),
        pytest.param(f"for i in pl.range(1):\n    {MADE}    if i == 0:\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     [], id="written in the only iteration"),
        pytest.param(f"for i in pl.range(n):\n    {MADE}    if i == 0:\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     [], id="written in what may be the only iteration"),
        pytest.param(f"for i in pl.range(4):\n    {MADE}    if i == 0:\n"
                     "        t = pl.load(x, [0, 0], [64, 32])\n    if i == 0:\n"
                     f"        u = pl.exp(t)\n{WHOLE}", [], id="read in the first iteration only"),
        pytest.param(f"for i in pl.range(4):\n    {MADE}    if i < 2:\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized where i is 2"],
                     id="written in the first two iterations"),
        pytest.param(f"for i in pl.range(4):\n    {MADE}    for j in pl.range(i):\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized where i is 0"],
                     id="written in a loop that the first iteration leaves out"),
        pytest.param(f"for i in pl.range(4):\n    {MADE}    for j in pl.range(3 - i):\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized where i is 3"],
                     id="written in a loop that the last iteration leaves out"),
        pytest.param(f"for i in pl.range(4):\n    {MADE}    for j in pl.range(i + 1):\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     [], id="written in a loop that all iterations run"),
        pytest.param(f"t = pl.load(x, [0, 0], [64, 32])\nfor i in pl.range(4):\n"
                     f"    for j in pl.range(0, i - 2):\n        {MADE}    u = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized where i is 3"],
                     id="made anew in a loop that the last iteration runs"),
        pytest.param(f"for i in pl.range(4):\n    {MADE}    for j in pl.range(i, n):\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     [], id="written in a loop that is not known"),
        pytest.param(f"t = pl.load(x, [0, 0], [64, 32])\nfor k in pl.range(n):\n    u = pl.exp(t)\n"
                     "for i in pl.range(4):\n    for j in pl.range(0, i - 5):\n"
                     f"        {MADE}    u = pl.exp(t)\n{WHOLE}",
                     [], id="made anew in a loop that no iteration runs"),
        pytest.param(f"t = pl.load(x, [0, 0], [64, 32])\nfor i in pl.range(0):\n    {MADE}"
                     f"    u = pl.exp(t)\n{WHOLE}", [], id="read in a loop that does not run"),
        pytest.param(f"for i in pl.range(4):\n    {MADE}    if i % 2 == 0:\n"
                     f"        t = pl.load(x, [0, 0], [64, 32])\n    u = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized where i is 1"],
                     id="written in even iterations"),
        pytest.param(f"for i in pl.range(4):\n    for j in pl.range(2):\n        {MADE}"
                     "        if i == 0:\n            t = pl.load(x, [0, 0], [64, 32])\n"
                     f"        u = pl.exp(t)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized"],
                     id="written in the first iteration of an outer loop only"),
        pytest.param(f"for i in pl.range(4):\n    for j in pl.range(0, 1 - i):\n        {MADE}"
                     "        if i == 0:\n            t = pl.load(x, [0, 0], [64, 32])\n"
                     f"        u = pl.exp(t)\n{WHOLE}",
                     [], id="written in the only iteration in which an inner loop runs"),
        pytest.param(f"{MADE}for i in pl.range(4):\n    for j in pl.range(0, i):\n"
                     f"        u = pl.exp(t)\n    t = pl.load(x, [0, 0], [64, 32])\n{WHOLE}",
                     [], id="read in a loop that the first iteration leaves out"),
        pytest.param(f"{MADE}for i in pl.range(4):\n    k = 0\n    while k < i:\n"
                     "        u = pl.exp(t)\n        k = k + 1\n"
                     f"    t = pl.load(x, [0, 0], [64, 32])\n{WHOLE}",
                     [], id="read in a while loop that the first iteration leaves out"),
        pytest.param(f"{MADE}for i in pl.range(4):\n    for j in pl.range(i, 2):\n"
                     f"        u = pl.exp(t)\n    t = pl.load(x, [0, 0], [64, 32])\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized"],
                     id="read in a loop that the first iteration runs"),
        pytest.param(f"{MADE}for i in pl.range(4):\n    for j in pl.range(n):\n"
                     f"        u = pl.exp(t)\n    t = pl.load(x, [0, 0], [64, 32])\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized"],
                     id="read in a loop that runs in every iteration or in none"),
        pytest.param("t = pl.load(x, [0, 0], [64, 32])\nfor i in pl.range(4):\n"
                     f"    for j in pl.range(0, 1 - i):\n        u = pl.exp(t)\n    {MADE}{WHOLE}",
                     [], id="made anew behind a loop that later iterations leave out"),
        pytest.param(f"t = pl.load(x, [0, 0], [64, 32])\nfor i in pl.range(4):\n"
                     f"    u = pl.exp(t)\n    if n > 0:\n        {MADE}{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized where a "
                      "condition holds"], id="made anew on one path"),
        pytest.param(f"t = pl.load(x, [0, 0], [64, 32])\nfor i in pl.range(4):\n"
                     f"    u = pl.exp(t)\n    if i == 0:\n        {MADE}{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized"],
                     id="made anew in the first iteration"),
        pytest.param(f"t = pl.load(x, [0, 0], [64, 32])\nfor i in pl.range(4):\n"
                     f"    u = pl.exp(t)\n    if i == 3:\n        {MADE}{WHOLE}",
                     [], id="made anew in the last iteration"),
        pytest.param(f"t = pl.load(x, [0, 0], [64, 32])\nfor i in pl.range(4):\n"
                     f"    u = pl.exp(t)\n    if n > i:\n        {MADE}{WHOLE}",
                     [], id="made anew in iterations that are not known"),
        pytest.param(f"{MADE}v = pl.view(t, [16, 32], [0, 0])\nu = pl.exp(v)\n{WHOLE}",
                     ["uninitialized-tile: pl.exp reads t, which is uninitialized"], id="view"),
        pytest.param(f"{MADE}u = pl.row_max(pl.load(x, [0, 0], [64, 32]), t)\n{WHOLE}",
                     [], id="scratch"),
        pytest.param("out = pl.store(pl.load(x, [0, 0], [32, 32]), [32, 0], [32, 32], out)",
                     ["out-partly-written: output 'out' of kernel is written in part only: nothing "
                      "writes 0:32 in dimension 0"], id="half"),
        pytest.param("for i in pl.range(4):\n"
                     "    t = pl.load(x, [i * 16, 0], [16, 32])\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 32], out)", [], id="rows"),
        pytest.param("for i in pl.range(3, -1, -1):\n"
                     "    t = pl.load(x, [i * 16, 0], [16, 32])\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 32], out)", [], id="rows backwards"),
        pytest.param("for i in pl.range(4):\n"
                     "    t = pl.load(x, [i * 16, 0], [8, 32])\n"
                     "    out = pl.store(t, [i * 16, 0], [8, 32], out)",
                     ["out-partly-written: output 'out' of kernel is written in part only: nothing "
                      "writes 8:16 in dimension 0"], id="gaps"),
        pytest.param("for i in pl.range(4):\n"
                     "    t = pl.load(x, [i * 16, i * 8], [16, 8])\n"
                     "    out = pl.store(t, [i * 16, i * 8], [16, 8], out)",
                     ["out-partly-written: output 'out' of kernel is written in part only: at most "
                      "512 of its 2048 elements"], id="diagonal"),
        pytest.param("for i in pl.range(n):\n"
                     "    t = pl.load(x, [i * 16, 0], [16, 32])\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 32], out)", [], id="open bound"),
        pytest.param("k = pl.get_block_idx()\nt = pl.load(x, [k * 16, 0], [16, 32])\n"
                     "out = pl.store(t, [k * 16, 0], [16, 32], out)", [], id="by core"),
        pytest.param("t = pl.load(x, [n, 0], [16, 32])\n"
                     "out = pl.store(t, [n, 0], [16, 32], out)", [], id="the caller's part"),
        pytest.param(f"if n > 0:\n    {WHOLE}",
                     ["out-not-always-written: output 'out' of kernel is not written where a "
                      "condition does not hold"], id="on one path"),
        pytest.param(f"if n > 0:\n    {WHOLE}\nif n <= 0:\n    {WHOLE}", [], id="on two paths"),
        pytest.param(f"if n == 0:\n    {WHOLE}\nelif n == 1:\n    {WHOLE}",
                     ["out-not-always-written: output 'out' of kernel is not written where a "
                      "condition does not hold"], id="no else"),
        pytest.param(f"if n == 0:\n    {WHOLE}\nelse:\n    {WHOLE}", [], id="on both paths"),
        pytest.param(f"for i in pl.range(4):\n    if i == 3:\n        {WHOLE}", [], id="the last"),
        pytest.param(f"t = pl.load(out, [0, 0], [64, 32])\n{WHOLE}",
                     ["uninitialized-tensor: pl.load reads out, which is uninitialized"],
                     id="an output that is read"),
        pytest.param(f"{WHOLE}\nt = pl.load(out, [0, 0], [64, 32])", [], id="read afterwards"),
        pytest.param(f"{MADE}for i in pl.range(64):\n    for j in pl.range(32):\n"
                     f"        pl.write(t, [i, j], 1.0)\nu = pl.exp(t)\n{WHOLE}", [],
                     id="element by element"),
        pytest.param("half = pl.load(x, [0, 0], [64, 16])\n"
                     f"{MADE}t = pl.tile.scatter_mask(half, t, pl.tile.MaskPattern.P0101)\n"
                     "t = pl.tile.scatter_mask(half, t, pl.tile.MaskPattern.P1010)\n"
                     f"u = pl.exp(t)\n{WHOLE}", [], id="every other column"),
    ],
)  # fmt: skip
def test_kernels(body: str, wanted: list[str]) -> None:
    """Certain faults are found in a kernel, and nothing that may be right."""
    assert messages(KERNEL, body) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(f"{NEW}self.copy(t, out)",
                     ["uninitialized-tensor: copy reads t, which is uninitialized"], id="new"),
        pytest.param(f"{NEW}t = self.copy(x, t)\nself.copy(t, out)", [], id="written"),
        pytest.param(f"{NEW}self.more(x, t)\n{END}",
                     ["uninitialized-tensor: more reads t, which is uninitialized"], id="summed"),
        pytest.param(f"{NEW}for i in pl.range(0, 48, 16):\n    t = self.rows(i, x, t)\n"
                     "self.copy(t, out)",
                     ["uninitialized-tensor: copy reads 48:64 in dimension 0 of t, which is "
                      "uninitialized"], id="rows missing"),
        pytest.param(f"{NEW}for i in pl.range(0, 64, 16):\n    t = self.rows(i, x, t)\n"
                     "self.copy(t, out)", [], id="all rows"),
        pytest.param("for i in pl.range(0, 48, 16):\n    out = self.rows(i, x, out)",
                     ["out-partly-written: output 'out' of main is written in part only: nothing "
                      "writes 48:64 in dimension 0"], id="output rows missing"),
        pytest.param("for i in pl.range(4):\n    out = self.rows(i * 16, x, out)", [], id="rows"),
        pytest.param("out = self.rows(n, x, out)", [], id="the caller's rows"),
        pytest.param(f"{NEW}for i in pl.range(4):\n    if i > 0:\n        self.more(t, out)\n"
                     f"    t = self.copy(x, t)\n{END}",
                     ["uninitialized-tensor: more reads [0:16, 0:32] of out, which is "
                      "uninitialized where i is 1"], id="an output that later iterations read"),
        pytest.param(f"{NEW}for i in pl.range(4):\n    if i > 0:\n        self.copy(t, out)\n"
                     f"    t = self.copy(x, t)\n{END}", [], id="later iterations"),
        pytest.param("a = pl.create_tensor([64, 32], pl.FP32)\n"
                     "b = pl.create_tensor([64, 32], pl.FP32)\na = self.copy(x, a)\n"
                     "for i in pl.range(4):\n    b = self.copy(a, b)\n    a, b = b, a\n"
                     "out = self.copy(a, out)", [], id="swapped"),
        pytest.param("a = pl.create_tensor([64, 32], pl.FP32)\n"
                     "b = pl.create_tensor([64, 32], pl.FP32)\n"
                     "for i in pl.range(4):\n    b = self.copy(a, b)\n    a, b = b, a\n"
                     "out = self.copy(a, out)",
                     ["uninitialized-tensor: copy reads a, which is uninitialized"],
                     id="swapped, not written"),
        pytest.param(f"v = pl.view(out, [32, 32], [0, 0])\n{END}", [], id="view"),
        pytest.param(f"{NEW}{END}\nreturn t",
                     ["out-never-written: result 't' of main is never written"], id="result"),
        pytest.param("c = pl.reshape(flat, [64, 32])\nc = self.copy(x, c)\n"
                     "out = self.copy(c, out)", [], id="a copy that is read"),
        pytest.param(f"if n > 0:\n    {END}",
                     ["out-not-always-written: output 'out' of main is not written where a "
                      "condition does not hold"], id="on one path"),
    ],
)  # fmt: skip
def test_hosts(body: str, wanted: list[str]) -> None:
    """The same holds through calls, views and loops of a host function."""
    assert messages(HOST, body) == wanted


def examples() -> dict[str, example_cases.Case]:
    directory = example_cases.examples_directory()
    assert directory is not None
    return {case.name: case for case in example_cases.cases(directory)}


def test_examples_are_clean() -> None:
    """Nothing is reported for the examples, which are right."""
    assert [(name, check_uninitialized(case.program)) for name, case in examples().items()] == [
        (name, []) for name in examples()
    ]


@pytest.mark.parametrize("chunk", range(effort.count(2, thorough_run=4)))
def test_random_programs_are_clean(chunk: int) -> None:
    """Nothing is reported for programs that are right by construction."""
    for seed in range(chunk * 30, chunk * 30 + 30):
        assert check_uninitialized(random_program(seed)[0]) == [], seed
        for make in (random_launches, random_tensor_source):
            pick = Random(seed)
            program = pl.parse_program(make(pick.randrange, 4 + seed % 13))
            assert check_uninitialized(program) == [], (make, seed)


# Each of them writes a pl.InOut tensor, or one that a loop or branch may write as well.
ANOTHER_WRITE = {
    "flash_attention": ["accumulate", "finish", "largest", "out", "out", "total"],
    "llama_layer": ["p"],
    "paged_attention": ["largest_so_far"],
}


def test_stores_and_calls_of_examples_are_missed() -> None:
    """Each example without one store or call has a finding, except for `ANOTHER_WRITE`."""
    silent: dict[str, list[str]] = {}
    for name, case in examples().items():
        for mutant in mutants(case.program):
            if mutant.kind != "tile" and not mutant.findings:
                text = str(mutant.stmt)
                silent.setdefault(name, []).append(re.split(r"[:(]", text)[0])
    assert {name: sorted(found) for name, found in silent.items()} == ANOTHER_WRITE


MUTATED = ("elementwise", "layer_norm", "rmsnorm", "softmax", "top_k")


@pytest.mark.parametrize("name", effort.part(MUTATED, 2, first=1))
def test_mutants_of_examples(name: str) -> None:
    """An example without one write has a finding if and only if a strict run fails."""
    case = examples()[name]
    for mutant in mutants(case.program):
        assert bool(mutant.findings) == bool(verdict(case, mutant.program)), str(mutant.stmt)


@pytest.mark.parametrize("chunk", range(3))
def test_mutants_of_random_programs(chunk: int) -> None:
    """A finding for a random kernel without one write is true on some path through it."""
    reported = 0
    for seed in range(chunk * 8, chunk * 8 + 8):
        for mutant, kernel in drawn(seed, 3):
            if mutant.findings:
                reported += 1
                assert reads_poison(mutant.program, kernel), (seed, str(mutant.stmt))
    assert reported > 8


def test_deep_nesting() -> None:
    """Statements nested deeper than Python's recursion limit are checked too."""
    program = pl.parse(KERNEL + f"        {WHOLE}\n")
    assert isinstance(program, Program)
    [function] = program.functions_
    inner: Stmt = function.body
    for _ in range(1500):
        inner = IfStmt(ConstBool(True), inner, None)
    assert [found.rule_name for found in check_uninitialized(function.with_body(inner))] == []


def test_covers() -> None:
    """Sets of intervals: merged where adjacent, repeated with and without gaps, and missing."""
    assert union([((4, 6), (8, 9)), ((0, 4),), ((9, 9),)]) == ((0, 6), (8, 9))
    assert repeated(((0, 16),), 16, 4) == ((0, 64),)
    assert repeated(((0, 8),), 16, 3) == ((0, 8), (16, 24), (32, 40))
    assert repeated(((0, 8),), -16, 2) == ((-16, -8), (0, 8))
    assert repeated(((0, 2), (4, 6)), 8, 2) == ((0, 2), (4, 6), (8, 10), (12, 14))
    assert repeated(((0, 1),), 2, 10_000) == ((0, 19_999),)
    assert shifted(((0, 2), (4, 6)), -3) == ((-3, -1), (1, 3))
    assert missing((0, 8), ((0, 4), (6, 8))) == (4, 6)
    assert missing((2, 8), ((0, 4), (4, 9))) is None
    assert missing((0, 8), ()) == (0, 8)


def test_former_name() -> None:
    """The former name of the check still works."""
    assert passes.check_unwritten is passes.check_uninitialized
