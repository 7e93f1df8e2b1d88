"""Small programs and variables shared by the tests of the IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto import ir
from pypto._src.ir.exprs import Expr

INT: ir.ScalarType = ir.ScalarType(ir.INT64)
BOOL: ir.ScalarType = ir.ScalarType(ir.BOOL)
FP32: ir.ScalarType = ir.ScalarType(ir.FP32)


def var(name: str, kind: ir.Type = INT) -> ir.Var:
    return ir.Var(name, kind)


def seq(*stmts: ir.Stmt) -> ir.SeqStmts:
    return ir.SeqStmts(stmts)


def assign(target: ir.Var, value: Any) -> ir.AssignStmt:
    return ir.AssignStmt(target, value)


def function(
    params: Sequence[Any], *stmts: ir.Stmt, name: str = "f", results: Sequence[ir.Type] = ()
) -> ir.Function:
    return ir.Function(name, params, results, seq(*stmts))


def program(*functions: ir.Function, name: str = "P") -> ir.Program:
    return ir.Program(functions, name)


def loop_sum(name: str = "sum", step: int = 1, body_name: str = "n") -> ir.Function:
    """Return ``n + ... + 0`` with a carried value; every name can be chosen."""
    n, i, start = var(body_name), var("i"), var("start")
    carried = ir.IterArg(name, INT, start)
    result = var(name)
    return function(
        [n],
        assign(start, 0),
        ir.ForStmt(i, 0, n, step, [carried], ir.YieldStmt([carried + i]), [result]),
        ir.ReturnStmt([result]),
        results=[INT],
    )


def kernel(scale: Expr | float = 2.0) -> ir.Function:
    """Return a kernel that loads a tile, scales it and stores it."""
    block = ir.op.block
    kind = ir.TensorType([64, 64], ir.FP16)
    x, out = ir.Var("x", kind), ir.Var("out", kind)
    tile = _let("tile", block.load(x, [0, 0], [64, 64]))
    scaled = _let("scaled", block.muls(tile.var, scale))
    stored = _let("stored", block.store(scaled.var, [0, 0], [64, 64], out))
    return ir.Function(
        "scale",
        [x, (out, ir.ParamDirection.Out)],
        [kind],
        seq(tile, scaled, stored, ir.ReturnStmt([stored.var])),
        type=ir.FunctionType.InCore,
    )


def _let(name: str, value: Any) -> ir.AssignStmt:
    return ir.AssignStmt(ir.Var(name, value.type), value)
