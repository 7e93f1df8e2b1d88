"""Lowering of break, continue and early return to conditions, as SSA form needs.

Works on the form before SSA, with variables assigned many times, and leaves programs without jumps
as they are. What follows a jump that is not always taken moves into the other branch of its `if`
or, where there is no such branch, is guarded by a test of the flag ``skip``:

    if c: continue        ->   if c: pass
    rest                       else: rest

``break`` sets the flag ``broke``; the other iterations of a counted loop then do nothing, and a
while loop ends. A return in a loop sets ``returned`` and breaks; after the loop a test of it
returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import PassError
from pypto._src.ir.enums import ForKind
from pypto._src.ir.exprs import ConstBool, Expr, IterArg, Not, Var, unary
from pypto._src.ir.stmts import (
    AssignStmt,
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
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator, map_functions
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.types import same_type, scalar_type
from pypto._src.records import NamedTuple

_JUMPS: Final = frozenset({BreakStmt, ContinueStmt, ReturnStmt})


def lower_jumps(program: Program) -> Program:
    """Return the program without break, continue and return before the end of a function.

    Raises:
        PassError: a jump that cannot be lowered: a break out of a parallel loop, a return in a
            loop of a value that does not outlive it, a jump out of a ``with`` scope.
    """
    return map_functions(program, lower_function_jumps)


def lower_function_jumps(function: Function) -> Function:
    """Return the function without jumps, itself if it has none; see `lower_jumps`."""
    if not _has_jumps(function.body):
        return function
    if _returns_in_loops(function.body):
        function = function.with_body(seq(_returns_after_loops(statements(function.body))))
    jumps = [s for s in stmts_in(function.body) if isinstance(s, BreakStmt | ContinueStmt)]
    early = _has_early_return(function.body)
    if not jumps and not early:
        return function
    frame = _Frame(is_loop=False)
    lower = _Lower()
    stmts = statements(function.body)
    body = lower.body(stmts, frame if early else None)
    if frame.results and lower.falls(stmts):
        raise PassError(
            f"some paths through '{function.name}' end without a return, others return a value",
            function.span,
            _last_value(function, stmts),
            slug="missing-return",
        )
    if early:
        body = [*frame.prologue(), *body, ReturnStmt(tuple(frame.results), function.span)]
    return function.with_body(seq(body))


def _last_value(function: Function, stmts: Sequence[Stmt]) -> str | None:
    """Return the hint for a missing return, None if there is no obvious value to return."""
    last, wanted = stmts[-1] if stmts else None, function.return_types
    if len(wanted) != 1:
        return None
    if isinstance(last, AssignStmt):
        fits = same_type(last.var.type, wanted[0])
        return f"write return {last.var.name} at the end" if fits else None
    for stmt in stmts_in(function.body):
        value = stmt.value[0] if isinstance(stmt, ReturnStmt) else None
        if isinstance(value, Var) and any(value.name == param.name for param in function.params):
            return f"write return {value.name} at the end"
    return None


def _has_jumps(body: Stmt) -> bool:
    """True if the body has a jump, other than a return at its end."""
    jumps = sum(map(_JUMPS.__contains__, map(type, stmts_in(body))))
    return jumps > 1 or (jumps == 1 and not isinstance(_last(body), ReturnStmt))


def _last(body: Stmt) -> Stmt | None:
    """Return the last statement of a function (or of a scope there)."""
    last = statements(body)[-1:]
    while last and isinstance(last[0], ScopeStmt):
        last = statements(last[0].body)[-1:]
    return last[0] if last else None


def _has_early_return(body: Stmt) -> bool:
    """True if there is a return anywhere but at the end of the function (or of a scope there)."""
    returns = sum(isinstance(stmt, ReturnStmt) for stmt in stmts_in(body))
    return returns > int(isinstance(_last(body), ReturnStmt))


def _returns_in_loops(body: Stmt) -> bool:
    return any(
        isinstance(inner, ReturnStmt)
        for stmt in stmts_in(body)
        if isinstance(stmt, ForStmt | WhileStmt)
        for inner in stmts_in(stmt.body)
    )


def _returns_after_loops(stmts: Sequence[Stmt]) -> list[Stmt]:
    """Return statements whose loops are left by break, with the returns after the loops.

    Raises:
        PassError: a loop has different returns, or one of a value that does not outlive it.
    """
    out: list[Stmt] = []
    for stmt in stmts:
        match stmt:
            case ForStmt() | WhileStmt():
                out += _loop_returning_behind(stmt)
            case IfStmt():
                changes = {"then_body": seq(_returns_after_loops(statements(stmt.then_body)))}
                if stmt.else_body is not None:
                    changes["else_body"] = seq(_returns_after_loops(statements(stmt.else_body)))
                out.append(copy_with(stmt, changes))
            case ScopeStmt():
                body = seq(_returns_after_loops(statements(stmt.body)))
                out.append(copy_with(stmt, {"body": body}))
            case _:
                out.append(stmt)
    return out


def _loop_returning_behind(stmt: ForStmt | WhileStmt) -> list[Stmt]:
    body = seq(_returns_after_loops(statements(stmt.body)))
    returns = [inner for inner in stmts_in(body) if isinstance(inner, ReturnStmt)]
    if not returns:
        return [copy_with(stmt, {"body": body})]
    first = returns[0]
    for each in returns:
        same = len(each.value) == len(first.value) and all(
            a is b for a, b in zip(each.value, first.value, strict=True)
        )
        local = isinstance(stmt, ForStmt) and any(v is stmt.loop_var for v in each.value)
        if stmt.iter_args or not same or local or any(not isinstance(v, Var) for v in each.value):
            raise _misplaced_jump(each)
    returned = _flag("returned", first.span)
    new = _Breaking(returned).body(body)
    behind = IfStmt(condition=returned, then_body=first, else_body=None, span=first.span)
    return [_set(returned, False, stmt.span), copy_with(stmt, {"body": new}), behind]


class _Breaking:
    """Replaces the returns of a loop whose inner loops have none left."""

    def __init__(self, returned: Var) -> None:
        self._returned = returned

    def body(self, body: Stmt) -> Stmt:
        """Return the body with a flag and a break for each return."""
        out: list[Stmt] = []
        for stmt in statements(body):
            match stmt:
                case ReturnStmt():
                    out += [_set(self._returned, True, stmt.span), BreakStmt(stmt.span)]
                case IfStmt():
                    changes = {"then_body": self.body(stmt.then_body)}
                    if stmt.else_body is not None:
                        changes["else_body"] = self.body(stmt.else_body)
                    out.append(copy_with(stmt, changes))
                case ScopeStmt():
                    out.append(copy_with(stmt, {"body": self.body(stmt.body)}))
                case _:
                    out.append(stmt)
        return seq(out)


class _Frame:
    """The variables that the jumps of one loop, or the returns of one function, assign."""

    def __init__(self, is_loop: bool, skip: Var | None = None) -> None:
        self.is_loop = is_loop
        self.skip = skip  # set by every jump, if a test has to skip statements
        self.wants_skip = False
        self.broke: Var | None = None
        self.results: list[Var] = []

    def prologue(self) -> list[Stmt]:
        """Return the reset of ``skip``."""
        return [] if self.skip is None else [_set(self.skip, False, self.skip.span)]


class _Reach(NamedTuple):
    """How control leaves a statement."""

    jumps: bool  # some path jumps out of it
    falls: bool  # some path continues after it


def _flag(name: str, span: Span) -> Var:
    return Var(name, scalar_type(DataType.BOOL), span)


def _assign(var: Var, value: Expr, span: Span) -> Stmt:
    return AssignStmt(var=var, value=value, span=span)


def _set(var: Var, value: bool, span: Span) -> Stmt:
    return _assign(var, ConstBool(value, span), span)


class _Lower:
    """Rewrites bodies; each loop is rewritten once, however deeply it is nested."""

    def __init__(self) -> None:
        self._reach: dict[Stmt, _Reach] = {}
        self._loops: dict[Stmt, list[Stmt]] = {}

    def body(self, stmts: Sequence[Stmt], frame: _Frame | None) -> list[Stmt]:
        """Return the statements of a loop body or function, whose jumps belong to ``frame``."""
        out = self._sequence(stmts, frame)
        if frame is None or not frame.wants_skip:
            return out
        span = stmts[0].span
        frame.skip = _flag("skip", span)
        return self._sequence(stmts, frame)

    def _sequence(self, stmts: Sequence[Stmt], frame: _Frame | None) -> list[Stmt]:
        out: list[Stmt] = []
        for index, stmt in enumerate(stmts):
            if not self._reaches(stmt).jumps and not isinstance(stmt, ReturnStmt):
                out += self._inner(stmt)
                continue
            rest = stmts[index + 1 :]
            match stmt:
                case IfStmt():
                    return out + self._branch(stmt, rest, frame)
                case ReturnStmt() if frame is None:
                    out.append(stmt)
                case BreakStmt() | ContinueStmt() | ReturnStmt():
                    return out + self._jump(stmt, frame)
                case _:
                    raise PassError(
                        "a jump leaves this scope before its end",
                        stmt.span,
                        "put the condition around the scope",
                        slug="jump-from-scope",
                    )
        return out

    def _inner(self, stmt: Stmt) -> list[Stmt]:
        """Return a statement that no jump leaves, with the loops inside it lowered."""
        match stmt:
            case ForStmt() | WhileStmt():
                if stmt not in self._loops:
                    self._loops[stmt] = self._loop(stmt)
                return self._loops[stmt]
            case IfStmt():
                changes = {"then_body": self._inner_body(stmt.then_body)}
                if stmt.else_body is not None:
                    changes["else_body"] = self._inner_body(stmt.else_body)
                return [copy_with(stmt, changes)]
            case ScopeStmt():
                return [copy_with(stmt, {"body": self._inner_body(stmt.body)})]
            case _:
                return [stmt]

    def _inner_body(self, body: Stmt) -> Stmt:
        old = statements(body)
        new = self._sequence(old, None)
        same = len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
        return body if same else seq(new)

    # Jumps --------------------------------------------------------------------------------

    def _jump(self, stmt: Stmt, frame: _Frame | None) -> list[Stmt]:
        if frame is None or isinstance(stmt, ReturnStmt) == frame.is_loop:
            raise _misplaced_jump(stmt)
        out: list[Stmt] = []
        if isinstance(stmt, ReturnStmt):
            out = self._results(stmt, frame)
        elif isinstance(stmt, BreakStmt):
            frame.broke = frame.broke or _flag("broke", stmt.span)
            out.append(_set(frame.broke, True, stmt.span))
        if frame.skip is not None:
            out.append(_set(frame.skip, True, stmt.span))
        return out

    def _results(self, stmt: ReturnStmt, frame: _Frame) -> list[Stmt]:
        if not frame.results:
            frame.results = [Var("result", value.type, stmt.span) for value in stmt.value]
        if len(frame.results) != len(stmt.value) or not all(
            same_type(var.type, value.type)
            for var, value in zip(frame.results, stmt.value, strict=True)
        ):
            raise PassError(
                "this return and another one of the function differ in their types",
                stmt.span,
                slug="merge-type",
            )
        return assign_all(frame.results, stmt.value, stmt.span)

    def _branch(self, stmt: IfStmt, rest: Sequence[Stmt], frame: _Frame | None) -> list[Stmt]:
        """Lower an if that jumps somewhere, and what follows it."""
        then, other = statements(stmt.then_body), statements(stmt.else_body)
        # A branch without results may end with a yield of nothing, after which nothing may follow.
        then, other = (_without_yield(arm, stmt.return_vars) for arm in (then, other))
        after: list[Stmt] = []
        then_falls, other_falls = self.falls(then), self.falls(other)
        if not (then_falls and other_falls):
            then = (*then, *rest) if then_falls else then
            other = (*other, *rest) if other_falls else other
        elif rest:
            after = self._guarded(rest, stmt, frame)
        then_body = self._sequence(then, frame)
        else_body = self._sequence(other, frame)
        branch = IfStmt(
            condition=stmt.condition,
            then_body=seq(then_body),
            else_body=seq(else_body) if else_body else None,
            span=stmt.span,
        )
        return [branch, *after]

    def _guarded(self, rest: Sequence[Stmt], stmt: Stmt, frame: _Frame | None) -> list[Stmt]:
        if frame is None:
            raise _misplaced_jump(stmt)
        if not frame.is_loop and any(isinstance(s, ReturnStmt) and s.value for s in stmts_in(stmt)):
            raise PassError(
                "a return in this if leaves only on some paths",
                stmt.span,
                "assign the value to a variable, and return that at the end",
                slug="early-return",
            )
        frame.wants_skip = True
        if frame.skip is None:  # a first pass, which is repeated with the flag
            return self._sequence(rest, frame)
        test = unary(Not, frame.skip, stmt.span)
        body = seq(self._sequence(rest, frame))
        return [IfStmt(condition=test, then_body=body, else_body=None, span=stmt.span)]

    # Reach --------------------------------------------------------------------------------

    def _reaches(self, stmt: Stmt) -> _Reach:
        known = self._reach.get(stmt)
        if known is None:
            known = self._reach[stmt] = self._find_reach(stmt)
        return known

    def _find_reach(self, stmt: Stmt) -> _Reach:
        match stmt:
            case BreakStmt() | ContinueStmt() | ReturnStmt():
                return _Reach(True, False)
            case IfStmt():
                arms = statements(stmt.then_body), statements(stmt.else_body)
                jumps = any(self._reaches(s).jumps for arm in arms for s in arm)
                return _Reach(jumps, any(self.falls(arm) for arm in arms))
            case ScopeStmt():
                body = statements(stmt.body)
                return _Reach(any(self._reaches(s).jumps for s in body), self.falls(body))
            case ForStmt() | WhileStmt():
                for inner in stmts_in(stmt.body):
                    if isinstance(inner, ReturnStmt):
                        raise _misplaced_jump(inner)
                return _Reach(False, True)
            case _:
                return _Reach(False, True)

    def falls(self, stmts: Sequence[Stmt]) -> bool:
        """True if some path through ``stmts`` reaches their end."""
        return all(self._reaches(stmt).falls for stmt in stmts)

    # Loops --------------------------------------------------------------------------------

    def _loop(self, stmt: ForStmt | WhileStmt) -> list[Stmt]:
        old = statements(stmt.body)
        if not any(self._reaches(inner).jumps for inner in old):
            body = self._inner_body(stmt.body)
            return [stmt if body is stmt.body else copy_with(stmt, {"body": body})]
        if stmt.iter_args:
            before, plain, after = _without_iter_args(stmt)
            return [*before, *self._loop(plain), *after]
        frame = _Frame(is_loop=True)
        new = self.body(old, frame)
        new = [*frame.prologue(), *new]
        if frame.broke is None:
            return [copy_with(stmt, {"body": seq(new)})]
        if isinstance(stmt, WhileStmt):
            return _ending_while(stmt, new, frame.broke)
        return _idling_for(stmt, new, frame.broke)


def _idling_for(stmt: ForStmt, body: list[Stmt], broke: Var) -> list[Stmt]:
    """for: body  ->  broke = False; for: if not broke: body."""
    if stmt.kind is ForKind.Parallel:
        raise PassError(
            "this parallel loop has a break, but its iterations run in any order",
            stmt.span,
            "iterate over pl.range(...)",
            slug="parallel-break",
        )
    test = unary(Not, broke, broke.span)
    guarded = IfStmt(condition=test, then_body=seq(body), else_body=None, span=broke.span)
    return [_set(broke, False, broke.span), copy_with(stmt, {"body": guarded})]


def _ending_while(stmt: WhileStmt, body: list[Stmt], broke: Var) -> list[Stmt]:
    """While c: body  ->  go = c; while go: broke = False; body; go = False if broke else c."""
    span = stmt.span
    go = _flag("go", span)
    again = IfStmt(
        condition=broke,
        then_body=_set(go, False, span),
        else_body=_assign(go, stmt.condition, span),
        span=span,
    )
    iteration = seq([_set(broke, False, broke.span), *body, again])
    return [
        _assign(go, stmt.condition, span),
        copy_with(stmt, {"condition": go, "body": iteration}),
    ]


# --------------------------------------------------------------------------------------------
# Explicit carried values as variables
# --------------------------------------------------------------------------------------------


class _Rename(Mutator):
    """Replaces variables, where they are used and where they are assigned."""

    def __init__(self, mapping: dict[Var, Var]) -> None:
        super().__init__()
        self._mapping = mapping

    def visit_Var(self, var: Var) -> Expr:
        return self._mapping.get(var, var)

    def define(self, var: Var) -> Var:
        return self._mapping.get(var) or super().define(var)


def assign_all(variables: Sequence[Var], values: Sequence[Expr], span: Span) -> list[Stmt]:
    """Assign all values as if at once: no variable is overwritten before it is read."""
    if len(variables) == 1:
        return [_assign(variables[0], values[0], span)]
    held = [Var(f"{var.name}_next", var.type, span) for var in variables]
    first = [_assign(var, value, span) for var, value in zip(held, values, strict=True)]
    return first + [_assign(var, value, span) for var, value in zip(variables, held, strict=True)]


def _without_yield(stmts: Sequence[Stmt], results: Sequence[Var]) -> tuple[Stmt, ...]:
    """Return a branch or body with its final yield replaced by assignments to ``results``."""
    last = stmts[-1] if stmts else None
    if not isinstance(last, YieldStmt) or len(last.value) != len(results):
        return tuple(stmts)  # a yield of another number of values is reported elsewhere
    return (*stmts[:-1], *assign_all(results, last.value, last.span))


def _without_iter_args(
    stmt: ForStmt | WhileStmt,
) -> tuple[list[Stmt], ForStmt | WhileStmt, list[Stmt]]:
    """Return assignments before, a loop with variables in place of iter_args, assignments after."""
    span = stmt.span
    args: tuple[IterArg, ...] = stmt.iter_args
    carried = [Var(arg.name, arg.type, arg.span) for arg in args]
    rename = _Rename(dict(zip(args, carried, strict=True)))
    before = assign_all(carried, [arg.initValue for arg in args], span)
    body = _without_yield(statements(rename.body(stmt.body)), carried)
    changes: dict[str, object] = {"iter_args": (), "return_vars": (), "body": seq(body)}
    if isinstance(stmt, WhileStmt):
        changes["condition"] = rename.visit(stmt.condition)
    after = [_assign(v, c, span) for v, c in zip(stmt.return_vars, carried, strict=True)]
    return before, copy_with(stmt, changes), after


def _misplaced_jump(stmt: Stmt) -> PassError:
    if isinstance(stmt, ReturnStmt):
        return PassError(
            "this return is inside a loop",
            stmt.span,
            "assign the value to a variable, and return that at the end",
            slug="early-return",
        )
    return PassError("this jump is not inside a loop", stmt.span, slug="stray-jump")
