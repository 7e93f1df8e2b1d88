"""Calls inside kernels are expanded; calls of kernels by host functions stay."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

import pypto.language as pl
from pypto._src.dtypes import DataType
from pypto._src.errors import PassError, PyptoError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.exprs import Call, GlobalVar, Op, Var
from pypto._src.ir.stmts import AssignStmt, Function, Program, ReturnStmt
from pypto._src.ir.traversal.queries import functions_called, stmts_in
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.inline_calls import InlineCalls
from tests.passes.scalar_machine import opaque, run_program
from tests.passes.scalars import T, program, text

INCORE = FunctionType.InCore
TOO_MANY_ROWS = """
import pypto.language as pl

M = pl.dynamic("M")

@pl.program
class P:
    @pl.function
    def copied(self, x: pl.Tensor[[M, 64], pl.FP32], y: pl.Out[pl.Tensor[[M, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [64, 64], valid_shapes=[M, 64])
        y = pl.store(t, [0, 0], [64, 64], y)

    @pl.function(type=pl.FunctionType.InCore)
    def main(self, x: pl.Tensor[[100, 64], pl.FP32], y: pl.Out[pl.Tensor[[100, 64], pl.FP32]]):
        self.copied(x, y)
"""
HELPERS = """
    def clamp(x, low):
        if x < low:
            return low
        return x

    def both(x):
        x = x + 1
        return x, clamp(ext(x), 3)

    def f(n):
        a = clamp(n, 1) + clamp(2, n)
        b = both(a)
        x = b[0]
        for i in range(clamp(n, 2)):
            b = both(x)
            x = x + b[1]
        while clamp(x, 5) < 100:
            x = x + 50
        return x, b[0]
    """


def lines(expected: str) -> str:
    return dedent(expected).strip("\n")


def test_call_is_expanded() -> None:
    """The callee's statements are inlined into the kernel, with fresh variables."""
    source = """
        def g(x, y):
            t = x + y
            return t

        def f(n):
            t = g(n, n + 1)
            t = g(t, 2)
            return t
        """
    before = program(dedent(source), {"f": INCORE})
    [after] = ConvertToSSA()(before).functions_
    assert text(after) == lines("""
        @pl.function(type=pl.FunctionType.InCore)
        def f(n) -> pl.Scalar[pl.INT64]:
            y = n + 1
            t_0 = n + y
            t_1 = t_0
            t_2 = t_1 + 2
            t_3 = t_2
            return t_3
        """)


def test_meaning_is_kept() -> None:
    """Nested calls, several results, loops and early returns in callees give the same values."""
    before = program(dedent(HELPERS), {"f": INCORE})
    after = ConvertToSSA()(before)
    assert [function.name for function in after.functions_] == ["f"]
    for n in (-1, 0, 3, 7):
        assert run_program(after, "f", [n]) == run_python(n)


def run_python(n: int) -> tuple[tuple[int, int], list[tuple[str, int]]]:
    """Run HELPERS in Python, with the trace of `ext`."""
    trace: list[tuple[str, int]] = []

    def ext(x: int) -> int:
        trace.append(("ext", x))
        return opaque(x)

    scope: dict[str, Any] = {"ext": ext}
    exec(dedent(HELPERS), scope)
    return scope["f"](n), trace


def test_host_functions_keep_their_calls() -> None:
    """A host function launches kernels; its calls are neither dropped nor expanded."""
    source = """
        def kernel(x):
            return helper(x)

        def helper(x):
            return x + 1

        def main(n):
            return kernel(n)
        """
    kinds = {"kernel": INCORE, "main": FunctionType.Orchestration}
    before = program(dedent(source), kinds)
    after = InlineCalls()(before)
    assert [function.name for function in after.functions_] == ["kernel", "main"]
    assert after.get_function("main") is before.get_function("main")
    kernel = after.get_function("kernel")
    assert kernel is not None
    assert text(kernel).splitlines()[2:] == ["    _t0 = x + 1", "    return _t0"]


@pytest.mark.parametrize(
    "where",
    [
        "return g(n)",
        "return (n + 1) * g(n)",
        "return ext(ext(g(n)))",
        "return both(g(n))[1]",
        "if 3 < g(n):\n        n = 1\n    return n",
        "while n < g(3):\n        n = n + 1\n    return n",
        "for i in range(g(n)):\n        n = n + i\n    return n",
        "return " + "(" * 30 + "g(n)" + " + 1)" * 30,
    ],
)
def test_calls_are_seen_wherever_they_stand(where: str) -> None:
    """A kernel whose only call is deep in an expression, condition or bound has a call."""
    source = f"def both(x):\n    return x, x\ndef g(x):\n    return x + 5\ndef f(n):\n    {where}"
    after = ConvertToSSA()(program(source, {"f": INCORE}))
    [kernel] = [function for function in after.functions_ if function.name == "f"]
    assert functions_called(kernel) == []


def test_a_wrong_call_is_reported_before_what_is_wrong_with_names() -> None:
    """Calls are expanded first, also where an earlier function lacks an assignment."""
    source = """
        def a(n):
            if n < 1:
                x = 2
            return x

        def f(n):
            return f(n)
        """
    parts = program(dedent(source), {"a": INCORE, "f": INCORE})
    with pytest.raises(PassError, match="comes back to itself"):
        ConvertToSSA()(parts)


def test_program_without_calls_in_kernels_is_returned() -> None:
    """Nothing to expand: the same program object."""
    before = program("def f(n):\n    return n + 1", {"f": INCORE})
    assert InlineCalls()(before) is before


def test_entry_is_kept() -> None:
    """The program's entry function stays, even if it is also expanded elsewhere."""
    source = "def g(x):\n    return x\ndef f(n):\n    return g(n)"
    parts = program(source, {"f": INCORE})
    after = InlineCalls()(Program(parts.functions_, "p", entry="g"))
    assert [function.name for function in after.functions_] == ["f", "g"]


def test_tensors_are_handed_over_by_reference() -> None:
    """A tensor that the callee stores to is the caller's tensor."""
    kind = TensorType([64, 64], DataType.FP32)
    tile = TileType([64, 64], DataType.FP32)
    out, y = Var("out", kind), Var("y", tile)
    stored = Var("stored", kind)
    helper = Function(
        "helper",
        [y, out],
        [kind],
        [
            AssignStmt(var=stored, value=Call(Op(name="store"), [y, out], type=kind)),
            ReturnStmt([stored]),
        ],
        type=INCORE,
    )
    t, result, mine = Var("t", tile), Var("result", kind), Var("mine", kind)
    kernel = Function(
        "kernel",
        [mine],
        [kind],
        [
            AssignStmt(var=t, value=Call(Op(name="load"), [mine], type=tile)),
            AssignStmt(var=result, value=Call(GlobalVar(name="helper"), [t, mine], type=kind)),
            ReturnStmt([result]),
        ],
        type=INCORE,
    )
    [after] = InlineCalls()(Program([helper, kernel])).functions_
    store = list(stmts_in(after.body))[1]
    assert isinstance(store, AssignStmt)
    assert isinstance(store.value, Call)
    assert store.value.args == (t, mine)


def test_symbolic_dimensions_are_those_of_the_argument() -> None:
    """Inside the kernel, a dimension of the callee's parameter is the argument's."""
    rows = Var("rows", T)
    kind = TensorType([rows, 64], DataType.FP32)
    x, copy = Var("x", kind), Var("copy", kind)
    helper = Function("helper", [x], [kind], [AssignStmt(var=copy, value=x), ReturnStmt([copy])])
    fixed = TensorType([32, 64], DataType.FP32)
    mine, result = Var("mine", fixed), Var("result", fixed)
    call = Call(GlobalVar(name="helper"), [mine], type=fixed)
    kernel = Function(
        "kernel",
        [mine],
        [fixed],
        [AssignStmt(var=result, value=call), ReturnStmt([result])],
        type=INCORE,
    )
    [after] = InlineCalls()(Program([helper, kernel])).functions_
    first = next(iter(stmts_in(after.body)))
    assert isinstance(first, AssignStmt)
    assert first.var.name == "copy"
    assert first.var.type == fixed


def test_sizes_of_the_caller_that_an_op_refuses() -> None:
    """The error is located at the op whose valid size the argument's dimension cannot be."""
    with pytest.raises(PyptoError) as caught:
        InlineCalls()(pl.parse_program(TOO_MANY_ROWS))
    assert caught.value.message == "pl.load has 100 valid of 64 elements in dimension 0"
    assert TOO_MANY_ROWS.splitlines()[caught.value.location.begin_line - 1].startswith(
        "        t = "
    )


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        (
            """
            def f(n):
                return g(n)

            def g(n):
                return h(n)

            def h(n):
                return g(n)
            """,
            "the kernel 'f' contains a call that comes back to itself: g -> h -> g",
            8,
        ),
        (
            "def f(n):\n    return host(n)\ndef host(n):\n    return n",
            "the kernel 'f' calls 'host', which runs on the host",
            2,
        ),
        (
            "def f(n):\n    return g(n, n)\ndef g(n):\n    return n",
            "'g' takes 1 arguments, got 2",
            2,
        ),
    ],
)
def test_errors(source: str, message: str, line: int) -> None:
    """What cannot be expanded is reported at the call."""
    kinds = {"f": INCORE, "host": FunctionType.Orchestration}
    with pytest.raises(PassError) as caught:
        InlineCalls()(program(lines(source), kinds))
    assert caught.value.message == message
    assert caught.value.location.begin_line == line
