"""Section 10.5 of the API: the builder of the native module, with begin and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pypto import ir
from pypto.pypto_core.ir import IRBuilder

INT = ir.ScalarType(ir.INT64)
BOOL = ir.ScalarType(ir.BOOL)
TENSOR = ir.TensorType([8], ir.FP32)


def at(line: int, column: int = 4) -> ir.Span:
    return ir.Span("front.end", line, column)


SPAN = at(1)


def var(name: str, kind: ir.Type = INT) -> ir.Var:
    return ir.Var(name, kind)


# --------------------------------------------------------------------------------- what is built


def straight(ib: IRBuilder) -> ir.Function:
    ib.begin_function("f", at(1), type=ir.FunctionType.InCore)
    x = ib.func_arg("x", INT, at(1, 8))
    ib.func_arg("out", TENSOR, at(1, 16), direction=ir.ParamDirection.Out)
    ib.return_type(INT)
    y = ib.var("y", INT, at(2))
    ib.assign(y, x * 2, at(2))
    ib.emit(ir.EvalStmt(ir.Call(ir.Op("note"), [y]), at(3)))
    ib.return_([y], at(4))
    return ib.end_function(at(5))


def for_loop(ib: IRBuilder) -> ir.Function:
    ib.begin_function("f", at(1))
    n = ib.func_arg("n", INT, at(1))
    ib.return_type(INT)
    i, total = var("i"), var("total")
    carried = ir.IterArg("acc", INT, 0)
    ib.begin_for_loop(i, 0, n, 1, at(2), kind=ir.ForKind.Parallel)
    ib.add_iter_arg(carried)
    ib.add_return_var(total)
    ib.emit(ir.YieldStmt([carried + i], at(3)))
    ib.end_for_loop(at(4))
    ib.return_([total], at(5))
    return ib.end_function(at(6))


def while_loop(ib: IRBuilder) -> ir.Function:
    ib.begin_function("f", at(1))
    n = ib.func_arg("n", INT, at(1))
    ib.return_type(INT)
    carried, last = ir.IterArg("k", INT, 0), var("last")
    ib.begin_while_loop(ir.ConstBool(True), at(2))
    ib.add_while_iter_arg(carried)
    ib.add_while_return_var(last)
    ib.set_while_loop_condition(cond=carried < n)
    ib.emit(ir.YieldStmt([carried + 1], at(3)))
    ib.end_while_loop(at(4))
    ib.return_([last], at(5))
    return ib.end_function(at(6))


def branch(ib: IRBuilder) -> ir.Function:
    ib.begin_function("f", at(1))
    n = ib.func_arg("n", INT, at(1))
    ib.return_type(INT)
    result = var("r")
    ib.begin_if(n < 3, at(2))
    ib.add_if_return_var(result)
    ib.emit(ir.YieldStmt([n], at(3)))
    ib.begin_else(at(4))
    ib.emit(ir.YieldStmt([n - 3], at(5)))
    ib.end_if(at(6))
    ib.return_([result], at(7))
    return ib.end_function(at(8))


def no_else(ib: IRBuilder) -> ir.Function:
    ib.begin_function("f", at(1))
    n = ib.func_arg("n", INT, at(1))
    ib.begin_if(n < 3, at(2))
    ib.emit(ir.EvalStmt(ir.Call(ir.Op("note"), [n]), at(3)))
    ib.end_if(at(4))
    ib.return_(at(5))
    return ib.end_function(at(6))


def scope(ib: IRBuilder) -> ir.Function:
    ib.begin_function("f", at(1))
    n = ib.func_arg("n", INT, at(1))
    ib.begin_scope(ir.ScopeKind.InCore, at(2))
    ib.assign(ib.var("y", INT, at(3)), n, at(3))
    ib.assign(ib.var("z", INT, at(4)), n, at(4))
    ib.end_scope(at(5))
    return ib.end_function(at(6))


def empty(ib: IRBuilder) -> ir.Function:
    ib.begin_function("f", at(1))
    return ib.end_function(at(2))


def program(ib: IRBuilder) -> ir.Program:
    ib.begin_program("P", at(1))
    helper = ib.declare_function("helper")
    ib.begin_function("main", at(2))
    n = ib.func_arg("n", INT, at(2))
    ib.return_type(INT)
    y = ib.var("y", INT, at(3))
    ib.assign(y, ir.Call(helper, [n], INT, at(3)), at(3))
    ib.return_([y], at(4))
    ib.add_function(ib.end_function(at(5)))
    ib.begin_function("helper", at(6))
    n = ib.func_arg("n", INT, at(6))
    ib.return_type(INT)
    ib.return_([n + 1], at(7))
    ib.add_function(ib.end_function(at(8)))
    return ib.end_program(at(9))


I64 = "pl.Scalar[pl.INT64]"
MADE: list[tuple[Callable[[IRBuilder], ir.IRNode], str]] = [
    (
        straight,
        "@pl.function(type=pl.FunctionType.InCore)\n"
        f"def f(x: {I64}, out: pl.Out[pl.Tensor[[8], pl.FP32]]) -> {I64}:\n"
        f"    y: {I64} = x * 2\n"
        "    note(y)\n"
        "    return y",
    ),
    (
        for_loop,
        "@pl.function\n"
        f"def f(n: {I64}) -> {I64}:\n"
        "    for i, (acc,) in pl.parallel(0, n, 1, init_values=(0,)):\n"
        f"        total: {I64} = pl.yield_(acc + i)\n"
        "    return total",
    ),
    (
        while_loop,
        "@pl.function\n"
        f"def f(n: {I64}) -> {I64}:\n"
        "    for (k,) in pl.while_(init_values=(0,)):\n"
        "        pl.cond(k < n)\n"
        f"        last: {I64} = pl.yield_(k + 1)\n"
        "    return last",
    ),
    (
        branch,
        "@pl.function\n"
        f"def f(n: {I64}) -> {I64}:\n"
        "    if n < 3:\n"
        f"        r: {I64} = pl.yield_(n)\n"
        "    else:\n"
        f"        r: {I64} = pl.yield_(n - 3)\n"
        "    return r",
    ),
    (
        no_else,
        f"@pl.function\ndef f(n: {I64}):\n    if n < 3:\n        note(n)\n    return",
    ),
    (
        scope,
        "@pl.function\n"
        f"def f(n: {I64}):\n"
        "    with pl.incore():\n"
        f"        y: {I64} = n\n"
        f"        z: {I64} = n",
    ),
    (empty, "@pl.function\ndef f():\n    pass"),
    (
        program,
        "# pypto.program: P\n"
        "import pypto.language as pl\n"
        "\n"
        "@pl.program\n"
        "class P:\n"
        "    @pl.function\n"
        f"    def helper(self, n: {I64}) -> {I64}:\n"
        "        return n + 1\n"
        "    @pl.function\n"
        f"    def main(self, n: {I64}) -> {I64}:\n"
        f"        y: {I64} = self.helper(n)\n"
        "        return y",
    ),
]


@pytest.mark.parametrize(("make", "text"), MADE, ids=[make.__name__ for make, _ in MADE])
def test_what_is_made(make: Callable[[IRBuilder], ir.IRNode], text: str) -> None:
    """The calls of each example build this text, and leave no block of the builder open."""
    ib = IRBuilder()
    assert str(make(ib)) == text
    assert (ib.in_function(), ib.in_program(), ib.in_loop(), ib.in_if()) == (False,) * 4
    assert str(make(ib)) == text  # and the same builder can build it again


@pytest.mark.parametrize(("make", "_text"), MADE, ids=[make.__name__ for make, _ in MADE])
def test_what_is_made_is_valid(make: Callable[[IRBuilder], ir.IRNode], _text: str) -> None:
    """The verifier finds nothing in what the examples build."""
    node = make(IRBuilder())
    whole = node if isinstance(node, ir.Program) else ir.Program([node], "p")  # pyright: ignore[reportArgumentType]
    assert [found.message for found in ir.IRVerifier.create_default().verify(whole)] == []


def test_both_builders_make_the_same() -> None:
    """The high-level builder builds the same loop as the low-level one."""
    ib = ir.IRBuilder()
    with ib.function("f") as f:
        n = f.param("n", INT)
        f.return_type(INT)
        i = ib.var("i", INT)
        with ib.for_loop(i, 0, n, 1, kind=ir.ForKind.Parallel) as loop:
            carried = loop.iter_arg("acc", 0)
            loop.return_var("total")
            ib.emit(ir.YieldStmt([carried + i]))
        ib.return_stmt(loop.output())
    ir.assert_structural_equal(f.get_result(), for_loop(IRBuilder()))


def test_ends_return_the_node_that_was_appended() -> None:
    """The end call of a statement returns it, and it is in the enclosing block."""
    ib = IRBuilder()
    ib.begin_function("f", SPAN)
    ib.begin_for_loop(var("i"), 0, 1, 1, SPAN)
    loop = ib.end_for_loop(SPAN)
    ib.begin_while_loop(ir.ConstBool(False), SPAN)
    again = ib.end_while_loop(SPAN)
    ib.begin_if(ir.ConstBool(True), SPAN)
    choice = ib.end_if(SPAN)
    ib.begin_scope(ir.ScopeKind.InCore, SPAN)
    region = ib.end_scope(SPAN)
    given = ib.assign(var("x"), 1, SPAN)
    last = ib.return_([3, 4.5], SPAN)
    body = ib.end_function(SPAN).body
    assert isinstance(body, ir.SeqStmts)
    wanted = [loop, again, choice, region, given, last]
    assert [a is b for a, b in zip(body.stmts, wanted, strict=True)] == [True] * 6
    kinds = [ir.ForStmt, ir.WhileStmt, ir.IfStmt, ir.ScopeStmt, ir.AssignStmt, ir.ReturnStmt]
    assert [type(stmt) for stmt in wanted] == kinds
    assert [str(value) for value in last.value] == ["3", "4.5"]


def span_of(node: ir.IRNode) -> tuple[int, int, int, int]:
    span = node.span
    return span.begin_line, span.begin_column, span.end_line, span.end_column


SPANS: list[tuple[str, ir.Span, ir.Span, tuple[str, int, int, int, int]]] = [
    ("begin to begin", at(2), at(9, 7), ("front.end", 2, 4, 9, 7)),
    ("begin to end", at(2), ir.Span("front.end", 5, 0, 6, 3), ("front.end", 2, 4, 6, 3)),
    ("no end", at(2), ir.Span.unknown(), ("front.end", 2, 4, -1, -1)),
    ("no begin", ir.Span.unknown(), at(9), ("front.end", 9, 4, -1, -1)),
    ("other file", at(2), ir.Span("else", 9, 4), ("front.end", 2, 4, -1, -1)),
]


@pytest.mark.parametrize(
    ("begin", "end", "found"), [row[1:] for row in SPANS], ids=[row[0] for row in SPANS]
)
def test_places(begin: ir.Span, end: ir.Span, found: tuple[str, int, int, int, int]) -> None:
    """A node extends from the span of its begin to that of its end."""
    ib = IRBuilder()
    ib.begin_function("f", begin)
    function = ib.end_function(end)
    assert (function.span.filename, *span_of(function)) == found


def test_places_of_statements() -> None:
    """Parameters, variables and statements have the spans passed for them."""
    function = straight(IRBuilder())
    assert isinstance(function.body, ir.SeqStmts)
    lines = [stmt.span.begin_line for stmt in function.body.stmts]
    columns = [param.span.begin_column for param in function.params]
    assert (lines, columns, span_of(function)) == ([2, 3, 4], [8, 16], (1, 4, 5, 4))


# ------------------------------------------------------------------------------ current position

WHERE: list[tuple[str, Callable[[IRBuilder], object], tuple[bool, bool, bool, bool]]] = [
    # in_function, in_loop, in_if, in_program
    ("nowhere", lambda ib: None, (False, False, False, False)),
    ("program", lambda ib: ib.begin_program("p", SPAN), (False, False, False, True)),
    ("function", lambda ib: opened(ib), (True, False, False, False)),
    ("for", lambda ib: opened(ib, "for"), (True, True, False, False)),
    ("while", lambda ib: opened(ib, "while"), (True, False, False, False)),
    ("if", lambda ib: opened(ib, "if"), (True, False, True, False)),
    ("scope", lambda ib: opened(ib, "scope"), (True, False, False, False)),
    ("if in for", lambda ib: opened(ib, "for", "if"), (True, False, True, False)),
    ("for in if", lambda ib: opened(ib, "if", "for"), (True, True, False, False)),
    ("function in program", lambda ib: opened(ib, program=True), (True, False, False, True)),
    ("for in program", lambda ib: opened(ib, "for", program=True), (True, True, False, True)),
]


def opened(ib: IRBuilder, *blocks: str, program: bool = False) -> IRBuilder:
    """Open a function and these blocks in it."""
    if program:
        ib.begin_program("p", SPAN)
    ib.begin_function("f", SPAN)
    begin: dict[str, Callable[[], None]] = {
        "for": lambda: ib.begin_for_loop(var("i"), 0, 1, 1, SPAN),
        "while": lambda: ib.begin_while_loop(ir.ConstBool(True), SPAN),
        "if": lambda: ib.begin_if(ir.ConstBool(True), SPAN),
        "scope": lambda: ib.begin_scope(ir.ScopeKind.InCore, SPAN),
    }
    for block in blocks:
        begin[block]()
    return ib


@pytest.mark.parametrize(
    ("go", "answers"), [row[1:] for row in WHERE], ids=[row[0] for row in WHERE]
)
def test_where_it_is(
    go: Callable[[IRBuilder], object], answers: tuple[bool, bool, bool, bool]
) -> None:
    """Functions and programs are found at any depth, loops and branches only as innermost block."""
    ib = IRBuilder()
    go(ib)
    assert (ib.in_function(), ib.in_loop(), ib.in_if(), ib.in_program()) == answers


# ----------------------------------------------------------------------------------------- misuse

NO_FUNCTION = "this belongs directly into a function, and no block is open"
ERRORS: list[tuple[str, Callable[[IRBuilder], object], type[Exception], str]] = [
    ("function in function", lambda ib: opened(ib).begin_function("g", SPAN), RuntimeError,
     "a function is inside another function"),
    ("program in program", lambda ib: opened(ib, program=True).begin_program("q", SPAN),
     RuntimeError, "a program is inside another block"),
    ("program in function", lambda ib: opened(ib).begin_program("q", SPAN), RuntimeError,
     "a program is inside another block"),
    ("for outside", lambda ib: ib.begin_for_loop(var("i"), 0, 1, 1, SPAN), RuntimeError,
     "a for loop is outside a function"),
    ("while outside", lambda ib: ib.begin_while_loop(1, SPAN), RuntimeError,
     "a while loop is outside a function"),
    ("if outside", lambda ib: ib.begin_if(1, SPAN), ValueError,
     "an if is outside a function"),
    ("scope outside", lambda ib: ib.begin_scope(ir.InCore, SPAN), ValueError,
     "a scope is outside a function"),
    ("emit outside", lambda ib: ib.emit(ir.BreakStmt()), RuntimeError,
     "BreakStmt is outside a function"),
    ("assign outside", lambda ib: ib.assign(var("x"), 1, SPAN), RuntimeError,
     "AssignStmt is outside a function"),
    ("return outside", lambda ib: ib.return_(SPAN), RuntimeError,
     "ReturnStmt is outside a function"),
    ("emit into a program", lambda ib: (ib.begin_program("p", SPAN), ib.emit(ir.BreakStmt())),
     RuntimeError, "BreakStmt is outside a function"),
    ("func_arg outside", lambda ib: ib.func_arg("x", INT, SPAN), RuntimeError, NO_FUNCTION),
    ("func_arg in a loop", lambda ib: opened(ib, "for").func_arg("x", INT, SPAN), ValueError,
     "func_arg belongs directly in the block of its function"),
    ("return_type in an if", lambda ib: opened(ib, "if").return_type(INT), ValueError,
     "return_type belongs directly in the block of its function"),
    ("end without begin", lambda ib: ib.end_function(SPAN), RuntimeError, NO_FUNCTION),
    ("end of a function in a loop", lambda ib: opened(ib, "for").end_function(SPAN), RuntimeError,
     "this belongs directly into a function, and a for loop is open"),
    ("end_for_loop of a while", lambda ib: opened(ib, "while").end_for_loop(SPAN), RuntimeError,
     "this belongs directly into a for loop, and a while loop is open"),
    ("end_while_loop of a for", lambda ib: opened(ib, "for").end_while_loop(SPAN), RuntimeError,
     "this belongs directly into a while loop, and a for loop is open"),
    ("end_if of a scope", lambda ib: opened(ib, "scope").end_if(SPAN), RuntimeError,
     "this belongs directly into an if, and a scope is open"),
    ("end_scope of an if", lambda ib: opened(ib, "if").end_scope(SPAN), RuntimeError,
     "this belongs directly into a scope, and an if is open"),
    ("end_program in a function", lambda ib: opened(ib, program=True).end_program(SPAN),
     RuntimeError, "this belongs directly into a program, and a function is open"),
    ("iter_arg outside", lambda ib: opened(ib).add_iter_arg(ir.IterArg("a", INT, 0)), RuntimeError,
     "this belongs directly into a for loop, and a function is open"),
    ("return_var of a while", lambda ib: opened(ib, "while").add_return_var(var("r")), RuntimeError,
     "this belongs directly into a for loop, and a while loop is open"),
    ("while condition of a for", lambda ib: opened(ib, "for").set_while_loop_condition(1),
     RuntimeError, "this belongs directly into a while loop, and a for loop is open"),
    ("else without if", lambda ib: opened(ib).begin_else(SPAN), RuntimeError,
     "this belongs directly into an if, and a function is open"),
    ("else twice", lambda ib: (opened(ib, "if").begin_else(SPAN), ib.begin_else(SPAN)), ValueError,
     "an if has one else"),
    ("iter_arg without result", lambda ib: (opened(ib, "for").add_iter_arg(ir.IterArg("a", INT, 0)),
                                            ib.end_for_loop(SPAN)), RuntimeError,
     "a loop with 1 iter_args has 0 return_vars"),
    ("result without iter_arg", lambda ib: (opened(ib, "while").add_while_return_var(var("r")),
                                            ib.end_while_loop(SPAN)), RuntimeError,
     "a loop with 0 iter_args has 1 return_vars"),
    ("declare outside", lambda ib: ib.declare_function("f"), RuntimeError,
     "no program is open: call begin_program first"),
    ("declare in a lone function", lambda ib: opened(ib).declare_function("g"), RuntimeError,
     "no program is open: call begin_program first"),
    ("undeclared", lambda ib: opened(ib, program=True).get_global_var("g"), RuntimeError,
     "function 'g' is not declared: call declare_function first"),
    ("two of one name", lambda ib: (ib.begin_program("p", SPAN), *twice(ib)), ValueError,
     "the program has a function 'f' already"),
]  # fmt: skip


def twice(ib: IRBuilder) -> list[Any]:
    function = empty(IRBuilder())
    return [ib.add_function(function), ib.add_function(function)]


@pytest.mark.parametrize(
    ("misuse", "kind", "text"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS]
)
def test_misuse(misuse: Callable[[IRBuilder], object], kind: type[Exception], text: str) -> None:
    """A misplaced call raises the class of section 10.4, and says what is open."""
    with pytest.raises(kind) as caught:
        misuse(IRBuilder())
    assert (type(caught.value), str(caught.value)) == (kind, text)


# ---------------------------------------------------------------------------------------- programs


def test_declared_functions() -> None:
    """Declaring is idempotent and allows calls of later functions, and of the function itself."""
    ib = IRBuilder()
    ib.begin_program("p", SPAN)
    first = ib.declare_function("f")
    assert ib.declare_function("f") is first is ib.get_global_var("f")
    assert ib.get_function_return_types(first) == []
    ib.begin_function("f", SPAN)
    assert ib.get_global_var("f") is first  # also inside a function
    n = ib.func_arg("n", INT, SPAN)
    ib.return_type(INT)
    ib.return_type(BOOL)
    ib.return_([ir.Call(first, [n], INT), ir.ConstBool(True)], SPAN)
    ib.add_function(ib.end_function(SPAN))
    assert ib.get_function_return_types(first) == [INT, BOOL]
    made = ib.end_program(at(2))
    assert [function.name for function in made.functions.values()] == ["f"]
    assert span_of(made) == (1, 4, 2, 4)


def test_an_error_at_the_end_leaves_the_block() -> None:
    """After a loop that could not be closed the builder continues in the enclosing block."""
    ib = opened(IRBuilder(), "for")
    ib.add_iter_arg(ir.IterArg("a", INT, 0))
    with pytest.raises(RuntimeError, match="1 iter_args"):
        ib.end_for_loop(SPAN)
    assert (ib.in_loop(), ib.in_function()) == (False, True)
    assert str(ib.end_function(SPAN)) == "@pl.function\ndef f():\n    pass"
