"""``pypto check`` of a program built without source text: its calls have no spans."""

from __future__ import annotations

from pypto import ir
from pypto._src.checks import check_program
from pypto._src.diagnostics import UNKNOWN_SPAN
from pypto._src.dtypes import DataType
from pypto._src.ir.stmts import Program


def outside() -> Program:
    """Return a program without spans whose last iteration loads past the end of two tensors."""
    at = UNKNOWN_SPAN
    short, whole = ir.TensorType([60, 64], DataType.FP32), ir.TensorType([64, 64], DataType.FP32)
    ib = ir.IRBuilder()
    with ib.function("rows", type=ir.FunctionType.InCore, span=at) as f:
        x, y = f.param("x", short, span=at), f.param("y", short, span=at)
        out = f.param("out", whole, direction=ir.ParamDirection.Out, span=at)
        f.return_type(whole)
        i = ib.var("i", ir.ScalarType(DataType.INT64), span=at)
        with ib.for_loop(i, 0, 8, 1, span=at):
            row = i * 8
            a = ib.let("a", ir.op.block.load(x, [row, 0], [8, 64], span=at), span=at)
            b = ib.let("b", ir.op.block.load(y, [row, 0], [8, 64], span=at), span=at)
            c = ib.let("c", ir.op.block.add(a, b, span=at), span=at)
            ib.let("s", ir.op.block.store(c, [row, 0], [8, 64], out, span=at), span=at)
        ib.return_stmt(out, span=at)
    return Program([f.get_result()], "Rows")


def test_findings_without_a_place() -> None:
    """Two calls without a span are two findings: only those with the same span are merged."""
    rules = next(check_program(outside()))
    assert [found.message for found in rules.findings] == [
        f"pl.load of [56:64, 0:64] is outside {name} [60, 64] where i is 7" for name in "xy"
    ]
