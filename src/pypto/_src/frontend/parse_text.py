"""Programs from text: ``pl.parse(text)`` reads what the printer writes, and kernels in general.

The text is ordinary Python: statements between kernels are executed, kernels are parsed from the
one syntax tree without being compiled first. Annotations are never evaluated by Python.
"""

from __future__ import annotations
import __future__

import ast
import re
from importlib import import_module
from os import PathLike, fspath
from typing import Any, Final

from pypto._src.diagnostics import Span
from pypto._src.errors import (
    KeywordError,
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
from pypto._src.frontend.source.python_names import module_environment
from pypto._src.frontend.source.source import TEXT_LINES, Source, syntax_tree, too_deep
from pypto._src.frontend.state.context import place_of
from pypto._src.frontend.syntax.inline import InlineFunction
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.name_rules import is_program_name
from pypto._src.ir.stmts import Function, Program

_HEADER: Final = re.compile(r"#\s*pypto\.(program|entry|attr):\s*(.*?)\s*$")
_LANGUAGE: Final = "pypto.language"
_MARK: Final = "# pypto.program:"
_EXACT: Final = re.compile(
    r"\.(typed|call|results|expr|IterArg|logical_xor|bit_xor)\(|self\[|name=[\"']|\*\*\{"
)


def is_printed_text(code: str) -> bool:
    """True if a text begins as what `ir.python_print` writes of a program."""
    return code.startswith(_MARK)


def parse(code: str, filename: str = "<string>") -> Function | Program:
    """Return the one function or program that a text defines; ``pl`` is predefined.

    A text that starts with ``# pypto.program:`` is what `ir.python_print` wrote. It is read
    exactly, as `ir.parse` does, as long as it has that form; else as any other kernel.

    Raises:
        ParserError: the kernel has mistakes.
        SyntaxError: the text is no Python.
        ValueError: it defines no function or program, or several.
        RuntimeError: a statement of the text, or an object it uses, raises something else.
    """
    text = _Text(code, filename)
    found = text.printed() if is_printed_text(code) else text.run()
    if len(found) != 1:
        names = f": {', '.join(f.name for f in found)}" if found else ""
        raise TextError(
            f"{filename} defines {len(found)} functions and programs, 1 was wanted{names}",
            hint="write @pl.program above a class with all of them" if found else None,
        )
    return found[0]


def loads(filepath: str | PathLike[str]) -> Function | Program:
    """Return the one function or program that a file defines, as `parse` does."""
    with open(filepath, encoding="utf-8") as file:  # noqa: PTH123  no need for pathlib
        return parse(file.read(), fspath(filepath))


def parse_program(code: str, filename: str = "<string>") -> Program:
    """Return the one program that a text defines, as `parse` does."""
    return _program(parse(code, filename), filename)


def loads_program(filepath: str | PathLike[str]) -> Program:
    """Return the one program that a file defines, as `parse` does."""
    return _program(loads(filepath), fspath(filepath))


def _program(found: Function | Program, filename: str) -> Program:
    if isinstance(found, Program):
        return found
    raise TextError(
        f"{filename} defines the function {found.name!r}, a program was wanted",
        hint="read it with pl.parse(text)",
    )


class _Header:
    """The comment lines that say what a class cannot: name, entry, attributes of a program."""

    def __init__(self, code: str, lines: list[str], filename: str) -> None:
        self.name: str | None = None
        self.entry: str | None = None
        self.attrs: dict[str, Any] = {}
        self.source = Source(filename, lines, 0, True)
        if code[:1] != "#" and "\n#" not in code and "\r#" not in code:  # as most texts
            return
        comments = [(at, line) for at, line in enumerate(lines, 1) if line[0] == "#"]
        for number, line in comments:
            match = _HEADER.match(line)
            if match is not None:
                self._read(match[1], match[2], Span(filename, number, 0, number, len(line) - 1))

    def _read(self, key: str, text: str, span: Span) -> None:
        from pypto._src.frontend.ir_text import statements as literal
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
                    f"the value of attribute {name.strip()!r} is no literal: {value.strip()}",
                    span,
                    slug="attribute",
                ) from None


def _no_identifier(name: str, span: Span) -> ParserSyntaxError:
    return ParserSyntaxError(
        f"the name {name!r} is no identifier",
        span,
        hint="write a name of letters, digits and _",
        slug="ir-text",
    )


class _Text:
    """A text while it is executed."""

    def __init__(self, code: str, filename: str) -> None:
        self.filename = filename
        self.code = code
        if not isinstance(code, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the text of a kernel is a str, got {type(code).__name__}")
        self.lines = code.splitlines(keepends=True)
        # Reports of later stages, too, show lines of the text. No time stamp: not re-read.
        import linecache

        linecache.cache[filename] = (len(code), None, self.lines, filename)
        self.tree = syntax_tree(code, filename)
        self.source = Source(filename, self.lines, 0, code.isascii())
        self.header: _Header
        self.names: dict[str, Any] = {
            "__name__": filename,
            "pl": import_module(_LANGUAGE),
            TEXT_LINES: self.lines,
        }
        self.environment = module_environment(self.names)
        self.found: list[Function | Program] = []

    def printed(self) -> list[Function | Program]:
        """Return what the printer wrote, or, where the text has been changed, what it defines.

        Raises:
            ParserError: it is neither printed text nor a kernel.
        """
        from pypto._src.frontend.ir_text import statements as literal

        try:
            return [literal.read(self.tree, self.source)]
        except literal.Unread as error:
            refusal = literal.refused(error, self.source)
        except RecursionError:
            raise too_deep(self.filename) from None
        if _EXACT.search(self.code):  # forms that only IR text has
            raise refusal
        try:
            found = self.run()
        except TextRunError:
            raise refusal from None
        if not found:
            raise refusal
        return found

    def run(self) -> list[Function | Program]:
        """Execute the text; return the functions and programs it defines, in order."""
        self.header = _Header(self.code, self.lines, self.filename)
        plain: list[ast.stmt] = []
        try:
            for node in self.tree.body:
                if not self._kernel(node, plain):
                    plain.append(node)
            self._execute(plain)
        except (KeywordError, UnknownNameError) as error:
            place, hint, slug = error.place, error.hint, error.slug
            raise TextRunError(error.message, place, hint, slug=slug) from error
        except (PyptoError, SyntaxError):
            raise
        except RecursionError:
            raise too_deep(self.filename) from None
        except Exception as error:
            place = place_of(error) or self.filename
            message = f"running {place} raises {type(error).__name__}: {error}"
            raise TextRunError(message) from error
        defined = {id(v): v for v in self.names.values() if isinstance(v, (Function, Program))}
        programs = [v for v in defined.values() if isinstance(v, Program)]
        taken = {id(f) for p in programs for f in p.functions_}  # by programs of the text
        return [v for v in defined.values() if id(v) not in taken or isinstance(v, Program)]

    def _execute(self, plain: list[ast.stmt]) -> None:
        """Execute the statements collected so far, and forget them."""
        if not plain:
            return
        tree = ast.Module(list(plain), [])
        plain.clear()
        flag = __future__.annotations.compiler_flag
        code = compile(tree, self.filename, "exec", flags=flag, dont_inherit=True)
        exec(code, self.names)

    def _kernel(self, node: ast.stmt, plain: list[ast.stmt]) -> bool:
        """Parse a decorated definition after executing ``plain``; False if it is not just that."""
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or len(node.decorator_list) > 1:
            return False
        # Document 003 writes the functions of a text with a header without decorators.
        bare = isinstance(node, ast.FunctionDef) and is_printed_text(self.code)
        if not node.decorator_list and not bare:
            return False
        self._execute(plain)
        if node.decorator_list:
            made = self._decoration(node.decorator_list[0])
        else:
            made = decorators.function, Options(FunctionType.Opaque, strict_ssa=False)
        kernel = None if made is None else self._made(node, *made)
        if kernel is not None:
            self.names[node.name] = kernel
        return kernel is not None

    def _made(
        self, node: ast.FunctionDef | ast.ClassDef, decorator: Any, options: Options
    ) -> Function | Program | InlineFunction | None:
        """Return what a decorator of the language makes of a definition."""
        if isinstance(node, ast.ClassDef):
            return self._class(node, options) if decorator is decorators.program else None
        if decorator is decorators.function:
            return parse_function(self.source, node, self.environment.again(), options)
        if decorator is decorators.inline:
            return InlineFunction(self.source, node, self.environment)
        return None

    def _decoration(self, node: ast.expr) -> tuple[Any, Options] | None:
        """Return a decorator of the language with its options, None for others."""
        call = node if isinstance(node, ast.Call) else None
        target = self._object(node if call is None else call.func)
        if target not in (decorators.program, decorators.function, decorators.inline):
            return None
        options = Options(FunctionType.Opaque, strict_ssa=False)
        words = call.keywords if call else ()
        if len({word.arg for word in words}) < len(words):
            return None  # Python says so
        for word in words:
            value = self._object(word.value)
            if word.arg == "type" and isinstance(value, FunctionType):
                options.func_type = value
            elif word.arg == "strict_ssa" and isinstance(value, bool):
                options.strict_ssa = value
            else:
                return None
        return target, options

    def _object(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.environment.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(self._object(node.value), node.attr, None)
        return node.value if isinstance(node, ast.Constant) else None

    def _class(self, node: ast.ClassDef, options: Options) -> Program | None:
        """Return the program that a class is, None if the class holds more than methods."""
        methods = method_nodes(node.body)
        if len(methods) != sum(not _is_filler(item) for item in node.body) or node.bases:
            return None
        refuse_twice(node.name, self.source, node)
        parser = ProgramParser(self._name(node.name), {})
        environment = self.environment.again()
        for method in methods:
            made = self._decoration(method.decorator_list[0]) if method.decorator_list else None
            if made is None or made[0] is not decorators.function:
                return None
            own = made[1]
            own.strict_ssa = own.strict_ssa or options.strict_ssa
            parser.add(self.source, method, environment, own)
        header = self.header
        return parser.finish(self.source.span(node), attrs=header.attrs, entry=header.entry)

    def _name(self, class_name: str) -> str:
        """Return the program's name: the header's, which may be no Python name."""
        return self.header.name or class_name


def _is_filler(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
