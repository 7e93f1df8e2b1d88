"""`.pto` text -> xDSL module, with the spans and names in the text.

Owns the differences between the parsers of xDSL and the assembler. Checks nothing that depends on a
target.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeVar

from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, scf
from xdsl.ir import Operation, SSAValue, TypeAttribute
from xdsl.parser import Parser, ParserState
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException
from xdsl.utils.lexer import Input, Token
from xdsl.utils.lexer import Span as TextSpan
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
)

from pypto._src.diagnostics import Span
from pypto._src.dialect.ops import MORE_ARITH, PTO
from pypto._src.errors import ParserSyntaxError

DIALECTS: Final = (builtin.Builtin, arith.Arith, func.Func, scf.Scf, cf.Cf, PTO)
"""The dialects that a `.pto` file may use."""


T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A parsed `.pto` file: its module, and the position of each op in the text."""

    module: builtin.ModuleOp
    text: str
    filename: str
    begins: dict[Operation, int] = field(repr=False)
    names: dict[SSAValue, str] = field(repr=False)
    """The name of every value, without the percent sign."""
    comments: dict[Operation, list[str]] = field(repr=False)
    """The comments and blank lines (empty) above an op, without their indentation."""
    literals: dict[Operation, str] = field(repr=False)
    """How `arith.constant` writes its number."""

    def span(self, op: Operation | None) -> Span:
        """Return the span of an op, or of the start of the file for an op without one."""
        begin = 0 if op is None else self.begins.get(op, 0)
        return span_of(self.text, self.filename, begin, begin)


def span_of(text: str, filename: str, begin: int, end: int) -> Span:
    """Return the span of ``text[begin:end]``, or up to the end of its line if that is empty."""
    line = text.count("\n", 0, begin) + 1
    start = text.rfind("\n", 0, begin) + 1
    stop = text.find("\n", begin)
    stop = len(text) if stop < 0 else stop
    end = stop if end <= begin else min(end, stop)
    return Span(filename, line, begin - start, line, end - start)


_TYPE: Final = re.compile(r"!pto\.\w+<[^<>/\"]*>")
"""A type of the dialect without nested brackets or comments: it ends at the first bracket."""


_NUMBER: Final = re.compile(r"-?\s*[\w.]+(?:(?<=[eE])[+-]\d+)?")
_DIGITS: Final = re.compile(r"-?\s*(\d+)(.?)", re.DOTALL)
_INTEGER: Final = re.compile(r"[su]?i(\d+)")
_MOST_BITS: Final = 128
_MOST_DIMENSIONS: Final = 16
_LONG_SHAPE: Final = re.compile(rf"(?:(?:\d+|\?)\s*x\s*){{{_MOST_DIMENSIONS + 1}}}")
_MOST_ELEMENTS: Final = 1 << 20
"""A limit for all dense literals of a text: ``dense<1>`` has as many as its type says."""


_TOKEN: Final = re.compile(
    r"(?:\s+|//[^\n]*\n?)*+(?:([][,:()<>=}])|(%(?:\d+|[a-zA-Z$._-][\w$.-]*))|([a-zA-Z_][\w$.]*))",
    re.ASCII,
)
"""The most common tokens, by group: punctuation that starts no longer token, values, names."""
_TOKEN_KINDS: Final = (None, None, MLIRTokenKind.PERCENT_IDENT, MLIRTokenKind.BARE_IDENT)


class PtoLexer(MLIRLexer):
    """The lexer of xDSL, which here finds most tokens with one regular expression."""

    def lex(self) -> MLIRToken:
        """Return the next token."""
        found = _TOKEN.match(self.input.content, self.pos)
        if found is None:
            return super().lex()
        group = found.lastindex or 0
        start, self.pos = found.span(group)
        kind = _TOKEN_KINDS[group] or KIND_BY_PUNCTUATION_SPELLING[found[group]]
        return Token(kind, TextSpan(start, self.pos, self.input))


_MOST_TYPES: Final = 4096
_TYPES: Final[dict[str, TypeAttribute]] = {}
"""A cache for this process of parsed types, by their text."""


class PtoParser(Parser):
    """The parser of xDSL, which here also records spans and names, and caches parsed types."""

    def __init__(self, context: Context, text: str, filename: str) -> None:
        super().__init__(context, text, filename)
        self._parser_state = ParserState(PtoLexer(Input(text, filename)))
        self.begins: dict[Operation, int] = {}
        self.names: dict[SSAValue, str] = {}
        self.comments: dict[Operation, list[str]] = {}
        self.literals: dict[Operation, str] = {}
        self._literal = ""
        self._elements = 0  # in dense literals so far

    def has_text(self) -> bool:
        """False for a text of only whitespace and comments, which is an empty module."""
        return self._current_token.kind != MLIRTokenKind.EOF

    def parse_operation(self) -> Operation:
        """Parse an op and record where it starts."""
        begin = self._current_token.span.start
        op = super().parse_operation()
        self.begins[op] = begin
        above = self._lines_above(begin)
        if above:
            self.comments[op] = above
        if isinstance(op, arith.ConstantOp):
            self.literals[op] = self._literal
        return op

    def parse_optional_type(self) -> TypeAttribute | None:
        """Parse a type, if there is one; text that was parsed before is looked up in `_TYPES`."""
        written = _TYPE.match(self.lexer.input.content, self._current_token.span.start)
        if written is None:
            self._check_width()
            return super().parse_optional_type()
        known = _TYPES.get(written[0])
        if known is not None:
            self._resume_from(written.end())
            return known
        found = super().parse_optional_type()
        if found is not None:
            if len(_TYPES) >= _MOST_TYPES:
                _TYPES.clear()
            _TYPES[written[0]] = found
        return found

    def _check_width(self) -> None:
        """Reject an integer type so wide that its numbers would exhaust memory."""
        token = self._current_token
        width = _INTEGER.fullmatch(token.text)
        if width is not None and (len(width[1]) > 3 or int(width[1]) > _MOST_BITS):
            self.raise_error(f"an integer has at most {_MOST_BITS} bits", token.span)

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        """Parse a size, after a check that its shape does not have too many dimensions."""
        span = self._current_token.span
        if _LONG_SHAPE.match(self.lexer.input.content, span.start):
            self.raise_error(f"a shape has at most {_MOST_DIMENSIONS} dimensions", span)
        return super().parse_shape_dimension(allow_dynamic)

    def _parse_dense_literal_type(self) -> Any:
        """Parse the type after a literal; a single number may be the value of all its elements."""
        span = self._current_token.span
        found: Any = super()._parse_dense_literal_type()
        self._elements += math.prod(found.get_shape())
        if self._elements > _MOST_ELEMENTS:
            self.raise_error(
                f"the dense literals so far have more than {_MOST_ELEMENTS} elements", span
            )
        return found

    def _lines_above(self, begin: int) -> list[str]:
        """Return the comments and blank lines directly above the line of ``begin``."""
        text = self.lexer.input.content
        found: list[str] = []
        end = begin - 1
        while end >= 0 and text[end] != "\n":
            if not text[end].isspace():  # it is not the first on its line
                return found
            end -= 1
        while end >= 0:
            start = text.rfind("\n", 0, end)
            line = text[start + 1 : end].strip()
            if line and not line.startswith("//"):
                break
            found.append(line)
            end = start
        return found[::-1]

    def parse_optional_builtin_int_or_float_attr(
        self,
    ) -> builtin.IntegerAttr | builtin.FloatAttr | None:
        """Parse a number; one without a decimal point is not a float, as in ``1 : f32``."""
        span = self._current_token.span
        try:
            number = super().parse_optional_builtin_int_or_float_attr()
        except (OverflowError, VerifyException):
            self._reject_number(span)
        if isinstance(number, builtin.FloatAttr) and math.isinf(number.value.data):
            self._reject_overflow(span)
        read = self.lexer.input.content[span.start : self._current_token.span.start]
        self._literal = "".join(read.partition("//")[0].partition(":")[0].split())
        text = self.lexer.input.content
        if isinstance(number, builtin.FloatAttr) and re.fullmatch(r"-|\d+", span.text):
            digits = _DIGITS.match(text, span.start)
            if digits is not None and digits[2] not in (".", "x"):
                self.raise_error(f"a float has a point: {digits[1]}.0", span)
        return number

    def _reject_overflow(self, span: TextSpan) -> None:
        """Reject a decimal number that overflowed to infinity, which is written as hex bits."""
        if not span.text.startswith("0x"):
            self._reject_number(span)

    def _reject_number(self, first: TextSpan) -> NoReturn:
        """Reject a number out of range of its type; ``first`` is its sign, or all of it."""
        found = _NUMBER.match(self.lexer.input.content, first.start)
        whole = first if found is None else TextSpan(found.start(), found.end(), first.input)
        self.raise_error(f"{whole.text} is beyond the numbers of its type", whole)

    def parse_identifier(self, context_msg: str = "") -> str:
        """Parse a name; in arith, the predicate of a comparison may be quoted."""
        if self._parser_state.dialect_stack[-1:] == ["arith"]:
            return self.parse_identifier_or_str_literal(context_msg)
        return super().parse_identifier(context_msg)

    def parse_comma_separated_list(
        self, delimiter: Parser.Delimiter, parse: Callable[[], T], context_msg: str = ""
    ) -> list[T]:
        """Parse a list; in scf, the parentheses around one type or around none may be missing."""
        in_scf = self._parser_state.dialect_stack[-1:] == ["scf"]
        if in_scf and delimiter is self.Delimiter.PAREN:
            if self._current_token.kind is MLIRTokenKind.COLON:
                return []
            if self._current_token.kind is not MLIRTokenKind.L_PAREN:
                return [parse()]
        return super().parse_comma_separated_list(delimiter, parse, context_msg)

    def _register_ssa_definition(
        self, name: str, values: Sequence[SSAValue], span: TextSpan
    ) -> None:
        super()._register_ssa_definition(name, values, span)
        for index, value in enumerate(values):
            self.names[value] = name if len(values) == 1 else f"{name}#{index}"


def context() -> Context:
    """Return an xDSL context with the dialects of `.pto` files."""
    made = Context()
    for dialect in DIALECTS:
        made.load_dialect(dialect)
    for op in MORE_ARITH:
        made.load_op(op)
    return made


def parse(text: str, filename: str = "<pto>") -> Source:
    """Return the module parsed from ``text``.

    Raises:
        ParserSyntaxError: the text is not valid syntax; with the span of the mistake.
    """
    parser: PtoParser | None = None
    _check_strings(text, filename)
    try:
        parser = PtoParser(context(), text, filename)
        module = parser.parse_module() if parser.has_text() else builtin.ModuleOp([])
    except ParseError as error:
        _refuse(error.msg, text, filename, error.span.start, error.span.end)
    except RecursionError:
        offset = 0 if parser is None else parser.pos
        _refuse("regions are nested too deeply", text, filename, offset, offset)
    except (
        ArithmeticError,
        DiagnosticException,
        KeyError,
        NotImplementedError,
        ValueError,
    ) as error:
        offset = 0 if parser is None else parser.pos
        _refuse(str(error), text, filename, offset, offset)
    return Source(
        module, text, filename, parser.begins, parser.names, parser.comments, parser.literals
    )


_STRING: Final = re.compile(
    r'//[^\n]*|"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"|(?P<open>")'
)


def _check_strings(text: str, filename: str) -> None:
    """Reject an unterminated string, on which the lexer of xDSL can take unbounded time."""
    if '"' in text:
        for match in _STRING.finditer(text):
            if match["open"] is not None:
                _refuse("a string has no end", text, filename, match.start(), match.start())


def _refuse(message: str, text: str, filename: str, begin: int, end: int) -> NoReturn:
    span = span_of(text, filename, begin, end)
    message = _WORDS.get(message.strip(), message.strip()).rstrip("!.")
    raise ParserSyntaxError(message, span, source_lines=text.split("\n"), slug="pto-syntax")


_WORDS: Final = {"in block definition": "expected an op, a block label or the end of the region"}
"""Complete messages for those that xDSL leaves without a beginning."""
