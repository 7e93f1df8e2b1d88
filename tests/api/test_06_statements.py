"""API section 6: statements, functions, programs, and the parent of each statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pypto import InternalError, ir
from tests.api.facts import Refused, Table, check, rows
from tests.ir.samples import BOOL, FP32, INT, function, var

SPAN = ir.Span("k.py", 3, 4)
x, y, i, flag = var("x"), var("y"), var("i"), var("flag", BOOL)
carried = ir.IterArg("a", INT, 0)
stop, go = ir.BreakStmt(), ir.ContinueStmt()
TILE = ir.TensorType([8], ir.FP32)


def call(make: Any, *args: Any, **named: Any) -> Any:
    """Call with arguments that the types forbid."""
    return make(*args, **named)


def texts(nodes: Any) -> list[str]:
    return [str(node) for node in nodes]


def loop(*args: Any, **named: Any) -> ir.ForStmt:
    return ir.ForStmt(i, 0, x, 2, [carried], stop, [y], *args, **named)


def document_loop() -> ir.ForStmt:
    """Return the loop of document 002's third example, which has no iter_args."""
    return ir.ForStmt(i, 0, 4, 1, [stop, go], [y], SPAN)


STATEMENTS: Table = {
    "AssignStmt": (
        lambda: (ir.AssignStmt(x, y, SPAN).var is x, ir.AssignStmt(x, y).value is y),
        (True, True),
    ),
    "AssignStmt by keywords": (lambda: str(ir.AssignStmt(var=x, value=y, span=SPAN).var), "x"),
    "AssignStmt of a number": (lambda: ir.AssignStmt(x, 3).value.type, INT),
    "AssignStmt to no variable": (
        lambda: call(ir.AssignStmt, "x", 1),
        Refused(TypeError, "the target of an assignment is of type Var"),
    ),
    "AssignStmt of no value": (lambda: call(ir.AssignStmt, x, "1"), Refused(TypeError, "got str")),
    "AssignStmt without a value": (lambda: call(ir.AssignStmt, x), Refused(TypeError, "value")),
    "EvalStmt": (lambda: ir.EvalStmt(x, SPAN).expr is x, True),
    "EvalStmt of no value": (lambda: call(ir.EvalStmt, stop), Refused(TypeError, "got BreakStmt")),
    "YieldStmt(values, span)": (lambda: texts(ir.YieldStmt([x, 1], SPAN).value), ["x", "1"]),
    "YieldStmt(span)": (
        lambda: (len(ir.YieldStmt(SPAN).value), ir.YieldStmt(SPAN).span is SPAN),
        (0, True),
    ),
    "YieldStmt()": (lambda: len(ir.YieldStmt().value), 0),
    "YieldStmt of a text": (lambda: call(ir.YieldStmt, "ab"), Refused(TypeError, "got str")),
    "ReturnStmt(values, span)": (lambda: texts(ir.ReturnStmt([x, 1], SPAN).value), ["x", "1"]),
    "ReturnStmt(span)": (
        lambda: (len(ir.ReturnStmt(SPAN).value), ir.ReturnStmt(SPAN).span is SPAN),
        (0, True),
    ),
    "BreakStmt": (lambda: ir.BreakStmt(SPAN).span is SPAN, True),
    "ContinueStmt": (lambda: ir.ContinueStmt(SPAN).span is SPAN, True),
    "BreakStmt of no span": (
        lambda: call(ir.BreakStmt, 3),
        Refused(TypeError, "the span of a BreakStmt is of type Span"),
    ),
    "IfStmt": (
        lambda: [
            str(ir.IfStmt(flag, stop, go, [y], SPAN).condition),
            *texts(ir.IfStmt(flag, stop, go, [y]).return_vars),
        ],
        ["flag", "y"],
    ),
    "IfStmt bodies": (
        lambda: (
            ir.IfStmt(flag, stop, go, []).then_body is stop,
            ir.IfStmt(flag, stop, go, []).else_body is go,
        ),
        (True, True),
    ),
    "IfStmt without else": (lambda: ir.IfStmt(flag, stop, None, [], SPAN).else_body, None),
    "IfStmt with lists, document 002": (
        lambda: [
            type(ir.IfStmt(flag, [stop], [stop, go], [y]).then_body),
            type(ir.IfStmt(flag, [stop], [stop, go], [y]).else_body),
        ],
        [ir.BreakStmt, ir.SeqStmts],
    ),
    "IfStmt with no body": (
        lambda: call(ir.IfStmt, flag, None, None),
        Refused(TypeError, "a body"),
    ),
    "IfStmt with an expression as body": (
        lambda: call(ir.IfStmt, flag, x, None),
        Refused(TypeError, "a body is of type Stmt, got Var"),
    ),
    "IfStmt with a list of others": (
        lambda: call(ir.IfStmt, flag, [x], None),
        Refused(TypeError, "a statement of a body is of type Stmt"),
    ),
    "IfStmt with other results": (
        lambda: call(ir.IfStmt, flag, stop, None, [1]),
        Refused(TypeError, "a result is of type Var, got int"),
    ),
    "ForStmt": (
        lambda: [str(getattr(loop(), name)) for name in ("loop_var", "start", "stop", "step")],
        ["i", "0", "x", "2"],
    ),
    "ForStmt values": (
        lambda: (loop().iter_args[0] is carried, loop().return_vars[0] is y, loop().body is stop),
        (True, True, True),
    ),
    "ForStmt is sequential": (lambda: loop(SPAN).kind, ir.ForKind.Sequential),
    "ForStmt kind": (lambda: loop(SPAN, ir.ForKind.Parallel).kind, ir.ForKind.Parallel),
    "ForStmt kind by keyword": (lambda: loop(kind=ir.Parallel).kind, ir.ForKind.Parallel),
    "ForStmt counts are not checked": (
        lambda: len(ir.ForStmt(i, 0, 1, 1, [], stop, [x, y], SPAN).return_vars),
        2,
    ),
    "ForStmt without iter_args, document 002": (
        lambda: (
            len(document_loop().iter_args),
            texts(document_loop().return_vars),
            type(document_loop().body),
            document_loop().span is SPAN,
        ),
        (0, ["y"], ir.SeqStmts, True),
    ),
    "ForStmt without a variable": (
        lambda: call(ir.ForStmt, 1, 0, 1, 1, [], stop, []),
        Refused(TypeError, "a loop variable is of type Var, got int"),
    ),
    "ForStmt carries iter_args only": (
        lambda: call(ir.ForStmt, i, 0, 1, 1, [x], stop, [y]),
        Refused(TypeError, "a carried value is of type IterArg"),
    ),
    "ForStmt of a strange kind": (
        lambda: call(loop, kind="Parallel"),
        Refused(TypeError, "the kind of a loop is of type ForKind"),
    ),
    "ForStmt with a strange bound": (
        lambda: call(ir.ForStmt, i, "0", 1, 1, [], stop, []),
        Refused(TypeError, "got str"),
    ),
    "WhileStmt": (
        lambda: [
            str(ir.WhileStmt(flag, [carried], stop, [y], SPAN).condition),
            *texts(ir.WhileStmt(flag, [carried], stop, [y]).return_vars),
        ],
        ["flag", "y"],
    ),
    "WhileStmt counts are not checked": (
        lambda: len(ir.WhileStmt(flag, [carried], stop, [], SPAN).iter_args),
        1,
    ),
    "ScopeStmt": (
        lambda: (
            ir.ScopeStmt(ir.InCore, stop, SPAN).scope_kind,
            ir.ScopeStmt(ir.InCore, stop).body is stop,
        ),
        (ir.ScopeKind.InCore, True),
    ),
    "ScopeStmt of a strange kind": (
        lambda: call(ir.ScopeStmt, 0, stop),
        Refused(TypeError, "the kind of a scope is of type ScopeKind"),
    ),
    "SeqStmts": (
        lambda: [
            s is t for s, t in zip(ir.SeqStmts([stop, go], SPAN).stmts, (stop, go), strict=True)
        ],
        [True, True],
    ),
    "SeqStmts of nothing": (lambda: len(ir.SeqStmts([], SPAN).stmts), 0),
    "SeqStmts of expressions": (
        lambda: call(ir.SeqStmts, [x]),
        Refused(TypeError, "a statement of a sequence is of type Stmt"),
    ),
    "OpStmts": (lambda: len(ir.OpStmts([ir.AssignStmt(x, 1), ir.EvalStmt(x)], SPAN).stmts), 2),
    "OpStmts of others": (lambda: ir.OpStmts([stop]), Refused(InternalError, "got BreakStmt")),
}


@rows(STATEMENTS)
def test_statement(make: Callable[[], Any], wanted: Any) -> None:
    """What constructors of statements accept, what they keep, and what they reject."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# Functions and programs
# --------------------------------------------------------------------------------------------


def made(**named: Any) -> ir.Function:
    return ir.Function("f", [x, (y, ir.ParamDirection.Out)], [INT], stop, SPAN, **named)


def whole() -> ir.Program:
    return ir.Program([function([], name="b"), function([], name="a")], "P", SPAN)


FUNCTIONS: Table = {
    "attributes": (
        lambda: (
            made().name,
            texts(made().params),
            texts(made().return_types),
            made().body is stop,
            made().span is SPAN,
        ),
        ("f", ["x", "y"], ["pl.Scalar[pl.INT64]"], True, True),
    ),
    "directions": (
        lambda: list(made().param_directions),
        [ir.ParamDirection.In, ir.ParamDirection.Out],
    ),
    "kind": (lambda: made().func_type, ir.FunctionType.Opaque),
    "kind given": (lambda: made(type=ir.FunctionType.InCore).func_type, ir.FunctionType.InCore),
    "a list as body, document 002": (
        lambda: type(ir.Function("f", [], [], [stop, go]).body),
        ir.SeqStmts,
    ),
    "a pair of the wrong kinds": (
        lambda: ir.Function("f", [(x, 1)], [], stop),
        Refused(TypeError, "a parameter is a Var or (Var, ParamDirection)"),
    ),
    "three in place of a pair": (
        lambda: ir.Function("f", [(x, ir.In, 1)], [], stop),
        Refused(TypeError, "a parameter is a Var or (Var, ParamDirection)"),
    ),
    "a name as parameter": (
        lambda: ir.Function("f", ["x"], [], stop),
        Refused(TypeError, "got 'x'"),
    ),
    "a strange result type": (
        lambda: call(ir.Function, "f", [], [3], stop),
        Refused(TypeError, "a result type is of type Type, got int"),
    ),
    "a strange name": (
        lambda: call(ir.Function, 3, [], [], stop),
        Refused(TypeError, "the name of a function is of type str"),
    ),
    "a strange kind": (
        lambda: call(ir.Function, "f", [], [], stop, SPAN, "InCore"),
        Refused(TypeError, "the kind of a function is of type FunctionType"),
    ),
    "a strange body": (lambda: call(ir.Function, "f", [], [], x), Refused(TypeError, "a body")),
}

PROGRAMS: Table = {
    "attributes": (lambda: (whole().name, whole().span is SPAN), ("P", True)),
    "no name": (lambda: ir.Program([], "", SPAN).name, ""),
    "functions by global variable, in name order": (
        lambda: [(type(g), g.name, f.name) for g, f in whole().functions.items()],
        [(ir.GlobalVar, "a", "a"), (ir.GlobalVar, "b", "b")],
    ),
    "functions is a fresh dict": (
        lambda: (type(whole().functions), (p := whole()).functions is p.functions),
        (dict, False),
    ),
    "get_function": (lambda: getattr(whole().get_function("a"), "name", ""), "a"),
    "get_function of another": (lambda: whole().get_function("c"), None),
    "get_global_var": (lambda: (p := whole()).get_global_var("a") is next(iter(p.functions)), True),
    "get_global_var of another": (lambda: whole().get_global_var("c"), None),
    "a name twice": (
        lambda: ir.Program([function([]), function([])], "P"),
        Refused(ValueError, "two functions of a program are named 'f'"),
    ),
    "a function without a name": (
        lambda: ir.Program([function([], name="")], "P"),
        Refused(InternalError, "a function of a program has no name"),
    ),
    "no function": (
        lambda: call(ir.Program, [None], "P"),
        Refused(InternalError, "a program holds functions, got NoneType"),
    ),
    "a strange name": (
        lambda: call(ir.Program, [], 3),
        Refused(TypeError, "the name of a program is of type str"),
    ),
    "attributes of the statement form": (
        lambda: dict(ir.Program([], attrs={"tile": {"M": 16}, "on": True}).attrs),
        {"tile": {"M": 16}, "on": True},
    ),
    "entry": (lambda: (ir.Program([function([])], entry="f").entry, whole().entry), ("f", None)),
}


@rows(FUNCTIONS)
def test_function(make: Callable[[], Any], wanted: Any) -> None:
    """What functions contain, and the forms that parameters and bodies may have."""
    check(make, wanted)


@rows(PROGRAMS)
def test_program(make: Callable[[], Any], wanted: Any) -> None:
    """What programs contain, how functions are looked up in them, and what is no program."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# SSA semantics and parents
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("iterations", "total"), [(0, 7), (1, 7), (4, 13)])
def test_loop_values(iterations: int, total: int) -> None:
    """A loop starts with initValue, continues with what it yields, and leaves it in return_vars."""
    arg, result = ir.IterArg("a", INT, 7), var("r")
    body = ir.YieldStmt([arg + i])
    stmts = [ir.ForStmt(i, 0, iterations, 1, [arg], body, [result]), ir.ReturnStmt([result])]
    program = ir.Program([ir.Function("f", [], [INT], ir.SeqStmts(stmts))])
    assert evaluated(program) == total


@pytest.mark.parametrize(("value", "result"), [(3, 30), (-3, 40)])
def test_branch_values(value: int, result: int) -> None:
    """The branches of an if yield into its return_vars, by position."""
    first, second = var("p"), var("q")
    branch = ir.IfStmt(x > 0, ir.YieldStmt([10, 20]), ir.YieldStmt([15, 25]), [first, second], SPAN)
    stmts = [branch, ir.ReturnStmt([first + second])]
    program = ir.Program([ir.Function("f", [x], [INT], ir.SeqStmts(stmts))])
    assert evaluated(program, value) == result


def evaluated(program: ir.Program, *args: int) -> int:
    from pypto import runtime

    return runtime.compile(program, target="interpreter")(*args)


inner = ir.AssignStmt(y, 1)
branch = ir.IfStmt(flag, inner, None)
nested = function([x], branch, stop)


def parents(*functions: ir.Function) -> ir.ParentStmtAnalysis:
    analysis = ir.ParentStmtAnalysis()
    for each in functions:
        analysis.build_map(each)
    return analysis


def cleared() -> ir.ParentStmtAnalysis:
    analysis = parents(nested)
    analysis.clear()
    return analysis


PARENTS: Table = {
    "of a statement in a branch": (lambda: parents(nested).get_parent(inner) is branch, True),
    "of a statement in the body": (lambda: parents(nested).get_parent(branch) is nested.body, True),
    "of the body": (lambda: parents(nested).get_parent(nested.body), None),
    "of a statement elsewhere": (lambda: parents(nested).get_parent(go), None),
    "has_parent": (
        lambda: [parents(nested).has_parent(s) for s in (inner, stop, nested.body, go)],
        [True, True, False, False],
    ),
    "clear": (lambda: (cleared().get_parent(inner), cleared().has_parent(stop)), (None, False)),
    "build_map forgets the function before": (
        lambda: parents(nested, function([])).has_parent(inner),
        False,
    ),
    "of nothing": (lambda: ir.ParentStmtAnalysis().has_parent(inner), False),
}


@rows(PARENTS)
def test_parents(make: Callable[[], Any], wanted: Any) -> None:
    """ParentStmtAnalysis knows the direct parent of each statement."""
    check(make, wanted)


def test_unused_types() -> None:
    """A function may have results of every type, tensors among them."""
    made = ir.Function("f", [], [TILE, FP32, ir.TupleType([INT])], ir.SeqStmts())
    assert texts(made.return_types) == [
        "pl.Tensor[[8], pl.FP32]",
        "pl.Scalar[pl.FP32]",
        "pl.Tuple[[pl.Scalar[pl.INT64]]]",
    ]
