"""Files of cases: a title, words about it, a ``python`` block, and the ``text`` that it gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_FORM = re.compile(
    r"# [^\n]+\n(?P<words>.*?)```python\n(?P<code>.*?)```\n+```text\n(?P<text>.*?)```\n", re.DOTALL
)


class Parts(NamedTuple):
    """What a file holds: the words between title and code, the code, the text."""

    words: str
    code: str
    text: str


def parts(path: Path) -> Parts:
    """Return a file taken apart."""
    form = _FORM.fullmatch(path.read_text(encoding="utf-8"))
    assert form is not None, f"{path.name} is not: title, python block, text block"
    return Parts(form["words"], form["code"], form["text"])
