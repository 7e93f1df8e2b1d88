"""Statements, functions and programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.errors import InternalError
from pypto._src.ir.enums import ForKind, FunctionType, ParamDirection, ScopeKind
from pypto._src.ir.exprs import (
    Expr,
    GlobalVar,
    IRNode,
    IterArg,
    Operand,
    Var,
    as_expr,
    as_exprs,
    put_span,
)
from pypto._src.ir.node_base import (
    NodeMeta,
    all_of,
    as_tuple,
    defining,
    ignored,
    not_a_span,
    plain,
    setter,
    uninitialized,
    unwanted,
)
from pypto._src.ir.types import Type
from pypto._src.usage_errors import uncompiled

_put = object.__setattr__


class Stmt(IRNode, metaclass=NodeMeta):
    """Base of statements."""


def as_body(value: Stmt | Sequence[Stmt]) -> Stmt:
    """Return a body; a list of statements (document 002) becomes one sequence."""
    if isinstance(value, Stmt):
        return value
    if not isinstance(value, list | tuple):
        raise unwanted("a body", Stmt, value)
    items = all_of("a statement of a body", value, Stmt)
    return items[0] if len(items) == 1 else SeqStmts(items)


class AssignStmt(Stmt, metaclass=NodeMeta):
    """``var = value``."""

    var: Var = defining()
    value: Expr

    def __init__(self, var: Var, value: Operand, span: Span = UNKNOWN_SPAN) -> None:
        if not isinstance(var, Var):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unwanted("the target of an assignment", Var, var)
        _put_var(self, var)
        _put_value(self, value if isinstance(value, Expr) else as_expr(value))
        put_span(self, span if span.__class__ is Span else not_a_span(self, span))


_put_var: Final = setter(AssignStmt, "var")
_put_value: Final = setter(AssignStmt, "value")


def checked_assign(var: Var, value: Expr, span: Span) -> AssignStmt:
    """Return the `AssignStmt` of arguments that are known to be valid."""
    made = _UninitializedAssign()
    made.var = var
    made.value = value
    made.span = span
    made.__class__ = AssignStmt
    return made


_UninitializedAssign: Final = uninitialized(AssignStmt)


class EvalStmt(Stmt, metaclass=NodeMeta):
    """An expression evaluated for its effect."""

    expr: Expr

    def __init__(self, expr: Expr, span: Span = UNKNOWN_SPAN) -> None:
        _put_expr(self, as_expr(expr))
        put_span(self, span if span.__class__ is Span else not_a_span(self, span))


_put_expr: Final = setter(EvalStmt, "expr")


def checked_eval(expr: Expr, span: Span) -> EvalStmt:
    """Return the `EvalStmt` of arguments that are known to be valid."""
    made = _UninitializedEval()
    made.expr = expr
    made.span = span
    made.__class__ = EvalStmt
    return made


_UninitializedEval: Final = uninitialized(EvalStmt)


class YieldStmt(Stmt, metaclass=NodeMeta):
    """The values that a loop body or branch yields to its statement."""

    value: tuple[Expr, ...]

    def __init__(self, value: Any = (), span: Span = UNKNOWN_SPAN) -> None:
        if isinstance(value, Span):
            value, span = (), value
        _put(self, "value", as_exprs(value))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))


class ReturnStmt(Stmt, metaclass=NodeMeta):
    """Return from the function with its values."""

    value: tuple[Expr, ...]

    def __init__(self, value: Any = (), span: Span = UNKNOWN_SPAN) -> None:
        if isinstance(value, Span):
            value, span = (), value
        _put(self, "value", as_exprs(value))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))


class BreakStmt(Stmt, metaclass=NodeMeta):
    """Leave the innermost loop."""


class ContinueStmt(Stmt, metaclass=NodeMeta):
    """Continue with the next iteration of the innermost loop."""


class IfStmt(Stmt, metaclass=NodeMeta):
    """A branch; ``return_vars`` take what the branches yield, by position."""

    condition: Expr
    then_body: Stmt
    else_body: Stmt | None
    return_vars: tuple[Var, ...] = defining()

    def __init__(
        self,
        condition: Operand,
        then_body: Stmt | Sequence[Stmt],
        else_body: Stmt | Sequence[Stmt] | None,
        return_vars: Sequence[Var] = (),
        span: Span = UNKNOWN_SPAN,
    ) -> None:
        _put(self, "condition", as_expr(condition))
        _put(self, "then_body", as_body(then_body))
        _put(self, "else_body", None if else_body is None else as_body(else_body))
        _put(self, "return_vars", all_of("a result", return_vars, Var))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))


class ForStmt(Stmt, metaclass=NodeMeta):
    """A counted loop; ``iter_args`` enter with their init values, ``return_vars`` take the last.

    It has ``stages`` iterations in flight at a time, each with tiles of its own.
    """

    loop_var: Var
    start: Expr
    stop: Expr
    step: Expr
    iter_args: tuple[IterArg, ...]
    body: Stmt
    return_vars: tuple[Var, ...]
    kind: ForKind
    stages: int
    # Field order is traversal order: bounds are outside the scope of the loop's definitions.
    FIELDS = (
        plain("start"),
        plain("stop"),
        plain("step"),
        defining("loop_var"),
        defining("iter_args"),
        plain("body"),
        defining("return_vars"),
        plain("kind"),
        plain("stages"),
        ignored("span"),
    )

    def __init__(
        self,
        loop_var: Var,
        start: Any,
        stop: Any,
        step: Any,
        iter_args: Any,
        body: Any,
        return_vars: Any = UNKNOWN_SPAN,
        span: Span = UNKNOWN_SPAN,
        kind: ForKind = ForKind.Sequential,
        stages: int = 1,
    ) -> None:
        if isinstance(return_vars, Span):  # document 002, example 3: no iter_args given
            iter_args, body, return_vars, span = (), iter_args, body, return_vars
            return_vars = () if isinstance(return_vars, Stmt) else return_vars
        if not isinstance(loop_var, Var):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unwanted("a loop variable", Var, loop_var)
        if not isinstance(kind, ForKind):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unwanted("the kind of a loop", ForKind, kind)
        if type(stages) is not int or stages < 1:
            raise unwanted("the number of stages of a loop", int, stages)
        _put(self, "loop_var", loop_var)
        _put(self, "start", as_expr(start))
        _put(self, "stop", as_expr(stop))
        _put(self, "step", as_expr(step))
        _put(self, "iter_args", all_of("a carried value", iter_args, IterArg))
        _put(self, "body", as_body(body))
        _put(self, "return_vars", all_of("a result", return_vars, Var))
        _put(self, "kind", kind)
        _put(self, "stages", stages)
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))


class WhileStmt(Stmt, metaclass=NodeMeta):
    """A loop that runs while ``condition`` holds; the condition sees the iter_args."""

    condition: Expr
    iter_args: tuple[IterArg, ...]
    body: Stmt
    return_vars: tuple[Var, ...]
    FIELDS = (
        defining("iter_args"),
        plain("condition"),
        plain("body"),
        defining("return_vars"),
        ignored("span"),
    )

    def __init__(
        self,
        condition: Any,
        iter_args: Any,
        body: Any,
        return_vars: Any = (),
        span: Span = UNKNOWN_SPAN,
    ) -> None:
        _put(self, "condition", as_expr(condition))
        _put(self, "iter_args", all_of("a carried value", iter_args, IterArg))
        _put(self, "body", as_body(body))
        _put(self, "return_vars", all_of("a result", return_vars, Var))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))


class ScopeStmt(Stmt, metaclass=NodeMeta):
    """A marked region, such as ``with pl.incore()``.

    ``name_hint`` is the name for the kernel that it becomes, "" for any name.
    """

    scope_kind: ScopeKind
    name_hint: str
    body: Stmt

    def __init__(
        self,
        scope_kind: ScopeKind,
        body: Stmt | Sequence[Stmt],
        span: Span = UNKNOWN_SPAN,
        name_hint: str = "",
    ) -> None:
        if not isinstance(scope_kind, ScopeKind):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unwanted("the kind of a scope", ScopeKind, scope_kind)
        if not isinstance(name_hint, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unwanted("the name of a scope's kernel", str, name_hint)
        _put(self, "scope_kind", scope_kind)
        _put(self, "name_hint", name_hint)
        _put(self, "body", as_body(body))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))


class SeqStmts(Stmt, metaclass=NodeMeta):
    """Statements in order."""

    stmts: tuple[Stmt, ...]

    def __init__(self, stmts: Sequence[Stmt] = (), span: Span = UNKNOWN_SPAN) -> None:
        _put(self, "stmts", all_of("a statement of a sequence", stmts, Stmt))
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))


class OpStmts(Stmt, metaclass=NodeMeta):
    """A sequence of assignments and evaluations only."""

    stmts: tuple[Stmt, ...]

    def __init__(self, stmts: Sequence[Stmt] = (), span: Span = UNKNOWN_SPAN) -> None:
        items = as_tuple(stmts)
        if not OPERATIONS.issuperset(map(type, items)):
            for item in items:
                if not isinstance(item, AssignStmt | EvalStmt):
                    found = type(item).__name__
                    raise InternalError(f"OpStmts holds assignments and evaluations, got {found}")
        _put(self, "stmts", items)
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))


def checked_run(stmts: tuple[Stmt, ...], span: Span) -> OpStmts:
    """Return the `OpStmts` of statements that are assignments and evaluations."""
    made = _UninitializedOps()
    made.stmts = stmts
    made.span = span
    made.__class__ = OpStmts
    return made


_UninitializedOps: Final = uninitialized(OpStmts)


def _param(entry: Any) -> tuple[Var, ParamDirection]:
    if isinstance(entry, Var):
        return entry, ParamDirection.In
    match entry:
        case (Var() as var, ParamDirection() as direction):
            return var, direction
        case _:
            raise TypeError(f"a parameter is a Var or (Var, ParamDirection), got {entry!r}")


class Function(IRNode, metaclass=NodeMeta):
    """A function: parameters with directions, result types, body, and where it runs."""

    name: str
    params: tuple[Var, ...]
    param_directions: tuple[ParamDirection, ...]
    return_types: tuple[Type, ...]
    body: Stmt
    func_type: FunctionType
    FIELDS = (
        ignored("name"),
        defining("params"),
        plain("param_directions"),
        plain("return_types"),
        plain("body"),
        plain("func_type"),
        ignored("span"),
    )

    def __init__(
        self,
        name: str,
        params: Sequence[Any],
        return_types: Sequence[Type],
        body: Any,
        span: Span = UNKNOWN_SPAN,
        type: FunctionType = FunctionType.Opaque,
    ) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unwanted("the name of a function", str, name)
        if not isinstance(type, FunctionType):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unwanted("the kind of a function", FunctionType, type)
        pairs = [_param(entry) for entry in params]
        _put(self, "name", name)
        _put(self, "params", tuple(var for var, _ in pairs))
        _put(self, "param_directions", tuple(direction for _, direction in pairs))
        _put(self, "return_types", all_of("a result type", return_types, Type))
        _put(self, "body", as_body(body))
        _put(self, "func_type", type)
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))

    def __call__(self, *_args: Any, **_named: Any) -> Any:
        """Refuse: only the result of ``pypto.runtime.compile`` runs."""
        raise uncompiled("function", self.name, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]

    def with_body(
        self,
        body: Stmt,
        *,
        params: Sequence[Var] | None = None,
        return_types: Sequence[Type] | None = None,
        func_type: FunctionType | None = None,
    ) -> Function:
        """Return a copy with another body (and parameters, result types or kind)."""
        if params is None and return_types is None and func_type is None:
            return self._with_that_body(as_body(body))
        variables = self.params if params is None else params
        return Function(
            self.name,
            tuple(zip(variables, self.param_directions, strict=True)),
            self.return_types if return_types is None else return_types,
            body,
            self.span,
            self.func_type if func_type is None else func_type,
        )

    def _with_that_body(self, body: Stmt) -> Function:
        made = _UninitializedFunction()
        made.name = self.name
        made.params = self.params
        made.param_directions = self.param_directions
        made.return_types = self.return_types
        made.body = body
        made.func_type = self.func_type
        made.span = self.span
        made.__class__ = Function
        return made


_UninitializedFunction: Final = uninitialized(Function)


class Program(IRNode, metaclass=NodeMeta):
    """Functions by name, in name order, with optional attributes and entry."""

    name: str
    functions_: tuple[Function, ...]
    globals_: Mapping[str, GlobalVar]
    attrs: Mapping[str, Any]
    entry: str | None
    FIELDS = (
        ignored("name"),
        plain("functions_"),
        plain("attrs"),
        plain("entry"),
        ignored("span"),
    )

    def __init__(
        self,
        functions: Sequence[Function] | Mapping[Any, Function],
        name: str = "",
        span: Span = UNKNOWN_SPAN,
        *,
        attrs: Mapping[str, Any] | None = None,
        entry: str | None = None,
    ) -> None:
        if isinstance(functions, Mapping):
            functions = list(functions.values())
        for function in functions:
            if not isinstance(function, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InternalError(f"a program holds functions, got {type(function).__name__}")
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unwanted("the name of a program", str, name)
        ordered = sorted(functions, key=lambda f: f.name)
        for first, second in pairwise(ordered):
            if first.name == second.name:
                raise ValueError(f"two functions of a program are named {first.name!r}")
        if ordered and not ordered[0].name:
            raise InternalError("a function of a program has no name")
        _put(self, "name", name)
        _put(self, "functions_", tuple(ordered))
        _put(self, "globals_", {f.name: GlobalVar(f.name) for f in ordered})
        _put(self, "attrs", dict(attrs or {}))
        _put(self, "entry", entry)
        _put(self, "span", span if span.__class__ is Span else not_a_span(self, span))

    def __call__(self, *_args: Any, **_named: Any) -> Any:
        """Refuse: only the result of ``pypto.runtime.compile`` runs."""
        raise uncompiled("program", self.name, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]

    @property
    def functions(self) -> dict[GlobalVar, Function]:
        """The functions by their global variables, in name order."""
        return {self.globals_[f.name]: f for f in self.functions_}

    def get_function(self, name: str) -> Function | None:
        """Return the function called ``name``, or None."""
        for function in self.functions_:
            if function.name == name:
                return function
        return None

    def get_global_var(self, name: str) -> GlobalVar | None:
        """Return the global variable that names function ``name``, or None."""
        return self.globals_.get(name)

    def with_functions(self, functions: Sequence[Function]) -> Program:
        """Return a copy with other functions."""
        if not _are_named_alike(functions, self.functions_):
            return Program(functions, self.name, self.span, attrs=self.attrs, entry=self.entry)
        made = _UninitializedProgram()
        made.name = self.name
        made.functions_ = tuple(functions)
        made.globals_ = self.globals_
        made.attrs = self.attrs
        made.entry = self.entry
        made.span = self.span
        made.__class__ = Program
        return made


_UninitializedProgram: Final = uninitialized(Program)


def _are_named_alike(functions: Sequence[Any], others: Sequence[Function]) -> bool:
    """True for functions with the names of the others, in the same order."""
    if len(functions) != len(others):
        return False
    pairs = zip(functions, others, strict=True)
    return all(a.__class__ is Function and a.name == b.name for a, b in pairs)


def statements(body: Stmt | None) -> tuple[Stmt, ...]:
    """Return the statements of a body, with nested sequences flattened."""
    if body is None:
        return ()
    if body.__class__ not in SEQUENCES:
        return (body,)
    outer: Any = body
    inner: tuple[Any, ...] = outer.stmts
    if body.__class__ is OpStmts or SEQUENCES.isdisjoint(map(type, inner)):
        return inner
    if len(inner) == 1 and inner[0].__class__ is OpStmts:  # a normal body
        return inner[0].stmts
    out: list[Stmt] = []
    stack: list[Any] = list(reversed(inner))
    while stack:
        stmt = stack.pop()
        if stmt.__class__ is OpStmts:  # holds no sequences
            out += stmt.stmts
        elif stmt.__class__ is SeqStmts:
            stack += reversed(stmt.stmts)
        else:
            out.append(stmt)
    return tuple(out)


SEQUENCES: Final[frozenset[type]] = frozenset({SeqStmts, OpStmts})
OPERATIONS: Final[frozenset[type]] = frozenset({AssignStmt, EvalStmt})
"""The statements that `OpStmts` holds."""
SIMPLE: Final[frozenset[type]] = OPERATIONS | {YieldStmt, ReturnStmt, BreakStmt, ContinueStmt}
"""The statements that hold no other statements, and are not sequences."""


def final_yield(body: Stmt | None) -> YieldStmt | None:
    """Return the yield that a body ends in, None if it ends in another statement or is empty."""
    stack = [body]
    while stack:
        last = stack.pop()
        if last.__class__ in SEQUENCES:
            stack += cast("SeqStmts", last).stmts
        elif last is not None:
            return last if isinstance(last, YieldStmt) else None
    return None


def yielded(body: Stmt | None) -> tuple[Expr, ...]:
    """Return the values that a body yields at its end, () if it does not end in a yield."""
    last = final_yield(body)
    return () if last is None else last.value


def yielded_by(stmts: Sequence[Stmt]) -> tuple[Expr, ...]:
    """Return the values of a yield that is the last of ``stmts``, () if there is none."""
    last = stmts[-1] if stmts else None
    return last.value if isinstance(last, YieldStmt) else ()


def seq(stmts: Sequence[Stmt], span: Span = UNKNOWN_SPAN) -> Stmt:
    """Return ``stmts`` as one body: the statement itself if there is one, else a sequence."""
    return stmts[0] if len(stmts) == 1 else SeqStmts(tuple(stmts), span)
