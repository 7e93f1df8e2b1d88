"""IR text -> IR, exactly: the functions, programs and types that the printer wrote.

The front end understands kernels as people write them: it infers, checks and completes. This module
does none of that: it reads the grammar of `ir.text` and nothing else, trusts every type, and so
gives back what was printed, whether it verifies or not (docs/decisions/0007). Text that deviates
raises `Unread`, and the front end may try to read it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, cast

from pypto._src.diagnostics import Span, keep_lines
from pypto._src.errors import ParserSyntaxError
from pypto._src.frontend.ir_text.expressions import Unread, Values
from pypto._src.frontend.ir_text.statements import INDEX, REFUSALS, Body
from pypto._src.frontend.source.source import Source, syntax_tree, too_deep
from pypto._src.ir.enums import FunctionType, ParamDirection
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.name_rules import is_function_name, is_program_name
from pypto._src.ir.node_base import Node
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.text.grammar import value_type
from pypto._src.ir.types import Type
from pypto._src.python_parser import parse_python

_HEADER: Final = re.compile(r"# pypto\.(program|entry|attr): (.*)")
_DIRECTIONS: Final = {"Out": ParamDirection.Out, "InOut": ParamDirection.InOut}


class _Reading:
    """One function: first its header, which callers need, then its body."""

    def __init__(self, node: ast.FunctionDef, outside: Values, *, in_program: bool) -> None:
        self.node = node
        self.values = Body(outside.source, outside.prefix, outside)
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
                    raise Unread(f"the name {value!r} is not an identifier", word.value)
                self.name = value
            else:
                raise Unread("pl.function has a type and a name", node)

    def _params(self, listed: Sequence[ast.arg]) -> list[tuple[Var, ParamDirection]]:
        """Return the parameters; the type of one may name a later one."""
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
    """A whole text: comment lines, import, declarations, and one definition."""

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
                        outside.names[target] = Var(word, INDEX, outside.span)
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
            raise Unread(f"the name {name!r} of the program is not an identifier")
        if entry is not None and not is_program_name(entry):
            raise Unread(f"the entry {entry!r} is not an identifier")
        return name, entry, attrs


def attribute_of(text: str, values: Values) -> dict[Any, Any]:
    """Return the attribute of ``KEY = VALUE``, or of ``{KEY: VALUE}`` for a key that is no name.

    Raises:
        Unread: the value is not a constant.
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
        raise Unread("the value of an attribute is not a constant") from None
    return tree.body[0] if len(tree.body) == 1 else None


def unquoted(text: str) -> str:
    """Return a name from a comment line, where it is quoted if it is not an identifier."""
    text = text.strip()
    if text[:1] in ("'", '"'):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            value = getattr(parse_python(text, mode="eval").body, "value", None)
            return value if isinstance(value, str) else text
    return text


def _prefix(tree: ast.Module) -> str:
    """Return the prefix of the language's names."""
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
    """Return what printed IR text describes: a program, a function, or a single type or view.

    Names in a single type are new symbolic dimensions.

    ``parse(str(x))`` is structurally equal to ``x``, whether ``x`` verifies or not: types are
    trusted, and nothing is inferred, completed or checked. Kernels as people write them are read
    by ``pl.parse``.

    Raises:
        ParserSyntaxError: the printer would not have written this.
        SyntaxError: the text is not valid Python.
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
        f"this is not IR text: {error.message}",
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
    except REFUSALS as error:
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
    except REFUSALS as error:
        raise Unread(str(error), node) from None
    if not isinstance(found, Node) or isinstance(found, Expr):
        raise Unread("an expression alone is not read: put it into a function", node)
    return found
