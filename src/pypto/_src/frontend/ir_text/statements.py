"""Statements of printed IR text, read as the printer writes them: the body of one function.

Types are trusted, and nothing is inferred, completed or checked; see `programs`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import InternalError
from pypto._src.frontend.ir_text.expressions import Unread, Values, is_number
from pypto._src.frontend.source.source import Source
from pypto._src.ir.enums import ForKind, ScopeKind
from pypto._src.ir.equal import structural_equal
from pypto._src.ir.exprs import Call, Expr, IterArg, Op, Var
from pypto._src.ir.name_rules import is_function_name
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    seq,
)
from pypto._src.ir.text.grammar import UNTYPED
from pypto._src.ir.types import Type, UnknownType, same_type, scalar_type
from pypto._src.records import NamedTuple

INDEX: Final = scalar_type(DataType.INDEX)
_KINDS: Final = {
    "range": ForKind.Sequential,
    "parallel": ForKind.Parallel,
    "pipeline": ForKind.Sequential,
}

REFUSALS: Final = (TypeError, ValueError, InternalError)
"""What node constructors raise for parts that do not fit together."""


class _Ended(NamedTuple):
    """A body: its statements, and the results that its end names, None if it names none."""

    stmts: list[Stmt]
    results: list[tuple[str, Var | None]] | None


class Body(Values):
    """Reads the body of one function."""

    def __init__(self, source: Source, prefix: str, outside: Values) -> None:
        super().__init__(source, prefix, outside)
        self.return_types: Sequence[Type] = ()

    # ------------------------------------------------------------------- statements

    def body(self, nodes: Sequence[ast.stmt]) -> Stmt:
        """Return the statements of a body that names no results."""
        span = self.span
        return seq(self.statements(nodes), span)

    def statements(self, nodes: Sequence[ast.stmt]) -> list[Stmt]:
        found: list[Stmt] = []
        span_of = self.source.span
        for node in nodes:
            self.span = span_of(node)
            form = _STATEMENTS.get(node.__class__)
            if form is None:
                raise Unread(f"IR text has no {type(node).__name__}", node)
            try:
                stmt = form(self, node)
            except REFUSALS as error:
                raise Unread(str(error), node) from None
            if stmt is not None:
                found.append(stmt)
        return found

    def assign(self, node: ast.AnnAssign) -> Stmt | None:
        """Read ``v: TYPE = EXPR``; without a value it only declares ``v``."""
        if not isinstance(node.target, ast.Name):
            raise Unread("a name was wanted", node.target)
        name = node.target.id
        known = self.names.get(name)
        made = self.variable(name, node.annotation) if known is None else known
        if known is not None:
            self.check_known(known, node.annotation)
        if node.value is None:
            self.names[name] = made
            return None
        span = self.span
        kind = made.type
        if node.value.__class__ is ast.Call and self.is_untyped(node):
            kind = UnknownType.get()
        value = self.annotated(node.value, kind)
        var = self.names.setdefault(name, made)
        return AssignStmt(var, value, span)

    def is_untyped(self, node: ast.AnnAssign) -> bool:
        """True if a comment marks the value as having no type."""
        line = self.source.lines[(node.end_lineno or node.lineno) - 1]
        return line.rstrip().endswith(UNTYPED)

    def check_known(self, var: Var, annotation: ast.expr) -> None:
        """Refuse another type for a known variable; the front end would read a new variable."""
        kind = self.type(annotation)
        # Dimensions that are calls may be equal without being the same.
        if not same_type(kind, var.type) and not structural_equal(kind, var.type, True):
            raise Unread(f"{var.name!r} has another type", annotation)

    def assign_bare(self, node: ast.Assign) -> Stmt:
        """Read ``v = foo()``: a call that has no type."""
        target, call = node.targets[0], node.value
        if len(node.targets) > 1 or not isinstance(target, ast.Name):
            raise Unread("a name was wanted", target)
        value = self.expr(call) if isinstance(call, ast.Call) else None
        if target.id in self.names or not isinstance(value, Call):
            raise Unread(f"{target.id!r} has no type", node)
        func = cast("ast.Call", call).func
        if isinstance(func, ast.Name) and not self.in_program:  # functions are annotated
            value = Call(Op(value.op.name), value.args, value.kwargs, value.type, self.span)
        if self.word(func) != "call" and value.op.__class__ is not Op:
            raise Unread(f"{target.id!r} has no type", node)
        var = self.names.setdefault(target.id, Var(target.id, value.type, self.span))
        return AssignStmt(var, value, self.span)

    def evaluate(self, node: ast.Expr) -> Stmt:
        call = node.value
        if isinstance(call, ast.Call) and self.word(call.func) == "yield_" and not call.keywords:
            return YieldStmt([self.expr(value) for value in call.args], self.span)
        return EvalStmt(self.expr(call), self.span)

    def return_(self, node: ast.Return) -> Stmt:
        if node.value is None:
            return ReturnStmt((), self.span)
        items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        values = [self.expr(item) for item in items]
        for item, value, kind in zip(items, values, self.return_types, strict=False):
            if is_number(item) and not same_type(value.type, kind):
                raise Unread("a bare number is INT64 or FP32", item)
        if not values:
            raise Unread("nothing is returned", node)
        return ReturnStmt(values, self.span)

    def break_(self, node: ast.Break) -> Stmt:
        return BreakStmt(self.span)

    def continue_(self, node: ast.Continue) -> Stmt:
        return ContinueStmt(self.span)

    def pass_(self, node: ast.Pass) -> None:
        return None

    def scope(self, node: ast.With) -> Stmt:
        call = node.items[0].context_expr
        plain = len(node.items) == 1 and node.items[0].optional_vars is None
        if not plain or not isinstance(call, ast.Call) or call.args:
            raise Unread("a scope was wanted", node)
        if self.word(call.func) != "incore":
            raise Unread("there is no such scope", node)
        name = ""
        for option in call.keywords:
            value = option.value.value if isinstance(option.value, ast.Constant) else None
            if option.arg != "name_hint" or not isinstance(value, str):
                raise Unread("there is no such option of a scope", option)
            name = value
        if name and not is_function_name(name):
            raise Unread(f"{name!r} is not an identifier", call)
        span = self.span
        return ScopeStmt(ScopeKind.InCore, self.body(node.body), span, name)

    # ----------------------------------------------------------- branches and loops

    def block(self, nodes: Sequence[ast.stmt]) -> _Ended:
        """Read a body whose last statement may name results."""
        target, call = self.ending(nodes[-1]) if nodes else (None, None)
        if call is None:
            return _Ended(self.statements(nodes), None)
        stmts = self.statements(nodes[:-1])
        self.span = self.source.span(nodes[-1])
        if self.word(call.func) == "results":
            return _Ended(stmts, [(name.id, None) for name in self.targets(target)])
        values = [self.expr(value) for value in call.args]
        stmts.append(YieldStmt(values, self.span))
        return _Ended(stmts, self.named(nodes[-1], self.targets(target), values))

    def ending(self, last: ast.stmt) -> tuple[ast.expr | None, ast.Call | None]:
        """Return target and call of a statement that names results, else None twice."""
        target: ast.expr | None = None
        if isinstance(last, ast.AnnAssign):
            target = last.target
        elif isinstance(last, ast.Assign):
            target = last.targets[0] if len(last.targets) == 1 else None
        elif not isinstance(last, ast.Expr):
            return None, None
        call = last.value
        if not isinstance(call, ast.Call) or call.keywords:
            return None, None
        word = self.word(call.func)
        named = word == "yield_" and target is not None
        if not named and (word != "results" or call.args):
            return None, None
        return target, call

    def targets(self, target: ast.expr | None) -> list[ast.Name]:
        items = [] if target is None else [target]
        if isinstance(target, ast.Tuple):
            items = target.elts
        names = [item for item in items if isinstance(item, ast.Name)]
        if len(names) != len(items):
            raise Unread("names were wanted", target)
        return names

    def named(
        self, node: ast.stmt, names: Sequence[ast.Name], values: Sequence[Expr]
    ) -> list[tuple[str, Var | None]]:
        """Return the names, each with a variable if it is new."""
        if len(names) != len(values):
            raise Unread(f"{len(values)} values are yielded to {len(names)} names", node)
        if isinstance(node, ast.AnnAssign):
            return [(names[0].id, self.variable(names[0].id, node.annotation))]
        pairs = zip(names, values, strict=True)
        return [(name.id, Var(name.id, value.type, self.span)) for name, value in pairs]

    def results_of(self, found: list[tuple[str, Var | None]] | None, node: ast.stmt) -> list[Var]:
        """Return the variables that take the results, once the loop's own names are forgotten."""
        results: list[Var] = []
        for name, made in found or ():
            var = self.names.get(name)
            if var is None:
                if made is None:
                    raise Unread(f"{name!r} has no type", node)
                var = self.names[name] = made
            results.append(var)
        return results

    def if_(self, node: ast.If) -> Stmt:
        span = self.span
        condition = self.expr(node.test)
        then = self.block(node.body)
        results = self.results_of(then.results, node)
        orelse = self.block(node.orelse)
        others = self.results_of(orelse.results, node)
        if then.results is None:
            results = others
        elif orelse.results is not None and not _same(results, others):
            raise Unread("the branches yield to different names", node)
        else_body = seq(orelse.stmts, span) if node.orelse else None
        return IfStmt(condition, seq(then.stmts, span), else_body, results, span)

    def while_(self, node: ast.While) -> Stmt:
        span = self.span
        if node.orelse:
            raise Unread("IR text has no 'else' after a loop", node)
        condition = self.expr(node.test)
        found = self.block(node.body)
        results = self.results_of(found.results, node)
        return WhileStmt(condition, (), seq(found.stmts, span), results, span)

    def for_(self, node: ast.For) -> Stmt:
        call = node.iter
        if node.orelse or not isinstance(call, ast.Call):
            raise Unread("a loop was wanted", node)
        word = self.word(call.func)
        if word == "while_":
            return self.while_values(node, call)
        kind = _KINDS.get(word or "")
        if kind is None or len(call.args) != 3:
            raise Unread("a loop has start, stop and step", node)
        span = self.span
        start, stop, step = [self.expr(bound) for bound in call.args]
        stages = self.stages(call) if word == "pipeline" else 1
        inits = self.inits(call)
        target, names = node.target, []
        if inits:
            parts = target.elts if isinstance(target, ast.Tuple) else []
            if len(parts) != 2 or not isinstance(parts[1], ast.Tuple):
                raise Unread("a loop that carries values names them", node)
            target, names = parts[0], self.targets(parts[1])
        if not isinstance(target, ast.Name):
            raise Unread("a name was wanted", target)
        declared, rest = self.declared(node.body, [target, *names])
        new = [name.id for name in (target, *names) if name.id not in self.names]
        counter = self.counter(target, declared.get(target.id))
        args = self.iter_args(node, names, inits, declared)
        found = self.block(rest)
        self.check_end(found, args, node)
        self.forget(new)
        results = self.results_of(found.results, node)
        body = seq(found.stmts, span)
        return ForStmt(counter, start, stop, step, args, body, results, span, kind, stages)

    @staticmethod
    def stages(call: ast.Call) -> int:
        """Remove the number of stages from a pipelined loop's keywords, and return it."""
        values = [word.value for word in call.keywords if word.arg == "stage"]
        value = values[0].value if values and isinstance(values[0], ast.Constant) else None
        if type(value) is not int or value < 1:
            raise Unread("a pipelined loop has a number of stages", call)
        call.keywords[:] = [word for word in call.keywords if word.arg != "stage"]
        return value

    def while_values(self, node: ast.For, call: ast.Call) -> Stmt:
        span = self.span
        inits = self.inits(call)
        if call.args or not inits or not isinstance(node.target, ast.Tuple):
            raise Unread("a loop that carries values names them", node)
        names = self.targets(node.target)
        declared, rest = self.declared(node.body, names)
        new = [name.id for name in names if name.id not in self.names]
        args = self.iter_args(node, names, inits, declared)
        first = rest[0].value if rest and isinstance(rest[0], ast.Expr) else None
        if not isinstance(first, ast.Call) or self.word(first.func) != "cond":
            raise Unread("pl.cond starts the body", node)
        if len(first.args) != 1 or first.keywords:
            raise Unread("pl.cond takes one condition", first)
        condition = self.expr(first.args[0])
        found = self.block(rest[1:])
        self.check_end(found, args, node)
        self.forget(new)
        results = self.results_of(found.results, node)
        return WhileStmt(condition, args, seq(found.stmts, span), results, span)

    def check_end(self, found: _Ended, args: Sequence[IterArg], node: ast.stmt) -> None:
        """Refuse a last yield that names nothing, which the front end reads as one with results."""
        last = found.stmts[-1] if found.stmts else None
        if args and found.results is None and isinstance(last, YieldStmt):
            raise Unread("the yield names no results", node)

    def inits(self, call: ast.Call) -> list[Expr]:
        if not call.keywords:
            return []
        word = call.keywords[0]
        if len(call.keywords) > 1 or word.arg != "init_values":
            raise Unread("the keyword of a loop is init_values", call)
        if not isinstance(word.value, ast.Tuple):
            raise Unread("init_values is a tuple", call)
        return [self.expr(value) for value in word.value.elts]

    def declared(
        self, body: list[ast.stmt], names: Sequence[ast.Name]
    ) -> tuple[dict[str, ast.expr], list[ast.stmt]]:
        """Return the annotations of loop variables at the start of a body, and the rest of it."""
        wanted = {name.id for name in names}
        found: dict[str, ast.expr] = {}
        for index, stmt in enumerate(body):
            if not isinstance(stmt, ast.AnnAssign) or stmt.value is not None:
                return found, body[index:]
            name = getattr(stmt.target, "id", None)
            if name not in wanted or name in found:
                return found, body[index:]
            found[name] = stmt.annotation
        return found, []

    def iter_args(
        self,
        node: ast.stmt,
        names: Sequence[ast.Name],
        inits: Sequence[Expr],
        declared: dict[str, ast.expr],
    ) -> list[IterArg]:
        if len(names) != len(inits):
            raise Unread(f"{len(inits)} values are carried under {len(names)} names", node)
        args: list[IterArg] = []
        for name, init in zip(names, inits, strict=True):
            note = declared.get(name.id)
            known = self.names.get(name.id)
            if known is not None and name.id not in {arg.name for arg in args}:
                if note is None or not isinstance(known, IterArg):
                    raise Unread(f"{name.id!r} has a meaning outside of the loop", name)
                args.append(known)
                continue
            kind = init.type if note is None else self.type(note)
            arg = IterArg(name.id, kind, init, self.span)
            args.append(arg)
            self.names[name.id] = arg
        return args

    def counter(self, target: ast.Name, note: ast.expr | None) -> Var:
        """Return the variable of a counted loop: a new one, or a known one that is declared."""
        name = target.id
        known = self.names.get(name)
        if known is not None and note is None:
            raise Unread(f"{name!r} has a meaning outside of the loop", target)
        if known is None:
            known = Var(name, INDEX, self.span) if note is None else self.variable(name, note)
        self.names[name] = known
        return known

    def forget(self, names: Sequence[str]) -> None:
        """Forget names that only a loop defines."""
        for name in names:
            self.names.pop(name, None)


def _same(a: Sequence[Var], b: Sequence[Var]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


_B: Final = Body
_STATEMENTS: Final[dict[type, Callable[[Body, Any], Stmt | None]]] = {
    ast.AnnAssign: _B.assign,
    ast.Assign: _B.assign_bare,
    ast.Expr: _B.evaluate,
    ast.Return: _B.return_,
    ast.If: _B.if_,
    ast.For: _B.for_,
    ast.While: _B.while_,
    ast.With: _B.scope,
    ast.Break: _B.break_,
    ast.Continue: _B.continue_,
    ast.Pass: _B.pass_,
}
