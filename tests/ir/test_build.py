"""IRBuilder: nested blocks, results, source locations, and misuse."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from pypto import ir
from pypto._src.ir.stmts import statements
from tests.ir.samples import FP32, INT, loop_sum, var


def here() -> int:
    """Return the line of the caller."""
    return sys._getframe(1).f_lineno  # pyright: ignore[reportPrivateUsage]


def test_function() -> None:
    """Parameters with directions, result types, statements in order."""
    ib = ir.IRBuilder()
    with ib.function("f", type=ir.FunctionType.InCore) as f:
        x = f.param("x", INT)
        y = f.param("y", ir.TensorType([8], ir.FP32), direction=ir.ParamDirection.Out)
        f.return_type(INT)
        z = ib.let("z", x * 2 + 1)
        ib.eval_stmt(ir.Call(ir.Op("foo"), [y]))
        ib.assign(z, 3)
        ib.return_stmt(z)
    assert str(f.get_result()) == (
        "@pl.function(type=pl.FunctionType.InCore)\n"
        "def f(x: pl.Scalar[pl.INT64], y: pl.Out[pl.Tensor[[8], pl.FP32]])"
        " -> pl.Scalar[pl.INT64]:\n"
        "    z: pl.Scalar[pl.INT64] = x * 2 + 1\n"
        "    foo(y)\n"
        "    z: pl.Scalar[pl.INT64] = 3\n"
        "    return z"
    )


def test_for_loop_with_carried_value() -> None:
    """The builder creates the same nodes as the constructors."""
    ib = ir.IRBuilder()
    with ib.function("f") as f:
        n = f.param("n", INT)
        f.return_type(INT)
        start = ib.let("start", 0)
        i = ib.var("i", INT)
        with ib.for_loop(i, 0, n, 1) as loop:
            total = loop.iter_arg("sum", start)
            loop.return_var("sum")
            ib.emit(ir.YieldStmt([total + i]))
        ib.return_stmt([loop.output()])
    ir.assert_structural_equal(f.get_result(), loop_sum())
    assert loop.outputs() == [loop.output(0)]
    assert loop.get_result().return_vars == (loop.output(),)


def test_while_loop() -> None:
    """The condition may be set after the iter_args that it reads."""
    ib = ir.IRBuilder()
    with ib.function("f") as f:
        n = f.param("n", INT)
        with ib.while_loop(True) as loop:
            k = loop.iter_arg("k", 0, INT)
            loop.set_condition(k < n)
            loop.return_var("k", INT)
            ib.emit(ir.YieldStmt([k + 1]))
    assert str(loop.get_result()) == (
        "for (k,) in pl.while_(init_values=(0,)):\n"
        "    pl.cond(k < n)\n"
        "    k: pl.Scalar[pl.INT64] = pl.yield_(k + 1)"
    )
    assert f.get_result().body is loop.get_result()


def test_branches() -> None:
    """Both branches yield into the results; without statements there is no else."""
    ib = ir.IRBuilder()
    with ib.function("f") as f:
        x = f.param("x", INT)
        with ib.if_stmt(x > 0) as both:
            both.return_var("r", INT)
            ib.emit(ir.YieldStmt([x]))
            both.else_()
            ib.emit(ir.YieldStmt([-x]))
        with ib.if_stmt(x > 1) as one:
            ib.let("unused", 1)
            one.else_()
    assert str(both.get_result()) == (
        "if x > 0:\n    r: pl.Scalar[pl.INT64] = pl.yield_(x)\n"
        "else:\n    r: pl.Scalar[pl.INT64] = pl.yield_(-x)"
    )
    assert one.get_result().else_body is None
    assert both.output().name == "r"


def test_scope_and_parallel_loop() -> None:
    """Scopes and parallel loops; several statements become a sequence, none an empty one."""
    ib = ir.IRBuilder()
    with ib.function("f") as f:
        with ib.scope(ir.ScopeKind.InCore) as scope:
            ib.let("a", 1)
        with ib.for_loop(ib.var("i", INT), 0, 8, 2, kind=ir.ForKind.Parallel):
            pass
    assert str(f.get_result().body) == (
        "with pl.incore():\n    a: pl.Scalar[pl.INT64] = 1\n"
        "for i in pl.parallel(0, 8, 2):\n    pass"
    )
    assert scope.get_result() is statements(f.get_result().body)[0]


def test_program() -> None:
    """Functions may be declared before they are added; a call gets its callee's type."""
    ib = ir.IRBuilder()
    with ib.program("P") as p:
        g = p.declare_function("g")
        assert p.declare_function("g") is g
        assert p.get_global_var("g") is g
        with ib.function("g") as callee:
            ib.return_stmt([callee.param("x", FP32)])
        with ib.function("pair") as pair:
            pair.return_type(INT)
            pair.return_type(FP32)
        with ib.function("h") as typed:
            typed.return_type(FP32)
            typed.param("x", FP32)
            ib.return_stmt(1.0)
        for made in (callee, pair, typed):
            p.add_function(made.get_result())
        with ib.function("main") as main:
            y = main.param("y", FP32)
            known = ib.let("known", ir.Call(p.get_global_var("h"), [y]))
            unknown = ib.let("unknown", ir.Call(g, [y]))
            with pytest.raises(ValueError, match="pair has 2 results"):
                ib.let("several", ir.Call(p.get_global_var("pair"), []))
        p.add_function(main.get_result())
    assert [f.name for f in p.get_result().functions_] == ["g", "h", "main", "pair"]
    assert known.type == FP32
    assert unknown.type == ir.UnknownType.get()
    assert str(statements(main.get_result().body)[0]) == "known: pl.Scalar[pl.FP32] = h(y)"


def test_types_and_views() -> None:
    """Shapes mix ints and expressions; views and references equal those of their constructors."""
    ib = ir.IRBuilder()
    n = ib.var("n", INT)
    mem = ib.memref(ir.MemorySpace.Vec, 64, 256, 2)
    view = ib.tile_view([n, 8], [8, 1], 0, pad=ir.TilePad.zero)
    assert str(ib.tile_type([8, 8], ir.FP32, mem, view)) == (
        "pl.Tile[[8, 8], pl.FP32, pl.MemRef(pl.MemorySpace.Vec, 64, 256, 2), "
        "pl.TileView(valid_shape=[n, 8], stride=[8, 1], start_offset=0, pad=pl.TilePad.zero)]"
    )
    strides = ib.tensor_view([n, 1], ir.TensorLayout.DN)
    assert str(ib.tensor_type([n, 8], ir.FP16, tensor_view=strides)) == (
        "pl.Tensor[[n, 8], pl.FP16, pl.TensorView(stride=[n, 1], layout=pl.TensorLayout.DN)]"
    )
    assert str(ib.make_tuple([n, 1])) == "[n, 1]"


def test_spans_are_those_of_the_user() -> None:
    """Without a span, nodes have the line of the call, also for a with statement."""
    ib = ir.IRBuilder()
    with ib.function("f") as f:
        first = here()
        x = f.param("x", INT)
        stmt = ib.assign(x, 1)
        with ib.if_stmt(x > 0) as branch:
            result = ib.let("y", 2)
        given = ib.let("z", 3, span=ir.Span("other.py", 5, 1))
    node = f.get_result()
    places = [node, x, stmt, branch.get_result(), result]
    assert [p.span.begin_line - first for p in places] == [-1, 1, 2, 3, 4]
    assert all(p.span.filename == __file__ for p in places)
    assert given.span.filename == "other.py"


def test_where_the_builder_is() -> None:
    """Being in a function is true at any depth, in a loop or branch only directly inside."""
    ib = ir.IRBuilder()

    def state() -> tuple[bool, bool, bool]:
        return ib.in_function(), ib.in_loop(), ib.in_if()

    assert state() == (False, False, False)
    with ib.function("f"):
        assert state() == (True, False, False)
        with ib.for_loop(var("i"), 0, 1, 1):
            assert state() == (True, True, False)
            with ib.if_stmt(True):
                assert state() == (True, False, True)
        with ib.while_loop(True):
            assert state() == (True, False, False)
    assert state() == (False, False, False)


def test_errors_inside_a_block_pass_through() -> None:
    """An error restores the builder's state before the block, and the block has no result."""
    ib = ir.IRBuilder()
    with pytest.raises(ZeroDivisionError), ib.function("f") as f, ib.if_stmt(True):
        _ = 1 // 0
    assert not ib.in_function()
    with pytest.raises(AssertionError):
        f.get_result()
    with ib.function("g") as g:
        ib.return_stmt()
    assert str(g.get_result()) == "@pl.function\ndef g():\n    return"


# --------------------------------------------------------------------------------------------
# Misuse
# --------------------------------------------------------------------------------------------


def inside(act: Callable[[ir.IRBuilder, Any], Any]) -> None:
    """Run an action inside a function."""
    ib = ir.IRBuilder()
    with ib.function("f") as f:
        act(ib, f)


def nested_function(ib: ir.IRBuilder, f: Any) -> None:
    ib.function("g")


def nested_program(ib: ir.IRBuilder, f: Any) -> None:
    ib.program("P")


def loop_without_result(ib: ir.IRBuilder, f: Any) -> None:
    with ib.for_loop(var("i"), 0, 1, 1) as loop:
        loop.iter_arg("s", 0)


def result_without_iter_arg(ib: ir.IRBuilder, f: Any) -> None:
    with ib.for_loop(var("i"), 0, 1, 1) as loop:
        loop.return_var("s")


def result_of_another_type(ib: ir.IRBuilder, f: Any) -> None:
    with ib.while_loop(True) as loop:
        loop.iter_arg("s", 0)
        loop.return_var("s", FP32)


def parameter_in_a_loop(ib: ir.IRBuilder, f: Any) -> None:
    with ib.for_loop(var("i"), 0, 1, 1):
        f.param("x", INT)


def result_type_in_a_branch(ib: ir.IRBuilder, f: Any) -> None:
    with ib.if_stmt(True):
        f.return_type(INT)


def two_elses(ib: ir.IRBuilder, f: Any) -> None:
    with ib.if_stmt(True) as branch:
        branch.else_()
        branch.else_()


def declared_type(ib: ir.IRBuilder, f: Any) -> None:
    ib.let("x", 1, FP32)


def early_result(ib: ir.IRBuilder, f: Any) -> None:
    f.get_result()


def early_output(ib: ir.IRBuilder, f: Any) -> None:
    with ib.if_stmt(True) as branch:
        branch.output()


def output_out_of_range(ib: ir.IRBuilder, f: Any) -> None:
    with ib.if_stmt(True) as branch:
        branch.return_var("r", INT)
    branch.output(1)


def undeclared(ib: ir.IRBuilder, f: Any) -> None:
    with ir.IRBuilder().program("P") as program:
        program.get_global_var("g")


MISUSE: list[tuple[Callable[[ir.IRBuilder, Any], Any], type[Exception], str]] = [
    (nested_function, RuntimeError, "a function is inside another function"),
    (nested_program, RuntimeError, "a program is inside another block"),
    (loop_without_result, RuntimeError, "a loop with 1 iter_args has 0 return_vars"),
    (result_without_iter_arg, ValueError, "result 's' has no iter_arg"),
    (result_of_another_type, ValueError, "result 's' is a pl.Scalar"),
    (parameter_in_a_loop, ValueError, "param belongs directly in the block of its function"),
    (result_type_in_a_branch, ValueError, "return_type belongs directly in the block"),
    (two_elses, ValueError, "an if has one else"),
    (declared_type, ValueError, "variable 'x' is declared as pl.Scalar"),
    (early_result, AssertionError, "when the with block has ended"),
    (early_output, AssertionError, "when the with block has ended"),
    (output_out_of_range, IndexError, "output 1 of a block with 1 results"),
    (undeclared, RuntimeError, "function 'g' is not declared"),
]


@pytest.mark.parametrize(
    ("act", "error", "message"), MISUSE, ids=[a.__name__ for a, _, _ in MISUSE]
)
def test_misuse(
    act: Callable[[ir.IRBuilder, Any], Any], error: type[Exception], message: str
) -> None:
    """Calls in the wrong context raise and say what is wrong."""
    with pytest.raises(error, match=message):
        inside(act)


OUTSIDE: list[tuple[str, Callable[[ir.IRBuilder], Any], type[Exception]]] = [
    ("emit", lambda ib: ib.emit(ir.ReturnStmt()), RuntimeError),
    ("assign", lambda ib: ib.assign(var("x"), 1), RuntimeError),
    ("let", lambda ib: ib.let("x", 1), RuntimeError),
    ("return_stmt", lambda ib: ib.return_stmt(), RuntimeError),
    ("eval_stmt", lambda ib: ib.eval_stmt(var("x")), RuntimeError),
    ("for_loop", lambda ib: ib.for_loop(var("i"), 0, 1, 1), RuntimeError),
    ("while_loop", lambda ib: ib.while_loop(True), RuntimeError),
    ("if_stmt", lambda ib: ib.if_stmt(True), ValueError),
    ("scope", lambda ib: ib.scope(ir.ScopeKind.InCore), ValueError),
]


@pytest.mark.parametrize(("name", "act", "error"), OUTSIDE, ids=[name for name, _, _ in OUTSIDE])
def test_outside_of_functions(
    name: str, act: Callable[[ir.IRBuilder], Any], error: type[Exception]
) -> None:
    """Only functions and programs can be at top level, and only functions in a program."""
    with pytest.raises(error, match="outside a function"):
        act(ir.IRBuilder())
    ib = ir.IRBuilder()
    with ib.program("P"), pytest.raises(error, match="outside a function"):
        act(ib)


# --------------------------------------------------------------------------------------------
# Operators as functions
# --------------------------------------------------------------------------------------------

FUNCTIONS: dict[str, type[ir.BinaryExpr]] = {
    "add": ir.Add,
    "sub": ir.Sub,
    "mul": ir.Mul,
    "truediv": ir.FloatDiv,
    "floordiv": ir.FloorDiv,
    "mod": ir.FloorMod,
    "pow": ir.Pow,
    "eq": ir.Eq,
    "ne": ir.Ne,
    "lt": ir.Lt,
    "le": ir.Le,
    "gt": ir.Gt,
    "ge": ir.Ge,
    "min_": ir.Min,
    "max_": ir.Max,
    "bit_and": ir.BitAnd,
    "bit_or": ir.BitOr,
    "bit_xor": ir.BitXor,
    "bit_shift_left": ir.BitShiftLeft,
    "bit_shift_right": ir.BitShiftRight,
}


@pytest.mark.parametrize(("name", "kind"), FUNCTIONS.items(), ids=FUNCTIONS)
def test_operator_functions(name: str, kind: type[ir.BinaryExpr]) -> None:
    """Each function creates its node, with promotion and the given span."""
    x, span = var("x"), ir.Span("f.py", 1, 1)
    node: Any = getattr(ir, name)(x, 2, span)
    assert type(node) is kind
    assert node.span is span
    assert node.left is x
    assert str(node.right) == "2"


def test_unary_functions() -> None:
    """neg, bit_not and cast; cast does not check its operand."""
    x = var("x")
    assert type(ir.neg(x)) is ir.Neg
    assert type(ir.bit_not(x)) is ir.BitNot
    assert str(ir.cast(x, ir.FP16)) == "pl.cast(x, pl.FP16)"
