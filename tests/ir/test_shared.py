"""Expressions with shared parts: comparison and verification visit each object once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pypto import ir
from pypto._src.driver import compile_program
from pypto._src.errors import EvaluationError, PassError, TextError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.ssa.construct import to_ssa
from pypto._src.ir.traversal import common_parts
from pypto._src.ir.traversal.common_parts import endless
from pypto._src.ir.verify.verifier import IRVerifier
from pypto._src.passes.pass_manager import PassManager

DEPTH = 60  # doublings: 2**60 leaves when printed
SMALL = 13  # deep enough to be numbered, small enough to be expanded
INT64 = ir.INT64


def shared(x: ir.Var, depth: int, odd: int = 0) -> ir.Expr:
    """Return x doubled ``depth`` times, each sum an object used as both operands of the next."""
    value: ir.Expr = x
    for level in range(1, depth + 1):
        kind = ir.Mul if level == odd else ir.Add
        value = kind(value, value, INT64)
    return value


def written_out(x: ir.Var, depth: int) -> ir.Expr:
    """Return the same sum without sharing."""
    if depth == 0:
        return x
    return ir.Add(written_out(x, depth - 1), written_out(x, depth - 1), INT64)


def variable() -> ir.Var:
    return ir.Var("x", ir.ScalarType(INT64))


def program(x: ir.Var, value: ir.Expr) -> ir.Program:
    span = ir.Span.unknown()
    y = ir.Var("y", ir.ScalarType(INT64))
    body = ir.SeqStmts([ir.AssignStmt(y, value, span), ir.ReturnStmt([y], span)], span)
    return ir.Program([ir.Function("f", [x], [ir.ScalarType(INT64)], body, span)], "P", span)


def doubled(depth: int = DEPTH, odd: int = 0) -> ir.Program:
    x = variable()
    return program(x, shared(x, depth, odd))


def test_equality() -> None:
    """Equal, and unequal in the innermost part, in an outer one, or in depth."""
    whole = doubled()
    assert ir.structural_equal(whole, doubled())
    for other in (doubled(odd=1), doubled(odd=DEPTH), doubled(DEPTH + 1), doubled(DEPTH - 1)):
        assert not ir.structural_equal(whole, other)


def test_hash() -> None:
    """Equal programs have equal hashes; others almost certainly not."""
    hashes = {ir.structural_hash(doubled(odd=odd)) for odd in range(DEPTH + 1)}
    assert len(hashes) == DEPTH + 1
    assert ir.structural_hash(doubled()) == ir.structural_hash(doubled())


def test_verification() -> None:
    """A correct program has no findings, an undefined variable has one per use."""
    verifier = IRVerifier.create_default()
    assert verifier.verify(doubled()) == []
    free = program(variable(), shared(variable(), DEPTH))
    assert [found.message for found in verifier.verify(free)] == [
        "variable 'x' is read without a definition"
    ] * 2


def test_sharing_is_no_structure() -> None:
    """An expanded sum is equal to the shared one and has its hash."""
    x = variable()
    tree = program(x, written_out(x, SMALL))
    assert ir.structural_equal(tree, doubled(SMALL))
    assert ir.structural_equal(doubled(SMALL), tree)
    assert ir.structural_hash(tree) == ir.structural_hash(doubled(SMALL))
    assert not ir.structural_equal(tree, doubled(SMALL, odd=2))


@pytest.mark.parametrize("auto", [False, True])
def test_free_variables(auto: bool) -> None:
    """Free variables correspond only on request, also in shared expressions."""
    x, y = variable(), variable()
    assert ir.structural_equal(shared(x, DEPTH), shared(y, DEPTH), auto) == auto
    assert ir.structural_equal(shared(x, DEPTH), shared(x, DEPTH), auto)
    both = ir.Sub(shared(x, DEPTH), shared(y, DEPTH), INT64)
    swapped = ir.Sub(shared(y, DEPTH), shared(x, DEPTH), INT64)
    one = ir.Sub(shared(x, DEPTH), shared(x, DEPTH), INT64)
    assert ir.structural_equal(both, swapped, auto) == auto
    assert not ir.structural_equal(both, one, auto)
    assert ir.structural_hash(both, auto) == ir.structural_hash(swapped, auto)


def test_first_difference() -> None:
    """The path leads to the differing part, through all its shared parents."""
    x = variable()
    with pytest.raises(ValueError, match="differ") as caught:
        ir.assert_structural_equal(program(x, written_out(x, SMALL)), doubled(SMALL, odd=2))
    path = ".left" * (SMALL - 2)
    assert str(caught.value) == (
        f"structures differ at Program.functions_[0].body[0].value{path}: Add is not Mul\n"
        "  left:  x + x + (x + x)\n"
        "  right: (x + x) * (x + x)"
    )


def kernel(build: Callable[[ir.IRBuilder, ir.Var], ir.Expr | int]) -> ir.Program:
    """Return a kernel that fills ``out`` [8, 8] with the result of ``build`` on ``n``."""
    ib = ir.IRBuilder()
    with ib.function("f", type=ir.FunctionType.InCore) as f:
        n = f.param("n", ir.ScalarType(INT64))
        out = f.param("out", ir.TensorType([8, 8], ir.INT32), direction=ir.ParamDirection.Out)
        value = ib.let("value", ir.cast(build(ib, n), ir.INT32))
        tile = ib.let("tile", ir.op.block.full([8, 8], ir.INT32, value))
        ib.let("stored", ir.op.block.store(tile, [0, 0], [8, 8], out))
    return ir.Program([f.get_result()], "P")


def values(program: ir.Program, n: int) -> list[int]:
    """Return a kernel's results: interpreted as built and after the passes, and compiled."""
    found: list[int] = []
    lowered = PassManager.get_strategy().run_passes(program)
    for run in (
        compile_program(program, "interpreter"),
        compile_program(lowered, "interpreter"),
        compile_program(program, "cpu"),
    ):
        out = np.zeros((8, 8), np.int32)
        run(n, out)
        found.append(int(out[3, 5]))
    return found


def doubled_many_times(_ib: ir.IRBuilder, n: ir.Var) -> ir.Expr:
    """Return n * 2**40 % 1009 + 7, by doubling; doubled 40 times more, and divided."""
    value: ir.Expr = n
    for _ in range(40):
        value = (value + value) % 1009
    return shared_again(value) // 2**40 + 7


def shared_again(value: ir.Expr) -> ir.Expr:
    for _ in range(40):
        value = value + value
    return value


def in_bounds_and_branches(ib: ir.IRBuilder, n: ir.Var) -> ir.Expr:
    """Return twice the iterations of a loop to n shared 40 times, if n is as large as that."""
    iterations: ir.Expr = n
    for _ in range(40):
        iterations = ir.min_(iterations + 1, iterations + 2)
    total = ib.let("total", 0)
    with (
        ib.if_stmt(iterations + iterations > 40),
        ib.for_loop(ib.var("i", n.type), 0, iterations, 1),
    ):
        ib.assign(total, total + 2)
    return total


BUILT: list[tuple[Callable[[ir.IRBuilder, ir.Var], ir.Expr], int]] = [
    (doubled_many_times, 3 * 2**40 % 1009 + 7),
    (in_bounds_and_branches, 2 * (3 + 40)),
]


@pytest.mark.parametrize(("build", "expected"), BUILT)
def test_shared_parts_get_names(build: Any, expected: int) -> None:
    """The text of shared objects is linear in their number, and means the same."""
    program = kernel(build)
    assert len(ir.python_print(program)) < 12_000
    assert values(program, 3) == [expected] * 3


def test_parts_that_may_be_left_out_stay() -> None:
    """What ``or`` short-circuits is not computed before: no division by zero occurs there."""

    def guarded(ib: ir.IRBuilder, n: ir.Var) -> ir.Expr:
        part: ir.Expr = 100 // n
        for _ in range(9):
            part = part + part
        flag = ib.let("flag", ir.Or(n == 0, part > 0, ir.BOOL))
        result = ib.let("result", 1)
        with ib.if_stmt(flag):
            ib.assign(result, 2)
        return result

    assert values(kernel(guarded), 0) == [2, 2, 2]


def connected(x: ir.Var, depth: int) -> ir.Expr:
    """Return ``x < 5`` combined with itself, by ``and`` and ``or`` alternately."""
    value: ir.Expr = ir.Lt(x, ir.ConstInt(5, INT64), ir.BOOL)
    for level in range(depth):
        value = (ir.And, ir.Or)[level % 2](value, value, ir.BOOL)
    return value


def asked(place: str, value: ir.Expr, x: ir.Var) -> ir.Program:
    """Return a program without an IRBuilder's names, with ``value`` at a location of its own."""
    kind = ir.ScalarType(INT64)
    one, two = (ir.YieldStmt([ir.ConstInt(n, INT64)]) for n in (1, 2))
    result, carried = ir.Var("r", kind), ir.IterArg("c", kind, ir.ConstInt(0, INT64))
    stmts: dict[str, ir.Stmt] = {
        "value": ir.AssignStmt(result, ir.cast(value, INT64)),
        "if": ir.IfStmt(value, one, two, [result]),
        "while": ir.WhileStmt(value, [carried], one, [result]),
    }
    body = ir.SeqStmts([stmts[place], ir.ReturnStmt([result])])
    return ir.Program([ir.Function("f", [x], [kind], body)], "P")


@pytest.mark.parametrize("place", ["value", "if", "while"])
def test_what_cannot_be_written_out(place: str) -> None:
    """Exponentially long texts and passes are refused at once; all else works as usual."""
    x = variable()
    value = connected(x, DEPTH)
    whole = asked(place, value, x)
    times = f"{DEPTH + 3} parts of one expression occur in it {2 ** (DEPTH + 2) - 1} times"
    if place == "value":
        times = f"{DEPTH + 4} parts of one expression occur in it {2 ** (DEPTH + 2)} times"
    with pytest.raises(TextError) as caught:
        str(whole)
    assert caught.value.message == f"this Program is too long to be printed: {times}"
    assert caught.value.slug == "too-deep"
    with pytest.raises(TextError, match="this Or is too long to be printed"):
        str(value)
    with pytest.raises(PassError) as refused:
        PassManager.get_strategy().run_passes(whole)
    assert refused.value.message == f"a statement is too large to write out: {times}"
    assert IRVerifier.create_default().verify(whole) == []
    again = ir.deserialize(ir.serialize(whole))
    assert ir.structural_equal(again, whole)
    assert ir.structural_hash(again) == ir.structural_hash(whole)
    # Parts of the condition are computed before each iteration, so no name can precede it.
    if place == "while":
        with pytest.raises(EvaluationError, match=r"f is too large to compute: .* times"):
            evaluate(whole, [9])
    else:
        assert evaluate(whole, [3]) == 1
        assert evaluate(whole, [9]) == {"value": 0, "if": 2}[place]


def test_items_without_end() -> None:
    """Items of tuples are parts of an expression like any others."""
    x = variable()
    pair = ir.MakeTuple([x, x])
    for _ in range(DEPTH):
        one, two = (ir.TupleGetItemExpr(pair, index) for index in (0, 1))
        pair = ir.MakeTuple([ir.Add(one, two, INT64), two])
    whole = program(x, ir.TupleGetItemExpr(pair, 0))
    with pytest.raises(TextError, match="this Program is too long to be printed"):
        str(whole)
    with pytest.raises(PassError, match="a statement is too large to write out"):
        PassManager.get_strategy().run_passes(whole)
    with pytest.raises(EvaluationError, match="f is too large to compute"):
        evaluate(whole, [3])


def test_statements_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a statement can be expanded is computed once, however many deep parts it has."""
    measured: list[object] = []

    def measure(stmt: ir.Stmt) -> str | None:
        measured.append(stmt)
        return endless(stmt)

    monkeypatch.setattr(common_parts, "endless", measure)
    x = variable()
    deep: list[ir.Expr] = []
    for width in range(20):
        value: ir.Expr = x
        for level in range(30):
            value = ir.Add(value, ir.ConstInt(width * level, INT64), INT64)
        deep.append(value)
    body = ir.ReturnStmt(deep)
    function = ir.Function("f", [x], [ir.ScalarType(INT64)] * len(deep), body)
    assert to_ssa(function) is function
    assert measured == [body]


def test_small_expressions_stay_as_they_are_built() -> None:
    """An expression with little sharing is the same object in the function."""
    x = variable()
    value = shared(x, 6)
    ib = ir.IRBuilder()
    with ib.function("f") as f:
        y = ib.let("y", value)
        ib.return_stmt([y])
    [assigned] = [s for s in ir.walk(f.get_result()) if isinstance(s, ir.AssignStmt)]
    assert assigned.value is value
