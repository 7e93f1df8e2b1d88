"""Printed IR as coloured HTML: a small tokenizer of Python syntax that knows nothing of the IR.

Colours are inline styles, so that the text needs no style sheet, and of middle brightness, so that
it can be read on white and on black.
"""

from __future__ import annotations

import re
from functools import cache
from keyword import iskeyword
from typing import Final

MAX_LINES: Final = 2_000
"""How many lines a browser is given; a count of the omitted ones follows."""

_STYLES: Final = {
    "comment": "color:#7f848e;font-style:italic",
    "decorator": "color:#b5852b",
    "definition": "color:#2f7fd0;font-weight:bold",
    "keyword": "color:#a14fc4",
    "number": "color:#b8642c",
    "op": "color:#2f7fd0",
    "string": "color:#4c9141",
    "type": "color:#1e8f8f",
}

_GRAMMAR: Final = r"""
    (?P<comment>\#[^\n]*)
  | (?P<string>'(?:\\.|[^'\\\n])*' | "(?:\\.|[^"\\\n])*")
  | (?P<decorator>@[\w.]+)
  | (?P<number>\b\d[\w.]*(?:(?<=[eE])[+-]\d+)?)
  | (?P<word>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
"""


def to_html(text: str) -> str:
    """Return printed IR as one ``<pre>`` element; only the first `MAX_LINES` lines of it."""
    lines = text.split("\n")
    note = ""
    if len(lines) > MAX_LINES:
        text = "\n".join(lines[:MAX_LINES])
        note = "\n" + _paint("comment", f"# ... and {len(lines) - MAX_LINES} more lines")
    return f'<pre class="pypto-ir">{"".join(_pieces(text))}{note}</pre>'


def _pieces(text: str) -> list[str]:
    out: list[str] = []
    end = 0
    before = ""  # the previous word, which tells whether a name is being defined
    for found in _tokens().finditer(text):
        out.append(_escape(text[end : found.start()]))
        kind, token = found.lastgroup or "", found.group()
        out.append(_paint(_word_kind(token, before) if kind == "word" else kind, token))
        before, end = token, found.end()
    out.append(_escape(text[end:]))
    return out


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(_GRAMMAR, re.VERBOSE)


def _word_kind(word: str, before: str) -> str:
    if before in ("def", "class"):
        return "definition"
    if iskeyword(word):
        return "keyword"
    head, dot, last = word.rpartition(".")
    if not dot or head == "self":
        return ""
    return "type" if last[0].isupper() else "op"


def _paint(kind: str, text: str) -> str:
    style = _STYLES.get(kind)
    return _escape(text) if style is None else f'<span style="{style}">{_escape(text)}</span>'


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
