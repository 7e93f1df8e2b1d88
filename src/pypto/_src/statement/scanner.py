"""Tokens of the statement form, and errors at a token.

One regular expression splits the whole text, once. A type without names is one token, so that the
reader makes each such type once. Of the IR it knows only what a name is.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final, NoReturn

from pypto._src.diagnostics import Label, Span, keep_lines
from pypto._src.errors import ParserError, ParserSyntaxError
from pypto._src.ir.name_rules import is_variable_name

KIND: Final = "kind"
SHAPED: Final = "shaped"
VALUE: Final = "value"
SYMBOL: Final = "symbol"
WORD: Final = "word"
NUMBER: Final = "number"
STRING: Final = "string"
MARK: Final = "mark"
PUNCTUATION: Final = "punctuation"
END: Final = "end"

_QUOTED: Final = r'"(?:[^"\\\n]|\\.)*"'
_DIMS: Final = r"\[(?:-?\d{1,18}(?:, ?-?\d{1,18})*)?\]"
_TOKENS: Final = re.compile(
    r"(?>[ \t\r\n]+|//(?![ \t]*func\.kind\b)[^\n]*)*+"
    r"(?:"
    rf"(?P<{VALUE}>%(?:[\w$.]+|{_QUOTED}))"
    rf"|(?P<{PUNCTUATION}>->|[{{}}()\[\]<>,=:])"
    rf"|(?P<{SHAPED}>(?:tensor<{_DIMS}|tile<{_DIMS}, ?{_DIMS}), ?\w+>)"
    rf"|(?P<{NUMBER}>-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|-(?:inf|nan)\b)"
    rf"|(?P<{WORD}>[^\W\d]\w*(?:\.\w+)*)"
    rf"|(?P<{SYMBOL}>@(?:[\w$.]+|{_QUOTED}))"
    rf"|(?P<{STRING}>{_QUOTED})"
    rf"|(?P<{MARK}>\#\w*)"
    rf"|(?P<{KIND}>//[^\n]*)"
    rf"|(?P<{END}>\Z)"
    r"|(?P<bad>.)"
    r")",
    re.DOTALL,
)
_IMPLIED: Final = re.compile(r"[ \t]*//[ \t]*implied\b")
_KIND_NAME: Final = re.compile(r"//[ \t]*func\.kind[ \t]*(?:=[ \t]*(\w*))?")
_NAMES: Final = {
    VALUE: "a value such as %x",
    SYMBOL: "a name such as @main",
    NUMBER: "a number",
    STRING: "a text",
    WORD: "a word",
}


class Scanner:
    """The tokens of one text, and the reader's current token."""

    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.lines = text.split("\n")
        keep_lines(filename, [f"{line}\n" for line in self.lines])
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.index = 0
        for match in _TOKENS.finditer(text):
            kind = match.lastgroup
            assert kind is not None
            self.kinds.append(kind)
            self.texts.append(match[kind])
            self.starts.append(match.start(kind))
            if kind == END:
                break
        if "bad" in self.kinds:
            self.refuse_character(self.kinds.index("bad"))

    # ----------------------------------------------------------------------------- positions

    def span(self, first: int, last: int | None = None) -> Span:
        """Return the range from token ``first`` to token ``last`` (itself by default)."""
        last = first if last is None else last
        begin = self.starts[first]
        end = self.starts[last] + len(self.texts[last])
        line, column = self.position(begin)
        end_line, end_column = self.position(end)
        return Span(self.filename, line, column, end_line, end_column)

    def position(self, offset: int) -> tuple[int, int]:
        """Return line (from 1) and column (from 0) of a character."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1]

    def found(self, at: int) -> str:
        """Return the name of token ``at`` in a message."""
        if self.kinds[at] == END:
            return "the end of the text"
        text = self.texts[at]
        return repr(text if len(text) <= 40 else f"{text[:37]}...")

    def error(
        self,
        message: str,
        at: int | None = None,
        hint: str | None = None,
        *,
        slug: str | None = None,
        cls: type[ParserError] = ParserSyntaxError,
        related: tuple[int, str] | None = None,
    ) -> ParserError:
        """Return an error at token ``at``, the current one by default."""
        at = self.index if at is None else at
        labels = [] if related is None else [Label(self.span(related[0]), related[1])]
        return cls(message, self.span(at), hint, source_lines=self.lines, slug=slug, related=labels)

    def refuse_character(self, at: int) -> NoReturn:
        """Raise the error for a character that begins no token."""
        character = self.texts[at]
        if character == '"':
            raise self.error("a text without closing quotation mark", at)
        if character in "%@":
            what = "a value" if character == "%" else "a function or module"
            raise self.error(f"{character!r} begins the name of {what}, no name follows", at)
        raise self.error(f"{character!r} has no meaning here", at)

    # ----------------------------------------------------------------------------- tokens

    @property
    def kind(self) -> str:
        """The kind of the current token."""
        return self.kinds[self.index]

    @property
    def word(self) -> str:
        """The text of the current token."""
        return self.texts[self.index]

    def take(self, text: str) -> bool:
        """Consume the current token if it is ``text``."""
        if self.texts[self.index] == text and self.kinds[self.index] != STRING:
            self.index += 1
            return True
        return False

    def want(self, text: str, where: str, hint: str | None = None) -> int:
        """Consume ``text``, which is required here; return its index."""
        if not self.take(text):
            raise self.error(
                f"{text!r} was wanted {where}, found {self.found(self.index)}", hint=hint
            )
        return self.index - 1

    def want_kind(self, kind: str, what: str, hint: str | None = None) -> str:
        """Consume a token of ``kind``, which is required here; return its text."""
        if self.kinds[self.index] != kind:
            found = self.found(self.index)
            raise self.error(f"{what} was wanted, {_NAMES[kind]}; found {found}", hint=hint)
        self.index += 1
        return self.texts[self.index - 1]

    def name(self, kind: str, what: str, hint: str | None = None) -> str:
        """Consume a value or symbol; return its name without sigil and quotation marks."""
        return self.plain_name(self.want_kind(kind, what, hint), self.index - 1)

    def plain_name(self, text: str, at: int) -> str:
        """Return the name in the text of a value or symbol; a quoted one may be any text."""
        if text[1:2] != '"':
            return text[1:]
        name = self.string(text[1:], at)
        if text[0] == "%" and not is_variable_name(name):
            raise self.misnamed("letters, digits, _, $ and .", at)
        return name

    def symbol(self, what: str, holds: Callable[[str], bool]) -> str:
        """Consume a symbol whose name satisfies ``holds``; return the name."""
        name = self.name(SYMBOL, what)
        if not holds(name):
            raise self.misnamed("an identifier", self.index - 1)
        return name

    def misnamed(self, wanted: str, at: int) -> ParserError:
        """Return the error for an invalid name."""
        return self.error(f"{self.found(at)} is not a name, {wanted} was wanted", at)

    def string(self, text: str, at: int) -> str:
        """Return the value of a quoted string."""
        try:
            return json.loads(text, strict=False)
        except ValueError:
            message = f"{self.found(at)} has an escape that JSON does not have"
            raise self.error(message, at, "write two backslashes for one") from None

    def number(self, at: int) -> int | float:
        """Return the value of the number at token ``at``."""
        text = self.texts[at]
        try:
            return int(text)
        except ValueError:
            pass
        if text.lstrip("-").isdigit():
            raise self.error("a number has too many digits", at)
        return float(text)

    def implied(self) -> bool:
        """True if the comment ``// implied`` follows the last token."""
        end = self.starts[self.index - 1] + len(self.texts[self.index - 1])
        return _IMPLIED.match(self.text, end) is not None

    def function_kind(self) -> Any:
        """Return the word in a ``// func.kind = word`` here, None if there is none."""
        if self.kinds[self.index] != KIND:
            return None
        match = _KIND_NAME.match(self.texts[self.index])
        self.index += 1
        return match[1] if match is not None and match[1] else ""
