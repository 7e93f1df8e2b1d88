"""Out-of-bounds and uninitialized accesses in loops, and correct programs next to them."""

from __future__ import annotations

from random import Random

import pytest

import pypto.language as pl
from pypto._src.analysis.box_sets import uncovered
from pypto._src.analysis.iteration_values import Values
from pypto._src.analysis.tensor_regions import TensorParts
from pypto._src.diagnostics import render
from pypto._src.dtypes import DataType
from pypto._src.ir.exprs import ConstBool, ConstInt, Expr, Gt, Or
from pypto._src.ir.stmts import Program
from pypto._src.lint.parallel_loops import check_parallel
from pypto._src.lint.uninitialized import check_uninitialized, in_flat_form
from tests.passes.heads import program_of
from tests.passes.test_iteration_accesses import body

KERNEL = """\
@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[60, 64], pl.FP32],
        n: pl.INT64,
        acc: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
"""
HOST = """\
@pl.program
class Launches:
    @pl.function(type=pl.FunctionType.InCore)
    def rows(
        self, i: pl.INT64, x: pl.Tensor[[60, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        for j in pl.range(2):
            t = pl.load(x, [i + j * 8, 0], [8, 64])
            out = pl.store(t, [i + j * 8, 0], [8, 64], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, n: pl.INT64, x: pl.Tensor[[60, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
"""


def messages(head: str, body: str) -> list[str]:
    """Return the findings, except bounds already covered by other findings on the same access."""
    whole = program_of(head, body)
    return [
        f"{f.rule_name}: {f.message}" for f in (*check_uninitialized(whole), *check_parallel(whole))
    ]


def test_text_of_a_region_outside() -> None:
    """The report says in which iteration, and how much of the tile is in bounds."""
    text = (
        "for i in pl.range(0, 64, 16):\n"
        "    t = pl.load(x, [i, 0], [16, 64])\n"
        "    out = pl.store(t, [i, 0], [16, 64], out)"
    )
    [found] = check_uninitialized(program_of(KERNEL, text))
    assert render(found) == (
        "error: pl.load of [48:64, 0:64] is outside x [60, 64] where i is 48  [out-of-bounds]\n"
        "  --> kernels.py:12:17\n"
        "   |\n"
        "12 |             t = pl.load(x, [i, 0], [16, 64])\n"
        "   |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "   = hint: valid_shapes=[pl.min(60 - i, 16), 64]"
    )


def test_text_of_a_region_outside_in_a_call() -> None:
    """The report shows where the function with these arguments is called."""
    [found] = check_uninitialized(
        program_of(HOST, "for k in pl.range(4):\n    out = self.rows(k * 16, x, out)")
    )
    assert render(found) == (
        "error: pl.load of [56:64, 0:64] is outside x [60, 64] where j is 1  [out-of-bounds]\n"
        "  --> kernels.py:9:17\n"
        "   |\n"
        " 9 |             t = pl.load(x, [i + j * 8, 0], [8, 64])\n"
        "   |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "19 |             out = self.rows(k * 16, x, out)\n"
        "   |                   ------------------------- called here, where k is 3\n"
        "   = hint: valid_shapes=[pl.min(60 - (i + j * 8), 8), 64]"
    )


ROW = "t = pl.full([16, 64], pl.FP32, 0.0)\n"
WHOLE = "w = pl.full([64, 64], pl.FP32, 0.0)\nout = pl.store(w, [0, 0], [64, 64], out)\n"
PIECE = "t = pl.full([16, 16], pl.FP32, 0.0)\n"
BLOCK = "t = pl.full([16, 32], pl.FP32, 0.0)\n"
PART = "out-partly-written: output 'out' of kernel is written in part only: nothing writes"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param(f"{PIECE}for i in pl.range(4):\n    for j in pl.range(i, 4):\n"
                     "        out = pl.store(t, [i * 16, j * 16], [16, 16], out)",
                     [f"{PART} [16:32, 0:16]"], id="one triangle"),
        pytest.param(f"{PIECE}for i in pl.range(4):\n    for j in pl.range(i, 4):\n"
                     "        out = pl.store(t, [i * 16, j * 16], [16, 16], out)\n"
                     "    for j in pl.range(i):\n"
                     "        out = pl.store(t, [i * 16, j * 16], [16, 16], out)", [],
                     id="two triangles"),
        pytest.param(f"{ROW}for i in pl.range(4):\n    if i % 2 == 0:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)",
                     [f"{PART} [16:32, 0:64]"], id="even iterations"),
        pytest.param(f"{ROW}for i in pl.range(4):\n    if i % 2 == 0:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)\n    else:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)", [],
                     id="even and odd iterations"),
        pytest.param(f"{ROW}for i in pl.range(4):\n    if i < 3:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)",
                     [f"{PART} [48:64, 0:64]"], id="not the last iteration"),
        pytest.param(f"{ROW}for i in pl.range(4):\n    if i < 3:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)\n"
                     "out = pl.store(t, [48, 0], [16, 64], out)", [], id="the last one apart"),
        pytest.param(f"{ROW}for i in pl.range(4):\n    if i < n:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)", [],
                     id="iterations that are not known"),
        pytest.param(f"{ROW}for i in pl.range(4):\n    if n > 0:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)\n    if n <= 0:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)", [],
                     id="two conditions"),
        pytest.param(f"{BLOCK}for k in pl.range(8):\n"
                     "    out = pl.store(t, [k % 4 * 16, k % 2 * 32], [16, 32], out)",
                     [f"{PART} [0:16, 32:64]"], id="a remainder too many"),
        pytest.param(f"{BLOCK}for k in pl.range(8):\n"
                     "    out = pl.store(t, [k // 2 * 16, k % 2 * 32], [16, 32], out)", [],
                     id="quotient and remainder"),
        pytest.param(f"{ROW}for i in pl.range(4):\n"
                     "    out = pl.store(t, [pl.min(i * 16, 32), 0], [16, 64], out)",
                     [f"{PART} [48:64, 0:64]"], id="an end too early"),
        pytest.param(f"{ROW}for i in pl.range(5):\n"
                     "    out = pl.store(t, [pl.min(i * 16, 48), 0], [16, 64], out)", [],
                     id="an end"),
        pytest.param(f"{ROW}for i in pl.range(n):\n"
                     "    acc = pl.store(t, [i * 16, 0], [16, 64], acc)\n"
                     "for i in pl.range(4):\n    if i % 2 == 0:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)",
                     [f"{PART} [16:32, 0:64]"], id="behind a loop that writes another tensor"),
        pytest.param(f"{ROW}for i in pl.range(n):\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 64], out)\n"
                     "for i in pl.range(4):\n    if i % 2 == 0:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)", [],
                     id="behind a loop that writes it"),
        pytest.param(f"{ROW}for i in pl.range(4):\n    if i < n:\n"
                     "        acc = pl.store(t, [i * 16, 0], [16, 64], acc)\n    if i < 2:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)",
                     [f"{PART} [32:64, 0:64]"], id="beside iterations that are not known"),
        pytest.param(f"{ROW}for i in pl.range(4):\n    if i < 2:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)\n"
                     "for i in pl.range(n):\n    if i > 2:\n        return out\n"
                     "for i in pl.range(2, 4):\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 64], out)", [],
                     id="behind a return"),
        pytest.param(f"{ROW}for i in pl.range(5):\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 64], out)",
                     ["out-of-bounds: pl.store of [64:80, 0:64] is outside out [64, 64] where i is "
                      "4"], id="past the end"),
        pytest.param(f"{ROW}for i in pl.range(4):\n"
                     "    out = pl.store(t, [i * 16 - 8, 0], [16, 64], out)",
                     ["out-of-bounds: pl.store of [-8:8, 0:64] is outside out [64, 64] where i "
                      "is 0",
                      f"{PART} 56:64 in dimension 0"], id="before the beginning"),
        pytest.param(f"{ROW}for i in pl.range(n):\n"
                     "    out = pl.store(t, [i * 16 + 64, 0], [16, 64], out)",
                     [], id="past the end if the loop runs"),
        pytest.param(f"{ROW}for i in pl.range(5):\n    if i * 16 + 16 <= 64:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)", [], id="kept inside"),
        pytest.param(f"{ROW}for i in pl.range(5):\n    if i < n:\n"
                     "        out = pl.store(t, [i * 16, 0], [16, 64], out)", [],
                     id="perhaps kept inside"),
        pytest.param(f"{ROW}for i in pl.range(8):\n    if i == 4:\n        break\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 64], out)", [], id="left early"),
        pytest.param("for i in pl.range(0, 60, 16):\n"
                     "    t = pl.load(x, [i, 0], [16, 64], valid_shapes=[pl.min(60 - i, 16), 64])\n"
                     "    out = pl.store(t, [i, 0], [16, 64], out)",
                     [f"{PART} [60:64, 0:64]"], id="the valid part"),
        pytest.param("for i in pl.range(0, 60, 16):\n"
                     "    t = pl.load(x, [i, 0], [16, 64], valid_shapes=[pl.min(60 - i, 8), 64])\n"
                     "    out = pl.store(t, [i, 0], [16, 64], out)",
                     [f"{PART} [8:16, 0:64]"], id="less than the valid part"),
        pytest.param("for i in pl.range(0, 60, 16):\n"
                     "    t = pl.load(x, [i, 0], [16, 64], valid_shapes=[pl.min(60 - i, 16), 64])\n"
                     "    out = pl.store(t, [i, 0], [16, 64], out)\n"
                     "out = pl.store(pl.full([4, 64], pl.FP32, 0.0), [60, 0], [4, 64], out)", [],
                     id="the valid part, and the rest"),
        pytest.param("for i in pl.range(4):\n    v = pl.view(x, [16, 64], [i * 16, 0])\n"
                     "    out = pl.store(pl.load(v, [0, 0], [16, 64]), [i * 16, 0], [16, 64], out)",
                     ["out-of-bounds: pl.view of [48:64, 0:64] is outside x [60, 64] where i is 3"],
                     id="a view"),
        pytest.param(f"{ROW}for i in pl.range(4):\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 64], out)\n    if i < 3:\n"
                     "        b = pl.load(out, [i * 16 + 16, 0], [16, 64])\n"
                     "        acc = pl.store(b, [i * 16, 0], [16, 64], acc)",
                     ["uninitialized-tensor: pl.load reads [16:32, 0:64] of out, which is "
                      "uninitialized where i is 0"], id="the rows ahead"),
        pytest.param(f"{ROW}for i in pl.range(4):\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 64], out)\n    if i > 0:\n"
                     "        b = pl.load(out, [i * 16 - 16, 0], [16, 64])\n"
                     "        acc = pl.store(b, [i * 16, 0], [16, 64], acc)", [],
                     id="the rows behind"),
        pytest.param(f"{ROW}for i in pl.range(3, -1, -1):\n"
                     "    out = pl.store(t, [i * 16, 0], [16, 64], out)\n    if i < 3:\n"
                     "        b = pl.load(out, [i * 16 + 16, 0], [16, 64])\n"
                     "        acc = pl.store(b, [i * 16, 0], [16, 64], acc)", [],
                     id="the rows ahead, backwards"),
        pytest.param(f"{WHOLE}for i in pl.range(300):\n"
                     "    b = pl.load(x, [i // 70 * 15, 0], [15, 64])\n"
                     "    acc = pl.store(b, [0, 0], [15, 64], acc)",
                     ["out-of-bounds: pl.load of [60:75, 0:64] is outside x [60, 64] where i is "
                      "280"], id="one of many iterations"),
        pytest.param(f"{WHOLE}for i in pl.range(3):\n    k = i + n\n"
                     + "    k = k // 2 + k % 5\n" * 500
                     + "    acc = pl.store(pl.load(x, [k, 0], [8, 64]), [k, 0], [8, 64], acc)",
                     [], id="many values, each of the last one"),
    ],
)  # fmt: skip
def test_kernels(body: str, wanted: list[str]) -> None:
    """Certain faults are found in a kernel, and nothing in the correct one next to it."""
    assert messages(KERNEL, body) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param("for i in pl.range(0, 48, 16):\n    out = self.rows(i, x, out)",
                     ["out-partly-written: output 'out' of main is written in part only: nothing "
                      "writes 48:64 in dimension 0"], id="rows missing"),
        pytest.param("for i in pl.range(5):\n    out = self.rows(pl.min(i * 16, 44), x, out)",
                     ["out-partly-written: output 'out' of main is written in part only: nothing "
                      "writes [60:64, 0:64]"], id="rows of the other tensor"),
        pytest.param("t = pl.create_tensor([64, 64], pl.FP32)\nfor i in pl.range(3):\n"
                     "    t = self.rows(i * 16, x, t)\n    out = self.rows(i * 16, t[4:64], out)\n"
                     "out = self.rows(44, x, out)",
                     ["uninitialized-tensor: rows reads [16:20, 0:64] of t, which is uninitialized "
                      "where i is 0",
                      "out-partly-written: output 'out' of main is written in part only: nothing "
                      "writes 60:64 in dimension 0"], id="rows ahead"),
    ],
)  # fmt: skip
def test_hosts(body: str, wanted: list[str]) -> None:
    """The same holds through calls."""
    assert messages(HOST, body) == wanted


DYNAMIC = """\
N = pl.dynamic("N")


@pl.program
class Dynamic:
    @pl.function(type=pl.FunctionType.InCore)
    def rows(self, x: pl.Tensor[[N, 64], pl.FP32], out: pl.Out[pl.Tensor[[N, 64], pl.FP32]]):
        for i in pl.range(0, N, 16):
            t = pl.load(x, [i, 0], [16, 64])
            out = pl.store(t, [i, 0], [16, 64], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[{size}, 64], pl.FP32], out: pl.Out[pl.Tensor[[{size}, 64], pl.FP32]]
    ):
        out = self.rows(x, out)
"""


def test_sizes_of_a_call() -> None:
    """Sizes that a kernel learns at run time are those of the tensors in the call."""
    for size in ("64", "N"):
        assert check_uninitialized(pl.parse_program(DYNAMIC.format(size=size))) == []
    found = check_uninitialized(pl.parse_program(DYNAMIC.format(size="60")))
    assert [(f.message, f.hint) for f in found] == [
        (
            "pl.load of [48:64, 0:64] is outside x [60, 64] where i is 48",
            "valid_shapes=[pl.min(N - i, 16), 64]",
        ),
        ("pl.store of [48:64, 0:64] is outside out [60, 64] where i is 48", None),
    ]


class Rows:
    """Stands in for the language: rows of ``out`` that are written, and what goes wrong."""

    range = range

    def __init__(self, size: int) -> None:
        self.size = size
        self.written: set[int] = set()
        self.outside = False
        self.uninitialized = False

    def load(self, tensor: str, at: list[int], size: list[int]) -> None:
        """Read rows."""
        self.outside |= at[0] < 0 or at[0] + size[0] > self.size
        rows = range(at[0], at[0] + size[0])
        self.uninitialized |= tensor == "out" and not self.written.issuperset(rows)

    def store(self, _: None, at: list[int], size: list[int], tensor: str) -> str:
        """Write rows."""
        self.outside |= at[0] < 0 or at[0] + size[0] > self.size
        if tensor == "out":
            self.written.update(range(at[0], at[0] + size[0]))
        return tensor


RANDOM = """\
@pl.program
class Kernels:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.InOut[pl.Tensor[[{size}, 32], pl.FP32]],
        out: pl.Out[pl.Tensor[[{size}, 32], pl.FP32]],
    ):
{lines}
"""


@pytest.mark.parametrize("chunk", range(4))
def test_random_loops(chunk: int) -> None:
    """The findings are those of Python running the same loops, and no others."""
    outcomes: set[str] = set()
    for seed in range(chunk * 50, chunk * 50 + 50):
        random = Random(seed)
        size, count = random.choice((64, 80, 96)), random.choice((3, 6, 9))
        inner = [f"    {line}" for line in body(random, ["i"], 0)]
        before = ["out = pl.store(pl.load(x, [0, 0], [8, 32]), [0, 0], [8, 32], out)"]
        lines = [*before, f"for i in pl.range({count}):", *inner]
        text = RANDOM.format(size=size, lines="\n".join(f"        {line}" for line in lines))
        rows = Rows(size)
        exec("\n".join(lines), {"pl": rows, "x": "x", "out": "out"})
        wanted: set[str] = set()
        if rows.outside:
            wanted.add("out-of-bounds")
        if rows.uninitialized:
            wanted.add("uninitialized-tensor")
        elif len(rows.written & {*range(size)}) < size:
            wanted.add("out-partly-written")
        program = pl.parse(text, "kernels.py")
        assert isinstance(program, Program)
        found = {f.rule_name for f in check_uninitialized(program)}
        assert found == wanted, (seed, text)
        outcomes.add(", ".join(sorted(wanted)))
    assert len(outcomes) > 3


def test_uncovered() -> None:
    """The first part of a box not covered by others, and none if together they cover it."""
    assert uncovered(((0, 4), (0, 4)), []) == ((0, 4), (0, 4))
    assert uncovered(((0, 4), (0, 4)), [((0, 2), (0, 4)), ((2, 4), (0, 3))]) == ((2, 4), (3, 4))
    assert uncovered(((0, 4), (0, 4)), [((0, 2), (0, 4)), ((1, 9), (-1, 4))]) is None
    assert uncovered(((2, 2), (0, 4)), []) is None


def test_a_condition_of_many_parts() -> None:
    """A condition that uses another one twice, repeatedly, is not expanded into all paths."""
    whole = in_flat_form(program_of(KERNEL, WHOLE))
    assert whole is not None
    [function] = whole.functions_
    iterations = TensorParts(function, {}).iterations
    values = Values(iterations.integers, lambda _: True)
    positive = Gt(function.params[1], ConstInt(0, DataType.INT64), DataType.BOOL)
    assert values.decide(Or(positive, ConstBool(True), DataType.BOOL), iterations.root) is True
    assert values.key(positive, iterations.root) is not None
    expr: Expr = positive
    for _ in range(60):
        expr = Or(expr, expr, DataType.BOOL)
    assert values.decide(expr, iterations.root) is None
    assert values.key(expr, iterations.root) is not None
    for _ in range(60):
        expr = Or(expr, expr, DataType.BOOL)
    assert values.key(expr, iterations.root) is None
