"""Section 9 of the API: the printer's output.

Rows marked *ours* differ from the native module where its text cannot be parsed, loses digits, or
says nothing: the parts of a type are in brackets without names, floats have all their digits, an
empty body is ``pass``, rounding modes are words, an op keeps its full name.
"""

from __future__ import annotations

import ast
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import ParserSyntaxError
from tests.api.facts import Refused, Table, check, rows
from tests.ir.samples import BOOL, FP32, INT, assign, function, program, seq, var

a, b, n = var("a"), var("b"), var("n")
x, p, q = var("x", FP32), var("p", BOOL), var("q", BOOL)
pair = var("t", ir.TupleType([INT, FP32]))
tile = var("tile", ir.TileType([64, 64], ir.FP16))
tensor = var("x", ir.TensorType([64, 64], ir.FP32))
s = ir.IterArg("s", INT, a)
vec = ir.MemRef(ir.MemorySpace.Vec, 0, 16384, 3)
ddr = ir.MemRef(ir.MemorySpace.DDR, 4096, 256, 0)
i = var("i")


def callee(name: str, *calls: str, kind: ir.FunctionType = ir.FunctionType.Opaque) -> ir.Function:
    """Return a function that calls others."""
    made = [ir.EvalStmt(ir.Call(ir.GlobalVar(other), [])) for other in calls]
    return ir.Function(name, [], [], seq(*made), type=kind)


def lines(node: Any, *which: int) -> str:
    text = str(node).split("\n")
    return "\n".join([text[index] for index in which])


def order(*functions: ir.Function) -> str:
    """Return the names of a program's functions in printed order."""
    text = str(program(*functions))
    return " ".join([line.split()[1] for line in text.splitlines() if " def " in line])


def signature(params: list[Any], results: list[ir.Type], **extra: Any) -> str:
    return lines(ir.Function("f", params, results, ir.ReturnStmt(), **extra), 0, 1)


PROGRAMS: Table = {
    "python_print is str": (lambda: ir.python_print(a + b), "a + b"),
    "of a type": (lambda: ir.python_print(INT), "pl.Scalar[pl.INT64]"),
    "python_print_type": (lambda: ir.python_print_type(INT), "pl.Scalar[pl.INT64]"),
    "prefix": (lambda: ir.python_print(INT, prefix="ir"), "ir.Scalar[ir.INT64]"),
    "prefix by position": (lambda: ir.python_print(INT, "t"), "t.Scalar[t.INT64]"),
    "as_python": (lambda: a.as_python(), "a"),
    "as_python, prefix": (lambda: INT.as_python("t"), "t.Scalar[t.INT64]"),
    "first lines": (
        lambda: lines(program(callee("f"), name="my"), 0, 1, 2, 3, 4),
        "# pypto.program: my\nimport pypto.language as pl\n\n@pl.program\nclass my:",
    ),
    "no name": (lambda: lines(program(name=""), 0, 4), "# pypto.program: Program\nclass Program:"),
    "import of another prefix": (
        lambda: ir.python_print(program(), "ir").split("\n")[1],
        "from pypto import language as ir",
    ),
    "methods": (
        lambda: lines(program(callee("f"), callee("g")), 5, 6, 7, 8, 9, 10),
        "    @pl.function\n    def f(self):\n        pass\n"
        "    @pl.function\n    def g(self):\n        pass",
    ),
    "callees first": (
        lambda: order(callee("a", "c"), callee("b"), callee("c")),
        "c(self): a(self): b(self):",
    ),
    "name order on a cycle": (
        lambda: order(callee("a", "b"), callee("b", "a")),
        "b(self): a(self):",
    ),
    "no final newline": (lambda: str(program(callee("f")))[-1], "s"),
    "call in a program": (
        lambda: lines(program(callee("f", "g"), callee("g")), 10),
        "        self.g()",
    ),
    "call in a function": (lambda: lines(callee("f", "g"), 2), "    g()"),
    "function": (lambda: signature([], []), "@pl.function\ndef f():"),
    "InCore": (
        lambda: signature([], [], type=ir.FunctionType.InCore),
        "@pl.function(type=pl.FunctionType.InCore)\ndef f():",
    ),
    "Orchestration": (
        lambda: signature([], [], type=ir.FunctionType.Orchestration),
        "@pl.function(type=pl.FunctionType.Orchestration)\ndef f():",
    ),
    "directions": (
        lambda: signature([a, (x, ir.ParamDirection.Out), (p, ir.ParamDirection.InOut)], [INT]),
        "@pl.function\ndef f(a: pl.Scalar[pl.INT64], x: pl.Out[pl.Scalar[pl.FP32]], "
        "p: pl.InOut[pl.Scalar[pl.BOOL]]) -> pl.Scalar[pl.INT64]:",
    ),
    "several results": (
        lambda: signature([], [INT, FP32]).split("\n")[1],
        "def f() -> tuple[pl.Scalar[pl.INT64], pl.Scalar[pl.FP32]]:",
    ),
    "a yield that ends a function (ours)": (
        lambda: str(function([a], ir.YieldStmt([a]))).split("\n")[-1],
        "    pl.yield_(a)",
    ),
    "empty body (ours)": (lambda: str(function([])).split("\n")[-1], "    pass"),
    "entry (ours)": (
        lambda: lines(ir.Program([callee("f")], "P", entry="f"), 1),
        "# pypto.entry: f",
    ),
    "attribute (ours)": (
        lambda: lines(ir.Program([], "P", attrs={"sizes": {"M": 1}}), 1),
        "# pypto.attr: sizes = {'M': 1}",
    ),
}


@rows(PROGRAMS)
def test_programs_and_functions(make: Any, wanted: Any) -> None:
    """Section 9.1."""
    check(make, wanted)


def loop(args: list[ir.IterArg], results: list[ir.Var], body: ir.Stmt) -> ir.Stmt:
    return ir.ForStmt(i, 0, b, 2, args, body, results)


two = [ir.IterArg("u", INT, a), ir.IterArg("v", INT, b)]
outs = [var("u"), var("v")]
STATEMENTS: list[tuple[ir.Stmt, str]] = [
    (assign(n, a + 1), "n: pl.Scalar[pl.INT64] = a + 1"),
    (ir.EvalStmt(ir.Call(ir.Op("foo"), [a])), "foo(a)"),
    (ir.ReturnStmt([a, b]), "return a, b"),
    (ir.ReturnStmt(), "return"),
    (ir.YieldStmt([a, b]), "pl.yield_(a, b)"),
    (
        ir.IfStmt(p, ir.YieldStmt([a]), ir.YieldStmt([b]), [n]),
        "if p:\n    n: pl.Scalar[pl.INT64] = pl.yield_(a)\n"
        "else:\n    n: pl.Scalar[pl.INT64] = pl.yield_(b)",
    ),
    (
        ir.IfStmt(p, ir.YieldStmt([a, b]), ir.YieldStmt([b, a]), outs),
        "if p:\n    u, v = pl.yield_(a, b)\nelse:\n    u, v = pl.yield_(b, a)",
    ),
    (ir.IfStmt(p, ir.BreakStmt(), None), "if p:\n    break"),
    (
        ir.IfStmt(p, ir.BreakStmt(), ir.IfStmt(q, ir.ContinueStmt(), None)),
        "if p:\n    break\nelse:\n    if q:\n        continue",
    ),
    (loop([], [], ir.BreakStmt()), "for i in pl.range(0, b, 2):\n    break"),
    (
        ir.ForStmt(i, 0, b, 1, [], ir.ContinueStmt(), [], kind=ir.ForKind.Parallel),
        "for i in pl.parallel(0, b, 1):\n    continue",
    ),
    (
        loop([s], [var("s")], ir.YieldStmt([s + i])),
        "for i, (s,) in pl.range(0, b, 2, init_values=(a,)):\n"
        "    s: pl.Scalar[pl.INT64] = pl.yield_(s + i)",
    ),
    (
        loop(two, outs, ir.YieldStmt(list(reversed(two)))),
        "for i, (u, v) in pl.range(0, b, 2, init_values=(a, b)):\n    u, v = pl.yield_(v, u)",
    ),
    (ir.WhileStmt(a < b, [], ir.BreakStmt()), "while a < b:\n    break"),
    (
        ir.WhileStmt(s < b, [s], ir.YieldStmt([s + 1]), [var("s")]),
        "for (s,) in pl.while_(init_values=(a,)):\n    pl.cond(s < b)\n"
        "    s: pl.Scalar[pl.INT64] = pl.yield_(s + 1)",
    ),
    (
        ir.ScopeStmt(ir.ScopeKind.InCore, assign(n, a)),
        "with pl.incore():\n    n: pl.Scalar[pl.INT64] = a",
    ),
    (ir.BreakStmt(), "break"),
    (ir.ContinueStmt(), "continue"),
    (seq(ir.BreakStmt(), seq(ir.ContinueStmt())), "break\ncontinue"),
    (ir.OpStmts([assign(n, a)]), "n: pl.Scalar[pl.INT64] = a"),
]


@pytest.mark.parametrize(("node", "text"), STATEMENTS, ids=[text for _, text in STATEMENTS])
def test_statements(node: ir.Stmt, text: str) -> None:
    """Section 9.2."""
    assert str(node) == text
    indented = "\n".join(f"  {line}" for line in text.splitlines())
    ast.parse(f"while 1:\n{indented}" if "return" not in text else f"def f():\n{indented}")


def word(value: Any) -> str:
    """Return the printed value of a keyword."""
    return str(ir.Call(ir.Op("my.op"), [], {"k": value})).removeprefix("pl.my.op(k=")[:-1]


EXPRESSIONS: Table = {
    "Var": (lambda: str(a), "a"),
    "IterArg": (lambda: str(s), "s"),
    "MemRef": (lambda: str(vec), "mem_vec_3"),
    "ConstInt INT64": (lambda: str(ir.ConstInt(5, ir.INT64)), "5"),
    "ConstInt": (lambda: str(ir.ConstInt(5, ir.INT32)), "pl.const(5, pl.INT32)"),
    "ConstFloat FP32": (lambda: str(ir.ConstFloat(2.0)), "2.0"),
    "all digits (ours)": (lambda: str(ir.ConstFloat(1 / 3)), "0.3333333333333333"),
    "an exponent (ours)": (lambda: str(ir.ConstFloat(1e22)), "1e+22"),
    "ConstFloat": (lambda: str(ir.ConstFloat(0.5, ir.FP16)), "pl.const(0.5, pl.FP16)"),
    "infinity (ours)": (
        lambda: str(ir.ConstFloat(float("inf"))),
        'pl.const(float("inf"), pl.FP32)',
    ),
    "ConstBool": (lambda: str(ir.ConstBool(True)), "True"),
    "infix": (lambda: str((a + b) * 2 - a), "(a + b) * 2 - a"),
    "min": (lambda: str(ir.Min(a, b, ir.INT64)), "min(a, b)"),
    "max": (lambda: str(ir.Max(a, b, ir.INT64)), "max(a, b)"),
    "and": (lambda: str(ir.And(p, q, ir.BOOL)), "p and q"),
    "or": (lambda: str(ir.Or(p, q, ir.BOOL)), "p or q"),
    "xor (ours)": (lambda: str(ir.Xor(p, q, ir.BOOL)), "p ^ q"),
    "neg": (lambda: str(-a), "-a"),
    "bit not": (lambda: str(~a), "~a"),
    "not": (lambda: str(ir.Not(p, ir.BOOL)), "not p"),
    "abs": (lambda: str(ir.Abs(a, ir.INT64)), "abs(a)"),
    "cast": (lambda: str(ir.Cast(a, ir.FP16)), "pl.cast(a, pl.FP16)"),
    "MakeTuple": (lambda: str(ir.MakeTuple([a, b])), "[a, b]"),
    "TupleGetItemExpr": (lambda: str(ir.TupleGetItemExpr(pair, 0)), "t[0]"),
    "op": (lambda: str(ir.Call(ir.Op("my.op"), [a], {"k": 2})), "pl.my.op(a, k=2)"),
    "bare op": (lambda: str(ir.Call(ir.Op("foo"), [1])), "foo(1)"),
    "registered op": (lambda: str(ir.op.block.add(tile, tile)), "pl.block.add(tile, tile)"),
    "whole name (ours)": (
        lambda: str(ir.op.tensor.add_scalar(tensor, 2.0)),
        "pl.tensor.add_scalar(x, 2.0)",
    ),
    "str (ours: double quotes)": (lambda: word("plain"), '"plain"'),
    "bool": (lambda: word(True), "True"),
    "DataType": (lambda: word(ir.FP16), "pl.FP16"),
    "FP64 (ours)": (lambda: word(ir.DataType.FP64), "pl.DataType.FP64"),
    "MemorySpace": (lambda: word(ir.MemorySpace.Vec), "pl.MemorySpace.Vec"),
    "int": (lambda: word(-3), "-3"),
    "pipes": (
        lambda: str(ir.op.system.sync_src(set_pipe=1, wait_pipe=4, event_id=0)),
        "pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)",
    ),
}


@rows(EXPRESSIONS)
def test_expressions(make: Any, wanted: Any) -> None:
    """Section 9.3."""
    check(make, wanted)


VIEW = ir.TileView([64, n], [64, 1], 0, ir.col_major, ir.row_major, 1024, ir.TilePad.zero)
TYPES: Table = {
    "scalar": (lambda: str(INT), "pl.Scalar[pl.INT64]"),
    "tensor": (lambda: str(ir.TensorType([64, n], ir.FP32)), "pl.Tensor[[64, n], pl.FP32]"),
    "tensor with memory (ours)": (
        lambda: str(ir.TensorType([64], ir.FP32, ddr)),
        "pl.Tensor[[64], pl.FP32, pl.MemRef(pl.MemorySpace.DDR, 4096, 256, 0)]",
    ),
    "tensor with view (ours)": (
        lambda: str(ir.TensorType([4, 8], ir.FP32, tensor_view=ir.TensorView([8, 1], ir.DN))),
        "pl.Tensor[[4, 8], pl.FP32, pl.TensorView(stride=[8, 1], layout=pl.TensorLayout.DN)]",
    ),
    "tile": (lambda: str(ir.TileType([64, 64], ir.FP32)), "pl.Tile[[64, 64], pl.FP32]"),
    "tile with memory (ours)": (
        lambda: str(ir.TileType([64, 64], ir.FP32, vec)),
        "pl.Tile[[64, 64], pl.FP32, pl.MemRef(pl.MemorySpace.Vec, 0, 16384, 3)]",
    ),
    "tile with view (ours)": (
        lambda: str(ir.TileType([64, 64], ir.FP32, None, VIEW)),
        "pl.Tile[[64, 64], pl.FP32, pl.TileView(valid_shape=[64, n], stride=[64, 1], "
        "start_offset=0, blayout=pl.TileLayout.col_major, slayout=pl.TileLayout.row_major, "
        "fractal=1024, pad=pl.TilePad.zero)]",
    ),
    "defaults of a view (ours)": (
        lambda: str(ir.TileType([8], ir.FP32, None, ir.TileView())),
        "pl.Tile[[8], pl.FP32, pl.TileView()]",
    ),
    "tuple (ours: brackets)": (
        lambda: str(ir.TupleType([INT, FP32])),
        "pl.Tuple[[pl.Scalar[pl.INT64], pl.Scalar[pl.FP32]]]",
    ),
    "memory reference": (lambda: str(vec.type), "pl.MemRefType"),
    "unknown": (lambda: str(ir.UnknownType.get()), "pl.UnknownType"),
}


@rows(TYPES)
def test_types(make: Any, wanted: Any) -> None:
    """Section 9.4."""
    check(make, wanted)


READ: Table = {
    "type": (lambda: str(ir.parse("pl.Tile[[64, m], pl.FP16]")), "pl.Tile[[64, m], pl.FP16]"),
    "type, prefix": (lambda: str(ir.parse("t.Scalar[t.INT8]")), "pl.Scalar[pl.INT8]"),
    "view": (lambda: str(ir.parse("pl.TileView(fractal=1024)")), "pl.TileView(fractal=1024)"),
    "function": (lambda: str(ir.parse(str(callee("f", "g")))), str(callee("f", "g"))),
    "expression": (
        lambda: ir.parse("pl.const(1, pl.INT8)"),
        Refused(ParserSyntaxError, "not IR text"),
    ),
    "nothing": (lambda: ir.parse(""), Refused(ParserSyntaxError, "a type was wanted")),
    "source": (
        lambda: ir.parse("@pl.function\ndef f(n: pl.INT64):\n    return n"),
        Refused(ParserSyntaxError, "this is not IR text: a type was wanted"),
    ),
    "source with the mark": (
        lambda: str(pl.parse_program("# pypto.program: P\n@pl.program\nclass P:\n"
                             "    @pl.function\n    def f(self, n: pl.INT64):\n        m = n + 1\n"
                             "        return m\n").functions_[0]).split("\n")[2],
        "    m: pl.Scalar[pl.INT64] = n + 1",
    ),
}  # fmt: skip


@rows(READ)
def test_reading(make: Any, wanted: Any) -> None:
    """ir.parse reads what the printer writes; pl.parse reads kernels as well."""
    check(make, wanted)
