"""The rule Structure: yields, breaks and calls of functions are where they have a meaning.

Holds of every program.
"""

from __future__ import annotations

from collections.abc import Iterator

from pypto._src.diagnostics import Diagnostic, Label
from pypto._src.ir.exprs import Call, GlobalVar
from pypto._src.ir.stmts import (
    OPERATIONS,
    BreakStmt,
    ContinueStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.queries import calls_of
from pypto._src.ir.verify.codes import StructureErrorType, finding
from pypto._src.ir.verify.ssa import look
from pypto._src.ir.verify.verification_cache import VerificationCache
from pypto._src.records import NamedTuple


def structure(program: Program, cache: VerificationCache | None = None) -> Iterator[Diagnostic]:
    """Yields and returns end bodies, jumps are in loops, called functions exist."""
    cache = cache or VerificationCache()
    if program.entry is not None and program.get_function(program.entry) is None:
        yield finding(
            StructureErrorType.UNKNOWN_ENTRY,
            f"the entry {program.entry!r} is not a function of the program",
            program.span,
        )
    functions = {function.name: function for function in program.functions_}
    for function in program.functions_:
        found = look(function, cache)
        if not found.in_place:
            yield from _placement(function.body)
        for stmt in found.doubtful:
            for call in calls_of(stmt):
                if isinstance(call.op, GlobalVar):
                    yield from _check_callee(call, call.op, functions)


class _Site(NamedTuple):
    """A statement, and what the bodies around it permit."""

    stmt: Stmt
    is_last: bool
    in_loop: bool
    in_region: bool


def _sites(body: Stmt | None, *, in_loop: bool, in_region: bool) -> list[_Site]:
    """Return the statements of a body that not every body may have, the first one last."""
    stmts = statements(body)
    ends = YieldStmt if in_region else ReturnStmt
    others = stmts[:-1] if stmts and stmts[-1].__class__ is ends else stmts
    if OPERATIONS.issuperset(map(type, others)):
        return []
    last = len(stmts) - 1
    sites = [
        _Site(stmt, n == last, in_loop, in_region)
        for n, stmt in enumerate(stmts)
        if stmt.__class__ not in OPERATIONS
    ]
    sites.reverse()
    return sites


def _placement(body: Stmt) -> Iterator[Diagnostic]:
    codes = StructureErrorType
    stack = _sites(body, in_loop=False, in_region=False)
    while stack:
        stmt, is_last, in_loop, in_region = stack.pop()
        match stmt:
            case YieldStmt() if not in_region:
                message = "a yield is outside loop bodies and branches"
                yield finding(codes.YIELD_OUTSIDE_REGION, message, stmt.span)
            case YieldStmt() if not is_last:
                message = "statements follow a yield, which ends its body"
                yield finding(codes.YIELD_NOT_LAST, message, stmt.span)
            case ReturnStmt() if not is_last:
                message = "statements follow a return, which ends its body"
                yield finding(codes.RETURN_NOT_LAST, message, stmt.span)
            case BreakStmt() | ContinueStmt() if not in_loop:
                word = "break" if isinstance(stmt, BreakStmt) else "continue"
                yield finding(codes.JUMP_OUTSIDE_LOOP, f"{word} outside of a loop", stmt.span)
            case IfStmt():
                stack += _sites(stmt.else_body, in_loop=in_loop, in_region=True)
                stack += _sites(stmt.then_body, in_loop=in_loop, in_region=True)
            case ForStmt() | WhileStmt():
                stack += _sites(stmt.body, in_loop=True, in_region=True)
            case ScopeStmt():
                stack += _sites(stmt.body, in_loop=in_loop, in_region=False)
            case _:
                pass


def _check_callee(
    call: Call, callee: GlobalVar, functions: dict[str, Function]
) -> Iterator[Diagnostic]:
    function = functions.get(callee.name)
    if function is None:
        yield finding(
            StructureErrorType.UNKNOWN_FUNCTION,
            f"{callee.name!r} is called but is not a function of the program",
            call.span,
        )
    elif len(call.args) != len(function.params):
        yield finding(
            StructureErrorType.ARGUMENT_COUNT,
            f"{callee.name} takes {len(function.params)} arguments, got {len(call.args)}",
            call.span,
            related=[Label(function.span, f"{callee.name} is defined here")],
        )
