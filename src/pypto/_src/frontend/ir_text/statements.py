"""IR text -> IR, exactly: statements, functions, programs and types that the printer wrote.

The front end understands kernels as people write them: it infers, checks and completes. This module
does none of that: it reads the grammar of `ir.text` and nothing else, trusts every type, and so
gives back what was printed, whether it verifies or not (docs/decisions/0007). Text that deviates
raises `Unread`, and the front end may try it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from pypto._src.diagnostics import Span, keep_lines
from pypto._src.dtypes import DataType
from pypto._src.errors import InternalError, ParserSyntaxError
from pypto._src.frontend.ir_text.expressions import Unread, Values, is_number
from pypto._src.frontend.source.source import Source, syntax_tree, too_deep
from pypto._src.ir.enums import ForKind, FunctionType, ParamDirection, ScopeKind
from pypto._src.ir.equal import structural_equal
from pypto._src.ir.exprs import Call, Expr, IterArg, Op, Var
from pypto._src.ir.name_rules import is_function_name, is_program_name
from pypto._src.ir.node_base import Node
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
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
)
from pypto._src.ir.text.grammar import UNTYPED, value_type
from pypto._src.ir.types import Type, UnknownType, same_type, scalar_type
from pypto._src.python_parser import parse_python
from pypto._src.records import NamedTuple

_HEADER: Final = re.compile(r"# pypto\.(program|entry|attr): (.*)")
_INDEX: Final = scalar_type(DataType.INDEX)
_KINDS: Final = {
    "range": ForKind.Sequential,
    "parallel": ForKind.Parallel,
    "pipeline": ForKind.Sequential,
}
_DIRECTIONS: Final = {"Out": ParamDirection.Out, "InOut": ParamDirection.InOut}


_REFUSALS: Final = (TypeError, ValueError, InternalError)
"""What constructors of nodes raise for parts that do not go together."""


class _Ended(NamedTuple):
    """A body: its statements, and the variables that its end names, None if it names none."""

    stmts: list[Stmt]
    results: list[tuple[str, Var | None]] | None


class _Body(Values):
    """Reads one function."""

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
            except _REFUSALS as error:
                raise Unread(str(error), node) from None
            if stmt is not None:
                found.append(stmt)
        return found

    def assign(self, node: ast.AnnAssign) -> Stmt | None:
        """Read ``v: TYPE = EXPR``; without value it only says what ``v`` is."""
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
        """True if a comment says that the value has no type."""
        line = self.source.lines[(node.end_lineno or node.lineno) - 1]
        return line.rstrip().endswith(UNTYPED)

    def check_known(self, var: Var, annotation: ast.expr) -> None:
        """Refuse another type for a variable that has one; the front end reads a new variable."""
        kind = self.type(annotation)
        # Equal dimensions that are calls are not the same ones.
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
            raise Unread(f"{name!r} is no identifier", call)
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
        """Return the names with variables for those that are new."""
        if len(names) != len(values):
            raise Unread(f"{len(values)} values are yielded to {len(names)} names", node)
        if isinstance(node, ast.AnnAssign):
            return [(names[0].id, self.variable(names[0].id, node.annotation))]
        pairs = zip(names, values, strict=True)
        return [(name.id, Var(name.id, value.type, self.span)) for name, value in pairs]

    def results_of(self, found: list[tuple[str, Var | None]] | None, node: ast.stmt) -> list[Var]:
        """Return the variables that take results, after the names of the loop are forgotten."""
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
        """Take the number of stages from the keywords of a pipelined loop."""
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
        """Refuse what the front end reads with results: a last yield that names nothing."""
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
        """Return the annotations of loop variables that start a body, and the rest of it."""
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
        """Return the variable of a counted loop: a new one, or one known outside, declared so."""
        name = target.id
        known = self.names.get(name)
        if known is not None and note is None:
            raise Unread(f"{name!r} has a meaning outside of the loop", target)
        if known is None:
            known = Var(name, _INDEX, self.span) if note is None else self.variable(name, note)
        self.names[name] = known
        return known

    def forget(self, names: Sequence[str]) -> None:
        """Forget names that only a loop knows."""
        for name in names:
            self.names.pop(name, None)


def _same(a: Sequence[Var], b: Sequence[Var]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


_B: Final = _Body
_STATEMENTS: Final[dict[type, Callable[[_Body, Any], Stmt | None]]] = {
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


# --------------------------------------------------------------------------------------------
# Functions and programs
# --------------------------------------------------------------------------------------------


class _Reading:
    """One function: its header first, since others call it, then its body."""

    def __init__(self, node: ast.FunctionDef, outside: Values, *, in_program: bool) -> None:
        self.node = node
        self.values = _Body(outside.source, outside.prefix, outside)
        self.values.in_program = in_program
        self.values.span = self.span = outside.source.span(node)
        self.name = node.name
        self.kind = FunctionType.Opaque
        self._options(node)
        args = node.args
        listed = args.args
        if args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults:
            raise Unread("IR text has only plain parameters", node)
        if in_program:
            if not listed or listed[0].arg != "self" or listed[0].annotation is not None:
                raise Unread("the first parameter is self", node)
            listed = listed[1:]
        self.params = self._params(listed)
        self.results = self._results(node.returns)
        self.values.return_types = self.results

    def _options(self, node: ast.FunctionDef) -> None:
        decorator = node.decorator_list[0] if len(node.decorator_list) == 1 else None
        call = decorator if isinstance(decorator, ast.Call) else None
        callee = decorator if call is None else call.func
        if callee is None or self.values.word(callee) != "function" or (call and call.args):
            raise Unread("a function is decorated with pl.function", node)
        words = call.keywords if call else ()
        if len({word.arg for word in words}) < len(words):
            raise Unread("pl.function is given an argument twice", node)
        for word in words:
            value = self.values.value(word.value)
            if word.arg == "type" and isinstance(value, FunctionType):
                self.kind = value
            elif word.arg == "name" and isinstance(value, str):
                if not is_function_name(value):
                    raise Unread(f"the name {value!r} is no identifier", word.value)
                self.name = value
            else:
                raise Unread("pl.function has a type and a name", node)

    def _params(self, listed: Sequence[ast.arg]) -> list[tuple[Var, ParamDirection]]:
        """Return the parameters; the type of one may name another that stands later."""
        values = self.values
        directions: list[tuple[str, ParamDirection]] = []
        for arg in listed:
            note, direction = arg.annotation, ParamDirection.In
            if isinstance(note, ast.Subscript):
                direction = _DIRECTIONS.get(values.word(note.value) or "", direction)
                note = note.slice if direction is not ParamDirection.In else note
            if note is None:
                raise Unread(f"parameter {arg.arg!r} has no type", arg)
            values.pending[arg.arg] = note
            directions.append((arg.arg, direction))
        found: list[tuple[Var, ParamDirection]] = []
        for (name, direction), arg in zip(directions, listed, strict=True):
            var = values.names.get(name)
            found.append((values.lookup(name, arg) if var is None else var, direction))
        return found

    def _results(self, node: ast.expr | None) -> tuple[Type, ...]:
        values = self.values
        if node is None:
            return ()
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", None) == "tuple":
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return tuple([values.type(item) for item in items])
        return (values.type(node),)

    def function(self) -> Function:
        body = self.values.body(self.node.body)
        return Function(self.name, self.params, self.results, body, self.span, self.kind)


class _Text:
    """A whole text: comment lines, import, declarations, one definition."""

    def __init__(self, tree: ast.Module, source: Source) -> None:
        self.source = source
        self.outside = Values(source, _prefix(tree))
        self.definition: ast.FunctionDef | ast.ClassDef | None = None
        for node in tree.body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        outside = self.outside
        outside.span = self.source.span(node)
        if isinstance(node, ast.Import | ast.ImportFrom):
            return
        if self.definition is not None:
            raise Unread("IR text has one definition", node)
        target = value = None
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                self.definition = node
                return
            case ast.AnnAssign(target=ast.Name(id=name), annotation=note, value=None):
                outside.pending[name] = note
                return
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(args=[value]) as call):
                if outside.word(call.func) == "dynamic" and not call.keywords:
                    word = value.value if isinstance(value, ast.Constant) else None
                    if isinstance(word, str):
                        outside.names[target] = Var(word, _INDEX, outside.span)
                        return
            case _:
                pass
        raise Unread("IR text has no such statement", node)

    def read(self) -> Function | Program:
        node = self.definition
        if node is None:
            raise Unread("the text defines nothing")
        if isinstance(node, ast.FunctionDef):
            return _Reading(node, self.outside, in_program=False).function()
        return self._program(node)

    def _program(self, node: ast.ClassDef) -> Program:
        decorated = len(node.decorator_list) == 1 and not node.bases and not node.keywords
        if not decorated or self.outside.word(node.decorator_list[0]) != "program":
            raise Unread("a program is decorated with pl.program", node)
        readings: list[_Reading] = []
        names: set[str] = set()
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                if item.name in names:
                    raise Unread(f"a second function is called {item.name!r}", item)
                names.add(item.name)
                readings.append(_Reading(item, self.outside, in_program=True))
            elif not isinstance(item, ast.Pass):
                raise Unread("a program has only functions", item)
        results = {reading.name: value_type(reading.results) for reading in readings}
        functions: list[Function] = []
        for reading in readings:
            reading.values.results = results
            functions.append(reading.function())
        name, entry, attrs = self._header(node.name)
        span = self.source.span(node)
        return Program(functions, name, span, attrs=attrs, entry=entry)

    def _header(self, name: str) -> tuple[str, str | None, dict[Any, Any]]:
        entry: str | None = None
        attrs: dict[Any, Any] = {}
        for line in self.source.lines:
            if not line.startswith("#"):
                break
            match = _HEADER.match(line.rstrip("\n"))
            if match is None:
                continue
            if match[1] == "program":
                name = unquoted(match[2])
            elif match[1] == "entry":
                entry = unquoted(match[2])
            else:
                attrs.update(attribute_of(match[2], self.outside))
        if not is_program_name(name):
            raise Unread(f"the name {name!r} of the program is no identifier")
        if entry is not None and not is_program_name(entry):
            raise Unread(f"the entry {entry!r} is no identifier")
        return name, entry, attrs


def attribute_of(text: str, values: Values) -> dict[Any, Any]:
    """Return the attribute of ``KEY = VALUE``, or of ``{KEY: VALUE}`` where the key is odd.

    Raises:
        Unread: the value is no constant.
    """
    key, _, rest = text.partition("=")
    braced = text[:1] == "{"
    statement = _parsed(text if braced else rest.strip())
    if not isinstance(statement, ast.Expr) or (
        braced and not isinstance(statement.value, ast.Dict)
    ):
        raise Unread("an attribute has a name and a value")
    value = values.value(statement.value)
    return cast("dict[Any, Any]", value) if braced else {key.strip(): value}


def _parsed(text: str) -> ast.stmt | None:
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unread("the value of an attribute is no constant") from None
    return tree.body[0] if len(tree.body) == 1 else None


def unquoted(text: str) -> str:
    """Return a name of a comment line, which is quoted where it is odd."""
    text = text.strip()
    if text[:1] in ("'", '"'):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            value = getattr(parse_python(text, mode="eval").body, "value", None)
            return value if isinstance(value, str) else text
    return text


def _prefix(tree: ast.Module) -> str:
    """Return what stands before the names of the language."""
    for node in tree.body:
        match node:
            case ast.Import(names=[ast.alias(name="pypto.language", asname=str(name))]):
                return name
            case ast.ImportFrom(module="pypto", names=[ast.alias(name="language", asname=str(n))]):
                return n
            case ast.ImportFrom(module="pypto", names=[ast.alias(name="language", asname=None)]):
                return "language"
            case (
                ast.FunctionDef(decorator_list=[first, *_])
                | ast.ClassDef(decorator_list=[first, *_])
            ):
                while isinstance(first, ast.Call | ast.Attribute):
                    first = first.func if isinstance(first, ast.Call) else first.value
                return first.id if isinstance(first, ast.Name) else "pl"
            case ast.Expr():
                return _leftmost(node.value)
            case _:
                continue
    return "pl"


def _leftmost(node: ast.AST) -> str:
    while True:
        match node:
            case ast.Name(id=name):
                return name
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Call(func=inner):
                node = inner
            case _:
                return "pl"


def parse(code: str, filename: str = "<string>") -> Function | Program | Node:
    """Return what printed IR text says: a program, a function, or a type or view alone.

    The names in a type alone are symbolic dimensions, new ones.

    ``parse(str(x))`` is structurally equal to ``x``, whether ``x`` verifies or not: types are
    trusted, and nothing is inferred, completed or checked. Kernels as people write them are read
    by ``pl.parse``.

    Raises:
        ParserSyntaxError: the printer would not have written this.
        SyntaxError: the text is no Python.
    """
    lines = code.splitlines(keepends=True)
    keep_lines(filename, lines)
    tree = syntax_tree(code, filename)
    source = Source(filename, lines, 0, code.isascii())
    try:
        if any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body):
            return read(tree, source)
        return read_type(tree, source)
    except Unread as error:
        raise refused(error, source) from None
    except RecursionError:
        raise too_deep(filename) from None


def refused(error: Unread, source: Source) -> ParserSyntaxError:
    """Return the error of text that deviates from what the printer writes."""
    located = error.node is not None and hasattr(error.node, "lineno")
    span = source.span(error.node) if located else Span(source.filename, 1, 0)
    return ParserSyntaxError(
        f"this is no IR text: {error.message}",
        span,
        hint="read kernels with pl.parse(text)",
        source_lines=source.lines,
        slug="ir-text",
    )


def read(tree: ast.Module, source: Source) -> Function | Program:
    """Return the function or program of a printed text.

    Raises:
        Unread: the printer would not have written this.
    """
    try:
        return _Text(tree, source).read()
    except _REFUSALS as error:
        raise Unread(str(error)) from None


def read_type(tree: ast.Module, source: Source) -> Node:
    """Return the type or view of a printed text; names in it are new symbolic dimensions.

    Raises:
        Unread: the printer would not have written this.
    """
    values = Values(source, _prefix(tree))
    values.implicit = True
    node = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(node, ast.Expr):
        raise Unread("a type was wanted", node)
    try:
        found = values.value(node.value)
    except _REFUSALS as error:
        raise Unread(str(error), node) from None
    if not isinstance(found, Node) or isinstance(found, Expr):
        raise Unread("an expression alone is not read: put it into a function", node)
    return found
