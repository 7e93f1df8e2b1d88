"""Statements or calls nested beyond Python's recursion limit: all but the text works."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, passes, runtime
from pypto._src.errors import TextError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.traversal.mutator import substitute
from pypto._src.ir.traversal.recursion import nesting, with_room
from pypto._src.ir.verify.verifier import IRVerifier

DEPTH = 2000
INT64 = ir.ScalarType(ir.INT64)
SPAN = ir.Span.unknown()


def nested(kind: str, depth: int = DEPTH) -> ir.Program:
    """Return ``y = x; if x > 0: for i in range(x): ... y = y + 1``, ``depth`` statements deep."""
    x, y = ir.Var("x", INT64), ir.Var("y", INT64)
    zero, one = ir.ConstInt(0, ir.INT64, SPAN), ir.ConstInt(1, ir.INT64, SPAN)
    body: ir.Stmt = ir.AssignStmt(y, ir.Add(y, one, ir.INT64), SPAN)
    for level in range(depth):
        if kind == "if" or (kind == "both" and level % 2):
            body = ir.IfStmt(ir.Gt(x, zero, ir.DataType.BOOL), body, None, [], SPAN)
        else:
            index = ir.Var("i", INT64)
            body = ir.ForStmt(index, zero, x, one, [], body, [], SPAN)
    stmts = [ir.AssignStmt(y, x, SPAN), body, ir.ReturnStmt([y], SPAN)]
    function = ir.Function("f", [x], [INT64], ir.SeqStmts(stmts, SPAN), SPAN)
    return ir.Program([function], "P", SPAN)


def count(whole: ir.IRNode, kind: type[ir.IRNode]) -> int:
    return sum(isinstance(node, kind) for node in ir.walk(whole))


@pytest.mark.parametrize("kind", ["if", "for", "both"])
def test_nested(kind: str) -> None:
    """The walk, comparison, hash, verifier and serialisation see every level."""
    whole, other = nested(kind), nested(kind)
    assert count(whole, ir.IfStmt) + count(whole, ir.ForStmt) == DEPTH
    assert ir.structural_equal(whole, other)
    assert not ir.structural_equal(whole, nested(kind, DEPTH - 1))
    assert ir.structural_hash(whole) == ir.structural_hash(other)
    assert ir.structural_equal(ir.deserialize(ir.serialize(whole)), whole)
    names = [found.rule_name for found in IRVerifier.create_default().verify(whole)]
    assert names == ["SSAVerify"]  # y is assigned twice


@pytest.mark.parametrize("kind", ["if", "for", "both"])
def test_ssa(kind: str) -> None:
    """Every level passes on the new value, and Python's recursion limit is unchanged afterwards."""
    limit = sys.getrecursionlimit()
    whole = passes.convert_to_ssa()(nested(kind))
    assert sys.getrecursionlimit() == limit
    assert IRVerifier.create_default().verify(whole) == []
    assert count(whole, ir.YieldStmt) >= DEPTH


def test_substitution() -> None:
    """A use in every level is replaced."""
    function = nested("if").functions_[0]
    other = ir.Var("other", INT64)
    body = substitute(function.body, {function.params[0]: other})
    assert sum(node is other for node in ir.walk(body)) == DEPTH + 1


@pytest.mark.parametrize("kind", ["if", "for", "both"])
def test_evaluation(kind: str) -> None:
    """The interpreter runs every level once, and Python's recursion limit stays the same."""
    limit = sys.getrecursionlimit()
    evaluator = Evaluator(nested(kind))
    assert [evaluator.call("f", [n]) for n in (0, 1)] == [0, 2]
    assert sys.getrecursionlimit() == limit


def test_calls_in_calls() -> None:
    """A nested sum of 1,500 tiles has the same bits on the interpreter and in compiled C++."""
    text = f"""
import pypto.language as pl

@pl.program
class Sum:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [16, 64])
        u = {" + ".join(["t"] * 1500)}
        y = pl.store(u, [0, 0], [16, 64], y)
"""
    limit = sys.getrecursionlimit()
    program = pl.parse(text, "sum.py")
    assert isinstance(program, ir.Program)
    assert nesting(program) > 1500
    x = np.linspace(-1, 1, 1024, dtype=np.float32).reshape(16, 64)
    wanted = x.copy()
    for _ in range(1499):
        wanted += x
    for target in ("interpreter", "cpu"):
        y = np.zeros_like(x)
        runtime.compile(program, target=target)(x, y)
        np.testing.assert_array_equal(y, wanted)
    assert passes.check_uninitialized(program) == []
    assert sys.getrecursionlimit() == limit


def test_shared_calls() -> None:
    """The depth of calls is computed in linear time, even if each call is used twice."""
    value: ir.Expr = ir.Var("x", INT64)
    for _ in range(60):
        value = ir.Call(ir.Op("both"), [value, value], INT64)
    assert nesting(ir.EvalStmt(value)) == 60


def test_text_is_refused() -> None:
    """No Python parser could read such a text, so it is not printed."""
    with pytest.raises(TextError) as caught:
        str(nested("if"))
    assert str(caught.value).startswith("this Program nests too deeply to be printed")


def test_room_ends_with_the_action() -> None:
    """The limit is raised only while an action needs it, even if the action fails."""
    limit = sys.getrecursionlimit()
    seen: list[int] = []

    def fail() -> None:
        seen.append(sys.getrecursionlimit())
        raise RecursionError

    with pytest.raises(RecursionError):
        with_room(fail, nested("if", 100))
    assert seen[0] == limit < seen[1]
    assert sys.getrecursionlimit() == limit
