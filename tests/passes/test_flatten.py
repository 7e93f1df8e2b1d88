"""FlattenCallExpr, NormalizeStmtStructure, FlattenSingleStmt: text before and after, semantics."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given, settings

import pypto.language as pl
from pypto._src.errors import PassError
from pypto._src.ir.exprs import Call, Op, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    OpStmts,
    Program,
    ReturnStmt,
    SeqStmts,
    Stmt,
)
from pypto._src.ir.traversal.queries import exprs_in, stmts_in
from pypto._src.ir.traversal.walk import walk
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.flatten_call_expr import FlattenCallExpr
from pypto._src.passes.structure.flatten_single_stmt import FlattenSingleStmt
from pypto._src.passes.structure.normalize_stmt_structure import NormalizeStmtStructure
from tests import effort
from tests.passes.scalar_machine import run_program
from tests.passes.scalars import T, body_text, program, sources


def flattened(source: str, *, ssa: bool = False) -> str:
    before = program(dedent(source))
    [result] = FlattenCallExpr()(ConvertToSSA()(before) if ssa else before).functions_
    return body_text(result)


def lines(expected: str) -> str:
    return dedent(expected).strip("\n")


def test_calls_are_lifted_in_order_of_evaluation() -> None:
    """Nested operands are lifted before the statement, in order; the outermost call stays."""
    source = """
        def f(n):
            x = ext(ext(n) + 1, n)
            y = ext(x) + ext(2)
            ext(ext(y))
            return ext(x)
        """
    assert flattened(source) == lines("""
        _t0 = ext(n)
        x = ext(_t0 + 1, n)
        _t1 = ext(x)
        _t2 = ext(2)
        y = _t1 + _t2
        _t3 = ext(y)
        ext(_t3)
        _t4 = ext(x)
        return _t4
        """)


def test_calls_in_calls_of_any_depth() -> None:
    """A nested sum of 1,500 tiles becomes that many calls, the innermost first."""
    text = f"""
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def kernel(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    t = pl.load(x, [0, 0], [16, 64])
    u = {" + ".join(["t"] * 1500)}
    y = pl.store(u, [0, 0], [16, 64], y)
"""
    kernel = pl.parse(text, "sum.py")
    assert isinstance(kernel, Function)
    [result] = FlattenCallExpr()(ConvertToSSA()(Program([kernel], "Sum"))).functions_
    found = [line.partition(": ")[0::2] for line in body_text(result).splitlines()]
    sums = [(name, value.partition(" = ")[2]) for name, value in found[1:-1]]
    assert sums[:2] == [("_t0", "pl.block.add(t, t)"), ("_t1", "pl.block.add(_t0, t)")]
    assert sums[-1] == ("u", "pl.block.add(_t1497, t)")
    assert len(sums) == 1499


def test_conditions_and_bounds() -> None:
    """Calls in a condition or bound are placed directly before their statement, also in an elif."""
    source = """
        def f(n):
            if n < 1:
                ext(n)
            elif ext(n) < 2:
                ext(1)
            for i in range(ext(0), ext(n)):
                ext(i)
            return n
        """
    assert flattened(source) == lines("""
        if n < 1:
            ext(n)
        else:
            _t0 = ext(n)
            if _t0 < 2:
                ext(1)
        _t1 = ext(0)
        _t2 = ext(n)
        for i in pl.range(_t1, _t2, 1):
            ext(i)
        return n
        """)


def test_condition_of_while_is_evaluated_in_every_iteration() -> None:
    """The condition is carried; its calls precede the loop and end each iteration."""
    source = """
        def f(n):
            a = 0
            while ext(a) < n:
                a = a + 1
            return a
        """
    assert flattened(source, ssa=True) == lines("""
        a_0 = 0
        _t0 = ext(a_0)
        for (a_iter, _t1) in pl.while_(init_values=(a_0, _t0 < n)):
            pl.cond(_t1)
            a_1 = a_iter + 1
            _t2 = ext(a_1)
            a_2, _t3 = pl.yield_(a_1, _t2 < n)
        return a_2
        """)


def test_short_circuit_is_kept() -> None:
    """A call on the right of `and` or `or` is made only when the left side does not decide."""
    source = """
        def f(n):
            if n < 3 and ext(n) < 4:
                n = 1
            if n < 5 or ext(n) < 6:
                n = 2
            return n
        """
    assert flattened(source) == lines("""
        if n < 3:
            _t0 = ext(n)
            _t1: pl.Scalar[pl.BOOL] = pl.yield_(_t0 < 4)
        else:
            _t1: pl.Scalar[pl.BOOL] = pl.yield_(False)
        if _t1:
            n = 1
        if n < 5:
            _t3: pl.Scalar[pl.BOOL] = pl.yield_(True)
        else:
            _t2 = ext(n)
            _t3: pl.Scalar[pl.BOOL] = pl.yield_(_t2 < 6)
        if _t3:
            n = 2
        return n
        """)


def test_names_of_the_source_are_not_reused() -> None:
    """A second run, or a source that has `_t0`, gets different names."""
    source = """
        def f(n):
            _t0 = ext(ext(n))
            return _t0
        """
    assert flattened(source) == lines("""
        _t1 = ext(n)
        _t0 = ext(_t1)
        return _t0
        """)


def test_jump_in_a_while_with_calls() -> None:
    """Before SSA, a continue would skip the condition's calls: this is an error."""
    source = "def f(n):\n    while ext(n) < 3:\n        continue\n    return n"
    with pytest.raises(PassError, match="a jump would skip the calls") as caught:
        FlattenCallExpr()(program(source))
    assert caught.value.location.begin_line == 3
    assert caught.value.hint == "run convert_to_ssa() before"


@given(source=sources(calls=True))
@settings(max_examples=effort.count(50, thorough_run=150))
def test_meaning_and_calls_are_kept(source: str) -> None:
    """Random functions with calls everywhere make the same calls in the same order."""
    before = ConvertToSSA()(program(source))
    after = FlattenCallExpr()(before)
    for stmt in stmts_in(after.functions_[0].body):
        for expr in exprs_in(stmt):
            own = isinstance(stmt, AssignStmt | EvalStmt) and isinstance(expr, Call)
            calls = sum(isinstance(node, Call) for node in walk(expr))
            assert calls == (1 if own else 0)
    for args in ((0, 1), (3, 2), (-1, 5)):
        assert run_program(after, "f", args) == run_program(before, "f", args)


def let(name: str) -> AssignStmt:
    return AssignStmt(var=Var(name, T), value=Call(Op(name="ext"), [], type=T))


def test_normal_structure() -> None:
    """Every body is a SeqStmts; each run of operations is one OpStmts, across nested sequences."""
    a, b, c = let("a"), let("b"), let("c")
    loop = ForStmt(Var("i", T), 0, 4, 1, (), c, ())
    body = SeqStmts(stmts=(a, SeqStmts(stmts=(b, loop)), ReturnStmt([])))
    before = Program([Function("f", [], [], body)])
    after = NormalizeStmtStructure()(before)
    top = after.functions_[0].body
    assert isinstance(top, SeqStmts)
    run, new_loop, end = top.stmts
    assert isinstance(run, OpStmts)
    assert run.stmts == (a, b)
    assert isinstance(new_loop, ForStmt)
    assert isinstance(new_loop.body, SeqStmts)
    [inner] = new_loop.body.stmts
    assert isinstance(inner, OpStmts)
    assert inner.stmts == (c,)
    assert isinstance(end, ReturnStmt)
    assert NormalizeStmtStructure()(after) is after


def test_single_statements() -> None:
    """Sequences of one statement are replaced by it, from the inside out."""
    a, b = let("a"), let("b")
    loop = ForStmt(Var("i", T), 0, 4, 1, (), SeqStmts(stmts=(OpStmts(stmts=(a,)),)), ())
    pair = OpStmts(stmts=(a, b))
    body: Stmt = SeqStmts(stmts=(SeqStmts(stmts=(loop,)), pair))
    after = FlattenSingleStmt()(Program([Function("f", [], [], body)]))
    top = after.functions_[0].body
    assert isinstance(top, SeqStmts)
    new_loop, same = top.stmts
    assert isinstance(new_loop, ForStmt)
    assert new_loop.body is a
    assert same is pair
    assert FlattenSingleStmt()(after) is after
