"""Where the text of a function or class is, and its syntax tree.

Knows files, notebooks (their cells are in `linecache`) and ``python -c``, not the language.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, Protocol

from pypto._src.diagnostics import Label, Span, SpanDraft, lines_of_file, span_of
from pypto._src.errors import ParserSyntaxError, of_type
from pypto._src.python_parser import parse_python

_HEADER = r"\s*(?:async\s+)?(?:def|class)\b"
_CLOSING = (")", "]", "}", "#")
_ELSEWHERE = "put the kernel in a file, or use pl.parse(text)"


class SpanOf(Protocol):
    """Returns the span of a syntax node in the file, or up to the end of a second node."""

    def __call__(self, first: Any, last: Any = None) -> Span: ...


class Source:
    """The text that syntax nodes come from: file name, all lines, and the span of a node."""

    __slots__ = ("encoded", "filename", "lines", "offset", "span")

    def __init__(self, filename: str, lines: Sequence[str], offset: int, ascii_only: bool) -> None:
        self.filename = filename
        self.lines = lines
        self.offset = offset  # to be added to a node's line number
        # Columns of `ast` count bytes, so texts with non-ASCII characters need the encoded lines.
        self.encoded = None if ascii_only else [line.encode() for line in lines]
        self.span: SpanOf = self._span if self.encoded is not None else _spans_of(filename, offset)

    def _span(self, first: Any, last: Any = None) -> Span:
        last = first if last is None else last
        line, end = first.lineno + self.offset, last.end_lineno + self.offset
        begin = self._column(line, first.col_offset)
        return span_of(self.filename, line, begin, end, self._column(end, last.end_col_offset))

    def _column(self, line: int, column: int) -> int:
        assert self.encoded is not None
        return len(self.encoded[line - 1][:column].decode(errors="replace"))

    def text(self, node: Any) -> str:
        """Return the text of an expression on one line, however many it takes in the source.

        Of a statement on several lines it is the first.
        """
        span = self.span(node)
        is_whole = span.end_line == span.begin_line
        if not is_whole and isinstance(node, ast.expr | ast.keyword):
            return ast.unparse(node)
        line = self.lines[span.begin_line - 1].rstrip("\n")
        return line[span.begin_column : span.end_column if is_whole else len(line)]

    def operand(self, node: ast.expr) -> str:
        """Return the text of an expression as an operand of an operator."""
        simple = isinstance(
            node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant
        )
        return self.text(node) if simple else f"({self.text(node)})"


def _spans_of(filename: str, offset: int) -> SpanOf:
    """Return `Source.span` for a text in which bytes and characters are the same.

    Each statement needs several spans, so this repeats `span_of` instead of calling it.
    """

    def span(first: Any, last: Any = None) -> Span:
        made: Any = SpanDraft()
        made.filename = filename
        made.begin_line = first.lineno + offset
        made.begin_column = first.col_offset
        if last is not None:
            first = last
        made.end_line = first.end_lineno + offset
        made.end_column = first.end_col_offset
        made.__class__ = Span
        return made

    return span


TEXT_LINES: Final = "__pypto_text__"
"""The name of a text's lines, in the namespace of a text that `text.parse` runs."""


def file_lines(filename: str, module: dict[str, Any] | None = None) -> list[str]:
    """Return the lines of a file, notebook cell or ``-c`` command; empty if not available."""
    own: list[str] | None = None if module is None else module.get(TEXT_LINES)
    if own is not None:
        return own
    if filename != "<string>":
        return lines_of_file(filename, module)
    # All unnamed texts share this name: what `linecache` has may be another one.
    if sys.argv[:1] != ["-c"]:
        return []
    words = sys.orig_argv
    command = words[words.index("-c") + 1] if "-c" in words[:-1] else ""
    return command.splitlines(keepends=True)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block_end(lines: Sequence[str], header: int, indent: int) -> int:
    """Return the index of the first line after the block that ``lines[header]`` opens."""
    for index in range(header + 1, len(lines)):
        line = lines[index]
        text = line.lstrip()
        if text and len(line) - len(text) <= indent and not text.startswith(_CLOSING):
            return index
    return len(lines)


def parse_definition(filename: str, lines: Sequence[str], start: int) -> tuple[Source, ast.stmt]:
    """Parse the definition whose first line, decorator or header, is ``lines[start]``.

    Only its own lines are parsed. If a string that is indented less than the definition hides where
    it ends, the whole file is parsed.
    """
    indent = _indentation(lines[start])
    header = start
    while header < len(lines) - 1 and not (
        re.match(_HEADER, lines[header]) and _indentation(lines[header]) == indent
    ):
        header += 1
    text = "".join(lines[start : _block_end(lines, header, indent)])
    try:
        body: Any = parse_python(f"if 1:\n{text}" if indent else text).body
    except SyntaxError:
        return _find_in_file(filename, lines, start)
    if indent:
        body = body[0].body
    offset = start - 1 if indent else start
    return Source(filename, lines, offset, text.isascii()), body[0]


def first_line(node: ast.FunctionDef | ast.ClassDef) -> int:
    """Return the line of a definition's first decorator, or of itself."""
    return node.decorator_list[0].lineno if node.decorator_list else node.lineno


def _find_in_file(filename: str, lines: Sequence[str], start: int) -> tuple[Source, ast.stmt]:
    text = "".join(lines)
    try:
        tree = parse_python(text, filename)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1) - 1
        raise ParserSyntaxError(
            f"the text of {filename} is not valid Python: {error.msg}",
            Span(filename, line, column),
            source_lines=lines,
            slug="no-source",
        ) from error
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and first_line(node) == start + 1:
            return Source(filename, lines, 0, text.isascii()), node
    raise ParserSyntaxError(
        f"no definition starts at {filename}:{start + 1}",
        hint=_ELSEWHERE,  # e.g. a text from the command line that executes another one
        slug="no-source",
    )


def _no_source(name: str, filename: str) -> ParserSyntaxError:
    return ParserSyntaxError(
        f"the source text of {name!r} ({filename}) cannot be read",
        hint=_ELSEWHERE,
        slug="no-source",
    )


def no_def(name: str, source: Source, node: ast.stmt) -> ParserSyntaxError:
    """Return the error for a function that Python made from something other than a ``def``."""
    if isinstance(node, ast.AsyncFunctionDef):
        what, hint = "an async function", f"write def {node.name}"
    elif name == "<lambda>":
        what, hint = "a lambda", "write a def with @pl.function above it"
    else:
        return _no_source(name, source.filename)
    return ParserSyntaxError(
        f"a kernel is a def, got {what}", source.span(node), hint=hint, slug="no-source"
    )


def refuse_keyword_twice(span: SpanOf, node: ast.Call) -> None:
    """Raise the error for a repeated keyword, which Python reports only when it compiles.

    Raises:
        ParserSyntaxError: there is one.
    """
    seen: dict[str | None, ast.keyword] = {}
    for word in node.keywords:
        first = seen.setdefault(word.arg, word)
        if first is not word and word.arg is not None:
            raise ParserSyntaxError(
                f"the argument {word.arg!r} is given twice",
                span(word),
                hint=f"leave this {word.arg}= out",
                slug="argument-count",
                related=(Label(span(first), "given here"),),
            )


def function_source(function: Callable[..., Any]) -> tuple[Source, ast.FunctionDef]:
    """Return the text and syntax of a Python function.

    Raises:
        ParserSyntaxError: there is no text, or it is not a ``def``.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        raise ParserSyntaxError(
            f"a function was wanted, got {of_type(function)}",
            hint="leave one decorator, directly above the def",
            slug="no-source",
        )
    lines = file_lines(code.co_filename, getattr(function, "__globals__", None))
    if not 0 < code.co_firstlineno <= len(lines):
        raise _no_source(code.co_name, code.co_filename)
    source, node = parse_definition(code.co_filename, lines, code.co_firstlineno - 1)
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        raise no_def(code.co_name, source, node)
    return source, node


def class_source(cls: type, caller: FrameType) -> tuple[Source, ast.ClassDef]:
    """Return the text and syntax of a class; ``caller`` is the frame that applies a decorator.

    Raises:
        ParserSyntaxError: there is no text.
    """
    filename = caller.f_code.co_filename
    lines = file_lines(filename, caller.f_globals)
    for start in _class_starts(cls, caller, lines):
        if 0 <= start < len(lines):
            source, node = parse_definition(filename, lines, start)
            if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                return source, node
    raise _no_source(cls.__name__, filename)


def _class_starts(cls: type, caller: FrameType, lines: Sequence[str]) -> list[int]:
    """Return the indices of lines where the class may start, the most likely ones first."""
    starts: list[int] = []
    known = cls.__dict__.get("__firstlineno__")  # Python 3.13 and later
    if isinstance(known, int):
        starts.append(known - 1)
    # While a decorator is called, its own line is the current one.
    line = caller.f_lineno - 1
    if 0 <= line < len(lines) and lines[line].lstrip().startswith(("@", "class")):
        starts.append(line)
    header = re.compile(rf"\s*class\s+{re.escape(cls.__name__)}\b")
    found = [index for index, text in enumerate(lines) if header.match(text)]
    firsts = [
        value.__code__.co_firstlineno - 1
        for value in cls.__dict__.values()
        if hasattr(value, "__code__")
    ]
    if firsts:
        before = [index for index in found if index < min(firsts)]
        found = before[-1:] + found
    return starts + found


def syntax_tree(code: str, filename: str) -> ast.Module:
    """Return the syntax tree of a whole text.

    Raises:
        SyntaxError: it is not valid Python.
        ParserSyntaxError: Python's parser gives up: it is nested too deeply, or is not text.
    """
    try:
        return parse_python(code, filename)
    except (RecursionError, MemoryError):
        raise too_deep(filename) from None
    except ValueError as error:  # a null character, or half of a surrogate pair
        raise ParserSyntaxError(
            f"{filename} is not text: {error}", Span(filename, 1, 0), slug="no-source"
        ) from None


def too_deep(filename: str) -> ParserSyntaxError:
    """Return the error for a text nested too deeply for Python's parser or ours."""
    return ParserSyntaxError(
        f"{filename} nests expressions or statements too deeply",
        Span(filename, 1, 0),
        hint="assign parts of the expression to variables",
        slug="too-deep",
    )
