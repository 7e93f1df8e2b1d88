"""The rules of document 004, each with texts or programs that satisfy and that break it."""

from __future__ import annotations

from typing import Any

import pytest

from pypto import ir
from pypto._src.errors import ParserError, VerificationError
from pypto._src.statement.form import RULES, find_in_statement_form
from tests.statement.documents import TILE, module

INT = ir.ScalarType(ir.INT64)
TUPLE = "tuple<int64, int64>"


def loop(results: str, carried: str, yielded: str) -> str:
    """Return a loop that counts to %n."""
    return module(
        f"{results}statement.for %i = 0 to %n step 1 {carried}{{\n"
        f"    statement.yield{yielded}\n}}\nstatement.return"
    )


def branch(results: str, then: str, other: str, condition: str = "%c") -> str:
    return module(
        f"{results}statement.if {condition} {{\n    statement.yield{then}\n}} else {{\n"
        f"    statement.yield{other}\n}}\nstatement.return"
    )


GOOD: dict[str, list[str]] = {
    "form-module": [module("statement.return")],
    "form-signature": [
        module("statement.return %s, 1", results="fp32, int64"),
        module("statement.return", "%x: tensor<[4], fp32> #out"),
    ],
    "form-ops": [
        module("statement.op {\n    %a = 1 : int64\n}\nstatement.op {\n}\nstatement.return")
    ],
    "form-regions": [loop("", "", ""), branch("", "", "")],
    "form-loops": [loop("%r, %q = ", "iter_args(%a = %n : int64, %b = %s : fp32) ", " %a, %b")],
    "form-branches": [branch("%r, %q = ", " %n, %x", " 1, %x")],
    "form-names": [
        module(
            "%r = statement.if %c {\n    statement.op {\n        %a = 1 : int64\n    }\n"
            "    statement.yield %a\n} else {\n    statement.yield %n\n}\nstatement.return %r",
            results="int64",
        )
    ],
}

BAD: dict[str, list[tuple[str, str]]] = {
    "form-module": [
        (
            module("statement.return").replace("  program.entry @f\n", ""),
            "program.module @m has no entry",
        ),
        (
            module("statement.return").replace("entry @f", "entry @g"),
            "program.entry @g is not a function of the module",
        ),
        ("program.module @m { program.module @n { } }", "a module is inside another module"),
        (
            "program.module @m { } program.module @n { }",
            "a text holds one module, 'program.module' follows it",
        ),
        (
            "program.module @m { program.entry @f program.entry @f }",
            "a second program.entry: a module has one",
        ),
    ],
    "form-signature": [
        (
            module("statement.return", f"%t: {TUPLE}"),
            f"parameter %t of @f is a tensor, tile or scalar, got {TUPLE}",
        ),
        (
            module("statement.return %x"),
            f"statement.return of @f carries scalars, got %x, a {TILE}",
        ),
        (
            module("statement.return %s", results="tensor<[4], fp32>"),
            "func.func @f returns scalars, got tensor<[4], fp32>",
        ),
        (module("statement.op {\n}"), "@f ends without statement.return, found '}'"),
        (
            module("statement.return\nstatement.return"),
            "statement.return is last in @f, 'statement.return' follows it",
        ),
        (
            module("statement.if %c {\n    statement.return\n} else {\n}\nstatement.return"),
            "a region of statement.if ends with statement.yield, found 'statement.return'",
        ),
    ],
    "form-ops": [
        (module("%a = 1 : int64\nstatement.return"), "an op is outside statement.op"),
        (
            module("statement.op {\n    statement.for %i = 0 to 1 step 1 {\n    }\n}"),
            "statement.for is inside a statement.op, which holds only ops",
        ),
        (
            module("statement.op {\n    statement.op {\n    }\n}"),
            "statement.op is inside a statement.op, which holds only ops",
        ),
    ],
    "form-regions": [
        (
            module("statement.for %i = 0 to 1 step 1 {\n}\nstatement.return"),
            "a region of statement.for ends with statement.yield, found '}'",
        ),
        (
            module("statement.if %c {\n    statement.yield\n}\nstatement.return"),
            "statement.if has an else, found 'statement.return'",
        ),
        (
            branch("", "\nstatement.op { }", ""),
            "statement.yield is last in a region of statement.if, 'statement.op' follows it",
        ),
    ],
    "form-loops": [
        (
            loop("", "iter_args(%a = %n : int64) ", " %a"),
            "statement.for %i has 1 iter_args and 0 results",
        ),
        (
            loop("%r = ", "iter_args(%a = %n : int64) ", ""),
            "statement.for %i has 1 iter_args, its body yields 0",
        ),
        (loop("", "", " %n"), "statement.for %i has 0 iter_args, its body yields 1"),
        (
            loop("%r = ", "iter_args(%a = %n : int64) ", " %s"),
            "statement.for %i: yielded value 0 is fp32, iter_arg %a is int64",
        ),
        (
            loop("%r = ", "iter_args(%a = %s : int64) ", " %n"),
            "statement.for %i: init value 0 is fp32, iter_arg %a is int64",
        ),
        (
            loop("%r: fp32 = ", "iter_args(%a = %n : int64) ", " %n"),
            "statement.for %i: result 0 is fp32, iter_arg %a is int64",
        ),
    ],
    "form-branches": [
        (branch("", "", "", "%n"), "the condition of statement.if is a bool, got int64"),
        (branch("", "", "", "%x"), f"the condition of statement.if is a bool, got {TILE}"),
        (branch("%r = ", " %n", ""), "statement.if has 1 results, its else region yields 0"),
        (branch("", " %n", ""), "statement.if has 0 results, its then region yields 1"),
        (
            branch("%r = ", " %n", " %s"),
            "statement.if: else region: yielded value 0 is fp32, result %r is int64",
        ),
        (
            branch("%r = ", " %x", " %n"),
            f"statement.if: else region: yielded value 0 is int64, result %r is {TILE}",
        ),
    ],
    "form-names": [
        (
            module("statement.op {\n    %s = 1 : int64\n}\nstatement.return"),
            "%s is defined a second time",
        ),
        (module("statement.return %z"), "nothing defines %z"),
        (
            loop("", "", "").replace("statement.return", "statement.return %i"),
            "%i is not known here",
        ),
        (
            module(
                "statement.op {\n    %a = tensor.OP_SCALAR_ADD %b, 1 : (int64, int64) -> int64\n"
                "    %b = 1 : int64\n}\nstatement.return"
            ),
            "nothing defines %b",
        ),
    ],
}


def flat(table: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(rule, row, id=f"{rule}-{number}")
        for rule, rows in table.items()
        for number, row in enumerate(rows)
    ]


def test_every_rule_has_texts() -> None:
    """There are seven rules, each with valid and invalid texts."""
    assert list(RULES) == list(GOOD) == list(BAD)
    assert len(RULES) == 7


@pytest.mark.parametrize(("rule", "text"), flat(GOOD))
def test_kept(rule: str, text: str) -> None:
    """A text that satisfies the rule has no findings, and still does when printed."""
    program = ir.from_statement_text(text)
    assert ir.verify_statement_form(program) == []
    again = ir.from_statement_text(ir.to_statement_text(program))
    assert ir.verify_statement_form(again) == [], rule


@pytest.mark.parametrize(("rule", "row"), flat(BAD))
def test_broken(rule: str, row: tuple[str, str]) -> None:
    """Reader or verifier name the rule, the statement and a line of the text."""
    text, message = row
    try:
        [finding] = find_in_statement_form(ir.from_statement_text(text, "bad.txt"))
    except ParserError as error:
        finding = error.diagnostic
    assert (finding.rule_name, finding.message) == (rule, message)
    assert finding.span.filename == "bad.txt"
    assert finding.span.begin_line > 0


def test_report() -> None:
    """The verifier's error names each rule with file, line and statement."""
    text = branch("%r = ", " %n", " %s", "%n").replace("  program.entry @f\n", "")
    with pytest.raises(VerificationError) as error:
        ir.verify_statement_form(ir.from_statement_text(text, "two.txt"))
    assert str(error.value) == (
        "IR verification report\n"
        "======================\n"
        "3 errors, 0 warnings\n"
        "[1] error form-module 401 at two.txt:1:0\n"
        "    program.module @m has no entry\n"
        "    hint: program.entry @f\n"
        "[2] error form-branches 406 at two.txt:3:4\n"
        "    the condition of statement.if is a bool, got int64\n"
        "[3] error form-branches 406 at two.txt:6:8\n"
        "    statement.if: else region: yielded value 0 is fp32, result %r is int64\n"
        "Status: FAILED"
    )
    assert error.value.location.begin_line == 1


def program(*stmts: ir.Stmt, params: Any = ()) -> ir.Program:
    return ir.Program([ir.Function("f", params, [], ir.SeqStmts(stmts))], "m", entry="f")


def nested_call() -> ir.Program:
    tensor = ir.Var("t", ir.TensorType([4], ir.FP32))
    size = ir.op.tensor.dim(tensor, 0)
    return program(ir.AssignStmt(ir.Var("y", INT), ir.Add(size, 1, ir.INT64)), params=[tensor])


def twice() -> ir.Program:
    x = ir.Var("x", INT)
    return program(ir.AssignStmt(x, 1), ir.AssignStmt(x, 2))


def no_yield() -> ir.Program:
    arg = ir.IterArg("a", INT, 0)
    body = ir.AssignStmt(ir.Var("b", INT), arg)
    return program(ir.ForStmt(ir.Var("i", INT), 0, 4, 1, [arg], body, [ir.Var("r", INT)]))


def no_else() -> ir.Program:
    result = ir.Var("r", INT)
    return program(ir.IfStmt(ir.ConstBool(True), ir.YieldStmt([1]), None, [result]))


def early_return() -> ir.Program:
    return program(ir.IfStmt(ir.ConstBool(True), ir.ReturnStmt(), None), ir.ReturnStmt())


@pytest.mark.parametrize(
    ("made", "rule", "message"),
    [
        (
            nested_call(),
            "form-ops",
            "the call of tensor.dim is an operand of an operator, outside of statement.op",
        ),
        (twice(), "form-names", "variable 'x' is assigned a second time"),
        (
            no_yield(),
            "form-regions",
            "the body of statement.for %i does not end with statement.yield",
        ),
        (no_else(), "form-regions", "statement.if has results and no else"),
        (early_return(), "form-signature", "statement.return is before the end of @f"),
    ],
    ids=["nested call", "twice", "no yield", "no else", "early return"],
)
def test_programs_that_no_text_says(made: ir.Program, rule: str, message: str) -> None:
    """Faults that no text can express are found in programs that are built otherwise."""
    found = find_in_statement_form(made)
    assert [(d.rule_name, d.message) for d in found] == [(rule, message)]


def test_loops_that_carry_nothing_need_no_yield() -> None:
    """The text has the yield and the else that a program may leave out."""
    body = ir.AssignStmt(ir.Var("a", INT), 1)
    inner = ir.IfStmt(ir.ConstBool(True), body, None)
    whole = program(ir.ForStmt(ir.Var("i", INT), 0, 4, 1, [], inner, []))
    assert ir.verify_statement_form(whole) == []
    text = ir.to_statement_text(whole)
    assert text.count("statement.yield // implied") == 3
    ir.assert_structural_equal(ir.from_statement_text(text), whole)
