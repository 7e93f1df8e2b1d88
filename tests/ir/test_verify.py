"""The verifier's rules, each with programs that satisfy it and programs that violate it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import pytest

from pypto import ir
from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Span
from pypto._src.errors import VerificationError
from pypto._src.ir.verify.codes import (
    NestedCallErrorType,
    SSAErrorType,
    StructureErrorType,
    TypeCheckErrorType,
)
from pypto._src.ir.verify.verifier import RULES
from tests.ir.samples import BOOL, FP32, INT, assign, function, kernel, loop_sum, program, seq, var

Make = Callable[[], ir.Function | ir.Program]
Found = list[tuple[IntEnum, str]]
STRUCTURE, SSA = StructureErrorType, SSAErrorType
TYPES, NESTED = TypeCheckErrorType, NestedCallErrorType


def n() -> ir.Var:
    return var("n")


def call(*args: Any, kind: ir.Type = INT) -> ir.Call:
    return ir.Call(ir.Op("my.op"), args, kind)


def branch(
    then: Sequence[Any] | None, other: Sequence[Any] | None, results: int, condition: Any = None
) -> ir.IfStmt:
    """Return an if whose branches yield the given values (None: no yield)."""
    bodies = [seq() if values is None else ir.YieldStmt(values) for values in (then, other)]
    returns = [var(f"r{index}") for index in range(results)]
    test = ir.ConstBool(True) if condition is None else condition
    return ir.IfStmt(test, bodies[0], bodies[1], returns)


def loop(
    *body: ir.Stmt, carried: Sequence[ir.IterArg] = (), results: Sequence[ir.Var] = ()
) -> ir.ForStmt:
    return ir.ForStmt(var("i"), 0, 4, 1, carried, seq(*body), results)


def one_carried(
    init: Any = 0, kind: ir.Type = INT, yielded: Any = 1, result: ir.Type = INT
) -> ir.ForStmt:
    arg = ir.IterArg("s", kind, init)
    return loop(ir.YieldStmt([yielded]), carried=[arg], results=[var("r", result)])


def tile(*shape: Any, dtype: ir.DataType = ir.FP32) -> ir.TileType:
    return ir.TileType(shape, dtype)


def tensor(*shape: Any) -> ir.TensorType:
    return ir.TensorType(shape, ir.FP32)


def reading(v: ir.Var, *before: ir.Stmt) -> ir.Function:
    return function([], *before, ir.ReturnStmt([v]))


def caller(callee: ir.Function, *args: Any, kind: ir.Type | None = None) -> ir.Program:
    """Return a program of ``callee`` and a function that calls it."""
    made = ir.Call(ir.GlobalVar(callee.name), args, kind or ir.UnknownType.get())
    params = [arg for arg in args if isinstance(arg, ir.Var)]
    return program(callee, function(params, ir.EvalStmt(made), name="z_caller"))


X, Y, P = var("x"), var("y"), var("p", BOOL)
F, T8, T4 = var("f", FP32), var("t8", tile(8, 8)), var("t4", tile(4, 8))
PART = var("part", ir.TileType([8, 8], ir.FP32, tile_view=ir.TileView(valid_shape=[4, 8])))
X1 = tensor(8)

# Each entry: a program, and what the rule finds in it.
STRUCTURE_TABLE: dict[str, tuple[Make, Found]] = {
    "function": (loop_sum, []),
    "kernel": (kernel, []),
    "branches that yield": (lambda: function([], branch([1], [2], 1)), []),
    "break in a loop": (lambda: function([], loop(ir.IfStmt(P, ir.BreakStmt(), None))), []),
    "return in a branch": (
        lambda: function([], ir.IfStmt(P, ir.ReturnStmt(), None), ir.ReturnStmt()),
        [],
    ),
    "yield at the end of a function": (
        lambda: function([], ir.YieldStmt([1])),
        [(STRUCTURE.YIELD_OUTSIDE_REGION, "a yield is outside loop bodies and branches")],
    ),
    "yield in a scope": (
        lambda: function([], loop(ir.ScopeStmt(ir.ScopeKind.InCore, ir.YieldStmt()))),
        [(STRUCTURE.YIELD_OUTSIDE_REGION, "a yield is outside loop bodies and branches")],
    ),
    "yield before the end": (
        lambda: function([], loop(ir.YieldStmt(), assign(X, 1))),
        [(STRUCTURE.YIELD_NOT_LAST, "statements follow a yield, which ends its body")],
    ),
    "return before the end": (
        lambda: function([], ir.ReturnStmt(), assign(X, 1)),
        [(STRUCTURE.RETURN_NOT_LAST, "statements follow a return, which ends its body")],
    ),
    "break outside": (
        lambda: function([], ir.BreakStmt()),
        [(STRUCTURE.JUMP_OUTSIDE_LOOP, "break outside of a loop")],
    ),
    "continue in a branch outside": (
        lambda: function([], ir.IfStmt(P, ir.ContinueStmt(), None)),
        [(STRUCTURE.JUMP_OUTSIDE_LOOP, "continue outside of a loop")],
    ),
    "call": (lambda: caller(loop_sum(), n()), []),
    "call of nothing": (
        lambda: function([], ir.EvalStmt(ir.Call(ir.GlobalVar("g"), []))),
        [(STRUCTURE.UNKNOWN_FUNCTION, "'g' is called but is not a function of the program")],
    ),
    "call in an init value": (
        lambda: function([], one_carried(ir.Call(ir.GlobalVar("g"), [], INT))),
        [(STRUCTURE.UNKNOWN_FUNCTION, "'g' is called but is not a function of the program")],
    ),
    "argument count": (
        lambda: caller(loop_sum()),
        [(STRUCTURE.ARGUMENT_COUNT, "f takes 1 arguments, got 0")],
    ),
    "entry": (lambda: ir.Program([loop_sum()], entry="f"), []),
    "no such entry": (
        lambda: ir.Program([loop_sum()], entry="g"),
        [(STRUCTURE.UNKNOWN_ENTRY, "the entry 'g' is not a function of the program")],
    ),
}


def symbolic(dim_in_body: bool) -> ir.Function:
    """Return a function with a symbolic dimension, also used in a local variable's type."""
    size, other = var("n"), var("m")
    p = var("p", tensor(size))
    q = var("q", tensor(other if dim_in_body else size))
    return function([p], assign(q, p), ir.ReturnStmt([q]))


def carried_outside() -> ir.Function:
    arg = ir.IterArg("s", INT, 0)
    inner = loop(ir.YieldStmt([arg]), carried=[arg], results=[var("r")])
    return reading(arg, inner)


SSA_TABLE: dict[str, tuple[Make, Found]] = {
    "function": (loop_sum, []),
    "kernel": (kernel, []),
    "results of branches": (lambda: function([], branch([1, 2], [3, 4], 2)), []),
    "dimension of the signature": (lambda: symbolic(False), []),
    "dimension from nowhere": (
        lambda: symbolic(True),
        [(SSA.UNDEFINED_VARIABLE, "variable 'm' is read without a definition")],
    ),
    "assigned twice": (
        lambda: function([], assign(X, 1), assign(X, 2)),
        [(SSA.MULTIPLE_ASSIGNMENT, "variable 'x' is assigned a second time")],
    ),
    "parameter assigned": (
        lambda: function([X], assign(X, 1)),
        [(SSA.MULTIPLE_ASSIGNMENT, "variable 'x' is assigned a second time")],
    ),
    "assigned in both branches": (
        lambda: function([P], ir.IfStmt(P, assign(X, 1), assign(X, 2))),
        [(SSA.MULTIPLE_ASSIGNMENT, "variable 'x' is assigned a second time")],
    ),
    "one loop variable for two loops": (
        lambda: function([], *[ir.ForStmt(X, 0, 1, 1, [], seq(), []) for _ in range(2)]),
        [(SSA.MULTIPLE_ASSIGNMENT, "variable 'x' is assigned a second time")],
    ),
    "two variables of one name": (lambda: function([], assign(n(), 1), assign(n(), 2)), []),
    "shared by two functions": (
        lambda: program(reading(X, assign(X, 1)), function([X], name="g")),
        [],
    ),
    "no yield": (
        lambda: function([], branch([1], None, 1)),
        [
            (
                SSA.MISSING_YIELD,
                "a body that hands on 1 values does not end with a yield",
            )
        ],
    ),
    "no else": (
        lambda: function([], ir.IfStmt(ir.ConstBool(True), ir.YieldStmt([1]), None, [X])),
        [
            (
                SSA.MISSING_YIELD,
                "a body that hands on 1 values does not end with a yield",
            )
        ],
    ),
    "too many yielded": (
        lambda: function([], branch([1], [2, 3], 1)),
        [(SSA.YIELD_COUNT_MISMATCH, "1 values are carried on, 2 are yielded")],
    ),
    "yield without results": (
        lambda: function([], loop(ir.YieldStmt([1]))),
        [(SSA.YIELD_COUNT_MISMATCH, "0 values are carried on, 1 are yielded")],
    ),
    "never defined": (
        lambda: reading(X),
        [(SSA.UNDEFINED_VARIABLE, "variable 'x' is read without a definition")],
    ),
    "defined later": (
        lambda: function([], assign(Y, X), assign(X, 1)),
        [(SSA.UNDEFINED_VARIABLE, "variable 'x' is read without a definition")],
    ),
    "defined in a branch": (
        lambda: reading(X, ir.IfStmt(ir.ConstBool(True), assign(X, 1), None)),
        [(SSA.UNDEFINED_VARIABLE, "variable 'x' is read where it is not known")],
    ),
    "defined in a loop": (
        lambda: reading(X, loop(assign(X, 1))),
        [(SSA.UNDEFINED_VARIABLE, "variable 'x' is read where it is not known")],
    ),
    "iter_arg after its loop": (
        carried_outside,
        [(SSA.UNDEFINED_VARIABLE, "variable 's' is read where it is not known")],
    ),
    "loop variable in a bound": (
        lambda: function([], ir.ForStmt(X, 0, X, 1, [], seq(), [])),
        [(SSA.UNDEFINED_VARIABLE, "variable 'x' is read without a definition")],
    ),
    "condition of a while sees its iter_args": (lambda: while_sum(1), []),
    "defined in a scope": (
        lambda: reading(X, ir.ScopeStmt(ir.ScopeKind.InCore, assign(X, 1))),
        [],
    ),
    "early return": (
        lambda: function([P], ir.IfStmt(P, ir.ReturnStmt(), None), ir.ReturnStmt()),
        [(SSA.EARLY_RETURN, "a return before the end of its function")],
    ),
}


def while_sum(yielded: Any) -> ir.Function:
    arg, limit = ir.IterArg("s", INT, 0), n()
    body = ir.YieldStmt([yielded])
    return function([limit], ir.WhileStmt(arg < limit, [arg], body, [var("r")]))


def add_call(*kinds: ir.Type, result: ir.Type) -> ir.Function:
    """Return a function with a hand-built call of block.add."""
    args = [var(f"a{index}", kind) for index, kind in enumerate(kinds)]
    made = ir.Call(ir.get_op("block.add"), args, result)
    return function(args, assign(var("r", result), made))


TYPE_TABLE: dict[str, tuple[Make, Found]] = {
    "function": (loop_sum, []),
    "kernel": (kernel, []),
    "while": (lambda: while_sum(1), []),
    "assigned twice": (lambda: function([], assign(X, 1), assign(X, 2)), []),
    "symbolic dimension agrees with a number": (
        lambda: function([], assign(var("q", tensor(8)), var("p", tensor(n())))),
        [],
    ),
    "unknown type agrees with any": (
        lambda: function([], assign(X, ir.Call(ir.Op("o"), []))),
        [],
    ),
    "memref and view may differ": (
        lambda: function(
            [], assign(var("v", ir.TileType([8, 8], ir.FP32, None, ir.TileView())), T8)
        ),
        [],
    ),
    "assignment of another kind": (
        lambda: function([], assign(X, T8)),
        [
            (
                TYPES.TYPE_KIND_MISMATCH,
                "variable 'x' is a Scalar[INT64], its value is a Tile[[8, 8], FP32]",
            )
        ],
    ),
    "assignment of another element type": (
        lambda: function([], assign(X, F)),
        [
            (
                TYPES.DTYPE_MISMATCH,
                "variable 'x' is a Scalar[INT64], its value is a Scalar[FP32]",
            )
        ],
    ),
    "init value": (
        lambda: function([], one_carried(init=1.0)),
        [
            (
                TYPES.DTYPE_MISMATCH,
                "iter_arg 's' is a Scalar[INT64], its init value is a Scalar[FP32]",
            )
        ],
    ),
    "yielded value": (
        lambda: function([], one_carried(yielded=1.0)),
        [
            (
                TYPES.DTYPE_MISMATCH,
                "'s' is a Scalar[INT64], the yielded value is a Scalar[FP32]",
            )
        ],
    ),
    "result of a loop": (
        lambda: function([], one_carried(result=FP32)),
        [
            (
                TYPES.DTYPE_MISMATCH,
                "result 'r' is a Scalar[FP32], iter_arg 's' is a Scalar[INT64]",
            )
        ],
    ),
    "rank": (
        lambda: function([], one_carried(T8, tile(8), T8, tile(8))),
        [
            (
                TYPES.SHAPE_DIMENSION_MISMATCH,
                "iter_arg 's' is a Tile[[8], FP32], its init value is a Tile[[8, 8], FP32]",
            ),
            (
                TYPES.SHAPE_DIMENSION_MISMATCH,
                "'s' is a Tile[[8], FP32], the yielded value is a Tile[[8, 8], FP32]",
            ),
        ],
    ),
    "branch": (
        lambda: function(
            [],
            ir.IfStmt(P, ir.YieldStmt([T8]), ir.YieldStmt([T4]), [var("r", tile(8, 8))]),
        ),
        [
            (
                TYPES.SHAPE_VALUE_MISMATCH,
                "'r' is a Tile[[8, 8], FP32], the yielded value is a Tile[[4, 8], FP32]",
            )
        ],
    ),
    "branches valid in two parts": (
        lambda: function(
            [],
            ir.IfStmt(P, ir.YieldStmt([T8]), ir.YieldStmt([PART]), [var("r", tile(8, 8))]),
        ),
        [
            (
                TYPES.SHAPE_VALUE_MISMATCH,
                "'r' is a Tile[[8, 8], FP32] valid throughout, the yielded value is a "
                "Tile[[8, 8], FP32] valid in [4, 8]",
            )
        ],
    ),
    "tuple": (
        lambda: function([], assign(var("t", ir.TupleType([INT])), ir.MakeTuple([1, 2]))),
        [
            (
                TYPES.SIZE_MISMATCH,
                "variable 't' is a Tuple[[Scalar[INT64]]], its value is a "
                "Tuple[[Scalar[INT64], Scalar[INT64]]]",
            )
        ],
    ),
    "counts of a loop": (
        lambda: function([], loop(ir.YieldStmt([1]), carried=[ir.IterArg("s", INT, 0)])),
        [(TYPES.SIZE_MISMATCH, "a loop carries 1 values and has 0 results")],
    ),
    "count of yields": (
        lambda: function([], branch([1], [1, 2], 1)),
        [(TYPES.SIZE_MISMATCH, "1 values are carried on, 2 are yielded")],
    ),
    "count of results": (
        lambda: function([], ir.ReturnStmt([1, 2]), results=[INT]),
        [(TYPES.SIZE_MISMATCH, "f returns 1 values, here it returns 2")],
    ),
    "returned value": (
        lambda: function([], ir.ReturnStmt([1.0]), results=[INT]),
        [
            (
                TYPES.DTYPE_MISMATCH,
                "the result of f is a Scalar[INT64], what it returns is a Scalar[FP32]",
            )
        ],
    ),
    "integer condition": (lambda: function([], branch(None, None, 0, X)), []),
    "tile as condition": (
        lambda: function([], branch(None, None, 0, T8)),
        [
            (
                TYPES.CONDITION_NOT_SCALAR,
                "the condition of an if is a scalar, got Tile[[8, 8], FP32]",
            )
        ],
    ),
    "tile as condition of a while": (
        lambda: function([], ir.WhileStmt(T8, [], seq())),
        [
            (
                TYPES.CONDITION_NOT_SCALAR,
                "the condition of a while is a scalar, got Tile[[8, 8], FP32]",
            )
        ],
    ),
    "float bound": (
        lambda: function([], ir.ForStmt(X, 0, 1.5, 1, [], seq(), [])),
        [(TYPES.BOUND_NOT_INTEGER, "the stop of a loop is an integer, got Scalar[FP32]")],
    ),
    "float loop variable": (
        lambda: function([], ir.ForStmt(F, 0, 1, 1, [], seq(), [])),
        [(TYPES.BOUND_NOT_INTEGER, "a loop variable is an integer, got Scalar[FP32]")],
    ),
    "operands of other types": (
        lambda: function([], assign(X, ir.Add(X, F, ir.INT64))),
        [
            (
                TYPES.OPERAND_MISMATCH,
                "Add takes two scalars of one element type, got Scalar[INT64] and Scalar[FP32]",
            )
        ],
    ),
    "logical operators mix": (
        lambda: function([], assign(P, ir.And(P, X, ir.BOOL))),
        [],
    ),
    "exclusive or of integers": (
        lambda: function([], assign(P, ir.Xor(X, X, ir.BOOL))),
        [(TYPES.OPERAND_MISMATCH, "Xor takes two BOOLs, got Scalar[INT64] and Scalar[INT64]")],
    ),
    "integer constant of a float type": (
        lambda: function([], ir.EvalStmt(ir.ConstInt(1, ir.FP32))),
        [(TYPES.CONSTANT_KIND, "the integer constant 1 has element type fp32")],
    ),
    "float constant of an integer type": (
        lambda: function([], ir.EvalStmt(ir.ConstFloat(1.0, ir.INT32))),
        [(TYPES.CONSTANT_KIND, "the float constant 1.0 has element type int32")],
    ),
    "call of an op": (lambda: add_call(tile(8, 8), tile(8, 8), result=tile(8, 8)), []),
    "type of a call": (
        lambda: add_call(tile(8, 8), tile(8, 8), result=tile(8, 4)),
        [
            (
                TYPES.CALL_TYPE_MISMATCH,
                "block.add gives a pl.Tile[[8, 8], pl.FP32], "
                "the call says pl.Tile[[8, 4], pl.FP32]",
            )
        ],
    ),
    "number of operands": (
        lambda: add_call(tile(8, 8), result=tile(8, 8)),
        [(TYPES.CALL_TYPE_MISMATCH, "block.add takes 2 operands, got 1")],
    ),
    "kind of an operand": (
        lambda: add_call(tile(8, 8), INT, result=tile(8, 8)),
        [
            (
                TYPES.CALL_TYPE_MISMATCH,
                "argument 'rhs' of block.add is a Scalar, a Tile was wanted",
            )
        ],
    ),
    "unknown keyword": (
        lambda: function(
            [], ir.EvalStmt(ir.Call(ir.get_op("block.add"), [T8, T8], {"x": 1}, T8.type))
        ),
        [(TYPES.CALL_TYPE_MISMATCH, "block.add has no keyword 'x'")],
    ),
    "call of a function": (lambda: caller(loop_sum(), n(), kind=INT), []),
    "argument of a function": (
        lambda: caller(loop_sum(), var("f", FP32)),
        [
            (
                TYPES.DTYPE_MISMATCH,
                "parameter 'n' of f is a Scalar[INT64], the argument is a Scalar[FP32]",
            )
        ],
    ),
    "result of a call": (
        lambda: caller(loop_sum(), n(), kind=FP32),
        [
            (
                TYPES.DTYPE_MISMATCH,
                "the result of f is a Scalar[INT64], the call's type is a Scalar[FP32]",
            )
        ],
    ),
}

NESTED_TABLE: dict[str, tuple[Make, Found]] = {
    "function": (loop_sum, []),
    "kernel": (kernel, []),
    "assigned call": (lambda: function([], assign(X, call(X, X + 1))), []),
    "statement": (lambda: function([], ir.EvalStmt(call(ir.MakeTuple([X])))), []),
    "in a call": (
        lambda: function([], assign(X, call(call()))),
        [(NESTED.CALL_IN_CALL_ARGS, "the call of my.op is an argument of another call")],
    ),
    "in a sum": (
        lambda: function([], assign(X, call() + 1)),
        [(NESTED.CALL_IN_BINARY_EXPR, "the call of my.op is an operand of an operator")],
    ),
    "under a minus": (
        lambda: function([], ir.EvalStmt(-call())),
        [(NESTED.CALL_IN_UNARY_EXPR, "the call of my.op is an operand of an operator")],
    ),
    "in a tuple argument": (
        lambda: function([], assign(X, call(ir.MakeTuple([call()])))),
        [(NESTED.CALL_IN_TUPLE, "the call of my.op is an item of a tuple")],
    ),
    "in a condition": (
        lambda: function([], branch(None, None, 0, call())),
        [(NESTED.CALL_IN_IF_CONDITION, "the call of my.op is the condition of an if")],
    ),
    "deep in a condition": (
        lambda: function([], branch(None, None, 0, call() + 1 > 2)),
        [(NESTED.CALL_IN_BINARY_EXPR, "the call of my.op is an operand of an operator")],
    ),
    "in a while condition": (
        lambda: function([], ir.WhileStmt(call(), [], seq())),
        [(NESTED.CALL_IN_WHILE_CONDITION, "the call of my.op is the condition of a while")],
    ),
    "in a bound": (
        lambda: function([], ir.ForStmt(X, 0, call(), 1, [], seq(), [])),
        [(NESTED.CALL_IN_FOR_RANGE, "the call of my.op is a bound of a loop")],
    ),
    "in an init value": (
        lambda: function([], one_carried(call())),
        [(NESTED.CALL_IN_INIT_VALUE, "the call of my.op is an init value of a loop")],
    ),
    "in a yield": (
        lambda: function([], one_carried(yielded=call())),
        [(NESTED.CALL_IN_YIELD_OR_RETURN, "the call of my.op is a value of a yield or return")],
    ),
    "in a return": (
        lambda: function([], ir.ReturnStmt([call()])),
        [(NESTED.CALL_IN_YIELD_OR_RETURN, "the call of my.op is a value of a yield or return")],
    ),
}

TABLES = {
    "Structure": STRUCTURE_TABLE,
    "SSAVerify": SSA_TABLE,
    "TypeCheck": TYPE_TABLE,
    "NoNestedCall": NESTED_TABLE,
}
ROWS = [
    pytest.param(rule, make, found, id=f"{rule}: {name}")
    for rule, table in TABLES.items()
    for name, (make, found) in table.items()
]


@pytest.mark.parametrize(("rule", "make", "found"), ROWS)
def test_rule(rule: str, make: Make, found: Found) -> None:
    """A rule finds exactly what its table lists, with its name, code and message."""
    node = make()
    whole = node if isinstance(node, ir.Program) else program(node)
    verifier = ir.IRVerifier()
    verifier.enable_rule(rule)
    diagnostics = verifier.verify(whole)
    assert [(d.error_code, d.message) for d in diagnostics] == [(int(c), m) for c, m in found]
    assert all(d.rule_name == rule for d in diagnostics)


def test_every_code_is_found_by_some_row() -> None:
    """Each code has a failing example, except the one that only reserves its number."""
    codes = {code for table in TABLES.values() for _, found in table.values() for code, _ in found}
    kinds = (StructureErrorType, SSAErrorType, TypeCheckErrorType, NestedCallErrorType)
    assert [c.name for kind in kinds for c in kind if c not in codes] == ["NAME_SHADOWING"]
    assert TABLES.keys() == RULES.keys()


# --------------------------------------------------------------------------------------------
# The verifier itself
# --------------------------------------------------------------------------------------------


def broken() -> ir.Program:
    """Return a program that violates SSA, on lines 3 and 4 of a file."""
    first = ir.AssignStmt(X, 1, Span("k.py", 3, 4))
    second = ir.AssignStmt(X, 2, Span("k.py", 4, 4))
    return program(function([], first, second))


def test_no_rules_at_first() -> None:
    """A new verifier has no rules; the default one has all of them."""
    assert ir.IRVerifier().verify(broken()) == []
    assert len(ir.IRVerifier.create_default().verify(broken())) == 1


def test_rules_are_switched() -> None:
    """Disabled rules do not run; unknown names are enabled until disabled."""
    verifier = ir.IRVerifier.create_default()
    assert verifier.is_rule_enabled("SSAVerify")
    verifier.disable_rule("SSAVerify")
    assert not verifier.is_rule_enabled("SSAVerify")
    assert verifier.verify(broken()) == []
    verifier.enable_rule("SSAVerify")
    assert len(verifier.verify(broken())) == 1
    assert verifier.is_rule_enabled("Spelling")
    verifier.enable_rule("Spelling")
    verifier.disable_rule("Spelling")
    assert not verifier.is_rule_enabled("Spelling")


def test_report() -> None:
    """The report counts and lists findings with both locations, and ends with the verdict."""
    with pytest.raises(VerificationError) as caught:
        ir.IRVerifier.create_default().verify_or_throw(broken())
    assert str(caught.value) == (
        "IR verification report\n"
        "======================\n"
        "1 error, 0 warnings\n"
        "[1] error SSAVerify 1 (MULTIPLE_ASSIGNMENT) at k.py:4:4\n"
        "    variable 'x' is assigned a second time\n"
        "    k.py:3:4: first assigned here\n"
        "Status: FAILED"
    )
    assert caught.value.span.begin_line == 4


def test_report_without_errors() -> None:
    """Warnings alone pass, and do not raise."""
    warning = Diagnostic(DiagnosticSeverity.Warning, "Style", 0, "long name", hint="shorten it")
    assert ir.IRVerifier.generate_report([warning]) == (
        "IR verification report\n"
        "======================\n"
        "0 errors, 1 warning\n"
        "[1] warning Style 0\n"
        "    long name\n"
        "    hint: shorten it\n"
        "Status: PASSED"
    )
    ir.IRVerifier.create_default().verify_or_throw(program(loop_sum()))


def test_large_programs_are_verified() -> None:
    """10,000 statements and 200 nested loops are verified without recursion over statements."""
    deep: ir.Stmt = seq()
    for _ in range(200):
        deep = loop(deep)
    many = [assign(var(f"v{index}"), index) for index in range(10_000)]
    assert ir.IRVerifier.create_default().verify(program(function([], *many, deep))) == []


@pytest.mark.parametrize("wrap", ["if", "else", "loop", "while", "scope"])
def test_deep_programs_are_verified(wrap: str) -> None:
    """2,000 nested statements are verified, and a fault in the middle is found."""
    stmt: ir.Stmt = seq(ir.YieldStmt(), assign(var("v"), var("w")))
    condition = ir.ConstBool(True)
    for _ in range(2_000):
        match wrap:
            case "if":
                stmt = ir.IfStmt(condition, stmt, None)
            case "else":
                stmt = ir.IfStmt(condition, seq(), stmt)
            case "while":
                stmt = ir.WhileStmt(condition, [], stmt)
            case "scope":
                stmt = ir.ScopeStmt(ir.InCore, stmt)
            case _:
                stmt = ir.ForStmt(var("i"), 0, 4, 1, [], stmt, [])
    found = ir.IRVerifier.create_default().verify(program(function([], stmt)))
    misplaced = (
        "a yield is outside loop bodies and branches"
        if wrap == "scope"
        else "statements follow a yield, which ends its body"
    )
    assert [d.message for d in found] == [misplaced, "variable 'w' is read without a definition"]


def test_a_call_is_checked_whatever_was_checked_before() -> None:
    """A call that differs from a right one only in result or memory space is found."""
    op = ir.get_op("block.move")
    mat = ir.TileType([32, 32], ir.FP16, ir.MemRef(ir.MemorySpace.Mat, 0, 2048))
    to = {"target_memory": ir.MemorySpace.Left}

    def found(kind: ir.TileType, result: ir.Type) -> list[str]:
        source = var("t", kind)
        call = ir.Call(op, [source], to, result)
        whole = program(function([source], assign(var("out", result), call)))
        return [diagnostic.message for diagnostic in RULES["TypeCheck"](whole)]

    right = ir.create_op_call("block.move", [var("t", mat)], to).type
    elsewhere = ir.TileType(
        mat.shape, mat.dtype, ir.MemRef(ir.MemorySpace.Mat, 2048, 2048), mat.tile_view
    )
    left = ir.TileType(mat.shape, mat.dtype, ir.MemRef(ir.MemorySpace.Left, 0, 2048), mat.tile_view)
    for _ in range(2):
        assert found(mat, right) == []
        assert found(elsewhere, right) == []
        [message] = found(mat, tile(32, 16, dtype=ir.FP16))
        assert message.startswith("block.move gives a pl.Tile[[32, 32], pl.FP16")
        [message] = found(left, right)
        assert "Left" in message


def test_an_operand_is_no_part_of_the_list_before_it() -> None:
    """A call with an extra number in a list, and one operand less, is wrong after a right one."""
    op = ir.get_op("tensor.view")
    source = var("x", ir.TensorType([64, 64], ir.FP32))

    def found(*lists: Sequence[int]) -> list[str]:
        arguments = [source, *(ir.MakeTuple(list(numbers)) for numbers in lists)]
        result = ir.TensorType([16, 16], ir.FP32)
        call = ir.Call(op, arguments, {}, result)
        whole = program(function([source], assign(var("out", result), call)))
        return [diagnostic.message for diagnostic in RULES["TypeCheck"](whole)]

    assert found([16, 16], [0, 0]) == []
    assert found([16, 16, 0, 0]) == ["tensor.view takes 3 operands, got 2"]
    assert found([16], [16, 0, 0]) != []
