"""Hostile strings to plant into programs, and extraction of the code from a text.

Each marker holds the word `WORD` after a character that no identifier has. If it gets into code
unescaped, the word is a token of its own; in an identifier derived from it, `_` precedes
the word.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from typing import Any, Final

from pypto import ir
from pypto._src.ir.serialization import serialize
from pypto._src.lazy import lazy_module

msgpack = lazy_module("msgpack")

WORD: Final = "ATTACK"
MARKERS: Final = [
    "\n ATTACK();\n",
    "\r ATTACK();\r",
    "\r\n ATTACK();",
    "\v ATTACK();",
    "\f ATTACK();",
    "\x85 ATTACK();",
    "\u2028 ATTACK();",
    "\u2029 ATTACK();",
    "\0 ATTACK();",
    "\x1b[2J ATTACK();",
    "*/ ATTACK(); /*",
    "\\\n ATTACK();",
    "??/\n ATTACK();",
    " ATTACK\\",
    " ATTACK??/",
    " ATTACK\\ ",
    '"); ATTACK(); ("',
    "'); ATTACK(); ('",
    '\\"); ATTACK(); ("',
    '""" ATTACK """',
    '\n#include "ATTACK"\n',
    "\n#pragma ATTACK\n",
    "`ATTACK`",
    "$(ATTACK)",
    "; ATTACK #",
    ") { ATTACK(); } //",
    "<ATTACK>",
    "%ATTACK",
    "{ATTACK}",
    "\ud800 ATTACK();",
    "\u202e ATTACK();",
]

_COMMENT_OR_LITERAL: Final = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)*'", re.DOTALL
)
_LINE_END: Final = re.compile("[\0\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_ALONE: Final = re.compile(r"(?<!\w)ATTACK(?!\w)")


def code_of(text: str, *, trigraphs: bool = True) -> str:
    """Return a text of C++, MLIR or the statement form without its comments and literals.

    Anything that any tool treats as a line end is one, and a backslash joins lines, also as a
    trigraph, and before blanks.
    """
    text = _LINE_END.sub("\n", text)
    text = text.replace("??/", "\\") if trigraphs else text
    text = re.sub(r"\\[ \t]*\n", "", text)
    return _COMMENT_OR_LITERAL.sub(" ", text)


def python_code_of(text: str) -> str:
    """Return Python without its comments and strings."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    dropped = (tokenize.COMMENT, tokenize.STRING)
    return " ".join(token.string for token in tokens if token.type not in dropped)


def is_planted(code: str) -> bool:
    """True if a marker got into code unescaped."""
    return _ALONE.search(code) is not None


def tokens_of(node: Any) -> list[Any]:
    """Return the values that make up serialised IR."""
    return msgpack.unpackb(ir.serialize(node), unicode_errors="surrogatepass")


def packed(tokens: list[Any]) -> bytes:
    """Return serialised IR of these values."""
    return msgpack.packb(tokens, unicode_errors="surrogatepass")


def texts_in(tokens: list[Any]) -> Iterator[int]:
    """Yield the positions of all strings after the magic word."""
    return (at for at, token in enumerate(tokens) if at and isinstance(token, str))


def _nothing(_given: object) -> None:
    return


def renamed(program: ir.Program, marker: str, monkeypatch: Any) -> Any:
    """Return a program built by constructors: every name and file in it ends in ``marker``.

    Constructors lack the checks of `deserialize`, so these are bypassed.
    """
    tokens = tokens_of(program)
    names = {n.name for n in ir.walk(program) if isinstance(n, ir.Var | ir.Function)}
    names -= {n.name for n in ir.walk(program) if isinstance(n, ir.MemRef)}
    files = {n.span.filename for n in ir.walk(program)}
    rows = _rows(tokens)
    for at in texts_in(tokens):
        if tokens[at] in (names if at >= rows else files if at < 3 + tokens[2] else ()):
            tokens[at] += marker
    with monkeypatch.context() as patched:
        patched.setattr(serialize, "check_name", _nothing)
        patched.setattr(serialize, "check_file", _nothing)
        rules: Any = vars(serialize)["RULES"]
        patched.setattr(serialize, "RULES", [rule for rule in rules if rule[0] is not ir.Program])
        made: Any = ir.deserialize(packed(tokens))
    return ir.Program(made.functions_, made.name, made.span, attrs=made.attrs, entry=made.entry)


def renamed_files(program: ir.Program, file: str, monkeypatch: Any) -> Any:
    """Return a program whose locations are all in ``file``."""
    tokens = tokens_of(program)
    tokens[3 : 3 + tokens[2]] = [file] * tokens[2]
    with monkeypatch.context() as patched:
        patched.setattr(serialize, "check_file", _nothing)
        return ir.deserialize(packed(tokens))


def _rows(tokens: list[Any]) -> int:
    """Return where the nodes begin: after the tables of files, spans and classes."""
    at = 2
    at += 1 + tokens[at]
    at += 1 + 5 * tokens[at]
    classes, at = tokens[at], at + 1
    for _ in range(classes):
        at += 2 + tokens[at + 1]
    return at
