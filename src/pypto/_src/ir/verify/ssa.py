"""The rule SSAVerify: every variable is assigned once, and read where it is known.

Goes through each function once, for all rules: it passes over the statements that are right in any
program (`verification_cache`), so that the other rules need to look only at the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

from pypto._src.diagnostics import Diagnostic, Label, Span
from pypto._src.ir.array_types import MemRef, symbols_of_type
from pypto._src.ir.exprs import CONSTANTS, Call, ConstInt, Expr, IRNode, Var
from pypto._src.ir.stmts import (
    OPERATIONS,
    SIMPLE,
    AssignStmt,
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
from pypto._src.ir.traversal.queries import held_by, stmts_in
from pypto._src.ir.traversal.walk import child_list
from pypto._src.ir.verify.verification_cache import Known, Look, VerificationCache
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    from pypto._src.ir.verify import codes
else:
    codes = lazy_module("pypto._src.ir.verify.codes")


def ssa(program: Program, cache: VerificationCache | None = None) -> Iterator[Diagnostic]:
    """Every variable has one definition, which is known wherever it is read."""
    cache = cache or VerificationCache()
    for function in program.functions_:
        for make in look(function, cache).wrong:
            yield make()


def look(function: Function, cache: VerificationCache) -> Look:
    """Go through a function, unless that was done; return what the rules still have to check."""
    return cache.look_at(function, _look)


def _look(function: Function, cache: VerificationCache) -> Look:
    return _Definitions(function, cache).look()


_Steps: TypeAlias = "Iterator[_Steps]"
_REGIONS: Final = (IfStmt, ForStmt, WhileStmt, ScopeStmt)


class _Definitions:
    """The definitions of one function, met in order, and which of them are in scope at a point."""

    def __init__(self, function: Function, cache: VerificationCache) -> None:
        self.function = function
        self.cache = cache
        self.known = Known()  # in order of definition
        self.gone: set[Var] = set()  # those that are out of scope
        self.spans: dict[Var, Span] = {}  # of definitions that were not passed over
        self.returns: list[ReturnStmt] = []
        self.in_place = True  # so far; see `Look`
        self.left: list[Stmt] = []
        self.doubtful: list[Stmt] = []
        self.forms: dict[object, Stmt] = {}  # the first statement of each form passed over
        # Findings are made on demand: a program before ConvertToSSA may have thousands.
        self.wrong: list[Callable[[], Diagnostic]] = []

    def look(self) -> Look:
        function = self.function
        for var in function.params:
            self.define(var, var.span)
        for var in function.params:  # a signature defines the dimensions that it names
            for dim in self.cache.symbols_of(self.known[var]):
                if dim not in self.known:
                    self.define(dim, var.span)
        self.run(self.sequence(statements(function.body), ReturnStmt))
        for stmt in self.returns:
            if stmt is not statements(function.body)[-1]:
                message = "a return before the end of its function"
                self.find(codes.SSAErrorType.EARLY_RETURN, message, stmt.span)
        return Look(self.left, self.doubtful, self.wrong, self.forms.values(), self.in_place)

    def run(self, steps: _Steps) -> None:
        """Run the steps, and first those that they yield: no recursion over bodies."""
        stack = [steps]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                stack.append(inner)

    # ----- variables ------------------------------------------------------------------------

    def define(self, var: Var, span: Span) -> None:
        if var in self.known or var in self.gone:
            self.assigned_again(var, span)
        else:
            self.spans[var] = span
        self.known[var] = self.cache.part(var.type)

    def assigned_again(self, var: Var, span: Span) -> None:
        def make() -> Diagnostic:
            message = f"variable {var.name!r} is assigned a second time"
            related = [Label(self.span_of(var), "first assigned here")]
            return codes.finding(
                codes.SSAErrorType.MULTIPLE_ASSIGNMENT, message, span, related=related
            )

        self.wrong.append(make)

    def leave(self, mark: int) -> None:
        """End the scope of all variables but the first ``mark``."""
        known = self.known
        while len(known) > mark:
            self.gone.add(known.popitem()[0])

    def use(self, exprs: Iterable[Expr], span: Span) -> None:
        known = self.known
        for expr in exprs:
            if expr in known or expr.__class__ in CONSTANTS:
                continue
            if isinstance(expr, Call) and all(map(known.__contains__, expr.args)):
                continue
            for var in _variables(expr):
                if var not in known and not isinstance(var, MemRef):
                    at = span if expr.span.begin_line <= 0 else expr.span
                    self.unknown(var, at, was_known=var in self.gone)

    def unknown(self, var: Var, span: Span, *, was_known: bool) -> None:
        def make() -> Diagnostic:
            where = "where it is not known" if was_known else "without a definition"
            message = f"variable {var.name!r} is read {where}"
            ends = "its scope ends with this block"
            related = [Label(self.span_of(var), ends)] if was_known else ()
            return codes.finding(
                codes.SSAErrorType.UNDEFINED_VARIABLE, message, span, related=related
            )

        self.wrong.append(make)

    def find(self, code: codes.SSAErrorType, message: str, span: Span) -> None:
        self.wrong.append(lambda: codes.finding(code, message, span))

    def span_of(self, var: Var) -> Span:
        """Return where a variable was first defined, for a finding."""
        return self.spans.get(var) or self.assigned[var]

    @cached_property
    def assigned(self) -> dict[Var, Span]:
        """Where variables are first assigned: for passed-over statements, not in `spans`."""
        stmts = [s for s in stmts_in(self.function.body) if isinstance(s, AssignStmt)]
        return {stmt.var: stmt.span for stmt in reversed(stmts)}

    def result(self, var: Var, span: Span) -> None:
        """Define a variable after checking that the variables in its type are in scope."""
        if self.cache.symbols_of(self.cache.part(var.type)):
            self.use(symbols_of_type(var.type), span)
        self.define(var, span)

    # ----- statements -----------------------------------------------------------------------

    def body(self, body: Stmt | None, inside: Sequence[Var] = (), results: int = -1) -> _Steps:
        """Check a body that has ``inside`` in scope and yields ``results`` values (-1: any)."""
        mark = len(self.known)
        for var in inside:
            self.define(var, var.span)
        stmts = statements(body)
        yield self.sequence(stmts, YieldStmt)
        if results >= 0:
            self.yields(stmts, results)
        self.leave(mark)

    def sequence(self, stmts: Sequence[Stmt], ends: type[Stmt]) -> _Steps:
        """Check statements of which only the last one may be an ``ends``."""
        begin = 0
        while True:
            at = self.cache.pass_over(stmts, begin, self.known, self.gone, self.left, self.forms)
            if at == len(stmts):
                return
            stmt, begin = stmts[at], at + 1
            if stmt.__class__ not in SIMPLE and isinstance(stmt, _REGIONS):
                self.doubt(stmt)
                yield self.region(stmt)
            else:
                if self.cache.proves(stmt):
                    self.forms[stmt] = stmt
                else:
                    self.doubt(stmt)
                    is_end = stmt.__class__ is ends and begin == len(stmts)
                    self.in_place = self.in_place and (is_end or stmt.__class__ in OPERATIONS)
                self.stmt(stmt)

    def doubt(self, stmt: Stmt) -> None:
        self.left.append(stmt)
        self.doubtful.append(stmt)

    def yields(self, stmts: Sequence[Stmt], results: int) -> None:
        last = stmts[-1] if stmts else None
        if isinstance(last, YieldStmt):
            if len(last.value) != results:
                message = f"{results} values are carried on, {len(last.value)} are yielded"
                self.find(codes.SSAErrorType.YIELD_COUNT_MISMATCH, message, last.span)
        elif results:
            span = last.span if last is not None else self.function.span
            message = f"a body that hands on {results} values does not end with a yield"
            self.find(codes.SSAErrorType.MISSING_YIELD, message, span)

    def stmt(self, stmt: Stmt) -> None:
        self.use(held_by(stmt), stmt.span)
        if isinstance(stmt, AssignStmt):
            self.result(stmt.var, stmt.span)
        elif isinstance(stmt, ReturnStmt):
            self.returns.append(stmt)

    def region(self, stmt: IfStmt | ForStmt | WhileStmt | ScopeStmt) -> _Steps:
        match stmt:
            case IfStmt():
                self.use((stmt.condition,), stmt.span)
                yield self.body(stmt.then_body, (), len(stmt.return_vars))
                yield self.body(stmt.else_body, (), len(stmt.return_vars))
                self.results(stmt)
            case ForStmt():
                self.use((stmt.start, stmt.stop, stmt.step), stmt.span)
                self.use([arg.initValue for arg in stmt.iter_args], stmt.span)
                yield self.body(stmt.body, (stmt.loop_var, *stmt.iter_args), _carried(stmt))
                self.results(stmt)
            case WhileStmt():
                yield self.while_(stmt)
            case ScopeStmt():  # not a scope of names: its definitions stay in scope after it
                yield self.sequence(statements(stmt.body), ReturnStmt)

    def while_(self, stmt: WhileStmt) -> _Steps:
        self.use([arg.initValue for arg in stmt.iter_args], stmt.span)
        mark = len(self.known)
        for arg in stmt.iter_args:
            self.define(arg, arg.span)
        self.use((stmt.condition,), stmt.span)
        yield self.body(stmt.body, (), _carried(stmt))
        self.leave(mark)
        self.results(stmt)

    def results(self, stmt: IfStmt | ForStmt | WhileStmt) -> None:
        for var in stmt.return_vars:
            self.result(var, stmt.span)


def _carried(stmt: ForStmt | WhileStmt) -> int:
    return max(len(stmt.iter_args), len(stmt.return_vars))


def _variables(expr: Expr) -> Sequence[Var]:
    """Return the variables read by an expression; a shared part counts once."""
    if isinstance(expr, Var):
        return (expr,)
    found: list[Var] = []
    seen: set[int] = set()
    stack: list[IRNode] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Var):
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack += [child for child in child_list(node) if child.__class__ is not ConstInt]
    return found
