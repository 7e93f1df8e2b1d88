"""Lines of code with indentation, and names that are legal and unique. Knows no target."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from pypto._src.diagnostics import Span, line_at
from pypto._src.errors import EmitError
from pypto._src.ir.exprs import Expr, IterArg, Var
from pypto._src.ir.types import TupleType

RUN_PASSES: Final = "run the passes first: PassManager.get_strategy().run_passes(program)"
"""The hint for what only the passes remove from a program."""


_END: Final = "\n"


class CodeEmitter:
    """Collects lines at the current indentation (four spaces a level)."""

    def __init__(self, level: int = 0) -> None:
        self._lines: list[str] = []
        self._level = level
        self._indent = "    " * level

    def emit_line(self, line: str = "") -> None:
        """Append one line; an empty line gets no indentation."""
        self._lines.append(self._indent + line if line else "")

    def emit_lines(self, lines: Iterable[str]) -> None:
        """Append several lines; empty ones get no indentation."""
        indent = self._indent
        self._lines += [indent + line if line else "" for line in lines]

    def emit_paragraphs(self, texts: Iterable[str]) -> None:
        """Append texts without empty lines, each followed by an empty line."""
        indent, inner = self._indent, f"\n{self._indent}"
        self._lines += [f"{indent}{text.replace(_END, inner)}{_END}" for text in texts]

    def emit_block(self, code: str) -> None:
        """Append ``code`` unchanged."""
        self._lines += code.splitlines()

    def append(self, other: CodeEmitter) -> None:
        """Append the lines of another emitter unchanged."""
        self._lines += other._lines

    def increase_indent(self) -> None:
        """Indent what follows by one level more."""
        self._level += 1
        self._indent = "    " * self._level

    def decrease_indent(self) -> None:
        """Indent what follows by one level less."""
        self._level = max(0, self._level - 1)
        self._indent = "    " * self._level

    def get_code(self) -> str:
        """Return the text so far, each line ended by a newline."""
        return "\n".join([*self._lines, ""])

    # The names of document 000.
    EmitLine = emit_line
    EmitBlock = emit_block
    IncreaseIndent = increase_indent
    DecreaseIndent = decrease_indent
    GetCode = get_code


class Names:
    """Gives every variable one identifier, unique in the text."""

    def __init__(self, reserved: frozenset[str]) -> None:
        self._reserved = reserved
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        self.given: dict[Expr, str] = {}  # names of variables

    def sanitize(self, name: str) -> str:
        """Return ``name`` with every character that is illegal in an identifier replaced."""
        if name.isidentifier() and name.isascii():
            return name
        text = re.sub(r"[^0-9A-Za-z_]", "_", name) or "_"
        return f"_{text}" if text[0].isdigit() else text

    def fresh(self, name: str) -> str:
        """Reserve and return an unused identifier derived from ``name``."""
        text = self.unused(name)
        self._taken.add(text)
        return text

    def unused(self, name: str) -> str:
        """Return an unused identifier derived from ``name``."""
        text = base = name if name.isascii() and name.isidentifier() else self.sanitize(name)
        while text in self._taken or text in self._reserved:
            count = self._next.get(base, 0) + 1
            self._next[base] = count
            text = f"{base}_{count}"
        return text

    def clear(self) -> None:
        """Forget all names that were given."""
        self._taken.clear()
        self._next.clear()
        self.given.clear()

    def register(self, var: Var, name: str | None = None) -> str:
        """Give ``var`` its identifier (a fresh one, or ``name`` unchanged) and return it.

        Raises:
            ValueError: the variable has one already.
        """
        if var in self.given:
            raise ValueError(f"variable {var.name!r} is registered already as {self.given[var]!r}")
        text = self.given[var] = self.unused(var.name) if name is None else name
        self._taken.add(text)
        return text

    def get(self, var: Var) -> str | None:
        """Return the identifier of ``var``, None if it has none yet."""
        return self.given.get(var)


def check_carried(iter_args: Iterable[IterArg]) -> None:
    """Check that a loop carries nothing but tensors, tiles and scalars.

    Raises:
        EmitError: one is a tuple, for which kernels have no variables.
    """
    for arg in iter_args:
        if isinstance(arg.type, TupleType):
            from pypto._src.ir.inspect.source_names import user_name

            names = ", ".join(f"{arg.name}_{index}" for index in range(len(arg.type.types)))
            raise EmitError(
                f"a loop of a kernel carries the tuple {user_name(arg)!r}",
                arg.span,
                hint=f"carry its values, each with a name of its own: init_values=({names})",
                slug="emit-tuple",
            )


def source_comment(span: Span) -> str | None:
    """Return ``file.py:14`` for the user's line, without the directory, None if unknown.

    The directory is left out so that the text does not depend on where the kernel's file is.
    """
    if span.begin_line <= 0:
        return None
    return comment_text(f"{base_name(span.filename)}:{span.begin_line}")


def comment_text(text: str) -> str:
    """Return ``text``, whatever it contains, as one line that can follow ``//``.

    Every text of a program that is put in a comment of C++ or MLIR goes through here.
    """
    if not text.isprintable():
        text = "".join([c if c.isprintable() else _escaped(c) for c in text])
    # A backslash at the end of a line, also as a trigraph, takes the next line into the comment.
    while text.endswith(("\\", "??/", " ")):
        text = text[:-1]
    return text


def string_literal(text: str) -> str:
    """Return ``text``, whatever it contains, as a C++ string literal.

    Every text of a program that is put in a literal goes through here.
    """
    if text.isprintable() and not any(mark in text for mark in _SPECIAL):
        return f'"{text}"'
    return f'"{"".join([_LITERAL.get(c) or _octal(c) for c in text])}"'


_SPECIAL: Final = ('"', "\\", "??")
_LITERAL: Final = {'"': '\\"', "\\": "\\\\", "?": "\\?"}


def _octal(char: str) -> str:
    if char.isprintable():
        return char
    return "".join([f"\\{byte:03o}" for byte in char.encode(errors="surrogatepass")])


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


@lru_cache(maxsize=256)
def base_name(path: str) -> str:
    """Return a path without its directory."""
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def source_text(span: Span) -> str:
    """Return the text of the user's line without its indentation, "" if it cannot be read.

    The text is not escaped; see `comment_text`.
    """
    return line_at(span).strip()


def camel_case(name: str) -> str:
    """Return ``simple_add`` as ``SimpleAdd``."""
    parts = re.sub(r"\W", "_", name).split("_")
    return "".join([part[:1].upper() + part[1:] for part in parts])
