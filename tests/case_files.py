"""Files of cases: a title, a description, a ``python`` block, and its output as ``text``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_FORM = re.compile(
    r"# [^\n]+\n(?P<words>.*?)```python\n(?P<code>.*?)```\n+```text\n(?P<text>.*?)```\n", re.DOTALL
)


class Parts(NamedTuple):
    """The contents of a file: the words between title and code, the code, the text."""

    words: str
    code: str
    text: str


def parts(path: Path) -> Parts:
    """Return the parts of a file."""
    form = _FORM.fullmatch(path.read_text(encoding="utf-8"))
    assert form is not None, f"{path.name} is not: title, python block, text block"
    return Parts(form["words"], form["code"], form["text"])
