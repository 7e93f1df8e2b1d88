"""Programs from text: ``pl.parse(text)`` reads what the printer writes, and kernels in general.

The text is Python that is read, not executed: kernels are parsed from the syntax tree, and
constants and imports around them are understood as far as possible (`module_statements`). Only a
text that the caller trusts is executed; its kernels, too, are parsed from the same tree, without
being compiled by Python first. Python never evaluates the annotations.
"""

from __future__ import annotations
import __future__

import ast
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import Span, keep_lines, show_kept_lines
from pypto._src.errors import (
    KeywordError,
    NotExecutedError,
    ParserSyntaxError,
    PyptoError,
    TextError,
    TextRunError,
    UnknownNameError,
)
from pypto._src.frontend import decorators
from pypto._src.frontend.programs import (
    Options,
    ProgramParser,
    method_nodes,
    parse_function,
    refuse_twice,
)
from pypto._src.frontend.source.python_names import Environment, module_environment
from pypto._src.frontend.source.source import (
    TEXT_LINES,
    Source,
    no_def,
    refuse_keyword_twice,
    syntax_tree,
    too_deep,
)
from pypto._src.frontend.state.errors import span_of
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.name_rules import is_program_name
from pypto._src.ir.stmts import Function, Program

if TYPE_CHECKING:
    from pypto._src.frontend.module_statements import ModuleStatements
    from pypto._src.frontend.source.reading import Reading
    from pypto._src.frontend.syntax.inline import InlineFunction

_HEADER: Final = r"#\s*pypto\.(program|entry|attr):\s*(.*?)\s*$"
_MARK: Final = "# pypto.program:"
_EXACT: Final = (
    r"\.(typed|call|results|expr|IterArg|logical_xor|bit_xor)\(|self\[|name=[\"']|\*\*\{"
)


def is_printed_text(code: str) -> bool:
    """True if a text begins like a program written by `ir.python_print`."""
    return code.startswith(_MARK)


def parse(
    code: str,
    filename: str = "<string>",
    *,
    names: Mapping[str, Any] | None = None,
    trusted: bool = False,
) -> Function | Program:
    """Return the one function or program that a text defines; ``pl`` is predefined.

    The text is read, not executed. Its kernels may be surrounded by imports, constants (numbers,
    strings, lists and dicts of them, arithmetic, element types, types, `dynamic` sizes), branches
    on these, and definitions that no kernel reads. ``names`` gives constants that the text does not
    define; with ``trusted=True`` the text is executed, like Python that is imported.

    A text that starts with ``# pypto.program:`` was written by `ir.python_print`. It is read
    exactly, as by `ir.parse`, if it still has that form, else like any other kernel. A text that is
    indented as a whole, such as a string literal inside a function, is dedented first.

    Raises:
        ParserError: the kernel has mistakes.
        NotExecutedError: reading it would need its execution.
        SyntaxError: the text is not valid Python.
        ValueError: it defines no function or program, or several.
        RuntimeError: a statement of a trusted text, or an object it uses, raises another error.
    """
    _check_is_text(code)
    if code.lstrip("\n")[:1] in (" ", "\t"):
        from textwrap import dedent

        code = dedent(code)
    return _one(_Text(code, filename, names, trusted=trusted, call="pl.parse(text"))


def loads(
    filepath: str | PathLike[str],
    *,
    names: Mapping[str, Any] | None = None,
    trusted: bool = False,
) -> Function | Program:
    """Return the one function or program that a file defines, read as by `parse`."""
    with open(filepath, encoding="utf-8") as file:  # noqa: PTH123  no need for pathlib
        code = file.read()
    return _one(_Text(code, fspath(filepath), names, trusted=trusted, call="pl.loads(path"))


def parse_program(
    code: str,
    filename: str = "<string>",
    *,
    names: Mapping[str, Any] | None = None,
    trusted: bool = False,
) -> Program:
    """Return the one program that a text defines, read as by `parse`."""
    return _program(parse(code, filename, names=names, trusted=trusted), filename)


def loads_program(
    filepath: str | PathLike[str],
    *,
    names: Mapping[str, Any] | None = None,
    trusted: bool = False,
) -> Program:
    """Return the one program that a file defines, read as by `parse`."""
    return _program(loads(filepath, names=names, trusted=trusted), fspath(filepath))


def definitions(code: str, filename: str, call: str) -> dict[str, Function | Program]:
    """Return the functions and programs that a text defines, by name; it is read, not executed.

    ``call`` is the call by which the user had it read, for hints.

    Raises:
        ParserError: the text has mistakes, or reading it would need its execution.
        SyntaxError: it is not valid Python.
    """
    text = _Text(code, filename, None, trusted=False, call=call)
    found = {id(each): each for each in text.found()}
    named = {name: value for name, value in text.names.items() if id(value) in found}
    known = {id(value) for value in named.values()}
    return named | {each.name: each for key, each in found.items() if key not in known}


def _one(text: _Text) -> Function | Program:
    found, filename = text.found(), text.filename
    if len(found) == 1:
        return found[0]
    names = f": {', '.join(f.name for f in found)}" if found else ""
    hint = "write @pl.program above a class with all of them" if found else text.hint
    raise TextError(
        f"{filename} defines {len(found)} functions and programs, 1 was wanted{names}", hint=hint
    )


def _program(found: Function | Program, filename: str) -> Program:
    if isinstance(found, Program):
        return found
    raise TextError(
        f"{filename} defines the function {found.name!r}, a program was wanted",
        hint="read it with pl.parse(text)",
    )


class _Header:
    """The comment lines with what a class cannot express: name, entry, attributes of a program."""

    def __init__(self, code: str, lines: list[str], filename: str) -> None:
        self.name: str | None = None
        self.entry: str | None = None
        self.attrs: dict[str, Any] = {}
        self.source = Source(filename, lines, 0, True)
        if code[:1] != "#" and "\n#" not in code and "\r#" not in code:  # as most texts
            return
        comments = [(at, line) for at, line in enumerate(lines, 1) if line[0] == "#"]
        for number, line in comments:
            match = re.match(_HEADER, line)
            if match is not None:
                self._read(match[1], match[2], Span(filename, number, 0, number, len(line) - 1))

    def _read(self, key: str, text: str, span: Span) -> None:
        from pypto._src.frontend.ir_text import programs as literal
        from pypto._src.frontend.ir_text.expressions import Values

        if key == "program":
            self.name = literal.unquoted(text)
            if not is_program_name(self.name):
                raise _no_identifier(self.name, span)
        elif key == "entry":
            self.entry = literal.unquoted(text)
            if not is_program_name(self.entry):
                raise _no_identifier(self.entry, span)
        else:
            try:
                self.attrs.update(literal.attribute_of(text, Values(self.source, "pl")))
            except (literal.Unread, RecursionError):
                name, _, value = text.partition("=")
                raise ParserSyntaxError(
                    f"the value of attribute {name.strip()!r} is not a literal: {value.strip()}",
                    span,
                    slug="attribute",
                ) from None


def _no_identifier(name: str, span: Span) -> ParserSyntaxError:
    return ParserSyntaxError(
        f"the name {name!r} is not an identifier",
        span,
        hint="write a name of letters, digits and _",
        slug="ir-text",
    )


_DECORATORS: Final = (decorators.program, decorators.function, decorators.inline)


def _named(name: str) -> Any:
    """Return a Python function of that name."""

    def function() -> None: ...

    function.__name__ = name
    return function


def _check_is_text(code: object) -> None:
    if not isinstance(code, str):
        raise TypeError(f"the text of a kernel is a str, got {type(code).__name__}")


class _Text:
    """A text while it is being read or executed."""

    def __init__(
        self,
        code: str,
        filename: str,
        names: Mapping[str, Any] | None,
        *,
        trusted: bool,
        call: str,
    ) -> None:
        self.filename = filename
        self.code = code
        _check_is_text(code)
        self.lines = code.splitlines(keepends=True)
        keep_lines(filename, self.lines)
        self.tree = syntax_tree(code, filename)
        self.source = Source(filename, self.lines, 0, code.isascii())
        self.header: _Header
        from pypto._src.frontend.source.reading import LANGUAGE, Reading, given_names

        given = given_names(names)
        self.given = {id(value) for value in given.values()}
        self.names: dict[str, Any] = {
            "__name__": filename,
            "pl": import_module(LANGUAGE),
            TEXT_LINES: self.lines,
            **given,
        }
        self.reading = None if trusted else Reading(given, call)
        self.environment = module_environment(self.names, self.reading)
        self.plain: list[ast.stmt] = []  # statements to execute before the next kernel

    @property
    def hint(self) -> str | None:
        """How to find kernels that only execution makes, if some of the text was not executed."""
        return None if self.reading is None or not self.reading.unread else self.reading.trusting

    def found(self) -> list[Function | Program]:
        """Return the functions and programs that the text defines, in order."""
        return self.printed() if is_printed_text(self.code) else self.run()

    def printed(self) -> list[Function | Program]:
        """Return what the printer wrote or, if the text has been changed since, what it defines.

        Raises:
            ParserError: it is neither printed text nor a kernel.
        """
        from pypto._src.frontend.ir_text import programs as literal

        try:
            return [literal.read(self.tree, self.source)]
        except literal.Unread as error:
            refusal = literal.refused(error, self.source)
        except RecursionError:
            raise too_deep(self.filename) from None
        if re.search(_EXACT, self.code):  # forms that only IR text has
            raise refusal
        try:
            found = self.run()
        except TextRunError:
            raise refusal from None
        if not found:
            raise refusal
        return found

    def run(self) -> list[Function | Program]:
        """Read or execute the text; return the functions and programs it defines, in order."""
        self.header = _Header(self.code, self.lines, self.filename)
        try:
            self._statements(self.tree.body)
            self._execute()
        except (KeywordError, UnknownNameError) as error:
            location, hint, slug = error.location, error.hint, error.slug
            raise TextRunError(error.message, location, hint, slug=slug) from error
        except (PyptoError, SyntaxError):
            raise
        except RecursionError:
            raise too_deep(self.filename) from None
        except Exception as error:
            # Anything that the user's code raises: trusted text runs as Python, with imports and
            # assertions that may fail, and values that kernels read have methods of their own.
            location = span_of(error) or self.filename
            message = f"running {location} raises {type(error).__name__}: {error}"
            raise TextRunError(message) from error
        kinds = (Function, Program)
        values = [
            v for v in self.names.values() if isinstance(v, kinds) and id(v) not in self.given
        ]
        defined = {id(v): v for v in values}
        programs = [v for v in defined.values() if isinstance(v, Program)]
        taken = {id(f) for p in programs for f in p.functions_}  # by programs of the text
        return [v for v in defined.values() if id(v) not in taken or isinstance(v, Program)]

    def _statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Read or execute statements, of the module or of a branch of it."""
        for node in nodes:
            if self._kernel(node):
                continue
            if self.reading is None:
                self.plain.append(node)
                continue
            self._refuse_kernel(node, self.reading)
            self._statements(self._around(self.reading).read(node))

    def _around(self, reading: Reading) -> ModuleStatements:
        return self._reader(self.names, self.environment, reading)

    def _reader(
        self, names: dict[str, Any], environment: Environment, reading: Reading, prefix: str = ""
    ) -> ModuleStatements:
        """Return the reader of statements around kernels; texts of kernels alone need none."""
        from pypto._src.frontend.module_statements import ModuleStatements

        return ModuleStatements(self.source, names, environment, reading, prefix)

    def _execute(self) -> None:
        """Execute the statements collected so far, and forget them."""
        if not self.plain:
            return
        tree = ast.Module(list(self.plain), [])
        self.plain.clear()
        flag = __future__.annotations.compiler_flag
        code = compile(tree, self.filename, "exec", flags=flag, dont_inherit=True)
        show_kept_lines()  # to someone who debugs what is executed
        # Only statements of a text that the caller trusts get here: `_statements` reads all others.
        exec(code, self.names)

    def _kernel(self, node: ast.stmt) -> bool:
        """Parse a decorated definition; False if it is anything else."""
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or len(node.decorator_list) > 1:
            return False
        # Document 003 writes functions without decorators in a text with a header.
        bare = isinstance(node, ast.FunctionDef) and is_printed_text(self.code)
        if not node.decorator_list and not bare:
            return False
        self._execute()
        if node.decorator_list:
            made = self._decoration(node.decorator_list[0])
        else:
            made = decorators.function, Options(FunctionType.Opaque, strict_ssa=False)
        kernel = None if made is None else self._made(node, *made)
        if kernel is not None:
            self.names[node.name] = kernel
        return kernel is not None

    def _refuse_kernel(self, node: ast.stmt, reading: Reading) -> None:
        """Raise the error for a kernel that needs Python to make it, or that is none.

        Raises:
            ParserError: as the decorator raises it, or for what is beside the decorator.
        """
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        for decorator in node.decorator_list:
            target = self._target(decorator)
            if target is None:
                continue
            if isinstance(node, ast.AsyncFunctionDef):
                raise no_def(node.name, self.source, node)
            call = decorator if isinstance(decorator, ast.Call) else None
            if call is not None:
                refuse_keyword_twice(self.source.span, call)
            with self._at(decorator):
                self._decorate(target, call, node, reading)
            other = next((d for d in node.decorator_list if d is not decorator), None)
            other = node.bases[0] if other is None and isinstance(node, ast.ClassDef) else other
            location = decorator if other is None else other
            what = f"{self.source.text(location)} is computed by Python"
            raise reading.refused(what, self.source.span(location))

    def _decorate(
        self,
        target: Any,
        call: ast.Call | None,
        node: ast.FunctionDef | ast.ClassDef,
        reading: Reading,
    ) -> None:
        """Apply a decorator with its options to a definition, for the errors that it raises."""
        words = [] if call is None else call.keywords
        around = self._around(reading)
        given = {word.arg: around.value(word.value) for word in words if word.arg}
        values = [] if call is None else [around.value(arg) for arg in call.args]
        made = target(*values, **given) if call is not None else target
        if isinstance(node, ast.ClassDef) and target is not decorators.program:
            made(type(node.name, (), {}))
        elif given or target is decorators.program:
            made(_named(node.name))

    @contextmanager
    def _at(self, node: ast.expr) -> Generator[None]:
        """Move errors of a decorator, which knows Python frames only, to the node in the text."""
        try:
            yield
        except NotExecutedError:
            raise
        except PyptoError as error:
            span = self.source.span(node)
            raise ParserSyntaxError(error.message, span, error.hint, slug=error.slug) from None

    def _made(
        self, node: ast.FunctionDef | ast.ClassDef, decorator: Any, options: Options
    ) -> Function | Program | InlineFunction | None:
        """Return what the language's decorator makes of a definition, None if only Python can."""
        if isinstance(node, ast.ClassDef):
            return self._class(node, options) if decorator is decorators.program else None
        if decorator is decorators.function:
            return parse_function(self.source, node, self.environment.again(), options)
        if decorator is decorators.inline:
            from pypto._src.frontend.syntax.inline import InlineFunction

            return InlineFunction(self.source, node, self.environment)
        return None

    def _decoration(self, node: ast.expr) -> tuple[Any, Options] | None:
        """Return a decorator of the language with its options, None for others."""
        call = node if isinstance(node, ast.Call) else None
        target = self._target(node)
        if target is None:
            return None
        options = Options(FunctionType.Opaque, strict_ssa=False)
        words = call.keywords if call else ()
        if len({word.arg for word in words}) < len(words) or (call and call.args):
            return None  # Python reports it, or the decorator itself
        for word in words:
            value = self._object(word.value)
            if word.arg == "type" and isinstance(value, FunctionType):
                options.func_type = value
            elif word.arg == "strict_ssa" and isinstance(value, bool):
                options.strict_ssa = value
            else:
                return None
        return target, options

    def _target(self, node: ast.expr) -> Any:
        """Return the language's decorator at a node, whether called or not; None for others."""
        found = self._object(node.func if isinstance(node, ast.Call) else node)
        return next((each for each in _DECORATORS if found is each), None)

    def _object(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.environment.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self._object(node.value)
            if self.reading is not None and not self.reading.may_read(base, node.attr):
                return None
            return getattr(base, node.attr, None)
        return node.value if isinstance(node, ast.Constant) else None

    def _class(self, node: ast.ClassDef, options: Options) -> Program | None:
        """Return the program made from a class; None if only Python can make it."""
        if node.bases or node.keywords:
            return None
        if self.reading is not None:
            return self._read_class(node, options, self.reading)
        methods = method_nodes(node.body)
        if len(methods) != sum(not _is_filler(item) for item in node.body):
            return None
        refuse_twice(node.name, self.source, node)
        parser = ProgramParser(self._name(node.name), {})
        environment = self.environment.again()
        for method in methods:
            if not self._method(parser, method, environment, options):
                return None
        return self._finished(parser, node)

    def _read_class(self, node: ast.ClassDef, options: Options, reading: Reading) -> Program:
        """Return the program made from a class that is not executed; it may have constants."""
        refuse_twice(node.name, self.source, node)
        attributes: dict[str, Any] = {}
        parser = ProgramParser(self._name(node.name), attributes)
        environment = self.environment.inside(attributes)
        around = self._reader(attributes, environment, reading, "self.")
        reading.forget("self.")
        pending = [*reversed(node.body)]
        while pending:
            item = pending.pop()
            if isinstance(item, ast.FunctionDef) and len(item.decorator_list) == 1:
                if self._method(parser, item, environment, options):
                    continue
                if self._target(item.decorator_list[0]) is decorators.inline:
                    from pypto._src.frontend.syntax.inline import InlineFunction

                    attributes[item.name] = InlineFunction(self.source, item, environment)
                    continue
            self._refuse_kernel(item, reading)
            pending += reversed(around.read(item))
        if not parser.methods and not all(map(_is_filler, node.body)):
            names = [item.name for item in node.body if isinstance(item, ast.FunctionDef)]
            raise decorators.no_methods(node.name, self.source.span(node), names)
        return self._finished(parser, node)

    def _method(
        self,
        parser: ProgramParser,
        node: ast.FunctionDef,
        environment: Environment,
        options: Options,
    ) -> bool:
        """Add a function of the language to a program; False if it is not one."""
        made = self._decoration(node.decorator_list[0]) if node.decorator_list else None
        if made is None or made[0] is not decorators.function:
            return False
        own = made[1]
        own.strict_ssa = own.strict_ssa or options.strict_ssa
        parser.add(self.source, node, environment, own)
        return True

    def _finished(self, parser: ProgramParser, node: ast.ClassDef) -> Program:
        header = self.header
        return parser.finish(self.source.span(node), attrs=header.attrs, entry=header.entry)

    def _name(self, class_name: str) -> str:
        """Return the program's name: the header's, which need not be a Python name."""
        return self.header.name or class_name


def _is_filler(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
