"""Control flow, calls, arguments, bounds, and the spans of errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import FunctionType, MemorySpace, ScopeKind
from pypto._src.ir.exprs import Call, Expr, GlobalVar, IterArg, TupleGetItemExpr, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    OpStmts,
    Program,
    ReturnStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
)
from pypto._src.ir.types import ScalarType, TupleType, UnknownType
from pypto._src.ops import elementwise, memory, new_tiles, system, tensor
from tests.cases import Array, call

D = DataType
INT, BOOL = ScalarType(D.INT64), ScalarType(D.BOOL)


def integer(name: str) -> Var:
    """Return an INT64 variable."""
    return Var(name, INT)


def function(params: list[Var], *stmts: Stmt, name: str = "f") -> Function:
    """Return a function with these statements."""
    return Function(name, params, [], SeqStmts(stmts))


n, i, s, t = integer("n"), integer("i"), integer("s"), integer("t")


def test_loop_before_ssa() -> None:
    """A reassigned variable has its new value in the next iteration and after the loop."""
    body = AssignStmt(s, s + i)
    f = function([n], AssignStmt(s, 0), ForStmt(i, 0, n, 1, (), body, ()), ReturnStmt([s]))
    assert evaluate(f, [5]) == 10
    assert evaluate(f, [0]) == 0


def test_loop_with_carried_values() -> None:
    """Carried values are updated simultaneously: a swap swaps."""
    a, b = IterArg("a", INT, 1), IterArg("b", INT, 2)
    x, y = integer("x"), integer("y")
    loop = ForStmt(i, 0, n, 1, (a, b), YieldStmt([b, a]), (x, y))
    f = function([n], loop, ReturnStmt([x, y]))
    assert evaluate(f, [3]) == (2, 1)
    assert evaluate(f, [0]) == (1, 2)


@pytest.mark.parametrize(
    ("bounds", "iterations"),
    [((0, 5, 2), [0, 2, 4]), ((5, 0, -2), [5, 3, 1]), ((3, 3, 1), []), ((-2, 1, 1), [-2, -1, 0])],
)
def test_loop_bounds(bounds: tuple[int, int, int], iterations: list[int]) -> None:
    """A loop counts as Python's range does."""
    digits = AssignStmt(s, s * 10 + i + 2)
    loop = ForStmt(i, *bounds, (), digits, ())
    number = 0
    for iteration in iterations:
        number = number * 10 + iteration + 2
    assert evaluate(function([], AssignStmt(s, 0), loop, ReturnStmt([s])), []) == number


def test_zero_step() -> None:
    """A loop with step 0 is an error at its span."""
    span = Span("k.py", 4, 4)
    loop = ForStmt(i, 0, 5, n, (), AssignStmt(s, i), (), span)
    with pytest.raises(EvaluationError) as caught:
        evaluate(function([n], loop), [0])
    assert caught.value.message == "the step of a loop is zero"
    assert str(caught.value.location) == "k.py:4:4"


def test_break_and_continue() -> None:
    """Break leaves the innermost loop, continue its current iteration."""
    inner = SeqStmts(
        [
            IfStmt(i >= 6, BreakStmt(), None),
            IfStmt((i % 2).__eq__(0), ContinueStmt(), None),
            AssignStmt(s, s + i),
        ]
    )
    loop = ForStmt(i, 0, 100, 1, (), inner, ())
    outer = ForStmt(t, 0, 3, 1, (), loop, ())
    assert evaluate(function([], AssignStmt(s, 0), outer, ReturnStmt([s])), []) == 3 * (1 + 3 + 5)


def test_while() -> None:
    """The condition of a while loop sees the carried values."""
    a, b = IterArg("a", INT, n), IterArg("b", INT, 0)
    x, y = integer("x"), integer("y")
    loop = WhileStmt(a > 0, (a, b), YieldStmt([a // 2, b + 1]), (x, y))
    assert evaluate(function([n], loop, ReturnStmt([x, y])), [9]) == (0, 4)


def test_branches() -> None:
    """A branch yields into the variables of its statement; without else nothing happens."""
    r = integer("r")
    branch = IfStmt(n > 0, YieldStmt([n]), YieldStmt([-n]), (r,))
    f = function([n], branch, IfStmt(r > 10, ReturnStmt([0]), None), ReturnStmt([r]))
    assert [evaluate(f, [value]) for value in (7, -7, -11)] == [7, 7, 0]


def test_return_leaves_loops() -> None:
    """A return inside nested loops ends the function."""
    inner = ForStmt(t, 0, 10, 1, (), IfStmt((i * t).__eq__(12), ReturnStmt([i]), None), ())
    outer = ForStmt(i, 0, 10, 1, (), inner, ())
    assert evaluate(function([], outer, ReturnStmt([-1])), []) == 2


def test_groups_of_statements() -> None:
    """Scopes and statement sequences run their statements, however many they have."""
    many = OpStmts([AssignStmt(s, s + 1) for _ in range(20_000)])
    nested = ScopeStmt(ScopeKind.InCore, SeqStmts([many, SeqStmts([AssignStmt(t, s)])]))
    assert evaluate(function([], AssignStmt(s, 0), nested, ReturnStmt([t])), []) == 20_000


# --------------------------------------------------------------------------------------------
# Calls and arguments
# --------------------------------------------------------------------------------------------

x = Var("x", TensorType([n, 16], D.FP32))
out = Var("out", TensorType([n, 16], D.FP32))


def doubling(rows: Expr | int = 8) -> Function:
    """Return a kernel that doubles the first rows of ``x`` into ``out``."""
    tile = call(memory.load, x, [0, 0], [rows, 16])
    value = Var("v", tile.type)
    double = call(elementwise.add, value, value)
    store = memory.store.build([double, [0, 0], [rows, 16], out], {}, Span("k.py", 9, 4))
    done = Var("done", out.type)
    body = [AssignStmt(value, tile, Span("k.py", 8, 4)), AssignStmt(done, store)]
    return Function("double", [x, out], [out.type], SeqStmts([*body, ReturnStmt([done])]))


def ones(rows: int) -> Array:
    """Return an array of ones."""
    return np.ones((rows, 16), np.float32)


def test_tensors_are_written_in_place() -> None:
    """A store changes the caller's array, which is also the value."""
    target = np.zeros((10, 16), np.float32)
    result = evaluate(doubling(), [ones(10), target])
    assert result is target
    assert (target[:8] == 2).all()
    assert (target[8:] == 0).all()


def host(callee: Function) -> Program:
    """Return a program whose entry calls ``callee`` on a new tensor, twice."""
    a = Var("a", TensorType([8, 16], D.FP32))
    made, first, second = (Var(k, a.type) for k in ("made", "first", "second"))
    stmts: list[Stmt] = [
        AssignStmt(made, call(tensor.create, [8, 16], D.FP32)),
        AssignStmt(first, Call(GlobalVar("double"), [a, made], type=a.type)),
        AssignStmt(second, Call(GlobalVar("double"), [first, a], type=a.type)),
        ReturnStmt([second, first]),
    ]
    main = Function("main", [a], [], SeqStmts(stmts), type=FunctionType.Orchestration)
    return Program([callee, main], "p")


def test_calls() -> None:
    """Functions call one another; the orchestration function is the entry."""
    given = ones(8)
    result = evaluate(host(doubling()), [given])
    assert result[0] is given
    assert (given == 4).all()
    assert (result[1] == 2).all()


def test_several_results() -> None:
    """A function with several results returns a tuple, whose items are read."""
    pair = Function("pair", [n], [INT, INT], ReturnStmt([n + 1, n + 2]))
    both = Var("both", TupleType((INT, INT)))
    main = function(
        [n],
        AssignStmt(both, Call(GlobalVar("pair"), [n], type=both.type)),
        ReturnStmt([TupleGetItemExpr(both, 0) * TupleGetItemExpr(both, 1)]),
        name="main",
    )
    assert evaluate(Program([pair, main]), [5], entry="main") == 42


def test_new_tensors_have_no_value() -> None:
    """Elements that nobody wrote are NaN."""
    made = Var("made", TensorType([2, 8], D.FP32))
    f = function([], AssignStmt(made, call(tensor.create, [2, 8], D.FP32)), ReturnStmt([made]))
    assert np.isnan(evaluate(f, [])).all()


def test_views_share_their_bytes() -> None:
    """A store into a view of a tensor changes the tensor."""
    part = Var("part", TensorType([4, 16], D.FP32))
    ones_ = call(new_tiles.full, [4, 16], D.FP32, 1)
    f = function(
        [x],
        AssignStmt(part, call(tensor.view, x, [4, 16], [n - 4, 0])),
        EvalStmt(call(memory.store, ones_, [0, 0], [4, 16], part)),
        ReturnStmt([call(tensor.read, x, [n - 1, 3]), call(tensor.dim, x, 0)]),
    )
    given = np.zeros((6, 16), np.float32)
    assert evaluate(f, [given]) == (1.0, 6)
    assert given[:2].sum() == 0
    assert given[2:].sum() == 64


ARGUMENTS: list[tuple[list[Any], str]] = [
    ([], "'double' takes 2 arguments (x, out), got 0"),
    ([3, ones(8)], "argument 'x' is an int, Tensor[[n, 16], FP32] was wanted"),
    (
        [ones(8).astype(np.float64), ones(8)],
        "argument 'x' is an array [8, 16] of float64, Tensor[[n, 16], FP32] was wanted",
    ),
    (
        [ones(8)[:, :8], ones(8)],
        "argument 'x' is an array [8, 8] of float32, Tensor[[n, 16], FP32] was wanted",
    ),
    (
        [ones(8), ones(9)],
        "argument 'out' is an array [9, 16] of float32, Tensor[[n, 16], FP32] was wanted",
    ),
]


@pytest.mark.parametrize(("args", "message"), ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_wrong_arguments(args: list[Any], message: str) -> None:
    """Arguments that do not match the parameters are rejected; equal dimensions have to agree."""
    with pytest.raises(EvaluationError) as caught:
        evaluate(doubling(), args)
    assert caught.value.message == message


@pytest.mark.parametrize("value", [2.5, "two", np.zeros(3)])
def test_wrong_scalars(value: Any) -> None:
    """An integer parameter requires an integer."""
    with pytest.raises(EvaluationError) as caught:
        evaluate(function([n], ReturnStmt([n])), [value])
    assert caught.value.message == f"argument 'n' is {value!r}, Scalar[INT64] was wanted"


def test_dimension_and_scalar_agree() -> None:
    """A parameter that is also a dimension must equal that dimension."""
    f = function([x, n], ReturnStmt([n]))
    assert evaluate(f, [ones(8), 8]) == 8
    with pytest.raises(EvaluationError) as caught:
        evaluate(f, [ones(8), 9])
    assert caught.value.message == "argument 'n' is 9, a dimension of a tensor is 8"


def test_entry() -> None:
    """With several functions and none marked, the entry has to be named."""
    two = Program([function([], ReturnStmt([1])), function([], ReturnStmt([2]), name="g")])
    assert evaluate(two, [], entry="g") == 2
    with pytest.raises(EvaluationError) as caught:
        evaluate(two, [])
    assert caught.value.message == "the program has 2 functions and none is its entry"
    assert caught.value.hint == "entry='f'"
    with pytest.raises(EvaluationError) as caught:
        evaluate(two, [], entry="h")
    assert caught.value.message == "the program has no function 'h'"


def test_recursion() -> None:
    """A recursive function is rejected with the call cycle and its span."""
    span = Span("k.py", 2, 4)

    def calls(name: str, other: str) -> Function:
        result = Call(GlobalVar(other), [n - 1], INT, span)
        return Function(name, [n], [INT], ReturnStmt([result]))

    with pytest.raises(EvaluationError) as caught:
        evaluate(Program([calls("f", "g"), calls("g", "f")]), [3], entry="f")
    assert caught.value.message == "'f' calls itself: f -> g -> f"
    assert caught.value.hint == "write a loop"
    assert str(caught.value.location) == "k.py:2:4"


# --------------------------------------------------------------------------------------------
# Mistakes in the program
# --------------------------------------------------------------------------------------------


def test_load_out_of_bounds() -> None:
    """A region beyond the tensor is an error at the load."""
    with pytest.raises(EvaluationError) as caught:
        evaluate(doubling(), [ones(6), ones(6)])
    error = caught.value
    assert error.message == "pl.load reads [0:8, 0:16] of a tensor [6, 16]"
    assert error.slug == "out-of-bounds"
    assert str(error.location) == "k.py:8:4"


def test_store_out_of_bounds() -> None:
    """A region beyond the output is an error at the store, and nothing is written."""
    tile = call(new_tiles.full, [8, 16], D.FP32, 1)
    store = memory.store.build([tile, [i, 0], [8, 16], x], {}, Span("k.py", 9, 4))
    target = np.zeros((8, 16), np.float32)
    for at in (1, -1):
        with pytest.raises(EvaluationError) as caught:
            evaluate(function([x, i], EvalStmt(store)), [target, at])
        wanted = f"pl.store writes [{at}:{at + 8}, 0:16] of a tensor [8, 16]"
        assert caught.value.message == wanted
        assert str(caught.value.location) == "k.py:9:4"
    assert not target.any()


def test_read_and_view_out_of_bounds() -> None:
    """An element or a view outside the tensor is an error."""
    for made, message in (
        (call(tensor.read, x, [i, 0]), "pl.read of element [-1, 0] of a tensor [8, 16]"),
        (
            call(tensor.view, x, [4, 16], [i, 0]),
            "pl.view takes [-1:3, 0:16] of a tensor [8, 16]",
        ),
    ):
        with pytest.raises(EvaluationError) as caught:
            evaluate(function([x, i], EvalStmt(made)), [ones(8), -1])
        assert caught.value.message == message


def test_wrong_memory() -> None:
    """An operand in the wrong memory stops the program before it runs, with the hint."""
    a = Var("a", TensorType([16, 16], D.FP16))
    staged = call(memory.load, a, [0, 0], [16, 16], target_memory=MemorySpace.Mat)
    plain = Var("p", TileType([16, 16], D.FP16))
    moved = Call(memory.move, [plain], {"target_memory": MemorySpace.Left}, staged.type)
    f = function(
        [a],
        AssignStmt(plain, call(memory.load, a, [0, 0], [16, 16])),
        EvalStmt(moved, Span("k.py", 5, 4)),
        AssignStmt(Var("m", staged.type), moved, Span("k.py", 5, 4)),
    )
    with pytest.raises(EvaluationError) as caught:
        evaluate(f, [np.zeros((16, 16), np.float16)])
    assert caught.value.message == "pl.move takes p from Mat memory, it is in Vec"
    assert caught.value.slug == "memory-space"


def test_read_before_definition() -> None:
    """A variable that only the branch not taken defines has no value."""
    branch = IfStmt(n > 0, AssignStmt(s, 1), None)
    f = function([n], branch, ReturnStmt([s], Span("k.py", 7, 4)))
    assert evaluate(f, [1]) == 1
    with pytest.raises(EvaluationError) as caught:
        evaluate(f, [0])
    assert caught.value.message == "'s' is read before it has a value"
    assert str(caught.value.location) == "k.py:7:4"


def test_unknown_op() -> None:
    """An unregistered op cannot be evaluated."""
    strange = Call(GlobalVar("nothing"), [], UnknownType.get(), Span("k.py", 3, 0))
    with pytest.raises(EvaluationError) as caught:
        evaluate(function([], EvalStmt(strange)), [])
    assert caught.value.message == "the program has no function 'nothing'"
    assert str(caught.value.location) == "k.py:3:0"


def test_synchronisation_has_no_effect() -> None:
    """Flags and barriers change nothing."""
    f = function([], EvalStmt(call(system.bar_all)), ReturnStmt([1]))
    assert evaluate(f, []) == 1
