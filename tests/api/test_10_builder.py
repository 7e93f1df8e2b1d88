"""API section 10: IRBuilder, its sub-builders, its errors, and the completion to SSA form."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from pypto import ir
from pypto._src.errors import PassError
from pypto._src.ir.builders.builder import FunctionBuilder
from pypto._src.ir.stmts import statements
from tests.api.facts import Refused, Table, check, rows
from tests.ir.samples import BOOL, FP32, INT, var

SPAN = ir.Span("k.py", 3, 4)
IB = ir.IRBuilder
Build = Callable[[ir.IRBuilder, FunctionBuilder, ir.Var], Any]


def here() -> int:
    """Return the line of the caller."""
    return sys._getframe(1).f_lineno  # pyright: ignore[reportPrivateUsage]


def call(function: Any, *args: Any, **named: Any) -> Any:
    """Call with arguments that the types forbid."""
    return function(*args, **named)


def class_of(value: object) -> type:
    return value.__class__


def inside(build: Build) -> Callable[[], Any]:
    """Return a function that runs ``build`` in an open function ``f(n)`` and returns its value."""

    def make() -> Any:
        ib = IB()
        with ib.function("f") as f:
            return build(ib, f, f.param("n", INT))

    return make


def text(build: Build) -> Callable[[], str]:
    """Return a function that runs ``build`` in a function ``f(n)`` and returns the body's text."""

    def make() -> str:
        ib = IB()
        with ib.function("f") as f:
            build(ib, f, f.param("n", INT))
        return str(f.get_result().body)

    return make


def body_of(block: Any, build: Callable[[], Any] = lambda: None) -> Any:
    with block as opened:
        build()
    return opened.get_result()


# --------------------------------------------------------------------------------------------
# 10.1 Context managers
# --------------------------------------------------------------------------------------------


def function_in(**named: Any) -> ir.Function:
    with IB().function("f", **named) as f:
        pass
    return f.get_result()


BLOCKS: Table = {
    "function": (lambda: function_in().name, "f"),
    "function is opaque": (lambda: function_in().func_type, ir.FunctionType.Opaque),
    "function of a kind": (
        lambda: function_in(type=ir.FunctionType.InCore).func_type,
        ir.FunctionType.InCore,
    ),
    "function with a span": (lambda: function_in(span=SPAN).span is SPAN, True),
    "for_loop": (
        text(lambda ib, f, n: body_of(ib.for_loop(var("i"), 0, n, 2))),
        "for i in pl.range(0, n, 2):\n    pass",
    ),
    "for_loop is sequential": (
        inside(lambda ib, f, n: body_of(ib.for_loop(var("i"), 0, n, 1)).kind),
        ir.ForKind.Sequential,
    ),
    "for_loop of a kind": (
        text(lambda ib, f, n: body_of(ib.for_loop(var("i"), 0, n, 2, SPAN, ir.Parallel))),
        "for i in pl.parallel(0, n, 2):\n    pass",
    ),
    "for_loop with a span": (
        inside(lambda ib, f, n: body_of(ib.for_loop(var("i"), 0, n, 1, SPAN)).span is SPAN),
        True,
    ),
    "while_loop": (text(lambda ib, f, n: body_of(ib.while_loop(n > 1))), "while n > 1:\n    pass"),
    "if_stmt": (text(lambda ib, f, n: body_of(ib.if_stmt(n > 1))), "if n > 1:\n    pass"),
    "if_stmt on a constant": (
        text(lambda ib, f, n: body_of(ib.if_stmt(True))),
        "if True:\n    pass",
    ),
    "scope": (text(lambda ib, f, n: body_of(ib.scope(ir.InCore))), "with pl.incore():\n    pass"),
    "program": (lambda: body_of(IB().program("P")).name, "P"),
    "program with a span": (lambda: body_of(IB().program("P", SPAN)).span is SPAN, True),
}


@rows(BLOCKS)
def test_blocks(make: Callable[[], Any], wanted: Any) -> None:
    """10.1: what each context manager builds."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# 10.2 Builder methods
# --------------------------------------------------------------------------------------------


def states(ib: ir.IRBuilder) -> str:
    flags = {"function": ib.in_function(), "loop": ib.in_loop(), "if": ib.in_if()}
    return " ".join(name for name, on in flags.items() if on)


def where(block: Callable[[ir.IRBuilder], Any]) -> Callable[[], str]:
    def make() -> str:
        ib = IB()
        with ib.function("f"), block(ib):
            return states(ib)
        raise AssertionError

    return make


def called(*results: ir.Type) -> Callable[[], ir.Type]:
    """Return a function that gives the type of a call of a function with ``results``."""

    def make() -> ir.Type:
        ib = IB()
        with ib.program("P") as p:
            with ib.function("g") as g:
                for result in results:
                    g.return_type(result)
            p.add_function(g.get_result())
            with ib.function("f"):
                return ib.let("x", ir.Call(p.get_global_var("g"), [])).type
        raise AssertionError

    return make


def returned(values: Any) -> Callable[[], list[str]]:
    return inside(lambda ib, f, n: [str(v) for v in ib.return_stmt(values).value])


TYPES = IB()
mem = TYPES.memref(ir.Vec, 64, 256, 2)

METHODS: Table = {
    "var": (
        inside(lambda ib, f, n: (ib.var("x", INT).name, ib.var("x", INT, SPAN).span is SPAN)),
        ("x", True),
    ),
    "var emits nothing": (text(lambda ib, f, n: ib.var("x", INT)), "pass"),
    "assign": (text(lambda ib, f, n: ib.assign(var("x"), n)), "x: pl.Scalar[pl.INT64] = n"),
    "assign returns the statement": (
        inside(lambda ib, f, n: type(ib.assign(n, 1, SPAN))),
        ir.AssignStmt,
    ),
    "assign an int": (inside(lambda ib, f, n: ib.assign(n, 1).value.type), ir.ScalarType(ir.INDEX)),
    "assign a float": (inside(lambda ib, f, n: ib.assign(n, 1.5).value.type), FP32),
    "let": (text(lambda ib, f, n: ib.let("x", n + 1)), "x: pl.Scalar[pl.INT64] = n + 1"),
    "let takes the value's type": (inside(lambda ib, f, n: ib.let("x", n > 1).type), BOOL),
    "let of a float": (inside(lambda ib, f, n: ib.let("x", 1.5).type), FP32),
    "let with a type": (inside(lambda ib, f, n: ib.let("x", n, INT, SPAN).type), INT),
    "let with another type": (
        inside(lambda ib, f, n: ib.let("x", n, FP32)),
        Refused(ValueError, "variable 'x' is declared as pl.Scalar[pl.FP32]"),
    ),
    "let of a call with a result": (called(FP32), FP32),
    "let of a call without results": (called(), ir.UnknownType()),
    "let of a call with several": (called(FP32, INT), Refused(ValueError, "g has 2 results")),
    "make_tuple": (inside(lambda ib, f, n: str(ib.make_tuple([n, 1]))), "[n, 1]"),
    "make_tuple emits nothing": (text(lambda ib, f, n: ib.make_tuple([n])), "pass"),
    "emit": (text(lambda ib, f, n: ib.emit(ir.BreakStmt())), "break"),
    "eval_stmt": (text(lambda ib, f, n: ib.eval_stmt(ir.Call(ir.Op("foo"), [n]), SPAN)), "foo(n)"),
    "return nothing": (returned(None), []),
    "return one": (returned(3), ["3"]),
    "return a list": (returned([1, 2.5]), ["1", "2.5"]),
    "return a tuple": (returned((1,)), ["1"]),
    "outside": (lambda: states(IB()), ""),
    "in a function": (where(lambda ib: ib.scope(ir.InCore)), "function"),
    "in a for loop": (where(lambda ib: ib.for_loop(var("i"), 0, 1, 1)), "function loop"),
    "a while is no for loop": (where(lambda ib: ib.while_loop(True)), "function"),
    "in an if": (where(lambda ib: ib.if_stmt(True)), "function if"),
    "memref": (
        lambda: (mem.memory_space_, str(mem.addr_), mem.size_, mem.id_),
        (ir.MemorySpace.Vec, "64", 256, 2),
    ),
    "tile_view": (
        lambda: [str(d) for d in TYPES.tile_view([8, 4], [4, 1], None).valid_shape],
        ["8", "4"],
    ),
    "tile_view defaults": (
        lambda: (lambda v: (v.start_offset, v.blayout, v.slayout, v.fractal, v.pad))(
            TYPES.tile_view([], [], None)
        ),
        (None, ir.row_major, ir.none_box, 512, ir.null),
    ),
    "tile_view at an offset": (
        lambda: str(TYPES.tile_view([], [], 4, span=SPAN).start_offset),
        "4",
    ),
    "tensor_view": (lambda: TYPES.tensor_view([8, 1], ir.DN, SPAN).layout, ir.TensorLayout.DN),
    "tensor_type": (lambda: TYPES.tensor_type([8, 4], ir.FP16), ir.TensorType([8, 4], ir.FP16)),
    "tensor_type of ints and expressions": (
        lambda: str(TYPES.tensor_type([8, var("n")], ir.FP16)),
        "pl.Tensor[[8, n], pl.FP16]",
    ),
    "tile_type": (
        lambda: TYPES.tile_type([8, 4], ir.FP16, mem).shares_memref_with(
            TYPES.tile_type([2, 2], ir.FP32, memref=mem)
        ),
        True,
    ),
}


@rows(METHODS)
def test_methods(make: Callable[[], Any], wanted: Any) -> None:
    """10.2: what each method appends and returns."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# 10.3 Sub-builders
# --------------------------------------------------------------------------------------------


def counting(ib: ir.IRBuilder, n: ir.Var) -> Any:
    i = ib.var("i", INT)
    with ib.for_loop(i, 0, n, 1) as loop:
        total = loop.iter_arg("total", 0)
        loop.return_var("total")
        ib.emit(ir.YieldStmt([total + i]))
    return loop


def shrinking(ib: ir.IRBuilder, n: ir.Var) -> Any:
    with ib.while_loop(True) as loop:
        k = loop.iter_arg("k", n, INT)
        loop.set_condition(k > 0)
        loop.return_var("k", INT)
        ib.emit(ir.YieldStmt([k - 1]))
    return loop


def choosing(ib: ir.IRBuilder, n: ir.Var) -> Any:
    with ib.if_stmt(n > 0) as branch:
        branch.return_var("r", INT)
        ib.emit(ir.YieldStmt([n]))
        branch.else_(SPAN)
        ib.emit(ir.YieldStmt([-n]))
    return branch


def in_loop(use: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return a function that applies ``use`` to a loop builder inside its block."""

    def make() -> Any:
        ib = IB()
        with ib.function("f"), ib.for_loop(var("i"), 0, 4, 1) as loop:
            return use(loop)
        raise AssertionError

    return make


def carried(loop: Any, *args: Any) -> tuple[str, str, ir.Type]:
    """Return name, init value and type of a new carried value, which gets a result."""
    arg = loop.iter_arg(*args)
    loop.return_var("result")
    return arg.name, str(arg.initValue), arg.type


def results(loop: Any) -> list[ir.Type]:
    with pytest.raises(ValueError, match=r"iter_arg 'a' is a .*INT64.*, its init_value a .*FP32"):
        loop.iter_arg("a", 1.5, INT)
    loop.iter_arg("a", 1.5)
    loop.iter_arg("b", 1)
    return [loop.return_var("a").type, loop.return_var("b", INT).type]


def with_program(use: Callable[[Any], Any]) -> Callable[[], Any]:
    def make() -> Any:
        with IB().program("P") as p:
            return use(p)
        raise AssertionError

    return make


def programmed() -> list[str]:
    ib = IB()
    with ib.program("P") as p:
        p.add_function(function_in())
        forward = p.declare_function("g")
        with ib.function("g"):
            ib.eval_stmt(ir.Call(forward, []))
    return [f.name for f in p.get_result().functions_]


BUILDERS: Table = {
    "param": (
        inside(lambda ib, f, n: (f.param("x", FP32).type, f.param("y", INT, SPAN).span is SPAN)),
        (FP32, True),
    ),
    "param direction": (
        lambda: [d.name for d in _with_params().param_directions],
        ["In", "Out", "InOut"],
    ),
    "return_type": (lambda: list(_with_params().return_types), [INT, FP32]),
    "iter_arg": (in_loop(lambda b: carried(b, "a", 2)[:2]), ("a", "2")),
    "iter_arg takes the init value's type": (in_loop(lambda b: carried(b, "a", 1.5)[2]), FP32),
    "iter_arg with a type": (in_loop(lambda b: carried(b, "a", 0, INT, SPAN)[2]), INT),
    "return_var takes the iter_arg's type": (in_loop(results), [FP32, INT]),
    "return_var without an iter_arg": (
        in_loop(lambda b: b.return_var("r")),
        Refused(ValueError, "call iter_arg before return_var"),
    ),
    "return_var of another type": (
        in_loop(lambda b: (b.iter_arg("a", 0), b.return_var("a", FP32))),
        Refused(
            ValueError, "result 'a' is a pl.Scalar[pl.FP32], its iter_arg a pl.Scalar[pl.INT64]"
        ),
    ),
    "output of a for loop": (inside(lambda ib, f, n: counting(ib, n).output().name), "total"),
    "outputs of a for loop": (
        inside(lambda ib, f, n: [v.name for v in counting(ib, n).outputs()]),
        ["total"],
    ),
    "result of a for loop": (
        text(lambda ib, f, n: counting(ib, n)),
        "for i, (total,) in pl.range(0, n, 1, init_values=(0,)):\n"
        "    total: pl.Scalar[pl.INT64] = pl.yield_(total + i)",
    ),
    "set_condition": (
        text(lambda ib, f, n: shrinking(ib, n)),
        "for (k,) in pl.while_(init_values=(n,)):\n"
        "    pl.cond(k > 0)\n"
        "    k: pl.Scalar[pl.INT64] = pl.yield_(k - 1)",
    ),
    "output of a while": (inside(lambda ib, f, n: shrinking(ib, n).output(index=0).name), "k"),
    "else_": (
        text(lambda ib, f, n: choosing(ib, n)),
        "if n > 0:\n    r: pl.Scalar[pl.INT64] = pl.yield_(n)\n"
        "else:\n    r: pl.Scalar[pl.INT64] = pl.yield_(-n)",
    ),
    "output of an if": (inside(lambda ib, f, n: choosing(ib, n).output(0).type), INT),
    "outputs are a list": (inside(lambda ib, f, n: class_of(choosing(ib, n).outputs())), list),
    "result of a scope": (
        inside(lambda ib, f, n: class_of(body_of(ib.scope(ir.InCore)))),
        ir.ScopeStmt,
    ),
    "declare_function twice": (
        with_program(lambda p: p.declare_function("g") is p.declare_function("g")),
        True,
    ),
    "get_global_var": (
        with_program(lambda p: p.declare_function("g") is p.get_global_var("g")),
        True,
    ),
    "add_function declares": (
        with_program(lambda p: p.add_function(function_in()) is p.get_global_var("f")),
        True,
    ),
    "add_function twice": (
        with_program(lambda p: [p.add_function(function_in()) for _ in range(2)]),
        Refused(ValueError, "the program has a function 'f' already"),
    ),
    "result of a program": (programmed, ["f"]),
}


def _with_params() -> ir.Function:
    with IB().function("f") as f:
        f.param("a", INT)
        f.param("b", INT, direction=ir.ParamDirection.Out)
        f.param("c", INT, SPAN, ir.ParamDirection.InOut)
        f.return_type(INT)
        f.return_type(FP32)
    return f.get_result()


@rows(BUILDERS)
def test_builders(make: Callable[[], Any], wanted: Any) -> None:
    """10.3: what the blocks offer while they are open, and afterwards."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# 10.4 Errors and structure of results
# --------------------------------------------------------------------------------------------


def enter(block: Any) -> Any:
    with block:
        pass


def uneven(ib: ir.IRBuilder, f: Any, n: ir.Var) -> None:
    with ib.for_loop(var("i"), 0, n, 1) as loop:
        loop.iter_arg("a", 0)


def uneven_while(ib: ir.IRBuilder, f: Any, n: ir.Var) -> None:
    with ib.while_loop(n > 0) as loop:
        loop.iter_arg("a", 0)


def param_in_loop(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    with ib.for_loop(var("i"), 0, n, 1):
        f.param("x", INT)


def type_in_if(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    with ib.if_stmt(n > 0):
        f.return_type(INT)


def two_elses(ib: ir.IRBuilder, f: Any, n: ir.Var) -> None:
    with ib.if_stmt(n > 0) as branch:
        branch.else_()
        branch.else_()


def else_in_loop(ib: ir.IRBuilder, f: Any, n: ir.Var) -> None:
    with ib.if_stmt(n > 0) as branch, ib.for_loop(var("i"), 0, n, 1):
        branch.else_()


def empty_else(ib: ir.IRBuilder, f: Any, n: ir.Var) -> Any:
    with ib.if_stmt(n > 0) as branch:
        ib.assign(n, 1)
        branch.else_()
    return branch.get_result().else_body


def early(name: str) -> Build:
    def build(ib: ir.IRBuilder, f: Any, n: ir.Var) -> Any:
        with ib.if_stmt(n > 0) as branch:
            return getattr(branch, name)()

    return build


def program_with(use: Callable[[ir.IRBuilder, Any], Any]) -> Callable[[], Any]:
    def make() -> Any:
        ib = IB()
        with ib.program("P") as p:
            return use(ib, p)
        raise AssertionError

    return make


SEVERAL: Build = lambda ib, f, n: (ib.assign(n, 1), ib.assign(n, 2))  # noqa: E731  a row's body

ERRORS: Table = {
    "function in a function": (
        inside(lambda ib, f, n: enter(ib.function("g"))),
        Refused(RuntimeError, "a function is inside another function"),
    ),
    "program in a program": (
        program_with(lambda ib, p: enter(ib.program("Q"))),
        Refused(RuntimeError, "a program is inside another block"),
    ),
    "program in a function": (
        inside(lambda ib, f, n: enter(ib.program("Q"))),
        Refused(RuntimeError, "a program is inside another block"),
    ),
    "for loop outside": (
        lambda: enter(IB().for_loop(var("i"), 0, 1, 1)),
        Refused(RuntimeError, "a for loop is outside a function"),
    ),
    "while loop outside": (
        lambda: enter(IB().while_loop(True)),
        Refused(RuntimeError, "a while loop is outside a function"),
    ),
    "emit outside": (
        lambda: IB().emit(ir.BreakStmt()),
        Refused(RuntimeError, "BreakStmt is outside a function"),
    ),
    "emit in a program": (
        program_with(lambda ib, p: ib.emit(ir.BreakStmt())),
        Refused(RuntimeError, "BreakStmt is outside a function"),
    ),
    "assign outside": (
        lambda: IB().assign(var("x"), 1),
        Refused(RuntimeError, "AssignStmt is outside"),
    ),
    "let outside": (lambda: IB().let("x", 1), Refused(RuntimeError, "AssignStmt is outside")),
    "eval_stmt outside": (
        lambda: IB().eval_stmt(var("x")),
        Refused(RuntimeError, "EvalStmt is outside"),
    ),
    "return outside": (
        lambda: IB().return_stmt(1),
        Refused(RuntimeError, "ReturnStmt is outside"),
    ),
    "if outside": (lambda: enter(IB().if_stmt(True)), Refused(ValueError, "an if is outside")),
    "scope outside": (
        lambda: enter(IB().scope(ir.InCore)),
        Refused(ValueError, "a scope is outside"),
    ),
    "fewer results than iter_args": (
        inside(uneven),
        Refused(RuntimeError, "a loop with 1 iter_args has 0 return_vars"),
    ),
    "the same of a while": (
        inside(uneven_while),
        Refused(RuntimeError, "a loop with 1 iter_args has 0 return_vars"),
    ),
    "param in a loop": (
        inside(param_in_loop),
        Refused(ValueError, "param belongs directly in the block of its function"),
    ),
    "return_type in an if": (
        inside(type_in_if),
        Refused(ValueError, "return_type belongs directly in the block"),
    ),
    "else_ twice": (inside(two_elses), Refused(ValueError, "an if has one else")),
    "else_ in an inner block": (
        inside(else_in_loop),
        Refused(ValueError, "else_ belongs directly in the block of its if"),
    ),
    "get_global_var of nothing": (
        with_program(lambda p: p.get_global_var("g")),
        Refused(RuntimeError, "function 'g' is not declared"),
    ),
    "get_result too early": (inside(early("get_result")), Refused(AssertionError, "has ended")),
    "output too early": (inside(early("output")), Refused(AssertionError, "has ended")),
    "outputs too early": (inside(early("outputs")), Refused(AssertionError, "has ended")),
    "function too early": (
        inside(lambda ib, f, n: f.get_result()),
        Refused(AssertionError, "has ended"),
    ),
    "output 1 of 1": (
        inside(lambda ib, f, n: choosing(ib, n).output(1)),
        Refused(IndexError, "output 1 of a block with 1 results"),
    ),
    "output -1": (
        inside(lambda ib, f, n: choosing(ib, n).output(-1)),
        Refused(IndexError, "output -1"),
    ),
    "body of one statement": (
        lambda: class_of(_body(lambda ib, f, n: ib.assign(n, 1))),
        ir.AssignStmt,
    ),
    "body of several": (lambda: class_of(_body(SEVERAL)), ir.SeqStmts),
    "body of none": (
        lambda: (lambda b: (type(b), len(b.stmts)))(_body(lambda ib, f, n: None)),
        (ir.SeqStmts, 0),
    ),
    "else without statements": (inside(empty_else), None),
    "an unknown name": (lambda: call(IB().function), Refused(TypeError, "name")),
}


def _body(build: Build) -> Any:
    ib = IB()
    with ib.function("f") as f:
        build(ib, f, f.param("n", INT))
    return f.get_result().body


@rows(ERRORS)
def test_errors(make: Callable[[], Any], wanted: Any) -> None:
    """10.4: misuse, and the structure of bodies."""
    check(make, wanted)


def test_spans_are_the_users() -> None:
    """10.4: nodes of blocks have the line of their ``with``, A20; others that of the call."""
    ib = IB()
    with ib.function("f") as f:
        line = here() - 1
        n = f.param("n", INT)
        with ib.for_loop(ib.var("i", INT), 0, n, 1) as loop:
            ib.assign(n, 1)
        with ib.if_stmt(n > 0) as branch:
            pass
    places = [f.get_result().span, n.span, loop.get_result().span, branch.get_result().span]
    assert [(s.filename, s.begin_line - line) for s in places] == [
        (__file__, 0),
        (__file__, 2),
        (__file__, 3),
        (__file__, 5),
    ]
    assert statements(loop.get_result().body)[0].span.begin_line == line + 4


# --------------------------------------------------------------------------------------------
# Completion: yields, iter_args and results for variables assigned in loops and branches
# --------------------------------------------------------------------------------------------


def completed(build: Build) -> Callable[[], str]:
    """Return a function that returns the text of ``build``'s function in SSA form, verified."""

    def make() -> str:
        ib = IB()
        with ib.function("f") as f:
            build(ib, f, f.param("n", INT))
        function = f.get_result(ssa=True)
        ir.IRVerifier.create_default().verify_or_throw(ir.Program([function], "P"))
        return str(function.body)

    return make


def sum_up(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    f.return_type(INT)
    total = ib.let("total", 0)
    i = ib.var("i", INT)
    with ib.for_loop(i, 0, n, 1):
        ib.assign(total, total + i)
    ib.return_stmt(total)


def count_down(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    f.return_type(INT)
    k = ib.let("k", n)
    with ib.while_loop(k > 9):
        ib.assign(k, k - 9)
    ib.return_stmt(k)


def one_branch(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    f.return_type(INT)
    sign = ib.let("sign", 1)
    with ib.if_stmt(n < 0):
        ib.assign(sign, -1)
    ib.return_stmt(sign)


def other_branch(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    f.return_type(INT)
    a, b = ib.let("a", 1), ib.let("b", 2)
    with ib.if_stmt(n < 0) as branch:
        ib.assign(a, 3)
        branch.else_()
        ib.assign(b, 4)
    ib.return_stmt(a + b)


def both_branches(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    f.return_type(INT)
    y = ib.var("y", INT)
    with ib.if_stmt(n < 0) as branch:
        ib.assign(y, 3)
        branch.else_()
        ib.assign(y, 4)
    ib.return_stmt(y)


def unread(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    with ib.if_stmt(n < 0):
        ib.let("only_here", 3)


def explicit_and_not(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    f.return_type(INT)
    count = ib.let("count", 0)
    i = ib.var("i", INT)
    with ib.for_loop(i, 0, n, 1) as loop:
        total = loop.iter_arg("total", 0)
        result = loop.return_var("sum")
        ib.assign(count, count + 1)
        ib.emit(ir.YieldStmt([total + i]))
    ib.return_stmt(result + count)


def leaving(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    f.return_type(INT)
    found = ib.let("found", -1)
    i = ib.var("i", INT)
    with ib.for_loop(i, 0, 8, 1), ib.if_stmt(i * i > n):
        ib.assign(found, i)
        ib.emit(ir.BreakStmt())
    ib.return_stmt(found)


def already(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> None:
    f.return_type(INT)
    ib.return_stmt(counting(ib, n).output())


COMPLETED: Table = {
    "a loop": (
        completed(sum_up),
        """\
total_0: pl.Scalar[pl.INT64] = 0
for i, (total_iter,) in pl.range(0, n, 1, init_values=(total_0,)):
    total_1: pl.Scalar[pl.INT64] = total_iter + i
    total_2: pl.Scalar[pl.INT64] = pl.yield_(total_1)
return total_2""",
    ),
    "a while, whose condition reads the variable": (
        completed(count_down),
        """\
k_0: pl.Scalar[pl.INT64] = n
for (k_iter,) in pl.while_(init_values=(k_0,)):
    pl.cond(k_iter > 9)
    k_1: pl.Scalar[pl.INT64] = k_iter - 9
    k_2: pl.Scalar[pl.INT64] = pl.yield_(k_1)
return k_2""",
    ),
    "an else that is not there yields the value before": (
        completed(one_branch),
        """\
sign_0: pl.Scalar[pl.INT64] = 1
if n < 0:
    sign_1: pl.Scalar[pl.INT64] = -1
    sign_2: pl.Scalar[pl.INT64] = pl.yield_(sign_1)
else:
    sign_2: pl.Scalar[pl.INT64] = pl.yield_(sign_0)
return sign_2""",
    ),
    "branches that assign different variables": (
        completed(other_branch),
        """\
a_0: pl.Scalar[pl.INT64] = 1
b_0: pl.Scalar[pl.INT64] = 2
if n < 0:
    a_1: pl.Scalar[pl.INT64] = 3
    a_2, b_2 = pl.yield_(a_1, b_0)
else:
    b_1: pl.Scalar[pl.INT64] = 4
    a_2, b_2 = pl.yield_(a_0, b_1)
return a_2 + b_2""",
    ),
    "branches that both assign, A8": (
        completed(both_branches),
        """\
if n < 0:
    y_0: pl.Scalar[pl.INT64] = 3
    y_2: pl.Scalar[pl.INT64] = pl.yield_(y_0)
else:
    y_1: pl.Scalar[pl.INT64] = 4
    y_2: pl.Scalar[pl.INT64] = pl.yield_(y_1)
return y_2""",
    ),
    "what nobody reads is not handed on": (
        completed(unread),
        "if n < 0:\n    only_here: pl.Scalar[pl.INT64] = 3",
    ),
    "explicit iter_args come first, A8": (
        completed(explicit_and_not),
        """\
count_0: pl.Scalar[pl.INT64] = 0
for i, (total, count_iter) in pl.range(0, n, 1, init_values=(0, count_0)):
    count_1: pl.Scalar[pl.INT64] = count_iter + 1
    sum, count_2 = pl.yield_(total + i, count_1)
return sum + count_2""",
    ),
    "a break becomes a condition": (
        completed(leaving),
        """\
found_0: pl.Scalar[pl.INT64] = -1
broke_0: pl.Scalar[pl.BOOL] = False
for i, (broke_iter, found_iter) in pl.range(0, 8, 1, init_values=(broke_0, found_0)):
    if not broke_iter:
        if i * i > n:
            found_1: pl.Scalar[pl.INT64] = i
            broke_1: pl.Scalar[pl.BOOL] = True
            broke_2, found_2 = pl.yield_(broke_1, found_1)
        else:
            broke_2, found_2 = pl.yield_(broke_iter, found_iter)
        broke_3, found_3 = pl.yield_(broke_2, found_2)
    else:
        broke_3, found_3 = pl.yield_(broke_iter, found_iter)
    broke_4, found_4 = pl.yield_(broke_3, found_3)
return found_4""",
    ),
    "what is complete stays": (
        completed(already),
        """\
for i, (total,) in pl.range(0, n, 1, init_values=(0,)):
    total: pl.Scalar[pl.INT64] = pl.yield_(total + i)
return total""",
    ),
}


@rows(COMPLETED)
def test_completion(make: Callable[[], Any], wanted: Any) -> None:
    """On request the builder adds iter_args, yields, results and else branches."""
    check(make, wanted)


@pytest.mark.parametrize(
    ("build", "argument", "result"),
    [
        (sum_up, 5, 10),
        (count_down, 30, 3),
        (one_branch, -2, -1),
        (one_branch, 2, 1),
        (other_branch, -1, 5),
        (other_branch, 1, 5),
        (both_branches, 0, 4),
        (leaving, 10, 4),
        (leaving, 100, -1),
        (explicit_and_not, 4, 10),
    ],
)
def test_completed_programs_run(build: Build, argument: int, result: int) -> None:
    """The completed function computes what the assignments say."""
    from pypto import runtime

    ib = IB()
    with ib.function("f") as f:
        build(ib, f, f.param("n", INT))
    program = ir.Program([f.get_result(ssa=True)], "P")
    assert runtime.compile(program, target="interpreter")(argument) == result


def test_plain_result_stays() -> None:
    """Without the request the function is as it was written, and the same object every time."""
    ib = IB()
    with ib.function("f") as f:
        sum_up(ib, f, f.param("n", INT))
    assert f.get_result() is f.get_result()
    assert "total = " not in str(f.get_result(ssa=True))
    assert str(f.get_result().body) == (
        "total: pl.Scalar[pl.INT64] = 0\n"
        "for i in pl.range(0, n, 1):\n"
        "    total: pl.Scalar[pl.INT64] = total + i\n"
        "return total"
    )


def test_complete_function_is_returned_itself() -> None:
    """A function already in SSA form is not copied."""
    ib = IB()
    with ib.function("f") as f:
        already(ib, f, f.param("n", INT))
    assert f.get_result(ssa=True) is f.get_result()


def no_value_in_branch(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> int:
    y = ib.var("y", INT)
    with ib.if_stmt(n < 0):
        line = here() - 1
        ib.assign(y, 3)
    ib.return_stmt(y)
    return line


def no_value_in_loop(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> int:
    y = ib.var("y", INT)
    with ib.for_loop(ib.var("i", INT), 0, n, 1):
        line = here() - 1
        ib.assign(y, 3)
    ib.return_stmt(y)
    return line


def no_value_at_all(ib: ir.IRBuilder, f: FunctionBuilder, n: ir.Var) -> int:
    y = ib.var("y", INT)
    with ib.if_stmt(n < 0):
        ib.assign(n, y)
        line = here() - 1
        ib.assign(y, 3)
    return line


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (no_value_in_branch, "'y' is assigned in one branch of this if only, and read after it"),
        (
            no_value_in_loop,
            "'y' is first assigned in this loop, and read by the next iteration or after it",
        ),
        (no_value_at_all, "'y' is read here, and some paths to this statement do not assign it"),
    ],
)
def test_missing_values(build: Callable[..., int], message: str) -> None:
    """A variable without an earlier value is an error that names it and its source line."""
    ib = IB()
    with ib.function("f") as f:
        line = build(ib, f, f.param("n", INT))
    with pytest.raises(PassError) as caught:
        f.get_result(ssa=True)
    assert caught.value.message == message
    assert (caught.value.span.filename, caught.value.span.begin_line) == (__file__, line)
    assert f"--> {__file__}:{line}" in caught.value.render()
    assert caught.value.slug == "maybe-unassigned"
