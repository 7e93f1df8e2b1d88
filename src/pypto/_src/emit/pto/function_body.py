"""The lines of one PTO function: fresh names, constants in order of first use, indentation.

Knows the text of the dialect's lines, nothing of the IR.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.emit.pto.types import check_integer, element_type, float_literal

_OPEN: Final = ("} else", "} do", "^bb")
"""Beginnings of lines that do not end an operation, besides lines that end in a brace."""


class Lines:
    """Lines of the text, and the span of the source that each is for."""

    __slots__ = ("spans", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.spans: list[Span] = []

    def add(self, text: str, span: Span = UNKNOWN_SPAN) -> None:
        """Append one line."""
        self.texts.append(text)
        self.spans.append(span)

    def append(self, other: Lines) -> None:
        """Append the lines of another instance."""
        self.texts += other.texts
        self.spans += other.spans


def location(span: Span) -> str:
    """Return the dialect's word for a span, ``loc("kernel.py":7:5)``, "" for an unknown one.

    Columns begin at 1 there.
    """
    if span.begin_line <= 0:
        return ""
    name = string_text(span.filename.replace("\\", "/"))
    return f"loc({name}:{span.begin_line}:{max(span.begin_column, 0) + 1})"


def string_text(text: str) -> str:
    """Return ``text``, whatever it contains, as an MLIR string.

    Every text of a program that is put in a string goes through here, and so do odd function names.
    """
    if not text.isprintable() or _SPECIAL.search(text):
        text = "".join([_string_char(char) for char in text])
    return f'"{text}"'


_SPECIAL: Final = re.compile(r'["\\]|\?\?')


def _string_char(char: str) -> str:
    if char == '"':
        return '\\"'
    if char.isprintable() and char not in "\\?":
        return char
    return "".join([f"\\{byte:02X}" for byte in char.encode(errors="surrogatepass")])


def symbol(name: str) -> str:
    """Return a function's symbol in MLIR, quoted where it is not an identifier there."""
    return f"@{name}" if _SYMBOL.fullmatch(name) else f"@{string_text(name)}"


_SYMBOL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")


class Body:
    """Collects lines into the current section; every name it hands out is new.

    With ``locations`` each operation has the source span that it comes from.
    """

    def __init__(self, locations: bool = False) -> None:
        self.locations = locations
        self.span = UNKNOWN_SPAN  # of the lines being emitted
        self.constants: dict[str, str] = {}  # right side of `=` to name, in order of first use
        self.sections: dict[str, Lines] = {}
        self.reshapes: set[str] = set()  # results of treshape
        self._indent = "    "
        self._lines = Lines()
        self._names = 0
        self._floats = 0
        self._comment: str | None = None  # to be written above the next line of code
        self._last_comment: str | None = None

    @contextmanager
    def section(self, title: str) -> Generator[None]:
        """Collect what is emitted inside under ``title``."""
        outer = self._lines
        self._lines = self.sections.setdefault(title, Lines())
        try:
            yield
        finally:
            self._lines = outer

    @contextmanager
    def indented(self) -> Generator[None]:
        """Indent what is emitted inside by one level more."""
        self._indent += "  "
        try:
            yield
        finally:
            self._indent = self._indent[:-2]

    def fresh(self) -> str:
        """Return a new SSA name."""
        self._names += 1
        return f"%{self._names - 1}"

    def emit(self, text: str) -> None:
        """Append one operation; lines of ``text`` after the first keep their own alignment."""
        if " = pto.treshape " in text:
            self.reshapes.add(text.partition(" ")[0])
        if self._comment is not None:
            self._flush_comment()
        if self.locations and not text.endswith("{") and not text.startswith(_OPEN):
            text = f"{text} {location(self.span)}".rstrip()
        lines = self._lines
        for line in text.split("\n"):
            lines.texts.append(self._indent + line)
            lines.spans.append(self.span)

    def note(self, comment: str | None) -> None:
        """Write ``comment`` above the next line, unless it repeats the last comment."""
        self._comment = comment if comment != self._last_comment else None

    def _flush_comment(self) -> None:
        texts = self._lines.texts
        if texts and not texts[-1].endswith(("{", ":")):
            self._lines.add("")
        self._lines.add(f"{self._indent}// {self._comment}", self.span)
        self._last_comment, self._comment = self._comment, None

    def assign(self, right: str) -> str:
        """Append ``%n = right``; return the name."""
        name = self.fresh()
        self.emit(f"{name} = {right}")
        return name

    def op(self, text: str) -> None:
        """Append a tile operation, with ``outs`` below ``ins`` as in the document."""
        end = text.find(") outs(") + 1
        if end and " ins(" in text:
            self.operation(text[:end], text[end + 1 :])
        else:
            self.emit(text)

    def operation(self, ins: str, outs: str) -> None:
        """Append a tile operation of two parts, the second below the operands of the first."""
        self.emit(f"{ins}\n{' ' * (ins.find(' ins(') + 1)}{outs}")

    def _constant(self, name: str, right: str) -> str:
        return self.constants.setdefault(right, name)

    def index(self, value: int) -> str:
        """Return the name of an ``index`` constant."""
        return self.integer(value, "index")

    def integer(self, value: int, type_: str) -> str:
        """Return the name of an integer constant of type ``type_``."""
        check_integer(value, type_)
        suffix = "" if type_ == "index" else f"_{type_}"
        return self._constant(f"%c{value}{suffix}", f"arith.constant {value} : {type_}")

    def boolean(self, value: bool) -> str:
        """Return the name of an i1 constant."""
        text = "true" if value else "false"
        return self._constant(f"%{text}", f"arith.constant {text}")

    def real(self, value: float, dtype: DataType) -> str:
        """Return the name of a float constant."""
        right = f"arith.constant {float_literal(value, dtype)} : {element_type(dtype)}"
        if right not in self.constants:
            self.constants[right] = f"%cst_{self._floats}" if self._floats else "%cst"
            self._floats += 1
        return self.constants[right]
