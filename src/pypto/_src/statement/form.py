"""Statement form: which programs are in it, and how to convert a program to it.

A program is in statement form when every variable has one definition and calls are not nested:
after ConvertToSSA and FlattenCallExpr, which complete the yields of branches and loops. `RULES` are
the further rules of document 004; each is a function from a program to diagnostics, like those of
`ir.verify`, whose findings it uses where they are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import VerificationError, with_article
from pypto._src.ir.array_types import ShapedType, TileType, same_dims
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.stmts import (
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.types import ScalarType, Type, UnknownType, same_type
from pypto._src.ir.verify.codes import SSAErrorType
from pypto._src.ir.verify.ssa import ssa
from pypto._src.ir.verify.verifier import IRVerifier, no_nested_call, structure
from pypto._src.passes.structure.convert_to_ssa import convert_to_ssa
from pypto._src.passes.structure.flatten_call_expr import flatten_call_expr
from pypto._src.statement.atoms import type_text

Rule: TypeAlias = Callable[[Program], Iterator[Diagnostic]]


def to_statement_form(program: Program) -> Program:
    """Convert ``program`` to SSA form without nested calls; return it unchanged if it is in it.

    Raises:
        VerificationError: the program breaks rules that hold of every program.
        PassError: ConvertToSSA or FlattenCallExpr does not support it.
    """
    _raise(list(structure(program)))
    before = program
    found = list(ssa(program))
    if found:
        program = convert_to_ssa()(program)
    if any(no_nested_call(program)):
        program = flatten_call_expr()(program)
    if program is not before:
        found = list(ssa(program))
    _raise([finding for finding in found if not _is_of_free_variable(finding)])
    return program


def _is_of_free_variable(finding: Diagnostic) -> bool:
    """True if the variable read is defined nowhere in the function; the text declares it."""
    return finding.error_code == SSAErrorType.UNDEFINED_VARIABLE and not finding.related


def verify_statement_form(program: Program) -> list[Diagnostic]:
    """Check that ``program`` keeps the rules of document 004; return the findings, which are none.

    Raises:
        VerificationError: it breaks some; the report names rule, statement and line of each.
    """
    found = find_in_statement_form(program)
    _raise(found)
    return found


def find_in_statement_form(program: Program) -> list[Diagnostic]:
    """Return what the `RULES` find in ``program``, rule by rule, in the order of the text."""
    return [finding for rule in RULES.values() for finding in rule(program)]


def _raise(found: Sequence[Diagnostic]) -> None:
    if found:
        raise VerificationError(IRVerifier.generate_report(found), found[0].span)


# --------------------------------------------------------------------------------------------
# Findings
# --------------------------------------------------------------------------------------------

MODULE: Final = "form-module"
SIGNATURE: Final = "form-signature"
OPS: Final = "form-ops"
REGIONS: Final = "form-regions"
LOOPS: Final = "form-loops"
BRANCHES: Final = "form-branches"
NAMES: Final = "form-names"

_CODES: Final = {
    MODULE: 401,
    SIGNATURE: 402,
    OPS: 403,
    REGIONS: 404,
    LOOPS: 405,
    BRANCHES: 406,
    NAMES: 407,
}


def _finding(rule: str, message: str, span: Span, hint: str | None = None) -> Diagnostic:
    return Diagnostic(DiagnosticSeverity.Error, rule, _CODES[rule], message, span, hint=hint)


def _statement(stmt: Stmt) -> str:
    """Return the name of a loop or branch in a message."""
    match stmt:
        case ForStmt():
            return f"statement.for %{stmt.loop_var.name}"
        case WhileStmt():
            return "statement.while"
        case _:
            return "statement.if"


def _stmts(program: Program) -> Iterator[Stmt]:
    for function in program.functions_:
        yield from stmts_in(function.body)


# --------------------------------------------------------------------------------------------
# The rules
# --------------------------------------------------------------------------------------------


def _module(program: Program) -> Iterator[Diagnostic]:
    """One module, with exactly one entry, which names a function of the module."""
    names = [function.name for function in program.functions_]
    hint = f"program.entry @{names[0]}" if names else None
    if program.entry is None:
        yield _finding(MODULE, f"program.module @{program.name} has no entry", program.span, hint)
    elif program.entry not in names:
        message = f"program.entry @{program.entry} is not a function of the module"
        yield _finding(MODULE, message, program.span, hint)


def _signature(program: Program) -> Iterator[Diagnostic]:
    """Parameters are tensors, tiles, scalars; a return carries scalars, once, at the end."""
    for function in program.functions_:
        yield from _params_and_results(function)
        stmts = statements(function.body)
        for stmt in stmts_in(function.body):
            if not isinstance(stmt, ReturnStmt):
                continue
            if stmt is not stmts[-1]:
                message = f"statement.return is before the end of @{function.name}"
                yield _finding(SIGNATURE, message, stmt.span)
            for value in stmt.value:
                if not isinstance(value.type, ScalarType | UnknownType):
                    message = (
                        f"statement.return of @{function.name} carries scalars, got {_named(value)}"
                    )
                    hint = "let it leave through a parameter marked #out"
                    yield _finding(SIGNATURE, message, stmt.span, hint)


def _params_and_results(function: Function) -> Iterator[Diagnostic]:
    for var in function.params:
        if not isinstance(var.type, ShapedType | ScalarType):
            message = (
                f"parameter %{var.name} of @{function.name} is a tensor, tile or scalar, "
                f"got {type_text(var.type)}"
            )
            yield _finding(SIGNATURE, message, function.span)
    for kind in function.return_types:
        if not isinstance(kind, ScalarType):
            message = f"func.func @{function.name} returns scalars, got {type_text(kind)}"
            yield _finding(SIGNATURE, message, function.span)


def _named(value: Expr) -> str:
    kind = with_article(type_text(value.type))
    return f"%{value.name}, {kind}" if isinstance(value, Var) else kind


def _ops(program: Program) -> Iterator[Diagnostic]:
    """Every op is in a statement.op: none is inside another or in a condition or bound."""
    for finding in no_nested_call(program):
        yield _finding(OPS, f"{finding.message}, outside of statement.op", finding.span)


def _regions(program: Program) -> Iterator[Diagnostic]:
    """Loop bodies and branches end with a yield; what yields values has an else.

    A yield of nothing is implied, and an else without statements too.
    """
    for stmt in _stmts(program):
        match stmt:
            case IfStmt():
                if stmt.return_vars and stmt.else_body is None:
                    message = "statement.if has results and no else"
                    yield _finding(REGIONS, message, stmt.span)
                for body, name in ((stmt.then_body, "then"), (stmt.else_body, "else")):
                    if body is not None:
                        yield from _ends(stmt, body, f"the {name} region", stmt.return_vars)
            case ForStmt() | WhileStmt():
                yield from _ends(stmt, stmt.body, "the body", stmt.iter_args)
            case _:
                pass


def _ends(stmt: Stmt, body: Stmt, region: str, carried: Sequence[Var]) -> Iterator[Diagnostic]:
    stmts = statements(body)
    for inner in stmts[:-1]:
        if isinstance(inner, YieldStmt):
            message = f"statement.yield is before the end of {region} of {_statement(stmt)}"
            yield _finding(REGIONS, message, inner.span)
    if carried and not (stmts and isinstance(stmts[-1], YieldStmt)):
        message = f"{region} of {_statement(stmt)} does not end with statement.yield"
        yield _finding(REGIONS, message, stmt.span)


def _loops(program: Program) -> Iterator[Diagnostic]:
    """As many iter_args as results as yielded values, of equal types position by position."""
    for stmt in _stmts(program):
        if not isinstance(stmt, ForStmt | WhileStmt):
            continue
        what = _statement(stmt)
        args, results = stmt.iter_args, stmt.return_vars
        if len(args) != len(results):
            message = f"{what} has {len(args)} iter_args and {len(results)} results"
            yield _finding(LOOPS, message, stmt.span)
        inits = [arg.initValue for arg in args]
        yield from _agree(LOOPS, what, "init value", inits, "iter_arg", args, stmt.span)
        yield from _agree(LOOPS, what, "result", results, "iter_arg", args, stmt.span)
        yielded = _yielded(stmt.body)
        if yielded is not None:
            if len(yielded.value) != len(args):
                message = f"{what} has {len(args)} iter_args, its body yields {len(yielded.value)}"
                yield _finding(LOOPS, message, yielded.span)
            yield from _agree(
                LOOPS, what, "yielded value", yielded.value, "iter_arg", args, yielded.span
            )


def _branches(program: Program) -> Iterator[Diagnostic]:
    """A condition is a bool scalar; the yields of both branches agree with the results."""
    for stmt in _stmts(program):
        if not isinstance(stmt, IfStmt):
            continue
        kind = stmt.condition.type
        if not (isinstance(kind, ScalarType) and kind.dtype is DataType.BOOL):
            message = f"the condition of statement.if is a bool, got {type_text(kind)}"
            yield _finding(BRANCHES, message, stmt.span)
        for body, name in ((stmt.then_body, "then"), (stmt.else_body, "else")):
            yielded = _yielded(body)
            if yielded is None:
                continue
            if len(yielded.value) != len(stmt.return_vars):
                message = (
                    f"statement.if has {len(stmt.return_vars)} results, "
                    f"its {name} region yields {len(yielded.value)}"
                )
                yield _finding(BRANCHES, message, yielded.span)
            what = f"statement.if: {name} region"
            yield from _agree(
                BRANCHES,
                what,
                "yielded value",
                yielded.value,
                "result",
                stmt.return_vars,
                yielded.span,
            )


def _yielded(body: Stmt | None) -> YieldStmt | None:
    stmts = statements(body)
    last = stmts[-1] if stmts else None
    return last if isinstance(last, YieldStmt) else None


def _agree(
    rule: str,
    what: str,
    word: str,
    values: Sequence[Expr],
    other: str,
    wanted: Sequence[Var],
    span: Span,
) -> Iterator[Diagnostic]:
    for index, (value, target) in enumerate(zip(values, wanted, strict=False)):
        if not _same(value.type, target.type):
            message = (
                f"{what}: {word} {index} is {type_text(value.type)}, "
                f"{other} %{target.name} is {type_text(target.type)}"
            )
            yield _finding(rule, message, span)


def _same(a: Type, b: Type) -> bool:
    """True if two types are equal except for the layout of tiles."""
    if isinstance(a, TileType) and isinstance(b, TileType):
        return a.dtype is b.dtype and same_dims(a.shape, b.shape)
    return same_type(a, b)


def _names(program: Program) -> Iterator[Diagnostic]:
    """One definition per value, visible after it, in its scope and inner ones."""
    wanted = (SSAErrorType.MULTIPLE_ASSIGNMENT, SSAErrorType.UNDEFINED_VARIABLE)
    for finding in ssa(program):
        if finding.error_code in wanted:
            yield finding._replace(rule_name=NAMES, error_code=_CODES[NAMES])


RULES: Final[dict[str, Rule]] = {
    MODULE: _module,
    SIGNATURE: _signature,
    OPS: _ops,
    REGIONS: _regions,
    LOOPS: _loops,
    BRANCHES: _branches,
    NAMES: _names,
}
"""The seven rules of the form by their ids, in the order of document 004."""
